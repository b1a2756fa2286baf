"""The solution that solvers on a GPU return for a batch of dense problems."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Number
from ..graph.device.costs import DeviceCosts
from ..graph.device.points import DevicePoints


class DeviceSolution(NamedTuple):
    """The solution of the items of a batch, in the order of the caller's rows and columns."""

    #: CuPy array of int64, shape (items, k): the pairs, by ascending rows; -1 where an item has fewer
    row: AnyArray
    column: AnyArray
    #: CuPy array of int64 or float64, shapes (items, n) and (items, m)
    u: AnyArray
    v: AnyArray
    #: CuPy array of int64 or float64, shape (items,): the sums of the costs of the pairs; of integers, modulo
    #: 2**64
    total: AnyArray
    #: CuPy array of uint32, shape (items,): how the solve of each item ended; see :mod:`.solution`
    ending: AnyArray
    num_infeasible: int
    done: int  #: the solve of the first `done` items ended
    #: the next `num_priced` items have no pairs, but prices that exceed no cost and so prove a bound
    num_priced: int = 0
    #: the number of items of floats with a price above LARGE times the costs of their pairs, see
    #: :mod:`.api.float_proof`; None if the method has not counted them
    num_large: int | None = None
    #: for infeasible items, if the method knows them: a set of rows, and the columns that these rows are
    #: allowed, which are fewer; rows and columns exchanged if the item has fewer columns than rows
    violators: Mapping[int, tuple[list[int], list[int]]] = MappingProxyType({})


def num_pairs(costs: DeviceCosts | DevicePoints) -> int:
    """Return the largest number of pairs that an item can have."""
    if isinstance(costs, DevicePoints) or costs.sizes is None:
        return min(costs.shape[1:])
    return int(costs.sizes.min(axis=1).max())


def make_solution(costs: DeviceCosts | DevicePoints, number: Number) -> DeviceSolution:
    """Return an empty solution of a batch, with prices of dtype `number`."""
    xp, (items, n, m) = costs.xp, costs.shape
    pairs = num_pairs(costs)
    return DeviceSolution(
        row=xp.empty((items, pairs), dtype=np.int64),
        column=xp.empty((items, pairs), dtype=np.int64),
        u=xp.empty((items, n), dtype=number),
        v=xp.empty((items, m), dtype=number),
        total=xp.empty(items, dtype=number),
        ending=xp.empty(items, dtype=np.uint32),
        num_infeasible=0,
        done=0,
    )
