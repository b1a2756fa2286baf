"""Batches of networks: against single solves, with every kind of capacity, and input that is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import preflow
from preflow import FlowNetworkBatch
from preflow.certify.cut import cut_capacity
from preflow.errors import (
    CapacityOverflowError,
    DeviceUnavailableError,
    InvalidInputError,
    NotOptimalError,
    UnboundedFlowError,
    VerificationError,
)
from preflow.maxflow.batch import api, multicore_augmenting_paths
from preflow.solving.call import Request
from tests.support.oracles import edmonds_karp
from tests.support.strategies import SmallProblem, float_capacities, integer_capacities, small_problems

large = st.one_of(st.integers(0, 9), st.integers(2**53 - 2, 2**53 + 2), st.integers(2**61, 2**63 - 1))
whole_floats = st.sampled_from([0.0, 1.0, 7.0, 2.0**40, 2.0**53, math.inf])
wide_floats = st.one_of(
    float_capacities, st.sampled_from([5e-324, 1e-300, 1e-20, 2.5, 2.0**53 + 2, 1e300, 1.7e308, math.inf])
)


def single(problem: SmallProblem) -> tuple[preflow.FlowNetwork, int, int]:
    return problem.network, problem.sources[0], problem.sinks[0]


def solve(problems: list[SmallProblem], **arguments: Any) -> preflow.MaxFlowBatchResult:
    networks, sources, sinks = zip(*map(single, problems), strict=True)
    return preflow.max_flow_batch(list(networks), list(sources), list(sinks), **arguments)


def solved_alone(problem: SmallProblem) -> preflow.MaxFlowResult | type[Exception]:
    try:
        return preflow.max_flow(*single(problem), threads=1, method="serial-fifo")
    except (CapacityOverflowError, UnboundedFlowError) as error:
        return type(error)


def check_against_single_solves(problems: list[SmallProblem], threads: int = 1) -> None:
    alone = [solved_alone(problem) for problem in problems]
    failed = [item for item, one in enumerate(alone) if isinstance(one, type)]
    if failed:
        with pytest.raises((CapacityOverflowError, UnboundedFlowError), match=r"item \d+"):
            solve(problems, threads=threads)
        problems = [problem for item, problem in enumerate(problems) if item not in failed]
        alone = [one for item, one in enumerate(alone) if item not in failed]
    if not problems:
        return
    result = solve(problems, threads=threads)
    result.verify()
    assert result.status == "optimal"
    integer = result.flow.dtype.kind == "i"
    for problem, one, expected in zip(problems, result, alone, strict=True):
        assert isinstance(expected, preflow.MaxFlowResult)
        one.verify()
        rounding = 0 if integer else 1e-12 * float(expected.value)
        assert abs(one.value - expected.value) <= one.gap + expected.gap + rounding
        for side in (one.sink_side, ~one.source_side()):
            capacity = cut_capacity(one.network, side)
            assert abs(capacity - one.value) <= one.gap + rounding
        if all(value == math.inf or value % 1 == 0 for value in problem.capacity):
            np.testing.assert_array_equal(one.sink_side, expected.sink_side)
            np.testing.assert_array_equal(one.source_side(), expected.source_side())


@settings(max_examples=60)
@given(
    problems=st.lists(small_problems(integer_capacities), min_size=1, max_size=5), threads=st.integers(1, 3)
)
def test_integers(problems: list[SmallProblem], threads: int) -> None:
    check_against_single_solves(problems, threads)


@settings(max_examples=60)
@given(problems=st.lists(small_problems(large, 5), min_size=1, max_size=3))
def test_large_integers(problems: list[SmallProblem]) -> None:
    check_against_single_solves(problems)


@settings(max_examples=60)
@given(problems=st.lists(small_problems(whole_floats, 6), min_size=1, max_size=3))
@example(problems=[SmallProblem(2, [0, 0], [1, 1], [1.0, 2.0**53], None, [0], [1])])
def test_whole_floats(problems: list[SmallProblem]) -> None:
    check_against_single_solves(problems)


@settings(max_examples=100)
@given(problems=st.lists(small_problems(wide_floats, 6), min_size=1, max_size=3))
def test_floats(problems: list[SmallProblem]) -> None:
    check_against_single_solves(problems)


@settings(max_examples=40)
@given(problem=small_problems(integer_capacities, 6))
def test_oracle(problem: SmallProblem) -> None:
    source, sink = problem.sources[0], problem.sinks[0]
    value, sink_side, source_side = edmonds_karp(
        problem.num_vertices, problem.directed_arcs, [source], [sink]
    )
    result = preflow.max_flow_batch([problem.network], source, sink, threads=1)
    assert result.value.tolist() == [value]
    assert set(np.flatnonzero(result.sink_side).tolist()) == sink_side
    assert set(np.flatnonzero(result.source_side).tolist()) == source_side


def random_batch(items: int = 40, seed: int = 3, factor: float = 1) -> FlowNetworkBatch:
    rng = np.random.default_rng(seed)
    shape = (items, 120)
    capacity = rng.integers(0, 30, shape) * factor
    return FlowNetworkBatch.from_arrays(*rng.integers(0, 25, (2, *shape)), capacity, num_vertices=25)


@pytest.mark.parametrize("factor", [1, 0.37])
def test_threads_give_the_same_answer(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "ARCS_A_THREAD", 1)
    batch = random_batch(factor=factor)
    one, three = (preflow.max_flow_batch(batch, 0, 24, threads=threads) for threads in (1, 3))
    assert (one.stats.threads, three.stats.threads) == (1, 3)
    for name in ("value", "flow", "sink_side", "source_side", "gap"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    three.verify()
    assert sum(counts["pushes"] for counts in three.stats.per_thread) == one.stats.pushes > 0


def test_items_are_views_with_all_that_single_results_have() -> None:
    result = preflow.max_flow_batch(random_batch(), 0, 24, threads=1)
    assert len(result) == len(list(result)) == 40
    assert "40 networks, optimal" in repr(result)
    for item in (0, 7, -1):
        one = result[item]
        alone = preflow.max_flow(one.network, 0, 24, threads=1)
        assert np.shares_memory(one.flow, result.flow)
        assert not one.flow.flags.writeable
        assert one.value == alone.value == result.value[item]
        assert isinstance(one.value, int)
        for name in ("cut_arcs", "sink_side"):
            np.testing.assert_array_equal(getattr(one, name), getattr(alone, name))
        np.testing.assert_array_equal(one.bottleneck_arcs(), alone.bottleneck_arcs())
        assert one.flow_matrix().shape == (25, 25)
    with pytest.raises(IndexError, match="item 40"):
        result[40]


def test_a_coarse_bound_is_refined() -> None:
    """The capacities at the terminals are so large that the cut is lost in a first rounding."""
    tail, head = [0, 1, 2, 0], [1, 2, 3, 1]
    capacity = [[1e30, 0.1, 1e30, 1e25], [1e300, 1e-300, 1.5, 0.5], [0.1, 0.1, 0.1, 0.1]]
    result = preflow.max_flow_batch(FlowNetworkBatch.from_arrays(tail, head, capacity), 0, 3)
    result.verify()
    np.testing.assert_allclose(result.value, [0.1, 1e-300, 0.1], rtol=1e-12)
    assert (result.gap <= 1e-11 * result.value).all()


def test_infinite_capacities() -> None:
    capacity = [[np.inf, 4, np.inf], [np.inf, 0.3, np.inf], [0, np.inf, np.inf], [3, np.inf, np.inf]]
    batch = FlowNetworkBatch.from_arrays([0, 1, 2], [1, 2, 3], capacity)
    result = preflow.max_flow_batch(batch, 0, 3)
    result.verify()
    np.testing.assert_allclose(result.value, [4, 0.3, 0, 3], rtol=1e-12)
    edges = FlowNetworkBatch.from_arrays(
        [1, 2, 3], [0, 1, 2], np.zeros((4, 3)), reverse_capacity=capacity, num_vertices=4
    )
    np.testing.assert_allclose(preflow.max_flow_batch(edges, 0, 3).value, result.value)
    for finite in (2, 0.5):
        unbounded = FlowNetworkBatch.from_arrays([0, 1], [1, 3], [[1, finite], [np.inf] * 2])
        with pytest.raises(UnboundedFlowError, match=r"item 1: the flow is unbounded.* to sink 3"):
            preflow.max_flow_batch(unbounded, 0, 3)


def test_integers_past_int64() -> None:
    most = 2**63 - 1
    two = [[0, 0], [1, 1]]
    batch = FlowNetworkBatch.from_arrays(*two, [[most, 0], [1, 2], [2**62, 2**62 - 1]])
    result = preflow.max_flow_batch(batch, 0, 1)
    result.verify()
    assert result.value.tolist() == [most, 3, most]
    with pytest.raises(CapacityOverflowError, match="item 1: the maximum flow is past int64"):
        preflow.max_flow_batch(FlowNetworkBatch.from_arrays(*two, [[1, 1], [most, 1]]), 0, 1)
    larger = FlowNetworkBatch.from_arrays([0, 1], [1, 2], [[5, 2], [2**70, 3], [4, 4]])
    assert larger.saturated.tolist() == [False, True, False]
    assert larger[1].saturated
    result = preflow.max_flow_batch(larger, 0, 2)
    result.verify()
    assert result.value.tolist() == [2, 3, 4]
    with pytest.raises(CapacityOverflowError, match=r"item 1: .*past int64"):
        preflow.max_flow_batch(larger, 0, 1)
    both = FlowNetworkBatch.from_arrays([0], [1], [[most], [2]], reverse_capacity=[[most], [1]])
    assert preflow.max_flow_batch(both, 1, 0).value.tolist() == [most, 1]


def test_stopping() -> None:
    for factor in (1, 0.37):
        batch = random_batch(factor=factor)
        ends = np.zeros(40, dtype=np.int64), np.full(40, 24)
        call = api.BatchCall.prepare(batch, *ends, Request(api.METHODS, threads=1))
        call.control.stop[0] = 1
        result = call.find()
        assert result.status == "time-limit"
        assert not result.optimal.any()
        assert (result.lower_bound <= result.upper_bound).all()
        assert "0 solved" in repr(result)
        result.verify()
        result[3].verify()
        with pytest.raises(NotOptimalError):
            _ = result.value


def test_stopping_between_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that were solved before the time limit are optimal."""
    batch = random_batch()
    ends = np.zeros(40, dtype=np.int64), np.full(40, 24)
    call = api.BatchCall.prepare(batch, *ends, Request(api.METHODS, threads=1))

    def solve_some(solver: multicore_augmenting_paths.Solver, chosen: Any) -> None:
        solver._run(multicore_augmenting_paths.SOLVE, chosen[:13])
        call.control.stop[0] = 1

    monkeypatch.setattr(multicore_augmenting_paths.Solver, "solve", solve_some)
    result = call.find()
    result.verify()
    assert result.optimal.tolist() == [True] * 13 + [False] * 27
    assert result[0].status == "optimal"
    assert result[0].value == preflow.max_flow(batch[0], 0, 24).value
    assert result[13].status == "time-limit"


