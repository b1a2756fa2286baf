"""Grids larger than the memory of a GPU: :mod:`.cuda_tiled` with capacities and excess in the host's memory.

Region push-relabel (Delong and Boykov 2008) with slabs as regions: planes of a volume, or rows of an image,
come to the GPU one slab at a time and are discharged until no excess in them can go on; then they go back.
What the GPU keeps of the whole grid are its bits, which arcs have residual capacity and which pixels have
excess or a deficit, and labels: all that searches need. So distances are exact through the whole grid
whenever a slab is discharged, without moving it, and slabs without work are not moved at all. A slab brings
the tiles on either side of it along: excess that leaves it is handed over there. The answer is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...cuda.runtime import Device
from ...graph.integer_grid import IntegerGrid
from ...graph.placement import require_memory
from ...solving.run import Control
from ..solution import GridFlow, GridSolution, initial_state
from .launches import ACTIVE_HERE, IS_DONE, Launcher, Turns, make_arrays
from .tiling import Tiling, mark_tiles, write_sides


class HostState(NamedTuple):
    """Capacities and excess, with what fills the last tiles, in the host's memory, flat."""

    residual: NDArray[Any]
    terminal: NDArray[Any]


class Window:
    """Room on the GPU for the capacities and the excess of some layers of tiles."""

    def __init__(self, device: Device, tiling: Tiling, state: HostState, layers: int) -> None:
        self.device, self.tiling, self.state, self.layers = device, tiling, state, layers
        self.layer_size = tiling.padded_size // tiling.layers
        size = layers * self.layer_size
        self.residual = device.xp.empty((tiling.directions, size), dtype=tiling.residual)
        self.terminal = device.xp.empty(size, dtype=tiling.excess)

    def first_pixel(self, layer: int) -> int:
        """Return the first pixel of a layer."""
        return layer * self.layer_size

    def tiles(self, begin: int, end: int) -> tuple[int, int]:
        """Return the first tile of some layers, and the one after the last."""
        of_layer = self.tiling.num_tiles // self.tiling.layers
        return begin * of_layer, end * of_layer

    def _pairs(self, begin: int, end: int) -> list[tuple[Any, NDArray[Any]]]:
        """Return each row of the window with what it is of the host's."""
        part = slice(self.first_pixel(begin), self.first_pixel(end))
        rows = [*zip(self.residual, self.state.residual, strict=True), (self.terminal, self.state.terminal)]
        return [(here[: part.stop - part.start], there[part]) for here, there in rows]

    def bring(self, begin: int, end: int) -> None:
        """Copy layers to the GPU."""
        for here, there in self._pairs(begin, end):
            here[:] = self.device.xp.asarray(there)

    def take_back(self, begin: int, end: int) -> None:
        """Copy layers to the host."""
        for here, there in self._pairs(begin, end):
            there[:] = self.device.to_host(here)


def solve_in_slabs(
    device: Device,
    tiling: Tiling,
    grid: IntegerGrid,
    start: GridFlow | None,
    slab_bytes: int,
    turns: Turns,
    control: Control,
) -> GridSolution:
    """Solve a grid that is on the host, with slabs of up to `slab_bytes` on the GPU, a tile thick at least.

    Raises
    ------
    DeviceMemoryError
        That, or labels and bits of the whole grid, do not fit.
    """
    layer_bytes = tiling.padded_size // tiling.layers * tiling.capacity_bytes
    layers = min(tiling.layers, max(3, slab_bytes // layer_bytes))
    needed = tiling.bytes_kept + layers * layer_bytes
    require_memory(device, needed, f"{grid.size:,} pixels with {tiling.directions} neighbours, in slabs,")
    control.remarks.append(f"capacities stay on the host and come in slabs of up to {layers} layers of tiles")
    state = _host_state(tiling, grid, start)
    arrays = make_arrays(device, tiling)
    window = Window(device, tiling, state, layers)
    for begin in range(0, tiling.layers, layers):
        end = min(begin + layers, tiling.layers)
        window.bring(begin, end)
        mark_tiles(
            device,
            tiling,
            window.tiles(begin, end),
            window.first_pixel(begin),
            window.residual,
            window.terminal,
            arrays.words,
        )
    launcher = Launcher(device, tiling, arrays, turns, control)
    thickness = layers if layers == tiling.layers else layers - 2
    while True:
        found = launcher.launch((0, 0, 0), window.residual, window.terminal, discharges=False)
        if found[IS_DONE] or control.stopped:
            break
        for begin in range(0, tiling.layers, thickness):
            end = min(begin + thickness, tiling.layers)
            if _has_work(tiling, window.tiles(begin, end), arrays.words):
                _discharge_slab(launcher, window, begin, end)
    padded = (*tiling.padded,)
    return GridSolution(
        device.to_host(write_sides(device, tiling, arrays.words)),
        bool(found[IS_DONE]),
        tiling.image(state.residual.reshape(tiling.directions, *padded)),
        tiling.image(state.terminal.reshape(padded)),
    )


def _discharge_slab(launcher: Launcher, window: Window, begin: int, end: int) -> None:
    """Bring a slab to the GPU, discharge it as far as it goes, and take it back."""
    first, last = max(0, begin - 1), min(window.tiling.layers, end + 1)
    window.bring(first, last)
    place = (*window.tiles(begin, end), window.first_pixel(first))
    while not launcher.control.stopped:
        if not launcher.launch(place, window.residual, window.terminal, discharges=True)[ACTIVE_HERE]:
            break
    window.take_back(first, last)


def _has_work(tiling: Tiling, tiles: tuple[int, int], words: Any) -> bool:
    """Return whether excess in some tiles can reach the sink, as the last search saw it."""
    kinds = words.reshape(tiling.num_tiles, -1, tiling.rows)[slice(*tiles)]
    active, reached = kinds[:, tiling.directions + 1], kinds[:, tiling.directions + 2]
    return bool((active & reached).any())


def _host_state(tiling: Tiling, grid: IntegerGrid, start: GridFlow | None) -> HostState:
    """Return capacities and excess before the solve."""
    residual = np.zeros((tiling.directions, *tiling.padded), dtype=tiling.residual)
    terminal = np.zeros(tiling.padded, dtype=tiling.excess)
    tiling.image(residual)[...], tiling.image(terminal)[...] = initial_state(grid, start)
    return HostState(residual.reshape(tiling.directions, -1), terminal.reshape(-1))
