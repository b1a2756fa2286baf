"""A part of a grid on one GPU, whose neighbours may be on other GPUs.

A part is a run of layers of tiles: of planes of a volume, or of rows of an image. Its arrays also have a
layer or two beyond each border to another part. The tiles there are never searched or discharged. They have
the labels that the neighbour found for the pixels at the border, and collect the flow that is pushed over it,
which the neighbour then adds to its own capacities and excess.

Capacities and excess are on the GPU if they fit. If not they are in the host's memory, and are copied to the
GPU a window of layers at a time, as in :mod:`.slabs`. The labels and the words of all tiles stay on the GPU.

Together
--------
If all capacities are on GPUs, each GPU has one part, and GPUs can access the memory of each other, then all
run the kernel of :mod:`.cuda_tiled` at the same time (:meth:`Part.join`). They work as one GPU would on the
whole grid. A GPU that changes labels at a border also writes them to their copies beyond the border of its
neighbour. It adds flow over the border to the capacities, the excess and the words of the neighbour, and
lists or queues the tiles there that have work then. All GPUs begin a turn of a color together. A search ends
when no queue has tiles.

Steps
-----
Otherwise all parts do the same step at the same time; :mod:`preflow.distributed.on_gpus` has the pseudo-code.
A step is :meth:`Part.take`, then a search or a discharge, then :meth:`Part.send`. The host launches the steps
ahead and waits for none of them: a GPU waits for its neighbours' last step (``Device.wait_for``). What a part
sends is written to its neighbour's :class:`Inbox`, which has room for two steps. The neighbour reads the
inbox of a step in its next step. The part writes to the same place again two steps later, and before that has
waited for this next step.

Tiles on both sides of a border are never discharged at the same time, so the invariants of :mod:`.cuda_tiled`
hold for the whole grid. Parts that work together count the colors alike. In steps, the last layer of a part
is discharged after all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray, Array
from ...cuda.runtime import Device
from ...cuda.structs import U32, U64, ConstU32
from ...graph.integer_grid import IntegerGrid
from ...solving.run import Control
from .launches import (
    BORDERS,
    MOST_DEVICES,
    TEAM_WORDS,
    Beyond,
    Devices,
    Joined,
    Launcher,
    Stage,
    Turns,
    Word,
    make_arrays,
)
from .slabs import Window, has_work, host_state
from .tiling import (
    Axes,
    Excess,
    MarkArguments,
    Residual,
    Tiling,
    fill_tiles,
    mark_tiles,
    measure_layers,
    receive_flow,
    some_tiles,
    write_sides,
)

#: The label of a pixel that cannot reach the sink, as the kernels write it.
NONE = 2**32 - 1
#: The borders of a part: to the part before it, and to the part after it.
BEFORE, AFTER = 0, 1
SIDES = (BEFORE, AFTER)
#: Planes of a volume beyond each border, and rows of an image: a multiple of the planes or rows of any tile.
MARGIN_OF_VOLUME, MARGIN_OF_IMAGE = 8, 32


class Flow(NamedTuple):
    """The flow that a part has sent over a border, for the pixels of the neighbour at which it arrives."""

    memory: AnyArray  #: uint8: the other two arrays are parts of it
    residual: AnyArray  #: shape (directions back over the border, pixels)
    excess: AnyArray  #: shape (pixels,)


class Inbox(NamedTuple):
    """The memory of a part for what a neighbour sends: even steps and odd steps have their own."""

    labels: tuple[AnyArray, AnyArray]  #: pair of arrays of uint32
    flow: tuple[Flow, Flow]


class Sent(NamedTuple):
    """A message of a part to its neighbours in a step."""

    mark: object  #: mark of a Device: the end of the step
    flow: tuple[bool, bool]  #: whether flow was sent over each border, beside labels


class TakeArguments(NamedTuple):
    """Arguments of "take_labels"."""

    tiles: Axes
    size: int  #: labels that have come
    came: ConstU32
    beyond: U32  #: the labels beyond the border
    first_tile: int  #: of the part's layer at the border
    notices: U32
    news: U64  #: is set where labels have changed
    notifies: bool  #: whether tiles next to changed labels get notices


class SendArguments(NamedTuple):
    """Arguments of "send_flow"."""

    residual: Residual
    direction_stride: int
    terminal: Excess
    first: int  #: of the pixels beyond the border
    size: int
    directions: int  #: bits of the directions back over the border
    sent_residual: Residual
    sent_excess: Excess


class Place(NamedTuple):
    """The layers of a part in its own arrays."""

    #: its own layers; there is at least one more before or after them where it has a neighbour
    first: int
    end: int
    has: tuple[bool, bool]  #: whether there is a part before it, and one after it
    parity: int  #: of the number of the first layer in the whole grid


class Part:
    """A part of a grid; all methods run with its GPU as the current one.

    `tiling` has the tiles of the part, and of the layers beyond its borders; `grid` the capacities of all
    these pixels, on the host. `window` layers have their capacities on the GPU at a time: at least three,
    because the layers beside those that are discharged count. None: all.
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
        self._layer = tiling.layer_size
        self._plane = self._layer // tiling.thickness
        self._reach = max(abs(offset[self._axis]) for offset in tiling.offsets)
        self._arrays = make_arrays(device, tiling)
        self._faces = self._arrays.faces_y if self._axis else self._arrays.faces_z
        self.sides = [side for side in SIDES if place.has[side] and self._reach]
        self._begin = 0
        self._window: Window | None = None
        self._sums: dict[int, tuple[int, int]] = {}
        if window is None:
            self._fill(grid)
        else:
            self._fill_in_windows(grid, window)
        self._launcher = Launcher(device, tiling, self._arrays, turns, Control(stop=control.stop))
        self._launcher.searched = tiling.tiles_of(place.first, place.end)
        self._inboxes = {side: self._make_inbox(side) for side in self.sides}
        self._outboxes = {side: self._make_flow(1 - side) for side in self.sides}
        self._neighbours: dict[int, Part] = {}
        self._steps, self._has_sent = 0, (False, False)
        self._sent = [Sent(None, self._has_sent)] * 2
        self._bound: dict[tuple[object, ...], Callable[[], None]] = {}
        self._state: AnyArray = np.zeros(0, dtype=np.uint64)
        self.windows = self._divide(window)

    def connect(self, side: int, neighbour: Part) -> None:
        """Tell the part its neighbour beyond a border."""
        if side in self.sides:
            self._neighbours[side] = neighbour

    @property
    def is_on_gpu(self) -> bool:
        """Whether all capacities are on the GPU."""
        return self._window is None

    @property
    def is_active(self) -> bool:
        """Whether the last search found excess that can reach the sink."""
        return self.num_active > 0

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
        first, end, has, _ = self.place
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

    def _marked(self, begin: int, end: int) -> MarkArguments:
        words = self._arrays.words
        return some_tiles(self.tiling, (begin, end), self._residual, self._terminal, words, self._begin)

    def _mark(self, begin: int, end: int) -> None:
        """Write the words of layers."""
        if begin < end:
            mark_tiles(self.device, self.tiling, self._marked(begin, end))

    def _measure(self, begin: int, end: int, *, reached_only: bool = True) -> None:
        """Add up the deficits and the excess of layers."""
        self._sums |= measure_layers(self.device, self.tiling, self._marked(begin, end), reached_only)

    # Steps.

    def take(self, stages: Stage = Stage.NO_STAGE, *, further: bool = False) -> None:
        """Begin a step: take the flow and the labels that the neighbours sent in the last one.

        `stages` are those of the search that comes next. With the first stage the labels beyond the borders
        are none. `further` says that a search goes on: tiles next to changed labels are searched again.
        """
        last = (self._steps + 1) % 2
        if self._steps:
            for neighbour in self._neighbours.values():
                if neighbour.device is not self.device:
                    self.device.wait_for(neighbour._sent[last].mark)
        if stages:
            self._launcher.prepare_search(further=further)
        for side, neighbour in self._neighbours.items():
            inbox = self._inboxes[side]
            if neighbour._sent[last].flow[1 - side]:
                self._receive(side, inbox.flow[last])
            if stages == Stage.ALONE_ONLY:
                self._labels_beyond(side).fill(NONE)
            elif self._steps:
                self._take_labels(side, inbox.labels[last], further)

    def send(self) -> None:
        """End a step: send the neighbours the labels at the borders and the flow over them."""
        now = self._steps % 2
        for side, neighbour in self._neighbours.items():
            inbox = neighbour._inboxes[1 - side]
            self.device.send(inbox.labels[now], self._labels(side))
            if self._has_sent[side]:
                self.device.send(inbox.flow[now].memory, self._outboxes[side].memory)
        self._sent[now] = Sent(self.device.mark(), self._has_sent)
        self._has_sent = (False, False)
        self._steps += 1

    def search(self, stages: Stage) -> None:
        """Search the part; no flow leaves."""
        self._launcher.search(self._residual, self._terminal, stages)

    def discharge(self, number: int, rounds: int) -> None:
        """Discharge a window for some rounds, if there is one and it has work."""
        if number >= len(self.windows):
            return
        begin, end = self.windows[number]
        if self._window and not has_work(self.tiling, self.tiling.tiles_of(begin, end), self._arrays.words):
            return
        first, last = max(0, begin - 1), min(self.tiling.layers, end + 1)
        self._load(first, last)
        place = (*self.tiling.tiles_of(begin, end), self._begin * self._layer)
        self._launcher.discharge(place, self._residual, self._terminal, rounds)
        at_border = (begin == self.place.first, end == self.place.end)
        self._take_away([side for side in self.sides if at_border[side]])
        if self._window is not None:
            self._measure(first, last)
            self._store(first, last)

    def read_state(self) -> None:
        """Wait for all steps so far, and read what they found."""
        self._state = self._launcher.read_state()
        self._launcher.is_searching = self.is_searching

    @property
    def num_relabels(self) -> int:
        """Number of complete global relabels."""
        return int(self._state[Word.RELABELS])

    @property
    def had_news(self) -> bool:
        """Whether the last step of a search had work: new labels beyond a border, or an unfinished search."""
        return bool(self._state[Word.NEWS])

    @property
    def num_active(self) -> int:
        """Number of tiles that had excess which can reach the sink, when the last launch began."""
        return int(self._state[Word.ACTIVE_TILES])

    @property
    def is_searching(self) -> bool:
        """Whether the last step of the search ended early."""
        return bool(self._state[Word.IS_SEARCHING])

    @property
    def hops(self) -> int:
        """Number of tiles that a change of labels crossed in the last search."""
        return int(self._state[Word.LAST_SEARCH])

    # Together with the other parts.

    @cached_property
    def team_words(self) -> AnyArray:
        """The words by which the kernels of all parts wait for each other."""
        return self.device.xp.zeros(TEAM_WORDS, dtype=np.uint64)

    def join(self, number: int, parts: Sequence[Part]) -> None:
        """Make the part one of several that run the kernel together; all capacities are on GPUs."""
        none = (0,) * (MOST_DEVICES - len(parts))
        before, after = (
            self._beyond_border(side, self._neighbours[side]) if side in self._neighbours else Beyond()
            for side in SIDES
        )
        self._launcher.joined = Joined(
            parity=self.place.parity,
            before=before,
            after=after,
            devices=Devices(
                num_devices=len(parts), number=number, words=(*(part.team_words for part in parts), *none)
            ),
            counters_of=(*(part._arrays.counters for part in parts), *none),
        )

    def _beyond_border(self, side: int, other: Part) -> Beyond:
        """Return what the kernel needs to know of a neighbour."""
        here = self.place.end if side == AFTER else self.place.first
        there = other.place.first if side == AFTER else other.place.end
        arrays, labels = other._arrays, self._labels(side)
        return Beyond(
            tiles=self.tiling.tiles_of(0, there - here)[1],
            pixels=(there - here) * self._layer,
            num_tiles=other.tiling.num_tiles,
            direction_stride=other._terminal.size,
            residual=other._residual,
            terminal=other._terminal,
            words=arrays.words,
            stamps=arrays.stamps,
            lists=arrays.lists,
            notices=arrays.notices,
            slots=arrays.slots,
            num_slots=arrays.slots.size,
            counters=arrays.counters,
            num_labels=labels.size,
            labels=labels,
            copies=other._labels_beyond(1 - side),
        )

    def prepare_together(self) -> Callable[[], None]:
        """Return a function that begins to solve together with the others; it does not wait."""
        return self._launcher.prepare_together(self._residual, self._terminal)

    # Borders.

    def _make_flow(self, side: int) -> Flow:
        """Return memory for the flow over a border, for the pixels of the part on that side of it."""
        size, directions = self._reach * self._plane, len(self._directions(side))
        excess, residual = self.tiling.excess, self.tiling.residual
        end = size * excess.itemsize
        memory = self.device.xp.empty(end + size * directions * residual.itemsize, dtype=np.uint8)
        return Flow(memory, memory[end:].view(residual).reshape(directions, size), memory[:end].view(excess))

    def _make_inbox(self, side: int) -> Inbox:
        labels = self._labels(side)
        first, second = (self.device.xp.empty(labels.shape, dtype=labels.dtype) for _ in range(2))
        return Inbox((first, second), (self._make_flow(side), self._make_flow(side)))

    def _take_labels(self, side: int, labels: AnyArray, further: bool) -> None:
        """Take over the labels of a neighbour."""
        key = ("take", side, id(labels), further)
        if key not in self._bound:
            tiling = self.tiling
            layer = self.place.first if side == BEFORE else self.place.end - 1
            arguments = TakeArguments(
                tiles=tiling.tiles,
                size=labels.size,
                came=labels,
                beyond=self._labels_beyond(side),
                first_tile=tiling.tiles_of(layer, layer)[0],
                notices=self._arrays.notices,
                news=self._arrays.state[Word.NEWS :],
                notifies=further,
            )
            self._bound[key] = self.device.bind_sharing(
                BORDERS, "take_labels", labels.size, arguments, tiling.constants
            )
        self._bound[key]()

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

    def _take_away(self, sides: list[int]) -> None:
        """Take the flow that has arrived beyond some borders, to send it."""
        self._has_sent = (BEFORE in sides, AFTER in sides)
        for side in sides:
            key = ("send", side, self._begin)
            if key not in self._bound:
                self._bound[key] = self._bind_sending(side)
            self._bound[key]()

    def _bind_sending(self, side: int) -> Callable[[], None]:
        """Return the function that launches "send_flow"."""
        size, flow = self._reach * self._plane, self._outboxes[side]
        begin = self.place.first * self._layer - size if side == BEFORE else self.place.end * self._layer
        arguments = SendArguments(
            residual=self._residual,
            direction_stride=self._terminal.size,
            terminal=self._terminal,
            first=begin - self._begin * self._layer,
            size=size,
            directions=sum(1 << d for d in self._directions(1 - side)),
            sent_residual=flow.residual,
            sent_excess=flow.excess,
        )
        return self.device.bind_sharing(BORDERS, "send_flow", size, arguments, self.tiling.constants)

    def _directions(self, side: int) -> list[int]:
        """Return the directions that lead over a border."""
        sign = -1 if side == BEFORE else 1
        steps = [sign * offset[self._axis] for offset in self.tiling.offsets]
        return [d for d in range(self.tiling.directions) if (-1) ** d * steps[d // 2] > 0]

    def _receive(self, side: int, flow: Flow) -> None:
        """Add flow that has arrived over a border."""
        layer = self.place.first if side == BEFORE else self.place.end - 1
        self._load(layer, layer + 1)
        key = ("receive", side, id(flow))
        if key not in self._bound:
            first = self.place.first * self._layer
            if side == AFTER:
                first = self.place.end * self._layer - flow.excess.size
            tiles, directions = self._marked(layer, layer + 1), self._directions(side)
            self._bound[key] = receive_flow(
                self.device, self.tiling, tiles, first, directions, flow.residual, flow.excess
            )
        self._bound[key]()
        if self._window is not None:
            self._measure(layer, layer + 1)
            self._store(layer, layer + 1)

    # The outcome.

    def measure(self, *, is_exact: bool) -> tuple[int, int]:
        """Return the sum of the deficits, not positive, and that of the excess that may reach the sink."""
        first, end = self.place.first, self.place.end
        if self._window is None:
            self._measure(first, end, reached_only=is_exact)
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
