"""Shortest paths and disjoint paths as minimum-cost flows.

A flow of k units is k paths and some cycles. With unit capacities the paths share no arc; with vertices split
(see :mod:`preflow.reductions.vertex_capacities`) they share no vertex (Suurballe 1974). The cycles of a flow
of minimum cost cost nothing, unless the costs have a cycle of negative cost.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, NetworkInput
from ..certify.fields import check_array
from ..checks import check_integer
from ..drawing.axes import number
from ..drawing.networks import Arcs, draw_flow, matched_colours
from ..errors import InfeasibleFlowError, InvalidInputError, VerificationError
from ..graph.cost_network import CostNetwork, as_cost_network, net_of_one_way, undirected_arcs
from ..graph.edge_tables import labels_of
from ..graph.scaling import is_close, size_of
from ..mincost.result import MinCostFlowResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from ..solving.read_only import make_read_only
from .base import CostReduction, check_fits, cost_of, vertex_numbers
from .most_for_least import max_flow_min_cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Steps(NamedTuple):
    """Arcs in the direction in which paths use them."""

    arc: NDArray[np.int64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class CheapPaths(DrawnResult):
    """Paths from a source to a sink of the least total cost.

    Attributes
    ----------
    arcs : tuple of ndarrays of int64
        The arcs of each path, in order.
    vertices : tuple of tuples
        The vertices of each path, in order: numbers, or the caller's labels.
    cost : int or float
        The sum of the costs of all arcs of the paths.
    costs : tuple of int or float
        The cost of each path.
    network : CostNetwork
        As it was given.
    disjoint : {"arcs", "vertices", None}
        What the paths may not share; None for one path.
    result : MinCostFlowResult
        The flow that proves `cost` the least. Of a single path, the differences of its potentials to that of
        the source bound distances: see :attr:`distance_bounds`.
    """

    arcs: tuple[NDArray[np.int64], ...]
    vertices: tuple[tuple[Hashable, ...], ...]
    cost: int | float
    costs: tuple[int | float, ...]
    network: CostNetwork
    disjoint: Literal["arcs", "vertices"] | None
    result: MinCostFlowResult

    def __len__(self) -> int:
        return len(self.arcs)

    @property
    def distance_bounds(self) -> Array:
        """For each vertex, a number that its distance from the first vertex of the path is at least.

        It is the distance itself for the vertices of the path. No arc leads to a vertex whose bound exceeds
        that of its tail by more than its cost: that proves a single path shortest. Bounds of float costs are
        rounded, relative to the cost of the path and to the largest cost below zero.

        Raises
        ------
        InvalidInputError
            These are disjoint paths, for which there are no such bounds.
        """
        if self.disjoint is not None:
            raise InvalidInputError("distance_bounds are those of a shortest path, not of disjoint paths")
        start = self.network.vertex(self.vertices[0][0])
        bounds: Array = self.result.potentials - self.result.potentials[start]
        return bounds

    @property
    def gap(self) -> int | float:
        """A proved bound of the difference between `cost` and the optimum; 0 for integers."""
        # Cycles that cost next to nothing may lie beside the paths.
        return self.result.gap + abs(self.cost - self.result.cost)

    def verify(self) -> None:
        """Prove the paths disjoint and their cost the least, in linear time."""
        self.result.verify()
        network, used = self.network, np.concatenate([np.zeros(0, dtype=np.int64), *self.arcs])
        if self.disjoint is not None and len(np.unique(used)) < len(used):
            raise VerificationError("two paths share an arc")
        inner: list[Hashable] = []
        for arcs, names in zip(self.arcs, self.vertices, strict=True):
            at = np.array([network.vertex(name) for name in names])
            check_array(np, arcs, "arcs", (max(len(at), 1) - 1,), np.int64)
            if not len(arcs) or not (arcs.min() >= 0 and arcs.max() < network.num_arcs):
                raise VerificationError("a path has no arcs, or one that the network has not")
            ahead = (network.tail[arcs] == at[:-1]) & (network.head[arcs] == at[1:])
            if network.undirected is not None:
                back = (network.head[arcs] == at[:-1]) & (network.tail[arcs] == at[1:])
                ahead |= back & network.undirected[arcs]
            if not ahead.all():
                raise VerificationError("the arcs of a path do not join its vertices")
            inner += names[1:-1]
        ends = {(names[0], names[-1]) for names in self.vertices}
        if len(ends) > 1 or (self.disjoint == "vertices" and len(set(inner)) < len(inner)):
            raise VerificationError("two paths have different ends or share a vertex")
        cost = cost_of(network.cost[used])
        if self.costs != tuple(cost_of(network.cost[arcs]) for arcs in self.arcs):
            raise VerificationError(f"the paths do not cost {self.costs}")
        if self.cost != cost or not _is_close(self.result, network.cost[used], abs(cost - self.result.cost)):
            raise VerificationError(f"the paths cost {cost}, and the flow {self.result.cost}")

    def _summary(self) -> str:
        apart = "" if self.disjoint is None else f", disjoint in {self.disjoint}"
        return f"cost {self.cost:,}, {len(self):,} path{'s' if len(self) != 1 else ''}{apart}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the network with the cost of each arc; the paths are wide."""
        network = self.network
        used = np.bincount(np.concatenate([np.zeros(0, np.int64), *self.arcs]), minlength=network.num_arcs)
        texts = [number(cost) for cost in network.cost.tolist()]
        arcs = Arcs(network.tail, network.head, used, texts, np.zeros(network.num_arcs, dtype=bool))
        first, last = [
            np.array([network.vertex(names[at]) for names in self.vertices[:1]], np.int64) for at in (0, -1)
        ]
        on_path = np.zeros(network.num_vertices, dtype=bool)
        on_path[[network.vertex(name) for names in self.vertices for name in names]] = True
        return draw_flow(ax, arcs, network.labels, matched_colours(on_path), first, last)


