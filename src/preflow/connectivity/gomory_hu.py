"""Cut trees: the minimum cuts between all pairs of vertices, by n - 1 maximum flows.

Gusfield, "Very Simple Methods for All Pairs Network Flow Analysis", SIAM J. Computing 19 (1990), with the
exchange of parents that makes the tree a cut tree in the sense of Gomory and Hu (1961), not only a tree of
values. All flows use one network (:mod:`.pair_flows`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, GraphInput, WeightInput
from ..drawing.axes import number
from ..drawing.networks import draw_graph, matched_colours
from ..errors import InvalidInputError, VerificationError
from ..graph.edge_tables import data_frame, labelled_sides, labels_of
from ..graph.network import FlowNetwork, exact_sum
from ..graph.scaling import float_sum, sum_slack
from ..graph.undirected import UndirectedGraph
from ..maxflow.api import max_flow
from ..solving.drawn import DrawnResult
from ..solving.run import Control, run_interruptibly
from .pair_flows import gusfield, make_network, make_work
from .reading import read_weighted_graph, whole_weights

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class _Shape(NamedTuple):
    """The tree as arrays: its vertices from the root down, and the number of edges from the root to each."""

    order: NDArray[np.int64]
    depth: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class GomoryHuTree(DrawnResult):
    """A tree that has the minimum cuts between all pairs of vertices of a graph.

    Without one of its edges the tree has two parts. They are the sides of a cut of the graph, whose weight is
    that of the edge. The lightest edge on the path between two vertices gives a minimum cut between them.

    Attributes
    ----------
    parent : ndarray of int64, shape (num_vertices,)
        The parent of each vertex; vertex 0 is the root and has itself.
    weight : ndarray of int64 or float64, shape (num_vertices,)
        The weight of the edge from each vertex to its parent; 0 for the root.
    graph : UndirectedGraph
        Its weights are the numbers that cuts add up: 1 for each edge if the graph was given without weights.
    gap : float
        How far a weight may be from the minimum, since weights that are not integers were rounded for the
        flows; 0 for integers.
    """

    parent: NDArray[np.int64]
    weight: Array
    graph: UndirectedGraph
    gap: float

    def __post_init__(self) -> None:
        for array in (self.parent, self.weight):
            array.flags.writeable = False

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

    def to_pandas(self) -> pandas.DataFrame:
        """Return the tree as a table with a row for each of its edges.

        Returns
        -------
        DataFrame
            The columns "source" and "target" have a vertex and its parent, with the caller's labels, and
            "weight" the weight of a minimum cut between them. ``networkx.from_pandas_edgelist`` takes it.

        Raises
        ------
        MissingDependencyError
            pandas is not installed.

        Examples
        --------
        >>> import preflow
        >>> print(preflow.gomory_hu_tree([("a", "b", 3), ("b", "c", 2)]).to_pandas())
          source target  weight
        0      b      a       3
        1      c      b       2
        """
        return data_frame(self.to_columns())

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas` as arrays; ``polars.DataFrame`` takes them, too."""
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

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        graph = self.graph
        n = graph.num_vertices
        assert graph.weight is not None
        if self.parent.shape != (n,) or self.weight.shape != (n,) or self.parent[0] != 0:
            raise VerificationError("the tree does not fit the graph")
        if self.parent.min() < 0 or self.parent.max() >= n or (self.parent[self._ancestors()] != 0).any():
            raise VerificationError("the parents are not a tree")
        network = FlowNetwork(n, graph.tail, graph.head, graph.weight, reverse_capacity=graph.weight)
        for vertex in range(1, n):
            parent = int(self.parent[vertex])
            side = self._below(vertex)
            crossing = graph.weight[side[graph.tail] != side[graph.head]]
            total = _sum(crossing)
            slack = self.gap + sum_slack(total)
            if abs(total - self.weight[vertex].item()) > slack or side[parent]:
                raise VerificationError(
                    f"the cut between {graph.name(vertex)} and {graph.name(parent)} has weight {total}, "
                    f"not {self.weight[vertex]}"
                )
            flow = max_flow(network, vertex, parent, method="serial-fifo")
            flow.verify()
            if total - flow.value > slack + flow.gap:
                raise VerificationError(
                    f"the cut between {graph.name(vertex)} and {graph.name(parent)} is not minimum: "
                    f"{total}, and there is one of {flow.value}"
                )

    def _ancestors(self) -> NDArray[np.int64]:
        """Return an ancestor of each vertex that is the root if the parents are a tree."""
        ancestor = self.parent
        for _ in range(len(self.parent).bit_length()):
            ancestor = ancestor[ancestor]
        return ancestor

    def _below(self, vertex: int) -> NDArray[np.bool_]:
        """Return which vertices are in the subtree of a vertex."""
        below = np.zeros(len(self.parent), dtype=bool)
        below[vertex] = True
        step = self.parent.copy()
        step[vertex] = vertex
        for _ in range(len(self.parent).bit_length()):
            step = step[step]
        return below[step]

    def _summary(self) -> str:
        least = self.weight[1:].min()
        return f"{len(self.parent):,} vertices, lightest edge {least:,}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the tree with its weights, the lightest edges red."""
        n = len(self.parent)
        weight = self.weight[1:]
        lightest = weight == (weight.min() if len(weight) else 0)
        texts = [number(each) for each in weight.tolist()]
        colours = matched_colours(np.ones(n, dtype=bool))
        return draw_graph(ax, self.parent[1:], np.arange(1, n), lightest, texts, self.graph.labels, colours)


