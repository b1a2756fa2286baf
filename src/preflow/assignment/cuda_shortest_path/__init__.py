"""Few large dense problems on a GPU: shortest paths from all free columns at once.

The searches are those of Balas, Miller, Pekny and Toth, "A parallel shortest augmenting path algorithm for
the assignment problem", J. ACM 38 (1991), which find many shortest augmenting paths of Jonker and Volgenant
(1987) at a time. They search from free rows; the search from free columns and everything below is preflow's
own.

Definitions
-----------
- The *distance* of a row is the least sum of reduced costs on an alternating path to a free column, and its
  *parent* the next column on that path.
- The *limit* is the largest distance of a free row. Larger distances count as the limit.
- A row *lists* its cheapest columns; its *bound* is a lower bound on the reduced costs of the others.

Invariants
----------
- Prices of columns only fall, so bounds stay valid.
- No reduced cost of a row is below that of the row's own column. All is exact for integers.
- Each block owns the rows whose number is congruent to its own modulo the number of blocks of the problem,
  and only this block writes their arrays.
- During the bids, a column's price and its row are one word, which is exchanged atomically.

Pseudo-code
-----------
One cooperative kernel; each phase ends at a barrier of all blocks of the problem::

    REDUCE_COLUMNS, START: prices are the minima of columns, or 0 if there are more columns than rows
    LIST: each row lists its cheapest columns
    BID, SETTLE: rows bid as in row reduction: the price of the best column falls until the second best
        column is as good; a row that is displaced bids next
    while rows are free:
        BEGIN: move rows along the paths taken, compute reduced costs of lists
        repeat
            RELAX: each row looks for a shorter path through its list, until no distance changes
            CHECK: rows whose distance exceeds their bound scan the whole row and list it again
        until no row has found a shorter path
        TRACE, JUMP: each row finds the end of its path by pointer doubling
        AUGMENT: change prices by the distances; of the free rows whose paths end at the same free column,
            one takes its path, and all rows on it will move on by one column
    FINISH: write the costs of the pairs

After the change of prices all arcs of shortest paths have reduced cost 0. Rows whose paths end at a free
column that no row took keep their paths for the next search. Every search leaves fewer free rows, at first
about half as many: 20 searches solve 10,000 rows of random costs, 60 searches as many random points.

No bid waits for another, so different runs may find different assignments of the same cost. Several problems
share the blocks evenly. Costs are read from a matrix, or computed from points when needed. Problems with long
paths, such as the costs of Machol and Wien, take as many searches as there are rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np

from ...arrays import AnyArray
from ...cuda.launches import shared_bytes
from ...cuda.runtime import Macros
from ...cuda.structs import U32, U64, ConstF64, ConstI64
from ...errors import InvalidInputError, SolverError
from ...graph.device.costs import DeviceCosts
from ...graph.device.points import DevicePoints
from ...graph.placement import require_memory
from ...solving.options import CheckedOptions, Lanes, NonNegativeInteger, PositiveInteger
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..device_solution import DeviceSolution, make_solution
from ..solution import INFEASIBLE, OVERFLOW, SOLVED, STOPPED

SOURCE = Path(__file__).with_name("shortest_path.cu")
#: The number of words of a problem, and where those begin that follow its state: see state.cuh.
PROBLEM_WORDS = 64
SIGNALS_AT, COUNTED_AT, ARRIVALS_AT = 32, 41, 48
Phase = IntEnum(
    "Phase", "REDUCE_COLUMNS START LIST BID SETTLE BEGIN RELAX CHECK TRACE JUMP AUGMENT FINISH DONE", start=0
)
#: An ending that only a bug reaches: a search matched no row.
STUCK = 4
#: Neighbouring threads that find one minimum together. The threshold of a list is one of these minima.
COLUMNS_A_GROUP = 8
#: The share of its space that a list should fill.
FILLED = 0.8
#: Most barriers of one launch, which takes about 0.1 s; and more launches than any problem needs (hours).
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 20_000, 100_000
#: The least number of threads that is chosen to read a list together.
LEAST_LANES = 4


@dataclass(frozen=True)
class CudaShortestPathOptions(CheckedOptions):
    """Options of the shortest paths from all free columns at once.

    Attributes
    ----------
    room : int
        The most columns of a row's list.
    bids : int
        The most bids that follow from one row before the searches; 0 for no bids.
    lanes : int
        The number of threads that read a list together, a power of two up to 32. 0 chooses the largest number
        for which a block reads all of its rows at once, and at least 4.
    sweeps : int
        The number of passes over all lists between two barriers.
    """

    room: PositiveInteger = 32
    bids: NonNegativeInteger = 50
    lanes: Literal[0, 1, 2, 4, 8, 16, 32] = 0
    sweeps: PositiveInteger = 6


class ShortestPathState(NamedTuple):
    """The state of a problem's loop."""

    phase: int = 0
    rounds_left: int = 0  #: in this launch
    round: int = 0  #: barriers so far: selects one of the three sets of signals
    ending: int = 0
    searches: int = 0  #: done so far, each from all free columns
    free_rows: int = 0
    least: int = 0  #: word of the least distance that changed in the last round
    limit: int = 0  #: word of the largest distance of a free row; larger distances are cut off there
    searched: int = 0  #: free rows before the first search
    jumps: int = 0  #: pointer doublings done in this search
    next_look: int = 0  #: clock time at which the first thread reads the stop flag next


