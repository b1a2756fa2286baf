"""Threads that are reused: a pool of daemon threads that serve one queue of tasks.

The pool has at least as many threads as tasks that have not ended, so all of these run at the same time. A
thread that has ended its task serves the next one: nobody takes threads or gives them back, so an exception
such as Ctrl-C in the thread that begins tasks loses none. A forked child starts with an empty pool.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from operator import length_hint
from queue import SimpleQueue

#: What a thread runs, which does not fail, and what it calls when that has ended.
Task = tuple[Callable[[], None], Callable[[], None]]


class _Pool:
    """Threads and the tasks that they serve."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._numbers = itertools.count(1)

    def begin(self, tasks: Iterator[Task]) -> None:
        with self._lock:
            count = length_hint(tasks)
            # They never end. Not `is_alive`, which an interrupted call answers wrongly from then on.
            running = sum(thread.ident is not None for thread in self._threads)
            for _ in range(running, self._unfinished + count):
                self._add_thread()
            put_all = map(self._tasks.put, tasks)
            self._unfinished += count
            deque(put_all, 0)  # one call of a C function: Ctrl-C comes out before both lines or after them

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"preflow-{next(self._numbers)}", daemon=True)
        self._threads.append(thread)  # first: Ctrl-C may come out of `start` when the thread runs
        try:
            thread.start()
        except RuntimeError:
            self._threads.remove(thread)
            raise

    def _serve(self) -> None:
        """Run tasks as long as the process lives."""
        while True:
            task, finished = self._tasks.get()
            task()
            del task  # and with it what the task refers to, before its caller goes on
            with self._lock:
                self._unfinished -= 1
            finished()
            del finished


_pool = _Pool()


def begin_tasks(tasks: Iterator[Task]) -> None:
    """Run tasks at the same time, each in a thread of the pool.

    The iterator `tasks` is exhausted when all tasks begin, also where Ctrl-C comes out. Otherwise none of
    them does.
    """
    _pool.begin(tasks)


def _forget_threads() -> None:
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
