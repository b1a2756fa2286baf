"""Cases and mutants for the explorer, in a process in which kernels are plain Python.

A file of such tests names its cases and mutants and asks a :class:`Runner` for them; run as a program it
answers by :func:`answer_all`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from preflow.kernels.atomics import relaxed_load, relaxed_store
from scheduler import Outcome, Violation, edited, replaced

Cases = Mapping[str, Callable[[], Outcome]]
#: Name: the case that finds it, the mistake, and what is found.
Mutants = Mapping[str, tuple[str, Callable[[], AbstractContextManager[None]], str]]


def hold_constant(arrays: Any) -> Any:
    """Make the arrays of a tuple read-only."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


def add_in_two_steps(array: Any, index: Any, amount: Any) -> Any:
    old = relaxed_load(array, index)
    relaxed_store(array, index, old + array.dtype.type(amount))
    return old


def look_then_set(array: Any, index: Any, expected: Any, value: Any) -> bool:
    if relaxed_load(array, index) != expected:
        return False
    relaxed_store(array, index, value)
    return True


def edit(function: Callable[..., Any], old: str, new: str) -> Callable[[], AbstractContextManager[None]]:
    return lambda: replaced(function, edited(function, old, new))


def exchange_for(function: Callable[..., Any], new: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: replaced(function, new)


class Runner:
    """The process in which kernels are plain Python."""

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


def _answer(cases: Cases, mutants: Mutants, case: str, mutant: str) -> dict[str, Any]:
    with ExitStack() as stack:
        if mutant:
            stack.enter_context(mutants[mutant][1]())
        try:
            outcome = cases[case]()
        except Violation as violation:
            return {"violation": str(violation)}
        except Exception:
            return {"error": traceback.format_exc()}
    return {"states": outcome.states, "ends": outcome.ends, "violation": None}


def answer_all(cases: Cases, mutants: Mutants) -> None:
    """Answer what a Runner asks: a case, or a case on a mutant, a line."""
    for line in sys.stdin:
        print(json.dumps(_answer(cases, mutants, *json.loads(line))), flush=True)
