"""Smoothed prices: Sinkhorn's iteration at falling temperatures, by several threads.

Cuturi, "Sinkhorn distances: lightspeed computation of optimal transport", NIPS 2013. The prices decide which
pairs are listed first, and where cost scaling starts. No result depends on their being right, so single
precision and a rough exponential function suffice.

Definitions. The *weight* of a pair is ``exp((price of the column - cost) / temperature)``. Prices are in
units of the *extent*, the largest cost less the least one. Costs are counted from the least one.

Pseudo-code::

    for each temperature, a few times:
        each thread, for some rows:                                                       smooth_rows
            scale the weights of the row such that they sum to its mass
            add them to the sums of the columns
        set the price of each column such that its weights would sum to its mass

Departures from the paper:

- The scaled weights of a row are the summands of the columns. So a step reads the costs once, not twice.
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
from ..kernels.kernel import kernel
from ..parallel.pieces import run_pieces
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
#: Pieces of the rows for each thread.
PIECES = 2


class Smooth(NamedTuple):
    """Smoothed prices of columns and the last temperature, in units of the costs."""

    price: NDArray[np.float64]
    temperature: float


@kernel
def smooth_rows(
    cost: Numbers,
    least: np.float64,
    unit: np.float64,
    price: Floats,
    scale: np.float32,
    mass: Floats,
    weight: Floats,
    sums: Floats,
) -> None:
    """Scale the weights of some rows to their masses, and add them to the sums of the columns.

    `unit` is one over the extent, `scale` one over the temperature, and `weight` has room for a row.
    """
    m = np.uint64(len(price))
    for i in range(np.uint64(len(cost))):
        # The least reduced cost without the price of the row.
        lowest = FAR
        for j in range(m):
            weight[j] = np.float32((np.float64(cost[i, j]) - least) * unit) - price[j]
            lowest = smaller(weight[j], lowest)
        if lowest >= FAR:
            continue
        slope = scale * PART
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
def cheapest_rows(
    cost: Numbers, price: Numbers, first: np.uint64, value: Numbers, found: NDArray[np.int64]
) -> None:
    """Lower `value` of each column to the least cost plus price of these rows; keep the row in `found`."""
    m = np.uint64(len(value))
    for i in range(np.uint64(len(cost))):
        for j in range(m):
            reduced = cost[i, j] + price[i]
            if reduced < value[j]:
                value[j] = reduced
                found[j] = np.int64(first + i)


def sums_of_columns(
    blocks: Blocks,
    origin: tuple[float, float],
    price: Floats,
    temperature: float,
    mass: Floats,
    begin: int,
    end: int,
) -> Floats:
    """Return the sums of the scaled weights of a range of rows, by column.

    `origin` is the least cost and one over the extent.
    """
    sums, weight = np.zeros(len(price), dtype=np.float32), np.empty(len(price), dtype=np.float32)
    least, unit, scale = np.float64(origin[0]), np.float64(origin[1]), np.float32(1 / temperature)
    for first, cost in blocks(begin, end):
        smooth_rows(cost, least, unit, price, scale, mass[first : first + len(cost)], weight, sums)
    return sums


def smoothed(
    blocks: Blocks,
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
    for temperature in np.repeat(temperatures, shape[1]):
        share = partial(sums_of_columns, blocks, (least, 1 / extent), column, temperature, mass)
        sums = np.sum(run_pieces(share, n, control.threads, PIECES), axis=0, dtype=np.float64)
        if control.stopped:
            break
        price = column + temperature * (wanted - np.log(np.maximum(sums, LEAST_MASS**2)))
        column = np.maximum(price - price.max(), LOWEST).astype(np.float32)
    return Smooth(column.astype(np.float64) * extent, float(temperatures[-1] * extent))
