"""The choice that method="auto" makes."""

from __future__ import annotations

from ..certify.transport import TransportCosts
from ..cuda.runtime import Device
from ..graph.costs import SparseCosts
from ..graph.device.costs import DeviceCosts
from ..solving.dispatch import Choice

#: From this many pairs on, a GPU is worth copying dense costs to it.
PAIRS_FOR_GPU = 4_000_000
#: The same where the process has not used the GPU yet.
PAIRS_FOR_FIRST_USE = 100_000_000


def worth_a_gpu(costs: TransportCosts, threads: int, in_use: bool) -> bool:
    """Whether costs on the host have enough pairs for a GPU that the process uses already, or not yet."""
    items, n, m = costs.shape
    if isinstance(costs, SparseCosts):
        return False
    return items * n * m >= (PAIRS_FOR_GPU if in_use else PAIRS_FOR_FIRST_USE)


def choose(
    costs: TransportCosts, device: str = "auto", threads: int = 1, gpu: Device | None = None
) -> Choice:
    """Return the method for costs: see :class:`preflow.solving.protocol.Chooser`."""
    if device == "cuda":
        return Choice("cuda-transport", "device='cuda': the method on a GPU")
    if device == "auto" and isinstance(costs, DeviceCosts):
        return Choice("cuda-transport", "the costs are on a GPU")
    if gpu is not None:
        return Choice("cuda-transport", "the costs are enough work for the GPU, transfers included")
    return Choice("serial-network-simplex", "network simplex on the pairs of small reduced cost is fastest")
