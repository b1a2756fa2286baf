"""The result of linear_assignment with `unmatched_cost`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array, Number
from ..certify.singles import Singles, check_singles, proved_bound, rounding_of, total_cost
from ..errors import InvalidInputError, VerificationError
from ..graph.edge_tables import labels_of
from .result import AssignmentResult


@dataclass(frozen=True, eq=False, repr=False)
class AssignmentWithSinglesResult(AssignmentResult):
    """Pairs of the least cost where each row and each column without a partner has a cost, too.

    The fields are those of :class:`preflow.AssignmentResult`, with these differences.

    Attributes
    ----------
    row, column : array of int64, shape (k,)
        The pairs. In a batch, matrices with fewer pairs than others have -1 after their pairs.
    u, v : array of int64 or float64, shapes (n,) and (m,)
        Prices that prove the pairs best: at most (with `maximize`, at least) the cost of staying single, for
        a pair ``u[i] + v[j]`` at most its cost; equal for the pairs and the singles of the result. So all
        prices sum to `cost`.
    cost, value
        The sum of the costs of the pairs, of the single rows and of the single columns.
    unmatched_cost : (array, array), shapes (n,) and (m,)
        The cost of each row and of each column without a partner.
    """

    unmatched_cost: tuple[AnyArray, AnyArray]

    @cached_property
    def unmatched_rows(self) -> AnyArray:
        """Which rows are single: an array of bool, shape (n,)."""
        return self._unmatched(self.row, 0)

    @cached_property
    def unmatched_columns(self) -> AnyArray:
        """Which columns are single: an array of bool, shape (m,)."""
        return self._unmatched(self.column, 1)

    def singles(self) -> tuple[list[Hashable], list[Hashable]]:
        """Return the rows and the columns of a single matrix without partners, with the caller's labels.

        Raises
        ------
        InvalidInputError
            The costs are a batch of matrices.
        """
        if self.costs.leading:
            raise InvalidInputError("singles() is for one matrix of costs, these are a batch")
        rows, columns = self.costs.labels or (None, None)
        single_rows, single_columns = (
            np.flatnonzero(self._by_item(side)[0]) for side in (self.unmatched_rows, self.unmatched_columns)
        )
        return labels_of(rows, single_rows).tolist(), labels_of(columns, single_columns).tolist()

    def _unmatched(self, names: AnyArray, side: int) -> AnyArray:
        paired, costs = self._by_item(names), self.costs
        items, size = costs.shape[0], costs.shape[1 + side]
        sizes = getattr(costs, "sizes", None)
        single = np.arange(size) < (np.full((items, 1), size) if sizes is None else sizes[:, side : side + 1])
        item, place = np.nonzero(paired >= 0)
        single[item, paired[item, place]] = False
        with costs.current():
            return costs.to_caller(costs.xp.asarray(single.reshape(*costs.leading, size)))

    @cached_property
    def gap(self) -> Number:
        """A proved bound on the distance of the value from the optimum; an array for a batch.

        0 for integers with status "optimal". For floats it is what rounding may have changed. If the solve
        stopped early, it is the difference of the two bounds.
        """
        leading = self.costs.leading
        if self.status != "optimal":
            bounds = self.lower_bound, self.upper_bound
            lower, upper = (self._by_item(bound).reshape(leading) if leading else bound for bound in bounds)
            return upper - lower
        if self.costs.dtype.kind == "i":
            return np.zeros(leading, dtype=np.int64) if leading else 0
        gaps = []
        for one, singles, result, _ in self._proofs():
            short = total_cost(one, singles, *result[:2]) - proved_bound(one, singles, *result[2:])
            gaps.append(max(0.0, -short if one.maximize else short) + rounding_of(one, singles, result))
        return np.array(gaps).reshape(leading) if leading else gaps[0]

    def verify(self) -> None:
        """Prove the pairs best, independently of the solver, in one pass over the costs.

        No row or column is in two pairs; each pair is allowed; the costs sum to `cost`; prices exceed no cost
        of a pair or of a single, and sum to `cost`. Exact for integers; for floats up to rounding. For a
        result that stopped early, the pairs and the bound are proved.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        self._check_fields()
        rows, columns = (self._by_item(part) for part in self.unmatched_cost)
        if rows.shape != self.costs.shape[:2] or columns.shape != (self.costs.shape[0], self.costs.shape[2]):
            raise VerificationError("unmatched_cost does not fit the costs")
        for one, singles, result, (lower, upper) in self._proofs():
            total, bound = (lower, upper) if one.maximize else (upper, lower)
            if lower == upper:
                check_singles(one, singles, result, total)
                continue
            slack = rounding_of(one, singles, result) if one.dtype.kind == "f" else 0.0
            found, proved = total_cost(one, singles, *result[:2]), proved_bound(one, singles, *result[2:])
            if not abs(found - total) <= slack or not abs(proved - bound) <= slack:
                raise VerificationError(f"the bounds are {found} and {proved}, not {total} and {bound}")

    def _proofs(self) -> Iterator[tuple[Any, Singles, tuple[Array, ...], tuple[Number, Number]]]:
        """Yield what the proof of each item needs: costs, singles, pairs with prices, and bounds."""
        rows, columns = (self._by_item(part) for part in self.unmatched_cost)
        lower, upper = (
            self._by_item(bound).tolist() if self.costs.leading else [bound]
            for bound in (self.lower_bound, self.upper_bound)
        )
        for item, (one, _, row, column, u, v, *_) in enumerate(self._items(range(self.costs.shape[0]))):
            _, n, m = one.shape
            singles = Singles(rows[item, :n], columns[item, :m])
            yield one, singles, (row, column, u, v), (lower[item], upper[item])
