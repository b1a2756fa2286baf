"""The second stage: turn a maximum preflow into a flow, and compute the flow of every input arc.

Cherkassky and Goldberg (1997), section 2. Excess that cannot reach the sink goes back to the source along
the arcs that brought it.

::

    return excess over the vertex's own source arc                       return_directly
    list the vertices from which excess came, in topological order       order_along_flow
        (a depth-first search; it cancels the cycles of flow it meets)
    in that order, push the excess of each back along incoming flow      return_along_flow
    compute the flow of every input arc                                  flow_of_arcs

With the `sign` -1 instead of 1 the same functions cancel deficits, which are negative excess, along outgoing
flow to the sink: a flow that is continued after changes may have some.

In practice this takes linear time. Many cycles of flow could make it slow: cancelling a cycle takes time
proportional to its length. So the search counts the arcs of the cycles that it cancels, and gives up after
O(m log n). Then cycles.py cancels all cycles on dynamic trees in O(m log n) (Sleator and Tarjan 1983, section
6), and the search starts again.

on_gpu.py has the second stage for networks on a GPU.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Index, Indices, Int64, Integers
from ...graph.network import FlowNetwork
from ...graph.residual import ResidualArrays, ResidualNetwork
from ...kernels.constants import ONE, ZERO
from ...kernels.csr_build import InputArcs, residual_arc
from ...kernels.kernel import kernel
from ...network import reachable_from_source
from ...network.arcs import arcs_of, end, head, opposite, push_along
from ...solving.exclusive import Exclusive
from ...stats import Phase, untimed

#: Colours of a vertex in the depth-first search: not visited, on the current path from the root, finished.
WHITE, GREY, BLACK = 0, 1, 2


class SecondStageSearch(NamedTuple):
    """State of the depth-first search; all arrays have shape (n,)."""

    colour: NDArray[np.uint8]  #: WHITE, GREY or BLACK; at the start WHITE
    current: Indices  #: current arc of each vertex; at the start its first arc
    stack: Indices  #: the vertices on the path from the root
    position: Indices  #: where on the path each GREY vertex is


class Unused(NamedTuple):
    """The capacity that a flow leaves unused and :func:`flow_of_arcs` has not yet given to an input arc."""

    #: int32 or int64, shape (m,): unused capacity of each residual arc
    arc: NDArray[np.int32] | NDArray[np.int64]
    #: shape (n,): unused capacity from the source to each vertex, and from each vertex to the sink
    source: NDArray[np.int64]
    sink: NDArray[np.int64]


@kernel
def return_directly(
    excess: NDArray[np.int64], capacity: NDArray[np.int64], returned: NDArray[np.int64], sign: Int64
) -> bool:
    """Return excess over the arcs of vertices from the source; return whether any excess is left."""
    left = False
    for v in range(len(excess)):
        there = sign * excess[v]
        if there > 0:
            amount = min(there, capacity[v] - returned[v])
            returned[v] += amount
            excess[v] -= sign * amount
            left = left or amount < there
    return left


@kernel
def _cancel_cycle(
    net: ResidualArrays,
    initial: Integers,
    current: Indices,
    stack: Indices,
    bottom: np.uint64,
    top: np.uint64,
    sign: Int64,
) -> np.uint64:
    """Cancel the cycle of flow over the current arcs of ``stack[bottom .. top]``; see `order_along_flow`.

    Return the lowest position whose current arc has no flow left.
    """
    arc = np.uint64(current[stack[top]])
    amount = sign * (net.residual[arc] - initial[arc])
    k = bottom
    while k < top:
        arc = np.uint64(current[stack[k]])
        amount = min(amount, sign * (net.residual[arc] - initial[arc]))
        k += ONE
    lowest = top
    k = top + ONE
    while k > bottom:
        k -= ONE
        arc = np.uint64(current[stack[k]])
        net.residual[arc] -= sign * amount
        net.residual[opposite(net, arc)] += sign * amount
        if net.residual[arc] == initial[arc]:
            lowest = k
    return lowest


@kernel
def order_along_flow(
    net: ResidualArrays,
    initial: Integers,
    order: Indices,
    search: SecondStageSearch,
    most_steps: np.uint64,
    sign: Int64,
) -> tuple[np.uint64, bool]:
    """List the vertices with excess and those that sent it, each vertex before those that sent it flow.

    The search follows flow backwards and cancels the cycles of flow that it meets. If the residual capacity
    of an arc (v, w) is above its initial one, flow goes from w to v. With the `sign` -1 instead of 1 the
    search follows flow forwards, from the vertices with a deficit. Return the number of listed vertices,
    which are the last entries of `order`, and False if the search gave up, because its cycles had more than
    `most_steps` arcs in all.
    """
    n = np.uint64(len(net.excess))
    steps = ZERO
    colour, current, stack, position = search.colour, search.current, search.stack, search.position
    free = n
    for root in range(len(net.excess)):
        if sign * net.excess[root] <= 0 or colour[root] != WHITE:
            continue
        colour[root] = GREY
        stack[ZERO] = root
        position[root] = ZERO
        size = ONE
        while size > ZERO:
            v = np.uint64(stack[size - ONE])
            a = np.uint64(current[v])
            last = end(net, v)
            while a < last:
                if sign * (net.residual[a] - initial[a]) > 0:
                    w = head(net, v, a)
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
            w = head(net, v, a)
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
                keep = _cancel_cycle(net, initial, current, stack, bottom, size - ONE, sign)
                while size > keep + ONE:
                    size -= ONE
                    colour[stack[size]] = WHITE
    return n - free, True


@kernel
def return_along_flow(
    net: ResidualArrays,
    initial: Integers,
    order: Indices,
    count: Index,
    capacity: NDArray[np.int64],
    returned: NDArray[np.int64],
    sign: Int64,
) -> None:
    """Push the excess of the listed vertices back, in order: to the source directly, then along inflow."""
    k = np.uint64(len(order)) - count
    n = np.uint64(len(order))
    while k < n:
        v = np.uint64(order[k])
        k += ONE
        excess = sign * net.excess[v]
        if excess > 0:
            amount = min(excess, capacity[v] - returned[v])
            returned[v] += amount
            excess -= amount
        a, last = arcs_of(net, v)
        while excess > 0 and a < last:
            inflow = sign * (net.residual[a] - initial[a])
            if inflow > 0:
                amount = min(excess, inflow)
                w = head(net, v, a)
                push_along(net, v, w, a, sign * amount)
                net.excess[w] += sign * amount
                excess -= amount
            a += ONE
        net.excess[v] = sign * excess


@kernel
def flow_of_arcs(
    arcs: InputArcs,
    rank: Indices,
    first_out: Indices,
    reverse: Indices,
    unused: Unused,
    shared: bool,
    shared_terminals: bool,
    flow: NDArray[np.int64],
) -> None:
    """Write the flow of every input arc to `flow`, from the unused capacities.

    Input arcs may share a residual arc, or the capacity of a vertex from the source or to the sink. Then the
    first of them in input order get the unused capacity, as far as it goes, and the later ones carry the
    flow. `shared` and `shared_terminals` say whether any two input arcs do so. This function changes
    ``unused.arc`` only if `shared`, and the rest of `unused` only if `shared_terminals`.
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
                    if shared_terminals:
                        unused.source[v] -= left
                elif u < source and v == sink:
                    left = min(capacity, unused.sink[u])
                    if shared_terminals:
                        unused.sink[u] -= left
                elif u == source and v == sink:
                    left = zero
            total += capacity - left if direction == 0 else left - capacity
        flow[i] = total


