"""The choice that method="auto" makes."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.cost_network import CostNetwork
from ..solving.dispatch import Choice


def worth_a_gpu(network: CostNetwork, threads: int, in_use: bool) -> bool:
    """Whether a network on the host has enough arcs for a GPU that the process uses already, or not yet."""
    return False


def choose(network: CostNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Choice:
    """Return the method for a network: see :class:`preflow.solving.protocol.Chooser`."""
    return Choice("serial-network-simplex", "network simplex is fastest on most networks")
