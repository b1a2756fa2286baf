"""Shortest augmenting paths: Dijkstra searches over listed pairs, or over whole rows of a dense matrix.

Definitions. The *root* of a search is a free row. The length of an alternating path from it is the sum of the
reduced costs of the unmatched pairs, minus that of the matched pairs. The *distance* of a column is the least
length of a path to it. A column is *done* if its distance is final. The *sink* of a search is the nearest
free column. :mod:`.search_state` defines reduced costs, heights, lists and bounds.

Invariants between searches:

- No reduced cost of a row, listed or not, is below that of the row's own column.
- All distances are ``limits.beyond``, and all places in the heap are NONE.

::

    for each free row, the root:                                           augment_rows
        search over lists                                                  search_lists
            relax the listed pairs of the root
            put the root into the heap, at the least distance that a column missing in its list may have
            while the first item of the heap is nearer than the nearest free column:
                take the first item out of the heap
                if it is a column: it is done; go on with its row
                if it is a row: list it again
                    if this search has listed it before: list twice the number of columns,
                        or give up if there is no space for them (LISTS_END)
                relax the listed pairs of the row, and put the row into the heap like the root
        after LISTS_END: search over whole rows, from the columns that are done    search_rows
            repeat: relax all pairs of the rows of all nearest columns
            until one of the nearest columns is free
        lower the prices of done columns by how much nearer they are than the sink   _lower_prices
        exchange matched and unmatched pairs along the path to the sink              augment

If lists save too little work, all later searches go over whole rows.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Index, Int64, Number, Numbers
from ..kernels.atomics import relaxed_load
from ..kernels.branch_free import smaller
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.heap import move_up, take_first
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..stats import ARC_SCANS, AUGMENTATIONS
from .dense_rows import block_minimum, list_row, relax_columns
from .search_state import BLOCK, DONE, NONE, Lists, SearchState
from .solution import INFEASIBLE, OVERFLOW, SOLVED, STOPPED

#: Lists are given up if searches over them read more than this share of the costs that searches over whole
#: rows would read. The share is checked after each search over lists, as soon as all searches together have
#: more than PATIENCE columns done.
LISTING_SHARE = 0.4
PATIENCE = np.uint64(2048)
#: How a search may end besides the endings of :mod:`.solution`: the lists do not suffice.
LISTS_END = 4
FOUR = np.uint64(4)


@kernel
def put(state: SearchState, place: np.uint64, item: np.uint64) -> None:
    """Put an item whose distance is new into the heap, at `place` or above."""
    move_up(state.heap, state.place, state.distance, place, item)


@kernel
def pop(state: SearchState, size: np.uint64) -> np.uint64:
    """Take the nearest item out of the heap, which has `size` items, and return it."""
    nearest = take_first(state.heap, state.place, state.distance, size)
    state.place[nearest] = DONE
    return nearest


@kernel
def row_height(state: SearchState, row: np.uint64, root: np.uint64) -> Number:
    """Return the height of a row: its pair's reduced cost minus its column's distance; 0 for the root."""
    if row == root:
        return state.limits.zero
    j = state.row_match[row]
    return state.matched_cost[row] - state.price[j] - state.distance[j]


@kernel
def reset_touched(state: SearchState, touched: np.uint64) -> None:
    """Reset the distances and the places of all items that were in the heap."""
    for k in range(touched):
        item = state.touched[k]
        state.distance[item] = state.limits.beyond
        state.place[item] = NONE


@kernel
def augment(state: SearchState, root: np.uint64, sink: np.uint64) -> None:
    """Exchange matched and unmatched pairs along the path from `root` to `sink`."""
    while True:
        row = state.parent[sink]
        state.column_match[sink] = row
        following = state.row_match[row]
        state.row_match[row] = sink
        state.matched_cost[row] = state.parent_cost[sink]
        sink = following
        if row == root:
            break


@kernel
def _lower_prices(state: SearchState, done: np.uint64, here: Number) -> bool:
    """Lower prices of done columns; the sink's distance is `here`. Return whether prices fit 64 bits."""
    fits = True
    for k in range(done):
        price = state.done_price[k] - (here - state.done_distance[k])
        state.price[state.done[k]] = price
        fits = fits and price >= -2 * state.limits.far
    return fits


