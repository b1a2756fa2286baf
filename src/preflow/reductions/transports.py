"""An assignment as a transport problem, and a transport problem as a minimum-cost flow.

An assignment of n rows to m >= n columns moves a mass of 1 from each row to some column. One more row, from
which all columns are free, has the mass of the columns that are left over. Prices of the transport problem,
less the price of that row, prove the assignment optimal.

A transport problem is a minimum-cost flow whose arcs are the pairs that are allowed. The potentials are the
prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import AnyArray, Array
from ..certify.fields import checked_array, checked_number
from ..certify.singles import Singles, check_singles, proved_gap
from ..certify.transport import least_less_price, prices_of_rows, prove_plan
from ..checks import check_finite, first_of, wrong_entry
from ..drawing.pairs import check_cells, draw_costs
from ..errors import (
    CapacityOverflowError,
    InfeasibleError,
    InfeasibleFlowError,
    InvalidInputError,
    VerificationError,
)
from ..graph.cost_network import CostNetwork
from ..graph.costs import DenseCosts, SparseCosts, shown_matrix
from ..graph.network import exact_sum
from ..graph.standard_form import MOST
from ..mincost.result import MinCostFlowResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from ..solving.read_only import ReadOnlyArrays
from ..transportation.api import transport, with_equal_sums
from ..transportation.result import TransportResult
from .base import CostReduction, check_fits, one_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class PricedAssignment(DrawnResult):
    """An assignment of the least cost, with the prices that prove it.

    Attributes
    ----------
    row, column : ndarray of int64, shape (k,)
        The pairs, by rows.
    u, v : ndarray of int64 or float64, shapes (n,) and (m,)
        Prices of rows and columns: ``u[i] + v[j]`` is at most the cost of each pair, and equal for the pairs
        assigned; of float costs up to rounding. Rows or columns that are left over have price 0, the largest
        of their side.
    cost : int or float
    gap : int or float
        How far `cost` may be from the least cost, proved by the prices; 0 for integers.
    costs : DenseCosts or SparseCosts
    """

    row: Array
    column: Array
    u: Array
    v: Array
    cost: int | float
    gap: int | float
    costs: DenseCosts | SparseCosts

    def verify(self) -> None:
        """Prove the assignment optimal within `gap`, in one pass over the costs."""
        costs = self.costs
        if not isinstance(costs, DenseCosts | SparseCosts):
            raise VerificationError(f"costs are no costs of an assignment, got {type(costs).__name__}")
        _, n, m = costs.shape
        number = np.int64 if costs.dtype.kind == "i" else np.float64
        pairs = min(n, m)
        row, column = (
            checked_array(costs, part, name, (pairs,), np.int64)
            for name, part in (("row", self.row), ("column", self.column))
        )
        u, v = (
            checked_array(costs, part, name, (size,), number)
            for name, part, size in (("u", self.u, n), ("v", self.v, m))
        )
        cost, gap = checked_number(self.cost, "cost"), checked_number(self.gap, "gap")
        if number is np.int64 and gap != 0:
            raise VerificationError(f"the gap of integers is 0, not {gap}")
        answer, left_over = (row, column, u, v), _left_over(costs)
        with np.errstate(over="ignore", invalid="ignore"):
            check_singles(costs, left_over, answer, cost, gap=gap)
            if number is np.float64 and gap != proved_gap(costs, left_over, answer, float(cost)):
                raise VerificationError(f"the prices prove another gap than {gap}")

    def _summary(self) -> str:
        return f"cost {self.cost:,}, {len(self.row):,} pairs"

    def _draw(self, ax: Axes | None) -> Axes:
        check_cells(self.costs.shape[1:])
        return draw_costs(ax, shown_matrix(self.costs), self.row, self.column, self.costs.labels)


def _left_over(costs: DenseCosts | SparseCosts) -> Singles:
    """Return costs of rows and columns without a partner: 0 where some are left over, else none may be."""
    _, n, m = costs.shape
    is_float = costs.dtype.kind == "f"
    never = np.inf if is_float else 2**62
    return Singles(
        *(
            np.full(size, 0 if size > pairs else never, dtype=np.float64 if is_float else np.int64)
            for size, pairs in ((n, m), (m, n))
        )
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AssignmentAsTransport(ReadOnlyArrays):
    """A linear assignment as a transport problem.

    Attributes
    ----------
    cost : ndarray or sparse matrix
        The costs; transposed if there are more rows than columns, then with one more row of zeros if there
        are fewer.
    a, b : ndarray of int64
        The masses of the rows and of the columns.
    given : DenseCosts or SparseCosts
        The costs as they were given.

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.AssignmentAsTransport.of([[4, 1, 3], [1, 0, 5]])
    >>> reduction.cost.tolist(), reduction.a.tolist(), reduction.b.tolist()
    ([[4, 1, 3], [1, 0, 5], [0, 0, 0]], [1, 1, 1], [1, 1, 1])
    >>> result = reduction.solve()
    >>> result.column.tolist(), result.cost
    ([1, 0], 2)
    >>> result.verify()
    """

    cost: AnyArray
    a: Array
    b: Array
    given: DenseCosts | SparseCosts

    @classmethod
    def of(cls, cost: AnyArray) -> Self:
        """Build the transport problem.

        Parameters
        ----------
        cost : array_like, shape (n, m), or sparse matrix
            Infinite: not allowed. A sparse matrix allows only its stored entries.
        """
        given = one_matrix(cost)
        costs = given.to_minimize()
        _, n, m = costs.shape
        spare = m - n
        a, b = np.ones(n + (spare > 0), dtype=np.int64), np.ones(m, dtype=np.int64)
        if spare:
            a[n] = spare
        built: AnyArray
        if isinstance(costs, DenseCosts):
            built = costs.values[0]
            if spare:
                built = np.append(built, np.zeros((1, m), dtype=built.dtype), axis=0)
        else:
            from scipy.sparse import csr_array

            more = m if spare else 0
            first = np.append(costs.first.astype(np.int64), [len(costs.column) + m] if spare else [])
            column = np.append(costs.column.astype(np.int64), np.arange(more))
            values = np.append(costs.values, np.zeros(more, dtype=costs.values.dtype))
            built = csr_array((values, column, first.astype(np.int64)), shape=(len(a), m))
        return cls(cost=built, a=a, b=b, given=given)

    def solve(self, **arguments: Unpack[Keywords]) -> PricedAssignment:
        """Solve the transport problem with these arguments of :func:`preflow.transport`.

        Raises
        ------
        InfeasibleError
            Some rows have too few columns together: the error names them.
        """
        try:
            return self.solution(transport(self.cost, self.a, self.b, **arguments))
        except InfeasibleFlowError as error:
            sides = ["rows", "columns"] if self.given.shape[1] <= self.given.shape[2] else ["columns", "rows"]
            violating, allowed = (
                tuple(number for side, number in error.vertices if side == wanted)
                for wanted in ("row", "column")
            )
            raise InfeasibleError(sides[0], violating, allowed) from None

    def solution(self, result: TransportResult) -> PricedAssignment:
        """Return the assignment, with the prices that prove it."""
        if not (np.array_equal(result.a, self.a) and np.array_equal(result.b, self.b)):
            raise InvalidInputError("the result does not belong to the transport problem of this reduction")
        total = result.value
        _, n, m = self.given.shape
        fewer, wide = min(n, m), n <= m
        used = (result.row < fewer) & (result.mass > 0)
        row, column = result.row[used], result.column[used]
        base = result.u[fewer] if n != m else 0
        u, v = base - result.u[:fewer], result.v - base
        if not wide:
            row, column, u, v = column, row, v, u
        order = np.argsort(row, kind="stable")
        gap: int | float = 0
        if self.given.dtype.kind == "f":
            gap = proved_gap(self.given, _left_over(self.given), (row[order], column[order], u, v), total)
        return PricedAssignment(row[order], column[order], u, v, total, gap, self.given)


@dataclass(frozen=True, eq=False, kw_only=True)
class AssignmentAsMinCostFlow(CostReduction[PricedAssignment]):
    """A linear assignment as a minimum-cost flow: the instance I' = (G', u, c) of Łupińska (2011), section 5.

    Attributes
    ----------
    network : CostNetwork
        Vertices are the rows, with supply 1, then the columns, with supply -1. Each pair that is allowed is
        an arc of capacity 1. The paper has as many rows as columns. If there are fewer, one more row
        supplies the columns that are left over, at no cost; if there are more, the sides are exchanged.
    assignment : AssignmentAsTransport
    costs : DenseCosts or SparseCosts
        The costs of the arcs.

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.AssignmentAsMinCostFlow.of([[4, 1], [2, 3]])
    >>> reduction.network.supply.tolist(), reduction.network.capacity.tolist()
    ([1, 1, -1, -1], [1, 1, 1, 1])
    >>> result = reduction.solve()
    >>> result.column.tolist(), result.cost
    ([1, 0], 3)
    >>> result.verify()
    """

    assignment: AssignmentAsTransport
    costs: DenseCosts | SparseCosts

    @classmethod
    def of(cls, cost: AnyArray) -> Self:
        """Build the network.

        Parameters
        ----------
        cost : array_like, shape (n, m), or sparse matrix
            Infinite: not allowed. A sparse matrix allows only its stored entries.
        """
        assignment = AssignmentAsTransport.of(cost)
        plan = TransportAsMinCostFlow.of(assignment.cost, assignment.a, assignment.b)
        tail = plan.network.tail
        # A row of the input with a full arc has no other, so that its price can make the arc tight. The row
        # that is added may fill several arcs: they have room, so that no reduced cost is negative.
        added = tail >= min(assignment.given.shape[1:])
        network = CostNetwork.from_arrays(
            tail,
            plan.network.head,
            capacity=1 + added.astype(np.int64),
            cost=plan.network.cost,
            supply=plan.network.supply,
            num_vertices=plan.network.num_vertices,
        )
        return cls(network=network, assignment=assignment, costs=plan.costs)

    def solution(self, result: MinCostFlowResult) -> PricedAssignment:
        """Return the assignment; its prices come from the potentials."""
        masses = {"a": self.assignment.a, "b": self.assignment.b}
        plan = TransportAsMinCostFlow(network=self.network, costs=self.costs, **masses)
        return self.assignment.solution(plan.solution(result))


@dataclass(frozen=True, eq=False, kw_only=True)
class TransportAsMinCostFlow(CostReduction[TransportResult]):
    """A transport problem as a minimum-cost flow.

    Attributes
    ----------
    network : CostNetwork
        Vertices are the rows, then the columns. Arcs are the pairs that are allowed, by rows. It has its
        supplies.
    costs : DenseCosts or SparseCosts
    a, b : ndarray of int64 or float64
        The masses of the rows and of the columns.

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.TransportAsMinCostFlow.of([[4, 1], [2, 3]], [3, 5], [4, 4])
    >>> reduction.network.supply.tolist()
    [3, 5, -4, -4]
    >>> result = reduction.solve()
    >>> result.cost, result.matrix().tolist()
    (14, [[0, 3], [4, 1]])
    >>> result.verify()
    """

    costs: DenseCosts | SparseCosts
    a: Array
    b: Array

    @classmethod
    def of(cls, cost: AnyArray, a: ArrayLike, b: ArrayLike) -> Self:
        """Build the network.

        Parameters
        ----------
        cost : array_like, shape (n, m), or sparse matrix
            Cost of moving one unit; infinite: not allowed. A sparse matrix allows only its stored entries.
        a, b : array_like of numbers, shapes (n,) and (m,)
            Masses of the rows and of the columns, not negative, with equal sums.
        """
        given = one_matrix(cost)
        _, n, m = given.shape
        pairs = given.to_sparse() if isinstance(given, DenseCosts) else given
        masses = np.asarray(a), np.asarray(b)
        for name, part, size in (("a", masses[0], n), ("b", masses[1], m)):
            if part.shape != (size,) or part.dtype.kind not in "biuf":
                raise InvalidInputError(f"{name} must be {size} numbers, got shape {part.shape}")
            check_finite(name, part)
            if (part < 0).any():
                raise wrong_entry(f"{name} has a negative mass", first_of(part < 0))
        whole = all(part.dtype.kind != "f" for part in masses)
        if whole and any(exact_sum(part) >= MOST for part in masses):
            raise CapacityOverflowError("the masses sum to 2**62 or more")
        first, second = (part.astype(np.int64 if whole else np.float64) for part in masses)
        if not whole:
            first, second = (side[0] for side in with_equal_sums(first[None], second[None]))
        row, column = pairs.row, pairs.column.astype(np.int64)
        network = CostNetwork.from_arrays(
            row,
            column + n,
            # No arc is ever full, so that no reduced cost is negative.
            capacity=np.minimum(first[row], second[column]) + 1 if whole else np.inf,
            cost=pairs.values,
            supply=np.append(first, -second),
            num_vertices=n + m,
        )
        return cls(network=network, costs=given, a=first, b=second)

    def solution(self, result: MinCostFlowResult) -> TransportResult:
        """Return the plan; its prices are the potentials.

        If several plans have the least cost, it may have more pairs than a plan of :func:`preflow.transport`.
        """
        check_fits(result, self.network)
        n = len(self.a)
        used = np.flatnonzero(result.flow > 0)
        row = self.network.tail[used].astype(np.int64)
        column = self.network.head[used].astype(np.int64) - n
        mass = result.flow[used]
        prices = result.potentials.astype(np.int64 if self.costs.dtype.kind == "i" else np.float64)
        v = prices[n:].copy()
        if self.a.dtype.kind == "f":
            mass = mass.astype(np.float64)
        plan = row, column, mass
        least = least_less_price(self.costs, 0, v)
        proof = prove_plan(self.costs, self.a, self.b, plan, v, least=least)
        return TransportResult(
            status="optimal" if proof.close else "approximate",
            lower_bound=proof.cost if proof.close else min(proof.bound, proof.cost),
            upper_bound=proof.cost,
            stats=result.stats,
            row=row,
            column=column,
            mass=mass,
            u=prices_of_rows(self.costs, least),
            v=v,
            a=self.a,
            b=self.b,
            costs=self.costs,
            _gap=proof.gap,
        )
