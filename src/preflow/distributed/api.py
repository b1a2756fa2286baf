"""grid_cut by regions: read the arguments, choose regions and a host, sweep, wrap the result."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeGuard

import numpy as np

from ..arrays import AnyArray, Connectivity, Periodic
from ..checks import check_integer, check_word
from ..errors import (
    CapacityOverflowError,
    InvalidInputError,
    ParseError,
    UnsuitableMethodError,
    VerificationError,
)
from ..graph.scaling import Rule, accepted_gap, is_close, proved_gap, solve_within_gap
from ..progress import ProgressReport, Reporter
from ..solving.dispatch import most_threads
from ..solving.result import Status
from ..solving.run import Control, check_time_limit, run_interruptibly
from ..solving.timing import timed, what_is_compiled
from ..stats import SolveStats
from .exchange import CutShare, Exchange, RegionTask, Worker
from .files import FileExchange, folder_of, storing
from .grid_source import GridSource, Rounding, Survey, choose_rounding, grid_tasks, survey
from .memory import MemoryExchange
from .on_gpus import GpuExchange, divide_in_layers
from .on_ray import RayExchange
from .partition import MOST_COUNTED, Boxes, divide, fair_counts, possible_counts
from .result import RegionCutResult, Turn, Unit, capacity_of_cut, proved_value
from .sweeps import Progress, run_sweeps

METHOD = "region-discharge"
#: Hosts by name, those of networks and those of grids.
NETWORK_EXCHANGES = ("memory", "files", "ray")
EXCHANGES = (*NETWORK_EXCHANGES, "gpus")
#: Those that write checkpoints, and those that have a limit on memory.
WITH_FOLDER, WITH_MEMORY = ("files", "ray"), ("files", "gpus")
#: Regions on files that are in memory at the same time.
TOGETHER = 2
#: Bytes of a pixel of a region on files while it discharges or is read, beside those of its arcs: forests,
#: queues, terminal capacities, and arrays kept for the next region. Measured: 48 to 51 bytes in all with 6
#: neighbours, 125 with 26.
BYTES_DISCHARGED, BYTES_READ = 27, 17
#: Bytes of a border arc of a region in memory, of one that is read, and of one that is not in memory beside
#: its amounts: the labels of both ends, and what NumPy and the C library add. Measured: 14 to 16 with two
#: amounts of 2 bytes.
BYTES_PER_BORDER_ARC, BYTES_PER_ARC_READ, BYTES_PER_ARC_STORED = 64, 128, 10
#: Bytes of a pair of regions: the objects of Python that describe their common border.
BYTES_PER_PAIR = 1_000
#: Bytes of a pixel that is computed or unpacked when it is read. Measured for `preflow segment`.
BYTES_MADE = 64
#: From this size on the C library (glibc) returns an array to the system as soon as it is freed. Smaller ones
#: lie between others; what it keeps of them is about as much as one region takes.
BYTES_RETURNED = 32 << 20
#: Bytes of files, threads and Python's objects, whatever the grid is.
BYTES_OF_HOST = 2_000_000
#: Bytes of a pixel in :func:`preflow.grid_cut`, and of its arcs. Measured: 41 to 44 bytes with 6 neighbours.
WHOLE_PER_PIXEL, WHOLE_PER_ARC = 17, 4
#: Without `memory`, regions on files take this part of the memory that grid_cut takes: one in SHARE.
SHARE = 4


def grid_cut(
    source_capacity: AnyArray,
    sink_capacity: AnyArray = None,
    neighbor_capacity: AnyArray = None,
    *,
    connectivity: Connectivity = None,
    periodic: Periodic = False,
    exchange: str | Exchange = "memory",
    regions: int | tuple[int, ...] | None = None,
    memory: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    out: AnyArray = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> RegionCutResult:
    """Find a minimum cut of a grid that need not fit the memory: the same one as :func:`preflow.grid_cut`.

    The grid is divided into boxes, its regions. Each is solved alone, with its neighbours as further sinks;
    between these sweeps regions exchange the flow over their borders.

    Parameters
    ----------
    source_capacity, sink_capacity, neighbor_capacity, connectivity, periodic
        As in :func:`preflow.grid_cut`. Arrays are read a box at a time: those of zarr, dask, h5py, xarray,
        memory maps of NumPy, or any array in memory. On GPUs no axis may be periodic.
    exchange : {"memory", "files", "gpus", "ray"} or Exchange
        Where the regions are. "memory": all in memory, discharged by threads. "files": two at a time in
        memory, the others in `folder`. "gpus": on all GPUs of this machine; GpuExchange has its options.
        "ray": on actors of a Ray cluster; RayExchange has its options. Or a host of your own, see
        :mod:`preflow.distributed.exchange`.
    regions : int or tuple of int, optional
        Number of regions, or that along each axis; on GPUs they lie along the first axis. Default: as many as
        `memory` asks for; in memory one for each thread, on GPUs one for each GPU.
    memory : int, optional
        Bytes that regions on files may take, or those on each GPU. Default: a quarter of what
        :func:`preflow.grid_cut` takes, or the least that is possible; nine tenths of a GPU's free memory.
    folder : path, optional
        Where a checkpoint is stored after every sweep. If it has one of the same problem, the solve goes on
        from there. Default: for ``exchange="files"`` a temporary folder, for "ray" no checkpoint.
    out : array of bool or uint8, shape of the grid, optional
        Receives the labels a box at a time: of zarr, a memory map, or any array.
    threads : int, optional
        Most CPU threads. Default: all that the process may use.
    time_limit : float, optional
        Seconds for the solve. On expiry the result's `status` is "time-limit", and its bounds are valid.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport at intervals. Its
        `step` has the number of sweeps and both bounds.

    Returns
    -------
    RegionCutResult

    Raises
    ------
    InvalidInputError
        The network or an argument is malformed, or `folder` has a checkpoint of another problem; or no
        number of regions on files fits `memory`: the message has the least that would do.
    CapacityOverflowError, UnboundedFlowError
        As in :func:`preflow.grid_cut`.
    MissingDependencyError
        Ray is not installed.
    DeviceUnavailableError, DeviceMemoryError
        There is no GPU, or the labels of the grid do not fit the GPUs.
    UnsuitableMethodError
        On GPUs: neighbours are too far apart, the grid has more than three axes, or an axis is a ring.
    WorkerDiedError
        Actors of Ray died again and again.
    ParseError
        A file of the checkpoint is damaged, or of another version.
    StorageError
        A file, or `out`, cannot be written: the disk is full, or the folder is read-only. The last checkpoint
        is whole.

    Notes
    -----
    At most ``2 B**2 + 1`` sweeps for B border vertices; 3 to 15 are usual. Memory on files: for D neighbours
    about ``4 D + 27`` bytes for each pixel of two regions, of one with ``threads=1``, and as much as one
    region again where regions are small; 14 bytes for each arc between any two regions; and 2 MB. Disk:
    ``2 D + 8`` bytes for each pixel where capacities fit 14 bits, otherwise ``4 D + 8``, and the same again
    until the solve ends. An axis that is periodic and not cut adds directions, as in
    :func:`preflow.grid_cut`.

    Examples
    --------
    >>> import numpy as np, preflow
    >>> source, sink = np.array([[9, 4, 0], [9, 1, 0]]), np.array([[0, 3, 9], [0, 6, 9]])
    >>> result = preflow.distributed.grid_cut(source, sink, 2, regions=3)
    >>> result.value, result.labels.tolist()
    (9, [[True, False, False], [True, False, False]])
    >>> result.verify()
    """
    time_limit = check_time_limit(time_limit)
    if threads is not None:
        threads = check_integer("threads", threads)
    source = GridSource.of(source_capacity, sink_capacity, neighbor_capacity, connectivity, periodic)
    if out is not None and tuple(out.shape) != source.shape:
        raise InvalidInputError(f"out has shape {tuple(out.shape)}, the grid has shape {source.shape}")
    claim_disk(out)
    workers = most_threads(threads)
    check_host(exchange, memory, folder)
    if exchange == "gpus":
        exchange = GpuExchange(memory=memory)
    elif exchange == "ray":
        exchange = RayExchange(workers=threads, checkpoint=folder)
    on_gpus = isinstance(exchange, GpuExchange)
    if on_gpus and any(source.periodic):
        raise UnsuitableMethodError(
            'regions on GPUs have no periodic axes; exchange="memory", "files" and "ray" have them'
        )
    if regions is None:
        regions = _regions_wanted(source, exchange, memory, workers)
    if on_gpus:
        boxes = divide_in_layers(source.shape, regions)
    else:
        boxes = divide(source.shape, regions, source.periodic)

    def make_exchange(source: GridSource, attempt: int) -> Exchange:
        def problem() -> object:
            return [*source.fingerprint, [cut.tolist() for cut in boxes.cuts]]

        return exchange_for(exchange, folder, attempt, problem, workers, workers)

    if not source.size:
        exchange = MemoryExchange(1)
    solve = _Solve(workers, source, boxes, make_exchange, out)
    return run_interruptibly(solve.run, solve.control, time_limit, progress)


def claim_disk(out: AnyArray) -> None:
    """Claim the disk of a memory map: where it is full, a write to a new page would end the process.

    StorageError: the disk is full.
    """
    claim = getattr(os, "posix_fallocate", None)  # not on macOS
    if (
        claim is None
        or not isinstance(out, np.memmap)
        or out.filename is None
        or out.mode not in ("r+", "w+")
    ):
        return
    with storing(out.filename), open(out.filename, "r+b") as file:
        claim(file.fileno(), 0, os.fstat(file.fileno()).st_size)


def check_host(
    exchange: str | Exchange,
    memory: int | None,
    folder: str | os.PathLike[str] | None,
    known: Sequence[str] = EXCHANGES,
) -> None:
    """Raise InvalidInputError unless there is such a host, and it takes the other arguments."""
    if isinstance(exchange, str):
        check_word("exchange", exchange, known)
    if memory is not None and exchange not in WITH_MEMORY:
        raise InvalidInputError('memory belongs to exchange="files" and "gpus"')
    if folder is not None and exchange not in WITH_FOLDER:
        raise InvalidInputError('folder belongs to exchange="files" and "ray"')
    if memory is not None:
        check_integer("memory", memory)


def exchange_for(
    exchange: str | Exchange,
    folder: str | os.PathLike[str] | None,
    attempt: int,
    problem: Callable[[], object],
    workers: int,
    threads: int,
) -> Exchange:
    """Return the exchange of the `attempt`-th solve of a call, of up to `workers` threads.

    Regions on files know the problem by what `problem` returns, and use `threads` threads for a new region.
    """
    if isinstance(exchange, RayExchange):
        exchange.attempt = attempt
    if not isinstance(exchange, str):
        return exchange
    if exchange == "files":
        return FileExchange(folder_of(folder, attempt), problem(), min(workers, TOGETHER), threads)
    return MemoryExchange(workers)


def on_gpu(exchange: str | Exchange) -> TypeGuard[GpuExchange | RayExchange]:
    """Return whether regions are solved on GPUs."""
    return isinstance(exchange, GpuExchange) or (
        isinstance(exchange, RayExchange) and exchange.device == "cuda"
    )


def _regions_wanted(
    source: GridSource, exchange: str | Exchange, memory: int | None, threads: int
) -> int | tuple[int, ...]:
    """Return the number of regions, or that along each axis, where the caller has given none."""
    if on_gpu(exchange):
        return exchange.num_devices
    if exchange != "files" or not source.size:
        return max(1, min(threads, source.size))
    together, sizes = min(threads, TOGETHER), EntrySizes.of(source)
    whole = (WHOLE_PER_PIXEL + WHOLE_PER_ARC * len(source.all_offsets)) * source.size
    allowed = whole // SHARE if memory is None else memory
    least, best = math.inf, (1,) * len(source.shape)
    for counts in possible_counts(source.shape, source.periodic):
        needed = bytes_on_files(source, divide(source.shape, counts), together, sizes)
        if needed < least:
            least, best = needed, counts
        if needed <= allowed:
            fairer = fair_counts(source.shape, math.prod(counts), source.periodic)
            fits = bytes_on_files(source, divide(source.shape, fairer), together, sizes) <= allowed
            return fairer if fits else counts
        if math.prod(counts) > MOST_COUNTED and needed > 2 * least:
            break  # borders need more and more
    if memory is None:
        return best
    raise InvalidInputError(
        f"memory is {memory:,} bytes, and regions on files need {least:,} for this grid: {math.prod(best):,} "
        "regions take least; more regions have longer borders, which stay in memory"
    )


class EntrySizes(NamedTuple):
    """Bytes of the entries of arrays in a region."""

    residual: int  #: of a residual capacity
    amount: int  #: of a residual capacity of a border arc
    read: int  #: of the capacities between neighbours of a pixel, as they are read

    @classmethod
    def of(cls, source: GridSource) -> EntrySizes:
        """Return the sizes for the capacities of the middle plane, and for any floats of their type."""
        neighbor = source.neighbor
        rows = neighbor.shape[0] if math.prod(neighbor.shape[1:]) > 1 else 0
        made = 0 if isinstance(neighbor, np.ndarray) else BYTES_MADE
        if any(dtype.kind == "f" for dtype in source.dtypes):
            wide = 8 if any(dtype == np.float64 for dtype in source.dtypes) else 4
            # They are multiplied, and rounded to integers.
            return cls(wide, wide, rows * (neighbor.dtype.itemsize + 16) + made)
        plane = source.plane()
        terminal, between = (max((int(part.max(initial=0)) for part in parts), default=0) for parts in plane)
        bound = terminal + 2 * len(source.offsets) * between + 1
        return cls(
            4 if bound <= np.iinfo(np.int32).max else 8,
            next(size for size in (2, 4, 8) if 2 * between < 1 << 8 * size - 1 or size == 8),
            2 * rows * neighbor.dtype.itemsize + made,
        )


def bytes_on_files(source: GridSource, boxes: Boxes, together: int, sizes: EntrySizes) -> int:
    """Return an estimate of the memory that regions on files take at most, with the borders of all."""
    around = source.halo(boxes.largest)
    pixels = math.prod(side.stop - side.start for side in around)
    degree = len(source.offsets_within(around))
    lengths = np.array([side.stop - side.start for side in boxes.largest])
    # The arcs that stay in the box along all axes, and those that do where no other box follows.
    staying = np.maximum(lengths - np.abs(source.offsets), 0)
    within = np.where(np.array(boxes.counts) > 1, lengths, staying)
    leaving = int((within.prod(axis=1) - staying.prod(axis=1)).sum())
    residuals = sizes.residual * degree
    region = max(
        (BYTES_DISCHARGED + residuals) * pixels + BYTES_PER_BORDER_ARC * leaving,
        (BYTES_READ + residuals + sizes.read) * pixels,
        BYTES_PER_ARC_READ * leaving,
    )
    between = boxes.arcs_between(source.offsets, source.periodic)
    around_each = math.prod(min(count, 3) for count in boxes.counts) - 1
    return int(
        BYTES_OF_HOST
        + (together + (residuals * pixels < BYTES_RETURNED)) * region
        + (BYTES_PER_ARC_STORED + 2 * sizes.amount) * between
        + BYTES_PER_PAIR * around_each * math.prod(boxes.counts)
    )


def check_resumed(exchange: Exchange, bound: int) -> None:
    """Prove the cut of a solve that has gone on from a checkpoint, whose labels may be wrong.

    `bound` is the value that the regions report. ParseError: it is not minimum: the checkpoint was damaged.
    """
    place = exchange.resumed_from if isinstance(exchange, FileExchange | RayExchange) else None
    if place is None:
        return
    try:
        proved = proved_value(exchange, optimal=True)
        if proved != bound:
            raise VerificationError(f"the flow proves {proved}, not {bound}")
    except VerificationError as error:
        message = f"damaged checkpoint: the solve that went on from it ends without a proof: {error}"
        raise ParseError(place, None, message) from error


def status_of(finished: bool, close: bool) -> Status:
    """Return the status of a solve; `close`: whether its gap is that of an optimal answer."""
    if not finished:
        return "time-limit"
    return "optimal" if close else "approximate"


class SweepControl(Control):
    """The control of a solve by sweeps; its reports say how far the bounds are apart."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["latest"] = []

    @property
    def latest(self) -> list[Progress]:
        """The progress after each sweep so far."""
        found: list[Progress] = self.__dict__["latest"]
        return found

    def report(self, elapsed: float) -> ProgressReport:
        """Return the progress as of the last sweep."""
        if not self.latest:
            return ProgressReport(elapsed, 0.0, 0, 0, what_is_compiled(), "reading regions")
        now, first = self.latest[-1], self.latest[0]
        apart = max(1, first.upper - first.lower)
        text = f"sweep {now.sweeps}, value between {now.lower:,} and {now.upper:,}, {now.ready} regions left"
        return ProgressReport(
            elapsed, 1.0 - min(1.0, (now.upper - now.lower) / apart), 0, 0, what_is_compiled(), text
        )


