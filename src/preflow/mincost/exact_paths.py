"""Successive shortest paths in Python integers: the last answer where float64 and int64 are too coarse.

The method is that of :mod:`.serial_shortest_path`, about a thousand times slower. It starts from a flow and
potentials that are right but for rounding, so that few paths are left to be found::

    give the ends of arcs between their bounds potentials that agree exactly, tree by tree
    make every arc of negative length full, and every arc of positive length empty
    while a vertex has excess:
        send it along a shortest path to a vertex with a deficit, as far as there is one
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.exact import as_integers
from ..certify.min_cost_flow import ExactPotentials, OneWay, busiest_vertex
from ..solving.run import Control
from .solution import Ending

#: Arcs between two looks at the stop flag.
ARCS_BETWEEN_LOOKS = 1 << 12


class ExactState(NamedTuple):
    """How an exact solve ended."""

    #: Python integers, shape (num_arcs,): times two to `exponent`; of the arcs that lead one way
    flow: NDArray[np.object_]
    exponent: int
    #: Python integers, shape (n,): what each vertex still has to send, times two to `exponent`
    excess: NDArray[np.object_]
    potentials: ExactPotentials
    ending: Ending


class _StoppedError(Exception):
    """The stop flag is set."""


class ExactPaths:
    """One solve from a guess of the potentials, which are finite, like all bounds of `arcs`.

    The supplies are balanced where most passes, if rounding has changed their sum.
    """

    def __init__(self, arcs: OneWay, supply: Array, potentials: Array, control: Control) -> None:
        (cost, price), self.cost_exponent = as_integers(arcs.cost, potentials)
        (lower, upper, flow, sent), self.exponent = as_integers(arcs.lower, arcs.upper, arcs.flow, supply)
        if len(sent):
            sent[busiest_vertex(supply, arcs.tail, arcs.head, arcs.flow)] -= sent.sum()
        self.tail: list[int] = arcs.tail.tolist()
        self.head: list[int] = arcs.head.tolist()
        self.cost: list[int] = cost.tolist()
        self.lower: list[int] = lower.tolist()
        self.upper: list[int] = upper.tolist()
        self.price: list[int] = price.tolist()
        self.flow: list[int] = np.clip(flow, lower, upper).tolist()
        self.excess: list[int] = sent.tolist()
        self.control = control
        self.out: list[list[int]] = [[] for _ in self.excess]
        for arc, (u, v) in enumerate(zip(self.tail, self.head, strict=True)):
            self.out[u].append(arc)
            self.out[v].append(~arc)

    def solve(self) -> ExactState:
        """Send all that can be sent, at the least cost."""
        ending: Ending = "stopped"
        try:
            self._agree()
            self._fill_short_arcs()
            while any(amount > 0 for amount in self.excess):
                if not self._send():
                    break
            ending = "infeasible" if any(self.excess) else "optimal"
        except _StoppedError:
            pass
        flow, excess, price = (np.array(each, dtype=object) for each in (self.flow, self.excess, self.price))
        return ExactState(flow, self.exponent, excess, ExactPotentials(price, self.cost_exponent), ending)

    def _room(self, arc: int) -> int:
        """Return what a residual arc can carry; ``~arc`` is the opposite direction of `arc`."""
        return self.upper[arc] - self.flow[arc] if arc >= 0 else self.flow[~arc] - self.lower[~arc]

    def _end(self, arc: int) -> int:
        return self.head[arc] if arc >= 0 else self.tail[~arc]

    def _length(self, arc: int) -> int:
        forward = arc if arc >= 0 else ~arc
        length = self.cost[forward] + self.price[self.tail[forward]] - self.price[self.head[forward]]
        return length if arc >= 0 else -length

    def _agree(self) -> None:
        """Give the ends of arcs between their bounds potentials for which these arcs have length zero."""
        seen = [False] * len(self.price)
        for root in range(len(seen)):
            waiting = deque([] if seen[root] else [root])
            seen[root] = True
            while waiting:
                u = waiting.popleft()
                self._look(len(self.out[u]))
                for arc in self.out[u]:
                    v = self._end(arc)
                    if not seen[v] and self._room(arc) > 0 and self._room(~arc) > 0:
                        self.price[v] += self._length(arc)
                        seen[v] = True
                        waiting.append(v)

    def _fill_short_arcs(self) -> None:
        """Fill arcs of negative length, empty those of positive length, and count the excess."""
        for arc, (u, v) in enumerate(zip(self.tail, self.head, strict=True)):
            length = self._length(arc)
            if length:
                self.flow[arc] = self.upper[arc] if length < 0 else self.lower[arc]
            self.excess[u] -= self.flow[arc]
            self.excess[v] += self.flow[arc]

    def _send(self) -> bool:
        """Send excess along a shortest path; return whether there is one."""
        distance = {v: 0 for v, amount in enumerate(self.excess) if amount > 0}
        parent: dict[int, int] = {}
        heap = [(0, v) for v in distance]
        settled: list[int] = []
        done: set[int] = set()
        while heap:
            length, u = heappop(heap)
            if u in done:
                continue
            if self.excess[u] < 0:
                break
            done.add(u)
            settled.append(u)
            self._look(len(self.out[u]))
            for arc in self.out[u]:
                v = self._end(arc)
                if v not in done and self._room(arc) > 0:
                    longer = length + self._length(arc)
                    if v not in distance or longer < distance[v]:
                        distance[v], parent[v] = longer, arc
                        heappush(heap, (longer, v))
        else:
            return False
        for v in settled:
            self.price[v] += distance[v] - length
        path, at = [], u
        while at in parent:
            path.append(parent[at])
            at = self._end(~parent[at])
        amount = min(self.excess[at], -self.excess[u], *map(self._room, path))
        for arc in path:
            self.flow[arc if arc >= 0 else ~arc] += amount if arc >= 0 else -amount
        self.excess[at] -= amount
        self.excess[u] += amount
        return True

    _looked = 0

    def _look(self, arcs: int) -> None:
        """Raise _StoppedError if the stop flag is set, which is looked at now and then."""
        self._looked += arcs + 1
        if self._looked >= ARCS_BETWEEN_LOOKS:
            self._looked = 0
            self.control.check_wanted()
            if self.control.stopped:
                raise _StoppedError


def exact_negative_cycle(
    tail: Sequence[int], head: Sequence[int], cost: Array, n: int, control: Control
) -> list[int]:
    """Return the arcs of a cycle of negative cost in order, or none, by sums without rounding: O(nm)."""
    (whole,), _ = as_integers(cost)
    arcs = list(zip(range(len(whole)), tail, head, whole.tolist(), strict=True))
    distance, parent = [0] * n, [-1] * n
    last = -1
    for _ in range(n):
        control.check_wanted()
        if control.stopped:
            return []
        last = -1
        for arc, u, v, length in arcs:
            if distance[u] + length < distance[v]:
                distance[v], parent[v], last = distance[u] + length, arc, v
        if last < 0:
            return []
    at = last
    for _ in range(n):  # onto the cycle
        at = tail[parent[at]]
    cycle: list[int] = []
    end = at
    while not cycle or at != end:
        cycle.append(parent[at])
        at = tail[parent[at]]
    return cycle[::-1]
