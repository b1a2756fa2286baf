"""Push-relabel in one persistent kernel on a GPU.

The method is preflow's own. It takes the lock-free operations of Hong (Wu, He and Hong 2011, chapter 5;
Łupińska, section 4.4), global relabels driven by relabel work as in the HI_PR codes, and the concurrent
global relabels of Anderson and Setubal (1992). docs/notebook has the measurements.

Definitions
-----------
- Each warp has an *inbox*, a list of active vertices that it owns (inboxes.cuh). It *discharges* them
  without waiting for other warps (discharge.cuh).
- A *search at rest* is a global relabel while no flow moves: level by level on the whole grid, small levels
  in one block (search_at_rest.cuh).
- A *phase* lies between two searches at rest.
- A *wave* is a search that some blocks make while the others discharge. Waves follow each other, and many
  are on their way at the same time (waves.cuh).
- The *label* of a vertex is the number of the last search that reached it, above its height (labels.cuh).
  So of two labels the greater one is newer.
- A vertex is *put off* if the next wave should have reached it by now and has not, or if it has no residual
  arc to a vertex that can reach the sink. It is active, but in nobody's inbox, until a search reaches it.

Invariants
----------
- An active vertex belongs to one group of lanes at a time: the group that raised its excess from zero, then
  the group that takes it from an inbox. Only that group relabels it or lowers its residual capacities.
- Labels only grow during a phase. What a wave finds is a hint, since flow moves behind it; only a search at
  rest declares vertices dead for good.
- Every vertex is in its inbox at most once, so an inbox never overflows.

Pseudo-code
-----------
::

    repeat:                                                          push_relabel_slice
        search at rest                                               start_search, expand_*, finish_search
        if no active vertex was reached: done
        if the levels were many and narrow:
            half of the blocks send waves                            send_waves
            the other blocks discharge                               discharge_inbox
            until most warps have had nothing to do for some time
        else: all blocks discharge until a search is due             discharge_inbox

All of this is one cooperative kernel. It returns to the host after a number of barriers, so that a solve
can be stopped, and ends with a search at rest. Terminals are not vertices. Small capacities are stored in
pairs, see paired_capacities.py, unless the network is dense.

The loop that launches the kernel until it has finished, :func:`push_until_done`, is not shared with the
GPU solvers of papers/wu_he_hong: cuda_coloring and cuda_hybrid search on the CPU between two launches, and
cuda_lockfree launches two kernels side by side.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda import runtime
from ...cuda.launches import shared_bytes
from ...cuda.runtime import Device, Macros
from ...cuda.structs import U32, U64, ConstI64, ConstU32
from ...errors import SolverError, UnsuitableMethodError
from ...graph.device.residual import ARCS_A_PIECE, DeviceNetwork, search_room
from ...solving.options import CheckedOptions, Lanes, NonNegativeInteger, PositiveInteger, between, percent
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .paired_capacities import paired_capacities
from .survey import excess_alive, survey

SOURCE = Path(__file__).with_name("push_relabel.cu")
#: The counters of a round and of a phase, in words of 32 bits.
COUNTER_WORDS = 48 * 32
Phase = IntEnum("Phase", "START SEARCH DISCHARGE DONE", start=0)
#: 32-bit words in which blocks arrive at barriers: one word, and two words of 64 bits, each on its own
#: cache line.
ARRIVALS = 3 * 32
#: Pieces of arcs in one of a block's two lists in shared memory, and how many of them a block keeps to
#: itself.
LIST_CAPACITY, MOST_KEPT = 2048, 32
#: Greatest number of blocks whose barrier adds up, see grid.cuh.
MOST_SEARCH_BLOCKS = 511
#: Blocks that send waves share what they have reached in one of this many rounds.
SHARING_ROUNDS = 8
#: Put-off vertices that a block may reach in a round; they go to their inboxes in the next round.
MOST_REVIVED = 128
#: A vertex with more residual arcs than HUB_DEGREE is discharged by all lanes of a warp, see discharge.cuh.
WARP, HUB_DEGREE = 32, 128
#: Number of residual arcs of a vertex that no longer fits its packed range, see residual.cuh.
MOST_DEGREE = 2**31
#: Neighbouring vertices that have one owner, and the least room of an inbox: see inboxes.cuh.
OWNED_TOGETHER, LEAST_CAPACITY = 8, 32
#: More global relabels than any network needs, and few enough for the bits of their numbers, see search.cuh.
MOST_SEARCHES = 8_000_000
#: Greatest work of one phase, so that 32 bits count it.
MOST_WORK = 2**31
#: The largest factor that is an option.
MOST_FACTOR = 10_000_000
#: Arcs that a thread loads together when it searches.
SEARCH_ARCS = 2
#: From this many vertices on, enough are active at a time to keep all threads busy with half as many
#: threads for each.
MANY_VERTICES = 2_000_000
#: Rounds of one launch: about 0.1 s.
ROUNDS_A_LAUNCH = 20_000


@dataclass(frozen=True)
class PushRelabelOptions(CheckedOptions):
    """Options of push-relabel on a GPU.

    Attributes
    ----------
    lanes : int or None
        Threads that work on one vertex: 1, 2, 4, 8, 16 or 32. With 32 no capacities are stored in pairs.
        None chooses by the mean degree, and fewer for discharges if there are very many vertices.
    work_factor : float
        Without waves, a global relabel is due after this many times 6 n + m units of relabel work.
    step_limit, step_factor : int, float
        It is also due when a warp has made `step_limit` rounds of discharges, plus `step_factor` for each
        level of the last search. In a round a warp discharges one vertex for each of its groups of lanes.
    time_factor : float
        It is also due when the first warp has nothing to do and this many times the time of the last search
        has passed.
    few : int
        Levels of up to this many vertices are searched by one block alone.
    overshoot_share : float
        How much farther a global relabel goes than the last active vertex that it reached, as a share of its
        level; 0 goes to the end.
    enough_share : float
        A global relabel goes on while it has reached less than this share of the active vertices.
    keeps : bool
        A warp with room keeps one of the vertices that it activates, whoever owns it.
    search_share : float
        Share of the blocks, below 1, that send waves while the others discharge; 0 sends none.
    wave_width : int
        Waves are sent after a search whose levels had fewer vertices than this on average.
    wave_rounds, wave_factor : int, float
        A wave follows the last one after `wave_rounds` levels, plus `wave_factor` for each level of that
        search.
    reach_factor : float
        How far a wave goes, in times the levels of that search.
    rest_share, idle_factor : float
        Waves end when `rest_share` of the discharging warps have had nothing to do for `idle_factor` times
        the time of the last search at rest, or all of them for a quarter of that time. The time doubles
        after each phase that ended in this way although the following search reached most active vertices.

    Notes
    -----
    Shares and factors are rounded to hundredths.
    """

    lanes: Lanes | None = None
    work_factor: Annotated[float, between(0.01, MOST_FACTOR)] = 4.0
    step_limit: PositiveInteger = 64
    step_factor: Annotated[float, between(0, MOST_FACTOR)] = 0.4
    time_factor: Annotated[float, between(0.01, MOST_FACTOR)] = 4.0
    few: NonNegativeInteger = 256
    overshoot_share: Annotated[float, between(0, MOST_FACTOR)] = 0.5
    enough_share: Annotated[float, between(0, 1)] = 0.5
    keeps: bool = True
    search_share: Annotated[float, between(0, 0.99)] = 0.5
    wave_width: NonNegativeInteger = 16384
    wave_rounds: NonNegativeInteger = 16
    wave_factor: Annotated[float, between(0, MOST_FACTOR)] = 0.2
    reach_factor: Annotated[float, between(0.01, MOST_FACTOR)] = 3.0
    rest_share: Annotated[float, between(0.01, 1)] = 0.95
    idle_factor: Annotated[float, between(0.01, MOST_FACTOR)] = 1.0


class PushRelabelState(NamedTuple):
    """The state of the kernel's loop."""

    phase: int = 0
    rounds_left: int = 0  #: of this launch
    round: int = 0  #: barriers so far; it selects one of the rotating counters
    begin: int = 0  #: the level that is expanded next, in the order of the search
    end: int = 0  #: the level that is expanded next, in the order of the search
    level: int = 0  #: their height
    last_level: int = 0  #: the level after which the search stops; 0 while that is not known
    wanted: int = 0  #: active vertices that the search has not reached yet
    active: int = 0  #: active vertices that it has reached
    searches: int = 0
    began: int = 0  #: clock time when the running search began; time of all searches
    nanoseconds: int = 0  #: clock time when the running search began; time of all searches
    last_nanoseconds: int = 0  #: time of the last search
    wave_rounds: int = 0
    search_blocks: int = 0  #: blocks that send waves in this phase
    ended_idle: int = 0  #: whether the last phase had waves and ended because most warps had nothing to do
    in_vain: int = 0  #: number of such phases in a row after which the search reached most active vertices
    next_look: int = 0  #: clock time when the first thread checks whether to stop


