"""How the solve of each matrix ended, and the solution that solvers on the host return."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array
from ..certify.exact import ExactPrices
from .search_state import SearchState

#: How the solve of one matrix ended.
SOLVED, STOPPED, INFEASIBLE, OVERFLOW = range(4)
#: Endings of an item of a batch besides these: no thread has looked at it, or its costs cannot be added up.
UNSEEN, REFUSED = 5, 6


class Solution(NamedTuple):
    """The solution of all items, for costs to minimise with at least as many columns as rows."""

    match: NDArray[np.int64]  #: shape (items, n): the column of each row; -1 if it has none
    #: int64 or float64, shapes (items, n) and (items, m): the prices of rows and columns
    u: Array
    v: Array
    ending: NDArray[np.int64]  #: shape (items,): how the solve of each item ended
    #: for the last infeasible item: rows, and the columns that they are allowed, which are fewer
    violating_rows: NDArray[np.int64]
    violating_columns: NDArray[np.int64]
    #: shape (items, n): the numbers of the rows in each item, if the solver has written them and all items
    #: are solved
    row: NDArray[np.int64] | None = None
    #: int64 or float64, shape (items,): the sum of the costs of the pairs, if the solver has computed it
    total: Array | None = None
    #: shape (items,): for floats: the largest absolute cost or price that the solver's rounding errors are
    #: relative to, if it may exceed the final prices
    largest: NDArray[np.float64] | None = None
    #: for floats: the gaps of items that are not those of an optimal answer
    gaps: dict[int, float] | None = None
    #: for floats: the prices of items that `u` and `v`, which are rounded, do not prove
    exact: dict[int, ExactPrices] | None = None


def unsolved(items: int, num_rows: int, num_columns: int, dtype: DTypeLike) -> Solution:
    """Return the solution before any item is solved."""
    return Solution(
        np.full((items, num_rows), -1, dtype=np.int64),
        np.zeros((items, num_rows), dtype=dtype),
        np.zeros((items, num_columns), dtype=dtype),
        np.full(items, STOPPED, dtype=np.int64),
        *np.empty((2, 0), dtype=np.int64),
    )


def with_violation(solution: Solution, state: SearchState, root: Any, done: Any) -> Solution:
    """Return the solution with the rows and columns that the last search, which found no path, reached."""
    columns = state.done[: int(done)]
    rows = np.append(state.column_match[columns], np.uint64(root))
    return solution._replace(
        violating_rows=np.sort(rows.astype(np.int64)), violating_columns=np.sort(columns.astype(np.int64))
    )
