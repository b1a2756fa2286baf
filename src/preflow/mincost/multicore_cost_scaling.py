"""Cost scaling on many cores: refines without locks in the scaling of serial-cost-scaling.

Łupińska 2011, Algorithm 5.4, generalised to capacities above one, in the refines of Goldberg 1997. In the
folder `cost_scaling`, `lockfree.py` has definitions, invariants and the pseudo-code of a refine,
`arc_passes.py` the passes over all arcs between two refines; :mod:`.serial_cost_scaling` describes the
scaling. Price refinement is left to one thread; but where no arc is too short for it, all threads find this
out.
"""

from __future__ import annotations

from ..graph.standard_form import StandardForm
from ..solving.run import Control
from .cost_scaling import CostScalingOptions
from .cost_scaling.on_threads import LockFreeCostScaling
from .solution import FlowState


def solve(
    instance: StandardForm, start: FlowState | None, options: CostScalingOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    return LockFreeCostScaling(instance, start, options, control).solve()
