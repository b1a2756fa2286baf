"""What tests share that explore a kernel's cases, and mutants of it, in a process of plain Python.

Such a test file is also a program: it ends in ``serve(CASES, MUTANTS)`` and answers which case, or case on a
mutant, it is asked for. As a module it has the two tests of :func:`exploration_tests`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow import FlowNetwork
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.kernels.atomics import relaxed_load, relaxed_store
from preflow.kernels.bfs import distances_to_sink
from preflow.parallel.barrier import PATIENCE, make_barrier
from scheduler import Outcome, Violation, edited, replaced

Cases = Mapping[str, Callable[[], Outcome]]
#: Name: the case that finds it, the mistake, and what is found.
Mutants = Mapping[str, tuple[str, Callable[[], AbstractContextManager[None]], str]]


def hold_constant(arrays: Any) -> Any:
    """Make the arrays of a tuple read-only."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


class Uncounted(np.ndarray[Any, Any]):
    """Counters that stay zero: a thread that goes in circles would otherwise reach ever new states."""

    def __setitem__(self, index: Any, value: Any) -> None:
        pass


def uncounted(*shape: int, dtype: Any = np.uint64) -> Uncounted:
    """Return counters that stay zero."""
    counters = np.zeros(shape, dtype).view(Uncounted)
    counters.flags.writeable = False
    return counters


def impatient_barrier(num_threads: int, patience: int = 0) -> NDArray[np.int64]:
    """Return a barrier whose threads spin so many times, each of which is another state, before they nap."""
    made = make_barrier(num_threads)
    made[PATIENCE] = patience
    return made


# Tiny networks: vertices are numbers from 0, the last two source and sink


#: Tail, head, capacity.
Arcs = Sequence[tuple[int, int, int]]


def residual_of(arcs: Arcs) -> ResidualArrays:
    """Return the residual network; what no thread writes is read-only."""
    tail, head, capacity = zip(*arcs, strict=True)
    network = FlowNetwork.from_arrays(tail, head, capacity)
    n = network.num_vertices - 2
    net = build_residual(network, np.array([n]), np.array([n + 1])).arrays
    hold_constant((net.first_out, net.head, net.reverse))
    return net


def distances(net: ResidualArrays) -> list[int]:
    n = len(net.excess)
    height = np.full(n, n + 1, np.uint32)
    zero = np.uint64(0)
    distances_to_sink(net, height, np.zeros(n, np.uint32), zero, zero, zero, False)
    return height.tolist()


class Flow:
    """Checks that what threads do to a network is a preflow."""

    def __init__(self, arcs: Arcs) -> None:
        self.begin = residual_of(arcs)
        self.tail = np.repeat(np.arange(len(self.begin.excess)), np.diff(self.begin.first_out.astype(int)))
        self.pairs = self.begin.residual + self.begin.residual[self.begin.reverse]

    def check_state(self, net: ResidualArrays) -> None:
        """Nothing is negative, and no residual appears."""
        assert (net.residual >= 0).all(), "a residual is negative"
        assert (net.sink_residual >= 0).all(), "a residual is negative"
        assert (net.excess >= 0).all(), "an excess is negative"
        assert (net.residual + net.residual[net.reverse] <= self.pairs).all(), "a pair has too much"

    def check_pairs(self, net: ResidualArrays) -> None:
        assert (net.residual + net.residual[net.reverse] == self.pairs).all(), "a residual is lost"

    def missing(self, net: ResidualArrays) -> int:
        """Return how much less excess there is than was at the beginning and has not reached the sink."""
        begin = self.begin
        return int((begin.excess - begin.sink_residual).sum() - (net.excess - net.sink_residual).sum())

    def check_end(self, net: ResidualArrays) -> None:
        """Every vertex has what it received and did not send on, without marks."""
        begin = self.begin
        self.check_state(net)
        self.check_pairs(net)
        expected = begin.excess - begin.sink_residual + net.sink_residual
        np.add.at(expected, self.tail, net.residual.astype(np.int64) - begin.residual)
        assert net.excess.tolist() == expected.tolist(), "excess is not conserved"

    def check_labels(self, net: ResidualArrays, height: NDArray[Any]) -> None:
        """No residual arc of a live vertex leads down by more than a level."""
        below = np.full(len(height), len(height))
        np.minimum.at(below, self.tail[net.residual > 0], height[net.head[net.residual > 0]])
        below[net.sink_residual > 0] = 0
        assert (height <= below + 1).all(), f"labels are not valid: {height.tolist()}"


# Mistakes


def edit(function: Callable[..., Any], old: str, new: str) -> Callable[[], AbstractContextManager[None]]:
    return lambda: replaced(function, edited(function, old, new))


def exchange_for(function: Callable[..., Any], new: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: replaced(function, new)


def add_in_two_steps(array: Any, index: Any, amount: Any) -> Any:
    old = relaxed_load(array, index)
    relaxed_store(array, index, old + array.dtype.type(amount))
    return old


def add_plainly(alone: bool, array: Any, index: Any, amount: Any) -> Any:
    old = array[index]
    array[index] = old + amount
    return old


def look_then_set(array: Any, index: Any, expected: Any, value: Any) -> bool:
    if relaxed_load(array, index) != expected:
        return False
    relaxed_store(array, index, value)
    return True


# The process


class Runner:
    """A process in which kernels are plain Python; it runs one test file as a program."""

    def __init__(self, program: str) -> None:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        self.process = subprocess.Popen(
            [sys.executable, program],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, case: str, mutant: str = "") -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([case, mutant]), file=self.process.stdin, flush=True)
        outcome: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in outcome, outcome["error"]
        return outcome


def exploration_tests(cases: Cases, mutants: Mutants) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return a test of every case, and one that each mutant is found."""

    @pytest.mark.parametrize("case", cases)
    def test_every_state(runner: Runner, case: str) -> None:
        outcome = runner.ask(case)
        assert outcome["violation"] is None, outcome["violation"]
        assert outcome["states"] > 100
        assert outcome["ends"] >= 1

    @pytest.mark.parametrize("mutant", mutants)
    def test_mutant_is_found(runner: Runner, mutant: str) -> None:
        case, _, expected = mutants[mutant]
        violation = runner.ask(case, mutant)["violation"]
        assert violation is not None, "the explorer does not see this mistake"
        assert expected in violation

    return test_every_state, test_mutant_is_found


def serve(cases: Cases, mutants: Mutants) -> None:
    """Answer what a runner asks, a line each."""
    for line in sys.stdin:
        print(json.dumps(_answer(cases, mutants, *json.loads(line))), flush=True)


def _answer(cases: Cases, mutants: Mutants, case: str, mutant: str) -> dict[str, Any]:
    try:
        with mutants[mutant][1]() if mutant else nullcontext():
            outcome = cases[case]()
    except Violation as violation:
        return {"violation": str(violation)}
    except Exception:
        return {"error": traceback.format_exc()}
    return {"states": outcome.states, "ends": outcome.ends, "violation": None}
