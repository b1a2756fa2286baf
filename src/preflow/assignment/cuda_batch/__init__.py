"""Many dense problems at once on a GPU, each solved by one warp or one block.

Jonker and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987), as :mod:`..serial_shortest_path` has it, without lists: column reduction, augmenting row
reduction, then Dijkstra's algorithm on reduced costs. A step of either looks at one row: each thread of the
team has the prices and distances of a few columns in registers, and the least of all comes out of reductions
over warps. The time of a problem is that of a chain of dependent steps. What counts is to have few of them,
by the reductions and by ties broken towards columns that end a search, short ones, with all that a step needs
in registers and costs in shared memory where enough problems fit, and many problems at a time.

Integers are solved in 32 bits where the range of the costs is below 2**27: prices and distances stay within
eight times the range, since as long as a row is free there is a free column at its first price. Floats are
solved in double precision, float32 costs as well: so their prices prove what those of a CPU prove.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError, UnsuitableMethodError
from ...graph.device.costs import DeviceCosts
from ...solving.options import check_count, check_flag
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..device_solution import DeviceSolution, make_solution, num_pairs
from ..solution import INFEASIBLE, STOPPED

SOURCE = Path(__file__).with_name("batch.cu")
WARP = 32
#: Teams of one warp in a block.
WARPS_OF_BLOCK = 4
#: A thread has at most so many columns, and a team so many warps.
MOST_COLUMNS_OF_THREAD, MOST_WARPS = 8, 16
MOST_COLUMNS = WARP * MOST_WARPS * MOST_COLUMNS_OF_THREAD
#: Bytes of one load of costs, at most.
LOAD_BYTES = 16
#: A team gets a further warp for so many columns; up to the first number of columns it is one warp.
ONE_WARP, COLUMNS_OF_WARP = 128, 128
#: With fewer columns and at most so many items a multiprocessor, each thread has one column: on an H200 256
#: items of 256 columns took 1.34 ms so, 1.47 ms with four a thread; 2,000 of 200 columns 3.8 and 2.7 ms.
MANY_COLUMNS, FEW_ITEMS = 512, 4
#: Costs are in shared memory if so many problems fit that of a multiprocessor: 2,000 of 200 x 200 floats, of
#: which one does, took 8.8 ms from there, 3.8 ms otherwise; 132 of them the same.
LEAST_TOGETHER = 4
#: Ranges of integer costs below this are solved in 32 bits.
RANGE_OF_32_BITS = 2**27
#: Costs of one launch.
COSTS_OF_LAUNCH = 2**28
#: Kinds of costs and numbers, as the ``.cu`` file numbers them.
SOURCES = {"i4": 0, "i8": 1, "f4": 2, "f8": 3}
INT32, INT64, DOUBLE = range(3)
#: Rows of counters, and what they count.
COUNT_ROWS, COUNTS = 32, 4
NUM_INFEASIBLE, NUM_GAVE_UP, NUM_SEARCHES, NUM_SCANS = range(COUNTS)


@dataclass(frozen=True)
class BatchOptions:
    """Options of the stacks solved by warps.

    Attributes
    ----------
    column_reduction : bool
        Start from the cheapest row of every column, where there are as many rows as columns.
    row_reduction : int
        Steps of each of the two passes of row reduction, for each row; 0 for none.
    shared : bool
        Copy costs to shared memory where they fit.
    warps : int
        Warps that solve one problem; 0 for as many as suit the number of columns.
    """

    column_reduction: bool = True
    row_reduction: int = 1
    shared: bool = True
    warps: int = 0

    def __post_init__(self) -> None:
        check_flag("column_reduction", self.column_reduction)
        check_count("row_reduction", self.row_reduction)
        check_flag("shared", self.shared)
        check_count("warps", self.warps)


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    costs: Any
    sizes: Any
    has_sizes: int
    num_items: int
    num_rows: int
    num_columns: int
    maximize: int
    swapped: int
    base: int
    column_reduction: int
    reductions_a_row: int
    bytes_a_team: int
    row: Any
    column: Any
    num_pairs: int
    row_price: Any
    column_price: Any
    total: Any
    ending: Any
    counts: Any
    stop: Any


class Shape(NamedTuple):
    """How the kernel is compiled, as the ``.cu`` file has it, and launched."""

    warps: int
    teams: int
    columns: int
    source: int
    number: int
    stored: int
    vector: int
    bytes_a_team: int

    @property
    def constants(self) -> tuple[tuple[str, int], ...]:
        """What it is compiled with."""
        names = ("WARPS", "TEAMS", "COLUMNS", "SOURCE", "NUMBER", "STORED", "VECTOR")
        return tuple(zip(names, self[:7], strict=True))


def solve(costs: DeviceCosts, options: BatchOptions, control: Control, go_on: bool = False) -> DeviceSolution:
    """Assign all rows, or all columns where there are fewer, of every item at the best cost.

    Parameters
    ----------
    costs : DeviceCosts
        As they are given, at least one.
    options : BatchOptions
    control : Control
    go_on : bool
        Without meaning here: all items are solved at the same time.

    Raises
    ------
    UnsuitableMethodError
        There are too many rows or columns.

    Notes
    -----
    O(n**2 m) time for an item of n <= m rows at worst. Memory on the device: 8 bytes for each row and column
    and 16 for each pair of every item.
    """
    device, xp, (items, n, m) = costs.device, costs.xp, costs.shape
    if max(n, m) > MOST_COLUMNS:
        raise UnsuitableMethodError(
            f"cuda-batch solves up to {MOST_COLUMNS:,} rows and columns, got {n:,} x {m:,}"
        )
    pairs = num_pairs(costs)
    shape = _shape(costs, options)
    number = np.int64 if shape.number != DOUBLE else np.float64
    counts = xp.zeros(COUNT_ROWS * COUNTS, dtype=np.uint64)
    solution = make_solution(costs, number)
    values, swapped = costs.values, shape.stored == 0 and costs.sizes is None and n > m
    if swapped:
        values = xp.ascontiguousarray(values.swapaxes(1, 2))
    sizes = counts if costs.sizes is None else xp.asarray(costs.sizes.astype(np.uint32))
    step = max(1, COSTS_OF_LAUNCH // (n * m))
    done = 0
    found = np.zeros(COUNTS, dtype=np.uint64)
    while done < items and not control.stopped:
        part = slice(done, done + step)
        whole = step >= items
        row, column, u, v, total, ending = (each if whole else each[part] for each in solution[:6])
        arguments = Arguments(
            values if whole else values[part],
            sizes if whole or costs.sizes is None else sizes[part],
            int(costs.sizes is not None),
            len(ending),
            n,
            m,
            int(costs.maximize),
            int(swapped),
            _base(costs),
            int(options.column_reduction),
            options.row_reduction,
            shape.bytes_a_team,
            row,
            column,
            pairs,
            u,
            v,
            total,
            ending,
            counts,
            device.stop_word(control),
        )
        threads = WARP * shape.warps * shape.teams
        blocks = min(-(-len(ending) // shape.teams), max(1, device.most_threads // threads))
        shared = shape.bytes_a_team * shape.teams
        device.launch(
            SOURCE, "solve_stack", blocks, threads, arguments, shared_bytes=shared, constants=shape.constants
        )
        found = device.to_host(counts).reshape(COUNT_ROWS, COUNTS).sum(axis=0)
        done += _num_ended(device.to_host(ending)) if control.stopped else len(ending)
        control.excess[0] = 1.0 - done / items
    if found[NUM_GAVE_UP]:
        raise SolverError(f"{found[NUM_GAVE_UP]} searches passed more columns than there are")
    control.counts[AUGMENTATIONS], control.counts[ARC_SCANS] = found[NUM_SEARCHES], found[NUM_SCANS]
    num_infeasible = int(found[NUM_INFEASIBLE])
    if done < items:
        num_infeasible = int((device.to_host(solution.ending)[:done] == INFEASIBLE).sum())
    return solution._replace(num_infeasible=num_infeasible, done=done)


def _num_ended(ending: NDArray[np.uint32]) -> int:
    """Return how many items come before the first one that was stopped."""
    stopped = np.flatnonzero(ending == STOPPED)
    return int(stopped[0]) if len(stopped) else len(ending)


def _base(costs: DeviceCosts) -> int:
    """Return the bits of what the kernel subtracts from integers; of floats the least that it works with."""
    least, most = costs.extent.least, costs.extent.most
    if costs.values.dtype.kind == "i":
        return int(most if costs.maximize else least)
    return int(np.float64(-most if costs.maximize else least).view(np.int64))


def _shape(costs: DeviceCosts, options: BatchOptions) -> Shape:
    """Return what the kernel is to be like for costs."""
    items, n, m = costs.shape
    size = max(n, m)
    few = items <= FEW_ITEMS * costs.device.num_multiprocessors
    per_warp = WARP if few and size < MANY_COLUMNS else COLUMNS_OF_WARP
    warps = options.warps or (1 if size <= ONE_WARP else -(-size // per_warp))
    warps = min(max(warps, -(-size // (WARP * MOST_COLUMNS_OF_THREAD))), MOST_WARPS)
    source = SOURCES[costs.values.dtype.str[1:]]
    extent = int(costs.extent.most) - int(costs.extent.least) if source < 2 else 0
    number = DOUBLE if source >= 2 else INT32 if extent < RANGE_OF_32_BITS else INT64
    if number == DOUBLE:
        width = costs.values.dtype.itemsize
    else:
        width = next(width for width in (1, 2, 4, 8) if width == 8 or (extent >> (8 * width)) == 0)
    state = _bytes_of_state(size, warps, 4 if number == INT32 else 8)
    fits = LEAST_TOGETHER * (state + _rounded(width * n * m)) <= costs.device.shared_bytes
    stored = width if options.shared and fits else 0
    needed = state + _rounded(stored * n * m)
    teams = 1
    if warps == 1:
        teams = max(
            1, min(WARPS_OF_BLOCK, costs.device.block_threads // WARP, costs.device.shared_bytes // needed)
        )
    columns = -(-size // (WARP * warps))
    vector = 1
    if stored == 0:
        columns = int(1 << (columns - 1).bit_length())
        line = size if costs.sizes is None else m
        bits = line | columns | LOAD_BYTES // costs.values.dtype.itemsize
        vector = bits & -bits if costs.device.address(costs.values) % LOAD_BYTES == 0 else 1
    return Shape(warps, teams, columns, source, number, stored, vector, needed)


def _bytes_of_state(size: int, warps: int, number: int) -> int:
    """Return the shared memory of a team beside the costs, for up to `size` columns."""
    slots = 2 * warps * (32 if number == 8 else 16) if warps > 1 else 0
    looks = _rounded(8) + _rounded(4)
    return _rounded(number * size) + _rounded(slots) + looks + _rounded(4 * size) + 3 * _rounded(2 * size)


def _rounded(size: int) -> int:
    return -(-size // 16) * 16
