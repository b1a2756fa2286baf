"""The toolbox of parallel kernels on real threads: atomics, barrier, team, worklist, search."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from preflow import FlowNetwork
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.kernels.atomics import (
    compare_exchange,
    exchange,
    fetch_add,
    fetch_min,
    load,
    pause,
    relaxed_load,
    relaxed_store,
    store,
)
from preflow.kernels.kernel import kernel
from preflow.kernels.overloads import load_overloads
from preflow.network import distances_to_sink
from preflow.parallel.barrier import (
    FEWEST_SPINS,
    LONG_SLEEP,
    MOST_SPINS,
    PATIENCE,
    SHORT_SLEEP,
    adapt_patience,
    break_barrier,
    make_barrier,
    wait,
)
from preflow.parallel.search import (
    ParallelSearch,
    has_wide_level,
    height_not_reached,
    make_search,
    search_again,
    search_together,
)
from preflow.parallel.thread_pool import run_on_threads
from preflow.parallel.totals import add_up, make_totals
from preflow.parallel.turns import RUNS, make_turns, take_run
from preflow.parallel.worklist import (
    Worklist,
    append,
    appended,
    begin_phase,
    flush,
    make_worklist,
    take_chunk,
)
from preflow.solving.run import Control
from tests.support.processes import PLAIN, found_in_child, run_in_plain_python
from tests.support.strategies import SmallProblem, small_problems

ZERO, ONE = np.uint64(0), np.uint64(1)
INTEGERS = (np.int32, np.int64, np.uint32, np.uint64)
DTYPES = (*INTEGERS, np.float64)
TEAM_SIZES = (1, 2, 3, 8, 32)


def run_together(share: Callable[[int], object], num_threads: int) -> list[Any]:
    """Run the shares in a team and return what each returned."""
    results: list[Any] = [None] * num_threads

    def keep(thread: int) -> None:
        results[thread] = share(thread)

    run_on_threads(keep, num_threads, lambda: None)
    return results


def preflow_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("preflow-")}


# Atomics


@kernel
def do_relaxed_load(array: Any, index: Any) -> Any:
    return relaxed_load(array, index)


@kernel
def do_load(array: Any, index: Any) -> Any:
    return load(array, index)


@kernel
def do_relaxed_store(array: Any, index: Any, value: Any) -> None:
    relaxed_store(array, index, value)


@kernel
def do_store(array: Any, index: Any, value: Any) -> None:
    store(array, index, value)


@kernel
def do_fetch_add(array: Any, index: Any, amount: Any) -> Any:
    return fetch_add(array, index, amount)


@kernel
def do_fetch_min(array: Any, index: Any, value: Any) -> Any:
    return fetch_min(array, index, value)


@kernel
def do_exchange(array: Any, index: Any, value: Any) -> Any:
    return exchange(array, index, value)


@kernel
def do_compare_exchange(array: Any, index: Any, expected: Any, value: Any) -> bool:
    return compare_exchange(array, index, expected, value)


def neighbours_untouched(array: NDArray[Any]) -> bool:
    return bool(array[0] == 11 and array[2] == 13)


def check_atomic_operations(dtype: Any, index: Any) -> None:
    largest = dtype(np.finfo(dtype).max if dtype is np.float64 else np.iinfo(dtype).max)
    array = np.array([11, 5, 13], dtype=dtype)
    assert do_relaxed_load(array, index) == do_load(array, index) == 5
    do_relaxed_store(array, index, dtype(6))
    assert array[1] == 6
    do_store(array, index, largest)
    assert array[1] == do_load(array, index) == do_relaxed_load(array, index) == largest
    assert do_exchange(array, index, dtype(7)) == largest
    assert do_fetch_add(array, index, dtype(3)) == 7
    assert array[1] == 10
    assert not do_compare_exchange(array, index, dtype(9), dtype(1))
    assert array[1] == 10
    assert do_compare_exchange(array, index, dtype(10), largest)
    assert array[1] == largest
    assert neighbours_untouched(array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_atomic_operations(dtype: Any) -> None:
    check_atomic_operations(dtype, ONE)


@pytest.mark.parametrize("index", [1, np.uint32(1)], ids=["int", "uint32"])
def test_atomic_operations_at_other_indices(index: Any) -> None:
    check_atomic_operations(np.int64, index)


def test_atomic_operations_convert_values() -> None:
    """A counter of int64 is advanced by uint64, a height of uint32 set to a uint64."""
    array = np.array([11, 5, 13])
    assert do_fetch_add(array, ONE, np.uint64(4)) == 5
    assert do_compare_exchange(array, ONE, np.uint64(9), np.uint32(8))
    assert array.tolist() == [11, 8, 13]
    heights = np.array([11, 5, 13], dtype=np.uint32)
    do_relaxed_store(heights, ONE, np.uint64(2**32 - 1))
    assert do_compare_exchange(heights, ONE, np.uint64(2**32 - 1), np.uint64(8))
    assert heights.tolist() == [11, 8, 13]


#: What LLVM calls the operations on int64, with their memory orders; some CPUs need a loop for a few of them.
INSTRUCTIONS: list[tuple[Any, str]] = [
    (do_relaxed_load, r"load atomic i64, .* monotonic"),
    (do_load, r"load atomic i64, .* acquire"),
    (do_relaxed_store, r"store atomic i64 .* monotonic"),
    (do_store, r"store atomic i64 .* release"),
    (do_fetch_add, r"atomicrmw add .* acq_rel"),
    (do_fetch_min, r"(atomicrmw min|cmpxchg) .* acq_rel"),
    (do_exchange, r"atomicrmw xchg .* acq_rel"),
    (do_compare_exchange, r"cmpxchg .* acq_rel acquire"),
]


@pytest.mark.skipif(PLAIN, reason="needs compiled kernels")
@pytest.mark.parametrize(("operation", "pattern"), INSTRUCTIONS, ids=[p for _, p in INSTRUCTIONS])
def test_memory_orders(operation: Any, pattern: str) -> None:
    values = [np.int64(1)] * (operation.py_func.__code__.co_argcount - 2)
    load_overloads()
    compiled = numba.njit(operation.py_func)  # what comes from the cache of kernels has no LLVM code
    compiled(np.zeros(1, dtype=np.int64), ZERO, *values)
    assert re.search(pattern, "\n".join(compiled.inspect_llvm().values()))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_atomic_operations_on_integers(dtype: Any) -> None:
    info = np.iinfo(dtype)
    array = np.array([11, info.max, 13], dtype=dtype)
    assert do_fetch_min(array, ONE, dtype(info.max - 1)) == info.max
    assert do_fetch_min(array, ONE, dtype(info.max)) == info.max - 1, (
        "the higher half of unsigned is not negative"
    )
    assert array[1] == info.max - 1
    assert do_fetch_min(array, ONE, dtype(info.min)) == info.max - 1
    assert array[1] == info.min
    assert neighbours_untouched(array)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_atomic_operations_on_negative_numbers(dtype: Any) -> None:
    array = np.array([11, 2, 13], dtype=dtype)
    assert do_fetch_add(array, ONE, dtype(-5)) == 2
    assert do_compare_exchange(array, ONE, dtype(-3), dtype(-4))
    assert do_exchange(array, ONE, dtype(-1)) == -4
    assert do_load(array, ONE) == -1
    assert neighbours_untouched(array)


def test_atomic_operations_on_fractions() -> None:
    array = np.array([11, 0.5, 13])
    assert do_fetch_add(array, ONE, 0.25) == 0.5
    assert do_compare_exchange(array, ONE, 0.75, -np.inf)
    assert do_exchange(array, ONE, 1 / 3) == -np.inf
    assert do_load(array, ONE) == 1 / 3
    assert neighbours_untouched(array)


@kernel
def add_often(barrier: Any, num_threads: Any, array: Any, amount: Any, times: Any) -> Any:
    total = ZERO
    wait(barrier, num_threads)
    for _ in range(times):
        total += np.uint64(fetch_add(array, ONE, amount))
    return total


@kernel
def add_often_in_two_steps(barrier: Any, num_threads: Any, array: Any, amount: Any, times: Any) -> None:
    wait(barrier, num_threads)
    for _ in range(times):
        old = relaxed_load(array, ONE)
        pause()
        relaxed_store(array, ONE, old + amount)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fetch_add_loses_nothing(dtype: Any) -> None:
    threads, times = (1, 200) if PLAIN else (4, 200_000)
    barrier, array = make_barrier(threads), np.zeros(3, dtype=dtype)
    totals = run_together(lambda _: add_often(barrier, threads, array, dtype(1), times), threads)
    additions = threads * times
    assert array.tolist() == [0, additions, 0]
    assert sum(map(int, totals)) == additions * (additions - 1) // 2, "each old value was returned once"


@pytest.mark.skipif(PLAIN, reason="needs compiled kernels")
def test_additions_in_two_steps_get_lost() -> None:
    """What the test above sees if fetch_add is not one operation."""
    threads, times = 4, 200_000
    for _ in range(100):
        barrier, array = make_barrier(threads), np.zeros(3, dtype=np.int64)
        run_together(lambda _: add_often_in_two_steps(barrier, threads, array, 1, times), threads)  # noqa: B023
        if array[1] < threads * times:
            return
    pytest.fail("no addition was lost")


@kernel
def count_under_lock(lock: Any, counter: Any, times: Any) -> None:
    for _ in range(times):
        while not compare_exchange(lock, 0, 0, 1):
            pause()
        counter[0] += 1
        counter[1] = counter[0]
        store(lock, 0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_compare_exchange_makes_a_lock(dtype: Any) -> None:
    times = 100 if PLAIN else 20_000
    lock, counter = np.zeros(1, dtype=dtype), np.zeros(2, dtype=np.int64)
    threads = 1 if PLAIN else 2
    run_together(lambda thread: count_under_lock(lock, counter, times), threads)
    assert counter.tolist() == [threads * times] * 2


@kernel
def lower_to_own(array: Any, thread: Any, threads: Any, times: Any) -> None:
    for k in range(times):
        fetch_min(array, 0, (times - k) * threads + thread)


def test_fetch_min_from_several_threads() -> None:
    array = np.array([2**40, 7])
    run_together(lambda thread: lower_to_own(array, thread, 4, 10_000), 4)
    assert array.tolist() == [4, 7]


# The barrier


@kernel
def meet_often(barrier: Any, written: Any, thread: Any, num_threads: Any, rounds: Any) -> Any:
    """Return how many rounds passed until another thread's number was not there; -1 if the barrier broke."""
    for k in range(rounds):
        side = k % 2  # a thread may be one barrier ahead of one that still reads
        written[side, thread] = k + 1
        if not wait(barrier, num_threads):
            return -1
        for other in range(num_threads):
            if written[side, other] != k + 1:
                return k
    return rounds


