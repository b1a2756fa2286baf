"""One call of linear_assignment: copy the costs to a GPU if need be, solve, complete and wrap the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array
from ...certify.assignment import StoppedError
from ...certify.exact import ExactPrices, accurate_sum
from ...cuda.runtime import Device
from ...errors import CostOverflowError, InfeasibleError, InvalidInputError, SolverError
from ...graph.cost_input import as_costs
from ...graph.costs import DenseCosts, SparseCosts
from ...graph.device.costs import DeviceCosts, copied_to_device
from ...graph.device.points import DevicePoints, points_on_device
from ...graph.placement import gpu_of_method, gpu_worth_using
from ...graph.point_costs import PointCosts
from ...parallel.pieces import run_pieces
from ...solving.call import Call, Request
from ...solving.dispatch import find_method, thread_count
from ...solving.plan import Plan
from ...solving.timing import timed
from ...stats import AssignmentStats
from ..device_solution import DeviceSolution
from ..most_pairs import solve_with_most_pairs
from ..policy import choose, worth_a_gpu
from ..problem import METHODS
from ..result import AssignmentResult
from ..serial_shortest_path.points import row_minima
from ..solution import INFEASIBLE, OVERFLOW, REFUSED, STOPPED, Solution, unsolved
from .device_results import (
    Costs,
    bounds,
    finish_on_host,
    forget_rest,
    infeasible_items,
    large_and_unproved,
    totals,
)
from .float_proof import LARGE, SOLVED_AGAIN, bound_of_prices, proves, solve_proved

if TYPE_CHECKING:
    from ..serial_cost_scaling import Start

#: The most work of a quick solve. A quick solve runs in the caller's thread, so Ctrl-C takes effect only when
#: it ends, 0.1 s later at worst. To hand a solve to another thread takes 0.02 to 0.05 ms, as long as the
#: smallest solves. The unit of work is to read one cost of a dense matrix by shortest paths, which at worst
#: read all costs once for each row. For sparse costs, and for other methods, one cost counts as OTHER_WORK
#: units.
QUICK_WORK, OTHER_WORK = 2**24, 16
#: A solve on a GPU is quick if it has at most QUICK_DEVICE_COSTS costs, or if its teams, of which
#: ITEMS_AT_ONCE run at the same time, read at most QUICK_ROWS rows one after the other: at worst all rows of
#: an item for each of them. A solve of points is quick if it has fewer than QUICK_POINTS rows and columns
#: together.
QUICK_DEVICE_COSTS, ITEMS_AT_ONCE, QUICK_ROWS, QUICK_POINTS = 2**20, 1024, 2**16, 500
#: The least number of pairs for each thread, where threads add up the costs of pairs.
LEAST_PAIRS = 100_000
#: The method that solves an item on the host if a method on a GPU found no assignment of all its rows, or
#: prices that do not prove its assignment.
ON_HOST = "serial-shortest-path"
#: Methods that consist of shortest augmenting paths only.
BY_PATHS = ("serial-shortest-path", "multicore-shortest-path")


class Found(NamedTuple):
    """The solution of all items, with the caller's rows and columns; fields as in AssignmentResult.

    `total` is the sum of the costs of each item's pairs, if the method has computed it.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    u: Array
    v: Array
    stopped: bool
    total: Array | None = None


