"""Compare predictions of the simulator with solves on local Ray actors.

    python -m benchmarks.scale.check 160 8 RECORD.json

One solve of 160^3 pixels in 8 regions is recorded in one process, and repeated on 2, 4 and 8 actors.
Of each sweep the CPU seconds of the busiest actor are added up: that is the time of the solve, apart from
latency, where each actor has a core of its own, and other programs on the machine disturb it little. The
seconds on the clock are reported, too; they mean little if there are fewer cores than actors.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from preflow.distributed.batches.ray_tasks import start_ray
from preflow.distributed.exchange import RegionTask, Worker
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.on_ray import RayExchange
from preflow.distributed.partition import divide
from preflow.distributed.sweeps import Progress, run_sweeps
from preflow.solving.run import Control

from ..records import write_rows
from .record import ball, recorded
from .simulate import WORK_OF_CALL, Cluster, owners, simulate

WORKERS = (2, 4, 8)
REPEATS = 3


def cpu_seconds(worker: Worker) -> float:
    """Return the CPU seconds of the actor of a region."""
    return time.process_time()


def measured(side: int, regions: int, workers: int) -> dict[str, float]:
    """Return the sum over sweeps of the busiest actor's CPU seconds, and the seconds on the clock."""
    source = GridSource.of(*ball(side), None)
    exchange = RayExchange(workers=workers)
    first = [owners(regions, workers).index(worker) for worker in range(workers)]
    marks: list[tuple[float, list[float]]] = []

    def report(progress: Progress) -> None:
        seconds = list(exchange.collect(cpu_seconds))
        marks.append((time.perf_counter(), [seconds[region] for region in first]))

    try:
        tasks: Sequence[RegionTask] = grid_tasks(source, divide(source.shape, regions))
        run_sweeps(exchange, tasks, Control(), report)
    finally:
        exchange.close()
    busiest = sum(
        max(after - before for before, after in zip(one, other, strict=True))
        for (_, one), (_, other) in itertools.pairwise(marks)
    )
    return {"busiest": busiest, "clock": marks[-1][0] - marks[0][0], "sweeps": len(marks) - 1}


def main() -> None:
    """Measure, predict, print, write."""
    side, regions, path = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    traces = [recorded(ball(side), regions) for _ in range(REPEATS)]
    rows = []
    start_ray(None, max(WORKERS))
    for workers in WORKERS:
        found = [simulate(trace, Cluster(workers, workers)) for trace in traces]
        predicted = min(found, key=lambda each: each.discharge)
        runs = [measured(side, regions, workers) for _ in range(REPEATS)]
        best = min(runs, key=lambda run: run["busiest"])
        rows.append(
            {
                "workers": workers,
                "sweeps": best["sweeps"],
                "predicted_discharge": predicted.discharge,
                "predicted_store": predicted.store,
                "predicted_calls": 2 * predicted.sweeps * WORK_OF_CALL,
                "bytes_sent": predicted.bytes_sent,
                "measured_busiest": best["busiest"],
                "measured_clock": min(run["clock"] for run in runs),
            }
        )
        print(rows[-1], flush=True)
    write_rows(path, rows, side=side, regions=regions)


if __name__ == "__main__":
    main()