@pytest.mark.parametrize(("num_threads", "rounds"), [(1, 100), (2, 5_000), (3, 1_000), (8, 500), (32, 100)])
def test_barrier_holds_all_until_the_last(num_threads: int, rounds: int) -> None:
    barrier = make_barrier(num_threads)
    written = np.zeros((2, num_threads), dtype=np.int64)
    passed = run_together(lambda t: meet_often(barrier, written, t, num_threads, rounds), num_threads)
    assert passed == [rounds] * num_threads


@kernel
def add_up_often(
    barrier: Any, totals: Any, written: Any, thread: Any, num_threads: Any, rounds: Any, alternate: bool
) -> Any:
    """Return how many rounds passed until a sum or another's number was wrong; -1 if the barrier broke.

    If they `alternate`, the threads meet at the barrier, too.
    """
    for k in range(rounds):
        side = k % 2
        written[side, thread] = k + 1
        told = np.uint64(k) + thread
        holds, first, second = add_up(barrier, totals, thread, np.uint64(num_threads), told, ONE)
        if not holds:
            return -1
        if first != np.uint64(k * num_threads + num_threads * (num_threads - 1) // 2):
            return k
        if second != np.uint64(num_threads):
            return k
        for other in range(num_threads):
            if written[side, other] != k + 1:
                return k
        if alternate and not wait(barrier, num_threads):
            return -1
    return rounds


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize(("num_threads", "rounds"), [(1, 100), (2, 5_000), (3, 1_000), (8, 500), (32, 100)])
def test_all_leave_with_the_sums(num_threads: int, rounds: int, alternate: bool) -> None:
    barrier, totals = make_barrier(num_threads), make_totals(num_threads)
    written = np.zeros((2, num_threads), dtype=np.int64)
    passed = run_together(
        lambda t: add_up_often(barrier, totals, written, np.uint64(t), num_threads, rounds, alternate),
        num_threads,
    )
    assert passed == [rounds] * num_threads


def test_broken_barrier_lets_all_out_that_add_up() -> None:
    barrier, totals = make_barrier(3), make_totals(3)
    written = np.zeros((2, 3), dtype=np.int64)

    def share(thread: int) -> int:
        if thread == 2:
            time.sleep(0.05)
            break_barrier(barrier)
            return -1
        return int(add_up_often(barrier, totals, written, np.uint64(thread), 3, 10, False))

    assert run_together(share, 3) == [-1, -1, -1]


def test_barrier_learns_how_long_to_spin() -> None:
    """A very short sleep makes the next wait spin longer, a long one makes it spin less."""
    barrier = make_barrier(1)
    assert barrier[PATIENCE] == MOST_SPINS

    def patience_after(naps: int) -> int:
        for _ in range(20):
            adapt_patience(barrier, barrier[PATIENCE], np.int64(naps))
        return int(barrier[PATIENCE])

    assert patience_after((SHORT_SLEEP + LONG_SLEEP) // 2) == MOST_SPINS
    assert patience_after(2 * LONG_SLEEP) == FEWEST_SPINS
    assert patience_after((SHORT_SLEEP + LONG_SLEEP) // 2) == FEWEST_SPINS
    assert patience_after(SHORT_SLEEP // 2) == MOST_SPINS


@pytest.mark.skipif(PLAIN, reason="a thread of plain Python does not wait while another sleeps")
def test_barrier_spares_the_core_where_a_thread_is_late() -> None:
    barrier = make_barrier(2)
    barrier[PATIENCE] = MOST_SPINS
    seen = []

    def meet_late(thread: int) -> None:
        for _ in range(30):
            if thread == 1:
                time.sleep(0.01)
            assert wait(barrier, 2)
            if thread == 0:
                seen.append(int(barrier[PATIENCE]))

    run_together(meet_late, 2)
    # On a busy machine a thread may fall asleep just before the other one comes, and spin longer after.
    assert min(seen) == FEWEST_SPINS


@kernel
def meet_nobody(barrier: Any, num_threads: Any, rounds: Any) -> Any:
    passed = 0
    for _ in range(rounds):
        if wait(barrier, num_threads):
            passed += 1
    return passed


@pytest.mark.parametrize("num_threads", [2, 8])
def test_broken_barrier_lets_all_out_for_good(num_threads: int) -> None:
    barrier = make_barrier(num_threads)

    def share(thread: int) -> int:
        if thread == 0:
            threading.Event().wait(0.02)
            break_barrier(barrier)
            return 0
        return int(meet_nobody(barrier, num_threads, 3))

    assert run_together(share, num_threads) == [0] * num_threads
    assert not wait(barrier, num_threads)


# The team


@pytest.mark.parametrize("num_threads", TEAM_SIZES)
def test_team_runs_each_share_once_and_all_at_a_time(num_threads: int) -> None:
    together = threading.Barrier(num_threads, timeout=30)
    shares: list[tuple[int, threading.Thread]] = []

    def share(thread: int) -> None:
        together.wait()
        shares.append((thread, threading.current_thread()))

    run_on_threads(share, num_threads, together.abort)
    numbers, threads = zip(*sorted(shares, key=lambda pair: pair[0]), strict=True)
    assert numbers == tuple(range(num_threads))
    assert threads[0] is threading.current_thread()
    assert len(set(threads)) == num_threads
    assert all(thread.name.startswith("preflow-") and thread.daemon for thread in threads[1:])


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_exception_in_a_share_comes_out_and_frees_the_others(failing: int) -> None:
    barrier = make_barrier(3)
    passed: list[int] = []

    def share(thread: int) -> None:
        if thread == failing:
            raise ZeroDivisionError(f"in share {thread}")
        passed.append(int(meet_nobody(barrier, 3, 1)))

    for _ in range(5):
        with pytest.raises(ZeroDivisionError, match=f"in share {failing}"):
            run_on_threads(share, 3, lambda: break_barrier(barrier))
    assert set(passed) <= {0}, "a share that begins after the failure does not run"
    assert run_together(lambda thread: thread, 3) == [0, 1, 2], "the threads go on working"


def test_first_of_several_exceptions_comes_out() -> None:
    first_failed = threading.Event()

    def share(thread: int) -> None:
        if thread == 1:
            raise KeyError(thread)
        assert first_failed.wait(30)
        raise ValueError(thread)

    with pytest.raises(KeyError):
        run_on_threads(share, 3, first_failed.set)


def test_interrupt_in_a_share_comes_out() -> None:
    def share(thread: int) -> None:
        if thread == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_on_threads(share, 2, lambda: None)


def test_threads_are_reused() -> None:
    run_together(lambda thread: None, 8)
    before = preflow_threads()
    for k in range(200):
        assert run_together(lambda thread: thread, k % 8 + 1) == list(range(k % 8 + 1))
    assert preflow_threads() == before


def test_no_thread_is_lost_where_none_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    run_together(lambda thread: None, 8)
    before = preflow_threads()

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError, match="can't start"):
            run_on_threads(lambda thread: None, len(before) + 2, lambda: None)
    assert run_together(lambda thread: thread, 8) == list(range(8))
    assert preflow_threads() == before


def test_team_within_a_team() -> None:
    results = run_together(lambda outer: run_together(lambda inner: 10 * outer + inner, 3), 3)
    assert results == [[10 * outer + inner for inner in range(3)] for outer in range(3)]


def test_teams_of_two_user_threads_do_not_mix() -> None:
    def user() -> None:
        for _ in range(100):
            barrier = make_barrier(4)
            written = np.zeros((2, 4), dtype=np.int64)
            passed = run_together(lambda t: meet_often(barrier, written, t, 4, 5), 4)  # noqa: B023
            assert passed == [5] * 4

    users = ThreadPoolExecutor(2)
    for use in [users.submit(user) for _ in range(2)]:
        use.result(60)


def search_in_a_child(results: Any) -> None:
    """Runs in a forked or spawned process."""
    problem = FAMILIES["rmf-wide"].generate("8x4", seed=1)
    net = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink])).arrays
    height = np.zeros(len(net.excess), net.head.dtype)
    shares = run_search(make_search(3, len(net.excess), len(net.head), net.head.dtype), net, height, False)
    reached = sum(end - begin for begin, end, _ in shares)
    results.put((reached, int(height.sum()), len(preflow_threads())))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_team_in_another_process(method: str) -> None:
    run_together(lambda thread: None, 8)
    expected: SimpleQueue[Any] = SimpleQueue()
    search_in_a_child(expected)
    reached, total, threads = found_in_child(method, search_in_a_child)
    assert (reached, total) == expected.get(timeout=10)[:2]
    assert threads == 2, "a child has no thread but those that it started"


