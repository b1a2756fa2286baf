"""Network simplex on pairs of small reduced cost; others are added until none has negative reduced cost.

Column generation (Ford and Fulkerson 1958) over the network simplex of
:mod:`preflow.mincost.serial_network_simplex`, in :mod:`.column_generation`. A plan uses n + m - 1 pairs at
most, so most pairs never matter.

Definitions. The *reduced cost* of a pair is its cost, plus the price of the row, minus the price of the
column.

Invariants, after each run of the simplex:

1. The plan is optimal among those that use only the listed pairs.
2. No listed pair has negative reduced cost.

Pseudo-code::

    list the cheapest pairs of each row, and a plan by the north-west corner rule
    loop:
        run the simplex on the listed pairs, from its last tree
        for each row: find the pairs of most negative reduced cost among all columns
        if there are none: the plan is optimal
        list these pairs

Every round lists new pairs, so the loop ends. A round reads all costs once. Costs of points are computed a
block of rows at a time. Costs that are floats are rounded to integers for the simplex: the plan is optimal
for the rounded costs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..solving.run import Control
from .column_generation import ColumnGeneration, Costs, TransportSimplexOptions, solve_one
from .solution import TransportFound


def solve(
    costs: Costs,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    options: TransportSimplexOptions,
    control: Control,
) -> list[TransportFound]:
    """Solve: see :class:`preflow.solving.protocol.TransportSolver`."""
    control.progress[:] = a.sum(dtype=np.float64)
    masses = zip(a, b, strict=True)
    return [
        solve_one(ColumnGeneration, costs.one(item), each, options, control)
        for item, each in enumerate(masses)
    ]
