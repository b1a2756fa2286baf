"""The second stage: excess goes back, cycles of flow do not slow it down."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import preflow
from preflow import FlowNetwork
from preflow.graph import residual as residual_module
from preflow.graph.residual import ResidualNetwork, build_residual
from preflow.steps import second_stage
from preflow.steps.second_stage import cycles, link_cut
from preflow.steps.second_stage.cycles import cancel_all
from tests.support.strategies import SmallProblem, small_problems


class NaiveForest:
    """The same trees, walked."""

    def __init__(self, n: int) -> None:
        self.parent: dict[int, tuple[int, int]] = {}
        self.none = n

    def path(self, v: int) -> Iterator[int]:
        while v in self.parent:
            yield v
            v = self.parent[v][0]

    def root(self, v: int) -> int:
        while v in self.parent:
            v = self.parent[v][0]
        return v


@given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from([np.uint32, np.uint64]))
def test_link_cut_trees(n: int, seed: int, dtype: type) -> None:
    random = np.random.default_rng(seed)
    forest, naive = link_cut.make_forest(n, dtype), NaiveForest(n)
    for _ in range(60):
        v, w = (np.uint64(x) for x in random.integers(0, n, 2))
        assert link_cut.find_root(forest, v) == naive.root(int(v))
        path = list(naive.path(int(v)))
        match random.integers(0, 5):
            case 0 | 1:
                root = np.uint64(naive.root(int(v)))
                if naive.root(int(w)) != root:
                    value = int(random.integers(0, 9))
                    link_cut.link(forest, root, w, np.int64(value))
                    naive.parent[int(root)] = (int(w), value)
            case 2:
                amount = int(random.integers(-3, 4))
                link_cut.add_to_root(forest, v, np.int64(amount))
                for u in path:
                    up, value = naive.parent[u]
                    naive.parent[u] = (up, value + amount)
            case 3:
                least = min((naive.parent[u][1] for u in path), default=link_cut.NO_EDGE)
                assert link_cut.least_to_root(forest, v) == least
                u = link_cut.cut_below(forest, v, np.int64(1))
                if least > 1:
                    assert u == n
                else:
                    assert u in path
                    assert naive.parent.pop(int(u))[1] <= 1
            case 4:
                if path:
                    assert link_cut.cut(forest, v) == naive.parent.pop(int(v))[1]


def inflows(residual: ResidualNetwork, initial: np.ndarray) -> np.ndarray:
    """Return the flow into every vertex over every residual arc, negative if it leads out."""
    return residual.arrays.residual.astype(np.int64) - initial


def balances(residual: ResidualNetwork, initial: np.ndarray) -> np.ndarray:
    """Return what every vertex receives less what it sends."""
    sums = np.concatenate([[0], np.cumsum(inflows(residual, initial))])
    return np.diff(sums[residual.arrays.first_out.astype(np.int64)])


def has_cycle(residual: ResidualNetwork, initial: np.ndarray) -> bool:
    """Whether flow goes round: then some component of the graph of flow has two vertices."""
    n = residual.num_vertices
    tail = np.repeat(np.arange(n), np.diff(residual.arrays.first_out))
    used = inflows(residual, initial) > 0
    graph = coo_array(
        (np.ones(used.sum()), (tail[used], residual.arrays.head[used].astype(np.int64))), (n, n)
    )
    return bool(connected_components(graph, connection="strong")[0] < n)


@given(problem=small_problems(max_vertices=12), seed=st.integers(0, 2**32 - 1))
def test_cycles_are_cancelled(problem: SmallProblem, seed: int) -> None:
    residual = build_residual(problem.network, np.array(problem.sources), np.array(problem.sinks))
    net = residual.arrays
    initial = net.residual.copy()
    random = np.random.default_rng(seed)
    for a in range(residual.num_arcs):
        amount = random.integers(0, net.residual[a], endpoint=True)
        net.residual[a] -= amount
        net.residual[net.reverse[a]] += amount
    before, balance = inflows(residual, initial), balances(residual, initial)
    cycles.cancel_all(residual.arrays, initial)
    after = inflows(residual, initial)
    assert not has_cycle(residual, initial)
    assert np.array_equal(balances(residual, initial), balance)
    assert (np.sign(after) * np.sign(before) >= 0).all()
    assert (abs(after) <= abs(before)).all()


def wheel(rim: int, spokes: int) -> tuple[FlowNetwork, ResidualNetwork]:
    """Return flow in circles, one a spoke, that share a path; four units more went to the path's end."""
    path = np.arange(2, 2 + rim)
    ways = np.arange(2 + rim, 2 + rim + spokes)
    arcs = [(0, path[0], 5), (path[-1], 1, 0)]
    arcs += [(u, v, spokes + 4) for u, v in itertools.pairwise(path)]
    arcs += [(path[-1], w, 1) for w in ways] + [(w, path[0], 1) for w in ways]
    network = FlowNetwork.from_arrays(*np.array(arcs).T)
    residual = build_residual(network, np.array([0]), np.array([1]))
    net = residual.arrays
    for a in np.flatnonzero(net.residual):
        net.residual[net.reverse[a]] = net.residual[a]
        net.residual[a] = 0
    net.excess[0] -= 4
    net.excess[rim - 1] += 4
    return network, residual


