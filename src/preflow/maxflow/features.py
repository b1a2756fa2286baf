"""Features of a network by which a method is chosen, judged from a sample of its arcs.

An arc of a large network is read from memory, so samples are as small as decisions allow: reading 4,096 ends
took a tenth of short solves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64, Number, Numbers
from ..graph.network import FlowNetwork
from ..kernels.atomics import prefetch
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel

#: Most arcs are never saturated if the median capacity is at least this multiple of the first decile, in a
#: sample of FEW_CAPACITIES. It is 107 to 26,000 times the decile on rmf networks, at most 48 times on all
#: others measured (traps that have two capacities left out), for all places where the sample may begin.
#: Then the trees of serial-pseudoflow are deep.
SELDOM_SATURATED, FEW_CAPACITIES = 70, 256
#: How many arcs are looked at to find an energy on a plane, and hubs.
ARCS_FOR_PLANES, ARCS = 256, 512
#: A network has hubs if pairs of ends in the sample meet at a vertex OFTEN times as often as random ends.
#: Two vertices do not count: a source and a sink often have many arcs. In RMAT graphs of 0.1 to 4 million
#: arcs it is 8 to 33 times, at most 1.9 times in all other networks measured. A few pairs may be chance.
OFTEN, FEWEST_PAIRS = 4, 16
#: How many arcs ahead of the one that is counted are fetched from memory.
AHEAD = np.uint64(16)
#: In an energy on a plane at least this share of the vertices has an arc at a terminal, and there are at most
#: this many other arcs a vertex: 2 in an image with four neighbours, 1.5 on the triangles of a surface, 3 in
#: volumes with six and in triangulations.
AT_TERMINALS, OTHERS_A_VERTEX = 0.5, 2.5
#: How many arcs are looked at for the medians of energies.
ARCS_FOR_MEDIANS = 1024
#: Ends at terminals that are expected in a first, smaller sample of an energy that has as few as possible.
#: With less than half of them a network is none, and nothing else is looked at.
ENDS_EXPECTED = 24
#: In a clear energy on a plane the median capacity of the other arcs is at most the first multiple of that of
#: the arcs at terminals; elsewhere their first decile, times their number a vertex, is at most the second.
#: Solved as grids, 45 such networks took 0.53 to 1.05 of the time, and one 1.13. Of 81 others 49 took longer,
#: up to 2.2 times; but photographs with 8 neighbours took 0.4 to 0.8 of it.
CLEAR_ON_A_PLANE, CLEAR = 7.0, 3.5
#: Share of those other arcs that must have the same capacity both ways.
SYMMETRIC = 0.9


def middle(values: Array) -> Number:
    """Return the upper median, which takes a tenth of the time of NumPy's median of so few numbers."""
    half = len(values) // 2
    return np.partition(values, half)[half]


