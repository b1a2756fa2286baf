"""Problems solved as matchings in general graphs: edge covers, b-matchings, T-joins, the Chinese postman.

Edmonds and Johnson 1973 for T-joins and the postman; Gallai 1959 for edge covers; Tutte 1954 for b-matchings,
whose way to replace vertices and edges by small graphs also serves T-joins.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, GraphInput, WeightInput
from ..certify.exact import exact_total, near_and_gap, two_sum
from ..certify.fields import checked_array, checked_number
from ..checks import listed
from ..drawing.axes import number
from ..drawing.networks import draw_graph, matched_colours
from ..errors import CostOverflowError, InvalidInputError, VerificationError
from ..general_matching.api import matching, matching_of_reduction
from ..general_matching.result import GeneralMatchingResult, Wanted
from ..graph.edge_tables import labelled_pairs
from ..graph.network import read_capacities
from ..graph.scaling import is_close, size_of
from ..graph.undirected import UndirectedGraph, as_undirected_graph
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The savings of an edge cover are sums of floats. They sum to the weights of the cheapest edges at most, and
#: are right up to this part of these.
SAVINGS_ERROR = Fraction(1, 2**51)
#: The gap of a matching counts twice, and sums are rounded: it must be smaller by this factor.
PROOFS = 4
#: Weights of b-matchings are divided by two to the power `SHIFT` if one is larger than this.
SHIFT = 100
LARGE = 2.0 ** (1020 - SHIFT)
#: A vertex with more edges is split for T-joins: a vertex of degree d becomes d (d - 1) / 2 edges.
MOST_EDGES = 6


@dataclass(frozen=True, eq=False, repr=False)
class EdgeSet(DrawnResult):
    """A set of edges of a graph, with the matching that proves it best."""

    graph: UndirectedGraph
    #: shape (k,): numbers of edges, ascending. An edge that is used several times is listed as often.
    edges: NDArray[np.int64]
    weight: int | float  #: their sum
    #: by how much the weight may differ from that of the best set of edges: 0 for integers, a small part of
    #: the weights of the edges for floats
    gap: int | float
    matching: GeneralMatchingResult  #: of the graph of the reduction

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the two ends of each edge, with the caller's labels."""
        return labelled_pairs(self.graph.labels, self.graph.tail[self.edges], self.graph.head[self.edges])

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

    def _check(self, *, once: bool = True) -> None:
        """Check the fields that all problems share, but for `weight` and `gap`; `once`: no edge twice."""
        graph, matching = self.graph, self.matching
        if not isinstance(graph, UndirectedGraph) or graph.weight is None:
            raise VerificationError("graph is no UndirectedGraph with weights")
        if not isinstance(matching, GeneralMatchingResult):
            raise VerificationError("matching is no GeneralMatchingResult")
        _check_numbers(self.edges, "edges", graph, graph.num_edges, ascending=once)
        matching.verify()
        if matching.status != "optimal":
            raise VerificationError("the matching is not optimal")

    def _check_matching(self, graph: UndirectedGraph, wanted: Wanted) -> None:
        """Check that the matching is the one that the reduction asks for."""
        found = self.matching
        if not _same_graph(graph, found.graph):
            raise VerificationError("the matching is not one of the graph of the reduction")
        if (found.maximize, found.perfect, found.maximum_cardinality) != wanted:
            raise VerificationError("the matching is not of the kind that the reduction asks for")

    def _check_weight(self, bound: Fraction) -> None:
        """Check `weight` and `gap` beside a bound that the matching proves."""
        weight, gap = _weight_and_gap(self.graph, self.edges, bound)
        if checked_number(self.weight, "weight") != weight:
            raise VerificationError(f"the edges weigh {weight}, not {self.weight}")
        if isinstance(weight, int) and bound != weight:
            raise VerificationError(f"the proof shows {bound}, the edges weigh {weight}")
        if checked_number(self.gap, "gap") != gap:
            raise VerificationError(f"the matching proves a gap of {gap}, not {self.gap}")
        chosen = _weights(self.graph)[self.edges]
        if gap and not is_close(gap, size_of(chosen), len(chosen)):
            raise VerificationError(f"a gap of {gap} is too large for an optimal weight")


@dataclass(frozen=True, eq=False, repr=False)
class EdgeCover(EdgeSet):
    """Edges of least weight so that every vertex has one."""

    def verify(self) -> None:
        """Prove the cover cheapest: every vertex has an edge, and the matching of savings is best."""
        self._check()
        bare = self.degrees() == 0
        if bare.any():
            raise VerificationError(f"vertex {self.graph.name(int(bare.argmax()))} has no edge")
        self._check_matching(_savings(self.graph)[0], Wanted(True, False, False))
        self._check_weight(_least_cover(self.graph, self.matching))