#: The place of each number in the words of the state.
WORD = PushRelabelState(*range(len(PushRelabelState._fields)))


class Arguments(NamedTuple):
    """Arguments of "push_relabel_slice"."""

    net: DeviceNetwork
    label: U64
    near_sink: ConstU32  #: the vertices with an arc to the sink
    num_near_sink: int
    order: U64  #: pieces of arcs of the vertices reached, by level; or two levels of all waves
    room: int  #: of each of these two levels
    inboxes: InboxRoom
    arrivals: U32  #: at barriers: of all blocks, then of the blocks that send waves
    counters: U32
    state: U64  #: of the next launch, and two copies to pass on the state of one block to all
    counts: U64
    work_limit: int  #: the options of PushRelabelOptions in __init__.py, work_limit in units of work
    step_limit: int
    step_percent: int
    time_percent: int
    few: int
    overshoot_percent: int
    enough_percent: int
    keeps: bool
    only_search: bool  #: make a last search, to the end
    search_blocks: int  #: blocks that send waves while others discharge
    wave_width: int
    wave_rounds: int
    wave_percent: int
    reach_percent: int
    rest_percent: int
    idle_percent: int
    stop: ConstI64


class InboxRoom(NamedTuple):
    """``InboxRoom`` in inboxes.cuh."""

    slots: U32
    ends: U32


