"""Lock-free push-relabel on a grid: Hong's algorithm on many cores, with global relabels.

Hong (IPDPS 2008), as in Łupińska, section 4.4. A thread that holds an active pixel finds its lowest residual
neighbour. If that is lower than the pixel, the thread pushes the excess to it; otherwise it lifts the pixel
to just above it. :mod:`preflow.parallel.lockfree` has the kernels, their invariants and their pseudo-code.

On images the methods that search for paths are several times as fast, see :mod:`.multicore_merging`. This
method goes on when a search reaches its work limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Integers
from ..graph.integer_grid import IntegerGrid
from ..parallel.lockfree import push_relabel
from ..solving.options import CheckedOptions, InitialLabels, PositiveNumber
from ..solving.run import Control
from .pixel_major import GridState, grid_solution, grid_state, interior
from .solution import GridFlow, GridSolution


@dataclass(frozen=True)
class GridLockFreeOptions(CheckedOptions):
    """Options of the lock-free solver.

    Attributes
    ----------
    relabel_period : float or None
        A global relabel runs after every ``relabel_period * n`` relabels of all threads; None: never.
    initial_labels : {"exact", "zero"}
        Start with a search for exact labels, or with label 0 on all pixels, as Hong prints it.
    """

    relabel_period: PositiveNumber | None = 1.0
    initial_labels: InitialLabels = "exact"


class LockFreeGrid(NamedTuple):
    """A grid whose arcs :mod:`preflow.network.grid` reads, with excess and capacities to the sink apart."""

    residual: Integers  #: as in :class:`preflow.gridcut.pixel_major.GridState`
    step: NDArray[np.uint64]  #: the same
    excess: NDArray[np.int64]
    sink_residual: NDArray[np.int64]


def solve(
    grid: IntegerGrid, start: GridFlow | GridState | None, options: GridLockFreeOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid.

    O(n^2) pushes and relabels per pixel. Memory: the state, three indices and 16 bytes of excess per pixel.
    """
    state = grid_state(grid, start, control.threads)
    excess = state.terminal.astype(np.int64)
    net = LockFreeGrid(state.residual, state.step, excess, np.maximum(-excess, 0))
    np.maximum(excess, 0, out=excess)
    index = np.uint32 if len(net.excess) + 1 < 2**32 else np.uint64
    height = push_relabel(net, index, options.relabel_period, False, control, options.initial_labels)
    np.subtract(net.excess, net.sink_residual, out=state.terminal, casting="unsafe")
    first, last = interior(grid)
    sink_side = height[first:last] <= len(height)
    finished = not bool(net.excess[first:last][sink_side].any())
    return grid_solution(grid, state, sink_side, finished)
