"""Problems solved as matchings in general graphs: edge covers, b-matchings, T-joins, the Chinese postman.

Edmonds and Johnson 1973 for T-joins and the postman; Gallai 1959 for edge covers; Tutte 1954 for b-matchings.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, GraphInput, WeightInput
from ..drawing.axes import number
from ..drawing.networks import draw_graph, matched_colours
from ..errors import CostOverflowError, InfeasibleMatchingError, InvalidInputError, VerificationError
from ..general_matching.api import matching
from ..general_matching.result import GeneralMatchingResult
from ..graph.network import EXACT_FLOAT, exact_sum, read_capacities
from ..graph.undirected import UndirectedGraph, as_undirected_graph
from ..solving.drawn import DrawnResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative rounding error of sums of weights that are floats.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class EdgeSet(DrawnResult):
    """A set of edges of a graph, with the matching that proves it best.

    Attributes
    ----------
    graph : UndirectedGraph
    edges : ndarray of int64, shape (k,)
        Numbers of edges, ascending. An edge that is used several times is listed as often.
    weight : int or float
        Their sum.
    matching : GeneralMatchingResult
        Of the graph of the reduction.
    """

    graph: UndirectedGraph
    edges: NDArray[np.int64]
    weight: int | float
    matching: GeneralMatchingResult

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the two ends of each edge, with the caller's labels."""
        names: Any = self.graph.labels or range(self.graph.num_vertices)
        ends = zip(self.graph.tail[self.edges].tolist(), self.graph.head[self.edges].tolist(), strict=True)
        return [(names[u], names[v]) for u, v in ends]

    def degrees(self) -> NDArray[np.int64]:
        """Return how many of the edges each vertex has; a loop counts twice."""
        ends = np.concatenate([self.graph.tail[self.edges], self.graph.head[self.edges]]).astype(np.int64)
        return np.bincount(ends, minlength=self.graph.num_vertices)

    def _summary(self) -> str:
        return f"weight {self.weight:,}, {len(self.edges):,} edges"

    def _draw(self, ax: Axes | None) -> Axes:
        return self._draw_edges(ax, self.edges, self.degrees() > 0)

    def _draw_edges(self, ax: Axes | None, edges: NDArray[np.int64], filled: NDArray[np.bool_]) -> Axes:
        """Draw the graph, some edges thick and red, some vertices blue."""
        graph = self.graph
        chosen = np.zeros(graph.num_edges, dtype=bool)
        chosen[edges] = True
        texts = (
            [""] * graph.num_edges
            if graph.weight is None
            else [number(each) for each in graph.weight.tolist()]
        )
        return draw_graph(ax, graph.tail, graph.head, chosen, texts, graph.labels, matched_colours(filled))

    def _slack(self) -> float:
        """Return by how much sums of weights may differ: 0 for integers, rounding errors for floats."""
        weights = _weights(self.graph)
        if weights.dtype.kind == "i":
            return 0
        return ROUNDING * (float(np.abs(weights).sum()) + float(np.abs(weights[self.edges]).sum()))

    def _check_bound(self, bound: float) -> None:
        if not abs(bound - self.weight) <= self._slack():
            raise VerificationError(f"the proof shows {bound}, the edges weigh {self.weight}")

    def _check_weight(self) -> None:
        total = _total(self.graph, self.edges)
        if not abs(total - self.weight) <= self._slack():
            raise VerificationError(f"the edges weigh {total}, not {self.weight}")


@dataclass(frozen=True, eq=False, repr=False)
class EdgeCover(EdgeSet):
    """Edges of least weight so that every vertex has one."""

    def verify(self) -> None:
        """Prove the cover cheapest: every vertex has an edge, and the matching of savings is best.

        Raises
        ------
        VerificationError
            The proof fails.
        """
        self.matching.verify()
        self._check_weight()
        bare = self.degrees() == 0
        if bare.any():
            raise VerificationError(f"vertex {self.graph.name(int(bare.argmax()))} has no edge")
        cheapest, _ = _cheapest_edges(self.graph)
        bound = _sum(np.minimum(_weights(self.graph), 0)) + _sum(cheapest) - self.matching.weight
        self._check_bound(bound)


