"""The best assignment with as many pairs as possible, if not all rows can have a column.

Definitions. A *cover* is a set of rows and columns such that each allowed pair has a row or a column in it.

A maximum matching of the allowed pairs gives a cover with as many rows and columns as the matching has pairs
(König's theorem). Every assignment with the largest number of pairs uses each row and column of the cover
once, and no pair that has both in the cover. So it consists of two parts: an assignment of all covered rows
to uncovered columns, and an assignment of all covered columns to uncovered rows. The parts are independent,
so their best assignments together are the best assignment.

::

    find a maximum matching (Hopcroft and Karp 1973)                       match_most
    find the cover                                                         find_cover
    solve each of the two parts, all of whose smaller side can be paired   solve_all

In each part, rows or columns outside the cover may be left over; their prices are at most 0, and 0 if they
are left over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index, Indices
from ..certify.assignment import Cover, alternating_cover
from ..certify.exact import ExactPrices, as_integers
from ..graph.costs import SparseCosts
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.run import Control
from .search_state import NONE
from .solution import SOLVED, STOPPED, Solution


class Matching(NamedTuple):
    """A matching, and the state of searches for augmenting paths; all arrays are of uint64."""

    #: shapes (n,) and (m,): the partner of each row and column, or NONE
    row_match: NDArray[np.uint64]
    column_match: NDArray[np.uint64]
    #: shape (n,): the distance of each row from the free rows in this phase; NONE if no path leads to it
    level: NDArray[np.uint64]
    following: NDArray[np.uint64]  #: shape (n,): the next pair of each row to scan
    queue: NDArray[np.uint64]  #: shape (n,): rows by level, then the rows of a path


#: Solves costs to minimise that have an assignment of all rows.
SolveAll = Callable[[SparseCosts], Solution]


def solve_with_most_pairs(
    costs: SparseCosts, solve_all: SolveAll, control: Control, found: Solution, item: int
) -> ExactPrices | None:
    """Write the best assignment with the most pairs, and its prices, as an item of `found`.

    Returns the prices before rounding, where the rounded ones do not prove the assignment.
    """
    found.match[item], found.u[item], found.v[item] = -1, 0, 0
    cover = find_cover(costs, control)
    if cover is None:
        found.ending[item] = STOPPED
        return None
    parts = (False, cover.rows, ~cover.columns), (True, ~cover.rows, cover.columns)
    exact = []
    for swapped, chosen_rows, chosen_columns in parts:
        row, column = np.flatnonzero(chosen_rows), np.flatnonzero(chosen_columns)
        if not len(row) or not len(column):
            continue
        part = costs.submatrix(chosen_rows, chosen_columns)
        one = solve_all(part.transposed() if swapped else part)
        found.ending[item] = one.ending[0]
        if one.ending[0] != SOLVED:
            return None
        if swapped:
            found.match[item, row[one.match[0]]] = column
            found.u[item, row], found.v[item, column] = one.v[0], one.u[0]
        else:
            found.match[item, row] = column[one.match[0]]
            found.u[item, row], found.v[item, column] = one.u[0], one.v[0]
        if one.exact:
            exact.append((row, column, one.exact[0], swapped))
    found.ending[item] = SOLVED
    return _together(found.u[item], found.v[item], exact) if exact else None


def find_cover(costs: SparseCosts, control: Control) -> Cover | None:
    """Return the rows and columns that cover all allowed pairs and are fewest; None if stopped."""
    _, n, m = costs.shape
    matching = Matching(
        *(np.full(size, NONE, dtype=np.uint64) for size in (n, m)),
        *(np.zeros(n, dtype=np.uint64) for _ in range(3)),
    )
    if not match_most(costs.first, costs.column, matching, control.stop):
        return None
    rows = np.flatnonzero(matching.row_match != NONE)
    return alternating_cover(costs, rows, matching.row_match[rows].astype(np.int64))


def find_violation(
    costs: SparseCosts, control: Control
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return rows, and the columns that they are allowed, which are fewer; None if all rows can be paired."""
    cover = find_cover(costs, control)
    if cover is None or cover.rows.all():
        return None
    return np.flatnonzero(~cover.rows), np.flatnonzero(cover.columns)


def _together(
    u: Array, v: Array, parts: list[tuple[NDArray[np.int64], NDArray[np.int64], ExactPrices, bool]]
) -> ExactPrices:
    """Return the prices of a matrix; those of some parts as they are before rounding."""
    (of_rows, of_columns), exponent = as_integers(u, v)
    found = ExactPrices(of_rows, of_columns, exponent)
    found = found.scaled_to(max(exponent, *(exact.exponent for _, _, exact, _ in parts)))
    for row, column, exact, swapped in parts:
        own, other, _ = exact.scaled_to(found.exponent)
        found.u[row], found.v[column] = (other, own) if swapped else (own, other)
    return found


@kernel
def match_most(
    first: NDArray[np.uint64], column: Indices, matching: Matching, stop: NDArray[np.int64]
) -> bool:
    """Match as many rows as possible (Hopcroft and Karp 1973); return False if stopped.

    Each phase finds the level of every row, and then augments along disjoint paths of rising levels.
    """
    row_match, column_match = matching.row_match, matching.column_match
    num_rows = np.uint64(len(row_match))
    for row in range(num_rows):
        for k in range(first[row], first[row + ONE]):
            j = np.uint64(column[k])
            if column_match[j] == NONE:
                column_match[j] = row
                row_match[row] = j
                break
    while relaxed_load(stop, 0) == 0:
        if not _find_levels(first, column, matching):
            return True
        for row in range(num_rows):
            matching.following[row] = first[row]
        for root in range(num_rows):
            if row_match[root] == NONE:
                _augment(first, column, matching, root)
    return False


@kernel
def _find_levels(first: NDArray[np.uint64], column: Indices, matching: Matching) -> bool:
    """Find the level of every row; return whether some free column can be reached."""
    level, queue = matching.level, matching.queue
    head = tail = ZERO
    for row in range(np.uint64(len(level))):
        level[row] = NONE
        if matching.row_match[row] == NONE:
            level[row] = ZERO
            queue[tail] = row
            tail += ONE
    reached = False
    while head < tail:
        row = queue[head]
        head += ONE
        for k in range(first[row], first[row + ONE]):
            other = matching.column_match[column[k]]
            if other == NONE:
                reached = True
            elif level[other] == NONE:
                level[other] = level[row] + ONE
                queue[tail] = other
                tail += ONE
    return reached


@kernel
def _augment(first: NDArray[np.uint64], column: Indices, matching: Matching, root: Index) -> None:
    """Match a free row along a path of rising levels, if there is one."""
    level, following, path = matching.level, matching.following, matching.queue
    depth = ZERO
    path[ZERO] = root
    j: Any = ZERO
    while True:
        row = path[depth]
        if following[row] == first[row + ONE]:
            if depth == ZERO:
                return
            depth -= ONE
            continue
        j = np.uint64(column[following[row]])
        following[row] += ONE
        other = matching.column_match[j]
        if other == NONE:
            break
        if level[other] == level[row] + ONE:
            depth += ONE
            path[depth] = other
    while True:
        row = path[depth]
        before = matching.row_match[row]
        matching.row_match[row] = j
        matching.column_match[j] = row
        if depth == ZERO:
            break
        j = before
        depth -= ONE
