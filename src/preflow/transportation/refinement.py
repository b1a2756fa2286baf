"""Float data: prices that prove a plan, and better plans where these prices are not close.

A solver rounds float costs and masses to integers. The unit comes from the largest of them, whether an
optimal plan can use it or not.

Definitions. The *tree* of an answer is its forest of pairs whose rounded reduced costs are 0. A *rest* is
what the plan leaves of the given masses, or moves too much.

::

    sum up the given costs along the tree: prices                                       prices_of_tree
    if they prove the plan close: done
    sum up once more in rational arithmetic; take masses and costs as rationals in the proof
    repeat, by ..graph.scaling.solve_costs, while not close:                            Refinement
        cut costs off at a limit that the last answer gives, and round them relative to it
        run the simplex from the last tree
        while there is a rest of the masses:                                            send_rest
            round the rest relative to itself
            send it by pairs, and back by pairs that have mass: a minimum-cost flow
    the same with costs that are reduced by the prices

Raising the cost of a pair that an optimal plan does not use leaves the plan optimal. So a limit is right if
the answer uses no cost that was cut off. Costs that are reduced by prices which are nearly optimal are small
for all pairs that a plan can use: where the costs that a plan has to use are of very different size, their
differences get bits again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..certify.exact import as_floats, as_integers
from ..certify.transport import (
    PlanProof,
    TransportCosts,
    TransportPlan,
    balanced,
    costs_of_pairs,
    least_less_price,
    prices_of_rows,
    prove_plan,
    rounding_of,
)
from ..graph.scaling import is_close, solve_costs
from ..graph.standard_form import StandardForm
from ..mincost.network_simplex import Simplex, forest_of
from ..solving.run import Control
from .column_generation import (
    PRICING_BLOCK,
    ColumnGeneration,
    Costs,
    Pricing,
    Rounding,
    TransportSimplexOptions,
    of_few_pairs,
    pairs_of_tree,
    parents_in,
    parents_of,
)
from .forest import add_pairs
from .solution import TransportFound

#: Bits of the rests of all masses together, where they are sent.
REST_BITS = 58
#: A repetition with costs reduced by prices has to lower the gap to this part.
LOWERED = 0.5


def prices_of_tree(
    found: TransportFound, b: Array, cost: Array, *, exact: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return prices of rows and columns that are sums of costs along the tree, from the roots on.

    The price of the middle of the masses `b` of columns is 0: products of prices and masses are then small.
    `cost` has the costs of the pairs of the tree, see :func:`pairs_of_tree`; `exact` sums them up in rational
    arithmetic.
    """
    assert found.parent is not None
    n, parent = len(found.u), found.parent
    own = np.concatenate([found.u, found.v]).astype(np.float64)
    child = np.flatnonzero(parent >= 0)
    # Prices of roots may be large: only their differences count.
    with np.errstate(over="ignore"):
        own -= own[n + int(b.argmax())]
    own[child] = np.where(child < n, -cost.astype(np.float64), cost)
    exponent = 0
    price: AnyArray = own.copy()
    if exact:
        (price,), exponent = as_integers(np.where(np.isfinite(own), own, 0.0))
    # The last place is above all roots.
    above = np.append(np.where(parent < 0, len(parent), parent), len(parent))
    price = np.append(price, price[:1] * 0)
    with np.errstate(over="ignore", invalid="ignore"):
        # Each vertex adds up its path to the root, twice as much of it each time.
        while int(above.min()) < len(parent):
            price = price + price[above]
            above = above[above]
        price = price[:-1]
        order = np.argsort(price[n:], kind="stable")
        mass = np.cumsum(b[order].astype(np.float64))
        middle = order[min(int(np.searchsorted(mass, mass[-1] / 2)), len(b) - 1)]
        price = price - price[n + middle]
    # A price that is too low costs its own column only, one that is too high all rows that like the column.
    found_price = price.astype(np.float64) if not exact else _rounded_down(price, exponent)
    found_price = np.where(np.isfinite(found_price), found_price, 0.0)
    return found_price[:n], found_price[n:]


def _rounded_down(values: NDArray[np.object_], exponent: int) -> NDArray[np.float64]:
    """Return integers divided by two to `exponent`, each rounded down; infinite past float64."""
    found = as_floats(values, exponent)
    for place in np.flatnonzero(np.isfinite(found)).tolist():
        whole, parts = float(found[place]).as_integer_ratio()
        if whole << exponent > values[place] * parts:
            found[place] = math.nextafter(float(found[place]), -math.inf)
    return found


@dataclass(frozen=True)
class Answer:
    """A plan for the given masses, with prices and their proof."""

    plan: TransportPlan  #: rows, columns and masses, in the caller's unit
    #: u, v: float64 or int64
    u: Array
    v: Array
    proof: PlanProof
    found: TransportFound  #: of the rounded data
    limit: float = 0.0  #: costs were cut off at this size
    finished: bool = True
    largest: float = 0.0  #: the largest size of a cost, less prices, that the plan uses
    #: whether the plan uses a cost that was cut off, or may not use one below zero that was
    used_cut_off: bool = False

    @property
    def close(self) -> bool:
        """Whether the gap is that of an optimal answer, also where its terms cancel each other.

        Another plan may do without large terms.
        """
        proof = self.proof
        terms = len(self.found.u) + len(self.found.v)
        return proof.close and is_close(proof.gap, abs(proof.cost), terms, rounding_of(proof.cost, terms))

    @property
    def gap(self) -> int | float:
        """The gap of the proof."""
        return self.proof.gap

    @property
    def cost(self) -> int | float:
        """The cost of the plan."""
        return self.proof.cost


