"""Vertices with capacities as arcs: each vertex is split in two, joined by an arc with its capacity.

The first copy of a vertex gets its entering arcs, the second one its leaving arcs. A minimum cut of the split
network consists of arcs and of vertices whose copies it separates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, NetworkInput, Vertices
from ..certify.fields import check_array, checked_number
from ..certify.flow import check_flow
from ..drawing.networks import Arcs, draw_flow, flow_texts, removed_colours
from ..errors import InvalidInputError, VerificationError
from ..graph.edge_tables import FlowByLabel, labelled_pairs, labels_of
from ..graph.network import FlowNetwork, join, read_capacities
from ..maxflow.result import MaxFlowResult, MinCutResult
from ..solving.drawn import DrawnResult
from .base import (
    FlowReduction,
    check_fits,
    net_flow,
    one_way,
    only,
    read_flow_problem,
    sum_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class VertexFlow(FlowByLabel, DrawnResult):
    """A maximum flow that respects the capacities of vertices, with a minimum cut of arcs and vertices.

    Attributes
    ----------
    flow : ndarray of int64 or float64, shape (num_arcs,)
        Net flow of every arc of `network`, in input order.
    value, gap : int or float
        As in :class:`preflow.MaxFlowResult`.
    cut_arcs, cut_vertices : ndarray of int64
        Every path of positive capacity from the source to the sink uses one of these; their capacities sum to
        `value`.
    network : FlowNetwork
        The network as it was given.
    limit : ndarray, shape (num_vertices,)
        The capacities of the vertices.
    result : MaxFlowResult
        In the split network.
    """

    flow: Array
    value: int | float
    gap: int | float
    cut_arcs: NDArray[np.int64]
    cut_vertices: NDArray[np.int64]
    network: FlowNetwork
    limit: Array
    result: MaxFlowResult

    def cut(self) -> tuple[list[tuple[Hashable, Hashable]], list[Hashable]]:
        """Return the arcs of the cut as pairs of vertices, as given, and its vertices, by their labels."""
        network, arcs = self.network, self.cut_arcs
        pairs = labelled_pairs(network.labels, network.tail[arcs], network.head[arcs])
        return pairs, labels_of(network.labels, self.cut_vertices).tolist()

    def verify(self) -> None:
        """Prove the flow maximum and the cut minimum, in linear time."""
        n = self.network.num_vertices
        source, sink = int(self.result.sources[0]), int(self.result.sinks[0]) - n
        check_flow(self.network, np.array([source]), np.array([sink]), self.flow, self.value, cut=self.value)
        self.result.verify()
        if checked_number(self.gap, "gap") != self.result.gap:
            raise VerificationError(f"the gap is {self.gap}, and that of the split network {self.result.gap}")
        limits = self.result.network.capacity[-n:]  # the arcs of the vertices come last
        if self.limit.shape != (n,) or not np.array_equal(self.limit, limits):
            raise VerificationError("the capacities of the vertices are not those of the split network")
        through = np.zeros(n, dtype=self.flow.dtype)
        np.add.at(through, np.where(self.flow > 0, self.network.head, self.network.tail), np.abs(self.flow))
        through[source] += self.value
        slack = 0 if through.dtype.kind == "i" else 1e-9 * float(np.abs(through).max())
        if (through > self.limit + slack).any():
            vertex = int((through > self.limit + slack).argmax())
            raise VerificationError(f"vertex {self.network.name(vertex)} passes {through[vertex]}")
        arcs, vertices = _cut_of(self.network, self.result)
        check_array(np, self.cut_arcs, "cut_arcs", arcs.shape, np.int64)
        check_array(np, self.cut_vertices, "cut_vertices", vertices.shape, np.int64)
        if not (np.array_equal(arcs, self.cut_arcs) and np.array_equal(vertices, self.cut_vertices)):
            raise VerificationError("the cut is not that of the split network")

    def _summary(self) -> str:
        cut = f"{len(self.cut_arcs):,} arcs and {len(self.cut_vertices):,} vertices"
        return f"value {self.value:,}, cut of {cut}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the flow, with the arcs of the cut dashed and its vertices red."""
        network, n = self.network, self.network.num_vertices
        in_cut = np.zeros(network.num_arcs, dtype=bool)
        in_cut[self.cut_arcs] = True
        arcs = Arcs(network.tail, network.head, self.flow, flow_texts(self.flow, network.capacity), in_cut)
        out = np.bincount(network.tail, self.flow, n) - np.bincount(network.head, self.flow, n)
        colours = removed_colours(np.zeros(n, dtype=bool), self.cut_vertices)
        return draw_flow(ax, arcs, network.labels, colours, np.flatnonzero(out > 0), np.flatnonzero(out < 0))


