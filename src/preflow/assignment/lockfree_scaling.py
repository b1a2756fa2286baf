"""What cost scaling by pushes and relabels works on: arcs of integer costs, a flow, and prices.

Łupińska (2011), section 5: every row x has one unit, every column y wants one. Costs are multiplied by more
than the number of vertices |V|, so that prices are integers and the last epsilon is 1: what is 1-optimal then
is optimal (5.0 and 5.2 need epsilon < 1/|V|, not 1/|X|). Missing rows are added, at no cost.

Costs that are no integers, or too large for that, are rounded to a multiple of a unit: the flow and the
prices are then near the best, and :mod:`.scaling_finish` makes the assignment exact. It does the same where
arcs were fixed, whose bounds it proves or mends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsuitableMethodError
from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..solving.run import Control
from ..stats import PHASES
from .dense_rows import ROOM, WANTED
from .scaling_finish import finish, from_scratch, largest_sizes, load, make_repair, note_largest, rounded
from .search_state import clear, lists_of, make_lists, make_state
from .serial_shortest_path import ShortestPathOptions, number_dtype, write_solution
from .serial_shortest_path import solve as solve_by_paths
from .solution import INFEASIBLE, OVERFLOW, SOLVED, Solution, unsolved

#: No price gets as low as minus this.
LOWEST = 2**62
#: Costs that are no integers become integers of so many bits, where these fit.
FLOAT_BITS = 32
#: Powers of two from this exponent on are numbers that one can divide by.
LEAST_EXPONENT = -1022
#: More arcs are not numbered in 32 bits.
MOST_ARCS = 2**32 - 2
#: Refines lower prices by at most this many times the number of vertices times the largest cost, together.
DROP = 4


class Arcs(NamedTuple):
    """The arcs of every row that may still carry flow, their costs scaled.

    Attributes
    ----------
    first : ndarray of uint64, shape (n + 1,)
        Those of row `x` stand from ``first[x]`` on; rows that were added come last.
    size : ndarray of uint64, shape (n,)
    column : ndarray of uint32
    cost : ndarray of int64
    """

    first: NDArray[Any]
    size: NDArray[Any]
    column: NDArray[Any]
    cost: NDArray[Any]


class Scaled(NamedTuple):
    """Arcs, and what their costs stand for.

    Attributes
    ----------
    arcs : Arcs
    scale : int
        Costs are whole multiples of this.
    unit : int or float
        What a cost of `scale` is in truth.
    largest : int
        The largest cost, scaled: where epsilon begins.
    """

    arcs: Arcs
    scale: int
    unit: Any
    largest: int


class Flow(NamedTuple):
    """A flow with its prices, and what is left to do.

    Attributes
    ----------
    at : ndarray of uint64, shape (n,)
        The arc on which each row's unit is, in the upper half, and its column; NOWHERE while the row has it.
    excess : ndarray of int64, shape (n,)
        Units at each column, less one.
    row_price, column_price : ndarray of int64, shape (n,)
    """

    at: NDArray[Any]
    excess: NDArray[Any]
    row_price: NDArray[Any]
    column_price: NDArray[Any]


#: What a word of a flow is made of.
NOWHERE = np.uint64(2**64 - 1)
HALF = np.uint64(32)
COLUMN = np.uint64(2**32 - 1)

#: Makes the flow epsilon-optimal from no flow and, if the second number is not zero, fixes arcs beyond it;
#: returns whether it is done, else it was stopped.
Refine = Callable[[int, int], bool]


def make_flow(size: int) -> Flow:
    """Return prices of zero and no flow, for so many rows and columns."""
    return Flow(
        np.full(size, NOWHERE, dtype=np.uint64),
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )


def squared(costs: SparseCosts) -> SparseCosts:
    """Return costs with as many rows as columns: those added may have any column for nothing.

    Raises
    ------
    UnsuitableMethodError
        There would be 2**32 - 2 arcs or more.
    """
    _, n, m = costs.shape
    missing = m - n
    num_arcs = len(costs.values) + missing * m
    if num_arcs > MOST_ARCS:
        raise UnsuitableMethodError(
            f"lock-free cost scaling takes up to {MOST_ARCS:,} arcs, not {num_arcs:,}"
        )
    if not missing:
        return costs
    last = costs.first[-1] + np.arange(1, missing + 1, dtype=np.uint64) * np.uint64(m)
    return SparseCosts(
        np.concatenate([costs.first, last]),
        np.concatenate([costs.column, np.tile(np.arange(m, dtype=np.uint32), missing)]),
        np.concatenate([costs.values, np.zeros(missing * m, dtype=costs.values.dtype)]),
        m,
    )


def scaled(costs: SparseCosts) -> Scaled:
    """Return the arcs of a square matrix with costs that cost scaling can work on."""
    _, _, m = costs.shape
    values = costs.values
    scale = 2 * m + 1
    largest = _largest_size(values)
    room = LOWEST // (DROP * 2 * m * scale)
    unit: Any = 1
    if values.dtype.kind == "i":
        while largest // unit > room:
            unit *= 2
        whole = values if unit == 1 else values // unit
    else:
        bits = min(FLOAT_BITS, room.bit_length() - 2)
        unit = 2.0 ** max(int(np.frexp(largest)[1]) - bits, LEAST_EXPONENT)
        whole = np.rint(values / unit).astype(np.int64)
    cost = whole * scale
    arcs = Arcs(costs.first, np.diff(costs.first), costs.column.copy(), cost)
    return Scaled(arcs, scale, unit, int(_largest_size(cost)))


def _largest_size(values: NDArray[Any]) -> Any:
    """Return the largest absolute value; 0 if there is none."""
    return max(abs(values.max(initial=0).item()), abs(values.min(initial=0).item()))


@kernel
def start_refine(arcs: Arcs, flow: Flow, epsilon: Any, begin: Any, end: Any) -> None:
    """Take the flow off some vertices; give the rows prices at which their best arcs are just admissible."""
    for x in range(begin, end):
        flow.at[x] = NOWHERE
        flow.excess[x] = -1
        least = np.int64(2**63 - 1)
        for k in range(arcs.first[x], arcs.first[x] + arcs.size[x]):
            least = min(least, arcs.cost[k] - flow.column_price[arcs.column[k]])
        flow.row_price[x] = -(least + epsilon)


@kernel
def fix_arcs(arcs: Arcs, flow: Flow, threshold: Any, begin: Any, end: Any) -> None:
    """Drop arcs that no optimal flow uses: those without flow and of a reduced cost above the threshold."""
    for x in range(begin, end):
        own = flow.at[x] >> HALF
        first = arcs.first[x]
        kept = first
        for k in range(first, first + arcs.size[x]):
            y = arcs.column[k]
            reduced = arcs.cost[k] + flow.row_price[x] - flow.column_price[y]
            if k == own or reduced <= threshold:
                cost = arcs.cost[k]
                arcs.column[kept] = y
                arcs.cost[kept] = cost
                if k == own:
                    flow.at[x] = kept << HALF | np.uint64(y)
                kept += ONE
        arcs.size[x] = kept - first


def fixing_threshold(size: int, epsilon: int) -> int:
    """Return beyond which reduced cost no arc's flow changes again, once the flow is epsilon-optimal."""
    return 4 * size * epsilon


