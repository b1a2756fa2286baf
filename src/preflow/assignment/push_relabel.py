"""One refine of cost scaling by pushes and relabels on all arcs of the assignment problem as a flow network.

Łupińska (2011), section 5, Algorithms 5.0 to 5.3.

Definitions
-----------
- The vertices are the rows, then the columns, then, if there are more columns than rows, a sink with an arc
  from every column. Otherwise every column is a sink.
- The *reduced cost* of an arc (v, w) is its cost plus the price of v minus the price of w.
- A refine has a *delta* and an *offset*; the offset of columns is minus that of rows and the sink
  (:class:`Step`). With them the definitions of all algorithms become one: an arc is *admissible* if its
  reduced cost is below the offset of its tail, and a relabel sets the price so that the least reduced cost is
  the offset minus delta.
- For 5.0 and 5.2, delta is epsilon and the offset is 0. For 5.1, delta is half of epsilon, the offset of rows
  is delta and that of columns is -delta.

Invariants
----------
- No residual arc has a reduced cost below the offset of its tail minus delta.
- Arcs before the current arc of a vertex are not admissible.
- Reduced costs are computed as c + (p - q). So even with floats, the reduced costs of an arc and of its
  opposite differ in sign only, and both are never admissible.

Pseudo-code
-----------
::

    start from the flow that exists (5.0), or from no flow (5.1, 5.2)      start
    while a vertex is active:                                              refine
        take the oldest active vertex, or the newest
        until it has no excess:
            find the first admissible arc from its current arc on
            there is none: relabel the vertex                              _lowest_price
            else push a unit; the head may become active                   _send
        now and then: look at the stop flag; give up after `budget` relabels
        after as many relabels as there are vertices: update prices        update_prices

Departures: a price update puts a vertex into the bucket i + floor((c_p - offset) / delta) + 1. The paper
leaves out i and, for 5.1, the offset. The update gives up beyond the last bucket. Arcs are fixed between
refines only, if their reduced cost exceeds 2 |V| delta in size, with or without flow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index, Indices, Int64, Number, Numbers
from ..graph.costs import SparseCosts
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS
from .search_state import NONE
from .solution import SOLVED, STOPPED

#: How a refine may end besides the endings of :mod:`.solution`: its work exceeded the budget; a price got too
#: low.
LATE, TOO_LOW = 5, 6
#: Buckets of a price update; the update does not reach vertices at larger distances.
BUCKETS = 1 << 16
#: Arcs scanned, pushes and relabels between two reads of the stop flag.
POLL = np.uint64(1 << 20)


class Network(NamedTuple):
    """The residual network, sorted by the tails of arcs, and the state of its vertices."""

    #: shape (vertices,): the arcs of vertex v that are not fixed are at ``first[v] .. last[v] - 1``
    first: NDArray[np.uint64]
    last: NDArray[np.uint64]
    head: Indices  #: uint32: the vertex that each arc leads to
    reverse: NDArray[np.uint64]  #: the place of the opposite arc
    cost: Numbers  #: int64 or float64: scaled costs; the opposite arc has minus the cost
    #: whether the arc is one of the problem, and whether it has residual capacity
    forward: NDArray[np.uint8]
    residual: NDArray[np.uint8]
    price: Numbers  #: int64 or float64, shape (vertices,)
    #: shape (vertices,): the supply of each vertex minus the flow on its fixed arcs
    supply: NDArray[np.int64]
    excess: NDArray[np.int64]  #: shape (vertices,)
    current: NDArray[np.uint64]  #: shape (vertices,): the current arc
    active: Indices  #: uint32, shape (vertices,): a ring of vertices with excess
    bucket: NDArray[np.uint64]  #: shape (vertices,): the bucket of each vertex in a price update
    #: the vertices of each bucket in a doubly linked list
    bucket_first: NDArray[np.uint64]
    next: NDArray[np.uint64]
    previous: NDArray[np.uint64]


class Step(NamedTuple):
    """The parameters of one refine."""

    #: int64 or float64: how far a relabel lowers the least reduced cost below the offset
    delta: Number
    offset: Number  #: int64 or float64: the offset of rows and of the sink; columns have minus this
    floor: Number  #: int64 or float64: in a feasible problem no price falls to this
    rows: np.uint64
    columns: np.uint64
    keep_flow: bool  #: start from the flow that exists (5.0), not from no flow
    #: take the vertex that became active last: after a row pushes to a column, the column pushes next
    newest_first: bool
    updates: bool  #: update prices after each ``vertices`` relabels


@kernel
def write_arcs(
    costs: tuple[NDArray[np.uint64], Indices, Numbers],
    least: Number,
    scale: Number,
    network: Network,
    stop: NDArray[np.int64],
) -> None:
    """Write the arcs between rows and columns in both directions; `current` has the first arc of each column.

    The least cost becomes 0, so that costs are no larger than the range of the given costs.
    """
    first, column, values = costs
    num_rows = np.uint64(len(first)) - ONE
    for row in range(num_rows):
        if relaxed_load(stop, 0) != 0:
            return
        for k in range(first[row], first[row + ONE]):
            vertex = num_rows + np.uint64(column[k])
            opposite = network.current[vertex]
            network.current[vertex] = opposite + ONE
            cost = (values[k] - least) * scale
            network.head[k] = vertex
            network.head[opposite] = row
            network.reverse[k] = opposite
            network.reverse[opposite] = k
            network.cost[k] = cost
            network.cost[opposite] = -cost
            network.forward[k] = network.residual[k] = 1
            network.forward[opposite] = network.residual[opposite] = 0


def make_network(
    costs: SparseCosts,
    least: Number,
    scale: Number,
    dtype: type[np.int64] | type[np.float64],
    stop: NDArray[np.int64],
) -> Network:
    """Return the network of a sparse matrix with no flow, its costs above the least one times `scale`.

    Arcs of rows come first, in their order. If the stop flag is set meanwhile, arcs are missing.
    """
    _, n, m = costs.shape
    sink = n < m
    count, between = n + m + sink, len(costs.values)
    size = between + m if sink else between
    degree = np.zeros(count, dtype=np.uint64)
    degree[:n] = np.diff(costs.first)
    degree[n : n + m] = np.bincount(costs.column, minlength=m) + sink
    degree[n + m :] = m
    last = np.cumsum(degree, dtype=np.uint64)
    supply = np.zeros(count, dtype=np.int64)
    supply[:n] = 1
    supply[n : n + m] = 0 if sink else -1
    supply[n + m :] = -n

    def zeros(dtype: Any) -> Array:
        return np.zeros(count, dtype=dtype)

    network = Network(
        first=last - degree,
        last=last,
        head=np.empty(2 * size, dtype=np.uint32),
        reverse=np.empty(2 * size, dtype=np.uint64),
        cost=np.empty(2 * size, dtype=dtype),
        forward=np.empty(2 * size, dtype=np.uint8),
        residual=np.empty(2 * size, dtype=np.uint8),
        price=zeros(dtype),
        supply=supply,
        excess=supply.copy(),
        current=last - degree,
        active=zeros(np.uint32),
        bucket=zeros(np.uint64),
        bucket_first=np.zeros(BUCKETS + 1, dtype=np.uint64),
        next=zeros(np.uint64),
        previous=zeros(np.uint64),
    )
    if sink:  # the first arc of each column leads to the sink
        there = network.first[n : n + m].astype(np.int64)
        back = np.arange(2 * size - m, 2 * size)
        for one, other, head, forward in ((there, back, n + m, 1), (back, there, np.arange(n, n + m), 0)):
            network.head[one], network.reverse[one], network.cost[one] = head, other, 0
            network.forward[one] = network.residual[one] = forward
        network.current[n : n + m] += ONE
    write_arcs((costs.first, costs.column, costs.values), dtype(least), dtype(scale), network, stop)
    return network


def owners(network: Network, num_rows: int, num_columns: int) -> NDArray[np.int64]:
    """Return the row that sends flow to each column, or -1; the flow must be a partial assignment."""
    found = np.full(num_columns, -1, dtype=np.int64)
    tail = np.repeat(np.arange(len(network.supply)), _degrees(network))
    used = (network.forward == 1) & (network.residual == 0) & (tail < num_rows)
    found[network.head[used].astype(np.int64) - num_rows] = tail[used]
    return found


def _degrees(network: Network) -> NDArray[np.int64]:
    """Return the number of arcs of each vertex, including fixed ones."""
    return np.diff(np.append(network.first, np.uint64(len(network.head)))).astype(np.int64)


@kernel
def _offset(step: Step, vertex: Index) -> Number:
    """Return the reduced cost below which an arc out of a vertex is admissible."""
    is_column = step.rows <= vertex < step.rows + step.columns
    return -step.offset if is_column else step.offset


@kernel
def _send(network: Network, tail: Index, arc: Index) -> np.uint64:
    """Send a unit along an arc; return its head."""
    head = np.uint64(network.head[arc])
    network.residual[arc] = 0
    network.residual[network.reverse[arc]] = 1
    network.excess[tail] -= 1
    network.excess[head] += 1
    return head


@kernel
def _lowest_price(network: Network, step: Step, vertex: Index) -> tuple[Number, bool]:
    """Return the price of a vertex after a relabel, and whether it has residual arcs."""
    best = network.price[vertex]
    found = False
    for k in range(network.first[vertex], network.last[vertex]):
        if network.residual[k] != 0:
            price = network.price[np.uint64(network.head[k])] - network.cost[k]
            if not found or price > best:
                best = price
                found = True
    return best + _offset(step, vertex) - step.delta, found


@kernel
def start(network: Network, step: Step) -> None:
    """Set the flow and the prices from which the refine starts; they satisfy the invariant."""
    count = np.uint64(len(network.supply))
    if not step.keep_flow:
        for v in range(count):
            network.excess[v] = network.supply[v]
            for k in range(network.first[v], network.last[v]):
                network.residual[k] = network.forward[k]
        for v in range(step.rows):
            if network.supply[v] > 0:
                price, found = _lowest_price(network, step, v)
                if found:
                    network.price[v] = price
    for v in range(count):
        lowest = network.cost[ZERO] - network.cost[ZERO] if step.keep_flow else _offset(step, v) - step.delta
        network.current[v] = network.first[v]
        for k in range(network.first[v], network.last[v]):
            reduced = network.cost[k] + (network.price[v] - network.price[np.uint64(network.head[k])])
            if network.residual[k] != 0 and reduced < lowest:
                _send(network, v, k)


@kernel
def _unlink(network: Network, vertex: np.uint64) -> None:
    """Take a vertex out of its bucket."""
    following, previous = network.next[vertex], network.previous[vertex]
    if previous == NONE:
        network.bucket_first[network.bucket[vertex]] = following
    else:
        network.next[previous] = following
    if following != NONE:
        network.previous[following] = previous


@kernel
def _link(network: Network, vertex: Index, bucket: np.uint64) -> None:
    """Put a vertex into a bucket."""
    following = network.bucket_first[bucket]
    network.bucket[vertex] = bucket
    network.bucket_first[bucket] = vertex
    network.next[vertex] = following
    network.previous[vertex] = NONE
    if following != NONE:
        network.previous[following] = vertex


@kernel
def update_prices(network: Network, step: Step) -> np.uint64:
    """Lower prices by the distances to deficits (5.3), so that active vertices get admissible paths.

    This is Dijkstra's algorithm with buckets, from the deficits along reverse arcs. A distance is the number
    of deltas by which a price must fall.

    Returns the number of prices that are too low now, plus, if the buckets sufficed, the number of active
    vertices without a path to a deficit.
    """
    count = np.uint64(len(network.supply))
    # The last bucket. Computed in floats, since tiny costs give more steps than integers hold.
    end = np.uint64(min(np.float64(len(network.bucket_first) - 1), np.float64(-step.floor // step.delta)))
    scanned = end + ONE
    active = ZERO
    # Put the vertices with a deficit into bucket 0.
    for i in range(end + ONE):
        network.bucket_first[i] = NONE
    for v in range(count):
        network.bucket[v] = end
        if network.excess[v] < 0:
            _link(network, v, ZERO)
        elif network.excess[v] > 0:
            active += ONE
    # Scan the buckets in order.
    level = last = low = ZERO
    far = False
    while level < end:
        v = network.bucket_first[level]
        if v == NONE:
            if active == ZERO:  # the rest of this bucket had to be scanned: it is no farther
                break
            level += ONE
            continue
        _unlink(network, v)
        # A scanned vertex is in no list, so `next` stores its distance.
        network.bucket[v] = scanned
        network.next[v] = level
        last = level
        if network.excess[v] > 0:
            active -= ONE
        for k in range(network.first[v], network.last[v]):
            tail = np.uint64(network.head[k])
            arc = network.reverse[k]
            if network.residual[arc] == 0 or network.bucket[tail] == scanned:
                continue
            steps = network.cost[arc] + (network.price[tail] - network.price[v]) - _offset(step, tail)
            distance = steps // step.delta + 1
            if not distance < end - level:
                far = True
                continue
            bucket = level + np.uint64(max(distance, 0 * distance))
            if bucket < network.bucket[tail]:
                if network.bucket[tail] < end:
                    _unlink(network, tail)
                _link(network, tail, bucket)
    # Lower the prices; vertices that were not scanned fall by one step more than the farthest scanned one.
    for v in range(count):
        steps = network.next[v] if network.bucket[v] == scanned else last + ONE
        network.price[v] -= np.int64(steps) * step.delta
        network.current[v] = network.first[v]
        if network.price[v] < step.floor:
            low += ONE
    return low if far else low + active


@kernel
def refine(
    network: Network, step: Step, budget: np.uint64, again: bool, monitor: Monitor
) -> tuple[Int64, np.uint64]:
    """Push and relabel until no vertex is active, or for about `budget` relabels.

    `again` continues after the ending LATE instead of starting a refine. Return SOLVED, STOPPED, LATE or
    TOO_LOW, and the number of relabels.
    """
    stop, counts = monitor.stop, monitor.counts
    active, excess, current, price = network.active, network.excess, network.current, network.price
    count = np.uint64(len(network.supply))
    if not again:
        start(network, step)
    # List the active vertices.
    head: Any = ZERO
    waiting: Any = ZERO
    for i in range(count):
        if excess[i] > 0:
            active[waiting] = i
            waiting += ONE
    relabels = until_update = until_poll = ZERO
    ending = SOLVED
    while waiting > ZERO:
        # Take the newest or the oldest active vertex.
        waiting -= ONE
        if step.newest_first:
            place = head + waiting
            v = np.uint64(active[place - count if place >= count else place])
        else:
            v = np.uint64(active[head])
            head = head + ONE if head + ONE < count else ZERO
        while excess[v] > 0:
            # Find the first admissible arc.
            offset = _offset(step, v)
            arc = current[v]
            while arc < network.last[v]:
                reduced = network.cost[arc] + (price[v] - price[np.uint64(network.head[arc])])
                if network.residual[arc] != 0 and reduced < offset:
                    break
                arc += ONE
            counts[ARC_SCANS] += arc - current[v]
            until_poll += arc - current[v] + ONE
            current[v] = arc
            # There is none: relabel.
            if arc == network.last[v]:
                lowest, found = _lowest_price(network, step, v)
                counts[ARC_SCANS] += network.last[v] - network.first[v]
                until_poll += network.last[v] - network.first[v]
                counts[RELABELS] += ONE
                relabels += ONE
                until_update += ONE
                if not found or not step.floor < lowest < price[v]:
                    return TOO_LOW, relabels
                price[v] = lowest
                current[v] = network.first[v]
                continue
            # Push a unit.
            counts[PUSHES] += ONE
            w = _send(network, v, arc)
            if excess[w] == 1:
                if step.newest_first and excess[v] > 0:
                    place = head + waiting
                    active[place - count if place >= count else place] = v
                    waiting += ONE
                place = head + waiting
                active[place - count if place >= count else place] = w
                waiting += ONE
                if step.newest_first:
                    break
        if until_poll >= POLL:
            until_poll = ZERO
            if relaxed_load(stop, 0) != 0:
                ending = STOPPED
                break
        if relabels >= budget:
            ending = LATE
            break
        if step.updates and until_update >= count:
            until_update = ZERO
            counts[GLOBAL_RELABELS] += ONE
            if update_prices(network, step) > ZERO:
                return TOO_LOW, relabels
            until_poll = POLL
    return ending, relabels


@kernel
def fix_arcs(network: Network, bound: Number) -> np.uint64:
    """Leave out arcs of a complete flow whose reduced cost exceeds `bound` in size; return their number."""
    fixed = ZERO
    for v in range(np.uint64(len(network.supply))):
        k = network.first[v]
        while k < network.last[v]:
            head = np.uint64(network.head[k])
            if abs(network.cost[k] + (network.price[v] - network.price[head])) <= bound:
                k += ONE
                continue
            if network.forward[k] != 0 and network.residual[k] == 0:
                network.supply[v] -= 1
                network.supply[head] += 1
            network.last[v] -= ONE
            _swap(network, k, network.last[v])
            fixed += ONE
    return fixed


@kernel
def _swap(network: Network, one: np.uint64, other: np.uint64) -> None:
    """Exchange two arcs of one vertex."""
    network.head[one], network.head[other] = network.head[other], network.head[one]
    network.cost[one], network.cost[other] = network.cost[other], network.cost[one]
    network.forward[one], network.forward[other] = network.forward[other], network.forward[one]
    network.residual[one], network.residual[other] = network.residual[other], network.residual[one]
    network.reverse[one], network.reverse[other] = network.reverse[other], network.reverse[one]
    network.reverse[network.reverse[one]] = one
    network.reverse[network.reverse[other]] = other
