"""The results of max_flow and min_cut."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..certify.cut import (
    check_flow_and_cut,
    check_no_residual_path,
    crossing_arcs,
    cut_capacity,
    largest_in_cut,
)
from ..certify.flow import check_flow_limit
from ..eager import eager
from ..errors import CapacityOverflowError
from ..graph.edge_tables import FlowByLabel, Tabular, labelled_pairs, labelled_sides, labels_of
from ..graph.network import INT64_MAX, DeviceFlowNetwork, FlowNetwork, vertex_mask
from ..graph.scaling import proved_gap
from ..solving.read_only import make_read_only
from ..solving.result import BoundedResult
from ..solving.timing import timed
from ..stats import SolveStats
from ..steps.step import Applied, Bounds, FlowProblem, SecondStage

if TYPE_CHECKING:
    import scipy.sparse
    from matplotlib.axes import Axes


Kind = TypeVar("Kind", bound="MinCutResult")


@dataclass(frozen=True, eq=False, repr=False)
class MinCutResult(Tabular, BoundedResult):
    """A minimum cut, or the best one found within the time limit.

    Arrays are of the kind that the network was built from: those of NumPy, of Torch, of JAX, of CuPy.

    Attributes
    ----------
    sink_side : array of bool, shape (num_vertices,)
        True for the vertices on the sink's side. Of all minimum cuts the one with the smallest sink
        side: for exact capacities it depends on nothing but the network.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`. The capacity of this cut is `upper_bound`.
    network : FlowNetwork
    sources, sinks : ndarray of int64
    """

    sink_side: NDArray[np.bool_]
    network: FlowNetwork
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    _gap: int | float
    _second_stage: SecondStage

    @property
    def gap(self) -> int | float:
        """A proved bound of the difference between `value` and the optimum of the input capacities.

        It is 0 for integers, and for floats that are all integers up to 2**53 with sums that fit int64. For
        other floats it is at most ``2**-40 + num_arcs * 2**-53`` of the value where the status is "optimal",
        see :mod:`preflow.graph.scaling`; with any other status it is the difference of the two bounds.
        """
        return self._gap

    @property
    def cut_arcs(self) -> NDArray[np.int64]:
        """Indices of the input arcs over the cut, ascending.

        These are the arcs with capacity from the source side to the sink side, their own or their reverse
        capacity. The capacities add up to that of the cut.
        """
        network = self.network
        with network.current():
            forward, backward = crossing_arcs(network, network.to_array_module(self.sink_side))
            arcs = forward[network.capacity[forward] > 0]
            if network.reverse_capacity is not None:
                backward = backward[network.reverse_capacity[backward] > 0]
                arcs = network.xp.sort(network.xp.concatenate([arcs, backward]))
            found: NDArray[np.int64] = network.to_caller(arcs)
            return found

    def cut_edges(self) -> list[tuple[Hashable, Hashable]]:
        """Return the arcs over the cut as pairs of vertices, with the caller's labels.

        Each leads from the source side to the sink side; so an undirected edge may be turned. They have the
        order of :attr:`cut_arcs`, and parallel arcs are there several times.

        Examples
        --------
        >>> import preflow
        >>> preflow.min_cut([("a", "b", 3), ("b", "c", 2)], "a", "c").cut_edges()
        [('b', 'c')]
        """
        network = self.network.on_host()
        arcs = self.network.to_host(self.cut_arcs)
        turned = self.network.to_host(self.sink_side)[network.tail[arcs]]
        tail = np.where(turned, network.head[arcs], network.tail[arcs])
        head = np.where(turned, network.tail[arcs], network.head[arcs])
        return labelled_pairs(network.labels, tail, head)

    def partition(self) -> tuple[set[Hashable], set[Hashable]]:
        """Return the vertices on the source side and those on the sink side, with the caller's labels.

        NetworkX's ``minimum_cut`` returns the same pair of sets. This is the cut of :attr:`sink_side`.

        Examples
        --------
        >>> import preflow
        >>> source_side, sink_side = preflow.min_cut([("a", "b", 3), ("b", "c", 2)], "a", "c").partition()
        >>> sorted(source_side), sorted(sink_side)
        (['a', 'b'], ['c'])
        """
        return labelled_sides(self.network.labels, self.network.to_host(self.sink_side))

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_pandas`, with a row for each arc, in input order.

        Returns
        -------
        dict of arrays
            The columns "source" and "target" have the caller's labels, "capacity" and, of a network that has
            such, "reverse_capacity" what was given, "flow" the flow of a :class:`preflow.MaxFlowResult`, and
            "cut" whether the arc is one of :attr:`cut_arcs`.

        Examples
        --------
        >>> import preflow
        >>> print(preflow.max_flow([("a", "b", 3), ("b", "c", 2)], "a", "c").to_pandas())
          source target  capacity  flow    cut
        0      a      b         3     2  False
        1      b      c         2     2   True
        """
        network = self.network.on_host()
        in_cut = np.zeros(network.num_arcs, dtype=bool)
        in_cut[self.network.to_host(self.cut_arcs)] = True
        reverse = network.reverse_capacity
        return {
            "source": labels_of(network.labels, network.tail),
            "target": labels_of(network.labels, network.head),
            "capacity": network.capacity,
            **({} if reverse is None else {"reverse_capacity": reverse}),
            "cut": in_cut,
        }

    def source_side(self) -> NDArray[np.bool_]:
        """Return the smallest source side of all minimum cuts, as one bool per vertex.

        These are the vertices that the source still reaches over residual arcs after all excess is returned
        to it. The second stage runs now if it has not run yet.
        """
        if self.status != "optimal":
            self._raise_not_optimal()
        with self.network.current():
            side = self.network.to_array_module(self._second_stage.source_side())
            reached: NDArray[np.bool_] = self.network.to_caller(side)
            return reached

    def is_unique(self) -> bool:
        """Return whether there is no other minimum cut; :func:`preflow.minimum_cuts` finds them all.

        For floats that are not integers this is about the rounded capacities, see :attr:`gap`. The second
        stage runs now if it has not run yet. O(n + m).

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        """
        source_side = self.network.to_host(self.source_side())
        return bool((source_side != self.network.to_host(self.sink_side)).all())

    def whole_flow(self) -> AnyArray:
        """Return the flow that belongs to this cut; the second stage runs now if it has not run yet."""
        with self.network.current():
            return self.network.to_array_module(self._second_stage.flow())

    def bottleneck_arcs(self) -> NDArray[np.int64]:
        """Return the arcs, ascending, where one unit more of capacity makes the maximum flow larger.

        The source reaches the tail of such an arc over residual arcs, and the head reaches the sink. So it is
        an arc of every minimum cut. An arc with reverse capacity counts if this holds in either direction.
        Arcs of capacity zero count, too. For floats that are not integers, the cuts are those of the rounded
        capacities, see :attr:`gap`. The second stage runs now if it has not run yet. O(n + m).

        Raises
        ------
        NotOptimalError
            The solve stopped early.

        Examples
        --------
        >>> import preflow
        >>> preflow.max_flow(([0, 1, 2, 0], [1, 2, 3, 2], [5, 2, 9, 1]), 0, 3).bottleneck_arcs().tolist()
        [1, 3]
        """
        reached = self.source_side()
        network = self.network
        with network.current():
            source_side = network.to_array_module(reached)
            sink_side = network.to_array_module(self.sink_side)
            found = source_side[network.tail] & sink_side[network.head]
            if network.reverse_capacity is not None:
                found |= source_side[network.head] & sink_side[network.tail]
            arcs: NDArray[np.int64] = network.to_caller(network.xp.flatnonzero(found))
            return arcs

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the network: arcs as wide as their flow, the arcs of the cut dashed and red.

        Vertices on the source side are blue, those on the sink side orange. They are in layers by their
        distance from the sources. In small networks, each arc has its flow and its capacity beside it.

        InvalidInputError: the network has more than 200 vertices or 2,000 arcs.
        """
        from ..drawing.networks import side_colours

        return self._draw(
            ax, self.network.to_host(self.cut_arcs), side_colours(self.network.to_host(self.sink_side))
        )

    def _draw(self, ax: Axes | None, cut_arcs: Array, colours: list[str]) -> Axes:
        from ..drawing.networks import Arcs, draw_flow, flow_texts

        network = self.network.on_host()
        flow = self.network.to_host(self._shown_flow())
        in_cut = np.zeros(network.num_arcs, dtype=bool)
        in_cut[cut_arcs] = True
        capacity = network.capacity
        if network.reverse_capacity is not None:
            capacity = np.where(flow < 0, network.reverse_capacity, capacity)
        texts = flow_texts(flow, capacity)
        arcs = Arcs(network.tail, network.head, flow, texts, in_cut)
        return self._labelled(draw_flow(ax, arcs, network.labels, colours, self.sources, self.sinks))

    def _shown_flow(self) -> AnyArray:
        """Return the flow that `plot` draws."""
        return self.whole_flow()

    def verify(self) -> None:
        """Prove the cut minimum, independently of the solver, in linear time.

        The certificate is the preflow of the first stage: it obeys every capacity, no vertex sends more
        than it receives, and the flow into the sink equals the capacity of the cut. A result that stopped
        early proves its two bounds instead.
        """
        with self.network.current():
            check_flow_and_cut(*self._claims(self._second_stage.preflow()), preflow=True)

    def _claims(self, flow: AnyArray) -> tuple[Any, ...]:
        """Return the claims of this result that a flow, or preflow, is to prove."""
        bounds = (self.status, self.lower_bound, self.upper_bound, self.gap)
        return self.network, self.sources, self.sinks, flow, self.sink_side, *bounds

    def __repr__(self) -> str:
        size = int(np.count_nonzero(self.network.to_host(self.sink_side)))
        side = f"{size:,} of {self.network.num_vertices:,} vertices on the sink side"
        return f"<MinCutResult: {self._headline()}, {side}, {self._how()}>"


