"""Cost scaling for the two lock-free methods: arcs with scaled costs, flow, prices, the series of refines.

Łupińska (2011), section 5.

Definitions
-----------
- Each row x has one *unit* of flow; each column y takes one.
- Costs are *scaled*: multiplied by a number larger than the number of vertices |V|. Prices are then integers,
  the last epsilon is 1, and a 1-optimal flow is optimal. (The paper's Algorithms 5.0 and 5.2 stop when
  epsilon is below 1/|X|, |X| the number of rows. That is too early: it must be below 1/|V|.)
- The *excess* of a column is its number of units minus one.
- The *reduced cost* of an arc (x, y) is its cost plus the price of x minus the price of y. That of the
  reverse arc (y, x) is the negative of it.
- An arc (x, y) is *residual* if the unit of x is not on it; otherwise its reverse arc is residual.
- A flow is *epsilon-optimal* if no residual arc has a reduced cost below -epsilon.

Pseudo-code
-----------
::

    for each matrix:                                                       solve_items
        if some pairs are not allowed: match all rows, or report that this is infeasible
        add rows of cost 0 until the matrix is square                      make_square
        scale the costs                                                    scaled
        for each epsilon, down to 1:                                       refine_all
            make the flow epsilon-optimal                                  the method's own refine
            fix arcs that no later refine uses                             fix_arcs
        prove the assignment, or make it exact                             scaling_finish

Floats, and integers too large for the scale, are first rounded to multiples of ``Scaled.unit``. The flow and
the prices are then only near the optimum. After arc fixing, the prices are known to suit only the arcs that
were kept. So :mod:`.scaling_finish` compares the prices with all given costs, and makes the assignment exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Indices, Int64, Number
from ..errors import UnsuitableMethodError
from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..solving.run import Control
from ..stats import PHASES
from .dense_rows import ROOM, WANTED
from .most_pairs import find_violation
from .push_relabel import Network, Step, make_network, update_prices
from .scaling_finish import finish, from_scratch, largest_sizes, load, make_repair, note_largest, rounded
from .search_state import clear, lists_of, make_lists, make_state
from .shortest_paths import number_dtype, write_solution
from .solution import INFEASIBLE, OVERFLOW, SOLVED, Solution, unsolved

#: No price falls to ``-LOWEST`` or below.
LOWEST = 2**62
#: Floats are rounded to integers of this many bits, or fewer if these do not fit.
FLOAT_BITS = 32
#: Floats are rounded to multiples of a power of two with at least this exponent: 2**-1022 is the least normal
#: number.
LEAST_EXPONENT = -1022
#: The largest number of arcs with 32-bit numbers.
MOST_ARCS = 2**32 - 2
#: All refines together lower a price by at most DROP times the number of vertices times the largest scaled
#: cost.
DROP = 4


class Arcs(NamedTuple):
    """The arcs that may still carry flow, row by row, with scaled costs."""

    #: shape (n + 1,): the arcs of row `x` start at ``first[x]``. Rows that were added to make the matrix
    #: square come last.
    first: NDArray[np.uint64]
    #: shape (n,): the number of arcs that each row still has; arc fixing lowers it
    size: NDArray[np.uint64]
    column: Indices  #: uint32: the column of each arc
    cost: NDArray[np.int64]  #: the scaled cost of each arc


class Scaled(NamedTuple):
    """Arcs with scaled costs, and the scale."""

    arcs: Arcs
    scale: int  #: scaled costs are whole multiples of this
    #: int or float: costs are rounded to multiples of `unit`; the cost `unit` becomes the scaled cost `scale`
    unit: Any
    #: the largest absolute scaled cost. The first epsilon is this number divided by alpha.
    largest: int


class Flow(NamedTuple):
    """A flow, the excess of columns, and prices."""

    #: shape (n,): the arc of each row's unit in the upper half, its column in the lower half; NOWHERE while
    #: the row has the unit
    at: NDArray[np.uint64]
    excess: NDArray[np.int64]  #: shape (n,): the number of units at each column minus one
    #: shape (n,)
    row_price: NDArray[np.int64]
    column_price: NDArray[np.int64]


#: Parts of a word of `Flow.at`.
NOWHERE = np.uint64(2**64 - 1)
HALF = np.uint64(32)
COLUMN = np.uint64(2**32 - 1)

#: One refine, given epsilon and a threshold. It starts from no flow and makes an epsilon-optimal one. Unless
#: the threshold is 0, it then drops the arcs without flow whose reduced cost exceeds the threshold. It
#: returns False if it was stopped.
Refine = Callable[[int, int], bool]


def make_flow(size: int) -> Flow:
    """Return prices of 0 and no flow, for `size` rows and as many columns."""
    return Flow(
        np.full(size, NOWHERE, dtype=np.uint64),
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )


def reduced_costs(arcs: Arcs, flow: Flow) -> NDArray[np.int64]:
    """Return the reduced costs of all residual arcs: for an arc with flow, that of its reverse arc."""
    size = arcs.size.astype(np.int64)
    row = np.repeat(np.arange(len(size)), size)
    place = np.concatenate([np.arange(first, first + k) for first, k in zip(arcs.first, size, strict=False)])
    place = place.astype(np.int64)
    reduced = arcs.cost[place] + flow.row_price[row] - flow.column_price[arcs.column[place]]
    has_flow = (flow.at[row] != NOWHERE) & ((flow.at[row] >> HALF).astype(np.int64) == place)
    found: NDArray[np.int64] = np.where(has_flow, -reduced, reduced)
    return found


def make_square(costs: SparseCosts) -> SparseCosts:
    """Return costs with as many rows as columns: rows are added that may have any column at cost 0.

    UnsuitableMethodError: there would be more than 2**32 - 2 arcs.
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
    """Return the arcs of a square matrix with scaled integer costs."""
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


