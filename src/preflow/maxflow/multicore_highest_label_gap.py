"""Highest-label push-relabel with gap relabeling on many cores, after Bader and Sachdeva.

Bader and Sachdeva, "A Cache-Aware Parallel Implementation of the Push-Relabel Network Flow Algorithm and
Experimental Evaluation of the Gap Relabeling Heuristic", PDCS 2005. Cihan (2010) names gap relabeling as
the part that his solver lacks on graphs with long distances. Each thread discharges the highest active
vertex that it owns, which is only approximately the highest of all. Vertices above an empty level are taken
out. Definitions, invariants and pseudo-code are in multicore_discharge.py.

Departures, from what Cihan's chapter 3 and the abstract say of that implementation:

- It locks vertices; here excess, heights, residual capacities and the counts of vertices of a height are
  atomic.
- Threads own their vertices, as in Cihan's solver, and a thread without vertices receives some of the
  highest of another one (parallel/buckets.py).
- Terminals are not vertices, and all threads search exact heights together at a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Array
from ..graph.residual import ResidualArrays
from ..parallel.buckets import make_buckets
from ..solving.options import check_flag
from ..solving.run import Control
from .multicore_discharge import run_first_stage
from .relabel_rule import check_relabel_rule


@dataclass(frozen=True)
class MulticoreHighestLabelOptions:
    """Options of multicore highest-label push-relabel.

    Attributes
    ----------
    gap : bool
        Take out vertices above an empty level; Bader and Sachdeva evaluate what this brings.
    relabel_period : float
        A global relabel is due after ``relabel_period * n`` relabels of all threads together.
    """

    gap: bool = True
    relabel_period: float = 1.0

    def __post_init__(self) -> None:
        check_flag("gap", self.gap)
        check_relabel_rule("relabels", self.relabel_period)


def solve(net: ResidualArrays, options: MulticoreHighestLabelOptions, control: Control) -> Array:
    """Run the first stage in place.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    O(n^2 sqrt(m)) pushes on one thread. Memory: at most ten indices a vertex on any number of threads.
    """
    buckets = make_buckets(control.threads, len(net.excess), net.head.dtype)
    return run_first_stage(net, control, None, buckets, options.gap, options.relabel_period)
