"""Read a NetworkX graph into arrays, in one pass over its adjacency."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import chain, compress
from operator import itemgetter, methodcaller
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..arrays import GraphInput, Untyped
from ..errors import InvalidInputError

#: A number of an edge by its two ends and its attributes, as NetworkX 3.7 takes it for a capacity. None hides
#: the edge.
EdgeFunction: TypeAlias = Callable[[Hashable, Hashable, Mapping[str, Untyped]], Untyped]


class GraphEdges(NamedTuple):
    """The vertices and the edges of a graph, both in NetworkX's order."""

    labels: tuple[Hashable, ...]
    number: Mapping[Hashable, int]  #: the number of the vertex with each label
    #: the ends of each edge, as numbers of vertices
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    #: the attributes of each edge: those of the graph, not copies
    data: list[Mapping[str, Untyped]]

    def ends(self, edge: int) -> str:
        """Return the labels of the two ends of an edge, for messages."""
        u, v = (self.labels[int(end[edge])] for end in (self.tail, self.head))
        return f"({u!r}, {v!r})"

    def values(self, attribute: str | EdgeFunction, default: object) -> list[Untyped]:
        """Return an attribute of every edge; of a function, what it returns, and 0 for a loop or for None."""
        if callable(attribute):
            _check_takes_edges(attribute)
            names, ends = self.labels, zip(self.tail.tolist(), self.head.tolist(), self.data, strict=True)
            found = (None if u == v else attribute(names[u], names[v], data) for u, v, data in ends)
            return [0 if value is None else value for value in found]
        try:
            return list(map(itemgetter(attribute), self.data))
        except KeyError:
            return [data.get(attribute, default) for data in self.data]


def _check_takes_edges(function: EdgeFunction) -> None:
    """Raise InvalidInputError if a function cannot be called with the ends and the attributes of an edge."""
    try:
        inspect.signature(function).bind(None, None, {})
    except TypeError as error:
        raise InvalidInputError(
            f"a function of edges is called with tail, head and attributes, and this one is not: {error}"
        ) from None
    except ValueError:  # a built-in function that does not tell
        pass


def is_networkx(graph: object) -> TypeGuard[Untyped]:
    """Return whether an object is a NetworkX graph, or behaves like one."""
    return hasattr(graph, "is_directed") and hasattr(graph, "nodes") and hasattr(graph, "adjacency")


def read_networkx(graph: GraphInput) -> GraphEdges:
    """Return the vertices and the edges of a graph or a multigraph, in the order of ``graph.edges``.

    InvalidInputError: it is no NetworkX graph.
    """
    if not is_networkx(graph):
        raise InvalidInputError(f"expected a NetworkX graph, got {type(graph).__name__}")
    adjacency: dict[Hashable, Mapping[Hashable, Untyped]] = dict(graph.adjacency())
    labels, neighbours = tuple(adjacency), adjacency.values()
    number = dict(zip(labels, range(len(labels)), strict=True))
    tail = np.repeat(np.arange(len(labels)), _sizes(neighbours))
    heads: Iterable[Untyped] = chain.from_iterable(neighbours)
    if labels != tuple(range(len(labels))):
        heads = map(number.__getitem__, heads)
    head = np.fromiter(heads, dtype=np.int64, count=len(tail))
    attributes: Iterable[Untyped] = chain.from_iterable(map(methodcaller("values"), neighbours))
    if not graph.is_directed():
        # Each edge lies in two lists; graph.edges has it where its first vertex comes.
        kept = head >= tail
        tail, head, attributes = tail[kept], head[kept], compress(attributes, kept.tobytes())
    data = list(attributes)
    if graph.is_multigraph():
        several = _sizes(data)
        tail, head = np.repeat(tail, several), np.repeat(head, several)
        data = list(chain.from_iterable(parallel.values() for parallel in data))
    return GraphEdges(labels, number, tail, head, data)


def _sizes(parts: Iterable[Untyped]) -> NDArray[np.int64]:
    return np.fromiter(map(len, parts), dtype=np.int64)
