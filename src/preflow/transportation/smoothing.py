"""Smoothed prices: Sinkhorn's iteration at falling temperatures, by several threads.

Cuturi, "Sinkhorn distances: lightspeed computation of optimal transport", NIPS 2013. The prices decide which
pairs are listed first, and where cost scaling starts. No result depends on their being right, so single
precision and a rough exponential function suffice.

Definitions. The *weight* of a pair is ``exp((price of the column - cost) / temperature)``. Prices are in
units of the *extent*, the largest cost less the least one. Costs are counted from the least one.

Pseudo-code::

    each thread, for some rows: write the costs in units of the extent, in single precision      narrow_rows
    for each temperature, a few times:
        each thread, for some rows (at first a sample of them):                           smooth_rows
            if it is the first time and few pairs are left: list those of small reduced cost        list_pairs
            scale the weights of the row, or of its list, such that they sum to its mass
            add them to the sums of the columns
        set the price of each column such that its weights would sum to its mass

Departures from the paper:

- The scaled weights of a row are the summands of the columns. So a step reads the costs once, not twice.
- The costs are narrowed once. A step is limited by the memory if there are many threads, and it then reads
  half as much. AVX2 has no instruction for the conversion of int64. Costs of points are computed, and
  narrowed, in each step: they are never stored.
- At low temperatures the pairs of a row whose reduced costs exceed the least one by much have no weight to
  speak of. They leave the list of the row for good (Schmitzer, "Stabilized sparse scaling algorithms for
  entropy regularized transport problems", SIAM J. Sci. Comput. 2019). A column without listed pairs keeps
  its price.
- ``exp(x)`` is ``(1 + x / 256)**256``, eight products that become vector instructions, and at least
  ``FLOOR**256``: without it a column that no row wants would have weights of zero.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Numbers
from ..kernels.atomics import fetch_add, relaxed_load
from ..kernels.branch_free import plus, smaller
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import make_barrier, wait
from ..parallel.pieces import run_pieces
from ..parallel.thread_pool import in_pool, run_natively, share_of
from ..solving.run import Control

Floats = NDArray[np.float32]
#: Takes the first row, the end and a stride; returns the first row and the costs of each block in turn.
Blocks = Callable[[int, int, int], Iterator[tuple[int, Array]]]

NONE, UNIT = np.float32(0), np.float32(1)
#: One over the power in the exponential function, and the least base: its power is 2e-28.
PART, FLOOR = np.float32(1 / 256), np.float32(0.78)
#: A row whose least cost is above this has no pairs.
FAR = np.float32(1e30)
#: The first temperature, as a part of the extent; and the last one, if divided by the number of rows or of
#: columns. They are those of `cuda-transport`.
HOTTEST, COLDEST = 0.1, 0.1
#: The least mass, as a part of all masses, in logarithms.
LEAST_MASS = 1e-20
#: Prices of columns are at least this below the largest one. Without pairs that are not allowed, optimal
#: prices differ by at most 1.
LOWEST = np.float32(-2)
#: Numbers below this one have no reciprocal.
LEAST_EXTENT = 2.0**-1000
#: Pieces of the rows of points for each thread.
PIECES = 2
#: Every STRIDE-th row is looked at as long as the temperature, divided by the extent and times
#: the number of rows, is at least HOT: the weights then are sums of many rows. Steps take SAMPLES in turn.
HOT, STRIDE, SAMPLES = 30, 4, (0, 2, 1, 3)
#: A row lists the pairs whose reduced costs exceed its least one by at most REACH temperatures, if these are
#: at most one of SHARE columns and at most MOST. Before, the weights of a column summed to its mass at about
#: twice the temperature, so that its largest weight was at least one of n: 2 log(n) temperatures away.
REACH, SHARE, MOST = np.float32(16), 5, 1024
#: Rows that a thread takes in turn.
TURN = np.uint64(16)
#: Floats of two cache lines.
LINE = np.uint64(32)


class Smooth(NamedTuple):
    """Smoothed prices of columns and the last temperature, in units of the costs."""

    price: NDArray[np.float64]
    temperature: float


class Narrowing(NamedTuple):
    """Costs, the least of them, one over the extent, and where they are written in units of the extent."""

    cost: Numbers
    least: np.float64
    unit: np.float64
    found: Floats
    num_threads: np.uint64


class Lists(NamedTuple):
    """The listed pairs of each row."""

    size: NDArray[np.int64]  #: shape (n,): the number of pairs; -1 where all pairs of the row count
    column: NDArray[np.uint32]  #: shape (n, most)
    cost: Floats  #: float32, shape (n, most)


class Rows(NamedTuple):
    """Rows, with costs in units of the extent."""

    cost: Floats
    mass: Floats
    lists: Lists


class Step(NamedTuple):
    """How a step differs from the others.

    `scale` is one over the temperature. `reach` is REACH temperatures if rows are to list their pairs, else
    0. Every `stride`-th row from `first` on counts.
    """

    scale: np.float32
    reach: np.float32
    first: np.uint64
    stride: np.uint64


class Work(NamedTuple):
    """The smoothing of stored costs by threads that share all but their rows of arrays of two dimensions."""

    rows: Rows
    #: shape (steps,): see :class:`Step`
    scale: Floats
    reach: Floats
    first: NDArray[np.uint64]
    stride: NDArray[np.uint64]
    wanted: Floats  #: float32, shape (m,): the logarithms of the masses of the columns
    price: Floats  #: float32, shape (m,): up to a constant
    #: float32, shape (threads, LINE): first in each row: the largest price of the thread's share of the
    #: columns
    highest: Floats
    #: float32, shape (threads, at least m): prices, the weights of a row, and sums of the columns
    own: Floats
    weight: Floats
    sums: Floats
    turn: NDArray[np.uint64]  #: shape (steps,): the first of the rows that no thread has taken
    stop: AnyArray  #: the stop flag
    left: NDArray[np.int64]  #: shape (1,): whether all threads leave: the solve is to stop
    barrier: NDArray[np.int64]
    num_threads: np.uint64


@kernel
def narrow_rows(
    cost: Numbers, least: np.float64, unit: np.float64, found: Floats, begin: np.uint64, end: np.uint64
) -> None:
    """Write the costs of some rows, counted from the least one, in units of the extent."""
    m = np.uint64(cost.shape[1])
    for i in range(begin, end):
        for j in range(m):
            found[i, j] = np.float32((np.float64(cost[i, j]) - least) * unit)


@kernel
def narrow_share(thread: np.uint64, narrowing: Narrowing) -> None:
    """Write the costs of a thread's share of the rows in units of the extent."""
    cost, least, unit, found, num_threads = narrowing
    begin, end = share_of(np.uint64(len(cost)), thread, num_threads)
    narrow_rows(cost, least, unit, found, begin, end)


