"""Prove that given assignments are the cheapest ones, in order, by shortest paths between all rows.

Every assignment that is not given has a first row at which no given one goes on as it does. So it is in one
class (p, t): it has the columns p in the rows before t, as some given assignments have, and in row t none of
their columns. Let s be the cheapest of these. The cheapest assignment of the class differs from s by a
shortest cycle through row t, and rows after it only, whose first step takes none of their columns. No cycle
of rows after t is negative, or s would not be the cheapest; both are checked while rows are added, the last
one first.

Costs are the lengths of pairs: their differences are those of totals, and lengths are at least 0. One more
row, the *free* one, has the columns that an assignment leaves, and its pairs have lengths, too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import VerificationError


def extra_lengths(length: Array, column_of: NDArray[np.int64]) -> list[int | float]:
    """Return the sum of the lengths of each assignment, with those of the free row, the last one."""
    rows, columns = np.arange(column_of.shape[1]), np.arange(length.shape[1])
    found = []
    for own in column_of:
        left = length[-1, np.delete(columns, own)]
        # A problem that leaves no columns has no lengths of the free row.
        found.append(sum(length[rows, own].tolist()) + sum(left[left < np.inf].tolist()))
    return found


def check_ranking(
    length: Array,
    column_of: NDArray[np.int64],
    extra: list[int | float],
    complete: bool,
    slack: int | float,
) -> None:
    """Check that no assignment that is missing is cheaper than the last given one, and that they are sorted.

    Parameters
    ----------
    length : ndarray of Python numbers, shape (rows + 1, columns)
        Infinite where a pair is not allowed. The last row is the free one.
    column_of : ndarray of int64, shape (k, rows)
        Valid assignments.
    extra : list of k numbers
        Their :func:`extra_lengths`.
    complete : bool
        Whether there may be no others at all.
    slack : int or float
        What rounding may have changed; 0 for integers.
    """
    if any(later < earlier - slack for earlier, later in pairwise(extra)):
        raise VerificationError("the assignments are not in order")
    if len(np.unique(column_of, axis=0)) < len(column_of):
        raise VerificationError("an assignment is there twice")
    least = np.inf if complete else extra[-1] - slack
    finite = length[length < np.inf]
    if finite.size and len(column_of[0]) * max(finite) < 2**53:
        length = length.astype(np.float64)
    for k, own in enumerate(column_of):
        shared = 0
        if k:
            same = np.cumprod(column_of[:k] == own, axis=1)
            shared = int(same.sum(axis=1).max(initial=0)) + 1
        _check_classes(length, column_of, k, shared, least - extra[k], slack)


def _check_classes(
    length: Array, column_of: NDArray[np.int64], k: int, begin: int, least: int | float, slack: int | float
) -> None:
    """Check the classes of which assignment k is the cheapest: those of the rows from `begin` on."""
    own = column_of[k]
    rows, columns = len(own), np.arange(length.shape[1])
    left = np.delete(columns, own)
    # What a row has less once it leaves its column, and what the free row has less once it leaves a free one.
    given_up = np.append(length[np.arange(rows), own], 0)
    gain = np.where(length[-1] < np.inf, length[-1], 0)
    # The free row is the first that is added.
    added = np.array([rows])
    distance = np.zeros((1, 1), dtype=length.dtype)
    for row in range(rows - 1, begin - 1, -1):

        def steps(allowed: NDArray[np.bool_], row: int = row, added: Array = added) -> Array:
            """Return the lengths of the steps from the row to those that were added."""
            taken = own[added[1:]]
            to_rows = np.where(allowed[taken], length[row, taken], np.inf)
            free = left[allowed[left]]
            to_free = (length[row, free] - gain[free]).min(initial=np.inf)
            found: Array = np.append([to_free], to_rows) - given_up[row]
            return found

        back = length[added, own[row]] - given_up[added]
        arrive = (distance + back).min(axis=1)
        same = (column_of[:, :row] == own[:row]).all(axis=1)
        other = columns != own[row]
        missing = other & ~np.isin(columns, column_of[same, row])
        if (steps(missing) + arrive).min() < least:
            raise VerificationError(f"an assignment is missing: one with another column in row {row}")
        leave = steps(other)
        if (leave + arrive).min() < -slack:
            raise VerificationError(f"assignment {k} is not the cheapest of its class")
        leave = (leave[:, None] + distance).min(axis=0)
        distance = np.minimum(distance, arrive[:, None] + leave)
        last = np.zeros((1, 1), dtype=length.dtype)
        distance = np.block([[distance, arrive[:, None]], [leave[None, :], last]])
        added = np.append(added, row)