class HostSecondStage(Exclusive):
    """The second stage of a solve in host memory, which runs when a caller first needs it.

    `residual` is the residual network of `network`, as the first stage left it.
    """

    def __init__(self, network: FlowNetwork, residual: ResidualNetwork) -> None:
        self.network, self.residual = network, residual
        # What went back so far: the stage goes on from there after Ctrl-C.
        self._returned = np.zeros_like(residual.arrays.excess)
        self._is_done = False

    def __getstate__(self) -> dict[str, object]:
        """Run the stage, after which the state no longer changes."""
        _ = self.returned
        return super().__getstate__()

    @property
    def returned(self) -> Array:
        """The flow returned to the source from each vertex; the first access runs the stage."""
        if not self._is_done:
            return_excess(self.network, self.residual, self._returned)
            self._is_done = True
        return self._returned

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        with phase("recover"):
            return arc_flows(self.network, self.residual, self.returned)

    def preflow(self) -> AnyArray:
        """Return the flow of every input arc as it is now, without running the stage."""
        return arc_flows(self.network, self.residual, self._returned)

    def source_side(self) -> NDArray[np.bool_]:
        """Return which input vertices the source can reach over residual arcs once the stage has run."""
        residual = self.residual
        reached = np.zeros(residual.num_vertices, dtype=bool)
        stack = np.empty(residual.num_vertices, dtype=residual.arrays.head.dtype)
        reachable_from_source(residual.arrays, self.returned, reached, stack)
        side: NDArray[np.bool_] = np.append(reached, [True, False])[residual.inner]
        return side


