"""The persistent kernel of :mod:`.cuda_tiled`: its arrays, its launches, and the state that it leaves."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from itertools import accumulate
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...cuda.structs import U32, U64
from ...errors import SolverError
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .tiling import LISTS, WARP, Axes, Excess, Residual, Tiling

SOURCE = Path(__file__).with_name("cuda_tiled.cu")
BORDERS = Path(__file__).with_name("borders.cu")
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
MOST_DEVICES, TEAM_WORDS = 16, 35 * 16
#: More global relabels than any grid needs; reaching it is an error.
MOST_RELABELS = 10_000_000


#: Words of the kernel's state, then of its counts, then of the news of parts.
Word = IntEnum(
    "Word",
    "IS_DONE ACTIVE_TILES RELABELS NANOSECONDS IS_SEARCHING ROUND FAILED BROADCAST LAST_SEARCH ACTIVE_HERE "
    "FARTHEST PUSHES SEARCHES VISITS NEWS",
    start=0,
)


class TileArrays(NamedTuple):
    """Arrays on the GPU for all tiles, also for those whose capacities stay on the host."""

    faces_z: U32  #: labels: see tile_faces.cuh
    faces_y: U32
    faces_x: U32
    words: U32
    stamps: U32  #: the last list that a tile was appended to
    lists: U32
    notices: U32  #: number of changes next to a tile that no search has read: see tile_lists.cuh
    slots: U64
    counters: U32
    arrivals: U32
    state: U64  #: see `Word`


class Turns(NamedTuple):
    """Limits on waves and rounds: see :class:`.cuda_tiled.TiledOptions`."""

    waves: int
    rounds: int
    rounds_percent: int


class Stage(IntEnum):
    """The stages of a global relabel that a launch begins with.

    ALONE_ONLY searches each tile without its neighbours. ALL_BUT_ALONE searches each tile given the labels
    around it, then those next to changes; ALL_STAGES does both. A search that goes on searches tiles with
    notices only.
    """

    NO_STAGE = 0
    ALL_STAGES = 1
    ALONE_ONLY = 2
    ALL_BUT_ALONE = 3


class Beyond(NamedTuple):
    """The part of a grid beyond a border, on another device; by default there is none."""

    tiles: int = 0  #: what to add to the number of a tile here to get its number there, modulo 2**64
    pixels: int = 0  #: the same for pixels
    num_tiles: int = 0
    direction_stride: int = 0
    residual: Residual = 0
    terminal: Excess = 0
    words: U32 = 0
    stamps: U32 = 0
    lists: U32 = 0
    notices: U32 = 0
    slots: U64 = 0
    num_slots: int = 0
    counters: U32 = 0
    num_labels: int = 0  #: of the pixels here at the border
    labels: U32 = 0  #: their own place
    copies: U32 = 0  #: and that of the copy there


class Devices(NamedTuple):
    """Devices that run a kernel at the same time; by default none."""

    num_devices: int = 0
    number: int = 0  #: of this device
    words: Annotated[tuple[AnyArray, ...], "u64*[MOST_DEVICES]"] = (0,) * MOST_DEVICES  #: see `DevicesTeam`


class Joined(NamedTuple):
    """The other parts of a grid, as a part sees them when all run the kernel together; by default none."""

    parity: int = 0  #: of the first layer of tiles in the whole grid, so that all parts agree on colors
    before: Beyond = Beyond()
    after: Beyond = Beyond()
    devices: Devices = Devices()
    counters_of: Annotated[tuple[AnyArray, ...], "u32*[MOST_DEVICES]"] = (0,) * MOST_DEVICES


class Arguments(NamedTuple):
    """Arguments of "push_relabel_tiles"."""

    tiles: Axes
    first_tile: int  #: the tiles that may be discharged
    end_tile: int
    first_searched: int  #: the tiles that are searched; the labels of the others stay as they are
    end_searched: int
    first_pixel: int  #: whose capacities are on the device
    direction_stride: int
    residual: Residual
    terminal: Excess  #: excess where positive, minus the capacity left to the sink where negative
    arrays: TileArrays
    turns: Turns
    searches: int  #: a `Stage`
    repeats: bool  #: whether a launch goes on after discharges
    work_of_launch: int
    nanoseconds_of_launch: int
    num_slots: int
    dischargers: int  #: warps of a block with room for a tile's capacities
    joined: Joined


class PrepareArguments(NamedTuple):
    """Arguments of "prepare_launch"."""

    slots: U64  #: of the search queue
    num_slots: int
    notices: U32
    num_notices: int
    counters: U32
    num_counters: int
    arrivals: U32
    news: U64  #: is set where the search has work
    is_searching: U64  #: whether the last search ended early
    searches_further: bool  #: whether the next one goes on


def make_arrays(device: Device, tiling: Tiling) -> TileArrays:
    """Return the arrays of the kernels, without capacities and excess: pieces of one allocation."""
    n = tiling.num_tiles
    zeros = {
        "state": 2 * len(Word),
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
    return TileArrays(**pieces | {"slots": slots, "state": pieces["state"].view(np.uint64)})


class Launcher:
    """Launches the persistent kernel until it is done, or has no work left in the tiles on the GPU."""

    def __init__(
        self, device: Device, tiling: Tiling, arrays: TileArrays, turns: Turns, control: Control
    ) -> None:
        self.device, self.tiling, self.arrays, self.control = device, tiling, arrays, control
        self.turns, self._no_turns = turns, turns._replace(rounds=0, rounds_percent=0)
        self.searched = 0, tiling.num_tiles  # the tiles that are searched; the labels of others are given
        self.joined: Joined | None = None  # with others, if they run the kernel together
        self.is_searching = False  # whether the last launch ended within a search
        self.budget: float | None = None  # nanoseconds of global relabels
        # Launches that were made before; all have the same capacities and the same excess.
        self._bound: dict[tuple[object, ...], Callable[[], None]] = {}
        self._prepared: dict[tuple[int, ...], Callable[[], None]] = {}
        self.warps, self.dischargers = tiling.warps_of_block(device)
        control.progress[:] = tiling.num_tiles

    def launch(
        self, window: tuple[int, int, int], residual: AnyArray, terminal: AnyArray, discharges: bool
    ) -> AnyArray:
        """Run the kernel until its search is complete, or the solve is stopped or gives up; return its state.

        `window` has the first tile that may be discharged, one past the last, and the first pixel whose
        capacities are on the GPU. Without `discharges` the kernel only makes labels exact.
        """
        while True:
            self._resume_search()
            state = self._launch(window, residual, terminal, discharges)
            self.is_searching = bool(state[Word.IS_SEARCHING])
            if not self.is_searching or self.control.stopped or self.gives_up(state):
                return state

    def _resume_search(self) -> None:
        """After a launch that ended within a search, let the kernel queue the tiles that have notices."""
        if self.is_searching:
            self.arrays.slots.fill(EMPTY)
            self.arrays.counters[LISTS * COUNTER_WORDS :] = 0

    def prepare_together(self, residual: AnyArray, terminal: AnyArray) -> Callable[[], None]:
        """Return a function that begins to solve together with other parts; it does not wait."""
        self._resume_search()
        whole = (0, self.tiling.num_tiles, 0)
        return self._bound_launch(whole, residual, terminal, Stage.ALL_STAGES, self.turns)

    def gives_up(self, state: AnyArray) -> bool:
        """Return whether global relabels have spent the budget."""
        return self.budget is not None and int(state[Word.NANOSECONDS]) >= self.budget

    def prepare_search(self, *, further: bool) -> None:
        """Prepare a search, or one that goes on from the tiles that get notices.

        The number of tiles that changes have crossed is the largest since the first stage of the search.
        """
        arrays = self.arrays
        notices = 0 if further else arrays.notices.size
        self._prepare(arrays.slots.size, notices, arrays.counters.size - COUNTER_WORDS, further)

    def search(self, residual: AnyArray, terminal: AnyArray, stages: Stage) -> None:
        """Begin a search that was prepared; do not wait."""
        self._bound_launch((0, 0, 0), residual, terminal, stages, self._no_turns)()

    def discharge(
        self,
        window: tuple[int, int, int],
        residual: AnyArray,
        terminal: AnyArray,
        rounds: int,
    ) -> None:
        """Begin to discharge tiles for some rounds; do not wait."""
        self._prepare(0, 0, self.arrays.counters.size, False)
        turns = self.turns._replace(rounds=rounds, rounds_percent=0)
        self._bound_launch(window, residual, terminal, Stage.NO_STAGE, turns)()

    def _prepare(self, slots: int, notices: int, counters: int, further: bool) -> None:
        key = (slots, notices, counters, further)
        if key not in self._prepared:
            arrays = self.arrays
            arguments = PrepareArguments(
                slots=arrays.slots,
                num_slots=slots,
                notices=arrays.notices,
                num_notices=notices,
                counters=arrays.counters,
                num_counters=counters,
                arrivals=arrays.arrivals,
                news=arrays.state[Word.NEWS :],
                is_searching=arrays.state[Word.IS_SEARCHING :],
                searches_further=further,
            )
            num_items = max(slots, notices, counters, 2)
            self._prepared[key] = self.device.bind_sharing(
                BORDERS, "prepare_launch", num_items, arguments, self.tiling.constants
            )
        self._prepared[key]()

    def _launch(
        self, window: tuple[int, int, int], residual: AnyArray, terminal: AnyArray, discharges: bool
    ) -> AnyArray:
        """Launch the kernel with a search first, and wait for its state."""
        self.arrays.arrivals.fill(0)
        turns = self.turns if discharges else self._no_turns
        self._bound_launch(window, residual, terminal, Stage.ALL_STAGES, turns)()
        return self.read_state()

    def _bound_launch(
        self,
        window: tuple[int, int, int],
        residual: AnyArray,
        terminal: AnyArray,
        stages: Stage,
        turns: Turns,
    ) -> Callable[[], None]:
        """Return the function that launches the kernel."""
        key = (window, stages, turns)
        if key in self._bound:
            return self._bound[key]
        first_tile, end_tile, first_pixel = window
        arguments = Arguments(
            tiles=self.tiling.tiles,
            first_tile=first_tile,
            end_tile=end_tile,
            first_searched=self.searched[0],
            end_searched=self.searched[1],
            first_pixel=first_pixel,
            direction_stride=terminal.size,
            residual=residual,
            terminal=terminal,
            arrays=self.arrays,
            turns=turns,
            searches=stages,
            repeats=stages != Stage.NO_STAGE,
            work_of_launch=WORK_OF_LAUNCH,
            nanoseconds_of_launch=NANOSECONDS_OF_LAUNCH if self.joined is None else NANOSECONDS_TOGETHER,
            num_slots=self.arrays.slots.size,
            dischargers=self.dischargers,
            joined=self.joined or Joined(),
        )
        across = () if self.joined is None else (("ACROSS_DEVICES", 1),)
        self._bound[key] = self.device.bind(
            SOURCE,
            "push_relabel_tiles",
            self.device.num_multiprocessors,
            WARP * self.warps,
            arguments,
            shared_bytes=self.tiling.shared_bytes(self.warps, self.dischargers),
            constants=(*self.tiling.constants, *across),
            cooperative=True,
        )
        return self._bound[key]

    def read_state(self) -> AnyArray:
        """Wait for all launches; return the state, the counts and the news.

        SolverError: the kernel gave up, which is an error of it.
        """
        state = self.device.to_host(self.arrays.state)
        counts = state[Word.PUSHES : Word.NEWS]
        if state[Word.FAILED] or state[Word.RELABELS] > MOST_RELABELS:
            raise SolverError(f"cuda-tiled gave up: state {state.tolist()}, counts {counts.tolist()}")
        self.control.counts[[PUSHES, RELABELS, ARC_SCANS]] = state[[Word.PUSHES, Word.SEARCHES, Word.VISITS]]
        self.control.counts[[GLOBAL_RELABELS, RELABEL_NANOSECONDS]] = state[[Word.RELABELS, Word.NANOSECONDS]]
        if not state[Word.IS_SEARCHING]:
            self.control.progress[0] = state[Word.ACTIVE_TILES]
        return state
