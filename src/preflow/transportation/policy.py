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
#: From this number of pairs of an item on, smoothed prices before the simplex pay with MANY_THREADS threads.
#: On 4 and 16 cores of a Xeon, random costs of 2000 x 2000 pairs took 0.113 and 0.084 s, squared distances
#: 0.104 and 0.075 s; network simplex took 0.158 and 0.174 s. Random costs of 1000 x 1000 pairs took 0.047 and
#: 0.038 s, network simplex 0.037 s.
MANY_PAIRS, MANY_THREADS = 4_000_000, 4
#: The same with any number of threads: see MANY_THREADS of `multicore_cost_scaling.py`.
MANY_PAIRS_ALONE = 64_000_000


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
    _, n, m = costs.shape
    few = n * m < (MANY_PAIRS if threads >= MANY_THREADS else MANY_PAIRS_ALONE)
    if not few and not isinstance(costs, SparseCosts):
        return Choice("multicore-cost-scaling", f"{n:,} x {m:,} pairs are enough work for cost scaling")
    return Choice("serial-network-simplex", "network simplex on the pairs of small reduced cost is fastest")
