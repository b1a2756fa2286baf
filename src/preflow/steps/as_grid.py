"""Solve a network that is a grid as a grid, with no arcs stored: see :mod:`preflow.graph.recognised_grid`.

The result of the solve keeps the residual capacities of the grid, and nothing else. When somebody asks for
the flow, the capacities of the arcs are added up again by pixel and direction. What is missing from them in
the residual capacities is the flow between the pixels.

::

    add up the capacities of all arcs                                    pixel_capacities
    subtract the residual capacities; compute the excess of each pixel   subtract_residual
    if no excess is above the capacity from the source to its pixel:
        return it there, and compute the flow of every input arc         flow_of_arcs
    otherwise build the residual network, which goes on                  residual_of_grid, take_over

The searches for augmenting paths leave excess only where it came from the source. Only push-relabel can leave
other excess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Integers
from ..graph.grid import GridNetwork
from ..graph.network import FlowNetwork
from ..graph.recognised_grid import (
    Arcs,
    Numbering,
    PixelCapacities,
    by_vertex,
    inner_number,
    is_terminal,
    pixel_capacities,
    recognise_grid,
)
from ..graph.residual import ResidualArrays, ResidualNetwork, build_residual
from ..graph.solved_capacities import solved_capacities
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..network.arcs import arcs_of, head
from ..solving.exclusive import Exclusive
from ..solving.run import Deadline
from ..stats import Phase, untimed
from .second_stage import HostSecondStage
from .step import Applied, Bounds, FlowProblem, SecondStage


@kernel
def subtract_residual(sums: PixelCapacities, steps: NDArray[np.uint64], left: Integers) -> bool:
    """Turn the capacities of a grid into the flow that leaves these residual capacities.

    ``left[p, 2 * k]`` is the residual capacity from pixel `p` to ``p + steps[k]``, and ``left[p, 2 * k + 1]``
    that to ``p - steps[k]``; 0 for arcs that leave the grid. Every ``sums.neighbor[2 * k * n + p]`` becomes
    the flow from `p` to ``p + steps[k]``. Every ``sums.source[p]`` becomes the excess of the pixel, or minus
    the capacity that is left from it to the sink.

    Return whether each pixel can return its excess to the source directly.
    """
    source, most, neighbor = sums.source, sums.sink, sums.neighbor
    n = np.uint64(len(source))
    for pixel in range(len(source)):
        net = source[pixel] - most[pixel]
        source[pixel] = net
        most[pixel] = max(net, np.int64(0))
    for number in range(len(steps)):
        k = np.uint64(number)
        row = (k + k) * n
        for pixel in range(len(source)):
            p = np.uint64(pixel)
            flow = np.int64(neighbor[row + p]) - np.int64(left[p, k + k])
            neighbor[row + p] = flow
            if flow != 0:
                source[p] -= flow
                source[p + steps[k]] += flow
    for pixel in range(len(source)):
        if source[pixel] > most[pixel]:
            return False
    return True


@kernel
def flow_of_arcs(arcs: Arcs, numbering: Numbering, sums: PixelCapacities, flow: NDArray[np.int64]) -> None:
    """Write the flow of every input arc to `flow`; `sums` is as :func:`subtract_residual` leaves it.

    Input arcs may join the same two pixels, or the same pixel and terminal. The first of them in input order
    get the flow between pixels, or the unused capacity at a terminal, as far as it goes. `sums` loses what
    they get.
    """
    source, sink, steps = numbering
    n = np.uint64(len(sums.source))
    has_reverse = len(arcs.reverse_capacity) > 0
    zero = np.int64(0)
    k = ZERO
    for i in range(len(arcs.tail)):
        tail, head = np.uint64(arcs.tail[i]), np.uint64(arcs.head[i])
        capacity = np.int64(arcs.capacity[i])
        reverse = np.int64(arcs.reverse_capacity[i]) if has_reverse else zero
        if tail == head:
            flow[i] = zero
            continue
        if is_terminal(tail, source, sink) or is_terminal(head, source, sink):
            forth = tail == source or head == sink
            amount = capacity if forth else reverse
            start, finish = (tail, head) if forth else (head, tail)
            if start != source or finish != sink:
                p = inner_number(finish if start == source else start, source, sink)
                excess = sums.source[p]
                unused = min(amount, max(excess if start == source else -excess, zero))
                sums.source[p] = excess - unused if start == source else excess + unused
                amount -= unused
            flow[i] = amount if forth else -amount
            continue
        u, v = inner_number(tail, source, sink), inner_number(head, source, sink)
        step = v - u if v > u else u - v
        if steps[k] != step:
            k = ZERO
            while steps[k] != step:
                k += ONE
        place = (k + k) * n + min(u, v)
        between = np.int64(sums.neighbor[place])
        amount = max(min(between if v > u else -between, capacity), -reverse)
        sums.neighbor[place] = between - amount if v > u else between + amount
        flow[i] = amount


@kernel
def reach_from_excess(
    steps: NDArray[np.uint64],
    left: Integers,
    excess: NDArray[np.int64],
    reached: NDArray[np.bool_],
    stack: NDArray[np.uint64],
) -> None:
    """Set ``reached[p]`` to True for pixels with excess and those that they reach over residual arcs.

    All are False on entry. `stack` is scratch with an entry for each pixel. `left` is as in
    :func:`subtract_residual`.
    """
    size = ZERO
    for pixel in range(len(excess)):
        if excess[pixel] > 0:
            reached[pixel] = True
            stack[size] = pixel
            size += ONE
    degree = np.uint64(left.shape[1])
    while size > ZERO:
        size -= ONE
        p = stack[size]
        d = ZERO
        while d < degree:
            if left[p, d] > 0:
                step = steps[d >> ONE]
                q = p + step if d & ONE == ZERO else p - step
                if not reached[q]:
                    reached[q] = True
                    stack[size] = q
                    size += ONE
            d += ONE


@kernel
def take_over(net: ResidualArrays, steps: NDArray[np.uint64], left: Integers) -> None:
    """Replace the capacities of a residual network by those that a solve of the same grid left.

    `left` is as in :func:`subtract_residual`. What the flow between neighbours takes from a vertex or brings
    to it changes its excess or its residual capacity to the sink.
    """
    k = ZERO
    for vertex in range(len(net.excess)):
        v = np.uint64(vertex)
        out = np.int64(0)
        a, end = arcs_of(net, v)
        while a < end:
            w = head(net, v, a)
            step = w - v if w > v else v - w
            if steps[k] != step:
                k = ZERO
                while steps[k] != step:
                    k += ONE
            now = np.int64(left[v, k + k + (ZERO if w > v else ONE)])
            out += np.int64(net.residual[a]) - now
            net.residual[a] = now
            a += ONE
        amount = net.excess[v] - net.sink_residual[v] - out
        net.excess[v] = max(amount, np.int64(0))
        net.sink_residual[v] = max(-amount, np.int64(0))


def residual_of_grid(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    steps: NDArray[np.uint64],
    left: Integers,
) -> ResidualNetwork:
    """Return the residual network of a network whose minimum cut was found on a grid.

    There is one source and one sink. `steps` and `left` are those of :func:`subtract_residual`.
    """
    built = build_residual(network, sources, sinks)
    # Kernels are compiled for one dtype of both, which every residual capacity of an arc fits.
    take_over(built.arrays, steps, left.astype(built.arrays.residual.dtype, copy=False))
    return built


class _PixelFlow(NamedTuple):
    """A flow whose excess goes back to the source directly."""

    arcs: Arcs
    sums: PixelCapacities  #: as :func:`subtract_residual` leaves it, without `sink`


class GridSecondStage(Exclusive):
    """The second stage of a network that was solved as a grid.

    `left` has the residual capacities that the solve left: see :func:`subtract_residual`.
    """

    def __init__(
        self, network: FlowNetwork, source: int, sink: int, steps: NDArray[np.uint64], left: Integers
    ) -> None:
        self._network, self._source, self._sink = network, source, sink
        self._steps, self._left = steps, left
        self._general: HostSecondStage | None = None

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        with phase("recover"):
            found = self._returned()
            return self._flow_of_arcs(found) if isinstance(found, _PixelFlow) else found.flow()

    def preflow(self) -> AnyArray:
        """Return a preflow of the same value: the flow, unless it takes a search to return the excess."""
        found = self._returned()
        return self._flow_of_arcs(found) if isinstance(found, _PixelFlow) else found.preflow()

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source can reach over residual arcs once all excess is returned."""
        found = self._returned()
        if isinstance(found, HostSecondStage):
            return found.source_side()
        excess = found.sums.source
        reached = np.zeros(len(excess), dtype=bool)
        stack = np.empty(len(excess), dtype=np.uint64)
        reach_from_excess(self._steps, self._left, excess, reached, stack)
        return by_vertex(reached, self._source, self._sink, of_source=True)

    def _returned(self) -> _PixelFlow | HostSecondStage:
        """Return the flow between pixels, or the second stage of arcs where excess needs a search."""
        if self._general is not None:
            return self._general
        network, source, sink = self._network, np.array([self._source]), np.array([self._sink])
        solved = solved_capacities(network, source, sink, 1)
        arcs = Arcs(network.tail, network.head, *solved.both())
        found = pixel_capacities(arcs, self._numbering, len(self._left), 1)
        assert found is not None, "the solve has added up the same capacities"
        sums = found[0]
        if subtract_residual(sums, self._steps, self._left.astype(sums.neighbor.dtype, copy=False)):
            return _PixelFlow(arcs, sums._replace(sink=np.empty(0, dtype=np.int64)))
        del found, sums
        residual = residual_of_grid(network, source, sink, self._steps, self._left)
        self._general = HostSecondStage(network, residual)
        return self._general

    @property
    def _numbering(self) -> Numbering:
        return Numbering(np.uint64(self._source), np.uint64(self._sink), self._steps)

    def _flow_of_arcs(self, found: _PixelFlow) -> Array:
        flow = np.empty(self._network.num_arcs, dtype=np.int64)
        flow_of_arcs(found.arcs, self._numbering, found.sums, flow)
        return flow


