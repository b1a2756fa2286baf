"""Capacities of cuts, and the proof that a flow and a cut are both optimal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Number
from ..errors import VerificationError
from ..graph.network import EXACT_FLOAT, FlowNetwork, exact_sum
from ..graph.scaling import float_sum, sum_slack
from .fields import check_bounds, check_gap, checked_array, checked_number
from .flow import check_flow, check_terminals, tolerance


def crossing_arcs(network: FlowNetwork, sink_side: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the arcs from the source side to the sink side, and those in the opposite direction."""
    tail_in_sink = sink_side[network.tail]
    head_in_sink = sink_side[network.head]
    flatnonzero = network.xp.flatnonzero
    return flatnonzero(~tail_in_sink & head_in_sink), flatnonzero(tail_in_sink & ~head_in_sink)


def crossing_capacities(network: FlowNetwork, sink_side: AnyArray) -> list[AnyArray]:
    """Return the capacities of the arcs over a cut, and the reverse capacities over it if there are some."""
    forward, backward = crossing_arcs(network, sink_side)
    reverse = network.reverse_capacity
    return [network.capacity[forward], *([] if reverse is None else [reverse[backward]])]


def cut_capacity(network: FlowNetwork, sink_side: AnyArray, *, whole: bool = False) -> int | float:
    """Return the capacity of the cut with this sink side.

    With `whole`, finite floats are integers up to 2**53, and their sum is an exact one.

    Examples
    --------
    >>> network = FlowNetwork.from_arrays([0, 1], [1, 2], [5, 3])
    >>> cut_capacity(network, np.array([False, False, True]))
    3
    """
    capacities = crossing_capacities(network, sink_side)
    if network.capacity.dtype.kind == "i":
        return sum(map(exact_sum, capacities))
    if whole and all(network.xp.isfinite(values).all() for values in capacities):
        return sum(exact_sum(values.astype(np.int64)) for values in capacities)
    return sum(map(float_sum, capacities))


def _is_exact(network: FlowNetwork, sink_side: AnyArray, value: int | float) -> bool:
    """Return whether a cut of integers, up to 2**53 if they are floats, has exactly the capacity `value`."""
    capacities = crossing_capacities(network, sink_side)
    xp = network.xp
    whole = all(bool(((each == xp.rint(each)) & (each <= EXACT_FLOAT)).all()) for each in capacities)
    return whole and cut_capacity(network, sink_side, whole=True) == value


def largest_in_cut(network: FlowNetwork, sink_side: AnyArray) -> int | float:
    """Return the largest capacity of an arc across the cut with this sink side; 0 if there is none."""
    capacities = crossing_capacities(network, sink_side)
    return max((values.max().item() for values in capacities if len(values)), default=0)


def check_cut(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    sink_side: AnyArray,
    value: Any,
    gap: float = 0,
) -> int | float:
    """Check that `sink_side` separates the terminals and has capacity `value`; return the capacity.

    Float capacities may sum to `value` plus or minus `gap` and the rounding error of the sum.
    VerificationError: it does not.
    """
    check_terminals(network, sources, sinks)
    claimed = checked_number(value, "the value")
    side = checked_array(network, sink_side, "sink_side", (network.num_vertices,), np.bool_)
    if side[network.xp.asarray(sources)].any():
        raise VerificationError("a source lies on the sink side of the cut")
    if not side[network.xp.asarray(sinks)].all():
        raise VerificationError("a sink lies on the source side of the cut")
    capacity = cut_capacity(network, side)
    slack = gap + (sum_slack(capacity, claimed) if capacity < math.inf else 0)
    if capacity != claimed and not abs(capacity - claimed) <= slack:
        raise VerificationError(f"the cut has capacity {capacity}, not {claimed}")
    return capacity


def check_flow_and_cut(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    flow: AnyArray,
    sink_side: AnyArray,
    status: Any,
    lower_bound: Number,
    upper_bound: Number,
    gap: Number,
    *,
    preflow: bool = False,
) -> None:
    """Check that a flow proves a lower bound and a cut an upper bound, and that these meet if optimal.

    If a flow (or preflow) brings to the sink as much as the capacity of a cut, it is maximum and the cut is
    minimum: every arc across the cut is saturated, so no residual path is left. VerificationError: a claim
    does not hold; the message says which, and where.
    """
    stated = checked_number(gap, "the gap")
    capacity = check_cut(network, sources, sinks, sink_side, upper_bound, stated)
    cut = capacity if status == "optimal" else 0
    check_flow(network, sources, sinks, flow, lower_bound, preflow=preflow, cut=cut)
    slack = 0 if lower_bound == upper_bound else tolerance(network, sources, sinks, cut)
    check_bounds(status, lower_bound, upper_bound, slack)
    lower = checked_number(lower_bound, "lower_bound")

    def is_exact() -> bool:
        side = checked_array(network, sink_side, "sink_side", (network.num_vertices,), np.bool_)
        return _is_exact(network, side, lower)

    difference = capacity - lower if capacity != lower else 0
    check_gap(status, stated, difference, capacity, network.num_arcs, is_exact)
    if capacity != lower and not abs(capacity - lower) <= stated + sum_slack(capacity, lower):
        raise VerificationError(f"the bounds are {capacity - lower} apart, not {stated}")


def check_no_residual_path(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    flow: Array,
    cut: float = 0,
) -> None:
    """Check by a search over residual arcs that `flow` leaves no path from a source to a sink.

    Up to a :func:`preflow.certify.flow.tolerance`; `cut` is the capacity of a cut. VerificationError: a sink
    can be reached.
    """
    reached = residual_reach(network, flow, sources, tolerance(network, sources, sinks, cut))
    if reached[sinks].any():
        raise VerificationError(
            f"sink {int(sinks[reached[sinks]][0])} can still be reached: the flow is not maximum"
        )


def residual_reach(
    network: FlowNetwork, flow: Array, sources: NDArray[np.int64], slack: float
) -> NDArray[np.bool_]:
    """Return which vertices the sources reach over arcs with residual capacity above `slack`."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    forward = flow < network.capacity - slack
    backward = flow > slack - (0 if network.reverse_capacity is None else network.reverse_capacity)
    root = network.num_vertices
    tail = np.concatenate([network.tail[forward], network.head[backward], np.full(len(sources), root)])
    head = np.concatenate([network.head[forward], network.tail[backward], sources])
    ends = (tail.astype(np.int64), head.astype(np.int64))
    graph = csr_array((np.ones(len(tail)), ends), shape=(root + 1, root + 1))
    reached = np.zeros(root + 1, dtype=bool)
    reached[breadth_first_order(graph, root, return_predecessors=False)] = True
    return reached[:root]
