"""The persistent kernel of :mod:`.cuda_tiled`: its arrays, its launches, and the state that it leaves."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...errors import SolverError
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .tiling import LISTS, WARP, Tiling

SOURCE = Path(__file__).with_name("cuda_tiled.cu")
#: Words of the kernel's state; of the state and the counts after it; and positions of both.
STATE_WORDS, STATUS_WORDS = 12, 16
IS_DONE, ACTIVE_TILES, NUM_RELABELS, SEARCH_ROUNDS, PHASES, NANOSECONDS = range(6)
IS_SEARCHING, FAILED, LAST_SEARCH, ACTIVE_HERE = 6, 8, 10, 11
NUM_PUSHES, NUM_SEARCHES, NUM_VISITS, NUM_WAVES = range(4)
#: Number of counters, and words per counter: one for each list and four of the search queue, each in its own
#: line of memory.
COUNTERS, COUNTER_WORDS = LISTS + 4, 32
#: Content of an empty slot of the search queue.
EMPTY = 2**64 - 1
#: Tiles that a launch may discharge before it returns to the host (0.2 s on an H200 in volumes), and the time
#: that it may search.
WORK_OF_LAUNCH, NANOSECONDS_OF_LAUNCH = 2**18, 50_000_000
#: More global relabels than any grid needs; reaching it is an error.
MOST_RELABELS = 10_000_000


class TileArrays(NamedTuple):
    """Arrays on the GPU for all tiles, also for those whose capacities stay on the host."""

    faces_z: AnyArray
    faces_y: AnyArray
    faces_x: AnyArray
    words: AnyArray
    stamps: AnyArray
    lists: AnyArray
    notices: AnyArray
    slots: AnyArray
    counters: AnyArray
    arrivals: AnyArray
    status: AnyArray


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` files."""

    tiles: tuple[int, int, int]
    first_tile: int
    end_tile: int
    first_searched: int
    end_searched: int
    first_pixel: int
    direction_stride: int
    residual: AnyArray
    terminal: AnyArray
    arrays: TileArrays
    waves: int
    rounds: int
    rounds_percent: int
    searches: int
    repeats: int
    work_of_launch: int
    nanoseconds_of_launch: int
    num_slots: int
    dischargers: int


def make_arrays(device: Device, tiling: Tiling) -> TileArrays:
    """Return the arrays of the kernels, without capacities and excess: pieces of one allocation."""
    n = tiling.num_tiles
    zeros = {
        "status": 2 * STATUS_WORDS,
        "counters": COUNTERS * COUNTER_WORDS,
        "arrivals": 2,
        "stamps": n,
        "notices": n,
    }
    faces = zip(("faces_z", "faces_y", "faces_x"), tiling.labels_of_tile, strict=True)
    sizes = {
        "slots": 2 * (n + device.num_multiprocessors * tiling.most_warps),
        **zeros,
        "words": n * tiling.words_of_tile,
        "lists": LISTS * n,
        **{name: n * size for name, size in faces},
    }
    ends = dict(zip(sizes, accumulate(sizes.values()), strict=True))
    memory = device.xp.empty(ends["faces_x"], dtype=np.uint32)
    pieces = {name: memory[ends[name] - size : ends[name]] for name, size in sizes.items()}
    slots = pieces["slots"].view(np.uint64)
    slots.fill(EMPTY)
    memory[ends["slots"] : ends["notices"]].fill(0)
    return TileArrays(**pieces | {"slots": slots, "status": pieces["status"].view(np.uint64)})


class Turns(NamedTuple):
    """Limits on waves and rounds: see :class:`.cuda_tiled.TiledOptions`."""

    waves: int
    rounds: int
    rounds_percent: int


class Launcher:
    """Launches the persistent kernel until it is done, or has no work left in the tiles on the GPU."""

    def __init__(
        self, device: Device, tiling: Tiling, arrays: TileArrays, turns: Turns, control: Control
    ) -> None:
        self.device, self.tiling, self.arrays, self.control = device, tiling, arrays, control
        self.turns = turns
        self.searched = 0, tiling.num_tiles  # the tiles that are searched; the labels of others are given
        self.is_searching = False  # whether the last launch ended within a search
        self.warps, self.dischargers = tiling.warps_of_block(device)
        control.excess[:] = tiling.num_tiles

    def launch(
        self, window: tuple[int, int, int], residual: AnyArray, terminal: AnyArray, discharges: bool
    ) -> AnyArray:
        """Run the kernel until its search is complete or the solve is stopped; return its state.

        `window` has the first tile that may be discharged, one past the last, and the first pixel whose
        capacities are on the GPU. Without `discharges` the kernel only makes labels exact.
        """
        while True:
            if self.is_searching:
                # The kernel queues the tiles whose notices are not zero again.
                self.arrays.slots.fill(EMPTY)
                self.arrays.counters[LISTS * COUNTER_WORDS :] = 0
            state = self._launch(window, residual, terminal, discharges)
            self.is_searching = bool(state[IS_SEARCHING])
            if not self.is_searching or self.control.stopped:
                return state

    def search_further(self, residual: AnyArray, terminal: AnyArray) -> AnyArray:
        """Go on with a search that was complete, from the tiles that have notices; return the state."""
        self.arrays.status[IS_SEARCHING] = self.is_searching = True
        self.arrays.counters[: LISTS * COUNTER_WORDS] = 0
        return self.launch((0, 0, 0), residual, terminal, discharges=False)

    def discharge(
        self, window: tuple[int, int, int], residual: AnyArray, terminal: AnyArray, hops: int
    ) -> AnyArray:
        """Discharge tiles once, by the labels of a search that crossed `hops` tiles; return the state."""
        self.arrays.status[LAST_SEARCH] = hops
        self.arrays.counters[:] = 0
        return self._launch(window, residual, terminal, True, alone=True)

    def _launch(
        self,
        window: tuple[int, int, int],
        residual: AnyArray,
        terminal: AnyArray,
        discharges: bool,
        alone: bool = False,
    ) -> AnyArray:
        """Launch the kernel; `alone`: without a search before the discharges or after them."""
        first_tile, end_tile, first_pixel = window
        self.arrays.arrivals.fill(0)
        arguments = Arguments(
            self.tiling.tiles,
            first_tile,
            end_tile,
            *self.searched,
            first_pixel,
            terminal.size,
            residual,
            terminal,
            self.arrays,
            self.turns.waves,
            self.turns.rounds if discharges else 0,
            self.turns.rounds_percent,
            int(not alone),
            int(not alone),
            WORK_OF_LAUNCH,
            NANOSECONDS_OF_LAUNCH,
            self.arrays.slots.size,
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
        state, counts = np.split(self.device.to_host(self.arrays.status), [STATE_WORDS])
        if state[FAILED] or state[NUM_RELABELS] > MOST_RELABELS:
            raise SolverError(f"cuda-tiled gave up: state {state.tolist()}, counts {counts.tolist()}")
        self.control.counts[[PUSHES, RELABELS, ARC_SCANS]] = counts[[NUM_PUSHES, NUM_SEARCHES, NUM_VISITS]]
        self.control.counts[[GLOBAL_RELABELS, RELABEL_NANOSECONDS]] = state[[NUM_RELABELS, NANOSECONDS]]
        if not state[IS_SEARCHING]:
            self.control.excess[0] = state[ACTIVE_TILES]
        return state
