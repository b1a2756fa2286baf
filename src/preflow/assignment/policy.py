"""The choice that method="auto" makes, in rules that anyone can read, all of them measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cuda.runtime import Device
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..solving.dispatch import Choice

#: A GPU solves each item by one block where there are fewer rows and columns than this, or where items are
#: many and their rows and columns fewer than that; else by all blocks.
SIZE_FOR_ALL_BLOCKS, MANY_ITEMS, SIZE_WHERE_MANY = 200, 32, 512
#: What is on the host is worth the way to a GPU in use from so many items and costs on, ...
ITEMS_FOR_GPU, COSTS_FOR_GPU = 64, 1_000_000
#: ... and few items from so many rows and columns on.
SIZE_FOR_GPU = 1500
#: Several threads are used if there are so many, for so many costs; for one matrix from so many rows on.
TEAM, COSTS_FOR_TEAM, ROWS_FOR_TEAM = 4, 500_000, 2000
#: From so many rows on cost scaling is faster for sparse costs, ...
SPARSE_ROWS = 1000
#: ... unless the least costs of columns leave at most this share of the rows without a column. Searches for
#: these are little work then, and prices may have to fall far: along a chain of n rows cost scaling bids n**2
#: times, in 0.34 s for 8,000 where shortest paths take 0.002. Random costs and distances leave a third.
FEW_LEFT = 0.05
#: ... and for dense ones of few patterns.
DENSE_ROWS = 400
#: Where there are more columns to a row than this, rows hardly get into each other's way.
MOST_COLUMNS = 1.1
#: Rows and columns that are looked at for patterns, ...
SAMPLE = 32
#: ... and how many patterns are few: for independent costs these make half of the variance of such a sample.
FEW = 5
#: The share of the variance that few patterns make where costs are structured.
STRUCTURED = 0.9
#: Where one or two patterns make this share, as in products i * j, each path passes most rows, and only cost
#: scaling is fast: on Machol and Wien's costs of 2000 rows it takes 0.25 s, the auction of all threads, which
#: ends in searches, 3; of 1000 rows 0.08, and all blocks of a GPU, where one pattern tells, 1.05.
LONG_PATHS = 0.97

Costs = DenseCosts | SparseCosts | PointCosts | DeviceCosts


def worth_a_gpu(costs: Costs, threads: int, in_use: bool) -> bool:
    """Whether costs in host memory are enough work for a GPU that the process uses already."""
    if not in_use or not isinstance(costs, DenseCosts):
        return False
    many = costs.shape[0] >= ITEMS_FOR_GPU and costs.values.size >= COSTS_FOR_GPU
    return many or min(costs.shape[1:]) >= SIZE_FOR_GPU


def _fits(costs: DenseCosts, gpu: Device) -> bool:
    """Whether a GPU has room for costs, for a copy of them and for what solvers need beside."""
    return gpu.free_bytes >= 3 * int(costs.values.nbytes)


def choose_on_gpu(items: int, size: int) -> tuple[str, str]:
    """Return the name of the method on a GPU for items of up to `size` rows and columns, and how it works."""
    if size >= (SIZE_FOR_ALL_BLOCKS if items <= MANY_ITEMS else SIZE_WHERE_MANY):
        return "cuda-shortest-path", "shortest paths from all free columns at once"
    return "cuda-batch", "one warp or block a problem"


def choose(costs: Costs, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Choice:
    """Return the method for costs: see :class:`preflow.solving.protocol.Chooser`."""
    items, size = costs.shape[0], max(costs.shape[1:])
    name, how = choose_on_gpu(items, SIZE_FOR_ALL_BLOCKS if isinstance(costs, PointCosts) else size)
    if device == "cuda":
        return Choice(name, f"device='cuda': {how}")
    if isinstance(costs, PointCosts):
        return Choice(
            "serial-shortest-path", "points, one thread: an auction over a tree, shortest augmenting paths"
        )
    if device == "auto":
        if isinstance(costs, DeviceCosts):
            if name == "cuda-shortest-path" and items == 1 and shares_of_patterns(costs)[0] >= LONG_PATHS:
                return Choice(
                    "serial-cost-scaling", "one pattern makes all costs: long paths, a copy on the host"
                )
            return Choice(name, f"the costs are on a GPU: {how}")
        if gpu is not None and isinstance(costs, DenseCosts) and _fits(costs, gpu):
            return Choice(name, f"enough work for the GPU, the way there included: {how}")
    wide, n = is_wide(costs), min(costs.shape[1:])
    if isinstance(costs, DenseCosts) and threads >= TEAM and costs.values.size >= COSTS_FOR_TEAM:
        if items >= threads:
            return Choice("multicore-shortest-path", f"{items:,} matrices for {threads} threads")
        large = items == 1 and n >= ROWS_FOR_TEAM and not wide
        if large and shares_of_patterns(costs)[1] < LONG_PATHS:
            return Choice(
                "multicore-auction", f"dense, {ROWS_FOR_TEAM} rows or more, {threads} threads: an auction"
            )
    return choose_serial(costs)


def choose_serial(costs: Costs) -> Choice:
    """Return the method of one thread for costs."""
    items, wide, n = costs.shape[0], is_wide(costs), min(costs.shape[1:])
    if isinstance(costs, SparseCosts):
        if n >= SPARSE_ROWS and not wide:
            left = share_left_by_minima(costs) if costs.shape[1] == costs.shape[2] else 1.0
            if left <= FEW_LEFT:
                return Choice(
                    "serial-shortest-path",
                    f"sparse, {1 - left:.0%} of the rows have some column's least cost: shortest paths",
                )
            return Choice("serial-cost-scaling", f"sparse costs, {SPARSE_ROWS} rows or more: cost scaling")
        return Choice(
            "serial-shortest-path",
            "sparse costs, few rows or many columns more: shortest augmenting paths",
        )
    if isinstance(costs, DenseCosts) and items == 1 and n >= DENSE_ROWS and not wide:
        share = shares_of_patterns(costs)[FEW - 1]
        if share >= STRUCTURED:
            return Choice(
                "serial-cost-scaling",
                f"dense, {share:.0%} of their variance in {FEW} patterns, as in distances: cost scaling",
            )
        return Choice(
            "serial-shortest-path",
            f"dense, {share:.0%} of their variance in {FEW} patterns, as if independent: shortest paths",
        )
    return Choice(
        "serial-shortest-path", "dense costs, few rows, many columns more or many matrices: shortest paths"
    )


def share_left_by_minima(costs: SparseCosts) -> float:
    """Return the share of the rows that have no column's least cost; shortest paths begin with the others."""
    _, n, m = costs.shape
    best, owner = np.zeros(m, dtype=costs.dtype), np.full(m, n, dtype=np.int64)
    find_minima(costs.first, costs.column, costs.values, costs.maximize, best, owner)
    has_column = np.zeros(n + 1, dtype=bool)
    has_column[owner] = True
    return 1.0 - float(np.count_nonzero(has_column[:n])) / n


