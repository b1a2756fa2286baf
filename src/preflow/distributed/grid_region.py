"""A box of a grid as a region: incremental breadth-first search with ghosts as further sinks.

The region's arrays cover its box and the ghosts around it. A ghost has no residual capacity towards the
region, so flow only goes out. While a ghost receives flow it has a deficit larger than all the flow that can
reach it; the other ghosts have none. So a discharge is a series of searches in the same two forests
(:mod:`preflow.forests.incremental_search`), each with a few sinks more, and
:func:`preflow.forests.repair.repair` adds these.

Pseudo-code
-----------
::

    take the deficits from all ghosts
    add the flow that has arrived to residual capacities and excess
    search; border vertices in the sink's forest get the label 0
    for each label k of ghosts, in increasing order, below the limit:
        give a deficit to the ghosts with label k next to a border vertex that is not in the sink's forest
        search; border vertices that are new in the sink's forest get the label k + 1

After the last search the sink's forest has exactly the vertices that reach the sink over some ghost or
inside. A later search augments from vertices that reach no earlier sink, through vertices that reach none
either, so the labels of earlier searches stay right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType
from ..certify.grid import terminal_sizes
from ..errors import VerificationError
from ..forests.incremental_search import (
    Forests,
    forests_of_part,
    make_forests,
    make_roots,
    search_all,
    with_more_levels,
)
from ..forests.paths import sweep
from ..forests.repair import repair, with_depths
from ..graph.grid import GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..graph.neighbourhood import Box
from ..graph.network import exact_sum
from ..graph.scaling import float_sum, total_of
from ..gridcut.multicore_merging import MergingOptions, search_in_blocks
from ..gridcut.pixel_major import (
    GridState,
    add_up_terminals,
    grid_state,
    search_from_deficits,
    state_dtype,
)
from ..gridcut.policy import ARCS_FOR_THREADS, threads_for
from ..gridcut.serial_incremental_bfs import IncrementalBfsOptions, grow_from_boxes, make_boxes
from ..solving.run import Control
from .exchange import (
    INFINITE,
    Amounts,
    Border,
    CutShare,
    Discharged,
    Labels,
    Narrow,
    Proof,
    State,
    as_array,
    from_array,
    search_by_label,
    total,
)
from .partition import GridBorder, steps_of


class Loaded(NamedTuple):
    """A box and the ghosts around it."""

    grid: IntegerGrid
    #: the amount that was removed from both terminal capacities of the pixels of the box
    constant: int


class Part(Protocol):
    """A box and the ghosts around it, in the caller's arrays."""

    def read(self) -> GridNetwork:
        """Read the capacities as they were given."""

    def load(self) -> Loaded:
        """Read the capacities as integers."""

    def empty_on_host(self) -> GridRegion:
        """Return the region without its capacities, on the CPU."""


class Dtypes(NamedTuple):
    """The types of a region's arrays."""

    state: DType  #: of excess, deficits and residual capacities on the CPU: int32 or int64
    #: of capacities between neighbours: int16, int32 or int64. Sums with the opposite arc fit it.
    border: DType


def dtypes_of(grid: IntegerGrid) -> Dtypes:
    """Return the types of a region with these capacities."""
    narrow, wide, most = state_dtype(grid), np.dtype(np.int64), 2 * grid.largest_neighbor
    # A ghost's deficit exceeds the flow that can reach it: twice the capacity of its arcs.
    bound = grid.largest_terminal + len(grid.offsets) * most + 1
    kinds = (np.dtype(kind) for kind in (np.int16, np.int32) if most <= np.iinfo(kind).max)
    return Dtypes(narrow if bound <= np.iinfo(narrow).max else wide, next(kinds, wide))


