"""The result of bipartite_matching."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import AnyArray, Array
from ..certify.fields import check_bounds
from ..certify.matching import check_cover, check_matching
from ..drawing.pairs import draw_two_columns
from ..graph.bipartite import BipartiteGraph
from ..graph.edge_tables import Tabular, labels_of
from ..solving.read_only import make_read_only
from ..solving.result import HEADLINES, BoundedResult
from ..stats import MatchingStats
from .cover import VertexCover, koenig_cover, trivial_cover
from .match_arrays import Matching

if TYPE_CHECKING:
    import scipy.sparse
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class MatchingResult(Tabular, BoundedResult):
    """A maximum matching, or the best one found within the time limit.

    Arrays are of the kind that the graph was built from: those of NumPy, of Torch, of JAX, of CuPy.

    Attributes
    ----------
    row_match : array of int32 (int64 past 2**31), shape (num_rows,)
        The column of every row, -1 where the row is unmatched.
    column_match : array of int32 (int64 past 2**31), shape (num_columns,)
        The row of every column, -1 where the column is unmatched.
    status, lower_bound, upper_bound, value
        See :class:`preflow.solving.result.BoundedResult`. The size of this matching is `lower_bound`.
    stats : MatchingStats
    graph : BipartiteGraph
    """

    row_match: Array
    column_match: Array
    graph: BipartiteGraph
    stats: MatchingStats
    _matching: Matching

    @property
    def cardinality(self) -> int:
        """Number of edges of this matching."""
        return int(self.lower_bound)

    def on_host(self) -> MatchingResult:
        """Return the result with NumPy arrays in the host's memory: itself, or a copy."""
        return self if self.graph.on_host() is self.graph else self._host_copy

    @cached_property
    def _host_copy(self) -> MatchingResult:
        graph = self.graph
        return replace(
            self,
            row_match=graph.to_host(self.row_match),
            column_match=graph.to_host(self.column_match),
            graph=graph.on_host(),
            _matching=Matching(*map(graph.to_host, self._matching)),
        )

    @cached_property
    def vertex_cover(self) -> VertexCover:
        """A set of `upper_bound` rows and columns such that every edge has one of them.

        The cover of a maximum matching has as many vertices as the matching has edges, which proves it
        maximum (König). It is computed at first use, in O(n + m), on the host: its arrays are NumPy arrays
        for a graph on a GPU, too.
        """
        here = self.on_host()
        optimal = self.status == "optimal"
        cover = koenig_cover(here.graph, here._matching) if optimal else trivial_cover(here.graph)
        make_read_only(cover)
        return cover

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the matched pairs of row and column, by the caller's labels if the graph has labels."""
        return list(zip(*(column.tolist() for column in self.to_columns().values()), strict=True))

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns "row" and "column" of the pairs, with the caller's labels."""
        row_match = self.on_host().row_match
        rows = np.flatnonzero(row_match >= 0)
        return {
            "row": labels_of(self.graph.row_labels, rows),
            "column": labels_of(self.graph.column_labels, row_match[rows]),
        }

    def matrix(self) -> scipy.sparse.csr_array:
        """Return the matching as a sparse matrix of ones."""
        from scipy.sparse import csr_array

        row_match = self.on_host().row_match
        rows = np.flatnonzero(row_match >= 0)
        ones = np.ones(len(rows), dtype=np.int8)
        return csr_array((ones, (rows, row_match[rows])), shape=self.graph.shape)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw rows and columns as two columns of vertices, with the matching thick and red.

        The squares are the vertex cover that proves the matching maximum; free vertices are white.

        InvalidInputError: the graph has more than 200 vertices or 2,000 edges.
        """
        here = self.on_host()
        graph = here.graph
        row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
        cover = here.vertex_cover if self.status == "optimal" else None
        covered = None if cover is None else (cover.rows, cover.columns)
        labels = self.graph.row_labels, self.graph.column_labels
        edges = row, graph.rows.neighbour
        chosen = here.row_match[row] == graph.rows.neighbour
        return self._labelled(draw_two_columns(ax, graph.shape, edges, chosen, covered, labels))

    def verify(self) -> None:
        """Prove the matching maximum, independently of the solver, in linear time.

        The proof: the matching consists of edges, no two share a vertex, and the cover has the same size and
        covers every edge; no matching is larger than a cover. For a result that stopped early, the proof is
        of its two bounds. The matching of a graph on a GPU is checked on the GPU, its cover on the host.
        """
        graph = self.graph
        with graph.current():
            check_matching(graph, self.row_match, self.column_match, self.lower_bound)
        check_cover(graph.on_host(), *self.vertex_cover, self.upper_bound)
        check_bounds(self.status, self.lower_bound, self.upper_bound)

    def __repr__(self) -> str:
        rows, columns = self.graph.shape
        size = f"{self.cardinality:,} of {rows:,} rows and {columns:,} columns matched"
        if self.status != "optimal":
            size = f"{HEADLINES[self.status]}, {size}, at most {self.upper_bound:,} can be"
        return f"<MatchingResult: {size}, {self._how()}>"
