"""The matching of locally dominant edges on a GPU: that of :mod:`.initial.locally_dominant`, for every graph.

Pseudo-code of the kernel::

    all vertices are dirty
    while there are dirty vertices:
        each dirty vertex points to its first choice                                              point
        each two vertices that point to each other are matched, and listed once                   match
        of each of these, the neighbours that point to it, but for its partner, are dirty         list_dirty

Each of the three loops ends at a barrier. A group of threads reads the edges of a vertex. The order in which
threads run changes the order of the lists, but no choice.

Time: about ten rounds for a random graph, as many as there are edges at worst. Memory on the device: 28 bytes
a vertex and 24 an edge, 8 an edge without weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Indices
from ..cuda import runtime
from ..cuda.launches import ARRIVAL_WORDS, launches
from ..cuda.runtime import Device
from ..errors import InvalidInputError
from ..graph.placement import require_memory
from ..graph.undirected import Neighbours
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .initial.proof import ProofOptions, empty_mates, proved
from .links import NONE
from .solution import GeneralState, Partners

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state, of its counters, and the word of the state that counts rounds.
STATE_WORDS, COUNTER_WORDS, TURNS = 7, 3 * 32, 5
DONE = 3
#: Bytes on the device for each vertex, and for each neighbour without and with weights.
VERTEX_BYTES, NEIGHBOUR_BYTES = 28, (4, 12)
#: Numbers of threads that can read the edges of a vertex.
LANES = (1, 2, 4, 8, 16, 32)


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

    lanes: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.lanes, bool) or self.lanes not in LANES:
            raise InvalidInputError(f"option lanes must be a power of two up to 32, got {self.lanes!r}")


class Arguments(NamedTuple):
    """The struct ``Arguments`` of the ``.cu`` file."""

    first: AnyArray
    neighbour: AnyArray
    weight: AnyArray
    weighted: int
    mate: AnyArray
    pointer: AnyArray
    num_vertices: int
    dirty: AnyArray
    matched: AnyArray
    arrivals: AnyArray
    counters: AnyArray
    state: AnyArray
    edge_scans: AnyArray
    stop: AnyArray


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
        xp.asarray(graph.first.astype(np.uint64)),
        xp.asarray(graph.neighbour),
        xp.asarray(graph.weight.view(np.uint64)) if weighted else xp.zeros(1, dtype=np.uint64),
        weighted,
        xp.full(n, NONE, dtype=np.uint32),
        xp.full(n, NONE, dtype=np.uint32),
        n,
        dirty,
        xp.empty(n, dtype=np.uint32),
        xp.zeros(ARRIVAL_WORDS, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(STATE_WORDS, dtype=np.uint64),
        xp.zeros(1, dtype=np.uint64),
        device.stop_word(control),
    )


def match(arguments: Arguments, lanes: int, device: Device, control: Control) -> Indices:
    """Run the kernel and return the partners, with NONE for none."""
    n = arguments.num_vertices
    arguments.state[3] = n
    for state in launches(
        device, SOURCE, "locally_dominant_slice", arguments, DONE, (("LANES_A_VERTEX", lanes),)
    ):
        control.counts[PHASES] = state[TURNS]
        if control.stopped:
            break
    mate: Indices = device.to_host(arguments.mate)
    control.counts[ARC_SCANS] = int(arguments.edge_scans[0])
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
    return proved(graph, mate, mate, options, control)
