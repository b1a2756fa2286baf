"""Push-relabel on a grid, tile by tile, in one persistent kernel on a GPU.

The method is preflow's own. It takes two ideas from papers. Regions of the grid are discharged separately,
with distances that are exact inside the region, given the labels around it (Delong and Boykov, "A Scalable
Graph-Cut Algorithm for N-D Grids", CVPR 2008; Shekhovtsov and Hlavac, "A Distributed Mincut/Maxflow
Algorithm Combining Path Augmentation and Push-Relabel", 2011). From time to time a global relabel makes all
labels exact (Cherkassky and Goldberg 1997).

Definitions
-----------
- A *tile* is 32 pixels wide and has 32 or 64 rows (:mod:`.tiling`). One warp works on a tile. The bits of a
  row form words of 32 bits, in which bit x belongs to pixel x. Each row has one word per direction, for the
  pixels with residual capacity in that direction. It has three more words, for the pixels that have excess
  (ACTIVE), that have a deficit (ROOT), and that the last search of the tile reached (REACHED).
- The *label* of a pixel is a lower bound on its distance to the sink, that is, the number of arcs on a
  shortest residual path. A pixel with a deficit has distance 1.
- The *faces* of a tile are its outermost pixels, from which arcs may lead to other tiles. The kernel stores
  labels for these pixels only. To search a tile, it reads the labels at the faces of the tiles around it.
- A *wave* searches a tile and then moves the excess of the tile down once, from the highest levels of the
  search to the lowest, along the arcs that the search used.
- A *discharge* of a tile is up to `waves` waves in shared memory, with a limit on their steps (STEPS_OF_VISIT
  in tile_push.cuh). Then the warp hands over the flow that crossed the border of the tile.
- There are no arcs between tiles of the same *color*. There are 2, 4 or 8 colors.
- A *round* takes the colors in turn and discharges the listed tiles of each.
- A *global relabel* searches tiles until no label at a face changes; then all labels are exact.

Invariants
----------
- All tiles that are discharged at the same time have the same color. So no other warp changes the capacities
  and the excess of a tile during its discharge, and the warp accesses them without atomic operations. Two
  warps may push to the same neighbouring tile: they change its words and its excess atomically.
- Within a tile each lane changes its own rows only. A lane that pushes to the row of another lane sends it
  the amount, and that lane adds it.
- Labels at faces are never larger than the exact distances. After a global relabel they are equal.
- Between two global relabels, a tile is on the list of its color if it has excess on a pixel that its last
  search reached.

Pseudo-code
-----------
::

    repeat:
        search_all: label all tiles exactly                                    global relabel
            search each tile without its neighbours, then each given the labels around it
            while tiles are queued: search one; if labels at a face changed, queue the tiles next to them
        list the tiles with excess that can reach the sink; stop if there are none
        discharge_all: for some rounds, for each color, for each listed tile:
            copy its capacities and excess to shared memory
            repeat up to `waves` times:
                search the tile
                move its excess down, from the highest levels to the lowest
            write the words, and the labels at the faces
            hand over the flow that crossed the border; copy capacities and excess back
            list the tiles that received excess
            list the tile itself if it still has excess that its last search reached
    the sink side consists of the pixels that the last global relabel reached

The last global relabel finds no excess that can reach the sink, so it proves the cut.

Why it is fast
--------------
- A level of a breadth-first search over a tile of 1,024 pixels takes a few instructions per direction: a
  shuffle, a shift and a mask. So a warp can afford to search its tile before each pass of pushes, and excess
  moves along shortest paths given the labels around the tile. A search reads one bit per arc, not a capacity.
- All lanes execute the same instructions: in each step every lane pushes from the highest of its pixels that
  have excess.
- Tiles without work are not visited. The first block alone works on short lists (MOST_TILES_ALONE in
  cuda_tiled.cu), so that it waits for no other block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ...cuda import runtime
from ...graph.integer_grid import IntegerGrid
from ...graph.placement import require_memory
from ...solving.options import MOST, CheckedOptions, NonNegativeInteger, PositiveInteger, between, percent
from ...solving.run import Control, GaveUp
from ..solution import GridFlow, GridSolution
from .launches import Launcher, Turns, Word, make_arrays
from .slabs import solve_in_slabs
from .tiling import Tiling, fill_tiles, tiling_of, write_sides

#: Defaults of the options `waves` and `rounds`. In images, 3 waves and 2 rounds took the least time. With 3
#: waves, one of the two volumes measured was 8 % faster, and the other lost more than that one gained.
TURNS_OF_IMAGE, TURNS_OF_VOLUME = (3, 2), (2, 4)


@dataclass(frozen=True)
class TiledOptions(CheckedOptions):
    """Options of push-relabel by tiles.

    Attributes
    ----------
    waves : int or None
        Greatest number of waves per discharge: a wave searches a tile and moves its excess down once. None
        means 3 in images and 2 in volumes.
    rounds : int or None
        Greatest number of rounds between two global relabels, unless `rounds_factor` allows more. None means
        2 in images and 4 in volumes. With many rounds, excess that cannot reach the sink moves back and forth
        between tiles until the next global relabel shows that it is cut off.
    rounds_factor : float
        Another limit on the rounds after a global relabel: this many times the number of tiles through which
        changes of labels spread in that relabel, in hundredths. The larger of this limit and `rounds` counts.
        If labels spread through many tiles, excess has as far to go. Several GPUs use the largest distance
        instead.
    slab_bytes : int
        Bytes of GPU memory for capacities and excess. If a grid needs more, they stay on the host, and the
        solver copies slabs (runs of planes of a volume, or of rows of an image) to the GPU one at a time. 0
        sets no limit but the free memory; then a grid that is given on the GPU is never solved in slabs.
    """

    waves: PositiveInteger | None = None
    rounds: PositiveInteger | None = None
    rounds_factor: Annotated[float, between(0, MOST // 100)] = 0.15
    slab_bytes: NonNegativeInteger = 0

    def turns(self, tiling: Tiling) -> Turns:
        """Return the limits on waves and rounds for a grid."""
        waves, rounds = TURNS_OF_IMAGE if len(tiling.grid_shape) < 3 else TURNS_OF_VOLUME
        return Turns(
            waves=self.waves or waves,
            rounds=self.rounds or rounds,
            rounds_percent=percent(self.rounds_factor),
        )


def solve(grid: IntegerGrid, start: GridFlow | None, options: TiledOptions, control: Control) -> GridSolution:
    """Solve a grid that is on the GPU; return the solution on the GPU.

    The budget is the nanoseconds that global relabels may take for each pixel. Grids in slabs have none.

    Memory on the device beside the input, in bytes per pixel: 2, 4 or 8 per direction, 4 or 8 for excess,
    (directions + 3) / 8 for bits, up to 0.1 for lists of tiles, and for labels at faces 0.5 with 4 neighbours
    and 2.3 with 6 (3.3 in small tiles). The grid is padded to whole tiles. UnsuitableMethodError: neighbours
    are too far apart for tiles, or there are too many directions. DeviceMemoryError: capacities and excess do
    not fit.
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
    launcher.budget = None if control.budget is None else control.budget * grid.size
    while True:
        discharges = not control.stopped
        state = launcher.launch((0, tiling.num_tiles, 0), residual, terminal, discharges)
        if state[Word.IS_DONE] or not discharges:
            break
        if launcher.gives_up(state) and not control.stopped:
            raise GaveUp("global relabels took long on the GPU", GridFlow(grid, tiling.image(residual)))
    return GridSolution(
        write_sides(device, tiling, arrays.words),
        bool(state[Word.IS_DONE]),
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

    DeviceMemoryError: not even the thinnest slab fits.
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