@kernel
def find_minima(first: Any, column: Any, values: Any, maximize: bool, best: Any, owner: Any) -> None:
    """Write each column's least cost (largest, with `maximize`), and the first row that has it."""
    num_rows = np.uint64(len(first) - 1)
    for row in range(num_rows):
        for k in range(first[row], first[row + ONE]):
            j = column[k]
            value = -values[k] if maximize else values[k]
            if owner[j] == num_rows or value < best[j]:
                best[j] = value
                owner[j] = row


def is_wide(costs: Costs) -> bool:
    """Whether there are so many columns (rows) more that rows (columns) hardly get into each other's way."""
    _, n, m = costs.shape
    return max(n, m) > MOST_COLUMNS * min(n, m)


def shares_of_patterns(costs: DenseCosts | DeviceCosts) -> NDArray[np.float64]:
    """Return the shares of the variance of a sample of costs that one pattern makes, two make, and so on.

    Means of rows and columns are taken out: they do not matter to an assignment. Where prices of neighbouring
    rows pull each other along, as with distances of points or products, few patterns make all of the rest.
    """
    rows, columns = (slice(None, None, -(-size // SAMPLE)) for size in costs.shape[1:])
    sample = costs.values[0, rows, columns]
    if isinstance(costs, DeviceCosts):
        sample = costs.device.to_host(sample)
    sample = sample.astype(np.float64)
    finite = np.isfinite(sample)
    if not finite.any():
        return np.zeros(SAMPLE)
    sample = np.where(finite, sample, sample[finite].max())
    sample /= max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)
    sample -= sample.mean(axis=0)
    sample -= sample.mean(axis=1)[:, None]
    squares = np.zeros(SAMPLE)
    values = np.linalg.svd(sample, compute_uv=False)
    squares[: len(values)] = values**2
    total = float(squares.sum())
    return np.cumsum(squares) / total if total > np.finfo(np.float64).eps else np.zeros(SAMPLE)