def _largest_size(values: Array) -> Number:
    """Return the largest absolute value; 0 if there are no values."""
    return max(abs(values.max(initial=0).item()), abs(values.min(initial=0).item()))


@kernel
def start_refine(arcs: Arcs, flow: Flow, epsilon: Int64, begin: np.uint64, end: np.uint64) -> None:
    """Remove the flow of some rows and columns; set row prices that make least reduced costs -epsilon."""
    for x in range(begin, end):
        flow.at[x] = NOWHERE
        flow.excess[x] = -1
        least = np.int64(2**63 - 1)
        for k in range(arcs.first[x], arcs.first[x] + arcs.size[x]):
            least = min(least, arcs.cost[k] - flow.column_price[arcs.column[k]])
        flow.row_price[x] = -(least + epsilon)


@kernel
def fix_arcs(arcs: Arcs, flow: Flow, threshold: Int64, begin: np.uint64, end: np.uint64) -> None:
    """Drop the arcs of some rows that have no flow and a reduced cost above the threshold: see `Refine`."""
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
    """Return the reduced cost above which an arc without flow in an epsilon-optimal flow never gets any."""
    return 4 * size * epsilon


def epsilons(largest: int, alpha: float) -> list[int]:
    """Return the epsilon of each refine, down to 1."""
    found = [largest]
    while found[-1] > 1:
        found.append(max(1, int(found[-1] / alpha)))
    return found[1:] or [1]


def _finish(
    costs: DenseCosts | SparseCosts,
    scaled_costs: Scaled,
    flow: Flow,
    control: Control,
    solution: Solution,
    item: int,
) -> AnyArray:
    """Prove the assignment of an item with square costs, or make it exact; write it; return the ending."""
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


class PriceUpdate:
    """The price update of Algorithm 5.3, on all arcs: fixed arcs do not harm an update."""

    def __init__(self, arcs: Arcs) -> None:
        size = len(arcs.size)
        costs = SparseCosts(arcs.first, arcs.column.copy(), arcs.cost.copy(), size)
        self.keys = costs.row * size + costs.column
        self.cost = costs.values
        self.network: Network = make_network(costs, 0, 1, np.int64, np.zeros(1, np.int64))

    def used(self, flow: Flow) -> tuple[Array, Array, Array]:
        """Return the rows whose units are at columns, these columns, and the places of their arcs."""
        rows = np.flatnonzero(flow.at != NOWHERE)
        columns = (flow.at[rows] & COLUMN).astype(np.int64)
        return rows, columns, np.searchsorted(self.keys, rows * len(flow.at) + columns)

    def saturate(self, flow: Flow, epsilon: int) -> int:
        """Send units back whose arcs violate epsilon-optimality; return their number."""
        rows, columns, places = self.used(flow)
        back = flow.column_price[columns] - flow.row_price[rows] - self.cost[places]
        spoiling = back < -epsilon
        flow.at[rows[spoiling]] = NOWHERE
        np.subtract.at(flow.excess, columns[spoiling], 1)
        return int(spoiling.sum())

    def update(self, flow: Flow, epsilon: int) -> None:
        """Lower the prices of an epsilon-optimal flow by distances to columns without a unit."""
        network, size = self.network, len(flow.at)
        _, _, places = self.used(flow)
        network.residual[:] = network.forward
        network.residual[places] = 0  # arcs of rows come first, in their order
        network.residual[network.reverse[places]] = 1
        network.excess[:size] = flow.at == NOWHERE
        network.excess[size:] = flow.excess
        network.price[:size], network.price[size:] = flow.row_price, flow.column_price
        update_prices(
            network,
            Step(
                delta=np.int64(epsilon),
                offset=np.int64(0),
                floor=np.int64(-(2**62)),
                rows=np.uint64(size),
                columns=np.uint64(size),
                keep_flow=True,
                newest_first=False,
                updates=True,
            ),
        )
        flow.row_price[:], flow.column_price[:] = network.price[:size], network.price[size:]


def refine_all(
    largest: int, size: int, alpha: float, arc_fixing: bool, control: Control, refine: Refine
) -> bool:
    """Refine for each epsilon, and fix arcs after each refine but the last; return False if stopped."""
    for epsilon in epsilons(largest, alpha):
        threshold = fixing_threshold(size, epsilon) if arc_fixing and epsilon > 1 else 0
        if control.stopped or not refine(epsilon, threshold):
            return False
        control.counts[PHASES] += 1
    return True


def solve_items(
    costs: DenseCosts | SparseCosts,
    control: Control,
    go_on: bool,
    run: Callable[[Scaled], Flow | None],
) -> Solution:
    """Solve one matrix after the other; `run` returns an optimal flow for scaled costs, None if stopped."""
    items, n, m = costs.shape
    solution = unsolved(items, n, m, number_dtype(costs))._replace(largest=largest_sizes(costs))
    control.progress[:] = items * n
    for item in range(items):
        one = costs.one(item)
        arcs = one.to_sparse()
        if len(arcs.values) < n * m:
            violation = find_violation(arcs, control)
            if violation is not None:
                solution.ending[item] = INFEASIBLE
                solution = solution._replace(violating_rows=violation[0], violating_columns=violation[1])
                if go_on:
                    continue
                break
        square = make_square(arcs)
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
