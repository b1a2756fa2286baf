"""The measured rules of method="auto": the first of these rows that holds counts."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Numbers
from ..cuda.runtime import Device
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..solving.plan import Attempt, Plan, Rule, decide

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
#: From this number of rows on, LEAST_SPARSE_THREADS threads solve sparse costs. On 16 cores of a Xeon they
#: take as long as one with 100,000 rows, and 0.5 to 0.7 times as long with a million.
SPARSE_ROWS_FOR_THREADS, LEAST_SPARSE_THREADS = 500_000, 16
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


class Features:
    """The features of costs that rules ask for; a slow one is found when a rule asks for it, and once."""

    def __init__(self, costs: Costs, device: str, threads: int, gpu: Device | None) -> None:
        self.costs: Any = costs
        self.device, self.threads, self.gpu = device, threads, gpu
        self.items, self.rows, self.columns = costs.shape
        self.size = min(self.rows, self.columns)
        self.dense, self.sparse = isinstance(costs, DenseCosts), isinstance(costs, SparseCosts)
        self.points = isinstance(costs, PointCosts)

    @property
    def for_all_blocks(self) -> bool:
        """Whether all blocks of a GPU solve an item."""
        largest = SIZE_FOR_ALL_BLOCKS if self.items <= MANY_ITEMS else SIZE_WHERE_MANY
        return (SIZE_FOR_ALL_BLOCKS if self.points else max(self.rows, self.columns)) >= largest

    @property
    def on_gpu(self) -> bool:
        """Whether the costs are on a GPU, and may be solved there."""
        return self.device == "auto" and isinstance(self.costs, DeviceCosts)

    @property
    def fits_gpu(self) -> bool:
        """Whether there is a GPU that may solve dense costs, and has the memory."""
        return self.device == "auto" and self.gpu is not None and self.dense and _fits(self.costs, self.gpu)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The shares of the variance of a sample of costs that the first patterns explain."""
        return shares_of_patterns(self.costs)

    @property
    def share(self) -> float:
        """The share that FEW patterns explain."""
        return float(self.shares[FEW - 1])

    @property
    def wide(self) -> bool:
        """Whether one side is so much larger that the vertices of the other side hardly compete."""
        return is_wide(self.costs)

    @cached_property
    def kinds(self) -> int:
        """The number of different rows, or columns, of a single dense matrix; 0 where it has many."""
        if not self.dense or self.items > 1 or self.size < DENSE_ROWS or self.costs.sizes is not None:
            return 0
        from .serial_shortest_path.places import group_dense  # here, since small matrices do without

        found = group_dense(self.costs)
        return 0 if found is None else len(found[0].first)

    @property
    def least_rows(self) -> int:
        """The number of rows from which several threads solve a single matrix."""
        return ROWS_FOR_THREADS if self.threads >= LEAST_THREADS else 2 * ROWS_FOR_THREADS

    @property
    def many_costs(self) -> bool:
        """Whether there are enough matrices and costs for several threads."""
        many = self.threads >= LEAST_THREADS and self.items >= self.threads
        return bool(many and self.dense and self.costs.values.size >= COSTS_FOR_THREADS)

    @cached_property
    def left(self) -> float:
        """The share of the rows that have no column's least cost."""
        return share_left_by_minima(self.costs) if self.rows == self.columns else 1.0

    @property
    def first(self) -> float:
        """The share of the rows that have one."""
        return 1.0 - self.left


PATHS, SCALING = (Attempt("serial-shortest-path"),), (Attempt("serial-cost-scaling"),)
ALL_BLOCKS, ONE_BLOCK = (Attempt("cuda-shortest-path"),), (Attempt("cuda-batch"),)
AT_ONCE, EACH = "shortest paths from all free columns at once", "one warp or block per problem"
TRANSFERRED = "enough work for the GPU, including the transfer: "

