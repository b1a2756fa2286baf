"""A box of a grid as a region on a GPU: "cuda-tiled" with ghosts as further sinks.

It does what :class:`.grid_region.GridRegion` does, in the same order. Only the search differs: the kernel of
:mod:`preflow.gridcut.cuda_tiled` goes on from the residual capacities that the last search has left, with the
deficits of some ghosts more. Its last global relabel finds the pixels that reach a sink or one of these
ghosts, so labels are those that a region on the CPU finds. Capacities and excess stay on the GPU from one
sweep to the next. The host gets two numbers for each border arc: the flow over it and the label.

Pseudo-code
-----------
::

    take the deficits from all ghosts
    add the flow that has arrived to residual capacities and excess
    solve; border pixels that reach a sink get the label 0
    for each label k of ghosts, in increasing order, below the limit:
        give a deficit to the ghosts with label k
        solve; border pixels that reach a sink or a ghost for the first time get the label k + 1

States have the arrays of a region on the CPU, which can go on from them, and the other way round.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, DType
from ..cuda import runtime
from ..cuda.runtime import Device
from ..errors import (
    DeviceMemoryError,
    DeviceUnavailableError,
    MissingDependencyError,
    UnsuitableMethodError,
)
from ..gridcut.cuda_tiled import TiledOptions
from ..gridcut.cuda_tiled.launches import Launcher, Word, make_arrays
from ..gridcut.cuda_tiled.tiling import (
    MarkArguments,
    Tiling,
    all_tiles,
    fill_tiles,
    mark_tiles,
    measure_layers,
    tiling_for,
    write_sides,
)
from ..solving.run import Control
from .exchange import (
    INFINITE,
    Amounts,
    Discharged,
    Labels,
    Proof,
    State,
    as_array,
    search_by_label,
    stored,
    total,
)
from .grid_region import GridRegion, dtypes_of, narrowed

#: Axes of a grid that the kernels know.
MOST_AXES = 3
#: Bytes of residual capacities that are copied between the GPU and the host at once.
PIECE = 1 << 26
#: Bytes of a border arc on the GPU: its place, that of the opposite arc, and those of its ends.
BYTES_PER_ARC = 40


def find_gpu() -> Device:
    """Return the current GPU.

    MissingDependencyError: CuPy is not installed here. DeviceUnavailableError: there is no GPU, or CuPy
    cannot use it.
    """
    try:
        return runtime.find_device()
    except DeviceUnavailableError as error:
        if find_spec("cupy") is None:
            where = f"CuPy on every machine with a GPU, also on {platform.node()}"
            raise MissingDependencyError("device='cuda'", where, "cuda") from error
        raise


class Places(NamedTuple):
    """Places in the arrays on the GPU."""

    #: int64: of the residual capacity of each border arc, and of the arc back
    arcs: AnyArray
    opposites: AnyArray
    #: int64: of each pixel at the border, and of each ghost
    rim: AnyArray
    ghosts: AnyArray
    rim_of_box: AnyArray  #: int64: of each pixel at the border in an array without padding


class Tiles:
    """The residual grid of a box and its ghosts on a GPU; all methods run with it as the current one.

    `residual` and `terminal` are flat and padded; :attr:`image` and :attr:`terminal_image` are views without
    padding.
    """

    def __init__(self, device: Device, tiling: Tiling) -> None:
        self.device, self.tiling = device, tiling
        self.arrays = make_arrays(device, tiling)
        self.residual: AnyArray = None
        self.terminal: AnyArray = None
        # Whether the words say which pixels reach a sink, with the capacities as they are.
        self.is_searched = False

    def hold(self, residual: AnyArray, terminal: AnyArray) -> None:
        """Keep capacities, shape (D, *padded), and excess, shape padded."""
        self.residual, self.terminal = residual.reshape(-1), terminal.reshape(-1)

    @cached_property
    def _launcher(self) -> Launcher:
        turns = TiledOptions().turns(self.tiling)
        return Launcher(self.device, self.tiling, self.arrays, turns, Control())

    @property
    def image(self) -> AnyArray:
        """Residual capacities, shape (D, *shape of the box with its ghosts)."""
        return self.tiling.image(self.residual.reshape(self.tiling.directions, *self.tiling.padded))

    @property
    def terminal_image(self) -> AnyArray:
        """Excess, shape of the box with its ghosts."""
        return self.tiling.image(self.terminal.reshape(self.tiling.padded))

    @property
    def _marked(self) -> MarkArguments:
        """The arguments that name all tiles."""
        return all_tiles(self.tiling, self.residual, self.terminal, self.arrays.words)

    def solve(self, control: Control, *, discharges: bool = True) -> None:
        """Push excess to the sinks; then, or without `discharges` at once, find the pixels that reach them.

        If the solve is stopped, the pixels are not found.
        """
        launcher = self._launcher
        launcher.control = Control(stop=control.stop)
        if launcher.is_searching:  # the last solve was stopped in a search, which is not to go on
            launcher.prepare_search(further=False)
            launcher.is_searching = False
        self.is_searched = False
        mark_tiles(self.device, self.tiling, self._marked)
        window, done = (0, self.tiling.num_tiles, 0), False
        while not (done or control.stopped):
            state = launcher.launch(window, self.residual, self.terminal, discharges)
            done = not launcher.is_searching and bool(state[Word.IS_DONE] or not discharges)
        self.is_searched = done

    def sides(self) -> AnyArray:
        """Return which pixels reach a sink, shape of the box with its ghosts."""
        if not self.is_searched:
            self.solve(Control(), discharges=False)
        return write_sides(self.device, self.tiling, self.arrays.words)

    def sums(self) -> tuple[int, int]:
        """Return the sum of all deficits, which is not positive, and that of all excess."""
        layers = measure_layers(self.device, self.tiling, self._marked, reached_only=False).values()
        deficits, excess = zip(*layers, strict=True)
        return sum(deficits), sum(excess)

    def runs(self) -> Iterator[slice]:
        """Yield runs along the first axis of the box for which capacities have PIECE bytes or less."""
        shape = self.tiling.grid_shape
        each = self.tiling.directions * self.tiling.residual.itemsize * math.prod(shape[1:])
        step = max(1, PIECE // each)
        for begin in range(0, shape[0], step):
            yield slice(begin, min(begin + step, shape[0]))


class CudaRegion(GridRegion):
    """A box of a grid on the GPU that is the current one of the process.

    It has no arrays of the size of the box until :meth:`build` or :meth:`restore` is called. The parameters
    are those of :class:`.grid_region.GridRegion`.
    """

    _tiles: Tiles | None = None

    @property
    def _on_gpu(self) -> Tiles:
        assert self._tiles is not None, "build() or restore() comes first"
        return self._tiles

    @cached_property
    def _places(self) -> Places:
        tiling = self._on_gpu.tiling
        padded, pad = tiling.padded[3 - len(self._shape) :], int(self._first)

        def flat(pixels: NDArray[np.int64]) -> NDArray[np.int64]:
            where = np.unravel_index(pixels - pad, self._shape)
            return np.ravel_multi_index(where, padded).astype(np.int64)

        tail, direction = np.divmod(self._arcs.astype(np.int64), len(self._step))
        there = flat(self._heads)
        found = (
            direction * tiling.padded_size + flat(tail),
            (direction ^ 1) * tiling.padded_size + there,
            flat(self._rim.astype(np.int64)),
            flat(self._ghosts.astype(np.int64)),
            self._rim.astype(np.int64) - pad,
        )
        return Places(*map(self._on_gpu.device.xp.asarray, found))

    def _make_tiles(self, residual: DType, excess: DType, given: int) -> Tiles:
        """Return tiles without capacities; `given` bytes of input are on the GPU together with them.

        UnsuitableMethodError: the grid has too many axes, or neighbours that are too far apart.
        DeviceMemoryError: the region does not fit the GPU.
        """
        if len(self._shape) > MOST_AXES:
            raise UnsuitableMethodError(f"methods on a GPU take up to {MOST_AXES} axes")
        self.unload_gpu()
        device = find_gpu()
        tiling = tiling_for(device, self._shape, self._offsets, residual, excess)
        pixels = math.prod(self._shape)
        piece = min(PIECE, pixels * tiling.directions * residual.itemsize)
        needed = tiling.bytes_on_device + pixels + BYTES_PER_ARC * len(self._arcs) + max(given, piece)
        if not device.has_room(needed):
            raise DeviceMemoryError(
                f"a region of {pixels:,} pixels with {tiling.directions} neighbours takes {needed:,} bytes "
                f"on the GPU ({device.name}), which has {device.free_bytes:,} free: divide the grid into "
                "more regions, on more GPUs"
            )
        return Tiles(device, tiling)

    def build(self) -> Self:
        """Read the capacities; there is no flow."""
        grid, constant = self._part.load()
        dtypes = dtypes_of(grid)
        with find_gpu().current():
            tiles = self._make_tiles(dtypes.border, dtypes.state, grid.bytes_placed)
            on_gpu = grid.placed(tiles.device.xp, tiles.device.xp.asarray)
            tiles.hold(*fill_tiles(tiles.device, tiles.tiling, on_gpu, None, tiles.arrays.words))
            for outside in self._outside():
                tiles.image[(slice(None), *outside)] = 0
                tiles.terminal_image[outside] = 0
            self._tiles, self._dtype = tiles, dtypes.state
            capacity = tiles.device.to_host(tiles.residual[self._places.arcs])
        self.border = self.border._replace(capacity=capacity)
        self._sinks = constant + total(grid.sink[self._own])
        return self

    def send_again(self, flow: Amounts, threads: int) -> None:
        """Become a region that has sent flow: see :class:`preflow.distributed.exchange.Region`."""
        tiles, places = self._on_gpu, self._places
        asarray = tiles.device.xp.asarray
        came = np.zeros(len(self._rim), dtype=np.int64)
        np.subtract.at(came, self._rim_of, flow)
        with tiles.device.current():
            tiles.residual[places.arcs] -= asarray(flow.astype(tiles.tiling.residual))
            # Where more was sent than has come, pixels have deficits, and these are the only ones.
            sinks = tiles.device.xp.minimum(tiles.terminal, 0)
            tiles.terminal -= sinks
            tiles.terminal[places.rim] += asarray(came.astype(tiles.tiling.excess))
            tiles.solve(Control())
            assert bool((tiles.terminal >= 0).all()), "no flow inside brings together what was sent"
            tiles.terminal += sinks
            tiles.is_searched = False

    def discharge(self, gain: Amounts, label: Labels, limit: int, control: Control) -> Discharged:
        """Augment inside the region: see :class:`preflow.distributed.exchange.Region`."""
        tiles, places, own = self._on_gpu, self._places, Control(stop=control.stop)
        device, asarray = tiles.device, tiles.device.xp.asarray
        with device.current():
            self._add(gain, own)
            before = device.to_host(tiles.residual[places.arcs])
            deficits = self._deficits(before, tiles.tiling.excess)
            found: Labels = np.where(self._solve(own), 0, INFINITE).astype(np.int32)

            def search(ghosts: NDArray[np.bool_], rim: NDArray[np.intp]) -> NDArray[np.bool_]:
                tiles.terminal[places.ghosts[asarray(ghosts)]] = asarray(deficits[ghosts])
                return self._solve(own)[rim]

            complete = search_by_label(label[self._first_of], limit, found, self._ends(before), search, own)
            sunk, excess = tiles.sums()
            bound = self._sinks + sunk - total(device.to_host(tiles.terminal[places.ghosts]))
            push = before - device.to_host(tiles.residual[places.arcs])
            # Ghosts have deficits or have received nothing, so this changes no pixel that reaches a sink.
            tiles.residual[places.opposites] = 0
        return Discharged(push, found[self._rim_of], bound, 0 if complete else excess, complete)

    def _solve(self, control: Control) -> NDArray[np.bool_]:
        """Push excess to the sinks; return which border pixels reach one, or none if the solve is stopped."""
        tiles = self._on_gpu
        tiles.solve(control)
        if not tiles.is_searched:
            return np.zeros(len(self._rim), dtype=np.bool_)
        reached: NDArray[np.bool_] = tiles.device.to_host(tiles.sides().reshape(-1)[self._places.rim_of_box])
        return reached

    def _add(self, gain: Amounts, control: Control) -> None:
        """Take the deficits from all ghosts, and add the flow that has arrived."""
        tiles, places = self._on_gpu, self._places
        asarray = tiles.device.xp.asarray
        excess = np.zeros(len(self._rim), dtype=np.int64)
        came = np.flatnonzero(gain)
        np.add.at(excess, self._rim_of[came], gain[came])
        tiles.terminal[places.ghosts] = 0
        tiles.residual[places.arcs] += asarray(gain.astype(tiles.tiling.residual))
        tiles.terminal[places.rim] += asarray(excess.astype(tiles.tiling.excess))

    def sink_side(self) -> NDArray[np.bool_]:
        """Return which pixels of the box reach the sink, over ghosts or inside."""
        tiles = self._on_gpu
        with tiles.device.current():
            own = tiles.device.xp.ascontiguousarray(tiles.sides()[self._own])
            side: NDArray[np.bool_] = tiles.device.to_host(own)
        return side

    def state(self) -> State:
        """Return the arrays that a region on the CPU returns, with residual capacities as they are stored."""
        tiles, nothing = self._on_gpu, np.zeros(0, dtype=np.uint8)
        xp, pad, degree = tiles.device.xp, int(self._first), len(self._step)
        kind = np.dtype(np.int16) if tiles.tiling.residual == np.int16 else self._dtype
        residual = np.zeros((int(self._last) + pad) * degree, dtype=kind)
        terminal = np.zeros(int(self._last) + pad, dtype=self._dtype)
        inner = residual[pad * degree : int(self._last) * degree].reshape(*self._shape, degree)
        with tiles.device.current():
            for run in tiles.runs():
                piece = xp.ascontiguousarray(xp.moveaxis(tiles.image[:, run], 0, -1))
                inner[run] = tiles.device.to_host(piece)
            image = xp.ascontiguousarray(tiles.terminal_image)
            terminal[pad : int(self._last)] = tiles.device.to_host(image).reshape(-1)
            side = np.packbits(self.sink_side()) if tiles.is_searched else nothing
        return {
            "residual": residual,
            "arcs": self._arcs,
            "rim_of": self._rim_of,
            "ghost_of": self._ghost_of,
            "terminal": narrowed(terminal),
            "sink_side": side,
            "capacity": self.border.capacity,
            "numbers": as_array(self._sinks, self._dtype.itemsize),
            "tree_label": nothing,
            "tree_parent": nothing,
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned here or on the CPU."""
        super().restore(state)
        self._given = {}
        pad, degree = int(self._first), len(self._step)
        inner = state["residual"].reshape(-1, degree)[pad : int(self._last)].reshape(*self._shape, degree)
        with find_gpu().current():
            tiles = self._make_tiles(self.border.capacity.dtype, self._dtype, 0)
            xp, tiling = tiles.device.xp, tiles.tiling
            tiles.hold(
                xp.zeros((tiling.directions, *tiling.padded), dtype=tiling.residual),
                xp.zeros(tiling.padded, dtype=tiling.excess),
            )
            for run in tiles.runs():
                piece = np.ascontiguousarray(inner[run], dtype=tiling.residual)
                tiles.image[:, run] = xp.moveaxis(xp.asarray(piece), -1, 0)
            terminal = state["terminal"][pad : int(self._last)].reshape(self._shape)
            tiles.terminal_image[...] = xp.asarray(np.ascontiguousarray(terminal, dtype=tiling.excess))
            self._tiles = tiles

    def unload(self) -> None:
        """Forget all arrays of the size of the box or of its border."""
        super().unload()
        self.unload_gpu()

    def unload_gpu(self) -> None:
        """Forget the arrays on the GPU."""
        self._tiles = None
        self.__dict__.pop("_places", None)

    def on_host(self) -> GridRegion:
        """Return a region on the CPU with the same state."""
        region = self._part.empty_on_host()
        region.restore(stored(self.state()))
        return region

    def check_flow(self, theirs: Amounts, own: Amounts, gain: Amounts) -> int:
        """Prove on the CPU that the region has a flow: see :class:`preflow.distributed.exchange.Region`."""
        return self.on_host().check_flow(theirs, own, gain)

    def verify(self, theirs: Proof, gain: Amounts, optimal: bool) -> int:
        """Prove the region's part on the CPU: see :class:`preflow.distributed.exchange.Region`."""
        return self.on_host().verify(theirs, gain, optimal)