@dataclass(frozen=True, eq=False, kw_only=True)
class PathsAsMinCostFlow(CostReduction[CheapPaths]):
    """A shortest path, or disjoint paths of the least total cost, as a minimum-cost flow.

    Attributes
    ----------
    network : CostNetwork
        The arcs as given. If the paths share no vertex, its vertices are the first and the second copies of
        the vertices, and its arcs those as given, the opposites of undirected ones, and one for each vertex.
    source, sink : int
        Where paths begin and end, in `network`.
    given : CostNetwork
        The network as it was given.
    count : int or None
        The number of paths; None for as many as possible.
    disjoint : {"arcs", "vertices", None}

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], cost=[1, 4, 1, 6, 1])
    >>> reduction = preflow.reductions.PathsAsMinCostFlow.of(network, 0, 3, count=2, disjoint="arcs")
    >>> reduction.network.capacity.tolist()
    [1, 1, 1, 1, 1]
    >>> found = reduction.solve()
    >>> found.vertices, found.cost
    (((0, 1, 3), (0, 2, 3)), 12)
    >>> found.verify()
    """

    source: int
    sink: int
    given: CostNetwork
    count: int | None
    disjoint: Literal["arcs", "vertices"] | None

    @classmethod
    def of(
        cls,
        network: NetworkInput,
        source: Hashable,
        sink: Hashable,
        *,
        count: int | None = 1,
        disjoint: Literal["arcs", "vertices"] | None = None,
    ) -> Self:
        """Build the minimum-cost flow.

        Parameters
        ----------
        network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
            Costs may be negative; capacities matter only where they are zero. Lower bounds and supplies are
            ignored.
        source, sink : vertex
        count : int or None
            The number of paths; None for as many as possible.
        disjoint : {"arcs", "vertices", None}
            What the paths may not share, apart from the source and the sink. None is for one path.
        """
        given = as_cost_network(network).plain()
        start, end = given.vertex(source), given.vertex(sink)
        if start == end:
            raise InvalidInputError(f"vertex {given.name(start)} is both source and sink")
        if disjoint not in ("arcs", "vertices", None):
            raise InvalidInputError(f"disjoint must be 'arcs', 'vertices' or None, got {disjoint!r}")
        if count is not None:
            count = check_integer("count", count)
        if disjoint is None and count != 1:
            raise InvalidInputError("several paths need disjoint='arcs' or disjoint='vertices'")
        n, open_ = given.num_vertices, given.capacity > 0
        tail, head = vertex_numbers(given.tail), vertex_numbers(given.head)
        if disjoint != "vertices":
            built = CostNetwork(
                n,
                tail,
                head,
                capacity=np.where(open_, np.inf, 0) if disjoint is None else open_.astype(np.int64),
                cost=given.cost,
                supply=_supply(n, start, end, count),
                undirected=given.undirected,
            )
        else:
            both = undirected_arcs(given)
            through = np.ones(n, dtype=np.int64)
            through[[start, end]] = 0
            built = CostNetwork(
                2 * n,
                np.concatenate([tail + n, head[both] + n, np.arange(n)]),
                np.concatenate([head, tail[both], np.arange(n) + n]),
                capacity=np.concatenate([open_, open_[both], through]).astype(np.int64),
                cost=np.concatenate([given.cost, given.cost[both], np.zeros(n, given.cost.dtype)]),
                supply=_supply(2 * n, start + n, end, count),
            )
            start += n
        return cls(network=built, source=start, sink=end, given=given, count=count, disjoint=disjoint)

    def solve(self, **arguments: Unpack[Keywords]) -> CheapPaths:
        """Find a flow with these arguments of :func:`preflow.min_cost_flow`, and return the paths.

        Raises
        ------
        InfeasibleFlowError
            There are fewer paths. The error has vertices around the source that too few arcs, or vertices,
            lead out of.
        UnboundedCostError
            A cycle has negative cost, and a single path was asked for.
        """
        if self.count is None:
            return self.solution(max_flow_min_cost(self.network, self.source, self.sink, **arguments))
        try:
            return super().solve(**arguments)
        except InfeasibleFlowError as error:
            inside = np.unique(np.array(error.vertices) % self.given.num_vertices)
            names = labels_of(self.given.labels, inside).tolist()
            raise InfeasibleFlowError(tuple(names), error.excess) from None

    def solution(self, result: MinCostFlowResult) -> CheapPaths:
        """Return the paths of the flow.

        Raises
        ------
        InvalidInputError
            The flow has a cycle of negative cost beside the paths, so they need not be the cheapest.
        """
        check_fits(result, self.network)
        given = self.given
        n = given.num_vertices
        steps = _steps(given, result.flow, self.disjoint == "vertices")
        start, end = self.source % n, self.sink % n
        found = tuple(_without_loops(steps, walk, end) for walk in _walks(steps, start, end, n))
        arcs = tuple(steps.arc[path] for path in found)
        make_read_only(arcs)
        names = given.labels or range(n)
        vertices = tuple(tuple(names[v] for v in [start, *steps.head[path].tolist()]) for path in found)
        costs = tuple(cost_of(given.cost[path]) for path in arcs)
        used = given.cost[np.concatenate([np.zeros(0, dtype=np.int64), *arcs])]
        total = cost_of(used)
        rest = result.cost - total
        if rest < 0 and not _is_close(result, used, -rest):
            raise InvalidInputError(f"cycles of negative cost, {rest} in all, lie beside the cheapest paths")
        return CheapPaths(arcs, vertices, total, costs, given, self.disjoint, result)


