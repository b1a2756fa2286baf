"""Ctrl-C and errors in the middle of a solve leave nothing running and the process usable."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

import preflow
from conftest import heed_ctrl_c
from preflow.generators import FAMILIES
from preflow.kernels.kernel import kernel
from preflow.progress import ProgressReport
from preflow.solving import run
from preflow.solving.run import Control, run_interruptibly
from preflow.solving.threads import Task
from preflow.solving.timing import compile_seconds, counted_as_compiling

SCRIPT = """
import json, sys, threading, time
import preflow
from preflow.generators import FAMILIES
small = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
ARGUMENTS = json.loads(sys.argv[1])
preflow.max_flow(FAMILIES["rlg-long"].generate("8x16", seed=1), **ARGUMENTS)
problem = FAMILIES["rlg-long"].generate("64x4096", seed=1)
print("solving", flush=True)
try:
    preflow.max_flow(problem, **ARGUMENTS)
except KeyboardInterrupt:
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("preflow-solver")]
    print("interrupted", len(names), preflow.max_flow(small, 0, 3, **ARGUMENTS).value, flush=True)
"""


#: A global relabel after every relabel makes every method slow.
SLOW = {"relabel_period": 1e-9}


#: So does a search after every few steps.
SLOW_ON_GPU = {"search_percent": 0, "work_percent": 1, "step_limit": 1, "step_percent": 0}


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "serial-generic"},
        {"method": "multicore-fifo", "threads": 3, "options": SLOW},
        {"method": "multicore-lockfree-arg", "threads": 3, "options": SLOW},
        {"method": "multicore-anderson-setubal", "threads": 3, "options": SLOW},
        {"method": "multicore-paths", "threads": 3, "options": {**SLOW, "narrow": 0}},
        pytest.param({"method": "cuda-pushrelabel", "options": SLOW_ON_GPU}, marks=pytest.mark.gpu),
    ],
    ids=lambda arguments: arguments["method"],
)
def test_ctrl_c_returns_within_a_second_and_leaves_the_process_usable(
    arguments: dict[str, object], request: pytest.FixtureRequest
) -> None:
    if "cuda" in str(arguments["method"]):
        request.getfixturevalue("gpu")
    command = [sys.executable, "-c", SCRIPT, json.dumps(arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "solving"
    time.sleep(1.0)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().split() == ["interrupted", "0", "4"]
    assert time.monotonic() - start < 5, "the solve went on after Ctrl-C"
    assert process.wait(timeout=30) == 0


def test_error_in_progress_function_stops_the_solve() -> None:
    def fail(report: ProgressReport) -> None:
        raise ZeroDivisionError

    problem = FAMILIES["rlg-long"].generate("64x1024", seed=1)
    with pytest.raises(ZeroDivisionError):
        preflow.max_flow(problem, method="serial-generic", progress=fail)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("preflow-solver")]


def test_progress_is_reported() -> None:
    reports: list[ProgressReport] = []
    problem = FAMILIES["rmf-wide"].generate("60x30", seed=1)
    preflow.min_cut(problem, method="serial-fifo", progress=reports.append)
    assert reports, "a solve of this size is reported on"
    assert all(0 <= report.settled <= 1 for report in reports)
    assert reports[-1].elapsed > 0
    preflow.min_cut(problem, progress=True)


def test_error_in_the_worker_comes_out() -> None:
    def work() -> None:
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        run_interruptibly(work, Control())


def test_ctrl_c_before_the_worker_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(tasks: Iterator[Task]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "begin_tasks", interrupt)
    done: list[int] = []
    control = Control()
    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(lambda: done.append(1), control)
    assert control.stopped
    assert not done


def test_ctrl_c_as_the_worker_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Task] = []

    def begin_later(tasks: Iterator[Task]) -> None:
        held.extend(tasks)
        threading.Timer(0.1, lambda: [step() for step in held[0]]).start()
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "begin_tasks", begin_later)
    done: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(lambda: done.append(1), Control())
    assert held
    assert not done


def test_interrupted_pieces_leave_no_thread_behind() -> None:
    """Interrupt the look at a grid's capacities at many moments."""
    capacity = np.ones((1100, 1100))
    interrupts = random.Random(1)

    def look(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            preflow.GridNetwork.from_arrays(capacity, capacity, 1.0, threads=4)

    def threads_of_preflow() -> int:
        return sum(thread.name.startswith("preflow") for thread in threading.enumerate())

    preflow.GridNetwork.from_arrays(capacity, capacity, 1.0, threads=4)
    before = threads_of_preflow()
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(65):
            with pytest.raises(KeyboardInterrupt):
                look(interrupts.uniform(1e-4, 3e-3))
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert threads_of_preflow() == before


def test_solves_in_many_user_threads() -> None:
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    expected = preflow.max_flow(problem).value
    values: list[float] = []
    threads = [
        threading.Thread(target=lambda: values.append(preflow.max_flow(problem).value)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [expected] * 8


def test_stop_flag_raised_before_the_start() -> None:
    """Every solver returns exact heights even when it is stopped at once."""
    from preflow.graph.residual import build_residual

    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    for method in (method for method in preflow.methods("max_flow") if method.device == "cpu"):
        residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
        control = Control()
        control.stop[0] = 1
        height = method.solve(residual.arrays, method.make_options(None), control)
        assert height.min() == 1
        assert (residual.arrays.excess >= 0).all()


def test_compiling_is_not_counted_in_the_time_limit() -> None:
    def compile_then_solve(seconds: float) -> bool:
        with counted_as_compiling():
            time.sleep(0.3)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not control.stopped:
            time.sleep(0.01)
        return control.stopped

    control = Control()
    assert not run_interruptibly(lambda: compile_then_solve(0.0), control, time_limit=0.15)
    assert run_interruptibly(lambda: compile_then_solve(30.0), control, time_limit=0.15)


def test_a_failed_compilation_is_counted_no_further() -> None:
    @kernel
    def wrong(values: Any) -> Any:
        return values.no_such_attribute

    with pytest.raises(TypingError):
        wrong(np.zeros(1))
    before = compile_seconds()
    time.sleep(0.01)
    assert compile_seconds() == before
