"""The kernels of the toolbox in every state that two or three threads can reach in tiny cases.

The cases run in a process in which kernels are plain Python (see scheduler.py). Each is also run on mutants,
kernels with a mistake that is easily made: the explorer must find it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow.kernels import atomics
from preflow.kernels.atomics import (
    compare_exchange,
    fetch_add,
    load,
    pause,
    relaxed_store,
    store,
)
from preflow.parallel import barrier, totals, worklist
from preflow.parallel.barrier import BROKEN, wait
from preflow.parallel.worklist import (
    Worklist,
    append,
    appended,
    begin_phase,
    flush,
    make_worklist,
    take_chunk,
)
from tests.support.exploration import (
    Cases,
    Mutants,
    add_in_two_steps,
    edit,
    exchange_for,
    exploration_tests,
    impatient_barrier,
    look_then_set,
    mutate,
    serve,
)
from tests.support.scheduler import Outcome, Thread, Violation, explore, hidden_values

pytestmark = pytest.mark.fast

ZERO, ONE = np.uint64(0), np.uint64(1)


# The barrier


class Meeting(NamedTuple):
    """What the threads of a barrier's case share: the barrier, and what they write plainly."""

    barrier: NDArray[np.int64]
    written: NDArray[np.int64]


def meet(num_threads: int, rounds: int, patience: int = 0) -> Outcome:
    """Nobody leaves early: each reads after the barrier, plainly, what all wrote before it.

    Two entries a thread take turns, since a thread may be a barrier ahead of one that still reads.
    """

    def member(thread: int) -> Thread:
        def run(shared: Meeting) -> int:
            for round_number in range(rounds):
                side = round_number % 2
                shared.written[side, thread] = round_number
                assert wait(shared.barrier, num_threads)
                for other in range(num_threads):
                    assert shared.written[side, other] == round_number, "left early"
            return rounds

        return run

    def make_case() -> tuple[Meeting, list[Thread]]:
        written = np.full((2, num_threads), -1)
        return Meeting(impatient_barrier(num_threads, patience), written), [
            member(thread) for thread in range(num_threads)
        ]

    return explore(make_case)


class Sums(NamedTuple):
    """What the threads share that add up: how long to spin, their lines, and what they write plainly."""

    barrier: NDArray[np.int64]
    totals: NDArray[np.uint64]
    written: NDArray[np.int64]


def break_it() -> Outcome:
    """Two threads wait for a third one, which fails: all get out, and so at every later barrier."""

    def member(shared: Meeting) -> bool:
        first = wait(shared.barrier, 3)
        second = wait(shared.barrier, 3)
        return bool(first or second)

    def breaker(shared: Meeting) -> bool:
        relaxed_store(shared.barrier, BROKEN, 1)
        return False

    def check_end(shared: Meeting, results: list[bool]) -> None:
        assert results == [False] * 3

    return explore(
        lambda: (Meeting(impatient_barrier(3, 1), np.zeros((2, 3), np.int64)), [member, member, breaker]),
        check_end=check_end,
    )


def add_often(num_threads: int, rounds: int) -> Outcome:
    """All leave with the sums of what all told, and read, plainly, what all wrote before."""

    def member(thread: int) -> Thread:
        def run(shared: Sums) -> int:
            me = np.uint64(thread)
            for round_number in range(rounds):
                side = round_number % 2
                shared.written[side, thread] = round_number
                told = np.uint64(round_number * num_threads + thread)
                holds, first, second = totals.add_up(
                    shared.barrier, shared.totals, me, np.uint64(num_threads), told, ONE
                )
                assert holds
                expected = sum(round_number * num_threads + other for other in range(num_threads))
                assert (first, second) == (expected, num_threads), "wrong sums"
                for other in range(num_threads):
                    assert shared.written[side, other] == round_number, "left early"
            return rounds

        return run

    def make_case() -> tuple[Sums, list[Thread]]:
        written = np.full((2, num_threads), -1)
        return Sums(impatient_barrier(num_threads), totals.make_totals(num_threads), written), [
            member(thread) for thread in range(num_threads)
        ]

    return explore(make_case)


