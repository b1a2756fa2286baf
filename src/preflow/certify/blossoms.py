"""Proofs of matchings in general graphs: duals of vertices and blossoms, or a barrier.

Duals. Let every edge weigh at most the sum of the duals of its two ends and of the blossoms that contain
both; let no dual be negative. A matching has at most one edge at a vertex, and at most (|B| - 1) / 2 edges
in a blossom B, which has an odd number of vertices. So no matching weighs more than the sum of the duals of
all vertices, plus (|B| - 1) / 2 times the dual of each blossom B.

Barrier (Tutte 1947, Berge 1958). Take a set A of vertices out of a graph. Each odd component of the rest has
a vertex that is free, or matched with a vertex of A. So every matching leaves at least as many vertices free
as there are odd components beyond |A|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..errors import VerificationError
from ..graph.network import exact_sum
from ..graph.undirected import UndirectedGraph
from .exact import exact_dot
from .fields import checked_array


def check_mates(graph: UndirectedGraph, mate: AnyArray) -> NDArray[np.int64]:
    """Check that an array is a matching along edges of the graph; return it.

    VerificationError: names the first vertex at fault.
    """
    partner: NDArray[np.int64] = checked_array(graph, mate, "mate", (graph.num_vertices,), np.int64)
    n = graph.num_vertices
    _check_none((partner < -1) | (partner >= n), graph, "is matched with no vertex of the graph")
    matched = np.flatnonzero(partner >= 0)
    bad = np.zeros(n, dtype=bool)
    bad[matched] = (partner[partner[matched]] != matched) | (partner[matched] == matched)
    _check_none(bad, graph, "is matched with a vertex that is not matched with it")
    has_edge = np.zeros(n, dtype=bool)
    tail, head = graph.tail.astype(np.int64), graph.head.astype(np.int64)
    along = partner[tail] == head
    has_edge[tail[along]] = True
    has_edge[head[along]] = True
    _check_none((partner >= 0) & ~has_edge, graph, "is matched with a vertex that is not its neighbour")
    return partner


def matched_edges(
    graph: UndirectedGraph, mate: NDArray[np.int64], weight: Array | None, *, heaviest: bool = True
) -> NDArray[np.int64]:
    """Return an edge for each pair of a matching, by its lower vertex; of parallel edges the best one."""
    tail, head = graph.tail, graph.head
    edges = np.flatnonzero((mate[tail] == head) & (tail != head))
    lower = np.minimum(tail[edges], head[edges])
    last = np.full(graph.num_vertices, -1, dtype=np.int64)
    last[lower] = edges
    if (last[lower] == edges).all():  # none are parallel
        return last[last >= 0]
    order = np.argsort(lower, kind="stable") if weight is None else np.lexsort((weight[edges], lower))
    chosen, lower = edges[order], lower[order]
    differs = lower[1:] != lower[:-1]
    # The last of the parallel edges weighs most.
    best = np.append(differs, True) if heaviest and weight is not None else np.append(True, differs)
    found: NDArray[np.int64] = chosen[best[: len(chosen)]]
    return found


def dual_bound(
    graph: UndirectedGraph, weight: NDArray[np.int64], vertex: AnyArray, parent: AnyArray, blossom: AnyArray
) -> int:
    """Return twice the bound that duals prove for the weight of all matchings, for given integer weights.

    O(n + m log d), where blossoms are nested d deep. VerificationError: see :func:`sums_of_duals`; or an edge
    weighs more than the duals allow.
    """
    sums, bound = sums_of_duals(graph, vertex, parent, blossom)
    check_weights(graph, weight, sums)
    return bound


def check_weights(graph: UndirectedGraph, weight: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Check that no edge weighs more than duals allow, which are doubled.

    VerificationError: an edge does.
    """
    tail, head = graph.tail, graph.head
    heavy = (sums < 2 * weight) & (tail != head)
    if heavy.any():
        edge = int(heavy.argmax())
        raise VerificationError(
            f"edge {edge} ({graph.name(tail[edge])}, {graph.name(head[edge])}) weighs more than duals allow"
        )