def make_inbox_room(device: Device, num_vertices: int, fewest_blocks: int) -> InboxRoom:
    """Return room for empty inboxes of all warps, in any number of blocks from `fewest_blocks` on."""
    xp, warps_a_block = device.xp, max(1, device.block_threads // WARP)
    most_slots = 0
    for blocks in (fewest_blocks, device.num_multiprocessors):
        owners = blocks * warps_a_block
        most_owned = -(-num_vertices // (OWNED_TOGETHER * owners)) * OWNED_TOGETHER
        capacity = max(LEAST_CAPACITY, 1 << max(0, most_owned - 1).bit_length())
        most_slots = max(most_slots, owners * capacity)
    return InboxRoom(
        slots=xp.zeros(most_slots, dtype=np.uint32),
        ends=xp.zeros(device.num_multiprocessors * warps_a_block, dtype=np.uint32),
    )


def lanes_for(num_vertices: int, num_arcs: int) -> int:
    """Return how many threads search from one vertex: the mean degree, as a power of two up to 32."""
    degree = num_arcs // max(1, num_vertices)
    return int(min(WARP, 1 << max(0, degree - 1).bit_length()))


def discharge_lanes_for(num_vertices: int, lanes: int) -> int:
    """Return how many of these threads discharge a vertex: fewer if there are many vertices at a time."""
    return max(4, lanes // 2) if 4 < lanes < WARP and num_vertices >= MANY_VERTICES else lanes


def first_stage(
    device: Device, net: DeviceNetwork, options: PushRelabelOptions, control: Control
) -> tuple[Any, PushRelabelState]:
    """Push excess until none can reach the sink; return the exact heights and the kernel's state."""
    xp, n, m = device.xp, net.num_vertices, len(net.arcs)
    search_blocks = min(MOST_SEARCH_BLOCKS, device.num_multiprocessors * percent(options.search_share) // 100)
    room = max(1, -(-search_room(net) // 2))
    found = survey(device, net)
    if found.greatest_degree >= MOST_DEGREE:
        raise UnsuitableMethodError(
            f"{found.greatest_degree:,} residual arcs of a vertex are too many for a GPU: below 2**31"
        )
    arguments = Arguments(
        net=net._replace(first_out=found.ranges),
        label=xp.full(n, n + 2, dtype=np.uint64),
        near_sink=found.near_sink,
        num_near_sink=found.num_near_sink,
        order=xp.empty(2 * room, dtype=np.uint64),
        room=room,
        inboxes=make_inbox_room(device, n, device.num_multiprocessors - search_blocks),
        arrivals=xp.zeros(ARRIVALS, dtype=np.uint32),
        counters=xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        state=xp.zeros(3 * len(WORD), dtype=np.uint64),
        counts=xp.zeros(4, dtype=np.uint64),
        work_limit=min(MOST_WORK, max(1, (6 * n + m) * percent(options.work_factor) // 100)),
        step_limit=options.step_limit,
        step_percent=percent(options.step_factor),
        time_percent=percent(options.time_factor),
        few=options.few,
        overshoot_percent=percent(options.overshoot_share),
        enough_percent=percent(options.enough_share),
        keeps=options.keeps,
        only_search=False,
        search_blocks=search_blocks,
        wave_width=options.wave_width,
        wave_rounds=options.wave_rounds,
        wave_percent=percent(options.wave_factor),
        reach_percent=percent(options.reach_factor),
        rest_percent=percent(options.rest_share),
        idle_percent=percent(options.idle_factor),
        stop=device.stop_word(control),
    )
    control.progress[:] = float(found.excess)
    search_lanes = options.lanes or lanes_for(n, m)
    lanes = options.lanes or discharge_lanes_for(n, search_lanes)
    has_hubs = lanes < WARP and found.greatest_degree > HUB_DEGREE
    constants = (
        ("LANES_A_VERTEX", lanes),
        ("SEARCH_LANES", search_lanes),
        ("SEARCH_ARCS", SEARCH_ARCS),
        ("HAS_HUBS", int(has_hubs)),
        ("HAS_LONG_LISTS", int(found.greatest_degree > ARCS_A_PIECE)),
        ("LIST_CAPACITY", LIST_CAPACITY),
        ("MOST_KEPT", MOST_KEPT),
        ("SHARING_ROUNDS", SHARING_ROUNDS),
        ("MOST_REVIVED", MOST_REVIVED),
    )
    # In dense networks most arcs lead to vertices that a search has reached already, whatever their
    # capacities.
    pairs = (
        paired_capacities(device, net, found.greatest_capacity) if search_lanes < WARP else nullcontext(False)
    )
    with pairs as is_paired:
        state = push_until_done(device, arguments, (*constants, ("PAIRED", int(is_paired))), control)
    return xp.ascontiguousarray(heights_of(arguments)), state


def heights_of(arguments: Arguments) -> AnyArray:
    """Return the lower half of every label, the heights."""
    return arguments.label.view(np.uint32)[::2]


def push_until_done(
    device: Device, arguments: Arguments, constants: Macros, control: Control
) -> PushRelabelState:
    """Launch the kernel until it has finished; return its state."""
    net = arguments.net
    threads = device.block_threads
    while True:
        if control.stopped:  # instead of the next phase, make one more search, which nothing stops
            arguments = arguments._replace(only_search=True, stop=device.never)
            if device.to_host(arguments.state)[WORD.phase] == Phase.DISCHARGE:
                arguments.state[WORD.phase] = Phase.START
        arguments.state[WORD.rounds_left] = ROUNDS_A_LAUNCH
        arguments.arrivals[:] = 0
        device.launch(
            SOURCE,
            "push_relabel_slice",
            device.num_multiprocessors,
            threads,
            arguments,
            shared_bytes=shared_bytes(device, SOURCE, threads, constants),
            constants=constants,
            cooperative=True,
        )
        state = PushRelabelState._make(device.to_host(arguments.state)[: len(WORD)].tolist())
        *totals, faults = device.to_host(arguments.counts)
        control.counts[[PUSHES, RELABELS, ARC_SCANS]] = totals
        control.counts[[GLOBAL_RELABELS, RELABEL_NANOSECONDS]] = state.searches, state.nanoseconds
        if faults:
            raise SolverError(f"cuda-push-relabel pushed more than there was: {state}")
        is_done = state.phase == Phase.DONE
        going_on = not is_done or control.stopped
        control.progress[0] = excess_alive(device, net, arguments.label) if going_on else 0.0
        if is_done:
            return state
        if state.searches > MOST_SEARCHES:
            raise SolverError(f"cuda-push-relabel gave up after {MOST_SEARCHES:,} searches: {state}")


def solve(net: DeviceNetwork, options: PushRelabelOptions, control: Control) -> AnyArray:
    """Run the first stage in place, on the current GPU; return exact heights.

    O(n^2 m) operations; on the device 16 bytes a residual arc and up to 60 a vertex.
    """
    height, _ = first_stage(runtime.find_device(), net, options, control)
    return height
