"""Cost scaling on a GPU: lock-free pushes and relabels, with parallel price updates.

Goldberg and Tarjan, "Finding minimum-cost circulations by successive approximation", Mathematics of
Operations Research 15 (1990), with the lock-free refine of Łupińska (2011), Algorithm 5.4, for capacities
above one, and with the price update of Goldberg, "An efficient implementation of a scaling minimum-cost flow
algorithm", Journal of Algorithms 22 (1997).

Definitions
-----------
- The *reduced cost* of a residual arc is its cost plus the price of its tail minus the price of its head. It
  is *admissible* if this is negative.
- The *excess* of a vertex is its supply, plus the flow into it, minus the flow out of it; a negative excess
  is a *deficit*.
- A flow is *epsilon-optimal* if no residual arc has a reduced cost below minus epsilon.
- In a search, the *length* of a residual arc is its reduced cost divided by epsilon, rounded down, plus one.

Invariants
----------
- The flow of every arc is between zero and its capacity. Only the warp of a vertex with excess lowers this
  excess, and the residual capacities of the arcs that leave the vertex.
- After ``measure`` the flow is epsilon-optimal, so no length is negative. A price update keeps it so.
- Costs are multiplied by n + 1. A feasible flow that is 1-optimal then is optimal.

Pseudo-code
-----------
::

    for each epsilon, divided by alpha each time, down to 1:
        one cooperative kernel; its phases end at barriers of all blocks:                     refine
            repeat
                saturate arcs of reduced cost below -epsilon, and compute lengths             measure
                if no vertex has excess: done
                find the distances to vertices with a deficit                                 search
                if a vertex with excess reaches none: the instance is infeasible
                lower all prices by epsilon times the distance, at most the farthest one of a
                    vertex with excess
                for about as long as this took, without barriers: each vertex with excess     step
                    pushes along its admissible arcs, then is relabelled if excess is left
        if epsilon is at most one unit of cost:
            some rounds of a search for exact prices; if they are enough: done                exact_prices
            refine from these prices for the last epsilon, with few price updates:            refine
                if they are enough, go to the last step
    divide the prices by n + 1, and raise them until no reduced cost is negative              exact_prices

A search is label correcting: each vertex whose distance fell relaxes the arcs into it. It has a limit: only
vertices with distances up to the limit relax. Once no such distance falls any more, the limit grows, until it
has passed the distances of all vertices with excess.

The rounds between two barriers take a fixed time. Warps without work look for work again and again until it
is over. With a fixed number of looks, idle warps were through them before the others had done one step, and a
round moved a frontier by few arcs: on an H100, NETGEN-8 with 1,048,576 arcs took 3.6 s with 4 looks in a
round, 0.6 s with 128, and 0.55 s with rounds of 40 and 50 microseconds.

A refine does not know that the flow is optimal already: it saturates arcs and moves flow all over the
network, whatever epsilon is. Exact prices prove it. They often exist soon after epsilon has fallen below 1 in
the caller's units, long before the 1 / n of the theory.

Where they do not exist, few cycles of negative cost are left. On NETGEN-8 with a million arcs, the flow for
an epsilon of a quarter of a unit costs 41 more than the optimum of 4,294,240,188, that for a sixteenth of
this 2 more. Further refines would move all flow again to find these cycles. A search that is stopped leaves
few residual arcs of negative reduced cost, all near such cycles, so a refine for the last epsilon from its
prices saturates these arcs only. On an H200 this refine took 35 to 59 ms there, and replaced two that took 73
and 75.

Departures
----------
- A step pushes along all admissible arcs, not along the one of least reduced cost. A relabel may miss an arc
  that a push makes residual at the same time. Both can leave arcs of reduced cost below minus epsilon, which
  the next ``measure`` saturates. The refine ends only after a ``measure`` that leaves no excess.
- The price update is not the bucketed search of Algorithm 5.3: a search on a GPU that relaxes in any order
  needs fewer barriers than one barrier for each bucket.
- A start from an earlier state is ignored.
- If the instance is infeasible, shortest paths send what can be sent, on the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray
from ..cuda import runtime
from ..graph.standard_form import StandardForm, check_largest_cost, most_cost
from ..solving.options import Alpha, CheckedOptions, PositiveInteger
from ..solving.run import Control
from .cost_scaling.on_gpu import Ending, Engine, Tuning
from .shortest_paths import send
from .solution import FlowState

#: After refines for an epsilon of at most TRIAL_EPSILON, in the caller's units, a search looks for exact
#: prices in TRIAL_ROUNDS rounds; it takes up to 8 ms.
TRIAL_EPSILON, TRIAL_ROUNDS = 1, 100
#: Price updates of the refine from prices that are almost exact.
REPAIR_UPDATES = 60


@dataclass(frozen=True)
class CudaCostScalingOptions(CheckedOptions):
    """Options of cost scaling on a GPU.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon before each refine.
    pushing : int
        Nanoseconds of pushes and relabels between two barriers.
    searching : int
        The most nanoseconds of relaxations between two barriers of a search.
    """

    alpha: Alpha = 16.0
    pushing: PositiveInteger = 50_000
    searching: PositiveInteger = 40_000


def check_costs(largest: int, n: int) -> None:
    """Raise CostOverflowError if prices may not fit 64 bits.

    In one refine a price falls by at most n times the sum of its epsilon and of the one before. All epsilon
    sum to at most three times the first one, (n + 1) times the largest cost, since alpha is 1.5 or more.
    """
    check_largest_cost(largest, most_cost(n, on_gpu=True), n)


def epsilons(largest: int, alpha: float) -> list[int]:
    """Return the epsilon of each refine, from that of a flow of zero on."""
    found = [max(1, largest)]
    while found[-1] > 1:
        found.append(max(1, int(found[-1] / alpha)))
    return found


def solve(
    instance: StandardForm, start: FlowState | None, options: CudaCostScalingOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`.

    CostOverflowError: 7 (n + 1)**2 times the largest cost is 2**62 or more. SolverError: a refine took
    400,000 price updates, or a search four million rounds.
    """
    if start is not None:
        control.remarks.append("cuda-cost-scaling does not use the earlier flow")
    n, m = len(instance.supply), len(instance.tail)
    largest = int(np.abs(instance.cost).max(initial=0))
    check_costs(largest, n)
    if n == 0 or m == 0:
        return send(instance, None, control, scaled=False)
    device = runtime.find_device()
    xp = device.xp
    with device.current():
        tail, head, capacity, cost, supply = (xp.asarray(part) for part in instance.widened())
        price = xp.zeros(n, dtype=np.int64)
        engine = Engine(
            device, tail, head, cost * (n + 1), capacity, xp.zeros(m, dtype=np.int64), supply, price,
            Tuning(pushing=options.pushing, searching=options.searching), control,
        )  # fmt: skip
        phases = epsilons(largest * (n + 1), options.alpha)
        control.progress[:] = len(phases)
        proved = False
        for epsilon in phases:
            ending = engine.refine(epsilon)
            if ending == Ending.INFEASIBLE:
                control.remarks.append("the CPU finds the cut of an infeasible instance")
                return send(instance, None, control, scaled=False)
            if ending == Ending.STOPPED:
                break
            control.progress[0] -= 1
            if 1 < epsilon <= TRIAL_EPSILON * (n + 1):
                exact = price // (n + 1)
                proved = engine.exact_prices(exact, cost, TRIAL_ROUNDS) == Ending.OPTIMAL
                if proved or _repaired(engine, exact):
                    break
        if not proved:
            exact = price // (n + 1)
            proved = not control.stopped and engine.exact_prices(exact, cost) == Ending.OPTIMAL
        flow = device.to_host(engine.flow())
        return FlowState(flow, device.to_host(exact), "optimal" if proved else "stopped")


def _repaired(engine: Engine, exact: AnyArray) -> bool:
    """Refine for the last epsilon from prices that are almost exact; return whether the flow is optimal.

    If it is not after a few price updates, the next refine goes on from what is there. The search for exact
    prices has only raised them, so they are as far from overflow as before.
    """
    engine.price[:] = exact * (len(exact) + 1)
    return engine.refine(1, REPAIR_UPDATES) == Ending.OPTIMAL
