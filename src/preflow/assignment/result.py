"""What linear_assignment returns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..certify.assignment import check_assignment, check_bound, proved_gap
from ..certify.assignment_batch import unproved_items
from ..certify.fields import check_bounds, check_bounds_of_items, checked_array, checked_numbers
from ..errors import InvalidInputError, VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..solving.result import NEGLIGIBLE_GAP, BoundedResult
from ..stats import AssignmentStats


@dataclass(frozen=True, eq=False, repr=False)
class AssignmentResult(BoundedResult):
    """An assignment of the least cost, or what was found within the time limit.

    For a stack of matrices every array has their leading dimensions, and so have the bounds. Arrays are
    NumPy's, or of the kind that the costs came in where these were another library's.

    Attributes
    ----------
    row, column : array of int64, shape (k,)
        The pairs, by ascending rows: ``cost[row, column]`` are their costs. Of a stack in which some have
        fewer pairs than others (``sizes``, ``partial=True``, or the time limit), these end with -1.
    u, v : array of int64 or float64, of Python integers where int64 does not suffice, shapes (n,) and (m,)
        Prices of rows and columns that prove the assignment optimal: ``u[i] + v[j]`` is at most the cost of
        every pair (at least, with `maximize`), and equal for the pairs assigned. Rows or columns that are
        left over have no smaller (larger) price than the others of that side. With `partial`, where not all
        rows (columns, if there are fewer) have a partner, this holds apart for the pairs of rows that no
        alternating path from a row without partner reaches with columns that none reaches, and for the pairs
        of the others; a pair of a row of the former with a column of the latter is in no assignment with as
        many pairs, and its cost may be smaller than the prices.
    status, lower_bound, upper_bound, value
        See :class:`preflow.solving.result.BoundedResult`.
    stats : AssignmentStats
    costs : DenseCosts, SparseCosts, PointCosts or DeviceCosts
    partial : bool
        Whether rows and columns may be left over although there are as many of the others.
    """

    row: Any
    column: Any
    u: Any
    v: Any
    stats: AssignmentStats
    costs: DenseCosts | SparseCosts | PointCosts | DeviceCosts
    partial: bool

    @property
    def cost(self) -> Any:
        """The sum of the costs of all pairs; an array for a stack of matrices.

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        """
        return self.value

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs of row and column of a single matrix, by the caller's labels if there are some.

        Raises
        ------
        InvalidInputError
            The costs are a stack of matrices.
        """
        if self.costs.leading:
            raise InvalidInputError("pairs() is for one matrix of costs, these are a stack")
        row, column = (self._by_item(side)[0].tolist() for side in (self.row, self.column))
        found = [(i, j) for i, j in zip(row, column, strict=True) if i >= 0]
        labels = self.costs.labels if isinstance(self.costs, SparseCosts) else None
        return list(found) if labels is None else [(labels[0][i], labels[1][j]) for i, j in found]

    @cached_property
    def gap(self) -> Any:
        """How far the value may be from the optimum of the costs as given; proved. An array for a stack.

        0 for an optimum of integers. For floats, the exact difference between the value and what the prices
        prove, rounded up. These are rounding errors: small beside the costs that the assignment uses, or
        beside what it costs more than the least costs of all rows where that is larger. (A row may have a
        large reward that another one takes; prices near that reward have its rounding error.) It takes a
        pass over the costs, the first time. Where the solve stopped early, the difference of the two bounds.
        """
        leading = self.costs.leading
        if self.status != "optimal":
            bounds = self.lower_bound, self.upper_bound
            lower, upper = (self._by_item(bound).reshape(leading) if leading else bound for bound in bounds)
            return upper - lower
        if self.costs.dtype.kind == "i":
            return np.zeros(leading, dtype=np.int64) if leading else 0
        gaps = [proved_gap(*arguments) for arguments in self._items(range(self.costs.shape[0]))]
        return np.array(gaps).reshape(leading) if leading else gaps[0]

    def verify(self) -> None:
        """Prove the assignment optimal, independently of the solver, in one pass over the costs.

        No row or column is in two pairs, each pair is allowed, the prices exceed no cost and meet those of
        the pairs; each row or column left over has the price that makes this a proof. Exact for integers of
        any size. For floats the prices may be off by a rounding error relative to the assignment found, its
        costs and how far they are above the least of their rows; see `gap`. Where fewer pairs were found than
        there are rows and columns, a cover proves that there cannot be more. A result that stopped early
        proves its bound instead. Stacks are looked at together, costs on a GPU there; what that leaves open
        is looked at on the host, one matrix after the other.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        self._check_fields()
        if self.status != "optimal":
            self._verify_bounds()
            return
        items: Iterable[int] = range(self.costs.shape[0])
        if isinstance(self.costs, DeviceCosts) or (isinstance(self.costs, DenseCosts) and self.costs.leading):
            items = self._unproved_together(self.costs)
        for arguments in self._items(items):
            check_assignment(*arguments)

    def _check_fields(self) -> None:
        """Check shapes and dtypes of what the proof computes with, and that the bounds are in order."""
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
            for name, prices, size in (("u", self.u, n), ("v", self.v, m)):
                exact = checked_numbers(costs, prices, name, (*leading, size), number).dtype == object
                if exact and number is np.float64:
                    raise VerificationError(f"{name} has dtype object, expected float64")
            if leading:
                check_bounds_of_items(costs, self.status, self.lower_bound, self.upper_bound, leading, number)
            else:
                check_bounds(self.status, self.lower_bound, self.upper_bound)

    def _verify_bounds(self) -> None:
        """Prove the bound of every item, and the assignments of those that have one."""
        items = range(self.costs.shape[0])
        lower, upper = (
            self._by_item(bound).tolist() if self.costs.leading else [bound]
            for bound in (self.lower_bound, self.upper_bound)
        )
        for item, arguments in enumerate(self._items(items)):
            if lower[item] == upper[item]:
                check_assignment(*arguments)
            else:
                one, _, _, _, u, v, *_ = arguments
                check_bound(one, 0, u, v, upper[item] if self.costs.maximize else lower[item])

    def _items(self, items: Iterable[int]) -> Iterator[tuple[Any, int, Any, Any, Any, Any, Any, bool]]:
        """Yield what proves some items: costs, 0, pairs, prices, total and whether they may be partial."""
        row, column, u, v = (self._by_item(part) for part in (self.row, self.column, self.u, self.v))
        totals = self._by_item(self.lower_bound) if self.costs.leading else [self.lower_bound]
        for item in items:
            one = (
                self.costs.one_on_host(item) if isinstance(self.costs, DeviceCosts) else self.costs.one(item)
            )
            _, n, m = one.shape
            paired = row[item] >= 0
            pairs = row[item][paired], column[item][paired]
            yield one, 0, *pairs, u[item, :n], v[item, :m], totals[item], self.partial

    def _unproved_together(self, costs: DenseCosts | DeviceCosts) -> list[int]:
        """Return the items that a look at all of them, where their arrays are, leaves open."""
        total: Any = self.lower_bound
        if (
            (isinstance(total, np.ndarray) and total.dtype.kind == "O")
            or (isinstance(total, int) and abs(total) >= 2**63)
            or (isinstance(costs, DenseCosts) and costs.base is not None)
        ):
            return list(range(costs.shape[0]))
        with costs.current():
            if not costs.leading:
                total = costs.xp.asarray(total)
            items, dimensions = costs.shape[0], len(costs.leading)
            parts = (costs.to_array_module(part) for part in (self.row, self.column, self.u, self.v, total))
            return unproved_items(costs, *(part.reshape(items, *part.shape[dimensions:]) for part in parts))

    def _by_item(self, values: Any) -> Any:
        """Return values of all items as a NumPy array that has these in its first dimension."""
        host = values if isinstance(values, np.ndarray) else self.costs.to_host(values)
        each = host.shape[len(self.costs.leading) :]
        return host.reshape(self.costs.shape[0], *each)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, (*self.costs.leading, *self.costs.shape[1:])))
        single = self.status == "optimal" and not self.costs.leading
        outcome: str = self.status
        if single:
            quick = not isinstance(self.costs, PointCosts)  # whose gap takes a look at every distance
            far = quick and self.gap > NEGLIGIBLE_GAP * abs(self.cost)
            outcome = f"cost {self.cost}" + (f" within {self.gap:.2g}" if far else "")
        return f"<AssignmentResult: {shape}, {outcome}, {self._how()}>"
