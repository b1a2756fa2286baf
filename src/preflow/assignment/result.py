"""What linear_assignment returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..certify.assignment import check_assignment, check_bound
from ..certify.device_assignment import unproved_items
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device_costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..solving.result import BoundedResult
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
    u, v : array of int64 or float64, shapes (n,) and (m,)
        Prices of rows and columns that prove the assignment optimal: ``u[i] + v[j]`` is at most the cost of
        every pair (at least, with `maximize`), and equal for the pairs assigned.
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

    def verify(self) -> None:
        """Prove the assignment optimal, independently of the solver, in one pass over the costs.

        No row or column is in two pairs, each pair is allowed, the prices exceed no cost and meet those of
        the pairs; who is left over has the price that makes this a proof. Exact for integers; for floats
        within a rounding error that grows with the number of rows. Where fewer pairs were found than there
        are rows and columns, a cover proves that there cannot be more. A result that stopped early proves
        its bound instead. Costs on a GPU are looked at there; what that leaves open, on the host.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        items = list(range(self.costs.shape[0]))
        if isinstance(self.costs, DeviceCosts) and self.status == "optimal":
            items = self._unproved_there(self.costs)
            if not items:
                return
        row, column, u, v = (self._by_item(part) for part in (self.row, self.column, self.u, self.v))
        bound = self.upper_bound if self.costs.maximize else self.lower_bound
        bounds = self._by_item(bound) if self.costs.leading else [bound]
        for item in items:
            one = (
                self.costs.one_on_host(item) if isinstance(self.costs, DeviceCosts) else self.costs.one(item)
            )
            _, n, m = one.shape
            prices = u[item, :n], v[item, :m]
            if self.status != "optimal":
                check_bound(one, 0, *prices, bounds[item])
                continue
            paired = row[item] >= 0
            pairs = row[item][paired], column[item][paired]
            check_assignment(one, 0, *pairs, *prices, bounds[item], self.partial)

    def _unproved_there(self, costs: DeviceCosts) -> list[int]:
        """Return the items that a look at all of them on the GPU leaves open."""
        total: Any = self.lower_bound
        if (isinstance(total, np.ndarray) and total.dtype.kind == "O") or (
            isinstance(total, int) and abs(total) >= 2**63
        ):
            return list(range(costs.shape[0]))
        with costs.current():
            if not costs.leading:
                total = costs.xp.asarray(total)
            items, dimensions = costs.shape[0], len(costs.leading)
            parts = (costs.own(part) for part in (self.row, self.column, self.u, self.v, total))
            return unproved_items(costs, *(part.reshape(items, *part.shape[dimensions:]) for part in parts))

    def _by_item(self, values: Any) -> Any:
        """Return values of all items as a NumPy array that has these in its first dimension."""
        host = values if isinstance(values, np.ndarray) else self.costs.to_host(values)
        each = host.shape[len(self.costs.leading) :]
        return host.reshape(self.costs.shape[0], *each)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, (*self.costs.leading, *self.costs.shape[1:])))
        single = self.status == "optimal" and not self.costs.leading
        outcome = f"cost {self.cost}" if single else self.status
        seconds = sum(self.stats.seconds.values())
        return f"<AssignmentResult: {shape}, {outcome}, {self.stats.method}, {seconds:.3g} s>"
