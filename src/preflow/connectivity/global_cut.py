"""The smallest cut of an undirected graph.

Nagamochi and Ibaraki, "Computing Edge-Connectivity in Multigraphs and Capacitated Graphs", SIAM J. Discrete
Mathematics 5 (1992); Nagamochi, Ono and Ibaraki, Mathematical Programming 67 (1994), for several contractions
in one scan. Scanning in any order from `value` on is from Henzinger, Noe, Schulz and Strash, "Finding Minimum
Cuts in Practice", J. Experimental Algorithmics 23 (2018).

Definitions: see :mod:`preflow.certify.contraction`, which proves from the orders and the contractions that
the cut is the smallest one.

::

    value: the smallest weight of all edges at one vertex
    while there are two vertices:
        scan the vertices, always one with the largest attachment        scan
            the scanned vertices are one side of a cut: is it smaller?
            an attachment reaches `value` over an edge: join its ends
        make one vertex of those that are joined                         contracted
        few vertices were joined: leave the loop
    in the order of a breadth-first search, for each vertex v:           join_to_sources
        find the flow from all vertices before v to v, up to `value`
        it is smaller: its cut is the smallest one known

Each round joins at least two vertices: the attachment of the last one is the weight of all its edges, which
is at least `value`. Mostly the first rounds join nearly all: O(m log n). In graphs that look alike
everywhere, such as a torus, a round joins two or three. There the flows are cheap, since the earlier vertices
are near.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, GraphInput, Int64, WeightInput
from ..certify.contraction import (
    Contraction,
    Rows,
    check_contractions,
    contracted,
    find_representative,
    rows_of,
    set_leaf,
    tree_of_maxima,
)
from ..drawing.axes import number
from ..drawing.networks import draw_graph, side_colours
from ..errors import VerificationError
from ..graph.edge_tables import labelled_pairs, labelled_sides
from ..graph.network import exact_sum
from ..graph.scaling import float_sum, sum_slack
from ..graph.undirected import UndirectedGraph
from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..solving.drawn import DrawnResult
from ..solving.run import Control, run_interruptibly
from .pair_flows import join_to_sources, make_network, make_work
from .reading import read_weighted_graph, whole_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A round of contractions is followed by another one if it leaves at most this part of the vertices. On a
#: torus of 200x200 vertices rounds that join two or three took 155 s in all; the flows instead take 0.04 s.
PRODUCTIVE = 0.8


@kernel
def scan(
    rows: Rows,
    degree: NDArray[np.int64],
    value: Int64,
    tree: NDArray[np.int64],
    order: NDArray[np.int64],
    attachment: NDArray[np.int64],
    parent: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> tuple[Int64, Int64]:
    """Scan all vertices; `degree` is the weight of the edges of each. On entry as in `check_order`.

    Returns
    -------
    value : the weight of the smallest cut known
    count : the number of vertices of `order` that are one side of it, 0 if it was known before
    """
    leaves = len(tree) // 2
    n = len(order)
    best = np.int64(0)
    cut = np.int64(0)
    for k in range(n):
        if relaxed_load(stop, 0) != 0:
            break
        i = 1
        while i < leaves:
            i = 2 * i if tree[2 * i] == tree[i] else 2 * i + 1
        v = i - leaves
        order[k] = v
        cut += degree[v] - 2 * attachment[v]
        if cut < value and k + 1 < n:
            value, best = cut, np.int64(k + 1)
        set_leaf(tree, v, np.int64(-1))
        attachment[v] = -1
        for j in range(rows.first[v], rows.first[v + 1]):
            u = rows.neighbour[j]
            if attachment[u] < 0:
                continue
            attachment[u] += rows.weight[j]
            set_leaf(tree, u, min(attachment[u], value))
            if attachment[u] >= value:
                parent[find_representative(parent, u)] = find_representative(parent, np.int64(v))
    return value, best


@dataclass(frozen=True, eq=False, repr=False)
class GlobalMinCut(DrawnResult):
    """The smallest cut of an undirected graph.

    Attributes
    ----------
    value : int or float
        Its weight; 0 if the graph is not connected.
    side : ndarray of bool, shape (num_vertices,)
        One side of the cut; neither is empty.
    graph : UndirectedGraph
        Its weights are the numbers that cuts add up: 1 for each edge if the graph was given without weights.
    gap : float
        How far the value may be from the minimum, since weights that are not integers were rounded; 0 for
        integers.
    """

    value: int | float
    side: NDArray[np.bool_]
    graph: UndirectedGraph
    gap: float
    _rounds: tuple[Contraction, ...]
    _order: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.side.flags.writeable = False

    @property
    def edges(self) -> NDArray[np.int64]:
        """The indices of the edges across the cut, ascending."""
        return np.flatnonzero(self.side[self.graph.tail] != self.side[self.graph.head])

    def cut_edges(self) -> list[tuple[Hashable, Hashable]]:
        """Return the edges across the cut as pairs of vertices, with the caller's labels, as given."""
        graph, edges = self.graph, self.edges
        return labelled_pairs(graph.labels, graph.tail[edges], graph.head[edges])

    def partition(self) -> tuple[set[Hashable], set[Hashable]]:
        """Return the vertices of :attr:`side` and the others, with the caller's labels.

        Examples
        --------
        >>> import preflow
        >>> cut = preflow.global_min_cut([("a", "b", 3), ("b", "c", 2)])
        >>> sorted(map(sorted, cut.partition())), cut.cut_edges()
        ([['a', 'b'], ['c']], [('b', 'c')])
        """
        return labelled_sides(self.graph.labels, ~self.side)

    def verify(self) -> None:
        """Prove that the cut has its value and no cut is smaller, independently of the solver.

        O(m log n) for each round of contractions, of which there are few, and one flow, found path by path,
        for each vertex that they leave.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        graph = self.graph
        if self.side.shape != (graph.num_vertices,) or self.side.all() or not self.side.any():
            raise VerificationError("the side of the cut does not fit the graph")
        assert graph.weight is not None
        total = _sum(graph.weight[self.edges])
        if abs(total - self.value) > sum_slack(total, self.value):
            raise VerificationError(f"the cut has weight {total}, not {self.value}")
        if total == 0:
            return
        whole = whole_weights(graph.weight)
        least = int(exact_sum(whole.weight[self.edges]))
        check_contractions(_rows(graph, whole.weight), least, self._rounds, self._order)
        if self.gap < whole.error:
            raise VerificationError(f"the gap is {self.gap}, and rounding may have changed {whole.error}")

    def _summary(self) -> str:
        size = int(np.count_nonzero(self.side))
        return f"value {self.value:,}, {size:,} of {len(self.side):,} vertices on one side"

    def _draw(self, ax: Axes | None) -> Axes:
        graph = self.graph
        assert graph.weight is not None
        crossing = self.side[graph.tail] != self.side[graph.head]
        texts = [number(weight) for weight in graph.weight.tolist()]
        return draw_graph(ax, graph.tail, graph.head, crossing, texts, graph.labels, side_colours(self.side))


def _sum(values: Array) -> int | float:
    return float_sum(values) if values.dtype.kind == "f" else exact_sum(values)


def _rows(graph: UndirectedGraph, weight: NDArray[np.int64]) -> Rows:
    return rows_of(graph.num_vertices, graph.tail.astype(np.int64), graph.head.astype(np.int64), weight)


def global_min_cut(graph: GraphInput, *, weight: WeightInput = None) -> GlobalMinCut:
    """Find the smallest cut of an undirected graph: the cheapest edges whose removal disconnects it.

    Parameters
    ----------
    graph, weight
        As in :func:`preflow.gomory_hu_tree`, but "weight" comes before "capacity", as in NetworkX.

    Returns
    -------
    GlobalMinCut

    Raises
    ------
    InvalidInputError
        The graph is directed, has less than two vertices, or a weight is negative or infinite.
    CapacityOverflowError
        The weights sum past 2**61.

    Notes
    -----
    Contractions of Nagamochi and Ibaraki 1992, mostly O(m log n).

    Examples
    --------
    >>> import preflow
    >>> cut = preflow.global_min_cut(([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], [3, 1, 4, 2, 5]))
    >>> cut.value, cut.edges.tolist()
    (2, [3])
    >>> cut.verify()
    """
    read = read_weighted_graph(graph, weight, ("weight", "capacity"), "global_min_cut")
    assert read.weight is not None
    whole = whole_weights(read.weight)
    control = Control()
    side, rounds, order = run_interruptibly(lambda: _contract(_rows(read, whole.weight), control), control)
    value = _sum(read.weight[side[read.tail] != side[read.head]])
    gap = whole.error + sum_slack(value) if whole.error else 0.0
    return GlobalMinCut(value, side, read, gap, rounds, order)


def _contract(
    rows: Rows, control: Control
) -> tuple[NDArray[np.bool_], tuple[Contraction, ...], NDArray[np.int64]]:
    """Return one side of the smallest cut, and the contractions and the order of flows that prove it."""
    n = len(rows.first) - 1
    where = np.arange(n)
    rounds = []
    value, side = int(np.iinfo(np.int64).max), np.zeros(n, dtype=bool)
    productive = True
    while n > 1 and value > 0 and productive and not control.stopped:
        degree = _degrees(rows)
        if degree.min() < value:
            value, side = int(degree.min()), where == degree.argmin()
        order, parent = np.empty(n, dtype=np.int64), np.arange(n)
        least, count = scan(
            rows,
            degree,
            np.int64(value),
            tree_of_maxima(n),
            order,
            np.zeros(n, dtype=np.int64),
            parent,
            control.stop,
        )
        if count:
            value, side = int(least), np.isin(where, order[:count])
        while not np.array_equal(parent, parent[parent]):
            parent = parent[parent]
        _, label = np.unique(parent, return_inverse=True)
        rounds.append(Contraction(order, label))
        rows, where = contracted(rows, label), label[where]
        productive = len(rows.first) - 1 <= PRODUCTIVE * n
        n = len(rows.first) - 1
    order = np.arange(n)
    if n > 1 and value > 0:
        tail = np.repeat(np.arange(n), np.diff(rows.first))
        once = tail < rows.neighbour
        network = make_network(n, tail[once], rows.neighbour[once], *(rows.weight[once],) * 2)
        order = _search_order(rows)
        found = np.zeros(n, dtype=bool)
        least = join_to_sources(network, make_work(network), order, np.int64(value), found, control.stop)
        if least < value:
            side = found[where]
    return side, tuple(rounds), order


def _search_order(rows: Rows) -> NDArray[np.int64]:
    """Return the vertices of a connected graph in the order of a breadth-first search."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(rows.first) - 1
    graph = csr_array((np.ones(len(rows.neighbour)), rows.neighbour, rows.first), shape=(n, n))
    order: NDArray[np.int64] = breadth_first_order(graph, 0, return_predecessors=False).astype(np.int64)
    return order


def _degrees(rows: Rows) -> NDArray[np.int64]:
    """Return the weight of the edges of each vertex."""
    total = np.append(0, np.cumsum(rows.weight))
    degree: NDArray[np.int64] = total[rows.first[1:]] - total[rows.first[:-1]]
    return degree
