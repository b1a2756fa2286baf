"""The choice that method="auto" makes: measured rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Numbers
from ..cuda.runtime import Device
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..solving.plan import Plan

#: On a GPU, one block solves an item with fewer than SIZE_FOR_ALL_BLOCKS rows and columns; if there are more
#: than MANY_ITEMS items, with fewer than SIZE_WHERE_MANY. All blocks solve a larger item.
SIZE_FOR_ALL_BLOCKS, MANY_ITEMS, SIZE_WHERE_MANY = 200, 32, 512
#: Costs in host memory are transferred to a GPU in use from this number of items and costs on.
ITEMS_FOR_GPU, COSTS_FOR_GPU = 64, 1_000_000
#: Fewer items are transferred from this number of rows and columns on.
SIZE_FOR_GPU = 1500
#: Many matrices are shared by threads from LEAST_THREADS threads and COSTS_FOR_THREADS costs on.
LEAST_THREADS, COSTS_FOR_THREADS = 4, 500_000
#: A single matrix is solved by several threads from this number of rows on, by fewer than LEAST_THREADS from
#: twice that number on. Five kinds of costs on a Xeon: with 1500 rows the auction took 8.1 to 41 ms on two
#: threads and 6.7 to 19 on 16, the best serial method 7.2 to 37; with 3000 rows 26 to 159, 11 to 57 and 30 to
#: 221 ms.
ROWS_FOR_THREADS = 1000
#: From this number of rows on, cost scaling is faster for sparse costs.
SPARSE_ROWS = 1000
#: It is not, if at most this share of the rows has no column's least cost. Shortest paths then have few
#: searches to do, and prices may have to fall far: along a chain of n rows, cost scaling makes n**2 bids
#: (8,000 rows: 0.34 s, shortest paths 0.002 s). Random costs and distances leave a third of the rows.
FEW_LEFT = 0.05
#: From this number of rows on, cost scaling is faster for dense costs of few patterns.
DENSE_ROWS = 400
#: Above this ratio of columns to rows, rows hardly compete for columns.
MOST_COLUMNS = 1.1
#: Rows and columns of the sample in which patterns are sought.
SAMPLE = 32
#: This number of patterns is few: in a sample of independent costs they make half of the variance.
FEW = 5
#: Costs are structured if few patterns make this share of the variance.
STRUCTURED = 0.9
#: If one or two patterns make this share, as in products i * j, each path passes most rows, and only cost
#: scaling is fast. On Machol and Wien's costs of 2000 rows it takes 0.25 s; the auction on all threads, which
#: ends in searches, takes 3 s. On 1000 rows it takes 0.08 s; all blocks of a GPU take 1.05 s. On a GPU, only
#: the share of one pattern counts.
LONG_PATHS = 0.97

Costs = DenseCosts | SparseCosts | PointCosts | DeviceCosts


def worth_a_gpu(costs: Costs, threads: int, in_use: bool) -> bool:
    """Whether costs in host memory are enough work for a GPU that the process uses already."""
    if not in_use or not isinstance(costs, DenseCosts):
        return False
    many = costs.shape[0] >= ITEMS_FOR_GPU and costs.values.size >= COSTS_FOR_GPU
    return many or min(costs.shape[1:]) >= SIZE_FOR_GPU


def _fits(costs: DenseCosts, gpu: Device) -> bool:
    """Whether costs, a copy of them, and the solver's arrays fit the GPU's memory."""
    return gpu.free_bytes >= 3 * int(costs.values.nbytes)


def choose_on_gpu(items: int, size: int) -> tuple[str, str]:
    """Return the GPU method for items of up to `size` rows and columns, and a phrase that describes it."""
    if size >= (SIZE_FOR_ALL_BLOCKS if items <= MANY_ITEMS else SIZE_WHERE_MANY):
        return "cuda-shortest-path", "shortest paths from all free columns at once"
    return "cuda-batch", "one warp or block per problem"


def choose(costs: Costs, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the method for costs: see :class:`preflow.solving.protocol.Chooser`."""
    items, size = costs.shape[0], max(costs.shape[1:])
    name, how = choose_on_gpu(items, SIZE_FOR_ALL_BLOCKS if isinstance(costs, PointCosts) else size)
    if device == "cuda":
        if isinstance(costs, SparseCosts):
            return Plan.of("cuda-lockfree", "device='cuda': the method that takes sparse costs")
        return Plan.of(name, f"device='cuda': {how}")
    if isinstance(costs, PointCosts):
        return Plan.of(
            "serial-shortest-path", "points, one thread: an auction over a tree, shortest augmenting paths"
        )
    if device == "auto":
        if isinstance(costs, DeviceCosts):
            if name == "cuda-shortest-path" and items == 1 and shares_of_patterns(costs)[0] >= LONG_PATHS:
                return Plan.of(
                    "serial-cost-scaling", "one pattern makes all costs: long paths, a copy on the host"
                )
            return Plan.of(name, f"the costs are on a GPU: {how}")
        if gpu is not None and isinstance(costs, DenseCosts) and _fits(costs, gpu):
            return Plan.of(name, f"enough work for the GPU, including the transfer: {how}")
    wide, n = is_wide(costs), min(costs.shape[1:])
    if isinstance(costs, DenseCosts) and threads > 1:
        many = threads >= LEAST_THREADS
        if many and costs.values.size >= COSTS_FOR_THREADS and items >= threads:
            return Plan.of("multicore-shortest-path", f"{items:,} matrices for {threads} threads")
        least = ROWS_FOR_THREADS if many else 2 * ROWS_FOR_THREADS
        if items == 1 and n >= least and not wide and shares_of_patterns(costs)[1] < LONG_PATHS:
            return Plan.of("multicore-auction", f"dense, {least} rows or more, {threads} threads: an auction")
    return choose_serial(costs)


