"""Lock-free push-relabel on a GPU, one thread a vertex, with global relabels on the GPU as well.

The kernel is Hong's, as Wu, He and Hong print it (chapter 5, Algorithm 2; Łupińska, Algorithm 4.8). Both
papers take all arrays to the CPU for the global relabel (:mod:`.cuda_hybrid`); here a cooperative kernel
searches on the GPU, level by level, and returns one number to the host.

Definitions
-----------
- In a *step* a vertex with excess pushes once, to its lowest residual neighbour, or rises to just above it.
  A *cycle* is a step of every vertex.
- A *search at rest* runs while nothing moves; a *concurrent* search (``relabel="concurrent"``) runs beside
  the pushes. The latter is ARG, asynchronous global relabeling, of Hong and He (IEEE TPDS 2011), which
  Łupińska tried on a GPU (section 4.6).

Invariants
----------
- A push credits the receiver before it debits the sender, and gives it the reverse capacity before the
  excess. So a thread that reads the excess of a vertex sees all arcs over which it may push (``step`` in
  the ``.cu`` file).
- With concurrent searches labels are hints. Pushes and searches only raise them, by an atomic maximum, to
  distances in a network that never existed: they may get too high, or dead where the sink can be reached.
  Only a search at rest makes them exact and declares vertices dead for good.

Pseudo-code
-----------
::

    repeat:
        search at rest                                               search_at_rest
        if no active vertex can reach the sink: stop
        `cycles` cycles on the GPU                                   launch_steps
            or, concurrently, cycles and searches side by side       push_beside_searches
            until no vertex is active or a search reaches
            a dead vertex

Between two searches at rest labels only rise and flow only falls, so the time between them is finite.

Departures: terminals are not vertices, and the dead label is n + 1, which a vertex without a lower
neighbour gets. Labels start exact. A launch has as many threads as run at once, and each cycle goes through
all vertices; the papers' blocks ran one after the other. The papers' test ``e(s) + e(t) = ExcessTotal`` is
replaced by: no vertex with excess can reach the sink. All threads of some blocks make the concurrent
search; in ARG one thread does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Protocol, cast

import numpy as np

from ...arrays import AnyArray, Array
from ...cuda import runtime
from ...cuda.launches import count_search, relabel_time
from ...cuda.runtime import WATCH_WORDS, Device
from ...cuda.structs import U32, U64, ConstI64, ConstU32
from ...graph.device.residual import DeviceNetwork, from_device, search_room, to_device
from ...graph.residual import ResidualArrays
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from ...stats import ARC_SCANS, PUSHES, RELABELS

SOURCE = Path(__file__).with_suffix(".cu")
#: What the threads of a launch did, and on how many vertices in the last cycle.
Count = IntEnum("Count", "PUSHES RELABELS ARC_SCANS PUSHES_BESIDE_SEARCH ACTIVE", start=0)
COUNTS = len(Count)
#: What a search tells: the excess on vertices that can reach the sink, if nothing moved; and how many
#: vertices it reached that were labelled dead, if something did.
Outcome = IntEnum("Outcome", "ACTIVE_EXCESS REVIVED", start=0)
COUNTER_WORDS = 64
#: A concurrent search gets one of this many multiprocessors, and the pushes get the others.
SEARCH_SHARE = 8


@dataclass(frozen=True)
class CudaLockFreeOptions(CheckedOptions):
    """Options of lock-free push-relabel on a GPU.

    Attributes
    ----------
    relabel : {"device", "concurrent"}
        Whether global relabels alternate with the pushes or run beside them.
    cycles : int
        Steps of each vertex, a push or a relabel, between two global relabels: KERNEL_CYCLES, CYCLE.
    """

    relabel: Literal["device", "concurrent"] = "device"
    cycles: PositiveInteger = 7000


class StepArguments(NamedTuple):
    """Arguments of "take_steps"."""

    net: DeviceNetwork
    height: U32
    searching: ConstU32  #: not zero while a search runs beside
    counts: U64
    cycles: int  #: steps of each vertex
    stop: ConstI64
    watch: Annotated[AnyArray, "CycleWatch*"]


class SearchArguments(NamedTuple):
    """Arguments of "search_at_rest" and "search_beside"."""

    net: DeviceNetwork
    height: U32
    distance: U32  #: what the search finds: the heights themselves if nothing moves
    order: U64
    counters: U32  #: arrivals at the barrier, and the sizes of levels; zero before the launch
    searching: U32
    outcome: U64  #: zero before the launch


def make_steps(device: Device, net: DeviceNetwork, cycles: int, control: Control) -> StepArguments:
    """Return the arguments of the kernel that pushes and relabels; the caller sets the heights."""
    xp = device.xp
    return StepArguments(
        net=net,
        height=xp.empty(net.num_vertices, dtype=np.uint32),
        searching=xp.zeros(1, dtype=np.uint32),
        counts=xp.zeros(COUNTS, dtype=np.uint64),
        cycles=cycles,
        stop=device.stop_word(control),
        watch=xp.zeros(WATCH_WORDS, dtype=np.uint64),
    )


class Steps(Protocol):
    """The common arguments of kernels that push and relabel."""

    @property
    def net(self) -> DeviceNetwork:
        """The network."""

    @property
    def counts(self) -> AnyArray:
        """The operations of the threads."""

    @property
    def watch(self) -> AnyArray:
        """The signal that the solve is to stop."""


def make_search(device: Device, net: DeviceNetwork) -> SearchArguments:
    """Return the arguments of a search while nothing moves, with the heights."""
    xp = device.xp
    height = xp.empty(net.num_vertices, dtype=np.uint32)
    return SearchArguments(
        net=net,
        height=height,
        distance=height,
        order=xp.empty(search_room(net), dtype=np.uint64),
        counters=xp.zeros(COUNTER_WORDS, dtype=np.uint64),
        searching=xp.zeros(1, dtype=np.uint32),
        outcome=xp.zeros(len(Outcome), dtype=np.uint64),
    )


def launch_steps(
    device: Device,
    steps: Steps,
    most_blocks: int,
    source: Path = SOURCE,
    kernel: str = "take_steps",
) -> None:
    """Start the pushes and relabels, with a thread for each vertex in at most `most_blocks` blocks."""
    blocks = -(-steps.net.num_vertices // device.block_threads)
    steps.counts[:] = 0
    steps.watch[:] = 0
    arguments = cast("tuple[object, ...]", steps)
    device.launch(source, kernel, max(1, min(blocks, most_blocks)), device.block_threads, arguments)


def read_counts(device: Device, steps: Steps, control: Control) -> Array:
    """Wait for the kernels to end, add up their operations, and return the counts."""
    device.synchronize()
    counts = device.to_host(steps.counts)
    control.counts[[PUSHES, RELABELS, ARC_SCANS]] += counts[[Count.PUSHES, Count.RELABELS, Count.ARC_SCANS]]
    return counts


def launch_search(device: Device, search: SearchArguments, kernel: str, blocks: int) -> None:
    """Start a search."""
    search.counters[:] = 0
    search.outcome[:] = 0
    device.launch(SOURCE, kernel, blocks, device.block_threads, search, cooperative=True)


def search_at_rest(
    device: Device, search: SearchArguments, control: Control, name: str = "cuda-lockfree"
) -> int:
    """Make the heights exact; return the excess on vertices that can reach the sink."""
    with relabel_time(control):
        launch_search(device, search, "search_at_rest", device.num_multiprocessors)
        active_excess = int(device.to_host(search.outcome)[Outcome.ACTIVE_EXCESS])
    count_search(control, name)
    control.progress[0] = active_excess
    return active_excess


def push_beside_searches(
    device: Device, steps: StepArguments, search: SearchArguments, control: Control
) -> tuple[int, int]:
    """Push and relabel, with concurrent searches, until a search at rest is due.

    Return the number of searches, and the number of pushes made during one of them.
    """
    search_blocks = max(1, device.num_multiprocessors // SEARCH_SHARE)
    searches = pushes = 0
    while True:
        with device.second_stream():
            launch_search(device, search, "search_beside", search_blocks)
        launch_steps(device, steps, max(1, device.num_multiprocessors - search_blocks))
        counts = read_counts(device, steps, control)
        count_search(control, "cuda-lockfree")
        searches += 1
        pushes += int(counts[Count.PUSHES_BESIDE_SEARCH])
        revived = device.to_host(search.outcome)[Outcome.REVIVED]
        if counts[Count.ACTIVE] == 0 or revived > 0 or control.stopped:
            return searches, pushes


def first_stage(device: Device, net: DeviceNetwork, options: CudaLockFreeOptions, control: Control) -> Array:
    """Push excess until none can reach the sink; return the exact heights."""
    xp, n = device.xp, net.num_vertices
    concurrent = options.relabel == "concurrent"
    steps = make_steps(device, net, options.cycles, control)
    search = make_search(device, net)._replace(
        height=steps.height, distance=steps.height, searching=steps.searching
    )
    beside = search._replace(distance=xp.empty(n, dtype=np.uint32)) if concurrent else search
    searches = pushes = 0
    while search_at_rest(device, search, control) > 0 and not control.stopped:
        if concurrent:
            more = push_beside_searches(device, steps, beside, control)
            searches, pushes = searches + more[0], pushes + more[1]
        else:
            launch_steps(device, steps, device.num_multiprocessors)
            read_counts(device, steps, control)
    if concurrent:
        control.remarks.append(f"{pushes:,} pushes beside {searches:,} concurrent searches")
    return device.to_host(steps.height)


def solve(net: ResidualArrays, options: CudaLockFreeOptions, control: Control) -> Array:
    """Run the first stage on the GPU and bring its outcome back, in place; return exact heights.

    O(n^2 m) operations; on the device 16 bytes an arc and 32 a vertex, 36 with concurrent searches. The time
    of these is not counted as that of global relabels, since pushes go on meanwhile.
    """
    device = runtime.find_device()
    on_device = to_device(device, net)
    control.progress[:] = net.excess.sum(dtype=np.float64)
    height = first_stage(device, on_device, options, control)
    from_device(device, on_device, net)
    return height