def lifted_answer(
    kind: type[Kind],
    problem: FlowProblem,
    applied: Applied[Any],
    found: BoundedResult,
    found_side: AnyArray,
    found_flow: Any,
    stats: SolveStats,
    **more: Any,
) -> Kind:
    """Return the answer of a problem that a step made smaller, by what was found for the smaller one.

    `kind` is MinCutResult or MaxFlowResult, and `more` are fields of it. `found` has the bounds, `found_side`
    is the sink's side, and `found_flow` has the flow.
    """
    network, sources, sinks, _ = problem
    with network.current():
        status = applied.lift_status(found.status, found_side)
        lower, upper, gap = applied.lift_bounds(Bounds(found.lower_bound, found.upper_bound, found.gap))
        side = applied.lift_cut(found_side)
        if status != "optimal":
            side, upper = best_cut(*problem[:3], side, whole=isinstance(lower, int))
            gap = proved_gap(upper, lower, upper)
        reason = "; ".join(filter(None, (applied.note, stats.reason)))
        return kind(
            status=status,
            lower_bound=lower,
            upper_bound=upper,
            stats=replace(stats, reason=reason),
            sink_side=network.to_caller(side),
            network=network,
            sources=sources,
            sinks=sinks,
            _gap=gap,
            _second_stage=applied.lift_flow(found_flow),
            **more,
        )


