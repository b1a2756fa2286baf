"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.network import FlowNetwork

#: From this share of all n**2 arcs on, a network counts as dense. On acyclic dense 2000 (share one half)
#: FIFO solved in 0.010 s against 0.015 s of highest label, on line 16384x4 (share 1/514) in 0.071 against
#: 0.063 s; nothing between was measured.
DENSE = 1 / 8
#: Below this size no method is slow, and the share says nothing.
SMALL = 100


def choose(network: FlowNetwork) -> tuple[str, str]:
    """Return the name of the method for a network on one CPU thread, and the reason for it."""
    if network.num_vertices >= SMALL and network.num_arcs >= DENSE * network.num_vertices**2:
        return "serial-fifo", "dense network: distances are short and the order of discharges hardly matters"
    return "serial-hi-pr", "highest label with gaps and work-driven global relabels is fastest overall"
