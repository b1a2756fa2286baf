"""Record the sweeps of solves over regions: their number, their CPU seconds, the bytes that regions send.

    python -m benchmarks.scale.record one 128 8 RECORD.json   one solve of 128 x 128 x 128 pixels, 8 regions
    python -m benchmarks.scale.record sweeps FILE.json        many sizes, for docs/scale.md

Regions are discharged one after the other, in one thread, so that the CPU seconds of each are its own.
`simulate.py` reads the record of one solve.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from preflow.arrays import Array
from preflow.distributed.exchange import Message, Order, RegionTask, Report, Worker
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.partition import divide
from preflow.distributed.sweeps import run_sweeps
from preflow.generators import vessel_tree
from preflow.solving.run import Control

from ..records import write_rows
from .simulate import RegionSweep

#: Pixels on the side of a region, and regions along each axis, of the table of sweeps.
SIDES, COUNTS = (32, 48), (1, 2, 3, 4, 6)
MOST_PIXELS = 8_000_000

Capacities = tuple[Array, Array, Array | int]


def ball(side: int, noise: float = 40.0) -> Capacities:
    """Return a noisy ball in a cube: few pixels far from its surface matter."""
    rng = np.random.default_rng(side)
    place = np.indices((side,) * 3) - side / 2
    inside = (place**2).sum(axis=0) < (side / 3) ** 2
    difference = np.rint(rng.normal(0, noise, (side,) * 3) + np.where(inside, 15, -15)).astype(np.int64)
    return np.maximum(difference, 0), np.maximum(-difference, 0), 20


def vessels(side: int) -> Capacities:
    """Return a tree of vessels that crosses all regions: flow has far to go."""
    grid = vessel_tree(side)
    return grid.source_capacity, grid.sink_capacity, grid.neighbor_capacity


def size_of(message: Message) -> int:
    """Return the bytes of a message."""
    return int(message.push.nbytes + message.label.nbytes)


class RecordingExchange:
    """A host that discharges one region after the other and takes its CPU seconds."""

    def __init__(self) -> None:
        self.sweeps = 0
        self.workers: list[Worker] = []
        self.rows: list[list[RegionSweep]] = []

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Build all regions."""
        self.control = control
        self.workers = [Worker(task.number, task.build()) for task in tasks]
        return [worker.report() for worker in self.workers]

    def sweep(self, order: Order) -> list[Report]:
        """Discharge and fuse."""
        discharges, fuses, messages = [], [], []
        for worker in self.workers:
            start = time.process_time()
            worker.raise_labels(order.raised)
            messages.append(worker.augment(order.limit, self.control))
            discharges.append(time.process_time() - start)
        reports = []
        for worker in self.workers:
            came = {other: messages[other][worker.number] for other in worker.border.neighbours}
            start = time.process_time()
            reports.append(worker.receive(came))
            fuses.append(time.process_time() - start)
        row = []
        for worker, discharge, fuse, sent in zip(self.workers, discharges, fuses, messages, strict=True):
            sizes = {to: size_of(each) for to, each in sent.items()}
            row.append(RegionSweep(discharge, fuse, sizes, worker.border.capacity.nbytes))
        self.rows.append(row)
        self.sweeps += 1
        return reports


def recorded(capacities: Capacities, regions: int) -> list[list[RegionSweep]]:
    """Return the sweeps of a solve."""
    source = GridSource.of(*capacities, None)
    exchange = RecordingExchange()
    run_sweeps(exchange, grid_tasks(source, divide(source.shape, regions)), Control())  # type: ignore[arg-type]
    return exchange.rows


def row_of(kind: str, side: int, count: int) -> dict[str, object]:
    """Return the numbers of one solve for the table of sweeps."""
    capacities = ball(side * count) if kind == "ball" else vessels(side * count)
    pixels = capacities[0].size
    trace = recorded(capacities, count**3)
    work = [sum(each.discharge for each in sweep) for sweep in trace]
    sent = [sum(sum(each.sent.values()) for each in sweep) for sweep in trace]
    return {
        "kind": kind,
        "side_of_region": side,
        "regions": count**3,
        "pixels": pixels,
        "sweeps": len(trace),
        "microseconds_a_pixel": 1e6 * sum(work) / pixels,
        "share_of_first_sweep": work[0] / sum(work),
        "busiest_over_mean": sum(max(each.discharge for each in sweep) for sweep in trace)
        / (sum(work) / count**3),
        "bytes_a_sweep_and_region": sent[0] / count**3,
        "stored_bytes_a_pixel": sum(each.stored for each in trace[0]) / pixels,
    }


def main() -> None:
    """Record."""
    if sys.argv[1] == "one":
        side, regions, path = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
        trace = recorded(ball(side), regions)
        sweeps = [[vars(each) for each in sweep] for sweep in trace]
        path.write_text(json.dumps({"side": side, "regions": regions, "sweeps": sweeps}), encoding="utf-8")
        return
    rows = []
    for kind in ("ball", "vessels"):
        for side in SIDES:
            for count in COUNTS:
                if (side * count) ** 3 <= MOST_PIXELS:
                    rows.append(row_of(kind, side, count))
                    print(rows[-1], flush=True)
                    write_rows(sys.argv[2], rows)


if __name__ == "__main__":
    main()
