"""Lock-free push-relabel on a grid: Hong's algorithm on many cores, with global relabels.

Hong (IPDPS 2008), as in Łupińska, section 4.4. A thread that holds an active pixel finds its lowest residual
neighbour. If that is lower than the pixel, the thread pushes the excess to it; otherwise it lifts the pixel
to just above it. :mod:`preflow.parallel.lockfree` has the kernels, their invariants and their pseudo-code for
general networks.

A grid stores no arcs, so this file computes what those kernels read from memory: where the arcs of a vertex
begin, the heads of arcs, and their opposites. Arc ``p * degree + d`` leads from pixel p in direction d; its
residual capacity is ``residual[p * degree + d]`` of :mod:`.pixel_major`. The kernels index the classes below
like arrays; ``multicore_lockfree_numba.py`` tells Numba how.

On images the methods that search for paths are several times as fast, see :mod:`.multicore_merging`. This
method goes on when a search reaches its work limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Integers, Number
from ..graph.integer_grid import IntegerGrid
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..kernels.overloads import numba_overloads
from ..parallel.lockfree import push_relabel
from ..solving.options import CheckedOptions, PositiveNumber
from ..solving.run import Control
from .pixel_major import GridState, grid_solution, grid_state, interior
from .solution import GridFlow, GridSolution

numba_overloads(__name__)


@dataclass(frozen=True)
class GridLockFreeOptions(CheckedOptions):
    """Options of the lock-free solver.

    Attributes
    ----------
    relabel_period : float or None
        A global relabel runs after every ``relabel_period * n`` relabels of all threads; None: never.
    """

    relabel_period: PositiveNumber | None = 1.0


@kernel
def head_of(step: NDArray[np.uint64], degree: np.uint64, arc: np.uint64) -> Number:
    """Return the head of an arc."""
    pixel = np.uint64(arc) // degree
    return pixel + step[np.uint64(arc) - pixel * degree]


@kernel
def opposite(step: NDArray[np.uint64], degree: np.uint64, arc: np.uint64) -> Number:
    """Return the opposite arc."""
    pixel = np.uint64(arc) // degree
    direction = np.uint64(arc) - pixel * degree
    return (pixel + step[direction]) * degree + (direction ^ ONE)


class FirstOut(NamedTuple):
    """The first arc of each pixel, computed."""

    #: shape (degree,): as in :class:`preflow.gridcut.pixel_major.GridState`
    step: NDArray[np.uint64]
    #: number of directions. It is no compile-time constant, because many values occur.
    degree: np.uint64


class Heads(NamedTuple):
    """The head of each arc, computed; attributes as in :class:`FirstOut`."""

    step: NDArray[np.uint64]
    degree: np.uint64


class Reverses(NamedTuple):
    """The opposite of each arc, computed; attributes as in :class:`FirstOut`."""

    step: NDArray[np.uint64]
    degree: np.uint64


class ImplicitNetwork(NamedTuple):
    """A grid with the attributes of :class:`preflow.graph.residual.ResidualArrays` that the kernels read."""

    first_out: FirstOut
    head: Heads
    reverse: Reverses
    residual: Integers
    excess: NDArray[np.int64]
    sink_residual: NDArray[np.int64]


def implicit_network(state: GridState) -> ImplicitNetwork:
    """Return a grid as a residual network that shares its residual capacities."""
    arcs = state.step, np.uint64(len(state.step))
    excess = state.terminal.astype(np.int64)
    sink_residual = np.maximum(-excess, 0)
    np.maximum(excess, 0, out=excess)
    return ImplicitNetwork(
        FirstOut(*arcs), Heads(*arcs), Reverses(*arcs), state.residual, excess, sink_residual
    )


def solve(
    grid: IntegerGrid, start: GridFlow | GridState | None, options: GridLockFreeOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid.

    O(n^2) pushes and relabels per pixel. Memory: the state, three indices and 16 bytes of excess per pixel.
    """
    state = grid_state(grid, start, control.threads)
    net = implicit_network(state)
    index = np.uint32 if len(net.excess) + 1 < 2**32 else np.uint64
    height = push_relabel(net, index, options.relabel_period, False, control)
    np.subtract(net.excess, net.sink_residual, out=state.terminal, casting="unsafe")
    first, last = interior(grid)
    sink_side = height[first:last] <= len(height)
    finished = not bool(net.excess[first:last][sink_side].any())
    return grid_solution(grid, state, sink_side, finished)