def choose_serial(costs: Costs) -> Plan:
    """Return the method of one thread for costs."""
    items, wide, n = costs.shape[0], is_wide(costs), min(costs.shape[1:])
    if isinstance(costs, SparseCosts):
        if n >= SPARSE_ROWS and not wide:
            left = share_left_by_minima(costs) if costs.shape[1] == costs.shape[2] else 1.0
            if left <= FEW_LEFT:
                return Plan.of(
                    "serial-shortest-path",
                    f"sparse, {1 - left:.0%} of the rows have some column's least cost: shortest paths",
                )
            return Plan.of("serial-cost-scaling", f"sparse costs, {SPARSE_ROWS} rows or more: cost scaling")
        return Plan.of(
            "serial-shortest-path",
            "sparse costs, few rows or many more columns: shortest augmenting paths",
        )
    if isinstance(costs, DenseCosts) and items == 1 and n >= DENSE_ROWS and not wide:
        share = shares_of_patterns(costs)[FEW - 1]
        if share >= STRUCTURED:
            return Plan.of(
                "serial-cost-scaling",
                f"dense, {share:.0%} of their variance in {FEW} patterns, as in distances: cost scaling",
            )
        return Plan.of(
            "serial-shortest-path",
            f"dense, {share:.0%} of their variance in {FEW} patterns, as if independent: shortest paths",
        )
    return Plan.of(
        "serial-shortest-path", "dense costs, few rows, many more columns or many matrices: shortest paths"
    )


def share_left_by_minima(costs: SparseCosts) -> float:
    """Return the share of the rows that have no column's least cost; column reduction leaves them free."""
    _, n, m = costs.shape
    best, owner = np.zeros(m, dtype=costs.dtype), np.full(m, n, dtype=np.int64)
    find_minima(costs.first, costs.column, costs.values, costs.maximize, best, owner)
    has_column = np.zeros(n + 1, dtype=bool)
    has_column[owner] = True
    return 1.0 - float(np.count_nonzero(has_column[:n])) / n


@kernel
def find_minima(
    first: NDArray[np.uint64],
    column: Indices,
    values: Numbers,
    maximize: bool,
    best: Numbers,
    owner: NDArray[np.int64],
) -> None:
    """Write the least cost of each column (the largest, with `maximize`) and the first row that has it."""
    num_rows = np.uint64(len(first) - 1)
    for row in range(num_rows):
        for k in range(first[row], first[row + ONE]):
            j = column[k]
            value = -values[k] if maximize else values[k]
            if owner[j] == num_rows or value < best[j]:
                best[j] = value
                owner[j] = row


def is_wide(costs: Costs) -> bool:
    """Whether one side is so much larger that the vertices of the other side hardly compete."""
    _, n, m = costs.shape
    return max(n, m) > MOST_COLUMNS * min(n, m)


def shares_of_patterns(costs: DenseCosts | DeviceCosts) -> NDArray[np.float64]:
    """Return the shares of the variance of a sample of costs that the first k patterns explain, for each k.

    The patterns are the singular vectors of the sample after the means of rows and columns, which do not
    matter to an assignment, are subtracted. For costs such as distances of points, or products, few patterns
    explain all of the variance; prices of similar rows then depend on each other.
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
