"""The smallest cut of a directed network, whatever its source and its sink.

Hao and Orlin, "A faster algorithm for finding the minimum cut in a directed graph", J. Algorithms 17 (1994):
the vertices become sources one after the other. A cut with the first vertex on its source side has a first
vertex v on its sink side, and all vertices before v are sources: so the least of the flows from all vertices
before v to v is the smallest of these cuts. The cuts with the first vertex on the sink side are those of the
network with its arcs turned round.

Departures: the order is that of a breadth-first search, so that sources are near, and each flow is found path
by path and ends at the smallest cut known (:func:`preflow.maxflow.pair_flows.join_to_sources`). Hao and Orlin
keep the labels of push-relabel from one flow to the next.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, ColumnName, EndsNames, NetworkInput
from ..certify.cut import crossing_arcs, cut_capacity
from ..certify.fields import check_array, check_kind, checked_number
from ..errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError, VerificationError
from ..graph.convert import as_flow_network
from ..graph.edge_tables import ColumnNames, labelled_sides
from ..graph.network import FlowNetwork, exact_sum
from ..graph.scaling import Rule, accepted_gap, solve_within_gap
from ..maxflow.api import max_flow
from ..maxflow.pair_flows import join_to_sources, make_network, make_work
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import Status
from ..solving.run import Control, run_interruptibly
from .reading import FoundCut, degrees, is_optimal, search_order, whole_weights


@dataclass(frozen=True, eq=False, repr=False)
class DirectedMinCut(ReadOnlyArrays):
    """The smallest cut of a directed network.

    Attributes
    ----------
    value : int or float
        The capacity of the arcs from the source side to the sink side: 0 if the network is not strongly
        connected, infinite if arcs of infinite capacity lead from each vertex to each other one.
    sink_side : ndarray of bool, shape (num_vertices,)
        Neither side is empty.
    network : FlowNetwork
    gap : float
        How far the value may be from the minimum, since capacities that are not integers were rounded; 0 for
        integers. Proved.
    """

    value: int | float
    sink_side: NDArray[np.bool_]
    network: FlowNetwork
    gap: float

    @property
    def status(self) -> Status:
        """The word "optimal", or "approximate" where the gap is not small beside the value."""
        return "optimal" if is_optimal(self.gap, self.value, self.network.num_arcs) else "approximate"

    @property
    def cut_arcs(self) -> NDArray[np.int64]:
        """The indices of the arcs over the cut, ascending; also those with a reverse capacity over it."""
        forward, backward = crossing_arcs(self.network, self.sink_side)
        reverse = self.network.reverse_capacity
        arcs: NDArray[np.int64] = forward
        return arcs if reverse is None else np.sort(np.append(forward, backward[reverse[backward] > 0]))

    def partition(self) -> tuple[set[Hashable], set[Hashable]]:
        """Return the vertices of the source side and of the sink side, with the caller's labels."""
        return labelled_sides(self.network.labels, self.sink_side)

    def verify(self) -> None:
        """Prove that the cut has its value and no cut is smaller, by another solver.

        It finds two maximum flows for each vertex but the first: this takes longer than finding the cut.
        """
        network, n = self.network, self.network.num_vertices
        check_kind(network, "network", FlowNetwork)
        check_array(np, self.sink_side, "sink_side", (n,), np.bool_)
        if self.sink_side.all() or not self.sink_side.any():
            raise VerificationError("one side of the cut is empty")
        value, gap = checked_number(self.value, "value"), checked_number(self.gap, "gap")
        true = cut_capacity(network, self.sink_side)
        if true != value:
            raise VerificationError(f"the capacity of the cut is {true}, not {value}")
        whole = network.capacity.dtype.kind == "i"
        if not 0 <= gap < math.inf or (whole and gap):
            raise VerificationError(f"gap is {gap}")
        vertices = list(range(n)) if network.labels is None else list(network.labels)
        for k in range(1, n):
            for ends in ((vertices[:k], [vertices[k]]), ([vertices[k]], vertices[:k])):
                try:
                    flow = max_flow(network, *ends, method="serial-fifo")
                except UnboundedFlowError:
                    continue
                flow.verify()
                error = max(value - flow.value - gap - flow.gap, 0)
                if error and not is_optimal(float(error), flow.value, network.num_arcs):
                    raise VerificationError(f"a cut of {flow.value} is smaller than {value}")

    def __repr__(self) -> str:
        far = f"{int(self.sink_side.sum()):,} of {len(self.sink_side):,} vertices on the sink side"
        found = "value" if self.status == "optimal" else f"approximate within {self.gap:.2g}, value"
        return f"<{type(self).__name__}: {found} {self.value:,}, {far}>"


