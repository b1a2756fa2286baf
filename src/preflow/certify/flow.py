"""Check that numbers on arcs are a flow, or a preflow, of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..graph.device_network import DeviceFlowNetwork
from ..graph.network import FlowNetwork, flow_bound, vertex_mask
from .device import net_inflow_on_device

#: A maximum flow is rounded relative to a bound on it that is at most so many times the capacity of the cut.
COARSE = 1024


def tolerance(
    network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64], cut: float = 0
) -> float:
    """Return by how much float64 quantities may differ: 0 for integers.

    For floats, ``(num_arcs + 1) * 2**-50`` of a bound on the flow: what rounding in sums over all arcs may
    come to. The bound is :func:`preflow.graph.network.flow_bound`, but at most 1024 times the capacity `cut`
    of a cut, if that is given and positive.
    """
    if network.capacity.dtype.kind == "i":
        return 0
    bound = min(flow_bound(network, sources, sinks), float(np.finfo(np.float64).max))
    if cut > 0:
        bound = min(bound, COARSE * float(cut))
    return bound * (network.num_arcs + 1) * 2.0**-50


def net_inflow(network: FlowNetwork, flow: Any) -> Any:
    """Return, per vertex, what flows in less what flows out; exact for integers."""
    if isinstance(network, DeviceFlowNetwork):
        return net_inflow_on_device(network, flow)
    balance = np.zeros(network.num_vertices, dtype=flow.dtype)
    np.add.at(balance, network.head, flow)
    np.subtract.at(balance, network.tail, flow)
    return balance


def check_flow(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    flow: Any,
    value: float,
    *,
    preflow: bool = False,
    cut: float = 0,
) -> None:
    """Check capacity on every arc, conservation at every vertex, and the value.

    Parameters
    ----------
    network : FlowNetwork
    sources, sinks : ndarray of int64
    flow : array of the network's kind, shape (num_arcs,)
        Net flow of every arc in input order.
    value : int or float
        What must arrive at the sinks.
    preflow : bool
        Vertices may keep excess.
    cut : int or float
        Capacity of a cut, see :func:`tolerance`.

    Raises
    ------
    VerificationError
        Names the first arc or vertex at fault.
    """
    slack = tolerance(network, sources, sinks, cut)
    if flow.shape != (network.num_arcs,):
        raise VerificationError(f"flow has shape {flow.shape}, the network {network.num_arcs} arcs")
    if not np.isfinite(value) or not network.xp.isfinite(flow).all():
        raise VerificationError("the value or the flow of an arc is not a finite number")
    _check_arcs(flow > network.capacity + slack, network, flow, "more than its capacity")
    least = 0 if network.reverse_capacity is None else -network.reverse_capacity
    _check_arcs(flow < least - slack, network, flow, "less than its reverse capacity allows")
    balance = net_inflow(network, flow)
    arriving = balance[network.xp.asarray(sinks)].sum()
    if not abs(arriving - value) <= slack:
        raise VerificationError(f"the flow into the sink is {arriving}, not {value}")
    is_inner = ~vertex_mask(network, np.concatenate([sources, sinks]))
    broken = is_inner & ((balance < -slack) if preflow else (abs(balance) > slack))
    if broken.any():
        vertex = int(broken.argmax())
        raise VerificationError(f"vertex {vertex} gains {balance[vertex]}: flow is not conserved")


def _check_arcs(broken: Any, network: FlowNetwork, flow: Any, fault: str) -> None:
    if broken.any():
        arc = int(broken.argmax())
        ends = f"{int(network.tail[arc])} -> {int(network.head[arc])}"
        raise VerificationError(f"arc {arc} ({ends}) carries {flow[arc]}, {fault}")
