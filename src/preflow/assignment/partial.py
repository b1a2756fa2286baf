"""Assignments with as many pairs as possible where not all rows can have a column.

Every row gets a column of its own that costs more than any other choice could save; who has it in the end
is left over. The prices stay a proof: no row's is above that cost, and those left over have exactly it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..graph.costs import LARGEST_INTEGER, SparseCosts


def with_ways_out(costs: SparseCosts) -> tuple[SparseCosts, int | float]:
    """Return costs, to minimise, with a further column for each row, and what these cost.

    Raises
    ------
    InvalidInputError
        Integer costs are too large for that.
    """
    _, n, m = costs.shape
    values = costs.values
    integer = values.dtype.kind == "i"
    least, most = (values.min().item(), values.max().item()) if len(values) else (0, 0)
    most_saved = (n + 1) * (most - least) + max(abs(most), abs(least))
    # Of floats it must not be larger by more than they are: prices are rounded as it is.
    penalty = most_saved + 1 if integer else 2 * most_saved or 1.0
    if integer and penalty > LARGEST_INTEGER:
        raise InvalidInputError(
            f"partial=True needs (n + 2) times the range of integer costs below 2**59, n is {n}"
        )
    first: NDArray[Any] = costs.first + np.arange(n + 1, dtype=np.uint64)
    ends = costs.first[1:].astype(np.int64)
    column = np.insert(costs.column, ends, np.arange(m, m + n, dtype=np.uint32))
    wide = np.insert(values, ends, penalty)
    return SparseCosts(first, column, wide, m + n), penalty
