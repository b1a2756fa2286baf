"""The result of linear_assignment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Number
from ..certify.assignment import check_assignment, check_bound, proved_gap
from ..certify.assignment_batch import unproved_items
from ..certify.exact import ExactPrices, check_integers
from ..certify.fields import check_bounds, check_bounds_of_items, check_kind, checked_array, checked_numbers
from ..drawing.pairs import check_cells, draw_costs
from ..errors import InvalidInputError, InvalidTypeError, VerificationError
from ..graph.costs import DenseCosts, SparseCosts, shown_matrix
from ..graph.device.costs import DeviceCosts
from ..graph.edge_tables import Tabular, labels_of
from ..graph.point_costs import PointCosts
from ..solving.result import NEGLIGIBLE_GAP, BoundedResult
from ..stats import AssignmentStats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .alternatives import Given
    from .ranking import RankedAssignments


@dataclass(frozen=True, eq=False, repr=False)
class AssignmentResult(Tabular, BoundedResult):
    """An assignment of the least cost, or the bounds that were proved within the time limit.

    For a batch of matrices, all arrays and the bounds have the batch's leading dimensions, and ``result[i]``
    is the result of matrix ``i``. Arrays are NumPy arrays, or arrays of the library that the costs came from.

    Attributes
    ----------
    row, column : array of int64, shape (k,)
        The pairs, by ascending rows: ``cost[row, column]`` are their costs. In a batch, matrices with fewer
        pairs than others (due to ``sizes``, ``partial=True``, or the time limit) have -1 after their pairs.
    u, v : array of int64 or float64, shapes (n,) and (m,)
        Prices of rows and columns that prove the assignment optimal; arrays of Python integers where int64
        does not suffice. For every pair, ``u[i] + v[j]`` is at most its cost (at least, with `maximize`), and
        for the pairs assigned it is equal. Rows or columns that are left over have the largest (smallest)
        price of their side.

        With `partial`, if not all rows (columns, if there are fewer) have a partner, let R and C be the rows
        and columns that no alternating path from a free row reaches. The statement above then holds for the
        pairs of R with C, and for the pairs of the other rows with the other columns. A pair of a row of R
        and a column outside C is in no assignment with as many pairs; its cost may be below the prices.
    status, lower_bound, upper_bound, value
        See :class:`preflow.solving.result.BoundedResult`.
    stats : AssignmentStats
    costs : DenseCosts, SparseCosts, PointCosts or DeviceCosts
    partial : bool
        Whether rows and columns may be left over even if there are as many rows as columns.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    u: Array
    v: Array
    stats: AssignmentStats
    costs: DenseCosts | SparseCosts | PointCosts | DeviceCosts
    partial: bool
    #: By item: prices before they are rounded to `u` and `v`, where these do not prove the assignment.
    _exact: dict[int, ExactPrices] | None = field(default=None, kw_only=True)

    @property
    def cost(self) -> Number:
        """The sum of the costs of all pairs; an array for a batch of matrices.

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        """
        return self.value

    def pairs(self) -> list[Any]:
        """Return the pairs (row, column), named by the caller's labels if there are some.

        Of a batch it is a list with the pairs of each matrix.
        """
        sides = (self._by_item(side).tolist() for side in (self.row, self.column))
        found: list[Any] = [
            [(i, j) for i, j in zip(*pair, strict=True) if i >= 0] for pair in zip(*sides, strict=True)
        ]
        for length in self.costs.leading[:0:-1]:
            found = [found[begin : begin + length] for begin in range(0, len(found), max(length, 1))]
        labels = self.costs.labels
        if self.costs.leading:
            return found
        return found[0] if labels is None else [(labels[0][i], labels[1][j]) for i, j in found[0]]

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        self._check_batch()
        return self.costs.leading[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[item] for item in range(len(self)))

    def __getitem__(self, index: int | slice | tuple[int | slice, ...]) -> Self:
        """Return the result of one matrix of a batch, or of several, which are a batch.

        Its arrays have the rows and columns that the matrix uses, without -1 at their ends.

        Raises
        ------
        InvalidTypeError
            The costs are one matrix, or the index is no integer, slice or array.
        IndexError
            There is no such matrix.
        """
        from ..solving.items import numbers_of

        self._check_batch()
        leading = self.costs.leading
        if len(leading) == 1 and not isinstance(index, tuple):
            return self._part(np.asarray(numbers_of(index, leading[0])))
        return self._part(np.asarray(np.arange(self.costs.shape[0]).reshape(leading)[index]))

    def _check_batch(self) -> None:
        if not self.costs.leading:
            raise InvalidTypeError("this is the result of one matrix of costs, not of a batch")

    def _check_single(self, call: str) -> None:
        """Raise InvalidInputError if the costs are a batch, of which `call` takes one matrix."""
        if self.costs.leading:
            raise InvalidInputError(f"{call} is for one matrix of a batch: result[0].{call}")

    def _part(self, items: NDArray[np.int64]) -> Self:
        """Return the result of these items, a batch of their shape; of one item for a single number."""
        assert isinstance(self.costs, DenseCosts | DeviceCosts)
        costs = self.costs.items(items)
        lower, upper = self._bounds()
        is_optimal = bool(np.all(lower[items] == upper[items]))
        if items.ndim:
            bounds = [self._cut(part, items) for part in (self.lower_bound, self.upper_bound)]
        else:
            bounds = [part.tolist()[items] for part in (lower, upper)]
        exact = self._exact or {}
        kept = {k: exact[item] for k, item in enumerate(items.reshape(-1).tolist()) if item in exact}
        pairs, (_, n, m) = int((self._by_item(self.row)[items] >= 0).sum()), costs.shape
        sizes = {"row": pairs, "column": pairs, "u": n, "v": m}
        fields = {name: self._cut(getattr(self, name), items, size) for name, size in sizes.items()}
        return replace(
            self,
            status="optimal" if is_optimal else self.status,
            lower_bound=bounds[0],
            upper_bound=bounds[1],
            costs=costs,
            _exact=kept or None,
            **fields,
        )

    def _cut(self, values: AnyArray, items: NDArray[np.int64], size: int | None = None) -> AnyArray:
        """Return the part of some items of an array of all, of one item its first entries."""
        with self.costs.current():
            plain = values if isinstance(values, np.ndarray) else self.costs.to_array_module(values)
            part = plain.reshape(self.costs.shape[0], *plain.shape[len(self.costs.leading) :])
            part = part[self.costs.xp.asarray(items)] if items.ndim else part[int(items)][:size]
            return part if plain is values else self.costs.to_caller(part)

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_pandas`, with a row for each pair of a single matrix.

        Returns
        -------
        dict of arrays
            The columns "row" and "column" have the caller's labels, numbers if there are none, and "cost" the
            costs of the pairs.

        Raises
        ------
        InvalidInputError
            The costs are a batch of matrices: take one, ``result[i]``.

        Examples
        --------
        >>> import pandas, preflow
        >>> cost = pandas.DataFrame({"sew": [4, 2], "cook": [1, 3]}, index=["ada", "bob"])
        >>> print(preflow.linear_assignment(cost).to_pandas())
           row column  cost
        0  ada   cook     1
        1  bob    sew     2
        """
        self._check_single("to_columns()")
        row, column = (self._by_item(side)[0] for side in (self.row, self.column))
        row, column = row[row >= 0], column[row >= 0]
        costs = self.costs.on_host() if isinstance(self.costs, DeviceCosts) else self.costs
        cost = costs.at(0, row, column) + costs.base_at(0, row, column)
        rows, columns = costs.labels or (None, None)
        return {"row": labels_of(rows, row), "column": labels_of(columns, column), "cost": cost}

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the costs of a single matrix as a heat map, with the pairs marked in red.

        Pairs that are not allowed are hatched.

        InvalidInputError: the costs are a batch of matrices, or have more than four million cells.
        """
        self._check_single("plot()")
        check_cells(self.costs.shape[1:])
        row, column = (self._by_item(side)[0] for side in (self.row, self.column))
        costs = self.costs.on_host() if isinstance(self.costs, DeviceCosts) else self.costs
        return self._labelled(
            draw_costs(ax, shown_matrix(costs), row[row >= 0], column[row >= 0], self.costs.labels)
        )

    @cached_property
    def gap(self) -> Number:
        """A proved bound on the distance of the value from the optimum; an array for a batch.

        For integers with status "optimal" it is 0. For floats it is the exact difference between the value
        and the bound that the prices prove, rounded up: at most 2**-40 of the sum of the absolute costs of
        the pairs, and of the singles where there are any, plus 2**-50 for each row and column. With another
        status, the gap is the difference of the two bounds. ("approximate": prices near a large reward, which
        a row would have and another row takes, carry its rounding error.) The first access makes a pass over
        the costs.
        """
        leading = self.costs.leading
        if self.status != "optimal":
            bounds = self.lower_bound, self.upper_bound
            lower, upper = (self._by_item(bound).reshape(leading) if leading else bound for bound in bounds)
            return upper - lower
        if self.costs.dtype.kind == "i":
            return np.zeros(leading, dtype=np.int64) if leading else 0
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = list(self._proved_gaps())
        return np.array(gaps).reshape(leading) if leading else gaps[0]

    def _proved_gaps(self) -> Iterator[float]:
        """Yield the gap of each item of floats."""
        for item, arguments in enumerate(self._items(range(self.costs.shape[0]))):
            yield proved_gap(*arguments, exact=self._exact_prices(item))

    def regret(self) -> Array:
        """Return how much dearer the best assignment without each pair is: its margin.

        Returns
        -------
        array of int64 or float64, shape (k,)
            In the order of :attr:`row`: by how much the total grows (shrinks, with `maximize`) if the pair is
            not allowed. 0 where another assignment is as good; infinite, for integers 2**63 - 1, where every
            assignment with as many pairs has the pair. Of floats up to rounding, see `gap`.

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        InvalidInputError
            The costs are a batch of matrices: take one, ``result[i]``.
        CostOverflowError
            Integer costs are so large that a regret may pass 2**62.

        Notes
        -----
        One pass over the costs keeps p pairs that may matter, mostly far fewer than n m. Then Dijkstra's
        algorithm searches a shortest cycle of exchanges for each of the k pairs, with the prices as
        potentials: O(n m + k (p + k) log k).

        Examples
        --------
        >>> import preflow
        >>> result = preflow.linear_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
        >>> result.column.tolist(), result.regret().tolist()
        ([1, 0, 2], [1, 1, 1])
        """
        from .alternatives import regrets_of

        found = regrets_of(self._given("regret()"))
        with self.costs.current():
            regret: Array = self.costs.to_caller(self.costs.xp.asarray(found))
        return regret

    def is_unique(self) -> bool:
        """Return whether this is the only assignment of the least cost.

        Exact for integers. Of floats True is proved: every other assignment is dearer, in spite of rounding;
        False may mean that rounding hides by how much. O(n m).

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        InvalidInputError
            The costs are a batch of matrices: take one, ``result[i]``.

        Examples
        --------
        >>> import preflow
        >>> preflow.linear_assignment([[1, 2], [2, 1]]).is_unique()
        True
        >>> preflow.linear_assignment([[1, 2], [2, 3]]).is_unique()
        False
        """
        from .alternatives import is_unique

        return is_unique(self._given("is_unique()"))

    def k_best(self, k: int, *, time_limit: float | None = None) -> RankedAssignments:
        """Return the k best assignments, in order: this one and those that follow.

        Parameters
        ----------
        k : int
            How many. If there are fewer, all are returned.
        time_limit : float, optional
            Seconds. On expiry the result has the assignments that were found until then: they are the best
            ones.

        Returns
        -------
        RankedAssignments

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        InvalidInputError
            `k` is no positive integer, or the costs are a batch of matrices: take one, ``result[i]``.

        Notes
        -----
        Murty's method, where an assignment inherits the prices of the one before: :mod:`.ranking`. Each of
        them takes n searches of a shortest cycle, O(n p log n) for p pairs that may matter. With
        `unmatched_cost`, assignments differ in their pairs.

        Examples
        --------
        >>> import preflow
        >>> result = preflow.linear_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
        >>> ranked = result.k_best(3)
        >>> ranked.cost.tolist(), ranked.column.tolist()
        ([5, 6, 6], [[1, 0, 2], [0, 1, 2], [2, 1, 0]])
        >>> ranked.verify()
        """
        from .ranking import rank

        return rank(self, self._given("k_best()"), k, time_limit)

    def _given(self, call: str) -> Given:
        """Return the assignment of a single matrix, for its alternatives."""
        from .alternatives import Given

        self._check_single(call)
        self.check_optimal()
        ((costs, _, row, column, u, v, total, partial),) = self._items([0])
        return Given(costs, row, column, u, v, total, partial, self._exact_prices(0))

    def verify(self) -> None:
        """Prove the assignment optimal, independently of the solver, in one pass over the costs.

        The check covers the following: no row or column is in two pairs; each pair is allowed; prices exceed
        no cost and are equal to the costs of the pairs; rows and columns left over have the prices that
        complete the proof. If there are fewer pairs than rows and columns, a cover proves that no assignment
        has more. For a result that stopped early, the bound is proved instead.

        The check is exact for integers of any size. For floats the prices may be off by a rounding error; see
        `gap`. A batch is checked as a whole, on the GPU if its costs are there. Matrices that this does not
        decide are checked on the host, one after the other.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            self._check_fields()
            if self.status != "optimal":
                self._verify_bounds()
                return
            items: Iterable[int] = range(self.costs.shape[0])
            costs = self.costs
            if isinstance(costs, DeviceCosts) or (isinstance(costs, DenseCosts) and costs.leading):
                items = self._unproved_together(costs)
            for item, arguments in zip(items, self._items(items), strict=True):
                check_assignment(*arguments, exact=self._exact_prices(item))

    def _check_fields(self) -> None:
        """Check the shapes and dtypes of all fields, and the order of the bounds."""
        if not isinstance(self.costs, DenseCosts | SparseCosts | PointCosts | DeviceCosts):
            raise VerificationError(f"costs are no costs of an assignment, got {type(self.costs).__name__}")
        if not isinstance(self.partial, bool):
            raise VerificationError(f"partial is not a bool, got {self.partial!r}")
        is_float = self.costs.dtype.kind == "f"
        if self.status not in ("optimal", "time-limit") and not (is_float and self.status == "approximate"):
            raise VerificationError(f"an assignment has no status {self.status!r}")
        costs, leading = self.costs, self.costs.leading
        _, n, m = costs.shape
        number = np.int64 if costs.dtype.kind == "i" else np.float64
        with costs.current():
            row = checked_array(costs, self.row, "row", (*leading, -1), np.int64)
            column = checked_array(costs, self.column, "column", row.shape, np.int64)
            if row.shape[-1] > min(n, m):
                raise VerificationError(f"{row.shape[-1]} pairs of {n} rows and {m} columns")
            paired = row >= 0
            if not leading and self.status == "optimal" and not paired.all():
                raise VerificationError("row has a number below 0")
            if ((row < -1) | (column < -1) | ((column >= 0) != paired)).any():
                raise VerificationError(
                    "row and column have -1, and nothing else below 0, at the same places"
                )
            if (paired[..., 1:] > paired[..., :-1]).any():
                raise VerificationError("row has pairs after a -1")
            if (row >= n).any() or (column >= m).any():
                raise VerificationError(f"row or column has a number past {n} rows and {m} columns")
            for name, prices, size in (("u", self.u, n), ("v", self.v, m)):
                checked = checked_numbers(costs, prices, name, (*leading, size), number)
                if checked.dtype == object and number is np.float64:
                    raise VerificationError(f"{name} has dtype object, expected float64")
                sizes = None if isinstance(costs, SparseCosts | PointCosts) else costs.sizes
                if sizes is not None:
                    outside = np.arange(size) >= sizes[:, [int(name == "v")]]
                    if (self._by_item(prices)[outside] != 0).any():
                        raise VerificationError(f"{name} has prices past the sizes of the matrices")
            self._check_exact_prices()
            if leading:
                check_bounds_of_items(costs, self.status, self.lower_bound, self.upper_bound, leading, number)
            else:
                check_bounds(self.status, self.lower_bound, self.upper_bound)
            lower, upper = self._bounds()
            if self.status != "optimal" and (lower == upper).all():
                raise VerificationError(f"the status is {self.status}, and the bounds meet")

    def _bounds(self) -> tuple[Array, Array]:
        """Return the lower and the upper bound of each item."""
        if self.costs.leading:
            return self._by_item(self.lower_bound), self._by_item(self.upper_bound)
        return np.array([self.lower_bound], dtype=object), np.array([self.upper_bound], dtype=object)

    def _verify_bounds(self) -> None:
        """Prove the bound of every item, and the assignment of each item that has one."""
        lower, upper = (bound.tolist() for bound in self._bounds())
        for item, arguments in enumerate(self._items(range(self.costs.shape[0]))):
            below, above = lower[item], upper[item]
            if below == above or self.status == "approximate":
                gap = None if below == above else math.nextafter(above - below, math.inf)
                check_assignment(*arguments, gap=gap, exact=self._exact_prices(item))
                continue
            one, _, _, _, u, v, *_ = arguments
            proved, other = (above, -below) if self.costs.maximize else (below, above)
            if other != np.inf:
                raise VerificationError(f"nothing proves the bound {other}")
            check_bound(one, 0, u, v, proved)

    def _exact_prices(self, item: int) -> ExactPrices | None:
        """Return the prices of an item before rounding, where they are needed."""
        if self._exact is None:
            return None
        return self._exact.get(item)

    def _check_exact_prices(self) -> None:
        if self._exact is None:
            return
        if not isinstance(self._exact, dict) or not self._exact:
            raise VerificationError("_exact is no dictionary of prices by item")
        items, n, m = self.costs.shape
        sizes = None if isinstance(self.costs, SparseCosts | PointCosts) else self.costs.sizes
        for item, prices in self._exact.items():
            if type(item) is not int or not 0 <= item < items or self.costs.dtype.kind != "f":
                raise VerificationError(f"there are no exact prices of an item {item!r}")
            check_kind(prices, "exact prices", ExactPrices)
            own = (n, m) if sizes is None else sizes[item].tolist()
            check_integers("exact prices", prices.exponent, (prices.u, own[0]), (prices.v, own[1]))

    def _items(
        self, items: Iterable[int]
    ) -> Iterator[tuple[Any, int, Array, Array, Array, Array, Number, bool]]:
        """Yield the arguments of the proof of each item: costs, 0, pairs, prices, total, `partial`."""
        row, column, u, v = (self._by_item(part) for part in (self.row, self.column, self.u, self.v))
        totals = self._bounds()[not self.costs.maximize]
        for item in items:
            one = (
                self.costs.one_on_host(item) if isinstance(self.costs, DeviceCosts) else self.costs.one(item)
            )
            _, n, m = one.shape
            paired = row[item] >= 0
            pairs = row[item][paired], column[item][paired]
            yield one, 0, *pairs, u[item, :n], v[item, :m], totals[item], self.partial

    def _unproved_together(self, costs: DenseCosts | DeviceCosts) -> list[int]:
        """Check all items together, where their arrays are; return the items that this does not prove."""
        total: Array | Number = self.lower_bound
        if (
            (isinstance(total, np.ndarray) and total.dtype.kind == "O")
            or (isinstance(total, int) and abs(total) >= 2**63)
            or (isinstance(costs, DenseCosts) and costs.base is not None)
            or costs.huge
        ):
            return list(range(costs.shape[0]))
        with costs.current():
            if not costs.leading:
                total = costs.xp.asarray(total)
            items, dimensions = costs.shape[0], len(costs.leading)
            parts = (costs.to_array_module(part) for part in (self.row, self.column, self.u, self.v, total))
            return unproved_items(costs, *(part.reshape(items, *part.shape[dimensions:]) for part in parts))

    def _by_item(self, values: AnyArray) -> AnyArray:
        """Return values of all items as a NumPy array whose first dimension is the item."""
        host = values if isinstance(values, np.ndarray) else self.costs.to_host(values)
        each = host.shape[len(self.costs.leading) :]
        return host.reshape(self.costs.shape[0], *each)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, (*self.costs.leading, *self.costs.shape[1:])))
        single = self.status == "optimal" and not self.costs.leading
        outcome: str = self.status
        if single:
            quick = not isinstance(self.costs, PointCosts)  # the gap of points computes every distance
            far = quick and self.gap > NEGLIGIBLE_GAP * abs(self.cost)
            outcome = f"cost {self.cost}" + (f" within {self.gap:.2g}" if far else "")
        return f"<AssignmentResult: {shape}, {outcome}, {self._how()}>"