RULES: tuple[Rule[Features], ...] = (
    Rule(
        lambda it: it.device == "cuda" and it.sparse,
        (Attempt("cuda-lockfree"),),
        "device='cuda': the method that takes sparse costs",
    ),
    Rule(lambda it: it.device == "cuda" and it.for_all_blocks, ALL_BLOCKS, f"device='cuda': {AT_ONCE}"),
    Rule(lambda it: it.device == "cuda", ONE_BLOCK, f"device='cuda': {EACH}", "assignment-batch"),
    Rule(
        lambda it: it.points,
        PATHS,
        "points, one thread: an auction over a tree, shortest augmenting paths",
        "assignment",
    ),
    Rule(
        lambda it: it.on_gpu and it.for_all_blocks and it.items == 1 and it.shares[0] >= LONG_PATHS,
        SCALING,
        "one pattern makes all costs: long paths, a copy on the host",
        families="machol-wien",
    ),
    Rule(lambda it: it.on_gpu and it.for_all_blocks, ALL_BLOCKS, f"the costs are on a GPU: {AT_ONCE}"),
    Rule(lambda it: it.on_gpu, ONE_BLOCK, f"the costs are on a GPU: {EACH}", "assignment-batch"),
    Rule(lambda it: it.fits_gpu and it.for_all_blocks, ALL_BLOCKS, TRANSFERRED + AT_ONCE),
    Rule(lambda it: it.fits_gpu, ONE_BLOCK, TRANSFERRED + EACH, "assignment-batch"),
    Rule(
        lambda it: it.many_costs,
        (Attempt("multicore-shortest-path"),),
        "{it.items:,} matrices for {it.threads} threads",
        "assignment-batch",
    ),
    Rule(
        lambda it: it.kinds,
        PATHS,
        "dense, with many equal rows or columns: shortest paths",
        families="a matrix whose columns are those of 8 to 400 centres",
    ),
    Rule(
        lambda it: (
            it.threads > 1
            and it.dense
            and it.items == 1
            and it.size >= it.least_rows
            and not it.wide
            and it.shares[1] < LONG_PATHS
        ),
        (Attempt("multicore-auction"),),
        "dense, {it.least_rows} rows or more, {it.threads} threads: an auction",
        "assignment-threads",
    ),
    Rule(
        lambda it: it.sparse and (it.size < SPARSE_ROWS or it.wide),
        PATHS,
        "sparse costs, few rows or many more columns: shortest augmenting paths",
        "assignment",
    ),
    Rule(
        lambda it: it.sparse and it.left <= FEW_LEFT,
        PATHS,
        "sparse, {it.first:.0%} of the rows have some column's least cost: shortest paths",
    ),
    Rule(
        lambda it: it.sparse and it.threads >= LEAST_SPARSE_THREADS and it.size >= SPARSE_ROWS_FOR_THREADS,
        (Attempt("multicore-auction"),),
        f"sparse costs, {SPARSE_ROWS_FOR_THREADS:,} rows or more, {{it.threads}} threads: an auction",
        families="random entries and grids of random values, a million rows",
    ),
    Rule(
        lambda it: it.sparse, SCALING, f"sparse costs, {SPARSE_ROWS} rows or more: cost scaling", "assignment"
    ),
    Rule(
        lambda it: not it.dense or it.items > 1 or it.size < DENSE_ROWS or it.wide,
        PATHS,
        "dense costs, few rows, many more columns or many matrices: shortest paths",
        "assignment",
    ),
    Rule(
        lambda it: it.share >= STRUCTURED,
        SCALING,
        f"dense, {{it.share:.0%}} of their variance in {FEW} patterns, as in distances: cost scaling",
        "assignment",
    ),
    Rule(
        lambda it: True,
        PATHS,
        f"dense, {{it.share:.0%}} of their variance in {FEW} patterns, as if independent: shortest paths",
        "assignment",
    ),
)


def choose(costs: Costs, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the plan for costs: see :class:`preflow.solving.protocol.Chooser`."""
    return decide(RULES, Features(costs, device, threads, gpu))


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