class GridRegion:
    """A box of a grid.

    It has no arrays of the size of the box until :meth:`build` or :meth:`restore` is called; the capacities
    of its `border` are known then, too. `part` reads the grid of the box and its ghosts, which together have
    `shape`. The box `own` and the coordinates of its border `arcs` are counted from the corner of the box
    with its ghosts. `offsets` has shape (D, ndim).
    """

    def __init__(
        self,
        part: Part,
        shape: tuple[int, ...],
        own: Box,
        arcs: GridBorder,
        offsets: NDArray[np.int64],
    ) -> None:
        self._part, self._own, self._shape, self._offsets = part, own, shape, offsets
        steps = steps_of(self._shape, offsets)
        pad = int(np.abs(steps).max(initial=0))
        self._first, self._last = np.uint64(pad), np.uint64(pad + math.prod(self._shape))
        self._step = steps.astype(np.uint64)
        tail = np.ravel_multi_index(arcs.tail, self._shape) + pad
        head = np.ravel_multi_index(arcs.head, self._shape) + pad
        rim_of = np.unique(tail, return_inverse=True)[1]
        ghost_of = np.unique(head, return_inverse=True)[1]
        numbers = (2 * pad + math.prod(self._shape)) * len(offsets)
        narrow = np.int32 if numbers <= np.iinfo(np.int32).max else np.int64
        self._rim_of: NDArray[np.int32] = rim_of.astype(np.int32)
        self._ghost_of: NDArray[np.int32] = ghost_of.astype(np.int32)
        self._arcs: Array = (tail * len(offsets) + arcs.direction).astype(narrow)
        self.border = Border(arcs.neighbours, arcs.first, np.zeros(len(tail), dtype=np.int64))
        self._sinks = 0
        self._dtype: DType = np.dtype(np.int32)
        self._given: Mapping[str, Array] = {}
        self._sink_side: NDArray[np.bool_] | None = None

    # Arrays of the size of the box: those that restore() was given are read when they are used. The sink's
    # side is a small part of them.

    @cached_property
    def _state(self) -> GridState:
        """The residual grid."""
        terminal = np.require(self._given["terminal"], self._dtype, "W")
        residual = np.require(self._given["residual"], self._dtype, "W")
        return GridState(residual, terminal, self._step)

    @cached_property
    def _forests(self) -> Forests | None:
        """The forests of the last search, with empty queues.

        After a search the queue of the sink is empty, too, and that of the source only saves time: the sink's
        forest grows over all that has left a forest.
        """
        label = self._given["tree_label"]
        if not len(label):
            return None
        label = np.require(label, np.int32, "W")
        parent = np.require(self._given["tree_parent"], requirements="W")
        return with_depths(make_forests(self._state, int(self._last - self._first), label, parent))

    # Arrays of the border that other ones determine: they are made when the region is loaded.

    @cached_property
    def _rim(self) -> NDArray[np.uint64]:
        """The pixels at the border."""
        return _first_values(self._rim_of, self._arcs.astype(np.int64) // len(self._step)).astype(np.uint64)

    @cached_property
    def _heads(self) -> NDArray[np.int64]:
        """The ghost of each border arc."""
        tail, direction = np.divmod(self._arcs.astype(np.int64), len(self._step))
        heads: NDArray[np.int64] = tail + self._step.view(np.int64)[direction]
        return heads

    @cached_property
    def _ghosts(self) -> NDArray[np.uint64]:
        """All ghosts."""
        return _first_values(self._ghost_of, self._heads).astype(np.uint64)

    @cached_property
    def _first_of(self) -> NDArray[np.int64]:
        """The first border arc to each ghost."""
        return _first_values(self._ghost_of, np.arange(len(self._ghost_of)))

    @cached_property
    def _opposites(self) -> NDArray[np.int64]:
        """The arc opposite to each border arc."""
        degree = len(self._step)
        opposites: NDArray[np.int64] = self._heads * degree + (self._arcs % degree ^ 1)
        return opposites

    def build(self) -> Self:
        """Read the capacities; there is no flow."""
        grid, constant = self._part.load()
        state = grid_state(grid)
        dtypes = dtypes_of(grid)
        state = state._replace(
            residual=state.residual.astype(dtypes.state, copy=False),
            terminal=state.terminal.astype(dtypes.state, copy=False),
        )
        self._state, self._forests, self._sink_side = state, None, None
        terminal = self._terminals(state)
        residual = state.residual.reshape(-1, len(state.step))[self._first : self._last]
        residual = residual.reshape(*self._shape, -1)
        for outside in self._outside():
            terminal[outside] = residual[outside] = 0
        capacity = state.residual[self._arcs].astype(dtypes.border)
        self.border = self.border._replace(capacity=capacity)
        self._sinks = constant + total(grid.sink[self._own])
        return self

    def _outside(self) -> Iterator[Box]:
        """Yield boxes that have all pixels outside of the region's own box."""
        for axis, (own, length) in enumerate(zip(self._own, self._shape, strict=True)):
            for side in (slice(0, own.start), slice(own.stop, length)):
                yield (*(slice(None),) * axis, side)

    def take_flow(self, residual: Array, terminal: Array, sink_side: NDArray[np.bool_]) -> None:
        """Take over a flow and the sink's side of a cut from another solver, after :meth:`build`.

        `residual` has shape (D, *shape of the box).
        """
        state = self._state
        degree = len(state.step)
        inner = state.residual.reshape(-1, degree)[self._first : self._last].reshape(*self._shape, degree)
        inner[self._own] = np.moveaxis(residual, 0, -1)
        self._own_terminals[...] = terminal
        self._sink_side, self._forests = sink_side, None

    def residual_of_border(self) -> Amounts:
        """Return the residual capacity of each border arc."""
        residual: Amounts = self._state.residual[self._arcs].astype(np.int64)
        return residual

    def send_again(self, flow: Amounts, threads: int) -> None:
        """Become a region that has sent flow: see :class:`preflow.distributed.exchange.Region`."""
        state = self._state
        came = np.zeros(len(self._rim), dtype=np.int64)
        np.subtract.at(came, self._rim_of, flow)
        state.residual[self._arcs] -= flow.astype(state.residual.dtype)
        # Where more was sent than has come, pixels have deficits, and these are the only ones.
        sinks = np.minimum(state.terminal, 0)
        state.terminal[...] -= sinks
        state.terminal[self._rim] += came.astype(state.terminal.dtype)
        self._plant(Control(threads))
        assert (state.terminal >= 0).all(), "no flow inside brings together what was sent"
        state.terminal[...] += sinks
        self._forests = self._sink_side = None

    def discharge(self, gain: Amounts, label: Labels, limit: int, control: Control) -> Discharged:
        """Augment inside the region: see :class:`preflow.distributed.exchange.Region`."""
        state, own = self._state, Control(control.threads, control.stop)
        monitor = own.monitor()
        ghost_label = label[self._first_of]
        self._add(gain, own)
        self._given = {}  # all of it has been read
        before, kept = self.residual_of_border(), self._forests
        forests = self._plant(own) if kept is None else search_all(state, kept, monitor)
        found: Labels = np.where(forests.label[self._rim] < 0, 0, INFINITE).astype(np.int32)
        deficits = self._deficits(before, state.terminal.dtype)

        def search(ghosts: NDArray[np.bool_], rim: NDArray[np.intp]) -> NDArray[np.bool_]:
            nonlocal forests
            chosen = self._ghosts[ghosts]
            state.terminal[chosen] += deficits[ghosts]
            repair(state, forests, chosen, monitor)
            forests = search_all(state, forests, monitor)
            return forests.label[self._rim[rim]] < 0

        complete = search_by_label(ghost_label, limit, found, self._ends(before), search, control)
        excess, bound = self._sums()
        self._forests, self._sink_side = None if control.stopped else forests, None
        push = before - state.residual[self._arcs]
        # Ghosts have deficits or have received nothing, so no tree arc leads out of one.
        state.residual[self._opposites[push != 0]] = 0
        return Discharged(push, found[self._rim_of], bound, 0 if complete else excess, complete)

    def _add(self, gain: Amounts, control: Control) -> None:
        """Take the deficits from all ghosts, and add the flow that has arrived."""
        state, forests = self._state, self._forests
        excess = np.zeros(len(self._rim), dtype=np.int64)
        came = np.flatnonzero(gain)
        np.add.at(excess, self._rim_of[came], gain[came])
        changed = np.flatnonzero(excess)
        rim, amounts = self._rim[changed], excess[changed].astype(state.terminal.dtype)
        if forests is None:
            state.terminal[self._ghosts] = 0
            state.residual[self._arcs[came]] += gain[came].astype(state.residual.dtype)
            state.terminal[rim] += amounts
            return
        ghosts = self._ghosts[state.terminal[self._ghosts] != 0]
        state.terminal[ghosts] = 0
        state.residual[self._arcs[came]] += gain[came].astype(state.residual.dtype)
        state.terminal[rim] += amounts
        repair(state, forests, np.concatenate([ghosts, rim]), control.monitor())
        if control.stopped:
            self._forests = None

    def _ends(self, residual: Array) -> tuple[Array, Array]:
        """Return the border pixels and the ghosts that border arcs with residual capacity join."""
        is_open = residual > 0
        return self._rim_of[is_open], self._ghost_of[is_open]

    def _deficits(self, residual: Array, dtype: DType) -> Array:
        """Return for each ghost a deficit that no flow of this discharge can use up.

        `residual` has the residual capacity of each border arc.
        """
        room = np.ones(len(self._ghosts), dtype=np.int64)
        if len(self._ghosts) == len(self._arcs):
            room[self._ghost_of] += residual
        else:
            np.add.at(room, self._ghost_of, residual)
        deficits: Array = (-room).astype(dtype)
        return deficits

    def _sums(self) -> tuple[int, int]:
        """Return the sum of all excess, and the part of the flow's value that the region proves."""
        state, sums = self._state, np.zeros(2, dtype=np.int64)
        if state.terminal.dtype == np.int64:  # sums may be larger than that
            own = self._own_terminals
            return total(np.maximum(own, 0)), self._sinks + total(np.minimum(own, 0))
        add_up_terminals(state, self._first, self._last, sums)
        ghosts = state.terminal[self._ghosts]  # none has excess, and no other pixel outside has an amount
        return int(sums[0]), self._sinks + int(sums[1]) - total(ghosts)

    def _plant(self, control: Control) -> Forests:
        """Search with new forests, as "serial-incremental-bfs" does, or "multicore-merging" on threads."""
        state, first, last = self._state, self._first, self._last
        if self._threads_for(control) > 1:
            several = Control(self._threads_for(control), control.stop)
            forests = search_in_blocks(state, self._shape, self._offsets, MergingOptions(), several)
            return with_depths(forests_of_part(forests, int(last - first)))
        options, monitor = IncrementalBfsOptions(), control.monitor()
        sweep(state, first, last)
        forests = make_forests(state, int(last - first))
        make_roots(state, forests, first, last)
        while len(forests.first_orphan) < 2 * (options.box_levels + 1):
            forests = with_more_levels(forests)
        near = forests_of_part(forests, int(last - first))._replace(first_orphan=forests.first_orphan)
        boxes, levels = make_boxes(self._shape, first), np.uint64(options.box_levels)
        grow_from_boxes(state, forests, near, boxes, levels, monitor)
        return search_all(state, forests, monitor)

    def _threads_for(self, control: Control) -> int:
        """Return how many threads search the whole box, as for a grid."""
        arcs = math.prod(self._shape) * len(self._step)
        return threads_for(arcs, control.threads) if arcs >= ARCS_FOR_THREADS else 1

    def _terminals(self, state: GridState) -> Array:
        inner: Array = state.terminal[self._first : self._last].reshape(self._shape)
        return inner

    @property
    def _own_terminals(self) -> Array:
        inner: Array = self._terminals(self._state)[self._own]
        return inner

    def state(self) -> State:
        """Return the flow, the capacities of the border, and the forests without queues.

        The sink's side is stored if it is known and there are no forests.
        """
        residual, forests, nothing = self._state.residual, self._forests, np.zeros(0, dtype=np.uint8)
        side = nothing if self._sink_side is None or forests is not None else np.packbits(self._sink_side)
        is_narrow = self.border.capacity.dtype == np.int16
        return {
            "residual": Narrow(residual, np.dtype(np.int16)) if is_narrow else residual,
            "arcs": self._arcs,
            "rim_of": self._rim_of,
            "ghost_of": self._ghost_of,
            "terminal": narrowed(self._state.terminal),
            "sink_side": side,
            "capacity": self.border.capacity,
            "numbers": as_array(self._sinks, self._state.terminal.itemsize),
            "tree_label": nothing if forests is None else narrowed(forests.label),
            "tree_parent": nothing if forests is None else forests.parent,
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned, narrow or not; the region keeps them."""
        self.unload()
        self._given = state
        self.border = self.border._replace(capacity=state["capacity"])
        self._arcs, self._rim_of, self._ghost_of = state["arcs"], state["rim_of"], state["ghost_of"]
        self._sinks, size = from_array(state["numbers"])
        self._dtype = np.dtype(f"i{size}")

    def unload(self) -> None:
        """Forget all arrays of the size of the box or of its border."""
        self._given, self._sink_side = {}, None
        self.border = self.border._replace(capacity=self.border.capacity[:0].copy())
        self._rim_of = self._ghost_of = np.zeros(0, dtype=np.int32)
        self._arcs = self._arcs[:0].copy()
        for name in ("_state", "_forests", "_rim", "_heads", "_ghosts", "_first_of", "_opposites"):
            self.__dict__.pop(name, None)

    def sink_side(self) -> NDArray[np.bool_]:
        """Return which pixels of the box reach the sink, over ghosts or inside."""
        if self._sink_side is None and len(self._given.get("sink_side", ())):
            lengths = [side.stop - side.start for side in self._own]
            side = np.unpackbits(self._given["sink_side"], count=math.prod(lengths))
            self._sink_side = side.view(np.bool_).reshape(lengths)
        if self._sink_side is None:
            label = self._tree_labels()
            if len(label):
                reach: NDArray[np.bool_] = label[self._first : self._last] < 0
            else:
                reaches = np.zeros(len(self._state.terminal), dtype=np.uint8)
                found = np.empty(int(self._last - self._first), dtype=np.uint64)
                search_from_deficits(self._state, self._first, self._last, reaches, found)
                reach = reaches[self._first : self._last].view(np.bool_)
            self._sink_side = np.ascontiguousarray(reach.reshape(self._shape)[self._own])
        return self._sink_side

    def _tree_labels(self) -> Array:
        """Return the labels of the forests, of no length if there are none."""
        if "_forests" not in self.__dict__:
            return self._given["tree_label"]
        return np.zeros(0, dtype=np.int32) if self._forests is None else self._forests.label

    def border_sides(self) -> NDArray[np.bool_]:
        """Return for each border arc whether its own end is on the sink's side."""
        side = np.zeros(self._shape, dtype=bool)
        side[self._own] = self.sink_side()
        rim: NDArray[np.bool_] = side.ravel()[(self._rim - self._first).astype(np.int64)]
        return rim[self._rim_of]

    def _sides(self, theirs: Proof) -> NDArray[np.bool_]:
        """Return the sides of the box and its ghosts."""
        side = np.zeros(self._shape, dtype=bool)
        side[self._own] = self.sink_side()
        ghosts = (self._ghosts - self._first).astype(np.int64)
        side.ravel()[ghosts] = theirs.sink_side[self._first_of]
        if (theirs.sink_side != side.ravel()[ghosts][self._ghost_of]).any():
            raise VerificationError("two arcs disagree on the side of their common end")
        return side

    def capacity(self, theirs: Proof) -> CutShare:
        """Return the region's share of the capacity of the cut: see :class:`.exchange.Region`."""
        network, labels = self._part.read(), ~self._sides(theirs)
        own = np.zeros(self._shape, dtype=bool)
        own[self._own] = True
        source, sink = network.source_capacity, network.sink_capacity
        amounts = [source[own & ~labels], sink[own & labels]]
        for pair in network.pairs():
            for here, there, limit in (
                (pair.here, pair.there, pair.forward),
                (pair.there, pair.here, pair.backward),
            ):
                amounts.append(limit[own[here] & labels[here] & ~labels[there]])
        sizes = terminal_sizes(network, labels, self._own)
        if any(values.dtype.kind == "f" for values in amounts):
            return CutShare(total_of([float_sum(values) for values in amounts]), *sizes)
        return CutShare(sum(int(exact_sum(values.astype(np.int64))) for values in amounts), *sizes)

    def check_flow(self, theirs: Amounts, own: Amounts, gain: Amounts) -> int:
        """Prove that the region has a flow: see :class:`preflow.distributed.exchange.Region`."""
        state = self._state
        outside = np.ones(len(state.terminal), dtype=bool)
        outside[self._first : self._last].reshape(self._shape)[self._own] = False
        if state.residual.reshape(-1, len(state.step))[outside].any():
            raise VerificationError("an arc outside of the region has residual capacity")
        if (state.residual < 0).any():
            raise VerificationError("a residual capacity is negative")
        beyond = state.terminal.copy()
        beyond[self._ghosts] = np.maximum(beyond[self._ghosts], 0)
        if beyond[outside].any():
            raise VerificationError("a pixel outside of the region has an amount")
        bound = self._sums()[1]
        self._move(gain, np.int64(1))
        try:
            if (state.residual[self._arcs] != own).any():
                raise VerificationError("a region and its border disagree on the flow over an arc")
            self._verify(theirs, None)
        finally:
            self._move(gain, np.int64(-1))
        return bound

    def verify(self, theirs: Proof, gain: Amounts, optimal: bool) -> int:
        """Prove the region's part: see :class:`preflow.distributed.exchange.Region`."""
        sign = np.int64(1)
        self._move(gain, sign)
        try:
            side = self._sides(theirs)
            return self._verify(theirs.flow, side if optimal else None)
        finally:
            self._move(gain, -sign)

    def _move(self, gain: Amounts, sign: np.int64) -> None:
        """Add flow that has arrived, or take it away again."""
        amounts = (sign * gain).astype(self._state.residual.dtype)
        self._state.residual[self._arcs] += amounts
        np.add.at(self._state.terminal, self._rim[self._rim_of], amounts)

    def _verify(self, flow_there: Amounts, side: NDArray[np.bool_] | None) -> int:
        """Prove the flow, and that the cut with this sink's side is minimum unless `side` is None."""
        grid, _ = self._part.load()
        degree = len(self._state.step)
        residual = self._state.residual.reshape(-1, degree)[self._first : self._last]
        residual = residual.reshape(*self._shape, degree)
        if (self.border.capacity - self._state.residual[self._arcs] != -flow_there).any():
            raise VerificationError("two regions disagree on the flow over an arc between them")
        own = np.zeros(self._shape, dtype=bool)
        own[self._own] = True
        expected = grid.source.astype(np.int64)
        expected -= grid.sink
        terminal = self._terminals(self._state)
        for number, pair in enumerate(grid.pairs()):
            flows = []
            for d, here, there, limit in (
                (2 * number, pair.here, pair.there, pair.forward),
                (2 * number + 1, pair.there, pair.here, pair.backward),
            ):
                left = residual[..., d][here]
                mine = own[here]
                _check(mine & (left < 0), here, f"the arc in direction {d} carries more than its capacity")
                flow = np.where(mine, limit.astype(np.int64) - left, 0)
                expected[here] -= flow
                if side is not None:
                    cut = mine & ~side[here] & side[there]
                    _check(cut & (left > 0), here, f"the cut arc in direction {d} is not saturated")
                flows.append(flow)
            both = own[pair.here] & own[pair.there]
            fault = f"the flow in direction {2 * number} does not arrive"
            _check(both & (flows[0] != -flows[1]), pair.here, fault)
        everything = tuple(slice(0, length) for length in self._shape)
        _check(own & (expected != terminal), everything, "flow is not conserved")
        if side is not None:
            _check(own & side & (terminal > 0), everything, "the sink's side has excess")
            _check(own & ~side & (terminal < 0), everything, "the source's side has a way to the sink")
        return self._sums()[1]


def _first_values(place: NDArray[np.int32], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each place the first value that belongs to it; each place has some."""
    found = np.empty(int(place.max(initial=-1)) + 1, dtype=np.int64)
    found[place[::-1]] = values[::-1]
    return found


def narrowed(values: Array) -> Array | Narrow:
    """Return integers to be stored in the narrowest dtype that they fit."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return Narrow(values, np.dtype(kind))
    return values


def _check(broken: NDArray[np.bool_], box: Box, fault: str) -> None:
    if broken.any():
        index = np.unravel_index(int(broken.argmax()), broken.shape)
        pixel = tuple(int(i) + side.start for i, side in zip(index, box, strict=True))
        raise VerificationError(f"pixel {pixel} of the region: {fault}")
