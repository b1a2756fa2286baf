"""What linear_assignment returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certify.assignment import check_assignment, check_bound
from ..graph.costs import DenseCosts, SparseCosts
from ..solving.result import BoundedResult
from ..stats import AssignmentStats


@dataclass(frozen=True, eq=False, repr=False)
class AssignmentResult(BoundedResult):
    """An assignment of the least cost, or what was found within the time limit.

    For a stack of matrices every array has their leading dimensions, and so have the bounds.

    Attributes
    ----------
    row, column : ndarray of int64, shape (k,)
        The pairs, by ascending rows: ``cost[row, column]`` are their costs. Of a stack in which some have
        fewer pairs than others (``partial=True``, or the time limit), these end with -1.
    u, v : ndarray of int64 or float64, shapes (n,) and (m,)
        Prices of rows and columns that prove the assignment optimal: ``u[i] + v[j]`` is at most the cost of
        every pair (at least, with `maximize`), and equal for the pairs assigned.
    status, lower_bound, upper_bound, value
        See :class:`preflow.solving.result.BoundedResult`.
    stats : AssignmentStats
    costs : DenseCosts or SparseCosts
    partial : bool
        Whether rows and columns may be left over although there are as many of the others.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    u: NDArray[Any]
    v: NDArray[Any]
    stats: AssignmentStats
    costs: DenseCosts | SparseCosts
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
        its bound instead.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        items, n, m = self.costs.shape
        row, column = (pairs.reshape(items, pairs.shape[-1]) for pairs in (self.row, self.column))
        u, v = self.u.reshape(items, n), self.v.reshape(items, m)
        maximize = self.costs.maximize
        bounds = np.asarray(self.upper_bound if maximize else self.lower_bound, dtype=object).reshape(items)
        for item in range(items):
            if self.status != "optimal":
                check_bound(self.costs, item, u[item], v[item], bounds[item])
                continue
            paired = row[item] >= 0
            pairs = row[item][paired], column[item][paired]
            check_assignment(self.costs, item, *pairs, u[item], v[item], bounds[item], self.partial)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, (*self.costs.leading, *self.costs.shape[1:])))
        single = self.status == "optimal" and not self.costs.leading
        outcome = f"cost {self.cost}" if single else self.status
        seconds = sum(self.stats.seconds.values())
        return f"<AssignmentResult: {shape}, {outcome}, {self.stats.method}, {seconds:.3g} s>"
