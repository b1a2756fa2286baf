"""How many items a second `preflow.distributed.map` solves, beside a loop and beside processes without it.

    python -m benchmarks.scripts.batches --workers 1 2 --hosts processes threads --out batches.json

Three kinds of items: assignments of 100 x 100 floats, cuts of 96 x 96 pixels, networks of 1,000 arcs. Each
measurement lets a contestant run for some seconds, and counts the results after the first second:

- "loop": one process that calls the function, `threads=1`;
- "alone": as many such processes as workers, which get nothing and send nothing: what the machine can do;
- each host, with the same number of workers.

The contestants take turns, for --repeat rounds. What is printed are medians: of the rates, and of each
round's ratio to what the loop or the processes alone did in that round.

Also the seconds of one message to a worker and back: items that do nothing, one a chunk.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

import preflow

from ..records import write_rows

#: Different items of each kind, which are repeated. A chunk has fewer items: an object that is in it twice
#: would be sent once.
DIFFERENT = 2048
WARM_UP = 1.0


def assignment_items() -> list[object]:
    """Return costs of 100 x 100."""
    rng = np.random.default_rng(1)
    return list(rng.random((DIFFERENT, 100, 100)))


def grid_items() -> list[object]:
    """Return noisy pictures of 96 x 96 pixels with a bright half."""
    rng = np.random.default_rng(2)
    found: list[object] = []
    for _ in range(DIFFERENT):
        difference = rng.normal(0, 40, (96, 96)) + np.where(np.arange(96) < 48, 15, -15)
        found.append((np.maximum(difference, 0), np.maximum(-difference, 0), 20.0))
    return found


def network_items() -> list[object]:
    """Return random networks of 200 vertices and 1,000 arcs."""
    rng = np.random.default_rng(3)
    return [
        ((rng.integers(0, 200, 1000), rng.integers(0, 200, 1000), rng.integers(1, 100, 1000)), 0, 199)
        for _ in range(DIFFERENT)
    ]


def value_of_assignment(cost: np.ndarray) -> float:
    """Return the value only: less to send back than the whole result."""
    return float(preflow.linear_assignment(cost).value)


def value_of_cut(grid: tuple[object, ...]) -> float:
    """Return the value of a cut."""
    return float(preflow.grid_cut(*grid).value)


def value_of_flow(network: tuple[object, ...]) -> float:
    """Return the value of a flow."""
    return float(preflow.max_flow(*network).value)


KINDS: dict[str, tuple[Callable[[], list[object]], Callable[..., float]]] = {
    "assignments 100x100": (assignment_items, value_of_assignment),
    "cuts 96x96": (grid_items, value_of_cut),
    "networks of 1,000 arcs": (network_items, value_of_flow),
}


def rate(results: Iterator[object], seconds: float) -> float:
    """Return results a second, after the first second in which there is one."""
    next(results)
    start = time.perf_counter()
    while time.perf_counter() < start + WARM_UP:
        next(results)
    start, count = time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        next(results)
        count += 1
    return count / (time.perf_counter() - start)


def loop_rate(kind: str, seconds: float) -> float:
    """Return the items a second of a loop on one thread."""
    from preflow.solving.dispatch import limited_threads

    make, function = KINDS[kind]
    with limited_threads(1):
        return rate((function(item) for item in itertools.cycle(make())), seconds)


def alone_rate(kind: str, workers: int, seconds: float) -> float:
    """Return the items a second of loops in processes that know nothing of each other."""
    command = [sys.executable, "-m", __spec__.name, "--loop", kind, "--seconds", str(seconds)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
    return sum(float(process.communicate()[0]) for process in running)


def map_rate(kind: str, host: str, workers: int, seconds: float) -> float:
    """Return the items a second of the map."""
    make, function = KINDS[kind]
    results = preflow.distributed.map(function, itertools.cycle(make()), host=host, workers=workers)  # type: ignore[call-overload]
    try:
        return rate(results, seconds)
    finally:
        results.close()


def ratio(rates: list[float], others: list[float]) -> float:
    """Return the median over rounds of the ratio of two rates."""
    return median(rate / other for rate, other in zip(rates, others, strict=True))


def message_seconds(host: str) -> float:
    """Return the seconds of a message to a worker and back."""
    results = preflow.distributed.map(abs, itertools.count(), host=host, workers=1, chunk=1)  # type: ignore[call-overload]
    try:
        return 1 / rate(results, 1.0)
    finally:
        results.close()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--hosts", nargs="+", default=["processes", "threads"])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeat", type=int, default=1, help="rounds, of which medians count")
    parser.add_argument("--loop", help=argparse.SUPPRESS)
    parser.add_argument("--out")
    chosen = parser.parse_args()
    if chosen.loop:
        print(loop_rate(chosen.loop, chosen.seconds))
        return
    messages = {host: message_seconds(host) for host in chosen.hosts}
    for host, seconds in messages.items():
        print(f"a message to {host} and back: {seconds * 1e3:.2f} ms", flush=True)
    rows: list[dict[str, object]] = []
    for kind, workers in itertools.product(KINDS, chosen.workers):
        rates: dict[str, list[float]] = {name: [] for name in ("loop", "alone", *chosen.hosts)}
        for _ in range(chosen.repeat):
            rates["loop"].append(loop_rate(kind, chosen.seconds))
            rates["alone"].append(alone_rate(kind, workers, chosen.seconds))
            for host in chosen.hosts:
                rates[host].append(map_rate(kind, host, workers, chosen.seconds))
        linear = {name: ratio(each, rates["loop"]) / workers for name, each in rates.items()}
        alone = {host: ratio(rates[host], rates["alone"]) for host in chosen.hosts}
        medians = {name: median(each) for name, each in rates.items()}
        row = {"items_a_second": medians, "of_linear": linear, "of_alone": alone, "rounds": rates}
        rows.append({"kind": kind, "workers": workers, **row})
        shown = [{name: round(each, 2) for name, each in found.items()} for found in (linear, alone)]
        print(f"{kind:24} {workers:3} workers, of linear: {shown[0]}, of alone: {shown[1]}", flush=True)
    if chosen.out:
        rows.append({"kind": "seconds of a message", **messages})
        write_rows(chosen.out, rows, ["numpy", "ray", "distributed"])


if __name__ == "__main__":
    from benchmarks.scripts import batches

    batches.main()  # workers find the functions of a module by name