def _sum(values: Array) -> int | float:
    return float_sum(values) if values.dtype.kind == "f" else exact_sum(values)


def gomory_hu_tree(graph: GraphInput, *, weight: WeightInput = None) -> GomoryHuTree:
    """Find the minimum cuts between all pairs of vertices of an undirected graph, as a tree.

    Parameters
    ----------
    graph : UndirectedGraph, FlowNetwork, (tail, head), (tail, head, weight), matrix, or NetworkX graph
        Parallel edges add up; loops are in no cut. Of a FlowNetwork, the reverse capacities must equal the
        capacities. A sparse matrix is symmetric, or one triangle of a symmetric matrix.
    weight : str, array_like, False or None
        The name of an attribute of a NetworkX graph or of a column of a table, or one weight for each edge,
        not negative. Default: the weights of the graph if it has some, otherwise 1 for each edge. The weights
        of a NetworkX graph or a table are "capacity", as in NetworkX, or if there is none, "weight". Edges
        without "weight" have weight 1; with another name, all edges need the attribute. False: 1 for each
        edge.

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
        The weights sum past 2**61.

    Notes
    -----
    n - 1 maximum flows by Dinic's method in one residual network. Gusfield 1990; Gomory and Hu 1961.

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
    read = read_weighted_graph(graph, weight, ("capacity", "weight"), "gomory_hu_tree")
    assert read.weight is not None
    whole = whole_weights(read.weight)
    n = read.num_vertices
    network = make_network(n, read.tail, read.head, whole.weight, whole.weight)
    work = make_work(network)
    parent, value = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    control = Control()
    run_interruptibly(lambda: gusfield(network, work, parent, value, control.stop), control)
    if whole.error == 0:
        weights = value.astype(read.weight.dtype) if read.weight.dtype.kind == "f" else value
        return GomoryHuTree(parent, weights, read, 0.0)
    exact = GomoryHuTree(parent, value, read, whole.error)
    sides = (exact._below(v) for v in range(1, n))
    sums = [_sum(read.weight[side[read.tail] != side[read.head]]) for side in sides]
    return GomoryHuTree(parent, np.array([0.0, *sums]), read, whole.error + sum_slack(float(sum(sums))))