def lifted_cut(
    kind: type[Kind], problem: FlowProblem, applied: Applied[FlowProblem], cut: MinCutResult, **more: Any
) -> Kind:
    """Return the answer of a problem that a step made smaller, by that of the smaller one."""
    side = problem.network.to_array_module(cut.sink_side)
    return lifted_answer(kind, problem, applied, cut, side, cut._second_stage, cut.stats, **more)


def best_cut(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    reaching: AnyArray,
    *,
    whole: bool,
) -> tuple[AnyArray, int | float]:
    """Return the cheapest of three cuts of an unfinished solve, and its capacity.

    `whole` is as in :func:`preflow.certify.cut.cut_capacity`.
    """
    sides = (reaching, vertex_mask(network, sinks), ~vertex_mask(network, sources))
    cuts = [(cut_capacity(network, side, whole=whole), side) for side in sides]
    capacity, side = min(cuts, key=lambda cut: cut[0])
    check_not_saturated(network, side, "best known")
    return side, capacity


def check_not_saturated(network: FlowNetwork, sink_side: AnyArray, which: str) -> None:
    """Raise CapacityOverflowError if capacities over a cut were past int64."""
    if network.saturated and largest_in_cut(network, sink_side) == INT64_MAX:
        raise CapacityOverflowError(f"capacities over the {which} cut are past int64")


