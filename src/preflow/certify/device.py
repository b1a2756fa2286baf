"""What the proofs need of a GPU: sums over the arcs of a vertex."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..graph.device_network import DeviceFlowNetwork

SOURCE = Path(__file__).with_suffix(".cu")


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    tail: Any
    head: Any
    flow: Any
    balance: Any
    num_arcs: int


def net_inflow_on_device(network: DeviceFlowNetwork, flow: Any) -> Any:
    """Return, per vertex, what flows in less what flows out; exact for integers."""
    balance = network.xp.zeros(network.num_vertices, dtype=flow.dtype)
    kernel = "net_inflow_of_floats" if flow.dtype.kind == "f" else "net_inflow"
    arguments = Arguments(network.tail, network.head, flow, balance, network.num_arcs)
    network.device.share(SOURCE, kernel, network.num_arcs, arguments)
    return balance
