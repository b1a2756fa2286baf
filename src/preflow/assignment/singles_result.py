"""The result of linear_assignment with `unmatched_cost`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Number
from ..certify.assignment import checked_prices
from ..certify.exact import accurate_sum
from ..certify.fields import checked_array
from ..certify.singles import (
    Singles,
    check_singles,
    chosen_costs,
    proved_bound,
    proved_gap,
    total_cost,
)
from ..errors import VerificationError
from ..graph.costs import LARGEST_INTEGER
from ..graph.edge_tables import labels_of
from .result import AssignmentResult

if TYPE_CHECKING:
    from .alternatives import Given


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
            The costs are a batch of matrices: take one, ``result[i]``.
        """
        self._check_single("singles()")
        rows, columns = self.costs.labels or (None, None)
        single_rows, single_columns = (
            np.flatnonzero(self._by_item(side)[0]) for side in (self.unmatched_rows, self.unmatched_columns)
        )
        return labels_of(rows, single_rows).tolist(), labels_of(columns, single_columns).tolist()

    def _part(self, items: NDArray[np.int64]) -> Self:
        found = super()._part(items)
        sides = zip(self.unmatched_cost, found.costs.shape[1:], strict=True)
        rows, columns = (self._cut(part, items, size) for part, size in sides)
        return replace(found, unmatched_cost=(rows, columns))

    def _unmatched(self, names: AnyArray, side: int) -> AnyArray:
        paired, costs = self._by_item(names), self.costs
        items, size = costs.shape[0], costs.shape[1 + side]
        sizes = getattr(costs, "sizes", None)
        single = np.arange(size) < (np.full((items, 1), size) if sizes is None else sizes[:, side : side + 1])
        item, place = np.nonzero(paired >= 0)
        single[item, paired[item, place]] = False
        with costs.current():
            return costs.to_caller(costs.xp.asarray(single.reshape(*costs.leading, size)))

    def _proved_gaps(self) -> Iterator[float]:
        for item, (one, singles, answer, (total, _)) in enumerate(self._proofs()):
            if self._exact_prices(item) is None:
                yield proved_gap(one, singles, answer, total)
            else:
                off_by = abs(accurate_sum(np.append(chosen_costs(one, singles, *answer[:2]), -total)))
                yield math.nextafter(off_by, math.inf) if off_by > 0 else 0.0

    def _given(self, call: str) -> Given:
        given = super()._given(call)
        ((_, singles, _, _),) = self._proofs()
        return given._replace(singles=singles)

    def verify(self) -> None:
        """Prove the pairs best, independently of the solver, in one pass over the costs.

        No row or column is in two pairs; each pair is allowed; the costs sum to `cost`; prices exceed no cost
        of a pair or of a single, and sum to `cost`. Exact for integers; for floats up to rounding, see `gap`.
        For a result that is not optimal, the pairs and the bound are proved.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            self._check_fields()
            self._check_unmatched_cost()
            for item, (one, singles, answer, (lower, upper)) in enumerate(self._proofs()):
                total, bound = (lower, upper) if one.maximize else (upper, lower)
                if lower == upper or one.dtype.kind == "f":
                    gap = None if lower == upper else math.nextafter(upper - lower, math.inf)
                    exact = self._exact_prices(item)
                    check_singles(one, singles, answer, total, gap=gap, exact=exact)
                    continue
                prices = [checked_prices(part, 1) for part in answer[2:]]
                found, proved = total_cost(one, singles, *answer[:2]), proved_bound(one, singles, *prices)
                if found != total or proved != bound:
                    raise VerificationError(f"the bounds are {found} and {proved}, not {total} and {bound}")

    def _check_unmatched_cost(self) -> None:
        """Check that each row and each column has a finite number."""
        costs, leading = self.costs, self.costs.leading
        number = np.int64 if costs.dtype.kind == "i" else np.float64
        if not isinstance(self.unmatched_cost, tuple) or len(self.unmatched_cost) != 2:
            raise VerificationError("unmatched_cost is not a tuple of two arrays")
        with costs.current():
            for part, size in zip(self.unmatched_cost, costs.shape[1:], strict=True):
                values = checked_array(costs, part, "unmatched_cost", (*leading, size), number)
                if number is np.int64:
                    fits = ((values >= -LARGEST_INTEGER) & (values <= LARGEST_INTEGER)).all()
                else:
                    fits = costs.xp.isfinite(values).all()
                if not fits:
                    raise VerificationError("unmatched_cost has a number that is too large")

    def _proofs(self) -> Iterator[tuple[Any, Singles, tuple[Array, ...], tuple[Number, Number]]]:
        """Yield what the proof of each item needs: costs, singles, pairs with prices, and bounds."""
        rows, columns = (self._by_item(part) for part in self.unmatched_cost)
        lower, upper = (bound.tolist() for bound in self._bounds())
        for item, (one, _, row, column, u, v, *_) in enumerate(self._items(range(self.costs.shape[0]))):
            _, n, m = one.shape
            singles = Singles(rows[item, :n], columns[item, :m])
            yield one, singles, (row, column, u, v), (lower[item], upper[item])