def seldom_saturated(capacity: Array, *, infinite: bool = True) -> bool:
    """Whether most arcs have so much more capacity than others that no flow saturates them.

    `infinite`: whether arcs of infinite capacity count.
    """
    step = max(1, len(capacity) // FEW_CAPACITIES)
    if not infinite:
        capacity, step = capacity[::step], 1
        capacity = capacity[np.isfinite(capacity)]
    low, median = decile_and_median(capacity, step, np.empty(-(-len(capacity) // step)))
    return low > 0 and median >= SELDOM_SATURATED * low


def have_one_value(capacity: Array) -> bool:
    """Whether all capacities of a sample are the same."""
    sample = capacity[:: max(1, len(capacity) // FEW_CAPACITIES)]
    return bool((sample == sample[:1]).all())


def are_mostly_unbounded(capacity: Array) -> bool:
    """Whether most arcs of a sample have its largest capacity, as those of closures that are in no cut."""
    sample = capacity[:: max(1, len(capacity) // FEW_CAPACITIES)]
    return bool(2 * np.count_nonzero(sample == sample.max(initial=0)) > len(sample))


@kernel
def decile_and_median(capacity: Numbers, step: Int64, sample: NDArray[np.float64]) -> tuple[float, float]:
    """Return both for the positive ones of every `step`-th capacity; zeros if there are none."""
    m, gap = np.uint64(len(capacity)), np.uint64(step)
    size = ZERO
    a = ZERO
    while a < m:
        if capacity[a] > 0:
            sample[size] = capacity[a]
            size += ONE
        a += gap
    if size == ZERO:
        return 0.0, 0.0
    # Shell's sort.
    distance = size
    while distance > ONE:
        distance = max(distance * np.uint64(4) // np.uint64(9), ONE)
        for i in range(distance, size):
            value, j = sample[i], np.uint64(i)
            while j >= distance and sample[j - distance] > value:
                sample[j] = sample[j - distance]
                j -= distance
            sample[j] = value
    return sample[size // np.uint64(10)], sample[size // np.uint64(2)]


def may_have_cycles(network: FlowNetwork) -> bool:
    """Whether sampled arcs lead to larger and to smaller numbers of vertices, or back.

    Where all lead one way, vertices are numbered in topological order.
    """
    if network.reverse_capacity is not None:
        return True
    return leads_both_ways(network.tail, network.head, max(1, network.num_arcs // FEW_CAPACITIES))


@kernel
def leads_both_ways(tail: Indices, head: Indices, step: Int64) -> bool:
    """Return whether some of every `step`-th arc lead to larger, some to smaller numbers."""
    m, gap = np.uint64(len(tail)), np.uint64(step)
    up, down = False, False
    a = ZERO
    while a < m and not (up and down):
        up = up or head[a] > tail[a]
        down = down or head[a] < tail[a]
        a += gap
    return up and down


class ArcSample(NamedTuple):
    """Arcs of a network, evenly spaced, and what they have in common.

    The two vertices with the most ends in the sample are taken for *terminals*.
    """

    #: those of the network
    num_vertices: int
    num_arcs: int
    arcs: int  #: arcs in the sample
    pairs: int  #: ordered pairs of ends at the same vertex, the terminals left out
    inner: int  #: arcs without an end at a terminal
    #: those of them that have the same capacity both ways; -1 if there are no reverse capacities
    alike: int


def sample_arcs(network: FlowNetwork, count: int = ARCS) -> ArcSample:
    """Return a sample of `count` arcs of a network on the host, or of a few more, or of all."""
    n, m = network.num_vertices, network.num_arcs
    step = max(1, m // count)
    arcs = -(-m // step)
    slots = 1 << (2 * arcs).bit_length()
    vertex, hits = np.empty(slots, dtype=network.tail.dtype), np.zeros(slots, dtype=np.int32)
    found = look_at_arcs(
        network.tail, network.head, network.capacity, network.reverse_capacity, step, vertex, hits
    )
    return ArcSample(n, m, arcs, *map(int, found))


@kernel
def count_end(vertex: Indices, hits: Numbers, v: np.uint64) -> None:
    """Count one more end at `v` in a hash table."""
    last = np.uint64(len(hits)) - ONE
    slot = v * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32) & last
    while hits[slot] > 0 and np.uint64(vertex[slot]) != v:
        slot = slot + ONE & last
    vertex[slot] = v
    hits[slot] += 1


@kernel
def look_at_arcs(
    tail: Indices,
    head: Indices,
    capacity: Numbers,
    reverse: Numbers | None,
    step: Int64,
    vertex: Indices,
    hits: Numbers,
) -> tuple[Int64, Int64, Int64]:
    """Return `pairs`, `inner` and `alike` of every `step`-th arc: see ArcSample.

    `vertex` and `hits` are an empty hash table, with more slots than ends.
    """
    m, gap = np.uint64(len(tail)), np.uint64(step)
    a = ZERO
    while a < m:
        prefetch(tail, min(a + AHEAD * gap, m - ONE))
        prefetch(head, min(a + AHEAD * gap, m - ONE))
        count_end(vertex, hits, np.uint64(tail[a]))
        count_end(vertex, hits, np.uint64(head[a]))
        a += gap
    # The terminals: the smaller number first where several vertices have as many ends.
    first, second = ZERO, ZERO
    most, next_most = np.int64(0), np.int64(0)
    pairs = np.int64(0)
    for i in range(len(hits)):
        count = np.int64(hits[i])
        if count == 0:
            continue
        v = np.uint64(vertex[i])
        pairs += count * (count - 1)
        if count > most or (count == most and v < first):
            second, next_most = first, most
            first, most = v, count
        elif count > next_most or (count == next_most and v < second):
            second, next_most = v, count
    pairs -= most * (most - 1) + next_most * (next_most - 1)
    # The other arcs, and their capacities.
    inner, alike = np.int64(0), np.int64(0 if reverse is not None else -1)
    a = ZERO
    while a < m:
        t, h = np.uint64(tail[a]), np.uint64(head[a])
        if t != first and t != second and h != first and h != second:
            inner += 1
            if reverse is not None and capacity[a] == reverse[a]:
                alike += 1
        a += gap
    return pairs, inner, alike


def has_hubs(sample: ArcSample) -> bool:
    """Whether a few vertices, not counting two, have a large share of all ends of arcs."""
    at_random = (2 * sample.arcs) ** 2 / max(sample.num_vertices, 1)
    return sample.pairs >= max(FEWEST_PAIRS, OFTEN * at_random)


def may_be_on_a_plane(network: FlowNetwork) -> bool:
    """Whether the numbers of vertices and arcs are those of an energy on a plane."""
    n, m = network.num_vertices, network.num_arcs
    return network.reverse_capacity is not None and AT_TERMINALS * n <= m <= (2 + OTHERS_A_VERTEX) * n


def arcs_to_expect_terminals(network: FlowNetwork) -> int:
    """Return how many arcs of a sample show whether most vertices have one at a terminal."""
    return int(ENDS_EXPECTED * network.num_arcs / (AT_TERMINALS * max(1, network.num_vertices)))


def has_terminals_everywhere(sample: ArcSample) -> bool:
    """Whether most vertices have an arc at a terminal."""
    n, weight = sample.num_vertices, sample.num_arcs / max(sample.arcs, 1)
    return n >= 3 and (sample.arcs - sample.inner) * weight >= AT_TERMINALS * n


def has_equal_capacities(sample: ArcSample) -> bool:
    """Whether most arcs between vertices that are no terminals have the same capacity both ways."""
    return sample.alike >= SYMMETRIC * max(1, sample.inner)


def is_energy_on_a_plane(sample: ArcSample) -> bool:
    """Whether most vertices have an arc at a terminal, and few others, which have equal capacities both ways.

    So are cuts that label pixels or triangles.
    """
    weight = sample.num_arcs / max(sample.arcs, 1)
    few = sample.inner * weight <= OTHERS_A_VERTEX * sample.num_vertices
    return few and has_terminals_everywhere(sample) and has_equal_capacities(sample)


@kernel
def ends_at_terminals(tail: Indices, head: Indices, source: Int64, sink: Int64, count: Int64) -> Int64:
    """Return how many of `count` arcs have an end at a terminal.

    Their places are multiples of the golden ratio, modulo 1, which no pattern of arcs repeats.
    """
    m, s, t = np.uint64(len(tail)), np.uint64(source), np.uint64(sink)
    place, found = ZERO, np.int64(0)
    for _ in range(count):
        place += np.uint64(0x9E3779B97F4A7C15)
        a = (place >> np.uint64(32)) * m >> np.uint64(32)
        u, v = np.uint64(tail[a]), np.uint64(head[a])
        if u in (s, t) or v in (s, t):
            found += 1
    return found


def is_energy(network: FlowNetwork, source: int, sink: int, *, clear: bool = False) -> bool:
    """Whether most vertices have an arc at a terminal, and other arcs have no far larger capacities.

    Searches on a grid are the fastest on such networks. On noise, to solve a network as the grid that it is
    took 0.5 to 0.8 of the time. Where the median capacity of the other arcs was 20 times that of the arcs at
    terminals it took 0.25 (a spiral) to 2.4 of it (a tree of vessels), and where two faces are the terminals
    4 to 7 times as long. A `clear` energy has weaker arcs: see CLEAR_ON_A_PLANE and CLEAR.
    """
    from ..gridcut.policy import STRONGER  # here, since small networks do without

    few = arcs_to_expect_terminals(network)
    if few < ARCS_FOR_MEDIANS:
        ends = ends_at_terminals(network.tail, network.head, source, sink, few)
        if 2 * ends < ENDS_EXPECTED:
            return False
    step = max(1, network.num_arcs // ARCS_FOR_MEDIANS)
    tail, head = network.tail[::step], network.head[::step]
    at_terminal = (tail == source) | (head == source) | (tail == sink) | (head == sink)
    if np.count_nonzero(at_terminal) * step < AT_TERMINALS * network.num_vertices:
        return False
    capacity = network.capacity[::step]
    if network.reverse_capacity is not None:
        capacity = np.maximum(capacity, network.reverse_capacity[::step])
    terminals, others = (capacity[chosen & (capacity > 0)] for chosen in (at_terminal, ~at_terminal))
    if len(terminals) * step < AT_TERMINALS * network.num_vertices or not len(others):
        return False
    terminal = float(middle(terminals))
    if not clear:
        return bool(middle(others) <= STRONGER * terminal)
    others_a_vertex = float((~at_terminal).mean()) * network.num_arcs / network.num_vertices
    if others_a_vertex <= OTHERS_A_VERTEX:
        return bool(middle(others) <= CLEAR_ON_A_PLANE * terminal)
    weak = float(np.sort(others)[len(others) // 10])
    return others_a_vertex * weak <= CLEAR * terminal
