"""The residual grid of the published GPU methods, direction after direction, and its exact search.

No arc is stored. The state has one array of residual capacities per direction, and for every pixel its
excess, or as a negative number the capacity left to the sink (a deficit). Numbers have 32 bits where they
fit, else 64, because atomic operations of the GPU take no fewer.

One search serves as global relabel and as gap relabel: it goes backwards from all pixels with a deficit,
level by level, and gives the pixels that it does not reach height n + 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..cuda.launches import count_search, relabel_time
from ..cuda.runtime import Device, Macros
from ..cuda.structs import U32, U64, ConstU32
from ..errors import InvalidInputError
from ..graph.integer_grid import IntegerGrid
from ..solving.run import Control
from .solution import GridFlow, GridSolution, initial_state

SOURCE = Path(__file__).with_suffix(".cu")
#: Pixel numbers have 31 bits, so that the kernels recognise arcs past either end of the grid.
MOST_PIXELS = 2**31 - 1
#: Length of `SearchArguments.counters`, in words of 64 bits.
COUNTER_WORDS = 64


class DeviceGrid(NamedTuple):
    """``Grid`` in direction_major.cuh."""

    residual: Annotated[AnyArray, "CapacityWord*"]
    terminal: Annotated[AnyArray, "TerminalWord*"]
    step: ConstU32  #: modulo 2**32: a head past either end of the grid is not below num_pixels
    num_pixels: int  #: below 2**31

    @property
    def constants(self) -> Macros:
        """Macros that kernels on this grid are compiled with."""
        return (
            ("DIRECTIONS", len(self.residual)),
            ("CAPACITY_BITS", 8 * self.residual.dtype.itemsize),
            ("TERMINAL_BITS", 8 * self.terminal.dtype.itemsize),
        )


class SearchArguments(NamedTuple):
    """Arguments of "search_at_rest"."""

    grid: DeviceGrid
    height: U32
    order: U32  #: room for all pixels
    counters: U32  #: arrivals at the barrier, and the sizes of levels; zero before the launch
    active: U64  #: sum of the excess that can reach the sink; zero before the launch


def make_state(device: Device, grid: IntegerGrid, start: GridFlow | None) -> DeviceGrid:
    """Return the state of a grid on the device before a solve.

    InvalidInputError: the grid has 2**31 pixels or more.
    """
    if grid.size > MOST_PIXELS:
        raise InvalidInputError(f"the method takes at most {MOST_PIXELS:,} pixels, got {grid.size:,}")
    residual, terminal = initial_state(grid, start)
    if residual.dtype.itemsize < 4:
        residual = residual.astype(np.int32)
    step = device.xp.asarray((grid.steps % 2**32).astype(np.uint32))
    return DeviceGrid(
        residual=residual.reshape(len(residual), -1),
        terminal=terminal.reshape(-1),
        step=step,
        num_pixels=grid.size,
    )


def make_search(device: Device, grid: DeviceGrid) -> SearchArguments:
    """Return the arguments of an exact search; its heights are not set yet."""
    xp, n = device.xp, grid.num_pixels
    return SearchArguments(
        grid=grid,
        height=xp.empty(n, dtype=np.uint32),
        order=xp.empty(n, dtype=np.uint32),
        counters=xp.zeros(COUNTER_WORDS, dtype=np.uint64),
        active=xp.zeros(1, dtype=np.uint64),
    )


def begin(device: Device, grid: IntegerGrid, start: GridFlow | None, control: Control) -> SearchArguments:
    """Return the arguments of an exact search of a grid before a solve; note all excess as the progress."""
    state = make_state(device, grid, start)
    control.progress[:] = float(state.terminal.clip(0).sum(dtype=np.float64))
    return make_search(device, state)


def search_at_rest(device: Device, search: SearchArguments, control: Control, method: str) -> int:
    """Make the heights exact; return the sum of the excess that can reach a deficit.

    SolverError: there were more searches than any grid needs.
    """
    with relabel_time(control):
        search.counters[:] = 0
        search.active[:] = 0
        device.launch(
            SOURCE,
            "search_at_rest",
            device.num_multiprocessors,
            device.block_threads,
            search,
            constants=search.grid.constants,
            cooperative=True,
        )
        active = int(device.to_host(search.active)[0])
    control.progress[0] = active
    count_search(control, method)
    return active


def solution(shape: tuple[int, ...], search: SearchArguments, finished: bool) -> GridSolution:
    """Return the solution on the device after a search."""
    grid = search.grid
    sink_side = (search.height <= grid.num_pixels).reshape(shape)
    residual = grid.residual.reshape(len(grid.residual), *shape)
    return GridSolution(sink_side, finished, residual, grid.terminal.reshape(shape))
