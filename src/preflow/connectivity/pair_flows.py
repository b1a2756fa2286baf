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

Where only the value counts, and the limit is about the degree of a vertex, most time would go into labels of
vertices far from both ends. Then each path is found from both ends::

    repeat:
        search level by level from source and sink, always where fewer vertices wait   search_both_ends
        one search has ended: the flow is maximum, stop
        augment along the path through the arc where the searches met                  push_through

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
LABEL_OF_SINK, NUM_CHANGED, NUM_SEARCHES = 0, 1, 2
#: With fewer pairs than this, which take about 10 ms, starting threads would take longer than it saves.
PAIRS_FOR_THREADS = 2000


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
    #: uint32, shape (n,): the queue of a search, from the source if there are two; the arcs of a path, or the
    #: queue of the search from the sink
    queue: Indices
    path: Indices
    changed: Indices  #: uint32, shape (m,): arcs whose residual capacity a flow has changed
    #: shape (3,): the label of the sink; the number of changed arcs, m + 1 if there was no room for them; and
    #: how many searches from both ends there were
    counters: NDArray[np.uint64]
    #: shape (n,): the number of the last search from both ends that reached a vertex from the source, or from
    #: the sink
    from_source: NDArray[np.uint64]
    to_sink: NDArray[np.uint64]
    #: uint32, shape (n,): the arc by which it did
    arc_in: Indices
    arc_out: Indices


def make_network(num_vertices: int, tail: Array, head: Array, forward: Array, backward: Array) -> PairNetwork:
    """Return the network of arcs with capacities in both directions; parallel arcs are merged.

    All arrays have one entry an arc; ends are integers, capacities int64, and their sums fit int64. Loops are
    left out.
    """
    n = num_vertices
    tails = np.concatenate([tail, head]).astype(np.int64)
    heads = np.concatenate([head, tail]).astype(np.int64)
    capacities = np.concatenate([forward, backward])
    proper = tails != heads
    key, capacities = (tails * n + heads)[proper], capacities[proper]
    order = np.argsort(key, kind="stable")
    key, capacities = key[order], capacities[order]
    begins = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, np.int64)
    key = key[begins]
    merged = np.add.reduceat(capacities, begins) if len(key) else capacities
    tails, heads = key // max(n, 1), key % max(n, 1)
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=first[1:])
    reverse = np.searchsorted(key, heads * n + tails)
    return PairNetwork(first, heads.astype(np.uint32), reverse.astype(np.uint32), merged, merged.copy())