def epsilons(largest: int, alpha: float) -> list[int]:
    """Return the epsilon of each refine, down to 1."""
    found = [largest]
    while found[-1] > 1:
        found.append(max(1, int(found[-1] / alpha)))
    return found[1:] or [1]


def solve_items(
    costs: DenseCosts | SparseCosts,
    control: Control,
    go_on: bool,
    run: Callable[[Scaled], Flow | None],
) -> Solution:
    """Solve one matrix after the other: `run` finds an optimal flow of scaled costs, None if stopped."""
    items, n, m = costs.shape
    solution = unsolved(items, n, m, number_dtype(costs))._replace(largest=largest_sizes(costs))
    control.excess[:] = items * n
    for item in range(items):
        one = costs.one(item)
        arcs = one.to_sparse()
        if len(arcs.values) < n * m:
            found = solve_by_paths(_without_costs(arcs), ShortestPathOptions(), control, go_on)
            if found.ending[0] == INFEASIBLE:
                solution.ending[item] = INFEASIBLE
                solution = solution._replace(
                    violating_rows=found.violating_rows, violating_columns=found.violating_columns
                )
                if go_on:
                    continue
                break
        square = squared(arcs)
        if control.stopped:
            break
        scaled_costs = scaled(square)
        flow = run(scaled_costs)
        if flow is None:
            break
        finished = one if isinstance(one, DenseCosts) and n == m else square
        ending = _finish(finished, scaled_costs, flow, control, solution, item)
        if ending == OVERFLOW:
            ending = from_scratch(one, solution, item, control)
        solution.ending[item] = ending
        if solution.ending[item] != SOLVED:
            break
    return solution


def _without_costs(costs: SparseCosts) -> SparseCosts:
    """Return costs with the same arcs that all cost nothing: any assignment will do."""
    return replace(costs, values=np.zeros(len(costs.values), dtype=np.int64))


def _finish(
    costs: DenseCosts | SparseCosts,
    scaled_costs: Scaled,
    flow: Flow,
    control: Control,
    solution: Solution,
    item: int,
) -> Any:
    """Prove or mend the assignment of an item, of costs made square; write it and return the ending."""
    _, _, m = costs.shape
    n = solution.match.shape[1]
    dtype = number_dtype(costs)
    state = make_state(m, m, dtype)
    clear(state)
    if isinstance(costs, DenseCosts):
        lists = make_lists(m, min(ROOM, m), WANTED, dtype)
        lists.bound[:] = -state.limits.far  # nothing is listed yet
    else:
        lists = lists_of(costs)
    scale, unit = scaled_costs.scale, scaled_costs.unit
    if dtype == np.int64:
        price = rounded(flow.column_price, scale) * unit
    else:
        price = flow.column_price * (unit / scale)
    owner = np.empty(m, dtype=np.int64)
    owner[(flow.at & COLUMN).astype(np.int64)] = np.arange(m)
    load(state, lists, price, owner)
    note_largest(solution, item, state)
    values = costs.values.reshape(-1) if isinstance(costs, DenseCosts) else costs.values[:0]
    ending, _, _ = finish(values, lists, state, make_repair(m, dtype), control.monitor())
    u = np.zeros(m, dtype=dtype)
    match = np.zeros(m, dtype=np.int64)
    write_solution(state, match, u, solution.v[item])
    top = solution.v[item].max()
    solution.match[item] = match[:n]
    solution.u[item] = u[:n] + top
    solution.v[item] -= top
    return ending


def refine_all(
    largest: int, size: int, alpha: float, arc_fixing: bool, control: Control, refine: Refine
) -> bool:
    """Refine with ever smaller epsilon, and fix arcs after each; return whether the flow is optimal."""
    for epsilon in epsilons(largest, alpha):
        threshold = fixing_threshold(size, epsilon) if arc_fixing and epsilon > 1 else 0
        if control.stopped or not refine(epsilon, threshold):
            return False
        control.counts[PHASES] += 1
    return True
