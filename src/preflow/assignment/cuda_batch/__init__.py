"""Batches of dense problems on a GPU: one warp or one block solves each problem.

Jonker and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987), as in :mod:`..serial_shortest_path`, but without lists.

Definitions. The *team* of a problem is the warp or the block that solves it. A *step* reads one row.

Invariants (those of :mod:`..serial_shortest_path`), and:

- Each thread of the team has the prices and distances of up to eight columns in registers.
- Prices and distances of integers stay within eight times the range of the costs, since as long as a row is
  free there is a free column at its first price.

::

    for each problem of a team:                                            solve_stack (kernel)
        copy the costs to shared memory, if enough problems fit            store_costs
        column reduction, if there are as many rows as columns             reduce_columns
        twice: augmenting row reduction of the free rows                   reduce_rows
        for each free row: match it along a shortest path                  search
            in each step, all threads relax a row, and reductions over warps find the nearest column
        write pairs, prices and the total                                  write

The time of a problem is that of a chain of dependent steps. So the kernel needs few steps (by the reductions,
and because ties are broken towards columns that end a search), short steps (all state in registers, costs in
shared memory), and many problems at a time.

Departures: integers are solved in 32 bits if the range of the costs is below 2**27. Floats are solved in
double precision, float32 costs as well, so that their prices prove as much as those from a CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...cuda.runtime import Macros
from ...cuda.structs import I64, U32, U64, ConstI64, ConstU32
from ...errors import SolverError, UnsuitableMethodError
from ...graph.device.costs import DeviceCosts
from ...solving.options import CheckedOptions, NonNegativeInteger
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..device_solution import DeviceSolution, make_solution, num_pairs
from ..solution import INFEASIBLE, STOPPED

SOURCE = Path(__file__).with_name("batch.cu")
WARP = 32
#: Problems of a block, if one warp solves each.
WARPS_OF_BLOCK = 4
#: Most columns of a thread, and most warps of a team.
MOST_COLUMNS_OF_THREAD, MOST_WARPS = 8, 16
MOST_COLUMNS = WARP * MOST_WARPS * MOST_COLUMNS_OF_THREAD
#: Most bytes of one load of costs.
LOAD_BYTES = 16
#: Up to ONE_WARP columns, a team is one warp; beyond, it has one warp per COLUMNS_OF_WARP columns.
ONE_WARP, COLUMNS_OF_WARP = 128, 128
#: With fewer than MANY_COLUMNS columns and at most FEW_ITEMS items per multiprocessor, each thread has one
#: column. On an H200, 256 items of 256 columns took 1.34 ms with one column per thread and 1.47 ms with four;
#: 2,000 items of 200 columns took 3.8 and 2.7 ms.
MANY_COLUMNS, FEW_ITEMS = 512, 4
#: Costs are copied to shared memory if this many problems fit that of a multiprocessor. 2,000 problems of 200
#: x 200 floats, of which one fits, took 8.8 ms with the copy and 3.8 ms without; 132 of them took the same
#: time. Of 1,000 problems of 100 x 100, five of float32 fit, and took 1.2 times as long with the copy; ten of
#: narrow integers 0.8 times.
LEAST_TOGETHER = 8
#: Integers whose range is below this are solved in 32 bits.
RANGE_OF_32_BITS = 2**27
#: Most costs of one launch.
COSTS_OF_LAUNCH = 2**28
#: Types of costs and of numbers, as numbered in batch.cu.
SOURCES = {"i4": 0, "i8": 1, "f4": 2, "f8": 3}
INT32, INT64, DOUBLE = range(3)
#: How an item ends besides SOLVED, STOPPED and INFEASIBLE: a search passed more columns than there are.
GAVE_UP = 4
#: The number of rows of counters, and the counters of a row.
COUNT_ROWS = 32
Count = IntEnum("Count", "NUM_INFEASIBLE NUM_GAVE_UP NUM_LARGE NUM_SEARCHES NUM_SCANS", start=0)
COUNTS = len(Count)


@dataclass(frozen=True)
class BatchOptions(CheckedOptions):
    """Options of batches on a GPU.

    Attributes
    ----------
    column_reduction : bool
        Start from the cheapest row of each column, if there are as many rows as columns.
    row_reduction : int
        The steps of each of the two passes of row reduction, per row; 0 for no reduction.
    shared : bool
        Copy costs to shared memory if they fit.
    warps : int
        The number of warps that solve one problem; 0 chooses it by the number of columns.
    """

    column_reduction: bool = True
    row_reduction: NonNegativeInteger = 1
    shared: bool = True
    warps: NonNegativeInteger = 0


class Arguments(NamedTuple):
    """Arguments of "solve_stack"."""

    costs: Annotated[AnyArray, "const Source*"]  #: of all items, by rows of `num_columns` costs
    sizes: ConstU32  #: number of rows and of columns of each item; read only if has_sizes
    has_sizes: int
    num_items: int
    num_rows: int
    num_columns: int
    maximize: int
    swapped: int  #: whether the costs are stored by columns
    base: int  #: bits of the cost that becomes 0 (integers), or of the least cost to minimise (floats)
    column_reduction: int
    reductions_a_row: int  #: steps of one pass of row reduction, per row
    bytes_a_team: int
    row: I64  #: num_pairs pairs of each item, then -1
    column: I64
    num_pairs: int
    row_price: Annotated[AnyArray, "Sum*"]
    column_price: Annotated[AnyArray, "Sum*"]
    total: Annotated[AnyArray, "Sum*"]
    ending: U32
    counts: U64
    stop: ConstI64


class Shape(NamedTuple):
    """Constants with which the kernel is compiled, and its launch; see batch.cu."""

    warps: int
    teams: int
    columns: int
    source: int
    number: int
    stored: int
    vector: int
    bytes_a_team: int

    @property
    def constants(self) -> Macros:
        """The macros of the compilation."""
        names = ("WARPS", "TEAMS", "COLUMNS", "SOURCE", "NUMBER", "STORED", "VECTOR")
        return tuple(zip(names, self[:7], strict=True))


def _rounded(size: int) -> int:
    """Return a number of bytes rounded up to a multiple of 16."""
    return -(-size // 16) * 16


def _bytes_of_state(size: int, warps: int, number: int) -> int:
    """Return the bytes of shared memory of a team, besides the costs, for up to `size` columns."""
    slots = 2 * warps * (32 if number == 8 else 16) if warps > 1 else 0
    looks = _rounded(8) + _rounded(4)
    return _rounded(number * size) + _rounded(slots) + looks + _rounded(4 * size) + 3 * _rounded(2 * size)


def _shape(costs: DeviceCosts, options: BatchOptions) -> Shape:
    """Return the constants and the launch of the kernel for costs."""
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


def _base(costs: DeviceCosts) -> int:
    """Return the bits of the cost that becomes 0 (integers), or of the least cost to minimise (floats)."""
    least, most = costs.extent.least, costs.extent.most
    if costs.values.dtype.kind == "i":
        return int(most if costs.maximize else least)
    return int(np.float64(-most if costs.maximize else least).view(np.int64))


def _num_ended(ending: NDArray[np.uint32]) -> int:
    """Return the number of items before the first one that was stopped."""
    stopped = np.flatnonzero(ending == STOPPED)
    return int(stopped[0]) if len(stopped) else len(ending)


def solve(costs: DeviceCosts, options: BatchOptions, control: Control, go_on: bool = False) -> DeviceSolution:
    """Assign all rows (all columns, if there are fewer) of every item at the best cost; `go_on` is ignored.

    O(n**2 m) time at worst for an item of n rows and m >= n columns. Memory on the device: 8 bytes per row
    and column and 16 bytes per pair of each item. UnsuitableMethodError above MOST_COLUMNS rows or columns.
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
            costs=values if whole else values[part],
            sizes=sizes if whole or costs.sizes is None else sizes[part],
            has_sizes=int(costs.sizes is not None),
            num_items=len(ending),
            num_rows=n,
            num_columns=m,
            maximize=int(costs.maximize),
            swapped=int(swapped),
            base=_base(costs),
            column_reduction=int(options.column_reduction),
            reductions_a_row=options.row_reduction,
            bytes_a_team=shape.bytes_a_team,
            row=row,
            column=column,
            num_pairs=pairs,
            row_price=u,
            column_price=v,
            total=total,
            ending=ending,
            counts=counts,
            stop=device.stop_word(control),
        )
        threads = WARP * shape.warps * shape.teams
        blocks = min(-(-len(ending) // shape.teams), max(1, device.most_threads // threads))
        shared = shape.bytes_a_team * shape.teams
        device.launch(
            SOURCE, "solve_stack", blocks, threads, arguments, shared_bytes=shared, constants=shape.constants
        )
        found = device.to_host(counts).reshape(COUNT_ROWS, COUNTS).sum(axis=0)
        done += _num_ended(device.to_host(ending)) if control.stopped else len(ending)
        control.progress[0] = 1.0 - done / items
    if found[Count.NUM_GAVE_UP]:
        raise SolverError(f"{found[Count.NUM_GAVE_UP]} searches passed more columns than there are")
    control.counts[AUGMENTATIONS], control.counts[ARC_SCANS] = (
        found[Count.NUM_SEARCHES],
        found[Count.NUM_SCANS],
    )
    num_infeasible = int(found[Count.NUM_INFEASIBLE])
    if done < items:
        num_infeasible = int((device.to_host(solution.ending)[:done] == INFEASIBLE).sum())
    return solution._replace(num_infeasible=num_infeasible, done=done, num_large=int(found[Count.NUM_LARGE]))
