"""The second stage: turn a maximum preflow into a flow, and report it on the input's arcs.

Cherkassky and Goldberg (1997), section 2. Excess that cannot reach the sink goes back to the source along
the arcs that brought it.

::

    return excess over the vertex's own source arc                       return_directly
    list the vertices from which excess came, in topological order       order_upstream
        (a depth-first search; it cancels the cycles of flow it meets)
    empty them in that order along incoming flow                         return_upstream
    report the flow of every input arc                                   flow_of_arcs

This is linear in practice. If cycles abound so that walking them takes more than O(m log n), they are
cancelled on dynamic trees instead, all in O(m log n) (cycles.py): Sleator and Tarjan (1983), section 6.
on_gpu.py has the stage for networks on a GPU, completed.py the one for flows that two solves add up to.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Indices, Int64, Integers
from ...graph.network import FlowNetwork
from ...graph.residual import ResidualArrays, ResidualNetwork
from ...kernels.bfs import reachable_from_source
from ...kernels.constants import ONE, ZERO
from ...kernels.csr_build import InputArcs, residual_arc
from ...kernels.kernel import kernel
from ...stats import Phase, untimed

#: Colours of a vertex in the depth-first search: not visited, on the path from the root, finished.
WHITE, GREY, BLACK = 0, 1, 2


class Search(NamedTuple):
    """State of the depth-first search, one entry a vertex.

    Attributes
    ----------
    colour : ndarray of uint8
        WHITE at first.
    current : ndarray
        Current arc; at first the first one.
    stack, position : ndarray
        The path from the root, and the place of each vertex on it.
    """

    colour: NDArray[np.uint8]
    current: Indices
    stack: Indices
    position: Indices


class Unused(NamedTuple):
    """The capacities that a flow leaves unused, which :func:`flow_of_arcs` uses up.

    Attributes
    ----------
    arc : ndarray of int32 or int64, shape (m,)
        For each residual arc.
    source, sink : ndarray of int64, shape (n,)
        For each vertex, of its capacity from the source and to the sink.
    """

    arc: NDArray[np.int32] | NDArray[np.int64]
    source: NDArray[np.int64]
    sink: NDArray[np.int64]


@kernel
def return_directly(
    excess: NDArray[np.int64], source_capacity: NDArray[np.int64], returned: NDArray[np.int64]
) -> bool:
    """Return excess over the vertex's own source arc; return whether any excess is left."""
    left = False
    for v in range(len(excess)):
        if excess[v] > 0:
            amount = min(excess[v], source_capacity[v] - returned[v])
            returned[v] += amount
            excess[v] -= amount
            left = left or excess[v] > 0
    return left


@kernel
def _cancel_cycle(
    net: ResidualArrays,
    initial: Integers,
    current: Indices,
    stack: Indices,
    bottom: np.uint64,
    top: np.uint64,
) -> np.uint64:
    """Cancel the flow cycle over ``stack[bottom .. top]``; return the lowest position left without flow."""
    arc = np.uint64(current[stack[top]])
    amount = net.residual[arc] - initial[arc]
    k = bottom
    while k < top:
        arc = np.uint64(current[stack[k]])
        amount = min(amount, net.residual[arc] - initial[arc])
        k += ONE
    lowest = top
    k = top + ONE
    while k > bottom:
        k -= ONE
        arc = np.uint64(current[stack[k]])
        net.residual[arc] -= amount
        net.residual[net.reverse[arc]] += amount
        if net.residual[arc] <= initial[arc]:
            lowest = k
    return lowest


