"""Networks with costs from attributes and columns: no number that is given gets lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse as sp

import preflow
from preflow import CostNetwork
from preflow.errors import InfeasibleError, InvalidInputError


@pytest.mark.parametrize("name", ["weight", "cost", "price"])
@pytest.mark.parametrize("kind", ["tuples", "dict"])
def test_attributes_are_not_dropped(kind: str, name: str) -> None:
    """Lower bounds count, and costs under another name are an error."""
    attributes = {"capacity": 4, name: 3, "lower": 2}

    def build(**names: str) -> CostNetwork:
        if kind == "tuples":
            return CostNetwork.from_edges([("a", "b", attributes)], **names)
        return CostNetwork.from_dict({"a": {"b": attributes}}, **names)

    if name == "price":
        with pytest.raises(InvalidInputError, match=r"no edge has the attribute 'weight'.*'price'"):
            build()
    for network in (build(weight=name), *([] if name == "price" else [build(), build(weight="cost")])):
        assert (network.cost.tolist(), network.lower.tolist(), network.capacity.tolist()) == ([3], [2], [4])


def test_tables_have_lower_bounds() -> None:
    table = {"source": ["a"], "target": ["b"], "capacity": [4], "cost": [1]}
    assert CostNetwork.from_pandas(pandas.DataFrame(table)).lower is None
    frame = pandas.DataFrame(table | {"lower": [3]})
    assert CostNetwork.from_pandas(frame).lower.tolist() == [3]
    assert CostNetwork.from_pandas(frame, lower=None).lower is None
    with pytest.raises(InfeasibleError):
        preflow.min_cost_flow(frame, {"a": 1, "b": -1})


#: Three arcs, whose cheapest flow from 0 to 2 leaves the dear one empty unless a lower bound asks for it.
TAIL, HEAD, CAPACITY, COST, LOWER = [0, 0, 1], [1, 2, 2], [4, 4, 4], [1, 5, 2], [0, 2, -1]


@pytest.mark.parametrize("bounded", [False, True])
def test_tuples_have_lower_bounds(bounded: bool) -> None:
    columns = [TAIL, HEAD, CAPACITY, COST, *([LOWER] if bounded else [])]
    rows = list(zip(*columns, strict=True))
    adjacency: dict[int, dict[int, tuple[int, ...]]] = {}
    for u, v, *numbers in rows:
        adjacency.setdefault(u, {})[v] = tuple(numbers)
    for given in (tuple(columns), rows, adjacency):
        result = preflow.min_cost_flow(given, {0: 3, 2: -3})
        assert result.flow.tolist() == ([1, 2, 1] if bounded else [3, 0, 3])
        assert result.network.lower is None or result.network.lower.tolist() == LOWER
        result.verify()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0], [1], [4]), r"\(tail, head, capacity, cost, lower\), got 3 entries"),
        (([0], [1], [4], [1], [0], [0]), "got 6 entries"),
        (([0], [1], [4], [1], [5]), "the lower bound 5 is above the capacity 4 at 0"),
        (([0], [1], [4], [1], [0, 1]), "lower"),
        (([0], [1], [4], [1], [np.nan]), "lower"),
        ([("a", "b", 4, 1, 5)], "the lower bound 5 is above the capacity 4 at 0, from 'a' to 'b'"),
        ([("a", "b", 4, 1, 0), ("b", "c", 4, 1)], "all of the same length; edge 1 is"),
        ([("a", "b", 4)], r"\(tail, head, capacity, cost\) or \(tail, head, capacity, cost, lower\)"),
        ({"a": {"b": (4, 1, 0), "c": (4, 1)}}, r"all edges the same, not \(4, 1\)"),
        ({"a": {"b": 4}}, r"has \(capacity, cost\) or \(capacity, cost, lower\) or attributes.* not 4"),
    ],
)
def test_bad_tuples(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.min_cost_flow(given)


def matrix(values: list[int], kind: Any = sp.csr_array) -> Any:
    return kind(sp.coo_array((values, (TAIL, HEAD)), shape=(3, 3)))


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csr_matrix, sp.csc_array, sp.lil_array])
def test_sparse_matrices_have_lower_bounds(kind: Any) -> None:
    """Lower bounds are a number, an array or a matrix, in any format and with parallel arcs."""
    cost, lower = matrix(COST), matrix(LOWER, kind)
    for given in (lower, LOWER):
        network = CostNetwork.from_scipy(
            cost, capacity=matrix(CAPACITY, kind), lower=given, supply=[3, 0, -3]
        )
        assert network.lower.tolist() == LOWER
        assert preflow.min_cost_flow(network).flow.tolist() == [1, 2, 1]
    assert CostNetwork.from_scipy(cost, lower=1).lower.tolist() == [1, 1, 1]
    assert CostNetwork.from_scipy(cost, lower=sp.csr_array((3, 3))).lower is None
    places = [0, 0], [1, 1]
    parallel = [sp.coo_array((values, places), shape=(2, 2)) for values in ([1, 5], [4, 9], [0, 2])]
    network = CostNetwork.from_scipy(parallel[0], capacity=parallel[1], lower=parallel[2], supply=[5, -5])
    assert (network.capacity.tolist(), network.lower.tolist()) == ([4, 9], [0, 2])


@pytest.mark.parametrize("name", ["capacity", "lower"])
def test_sparse_matrices_that_do_not_fit(name: str) -> None:
    cost = matrix(COST)
    with pytest.raises(InvalidInputError, match=rf"{name} has shape \(4, 4\), and cost \(3, 3\)"):
        CostNetwork.from_scipy(cost, **{name: sp.csr_array((4, 4))})
    stray = sp.csr_array(([1.0], ([2], [0])), shape=(3, 3))
    with pytest.raises(InvalidInputError, match=rf"{name} has an entry at \(2, 0\), where cost stores none"):
        CostNetwork.from_scipy(cost, **{name: stray})
    with pytest.raises(InvalidInputError, match=name):
        CostNetwork.from_scipy(cost, **{name: [1, 2]})
    with pytest.raises(InvalidInputError, match=name):
        CostNetwork.from_scipy(cost, **{name: matrix([1, 2, 3]) * np.nan})
    with pytest.raises(InvalidInputError, match="the lower bound 5 is above the capacity 4 at 1"):
        CostNetwork.from_scipy(cost, capacity=4, lower=matrix([0, 5, 0]))
