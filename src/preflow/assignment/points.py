"""Kernels of assignments between points: lists from a tree over the columns, an auction, searches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.kd_tree import KDTree, find_best, leaf_costs, lower_price
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..stats import ARC_SCANS, AUGMENTATIONS
from .row_reduction import two_best
from .shortest_paths import augment, forget, pop, rise, row_height
from .state import DONE, INFEASIBLE, NONE, SOLVED, STOPPED, Lists, State

#: Distances of a search that differ by this share of the last edge's cost are the same but for rounding.
TIE = 2 * float(np.finfo(np.float64).eps)


class Points(NamedTuple):
    """What the costs of points are found with.

    Attributes
    ----------
    tree : KDTree
        Over the columns, with their prices.
    row : ndarray of float64, shape (n, d)
        The points of rows.
    column : ndarray of uint32, shape (window,)
        The columns that the tree gave last, ...
    cost, reduced : ndarray of float64, shape (window,)
        ... what they cost, and that less their prices.
    after : ndarray of float64, shape (n,)
        Of rows that went beyond their lists in a search: the last reduced cost that was seen, ...
    last : ndarray of uint64, shape (n,)
        ... and the column.
    looked : ndarray of uint64, shape (n,)
        How many columns the tree looked at for such a row in this search.
    """

    tree: KDTree
    row: NDArray[np.float64]
    column: NDArray[np.uint32]
    cost: NDArray[np.float64]
    reduced: NDArray[np.float64]
    after: NDArray[np.float64]
    last: NDArray[np.uint64]
    looked: NDArray[np.uint64]


@kernel
def _ask(points: Points, price: Any, row: Any, room: Any, after: Any, last: Any) -> Any:
    """Find the best columns of a row behind those up to `after` and `last`; return how many there are."""
    tree = points.tree
    for axis in range(np.uint64(len(tree.query))):
        tree.query[axis] = points.row[row, axis]
    return find_best(tree, price, room, points.column, points.cost, points.reduced, after, last)


@kernel
def list_best(points: Points, lists: Lists, state: State, row: Any, number: Any) -> None:
    """List the best columns of a row as of now."""
    first = lists.first[row]
    room = lists.first[row + ONE] - first
    size = _ask(points, state.price, row, room, -np.inf, NONE)
    for k in range(size):
        lists.column[first + k] = points.column[k]
        lists.cost[first + k] = points.cost[k]
    lists.size[row] = size
    lists.bound[row] = points.reduced[size - ONE] if size == room else state.limits.beyond
    lists.built[row] = number


@kernel
def list_all(points: Points, lists: Lists, state: State, stop: Any) -> tuple[Any, Any]:
    """List the best columns of all rows; return the sum of how much the last ones cost beyond the first."""
    spread = 0.0
    for i in range(np.uint64(len(state.row_match))):
        if relaxed_load(stop, 0) != 0:
            return STOPPED, spread
        list_best(points, lists, state, i, ZERO)
        first = lists.first[i]
        spread += lists.cost[first + lists.size[i] - ONE] - lists.cost[first]
    return SOLVED, spread


@kernel
def _two_best(points: Points, lists: Lists, state: State, row: Any) -> tuple[Any, Any, Any, Any]:
    """Return the least two reduced costs of a row, each with its place in the list."""
    best, place, second, place_2 = two_best(lists, state.price, row, state.limits.beyond)
    if second > lists.bound[row]:
        list_best(points, lists, state, row, ZERO)
        best, place, second, place_2 = two_best(lists, state.price, row, state.limits.beyond)
    return best, place, second, place_2


@kernel
def _give(lists: Lists, state: State, row: Any, place: Any) -> Any:
    """Give a row the column at a place of its list; return the row that had it, or NONE."""
    column = np.uint64(lists.column[place])
    other = state.column_match[column]
    if other != NONE:
        state.row_match[other] = NONE
    state.row_match[row] = column
    state.matched_cost[row] = lists.cost[place]
    state.column_match[column] = row
    return other


@kernel
def free_rows(points: Points, lists: Lists, state: State, epsilon: Any, stop: Any) -> tuple[Any, Any]:
    """Take columns from the rows that have better ones by more than `epsilon`; list rows without one.

    Returns
    -------
    ending : int
    size : uint64
        How many rows are `free`.
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
    points: Points, lists: Lists, state: State, size: Any, overbid: Any, budget: Any, stop: Any, counts: Any
) -> tuple[Any, Any]:
    """Let free rows bid, in turn, until all have columns that are their best but for the overbid.

    Ends early after `budget` bids; returns the ending and how many rows have no column.
    """
    free, num_rows = state.free, np.uint64(len(state.row_match))
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
        other = _give(lists, state, i, place)
        if other != NONE:
            tail = head + size
            free[tail if tail < num_rows else tail - num_rows] = other
            size += ONE
    return SOLVED, size


