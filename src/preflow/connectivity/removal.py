"""Edge and vertex connectivity: how many edges, or vertices, must be removed until a graph falls apart.

Even, "An Algorithm for Determining Whether the Connectivity of a Graph Is at Least k", SIAM J. Computing 4
(1975); Esfahanian and Hakimi, "On Computing the Connectivities of Graphs and Digraphs", Networks 14 (1984).
All flows use one network (:mod:`..maxflow.pair_flows`), and none goes on past the smallest value so far.

Which pairs of vertices are enough
----------------------------------
- Edges of an undirected graph: :func:`preflow.global_min_cut` needs no flow.
- Arcs of a directed graph: any vertex lies on one side of the smallest cut. So flows from it to all others,
  and from all others to it, are enough.
- Vertices of an undirected graph: let `v` be a vertex of the smallest degree. Either `v` is outside some
  smallest cut. Then a vertex that is not its neighbour lies on the other side. Or it is in all of them. Then
  it has neighbours on both sides, since the cut without `v` would do otherwise. So the pairs of `v` with the
  vertices that are not its neighbours, and the pairs of its neighbours, are enough.
- Vertices of a directed graph: of any k + 1 vertices one is outside a smallest cut of k vertices. So flows
  from and to all others are enough, for one vertex more than the smallest value so far.

For vertices, each vertex is split into an arc of capacity 1, and the arcs of the graph are unlimited.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import GraphInput
from ..certify.fields import check_array, checked_number
from ..drawing.networks import draw_graph, removed_colours, side_colours
from ..errors import InvalidInputError, VerificationError
from ..graph.edge_tables import labelled_pairs, labelled_sides, labels_of
from ..graph.network import FlowNetwork
from ..graph.undirected import UndirectedGraph
from ..maxflow.api import max_flow
from ..maxflow.pair_flows import PairNetwork, least_flow, make_network, make_work
from ..solving.drawn import DrawnResult
from ..solving.run import Control, run_interruptibly
from .global_cut import global_min_cut
from .reading import read_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of pairs that one call of a kernel gets.
BLOCK = 4096


@dataclass(frozen=True, eq=False, repr=False)
class EdgeConnectivity(DrawnResult):
    """The smallest number of edges whose removal disconnects a graph, or two vertices.

    Attributes
    ----------
    value : int
        0 if nothing must be removed.
    edges : ndarray of int64, shape (value,)
        The indices of edges, or of arcs of a directed graph, that disconnect it.
    side : ndarray of bool, shape (num_vertices,)
        Without these edges no path leads from the vertices with False to those with True.
    graph : UndirectedGraph or FlowNetwork
        A FlowNetwork is directed.
    terminals : tuple of int, or None
        The two vertices, or None if those of all pairs were asked for.
    """

    value: int
    edges: NDArray[np.int64]
    side: NDArray[np.bool_]
    graph: UndirectedGraph | FlowNetwork
    terminals: tuple[int, int] | None

    def cut_edges(self) -> list[tuple[Hashable, Hashable]]:
        """Return the edges to remove as pairs of vertices, with the caller's labels, as given.

        Examples
        --------
        >>> import preflow
        >>> cut = preflow.edge_connectivity([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
        >>> cut.cut_edges(), sorted(map(sorted, cut.partition()))
        ([('c', 'd')], [['a', 'b', 'c'], ['d']])
        """
        graph, edges = self.graph, self.edges
        return labelled_pairs(graph.labels, graph.tail[edges], graph.head[edges])

    def partition(self) -> tuple[set[Hashable], set[Hashable]]:
        """Return the vertices before and behind the edges to remove, with the caller's labels."""
        return labelled_sides(self.graph.labels, self.side)

    def verify(self) -> None:
        """Prove that the edges disconnect the graph, and that fewer do not.

        The second proof solves the problem again: by :func:`preflow.global_min_cut` for undirected graphs,
        one maximum flow for two vertices, and 2n - 2 of them for directed graphs, by another solver than the
        one that found the edges.
        """
        graph, side = self.graph, self.side
        n = graph.num_vertices
        check_array(np, side, "side", (n,), np.bool_)
        check_array(np, self.edges, "edges", (-1,), np.int64)
        _check_terminals(self.terminals, n)
        if side.all() or not side.any():
            raise VerificationError("the side of the cut does not fit the graph")
        if self.terminals is not None and (side[self.terminals[0]] or not side[self.terminals[1]]):
            raise VerificationError("the cut does not separate the two vertices")
        crossing = _crossing(graph, side)
        if not np.array_equal(crossing, self.edges) or checked_number(self.value, "value") != len(crossing):
            raise VerificationError(f"{len(crossing)} edges lead over the cut, not {self.value}")
        if self.value == 0:
            return
        if self.terminals is None and isinstance(graph, UndirectedGraph):
            cut = global_min_cut(graph.without_weights())
            cut.verify()
            _check_least(self.value, int(cut.value))
            return
        pairs = [self.terminals] if self.terminals is not None else _to_and_from(n, 0).T.tolist()
        network = _unit_network(graph)
        for u, v in pairs:
            flow = max_flow(network, u, v, method="serial-fifo")
            flow.verify()
            _check_least(self.value, int(flow.value))

    def _summary(self) -> str:
        return f"{self.value:,}"

    def _draw(self, ax: Axes | None) -> Axes:
        graph = self.graph
        removed = np.zeros(len(graph.tail), dtype=bool)
        removed[self.edges] = True
        texts = [""] * len(removed)
        return draw_graph(ax, graph.tail, graph.head, removed, texts, graph.labels, side_colours(self.side))


@dataclass(frozen=True, eq=False, repr=False)
class VertexConnectivity(DrawnResult):
    """The smallest number of vertices whose removal disconnects a graph, or two vertices.

    Attributes
    ----------
    value : int
        ``num_vertices - 1`` if any two vertices are neighbours: then no removal disconnects the graph.
    vertices : ndarray of int64
        The numbers of vertices that disconnect it; empty if none do.
    side : ndarray of bool, shape (num_vertices,)
        Without these vertices no path leads from the others with False to those with True.
    graph : UndirectedGraph or FlowNetwork
        A FlowNetwork is directed.
    terminals : tuple of int, or None
        The two vertices, or None if those of all pairs were asked for.
    """

    value: int
    vertices: NDArray[np.int64]
    side: NDArray[np.bool_]
    graph: UndirectedGraph | FlowNetwork
    terminals: tuple[int, int] | None

    def cut_vertices(self) -> list[Hashable]:
        """Return the vertices to remove, with the caller's labels.

        Examples
        --------
        >>> import preflow
        >>> preflow.vertex_connectivity([("a", "b"), ("b", "c"), ("c", "d")]).cut_vertices() in (["b"], ["c"])
        True
        """
        names: list[Hashable] = labels_of(self.graph.labels, self.vertices).tolist()
        return names

    def verify(self) -> None:
        """Prove that the vertices disconnect the graph, and that fewer do not.

        The second proof is a maximum flow for each of enough pairs, by another solver than the one that found
        the vertices.
        """
        graph = self.graph
        n = graph.num_vertices
        check_array(np, self.side, "side", (n,), np.bool_)
        check_array(np, self.vertices, "vertices", (-1,), np.int64)
        _check_terminals(self.terminals, n)
        vertices, value = self.vertices, checked_number(self.value, "value")
        if (np.diff(vertices, prepend=-1) <= 0).any() or (vertices >= n).any():
            raise VerificationError("the vertices are not ascending numbers of vertices of the graph")
        simple = _simple(graph)
        if self.terminals is None and _is_complete(simple):
            if value != n - 1 or len(vertices) or self.side.any():
                raise VerificationError(f"any two vertices are neighbours, so the value is {n - 1}")
            return
        rest = np.ones(n, dtype=bool)
        rest[vertices] = False
        inside, outside = self.side & rest, ~self.side & rest
        if value != len(vertices) or not inside.any() or not outside.any():
            raise VerificationError("the side of the cut does not fit the graph")
        if self.terminals is not None and not (outside[self.terminals[0]] and inside[self.terminals[1]]):
            raise VerificationError("the cut does not separate the two vertices")
        if (outside[simple.tail] & inside[simple.head]).any():
            raise VerificationError("an arc leads past the vertices of the cut")
        if self.value == 0:
            return
        pairs = [self.terminals] if self.terminals is not None else _all_pairs(simple, self.value)
        split = split_network(simple, n)
        tail = np.repeat(np.arange(2 * n), np.diff(split.first))
        network = FlowNetwork(2 * n, tail, split.head, split.capacity)
        for u, v in pairs:
            flow = max_flow(network, u + n, v, method="serial-fifo")
            flow.verify()
            _check_least(self.value, int(flow.value))

    def _summary(self) -> str:
        return f"{self.value:,}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the graph, with the vertices that are removed in red."""
        graph = self.graph
        colours = removed_colours(self.side, self.vertices)
        edges = np.zeros(len(graph.tail), dtype=bool)
        return draw_graph(ax, graph.tail, graph.head, edges, [""] * len(edges), graph.labels, colours)


def _check_terminals(terminals: object, num_vertices: int) -> None:
    """Check that these are None or a tuple of two different vertices."""
    if terminals is None:
        return
    pair = terminals if isinstance(terminals, tuple) else ()
    if len(pair) != 2 or not all(isinstance(v, int) and 0 <= v < num_vertices for v in pair):
        raise VerificationError(f"the terminals are no two vertices: {terminals!r}")


def _check_least(value: int, other: int) -> None:
    if other < value:
        raise VerificationError(f"the connectivity is at most {other}, not {value}")


class SimpleArcs(NamedTuple):
    """The arcs of a simple graph, sorted by tail and head; edges are there in both directions."""

    num_vertices: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    directed: bool

    @classmethod
    def of(
        cls, num_vertices: int, tail: NDArray[np.int64], head: NDArray[np.int64], directed: bool
    ) -> SimpleArcs:
        """Return the arcs of a graph without loops, each once."""
        n = num_vertices
        if not directed:
            tail, head = np.concatenate([tail, head]), np.concatenate([head, tail])
        key = np.unique((tail * n + head)[tail != head])
        return cls(n, key // max(n, 1), key % max(n, 1), directed)

    def out_degrees(self) -> NDArray[np.int64]:
        """Return the number of arcs out of each vertex."""
        return np.bincount(self.tail, minlength=self.num_vertices)

    def in_degrees(self) -> NDArray[np.int64]:
        """Return the number of arcs into each vertex."""
        return np.bincount(self.head, minlength=self.num_vertices)


def _simple(graph: UndirectedGraph | FlowNetwork) -> SimpleArcs:
    ends = graph.tail.astype(np.int64), graph.head.astype(np.int64)
    return SimpleArcs.of(graph.num_vertices, *ends, isinstance(graph, FlowNetwork))


def _is_complete(simple: SimpleArcs) -> bool:
    return len(simple.tail) == simple.num_vertices * (simple.num_vertices - 1)


def _crossing(graph: UndirectedGraph | FlowNetwork, side: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the edges that lead from False to True, in any direction if the graph is undirected."""
    crossing = ~side[graph.tail] & side[graph.head]
    if isinstance(graph, UndirectedGraph):
        crossing |= side[graph.tail] & ~side[graph.head]
    return np.flatnonzero(crossing)


def _unit_network(graph: UndirectedGraph | FlowNetwork) -> FlowNetwork:
    ones = np.ones(len(graph.tail), dtype=np.int64)
    reverse = ones if isinstance(graph, UndirectedGraph) else None
    return FlowNetwork(graph.num_vertices, graph.tail, graph.head, ones, reverse_capacity=reverse)


def split_network(simple: SimpleArcs, capacity: int) -> PairNetwork:
    """Return the network with vertices split: arcs enter `v` and leave `v + n`.

    An arc of the graph has the given capacity: with n it is unlimited.
    """
    n = simple.num_vertices
    vertices = np.arange(n)
    tail = np.concatenate([simple.tail + n, vertices])
    head = np.concatenate([simple.head, vertices + n])
    forward = np.concatenate([np.full(len(simple.tail), capacity), np.ones(n)]).astype(np.int64)
    return make_network(2 * n, tail, head, forward, np.zeros_like(forward))


def _to_and_from(num_vertices: int, vertex: int) -> NDArray[np.int64]:
    """Return the pairs of a vertex with all others, in both orders, as two rows."""
    others = np.delete(np.arange(num_vertices), vertex)
    same = np.full_like(others, vertex)
    return np.array([np.concatenate([same, others]), np.concatenate([others, same])])


def _pair_blocks(simple: SimpleArcs) -> Iterator[NDArray[np.int64]]:
    """Yield pairs of vertices without an arc between them, of which the best ones are enough.

    For a directed graph, the pairs of the i-th block are those of its i-th vertex.
    """
    n = simple.num_vertices
    first = np.searchsorted(simple.tail, np.arange(n + 1))
    if simple.directed:
        keys = simple.tail * n + simple.head
        for v in range(n):
            pairs = _to_and_from(n, v)
            yield pairs[:, ~np.isin(pairs[0] * n + pairs[1], keys)]
        return
    v = int(np.diff(first).argmin())
    near = simple.head[first[v] : first[v + 1]]
    far = np.setdiff1d(np.arange(n), np.append(near, v))
    yield np.array([np.full_like(far, v), far])
    for i, u in enumerate(near.tolist()):
        others = np.setdiff1d(near[i + 1 :], simple.head[first[u] : first[u + 1]])
        yield np.array([np.full_like(others, u), others])


def _all_pairs(simple: SimpleArcs, value: int) -> Iterator[tuple[int, int]]:
    """Yield enough pairs to prove a connectivity."""
    for number, pairs in enumerate(_pair_blocks(simple)):
        if simple.directed and number > value:
            return
        yield from pairs.T.tolist()


def _ends(graph: UndirectedGraph | FlowNetwork, source: Hashable, sink: Hashable) -> tuple[int, int] | None:
    """Return the numbers of two vertices, or None if none are given."""
    if source is None and sink is None:
        return None
    if source is None or sink is None:
        raise InvalidInputError("source and sink are given both or neither")
    u, v = graph.vertex(source), graph.vertex(sink)
    if u == v:
        raise InvalidInputError(f"vertex {graph.name(u)} is both source and sink")
    return u, v


def _search(
    network: PairNetwork, blocks: Iterator[NDArray[np.int64]], best: int, directed: bool
) -> tuple[int, NDArray[np.bool_] | None]:
    """Return the least flow between pairs if it is below `best`, and its sink side; otherwise `best`.

    In a directed graph, no block after the first `best + 1` is needed.
    """
    control, work = Control(), make_work(network)
    side = np.zeros(len(network.first) - 1, dtype=bool)

    def run() -> tuple[int, NDArray[np.bool_] | None]:
        least, found = best, False
        for number, pairs in enumerate(blocks):
            if (directed and number > least) or control.stopped or least == 0:
                break
            for begin in range(0, pairs.shape[1], BLOCK):
                block = np.ascontiguousarray(pairs[:, begin : begin + BLOCK])
                value, pair = least_flow(network, work, block, np.int64(least), side, control.stop)
                least, found = int(value), found or bool(pair >= 0)
        return least, side if found else None

    return run_interruptibly(run, control)


def edge_connectivity(graph: GraphInput, source: Hashable = None, sink: Hashable = None) -> EdgeConnectivity:
    """Find how many edges must be removed until a graph, or two vertices, are no longer connected.

    Parameters
    ----------
    graph : UndirectedGraph, FlowNetwork, (tail, head), sparse matrix, or graph of a library
        Weights and capacities do not matter. Parallel edges count one by one. A FlowNetwork without reverse
        capacities and a NetworkX DiGraph are directed: connected means that each vertex reaches each other.
        Everything else is undirected.
    source, sink : vertex, optional
        The two vertices. Default: any two.

    Returns
    -------
    EdgeConnectivity

    Raises
    ------
    InvalidInputError
        The graph has less than two vertices, or there is no such vertex.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.edge_connectivity(([0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 2]))
    >>> found.value, found.edges.tolist()
    (2, [0, 2])
    >>> found.verify()
    >>> preflow.edge_connectivity(([0, 1, 2, 2, 3], [1, 2, 0, 3, 4]), 0, 4).value
    1
    """
    read = read_graph(graph, "edge_connectivity")
    ends = _ends(read, source, sink)
    n, directed = read.num_vertices, isinstance(read, FlowNetwork)
    if ends is None and isinstance(read, UndirectedGraph):
        side = global_min_cut(read.without_weights()).side.copy()
        edges = _crossing(read, side)
        return EdgeConnectivity(len(edges), edges, side, read, None)
    ones = np.ones(len(read.tail), dtype=np.int64)
    network = make_network(n, read.tail, read.head, ones, np.zeros_like(ones) if directed else ones)
    pairs = _to_and_from(n, 0) if ends is None else np.array(ends)[:, None]
    _, found = _search(network, iter([pairs]), len(ones) + 1, False)
    assert found is not None
    edges = _crossing(read, found)
    return EdgeConnectivity(len(edges), edges, found, read, ends)


def vertex_connectivity(
    graph: GraphInput, source: Hashable = None, sink: Hashable = None
) -> VertexConnectivity:
    """Find how many vertices must be removed until a graph, or two vertices, are no longer connected.

    Parameters
    ----------
    graph
        As in :func:`preflow.edge_connectivity`.
    source, sink : vertex, optional
        The two vertices, without an arc from the first to the second. Default: any two.

    Returns
    -------
    VertexConnectivity

    Raises
    ------
    InvalidInputError
        The graph has less than two vertices, there is no such vertex, or the two vertices are neighbours.

    Notes
    -----
    For an undirected graph with smallest degree d, at most n + d (d - 1) / 2 flows; for a directed one of
    connectivity k, at most 2 n (k + 1). Even 1975; Esfahanian and Hakimi 1984.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.vertex_connectivity(([0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 2]))
    >>> found.value, found.vertices.tolist()
    (1, [2])
    >>> found.verify()
    """
    read = read_graph(graph, "vertex_connectivity")
    ends = _ends(read, source, sink)
    simple = _simple(read)
    n = read.num_vertices
    if ends is not None and ((simple.tail == ends[0]) & (simple.head == ends[1])).any():
        raise InvalidInputError(
            f"no vertices separate {read.name(ends[0])} and {read.name(ends[1])}, which are neighbours"
        )
    shift = np.array([[n], [0]])  # flows leave the second copy of a vertex and enter the first
    blocks = _pair_blocks(simple) if ends is None else iter([np.array(ends)[:, None]])
    value, found = _search(
        split_network(simple, n), (pairs + shift for pairs in blocks), n - 1, ends is None and simple.directed
    )
    if found is None:
        return VertexConnectivity(n - 1, np.zeros(0, dtype=np.int64), np.zeros(n, dtype=bool), read, ends)
    vertices = np.flatnonzero(found[n:] & ~found[:n])
    return VertexConnectivity(value, vertices, found[:n].copy(), read, ends)
