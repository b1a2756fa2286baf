"""Undirected graphs with or without weights, which are the input of every contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from preflow.arrays import Array
from preflow.graph.undirected import UndirectedGraph


@dataclass(frozen=True)
class GeneralInstance:
    """A graph, and which matching of it is wanted.

    Attributes
    ----------
    num_vertices : int
    tail, head : ndarray of uint32, shape (m,)
        No edge is a loop; no two are parallel.
    weight : ndarray of int64, shape (m,), or None
        None: a matching of maximum cardinality.
    perfect : bool
        Whether the matching is a perfect one of minimum weight; otherwise it is one of maximum weight.
    """

    num_vertices: int
    tail: Array
    head: Array
    weight: Array | None
    perfect: bool = False

    @classmethod
    def from_graph(cls, graph: UndirectedGraph, *, perfect: bool = False) -> GeneralInstance:
        """Return the arrays of a graph with one of each set of parallel edges, the first."""
        low, high = np.minimum(graph.tail, graph.head), np.maximum(graph.tail, graph.head)
        keys = low.astype(np.int64) * graph.num_vertices + high
        _, first = np.unique(np.where(low == high, -1, keys), return_index=True)
        first = first[low[first] != high[first]]
        weight = None if graph.weight is None else graph.weight[first]
        return cls(graph.num_vertices, graph.tail[first], graph.head[first], weight, perfect)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Vertices and edges."""
        return {"vertices": self.num_vertices, "edges": len(self.tail)}

    def graph(self) -> UndirectedGraph:
        """Return the container that preflow takes."""
        return UndirectedGraph.from_arrays(self.tail, self.head, self.weight, num_vertices=self.num_vertices)

    def value(self, first: Array, second: Array) -> int:
        """Return the weight, or the number, of pairs of vertices."""
        if self.weight is None:
            return len(first)
        low, high = (end.astype(np.int64) for end in (np.minimum(first, second), np.maximum(first, second)))
        tail, head = np.minimum(self.tail, self.head), np.maximum(self.tail, self.head)
        keys = tail.astype(np.int64) * self.num_vertices + head
        order = np.argsort(keys)
        wanted = low * self.num_vertices + high
        return int(self.weight[order[np.searchsorted(keys, wanted, sorter=order)]].sum())

    def miniature(self) -> GeneralInstance:
        """Return one edge."""
        ends = np.array([0], dtype=np.uint32), np.array([1], dtype=np.uint32)
        weight = None if self.weight is None else np.ones(1, dtype=np.int64)
        return GeneralInstance(2, *ends, weight, self.perfect)