@kernel
def order_upstream(
    net: ResidualArrays, initial: Integers, order: Indices, search: Search, most_steps: np.uint64
) -> tuple[np.uint64, bool]:
    """List the vertices from which excess came, each before those that sent it flow; cancel cycles.

    An arc whose residual capacity is above its initial one carries flow into its vertex.

    Returns
    -------
    count : the number of vertices, which fill the end of `order`
    complete : False if the list is not complete, since the cycles met had more than `most_steps` arcs in all
    """
    n = np.uint64(len(net.excess))
    steps = ZERO
    colour, current, stack, position = search.colour, search.current, search.stack, search.position
    free = n
    for root in range(len(net.excess)):
        if net.excess[root] <= 0 or colour[root] != WHITE:
            continue
        colour[root] = GREY
        stack[ZERO] = root
        position[root] = ZERO
        size = ONE
        while size > ZERO:
            v = np.uint64(stack[size - ONE])
            a = np.uint64(current[v])
            last = np.uint64(net.first_out[v + ONE])
            while a < last:
                if net.residual[a] > initial[a]:
                    w = np.uint64(net.head[a])
                    if colour[w] != BLACK:
                        break
                a += ONE
            current[v] = a
            if a == last:
                colour[v] = BLACK
                free -= ONE
                order[free] = v
                size -= ONE
                continue
            w = np.uint64(net.head[a])
            if colour[w] == WHITE:
                colour[w] = GREY
                position[w] = size
                stack[size] = w
                size += ONE
            else:
                bottom = np.uint64(position[w])
                steps += size - bottom
                if steps > most_steps:
                    return n - free, False
                keep = _cancel_cycle(net, initial, current, stack, bottom, size - ONE)
                while size > keep + ONE:
                    size -= ONE
                    colour[stack[size]] = WHITE
    return n - free, True


@kernel
def return_upstream(
    net: ResidualArrays,
    initial: Integers,
    order: Indices,
    count: Int64,
    source_capacity: NDArray[np.int64],
    returned: NDArray[np.int64],
) -> None:
    """Empty the listed vertices in order: first to the source directly, then along incoming flow."""
    k = np.uint64(len(order)) - count
    n = np.uint64(len(order))
    while k < n:
        v = np.uint64(order[k])
        k += ONE
        excess = net.excess[v]
        if excess > 0:
            amount = min(excess, source_capacity[v] - returned[v])
            returned[v] += amount
            excess -= amount
        a = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        while excess > 0 and a < last:
            inflow = net.residual[a] - initial[a]
            if inflow > 0:
                amount = min(excess, inflow)
                net.residual[a] -= amount
                net.residual[net.reverse[a]] += amount
                net.excess[net.head[a]] += amount
                excess -= amount
            a += ONE
        net.excess[v] = excess


@kernel
def flow_of_arcs(
    arcs: InputArcs,
    rank: Indices,
    first_out: Indices,
    reverse: Indices,
    unused: Unused,
    shared: bool,
    flow: NDArray[np.int64],
) -> None:
    """Distribute the flow of residual arcs and terminals over the input arcs, in input order.

    Where several input arcs share a capacity, the capacity that is left is charged to the first of them;
    the others carry flow. `shared` says whether any two input arcs share a residual arc; only then is
    ``unused.arc`` changed.
    """
    source = np.uint64(len(unused.source))
    sink = source + ONE
    zero = np.int64(0)
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(arcs.tail)):
        total = zero
        forward, inside = residual_arc(arcs, rank, first_out, i)
        for direction in range(2 if has_reverse else 1):
            capacity = np.int64(arcs.capacity[i] if direction == 0 else arcs.reverse_capacity[i])
            left = capacity
            if inside:
                a = forward if direction == 0 else np.uint64(reverse[forward])
                left = min(capacity, np.int64(unused.arc[a]))
                if shared:
                    unused.arc[a] -= left
            else:
                t = np.uint64(arcs.inner[arcs.tail[i]])
                h = np.uint64(arcs.inner[arcs.head[i]])
                u = t if direction == 0 else h
                v = h if direction == 0 else t
                if u == source and v < source:
                    left = min(capacity, unused.source[v])
                    unused.source[v] -= left
                elif u < source and v == sink:
                    left = min(capacity, unused.sink[u])
                    unused.sink[u] -= left
                elif u == source and v == sink:
                    left = zero
            total += capacity - left if direction == 0 else left - capacity
        flow[i] = total


