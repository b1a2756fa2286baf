"""Assignments between points, whose costs are never stored: an auction over a tree, then shortest paths.

Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
Operations Research 14 (1988). Free rows bid for columns: a bid lowers the price of the row's best column
below its second best by the *overbid*. The overbid falls from phase to phase; the prices stay. For points, a
k-d tree over the priced columns (graph/kd_tree.py) finds the best columns of a row without reading most of
them. Each row keeps the last ones found in a list, which answers most bids without the tree.

Invariants:

- A row's list has its best columns as of some time, and its bound is below the reduced costs of all others:
  prices only fall.
- After a phase, the reduced cost of each row's column exceeds the row's least one by at most the overbid.

::

    list the best columns of all rows                                      list_all
    if there are as many rows as columns:                                  hold_auction
        phases with a large overbid, larger until one phase ends
        phases with smaller and smaller overbids:
            free the rows whose column is not their best up to the overbid   free_rows
            let free rows bid until none is left, or too many bids are made  auction
            if the overbid is small: keep the exact pairs, reduce rows       reduce
            until few rows are free
    else: augmenting row reduction                                         reduce_rows
    for each free row: match it along a shortest path                      search_points

Departures: row reduction and shortest augmenting paths start from the prices of the last phase and make the
answer exact. The number of bids of a phase is limited; the searches do the rest. With more columns than rows
there is no auction, because a column that is left over must never have had a bid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Index, Indices, Int64, Number, Numbers
from ...graph.kd_tree import KDTree, find_best, leaf_costs, lower_price, make_tree, set_prices, tree_order
from ...graph.point_costs import PointCosts
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..augmenting_paths import augment, pop, put, reset_touched, row_height
from ..row_reduction import two_best
from ..search_state import DONE, NONE, Lists, SearchState, clear, make_lists, make_state
from ..solution import INFEASIBLE, SOLVED, STOPPED

#: Columns of a row's list.
ROOM = 12
#: Columns beyond the list that the tree returns at once.
WINDOW = 32
#: The overbid of the first phase, relative to the *spread*: the mean difference between the largest and the
#: least cost in a row's list.
FIRST_OVERBID = 2.0
#: Each phase divides the overbid by this.
STEP = 6.0
#: If the first phase does not end within FIRST_BIDS bids per row, the overbid is multiplied by LARGER.
FIRST_BIDS = 30
LARGER = 30.0
#: From this overbid on, relative to the spread, each phase ends with row reduction. The auction continues if
#: that leaves more than this share of the rows free, as with many ties.
LAST_OVERBID = 1e-4
SHARE_LEFT = 0.2
#: Most bids per row of a later phase.
MOST_BIDS = 200
#: Rounding error of reduced costs, relative to the largest cost or price.
ROUNDING = 4 * float(np.finfo(np.float64).eps)
#: Passes over the free rows in row reduction.
PASSES = 2
#: Distances of a search that differ by this share of the last pair's cost differ only by rounding.
TIE = 2 * float(np.finfo(np.float64).eps)


class Points(NamedTuple):
    """The points, and the columns that the tree found last."""

    tree: KDTree  #: a tree over the columns and their prices
    row: NDArray[np.float64]  #: shape (n, d): the points of rows
    column: NDArray[np.uint32]  #: shape (window,): the columns that the tree found last
    #: shape (window,): their costs and reduced costs
    cost: NDArray[np.float64]
    reduced: NDArray[np.float64]
    #: shape (n,): for rows that went beyond their lists in a search: the largest reduced cost found so far
    after: NDArray[np.float64]
    last: NDArray[np.uint64]  #: shape (n,): the column of that reduced cost
    #: shape (n,): the number of columns that the tree read for such a row in this search
    looked: NDArray[np.uint64]


@kernel
def _find_columns(
    points: Points, price: Numbers, row: Index, room: np.uint64, after: float, last: np.uint64
) -> np.uint64:
    """Find up to `room` best columns of a row that come after (`after`, `last`); return their number."""
    tree = points.tree
    for axis in range(np.uint64(len(tree.query))):
        tree.query[axis] = points.row[row, axis]
    return find_best(tree, price, room, points.column, points.cost, points.reduced, after, last)


@kernel
def list_best(points: Points, lists: Lists, state: SearchState, row: Index, number: Number) -> None:
    """List the best columns of a row at the current prices."""
    first = lists.first[row]
    room = lists.first[row + ONE] - first
    size = _find_columns(points, state.price, row, room, -np.inf, NONE)
    for k in range(size):
        lists.column[first + k] = points.column[k]
        lists.cost[first + k] = points.cost[k]
    lists.size[row] = size
    lists.bound[row] = points.reduced[size - ONE] if size == room else state.limits.beyond
    lists.built[row] = number


@kernel
def list_all(
    points: Points, lists: Lists, state: SearchState, stop: NDArray[np.int64]
) -> tuple[Int64, float]:
    """List all rows; return the ending and the sum of the differences of last and first cost listed."""
    spread = 0.0
    for i in range(np.uint64(len(state.row_match))):
        if relaxed_load(stop, 0) != 0:
            return STOPPED, spread
        list_best(points, lists, state, i, ZERO)
        first = lists.first[i]
        spread += lists.cost[first + lists.size[i] - ONE] - lists.cost[first]
    return SOLVED, spread


@kernel
def _two_best(
    points: Points, lists: Lists, state: SearchState, row: Index
) -> tuple[float, np.uint64, float, np.uint64]:
    """Return the least two reduced costs of a row, each with its place in the list."""
    best, place, second, place_2 = two_best(lists, state.price, row, state.limits.beyond)
    if second > lists.bound[row]:
        list_best(points, lists, state, row, ZERO)
        best, place, second, place_2 = two_best(lists, state.price, row, state.limits.beyond)
    return best, place, second, place_2


@kernel
def _match(lists: Lists, state: SearchState, row: np.uint64, place: np.uint64) -> Number:
    """Match a row with the column at a place of its list; return the row that had it, or NONE."""
    column = np.uint64(lists.column[place])
    other = state.column_match[column]
    if other != NONE:
        state.row_match[other] = NONE
    state.row_match[row] = column
    state.matched_cost[row] = lists.cost[place]
    state.column_match[column] = row
    return other


@kernel
def free_rows(
    points: Points, lists: Lists, state: SearchState, epsilon: float, stop: NDArray[np.int64]
) -> tuple[Int64, Index]:
    """Free the rows that have a better column by more than `epsilon`, and list all free rows.

    Return the ending, and the number of rows in `free`.
    """
    size = ZERO
    for i in range(np.uint64(len(state.row_match))):
        if relaxed_load(stop, 0) != 0:
            return STOPPED, size
        j = state.row_match[i]
        if j != NONE:
            best, _, _, _ = _two_best(points, lists, state, i)
            if not state.matched_cost[i] - state.price[j] <= best + epsilon:
                state.row_match[i] = NONE
                state.column_match[j] = NONE
    for i in range(np.uint64(len(state.row_match))):
        if state.row_match[i] == NONE:
            state.free[size] = i
            size += ONE
    return SOLVED, size


@kernel
def auction(
    points: Points,
    lists: Lists,
    state: SearchState,
    size: Index,
    overbid: float,
    budget: np.uint64,
    monitor: Monitor,
) -> tuple[Int64, Index]:
    """Let free rows bid, first come first served, until none is left or `budget` bids are made.

    Returns the ending and the number of free rows.
    """
    free, num_rows = state.free, np.uint64(len(state.row_match))
    stop, counts = monitor.stop, monitor.counts
    head = bids = ZERO
    while size > ZERO and bids < budget:
        if relaxed_load(stop, 0) != 0:
            return STOPPED, size
        i = free[head]
        head = head + ONE if head + ONE < num_rows else ZERO
        size -= ONE
        bids += ONE
        counts[ARC_SCANS] += lists.size[i]
        best, place, second, _ = _two_best(points, lists, state, i)
        j = np.uint64(lists.column[place])
        ahead = second - best if second < state.limits.beyond else 0.0
        lower_price(points.tree, state.price, j, state.price[j] - (ahead + overbid))
        other = _match(lists, state, i, place)
        if other != NONE:
            tail = head + size
            free[tail if tail < num_rows else tail - num_rows] = other
            size += ONE
    return SOLVED, size


@kernel
def reduce_rows(
    points: Points, lists: Lists, state: SearchState, size: Index, budget: np.uint64, monitor: Monitor
) -> tuple[Int64, Index]:
    """Do augmenting row reduction as :func:`..row_reduction.reduce_rows` does.

    Returns the ending and the number of rows left in `free`.
    """
    free, stop, counts = state.free, monitor.stop, monitor.counts
    left = k = bids = ZERO
    while k < size:
        if relaxed_load(stop, 0) != 0:
            return STOPPED, left
        i = free[k]
        k += ONE
        bids += ONE
        if bids > budget:
            free[left] = i
            left += ONE
            continue
        counts[ARC_SCANS] += lists.size[i]
        best, place, second, place_2 = _two_best(points, lists, state, i)
        ahead = second - best if second < state.limits.beyond else 0.0
        taken = state.column_match[lists.column[place]] != NONE
        if taken and best == second:
            place = place_2
            taken = state.column_match[lists.column[place]] != NONE
        if taken and not ahead > 0.0:
            free[left] = i
            left += ONE
            continue
        if ahead > 0.0:
            j = np.uint64(lists.column[place])
            lower_price(points.tree, state.price, j, state.price[j] - ahead)
        other = _match(lists, state, i, place)
        if other != NONE:
            k -= ONE
            free[k] = other
    return SOLVED, left


class Front(NamedTuple):
    """The state of a search: the nearest free column, its distance, and the sizes of heap and `touched`."""

    nearest: float
    sink: np.uint64
    size: np.uint64
    touched: np.uint64


@kernel
def _relax(
    state: SearchState,
    front: Front,
    row: np.uint64,
    height: float,
    column: Indices,
    cost: Numbers,
    first: np.uint64,
    last: np.uint64,
) -> Front:
    """Relax some pairs of a row."""
    nearest, sink, size, touched = front.nearest, front.sink, front.size, front.touched
    for k in range(first, last):
        j = np.uint64(column[k])
        through = cost[k] - state.price[j] - height
        if through < nearest and through < state.distance[j]:
            place = state.place[j]
            if place == DONE:
                continue
            state.parent[j] = row
            state.parent_cost[j] = cost[k]
            if state.column_match[j] == NONE:
                nearest = through
                sink = j
                continue
            state.distance[j] = through
            if place == NONE:
                state.touched[touched] = j
                touched += ONE
                place = size
                size += ONE
            put(state, place, j)
    return Front(nearest, sink, size, touched)


@kernel
def _relax_whole_row(
    points: Points, state: SearchState, front: Front, row: np.uint64, height: float
) -> Front:
    """Relax all pairs of a row, leaf by leaf of the tree."""
    tree = points.tree
    for axis in range(np.uint64(len(tree.query))):
        tree.query[axis] = points.row[row, axis]
    window = np.uint64(len(points.column))
    for leaf in range(np.uint64(len(tree.first)) - ONE):
        begin, end = tree.first[leaf], tree.first[leaf + ONE]
        leaf_costs(tree, begin, end)
        tree.looked[0] += end - begin
        size = ZERO
        for j in range(begin, end):
            through = tree.found[j - begin] - state.price[j] - height
            if through < front.nearest and through < state.distance[j]:
                points.column[size] = j
                points.cost[size] = tree.found[j - begin]
                size += ONE
            if size == window or j + ONE == end:
                front = _relax(state, front, row, height, points.column, points.cost, ZERO, size)
                size = ZERO
    return front


@kernel
def _wait_in_heap(state: SearchState, front: Front, row: np.uint64, distance: float) -> Front:
    """Put a row into the heap at the least distance of the columns that it has not relaxed."""
    if not distance < front.nearest:
        return front
    size, touched = front.size, front.touched
    item = np.uint64(len(state.price)) + row
    state.distance[item] = distance
    if state.place[item] == NONE:
        state.touched[touched] = item
        touched += ONE
    put(state, size, item)
    return Front(front.nearest, front.sink, size + ONE, touched)


@kernel
def search_points(
    points: Points, lists: Lists, state: SearchState, root: np.uint64, number: np.uint64, monitor: Monitor
) -> Int64:
    """Match `root` along a shortest path; return the ending.

    This is the search of :func:`..augmenting_paths.search_lists`, with two differences. If a list, made
    again, does not suffice, the tree finds the columns that follow. If the tree has read more than half of
    all columns for a row, the whole row is relaxed.

    The search ends at a free column that is the nearest up to the rounding error of its cost. Otherwise, if
    all costs are equal up to rounding, it would visit all other columns first. The errors of prices add up to
    at most the rounding error of the total cost.
    """
    stop, counts = monitor.stop, monitor.counts
    num_columns, window = np.uint64(len(state.price)), np.uint64(len(points.column))
    front = Front(state.limits.beyond, NONE, ZERO, ZERO)
    here = -state.limits.beyond
    done = ZERO
    row, height = root, state.limits.zero
    new = True
    ending = SOLVED
    while True:
        # Relax the list, made again at the second visit, or columns from the tree, or the whole row.
        if new or lists.built[row] != number:
            if not new:
                list_best(points, lists, state, row, number)
            first = lists.first[row]
            last = first + lists.size[row]
            counts[ARC_SCANS] += lists.size[row]
            front = _relax(state, front, row, height, lists.column, lists.cost, first, last)
            points.after[row] = lists.bound[row]
            points.last[row] = NONE
            points.looked[row] = ZERO
            bound = lists.bound[row]
        elif TWO * points.looked[row] > num_columns:
            front = _relax_whole_row(points, state, front, row, height)
            bound = state.limits.beyond
        else:
            before = points.tree.looked[0]
            size = _find_columns(points, state.price, row, window, points.after[row], points.last[row])
            points.looked[row] += points.tree.looked[0] - before
            front = _relax(state, front, row, height, points.column, points.cost, ZERO, size)
            bound = state.limits.beyond
            if size == window:
                bound = points.reduced[size - ONE]
                points.after[row] = bound
                points.last[row] = points.column[size - ONE]
        # Put the row into the heap, for the columns that it has not relaxed.
        if bound < state.limits.beyond:
            front = _wait_in_heap(state, front, row, bound - height)
        # Take the nearest item, unless a free column is as near up to rounding.
        tie = TIE * abs(state.parent_cost[front.sink]) if front.sink != NONE else 0.0
        if front.size == ZERO or not state.distance[state.heap[ZERO]] < front.nearest - tie:
            if front.sink == NONE:
                ending = INFEASIBLE
            break
        if relaxed_load(stop, 0) != 0:
            ending = STOPPED
            break
        item = pop(state, front.size)
        front = Front(front.nearest, front.sink, front.size - ONE, front.touched)
        here = max(here, state.distance[item])
        new = bool(item < num_columns)
        if new:
            state.done[done] = item
            state.done_distance[done] = here
            done += ONE
            row = state.column_match[item]
        else:
            row = item - num_columns
        height = row_height(state, row, root)
    # Lower the prices of done columns, and augment.
    if ending == SOLVED:
        here = max(here, front.nearest)
        for k in range(done):
            j = state.done[k]
            lower_price(points.tree, state.price, j, state.price[j] - (here - state.done_distance[k]))
        augment(state, root, front.sink)
    reset_touched(state, front.touched)
    return ending


@kernel
def search_all(points: Points, lists: Lists, state: SearchState, size: Index, monitor: Monitor) -> Int64:
    """Match the first `size` rows of `free`, each along a shortest path; return the ending."""
    for k in range(size):
        if relaxed_load(monitor.stop, 0) != 0:
            return STOPPED
        ending = search_points(points, lists, state, state.free[k], k + ONE, monitor)
        if ending != SOLVED:
            return ending
        monitor.counts[AUGMENTATIONS] += ONE
        monitor.progress[0] = np.float64(size - k)
    return SOLVED


@kernel
def least_reduced_costs(points: Points, price: NDArray[np.float64], least: NDArray[np.float64]) -> None:
    """Write the least reduced cost of every row into `least`."""
    for i in range(np.uint64(len(least))):
        _find_columns(points, price, i, ONE, -np.inf, NONE)
        least[i] = points.reduced[ZERO]


class PointSolve:
    """One solve, with rows and columns in the order of their trees; `free` is the number of free rows."""

    def __init__(self, costs: PointCosts, reduction: float, control: Control) -> None:
        _, n, m = costs.shape
        self.control = control
        self.points, self.row_order, self.column_order = make_points(costs, WINDOW)
        self.state: SearchState = make_state(n, m, np.float64)
        self.lists: Lists = make_lists(n, min(ROOM, m), ROOM, np.float64)
        self.budget = np.uint64(min(reduction * n, 2.0**60))
        self.free: Index = n

    def run(self, use_auction: bool) -> int:
        """Assign all rows; return the ending."""
        state, control = self.state, self.control
        clear(state)
        control.progress[:] = len(state.row_match)
        ending, spread = list_all(self.points, self.lists, state, control.stop)
        if ending == SOLVED and use_auction:
            ending = self.hold_auction(spread / len(state.row_match))
        elif ending == SOLVED:
            ending = self.reduce()
        if ending != SOLVED:
            return int(ending)
        searched = search_all(self.points, self.lists, state, self.free, control.monitor())
        return int(searched)

    def hold_auction(self, spread: float) -> int:
        """Set prices and match rows by an auction; return the ending."""
        num_rows = len(self.state.row_match)
        largest = float(np.abs(self.lists.cost).max())
        if spread == 0.0:
            return self.reduce()  # all costs in the lists are equal: they do not say how much to bid
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
        """Let the rows bid whose column is not their best up to the overbid; return the ending."""
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
                control.monitor(),
            )
        return int(ending)

    def reduce(self) -> int:
        """Keep the pairs that are exact up to rounding, then reduce rows; return the ending."""
        control = self.control
        ending, self.free = free_rows(self.points, self.lists, self.state, self.rounding(), control.stop)
        for _ in range(PASSES if self.budget else 0):
            if ending == SOLVED:
                ending, self.free = reduce_rows(
                    self.points, self.lists, self.state, self.free, self.budget, control.monitor()
                )
        return int(ending)

    def rounding(self) -> float:
        """Return the largest rounding error of reduced costs."""
        return ROUNDING * max(float(np.abs(part).max()) for part in (self.lists.cost, self.state.price))


def make_points(costs: PointCosts, window: int) -> tuple[Points, NDArray[np.int64], NDArray[np.int64]]:
    """Return points with a tree over the columns, at prices 0, and the orders of rows and columns."""
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
    """Return the largest prices of rows that exceed no cost, given the prices of columns."""
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
) -> tuple[NDArray[np.int64], Array, Array, int]:
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
