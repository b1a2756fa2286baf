"""transport: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array, EndsNames
from ..certify.device_transport import proofs_on_device
from ..certify.exact import exact_dot, rounded_up, scaled_exactly, times_powers
from ..certify.transport import (
    CHUNK,
    TransportCosts,
    TransportPlan,
    least_less_price,
    mass_exponent,
    on_host,
    plan_cost,
    price_bound,
    prices_of_rows,
)
from ..cuda.runtime import Device
from ..errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleFlowError,
    InvalidInputError,
    UnequalSumsError,
    UnsuitableMethodError,
)
from ..graph.cost_edges import is_batch, with_edges_read
from ..graph.cost_input import as_costs
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts, copied_to_device
from ..graph.device.points import DevicePoints, points_on_device
from ..graph.edge_tables import in_order_of, labels_of
from ..graph.network import exact_sum
from ..graph.placement import gpu_of_method, gpu_worth_using, host_values
from ..graph.point_costs import PointCosts
from ..graph.standard_form import MOST
from ..method_names import DeviceName, TransportMethodName
from ..progress import Reporter
from ..solving.call import Call, Request
from ..solving.dispatch import thread_count
from ..solving.plan import Plan
from ..solving.result import Status
from ..solving.run import Deadline
from ..solving.timing import timed
from ..stats import MinCostStats
from .batch import PlanBatch
from .left_over import Asked, LeftOver, PartialTransportResult
from .policy import choose, worth_a_gpu
from .problem import METHODS
from .refinement import Refinement, proved
from .result import TransportResult, result_of_batch
from .solution import DevicePlans, TransportFound

if TYPE_CHECKING:
    from .problem import DeviceSolver, HostSolver

#: Sums of float masses may differ by this part; POT has the same.
SCALED_BELOW = 1e-6
#: Up to this many rows and columns together, and pairs of all items, a solve on a GPU runs in the thread of
#: the caller: 64 items of 512 x 512 take 6 to 9 ms, to which handing it to another one would add.
QUICK_VERTICES, QUICK_PAIRS = 2048, 2**25
#: The same for a serial method of "auto", which takes milliseconds.
QUICK_COSTS = 10_000

#: No mass may stay.
ALL = Asked()


def transport(
    cost: AnyArray,
    a: ArrayLike,
    b: ArrayLike,
    *,
    partial: bool = False,
    amount: float | ArrayLike | None = None,
    unmatched_cost: AnyArray = None,
    method: TransportMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
    weight: str | None = None,
    ends: EndsNames = None,
) -> Any:
    """Find the cheapest plan that moves masses from rows to columns: exact optimal transport.

    Other names for it: the transportation problem, the earth mover's distance, ``ot.emd``, the Kantorovich
    problem; with distances of points as costs, the Wasserstein distance.

    Parameters
    ----------
    cost : array of shape (..., n, m), sparse matrix, edges, or PointCosts
        Cost of moving one unit from row i to column j. Infinite: not allowed. A sparse matrix allows only its
        stored entries. Leading dimensions are those of a batch. Edges, and labels of rows and columns, are as
        in :func:`preflow.linear_assignment`.
    a : array of shape (..., n), or mapping of rows to numbers
        Mass of each row, not negative; integers or floats. One array of shape (n,) holds for all items of a
        batch. If the costs have labels, a mapping or a Series of pandas has the masses by label, and labels
        that are left out have none.
    b : array of shape (..., m), or mapping of columns to numbers
        Mass of each column, with the same sum. Sums of floats may differ by up to 1e-6 of the sum, those of
        float32 by their rounding. The masses of the columns are then scaled to the sum of the rows, and `b`
        of the result has the scaled ones. A difference as small as rounding is added to the largest mass of
        the side with the smaller sum instead. Whole numbers are never scaled.
    partial : bool
        Let sums differ: move as much as possible, at the least cost. That is all of the side with the smaller
        sum, unless pairs that are not allowed stand in the way. The rest stays where it is.
    amount : int or float, or array of the leading dimensions of a batch, optional
        Move this much, at the least cost, and let the rest stay.
    unmatched_cost : number, or (rows, columns), optional
        What each unit costs that stays in its row, and each that a column lacks; as in
        :func:`preflow.linear_assignment`. Then any amount may be moved, and the total counts all.
    weight, ends : optional
        Of a table: the columns of costs, and of rows and columns, as in :func:`preflow.linear_assignment`.
    method : str
        A name from ``preflow.methods("transport")``, or "auto".
    device, threads, time_limit, progress, options
        As in :func:`preflow.max_flow`.

    Returns
    -------
    TransportResult, or a list of them for a batch
        A :class:`preflow.PartialTransportResult` if `partial`, `amount` or `unmatched_cost` is given.
        Exact for integer costs and masses; for floats within its `gap`, at most ``2**-40`` of the sum of the
        sizes of the terms of the cost. The status is "approximate" where float64 does not prove that.

    Raises
    ------
    InvalidInputError
        Wrong shapes or dtypes, NaN, negative masses, masses with different sums.
    InfeasibleError
        Pairs that are not allowed stand in the way; `vertices` of the error has ("row", i) and
        ("column", j) whose masses cannot leave them.
    CapacityOverflowError, CostOverflowError
        Integer masses sum to 2**62 or more, integer costs are too large, or the cost of a plan of floats is
        more than float64 can represent.

    Notes
    -----
    Network simplex with column generation: each round reads all costs once, and O(n + m) pairs are kept.
    Where masses may stay, costs are copied, and those of points are stored.

    Examples
    --------
    >>> import preflow
    >>> result = preflow.transport([[4, 1], [2, 3]], [3, 5], [4, 4])
    >>> result.cost, result.matrix().tolist()
    (14, [[0, 3], [4, 1]])
    >>> result.verify()

    Three units of stock are left over, where it is cheapest:

    >>> result = preflow.transport([[4, 1], [2, 3]], [6, 5], [4, 4], partial=True)
    >>> result.cost, result.matrix().tolist(), result.surplus.tolist()
    (12, [[0, 4], [4, 0]], [2, 1])
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    deadline = Deadline(time_limit)
    asked = Asked(partial, amount, unmatched_cost)
    call = TransportCall.prepare(cost, a, b, request, asked, weight=weight, ends=ends)
    try:
        results = call.run(call.transport, request)
    except InfeasibleFlowError as error:
        if not partial or call.left_over is None:
            if not asked:
                error.advising("partial", True, "moves as much as possible")
            raise
        results = call.as_much_as_possible(request, deadline)
    return results if call.batch else results[0]


