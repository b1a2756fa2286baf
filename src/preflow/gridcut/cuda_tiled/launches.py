"""The persistent kernel of :mod:`.cuda_tiled`: its arrays, its launches, and the state that it leaves."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
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
BORDERS = Path(__file__).with_name("borders.cu")
#: Words of the kernel's state; of the state, the counts and the news of parts; and the position of the news.
STATE_WORDS, STATUS_WORDS, NEWS = 13, 18, 17
IS_DONE, ACTIVE_TILES, NUM_RELABELS, SEARCH_ROUNDS, PHASES, NANOSECONDS = range(6)
IS_SEARCHING, FAILED, LAST_SEARCH, ACTIVE_HERE = 6, 8, 10, 11
NUM_PUSHES, NUM_SEARCHES, NUM_VISITS, NUM_WAVES = range(4)
#: Number of counters, and words per counter: two for each list and four of the search queue, each in its own
#: line of memory. The last one is the number of tiles that changes of labels have crossed in a search.
COUNTERS, COUNTER_WORDS = 2 * LISTS + 4, 32
#: Content of an empty slot of the search queue.
EMPTY = 2**64 - 1
#: Tiles that a launch may discharge before it returns to the host (0.2 s on an H200 in volumes), and the time
#: that it may search.
WORK_OF_LAUNCH, NANOSECONDS_OF_LAUNCH = 2**18, 25_000_000
#: The same for a launch on several GPUs: it ends after this time, in a search or after a turn of discharges.
NANOSECONDS_TOGETHER = 400_000_000
#: Most parts that run the kernel together, and words of each for the others: see devices.cuh.
MOST_PARTS, TEAM_WORDS = 16, 35 * 16
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


class Beyond(NamedTuple):
    """``Beyond`` in the ``.cu`` files: the part of a grid beyond a border; by default there is none."""

    tiles: int = 0
    pixels: int = 0
    num_tiles: int = 0
    direction_stride: int = 0
    residual: AnyArray | int = 0
    terminal: AnyArray | int = 0
    words: AnyArray | int = 0
    stamps: AnyArray | int = 0
    lists: AnyArray | int = 0
    notices: AnyArray | int = 0
    slots: AnyArray | int = 0
    num_slots: int = 0
    counters: AnyArray | int = 0
    num_labels: int = 0
    labels: AnyArray | int = 0
    copies: AnyArray | int = 0


class Joined(NamedTuple):
    """The other parts of a grid, as a part sees them when all run the kernel together; by default none."""

    parity: int = 0  #: of the number of the part's first layer in the whole grid
    before: Beyond = Beyond()
    after: Beyond = Beyond()
    #: all parts, and which of them this one is
    num_parts: int = 0
    number: int = 0
    #: for each part, and then up to MOST_PARTS zeros: see ``DevicesTeam`` in devices.cuh
    words: tuple[AnyArray | int, ...] = (0,) * MOST_PARTS
    #: the counters of each part, and zeros
    counters: tuple[AnyArray | int, ...] = (0,) * MOST_PARTS


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
    rounds: tuple[int, int]
    searches: int
    repeats: int
    work_of_launch: int
    nanoseconds_of_launch: int
    num_slots: int
    dischargers: int
    joined: Joined


class PrepareArguments(NamedTuple):
    """``PrepareArguments`` in ``borders.cu``."""

    slots: AnyArray
    num_slots: int
    notices: AnyArray
    num_notices: int
    counters: AnyArray
    num_counters: int
    arrivals: AnyArray
    news: AnyArray
    is_searching: AnyArray
    searches_further: int


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


class Stages(IntEnum):
    """The stages of a global relabel that a launch begins with.

    ALONE searches each tile without its neighbours. ALL_BUT_ALONE searches each tile given the labels around
    it, then those next to changes; ALL does both. A search that goes on searches tiles with notices only.
    """

    NONE = 0
    ALL = 1
    ALONE = 2
    ALL_BUT_ALONE = 3


class Launcher:
    """Launches the persistent kernel until it is done, or has no work left in the tiles on the GPU."""

    def __init__(
        self, device: Device, tiling: Tiling, arrays: TileArrays, turns: Turns, control: Control
    ) -> None:
        self.device, self.tiling, self.arrays, self.control = device, tiling, arrays, control
        self.turns = turns
        self.searched = 0, tiling.num_tiles  # the tiles that are searched; the labels of others are given
        self.joined: Joined | None = None  # with others, if they run the kernel together
        self.is_searching = False  # whether the last launch ended within a search
        self.leave_after = 0  # nanoseconds of global relabels after which the CPU goes on; 0: never
        # Launches that were made before; all have the same capacities and the same excess.
        self._bound: dict[tuple[object, ...], Callable[[], None]] = {}
        self._prepared: dict[tuple[int, ...], Callable[[], None]] = {}
        self.warps, self.dischargers = tiling.warps_of_block(device)
        control.progress[:] = tiling.num_tiles

    def launch(
        self, window: tuple[int, int, int], residual: AnyArray, terminal: AnyArray, discharges: bool
    ) -> AnyArray:
        """Run the kernel until its search is complete, or the solve is stopped or left; return its state.

        `window` has the first tile that may be discharged, one past the last, and the first pixel whose
        capacities are on the GPU. Without `discharges` the kernel only makes labels exact.
        """
        while True:
            self._resume_search()
            state = self._launch(window, residual, terminal, discharges)
            self.is_searching = bool(state[IS_SEARCHING])
            if not self.is_searching or self.control.stopped or self.leaves(state):
                return state

    def _resume_search(self) -> None:
        """After a launch that ended within a search, let the kernel queue the tiles that have notices."""
        if self.is_searching:
            self.arrays.slots.fill(EMPTY)
            self.arrays.counters[LISTS * COUNTER_WORDS :] = 0

    def prepare_together(self, residual: AnyArray, terminal: AnyArray) -> Callable[[], None]:
        """Return a function that begins to solve together with other parts; it does not wait."""
        self._resume_search()
        rounds = (self.turns.rounds, self.turns.rounds_percent)
        return self._bound_launch((0, self.tiling.num_tiles, 0), residual, terminal, Stages.ALL, rounds)

    def leaves(self, state: AnyArray) -> bool:
        """Return whether global relabels have taken so long that the rest is left to the CPU."""
        return bool(0 < self.leave_after <= int(state[NANOSECONDS]))

    def prepare_search(self, *, further: bool) -> None:
        """Prepare a search, or one that goes on from the tiles that get notices.

        The number of tiles that changes have crossed is the largest since the first stage of the search.
        """
        arrays = self.arrays
        notices = 0 if further else arrays.notices.size
        self._prepare(arrays.slots.size, notices, arrays.counters.size - COUNTER_WORDS, further)

    def search(self, residual: AnyArray, terminal: AnyArray, stages: Stages) -> None:
        """Begin a search that was prepared; do not wait."""
        self._bound_launch((0, 0, 0), residual, terminal, stages, (0, 0))()

    def discharge(
        self,
        window: tuple[int, int, int],
        residual: AnyArray,
        terminal: AnyArray,
        rounds: int,
    ) -> None:
        """Begin to discharge tiles for some rounds; do not wait."""
        self._prepare(0, 0, self.arrays.counters.size, False)
        self._bound_launch(window, residual, terminal, Stages.NONE, (rounds, 0))()

    def _prepare(self, slots: int, notices: int, counters: int, further: bool) -> None:
        key = (slots, notices, counters, further)
        if key not in self._prepared:
            self._prepared[key] = self._bind_preparation(*key)
        self._prepared[key]()

    def _bind_preparation(self, slots: int, notices: int, counters: int, further: bool) -> Callable[[], None]:
        """Return the function that launches "prepare_launch"."""
        arrays = self.arrays
        arguments = PrepareArguments(
            arrays.slots,
            slots,
            arrays.notices,
            notices,
            arrays.counters,
            counters,
            arrays.arrivals,
            arrays.status[NEWS:],
            arrays.status[IS_SEARCHING:],
            int(further),
        )
        num_items = max(slots, notices, counters, 2)
        constants = self.tiling.constants
        return self.device.bind_sharing(BORDERS, "prepare_launch", num_items, arguments, constants)

    def _launch(
        self, window: tuple[int, int, int], residual: AnyArray, terminal: AnyArray, discharges: bool
    ) -> AnyArray:
        """Launch the kernel with a search first, and wait for its state."""
        self.arrays.arrivals.fill(0)
        rounds = (self.turns.rounds, self.turns.rounds_percent) if discharges else (0, 0)
        self._bound_launch(window, residual, terminal, Stages.ALL, rounds)()
        return self.read_state()

    def _bound_launch(
        self,
        window: tuple[int, int, int],
        residual: AnyArray,
        terminal: AnyArray,
        stages: Stages,
        rounds: tuple[int, int],
    ) -> Callable[[], None]:
        """Return the function that launches the kernel."""
        key = (window, stages, rounds)
        if key not in self._bound:
            self._bound[key] = self._bind(window, residual, terminal, stages, rounds)
        return self._bound[key]

    def _bind(
        self,
        window: tuple[int, int, int],
        residual: AnyArray,
        terminal: AnyArray,
        stages: Stages,
        rounds: tuple[int, int],
    ) -> Callable[[], None]:
        """Make the function that launches the kernel."""
        first_tile, end_tile, first_pixel = window
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
            rounds,
            int(stages),
            int(stages != Stages.NONE),
            WORK_OF_LAUNCH,
            NANOSECONDS_OF_LAUNCH if self.joined is None else NANOSECONDS_TOGETHER,
            self.arrays.slots.size,
            self.dischargers,
            self.joined or Joined(),
        )
        across = () if self.joined is None else (("ACROSS_DEVICES", 1),)
        return self.device.bind(
            SOURCE,
            "push_relabel_tiles",
            self.device.num_multiprocessors,
            WARP * self.warps,
            arguments,
            shared_bytes=self.tiling.shared_bytes(self.warps, self.dischargers),
            constants=(*self.tiling.constants, *across),
            cooperative=True,
        )

    def read_state(self) -> AnyArray:
        """Wait for all launches; return the state, the counts and the news.

        SolverError: the kernel gave up, which is an error of it.
        """
        state = self.device.to_host(self.arrays.status)
        counts = state[STATE_WORDS:NEWS]
        if state[FAILED] or state[NUM_RELABELS] > MOST_RELABELS:
            raise SolverError(f"cuda-tiled gave up: state {state.tolist()}, counts {counts.tolist()}")
        self.control.counts[[PUSHES, RELABELS, ARC_SCANS]] = counts[[NUM_PUSHES, NUM_SEARCHES, NUM_VISITS]]
        self.control.counts[[GLOBAL_RELABELS, RELABEL_NANOSECONDS]] = state[[NUM_RELABELS, NANOSECONDS]]
        if not state[IS_SEARCHING]:
            self.control.progress[0] = state[ACTIVE_TILES]
        return state