@dataclass(kw_only=True)
class AssignmentCall(Call[Costs | DeviceCosts]):
    """One call of linear_assignment."""

    device: Device | None
    #: whether rows and columns may be left over even if there are as many rows as columns
    partial: bool
    leading: tuple[int, ...]  #: the leading dimensions of the caller's costs
    #: whether it is known that solvers can add up the costs; otherwise the method checks this
    checked: bool = True
    #: the indices of the items that this call solves; None: all items
    names: NDArray[np.int64] | None = None
    huge: bool = False  #: whether some float is too large to be added up
    #: where the bids of one square matrix of sparse integer costs start
    start: Start | None = None
    #: the gaps of items of the whole call that are not those of an optimal answer
    gaps: dict[int, float] = field(default_factory=dict)
    #: the prices of items of the whole call that prices of floats do not prove
    exact: dict[int, ExactPrices] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls, cost: AnyArray, maximize: bool, sizes: AnyArray, partial: bool, request: Request
    ) -> AssignmentCall:
        """Read the costs and choose the method."""
        seconds: dict[str, float] = {}
        with timed(seconds, "build"):
            costs = as_costs(cost, maximize, sizes, request.most_threads, check=False)

        def plan() -> Plan:
            # A caller who names a number of threads wants the CPU, even if the costs are on a GPU.
            device = "cpu" if request.device == "auto" and request.threads is not None else request.device
            gpu = gpu_worth_using(costs, worth_a_gpu, request.may_look_for_gpu)
            return choose(costs, device, request.most_threads, gpu)

        method, chosen = request.choose(plan)
        checked = not (method.checks and isinstance(costs, DenseCosts) and costs.sizes is None)
        if checked and isinstance(costs, DenseCosts):
            with timed(seconds, "build"):
                costs = costs.fitted(request.most_threads)
        if isinstance(costs, PointCosts) and not method.points:
            raise InvalidInputError(f"method {method.name!r} takes no PointCosts")
        if method.memory == "device" and isinstance(costs, SparseCosts):
            raise InvalidInputError(f"method {method.name!r} takes dense costs")
        return cls(
            instance=costs,
            device=gpu_of_method(costs, method),
            partial=partial,
            leading=costs.leading,
            checked=checked,
            huge=costs.huge,
            method=method,
            plan=chosen,
            threads=thread_count(method, chosen.threads, costs.shape[0] * costs.shape[1]),
            seconds=seconds,
        )

    @property
    def gpu(self) -> Device | None:
        """The GPU that stores the costs and the solution while the method runs."""
        return self.device if self.method.memory == "device" else None

    @cached_property
    def costs(self) -> DenseCosts | SparseCosts | PointCosts:
        """The costs in host memory."""
        if not isinstance(self.instance, DeviceCosts):
            return self.instance
        with self.timed("download"):
            return self.instance.on_host()

    @cached_property
    def solved(self) -> DenseCosts | SparseCosts | PointCosts:
        """Costs to minimise with no more rows than columns."""
        with self.timed("build"):
            return self.costs.to_minimize()

    def is_quick(self, request: Request) -> bool:
        """Whether the solve takes about 0.1 s at worst, whatever the costs are."""
        if isinstance(self.instance, PointCosts):
            return sum(self.instance.shape) <= QUICK_POINTS
        if self.gpu is not None:
            items, *sides = self.instance.shape
            rows = -(-items // ITEMS_AT_ONCE) * min(sides) ** 2
            return bool(rows <= QUICK_ROWS or self.instance.values.size <= QUICK_DEVICE_COSTS)
        work = min(self.instance.shape[1:]) * self.instance.values.size
        plain = isinstance(self.instance, DenseCosts) and self.method.name in BY_PATHS
        return bool(work * (1 if plain else OTHER_WORK) <= QUICK_WORK)

    @property
    def transposed(self) -> bool:
        """Whether rows and columns are exchanged in `solved`."""
        return self.costs.shape[1] > self.costs.shape[2]

    def assignment(self) -> AssignmentResult:
        """Solve and return the result."""
        if self.gpu is not None and self.huge:
            self.control.remarks.append(f"costs too large to be added up: by {ON_HOST}")
            method = find_method(METHODS, ON_HOST)
            return self.part(method=method, options=method.make_options(None), device=None).assignment()
        if self.gpu is not None and 0 not in self.instance.shape:
            with self.gpu.current():
                return self.run_on_gpu(self.gpu)
        costs = self.costs
        if isinstance(costs, DenseCosts) and costs.sizes is not None:
            with self.timed("solve"):
                found = self.find_by_size(costs)
        else:
            _ = self.solved  # computed here, so that the time of the solve does not include it
            with self.timed("solve"):
                found = self.find()
        self.control.check_wanted()
        with self.timed("recover"):
            return self.wrap(found)

    def run_on_gpu(self, gpu: Device) -> AssignmentResult:
        """Solve the costs on a GPU."""
        costs = self.placed_on(gpu)
        with self.timed("solve"):
            found: DeviceSolution = self.method.solve(costs, self.options, self.control)
            if isinstance(costs, DeviceCosts):
                found = self.finish(found, costs)
            elif found.done and self.proves_too_little(gpu, found):
                self.control.remarks.append(SOLVED_AGAIN)
                found = finish_on_host(found, gpu.xp, [0], lambda item: self.costs, self.find_on_host)
        self.control.check_wanted()
        with self.timed("recover"):
            stopped = found.done < len(found.total)
            if stopped:
                forget_rest(found)
            lower = upper = totals(found, costs)
            if stopped:
                lower, upper = bounds(lower, found, costs, self.partial)
            row, column, u, v = found[:4]
            if isinstance(self.instance, DenseCosts) and self.instance.base is not None:
                return self.wrap(self.with_base_on_host(gpu, self.instance, found, stopped))
            return self.result(lower, upper, row, column, u, v, stopped)

    def with_base_on_host(
        self, gpu: Device, costs: DenseCosts, found: DeviceSolution, stopped: bool
    ) -> Found:
        """Return the solution on the host, the base of the costs added to prices: the GPU solved `values`."""
        row, column, u, v = (gpu.to_host(part) for part in found[:4])
        u, v = u.astype(object), v.astype(object)
        for item in range(len(u)):
            one = costs.one(item)
            _, n, m = one.shape
            u[item, :n], v[item, :m] = one.with_base(u[item, :n], v[item, :m])
        return Found(row, column, _fitting(u), _fitting(v), stopped)

    def placed_on(self, gpu: Device) -> DeviceCosts | DevicePoints:
        """Return the costs on a GPU."""
        if isinstance(self.instance, DeviceCosts):
            return self.instance
        assert not isinstance(self.instance, SparseCosts)
        with self.timed("upload"):
            if isinstance(self.instance, PointCosts):
                return points_on_device(self.instance, gpu)
            return copied_to_device(self.instance, gpu)

    def finish(self, found: DeviceSolution, costs: DeviceCosts) -> DeviceSolution:
        """Solve on the host what the GPU has not solved, and return the complete solution.

        These are items of floats whose prices do not prove their assignment, and infeasible items. Unless the
        caller accepts partial assignments, the first infeasible item raises InfeasibleError.
        """
        items, unproved = infeasible_items(found, costs), large_and_unproved(found, costs)
        if items and not self.partial and items[0] in found.violators:
            n, m = costs.shape[1:] if costs.sizes is None else costs.sizes[items[0]]
            violating, allowed = found.violators[items[0]]
            side, other = ("columns", "rows") if n > m else ("rows", "columns")
            named = self.names_of(side, violating), self.names_of(other, allowed)
            raise InfeasibleError(side, *named, self.index(items[0]))
        for names, what in (
            (items, "items without an assignment of all rows, or columns"),
            (unproved, "items with costs of very different size"),
        ):
            if names:
                self.control.remarks.append(f"{len(names):,} {what}, by {ON_HOST}")
        if items and not self.partial:
            self.find_on_host(costs.one_on_host(items[0]), items[0])
            raise SolverError(f"{self.method.name} found no assignment of item {items[0]}, {ON_HOST} did")
        left = sorted(items + unproved)
        return finish_on_host(found, costs.xp, left, costs.one_on_host, self.find_on_host)

    def proves_too_little(self, gpu: Device, found: DeviceSolution) -> bool:
        """Return whether a price of points exceeds LARGE times the total, and prices prove too little."""
        row, column, u, v, total = (gpu.to_host(part)[0] for part in found[:5])
        largest = max(float(np.abs(price).max()) for price in (u, v))
        if largest <= LARGE * abs(float(total)):
            return False
        try:
            return not proves(self.costs, row, column, u, v, total, self.control.stop)
        except StoppedError:
            return False

    def find_on_host(self, costs: Costs, item: int) -> Any:
        """Solve one item on the host; return its pairs and prices."""
        method = find_method(METHODS, ON_HOST)
        call = self.on_items(
            costs, np.array([item]), method=method, options=method.make_options(None), device=None
        )
        found = call.find()
        paired = found.row[0] >= 0
        return found.row[0][paired], found.column[0][paired], found.u[0], found.v[0]

    def find_by_size(self, costs: DenseCosts) -> Found:
        """Solve the items of each size together, one size after the other."""
        items, n, m = costs.shape
        dtype: Any = np.int64 if costs.values.dtype.kind == "i" else np.float64
        if costs.base is not None:
            dtype = object
        pairs = np.full((2, items, min(n, m)), -1)
        u, v = np.zeros((items, n), dtype), np.zeros((items, m), dtype)
        stopped = False
        for names, part in costs.by_size():
            found = self.on_items(part, names).find()
            pairs[0, names, : found.row.shape[1]] = found.row
            pairs[1, names, : found.row.shape[1]] = found.column
            u[names, : part.shape[1]], v[names, : part.shape[2]] = found.u, found.v
            stopped |= found.stopped
        most = int((pairs[0] >= 0).sum(axis=1).max(initial=0))
        return Found(pairs[0, :, :most], pairs[1, :, :most], _fitting(u), _fitting(v), stopped)

    def on_items(self, costs: Costs, names: NDArray[np.int64], **changes: Any) -> AssignmentCall:
        """Return a call that solves the items with the indices `names`."""
        return self.part(instance=costs, names=names, seconds={}, **changes)

    def find(self) -> Found:
        """Solve items that all have the same size."""
        items, n, m = self.solved.shape
        dtype = np.int64 if self.costs.dtype.kind == "i" else np.float64
        found = unsolved(items, n, m, dtype) if items * n * m == 0 else self.solve()
        u, v, total = found.u, found.v, found.total
        if found.row is None or self.transposed:
            row, column = _pairs(found.match, self.transposed)
        else:
            row, column = found.row, found.match
        if self.transposed:
            u, v = v, u
        if self.costs.maximize:
            u, v = -u, -v
            total = None if total is None else -total
        stopped = items * n * m > 0 and STOPPED in found.ending
        return Found(row, column, _fitting(u), _fitting(v), stopped, total)

    def solve(self) -> Solution:
        """Solve `solved` on the host; return its solution, or raise InfeasibleError."""
        if self.start is None:
            found = solve_proved(
                self.method, self.solved, self.options, self.control, self.partial, self.huge
            )
        else:
            assert isinstance(self.solved, SparseCosts)
            from ..serial_cost_scaling import solve_from

            found = solve_from(self.solved, self.options, self.control, self.partial, self.start)
        for item, gap in (found.gaps or {}).items():
            self.gaps[self.name(item)] = gap
        for item, exact in (found.exact or {}).items():
            self.exact[self.name(item)] = self.of_caller(exact)
        if not found.ending.any():
            return self.with_base(found)
        if not self.checked and isinstance(self.costs, DenseCosts):
            self.checked = True
            fitted = self.costs.fitted(self.threads)
            if fitted is not self.costs:
                self.instance, self.huge = fitted, fitted.huge
                del self.costs, self.solved
                return self.solve()
        if REFUSED in found.ending:
            raise SolverError(f"{self.method.name} refused costs that can be added up")
        if OVERFLOW in found.ending:
            raise self.overflow(found.ending)
        if INFEASIBLE in found.ending and not self.partial:
            raise self.infeasible(found)
        if STOPPED in found.ending:
            unproved = found.ending == STOPPED if self.partial else np.ones(len(found.ending), dtype=bool)
            for item in np.flatnonzero(unproved).tolist():
                found.u[item] = _row_minima(self.solved, item, found.v[item])
        found = self.with_base(found)
        for item in np.flatnonzero(found.ending == INFEASIBLE).tolist():
            self.solve_partially(found, item)
        return found

    def with_base(self, found: Solution) -> Solution:
        """Return the solution with the base of the costs added to prices: the method solved `values`."""
        base = self.solved.base
        if base is None:
            return found
        u = found.u.astype(object) + base[:, :, 0]
        return found._replace(u=u, v=found.v.astype(object), total=None)

    def solve_partially(self, found: Solution, item: int) -> None:
        """Replace the solution of an item by the best assignment with the largest number of pairs."""
        assert not isinstance(self.solved, PointCosts)  # all pairs are allowed

        def solve_all(costs: SparseCosts) -> Solution:
            costs = costs.with_base_of_rows()
            one = solve_proved(self.method, costs, self.options, self.control, huge=self.huge)
            for gap in (one.gaps or {}).values():
                self.gaps[self.name(item)] = self.gaps.get(self.name(item), 0.0) + gap
            return one if costs.base is None else one._replace(u=one.u.astype(object) + costs.base[:, :, 0])

        costs = self.solved.one(item).to_sparse()
        exact = solve_with_most_pairs(costs, solve_all, self.control, found, item)
        if exact is not None:
            self.exact[self.name(item)] = self.of_caller(exact)
        if found.ending[item] == OVERFLOW:
            raise self.overflow(found.ending)

    def name(self, item: int) -> int:
        """Return the number of an item in the whole call."""
        return item if self.names is None else int(self.names[item])

    def of_caller(self, exact: ExactPrices) -> ExactPrices:
        """Return prices of `solved` as those of the caller's costs."""
        u, v, exponent = exact
        u, v = (v, u) if self.transposed else (u, v)
        return ExactPrices(-u, -v, exponent) if self.costs.maximize else ExactPrices(u, v, exponent)

    def index(self, item: int) -> tuple[int, ...] | None:
        """Return the caller's index of an item of a batch; None for a single matrix."""
        place = np.unravel_index(self.name(item), self.leading) if self.leading else ()
        return tuple(int(i) for i in place) if self.leading else None

    def overflow(self, ending: Array) -> InvalidInputError:
        """Return the error for prices that are too large for exact integers."""
        index = self.index(int((ending == OVERFLOW).argmax()))
        where = "" if index is None else f" of matrix {index}"
        return InvalidInputError(
            f"the prices{where} pass 2**59: the range of the costs is too large for exact 64-bit integers"
        )

    def infeasible(self, found: AnyArray) -> InfeasibleError:
        """Return the error that names rows (or columns) which cannot all be paired."""
        index = self.index(int((found.ending == INFEASIBLE).argmax()))
        side, other = ("columns", "rows") if self.transposed else ("rows", "columns")
        violating, allowed = (
            self.names_of(side, found.violating_rows),
            self.names_of(other, found.violating_columns),
        )
        return InfeasibleError(side, violating, allowed, index)

    def names_of(self, side: str, numbers: Array | list[int]) -> tuple[Any, ...]:
        """Return the caller's labels of rows or columns, their numbers if there are none."""
        labels, found = self.instance.labels, np.asarray(numbers).tolist()
        return tuple(found) if labels is None else tuple(labels[side == "columns"][i] for i in found)

    def wrap(self, found: Found) -> AssignmentResult:
        """Return the result for a solution on the host."""
        row, column, u, v, stopped, total = found
        sign = -1 if self.costs.maximize else 1
        if stopped:
            bound, other = self.bound(u, v), np.full(len(u), sign * np.inf)
            lower, upper = (other, bound) if self.costs.maximize else (bound, other)
        else:
            lower = upper = self.total(row, column, u, v) if total is None else total
        with self.instance.current():
            return self.result(lower, upper, row, column, u, v, stopped)

    def result(
        self,
        lower: AnyArray,
        upper: AnyArray,
        row: AnyArray,
        column: AnyArray,
        u: AnyArray,
        v: AnyArray,
        stopped: bool,
    ) -> AssignmentResult:
        """Return the result, given the values of all items on the host or the GPU."""
        if self.gaps and not stopped:
            lower, upper = lower.copy(), upper.copy()
            for item, gap in self.gaps.items():
                if self.costs.maximize:
                    upper[item] = math.nextafter(float(upper[item]) + gap, math.inf)
                else:
                    lower[item] = math.nextafter(float(lower[item]) - gap, -math.inf)
        row, column, u, v = (self.to_caller(part, part.shape[1:]) for part in (row, column, u, v))
        return AssignmentResult(
            self.control.status(self.method, not stopped, close=not self.gaps),
            self.to_caller(lower),
            self.to_caller(upper),
            self.stats(AssignmentStats),
            row,
            column,
            u,
            v,
            self.instance,
            self.partial,
            _exact=self.exact or None,
        )

    def to_caller(self, values: AnyArray, each: tuple[int, ...] = ()) -> AnyArray:
        """Return values of all items as the caller's kind of array; a number for a single value."""
        shape = (*self.leading, *each)
        if not shape:
            return values.tolist()[0]
        if values.dtype == object:
            return values.reshape(shape)
        if values.shape != shape:
            values = values.reshape(shape)
        if self.gpu is None:
            values = self.instance.to_array_module(values)
        elif not isinstance(self.instance, DeviceCosts):
            values = self.gpu.to_host(values)
        return self.instance.to_caller(values)

    def total(self, row: Array, column: Array, u: Array, v: Array) -> Array:
        """Return the sum of the costs of the pairs of each item."""
        items, integer = len(row), self.costs.dtype.kind == "i"
        base = self.costs.base
        if base is None and items > 1 and not self.huge and (row >= 0).all():
            largest = max(_size(price) for price in (u, v)) if integer else 0
            if integer and row.shape[1] == u.shape[1] == v.shape[1] and largest * 2 * row.shape[1] < 2**63:
                # The prices of a pair add up to its cost exactly, and every row and column is in a pair.
                prices: Array = u.sum(axis=1) + v.sum(axis=1)
                return prices
            threads = min(self.threads, max(1, row.size // LEAST_PAIRS))
            parts = run_pieces(lambda begin, end: self.sums(row, column, begin, end), items, threads)
            if all(fits for _, fits in parts):
                return np.concatenate([sums for sums, _ in parts])
        totals: list[Any] = []
        for item in range(items):
            paired = row[item] >= 0
            values = self.costs.at(item, row[item][paired], column[item][paired])
            totals.append(sum(values.tolist()) if integer else accurate_sum(values))
            if not integer and not math.isfinite(totals[-1]):
                index = self.index(item)
                where = "" if index is None else f" of matrix {index}"
                raise CostOverflowError(f"the costs of the pairs{where} add up to more than float64 can hold")
            if base is not None:
                at_pairs = self.costs.base_at(item, row[item][paired], column[item][paired])
                totals[-1] += sum(at_pairs.tolist())
        if not integer:
            return np.array(totals, dtype=np.float64)
        fits = all(-(2**63) <= total < 2**63 for total in totals)
        return np.array(totals, dtype=np.int64 if fits else object)

    def sums(self, row: Array, column: Array, begin: int, end: int) -> tuple[Array, bool]:
        """Return the sum of the costs of the pairs of each item, and whether all sums fit 64 bits."""
        item = np.arange(begin, end)[:, None]
        at_pairs = self.costs.at(item, row[begin:end], column[begin:end])
        integer = at_pairs.dtype.kind == "i"
        fits = not integer or float(np.abs(at_pairs).max(initial=0)) * row.shape[1] < 2.0**62
        return at_pairs.sum(axis=1, dtype=np.int64 if integer else np.float64), fits

    def bound(self, u: Array, v: Array) -> Array:
        """Return the bound that the prices of each item prove; infinite with `partial`."""
        sign = -1 if self.costs.maximize else 1
        integer = self.costs.dtype.kind == "i"
        found = np.full(len(u), -sign * np.inf, dtype=object if integer else np.float64)
        for item in range(0 if self.partial else len(u)):
            _, n, m = self.costs.one(item).shape
            sides = sign * u[item, :n], sign * v[item, :m]
            found[item] = sign * bound_of_prices(*(sides if n <= m else sides[::-1]))
        return found


def _pairs(match: Array, transposed: bool) -> tuple[Array, Array]:
    """Return the rows and columns of all pairs by ascending rows; -1 after the last pair of an item."""
    order = np.zeros_like(match) + np.arange(match.shape[1])
    if not transposed and (match >= 0).all():
        return order, match
    size = (match >= 0).sum(axis=1)
    first, second = (match, order) if transposed else (order, match)
    key = np.where(match >= 0, first, np.iinfo(np.int64).max)
    places = np.argsort(key, axis=1, kind="stable")[:, : int(size.max(initial=0))]
    missing = np.arange(places.shape[1]) >= size[:, None]
    pairs = [np.take_along_axis(part, places, axis=1) for part in (first, second)]
    for part in pairs:
        part[missing] = -1
    return pairs[0], pairs[1]


def _fitting(values: Array) -> Array:
    """Return Python integers as int64 if all of them fit; other numbers unchanged."""
    if values.dtype != object:
        return values
    fits = not values.size or (values.min() >= -(2**63) and values.max() < 2**63)
    return values.astype(np.int64) if fits else values


def _size(values: NDArray[np.int64]) -> int:
    """Return the largest absolute value of integers; 0 if there are none."""
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))


def _row_minima(costs: DenseCosts | SparseCosts | PointCosts, item: int, v: Array) -> Array:
    """Return the least cost minus `v` in each row, the largest price it may have; 0 if no pair is allowed."""
    if isinstance(costs, PointCosts):
        return row_minima(costs, v)
    if isinstance(costs, DenseCosts):
        least = (costs.values[item] - v).min(axis=1)
        return least if least.dtype.kind == "i" else np.where(np.isfinite(least), least, 0.0)
    found = np.zeros(costs.shape[1], dtype=v.dtype)
    rows = np.flatnonzero(np.diff(costs.first))
    if len(rows):
        reduced = costs.values - v[costs.column]
        found[rows] = np.minimum.reduceat(reduced, costs.first[rows].astype(np.int64))
    return found


def assign_from(
    cost: AnyArray, start: Start, threads: int | None, time_limit: float | None
) -> AssignmentResult:
    """Return the best assignment with the most pairs of a square sparse matrix of integers.

    Cost scaling starts from prices near those of the assignment, as an earlier matrix had them. If not all
    rows can be paired, the parts of :mod:`.most_pairs` are solved without them.
    """
    request = Request(METHODS, "serial-cost-scaling", "cpu", threads, time_limit)
    call = AssignmentCall.prepare(cost, False, None, True, request)
    if isinstance(call.costs, SparseCosts) and call.costs.base is None:
        call.start = start
    return call.run(call.assignment, request)
