"""The time of reading a NetworkX graph is in `result.stats.seconds`, in every problem that takes one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest

import preflow

DELAY = 0.05


class SlowGraph(nx.DiGraph):
    """A graph that takes a while to read."""

    def adjacency(self) -> Any:
        time.sleep(DELAY)
        return super().adjacency()


class SlowUndirectedGraph(nx.Graph):
    """The same without directions."""

    def adjacency(self) -> Any:
        time.sleep(DELAY)
        return super().adjacency()


def network() -> SlowGraph:
    graph = SlowGraph()
    graph.add_edge("s", "a", capacity=3, weight=1)
    graph.add_edge("a", "t", capacity=2, weight=1)
    return graph


def pairs() -> SlowUndirectedGraph:
    graph = SlowUndirectedGraph()
    graph.add_nodes_from(["a", "b"], bipartite=0)
    graph.add_nodes_from([1, 2], bipartite=1)
    graph.add_edge("a", 1, weight=2)
    graph.add_edge("b", 2, weight=3)
    return graph


def supplied() -> SlowGraph:
    graph = network()
    graph.nodes["s"]["demand"], graph.nodes["t"]["demand"] = -1, 1
    return graph


CALLS: dict[str, Callable[[], Any]] = {
    "max_flow": lambda: preflow.max_flow(network(), "s", "t"),
    "min_cut": lambda: preflow.min_cut(network(), "s", "t"),
    "max_flow_batch": lambda: preflow.max_flow_batch([network()], "s", "t"),
    "MaxFlow": lambda: preflow.MaxFlow(network(), "s", "t").solve(),
    "bipartite_matching": lambda: preflow.bipartite_matching(pairs()),
    "matching": lambda: preflow.matching(pairs(), weight="weight"),
    "linear_assignment": lambda: preflow.linear_assignment(pairs()),
    "transport": lambda: preflow.transport(pairs(), {"a": 1, "b": 1}, {1: 1, 2: 1}),
    "min_cost_flow": lambda: preflow.min_cost_flow(supplied()),
    "MinCostFlow": lambda: preflow.MinCostFlow(supplied()).solve(),
    "max_flow_min_cost": lambda: preflow.max_flow_min_cost(network(), "s", "t"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_reading_is_counted(call: Callable[[], Any]) -> None:
    assert call().stats.seconds["build"] >= DELAY


def test_only_the_first_solve_counts_it() -> None:
    for solver in (preflow.MaxFlow(network(), "s", "t"), preflow.MinCostFlow(supplied())):
        assert solver.solve().stats.seconds["build"] >= DELAY
        assert solver.solve().stats.seconds["build"] < DELAY


def test_floats_are_solved_from_scratch_and_counted() -> None:
    graph = network()
    graph["s"]["a"]["capacity"] = 0.1
    assert preflow.MaxFlow(graph, "s", "t").solve().stats.seconds["build"] >= DELAY
