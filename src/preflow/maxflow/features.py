"""Features of a network by which a method is chosen, judged from a sample of its arcs in 0.1 ms."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..graph.network import FlowNetwork

#: How many capacities, and how many ends of arcs, are looked at.
CAPACITIES, ENDS = 1024, 4096
#: Most arcs are never saturated if the median capacity is at least this multiple of the first decile: 150 to
#: 18,000 on rmf networks, at most 8 on all others measured. Then the trees of serial-pseudoflow are deep.
SELDOM_SATURATED = 100
#: A hub has at least HUB_ENDS ends in the sample, and HUB times the average. Two hubs do not count: a source
#: and a sink often have many arcs. The others have 7 to 35 % of the ends in RMAT graphs of 0.2 to 4 million
#: arcs, 5 to 15 % in other graphs of power laws, at most 1 % in all other networks measured.
HUB_ENDS, HUB, SHARE_OF_HUBS = 4, 8, 0.05
#: In an energy on a plane at least this share of the vertices has an arc at a terminal, and there are at most
#: this many other arcs a vertex: 2 in an image with four neighbours, 1.5 on the triangles of a surface, 3 in
#: volumes with six and in triangulations.
AT_TERMINALS, OTHERS_A_VERTEX = 0.5, 2.5
#: Searches on a grid are the fastest where terminal capacities decide most pixels: then the median capacity
#: of the other arcs is at most this multiple of that of the arcs at terminals. On noise it is 1 to 5, and to
#: solve a network as the grid that it is took 0.5 to 0.8 of the time. At 20 it took 0.25 (a spiral) to 2.4 of
#: it (a tree of vessels), and where two faces are the terminals 4 to 7 times as long.
STRONGER = 10
#: Share of those other arcs that must have the same capacity both ways.
SYMMETRIC = 0.9
#: From this share of the sampled capacities on, most are above a bound.
MOST_ABOVE = 0.5


def sampled_capacities(capacity: Array) -> Array:
    """Return a sample of the positive capacities, ascending."""
    sample = capacity[:: max(1, len(capacity) // CAPACITIES)]
    return np.sort(sample[sample > 0])


def seldom_saturated(capacity: Array) -> bool:
    """Whether most arcs have so much more capacity than others that no flow saturates them."""
    sample = sampled_capacities(capacity)
    if len(sample) == 0:
        return False
    low, median = float(sample[len(sample) // 10]), float(sample[len(sample) // 2])
    return median >= SELDOM_SATURATED * low


def middle_of_widest_gap(capacity: Array) -> float:
    """Return a number between the two neighbours in a sample, of those up to its median, that differ most.

    It is their geometric mean. The sample must not be empty.
    """
    sample = np.minimum(sampled_capacities(capacity), np.finfo(np.float64).max)
    low = np.log(sample[: len(sample) // 2 + 1])
    gap = int(np.argmax(np.diff(low))) if len(low) > 1 else 0
    return float(np.exp((low[gap] + low[min(gap + 1, len(low) - 1)]) / 2))


def most_are_above(capacity: Array, bound: float) -> bool:
    """Whether most capacities of a sample are above a bound."""
    sample = sampled_capacities(capacity)
    return bool((sample > bound).sum() >= MOST_ABOVE * len(sample))


def has_hubs(network: FlowNetwork) -> bool:
    """Whether a few vertices, not counting two, have a large share of all ends of arcs."""
    step = max(1, 2 * network.num_arcs // ENDS)
    ends = np.concatenate([network.tail[::step], network.head[::step]])
    hits = np.sort(np.unique(ends, return_counts=True)[1])[:-2]
    least = max(HUB_ENDS, HUB * len(ends) / network.num_vertices)
    return bool(hits[hits >= least].sum() > SHARE_OF_HUBS * len(ends))


def is_energy_on_a_plane(network: FlowNetwork) -> bool:
    """Whether most vertices have an arc at a terminal, and few others, which have equal capacities both ways.

    So are cuts that label pixels or triangles. The two vertices with the most ends are taken for terminals.
    """
    n, arcs, reverse = network.num_vertices, network.num_arcs, network.reverse_capacity
    if reverse is None or n < 3 or not AT_TERMINALS * n <= arcs <= (2 + OTHERS_A_VERTEX) * n:
        return False
    step = max(1, 2 * arcs // ENDS)
    tail, head = network.tail[::step], network.head[::step]
    ends, hits = np.unique(np.concatenate([tail, head]), return_counts=True)
    first = ends[np.argmax(hits)]
    hits[np.argmax(hits)] = 0  # a sort of many equal numbers takes longer than all the rest
    second = ends[np.argmax(hits)]
    inner = (tail != first) & (tail != second) & (head != first) & (head != second)
    share = float(inner.mean())
    there, back = network.capacity[::step][inner], reverse[::step][inner]
    return bool(
        (1 - share) * arcs >= AT_TERMINALS * n
        and share * arcs <= OTHERS_A_VERTEX * n
        and (there == back).sum() >= SYMMETRIC * max(1, len(there))
    )


def is_energy(network: FlowNetwork, source: int, sink: int) -> bool:
    """Whether most vertices have an arc at a terminal, and other arcs have no far larger capacities."""
    step = max(1, network.num_arcs // ENDS)
    tail, head, capacity = network.tail[::step], network.head[::step], network.capacity[::step]
    if network.reverse_capacity is not None:
        capacity = np.maximum(capacity, network.reverse_capacity[::step])
    at_terminal = (tail == source) | (head == source) | (tail == sink) | (head == sink)
    terminals, others = (capacity[chosen & (capacity > 0)] for chosen in (at_terminal, ~at_terminal))
    if len(terminals) * step < AT_TERMINALS * network.num_vertices:
        return False
    return bool(len(terminals) and len(others) and np.median(others) <= STRONGER * np.median(terminals))
