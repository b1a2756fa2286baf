"""The protocol of hosts, which own the workers of a batch, and the simplest host: threads of this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from ...errors import WorkerDiedError
from .task import Done, Task


class NeverReadyError(WorkerDiedError):
    """Workers end before they get an item, so no item is at fault."""


class Host(Protocol):
    """Workers that solve chunks.

    Attributes
    ----------
    slots : int
        How many chunks it solves at a time.
    items_die_alone : bool
        Whether a worker that dies fails no chunk but the one that it was solving.
    """

    slots: int
    items_die_alone: bool

    def submit(self, items: Sequence[object]) -> Future[Done]:
        """Return the future outcomes of a chunk.

        The future raises WorkerDiedError where a worker ended before it answered, and another error where
        items or results cannot be sent.
        """
        ...

    def close(self) -> None:
        """End all workers that the host started, and all chunks that are not done; called once."""
        ...


class ThreadHost:
    """Threads of this process."""

    items_die_alone = True

    def __init__(self, task: Task, slots: int) -> None:
        self.slots = slots
        self._task = task
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="preflow-map")

    def submit(self, items: Sequence[object]) -> Future[Done]:
        """Queue a chunk."""
        return self._pool.submit(self._run, items)

    def _run(self, items: Sequence[object]) -> Done:
        return self._task(itertools.takewhile(lambda item: not self._closed.is_set(), items))

    def close(self) -> None:
        """Start no further item, and wait for those that are being solved: a thread cannot be ended."""
        self._closed.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