def minimum_weight_edge_cover(graph: GraphInput, *, weight: WeightInput = None) -> EdgeCover:
    """Find edges of least weight so that every vertex is an end of one.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`. Edges of negative weight are all in the cover. Without weights, the
        cover has as few edges as possible.

    Returns
    -------
    EdgeCover

    Raises
    ------
    InvalidInputError
        A vertex has no edge.

    Notes
    -----
    Each vertex takes its cheapest edge. A pair of vertices that shares an edge instead saves the weights of
    the two cheapest ones minus that of the edge: the pairs are a matching of maximum weight.

    Examples
    --------
    >>> from preflow import reductions
    >>> cover = reductions.minimum_weight_edge_cover(([0, 1, 2], [1, 2, 3], [5, 1, 4]))
    >>> cover.weight, cover.pairs()
    (9, [(0, 1), (2, 3)])
    >>> cover.verify()
    """
    read = _with_weights(as_undirected_graph(graph, weight, called="minimum_weight_edge_cover").plain())
    cheapest, edge = _cheapest_edges(read)
    tail, head, weights = read.tail.astype(np.int64), read.head.astype(np.int64), _weights(read)
    price = np.minimum(weights, 0)
    saved = cheapest[tail] + cheapest[head] - (weights - price)
    saved[tail == head] = 0
    found = matching(read.with_weights(saved))
    taken = np.zeros(read.num_edges, dtype=bool)
    taken[found.edges] = True
    covered = np.zeros(read.num_vertices, dtype=bool)
    covered[tail[taken]] = covered[head[taken]] = True
    taken[weights < 0] = True
    taken[edge[~covered]] = True
    edges = np.flatnonzero(taken)
    return EdgeCover(read, edges, _total(read, edges), found)


def _cheapest_edges(graph: UndirectedGraph) -> tuple[Array, NDArray[np.int64]]:
    """Return the least weight of the edges of each vertex, 0 if it is negative, and such an edge."""
    weights = _weights(graph)
    ends = np.concatenate([graph.tail, graph.head]).astype(np.int64)
    edges = np.tile(np.arange(graph.num_edges), 2)
    order = np.lexsort((weights[edges], ends))
    first = np.searchsorted(ends[order], np.arange(graph.num_vertices))
    some = np.bincount(ends, minlength=graph.num_vertices) > 0
    if not some.all():
        raise InvalidInputError(f"vertex {graph.name(int((~some).argmax()))} has no edge to cover it")
    edge = edges[order[first]]
    return np.maximum(weights[edge], 0), edge


@dataclass(frozen=True, eq=False, repr=False)
class GeneralBMatching(EdgeSet):
    """Edges of largest weight of which vertex v has at most ``limit[v]``.

    Attributes
    ----------
    limit : ndarray of int64, shape (n,)
    """

    limit: NDArray[np.int64]

    def verify(self) -> None:
        """Prove the weight largest: no vertex has too many edges, and the matching of the reduction is best.

        Raises
        ------
        VerificationError
            The proof fails.
        """
        self.matching.verify()
        self._check_weight()
        if len(np.unique(self.edges)) != len(self.edges):
            raise VerificationError("an edge is used twice")
        many = self.degrees() > self.limit
        if many.any():
            v = int(many.argmax())
            raise VerificationError(f"vertex {self.graph.name(v)} has more than {self.limit[v]} edges")
        gadget = _copies(self.graph, self.limit)
        if not _same_graph(gadget, self.matching.graph):
            raise VerificationError("the matching is not one of the graph of the reduction")
        bound = self.matching.weight - _sum(_weights(self.graph)[_useful(self.graph)])
        self._check_bound(bound)


