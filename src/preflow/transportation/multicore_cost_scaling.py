"""Cost scaling on pairs of small reduced cost, by several threads; network simplex then adds other pairs.

Column generation as in :mod:`.serial_network_simplex`. There, the first run of the simplex takes most of the
time. Here, :mod:`preflow.mincost.multicore_cost_scaling` solves the first reduced problem, and the simplex
starts from its flow. Threads share the rows when pairs are priced.

Definitions. The *reduced cost* of a pair is its cost, plus the price of the row, minus the price of the
column. The *reduced problem* has the listed pairs only. A plan is a *forest* if its pairs with mass are the
edges of one.

Invariants:

1. Before the simplex starts, its flow sends all masses and is a forest, and each tree hangs below the
   artificial root by a row, or is a column without mass. So the tree of the simplex is strongly feasible.
2. The capacity of a pair in the reduced problem is one more than its row or its column has. So no pair is
   full, and the pairs with mass have reduced cost zero when the flow is optimal.
3. Those of :mod:`.serial_network_simplex`, after each run of the simplex.

Pseudo-code::

    each thread, for some rows: find the cheapest pairs
    list them, and a plan by the north-west corner rule
    solve the reduced problem by cost scaling on all threads
    cancel the cycles of the pairs with mass: a forest is left
    make it the tree of a simplex
    loop:
        run the simplex on the listed pairs
        each thread, for some rows: find the pairs of most negative reduced cost among all columns
        if there are none: the plan is optimal
        list these pairs

Large costs are rounded for cost scaling, to the cheaper of two multiples of a power of two. Its flow then is
not quite optimal for the costs of the simplex, which makes some more pivots. If cost scaling finds the
listed pairs too few to send all masses, the simplex starts from nothing. With few threads one of them runs
:mod:`preflow.mincost.serial_cost_scaling`. A sparse matrix is left to the simplex of one thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.point_costs import PointCosts
from ..graph.standard_form import StandardForm
from ..mincost.multicore_cost_scaling import LockFreeCostScaling, LockFreeOptions
from ..mincost.serial_cost_scaling import CostScaling
from ..mincost.serial_network_simplex.tree import ARTIFICIAL
from ..mincost.solution import FlowState
from ..solving.run import Control
from .forest import spanning_forest
from .serial_network_simplex import (
    ColumnGeneration,
    TransportSimplexOptions,
    north_west,
    solve_sparse,
)
from .solution import TransportFound

#: Costs are rounded to this many bits for cost scaling: a guess. Each four bits take one more refine.
ROUNDED_BITS = 24
#: With fewer threads the serial cost scaling is faster. On a Xeon, the reduced problems of random costs and
#: of squared distances, of 10,000 rows and columns, took 0.43 and 1.3 s by the serial method, 0.41 and 1.6 s
#: on 4 threads, 0.22 and 0.9 s on 8, 0.18 and 0.9 s on 16; by network simplex 3.8 and 2.6 s.
MANY_THREADS = 6
#: A row lists at least one pair of this number of columns at first. With 20 and 40 pairs of 10,000 columns,
#: 16 cores of two Xeons took 0.70 and 0.90 s on random costs, 5.0 and 2.1 s on squared distances.
COLUMNS_PER_PAIR = 250
#: Masses whose sum is larger are left to the simplex: the capacities of cost scaling would be too large.
MOST_MASS = 2**60


@dataclass(frozen=True)
class ScaledTransportOptions(TransportSimplexOptions):
    """Options of cost scaling for transport.

    Attributes
    ----------
    listed : int
        Pairs that each row lists at first, or more if there are many columns. With 20 and 40, 16 cores of a
        Xeon took 0.25 and 0.32 s on random costs of 4000 x 4000 pairs, 0.51 and 0.54 s on squared distances.
    added : int
        The most pairs that a row adds in a round.
    """


class ScaledColumnGeneration(ColumnGeneration):
    """The solve of one item."""

    def first_pairs(self) -> tuple[Array, Array]:
        """Return the cheapest pairs of each row."""
        return self.cheapest_of_rows(max(self.options.listed, self.pricing.m // COLUMNS_PER_PAIR))

    def begin(self) -> None:
        """List the first pairs, and start the simplex from the optimal flow of the reduced problem."""
        n, m = self.pricing.n, self.pricing.m
        pairs = self.first_pairs(), north_west(self.a, self.b)
        # Each pair once: their capacities at a vertex then sum to little more than all masses.
        code = np.unique(np.concatenate([row.astype(np.int64) * m + column for row, column in pairs]))
        self.add(code // m, code % m)
        if self.control.stopped or self.a.sum() > MOST_MASS:
            return
        row, column = self.lists[0]
        cost = self.simplex.arcs.cost[: self.simplex.end]
        dropped = max(self.pricing.largest.bit_length() - ROUNDED_BITS, 0)
        state = self.scaled(row, column, cost >> dropped)
        if state.ending != "optimal":
            return
        used = np.flatnonzero(state.flow)
        forest = spanning_forest(row[used], column[used], state.flow[used], n, m)
        parent, by = hung_by_rows(forest.parent, forest.by, forest.mass, n)
        by[by >= 0] = used[by[by >= 0]]
        parent[parent < 0], by[by < 0] = n + m, ARTIFICIAL
        self.simplex.start_from(parent.astype(np.uint32), by.astype(np.uint32), state.potential << dropped)

    def scaled(self, row: Array, column: Array, cost: NDArray[np.int64]) -> FlowState:
        """Return the optimal state of the reduced problem."""
        form = StandardForm(
            row.astype(np.uint32),
            (self.pricing.n + column).astype(np.uint32),
            np.minimum(self.a[row], self.b[column]) + 1,
            cost,
            np.concatenate([self.a, -self.b]),
        )
        method = LockFreeCostScaling if self.control.threads >= MANY_THREADS else CostScaling
        return method(form, None, LockFreeOptions(), self.control).solve()


def hung_by_rows(
    parent: NDArray[np.int64], by: NDArray[np.int64], mass: NDArray[np.int64], num_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the forest without pairs of no mass, and with rows as the roots of all trees with mass."""
    parent, by = parent.copy(), by.copy()
    empty = np.flatnonzero(by >= 0)
    empty = empty[mass[by[empty]] == 0]
    parent[empty], by[empty] = -1, -1
    # The last child of a root that is a column becomes the root.
    child = np.flatnonzero(parent >= num_rows)
    child = child[parent[parent[child]] < 0]
    heir = np.full(len(parent), -1, dtype=np.int64)
    heir[parent[child]] = child
    root = np.flatnonzero(heir >= 0)
    row = heir[root]
    parent[root], by[root] = row, by[row]
    parent[row], by[row] = -1, -1
    return parent, by


def solve(
    costs: DenseCosts | SparseCosts | PointCosts,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    options: ScaledTransportOptions,
    control: Control,
) -> list[TransportFound]:
    """Solve: see :class:`preflow.solving.protocol.TransportSolver`."""
    found = []
    for item in range(len(a)):
        part = costs.one(item)
        if isinstance(part, SparseCosts):
            found.append(solve_sparse(part, a[item], b[item], control))
        else:
            found.append(ScaledColumnGeneration(part, (a[item], b[item]), options, control).solve())
        control.excess[:] = 1
    return found
