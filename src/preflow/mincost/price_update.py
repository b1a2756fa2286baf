"""Price update: potentials that lead excess to the nearest deficits (set-relabel, Goldberg 1997, section 4).

Definitions. The *length* of an arc is its cost times `2**shift`, plus the potential of its tail, minus that
of its head. Epsilon is `2**level`. The *rank* of an arc is ``floor(length / epsilon) + 1``, which is not
negative if the flow is optimal for epsilon. The rank of a vertex is the least sum of ranks of residual arcs
on a path to a deficit.

If the potential of every vertex falls by its rank times epsilon, the flow stays optimal for epsilon, and
every vertex with a finite rank has a path of admissible arcs to a deficit. The search ends when it has
reached all excess; let the last rank be `k`. Vertices that it has not settled would fall by `k` times
epsilon. Only differences matter, so the update raises the others instead: that of rank `r` by ``(k - r) *
epsilon``.

The queue has a bucket for each of the next 63 ranks and one for all larger ranks, which are sorted when the
others are empty (Dial 1969). So ranks may have any size.

Pseudo-code::

    the rank of deficits is 0, of other vertices infinite
    until all excess is reached, or no vertex is left:
        settle the vertex of least rank
        for each residual arc into it: lower the rank of the tail
    raise the potentials of vertices whose rank is below the last
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Int64
from ..kernels.atomics import prefetch
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..stats import ARC_SCANS, GLOBAL_RELABELS
from .residual import COST, FIELDS, LEFT, MATE, Residual

#: Buckets: one for each of the next ranks, and the last for all others. With a radix heap an update takes
#: 10 to 25% longer, with 256 buckets 3 to 20%.
BUCKETS = np.uint64(64)
#: Integers of a cache line.
LINE = np.uint64(16)
#: Rank of a vertex that the search has not reached.
FAR = np.int64(2**62)


class Ranks(NamedTuple):
    """The state of price updates.

    Between updates all ranks are `FAR` and all buckets are empty; the entries of vertices in `after` and
    `before` may have any values.
    """

    rank: NDArray[np.int64]  #: shape (n,)
    #: shape (n + 64,): neighbours in the list of a bucket, a ring with the entry ``n + bucket``
    after: NDArray[np.uint32]
    before: NDArray[np.uint32]


def new_ranks(num_vertices: int) -> Ranks:
    """Return the state for a network."""
    ring = np.arange(num_vertices + int(BUCKETS), dtype=np.uint32)
    return Ranks(np.full(num_vertices, FAR, dtype=np.int64), ring, ring.copy())


@kernel
def take_out(ranks: Ranks, v: np.uint64) -> None:
    """Take a vertex out of its bucket."""
    after, before = np.uint64(ranks.after[v]), np.uint64(ranks.before[v])
    ranks.after[before] = after
    ranks.before[after] = before


@kernel
def put_in(ranks: Ranks, v: Index, base: Int64) -> None:
    """Put a vertex into the bucket of its rank; the first bucket has rank `base`."""
    ring = np.uint64(len(ranks.rank)) + min(np.uint64(ranks.rank[v] - base), BUCKETS - ONE)
    after = np.uint64(ranks.after[ring])
    ranks.after[ring] = v
    ranks.before[v] = ring
    ranks.after[v] = after
    ranks.before[after] = v


@kernel
def sort_rest(ranks: Ranks) -> np.int64:
    """Sort the vertices of the last bucket into all buckets; return their least rank, or `FAR`."""
    last = np.uint64(len(ranks.rank)) + BUCKETS - ONE
    base = FAR
    v = np.uint64(ranks.after[last])
    while v != last:
        base = min(base, ranks.rank[v])
        v = np.uint64(ranks.after[v])
    v = np.uint64(ranks.after[last])
    ranks.after[last] = last
    ranks.before[last] = last
    while v != last:
        following = np.uint64(ranks.after[v])
        put_in(ranks, v, base)
        v = following
    return base


@kernel
def update_prices(
    net: Residual,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    ranks: Ranks,
    shift: Int64,
    level: Int64,
    monitor: Monitor,
) -> np.uint64:
    """Update the potentials; return how many vertices with excess reach no deficit by live arcs."""
    arcs, rank = net.arcs, ranks.rank
    n = np.uint64(len(potential))
    waiting = ZERO
    for i in range(n):
        if excess[i] > 0:
            waiting += ONE
        elif excess[i] < 0:
            rank[i] = 0
            put_in(ranks, i, np.int64(0))
    base, ring = np.int64(0), n
    last = np.int64(0)
    while waiting > ZERO:
        # Find the first bucket that is not empty.
        while ring < n + BUCKETS - ONE and np.uint64(ranks.after[ring]) == ring:
            ring += ONE
        if ring == n + BUCKETS - ONE:
            least = sort_rest(ranks)
            if least == FAR:
                break
            base, ring = least, n
            continue
        u = np.uint64(ranks.after[ring])
        last = rank[u]
        take_out(ranks, u)
        coming = np.uint64(ranks.after[ring])
        if coming < n:
            place = net.first[coming]
            prefetch(arcs, place)
            prefetch(arcs, place + LINE)
            prefetch(arcs, place + LINE + LINE)
            prefetch(arcs, place + LINE + LINE + LINE)
        if excess[u] > 0:
            waiting -= ONE
        arc, end = net.first[u], net.live[u]
        monitor.counts[ARC_SCANS] += (end - arc) // FIELDS
        while arc < end:
            v = np.uint64(arcs[arc])
            known = rank[v]
            if known > last:
                length = potential[v] - potential[u] - (np.int64(arcs[arc + COST]) << shift)
                new = last + (length >> level) + 1
                if new < known and arcs[np.uint64(arcs[arc + MATE]) + LEFT] > 0:
                    new = max(new, last)
                    if known < FAR:
                        take_out(ranks, v)
                    rank[v] = new
                    put_in(ranks, v, base)
            arc += FIELDS
    # Raise the potentials of settled vertices, whose ranks are at most `last`, and empty the buckets.
    for i in range(n):
        if rank[i] < last:
            potential[i] += (last - rank[i]) << level
        rank[i] = FAR
    for i in range(n, n + BUCKETS):
        ranks.after[i] = i
        ranks.before[i] = i
    monitor.counts[GLOBAL_RELABELS] += ONE
    return waiting
