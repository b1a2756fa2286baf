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
            scale the weights of the row such that they sum to its mass
            add them to the sums of the columns
        set the price of each column such that its weights would sum to its mass

Departures from the paper:

- The scaled weights of a row are the summands of the columns. So a step reads the costs once, not twice.
- The costs are narrowed once. A step is limited by the memory if there are many threads, and it then reads
  half as much. AVX2 has no instruction for the conversion of int64. Costs of points are computed, and
  narrowed, in each step: they are never stored.
- ``exp(x)`` is ``(1 + x / 256)**256``, eight products that become vector instructions, and at least
  ``FLOOR**256``: without it a column that no row wants would have weights of zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Numbers
from ..kernels.branch_free import plus, smaller
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.pieces import run_pieces
from ..parallel.thread_pool import NativePool, address_of, entry_of, run_in_pool, run_natively, share_of
from ..solving.run import Control

Floats = NDArray[np.float32]
#: Calls ``work(cost, first)`` for the rows from `first` on, a block after the other, of a range of rows.
Blocks = Callable[[int, int], Iterator[tuple[int, Array]]]

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
LOWEST = -2.0
#: Numbers below this one have no reciprocal.
LEAST_EXTENT = 2.0**-1000
#: Pieces of the rows of points for each thread.
PIECES = 2
#: Every STRIDE-th row of dense costs is looked at as long as the temperature, divided by the extent and times
#: the number of rows, is at least HOT: the weights then are sums of many rows. Steps take SAMPLES in turn.
HOT, STRIDE, SAMPLES = 30, 4, (0, 2, 1, 3)
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


class Step(NamedTuple):
    """A step of smoothing; threads have rows of `weight` and `sums` of their own.

    `cost` is in units of the extent, and `scale` is one over the temperature.
    """

    cost: Floats
    price: Floats
    scale: np.float32
    mass: Floats
    weight: Floats
    sums: Floats
    first: np.uint64
    stride: np.uint64
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


@kernel
def narrow_together(pool: NativePool, num_threads: np.uint64, narrowing: Narrowing) -> None:
    """Write costs in units of the extent on `num_threads` threads."""
    run_in_pool(pool, num_threads, entry_of(narrow_share, narrowing), address_of(narrowing))


@kernel
def smooth_rows(step: Step, weight: Floats, sums: Floats, begin: np.uint64, end: np.uint64) -> None:
    """Scale the weights of some rows to their masses, and add them to the sums of the columns.

    The rows are those from `begin` to `end`, every `stride`-th one; `weight` has room for a row.
    """
    cost, price, mass = step.cost, step.price, step.mass
    m = np.uint64(len(price))
    for i in range(begin, end, step.stride):
        # The least reduced cost without the price of the row.
        lowest = FAR
        for j in range(m):
            weight[j] = cost[i, j] - price[j]
            lowest = smaller(weight[j], lowest)
        if lowest >= FAR:
            continue
        slope = step.scale * PART
        total = NONE
        for j in range(m):
            # The larger of two numbers is the smaller of their negatives.
            base = -smaller((weight[j] - lowest) * slope - UNIT, -FLOOR)
            base *= base
            base *= base
            base *= base
            base *= base
            base *= base
            base *= base
            base *= base
            base *= base
            weight[j] = base
            total = plus(total, base)
        share = mass[i] / total
        for j in range(m):
            sums[j] += share * weight[j]


