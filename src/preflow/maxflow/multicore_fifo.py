"""First-in-first-out push-relabel on many cores: Cihan's solver.

Cihan, "Parallel Maximum Flow Solver for Multi-Core Machines" (2010), sections 4.5 to 4.7. Each thread has
its own queue of active vertices and donates its oldest ones to threads that have none; a vertex is in at
most one queue. There are no locks. After n relabels the threads meet at a barrier and search exact heights
together. Definitions, invariants and pseudo-code are in multicore_discharge.py.

Departures:

- Terminals are not vertices. The solver starts with a global relabel and ends on one that finds no excess
  which can reach the sink. The thesis's Figure 4.9 deadlocks when all threads are idle before n relabels.
- The value returned by the fetch-and-add that debits a vertex decides whether the vertex is finished.
  Figure 4.10 reads the excess again, when the vertex may already be in another thread's queue.
- Current arcs are used, as in F_PRF. Labels only grow; in Figure 4.11 they may fall.
- Gap relabeling by atomic counts, which the thesis names as further work.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Array
from ..graph.residual import ResidualArrays
from ..parallel.queues import make_queues
from ..solving.options import check_flag
from ..solving.run import Control
from .multicore_discharge import run_first_stage
from .relabel_rule import check_relabel_rule


@dataclass(frozen=True)
class MulticoreFifoOptions:
    """Options of multicore first-in-first-out push-relabel.

    Attributes
    ----------
    gap : bool
        Take out vertices above an empty level.
    relabel_period : float
        A global relabel is due after ``relabel_period * n`` relabels of all threads together.
    """

    gap: bool = False
    relabel_period: float = 1.0

    def __post_init__(self) -> None:
        check_flag("gap", self.gap)
        check_relabel_rule("relabels", self.relabel_period)


def solve(net: ResidualArrays, options: MulticoreFifoOptions, control: Control) -> Array:
    """Run the first stage in place.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    O(n^3) work. Memory: at most five indices a vertex on one thread and eleven on any number of threads;
    two more with `gap`.
    """
    queues = make_queues(control.threads, len(net.excess), net.head.dtype)
    return run_first_stage(net, control, queues, None, options.gap, options.relabel_period)
