"""Move terminals past the only arc at them, where that arc limits no flow.

Programs often give their networks a source and a sink of their own, joined to the terminals by arcs of a
large capacity. Such an arc is in no minimum cut if its capacity is above that of some cut: around either
terminal, or around the other end of its only arc. Then that end takes the place of the terminal, and the
network is one with terminals as generators and energies have them, and its features are seen. The arcs stay
as they are, so that a grid is still no network without stored arcs. O(m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..graph.network import FlowNetwork, exact_sum
from ..solving.run import Deadline
from .step import Applied, FlowProblem


class Moved(NamedTuple):
    """A terminal that is moved."""

    terminal: int
    arc: int  #: the only arc at the terminal
    forward: bool  #: whether flow of the problem goes along this arc, not against it
    to: int  #: the other end of the arc
    #: the other arcs at that end: those that leave it and those that enter it
    leaving: NDArray[np.int64]
    entering: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PastArcs(Applied[FlowProblem]):
    """A problem with one terminal or both moved past an arc."""

    reduced: FlowProblem
    source: Moved | None
    sink: Moved | None

    @property
    def note(self) -> str:
        """Say which terminals are moved."""
        both = "source and sink" if self.source and self.sink else "the source" if self.source else "the sink"
        return f"{both} behind an arc in no minimum cut"

    def lift_cut(self, sink_side: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the sink's side, with the terminals as given."""
        side = sink_side.copy()
        if self.source:
            side[self.source.terminal] = False
        if self.sink:
            side[self.sink.terminal] = True
        return side

    def lift_source_side(self, source_side: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the source's side, with the terminals as given."""
        return ~self.lift_cut(~source_side)

    def flow(self, reduced_flow: Array) -> Array:
        """Return the flow of every arc: what leaves or enters the other end goes over the only arc, too."""
        flow = reduced_flow.copy()
        for moved, sign in ((self.source, 1), (self.sink, -1)):
            if moved:
                amount = exact_sum(flow[moved.leaving]) - exact_sum(flow[moved.entering])
                flow[moved.arc] = sign * amount if moved.forward else -sign * amount
        return flow


def apply(problem: FlowProblem, deadline: Deadline) -> PastArcs | None:
    """Return the problem with its terminals moved; None if neither can be."""
    network, sources, sinks, seconds = problem
    if not len(sources) == len(sinks) == 1 or network.saturated:
        return None
    terminals = int(sources[0]), int(sinks[0])
    at = [np.flatnonzero((network.tail == each) | (network.head == each)) for each in terminals]
    if len(at[0]) != 1 and len(at[1]) != 1:
        return None
    found: list[Moved | None] = [None, None]
    cuts = []
    for side, (terminal, arcs) in enumerate(zip(terminals, at, strict=True)):
        leaves = network.tail[arcs] == terminal
        cuts.append(_through(network, arcs[leaves], arcs[~leaves], is_source=side == 0))
        if len(arcs) == 1:
            moved = _past(network, terminal, int(arcs[0]), is_source=side == 0)
            if moved.to not in terminals:
                found[side] = moved
                cuts.append(_through(network, moved.leaving, moved.entering, is_source=side == 0))
    bound = min(cuts)
    if not bound < math.inf:
        return None
    if isinstance(bound, float):
        bound *= 1 + 2.0**-20  # more than the error of the sum
    source, sink = (moved if moved and _capacity(network, moved) > bound else None for moved in found)
    if source and sink and source.to == sink.to:
        return None  # one vertex joins them
    if source is None and sink is None:
        return None
    ends = np.array([source.to if source else terminals[0]]), np.array([sink.to if sink else terminals[1]])
    return PastArcs(FlowProblem(network, *ends, seconds), source, sink)


def _past(network: FlowNetwork, terminal: int, arc: int, *, is_source: bool) -> Moved:
    leaves = int(network.tail[arc]) == terminal
    to = int(network.head[arc] if leaves else network.tail[arc])
    leaving, entering = np.flatnonzero(network.tail == to), np.flatnonzero(network.head == to)
    return Moved(terminal, arc, leaves == is_source, to, leaving[leaving != arc], entering[entering != arc])


def _capacity(network: FlowNetwork, moved: Moved) -> int | float:
    """Return the capacity of the only arc in the direction of the flow."""
    capacity = network.capacity if moved.forward else network.reverse_capacity
    return 0 if capacity is None else exact_sum(capacity[[moved.arc]])


def _through(
    network: FlowNetwork, leaving: NDArray[np.int64], entering: NDArray[np.int64], *, is_source: bool
) -> int | float:
    """Return the capacity out of a vertex towards the sink, or into it from the source, over its arcs."""
    along, against = (leaving, entering) if is_source else (entering, leaving)
    back = network.reverse_capacity
    return exact_sum(network.capacity[along]) + (0 if back is None else exact_sum(back[against]))
