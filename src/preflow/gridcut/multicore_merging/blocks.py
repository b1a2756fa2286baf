"""A grid divided into boxes, the blocks of :mod:`preflow.forests.merging`, and the faces between them.

A run is a row of a box. The arcs of one direction between two blocks are a face; its tails form a box, too.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64, Number
from ...forests.merging.parts import Blocks, Faces
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...network.arcs import forest_dtypes
from ...parallel.pieces import run_pieces
from ..pixel_major import GridState


class Boxes(NamedTuple):
    """A partition of a grid into boxes."""

    #: shape (ndim,): along each axis: the length of the grid, the number of blocks, and the difference of the
    #: numbers of two neighbouring pixels
    shape: NDArray[np.int64]
    counts: NDArray[np.int64]
    strides: NDArray[np.int64]
    #: shape (ndim, at least the largest count + 1): along each axis: the first index of each block, then the
    #: length
    cuts: NDArray[np.int64]
    pad: np.uint64  #: number of the first pixel


def plan_boxes(shape: tuple[int, ...], pad: int, wanted: int) -> Boxes:
    """Divide a grid into about `wanted` blocks, as close to cubes as possible."""
    counts = np.ones(len(shape), dtype=np.int64)
    pixels, axes = math.prod(shape), len(shape)
    # Short axes come first: longer axes make up for the blocks that they have no room for.
    for axis in sorted(range(len(shape)), key=lambda axis: shape[axis]):
        edge = (pixels / max(1, wanted)) ** (1 / axes)
        counts[axis] = min(shape[axis], max(1, round(shape[axis] / edge)))
        pixels, wanted, axes = pixels // shape[axis], -(-wanted // int(counts[axis])), axes - 1
        if axes == 0:
            break
    lengths = np.array(shape, dtype=np.int64)
    strides = np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64)
    places = np.minimum(np.arange(counts.max() + 1), counts[:, None])
    return Boxes(lengths, counts, strides, lengths[:, None] * places // counts[:, None], np.uint64(pad))


def coarser_boxes(boxes: Boxes) -> Boxes:
    """Return a partition with half as many blocks along each axis; its faces cut blocks in the middle."""
    rows = []
    for row, count in zip(boxes.cuts, boxes.counts.tolist(), strict=True):
        middle = (row[:count] + row[1 : count + 1]) // 2
        parts = (count + 1) // 2
        even = row[count] * np.arange(1, parts) // parts
        nearest = np.abs(middle[:, None] - even).argmin(axis=0)
        rows.append(np.unique([0, *middle[nearest], row[count]]))
    counts = np.array([len(row) - 1 for row in rows], dtype=np.int64)
    cuts = np.array([np.pad(row, (0, counts.max() + 1 - len(row)), mode="edge") for row in rows])
    return boxes._replace(counts=counts, cuts=cuts.astype(np.int64))


@kernel
def block_box(boxes: Boxes, block: Number, box: NDArray[np.int64]) -> None:
    """Write the box of a block: lowest index along each axis, and one past the highest."""
    left = np.int64(block)
    for i in range(len(boxes.shape)):
        axis = len(boxes.shape) - 1 - i
        place = left % boxes.counts[axis]
        left //= boxes.counts[axis]
        box[0, axis] = boxes.cuts[axis, place]
        box[1, axis] = boxes.cuts[axis, place + 1]


@kernel
def place_of(boxes: Boxes, axis: int, index: Int64) -> Int64:
    """Return the position along an axis of the block that has an index."""
    first, last = np.int64(0), boxes.counts[axis] - 1
    while first < last:
        middle = (first + last + 1) // 2
        if boxes.cuts[axis, middle] <= index:
            first = middle
        else:
            last = middle - 1
    return first


@kernel
def rows_of(box: NDArray[np.int64]) -> Int64:
    """Return the number of rows of a box."""
    rows = 1
    for axis in range(box.shape[1] - 1):
        rows *= box[1, axis] - box[0, axis]
    return rows


@kernel
def row_of(boxes: Boxes, box: NDArray[np.int64], row: Int64) -> tuple[np.uint64, np.uint64]:
    """Return the first pixel of a row of a box, and one past the last."""
    last = len(boxes.shape) - 1
    left = row
    number = box[0, last]
    for i in range(last):
        axis = last - 1 - i
        length = box[1, axis] - box[0, axis]
        number += (box[0, axis] + left % length) * boxes.strides[axis]
        left //= length
    first = boxes.pad + np.uint64(number)
    return first, first + np.uint64(box[1, last] - box[0, last])


@kernel
def list_faces(
    boxes: Boxes,
    offsets: NDArray[np.int64],
    ends: Indices,
    direction: NDArray[np.uint64],
    box: NDArray[np.int64],
    first: NDArray[np.uint64],
    scratch: NDArray[np.int64],
) -> int:
    """Return the number of faces, and write the faces unless the arrays are empty.

    `offsets` has a row for each direction; `scratch` has seven rows.
    """
    shape, counts = boxes.shape, boxes.counts
    axes = len(shape)
    own, other, place, least, most = scratch[0:2], scratch[2:4], scratch[4], scratch[5], scratch[6]
    faces, arcs = 0, 0
    num_blocks = 1
    for axis in range(axes):
        num_blocks *= counts[axis]
    for block in range(num_blocks):
        block_box(boxes, block, own)
        for pair in range(len(offsets) // 2):
            offset = offsets[2 * pair]
            inside = True
            for axis in range(axes):
                low = max(own[0, axis] + offset[axis], 0)
                high = min(own[1, axis] + offset[axis], shape[axis])
                inside &= low < high
                least[axis] = place_of(boxes, axis, low)
                most[axis] = place_of(boxes, axis, high - 1)
                place[axis] = least[axis]
            while inside:
                head = 0
                for axis in range(axes):
                    head = head * counts[axis] + place[axis]
                if head != block:
                    if len(first) > 0:
                        block_box(boxes, head, other)
                        amount = 1
                        for axis in range(axes):
                            box[faces, 0, axis] = max(own[0, axis], other[0, axis] - offset[axis])
                            box[faces, 1, axis] = min(own[1, axis], other[1, axis] - offset[axis])
                            amount *= box[faces, 1, axis] - box[faces, 0, axis]
                        ends[faces, 0], ends[faces, 1] = block, head
                        direction[faces] = 2 * pair
                        first[faces] = arcs
                        arcs += amount
                        first[faces + 1] = arcs
                    faces += 1
                axis = axes - 1
                while axis >= 0 and place[axis] == most[axis]:
                    place[axis] = least[axis]
                    axis -= 1
                if axis < 0:
                    break
                place[axis] += 1
    return faces


@kernel
def list_rows(
    boxes: Boxes, first: NDArray[np.uint64], begin: Indices, end: Indices, box: NDArray[np.int64]
) -> None:
    """Write the rows of all blocks; `first` says where those of each begin, and `box` is scratch."""
    for block in range(len(first) - 1):
        block_box(boxes, block, box)
        for row in range(rows_of(box)):
            k = first[block] + np.uint64(row)
            begin[k], end[k] = row_of(boxes, box, row)


@kernel
def list_tails(boxes: Boxes, box: NDArray[np.int64], first: NDArray[np.uint64], tail: Indices) -> None:
    """Write the tails of faces, each of which has a row of `box`, from ``first[0]`` on."""
    for face in range(len(box)):
        k = first[face]
        for row in range(rows_of(box[face])):
            p, end = row_of(boxes, box[face], row)
            while p < end:
                tail[k] = p
                k += ONE
                p += ONE


def make_parts(
    boxes: Boxes, offsets: NDArray[np.int64], state: GridState, threads: int
) -> tuple[Blocks, Faces]:
    """Return the blocks of a partition and the faces between them, all of them open."""
    axes = len(boxes.shape)
    _, name, index = forest_dtypes(state)
    sides = [np.diff(row[: count + 1]) for row, count in zip(boxes.cuts, boxes.counts.tolist(), strict=True)]
    rows = np.array([math.prod(lengths) for lengths in product(*sides[:-1])], dtype=np.int64)
    first_row = np.append(0, np.cumsum(np.repeat(rows, boxes.counts[-1]))).astype(np.uint64)
    begin, end = np.empty((2, int(first_row[-1])), dtype=index)
    scratch = np.empty((7, axes), dtype=np.int64)
    list_rows(boxes, first_row, begin, end, scratch[:2])
    count = 0
    for fill in (False, True):
        arrays = (
            np.zeros((count, 2), dtype=np.uint32),
            np.zeros(count, dtype=np.uint64),
            np.zeros((count, 2, axes), dtype=np.int64),
            np.zeros(count + 1 if fill else 0, dtype=np.uint64),
        )
        count = list_faces(boxes, offsets, *arrays, scratch)
    ends, direction, box, first = arrays
    arcs = int(first[-1])
    tail = np.empty(arcs, dtype=index)
    run_pieces(lambda face, last: list_tails(boxes, box[face:last], first[face:last], tail), count, threads)
    names = np.repeat(direction.astype(name), np.diff(first).astype(np.int64))
    kept = np.empty((arcs, 2), dtype=state.residual.dtype)
    return Blocks(first_row, begin, end), Faces(ends, first, tail, names, kept)