def test_kinds_of_input() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", capacity=4)
    graph.add_edge("b", "c", capacity=3)
    network = preflow.FlowNetwork.from_arrays([0, 1], [1, 2], [5, 6], reverse_capacity=[1, 1])
    problem = preflow.MaxFlowProblem(network, 2, 0)
    given = [graph, problem, ([0, 1], [1, 2], [0.5, 2.5]), np.array([[0, 3], [0, 0]])]
    result = preflow.max_flow_batch(iter(given), ["a", None, 0, 0], ("c", None, 2, 1))
    result.verify()
    np.testing.assert_allclose(result.value, [3, 1, 0.5, 3])
    assert result[0].flow_dict() == {"a": {"b": 3}, "b": {"c": 3}, "c": {}}
    assert result.networks.has_labels
    whole = preflow.max_flow_batch([graph, graph], "a", "c")
    assert whole.flow.tolist() == [3, 3, 3, 3]
    assert whole[1].network is whole.networks[1]
    with pytest.raises(InvalidInputError, match=r"item 1: vertex 'x' is not in the graph"):
        preflow.max_flow_batch([graph, graph], ["a", "x"], "c")


def test_items_of_different_sizes_and_none() -> None:
    empty = preflow.max_flow_batch([], 0, 1)
    empty.verify()
    assert len(empty) == 0
    assert empty.value.shape == (0,)
    batch = FlowNetworkBatch.from_arrays(
        [0, 0, 1, 1], [1, 1, 2, 1], [1, 2, 3, 9], num_arcs=[0, 1, 3, 0], num_vertices=[2, 2, 4, 3]
    )
    result = preflow.max_flow_batch(batch, 0, [1, 1, 2, 2])
    result.verify()
    assert result.value.tolist() == [0, 1, 2, 0]
    assert [network.num_vertices for network in batch] == [2, 2, 4, 3]
    assert result[2].flow.tolist() == [2, 2, 0]
    assert "4 networks, 11 vertices, 4 arcs" in repr(batch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [1], [1]), "without num_arcs"),
        (([0], [1], [[1], [-2]]), "item 1: capacity is negative: -2 at 0"),
        (([0], [1], [[1.0], [np.nan]]), "item 1: capacity is NaN"),
        (([[0, 1]], [1, 2, 3], [[1]]), "shapes that differ"),
        (([-1], [1], [[1]]), "negative vertex"),
        (([0.5], [1], [[1]]), "must hold integers"),
        (([0], [1], [[1], ["x"]]), "capacity"),
    ],
)
def test_arrays_that_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        FlowNetworkBatch.from_arrays(*arguments)


