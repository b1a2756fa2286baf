"""Measure batches of networks and of grids against loops of single calls, on CPU threads and on a GPU.

Usage: python -m benchmarks.scripts.flow_batch FILE [ITEMS]. It writes FILE. ITEMS is the size of a batch,
10,000 if it is not given. The loop takes a part of the batch, and its time is scaled. The GPU is measured
where there is one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

import preflow
from preflow.cuda.runtime import device_if_any
from preflow.generators import family
from preflow.solving.dispatch import usable_cpus

from ..records import write_rows

#: Items of the loop, and repetitions of each call; the first does not count.
SINGLE, REPEATS = 300, 5
VERTICES, ARCS = 200, 1000
PIXELS = (64, 64)

#: The name of a batch, its call, and the call for one item.
Batch = tuple[str, Callable[..., Any], Callable[[int], Any]]


def networks(items: int) -> Iterator[tuple[str, preflow.FlowNetworkBatch, int, int]]:
    """Yield batches of networks with their terminals."""
    random = np.random.default_rng(0)
    tail, head = random.integers(0, VERTICES, (2, items, ARCS))
    for name, capacity in (
        ("integers", random.integers(1, 101, (items, ARCS))),
        ("floats", random.random((items, ARCS))),
        ("capacity 1", np.ones((items, ARCS), dtype=np.int64)),
    ):
        batch = preflow.FlowNetworkBatch.from_arrays(tail, head, capacity, num_vertices=VERTICES)
        yield f"random, 200 vertices, 1,000 arcs, {name}", batch, 0, VERTICES - 1
    for kind, size in (("rmf-long", "4x12"), ("rmf-wide", "8x3")):
        some = [family(kind).generate(size, seed=seed) for seed in range(20)]
        given = [some[item % len(some)].network for item in range(items)]
        batch = preflow.FlowNetworkBatch.from_networks(given)
        name = f"{kind} {size}, {given[0].num_vertices} vertices, {given[0].num_arcs:,} arcs"
        source, sink = some[0].source, some[0].sink
        assert isinstance(source, int)
        assert isinstance(sink, int)
        yield name, batch, source, sink


def pictures(items: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield batches of grids: capacities from the source, to the sink, between neighbours."""
    random = np.random.default_rng(1)
    noise = random.integers(0, 201, (items, *PIXELS))
    yield "64 x 64, noise", noise, 200 - noise, 30
    smooth = gaussian_filter(random.standard_normal(noise.shape), (0, 3, 3))
    smooth = 100 + 60 * smooth / smooth.std() + 20 * random.standard_normal(noise.shape)
    regions = np.clip(smooth, 0, 200).astype(np.int64)
    yield "64 x 64, regions", regions, 200 - regions, 40
    yield "64 x 64, regions, floats", regions * 0.37, (200 - regions) * 0.37, 14.8


def batches(items: int) -> Iterator[Batch]:
    """Yield all batches."""
    for name, batch, source, sink in networks(items):
        some = [batch[item] for item in range(min(items, SINGLE))]
        single = partial(one_flow, some, source, sink)
        yield name, partial(preflow.max_flow_batch, batch, source, sink), single
    for name, from_source, to_sink, neighbor in pictures(items):
        arrays = from_source, to_sink, neighbor
        yield name, partial(preflow.grid_cut_batch, *arrays), partial(one_cut, *arrays)


def one_flow(some: list[preflow.FlowNetwork], source: int, sink: int, item: int) -> preflow.MaxFlowResult:
    """Solve one network, and read its flow, which a batch has of all networks."""
    result = preflow.max_flow(some[item], source, sink)
    _ = result.flow
    return result


def one_cut(from_source: Any, to_sink: Any, neighbor: Any, item: int) -> preflow.GridCutResult:
    """Cut one grid."""
    return preflow.grid_cut(from_source[item], to_sink[item], neighbor)


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median time of a call and its last result."""
    taken, result = [], None
    for _ in range(REPEATS):
        result = None  # frees the memory of the last one
        start = time.perf_counter()
        result = call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[1:])), result


def measured(batch: Batch, items: int) -> dict[str, Any]:
    """Return the times of a batch, whose values are compared with those of single calls."""
    name, call, single = batch
    count = min(items, SINGLE)
    single(0)
    start = time.perf_counter()
    alone = [single(item) for item in range(count)]
    seconds = {"loop of single calls": (time.perf_counter() - start) * items / count}
    threads = sorted({1, 4, usable_cpus()} & set(range(1, usable_cpus() + 1)))
    ways = {f"{number} threads": partial(call, threads=number) for number in threads}
    if device_if_any() is not None:
        ways["GPU, from and to the host"] = partial(call, device="cuda")
    for way, solve in ways.items():
        seconds[way], result = seconds_of(solve)
        for one, value, gap in zip(alone, result.value, result.gap, strict=False):
            assert abs(one.value - value) <= one.gap + gap, (name, way, one.value, value)
    return {"instance": name, "items": items, "items_of_loop": count, "seconds": seconds}


def main() -> None:
    """Measure all batches and write the file."""
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rows = []
    for batch in batches(items):
        rows.append(measured(batch, items))
        name, seconds = batch[0], rows[-1]["seconds"]
        loop = seconds["loop of single calls"]
        shown = {way: f"{1e6 * each / items:.1f} us, {loop / each:.1f}" for way, each in seconds.items()}
        print(name, "an item, and times as fast as the loop:", shown, flush=True)
    write_rows(sys.argv[1], rows, ("numpy", "scipy"))


if __name__ == "__main__":
    main()