# The worklist


@kernel
def work_in_phases(
    barrier: Any,
    worklist: Worklist,
    items: Any,
    taken: Any,
    thread: Any,
    num_threads: Any,
    size: Any,
    phases: Any,
) -> Any:
    """Append ``0 .. size - 1``, then for each number taken in a phase that plus `size`; return the count."""
    phase, waiting, begin = ZERO, ZERO, ZERO
    if thread == ZERO:
        begin_phase(worklist, phase)
    number = thread
    while number < size:
        waiting = append(worklist, phase, items, begin, thread, waiting, number)
        number += num_threads
    flush(worklist, phase, items, begin, thread, waiting)
    if not wait(barrier, num_threads):
        return ZERO
    end = appended(worklist, phase)
    while phase + ONE < phases:
        phase += ONE
        waiting = ZERO
        if thread == ZERO:
            begin_phase(worklist, phase)
        while True:
            k, chunk_end = take_chunk(worklist, phase, end - begin)
            if k == chunk_end:
                break
            while k < chunk_end:
                number = np.uint64(items[begin + k])
                fetch_add(taken, number, 1)
                waiting = append(worklist, phase, items, end, thread, waiting, number + size)
                k += ONE
        flush(worklist, phase, items, end, thread, waiting)
        if not wait(barrier, num_threads):
            return ZERO
        count = appended(worklist, phase)
        begin, end = end, end + count
    return end


