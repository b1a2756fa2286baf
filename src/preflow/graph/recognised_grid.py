"""Networks of arcs whose vertices are the pixels of a grid: find the grid, so that no arcs need be stored.

Definitions
-----------
- An *inner* vertex is one that is neither the source nor the sink. Inner vertices keep their order and are
  numbered from 0.
- The *step* of an arc between inner vertices is the larger of their numbers minus the smaller one.
- A network is a grid if its inner vertices, in this order, are the pixels of an image or of a volume in C
  order, and every arc between them leads to one of the 8 (or 26) pixels around. Arcs may come in any order,
  several of them may join the same two pixels, and those that are missing have capacity 0.

Pseudo-code
-----------
::

    take a sample of the arcs; give up if they have too many different steps            sampled_steps
    list the shapes whose neighbours have these steps; give up if there are none        possible_shapes
    add up the capacities of all arcs by pixel and direction;                           add_arcs
        give up at an arc with another step
    take the first shape in which no capacity leaves the grid                           leaves_grid

What the sample says is never trusted: the third step reads every arc, and the last one every border.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64, Integers, Numbers
from ..kernels.atomics import add
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.pieces import run_pieces
from .grid import GridNetwork
from .neighbourhood import named_neighbourhoods, pair_boxes
from .network import FlowNetwork
from .solved_capacities import solved_capacities

#: Arcs in the sample. Where a step has one arc in 400, one sample in 30,000 misses it.
SAMPLE = 4096
#: Arcs in a first sample, which most networks that are no grids do not pass.
FIRST_SAMPLE = 128
#: The fractional part of the golden ratio: its multiples modulo 1 are spread evenly, with no period that the
#: order of the arcs could share.
GOLDEN = 0.6180339887498949
#: Most pairs of opposite directions: those of the 26 neighbours in a volume.
MOST_STEPS = 13
#: Fewest pixels along an axis: in narrower grids two directions have the same step.
LEAST_SIDE = 3
#: Input arcs per thread that adds up capacities, as for other networks.
ARCS_A_THREAD = 150_000
#: All sums of capacities stay below this.
MOST_IN_ALL = 2.0**61
#: What `add_arcs` returns.
ADDED, OTHER_STEP, TOO_LARGE = 0, 1, 2


class Arcs(NamedTuple):
    """The arcs as the user gave them, with capacities as solvers use them."""

    #: uint32, shape (m,)
    tail: Indices
    head: Indices
    capacity: Numbers  #: int64 or float64, shape (m,): whole numbers
    reverse_capacity: Numbers  #: the same dtype, shape (m,) or (0,): empty means zero everywhere


class Numbering(NamedTuple):
    """How vertices are pixels."""

    #: the vertices that are no pixels
    source: np.uint64
    sink: np.uint64
    steps: NDArray[np.uint64]  #: shape (K,): the steps that arcs between neighbours have


class PixelCapacities(NamedTuple):
    """The sums of the capacities of all arcs, by pixel and direction."""

    #: shape (n,): from the source to each pixel, and from each pixel to the sink
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    #: int32 or int64, shape (2 K * n,): ``neighbor[2 * k * n + p]`` is the capacity from pixel p to
    #: ``p + steps[k]``, and ``neighbor[(2 * k + 1) * n + p]`` that to ``p - steps[k]``
    neighbor: Integers


@dataclass(frozen=True, eq=False)
class RecognisedGrid:
    """A network of arcs as a grid."""

    grid: GridNetwork  #: its pixels are the inner vertices
    #: shape (K,): the step of each pair of opposite directions of the grid
    steps: NDArray[np.uint64]
    direct: int  #: the capacity straight from the source to the sink


def by_vertex(pixels: Array, source: int, sink: int, *, of_source: bool) -> NDArray[np.bool_]:
    """Return an array of bool by vertex, given one by pixel, `of_source` and, for the sink, its opposite."""
    first, second = sorted((source, sink))
    flat = pixels.reshape(-1)
    whole = np.empty(len(flat) + 2, dtype=bool)
    whole[:first] = flat[:first]
    whole[first + 1 : second] = flat[first : second - 1]
    whole[second + 1 :] = flat[second - 1 :]
    whole[source], whole[sink] = of_source, not of_source
    return whole


def recognise_grid(network: FlowNetwork, source: int, sink: int, threads: int = 1) -> RecognisedGrid | None:
    """Return the grid that a network is, or None if it is none.

    None also if capacities are not whole or so large that sums may pass int64. UnboundedFlowError: the source
    reaches the sink over arcs of infinite capacity.
    """
    size = network.num_vertices - 2
    if network.num_arcs == 0 or network.tail.dtype != np.uint32:
        return None
    steps = sampled_steps(network, source, sink)
    shapes = [] if steps is None else list(possible_shapes(size, steps))
    if steps is None or not shapes:
        return None
    threads = min(threads, max(1, network.num_arcs // ARCS_A_THREAD))
    solved = solved_capacities(network, np.array([source]), np.array([sink]), threads)
    if solved.scale_exponent is not None:
        return None
    arcs = Arcs(network.tail, network.head, *solved.both())
    numbering = Numbering(np.uint64(source), np.uint64(sink), np.array(steps, dtype=np.uint64))
    added = pixel_capacities(arcs, numbering, size, threads)
    if added is None:
        return None
    capacities, direct = added
    for shape, offsets in shapes:
        neighbor = capacities.neighbor.reshape(2 * len(steps), *shape)
        if not leaves_grid(neighbor, offsets):
            source_capacity, sink_capacity = (values.reshape(shape) for values in capacities[:2])
            grid = GridNetwork.from_arrays(
                source_capacity, sink_capacity, neighbor, connectivity=offsets, threads=threads
            )
            return RecognisedGrid(grid, numbering.steps, direct)
    return None


def sampled_steps(network: FlowNetwork, source: int, sink: int) -> list[int] | None:
    """Return the steps of a sample of the arcs, ascending; None if they are too many for a grid."""
    arcs = network.num_arcs
    steps: list[int] = []
    for size in (FIRST_SAMPLE, SAMPLE):
        places = np.arange(arcs) if arcs <= size else np.arange(size) * GOLDEN % 1.0 * arcs
        sample = places.astype(np.int64)
        ends = np.stack([network.tail[sample], network.head[sample]]).astype(np.int64)
        inner = ends[:, ((ends != source) & (ends != sink)).all(axis=0) & (ends[0] != ends[1])]
        numbers = inner - (inner > source) - (inner > sink)
        steps = np.unique(abs(numbers[0] - numbers[1])).tolist()
        if len(steps) > MOST_STEPS:
            return None
    return steps if len(steps) > 1 else None


def possible_shapes(size: int, steps: list[int]) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Yield the shapes of `size` pixels whose neighbours have these steps, with the offset of each step.

    Examples
    --------
    >>> list(possible_shapes(20, [1, 5]))
    [((4, 5), [(0, 1), (1, 0)])]
    >>> next(possible_shapes(60, [1, 5, 20]))
    ((3, 4, 5), [(0, 0, 1), (0, 1, 0), (1, 0, 0)])
    """
    if steps[0] != 1 or len(steps) < 2:
        return
    for width in (steps[1], steps[1] + 1):
        if width < LEAST_SIDE or size % width != 0:
            continue
        others = [step for step in steps if step > width + 1]
        planes: list[tuple[int, ...]] = [(size // width, width)]
        if others:
            areas = sorted({others[0] + more for more in (0, 1, width - 1, width, width + 1)})
            planes = [
                (size // area, area // width, width)
                for area in areas
                if area % width == 0 and size % area == 0 and area >= LEAST_SIDE * width
            ]
        for shape in planes:
            strides = [1, *itertools.accumulate(shape[:0:-1], int.__mul__)][::-1]
            around = list(named_neighbourhoods(len(shape)).values())[-1]
            by_step = {sum(map(int.__mul__, offset, strides)): offset for offset in around}
            if all(step in by_step for step in steps):
                yield shape, [by_step[step] for step in steps]


def leaves_grid(neighbor: Integers, offsets: list[tuple[int, ...]]) -> bool:
    """Whether any capacity belongs to an arc out of the grid, which would end at its other side."""
    shape = neighbor.shape[1:]
    for pair, offset in enumerate(offsets):
        for capacity, here in zip(neighbor[2 * pair : 2 * pair + 2], pair_boxes(shape, offset), strict=True):
            for axis, side in enumerate(here):
                index = [slice(None)] * len(shape)
                for edge in (slice(0, side.start), slice(side.stop, shape[axis])):
                    index[axis] = edge
                    if capacity[tuple(index)].any():
                        return True
    return False


def pixel_capacities(
    arcs: Arcs, numbering: Numbering, size: int, threads: int
) -> tuple[PixelCapacities, int] | None:
    """Return the sums of the capacities of all arcs, and that straight from the source to the sink.

    Return None if an arc has another step than those of the numbering, or if the sums are too large.
    """
    for dtype in (np.int32, np.int64):
        sums = PixelCapacities(
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.int64),
            np.zeros(2 * len(numbering.steps) * size, dtype=dtype),
        )
        limit = np.int64(np.iinfo(dtype).max // 2)  # a sum that passes it still fits

        def add_piece(
            begin: int, end: int, limit: Int64 = limit, sums: PixelCapacities = sums
        ) -> tuple[int, Int64, float]:
            return add_arcs(arcs, numbering, begin, end, threads == 1, limit, sums)

        outcomes, direct, total = zip(*run_pieces(add_piece, len(arcs.tail), threads), strict=True)
        if OTHER_STEP in outcomes or not sum(total) < MOST_IN_ALL:
            return None
        if TOO_LARGE not in outcomes:
            return sums, sum(map(int, direct))
    return None


@kernel
def inner_number(vertex: np.uint64, source: np.uint64, sink: np.uint64) -> np.uint64:
    """Return the number of an inner vertex among the inner vertices."""
    return vertex - (ONE if vertex > source else ZERO) - (ONE if vertex > sink else ZERO)


@kernel
def is_terminal(vertex: np.uint64, source: np.uint64, sink: np.uint64) -> bool:
    """Whether a vertex is the source or the sink."""
    return bool(vertex == source) or bool(vertex == sink)


@kernel
def add_arcs(
    arcs: Arcs,
    numbering: Numbering,
    begin: Int64,
    end: Int64,
    alone: bool,
    limit: Int64,
    sums: PixelCapacities,
) -> tuple[int, Int64, float]:
    """Add up the capacities of some arcs by pixel and direction.

    Unless `alone`, other threads do so for other arcs at the same time. Return ADDED, OTHER_STEP at an arc
    between pixels that are no neighbours, or TOO_LARGE past the limit; the capacity straight from the source
    to the sink; and about the sum of all capacities. What was added has no meaning if that passes
    MOST_IN_ALL.
    """
    source, sink, steps = numbering
    n = np.uint64(len(sums.source))
    has_reverse = len(arcs.reverse_capacity) > 0
    direct, total = np.int64(0), 0.0
    k = ZERO
    for i in range(np.uint64(begin), np.uint64(end)):
        tail, head = np.uint64(arcs.tail[i]), np.uint64(arcs.head[i])
        capacity = np.int64(arcs.capacity[i])
        reverse = np.int64(arcs.reverse_capacity[i]) if has_reverse else np.int64(0)
        total += np.float64(capacity) + np.float64(reverse)
        if total >= MOST_IN_ALL:
            return OTHER_STEP, direct, total
        if is_terminal(tail, source, sink) or is_terminal(head, source, sink):
            if tail == head:
                continue
            forth = tail == source or head == sink
            amount = capacity if forth else reverse
            start, finish = (tail, head) if forth else (head, tail)
            if start == source and finish == sink:
                direct += amount
            elif start == source:
                add(alone, sums.source, inner_number(finish, source, sink), amount)
            elif finish == sink:
                add(alone, sums.sink, inner_number(start, source, sink), amount)
            continue
        if tail == head:
            continue
        u, v = inner_number(tail, source, sink), inner_number(head, source, sink)
        step = v - u if v > u else u - v
        if steps[k] != step:
            k = ZERO
            while k < np.uint64(len(steps)) and steps[k] != step:
                k += ONE
            if k == np.uint64(len(steps)):
                return OTHER_STEP, direct, total
        forward = (k + k + (ZERO if v > u else ONE)) * n + u
        backward = (k + k + (ONE if v > u else ZERO)) * n + v
        if capacity > limit or reverse > limit:
            return TOO_LARGE, direct, total
        if capacity > 0 and np.int64(add(alone, sums.neighbor, forward, capacity)) > limit - capacity:
            return TOO_LARGE, direct, total
        if reverse > 0 and np.int64(add(alone, sums.neighbor, backward, reverse)) > limit - reverse:
            return TOO_LARGE, direct, total
    return ADDED, direct, total