@dataclass(kw_only=True)
class TransportCall(Call[Any]):
    """One call of transport."""

    #: shapes (items, n) and (items, m): as the caller gave them, on the host
    a: Array
    b: Array
    masses: tuple[NDArray[np.int64], NDArray[np.int64]]  #: the same as integers
    #: the masses of an item are multiplied by two to this power and rounded; None for an item of floats that
    #: are all integers. None if the caller gave integers.
    exponents: list[int | None] | None
    batch: bool
    device: Device | None
    left_over: LeftOver | None  #: where masses may stay: the instance is the larger problem

    @classmethod
    def prepare(
        cls,
        cost: AnyArray,
        a: ArrayLike,
        b: ArrayLike,
        request: Request,
        asked: Asked = ALL,
        **names: Any,
    ) -> TransportCall:
        """Read the costs, with `names` of the columns of a table, and the masses, and choose the method."""
        shape = None
        if isinstance(cost, tuple) and not is_batch(cost):
            shape = (*np.shape(a), 1)[0], (*np.shape(b), 1)[0]
        elif getattr(cost, "ndim", 2) == 1 and getattr(b, "ndim", 0) >= 2:
            raise InvalidInputError(f"cost has shape {tuple(cost.shape)}: the order is transport(cost, a, b)")
        seconds: dict[str, float] = {}
        with timed(seconds, "build"):
            costs: TransportCosts = as_costs(
                with_edges_read(cost, shape=shape, **names),
                False,
                threads=request.most_threads,
            )
        if getattr(costs, "base", None) is not None:
            raise InvalidInputError("integer costs are at most 2**59 in size")
        if getattr(costs, "sizes", None) is not None:
            raise InvalidInputError(
                "the matrices of a batch must have one shape here: solve others one by one, or fill them up "
                "with rows and columns of mass 0"
            )
        items, n, m = costs.shape
        rows, columns = costs.labels or (None, None)
        first = _masses(in_order_of(rows, a, "a", rest=0), "a", costs.leading, n, rows)
        second = _masses(in_order_of(columns, b, "b", rest=0), "b", costs.leading, m, columns)
        if not items or not n or not m:
            raise InvalidInputError(
                f"there is nothing to move: the costs have shape {(*costs.leading, n, m)}"
            )
        if asked:
            call = cls.leaving(LeftOver.of(costs, first, second, asked), request)
        else:
            try:
                call = cls._of(costs, first, second, request)
            except UnequalSumsError as error:
                raise error.advising("partial", True, "leaves the rest where it is") from None
        call.count(seconds)
        return call

    @classmethod
    def leaving(cls, left_over: LeftOver, request: Request) -> TransportCall:
        """Return the call that solves the larger problem."""
        return cls._of(left_over.costs, *left_over.masses, request, left_over)

    @classmethod
    def _of(
        cls,
        costs: TransportCosts,
        a: Array,
        b: Array,
        request: Request,
        left_over: LeftOver | None = None,
    ) -> TransportCall:
        _, n, m = costs.shape
        first, second = with_equal_sums(a, b)
        masses, exponents = _integer_masses(first, second)
        if exponents is not None:
            first, second = first.astype(np.float64), second.astype(np.float64)

        def plan() -> Plan:
            gpu = gpu_worth_using(costs, worth_a_gpu, request.may_look_for_gpu)
            return choose(costs, request.device, request.most_threads, gpu)

        method, chosen = request.choose(plan)
        if method.device == "cuda" and isinstance(costs, SparseCosts):
            raise InvalidInputError(
                f"method {method.name!r} takes dense costs and points, not a sparse matrix"
            )
        return cls(
            instance=costs,
            a=first,
            b=second,
            masses=masses,
            exponents=exponents,
            batch=bool(costs.leading),
            method=method,
            plan=chosen,
            threads=thread_count(method, chosen.threads, n + m),
            device=gpu_of_method(costs, method),
            left_over=left_over,
        )

    def as_much_as_possible(self, request: Request, deadline: Deadline) -> list[TransportResult]:
        """Solve where pairs that are not allowed stand in the way: find first how much can be moved."""
        assert self.left_over is not None
        request = replace(request, time_limit=deadline.left())
        free = self.leaving(self.left_over.leaving_least(), request)
        found = free.run(free.transport, request)
        most = [each._whole for each in found if isinstance(each, PartialTransportResult)]
        if any(each.status != "optimal" for each in most):
            stopped = replace(self.left_over, most=most)
            return [stopped.part(item, each) for item, each in enumerate(most)]
        request = replace(request, time_limit=deadline.left())
        call = self.leaving(self.left_over.moving(most), request)
        return call.run(call.transport, request)

    def is_quick(self, request: Request) -> bool:
        """Whether a GPU solves small items without pairs to copy, or one thread few pairs."""
        items, n, m = self.instance.shape
        if self.device is None:
            return request.method == "auto" and self.threads == 1 and items * n * m <= QUICK_COSTS
        small = n + m <= QUICK_VERTICES and isinstance(self.instance, DeviceCosts)
        return small and self.instance.values.size <= QUICK_PAIRS

    def transport(self) -> list[TransportResult]:
        """Solve and wrap the results."""
        with self.current_device():
            found = self._found()
            if isinstance(found, list) and self._sent_but_rounding(found):
                found = self._found()
            with self.timed("recover"):
                if isinstance(found, DevicePlans) and isinstance(self.instance, DeviceCosts):
                    results = self._results_of_batch(self.instance, found)
                else:
                    results = [self._result(item, each) for item, each in enumerate(found)]
                if self.left_over is None:
                    return results
                return [self.left_over.part(item, each) for item, each in enumerate(results)]

    def _results_of_batch(self, costs: DeviceCosts, plans: DevicePlans) -> list[TransportResult]:
        """Wrap the results of plans on the GPU that has the costs: they are proved there, all at once."""
        given = self.a, self.b
        exponents = None if self.exponents is None else [each or 0 for each in self.exponents]
        proofs = None
        if plans.is_optimal.all():
            proofs = proofs_on_device(costs, plans.arrays, given, self.masses, exponents)
        if proofs is None:
            return [self._result(item, each) for item, each in enumerate(plans)]
        batch = PlanBatch(costs, plans.arrays, proofs.sizes, given, exponents)
        status, stats = self.control.status(self.method, True), self.stats(MinCostStats)
        return [
            result_of_batch(batch, item, status=status, cost=cost, gap=gap, stats=stats)
            if close
            else self._result(item, plans[item])
            for item, (_, cost, gap, close) in enumerate(zip(*proofs, strict=True))
        ]

    def _sent_but_rounding(self, found: list[TransportFound]) -> bool:
        """Lower masses that only rounding makes infeasible to what was sent; return whether there are any."""
        lowered = False
        for item, each in enumerate(found):
            if self.exponents is None or self.exponents[item] is None:
                continue
            if self.left_over is not None and self.left_over.amounts[item] is None:
                continue  # what cannot be sent stays: see as_much_as_possible
            a, b = self.masses[0][item], self.masses[1][item]
            if each.ending == "infeasible":
                sent = np.zeros_like(a), np.zeros_like(b)
                np.add.at(sent[0], each.row, each.mass)
                np.add.at(sent[1], each.column, each.mass)
                unsent = int(np.abs(a - sent[0]).sum() + np.abs(b - sent[1]).sum())
                if unsent <= (len(a) + len(b) + 2) * 2.0**-50 * float(a.sum()):
                    a[:], b[:] = sent
                    lowered = True
        return lowered

    def _found(self) -> list[TransportFound] | DevicePlans:
        costs = self.instance
        if self.device is None:
            solve: HostSolver = self.method.solve
            host = costs.on_host() if isinstance(costs, DeviceCosts) else costs
            with self.timed("solve"):
                return solve(host, *self.masses, self.options, self.control)
        solve_there: DeviceSolver = self.method.solve
        with self.timed("upload"):
            there = self._on_device(self.device)
        with self.timed("solve"):
            return solve_there(there, *self.masses, self.options, self.control)

    def _on_device(self, device: Device) -> DeviceCosts | DevicePoints:
        costs = self.instance
        if isinstance(costs, PointCosts):
            return points_on_device(costs, device)
        if isinstance(costs, DeviceCosts):
            is_finite = not any(costs.extent.infinite)
        else:
            is_finite = costs.dtype.kind != "f" or math.isfinite(float(costs.values.max()))
        if not is_finite:
            error = UnsuitableMethodError("a method on a GPU takes finite costs")
            raise error.advising("device", "cpu", "takes pairs that are not allowed")
        return costs if isinstance(costs, DeviceCosts) else copied_to_device(costs, device)

    def _result(self, item: int, found: TransportFound) -> TransportResult:
        costs, given = _one(self.instance, item), (self.a[item], self.b[item])
        masses, exponent = (self.masses[0][item], self.masses[1][item]), self._exponent(item)
        if found.ending == "infeasible":
            raise self._infeasible(item, found, *masses, exponent)
        if found.ending == "stopped":
            return self._stopped(costs, given, found, exponent)
        mass = _amounts(found.mass, given, exponent)
        plan = found.row.astype(np.int64), found.column.astype(np.int64), mass
        if costs.dtype.kind == given[0].dtype.kind == "i":
            cost = plan_cost(costs, 0, *plan)
            return self._wrapped(costs, given, plan, (found.u, found.v), "optimal", (cost, cost), 0)
        answer = proved(costs, given, plan, found, self.threads, exact=False)
        scaled = _exact_cost(costs, *given, found, exponent, answer.v)
        if scaled is not None and math.isfinite(answer.gap):
            total, power = scaled
            gap = rounded_up(abs(Fraction(answer.cost) - Fraction(total) / Fraction(2) ** power))
            answer = replace(answer, proof=answer.proof._replace(gap=gap, close=True))
        finished = True
        if not answer.close:
            answer = proved(costs, given, plan, found, self.threads, exact=True)
        if not answer.close:
            host = on_host(costs, 0)
            again = Refinement(host, given, masses, exponent, self.control)
            answer = again.refined(answer)
            finished = answer.proof.close or not self.control.stopped
        proof = answer.proof
        if finished and proof.gap == proof.size == math.inf:
            raise CostOverflowError("costs times masses are more than float64 can represent")
        status = self.control.status(self.method, finished, close=proof.close)
        lower = proof.cost if status == "optimal" else min(proof.bound, proof.cost)
        prices = answer.u, answer.v
        return self._wrapped(costs, given, answer.plan, prices, status, (lower, proof.cost), proof.gap)

    def _infeasible(
        self,
        item: int,
        found: TransportFound,
        a: NDArray[np.int64],
        b: NDArray[np.int64],
        exponent: int | None,
    ) -> InfeasibleFlowError:
        """Return the error that names rows and columns; the rest that may stay is none of them."""
        assert found.reached is not None
        given, left_over, size = self.instance, self.left_over, len(a)
        if left_over is not None:
            given = left_over.given
        _, n, m = given.shape
        rows, columns = np.flatnonzero(found.reached[:size]), np.flatnonzero(found.reached[size:])
        amounts: list[int | float] = [int(a[rows].sum()) - int(b[columns].sum()), int(b[m:].sum())]
        if exponent is not None:
            amounts = [math.ldexp(amount, -exponent) for amount in amounts]
        labels = given.labels or (None, None)
        names = [
            (side, label)
            for side, numbers, known in (
                ("row", rows[rows < n], labels[0]),
                ("column", columns[columns < m], labels[1]),
            )
            for label in labels_of(known, numbers).tolist()
        ]
        place = tuple(int(i) for i in np.unravel_index(item, given.leading)) if given.leading else None
        return InfeasibleFlowError.of_plan(tuple(names), *amounts, item=place)

    def _stopped(
        self, costs: TransportCosts, given: tuple[Array, Array], found: TransportFound, exponent: int | None
    ) -> TransportResult:
        """Wrap the prices of a solve that was stopped."""
        v = found.v.astype(np.int64 if costs.dtype.kind == "i" else np.float64)
        u = prices_of_rows(costs, least_less_price(costs, 0, v, self.threads))
        bounds = price_bound(costs, 0, *given, v, self.threads), math.inf
        mass = _amounts(found.mass, given, exponent)
        plan = found.row.astype(np.int64), found.column.astype(np.int64), mass
        status = self.control.status(self.method, False)
        return self._wrapped(costs, given, plan, (u, v), status, bounds, math.inf)

    def _wrapped(
        self,
        costs: TransportCosts,
        given: tuple[Array, Array],
        plan: TransportPlan,
        prices: tuple[Array, Array],
        status: Status,
        bounds: tuple[int | float, int | float],
        gap: int | float,
    ) -> TransportResult:
        """Wrap a plan and its proof."""
        names = ("row", "column", "mass", "u", "v", "a", "b")
        arrays = dict(zip(names, map(self._given, (*plan, *prices, *given)), strict=True))
        stats, (lower, upper) = self.stats(MinCostStats), bounds
        return TransportResult(
            status=status, lower_bound=lower, upper_bound=upper, stats=stats, costs=costs, _gap=gap, **arrays
        )

    def _given(self, values: Array) -> Array:
        """Return an array of the caller's kind, where the costs are."""
        costs = self.instance
        found: Array = costs.to_caller(costs.xp.asarray(values) if isinstance(costs, DeviceCosts) else values)
        return found

    def _exponent(self, item: int) -> int | None:
        """Return the power of two of the unit of an item's masses; None if the caller gave integers."""
        return None if self.exponents is None else self.exponents[item] or 0