@pytest.mark.parametrize("size", [0, 1, 128, 1024, 5000])
@pytest.mark.parametrize("num_threads", TEAM_SIZES)
def test_worklist_keeps_each_vertex_once(num_threads: int, size: int) -> None:
    phases = 7
    barrier, worklist = make_barrier(num_threads), make_worklist(num_threads, np.uint32)
    items = np.full(size * phases + 1, 2**32 - 1, dtype=np.uint32)
    taken = np.zeros(size * phases + 1, dtype=np.int64)
    ends = run_together(
        lambda t: work_in_phases(
            barrier,
            worklist,
            items,
            taken,
            np.uint64(t),
            np.uint64(num_threads),
            np.uint64(size),
            np.uint64(phases),
        ),
        num_threads,
    )
    assert ends == [size * phases] * num_threads
    by_phase = np.sort(items[:-1].reshape(phases, size), axis=1)
    assert np.array_equal(by_phase.ravel(), np.arange(size * phases))
    assert items[-1] == 2**32 - 1
    assert (taken[: size * (phases - 1)] == 1).all()
    assert not taken[size * (phases - 1) :].any()


# The search


def make_mailed(
    num_threads: int, net: ResidualArrays, box_size: int | None = None, small: int | None = None
) -> ParallelSearch:
    """Return the state of a search with boxes of `box_size` messages and small levels below `small`."""
    n, m = len(net.excess), len(net.head)
    made = make_search(num_threads, n, m, net.head.dtype)
    if box_size is not None:
        messages = np.empty(4 * num_threads * num_threads * box_size, net.head.dtype)
        made = made._replace(box_size=np.array([box_size], np.uint64), messages=messages)
    if small is not None:
        made = made._replace(small=np.array([small], np.uint64))
    return made


