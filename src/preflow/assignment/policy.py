"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device_costs import DeviceCosts

#: Up to so many rows and columns a GPU solves an item by one block.
MOST_OF_BATCH = 4096
#: A stack on the host is worth the way to a GPU in use from so many items and costs on.
ITEMS_FOR_GPU, COSTS_FOR_GPU = 64, 1_000_000

Costs = DenseCosts | SparseCosts | DeviceCosts


def pays_to_use_gpu(costs: Costs) -> bool:
    """Whether costs on the host are enough work for a GPU that the process uses already."""
    if not isinstance(costs, DenseCosts) or max(costs.shape[1:]) > MOST_OF_BATCH:
        return False
    return costs.shape[0] >= ITEMS_FOR_GPU and costs.values.size >= COSTS_FOR_GPU


def choose(
    costs: Costs, device: str = "auto", threads: int | None = None, gpu: bool = False
) -> tuple[str, str]:
    """Return the name of the method for costs, and why.

    `gpu` says whether one may be used for costs on the host.
    """
    if device == "cuda":
        return "cuda-batch", "device='cuda': one warp or block a problem"
    if isinstance(costs, DeviceCosts) and device == "auto" and threads is None:
        if max(costs.shape[1:]) <= MOST_OF_BATCH:
            return "cuda-batch", "the costs are on a GPU: one warp or block a problem"
        return (
            "serial-shortest-path",
            "too many rows and columns for one block of the GPU: a copy on the host",
        )
    if gpu and device == "auto" and threads is None and pays_to_use_gpu(costs):
        return (
            "cuda-batch",
            f"{costs.shape[0]:,} problems are enough work for the GPU, the way there included",
        )
    kind = "sparse" if isinstance(costs, SparseCosts) else "dense"
    return "serial-shortest-path", f"{kind} costs, one thread: shortest augmenting paths"
