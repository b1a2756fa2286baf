"""The lock-free solvers: every number of threads gives the serial answer, searches beside pushes included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.papers.wu_he_hong.multicore_lockfree import LockFreeOptions, solve
from preflow.parallel.delays import make_delays
from preflow.parallel.lockfree import CONCURRENT_PUSHES
from preflow.solving.run import Control
from preflow.stats import GLOBAL_RELABELS, PUSHES
from tests.support.oracles import check_against_oracle
from tests.support.strategies import SmallProblem, small_problems

SOLVERS = ["multicore-lockfree", "multicore-lockfree-arg"]
THREADS = [1, 2, 3, 8, 32]
CONCURRENT = LockFreeOptions(concurrent_relabel=True)


def residual_arrays(family: str, size: str) -> ResidualArrays:
    problem = FAMILIES[family].generate(size, seed=0)
    return build_residual(problem.network, np.array([problem.source]), np.array([problem.sink])).arrays


@pytest.mark.parametrize("method", SOLVERS)
@given(
    problem=small_problems(max_vertices=14),
    threads=st.sampled_from(THREADS),
    period=st.sampled_from([0.01, 1.0, None]),
)
@settings(max_examples=80)
def test_agrees_with_oracle(method: str, problem: SmallProblem, threads: int, period: float | None) -> None:
    check_against_oracle(problem, method=method, threads=threads, options={"relabel_period": period})


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("rmf-wide", "12x8"),
        ("rmf-long", "4x40"),
        ("rlg-wide", "64x8"),
        ("rlg-long", "8x32"),
        ("ac-dense", "40"),
    ],
)
def test_families(family: str, size: str, threads: int, method: str) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    expected = preflow.max_flow(problem, method="serial-fifo")
    for period in (0.05, 1.0):
        result = preflow.max_flow(problem, method=method, threads=threads, options={"relabel_period": period})
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)


@pytest.mark.parametrize("method", SOLVERS)
def test_many_solves_on_more_threads_than_cores(method: str) -> None:
    """An earlier solver lost flow in one of some hundred of these: a relabel failed after a push."""
    problems = [FAMILIES["grid-2d"].generate("30x30", seed=seed) for seed in range(10)]
    expected = [preflow.max_flow(problem, method="serial-fifo").value for problem in problems]
    for threads in (2, 3, 4, 8):
        for _ in range(5):
            for problem, value in zip(problems, expected, strict=True):
                result = preflow.max_flow(problem, method=method, threads=threads)
                result.verify()
                assert result.value == value


@pytest.mark.jit
def test_threads_push_while_one_searches() -> None:
    """That they do at all is the point of ARG; delays keep a search from being over before others get on."""
    for seed in range(20):
        control = Control(threads=2, delays=make_delays(2, seed))
        solve(residual_arrays("grid-2d", "30x30"), CONCURRENT, control)
        counts = control.thread_counts
        assert (counts[:, CONCURRENT_PUSHES] <= counts[:, PUSHES]).all()
        if counts[:, CONCURRENT_PUSHES].sum() > 0:
            break
    else:
        pytest.fail("no push beside a search")


def test_both_threads_push() -> None:
    control = Control(threads=2)
    solve(residual_arrays("grid-2d", "100x100"), CONCURRENT, control)
    assert (control.thread_counts[:, PUSHES] > 0).all()


def test_without_a_period_there_are_exact_searches_only() -> None:
    control = Control(threads=2)
    solve(residual_arrays("rmf-wide", "8x6"), LockFreeOptions(relabel_period=None), control)
    assert control.thread_counts[1, GLOBAL_RELABELS] == 0
    assert control.thread_counts[0, GLOBAL_RELABELS] >= 2
    assert control.thread_counts[:, CONCURRENT_PUSHES].sum() == 0


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_epochs_of_one_relabel_come_to_an_end(threads: int) -> None:
    """Most of them bring nothing to the sink, so that one thread works alone."""
    problem = FAMILIES["rmf-long"].generate("4x16", seed=0)
    result = preflow.max_flow(problem, method=SOLVERS[0], threads=threads, options={"relabel_period": 1e-9})
    result.verify()
    assert result.stats.global_relabels > 100


@pytest.mark.parametrize(
    "options", [{"concurrent_relabel": 1}, {"relabel_period": 0}, {"relabel_period": "n"}, {"gap": True}]
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0], [1], [1]), 0, 1, method="multicore-lockfree-arg", options=options)
