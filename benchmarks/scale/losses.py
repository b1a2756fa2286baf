"""Measure what the loss of regions costs, and what it costs to be prepared.

    python -m benchmarks.scale.losses FILE.json

Half of the regions are lost after a sweep. Measured are CPU seconds in one process, one region after the
other: to read these regions again, to find a flow inside that goes with what they have sent ("send again"),
to search the border, and then to solve. "prepare" are the seconds to copy to bytes what Ray stores after each
sweep, the borders, and "prepare whole" those to copy the whole states of all regions.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from statistics import median

from preflow.distributed.exchange import Order, RegionTask, Report, Worker, stored
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.memory import MemoryExchange
from preflow.distributed.partition import divide
from preflow.distributed.sweeps import Progress, continue_sweeps, relabel
from preflow.generators import vessel_tree
from preflow.solving.run import Control

from ..records import write_rows
from .hosts import noisy_ball

REGIONS = 8
REPEATS = 3
#: Sweeps after which regions are lost.
SWEEPS = 1, 3, 6, 12


class StoppedError(Exception):
    """Ends a solve after a sweep."""


class Watched(MemoryExchange):
    """Regions in memory, with the CPU seconds of each sweep."""

    def __init__(self) -> None:
        super().__init__(1)
        self.seconds: list[float] = []

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep."""
        begin = time.process_time()
        reports = super().sweep(order)
        self.seconds.append(time.process_time() - begin)
        return reports


def volumes() -> Iterator[tuple[str, GridSource]]:
    """Yield names and volumes."""
    for side, contrast, neighbor, name in (
        (128, 15, 20, "ball of 128"),
        (200, 15, 20, "ball of 200"),
        (200, 5, 28, "ball of 200, little contrast"),
    ):
        ball = noisy_ball(side, 40, contrast, neighbor, name)
        yield name, GridSource.of(ball.source, ball.sink, ball.neighbor, None)
    yield "vessels of 128", GridSource.of(vessel_tree(128), None, None, None)


def solved_until(tasks: Sequence[RegionTask], last: int | None) -> Watched:
    """Solve until the end of a sweep, or to the end."""
    exchange = Watched()

    def stop(progress: Progress) -> None:
        if progress.sweeps == last:
            raise StoppedError

    with suppress(StoppedError):
        continue_sweeps(exchange, exchange.scatter(tasks, Control()), Control(), stop)
    return exchange


def prepared(exchange: Watched) -> dict[str, float]:
    """Return the seconds and the bytes of copies of the borders, and of all states."""
    row: dict[str, float] = {}
    for name in ("prepare", "prepare whole"):
        begin, size = time.process_time(), 0
        for worker in exchange.workers:
            kept = {"residual": worker.residual}
            if name == "prepare whole":
                kept = worker.state() | stored(worker.region.state())
            size += len(pickle.dumps(kept, protocol=5))
        row |= {name: time.process_time() - begin, f"{name} bytes": size}
    return row


def lost_after(tasks: Sequence[RegionTask], sweep: int) -> dict[str, float]:
    """Lose half of the regions after a sweep; return the seconds to come to the end."""
    exchange = solved_until(tasks, sweep)
    row = prepared(exchange)
    marks = [time.process_time()]
    new = [Worker(number, tasks[number].build()) for number in range(len(tasks) // 2)]
    marks.append(time.process_time())
    for worker in new:
        worker.send_again(exchange.workers[worker.number].residual, Control())
        exchange.workers[worker.number] = worker
    marks.append(time.process_time())
    workers = exchange.workers
    sent = [{other: worker.idle_message(other) for other in worker.border.neighbours} for worker in workers]
    reports = [
        worker.receive({other: sent[other][worker.number] for other in worker.border.neighbours})
        for worker in workers
    ]
    raised = relabel(reports, may_fall=True)
    for worker in workers:
        worker.raise_labels(raised)
    reports = [worker.report() for worker in workers]
    marks.append(time.process_time())
    exchange.seconds.clear()
    continue_sweeps(exchange, reports, Control())
    names = ("read", "send again", "search the border")
    parts = {name: end - begin for name, begin, end in zip(names, marks, marks[1:], strict=False)}
    return row | parts | {"then": sum(exchange.seconds), "sweeps": len(exchange.seconds)}


def main() -> None:
    """Measure."""
    rows: list[dict[str, object]] = []
    for name, source in volumes():
        tasks = grid_tasks(source, divide(source.shape, REGIONS))
        solved_until(tasks, None)
        whole = [solved_until(tasks, None).seconds for _ in range(REPEATS)]
        each = [median(times) for times in zip(*whole, strict=True)]
        rows.append({"volume": name, "regions": REGIONS, "seconds of sweeps": each})
        print(name, len(each), sum(each), flush=True)
        for sweep in SWEEPS:
            if sweep < len(each):
                found = [lost_after(tasks, sweep) for _ in range(REPEATS)]
                row = {key: median(one[key] for one in found) for key in found[0]}
                rows.append({"volume": name, "lost after": sweep, **row, "without loss": sum(each[sweep:])})
                print(rows[-1], flush=True)
        write_rows(sys.argv[1], rows)


if __name__ == "__main__":
    main()
