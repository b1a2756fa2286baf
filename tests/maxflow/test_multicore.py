"""What holds for every multicore maximum-flow method, whatever its algorithm."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES, with_terminals_apart
from preflow.graph.residual import build_residual
from preflow.maxflow.problem import METHODS
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from preflow.stats import RELABELS
from tests.support.oracles import edmonds_karp
from tests.support.processes import let_a_thread_fail
from tests.support.strategies import SmallProblem, float_capacities, small_problems

PARALLEL = [method.name for method in preflow.methods("max_flow") if method.parallel]
#: Options under which even small networks are solved by several threads.
EAGER = {
    "multicore-paths": {"budget": None},
    "multicore-merging": {"blocks": 20, "budget": None},
    "multicore-synchronous": {"few_active": 1},
}
FAMILY_SIZES = [
    ("rmf-wide", "12x6"),
    ("rmf-long", "4x40"),
    ("rlg-wide", "128x12"),
    ("grid-2d", "40x40"),
    ("grid-3d", "12x12x12"),
    ("ac-dense", "80"),
]


@pytest.mark.parametrize("method", PARALLEL)
@pytest.mark.parametrize(("family", "size"), FAMILY_SIZES)
def test_agrees_with_serial(method: str, family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=3)
    expected = preflow.max_flow(problem, method="serial-hi-pr")
    for threads in (1, 2, 3, 8, 32):
        result = preflow.max_flow(problem, method=method, threads=threads, options=EAGER.get(method))
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)
        assert np.array_equal(result.source_side(), expected.source_side())
        assert result.stats.threads == threads
        assert len(result.stats.per_thread) == threads
        assert sum(counts["pushes"] for counts in result.stats.per_thread) == result.stats.pushes
        assert result.stats.global_relabel_seconds > 0


@pytest.mark.parametrize("method", PARALLEL)
def test_small_random_networks(method: str) -> None:
    random = np.random.default_rng(5)
    for _ in range(60):
        n, m = int(random.integers(2, 10)), int(random.integers(0, 40))
        arcs = random.integers(0, n, m), random.integers(0, n, m), random.integers(0, 9, m)
        network = preflow.FlowNetwork.from_arrays(*arcs, num_vertices=n)
        expected = preflow.max_flow(network, 0, 1, method="serial-generic").value
        for threads in (2, 5):
            result = preflow.max_flow(
                network, 0, 1, method=method, threads=threads, options=EAGER.get(method)
            )
            result.verify()
            assert result.value == expected


@pytest.mark.parametrize("method", PARALLEL)
def test_two_solves_from_two_threads(method: str) -> None:
    problems = [FAMILIES["grid-2d"].generate("30x30", seed=seed) for seed in range(2)]
    expected = [preflow.min_cut(problem, method="serial-hi-pr").value for problem in problems]

    def solve(problem: object) -> int | float:
        return preflow.min_cut(problem, method=method, threads=3, options=EAGER.get(method)).value

    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            assert list(pool.map(solve, problems)) == expected


@pytest.mark.parametrize("method", PARALLEL)
def test_repeated_solves_leave_no_more_threads(method: str) -> None:
    problem = FAMILIES["grid-2d"].generate("12x40", seed=0)
    preflow.min_cut(problem, method=method, threads=4)
    before = threading.active_count()
    for _ in range(20):
        preflow.min_cut(problem, method=method, threads=4)
    assert threading.active_count() <= before


@pytest.mark.parametrize("method", PARALLEL)
@given(problem=small_problems(float_capacities), threads=st.sampled_from([1, 2, 3, 8, 32]))
@settings(max_examples=40)
def test_float_capacities(method: str, problem: SmallProblem, threads: int) -> None:
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    result = preflow.max_flow(
        problem.network,
        problem.sources,
        problem.sinks,
        method=method,
        threads=threads,
        options=EAGER.get(method),
    )
    result.verify()
    assert result.value == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", PARALLEL)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_time_limit(method: str, threads: int) -> None:
    problem = FAMILIES["rmf-wide"].generate("60x30", seed=1)
    preflow.min_cut(([0, 1], [1, 2], [1, 1]), 0, 2, method=method, threads=threads)
    result = preflow.max_flow(problem, method=method, threads=threads, time_limit=0.02)
    assert result.status == "time-limit"
    result.verify()
    assert 0 <= result.lower_bound <= result.upper_bound


@pytest.mark.parametrize("method", PARALLEL)
@pytest.mark.parametrize("threads", [1, 4])
def test_stop_flag_raised_before_the_start(method: str, threads: int) -> None:
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
    control = Control(threads)
    control.stop[0] = 1
    solver = find_method(METHODS, method)
    height = solver.solve(residual.arrays, solver.make_options(EAGER.get(method)), control)
    assert height.min() == 1
    assert control.thread_counts[:, RELABELS].sum() == 0


@pytest.mark.parametrize("method", PARALLEL)
def test_failure_of_one_thread_ends_all(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    let_a_thread_fail(monkeypatch)
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    with pytest.raises(ZeroDivisionError):
        preflow.max_flow(problem, method=method, threads=4, options=EAGER.get(method))


@pytest.mark.parametrize("threads", [0, -1, True, 1.5])
def test_bad_thread_counts(threads: object) -> None:
    with pytest.raises(InvalidInputError, match="threads"):
        preflow.max_flow(([0], [1], [1]), 0, 1, threads=threads)  # type: ignore[arg-type]


def test_more_threads_than_vertices_are_capped() -> None:
    result = preflow.max_flow(([0, 1], [1, 2], [3, 2]), 0, 2, method=PARALLEL[0], threads=1000)
    assert (result.value, result.stats.threads) == (2, 3)


def test_serial_method_refuses_threads() -> None:
    with pytest.raises(InvalidInputError, match="one thread"):
        preflow.max_flow(([0], [1], [1]), 0, 1, method="serial-fifo", threads=2)


def test_counts_that_no_kernel_can_hold_are_refused() -> None:
    problem = FAMILIES["rmf-wide"].generate("4x4", seed=0)
    for few in (2**31, 2**61, 2**70):
        with pytest.raises(InvalidInputError, match="few_active must be an integer of 1 to"):
            preflow.min_cut(problem, method="multicore-synchronous", options={"few_active": few})
    options = {"few_active": 2**31 - 1}
    result = preflow.min_cut(problem, method="multicore-synchronous", threads=np.int64(3), options=options)  # type: ignore[arg-type]
    assert result.value == preflow.min_cut(problem).value


@pytest.mark.parametrize(("name", "size"), [("rmf-wide", "6x6"), ("rlg-wide", "16x8"), ("ac-dense", "30")])
def test_pulses_are_the_same_on_any_number_of_threads(name: str, size: str) -> None:
    problem = FAMILIES[name].generate(size, seed=1)
    counts = []
    for threads in (1, 2, 3):
        result = preflow.max_flow(problem, method="pulses", threads=threads)
        result.verify()
        assert result.value == preflow.min_cut(problem).value
        stats = result.stats
        assert (stats.method, stats.threads) == ("multicore-synchronous", threads)
        # No round is one thread's alone.
        counts.append((stats.pushes, stats.relabels, stats.global_relabels, stats.waits))
    assert counts[0][3] == 0
    assert counts == [counts[0]] * 3


def test_narrow_networks_go_to_one_thread() -> None:
    problem = FAMILIES["rmf-long"].generate("8x64", seed=0)
    result = preflow.min_cut(problem, method="multicore-paths", threads=3)
    assert [attempt.method for attempt in result.stats.attempts][::2] == ["multicore-paths", "serial-hi-pr"]
    assert result.stats.threads == 1
    problem = FAMILIES["rlg-long"].generate("8x64", seed=0)
    result = preflow.min_cut(problem, method="multicore-paths", threads=3)
    assert "serial-pseudoflow" in result.stats.reason


def test_paths_push_on_every_thread() -> None:
    problem = FAMILIES["grid-2d"].generate("200x200", seed=0)
    result = preflow.min_cut(problem, method="multicore-paths", threads=3, options={"budget": None})
    assert all(counts["pushes"] > 0 for counts in result.stats.per_thread)


@pytest.mark.parametrize("few", [8, 32])
@pytest.mark.parametrize(("family", "size"), [("grid-2d", "40x40"), ("grid-3d", "20x20x20")])
def test_rounds_and_one_thread_alone_take_turns(family: str, size: str, few: int) -> None:
    """A list of a round has vertices without excess: one thread alone must not list them again."""
    for seed in range(4):
        problem = with_terminals_apart(FAMILIES[family].generate(size, seed=seed))
        result = preflow.min_cut(
            problem, method="multicore-synchronous", threads=4, options={"few_active": few}
        )
        assert result.value == preflow.min_cut(problem).value
        result.verify()
