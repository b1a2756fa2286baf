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
from ...cuda.structs import U32, ConstU32

SOURCE = Path(__file__).with_suffix(".cu")
#: Bytes of an edge and of a line in one side's arrays, and of a line of the other side while it is built.
EDGE, LINE, LINE_WHILE_BUILT = 4, 4, 12


class CountArguments(NamedTuple):
    """Arguments of "count_keys"."""

    key: ConstU32
    num_edges: int
    count: U32  #: of each key, after one that stays zero


class GroupArguments(NamedTuple):
    """Arguments of "group_edges"."""

    key: ConstU32
    value: ConstU32
    num_edges: int
    next: U32  #: on entry the beginning of each key's range
    grouped: U32


class TransposeArguments(NamedTuple):
    """Arguments of "group_transposed"."""

    first: ConstU32
    neighbour: ConstU32
    num_lines: int
    num_edges: int
    next: U32  #: on entry the beginnings of the lines of the transpose
    grouped: U32


def line_starts(device: Device, keys: AnyArray, size: int) -> AnyArray:
    """Return the number of keys below each of 0 to `size`."""
    count = device.xp.zeros(size + 1, dtype=np.uint32)
    device.share(SOURCE, "count_keys", len(keys), CountArguments(key=keys, num_edges=len(keys), count=count))
    return device.xp.cumsum(count, dtype=np.uint32)


def grouped_edges(device: Device, keys: AnyArray, values: AnyArray, size: int) -> tuple[AnyArray, AnyArray]:
    """Return where the values of each of the keys 0 to ``size - 1`` begin, and the values by keys."""
    first = line_starts(device, keys, size)
    grouped = device.xp.empty_like(values)
    arguments = GroupArguments(
        key=keys, value=values, num_edges=len(keys), next=first.copy(), grouped=grouped
    )
    device.share(SOURCE, "group_edges", len(keys), arguments)
    return first, grouped


def transposed_lines(
    device: Device, first: AnyArray, neighbour: AnyArray, size: int
) -> tuple[AnyArray, AnyArray]:
    """Return where the neighbours of each of the other side's `size` vertices begin, and these neighbours."""
    other_first = line_starts(device, neighbour, size)
    grouped = device.xp.empty_like(neighbour)
    num_edges, num_lines = len(grouped), len(first) - 1
    arguments = TransposeArguments(
        first=first,
        neighbour=neighbour,
        num_lines=num_lines,
        num_edges=num_edges,
        next=other_first.copy(),
        grouped=grouped,
    )
    device.share(SOURCE, "group_transposed", num_edges, arguments)
    device.synchronize()
    return other_first, grouped