@kernel
def smooth_share(thread: np.uint64, step: Step) -> None:
    """Sum the scaled weights of a thread's share of every `stride`-th row from `first` on."""
    begin, end = share_of(np.uint64(len(step.cost)) // step.stride, thread, step.num_threads)
    sums = step.sums[thread]
    for j in range(np.uint64(len(sums))):
        sums[j] = NONE
    begin, end = step.first + begin * step.stride, step.first + end * step.stride
    smooth_rows(step, step.weight[thread], sums, begin, end)


@kernel
def smooth_together(pool: NativePool, num_threads: np.uint64, step: Step) -> None:
    """Sum the scaled weights of rows on `num_threads` threads."""
    run_in_pool(pool, num_threads, entry_of(smooth_share, step), address_of(step))


def sums_of_block_columns(
    blocks: Blocks,
    origin: tuple[np.float64, np.float64],
    price: Floats,
    temperature: float,
    mass: Floats,
    begin: int,
    end: int,
) -> Floats:
    """Return the sums of the scaled weights of a range of rows, by column.

    `origin` is the least cost and one over the extent.
    """
    room: Floats = np.zeros((2, 1, len(price)), dtype=np.float32)
    sums, weight = room
    scale = np.float32(1 / temperature)
    for first, cost in blocks(begin, end):
        narrowed: Floats = np.empty(cost.shape, dtype=np.float32)
        narrow_rows(cost, *origin, narrowed, ZERO, np.uint64(len(cost)))
        part = mass[first : first + len(cost)]
        step = Step(narrowed, price, scale, part, weight, sums, ZERO, ONE, ONE)
        smooth_rows(step, weight[0], sums[0], ZERO, np.uint64(len(cost)))
    found: Floats = sums[0]
    return found


def smoothed(
    blocks: Blocks,
    dense: Array | None,
    extremes: tuple[float, float],
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    shape: tuple[int, int],
    control: Control,
) -> Smooth:
    """Return smoothed prices; those so far if the solve is to stop, zeros if floats cannot hold the extent.

    Parameters
    ----------
    blocks : function
        Returns the first row and the costs of consecutive blocks of a range of rows.
    dense : ndarray of shape (n, m), or None
        All costs, if they are stored. The function keeps a copy in single precision while it runs.
    extremes : (float, float)
        The least and the largest finite cost.
    masses : two arrays of int64
        Of rows and of columns; their sum is not zero.
    shape : (int, int)
        The number of temperatures, and of steps at each.
    control : Control
    """
    a, b = (side / side.sum() for side in masses)
    n, m = len(a), len(b)
    least, extent = float(extremes[0]), float(extremes[1]) - float(extremes[0])
    if not LEAST_EXTENT <= extent < math.inf:
        largest = max(-least, float(extremes[1])) if extent else 0.0
        return Smooth(np.zeros(m), largest * COLDEST / max(n, m))
    mass, wanted = np.maximum(a, LEAST_MASS).astype(np.float32), np.log(np.maximum(b, LEAST_MASS))
    column = np.zeros(m, dtype=np.float32)
    temperatures = np.geomspace(HOTTEST, COLDEST / max(n, m), shape[0]) if shape[0] > 1 else [HOTTEST]
    threads = control.threads
    width = -(-m // int(LINE)) * int(LINE)
    room = np.empty((2, threads, width), dtype=np.float32)
    origin = np.float64(least), np.float64(1 / extent)
    if dense is not None:
        narrowed: Floats = np.empty((n, m), dtype=np.float32)
        narrowing = Narrowing(dense, *origin, narrowed, np.uint64(threads))
        run_natively(narrow_together, narrow_share, narrowing, threads)
    for number, temperature in enumerate(np.repeat(temperatures, shape[1])):
        if dense is None:
            share = partial(sums_of_block_columns, blocks, origin, column, temperature, mass)
            sums = np.sum(run_pieces(share, n, threads, PIECES), axis=0, dtype=np.float64)
        else:
            sampled = temperature * max(n, m) >= HOT
            step = Step(
                narrowed, column, np.float32(1 / temperature), mass, room[0], room[1],
                np.uint64(SAMPLES[number % STRIDE] if sampled else 0),
                np.uint64(STRIDE if sampled else 1), np.uint64(threads),
            )  # fmt: skip
            run_natively(smooth_together, smooth_share, step, threads)
            sums = room[1, :, :m].sum(axis=0).astype(np.float64)
            if sampled:
                sums /= sums.sum()
        if control.stopped:
            break
        price = column + temperature * (wanted - np.log(np.maximum(sums, LEAST_MASS**2)))
        column = np.maximum(price - price.max(), LOWEST).astype(np.float32)
    return Smooth(column.astype(np.float64) * extent, float(temperatures[-1] * extent))
