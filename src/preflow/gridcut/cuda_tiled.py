"""Push-relabel on a grid, tile after tile, in one persistent kernel on a GPU.

preflow's own; what it takes from papers: regions are discharged in turn, each as far as it goes by itself, with
exact distances inside given those around it (Delong and Boykov, "A Scalable Graph-Cut Algorithm for N-D Grids",
CVPR 2008; Shekhovtsov and Hlavac, "A Distributed Mincut/Maxflow Algorithm Combining Path Augmentation and
Push-Relabel", 2011), and global relabels that are exact (Cherkassky and Goldberg 1997).

A warp works on a tile, and a row of 32 pixels is a word. Residual arcs of a tile are words as well, one a row
and direction, so that a level of a breadth-first search over 1,024 pixels is a handful of instructions: a
shuffle, a shift and a mask for each direction. Distances are therefore exact whenever excess moves, and a
global relabel, which searches tiles until no label at a border changes, takes about as long as reading a bit
for every arc. A discharge repeats: search, then move excess from the highest level down to the first, in
shared memory, each lane the pixels of its rows; what reaches the border crosses to the lowest neighbours
there and is handed over at the end. Tiles of one color are discharged at the same time: none of their
neighbours is, so that a tile needs no atomic operations on its own memory on the device. Tiles that have
nothing to do are not looked at: those that have are listed, color by color; a few are left to one block, which
waits for nobody else. The kernel ends with a global relabel that finds no excess that can reach the sink: its
search is the one that proves the cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cuda import runtime
from ..cuda.runtime import Device
from ..errors import DeviceMemoryError, SolverError
from ..graph.integer_grid import IntegerGrid
from ..solving.options import check_count, check_positive
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .solution import GridFlow, GridSolution
from .tiling import WARP, Tiling, fill_tiles, tiling_of, write_sides

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state and of what it counts, and where they are.
STATE_WORDS, COUNT_WORDS = 11, 4
IS_DONE, ACTIVE_TILES, NUM_RELABELS, SEARCH_ROUNDS, PHASES, NANOSECONDS, FAILED = 0, 1, 2, 3, 4, 5, 8
NUM_PUSHES, NUM_SEARCHES, NUM_VISITS, NUM_WAVES = range(4)
#: Lists of tiles: three in turn for each of up to eight colors and for searches; a counter has a line of memory.
LISTS, COUNTER_WORDS = 3 * 9, 32
#: Tiles that a launch may discharge: some 20 ms on an H200.
WORK_OF_LAUNCH = 2**21
#: More global relabels than any grid needs.
MOST_RELABELS = 10_000_000


@dataclass(frozen=True)
class TiledOptions:
    """Options of push-relabel by tiles.

    Attributes
    ----------
    waves : int
        How often the excess of a tile is moved down before the tiles around it get their turn.
    rounds, rounds_percent : int
        Turns of every color between two global relabels: so many, or so many for each hundred rounds that the
        last relabel took if that is more.
    slab_bytes : int
        Memory of the GPU for capacities and excess: a grid that needs more is streamed from the host, so many
        of its planes at a time. 0 is as much as is free.
    """

    waves: int = 4
    rounds: int = 4
    rounds_percent: int = 50
    slab_bytes: int = 0

    def __post_init__(self) -> None:
        check_positive("waves", self.waves)
        check_positive("rounds", self.rounds)
        check_count("rounds_percent", self.rounds_percent)
        check_count("slab_bytes", self.slab_bytes)


class TileArrays(NamedTuple):
    """What is on the GPU for every tile, whether its capacities are there or not."""

    label: Any
    words: Any
    stamps: Any
    lists: Any
    counters: Any
    arrivals: Any
    state: Any
    counts: Any


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` files."""

    tiles: tuple[int, int, int]
    first_tile: int
    end_tile: int
    first_pixel: int
    direction_stride: int
    residual: Any
    terminal: Any
    arrays: TileArrays
    waves: int
    rounds: int
    rounds_percent: int
    work_of_launch: int
    dischargers: int


