"""Cost scaling: assignments within epsilon of the best for ever smaller epsilon, in the paper's three forms.

Łupińska, section 5: Algorithm 5.0 (Goldberg's generic refine), 5.1 (Goldberg and Kennedy's, with definitions
of its own) and 5.2 (the start of 5.1, the definitions of 5.0), with price updates (5.3) and arc fixing. Where
nothing but double pushes is asked of 5.1, rows bid for columns (:mod:`.bidding`); the others push and relabel
on arcs (:mod:`.push_relabel`), as which dense costs are written then.

Departures: epsilon falls faster after a refine in which there was little to do. Integer costs are multiplied
as in the paper so that epsilon ends at 1; where these would not fit in 64 bits by less, and floats only go
down to a resolution. What remains is done by :mod:`.scaling_finish`, which also finds prices that prove the
assignment: those of the last refine do so but for epsilon. A refine that takes long checks, once, that there
is an assignment at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.costs import LARGEST_INTEGER, DenseCosts, SparseCosts
from ...solving.options import check_alpha, check_choice, check_flag, check_number_between
from ...solving.run import Control
from .. import push_relabel
from ..dense_rows import ROOM, WANTED
from ..scaling_finish import finish, from_scratch, largest_sizes, load, make_repair, note_largest, rounded
from ..search_state import Lists, State, clear, lists_of, make_lists, make_state
from ..serial_shortest_path import ShortestPathOptions
from ..serial_shortest_path import solve as solve_by_paths
from ..solution import INFEASIBLE, OVERFLOW, SOLVED, STOPPED, Solution, unsolved, with_violation
from . import bidding

FORMS = ("csa", "generic", "mixed")
#: Scaled costs times twice the number of vertices stay below this, and so do prices.
LARGEST_PRICE = 2**61
#: Bids or relabels for every vertex after which a refine checks that there is an assignment.
PATIENCE = 64
#: After so many bids for every row, or fewer, epsilon falls as after several refines; or to the last one.
FEW_BIDS = 2.5
FEWEST_BIDS = 1.5
FASTER = 2
#: Bids for every column after which a refine that skipped others is given up for the first of these.
SKIPPED_BIDS = 16
#: Floats that are looked at to find a range that most of them have.
SAMPLE = 4096


@dataclass(frozen=True)
class CostScalingOptions:
    """Options of cost scaling.

    Attributes
    ----------
    form : {"csa", "generic", "mixed"}
        Algorithm 5.1, 5.0 or 5.2 of the paper.
    alpha : float
        What epsilon is divided by before each refine.
    skip : bool
        Divide by more after refines in which few rows bid twice; only where rows bid.
    double_push : bool
        After the push of a row to a column, that column pushes next. With "csa" and neither of the next two,
        rows bid for columns, by lists of their cheapest columns where costs are dense.
    price_updates : bool
        Lower prices by distances to deficits after as many relabels as there are vertices.
    arc_fixing : bool
        Leave out arcs, between refines, whose flow cannot change any more.
    resolution : float
        Where costs are floats: the last epsilon, relative to the range of the middle half of the costs.
    """

    form: str = "csa"
    alpha: float = 10.0
    skip: bool = True
    double_push: bool = True
    price_updates: bool = False
    arc_fixing: bool = False
    resolution: float = 1e-9

    def __post_init__(self) -> None:
        check_choice("form", self.form, FORMS)
        for name in ("skip", "double_push", "price_updates", "arc_fixing"):
            check_flag(name, getattr(self, name))
        check_alpha(self.alpha)
        check_number_between("resolution", self.resolution, 1e-12, 1.0)

    @property
    def by_bids(self) -> bool:
        """Whether rows bid for columns."""
        return self.form == "csa" and self.double_push and not self.price_updates and not self.arc_fixing


class Scaling(NamedTuple):
    """How the costs of one matrix are scaled.

    Attributes
    ----------
    dtype : type
        int64 or float64.
    scale : int or float
        What costs are multiplied by.
    least : int or float
        The least cost.
    range : int or float
        Of the scaled costs.
    last : int or float
        The last delta (:class:`.push_relabel.Step`), which for bids is epsilon.
    floor, beyond : int or float
        No price of a problem with a solution is as low, no reduced cost as high.
    """

    dtype: Any
    scale: Any
    least: Any
    range: Any
    last: Any
    floor: Any
    beyond: Any

    @classmethod
    def of(
        cls, values: NDArray[Any], options: CostScalingOptions, num_rows: int, num_columns: int
    ) -> Scaling:
        """Return the scaling of costs for a form: the epsilon at which it may stop must be a number."""
        least, most = _extremes(values)
        wide = num_columns > num_rows
        vertices = num_rows + num_columns + wide
        if values.dtype.kind == "f":
            spread = most - least
            size = max(abs(least), abs(most), spread)
            floor = -4.0 * (spread + 1.0) * vertices
            smallest = max(size * float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny))
            last = max(options.resolution * _typical_range(values), smallest)
            return cls(np.float64, 1.0, least, spread, last, floor, np.inf)
        # Bids: fewer columns than `scale`, see `rounded`. Delta of 5.1 is half of its epsilon, which so ends
        # below 1 / rows of a cost, as it may; that of 5.0 and 5.2 is epsilon and ends below 1 / vertices.
        exact = num_columns + 1 if options.by_bids else vertices + 1
        spread = most - least + 1
        scale = max(1, min(exact, LARGEST_PRICE // (2 * spread * vertices)))
        floor = -min(2 * spread * vertices, LARGEST_INTEGER) * scale
        return cls(np.int64, scale, least, spread * scale, 1, floor, 2**62)


def _extremes(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest finite cost."""
    if values.size == 0:
        return 0, 0
    least, most = values.min(), values.max()
    if not np.isfinite(most):
        finite = values[np.isfinite(values)]
        least, most = (finite.min(), finite.max()) if finite.size else (values.dtype.type(0),) * 2
    return least.item(), most.item()


