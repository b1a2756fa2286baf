"""Capacity scaling: shortest paths that carry large amounts first (Edmonds and Karp 1972).

The form is that of Ahuja, Magnanti and Orlin 1993, section 10.2, without their artificial arcs of large cost:
a phase ends where no path can carry its amount.

Definitions. The *excess* of a vertex is its supply, plus the flow into it, minus the flow out of it. The
*length* of a residual arc is its reduced cost. *Delta* is a power of two.

Invariants, in a phase:

1. No residual arc that can carry `delta` has negative length.
2. The flow of every arc is between zero and its capacity.

Pseudo-code::

    delta = the largest power of two that is at most the largest capacity or supply
    until delta is 0:
        fill the residual arcs of negative length that can carry delta
        while a vertex with an excess of delta reaches, by arcs that carry delta, one that lacks delta:
            send flow along the shortest such path
        delta = delta // 2
    the instance is infeasible if excess is left

Each phase begins with at most ``n + m`` times `2 delta` that the last phase could not send or that the filled
arcs added, so it sends O(n + m) paths: O(m (m log n) log U) in all for largest amount U.
"""

from __future__ import annotations

from ..graph.standard_form import StandardForm
from ..solving.options import NoOptions
from ..solving.run import Control
from .shortest_paths import send
from .solution import FlowState


def solve(instance: StandardForm, start: FlowState | None, options: NoOptions, control: Control) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    return send(instance, start, control, scaled=True)
