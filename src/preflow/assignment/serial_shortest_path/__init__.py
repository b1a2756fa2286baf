"""Shortest augmenting paths: one Dijkstra search for each row that reductions leave free.

Jonker and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987).

Definitions are in :mod:`..search_state` and :mod:`..augmenting_paths`.

Invariants, after column reduction:

- No reduced cost of a row is below that of the row's own column.
- Prices only fall. If there are more columns than rows, the price of every free column is 0.

::

    for each matrix:                                                       solve_items
        column reduction, if there are as many rows as columns             reduce_columns
        list the cheapest columns of all rows                              list_row
        twice: augmenting row reduction of the free rows                   reduce_rows
        for each free row: match it along a shortest path                  augment_rows
        write columns and prices                                           write_solution

Points are solved by :mod:`.points`, or by :mod:`.places` if many of them coincide; so are dense costs with
many equal rows or columns.

Departures for dense costs: a row lists its cheapest columns and has a bound on the others, which stays valid
since prices only fall. A search reads lists only, until it needs a column that may be missing. It then lists
that row again; the next time it makes a longer list; if the list has no more space, the search continues over
whole rows, which suit vector instructions. Lists are given up if making them takes a large share of the work
that whole rows would take, as with the costs of Machol and Wien. Reduction transfer is left out, since row
reduction finds the same prices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...graph.costs import DenseCosts, SparseCosts
from ...graph.point_costs import PointCosts
from ...solving.run import Control
from ..shortest_paths import ShortestPathOptions, solve_costs
from ..solution import Solution
from .places import FEW_PLACES, group, group_dense, solve_places
from .points import solve_points

#: The matrix of distances from the places must have at most this many entries. docs/notebook has the
#: measurements.
MOST_DISTANCES = 1 << 24
#: From this number of rows on, equal rows or columns of a single dense matrix are looked for: that takes two
#: sorts of as many numbers.
ROWS_FOR_PLACES = 256


def _solve_points(costs: PointCosts, options: ShortestPathOptions, control: Control) -> Solution:
    """Solve costs of points: between places if few points differ, else by auction and searches."""
    m = costs.shape[2]
    places = [group(points) for points in costs.embedded]
    of_rows = len(places[0].first) <= len(places[1].first)
    fewer = places[0 if of_rows else 1]
    few = len(fewer.first) <= FEW_PLACES * len(fewer.order)
    if few and len(fewer.first) * m <= MOST_DISTANCES:
        control.remarks.append(f"points of one side are at {len(fewer.first):,} places: paths between these")
        return _one(solve_places(costs, fewer, of_rows, control))
    return _one(solve_points(costs, options.auction, options.row_reduction, control))


def _one(found: tuple[NDArray[np.int64], Array, Array, int]) -> Solution:
    """Return the solution of one matrix."""
    match, u, v, ending = found
    nobody = np.empty(0, dtype=np.int64)
    return Solution(match[None], u[None], v[None], np.array([ending]), nobody, nobody)


def solve(
    costs: DenseCosts | SparseCosts | PointCosts,
    options: ShortestPathOptions,
    control: Control,
    go_on: bool = False,
) -> Solution:
    """Assign a column to every row at the least cost.

    O(n**2 m) time for dense costs, O(n e log m) for e sparse ones. Memory besides the costs: about 100 bytes
    per column, 60 bytes per row, and 3 KiB per row for the lists of dense costs.
    """
    if isinstance(costs, PointCosts):
        return _solve_points(costs, options, control)
    if isinstance(costs, DenseCosts) and costs.shape[0] == 1 and costs.shape[1] >= ROWS_FOR_PLACES:
        dense = group_dense(costs)
        if dense is not None:
            control.remarks.append(f"one side has {len(dense[0].first):,} kinds: paths between these")
            return _one(solve_places(costs, *dense, control))
    return solve_costs(costs, options, control, go_on)