def directed_min_cut(
    network: NetworkInput, *, ends: EndsNames = None, capacity: ColumnName = None
) -> DirectedMinCut:
    """Find the smallest cut of a directed network, over all sources and sinks.

    Parameters
    ----------
    network, ends, capacity
        As in :func:`preflow.max_flow`.

    Returns
    -------
    DirectedMinCut

    Raises
    ------
    InvalidInputError
        The network has less than two vertices.
    CapacityOverflowError
        The capacities at a vertex sum past 2**61, or floats past float64.

    Notes
    -----
    Two flows for each vertex but the first, each up to the smallest cut known; mostly O(m) for each. For
    undirected graphs :func:`preflow.global_min_cut` needs no flows.

    Examples
    --------
    >>> import preflow
    >>> cut = preflow.directed_min_cut(([0, 1, 2, 1], [1, 2, 0, 0], [4, 2, 3, 5]))
    >>> cut.value, cut.cut_arcs.tolist(), cut.partition()
    (2, [1], ({0, 1}, {2}))
    >>> cut.verify()
    """
    given = as_flow_network(network, ColumnNames(ends, capacity)).on_host()
    n = given.num_vertices
    if n < 2:
        raise InvalidInputError(f"a cut needs two vertices, and the network has {n}")
    reverse = given.reverse_capacity
    both = np.concatenate([given.capacity, np.zeros_like(given.capacity) if reverse is None else reverse])
    endless = np.isinf(both)
    with np.errstate(over="ignore"):
        largest = 2 * exact_sum(np.where(endless, 0, both)) + 1
    if given.saturated or (endless.any() and largest == math.inf):
        raise CapacityOverflowError("the capacities sum past float64, or past 2**61: divide all capacities")
    both = np.where(endless, largest, both) if endless.any() else both
    tail, head = np.append(given.tail, given.head), np.append(given.head, given.tail)
    proper = tail != head
    sums = [np.bincount(side[proper], both[proper], n).min() for side in (tail, head)]
    control = Control()

    def solve(rule: Rule) -> FoundCut:
        limit = float(min(sums)) if rule.bound is None else float(rule.bound)
        whole = whole_weights(both, limit, lambda weight: degrees(n, tail, head, weight).max(initial=0.0))
        if both.dtype.kind == "i" and whole.exponent is not None:
            raise CapacityOverflowError("the capacities at a vertex sum past 2**61: divide all capacities")
        sink_side = _smallest_cut(n, given.tail, given.head, whole.weight, control)
        over = ~sink_side[tail] & sink_side[head]
        least, upper = int(exact_sum(whole.weight[over])), cut_capacity(given, sink_side)
        return FoundCut(sink_side, whole, least, upper, limit, not control.stopped)

    def work() -> FoundCut:
        return solve_within_gap(solve, is_float=True, accepted=accepted_gap(given.num_arcs))

    found = run_interruptibly(work, control)
    gap = 0.0 if found.upper == math.inf else found.gap
    return DirectedMinCut(found.upper, found.side, given, gap)


def _smallest_cut(n: int, tail: Array, head: Array, weight: Array, control: Control) -> NDArray[np.bool_]:
    """Return the sink side of a smallest cut of integers, those of all arcs and then of their opposites."""
    net = make_network(n, tail, head, *np.split(weight, 2))
    turned = net._replace(capacity=net.capacity[net.reverse], residual=net.capacity[net.reverse])
    order = search_order(net.first, net.head)
    if len(order) < n:  # no arc between these and the others
        return np.isin(np.arange(n), order)
    value, sink_side = np.int64(np.iinfo(np.int64).max), np.zeros(n, dtype=np.bool_)
    for each, source_alone in ((net, True), (turned, False)):
        total = np.append(0, np.cumsum(each.capacity))
        out = total[each.first[1:]] - total[each.first[:-1]]
        if out.min() < value:
            value = out.min()
            alone = np.arange(n) == out.argmin()
            sink_side = ~alone if source_alone else alone
    for each, forward in ((net, True), (turned, False)):
        found = np.zeros(n, dtype=np.bool_)
        least = join_to_sources(each, make_work(each), order, np.int64(value), found, control.stop)
        if least < value:
            value, sink_side = np.int64(least), found if forward else ~found
    return sink_side