narrow_together = in_pool("narrow_together", narrow_share)


@kernel
def list_pairs(rows: Rows, i: np.uint64, weight: Floats, limit: np.float32) -> None:
    """List the pairs of row `i` with reduced costs, in `weight`, of at most `limit`, unless they are many."""
    cost, lists = rows.cost, rows.lists
    m, count, size = np.uint64(cost.shape[1]), ZERO, ZERO
    for j in range(m):
        count += np.uint64(weight[j] <= limit)
    if count >= np.uint64(lists.column.shape[1]):
        return
    for j in range(m):
        # Without a branch, which would often be mispredicted. The last place is spare.
        lists.column[i, size], lists.cost[i, size] = j, cost[i, j]
        size += np.uint64(weight[j] <= limit)
    lists.size[i] = size


@kernel
def shorten_list(lists: Lists, i: np.uint64, weight: Floats, limit: np.float32) -> None:
    """Keep those listed pairs of row `i` whose reduced costs, in `weight`, are at most `limit`."""
    kept = ZERO
    for k in range(np.uint64(lists.size[i])):
        reduced = weight[k]
        lists.column[i, kept], lists.cost[i, kept] = lists.column[i, k], lists.cost[i, k]
        weight[kept] = reduced
        kept += np.uint64(reduced <= limit)
    lists.size[i] = kept


@kernel
def weigh(weight: Floats, size: np.uint64, lowest: np.float32, scale: np.float32) -> np.float32:
    """Turn `size` reduced costs, of which `lowest` is the least, into weights; return the sum of these."""
    slope, total = scale * PART, NONE
    for k in range(size):
        # The larger of two numbers is the smaller of their negatives.
        base = -smaller((weight[k] - lowest) * slope - UNIT, -FLOOR)
        base *= base
        base *= base
        base *= base
        base *= base
        base *= base
        base *= base
        base *= base
        base *= base
        weight[k] = base
        total = plus(total, base)
    return total


@kernel
def smooth_listed(rows: Rows, i: np.uint64, step: Step, price: Floats, weight: Floats, sums: Floats) -> None:
    """Add the weights of the listed pairs of row `i`, scaled to its mass, to the sums of the columns."""
    lists = rows.lists
    lowest = FAR
    for k in range(np.uint64(lists.size[i])):
        weight[k] = lists.cost[i, k] - price[lists.column[i, k]]
        lowest = smaller(weight[k], lowest)
    if step.reach > NONE:
        shorten_list(lists, i, weight, lowest + step.reach)
    size = np.uint64(lists.size[i])
    share = rows.mass[i] / weigh(weight, size, lowest, step.scale)
    for k in range(size):
        sums[lists.column[i, k]] += share * weight[k]


