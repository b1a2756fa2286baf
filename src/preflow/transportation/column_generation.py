"""Column generation over :mod:`preflow.mincost.network_simplex`: one solve of one item.

:mod:`.serial_network_simplex` has definitions, invariants and the pseudo-code.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Numbers
from ..errors import CostOverflowError, SolverError
from ..graph.costs import DenseCosts, SparseCosts, ends_of
from ..graph.point_costs import PointCosts
from ..graph.standard_form import COST_BITS, MOST, StandardForm
from ..kernels.atomics import fetch_add, relaxed_load
from ..kernels.branch_free import smaller
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..mincost.network_simplex import Simplex
from ..mincost.network_simplex.tree import ARTIFICIAL, PARENT
from ..mincost.solution import Ending
from ..parallel.pieces import run_pieces
from ..parallel.thread_pool import in_pool, run_natively
from ..solving.options import CheckedOptions, PositiveInteger
from ..solving.run import Control
from ..stats import ARC_SCANS, PHASES
from .solution import TransportFound

#: Rows, columns and masses of a plan.
Plan = tuple[Array, Array, Array]
Costs = DenseCosts | SparseCosts | PointCosts
#: The largest number of 64 bits.
MOST_INTEGER = np.iinfo(np.int64).max
#: Columns of which a row lists at most one in a round, the cheapest. With 8, 16, 32 and 64 an EPYC took
#: 0.042, 0.026, 0.041 and 0.046 s on random costs of 1000 x 1000 pairs.
BLOCK = np.uint64(16)
#: Rows of costs of points that are computed together.
POINT_ROWS = 128
#: Rows of dense costs that a thread takes in turn.
TURN = np.uint64(16)
#: Block of the pricing of listed pairs, as a multiple of the root of their number.
PRICING_BLOCK = 3.0


@dataclass(frozen=True)
class TransportSimplexOptions(CheckedOptions):
    """Options of network simplex for transport.

    Attributes
    ----------
    listed : int
        Pairs that each row lists at first. Where these are all pairs of stored costs, no others are searched.
    added : int
        The most pairs that a row adds in a round. With 6 and 3, 12 and 6, 20 and 8, 30 and 15 an EPYC took
        0.146, 0.080, 0.072 and 0.081 s on squared distances of 1000 x 1000 points in blocks of 64, and 0.046
        to 0.051 s on random costs.
    """

    listed: PositiveInteger = 20
    added: PositiveInteger = 8


class PivotSearch(NamedTuple):
    """A search of all rows for pairs of small reduced cost; threads have rows of `reduced` and `least`."""

    cost: Numbers  #: shape (n, m)
    price: Numbers  #: shape (m,)
    #: shape (n,): only pairs whose cost less price is below the limit of the row count
    limit: Numbers
    most: np.uint64  #: the most pairs of a row
    reduced: Numbers  #: shape (threads, at least m)
    least: Numbers  #: shape (threads, blocks)
    #: shape (n, most): the columns of each row, from the least cost less price on; -1 after the last
    found: NDArray[np.int64]
    turn: NDArray[np.uint64]  #: shape (1,): the first row that no thread has taken
    stop: AnyArray  #: the stop flag


@kernel
def search_rows(search: PivotSearch, thread: np.uint64, begin: np.uint64, end: np.uint64) -> None:
    """Write the cheapest pairs of some rows, each from another block of columns."""
    cost, price, most, found = search.cost, search.price, search.most, search.found
    reduced, least = search.reduced[thread], search.least[thread]
    m, blocks = np.uint64(len(price)), np.uint64(len(least))
    for i in range(begin, end):
        limit = search.limit[i]
        smallest = limit
        for b in range(blocks):
            first = b * BLOCK
            last = min(first + BLOCK, m)
            lowest = cost[i, first] - price[first]
            for j in range(first, last):
                reduced[j] = cost[i, j] - price[j]
                lowest = smaller(reduced[j], lowest)
            least[b] = lowest
            smallest = smaller(lowest, smallest)
        for k in range(most):
            found[i, k] = -1
        if smallest >= limit:
            continue
        for k in range(most):
            best = ZERO
            for b in range(ONE, blocks):
                if least[b] < least[best]:
                    best = np.uint64(b)
            if least[best] >= limit:
                break
            for j in range(best * BLOCK, min(best * BLOCK + BLOCK, m)):
                if reduced[j] == least[best]:
                    found[i, k] = np.int64(j)
                    break
            least[best] = limit


@kernel
def search_share(thread: np.uint64, search: PivotSearch) -> None:
    """Search rows, TURN at a time, until there are none or the solve is to stop."""
    n = np.uint64(len(search.cost))
    while relaxed_load(search.stop, ZERO) == 0:
        begin = fetch_add(search.turn, ZERO, TURN)
        if begin >= n:
            break
        search_rows(search, thread, begin, min(begin + TURN, n))


search_together = in_pool("search_together", search_share)


class Rounding(NamedTuple):
    """How float costs become integers in a solve that starts from an earlier answer."""

    limit: float  #: costs are cut off at this size, and rounded relative to it
    #: prices of rows and columns. Costs are then reduced by them before.
    u: NDArray[np.float64] | None = None
    v: NDArray[np.float64] | None = None

    def reduced(self, cost: Array, row: Array, column: Array) -> NDArray[np.float64]:
        """Return costs of pairs, reduced by the prices."""
        wide = cost.astype(np.float64)
        with np.errstate(over="ignore"):
            return wide if self.u is None or self.v is None else wide + (self.u[row] - self.v[column])

    def cut_off(self, cost: Array, row: Array, column: Array) -> NDArray[np.float64]:
        """Return costs of pairs as the solver has them."""
        reduced = self.reduced(cost, row, column)
        nearest = np.clip(reduced, -self.limit, self.limit)
        if self.u is not None and self.v is not None:
            nearest -= self.u[row] - self.v[column]
        return np.where(np.abs(reduced) > self.limit, nearest, cost)


class Pricing:
    """The costs of one item, as the caller has them and as integers.

    Costs are multiplied by two to the power `exponent` and rounded; it is None if they are integers.
    `rounding` is for float costs; by default nothing is cut off. `extremes` are the least and the largest
    finite cost, in the caller's unit; `largest` is the largest finite cost in size, as an integer.
    """

    def __init__(self, costs: Costs, control: Control, rounding: Rounding | None = None) -> None:
        self.costs, self.control = costs, control
        _, self.n, self.m = costs.shape
        vertices = self.n + self.m + 1
        self.extremes = self._extremes()
        largest: float = max(-self.extremes[0], self.extremes[1])
        self.rounding = rounding or Rounding(largest)
        self.exponent: int | None = None
        #: Whether prices were too large for float64.
        self.overflowed = False
        if costs.dtype.kind == "f":
            largest = self.rounding.limit
            bits = min(COST_BITS, 60 - vertices.bit_length())
            # Where all costs are zero, prices are to be tiny.
            self.exponent = bits - (math.frexp(largest)[1] if largest else -1000)
            largest = math.ceil(math.ldexp(largest, self.exponent))
        elif vertices * largest >= MOST // 2:
            raise CostOverflowError(
                f"costs of up to {largest:,} are too large for {vertices:,} rows and columns"
            )
        self.largest = int(largest)
        #: Reduced costs above this are rounding errors.
        self.tolerance = 0 if self.exponent is None else math.ldexp(2.0, -self.exponent)
        self.kind = np.int64 if self.exponent is None else np.float64
        #: For each row, a limit that all allowed pairs are below.
        self.no_limit = np.full(self.n, MOST_INTEGER if self.exponent is None else np.inf, dtype=self.kind)

    def _extremes(self) -> tuple[float, float]:
        """Return the least and the largest finite cost; zeros if there are none."""
        costs, threads = self.costs, self.control.threads
        if isinstance(costs, PointCosts):
            parts = chain.from_iterable(run_pieces(self._extremes_of_points, self.n, threads))
            least, most = zip(*parts, strict=True)
            return min(least), max(most)
        values = costs.values if isinstance(costs, SparseCosts) else costs.values[0]
        if not values.size:
            return 0.0, 0.0
        ends = tuple(end.item() for end in ends_of(values, threads))
        if not all(map(math.isfinite, ends)):
            finite = values[np.isfinite(values)]
            ends = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        return ends[0], ends[1]

    def _extremes_of_points(self, begin: int, end: int) -> list[tuple[float, float]]:
        return [(float(cost.min()), float(cost.max())) for _, cost in self.blocks(begin, end)]

    def blocks(self, first: int, last: int, stride: int = 1) -> Iterator[tuple[int, Array]]:
        """Yield the first row and the costs of rows that are priced together, while the solve is wanted.

        They are those from `first` to `last`, every `stride`-th one.
        """
        step = POINT_ROWS * stride if isinstance(self.costs, PointCosts) else max(last - first, 1)
        for begin in range(first, last, step):
            if self.control.stopped:
                return
            yield begin, self._rows(begin, min(begin + step, last), stride)

    @property
    def dense(self) -> Array | None:
        """All costs, if they are stored."""
        return self.costs.values[0] if isinstance(self.costs, DenseCosts) else None

    def _rows(self, begin: int, end: int, stride: int) -> Array:
        if isinstance(self.costs, PointCosts):
            return self.costs.block(begin, end, stride=stride)
        return self.costs.values[0, begin:end:stride]

    def prices(self, potential: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the prices of rows and columns in the caller's unit, from potentials."""
        if self.exponent is None:
            return potential[: self.n].copy(), potential[self.n :].copy()
        base = self.rounding
        with np.errstate(over="ignore"):  # sums of the largest floats
            found = np.ldexp(potential.astype(np.float64), -self.exponent)
            if base.u is not None and base.v is not None:
                found = found + np.concatenate([base.u, base.v])
        if not np.isfinite(found).all():
            self.overflowed = True
            found = np.clip(found, -sys.float_info.max, sys.float_info.max)
        return found[: self.n], found[self.n :]

    def potentials(self, u: Array, v: Array) -> NDArray[np.int64]:
        """Return potentials from prices, those that are too large cut off."""
        base, wide = self.rounding, np.concatenate([u, v]).astype(np.float64)
        with np.errstate(over="ignore"):
            if base.u is not None and base.v is not None:
                wide -= np.concatenate([base.u, base.v])
            scaled = np.clip(np.ldexp(wide, self.exponent or 0), -float(MOST // 16), float(MOST // 16))
        whole: NDArray[np.int64] = np.rint(scaled).astype(np.int64)
        return whole

    def integers(
        self, row: Array, column: Array, values: Array | None = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which pairs are allowed, and the integer costs of these; `values` are their costs."""
        if values is None:
            values = self.costs.at(0, row, column)
        if self.exponent is None:
            return np.ones(len(values), dtype=bool), values.astype(np.int64, copy=False)
        allowed = np.isfinite(values)
        if not allowed.all():
            row, column, values = row[allowed], column[allowed], values[allowed]
        limit = self.rounding.limit
        cut = np.clip(self.rounding.reduced(values, row, column), -limit, limit)
        return allowed, np.rint(np.ldexp(cut, self.exponent)).astype(np.int64)

    def search(self, price: Array, limit: Array, most: int) -> NDArray[np.int64]:
        """Return, for each row, the columns whose cost less price is below its limit, the least ones first.

        At most `most` of them: shape (n, most), with -1 after the last column of a row.
        """
        threads = self.control.threads
        if self.m <= most:
            return self._all_columns(price, limit, most)
        found = np.full((self.n, most), -1, dtype=np.int64)
        turn, stop = np.zeros(1, dtype=np.uint64), self.control.stop
        self.control.counts[ARC_SCANS] += np.uint64(self.n * self.m)

        def search_in(cost: Array, rows: slice, room: tuple[Array, Array]) -> PivotSearch:
            return PivotSearch(cost, price, limit[rows], np.uint64(most), *room, found[rows], turn, stop)

        if self.dense is not None:
            search = search_in(self.dense, slice(None), self._room(threads))
            run_natively(search_together, search, threads)
            return found

        def search_blocks(first: int, last: int) -> None:
            room = self._room(1)
            for begin, cost in self.blocks(first, last):
                search = search_in(cost, slice(begin, begin + len(cost)), room)
                search_rows(search, ZERO, ZERO, np.uint64(len(cost)))

        run_pieces(search_blocks, self.n, threads)
        return found

    def _all_columns(self, price: Array, limit: Array, most: int) -> NDArray[np.int64]:
        """Return what :meth:`search` does where a row has no more columns than it lists."""
        found = np.full((self.n, most), -1, dtype=np.int64)
        with np.errstate(over="ignore"):
            for begin, cost in self.blocks(0, self.n):
                reduced = cost - price
                order = np.argsort(reduced, axis=1)
                below = np.take_along_axis(reduced, order, 1) < limit[begin : begin + len(cost), None]
                found[begin : begin + len(cost), : self.m] = np.where(below, order, -1)
        return found

    def _room(self, threads: int) -> tuple[Array, Array]:
        """Return room for the reduced costs of a row for each thread, and for the least of each block."""
        blocks = -(-self.m // int(BLOCK))
        return (
            np.empty((threads, blocks * int(BLOCK)), dtype=self.kind),
            np.empty((threads, blocks), dtype=self.kind),
        )

    def cheapest(self, price: Array, limit: Array, most: int) -> tuple[Array, Array]:
        """Return the pairs that :meth:`search` finds."""
        found = self.search(price, limit, most)
        row, place = np.nonzero(found >= 0)
        return row, found[row, place]


def north_west(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the pairs of a plan that serves rows and columns in turn: at most n + m - 1."""
    ends = np.union1d(np.cumsum(a), np.cumsum(b))
    ends = ends[ends > 0]
    return np.searchsorted(np.cumsum(a), ends), np.searchsorted(np.cumsum(b), ends)


def solve_one(
    kind: type[ColumnGeneration],
    costs: Costs,
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    options: TransportSimplexOptions,
    control: Control,
) -> TransportFound:
    """Solve one item; with rows and columns exchanged if a row serves more columns than it lists."""
    _, n, m = costs.shape
    if kind is ColumnGeneration and isinstance(costs, DenseCosts) and m <= options.listed:
        costs = costs.to_sparse()
    if isinstance(costs, SparseCosts):
        return AllPairs(costs, masses, options, control).solve()
    if m <= n * options.listed:
        return kind(costs, masses, options, control).solve()
    turned = costs.transposed()
    if isinstance(turned, DenseCosts):
        turned = replace(turned, values=np.ascontiguousarray(turned.values))
    return kind(turned, masses[::-1], options, control).solve().transposed()


class ColumnGeneration:
    """The solve of one item, perhaps from the tree of an earlier answer `start`.

    `lists` has the rows and columns of listed pairs. `refused` says whether pairs of negative reduced cost
    are not listed, since their costs were cut off or rounded. `rounding` is as in :class:`Pricing`.
    """

    def __init__(
        self,
        costs: Costs,
        masses: tuple[NDArray[np.int64], NDArray[np.int64]],
        options: TransportSimplexOptions,
        control: Control,
        rounding: Rounding | None = None,
        start: TransportFound | None = None,
    ) -> None:
        self.costs, self.options, self.control, self.start = costs, options, control, start
        self.a, self.b = masses
        self.pricing = Pricing(costs, control, rounding)
        self.simplex = _simplex(self.a, self.b, self.pricing.largest)
        self.lists: list[tuple[Array, Array]] = []
        self.refused = False

    def add(self, row: Array, column: Array, values: Array | None = None) -> int:
        """List those of some pairs that the prices do not rule out; return how many.

        `values` are their costs.
        """
        if self.lists and not len(row):
            return 0
        n, simplex = self.pricing.n, self.simplex
        allowed, cost = self.pricing.integers(row, column, values)
        row, column = row[allowed], column[allowed]
        if self.lists:
            reduced = cost + simplex.potential[row] - simplex.potential[n + column]
            row, column, cost = row[reduced < 0], column[reduced < 0], cost[reduced < 0]
        self.lists.append((row, column))
        simplex.append(row, n + column, np.full(len(row), self.a.sum() + 1), cost)
        return len(row)

    def begin(self) -> None:
        """List the first pairs."""
        pricing = self.pricing
        prices = np.zeros(pricing.m, dtype=pricing.kind)
        row, column = pricing.cheapest(prices, pricing.no_limit, self.options.listed)
        if pricing.m > self.options.listed:
            corner = north_west(self.a, self.b)
            row, column = np.concatenate([row, corner[0]]), np.concatenate([column, corner[1]])
        self.add(row, column)

    def begin_from(self, start: TransportFound) -> None:
        """List the pairs of a tree, and others that are cheap by its prices; start from the tree."""
        assert start.parent is not None
        row, column, child = pairs_of_tree(start.parent, self.pricing.n)
        more = self.first_pairs(start.v)
        self.add(np.concatenate([row, more[0]]), np.concatenate([column, more[1]]))
        self.start_from(start.parent, child, np.arange(len(child)), self.pricing.potentials(start.u, start.v))

    def start_from(self, parent: Array, child: Array, by: Array, potential: NDArray[np.int64] | None) -> None:
        """Make a forest the tree of the simplex: `by` has the listed pair of each vertex in `child`."""
        arc = np.full(len(parent), ARTIFICIAL, dtype=np.uint32)
        arc[child] = by
        above = np.where(parent < 0, len(parent), parent)
        self.simplex.start_from(above.astype(np.uint32), arc, potential)

    def first_pairs(self, v: Array) -> tuple[Array, Array]:
        """Return pairs that are cheap by prices of columns, and those of a plan."""
        row, column = self.pricing.cheapest(v, self.pricing.no_limit, self.options.listed)
        corner = north_west(self.a, self.b)
        return np.concatenate([row, corner[0]]), np.concatenate([column, corner[1]])

    def more_pairs(self, potential: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return pairs of negative reduced cost, the least ones of each row."""
        pricing = self.pricing
        u, v = pricing.prices(potential)
        with np.errstate(over="ignore"):
            limit = -u - pricing.kind(pricing.tolerance)
        return pricing.cheapest(v, limit, self.options.added)

    def add_by_integers(self) -> int:
        """List the pairs of negative integer reduced cost: floats do not hold the prices."""
        every = np.arange(self.pricing.m)
        return sum(self.add(np.full(len(every), row), every) for row in range(self.pricing.n))

    def allowed_columns(self, rows: Array) -> AnyArray:
        """Return to which columns some rows may send, as a mask."""
        return np.isfinite(self.costs.at(0, rows[:, None], np.arange(self.pricing.m))).any(axis=0)

    def solve(self) -> TransportFound:
        """List pairs and run the simplex until no pair has negative reduced cost."""
        control, simplex = self.control, self.simplex
        if self.start is None:
            self.begin()
        else:
            self.begin_from(self.start)
        ending = simplex.run(control.monitor())
        while ending != "stopped":
            control.check_wanted()
            control.counts[PHASES] += np.uint64(1)
            row, column = self.more_pairs(simplex.potential)
            if control.stopped:
                break
            if not self.add(row, column) and not (self.pricing.overflowed and self.add_by_integers()):
                self.refused = len(row) > 0
                break
            ending = simplex.run(control.monitor())
        return self.found("stopped" if control.stopped else ending)

    def listed(self) -> tuple[Array, Array]:
        """Return the rows and the columns of all listed pairs, in the order of the arcs of the simplex."""
        row, column = (np.concatenate(part) for part in zip(*self.lists, strict=True))
        return row, column

    def found(self, ending: Ending) -> TransportFound:
        """Return the plan and the prices of the simplex."""
        pricing, simplex, (row, column) = self.pricing, self.simplex, self.listed()
        flow = simplex.flow
        used = flow > 0
        plan = row[used], column[used], flow[used]
        return TransportFound(
            *plan,
            *pricing.prices(simplex.potential),
            ending,
            0.0 if pricing.exponent is None else math.ldexp(1.0, -pricing.exponent),
            stuck(self.allowed_columns, self.a, self.b, plan) if ending == "infeasible" else None,
            parents_of(simplex),
        )


class AllPairs(ColumnGeneration):
    """The solve of one item with few pairs, all of which are listed."""

    def __init__(self, costs: SparseCosts, *others: Any) -> None:
        super().__init__(costs, *others)
        self.row, self.column, self.values = costs.row, costs.column.astype(np.int64), costs.values

    def begin(self) -> None:
        """List all pairs."""
        self.add(self.row, self.column, self.values)

    def first_pairs(self, v: Array) -> tuple[Array, Array]:
        """Return all pairs."""
        return self.row, self.column

    def more_pairs(self, potential: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return no pairs."""
        return self.row[:0], self.column[:0]

    def add_by_integers(self) -> int:
        """List no pairs."""
        return 0

    def allowed_columns(self, rows: Array) -> AnyArray:
        """Return to which columns some rows may send, as a mask."""
        return np.isin(np.arange(self.pricing.m), self.column[np.isin(self.row, rows)])


def of_few_pairs(kind: type[ColumnGeneration], costs: Costs) -> type[ColumnGeneration]:
    """Return the kind of solve for costs: those of a sparse matrix are all listed."""
    return AllPairs if isinstance(costs, SparseCosts) else kind


def parents_of(simplex: Simplex) -> NDArray[np.int64]:
    """Return the parents of rows and columns in the tree of a simplex, -1 below the artificial root."""
    return parents_in(simplex.tree.node[:-1, PARENT])


def parents_in(parent: Array) -> NDArray[np.int64]:
    """Return parents with -1 instead of the artificial root."""
    found: NDArray[np.int64] = parent.astype(np.int64)
    found[found == len(found)] = -1
    return found


def pairs_of_tree(parent: NDArray[np.int64], num_rows: int) -> tuple[Array, Array, Array]:
    """Return the rows and columns of the pairs of a forest, and their lower vertices."""
    child = np.flatnonzero(parent >= 0)
    ends = np.stack([child, parent[child]])
    return ends.min(axis=0), ends.max(axis=0) - num_rows, child


def _simplex(a: NDArray[np.int64], b: NDArray[np.int64], largest: int) -> Simplex:
    """Return a simplex without pairs."""
    none = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64)
    form = StandardForm(none[0], none[0], none[1], none[1], np.concatenate([a, -b]))
    return Simplex(form, largest, PRICING_BLOCK)


def stuck(
    allowed: Callable[[Array], AnyArray], a: NDArray[np.int64], b: NDArray[np.int64], plan: Plan
) -> NDArray[np.bool_]:
    """Return the rows and columns that surplus reaches, by allowed pairs and back by pairs with mass.

    `allowed` returns the columns that some rows may send to, as a mask. The plan may send more to a column
    than its mass; that is surplus, too.
    """
    n = len(a)
    row, column, mass = plan
    left = np.concatenate([a, -b])
    np.subtract.at(left, row, mass)
    np.add.at(left, n + column, mass)
    reached = left > 0
    new = np.flatnonzero(reached[:n])
    while True:
        if len(new):
            reached[n:] |= allowed(new)
        new = row[reached[n + column] & ~reached[row]]
        if not len(new):
            break
        reached[new] = True
    if (left[reached] < 0).any() or left[reached].sum() <= 0:
        raise SolverError("the solver calls the masses stuck, and its plan does not prove it")
    return reached
