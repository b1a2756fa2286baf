"""The result of a transport problem."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..certify.transport import TransportCosts, check_transport
from ..graph.device.costs import DeviceCosts
from ..graph.edge_tables import data_frame, labels_of
from ..solving.result import BoundedResult

if TYPE_CHECKING:
    import pandas
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

    def flow_dict(self) -> dict[Hashable, dict[Hashable, int | float]]:
        """Return the plan as ``{row: {column: mass}}`` with the caller's labels, numbers if there are none.

        Every row has an entry, and in it the columns that get mass from it.

        Examples
        --------
        >>> import pandas, preflow
        >>> cost = pandas.DataFrame({"shop": [4, 2], "port": [1, 3]}, index=["north", "south"])
        >>> preflow.transport(cost, {"north": 3, "south": 5}, {"shop": 4, "port": 4}).flow_dict()
        {'north': {'port': 3}, 'south': {'shop': 4, 'port': 1}}
        """
        names = self.costs.labels
        rows, columns = (range(len(self.a)), range(len(self.b))) if names is None else names
        plan: dict[Hashable, dict[Hashable, int | float]] = {row: {} for row in rows}
        order = np.lexsort((self.column, self.row))
        parts = (part[order].tolist() for part in (self.row, self.column, self.mass))
        for i, j, mass in zip(*parts, strict=True):
            plan[rows[i]][columns[j]] = mass
        return plan

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row for each pair that carries mass.

        Returns
        -------
        DataFrame
            The columns "row" and "column" have the caller's labels, numbers if there are none, "mass" the
            mass, and "cost" the cost of one unit.

        Raises
        ------
        MissingDependencyError
            pandas is not installed.
        """
        return data_frame(self.to_columns())

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas` as arrays; ``polars.DataFrame`` takes them, too."""
        costs = self.costs.on_host() if isinstance(self.costs, DeviceCosts) else self.costs
        rows, columns = costs.labels or (None, None)
        return {
            "row": labels_of(rows, self.row),
            "column": labels_of(columns, self.column),
            "mass": self.mass,
            "cost": costs.at(0, self.row, self.column),
        }

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
