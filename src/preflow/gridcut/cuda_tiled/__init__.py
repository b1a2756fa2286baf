"""Push-relabel on a grid, tile after tile, in one persistent kernel on a GPU.

preflow's own method. From papers it takes two ideas: regions are discharged in turn, each as far as it goes
on its own, with exact distances inside given the labels around it (Delong and Boykov, "A Scalable Graph-Cut
Algorithm for N-D Grids", CVPR 2008; Shekhovtsov and Hlavac, "A Distributed Mincut/Maxflow Algorithm Combining
Path Augmentation and Push-Relabel", 2011); and global relabels are exact (Cherkassky and Goldberg 1997).

Definitions
-----------
- A *tile* is 32 pixels wide and has 32 or 64 rows (:mod:`.tiling`). One warp works on a tile. A row is one
  word: bit x of it is pixel x. For each row there are words for the residual arcs of each direction, and for
  the pixels that have excess (ACTIVE), that have a deficit (ROOT), and that the last search reached
  (REACHED).
- The *label* of a pixel is its distance to the nearest pixel with a deficit, plus 1. Labels are stored for
  the pixels at the faces of tiles only; a search of a tile reads those around it.
- A *wave* is one search of a tile, then one pass over its levels from the highest to the lowest, in which
  excess moves down along the arcs that the search used.
- A *discharge* of a tile is up to `waves` waves in shared memory, then the hand-over of what crossed its
  border.
- Tiles of one *color* have no arcs between them. There are 2, 4 or 8 colors.
- A *round* discharges the listed tiles of every color once.
- A *global relabel* searches tiles until no label at a face changes; then all labels are exact.

Invariants
----------
- While tiles of a color are discharged, no neighbour of such a tile is. So a warp needs no atomic operations
  on the capacities and the excess of its own tile; only the words and excess of neighbours are changed
  atomically.
- Within a tile each lane changes its own rows only. A lane that pushes to the row of another lane sends it
  the amount, and that lane adds it.
- Labels at faces are never larger than the exact distances. After a global relabel they are equal.
- A tile with excess that can reach the sink, as far as its last search tells, is on the list of its color.

Pseudo-code
-----------
::

    repeat:
        search_all: label all tiles exactly                                    global relabel
            search each tile alone, then each given the labels around it
            while tiles are queued: search one; if labels at a face changed, queue the tiles next to them
        list the tiles with excess that can reach the sink; stop if there are none
        discharge_all: for some rounds, for each color, for each listed tile:
            copy its capacities and excess to shared memory repeat up to `waves` times: search the tile; move
            its excess down, from the highest level to the first write the words and the labels at the faces;
            hand over what crossed the border list the tiles that received excess, and the tile itself if it
            has excess left that can go on
    the pixels that the last search reached are the sink side

The last search finds no excess that can reach the sink, so it proves the cut.

Why it is fast
--------------
- A level of a breadth-first search over 1,024 pixels takes a few instructions per direction: a shuffle, a
  shift and a mask. So distances are exact whenever excess moves, and a global relabel takes about as long as
  reading a bit per arc.
- All lanes execute the same instructions: each pushes from the highest pixel of its rows.
- Tiles without work are not visited. A list of few tiles is left to one block, which waits for no other
  block.
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

#: Defaults of the options `waves` and `rounds`.
TURNS_OF_IMAGE, TURNS_OF_VOLUME = (3, 2), (2, 4)


@dataclass(frozen=True)
class TiledOptions:
    """Options of push-relabel by tiles.

    Attributes
    ----------
    waves : int or None
        Most waves per discharge: a wave searches a tile and moves its excess down once. None means 3 in
        images and 2 in volumes.
    rounds : int or None
        Rounds between two global relabels; None means 2 in images and 4 in volumes. Rounds are wasted while
        excess that cannot reach the sink moves back and forth between tiles, until a relabel finds that out.
    rounds_percent : int
        Least number of rounds after a relabel, as a percentage of the largest number of tiles that a change
        of labels crossed in it. The larger of this and `rounds` is used.
    slab_bytes : int
        GPU memory for capacities and excess. If a grid needs more, they stay on the host, and slabs of
        planes, or of rows of an image, are copied to the GPU one at a time. 0 uses all free memory.
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
        """Return the number of waves and rounds for a grid."""
        waves, rounds = TURNS_OF_IMAGE if len(tiling.grid_shape) < 3 else TURNS_OF_VOLUME
        return Turns(self.waves or waves, self.rounds or rounds, self.rounds_percent)


def solve(grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control) -> GridSolution:
    """Solve a grid that is on the GPU.

    Raises
    ------
    UnsuitableMethodError
        Neighbours are too far apart for tiles, or there are too many directions.
    DeviceMemoryError
        Capacities and excess do not fit.

    Notes
    -----
    Memory on the device beside the input, in bytes per pixel: 2, 4 or 8 per direction, 4 or 8 for excess,
    (directions + 3) / 8 for bits, and for labels at faces 0.5 with 4 neighbours and 2.3 with 6. The grid is
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
    """Return a solution with its arrays copied by `place`."""
    return GridSolution(
        place(solution.sink_side), solution.finished, place(solution.residual), place(solution.terminal)
    )


def solve_streamed(
    grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control
) -> GridSolution:
    """Solve a grid that is on the host, slab by slab if it does not fit; return the solution on the host.

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
