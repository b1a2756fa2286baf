"""Cost scaling (Goldberg 1997) by partial augment-relabel (Goldberg 2008).

Departures from the papers:

- Potentials are those of costs times `2**shift`, and epsilon is a power of two, so that ranks are shifts. If
  `2**shift` exceeds n, a flow that is optimal for epsilon 1 is optimal. Where 64 bits do not suffice, the
  shift is smaller, and shortest paths finish the flow in the rare case that it is not optimal yet. So no
  costs of the standard form are too large.
- After each refine with an epsilon of at most one unit of cost, price refinement looks for potentials that
  prove the flow optimal for epsilon 0. The solve ends if it finds them, often two or three refines early.
  Price refinement between other refines saved none of them on NETGEN, GOTO and grids.
- Arcs are fixed by a guess, which every refine checks.

The parts are in the folder `cost_scaling`. Shortest paths after the last refine belong to this method: they
are no second attempt, since they start from a flow that is optimal but for few arcs.

Invariant: after a refine, no residual arc has a length below minus epsilon. (`refine.py` defines length.)

Pseudo-code::

    epsilon = the largest cost; for an earlier flow, its largest violation
    until price refinement proves the flow optimal:
        epsilon = epsilon / alpha, rounded down to a power of two
        fill arcs of negative length, and move all excess to deficits                  refine.py
            if it cannot, and no arc is fixed: the instance is infeasible
        make wrongly fixed arcs live, and refine again if there are any                arc_fixing.py
        fix arcs
"""

from __future__ import annotations

from ..graph.standard_form import StandardForm
from ..solving.run import Control
from .cost_scaling import CostScaling, CostScalingOptions
from .solution import FlowState


def solve(
    instance: StandardForm, start: FlowState | None, options: CostScalingOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    return CostScaling(instance, start, options, control).solve()
