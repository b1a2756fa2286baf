"""Shortest paths from all free columns at once, for few large dense problems on a GPU.

preflow's own. A search finds the distance, in reduced costs, from every row to its nearest free column.
Prices that change by these distances make all shortest ways free of cost, so that a way leads from each free
row to a free column; of those to one column one is taken, and all rows on it move on by one column. These
are the shortest augmenting paths of Jonker and Volgenant (1987), many at a time, as Balas, Miller, Pekny and
Toth, "A parallel shortest augmenting path algorithm for the assignment problem", J. ACM 38 (1991), find them
from rows. Every search leaves fewer free rows, at first about half: 20 searches solve 10,000 rows of random
costs, 60 as many random points. All is exact for integers; there is no scaling.

Distances are those of Bellman and Ford: each row looks for a shorter way through the columns that it lists,
all rows at once, until none finds one. Rows list their cheapest columns and a bound on the others, which
stays true since prices only fall. Where a distance passes the bound, a block looks through the whole row and
lists it afresh, until no row finds a shorter way. Distances above that of the farthest free row count as
that. Rows whose ways end at a column that nobody took keep them, free of cost, for the next search; by
doubling its steps each row finds out where its way ends.

Before, prices start from the minima of columns (where there are as many as rows), and rows bid: the best
column's price falls until the second best one is as good, as in the row reduction of Jonker and Volgenant.
Bids wait for nothing: a column's price and its row are one word, exchanged at once; who is displaced bids
next. So which of several best assignments is found may differ between runs.

All is one cooperative kernel. A block owns every so manyth row; a round of a search takes a barrier. Where
there are several problems, each has its share of the blocks. Costs come from a matrix, or from points when
needed. Problems whose paths are long, as Machol and Wien's, take as many searches as there are rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidInputError, SolverError
from ...graph.device.costs import DeviceCosts
from ...graph.device.points import DevicePoints
from ...graph.placement import require_memory
from ...solving.options import check_count, check_positive_integer
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..device_solution import DeviceSolution, make_solution
from ..solution import INFEASIBLE, OVERFLOW, SOLVED, STOPPED

SOURCE = Path(__file__).with_name("shortest_path.cu")
#: Kinds of costs, in the order of COST_KIND in the ``.cuh`` file.
KINDS = ("i4", "i8", "f4", "f8")
#: Words of a problem and their places, as in the ``.cuh`` file; the first are its state.
PROBLEM_WORDS = 64
PHASE, ENDING, SEARCHES, FREE_ROWS, SEARCHED = 0, 3, 4, 5, 10
COUNTED, ARRIVALS = 41, 48
#: Phases that a solve begins with, and its end; and an ending that is a bug.
REDUCE_COLUMNS, START, DONE = 0, 1, 12
STUCK = 4
#: Bytes of a block's shared memory, at least as many as ``Scratch`` has.
SCRATCH_BYTES = 8192
#: Neighbouring threads whose columns have one minimum, of which a list's threshold is one.
COLUMNS_A_GROUP = 8
#: A list should fill so much of its room.
FILLED = 0.8
#: Barriers of one launch, some 0.1 s; and more launches than any problem needs: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 20_000, 100_000
#: Threads that look at a list together.
LANES = (0, 1, 2, 4, 8, 16, 32)
LEAST_LANES = 4


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
        Threads that look at a list together: a power of two up to 32; 0 for as many as let a block look at
        all of its rows at once, but 4 at least.
    sweeps : int
        How often a search goes through all lists between two barriers.
    """

    room: int = 32
    bids: int = 50
    lanes: int = 0
    sweeps: int = 6

    def __post_init__(self) -> None:
        for name in ("room", "sweeps"):
            check_positive_integer(name, getattr(self, name))
        check_count("bids", self.bids)
        if self.lanes not in LANES:
            raise InvalidInputError(f"option lanes is 0 or a power of two up to 32, got {self.lanes!r}")