class Refinement:
    """Repeated solves of one item, relative to the costs and to the masses that matter.

    The masses are the `given` ones of the caller times two to the power `exponent`, rounded, with equal sums;
    it is None if they are integers.
    """

    def __init__(
        self,
        costs: Costs,
        given: tuple[Array, Array],
        masses: tuple[NDArray[np.int64], NDArray[np.int64]],
        exponent: int | None,
        control: Control,
    ) -> None:
        self.costs, self.given, self.masses = costs, given, masses
        self.exponent, self.control = exponent or 0, control
        self.kind = of_few_pairs(ColumnGeneration, costs)
        exact, unit = as_integers(*given)
        self.unit = max(unit, self.exponent)
        sides = balanced(*exact)
        #: The given masses times two to the power `unit`.
        self.exact = [np.array([mass << self.unit - unit for mass in side], dtype=object) for side in sides]

    def refined(self, first: Answer) -> Answer:
        """Return a better answer than the first, if there is one."""
        if self.costs.dtype.kind == "i":
            found = self.solve(first, None)
            return found if found.close or found.gap < first.gap else first
        least, most = Pricing(self.costs, self.control).extremes
        first = replace(first, limit=max(-least, most))
        best = self.repeated(first, Rounding(first.limit), first)
        while not (best.close or self.control.stopped):
            rounding = Rounding(best.limit, best.u, best.v)
            used = rounding.reduced(self._costs(best.plan), *best.plan[:2])
            memo = replace(best, largest=float(np.abs(used).max(initial=0)), used_cut_off=False)
            again = self.repeated(best, rounding, memo)
            before = best.gap
            best = again if again.close or again.gap < before else best
            if not best.gap <= LOWERED * before < math.inf:
                break
        return best

    def repeated(self, start: Answer, rounding: Rounding, first: Answer) -> Answer:
        """Repeat the solve with lower limits; `first` is the first answer unless it is `start`."""
        latest = start

        def solve(limit: float) -> Answer:
            nonlocal latest
            if limit == rounding.limit and first is not start:
                return first
            found = self.solve(latest, rounding._replace(limit=limit))
            latest = found if found.finished else latest
            return found

        found = solve_costs(solve, rounding.limit) if rounding.limit > 0 else solve(1.0)
        return found if found.close or found.gap < start.gap else start

    def _costs(self, plan: TransportPlan) -> Array:
        return self.costs.at(0, plan[0], plan[1])

    def solve(self, start: Answer, rounding: Rounding | None) -> Answer:
        """Solve with rounded costs from the tree of an answer, send the rest of the masses, and prove."""
        options = TransportSimplexOptions()
        work = self.kind(self.costs, self.masses, options, self.control, rounding, start.found)
        found = work.solve()
        if found.ending != "optimal":
            return replace(start, finished=False)
        found, plan = self.send_rest(work, found)
        threads = self.control.threads
        answer = proved(self.costs, self.given, plan, found, threads, exact=True, rounding=rounding)
        if rounding is None:
            return answer
        used = rounding.reduced(self._costs(plan), *plan[:2])
        largest = float(np.abs(used).max(initial=0))
        cut_off = largest > rounding.limit or work.refused
        return replace(answer, limit=rounding.limit, largest=largest, used_cut_off=cut_off)

    def send_rest(
        self, work: ColumnGeneration, found: TransportFound
    ) -> tuple[TransportFound, TransportPlan]:
        """Return an answer for the exact masses from one for rounded masses, and its plan.

        Its pairs with mass are a forest.
        """
        n, arcs = work.pricing.n, work.simplex.arcs
        row, column = work.listed()
        mass = _shifted(work.simplex.flow, self.unit - self.exponent)
        pairs = Pairs(row, column, arcs.cost[: len(row)], mass)
        rest = self._rest(pairs)
        if not any(rest):
            moved = found.mass
            if self.given[0].dtype.kind == "f":
                moved = np.ldexp(moved.astype(np.float64), -self.exponent)
            return found, (found.row, found.column, moved)
        ending, parent, potential = "optimal", parents_of(work.simplex), work.simplex.potential
        while ending == "optimal" and any(rest):
            self.control.check_wanted()
            ending, parent, potential, pairs = self.send(work, pairs, rest)
            rest = self._rest(pairs)
        some = np.flatnonzero(pairs.mass > 0)
        some = some[np.argsort(pairs.mass[some], kind="stable")[::-1]]
        row, column, mass = pairs.row[some], pairs.column[some], pairs.mass[some]
        joined = np.full((2, len(potential)), -1)
        cancel: Any = add_pairs
        cancel.py_func(row, column, mass, *joined, n)  # Python integers, which kernels do not take
        used = mass > 0
        row, column, mass = row[used], column[used], mass[used]
        more = pairs_of_tree(parent, n)
        ends = np.append(row, more[0]), n + np.append(column, more[1])
        tail, head = (side.astype(np.uint32) for side in ends)
        forest = parents_in(forest_of(tail, head, np.arange(len(tail), dtype=np.uint32), len(potential))[0])
        u, v = work.pricing.prices(potential)
        answer = found._replace(row=row, column=column, u=u, v=v, parent=forest)
        return answer, (row, column, as_floats(mass, self.unit))

    def _rest(self, pairs: Pairs) -> list[int]:
        """Return what a plan leaves of the masses of rows, then what it leaves of those of columns."""
        left = [side.copy() for side in self.exact]
        np.subtract.at(left[0], pairs.row, pairs.mass)
        np.subtract.at(left[1], pairs.column, pairs.mass)
        return [*left[0].tolist(), *left[1].tolist()]

    def send(
        self, work: ColumnGeneration, pairs: Pairs, rest: list[int]
    ) -> tuple[str, NDArray[np.int64], NDArray[np.int64], Pairs]:
        """Send a rest of the masses, rounded relative to itself, at least cost.

        Returns the ending, the parents in the tree, the potentials, and the pairs with their masses.
        """
        pricing, n = work.pricing, work.pricing.n
        total = sum(map(abs, rest))
        shift = max(0, total.bit_length() - REST_BITS)
        supply = np.array([each >> shift for each in rest], dtype=np.int64)
        supply[n:] *= -1
        supply[int(np.abs(supply).argmax())] -= supply.sum()
        most = (total >> shift) + len(rest) + 1
        back = np.flatnonzero(pairs.mass > 0)
        room = np.array([min(mass >> shift, most) for mass in pairs.mass[back].tolist()], dtype=np.int64)
        form = StandardForm(
            np.append(pairs.row, n + pairs.column[back]).astype(np.uint32),
            np.append(n + pairs.column, pairs.row[back]).astype(np.uint32),
            np.append(np.full(len(pairs.row), most, dtype=np.int64), room),
            np.append(pairs.cost, -pairs.cost[back]),
            supply,
        )
        simplex = Simplex(form, pricing.largest, PRICING_BLOCK)
        before, begin = len(pairs.row), simplex.end
        ending = simplex.run(self.control.monitor())
        while ending != "stopped" and not self.control.stopped:
            row, column = work.more_pairs(simplex.potential)
            allowed, cost = pricing.integers(row, column)
            row, column = row[allowed], column[allowed]
            new = cost + simplex.potential[row] - simplex.potential[n + column] < 0
            if not new.any():
                break
            row, column, cost = row[new], column[new], cost[new]
            simplex.append(row, n + column, np.full(len(row), most, dtype=np.int64), cost)
            pairs = pairs.with_more(row, column, cost)
            ending = simplex.run(self.control.monitor())
        flow = _shifted(simplex.flow, shift)
        mass = pairs.mass.copy()
        mass[:before] += flow[:before]
        mass[before:] += flow[begin:]
        mass[back] -= flow[before:begin]
        return ending, parents_of(simplex), simplex.potential, pairs._replace(mass=mass)


