"""CudaCuts: push-relabel on a grid in phases, a barrier after each, with heights in shared memory.

Vineet and Narayanan, "CUDA Cuts: fast graph cuts on the GPU" (2008), as Łupińska describes it in section 4.3.

Definitions
-----------
- A *round* is a relabel phase and `pushes` push phases (m in print).
- A block of threads works on a block of 32 x 8 pixels, or of another size, with a thread for each pixel. At
  the start of a phase it copies the heights of these pixels and of those around them to shared memory.
- The relabel phase gives each pixel a *mask*: 1, active, if it has excess and a lower neighbour; 0, passive,
  if it has excess and no lower neighbour; 2, inactive, if it has no excess.

Invariants
----------
- Heights do not change in a push phase. So two opposite arcs are never used in one phase, and only excess is
  changed by several threads.
- Heights never fall outside of an exact search.

Pseudo-code
-----------
::

    while an exact search finds excess that can reach a deficit:
        repeat:                                                                a round
            for each pixel with excess: set its mask; lift it if it is passive      relabel phase
            `pushes` times: for each active pixel: push to all lower neighbours     push phase
                without `atomic`: each pixel adds up what its neighbours pushed     pull phase
        until no push was made for `patience` rounds, or after `rounds` rounds
    the pixels that the last search reached are the sink side

The atomic version adds excess by atomic operations. The non-atomic version stores each amount on its arc, and
the receivers collect the amounts in a pull phase.

With ``relabel="lockstep"`` the relabel phase is a search, after the lockstep BFS of Hussein, Varshney and
Davis ("On implementing graph cuts on CUDA", 2007): it has no lists; all pixels step from level to level
together, and those not reached yet look for a neighbour that was. Then every reached pixel is active, so
excess moves over `pushes` arcs before the next search.

Termination
-----------
The paper stops "when all excesses stay the same after a few iterations", as does the method under the name
`CudaCuts`. That proves nothing. Neighbouring
pixels with excess rise together, one level a round, and nothing moves until the lowest of them is above an
arc that leads away; and a passive pixel rises a round before it may push. ``stopping="published"`` stops by
this rule, after `patience` rounds. A search then tells whether the flow is maximum; the result is unfinished
if it is not.

The default is exact: a search decides after `patience` rounds without a push, and after `rounds` rounds in
any case. The search is also the global relabel that the paper lacks. Without it, excess that cannot reach the
sink takes up to n rounds to rise. So the published rule stops too early where pixels wait for each other, and
too late elsewhere: on an image of a million pixels it had not stopped after 18,000 rounds, where the exact
rule takes 160.

Other departures
----------------
- One persistent kernel runs all phases; in print the CPU launches each.
- Blocks of pixels without work are skipped.
- Terminals are not pixels; capacity left to the sink is stored as negative excess.
- Masks are set in every relabel phase. In print an inactive pixel "will never be active", which is wrong of a
  pixel that flow is about to reach. As in print, the mask depends on the heights before the relabel.
- In print there are 4 neighbours, 8 in volumes; here any whose heights fit shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ...arrays import AnyArray, Array
from ...cuda import runtime
from ...cuda.runtime import Device
from ...cuda.structs import U8, U32, U64, ConstI64, ConstU32
from ...errors import InvalidInputError, SolverError
from ...graph.integer_grid import IntegerGrid
from ...gridcut.direction_major import DeviceGrid, begin, search_at_rest, solution
from ...gridcut.solution import GridFlow, GridSolution
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS

SOURCE = Path(__file__).with_suffix(".cu")
#: Operations of a launch; then its number of rounds, the number of rounds without a push at its end, and
#: whether a round changed nothing at all, so that no later one can.
Count = IntEnum("Count", "PUSHES RELABELS ARC_SCANS SEARCHES ROUNDS QUIET_ROUNDS IS_OVER", start=0)
COUNTS = len(Count)
#: Length of `Arguments.counters`, in words of 32 bits.
COUNTER_WORDS = 7 * 32
#: The threads that a multiprocessor runs at once: each gets at most its share of the registers.
THREADS_PER_MULTIPROCESSOR = 1024
#: Levels of lockstep searches after which a launch returns to the host: about 0.1 s.
LEVELS_PER_LAUNCH = 10_000
#: More rounds than any grid needs; reaching it is an error.
MOST_ROUNDS = 2**40
#: Most axes of a grid.
MOST_AXES = 3


@dataclass(frozen=True)
class BlockingOptions(CheckedOptions):
    """Options of push-relabel in phases.

    Attributes
    ----------
    atomic : bool
        Add to the excess of neighbours by atomic operations, rather than in a pull phase.
    pushes : int
        Push phases per round: m in the paper.
    relabel : {"local", "lockstep"}
        Lift pixels to just above their lowest neighbour, or make all heights exact.
    stopping : {"exact", "published"}
        Stop when an exact search finds no active excess, or after `patience` rounds without a push.
    patience : int
        Rounds without a push after which the published rule stops and the exact one searches.
    rounds : int
        Rounds after which the exact rule searches in any case. A search is cheap compared with rounds: of 16,
        64, 256 and 1024, 16 was fastest on images and volumes of 1 and 4 million pixels.
    block_width, block_height : int
        Size of the block of pixels that a block of threads works on at a time, a thread for each pixel of at
        most 1024.
    """

    atomic: bool = True
    pushes: PositiveInteger = 1
    relabel: Literal["local", "lockstep"] = "local"
    stopping: Literal["exact", "published"] = "exact"
    patience: PositiveInteger = 3
    rounds: PositiveInteger = 16
    block_width: PositiveInteger = 32
    block_height: PositiveInteger = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block_width * self.block_height > 1024:
            raise InvalidInputError(
                f"options block_width and block_height multiply to 1024 at most, got {self.block_width} and "
                f"{self.block_height}"
            )


class Tiling(NamedTuple):
    """The tiles of a grid: flat blocks of pixels, rows of one slice."""

    width: int
    height: int
    depth: int
    tile_width: int
    tile_height: int
    #: largest distance to a neighbour along each axis
    reach_x: int
    reach_y: int
    reach_z: int
    shift: ConstU32  #: from a height in shared memory to that of a neighbour, modulo 2**32


class Arguments(NamedTuple):
    """Arguments of "push_relabel_rounds"."""

    grid: DeviceGrid
    tiling: Tiling
    height: U32
    mask: U8
    #: without atomic operations: amount pushed over each arc, until the pull phase
    pushed: Annotated[AnyArray, "CapacityWord*"]
    counters: U32  #: arrivals at the barrier, then rotating counters; zero before the launch
    counts: U64  #: zero before the launch
    atomic: bool
    lockstep: bool
    pushes: int  #: push phases per round
    most_rounds: int
    most_levels: int  #: of lockstep searches, after which no round begins
    patience: int  #: rounds without a push after which the launch ends
    stop: ConstI64


def make_tiling(device: Device, grid: IntegerGrid, options: BlockingOptions) -> tuple[Tiling, int]:
    """Return the blocks of pixels of a grid, and the shared memory of a block of threads in bytes.

    InvalidInputError: the grid has more than three axes, or the heights around a block do not fit shared
    memory because neighbours are too far apart.
    """
    missing = MOST_AXES - len(grid.shape)
    if missing < 0:
        raise InvalidInputError(
            f"cuda-blocking takes images and volumes, got {len(grid.shape)} axes: take cuda-lockfree"
        )
    depth, height, width = (1,) * missing + grid.shape
    offsets = np.pad(grid.offsets, ((0, 0), (missing, 0)))
    reach_z, reach_y, reach_x = np.abs(offsets).max(axis=0).tolist()
    row = options.block_width + 2 * reach_x
    rows = options.block_height + 2 * reach_y
    needed = 16 + 4 * row * rows * (1 + 2 * reach_z)
    if needed > device.shared_bytes:
        raise InvalidInputError(
            f"cuda-blocking keeps the heights around {options.block_width} x {options.block_height} pixels "
            f"in shared memory: with neighbours as far as ({reach_z}, {reach_y}, {reach_x}) that takes "
            f"{needed:,} of {device.shared_bytes:,} bytes: take cuda-lockfree"
        )
    shift = offsets @ np.array([row * rows, row, 1])
    tiling = Tiling(
        width=width,
        height=height,
        depth=depth,
        tile_width=options.block_width,
        tile_height=options.block_height,
        reach_x=reach_x,
        reach_y=reach_y,
        reach_z=reach_z,
        shift=device.xp.asarray((shift % 2**32).astype(np.uint32)),
    )
    return tiling, needed


def push_and_relabel(device: Device, arguments: Arguments, shared_bytes: int, control: Control) -> Array:
    """Run rounds; add up their operations, and return the counts of the launch."""
    pixels = arguments.tiling.tile_width * arguments.tiling.tile_height
    threads = min(-(-pixels // 32) * 32, device.block_threads)  # whole warps
    most = THREADS_PER_MULTIPROCESSOR * device.num_multiprocessors
    blocks = min(most, device.most_threads) // threads
    arguments.counters[:] = 0
    arguments.counts[:] = 0
    device.launch(
        SOURCE,
        "push_relabel_rounds",
        blocks,
        threads,
        arguments,
        shared_bytes=shared_bytes,
        constants=arguments.grid.constants,
        cooperative=True,
    )
    counts = device.to_host(arguments.counts)
    control.counts[[PUSHES, RELABELS, ARC_SCANS, GLOBAL_RELABELS]] += counts[
        [Count.PUSHES, Count.RELABELS, Count.ARC_SCANS, Count.SEARCHES]
    ]
    return counts


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: BlockingOptions, control: Control
) -> GridSolution:
    """Push and relabel in phases; return the flow and the cut.

    O(n^2) rounds. Memory on the device: 13 bytes per pixel and 4 per arc, or 17 and 8 where capacities need
    64 bits; without atomic operations twice as much for arcs. InvalidInputError: the grid has more than three
    axes, or neighbours too far apart. SolverError: more rounds, or global relabels, than any grid needs.
    """
    device = runtime.find_device()
    tiling, shared_bytes = make_tiling(device, grid, options)
    search = begin(device, grid, start, control)
    state, xp = search.grid, device.xp
    arguments = Arguments(
        grid=state,
        tiling=tiling,
        height=search.height,
        mask=xp.empty(state.num_pixels, dtype=np.uint8),
        pushed=xp.zeros_like(state.residual[: 0 if options.atomic else None]),
        counters=xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        counts=xp.zeros(COUNTS, dtype=np.uint64),
        atomic=options.atomic,
        lockstep=options.relabel == "lockstep",
        pushes=options.pushes,
        most_rounds=options.rounds,
        most_levels=LEVELS_PER_LAUNCH,
        patience=options.patience,
        stop=device.stop_word(control),
    )
    rounds = 0
    if options.stopping == "published":
        rounds = push_until_quiet(device, arguments, shared_bytes, control)
    while (active := search_at_rest(device, search, control, "cuda-blocking")) > 0:
        if control.stopped or options.stopping == "published":
            break
        rounds += int(push_and_relabel(device, arguments, shared_bytes, control)[Count.ROUNDS])
    control.remarks.append(f"{rounds:,} rounds")
    if active > 0 and not control.stopped:
        control.unproved.append(f"the published rule stopped while excess of {active:,} could reach the sink")
    return solution(grid.shape, search, active == 0)


def push_until_quiet(device: Device, arguments: Arguments, shared_bytes: int, control: Control) -> int:
    """Run rounds from heights of 1 until `patience` rounds in a row had no push; return the number of rounds.

    Rounds without a push at the end of a launch count in the next launch, too.
    """
    arguments.height[:] = 1
    rounds = quiet = 0
    is_over = False
    while quiet < arguments.patience and not is_over and not control.stopped:
        counts = push_and_relabel(
            device, arguments._replace(patience=arguments.patience - quiet), shared_bytes, control
        )
        done, quiet_now = int(counts[Count.ROUNDS]), int(counts[Count.QUIET_ROUNDS])
        quiet = quiet + quiet_now if quiet_now == done else quiet_now
        rounds, is_over = rounds + done, bool(counts[Count.IS_OVER])
        if rounds > MOST_ROUNDS:
            raise SolverError(f"cuda-blocking gave up after {MOST_ROUNDS:,} rounds")
    return rounds