def _exact_cost(
    costs: TransportCosts, a: Array, b: Array, found: TransportFound, exponent: int | None, v: Array
) -> tuple[int, int] | None:
    """Return the cost of an optimal plan as an integer over a power of two, None where something was rounded.

    `exponent` is that of the unit of the masses; `v` are the prices of columns.
    """
    if not isinstance(costs, DenseCosts | SparseCosts):
        return None
    masses = tuple(scaled_exactly(side, exponent) for side in (a, b))
    unit = -(math.frexp(found.rounding)[1] - 1) if found.rounding else 0
    if scaled_exactly(v, unit) is None:
        return None
    values = costs.values.reshape(-1)
    for begin in range(0, len(values), CHUNK):
        part = values[begin : begin + CHUNK]
        finite = part if part.dtype.kind == "i" else part[np.isfinite(part)]
        if scaled_exactly(finite, unit) is None:
            return None
    for ends, side in zip((found.row, found.column), masses, strict=True):
        if side is None:
            return None
        left = side.copy()
        np.subtract.at(left, ends, found.mass)
        if left.any():
            return None
    price = scaled_exactly(costs.at(0, found.row, found.column), unit)
    return None if price is None else (int(exact_dot(price, found.mass)), unit + (exponent or 0))


def _amounts(mass: Array, given: tuple[Array, Array], exponent: int | None) -> Array:
    """Return what a plan moves in the unit of the masses that were given."""
    return np.ldexp(mass.astype(np.float64), -(exponent or 0)) if given[0].dtype.kind == "f" else mass


