"""The persistent kernel of :mod:`.cuda_tiled` and what it keeps: launch it, and read how far it came."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...cuda.runtime import Device
from ...errors import SolverError
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .tiling import LISTS, WARP, Tiling

SOURCE = Path(__file__).with_name("cuda_tiled.cu")
#: Words of the kernel's state, with what it counts after it, and where they are.
STATE_WORDS, STATUS_WORDS = 12, 16
IS_DONE, ACTIVE_TILES, NUM_RELABELS, SEARCH_ROUNDS, PHASES, NANOSECONDS = range(6)
IS_SEARCHING, FAILED, ACTIVE_HERE = 6, 8, 11
NUM_PUSHES, NUM_SEARCHES, NUM_VISITS, NUM_WAVES = range(4)
#: Counters: one of each list, and of the queue of searches; each has a line of memory.
COUNTERS, COUNTER_WORDS = LISTS + 4, 32
#: A slot of the queue that no tile is in.
EMPTY = 2**64 - 1
#: Tiles that a launch may discharge before it comes back, 0.2 s on an H200 for those of volumes, and how long
#: it may search.
WORK_OF_LAUNCH, NANOSECONDS_OF_LAUNCH = 2**18, 50_000_000
#: More global relabels than any grid needs.
MOST_RELABELS = 10_000_000


class TileArrays(NamedTuple):
    """What is on the GPU for every tile, whether its capacities are there or not."""

    faces_z: Any
    faces_y: Any
    faces_x: Any
    words: Any
    stamps: Any
    lists: Any
    told: Any
    slots: Any
    counters: Any
    arrivals: Any
    status: Any


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
    nanoseconds_of_launch: int
    num_slots: int
    dischargers: int


def make_arrays(device: Device, tiling: Tiling) -> TileArrays:
    """Return what the kernels keep beside capacities and excess: pieces of one allocation."""
    n = tiling.num_tiles
    zeros = {
        "status": 2 * STATUS_WORDS,
        "counters": COUNTERS * COUNTER_WORDS,
        "arrivals": 2,
        "stamps": n,
        "told": n,
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
    memory[ends["slots"] : ends["told"]].fill(0)
    return TileArrays(**pieces | {"slots": slots, "status": pieces["status"].view(np.uint64)})


class Turns(NamedTuple):
    """When a tile, or a color, is not to go on: see :class:`.cuda_tiled.TiledOptions`."""

    waves: int
    rounds: int
    rounds_percent: int


class Launcher:
    """Launches the persistent kernel until it is done, or has no more work in the tiles that are there."""

    def __init__(
        self, device: Device, tiling: Tiling, arrays: TileArrays, turns: Turns, control: Control
    ) -> None:
        self.device, self.tiling, self.arrays, self.control = device, tiling, arrays, control
        self.turns = turns
        self.is_searching = False  # the last launch ended within a search
        self.warps, self.dischargers = tiling.warps_of_block(device)
        control.excess[:] = tiling.num_tiles

    def launch(self, window: tuple[int, int, int], residual: Any, terminal: Any, discharges: bool) -> Any:
        """Run the kernel, until its searches come to an end or the solve is stopped, and return its state.

        `window` is the first and end tile that may be discharged, and the first pixel that is there. Without
        discharges distances are made exact, no more.
        """
        while True:
            if self.is_searching:
                # The tiles know that they are to be searched: the kernel queues them again.
                self.arrays.slots.fill(EMPTY)
                self.arrays.counters[LISTS * COUNTER_WORDS :] = 0
            state = self._launch(window, residual, terminal, discharges)
            self.is_searching = bool(state[IS_SEARCHING])
            if not self.is_searching or self.control.stopped:
                return state

    def _launch(self, window: tuple[int, int, int], residual: Any, terminal: Any, discharges: bool) -> Any:
        first_tile, end_tile, first_pixel = window
        self.arrays.arrivals.fill(0)
        arguments = Arguments(
            self.tiling.tiles,
            first_tile,
            end_tile,
            first_pixel,
            terminal.size,
            residual,
            terminal,
            self.arrays,
            self.turns.waves,
            self.turns.rounds if discharges else 0,
            self.turns.rounds_percent,
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
