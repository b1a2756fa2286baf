"""Some vertices of a network as a region: search forests that are repaired, with ghosts as further sinks.

The method and the forests are those of :mod:`.grid_region`. The region has its vertices, then the ghosts. A
ghost has no residual capacity towards the region. While it receives flow, it has a demand for more than can
reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import VerificationError
from ..forests.incremental_search import Forests, make_forests, search_all
from ..forests.repair import for_next_search, repair
from ..graph.network import exact_sum
from ..graph.residual import ResidualArrays
from ..kernels.constants import ZERO
from ..network import distances_to_sink
from ..solving.run import Control
from .exchange import INFINITE, Amounts, Border, CutShare, Discharged, Labels, Proof, State, search_by_label

NOTHING = ResidualArrays(*(np.zeros(0, dtype=np.int64) for _ in range(6)))


@dataclass(frozen=True)
class NetworkTask:
    """A region of a residual network before it is loaded: a :class:`.exchange.RegionTask`."""

    number: int
    whole: ResidualArrays  #: the residual network without flow
    region: NDArray[np.int64]  #: shape (n,): region of each vertex

    def empty(self) -> NetworkRegion:
        """Return the region without its capacities."""
        return NetworkRegion(self)

    def build(self) -> NetworkRegion:
        """Read the region's part of the network."""
        return NetworkRegion(self).build()

    def own_arcs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the vertices of the region, their residual arcs, and the position of each arc's tail."""
        own = np.flatnonzero(self.region == self.number)
        first = self.whole.first_out.astype(np.int64)
        degree = first[own + 1] - first[own]
        tail = np.repeat(np.arange(len(own)), degree)
        start = np.cumsum(degree) - degree
        return own, np.arange(len(tail)) - start[tail] + first[own][tail], tail


