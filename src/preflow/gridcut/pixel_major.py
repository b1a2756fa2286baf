"""The residual grid of the CPU methods: all residual capacities of a pixel side by side, arcs implied.

Pixels are numbered in C order. As many unused numbers as the longest step to a neighbour takes come before
the first pixel and after the last one, so ``p + step[d]`` is always a valid index. An arc that leaves the
grid has residual capacity 0, and so has its opposite, even where ``p + step[d]`` is the number of a pixel on
the other side of the grid. So no kernel computes coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, DType, Integers
from ..graph.integer_grid import IntegerGrid
from ..kernels.atomics import add
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..network.arcs import capacity, head, opposite, place, push_along
from ..parallel.pieces import run_pieces
from .solution import GridSolution

#: Pixels whose capacities are converted at once. One thread takes few, so that input and output stay in a
#: core's cache; several threads take more, so that they seldom wait for the interpreter lock.
CHUNK_ALONE, CHUNK = 1 << 16, 1 << 18


class GridState(NamedTuple):
    """A pseudoflow on a grid."""

    #: int32 or int64, shape (size * D,): ``residual[p * D + d]`` is the residual capacity of the arc from p
    #: in direction d
    residual: Integers
    #: the same dtype, shape (size,): excess of a pixel where positive; minus the capacity left to the sink
    #: where negative (a deficit)
    terminal: Integers
    #: shape (D,): difference of the numbers of the neighbour in each direction and of the pixel, modulo 2**64
    step: NDArray[np.uint64]


def plan_chunks(shape: tuple[int, ...], pixels: int) -> tuple[int, int]:
    """Return how to divide a grid into runs of whole rows of about `pixels` pixels: an axis and a length.

    A run has that many indices of the axis, one index of each axis before it, and all of each axis after it.
    """
    if len(shape) == 1:
        return 0, shape[0]
    axis = 0
    while axis < len(shape) - 2 and math.prod(shape[axis + 1 :]) > pixels:
        axis += 1
    return axis, min(max(1, pixels // math.prod(shape[axis + 1 :])), shape[axis])


def chunks(shape: tuple[int, ...], pixels: int) -> Iterator[tuple[tuple[Any, ...], int, int]]:
    """Yield the index of each run of whole rows, its first pixel and the number of its pixels."""
    axis, length = plan_chunks(shape, pixels)
    below = math.prod(shape[axis + 1 :])
    first = 0
    for lead in np.ndindex(shape[:axis]):
        for begin in range(0, shape[axis], length):
            end = min(begin + length, shape[axis])
            yield (*lead, slice(begin, end)), first, (end - begin) * below
            first += (end - begin) * below


@kernel
def add_capacities(
    state: GridState,
    pad: np.uint64,
    capacity: Integers,
    shape: NDArray[np.int64],
    offsets: NDArray[np.int64],
    first: np.uint64,
    count: np.uint64,
    symmetric: bool,
) -> None:
    """Write the capacities of the arcs from a run of whole rows, and if `symmetric` of their opposites.

    `capacity` has a row for each direction, or if `symmetric` for each pair of opposite directions. The run
    has `count` pixels from `first` on.
    """
    residual, degree = state.residual, np.uint64(len(state.step))
    axes = len(shape)
    width = np.uint64(shape[axes - 1])
    begin = ZERO
    while begin < count:
        for row in range(len(capacity)):
            d = np.uint64(row)
            if symmetric:
                d += d
            left = np.int64((first + begin) // width)
            inside = True
            for i in range(axes - 1):
                axis = axes - 2 - i
                there = left % shape[axis] + offsets[d, axis]
                left //= shape[axis]
                inside &= there >= 0 and there < shape[axis]
            reach = offsets[d, axes - 1]
            if not inside or reach >= shape[axes - 1] or -reach >= shape[axes - 1]:
                continue
            x = np.uint64(max(0, -reach))
            last = np.uint64(min(shape[axes - 1], shape[axes - 1] - reach))
            p = pad + first + begin + x
            arc = place(state, p, d)
            if symmetric:
                back = place(state, head(state, p, d), opposite(state, d))
                while x < last:
                    amount = capacity[row, begin + x]
                    residual[arc] = amount
                    residual[back] = amount
                    arc += degree
                    back += degree
                    x += ONE
            else:
                while x < last:
                    residual[arc] = capacity[row, begin + x]
                    arc += degree
                    x += ONE
        begin += width


@kernel
def add_flow(
    state: GridState, pad: np.uint64, flow: NDArray[np.int64], first: np.uint64, count: np.uint64, alone: bool
) -> None:
    """Send flow from a run of pixels in every forward direction, cut off at the capacities.

    Unless the thread is `alone`, other threads send flow from other pixels at the same time.
    """
    terminal = state.terminal
    for pair in range(len(flow)):
        d = np.uint64(2 * pair)
        p = pad + first
        i = ZERO
        while i < count:
            wanted = flow[pair, i]
            if wanted != 0:
                q = head(state, p, d)
                amount = min(wanted, capacity(state, p, q, d, False))
                amount = max(amount, -capacity(state, p, q, d, True))
                push_along(state, p, q, d, amount)
                add(alone, terminal, p, -amount)
                add(alone, terminal, q, amount)
            p += ONE
            i += ONE


def grid_state(grid: IntegerGrid, start: Any | None = None, threads: int = 1) -> GridState:
    """Return the state of a grid with no flow, or with an earlier flow cut off at the capacities.

    `start` is such a flow, or the state that another method left, which is returned.

    Capacities are converted run by run. So arrays of any integer dtype and any strides, including 0, are read
    once and never copied as a whole.
    """
    if isinstance(start, GridState):
        return start
    shape = tuple(grid.shape)
    offsets = np.ascontiguousarray(grid.offsets, dtype=np.int64)
    pixels, degree = math.prod(shape), len(offsets)
    pad = grid.padding
    size = pixels + 2 * pad
    number = state_dtype(grid)
    state = GridState(
        np.zeros(size * degree, dtype=number),
        np.zeros(size, dtype=number),
        grid.steps.astype(np.uint64),
    )
    inner = state.terminal[pad : pad + pixels].reshape(shape)
    lengths = np.array(shape, dtype=np.int64)
    chunk = CHUNK_ALONE if threads == 1 else CHUNK
    axis, length = plan_chunks(shape, chunk)
    longest = length * math.prod(shape[axis + 1 :])
    runs = list(chunks(shape, chunk))

    def convert(begin: int, end: int) -> None:
        capacity = np.empty((len(grid.neighbor), longest), dtype=number)
        for index, first, count in runs[begin:end]:
            net = inner[index]
            np.subtract(grid.source[index], grid.sink[index], out=net, dtype=np.int64, casting="unsafe")
            for values, row in zip(grid.neighbor, capacity, strict=True):
                part = values[index]
                np.copyto(row[:count].reshape(part.shape), part, casting="unsafe")
            add_capacities(
                state,
                np.uint64(pad),
                capacity,
                lengths,
                offsets,
                np.uint64(first),
                np.uint64(count),
                bool(grid.symmetric),
            )

    run_pieces(convert, len(runs), threads)
    if start is not None:
        flows = [start.flow(pair) for pair in range(degree // 2)]

        def send(begin: int, end: int) -> None:
            flow = np.empty((len(flows), longest), dtype=np.int64)
            for index, first, count in runs[begin:end]:
                for values, row in zip(flows, flow, strict=True):
                    part = values[index]
                    np.copyto(row[:count].reshape(part.shape), part)
                add_flow(state, np.uint64(pad), flow, np.uint64(first), np.uint64(count), threads == 1)

        run_pieces(send, len(runs), threads)
    return state


def state_dtype(grid: IntegerGrid) -> DType:
    """Return the dtype of both residual capacities and excess.

    With one dtype kernels are compiled for int32 and int64 only, not for all pairs. int16 saved no time.
    """
    return np.promote_types(np.promote_types(grid.residual_dtype, grid.excess_dtype), np.int32)


def interior(grid: IntegerGrid) -> tuple[AnyArray, AnyArray]:
    """Return the number of the first pixel, and one past that of the last."""
    pad = grid.padding
    return np.uint64(pad), np.uint64(pad + math.prod(grid.shape))


def grid_solution(
    grid: IntegerGrid, state: GridState, sink_side: NDArray[np.bool_], finished: bool
) -> GridSolution:
    """Return the solution that a state holds, as views of it."""
    first, last = interior(grid)
    shape, degree = tuple(grid.shape), len(state.step)
    residual = state.residual.reshape(-1, degree)[first:last].reshape(*shape, degree)
    return GridSolution(
        sink_side=sink_side.reshape(shape),
        finished=finished,
        residual=residual.transpose(len(shape), *range(len(shape))),
        terminal=state.terminal[first:last].reshape(shape),
    )


def deficits_reach(grid: IntegerGrid, state: GridState) -> NDArray[np.bool_]:
    """Return for every pixel whether a pixel with a deficit can be reached from it."""
    first, last = interior(grid)
    reaches = np.zeros(len(state.terminal), dtype=np.uint8)
    search_from_deficits(state, first, last, reaches, np.empty(int(last - first), dtype=np.uint64))
    return reaches[first:last].view(np.bool_)


@kernel
def add_up_terminals(state: GridState, first: np.uint64, last: np.uint64, sums: NDArray[np.int64]) -> None:
    """Add the excess of a run of pixels to ``sums[0]``, and its deficits, negative, to ``sums[1]``."""
    excess = np.int64(0)
    deficits = np.int64(0)
    p = first
    while p < last:
        amount = np.int64(state.terminal[p])
        excess += max(amount, np.int64(0))
        deficits += min(amount, np.int64(0))
        p += ONE
    sums[0] += excess
    sums[1] += deficits


@kernel
def search_from_deficits(
    state: GridState, first: np.uint64, last: np.uint64, reaches: NDArray[np.uint8], found: NDArray[np.uint64]
) -> None:
    """Mark the pixels from which a pixel with a deficit can be reached; `found` has room for all of them.

    The search takes the pixel found last, because the cache has most of its neighbours.
    """
    degree = np.uint64(len(state.step))
    p = first
    while p < last:
        if state.terminal[p] < 0 and reaches[p] == 0:
            reaches[p] = 1
            found[ZERO] = p
            size = ONE
            while size > ZERO:
                size -= ONE
                v = found[size]
                for direction in range(degree):
                    d = np.uint64(direction)
                    q = head(state, v, d)
                    if reaches[q] == 0 and capacity(state, v, q, d, True) > 0:
                        reaches[q] = 1
                        found[size] = q
                        size += ONE
        p += ONE
