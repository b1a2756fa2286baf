"""The functions of NetworkX that answer how well a graph is connected.

NetworkX solves a maximum flow for each pair of nodes in Python. Here the graph is read once, all flows of a
call use one network, and one compiled loop solves them (:mod:`preflow.maxflow.pair_flows`).

Parallel edges count once, and loops do not count. For `edge_connectivity` and `minimum_edge_cut` of all
pairs NetworkX starts from degrees, in which they do; it is asked where these matter in a multigraph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, permutations
from typing import NamedTuple

import networkx as nx
import numpy as np
from networkx.algorithms import connectivity
from numpy.typing import NDArray

from ...arrays import Array
from ...connectivity import removal
from ...connectivity.global_cut import global_min_cut
from ...connectivity.gomory_hu import gomory_hu_tree as cut_tree
from ...connectivity.removal import SimpleArcs, split_network
from ...graph.graph_edges import GraphEdges, edges_of_graph
from ...graph.network import FlowNetwork
from ...graph.undirected import UndirectedGraph
from ...maxflow.pair_flows import (
    PairNetwork,
    flow_of_pair,
    make_network,
    values_of_pairs,
)
from .answers import Graph, Node, Nodes, NotTakenError, Pairs, answers, optimal
from .values import Capacity, flow_values, read_capacities_of, read_values

Paths = Iterator[list[Node]]


class Read(NamedTuple):
    """A graph without loops and parallel edges."""

    edges: GraphEdges
    arcs: SimpleArcs

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.arcs.num_vertices

    def graph(self) -> FlowNetwork | UndirectedGraph:
        """Return the graph for functions of preflow; a FlowNetwork is directed."""
        n, tail, head, directed = self.arcs
        if directed:
            return FlowNetwork(n, tail, head, np.ones(len(tail), dtype=np.int64))
        once = tail < head
        return UndirectedGraph(n, tail[once], head[once])

    def edge_network(self) -> PairNetwork:
        """Return a network in which each edge carries one unit."""
        arcs = self.arcs
        ones = np.ones(len(arcs.tail), dtype=np.int64)
        return make_network(self.size, arcs.tail, arcs.head, ones, np.zeros_like(ones))

    def node_network(self) -> PairNetwork:
        """Return a network in which each edge and each node carries one unit.

        Flows leave node `v` at vertex ``v + n`` and enter it at `v`. An edge between the two nodes of a pair
        is one path.
        """
        return split_network(self.arcs, 1)

    def most_paths(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return bounds on the flows between pairs of nodes."""
        bounds: NDArray[np.int64] = np.minimum(
            self.arcs.out_degrees()[pairs[0]], self.arcs.in_degrees()[pairs[1]]
        )
        return bounds

    def is_connected(self) -> bool:
        """Return whether the graph is connected, but for directions."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(len(self.arcs.tail), dtype=np.int8)
        matrix = coo_array((ones, (self.arcs.tail, self.arcs.head)), shape=(self.size, self.size))
        count: int = connected_components(matrix, directed=False, return_labels=False)
        return count == 1


def _read(graph: Graph) -> Read:
    edges = edges_of_graph(graph)
    return Read(edges, SimpleArcs.of(len(edges.labels), edges.tail, edges.head, bool(graph.is_directed())))


def _most(cutoff: object) -> int:
    """Return the value at which a flow may stop."""
    if cutoff is None:
        return int(np.iinfo(np.int64).max)
    if isinstance(cutoff, bool) or not isinstance(cutoff, int | np.integer) or cutoff < 0:
        raise NotTakenError
    return int(cutoff)


def _ends(read: Read, s: Node, t: Node) -> tuple[int, int]:
    number = read.edges.number
    if s not in number or t not in number or s == t:
        raise NotTakenError
    return number[s], number[t]


def _global(graph: Graph, s: Node, t: Node) -> bool:
    """Return whether all pairs are asked for; refuse calls with one node, and graphs without any."""
    if (s is None) != (t is None) or not len(graph):
        raise NotTakenError
    return s is None


def _node_flow(graph: Graph, s: Node, t: Node, cutoff: object = None) -> int:
    most, read = _most(cutoff), _read(graph)
    u, v = _ends(read, s, t)
    return flow_of_pair(read.node_network(), u + read.size, v, most)[0]


local_node_connectivity = answers(connectivity.local_node_connectivity)(_node_flow)


def _edge_flow(graph: Graph, s: Node, t: Node, cutoff: object = None) -> int:
    most, read = _most(cutoff), _read(graph)
    return flow_of_pair(read.edge_network(), *_ends(read, s, t), most)[0]


local_edge_connectivity = answers(connectivity.local_edge_connectivity)(_edge_flow)


@answers(connectivity.node_connectivity)
def node_connectivity(graph: Graph, s: Node = None, t: Node = None) -> int:
    if not _global(graph, s, t):
        return _node_flow(graph, s, t)
    return removal.vertex_connectivity(_read(graph).graph()).value if len(graph) > 1 else 0


@answers(connectivity.edge_connectivity)
def edge_connectivity(graph: Graph, s: Node = None, t: Node = None, cutoff: object = None) -> int:
    if not _global(graph, s, t):
        return _edge_flow(graph, s, t, cutoff)
    if len(graph) == 1 and not (graph.is_directed() or graph.is_multigraph()):
        return min(_most(cutoff), 0)  # NetworkX counts the loops of one node
    if len(graph) < 2:
        raise NotTakenError
    return min(_most(cutoff), _smallest_edge_cut(graph, _read(graph)).value)


def _smallest_edge_cut(graph: Graph, read: Read) -> removal.EdgeConnectivity:
    """Return the smallest cut of all; refuse multigraphs in which parallel edges matter to NetworkX."""
    arcs, is_multigraph = read.arcs, graph.is_multigraph() and not graph.is_directed()
    if is_multigraph and min(degree for _, degree in graph.degree()) != arcs.out_degrees().min():
        raise NotTakenError
    return removal.edge_connectivity(read.graph())


@answers(connectivity.average_node_connectivity)
def average_node_connectivity(graph: Graph) -> float:
    read = _read(graph)
    if read.size < 2:
        return 0
    pairs = _all_pairs(np.arange(read.size), read.arcs.directed)
    values = _node_connectivities(read, pairs)
    return int(values.sum()) / len(values)


def _all_pairs(nodes: NDArray[np.int64], directed: bool) -> NDArray[np.int64]:
    """Return pairs in the order of itertools: combinations, or permutations of a directed graph."""
    k = len(nodes)
    first, second = np.divmod(np.arange(k * k), max(k, 1))
    kept = first != second if directed else first < second
    return np.array([nodes[first[kept]], nodes[second[kept]]], dtype=np.int64)


def _node_connectivities(read: Read, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    leaving = np.array([[read.size], [0]])
    return values_of_pairs(read.node_network(), pairs + leaving, read.most_paths(pairs))


@answers(connectivity.all_pairs_node_connectivity)
def all_pairs_node_connectivity(
    graph: Graph, nbunch: Iterable[Node] | None = None
) -> dict[Node, dict[Node, int]]:
    read = _read(graph)
    number, directed = read.edges.number, read.arcs.directed
    nodes = list(graph) if nbunch is None else list(set(nbunch))
    if any(node not in number for node in nodes):
        raise NotTakenError
    places = np.fromiter((number[node] for node in nodes), dtype=np.int64, count=len(nodes))
    values = _node_connectivities(read, _all_pairs(places, directed)).tolist()
    all_pairs: dict[Node, dict[Node, int]] = {node: {} for node in nodes}
    chosen = permutations(nodes, 2) if directed else combinations(nodes, 2)
    for (u, v), value in zip(chosen, values, strict=True):
        all_pairs[u][v] = value
        if not directed:
            all_pairs[v][u] = value
    return all_pairs


def _named(read: Read, tail: Array, head: Array) -> Pairs:
    labels = read.edges.labels
    return {(labels[u], labels[v]) for u, v in zip(tail.tolist(), head.tolist(), strict=True)}


def _across(read: Read, side: NDArray[np.bool_]) -> Pairs:
    """Return the edges into one side of a cut."""
    arcs = read.arcs
    crossing = ~side[arcs.tail] & side[arcs.head]
    return _named(read, arcs.tail[crossing], arcs.head[crossing])


def _edge_cut(graph: Graph, s: Node, t: Node) -> Pairs:
    read = _read(graph)
    _, side = flow_of_pair(read.edge_network(), *_ends(read, s, t), _most(None))
    return _across(read, side)


minimum_st_edge_cut = answers(connectivity.minimum_st_edge_cut)(_edge_cut)


@answers(connectivity.minimum_edge_cut)
def minimum_edge_cut(graph: Graph, s: Node = None, t: Node = None) -> Pairs:
    if not _global(graph, s, t):
        return _edge_cut(graph, s, t)
    if len(graph) == 1 and not (graph.is_directed() or graph.is_multigraph()):
        return set()
    read = _read(graph)
    if len(graph) < 2 or not read.is_connected():
        raise NotTakenError
    return _across(read, _smallest_edge_cut(graph, read).side)


def _node_cut(graph: Graph, s: Node, t: Node) -> Nodes:
    read = _read(graph)
    u, v = _ends(read, s, t)
    if graph.has_edge(s, t):
        return set()  # no nodes cut an edge
    n = read.size
    _, side = flow_of_pair(split_network(read.arcs, n), u + n, v, _most(None))
    return {read.edges.labels[w] for w in np.flatnonzero(side[n:] & ~side[:n]).tolist()}


minimum_st_node_cut = answers(connectivity.minimum_st_node_cut)(_node_cut)


@answers(connectivity.minimum_node_cut)
def minimum_node_cut(graph: Graph, s: Node = None, t: Node = None) -> Nodes:
    if not _global(graph, s, t):
        return _node_cut(graph, s, t)
    read = _read(graph)
    if not read.is_connected():
        raise NotTakenError
    labels = read.edges.labels
    if read.size == 1:
        return set()
    found = removal.vertex_connectivity(read.graph())
    if found.value == read.size - 1:
        return set(labels[1:])
    return {labels[v] for v in found.vertices.tolist()}


@answers(connectivity.edge_disjoint_paths)
def edge_disjoint_paths(graph: Graph, s: Node, t: Node, cutoff: object = None) -> Paths:
    most, read = _most(cutoff), _read(graph)
    labels = read.edges.labels
    paths = _paths(read.edge_network(), *_ends(read, s, t), most)
    return ([labels[v] for v in path] for path in paths)


@answers(connectivity.node_disjoint_paths)
def node_disjoint_paths(graph: Graph, s: Node, t: Node, cutoff: object = None) -> Paths:
    most, read = _most(cutoff), _read(graph)
    labels, n = read.edges.labels, read.size
    u, v = _ends(read, s, t)
    # Behind the source, a path enters and leaves each node.
    return ([s, *(labels[w] for w in path[1::2])] for path in _paths(read.node_network(), u + n, v, most))


def _paths(network: PairNetwork, source: int, sink: int, most: int) -> Iterator[list[int]]:
    """Return the paths of a flow of units; refuse if there are none."""
    value, _ = flow_of_pair(network, source, sink, most)
    if not value:
        raise NotTakenError
    used = np.flatnonzero(network.residual < network.capacity)
    tails = np.searchsorted(network.first, used, side="right") - 1
    following: dict[int, list[int]] = {}
    for u, v in zip(tails.tolist(), network.head[used].tolist(), strict=True):
        following.setdefault(u, []).append(v)

    def next_path() -> list[int]:
        path, place = [source], {source: 0}
        while path[-1] != sink:
            v = following[path[-1]].pop()
            if v in place:
                # A cycle of the flow: leave it out.
                for w in path[place[v] + 1 :]:
                    del place[w]
                del path[place[v] + 1 :]
                continue
            place[v] = len(path)
            path.append(v)
        return path

    return (next_path() for _ in range(value))


@answers(nx.gomory_hu_tree)
def gomory_hu_tree(graph: Graph, capacity: Capacity = "capacity") -> Graph:
    if graph.is_directed() or graph.is_multigraph():
        raise NotTakenError
    edges = edges_of_graph(graph)
    weight, rounded = read_capacities_of(edges, capacity)
    found = optimal(cut_tree(UndirectedGraph(len(edges.labels), edges.tail, edges.head, weight)))
    tree, labels = nx.Graph(), edges.labels
    tree.add_nodes_from(graph)
    lower = range(1, len(labels))
    weights = flow_values(found.weight[1:], rounded)
    for v, parent, value in zip(lower, found.parent[1:].tolist(), weights, strict=True):
        tree.add_edge(labels[v], labels[parent], weight=value)
    return tree


@answers(nx.stoer_wagner)
def stoer_wagner(
    graph: Graph, weight: str = "weight", heap: object = None
) -> tuple[float, tuple[list[Node], list[Node]]]:
    if graph.is_directed() or graph.is_multigraph():
        raise NotTakenError
    read = _read(graph)
    if read.size < 2 or not read.is_connected():
        raise NotTakenError
    edges = read.edges
    weights, rounded = read_values(edges.values(weight, 1), weight)
    cut = optimal(global_min_cut(UndirectedGraph(read.size, edges.tail, edges.head, weights)))
    sides: tuple[list[Node], list[Node]] = ([], [])
    for label, side in zip(edges.labels, cut.side.tolist(), strict=True):
        sides[side].append(label)
    return flow_values(np.array([cut.value]), rounded)[0], sides
