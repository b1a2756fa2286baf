"""Networks of arcs that are grids: min_cut and max_flow find it out and solve them without stored arcs."""

from __future__ import annotations

import copy
import pickle
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow import FlowNetwork
from preflow.certify.flow import check_flow
from preflow.generators import FAMILIES, grid_2d, grid_3d
from preflow.graph import recognised_grid
from preflow.graph.neighbourhood import half_neighbourhood
from preflow.graph.recognised_grid import possible_shapes, recognise_grid, sampled_steps
from preflow.gridcut import api as gridcut_api
from preflow.maxflow import features, policy, small
from preflow.solving import call
from preflow.solving.plan import Plan
from preflow.solving.run import Control
from preflow.steps import as_grid
from preflow.steps.as_grid import GridSecondStage

AS_A_GRID = "the network is a grid of"
WORTH_A_SEARCH = policy.worth_a_search_for_a_grid


@pytest.fixture(autouse=True)
def small_networks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "worth_a_search_for_a_grid", lambda *given, **named: True)
    monkeypatch.setattr(small, "FEW_ARCS", 0)


@dataclass(frozen=True)
class ArcsOfGrid:
    """Arcs of a grid, in any order."""

    shape: tuple[int, ...]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[Any]
    reverse_capacity: NDArray[Any] | None
    source: int
    sink: int

    @property
    def network(self) -> FlowNetwork:
        size = int(np.prod(self.shape)) + 2
        return FlowNetwork.from_arrays(
            self.tail, self.head, self.capacity, reverse_capacity=self.reverse_capacity, num_vertices=size
        )


