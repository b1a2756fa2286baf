"""Maximum flows between many pairs of vertices of one network.

Dinic's method ("Algorithm for solution of a problem of maximum flow in networks with power estimation",
Soviet Mathematics Doklady 11, 1970), with terminals that are ordinary vertices: source and sink change from
flow to flow, and the network stays. Only the arcs that a flow has changed are set back after it. Labels
carry the number of their search, so that no search has to clear them. A flow ends as soon as its value
reaches a limit. A pair of vertices that are near each other, or have a small cut around the sink, costs some
microseconds, whatever the size of the network.

::

    repeat:
        label vertices by their distance to the sink, until a source has a label       label_backwards
        no source has one: the labelled vertices are the sink side, stop
        augment along arcs that lead down by one label, depth first                    push_along_path

Where any minimum cut will do, the search begins at both ends, and takes a small part of most networks: on a
scale-free one both searches soon reach the hubs (Bläsius, Friedrich and Weyand, "Efficiently Computing
Maximum Flows in Scale-Free Networks", ESA 2021). A flow that fills all arcs of one end is maximum without a
search::

    until the flow is as large as the capacity of all arcs of one end:
        search level by level from source and sink, always where fewer arcs wait       augment_both_ends
            where an arc joins the two searches: augment along paths through it, as
            long as levels lead from it back to the source and on to the sink          push_through
        one search has ended: it has found one side of a minimum cut, stop

"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.pieces import run_pieces
from ..solving.dispatch import most_threads
from ..solving.run import Control, run_interruptibly

#: Positions of the numbers in ``Work.counters``.
LABEL_OF_SINK, NUM_CHANGED, LABEL_OF_SOURCE, NUM_REACHED, SCANNED, MOST_SCANS = range(6)
#: What a search from both ends has found: paths, one side of a minimum cut, or that it took too many scans.
PATHS, SOURCE_SIDE, SINK_SIDE, TOO_LONG = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
#: The number of scans that no search makes.
NO_LIMIT = np.uint64(2**64 - 1)
#: With fewer pairs than this, which take about 10 ms, starting threads would take longer than it saves.
PAIRS_FOR_THREADS = 2000
#: The number of pairs between two reports of progress.
PAIRS_AT_ONCE = 100


class PairNetwork(NamedTuple):
    """A network whose source and sink are not fixed."""

    #: shape (n + 1,): the arcs of vertex ``v`` are ``first[v] .. first[v + 1] - 1``
    first: NDArray[np.int64]
    #: uint32, shape (m,): head of an arc, and the index of its opposite
    head: Indices
    reverse: Indices
    capacity: NDArray[np.int64]  #: shape (m,)
    residual: NDArray[np.int64]  #: shape (m,): equal to `capacity` between two flows


class Work(NamedTuple):
    """Memory of the searches."""

    #: shape (n,): the distance to the sink, plus the label of the sink in this search. Smaller labels are
    #: old.
    label: NDArray[np.uint64]
    current: NDArray[np.int64]  #: shape (n,)
    is_source: NDArray[np.bool_]  #: shape (n,): False everywhere between two flows
    #: uint32, shape (n,): the queue of a search, from the source if there are two; that of the search from
    #: the sink; and the arcs of a path
    queue: Indices
    sink_queue: Indices
    path: Indices
    changed: Indices  #: uint32, shape (m,): arcs whose residual capacity a flow has changed
    #: shape (6,): the label of the sink; the number of changed arcs, m + 1 if there was no room for them; the
    #: label of the source in the last search from both ends; how many vertices its side of a cut has; the
    #: arcs that searches from both ends have scanned; and at how many they give up
    counters: NDArray[np.uint64]
    #: shape (n,): the distance from the source, plus the label of the source in the last search from both
    #: ends; or the distance to the sink, plus that label and n
    reached: NDArray[np.uint64]
    #: uint32, shape (n,): the arc by which this search reached a vertex; m if `current` has its next arc
    arc_by: Indices


def make_network(num_vertices: int, tail: Array, head: Array, forward: Array, backward: Array) -> PairNetwork:
    """Return the network of arcs with capacities in both directions; parallel arcs are merged.

    All arrays have one entry an arc; ends are integers, capacities int64, and their sums fit int64. Loops are
    left out.
    """
    from scipy.sparse import coo_array, csr_array

    proper = tail != head
    tail, head = tail[proper].astype(np.int64), head[proper].astype(np.int64)
    capacities = np.concatenate([forward[proper], backward[proper]])
    shape = num_vertices, num_vertices
    ends = np.concatenate([tail, head]), np.concatenate([head, tail])
    rows = coo_array((capacities, ends), shape=shape).tocsr()
    # Each arc has an opposite, so the transposed numbers of arcs have the same rows.
    numbers = np.arange(len(rows.data))
    reverse = csr_array((numbers, rows.indices, rows.indptr), shape=shape).T.tocsr().data
    first, heads = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32)
    return PairNetwork(first, heads, reverse.astype(np.uint32), rows.data, rows.data.copy())


def make_work(network: PairNetwork) -> Work:
    """Return memory for searches in a network."""
    n, m = len(network.first) - 1, len(network.head)
    counters = np.zeros(6, dtype=np.uint64)
    counters[MOST_SCANS] = NO_LIMIT
    return Work(
        label=np.zeros(n, dtype=np.uint64),
        current=np.zeros(n, dtype=np.int64),
        is_source=np.zeros(n, dtype=bool),
        queue=np.zeros(n, dtype=np.uint32),
        sink_queue=np.zeros(n, dtype=np.uint32),
        path=np.zeros(n, dtype=np.uint32),
        changed=np.zeros(m, dtype=np.uint32),
        counters=counters,
        reached=np.zeros(n, dtype=np.uint64),
        arc_by=np.zeros(n, dtype=np.uint32),
    )


@kernel
def set_back(net: PairNetwork, work: Work) -> None:
    """Make the residual capacities those without flow."""
    changed, counters = work.changed, work.counters
    if counters[NUM_CHANGED] > np.uint64(len(changed)):
        for i in range(len(net.residual)):
            net.residual[i] = net.capacity[i]
    else:
        for k in range(counters[NUM_CHANGED]):
            a = np.uint64(changed[k])
            b = np.uint64(net.reverse[a])
            net.residual[a] = net.capacity[a]
            net.residual[b] = net.capacity[b]
    counters[NUM_CHANGED] = ZERO


@kernel
def label_backwards(net: PairNetwork, work: Work, sink: np.uint64) -> np.uint64:
    """Label vertices by distance to the sink until a source has a label; return this source, n for none."""
    label, queue = work.label, work.queue
    n = np.uint64(len(label))
    base = work.counters[LABEL_OF_SINK] + n + ONE
    work.counters[LABEL_OF_SINK] = base
    label[sink] = base
    queue[ZERO] = sink
    begin, end = ZERO, ONE
    while begin < end:
        v = np.uint64(queue[begin])
        begin += ONE
        following = label[v] + ONE
        for k in range(net.first[v], net.first[v + ONE]):
            a = np.uint64(k)
            w = np.uint64(net.head[a])
            if label[w] < base and net.residual[net.reverse[a]] > 0:
                label[w] = following
                work.current[w] = net.first[w]
                if work.is_source[w]:
                    return w
                queue[end] = w
                end += ONE
    return n


@kernel
def push_over(net: PairNetwork, work: Work, a: np.uint64, amount: Int64) -> None:
    """Push an amount over an arc, and note that it has changed."""
    changed, counters = work.changed, work.counters
    room = np.uint64(len(changed))
    if net.residual[a] == net.capacity[a] and counters[NUM_CHANGED] <= room:
        if counters[NUM_CHANGED] < room:
            changed[counters[NUM_CHANGED]] = a
        counters[NUM_CHANGED] += ONE
    net.residual[a] -= amount
    net.residual[net.reverse[a]] += amount


@kernel
def push_along_path(net: PairNetwork, work: Work, depth: np.uint64, most: Int64) -> tuple[Int64, np.uint64]:
    """Push at most `most` over the arcs of the path; return the amount and where the first full arc is."""
    path, amount = work.path, most
    for i in range(depth):
        amount = min(amount, net.residual[path[i]])
    full = depth
    for step in range(depth):
        k = depth - ONE - np.uint64(step)
        a = np.uint64(path[k])
        push_over(net, work, a, amount)
        if net.residual[a] == 0:
            full = k
    return amount, full


@kernel
def flow_from_sources(
    net: PairNetwork, work: Work, sink: np.uint64, limit: Int64, stop: NDArray[np.int64]
) -> tuple[Int64, bool]:
    """Find a maximum flow from the vertices in ``work.is_source``, on a residual network without flow.

    Return its value, and False where it was stopped, or reached `limit` first. Of a maximum flow, the sink
    side has the vertices with labels of at least ``work.counters[0]``.
    """
    label, current, path = work.label, work.current, work.path
    total = np.int64(0)
    while total < limit and relaxed_load(stop, 0) == 0:
        source = label_backwards(net, work, sink)
        if source == np.uint64(len(label)):
            return total, True
        v = source
        depth = ZERO
        while total < limit:
            if v == sink:
                amount, depth = push_along_path(net, work, depth, limit - total)
                total += amount
                if total < limit:
                    v = np.uint64(net.head[net.reverse[path[depth]]])
                continue
            # Look for an arc that leads down by one label.
            k = current[v]
            last = net.first[v + ONE]
            while k < last:
                a = np.uint64(k)
                if net.residual[a] > 0 and label[net.head[a]] + ONE == label[v]:
                    break
                k += 1
            current[v] = k
            if k < last:
                path[depth] = k
                v = np.uint64(net.head[k])
                depth += ONE
            elif depth == ZERO:
                break
            else:
                depth -= ONE
                v = np.uint64(net.head[net.reverse[path[depth]]])
                current[v] += 1
    return total, False


@kernel
def arc_to_end(net: PairNetwork, work: Work, v: np.uint64, to_sink: bool) -> np.uint64:
    """Return an arc between `v` and the level before it, towards the end of its search; m if all are full."""
    current, reached, none = work.current, work.reached, np.uint64(len(net.head))
    a = np.uint64(work.arc_by[v])
    if a < none:
        if net.residual[a] > 0:
            return a
        work.arc_by[v] = none
        current[v] = net.first[v]
    before, found = reached[v] - ONE, none
    k, last = current[v], net.first[v + ONE]
    while k < last and found == none:
        if reached[net.head[np.uint64(k)]] == before:
            a = np.uint64(k) if to_sink else np.uint64(net.reverse[np.uint64(k)])
            if net.residual[a] > 0:
                found = a
                break
        k += 1
    work.counters[SCANNED] += np.uint64(k - current[v])
    current[v] = k
    return found


@kernel
def lengthen(net: PairNetwork, work: Work, v: np.uint64, depth: np.uint64, to_sink: bool) -> np.uint64:
    """Lengthen a path from `v` to the end of its search; return its number of arcs, 0 if there is no way."""
    path, begin = work.path, depth
    n, none = np.uint64(len(work.reached)), np.uint64(len(net.head))
    end = work.counters[LABEL_OF_SOURCE] + (n if to_sink else ZERO)
    while work.reached[v] != end:
        a = arc_to_end(net, work, v, to_sink)
        if a < none:
            path[depth] = a
            depth += ONE
            v = np.uint64(net.head[a] if to_sink else net.head[net.reverse[a]])
        elif depth == begin:
            return ZERO
        else:
            # The arc leads where no path goes on.
            depth -= ONE
            a = np.uint64(path[depth])
            v = np.uint64(net.head[net.reverse[a]] if to_sink else net.head[a])
            if work.arc_by[v] < none:
                work.arc_by[v] = none
                work.current[v] = net.first[v]
            else:
                work.current[v] += 1
    return depth


@kernel
def push_through(net: PairNetwork, work: Work, met: np.uint64, most: Int64) -> Int64:
    """Push at most `most` along paths through an arc between both searches; return the amount."""
    total = np.int64(0)
    while total < most and net.residual[met] > 0:
        work.path[ZERO] = met
        depth = lengthen(net, work, np.uint64(net.head[net.reverse[met]]), ONE, False)
        if depth > ZERO:
            depth = lengthen(net, work, np.uint64(net.head[met]), depth, True)
        if depth == ZERO:
            break
        amount, _ = push_along_path(net, work, depth, most - total)
        total += amount
    return total


@kernel
def augment_both_ends(
    net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64, most: Int64
) -> tuple[Int64, np.uint64]:
    """Search from both ends until an arc joins them, and push at most `most` along the paths of that level.

    Return the amount, and what was found. The source side is in ``work.queue``, the sink side in
    ``work.sink_queue``. The search is given up once it has scanned as many arcs as it may.
    """
    counters = work.counters
    reached, arc_by = work.reached, work.arc_by
    source_queue, sink_queue = work.queue, work.sink_queue
    n = np.uint64(len(reached))
    label = counters[LABEL_OF_SOURCE] + n + n
    label_of_sink = label + n
    counters[LABEL_OF_SOURCE] = label
    reached[source], reached[sink] = label, label_of_sink
    source_queue[ZERO], sink_queue[ZERO] = source, sink
    begin, end = ZERO, ONE
    sink_begin, sink_end = ZERO, ONE
    # How many arcs the vertices have from which the searches go on.
    waiting = net.first[source + ONE] - net.first[source]
    sink_waiting = net.first[sink + ONE] - net.first[sink]
    pushed = np.int64(0)
    while pushed == 0:
        if begin == end or sink_begin == sink_end:
            counters[NUM_REACHED] = end if begin == end else sink_end
            return pushed, SOURCE_SIDE if begin == end else SINK_SIDE
        # One level on from the source, or back from the sink.
        forward = waiting <= sink_waiting
        queue, own = (source_queue, label) if forward else (sink_queue, label_of_sink)
        level, last = (begin, end) if forward else (sink_begin, sink_end)
        size, arcs = last, np.int64(0)
        while level < last:
            v = np.uint64(queue[level])
            level += ONE
            if counters[SCANNED] >= counters[MOST_SCANS]:
                return pushed, TOO_LONG
            counters[SCANNED] += np.uint64(net.first[v + ONE] - net.first[v])
            for k in range(net.first[v], net.first[v + ONE]):
                a = np.uint64(k)
                w = np.uint64(net.head[a])
                if own <= reached[w] < own + n:
                    continue
                a = a if forward else np.uint64(net.reverse[a])
                if net.residual[a] == 0:
                    continue
                if reached[w] >= label:
                    pushed += push_through(net, work, a, most - pushed)
                    if pushed == most:
                        return pushed, PATHS
                    if lengthen(net, work, v, ONE, not forward) == ZERO:
                        break  # no more flow can pass `v`
                elif pushed == 0:
                    reached[w] = reached[v] + ONE
                    arc_by[w] = a
                    queue[size] = w
                    size += ONE
                    arcs += net.first[w + ONE] - net.first[w]
        if forward:
            begin, end, waiting = last, size, arcs
        else:
            sink_begin, sink_end, sink_waiting = last, size, arcs
    return pushed, PATHS


@kernel
def capacity_at(net: PairNetwork, v: np.uint64, into: bool) -> Int64:
    """Return the capacity of all arcs into a vertex, or out of it."""
    total = np.int64(0)
    for k in range(net.first[v], net.first[v + ONE]):
        total += net.capacity[net.reverse[np.uint64(k)] if into else np.uint64(k)]
    return total


@kernel
def flow_both_ends(
    net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64, limit: Int64, stop: NDArray[np.int64]
) -> tuple[Int64, np.uint64]:
    """Find a flow of at most `limit`; return its value, and which side of a minimum cut was found, if any.

    A flow from a search that took too many scans, or was stopped, may be less than both.
    """
    total, found = np.int64(0), PATHS
    while total < limit and found == PATHS and relaxed_load(stop, 0) == 0:
        pushed, found = augment_both_ends(net, work, source, sink, limit - total)
        total += pushed
    return total, found


@kernel
def flow_between(
    net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64, begun: Int64, stop: NDArray[np.int64]
) -> tuple[Int64, np.uint64]:
    """Go on from a flow of value `begun` to a maximum flow.

    Return the value, and which side of a minimum cut was found; TOO_LONG if the search was given up, or
    stopped. A sink side that was found is the smallest one, a source side as well.
    """
    counters = work.counters
    out, into = capacity_at(net, source, False), capacity_at(net, sink, True)
    pushed, found = flow_both_ends(net, work, source, sink, min(out, into) - begun, stop)
    value = begun + pushed
    if found == PATHS:
        if value < min(out, into):
            return value, TOO_LONG
        # The flow fills all arcs of one end.
        found = SINK_SIDE if value == into else SOURCE_SIDE
        counters[NUM_REACHED] = ONE
        work.sink_queue[ZERO], work.queue[ZERO] = sink, source
    return value, found


@kernel
def mark_sink_side(work: Work, side: NDArray[np.bool_]) -> None:
    """Write which vertices the last search has labelled."""
    base = work.counters[LABEL_OF_SINK]
    for v in range(len(side)):
        side[v] = work.label[v] >= base


@kernel
def least_flow(
    net: PairNetwork,
    work: Work,
    pairs: NDArray[np.int64],
    best: Int64,
    side: NDArray[np.bool_],
    stop: NDArray[np.int64],
) -> tuple[Int64, Int64]:
    """Find the pair with the least maximum flow, if that is below `best`; `side` gets its sink side.

    `pairs` has the sources in its first row, the sinks in its second. Return the least value, and the number
    of the pair, -1 if no flow is below `best`.
    """
    found = np.int64(-1)
    for k in range(pairs.shape[1]):
        if relaxed_load(stop, 0) != 0:
            break
        source, sink = np.uint64(pairs[0, k]), np.uint64(pairs[1, k])
        value, side_found = flow_both_ends(net, work, source, sink, best, stop)
        if side_found != PATHS and value < best:
            best, found = value, np.int64(k)
            label_backwards(net, work, sink)
            mark_sink_side(work, side)
        set_back(net, work)
    return best, found


@kernel
def pair_values(
    net: PairNetwork,
    work: Work,
    pairs: NDArray[np.int64],
    limits: NDArray[np.int64],
    values: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> None:
    """Write the value of a maximum flow of each pair, at most its limit, until the search is stopped.

    `pairs` has the sources in its first row, the sinks in its second.
    """
    for k in range(pairs.shape[1]):
        if relaxed_load(stop, 0) != 0:
            break
        source, sink = np.uint64(pairs[0, k]), np.uint64(pairs[1, k])
        most = min(limits[k], capacity_at(net, source, False), capacity_at(net, sink, True))
        value, found = flow_both_ends(net, work, source, sink, most, stop)
        set_back(net, work)
        if found != PATHS or value == most:
            values[k] = value


def values_of_pairs(
    network: PairNetwork, pairs: NDArray[np.int64], limits: NDArray[np.int64], threads: int | None = None
) -> NDArray[np.int64]:
    """Return the value of a maximum flow of each pair, at most its limit; many pairs by several threads.

    `pairs` has the sources in its first row, the sinks in its second.
    """
    control = Control()
    return run_interruptibly(lambda: values_until(network, pairs, limits, control, threads), control)


def values_until(
    network: PairNetwork,
    pairs: NDArray[np.int64],
    limits: NDArray[np.int64],
    control: Control,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Do as :func:`values_of_pairs` in this thread until `control` says stop; pairs left over get -1."""
    values = np.full(pairs.shape[1], -1, dtype=np.int64)
    most = most_threads(threads)
    used = most if len(values) >= PAIRS_FOR_THREADS else 1
    control.progress[:] = max(len(values), 1)
    done: list[int] = []

    def solve(begin: int, end: int) -> None:
        own = network._replace(residual=network.capacity.copy())
        work = make_work(own)
        for first in range(begin, end, PAIRS_AT_ONCE):
            last = min(first + PAIRS_AT_ONCE, end)
            block = np.ascontiguousarray(pairs[:, first:last])
            pair_values(own, work, block, limits[first:last], values[first:last], control.stop)
            done.append(last - first)
            control.progress[0] = len(values) - sum(done)

    run_pieces(solve, len(values), used)
    return values


