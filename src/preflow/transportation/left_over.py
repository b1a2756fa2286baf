"""Masses that stay where they are: a larger transport problem whose plans leave nothing over.

It has one more column, which takes what stays in the rows, one more row, which has what the columns lack, or
both; of floats several, whose masses have exactly that sum. What their pairs cost is what it costs to stay:

- `partial`: all of the side with the smaller sum is moved, and the rest stays at no cost.
- `amount`: all beyond it stays at no cost. The pair of the new row and the new column, the *corner*, costs
  more than any pair gains: in place of what it carries, less of some pair would be cheaper.
- `unmatched_cost`: everything may stay, at these costs. The corner costs nothing.

A plan of the larger problem of the least cost has one of the given problem as a part, and its prices prove
that, whatever the corner costs.

Where pairs that are not allowed stand in the way of `partial`, the most that can be moved is found first: it
leaves the least where all pairs cost nothing, and each unit that stays in a row costs 1.

Floats without such prices are cut off first beyond what can be moved: small masses would be rounded beside
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Array, Number
from ..certify.fields import check_kind, checked_array, checked_number
from ..certify.transport import TransportCosts
from ..errors import InvalidInputError, VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.placement import host_values
from ..graph.point_costs import PointCosts
from ..graph.sums import exact_total, parts_of_sum, within_reach
from ..graph.unmatched_cost import read_unmatched_cost
from .result import TransportResult

#: Costs with one more row and one more column: those of points become dense.
StoredCosts = DenseCosts | SparseCosts | DeviceCosts
#: A sum of floats may be off by this part for each number: by so much an amount may pass it.
ROUNDING = 2.0**-50


class Asked(NamedTuple):
    """The arguments of :func:`preflow.transport` that let masses stay."""

    partial: bool = False
    amount: AnyArray = None
    unmatched_cost: AnyArray = None

    def __bool__(self) -> bool:
        """Whether masses may stay; InvalidInputError: the arguments contradict each other."""
        if not isinstance(self.partial, bool):
            raise InvalidInputError(f"partial must be True or False, got {self.partial!r}")
        named = zip(self._fields, (self.partial or None, self.amount, self.unmatched_cost), strict=True)
        given = [name for name, value in named if value is not None]
        if len(given) > 1:
            raise InvalidInputError(f"give one of {' and '.join(given)}: each says how much is moved")
        return bool(given)


@dataclass(frozen=True)
class LeftOver:
    """A problem as it was given, and the larger one; items are those of a batch."""

    given: StoredCosts
    a: Array  #: shape (items, n)
    b: Array  #: shape (items, m)
    amounts: list[Number | None]  #: what is moved of each item; None: the smaller sum
    unmatched_cost: tuple[Array, Array] | None  #: shapes (items, n) and (items, m)
    within: tuple[Array, Array]  #: the masses, cut off beyond what can be moved
    costs: StoredCosts  #: of the larger problem
    masses: tuple[Array, Array]
    #: the plans that leave the least, where less than the smaller sum can be moved
    most: list[TransportResult] | None = None

    @classmethod
    def of(cls, costs: TransportCosts, a: Array, b: Array, asked: Asked) -> LeftOver:
        """Read the arguments, and build the larger problem."""
        if isinstance(costs, PointCosts):
            costs = DenseCosts(costs.block(0, costs.shape[1])[None], restore=costs.restore)
        if asked.unmatched_cost is not None:
            return cls.built(costs, a, b, [0] * len(a), read_unmatched_cost(costs, asked.unmatched_cost))
        if asked.amount is not None:
            return cls.built(costs, a, b, _read_amounts(asked.amount, costs.leading, a, b))
        return cls.built(costs, a, b, [None] * len(a))

    @classmethod
    def built(
        cls,
        costs: StoredCosts,
        a: Array,
        b: Array,
        amounts: list[Number | None],
        unmatched_cost: tuple[Array, Array] | None = None,
        least: tuple[int, int] = (0, 0),
    ) -> LeftOver:
        """Build the larger problem, with at least `least` new columns and new rows."""
        if any(isinstance(part, float) for part in amounts) or "f" in (a.dtype.kind, b.dtype.kind):
            a, b = a.astype(np.float64), b.astype(np.float64)
        given = a, b
        if unmatched_cost is None:
            a, b = _within_reach(costs, a, b, amounts)
        stays, lacks = zip(*map(_left, a, b, amounts), strict=True)
        if unmatched_cost is not None:
            least = max(least[0], 1), max(least[1], 1)  # prices of all rows and columns follow from theirs
        b_and_a = [_with(*each) for each in ((b, stays, least[0]), (a, lacks, least[1]))]
        more = [new.shape[1] - old.shape[1] for new, old in zip(b_and_a, (b, a), strict=True)]
        single = unmatched_cost or [np.zeros(side.shape, dtype=costs.dtype) for side in (a, b)]
        corner = np.zeros(len(a), dtype=np.int8)
        if unmatched_cost is None and all(more):
            corner = _corners(costs)
        larger = _enlarged(costs, (single[0], more[0]), (single[1], more[1]), corner)
        return cls(costs, *given, amounts, unmatched_cost, (a, b), larger, (b_and_a[1], b_and_a[0]))

    def leaving_least(self, least: tuple[int, int] = (0, 0)) -> LeftOver:
        """Return the problem whose optimal plans leave the least: allowed pairs cost nothing."""
        items = len(self.a)
        masses = _within_reach(self.given, self.a, self.b, [None] * items)
        rows, columns = (np.full(side.shape, int(side is masses[0])) for side in masses)
        return self.built(_free(self.given), *masses, [0] * items, (rows, columns), least)

    def moving(self, most: list[TransportResult]) -> LeftOver:
        """Return the problem whose plans move as much as those plans do that leave the least."""
        amounts: list[Number | None] = [_moved(each, self.given.shape) for each in most]
        return replace(self.built(self.given, self.a, self.b, amounts), most=most)

    def may_move_less(self, item: int) -> bool:
        """Whether pairs that are not allowed may stand in the way of what `partial` is to move."""
        if self.unmatched_cost is not None or self.most is not None or self.amounts[item] is not None:
            return False
        return isinstance(self.given, SparseCosts) or not np.isfinite(self.given.values[item]).all()

    def part(self, item: int, whole: TransportResult) -> PartialTransportResult:
        """Return the result of an item from that of the larger problem."""
        costs, unmatched = self.given, self.unmatched_cost
        if costs.leading:
            costs = replace(costs, values=costs.values[item : item + 1], leading=())
        arrays = _real_part(whole, costs.shape, unmatched is not None)
        arrays |= {"a": self.a[item], "b": self.b[item]}
        for name, side, within in zip(("surplus", "shortage"), "ab", self.within, strict=True):
            if not np.array_equal(within[item], arrays[side]):
                arrays[name] = arrays[name] + (arrays[side] - within[item])
        kept = {each.name: getattr(whole, each.name) for each in fields(TransportResult)}
        if self.most is not None and whole is self.most[item]:  # time was up before all amounts were known
            kept |= {"lower_bound": -math.inf, "upper_bound": math.inf, "_gap": math.inf}
            kept["status"] = "time-limit" if whole.status == "optimal" else whole.status
        elif whole.upper_bound == math.inf and self.may_move_less(item):
            kept["lower_bound"] = -math.inf
        with costs.current():
            placed = {name: costs.to_caller(costs.xp.asarray(part.copy())) for name, part in arrays.items()}
        return PartialTransportResult(
            **kept | placed | {"costs": costs},
            unmatched_cost=None if unmatched is None else (unmatched[0][item], unmatched[1][item]),
            _amount=self.amounts[item],
            _most=None if self.most is None else self.most[item],
            _whole=whole,
        )

    def check(self, whole: TransportResult) -> None:
        """Check that a result is one of the larger problem, of one item."""
        masses = self.given.to_host(whole.a), self.given.to_host(whole.b)
        same = all(np.array_equal(one[0], other) for one, other in zip(self.masses, masses, strict=True))
        names = [name for name in ("values", "column", "first") if hasattr(self.costs, name)]
        with self.given.current():
            if (
                not same
                or type(whole.costs) is not type(self.costs)
                or not all(
                    self.costs.xp.array_equal(getattr(self.costs, name), getattr(whole.costs, name))
                    for name in names
                )
            ):
                raise VerificationError("a proof is that of another problem")


@dataclass(frozen=True, eq=False, repr=False)
class PartialTransportResult(TransportResult):
    """A plan of the least cost that leaves masses where they are, and the prices that prove it.

    The fields are those of :class:`preflow.TransportResult`, with these differences.

    Attributes
    ----------
    u, v : array of int64 or float64, shapes (rows,) and (columns,)
        Prices: ``cost[i, j] + u[i] - v[j]`` is at least zero, and zero for the pairs that carry mass. Where
        mass stays in rows, `u` is 0 for them and at least 0 for all; otherwise `v` is 0 for columns that lack
        mass and at most 0 for all. Columns that lack mass have the largest of `v`. With `unmatched_cost`, `u`
        is at least minus that of the rows, `v` at most that of the columns, and equal where mass stays or is
        lacking.
    surplus : array of int64 or float64, shape (rows,)
        The mass of each row that stays.
    shortage : array of int64 or float64, shape (columns,)
        The mass that each column lacks.
    cost, value
        With `unmatched_cost`, what stays and what is lacking counts, too.
    unmatched_cost : (ndarray, ndarray) or None
        What a unit that stays in each row costs, and one that each column lacks.
    """

    surplus: Array
    shortage: Array
    unmatched_cost: tuple[Array, Array] | None
    _amount: Number | None
    _most: TransportResult | None
    _whole: TransportResult

    def verify(self) -> None:
        """Prove the plan optimal, independently of the solver, in a few passes over the costs.

        The proof is that of a problem with one more row and one more column, which take what stays. Where
        pairs that are not allowed stand in the way of all that is to be moved, a second proof says that no
        plan moves more.
        """
        costs, whole = self.costs, self._whole
        if not isinstance(costs, DenseCosts | SparseCosts | DeviceCosts) or costs.leading:
            raise VerificationError("costs are not those of one transport problem")
        check_kind(whole, "the proof", TransportResult)
        whole.verify()
        _, n, m = costs.shape
        a, b = (
            self._to_host(checked_array(costs, getattr(self, name), name, (size,), np.int64, np.float64))
            for name, size in (("a", n), ("b", m))
        )
        amount = None if self._amount is None else checked_number(self._amount, "the amount")
        try:
            unmatched = self.unmatched_cost and read_unmatched_cost(costs, self.unmatched_cost)
            problem = LeftOver.built(costs, a[None], b[None], [amount], unmatched, self._more(whole))
        except InvalidInputError as error:
            raise VerificationError(str(error)) from None
        most = self._most
        if most is not None:
            check_kind(most, "a proof", TransportResult)
            most.verify()
            free, problem = problem.leaving_least(self._more(most)), replace(problem, most=[most])
            free.check(most)
            known = most.status == "optimal" and amount == _moved(most, costs.shape)
            if not known and whole is not most:
                raise VerificationError(f"no proof that no plan moves more than {amount}")
        if whole is not most:
            problem.check(whole)
        expected = problem.part(0, whole)
        for each in fields(self):
            mine, right = getattr(self, each.name), getattr(expected, each.name)
            if each.name in ("status", "lower_bound", "upper_bound", "_gap"):
                if type(mine) is not type(right) or mine != right:
                    raise VerificationError(f"{each.name} is {mine!r}, and {right!r} is proved")
            elif each.type == "Array":
                right = self._to_host(right)
                found = self._to_host(checked_array(costs, mine, each.name, right.shape, right.dtype))
                if not np.array_equal(found, right):
                    raise VerificationError(f"{each.name} is not that of the plan that is proved")
        row, column, _ = whole._plan()
        if self.upper_bound < math.inf and unmatched is None and ((row >= n) & (column >= m)).any():
            raise VerificationError("the plan moves more than the amount")

    def _more(self, proof: TransportResult) -> tuple[int, int]:
        """Return how many new columns and new rows a proof has."""
        _, n, m = self.costs.shape
        return len(self._to_host(proof.v)) - m, len(self._to_host(proof.u)) - n

    def __repr__(self) -> str:
        sums = ((exact_total(self._to_host(part)), what) for part, what in self._stay())
        stay = "".join(f", {total:,} {what}" for total, what in sums if total)
        return super().__repr__().replace(f", {self._how()}>", f"{stay}, {self._how()}>")

    def _stay(self) -> tuple[tuple[Array, str], ...]:
        return (self.surplus, "left over"), (self.shortage, "lacking")


def _within_reach(
    costs: StoredCosts, a: Array, b: Array, amounts: list[Number | None]
) -> tuple[Array, Array]:
    """Return masses of floats cut off beyond what can be moved."""
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        return a, b
    a, b = a.astype(np.float64), b.astype(np.float64)
    both = np.hstack([a, b])
    with np.errstate(over="ignore"):
        for item, amount in enumerate(amounts):
            limit = _reach(costs, item, a[item], b[item]) if amount is None else np.array(amount, np.float64)
            both[item] = within_reach(both[item], limit)
    return both[:, : a.shape[1]], both[:, a.shape[1] :]


def _reach(costs: StoredCosts, item: int, a: Array, b: Array) -> Array:
    """Return for each row, then for each column, at least what can be moved from it, or to it."""
    if isinstance(costs, SparseCosts):
        row, column = costs.row, costs.column
        to_rows, to_columns = np.bincount(row, b[column], len(a)), np.bincount(column, a[row], len(b))
    elif isinstance(costs, DeviceCosts) or costs.dtype.kind != "f" or np.isfinite(costs.values[item]).all():
        to_rows, to_columns = np.full(len(a), b.sum()), np.full(len(b), a.sum())
    else:
        allowed = np.isfinite(costs.values[item])
        to_rows, to_columns = allowed @ b, a @ allowed
    sums = np.minimum(a, to_rows).sum(), np.minimum(b, to_columns).sum()
    return np.append(np.minimum(to_rows, sums[1]), np.minimum(to_columns, sums[0]))


def _free(costs: StoredCosts) -> StoredCosts:
    """Return costs of 0 for all pairs that are allowed."""
    values = costs.values
    return replace(costs, values=np.where(np.isfinite(values), values.dtype.type(0), values))


def _read_amounts(given: AnyArray, leading: tuple[int, ...], a: Array, b: Array) -> list[Number | None]:
    """Return the amount of each item, as an integer where the masses are."""
    array = host_values(given, "amount")
    if array.dtype.kind not in "iuf" or array.shape not in ((), leading):
        raise InvalidInputError(f"amount must be a number, or one for each item, got {given!r}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidInputError(f"amount must be at least 0 and finite, got {given!r}")
    found: list[Number | None] = []
    for x, y, amount in zip(a, b, np.broadcast_to(array, leading).ravel().tolist(), strict=True):
        whole = x.dtype.kind == y.dtype.kind == "i" and float(amount).is_integer()
        side, most = min(("rows", exact_total(x)), ("columns", exact_total(y)), key=lambda each: each[1])
        if amount > most * (1 if whole else 1 + (len(x) + len(y)) * ROUNDING):
            error = InvalidInputError(f"amount is {amount:,}, and the {side} have {most:,} together")
            raise error.advising("partial", True, "moves as much as possible")
        found.append(int(amount) if whole else float(amount))
    return found


def _left(a: Array, b: Array, amount: Number | None) -> tuple[list[Number], list[Number]]:
    """Return what stays in the rows, and what the columns lack, where an amount is moved: parts of sums."""
    if amount is None:
        return parts_of_sum(a, b), parts_of_sum(b, a)
    return parts_of_sum(a, amount), parts_of_sum(b, amount)


def _with(side: Array, parts: tuple[list[Number], ...], least: int) -> Array:
    """Return the masses of a side with more for each item."""
    width = max(least, *map(len, parts))
    more = [[*each, *[0] * (width - len(each))] for each in parts]
    return np.hstack([side, np.array(more, dtype=side.dtype).reshape(len(side), width)])


def _corners(costs: StoredCosts) -> Array:
    """Return, for each item, a cost that is more than any pair gains."""
    values, items = costs.values, costs.shape[0]
    if isinstance(costs, DeviceCosts):  # they are finite
        ends = [costs.device.to_host(end) for end in (values.min(axis=(1, 2)), values.max(axis=(1, 2)))]
    else:
        finite, flat = np.isfinite(values).reshape(items, -1), values.reshape(items, -1)
        ends = [end(flat, axis=1, where=finite, initial=0) for end in (np.min, np.max)]
    gain = np.maximum(-ends[0], 0)
    if costs.dtype.kind == "i":
        return gain.astype(np.int64) + 1
    largest = np.maximum(gain, np.abs(ends[1]))
    with np.errstate(over="ignore"):
        return gain + np.where(largest > 0, largest, 1)


def _enlarged(
    costs: StoredCosts, columns: tuple[Array, int], rows: tuple[Array, int], corner: Array
) -> StoredCosts:
    """Return costs with more columns, and with more rows: what their pairs cost, and how many there are."""
    (of_rows, wider), (of_columns, higher) = columns, rows
    if not wider and not higher:
        return costs
    _, n, m = costs.shape
    dtype = np.result_type(costs.dtype, of_rows.dtype, of_columns.dtype, np.min_scalar_type(-corner.max()))
    if isinstance(costs, SparseCosts):
        last = np.append(of_columns[0], np.repeat(corner, wider))
        row = np.concatenate(
            [costs.row, np.repeat(np.arange(n), wider), n + np.repeat(np.arange(higher), len(last))]
        )
        column = np.concatenate(
            [costs.column, np.tile(m + np.arange(wider), n), np.tile(np.arange(len(last)), higher)]
        )
        values = np.concatenate([costs.values, np.repeat(of_rows[0], wider), np.tile(last, higher)])
        order, first = np.argsort(row, kind="stable"), np.zeros(n + higher + 1, dtype=np.uint64)
        np.cumsum(np.bincount(row, minlength=n + higher), out=first[1:])
        return replace(
            costs,
            first=first,
            column=column[order].astype(np.uint32),
            values=values[order].astype(dtype),
            num_columns=m + wider,
            labels=None,
        )
    xp = costs.xp
    with costs.current():
        made = xp.empty((costs.shape[0], n + higher, m + wider), dtype=dtype)
        made[:, :n, :m] = costs.values
        made[:, :n, m:] = xp.asarray(of_rows)[:, :, None]
        made[:, n:, :m] = xp.asarray(of_columns)[:, None, :]
        made[:, n:, m:] = xp.asarray(corner)[:, None, None]
    if isinstance(costs, DeviceCosts):
        return replace(costs, values=made)
    return replace(costs, values=made, labels=None)


def _moved(whole: TransportResult, shape: tuple[int, int, int]) -> Number:
    """Return what a plan of a larger problem moves from given rows to given columns."""
    return exact_total(_real_part(whole, shape)["mass"])


def _real_part(whole: TransportResult, shape: tuple[int, int, int], priced: bool = False) -> dict[str, Array]:
    """Return the arrays of the given problem from those of the larger one, on the host.

    `priced`: what stays has a price; the new row and column then have equal prices if anything is moved.
    """
    _, n, m = shape
    row, column, mass = whole._plan()
    u, v = whole._to_host(whole.u), whole._to_host(whole.v)
    base = v[m] if len(v) > m else u[n] if len(u) > n else u.dtype.type(0)
    surplus, shortage = np.zeros(n, dtype=mass.dtype), np.zeros(m, dtype=mass.dtype)
    stays, lacks = (row < n) & (column >= m), (row >= n) & (column < m)
    np.add.at(surplus, row[stays], mass[stays])
    np.add.at(shortage, column[lacks], mass[lacks])
    real = (row < n) & (column < m)
    return {
        "row": row[real],
        "column": column[real],
        "mass": mass[real],
        "u": u[:n] - base,
        "v": v[:m] - (u[n] if priced else base),
        "surplus": surplus,
        "shortage": shortage,
    }
