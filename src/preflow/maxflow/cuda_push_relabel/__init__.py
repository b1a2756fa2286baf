"""Push-relabel in one persistent kernel on a GPU.

preflow's own; what it takes from the papers: Hong's lock-free operations (Wu, He and Hong, chapter 5;
Łupińska, section 4.4), and global relabels driven by relabel work as in the HI_PR codes, on the device.
Terminals are not vertices. Every warp discharges the active vertices in its inbox without waiting for others.
Global relabels go level by level, small levels in one block. Where the levels are many and narrow, half of
the blocks send searches like waves, one after the other and many on their way at once, while the rest
discharges: the concurrent global relabel of Anderson and Setubal (1992), with their wave numbers, which
say which of two labels is newer. A vertex that the next wave should have reached by now, and has not, waits
for it: no label of its neighbours can be trusted. Otherwise all blocks discharge until a global relabel is
due. Waves end when few vertices have stayed active for a while: most of them turn out to be cut off from the
sink. Small capacities stand in pairs, see paired_capacities.py, unless the network is dense. All is in one
cooperative kernel, which comes back to the host every so many barriers, so that a solve can be stopped; it
ends with a search while nothing moves. docs/notebook says what was measured.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...cuda import runtime
from ...cuda.runtime import Device
from ...errors import InvalidInputError, SolverError, UnsuitableMethodError
from ...graph.device.residual import ARCS_A_PIECE, DeviceNetwork, search_room
from ...solving.options import check_count, check_flag, check_positive_integer
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .paired_capacities import paired_capacities
from .survey import excess_alive, survey

SOURCE = Path(__file__).with_name("push_relabel.cu")
#: Words of 32 bits that the counters of a round take, and of 64 bits that the kernel's state takes.
COUNTER_WORDS, STATE_WORDS = 48 * 32, 22
PHASE, ROUNDS_LEFT, SEARCHES, NANOSECONDS = 0, 1, 9, 14
START, DISCHARGE, DONE = 0, 2, 3
#: Words of 32 bits in which blocks arrive at barriers: one and two of 64 bits, each on its own cache line.
ARRIVALS = 3 * 32
#: Pieces of arcs in one of a block's two lists in shared memory, and how many of them it keeps to itself.
LIST_CAPACITY, MOST_KEPT = 2048, 32
#: Blocks whose barrier adds up, see grid.cuh.
MOST_SEARCH_BLOCKS = 511
#: Rounds of waves, in one of which blocks share what they have reached.
SHARING_ROUNDS = 8
#: Vertices that a block reaches in a round and that wait for the next one before they go to their inboxes.
MOST_REVIVED = 128
#: Bytes of shared memory: the state, a few counters, where 512 waves stand, and what the warps go by; for a
#: piece in the lists; for a vertex that waits; and what each thread counts.
SHARED_BYTES = 8 * (STATE_WORDS + 1) + 32 + 4 * (27 + 512 + 3) + 32 + 80
PIECE_BYTES, REVIVED_BYTES, THREAD_BYTES = 2 * 8, 2 * 4, 24
#: A vertex with more residual arcs is for all lanes of a warp, see discharge.cuh.
WARP, HUB_DEGREE = 32, 128
#: Residual arcs of a vertex that its packed range counts, see residual.cuh.
MOST_DEGREE = 2**31
#: Neighbouring vertices with one owner, and the least room of an inbox: see inboxes.cuh.
OWNED_TOGETHER, LEAST_CAPACITY = 8, 32
#: More global relabels than any network needs, and few enough for the bits of their numbers, see search.cuh.
MOST_SEARCHES = 8_000_000
#: Work that one phase may do, so that 32 bits count it.
MOST_WORK = 2**31
#: Arcs that a thread looks at together when it searches.
SEARCH_ARCS = 2
#: From here on enough vertices are active at a time to keep all threads busy, half as many for each.
MANY_VERTICES = 2_000_000
#: Rounds of one launch: about 0.1 s.
ROUNDS_A_LAUNCH = 20_000


@dataclass(frozen=True)
class PushRelabelOptions:
    """Options of push-relabel on a GPU.

    Attributes
    ----------
    lanes : int or None
        Threads that work on one vertex: 1, 2, 4, 8, 16 or 32, with which no capacities stand in pairs; None
        takes what the mean degree suggests, and for discharges fewer where there are very many vertices.
    work_percent : int
        Without waves a global relabel is due after so many hundredths of 6 n + m units of relabel work,
    step_limit, step_percent : int
        or when a warp has discharged so many times, as many vertices at a time as it has groups of lanes, and
        so many times for each hundred levels of the last search,
    time_percent : int
        or when the first warp has nothing to do after so many hundredths of the time of the last one.
    few : int
        Levels of so few vertices are for one block alone.
    overshoot_percent : int
        How much farther a global relabel goes than the last active vertex that it reached; 0 is to the end.
    enough_percent : int
        It goes on while it has reached less of the active vertices.
    keeps : bool
        A warp with room keeps one of the vertices that it activates, whoever owns it.
    search_percent : int
        Share of the blocks, below 100, that send waves while the others discharge; 0 is to send none.
    wave_width : int
        Waves are sent after a search whose levels had fewer vertices than this in the mean.
    wave_rounds, wave_percent : int
        A wave follows the last one at so many levels and so many for each hundred levels of that search.
    reach_percent : int
        How far a wave goes, in hundredths of the levels of that search.
    rest_percent, idle_percent : int
        Waves end when so many hundredths of the warps that discharge have had nothing to do for so many
        hundredths of the time that the last search at rest took, or all of them for a quarter of that; twice
        as long after each phase that ended so in vain: the search that followed reached most active vertices.
    """

    lanes: int | None = None
    work_percent: int = 400
    step_limit: int = 64
    step_percent: int = 40
    time_percent: int = 400
    few: int = 256
    overshoot_percent: int = 50
    enough_percent: int = 50
    keeps: bool = True
    search_percent: int = 50
    wave_width: int = 16384
    wave_rounds: int = 16
    wave_percent: int = 20
    reach_percent: int = 300
    rest_percent: int = 95
    idle_percent: int = 100

    def __post_init__(self) -> None:
        if self.lanes is not None and self.lanes not in (1, 2, 4, 8, 16, 32):
            raise InvalidInputError(f"option lanes is 1, 2, 4, 8, 16, 32 or None, got {self.lanes!r}")
        for name in (
            "work_percent",
            "step_limit",
            "time_percent",
            "reach_percent",
            "rest_percent",
            "idle_percent",
        ):
            check_positive_integer(name, getattr(self, name))
        for name in (
            "step_percent",
            "few",
            "overshoot_percent",
            "enough_percent",
            "search_percent",
            "wave_rounds",
            "wave_percent",
            "wave_width",
        ):
            check_count(name, getattr(self, name))
        if self.rest_percent > 100:
            raise InvalidInputError(f"option rest_percent is up to 100, got {self.rest_percent!r}")
        if self.search_percent >= 100:
            raise InvalidInputError(f"option search_percent is below 100, got {self.search_percent!r}")
        check_flag("keeps", self.keeps)


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    net: DeviceNetwork
    label: Any
    near_sink: Any
    num_near_sink: int
    order: Any
    room: int
    inboxes: InboxRoom
    arrivals: Any
    counters: Any
    state: Any
    counts: Any
    work_limit: int
    step_limit: int
    step_percent: int
    time_percent: int
    few: int
    overshoot_percent: int
    enough_percent: int
    keeps: bool
    only_search: int
    search_blocks: int
    wave_width: int
    wave_rounds: int
    wave_percent: int
    reach_percent: int
    rest_percent: int
    idle_percent: int
    stop: Any


class InboxRoom(NamedTuple):
    """``InboxRoom`` in inboxes.cuh."""

    slots: Any
    ends: Any


def make_inbox_room(device: Device, num_vertices: int, fewest_blocks: int) -> InboxRoom:
    """Return room for empty inboxes of the warps of all blocks of a launch, or of so many."""
    xp, warps_a_block = device.xp, max(1, device.block_threads // WARP)
    most_slots = 0
    for blocks in (fewest_blocks, device.num_multiprocessors):
        owners = blocks * warps_a_block
        most_owned = -(-num_vertices // (OWNED_TOGETHER * owners)) * OWNED_TOGETHER
        capacity = max(LEAST_CAPACITY, 1 << max(0, most_owned - 1).bit_length())
        most_slots = max(most_slots, owners * capacity)
    return InboxRoom(
        xp.zeros(most_slots, dtype=np.uint32),
        xp.zeros(device.num_multiprocessors * warps_a_block, dtype=np.uint32),
    )


def lanes_for(num_vertices: int, num_arcs: int) -> int:
    """Return how many threads work on one vertex: the mean degree, as a power of two up to 32."""
    degree = num_arcs // max(1, num_vertices)
    return int(min(WARP, 1 << max(0, degree - 1).bit_length()))


def discharge_lanes_for(num_vertices: int, lanes: int) -> int:
    """Return how many of the threads suffice for a discharge: with many vertices, more of them at a time."""
    return max(4, lanes // 2) if 4 < lanes < WARP and num_vertices >= MANY_VERTICES else lanes


def first_stage(
    device: Device, net: DeviceNetwork, options: PushRelabelOptions, control: Control
) -> tuple[Any, NDArray[Any]]:
    """Push excess until none can reach the sink; return the heights, exact, and the kernel's state."""
    xp, n, m = device.xp, net.num_vertices, len(net.arcs)
    search_blocks = min(MOST_SEARCH_BLOCKS, device.num_multiprocessors * options.search_percent // 100)
    room = max(1, -(-search_room(net) // 2))
    found = survey(device, net)
    if found.greatest_degree >= MOST_DEGREE:
        raise UnsuitableMethodError(
            f"{found.greatest_degree:,} residual arcs of a vertex are too many for a GPU: below 2**31"
        )
    arguments = Arguments(
        net._replace(first_out=found.ranges),
        xp.full(n, n + 2, dtype=np.uint64),
        found.near_sink,
        found.num_near_sink,
        xp.empty(2 * room, dtype=np.uint64),
        room,
        make_inbox_room(device, n, device.num_multiprocessors - search_blocks),
        xp.zeros(ARRIVALS, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(3 * STATE_WORDS, dtype=np.uint64),
        xp.zeros(4, dtype=np.uint64),
        min(MOST_WORK, max(1, (6 * n + m) * options.work_percent // 100)),
        options.step_limit,
        options.step_percent,
        options.time_percent,
        options.few,
        options.overshoot_percent,
        options.enough_percent,
        options.keeps,
        0,
        search_blocks,
        options.wave_width,
        options.wave_rounds,
        options.wave_percent,
        options.reach_percent,
        options.rest_percent,
        options.idle_percent,
        device.stop_word(control),
    )
    control.excess[:] = float(found.excess)
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
    # With many arcs a vertex most lead to what a search has reached already, whatever their capacities.
    pairs = (
        paired_capacities(device, net, found.greatest_capacity) if search_lanes < WARP else nullcontext(False)
    )
    with pairs as is_paired:
        state = push_until_done(device, arguments, (*constants, ("PAIRED", int(is_paired))), control)
    return xp.ascontiguousarray(heights_of(arguments)), state


def heights_of(arguments: Arguments) -> Any:
    """Return the lower half of every label."""
    return arguments.label.view(np.uint32)[::2]


def push_until_done(
    device: Device, arguments: Arguments, constants: tuple[tuple[str, int], ...], control: Control
) -> NDArray[Any]:
    """Launch the kernel until it has finished; return its state."""
    net = arguments.net
    threads = device.block_threads
    while True:
        if control.stopped:  # one search more, which nothing stops, instead of a phase that is about to begin
            arguments = arguments._replace(only_search=1, stop=device.never)
            if device.to_host(arguments.state)[PHASE] == DISCHARGE:
                arguments.state[PHASE] = START
        arguments.state[ROUNDS_LEFT] = ROUNDS_A_LAUNCH
        arguments.arrivals[:] = 0
        device.launch(
            SOURCE,
            "push_relabel_slice",
            device.num_multiprocessors,
            threads,
            arguments,
            shared_bytes=SHARED_BYTES
            + PIECE_BYTES * LIST_CAPACITY
            + REVIVED_BYTES * MOST_REVIVED
            + THREAD_BYTES * threads,
            constants=constants,
            cooperative=True,
        )
        state = device.to_host(arguments.state)[:STATE_WORDS]
        *totals, faults = device.to_host(arguments.counts)
        control.counts[[PUSHES, RELABELS, ARC_SCANS]] = totals
        control.counts[[GLOBAL_RELABELS, RELABEL_NANOSECONDS]] = state[[SEARCHES, NANOSECONDS]]
        if faults:
            raise SolverError(f"cuda-push-relabel pushed more than there was: state {state.tolist()}")
        is_done = state[PHASE] == DONE
        going_on = not is_done or control.stopped
        control.excess[0] = excess_alive(device, net, arguments.label) if going_on else 0.0
        if is_done:
            return state
        if state[SEARCHES] > MOST_SEARCHES:
            raise SolverError(
                f"cuda-push-relabel gave up after {MOST_SEARCHES:,} searches: state {state.tolist()}"
            )


def solve(net: DeviceNetwork, options: PushRelabelOptions, control: Control) -> Any:
    """Run the first stage in place, on the current GPU.

    Returns
    -------
    height : CuPy array, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    O(n^2 m) operations; on the device 16 bytes a residual arc and up to 60 a vertex.
    """
    height, _ = first_stage(runtime.find_device(), net, options, control)
    return height
