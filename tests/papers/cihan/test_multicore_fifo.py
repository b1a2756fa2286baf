"""Cihan's multicore solver and its queues: every number of threads gives the serial answer."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.parallel import queues
from preflow.parallel.idle import wait_for_donation
from preflow.parallel.thread_pool import run_on_threads
from tests.support.oracles import check_against_oracle
from tests.support.strategies import SmallProblem, small_problems

THREADS = [1, 2, 3, 8, 32]
#: The search and the donation of the thesis.
THESIS = {"search": "jump-queues", "donation": "oldest"}
ZERO, ONE = np.uint64(0), np.uint64(1)


@given(
    problem=small_problems(max_vertices=14),
    threads=st.sampled_from(THREADS),
    gap=st.booleans(),
    period=st.sampled_from([0.01, 1.0, 1e300]),
    printed=st.sampled_from([{}, THESIS]),
)
@settings(max_examples=150)
def test_agrees_with_oracle(
    problem: SmallProblem, threads: int, gap: bool, period: float, printed: dict[str, str]
) -> None:
    options = {"gap": gap, "relabel_period": period, **printed}
    check_against_oracle(problem, method="multicore-fifo", threads=threads, options=options)


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("rmf-wide", "12x8"),
        ("rmf-long", "6x50"),
        ("rlg-wide", "64x8"),
        ("rlg-long", "16x64"),
        ("grid-2d", "12x40"),
    ],
)
def test_families(family: str, size: str, threads: int, gap: bool) -> None:
    for seed in range(3):
        problem = FAMILIES[family].generate(size, seed=seed)
        expected = preflow.max_flow(problem, method="serial-fifo")
        result = preflow.max_flow(
            problem, method="multicore-fifo", threads=threads, options={"gap": gap, "relabel_period": 0.5}
        )
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("family", "size"), [("rmf-wide", "12x8"), ("rmf-long", "6x50"), ("rlg-wide", "64x8"), ("ac-dense", "40")]
)
def test_search_and_donation_of_the_thesis(family: str, size: str, threads: int) -> None:
    """The cut is that of serial-fifo, and a search that one thread makes alone gives the same heights."""
    problem = FAMILIES[family].generate(size, seed=4)
    expected = preflow.max_flow(problem, method="serial-fifo")
    for gap in (False, True):
        options = {"gap": gap, "relabel_period": 0.3}
        result = preflow.max_flow(problem, method="Cihan", threads=threads, options=options)
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)
        assert result.stats.global_relabels > 1
        assert 0.0 < result.stats.global_relabel_seconds < result.stats.seconds["solve"]


def test_one_thread_does_what_serial_fifo_does() -> None:
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=2)
    serial = preflow.min_cut(problem, method="serial-fifo").stats
    alone = preflow.min_cut(problem, method="multicore-fifo", threads=1).stats
    for name in ("pushes", "relabels", "global_relabels", "arc_scans", "steals", "waits"):
        assert getattr(alone, name) == getattr(serial, name), name


def test_threads_share_the_work() -> None:
    """All excess starts on one vertex, so the other threads live on gifts."""
    problem = FAMILIES["rlg-wide"].generate("64x64", seed=2)
    tail, head = np.append(problem.network.tail, problem.network.num_vertices), problem.source
    network = preflow.FlowNetwork.from_arrays(
        tail, np.append(problem.network.head, head), np.append(problem.network.capacity, 2**40)
    )
    result = preflow.max_flow(
        network, problem.network.num_vertices, problem.sink, method="multicore-fifo", threads=3
    )
    result.verify()
    assert result.value == preflow.max_flow(problem).value
    assert result.stats.waits >= result.stats.steals > 0
    assert 0.0 < result.stats.global_relabel_seconds < result.stats.seconds["solve"]
    assert [counts["global_relabels"] > 0 for counts in result.stats.per_thread] == [True, False, False]


def test_gap_takes_vertices_out() -> None:
    problem = FAMILIES["rmf-wide"].generate("32x16", seed=0)
    stats = preflow.min_cut(problem, method="multicore-fifo", threads=1, options={"gap": True}).stats
    assert stats.gap_vertices > 0


@pytest.mark.parametrize(
    "options",
    [{"search": "boxes"}, {"donation": 1}, {"gap": 1}, {"relabel_period": 0}, {"relabel_rule": "work"}],
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method="multicore-fifo", options=options)


class TestQueues:
    def test_oldest_first_around_the_ring(self) -> None:
        ring = queues.make_queues(1, 4, np.uint32)
        taken = []
        for item in range(10):
            assert queues.append(ring, ZERO, item)
            assert queues.append(ring, ZERO, item + 100)
            taken += [int(queues.pop(ring, ZERO)), int(queues.pop(ring, ZERO))]
        assert taken == [number for item in range(10) for number in (item, item + 100)]
        assert queues.size(ring, ZERO) == 0

    def test_full_ring_refuses(self) -> None:
        ring = queues.make_queues(1, 4, np.uint32)
        assert [queues.append(ring, ZERO, item) for item in range(5)] == [True] * 4 + [False]
        queues.clear(ring, ZERO)
        assert queues.append(ring, ZERO, 7)
        assert queues.pop(ring, ZERO) == 7

    def test_memory_does_not_grow_with_the_threads(self) -> None:
        assert queues.make_queues(1, 10**6, np.uint32).items.size == 2**20
        assert queues.make_queues(64, 10**6, np.uint32).items.size <= 8 * 10**6

    def test_no_gift_without_need_or_means(self) -> None:
        ring = queues.make_queues(2, 8, np.uint32)
        queues.append(ring, ZERO, 1)
        queues.append(ring, ZERO, 2)
        queues.donate(ring, ZERO, queues.MOST_DONATED)
        assert queues.size(ring, ZERO) == 2, "nobody is idle"
        queues.pop(ring, ZERO)
        ring.idle.flags[int(queues.PADDING)] = ring.idle.num_idle[:2] = 1
        queues.donate(ring, ZERO, queues.MOST_DONATED)
        assert queues.size(ring, ZERO) == 1, "a thread does not give its only item"

    def test_gift_may_be_the_oldest_item(self) -> None:
        ring = queues.make_queues(2, 8, np.uint32)
        for item in range(5):
            queues.append(ring, ZERO, item)
        ring.idle.flags[int(queues.PADDING)] = ring.idle.num_idle[:2] = 1
        queues.donate(ring, ZERO, ONE)
        assert queues.size(ring, ONE) == 1
        assert queues.pop(ring, ONE) == 0
        assert [int(queues.pop(ring, ZERO)) for _ in range(4)] == [1, 2, 3, 4]

    def test_gift_is_the_older_half(self) -> None:
        ring = queues.make_queues(2, 8, np.uint32)
        over, stop = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        for item in range(5):
            queues.append(ring, ZERO, item)
        given: list[bool] = []

        def share(thread: int) -> None:
            if thread == 1:
                given.append(wait_for_donation(ring.idle, ONE, over, stop))
                return
            deadline = time.monotonic() + 60
            while queues.size(ring, ZERO) == 5 and time.monotonic() < deadline:
                queues.donate(ring, ZERO, queues.MOST_DONATED)
                time.sleep(0.001)

        run_on_threads(share, 2, lambda: None)
        assert given == [True]
        assert [int(queues.pop(ring, ONE)) for _ in range(2)] == [0, 1]
        assert [int(queues.pop(ring, ZERO)) for _ in range(3)] == [2, 3, 4]
        assert ring.idle.num_idle[0] == 0

    def test_everybody_idle_ends_the_wait(self) -> None:
        ring = queues.make_queues(3, 8, np.uint32)
        over, stop = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        outcomes: list[bool] = []
        run_on_threads(
            lambda thread: outcomes.append(wait_for_donation(ring.idle, np.uint64(thread), over, stop)),
            3,
            lambda: None,
        )
        assert outcomes == [False] * 3

    @pytest.mark.parametrize("which", [0, 1])
    def test_signals_end_the_wait(self, which: int) -> None:
        ring = queues.make_queues(2, 8, np.uint32)
        signals = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        timer = threading.Timer(0.05, lambda: signals[which].__setitem__(0, 1))
        timer.start()
        assert not wait_for_donation(ring.idle, ONE, *signals)
        timer.join()