#: The place of each number in the words of a problem.
WORD = ShortestPathState(*range(len(ShortestPathState._fields)))


class MatrixCosts(NamedTuple):
    """Dense matrices, one after the other, each stored by rows."""

    values: Annotated[AnyArray, "const Stored*"]
    num_columns: int


class PointCosts(NamedTuple):
    """The points of rows and of columns."""

    rows: ConstF64
    columns: ConstF64
    factor: int  #: word of the number that their distances are multiplied by


class Arguments(NamedTuple):
    """Arguments of "shortest_path_slice"."""

    costs: Annotated[MatrixCosts | PointCosts, "Costs"]
    num_rows: int
    num_columns: int
    blocks_a_problem: int
    rounds: int  #: most barriers of this launch
    room: int  #: most entries of a row's list
    wanted: int  #: rank of the group minimum that is the threshold of a list
    most_bids: int  #: most bids that follow from one free row
    sweeps: int  #: passes over all lists between two barriers
    row_match: U32
    u: Annotated[AnyArray, "Number*"]
    #: to the nearest free column in reduced costs; at the end: the cost of the pair
    distance: Annotated[AnyArray, "Number*"]
    #: the least reduced cost in the list, the row's own column left out
    nearest: Annotated[AnyArray, "Number*"]
    #: lower bound of cost minus price of columns not listed: stays valid since prices only fall
    bound: Annotated[AnyArray, "Number*"]
    parent: U32  #: the next column on the shortest path
    size: U32  #: of the list
    moved: U32  #: the last search in which the row was on the path that a free row took
    #: three arrays. First: the next column on the path (upper half) and its row. Two others, used in turn:
    #: the column and row that a pointer doubling has reached; at the end the free column at the tree's root
    ways: U64
    listed: U32
    listed_cost: Annotated[AnyArray, "Number*"]
    reduced: Annotated[AnyArray, "Number*"]
    column_match: U32
    v: Annotated[AnyArray, "Number*"]
    start: Annotated[AnyArray, "Number*"]  #: prices before the bids
    fallen: U64  #: the fall of the price since then (upper half), and 1 + the row that has the column
    column_distance: U64  #: word of the distance of its row; 0 if the column is free
    claims: U32  #: two arrays, used in turn by searches: the free row whose path takes the free column
    words: U64
    stop: ConstI64


def _of_one_size(costs: DeviceCosts | DevicePoints) -> Iterator[tuple[int, DeviceCosts | DevicePoints]]:
    """Yield (0, all items); if items differ in size, yield (number, item) for each."""
    if isinstance(costs, DevicePoints) or costs.sizes is None:
        yield 0, costs
        return
    for item, (n, m) in enumerate(costs.sizes.tolist()):
        yield item, replace(costs, values=costs.values[item : item + 1, :n, :m], sizes=None)


def _problems_at_once(costs: DeviceCosts | DevicePoints, options: CudaShortestPathOptions) -> int:
    """Return the number of items for which the GPU has enough blocks and memory."""
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
    """Return the arguments of the kernel for some items."""
    xp, device, (_, n, m) = costs.xp, costs.device, costs.shape
    number = np.int64 if costs.dtype.kind == "i" else np.float64
    if isinstance(costs, DevicePoints):
        factor = int(np.float64(costs.factor).view(np.uint64))
        looked_at: MatrixCosts | PointCosts = PointCosts(
            rows=costs.rows, columns=costs.columns, factor=factor
        )
    else:
        looked_at = MatrixCosts(values=costs.values[first : first + items], num_columns=m)
    room = min(options.room, m)
    groups = device.block_threads // COLUMNS_A_GROUP
    wanted = max(1, int(groups * -math.expm1(-FILLED * room / groups)))
    words = np.zeros((items, PROBLEM_WORDS), dtype=np.uint64)
    words[:, WORD.phase] = Phase.REDUCE_COLUMNS if n == m else Phase.START
    words[:, WORD.ending] = STOPPED
    of_rows = xp.empty((4, items, n), dtype=np.uint32)
    of_columns = xp.empty((3, items, m), dtype=np.uint32)
    wide_of_rows = xp.empty((4, items, n), dtype=number)
    wide_of_columns = xp.empty((2, items, m), dtype=number)
    entries = items * n * room
    return Arguments(
        costs=looked_at, num_rows=n, num_columns=m,
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
) -> Macros:
    """Return the macros with which the kernel is compiled."""
    lanes = ("LANES_A_ROW", options.lanes or _lanes(costs.device.block_threads, arguments))
    return lanes, *costs.macros