def run_search(
    made: ParallelSearch, net: ResidualArrays, height: Any, drain: bool
) -> list[tuple[int, int, int]]:
    """Search once on a team; return what each thread did."""
    num_threads = int(made.num_threads[0])
    results = [(0, 0, 0)] * num_threads

    def share(thread: int) -> None:
        begin, end, pushes = search_together(made, np.uint64(thread), net, height, drain)
        results[thread] = int(begin), int(end), int(pushes)

    run_on_threads(share, num_threads, lambda: break_barrier(made.barrier))
    return results


def distances(net: ResidualArrays) -> Any:
    n = len(net.excess)
    height = np.full(n, n + 1, net.head.dtype)
    distances_to_sink(net, height, np.zeros(n, net.head.dtype), ZERO, ZERO, ZERO, False)
    return height


def residual_of(network: FlowNetwork, source: int, sink: int) -> ResidualArrays:
    return build_residual(network, np.array([source]), np.array([sink])).arrays


def copy_of(net: ResidualArrays) -> ResidualArrays:
    return ResidualArrays(*(array.copy() for array in net))


def check_search(made: ParallelSearch, begin: ResidualArrays, drain: bool) -> int:
    """Heights are exact for what the search leaves, and flow is conserved; return the pushes."""
    net = copy_of(begin)
    n = len(net.excess)
    height = np.zeros(n, net.head.dtype)
    results = run_search(made, net, height, drain)
    assert np.array_equal(height, distances(net))
    owner = (np.arange(n) >> int(made.shift[0])) % int(made.num_threads[0])
    for thread, (first, end, _) in enumerate(results):
        order = made.order[first:end].astype(int)
        assert sorted(order) == np.flatnonzero((owner == thread) & (height <= n)).tolist()
        assert (np.diff(height[order].astype(int)) >= 0).all()
    if not drain:
        assert all(np.array_equal(*arrays) for arrays in zip(net, begin, strict=True))
        return 0
    assert all((array >= 0).all() for array in net)
    assert np.array_equal(
        net.residual + net.residual[net.reverse], begin.residual + begin.residual[begin.reverse]
    )
    tail = np.repeat(np.arange(n), np.diff(begin.first_out.astype(int)))
    expected = begin.excess - begin.sink_residual + net.sink_residual
    np.add.at(expected, tail, net.residual.astype(np.int64) - begin.residual)
    assert np.array_equal(net.excess, expected)
    return sum(pushes for *_, pushes in results)


