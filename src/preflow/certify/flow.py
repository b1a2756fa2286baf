"""Check that numbers on arcs are a flow, or a preflow, of a network."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Number
from ..errors import VerificationError
from ..graph.network import INT64_MAX, DeviceFlowNetwork, FlowNetwork, exact_sum, flow_bound, vertex_mask
from ..graph.scaling import accepted_gap
from .fields import check_arcs, checked_array, checked_number

#: Bits of a word of :func:`net_inflow`: sums of words fit int64 for up to 2**40 arcs.
WORD = 22
#: Bits of a float64, and the exponent of about the least normal one.
FLOAT_BITS, LEAST_EXPONENT = 53, -1020
#: The rounding error of a maximum flow is relative to a bound on it, which is at most this factor times the
#: capacity of the cut.
COARSE = 1024
#: An arc may carry its float capacity times this factor. Solvers round capacities down, so this is for flows
#: that other programs print with fewer digits.
ARC_ROUNDING = 1 + 2.0**-50


def tolerance(
    network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64], cut: float = 0
) -> float:
    """Return the rounding error that float64 quantities may have: 0 for integers.

    For floats, ``(num_arcs + 1) * 2**-50`` times a bound on the flow: the possible rounding error of sums
    over all arcs. The bound is :func:`preflow.graph.network.flow_bound`, but at most 1024 times the capacity
    `cut` of a cut, if that is given and positive.
    """
    if network.capacity.dtype.kind == "i":
        return 0
    bound = min(flow_bound(network, sources, sinks), float(np.finfo(np.float64).max))
    if cut > 0:
        bound = min(bound, COARSE * float(cut))
    return bound * _sum_error(network)


def _sum_error(network: FlowNetwork) -> float:
    """Return the relative error of sums of floats over all arcs."""
    return (network.num_arcs + 1) * 2.0**-50


def net_inflow(network: FlowNetwork, flow: AnyArray) -> tuple[Any, ...]:
    """Return, per vertex, the flow in minus the flow out; exact for integers.

    The result has the words of the amounts, the lowest first: amount ``v`` is
    ``words[i][v] * 2**(WORD * i)``, summed over ``i``. All words but the last are from 0 to ``2**WORD - 1``.
    There is one word, the amount itself, for floats and where no sum of integers can pass int64; otherwise
    there are three. `flow` is on the device of the network.
    """
    if flow.dtype.kind == "f":
        return (_sums_of_floats(network, flow),)
    if _largest(flow) * len(flow) <= INT64_MAX:
        return (_sums(network, flow),)
    mask = 2**WORD - 1
    low, middle, high = (
        _sums(network, word) for word in (flow & mask, flow >> WORD & mask, flow >> 2 * WORD)
    )
    middle += low >> WORD
    high += middle >> WORD
    return low & mask, middle & mask, high


def _sums(network: FlowNetwork, flow: AnyArray) -> AnyArray:
    """Return, per vertex, the sum over arcs that enter minus the sum over arcs that leave."""
    if isinstance(network, DeviceFlowNetwork):
        from .device import net_inflow_on_device

        return net_inflow_on_device(network, flow)
    balance = np.zeros(network.num_vertices, dtype=flow.dtype)
    np.add.at(balance, network.head, flow)
    np.subtract.at(balance, network.tail, flow)
    return balance


def _sums_of_floats(network: FlowNetwork, flow: AnyArray) -> AnyArray:
    """Return the sums of :func:`_sums` with a small error also where very many arcs meet.

    Each flow is a multiple of a unit, in which all sums are exact, and a rest of less than a unit.
    """
    xp = network.xp
    exponent = math.frexp(_largest(flow))[1] + len(flow).bit_length() - FLOAT_BITS
    unit = math.ldexp(1.0, max(exponent, LEAST_EXPONENT))
    with np.errstate(over="ignore"):
        multiple = xp.trunc(flow / unit) * unit
    return _sums(network, multiple) + _sums(network, flow - multiple)


def check_flow(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    flow: AnyArray,
    value: Any,
    *,
    preflow: bool = False,
    cut: float = 0,
) -> None:
    """Check capacity on every arc, conservation at every vertex, and the value.

    `flow` is the net flow of every arc in input order: int64; or float64, with integer values where
    capacities are integers. Sums of integers are exact, whatever the values of `flow`. An arc with a float
    capacity may carry `ARC_ROUNDING` times as much; conservation and value of floats hold up to a
    :func:`tolerance`, for which `cut` is the capacity of a cut. A `preflow` may have excess at vertices.
    VerificationError names the first arc or vertex at fault.
    """
    check_terminals(network, sources, sinks)
    slack = tolerance(network, sources, sinks, cut)
    claimed = checked_number(value, "the value")
    flow = _checked_amounts(network, flow)
    least: Any = 0 if network.reverse_capacity is None else -network.reverse_capacity
    most = network.capacity
    if most.dtype.kind == "f":
        with np.errstate(over="ignore"):
            most, least = most * ARC_ROUNDING, least * ARC_ROUNDING
        # The error of a sum is at most the error that its terms allow.
        slack = min(slack, _largest(flow) * _sum_error(network))
    check_arcs(network, flow > most, flow, "more than its capacity")
    check_arcs(network, flow < least, flow, "less than its reverse capacity allows")
    words = net_inflow(network, flow)
    ends = network.xp.asarray(sinks)
    arriving = sum(exact_sum(word[ends]) * 2 ** (WORD * i) for i, word in enumerate(words))
    if not abs(arriving - claimed) <= slack:
        raise VerificationError(f"the flow into the sink is {arriving}, not {claimed}")
    high = words[-1]
    broken = ~(high >= -slack)
    if not preflow:
        broken |= ~(high <= slack)
        for word in words[:-1]:
            broken |= word != 0
    broken &= ~vertex_mask(network, np.concatenate([sources, sinks]))
    if broken.any():
        vertex = int(broken.argmax())
        gain = sum(word[vertex].item() * 2 ** (WORD * i) for i, word in enumerate(words))
        raise VerificationError(f"vertex {vertex} gains {gain}: flow is not conserved")


def check_flow_limit(network: FlowNetwork, status: object, value: Any, flow_limit: Any) -> None:
    """Check that the value of a flow is at most its limit, and equal to it if the status is "flow-limit".

    The value of a flow of floats may be smaller than the limit by what rounding takes from it.
    VerificationError: it is not.
    """
    if flow_limit is None:
        if status == "flow-limit":
            raise VerificationError("the status is flow-limit, and there is no limit")
        return
    limit, claimed = checked_number(flow_limit, "flow_limit"), checked_number(value, "the value")
    if claimed > limit:
        raise VerificationError(f"the flow has value {claimed}, more than its limit, {limit}")
    slack = 0 if isinstance(claimed, int) else accepted_gap(network.num_arcs) * limit
    if status == "flow-limit" and not limit - claimed <= slack:
        raise VerificationError(f"the flow has value {claimed}, less than its limit, {limit}")


def check_terminals(network: FlowNetwork, sources: Any, sinks: Any) -> None:
    """Check that sources and sinks are distinct vertices of a network, at least one of each.

    VerificationError: they are not.
    """
    for vertices, role in ((sources, "sources"), (sinks, "sinks")):
        if not isinstance(vertices, np.ndarray) or vertices.dtype != np.int64 or vertices.ndim != 1:
            raise VerificationError(f"{role} must be one dimension of int64, got {vertices!r}")
        if not len(vertices) or vertices.min() < 0 or vertices.max() >= network.num_vertices:
            raise VerificationError(f"{role} must be vertices of the network, got {vertices}")
        if len(np.unique(vertices)) < len(vertices):
            raise VerificationError(f"{role} must be distinct, got {vertices}")
    if np.isin(sources, sinks).any():
        raise VerificationError("a vertex is both source and sink")


def _checked_amounts(network: FlowNetwork, values: AnyArray) -> AnyArray:
    """Return the flow of all arcs as finite float64, or as int64 where it is or the capacities are."""
    flow = checked_array(network, values, "flow", (network.num_arcs,), np.int64, np.float64)
    if flow.dtype.kind == "i":
        return flow
    check_arcs(network, ~network.xp.isfinite(flow), flow, "which is not finite")
    if network.capacity.dtype.kind == "f":
        return flow
    whole = (abs(flow) < 2.0**63) & (flow == network.xp.rint(flow))
    check_arcs(network, ~whole, flow, "which is not an integer of 64 bits, and the capacities are")
    return flow.astype(np.int64)


def _largest(flow: AnyArray) -> Number:
    """Return the largest absolute value, as a Python number."""
    return max(flow.max().item(), -flow.min().item()) if len(flow) else 0