def arcs_of_grid(
    shape: tuple[int, ...], connectivity: int, seed: int, largest: int = 9, reverse: bool = True
) -> ArcsOfGrid:
    """Return a grid with the hard cases: see the test that uses it."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    source, sink = map(int, rng.choice(size + 2, 2, replace=False))
    pixel = np.arange(size).reshape(shape)
    vertex = np.delete(np.arange(size + 2), [source, sink])
    tails, heads = [], []
    for offset in half_neighbourhood(len(shape), connectivity):
        here, there = recognised_grid.pair_boxes(shape, offset)
        ends = np.stack([vertex[pixel[here].ravel()], vertex[pixel[there].ravel()]])
        for _ in range(int(rng.integers(1, 3))):  # parallel arcs
            turned = np.where(rng.random(ends.shape[1]) < 0.5, ends, ends[::-1])  # antiparallel ones
            kept = turned[:, rng.random(ends.shape[1]) < 0.9]  # missing ones
            tails.append(kept[0])
            heads.append(kept[1])
    for terminal in (source, sink):
        for ends in (tails, heads):
            others = tails if ends is heads else heads
            some = vertex[rng.random(size) < 0.5]
            ends.append(some)
            others.append(np.full(len(some), terminal))
    ends = [source, sink, source, sink, int(vertex[0])], [sink, source, source, sink, int(vertex[0])]
    tail = np.concatenate([*tails, np.array(ends[0])])
    head = np.concatenate([*heads, np.array(ends[1])])
    order = rng.permutation(len(tail))
    capacity = rng.integers(0, largest + 1, len(tail))
    back = rng.integers(0, largest + 1, len(tail)) if reverse else None
    return ArcsOfGrid(shape, tail[order], head[order], capacity, back, source, sink)


def check_as_grid(network: FlowNetwork, source: int, sink: int, **arguments: Any) -> preflow.MaxFlowResult:
    """Solve a network as a grid and by a method of arcs; the answers and all that follows agree."""
    expected = preflow.max_flow(network, source, sink, method="serial-hi-pr")
    cut = preflow.min_cut(network, source, sink, **arguments)
    found = preflow.max_flow(network, source, sink, **arguments)
    for result in (cut, found):
        assert AS_A_GRID in result.stats.reason
        assert result.value == expected.value
        assert type(result.value) is type(expected.value)
        assert result.gap == expected.gap == 0
        np.testing.assert_array_equal(result.sink_side, expected.sink_side)
        result.verify()
        np.testing.assert_array_equal(result.source_side(), expected.source_side())
        flow = result.whole_flow()
        assert flow.dtype == expected.flow.dtype
        check_flow(network, result.sources, result.sinks, flow, result.value)
        np.testing.assert_array_equal(result.cut_arcs, expected.cut_arcs)
        result.verify()
    np.testing.assert_array_equal(found.bottleneck_arcs(), expected.bottleneck_arcs())
    return found


SHAPES = [((4, 5), 4), ((3, 7), 8), ((3, 4, 5), 6), ((4, 3, 3), 18), ((3, 3, 4), 26)]


@given(
    st.sampled_from(SHAPES),
    st.integers(0, 10**6),
    st.sampled_from([1, 9, 2**15, 2**31 - 1, 2**31, 2**40]),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_any_order_and_any_terminals(
    shape: tuple[tuple[int, ...], int], seed: int, largest: int, reverse: bool, threads: int
) -> None:
    """Arcs turned, missing, parallel, in any order; loops; arcs into the source and out of the sink."""
    arcs = arcs_of_grid(*shape, seed, largest, reverse)
    found = recognise_grid(arcs.network, arcs.source, arcs.sink)
    assert found is not None
    assert found.grid.shape == shape[0]
    check_as_grid(arcs.network, arcs.source, arcs.sink, threads=threads)


@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.sampled_from([9, 2**31, 2**50]))
def test_whole_floats_and_infinite_capacities(
    shape: tuple[tuple[int, ...], int], seed: int, largest: int
) -> None:
    arcs = arcs_of_grid(*shape, seed, largest)
    assert arcs.reverse_capacity is not None
    capacity = arcs.capacity.astype(np.float64)
    network = FlowNetwork.from_arrays(
        arcs.tail,
        arcs.head,
        capacity,
        reverse_capacity=arcs.reverse_capacity.astype(np.float64),
        num_vertices=arcs.network.num_vertices,
    )
    check_as_grid(network, arcs.source, arcs.sink, threads=1)
    capacity[(arcs.tail == arcs.source) & (arcs.head % 3 == 0) & (arcs.head != arcs.sink)] = np.inf
    seeds = FlowNetwork.from_arrays(arcs.tail, arcs.head, capacity, num_vertices=network.num_vertices)
    check_as_grid(seeds, arcs.source, arcs.sink, threads=1)


@pytest.mark.parametrize(
    "problem",
    [
        grid_2d(30, 41, seed=1),
        grid_2d(30, 41, connectivity=8, contrast=True, seed=2),
        grid_3d(12, 10, 11, seed=3),
        grid_3d(8, 9, 10, connectivity=26, smoothing=1, strength=20, seed=4),
    ],
    ids=["4", "8", "6", "26"],
)
def test_generated_grids(problem: preflow.MaxFlowProblem) -> None:
    assert isinstance(problem.source, int)
    assert isinstance(problem.sink, int)
    result = check_as_grid(problem.network, problem.source, problem.sink, threads=1)
    assert result.value > 0
    assert set(result.stats.seconds) >= {"build", "solve"}
    for each in (result, preflow.min_cut(problem, threads=1)):
        copied = pickle.loads(pickle.dumps(each))
        copied.verify()
        np.testing.assert_array_equal(copied.whole_flow(), result.flow)
        np.testing.assert_array_equal(copied.source_side(), result.source_side())


@pytest.mark.parametrize("threads", [1, 2])
def test_the_flow_is_recovered_when_it_is_read(threads: int) -> None:
    problem = grid_2d(30, 41, seed=1)
    result = preflow.max_flow(problem, threads=threads)
    assert "recover" not in result.stats.seconds
    copied = copy.copy(result)
    assert result.stats.seconds["recover"] > 0
    assert copied.flow is result.flow
    with ThreadPoolExecutor(4) as pool:
        flows = list(pool.map(lambda _: result._second_stage.flow(), range(8)))
    for flow in flows:
        np.testing.assert_array_equal(flow, result.flow)


def test_excess_that_takes_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Push-relabel leaves excess that must go back to the source over other pixels."""
    push_relabel = Plan.of("multicore-lockfree", "the method of this test")
    monkeypatch.setattr(gridcut_api, "choose", lambda *given: push_relabel)
    searches = 0
    for seed in range(30):
        arcs = arcs_of_grid((6, 7), 8, seed, largest=9)
        network = arcs.network
        result = check_as_grid(network, arcs.source, arcs.sink, threads=1)
        stage = result._second_stage
        assert isinstance(stage, GridSecondStage)
        searches += stage._general is not None
        cut = preflow.min_cut(network, arcs.source, arcs.sink, threads=1)
        copied = pickle.loads(pickle.dumps(cut))
        cut.verify()
        copied.verify()
        np.testing.assert_array_equal(copied.source_side(), result.source_side())
    assert searches > 0