def make_arrays(device: Device, tiling: Tiling) -> TileArrays:
    """Return what the kernels keep beside capacities and excess."""
    xp, n = device.xp, tiling.num_tiles
    return TileArrays(
        xp.empty(tiling.padded_size, dtype=np.uint32),
        xp.empty(n * tiling.words_of_tile, dtype=np.uint32),
        xp.zeros(2 * n, dtype=np.uint32),
        xp.empty(LISTS * n, dtype=np.uint32),
        xp.zeros(LISTS * COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(1, dtype=np.uint32),
        xp.zeros(STATE_WORDS, dtype=np.uint64),
        xp.zeros(COUNT_WORDS, dtype=np.uint64),
    )


class Launcher:
    """Launches the persistent kernel until it is done, or has no more work in the tiles that are there."""

    def __init__(
        self, device: Device, tiling: Tiling, arrays: TileArrays, options: TiledOptions, control: Control
    ) -> None:
        self.device, self.tiling, self.arrays, self.control = device, tiling, arrays, control
        self.options = options
        self.warps, self.dischargers = tiling.warps_of_block(device)
        control.excess[:] = tiling.num_tiles

    def launch(self, window: tuple[int, int, int], residual: Any, terminal: Any, rounds: int) -> Any:
        """Run the kernel once and return its state; `window` is the first and end tile and first pixel."""
        first_tile, end_tile, first_pixel = window
        self.arrays.arrivals[:] = 0
        arguments = Arguments(
            self.tiling.tiles,
            first_tile,
            end_tile,
            first_pixel,
            terminal.size,
            residual,
            terminal,
            self.arrays,
            self.options.waves,
            rounds,
            self.options.rounds_percent if rounds else 0,
            WORK_OF_LAUNCH,
            self.dischargers,
        )
        self.device.launch(
            SOURCE,
            "push_relabel_tiles",
            self.device.num_multiprocessors,
            WARP * self.warps,
            arguments,
            shared_bytes=self.tiling.shared_bytes(self.warps, self.dischargers),
            constants=self.tiling.constants,
            cooperative=True,
        )
        state = self.device.to_host(self.arrays.state)
        counts = self.device.to_host(self.arrays.counts)
        if state[FAILED] or state[NUM_RELABELS] > MOST_RELABELS:
            raise SolverError(f"cuda-tiled gave up: state {state.tolist()}, counts {counts.tolist()}")
        self.control.counts[[PUSHES, RELABELS, ARC_SCANS]] = counts[[NUM_PUSHES, NUM_SEARCHES, NUM_VISITS]]
        self.control.counts[[GLOBAL_RELABELS, RELABEL_NANOSECONDS]] = state[[NUM_RELABELS, NANOSECONDS]]
        self.control.excess[0] = state[ACTIVE_TILES]
        return state


def solve_on_device(
    device: Device, grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control
) -> GridSolution:
    """Solve a grid that is on the GPU.

    Raises
    ------
    UnsuitableMethodError
        Arcs lead too far for tiles, or in too many directions.
    DeviceMemoryError
        Capacities and excess do not fit.

    Notes
    -----
    Memory on the device, beside the input: for each pixel 2, 4 or 8 bytes a direction, 4 or 8 of excess, 4 of
    label and (directions + 3) / 8 of bits; rounded up to whole tiles.
    """
    tiling = tiling_of(device, grid)
    if tiling.bytes_on_device > device.free_bytes:
        raise DeviceMemoryError(
            f"{grid.size:,} pixels with {tiling.directions} neighbours take {tiling.bytes_on_device:,} bytes; "
            f"{device.name} has {device.free_bytes:,} free"
        )
    arrays = make_arrays(device, tiling)
    residual, terminal = fill_tiles(device, tiling, grid, start, arrays.words)
    launcher = Launcher(device, tiling, arrays, options, control)
    while True:
        rounds = 0 if control.stopped else options.rounds
        state = launcher.launch((0, tiling.num_tiles, 0), residual, terminal, rounds)
        if state[IS_DONE] or rounds == 0:
            break
    return GridSolution(
        write_sides(device, tiling, arrays.words),
        bool(state[IS_DONE]),
        residual[:, *tiling.inside].reshape(tiling.directions, *grid.shape)
        if len(grid.shape) == 3
        else residual[:, 0, : grid.shape[0], : grid.shape[1]],
        terminal[tiling.inside] if len(grid.shape) == 3 else terminal[0, : grid.shape[0], : grid.shape[1]],
    )


def solve(grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control) -> GridSolution:
    """Solve a grid that is on the host, and bring the outcome back."""
    device = runtime.find_device()
    on_device = grid.placed(device.xp, device.xp.asarray)
    solution = solve_on_device(device, on_device, start, options, control)
    return GridSolution(
        device.to_host(solution.sink_side),
        solution.finished,
        device.to_host(solution.residual),
        device.to_host(solution.terminal),
    )
