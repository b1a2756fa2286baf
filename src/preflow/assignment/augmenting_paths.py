"""Kernels of shortest augmenting paths: reductions of rows, searches over lists, and over whole rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.atomics import relaxed_load
from ..kernels.branch_free import smaller
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..stats import ARC_SCANS, AUGMENTATIONS
from .dense_rows import block_minimum, list_row, relax_columns
from .search_state import BLOCK, DONE, NONE, Lists, State
from .solution import INFEASIBLE, OVERFLOW, SOLVED, STOPPED

#: Listing at most this share of what whole rows would be, after so many columns were reached.
LISTING_SHARE = 0.4
PATIENCE = np.uint64(2048)
#: How a search may end beside the endings of :mod:`.solution`: the lists do not suffice.
LISTS_END = 4
FOUR = np.uint64(4)


@kernel
def rise(state: State, hole: Any, item: Any) -> None:
    """Put `item` into the heap at the place `hole` or above."""
    heap, distance = state.heap, state.distance
    key = distance[item]
    while hole > ZERO:
        above = (hole - ONE) // TWO
        if not key < distance[heap[above]]:
            break
        heap[hole] = heap[above]
        state.place[heap[hole]] = hole
        hole = above
    heap[hole] = item
    state.place[item] = hole


@kernel
def pop(state: State, size: Any) -> Any:
    """Take the nearest item out of the heap of `size`; return it."""
    heap, distance = state.heap, state.distance
    nearest = heap[ZERO]
    size -= ONE
    item = heap[size]
    key = distance[item]
    hole = ZERO
    while True:
        below = TWO * hole + ONE
        if below >= size:
            break
        if below + ONE < size and distance[heap[below + ONE]] < distance[heap[below]]:
            below += ONE
        if not distance[heap[below]] < key:
            break
        heap[hole] = heap[below]
        state.place[heap[hole]] = hole
        hole = below
    heap[hole] = item
    state.place[item] = hole
    state.place[nearest] = DONE
    return nearest


@kernel
def row_height(state: State, row: Any, root: Any) -> Any:
    """Return the price of a row less its distance."""
    if row == root:
        return state.limits.zero
    j = state.row_match[row]
    return state.matched_cost[row] - state.price[j] - state.distance[j]


@kernel
def forget(state: State, touched: Any) -> None:
    """Take all that was touched out of the heap."""
    for k in range(touched):
        item = state.touched[k]
        state.distance[item] = state.limits.beyond
        state.place[item] = NONE


@kernel
def augment(state: State, root: Any, sink: Any) -> None:
    """Match along the path from `root` to `sink`."""
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
def _lower_prices(state: State, done: Any, here: Any) -> bool:
    """Lower the prices of columns nearer than `here`; return whether all are within the limits."""
    fits = True
    for k in range(done):
        price = state.done_price[k] - (here - state.done_distance[k])
        state.price[state.done[k]] = price
        fits = fits and price >= -2 * state.limits.far
    return fits


@kernel
def search_lists(cost: Any, lists: Lists, state: State, root: Any, number: Any) -> tuple[Any, Any, Any]:
    """Match `root` along a shortest path that consists of listed edges.

    Returns
    -------
    ending : int
        LISTS_END where the lists do not suffice: :func:`search_rows` goes on from there.
    done : uint64
        How many columns have a final distance: all that can be reached, where there is no path.
    scans : uint64
    """
    price, distance, beyond = state.price, state.distance, state.limits.beyond
    num_columns = np.uint64(len(price))
    nearest = beyond
    origin = here = -state.limits.far
    sink = NONE
    done = touched = size = scans = ZERO
    row, height = root, state.limits.zero
    ending = SOLVED
    while True:
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
                rise(state, place, j)
        if lists.bound[row] < beyond and lists.bound[row] - height < nearest:
            item = num_columns + row
            distance[item] = lists.bound[row] - height
            if state.place[item] == NONE:
                state.touched[touched] = item
                touched += ONE
            rise(state, size, item)
            size += ONE
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
        if item < num_columns:
            state.done[done] = item
            state.done_distance[done] = here
            state.done_price[done] = price[item]
            done += ONE
            row = state.column_match[item]
        else:
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
    forget(state, touched)
    return ending, done, scans


@kernel
def _list_near(state: State, here: Any) -> tuple[Any, Any]:
    """List the columns at the distance `here` in `near`; return how many, and a free one or NONE."""
    num_columns = np.uint64(len(state.price))
    size = ZERO
    for b in range(np.uint64(len(state.least))):
        if state.least[b] <= here:
            for j in range(b * BLOCK, min((b + ONE) * BLOCK, num_columns)):
                if state.distance[j] <= here:
                    if state.column_match[j] == NONE:
                        return size, j
                    state.near[size] = j
                    size += ONE
    return size, NONE


@kernel
def _relax_row(cost: Any, base: Any, height: Any, number: Any, state: State) -> None:
    """Relax the edges of the row at `base`, but to blocks of columns that are all done."""
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
def _relax_from(cost: Any, state: State, row: Any, k: Any) -> None:
    """Relax the edges of a row whose column is the one in place `k` of those done."""
    height = state.matched_cost[row] - state.done_price[k] - state.done_distance[k]
    _relax_row(cost, row * np.uint64(len(state.price)), height, np.float64(k + ONE), state)


@kernel
def _nearest(state: State) -> Any:
    """Return the smallest distance of columns that are not done."""
    smallest = state.limits.beyond
    for b in range(np.uint64(len(state.left))):
        state.least[b] = state.limits.beyond
        if state.left[b] > ZERO:
            state.least[b] = block_minimum(state.distance, np.uint64(len(state.price)), b)
            smallest = smaller(state.least[b], smallest)
    return smallest


@kernel
def _shut(state: State, column: Any) -> None:
    """Take a column that is done out of the search."""
    state.price[column] = -state.limits.mask
    state.distance[column] = state.limits.beyond
    state.left[column // BLOCK] -= ONE


@kernel
def _reach(cost: Any, state: State, root: Any, column: Any) -> None:
    """Note the row before a column, and the cost of the edge."""
    number = state.via[column]
    row = root if number == 0 else state.column_match[state.done[np.uint64(-number) - ONE]]
    state.parent[column] = row
    state.parent_cost[column] = cost[row * np.uint64(len(state.price)) + column]


@kernel
def search_rows(cost: Any, state: State, root: Any, done: Any) -> tuple[Any, Any, Any]:
    """Match `root` along a shortest path, looking at whole rows; `done` columns have their distances already.

    Returns
    -------
    ending : int
    done, scans : uint64
        As :func:`search_lists` has them.
    """
    price, distance, limits = state.price, state.distance, state.limits
    num_columns = np.uint64(len(price))
    for b in range(np.uint64(len(state.left))):
        state.left[b] = min(BLOCK, num_columns - b * BLOCK)
    for j in range(num_columns):
        distance[j] = limits.beyond
        state.via[j] = 0
    for k in range(done):
        _shut(state, state.done[k])
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
        size, sink = _list_near(state, here)
        if sink != NONE:
            break
        for k in range(size):
            j = state.near[k]
            _reach(cost, state, root, j)
            state.done[done + k] = j
            state.done_distance[done + k] = here
            state.done_price[done + k] = price[j]
            _shut(state, j)
        for k in range(done, done + size):
            _relax_from(cost, state, state.column_match[state.done[k]], k)
        done += size
        scans += size * num_columns
        here = max(here, _nearest(state))
    if ending == SOLVED:
        if not _lower_prices(state, done, here):
            ending = OVERFLOW
        _reach(cost, state, root, sink)
        augment(state, root, sink)
    else:
        for k in range(done):
            price[state.done[k]] = state.done_price[k]
    for j in range(num_columns):
        distance[j] = limits.beyond
    return ending, done, scans


@kernel
def list_free_rows(state: State) -> Any:
    """Write the rows without a column into `free` and return how many there are."""
    size = ZERO
    for i in range(np.uint64(len(state.row_match))):
        if state.row_match[i] == NONE:
            state.free[size] = i
            size += ONE
    return size


@kernel
def augment_rows(
    cost: Any, lists: Lists, state: State, use_lists: bool, size: Any, monitor: Monitor
) -> tuple[Any, Any, Any]:
    """Match the first `size` rows of `free`; return the ending and, if infeasible, root and columns done.

    Before and after, no listed or unlisted reduced cost of a matched row is below that of its column.
    """
    dense = len(cost) > 0
    num_columns = np.uint64(len(state.price))
    reached = looked = ZERO
    for k in range(size):
        if relaxed_load(monitor.stop, 0) != 0:
            return STOPPED, ZERO, ZERO
        root = state.free[k]
        ending = LISTS_END
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