@dataclass
class SolveByRegions:
    """One call of a function that solves by regions, perhaps several times."""

    threads: int
    control: SweepControl = field(default_factory=SweepControl, kw_only=True)
    seconds: dict[str, float] = field(default_factory=dict, kw_only=True)
    sweeps: int = field(default=0, kw_only=True)
    attempts: int = field(default=0, kw_only=True)

    @contextmanager
    def swept(self, exchange: Exchange, tasks: Sequence[RegionTask]) -> Iterator[Progress]:
        """Sweep until the cut is minimum, or the solve is stopped; in the context regions can be asked."""
        self.attempts += 1
        try:
            with timed(self.seconds, "solve"):
                progress = run_sweeps(exchange, tasks, self.control, self.control.latest.append)
            self.control.check_wanted()
            if not progress.ready:
                check_resumed(exchange, progress.lower)
            with timed(self.seconds, "recover"):
                yield progress
        finally:
            exchange.close()
        self.sweeps += progress.sweeps

    def stats(self, regions: object, device: str = "cpu") -> SolveStats:
        """Return the times, and how the problem was divided."""
        return SolveStats(
            METHOD,
            f"{regions} regions, {self.sweeps} sweeps",
            device,
            self.threads,
            global_relabels=self.sweeps,
            seconds=dict(self.seconds),
        )


