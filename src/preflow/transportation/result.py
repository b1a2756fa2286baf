"""The result of a transport problem."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import AnyArray, Array
from ..certify.fields import checked_array
from ..certify.transport import TransportCosts, check_transport
from ..checks import check_finite
from ..drawing.pairs import check_cells, draw_plan
from ..errors import InvalidInputError, VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.edge_tables import Tabular, labels_of
from ..graph.network import exact_sum
from ..graph.placement import host_values
from ..graph.point_costs import PointCosts
from ..solving.result import BoundedResult, Status
from ..stats import MinCostStats, SolveStats
from .batch import PlanBatch

if TYPE_CHECKING:
    import scipy.sparse
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class TransportResult(Tabular, BoundedResult):
    """A transport plan of the least cost, or the bounds that were proved within the time limit.

    Arrays are of the library that the costs came from, and on their device.

    Attributes
    ----------
    row, column : array of int64, shape (k,)
        The pairs that carry mass: at most rows + columns - 1.
    mass : array of int64 or float64, shape (k,)
    u, v : array of int64 or float64, shapes (rows,) and (columns,)
        Prices: ``cost[i, j] + u[i] - v[j]`` is at least zero, and zero for the pairs that carry mass; of
        float costs up to rounding.
    a, b : array of int64 or float64
        The masses of the rows and of the columns that were solved: `b` may be scaled, see
        :func:`preflow.transport`.
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

    def _fill(self) -> None:
        """Make the arrays of a result of a batch."""
        part = self.__dict__.get("_part")
        if part is not None:
            batch, item = part
            self.__dict__.update(batch.fields(item))
            self.__post_init__()
            self.__dict__.pop("_part", None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            # Python looks here for what is missing.
            if name in type(self).__dataclass_fields__:
                self._fill()
                if name in self.__dict__:
                    return self.__dict__[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        self._fill()
        return list(super().__dir__())

    def __getstate__(self) -> dict[str, object]:
        self._fill()
        return self.__dict__

    def _plan(self) -> tuple[Array, Array, Array]:
        """Return rows, columns and masses as NumPy arrays."""
        return self._to_host(self.row), self._to_host(self.column), self._to_host(self.mass)

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
        """A proved bound of the difference between `cost` and the optimum of the input.

        0 for integers, and on the CPU for stored costs and masses that are integers after multiplication by a
        power of two, unless float64 has to round the cost.
        """
        return self._gap

    @property
    def amount(self) -> int | float:
        """The mass that the plan moves."""
        mass = self._to_host(self.mass)
        if mass.dtype.kind == "f":
            return math.fsum(mass.tolist())
        return exact_sum(mass) if len(mass) else 0

    def matrix(self) -> Array:
        """Return the plan as a dense matrix, shape (rows, columns)."""
        row, column, mass = self._plan()
        plan: Array = np.zeros(self.costs.shape[1:], dtype=mass.dtype)
        plan[row, column] = mass
        with self.costs.current():
            found: Array = self.costs.to_caller(self.costs.xp.asarray(plan))
        return found

    def _to_host(self, values: Array) -> Array:
        """Return an array of the caller's kind as a NumPy array."""
        return self.costs.to_host(values)

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs (row, column) that carry mass, with the caller's labels if the costs have some.

        They have the order of :attr:`row`, :attr:`column` and :attr:`mass`.
        """
        rows, columns = self.costs.labels or (None, None)
        row, column, _ = self._plan()
        return list(zip(labels_of(rows, row).tolist(), labels_of(columns, column).tolist(), strict=True))

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
        rows, columns = map(range, self.costs.shape[1:]) if names is None else names
        plan: dict[Hashable, dict[Hashable, int | float]] = {row: {} for row in rows}
        row, column, mass = self._plan()
        order = np.lexsort((column, row))
        parts = (part[order].tolist() for part in (row, column, mass))
        for i, j, amount in zip(*parts, strict=True):
            plan[rows[i]][columns[j]] = amount
        return plan

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas`, with a row for each pair that carries mass.

        Returns
        -------
        dict of arrays
            The columns "row" and "column" have the caller's labels, numbers if there are none, "mass" the
            mass, and "cost" the cost of one unit.
        """
        costs = self.costs.on_host() if isinstance(self.costs, DeviceCosts) else self.costs
        rows, columns = costs.labels or (None, None)
        row, column, mass = self._plan()
        return {
            "row": labels_of(rows, row),
            "column": labels_of(columns, column),
            "mass": mass,
            "cost": costs.at(0, row, column),
        }

    def barycentric(self, points: AnyArray = None) -> Array:
        """Return where each row's mass goes on average: the barycentric projection of the plan.

        Row i becomes the mean of the points of the columns, weighted by what it sends to each.

        Parameters
        ----------
        points : array_like of numbers, shape (columns,) or (columns, d), optional
            A number or a point for each column. Default: the columns of :class:`preflow.PointCosts`.

        Returns
        -------
        array of float64, shape (rows,) or (rows, d)
            NaN for rows that send nothing.

        Raises
        ------
        InvalidInputError
            No points, or not one for each column; or points that are not finite numbers.

        Notes
        -----
        O(k d) for k pairs that carry mass. The map is that of Ferradans, Papadakis, Peyré and Aujol,
        "Regularized discrete optimal transport", SIAM Journal on Imaging Sciences 7 (2014).

        Examples
        --------
        >>> import preflow
        >>> preflow.transport([[4, 1], [2, 3]], [4, 6], [5, 5]).barycentric([[0, 0], [6, 3]]).tolist()
        [[6.0, 3.0], [1.0, 0.5]]
        """
        if points is None:
            if not isinstance(self.costs, PointCosts):
                raise InvalidInputError("give points, one for each column: the costs are no PointCosts")
            points = self.costs.columns
        at = host_values(points, "points")
        if at.ndim not in (1, 2) or len(at) != self.costs.shape[2]:
            raise InvalidInputError(
                f"points must have one point for each of {self.costs.shape[2]} columns, got shape {at.shape}"
            )
        if at.dtype.kind not in "biuf":
            raise InvalidInputError(f"points must be integers or floats, got dtype {at.dtype}")
        at = at.astype(np.float64)
        check_finite("points", at)
        (row, column, mass), n = self._plan(), self.costs.shape[1]
        total = np.bincount(row, mass, n)
        # Shares of at most 1 keep the sums of any points and masses finite.
        share = mass / total[row]
        mean = np.zeros((n, *at.shape[1:]))
        np.add.at(mean, row, (at[column].T * share).T)
        mean[total == 0] = np.nan
        with self.costs.current():
            found: Array = self.costs.to_caller(self.costs.xp.asarray(mean))
        return found

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the plan as a heat map of the masses; pairs without mass are white.

        InvalidInputError: there are more than four million pairs.
        """
        check_cells(self.costs.shape[1:])
        plan = np.zeros(self.costs.shape[1:])
        row, column, mass = self._plan()
        plan[row, column] = mass
        return self._labelled(draw_plan(ax, plan, self.costs.labels))

    def sparse(self) -> scipy.sparse.csr_array:
        """Return the plan as a sparse matrix, shape (rows, columns)."""
        from scipy.sparse import csr_array

        row, column, mass = self._plan()
        return csr_array((mass, (row, column)), shape=self.costs.shape[1:])

    def verify(self) -> None:
        """Prove the plan optimal, independently of the solver, in one pass over the costs.

        The plan moves the masses. Its cost equals the bound that the prices of the columns prove, exactly
        for integers, within `gap` for floats, in rational arithmetic where floats do not say it. The prices
        of the rows follow from those of the columns. A result that stopped early proves its bounds instead.
        """
        costs = self.costs
        if not isinstance(costs, DenseCosts | SparseCosts | PointCosts | DeviceCosts) or costs.leading:
            raise VerificationError("costs are not those of one transport problem")
        if not isinstance(self.stats, SolveStats):
            raise VerificationError("stats are not those of a solve")
        # The largest floats less prices may be infinite, and are then not the least.
        with costs.current(), np.errstate(over="ignore", invalid="ignore"):
            names = ("row", "column", "mass", "u", "v", "a", "b")
            row, column, mass, u, v, a, b = (self._checked(name) for name in names)
            bounds = self.lower_bound, self.upper_bound
            check_transport(costs, (a, b), (row, column, mass), (u, v), self.status, bounds, self._gap)

    def _checked(self, name: str) -> Array:
        """Return a field on the host if it is an array of one dimension of 64-bit numbers."""
        values = checked_array(self.costs, getattr(self, name), name, (-1,), np.int64, np.float64)
        return np.ascontiguousarray(self._to_host(values))

    def __repr__(self) -> str:
        _, n, m = self.costs.shape
        size = f"{n:,} x {m:,}"
        pairs = f"{len(self._plan()[0]):,} pairs of {size}"
        return f"<{type(self).__name__}: {self._headline()}, {pairs}, {self._how()}>"


def result_of_batch(
    batch: PlanBatch,
    item: int,
    *,
    status: Status,
    cost: int | float,
    gap: int | float,
    stats: MinCostStats,
) -> TransportResult:
    """Return the result of an item of a batch on a GPU, whose arrays are made when one is read.

    A view of an array on a GPU takes microseconds, and of a hundred results few are read.
    """
    result = object.__new__(TransportResult)
    result.__dict__.update(
        status=status, lower_bound=cost, upper_bound=cost, stats=stats, _gap=gap, _part=(batch, item)
    )
    return result