@kernel
def smooth_rows(
    rows: Rows, step: Step, price: Floats, weight: Floats, sums: Floats, begin: np.uint64, end: np.uint64
) -> None:
    """Scale the weights of some rows to their masses, and add them to the sums of the columns.

    The rows are those from `begin` to `end`, every `stride`-th one; `weight` has room for a row.
    """
    cost, listed = rows.cost, rows.lists.size
    m = np.uint64(cost.shape[1])
    for row in range(begin, end, step.stride):
        i = np.uint64(row)
        if listed[i] >= 0:
            smooth_listed(rows, i, step, price, weight, sums)
            continue
        # The least reduced cost without the price of the row.
        lowest = FAR
        for j in range(m):
            weight[j] = cost[i, j] - price[j]
            lowest = smaller(weight[j], lowest)
        if lowest >= FAR:
            continue
        if step.reach > NONE:
            list_pairs(rows, i, weight, lowest + step.reach)
        share = rows.mass[i] / weigh(weight, m, lowest, step.scale)
        for j in range(m):
            sums[j] += share * weight[j]


@kernel
def set_prices(
    price: Floats,
    own: Floats,
    sums: Floats,
    wanted: Floats,
    scale: np.float32,
    begin: np.uint64,
    end: np.uint64,
) -> np.float32:
    """Set the prices of some columns, `own` so far, by the sums of all threads; return the largest one."""
    highest = -FAR
    for j in range(begin, end):
        total = NONE
        for thread in range(np.uint64(len(sums))):
            total += sums[thread, j]
        price[j] = own[j]
        if total > NONE:
            price[j] += (wanted[j] - np.float32(math.log(total))) / scale
        highest = max(highest, price[j])
    return highest


@kernel
def lift_prices(price: Floats, highest: np.float32, own: Floats) -> None:
    """Write prices less the largest of them, at least LOWEST."""
    for j in range(np.uint64(len(price))):
        own[j] = max(price[j] - highest, LOWEST)


@kernel
def smooth_share(thread: np.uint64, work: Work) -> None:
    """Take all steps together with the other threads, unless the solve is to stop."""
    rows, num_threads = work.rows, work.num_threads
    m, own, weight, sums = (
        np.uint64(len(work.price)),
        work.own[thread],
        work.weight[thread],
        work.sums[thread],
    )
    for number in range(np.uint64(len(work.turn))):
        step = Step(work.scale[number], work.reach[number], work.first[number], work.stride[number])
        highest = work.highest[ZERO, ZERO]
        for other in range(num_threads):
            highest = max(highest, work.highest[other, ZERO])
        lift_prices(work.price, highest, own)
        for j in range(m):
            sums[j] = NONE
        size = np.uint64(len(rows.cost)) // step.stride
        while True:
            turn = fetch_add(work.turn, number, TURN)
            if turn >= size:
                break
            begin = step.first + turn * step.stride
            end = step.first + min(turn + TURN, size) * step.stride
            smooth_rows(rows, step, own, weight, sums, begin, end)
        if thread == ZERO:
            # One thread looks at the stop flag, so that all leave together.
            work.left[ZERO] = relaxed_load(work.stop, ZERO)
        if not wait(work.barrier, num_threads) or work.left[ZERO] != 0:
            return
        begin, end = share_of(m, thread, num_threads)
        work.highest[thread, ZERO] = set_prices(
            work.price, own, work.sums, work.wanted, step.scale, begin, end
        )
        if not wait(work.barrier, num_threads):
            return


smooth_together = in_pool("smooth_together", smooth_share)


def sums_of_block_columns(
    blocks: Blocks,
    origin: tuple[np.float64, np.float64],
    rows: Rows,
    step: Step,
    price: Floats,
    begin: int,
    end: int,
) -> Floats:
    """Return the sums of the scaled weights of a range of rows, by column.

    `origin` is the least cost and one over the extent; `rows` has no costs.
    """
    weight: Floats = np.empty(len(price), dtype=np.float32)
    sums: Floats = np.zeros(len(price), dtype=np.float32)
    if (rows.lists.size[begin:end] >= 0).all():
        smooth_rows(rows, step, price, weight, sums, np.uint64(begin), np.uint64(end))
        return sums
    stride = int(step.stride)
    start = begin + (int(step.first) - begin) % stride
    for first, cost in blocks(start, end, stride):
        part = slice(first, first + stride * len(cost), stride)
        narrowed: Floats = np.empty(cost.shape, dtype=np.float32)
        narrow_rows(cost, *origin, narrowed, ZERO, np.uint64(len(cost)))
        # Rows that are sampled have no lists yet.
        size, column, listed = rows.lists
        own = slice(first, first + len(cost))
        block = Rows(narrowed, rows.mass[part].copy(), Lists(size[own], column[own], listed[own]))
        smooth_rows(block, step._replace(stride=ONE), price, weight, sums, ZERO, np.uint64(len(cost)))
    return sums


