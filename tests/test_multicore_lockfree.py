"""The lock-free solvers: every number of threads, vertices dealt out one by one, searches beside pushes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from oracles import edmonds_karp
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualNetwork, build_residual
from preflow.maxflow.multicore_lockfree import CONCURRENT_PUSHES, LockFreeOptions, solve
from preflow.solving.run import Control
from preflow.stats import GLOBAL_RELABELS, PUSHES
from strategies import SmallProblem, float_capacities, small_problems

SOLVERS = ["multicore-lockfree", "multicore-lockfree-arg"]
TOGETHER = {"alone_when_few": False}


def residual_network(family: str, size: str) -> ResidualNetwork:
    problem = FAMILIES[family].generate(size, seed=0)
    return build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))


@pytest.mark.parametrize("method", SOLVERS)
@given(
    problem=small_problems() | small_problems(float_capacities, max_vertices=14),
    threads=st.sampled_from([1, 2, 3, 8]),
    together=st.booleans(),
)
@settings(max_examples=60)
def test_agrees_with_oracle(method: str, problem: SmallProblem, threads: int, together: bool) -> None:
    value, sink_side, _ = edmonds_karp(
        problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks
    )
    result = preflow.max_flow(
        problem.network,
        problem.sources,
        problem.sinks,
        method=method,
        threads=threads,
        options=TOGETHER if together else None,
    )
    result.verify()
    assert result.value == pytest.approx(value, rel=1e-9, abs=1e-9)
    if isinstance(result.value, int):
        assert set(np.flatnonzero(result.sink_side)) == sink_side


@pytest.mark.parametrize("threads", [2, 3, 8, 32])
@pytest.mark.parametrize(
    ("family", "size"), [("rmf-wide", "8x6"), ("rlg-wide", "32x8"), ("grid-2d", "20x20"), ("ac-dense", "40")]
)
def test_agrees_with_serial(family: str, size: str, threads: int) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    serial = preflow.max_flow(problem, method="serial-fifo")
    for period in (0.01, 1.0, 1e9):
        result = preflow.max_flow(
            problem,
            method="multicore-lockfree-arg",
            threads=threads,
            options={"relabel_period": period, **TOGETHER},
        )
        result.verify()
        assert result.value == serial.value
        assert np.array_equal(result.sink_side, serial.sink_side)


@pytest.mark.parametrize("method", SOLVERS)
def test_more_threads_than_cores_on_a_larger_network(method: str) -> None:
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=0)
    serial = preflow.max_flow(problem, method="serial-fifo")
    for threads in (1, 2, 8, 32):
        result = preflow.max_flow(problem, method=method, threads=threads)
        result.verify()
        assert result.value == serial.value
        assert np.array_equal(result.sink_side, serial.sink_side)
        assert len(result.stats.per_thread) == threads


def test_threads_push_while_one_searches() -> None:
    """Whether they do in a given solve is up to the machine; that they do at all is the point of ARG."""
    for _ in range(20):
        control = Control(threads=2)
        height = solve(residual_network("grid-2d", "100x100").arrays, LockFreeOptions(**TOGETHER), control)
        assert height.max() <= len(height) + 1
        counts = control.thread_counts
        assert (counts[:, CONCURRENT_PUSHES] <= counts[:, PUSHES]).all()
        if counts[:, CONCURRENT_PUSHES].sum() > 0:
            break
    else:
        pytest.fail("no push beside a search")


def test_both_threads_work() -> None:
    control = Control(threads=2)
    solve(residual_network("grid-2d", "100x100").arrays, LockFreeOptions(**TOGETHER), control)
    assert (control.thread_counts[:, PUSHES] > 0).all()


def test_without_relabels_there_are_exact_searches_only() -> None:
    control = Control(threads=2)
    options = LockFreeOptions(concurrent_relabel=False, **TOGETHER)
    solve(residual_network("rmf-wide", "8x6").arrays, options, control)
    assert control.thread_counts[1, GLOBAL_RELABELS] == 0
    assert control.thread_counts[0, GLOBAL_RELABELS] == 2
    assert control.thread_counts[:, CONCURRENT_PUSHES].sum() == 0


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_time_limit_leaves_exact_heights_and_proved_bounds(method: str, threads: int) -> None:
    problem = FAMILIES["rmf-wide"].generate("60x30", seed=1)
    preflow.min_cut(([0, 1], [1, 2], [1, 1]), 0, 2, method=method)
    result = preflow.min_cut(problem, method=method, threads=threads, time_limit=0.1)
    assert result.status == "time-limit"
    result.verify()
    assert 0 <= result.lower_bound <= result.upper_bound


def test_stopped_before_it_begins() -> None:
    residual = residual_network("rmf-wide", "8x6")
    excess = residual.arrays.excess.copy()
    control = Control(threads=3)
    control.stop[0] = 1
    height = solve(residual.arrays, LockFreeOptions(), control)
    assert np.array_equal(residual.arrays.excess, excess)
    assert height.min() == 1


@pytest.mark.parametrize(
    "options",
    [{"concurrent_relabel": 1}, {"relabel_period": 0}, {"relabel_period": "n"}, {"alone_when_few": None}],
)
def test_impossible_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0], [1], [1]), 0, 1, method="multicore-lockfree-arg", options=options)
