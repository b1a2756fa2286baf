"""The matching of locally dominant edges on a GPU: that of :mod:`.initial.locally_dominant`, for every graph.

Pseudo-code of the kernel::

    all vertices are dirty
    while there are dirty vertices:
        each dirty vertex points to its first choice                                              point
        each two vertices that point to each other are matched, and listed once                   match
        of each of these, the neighbours that point to it, but for its partner, are dirty         list_dirty

As the first attempt of a plan, with a budget, the method leaves its matching to an exact one on the CPU.

Each of the three loops ends at a barrier. A group of threads reads the edges of a vertex. The order in which
threads run changes the order of the lists, but no choice.

Time: about ten rounds for a random graph, as many as there are edges at worst. Memory on the device: 28 bytes
a vertex and 24 an edge, 8 an edge without weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import Indices
from ..cuda import runtime
from ..cuda.launches import Loop, launches, make_loop
from ..cuda.runtime import Device
from ..cuda.structs import U32, ConstU32, ConstU64
from ..graph.placement import require_memory
from ..graph.undirected import Neighbours
from ..solving.options import Lanes
from ..solving.run import Control, GaveUp
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .initial.proof import ProofOptions, empty_mates, proved
from .links import NONE
from .solution import GeneralState, Partners, partners

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's counters.
COUNTER_WORDS = 3 * 32
#: Bytes on the device for each vertex, and for each neighbour without and with weights.
VERTEX_BYTES, NEIGHBOUR_BYTES = 28, (4, 12)


@dataclass(frozen=True)
class CudaLocallyDominantOptions(ProofOptions):
    """Options of the matching of locally dominant edges on a GPU.

    Attributes
    ----------
    lanes : int
        How many threads read the edges of a vertex. With 4, 8 and 32 an H100 took 2.0, 2.4 and 3.0 ms for a
        random graph of a million vertices with degree 6, and 12.5, 9.2 and 4.9 ms for an RMAT graph, which
        has a vertex of 40,000 edges.
    tighten : bool
        See :class:`.initial.proof.ProofOptions`; on the CPU.
    """

    lanes: Lanes = 32


Phase = IntEnum("Phase", "POINT MATCH LIST DONE", start=0)


class LocallyDominantState(NamedTuple):
    """The state of the kernel."""

    phase: int = 0
    rounds_left: int = 0  #: barriers left of this launch
    round: int = 0  #: barriers so far; selects one of the rotating counters
    size: int = 0  #: number of dirty vertices
    matched: int = 0  #: number of vertices that this round matched
    turns: int = 0  #: rounds so far; selects the list of dirty vertices
    next_look: int = 0  #: when to read the stop word again


class Arguments(NamedTuple):
    """Arguments of "locally_dominant_slice"."""

    first: ConstU64  #: where the neighbours of every vertex begin
    neighbour: ConstU32
    weight: ConstU64  #: of the edge to every neighbour; not read if `weighted` is 0
    weighted: int
    mate: U32
    pointer: U32
    num_vertices: int
    dirty: U32  #: two lists of num_vertices, the first with all vertices
    matched: U32  #: the vertices that a round matched
    loop: Loop


def copied(graph: Neighbours, device: Device, control: Control) -> Arguments:
    """Return the arguments of the kernel, with the graph copied to the device.

    DeviceMemoryError: it does not fit the GPU; nothing has been allocated yet.
    """
    xp, n, arcs = device.xp, len(graph.first) - 1, len(graph.neighbour)
    weighted = int(len(graph.weight) > 0)
    needed = VERTEX_BYTES * n + NEIGHBOUR_BYTES[weighted] * arcs
    require_memory(device, needed, f"{arcs // 2:,} edges and {n:,} vertices")
    dirty = xp.empty(2 * n, dtype=np.uint32)
    dirty[:n] = xp.arange(n, dtype=np.uint32)
    return Arguments(
        first=xp.asarray(graph.first.astype(np.uint64)),
        neighbour=xp.asarray(graph.neighbour),
        weight=xp.asarray(graph.weight.view(np.uint64)) if weighted else xp.zeros(1, dtype=np.uint64),
        weighted=weighted,
        mate=xp.full(n, NONE, dtype=np.uint32),
        pointer=xp.full(n, NONE, dtype=np.uint32),
        num_vertices=n,
        dirty=dirty,
        matched=xp.empty(n, dtype=np.uint32),
        loop=make_loop(device, LocallyDominantState(size=n), control, counters=COUNTER_WORDS),
    )


def match(arguments: Arguments, lanes: int, device: Device, control: Control) -> Indices:
    """Run the kernel and return the partners, with NONE for none."""
    kernel, constants = "locally_dominant_slice", (("LANES_A_VERTEX", lanes),)
    for state in launches(device, SOURCE, kernel, arguments, LocallyDominantState, Phase.DONE, constants):
        control.counts[PHASES] = state.turns
        if control.stopped:
            break
    mate: Indices = device.to_host(arguments.mate)
    control.counts[ARC_SCANS] = int(arguments.loop.counts[0])
    control.counts[AUGMENTATIONS] = np.count_nonzero(mate != NONE) // 2
    return mate


def solve(
    graph: Neighbours, start: Partners | None, options: CudaLocallyDominantOptions, control: Control
) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate = empty_mates(graph, start, control)
    device = runtime.find_device()
    if len(mate) and not control.stopped:
        mate = match(copied(graph, device, control), options.lanes, device, control)
    if control.budget is not None and not control.stopped:
        raise GaveUp("its edges are a start for an exact search", partners(mate))
    return proved(graph, mate, mate, options, control)