@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.sampled_from([1, 9, 2**31, 2**40]), st.booleans())
def test_any_excess_may_be_returned_by_the_second_stage_of_arcs(
    shape: tuple[tuple[int, ...], int], seed: int, largest: int, reverse: bool
) -> None:
    arcs = arcs_of_grid(*shape, seed, largest, reverse)
    with patch.object(as_grid, "subtract_residual", lambda *given: False):
        check_as_grid(arcs.network, arcs.source, arcs.sink, threads=1)


def test_memory_of_a_flow() -> None:
    """A result holds the residual capacities, and no residual network is built for the flow."""
    problem = grid_2d(200, 210, seed=1)
    pixels, arcs = 200 * 210, problem.network.num_arcs
    for _ in range(2):  # the first turn imports modules and may compile
        tracemalloc.start()
        try:
            result = preflow.max_flow(problem, threads=1)
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            _ = result.flow
            after, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    slack = 100_000
    assert held <= 17.2 * pixels + slack  # four residual capacities of 4 bytes, and a side
    assert after - held <= 8 * arcs + slack
    assert peak - held <= 8 * arcs + 32 * pixels + slack


def changed(problem: preflow.MaxFlowProblem, **arrays: Any) -> FlowNetwork:
    network = problem.network
    given_arrays: dict[str, Any] = {
        "tail": network.tail,
        "head": network.head,
        "capacity": network.capacity,
        "reverse_capacity": network.reverse_capacity,
    }
    given_arrays |= {
        name: np.concatenate([given_arrays[name], np.asarray(more, dtype=given_arrays[name].dtype)])
        for name, more in arrays.items()
    }
    return FlowNetwork.from_arrays(**given_arrays, num_vertices=network.num_vertices)


@pytest.mark.parametrize(
    ("tail", "head"),
    [([0], [12]), ([12], [13]), ([0], [39]), ([3], [25])],
    ids=["a row's ends", "the end of a row and the next row", "far away", "two rows down"],
)
def test_an_arc_that_no_grid_has(tail: list[int], head: list[int]) -> None:
    """One arc between pixels that are no neighbours, leaves the network as it is."""
    problem = grid_2d(10, 13, seed=1)
    assert recognise_grid(problem.network, problem.source, problem.sink) is not None
    network = changed(problem, tail=tail, head=head, capacity=[1], reverse_capacity=[0])
    assert recognise_grid(network, problem.source, problem.sink) is None
    back = changed(problem, tail=tail, head=head, capacity=[0], reverse_capacity=[1])
    assert recognise_grid(back, problem.source, problem.sink) is None
    result = preflow.min_cut(network, problem.source, problem.sink)
    assert AS_A_GRID not in result.stats.reason
    result.verify()


def test_an_arc_that_the_sample_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = grid_2d(10, 13, seed=1)
    steps = sampled_steps(problem.network, problem.source, problem.sink)
    assert steps == [1, 13]
    monkeypatch.setattr(recognised_grid, "sampled_steps", lambda network, source, sink: steps)
    far = changed(problem, tail=[0], head=[39], capacity=[1], reverse_capacity=[0])
    assert recognise_grid(far, problem.source, problem.sink) is None


def test_capacities_that_are_not_whole_or_too_large() -> None:
    problem = grid_2d(10, 13, seed=1)
    network = problem.network
    for capacity in (network.capacity * 1.9, network.capacity + 2**55):
        other = FlowNetwork.from_arrays(
            network.tail, network.head, capacity, reverse_capacity=network.reverse_capacity
        )
        assert recognise_grid(other, problem.source, problem.sink) is None
        result = preflow.min_cut(other, problem.source, problem.sink)
        assert AS_A_GRID not in result.stats.reason
        result.verify()