@kernel
def search_lists(
    cost: Numbers, lists: Lists, state: SearchState, root: np.uint64, number: np.uint64
) -> tuple[Int64, np.uint64, np.uint64]:
    """Look for a shortest path of listed pairs from `root` to a free column, and augment along it.

    Return the ending, the number of done columns, and the number of costs read. At LISTS_END the lists do not
    suffice: :func:`search_rows` continues the search. If there is no path, the done columns are all that
    `root` can reach.
    """
    price, distance, beyond = state.price, state.distance, state.limits.beyond
    num_columns = np.uint64(len(price))
    nearest = beyond
    origin = here = -state.limits.far
    sink = NONE
    done = touched = size = scans = ZERO
    row, height = root, state.limits.zero
    ending: Int64 = SOLVED
    while True:
        # Relax the listed pairs of the row.
        first = lists.first[row]
        last = first + lists.size[row]
        scans += last - first
        for k in range(first, last):
            j = np.uint64(lists.column[k])
            through = lists.cost[k] - price[j] - height
            if through < nearest and through < distance[j]:
                place = state.place[j]
                if place == DONE:
                    continue
                state.parent[j] = row
                state.parent_cost[j] = lists.cost[k]
                if state.column_match[j] == NONE:
                    nearest = through
                    sink = j
                    continue
                distance[j] = through
                if place == NONE:
                    state.touched[touched] = j
                    touched += ONE
                    place = size
                    size += ONE
                put(state, place, j)
        # Put the row into the heap at the least distance that its list may lack.
        if lists.bound[row] < beyond and lists.bound[row] - height < nearest:
            item = num_columns + row
            distance[item] = lists.bound[row] - height
            if state.place[item] == NONE:
                state.touched[touched] = item
                touched += ONE
            put(state, size, item)
            size += ONE
        # Take the nearest item, unless a free column is as near.
        if size == ZERO or not distance[state.heap[ZERO]] < nearest:
            if sink == NONE:
                ending = INFEASIBLE
            break
        item = pop(state, size)
        size -= ONE
        here = max(here, distance[item])
        if origin == -state.limits.far:
            origin = here
        if not here - origin < state.limits.far:
            ending = OVERFLOW
            break
        if item < num_columns:  # a column: it is done
            state.done[done] = item
            state.done_distance[done] = here
            state.done_price[done] = price[item]
            done += ONE
            row = state.column_match[item]
        else:  # a row: list it again
            row = item - num_columns
            if lists.built[row] == number:
                if FOUR * lists.wanted[row] > lists.first[row + ONE] - lists.first[row]:
                    ending = LISTS_END
                    break
                lists.wanted[row] *= TWO
            list_row(cost, lists, state, row, number)
            scans += num_columns
        height = row_height(state, row, root)
    if ending == SOLVED:
        if not _lower_prices(state, done, max(here, nearest)):
            ending = OVERFLOW
        augment(state, root, sink)
    reset_touched(state, touched)
    return ending, done, scans


@kernel
def _list_near(state: SearchState, here: Number) -> tuple[np.uint64, np.uint64]:
    """List the columns at the distance `here` in `near`; return their number, and a free one or NONE."""
    num_columns = np.uint64(len(state.price))
    size = ZERO
    for b in range(np.uint64(len(state.least))):
        if state.least[b] <= here:
            for j in range(b * BLOCK, min((b + ONE) * BLOCK, num_columns)):
                if state.distance[j] <= here:
                    if state.column_match[j] == NONE:
                        return size, np.uint64(j)
                    state.near[size] = j
                    size += ONE
    return size, NONE


@kernel
def _relax_row(cost: Numbers, base: np.uint64, height: Number, number: float, state: SearchState) -> None:
    """Relax the pairs of the row at `base`, except in blocks whose columns are all done.

    `number` is how many rows the search has relaxed before: see ``SearchState.via``.
    """
    num_blocks, num_columns = np.uint64(len(state.left)), np.uint64(len(state.price))
    b = ZERO
    while b < num_blocks:
        first = b
        while b < num_blocks and state.left[b] > ZERO:
            b += ONE
        if b > first:
            last = min(b * BLOCK, num_columns)
            relax_columns(cost, base, height, number, state, first * BLOCK, last)
        b += ONE


@kernel
def _relax_from(cost: Numbers, state: SearchState, row: np.uint64, k: Index) -> None:
    """Relax the pairs of the row whose column is the `k`-th of the done columns."""
    height = state.matched_cost[row] - state.done_price[k] - state.done_distance[k]
    _relax_row(cost, row * np.uint64(len(state.price)), height, np.float64(k + ONE), state)


@kernel
def _nearest(state: SearchState) -> Number:
    """Return the least distance of columns that are not done; store that of each block in ``least``."""
    smallest = state.limits.beyond
    for b in range(np.uint64(len(state.left))):
        state.least[b] = state.limits.beyond
        if state.left[b] > ZERO:
            state.least[b] = block_minimum(state.distance, np.uint64(len(state.price)), b)
            smallest = smaller(state.least[b], smallest)
    return smallest


