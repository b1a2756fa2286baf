"""Grids larger than the GPU's memory: :mod:`.cuda_tiled` with capacities and excess in the host's memory.

Region push-relabel (Delong and Boykov 2008) with slabs as regions. A slab is a run of planes of a volume, or
of rows of an image. Slabs are copied to the GPU one at a time, discharged until no excess in them can go on,
and copied back.

The GPU keeps the labels and the words of the whole grid: the bits that say which arcs have residual capacity
and which pixels have excess or a deficit. A search needs nothing else. So distances are exact through the
whole grid whenever a slab is discharged, and slabs without work are not copied at all. With a slab the layer
of tiles on either side of it is copied, because excess that leaves the slab is handed over to these. The
result is the same as without slabs.

Pseudo-code::

    for each slab: copy it to the GPU and write its words
    repeat:
        make all labels exact (a launch without discharges); stop if no excess can reach the sink
        for each slab with such excess: copy it to the GPU, discharge until nothing goes on, copy it back
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...arrays import AnyArray, Array
from ...cuda.runtime import Device
from ...graph.integer_grid import IntegerGrid
from ...graph.placement import require_memory
from ...solving.run import Control
from ..solution import GridFlow, GridSolution, initial_state
from .launches import Launcher, Turns, Word, make_arrays
from .tiling import Tiling, mark_tiles, some_tiles, write_sides


class HostState(NamedTuple):
    """Capacities and excess of all tiles in the host's memory, flat; padding fills the last tiles."""

    residual: Array
    terminal: Array


class Window:
    """Memory on the GPU for the capacities and the excess of some layers of tiles."""

    def __init__(self, device: Device, tiling: Tiling, state: HostState, layers: int) -> None:
        self.device, self.tiling, self.state, self.layers = device, tiling, state, layers
        size = layers * tiling.layer_size
        self.residual = device.xp.empty((tiling.directions, size), dtype=tiling.residual)
        self.terminal = device.xp.empty(size, dtype=tiling.excess)

    def _pairs(self, begin: int, end: int) -> list[tuple[Any, Array]]:
        """Return pairs of an array on the GPU and the part of the host's array that it is a copy of."""
        part = slice(begin * self.tiling.layer_size, end * self.tiling.layer_size)
        rows = [*zip(self.residual, self.state.residual, strict=True), (self.terminal, self.state.terminal)]
        return [(gpu[: part.stop - part.start], host[part]) for gpu, host in rows]

    def copy_to_gpu(self, begin: int, end: int) -> None:
        """Copy layers to the GPU."""
        for gpu, host in self._pairs(begin, end):
            self.device.upload(gpu, host)

    def copy_to_host(self, begin: int, end: int) -> None:
        """Copy layers to the host."""
        for gpu, host in self._pairs(begin, end):
            self.device.download(host, gpu)


def solve_in_slabs(
    device: Device,
    tiling: Tiling,
    grid: IntegerGrid,
    start: GridFlow | None,
    slab_bytes: int,
    turns: Turns,
    control: Control,
) -> GridSolution:
    """Solve a grid that is on the host, with slabs of up to `slab_bytes` on the GPU, at least one tile thick.

    DeviceMemoryError: a slab, or the labels and bits of the whole grid, do not fit.
    """
    layer_bytes = tiling.layer_size * tiling.capacity_bytes
    layers = min(tiling.layers, max(3, slab_bytes // layer_bytes))
    needed = tiling.bytes_kept + layers * layer_bytes
    require_memory(device, needed, f"{grid.size:,} pixels with {tiling.directions} neighbours, in slabs,")
    control.remarks.append(
        f"capacities stay on the host and are copied in slabs of up to {layers} layers of tiles"
    )
    state = host_state(device, tiling, grid, start)
    arrays = make_arrays(device, tiling)
    window = Window(device, tiling, state, layers)
    for begin in range(0, tiling.layers, layers):
        end = min(begin + layers, tiling.layers)
        window.copy_to_gpu(begin, end)
        tiles = some_tiles(tiling, (begin, end), window.residual, window.terminal, arrays.words, begin)
        mark_tiles(device, tiling, tiles)
    launcher = Launcher(device, tiling, arrays, turns, control)
    thickness = layers if layers == tiling.layers else layers - 2
    while True:
        found = launcher.launch((0, 0, 0), window.residual, window.terminal, discharges=False)
        if found[Word.IS_DONE] or control.stopped:
            break
        for begin in range(0, tiling.layers, thickness):
            end = min(begin + thickness, tiling.layers)
            if has_work(tiling, tiling.tiles_of(begin, end), arrays.words):
                _discharge_slab(launcher, window, begin, end)
    padded = (*tiling.padded,)
    return GridSolution(
        device.to_host(write_sides(device, tiling, arrays.words)),
        bool(found[Word.IS_DONE]),
        tiling.image(state.residual.reshape(tiling.directions, *padded)),
        tiling.image(state.terminal.reshape(padded)),
    )


def _discharge_slab(launcher: Launcher, window: Window, begin: int, end: int) -> None:
    """Copy a slab to the GPU, discharge it until nothing goes on, and copy it back."""
    first, last = max(0, begin - 1), min(window.tiling.layers, end + 1)
    window.copy_to_gpu(first, last)
    place = (*window.tiling.tiles_of(begin, end), first * window.tiling.layer_size)
    while not launcher.control.stopped:
        if not launcher.launch(place, window.residual, window.terminal, discharges=True)[Word.ACTIVE_HERE]:
            break
    window.copy_to_host(first, last)


def has_work(tiling: Tiling, tiles: tuple[int, int], words: AnyArray) -> bool:
    """Return whether tiles have excess that could reach the sink in the last search."""
    kinds = words.reshape(tiling.num_tiles, -1, tiling.rows)[slice(*tiles)]
    active, reached = kinds[:, tiling.directions + 1], kinds[:, tiling.directions + 2]
    return bool((active & reached).any())


def host_state(device: Device, tiling: Tiling, grid: IntegerGrid, start: GridFlow | None) -> HostState:
    """Return capacities and excess before the solve."""
    residual = device.empty_on_host((tiling.directions, *tiling.padded), tiling.residual)
    terminal = device.empty_on_host(tiling.padded, tiling.excess)
    residual[...], terminal[...] = 0, 0
    tiling.image(residual)[...], tiling.image(terminal)[...] = initial_state(grid, start)
    return HostState(residual.reshape(tiling.directions, -1), terminal.reshape(-1))
