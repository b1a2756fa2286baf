"""Adaptive bottom-up merging on grids: blocks are searched alone, then merged, on many cores.

:mod:`preflow.forests.merging` has the method, its paper, definitions and departures. Here a block is a box of
the grid (:mod:`.blocks`), and the next partition has half as many boxes along each axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...forests.incremental_search import Forests, check_work_limit
from ...forests.merging import FEW_BLOCKS, blocks_wanted, search_in_parts
from ...graph.integer_grid import IntegerGrid
from ...parallel.pieces import run_pieces
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from ..pixel_major import GridState, deficits_reach, grid_solution, grid_state, interior
from ..solution import GridFlow, GridSolution
from .blocks import coarser_boxes, make_parts, plan_boxes


@dataclass(frozen=True)
class MergingOptions(CheckedOptions):
    """Options of adaptive bottom-up merging.

    Attributes
    ----------
    blocks : int or None
        Approximate number of blocks of the first partition; None chooses it from the grid and the threads.
    repartition : bool
        Search coarser partitions, each across the faces of the last one, until there are few blocks; then
        merge. False merges the blocks of the first partition.
    """

    blocks: PositiveInteger | None = None
    repartition: bool = True


def search_in_blocks(
    state: GridState,
    shape: tuple[int, ...],
    offsets: NDArray[np.int64],
    options: MergingOptions,
    control: Control,
) -> Forests:
    """Make the flow of a state maximum; return the forests, with empty queues of no length.

    The sink's forest is complete, unless the solve is stopped, or its work limit is reached.
    """
    pixels = math.prod(shape)
    pad = (len(state.terminal) - pixels) // 2
    boxes = [plan_boxes(shape, pad, blocks_wanted(pixels, control.threads, options.blocks))]
    while options.repartition and boxes[-1].counts.prod() > FEW_BLOCKS:
        boxes.append(coarser_boxes(boxes[-1]))
    parts = [make_parts(each, offsets, state, control.threads) for each in boxes]
    return search_in_parts(state, parts, pixels, len(state.step), control)


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: MergingOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid.

    Memory beside the state: 10 bytes per pixel, the capacities of closed arcs, and for each thread up to 8
    bytes per pixel of its region.
    """
    state = grid_state(grid, start, control.threads)
    first, last = map(int, interior(grid))
    forests = search_in_blocks(state, tuple(grid.shape), grid.offsets, options, control)
    check_work_limit(control, state)
    if control.stopped:
        control.check_wanted()
        sink_side = deficits_reach(grid, state)
        settled = not bool((state.terminal[first:last][sink_side] > 0).any())
        return grid_solution(grid, state, sink_side, settled)
    label = forests.label[first:last]
    sink_side = np.empty(last - first, dtype=np.bool_)

    def mark(begin: int, end: int) -> None:
        np.less(label[begin:end], 0, out=sink_side[begin:end])

    run_pieces(mark, last - first, control.threads)
    return grid_solution(grid, state, sink_side, True)