def minimum_weight_edge_cover(
    graph: GraphInput, *, weight: WeightInput = None, **arguments: Unpack[Keywords]
) -> EdgeCover:
    """Find edges of least weight so that every vertex is an end of one.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`. Edges of negative weight are all in the cover. Without weights, the
        cover has as few edges as possible.
    **arguments
        ``method``, ``time_limit`` and the other arguments of :func:`preflow.matching`.

    Returns
    -------
    EdgeCover

    Raises
    ------
    InvalidInputError
        A vertex has no edge.
    NotOptimalError
        The time limit ended the solve.

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
    savings, _ = _savings(read)
    # A cover weighs at least what it saves.
    found = matching_of_reduction(
        savings, Wanted(True, False, False), lambda chosen: size_of(chosen) / PROOFS, **arguments
    )
    taken = np.zeros(read.num_edges, dtype=bool)
    taken[found.edges] = True
    covered = np.zeros(read.num_vertices, dtype=bool)
    covered[read.tail[taken]] = covered[read.head[taken]] = True
    taken[_weights(read) < 0] = True
    taken[_cheapest_edges(read)[1][~covered]] = True
    edges = np.flatnonzero(taken)
    return EdgeCover(read, edges, *_weight_and_gap(read, edges, _least_cover(read, found)), found)


def _savings(graph: UndirectedGraph) -> tuple[UndirectedGraph, bool]:
    """Return the graph with what each edge saves beside the cheapest of its ends, and if that is exact."""
    cheapest, _ = _cheapest_edges(graph)
    one, other, price = cheapest[graph.tail], cheapest[graph.head], np.maximum(_weights(graph), 0)
    # Where the difference is above zero, no number on the way is larger than the two cheapest weights.
    more, first_lost = two_sum(price, -other)
    saved, then_lost = two_sum(one, -more)
    saved[graph.tail == graph.head] = 0
    lost = (first_lost != 0) | (then_lost != 0)
    return graph.with_weights(saved), not lost[(saved >= 0) & (graph.tail != graph.head)].any()


def _least_cover(graph: UndirectedGraph, found: GeneralMatchingResult) -> Fraction:
    """Return the bound that a matching of savings proves for all edge covers."""
    weights, (cheapest, _) = _weights(graph), _cheapest_edges(graph)
    each = exact_total(cheapest)
    error = 0 if _savings(graph)[1] else SAVINGS_ERROR * each
    return exact_total(np.minimum(weights, 0)) + each - Fraction(found.weight) - Fraction(found.gap) - error


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
        """Prove the weight largest: no vertex has too many edges; the matching of the reduction is best."""
        self._check()
        graph = self.graph
        limit = checked_array(graph, self.limit, "limit", (graph.num_vertices,), np.int64)
        many = self.degrees() > limit
        if many.any():
            v = int(many.argmax())
            raise VerificationError(f"vertex {graph.name(v)} has more than {limit[v]} edges")
        self._check_matching(_copies(graph, limit), Wanted(True, False, False))
        self._check_weight(_most_weight(graph, limit, self.matching))


def general_b_matching(
    graph: GraphInput, limit: Any, *, weight: WeightInput = None, **arguments: Unpack[Keywords]
) -> GeneralBMatching:
    """Find edges of largest weight so that vertex v is an end of at most ``limit[v]`` of them.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`. Without weights, as many edges as possible.
    limit : int, array_like of integers, shape (n,), mapping of vertices to integers, or Series
        A vertex that a mapping leaves out has the limit 1. A Series of pandas is a mapping where the vertices
        have labels.
    **arguments
        ``method``, ``time_limit`` and the other arguments of :func:`preflow.matching`.

    Returns
    -------
    GeneralBMatching
        Each edge is used once at most; parallel edges are edges of their own.

    Raises
    ------
    NotOptimalError
        The time limit ended the solve.

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
    useful = _useful(read, limits)
    # The matching has the weight of each of these edges anyway; and the heaviest one is a b-matching.
    weights = _weights(read)[useful]
    idle = size_of(np.ldexp(weights.astype(np.float64), -_shift(weights)))
    found = matching_of_reduction(
        gadget,
        Wanted(True, False, False),
        lambda chosen: max(size_of(chosen) - idle, 0) / PROOFS,
        **arguments,
    )
    # An edge is used where the middle of its path is free for it: both of its vertices have copies as mates.
    copies = gadget.num_vertices - 2 * len(useful)
    one = found.mate[copies::2], found.mate[copies + 1 :: 2]
    used = (one[0] >= 0) & (one[0] < copies) & (one[1] >= 0) & (one[1] < copies)
    edges = useful[used]
    proved = _weight_and_gap(read, edges, _most_weight(read, limits, found))
    return GeneralBMatching(read, edges, *proved, found, limits)


def _most_weight(graph: UndirectedGraph, limit: NDArray[np.int64], found: GeneralMatchingResult) -> Fraction:
    """Return the bound that a matching of the reduction proves for all b-matchings."""
    weights = _weights(graph)[_useful(graph, limit)]
    shift = _shift(weights)
    idle = exact_total(np.ldexp(weights, -shift) if shift else weights)
    # Of each of the edges of the matching less than the smallest normal float is lost.
    lost = found.graph.num_vertices * Fraction(sys.float_info.min) if shift else 0
    return (Fraction(found.weight) + Fraction(found.gap) - idle + lost) * Fraction(2) ** shift


def _shift(weights: Array) -> int:
    """Return by which power of two weights are divided, so that those of all edges sum to a float."""
    large = weights.dtype.kind == "f" and len(weights) > 0 and float(weights.max()) > LARGE
    return SHIFT if large else 0


def _limits(graph: UndirectedGraph, limit: Any) -> NDArray[np.int64]:
    limits, _ = read_capacities(graph.by_vertex(limit, "limit", 1), graph.num_vertices, "limit")
    if limits.dtype.kind != "i":
        raise InvalidInputError("limit must hold integers")
    return limits.astype(np.int64)


def _useful(graph: UndirectedGraph, limit: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the edges of positive weight that some b-matching has."""
    allowed = (limit[graph.tail] > 0) & (limit[graph.head] > 0)
    return np.flatnonzero((_weights(graph) > 0) & (graph.tail != graph.head) & allowed)


def _copies(graph: UndirectedGraph, limit: NDArray[np.int64]) -> UndirectedGraph:
    """Return the graph of the reduction: copies of the vertices, then two vertices for each useful edge."""
    useful = _useful(graph, limit)
    tail, head = graph.tail[useful].astype(np.int64), graph.head[useful].astype(np.int64)
    weight = _weights(graph)[useful]
    if shift := _shift(weight):
        weight = np.ldexp(weight, -shift)
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
        """Prove the weight least: the degrees are right, and the matching of the reduction is cheapest."""
        self._check()
        _check_numbers(self.odd, "odd", self.graph, self.graph.num_vertices)
        wanted = np.zeros(self.graph.num_vertices, dtype=bool)
        wanted[self.odd] = True
        wrong = (self.degrees() % 2 == 1) != wanted
        if wrong.any():
            raise VerificationError(f"vertex {self.graph.name(int(wrong.argmax()))} has the wrong degree")
        self._check_matching(_parity_graph(self.graph, self.odd), Wanted(False, True, False))
        self._check_weight(_least_join(self.graph, self.matching))


def t_join(
    graph: GraphInput, odd: Iterable[Any], *, weight: WeightInput = None, **arguments: Unpack[Keywords]
) -> TJoin:
    """Find edges of least weight so that exactly the given vertices have an odd number of them.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`. Without weights, as few edges as possible. Weights may be negative.
    odd : iterable of vertices
        The set T.
    **arguments
        ``method``, ``time_limit`` and the other arguments of :func:`preflow.matching`.

    Returns
    -------
    TJoin
        Each edge is used once at most.

    Raises
    ------
    InvalidInputError
        A component of the graph has an odd number of vertices in T.
    CostOverflowError
        Integers are 2**57 divided by the number of edges in size, or more.
    NotOptimalError
        The time limit ended the solve.

    Notes
    -----
    Edmonds and Johnson 1973, on a sparse graph: each edge becomes a path of three edges, of which the middle
    one has its weight, and each vertex becomes edges between all ends of its paths, so that any even number
    of them are paired; vertices of T have one end more. A vertex of more than six edges is split into a tree
    before. The T-join is the middle edges of a perfect matching of minimum weight. About 1 kB of memory for
    each edge, whatever the size of T.

    Examples
    --------
    >>> from preflow import reductions
    >>> join = reductions.t_join(([0, 1, 2, 3], [1, 2, 3, 0], [1, 1, 1, 5]), [0, 3])
    >>> join.weight, join.pairs()
    (3, [(0, 1), (1, 2), (2, 3)])
    >>> join.verify()
    """
    read = _with_weights(as_undirected_graph(graph, weight, called="t_join").plain())
    chosen = np.array(sorted({read.vertex(name) for name in listed(odd, "odd")}), dtype=np.int64)
    return _t_join(read, chosen, **arguments)


def _t_join(graph: UndirectedGraph, odd: NDArray[np.int64], **arguments: Unpack[Keywords]) -> TJoin:
    _check_parity(graph, odd)
    gadget = _parity_graph(graph, odd)
    try:
        found = matching_of_reduction(
            gadget, Wanted(False, True, False), lambda chosen: size_of(chosen) / PROOFS, **arguments
        )
    except CostOverflowError:
        limit = "integers must be below 2**57 divided by the number of edges, floats sum to a float"
        raise CostOverflowError(f"weights are too large: {limit}") from None
    no_loop = np.flatnonzero(graph.tail != graph.head)
    middle = 4 * np.arange(len(no_loop)) + 1
    taken = (graph.tail == graph.head) & (_weights(graph) < 0)
    taken[no_loop[found.mate[middle] == middle + 1]] = True
    edges = np.flatnonzero(taken)
    return TJoin(graph, edges, *_weight_and_gap(graph, edges, _least_join(graph, found)), found, odd)


def _least_join(graph: UndirectedGraph, found: GeneralMatchingResult) -> Fraction:
    """Return the bound that a matching of the reduction proves for all T-joins."""
    weights = _weights(graph)
    loops = weights[(graph.tail == graph.head) & (weights < 0)]
    return exact_total(loops) + Fraction(found.weight) - Fraction(found.gap)


def _check_parity(graph: UndirectedGraph, odd: NDArray[np.int64]) -> None:
    """Raise InvalidInputError if a component has an odd number of vertices in T."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones, size = np.ones(graph.num_edges, dtype=np.int8), graph.num_vertices
    matrix = coo_array((ones, (graph.tail, graph.head)), shape=(size, size))
    component = connected_components(matrix, directed=False)[1][odd]
    wrong = np.flatnonzero(np.bincount(component) % 2)
    if len(wrong):
        some = [graph.name(int(v)) for v in odd[component == wrong[0]][:10]]
        raise InvalidInputError(
            f"no T-join: a component has an odd number of vertices in T: {', '.join(some)}"
        )