class SecondStage:
    """The second stage of one solve, run when a caller first needs it.

    Parameters
    ----------
    network : FlowNetwork
    residual : ResidualNetwork
        The residual network of `network`, as the first stage left it.
    """

    def __init__(self, network: FlowNetwork, residual: ResidualNetwork) -> None:
        self.network = network
        self.residual = residual
        self._returned: Array | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, object]:
        """Run the stage, after which the state no longer changes, and leave out the lock."""
        _ = self.returned
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    @property
    def returned(self) -> Array:
        """The flow returned over each vertex's source arcs; the first access runs the stage."""
        with self._lock:
            if self._returned is None:
                self._returned = return_excess(self.network, self.residual)
            return self._returned

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        with phase("recover"):
            return arc_flows(self.network, self.residual, self.returned)

    def preflow(self) -> AnyArray:
        """Return the current flow of every input arc, whether or not the stage has run."""
        with self._lock:
            returned = (
                np.zeros_like(self.residual.arrays.excess) if self._returned is None else self._returned
            )
            return arc_flows(self.network, self.residual, returned)

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source reaches over residual arcs after all excess is returned."""
        residual = self.residual
        reached = np.zeros(residual.num_vertices, dtype=bool)
        stack = np.empty(residual.num_vertices, dtype=residual.arrays.head.dtype)
        reachable_from_source(residual.arrays, self.returned, reached, stack)
        side: NDArray[np.bool_] = np.append(reached, [True, False])[residual.inner]
        return side


def return_excess(network: FlowNetwork, residual: ResidualNetwork) -> Array:
    """Send all excess back to the source, in place; return how much went back over each source arc.

    Returns
    -------
    returned : ndarray of int64, shape (n,)
    """
    net = residual.arrays
    returned = np.zeros_like(net.excess)
    source_capacity = residual.source_capacity(network)
    if return_directly(net.excess, source_capacity, returned):
        initial = residual.initial_residual(network)
        order = np.empty(len(net.excess), dtype=net.head.dtype)
        search = _new_search(net)
        most_steps = np.uint64(residual.num_arcs * residual.num_vertices.bit_length())
        count, complete = order_upstream(net, initial, order, search, most_steps)
        if not complete:
            from . import cycles

            cycles.cancel_all(net, initial)
            count, _ = order_upstream(net, initial, order, _new_search(net), most_steps)
        return_upstream(net, initial, order, count, source_capacity, returned)
    return returned


def _new_search(net: ResidualArrays) -> Search:
    n = len(net.excess)
    return Search(
        colour=np.full(n, WHITE, dtype=np.uint8),
        current=net.first_out[:-1].copy(),
        stack=np.empty(n, dtype=net.head.dtype),
        position=np.empty(n, dtype=net.head.dtype),
    )


def arc_flows(network: FlowNetwork, residual: ResidualNetwork, returned: Array) -> AnyArray:
    """Return the flow of every input arc.

    Parameters
    ----------
    network : FlowNetwork
    residual : ResidualNetwork
        After a solve; unchanged.
    returned : ndarray, shape (n,)
        The result of :func:`return_excess`; zeros for the preflow itself.

    Returns
    -------
    flow : ndarray of int64 or float64, shape (num_arcs,)
    """
    flow = np.empty(network.num_arcs, dtype=np.int64)
    net, shared = residual.arrays, residual.has_shared_arcs
    unused = Unused(
        arc=net.residual.copy() if shared else net.residual,
        source=returned.copy(),
        sink=net.sink_residual.copy(),
    )
    arcs = residual.input_arcs(network)
    flow_of_arcs(arcs, residual.rank, net.first_out, net.reverse, unused, shared, flow)
    return residual.in_input_units(flow)
