"""Assignments between points, whose costs are never stored: an auction over a tree, then shortest paths.

Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
Operations Research 14 (1988): rows bid for columns, and how much they overbid each other falls from phase to
phase, while the prices stay. With points, a tree over the priced columns (:mod:`..graph.kd_tree`) finds the
best ones of a row without a look at most of them, and lists of these answer most bids without the tree.

Departures: the prices of the last phase are where reduction of rows and shortest augmenting paths begin, so
that the answer is exact; a phase has a limit, behind which these do the rest. Where there are more columns
than rows, the auction is left out: a column that no row has in the end must never have had a bid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.kd_tree import make_tree, set_prices, tree_order
from ..graph.point_costs import PointCosts
from ..solving.run import Control
from ..stats import ARC_SCANS
from .points import (
    Points,
    auction,
    free_rows,
    least_reduced_costs,
    list_all,
    reduce_rows,
    search_all,
)
from .state import SOLVED, Lists, State, clear, make_lists, make_state

#: Columns of a row's list, ...
ROOM = 12
#: ... and of those that the tree gives beyond it at once.
WINDOW = 32
#: By how much bids of the first phase go beyond the second best column, over the mean difference of costs
#: within a row's list; by how much less those of each phase do; and by how much more, where the first phase
#: does not end within so many bids a row.
FIRST_OVERBID = 2.0
STEP = 6.0
FIRST_BIDS = 30
LARGER = 30.0
#: From this overbid on, over that difference, an exact solution is tried; the auction goes on where that
#: leaves more than this share of the rows without a column, as where ties abound.
LAST_OVERBID = 1e-4
SHARE_LEFT = 0.2
#: Bids of a later phase, over the number of rows.
MOST_BIDS = 200
#: What reduced costs may be off by, over the largest cost or price, from rounding.
ROUNDING = 4 * float(np.finfo(np.float64).eps)
#: Passes over the free rows in row reduction.
PASSES = 2


class PointSolve:
    """One solve, rows and columns in the order of trees; `free` is how many rows have no column."""

    def __init__(self, costs: PointCosts, reduction: float, control: Control) -> None:
        _, n, m = costs.shape
        self.control = control
        self.points, self.row_order, self.column_order = make_points(costs, WINDOW)
        self.state: State = make_state(n, m, np.float64)
        self.lists: Lists = make_lists(n, min(ROOM, m), ROOM, np.float64)
        self.budget = np.uint64(min(reduction * n, 2.0**60))
        self.free = np.uint64(n)

    def run(self, use_auction: bool) -> int:
        """Assign all rows; return the ending."""
        state, control = self.state, self.control
        clear(state)
        control.excess[:] = len(state.row_match)
        ending, spread = list_all(self.points, self.lists, state, control.stop)
        if ending == SOLVED and use_auction:
            ending = self.hold_auction(spread / len(state.row_match))
        elif ending == SOLVED:
            ending = self.reduce()
        if ending != SOLVED:
            return int(ending)
        searched = search_all(
            self.points, self.lists, state, self.free, control.stop, control.counts, control.excess
        )
        return int(searched)

    def hold_auction(self, spread: float) -> int:
        """Set prices and match rows by an auction; return the ending."""
        num_rows = len(self.state.row_match)
        largest = float(np.abs(self.lists.cost).max())
        if spread == 0.0:
            return self.reduce()  # no row's list tells what to bid
        overbid = FIRST_OVERBID * spread
        ending = self.hold_phase(overbid, FIRST_BIDS)
        while ending == SOLVED and self.free and overbid < largest:
            overbid *= LARGER
            ending = self.hold_phase(overbid, FIRST_BIDS)
        while ending == SOLVED and overbid > 0.25 * self.rounding():
            overbid /= STEP
            ending = self.hold_phase(overbid, MOST_BIDS)
            if ending == SOLVED and overbid <= LAST_OVERBID * spread:
                ending = self.reduce()
                if self.free <= SHARE_LEFT * num_rows:
                    break
        return ending

    def hold_phase(self, overbid: float, bids: int) -> int:
        """Let all rows whose column is not their best, but for the overbid, bid; return the ending."""
        control = self.control
        ending, self.free = free_rows(self.points, self.lists, self.state, overbid, control.stop)
        if ending == SOLVED:
            ending, self.free = auction(
                self.points,
                self.lists,
                self.state,
                self.free,
                overbid,
                np.uint64(bids * len(self.state.row_match)),
                control.stop,
                control.counts,
            )
        return int(ending)

    def reduce(self) -> int:
        """Keep pairs that are as good as exact, and match more by reduction of rows; return the ending."""
        control = self.control
        ending, self.free = free_rows(self.points, self.lists, self.state, self.rounding(), control.stop)
        for _ in range(PASSES if self.budget else 0):
            if ending == SOLVED:
                ending, self.free = reduce_rows(
                    self.points, self.lists, self.state, self.free, self.budget, control.stop, control.counts
                )
        return int(ending)

    def rounding(self) -> float:
        """Return what reduced costs may be off by."""
        return ROUNDING * max(float(np.abs(part).max()) for part in (self.lists.cost, self.state.price))


def make_points(costs: PointCosts, window: int) -> tuple[Points, NDArray[np.int64], NDArray[np.int64]]:
    """Return a tree over the columns, whose prices are 0, and the orders of rows and columns in there."""
    rows, columns = costs.embedded
    row_order, column_order = tree_order(rows), tree_order(columns)
    points = Points(
        tree=make_tree(columns[column_order], costs.kind, costs.factor),
        row=rows[row_order],
        column=np.zeros(window, dtype=np.uint32),
        cost=np.zeros(window),
        reduced=np.zeros(window),
        after=np.zeros(len(rows)),
        last=np.zeros(len(rows), dtype=np.uint64),
        looked=np.zeros(len(rows), dtype=np.uint64),
    )
    return points, row_order, column_order


def row_minima(costs: PointCosts, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest prices of rows that, with those of columns, exceed no cost."""
    points, row_order, column_order = make_points(costs, 1)
    price = v[column_order]
    set_prices(points.tree, price)
    least = np.zeros(len(row_order))
    least_reduced_costs(points, price, least)
    found = np.empty_like(least)
    found[row_order] = least
    return found


def solve_points(
    costs: PointCosts, use_auction: bool, reduction: float, control: Control
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], int]:
    """Return the column of every row, the prices of rows and of columns, and the ending.

    Costs are to be minimised and have at least as many columns as rows.
    """
    _, n, m = costs.shape
    found = PointSolve(costs, reduction, control)
    ending = found.run(use_auction and n == m)
    control.counts[ARC_SCANS] += found.points.tree.looked[0]
    state = found.state
    match, u, v = np.full(n, -1), np.zeros(n), np.zeros(m)
    v[found.column_order] = state.price
    if ending == SOLVED:
        columns = state.row_match.astype(np.int64)
        match[found.row_order] = found.column_order[columns]
        u[found.row_order] = state.matched_cost - state.price[columns]
    return match, u, v, ending