class Pairs(NamedTuple):
    """Listed pairs with integer costs, and with masses that are Python integers."""

    row: Array
    column: Array
    cost: NDArray[np.int64]
    mass: NDArray[np.object_]

    def with_more(self, row: Array, column: Array, cost: Array) -> Pairs:
        """Return these pairs and others, which have no mass."""
        none = np.zeros(len(row), dtype=object)
        parts = zip(self, (row, column, cost, none), strict=True)
        return Pairs(*(np.append(*part) for part in parts))


def _shifted(values: NDArray[np.int64], exponent: int) -> NDArray[np.object_]:
    """Return integers times two to `exponent` as Python integers."""
    found: NDArray[np.object_] = np.left_shift(values.astype(object), exponent)
    return found


def proved(
    costs: TransportCosts,
    given: tuple[Array, Array],
    plan: TransportPlan,
    found: TransportFound,
    threads: int,
    *,
    exact: bool,
    rounding: Rounding | None = None,
) -> Answer:
    """Return a plan as an answer: with prices, and with what these prove.

    A cost that `rounding` cut off may be one of the tree, at a pair without mass. Prices that prove the plan
    for the costs cut off prove it for the costs as given, and are small.
    """
    v = found.v
    if costs.dtype.kind == "f" and found.parent is not None:
        row, column, _ = pairs_of_tree(found.parent, len(found.u))
        cost = costs_of_pairs(costs, 0, row, column)
        if rounding is not None:
            cost = rounding.cut_off(cost, row, column)
        v = prices_of_tree(found, given[1], cost, exact=exact)[1]
    least = least_less_price(costs, 0, v, threads)
    proof = prove_plan(costs, *given, plan, v, threads, exact=None if exact else False, least=least)
    u = prices_of_rows(costs, least)
    return Answer(plan, u, v, proof, found._replace(u=u.astype(found.u.dtype), v=v))
