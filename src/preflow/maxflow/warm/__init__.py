"""Solve a network again after some of its capacities have changed, from the last flow.

Between two solves the residual network holds the last flow. A change of a capacity changes the residual
capacity of one arc. Nothing else has to be done as long as the flow fits. A capacity that falls below the
flow of its arc ``(u, v)`` cuts this flow off. Then `u` has *excess*, and `v` has a *deficit*: it sends out
more than it gets.

The methods of :mod:`..problem` turn a residual network with excess into a maximum preflow. They know no
deficit. So each deficit `d` at a vertex `v` becomes capacity `d` from `v` to the sink (Kohli and Torr,
"Dynamic Graph Cuts for Efficient Inference in Markov Random Fields", PAMI 29, 2007, raise both terminal arcs
of `v` in this way; here the arc from the source is saturated and thereby fills the deficit). This adds `d`
to the capacity of every cut, and so changes no minimum cut. Excess near a deficit flows there over few arcs,
and the flow beyond both stays. The alternative is to cancel the flow from `v` down to the sink before the
solve. It would open all of these paths, and the solver would have to find most of them again.

What of a deficit no excess fills is cancelled after the solve, downstream. That leaves the cut as it is:
residual capacity from `v` to the sink is left, so `v` is on the sink side. Flow from `v` to `w` means that
`w` reaches `v` over residual arcs, so `w` is on the sink side, too. Cancelling changes no arc over the cut.

::

    change a capacity: adjust residual capacity, cut flow off            change_capacities
    solve:
        saturate the arcs out of the source
        for every deficit: add it to the capacity to the sink
        run any method of maximum flow: a maximum preflow, its cut
        take these capacities away; what is left of deficits
            goes to the sink directly or downstream                      second_stage
        return excess to the source                                      second_stage
        compute the flow of every input arc

Every method starts from any residual network with excess, so all methods of the CPU solve again.

Two other ways from the last flow are faster: a search near the changes (:mod:`.search_trees`), and a repair
on both sides of the last cut (:mod:`.both_sides`). Where excess has to go through many levels, both take
longer than a solve from scratch. So each gets a budget, a share of the operations of a solve from scratch. A
solve tries one of them, or both if the repair did not fail before. Past the budget it begins again with an
empty flow. It keeps the residual network, and so still saves building it. The next solves after as many
changes leave out what has failed. Later ones try it again, after pauses that double with each failure.

::

    solve again, method "auto":
        a search is due: search; if it ends within its budget, stop
            if the last repair failed, or there was none, go to the last line
        a repair is due: repair; if it ends within its budget, stop
        run a method from an empty flow, and count its operations

After a change of the terminals there is no flow to start from. Where both are single vertices, a search from
both ends finds a new one, and sees a small part of many networks (:mod:`.any_pair`). It gives up after
SCANS_OF_PAIR scans for each vertex and residual arc; then a method begins. The next changes of the terminals
leave the search out, and later ones try it again, after pauses that double with each failure.

Capacities must be integers, or floats that are integers, with sums that fit int64. An infinite capacity
becomes a number above the sum of all others. Other networks are solved from scratch: the scale of rounded
capacities depends on all of them. So are those that contraction makes much smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Arcs, Array, ColumnName, EndsNames, Indices, Int64, NetworkInput, Vertices
from ...errors import InvalidInputError
from ...graph.changing import Changing, read_arc_changes, read_ends
from ...graph.convert import as_flow_problem
from ...graph.edge_tables import ColumnNames
from ...graph.network import (
    FlowNetwork,
    common_dtype,
    exact_sum,
    read_capacities,
    with_capacities,
)
from ...graph.residual import ResidualArrays, ResidualNetwork, build_residual
from ...graph.scaling import proved_gap
from ...graph.solved_capacities import are_whole
from ...kernels.constants import ONE, ZERO
from ...kernels.csr_build import InputArcs, Pairs, residual_arc, terminal_capacities
from ...kernels.kernel import kernel
from ...method_names import FlowMethodName
from ...progress import Reporter
from ...solving.call import Request, is_plain
from ...solving.dispatch import usable_cpus
from ...solving.method import Method
from ...solving.plan import Plan
from ...solving.run import Control, Deadline, run_interruptibly
from ...solving.timing import timed
from ...stats import SolveStats, added_up
from ...steps.second_stage import Unused, flow_of_arcs, return_along_flow, return_directly, topological_order
from ...steps.step import FlowProblem, KnownFlow
from ..api import QUICK_ARCS, FlowCall, cut_contracted, smallest_cut
from ..policy import choose
from ..problem import METHODS
from ..result import MaxFlowResult, best_cut
from .any_pair import AnyPair, FlowOfPair
from .both_sides import repair
from .search_trees import FlowState, Kept, begin_deficits, end_deficits, search_near_changes, touch

#: The sum of all capacities that are solved from the last flow. No sum of flows and deficits passes int64.
MOST_CAPACITY = 2**61
#: A search near the changes is given up once it has made this share of the operations of a solve from
#: scratch: those of the method, half of one for each vertex and residual arc in each of its global relabels,
#: and one of each for building the network. It may make one for each vertex and residual arc besides to plant
#: its forests. With 1% of the arcs changed it makes 0.007 of these operations on a grid 100x100.
SEARCH_SHARE = 0.16
#: After it was given up, it is tried again at once when fewer arcs have changed by this factor.
FEWER = 4
#: Where a solve from scratch makes more operations than this for each vertex and residual arc, changes reach
#: far: 22 to 48 on rmf-wide, 14 on a road network, 13 or fewer on seven other families.
MUCH_WORK = 20
#: There a search is first tried if fewer than this share of the arcs has changed. On rmf-wide 64x16 it ends
#: within its budget after 10 changes, not after 100.
FEW_CHANGES = 1 / 4000
#: Where no solve from scratch has been counted, it is taken to make this many operations for each vertex and
#: residual arc: the least of the families measured, on a grid.
LEAST_WORK = 4
#: A repair from both sides of the last cut gives up after this share of those operations.
REPAIR_SHARE = 0.25
#: What has failed is tried again after this many solves without it, twice as many with each failure, at most
#: the second number.
FIRST_PAUSE, LAST_PAUSE = 8, 64
#: A search from both ends gives up after scanning this many arcs for each vertex and residual arc. On a grid
#: with unit capacities a search makes up to 1.5 scans in a quarter of the time of a method.
SCANS_OF_PAIR = 2.0
#: It may scan this many in any case, in less time than to begin a solve by a method takes.
FEWEST_SCANS = 2000
#: The network of these searches is built again once this share of the arcs has changed.
EDITS_OF_PAIRS = 0.25
#: Up to this many scans, about 1 ms, a search runs in the thread of the caller.
QUICK_SCANS = 200_000
#: Why `auto` takes its method for a network without flow, if the last flow has not helped.
EMPTIED = "solved from an empty flow: the last flow did not help before"
GIVEN_UP = "solved from an empty flow: the last flow did not help"
#: What the statistics say of a solve by :mod:`.search_trees`.
SEARCH = Method(
    "search-forests",
    "maxflow.warm.search_trees",
    "",
    "augmenting paths on two search forests that are kept between solves",
    "Goldberg, Hed, Kaplan, Kohli and others 2015; Kohli and Torr 2007",
)
#: The same of a solve by :mod:`.both_sides`.
REPAIR = Method(
    "repair-both-sides",
    "maxflow.warm.both_sides",
    "",
    "excess to the sink and deficits to the source, each on its side of the last cut, by pseudoflow",
    "Hochbaum 2008; Kohli and Torr 2007",
)


class Edits(NamedTuple):
    """Changes of capacities."""

    #: shape (k,): the numbers of the input arcs, and their new capacities
    arc: NDArray[np.int64]
    value: NDArray[np.int64]
    infinite: NDArray[np.int64]  #: shape (1,): the number that means infinity, 0 for none


@kernel
def change_capacities(
    arcs: InputArcs,
    pairs: Pairs,
    state: FlowState,
    edits: Edits,
    backward: bool,
    begin: Int64,
    limit: Int64,
) -> tuple[Int64, Int64, Int64]:
    """Change capacities, or reverse capacities, and cut off the flow that no longer fits.

    Return the number of changes made, since the next one may not fit `limit`, the largest residual capacity;
    the change of the capacity straight from a source to a sink; and that of the sum of all finite capacities.
    """
    net = state.net
    source = np.uint64(len(net.excess))
    sink = source + ONE
    values = arcs.reverse_capacity if backward else arcs.capacity
    infinite = edits.infinite[ZERO]
    direct, total = np.int64(0), np.int64(0)
    for k in range(np.uint64(begin), np.uint64(len(edits.arc))):
        i = np.uint64(edits.arc[k])
        old, new = np.int64(values[i]), np.int64(edits.value[k])
        change = new - old
        a, inside = residual_arc(arcs, pairs.rank, pairs.first_out, i)
        if inside:
            a = np.uint64(pairs.reverse[a]) if backward else a
            b = np.uint64(pairs.reverse[a])
            if change > limit - net.residual[a] - net.residual[b]:
                return np.int64(k), direct, total
            left = net.residual[a] + change
            state.initial[a] += change
            net.residual[a] = max(left, np.int64(0))
            if left < 0:
                net.residual[b] += left
                net.excess[net.head[a]] += left
                net.excess[net.head[b]] -= left
        else:
            u = np.uint64(arcs.inner[arcs.head[i] if backward else arcs.tail[i]])
            v = np.uint64(arcs.inner[arcs.tail[i] if backward else arcs.head[i]])
            if u == source and v < source:
                state.source_capacity[v] += change
                net.excess[v] += change
            elif u < source and v == sink:
                state.sink_capacity[u] += change
                left = net.sink_residual[u] + change
                net.sink_residual[u] = max(left, np.int64(0))
                net.excess[u] -= min(left, np.int64(0))
            elif u == source and v == sink:
                direct += change
        values[i] = new
        total += (np.int64(0) if new == infinite else new) - (np.int64(0) if old == infinite else old)
    return np.int64(len(edits.arc)), direct, total


@kernel
def put_flow(arcs: InputArcs, pairs: Pairs, state: FlowState, flow: NDArray[np.int64]) -> None:
    """Put a flow of input arcs, cut off at their capacities, into a residual network without flow.

    `flow` may have fewer entries than there are arcs. The supply of each vertex is at first the capacity from
    the source, whose flow makes no difference to it.
    """
    net = state.net
    source = np.uint64(len(net.excess))
    sink = source + ONE
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(flow)):
        least = -np.int64(arcs.reverse_capacity[i]) if has_reverse else np.int64(0)
        amount = max(min(flow[i], np.int64(arcs.capacity[i])), least)
        if amount == 0:
            continue
        a, inside = residual_arc(arcs, pairs.rank, pairs.first_out, i)
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if inside:
            net.residual[a] -= amount
            net.residual[pairs.reverse[a]] += amount
            net.excess[u] -= amount
            net.excess[v] += amount
            continue
        if amount < 0:
            u, v = v, u
            amount = -amount
        if u < source and v == sink:
            net.sink_residual[u] -= amount
            net.excess[u] -= amount


@kernel
def find_places(
    arcs: InputArcs, pairs: Pairs, num_inner: int, place: Indices, used: NDArray[np.bool_]
) -> bool:
    """Find the place of each input arc; return whether places are shared: see :class:`_Kept`.

    `used` has an entry for each place; all are False on entry.
    """
    m, n = np.uint64(len(pairs.head)), np.uint64(num_inner)
    source, sink = n, n + ONE
    none = m + n + n
    has_reverse = len(arcs.reverse_capacity) > 0
    shared = False
    for i in range(len(arcs.tail)):
        a, inside = residual_arc(arcs, pairs.rank, pairs.first_out, i)
        u, v = np.uint64(arcs.inner[arcs.tail[i]]), np.uint64(arcs.inner[arcs.head[i]])
        if not inside:
            a = none
            if u == source and v < n:
                a = m + v
            elif u < n and v == sink:
                a = m + n + u
            elif has_reverse and u != v and (u == sink or v == source):
                shared = True
        place[i] = a
        if a < none:
            shared = shared or used[a]
            used[a] = True
            if has_reverse and a < m:
                shared = shared or used[pairs.reverse[a]]
                used[pairs.reverse[a]] = True
    return shared


@kernel
def flow_at_places(place: Indices, arcs: InputArcs, net: ResidualArrays, flow: NDArray[np.int64]) -> None:
    """Write the flow of every input arc, where no two share a place; see `flow_of_arcs`."""
    m, n = np.uint64(len(net.head)), np.uint64(len(net.excess))
    source, sink = n, n + ONE
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(place)):
        p = np.uint64(place[i])
        capacity = np.int64(arcs.capacity[i])
        if p < m:
            amount = capacity - min(capacity, np.int64(net.residual[p]))
            if has_reverse:
                back = np.int64(arcs.reverse_capacity[i])
                amount -= back - min(back, np.int64(net.residual[net.reverse[p]]))
        elif p < m + n:
            amount = capacity - min(capacity, net.excess[p - m])
        elif p < m + n + n:
            amount = capacity - min(capacity, net.sink_residual[p - m - n])
        elif np.uint64(arcs.inner[arcs.tail[i]]) == source and np.uint64(arcs.inner[arcs.head[i]]) == sink:
            amount = capacity
        else:
            amount = np.int64(0)
        flow[i] = amount


@dataclass
class _Trial:
    """When to try something that may fail, by the numbers of changes at which it failed."""

    factor: int  #: it is tried at once after fewer changes than at the last failure by this factor
    #: the least number of changes at which it failed, infinity after a success with as many
    edits: float = np.inf
    pause: int = 0  #: after how many solves without it it is tried again
    waited: int = 0  #: the number of solves without it
    worked: bool = False  #: whether it did not fail the last time, if there was one

    def is_due(self, edits: int) -> bool:
        """Whether to try it after this many changes."""
        return edits * self.factor < self.edits or self.waited >= self.pause

    def wait(self) -> None:
        """Count a solve without it."""
        self.waited += 1

    def fail(self, edits: int) -> None:
        """Remember a failure."""
        self.edits, self.waited, self.worked = min(self.edits, edits), 0, False
        self.pause = min(2 * self.pause, LAST_PAUSE) or FIRST_PAUSE

    def succeed(self, edits: int) -> None:
        """Forget the failures with as many changes or fewer."""
        self.worked = True
        if edits >= self.edits:
            self.edits, self.pause = np.inf, 0


@dataclass
class _Record:
    """Counts and failures of the solves of a network."""

    #: operations of the last solve by a method from an empty flow, 0 if there was none
    work_of_empty: int = 0
    #: of searches near the changes, and of repairs from both sides of the last cut
    search: _Trial = field(default_factory=lambda: _Trial(FEWER))
    repair: _Trial = field(default_factory=lambda: _Trial(1))
    #: the method from an empty flow for each number of threads asked for, as of the first solve
    choices: dict[int, Plan] = field(default_factory=dict)


class _Kept:
    """The residual network of a :class:`MaxFlow` with the last flow.

    Attributes
    ----------
    residual : ResidualNetwork
        Its capacities are out of date; only its maps are used.
    state : FlowState
    capacity, reverse : ndarray of int64
        Current capacities of the input arcs. `reverse` is empty if there are none.
    infinite : int
        The number that means an infinite capacity, 0 for none.
    total : int
        Sum of all finite capacities.
    direct : int
        Capacity straight from sources to sinks.
    sink_side : ndarray of bool, shape (n,)
        The side of the sink of the last minimum cut.
    forests : Kept or None
        The search forests, if the last solve left them.
    num_edits : int
        Number of changes since the last solve.
    record : _Record
    place : ndarray
        Where each input arc is: the number of its residual arc, m plus its head if its tail is a source, or
        m + n plus its tail if its head is a sink; m + 2n for an arc without flow.
    shared : bool
        Whether two input arcs have one place, or an arc has reverse capacity from a source or to a sink.
    """

    def __init__(
        self, call: FlowCall, network: FlowNetwork, whole: _Whole, flow: Array | None, record: _Record
    ) -> None:
        self.capacity, self.reverse, self.infinite, self.total = whole
        built = build_residual(
            with_capacities(network, self.capacity, self.reverse),
            call.sources,
            call.sinks,
            threads=call.build_threads,
            check_wanted=call.control.check_wanted,
            renumber=call.threads == 1,
        )
        self.residual: ResidualNetwork = built
        net = built.arrays
        n = len(net.excess)
        capacities = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        arcs, limit = self.arcs(network), np.int64(np.iinfo(np.int64).max)
        direct, *_ = terminal_capacities(arcs, 0, len(arcs.tail), True, *capacities, limit)
        self.direct = int(direct)
        initial = net.residual.copy()
        self.state = FlowState(net, initial, *capacities)
        self.num_edits = 0
        self.record = record
        self.sink_side: NDArray[np.bool_] = np.ones(n, dtype=bool)
        self.forests: Kept | None = None
        places = len(net.head) + 2 * n + 1
        self.place: Array = np.empty(len(arcs.tail), dtype=np.uint32 if places < 2**32 else np.uint64)
        self.shared = bool(find_places(arcs, self.pairs, n, self.place, np.zeros(places, dtype=bool)))
        if flow is not None:
            net.excess[:] = capacities[0]
            net.sink_residual[:] = capacities[1]
            # The flow of a pickled result is writable; the kernel is compiled for read-only flows.
            read_only = flow.view()
            read_only.flags.writeable = False
            put_flow(arcs, self.pairs, self.state, read_only)

    @property
    def pairs(self) -> Pairs:
        net = self.state.net
        return Pairs(net.first_out, net.head, net.reverse, self.residual.rank)

    def arcs(self, network: FlowNetwork, *, writable: bool = False) -> InputArcs:
        """Return the input arcs with their current capacities, read-only unless they are to be changed."""
        both = self.capacity.view(), self.reverse.view()
        for view in both:
            view.flags.writeable = writable
        return InputArcs(network.tail, network.head, *both, self.residual.inner)

    def change(self, network: FlowNetwork, edits: Edits, backward: bool) -> None:
        """Change capacities; convert the residual capacities to int64 if they no longer fit int32."""
        self.num_edits += len(edits.arc)
        begin = 0
        while begin < len(edits.arc):
            limit = np.int64(np.iinfo(self.state.net.residual.dtype).max)
            arcs = self.arcs(network, writable=True)
            end, direct, total = change_capacities(
                arcs, self.pairs, self.state, edits, backward, np.int64(begin), limit
            )
            self.direct += int(direct)
            self.total += int(total)
            begin = int(end)
            if begin < len(edits.arc):
                self.widen()
        if self.forests is not None:
            touch(self.arcs(network), self.place, edits.arc, self.state.net, self.forests)

    def widen(self) -> None:
        state = self.state
        net = state.net._replace(residual=state.net.residual.astype(np.int64))
        self.state = state._replace(net=net, initial=state.initial.astype(np.int64))

    def set_sink_side(self, given: NDArray[np.bool_]) -> None:
        """Take the side of the sink of a minimum cut, for the vertices of the input."""
        side = np.ones(len(self.sink_side) + 2, dtype=bool)
        side[self.residual.inner] = given
        self.sink_side = side[:-2]

    @property
    def size(self) -> int:
        """The number of vertices and residual arcs."""
        return len(self.state.net.head) + len(self.state.net.excess)

    @property
    def work_of_scratch(self) -> int:
        """The operations of a solve from scratch, or a guess if there was none."""
        return (self.record.work_of_empty or LEAST_WORK * self.size) + self.size

    def count_work_of_empty(self, operations: int) -> None:
        """Remember the operations of a solve from an empty flow; after the first, say when to search."""
        record = self.record
        if not record.work_of_empty and operations > MUCH_WORK * self.size:
            record.search = _Trial(FEWER, FEWER * FEW_CHANGES * len(self.capacity), LAST_PAUSE)
        record.work_of_empty = operations

    def last_flow_may_help(self) -> bool:
        """Whether to begin with the last flow."""
        return any(trial.is_due(self.num_edits) for trial in (self.record.search, self.record.repair))

    def wait(self) -> None:
        """Count a solve from an empty flow."""
        self.record.search.wait()
        self.record.repair.wait()

    def empty(self) -> None:
        """Take all flow out of the residual network."""
        state = self.state
        state.net.residual[:] = state.initial
        state.net.excess[:] = state.source_capacity
        state.net.sink_residual[:] = state.sink_capacity
        self.forests = None

    def fits(self) -> bool:
        """Whether no sum of capacities and flows can pass int64, and infinity is above all other sums."""
        return _fits(self.infinite, self.total, [self.capacity, self.reverse])


def _fits(infinite: int, total: int, capacities: list[NDArray[np.int64]]) -> bool:
    """Whether no sum of capacities can pass int64, and `infinite` is above `total`, that of finite ones."""
    if not infinite:
        return total < MOST_CAPACITY
    number = sum(int(np.count_nonzero(part == infinite)) for part in capacities)
    return total < infinite and total + number * infinite < MOST_CAPACITY


class _Whole(NamedTuple):
    """Capacities as integers: see :class:`_Kept`."""

    capacity: NDArray[np.int64]
    reverse: NDArray[np.int64]
    infinite: int
    total: int


def _whole(network: FlowNetwork) -> _Whole | None:
    """Return the capacities as integers; None if they cannot be solved from a last flow."""
    parts = [network.capacity, network.capacity[:0]]
    if network.reverse_capacity is not None:
        parts[1] = network.reverse_capacity
    if network.saturated or not all(are_whole(part) for part in parts):
        return None
    if network.capacity.dtype.kind == "i":
        total = sum(int(exact_sum(part)) for part in parts if len(part))
        return _Whole(parts[0].copy(), parts[1].copy(), 0, total) if total < MOST_CAPACITY else None
    masks = [np.isinf(part) for part in parts]
    if sum(float(part[~mask].sum()) for part, mask in zip(parts, masks, strict=True)) >= MOST_CAPACITY:
        return None
    whole = [np.where(mask, 0, part).astype(np.int64) for part, mask in zip(parts, masks, strict=True)]
    total = sum(int(part.sum()) for part in whole)
    number = sum(int(np.count_nonzero(mask)) for mask in masks)
    infinite = 1 << (4 * (total + 1)).bit_length() if number else 0
    if total + number * infinite >= MOST_CAPACITY:
        return None
    for part, mask in zip(whole, masks, strict=True):
        part[mask] = infinite
    return _Whole(whole[0], whole[1], infinite, total)


class MaxFlow(Changing[MaxFlowResult]):
    """A network whose capacities change between solves, each of which starts from the last flow.

    Few changes leave most of the last flow right, so a solve takes a fraction of the first one. Its result
    is as exact as any other, and proves itself. Several threads may share a solver: a method waits until no
    other thread is in one.

    Parameters
    ----------
    network : FlowNetwork, or what :func:`preflow.max_flow` takes
        Arrays on a GPU are copied to the host.
    source, sink : vertex, or collection of vertices
    ends, capacity
        As in :func:`preflow.max_flow`.

    Attributes
    ----------
    sources, sinks : ndarray of int64
    result : MaxFlowResult or None
        Of the last solve; a solve that fails leaves it as it is.

    Notes
    -----
    A solve takes O(n + m) beside the work of the method: one search from the sink, and the flow of every arc.
    Flow that a smaller capacity cuts off is led around the arc where that is possible, see
    :mod:`preflow.maxflow.warm`. Capacities that are not all integers, or whose sum passes 2**61, are solved
    from scratch. Between solves about 32 bytes a pair of adjacent vertices, 20 an arc and 66 a vertex stay
    allocated. Kohli and Torr 2007.

    After :meth:`set_terminals` with one source and one sink, a solve takes the time of a search from both
    ends, which may see a small part of the network; reading `flow` or `sink_side` takes O(n + m). The network
    of these searches has about 64 bytes a pair of adjacent vertices, 10 an arc and 73 a vertex, which stay
    allocated as long as one of their results. Bläsius, Friedrich and Weyand 2021.

    Examples
    --------
    >>> import preflow
    >>> solver = preflow.MaxFlow(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3)
    >>> solver.solve().value
    4
    >>> solver.set_capacity([1, 2], [5, 1])
    >>> result = solver.solve()
    >>> result.value, result.flow.tolist()
    (5, [1, 4, 1, 4])
    >>> result.verify()

    A road closes:

    >>> roads = [("Dortmund", "Frankfurt", 5), ("Dortmund", "Kassel", 2), ("Kassel", "Frankfurt", 4)]
    >>> solver = preflow.MaxFlow(roads, "Dortmund", "Frankfurt")
    >>> solver.set_capacity(("Dortmund", "Frankfurt"), 0)
    >>> solver.solve().value
    2
    """

    def __init__(
        self,
        network: NetworkInput,
        source: Vertices = None,
        sink: Vertices = None,
        *,
        ends: EndsNames = None,
        capacity: ColumnName = None,
    ) -> None:
        super().__init__()
        with timed(self._reading, "build"):
            read, source, sink = as_flow_problem(network, source, sink, ColumnNames(ends, capacity))
        self._given: FlowNetwork = read.on_host()
        self.sources, self.sinks = self._read_terminals(source, sink)
        self._capacity: Array = self._given.capacity
        self._reverse: Array | None = self._given.reverse_capacity
        self._snapshot: FlowNetwork | None = self._given
        self._kept: _Kept | None = None
        self._flow: Array | None = None
        self._record = _Record()
        self._may_contract = True
        #: the network for searches from both ends, if there is one; when to try them; and whether the next
        #: solve is one for new terminals, without a flow
        self._pairs: AnyPair | None = None
        self._edited: list[NDArray[np.int64]] = []  # arcs whose capacities it does not have yet
        self._search_of_pair = _Trial(1)
        self._new_terminals = False
        self._continues_result = False  # whether the next residual network gets the flow of the last result

    def _read_terminals(
        self, source: Vertices, sink: Vertices
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the sources and of the sinks, checked."""
        sources, sinks = self._given.terminals(source, sink)
        for terminals in (sources, sinks):
            terminals.flags.writeable = False
        return sources, sinks

    @property
    def network(self) -> FlowNetwork:
        """The network with all changes so far; later changes leave it as it is."""
        if self._snapshot is None:
            snapshot = copy(self._given)
            for name, values in (("capacity", self._capacity), ("reverse_capacity", self._reverse)):
                if values is not None:
                    values.flags.writeable = False  # the next change copies it
                    object.__setattr__(snapshot, name, values)
            self._snapshot = snapshot
        return self._snapshot

    def set_capacity(self, arcs: Arcs, values: ArrayLike, *, reverse: bool | None = None) -> None:
        """Change the capacity of one arc or several.

        Parameters
        ----------
        arcs : int or array of int, pair of vertices, or list of pairs
            Numbers of arcs, or the vertices at their ends, as in ``("Dortmund", "Frankfurt")``. A pair means
            all arcs between its vertices; all can get capacity 0 or infinity, another one only if there is
            one arc. Of several values for one arc the last counts. Vertices that are numbers are a list of
            pairs, ``[(3, 5)]``.
        values : number or array of numbers
            Not negative: one for all arcs, or one for each number or pair.
        reverse : bool, optional
            Of numbers, whether to change the reverse capacities instead, and of pairs, the capacities from
            the second vertex to the first. The network must have been given with some. By default an edge
            that was given with the same capacity either way, and is called by its ends, gets the new one
            either way, too.

        Raises
        ------
        InvalidInputError
            There is no such arc, or no such capacity. Nothing was changed.
        """
        given = self._given
        numbers, flat, against = read_arc_changes(given, arcs, values, amounts=True)
        if reverse and self._reverse is None:
            raise InvalidInputError("the network was given without reverse capacities")
        new, saturated = read_capacities(flat, len(numbers), "values")
        if saturated:
            raise InvalidInputError("a capacity is larger than 2**63 - 1")
        if not len(numbers):
            return
        self._own_arrays(new)
        if against is None or given.reverse_capacity is None:
            self._change(numbers, new, bool(reverse))
            return
        both = reverse is None and (given.capacity == given.reverse_capacity)[numbers]
        for chosen, backward in ((against == bool(reverse), False), (against != bool(reverse), True)):
            if (chosen | both).any():
                self._change(numbers[chosen | both], new[chosen | both], backward)

    def _change(self, numbers: NDArray[np.int64], new: Array, backward: bool) -> None:
        """Change capacities, or reverse ones, and the residual network if it is kept."""
        edited = self._reverse if backward else self._capacity
        assert edited is not None
        edits = None if self._kept is None else _whole_edits(self._kept, numbers, new.astype(edited.dtype))
        if edits is None:
            self._forget_network()
        kept = self._kept
        pairs = self._pairs
        self._snapshot = self._kept = self._pairs = None  # Ctrl-C may come before all have changed
        edited[numbers] = new
        if kept is not None and edits is not None:
            kept.change(self._given, edits, backward)
        self._kept = kept
        if pairs is not None:
            self._edited.append(numbers)
            few = sum(map(len, self._edited)) <= EDITS_OF_PAIRS * self._given.num_arcs
            self._pairs = pairs if few else None

    def _own_arrays(self, new: Array) -> None:
        """Make the capacities arrays of this object's own, of a dtype that fits new values."""
        if self._capacity.dtype != new.dtype:  # a float past 2**53 among integers, or the reverse, is refused
            wide, _ = common_dtype(self._capacity, new)
            both = None if self._reverse is None else common_dtype(self._reverse, new)[0]
            self._capacity, self._reverse = wide, both
        if not self._capacity.flags.writeable:
            self._capacity = self._capacity.copy()
        if self._reverse is not None and not self._reverse.flags.writeable:
            self._reverse = self._reverse.copy()

    def add_arcs(
        self,
        tail: Vertices,
        head: Vertices,
        capacity: ArrayLike,
        *,
        reverse_capacity: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """Add arcs between vertices of the network, and return their numbers.

        The next solve starts from the last flow, but builds the residual network again: add many arcs at
        once. An arc of capacity zero that gets its capacity later costs nothing.

        Parameters
        ----------
        tail, head : vertex, or array of vertices
            Of the network: labels where it has labels, else numbers.
        capacity, reverse_capacity : array of numbers, or number
            The default of `reverse_capacity` is zero.
        """
        given = self._given
        added = FlowNetwork.from_arrays(
            read_ends(given, tail, "tail", numbered=True),
            read_ends(given, head, "head", numbered=True),
            capacity,
            reverse_capacity=reverse_capacity,
            num_vertices=given.num_vertices,
        )
        if added.saturated:
            raise InvalidInputError("a capacity is larger than 2**63 - 1")
        reverse: Array | None = None
        if self._reverse is not None or added.reverse_capacity is not None:
            parts = [
                np.zeros_like(forward) if back is None else back
                for forward, back in (
                    (self._capacity, self._reverse),
                    (added.capacity, added.reverse_capacity),
                )
            ]
            reverse = np.concatenate(common_dtype(*parts))
        longer = FlowNetwork(
            given.num_vertices,
            np.concatenate([given.tail, added.tail]),
            np.concatenate([given.head, added.head]),
            np.concatenate(common_dtype(self._capacity, added.capacity)),
            reverse_capacity=reverse,
            labels=given.labels,
            saturated=given.saturated,
        )
        self._forget_network()
        self._pairs = None
        self._may_contract = True
        self._record.choices.clear()
        self._given = self._snapshot = longer
        self._capacity, self._reverse = longer.capacity, longer.reverse_capacity
        return np.arange(given.num_arcs, self._given.num_arcs)

    def set_terminals(self, source: Vertices, sink: Vertices) -> None:
        """Change the sources and the sinks; the next solve starts without a flow.

        With ``method="auto"``, one source and one sink it searches from both ends. The residual network stays
        from change to change, so that a solve takes the time of its search where this sees a part of the
        network only. The flow of every arc and the cut are made when they are first read.

        Parameters
        ----------
        source, sink : vertex, or collection of vertices
        """
        sources, sinks = self._read_terminals(source, sink)
        self._kept = self._flow = None
        self._may_contract, self._continues_result = True, False
        self._new_terminals = True
        self._record = _Record()
        self.sources, self.sinks = sources, sinks

    def _forget_network(self) -> None:
        """Drop the residual network; keep the flow, which the next solve puts into a new one."""
        if self._kept is not None:
            self._flow = self._last_flow()
        self._kept = None

    def _last_flow(self) -> Array | None:
        """Return the flow of the last result if it is one of integers.

        After Ctrl-C the result may be older than the residual network.
        """
        flow = None if self.result is None else self.result.flow
        return flow if flow is not None and flow.dtype.kind == "i" else None

    def solve(
        self,
        *,
        method: FlowMethodName | str = "auto",
        threads: int | None = None,
        time_limit: float | None = None,
        progress: bool | Reporter = False,
        options: Mapping[str, Any] | None = None,
    ) -> MaxFlowResult:
        """Solve the network as it is now, from the flow of the last solve.

        Parameters
        ----------
        method, threads, time_limit, progress, options
            As in :func:`preflow.max_flow`. The method must run on the CPU, and may differ from that of the
            last solve.

        Returns
        -------
        MaxFlowResult
            Later changes leave it as it is.

        Raises
        ------
        InvalidInputError, CapacityOverflowError, UnboundedFlowError
            As in :func:`preflow.max_flow`.
        """
        given = METHODS, method, "cpu", threads, time_limit, progress, options
        plain = is_plain(method, "auto", threads, time_limit, progress, options)
        request = None if plain else Request(*given)
        searches = (plain or (method == "auto" and not options)) and self._searches_pair()
        begun = False
        if searches and self._pairs is not None and self._edited:
            self._change_pairs(self._pairs)
        if searches and plain:
            quick, begun = self._solve_pair_quickly(), self._pairs is not None
            if quick is not None:
                return self._keep_pair(quick)
        request = request or Request(*given)
        if searches:
            found, request = self._solve_pair(request, begun)
            if found is not None:
                return self._keep_pair(found)
        if request.method == "auto":
            contracted, request = self._solve_contracted(request)
            if contracted is not None:
                self._flow, self._continues_result = None, self._kept is None
                self._new_terminals = False
                return self._keep(contracted)
        if self._continues_result:
            self._flow, self._continues_result = self._last_flow(), False
        kept, network = self._kept, self.network
        if kept is not None and not kept.fits():
            self._forget_network()
            kept = None
        whole = _whole(network) if kept is None else None
        if kept is None and whole is None:
            return self._from_scratch(request)
        emptied = kept is not None and request.method == "auto" and not kept.last_flow_may_help()
        call = self._prepare(request, emptied)
        self._kept = None  # until this solve ends
        if kept is not None:
            self._flow = self._last_flow()
        result = call.run(lambda: self._solve(call, request, kept, whole, emptied), request)
        if result is None:
            return self._from_scratch(request)
        self._flow, self._new_terminals = None, False
        return self._keep(result)

    def _searches_pair(self) -> bool:
        """Whether to search from both ends; if only earlier failures are against it, count that."""
        if not self._new_terminals or len(self.sources) > 1 or len(self.sinks) > 1:
            return False
        due = self._search_of_pair.is_due(1)
        if not due:
            self._search_of_pair.wait()
        return due

    def _change_pairs(self, pairs: AnyPair) -> None:
        """Give the network for searches from both ends all new capacities, or drop it if they do not fit."""
        numbers = np.unique(np.concatenate(self._edited))
        self._pairs = None
        self._edited.clear()
        values = []
        for given in (self._capacity, self._reverse):
            if given is not None:
                edits = _whole_edits(pairs, numbers, given[numbers])
                if edits is None:
                    return
                values.append(edits.value)
        changed = pairs.changed(numbers, values)
        if _fits(changed.infinite, changed.total, changed.capacities):
            self._pairs = changed

    def _solve_pair_quickly(self) -> MaxFlowResult | None:
        """Search from both ends in the thread of the caller; None if that takes long or nothing is built."""
        pairs = self._pairs
        if pairs is None:
            return None
        seconds = {"build": 0.0}
        most, stop = min(QUICK_SCANS, _most_scans(pairs)), np.zeros(1, dtype=np.int64)
        with timed(seconds, "solve"):
            pairs.begin()
            found = pairs.search(*self._pair, most, stop)
        return None if found is None else self._result_of_pair(pairs, found, seconds)

    def _solve_pair(self, request: Request, begun: bool) -> tuple[MaxFlowResult | None, Request]:
        """Search from both ends, or go on with that if it has `begun`.

        Return None if it takes too long, and the request with the rest of its time limit.
        """
        network, control, deadline = self.network, Control(), Deadline(request.time_limit)
        seconds: dict[str, float] = {}

        def search() -> FlowOfPair | None:
            with timed(seconds, "build"):
                if self._pairs is None:
                    whole = _whole(network)
                    if whole is None or not AnyPair.fits(network):
                        return None
                    threads = min(request.most_threads, usable_cpus())
                    integers = with_capacities(network, whole.capacity, whole.reverse)
                    self._edited.clear()
                    self._pairs = AnyPair(
                        integers, whole.infinite, whole.total, threads, control.check_wanted
                    )
            control.check_wanted()
            pairs = self._pairs
            with timed(seconds, "solve"):
                if not begun:
                    pairs.begin()
                found = pairs.search(*self._pair, _most_scans(pairs), control.stop)
            if found is None and not control.stopped:
                self._search_of_pair.fail(1)
            return found

        if network.num_arcs <= QUICK_ARCS and request.time_limit is None and request.progress is False:
            found = search()
        else:
            found = run_interruptibly(search, control, request.time_limit, request.progress)
        if found is not None and self._pairs is not None:
            return self._result_of_pair(self._pairs, found, seconds), request
        self._reading = added_up(self._reading, seconds)
        return None, replace(request, time_limit=deadline.left())

    @property
    def _pair(self) -> tuple[int, int]:
        return int(self.sources[0]), int(self.sinks[0])

    def _result_of_pair(
        self, pairs: AnyPair, found: FlowOfPair, seconds: dict[str, float]
    ) -> MaxFlowResult | None:
        """Return the result of a search; None if the flow is unbounded."""
        if pairs.infinite and found.value > pairs.total:
            return None
        return found.result(self.network, self.sources, self.sinks, seconds)

    def _keep_pair(self, result: MaxFlowResult) -> MaxFlowResult:
        """Keep the result of a search from both ends, whose flow the next solve starts from."""
        self._search_of_pair.succeed(1)
        self._new_terminals, self._continues_result = False, True
        return self._keep(result)

    def _solve_contracted(self, request: Request) -> tuple[MaxFlowResult | None, Request]:
        """Contract the network, unless that was of no use before, and solve what is left.

        Returns
        -------
        result : MaxFlowResult or None
            None if it is not worth contracting the network.
        request : Request
            With the rest of its time limit.
        """
        if not self._may_contract:
            return None, request
        problem = FlowProblem(self.network, self.sources, self.sinks, {})
        deadline = Deadline(request.time_limit)
        found, request = cut_contracted(MaxFlowResult, problem, request)
        if found is not None:
            return found, request
        if problem.seconds:  # it was tried
            self._may_contract = deadline.passed()
            self._reading = added_up(self._reading, problem.seconds)
        return None, request

    def _from_scratch(self, request: Request) -> MaxFlowResult:
        self._kept = self._flow = None
        problem = FlowProblem(self.network, self.sources, self.sinks, {})
        return self._keep(smallest_cut(MaxFlowResult, problem, request, clear=True))

    def _prepare(self, request: Request, emptied: bool) -> FlowCall:
        network = self.network
        most = request.most_threads

        def plan() -> Plan:
            choices = self._record.choices
            if most not in choices:
                choices[most] = choose(network, "cpu", most)
            return choices[most]._replace(because=EMPTIED) if emptied else choices[most]

        problem = FlowProblem(network, self.sources.copy(), self.sinks.copy(), {})
        return FlowCall.of(problem, request, plan)

    def _solve(
        self, call: FlowCall, request: Request, kept: _Kept | None, whole: _Whole | None, emptied: bool
    ) -> MaxFlowResult | None:
        """Run both stages, from the last flow unless `emptied`; None if the flow is unbounded."""
        network = call.instance
        by_rule = request.method == "auto"
        begun = kept is not None or self._flow is not None
        with call.timed("build"):
            if kept is None:
                assert whole is not None
                kept = _Kept(call, network, whole, self._flow, self._record)
                if self._flow is not None and self.result is not None:
                    kept.set_sink_side(self.result.sink_side)
        solved = None
        call.control.weigh_relabels(kept.size // 2)
        if emptied:
            kept.wait()
        elif begun:
            solved = _solve_from_last_flow(call, kept, by_rule)
            if solved is None:
                call.plan = call.plan._replace(because=GIVEN_UP)
        if solved is None:
            before = call.control.operations
            if begun:
                with call.timed("build"):
                    kept.empty()
            solved = _solve_by_method(call, kept.state)
            if by_rule and solved[1]:
                kept.count_work_of_empty(call.control.operations - before)
        reaching, finished = solved
        kept.sink_side = reaching
        with call.timed("recover"):
            state = kept.state
            value = (
                kept.direct + int(exact_sum(state.sink_capacity)) - int(exact_sum(state.net.sink_residual))
            )
            if kept.infinite and value > kept.total:
                return None
            flow = _arc_flows(kept, network)
            sink_side = np.append(reaching, [False, True])[kept.residual.inner]
        call.control.check_wanted()
        status = call.control.status(call.method, finished)
        upper: int | float = value
        gap: int | float = 0
        if not finished:
            sink_side, upper = best_cut(network, call.sources, call.sinks, sink_side, whole=True)
            gap = proved_gap(upper, value, upper)
        kept.num_edits = 0
        self._kept = kept
        return MaxFlowResult(
            status=status,
            lower_bound=value,
            upper_bound=upper,
            stats=call.stats(SolveStats),
            sink_side=sink_side,
            network=network,
            sources=call.sources,
            sinks=call.sinks,
            _gap=gap,
            _second_stage=KnownFlow(network, call.sources, flow),
            flow=flow,
        )

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the residual network; a copy builds it again from the last flow."""
        state = {**super().__getstate__(), "_pairs": None}
        if self._kept is not None:
            state.update(_kept=None, _flow=self._last_flow())
        network = self.network
        state.update(_snapshot=network, _capacity=network.capacity, _reverse=network.reverse_capacity)
        return state


def _most_scans(pairs: AnyPair) -> int:
    """Return after how many scans a search from both ends gives up."""
    return max(FEWEST_SCANS, int(SCANS_OF_PAIR * pairs.size))


def _whole_edits(kept: _Kept | AnyPair, numbers: NDArray[np.int64], new: Array) -> Edits | None:
    """Return the changes as integers; None if they do not fit the residual network."""
    infinite = np.isinf(new)
    if not are_whole(new) or (infinite.any() and not kept.infinite):
        return None
    value = np.where(infinite, kept.infinite, new) if infinite.any() else new
    if float(value.sum(dtype=np.float64)) + kept.total >= MOST_CAPACITY:
        return None
    if kept.infinite and (new[~infinite] >= kept.infinite).any():
        return None
    return Edits(numbers, value.astype(np.int64), np.array([kept.infinite]))


def _solve_from_last_flow(
    call: FlowCall, kept: _Kept, by_rule: bool
) -> tuple[NDArray[np.bool_], bool] | None:
    """Search, repair, or do as :func:`_solve_by_method`; return None once the budget is spent.

    Unless `by_rule`, run the method without a budget.
    """
    if not by_rule:
        kept.forests = None
        return _solve_by_method(call, kept.state)
    record = kept.record
    if record.search.is_due(kept.num_edits):
        if _search(call, kept):
            assert kept.forests is not None
            return kept.forests.forests.label < 0, True
        if not (record.repair.worked or call.control.stopped):
            record.repair.wait()
            return None
    else:
        record.search.wait()
    kept.forests = None
    return _repair(call, kept)


def _search(call: FlowCall, kept: _Kept) -> bool:
    """Search from what has changed; return whether that ended within its budget."""
    state, trial = kept.state, kept.record.search
    most = int(SEARCH_SHARE * kept.work_of_scratch) + (kept.size if kept.forests is None else 0)
    with call.timed("solve"):
        kept.forests = search_near_changes(state, kept.forests, call.control, max(1, most))
    if kept.forests is not None:
        call.method, call.threads = SEARCH, 1
        call.plan = call.plan._replace(because="solved again: a search near the changes")
        trial.succeed(kept.num_edits)
        return True
    if not call.control.stopped:
        trial.fail(kept.num_edits)
    return False


def _repair(call: FlowCall, kept: _Kept) -> tuple[NDArray[np.bool_], bool] | None:
    """Repair the flow on both sides of the last cut; return as :func:`_solve_by_method`."""
    control, record = call.control, kept.record
    control.limit_work(max(1, int(REPAIR_SHARE * kept.work_of_scratch)))
    with call.timed("solve"):
        repaired = repair(kept.state.net, kept.sink_side, control)
    control.limit_work(0)
    if repaired is None:
        record.repair.fail(kept.num_edits)
        return None
    call.method, call.threads = REPAIR, 1
    call.plan = call.plan._replace(because="solved again: on each side of the last cut")
    if repaired[1]:
        record.repair.succeed(kept.num_edits)
    with call.timed("recover"):
        _end_excess(kept.state)
    return repaired


def _solve_by_method(call: FlowCall, state: FlowState) -> tuple[NDArray[np.bool_], bool]:
    """Run the method and the second stage; return which vertices reach the sink, and whether it finished."""
    net = state.net
    deficits = begin_deficits(net, np.flatnonzero(net.excess < 0))
    height = call.by_plan(lambda _: call.first_heights(net))
    with call.timed("recover"):
        reaching = height <= len(height)
        finished = not net.excess[reaching].any()
        end_deficits(net, *deficits)
        _end_excess(state)
    return reaching, finished


def _end_excess(state: FlowState) -> None:
    """Cancel deficits, and return excess to the source."""
    net = state.net
    returned = np.zeros_like(net.excess)
    ways = (-1, state.sink_capacity, net.sink_residual), (1, state.source_capacity, returned)
    for way, capacity, used in ways:
        sign = np.int64(way)
        if return_directly(net.excess, capacity, used, sign):
            order, count = topological_order(net, state.initial, way)
            return_along_flow(net, state.initial, order, count, capacity, used, sign)
    net.excess[:] = returned


def _arc_flows(kept: _Kept, network: FlowNetwork) -> NDArray[np.int64]:
    """Return the flow of every input arc."""
    flow = np.empty(network.num_arcs, dtype=np.int64)
    state = kept.state
    net = state.net
    if not kept.shared:
        flow_at_places(kept.place, kept.arcs(network), net, flow)
        return flow
    unused = Unused(net.residual.copy(), net.excess.copy(), net.sink_residual.copy())
    arcs = kept.arcs(network)
    flow_of_arcs(arcs, kept.residual.rank, net.first_out, net.reverse, unused, True, True, flow)
    return flow
