"""Child processes and threads that tests start."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from preflow.parallel import thread_pool

from .paths import ROOT

#: Whether kernels are plain Python: see :func:`run_in_plain_python`.
PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"


def run_in_plain_python(*arguments: str) -> None:
    """Run tests without Numba, in a process of its own."""
    if PLAIN:
        pytest.skip("this is it")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def found_in_child(method: str, function: Callable[[Any], None]) -> Any:
    """Return what a function puts into the queue that it gets, in a forked or spawned process."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not known here")
    context: Any = multiprocessing.get_context(method)
    results = context.Queue()
    child = context.Process(target=function, args=(results,))
    child.start()
    try:
        found = results.get(timeout=300)
    finally:
        child.join(10)
        if child.is_alive():
            child.kill()
    assert child.exitcode == 0
    return found


@contextmanager
def hasty_switches() -> Iterator[None]:
    """Let Python switch between threads as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def run_at_once(function: Callable[[int], object], num_threads: int) -> None:
    """Call a function on several threads that often take turns; raise the first error."""
    with hasty_switches(), ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(function, range(num_threads)))


def let_a_thread_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let thread 2 of each team raise ZeroDivisionError."""
    run_on_threads = thread_pool.run_on_threads

    def failing_run(share: thread_pool.Share, num_threads: int, on_failure: Callable[[], None]) -> None:
        def share_or_fail(thread: int) -> None:
            if thread == 2:
                raise ZeroDivisionError
            share(thread)

        run_on_threads(share_or_fail, num_threads, on_failure)

    monkeypatch.setattr(thread_pool, "run_on_threads", failing_run)
