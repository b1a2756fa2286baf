"""Throughput of `preflow.distributed.map` with its own processes and with those of loky (joblib).

    pip install joblib
    python -m benchmarks.scripts.batch_engines --workers 16 --seconds 6 --repeat 3

Items are arrays of 8, 80 and 800 kB. A worker adds one up for about as long as a solver takes on such an item
(`--work` seconds for each MB). Both engines get the same chunks from `map`. The engines
take turns; what is printed are medians of items a second, and of the ratio of loky to preflow's own.

With --kill each engine solves 200 items, one of which ends its worker: how many items fail.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np

import preflow
from preflow.distributed.batches import api
from preflow.distributed.batches.processes import ProcessHost
from preflow.distributed.batches.task import Done, Task
from preflow.errors import ItemError, WorkerDiedError

from .batches import rate

SIZES = (8_000, 80_000, 800_000)


class LokyHost:
    """Processes of loky: a worker that dies ends its whole pool, and a new pool takes its place."""

    items_die_alone = False

    def __init__(self, task: Task, slots: int) -> None:
        self.slots = slots
        self._task = task
        self._start()

    def _start(self) -> None:
        self._pool = import_module("joblib.externals.loky").ProcessPoolExecutor(self.slots)

    def submit(self, items: Sequence[object]) -> Future[Done]:
        """Send a chunk to a worker."""
        broken = import_module("joblib.externals.loky.process_executor").BrokenProcessPool
        try:
            inner = self._pool.submit(self._task, items)
        except broken:
            self._start()
            inner = self._pool.submit(self._task, items)
        future: Future[Done] = Future()

        def told(done: Future[Done]) -> None:
            error = done.exception()
            if isinstance(error, broken):
                error = WorkerDiedError(str(error))
            if error is None:
                future.set_result(done.result())
            else:
                future.set_exception(error)

        inner.add_done_callback(told)
        return future

    def close(self) -> None:
        """End the workers."""
        self._pool.shutdown(wait=False, kill_workers=True)


HOSTS: dict[str, Any] = {"own": ProcessHost, "loky": LokyHost}


def work(item: tuple[np.ndarray, float]) -> float:
    """Read an array once, and work for a while."""
    array, seconds = item
    total = float(array.sum())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return total


def fragile(item: int) -> int:
    """Return the item; number 57 ends its process."""
    if item == 57:
        os._exit(1)
    time.sleep(0.002)
    return item


def mapped(engine: str, function: Any, items: Any, workers: int, **options: Any) -> Iterator[Any]:
    """Return the results of a map whose workers are those of an engine."""

    def opener(host: str, task: Task, *_: object) -> Any:
        return lambda: HOSTS[engine](task, workers)

    api._opener = opener  # type: ignore[assignment]
    return preflow.distributed.map(function, items, host="processes", workers=workers, **options)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--work", type=float, nargs="+", default=[0.05])
    parser.add_argument("--kill", action="store_true")
    chosen = parser.parse_args()
    if chosen.kill:
        for engine in HOSTS:
            outcomes = list(mapped(engine, fragile, range(200), chosen.workers, errors="return"))
            lost = [number for number, result in enumerate(outcomes) if isinstance(result, ItemError)]
            print(f"{engine}: {len(outcomes)} results, lost {lost}")
        return
    for size, per_megabyte in itertools.product(SIZES, chosen.work):
        arrays = [np.random.default_rng(i).random(size // 8) for i in range(64)]
        seconds = per_megabyte * size / 1e6
        rates: dict[str, list[float]] = {engine: [] for engine in HOSTS}
        for _ in range(chosen.repeat):
            for engine in HOSTS:
                # Copies: an array that is twice in a chunk is sent once.
                items = ((array.copy(), seconds) for array in itertools.cycle(arrays))
                results = mapped(engine, work, items, chosen.workers)
                rates[engine].append(rate(results, chosen.seconds))
                results.close()  # type: ignore[attr-defined]
        ratio = median(loky / own for loky, own in zip(rates["loky"], rates["own"], strict=True))
        texts = ", ".join(f"{engine} {median(each):,.0f}" for engine, each in rates.items())
        print(
            f"{size // 1000} kB, {per_megabyte} s a MB: items a second {texts}; ratio {ratio:.2f}", flush=True
        )


if __name__ == "__main__":
    main()
