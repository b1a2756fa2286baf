"""Regions on the GPUs of one machine: push-relabel by tiles, with distances through the whole grid.

A region is a run of planes of a volume, or of rows of an image. Unlike the other hosts this one does not
augment to ghosts in the order of labels. It runs the method "cuda-tiled", whose labels are distances, with
the labels beyond a border as its neighbour found them (region push-relabel, Delong and Boykov 2008).
:mod:`preflow.gridcut.cuda_tiled.parts` has the work that one region does.

Together
--------
Where each GPU has one region with all of its capacities, and GPUs can access the memory of each other, one
kernel runs on all of them. It does what "cuda-tiled" does on a single GPU, sweep by sweep: GPUs wait for each
other after each turn of a color, and write labels and flow over borders to the memory of the neighbour. The
host waits for the end of the solve, or of a launch.

Pseudo-code of a sweep elsewhere
--------------------------------
::

    for some rounds, a few at a time:
        discharge a window of layers on all GPUs at the same time, then the next one
        hand the flow over the borders of regions, and the labels there, to the neighbours
    search each tile alone; hand the labels at borders to the neighbours                    global relabel
    search each region given the labels beyond its borders
    while labels at borders have changed:
        hand them to the neighbours; search these further

Where all capacities are on GPUs, a window is a region without its last layer. The host launches several steps
ahead, and reads once or twice a sweep what they found.

After the search all labels are exact, and the regions have the sink's side of a cut. It is minimum when no
excess can reach the sink; the labels are those of :func:`preflow.grid_cut`.

Tiles on both sides of a border are never discharged at the same time. So each push leads down by one label,
and distances never fall, as on a single GPU.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from ..checks import check_integer
from ..cuda import runtime
from ..cuda.runtime import Device
from ..errors import DeviceMemoryError, InvalidInputError, UnsuitableMethodError
from ..graph.integer_grid import IntegerGrid
from ..graph.network import exact_sum
from ..gridcut.cuda_tiled import TiledOptions
from ..gridcut.cuda_tiled.launches import MOST_DEVICES, Stage, Turns
from ..gridcut.cuda_tiled.parts import AFTER, BEFORE, MARGIN_OF_IMAGE, MARGIN_OF_VOLUME, Part, Place
from ..gridcut.cuda_tiled.tiling import Tiling, tiling_for
from ..solving.run import Control
from .exchange import (
    Answer,
    Order,
    RegionTask,
    Report,
    Worker,
)
from .grid_source import GridTask
from .partition import Boxes

Item = TypeVar("Item")

#: Layers whose capacities a GPU has at least: those that are discharged, and one on either side.
LEAST_WINDOW = 3
#: Axes of a grid that the kernels know.
MOST_AXES = 3
#: Rounds in a step, where all capacities are on GPUs.
ROUNDS_OF_WINDOW = 4
#: Seconds between two times that excess and deficits are added up while there is work.
MEASURE_INTERVAL = 0.1
#: Steps of a search that are launched before the host reads whether labels still change.
STEPS_AHEAD = 4
#: Percentage of the free memory that is used, where the caller has set no limit.
PERCENT_OF_FREE = 90


def margin_of(shape: tuple[int, ...]) -> int:
    """Return the number of planes or rows that a region reads beyond its borders."""
    return MARGIN_OF_VOLUME if len(shape) == 3 else MARGIN_OF_IMAGE


def divide_in_layers(shape: tuple[int, ...], regions: int | tuple[int, ...]) -> Boxes:
    """Divide a grid along its first axis, between layers of tiles.

    `regions` is the number of regions, or that along each axis: 1 but for the first one. There are fewer
    regions if they would have less than two layers; a grid with one axis is one region.
    """
    if isinstance(regions, tuple):
        if len(regions) != len(shape) or any(count != 1 for count in regions[1:]):
            raise InvalidInputError(
                f"regions on GPUs lie along the first axis: give a number or (number, 1, ...), got {regions}"
            )
        regions = regions[0]
    check_integer("regions", regions)
    margin = margin_of(shape)
    layers = -(-shape[0] // margin) if len(shape) > 1 else 1
    cuts = np.linspace(0, layers, min(regions, max(1, layers // 2)) + 1).astype(np.int64) * margin
    cuts[-1] = shape[0]
    return Boxes(shape, (cuts, *(np.array([0, length], dtype=np.int64) for length in shape[1:])))


def window_of(device: Device, tilings: Sequence[Tiling], given: int, memory: int | None) -> int | None:
    """Return how many layers of each region of a GPU have their capacities there at a time; None: all.

    `given` is the number of bytes of the largest input of a region, `memory` the limit of the caller.
    DeviceMemoryError if not even labels, bits and the thinnest windows fit.
    """
    limit = device.free_bytes * PERCENT_OF_FREE // 100 if memory is None else memory
    if given + sum(tiling.bytes_on_device for tiling in tilings) <= limit:
        return None
    kept = sum(tiling.bytes_kept for tiling in tilings)
    layer = sum(tiling.layer_size * tiling.capacity_bytes for tiling in tilings)
    if kept + LEAST_WINDOW * layer > limit:
        size = sum(tiling.padded_size for tiling in tilings)
        raise DeviceMemoryError(
            f"{device.name}: labels and bits of {size:,} pixels take {kept:,} bytes, and capacities of "
            f"{LEAST_WINDOW} layers of tiles {LEAST_WINDOW * layer:,}, but the limit is {limit:,}"
        )
    return (limit - kept) // layer


class _Read(NamedTuple):
    """A region that has been read: its capacities, those around it, and the constant of :class:`.Loaded`."""

    grid: IntegerGrid
    sinks: int


class GpuExchange:
    """Regions on the GPUs of this machine.

    Parameters
    ----------
    devices : sequence of int, optional
        The numbers of the GPUs. Default: all.
    memory : int, optional
        Bytes that regions may take on each GPU. If they need more, capacities are in the memory of the host,
        and are copied to the GPU a few layers at a time. Default: nine tenths of the free memory.

    Attributes
    ----------
    sweeps : int

    Raises
    ------
    InvalidInputError
        An argument is malformed.

    Notes
    -----
    A GPU keeps about 4 bytes a pixel with 6 neighbours, and if it has room the capacities, 16 to 28 more. The
    result keeps them until it is deleted.

    Examples
    --------
    >>> import preflow.distributed
    >>> host = preflow.distributed.GpuExchange(devices=[0, 1], memory=10**10)
    >>> preflow.distributed.grid_cut(source, sink, 20, exchange=host)  # doctest: +SKIP
    """

    def __init__(self, *, devices: Sequence[int] | None = None, memory: int | None = None) -> None:
        numbers = None if devices is None else list(devices)
        if numbers is not None and not (numbers and all(type(number) is int for number in numbers)):
            raise InvalidInputError(f"devices must be numbers of GPUs, got {devices!r}")
        if memory is not None:
            check_integer("memory", memory)
        self.sweeps = 0
        self._numbers, self._memory = numbers, memory
        self._tasks: list[GridTask] = []
        self._parts: list[Part] = []
        self._sinks: list[int] = []
        self._owner: list[int] = []
        self._devices: list[Device] = []
        self._turns = Turns(waves=1, rounds=1, rounds_percent=0)
        self._measured: list[tuple[int, int]] = []
        self._measured_at = -math.inf
        self._is_exact = self._works_together = False
        self._pool: ThreadPoolExecutor | None = None

    @property
    def num_devices(self) -> int:
        """Number of GPUs.

        Raises
        ------
        DeviceUnavailableError
            There is none, none with such a number, or software to use it is missing.
        """
        return len(runtime.find_devices(self._numbers))

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Read the regions, copy them to the GPUs, and search them."""
        self._tasks = [task for task in tasks if isinstance(task, GridTask)]
        if len(self._tasks) < len(tasks):
            raise InvalidInputError("regions on GPUs are parts of a grid, not of a network")
        if len(self._tasks[0].source.shape) > MOST_AXES:
            raise UnsuitableMethodError(f"methods on a GPU take up to {MOST_AXES} axes")
        self.sweeps, self._control, self._parts = 0, control, []
        self._measured_at = -math.inf
        self._devices = runtime.find_devices(self._numbers)[: len(tasks)]
        self._owner = [i * len(self._devices) // len(tasks) for i in range(len(tasks))]
        regions = self._on_devices(_read, self._tasks)
        self._sinks = [region.sinks for region in regions]
        self._build([region.grid for region in regions])
        if self._works_together:
            self._solve_together()
        else:
            self._search()
        return self._reports()

    def _build(self, grids: list[IntegerGrid]) -> None:
        """Copy all regions to the GPUs; `grids` is empty afterwards."""
        dtypes = [(grid.residual_dtype, grid.excess_dtype) for grid in grids]
        residual, excess = (max(each, key=lambda dtype: dtype.itemsize) for each in zip(*dtypes, strict=True))
        owners = [self._devices[owner] for owner in self._owner]
        tilings = [
            tiling_for(device, grid.shape, grid.offsets, residual, excess)
            for device, grid in zip(owners, grids, strict=True)
        ]
        if len({tiling.tile for tiling in tilings}) > 1:
            raise UnsuitableMethodError("the GPUs have different sizes of shared memory: use equal ones")
        windows = []
        for number, device in enumerate(self._devices):
            mine = [i for i, owner in enumerate(self._owner) if owner == number]
            given = max(grids[i].bytes_placed for i in mine)
            with device.current():
                windows.append(window_of(device, [tilings[i] for i in mine], given, self._memory))
        last, self._turns = len(grids) - 1, TiledOptions().turns(tilings[0])

        def build(number: int) -> Part:
            task, tiling, grid = self._tasks[number], tilings[number], grids[number]
            place = place_of(task, tiling, (number > 0, number < last))
            window = windows[self._owner[number]]
            part = Part(owners[number], tiling, place, grid, window, self._turns, self._control)
            grids[number] = None  # type: ignore[call-overload]
            return part

        self._parts = self._on_devices(build, range(len(grids)))
        for before, after in pairwise(self._parts):
            before.connect(AFTER, after)
            after.connect(BEFORE, before)
        one_each = len(self._parts) == len(self._devices) <= MOST_DEVICES and self._are_on_gpus
        self._works_together = one_each and runtime.can_work_together(self._devices)
        if self._works_together:
            for number, part in enumerate(self._parts):
                part.join(number, self._parts)

    @property
    def _are_on_gpus(self) -> bool:
        """Whether all capacities are on GPUs."""
        return all(part.is_on_gpu for part in self._parts)

    @property
    def _are_connected(self) -> bool:
        """Whether arcs lead from region to region."""
        return any(part.sides for part in self._parts)

    def sweep(self, order: Order) -> list[Report]:
        """Discharge all tiles with work for some rounds, then search; or let the GPUs go on together."""
        self._control.check_wanted()
        if self._works_together:
            self._solve_together()
            return self._reports()
        hops = max(part.hops for part in self._parts)
        rounds = max(self._turns.rounds, self._turns.rounds_percent * hops // 100)
        together = ROUNDS_OF_WINDOW if self._are_on_gpus and self._are_connected else rounds
        while rounds > 0 and not self._control.stopped:
            self._discharge_windows(min(rounds, together))
            rounds -= together
            if rounds > 0:
                self._read_states()
                if not any(part.is_active for part in self._parts):
                    break
        self._search()
        self.sweeps += 1
        return self._reports()

    def _solve_together(self) -> None:
        """Run the kernel on all GPUs until it ends; a sweep is a global relabel, but for the first one."""
        # This waits for all earlier work, since each GPU then waits for the others to start.
        launches = self._on_devices(Part.prepare_together, self._parts)
        self._devices[0].start_together(list(zip(self._devices, launches, strict=True)))
        self._read_states()
        self._is_exact = not any(part.is_active or part.is_searching for part in self._parts)
        self.sweeps = max(self._parts[0].num_relabels - 1, 0 if self._is_exact else 1)

    def _discharge_windows(self, rounds: int) -> None:
        """Discharge all windows of layers, each for some rounds."""
        for number in range(max(len(part.windows) for part in self._parts)):
            if not self._control.stopped:
                self._step(partial(Part.discharge, number=number, rounds=rounds))

    def _search(self) -> None:
        """Make all labels exact, unless the solve is stopped."""
        self._is_exact = False
        ahead = STEPS_AHEAD if self._are_connected else 0
        if ahead:
            self._search_once(Stage.ALONE_ONLY)
            self._search_once(Stage.ALL_BUT_ALONE)
        else:
            self._search_once(Stage.ALL_STAGES)
        while True:
            for _ in range(ahead):
                self._search_once(Stage.ALL_STAGES, further=True)
            self._read_states()
            if not any(part.is_searching or part.had_news for part in self._parts):
                break
            if self._control.stopped:
                return
            ahead = STEPS_AHEAD
        self._is_exact = True

    def _search_once(self, stages: Stage, *, further: bool = False) -> None:
        """Let each region take the labels of its neighbours and search."""
        self._step(partial(Part.search, stages=stages), stages, further)

    def _step(
        self, act: Callable[[Part], None], stages: Stage = Stage.NO_STAGE, further: bool = False
    ) -> None:
        """Let each region take what its neighbours have sent, then act, then send."""

        def run(part: Part) -> None:
            with part.device.steps():
                part.take(stages, further=further)
                act(part)
                part.send()

        if not self._are_on_gpus:
            self._on_devices(run, self._parts)
            return
        for part in self._parts:
            with part.device.current():
                run(part)

    def _read_states(self) -> None:
        """Wait for all GPUs, and read what they have found."""
        for part in self._parts:
            with part.device.current(), part.device.steps():
                part.read_state()

    def _reports(self) -> list[Report]:
        """Return the reports: sums that were true earlier still bound the cut."""
        labels, links = np.zeros(1, dtype=np.int32), np.zeros((0, 3), dtype=np.int32)
        is_ready = [part.is_active or not self._is_exact for part in self._parts]
        now = time.monotonic()
        if not any(is_ready) or self._control.stopped or now > self._measured_at + MEASURE_INTERVAL:
            self._measured_at = now
            self._measured = self._on_devices(partial(Part.measure, is_exact=self._is_exact), self._parts)
        return [
            Report(number, labels, links, sinks + deficits, excess if any(is_ready) else 0, ready)
            for number, (sinks, (deficits, excess), ready) in enumerate(
                zip(self._sinks, self._measured, is_ready, strict=True)
            )
        ]

    def collect(self, ask: Callable[[Worker], Answer]) -> Iterator[Answer]:
        """Yield an answer for each region; its arrays are copied to the host if the answer needs them."""
        if len(self._devices) <= 1:
            yield from map(partial(_answer, ask), self._tasks, self._parts)
            return
        with ThreadPoolExecutor(len(self._devices), "preflow-gpu") as pool:
            yield from pool.map(partial(_answer, ask), self._tasks, self._parts)

    def close(self) -> None:
        """End the threads; the regions stay on the GPUs, because a proof later needs them."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _on_devices(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """Call a function for an item of each region, on its GPU: one GPU in each thread."""

        def run(number: int) -> list[Answer]:
            device = self._devices[number]
            with device.current():
                mine = [item for item, owner in zip(items, self._owner, strict=True) if owner == number]
                answers = [function(item) for item in mine]
                device.synchronize()
            return answers

        if len(self._devices) == 1:
            return run(0)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._devices), "preflow-gpu")
        return list(chain.from_iterable(self._pool.map(run, range(len(self._devices)))))


def _read(task: GridTask) -> _Read:
    """Read a region and its margin."""
    task = replace(task, margin=margin_of(task.source.shape))
    loaded = task.load()
    sink = loaded.grid.sink[task.own]
    total = exact_sum(sink) if sink.dtype.itemsize == 8 else sink.sum(dtype=np.int64)
    return _Read(loaded.grid, loaded.constant + int(total))


def place_of(task: GridTask, tiling: Tiling, has: tuple[bool, bool]) -> Place:
    """Return the layers of a region among those that it reads."""
    margin = margin_of(task.source.shape) // tiling.thickness
    first, end = (margin if side else 0 for side in has)
    layer = task.boxes.boxes()[task.number][0].start // tiling.thickness
    return Place(first, tiling.layers - end, has, (layer - first) % 2)


def _answer(ask: Callable[[Worker], Answer], task: GridTask, part: Part) -> Answer:
    """Return the answer for a region on a GPU, which is copied to the host if its cut is not enough."""
    with part.device.current():
        if ask is Worker.sink_side:
            return part.sink_side()  # type: ignore[return-value]
        region = task.build()
        region.take_flow(*part.flow(), part.sink_side())
    worker = Worker(task.number, region)
    worker.take_flow(region.residual_of_border())
    return ask(worker)
