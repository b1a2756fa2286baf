"""A part of a grid on one GPU, whose neighbours may be on other GPUs.

A part is a run of layers of tiles: of planes of a volume, or of rows of an image. Its arrays also have a
layer or two beyond each border to another part. The tiles there are never searched or discharged. They have
the labels that the neighbour found for the pixels at the border, and collect the flow that is pushed over it,
which the neighbour then adds to its own capacities and excess.

Capacities and excess are on the GPU if they fit. If not they are in the host's memory, and are copied to the
GPU a window of layers at a time, as in :mod:`.slabs`. The labels and the words of all tiles stay on the GPU.

Order of steps
--------------
All parts do the same step at the same time; :mod:`preflow.distributed.on_gpus` has the pseudo-code. The
last layer of a part is discharged after all others. So tiles on both sides of a border are never discharged
at the same time, and the invariants of :mod:`.cuda_tiled` hold for the whole grid.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray, Array
from ...cuda.runtime import Device
from ...graph.integer_grid import IntegerGrid
from ...solving.run import Control
from .launches import ACTIVE_HERE, ACTIVE_TILES, LAST_SEARCH, Launcher, Turns, make_arrays
from .slabs import Window, has_work, host_state
from .tiling import (
    MarkArguments,
    Tiling,
    fill_tiles,
    mark_tiles,
    measure_layers,
    receive_flow,
    write_sides,
)

#: The label of a pixel that cannot reach the sink, as the kernels write it.
NONE = 2**32 - 1
#: The borders of a part: to the part before it, and to the part after it.
BEFORE, AFTER = 0, 1
SIDES = (BEFORE, AFTER)
#: Planes of a volume beyond each border, and rows of an image: a multiple of the planes or rows of any tile.
MARGIN_OF_VOLUME, MARGIN_OF_IMAGE = 8, 32


#: The kernel's count of the tiles that a search crossed begins with this number.
HOPS_AT_LEAST = 2


class Sent(NamedTuple):
    """The flow that a part has sent over a border, for the pixels of the neighbour at which it arrives.

    Attributes
    ----------
    residual : array, shape (directions back over the border, pixels)
    excess : array, shape (pixels,)
    """

    residual: AnyArray
    excess: AnyArray


class Place(NamedTuple):
    """The layers of a part in its own arrays.

    Attributes
    ----------
    first, end : int
        Its own layers; there is at least one more before or after them where it has a neighbour.
    has : tuple of bool
        Whether there is a part before it, and one after it.
    """

    first: int
    end: int
    has: tuple[bool, bool]


class Part:
    """A part of a grid; all methods run with its GPU as the current one.

    Parameters
    ----------
    device : Device
    tiling : Tiling
        The tiles of the part, and of the layers beyond its borders.
    place : Place
    grid : IntegerGrid
        The capacities of all these pixels, on the host.
    window : int or None
        Layers whose capacities are on the GPU at a time: at least three, because the layers beside those that
        are discharged count. None: all.
    turns : Turns
    control : Control
    """

    def __init__(
        self,
        device: Device,
        tiling: Tiling,
        place: Place,
        grid: IntegerGrid,
        window: int | None,
        turns: Turns,
        control: Control,
    ) -> None:
        self.device, self.tiling, self.place = device, tiling, place
        self._axis = 3 - len(tiling.grid_shape)
        self._layer = tiling.padded_size // tiling.layers
        self._plane = self._layer // tiling.thickness
        self._reach = max(abs(offset[self._axis]) for offset in tiling.offsets)
        self._arrays = make_arrays(device, tiling)
        self._faces = self._arrays.faces_y if self._axis else self._arrays.faces_z
        self._sides = [side for side in SIDES if place.has[side] and self._reach]
        self._begin = 0
        self._window: Window | None = None
        self._sums: dict[int, tuple[int, int]] = {}
        if window is None:
            self._fill(grid)
        else:
            self._fill_in_windows(grid, window)
        self._launcher = Launcher(device, tiling, self._arrays, turns, Control(stop=control.stop))
        self._launcher.searched = self._tiles(place.first, place.end)
        self._known = {side: self._labels(side).copy() for side in self._sides}
        self._hops, self._active, self._has_news = 0, True, False
        self.windows = self._divide(window)

    @property
    def is_active(self) -> bool:
        """Whether the last search found excess that can reach the sink."""
        return self._active

    @property
    def is_searched(self) -> bool:
        """Whether the last search was not stopped."""
        return not self._launcher.is_searching

    # The arrays.

    def _fill(self, grid: IntegerGrid) -> None:
        """Write capacities and excess on the GPU."""
        on_device = grid.placed(self.device.xp, self.device.xp.asarray)
        residual, terminal = fill_tiles(self.device, self.tiling, on_device, None, self._arrays.words)
        self._residual = residual.reshape(self.tiling.directions, -1)
        self._terminal = terminal.reshape(-1)
        for begin, end in self._beyond():
            pixels = slice(begin * self._layer, end * self._layer)
            self._residual[:, pixels] = 0
            self._terminal[pixels] = 0
            self._mark(begin, end)

    def _fill_in_windows(self, grid: IntegerGrid, window: int) -> None:
        """Write capacities and excess in the host's memory, and the words on the GPU."""
        state = host_state(self.device, self.tiling, grid, None)
        for begin, end in self._beyond():
            pixels = slice(begin * self._layer, end * self._layer)
            state.residual[:, pixels] = 0
            state.terminal[pixels] = 0
        layers = min(window, self.tiling.layers)
        self._window = Window(self.device, self.tiling, state, layers)
        self._residual, self._terminal = self._window.residual, self._window.terminal
        for begin in range(0, self.tiling.layers, layers):
            end = min(begin + layers, self.tiling.layers)
            self._load(begin, end)
            self._mark(begin, end)
            self._measure(begin, end, reached_only=False)

    def _beyond(self) -> list[tuple[int, int]]:
        """Return the layers beyond both borders."""
        return [(0, self.place.first), (self.place.end, self.tiling.layers)]

    def _divide(self, window: int | None) -> list[tuple[int, int]]:
        """Return the layers that are discharged together.

        The last layer of a part waits while the neighbour discharges its first one, and the other way round.
        """
        first, end, has = self.place
        last = end - 1 if has[AFTER] else end
        number = 1 if window is None else -(-(last - first) // (window - 2))
        cuts = np.linspace(first, last, number + 1).astype(int).tolist()
        return list(pairwise([*cuts, end] if has[AFTER] else cuts))

    def _load(self, begin: int, end: int) -> None:
        """Copy the capacities of layers to the GPU, unless all are there."""
        if self._window is not None:
            self._begin = begin
            self._window.copy_to_gpu(begin, end)

    def _store(self, begin: int, end: int) -> None:
        """Copy the capacities of layers to the host, unless all are on the GPU."""
        if self._window is not None:
            self._window.copy_to_host(begin, end)

    def _tiles(self, begin: int, end: int) -> tuple[int, int]:
        of_layer = self.tiling.num_tiles // self.tiling.layers
        return begin * of_layer, end * of_layer

    def _marked(self, begin: int, end: int) -> MarkArguments:
        return MarkArguments(
            self.tiling.tiles,
            *self._tiles(begin, end),
            self._begin * self._layer,
            self._terminal.size,
            self._residual,
            self._terminal,
            self._arrays.words,
        )

    def _mark(self, begin: int, end: int) -> None:
        """Write the words of layers."""
        if begin < end:
            mark_tiles(self.device, self.tiling, self._marked(begin, end))

    def _measure(self, begin: int, end: int, *, reached_only: bool = True) -> None:
        """Add up the deficits and the excess of layers."""
        self._sums |= measure_layers(self.device, self.tiling, self._marked(begin, end), reached_only)

    # Searches.

    def begin_search(self) -> dict[int, Sent]:
        """Search the part as if nothing beyond its borders could reach the sink; no flow leaves."""
        for side in self._sides:
            self._labels_beyond(side)[:] = NONE
            self._known[side][:] = NONE
        self._hops = 0
        state = self._launcher.launch((0, 0, 0), self._residual, self._terminal, discharges=False)
        self._take_state(state)
        return {}

    def go_on_searching(self) -> dict[int, Sent]:
        """Search again where labels beyond the borders have changed; no flow leaves."""
        if self._has_news:
            self._has_news = False
            self._take_state(self._launcher.search_further(self._residual, self._terminal))
        return {}

    def _take_state(self, state: AnyArray) -> None:
        self._hops += int(state[LAST_SEARCH]) - (HOPS_AT_LEAST if self._hops else 0)
        self._active = bool(state[ACTIVE_TILES])

    def changed_labels(self) -> dict[int, AnyArray]:
        """Return copies of the labels at the borders where they are not as they were the last time."""
        changed = {}
        for side, known in self._known.items():
            now = self._labels(side)
            if bool((now != known).any()):
                changed[side] = self._known[side] = now.copy()
        return changed

    def take_labels(self, side: int, labels: AnyArray) -> None:
        """Take over the labels that the neighbour has found."""
        self.device.copy_between(self._labels_beyond(side), labels)

    def take_news(self, side: int, labels: AnyArray) -> None:
        """Take over the labels that the neighbour has found, to go on searching from them."""
        self.take_labels(side, labels)
        begin = self.place.first if side == BEFORE else self.place.end - 1
        self._arrays.notices[slice(*self._tiles(begin, begin + 1))] = 1
        self._has_news = True

    def _labels(self, side: int) -> AnyArray:
        """Return the labels at a border, of the part's own pixels."""
        first = self.place.first * 2 if side == BEFORE else self.place.end * 2 - 1
        return self._some_labels(first)

    def _labels_beyond(self, side: int) -> AnyArray:
        """Return the labels at a border, of the pixels of the neighbour."""
        first = self.place.first * 2 - 1 if side == BEFORE else self.place.end * 2
        return self._some_labels(first)

    def _some_labels(self, first: int) -> AnyArray:
        """Return the labels of the first planes of layer ``first // 2``, or of its last ones."""
        size = self._reach * self._plane
        return self._faces[first * size : (first + 1) * size]

    # Discharges.

    def discharge(self, number: int) -> dict[int, Sent]:
        """Discharge a window, if there is one and it has work; return the flow that left over each border."""
        if number >= len(self.windows):
            return {}
        begin, end = self.windows[number]
        if self._window and not has_work(self.tiling, self._tiles(begin, end), self._arrays.words):
            return {}
        first, last = max(0, begin - 1), min(self.tiling.layers, end + 1)
        self._load(first, last)
        place = (*self._tiles(begin, end), self._begin * self._layer)
        state = self._launcher.discharge(place, self._residual, self._terminal, self._hops)
        if not state[ACTIVE_HERE]:
            return {}
        at_border = (begin == self.place.first, end == self.place.end)
        sent = {side: self._send(side) for side in self._sides if at_border[side]}
        if self._window is not None:
            self._measure(first, last)
            self._store(first, last)
        return sent

    def _send(self, side: int) -> Sent:
        """Take the flow that has arrived beyond a border."""
        size = self._reach * self._plane
        begin = self.place.first * self._layer - size if side == BEFORE else self.place.end * self._layer
        begin -= self._begin * self._layer
        pixels = slice(begin, begin + size)
        residual, excess = self._residual[:, pixels], self._terminal[pixels]
        directions = self._directions(1 - side)
        sent = Sent(self.device.xp.stack([residual[d] for d in directions]), excess.copy())
        for d in directions:
            residual[d] = 0
        excess[:] = 0
        return sent

    def _directions(self, side: int) -> list[int]:
        """Return the directions that lead over a border."""
        sign = -1 if side == BEFORE else 1
        steps = [sign * offset[self._axis] for offset in self.tiling.offsets]
        return [d for d in range(self.tiling.directions) if (-1) ** d * steps[d // 2] > 0]

    def receive(self, side: int, sent: Sent) -> None:
        """Add flow that has arrived over a border."""
        residual, excess = (self.device.xp.empty(part.shape, dtype=part.dtype) for part in sent)
        self.device.copy_between(residual, sent.residual)
        self.device.copy_between(excess, sent.excess)
        layer = self.place.first if side == BEFORE else self.place.end - 1
        first = self.place.first * self._layer
        if side == AFTER:
            first = self.place.end * self._layer - excess.size
        self._load(layer, layer + 1)
        tiles = self._marked(layer, layer + 1)
        receive_flow(self.device, self.tiling, tiles, first, self._directions(side), residual, excess)
        if self._window is not None:
            self._measure(layer, layer + 1)
            self._store(layer, layer + 1)

    # The outcome.

    def measure(self) -> tuple[int, int]:
        """Return the sum of the deficits, not positive, and that of the excess that may reach the sink."""
        first, end, _ = self.place
        if self._window is None:
            self._measure(first, end, reached_only=self.is_searched)
        deficits, excess = zip(*(self._sums[layer] for layer in range(first, end)), strict=True)
        return sum(deficits), sum(excess)

    def sink_side(self) -> Array:
        """Return which pixels the last search reached, on the host."""
        sides = write_sides(self.device, self.tiling, self._arrays.words)
        return self.device.to_host(sides[self._own_planes])

    def flow(self) -> tuple[Array, Array]:
        """Return the residual capacities, by direction, and the excess of the part's pixels on the host."""
        if self._window is None:
            residual, terminal = self._residual, self._terminal
        else:
            residual, terminal = self._window.state
        padded = self.tiling.padded
        residual = self.tiling.image(residual.reshape(self.tiling.directions, *padded))
        terminal = self.tiling.image(terminal.reshape(padded))
        residual, terminal = residual[:, self._own_planes], terminal[self._own_planes]
        if self._window is None:
            residual, terminal = self.device.to_host(residual), self.device.to_host(terminal)
        return residual, terminal

    @property
    def _own_planes(self) -> slice:
        """The part's own planes, or rows of an image."""
        return slice(self.place.first * self.tiling.thickness, self.place.end * self.tiling.thickness)