def _one(costs: TransportCosts, item: int) -> TransportCosts:
    """Return the costs of one item, where they are."""
    if isinstance(costs, DeviceCosts):
        return replace(costs, values=costs.values[item : item + 1], leading=())
    return costs.one(item)


def _masses(
    values: ArrayLike,
    name: str,
    leading: tuple[int, ...],
    size: int,
    labels: Sequence[Hashable] | None,
) -> Array:
    """Return masses as int64, float32 or float64, by item."""
    array = host_values(values, name)
    if array.shape not in ((size,), (*leading, size)):
        many = ", ".join(map(str, array.shape[:-1]))
        several = array.ndim > len(leading) + 1 and array.shape[-1] == size
        batch = f"; the same costs for all are numpy.broadcast_to(cost, ({many}, n, m))" if several else ""
        raise InvalidInputError(f"{name} has shape {array.shape}, expected {(*leading, size)}{batch}")
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold integers or floats, got dtype {array.dtype}")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        place = tuple(int(i[0]) for i in np.nonzero(wrong))
        where = ", ".join(map(str, place)) if labels is None else repr(labels[place[-1]])
        value = array[place].item()
        raise InvalidInputError(
            f"{name}[{where}] is {value}: a mass is {'negative' if value < 0 else 'not finite'}"
        )
    if array.dtype.kind == "u" and array.size and int(array.max()) >= MOST:
        raise CapacityOverflowError(f"{name} has a mass of 2**62 or more: {int(array.max())}")
    kind = np.int64 if array.dtype.kind != "f" else np.float64 if array.itemsize != 4 else np.float32
    of_items = np.broadcast_to(array, (*leading, size)) if leading else array
    return np.array(of_items.reshape(math.prod(leading), size), dtype=kind)