def return_excess(network: FlowNetwork, residual: ResidualNetwork, returned: Array) -> None:
    """Send all excess back to the source, in place.

    `returned` has how much went back from each vertex before; afterwards, in all.
    """
    net = residual.arrays
    source_capacity = residual.source_capacity(network)
    sign = np.int64(1)
    if return_directly(net.excess, source_capacity, returned, sign):
        initial = residual.initial_residual(network)
        order, count = topological_order(net, initial, 1)
        return_along_flow(net, initial, order, count, source_capacity, returned, sign)


def topological_order(net: ResidualArrays, initial: Array, sign: int) -> tuple[Array, np.uint64]:
    """Return the vertices that :func:`order_along_flow` lists, at the end of an array, and their number.

    Cycles of flow that the search meets are cancelled, and so may all others be.
    """
    order = np.empty(len(net.excess), dtype=net.head.dtype)
    most_steps = np.uint64(len(net.head) * len(net.excess).bit_length())
    search = _new_search(net, order)
    count, complete = order_along_flow(net, initial, order, search, most_steps, np.int64(sign))
    if not complete:
        from . import cycles

        del search
        cycles.cancel_all(net, initial)
        search = _new_search(net, order)
        count, _ = order_along_flow(net, initial, order, search, most_steps, np.int64(sign))
    return order, count


def _new_search(net: ResidualArrays, order: Array) -> SecondStageSearch:
    """Return the state of a search that has its stack at the front of `order`, which fills from its end.

    A vertex is on the stack or listed, never both.
    """
    n = len(net.excess)
    return SecondStageSearch(
        colour=np.full(n, WHITE, dtype=np.uint8),
        current=net.first_out[:-1].copy(),
        stack=order,
        position=np.empty(n, dtype=net.head.dtype),
    )


def arc_flows(network: FlowNetwork, residual: ResidualNetwork, returned: Array) -> AnyArray:
    """Return the flow of every input arc; the residual network after a solve is not changed.

    `returned` is what :func:`return_excess` wrote, or zeros to get the preflow before the second stage.
    """
    flow = np.empty(network.num_arcs, dtype=np.int64)
    net, shared, shared_terminals = residual.arrays, residual.has_shared_arcs, residual.has_shared_terminals
    unused = Unused(
        arc=net.residual.copy() if shared else net.residual,
        source=returned.copy() if shared_terminals else returned,
        sink=net.sink_residual.copy() if shared_terminals else net.sink_residual,
    )
    arcs = residual.input_arcs(network)
    flow_of_arcs(arcs, residual.rank, net.first_out, net.reverse, unused, shared, shared_terminals, flow)
    return residual.in_input_units(flow)
