"""Capacities of cuts, and the bounds that flows prove, for each item of a batch of grids.

The first axis of the grid is the item; no arc leads from one item to another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Number
from ..graph.grid import GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..graph.scaling import SUM_LENGTH, unscaled
from .grid import without_signs


class ItemBounds(NamedTuple):
    """Numbers of each item, as Python numbers; those of integers are exact."""

    lower: list[Number]  #: what the flow proves
    upper: list[Number]  #: the capacity of the cut
    size: list[Number]  #: a bound on the sum of the absolute values of all terms of `upper`


def sums_of_items(values: AnyArray) -> list[Number]:
    """Return the sum over all axes but the first; exact for integers.

    Floats are summed as by :func:`preflow.graph.scaling.float_sum`.
    """
    items = len(values)
    flat = values.reshape(items, values.size // max(items, 1))
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):
            while flat.shape[1] > SUM_LENGTH:
                whole = flat.shape[1] - flat.shape[1] % SUM_LENGTH
                sums = flat[:, :whole].reshape(items, -1, SUM_LENGTH).sum(axis=2, dtype=np.float64)
                if whole < flat.shape[1]:
                    sums[:, 0] += flat[:, whole:].sum(axis=1, dtype=np.float64)
                flat = sums
            return list(flat.sum(axis=1, dtype=np.float64).tolist())
    if flat.dtype.itemsize < 8 and flat.shape[1] < 2**31:
        return list(flat.sum(axis=1, dtype=np.int64).tolist())
    high, low = (flat >> 32).sum(axis=1).tolist(), (flat & (2**32 - 1)).sum(axis=1).tolist()
    return [(h << 32) + rest for h, rest in zip(high, low, strict=True)]


def energies_of_items(network: GridNetwork, labels: AnyArray) -> list[Number]:
    """Return the capacity of the cut of each item: see :func:`preflow.certify.grid.labelling_energy`."""
    xp = network.xp
    terms = [xp.where(labels, network.sink_capacity, network.source_capacity)]
    for pair in network.pairs():
        here, there = labels[pair.here], labels[pair.there]
        terms.append(xp.where(here & ~there, pair.forward, 0))
        terms.append(xp.where(there & ~here, pair.backward, 0))
    return [sum(parts) for parts in zip(*map(sums_of_items, terms), strict=True)]


def sizes_of_items(network: GridNetwork, labels: AnyArray, energies: list[Number]) -> list[Number]:
    """Return the sums of the absolute values of all terms: see :func:`preflow.certify.grid.energy_size`."""
    if min(least for least, _ in network.limits[:2]) >= 0:
        return energies
    xp = network.xp
    source, sink = (
        values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
        for values in (network.source_capacity, network.sink_capacity)
    )
    negative = sums_of_items(abs(xp.minimum(xp.where(labels, sink, source), 0)))
    lesser = sums_of_items(abs(xp.minimum(source, sink)))
    return [
        max(without_signs(total, below), least)
        for total, below, least in zip(energies, negative, lesser, strict=True)
    ]


def constants_of_items(network: GridNetwork, grid: IntegerGrid) -> list[int | float]:
    """Return the amount that was removed from both terminal capacities of each item."""
    whole = isinstance(grid.constant_flow, int)
    if not grid.reduced:
        return [0 if whole else 0.0] * network.shape[0]
    lesser = network.xp.minimum(network.source_capacity, network.sink_capacity)
    return sums_of_items(lesser.astype(np.int64 if whole else np.float64))


def lower_bounds_of_items(network: GridNetwork, grid: IntegerGrid, terminal: AnyArray) -> list[Number]:
    """Return the bound that a flow proves for each item: see :func:`preflow.certify.grid.lower_bound`."""
    left = sums_of_items(grid.xp.minimum(terminal, 0))
    return [
        unscaled(sink + rest, grid.scale_exponent, is_float=isinstance(constant, float)) + constant
        for sink, rest, constant in zip(
            sums_of_items(grid.sink), left, constants_of_items(network, grid), strict=True
        )
    ]


def bounds_of_items(
    network: GridNetwork, labels: AnyArray, grid: IntegerGrid, terminal: AnyArray
) -> ItemBounds:
    """Return what cuts and flows of all items prove.

    `network` has shape (items, ...), without arcs between items; `labels` is in its array module. `terminal`
    is what the flow leaves of the terminal capacities of `grid`, which was solved.
    """
    upper = energies_of_items(network, labels)
    lower = lower_bounds_of_items(network, grid, terminal)
    return ItemBounds(lower, upper, sizes_of_items(network, labels, upper))