@dataclass
class _Found:
    """The outcome of one solve: an :class:`preflow.graph.scaling.Outcome`."""

    exchange: Exchange
    turn: Turn
    progress: Progress
    unit: Unit
    finished: bool
    limit: float
    cut: CutShare

    @property
    def scale_exponent(self) -> int | None:
        return self.unit.exponent

    @property
    def lower(self) -> int | float:
        return self.unit.in_caller_unit(self.progress.lower)

    @property
    def upper(self) -> int | float:
        return self.cut.capacity

    @property
    def size(self) -> int | float:
        return self.cut.size


@dataclass
class _Solve(SolveByRegions):
    """One call of grid_cut."""

    source: GridSource
    boxes: Boxes
    make_exchange: Callable[[GridSource, int], Exchange]
    out: AnyArray
    on_gpu: bool = False

    def run(self) -> RegionCutResult:
        """Solve until the gap is small enough and wrap the result."""
        is_float = any(dtype.kind == "f" for dtype in self.source.dtypes)
        found = None
        if is_float and self.source.size:
            with timed(self.seconds, "build"):
                found = survey(grid_tasks(self.source, self.boxes))
        arcs = len(self.source.all_offsets) * self.source.size
        single = all(dtype != np.float64 for dtype in self.source.dtypes)
        overflow: CapacityOverflowError | None = None

        def solve(rule: Rule) -> _Found:
            nonlocal overflow
            if overflow is not None:
                raise overflow
            try:
                return self.solve(rule, found)
            except CapacityOverflowError as error:
                overflow = error  # regions do not round integers that are too large
                raise

        accepted = accepted_gap(arcs, single=single)
        solved = solve_within_gap(solve, is_float=is_float, accepted=accepted)
        with timed(self.seconds, "recover"):
            labels = self.labels(solved.exchange)
        proved = proved_gap(solved.upper, solved.lower, solved.size)
        close = solved.unit.exponent is None or is_close(proved, solved.size, arcs, single=single)
        status = status_of(solved.finished, close)
        gap = proved if status == "optimal" else None
        return RegionCutResult(
            status,
            solved.lower if gap is None else solved.upper,
            solved.upper,
            self.stats(" x ".join(map(str, self.boxes.counts)), "cuda" if self.on_gpu else "cpu"),
            len(self.boxes.boxes()),
            self.sweeps,
            solved.upper - solved.lower if gap is None else gap,
            solved.turn,
            solved.unit,
            labels,
            self.source.shape,
            self.boxes.boxes(),
        )

    def solve(self, rule: Rule, found: Survey | None) -> _Found:
        """Solve with capacities rounded by a rule."""
        source, unit, limit = self.source, Unit(), math.inf
        rounding: tuple[Rounding, float] | None = None
        if found is not None:
            with timed(self.seconds, "build"):
                bound = None if rule.bound is None else float(rule.bound)
                rounding = choose_rounding(grid_tasks(source, self.boxes), found, bound)
        if rounding is not None and found is not None:
            source = replace(source, rounding=rounding[0])
            unit, limit = Unit(rounding[0].exponent, found.constant), rounding[1]
        exchange = self.make_exchange(source, self.attempts)
        tasks = grid_tasks(source, self.boxes)
        turn = Turn(exchange, tasks)
        with self.swept(exchange, tasks) as progress:
            finished = not progress.ready
            exact = finished and unit.exponent is None
            cut = CutShare(unit.in_caller_unit(progress.lower)) if exact else capacity_of_cut(exchange)
        self.on_gpu = on_gpu(exchange)
        return _Found(exchange, turn, progress, unit, finished, limit, cut)

    def labels(self, exchange: Exchange) -> AnyArray:
        """Write the labels of each region to the output."""
        out = np.empty(self.source.shape, dtype=bool) if self.out is None else self.out
        for box, side in zip(self.boxes.boxes(), exchange.collect(Worker.sink_side), strict=True):
            self.control.check_wanted()
            if isinstance(out, np.ndarray) and out.dtype == np.bool_:
                np.logical_not(side, out=out[box])
            else:
                with storing("labels"):
                    out[box] = ~side
        if self.out is None:
            out.flags.writeable = False
        return out