@kernel
def reduce_rows(
    points: Points, lists: Lists, state: State, size: Any, budget: Any, stop: Any, counts: Any
) -> tuple[Any, Any]:
    """Give free rows their best columns, also those of other rows, and lower the price to the second best.

    As :func:`.row_reduction.reduce_rows`; returns the ending and how many rows are left in `free`.
    """
    free = state.free
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
        other = _give(lists, state, i, place)
        if other != NONE:
            k -= ONE
            free[k] = other
    return SOLVED, left


class Front(NamedTuple):
    """How far a search is: the nearest free column and how far that is, and the sizes of its arrays."""

    nearest: Any
    sink: Any
    size: Any
    touched: Any


@kernel
def _relax(
    state: State, front: Front, row: Any, height: Any, column: Any, cost: Any, first: Any, last: Any
) -> Front:
    """Shorten distances by paths that end with some edges of a row."""
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
            rise(state, place, j)
    return Front(nearest, sink, size, touched)


@kernel
def _relax_whole_row(points: Points, state: State, front: Front, row: Any, height: Any) -> Front:
    """Shorten distances by paths that end with any edge of a row, leaf by leaf."""
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
def _wait(state: State, front: Front, row: Any, distance: Any) -> Front:
    """Let a row, which may have more edges from that distance on, wait for it in the heap."""
    if not distance < front.nearest:
        return front
    size, touched = front.size, front.touched
    item = np.uint64(len(state.price)) + row
    state.distance[item] = distance
    if state.place[item] == NONE:
        state.touched[touched] = item
        touched += ONE
    rise(state, size, item)
    return Front(front.nearest, front.sink, size + ONE, touched)


@kernel
def search_points(
    points: Points, lists: Lists, state: State, root: Any, number: Any, stop: Any, counts: Any
) -> Any:
    """Match `root` along a shortest path; return the ending.

    As :func:`.shortest_paths.search_lists`, but where a list, made again, does not suffice, the tree is asked
    for what comes behind; where the tree has to look at most columns, the whole row is relaxed.

    The search ends at a free column that is the nearest but for the rounding of its cost: where all costs are
    the same but for that, all other columns would come first. The errors of prices add up to no more than the
    rounding of the sum of the costs of all pairs.
    """
    num_columns, window = np.uint64(len(state.price)), np.uint64(len(points.column))
    front = Front(state.limits.beyond, NONE, ZERO, ZERO)
    here = -state.limits.beyond
    done = ZERO
    row, height = root, state.limits.zero
    new = True
    ending = SOLVED
    while True:
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
            size = _ask(points, state.price, row, window, points.after[row], points.last[row])
            points.looked[row] += points.tree.looked[0] - before
            front = _relax(state, front, row, height, points.column, points.cost, ZERO, size)
            bound = state.limits.beyond
            if size == window:
                bound = points.reduced[size - ONE]
                points.after[row] = bound
                points.last[row] = points.column[size - ONE]
        if bound < state.limits.beyond:
            front = _wait(state, front, row, bound - height)
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
        new = item < num_columns
        if new:
            state.done[done] = item
            state.done_distance[done] = here
            done += ONE
            row = state.column_match[item]
        else:
            row = item - num_columns
        height = row_height(state, row, root)
    if ending == SOLVED:
        here = max(here, front.nearest)
        for k in range(done):
            j = state.done[k]
            lower_price(points.tree, state.price, j, state.price[j] - (here - state.done_distance[k]))
        augment(state, root, front.sink)
    forget(state, front.touched)
    return ending


@kernel
def search_all(
    points: Points, lists: Lists, state: State, size: Any, stop: Any, counts: Any, progress: Any
) -> Any:
    """Match the first `size` free rows, each along a shortest path; return the ending."""
    for k in range(size):
        if relaxed_load(stop, 0) != 0:
            return STOPPED
        ending = search_points(points, lists, state, state.free[k], k + ONE, stop, counts)
        if ending != SOLVED:
            return ending
        counts[AUGMENTATIONS] += ONE
        progress[0] = np.float64(size - k)
    return SOLVED


@kernel
def least_reduced_costs(points: Points, price: Any, least: Any) -> None:
    """Find the least reduced cost of every row."""
    for i in range(np.uint64(len(least))):
        _ask(points, price, i, ONE, -np.inf, NONE)
        least[i] = points.reduced[ZERO]
