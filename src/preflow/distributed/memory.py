"""Regions in the memory of one process, discharged by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..solving.run import Control
from .exchange import Answer, Order, RegionTask, Report, Worker

Item = TypeVar("Item")


class MemoryExchange:
    """All regions in memory; up to `threads` of them discharge at the same time.

    If there are fewer regions, each has several threads.
    """

    def __init__(self, threads: int) -> None:
        self.sweeps = 0
        self.workers: list[Worker] = []
        self._threads, self._control = threads, Control()
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(threads, "preflow-region")

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Build all regions."""
        self._control = Control(max(1, self._threads // max(1, len(tasks))), control.stop)
        self.workers = list(self._map(lambda task: Worker(task.number, task.build()), tasks))
        return [worker.report() for worker in self.workers]

    def sweep(self, order: Order) -> list[Report]:
        """Discharge all regions, then fuse their flows."""
        messages = list(self._map(lambda worker: worker.discharge(order, self._control), self.workers))

        def receive(worker: Worker) -> Report:
            number = worker.number
            return worker.receive({other: messages[other][number] for other in worker.border.neighbours})

        reports = list(self._map(receive, self.workers))
        self.sweeps += 1
        return reports

    def collect(self, ask: Callable[[Worker], Answer]) -> Iterator[Answer]:
        """Yield an answer of each worker."""
        return self._map(ask, self.workers)

    def close(self) -> None:
        """Wait for the threads, which end soon once the stop flag is raised; a proof later needs none."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
        """Call a function for each item, on the threads while there are any."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)
