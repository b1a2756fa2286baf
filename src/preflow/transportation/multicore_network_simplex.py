"""Network simplex whose start comes from all threads: smoothed prices, then one refine of cost scaling.

Column generation as in :mod:`.serial_network_simplex`. There, the first run of the simplex takes most of the
time, and it has one thread. Here, all threads find prices that are nearly optimal (:mod:`.smoothing`), list
the pairs that are cheap by these, and refine a flow of these pairs. That leaves few pivots. Threads share the
rows when pairs are priced. The GPU method :mod:`.cuda_transport` starts large items in the same way.

Definitions. The *reduced cost* of a pair is its cost, plus the price of the row, minus the price of the
column. The *reduced problem* has the listed pairs only. A plan is a *forest* if its pairs with mass are the
edges of one.

Invariants:

1. Before the simplex starts, its flow sends all masses and is a forest, and each tree hangs below the
   artificial root by a row, or is a column without mass. So the tree of the simplex is strongly feasible.
2. The capacity of a pair in the reduced problem is one more than its row or its column has. So no pair is
   full, and those with mass have reduced costs of at most epsilon.
3. Those of :mod:`.serial_network_simplex`, after each run of the simplex.

Pseudo-code::

    smooth the prices of columns                                                    smoothing.py
    each thread, for some rows: find the pairs that are cheap by these prices
    each thread, for some rows: find the cheapest of these rows for each column
    list these pairs, and a plan by the north-west corner rule
    refine a flow of them, on some threads, for an epsilon of a part of the last temperature
    cancel the cycles of the pairs with mass: a forest is left
    make it the tree of a simplex
    loop:
        run the simplex on the listed pairs
        each thread, for some rows: find the pairs of most negative reduced cost among all columns
        if there are none: the plan is optimal
        list these pairs

A cycle is cancelled in any direction, as reduced costs differ little from zero; the simplex repairs what
that loses. If the listed pairs are too few to send all masses, the simplex starts from nothing. A sparse
matrix is left to the simplex of one thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Int64, Numbers
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.point_costs import PointCosts
from ..graph.standard_form import StandardForm
from ..kernels.atomics import fetch_add, relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..mincost.cost_scaling import CostScaling, CostScalingOptions
from ..mincost.cost_scaling.on_threads import LockFreeCostScaling
from ..mincost.network_simplex.tree import ARTIFICIAL
from ..mincost.solution import FlowState
from ..parallel.pieces import run_pieces
from ..parallel.thread_pool import in_pool, run_natively, share_of
from ..solving.options import PositiveInteger
from ..solving.run import Control
from .column_generation import (
    ColumnGeneration,
    TransportSimplexOptions,
    north_west,
    solve_one,
)
from .forest import spanning_forest
from .smoothing import smooth_prices
from .solution import TransportFound

#: The epsilon of the refine, as a part of the last temperature. In a prototype (docs/notebook has it) 0.2 and
#: 0.6 left 1,073 and 1,486 pivots on squared distances of 4000 rows, 149 and 495 on random costs, and took
#: 209,000 and 161,000 relabels, 170,000 and 83,000.
EPSILON = 0.4
#: With fewer threads the refine of serial cost scaling is faster. On a Xeon, the whole cost scaling of random
#: costs and of squared distances, of 10,000 rows and columns, took 0.43 and 1.3 s by the serial method, 0.41
#: and 1.6 s on 4 threads, 0.22 and 0.9 s on 8, 0.18 and 0.9 s on 16.
MANY_THREADS = 6
#: A refine from smoothed prices has at most one thread for this number of rows and columns. On 1, 8 and 16
#: threads of a quiet Xeon, the refine of 4000 x 4000 pairs took 43, 27 and 19 ms on random costs, 57, 42 and
#: 28 ms on squared distances. In a busy hour 16 threads, which wait for each other, took 100 to 400 ms, and 8
#: took 90.
VERTICES_PER_THREAD = 1000
#: Rows are searched in this number of groups for the cheapest one of each column, and of as many groups
#: together as leave LISTED_BY_COLUMNS.
GROUPS, LISTED_BY_COLUMNS = 64, 8
#: Masses whose sum is larger are left to the simplex: the capacities of cost scaling would be too large.
MOST_MASS = 2**60


@dataclass(frozen=True)
class MulticoreSimplexOptions(TransportSimplexOptions):
    """Options of network simplex from a parallel start.

    Attributes
    ----------
    listed : int
        Pairs that each row lists at first. With fewer pairs the refine takes less time and the simplex makes
        more pivots.
    added : int
        The most pairs that a row adds in a round.
    temperatures, steps : int
        Prices are smoothed at this number of temperatures, with this number of steps at each. With fewer
        steps in all, refine and simplex have more work left.
        Random costs hardly differ.
    """

    listed: PositiveInteger = 16
    temperatures: PositiveInteger = 12
    steps: PositiveInteger = 3


class ColumnSearch(NamedTuple):
    """A search of the rows of each group for the cheapest pair of each column."""

    cost: Numbers  #: shape (n, m)
    price: Numbers  #: shape (n,)
    value: Numbers  #: shape (groups, m): the least cost plus price
    found: NDArray[np.int64]  #: shape (groups, m): the row; -1 if there is none
    turn: NDArray[np.uint64]  #: shape (1,): the first group that no thread has taken
    stop: AnyArray  #: the stop flag


@kernel
def cheapest_rows(
    cost: Numbers,
    price: Numbers,
    first: Int64,
    begin: np.uint64,
    end: np.uint64,
    value: Numbers,
    found: NDArray[np.int64],
) -> None:
    """Lower `value` of each column to the least cost plus price of some rows; keep the row in `found`.

    Row `i` of `cost` has number `first + i`.
    """
    m = np.uint64(len(value))
    for i in range(begin, end):
        row = first + np.int64(i)
        for j in range(m):
            reduced = cost[i, j] + price[i]
            if reduced < value[j]:
                value[j] = reduced
                found[j] = row


@kernel
def columns_share(thread: np.uint64, search: ColumnSearch) -> None:
    """Search one group of rows after the other, until there are none or the solve is to stop."""
    n, groups = np.uint64(len(search.cost)), np.uint64(len(search.value))
    while relaxed_load(search.stop, ZERO) == 0:
        group = fetch_add(search.turn, ZERO, ONE)
        if group >= groups:
            break
        begin, end = share_of(n, group, groups)
        value, found = search.value[group], search.found[group]
        cheapest_rows(search.cost, search.price, np.int64(0), begin, end, value, found)


columns_together = in_pool("columns_together", columns_share)


@kernel
def merge_pairs(
    found: NDArray[np.int64],
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    first: NDArray[np.uint64],
    by_row: NDArray[np.int64],
    seen: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> np.uint64:
    """Write the rows and columns of pairs to `pairs`, each pair once; return how many there are.

    The pairs are the columns of each row in `found`, up to one of -1, and others, of which row ``i`` has
    ``first[i + 1] - first[i]``. `by_row` is room for these, `seen`, one number a column, is zero.
    """
    for k in range(np.uint64(len(row))):
        place = first[row[k]]
        by_row[place] = column[k]
        first[row[k]] = place + ONE
    count, begin = ZERO, ZERO
    for i in range(np.uint64(len(found))):
        mark = np.int64(i) + 1
        for k in range(np.uint64(found.shape[1])):
            j = found[i, k]
            if j < 0:
                break
            seen[j] = mark
            pairs[0, count], pairs[1, count] = np.int64(i), j
            count += ONE
        # The places of the row's other pairs have moved `first` to where the next row begins.
        end = first[i]
        while begin < end:
            j = by_row[begin]
            if seen[j] != mark:
                seen[j] = mark
                pairs[0, count], pairs[1, count] = np.int64(i), j
                count += ONE
            begin += ONE
    return count


class ScaledColumnGeneration(ColumnGeneration):
    """The solve of one item."""

    options: MulticoreSimplexOptions

    def begin(self) -> None:
        """List the first pairs, and start the simplex from a flow that is nearly optimal."""
        if not 0 < self.a.sum() <= MOST_MASS:
            super().begin()
            return
        if self.pricing.m <= self.options.listed:
            # All pairs are listed: cost scaling leaves no pivots.
            super().begin()
            state = CostScaling(self.form(), None, CostScalingOptions(), self.control).solve()
            if state.ending == "optimal":
                self.start_simplex(state)
            return
        prices, epsilon = self.list_by_smoothed_prices()
        if not self.control.stopped:
            state_found = self.state_from(prices, epsilon)
            if state_found is not None:
                self.start_simplex(state_found)

    def list_by_smoothed_prices(self) -> tuple[NDArray[np.int64], float]:
        """List the pairs that are cheap by smoothed prices; return these and epsilon, in integer costs."""
        pricing, options = self.pricing, self.options
        shape = options.temperatures, options.steps
        smooth = smooth_prices(
            pricing.blocks, pricing.dense, pricing.extremes, (self.a, self.b), shape, self.control
        )
        exponent = pricing.exponent
        column_price = (np.rint(smooth.price) if exponent is None else smooth.price).astype(pricing.kind)
        found = pricing.search(column_price, pricing.no_limit, options.listed)
        # The first pair of each row has the least reduced cost.
        row_price = np.zeros(pricing.n, dtype=pricing.kind)
        rows = np.flatnonzero(found[:, 0] >= 0)
        column = found[rows, 0]
        row_price[rows] = column_price[column] - pricing.costs.at(0, rows, column)
        self.list_pairs(found, self.cheapest_of_columns(row_price), north_west(self.a, self.b))
        if exponent is None:
            prices = np.concatenate([row_price, column_price])
        else:
            prices = pricing.potentials(row_price, column_price)
        return prices, EPSILON * math.ldexp(smooth.temperature, exponent or 0)

    def list_pairs(self, found: NDArray[np.int64], *others: tuple[Array, Array]) -> None:
        """List the columns that a search has found for each row, and other pairs.

        Each pair once: their capacities at a vertex then sum to little more than all masses.
        """
        n, m = self.pricing.n, self.pricing.m
        row, column = (np.concatenate(side).astype(np.int64) for side in zip(*others, strict=True))
        first = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum(np.bincount(row, minlength=n), out=first[1:])
        pairs = np.empty((2, found.size + len(row)), dtype=np.int64)
        room = np.empty(len(row), dtype=np.int64), np.zeros(m, dtype=np.int64)
        end = merge_pairs(found, row, column, first, *room, pairs)
        self.add(pairs[0, :end], pairs[1, :end])

    def cheapest_of_columns(self, row_price: Array) -> tuple[Array, Array]:
        """Return the cheapest pairs of each column: one for each of some groups of rows."""
        pricing, (n, m) = self.pricing, (self.pricing.n, self.pricing.m)
        groups, threads = min(GROUPS, n), self.control.threads
        value = np.full((groups, m), pricing.no_limit[0], dtype=pricing.kind)
        found = np.full((groups, m), -1, dtype=np.int64)
        if pricing.dense is not None:
            turn = np.zeros(1, dtype=np.uint64)
            search = ColumnSearch(pricing.dense, row_price, value, found, turn, self.control.stop)
            run_natively(columns_together, search, threads)
        else:

            def price_columns(begin: int, end: int) -> None:
                for group in range(begin, end):
                    for first, cost in pricing.blocks(group * n // groups, (group + 1) * n // groups):
                        rows = np.int64(first), np.uint64(0), np.uint64(len(cost))
                        price = row_price[first : first + len(cost)]
                        cheapest_rows(cost, price, *rows, value[group], found[group])

            run_pieces(price_columns, groups, threads, each=1)
        parts = np.array_split(np.arange(groups), min(LISTED_BY_COLUMNS, groups))
        every = np.arange(m)
        row = np.concatenate([found[part[value[part].argmin(axis=0)], every] for part in parts])
        column = np.tile(every, len(parts))
        return row[row >= 0], column[row >= 0]

    def start_simplex(self, state: FlowState) -> None:
        """Make a flow of the reduced problem the tree of the simplex."""
        n, m = self.pricing.n, self.pricing.m
        row, column = self.lists[0]
        used = np.flatnonzero(state.flow)
        forest = spanning_forest(row[used], column[used], state.flow[used], n, m)
        parent, by = hung_by_rows(forest.parent, forest.by, forest.mass, n)
        by[by >= 0] = used[by[by >= 0]]
        parent[parent < 0], by[by < 0] = n + m, ARTIFICIAL
        self.simplex.start_from(parent.astype(np.uint32), by.astype(np.uint32), state.potential)

    def form(self) -> StandardForm:
        """Return the reduced problem as a minimum-cost flow."""
        row, column = self.lists[0]
        return StandardForm(
            row.astype(np.uint32),
            (self.pricing.n + column).astype(np.uint32),
            np.minimum(self.a[row], self.b[column]) + 1,
            self.simplex.arcs.cost[: self.simplex.end],
            np.concatenate([self.a, -self.b]),
        )

    def state_from(self, prices: NDArray[np.int64], epsilon: float) -> FlowState | None:
        """Return a flow of the reduced problem that is optimal for epsilon; None if none sends all masses."""
        control, form = self.control, self.form()
        start = FlowState(np.zeros(len(form.tail), dtype=np.int64), prices)
        threads = min(control.threads, len(form.supply) // VERTICES_PER_THREAD)
        if threads < MANY_THREADS:
            return CostScaling(form, start, CostScalingOptions(), control).refined(epsilon)
        return LockFreeCostScaling(form, start, CostScalingOptions(), control.part(threads)).refined(epsilon)


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
    options: MulticoreSimplexOptions,
    control: Control,
) -> list[TransportFound]:
    """Solve: see :class:`preflow.solving.protocol.TransportSolver`."""
    found = []
    for item in range(len(a)):
        masses = a[item], b[item]
        found.append(solve_one(ScaledColumnGeneration, costs.one(item), masses, options, control))
        control.progress[:] = 1
    return found
