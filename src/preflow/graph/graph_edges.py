"""Read a graph of NetworkX, igraph or rustworkx into arrays; of NetworkX in one pass over its adjacency.

igraph and rustworkx are never imported: an object can only be one of their graphs if the caller has imported
them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    """The vertices and the edges of a graph, both in the order of its library."""

    labels: tuple[Hashable, ...]
    number: Mapping[Hashable, int]  #: the number of the vertex with each label
    #: the ends of each edge, as numbers of vertices
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    #: the attributes of each edge: those of the graph, not copies
    data: list[Mapping[str, Untyped]]
    nodes: Mapping[Hashable, Mapping[str, Untyped]]  #: the attributes of each vertex, by its label
    directed: bool

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


def is_graph(graph: object) -> TypeGuard[Untyped]:
    """Return whether an object is a graph of NetworkX, or behaves like one, or of igraph or rustworkx."""
    return _is_networkx(graph) or _foreign(graph) is not None


def _is_networkx(graph: object) -> bool:
    is_class = isinstance(graph, type)
    return not is_class and all(hasattr(graph, name) for name in ("is_directed", "nodes", "adjacency"))


def _foreign(graph: object) -> Callable[[Untyped, str | EdgeFunction | None], GraphEdges] | None:
    """Return what reads a graph of igraph or rustworkx; None: it is none."""
    igraph, rustworkx = sys.modules.get("igraph"), sys.modules.get("rustworkx")
    if igraph is not None and isinstance(graph, igraph.Graph):
        return _read_igraph
    if rustworkx is not None and isinstance(graph, rustworkx.PyGraph | rustworkx.PyDiGraph):
        return _read_rustworkx
    return None


def is_directed(graph: object) -> bool:
    """Return whether an object is a directed graph of a library; rustworkx has two classes."""
    if not is_graph(graph):
        return False
    return bool(graph.is_directed()) if hasattr(graph, "is_directed") else hasattr(graph, "successors")


def node_attributes(graph: Untyped) -> list[Mapping[str, Untyped]]:
    """Return the attributes of the vertices of a graph."""
    if _is_networkx(graph):
        return [data for _, data in graph.nodes(data=True)]
    if hasattr(graph, "vs"):
        return _given(graph.vs)
    return [each if isinstance(each, Mapping) else {} for each in graph.nodes()]


def edges_of_graph(graph: GraphInput, number: str | EdgeFunction | None = None) -> GraphEdges:
    """Return the vertices and the edges of a graph or a multigraph, in the order of its library.

    `number` is the attribute that an edge of rustworkx has if it carries a number instead of attributes; for
    a function it keeps the number. InvalidInputError: it is no graph, or two vertices have one label.
    """
    if not is_graph(graph):
        raise InvalidInputError(
            f"expected a graph of NetworkX, igraph or rustworkx, got {type(graph).__name__}"
        )
    read = _foreign(graph)
    return _read_networkx(graph) if read is None else read(graph, number)


def _read_networkx(graph: Untyped) -> GraphEdges:
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
    return GraphEdges(labels, number, tail, head, data, graph.nodes, bool(graph.is_directed()))


def _read_igraph(graph: Untyped, _number: object) -> GraphEdges:
    """Call vertices by their attribute "name", else by number; "type" is the side of a bipartite graph."""
    indices = range(graph.vcount())
    labels = graph.vs["name"] if "name" in graph.vs.attributes() else indices
    nodes = [
        {"bipartite": each["type"], **each} if "type" in each else each for each in node_attributes(graph)
    ]
    return _of_lists(labels, indices, graph.get_edgelist(), _given(graph.es), nodes, is_directed(graph))


def _given(parts: Untyped) -> list[Mapping[str, Untyped]]:
    """Return the attributes of vertices or edges of igraph, which has None for those that are missing."""
    names = parts.attributes()
    if not names:
        return [{}] * len(parts)
    rows = zip(*map(parts.get_attribute_values, names), strict=True)
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows
    ]


def _read_rustworkx(graph: Untyped, number: str | EdgeFunction | None) -> GraphEdges:
    """Call vertices by their indices, which may have gaps."""
    labels, edges = list(graph.node_indices()), list(graph.weighted_edge_list())
    data = [edge[2] for edge in edges]
    if not callable(number):
        data = [
            {} if each is None else each if isinstance(each, Mapping) else {number: each} for each in data
        ]
    return _of_lists(labels, labels, edges, data, node_attributes(graph), is_directed(graph))


def _of_lists(
    labels: Sequence[Hashable],
    indices: Sequence[int],
    edges: Sequence[tuple[Untyped, ...]],
    data: list[Mapping[str, Untyped]],
    nodes: Sequence[Mapping[str, Untyped]],
    directed: bool,
) -> GraphEdges:
    """Return a graph whose vertices have ascending `indices`, by which edges name their ends."""
    number = {label: i for i, label in enumerate(labels)}
    if len(number) < len(labels):
        twice = next(label for i, label in enumerate(labels) if number[label] != i)
        raise InvalidInputError(f"two vertices have the name {twice!r}: names must differ")
    ends = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    tail, head = np.searchsorted(np.array(indices, dtype=np.int64), ends).T
    by_label = dict(zip(labels, nodes, strict=True))
    return GraphEdges(tuple(labels), number, tail, head, data, by_label, directed)


def _sizes(parts: Iterable[Untyped]) -> NDArray[np.int64]:
    return np.fromiter(map(len, parts), dtype=np.int64)