def _is_close(result: MinCostFlowResult, used: Array, apart: int | float) -> bool:
    """Whether paths with these costs cost the same as the flow: exactly for integers."""
    return is_close(apart, size_of(used), len(used), result.gap) if used.dtype.kind == "f" else apart == 0


def _supply(num_vertices: int, source: int, sink: int, count: int | None) -> Array | None:
    """Return the supplies for a number of paths."""
    if count is None:
        return None
    supply = np.zeros(num_vertices, dtype=np.int64)
    supply[[source, sink]] = count, -count
    return supply


def _steps(given: CostNetwork, flow: Array, split: bool) -> Steps:
    """Return the arcs that a flow uses."""
    m = given.num_arcs
    net = net_of_one_way(given, flow[: m + len(undirected_arcs(given))]) if split else flow[:m]
    # A cycle that costs nothing may lie on the path.
    used = np.repeat(np.arange(m), np.abs(net).astype(np.int64))
    ahead = net[used] > 0
    tail, head = vertex_numbers(given.tail[used]), vertex_numbers(given.head[used])
    return Steps(used, np.where(ahead, tail, head), np.where(ahead, head, tail))


def _walks(steps: Steps, source: int, sink: int, num_vertices: int) -> list[NDArray[np.int64]]:
    """Return the walks from the source to the sink that the steps form, as positions of steps.

    At each vertex the i-th step that enters it goes on with the i-th one that leaves it. Pointers that double
    their length then tell each step its last step and the distance to it: O(m log m). Steps on cycles reach
    no last step and are left out.
    """
    count = len(steps.arc)
    if not count:
        return []
    leaving = np.argsort(steps.tail, kind="stable")
    degree = np.bincount(steps.tail, minlength=num_vertices)
    first = np.cumsum(degree) - degree
    entering = np.argsort(steps.head, kind="stable")
    entered = np.bincount(steps.head, minlength=num_vertices)
    rank = np.empty(count, dtype=np.int64)
    rank[entering] = np.arange(count) - (np.cumsum(entered) - entered)[steps.head[entering]]
    goes_on = rank < degree[steps.head]
    last = np.arange(count)
    last[goes_on] = leaving[first[steps.head[goes_on]] + rank[goes_on]]
    distance = goes_on.astype(np.int64)
    for _ in range(count.bit_length()):
        distance += distance[last]
        last = last[last]
    ended = np.flatnonzero(~goes_on[last])
    order = ended[np.lexsort((-distance[ended], last[ended]))]
    walks = np.split(order, np.flatnonzero(np.diff(last[order])) + 1) if len(order) else []
    return sorted(walks, key=lambda walk: int(walk[0]))


