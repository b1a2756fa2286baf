"""Lock-free push-relabel on many cores: Hong's algorithm, also with asynchronous global relabeling.

Hong (IPDPS 2008), as in Łupińska, section 4.4. With ``concurrent_relabel`` it is ARG, asynchronous global
relabeling, of Hong and He (IEEE TPDS 2011; Łupińska, section 4.5): one thread searches while the others push.
This is the only method on the CPU that Wu, He and Hong cite, so we read it as their cpu-async (section 5.4).
The kernels are in parallel/lockfree.py, with definitions, invariants and pseudo-code, since
multicore-lockfree of grid cuts shares them.

The name `Hong` is the method as printed: labels start with 0 and nobody relabels globally.

Departures: terminals are not vertices, and a vertex pushes to the sink whatever its label is. Excess that is
cut off from the sink climbs to the dead label, not back to the source. By default labels start exact, and
after ``relabel_period * n`` relabels all threads search at a barrier, or one searches concurrently. Threads
list active vertices instead of looking at all that they own. A scan for the lowest neighbour serves all
neighbours of that label. Termination counts the work that is handed out and
settled: the papers' test of e(s) + e(t) misses excess that still moves to dead vertices.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays import Array
from ...graph.residual import ResidualArrays
from ...parallel.lockfree import push_relabel
from ...solving.options import CheckedOptions, InitialLabels, PositiveNumber
from ...solving.run import Control


@dataclass(frozen=True)
class LockFreeOptions(CheckedOptions):
    """Options of the lock-free solvers.

    Attributes
    ----------
    concurrent_relabel : bool
        Relabel globally while other threads push and relabel.
    relabel_period : float or None
        A global relabel is due after ``relabel_period * n`` relabels of all threads together; None means
        never.
    initial_labels : {"exact", "zero"}
        Start with a search for exact labels, or with label 0 on all vertices.
    """

    concurrent_relabel: bool = False
    relabel_period: PositiveNumber | None = 1.0
    initial_labels: InitialLabels = "exact"


def solve(net: ResidualArrays, options: LockFreeOptions, control: Control) -> Array:
    """Run the first stage in place; return exact heights.

    O(n^2 m) operations. Memory: three indices a vertex, and a byte with concurrent searches.
    """
    return push_relabel(
        net,
        net.head.dtype,
        options.relabel_period,
        options.concurrent_relabel,
        control,
        options.initial_labels,
    )