@given(
    problem=small_problems(max_vertices=20),
    threads=st.integers(1, 8),
    box_size=st.sampled_from([1, 2, 3, 64]),
    small=st.sampled_from([0, 1, 3, 100]),
    drain=st.booleans(),
)
@settings(max_examples=100)
def test_search_of_small_networks(
    problem: SmallProblem, threads: int, box_size: int, small: int, drain: bool
) -> None:
    net = build_residual(problem.network, np.array(problem.sources), np.array(problem.sinks)).arrays
    check_search(make_mailed(1 if PLAIN else threads, net, box_size, small), net, drain)


def push_down(net: ResidualArrays, height: Any, random: Any) -> int:
    """Push excess down at random; return the height below which no distance has changed."""
    n = len(height)
    exact_below = n + 1
    for v in random.permutation(np.flatnonzero(height <= n)):
        amount = min(net.excess[v], net.sink_residual[v])
        if height[v] == 1 and amount > 0 and random.random() < 0.5:
            net.excess[v] -= amount
            net.sink_residual[v] -= amount
            if net.sink_residual[v] == 0:
                exact_below = 1
        for a in range(net.first_out[v], net.first_out[v + 1]):
            w = net.head[a]
            amount = min(net.excess[v], int(net.residual[a]))
            if amount > 0 and height[v] == height[w] + 1 and random.random() < 0.5:
                net.excess[v] -= amount
                net.excess[w] += amount
                net.residual[a] -= amount
                net.residual[net.reverse[a]] += amount
                if net.residual[a] == 0:
                    exact_below = min(exact_below, int(height[v]))
    return exact_below