@dataclass(frozen=True, eq=False, kw_only=True)
class VertexCapacities(FlowReduction[VertexFlow]):
    """A maximum flow through vertices with capacities as one without.

    Attributes
    ----------
    network : FlowNetwork
        The arcs as given, then those in the opposite direction if there are reverse capacities, then the arc
        of each vertex `v`, from `v` to ``num_vertices + v``.
    source, sink : int
        The first copy of the source, the second copy of the sink.
    given : FlowNetwork
        The network as it was given.
    limit : ndarray, shape (num_vertices,)

    Examples
    --------
    >>> import preflow
    >>> arcs = [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]
    >>> reduction = preflow.reductions.VertexCapacities.of(arcs, {2: 1}, 0, 3)
    >>> found = reduction.solve()
    >>> found.value, found.cut_arcs.tolist(), found.cut_vertices.tolist()
    (3, [2], [2])
    >>> found.verify()
    """

    given: FlowNetwork
    limit: Array

    @classmethod
    def of(
        cls,
        network: NetworkInput,
        limit: ArrayLike | Mapping[Any, float],
        source: Vertices = None,
        sink: Vertices = None,
    ) -> Self:
        """Build the split network.

        Parameters
        ----------
        network, source, sink
            As in :func:`preflow.max_flow`; one source and one sink.
        limit : array_like of numbers, shape (num_vertices,), mapping of vertices to numbers, or Series
            How much flow may pass each vertex; may be ``inf``. Vertices that a mapping lacks have no limit. A
            Series of pandas is a mapping where the vertices have labels.
            Limits of the source and the sink count, too.
        """
        given, sources, sinks = read_flow_problem(network, source, sink)
        n = given.num_vertices
        tail, head, capacity = one_way(given)
        values = given.by_vertex(limit, "limit", None)
        if values is not limit:  # a list, with None where there is no limit
            whole = capacity.dtype.kind == "i" and all(
                isinstance(each, int | np.integer | None) for each in values
            )
            # No more than this passes a vertex.
            endless = int(sum_of(capacity)) + 1 if whole else np.inf
            values = [endless if each is None else each for each in values]
        limits, larger = read_capacities(values, n, "limit")
        if larger:
            raise InvalidInputError("limit has an integer that does not fit int64")
        vertices = np.arange(n)
        built = FlowNetwork.from_arrays(
            np.append(tail + n, vertices),
            np.append(head, vertices + n),
            join(capacity, limits),
            num_vertices=2 * n,
        )
        return cls(
            network=built,
            source=only(sources, "source"),
            sink=only(sinks, "sink") + n,
            given=given,
            limit=limits.copy(),
        )

    def solution(self, result: MaxFlowResult) -> VertexFlow:
        """Return the flow of the arcs as given, and the cut of arcs and vertices."""
        check_fits(result, self.network)
        return VertexFlow(
            net_flow(self.given, result.flow),
            result.value,
            result.gap,
            *_cut_of(self.given, result),
            self.given,
            self.limit,
            result,
        )


def _cut_of(given: FlowNetwork, result: MinCutResult) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the arcs and the vertices of a cut of the split network."""
    ways = result.network.num_arcs - given.num_vertices
    cut = np.asarray(result.cut_arcs).astype(np.int64)
    return np.sort(cut[cut < ways] % max(given.num_arcs, 1)), cut[cut >= ways] - ways
