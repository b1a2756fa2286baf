"""Edges grouped by their rows or columns on a GPU.

Atomic operations count the edges of each line (row or column) and assign their places, so the order of a
vertex's neighbours differs from run to run. They are not sorted: no solver needs an order, and sorting would
take longer than everything else. Nothing tests whether a pattern is symmetric either: the test costs several
scattered loads an edge, transposing costs two atomic operations and a store.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device

SOURCE = Path(__file__).with_suffix(".cu")
#: Bytes of an edge and of a line in one side's arrays, and of a line of the other side while it is built.
EDGE, LINE, LINE_WHILE_BUILT = 4, 4, 12


class _Count(NamedTuple):
    key: AnyArray
    num_edges: int
    count: AnyArray


class _Group(NamedTuple):
    key: AnyArray
    value: AnyArray
    num_edges: int
    next: AnyArray
    grouped: AnyArray


class _Transpose(NamedTuple):
    first: AnyArray
    neighbour: AnyArray
    num_lines: int
    num_edges: int
    next: AnyArray
    grouped: AnyArray


def line_starts(device: Device, keys: AnyArray, size: int) -> AnyArray:
    """Return the number of keys below each of 0 to `size`."""
    count = device.xp.zeros(size + 1, dtype=np.uint32)
    device.share(SOURCE, "count_keys", len(keys), _Count(keys, len(keys), count))
    return device.xp.cumsum(count, dtype=np.uint32)


def grouped_edges(device: Device, keys: AnyArray, values: AnyArray, size: int) -> tuple[AnyArray, AnyArray]:
    """Return where the values of each of the keys 0 to ``size - 1`` begin, and the values by keys."""
    first = line_starts(device, keys, size)
    grouped = device.xp.empty_like(values)
    arguments = _Group(keys, values, len(keys), first.copy(), grouped)
    device.share(SOURCE, "group_edges", len(keys), arguments)
    return first, grouped


def transposed_lines(
    device: Device, first: AnyArray, neighbour: AnyArray, size: int
) -> tuple[AnyArray, AnyArray]:
    """Return where the neighbours of each of the other side's `size` vertices begin, and these neighbours."""
    other_first = line_starts(device, neighbour, size)
    grouped = device.xp.empty_like(neighbour)
    num_edges, num_lines = len(grouped), len(first) - 1
    arguments = _Transpose(first, neighbour, num_lines, num_edges, other_first.copy(), grouped)
    device.share(SOURCE, "group_transposed", num_edges, arguments)
    device.synchronize()
    return other_first, grouped
