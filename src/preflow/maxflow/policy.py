"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.network import FlowNetwork

#: From this share of all n**2 arcs on, a network counts as dense. On acyclic dense 2000 (share one half)
#: FIFO solved in 0.010 s against 0.015 s of highest label, on line 16384x4 (share 1/514) in 0.071 against
#: 0.063 s; nothing between was measured.
DENSE = 1 / 8
#: Below this size no method is slow, and the share says nothing.
SMALL = 100


#: From so many threads and arcs on several threads pay. On 16 cores of a Xeon, multicore-partitioned
#: took, with 4 and 16 threads, of serial-hi-pr's time 0.40 and 0.15 on a 2000x2000 grid, 0.49 and 0.23
#: on a 150^3 grid, 0.94 and 0.64 on rmf-wide 136x68, 0.88 and 0.82 on rlg-wide 32768x64; with two threads it
#: was slower on the last two. Networks of fewer arcs were not measured.
MANY_THREADS = 4
MANY_ARCS = 4_000_000


def choose(network: FlowNetwork, threads: int) -> tuple[str, str]:
    """Return the name of the method for a network on up to `threads` CPU threads, and the reason for it."""
    if threads >= MANY_THREADS and network.num_arcs >= MANY_ARCS:
        return "multicore-partitioned", f"{network.num_arcs:,} arcs are enough work for {threads} threads"
    if network.num_vertices >= SMALL and network.num_arcs >= DENSE * network.num_vertices**2:
        return "serial-fifo", "dense network: distances are short and the order of discharges hardly matters"
    return "serial-hi-pr", "highest label with gaps and work-driven global relabels is fastest overall"
