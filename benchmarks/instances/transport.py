"""Transport problems, which are the input of every contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflow.arrays import Array
from preflow.certify.exact import exact_dot
from preflow.generators.min_cost import PARTS
from preflow.graph.point_costs import PointCosts


@dataclass(frozen=True)
class TransportInstance:
    """Costs and masses with equal sums.

    Attributes
    ----------
    cost : ndarray of int64 or float64, shape (rows, columns), or PointCosts
        Floats are multiples of ``1 / PARTS``, and so are the costs of points.
    a, b : ndarray of int64 or float64, shapes (rows,) and (columns,)
        Floats are multiples of ``1 / PARTS``.
    """

    cost: Any
    a: Array
    b: Array

    @property
    def is_points(self) -> bool:
        """Whether costs are distances of points."""
        return isinstance(self.cost, PointCosts)

    @property
    def integral(self) -> bool:
        """Whether costs and masses are integers."""
        return not self.is_points and self.cost.dtype.kind == self.a.dtype.kind == "i"

    @property
    def sizes(self) -> Mapping[str, int]:
        """Rows, columns and pairs."""
        return {"rows": len(self.a), "columns": len(self.b), "pairs": len(self.a) * len(self.b)}

    def matrix(self) -> Array:
        """Return the costs of all pairs."""
        costs: Array = self.cost.block(0, len(self.a)) if self.is_points else self.cost
        return costs

    @cached_property
    def integers(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Costs and masses for solvers of integers: floats times PARTS."""
        cost, a, b = (
            values if values.dtype.kind == "i" else np.rint(values * PARTS).astype(np.int64)
            for values in (self.matrix(), self.a, self.b)
        )
        return cost, a, b

    def total(self, row: Array, column: Array, mass: Array) -> int | float:
        """Return the cost of a plan, exactly for integers."""
        if self.is_points:
            costs = self.cost.at(0, np.asarray(row), np.asarray(column))
        else:
            costs = self.cost[row, column]
        if self.integral:
            return int(exact_dot(costs, np.rint(mass).astype(np.int64)))
        return float((costs.astype(np.longdouble) * mass).sum())

    def miniature(self) -> TransportInstance:
        """Return two rows and two columns of the same kind and dtypes."""
        half = np.array([1, 1]) if self.a.dtype.kind == "i" else np.array([0.5, 0.5])
        masses = half.astype(self.a.dtype)
        if self.is_points:
            corners = np.eye(2, self.cost.rows.shape[1])
            return TransportInstance(
                PointCosts(corners, corners + 1, metric=self.cost.metric), masses, masses.copy()
            )
        return TransportInstance(np.array([[1, 2], [2, 1]], dtype=self.cost.dtype), masses, masses.copy())