def make_work(network: PairNetwork) -> Work:
    """Return memory for searches in a network."""
    n, m = len(network.first) - 1, len(network.head)
    return Work(
        label=np.zeros(n, dtype=np.uint64),
        current=np.zeros(n, dtype=np.int64),
        is_source=np.zeros(n, dtype=bool),
        queue=np.zeros(n, dtype=np.uint32),
        path=np.zeros(n, dtype=np.uint32),
        changed=np.zeros(m, dtype=np.uint32),
        counters=np.zeros(3, dtype=np.uint64),
        from_source=np.zeros(n, dtype=np.uint64),
        to_sink=np.zeros(n, dtype=np.uint64),
        arc_in=np.zeros(n, dtype=np.uint32),
        arc_out=np.zeros(n, dtype=np.uint32),
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
def pair_flow(
    net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64, limit: Int64, stop: NDArray[np.int64]
) -> tuple[Int64, bool]:
    """Find a maximum flow between two vertices: see `flow_from_sources`."""
    work.is_source[source] = True
    value, maximum = flow_from_sources(net, work, sink, limit, stop)
    work.is_source[source] = False
    return value, maximum


@kernel
def search_both_ends(net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64) -> np.uint64:
    """Find a path; return the arc where the searches from its ends met, the number of arcs for none."""
    from_source, to_sink = work.from_source, work.to_sink
    source_queue, sink_queue = work.queue, work.path
    number = work.counters[NUM_SEARCHES] + ONE
    work.counters[NUM_SEARCHES] = number
    from_source[source] = number
    to_sink[sink] = number
    source_queue[ZERO] = source
    sink_queue[ZERO] = sink
    begin, end = ZERO, ONE
    sink_begin, sink_end = ZERO, ONE
    while begin < end and sink_begin < sink_end:
        if end - begin <= sink_end - sink_begin:
            # One level on from the source.
            last = end
            while begin < last:
                v = np.uint64(source_queue[begin])
                begin += ONE
                for k in range(net.first[v], net.first[v + ONE]):
                    a = np.uint64(k)
                    w = np.uint64(net.head[a])
                    if from_source[w] == number or net.residual[a] == 0:
                        continue
                    if to_sink[w] == number:
                        return a
                    from_source[w] = number
                    work.arc_in[w] = a
                    source_queue[end] = w
                    end += ONE
        else:
            # One level back from the sink.
            last = sink_end
            while sink_begin < last:
                v = np.uint64(sink_queue[sink_begin])
                sink_begin += ONE
                for k in range(net.first[v], net.first[v + ONE]):
                    a = np.uint64(k)
                    w = np.uint64(net.head[a])
                    if to_sink[w] == number:
                        continue
                    a = np.uint64(net.reverse[a])
                    if net.residual[a] == 0:
                        continue
                    if from_source[w] == number:
                        return a
                    to_sink[w] = number
                    work.arc_out[w] = a
                    sink_queue[sink_end] = w
                    sink_end += ONE
    return np.uint64(len(net.head))


@kernel
def push_through(
    net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64, met: np.uint64, most: Int64
) -> Int64:
    """Push at most `most` along the path through the arc `met`; return the amount."""
    path, depth = work.path, ONE
    path[ZERO] = met
    v = np.uint64(net.head[net.reverse[met]])
    while v != source:
        a = np.uint64(work.arc_in[v])
        path[depth] = a
        depth += ONE
        v = np.uint64(net.head[net.reverse[a]])
    v = np.uint64(net.head[met])
    while v != sink:
        a = np.uint64(work.arc_out[v])
        path[depth] = a
        depth += ONE
        v = np.uint64(net.head[a])
    amount, _ = push_along_path(net, work, depth, most)
    return amount


@kernel
def short_paths_flow(
    net: PairNetwork, work: Work, source: np.uint64, sink: np.uint64, limit: Int64, stop: NDArray[np.int64]
) -> tuple[Int64, bool]:
    """Find a maximum flow path by path: see `flow_from_sources`; no vertex has a label after it."""
    total = np.int64(0)
    while total < limit and relaxed_load(stop, 0) == 0:
        met = search_both_ends(net, work, source, sink)
        if met == np.uint64(len(net.head)):
            return total, True
        total += push_through(net, work, source, sink, met, limit - total)
    return total, False


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
        value, maximum = short_paths_flow(net, work, source, sink, best, stop)
        if maximum and value < best:
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
    """Write the value of a maximum flow of each pair, at most its limit.

    `pairs` has the sources in its first row, the sinks in its second.
    """
    for k in range(pairs.shape[1]):
        if relaxed_load(stop, 0) != 0:
            break
        source, sink = np.uint64(pairs[0, k]), np.uint64(pairs[1, k])
        values[k], _ = short_paths_flow(net, work, source, sink, limits[k], stop)
        set_back(net, work)


def values_of_pairs(
    network: PairNetwork, pairs: NDArray[np.int64], limits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the value of a maximum flow of each pair, at most its limit; many pairs by several threads.

    `pairs` has the sources in its first row, the sinks in its second.
    """
    control = Control()
    values = np.zeros(pairs.shape[1], dtype=np.int64)
    threads = most_threads(None) if len(values) >= PAIRS_FOR_THREADS else 1

    def solve(begin: int, end: int) -> None:
        own = network._replace(residual=network.capacity.copy())
        block = np.ascontiguousarray(pairs[:, begin:end])
        pair_values(own, make_work(own), block, limits[begin:end], values[begin:end], control.stop)

    run_interruptibly(lambda: run_pieces(solve, len(values), threads), control)
    return values


def flow_of_pair(network: PairNetwork, source: int, sink: int, limit: int) -> tuple[int, NDArray[np.bool_]]:
    """Find a flow of at most `limit`, and leave it in the network; return its value and its sink side.

    A flow below `limit` is maximum, and its sink side is that of a minimum cut.
    """
    control, work = Control(), make_work(network)
    side = np.zeros(len(work.label), dtype=bool)

    def solve() -> int:
        ends = np.uint64(source), np.uint64(sink)
        value, _ = pair_flow(network, work, *ends, np.int64(limit), control.stop)
        mark_sink_side(work, side)
        return int(value)

    return run_interruptibly(solve, control), side


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


@kernel
def gusfield(
    net: PairNetwork, work: Work, parent: NDArray[np.int64], value: NDArray[np.int64], stop: NDArray[np.int64]
) -> None:
    """Compute a cut tree: see :func:`preflow.gomory_hu_tree`; `parent` is 0 everywhere on entry."""
    label = work.label
    n = len(parent)
    most = np.int64(np.iinfo(np.int64).max)
    for i in range(1, n):
        if relaxed_load(stop, 0) != 0:
            return
        p = parent[i]
        value[i], _ = pair_flow(net, work, np.uint64(i), np.uint64(p), most, stop)
        base = work.counters[LABEL_OF_SINK]
        for j in range(n):
            if j != i and parent[j] == p and label[j] < base:
                parent[j] = i
        if label[parent[p]] < base:
            parent[i] = parent[p]
            parent[p] = i
            value[i], value[p] = value[p], value[i]
        set_back(net, work)