def with_equal_sums(a: Array, b: Array) -> tuple[Array, Array]:
    """Return masses with equal sums if some are floats: those of columns scaled if the sums differ a little.

    Whole numbers are never scaled. Differences that rounding explains stay: they are put on one mass, see
    :mod:`..certify.transport`.
    """
    if a.dtype.kind == b.dtype.kind == "i":
        return a, b
    tolerated = SCALED_BELOW
    if np.float32 in (a.dtype, b.dtype):
        # A sum of n float32 numbers that were divided by their sum may be off by the square root of n times
        # their rounding unit; the unit is doubled here.
        unit = float(np.finfo(np.float32).eps)
        tolerated = max(tolerated, (math.sqrt(a.shape[1] + b.shape[1]) + 2) * unit)
    a, b = a.astype(np.float64), b.astype(np.float64)
    sums = [np.array([_float_sum(each) for each in side]) for side in (a, b)]
    if not (np.isfinite(sums[0]) & np.isfinite(sums[1])).all():
        raise CapacityOverflowError("the masses sum to more than float64 can represent")
    off, most = np.abs(sums[0] - sums[1]), np.maximum(*sums)
    different = ~(off <= np.where(_are_whole(a, b), 0, tolerated) * most)
    if different.any():
        _refuse_sums(*(side[int(different.argmax())].item() for side in sums))
    scaled = np.flatnonzero(off > (a.shape[1] + b.shape[1] + 2) * 2.0**-50 * most)
    for item in scaled.tolist():
        b[item] = _times(b[item], Fraction(sums[0][item]) / Fraction(sums[1][item]))
    return a, b


