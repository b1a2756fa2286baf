"""Cost scaling by bids and in three published forms: assignments within a falling epsilon of the optimum.

Łupińska (2011), section 5: Algorithm 5.0 (generic refine, Goldberg), 5.1 (Goldberg and Kennedy, with their
own definitions) and 5.2 (starts like 5.1, definitions of 5.0), with price updates (5.3) and arc fixing.
Goldberg and Kennedy (1995) for double pushes, which the paper does not have; ``double_push=False`` leaves
them out.

Definitions. A *refine* turns prices and an epsilon into an epsilon-optimal assignment. Double pushes alone
are a series of *bids* of rows for columns (:mod:`.bidding`), the form "bids". The forms of the paper push and
relabel on arcs (:mod:`..push_relabel`); dense costs are then written as arcs.

Algorithms 5.1 and 5.2 are the same on square costs: the offset of 5.1 is a shift of the prices of all rows.
Their pushes and relabels are equal in number; only on more columns than rows do they differ.

Invariants:

- After a refine, the reduced cost of each row's pair exceeds the row's least one by at most epsilon (for
  bids; for arcs see :mod:`..push_relabel`).
- Prices only fall.

::

    for each matrix:                                                       Item.solve
        scale costs, so that the last epsilon is 1                         Scaling
        repeat:                                                            by_bids or by_arcs
            divide epsilon by alpha, or by more if the last refine had few bids
            refine                                                         refine_by_bids, push_relabel.refine
            if it takes long: check once that there is an assignment       is_infeasible
        until epsilon is the last one
        prove the assignment, or make it exact                             ..scaling_finish

Departures:

- Epsilon falls faster after a refine with few bids, and at first if few costs make most of their range.
- The first refine has an epsilon of C / alpha in all forms, where C is the range of the costs. In the paper C
  is the largest cost in size.
- Integer costs are multiplied as in the paper, so that epsilon ends at 1; by less if the products would not
  fit 64 bits. For floats epsilon ends at a resolution.
- The prices of the last refine prove the assignment up to epsilon only. :mod:`..scaling_finish` does the
  rest.
- A refine that takes long checks, once, that there is an assignment at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Number
from ...errors import InvalidInputError
from ...graph.costs import LARGEST_INTEGER, DenseCosts, SparseCosts
from ...solving.options import Alpha, CheckedOptions
from ...solving.run import Control
from .. import push_relabel
from ..dense_rows import ROOM, WANTED
from ..most_pairs import find_violation
from ..scaling_finish import finish, from_scratch, largest_sizes, load, make_repair, note_largest, rounded
from ..search_state import Lists, SearchState, clear, lists_of, make_lists, make_state
from ..solution import INFEASIBLE, OVERFLOW, SOLVED, STOPPED, Solution, unsolved, with_violation
from . import bidding

#: The range of scaled costs times twice the number of vertices is at most this, and so is every price.
LARGEST_PRICE = 2**61
#: Bids or relabels per vertex after which a refine checks that there is an assignment.
PATIENCE = 8
#: After a refine with fewer than FEW_BIDS bids per row, the last epsilon comes next.
FEW_BIDS = 2.5
#: The first epsilon is for costs whose range is at most MIDDLE times that of their middle half.
MIDDLE = 4
#: Bids per column after which a refine with a skipped epsilon is given up; the skipped epsilon comes next.
SKIPPED_BIDS = 16
#: For floats: the last epsilon, relative to the range of the middle half of the costs.
RESOLUTION = 1e-9
#: Number of floats in the sample from which the typical range is found.
SAMPLE = 4096


@dataclass(frozen=True)
class CostScalingOptions(CheckedOptions):
    """Options of cost scaling.

    Attributes
    ----------
    form : {"bids", "csa", "generic", "mixed"}
        Rows bid for columns, for dense costs from lists of their cheapest columns; or Algorithm 5.1, 5.0 or
        5.2 of the paper.
    alpha : float
        The divisor of epsilon before each refine.
    skip : bool
        Divide by more after refines with few bids; only if rows bid.
    double_push : bool
        After a row pushes to a column, that column pushes next. Bids always do this.
    price_updates : bool
        Lower prices by distances to deficits, each time after as many relabels as there are vertices. Only
        in the forms of the paper, as the next option.
    arc_fixing : bool
        Between refines, leave out arcs whose flow cannot change any more.
    """

    form: Literal["bids", "csa", "generic", "mixed"] = "bids"
    alpha: Alpha = 10.0
    skip: bool = True
    double_push: bool = True
    price_updates: bool = False
    arc_fixing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by_bids and (self.price_updates or self.arc_fixing or not self.double_push):
            raise InvalidInputError(
                'form "bids" has double pushes and neither price updates nor arc fixing; forms "csa", '
                '"generic" and "mixed" have the choice'
            )

    @property
    def by_bids(self) -> bool:
        """Whether rows bid for columns."""
        return self.form == "bids"


class Scaling(NamedTuple):
    """The scaling of the costs of one matrix."""

    dtype: Any  #: type: int64 or float64
    scale: Number  #: the factor of costs
    least: Number  #: the least cost
    range: Number  #: the range of the scaled costs
    last: Number  #: the last delta (:class:`..push_relabel.Step`); for bids, the last epsilon
    #: in a feasible problem no price falls to `floor`, and no reduced cost reaches `beyond`
    floor: Number
    beyond: Number

    @classmethod
    def of(cls, values: Array, options: CostScalingOptions, num_rows: int, num_columns: int) -> Scaling:
        """Return the scaling of costs for the form of the options."""
        least, most = _extremes(values)
        wide = num_columns > num_rows
        vertices = num_rows + num_columns + wide
        if values.dtype.kind == "f":
            spread = most - least
            size = max(abs(least), abs(most), spread)
            floor = -4.0 * (spread + 1.0) * vertices
            smallest = max(size * float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny))
            last = max(RESOLUTION * _typical_range(values), smallest)
            return cls(np.float64, 1.0, least, spread, last, floor, np.inf)
        # Bids need fewer columns than `scale`: see `rounded`. For 5.1, delta is half of epsilon; it ends at
        # 1, so that epsilon in units of costs is below 1 / rows, as it must be. For 5.0 and 5.2, delta is
        # epsilon and ends below 1 / vertices.
        exact = num_columns + 1 if options.by_bids else vertices + 1
        spread = most - least + 1
        scale = max(1, min(exact, LARGEST_PRICE // (2 * spread * vertices)))
        floor = -min(2 * spread * vertices, LARGEST_INTEGER) * scale
        return cls(np.int64, scale, least, spread * scale, 1, floor, 2**62)


def _extremes(values: Array) -> tuple[Number, Number]:
    """Return the smallest and the largest finite cost."""
    if values.size == 0:
        return 0, 0
    least, most = values.min(), values.max()
    if not np.isfinite(most):
        finite = values[np.isfinite(values)]
        least, most = (finite.min(), finite.max()) if finite.size else (values.dtype.type(0),) * 2
    return least.item(), most.item()


def _typical_range(values: Array) -> float:
    """Return the range of the middle half of a sample of the costs."""
    flat = values.reshape(-1)
    sample = (
        flat[np.linspace(0, flat.size - 1, min(SAMPLE, flat.size)).astype(np.int64)] if flat.size else flat
    )
    finite = sample[np.isfinite(sample)].astype(np.float64)
    if finite.size == 0:
        return 0.0
    low, high = np.quantile(finite, (0.25, 0.75))
    return float(high - low)


class Start(NamedTuple):
    """Where bids start."""

    price: Array  #: the prices of columns, in units of costs
    epsilon: float  #: how far costs and prices may be from those of an assignment, in units of costs


class Item:
    """The solve of one matrix."""

    def __init__(
        self,
        costs: DenseCosts | SparseCosts,
        state: SearchState,
        options: CostScalingOptions,
        control: Control,
        solution: Solution,
        index: int,
        start: Start | None,
    ) -> None:
        _, n, m = costs.shape
        self.start = start
        self.costs, self.state, self.options, self.control = costs, state, options, control
        self.solution, self.index = solution, index
        self.rows, self.columns = n, m
        self.scaling = Scaling.of(costs.values, options, n, m)
        dtype = self.scaling.dtype
        self.lists: Lists
        if isinstance(costs, DenseCosts):
            self.flat = costs.values.reshape(-1)
            self.lists = make_lists(n, min(ROOM, m), WANTED, dtype)
            self.lists.bound[:] = -state.limits.beyond
        else:
            self.flat = np.empty(0, dtype=dtype)
            self.lists = lists_of(costs)
        # A dense matrix of finite costs has an assignment.
        self.checked = isinstance(costs, DenseCosts) and (
            dtype is np.int64 or bool(np.isfinite(costs.values).all())
        )
        self.violation: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def solve(self) -> tuple[int, AnyArray, AnyArray]:
        """Solve; return the ending and, if infeasible, `root` and `done` of the last search."""
        clear(self.state)
        scale_down = self.by_bids if self.options.by_bids else self.by_arcs
        ending, price, owner = scale_down()
        if ending in (INFEASIBLE, STOPPED, OVERFLOW):
            self.state.price[:] = price
            self.shift()
            return ending, 0, 0
        load(self.state, self.lists, price, owner)
        note_largest(self.solution, self.index, self.state)
        unwatched = self.control.monitor()._replace(progress=np.zeros(1))
        repair = make_repair(self.rows, self.scaling.dtype)
        finished, root, done = finish(self.flat, self.lists, self.state, repair, unwatched)
        self.shift()
        return int(finished), root, done

    def shift(self) -> None:
        """If columns are left over, shift prices so that the largest, the price of these columns, is 0."""
        if self.rows < self.columns:
            np.subtract(self.state.price, self.state.price.max(), out=self.state.price)

    def by_bids(self) -> tuple[int, Array, NDArray[np.int64]]:
        """Refine by bids; return the ending, the prices of columns in units of costs, and their rows."""
        scaling, number = self.scaling, self.scaling.dtype
        work = bidding.make_bidding(self.rows, self.columns, number)
        if isinstance(self.costs, SparseCosts):
            work.bound[:] = scaling.beyond
        before = float(scaling.range)
        divisor, skip = self.options.alpha, self.options.skip
        if self.start is not None:
            work.price[:] = (self.start.price - self.start.price.max(initial=0)) * scaling.scale
            before = min(before, self.start.epsilon * float(scaling.scale) * divisor)
        elif skip:
            typical = MIDDLE * float(scaling.scale) * _typical_range(self.costs.values)
            divisor *= max(1.0, before / typical if typical > 0 else 1.0)
        while True:
            epsilon = max(before / divisor, scaling.last)
            skipped = divisor > self.options.alpha
            ending, bids = self.refine_by_bids(
                work, epsilon, SKIPPED_BIDS * self.columns if skipped else None
            )
            if ending == push_relabel.LATE and self.violation is None:
                divisor, skip = self.options.alpha, False
                continue
            if ending != SOLVED or epsilon <= scaling.last:
                break
            few = skip and bids < FEW_BIDS * self.rows
            before, divisor = epsilon, np.inf if few else self.options.alpha
        owner = np.where(work.owner < bidding.IDLE, work.owner.astype(np.int64), -1)
        return self.ending(ending), self.unscaled(work.price), owner

    def refine_by_bids(self, work: bidding.Bidding, epsilon: float, most: int | None) -> tuple[int, int]:
        """Refine with an epsilon and at most `most` bids; return the ending and the number of bids."""
        scaling, number = self.scaling, self.scaling.dtype
        whole = int(epsilon) if number is np.int64 else epsilon
        prices = bidding.Prices(
            *map(number, (scaling.scale, whole, scaling.range, scaling.floor, scaling.beyond))
        )
        bidding.free_all(work)
        self.report(epsilon)
        bids = 0
        while True:
            budget = self.budget() if most is None else np.uint64(most)
            ending, more = bidding.refine(
                self.flat, self.lists, self.state, work, prices, budget, self.control.monitor(),
            )  # fmt: skip
            bids += int(more)
            if ending != push_relabel.LATE or most is not None or self.is_infeasible():
                return int(ending), bids

    def by_arcs(self) -> tuple[int, Array, NDArray[np.int64]]:
        """Refine on arcs; return the ending, the prices of columns in units of costs, and their rows."""
        scaling, number, options = self.scaling, self.scaling.dtype, self.options
        network = push_relabel.make_network(
            self.costs.to_sparse(), scaling.least, scaling.scale, number, self.control.stop
        )
        nobody = np.full(self.columns, -1)
        if self.control.stopped:
            return STOPPED, np.zeros(self.columns, number), nobody
        csa = options.form == "csa"
        delta = scaling.range / options.alpha
        while True:
            delta = max(delta, scaling.last)
            whole = number(int(delta) if number is np.int64 else delta)
            step = push_relabel.Step(
                whole, whole if csa else number(0), number(scaling.floor), np.uint64(self.rows),
                np.uint64(self.columns), options.form == "generic", options.double_push,
                options.price_updates,
            )  # fmt: skip
            self.report(delta)
            again = False
            while True:
                ending, _ = push_relabel.refine(network, step, self.budget(), again, self.control.monitor())
                again = True
                if ending != push_relabel.LATE or self.is_infeasible():
                    break
            if ending != SOLVED or delta <= scaling.last:
                break
            if options.arc_fixing:
                push_relabel.fix_arcs(network, number(2 * len(network.supply)) * whole)
            delta /= options.alpha
        price = network.price[self.rows : self.rows + self.columns]
        if ending == STOPPED:
            return int(ending), self.unscaled(price), nobody
        owner = push_relabel.owners(network, self.rows, self.columns)
        if ending == push_relabel.TOO_LOW and not self.is_infeasible():
            ending = OVERFLOW  # an incomplete flow is no partial assignment
        return self.ending(int(ending)), self.unscaled(price), owner

    def budget(self) -> Number:
        """Return the number of bids or relabels after which to check that there is an assignment."""
        return np.uint64(2**62 if self.checked else PATIENCE * (self.rows + self.columns))

    def ending(self, ending: int) -> int:
        """Return the ending of the solve for an ending of a refine."""
        if ending == push_relabel.TOO_LOW and not self.is_infeasible():
            ending = SOLVED  # prices too low for 64 bits: the finish does the rest
        return INFEASIBLE if self.violation is not None else ending

    def is_infeasible(self) -> bool:
        """Return whether there is no assignment; the first call finds out."""
        if not self.checked:
            self.checked = True
            self.violation = find_violation(self.costs.to_sparse(), self.control)
        return self.violation is not None

    def unscaled(self, price: Array) -> Array:
        """Return prices in units of costs."""
        return rounded(price, self.scaling.scale) if self.scaling.dtype is np.int64 else price.copy()

    def report(self, epsilon: float) -> None:
        """Report the number of refines left as progress, if each divides epsilon by alpha."""
        ratios = np.log([max(epsilon, self.scaling.last) + 1e-300, self.scaling.range + 1e-300])
        left, total = (ratios - np.log(self.scaling.last + 1e-300)) / np.log(self.options.alpha)
        self.control.progress[:] = left, max(total, 1.0)


def solve(
    costs: DenseCosts | SparseCosts, options: CostScalingOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost: see :func:`solve_from`."""
    return solve_from(costs, options, control, go_on, None)


