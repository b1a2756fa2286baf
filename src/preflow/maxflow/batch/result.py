"""The result of max_flow_batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...certify.cut import check_cut
from ...certify.fields import check_array, check_bounds_of_items
from ...certify.flow_batch import unproved_items
from ...errors import InvalidInputError, VerificationError
from ...graph.network_batch import FlowNetworkBatch
from ...graph.scaling import accepted_gap, sum_slack
from ...graph.solved_capacities import is_whole
from ...solving.items import BatchResult, gathered
from ...steps.step import KnownFlow
from ..result import MaxFlowResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class MaxFlowBatchResult(BatchResult[MaxFlowResult]):
    """Maximum flows and minimum cuts of many networks.

    ``result[i]`` is the :class:`preflow.MaxFlowResult` of network ``i``, with views of the arrays here. A
    slice, or an array of numbers or bools, gives the result of some networks.

    Attributes
    ----------
    status : {"optimal", "time-limit", "approximate"}
        "optimal" if all items are; "approximate" if all are solved, and the gap of some is too wide.
    lower_bound, upper_bound, value : ndarray of int64 or float64, shape (items,)
        Of the dtype of the capacities. Bounds of items that are not optimal differ; `value` then raises
        NotOptimalError.
    flow : ndarray of the dtype of the capacities, shape (num_arcs,)
        The flow of each arc of the batch: those of item ``i`` are ``flow[networks.arcs_of(i)]``.
    sink_side : ndarray of bool, shape (num_vertices,)
        True for the vertices on the sink's side of the minimum cut whose sink side is the smallest. Those of
        item ``i`` are ``sink_side[networks.vertices_of(i)]``.
    source_side : ndarray of bool, shape (num_vertices,)
        True for the vertices on the source's side of the minimum cut whose source side is the smallest.
    optimal : ndarray of bool, shape (items,)
        Which items are optimal.
    gap : ndarray, shape (items,)
        A proved bound of the difference between the value and the optimum, see :attr:`MaxFlowResult.gap`. The
        capacities of both cuts differ from the value by no more.
    networks : FlowNetworkBatch
    source, sink : ndarray of int64, shape (items,)
    stats : SolveStats
        Of the whole batch.
    """

    flow: Array
    sink_side: NDArray[np.bool_]
    source_side: NDArray[np.bool_]
    networks: FlowNetworkBatch
    source: NDArray[np.int64]
    sink: NDArray[np.int64]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the only network of the batch; of several, draw one: ``result[0].plot()``.

        InvalidInputError: there is not exactly one network, or it is too large for a picture.
        """
        if len(self) != 1:
            raise InvalidInputError(
                f"this is a batch of {len(self):,} networks: draw one, as result[0].plot() does"
            )
        return self[0].plot(ax=ax)

    def _item(self, number: int) -> MaxFlowResult:
        network = self.networks[number]
        arcs, vertices = self.networks.arcs_of(number), self.networks.vertices_of(number)
        sources, sinks = self.source[number : number + 1], self.sink[number : number + 1]
        lower, upper = (np.asarray(bound)[number].item() for bound in (self.lower_bound, self.upper_bound))
        flow = self.flow[arcs]
        return MaxFlowResult(
            status="optimal" if self.optimal[number] else self.status,
            lower_bound=lower,
            upper_bound=upper,
            stats=self.stats,
            sink_side=self.sink_side[vertices],
            network=network,
            sources=sources,
            sinks=sinks,
            _gap=self._gap[number].item(),
            _second_stage=KnownFlow(network, sources, flow, reached=self.source_side[vertices]),
            flow=flow,
        )

    def _some(self, items: NDArray[np.int64]) -> MaxFlowBatchResult:
        arcs, vertices = (
            gathered(first, items)[0] for first in (self.networks.first_arc, self.networks.first_vertex)
        )
        return replace(
            self,
            status="optimal" if self.optimal[items].all() else self.status,
            flow=self.flow[arcs],
            sink_side=self.sink_side[vertices],
            source_side=self.source_side[vertices],
            networks=self.networks[items],
            **{
                name: getattr(self, name)[items]
                for name in ("lower_bound", "upper_bound", "optimal", "source", "sink", "_gap")
            },
        )

    def verify(self) -> None:
        """Prove all flows and cuts optimal, independently of the solver, in linear time.

        The proof is that of :meth:`MaxFlowResult.verify`. The whole batch is checked at once; items that this
        does not decide are checked one after the other, and so are those that a time limit left unsolved.
        """
        self._check_fields()
        value = np.asarray(self.lower_bound)
        given = (self.source, self.sink, self.flow, self.sink_side, self.source_side)
        unproved = unproved_items(self.networks, *given, value, self._gap)
        alone = ~self.optimal
        if value.dtype.kind == "f" and not is_whole(self.networks):
            alone |= ~(self._gap >= sum_slack(1.0) / 2 * value)  # only exact sums prove a smaller gap
        for item in np.union1d(unproved, np.flatnonzero(alone)).tolist():
            try:
                one = self[item]
                one.verify()
                self._verify_source_side(item, one)
            except VerificationError as error:
                raise VerificationError(f"item {item}: {error}") from error

    def _verify_source_side(self, item: int, one: MaxFlowResult) -> None:
        """Check the other cut of an item like the first; without an optimum they are the same."""
        other = ~self.source_side[self.networks.vertices_of(item)]
        if self.optimal[item]:
            check_cut(one.network, one.sources, one.sinks, other, one.value, one.gap)
        elif (other != one.sink_side).any():
            raise VerificationError("the source side is not the rest of the sink side")

    def _check_fields(self) -> None:
        """Check the shapes and dtypes of all fields, and the order of the bounds."""
        batch, number = self.networks, self.networks.capacity.dtype
        items, vertices = len(batch), int(batch.first_vertex[-1])
        for name, shape, dtype in (
            ("flow", (batch.num_arcs,), number),
            ("sink_side", (vertices,), np.bool_),
            ("source_side", (vertices,), np.bool_),
            ("optimal", (items,), np.bool_),
            ("source", (items,), np.int64),
            ("sink", (items,), np.int64),
            ("lower_bound", (items,), number),
            ("upper_bound", (items,), number),
            ("_gap", (items,), number),
        ):
            check_array(np, getattr(self, name), name.strip("_"), shape, dtype)
        check_bounds_of_items(batch, self.status, self.lower_bound, self.upper_bound, (items,), number)
        for name, vertex in (("source", self.source), ("sink", self.sink)):
            if ((vertex < 0) | (vertex >= batch.num_vertices)).any():
                raise VerificationError(f"{name} has a number that is no vertex of its network")
        if (self.source == self.sink).any():
            raise VerificationError("a vertex is both source and sink")
        self._check_status()
        gap, lower, upper = self._gap, self.lower_bound, self.upper_bound
        with np.errstate(over="ignore"):
            size = np.abs(lower) + gap
        most = accepted_gap(np.diff(batch.first_arc)) * size if number.kind == "f" else 0
        if not ((gap >= 0) & (np.isfinite(gap) & (gap <= most) & (lower == upper) | ~self.optimal)).all():
            raise VerificationError("a gap is not that of an optimum, or negative, or the bounds differ")

    def __repr__(self) -> str:
        return self._text("networks")