class NetworkRegion:
    """Some vertices of a network.

    The capacities of its `border` are known after :meth:`build` or :meth:`restore`.
    """

    def __init__(self, task: NetworkTask) -> None:
        self._task = task
        own, arcs, tail = task.own_arcs()
        head = task.whole.head[arcs].astype(np.int64)
        region = task.region[head]
        leaving = np.flatnonzero(region != task.number)
        # Both regions order their arcs by the smaller number of the two opposite arcs.
        key = np.minimum(arcs, task.whole.reverse[arcs].astype(np.int64))[leaving]
        order = leaving[np.lexsort((key, region[leaving]))]
        neighbours, first = np.unique(region[order], return_index=True)
        ghosts, self._first_of, self._ghost_of = np.unique(
            head[order], return_index=True, return_inverse=True
        )
        self._size, self._num_ghosts = len(own), len(ghosts)
        self._ghosts = len(own) + np.arange(len(ghosts))
        self._arcs, self._tails = order, tail[order]
        self._opposites = np.zeros(0, dtype=np.int64)
        self.border = Border(
            tuple(neighbours.tolist()),
            np.append(first, len(order)).astype(np.int64),
            np.zeros(len(order), dtype=np.int64),
        )
        self._demand = 0
        self._net = NOTHING
        self._forests: Forests | None = None
        self._sink_side: NDArray[np.bool_] | None = None

    def build(self) -> Self:
        """Read the capacities; there is no flow."""
        self._set(*self._capacities())
        self.border = self.border._replace(capacity=self._net.residual[self._arcs].astype(np.int64))
        return self

    def _capacities(self) -> tuple[Array, Array, Array]:
        """Return the residual capacities of own arcs, the excess and the demand, without flow."""
        whole = self._task.whole
        own, arcs, _ = self._task.own_arcs()
        return whole.residual[arcs], whole.excess[own], whole.sink_residual[own]

    def _set(self, residual: Array, excess: Array, demand: Array) -> None:
        """Make the residual network from the arrays of the own vertices."""
        whole, size = self._task.whole, self._size
        own, arcs, tail = self._task.own_arcs()
        self._demand = int(exact_sum(whole.sink_residual[own]))
        index = whole.head.dtype
        # Own arcs keep their order; behind them are the arcs of ghosts, ghost by ghost.
        by_ghost = np.argsort(self._ghost_of, kind="stable")
        back = len(arcs) + np.empty(len(by_ghost), dtype=np.int64)
        back[by_ghost] = len(arcs) + np.arange(len(by_ghost))
        self._opposites = back
        place = np.zeros(len(whole.excess), dtype=np.int64)
        place[own] = np.arange(size)
        head = np.empty(len(arcs) + len(back), dtype=index)
        head[: len(arcs)] = place[whole.head[arcs]]
        head[self._arcs] = size + self._ghost_of
        head[back] = self._tails
        reverse = np.empty_like(head)
        reverse[: len(arcs)] = np.searchsorted(arcs, whole.reverse[arcs].astype(np.int64))
        reverse[self._arcs] = back
        reverse[back] = self._arcs
        degree = np.concatenate(
            [np.bincount(tail, minlength=size), np.bincount(self._ghost_of, minlength=self._num_ghosts)]
        )
        first = np.concatenate([[0], np.cumsum(degree)]).astype(index)
        none = np.zeros(self._num_ghosts, dtype=np.int64)
        self._net = ResidualArrays(
            first,
            head,
            reverse,
            np.concatenate([residual, np.zeros(len(back), dtype=residual.dtype)]),
            np.concatenate([excess, none]).astype(np.int64),
            np.concatenate([demand, none]).astype(np.int64),
        )
        self._forests = None

    def send_again(self, flow: Amounts, threads: int) -> None:
        """Become a region that has sent flow: see :class:`preflow.distributed.exchange.Region`."""
        net = self._net
        came = np.zeros(len(net.excess), dtype=np.int64)
        np.subtract.at(came, self._tails, flow)
        net.residual[self._arcs] -= flow.astype(net.residual.dtype)
        # Where more was sent than has come, vertices have demand, and no other ones.
        sinks = net.sink_residual.copy()
        net.excess[...] += came
        net.sink_residual[...] = np.maximum(-net.excess, 0)
        net.excess[...] = np.maximum(net.excess, 0)
        self._forests = None
        self._search(self._ghosts[:0], Control())
        assert not net.sink_residual.any(), "no flow inside brings together what was sent"
        net.sink_residual[...] = sinks
        self._forests = self._sink_side = None

    def discharge(self, gain: Amounts, label: Labels, limit: int, control: Control) -> Discharged:
        """Augment inside the region: see :class:`preflow.distributed.exchange.Region`."""
        net, own = self._net, Control(stop=control.stop)
        ghost_label = label[self._first_of]
        came = np.flatnonzero(gain)
        active = self._ghosts[net.sink_residual[self._ghosts] > 0]
        net.sink_residual[self._ghosts] = 0
        self._move(gain, 1)
        changed = np.concatenate([active, self._tails[came], self._ghosts[self._ghost_of[came]]])
        self._forests = for_next_search(self._forests)
        before = net.residual[self._arcs].astype(np.int64)
        found = np.full(len(self._arcs), INFINITE, dtype=np.int32)
        self._search(changed, own)
        found[self._reaches()] = 0
        room = np.ones(self._num_ghosts, dtype=np.int64)
        np.add.at(room, self._ghost_of, net.residual[self._arcs])

        def search(ghosts: NDArray[np.bool_], ends: NDArray[np.intp]) -> NDArray[np.bool_]:
            net.sink_residual[self._ghosts[ghosts]] = room[ghosts]
            self._search(self._ghosts[ghosts], own)
            return self._reaches()[ends]

        is_open = np.flatnonzero(before > 0)
        ends = is_open, self._ghost_of[is_open]
        complete = search_by_label(ghost_label, limit, found, ends, search, control)
        waiting = 0 if complete else self._excess()
        self._sink_side = None
        push = before - net.residual[self._arcs]
        # Ghosts have demand or have received nothing, so no arc of a tree leads out of one.
        net.residual[self._opposites] = 0
        if control.stopped:
            self._forests = None
        return Discharged(push, found, self._bound(), waiting, complete)

    def _move(self, gain: Amounts, sign: int) -> None:
        """Add flow that has arrived, or take it away again."""
        self._net.residual[self._arcs] += (sign * gain).astype(self._net.residual.dtype)
        np.add.at(self._net.excess, self._tails, sign * gain)

    def _search(self, changed: NDArray[np.int64], control: Control) -> None:
        """Search from the vertices that have changed, or in new forests if there are none."""
        net, forests, monitor = self._net, self._forests, control.monitor()
        if forests is None:
            forests, changed = make_forests(net, len(net.excess)), np.arange(len(net.excess))
        repair(net, forests, changed, monitor)
        self._forests = search_all(net, forests, monitor)

    def _reaches(self) -> NDArray[np.bool_]:
        """Return for each border arc whether its own end is in the sink's forest."""
        assert self._forests is not None
        reaches: NDArray[np.bool_] = self._forests.label[self._tails] < 0
        return reaches

    def _excess(self) -> int:
        return int(exact_sum(self._net.excess[: self._size]))

    def _bound(self) -> int:
        """Return the flow into the sink."""
        return self._demand - int(exact_sum(self._net.sink_residual[: self._size]))

    def state(self) -> State:
        """Return the flow, the sink's side and the capacities of the border."""
        net, size = self._net, self._size
        return {
            "residual": net.residual[: len(net.residual) - len(self._opposites)],
            "excess": net.excess[:size],
            "demand": net.sink_residual[:size],
            "sink_side": self.sink_side(),
            "capacity": self.border.capacity,
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned; the forests are built again."""
        self._set(state["residual"], state["excess"], state["demand"])
        self.border = self.border._replace(capacity=state["capacity"])
        self._sink_side = state["sink_side"].view(np.uint8) != 0

    def unload(self) -> None:
        """Forget all arrays of the size of the region."""
        self._net, self._forests, self._sink_side = NOTHING, None, None
        self.border = self.border._replace(capacity=self.border.capacity[:0].copy())

    def sink_side(self) -> NDArray[np.bool_]:
        """Return which vertices of the region reach the sink, over ghosts or inside."""
        if self._sink_side is None:
            if self._forests is None:
                self._sink_side = self._search_backwards()
            else:
                self._sink_side = self._forests.label[: self._size] < 0
        return self._sink_side

    def _search_backwards(self) -> NDArray[np.bool_]:
        """Return which vertices reach demand, without forests: a stopped solve has none."""
        net, n = self._net, len(self._net.excess)
        height = np.full(n, n + 1, dtype=net.head.dtype)
        distances_to_sink(net, height, np.empty_like(height), ZERO, ZERO, ZERO, False)
        reaches: NDArray[np.bool_] = height[: self._size] <= n
        return reaches

    def border_sides(self) -> NDArray[np.bool_]:
        """Return for each border arc whether its own end is on the sink's side."""
        return self.sink_side()[self._tails]

    def capacity(self, theirs: Proof) -> CutShare:
        """Return the region's share of the capacity of the cut."""
        residual, excess, demand = self._capacities()
        side, there = self.sink_side(), self._heads_side(theirs)
        _, _, tail = self._task.own_arcs()
        cut = ~side[tail] & there
        parts = residual[cut], excess[side], demand[~side]
        return CutShare(sum(int(exact_sum(values.astype(np.int64))) for values in parts))

    def _heads_side(self, theirs: Proof) -> NDArray[np.bool_]:
        """Return for each own arc whether its head is on the sink's side."""
        side = np.concatenate([self.sink_side(), theirs.sink_side[self._first_of]])
        if (theirs.sink_side != theirs.sink_side[self._first_of][self._ghost_of]).any():
            raise VerificationError("two arcs disagree on the side of their common end")
        head = self._net.head[: len(self._net.head) - len(self._opposites)]
        there: NDArray[np.bool_] = side[head]
        return there

    def check_flow(self, theirs: Amounts, own: Amounts, gain: Amounts) -> int:
        """Prove that the region has a flow: see :class:`preflow.distributed.exchange.Region`."""
        net = self._net
        if len(self.sink_side()) != self._size:
            raise VerificationError("the cut has another size than the region")
        if (net.residual < 0).any() or (net.excess < 0).any():
            raise VerificationError("a residual capacity or an excess is negative")
        self._move(gain, 1)
        try:
            if (net.residual[self._arcs] != own).any():
                raise VerificationError("a region and its border disagree on the flow over an arc")
            return self._verify(theirs, None)
        finally:
            self._move(gain, -1)

    def verify(self, theirs: Proof, gain: Amounts, optimal: bool) -> int:
        """Prove the region's part: see :class:`preflow.distributed.exchange.Region`."""
        self._move(gain, 1)
        try:
            return self._verify(theirs.flow, theirs if optimal else None)
        finally:
            self._move(gain, -1)

    def _verify(self, flow_there: Amounts, cut: Proof | None) -> int:
        """Prove the flow, and with the claims of the neighbours that the cut is minimum."""
        net, size = self._net, self._size
        capacity, excess, demand = self._capacities()
        _, _, tail = self._task.own_arcs()
        left = net.residual[: len(capacity)]
        flow = capacity.astype(np.int64) - left
        if (left < 0).any():
            raise VerificationError("an arc carries more than its capacity")
        if (flow[self._arcs] != -flow_there).any():
            raise VerificationError("two regions disagree on the flow over an arc between them")
        inside = np.ones(len(capacity), dtype=bool)
        inside[self._arcs] = False
        if (flow[inside] != -flow[net.reverse[: len(capacity)][inside]]).any():
            raise VerificationError("the flow over an arc does not arrive")
        arrived = demand - net.sink_residual[:size]
        if (arrived < 0).any() or (net.sink_residual[:size] < 0).any():
            raise VerificationError("more than its capacity flows from a vertex to the sink")
        expected = excess - arrived
        np.subtract.at(expected, tail, flow)
        if (expected != net.excess[:size]).any():
            raise VerificationError("flow is not conserved")
        if cut is not None:
            side = self.sink_side()
            if (side & (net.excess[:size] > 0)).any():
                raise VerificationError("the sink's side has excess")
            if (~side & (net.sink_residual[:size] > 0)).any():
                raise VerificationError("the source's side has a way to the sink")
            if (~side[tail] & self._heads_side(cut) & (left > 0)).any():
                raise VerificationError("an arc across the cut is not saturated")
        return self._bound()


def network_tasks(whole: ResidualArrays, region: NDArray[np.int64], regions: int) -> Sequence[NetworkTask]:
    """Return a task for each region of a residual network."""
    return [NetworkTask(number, whole, region) for number in range(regions)]