def general_b_matching(graph: GraphInput, limit: Any, *, weight: WeightInput = None) -> GeneralBMatching:
    """Find edges of largest weight so that vertex v is an end of at most ``limit[v]`` of them.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`. Without weights, as many edges as possible.
    limit : int, array_like of integers, shape (n,), mapping of vertices to integers, or Series
        A vertex that a mapping leaves out has the limit 1. A Series of pandas is a mapping where the vertices
        have labels.

    Returns
    -------
    GeneralBMatching
        Each edge is used once at most.

    Notes
    -----
    Tutte 1954: each edge becomes a path of three edges over two vertices of its own, from a copy of one end
    to a copy of the other; vertex v has ``min(limit[v], degree)`` copies. The middle edge of the path is
    matched where the edge is not used. The graph has two vertices and about 2 times the limit edges more for
    each edge.

    Examples
    --------
    >>> from preflow import reductions
    >>> found = reductions.general_b_matching(([0, 0, 0], [1, 2, 3], [5, 6, 7]), {0: 2})
    >>> found.weight, found.pairs()
    (13, [(0, 2), (0, 3)])
    >>> found.verify()
    """
    read = _with_weights(as_undirected_graph(graph, weight, called="general_b_matching").plain())
    limits = _limits(read, limit)
    gadget = _copies(read, limits)
    found = matching(gadget)
    useful = _useful(read)
    # An edge is used where the middle of its path is free for it: both of its vertices have copies as mates.
    copies = gadget.num_vertices - 2 * len(useful)
    one = found.mate[copies::2], found.mate[copies + 1 :: 2]
    used = (one[0] >= 0) & (one[0] < copies) & (one[1] >= 0) & (one[1] < copies)
    edges = useful[used]
    return GeneralBMatching(read, edges, _total(read, edges), found, limits)


def _limits(graph: UndirectedGraph, limit: Any) -> NDArray[np.int64]:
    limits, _ = read_capacities(graph.by_vertex(limit, "limit", 1), graph.num_vertices, "limit")
    if limits.dtype.kind != "i":
        raise InvalidInputError("limit must hold integers")
    return limits.astype(np.int64)


def _useful(graph: UndirectedGraph) -> NDArray[np.int64]:
    """Return the edges of positive weight but for loops."""
    return np.flatnonzero((_weights(graph) > 0) & (graph.tail != graph.head))


def _copies(graph: UndirectedGraph, limit: NDArray[np.int64]) -> UndirectedGraph:
    """Return the graph of the reduction: copies of the vertices, then two vertices for each useful edge."""
    useful = _useful(graph)
    tail, head = graph.tail[useful].astype(np.int64), graph.head[useful].astype(np.int64)
    weight = _weights(graph)[useful]
    degree = np.bincount(np.concatenate([tail, head]), minlength=graph.num_vertices)
    count = np.minimum(limit, degree)
    first = np.cumsum(count) - count
    copies = int(count.sum())
    middle = copies + 2 * np.arange(len(useful))
    rows, columns, weights = [middle], [middle + 1], [weight]
    for end, own in ((tail, middle), (head, middle + 1)):
        size = count[end]
        row = np.repeat(own, size)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
        rows.append(row)
        columns.append(np.repeat(first[end], size) + offset)
        weights.append(np.repeat(weight, size))
    return UndirectedGraph.from_arrays(
        np.concatenate(rows),
        np.concatenate(columns),
        np.concatenate(weights),
        num_vertices=copies + 2 * len(useful),
    )


