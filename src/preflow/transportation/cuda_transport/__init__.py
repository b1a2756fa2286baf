"""Transport on a GPU: network simplex whose first tree comes from smoothed prices, in one kernel.

Dantzig, "Application of the simplex method to a transportation problem", in Activity Analysis of Production
and Allocation (1951), with the rule of Cunningham, "A network simplex method", Mathematical Programming 11
(1976), for the pair that leaves. The first prices are those of Cuturi, "Sinkhorn distances: lightspeed
computation of optimal transport", NIPS 2013. The start from regrets is that of Reinfeld and Vogel (1958),
for all rows at once. The way in which all threads change a tree at the same time is preflow's own.

Definitions
-----------
- The *reduced cost* of a pair of a row and a column is its cost plus the price of the row minus the price of
  the column.
- The *tree* has all rows and all columns with mass. Its root is a row with mass. Pairs of a vertex and its
  *parent* have flow; no other pair has.
- The *place* of a vertex is its number in a preorder of the tree. The places of a subtree are a range, so a
  vertex knows by two comparisons whether it is above another one.
- A *team* is the blocks that solve one item. The first of them has the tree in its shared memory.

Invariants
----------
- The reduced costs of pairs in the tree are 0, and prices are sums of costs along the tree: all is exact.
- A pair in the tree without flow leads from a row up to its parent, a column. So pivots do not cycle.
- The end does not depend on the smoothed prices: they only decide how many pivots there are.

Pseudo-code
-----------
One cooperative kernel; a team meets at barriers::

    for each temperature, a few times: potentials of rows, then of columns, by the masses         smooth
    if there is one large item: the host makes a tree                                             .refined
    else repeat until every row but the root has sent its mass:                                        start
        each row finds its best column by the smoothed prices, and the loss if it does not get it
        first block: columns take mass from the rows with the largest losses, until they are full
    first block: hang columns with room below the root; find prices and a preorder                measure_tree
    repeat                                                                                        improve
        each part of each row finds its pair of least reduced cost                                price_rows
        first block:
            if none is negative: optimal
            each thread lists pairs of some rows: those a tenth as good as the best one, or better
            while the best listed pair is as good as that: make it enter the tree                 pivot_listed

A pivot takes three barriers of the block, whatever the sizes of the cycle and of the subtree that moves::

    each thread: the reduced costs of its listed pairs; all find the best pair                    choose_pair
    each place: is its vertex above one end of that pair only? How much flow can it lose?         find_cycle
    all find the vertex whose pair leaves. The path from there to the new pair turns around:      pivot
        each vertex of the cycle: its new flow
        each place of the subtree that moves: the vertex of that path above it, and from this its new place,
            depth and price
        each place between there and the new position: its new place

Prices are looked at in single precision until no pair seems better than the tree. Then they are looked at
exactly, so the end is a proof.

Departures
----------
- Floats are multiplied by a power of two and rounded to integers.
- Columns without mass are not in the tree, as pairs to them would have no flow but lead away from the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array
from ...certify.device_transport import PlanArrays
from ...cuda.runtime import Device, Macros
from ...cuda.structs import I64, U32, U64, ConstI64, ConstU32, ConstU64
from ...errors import CostOverflowError, SolverError
from ...graph.device.costs import DeviceCosts, type_macros
from ...graph.device.points import DevicePoints
from ...graph.placement import require_memory
from ...solving.options import CheckedOptions, NonNegativeInteger
from ...solving.run import Control
from ...stats import ARC_SCANS, PIVOTS
from ..solution import DevicePlans
from .refined import Costs, refined_tree

SOURCE = Path(__file__).with_name("simplex.cu")
LISTING = Path(__file__).with_name("plans.cu")
#: Bytes of shared memory that a block needs besides arrays of vertices: for vertices with numbers of 16 bits,
#: and of 32 bits.
SCRATCH_BYTES = {2: 4096 + 6144, 4: 4096 + 12288}
#: Shared memory that a multiprocessor keeps for itself, for each block.
RESERVED_BYTES = 1024
#: Items with more vertices have numbers of 32 bits.
MOST_NARROW = 2**16 - 2
#: How the last launch of an item ended, and its state within a launch: see state.cuh.
State = IntEnum("State", "NEW OVER OPTIMAL STOPPED GOING PROVING SMOOTHED STARTED", start=0)
#: Words of an item.
ItemWord = IntEnum("ItemWord", "ENDING STATE HALT OPEN_ROWS PIVOTS PRICINGS", start=0)
#: Words between those of two items, and words of the counters of a team.
WORDS, ARRIVAL_WORDS = 8, 32
#: Costs and prices stay below this number.
MOST_PRICE = 2**60
#: The largest float cost is rounded to an integer of at most this many bits.
COST_BITS = 40
#: Float costs are multiplied by two to the power of at most MOST_EXPONENT; MOST_SINGLE_EXPONENT where kernels
#: multiply in single precision.
MOST_EXPONENT, MOST_SINGLE_EXPONENT = 1000, 120
#: Vertices of an item from which on cost scaling makes its first tree, if it is alone.
LEAST_REFINED = 4096
#: The epsilon of this refine, as a part of the last temperature.
EPSILON = 0.2
#: The first temperature of smoothing, as a part of the range of the costs.
HOTTEST = 0.1
#: For up to FEW_VERTICES a block has FEW_THREADS threads. With more of them more time goes to the steps that
#: every warp repeats. On an H100 a pivot of 512 rows and columns took 3.3 microseconds
#: with 1,024 threads, 2.9 with 512 and 3.2 with 256; one of 5,000 took 7.5, 9.0 and 13.6.
FEW_VERTICES, FEW_THREADS = 2048, 512
#: Most pairs that a thread lists.
MOST_LISTED = 4
#: Threads of a block that lists the pairs of a plan.
LISTING_THREADS = 512
#: Columns of a part of a row, at least; rows that a warp prices together; and the tasks of a warp.
LEAST_COLUMNS, ROWS_AT_ONCE, PARTS_A_WARP = 256, 4, 2
#: Most pivots of a launch, which takes up to 0.4 s; and launches after which the solve gives up (hours).
PIVOTS_A_LAUNCH, MOST_LAUNCHES = 20_000, 100_000


class Schedule(NamedTuple):
    """Numbers that depend on the size of an item: see :class:`CudaTransportOptions`."""

    temperatures: int
    steps: int
    #: the last temperature, as a part of the range of the costs divided by the number of rows or columns;
    #: the first one is a tenth of the range
    coldest: float
    #: after a pricing, pairs enter the tree while their reduced costs are at least this part of the least
    percent: int


#: The defaults for up to FEW_VERTICES and for more. On an H200, 64 items of 512 x 512 took 1 to 3% less time
#: with FEW than with 12 temperatures, 3 steps and 0.1, and 2 to 5% less with a percent of 5 than of 10.
FEW, MANY = Schedule(9, 4, 0.2, 5), Schedule(12, 8, 0.1, 10)


@dataclass(frozen=True)
class CudaTransportOptions(CheckedOptions):
    """Options of transport on a GPU.

    Attributes
    ----------
    temperatures : int or None
        The number of temperatures of smoothing; 0 for a start without smoothed prices. None chooses it by the
        size.
    steps : int
        The times that potentials are computed at each temperature. 0 chooses it by the size.
    refine : bool
        The first tree of one large item comes from cost scaling; see :mod:`.refined`.
    """

    temperatures: NonNegativeInteger | None = None
    steps: NonNegativeInteger = 0
    refine: bool = True

    def for_size(self, vertices: int) -> Schedule:
        """Return the numbers for an item with `vertices` rows and columns together."""
        usual = FEW if vertices <= FEW_VERTICES else MANY
        temperatures = usual.temperatures if self.temperatures is None else self.temperatures
        return usual._replace(temperatures=temperatures, steps=self.steps or usual.steps)


class Arguments(NamedTuple):
    """Arguments of "transport_slice"; arrays have one part for each item."""

    costs: Costs
    num_items: int
    num_rows: int
    num_columns: int
    blocks_an_item: int
    parts: int  #: pieces of a row that are priced apart
    chunks: int  #: groups of rows that are smoothed apart
    temperatures: int
    steps: int  #: at each temperature
    hottest: int  #: word of the first temperature, a float64
    cooling: int  #: word of the factor from one temperature to the next
    #: pivots follow one pricing while the best pair is at least as good as this part of the first one
    percent: int
    pivots: int  #: most pivots of a launch
    pauses: bool  #: whether the launch ends with smoothed prices
    room: int  #: nodes that move and fit shared memory; the others are in `stage`
    mass: ConstI64
    root: ConstI64  #: a row with mass, or -1
    nodes: Annotated[AnyArray, "Node*"]  #: by place
    place: Annotated[AnyArray, "Half*"]  #: of a vertex; NO_PLACE: not in the tree
    price: I64
    flow: I64  #: on the arc between a vertex and its parent
    name: Annotated[AnyArray, "Half*"]  #: of the vertices on a cycle
    range: Annotated[AnyArray, "Range*"]  #: their subtrees
    stage: Annotated[AnyArray, "Node*"]  #: nodes that move
    excess: I64  #: of rows
    left: I64  #: masses that columns still take
    level: I64  #: prices of columns, or -FAR
    value: I64  #: of the best pair of each part of a row
    partner: U32  #: its column
    bid: U64  #: the best bid for a column
    parent: U32  #: of a vertex, or NONE
    depth: U32
    size: U32  #: of its subtree
    smooth: Annotated[AnyArray, "float*"]  #: potentials of vertices
    partial: Annotated[AnyArray, "Float2*"]
    words: U64
    arrivals: U32  #: of the team, 32 words for each
    stop: ConstI64


class Listing(NamedTuple):
    """Arguments of "list_plans"."""

    num_items: int
    num_rows: int
    num_vertices: int
    exponent: int
    words: ConstU64  #: of the solver, for each item
    parent: ConstU32
    flow: ConstI64
    price: ConstI64
    row: I64
    column: I64
    mass: I64
    count: U64
    found_price: Annotated[AnyArray, "void*"]


class Prepared(NamedTuple):
    """Costs as the kernel reads them."""

    costs: Costs
    constants: Macros  #: macros that say how costs are stored
    largest: int  #: an upper bound on the size of integer costs
    extent: float  #: the range of the integer costs
    exponent: int | None  #: float costs are multiplied by two to this power


def _word(number: float) -> int:
    """Return the bits of a float64."""
    return int(np.float64(number).view(np.uint64))


def _prepare(costs: DeviceCosts | DevicePoints) -> Prepared:
    """Choose how costs are read, and how floats are rounded."""
    xp, (_, n, m) = costs.xp, costs.shape
    bits = min(COST_BITS, MOST_PRICE.bit_length() - 2 - (n + m).bit_length())
    if isinstance(costs, DevicePoints):
        largest = _largest_distance(xp, costs)
        exponent = min(bits - int(np.frexp(largest)[1]), MOST_EXPONENT - int(np.frexp(costs.factor)[1]))
        whole = int(np.ldexp(largest, exponent)) + 1
        factor = _word(np.ldexp(costs.factor, exponent))
        return Prepared(
            Costs(rows=costs.rows, columns=costs.columns, num_columns=m, factor=factor),
            costs.macros,
            whole,
            whole,
            exponent,
        )
    values, least, most = costs.values, costs.extent.least, costs.extent.most
    is_narrow = values.dtype == np.int64 and max(abs(int(least)), abs(int(most))) < 2**31
    if is_narrow and costs.device.has_room(values.nbytes):
        # The kernel reads all costs hundreds of times.
        values = values.astype(np.int32)
    if values.dtype.kind == "i":
        largest_integer = max(abs(int(least)), abs(int(most)))
        found = Costs(rows=values, columns=values, num_columns=m, factor=0)
        spread = float(int(most) - int(least))
        return Prepared(found, type_macros(values.dtype), largest_integer, spread, None)
    largest = max(abs(float(least)), abs(float(most)))
    exponent = min(bits - int(np.frexp(largest)[1]), MOST_EXPONENT)
    if values.dtype == np.float32 and abs(exponent) > MOST_SINGLE_EXPONENT:
        values = values.astype(np.float64)
    constants = type_macros(values.dtype)
    factor = np.ldexp(1.0, exponent)
    found = Costs(rows=values, columns=values, num_columns=m, factor=_word(factor))
    if values.dtype == np.float64 and costs.device.has_room(values.nbytes // 2):
        # Most readings need single precision only.
        copy = xp.empty(values.shape, dtype=np.float32)
        xp.multiply(values, factor, out=copy, casting="unsafe")
        found, constants = found._replace(columns=copy), (*constants, ("HAS_COPY", 1))
    extent = np.ldexp(float(most) - float(least), exponent)
    whole = int(np.ldexp(largest, exponent)) + 1
    return Prepared(found, constants, whole, extent, exponent)


def _largest_distance(xp: AnyArray, costs: DevicePoints) -> float:
    """Return an upper bound on the distances."""
    both = xp.concatenate([costs.rows, costs.columns])
    sides = both.max(axis=0) - both.min(axis=0)
    bounds = (xp.sqrt((sides**2).sum()), (sides**2).sum(), sides.sum(), sides.max())
    return abs(costs.factor) * float(bounds[costs.kind])


def _roots(a: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each item the row of least mass above zero; -1 if there is none."""
    # As unsigned numbers, masses of zero become the largest.
    rows = (a - 1).view(np.uint64).argmin(axis=1)
    return np.where(a.max(axis=1) > 0, rows, -1)