def flow_of_pair(network: PairNetwork, source: int, sink: int, limit: int) -> tuple[int, NDArray[np.bool_]]:
    """Find a flow of at most `limit`, and leave it in the network; return its value and its sink side.

    A flow below `limit` is maximum, and its sink side is that of a minimum cut.
    """
    control, work = Control(), make_work(network)
    ends = np.uint64(source), np.uint64(sink)
    value, found = run_interruptibly(
        lambda: flow_both_ends(network, work, *ends, np.int64(limit), control.stop), control
    )
    from_source = work.reached - work.counters[LABEL_OF_SOURCE] < len(work.reached)
    from_sink = work.reached >= work.counters[LABEL_OF_SOURCE] + np.uint64(len(work.reached))
    return int(value), ~from_source if found == SOURCE_SIDE else from_sink


@kernel
def join_to_sources(
    net: PairNetwork,
    work: Work,
    order: NDArray[np.int64],
    best: Int64,
    side: NDArray[np.bool_],
    stop: NDArray[np.int64],
) -> Int64:
    """Make vertices sources in an order, each after a flow from all sources before; return the least flow.

    No flow goes on past `best`. If one is less, `side` gets its sink side.
    """
    work.is_source[order[0]] = True
    for k in range(1, len(order)):
        v = np.uint64(order[k])
        value, maximum = flow_from_sources(net, work, v, best, stop)
        if maximum and value < best:
            best = value
            mark_sink_side(work, side)
        set_back(net, work)
        work.is_source[v] = True
    for k in range(len(order)):
        work.is_source[order[k]] = False
    return best