def solve_from(
    costs: DenseCosts | SparseCosts,
    options: CostScalingOptions,
    control: Control,
    go_on: bool,
    start: Start | None,
) -> Solution:
    """Assign a column to every row at the least cost; bids of sparse square costs may have a start.

    O(log(n C)) refines for n vertices and costs up to C. A refine takes O(n**2 m) time at worst for m arcs,
    mostly near O(m). Memory besides the costs: with bids, 3 KiB per row for lists of dense costs, and 100
    bytes per row and column; on arcs, 44 bytes per arc.
    """
    items, n, m = costs.shape
    dtype = np.int64 if costs.values.dtype.kind == "i" else np.float64
    state = make_state(n, m, dtype)
    solution = unsolved(items, n, m, dtype)._replace(largest=largest_sizes(costs))
    for index in range(items):
        item = Item(costs.one(index), state, options, control, solution, index, start)
        ending, root, done = item.solve()
        if ending == OVERFLOW:
            ending = from_scratch(item.costs, solution, index, control)
        else:
            matched = state.row_match < m if ending == SOLVED else np.zeros(n, dtype=bool)
            solution.match[index, matched] = state.row_match[matched].astype(np.int64)
            solution.v[index] = state.price
            columns = solution.match[index, matched]
            solution.u[index, matched] = state.matched_cost[matched] - state.price[columns]
        solution.ending[index] = ending
        if item.violation is not None:
            rows, columns = item.violation
            solution = solution._replace(violating_rows=rows, violating_columns=columns)
        elif ending == INFEASIBLE:
            solution = with_violation(solution, state, root, done)
        if ending in (STOPPED, OVERFLOW) or (ending == INFEASIBLE and not go_on):
            break
    return solution
