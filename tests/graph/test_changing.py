"""Arcs and vertices that solvers are told to change, called by numbers and by names."""

from __future__ import annotations

import warnings
from typing import Any

import networkx
import numpy as np
import pandas
import pytest

import preflow
from preflow.errors import InvalidInputError

ROADS = [("D", "F", 5), ("D", "K", 2), ("K", "F", 4), ("D", "F", 1)]
COSTS = [("a", "b", 4, 1), ("a", "c", 4, 5), ("b", "c", 4, 2)]


def changed(solver: preflow.MaxFlow, arcs: Any, values: Any, **more: Any) -> tuple[list[int], int]:
    """Return the capacities and the value after a change, checked against a solve from scratch."""
    solver.solve()
    solver.set_capacity(arcs, values, **more)
    result = solver.solve()
    result.verify()
    network = solver.network
    assert network.labels is not None
    source, sink = (network.labels[int(ends[0])] for ends in (solver.sources, solver.sinks))
    assert result.value == preflow.max_flow(network, source, sink).value
    return network.capacity.tolist(), int(result.value)


@pytest.mark.parametrize(
    ("arcs", "values", "capacity", "value"),
    [
        (("D", "F"), 0, [0, 2, 4, 0], 2),  # both of them
        (("K", "F"), 1, [5, 2, 1, 1], 7),
        (("K", "F"), [1], [5, 2, 1, 1], 7),
        ([("D", "K"), ("K", "F")], [7, 6], [5, 7, 6, 1], 12),
        ((("D", "K"), ("D", "F")), 0, [0, 0, 4, 0], 0),
        (pandas.MultiIndex.from_tuples([("D", "K"), ("D", "F")]), 0, [0, 0, 4, 0], 0),
        ((0, 3), 0, [0, 2, 4, 0], 2),  # numbers of arcs: no label is an integer
    ],
)
def test_capacities_by_names(arcs: Any, values: Any, capacity: list[int], value: int) -> None:
    assert changed(preflow.MaxFlow(ROADS, "D", "F"), arcs, values) == (capacity, value)


@pytest.mark.parametrize(("reverse", "capacity", "back"), [(None, 0, 0), (False, 4, 0), (True, 0, 4)])
def test_edges_either_way(reverse: bool | None, capacity: int, back: int) -> None:
    """An undirected road closes in both directions, whichever end is said first."""
    network = preflow.FlowNetwork.from_edges(ROADS, undirected=True)
    solver = preflow.MaxFlow(network, "D", "F")
    assert changed(solver, ("F", "K"), 0, reverse=reverse)[0] == [5, 2, capacity, 1]
    assert solver.network.reverse_capacity is not None
    assert solver.network.reverse_capacity.tolist() == [5, 2, back, 1]
    assert changed(solver, ("F", "K"), 4)[0] == [5, 2, 4, 1]  # opened again
    assert solver.network.reverse_capacity.tolist() == [5, 2, 4, 1]


def test_labels_that_are_tuples() -> None:
    grid = networkx.grid_2d_graph(3, 3)
    networkx.set_edge_attributes(grid, 2, "capacity")
    solver = preflow.MaxFlow(grid, (0, 0), (2, 2))
    assert changed(solver, ((0, 0), (0, 1)), 0)[1] == 2
    assert changed(solver, [((1, 0), (0, 0))], 1)[1] == 1


def test_labels_that_are_integers() -> None:
    graph = networkx.DiGraph()
    graph.add_edge(10, 20, capacity=3)
    graph.add_edge(20, 30, capacity=1)
    solver = preflow.MaxFlow(graph, 10, 30)
    with pytest.raises(
        InvalidInputError, match=r"write \[\(10, 20\)\] for the ends, \[10, 20\] for the numb"
    ):
        solver.set_capacity((10, 20), 0)
    assert changed(solver, [(10, 20)], 0) == ([0, 1], 0)
    assert changed(solver, [0, 1], 7) == ([7, 7], 7)
    assert solver.add_arcs(10, 30, 2).tolist() == [2]
    assert solver.solve().value == 9