@pytest.mark.parametrize(("rim", "spokes"), [(2, 1), (5, 3), (300, 300)])
def test_excess_returns_from_among_cycles(rim: int, spokes: int) -> None:
    network, residual = wheel(rim, spokes)
    initial = residual.initial_residual(network)
    assert has_cycle(residual, initial)
    returned = np.zeros_like(residual.arrays.excess)
    second_stage.return_excess(network, residual, returned)
    assert returned[0] == 5
    assert returned.sum() == 5
    assert not residual.arrays.excess.any()
    assert not inflows(residual, initial).any()


def test_long_cycles_are_left_to_the_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(cycles, "cancel_all", lambda *args: calls.append(cancel_all(*args)))
    for rim, spokes in ((5, 3), (300, 300)):
        assert not calls
        network, residual = wheel(rim, spokes)
        second_stage.return_excess(network, residual, np.zeros_like(residual.arrays.excess))
    assert len(calls) == 1


@pytest.mark.parametrize("part", ["return_directly", "topological_order", "return_along_flow", "arc_flows"])
@pytest.mark.parametrize("before", [False, True])
def test_a_flow_that_is_read_again_after_an_interruption(
    part: str, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the excess may be back at the source by then."""
    stage = second_stage.HostSecondStage(*wheel(5, 3))
    real = getattr(second_stage, part)

    def interrupted(*arguments: Any) -> None:
        if not before:
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(second_stage, part, interrupted)
        with pytest.raises(KeyboardInterrupt):
            stage.flow()
    assert not stage.flow().any()
    assert not stage.preflow().any()


@given(small_problems(), st.sampled_from([1, 3]))
def test_terminals_that_arcs_share_are_noticed(problem: SmallProblem, threads: int) -> None:
    network = problem.network
    with patch.object(residual_module, "ARCS_A_THREAD", 1):
        residual = build_residual(
            network, np.array(problem.sources), np.array(problem.sinks), threads=threads
        )
    inner, n = residual.inner.astype(np.int64), residual.num_vertices
    tail, head = inner[network.tail], inner[network.head]
    capacity, reverse = residual.solved.both()
    shares: list[tuple[int, int]] = []
    for tails, heads, capacities in ((tail, head, capacity), (head, tail, reverse)):
        if len(capacities):
            entering = (tails == n) & (heads < n) | (tails < n) & (heads == n + 1)
            chosen = entering & (capacities > 0)
            shares += zip(tails[chosen].tolist(), heads[chosen].tolist(), strict=True)
    assert residual.has_shared_terminals == (len(set(shares)) < len(shares))


@pytest.mark.parametrize("parallel", [False, True])
def test_a_flow_takes_its_own_memory_only(parallel: bool) -> None:
    """The network stays as it is, and is not copied if no two arcs share anything."""
    n = 60_000
    vertex = np.arange(n)
    tail = np.concatenate([np.full(n, n), vertex[:-1], vertex])
    head = np.concatenate([vertex, vertex[1:], np.full(n, n + 1)])
    if parallel:
        tail, head = np.append(tail, [n, 1, 1]), np.append(head, [3, 2, n + 1])
    capacity = np.random.default_rng(0).integers(1, 9, len(tail))
    network = FlowNetwork.from_arrays(tail, head, capacity)
    result = preflow.max_flow(network, n, n + 1, method="serial-hi-pr")
    stage = result._second_stage
    assert isinstance(stage, second_stage.HostSecondStage)
    _ = stage.flow()
    before = [values.copy() for values in (*stage.residual.arrays, stage.returned)]
    tracemalloc.start()
    try:
        flow = stage.flow()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    for old, new in zip(before, (*stage.residual.arrays, stage.returned), strict=True):
        np.testing.assert_array_equal(old, new)
    np.testing.assert_array_equal(flow, result.flow)
    result.verify()
    assert stage.residual.has_shared_arcs == stage.residual.has_shared_terminals == parallel
    assert (peak <= flow.nbytes + 50_000) == (not parallel)