class MatrixCosts(NamedTuple):
    """``MatrixCosts`` in the ``.cuh`` file."""

    values: Any
    num_columns: int


class Points(NamedTuple):
    """``PointCosts`` in the ``.cuh`` file."""

    rows: Any
    columns: Any
    factor: int


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cuh`` file."""

    costs: MatrixCosts | Points
    num_rows: int
    num_columns: int
    blocks_a_problem: int
    rounds: int
    room: int
    wanted: int
    most_bids: int
    sweeps: int
    row_match: Any
    u: Any
    distance: Any
    nearest: Any
    bound: Any
    parent: Any
    size: Any
    moved: Any
    ways: Any
    listed: Any
    listed_cost: Any
    reduced: Any
    column_match: Any
    v: Any
    start: Any
    fallen: Any
    column_distance: Any
    claims: Any
    words: Any
    stop: Any


def solve(
    costs: DeviceCosts | DevicePoints,
    options: CudaShortestPathOptions,
    control: Control,
    go_on: bool = False,
) -> DeviceSolution:
    """Assign all rows, or all columns where there are fewer, of every item at the best cost.

    Parameters
    ----------
    costs : DeviceCosts or DevicePoints
        As they are given, at least one. Several of one size are solved at a time where that leaves each
        a block.
    options : CudaShortestPathOptions
    control : Control
    go_on : bool
        Without meaning here: all items are solved.

    Raises
    ------
    DeviceMemoryError
        It does not fit the GPU.
    InvalidInputError
        Prices of integers pass 2**60.

    Notes
    -----
    O(n) searches at worst, each of O(n) rounds over all lists; a dozen of searches of some dozen rounds in
    practice. On the device, beside the costs: 20 bytes a list's entry, 80 a row and 44 a column; matrices are
    copied where they are to be maximised, have more rows than columns or differ in size.
    """
    items = costs.shape[0]
    solution = make_solution(costs, np.int64 if costs.dtype.kind == "i" else np.float64)
    control.excess[:] = 1.0
    for first, part in _of_one_size(costs):
        if 0 in part.shape:
            _record_nothing(solution, first)
            continue
        least = part.to_minimize()
        at_once = _problems_at_once(least, options)
        for begin in range(0, part.shape[0], at_once):
            names = range(first + begin, min(first + begin + at_once, first + part.shape[0]))
            arguments = _arguments(least, begin, len(names), options, control)
            endings = _run(least, arguments, options, control)
            if STOPPED in endings:
                return _record_bounds(solution, names, part, arguments)
            solution = _record(solution, names, part, arguments, endings)
            control.excess[0] = 1.0 - names.stop / items
    return solution._replace(done=items)


def _of_one_size(costs: DeviceCosts | DevicePoints) -> Iterator[tuple[int, DeviceCosts | DevicePoints]]:
    """Yield all items, or, where they differ in size, one after the other; and the number of the first."""
    if isinstance(costs, DevicePoints) or costs.sizes is None:
        yield 0, costs
        return
    for item, (n, m) in enumerate(costs.sizes.tolist()):
        yield item, replace(costs, values=costs.values[item : item + 1, :n, :m], sizes=None)


def _problems_at_once(costs: DeviceCosts | DevicePoints, options: CudaShortestPathOptions) -> int:
    """Return how many items the blocks and the memory of the GPU do for."""
    items, n, m = costs.shape
    needed = n * (20 * min(options.room, m) + 80) + 44 * m + 8 * PROBLEM_WORDS
    require_memory(costs.device, needed, f"lists of {n:,} rows of {m:,} columns")
    if items == 1:
        return 1
    return max(1, min(items, costs.device.num_multiprocessors, costs.device.free_bytes // (2 * needed)))


def _arguments(
    costs: DeviceCosts | DevicePoints,
    first: int,
    items: int,
    options: CudaShortestPathOptions,
    control: Control,
) -> Arguments:
    """Return what the kernel works on for some items."""
    xp, device, (_, n, m) = costs.xp, costs.device, costs.shape
    number = np.int64 if costs.dtype.kind == "i" else np.float64
    if isinstance(costs, DevicePoints):
        factor = int(np.float64(costs.factor).view(np.uint64))
        looked_at: MatrixCosts | Points = Points(costs.rows, costs.columns, factor)
    else:
        looked_at = MatrixCosts(costs.values[first : first + items], m)
    room = min(options.room, m)
    groups = device.block_threads // COLUMNS_A_GROUP
    wanted = max(1, int(groups * -math.expm1(-FILLED * room / groups)))
    words = np.zeros((items, PROBLEM_WORDS), dtype=np.uint64)
    words[:, PHASE] = REDUCE_COLUMNS if n == m else START
    words[:, ENDING] = STOPPED
    of_rows = xp.empty((4, items, n), dtype=np.uint32)
    of_columns = xp.empty((3, items, m), dtype=np.uint32)
    wide_of_rows = xp.empty((4, items, n), dtype=number)
    wide_of_columns = xp.empty((2, items, m), dtype=number)
    entries = items * n * room
    return Arguments(
        looked_at, n, m,
        blocks_a_problem=device.num_multiprocessors // items,
        rounds=ROUNDS_A_LAUNCH, room=room, wanted=wanted, most_bids=options.bids, sweeps=options.sweeps,
        row_match=of_rows[0], parent=of_rows[1], size=of_rows[2], moved=of_rows[3],
        ways=xp.empty((items, 3, n), dtype=np.uint64),
        u=wide_of_rows[0], distance=wide_of_rows[1], nearest=wide_of_rows[2], bound=wide_of_rows[3],
        listed=xp.empty(entries, dtype=np.uint32),
        listed_cost=xp.empty(entries, dtype=number),
        reduced=xp.empty(entries, dtype=number),
        column_match=of_columns[0], claims=of_columns[1:],
        v=wide_of_columns[0], start=wide_of_columns[1],
        fallen=xp.zeros((items, m), dtype=np.uint64),
        column_distance=xp.empty((items, m), dtype=np.uint64),
        words=xp.asarray(words),
        stop=device.stop_word(control),
    )  # fmt: skip


def _constants(
    costs: DeviceCosts | DevicePoints, arguments: Arguments, options: CudaShortestPathOptions
) -> tuple[tuple[str, int], ...]:
    """Return what the kernel is compiled with."""
    lanes = ("LANES_A_ROW", options.lanes or _lanes(costs.device.block_threads, arguments))
    if isinstance(costs, DevicePoints):
        return lanes, ("COST_KIND", len(KINDS) + costs.kind), ("DIMENSION", costs.rows.shape[1])
    return lanes, ("COST_KIND", KINDS.index(costs.dtype.str[1:]))


def _run(
    costs: DeviceCosts | DevicePoints,
    arguments: Arguments,
    options: CudaShortestPathOptions,
    control: Control,
) -> list[int]:
    """Launch the kernel until it is done or the solve is to stop; return how each item ended."""
    device, items = costs.device, len(arguments.words)
    constants = _constants(costs, arguments, options)
    scans, augmentations = control.counts[ARC_SCANS], control.counts[AUGMENTATIONS]
    for _ in range(MOST_LAUNCHES):
        if control.stopped:
            return [STOPPED] * items
        device.launch(
            SOURCE,
            "shortest_path_slice",
            arguments.blocks_a_problem * items,
            device.block_threads,
            arguments,
            shared_bytes=SCRATCH_BYTES,
            constants=constants,
            cooperative=True,
        )
        words = device.to_host(arguments.words)
        control.counts[ARC_SCANS] = scans + words[:, COUNTED].sum()
        control.counts[AUGMENTATIONS] = augmentations + (words[:, SEARCHED] - words[:, FREE_ROWS]).sum()
        if (words[:, PHASE] == DONE).all():
            break
        arguments.words[:, ARRIVALS] = 0
    else:
        raise SolverError(f"gave up after {MOST_LAUNCHES:,} launches: {words[:, :12].tolist()}")
    endings: list[int] = words[:, ENDING].tolist()
    if STUCK in endings:
        raise SolverError(f"a search gave no row a column: {words[:, :12].tolist()}")
    if OVERFLOW in endings:
        raise InvalidInputError(
            "prices pass 2**60: the range of the costs is too large for exact 64-bit integers"
        )
    return endings


def _lanes(block_threads: int, arguments: Arguments) -> int:
    """Return how many threads look at a list together where each block looks at all of its rows at once."""
    rows = -(-arguments.num_rows // arguments.blocks_a_problem)
    return max([lanes for lanes in LANES if lanes * rows <= block_threads] + [LEAST_LANES])


def _record(
    solution: DeviceSolution,
    names: range,
    costs: DeviceCosts | DevicePoints,
    arguments: Arguments,
    endings: list[int],
) -> DeviceSolution:
    """Write down what was found for some items, in the order of their rows and columns as given."""
    xp, part = costs.xp, slice(names.start, names.stop)
    _, n, m = costs.shape
    match = arguments.row_match.astype(np.int64)
    row, column = (xp.arange(n), match) if n <= m else (xp.sort(match, axis=1), xp.argsort(match, axis=1))
    for there, found in ((solution.row, row), (solution.column, column)):
        there[part, : found.shape[-1]] = found
        there[part, found.shape[-1] :] = -1
    sign = _record_prices(solution, part, costs, arguments)
    solution.total[part] = sign * arguments.distance.sum(axis=1)
    solution.ending[part] = xp.asarray(endings, dtype=np.uint32)
    violators = dict(solution.violators)
    for k, name in enumerate(names):
        if endings[k] == INFEASIBLE:
            violators[name] = _violators(costs, arguments, k)
    return solution._replace(num_infeasible=len(violators), violators=violators)


def _record_prices(
    solution: DeviceSolution, part: slice, costs: DeviceCosts | DevicePoints, arguments: Arguments
) -> int:
    """Write down the prices of some items; return the sign that the kernel does not see."""
    sign = -1 if costs.maximize else 1
    prices = (arguments.u, arguments.v) if costs.shape[1] <= costs.shape[2] else (arguments.v, arguments.u)
    for there, found in zip((solution.u, solution.v), prices, strict=True):
        there[part, : found.shape[-1]] = sign * found
        there[part, found.shape[-1] :] = 0
    return sign


def _record_bounds(
    solution: DeviceSolution, names: range, costs: DeviceCosts | DevicePoints, arguments: Arguments
) -> DeviceSolution:
    """Write down the prices of items whose solve was stopped, if all had begun to search."""
    if not (costs.device.to_host(arguments.words)[:, SEARCHES] > 0).all():
        return solution._replace(done=names.start)
    _record_prices(solution, slice(names.start, names.stop), costs, arguments)
    return solution._replace(done=names.start, num_priced=len(names))


def _record_nothing(solution: DeviceSolution, item: int) -> None:
    """Write down that an item without rows or without columns has no pairs."""
    for values, rest in zip(solution[:6], (-1, -1, 0, 0, 0, SOLVED), strict=True):
        values[item] = rest


def _violators(
    costs: DeviceCosts | DevicePoints, arguments: Arguments, k: int
) -> tuple[list[int], list[int]]:
    """Return rows (columns, if there are fewer) out of reach of free columns, and those that these have."""
    to_host = costs.device.to_host
    beyond = 2**61 if arguments.u.dtype.kind == "i" else np.inf
    rows = np.flatnonzero(to_host(arguments.distance[k]) >= beyond)
    others = to_host(arguments.row_match[k])[rows].astype(np.int64)
    return rows.tolist(), np.sort(others[others < arguments.num_columns]).tolist()