def _parity_graph(graph: UndirectedGraph, odd: NDArray[np.int64]) -> UndirectedGraph:
    """Return the graph of the reduction: vertices 4 i to 4 i + 3 for the i-th edge but for loops, then T.

    The edges of paths come last, so that a greedy solver takes the outer ones of each: the empty join.
    """
    no_loop = graph.tail != graph.head
    tail, head = graph.tail[no_loop].astype(np.int64), graph.head[no_loop].astype(np.int64)
    weight, n = _weights(graph)[no_loop], graph.num_vertices
    while True:
        # Ends of edges at a vertex with many go to new vertices, each with an edge to the old one.
        count, ends = len(tail), np.concatenate([tail, head])
        degree = np.bincount(ends, minlength=n)
        order = np.argsort(ends, kind="stable")
        many = degree > MOST_EDGES
        if not many.any():
            break
        parts = np.where(many, -(-degree // (MOST_EDGES - 1)), 0)
        place = np.empty(2 * count, dtype=np.int64)
        place[order] = np.arange(2 * count) - (np.cumsum(degree) - degree)[ends[order]]
        new = n + np.cumsum(parts) - parts
        moved = many[ends]
        ends[moved] = new[ends[moved]] + place[moved] // (MOST_EDGES - 1)
        old = np.repeat(np.arange(n), parts)
        tail = np.append(ends[:count], n + np.arange(len(old)))
        head = np.append(ends[count:], old)
        weight = np.append(weight, np.zeros(len(old), dtype=weight.dtype))
        n += len(old)
    path = 4 * np.arange(count)
    at, node = ends[order], np.concatenate([path, path + 3])[order]
    own = np.full(n, -1)
    own[odd] = 4 * count + np.arange(len(odd))
    in_odd = own[at] >= 0
    pairs = [np.flatnonzero(at[k:] == at[:-k]) for k in range(1, MOST_EDGES)]
    first = np.concatenate([*pairs]) if len(at) else np.zeros(0, dtype=np.int64)
    second = first + np.repeat(np.arange(1, MOST_EDGES), [len(each) for each in pairs])
    rows = np.concatenate([node[first], own[at][in_odd], path + 1, path + 1, path + 3])
    columns = np.concatenate([node[second], node[in_odd], path + 2, path, path + 2])
    weights = np.zeros(len(rows), dtype=weight.dtype)
    weights[len(rows) - 3 * count : len(rows) - 2 * count] = weight
    return UndirectedGraph.from_arrays(rows, columns, weights, num_vertices=4 * count + len(odd))


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
        """Prove the walk shortest: it walks all edges, and the edges walked twice are a cheapest T-join."""
        self._check(once=False)
        graph, n, join = self.graph, self.graph.num_vertices, self.join
        if not isinstance(join, TJoin) or not isinstance(join.graph, UndirectedGraph):
            raise VerificationError("join is no TJoin")
        if join.graph is not graph and not _same_graph(join.graph, graph):
            raise VerificationError("the T-join is one of another graph")
        join.verify()
        degree = np.bincount(np.concatenate([graph.tail, graph.head]).astype(np.int64), minlength=n)
        if not np.array_equal(np.flatnonzero(degree % 2), join.odd):
            raise VerificationError("the T-join is not one of the vertices of odd degree")
        self._check_matching(join.matching.graph, Wanted(False, True, False))
        wanted = np.sort(np.concatenate([np.arange(graph.num_edges), join.edges]))
        if not np.array_equal(wanted, np.sort(self.edges)):
            raise VerificationError("the walk does not have all edges, and those of the T-join twice")
        _check_numbers(self.tour, "tour", graph, n, ascending=False)
        step = np.sort(np.stack([self.tour[:-1], self.tour[1:]]), axis=0)
        ends = np.sort(np.stack([graph.tail[self.edges], graph.head[self.edges]]).astype(np.int64), axis=0)
        if (
            step.shape != ends.shape
            or not (step == ends).all()
            or (len(self.tour) and self.tour[0] != self.tour[-1])
        ):
            raise VerificationError("the tour is no closed walk along its edges")
        self._check_weight(_least_walk(join))


def _least_walk(join: TJoin) -> Fraction:
    """Return the bound that a T-join proves for all walks over all edges."""
    return exact_total(_weights(join.graph)) + _least_join(join.graph, join.matching)


def chinese_postman(
    graph: GraphInput, *, weight: WeightInput = None, **arguments: Unpack[Keywords]
) -> PostmanTour:
    """Find a closed walk of least weight that walks every edge at least once.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.matching`; weights are not negative. Without weights, as few steps as possible.
    **arguments
        ``method``, ``time_limit`` and the other arguments of :func:`preflow.matching`.

    Returns
    -------
    PostmanTour
        `edges` are those of the walk, in its order.

    Raises
    ------
    InvalidInputError
        A weight is negative, or the edges are not connected.
    NotOptimalError
        The time limit ended the solve.

    Notes
    -----
    Edmonds and Johnson 1973: a cheapest T-join of the vertices of odd degree is walked twice; then there is a
    closed walk over all edges (Euler, Hierholzer). Memory: that of :func:`t_join`.

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
    join = _t_join(read, odd, **arguments)
    walked = np.concatenate([np.arange(read.num_edges), join.edges])
    tour, order = _closed_walk(read, walked)
    if len(order) != len(walked):
        raise InvalidInputError("the edges are not connected: no walk has all of them")
    proved = _weight_and_gap(read, order, _least_walk(join))
    return PostmanTour(read, order, *proved, join.matching, tour, join)


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


def _weight_and_gap(
    graph: UndirectedGraph, edges: NDArray[np.int64], bound: Fraction
) -> tuple[int | float, int | float]:
    """Return the weight of edges, and how far it may be from the best one, of which `bound` is a bound.

    CostOverflowError: the floats sum to more than float64 can represent.
    """
    chosen = _weights(graph)[edges]
    total = exact_total(chosen)
    if chosen.dtype.kind == "i":
        return int(total), 0
    weight, gap = near_and_gap(total, bound)
    if not np.isfinite(weight):
        raise CostOverflowError("the weights of the edges sum to more than float64 can represent")
    return weight, gap


def _check_numbers(
    values: Any, name: str, graph: UndirectedGraph, count: int, *, ascending: bool = True
) -> None:
    """Check that a field has numbers below `count`."""
    numbers = checked_array(graph, values, name, (-1,), np.int64)
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= count):
        raise VerificationError(f"{name} has a number that is not from 0 to {count - 1}")
    if ascending and (numbers[1:] <= numbers[:-1]).any():
        raise VerificationError(f"{name} is not in ascending order, each once")


def _same_graph(one: UndirectedGraph, other: UndirectedGraph) -> bool:
    same = one.num_vertices == other.num_vertices and one.num_edges == other.num_edges
    return same and all(
        np.array_equal(a, b)
        for a, b in ((one.tail, other.tail), (one.head, other.head), (_weights(one), _weights(other)))
    )
