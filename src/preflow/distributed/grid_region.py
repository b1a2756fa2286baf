"""A box of a grid as a region: incremental breadth-first search with ghosts as further sinks.

The region's arrays cover its box and the ghosts around it. A ghost has no residual capacity towards the
region, so flow only goes out. While a ghost receives flow it has a deficit larger than all the flow that can
reach it; the other ghosts have none. So a discharge is a series of searches in the same two forests
(:mod:`preflow.gridcut.incremental_search`), each with a few sinks more, and
:func:`preflow.gridcut.warm.change_terminals` adds these.

Pseudo-code
-----------
::

    take the deficits from all ghosts
    add the flow that has arrived to residual capacities and excess
    search; border vertices in the sink's forest get the label 0
    for each label k of ghosts, in increasing order, below the limit:
        give a deficit to the ghosts with label k
        search; border vertices that are new in the sink's forest get the label k + 1

After the last search the sink's forest has exactly the vertices that reach the sink over some ghost or
inside. A later search augments from vertices that reach no earlier sink, through vertices that reach none
either, so the labels of earlier searches stay right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import VerificationError
from ..graph.integer_grid import IntegerGrid
from ..graph.neighbourhood import Box
from ..gridcut.incremental_search import (
    DEPTH,
    SINK,
    SOURCE,
    Forests,
    forests_of_part,
    make_forests,
    make_roots,
    search_all,
    sweep,
    with_more_levels,
)
from ..gridcut.pixel_major import GridState, deficits_reach, grid_state, interior
from ..gridcut.serial_incremental_bfs import IncrementalBfsOptions, grow_from_boxes, make_boxes
from ..gridcut.warm import change_terminals
from ..solving.run import Control
from .exchange import INFINITE, Amounts, Border, Discharged, Labels, Proof
from .partition import GridBorder


class Loaded(NamedTuple):
    """A box and the ghosts around it.

    Attributes
    ----------
    grid : IntegerGrid
    constant : int
        The amount that was removed from both terminal capacities of the pixels of the box.
    """

    grid: IntegerGrid
    constant: int


class GridRegion:
    """A box of a grid.

    Parameters
    ----------
    load : function
        Returns the grid of the box and its ghosts.
    own : tuple of slices
        The box in that grid.
    arcs : GridBorder
        Its border arcs, in coordinates of the whole grid.
    corner : tuple of int
        Coordinates of the first pixel of the loaded grid in the whole grid.

    Attributes
    ----------
    border : Border
    """

    def __init__(
        self, load: Callable[[], Loaded], own: Box, arcs: GridBorder, corner: tuple[int, ...]
    ) -> None:
        self._load, self._own = load, own
        grid, constant = load()
        self._shape = tuple(grid.shape)
        self._first, self._last = interior(grid)
        state = grid_state(grid)
        # A ghost's deficit exceeds the flow that can reach it: twice the capacity of its arcs.
        bound = grid.largest_terminal + 2 * len(grid.offsets) * grid.largest_neighbor + 1
        if bound > np.iinfo(state.terminal.dtype).max:
            state = state._replace(
                residual=state.residual.astype(np.int64), terminal=state.terminal.astype(np.int64)
            )
        self._state = state
        degree = len(state.step)
        outside = np.ones(self._shape, dtype=bool)
        outside[own] = False
        self._terminals(state)[outside] = 0
        state.residual.reshape(-1, degree)[self._first : self._last][outside.ravel()] = 0
        start = np.array(corner, dtype=np.int64)[:, None]
        tail = np.ravel_multi_index(tuple(np.stack(arcs.tail) - start), self._shape).astype(np.uint64)
        head = np.ravel_multi_index(tuple(np.stack(arcs.head) - start), self._shape).astype(np.uint64)
        self._rim, self._rim_of = np.unique(tail + self._first, return_inverse=True)
        self._ghosts, self._first_of, self._ghost_of = np.unique(
            head + self._first, return_index=True, return_inverse=True
        )
        direction = arcs.direction.astype(np.uint64)
        self._arcs = ((tail + self._first) * np.uint64(degree) + direction).astype(np.int64)
        opposite = (head + self._first) * np.uint64(degree) + (direction ^ np.uint64(1))
        self._opposites = opposite.astype(np.int64)
        self.border = Border(arcs.neighbours, arcs.first, state.residual[self._arcs].astype(np.int64))
        self._sinks = constant + int(grid.sink[own].sum(dtype=np.int64))
        self._forests: Forests | None = None
        self._sink_side: NDArray[np.bool_] | None = None

    def discharge(self, gain: Amounts, label: Labels, limit: int, control: Control) -> Discharged:
        """Augment inside the region: see :class:`preflow.distributed.exchange.Region`."""
        state, own = self._state, Control(stop=control.stop)
        monitor = own.monitor()
        ghost_label = label[self._first_of]
        self._add(gain, own)
        before = state.residual[self._arcs].astype(np.int64)
        forests = self._forests
        forests = self._plant(own) if forests is None else search_all(state, forests, monitor)
        found: Labels = np.where(forests.label[self._rim] < 0, 0, INFINITE).astype(np.int32)
        waiting, complete = 0, True
        for k in np.unique(ghost_label[ghost_label < INFINITE]).tolist():
            if control.stopped:
                break
            if k >= limit:
                found[found == INFINITE] = k + 1
                waiting, complete = self._excess(), False
                break
            ghosts = ghost_label == k
            change_terminals(state, forests, self._ghosts[ghosts], self._deficits()[ghosts], monitor)
            forests = search_all(state, forests, monitor)
            found[(found == INFINITE) & (forests.label[self._rim] < 0)] = k + 1
        self._forests, self._sink_side = forests, None
        if control.stopped:
            self._forests = None
            found[:] = 0
            waiting, complete = self._excess(), False
        push = before - state.residual[self._arcs]
        # Ghosts have deficits or have received nothing, so no tree arc leads out of one.
        state.residual[self._opposites] = 0
        bound = self._sinks + int(np.minimum(self._own_terminals, 0).sum(dtype=np.int64))
        return Discharged(push, found[self._rim_of], bound, waiting, complete)

    def _add(self, gain: Amounts, control: Control) -> None:
        """Take the deficits from all ghosts, and add the flow that has arrived."""
        state, forests = self._state, self._forests
        excess = np.zeros(len(self._rim), dtype=np.int64)
        np.add.at(excess, self._rim_of, gain)
        changed = excess != 0
        rim, amounts = self._rim[changed], excess[changed].astype(state.terminal.dtype)
        if forests is None:
            state.terminal[self._ghosts] = 0
            state.residual[self._arcs] += gain.astype(state.residual.dtype)
            state.terminal[rim] += amounts
            return
        inside = forests.label[self._first : self._last]
        forests.cursor[DEPTH + SOURCE] = max(1, int(inside.max(initial=0)))
        forests.cursor[DEPTH + SINK] = max(1, -int(inside.min(initial=0)))
        monitor = control.monitor()
        ghosts = self._ghosts[state.terminal[self._ghosts] != 0]
        change_terminals(state, forests, ghosts, -state.terminal[ghosts], monitor)
        state.residual[self._arcs] += gain.astype(state.residual.dtype)
        change_terminals(state, forests, rim, amounts, monitor)
        if control.stopped:
            self._forests = None

    def _deficits(self) -> Array:
        """Return for each ghost a deficit that no flow can use up."""
        room = np.ones(len(self._ghosts), dtype=np.int64)
        np.add.at(room, self._ghost_of, self._state.residual[self._arcs])
        deficits: Array = (-room).astype(self._state.terminal.dtype)
        return deficits

    def _excess(self) -> int:
        """Return the sum of all excess."""
        return int(np.maximum(self._own_terminals, 0).sum(dtype=np.int64))

    def _plant(self, control: Control) -> Forests:
        """Search with new forests, as "serial-incremental-bfs" does."""
        state, first, last = self._state, self._first, self._last
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

    def _terminals(self, state: GridState) -> Array:
        inner: Array = state.terminal[self._first : self._last].reshape(self._shape)
        return inner

    @property
    def _own_terminals(self) -> Array:
        inner: Array = self._terminals(self._state)[self._own]
        return inner

    def state(self) -> dict[str, Array]:
        """Return the residual capacities, the terminals and the sink's side."""
        return {
            "residual": self._state.residual,
            "terminal": self._state.terminal,
            "sink_side": np.packbits(self.sink_side()),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from what :meth:`state` returned; the forests are built again."""
        self._state = self._state._replace(residual=state["residual"], terminal=state["terminal"])
        lengths = [side.stop - side.start for side in self._own]
        side = np.unpackbits(state["sink_side"], count=int(np.prod(lengths)))
        self._sink_side, self._forests = side.view(np.bool_).reshape(lengths), None

    def sink_side(self) -> NDArray[np.bool_]:
        """Return which pixels of the box reach the sink, over ghosts or inside."""
        if self._sink_side is None:
            if self._forests is not None:
                reach: NDArray[np.bool_] = self._forests.label[self._first : self._last] < 0
            else:
                reach = deficits_reach(self._load().grid, self._state)
            self._sink_side = np.ascontiguousarray(reach.reshape(self._shape)[self._own])
        return self._sink_side

    def proof(self) -> Proof:
        """Return the flow over border arcs and the sides of their own ends."""
        side = np.zeros(self._shape, dtype=bool)
        side[self._own] = self.sink_side()
        flow = self.border.capacity - self._state.residual[self._arcs]
        return Proof(flow, side.ravel()[(self._rim - self._first).astype(np.int64)][self._rim_of])

    def verify(self, theirs: Proof) -> tuple[int, int]:
        """Prove the region's part: see :class:`preflow.distributed.exchange.Region`."""
        grid, capacity = self._load()
        degree = len(self._state.step)
        residual = self._state.residual.reshape(-1, degree)[self._first : self._last]
        residual = residual.reshape(*self._shape, degree)
        side = np.zeros(self._shape, dtype=bool)
        side[self._own] = self.sink_side()
        ghosts = (self._ghosts - self._first).astype(np.int64)
        side.ravel()[ghosts] = theirs.sink_side[self._first_of]
        if (theirs.sink_side != side.ravel()[ghosts][self._ghost_of]).any():
            raise VerificationError("two arcs disagree on the side of their common end")
        if (self.proof().flow != -theirs.flow).any():
            raise VerificationError("two regions disagree on the flow over an arc between them")
        own = np.zeros(self._shape, dtype=bool)
        own[self._own] = True
        expected = grid.source.astype(np.int64)
        expected -= grid.sink
        terminal = self._terminals(self._state)
        capacity += int(grid.source[own & side].sum(dtype=np.int64))
        capacity += int(grid.sink[own & ~side].sum(dtype=np.int64))
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
                cut = mine & ~side[here] & side[there]
                _check(cut & (left > 0), here, f"the cut arc in direction {d} is not saturated")
                capacity += int(limit[cut].sum(dtype=np.int64))
                flows.append(flow)
            both = own[pair.here] & own[pair.there]
            fault = f"the flow in direction {2 * number} does not arrive"
            _check(both & (flows[0] != -flows[1]), pair.here, fault)
        everything = tuple(slice(0, length) for length in self._shape)
        _check(own & (expected != terminal), everything, "flow is not conserved")
        _check(own & side & (terminal > 0), everything, "the sink's side has excess")
        _check(own & ~side & (terminal < 0), everything, "the source's side has a way to the sink")
        return self._sinks + int(np.minimum(self._own_terminals, 0).sum(dtype=np.int64)), capacity


def _check(broken: NDArray[np.bool_], box: Box, fault: str) -> None:
    if broken.any():
        index = np.unravel_index(int(broken.argmax()), broken.shape)
        pixel = tuple(int(i) + side.start for i, side in zip(index, box, strict=True))
        raise VerificationError(f"pixel {pixel} of the region: {fault}")