def _are_whole(a: Array, b: Array) -> NDArray[np.bool_]:
    """Return for each item whether all of its masses are integers."""
    whole = np.ones(len(a), dtype=bool)
    for side in (a, b):
        whole &= ((side == np.rint(side)) & (side < 2.0**53)).all(axis=1)
    return whole


def _float_sum(values: Array) -> float:
    """Return the sum of floats, rounded correctly; infinite past float64."""
    try:
        return math.fsum(values.tolist())
    except OverflowError:
        return math.inf


def _times(values: Array, factor: Fraction) -> Array:
    """Return numbers times a factor near 1, each rounded once; a number near the largest stays finite."""
    return values + values * float(factor - 1)


def _refuse_sums(a: int | float, b: int | float) -> NoReturn:
    """Raise UnequalSumsError for masses of rows and columns with these sums."""
    if float(a).is_integer() and float(b).is_integer():
        a, b = int(a), int(b)
    raise UnequalSumsError(f"the masses have different sums: {a:,} and {b:,}")


def _integer_masses(
    a: Array, b: Array
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], list[int | None] | None]:
    """Return masses as integers with equal sums, and the exponents of the powers of two of their units."""
    if a.dtype.kind == b.dtype.kind == "i":
        *whole, _ = _whole_masses(a, b)
        return (whole[0], whole[1]), None
    is_whole = _are_whole(a, b)
    masses = np.zeros(a.shape, dtype=np.int64), np.zeros(b.shape, dtype=np.int64)
    exponents: list[int | None] = [None] * len(a)
    for items, convert in ((np.flatnonzero(is_whole), _whole_masses), (np.flatnonzero(~is_whole), _rounded)):
        if not len(items):
            continue
        *sides, found = convert(a[items], b[items])
        for side, values in zip(masses, sides, strict=True):
            side[items] = values
        for item, exponent in zip(items.tolist(), found, strict=True):
            exponents[item] = exponent
    return masses, exponents


