"""Measure batches of small graphs with weights on CPU threads and on a GPU, beside loops of single calls.

Usage: python -m benchmarks.scripts.matching_batch FILE [ITEMS]. It writes FILE. ITEMS is the size of a batch,
10,000 if it is not given. The loop takes a part of the batch, and its time is scaled. The GPU is measured
where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import preflow
from preflow.cuda.runtime import device_if_any

from ..records import write_rows
from .flow_batch import Batch, measured, seconds_of

VERTICES, DEGREE = 50, 6


def batches(items: int) -> Iterator[tuple[Batch, Any]]:
    """Yield all batches, and the matrices of those that have some."""
    random = np.random.default_rng(0)
    matrices = np.triu(random.integers(1, 1001, (items, VERTICES, VERTICES)), 1)
    matrices += matrices.transpose(0, 2, 1)
    tail, head = np.triu_indices(VERTICES, 1)
    goals: list[tuple[str, dict[str, Any]]] = [
        ("largest weight", {}),
        ("perfect, least weight", {"perfect": True, "maximize": False}),
        ("maximum cardinality", {"maximum_cardinality": True}),
    ]
    for goal, arguments in goals[:2]:
        call = partial(preflow.matching_batch, matrices, **arguments)
        single = partial(one_complete, tail, head, matrices, arguments)
        yield (f"complete, 50 vertices, {goal}", call, single), matrices
    edges = VERTICES * DEGREE // 2
    pairs, weights = random.integers(0, VERTICES, (items * edges, 2)), random.integers(1, 1001, items * edges)
    given = pairs, weights, np.arange(items + 1) * edges
    for goal, arguments in goals[::2]:
        call = partial(preflow.matching_batch, given, num_vertices=VERTICES, **arguments)
        single = partial(one_sparse, *given, arguments)
        yield (f"random, 50 vertices, 150 edges, {goal}", call, single), None


def one_complete(
    tail: Any, head: Any, matrices: Any, arguments: Any, item: int
) -> preflow.GeneralMatchingResult:
    """Match one complete graph."""
    return preflow.matching((tail, head, matrices[item, tail, head]), **arguments)


def one_sparse(
    pairs: Any, weights: Any, offsets: Any, arguments: Any, item: int
) -> preflow.GeneralMatchingResult:
    """Match one graph of listed edges."""
    part = slice(offsets[item], offsets[item + 1])
    return preflow.matching((pairs[part, 0], pairs[part, 1], weights[part]), **arguments)


def main() -> None:
    """Measure all batches and write the file."""
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rows, device = [], device_if_any()
    for batch, matrices in batches(items):
        rows.append(measured(batch, items))
        name, call, _ = batch
        seconds = rows[-1]["seconds"]
        if device is not None and matrices is not None:
            there = partial(call.func, device.xp.asarray(matrices), **call.keywords)  # type: ignore[attr-defined]
            seconds["GPU, arrays there"], _ = seconds_of(there)
        print(name, {way: f"{1e6 * each / items:.1f} us" for way, each in seconds.items()}, flush=True)
    write_rows(sys.argv[1], rows, ("numpy",))


if __name__ == "__main__":
    main()
