"""Threads that are reused: a pool of daemon threads that grows as needed.

Each thread runs one task at a time. A forked child starts with an empty pool.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class Worker(threading.Thread):
    """A thread of the pool: runs one task after the other."""

    def __init__(self, number: int) -> None:
        super().__init__(name=f"preflow-{number}", daemon=True)
        self.tasks: SimpleQueue[tuple[Callable[[], None], Callable[[], None]]] = SimpleQueue()
        self.start()

    def begin(self, task: Callable[[], None], finished: Callable[[], None]) -> None:
        """Run a task, which does not fail, and then call `finished`."""
        self.tasks.put((task, finished))

    def run(self) -> None:
        """Wait for tasks and run them, as long as the process lives."""
        while True:
            task, finished = self.tasks.get()
            task()
            del task  # and with it what the task refers to, before its caller goes on
            finished()
            del finished


class _Pool:
    """The threads that wait for work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._numbers = itertools.count(1)

    def take(self, count: int) -> list[Worker]:
        with self._lock:
            while len(self._idle) < count:  # where no thread can be started, those there stay in the pool
                self._idle.append(Worker(next(self._numbers)))
            taken = self._idle[:count]
            del self._idle[:count]
            return taken

    def put_back(self, workers: list[Worker]) -> None:
        with self._lock:
            self._idle.extend(workers)


_pool = _Pool()


def take_workers(count: int) -> list[Worker]:
    """Return so many threads of the pool, which nobody else has until they are put back."""
    return _pool.take(count)


def put_back_workers(workers: list[Worker]) -> None:
    """Give threads back that have done, or are about to do, no more than say that they have finished."""
    _pool.put_back(workers)


def _forget_threads() -> None:
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
