"""Maximum flows solved directly and through reductions: both ways, terminals, circulations, vertices."""

from __future__ import annotations

from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import reductions
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError, VerificationError
from preflow.reductions import base, circulation
from tests.support.strategies import SmallProblem, float_capacities, small_problems

pytestmark = pytest.mark.fast


@settings(max_examples=60, deadline=None)
@given(small_problems() | small_problems(float_capacities))
def test_one_source_and_one_sink(problem: SmallProblem) -> None:
    direct = preflow.max_flow(problem.network, problem.sources, problem.sinks)
    found = reductions.TerminalsMerged.of(problem.network, problem.sources, problem.sinks).solve()
    assert found.value == pytest.approx(direct.value, rel=1e-9)
    found.verify()


@settings(max_examples=60, deadline=None)
@given(small_problems() | small_problems(float_capacities))
def test_circulation_and_directed_arcs(problem: SmallProblem) -> None:
    source, sink = problem.sources[0], problem.sinks[0]
    direct = preflow.max_flow(problem.network, source, sink)
    for kind in (reductions.MaxFlowAsCirculation, reductions.UndirectedAsDirected):
        found = kind.of(problem.network, source, sink).solve()
        apart = abs(found.value - direct.value)
        assert apart <= found.gap + direct.gap + (0 if direct.gap == 0 == found.gap else 1e-12 * direct.value)
        found.verify()


def test_circulations_of_capacities_far_apart() -> None:
    random = Random(1)
    sizes = [0.0, 5e-324, 3e-310, 6.3e-14, 0.1, 0.3, 1.0, 7.0, 1e15, 2.0**53 + 2, 1e200, 1e307]
    for _ in range(100):
        n, m = random.randint(2, 6), random.randint(1, 14)
        tail, head = ([random.randrange(n) for _ in range(m)] for _ in range(2))
        arcs = [*tail, n - 1], [*head, n - 1], [*(random.choice(sizes) for _ in range(m)), 1.0]
        found = reductions.MaxFlowAsCirculation.of(arcs, 0, n - 1).solve()
        found.verify()
        assert found.value == pytest.approx(preflow.max_flow(arcs, 0, n - 1).value, rel=1e-12, abs=0)


def test_a_time_limit_is_for_all_solves_of_a_circulation(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def solved(*arguments: Any, **options: Any) -> preflow.MinCostFlowResult:
        limits.append(options["time_limit"])
        return preflow.min_cost_flow(*arguments, **options)

    for module in (base, circulation):
        monkeypatch.setattr(module, "min_cost_flow", solved)
    found = reductions.MaxFlowAsCirculation.of(([0, 1, 2], [1, 2, 3], [1e15, 0.1, 1e15]), 0, 3)
    assert found.solve(time_limit=100).value == pytest.approx(0.1)
    assert len(limits) == 2
    assert limits[1] < limits[0] == 100


@settings(max_examples=60, deadline=None)
@given(small_problems(st.integers(0, 6)), st.data())
def test_vertices_with_capacities(problem: SmallProblem, data: st.DataObject) -> None:
    source, sink, n = problem.sources[0], problem.sinks[0], problem.num_vertices
    limit = data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    found = reductions.VertexCapacities.of(problem.network, limit, source, sink).solve()
    found.verify()
    graph = nx.DiGraph()
    for v in range(n):
        graph.add_edge((v, 0), (v, 1), capacity=limit[v])
    for u, v, capacity in problem.directed_arcs:
        old = graph.get_edge_data((u, 1), (v, 0), {"capacity": 0})["capacity"]
        graph.add_edge((u, 1), (v, 0), capacity=old + capacity)
    assert found.value == nx.maximum_flow_value(graph, (source, 0), (sink, 1))
    # Nothing passes once the cut is gone.
    network = problem.network
    if network.reverse_capacity is None:
        gone = {*np.flatnonzero(np.array(limit) == 0).tolist(), *found.cut_vertices.tolist()}
        arcs = set(np.flatnonzero(network.capacity).tolist()) - set(found.cut_arcs.tolist())
        rest = nx.DiGraph((int(network.tail[i]), int(network.head[i])) for i in arcs)
        rest.add_nodes_from(range(n))
        rest.remove_nodes_from(gone)
        assert source in gone or sink in gone or not nx.has_path(rest, source, sink)


def test_unbounded() -> None:
    arcs = [0, 1], [1, 2], [np.inf, np.inf]
    with pytest.raises(UnboundedFlowError):
        reductions.MaxFlowAsCirculation.of(arcs, 0, 2).solve()
    assert reductions.VertexCapacities.of(arcs, {1: 7}, 0, 2).solve().value == 7


def test_limits_by_label() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", capacity=4)
    graph.add_edge("b", "c", capacity=5)
    found = reductions.VertexCapacities.of(graph, {"b": 3}, "a", "c").solve()
    assert (found.value, found.cut_vertices.tolist(), found.cut_arcs.tolist()) == (3, [1], [])


def test_refusals() -> None:
    arcs = [0, 1], [1, 2], [3, 4]
    with pytest.raises(InvalidInputError, match="TerminalsMerged"):
        reductions.MaxFlowAsCirculation.of(arcs, [0, 1], 2)
    with pytest.raises(InvalidInputError, match="both source and sink"):
        reductions.TerminalsMerged.of(arcs, [0, 1], [1, 2])
    with pytest.raises(InvalidInputError, match="limit is negative"):
        reductions.VertexCapacities.of(arcs, [1, -1, 1], 0, 2)
    with pytest.raises(CapacityOverflowError, match="mix floats"):
        reductions.VertexCapacities.of(([0], [1], [2**60 + 1]), {0: 1.5}, 0, 1)


def test_wrong_answers_are_refused() -> None:
    found = reductions.VertexCapacities.of(([0, 1], [1, 2], [3, 4]), {1: 2}, 0, 2).solve()
    other = reductions.VertexCapacities.of(([0, 1], [1, 2], [3, 4]), {1: 1}, 0, 2).solve()
    wrong = reductions.VertexFlow(
        found.flow, found.value, found.gap, found.cut_arcs, found.cut_vertices, found.network, other.limit,
        found.result,
    )  # fmt: skip
    with pytest.raises(VerificationError, match="capacities of the vertices"):
        wrong.verify()


def test_limits_of_a_series_are_by_label() -> None:
    pandas = pytest.importorskip("pandas")
    roads = [("s", "v", 5), ("v", "t", 5)]
    limit = pandas.Series({"v": 2, "s": 9, "t": 9})
    assert reductions.VertexCapacities.of(roads, limit, "s", "t").solve().value == 2


def test_large_limits() -> None:
    arcs = [0, 0, 1, 1], [1, 1, 2, 2], [2**60 + 1] * 4
    found = reductions.VertexCapacities.of(arcs, {1: 2**53 + 1}, 0, 2).solve()
    found.verify()
    assert found.value == 2**53 + 1
    # A sum past int64 does not make floats of all capacities.
    large = [0, 0], [1, 1], [2**62, 2**61 + 1]
    assert reductions.MaxFlowAsCirculation.of(large, 0, 1).network.capacity.dtype == np.int64