@kernel
def _close_column(state: SearchState, column: np.uint64) -> None:
    """Keep a done column out of the rest of the search."""
    state.price[column] = -state.limits.mask
    state.distance[column] = state.limits.beyond
    state.left[column // BLOCK] -= ONE


@kernel
def _set_parent(cost: Numbers, state: SearchState, root: np.uint64, column: np.uint64) -> None:
    """Store the row before a column on its shortest path, and the cost of that pair."""
    number = state.via[column]
    row = root if number == 0 else state.column_match[state.done[np.uint64(-number) - ONE]]
    state.parent[column] = row
    state.parent_cost[column] = cost[row * np.uint64(len(state.price)) + column]


@kernel
def search_rows(
    cost: Numbers, state: SearchState, root: np.uint64, done: np.uint64
) -> tuple[Int64, np.uint64, np.uint64]:
    """Do as :func:`search_lists`, over whole rows; `done` columns are done already."""
    price, distance, limits = state.price, state.distance, state.limits
    num_columns = np.uint64(len(price))
    # Start from the root and the columns that are done.
    for b in range(np.uint64(len(state.left))):
        state.left[b] = min(BLOCK, num_columns - b * BLOCK)
    for j in range(num_columns):
        distance[j] = limits.beyond
        state.via[j] = 0
    for k in range(done):
        _close_column(state, state.done[k])
    _relax_row(cost, root * num_columns, limits.zero, 0.0, state)
    for k in range(done):
        _relax_from(cost, state, state.column_match[state.done[k]], k)
    scans = (done + ONE) * num_columns
    here = _nearest(state)
    origin = here
    if done > ZERO:
        origin = state.done_distance[ZERO]
        here = max(here, state.done_distance[done - ONE])
    ending = SOLVED
    sink = NONE
    while True:
        if not here < limits.beyond:
            ending = INFEASIBLE
            break
        if not here - origin < limits.far:
            ending = OVERFLOW
            break
        # Find the nearest columns; the search ends if one is free.
        size, sink = _list_near(state, here)
        if sink != NONE:
            break
        # They are done: relax the pairs of their rows.
        for k in range(size):
            j = state.near[k]
            _set_parent(cost, state, root, j)
            state.done[done + k] = j
            state.done_distance[done + k] = here
            state.done_price[done + k] = price[j]
            _close_column(state, j)
        for k in range(done, done + size):
            _relax_from(cost, state, state.column_match[state.done[k]], k)
        done += size
        scans += size * num_columns
        here = max(here, _nearest(state))
    if ending == SOLVED:
        if not _lower_prices(state, done, here):
            ending = OVERFLOW
        # `here` is the distance of the sink.
        _set_parent(cost, state, root, sink)
        augment(state, root, sink)
    else:
        for k in range(done):
            price[state.done[k]] = state.done_price[k]
    for j in range(num_columns):
        distance[j] = limits.beyond
    return ending, done, scans


@kernel
def list_free_rows(state: SearchState) -> np.uint64:
    """List the free rows in `free`; return their number."""
    size = ZERO
    for i in range(np.uint64(len(state.row_match))):
        if state.row_match[i] == NONE:
            state.free[size] = i
            size += ONE
    return size


@kernel
def augment_rows(
    cost: Numbers, lists: Lists, state: SearchState, use_lists: bool, size: np.uint64, monitor: Monitor
) -> tuple[Int64, np.uint64, np.uint64]:
    """Match the first `size` rows of ``free`` along shortest paths, at first over lists if `use_lists`.

    Return the ending; if infeasible also the root of the search that found no path, and the number of its
    done columns.
    """
    dense = len(cost) > 0
    num_columns = np.uint64(len(state.price))
    reached = looked = ZERO
    for k in range(size):
        if relaxed_load(monitor.stop, 0) != 0:
            return STOPPED, ZERO, ZERO
        root = state.free[k]
        ending: Int64 = LISTS_END
        done = ZERO
        if use_lists:
            ending, done, scans = search_lists(cost, lists, state, root, k + ONE)
            monitor.counts[ARC_SCANS] += scans
            looked += scans
            reached += done
            if dense and reached > PATIENCE:
                use_lists = bool(np.float64(looked) < LISTING_SHARE * np.float64(reached) * num_columns)
        if ending == LISTS_END:
            ending, done, scans = search_rows(cost, state, root, done)
            monitor.counts[ARC_SCANS] += scans
        if ending != SOLVED:
            return ending, root, done
        monitor.counts[AUGMENTATIONS] += ONE
        monitor.progress[0] -= 1.0
    return SOLVED, ZERO, ZERO