class FlowWhenRead:
    """The field `flow` of a result: the second stage computes it when it is first read, if not given."""

    @overload
    def __get__(self, result: None, kind: type[MaxFlowResult]) -> FlowWhenRead: ...
    @overload
    def __get__(self, result: MaxFlowResult, kind: type[MaxFlowResult]) -> Array: ...
    @eager
    def __get__(self, result: MaxFlowResult | None, kind: type[MaxFlowResult]) -> FlowWhenRead | Array:
        if result is None:
            return self  # which the dataclass takes for the default of the field
        known: Array | None = result.__dict__["flow"]
        if known is None:
            known = result.__dict__["flow"] = result._recovered()
        return known

    def __set__(self, result: MaxFlowResult, flow: Array | FlowWhenRead | None) -> None:
        make_read_only(flow)
        result.__dict__["flow"] = None if isinstance(flow, FlowWhenRead) else flow


@dataclass(frozen=True, eq=False, repr=False)
class MaxFlowResult(FlowByLabel, MinCutResult):
    """A maximum flow with its minimum cut, or the best flow found within the time limit.

    Attributes
    ----------
    flow : array of int64 or float64, shape (num_arcs,)
        Flow of every input arc, in input order; the value of this flow is `lower_bound`. Integral for
        integral capacities, also where these were given as floats. It is computed when it is first read, in
        linear time; until then `stats.seconds` has no phase "recover".
    flow_limit : int, float or None
        The largest value that the flow was allowed to have, as the caller gave it. The status is
        "flow-limit" where the flow has this value and the network may allow more.
    sink_side, status, lower_bound, upper_bound, value, stats, network, sources, sinks
        See :class:`MinCutResult`.
    """

    flow: FlowWhenRead = FlowWhenRead()
    flow_limit: int | float | None = None

    def _recovered(self) -> Array:
        """Run the second stage and return the flow of every input arc, as an array for the caller."""
        seconds = self.stats.seconds
        assert isinstance(seconds, dict)
        with self.network.current():
            flow = self._second_stage.flow(partial(timed, seconds))
            recovered: Array = self.network.to_caller(self.network.to_array_module(flow))
            return recovered

    def __getstate__(self) -> dict[str, object]:
        """Return the state with the flow, which copies and pickles then need not compute again."""
        _ = self.flow
        return super().__getstate__().copy()

    def whole_flow(self) -> AnyArray:
        """Return `flow`, as an array of the module that the network's arrays belong to."""
        with self.network.current():
            return self.network.to_array_module(self.flow)

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_pandas`, with a row for each arc and its flow."""
        columns = super().to_columns()
        in_cut = columns.pop("cut")
        return {**columns, "flow": self.network.to_host(self.flow), "cut": in_cut}

    def _shown_flow(self) -> AnyArray:
        """Return the flow that `plot` draws."""
        return self.flow

    def flow_matrix(self) -> scipy.sparse.csr_array:
        """Return the flow as a sparse matrix: entry (u, v) is the flow from u to v over all arcs."""
        from scipy.sparse import csr_array

        network, flow = self.network.on_host(), self.network.to_host(self.flow)
        forward = flow > 0
        backward = flow < 0
        tail = np.concatenate([network.tail[forward], network.head[backward]]).astype(np.int64)
        head = np.concatenate([network.head[forward], network.tail[backward]]).astype(np.int64)
        amount = np.concatenate([flow[forward], -flow[backward]])
        size = network.num_vertices
        return csr_array((amount, (tail, head)), shape=(size, size))

    def verify(self) -> None:
        """Prove flow and cut optimal, independently of the solver, in linear time.

        The proof checks the capacity of every arc, conservation at every vertex, that the value equals the
        capacity of the cut, and that there is no residual path from source to sink. (The last follows from
        the others and is not checked if the network is on a GPU.) A result that stopped early proves its
        two bounds instead. The value is at most the flow limit, and just that if the status says so.
        """
        network = self.network
        with network.current():
            check_flow_and_cut(*self._claims(self.flow))
            check_flow_limit(network, self.status, self.lower_bound, self.flow_limit)
            if self.status == "optimal" and not isinstance(network, DeviceFlowNetwork):
                flow = network.to_host(self.flow)
                check_no_residual_path(network, self.sources, self.sinks, flow, self.value)

    def __repr__(self) -> str:
        used = int(np.count_nonzero(self.network.to_host(self.flow)))
        num_arcs = self.network.num_arcs
        return f"<MaxFlowResult: {self._headline()}, flow on {used:,} of {num_arcs:,} arcs, {self._how()}>"
