"""Anderson and Setubal's solver and its queues: every number of threads gives the serial answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.residual import build_residual
from preflow.papers.baselines import multicore_anderson_setubal as solver
from preflow.papers.baselines.multicore_anderson_setubal import batches
from preflow.parallel.barrier import PATIENCE
from preflow.parallel.thread_pool import run_solver
from preflow.solving.run import Control
from tests.support.oracles import check_against_oracle
from tests.support.strategies import SmallProblem, small_problems

METHOD = "multicore-anderson-setubal"
THREADS = [1, 2, 3, 8]
ZERO, ONE = np.uint64(0), np.uint64(1)


@given(
    problem=small_problems(max_vertices=14),
    threads=st.sampled_from(THREADS),
    batch=st.sampled_from([1, 2, 64]),
    period=st.sampled_from([0.01, 1.0, 1e300]),
)
@settings(max_examples=80)
def test_agrees_with_oracle(problem: SmallProblem, threads: int, batch: int, period: float) -> None:
    check_against_oracle(
        problem, method=METHOD, threads=threads, options={"batch": batch, "relabel_period": period}
    )


def test_many_random_networks() -> None:
    """Tiny batches and a global relabel after every few relabels."""
    random = np.random.default_rng(11)
    for _ in range(600):
        n = int(random.integers(3, 40))
        m = int(random.integers(n, 6 * n))
        arcs = random.integers(0, n, m), random.integers(0, n, m), random.integers(0, 30, m)
        network = preflow.FlowNetwork.from_arrays(*arcs, num_vertices=n)
        expected = preflow.max_flow(network, 0, 1, method="serial-fifo")
        options = {
            "batch": int(random.integers(1, 4)),
            "relabel_period": float(random.choice([0.01, 0.1, 0.5])),
        }
        threads = int(random.integers(2, 9))
        result = preflow.max_flow(network, 0, 1, method=METHOD, threads=threads, options=options)
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)


@pytest.mark.parametrize("options", [{}, {"batch": 1, "relabel_period": 0.02}])
@pytest.mark.parametrize("threads", [*THREADS, 32])
@pytest.mark.parametrize(
    ("family", "size"),
    [("rmf-wide", "12x8"), ("rmf-long", "6x50"), ("rlg-wide", "64x8"), ("grid-2d", "12x40")],
)
def test_families(family: str, size: str, threads: int, options: dict[str, float]) -> None:
    for seed in range(3):
        problem = FAMILIES[family].generate(size, seed=seed)
        expected = preflow.max_flow(problem, method="serial-fifo")
        result = preflow.max_flow(problem, method=METHOD, threads=threads, options=options)
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)


def test_one_exact_search_at_each_end() -> None:
    """The labels of the concurrent relabels are valid, so that the first phase is the only one."""
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    never = preflow.min_cut(problem, method=METHOD, threads=2, options={"relabel_period": 1e300})
    assert never.stats.global_relabels == 2
    often = preflow.min_cut(problem, method=METHOD, threads=2, options={"relabel_period": 0.1})
    assert often.stats.global_relabels > 10
    assert often.stats.relabels < never.stats.relabels


def test_pushes_while_searching() -> None:
    """While one thread makes a global relabel, others push."""
    problem = FAMILIES["grid-2d"].generate("150x150", seed=0)
    expected = preflow.min_cut(problem, method="serial-hi-pr").value
    pushes = 0
    for _ in range(20):
        residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
        net, n = residual.arrays, residual.num_vertices
        state = solver.make_state(2, net, 8)
        control = Control(2)
        rules = solver.Rules(False, state.search.barrier[PATIENCE], np.uint64(n))
        at_first = int(net.sink_residual.sum())
        run_solver(
            lambda thread: solver.first_stage(
                net,  # noqa: B023 (called within the iteration)
                state,  # noqa: B023
                np.uint64(thread),
                rules,  # noqa: B023
                control.monitor(thread),  # noqa: B023
            ),
            control,
            state.search.barrier,
        )
        assert residual.constant_flow + at_first - int(net.sink_residual.sum()) == expected
        pushes += int(state.pushes_while_searching.sum())
        if pushes > 0:
            break
    assert pushes > 0


@pytest.mark.parametrize("options", [{"batch": 0}, {"batch": 1.5}, {"relabel_period": 0}, {"gap": True}])
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method=METHOD, options=options)


class TestBatches:
    patience = np.int64(0)
    monitor = Control().monitor()

    def fetch(self, queues: batches.Batches, thread: np.uint64) -> list[int]:
        if not batches.fetch(queues, thread, self.patience, self.monitor):
            return []
        return [int(batches.pop(queues, thread)) for _ in range(int(batches.waiting(queues, thread)))]

    def test_one_thread_keeps_the_order(self) -> None:
        queues = batches.make_batches(1, 5, 2, np.uint32)
        for item in range(5):
            batches.put(queues, item)
        taken = []
        while len(taken) < 40:
            for item in self.fetch(queues, ZERO):
                taken.append(item)
                batches.append(queues, ZERO, item, self.patience, self.monitor)
        assert taken == list(range(5)) * 8

    def test_full_out_queue_is_flushed(self) -> None:
        queues = batches.make_batches(2, 9, 3, np.uint32)
        for item in range(4):
            batches.append(queues, ZERO, item, self.patience, self.monitor)
        assert queues.shared[batches.SIZE] == 3
        assert self.fetch(queues, ONE) == [0]
        assert batches.flush(queues, ZERO, self.patience, self.monitor)
        assert queues.shared[batches.SIZE] == 3

    def test_batches_are_fair_shares(self) -> None:
        queues = batches.make_batches(2, 20, 8, np.uint32)
        for item in range(20):
            batches.put(queues, item)
        sizes = [len(self.fetch(queues, np.uint64(k % 2))) for k in range(6)]
        assert sizes == [8, 6, 3, 1, 1, 1]

    def test_nothing_left(self) -> None:
        queues = batches.make_batches(1, 3, 2, np.uint32)
        assert self.fetch(queues, ZERO) == []
        batches.clear(queues)
        batches.put(queues, 2)
        assert self.fetch(queues, ZERO) == [2]

    def test_stop_ends_the_wait(self) -> None:
        queues = batches.make_batches(2, 3, 2, np.uint32)
        control = Control()
        control.stop[0] = 1
        monitor = control.monitor()
        assert not batches.fetch(queues, ZERO, self.patience, monitor)
        queues.shared[batches.LOCK] = 1
        assert not batches.flush(queues, ONE, self.patience, monitor)
