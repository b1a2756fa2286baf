"""Arrays of other libraries than NumPy, which have the protocol of DLPack, in every problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError, VerificationError
from preflow.registry import FUNCTIONS
from tests.support.tensors import Tensor

TAIL, HEAD = [0, 0, 1, 2], [1, 2, 3, 3]
COSTS = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]

#: Solves with numbers that the argument makes an array of, and the fields of the result.
SOLVES: dict[str, tuple[Callable[[Callable[[Any], Any]], Any], tuple[str, ...]]] = {
    "max_flow": (
        lambda of: preflow.max_flow((of(TAIL), of(HEAD), of([3, 2, 2, 2])), 0, 3),
        ("flow", "sink_side", "cut_arcs", "source_side()", "bottleneck_arcs()"),
    ),
    "max_flow of a matrix": (
        lambda of: preflow.max_flow(of([[0, 3, 2], [0, 0, 2], [0, 0, 0]]), 0, 2),
        ("flow", "sink_side"),
    ),
    "min_cut": (
        lambda of: preflow.min_cut((of(TAIL), of(HEAD), of([3, 2, 2, 2])), 0, 3),
        ("sink_side", "cut_arcs"),
    ),
    "min_cost_flow": (
        lambda of: preflow.min_cost_flow(
            (of(TAIL), of(HEAD), of([3, 2, 2, 2]), of([1, 5, 2, 2.5])), of([3, 0, 0, -3])
        ),
        ("flow", "potentials", "supply", "reduced_costs"),
    ),
    "bipartite_matching": (
        lambda of: preflow.bipartite_matching((of([0, 0, 1]), of([0, 1, 1]))),
        ("row_match", "column_match"),
    ),
    "bipartite_matching of a matrix": (
        lambda of: preflow.bipartite_matching(of([[1, 0, 1], [0, 0, 1]])),
        ("row_match", "column_match"),
    ),
    "matching": (
        lambda of: preflow.matching((of(TAIL), of(HEAD), of([3, 9, 4, 1]))),
        ("mate", "edges"),
    ),
    "matching without weights": (lambda of: preflow.matching((of(TAIL), of(HEAD))), ("mate", "edges")),
    "linear_assignment": (
        lambda of: preflow.linear_assignment(of(COSTS)),
        ("row", "column", "u", "v"),
    ),
    "linear_assignment of edges": (
        lambda of: preflow.linear_assignment((of([0, 0, 1]), of([0, 1, 0]), of([1.5, 2, 4]))),
        ("row", "column", "u", "v"),
    ),
    "linear_assignment of points": (
        lambda of: preflow.linear_assignment(
            preflow.PointCosts(of([[0.0, 1], [3, 2]]), of([[1, 2], [5, 5]]))
        ),
        ("row", "column", "u", "v"),
    ),
    "transport": (
        lambda of: preflow.transport(of(COSTS), of([3, 2, 1]), of([2, 2, 2])),
        ("row", "column", "mass", "u", "v", "a", "b", "matrix()"),
    ),
    "grid_cut": (
        lambda of: preflow.grid_cut(of([[3, 0, 0]]), of([[0, 0, 3]]), of([[[2, 1, 0]], [[0, 0, 0]]])),
        ("labels",),
    ),
}


class Bare:
    """An array that has nothing but the protocol of DLPack."""

    def __init__(self, values: Any) -> None:
        self._values = np.array(values)

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._values.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


class Unknown(Bare):
    """An array of a dtype that NumPy lacks."""

    dtype = "bfloat16"

    def __dlpack__(self, **arguments: Any) -> Any:
        raise RuntimeError("Unsupported dtype in DLTensor.")


def with_gradient(values: Any) -> Tensor:
    tensor = Tensor(values)
    tensor.requires_grad = True
    return tensor


def _field(result: Any, name: str) -> Any:
    found = getattr(result, name.removesuffix("()"))
    return found() if name.endswith("()") else found


def test_every_problem_takes_such_arrays() -> None:
    assert set(FUNCTIONS) <= set(SOLVES)


@pytest.mark.parametrize("problem", SOLVES)
def test_results_are_of_the_kind_of_the_input(problem: str) -> None:
    solve, fields = SOLVES[problem]
    expected, result = solve(np.array), solve(Tensor)
    result.verify()
    assert repr(result).split(",")[0] == repr(expected).split(",")[0]
    for name in fields:
        values = _field(result, name)
        assert isinstance(values, Tensor), name
        assert values.values.tolist() == _field(expected, name).tolist(), name
        assert values.values.dtype == _field(expected, name).dtype, name


@pytest.mark.parametrize("problem", SOLVES)
def test_objects_with_dlpack_only(problem: str) -> None:
    """Their library cannot be found, so the results are NumPy arrays."""
    solve, fields = SOLVES[problem]
    expected, result = solve(np.array), solve(Bare)
    result.verify()
    for name in fields:
        values = _field(result, name)
        assert isinstance(values, np.ndarray)
        assert values.tolist() == _field(expected, name).tolist()


@pytest.mark.parametrize("problem", SOLVES)
def test_the_dtype_that_numpy_lacks_is_named(problem: str) -> None:
    solve, _ = SOLVES[problem]
    with pytest.raises(InvalidInputError, match="has dtype bfloat16: convert it"):
        solve(Unknown)


@pytest.mark.parametrize("problem", SOLVES)
def test_a_gradient_that_results_would_lose(problem: str) -> None:
    solve, _ = SOLVES[problem]
    with pytest.raises(InvalidInputError, match=r"preflow\.integrations\.torch return .* tensor\.detach\(\)"):
        solve(with_gradient)


def test_a_gradient_that_nobody_records() -> None:
    torch = pytest.importorskip("torch")
    cost = torch.eye(3, requires_grad=True)
    with pytest.raises(InvalidInputError, match="a tensor requires a gradient"):
        preflow.linear_assignment(cost)
    with torch.no_grad():
        assert preflow.linear_assignment(cost).cost == 0
        assert preflow.transport(cost, torch.ones(3), torch.ones(3)).cost == 0


@pytest.mark.parametrize("problem", SOLVES)
def test_arrays_of_jax(problem: str) -> None:
    """Also where JAX makes numbers of 32 bits by default: those of results have 64."""
    jax = pytest.importorskip("jax")
    solve, fields = SOLVES[problem]
    expected, result = solve(np.array), solve(jax.numpy.array)
    result.verify()
    for name in fields:
        values = _field(result, name)
        assert isinstance(values, jax.Array)
        assert values.tolist() == _field(expected, name).tolist()
        assert values.dtype == _field(expected, name).dtype


def test_bfloat16_of_jax_is_named() -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(InvalidInputError, match="cost has dtype bfloat16: convert it"):
        preflow.linear_assignment(jax.numpy.ones((2, 2), dtype=jax.numpy.bfloat16))


def test_numbers_past_32_bits_in_jax() -> None:
    jax = pytest.importorskip("jax")
    result = preflow.linear_assignment(jax.numpy.array([[1, 2], [3, 4]]), maximize=True)
    assert result.row.dtype == np.int64
    network = preflow.FlowNetwork.from_arrays(jax.numpy.array([0]), jax.numpy.array([1]), [2**40])
    flow = preflow.max_flow(network, 0, 1).flow
    assert isinstance(flow, jax.Array)
    assert flow.tolist() == [2**40]


def test_tables_dictionaries_and_warm_starts() -> None:
    network = preflow.CostNetwork.from_arrays(
        Tensor(TAIL), Tensor(HEAD), capacity=Tensor([3, 2, 2, 2]), cost=[1, 5, 2, 2], supply=[3, 0, 0, -3]
    )
    cheapest = preflow.min_cost_flow(network)
    assert cheapest.amount == 3
    assert cheapest.flow_dict()[0] == {1: 2, 2: 1}
    assert cheapest.to_columns()["flow"].tolist() == [2, 1, 2, 1]
    again = preflow.min_cost_flow(network, warm_start=cheapest)
    again.verify()
    assert isinstance(again.flow, Tensor)
    largest = preflow.max_flow((Tensor(TAIL), Tensor(HEAD), Tensor([3, 2, 2, 2])), 0, 3)
    assert largest.flow_dict()[0] == {1: 2, 2: 2}
    assert largest.flow_matrix().sum() == 8
    pairs = preflow.matching((Tensor(TAIL), Tensor(HEAD)))
    assert len(pairs.pairs()) == 2
    assert preflow.matching((Tensor(TAIL), Tensor(HEAD)), warm_start=pairs).cardinality == 2
    both = preflow.bipartite_matching((Tensor([0, 0, 1]), Tensor([0, 1, 1])))
    assert both.pairs() == [(0, 0), (1, 1)]
    assert both.vertex_cover.size == 2
    assert (
        preflow.bipartite_matching((Tensor([0, 0, 1]), Tensor([0, 1, 1])), warm_start=both).cardinality == 2
    )
    plan = preflow.transport(Tensor(COSTS), Tensor([3, 2, 1]), Tensor([2, 2, 2]))
    assert plan.sparse().sum() == 6
    assert sum(map(len, plan.flow_dict().values())) == len(plan.to_columns()["mass"])


def test_a_corrupt_tensor_is_found() -> None:
    result = preflow.max_flow((Tensor(TAIL), Tensor(HEAD), Tensor([3, 2, 2, 2])), 0, 3)
    with pytest.raises(VerificationError):
        replace(result, flow=Tensor([3, 2, 2, 2])).verify()
    cheapest = preflow.min_cost_flow((Tensor([0]), Tensor([1]), Tensor([3]), Tensor([1])), [2, -2])
    with pytest.raises(VerificationError):
        replace(cheapest, flow=Tensor([3])).verify()


def test_problems_that_are_reduced_to_others() -> None:
    """Their results are NumPy arrays."""
    network = Tensor(TAIL), Tensor(HEAD), Tensor([3, 2, 2, 2])
    costs = *network, Tensor([1, 5, 2, 2])
    assert preflow.max_flow_min_cost(costs, 0, 3).flow.tolist() == [2, 2, 2, 2]
    assert preflow.minimum_cuts(network, 0, 3).count() >= 1
    assert preflow.gomory_hu_tree(network).min_cut_value(0, 3) == 4
    assert preflow.global_min_cut(network).value >= 1
    assert preflow.structural_rank(Tensor([[1, 0], [1, 0]])) == 1
