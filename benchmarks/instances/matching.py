"""Bipartite graphs as the index arrays of a sparse matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from preflow.arrays import Array
from preflow.graph.bipartite import BipartiteGraph

if TYPE_CHECKING:
    import scipy.sparse


@dataclass(frozen=True)
class MatchingInstance:
    """The pattern of a sparse matrix, in CSR form.

    Attributes
    ----------
    shape : (int, int)
    indptr, indices : ndarray of int32 or int64
    """

    shape: tuple[int, int]
    indptr: Array
    indices: Array

    @classmethod
    def from_graph(cls, graph: BipartiteGraph) -> MatchingInstance:
        """Return the arrays of a graph, with the index dtype of SciPy."""
        dtype = np.int32 if graph.num_edges < 2**31 else np.int64
        first, neighbour = graph.rows
        return cls(graph.shape, first.astype(dtype), neighbour.astype(dtype))

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.indices)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Rows, columns and edges."""
        return {"rows": self.shape[0], "columns": self.shape[1], "edges": self.num_edges}

    def matrix(self) -> scipy.sparse.csr_array:
        """Return the matrix, with ones as entries."""
        from scipy.sparse import csr_array

        ones = np.ones(self.num_edges, dtype=np.int8)
        return csr_array((ones, self.indices, self.indptr), shape=self.shape)

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row and the column of each edge."""
        row = np.repeat(np.arange(self.shape[0], dtype=np.int64), np.diff(self.indptr))
        return row, self.indices.astype(np.int64)

    def miniature(self) -> MatchingInstance:
        """Return a matrix with two rows that share a column."""
        dtype = self.indices.dtype
        return MatchingInstance((2, 2), np.array([0, 2, 3], dtype), np.array([0, 1, 0], dtype))
