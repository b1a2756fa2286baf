"""Costs of JAX arrays: values as without a gradient, derivatives as by finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError

jax = pytest.importorskip("jax")

from jax.test_util import check_grads  # noqa: E402

from preflow.integrations import jax as differentiable  # noqa: E402

TAIL, HEAD = np.array([0, 0, 1, 1, 2, 3, 0]), np.array([1, 2, 2, 3, 3, 4, 4])
CAPACITY, SUPPLY = np.array([5.0, 3, 2, 4, 5, 9, 2]), np.array([6.5, 0.3, 0.2, 1.25, -8.25])


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def randoms(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(shape)


def assignment_cost(cost: Any) -> Any:
    return differentiable.linear_assignment(cost).cost


def transport_cost(cost: Any, a: Any, b: Any) -> Any:
    return differentiable.transport(cost, jax.nn.softmax(a), jax.nn.softmax(b)).cost


def flow_cost(cost: Any, capacity: Any, some: Any) -> Any:
    supply = jax.numpy.append(some, -some.sum())
    return differentiable.min_cost_flow(TAIL, HEAD, capacity, cost, supply).cost


DATA = {
    "assignment": (assignment_cost, (randoms(5, 6),)),
    "batch of assignments": (assignment_cost, (randoms(3, 6, 4),)),
    "transport": (transport_cost, (randoms(4, 5), randoms(4), randoms(5, seed=1))),
    "batch of transports": (transport_cost, (randoms(2, 4, 5), randoms(2, 4), randoms(5, seed=1))),
    "flow": (flow_cost, (randoms(7), CAPACITY + 0.1, SUPPLY[:-1])),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients(name: str, compiled: bool) -> None:
    function, arguments = DATA[name]
    check_grads(jax.jit(function) if compiled else function, arguments, order=1, modes=["rev"])


def test_values() -> None:
    cost = randoms(3, 4, 6)
    for maximize in (False, True):
        found = differentiable.linear_assignment(cost, maximize=maximize)
        expected = preflow.linear_assignment(np.asarray(cost), maximize=maximize)
        assert np.allclose(found.cost, expected.cost)
        assert found.column.tolist() == expected.column.tolist()
    a, b = np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3])
    plan = differentiable.transport(randoms(2, 3), a, b)
    assert np.allclose(plan.matrix, preflow.transport(np.asarray(randoms(2, 3)), a, b).matrix())
    assert (randoms(2, 3) + plan.u[:, None] - plan.v > -1e-12).all()
    flow = differentiable.min_cost_flow(TAIL, HEAD, CAPACITY, randoms(7), SUPPLY)
    alone = preflow.min_cost_flow((TAIL, HEAD, CAPACITY, np.asarray(randoms(7))), SUPPLY)
    assert float(flow.cost) == pytest.approx(alone.cost)
    assert np.allclose(flow.flow, alone.flow)
    assert differentiable.linear_assignment(randoms(4, 2)).column.tolist().count(-1) == 2


@pytest.mark.parametrize("name", ["assignment", "transport", "flow"])
def test_vmap_is_a_loop(name: str) -> None:
    function, (cost, *others) = DATA[name]
    costs = jax.numpy.stack([cost, cost[::-1]])
    gradient = jax.grad(function)
    for each in (function, gradient):
        found = jax.jit(jax.vmap(lambda cost: each(cost, *others)))(costs)  # noqa: B023
        assert np.allclose(found, np.stack([each(cost, *others) for cost in costs]))


def test_dtypes() -> None:
    for dtype in (np.float16, jax.numpy.bfloat16, np.float32):
        cost = randoms(3, 3).astype(dtype)
        total, gradient = jax.value_and_grad(assignment_cost)(cost)
        assert (total.dtype, gradient.dtype) == (dtype, dtype)
        assert gradient.sum() == 3


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cost has no floats"):
        differentiable.linear_assignment(np.eye(2, dtype=int))
    for name in ("assignment", "transport", "flow"):
        function, (cost, *others) = DATA[name]

        def square(cost: Any) -> Any:
            return (jax.grad(function)(cost, *others) ** 2).sum()  # noqa: B023

        with pytest.raises(InvalidInputError, match="no second derivatives"):
            jax.grad(square)(cost)
    with pytest.raises(Exception, match=r"allowed"):
        differentiable.linear_assignment(jax.numpy.full((2, 2), np.inf)).cost.block_until_ready()
