"""Bipartite matching and b-matching as a maximum flow: source to rows, rows to columns, columns to sink.

The arcs of the source and the sink have the limits of rows and columns as capacities, those between have
the limit of an edge. A minimum cut becomes a vertex cover: the rows on the sink side and the columns on the
source side. Where edges have limits of their own, some edges may be left over, and count with their limits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import GraphInput
from ..certify.fields import check_array, checked_number
from ..drawing.pairs import draw_two_columns
from ..errors import InvalidInputError, VerificationError
from ..graph.bipartite import BipartiteGraph
from ..graph.convert import as_bipartite_graph
from ..graph.edge_tables import in_order_of, labels_of
from ..graph.network import INT64_MAX, FlowNetwork
from ..maxflow.result import MaxFlowResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from .base import FlowReduction, check_fits, read_limits, sum_of, totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class BMatching(DrawnResult):
    """A largest b-matching, and the cover that proves it.

    Attributes
    ----------
    size : int
        The number of edges, each as often as it is used.
    count : ndarray of int64, shape (num_edges,)
        How often each edge is used, by rows.
    edge_row, edge_column : ndarray of int64, shape (num_edges,)
        The ends of the edges, by rows.
    row_limit, column_limit : ndarray of int64
    edge_limit : int or None
        How often each edge may be used; None if only rows and columns limit it.
    cover_rows, cover_columns : ndarray of bool
        The limits of these rows and columns, and `edge_limit` for each edge without an end among them, sum to
        `size`. Every matching is at most as large.
    row_labels, column_labels : tuple or None
        The caller's labels.
    """

    size: int
    count: NDArray[np.int64]
    edge_row: NDArray[np.int64]
    edge_column: NDArray[np.int64]
    row_limit: NDArray[np.int64]
    column_limit: NDArray[np.int64]
    edge_limit: int | None
    cover_rows: NDArray[np.bool_]
    cover_columns: NDArray[np.bool_]
    row_labels: tuple[Hashable, ...] | None = None
    column_labels: tuple[Hashable, ...] | None = None

    @property
    def row(self) -> NDArray[np.int64]:
        """The row of each edge that is used."""
        return self.edge_row[self.count > 0]

    @property
    def column(self) -> NDArray[np.int64]:
        """The column of each edge that is used."""
        return self.edge_column[self.count > 0]

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the row and the column of each edge as often as it is used, with the caller's labels."""
        ends = (
            labels_of(labels, np.repeat(numbers, self.count)).tolist()
            for labels, numbers in ((self.row_labels, self.edge_row), (self.column_labels, self.edge_column))
        )
        return list(zip(*ends, strict=True))

    def verify(self) -> None:
        """Prove the matching largest, in linear time."""
        shape, edges = (len(self.row_limit), len(self.column_limit)), len(self.count)
        columns = [("count", self.count, edges)]
        columns += [("edge_row", self.edge_row, edges), ("edge_column", self.edge_column, edges)]
        columns += [("row_limit", self.row_limit, shape[0]), ("column_limit", self.column_limit, shape[1])]
        for name, values, count in columns:
            check_array(np, values, name, (count,), np.int64)
            if count and int(values.min()) < 0:
                raise VerificationError(f"{name} has a number below zero")
        covers = (("cover_rows", self.cover_rows), ("cover_columns", self.cover_columns))
        for (name, cover), count, labels in zip(
            covers, shape, (self.row_labels, self.column_labels), strict=True
        ):
            check_array(np, cover, name, (count,), np.bool_)
            if labels is not None and (not isinstance(labels, tuple) or len(labels) != count):
                raise VerificationError(f"there are not {count} labels")
        limit = self.edge_limit
        if limit is not None and (type(limit) is not int or limit < 0):
            raise VerificationError(f"edge_limit is {limit!r}")
        if limit is not None and (self.count > limit).any():
            raise VerificationError("an edge is used too often")
        for side, ends, most in (
            ("row", self.edge_row, self.row_limit),
            ("column", self.edge_column, self.column_limit),
        ):
            if edges and int(ends.max()) >= len(most):
                raise VerificationError(f"an edge has a {side} that does not exist")
            used = totals(ends, self.count, len(most))
            if (used > most).any():
                raise VerificationError(f"{side} {int((used > most).argmax())} is used too often")
        size = checked_number(self.size, "size")
        if sum_of(self.count) != size:
            raise VerificationError(f"the matching has {sum_of(self.count)} edges, not {size}")
        left = int(np.count_nonzero(~self.cover_rows[self.edge_row] & ~self.cover_columns[self.edge_column]))
        if left and limit is None:
            raise VerificationError(f"{left} edges are not covered")
        bound = sum_of(self.row_limit[self.cover_rows]) + sum_of(self.column_limit[self.cover_columns])
        bound += left * (limit or 0)
        if bound != size:
            raise VerificationError(f"the cover proves {bound}, not {size}")

    def _summary(self) -> str:
        return f"size {self.size:,}, {np.count_nonzero(self.count):,} of {len(self.count):,} edges"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw rows and columns as two columns of vertices; squares are the cover that proves the size."""
        edges, cover = (self.edge_row, self.edge_column), (self.cover_rows, self.cover_columns)
        shape = len(self.row_limit), len(self.column_limit)
        return draw_two_columns(
            ax, shape, edges, self.count > 0, cover, (self.row_labels, self.column_labels)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchingAsMaxFlow(FlowReduction[BMatching]):
    """A bipartite matching, or b-matching, as a maximum flow.

    Attributes
    ----------
    network : FlowNetwork
        The arcs of the rows, those of the columns, then the edges by rows.
    source, sink : int
    graph : BipartiteGraph
    row_limit, column_limit : ndarray of int64
    edge_limit : int or None

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.MatchingAsMaxFlow.of(([0, 0, 1, 2], [0, 1, 0, 0]))
    >>> reduction.network.num_vertices, reduction.network.num_arcs
    (7, 9)
    >>> found = reduction.solve()
    >>> found.size, found.cover_rows.tolist(), found.cover_columns.tolist()
    (2, [False, False, False], [True, True])
    >>> found.verify()
    """

    graph: BipartiteGraph
    row_limit: NDArray[np.int64]
    column_limit: NDArray[np.int64]
    edge_limit: int | None

    @classmethod
    def of(
        cls,
        graph: GraphInput,
        *,
        row_limit: ArrayLike = 1,
        column_limit: ArrayLike = 1,
        edge_limit: int | None = None,
    ) -> Self:
        """Build the network; arguments are those of :func:`b_matching`."""
        given = as_bipartite_graph(graph).on_host()
        n, m = given.shape
        row_limit = in_order_of(given.row_labels, row_limit, "row_limit")
        column_limit = in_order_of(given.column_labels, column_limit, "column_limit")
        rows, columns = read_limits(row_limit, n, "row_limit"), read_limits(column_limit, m, "column_limit")
        if edge_limit is not None and (
            isinstance(edge_limit, bool) or not isinstance(edge_limit, int | np.integer) or edge_limit < 0
        ):
            raise InvalidInputError(f"edge_limit must be an integer of at least 0, got {edge_limit!r}")
        row, column = _edges(given)
        # More than one end of the edge allows: such an arc is in no minimum cut.
        capacity = np.minimum(rows[row], columns[column]) + 1
        if edge_limit is not None:
            capacity = np.minimum(capacity, min(int(edge_limit), INT64_MAX))
        source, sink = n + m, n + m + 1
        network = FlowNetwork.from_arrays(
            np.concatenate([np.full(n, source), n + np.arange(m), row]),
            np.concatenate([np.arange(n), np.full(m, sink), n + column]),
            np.concatenate([rows, columns, capacity]),
            num_vertices=n + m + 2,
        )
        return cls(
            network=network,
            source=source,
            sink=sink,
            graph=given,
            row_limit=rows,
            column_limit=columns,
            edge_limit=None if edge_limit is None else int(edge_limit),
        )

    def solution(self, result: MaxFlowResult) -> BMatching:
        """Return the matching, and the cover that the cut is."""
        check_fits(result, self.network)
        n, m = self.graph.shape
        return BMatching(
            int(result.value),
            result.flow[n + m :].astype(np.int64),
            *_edges(self.graph),
            self.row_limit,
            self.column_limit,
            self.edge_limit,
            result.sink_side[:n].copy(),
            ~result.sink_side[n : n + m],
            self.graph.row_labels,
            self.graph.column_labels,
        )


def _edges(graph: BipartiteGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of all edges, by rows."""
    first = graph.rows.first.astype(np.int64)
    return np.repeat(np.arange(graph.num_rows), first[1:] - first[:-1]), graph.rows.neighbour.astype(np.int64)


