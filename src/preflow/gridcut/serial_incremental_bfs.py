"""Incremental breadth-first search on a grid, on one thread.

Goldberg, Hed, Kaplan, Tarjan and Werneck 2011, and with Kohli 2015. :mod:`preflow.forests.incremental_search`
has the search, its definitions, invariants, pseudo-code and departures from the papers.

Two steps come before the search, because most paths on images are short:

- A sweep over all pixels, in the order of memory, pushes excess to neighbours that have a deficit.
- The grid is divided into small boxes. From the pixels of each box in turn, both forests grow by a few
  levels. The state of a box stays in the cache while the search reads and writes it; the state of a level of
  the whole grid does not fit. Measured: boxes make the method 1.4 to 1.8 times as fast on noisy images and
  volumes, and no slower where only a few seeds have terminal capacities.

Pseudo-code::

    sweep over all pixels
    make a root of each pixel with excess or a deficit
    for each box:
        append its pixels that are in a forest to the queues of the box
        grow both forests by `box_levels` levels
        move the pixels that can grow further to the queues of the grid
    search from the queues of the grid until the sink's forest cannot grow
    if the work limit was reached: give up
    the sink's forest is the sink side of the cut

The budget is in orphans per arc; 4 pixels of augmenting paths count as an orphan. The search also gives up
where there were many more orphans than pixels of augmenting paths. With more than 8 neighbours the limit is
larger in proportion.

The invariants of the search hold with boxes, too. But labels need not be the least possible: the label of a
pixel is at least the number of pixels on the path to its root, and this path need not be the shortest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Int64
from ..forests.incremental_search import (
    DEPTH,
    SINK,
    SOURCE,
    WORK_LEFT,
    Forests,
    append_queues,
    check_work_limit,
    enqueue_run,
    forests_of_part,
    grow,
    make_forests,
    make_roots,
    search_all,
    set_work_limit,
    with_more_levels,
)
from ..forests.paths import sweep
from ..graph.integer_grid import IntegerGrid
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.two_queues import HEAD
from ..solving.monitor import Monitor
from ..solving.options import CheckedOptions, NonNegativeInteger
from ..solving.run import Control
from ..stats import PUSHES
from .pixel_major import GridState, deficits_reach, grid_solution, grid_state, interior
from .solution import GridFlow, GridSolution

#: Number of pixels of a box. The state of a box, and of the pixels around it that its forests reach, fits in
#: a core's cache.
BOX = 1 << 12


@dataclass(frozen=True)
class IncrementalBfsOptions(CheckedOptions):
    """Options of incremental breadth-first search.

    Attributes
    ----------
    sweep : bool
        Push excess to neighbours with a deficit before the search.
    box_levels : int
        Number of levels by which both forests grow from each box in turn, before they grow everywhere; 0 for
        no boxes.
    """

    sweep: bool = True
    box_levels: NonNegativeInteger = 7


class Boxes(NamedTuple):
    """The boxes of a grid."""

    #: index of the grid's first pixel: unused entries come before it, see :mod:`.pixel_major`
    pad: np.uint64
    shape: NDArray[np.int64]  #: shape (axes,): shape of the grid
    #: shape (boxes, 2, axes): lowest index of each box along each axis, and its highest index plus one
    corners: NDArray[np.int64]


def make_boxes(shape: tuple[int, ...], pad: Any) -> Boxes:
    """Divide a grid into boxes of about BOX pixels."""
    side = max(1, round(BOX ** (1 / len(shape))))
    low = np.array([*product(*(range(0, length, side) for length in shape))], dtype=np.int64)
    corners = np.empty((len(low), 2, len(shape)), dtype=np.int64)
    corners[:, 0] = low
    np.minimum(low + side, shape, out=corners[:, 1])
    return Boxes(pad, np.array(shape, dtype=np.int64), corners)


@kernel
def enqueue_box(forests: Forests, boxes: Boxes, box: Int64) -> None:
    """Queue all pixels of a box that are in a forest."""
    shape, low, high = boxes.shape, boxes.corners[box, 0], boxes.corners[box, 1]
    axes = len(shape)
    rows = np.int64(1)
    for axis in range(axes - 1):
        rows *= high[axis] - low[axis]
    width = np.uint64(high[axes - 1] - low[axes - 1])
    for row in range(rows):
        left = np.int64(row)
        place = low[axes - 1]
        stride = np.int64(shape[axes - 1])
        for i in range(axes - 1):
            axis = axes - 2 - i
            length = high[axis] - low[axis]
            place += (low[axis] + left % length) * stride
            left //= length
            stride *= shape[axis]
        first = boxes.pad + np.uint64(place)
        enqueue_run(forests, first, first + width)


@kernel
def grow_from_boxes(
    state: GridState, forests: Forests, near: Forests, boxes: Boxes, levels: np.uint64, monitor: Monitor
) -> None:
    """Grow both forests by `levels` levels from each box in turn.

    `near` has the queues of one box at a time. The pixels that can grow further go to those of `forests`.
    """
    for box in range(len(boxes.corners)):
        if relaxed_load(monitor.stop, 0) != 0:
            return
        enqueue_box(near, boxes, box)
        # The depth limits the labels that orphans may take. It does not start at 1, since trees of earlier
        # boxes have labels up to `levels`: an orphan of such a tree may keep its label or take a larger one.
        near.cursor[DEPTH + SOURCE] = levels
        near.cursor[DEPTH + SINK] = levels
        level = ZERO
        while level < levels:
            grow(state, near, True, monitor)
            grow(state, near, False, monitor)
            level += ONE
        append_queues(forests, near)
        near.cursor[HEAD + SOURCE] = ZERO
        near.cursor[HEAD + SINK] = ZERO


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: IncrementalBfsOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid on one thread.

    O(pixels * arcs * value of the cut) time. The paper proves O(pixels**2 * arcs) for labels that are exact
    distances. Here they are not, because of the boxes, and because an orphan moves by at most two levels.
    Memory: for D neighbours D residual capacities and about 23 bytes per pixel. The `sink_side` is the sink's
    forest; of a stopped solve, the set of pixels that can still reach a deficit.
    """
    state = grid_state(grid, start)
    first, last = interior(grid)
    if options.sweep:
        control.counts[PUSHES] += sweep(state, first, last)
    forests = make_forests(state, int(last - first))
    set_work_limit(forests, control.budget, int(last - first), len(state.step))
    make_roots(state, forests, first, last)
    if options.box_levels:
        while len(forests.first_orphan) < 2 * (options.box_levels + 1):
            forests = with_more_levels(forests)
        near = forests_of_part(forests, int(last - first))._replace(first_orphan=forests.first_orphan)
        set_work_limit(near, control.budget, int(last - first), len(state.step))
        boxes, levels = make_boxes(tuple(grid.shape), first), np.uint64(options.box_levels)
        grow_from_boxes(state, forests, near, boxes, levels, control.monitor())
        forests.cursor[WORK_LEFT:] = near.cursor[WORK_LEFT:]
    else:
        enqueue_run(forests, first, last)
    forests = search_all(state, forests, control.monitor())
    check_work_limit(control, state)
    if control.stopped:
        control.check_wanted()
        return grid_solution(grid, state, deficits_reach(grid, state), False)
    return grid_solution(grid, state, forests.label[first:last] < 0, True)