def steps_at(temperatures: AnyArray, repeats: int, size: int) -> list[Step]:
    """Return `repeats` steps at each temperature, for `size` rows or columns."""
    steps = []
    for number, temperature in enumerate(np.repeat(temperatures, repeats)):
        hot = temperature * size >= HOT
        steps.append(
            Step(
                scale=np.float32(1 / temperature),
                reach=REACH * np.float32(0 if hot or number % repeats else temperature),
                first=np.uint64(SAMPLES[number % STRIDE] if hot else 0),
                stride=np.uint64(STRIDE if hot else 1),
            )
        )
    return steps


def smooth_prices(
    blocks: Blocks,
    dense: Array | None,
    extremes: tuple[float, float],
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    shape: tuple[int, int],
    control: Control,
) -> Smooth:
    """Return smoothed prices; those so far if the solve is to stop, zeros if floats cannot hold the extent.

    `blocks` takes the first row, the end and a stride; it returns the first rows and the costs of blocks.
    `dense` has all costs, if they are stored; the function keeps a copy in single precision while it runs.
    `extremes` are the least and the largest finite cost. The masses of rows and of columns do not sum to
    zero. `shape` is the number of temperatures, and of steps at each.
    """
    a, b = (side / side.sum() for side in masses)
    n, m = len(a), len(b)
    least, extent = float(extremes[0]), float(extremes[1]) - float(extremes[0])
    if not LEAST_EXTENT <= extent < math.inf:
        largest = max(-least, float(extremes[1])) if extent else 0.0
        return Smooth(np.zeros(m), largest * COLDEST / max(n, m))
    temperatures = np.geomspace(HOTTEST, COLDEST / max(n, m), shape[0]) if shape[0] > 1 else [HOTTEST]
    steps = steps_at(temperatures, shape[1], max(n, m))
    mass = np.maximum(a, LEAST_MASS).astype(np.float32)
    wanted = np.log(np.maximum(b, LEAST_MASS)).astype(np.float32)
    most = min(max(1, m // SHARE), MOST)
    lists = Lists(
        np.full(n, -1, dtype=np.int64), np.empty((n, most), np.uint32), np.empty((n, most), np.float32)
    )
    rows = Rows(np.empty((n if dense is not None else 0, m), dtype=np.float32), mass, lists)
    origin = np.float64(least), np.float64(1 / extent)
    if dense is not None:
        price = _smoothed_together(dense, origin, rows, steps, wanted, control)
    else:
        price = np.zeros(m, dtype=np.float32)
        for step in steps:
            share = partial(sums_of_block_columns, blocks, origin, rows, step, price)
            sums = np.array(run_pieces(share, n, control.threads, PIECES))
            if control.stopped:
                break
            raised: Floats = np.empty(m, dtype=np.float32)
            highest = set_prices(raised, price, sums, wanted, step.scale, ZERO, np.uint64(m))
            lift_prices(raised, np.float32(highest), price)
    with np.errstate(over="ignore"):
        found = np.maximum(price.astype(np.float64) * extent, -sys.float_info.max)
    return Smooth(found, float(temperatures[-1] * extent))


def _smoothed_together(
    dense: Array,
    origin: tuple[np.float64, np.float64],
    rows: Rows,
    steps: list[Step],
    wanted: Floats,
    control: Control,
) -> Floats:
    """Take all steps on all threads; return prices in units of the extent."""
    threads, m = control.threads, len(wanted)
    narrowing = Narrowing(dense, *origin, rows.cost, np.uint64(threads))
    run_natively(narrow_together, narrowing, threads)
    room = np.empty((3, threads, -(-m // int(LINE)) * int(LINE)), dtype=np.float32)
    scale, reach, first, stride = zip(*steps, strict=True)
    work = Work(
        rows=rows,
        scale=np.array(scale),
        reach=np.array(reach),
        first=np.array(first),
        stride=np.array(stride),
        wanted=wanted,
        price=np.zeros(m, dtype=np.float32),
        highest=np.zeros((threads, int(LINE)), dtype=np.float32),
        own=room[0],
        weight=room[1],
        sums=room[2],
        turn=np.zeros(len(steps), dtype=np.uint64),
        stop=control.stop,
        left=np.zeros(1, dtype=np.int64),
        barrier=make_barrier(threads),
        num_threads=np.uint64(threads),
    )
    run_natively(smooth_together, work, threads)
    price: Floats = np.empty(m, dtype=np.float32)
    lift_prices(work.price, work.highest[:, 0].max(), price)
    return price