@dataclass(frozen=True, eq=False)
class AsGrid(Applied[GridNetwork]):
    """A network as a grid."""

    network: FlowNetwork
    source: int
    sink: int
    reduced: GridNetwork
    steps: NDArray[np.uint64]  #: shape (K,): the step of each pair of opposite directions of the grid
    direct: int  #: the capacity straight from the source to the sink

    @property
    def note(self) -> str:
        """The shape of the grid."""
        shape = " x ".join(map(str, self.reduced.shape))
        return f"the network is a grid of {shape} vertices, so no arcs are stored"

    def lift_bounds(self, bounds: Bounds) -> Bounds:
        """Add what goes straight from the source to the sink."""
        lower, upper, gap = bounds
        return Bounds(lower + self.direct, upper + self.direct, gap)

    def lift_cut(self, sink_side: AnyArray) -> NDArray[np.bool_]:
        """Return the sink's side by vertex, given that by pixel."""
        return by_vertex(sink_side, self.source, self.sink, of_source=False)

    def lift_flow(self, found: Integers) -> SecondStage:
        """Return what computes the flow from the residual capacities that the solve left."""
        return GridSecondStage(self.network, self.source, self.sink, self.steps, found)


def apply(problem: FlowProblem, deadline: Deadline, threads: int = 1) -> AsGrid | None:
    """Return the grid that a network with one source and one sink is; None if it is none.

    `threads` threads add up capacities; what they have begun they end, whatever the deadline.
    """
    (source,), (sink,) = problem.sources.tolist(), problem.sinks.tolist()
    found = recognise_grid(problem.network, source, sink, threads)
    if found is None:
        return None
    return AsGrid(problem.network, source, sink, found.grid, found.steps, found.direct)
