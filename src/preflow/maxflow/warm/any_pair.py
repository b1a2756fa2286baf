"""Solve a network for one pair of terminals after the other, by searches from both ends.

The network stays as it is, with all vertices in it, and a solve sets back what the solve before has changed:
see :mod:`..pair_flows`. After a change of capacities it goes on with a copy of them. So a solve costs what
its search sees, or after such a change a copy. Where a search sees much of the network, the methods of
:mod:`..problem` are faster, and the search gives up.

A result has the value at once, and a copy of the residual capacities that the search has changed. From these
and the capacities, which nobody changes, it makes the flow of every arc and the cut when they are first read:
no later solve has to wait for that. The cut is the one with the smallest sink side. If the search from the
sink ended, that is what it has seen. If the one from the source ended, another search, from the sink, finds
it when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...certify.cut import residual_reach
from ...graph.network import FlowNetwork, with_capacities
from ...graph.residual import ResidualNetwork, build_residual
from ...graph.solved_capacities import SolvedCapacities
from ...kernels.csr_build import InputArcs
from ...solving.exclusive import Exclusive
from ...stats import AttemptStats, Phase, SolveStats, untimed
from ...steps.second_stage import Unused, flow_of_arcs
from ..pair_flows import (
    LABEL_OF_SINK,
    MOST_SCANS,
    NUM_CHANGED,
    NUM_REACHED,
    SCANNED,
    SINK_SIDE,
    TOO_LONG,
    PairNetwork,
    flow_between,
    label_backwards,
    make_work,
    set_back,
)
from ..result import MaxFlowResult

#: What the statistics say of such a solve.
NAME, REASON = "search-from-both-ends", "other terminals: a search from both of them"
#: Places of arcs are 32-bit integers.
MOST_PLACES = 2**32 - 4


class AnyPair:
    """A network that is solved for any pair of terminals.

    Attributes
    ----------
    network : FlowNetwork
        With capacities as integers.
    built : ResidualNetwork
        Only its maps are used; its capacities may be out of date.
    net : PairNetwork
    infinite : int
        The number that means an infinite capacity, 0 for none.
    total : int
        Sum of all finite capacities.
    """

    def __init__(
        self,
        network: FlowNetwork,
        infinite: int,
        total: int,
        threads: int,
        check_wanted: Callable[[], None],
    ) -> None:
        self.network, self.infinite, self.total = network, infinite, total
        none = np.empty(0, dtype=np.int64)
        self.built: ResidualNetwork = build_residual(
            network, none, none, threads=threads, check_wanted=check_wanted
        )
        arrays = self.built.arrays
        capacity = arrays.residual.astype(np.int64)
        first = arrays.first_out.astype(np.int64)
        self.net = PairNetwork(first, arrays.head, arrays.reverse, capacity, capacity.copy())
        self._work = make_work(self.net)
        self._value = 0

    @staticmethod
    def fits(network: FlowNetwork) -> bool:
        """Whether the numbers of residual arcs fit in 32 bits."""
        return 2 * max(network.num_arcs, network.num_vertices) < MOST_PLACES

    @property
    def size(self) -> int:
        """The number of vertices and residual arcs."""
        return len(self.net.head) + len(self.net.first) - 1

    @property
    def scans(self) -> int:
        """The arcs that were scanned since the last call of `begin`."""
        return int(self._work.counters[SCANNED])

    @property
    def capacities(self) -> list[NDArray[np.int64]]:
        """The capacities, and the reverse capacities if there are any."""
        network = self.network
        return [part for part in (network.capacity, network.reverse_capacity) if part is not None]

    def changed(self, arcs: NDArray[np.int64], new: list[NDArray[np.int64]]) -> AnyPair:
        """Return this network with other capacities of some arcs, each of which is there once.

        `new` has their capacities, and reverse capacities if there are any. This network is left to its
        results, and cannot be searched any more.
        """
        self.begin()
        network, net = self.network, self.net
        proper = arcs[network.tail[arcs] != network.head[arcs]]
        places = net.first[network.tail[proper]] + self.built.rank[proper].astype(np.int64)
        amounts, total, both = net.capacity.copy(), self.total, []
        for given, values, own in zip(self.capacities, new, (places, net.reverse[places]), strict=False):
            part = given.copy()
            part[arcs] = values
            np.add.at(amounts, own, part[proper] - given[proper])
            total += self._finite(values) - self._finite(given[arcs])
            both.append(part)
        for own in (places, net.reverse[places]):
            net.residual[own] = amounts[own]
        made = copy(self)
        made.network = with_capacities(network, both[0], both[1] if len(both) > 1 else both[0][:0])
        made.net, made.total = net._replace(capacity=amounts), total
        return made

    def _finite(self, values: NDArray[np.int64]) -> int:
        """Return the sum of finite capacities."""
        return int((values[values != self.infinite] if self.infinite else values).sum())

    def begin(self) -> None:
        """Take the last flow away."""
        set_back(self.net, self._work)
        self._work.counters[SCANNED] = 0
        self._value = 0

    def search(self, source: int, sink: int, most_scans: int, stop: NDArray[np.int64]) -> FlowOfPair | None:
        """Go on with a search until it ends, or has made `most_scans` since `begin`: then return None."""
        net, work = self.net, self._work
        work.counters[MOST_SCANS] = most_scans
        ends = np.uint64(source), np.uint64(sink)
        value, found = flow_between(net, work, *ends, np.int64(self._value), stop)
        self._value = int(value)
        if found == TOO_LONG:
            return None
        changed, side = None, None
        num_changed = int(work.counters[NUM_CHANGED])
        if num_changed <= len(work.changed):
            changed = work.changed[:num_changed].copy()
        if found == SINK_SIDE:
            side = work.sink_queue[: int(work.counters[NUM_REACHED])].copy()
        left = net.residual.copy() if changed is None else net.residual[changed]
        return FlowOfPair(self, source, sink, self._value, _Changes(changed, left), side)


class _Changes(NamedTuple):
    """The residual capacities that a search has changed."""

    arcs: Indices | None  #: one of each pair of residual arcs; None for all residual arcs
    left: NDArray[np.int64]


class FlowOfPair(Exclusive):
    """A maximum flow as a search left it: a second stage, which works when it is read."""

    def __init__(
        self, pairs: AnyPair, source: int, sink: int, value: int, changes: _Changes, side: Indices | None
    ) -> None:
        self.value = value
        self._pairs, self._ends, self._changes = pairs, (source, sink), changes
        self._side = side  #: the vertices of the smallest sink side, if they are known
        self._flow: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the state with the flow, and of the network only the input arcs."""
        self.flow()
        kept = copy(self._pairs)
        del kept.built, kept.net, kept._work
        return {**super().__getstate__(), "_pairs": kept, "_changes": None, "_side": None}

    def _residual(self) -> NDArray[np.int64]:
        """Return all residual capacities."""
        net, (arcs, left) = self._pairs.net, self._changes
        if arcs is None:
            return left.copy()
        residual, opposite = net.capacity.copy(), net.reverse[arcs]
        residual[arcs] = left
        residual[opposite] = net.capacity[arcs] + net.capacity[opposite] - left
        return residual

    def flow(self, phase: Phase = untimed) -> NDArray[np.int64]:
        """Return the flow of every input arc, in O(n + m)."""
        if self._flow is None:
            with phase("recover"):
                network, built = self._pairs.network, self._pairs.built
                none = np.zeros(network.num_vertices, dtype=np.int64)
                flow = np.empty(network.num_arcs, dtype=np.int64)
                arrays, unused = built.arrays, Unused(self._residual(), none, none)
                solved = SolvedCapacities(network.capacity, network.reverse_capacity)
                arcs = InputArcs(network.tail, network.head, *solved.both(), built.inner)
                flow_of_arcs(arcs, built.rank, arrays.first_out, arrays.reverse, unused, True, True, flow)
                self._flow = flow
        return self._flow

    def preflow(self) -> NDArray[np.int64]:
        """Return the flow of every input arc."""
        return self.flow()

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source reaches over residual arcs, in O(n + m)."""
        source = np.array(self._ends[:1], dtype=np.int64)
        return residual_reach(self._pairs.network, self.flow(), source, 0)

    def sink_side(self) -> NDArray[np.bool_]:
        """Return which vertices reach the sink over residual arcs, in O(n) if they are known, or O(n + m)."""
        net = self._pairs.net
        side = np.zeros(self._pairs.network.num_vertices, dtype=bool)
        if self._side is not None:
            side[self._side] = True
        else:
            work = make_work(net)
            label_backwards(net._replace(residual=self._residual()), work, np.uint64(self._ends[1]))
            side = work.label >= work.counters[LABEL_OF_SINK]
        side.flags.writeable = False
        return side

    def result(
        self,
        network: FlowNetwork,
        sources: NDArray[np.int64],
        sinks: NDArray[np.int64],
        seconds: dict[str, float],
    ) -> MaxFlowResult:
        """Return the result for a network and its terminals; `seconds` has the times of its phases."""
        scans, value = self._pairs.scans, self.value
        attempt = AttemptStats(NAME, scans, seconds["solve"])
        fields: dict[str, object] = {
            "status": "optimal",
            "lower_bound": value,
            "upper_bound": value,
            "stats": SolveStats(NAME, REASON, arc_scans=scans, seconds=seconds, attempts=(attempt,)),
            "network": network,
            "sources": sources,
            "sinks": sinks,
            "_gap": 0,
            "_second_stage": self,
            "flow": None,
        }
        return MaxFlowResult._made_later(fields, lambda: {"sink_side": self.sink_side()})
