"""Teams that start without Python's lock, and the copies of arrays that their threads keep to themselves."""

from __future__ import annotations

import itertools
import sys
import threading
from _thread import start_new_thread
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow.kernels.atomics import fetch_add
from preflow.kernels.kernel import kernel
from preflow.kernels.private import ALIGNMENT, private, private_memory
from preflow.parallel import thread_pool
from preflow.parallel.thread_pool import in_pool, run_natively
from tests.support.processes import PLAIN, found_in_child, run_in_plain_python

ONE = np.uint64(1)


class Inner(NamedTuple):
    """What each thread copies."""

    numbers: NDArray[np.int64]
    sevens: NDArray[np.uint32]
    nothing: NDArray[np.float64]
    halves: NDArray[np.float64]


class Arguments(NamedTuple):
    """What all threads share."""

    inner: Inner
    flag: bool
    step: np.int64
    memory: NDArray[np.uint8]
    total: NDArray[np.int64]
    found: NDArray[np.float64]


@kernel
def add_share(thread: Any, arguments: Arguments) -> None:
    """Change one's own copies, then write what they hold."""
    own = private(arguments.inner, arguments.memory[thread])
    for k in range(len(own.numbers)):
        own.numbers[k] += np.int64(thread)
    own.halves[0] += 0.5
    fetch_add(arguments.total, 0, arguments.step)
    if arguments.flag:
        arguments.found[thread, 0] += own.numbers.sum()
        arguments.found[thread, 1] = own.sevens[-1] + len(own.nothing) + own.halves.sum()


add_together = in_pool("add_together", add_share)


def make_arguments(num_threads: int, flag: bool = True) -> Arguments:
    inner = Inner(np.arange(5), np.full(33, 7, dtype=np.uint32), np.empty(0), np.array([0.25, 1.0]))
    memory = private_memory(inner, num_threads)
    found = np.zeros((num_threads, 2))
    return Arguments(inner, flag, np.int64(3), memory, np.zeros(1, dtype=np.int64), found)


def check_team(num_threads: int, times: int = 1) -> None:
    arguments = make_arguments(num_threads)
    for _ in range(times):
        run_natively(add_together, arguments, num_threads)
    assert arguments.total[0] == 3 * num_threads * times
    assert arguments.found[:, 0].tolist() == [times * (10 + 5 * thread) for thread in range(num_threads)]
    assert (arguments.found[:, 1] == 7 + 1.75).all()
    assert arguments.inner.numbers.tolist() == [0, 1, 2, 3, 4]
    assert arguments.inner.halves[0] == 0.25


def native_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("preflow-native")}


@pytest.mark.parametrize("num_threads", [1, 2, 3, 4, 5, 8, 13, 32])
def test_every_thread_does_its_share_with_copies_of_its_own(num_threads: int) -> None:
    check_team(num_threads, 1 if PLAIN else 50)


def test_other_arguments() -> None:
    arguments = make_arguments(3, flag=False)
    run_natively(add_together, arguments, 3)
    assert arguments.total[0] == 9
    assert (arguments.found == 0).all()


@kernel
def addresses(values: Any, memory: Any) -> Any:
    inner, (other,) = private(values, memory)
    return (
        inner.numbers.ctypes.data,
        inner.sevens.ctypes.data,
        inner.nothing.ctypes.data,
        inner.halves.ctypes.data,
        other.ctypes.data,
    )


@pytest.mark.skipif(PLAIN, reason="plain Python copies elsewhere")
def test_copies_have_cache_lines_of_their_own() -> None:
    inner = make_arguments(1).inner
    values = (inner, (np.arange(99),))
    memory = private_memory(values, 3)
    for row in memory:
        begin = row.ctypes.data
        places = addresses(values, row)
        sizes = [array.nbytes for array in (*inner, values[1][0])]
        assert all(place % ALIGNMENT == 0 for place in places)
        assert places[0] >= begin
        for place, size, following in zip(places, sizes, [*places[1:], begin + len(row)], strict=True):
            assert place + size <= following
        assert places[-1] + sizes[-1] <= begin + len(row)


@pytest.mark.skipif(PLAIN, reason="needs compiled kernels")
def test_threads_are_reused() -> None:
    check_team(8)
    before = native_threads()
    for k in range(200):
        check_team(k % 8 + 1)
    assert native_threads() == before


@pytest.mark.skipif(PLAIN, reason="needs compiled kernels")
def test_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    check_team(8)
    before = native_threads()

    def fail(function: Any, arguments: tuple[Any, ...]) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(thread_pool, "start_new_thread", fail)
        with pytest.raises(RuntimeError, match="can't start"):
            run_natively(add_together, make_arguments(200), 200)
    check_team(8)
    assert native_threads() == before
    check_team(40)


@pytest.mark.skipif(PLAIN, reason="plain Python needs no pool")
def test_ctrl_c_at_any_instruction_of_starting_a_thread_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def start_and_count(function: Any, arguments: tuple[Any, ...]) -> None:
        started.append(start_new_thread(function, arguments))

    def interrupt_at(event: int) -> Any:
        events = itertools.count()

        def trace(frame: FrameType, kind: str, value: Any) -> Any:
            if frame.f_code.co_name not in ("_add_thread", "start"):
                return None
            frame.f_trace_opcodes = True
            if next(events) == event:
                raise KeyboardInterrupt
            return trace

        return trace

    check_team(3)  # compiles
    monkeypatch.setattr(thread_pool, "start_new_thread", start_and_count)
    earlier = sys.gettrace()
    for event in itertools.count():
        pools = thread_pool._Pools()
        started.clear()
        try:
            sys.settrace(interrupt_at(event))
            pool = pools.take(3)
        except KeyboardInterrupt:
            known = sum(np.count_nonzero(pool.locks[1:]) for pool in pools._idle)
            assert known == len(started)
        else:
            assert np.count_nonzero(pool.locks) == 3
            break
        finally:
            sys.settrace(earlier)
    assert event > 50


def test_teams_of_several_user_threads_do_not_mix() -> None:
    def user() -> None:
        for _ in range(20):
            check_team(4, 5)

    users = ThreadPoolExecutor(3)
    for use in [users.submit(user) for _ in range(3)]:
        use.result(60)


def count_in_a_child(results: Any) -> None:
    """Runs in a forked or spawned process."""
    check_team(3)
    results.put(len(native_threads()))


@pytest.mark.skipif(PLAIN, reason="needs compiled kernels")
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_team_in_another_process(method: str) -> None:
    check_team(8)
    threads = found_in_child(method, count_in_a_child)
    assert threads == 2, "a child has no thread but those that it started"


def test_plain_python() -> None:
    """Without Numba the shares run in a team of Python's threads."""
    run_in_plain_python(__file__)