def _without_loops(steps: Steps, walk: NDArray[np.int64], sink: int) -> NDArray[np.int64]:
    """Return the steps of a walk without its loops: at each vertex it goes on as it last left it."""
    left = steps.tail[walk]
    if len(np.unique(left)) == len(left) and sink not in left:
        return walk
    final = {vertex: i for i, vertex in enumerate(left.tolist())}
    at, kept = int(left[0]), []
    while at != sink:
        kept.append(final[at])
        at = int(steps.head[walk[kept[-1]]])
    return walk[kept]


def shortest_path(
    network: NetworkInput, source: Hashable, sink: Hashable, **arguments: Unpack[Keywords]
) -> CheapPaths:
    """Find a path of least cost from one vertex to another, by a minimum-cost flow of one unit.

    Costs may be negative. Bounds of the distances prove the path shortest:
    :attr:`preflow.reductions.CheapPaths.distance_bounds`. A program for shortest paths alone is faster.

    Parameters
    ----------
    network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
        Capacities matter only where they are zero. Lower bounds and supplies are ignored.
    source, sink : vertex
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.min_cost_flow`.

    Returns
    -------
    CheapPaths
        With one path.

    Raises
    ------
    InfeasibleFlowError
        No path leads to the sink: the error has the vertices that the source reaches.
    UnboundedCostError
        A cycle of the network, wherever it is, has negative cost.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays([0, 0, 1, 2], [1, 2, 2, 3], cost=[1, 4, 2, 1])
    >>> path = preflow.reductions.shortest_path(network, 0, 3)
    >>> path.vertices[0], path.cost
    ((0, 1, 2, 3), 4)
    >>> path.verify()
    """
    return PathsAsMinCostFlow.of(network, source, sink).solve(**arguments)


def disjoint_paths(
    network: NetworkInput,
    source: Hashable,
    sink: Hashable,
    *,
    count: int | None = None,
    disjoint: Literal["arcs", "vertices"] = "arcs",
    **arguments: Unpack[Keywords],
) -> CheapPaths:
    """Find paths that share no arc, or no vertex, of the least total cost.

    Parameters
    ----------
    network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
        Costs may be negative. Capacities matter only where they are zero. Lower bounds and supplies are
        ignored.
    source, sink : vertex
    count : int, optional
        The number of paths. Default: as many as possible.
    disjoint : {"arcs", "vertices"}
        What the paths may not share. They share the source and the sink in any case.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.min_cost_flow`.

    Returns
    -------
    CheapPaths

    Raises
    ------
    InfeasibleFlowError
        There are fewer than `count` paths. The error has vertices around the source that too few arcs, or
        vertices, lead out of (Menger).
    InvalidInputError
        An argument is malformed, or the flow has a cycle of negative cost beside the paths.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], cost=[1, 4, 1, 6, 1])
    >>> preflow.reductions.disjoint_paths(network, 0, 3, disjoint="vertices").vertices
    ((0, 1, 3), (0, 2, 3))
    """
    reduction = PathsAsMinCostFlow.of(network, source, sink, count=count, disjoint=disjoint)
    return reduction.solve(**arguments)