def break_sums() -> Outcome:
    """Two threads add up with a third one, which fails: both get out, and so every time later."""

    def member(thread: int) -> Thread:
        def run(shared: Sums) -> bool:
            me = np.uint64(thread)
            first, _, _ = totals.add_up(shared.barrier, shared.totals, me, np.uint64(3), ONE, ONE)
            second, _, _ = totals.add_up(shared.barrier, shared.totals, me, np.uint64(3), ONE, ONE)
            return bool(first or second)

        return run

    def breaker(shared: Sums) -> bool:
        relaxed_store(shared.barrier, BROKEN, 1)
        return False

    def check_end(shared: Sums, results: list[bool]) -> None:
        assert results == [False] * 3

    def make_case() -> tuple[Sums, list[Thread]]:
        shared = Sums(impatient_barrier(3, 1), totals.make_totals(3), np.zeros((2, 3), np.int64))
        return shared, [member(0), member(1), breaker]

    return explore(make_case, check_end=check_end)


# The worklist


class Work(NamedTuple):
    """What the threads of a worklist's case share."""

    barrier: NDArray[np.int64]
    worklist: Worklist
    items: NDArray[np.uint32]
    times_taken: NDArray[np.int64]


def share_work(own: list[list[int]], phases: int, buffer: int, chunk: int) -> Outcome:
    """Threads append their own numbers and then, phase by phase, those taken plus a fixed amount."""
    num_threads = len(own)
    amount = sum(map(len, own))

    def member(thread: int) -> Thread:
        me, mine = np.uint64(thread), own[thread]

        def run(shared: Work) -> int:
            phase, waiting, begin = ZERO, ZERO, ZERO
            if thread == 0:
                begin_phase(shared.worklist, phase)
            for number in mine:
                waiting = append(shared.worklist, phase, shared.items, begin, me, waiting, number)
            flush(shared.worklist, phase, shared.items, begin, me, waiting)
            assert wait(shared.barrier, num_threads)
            end = appended(shared.worklist, phase)
            for _ in range(1, phases):
                phase += ONE
                waiting = ZERO
                if thread == 0:
                    begin_phase(shared.worklist, phase)
                while True:
                    k, chunk_end = take_chunk(shared.worklist, phase, end - begin)
                    if k == chunk_end:
                        break
                    while k < chunk_end:
                        number = shared.items[begin + k]
                        shared.times_taken[number] += 1
                        number = number + np.uint32(amount)
                        waiting = append(shared.worklist, phase, shared.items, end, me, waiting, number)
                        k += ONE
                flush(shared.worklist, phase, shared.items, end, me, waiting)
                assert wait(shared.barrier, num_threads)
                count = appended(shared.worklist, phase)
                begin, end = end, end + count
            return int(end)

        return run

    def make_case() -> tuple[Work, list[Thread]]:
        made = make_worklist(num_threads, np.uint32)
        made.buffer[...] = 0
        room = amount * phases + num_threads * buffer
        shared = Work(
            impatient_barrier(num_threads), made, np.zeros(room, np.uint32), np.zeros(room, np.int64)
        )
        return shared, [member(thread) for thread in range(num_threads)]

    def check_end(shared: Work, results: list[int]) -> None:
        assert results == [amount * phases] * num_threads, f"counted {results}"
        items = shared.items[: amount * phases].tolist()
        assert sorted(items) == list(range(amount * phases)), f"appended {items}"
        taken = shared.times_taken[: amount * (phases - 1)].tolist()
        assert taken == [1] * (amount * (phases - 1)), f"taken {taken}"

    worklist.BUFFER, worklist.CHUNK = np.uint64(buffer), np.uint64(chunk)
    return explore(make_case, check_end=check_end)


# The explorer itself


def count_states() -> Outcome:
    """Two threads of ten independent steps each have eleven times eleven states."""

    def member(thread: int) -> Thread:
        def run(shared: tuple[NDArray[np.int64]]) -> None:
            for _ in range(10):
                fetch_add(shared[0], thread, 1)

        return run

    outcome = explore(lambda: ((np.zeros(2, np.int64),), [member(0), member(1)]))
    assert outcome == Outcome(states=121, ends=1)
    return outcome


def pass_messages() -> Outcome:
    """A plain message, behind a flag that says that it is there and one that it was read."""

    def send(shared: Meeting) -> None:
        for message in range(1, 8):
            while load(shared.barrier, 1) != message - 1:
                pause()
            deliver(shared.written, shared.barrier, message)

    def receive(shared: Meeting) -> int:
        total = 0
        for message in range(1, 8):
            while load(shared.barrier, 0) != message:
                pause()
            total += int(shared.written[0])
            store(shared.barrier, 1, message)
        return total

    def check_end(shared: Meeting, results: list[Any]) -> None:
        assert results[1] == 28

    return explore(
        lambda: (Meeting(np.zeros(2, np.int64), np.zeros(1, np.int64)), [send, receive]), check_end=check_end
    )


