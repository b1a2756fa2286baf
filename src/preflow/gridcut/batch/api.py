"""grid_cut_batch: divide a batch of grids into groups, solve each group as one grid, wrap the result."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray, Array, Connectivity, Number
from ...certify.grid import arcs_and_precision
from ...certify.grid_batch import ItemBounds, bounds_of_items, sizes_of_items, sums_of_items
from ...cuda import runtime
from ...cuda.runtime import Device, is_on_gpu
from ...errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError
from ...graph.grid import DeviceGridNetwork, GridNetwork
from ...graph.grid_input import as_capacities, grid_arrays, neighbours_of
from ...graph.neighbourhood import half_neighbourhood
from ...graph.network import EXACT_FLOAT, INT64_MAX
from ...graph.scaling import is_close, proved_gap
from ...parallel.thread_pool import run_on_threads
from ...progress import Reporter
from ...solving.call import Call, Request
from ...solving.dispatch import find_method
from ...solving.plan import Plan
from ...solving.run import POLL_INTERVAL
from ...stats import SolveStats
from ..api import GridCall
from ..problem import METHODS
from ..result import GridCutResult
from .result import GridCutBatchResult, part_of

#: Pixels that one thread solves as one grid: small grids are cheaper together. With 16 threads, 3,000 grids
#: of 64 x 64 took 222 us each in groups of 2**16 pixels, 125 in groups of 2**18, and 115 in groups of 2**20.
PIXELS_A_GROUP = 1 << 18
#: A small batch has smaller groups, so that each thread has this many, but not below that many pixels.
GROUPS_A_THREAD, LEAST_PIXELS = 2, 1 << 16
#: The method of each thread, and that on a GPU.
ON_CPU, ON_GPU = "serial-incremental-bfs", "cuda-tiled"


def grid_cut_batch(
    source_capacity: AnyArray,
    sink_capacity: AnyArray,
    neighbor_capacity: AnyArray,
    *,
    connectivity: Connectivity = None,
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> GridCutBatchResult:
    """Find minimum cuts of many grids of one shape in one call.

    Parameters
    ----------
    source_capacity, sink_capacity : array_like, shape (items, ...), or scalar
        As in :func:`preflow.grid_cut`, with the items along the first axis. One of the two is an array.
    neighbor_capacity : array_like, shape (items, K, ...) or (items, 2 K, ...), or scalar
        As in :func:`preflow.grid_cut`, with the items along the first axis. Without this axis the items have
        the same capacities between neighbours: shape (K, ...), or (K,) for a number for every direction.
    connectivity : int or list of offsets, optional
        As in :func:`preflow.grid_cut`, for one item.
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU only for arrays that are there.
    threads : int, optional
        Greatest number of CPU threads; by default as many as the process may use.
    time_limit : float, optional
        Seconds. On expiry the result's `status` says so; items that were not solved have labels and bounds.
    progress : bool or function
        As in :func:`preflow.grid_cut`.

    Returns
    -------
    GridCutBatchResult
        Values are int64, or float64 if any capacities are floats. They are exact or within `gap` as those of
        :func:`preflow.grid_cut` are, each item for itself.

    Raises
    ------
    InvalidInputError
        An argument is malformed. Positions in messages begin with the item.
    CapacityOverflowError, UnboundedFlowError
        As in :func:`preflow.grid_cut`; the message names the item.
    DeviceUnavailableError
        There is no such device.
    DeviceMemoryError
        The batch does not fit the GPU's memory.

    Notes
    -----
    Each thread solves groups of items as one grid of one more dimension, by the method
    "serial-incremental-bfs". On a GPU the whole batch is one grid, solved by "cuda-tiled".

    Examples
    --------
    >>> import preflow
    >>> source = [[[9, 4, 0], [9, 1, 0]], [[0, 0, 0], [9, 9, 9]]]
    >>> sink = [[[0, 3, 9], [0, 6, 9]], [[9, 2, 9], [0, 0, 0]]]
    >>> result = preflow.grid_cut_batch(source, sink, 2)
    >>> result.value.tolist(), result.labels[1].tolist()
    ([9, 6], [[False, False, False], [True, True, True]])
    >>> result.verify()
    """
    request = Request(METHODS, "auto", device, threads, time_limit, progress)
    given = (source_capacity, sink_capacity, neighbor_capacity)
    gpu = runtime.find_device() if device == "cuda" and not any(map(is_on_gpu, given)) else None
    call = GridBatchCall.prepare(read_grids(*given, connectivity, gpu), request)
    call.uploaded = gpu is not None
    return call.run(call.find, request)


def read_grids(
    source: AnyArray,
    sink: AnyArray,
    neighbor: AnyArray,
    connectivity: Connectivity,
    gpu: Device | None = None,
) -> GridNetwork:
    """Return a batch as one grid whose first axis is the item, without arcs from item to item.

    If `gpu` is given, arrays on the host are copied to it.
    """
    named = ((source, "source_capacity"), (sink, "sink_capacity"), (neighbor, "neighbor_capacity"))
    source, sink, neighbor = (
        values if is_on_gpu(values) else as_capacities(values, name) for values, name in named
    )
    ndim = max(source.ndim, sink.ndim) - 1
    if ndim < 1:
        raise InvalidInputError(
            "source_capacity or sink_capacity has the shape of the batch: (items, ...) with at least two axes"
        )
    rows = None
    if neighbor.ndim == ndim + 2:
        neighbor = neighbor.swapaxes(0, 1)
        rows = len(neighbor)
    elif neighbor.ndim == ndim + 1:
        neighbor = neighbor.reshape(neighbor.shape[0], 1, *neighbor.shape[1:])
        rows = len(neighbor)
    elif neighbor.ndim == 1:
        rows = len(neighbor)
    elif neighbor.ndim:
        raise InvalidInputError(
            f"neighbor_capacity has shape {tuple(neighbor.shape)}: expected (items, directions, ...), or "
            f"(directions, ...) for all items, where ... are the {ndim} axes of an item; or a number for "
            "every direction, or a scalar"
        )
    half = half_neighbourhood(ndim, neighbours_of(ndim, rows) if connectivity is None else connectivity)
    of_batch = [(0, *offset) for offset in half]
    if gpu is None:
        from_source, to_sink = (given for given, _ in named[:2])  # results are arrays of their kind
        return GridNetwork.from_arrays(from_source, to_sink, neighbor, connectivity=of_batch)
    with gpu.current():
        source, sink, neighbor = (gpu.xp.asarray(values) for values in (source, sink, neighbor))
        arrays = grid_arrays(source, sink, neighbor, of_batch, gpu.xp)
        network = DeviceGridNetwork(*arrays, device=gpu, restore=None, _checked=True)
        network.check()
        return network


class _Solved(NamedTuple):
    """Some items, solved as one grid."""

    begin: int  #: the number of the first of these items in the batch
    part: GridCutResult
    #: bool: those of `part`; for a part that was stopped the best ones of each item
    labels: AnyArray
    lower: list[Number]
    upper: list[Number]
    gap: list[Number]
    optimal: list[bool]


@dataclass(kw_only=True)
class GridBatchCall(Call[GridNetwork]):
    """One call of grid_cut_batch."""

    device: None = None
    #: the batch as the caller gave it; `instance` is a copy on the host if it is solved there
    given: GridNetwork
    each: int  #: items of a group
    #: whether the caller's arrays are on the host, and `given` is a copy on a GPU
    uploaded: bool = False
    running: dict[int, GridCall] = field(default_factory=dict)  #: the solve of each thread

    @classmethod
    def prepare(cls, network: GridNetwork, request: Request) -> GridBatchCall:
        """Choose the method, and how to divide the batch."""
        on_gpu = request.device == "cuda" or (
            request.device == "auto" and isinstance(network, DeviceGridNetwork)
        )
        name = ON_GPU if on_gpu else ON_CPU
        items = network.shape[0]
        share = network.size // (GROUPS_A_THREAD * request.most_threads)
        pixels = min(PIXELS_A_GROUP, max(LEAST_PIXELS, share))
        each = max(1, items if on_gpu else pixels // max(1, network.size // max(items, 1)))
        groups = -(-items // each)
        method = find_method(METHODS, name)
        reason = f"{items:,} grids in {max(groups, 1):,} groups, each solved as one grid"
        return cls(
            instance=network if on_gpu else network.on_host(),
            given=network,
            method=method,
            plan=Plan.of(name, reason),
            threads=1 if on_gpu else max(1, min(request.most_threads, groups)),
            each=each,
        )

    def find(self) -> GridCutBatchResult:
        """Solve all groups and wrap the result."""
        items = self.instance.shape[0]
        groups = max(1, -(-items // self.each))
        found: list[list[_Solved]] = [[] for _ in range(groups)]
        self.control.progress[:] = groups
        with self.timed("solve"):
            self.solve_groups(found)
        self.control.check_wanted()
        with self.timed("recover"):
            return self.wrap([solved for group in found for solved in group])

    def solve_groups(self, found: list[list[_Solved]]) -> None:
        """Solve groups on all threads; one more thread passes the stop flag on to the solves that run."""
        numbers = itertools.count()
        done = threading.Event()
        working = list(range(self.threads))

        def work(thread: int) -> None:
            if thread == self.threads:
                while not done.wait(POLL_INTERVAL):
                    self.stop_running()
                return
            for number in numbers:
                if number >= len(found):
                    break
                self.control.check_wanted()
                begin = number * self.each
                group = part_of(self.instance, slice(begin, begin + self.each))
                found[number] = self.solve_group(begin, group, thread)
                self.control.progress[0] -= 1
            working.pop()
            if not working:
                done.set()

        def give_up() -> None:
            self.control.stop[0] = 1
            done.set()
            self.stop_running()

        run_on_threads(work, self.threads + 1, give_up)

    def stop_running(self) -> None:
        """Stop the solves that run if the batch is to be stopped."""
        if self.control.stopped:
            for call in list(self.running.values()):
                call.control.stop[0] = 1

    def solve_group(self, begin: int, group: GridNetwork, thread: int) -> list[_Solved]:
        """Solve some items as one grid, items that need a scale of their own again."""
        count = group.shape[0]
        try:
            solved = self.solve_as_one(begin, group, thread)
        except (CapacityOverflowError, UnboundedFlowError) as error:
            if count == 1:
                raise type(error)(f"item {begin}: {error}") from error
            return [one for k in range(count) for one in self.solve_alone(begin, group, k, thread)]
        if count == 1 or solved.part.status == "time-limit":
            return [solved]
        wide = [k for k in range(count) if not solved.optimal[k]]
        return [solved, *(one for k in wide for one in self.solve_alone(begin, group, k, thread))]

    def solve_alone(self, begin: int, group: GridNetwork, k: int, thread: int) -> list[_Solved]:
        """Solve one item of a group."""
        return self.solve_group(begin + k, part_of(group, slice(k, k + 1)), thread)

    def solve_as_one(self, begin: int, group: GridNetwork, thread: int) -> _Solved:
        """Solve some items as one grid."""
        call = GridCall.prepare(group, Request(METHODS, method=self.method.name))
        self.running[thread] = call
        if self.control.stopped:
            call.control.stop[0] = 1
        part = call.grid_cut()
        self.control.thread_counts[thread] += call.control.counts
        remarks = {*call.went_on(), *call.control.remarks}
        self.control.remarks.extend(remarks.difference(self.control.remarks))
        labels = group.to_array_module(part.labels)
        with group.current():
            found = bounds_of_items(group, labels, part._grid, part._solution.terminal)
            if part.status == "time-limit":
                return _best_of_stopped(begin, part, labels, found)
        lower, upper, size = found
        if part._grid.scale_exponent is None:
            return _Solved(begin, part, labels, lower, lower, [0] * len(lower), [True] * len(lower))
        arcs, single = arcs_and_precision(group, len(lower))
        gap = [proved_gap(*bounds) for bounds in zip(upper, lower, size, strict=True)]
        close = [is_close(*each, arcs, single=single) for each in zip(gap, size, strict=True)]
        lower = [high if near else low for low, high, near in zip(lower, upper, close, strict=True)]
        return _Solved(begin, part, labels, lower, upper, gap, close)

    def wrap(self, found: list[_Solved]) -> GridCutBatchResult:
        """Return the result of the batch. Of items that were solved twice, the last solve counts."""
        network, items = self.instance, self.instance.shape[0]
        lower, upper, gap = ([0] * items for _ in range(3))
        stopped = False
        optimal, place = np.zeros(items, dtype=bool), np.zeros((items, 2), dtype=np.int64)
        labels = found[0].labels if len(found) == 1 else network.xp.empty(network.shape, dtype=bool)
        for number, solved in enumerate(found):
            part = slice(solved.begin, solved.begin + len(solved.lower))
            lower[part], upper[part], gap[part] = solved.lower, solved.upper, solved.gap
            optimal[part] = solved.optimal
            stopped |= solved.part.status == "time-limit"
            place[part, 0], place[part, 1] = number, np.arange(len(solved.lower))
            if len(found) > 1:
                labels[part] = solved.labels
        parts = [solved.part for solved in found]
        if items:  # the last solve of an item counts, so that parts may be of no use
            used, place[:, 0] = np.unique(place[:, 0], return_inverse=True)
            parts = [parts[number] for number in used]
        return GridCutBatchResult(
            status=self.control.status(self.method, not stopped, close=bool(optimal.all())),
            lower_bound=_as_array(lower),
            upper_bound=_as_array(upper),
            stats=self.stats(SolveStats),
            labels=self.labels_for_caller(labels),
            optimal=optimal,
            network=self.given,
            _gap=_as_array(gap),
            _parts=tuple(parts),
            _place=place,
        )

    def labels_for_caller(self, labels: AnyArray) -> AnyArray:
        """Return labels as the kind of array that the caller gave."""
        if not self.uploaded:
            return self.given.to_caller(self.given.xp.asarray(labels))
        host = self.given.to_host(labels)
        host.flags.writeable = False
        return host


def _best_of_stopped(begin: int, part: GridCutResult, labels: AnyArray, found: ItemBounds) -> _Solved:
    """Return, for each item of a part that was stopped, the cheapest of three labellings."""
    network, upper, labels = part.network, list(found.upper), labels.copy()
    for side, capacity in ((True, network.sink_capacity), (False, network.source_capacity)):
        for k, energy in enumerate(sums_of_items(capacity)):
            if energy < upper[k]:
                labels[k], upper[k] = side, energy
    sizes = sizes_of_items(network, labels, upper)
    gap = [proved_gap(*bounds) for bounds in zip(upper, found.lower, sizes, strict=True)]
    return _Solved(begin, part, labels, found.lower, upper, gap, [False] * len(upper))


def _as_array(numbers: list[Number]) -> Array:
    """Return Python numbers as int64 or float64, as an array of objects if one would change."""
    if all(isinstance(number, int) for number in numbers):
        fits = all(-INT64_MAX <= number <= INT64_MAX for number in numbers)
        return np.array(numbers, dtype=np.int64 if fits else object)
    exact = all(abs(number) <= EXACT_FLOAT for number in numbers if isinstance(number, int))
    return np.array(numbers, dtype=np.float64 if exact else object)
