"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device_costs import DeviceCosts
from ..graph.point_costs import PointCosts

#: A GPU solves each item by one block where there are fewer rows and columns than this, or where items are
#: many and their rows and columns fewer than that; else by all blocks.
SIZE_FOR_ALL_BLOCKS, MANY_ITEMS, SIZE_WHERE_MANY = 200, 32, 512
#: What is on the host is worth the way to a GPU in use from so many items and costs on, ...
ITEMS_FOR_GPU, COSTS_FOR_GPU = 64, 1_000_000
#: ... and few items from so many rows and columns on.
SIZE_FOR_GPU = 1500

Costs = DenseCosts | SparseCosts | PointCosts | DeviceCosts


def pays_to_use_gpu(costs: Costs) -> bool:
    """Whether costs on the host are enough work for a GPU that the process uses already."""
    if not isinstance(costs, DenseCosts):
        return False
    many = costs.shape[0] >= ITEMS_FOR_GPU and costs.values.size >= COSTS_FOR_GPU
    return many or min(costs.shape[1:]) >= SIZE_FOR_GPU


def choose_on_gpu(items: int, size: int) -> tuple[str, str]:
    """Return the name of the method on a GPU for items of up to `size` rows and columns, and how it works."""
    if size >= (SIZE_FOR_ALL_BLOCKS if items <= MANY_ITEMS else SIZE_WHERE_MANY):
        return "cuda-shortest-path", "shortest paths from all free columns at once"
    return "cuda-batch", "one warp or block a problem"


def choose(
    costs: Costs, device: str = "auto", threads: int | None = None, gpu: bool = False
) -> tuple[str, str]:
    """Return the name of the method for costs, and why.

    `gpu` says whether one may be used for costs on the host.
    """
    items, size = costs.shape[0], max(costs.shape[1:])
    name, how = choose_on_gpu(items, SIZE_FOR_ALL_BLOCKS if isinstance(costs, PointCosts) else size)
    if device == "cuda":
        return name, f"device='cuda': {how}"
    if device == "auto" and threads is None:
        if isinstance(costs, DeviceCosts):
            return name, f"the costs are on a GPU: {how}"
        if gpu and pays_to_use_gpu(costs):
            return name, f"enough work for the GPU, the way there included: {how}"
    if isinstance(costs, PointCosts):
        return "serial-shortest-path", "points, one thread: an auction over a tree, shortest augmenting paths"
    kind = "sparse" if isinstance(costs, SparseCosts) else "dense"
    return "serial-shortest-path", f"{kind} costs, one thread: shortest augmenting paths"
