"""Ctrl-C and errors in the middle of a solve leave nothing running and the process usable."""

from __future__ import annotations

import dataclasses
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

import preflow
from preflow.generators import FAMILIES
from preflow.kernels.kernel import kernel
from preflow.progress import ProgressReport
from preflow.solving import run
from preflow.solving.method import Method
from preflow.solving.run import Abandoned, Control, run_interruptibly
from preflow.solving.threads import Task
from preflow.solving.timing import begin_compiling, compile_seconds, counted_as_compiling, end_compiling
from tests.support.problems import SAMPLES

SCRIPT = """
import json, signal, sys, threading, time
import preflow
from preflow.generators import FAMILIES
small = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
ARGUMENTS = json.loads(sys.argv[1])
problem = FAMILIES["rlg-long"].generate("64x4096", seed=1)
preflow.max_flow(problem, time_limit=0.3, **ARGUMENTS)  # compiles, which nothing interrupts
pressed = []
def interrupt(*_):
    pressed.append(time.process_time())
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
print("solving", flush=True)
try:
    preflow.max_flow(problem, **ARGUMENTS)
except KeyboardInterrupt:
    seconds = time.process_time() - pressed[0]
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("preflow-solver")]
    print("interrupted", len(names), preflow.max_flow(small, 0, 3, **ARGUMENTS).value, seconds, flush=True)
"""


#: A global relabel after every relabel makes every method slow.
SLOW = {"relabel_period": 1e-9}


#: So does a search after every few steps.
SLOW_ON_GPU = {"search_share": 0, "work_factor": 0.01, "step_limit": 1, "step_factor": 0}


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "serial-generic"},
        {"method": "multicore-fifo", "threads": 3, "options": SLOW},
        {"method": "multicore-lockfree-arg", "threads": 3, "options": SLOW},
        {"method": "multicore-anderson-setubal", "threads": 3, "options": SLOW},
        {"method": "multicore-paths", "threads": 3, "options": {**SLOW, "budget": None}},
        {"method": "multicore-merging", "threads": 3, "options": {"blocks": 20, "budget": None}},
        pytest.param({"method": "cuda-push-relabel", "options": SLOW_ON_GPU}, marks=pytest.mark.gpu),
    ],
    ids=lambda arguments: arguments["method"],
)
def test_ctrl_c_returns_soon_and_leaves_the_process_usable(
    arguments: dict[str, object], request: pytest.FixtureRequest
) -> None:
    if "cuda" in str(arguments["method"]):
        request.getfixturevalue("gpu")
    command = [sys.executable, "-c", SCRIPT, json.dumps(arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "solving"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    *found, seconds = process.stdout.readline().split()
    assert found == ["interrupted", "0", "4"]
    assert float(seconds) < 5, "the solve went on after Ctrl-C: CPU seconds of all threads"
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
        # The alarm rings again: Python ignores an exception in a callback of the garbage collector, such as
        # that of hypothesis.
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
        try:
            while True:
                preflow.GridNetwork.from_arrays(capacity, capacity, 1.0, threads=4)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

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


#: Counters of work.
WORK = ("pushes", "relabels", "arc_scans", "phases", "augmentations", "pivots")

CPU_METHODS = [
    pytest.param(problem, method, name, id=f"{name}-{method.name}")
    for problem, sample in SAMPLES.items()
    for method in preflow.methods(problem)
    if method.device == "cpu"
    for name in sample.rounds(method)
]


@pytest.mark.parametrize(("problem", "method", "name"), CPU_METHODS)
def test_every_method_looks_at_the_stop_flag(
    problem: str, method: Method, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the flag raised from the start a method does next to nothing, and its bounds hold."""
    arguments, more = SAMPLES[problem].rounds(method)[name]
    solve = partial(getattr(preflow, problem), *arguments, method=method.name, **more)
    make = Control.__post_init__

    def make_stopped(control: Control) -> None:
        make(control)
        control.stop[0] = 1

    whole = solve()
    monkeypatch.setattr(Control, "__post_init__", make_stopped)
    stopped = solve()
    assert stopped.status == "time-limit"
    if whole.status == "approximate":
        whole.verify()
        assert stopped.lower_bound <= whole.upper_bound
        assert whole.lower_bound <= stopped.upper_bound
    else:
        assert whole.status == "optimal"
        assert stopped.lower_bound <= whole.value <= stopped.upper_bound
    stopped.verify()
    done = [sum(getattr(r.stats, name) for name in WORK if hasattr(r.stats, name)) for r in (stopped, whole)]
    assert done[0] <= done[1] / 4


@pytest.mark.parametrize("problem", SAMPLES)
def test_ctrl_c_leaves_out_the_answer(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proving bounds and recovering a flow would take time that nobody waits for."""
    arguments, more = next(iter(SAMPLES[problem].rounds(preflow.methods(problem)[0]).values()))
    ended: list[str] = []

    def run_interrupted(work: Callable[[], Any], control: Control, *_: Any) -> None:
        control.interrupted.append(True)
        control.stop[0] = 1
        with pytest.raises(Abandoned):
            work()
        ended.append(problem)
        raise KeyboardInterrupt

    monkeypatch.setattr("preflow.solving.call.run_interruptibly", run_interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(preflow, problem)(*arguments, time_limit=60.0, threads=1, **more)
    assert ended == [problem]


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


def test_progress_says_what_is_compiled() -> None:
    def compile_then_solve() -> None:
        begin_compiling("max_flow for int32")
        time.sleep(0.2)
        end_compiling()
        time.sleep(0.2)

    reports: list[ProgressReport] = []
    run_interruptibly(compile_then_solve, Control(), progress=reports.append)
    assert {report.compiling for report in reports} == {"max_flow for int32", ""}


def test_repr_does_not_count_compiling() -> None:
    network = [0, 1], [1, 2], [5, 3]
    for result in (
        preflow.max_flow(network, 0, 2),
        preflow.min_cut(network, 0, 2),
        preflow.grid_cut(np.eye(3), np.ones((3, 3)), 1),
        preflow.linear_assignment(np.eye(3)),
        preflow.bipartite_matching(([0, 1], [1, 0])),
    ):
        stats = dataclasses.replace(result.stats, seconds={"build": 0.5, "solve": 0.5, "compile": 30.0})
        assert repr(dataclasses.replace(result, stats=stats)).endswith(", 1 s>")


def test_a_failed_compilation_is_counted_no_further() -> None:
    @kernel
    def wrong(values: Any) -> Any:
        return values.no_such_attribute

    with pytest.raises(TypingError):
        wrong(np.zeros(1))
    before = compile_seconds()
    time.sleep(0.01)
    assert compile_seconds() == before