@given(
    problem=small_problems(max_vertices=20),
    threads=st.integers(1, 5),
    box_size=st.sampled_from([1, 64]),
    small=st.sampled_from([0, 2, 100]),
    drain=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=80)
def test_search_goes_on_and_stops(
    problem: SmallProblem, threads: int, box_size: int, small: int, drain: bool, seed: int
) -> None:
    """After pushes, from the last level that stays exact, to the last vertex with excess."""
    random = np.random.default_rng(seed)
    net = build_residual(problem.network, np.array(problem.sources), np.array(problem.sinks)).arrays
    n = len(net.excess)
    made = make_mailed(1 if PLAIN else threads, net, box_size, small)
    height = np.zeros(n, net.head.dtype)
    exact_below, trusted, ceiling = 0, 0, n + 1
    for _ in range(4):
        before, had_excess = height.copy(), net.excess > 0
        reached, ceiling = run_search_again(made, net, height, exact_below, trusted, drain)
        exact = distances(net)
        assert np.array_equal(height[reached], exact[reached])
        assert (height[~reached] > n).all()
        for v in np.flatnonzero(~reached):
            height[v] = height_not_reached(np.uint64(height[v]), np.uint64(ceiling), np.uint64(n))
        if ceiling <= n:
            assert trusted > 0
            assert reached[exact < ceiling].all()
            assert (reached | (net.excess == 0))[had_excess & (before <= trusted)].all()
            assert (height <= exact)[before <= trusted].all()
        else:
            assert np.array_equal(height, exact)
        exact_below = min(ceiling, push_down(net, height, random))
        trusted = int(random.choice([0, n, random.integers(n + 1)]))


def run_search_again(
    made: ParallelSearch, net: ResidualArrays, height: Any, exact_below: int, trusted: int, drain: bool
) -> tuple[Any, int]:
    """Search on a team; return which vertices are reached, and the ceiling."""
    reached = np.zeros(len(height), dtype=bool)
    ceilings = set()

    def share(thread: int) -> None:
        begin, end, ceiling, _ = search_again(
            made, np.uint64(thread), net, height, np.uint64(exact_below), np.uint64(trusted), drain
        )
        reached[made.order[begin:end]] = True
        ceilings.add(int(ceiling))

    run_on_threads(share, int(made.num_threads[0]), lambda: break_barrier(made.barrier))
    (ceiling,) = ceilings
    return reached, ceiling


#: Wide levels and narrow ones, few and many.
SIZES = [
    ("rlg-wide", "4096x8"),
    ("rlg-long", "16x512"),
    ("rmf-wide", "12x6"),
    ("rmf-wide", "32x8"),
    ("rmf-long", "4x40"),
    ("rmf-long", "8x64"),
    ("grid-2d", "40x40"),
    ("ac-dense", "60"),
]


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("threads", TEAM_SIZES)
def test_search_of_families(threads: int, drain: bool) -> None:
    """Levels above and below the small ones, and several rounds of messages."""
    for family, size in SIZES:
        problem = FAMILIES[family].generate(size, seed=1)
        net = residual_of(problem.network, problem.source, problem.sink)
        for box_size, small in [(None, None), (None, 0), (2, 0), (5, 20)]:
            if threads == 1 and box_size is not None:
                continue
            if box_size is None or len(net.excess) < 2000:
                check_search(make_mailed(threads, net, box_size, small), net, drain)


@pytest.mark.parametrize("threads", [2, 4])
def test_search_again_and_again(threads: int) -> None:
    """A search leaves nothing behind that the next one minds; each drains what the last one left."""
    random = np.random.default_rng(3)
    n, m = 60, 240
    network = FlowNetwork.from_arrays(
        random.integers(0, n, m), random.integers(0, n, m), random.integers(0, 9, m), num_vertices=n
    )
    net = residual_of(network, 0, 1)
    made = make_mailed(threads, net, 1, 4)
    height = np.zeros(n - 2, net.head.dtype)
    pushes = []
    for _ in range(30):
        pushes.append(sum(made for *_, made in run_search(made, net, height, True)))
        assert np.array_equal(height, distances(net))
    assert pushes[0] > 0


