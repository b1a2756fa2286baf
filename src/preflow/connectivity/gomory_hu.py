"""Cut trees: the minimum cuts between all pairs of vertices, by n - 1 maximum flows.

Gusfield, "Very Simple Methods for All Pairs Network Flow Analysis", SIAM J. Computing 19 (1990), with the
exchange of parents that makes the tree a cut tree in the sense of Gomory and Hu (1961), not only a tree of
values. All flows use one network (:mod:`..maxflow.pair_flows`).

Floats are scaled to integers. No cut of the tree is heavier than the second largest weight of all edges at
one vertex: there they are cut off. An edge of the tree that is light beside that may have lost too much to
rounding. Then the light edges are found again, in a finer unit, and the heavy ones around them::

    the tree of the rounded weights; the gap of each edge is small beside its weight: return it
    light: the edges whose gap is not small, and all that are no heavier
    the groups: the parts of the tree without its light edges
        no cut as light as a light edge separates two vertices of a group
    the tree of the groups, each as one vertex, cut off at the heaviest light edge     recursively
    for each group:
        the tree of its vertices, where each branch of the tree of groups is one vertex
        a branch hangs from the vertex of the group to which that tree connects it

This is the method of Gomory and Hu with the light cuts first. Each level has a limit of less than half.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, EndsNames, GraphInput, WeightInput
from ..certify.fields import check_array, checked_number
from ..drawing.axes import number, say
from ..drawing.networks import draw_graph, matched_colours
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.edge_tables import ColumnNames, Tabular, labelled_sides, labels_of
from ..graph.network import INT64_MAX, FlowNetwork
from ..graph.scaling import MARGIN
from ..graph.undirected import UndirectedGraph
from ..maxflow.api import max_flow
from ..maxflow.pair_flows import PairNetwork, cut_tree, make_network, make_work, pair_values
from ..solving.drawn import DrawnResult
from ..solving.result import HEADLINES, Status
from ..solving.run import Control, run_interruptibly
from .reading import WholeWeights, degrees, is_optimal, read_weighted_graph, weight_across, whole_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Shape(NamedTuple):
    """The tree as arrays: its vertices from the root down, and the number of edges from the root to each."""

    order: NDArray[np.int64]
    depth: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class GomoryHuTree(Tabular, DrawnResult):
    """A tree that has the minimum cuts between all pairs of vertices of a graph.

    Without one of its edges the tree has two parts. They are the sides of a cut of the graph, whose weight is
    that of the edge. The lightest edge on the path between two vertices gives a minimum cut between them.

    Attributes
    ----------
    parent : ndarray of int64, shape (num_vertices,)
        The parent of each vertex; vertex 0 is the root and has itself.
    weight : ndarray of int64 or float64, shape (num_vertices,)
        The weight of the edge from each vertex to its parent; 0 for the root. Sums of floats are correctly
        rounded.
    graph : UndirectedGraph
        Its weights are the numbers that cuts add up: 1 for each edge if the graph was given without weights.
    gap : float
        How far a weight may be from the minimum, since weights that are not integers were rounded for the
        flows; 0 for integers. Proved. This is the largest one of all edges; the gap of a light edge is small
        beside its own weight where `status` is "optimal".
    """

    parent: NDArray[np.int64]
    weight: Array
    graph: UndirectedGraph
    gap: float
    _gaps: NDArray[np.float64]

    @property
    def status(self) -> Status:
        """The word "optimal", or "approximate" where the gap of an edge is not small beside its weight."""
        found = zip(self._gaps.tolist(), self.weight.tolist(), strict=True)
        close = all(is_optimal(gap, weight, self.graph.num_edges) for gap, weight in found)
        return "optimal" if close else "approximate"

    @cached_property
    def _shape(self) -> _Shape:
        n = len(self.parent)
        depth = np.zeros(n, dtype=np.int64)
        ancestor, distance = self.parent.copy(), (np.arange(n) != 0).astype(np.int64)
        for _ in range(n.bit_length()):
            distance += distance[ancestor]
            ancestor = ancestor[ancestor]
        depth[:] = distance
        return _Shape(np.argsort(depth, kind="stable"), depth)

    def _lightest(self, u: Hashable, v: Hashable) -> int:
        """Return the vertex below the lightest edge on the path between two vertices."""
        a, b = self.graph.vertex(u), self.graph.vertex(v)
        if a == b:
            raise InvalidInputError(f"a cut needs two vertices, got {u!r} twice")
        depth, best = self._shape.depth, -1
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            if best < 0 or self.weight[a] < self.weight[best]:
                best = a
            a = int(self.parent[a])
        return best

    def min_cut_value(self, u: Hashable, v: Hashable) -> int | float:
        """Return the weight of a minimum cut between two vertices; O(n).

        Parameters
        ----------
        u, v : vertex
            Labels if the graph has some, otherwise numbers.
        """
        value: int | float = self.weight[self._lightest(u, v)].item()
        return value

    def partition(self, u: Hashable, v: Hashable) -> tuple[set[Hashable], set[Hashable]]:
        """Return the two sides of a minimum cut, that of `u` first, with the caller's labels; O(n)."""
        return labelled_sides(self.graph.labels, self.side(u, v))

    def side(self, u: Hashable, v: Hashable) -> NDArray[np.bool_]:
        """Return a minimum cut between two vertices: True for each vertex on the side of `v`; O(n)."""
        below = np.zeros(len(self.parent), dtype=bool)
        below[self._lightest(u, v)] = True
        order = self._shape.order
        for vertex in order[1:].tolist():
            if not below[vertex]:
                below[vertex] = below[self.parent[vertex]]
        return below if below[self.graph.vertex(v)] else ~below

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas`, with a row for each edge of the tree.

        Returns
        -------
        dict of arrays
            The columns "source" and "target" have a vertex and its parent, with the caller's labels, and
            "weight" the weight of a minimum cut between them. ``networkx.from_pandas_edgelist`` takes it.

        Examples
        --------
        >>> import preflow
        >>> print(preflow.gomory_hu_tree([("a", "b", 3), ("b", "c", 2)]).to_pandas())
          source target  weight
        0      b      a       3
        1      c      b       2
        """
        labels = self.graph.labels
        return {
            "source": labels_of(labels, np.arange(1, len(self.parent))),
            "target": labels_of(labels, self.parent[1:]),
            "weight": self.weight[1:],
        }

    def verify(self) -> None:
        """Prove that each edge is a cut of its weight, and by a maximum flow that this cut is minimum.

        The weights of all cuts take O(m n) in the worst case, one sum an edge of the path between its ends.
        The n - 1 flows are independent of those that built the tree; they take longer than these.
        """
        graph = self.graph
        n = graph.num_vertices
        assert graph.weight is not None
        check_array(np, self.parent, "parent", (n,), np.int64)
        check_array(np, self.weight, "weight", (n,), graph.weight.dtype)
        check_array(np, self._gaps, "the gaps", (n,), np.float64)
        if self.parent[0] != 0 or self.parent.min() < 0 or self.parent.max() >= n:
            raise VerificationError("the tree does not fit the graph")
        if (self.parent[self._ancestors()] != 0).any():
            raise VerificationError("the parents are not a tree")
        gap = checked_number(self.gap, "gap")
        if self.weight[0] != 0 or not (self._gaps >= 0).all() or gap != self._gaps.max():
            raise VerificationError(f"the weight of the root is {self.weight[0]}, and the gap {self.gap}")
        network = FlowNetwork(n, graph.tail, graph.head, graph.weight, reverse_capacity=graph.weight)
        for vertex in range(1, n):
            parent = int(self.parent[vertex])
            side = _below(self.parent, vertex)
            total = weight_across(graph.weight[side[graph.tail] != side[graph.head]])
            if total != self.weight[vertex].item() or side[parent]:
                raise VerificationError(
                    f"the cut between {graph.name(vertex)} and {graph.name(parent)} has weight {total}, "
                    f"not {self.weight[vertex]}"
                )
            flow = max_flow(network, vertex, parent, method="serial-fifo")
            flow.verify()
            slack = self._gaps[vertex].item() + flow.gap
            if not is_optimal(total - flow.lower_bound - slack, total, graph.num_edges):
                raise VerificationError(
                    f"the cut between {graph.name(vertex)} and {graph.name(parent)} is not minimum: "
                    f"{total}, and there is one of {flow.upper_bound}"
                )

    def _ancestors(self) -> NDArray[np.int64]:
        """Return an ancestor of each vertex that is the root if the parents are a tree."""
        ancestor = self.parent
        for _ in range(len(self.parent).bit_length()):
            ancestor = ancestor[ancestor]
        return ancestor

    def _summary(self) -> str:
        least = self.weight[1:].min()
        found = "" if self.status == "optimal" else f"approximate within {self.gap:.2g}, "
        return f"{found}{len(self.parent):,} vertices, lightest edge {least:,}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the tree with its weights, the lightest edges red."""
        n = len(self.parent)
        weight = self.weight[1:]
        lightest = weight == (weight.min() if len(weight) else 0)
        texts = [number(each) for each in weight.tolist()]
        colours = matched_colours(np.ones(n, dtype=bool))
        axes = draw_graph(ax, self.parent[1:], np.arange(1, n), lightest, texts, self.graph.labels, colours)
        return axes if self.status == "optimal" else say(axes, HEADLINES[self.status])


class _Edges(NamedTuple):
    """The edges of a graph, without loops."""

    num_vertices: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    weight: Array

    def merged(self, label: NDArray[np.int64], num_labels: int) -> _Edges:
        """Return the graph in which vertices with the same label are one."""
        tail, head = label[self.tail], label[self.head]
        kept = tail != head
        return _Edges(num_labels, tail[kept], head[kept], self.weight[kept])

    def degrees(self, weight: Array | None = None) -> NDArray[np.float64]:
        """Return the weight at each vertex."""
        return degrees(self.num_vertices, self.tail, self.head, self.weight if weight is None else weight)

    def weights_of(self, parent: NDArray[np.int64], control: Control) -> list[int | float]:
        """Return the weight of the cut of each edge of a tree; 0 for the root, vertex 0."""
        found: list[int | float] = [0]
        for vertex in range(1, self.num_vertices):
            if control.stopped:
                return [*found, *[0] * (self.num_vertices - vertex)]
            side = _below(parent, vertex)
            found.append(weight_across(self.weight[side[self.tail] != side[self.head]]))
        return found


class _Tree(NamedTuple):
    """A cut tree."""

    parent: NDArray[np.int64]  #: shape (n,)
    weight: list[int | float]  #: the weight of the cut of each vertex
    lower: Sequence[Fraction | int]  #: a minimum cut between each vertex and its parent weighs this at least
    gap: list[float]  #: how far each weight may be from the minimum

    @classmethod
    def of(
        cls,
        parent: NDArray[np.int64],
        weight: list[int | float],
        lower: Sequence[Fraction | int],
        whole: WholeWeights,
    ) -> _Tree:
        """Return the tree with its gaps."""
        return cls(parent, weight, lower, list(map(whole.gap, weight, lower)))


class _Rounded(NamedTuple):
    """The tree of rounded weights, and the values of its edges."""

    whole: WholeWeights
    network: PairNetwork
    parent: NDArray[np.int64]
    value: NDArray[np.int64]

    @classmethod
    def of(cls, edges: _Edges, limit: float, control: Control) -> _Rounded:
        """Return the tree of weights that are cut off at a limit."""
        n = edges.num_vertices
        whole = whole_weights(edges.weight, limit, lambda weight: edges.degrees(weight).max(initial=0.0))
        network = make_network(n, edges.tail, edges.head, whole.weight, whole.weight)
        return cls(whole, network, *cut_tree(network, control))


def _below(parent: NDArray[np.int64], vertex: int) -> NDArray[np.bool_]:
    """Return which vertices are in the subtree of a vertex."""
    found: NDArray[np.bool_] = _first_of(parent, np.array([vertex])) == vertex
    return found


def _first_of(parent: NDArray[np.int64], some: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first one of some vertices, or the root, on the way from each vertex to the root."""
    step: NDArray[np.int64] = parent.copy()
    step[some] = some
    for _ in range(len(parent).bit_length()):
        step = step[step]
    return step


def _cut_tree(edges: _Edges, limit: float, control: Control) -> _Tree:
    """Return a cut tree with edges that are each right beside their own weight, and up to the limit."""
    rounded = _Rounded.of(edges, limit, control)
    whole, parent, value = rounded.whole, rounded.parent, rounded.value
    if whole.exponent is None:
        exact = value.astype(edges.weight.dtype)
        rounding = np.abs(exact.astype(np.int64) - value).astype(np.float64)
        return _Tree(parent, exact.tolist(), value.tolist(), rounding.tolist())
    lower = [whole.bound(least) for least in value.tolist()]
    weight = edges.weights_of(parent, control)
    tree = _Tree.of(parent, weight, lower, whole)
    light = ~np.array(
        [is_optimal(gap, w, len(edges.weight)) for gap, w in zip(tree.gap, weight, strict=True)]
    )
    light[0] = False
    while light.any() and not control.stopped:
        heaviest = max(weight[v] for v in np.flatnonzero(light).tolist())
        if not 2 * heaviest < limit:
            return tree
        # As integers, no cut of this weight is heavier than this.
        most = math.floor(Fraction(heaviest * MARGIN) / whole.bound(1))
        known, light = light, np.append(False, value[1:] <= most)
        if np.array_equal(light, known):
            return _refined(edges, rounded, light, _Limits(limit, heaviest, whole.bound(most + 1)), control)
    return tree


class _Limits(NamedTuple):
    """The limits of one level."""

    #: no edge of the tree, and no light one, is heavier
    heavy: float
    light: float
    between: Fraction | int  #: cuts that separate vertices of a group weigh this at least


def _refined(
    edges: _Edges, rounded: _Rounded, light: NDArray[np.bool_], limits: _Limits, control: Control
) -> _Tree:
    """Return the cut tree with light edges in a finer unit: see the start of this file."""
    n = edges.num_vertices
    tops, label = np.unique(_first_of(rounded.parent, np.flatnonzero(light)), return_inverse=True)
    groups = _cut_tree(edges.merged(label, len(tops)), limits.light, control)
    # The ends of the edge between each group and its parent. A group of one vertex is called its top.
    lower_end, upper_end = tops.copy(), tops[groups.parent]
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    ends_of_groups = np.cumsum(np.bincount(label))[:-1]
    for group, members in enumerate(np.split(np.argsort(label, kind="stable"), ends_of_groups)):
        if len(members) == 1:
            continue
        # Each branch around the group is named by the child of the group in it, or 0, the root.
        branch = _first_of(groups.parent, np.append(np.flatnonzero(groups.parent == group), group))
        names, count = np.unique(branch[branch != group]), len(members)
        place = count + np.searchsorted(names, branch)[label]
        place[members] = np.arange(count)
        part = _Rounded.of(edges.merged(place, count + len(names)), limits.heavy, control).parent
        # No light cut separates vertices of the group, so branches hang from these.
        holder = members[_first_of(part, np.arange(count))]
        pairs.append(np.array([members[1:], holder[part[1:count]]]))
        for name, vertex in zip(names.tolist(), holder[count:].tolist(), strict=True):
            if name:
                upper_end[name] = vertex
            else:
                lower_end[group] = vertex
    heavy = np.concatenate(pairs, axis=1)
    least, most = np.zeros(heavy.shape[1], dtype=np.int64), np.full(heavy.shape[1], np.iinfo(np.int64).max)
    network = rounded.network
    pair_values(network, make_work(network), heavy, most, least, control.stop)
    bounds: list[Fraction | int] = [rounded.whole.bound(value) for value in least.tolist()]
    bounds += [min(low, limits.between) for low in groups.lower[1:]]
    parent, child = _rooted(n, np.append(heavy, np.array([lower_end[1:], upper_end[1:]]), axis=1))
    lower: list[Fraction | int] = [0] * n
    for vertex, bound in zip(child.tolist(), bounds, strict=True):
        lower[vertex] = bound
    return _Tree.of(parent, edges.weights_of(parent, control), lower, rounded.whole)


def _rooted(num_vertices: int, edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parents in a tree with root 0, and the end of each edge that is not the parent."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    graph = csr_array((np.ones(num_vertices - 1), edges), shape=(num_vertices, num_vertices))
    parent = breadth_first_order(graph, 0, directed=False)[1].astype(np.int64)
    parent[0] = 0
    return parent, np.where(parent[edges[0]] == edges[1], edges[0], edges[1])


def gomory_hu_tree(graph: GraphInput, *, weight: WeightInput = None, ends: EndsNames = None) -> GomoryHuTree:
    """Find the minimum cuts between all pairs of vertices of an undirected graph, as a tree.

    Parameters
    ----------
    graph : UndirectedGraph, FlowNetwork, (tail, head), (tail, head, weight), matrix, or graph of a library
        Parallel edges add up; loops are in no cut. Of a FlowNetwork, the reverse capacities must equal the
        capacities. A sparse matrix is symmetric, or one triangle of a symmetric matrix.
    weight : str, array_like, False or None
        The name of an attribute of edges or of a column of a table, or one weight for each edge,
        not negative. Default: the weights of the graph if it has some, otherwise 1 for each edge. The weights
        of such a graph or a table are "capacity", as in NetworkX, or if there is none, "weight". Edges
        without "weight" have weight 1; with another name, all edges need the attribute. False: 1 for each
        edge.
    ends : (str, str), optional
        Of a table: the columns of the two ends of edges, where their names do not say so.

    Returns
    -------
    GomoryHuTree

    Raises
    ------
    InvalidInputError
        The graph is directed, has less than two vertices, or a weight is negative or infinite. Or an edge has
        no capacity, which is an infinite one in NetworkX. Or `weight` is left out, and edges have numbers,
        but none with a usual name.
    CapacityOverflowError
        Integers that a cut of the tree may use sum past 2**61, or floats past float64.

    Notes
    -----
    n - 1 maximum flows with searches from both ends, in one residual network. Where most minimum cuts are
    those around one vertex and paths are short, a flow takes microseconds. Gusfield 1990; Gomory and Hu 1961;
    Bläsius, Friedrich and Weyand 2021. Floats of very different sizes take several times as many flows.

    Examples
    --------
    >>> import preflow
    >>> tree = preflow.gomory_hu_tree(([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], [3, 1, 4, 2, 5]))
    >>> tree.parent.tolist(), tree.weight.tolist()
    ([0, 0, 1, 2, 3], [0, 4, 5, 2, 5])
    >>> tree.min_cut_value(0, 4), tree.partition(0, 4)
    (2, ({0, 1, 2}, {3, 4}))
    >>> tree.verify()
    """
    read = read_weighted_graph(graph, weight, ("capacity", "weight"), "gomory_hu_tree", ColumnNames(ends))
    assert read.weight is not None
    n, control = read.num_vertices, Control()
    proper = read.tail != read.head
    tail, head = read.tail.astype(np.int64)[proper], read.head.astype(np.int64)[proper]
    edges = _Edges(n, tail, head, read.weight[proper])
    # Any cut between two vertices has one that is no heavier around one of them.
    limit = float(np.sort(edges.degrees())[-2])

    tree = run_interruptibly(lambda: _cut_tree(edges, limit, control), control)
    is_float = read.weight.dtype.kind == "f"
    most = sys.float_info.max if is_float else INT64_MAX
    if max(tree.weight) > most or (not is_float and any(tree.gap)):
        raise CapacityOverflowError(
            "the weights that a cut of the tree may use sum past 2**61, or past float64"
        )
    weights = np.array(tree.weight, dtype=read.weight.dtype)
    return GomoryHuTree(tree.parent, weights, read, max(tree.gap), np.array(tree.gap))