def _threads(device: Device, vertices: int) -> tuple[int, int]:
    """Return the threads of a block, and the blocks that a multiprocessor runs at a time."""
    if vertices > FEW_VERTICES or device.block_threads <= FEW_THREADS:
        return device.block_threads, 1
    return FEW_THREADS, device.block_threads // FEW_THREADS


def _shared_bytes(device: Device, together: int) -> int:
    """Return the shared memory that a block may have where a multiprocessor runs several at a time."""
    return device.shared_bytes if together == 1 else device.shared_bytes // together - RESERVED_BYTES


def _kept(shared_bytes: int, vertices: int, half: int) -> tuple[int, int]:
    """Return how much of a tree a block keeps in its shared memory, and the bytes, with scratch."""
    arrays = [(4 * half, half), (8,), (8,)]
    for kept in range(len(arrays), -1, -1):
        sizes = (_padded(size * vertices) for part in arrays[:kept] for size in part)
        needed = SCRATCH_BYTES[half] + sum(sizes)
        if needed <= shared_bytes:
            break
    return kept, needed


def _padded(size: int) -> int:
    """Return a number of bytes rounded up to a multiple of 16."""
    return -(-size // 16) * 16


def _is_refined(costs: DeviceCosts | DevicePoints, options: CudaTransportOptions) -> bool:
    """Return whether cost scaling makes the first tree."""
    items, n, m = costs.shape
    is_smooth = options.for_size(n + m).temperatures > 0
    return options.refine and is_smooth and items == 1 and n + m >= LEAST_REFINED


def _arguments(
    costs: DeviceCosts | DevicePoints,
    prepared: Prepared,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    options: CudaTransportOptions,
    control: Control,
) -> Arguments:
    """Return the arguments of the kernel."""
    device: Device = costs.device
    xp, (items, n, m) = costs.xp, costs.shape
    threads, together = _threads(device, n + m)
    blocks = max(1, together * device.num_multiprocessors // items)
    warps = blocks * threads // 32
    parts = max(1, min(PARTS_A_WARP * ROWS_AT_ONCE * warps // n, m // LEAST_COLUMNS))
    chunks = max(1, min(32 * warps // m, n))
    half = np.uint16 if n + m <= MOST_NARROW else np.uint32
    node = 4 * half().itemsize
    shared_bytes = _shared_bytes(device, together)
    _, taken = _kept(shared_bytes, n + m, half().itemsize)
    needed = items * ((n + m) * 80 + n * parts * 12 + m * chunks * 8)
    require_memory(device, needed, f"trees of {n:,} rows and {m:,} columns")
    schedule = options.for_size(n + m)
    cooling = (schedule.coldest / (max(n, m) * HOTTEST)) ** (1 / max(1, schedule.temperatures - 1))
    vertices = (items, n + m)
    return Arguments(
        costs=prepared.costs, num_items=items, num_rows=n, num_columns=m,
        blocks_an_item=blocks, parts=parts, chunks=chunks,
        temperatures=schedule.temperatures,
        steps=schedule.steps,
        hottest=_word(max(prepared.extent, 1.0) * HOTTEST),
        cooling=_word(cooling),
        percent=schedule.percent,
        pivots=PIVOTS_A_LAUNCH,
        pauses=bool(a.any()) and _is_refined(costs, options),
        room=min(n + m, max(0, shared_bytes - taken) // node // 2 * 2),
        mass=xp.asarray(np.concatenate([a, b], axis=1)),
        root=xp.asarray(_roots(a)),
        nodes=xp.empty((*vertices, 4), dtype=half),
        place=xp.empty(vertices, dtype=half),
        price=xp.empty(vertices, dtype=np.int64),
        flow=xp.empty(vertices, dtype=np.int64),
        name=xp.empty(vertices, dtype=half),
        range=xp.empty((*vertices, 2), dtype=half),
        stage=xp.empty((*vertices, 4), dtype=half),
        excess=xp.empty((items, n), dtype=np.int64),
        left=xp.empty((items, m), dtype=np.int64),
        level=xp.empty((items, m), dtype=np.int64),
        value=xp.empty((items, n * parts), dtype=np.int64),
        partner=xp.empty((items, n * parts), dtype=np.uint32),
        bid=xp.empty((items, m), dtype=np.uint64),
        parent=xp.empty(vertices, dtype=np.uint32),
        depth=xp.empty(vertices, dtype=np.uint32),
        size=xp.empty(vertices, dtype=np.uint32),
        smooth=xp.empty(vertices, dtype=np.float32),
        partial=xp.empty((items, m * chunks, 2), dtype=np.float32),
        words=xp.zeros((items, WORDS), dtype=np.uint64),
        arrivals=xp.zeros(items * ARRIVAL_WORDS, dtype=np.uint32),
        stop=device.stop_word(control),
    )  # fmt: skip


def _take_tree(
    device: Device,
    arguments: Arguments,
    constants: Macros,
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    epsilon: int,
    control: Control,
) -> bool:
    """Store a tree for the item, whose prices are smoothed; return whether the solve goes on."""
    xp, root = device.xp, int(arguments.root[0])
    found = refined_tree(
        device, arguments.costs, constants, arguments.smooth[0], masses, root, epsilon, control
    )
    if found is None:
        return False
    parent, flow = found
    arguments.parent[0] = xp.asarray(parent.astype(np.uint32))
    arguments.flow[0] = xp.asarray(flow)
    arguments.words[0, ItemWord.ENDING] = State.STARTED
    return True


def _run(
    device: Device,
    arguments: Arguments,
    constants: Macros,
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    epsilon: int,
    control: Control,
) -> Array:
    """Launch the kernel until all items are solved or the solve is to stop; return the ending of each."""
    items, n, m = arguments.num_items, arguments.num_rows, arguments.num_columns
    half = arguments.place.dtype.itemsize
    threads, together = _threads(device, n + m)
    kept, taken = _kept(_shared_bytes(device, together), n + m, half)
    shared_bytes = taken + _padded(4 * half * arguments.room)
    teams = min(items, max(1, together * device.num_multiprocessors // arguments.blocks_an_item))
    listed = min(MOST_LISTED, -(-n // threads))
    macros = (
        *constants,
        ("WIDE", int(half == 4)),
        ("KEPT", kept),
        ("THREADS", threads),
        ("LISTED", listed),
        ("SCRATCH_BYTES", SCRATCH_BYTES[half]),
    )
    for _ in range(MOST_LAUNCHES):
        device.launch(
            SOURCE, "transport_slice", teams * arguments.blocks_an_item, threads, arguments,
            shared_bytes=shared_bytes, constants=macros, cooperative=True,
        )  # fmt: skip
        words = device.to_host(arguments.words)
        control.counts[PIVOTS] = words[:, ItemWord.PIVOTS].sum()
        control.counts[ARC_SCANS] = words[:, ItemWord.PRICINGS].sum() * n * m
        if control.stopped or (words[:, ItemWord.ENDING] == State.OPTIMAL).all():
            return words[:, ItemWord.ENDING]
        control.progress[0] = (words[:, ItemWord.ENDING] != State.OPTIMAL).mean()
        is_smooth = words[0, ItemWord.ENDING] == State.SMOOTHED
        if is_smooth and not _take_tree(device, arguments, constants, masses, epsilon, control):
            return words[:, ItemWord.ENDING]
        arguments.arrivals[:] = 0
    raise SolverError(f"transport on a GPU gave up after {words[:, ItemWord.PIVOTS].max():,} pivots")


def solve(
    costs: DeviceCosts | DevicePoints,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    options: CudaTransportOptions,
    control: Control,
) -> DevicePlans:
    """Find a plan of least cost for every item; all costs are finite, to minimise, of items of one size.

    `a` and `b`, shapes (items, n) and (items, m), are masses of rows and of columns, not negative, with the
    same sum for each item. CostOverflowError if n + m times the largest integer cost is 2**60 or more.
    """
    device: Device = costs.device
    n = costs.shape[1]
    control.progress[:] = 1
    with device.current():
        prepared = _prepare(costs)
        if sum(costs.shape[1:]) * prepared.largest >= MOST_PRICE:
            raise CostOverflowError(
                f"with costs of up to {prepared.largest:,} prices of {sum(costs.shape[1:]):,} rows and "
                "columns may pass 2**60"
            )
        arguments = _arguments(costs, prepared, a, b, options, control)
        schedule = options.for_size(sum(costs.shape[1:]))
        coldest = prepared.extent * schedule.coldest / max(costs.shape[1:])
        epsilon = max(1, int(coldest * EPSILON))
        endings = _run(device, arguments, prepared.constants, (a[0], b[0]), epsilon, control)
        plans = _listed(device, arguments, prepared.exponent)
        rounding = 0.0 if prepared.exponent is None else float(np.ldexp(1.0, -prepared.exponent))
        if prepared.exponent is not None and isinstance(costs, DeviceCosts):
            plans = plans._replace(price=_summed_along_trees(costs, plans, b, rounding))
    control.progress[0] = 0
    return DevicePlans(device, plans, n, endings == State.OPTIMAL, rounding)


def _summed_along_trees(
    costs: DeviceCosts, plans: PlanArrays, b: NDArray[np.int64], rounding: float
) -> AnyArray:
    """Return prices that are sums of the given costs along the trees; that of the largest column is 0.

    The price of a column without mass is not in the tree. It is lowered, which no bound depends on.
    """
    xp, (items, n, m), vertices = costs.xp, costs.shape, plans.price.shape[1]
    place = xp.arange(items * vertices)
    item, vertex = xp.divmod(place, vertices)
    parent = plans.parent.astype(np.int64).ravel()
    has_parent = parent < vertices
    parent = xp.where(has_parent, parent, n)
    row, column = xp.minimum(vertex, parent), xp.maximum(vertex, parent) - n
    row, column = xp.where(has_parent, row, 0), xp.where(has_parent, column, 0)
    cost = costs.values.ravel()[(item * n + row) * m + column].astype(np.float64)
    price = plans.price.copy()
    price[:, n:] -= xp.asarray(b == 0) * (vertices * rounding)
    total = xp.where(has_parent, xp.where(vertex < n, -cost, cost), price.ravel())
    none = items * vertices
    above = xp.append(xp.where(has_parent, item * vertices + parent, none), none)
    total = xp.append(total, 0.0)
    for _ in range(vertices.bit_length()):  # each vertex adds up twice as much of its path to the root
        total = total + total[above]
        above = above[above]
    found = total[:-1].reshape(items, vertices)
    largest = n + xp.asarray(b.argmax(axis=1))
    return found - found[xp.arange(items), largest][:, None]


def _listed(device: Device, arguments: Arguments, exponent: int | None) -> PlanArrays:
    """List the pairs of all trees that have flow; of a solve that was stopped there may be no tree."""
    xp, (items, vertices) = device.xp, arguments.price.shape
    found = PlanArrays(
        row=xp.empty((items, vertices), dtype=np.int64),
        column=xp.empty((items, vertices), dtype=np.int64),
        mass=xp.empty((items, vertices), dtype=np.int64),
        count=xp.empty(items, dtype=np.uint64),
        price=xp.empty((items, vertices), dtype=np.int64 if exponent is None else np.float64),
        given=arguments.mass,
        parent=arguments.parent,
    )
    listing = Listing(
        num_items=items, num_rows=arguments.num_rows, num_vertices=vertices, exponent=exponent or 0,
        words=arguments.words, parent=arguments.parent, flow=arguments.flow, price=arguments.price,
        row=found.row, column=found.column, mass=found.mass, count=found.count, found_price=found.price,
    )  # fmt: skip
    threads = min(LISTING_THREADS, device.block_threads)
    blocks = min(items, device.most_threads // threads)
    constants = (("IS_FLOAT", int(exponent is not None)),)
    device.launch(
        LISTING, "list_plans", blocks, threads, listing, shared_bytes=threads // 8, constants=constants
    )
    return found
