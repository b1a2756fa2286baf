"""The result of a transport problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..certify.transport import TransportCosts, check_transport
from ..solving.result import BoundedResult

if TYPE_CHECKING:
    import scipy.sparse


@dataclass(frozen=True, eq=False, repr=False)
class TransportResult(BoundedResult):
    """A transport plan of the least cost, or the bounds that were proved within the time limit.

    Attributes
    ----------
    row, column : array of int64, shape (k,)
        The pairs that carry mass: at most rows + columns - 1.
    mass : array of int64 or float64, shape (k,)
    u, v : ndarray of int64 or float64, shapes (rows,) and (columns,)
        Prices: ``cost[i, j] + u[i] - v[j]`` is at least zero, and zero for the pairs that carry mass; of
        float costs up to rounding.
    a, b : ndarray of int64 or float64
        The masses of the rows and of the columns.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`. The bounds are costs.
    costs : DenseCosts, SparseCosts, PointCosts or DeviceCosts
    """

    row: Array
    column: Array
    mass: Array
    u: Array
    v: Array
    a: Array
    b: Array
    costs: TransportCosts
    _gap: int | float

    def __post_init__(self) -> None:
        for array in (self.row, self.column, self.mass, self.u, self.v, self.a, self.b):
            array.flags.writeable = False

    @property
    def cost(self) -> int | float:
        """The least cost: a Python integer for integers.

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        """
        return self.value

    @property
    def gap(self) -> int | float:
        """A proved bound of the difference between `cost` and the optimum of the input; 0 for integers."""
        return self._gap

    def matrix(self) -> Array:
        """Return the plan as a dense matrix, shape (rows, columns)."""
        plan: Array = np.zeros((len(self.a), len(self.b)), dtype=self.mass.dtype)
        plan[self.row, self.column] = self.mass
        return plan

    def sparse(self) -> scipy.sparse.csr_array:
        """Return the plan as a sparse matrix, shape (rows, columns)."""
        from scipy.sparse import csr_array

        return csr_array((self.mass, (self.row, self.column)), shape=(len(self.a), len(self.b)))

    def verify(self) -> None:
        """Prove the plan optimal, independently of the solver, in one pass over the costs.

        The plan moves the masses. Its cost equals the bound that the prices of the columns prove, exactly
        for integers, within `gap` for floats. A result that stopped early proves its bounds instead.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        with self.costs.current():
            check_transport(
                self.costs,
                self.a,
                self.b,
                (self.row, self.column, self.mass),
                self.u,
                self.v,
                self.status,
                self.lower_bound,
                self.upper_bound,
                self.gap,
            )

    def __repr__(self) -> str:
        size = f"{len(self.a):,} x {len(self.b):,}"
        return f"<TransportResult: {self._headline()}, {len(self.row):,} pairs of {size}, {self._how()}>"