def test_more_arrays_that_are_refused() -> None:
    for named, message in (
        ({"num_arcs": [1, 2]}, "num_arcs add up to 3, tail has shape"),
        ({"num_arcs": [-1, 2]}, "must not be negative"),
        ({"num_arcs": [1], "num_vertices": [1]}, "item 0: vertex 1 is out of range: there are 1 vertices"),
        ({"num_arcs": [1], "num_vertices": [2, 2]}, "num_vertices has 2 entries for 1 networks"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            FlowNetworkBatch.from_arrays([0], [1], [1], **named)
    with pytest.raises(InvalidInputError, match="first_arc must rise"):
        FlowNetworkBatch([0, 2], [2], [0], [1], [1])
    with pytest.raises(InvalidInputError, match="item 0 is not a FlowNetwork but int"):
        FlowNetworkBatch.from_networks([3])  # type: ignore[list-item]
    integer, floats = (preflow.FlowNetwork.from_arrays([0], [1], [c]) for c in (2**60, 0.5))
    with pytest.raises(CapacityOverflowError, match="item 1 has an integer past"):
        FlowNetworkBatch.from_networks([floats, integer])


def test_terminals_and_networks_that_are_refused() -> None:
    batch = FlowNetworkBatch.from_arrays([0], [1], [[1], [2]])
    for source, sink, message in (
        (0, 2, "item 0: vertex 2 is out of range"),
        ([0, -1], 1, "item 1: vertex -1 is out of range"),
        ([0, 0.5], 1, "item 1: a vertex must be an integer"),
        ([0], 1, "source has 1 entries for 2 networks"),
        (None, 1, "item 0: source is missing"),
        (0, [1, 0], "item 1: vertex 0 is both source and sink"),
        ([0, [0, 1]], 1, "item 1: an item of a batch has one source, got 2"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            preflow.max_flow_batch(batch, source, sink)
    with pytest.raises(InvalidInputError, match=r"such as .network."):
        preflow.max_flow_batch(batch[0], 0, 1)
    with pytest.raises(InvalidInputError, match="item 1: a network is"):
        preflow.max_flow_batch([batch[0], 5], 0, 1)
    with pytest.raises(DeviceUnavailableError):
        preflow.max_flow_batch(batch, 0, 1, device="cuda")


CORRUPTIONS: dict[str, Any] = {
    "flow": lambda values: values + (np.arange(len(values)) == values.argmax()),
    "sink_side": lambda values: ~values,
    "source_side": lambda values: np.ones_like(values),
    "lower_bound": lambda values: values + 1,
    "source": lambda values: values + 100,
    "sink": lambda values: values * 0,
    "optimal": lambda values: np.zeros_like(values),
    "status": lambda value: "done",
    "_gap": lambda values: values[1:],
}


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("factor", [1, 0.37])
def test_wrong_results_are_refused(name: str, factor: float) -> None:
    result = preflow.max_flow_batch(random_batch(5, factor=factor), 0, 24, threads=1)
    result.verify()
    wrong = replace(result, **{name: CORRUPTIONS[name](getattr(result, name))})
    if name == "lower_bound":
        wrong = replace(wrong, upper_bound=wrong.lower_bound)
    with pytest.raises(VerificationError):
        wrong.verify()


def test_bounds_of_stopped_items() -> None:
    """Bounds are cuts around a terminal: with reverse capacities, and near int64."""
    tail, head = [0, 1, 0, 1, 2], [1, 2, 2, 1, 0]
    capacity = [[3, 9, 4, 7, 1], [9, 1, 1, 7, 5], [2**62, 3, 4, 1, 1]]
    reverse = np.array([[1, 1, 1, 1, 1], [2, 2, 2, 2, 2], [1, 1, 1, 1, 1]])
    for values in (capacity, np.array(capacity) * 0.37):
        batch = FlowNetworkBatch.from_arrays(tail, head, values, reverse_capacity=reverse)
        ends = np.zeros(3, dtype=np.int64), np.full(3, 2)
        call = api.BatchCall.prepare(batch, *ends, Request(api.METHODS, threads=1))
        call.control.stop[0] = 1
        result = call.find()
        result.verify()
        assert result.lower_bound.tolist()[:2] == [0, 0]
        for item, network in enumerate(batch):
            sides = np.array([[True, False, False], [True, True, False]])
            least = min(cut_capacity(network, ~side) for side in sides)
            assert result.upper_bound[item] == pytest.approx(least)
            assert cut_capacity(network, result[item].sink_side) == pytest.approx(least)


@pytest.mark.parametrize("factor", [1, 0.37])
def test_batches_are_refused_where_single_results_are(factor: float) -> None:
    """The proof of a whole batch takes no wrong item for right."""
    rng = np.random.default_rng(13)
    result = preflow.max_flow_batch(random_batch(4, factor=factor), 0, 24, threads=1)
    refused = 0
    for _ in range(150):
        name = str(rng.choice(["flow", "flow", "sink_side", "source_side", "lower_bound"]))
        values = np.array(getattr(result, name))
        place = rng.integers(len(values))
        if values.dtype == bool:
            values[place] ^= True
        else:
            values[place] += rng.choice([-1, 1]) * factor
        wrong = replace(result, **{name: values})
        if name == "lower_bound":
            wrong = replace(wrong, upper_bound=values)
        right = True
        for item, one in enumerate(wrong):
            try:
                one.verify()
                wrong._verify_source_side(item, one)
            except VerificationError:
                right = False
        refused += not right
        if right:
            wrong.verify()
        else:
            with pytest.raises(VerificationError):
                wrong.verify()
    assert 0 < refused < 150


def test_time_limit() -> None:
    batch = random_batch(600)
    preflow.max_flow_batch(batch, 0, 24, threads=1)
    result = preflow.max_flow_batch(batch, 0, 24, threads=1, time_limit=1e-4)
    result.verify()
    assert result.status == ("optimal" if result.optimal.all() else "time-limit")
    lines: list[Any] = []
    preflow.max_flow_batch(batch, 0, 24, threads=1, progress=lines.append)