def b_matching(
    graph: GraphInput,
    *,
    row_limit: ArrayLike = 1,
    column_limit: ArrayLike = 1,
    edge_limit: int | None = 1,
    **arguments: Unpack[Keywords],
) -> BMatching:
    """Find as many edges as possible such that no row and no column has more than its limit.

    Parameters
    ----------
    graph : BipartiteGraph, (row, column), edges, matrix, or graph of a library
        As in :func:`preflow.bipartite_matching`.
    row_limit, column_limit : array_like of integers, shape (num_rows,) or (num_columns,), or scalar
        How many edges each row, and each column, may have; by label, a mapping or a Series.
    edge_limit : int or None
        How often an edge may be used; None: as often as its row and its column allow. An edge that is given
        twice is two edges, each with this limit: they are listed one after the other in `count`.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.max_flow`.

    Returns
    -------
    BMatching

    Examples
    --------
    >>> import preflow
    >>> # three workers, the first can take two shifts
    >>> found = preflow.reductions.b_matching(([0, 0, 0, 1, 2], [0, 1, 2, 2, 2]), row_limit=[2, 1, 1])
    >>> found.size, found.count.tolist()
    (3, [1, 1, 0, 1, 0])
    >>> found.verify()
    >>> shifts = [("ada", "early"), ("ada", "late"), ("bob", "late")]
    >>> preflow.reductions.b_matching(shifts, row_limit={"ada": 2, "bob": 0}).pairs()
    [('ada', 'early'), ('ada', 'late')]
    """
    limits = {"row_limit": row_limit, "column_limit": column_limit}
    return MatchingAsMaxFlow.of(graph, **limits, edge_limit=edge_limit).solve(**arguments)