def test_sums_of_parallel_arcs_past_int32() -> None:
    problem = grid_2d(4, 5, seed=1)
    network = problem.network
    twice = [np.tile(values, 3) for values in (network.tail, network.head)]
    capacity = np.full(len(twice[0]), 2**31 - 2)
    large = FlowNetwork.from_arrays(*twice, capacity, reverse_capacity=capacity, num_vertices=22)
    found = recognise_grid(large, problem.source, problem.sink)
    assert found is not None
    assert found.grid.neighbor_capacity.max() == 3 * (2**31 - 2)
    check_as_grid(large, problem.source, problem.sink)


@pytest.mark.parametrize("threads", [2, 3])
def test_several_threads_add_up_the_same(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(recognised_grid, "ARCS_A_THREAD", 1)
    arcs = arcs_of_grid((4, 5), 8, 7)
    found = [recognise_grid(arcs.network, arcs.source, arcs.sink, number) for number in (1, threads)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].direct == found[1].direct
    for one, other in zip(found[0].grid.parts(), found[1].grid.parts(), strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_shapes_with_these_steps() -> None:
    assert list(possible_shapes(20, [1, 4, 5, 6])) == [((4, 5), [(0, 1), (1, -1), (1, 0), (1, 1)])]
    assert list(possible_shapes(21, [1, 5])) == []  # not whole rows
    assert list(possible_shapes(20, [2, 5])) == []
    assert list(possible_shapes(20, [1, 2])) == []  # two directions could have one step
    assert list(possible_shapes(20, [1])) == []
    volume = [int(sum(np.array(offset) * [20, 5, 1])) for offset in half_neighbourhood(3, 26)]
    assert ((3, 4, 5), half_neighbourhood(3, 26)) in list(possible_shapes(60, sorted(volume)))


def test_networks_that_stay_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = grid_2d(10, 13, seed=1)
    network = problem.network
    for arguments in ({"method": "serial-hi-pr"}, {"device": "cpu", "method": "serial-incremental-bfs"}):
        assert AS_A_GRID not in preflow.min_cut(problem, **arguments).stats.reason
    several = preflow.min_cut(network, [problem.source, 0], problem.sink)
    assert AS_A_GRID not in several.stats.reason
    limited = preflow.max_flow(problem, flow_limit=100)
    assert AS_A_GRID not in limited.stats.reason
    limited.verify()
    monkeypatch.setattr(policy, "worth_a_search_for_a_grid", WORTH_A_SEARCH)
    assert AS_A_GRID not in preflow.min_cut(problem).stats.reason  # few arcs
    for name in ("rmf-wide", "rlg-wide", "roads", "superpixels", "surface"):
        size = {"rmf-wide": "8x4", "rlg-wide": "64x8"}.get(name, "300")
        other = FAMILIES[name].generate(size, seed=1)
        assert isinstance(other.source, int)
        assert isinstance(other.sink, int)
        assert recognise_grid(other.network, other.source, other.sink) is None


def test_only_networks_as_dense_as_grids_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ARCS_OF_GRIDS", 100)
    looked: list[FlowNetwork] = []

    def look(network: FlowNetwork, *_: int, clear: bool) -> bool:
        looked.append(network)
        return clear

    monkeypatch.setattr(policy, "is_energy", look)
    grid = grid_2d(10, 13, seed=1).network
    complete = FAMILIES["ac-dense"].generate("60", seed=1).network
    path = FlowNetwork.from_arrays(np.arange(200), np.arange(1, 201), 1)
    for network in (grid, complete, path):
        assert WORTH_A_SEARCH(network, 0, 1, clear=True) == (network is grid)
    assert looked == [grid]


def test_energies() -> None:
    """Where most pixels have no terminal capacity, or a far smaller one, other methods are faster."""
    problem = grid_2d(40, 40, seed=1)
    assert isinstance(problem.source, int)
    assert isinstance(problem.sink, int)
    ends = problem.source, problem.sink
    assert features.is_energy(problem.network, *ends)
    assert features.is_energy(problem.network, *ends, clear=True)
    weak = grid_2d(40, 40, seed=1, data_weight=2)
    assert not features.is_energy(weak.network, *ends)
    for weight, connectivity, clear in ((12, 4, False), (30, 4, True), (30, 8, False), (100, 8, True)):
        other = grid_2d(40, 40, seed=1, connectivity=connectivity, data_weight=weight)
        assert features.is_energy(other.network, *ends)
        assert features.is_energy(other.network, *ends, clear=True) == clear
    zeros = np.zeros((40, 40), dtype=np.int64)
    left, right = zeros.copy(), zeros.copy()
    left[:, 0] = right[:, -1] = 100
    faces = preflow.GridNetwork.from_arrays(left, right, 100).to_flow_problem()
    assert not features.is_energy(faces.network, *ends)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.integers(0, 99))
def test_a_first_sample_rules_out_no_energy(height: int, width: int, share: float, seed: int) -> None:
    """Where at least as many pixels have terminal capacities as an energy needs."""
    rng = np.random.default_rng(seed)
    here = rng.random((2, height, width)) < max(share, features.AT_TERMINALS)
    grid = preflow.GridNetwork.from_arrays(9 * here[0], 9 * here[1], 2, connectivity=4)
    problem = grid.to_flow_problem()
    assert isinstance(problem.source, int)
    assert isinstance(problem.sink, int)
    found = features.is_energy(problem.network, problem.source, problem.sink)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "ENDS_EXPECTED", 0)
        assert found == features.is_energy(problem.network, problem.source, problem.sink)


