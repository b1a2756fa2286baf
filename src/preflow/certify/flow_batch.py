"""Prove the maximum flows and minimum cuts of many networks at once, like :mod:`.cut` proves those of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index, Indices, Numbers
from ..graph.network_batch import FlowNetworkBatch
from ..graph.scaling import SUM_ERROR
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..solving.read_only import read_only_view

#: Sums of absolute values of integers up to this one fit int64; items with larger ones stay unproved here.
LARGEST_SUM = 2.0**62
#: Relative error that a sum of floats may have for each of its terms, see :mod:`.flow`.
ROUNDING = 2.0**-50


class Claims(NamedTuple):
    """Networks and what results claim about them; all arrays are read-only."""

    #: shape (items + 1,)
    first_arc: NDArray[np.int64]
    first_vertex: NDArray[np.int64]
    #: uint32
    tail: Indices
    head: Indices
    #: int64 or float64: `reverse` is empty where there are no reverse capacities
    capacity: Numbers
    reverse: Numbers
    #: shape (items,): distinct vertices of their networks
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    flow: Numbers  #: the dtype of the capacities
    sink_side: NDArray[np.bool_]
    source_side: NDArray[np.bool_]
    #: the dtype of the capacities, shape (items,)
    value: Numbers
    gap: Numbers
    #: relative errors of sums, for each term and for compensated sums; 0 for integers
    rounding: np.float64
    sum_error: np.float64
    most: np.float64  #: sums of absolute values must not be larger


@kernel
def cut_is_right(claims: Claims, item: Index, side: NDArray[np.bool_], is_sink_side: bool) -> bool:
    """Return whether a cut separates the terminals and has the capacity that value and gap claim."""
    source, sink = np.uint64(claims.source[item]), np.uint64(claims.sink[item])
    if side[sink] != is_sink_side or side[source] == is_sink_side:
        return False
    value = claims.value[item]
    zero = value - value
    total, error, size = zero, zero, 0.0
    for a in range(np.uint64(claims.first_arc[item]), np.uint64(claims.first_arc[item + ONE])):
        to_sink_side = bool(side[claims.head[a]] == is_sink_side)
        if bool(side[claims.tail[a]] == is_sink_side) == to_sink_side:
            continue
        amount = zero
        if to_sink_side:
            amount = claims.capacity[a]
        elif len(claims.reverse) > 0:
            amount = claims.reverse[a]
        size += np.float64(amount)
        if size > claims.most:
            return False
        # Kahan's sum; the error of integers is 0.
        amount -= error
        larger = total + amount
        error = (larger - total) - amount
        total = larger
    slack = np.float64(claims.gap[item]) + claims.sum_error * np.float64(total)
    return bool(total == value or np.float64(abs(total - value)) <= slack)


@kernel
def flow_is_right(claims: Claims, item: Index, balance: Numbers) -> bool:
    """Return whether a flow obeys the capacities, is conserved, and has the claimed value."""
    first, last = np.uint64(claims.first_vertex[item]), np.uint64(claims.first_vertex[item + ONE])
    begin, end = np.uint64(claims.first_arc[item]), np.uint64(claims.first_arc[item + ONE])
    value = claims.value[item]
    zero = value - value
    for v in range(last - first):
        balance[v] = zero
    size, largest = 0.0, 0.0
    for a in range(begin, end):
        amount = claims.flow[a]
        least = zero
        if len(claims.reverse) > 0:
            least = -claims.reverse[a]
        if not (least <= amount and amount <= claims.capacity[a]):
            return False
        size += abs(np.float64(amount))
        largest = max(largest, abs(np.float64(amount)))
        if not size <= claims.most:
            return False
        balance[claims.head[a]] += amount
        balance[claims.tail[a]] -= amount
    slack = claims.rounding * np.float64(end - begin + ONE) * min(largest, np.float64(value))
    source, sink = np.uint64(claims.source[item]), np.uint64(claims.sink[item])
    if not np.float64(abs(balance[sink] - value)) <= slack:
        return False
    balance[source] = zero
    balance[sink] = zero
    for v in range(last - first):
        if not np.float64(abs(balance[v])) <= slack:
            return False
    return True


@kernel
def prove_items(claims: Claims, balance: Numbers, proved: NDArray[np.bool_]) -> None:
    """Write which items are proved: their flows carry as much as the capacities of their cuts."""
    for k in range(len(proved)):
        item = np.uint64(k)
        first, last = claims.first_vertex[item], claims.first_vertex[item + ONE]
        proved[item] = (
            flow_is_right(claims, item, balance)
            and cut_is_right(claims, item, claims.sink_side[first:last], True)
            and cut_is_right(claims, item, claims.source_side[first:last], False)
        )


def unproved_items(
    batch: FlowNetworkBatch,
    source: NDArray[np.int64],
    sink: NDArray[np.int64],
    flow: Array,
    sink_side: NDArray[np.bool_],
    source_side: NDArray[np.bool_],
    value: Array,
    gap: Array,
) -> NDArray[np.int64]:
    """Return the items of which flow and cuts do not prove the value, in O(n + m).

    `sink_side` and `source_side`, shape (num_vertices,), are two cuts, which may differ. The check of floats
    is stricter than that of one network, and integers whose sums pass 2**62 are not checked. So an item that
    is returned may be right.
    """
    is_float = batch.capacity.dtype.kind == "f"
    errors = (ROUNDING, 4 * SUM_ERROR, np.finfo(np.float64).max) if is_float else (0.0, 0.0, LARGEST_SUM)
    rounding, sum_error, most = map(np.float64, errors)
    claimed = map(read_only_view, (source, sink, flow, sink_side, source_side, value, gap))
    claims = Claims._make((*batch.views(), *claimed, rounding, sum_error, most))
    proved = np.zeros(len(batch), dtype=bool)
    balance = np.zeros(int(batch.num_vertices.max(initial=0)), dtype=batch.capacity.dtype)
    prove_items(claims, balance, proved)
    return np.flatnonzero(~proved)
