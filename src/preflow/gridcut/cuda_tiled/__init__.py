"""Push-relabel on a grid, tile after tile, in one persistent kernel on a GPU.

preflow's own; what it takes from papers: regions are discharged in turn, each as far as it goes by itself,
with exact distances inside given those around it (Delong and Boykov, "A Scalable Graph-Cut Algorithm for
N-D Grids", CVPR 2008; Shekhovtsov and Hlavac, "A Distributed Mincut/Maxflow Algorithm Combining Path
Augmentation and Push-Relabel", 2011), and global relabels that are exact (Cherkassky and Goldberg 1997).

A warp works on a tile, and a row of 32 pixels is a word. Residual arcs of a tile are words as well, one a
row and direction, so that a level of a breadth-first search over 1,024 pixels is a handful of instructions:
a shuffle, a shift and a mask for each direction. Distances are therefore exact whenever excess moves, and a
global relabel, which searches tiles until no label at a border changes, takes about as long as reading a
bit for every arc. A discharge repeats: search, then move excess down in shared memory along the arcs that the
search came by. Each lane pushes from the highest pixel of its rows, and tells the lanes whose rows get
something: nothing is changed by two lanes, and all do the same instructions. What reaches the border crosses
to the lowest neighbours there and is handed over at the end. Tiles of one color are discharged at the same
time: none of their neighbours is, so that a tile needs no atomic operations on its own memory on the device.
Tiles that have nothing to do are not looked at: those that have are listed, color by color; a few are left to
one block, which waits for nobody else. The kernel ends with a global relabel that finds no excess that can
reach the sink: its search is the one that proves the cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cuda import runtime
from ...graph.integer_grid import IntegerGrid
from ...graph.placement import require_memory
from ...solving.options import check_count, check_positive_integer
from ...solving.run import Control
from ..solution import GridFlow, GridSolution
from .launches import IS_DONE, Launcher, Turns, make_arrays
from .slabs import solve_in_slabs
from .tiling import Tiling, fill_tiles, tiling_of, write_sides

#: Waves, and rounds, unless they are given.
TURNS_OF_IMAGE, TURNS_OF_VOLUME = (3, 2), (2, 4)


@dataclass(frozen=True)
class TiledOptions:
    """Options of push-relabel by tiles.

    Attributes
    ----------
    waves : int or None
        How often the excess of a tile is moved down before the tiles around it get their turn; None is 3 in
        images and 2 in volumes.
    rounds : int or None
        Turns of every color between two global relabels; None is 2 in images and 4 in volumes. Many are for
        nothing where excess is cut off from the sink: it goes to and fro between tiles until a relabel finds
        out.
    rounds_percent : int
        So many turns for each hundred tiles that labels went over in the last relabel, if that is more.
    slab_bytes : int
        Memory of the GPU for capacities and excess: of a grid that needs more the host keeps them, and slabs
        of planes, or of rows of an image, come to the GPU one at a time. 0 is as much as is free.
    """

    waves: int | None = None
    rounds: int | None = None
    rounds_percent: int = 15
    slab_bytes: int = 0

    def __post_init__(self) -> None:
        for name in ("waves", "rounds"):
            value = getattr(self, name)
            if value is not None:
                check_positive_integer(name, value)
        check_count("rounds_percent", self.rounds_percent)
        check_count("slab_bytes", self.slab_bytes)

    def turns(self, tiling: Tiling) -> Turns:
        """Return what the kernel is told for a grid."""
        waves, rounds = TURNS_OF_IMAGE if len(tiling.grid_shape) < 3 else TURNS_OF_VOLUME
        return Turns(self.waves or waves, self.rounds or rounds, self.rounds_percent)


def solve(grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control) -> GridSolution:
    """Solve a grid that is on the GPU.

    Raises
    ------
    UnsuitableMethodError
        Arcs lead too far for tiles, or in too many directions.
    DeviceMemoryError
        Capacities and excess do not fit.

    Notes
    -----
    Memory on the device, beside the input: for each pixel 2, 4 or 8 bytes a direction, 4 or 8 of excess,
    (directions + 3) / 8 of bits, and 4 for each label at a face of a tile: 0.5 with 4 neighbours, 2.3 with 6;
    rounded up to whole tiles.
    """
    device = runtime.find_device()
    tiling = tiling_of(device, grid)
    if options.slab_bytes and tiling.padded_size * tiling.capacity_bytes > options.slab_bytes:
        on_host = grid.placed(np, device.to_host)
        solution = solve_in_slabs(
            device, tiling, on_host, start, options.slab_bytes, options.turns(tiling), control
        )
        return _mapped(device.xp.asarray, solution)
    require_memory(
        device, tiling.bytes_on_device, f"{grid.size:,} pixels with {tiling.directions} neighbours"
    )
    arrays = make_arrays(device, tiling)
    residual, terminal = fill_tiles(device, tiling, grid, start, arrays.words)
    launcher = Launcher(device, tiling, arrays, options.turns(tiling), control)
    while True:
        discharges = not control.stopped
        state = launcher.launch((0, tiling.num_tiles, 0), residual, terminal, discharges)
        if state[IS_DONE] or not discharges:
            break
    return GridSolution(
        write_sides(device, tiling, arrays.words),
        bool(state[IS_DONE]),
        tiling.image(residual),
        tiling.image(terminal),
    )


def _mapped(place: Any, solution: GridSolution) -> GridSolution:
    """Return a solution with its arrays brought elsewhere."""
    return GridSolution(
        place(solution.sink_side), solution.finished, place(solution.residual), place(solution.terminal)
    )


def solve_streamed(
    grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control
) -> GridSolution:
    """Solve a grid that is on the host, and bring the outcome back; slab by slab where it does not fit.

    Raises
    ------
    DeviceMemoryError
        Not even the thinnest slab fits.
    """
    device = runtime.find_device()
    tiling = tiling_of(device, grid)
    given = grid.source.nbytes + grid.sink.nbytes + grid.neighbor.nbytes
    fits = tiling.bytes_on_device + given <= device.free_bytes
    if fits and tiling.padded_size * tiling.capacity_bytes <= (options.slab_bytes or device.free_bytes):
        on_device = grid.placed(device.xp, device.xp.asarray)
        return _mapped(device.to_host, solve(on_device, start, options, control))
    slab_bytes = options.slab_bytes or max(0, device.free_bytes - tiling.bytes_kept) * 9 // 10
    return solve_in_slabs(device, tiling, grid, start, slab_bytes, options.turns(tiling), control)