def test_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solve that stops early has bounds, and a flow that proves the lower one."""
    problem = grid_2d(60, 60, seed=3)
    value = preflow.min_cut(problem, method="serial-hi-pr").value
    for function in (preflow.min_cut, preflow.max_flow):
        result = function(problem, time_limit=1e-9, threads=1)
        assert AS_A_GRID in result.stats.reason
        assert result.lower_bound <= value <= result.upper_bound
        result.verify()


def stopped_at_once(
    work: Callable[[], Any], control: Control, time_limit: float | None = None, progress: Any = False
) -> Any:
    control.stop[0] = 1
    return work()


@pytest.mark.parametrize("method", ["auto", "serial-hi-pr"])
def test_bounds_of_a_stopped_solve(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are exact integers for whole floats, and no worse than the cuts around a terminal."""
    monkeypatch.setattr(call, "run_interruptibly", stopped_at_once)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arcs = arcs_of_grid((6, 7), 4, seed)
        capacity = rng.choice([1.0, 2.0**51 + 1, np.inf], len(arcs.tail), p=[0.3, 0.6, 0.1])
        to_terminals = np.isin(arcs.tail, arcs.source) | np.isin(arcs.head, arcs.sink)
        capacity[to_terminals & np.isinf(capacity)] = 1.0
        network = FlowNetwork.from_arrays(arcs.tail, arcs.head, capacity, num_vertices=44)
        function = preflow.min_cut if seed % 2 else preflow.max_flow
        result = function(network, arcs.source, arcs.sink, method=method, time_limit=1.0, threads=1)
        leaving = capacity[(arcs.tail == arcs.source) & (arcs.head != arcs.source)]
        entering = capacity[(arcs.head == arcs.sink) & (arcs.tail != arcs.sink)]
        trivial = min(sum(map(int, values)) for values in (leaving, entering))
        assert (AS_A_GRID in result.stats.reason) == (method == "auto")
        assert type(result.upper_bound) is type(result.gap) is int
        assert result.lower_bound <= result.upper_bound <= trivial
        assert result.upper_bound == sum(map(int, capacity[result.cut_arcs]))
        result.verify()


def test_a_time_limit_counts_the_search_for_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def noted(work: Callable[[], Any], control: Control, time_limit: float, progress: Any) -> Any:
        limits.append(time_limit)
        return work()

    def slow(*given: Any) -> recognised_grid.RecognisedGrid | None:
        time.sleep(0.01)
        return recognise_grid(*given)

    monkeypatch.setattr(call, "run_interruptibly", noted)
    monkeypatch.setattr(as_grid, "recognise_grid", slow)
    grid, other = grid_2d(6, 7, seed=3), FAMILIES["rmf-wide"].generate("4x4", seed=1)
    for problem, found in ((grid, True), (other, False)):
        assert (AS_A_GRID in preflow.min_cut(problem, time_limit=100.0).stats.reason) == found
    assert max(limits) <= 100.0 - 0.01
