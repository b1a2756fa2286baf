"""Plans with prices, which solvers of transport return."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray


class TransportFound(NamedTuple):
    """A plan with prices, of one item.

    Attributes
    ----------
    row, column, mass : ndarray of int64
        At most n + m - 1 pairs.
    u, v : ndarray of int64 or float64
        ``cost[i, j] + u[i] - v[j]`` is at least 0, and 0 where there is mass; of float costs after rounding.
    ending : {"optimal", "infeasible", "stopped"}
        "infeasible": the plan sends less than the masses, and `reached` proves that no plan sends all.
    rounding : float
        How much a rounded cost may differ from the cost: 0 for integers.
    reached : ndarray of bool, shape (n + m,), or None
        Rows, then columns, whose masses together cannot leave them.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    mass: NDArray[np.int64]
    u: AnyArray
    v: AnyArray
    ending: Literal["optimal", "infeasible", "stopped"]
    rounding: float = 0.0
    reached: NDArray[np.bool_] | None = None
