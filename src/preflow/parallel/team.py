"""A team of threads that run one function together, such as a kernel that releases the GIL.

The calling thread is number 0. The others come from a pool of daemon threads that grows as needed and is
reused; each runs one member's share at a time, so all members of a team run at the same time and may wait
for each other. A forked child starts with an empty pool.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.kernel import kernel
from ..solving.run import Control
from .barrier import break_barrier

Share = Callable[[int], None]
Result = TypeVar("Result")
ONE = np.uint64(1)


class _Worker(threading.Thread):
    """A thread of the pool: runs one task after the other."""

    def __init__(self, number: int) -> None:
        super().__init__(name=f"preflow-{number}", daemon=True)
        self.tasks: SimpleQueue[tuple[Callable[[], None], threading.Semaphore]] = SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            task, finished = self.tasks.get()
            task()
            del task  # and with it what the share refers to, before the team's caller goes on
            finished.release()


class _Pool:
    """The threads that wait for work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._numbers = itertools.count(1)

    def take(self, count: int) -> list[_Worker]:
        with self._lock:
            while len(self._idle) < count:  # where no thread can be started, those there stay in the pool
                self._idle.append(_Worker(next(self._numbers)))
            taken = self._idle[:count]
            del self._idle[:count]
            return taken

    def put_back(self, workers: list[_Worker]) -> None:
        with self._lock:
            self._idle.extend(workers)


_pool = _Pool()


def _forget_threads() -> None:
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def run_team(share: Share, num_threads: int, on_failure: Callable[[], None]) -> None:
    """Run ``share(0) .. share(num_threads - 1)`` at the same time and return when all are done.

    Parameters
    ----------
    share : function of the thread's number
    num_threads : int
        At least 1; ``share(0)`` runs in the calling thread.
    on_failure : function
        Called, once or more, when a share raises: it makes the others return, as by a stop flag and
        :func:`preflow.parallel.barrier.break_barrier`.

    Raises
    ------
    BaseException
        What the first share that failed raised, after all have ended.
    """
    failures: list[BaseException] = []
    finished = threading.Semaphore(0)

    def run(number: int) -> None:
        try:
            share(number)
        except BaseException as error:
            failures.append(error)
            on_failure()

    workers = _pool.take(num_threads - 1)
    for number, worker in enumerate(workers, start=1):
        worker.tasks.put((partial(run, number), finished))
    run(0)
    for _ in workers:
        finished.acquire()
    _pool.put_back(workers)
    if failures:
        raise failures[0]


def run_together(
    share: Callable[[int], Result], num_threads: int, on_failure: Callable[[], None]
) -> list[Result]:
    """Run shares as :func:`run_team` does and return what they return."""
    results: dict[int, Result] = {}

    def keep(thread: int) -> None:
        results[thread] = share(thread)

    run_team(keep, num_threads, on_failure)
    return [results[thread] for thread in range(num_threads)]


def run_solver(share: Share, control: Control, barrier: NDArray[np.int64]) -> None:
    """Run a solver's shares on ``control.threads`` threads that meet at `barrier`.

    Where one fails, the stop flag is raised and the barrier broken, so that the others return.
    """

    def give_up() -> None:
        control.stop[0] = 1
        break_barrier(barrier)

    run_team(share, control.threads, give_up)


@kernel
def share_of(size: Any, thread: Any, num_threads: Any) -> tuple[Any, Any]:
    """Return the begin and end of a thread's contiguous share of ``0 .. size - 1``."""
    return size * thread // num_threads, size * (thread + ONE) // num_threads
