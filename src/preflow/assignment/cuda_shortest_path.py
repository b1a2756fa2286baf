"""Shortest paths from all free columns at once, for one large dense matrix on a GPU.

preflow's own. A search finds the distance, in reduced costs, from every row to its nearest free column; prices that
change by these distances make all shortest ways free of cost, so that from each free row one leads to a free
column. Walks from all free rows at once go along them, of those to one column one arrives, and rows on its way
move on by one column: the shortest augmenting paths of Jonker and Volgenant (1987), many at a time, as Balas,
Miller, Pekny and Toth, "A parallel shortest augmenting path algorithm for the assignment problem", J. ACM 38
(1991), find them from rows. Every search leaves fewer free rows, usually about half; a dozen to a few dozen
searches solve 10,000 rows. All is exact for integers, and there is no scaling.

Distances are those of Bellman and Ford: each row looks for a shorter way through the columns that it lists, all
rows at once, until none finds one. Rows list their cheapest columns and a bound on the others, which stays true
since prices only fall. Where a distance passes the bound, a block looks through the whole row and lists it
afresh; it repeats until no row finds a shorter way. Distances above that of the farthest free row count as that.

Before, prices start from the minima of columns (where there are as many as rows), and rows bid: the best column's
price falls until the second best one is as good, as in the row reduction of Jonker and Volgenant. Bids wait for
nothing: a column's price and row are one word, exchanged at once; who is displaced bids next. So which of several
best assignments is found may differ between runs.

All is one cooperative kernel. A block owns every so manyth row; a round of the search takes a barrier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cuda.runtime import Device
from ..errors import InvalidInputError, SolverError
from ..graph.device_costs import DeviceCosts
from ..graph.placement import require_memory
from ..solving.options import check_positive
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS
from .serial_shortest_path import Solution
from .state import INFEASIBLE, SOLVED, STOPPED

SOURCE = Path(__file__).with_suffix(".cu")
#: Kinds of costs, in the order of COST_KIND in the ``.cuh`` file.
KINDS = ("i4", "i8", "f4", "f8")
#: Words of the kernel's state and their places, phases where it begins and ends, and an ending that is a bug.
STATE_WORDS = 10
PHASE, ROUNDS_LEFT, _, ENDING, SEARCHES, FREE_ROWS, _, _, RELAXATIONS, SCANS = range(STATE_WORDS)
REDUCE_COLUMNS, START, DONE = 0, 1, 9
STUCK = 4
SIGNAL_WORDS = 3 * 16
#: Bytes of a block's shared memory, at least as many as ``Scratch`` has.
SCRATCH_BYTES = 8192
#: Neighbouring threads whose columns have one minimum, of which a list's threshold is one.
COLUMNS_A_GROUP = 4
#: A list should fill so much of its room.
FILLED = 0.8
#: Barriers of one launch, some 50 ms; and more launches than any problem needs: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 20_000, 100_000
#: Threads that look at a list together.
LANES = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class CudaShortestPathOptions:
    """Options of the shortest paths from all free columns at once.

    Attributes
    ----------
    room : int
        Columns that a row's list has room for.
    bids : int
        At most so many follow each other from one row before the searches; 0 for none.
    lanes : int
        Threads that look at a list together: a power of two up to 32.
    sweeps : int
        How often a search goes through all lists between two barriers.
    """

    room: int = 32
    bids: int = 50
    lanes: int = 8
    sweeps: int = 3

    def __post_init__(self) -> None:
        for name in ("room", "sweeps"):
            check_positive(name, getattr(self, name))
        if isinstance(self.bids, bool) or not isinstance(self.bids, int) or not 0 <= self.bids < 2**32:
            raise InvalidInputError(f"option bids is an integer of 0 or more, got {self.bids!r}")
        if self.lanes not in LANES:
            raise InvalidInputError(f"option lanes is a power of two up to 32, got {self.lanes!r}")


class MatrixCosts(NamedTuple):
    """``MatrixCosts`` in the ``.cuh`` file."""

    values: Any
    num_columns: int


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cuh`` file."""

    costs: MatrixCosts
    num_rows: int
    num_columns: int
    room: int
    wanted: int
    most_bids: int
    row_match: Any
    u: Any
    distance: Any
    nearest: Any
    bound: Any
    parent: Any
    size: Any
    won: Any
    listed: Any
    listed_cost: Any
    reduced: Any
    column_match: Any
    v: Any
    start: Any
    fallen: Any
    column_distance: Any
    claims: Any
    arrivals: Any
    signals: Any
    state: Any
    counted: Any


