"""Costs of assignment problems, which are the input of every contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from preflow.arrays import Array
from preflow.graph.point_costs import PointCosts


@dataclass(frozen=True)
class AssignmentInstance:
    """Costs to minimise. All rows can be assigned.

    Attributes
    ----------
    costs : ndarray, shape (n, m) or (items, n, m), scipy sparse matrix in CSR form, or PointCosts
    """

    costs: Any

    @property
    def kind(self) -> str:
        """The kind of costs: "dense", "batch", "sparse" or "points"."""
        if isinstance(self.costs, PointCosts):
            return "points"
        if hasattr(self.costs, "tocsr"):
            return "sparse"
        return "batch" if self.costs.ndim == 3 else "dense"

    @property
    def integral(self) -> bool:
        """Whether the costs have an integer dtype."""
        return bool(np.dtype(self.costs.dtype).kind == "i")

    @property
    def sizes(self) -> Mapping[str, int]:
        """The numbers of rows, columns and pairs, and of the problems of a batch."""
        n, m = self.costs.shape[-2:]
        if self.kind == "batch":
            return {"problems": len(self.costs), "rows": n, "columns": m, "pairs": self.costs.size}
        return {"rows": n, "columns": m, "pairs": self.costs.nnz if self.kind == "sparse" else n * m}

    def arcs(self) -> tuple[Array, Array, Array]:
        """Return the row, the column and the cost of each pair of dense or sparse costs."""
        n, m = self.costs.shape
        if self.kind == "sparse":
            row = np.repeat(np.arange(n), np.diff(self.costs.indptr))
            return row, self.costs.indices, self.costs.data
        return np.repeat(np.arange(n), m), np.tile(np.arange(m), n), self.costs.ravel()

    def total(self, columns: Any) -> int | float:
        """Return the total cost of an assignment. `columns` has the column of each row, for each problem."""
        columns = np.asarray(columns)
        rows = np.arange(columns.shape[-1])
        if self.kind == "points":
            found = self.costs.at(0, rows, columns).sum()
        elif self.kind == "batch":
            found = self.costs[np.arange(len(columns))[:, None], rows, columns].sum()
        else:
            found = self.costs[rows, columns].sum()
        return int(found) if self.integral else float(found)

    def miniature(self) -> AssignmentInstance:
        """Return costs of the same kind and dtype for two rows and two columns."""
        if self.kind == "points":
            corners = np.eye(2, self.costs.rows.shape[1])
            return AssignmentInstance(PointCosts(corners, corners + 1, metric=self.costs.metric))
        two = np.array([[1, 2], [2, 1]], dtype=self.costs.dtype)
        if self.kind == "sparse":
            return AssignmentInstance(type(self.costs)(two))
        return AssignmentInstance(two[None] if self.kind == "batch" else two)
