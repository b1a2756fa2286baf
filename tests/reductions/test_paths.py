"""Shortest and disjoint paths against NetworkX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import reductions
from preflow.errors import InfeasibleFlowError, InvalidInputError, UnboundedCostError, VerificationError
from preflow.reductions.paths import Steps, _without_loops

pytestmark = pytest.mark.fast


@st.composite
def cost_graphs(draw: st.DrawFn) -> tuple[preflow.CostNetwork, nx.MultiDiGraph]:
    """Draw networks whose arcs cost something and may work both ways, with the directed graph of the arcs."""
    n = draw(st.integers(2, 8))
    vertex = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 9), st.booleans()), max_size=20))
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(n))
    for u, v, cost, both in arcs:
        graph.add_edge(u, v, weight=cost)
        if both:
            graph.add_edge(v, u, weight=cost)
    columns = [[arc[i] for arc in arcs] for i in range(4)]
    network = preflow.CostNetwork.from_arrays(
        *columns[:2], cost=columns[2], undirected=np.array(columns[3], dtype=bool), num_vertices=n
    )
    return network, graph


@settings(max_examples=150, deadline=None)
@given(cost_graphs())
def test_shortest_path(case: tuple[preflow.CostNetwork, nx.MultiDiGraph]) -> None:
    network, graph = case
    sink = network.num_vertices - 1
    if not nx.has_path(graph, 0, sink):
        with pytest.raises(InfeasibleFlowError) as error:
            reductions.shortest_path(network, 0, sink)
        assert set(error.value.vertices) == {0} | nx.descendants(graph, 0)
        return
    found = reductions.shortest_path(network, 0, sink)
    found.verify()
    assert found.cost == nx.shortest_path_length(graph, 0, sink, weight="weight")
    lengths = nx.single_source_dijkstra_path_length(graph, 0)
    for v, length in lengths.items():
        assert found.distance_bounds[v] <= length
    for v in found.vertices[0]:
        assert found.distance_bounds[v] == lengths[v]


@pytest.mark.parametrize("disjoint", ["arcs", "vertices"])
@settings(max_examples=100, deadline=None)
@given(case=cost_graphs())
def test_disjoint_paths(
    disjoint: Literal["arcs", "vertices"], case: tuple[preflow.CostNetwork, nx.MultiDiGraph]
) -> None:
    network, _ = case
    sink = network.num_vertices - 1
    most = reductions.disjoint_paths(network, 0, sink, disjoint=disjoint)
    most.verify()
    split = nx.DiGraph()  # each direction of an arc has a vertex of its own
    for v in range(network.num_vertices):
        one = disjoint == "vertices" and v not in (0, sink)
        split.add_edge((v, 0), (v, 1), capacity=1 if one else 99, weight=0)
    both = np.zeros(network.num_arcs, dtype=bool) if network.undirected is None else network.undirected
    columns = (network.tail.tolist(), network.head.tolist(), network.cost.tolist(), both.tolist())
    for i, (u, v, cost, two_way) in enumerate(zip(*columns, strict=True)):
        for k, (x, y) in enumerate([(u, v), (v, u)][: 1 + two_way]):
            split.add_edge((x, 1), ("arc", i, k), capacity=1, weight=cost)
            split.add_edge(("arc", i, k), (y, 0), capacity=1, weight=0)
    flow = nx.max_flow_min_cost(split, (0, 1), (sink, 0))
    assert len(most) == nx.maximum_flow_value(split, (0, 1), (sink, 0))
    assert most.cost == nx.cost_of_flow(split, flow)
    for k in range(1, len(most) + 1):
        found = reductions.disjoint_paths(network, 0, sink, count=k, disjoint=disjoint)
        found.verify()
        assert len(found) == k
        assert found.cost <= most.cost
    with pytest.raises(InfeasibleFlowError) as error:
        reductions.disjoint_paths(network, 0, sink, count=len(most) + 1, disjoint=disjoint)
    assert 0 in error.value.vertices
    assert error.value.excess == 1


def test_a_walk_without_its_loops() -> None:
    tail, head = np.array([0, 1, 2, 3, 1, 4, 5, 4]), np.array([1, 2, 3, 1, 4, 5, 4, 6])
    steps = Steps(np.arange(8), tail, head)
    assert _without_loops(steps, np.arange(8), 6).tolist() == [0, 4, 7]


def test_long_paths_are_followed_at_once() -> None:
    n = 2_000
    network = preflow.CostNetwork.from_arrays(np.arange(n - 1), np.arange(1, n), cost=1)
    found = reductions.shortest_path(network, 0, n - 1, method="ssp")
    assert found.cost == n - 1
    found.verify()


def test_labels_and_zero_capacity() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=1, capacity=0)
    graph.add_edge("a", "c", weight=2)
    graph.add_edge("c", "b", weight=-1)
    for disjoint in ("arcs", "vertices"):
        found = reductions.disjoint_paths(graph, "a", "b", disjoint=disjoint)  # type: ignore[arg-type]
        assert (found.vertices, found.cost) == ((("a", "c", "b"),), 1)
    with pytest.raises(InfeasibleFlowError) as error:
        reductions.disjoint_paths(graph, "a", "b", count=2, disjoint="vertices")
    assert set(error.value.vertices) <= {"a", "c"}


def test_floats() -> None:
    network = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], cost=[0.1, 0.4, 0.2])
    found = reductions.shortest_path(network, 0, 2)
    found.verify()
    assert found.cost == pytest.approx(0.3)


def test_cycles_of_negative_cost() -> None:
    arcs = [0, 1, 2, 3], [1, 2, 1, 2]
    network = preflow.CostNetwork.from_arrays(*arcs, cost=[1, -3, 1, 0])
    with pytest.raises(UnboundedCostError):
        reductions.shortest_path(network, 0, 1)
    with pytest.raises(InvalidInputError, match="cycles of negative cost"):
        reductions.disjoint_paths(network, 0, 1)


def test_refusals() -> None:
    network = preflow.CostNetwork.from_arrays([0, 1], [1, 2], cost=1)
    for arguments, message in (
        ({"count": 0}, "count must"),
        ({"count": 2}, "several paths"),
        ({"disjoint": "edges"}, "disjoint must"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            reductions.PathsAsMinCostFlow.of(network, 0, 2, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="both source and sink"):
        reductions.shortest_path(network, 1, 1)
    found = reductions.shortest_path(network, 0, 2)
    other = reductions.shortest_path(network, 0, 1)
    wrong = reductions.CheapPaths(
        other.arcs, other.vertices, other.cost, other.costs, network, None, found.result
    )
    with pytest.raises(VerificationError, match="cost 1"):
        wrong.verify()
    with pytest.raises(InvalidInputError, match="shortest"):
        _ = reductions.disjoint_paths(network, 0, 2).distance_bounds


@pytest.mark.parametrize("huge", [1e15, 1e100, 1.7e308])
def test_a_huge_cost_of_no_use(huge: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        tail, head = rng.integers(0, 6, (2, 20))
        cost = rng.random(20)
        wild = np.where(rng.random(20) < 0.2, huge, cost)
        wild[:5], tail[:5], head[:5] = cost[:5], range(5), range(1, 6)
        network = preflow.CostNetwork.from_arrays(tail, head, cost=wild, num_vertices=6)
        found = reductions.shortest_path(network, 0, 5)
        found.verify()
        cheap = wild < huge
        few = preflow.CostNetwork.from_arrays(tail[cheap], head[cheap], cost=wild[cheap], num_vertices=6)
        assert found.cost == pytest.approx(reductions.shortest_path(few, 0, 5).cost, rel=1e-13)
        assert found.gap <= 1e-12
        wrong: list[dict[str, Any]] = [{"cost": found.cost + 1e-3}, {"costs": (0.0,)}, {"costs": ()}]
        for fields in wrong:
            with pytest.raises(VerificationError):
                replace(found, **fields).verify()
        jobs = np.where(rng.random((4, 4)) < 0.3, huge, rng.random((4, 4)))
        jobs[range(4), range(4)] = rng.random(4)
        assigned = reductions.assign_jobs(jobs)
        assigned.verify()
        right = preflow.linear_assignment(np.where(jobs == huge, np.inf, jobs))
        assert assigned.cost == pytest.approx(right.cost, rel=1e-13)
        assert assigned.gap <= 1e-12


@pytest.mark.parametrize("huge", [1e15, -1e18, 1.3e55, 1e300, -1.7e308])
def test_bounds_of_distances_beside_a_huge_cost(huge: float) -> None:
    """Whatever an arc costs that no path to a vertex needs, its bound is the distance."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        n = 7
        tail, head = np.append(rng.integers(0, n, (2, 12)), [range(n - 1), range(1, n)], axis=1)
        cost = rng.integers(1, 9, len(tail)) / 10
        # No path leads on from the new vertex.
        network = preflow.CostNetwork.from_arrays(
            np.append(tail, rng.integers(0, n)), np.append(head, n), cost=np.append(cost, huge)
        )
        found = reductions.shortest_path(network, 0, n - 1)
        found.verify()
        distance = [0.0] + [np.inf] * (n - 1)
        for _ in range(n):
            for u, v, c in zip(tail.tolist(), head.tolist(), cost.tolist(), strict=True):
                distance[v] = min(distance[v], distance[u] + c)
        bounds, path = found.distance_bounds[:n], list(found.vertices[0])
        assert found.cost == pytest.approx(distance[-1], rel=1e-12)
        assert (bounds <= np.array(distance) + 1e-11).all()
        assert bounds[path] == pytest.approx(np.array(distance)[path], rel=1e-11)


def test_a_cycle_that_costs_nothing_on_a_path() -> None:
    network = preflow.CostNetwork.from_arrays([1, 0, 2], [2, 1, 0], cost=[-0.1, 0.0, 0.1])
    result = preflow.min_cost_flow(network, [1, -1, 0])
    object.__setattr__(result, "flow", np.array([1, 2, 1]))
    reduction = reductions.PathsAsMinCostFlow.of(network, 0, 1)
    found = reduction.solution(replace(result, network=reduction.network))
    found.verify()
    assert found.vertices == ((0, 1),)


def test_the_cost_of_paths_is_proved_closely() -> None:
    network = preflow.CostNetwork.from_arrays([0, 0], [1, 1], cost=[0.5, 0.5 + 1e-11])
    found = reductions.shortest_path(network, 0, 1)
    dearer = float(network.cost[1])
    with pytest.raises(VerificationError):
        replace(found, arcs=(np.array([1]),), cost=dearer, costs=(dearer,)).verify()