@pytest.mark.parametrize(
    ("arcs", "values", "message"),
    [
        (("D", "F"), 3, r"2 arcs lead from 'D' to 'F': give their numbers, \[0, 3\], and each its value"),
        (("F", "K"), 0, "there is no arc from 'F' to 'K'; there is one from 'K' to 'F'"),
        (("F", "D"), 0, "there is no arc from 'F' to 'D'; there is one from 'D' to 'F'"),
        (("K", "K"), 0, "there is no arc from 'K' to 'K'$"),
        (("D", "X"), 0, "vertex 'X' is not in the graph"),
        ("D", 0, r"got 'D'; the tuple \(tail, head\) of its vertices does as well"),
        (["D", "F"], 0, r"got \['D', 'F'\]; the tuple"),
        (("D", "K", "F"), 0, "the tuple"),
        ([("D", "K", "F")], 0, "the tuple"),
        ([("D", "K"), ("K", "F")], [1, 2, 3], r"values has shape \(3,\), expected one number, or 2"),
        (("D", "K"), -1, "negative"),
    ],
)
def test_what_no_arc_is_called(arcs: Any, values: Any, message: str) -> None:
    solver = preflow.MaxFlow(ROADS, "D", "F")
    with pytest.raises(InvalidInputError, match=message):
        solver.set_capacity(arcs, values)
    assert solver.network.capacity.tolist() == [5, 2, 4, 1]


def test_arcs_are_added_by_names() -> None:
    solver = preflow.MaxFlow(ROADS, "D", "F")
    assert solver.add_arcs("K", "F", 2).tolist() == [4]
    assert solver.add_arcs(["D", "K"], ["K", "F"], [5, 6]).tolist() == [5, 6]
    assert solver.solve().value == 13
    with pytest.raises(InvalidInputError, match="vertex 'X' is not in the graph"):
        solver.add_arcs("K", "X", 1)
    with pytest.warns(DeprecationWarning, match="tail is now given by the labels") as warned:
        solver.add_arcs(0, "F", 4)
    assert warned[0].filename == __file__
    assert solver.solve().value == 17
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preflow.MaxFlow(([0], [1], [1]), 0, 1).add_arcs(0, 1, 3)


def test_costs_by_names() -> None:
    def cost(change: Any) -> int | float:
        solver = preflow.MinCostFlow(COSTS, {"a": 6, "c": -6})
        solver.solve()
        change(solver)
        result = solver.solve()
        result.verify()
        return result.cost

    assert cost(lambda solver: solver.set_cost(("b", "c"), 7)) == 36
    assert cost(lambda solver: solver.set_cost([("b", "c"), ("a", "b")], [7, 0])) == 34
    assert cost(lambda solver: solver.set_capacity(("b", "c"), 2)) == 26
    assert cost(lambda solver: solver.set_lower(("a", "c"), 3)) == 24
    assert cost(lambda solver: solver.set_supply(("a", "c"), [3, -3])) == 9
    with pytest.raises(InvalidInputError, match="vertex 'q' is not in the graph"):
        cost(lambda solver: solver.set_supply("q", 3))
    twice = preflow.MinCostFlow([*COSTS, ("a", "b", 1, 3)], {"a": 6, "c": -6})
    twice.set_cost(("a", "b"), 2)  # a cost of each unit, so of both
    assert twice.network.cost.tolist() == [2, 5, 2, 2]
    with pytest.raises(InvalidInputError, match="2 arcs lead from 'a' to 'b'"):
        twice.set_lower(("a", "b"), 2)


def test_undirected_arcs_with_costs() -> None:
    graph = networkx.Graph()
    graph.add_edge("b", "a", capacity=3, weight=2)
    solver = preflow.MinCostFlow(graph, {"a": 2, "b": -2})
    solver.set_cost(("a", "b"), 5)
    assert solver.solve().cost == 10


def test_arcs_between_are_those_that_a_loop_finds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, m = int(rng.integers(2, 6)), int(rng.integers(1, 12))
        tail, head = rng.integers(0, n, (2, m))
        capacity, back = rng.integers(0, 3, (2, m))
        two_way = rng.random() < 0.5
        network = preflow.FlowNetwork.from_arrays(
            tail, head, capacity, reverse_capacity=back if two_way else None, num_vertices=n
        )
        either = two_way & ((back > 0) | (back == capacity))
        pairs, wanted = [], []
        for u in range(n):
            for v in range(n):
                arcs = np.flatnonzero(((tail == u) & (head == v)) | (either & (tail == v) & (head == u)))
                if not len(arcs):
                    with pytest.raises(InvalidInputError, match=f"no arc from {u} to {v}"):
                        network.arcs_between(u, v)
                    continue
                assert network.arcs_between(u, v).tolist() == arcs.tolist()
                pairs.append((u, v))
                wanted.append(arcs.tolist())
        order = rng.permutation(len(pairs))
        which, found, against = network.arcs_of_pairs([pairs[k] for k in order])
        for place, k in enumerate(order):
            assert sorted(found[which == place].tolist()) == wanted[k]
        starts = np.where(against, head[found], tail[found])
        assert starts.tolist() == [pairs[order[k]][0] for k in which]
