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

Floats are scaled to integers that sum to less than 2**61, as are integers that sum to more. No edge heavier
than a known cut is in the smallest one. So weights are cut off at the smallest weight of all edges at one
vertex, and again at the cut found, until the gap is small beside it
(:func:`preflow.graph.scaling.solve_within_gap`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import EndsNames, GraphInput, Int64, WeightInput
from ..certify.contraction import (
    Contraction,
    Rows,
    check_contractions,
    contracted,
    rows_of,
    set_leaf,
    tree_of_maxima,
)
from ..certify.fields import check_array, checked_number
from ..drawing.axes import number, say
from ..drawing.networks import draw_graph, side_colours
from ..errors import CapacityOverflowError, VerificationError
from ..graph.edge_tables import ColumnNames, labelled_pairs, labelled_sides
from ..graph.network import exact_sum
from ..graph.scaling import Rule, accepted_gap, solve_within_gap
from ..graph.undirected import UndirectedGraph
from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..kernels.union_find import find_set
from ..maxflow.pair_flows import join_to_sources, make_network, make_work
from ..solving.drawn import DrawnResult
from ..solving.result import HEADLINES, Status
from ..solving.run import Control, run_interruptibly
from .reading import (
    FoundCut,
    WholeWeights,
    degrees,
    is_optimal,
    read_weighted_graph,
    search_order,
    weight_across,
    whole_weights,
)

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

    Return the weight of the smallest cut known, and the number of vertices of `order` that are one side of
    it, 0 if it was known before.
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
                parent[find_set(parent, u)] = find_set(parent, np.int64(v))
    return value, best


@dataclass(frozen=True, eq=False, repr=False)
class GlobalMinCut(DrawnResult):
    """The smallest cut of an undirected graph.

    Attributes
    ----------
    value : int or float
        Its weight; 0 if the graph is not connected. The sum of floats is correctly rounded.
    side : ndarray of bool, shape (num_vertices,)
        One side of the cut; neither is empty.
    graph : UndirectedGraph
        Its weights are the numbers that cuts add up: 1 for each edge if the graph was given without weights.
    gap : float
        How far the value may be from the minimum, since weights that are not integers were rounded; 0 for
        integers. Proved.
    """

    value: int | float
    side: NDArray[np.bool_]
    graph: UndirectedGraph
    gap: float
    _limit: float
    _rounds: tuple[Contraction, ...]
    _order: NDArray[np.int64]

    @property
    def status(self) -> Status:
        """The word "optimal", or "approximate" where the gap is not small beside the value."""
        return "optimal" if is_optimal(self.gap, self.value, self.graph.num_edges) else "approximate"

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
        """
        graph = self.graph
        check_array(np, self.side, "side", (graph.num_vertices,), np.bool_)
        if self.side.all() or not self.side.any():
            raise VerificationError("the side of the cut does not fit the graph")
        assert graph.weight is not None
        found = _found(graph, _whole(graph, checked_number(self._limit, "limit")), self.side)
        if found.least > 0:
            check_contractions(_rows(graph, found.whole.weight), found.least, self._rounds, self._order)
        for name, claimed, true in (("value", self.value, found.upper), ("gap", self.gap, found.gap)):
            if checked_number(claimed, name) != true:
                raise VerificationError(f"the {name} of the cut is {true}, not {claimed}")

    def _summary(self) -> str:
        size = int(np.count_nonzero(self.side))
        found = "value" if self.status == "optimal" else f"approximate within {self.gap:.2g}, value"
        return f"{found} {self.value:,}, {size:,} of {len(self.side):,} vertices on one side"

    def _draw(self, ax: Axes | None) -> Axes:
        graph = self.graph
        assert graph.weight is not None
        crossing = self.side[graph.tail] != self.side[graph.head]
        texts = [number(weight) for weight in graph.weight.tolist()]
        axes = draw_graph(ax, graph.tail, graph.head, crossing, texts, graph.labels, side_colours(self.side))
        return axes if self.status == "optimal" else say(axes, HEADLINES[self.status])


def _whole(graph: UndirectedGraph, limit: float) -> WholeWeights:
    """Return weights as integers of which the sum is below 2**61, cut off at a limit."""
    assert graph.weight is not None
    return whole_weights(graph.weight, limit, lambda weight: float(weight.sum()))


def _found(graph: UndirectedGraph, whole: WholeWeights, side: NDArray[np.bool_]) -> FoundCut:
    """Return the cut with a side."""
    assert graph.weight is not None
    across = side[graph.tail] != side[graph.head]
    return FoundCut(side, whole, int(exact_sum(whole.weight[across])), weight_across(graph.weight[across]))


def _rows(graph: UndirectedGraph, weight: NDArray[np.int64]) -> Rows:
    return rows_of(graph.num_vertices, graph.tail.astype(np.int64), graph.head.astype(np.int64), weight)


def global_min_cut(graph: GraphInput, *, weight: WeightInput = None, ends: EndsNames = None) -> GlobalMinCut:
    """Find the smallest cut of an undirected graph: the cheapest edges whose removal disconnects it.

    Parameters
    ----------
    graph, weight, ends
        As in :func:`preflow.gomory_hu_tree`, but "weight" comes before "capacity", as in NetworkX.

    Returns
    -------
    GlobalMinCut

    Raises
    ------
    InvalidInputError
        The graph is directed, has less than two vertices, or a weight is negative or infinite.
    CapacityOverflowError
        Integers that the smallest cut may use sum past 2**61, or floats past float64.

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
    read = read_weighted_graph(graph, weight, ("weight", "capacity"), "global_min_cut", ColumnNames(ends))
    assert read.weight is not None
    least = float(degrees(read.num_vertices, read.tail, read.head, read.weight).min())
    control = Control()

    def solve(rule: Rule) -> FoundCut:
        limit = least if rule.bound is None else float(rule.bound)
        whole = _whole(read, limit)
        side, rounds, order = _contract(_rows(read, whole.weight), control)
        found = _found(read, whole, side)
        return found._replace(limit=limit, rounds=rounds, order=order, finished=not control.stopped)

    is_float = read.weight.dtype.kind == "f"
    accepted = accepted_gap(read.num_edges) if is_float else 0.0
    found = run_interruptibly(lambda: solve_within_gap(solve, is_float=True, accepted=accepted), control)
    if not is_float and found.gap > 0:
        raise CapacityOverflowError("the weights that a smallest cut may use sum past 2**61")
    return GlobalMinCut(found.upper, found.side, read, found.gap, found.limit, found.rounds, found.order)


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
        order = search_order(rows.first, rows.neighbour)
        found = np.zeros(n, dtype=bool)
        least = join_to_sources(network, make_work(network), order, np.int64(value), found, control.stop)
        if least < value:
            side = found[where]
    return side, tuple(rounds), order


def _degrees(rows: Rows) -> NDArray[np.int64]:
    """Return the weight of the edges of each vertex."""
    total = np.append(0, np.cumsum(rows.weight))
    degree: NDArray[np.int64] = total[rows.first[1:]] - total[rows.first[:-1]]
    return degree