def _whole_masses(a: Array, b: Array) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int | None]]:
    """Return masses of items that are integers as int64."""
    first, second = a.astype(np.int64), b.astype(np.int64)
    for sums in zip(_exact_sums(first), _exact_sums(second), strict=True):
        if sums[0] != sums[1]:
            _refuse_sums(*sums)
        if sums[0] >= MOST:
            raise CapacityOverflowError(f"the masses sum to 2**62 or more: {sums[0]}")
    return first, second, [None] * len(a)


def _exact_sums(masses: NDArray[np.int64]) -> list[int]:
    """Return the sum of each item, also where int64 would wrap."""
    if int(masses.max(initial=0)) * masses.shape[1] < MOST:
        sums: list[int] = masses.sum(axis=1).tolist()
        return sums
    return [int(exact_sum(each)) for each in masses]


def _rounded(a: Array, b: Array) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int | None]]:
    """Return float masses of items as integers with equal sums, and the exponents of their units."""
    most = np.maximum(a.sum(axis=1), b.sum(axis=1))
    exponents = np.array([mass_exponent(total) for total in most.tolist()], dtype=np.int64)
    sides = [np.rint(times_powers(side, exponents)).astype(np.int64) for side in (a, b)]
    surplus = sides[0].sum(axis=1) - sides[1].sum(axis=1)
    for side, short in zip(sides, (-surplus, surplus), strict=True):
        side[np.arange(len(side)), side.argmax(axis=1)] += np.maximum(short, 0)
    return sides[0], sides[1], exponents.tolist()
