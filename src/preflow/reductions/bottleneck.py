"""The assignment whose dearest pair costs the least, and among these the cheapest one.

The cost of the dearest pair is found by searches among the costs, each of which is a bipartite matching
(:func:`.diagonals.largest_smallest`; Duff and Koster, SIAM J. Matrix Anal. Appl. 22, 2001, section 2). The
cheapest assignment of the pairs that cost no more is an ordinary one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, EndsNames
from ..assignment.api import linear_assignment
from ..assignment.result import AssignmentResult
from ..bipartite.cover import VertexCover
from ..certify.fields import check_array, check_kind
from ..errors import VerificationError
from ..graph.cost_edges import with_edges_read
from ..graph.costs import SparseCosts
from ..graph.edge_tables import Tabular, labels_of
from ..graph.point_costs import PointCosts
from ..solving.read_only import ReadOnlyArrays
from ..solving.run import Deadline
from .base import one_matrix
from .diagonals import Limits, largest_smallest

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class BottleneckAssignment(Tabular, ReadOnlyArrays):
    """An assignment whose dearest pair costs the least, and the proof of it.

    Attributes
    ----------
    row, column : ndarray of int64, shape (k,)
        The pairs, by rows.
    bottleneck : int or float
        The cost of the dearest pair; the worth of the worst one, with `maximize`. Infinite of no pairs.
    costs : SparseCosts
        The allowed pairs.
    assignment : AssignmentResult
        Of the pairs that are no worse than `bottleneck`: its prices prove the sum.
    cover : VertexCover
        Fewer rows and columns than there are pairs. All pairs that are better than `bottleneck` have one of
        them: so no assignment has such pairs only.
    full_cover : VertexCover
        As many rows and columns as there are pairs. All pairs have one of them: so no assignment has more.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    bottleneck: int | float
    costs: SparseCosts
    assignment: AssignmentResult
    cover: VertexCover
    full_cover: VertexCover

    @property
    def cost(self) -> int | float:
        """The sum of the costs of the pairs: the best one for this `bottleneck`."""
        total: int | float = self.assignment.cost
        return total

    @property
    def gap(self) -> int | float:
        """How far rounding of floats may have led the sum from the best one; 0 for integers."""
        gap: int | float = self.assignment.gap
        return gap

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs (row, column), named by the caller's labels if the costs have some."""
        columns = self.to_columns()
        return list(zip(columns["row"].tolist(), columns["column"].tolist(), strict=True))

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas`: for each pair "row", "column" and "cost"."""
        rows, columns = self.costs.labels or (None, None)
        return {
            "row": labels_of(rows, self.row),
            "column": labels_of(columns, self.column),
            "cost": self.costs.at(0, self.row, self.column),
        }

    def verify(self) -> None:
        """Prove that no assignment has a better worst pair, and none with such a one a better sum.

        By two covers and by prices, in linear time.
        """
        costs, given = self.costs, self.assignment
        check_kind(costs, "costs", SparseCosts)
        check_kind(given, "assignment", AssignmentResult)
        given.check_optimal()
        given.verify()
        for name in ("row", "column"):
            check_array(np, getattr(self, name), name, given.row.shape, np.int64)
            if not np.array_equal(getattr(self, name), getattr(given, name)):
                raise VerificationError(f"{name} is not that of the assignment that is proved")
        pairs, (_, n, m) = len(self.row), costs.shape
        values, sign = costs.values, -1 if costs.maximize else 1
        chosen = costs.at(0, self.row, self.column)
        worst = (sign * (sign * chosen).max()).item() if pairs else -sign * np.inf
        if self.bottleneck != worst or type(self.bottleneck) is not type(worst):
            raise VerificationError(f"the worst pair costs {worst}, not {self.bottleneck}")
        kept, left = costs.keep(sign * values <= sign * worst), given.costs
        if not isinstance(left, SparseCosts) or (left.maximize, left.shape) != (costs.maximize, costs.shape):
            raise VerificationError("the assignment is one of other costs")
        for name in ("first", "column", "values"):
            if not np.array_equal(getattr(left, name), getattr(kept, name)):
                raise VerificationError("the assignment is not one of the pairs that are no worse")
        every = np.ones(len(values), dtype=bool)
        for name, cover, counts, most in (
            ("full_cover", self.full_cover, every, pairs),
            ("cover", self.cover, sign * values < sign * worst, max(pairs - 1, 0)),
        ):
            check_kind(cover, name, VertexCover)
            check_array(np, cover.rows, f"rows of {name}", (n,), np.bool_)
            check_array(np, cover.columns, f"columns of {name}", (m,), np.bool_)
            if (counts & ~cover.rows[costs.row] & ~cover.columns[costs.column]).any():
                raise VerificationError(f"{name} does not cover a pair")
            if cover.size > most:
                raise VerificationError(f"{name} has {cover.size} rows and columns, more than {most}")

    def __repr__(self) -> str:
        _, n, m = self.costs.shape
        what = "worst pair" if self.costs.maximize else "dearest pair"
        size = f"{len(self.row)} pairs of {n} x {m}"
        return f"<{type(self).__name__}: {what} {self.bottleneck:,}, cost {self.cost:,}, {size}>"


def bottleneck_assignment(
    cost: AnyArray,
    *,
    maximize: bool = False,
    partial: bool = False,
    shape: tuple[int, int] | None = None,
    weight: str | None = None,
    ends: EndsNames = None,
    threads: int | None = None,
    time_limit: float | None = None,
) -> BottleneckAssignment:
    """Pair rows with columns so that the dearest pair is as cheap as possible, then the sum.

    The bottleneck assignment problem: the last one to arrive arrives as early as possible.

    Parameters
    ----------
    cost : one matrix, sparse matrix, edges, or PointCosts
        As in :func:`preflow.linear_assignment`, in host memory; those of points are stored.
    maximize : bool
        Make the worst pair as good as possible, then the sum as large as possible.
    partial : bool
        If not all rows (columns, if there are fewer) can be paired, pair as many as possible. Otherwise this
        raises InfeasibleError.
    shape, weight, ends, threads, time_limit
        As in :func:`preflow.linear_assignment`.

    Returns
    -------
    BottleneckAssignment

    Raises
    ------
    InvalidInputError
        The costs are malformed, or integers beyond 2**59.
    InfeasibleError
        Not all rows (columns, if there are fewer) can be paired.
    NotOptimalError
        The time limit ended the search.

    Notes
    -----
    A bipartite matching of the allowed pairs, O(log p) matchings of p pairs from earlier ones, and one
    assignment of those that are left.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.reductions.bottleneck_assignment([[1, 2, 9], [2, 9, 9], [9, 6, 5]])
    >>> found.bottleneck, found.cost, found.column.tolist()
    (5, 9, [1, 0, 2])
    >>> found.verify()
    """
    limits = Limits(threads, Deadline(time_limit))
    read = with_edges_read(cost, shape=shape, weight=weight, ends=ends)
    if isinstance(read, PointCosts):
        read = read.block(0, len(read.rows))
    costs = one_matrix(read, maximize)
    sparse = costs.to_sparse()
    labels = costs.labels
    sparse = SparseCosts(
        sparse.first,
        sparse.column,
        sparse.values,
        sparse.num_columns,
        maximize,
        labels=labels,
        huge=costs.huge,
    )
    levels, rank = np.unique(sparse.values, return_inverse=True)
    goodness = rank.ravel() if maximize else len(levels) - 1 - rank.ravel()
    column_of, covers = largest_smallest(_matrix_of(sparse, goodness), goodness, limits)
    row, column = sparse.row, sparse.column
    chosen = column_of[row] == column
    count, (_, n, m) = int(np.count_nonzero(chosen)), sparse.shape
    if count < min(n, m) and not partial:
        linear_assignment(_matrix_of(sparse, sparse.values), maximize=maximize, **limits.arguments)
    kept = sparse.keep(goodness >= goodness[chosen].min(initial=len(levels)))
    assignment = linear_assignment(
        _matrix_of(kept, kept.values), maximize=maximize, partial=True, **limits.arguments
    )
    assignment.check_optimal()
    worst = np.inf if maximize else -np.inf
    if count:
        values = sparse.at(0, assignment.row, assignment.column)
        worst = (values.min() if maximize else values.max()).item()
    full_cover, cover = covers
    return BottleneckAssignment(
        assignment.row, assignment.column, worst, sparse, assignment, cover, full_cover
    )


def _matrix_of(costs: SparseCosts, values: Array) -> csr_array:
    """Return values of the allowed pairs as a sparse matrix."""
    from scipy.sparse import csr_array

    indices = costs.column.astype(np.int64), costs.first.astype(np.int64)
    return csr_array((values, *indices), shape=costs.shape[1:])
