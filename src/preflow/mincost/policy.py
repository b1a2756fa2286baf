"""The choice that method="auto" makes."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.cost_network import CostNetwork
from ..solving.dispatch import Choice

#: An earlier flow is repaired by shortest paths if at most this share of the vertices, or this number of
#: them, is out of balance.
REPAIRED_SHARE, REPAIRED = 0.01, 20


def worth_a_gpu(network: CostNetwork, threads: int, in_use: bool) -> bool:
    """Whether a network on the host has enough arcs for a GPU that the process uses already, or not yet."""
    return False


def choose(network: CostNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Choice:
    """Return the method for a network: see :class:`preflow.solving.protocol.Chooser`."""
    return Choice("serial-network-simplex", "network simplex is fastest on most networks")


def choose_for_start(network: CostNetwork, broken: int) -> Choice | None:
    """Return the method that repairs an earlier flow, None to solve from nothing.

    `broken` is the number of vertices at which the flow is not conserved, once no residual arc has negative
    reduced cost.
    """
    if broken > max(REPAIRED_SHARE * network.num_vertices, REPAIRED):
        return None
    return Choice("serial-shortest-path", f"shortest paths repair the earlier flow at {broken:,} vertices")