def _run(
    costs: DeviceCosts | DevicePoints,
    arguments: Arguments,
    options: CudaShortestPathOptions,
    control: Control,
) -> list[int]:
    """Launch the kernel until all items are done or the solve is to stop; return the ending of each."""
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
            shared_bytes=shared_bytes(device, SOURCE, device.block_threads, constants),
            constants=constants,
            cooperative=True,
        )
        words = device.to_host(arguments.words)
        control.counts[ARC_SCANS] = scans + words[:, COUNTED_AT].sum()
        control.counts[AUGMENTATIONS] = (
            augmentations + (words[:, WORD.searched] - words[:, WORD.free_rows]).sum()
        )
        if (words[:, WORD.phase] == Phase.DONE).all():
            break
        arguments.words[:, ARRIVALS_AT] = 0
    else:
        raise SolverError(f"gave up after {MOST_LAUNCHES:,} launches: {words[:, :12].tolist()}")
    endings: list[int] = words[:, WORD.ending].tolist()
    if STUCK in endings:
        raise SolverError(f"a search gave no row a column: {words[:, :12].tolist()}")
    if OVERFLOW in endings:
        raise InvalidInputError(
            "prices pass 2**60: the range of the costs is too large for exact 64-bit integers"
        )
    return endings


def _lanes(block_threads: int, arguments: Arguments) -> int:
    """Return the largest number of threads per list for which a block reads all of its rows at once."""
    rows = -(-arguments.num_rows // arguments.blocks_a_problem)
    return int(max([lanes for lanes in get_args(Lanes) if lanes * rows <= block_threads] + [LEAST_LANES]))


def _record(
    solution: DeviceSolution,
    names: range,
    costs: DeviceCosts | DevicePoints,
    arguments: Arguments,
    endings: list[int],
) -> DeviceSolution:
    """Store the solution of some items, by the caller's rows and columns."""
    xp, part = costs.xp, slice(names.start, names.stop)
    _, n, m = costs.shape
    match = arguments.row_match.astype(np.int64)
    row, column = (xp.arange(n), match) if n <= m else (xp.sort(match, axis=1), xp.argsort(match, axis=1))
    for stored, found in ((solution.row, row), (solution.column, column)):
        stored[part, : found.shape[-1]] = found
        stored[part, found.shape[-1] :] = -1
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
    """Store the prices of some items; return -1 if costs are to be maximised, else 1."""
    sign = -1 if costs.maximize else 1
    prices = (arguments.u, arguments.v) if costs.shape[1] <= costs.shape[2] else (arguments.v, arguments.u)
    for stored, found in zip((solution.u, solution.v), prices, strict=True):
        stored[part, : found.shape[-1]] = sign * found
        stored[part, found.shape[-1] :] = 0
    return sign


def _record_bounds(
    solution: DeviceSolution, names: range, costs: DeviceCosts | DevicePoints, arguments: Arguments
) -> DeviceSolution:
    """Store the prices of items whose solve was stopped, if all have begun to search."""
    if not (costs.device.to_host(arguments.words)[:, WORD.searches] > 0).all():
        return solution._replace(done=names.start)
    _record_prices(solution, slice(names.start, names.stop), costs, arguments)
    return solution._replace(done=names.start, num_priced=len(names))


def _record_nothing(solution: DeviceSolution, item: int) -> None:
    """Store the solution of an item without rows or without columns."""
    for values, rest in zip(solution[:6], (-1, -1, 0, 0, 0, SOLVED), strict=True):
        values[item] = rest


def _violators(
    costs: DeviceCosts | DevicePoints, arguments: Arguments, k: int
) -> tuple[list[int], list[int]]:
    """Return the rows (columns, if there are fewer) that reach no free column, and the columns they have."""
    to_host = costs.device.to_host
    beyond = 2**61 if arguments.u.dtype.kind == "i" else np.inf
    rows = np.flatnonzero(to_host(arguments.distance[k]) >= beyond)
    others = to_host(arguments.row_match[k])[rows].astype(np.int64)
    return rows.tolist(), np.sort(others[others < arguments.num_columns]).tolist()


def solve(
    costs: DeviceCosts | DevicePoints,
    options: CudaShortestPathOptions,
    control: Control,
    go_on: bool = False,
) -> DeviceSolution:
    """Assign all rows (all columns, if there are fewer) of every item at the best cost; `go_on` is ignored.

    Items of one size are solved at the same time, as long as each gets a block. At worst O(n) searches of
    O(n) rounds over all lists; in practice about a dozen searches of some dozen rounds. Memory on the device,
    besides the costs: 20 bytes per list entry, 80 per row and 44 per column. Matrices are copied if they are
    to be maximised, have more rows than columns, or differ in size. InvalidInputError if prices of integers
    pass 2**60.
    """
    items = costs.shape[0]
    solution = make_solution(costs, np.int64 if costs.dtype.kind == "i" else np.float64)
    control.progress[:] = 1.0
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
            control.progress[0] = 1.0 - names.stop / items
    return solution._replace(done=items)
