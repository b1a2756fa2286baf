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
- By default the threads search exact heights over vertices that they own (parallel/search.py), and a thread
  donates up to half of its queue. The options `search` and `donation` choose what the thesis prints, as does
  the name `Cihan`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...arrays import Array
from ...graph.residual import ResidualArrays
from ...parallel.queues import MOST_DONATED, make_queues
from ...solving.options import CheckedOptions, PositiveNumber
from ...solving.run import Control
from .multicore_discharge import run_first_stage


@dataclass(frozen=True)
class MulticoreFifoOptions(CheckedOptions):
    """Options of multicore first-in-first-out push-relabel.

    Attributes
    ----------
    gap : bool
        Take out vertices above an empty level.
    relabel_period : float
        A global relabel is due after ``relabel_period * n`` relabels of all threads together.
    search : {"owners", "jump-queues"}
        How the threads search exact heights together. With "owners" each vertex belongs to a thread, and the
        other threads send it messages about the vertex. "jump-queues" is the parallel global relabel of
        Cihan's thesis (section 4.6.3): an in-queue and an out-queue for each thread in one array, jump
        markers between its parts, two barriers after each level. It takes O(threads * n) memory.
    donation : {"half", "oldest"}
        What a thread donates to an idle one: up to half of its queue, or its oldest vertex, as in the thesis.
    record_active : bool
        Record the numbers of active vertices: `stats.active` of the result. It costs an atomic addition for
        each vertex that becomes active.
    """

    gap: bool = False
    relabel_period: PositiveNumber = 1.0
    search: Literal["owners", "jump-queues"] = "owners"
    donation: Literal["half", "oldest"] = "half"
    record_active: bool = False


def solve(net: ResidualArrays, options: MulticoreFifoOptions, control: Control) -> Array:
    """Run the first stage in place; return exact heights.

    O(n^3) work. Memory: at most five indices a vertex on one thread and eleven on any number of threads; two
    more with `gap`; with "jump-queues" eight bytes a vertex and thread more.
    """
    queues = make_queues(control.threads, len(net.excess), net.head.dtype)
    most_donated = 1 if options.donation == "oldest" else int(MOST_DONATED)
    by_levels = options.search == "jump-queues"
    return run_first_stage(
        net,
        control,
        queues,
        None,
        options.gap,
        options.relabel_period,
        by_levels,
        most_donated,
        options.record_active,
    )