@dataclass(frozen=True, eq=False, repr=False)
class TJoin(EdgeSet):
    """Edges of least weight so that exactly the vertices of a set T have an odd number of them.

    Attributes
    ----------
    odd : ndarray of int64, shape (k,)
        The set T.
    """

    odd: NDArray[np.int64]

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the graph with the join in red and the vertices of T blue."""
        return self._draw_edges(ax, self.edges, np.isin(np.arange(self.graph.num_vertices), self.odd))

    def verify(self) -> None:
        """Prove the weight least: the degrees are right, and the matching of the vertices in T is cheapest.

        Raises
        ------
        VerificationError
            The proof fails.
        """
        self.matching.verify()
        self._check_weight()
        wanted = np.zeros(self.graph.num_vertices, dtype=bool)
        wanted[self.odd] = True
        wrong = (self.degrees() % 2 == 1) != wanted
        if wrong.any():
            raise VerificationError(f"vertex {self.graph.name(int(wrong.argmax()))} has the wrong degree")
        if not _same_graph(_TerminalPaths.of(self.graph, self.odd).pairs, self.matching.graph):
            raise VerificationError("the matching is not one of the shortest paths between the vertices")
        negative = np.minimum(_weights(self.graph), 0)
        bound = _sum(negative) + self.matching.weight
        self._check_bound(bound)


def t_join(graph: GraphInput, odd: Iterable[Any], *, weight: WeightInput = None) -> TJoin:
    """Find edges of least weight so that exactly the given vertices have an odd number of them.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`. Without weights, as few edges as possible. Weights may be negative.
    odd : iterable of vertices
        The set T.

    Returns
    -------
    TJoin
        Each edge is used once at most.

    Raises
    ------
    InvalidInputError
        A component of the graph has an odd number of vertices in T.
    CostOverflowError
        Integers are so large that a path could weigh 2**53.

    Notes
    -----
    Edmonds and Johnson 1973: all edges of negative weight are taken first. Then shortest paths between the
    vertices with the wrong parity, in pairs of least length: a perfect matching of minimum weight. k searches
    for shortest paths for k such vertices.

    Examples
    --------
    >>> from preflow import reductions
    >>> join = reductions.t_join(([0, 1, 2, 3], [1, 2, 3, 0], [1, 1, 1, 5]), [0, 3])
    >>> join.weight, join.pairs()
    (3, [(0, 1), (1, 2), (2, 3)])
    >>> join.verify()
    """
    read = _with_weights(as_undirected_graph(graph, weight, called="t_join").plain())
    chosen = np.array(sorted({read.vertex(name) for name in odd}), dtype=np.int64)
    paths = _TerminalPaths.of(read, chosen)
    try:
        found = matching(paths.pairs, maximize=False, perfect=True)
    except InfeasibleMatchingError as error:
        some = [read.name(int(paths.terminals[v])) for v in error.components[0][:10]]
        raise InvalidInputError(
            f"no T-join: a component has an odd number of vertices with the wrong parity: {', '.join(some)}"
        ) from None
    taken = _weights(read) < 0
    for a, b in zip(*_each_pair(found.mate), strict=True):
        taken[paths.between(a, b)] ^= True
    joined = np.flatnonzero(taken)
    return TJoin(read, joined, _total(read, joined), found, chosen)


@dataclass(frozen=True)
class _TerminalPaths:
    """Shortest paths between the vertices that have the wrong parity once all negative edges are taken.

    Attributes
    ----------
    terminals : ndarray of int64, shape (k,)
    pairs : UndirectedGraph
        All pairs of terminals that a path joins, with the weight of a shortest one.
    before : ndarray of int32, shape (k, n)
        The vertex before each vertex on the path from each terminal.
    keys, edges : ndarray of int64
        The lightest edge between two vertices, by a number for these, ascending.
    """

    terminals: NDArray[np.int64]
    pairs: UndirectedGraph
    before: Array
    keys: NDArray[np.int64]
    edges: NDArray[np.int64]

    @classmethod
    def of(cls, graph: UndirectedGraph, odd: NDArray[np.int64]) -> _TerminalPaths:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        n, weights = graph.num_vertices, _weights(graph)
        if weights.dtype.kind == "i" and len(weights) and int(np.abs(weights).max()) * n > EXACT_FLOAT:
            raise CostOverflowError("weights are too large: a path must weigh less than 2**53")
        tail, head = graph.tail.astype(np.int64), graph.head.astype(np.int64)
        degree = np.bincount(np.concatenate([tail[weights < 0], head[weights < 0]]), minlength=n)
        degree[odd] += 1
        terminals = np.flatnonzero(degree % 2)
        keys = np.minimum(tail, head) * n + np.maximum(tail, head)
        order = np.lexsort((np.abs(weights), keys))
        keys, first = np.unique(keys[order], return_index=True)
        edges = order[first]
        length = np.abs(weights[edges]).astype(np.float64)
        matrix = coo_array((length, (tail[edges], head[edges])), shape=(n, n)).tocsr()
        distance, before = dijkstra(matrix, directed=False, indices=terminals, return_predecessors=True)
        distance = distance.reshape(len(terminals), n)[:, terminals]
        i, j = np.nonzero(np.triu(np.isfinite(distance), 1))
        between = distance[i, j]
        pairs = UndirectedGraph.from_arrays(i, j, between.astype(weights.dtype), num_vertices=len(terminals))
        return cls(terminals, pairs, before.reshape(len(terminals), n), keys, edges)

    def between(self, a: int, b: int) -> NDArray[np.int64]:
        """Return the edges of the path between two terminals, given by their places."""
        n = self.before.shape[1]
        steps, v = [], int(self.terminals[b])
        while v != self.terminals[a]:
            u = int(self.before[a, v])
            steps.append(min(u, v) * n + max(u, v))
            v = u
        return self.edges[np.searchsorted(self.keys, steps)]


def _each_pair(mate: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    lower = np.flatnonzero(mate > np.arange(len(mate)))
    return lower.tolist(), mate[lower].tolist()


@dataclass(frozen=True, eq=False, repr=False)
class PostmanTour(EdgeSet):
    """A closed walk of least weight over all edges.

    Attributes
    ----------
    tour : ndarray of int64, shape (k + 1,)
        The vertices in the order of the walk; the first is the last one, too.
    join : TJoin
        The edges that are walked twice.
    """

    tour: NDArray[np.int64]
    join: TJoin

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the graph with the edges that are walked twice in red, and vertices of odd degree blue."""
        return self.join._draw(ax)

    def verify(self) -> None:
        """Prove the walk shortest: it walks all edges, and the edges walked twice are a cheapest T-join.

        Raises
        ------
        VerificationError
            The proof fails.
        """
        self.join.verify()
        self._check_weight()
        graph, n = self.graph, self.graph.num_vertices
        degree = np.bincount(np.concatenate([graph.tail, graph.head]).astype(np.int64), minlength=n)
        if not np.array_equal(np.flatnonzero(degree % 2), self.join.odd):
            raise VerificationError("the T-join is not one of the vertices of odd degree")
        wanted = np.sort(np.concatenate([np.arange(graph.num_edges), self.join.edges]))
        if not np.array_equal(wanted, np.sort(self.edges)):
            raise VerificationError("the walk does not have all edges, and those of the T-join twice")
        step = np.sort(np.stack([self.tour[:-1], self.tour[1:]]), axis=0)
        ends = np.sort(np.stack([graph.tail[self.edges], graph.head[self.edges]]).astype(np.int64), axis=0)
        if (
            step.shape != ends.shape
            or not (step == ends).all()
            or (len(step.T) and self.tour[0] != self.tour[-1])
        ):
            raise VerificationError("the tour is no closed walk along its edges")


def chinese_postman(graph: GraphInput, *, weight: WeightInput = None) -> PostmanTour:
    """Find a closed walk of least weight that walks every edge at least once.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`; weights are not negative. Without weights, as few steps as possible.

    Returns
    -------
    PostmanTour
        `edges` are those of the walk, in its order.

    Raises
    ------
    InvalidInputError
        A weight is negative, or the edges are not connected.

    Notes
    -----
    Edmonds and Johnson 1973: a cheapest T-join of the vertices of odd degree is walked twice; then there is a
    closed walk over all edges (Euler, Hierholzer).

    Examples
    --------
    >>> from preflow import reductions
    >>> walk = reductions.chinese_postman(([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [1, 1, 1, 1, 3]))
    >>> walk.weight, len(walk.edges)
    (9, 7)
    >>> walk.verify()
    """
    read = _with_weights(as_undirected_graph(graph, weight, called="chinese_postman").plain())
    weights = _weights(read)
    if len(weights) and weights.min() < 0:
        raise InvalidInputError(f"edge {int(weights.argmin())} has a negative weight")
    ends = np.concatenate([read.tail, read.head]).astype(np.int64)
    odd = np.flatnonzero(np.bincount(ends, minlength=read.num_vertices) % 2)
    names: Any = read.labels or range(read.num_vertices)
    join = t_join(read, [names[v] for v in odd.tolist()])
    walked = np.concatenate([np.arange(read.num_edges), join.edges])
    tour, order = _closed_walk(read, walked)
    if len(order) != len(walked):
        raise InvalidInputError("the edges are not connected: no walk has all of them")
    return PostmanTour(read, order, _total(read, order), join.matching, tour, join)


def _closed_walk(
    graph: UndirectedGraph, walked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the vertices and the edges of a closed walk from the first edge (Hierholzer)."""
    if not len(walked):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ends = np.stack([graph.tail[walked], graph.head[walked]], axis=1).astype(np.int64).tolist()
    at: list[list[int]] = [[] for _ in range(graph.num_vertices)]
    for i, (u, v) in enumerate(ends):
        at[u].append(i)
        if u != v:
            at[v].append(i)
    used = [False] * len(walked)
    stack: list[tuple[int, int]] = [(ends[0][0], -1)]
    tour, order = [], []
    while stack:
        v, by = stack[-1]
        while at[v] and used[at[v][-1]]:
            at[v].pop()
        if at[v]:
            i = at[v].pop()
            used[i] = True
            u, w = ends[i]
            stack.append((w if v == u else u, i))
        else:
            stack.pop()
            tour.append(v)
            if by >= 0:
                order.append(by)
    return np.array(tour, dtype=np.int64), walked[np.array(order, dtype=np.int64)]


def minimum_weight_perfect_matching(
    graph: GraphInput, *, weight: WeightInput = None
) -> GeneralMatchingResult:
    """Find a perfect matching of least weight: :func:`preflow.matching` with these two options.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`.

    Raises
    ------
    InfeasibleMatchingError
        There is no perfect matching.

    Examples
    --------
    >>> from preflow import reductions
    >>> reductions.minimum_weight_perfect_matching(([0, 1, 2, 3], [1, 2, 3, 0], [1, 5, 1, 5])).weight
    2
    """
    return matching(graph, weight=weight, maximize=False, perfect=True)


def _with_weights(graph: UndirectedGraph) -> UndirectedGraph:
    return graph if graph.weight is not None else graph.with_weights(np.ones(graph.num_edges, dtype=np.int64))


def _weights(graph: UndirectedGraph) -> Array:
    assert graph.weight is not None
    return graph.weight


def _sum(values: Array) -> int | float:
    return exact_sum(values) if len(values) else 0


def _total(graph: UndirectedGraph, edges: NDArray[np.int64]) -> int | float:
    return _sum(_weights(graph)[edges])


def _same_graph(one: UndirectedGraph, other: UndirectedGraph) -> bool:
    same = one.num_vertices == other.num_vertices and one.num_edges == other.num_edges
    return same and all(
        np.array_equal(a, b)
        for a, b in ((one.tail, other.tail), (one.head, other.head), (_weights(one), _weights(other)))
    )