class Groups(NamedTuple):
    """A tree whose children are in groups, so that another vertex gets many children at once."""

    #: shape (n,): the group of a vertex as a child, n for the root
    group: NDArray[np.int64]
    children: NDArray[np.int64]  #: shape (n,): the group of its children
    owner: NDArray[np.int64]  #: shape (n + 1,): the parent of a group


@kernel
def gusfield(
    net: PairNetwork,
    work: Work,
    tree: Groups,
    degree: NDArray[np.int64],
    value: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> None:
    """Compute a cut tree of an undirected network: see :func:`preflow.gomory_hu_tree`.

    On entry, all vertices are children of the root, vertex 0. A step looks at the vertices of one side of the
    cut only, that which the search has found.
    """
    group, children, owner = tree
    reached, n = work.reached, np.uint64(len(value))
    for v in range(n):
        degree[v] = capacity_at(net, np.uint64(v), False)
    for i in range(ONE, n):
        if relaxed_load(stop, 0) != 0:
            return
        p = np.uint64(owner[group[i]])
        limit = min(degree[i], degree[p])
        flow, found = flow_both_ends(net, work, np.uint64(i), p, limit, stop)
        set_back(net, work)
        value[i] = flow
        if found == PATHS:
            # One end alone is a side. The sink if possible, so that the next flows end at vertex i: in many
            # networks, neighbours have numbers near each other.
            work.counters[LABEL_OF_SOURCE] += n + n
            work.counters[NUM_REACHED] = ONE
            found = SINK_SIDE if degree[p] == limit else SOURCE_SIDE
            if found == SINK_SIDE:
                reached[p], work.sink_queue[ZERO] = work.counters[LABEL_OF_SOURCE] + n, p
            else:
                reached[i], work.queue[ZERO] = work.counters[LABEL_OF_SOURCE], i
        label = work.counters[LABEL_OF_SOURCE]
        # Vertex i has no children yet. It gets those of p on its side.
        old = children[p]
        if found == SOURCE_SIDE:
            for k in range(work.counters[NUM_REACHED]):
                j = np.uint64(work.queue[k])
                if group[j] == old and j != i:
                    group[j] = children[i]
            p_moves = label <= reached[owner[group[p]]] < label + n
        else:
            children[p], children[i] = children[i], old
            owner[old], owner[children[p]] = i, p
            group[i] = children[p]
            for k in range(work.counters[NUM_REACHED]):
                j = np.uint64(work.sink_queue[k])
                if group[j] == old:
                    group[j] = children[p]
            p_moves = reached[owner[group[p]]] < label + n
        if p_moves:
            group[i], group[p] = group[p], children[i]
            value[i], value[p] = value[p], value[i]


def cut_tree(network: PairNetwork, control: Control) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parents of a cut tree with root 0, and the values of its edges."""
    n = len(network.first) - 1
    degree, value = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    tree = Groups(np.zeros(n, dtype=np.int64), np.arange(n), np.append(np.arange(n), 0))
    tree.group[0] = n
    gusfield(network, make_work(network), tree, degree, value, control.stop)
    return tree.owner[tree.group], value