def solve(
    costs: DeviceCosts, options: CudaShortestPathOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost.

    Parameters
    ----------
    costs : DeviceCosts
        To minimise, with at least as many columns as rows.
    options : CudaShortestPathOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Raises
    ------
    DeviceMemoryError
        It does not fit the GPU; nothing has been allocated yet.

    Notes
    -----
    O(n) searches at worst, each of O(n) rounds over all lists; a dozen of searches of some dozen rounds in
    practice. On the device, beside the costs: 20 bytes a list's entry, 56 a row and 44 a column.
    """
    items, n, m = costs.shape
    dtype = np.int64 if costs.values.dtype.kind == "i" else np.float64
    require_memory(costs.device, _bytes(n, m, options), f"lists of {n:,} rows of {m:,} columns")
    solution = Solution(
        np.full((items, n), -1, dtype=np.int64),
        np.zeros((items, n), dtype=dtype),
        np.zeros((items, m), dtype=dtype),
        np.full(items, STOPPED, dtype=np.int64),
        *np.empty((2, 0), dtype=np.int64),
    )
    control.excess[:] = items * n
    with costs.current():
        for item in range(items):
            arguments = _arguments(costs.device, costs.values[item], options)
            ending = _run(costs.device, arguments, options, control, KINDS.index(costs.values.dtype.str[1:]))
            solution = _record(solution, item, costs, arguments, ending)
            if ending == STOPPED or (ending != SOLVED and not go_on):
                break
    return solution


def _bytes(n: int, m: int, options: CudaShortestPathOptions) -> int:
    return n * (20 * min(options.room, m) + 56) + 44 * m


def _arguments(device: Device, values: Any, options: CudaShortestPathOptions) -> Arguments:
    """Return what the kernel works on for one matrix."""
    xp, (n, m) = device.xp, values.shape
    number = np.int64 if values.dtype.kind == "i" else np.float64
    room = min(options.room, m)
    groups = device.block_threads // COLUMNS_A_GROUP
    wanted = max(1, int(groups * -math.expm1(-FILLED * room / groups)))

    def empty(dtype: Any, *sizes: int) -> list[Any]:
        return [xp.empty(size, dtype=dtype) for size in sizes]

    state = xp.zeros(STATE_WORDS, dtype=np.uint64)
    state[PHASE] = REDUCE_COLUMNS if n == m else START
    row_match, parent, size, won, listed = empty(np.uint32, n, n, n, n, n * room)
    u, distance, nearest, bound, listed_cost, reduced = empty(number, n, n, n, n, n * room, n * room)
    column_match, claims = empty(np.uint32, m, 2 * m)
    v, start = empty(number, m, m)
    return Arguments(
        MatrixCosts(values, m), n, m, room, wanted, options.bids,
        row_match, u, distance, nearest, bound, parent, size, won, listed, listed_cost, reduced,
        column_match, v, start, xp.zeros(m, dtype=np.uint64), xp.empty(m, dtype=np.uint64), claims,
        arrivals=xp.zeros(1, dtype=np.uint32),
        signals=xp.zeros(SIGNAL_WORDS, dtype=np.uint64),
        state=state,
        counted=xp.zeros(1, dtype=np.uint64),
    )  # fmt: skip


def _run(
    device: Device, arguments: Arguments, options: CudaShortestPathOptions, control: Control, kind: int
) -> int:
    """Launch the kernel until it is done or the solve is to stop; return the ending."""
    constants = (("COST_KIND", kind), ("LANES_A_ROW", options.lanes), ("SWEEPS", options.sweeps))
    before = control.counts.copy()
    searched = arguments.num_rows
    for _ in range(MOST_LAUNCHES):
        if control.stopped:
            return STOPPED
        arguments.state[ROUNDS_LEFT] = ROUNDS_A_LAUNCH
        arguments.arrivals[:] = 0
        device.launch(
            SOURCE,
            "shortest_path_slice",
            device.num_multiprocessors,
            device.block_threads,
            arguments,
            shared_bytes=SCRATCH_BYTES,
            constants=constants,
            cooperative=True,
        )
        state = device.to_host(arguments.state).astype(np.int64)
        control.counts[ARC_SCANS] = before[ARC_SCANS] + device.to_host(arguments.counted)[0]
        if state[SEARCHES] == 1:
            searched = state[FREE_ROWS]
        if state[PHASE] == DONE:
            if state[ENDING] == STUCK:
                raise SolverError(f"a search gave no row a column: state {state.tolist()}")
            control.counts[AUGMENTATIONS] = before[AUGMENTATIONS] + np.uint64(searched - state[FREE_ROWS])
            return int(state[ENDING])
        if state[SEARCHES]:
            control.excess[0] = state[FREE_ROWS]
    raise SolverError(f"gave up after {MOST_LAUNCHES:,} launches: state {state.tolist()}")


def _record(
    solution: Solution, item: int, costs: DeviceCosts, arguments: Arguments, ending: int
) -> Solution:
    """Write down what was found for an item."""
    device, xp = costs.device, costs.xp
    n, m = arguments.num_rows, arguments.num_columns
    solution.ending[item] = ending
    solution.v[item] = device.to_host(arguments.v)
    row_match = device.to_host(arguments.row_match).astype(np.int64)
    if ending == SOLVED:
        solution.match[item] = row_match
        at_pairs = costs.at(item, xp.arange(n), arguments.row_match.astype(np.int64))
        solution.u[item] = device.to_host(at_pairs) - solution.v[item, row_match]
    if ending != INFEASIBLE:
        return solution
    beyond = 2**61 if solution.u.dtype.kind == "i" else np.inf
    rows = np.flatnonzero(device.to_host(arguments.distance) >= beyond)
    columns = row_match[rows]
    return solution._replace(violating_rows=rows, violating_columns=np.sort(columns[columns < m]))