def deliver(place: Any, flag: Any, message: int) -> None:
    place[0] = message
    store(flag, 0, message)  # mutant: a-flag-that-is-not-atomic


def take_turns() -> Outcome:
    """Three threads count plainly under a lock."""

    def member(shared: Meeting) -> None:
        for _ in range(2):
            while not compare_exchange(shared.barrier, 0, 0, 1):
                pause()
            shared.written[0] += 1
            store(shared.barrier, 0, 0)

    def check_end(shared: Meeting, results: list[None]) -> None:
        assert shared.written[0] == 6, "an addition was lost"

    return explore(
        lambda: (Meeting(np.zeros(1, np.int64), np.zeros(1, np.int64)), [member] * 3), check_end=check_end
    )


CASES: Cases = {
    "explorer": count_states,
    "messages": pass_messages,
    "lock": take_turns,
    "barrier-2": lambda: meet(2, rounds=4),
    "barrier-2-spinning": lambda: meet(2, rounds=3, patience=2),
    "barrier-3": lambda: meet(3, rounds=2),
    "barrier-broken": break_it,
    "totals-2": lambda: add_often(2, rounds=4),
    "totals-3": lambda: add_often(3, rounds=3),
    "totals-broken": break_sums,
    "worklist": lambda: share_work([[0, 1, 2], [3]], phases=2, buffer=2, chunk=1),
    "worklist-phases": lambda: share_work([[0], []], phases=5, buffer=2, chunk=1),
    "worklist-chunks": lambda: share_work([[0, 1], [2]], phases=2, buffer=1, chunk=2),
    "worklist-3": lambda: share_work([[0], [], []], phases=2, buffer=2, chunk=1),
}


# Mutants


RESET = "        relaxed_store(barrier, ARRIVED, 0)\n"
ADVANCE = "        store(barrier, GENERATION, generation + 1)\n"
TELL = """    relaxed_store(totals, own + place, first)
    relaxed_store(totals, own + place + ONE, second)
"""
ARRIVE = "    store(totals, own + GENERATION, generation)\n"

