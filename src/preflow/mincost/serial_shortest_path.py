"""Successive shortest paths: the method of Edmonds and Karp (1972) and Tomizawa (1971), with several sources.

For small instances, and for those in which few units move: a path sends at least one unit.

Definitions. The *excess* of a vertex is its supply, plus the flow into it, minus the flow out of it. Its
*deficit* is the opposite. The *length* of a residual arc is its reduced cost.

Invariants, before every search:

1. No residual arc has negative length.
2. The flow of every arc is between zero and its capacity.

Pseudo-code::

    make every arc of negative length full, and every arc of positive length empty
    while a vertex has excess:
        search by Dijkstra from all vertices with excess, until a vertex with a deficit is settled
        if there is none: the instance is infeasible
        subtract what is missing to the last distance from the potentials of the settled vertices
        send flow along the path: as much as excess, deficit and residual capacities allow

The arcs of the path then have length zero, so invariant 1 holds. A search costs O(m log n), and each sends at
least one unit: O(U m log n) in all for supplies of U units.
"""

from __future__ import annotations

from ..graph.standard_form import StandardForm
from ..solving.options import NoOptions
from ..solving.run import Control
from .shortest_paths import send
from .solution import FlowState


def solve(instance: StandardForm, start: FlowState | None, options: NoOptions, control: Control) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    return send(instance, start, control, scaled=False)
