"""Assignments in which rows and columns may stay single at a cost.

Let a single row cost ``r[i]``, a single column ``k[j]`` and a pair ``c[i, j]``. A pair instead of two
singles changes the total by ``d[i, j] = c[i, j] - r[i] - k[j]``. So the best choice has only pairs with
``d < 0``, and of these the best matching of any size.

- Dense costs: an assignment of all rows (columns, if there are fewer) with the costs ``min(d, 0)`` costs as
  much. Pairs of cost 0 in it are two singles; conversely, any pairs can be completed with pairs that cost at
  most 0. The size stays the same.
- Sparse costs, distances of points on the CPU, and a dense matrix with few pairs of ``d < 0``: each row gets
  a column of its own, which costs 0 and means that the row is single.

Prices of the assignment, moved so that the largest price of a side that may be left over is 0, are at most 0
on both sides. A pair of cost 0 then has two prices of 0. So ``r`` and ``k`` plus these prices are at most the
costs of singles and pairs, and equal to those chosen: see :mod:`preflow.certify.singles`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array
from ...certify.singles import CHUNK, HostCostsOfPairs, Singles, proved_bound
from ...cuda import runtime
from ...cuda.runtime import is_on_gpu
from ...errors import InvalidInputError
from ...graph.cost_edges import CostEdges
from ...graph.cost_input import as_costs
from ...graph.costs import LARGEST_INTEGER, DenseCosts, SparseCosts
from ...graph.device.costs import DeviceCosts
from ...graph.edge_tables import in_order_of
from ...graph.placement import as_device_array, host_array
from ...graph.point_costs import PointCosts
from ...solving.call import Request
from ...solving.dispatch import find_method
from ..methods import METHODS
from ..result import AssignmentResult
from ..singles_result import AssignmentWithSinglesResult
from .call import AssignmentCall

AnyCosts = TypeVar("AnyCosts", bound=DenseCosts | SparseCosts | PointCosts | DeviceCosts)
#: Up to this part of useful pairs, a dense matrix is solved as a sparse one: its many equal costs are hard.
#: With about two useful pairs in each of 2,000 rows, that took 0.03 s instead of 2.9 s.
MOST_USEFUL = 0.1


class Reduced(NamedTuple):
    """The costs of pairs less those of two singles, to minimise.

    Attributes
    ----------
    cost : ndarray of shape (..., n, m), or CostEdges
        As the assignment problem.
    sizes : ndarray or None
    """

    cost: Array | CostEdges
    sizes: NDArray[np.int64] | None


def assign_with_singles(
    cost: AnyArray, maximize: bool, sizes: AnyArray, unmatched_cost: AnyArray, request: Request
) -> AssignmentWithSinglesResult:
    """Find the best pairs where singles have a cost: see :func:`preflow.linear_assignment`."""
    given = as_costs(cost, maximize, sizes, request.most_threads)
    costs: HostCostsOfPairs = given.on_host() if isinstance(given, DeviceCosts) else given
    if costs.base is not None:
        raise InvalidInputError("with unmatched_cost, integer costs are at most 2**59 in size")
    singles = _read_singles(costs, unmatched_cost)
    if singles.rows.dtype.kind == "f" and costs.dtype.kind == "i":
        costs, given = _as_floats(costs), _as_floats(given)
    _check_sums(costs, singles)
    reduced = _reduced(
        costs, singles, request.method == "auto" and request.device != "cuda", _on_gpu(request)
    )
    call = AssignmentCall.prepare(reduced.cost, False, reduced.sizes, False, request)
    found = call.run(call.assignment, request)
    with given.current():
        return _result(costs, given, singles, found)


def _as_floats(costs: AnyCosts) -> AnyCosts:
    if isinstance(costs, PointCosts):
        return costs
    with costs.current():
        return replace(costs, values=costs.values.astype(np.float64))


def _read_singles(costs: HostCostsOfPairs, given: AnyArray) -> Singles:
    """Return the costs of single rows and columns of each item, with one dtype."""
    items, n, m = costs.shape
    both = given if isinstance(given, tuple) else (given, given)
    if len(both) != 2:
        raise InvalidInputError(
            f"unmatched_cost is a number, or a tuple (rows, columns), got a tuple of {len(both)}"
        )
    found = []
    labels = (None, None) if isinstance(costs, PointCosts) else costs.labels or (None, None)
    for values, size, side in ((both[0], n, "rows"), (both[1], m, "columns")):
        values = in_order_of(labels[side == "columns"], values, f"unmatched_cost of {side}")
        numbers = _on_host(values) if is_on_gpu(values) else host_array(values, f"unmatched_cost of {side}")
        if numbers.dtype.kind not in "biuf":
            raise InvalidInputError(f"unmatched_cost of {side} must be numbers, got {values!r}")
        if numbers.dtype.kind == "f":
            numbers = numbers.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InvalidInputError(f"unmatched_cost of {side} must be finite")
        if numbers.dtype.kind != "f":
            if numbers.size and max(int(numbers.max()), -int(numbers.min())) > LARGEST_INTEGER:
                raise InvalidInputError(f"unmatched_cost of {side} is past 2**59")
            numbers = numbers.astype(np.int64)
        try:
            found.append(np.broadcast_to(numbers, (*_leading(costs), size)).reshape(items, size))
        except ValueError:
            raise InvalidInputError(
                f"unmatched_cost of {side} has shape {numbers.shape}, expected one number or ({size},)"
            ) from None
    dtype = np.result_type(*found, np.float64 if costs.dtype.kind == "f" else np.int64)
    return Singles(*(np.ascontiguousarray(part, dtype=dtype) for part in found))


def _on_host(values: AnyArray) -> Array:
    device = runtime.find_device()
    return device.to_host(as_device_array(device, values, "unmatched_cost", "problem"))


def _leading(costs: HostCostsOfPairs) -> tuple[int, ...]:
    """Return the leading dimensions of a batch; none for a sparse matrix."""
    return costs.leading if isinstance(costs, DenseCosts) else ()


def _check_sums(costs: HostCostsOfPairs, singles: Singles) -> None:
    """Refuse integers whose sums might wrap."""
    if costs.dtype.kind != "i" or isinstance(costs, PointCosts):
        return
    _, n, m = costs.shape
    parts = (costs.values, *singles)
    largest = max((max(int(part.max()), -int(part.min())) for part in parts if part.size), default=0)
    if largest * 3 * (n + m) >= 2**62:
        raise InvalidInputError("integer costs and unmatched_cost could add up to more than 2**62")


def _on_gpu(request: Request) -> bool:
    """Return whether the caller asks for a GPU, by the device or by a method."""
    if request.device == "cuda" or request.method == "auto":
        return request.device == "cuda"
    return find_method(METHODS, request.method).device == "cuda"


def _reduced(costs: HostCostsOfPairs, singles: Singles, may_choose: bool, on_gpu: bool) -> Reduced:
    """Return the assignment problem.

    `may_choose` says whether dense costs may become sparse. Methods on a GPU take no sparse costs, so the
    distances of points become dense ones for them.
    """
    sign = -1 if costs.maximize else 1
    _, n, m = costs.shape
    if isinstance(costs, SparseCosts):
        row, column = costs.row, costs.column.astype(np.int64)
        change = sign * (costs.values - singles.rows[0][row] - singles.columns[0][column])
        useful = change < 0
        return Reduced(_with_columns_of_singles(row[useful], column[useful], change[useful], n, m), None)
    if isinstance(costs, PointCosts) and on_gpu:
        change = costs.block(0, n) - singles.rows[0, :, None]
        change -= singles.columns[0]
        change *= sign
        return Reduced(np.minimum(change, 0, out=change)[None], None)
    if isinstance(costs, PointCosts):
        return Reduced(_with_columns_of_singles(*_useful_points(costs, singles), n, m), None)
    change = costs.values - singles.rows[:, :, None]
    change -= singles.columns[:, None, :]
    change *= sign
    if may_choose and not costs.leading:
        useful = change[0] < 0
        if np.count_nonzero(useful) <= MOST_USEFUL * useful.size:
            row, column = np.nonzero(useful)
            return Reduced(_with_columns_of_singles(row, column, change[0][useful], n, m), None)
    np.minimum(change, 0, out=change)
    sizes = None if costs.sizes is None else costs.sizes.reshape(*costs.leading, 2)
    return Reduced(change.reshape(*costs.leading, *change.shape[1:]), sizes)


def _useful_points(
    costs: PointCosts, singles: Singles
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of points that are better than two singles: rows, columns, and what they change.

    Distances are computed some rows at a time: O(n m) time, memory for the pairs only.
    """
    sign = -1 if costs.maximize else 1
    _, n, m = costs.shape
    step = max(1, CHUNK // max(m, 1))
    parts: list[tuple[Array, ...]] = []
    for begin in range(0, n if m else 0, step):
        change = costs.block(begin, begin + step) - singles.rows[0, begin : begin + step, None]
        change -= singles.columns[0]
        change *= sign
        row, column = np.nonzero(change < 0)
        parts.append((row + begin, column, change[row, column]))
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    row, column, change = (np.concatenate(part) for part in zip(*parts, strict=True))
    return row, column, change


def _with_columns_of_singles(
    row: NDArray[np.int64], column: NDArray[np.int64], change: Array, n: int, m: int
) -> CostEdges:
    """Return pairs with their costs, and a column of cost 0 for each row."""
    alone = np.arange(n)
    values = np.concatenate([change, np.zeros(n, dtype=change.dtype)])
    return CostEdges(np.concatenate([row, alone]), np.concatenate([column, m + alone]), values, (n, m + n))


def _result(
    costs: HostCostsOfPairs,
    of_caller: HostCostsOfPairs | DeviceCosts,
    singles: Singles,
    found: AssignmentResult,
) -> AssignmentWithSinglesResult:
    """Return the pairs that are better than two singles, the total cost, and the prices that prove it.

    `of_caller` are the same costs where the caller has them: there go the arrays of the result.
    """
    items, n, m = costs.shape
    leading = _leading(costs)
    row, column, u, v = (
        np.array(found._by_item(part)) for part in (found.row, found.column, found.u, found.v)
    )
    sizes = costs.sizes if isinstance(costs, DenseCosts) else None
    counts = np.tile(np.array([n, m]), (items, 1)) if sizes is None else sizes
    row, column, total = _better_pairs(costs, singles, row, column)
    inside = np.arange(n) < counts[:, :1], np.arange(m) < counts[:, 1:]
    for part, counted in zip(singles, inside, strict=True):
        total += np.where(counted, part, 0).sum(axis=1)
    u, v = _prices(u.astype(total.dtype), v.astype(total.dtype), inside, counts, m)
    sign = -1 if costs.maximize else 1
    u = np.where(inside[0], singles.rows + sign * u, 0)
    v = np.where(inside[1], singles.columns + sign * v, 0)
    bound = total
    if found.status != "optimal":
        bound = np.array([_bound(costs, singles, u, v, item) for item in range(items)])
    lower, upper = (total, bound) if costs.maximize else (bound, total)

    def given(values: Array, each: tuple[int, ...] = ()) -> Any:
        """Return values of all items as the caller's kind of array; a number for a single value."""
        shape = (*leading, *each)
        if not shape:
            return values.tolist()[0]
        return of_caller.to_caller(of_caller.xp.asarray(values.reshape(shape)))

    row, column, u, v = (given(part, part.shape[1:]) for part in (row, column, u, v))
    return AssignmentWithSinglesResult(
        status=found.status,
        lower_bound=given(lower),
        upper_bound=given(upper),
        stats=found.stats,
        row=row,
        column=column,
        u=u,
        v=v,
        costs=of_caller,
        partial=True,
        unmatched_cost=(given(singles.rows, (n,)), given(singles.columns, (m,))),
    )


def _better_pairs(
    costs: HostCostsOfPairs, singles: Singles, row: Array, column: Array
) -> tuple[Array, Array, Array]:
    """Return the pairs that cost less than two singles, with -1 behind those of each item.

    The third array has what the pairs of each item change in the cost of all singles.
    """
    items, _, m = costs.shape
    where = np.arange(items)[:, None]
    pair = (row >= 0) & (column < m)
    places = where, np.where(pair, row, 0), np.where(pair, column, 0)
    change = np.zeros(row.shape, dtype=singles.rows.dtype)
    if pair.any():
        value = (
            costs.at(0, row[pair], column[pair])
            if isinstance(costs, SparseCosts | PointCosts)
            else costs.values[places][pair]
        )
        change[pair] = value - singles.rows[places[0], places[1]][pair]
        change[pair] -= singles.columns[places[0], places[2]][pair]
    pair &= (-change if costs.maximize else change) < 0
    change[~pair] = 0
    order = np.argsort(~pair, axis=1, kind="stable")
    row, column, pair = (np.take_along_axis(part, order, axis=1) for part in (row, column, pair))
    row[~pair], column[~pair] = -1, -1
    most = int(pair.sum(axis=1).max(initial=0))
    return np.ascontiguousarray(row[:, :most]), np.ascontiguousarray(column[:, :most]), change.sum(axis=1)


def _prices(
    u: Array, v: Array, inside: tuple[Any, Any], counts: NDArray[np.int64], m: int
) -> tuple[Array, Array]:
    """Return prices of at most 0: see the module."""
    lowest = np.iinfo(np.int64).min if u.dtype.kind == "i" else -np.inf
    extra = np.ones((len(v), v.shape[1] - m), dtype=bool)  # the columns of single rows
    counted = np.concatenate([np.broadcast_to(inside[1], (len(v), m)), extra], axis=1)
    of_rows = np.where(inside[0], u, lowest).max(axis=1, initial=lowest)
    of_columns = np.where(counted, v, lowest).max(axis=1, initial=lowest)
    wide = counts[:, 0] <= counts[:, 1] + extra.shape[1]
    shift = np.where(wide, of_columns, -np.where(of_rows == lowest, 0, of_rows))
    shift = np.where((of_columns == lowest) & wide, 0, shift)[:, None]
    return np.minimum(u + shift, 0), np.minimum(v[:, :m] - shift, 0)


def _bound(costs: HostCostsOfPairs, singles: Singles, u: Array, v: Array, item: int) -> Any:
    one = costs.one(item)
    _, n, m = one.shape
    own = Singles(singles.rows[item, :n], singles.columns[item, :m])
    return proved_bound(one, own, u[item, :n], v[item, :m])
