"""What tests share that explore a kernel's cases, and mutants of it, in a process of plain Python.

Such a test file is also a program: it ends in ``serve(CASES, MUTANTS)`` and answers which case, or case on a
mutant, it is asked for. As a module it has the two tests of :func:`exploration_tests`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow.kernels.atomics import relaxed_load, relaxed_store
from preflow.parallel.barrier import PATIENCE, make_barrier
from preflow.solving.monitor import Monitor
from preflow.solving.run import COUNTER_ROW
from tests.support.paths import ROOT
from tests.support.scheduler import Outcome, Violation, edited, mutated, replaced
from tests.support.tiers import count_elsewhere

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


def uncounted_monitor(stop: NDArray[np.int64] | None = None) -> Monitor:
    """Return a monitor whose counters stay zero; without `stop` its flag stays down."""
    down = np.zeros(1, np.int64)
    down.flags.writeable = False
    progress = uncounted(2, dtype=np.float64)
    return Monitor(down if stop is None else stop, uncounted(COUNTER_ROW), progress)


def impatient_barrier(num_threads: int, patience: int = 0) -> NDArray[np.int64]:
    """Return a barrier whose threads spin a few times before they sleep; each spin is another state."""
    made = make_barrier(num_threads)
    made[PATIENCE] = patience
    return made


# Mistakes


def edit(function: Callable[..., Any], old: str, new: str) -> Callable[[], AbstractContextManager[None]]:
    return lambda: replaced(function, edited(function, old, new))


def mutate(function: Callable[..., Any], mark: str, new: str) -> Callable[[], AbstractContextManager[None]]:
    return lambda: replaced(function, mutated(function, mark, new))


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
    """A process in which kernels are plain Python; it runs one test module as a program."""

    def __init__(self, module: str) -> None:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        self.counted = 0.0
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
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
        count_elsewhere(outcome["seconds"])
        self.counted += outcome["seconds"]
        return outcome

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *raised: object) -> None:
        """End the process. From now on its seconds are among those of this process's children."""
        self.process.__exit__(None, None, None)
        count_elsewhere(-self.counted)


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
        assert expected in violation, violation

    return test_every_state, test_mutant_is_found


def serve(cases: Cases, mutants: Mutants) -> None:
    """Answer what a runner asks, a line each."""
    for line in sys.stdin:
        before = time.process_time()
        answer = _answer(cases, mutants, *json.loads(line))
        print(json.dumps(answer | {"seconds": time.process_time() - before}), flush=True)


def _answer(cases: Cases, mutants: Mutants, case: str, mutant: str) -> dict[str, Any]:
    try:
        with mutants[mutant][1]() if mutant else nullcontext():
            outcome = cases[case]()
    except Violation as violation:
        return {"violation": str(violation)}
    except Exception:
        return {"error": traceback.format_exc()}
    return {"states": outcome.states, "ends": outcome.ends, "violation": None}
