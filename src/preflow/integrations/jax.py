"""Costs of JAX arrays that have a gradient: of assignment, of transport and of minimum-cost flow.

The solves are callbacks on the host, so ``jit``, ``vmap`` and ``grad`` take them. The derivatives are those
of :mod:`preflow.integrations.torch`: the plan in the costs, the dual solution in masses, supplies and
capacities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Array, Untyped
from ..assignment.api import linear_assignment as _assign_on_host
from ..checks import needed_for
from ..errors import InvalidInputError
from ..mincost.api import min_cost_flow as _flow_on_host
from ..transportation.api import transport as _transport_on_host
from .differentiable import Assignment, Flow, second_derivative

with needed_for("preflow.integrations.jax", "jax", "jax"):
    import jax
    import jax.numpy as jnp


class Plan(NamedTuple):
    """Transport plans of the least cost.

    Attributes
    ----------
    cost : Array, shape (...)
        The least cost of each item, with a gradient in the costs and the masses. No other attribute has one.
    matrix : Array, shape (..., n, m)
    u, v : Array, shapes (..., n) and (..., m)
        Prices: ``cost[i, j] + u[i] - v[j]`` is at least zero, and zero for the pairs that carry mass.
    """

    cost: jax.Array
    matrix: jax.Array
    u: jax.Array
    v: jax.Array


def linear_assignment(cost: AnyArray, *, maximize: bool = False) -> Assignment[jax.Array]:
    """Pair rows with columns at the least total cost, which has a gradient.

    Parameters
    ----------
    cost : Array of floats, shape (..., n, m)
        Infinite: not allowed.
    maximize : bool
        Find the largest total instead.

    Returns
    -------
    Assignment
        The cost has the dtype of `cost`; it is found in float64.

    Raises
    ------
    InvalidInputError
        `cost` has no floats; or a second derivative is asked for. JAX raises an error of its own with the
        words of what :func:`preflow.linear_assignment` raises.

    Notes
    -----
    The solve is :func:`preflow.linear_assignment`, on the host, whose complexity it has.

    Examples
    --------
    >>> cost = jnp.array([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> jax.grad(lambda cost: linear_assignment(cost).cost)(cost).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    (cost,) = _floats(cost=cost)
    total, column = _assign(-cost if maximize else cost)
    return Assignment(-total if maximize else total, column)


def transport(cost: AnyArray, a: AnyArray, b: AnyArray) -> Plan:
    """Find the cheapest plan that moves masses from rows to columns; its cost has a gradient.

    Parameters
    ----------
    cost : Array of floats, shape (..., n, m)
        Cost of moving one unit from row i to column j. Infinite: not allowed.
    a : Array of floats, shape (..., n)
        Mass of each row, not negative. One array of shape (n,) holds for all items of a batch.
    b : Array of floats, shape (..., m)
        Mass of each column, with the same sum as `a`, up to rounding.

    Returns
    -------
    Plan
        As of :func:`preflow.integrations.torch.transport`, which also says what the gradients are.

    Raises
    ------
    InvalidInputError
        As in :func:`linear_assignment`.

    Notes
    -----
    The solve is :func:`preflow.transport`, on the host.

    Examples
    --------
    >>> cost, a, b = jnp.array([[4.0, 1], [2, 3]]), jnp.array([3.0, 5]), jnp.array([4.0, 4])
    >>> jax.grad(lambda a: transport(cost, a, b).cost)(a).tolist()
    [-1.0, 1.0]
    """
    cost, a, b = _floats(cost=cost, a=a, b=b)
    masses = [jnp.broadcast_to(each, (*cost.shape[:-2], each.shape[-1])) for each in (a, b)]
    total, *rest = _transport(cost, *masses)
    return Plan(total, *map(jax.lax.stop_gradient, rest))


def min_cost_flow(
    tail: AnyArray, head: AnyArray, capacity: AnyArray, cost: AnyArray, supply: AnyArray
) -> Flow[jax.Array]:
    """Find a flow of minimum cost that sends all supplies to the demands; its cost has a gradient.

    Parameters
    ----------
    tail, head : Array of integers, shape (num_arcs,)
        End vertices, numbered from 0.
    capacity, cost : Array of floats, shape (num_arcs,)
        Capacities are not negative and may be infinite.
    supply : Array of floats, shape (num_vertices,)
        Positive: the vertex sends that much; negative: it receives. They sum to zero.

    Returns
    -------
    Flow
        As of :func:`preflow.integrations.torch.min_cost_flow`, which also says what the gradients are.

    Raises
    ------
    InvalidInputError
        As in :func:`linear_assignment`.

    Notes
    -----
    The solve is :func:`preflow.min_cost_flow`, on the host.

    Examples
    --------
    >>> tail, head = jnp.array([0, 0, 1]), jnp.array([1, 2, 2])
    >>> capacity, supply = jnp.array([4.0, 4, 4]), jnp.array([6.0, 0, -6])
    >>> total = lambda cost: min_cost_flow(tail, head, capacity, cost, supply).cost
    >>> jax.grad(total)(jnp.array([1.0, 5, 2])).tolist()
    [4.0, 2.0, 4.0]
    """
    capacity, cost, supply = _floats(capacity=capacity, cost=cost, supply=supply)
    total, *rest = _flow(jnp.asarray(tail), jnp.asarray(head), capacity, cost, supply)
    return Flow(total, *map(jax.lax.stop_gradient, rest))


def _floats(**arrays: AnyArray) -> list[Untyped]:
    """Return arrays of JAX. InvalidInputError: one has no floats."""
    for name, array in arrays.items():
        if not jnp.issubdtype(jnp.asarray(array).dtype, jnp.floating):
            raise InvalidInputError(f"{name} has no floats, which alone have a gradient: convert it")
    return [jnp.asarray(array) for array in arrays.values()]


def _like(array: Untyped, *shapes: tuple[int, ...]) -> tuple[Untyped, ...]:
    """Return what JAX knows before a call of arrays in these shapes with the dtype of another one."""
    return tuple(jax.ShapeDtypeStruct(shape, array.dtype) for shape in shapes)


def _call(solve: Callable[..., Untyped], found: tuple[Untyped, ...], *arrays: Untyped) -> Untyped:
    """Return what `solve` finds on the host, in the shapes and dtypes of `found`."""

    def on_host(*given: Untyped) -> tuple[Array, ...]:
        host = [np.asarray(each) for each in given]
        wide = [each.astype(np.float32) if each.dtype.itemsize < 4 else each for each in host]
        return tuple(np.asarray(part, kind.dtype) for part, kind in zip(solve(*wide), found, strict=True))

    def call(*arrays: Untyped) -> Untyped:
        return jax.pure_callback(on_host, found, *arrays, vmap_method="broadcast_all")

    def refuse(primals: Untyped, tangents: Untyped) -> Untyped:
        raise second_derivative("apply jax.lax.stop_gradient to the gradient")

    called = jax.custom_jvp(fun=call)
    called.defjvp(refuse)
    return called(*arrays)


def _differentiable(
    forward: Callable[..., Untyped], backward: Callable[..., Untyped]
) -> Callable[..., Untyped]:
    """Return a function with the first result of `forward`, and the derivative `backward`."""
    function = jax.custom_vjp(fun=lambda *arrays: forward(*arrays)[0])
    function.defvjp(forward, backward)
    found: Callable[..., Untyped] = function
    return found


def _solve_assignment(cost: Array) -> tuple[Array, Array]:
    result = _assign_on_host(cost)
    column = np.full((*cost.shape[:-2], cost.shape[-2]), -1, dtype=np.int32)
    np.put_along_axis(column, result.row, result.column.astype(np.int32), -1)
    return np.asarray(result.upper_bound), column


def _assign_forward(cost: Untyped) -> Untyped:
    *leading, n, _ = cost.shape
    found = *_like(cost, (*leading,)), jax.ShapeDtypeStruct((*leading, n), np.int32)
    total, column = _call(_solve_assignment, found, cost)
    return (total, column), (cost, column)


def _assign_backward(kept: Untyped, of: Untyped) -> Untyped:
    cost, column = kept
    plan = column[..., None] == jnp.arange(cost.shape[-1])
    return (of[0][..., None, None] * plan.astype(cost.dtype),)


def _solve_transport(cost: Array, a: Array, b: Array) -> tuple[Array, ...]:
    leading, (n, m) = cost.shape[:-2], cost.shape[-2:]
    results = _transport_on_host(cost, a, b)
    results = results if leading else [results]
    parts = (
        [[getattr(each, name) for each in results] for name in ("upper_bound", "u", "v")],
        [each.matrix() for each in results],
    )
    (total, u, v), plan = parts
    found = zip((total, plan, u, v), ((), (n, m), (n,), (m,)), strict=True)
    return tuple(np.reshape(part, (*leading, *shape)) for part, shape in found)


def _transport_forward(cost: Untyped, a: Untyped, b: Untyped) -> Untyped:
    *leading, n, m = cost.shape
    shapes = _like(cost, (*leading,), (*leading, n, m), (*leading, n), (*leading, m))
    found = _call(_solve_transport, shapes, cost, a, b)
    return found, (a, b, *found[1:])


def _transport_backward(kept: Untyped, of: Untyped) -> Untyped:
    a, b, plan, u, v = kept
    of_cost = of[0][..., None]
    in_a, in_b = (prices - prices.mean(-1, keepdims=True) for prices in (-u, v))
    return of_cost[..., None] * plan, (of_cost * in_a).astype(a.dtype), (of_cost * in_b).astype(b.dtype)


def _solve_flow(tail: Array, head: Array, capacity: Array, cost: Array, supply: Array) -> tuple[Array, ...]:
    leading = cost.shape[:-1]
    parts: list[list[Untyped]] = [[], [], []]
    for item in np.ndindex(leading):
        arcs = tuple(each[item] for each in (tail, head, capacity, cost))
        result = _flow_on_host(arcs, supply[item])
        for part, value in zip(parts, (result.upper_bound, result.flow, result.potentials), strict=True):
            part.append(value)
    shapes = ((), cost.shape[-1:], supply.shape[-1:])
    return tuple(np.reshape(part, (*leading, *shape)) for part, shape in zip(parts, shapes, strict=True))


def _flow_forward(tail: Untyped, head: Untyped, capacity: Untyped, cost: Untyped, supply: Untyped) -> Untyped:
    data = tail, head, capacity, cost, supply
    found = _call(_solve_flow, _like(cost, (), cost.shape, supply.shape), *data)
    return found, (*data, *found[1:])


def _flow_backward(kept: Untyped, of: Untyped) -> Untyped:
    tail, head, capacity, cost, supply, flow, potentials = kept
    reduced = cost + potentials[tail] - potentials[head]
    in_capacity, in_supply = jnp.minimum(reduced, 0), potentials.mean() - potentials
    return (
        None,
        None,
        (of[0] * in_capacity).astype(capacity.dtype),
        of[0] * flow,
        (of[0] * in_supply).astype(supply.dtype),
    )


_assign = _differentiable(_assign_forward, _assign_backward)
_transport = _differentiable(_transport_forward, _transport_backward)
_flow = _differentiable(_flow_forward, _flow_backward)