def _typical_range(values: NDArray[Any]) -> float:
    """Return by how much costs differ mostly: the spread of the middle half of a sample of them."""
    flat = values.reshape(-1)
    sample = (
        flat[np.linspace(0, flat.size - 1, min(SAMPLE, flat.size)).astype(np.int64)] if flat.size else flat
    )
    finite = sample[np.isfinite(sample)].astype(np.float64)
    if finite.size == 0:
        return 0.0
    low, high = np.quantile(finite, (0.25, 0.75))
    return float(high - low)


class Item:
    """The solve of one matrix."""

    def __init__(
        self,
        costs: DenseCosts | SparseCosts,
        state: State,
        options: CostScalingOptions,
        control: Control,
        solution: Solution,
        index: int,
    ) -> None:
        _, n, m = costs.shape
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
        self.violation: Solution | None = None

    def solve(self) -> tuple[int, Any, Any]:
        """Scale and finish; return the ending and, if infeasible, the root and size of the last search."""
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
        found: tuple[int, Any, Any] = finish(self.flat, self.lists, self.state, repair, unwatched)
        self.shift()
        return found

    def shift(self) -> None:
        """Make zero the largest price where columns are left over: that is theirs."""
        if self.rows < self.columns:
            np.subtract(self.state.price, self.state.price.max(), out=self.state.price)

    def by_bids(self) -> tuple[int, NDArray[Any], NDArray[np.int64]]:
        """Refine by bids; return the ending, prices of columns that are not scaled, and their rows."""
        scaling, number = self.scaling, self.scaling.dtype
        work = bidding.make_bidding(self.rows, self.columns, number)
        if isinstance(self.costs, SparseCosts):
            work.bound[:] = scaling.beyond
        before = float(scaling.range)
        divisor, skip = self.options.alpha, self.options.skip
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
            before, divisor = epsilon, self.options.alpha
            if skip and bids < FEW_BIDS * self.rows:
                divisor = np.inf if bids < FEWEST_BIDS * self.rows else divisor**FASTER
        owner = np.where(work.owner < bidding.IDLE, work.owner.astype(np.int64), -1)
        return self.ending(ending), self.unscaled(work.price), owner

    def refine_by_bids(self, work: bidding.Bidding, epsilon: float, most: int | None) -> tuple[int, int]:
        """Refine with an epsilon, by so many bids at most; return the ending and the number of bids."""
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
                return ending, bids

    def by_arcs(self) -> tuple[int, NDArray[Any], NDArray[np.int64]]:
        """Refine on arcs; return the ending, prices of columns that are not scaled, and their rows."""
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
            return ending, self.unscaled(price), nobody
        owner = push_relabel.owners(network, self.rows, self.columns)
        if ending == push_relabel.TOO_LOW and not self.is_infeasible():
            ending = OVERFLOW  # a flow cut short is not an assignment in part
        return self.ending(ending), self.unscaled(price), owner

    def budget(self) -> Any:
        """Return after how many bids or relabels to see whether there is an assignment."""
        return np.uint64(2**62 if self.checked else PATIENCE * (self.rows + self.columns))

    def ending(self, ending: int) -> int:
        """Return the ending of the refines as one of those that solvers know."""
        if ending == push_relabel.TOO_LOW and not self.is_infeasible():
            ending = SOLVED  # prices that are too low for the numbers: the finish does what is left
        return INFEASIBLE if self.violation is not None else ending

    def is_infeasible(self) -> bool:
        """Find out, the first time, whether there is no assignment."""
        if not self.checked:
            self.checked = True
            costs = self.costs.to_sparse()
            free = SparseCosts(costs.first, costs.column, np.zeros_like(costs.values), costs.num_columns)
            found = solve_by_paths(free, ShortestPathOptions(), self.control)
            if INFEASIBLE in found.ending:
                self.violation = found
        return self.violation is not None

    def unscaled(self, price: NDArray[Any]) -> NDArray[Any]:
        """Return prices in units of costs."""
        return rounded(price, self.scaling.scale) if self.scaling.dtype is np.int64 else price.copy()

    def report(self, epsilon: float) -> None:
        """Show how many refines are left, if each divides epsilon by alpha."""
        ratios = np.log([max(epsilon, self.scaling.last) + 1e-300, self.scaling.range + 1e-300])
        left, total = (ratios - np.log(self.scaling.last + 1e-300)) / np.log(self.options.alpha)
        self.control.excess[:] = left, max(total, 1.0)


def solve(
    costs: DenseCosts | SparseCosts, options: CostScalingOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost.

    Parameters
    ----------
    costs : DenseCosts or SparseCosts
        To minimise, with at least as many columns as rows.
    options : CostScalingOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Notes
    -----
    O(log(n C)) refines for n vertices and costs up to C, each O(n**2 m) at worst for m arcs and mostly near
    O(m). Memory beside the costs: with bids, 3 KiB a row for lists of dense costs, and 100 bytes a row and
    column; on arcs, 44 bytes an arc.
    """
    items, n, m = costs.shape
    dtype = np.int64 if costs.values.dtype.kind == "i" else np.float64
    state = make_state(n, m, dtype)
    solution = unsolved(items, n, m, dtype)._replace(largest=largest_sizes(costs))
    for index in range(items):
        item = Item(costs.one(index), state, options, control, solution, index)
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
            rows, columns = item.violation.violating_rows, item.violation.violating_columns
            solution = solution._replace(violating_rows=rows, violating_columns=columns)
        elif ending == INFEASIBLE:
            solution = with_violation(solution, state, root, done)
        if ending in (STOPPED, OVERFLOW) or (ending == INFEASIBLE and not go_on):
            break
    return solution