@pytest.mark.parametrize("seed", range(8))
def test_search_of_dense_networks(seed: int) -> None:
    """Few vertices are left after the first level, or the second, and look for it themselves."""
    n = 40
    random = np.random.default_rng(seed)
    tail, head = (ends.ravel() for ends in np.meshgrid(np.arange(n), np.arange(n)))
    capacity = random.integers(0, 3, n * n)
    capacity[(head == 1) & (random.random(n * n) < seed / 8)] = 0
    net = residual_of(FlowNetwork.from_arrays(tail, head, capacity), 0, 1)
    for threads in (1, 2, 5):
        made = make_mailed(threads, net, None if threads == 1 else 1, None)
        assert check_search(made, net, True) > 0
        check_search(made, net, False)


@pytest.mark.parametrize("arcs", [([0], [1], [1]), ([0, 1], [1, 2], [3, 2])])
def test_search_with_more_threads_than_vertices(arcs: tuple[list[int], ...]) -> None:
    net = residual_of(FlowNetwork.from_arrays(*arcs), 0, len(arcs[0]))
    for drain in (False, True):
        check_search(make_mailed(8, net), net, drain)


def test_search_returns_where_the_barrier_breaks() -> None:
    net = residual_of(FAMILIES["grid-2d"].generate("9x9", seed=0).network, 0, 1)
    made = make_mailed(3, net, 1, 0)
    height = np.zeros(len(net.excess), net.head.dtype)

    def share(thread: int) -> None:
        if thread == 2:
            raise ZeroDivisionError
        search_together(made, np.uint64(thread), net, height, True)

    with pytest.raises(ZeroDivisionError):
        run_on_threads(share, 3, lambda: break_barrier(made.barrier))


def layered(sizes: list[int]) -> ResidualArrays:
    """Return a network with `sizes[k]` vertices at distance k + 1 from the sink."""
    random = np.random.default_rng(1)
    ends = np.cumsum([1, *sizes])
    below = [random.integers(*level) for level in zip([0, *ends], ends, sizes, strict=False)]
    tail = np.append(np.arange(1, ends[-1]), ends[-1])
    head = np.append(np.concatenate(below), ends[-1] - 1)
    return residual_of(FlowNetwork.from_arrays(tail, head, np.full(len(tail), 5)), int(ends[-1]), 0)


def test_search_alternates_between_one_thread_and_all() -> None:
    """Runs of small levels between large ones."""
    net = layered([1, 3000, 1, 1] * 4)
    for threads in (2, 3, 8):
        made = make_mailed(threads, net, None, 100)
        for _ in range(3):
            check_search(made, net, False)
    assert np.bincount(distances(net)).max() == 3000


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("width", "enough", "expected"),
    [
        (0, 1, True),
        (10, 5000, True),
        (3000, 5000, True),
        (3001, 5000, False),
        (3000, 61, True),
        (3000, 60, False),
        (51, 10, False),
    ],
)
def test_wide_level(threads: int, width: int, enough: int, expected: bool) -> None:
    net = layered([10, 50, 3000, 50])
    height = np.zeros(len(net.excess), net.head.dtype)
    made = make_mailed(threads, net)
    for _ in range(2):
        assert has_wide_level(made, net, height, np.uint64(width), np.uint64(enough)) == expected
    check_search(made, net, True)


def test_plain_python() -> None:
    """The kernels also run without Numba, on one thread: an operation on entries is then not atomic."""
    tests = "atomic_operations or fetch_add_loses or makes_a_lock or small_networks"
    run_in_plain_python("-k", tests, __file__)


# Turns


@pytest.mark.parametrize("items", [0, 1, 7, 8, 9, 2 * RUNS, 8 * RUNS - 1, 8 * RUNS + 1, 10_000])
@pytest.mark.parametrize("num_threads", TEAM_SIZES)
def test_each_item_is_in_one_run(items: int, num_threads: int) -> None:
    turns, enough = make_turns(items, Control(num_threads))
    assert enough == max(1, min(num_threads, items))

    def take_all(thread: int) -> list[tuple[int, int]]:
        runs = []
        begin, end = take_run(turns, np.uint64(items))
        while begin < end:
            runs.append((int(begin), int(end)))
            begin, end = take_run(turns, np.uint64(items))
        return runs

    taken = sorted(run for runs in run_together(take_all, enough) for run in runs)
    assert [item for begin, end in taken for item in range(begin, end)] == list(range(items))
    assert len(taken) == min(items, RUNS * enough)
    sizes = {end - begin for begin, end in taken}
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