def sums_of_duals(
    graph: UndirectedGraph, vertex: AnyArray, parent: AnyArray, blossom: AnyArray
) -> tuple[NDArray[np.int64], int]:
    """Return twice the sum of duals at each edge, and twice the bound of matchings that weigh no more.

    The sum has the duals of both ends and of the blossoms that contain the edge. VerificationError: a dual is
    negative, or the blossoms are no laminar family of odd sets.
    """
    return family_of(graph, parent).sums(graph, vertex, blossom)


class Family(NamedTuple):
    """A laminar family of blossoms that was checked."""

    #: shape (nodes,): the parent of each node, as in :class:`preflow.general_matching.solution.BlossomDuals`
    above: NDArray[np.int64]
    levels: list[NDArray[np.int64]]  #: the nodes without a parent, their children, and so on
    sizes: NDArray[np.int64]  #: shape (number of blossoms,): the number of vertices of each blossom
    inside: NDArray[np.int64]  #: the edges whose ends are both in blossoms
    #: the smallest blossom that contains each of these edges, -1 for none
    lowest: NDArray[np.int64]

    def sums(
        self, graph: UndirectedGraph, vertex: AnyArray, blossom: AnyArray
    ) -> tuple[NDArray[np.int64], int]:
        """Return what :func:`sums_of_duals` does."""
        n = graph.num_vertices
        of_vertex: NDArray[np.int64] = checked_array(graph, vertex, "vertex duals", (n,), np.int64)
        of_blossom: NDArray[np.int64] = checked_array(
            graph, blossom, "blossom duals", (len(self.sizes),), np.int64
        )
        if n and int(of_vertex.min()) < 0:
            raise VerificationError(f"the dual of vertex {graph.name(int(of_vertex.argmin()))} is negative")
        if len(of_blossom) and int(of_blossom.min()) < 0:
            raise VerificationError(f"the dual of blossom {int(of_blossom.argmin())} is negative")
        # Sums of duals from the outermost blossom to each node; of Python's integers where int64 could wrap.
        total = sum(of_blossom.tolist())
        limit = 2**63 - 2 * (int(of_vertex.max()) if n else 0)
        if total >= limit:
            largest = _largest_chain(self.above, of_blossom, self.levels, n)
            if largest >= limit:
                raise VerificationError(f"the duals of nested blossoms sum to {largest}, too large for int64")
        along = np.zeros(len(self.above) + 1, dtype=np.int64)
        along[n:-1] = of_blossom
        for level in self.levels[1:]:
            along[level] += along[self.above[level]]
        sums = of_vertex[graph.tail] + of_vertex[graph.head]
        sums[self.inside] += along[self.lowest]  # the last one, of no blossom, is zero
        bound = exact_sum(of_vertex) if n else 0
        return sums, int(bound) + int(exact_dot(of_blossom, (self.sizes - 1) // 2))


def family_of(graph: UndirectedGraph, parent: AnyArray) -> Family:
    """Return the blossoms that the parents of nodes describe.

    VerificationError: they are no laminar family of odd sets.
    """
    n = graph.num_vertices
    above: NDArray[np.int64] = checked_array(graph, parent, "blossom parents", (-1,), np.int64)
    nodes = len(above)
    if nodes < n:
        raise VerificationError(f"{nodes} nodes are fewer than {n} vertices")
    if ((above < -1) | ((above >= 0) & (above < n)) | (above >= nodes)).any():
        raise VerificationError("the parent of a node is no blossom")
    levels, depth = _by_depth(above)
    size = np.ones(nodes, dtype=np.int64)
    size[n:] = 0
    for level in reversed(levels[1:]):
        np.add.at(size, above[level], size[level])
    sizes = size[n:]
    if ((sizes < 3) | (sizes % 2 == 0)).any():
        raise VerificationError("a blossom has fewer than three vertices, or an even number")
    return Family(above, levels, sizes, *_lowest_common(graph, above, depth))


def _by_depth(above: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the nodes of each depth, those without a parent first, and the depth of each node."""
    nodes = len(above)
    depth = np.full(nodes, -1, dtype=np.int64)
    order = np.argsort(above, kind="stable")
    first = np.searchsorted(above[order], np.arange(-1, nodes + 1))
    level = order[first[0] : first[1]]
    levels: list[NDArray[np.int64]] = []
    while len(level):
        depth[level] = len(levels)
        levels.append(level)
        begins, ends = first[level + 1], first[level + 2]
        counts = ends - begins
        # The children of all nodes of the level.
        offsets = np.repeat(begins - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        level = order[offsets + np.arange(counts.sum())]
    if (depth < 0).any():
        raise VerificationError("the blossoms contain each other in a circle")
    return levels or [np.zeros(0, dtype=np.int64)], depth


def _largest_chain(
    above: NDArray[np.int64], of_blossom: NDArray[np.int64], order: list[NDArray[np.int64]], n: int
) -> int:
    chain: list[int] = [0] * n + of_blossom.tolist()
    for level in order[1:]:
        for node in level.tolist():
            chain[node] += chain[int(above[node])]
    return max(chain, default=0)


def _lowest_common(
    graph: UndirectedGraph, above: NDArray[np.int64], depth: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges whose ends are both in blossoms, and the smallest blossom with both ends, or -1."""
    inside = np.flatnonzero((above[graph.tail] >= 0) & (above[graph.head] >= 0) & (graph.tail != graph.head))
    a, b = graph.tail[inside].astype(np.int64), graph.head[inside].astype(np.int64)
    # Node -1 is above all others.
    jump = np.append(above, -1)
    depths = np.append(depth + 1, 0)
    jumps = [jump]
    while (jumps[-1] >= 0).any():
        jumps.append(jumps[-1][jumps[-1]])
    for step in reversed(range(len(jumps))):
        a = np.where(depths[a] - depths[b] >= 1 << step, jumps[step][a], a)
        b = np.where(depths[b] - depths[a] >= 1 << step, jumps[step][b], b)
    for step in reversed(range(len(jumps))):
        apart = jumps[step][a] != jumps[step][b]
        a, b = np.where(apart, jumps[step][a], a), np.where(apart, jumps[step][b], b)
    return inside, np.where(a == b, a, jump[a])


def barrier_bound(graph: UndirectedGraph, barrier: AnyArray) -> int:
    """Return the bound that a set of vertices proves for the size of all matchings.

    VerificationError: it is no such set.
    """
    n = graph.num_vertices
    taken: NDArray[np.bool_] = checked_array(graph, barrier, "barrier", (n,), np.bool_)
    sizes = np.bincount(_components(graph, taken)[~taken], minlength=1)
    return (n + int(np.count_nonzero(taken)) - int(np.count_nonzero(sizes % 2))) // 2


def odd_components(graph: UndirectedGraph, barrier: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return the vertices of each odd component of the graph without a set of vertices."""
    component = _components(graph, barrier)
    order = np.argsort(component, kind="stable")
    order = order[~barrier[order]]
    parts = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return [part for part in parts if len(part) % 2]


def _components(graph: UndirectedGraph, barrier: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of the component of each vertex, without the edges at a set of vertices."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = graph.num_vertices
    left = ~(barrier[graph.tail] | barrier[graph.head])
    ends = graph.tail[left], graph.head[left]
    matrix = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n))
    return connected_components(matrix, directed=False)[1].astype(np.int64)  # type: ignore[no-any-return]


def _check_none(bad: NDArray[np.bool_], graph: UndirectedGraph, fault: str) -> None:
    if bad.any():
        raise VerificationError(f"vertex {graph.name(int(bad.argmax()))} {fault}")
