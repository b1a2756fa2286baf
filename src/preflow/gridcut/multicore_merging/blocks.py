"""A grid divided into blocks, and the arcs between blocks, which can be closed and opened again.

A closed arc has residual capacity 0, and so has its opposite; the capacities that they had are stored in
`Faces.kept`. So a search that starts in a block stays in it, and no kernel computes where a block ends. The
arcs of one direction between two blocks are a face. The tails of a face form a box of pixels; they are listed
when the face is closed for the first time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...arrays import Indices, Int64, Integers, Number
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...network.arcs import head, opposite, place
from ..pixel_major import GridState


class Blocks(NamedTuple):
    """A partition of a grid into blocks."""

    #: shape (ndim,): along each axis: the length of the grid, the number of blocks, and the difference of the
    #: numbers of two neighbouring pixels
    shape: NDArray[np.int64]
    counts: NDArray[np.int64]
    strides: NDArray[np.int64]
    #: shape (ndim, at least the largest count + 1): along each axis: the first index of each block, then the
    #: length
    cuts: NDArray[np.int64]
    pad: np.uint64  #: number of the first pixel


class Faces(NamedTuple):
    """The arcs between blocks, face by face: those of forward directions, each with its opposite."""

    ends: NDArray[np.uint32]  #: shape (faces, 2): block of the tails, and of the heads
    direction: NDArray[np.uint64]  #: shape (faces,)
    #: shape (faces, 2, ndim): the tails: lowest index along each axis, and one past the highest
    box: NDArray[np.int64]
    #: shape (faces + 1,): the arcs of face k are ``first[k]`` to ``first[k + 1] - 1`` in `tail` and `kept`
    first: NDArray[np.uint64]
    tail: Indices  #: shape (arcs,): tail of each arc
    kept: Integers  #: shape (arcs, 2): residual capacities of closed arcs and of their opposites


def plan_blocks(shape: tuple[int, ...], pad: int, wanted: int) -> Blocks:
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
    return Blocks(lengths, counts, strides, lengths[:, None] * places // counts[:, None], np.uint64(pad))


def coarser_blocks(blocks: Blocks) -> Blocks:
    """Return a partition with half as many blocks along each axis; its faces cut blocks in the middle."""
    rows = []
    for row, count in zip(blocks.cuts, blocks.counts.tolist(), strict=True):
        middle = (row[:count] + row[1 : count + 1]) // 2
        parts = (count + 1) // 2
        even = row[count] * np.arange(1, parts) // parts
        nearest = np.abs(middle[:, None] - even).argmin(axis=0)
        rows.append(np.unique([0, *middle[nearest], row[count]]))
    counts = np.array([len(row) - 1 for row in rows], dtype=np.int64)
    cuts = np.array([np.pad(row, (0, counts.max() + 1 - len(row)), mode="edge") for row in rows])
    return blocks._replace(counts=counts, cuts=cuts.astype(np.int64))


@kernel
def block_box(blocks: Blocks, block: Number, box: NDArray[np.int64]) -> None:
    """Write the box of a block: lowest index along each axis, and one past the highest."""
    left = np.int64(block)
    for i in range(len(blocks.shape)):
        axis = len(blocks.shape) - 1 - i
        place = left % blocks.counts[axis]
        left //= blocks.counts[axis]
        box[0, axis] = blocks.cuts[axis, place]
        box[1, axis] = blocks.cuts[axis, place + 1]


@kernel
def place_of(blocks: Blocks, axis: int, index: Int64) -> Int64:
    """Return the position along an axis of the block that has an index."""
    first, last = np.int64(0), blocks.counts[axis] - 1
    while first < last:
        middle = (first + last + 1) // 2
        if blocks.cuts[axis, middle] <= index:
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
def row_of(blocks: Blocks, box: NDArray[np.int64], row: Int64) -> tuple[np.uint64, np.uint64]:
    """Return the first pixel of a row of a box, and one past the last."""
    last = len(blocks.shape) - 1
    left = row
    number = box[0, last]
    for i in range(last):
        axis = last - 1 - i
        length = box[1, axis] - box[0, axis]
        number += (box[0, axis] + left % length) * blocks.strides[axis]
        left //= length
    first = blocks.pad + np.uint64(number)
    return first, first + np.uint64(box[1, last] - box[0, last])


@kernel
def list_faces(
    blocks: Blocks,
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
    shape, counts = blocks.shape, blocks.counts
    axes = len(shape)
    own, other, place, least, most = scratch[0:2], scratch[2:4], scratch[4], scratch[5], scratch[6]
    faces, arcs = 0, 0
    num_blocks = 1
    for axis in range(axes):
        num_blocks *= counts[axis]
    for block in range(num_blocks):
        block_box(blocks, block, own)
        for pair in range(len(offsets) // 2):
            offset = offsets[2 * pair]
            inside = True
            for axis in range(axes):
                low = max(own[0, axis] + offset[axis], 0)
                high = min(own[1, axis] + offset[axis], shape[axis])
                inside &= low < high
                least[axis] = place_of(blocks, axis, low)
                most[axis] = place_of(blocks, axis, high - 1)
                place[axis] = least[axis]
            while inside:
                head = 0
                for axis in range(axes):
                    head = head * counts[axis] + place[axis]
                if head != block:
                    if len(first) > 0:
                        block_box(blocks, head, other)
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


def make_faces(blocks: Blocks, offsets: NDArray[np.int64], residual_dtype: DTypeLike) -> Faces:
    """Return the faces of a partition, all of them open."""
    axes = len(blocks.shape)
    scratch = np.empty((7, axes), dtype=np.int64)
    count = 0
    for fill in (False, True):
        arrays = (
            np.zeros((count, 2), dtype=np.uint32),
            np.zeros(count, dtype=np.uint64),
            np.zeros((count, 2, axes), dtype=np.int64),
            np.zeros(count + 1 if fill else 0, dtype=np.uint64),
        )
        count = list_faces(blocks, offsets, *arrays, scratch)
    arcs = int(arrays[-1][-1])
    index = np.uint32 if math.prod(blocks.shape.tolist()) + 2 * int(blocks.pad) < 2**32 else np.uint64
    return Faces(*arrays, np.empty(arcs, dtype=index), np.empty((arcs, 2), dtype=residual_dtype))


@kernel
def close_face(state: GridState, blocks: Blocks, faces: Faces, face: np.uint64) -> np.uint64:
    """Close the arcs of a face and list them; return how many arcs and opposites were not saturated."""
    residual = state.residual
    d = faces.direction[face]
    k = faces.first[face]
    unsaturated = ZERO
    for row in range(rows_of(faces.box[face])):
        p, end = row_of(blocks, faces.box[face], row)
        while p < end:
            arc, back = place(state, p, d), place(state, head(state, p, d), opposite(state, d))
            faces.tail[k] = p
            faces.kept[k, 0] = residual[arc]
            faces.kept[k, 1] = residual[back]
            unsaturated += np.uint64(residual[arc] > 0) + np.uint64(residual[back] > 0)
            residual[arc] = 0
            residual[back] = 0
            k += ONE
            p += ONE
    return unsaturated


@kernel
def arcs_of(faces: Faces, face: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the first arc of a face in `tail` and `kept`, and one past the last."""
    return faces.first[face], faces.first[face + ONE]


@kernel
def open_face(state: GridState, faces: Faces, face: np.uint64) -> None:
    """Restore the capacities of the arcs of a face."""
    residual = state.residual
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        residual[place(state, p, d)] = faces.kept[k, 0]
        residual[place(state, head(state, p, d), opposite(state, d))] = faces.kept[k, 1]
        k += ONE