MUTANTS: Mutants = {
    "messages: the flag first": (
        "messages",
        edit(
            deliver,
            "    place[0] = message\n    store(flag, 0, message)\n",
            "    store(flag, 0, message)\n    place[0] = message\n",
        ),
        "data race on written",
    ),
    "messages: a flag that is not atomic": (
        "messages",
        mutate(deliver, "a-flag-that-is-not-atomic", "flag[0] = message"),
        "data race on barrier",
    ),
    "lock: looks, then sets": (
        "lock",
        exchange_for(atomics.compare_exchange, look_then_set),
        "data race",
    ),
    "lock: is not given back": (
        "lock",
        exchange_for(atomics.store, lambda array, index, value: None),
        "deadlock",
    ),
    "barrier: arrivals get lost": (
        "barrier-2",
        exchange_for(atomics.fetch_add, add_in_two_steps),
        "deadlock",
    ),
    "barrier: does not wait for a generation": (
        "barrier-2",
        mutate(barrier.wait, "does-not-wait-for-a-generation", "while False:"),
        "left early",
    ),
    "barrier: waits for the count, which the next round changes": (
        "barrier-2",
        mutate(
            barrier.wait,
            "waits-for-the-count-which-the-next-round-changes",
            "while load(barrier, ARRIVED) != 0:",
        ),
        "deadlock",
    ),
    "barrier: advances before the count is reset": (
        "barrier-2",
        edit(barrier.wait, RESET + ADVANCE, ADVANCE + RESET),
        "deadlock",
    ),
    "barrier: reads the generation after it arrives": (
        "barrier-3",
        edit(
            barrier.wait,
            "    patience = relaxed_load(barrier, PATIENCE)\n",
            "    patience = relaxed_load(barrier, PATIENCE)\n    generation = load(barrier, GENERATION)\n",
        ),
        "deadlock",
    ),
    "barrier: does not look whether it is broken": (
        "barrier-broken",
        mutate(barrier.wait, "does-not-look-whether-it-is-broken", "if False:"),
        "deadlock",
    ),
    "totals: does not wait": (
        "totals-2",
        mutate(totals.add_up, "does-not-wait", "while False:"),
        "wrong sums",
    ),
    "totals: a generation's numbers go where the last one's are": (
        "totals-2",
        mutate(totals.add_up, "a-generation-s-numbers-go-where-the-last-one-s-are", "place = NUMBERS"),
        "wrong sums",
    ),
    "totals: the generation before the numbers": (
        "totals-2",
        edit(totals.add_up, TELL + ARRIVE, ARRIVE + TELL),
        "wrong sums",
    ),
    "totals: a generation that is not atomic": (
        "totals-2",
        mutate(totals.add_up, "a-generation-that-is-not-atomic", "totals[own + GENERATION] = generation"),
        "data race on totals",
    ),
    "totals: waits for the next thread only": (
        "totals-3",
        mutate(totals.add_up, "waits-for-the-next-thread-only", "for _ in range(1, 2):"),
        "wrong sums",
    ),
    "totals: does not look whether the barrier is broken": (
        "totals-broken",
        mutate(totals.add_up, "does-not-look-whether-the-barrier-is-broken", "if False:"),
        "deadlock",
    ),
    "worklist: adds in two steps": (
        "worklist",
        exchange_for(atomics.fetch_add, add_in_two_steps),
        "counted",
    ),
    "worklist: flushes without reservation": (
        "worklist",
        edit(
            worklist.flush,
            "position = base + np.uint64(fetch_add(worklist.appended, _slot(phase), waiting))",
            "position = base + np.uint64(relaxed_load(worklist.appended, _slot(phase)))\n"
            "        relaxed_store(worklist.appended, _slot(phase), position - base + waiting)",
        ),
        "counted",
    ),
    "worklist: does not flush a full buffer": (
        "worklist",
        mutate(worklist.append, "does-not-flush-a-full-buffer", "if waiting > BUFFER:"),
        "IndexError",
    ),
    "worklist: two sets of counters": (
        "worklist-phases",
        mutate(worklist._slot, "two-sets-of-counters", "return np.uint64(phase) % np.uint64(2) * PADDING"),
        "counted",
    ),
    "worklist: resets the counters in use": (
        "worklist-phases",
        mutate(worklist.begin_phase, "resets-the-counters-in-use", "slot = _slot(np.uint64(phase))"),
        "taken",
    ),
    "worklist: chunks overlap": (
        "worklist-chunks",
        mutate(
            worklist.take_chunk,
            "chunks-overlap",
            "begin = np.uint64(fetch_add(worklist.taken, _slot(phase), ONE))",
        ),
        "counted",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_thread_that_raises_is_a_violation() -> None:
    def fail(shared: Any) -> None:
        fetch_add(shared[0], 0, 1)
        raise ZeroDivisionError("inside")

    with pytest.raises(Violation, match="thread 0 raised ZeroDivisionError: inside"):
        explore(lambda: ((np.zeros(1, np.int64),), [fail]))


def test_local_variable_that_cannot_be_compared_is_an_error() -> None:
    def odd(shared: Any) -> None:
        box = object()
        fetch_add(shared[0], 0, 1)
        del box

    with pytest.raises(TypeError, match="object"):
        explore(lambda: ((np.zeros(1, np.int64),), [odd]))


def test_only_variables_that_are_read_again_make_states() -> None:
    def forget(shared: Any) -> None:
        old = fetch_add(shared[0], 0, 1)
        assert old < 4
        fetch_add(shared[0], 0, 1)

    def remember(shared: Any) -> int:
        old = fetch_add(shared[0], 0, 1)
        fetch_add(shared[0], 0, 1)
        return int(old)

    def in_expression(shared: Any) -> int:
        old = fetch_add(shared[0], 0, 1)
        return int(old - fetch_add(shared[0], 0, 1))

    def states(member: Thread) -> int:
        return explore(lambda: ((np.zeros(1, np.int64),), [member, member])).states

    assert states(forget) == 9
    assert states(remember) > 9
    assert states(in_expression) > 9


def test_bad_state_is_a_violation_with_its_schedule() -> None:
    def member(shared: Any) -> None:
        fetch_add(shared[0], 0, 1)

    def check_state(shared: Any) -> None:
        assert shared[0][0] < 2, "two"

    with pytest.raises(Violation, match="two") as caught:
        explore(lambda: ((np.zeros(1, np.int64),), [member, member]), check_state)
    assert str(caught.value).count("member:") == 2


def test_expressions_hide_no_value() -> None:
    steps = {"wait", "append", "flush", "appended", "begin_phase", "take_chunk"}
    assert hidden_values((barrier, totals, worklist), steps=steps) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
