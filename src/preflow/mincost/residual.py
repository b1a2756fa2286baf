"""The residual network of cost scaling: the numbers of an arc lie side by side, by the tail of the arc.

Definitions. An *arc* here is a residual arc: one of the two directions of an arc of the instance. Its *place*
is the position of its first number in the array `arcs`. The numbers of an arc are its head, the place of the
opposite direction (its *mate*), its cost and its residual capacity. The *length* of an arc is its cost times
`2**shift`, plus the potential of its tail, minus that of its head.

A scan of a vertex whose arcs are not in the cache then loads one cache line for two or four arcs, instead of
one line of each of three arrays.

Self loops are in the lists, but never residual: their best flow depends on the sign of their cost only.

Arcs that carry the same flow in all later phases are *fixed*: they lie behind the *live* arcs of their tail,
and no search looks at them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Indices, Int64, Integers
from ..graph.standard_form import StandardForm, read_only
from ..kernels.atomics import fetch_add
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..parallel.pieces import run_pieces
from ..solving.read_only import read_only_view

#: Numbers of an arc.
FIELDS = np.uint64(4)
#: Positions of the mate, the cost and the residual capacity; the head is first.
MATE, COST, LEFT = np.uint64(1), np.uint64(2), np.uint64(3)


class Residual(NamedTuple):
    """A residual network."""

    #: shape (n + 1,): the arcs that leave vertex ``v`` are at the places
    #: ``first[v], first[v] + 4 .. first[v + 1] - 4``
    first: NDArray[np.uint64]
    live: NDArray[np.uint64]  #: shape (n,): those from place ``live[v]`` on are fixed
    #: int32 or int64, shape (8m,): head, mate, cost and residual capacity of each arc
    arcs: Integers
    #: shape (2m,): the arc of the instance whose forward direction the arc is, or m plus that whose backward
    #: direction
    origin: NDArray[np.uint32]


@kernel
def take_turn(counts: NDArray[np.uint64], v: np.uint64, step: np.uint64, shared: bool) -> np.uint64:
    """Return a count and add to it, by an atomic operation if threads share the counts."""
    if shared:
        return np.uint64(fetch_add(counts, v, step))
    before = np.uint64(counts[v])
    counts[v] = before + step
    return before


@kernel
def count_ends(
    tail: Indices, head: Indices, degree: NDArray[np.uint64], shared: bool, begin: np.uint64, end: np.uint64
) -> None:
    """Add the ends of some arcs of the instance to the degrees of vertices."""
    for i in range(begin, end):
        take_turn(degree, np.uint64(tail[i]), ONE, shared)
        take_turn(degree, np.uint64(head[i]), ONE, shared)


@kernel
def place_arcs(
    net: Residual,
    form: StandardForm,
    free: NDArray[np.uint64],
    shared: bool,
    begin: np.uint64,
    end: np.uint64,
) -> None:
    """Write some empty arcs of the instance in both directions; ``free[v]`` is `v`'s first free place."""
    arcs = net.arcs
    m = np.uint64(len(form.tail))
    for i in range(begin, end):
        u, v = np.uint64(form.tail[i]), np.uint64(form.head[i])
        forward = take_turn(free, u, FIELDS, shared)
        backward = take_turn(free, v, FIELDS, shared)
        arcs[forward], arcs[backward] = v, u
        arcs[forward + MATE], arcs[backward + MATE] = backward, forward
        arcs[forward + COST], arcs[backward + COST] = form.cost[i], -form.cost[i]
        arcs[forward + LEFT], arcs[backward + LEFT] = 0 if u == v else form.capacity[i], 0
        net.origin[forward // FIELDS] = i
        net.origin[backward // FIELDS] = i + m


@kernel
def put_flow(net: Residual, flow: NDArray[np.int64], begin: np.uint64, end: np.uint64) -> None:
    """Send a flow along those of some residual arcs, all empty, that are no self loops."""
    arcs = net.arcs
    m = np.uint64(len(flow))
    for number in range(begin, end):
        arc, i = number * FIELDS, np.uint64(net.origin[number])
        if arcs[arc] == arcs[np.uint64(arcs[arc + MATE])]:
            continue
        if i < m:
            arcs[arc + LEFT] -= flow[i]
        else:
            arcs[arc + LEFT] = flow[i - m]


@kernel
def gather_flow(net: Residual, begin: np.uint64, end: np.uint64) -> None:
    """Write the flow of each arc of the instance, as far as some residual arcs have it, over the i-th mate.

    The flow is the residual capacity of the backward direction. No mate is needed any more.
    """
    arcs = net.arcs
    m = np.uint64(len(net.origin) // 2)
    for number in range(begin, end):
        i = np.uint64(net.origin[number])
        if i >= m:
            arcs[(i - m) * FIELDS + MATE] = arcs[number * FIELDS + LEFT]


@kernel
def copy_flow(
    arcs: Integers, form: StandardForm, flow: NDArray[np.int64], begin: np.uint64, end: np.uint64
) -> None:
    """Copy the gathered flow of some arcs of the instance.

    A self loop is full if its cost is negative, else empty.
    """
    for i in range(begin, end):
        if form.tail[i] == form.head[i]:
            flow[i] = form.capacity[i] if form.cost[i] < 0 else 0
        else:
            flow[i] = arcs[i * FIELDS + MATE]


@kernel
def swap_arcs(net: Residual, a: np.uint64, b: np.uint64) -> None:
    """Exchange two arcs of one tail."""
    arcs = net.arcs
    if a == b:
        return
    mate_a, mate_b = np.uint64(arcs[a + MATE]), np.uint64(arcs[b + MATE])
    for field in range(FIELDS):
        arcs[a + field], arcs[b + field] = arcs[b + field], arcs[a + field]
    # Mates in the list of the same vertex, as those of self loops, may be the exchanged arcs themselves.
    if mate_a == b:
        arcs[a + MATE], arcs[b + MATE] = b, a
    else:
        arcs[mate_a + MATE] = b
        arcs[mate_b + MATE] = a
    i, j = a // FIELDS, b // FIELDS
    net.origin[i], net.origin[j] = net.origin[j], net.origin[i]


@kernel
def length_of(
    net: Residual, potential: NDArray[np.int64], shift: Int64, u: Index, arc: np.uint64
) -> np.int64:
    """Return the length of an arc that leaves `u`."""
    cost = np.int64(net.arcs[arc + COST]) << shift
    return np.int64(cost + potential[u] - potential[np.uint64(net.arcs[arc])])


def build_residual(form: StandardForm, flow: NDArray[np.int64] | None, threads: int = 1) -> Residual:
    """Return the residual network of a flow within the capacities, without fixed arcs; linear time.

    None is the flow of nothing. Several threads leave the arcs of a vertex in any order.
    """
    n, m = len(form.supply), len(form.tail)
    largest = max(
        8 * m,
        n,
        int(form.capacity.max(initial=0)),
        int(form.cost.max(initial=0)),
        -int(form.cost.min(initial=0)),
    )
    frozen, shared = read_only(form), threads > 1
    degree = np.zeros(n, dtype=np.uint64)
    run_pieces(
        lambda begin, end: count_ends(
            frozen.tail, frozen.head, degree, shared, np.uint64(begin), np.uint64(end)
        ),
        m,
        threads,
    )
    first = np.zeros(n + 1, dtype=np.uint64)
    np.multiply(np.cumsum(degree), FIELDS, out=first[1:])
    net = Residual(
        first,
        first[1:].copy(),
        np.empty(8 * m, dtype=np.int32 if largest < 2**31 else np.int64),
        np.empty(2 * m, dtype=np.uint32),
    )
    free = first[:-1].copy()
    run_pieces(
        lambda begin, end: place_arcs(net, frozen, free, shared, np.uint64(begin), np.uint64(end)), m, threads
    )
    if flow is not None:
        carried = read_only_view(flow)
        run_pieces(
            lambda begin, end: put_flow(net, carried, np.uint64(begin), np.uint64(end)), 2 * m, threads
        )
    return net


def flow_in_place(net: Residual, threads: int) -> Integers:
    """Return the arcs of a network, whose mates are now the flow: of the i-th arc of the instance the i-th.

    No other array is needed for it, and the network is of no use any more.
    """
    run_pieces(
        lambda begin, end: gather_flow(net, np.uint64(begin), np.uint64(end)), len(net.origin), threads
    )
    return net.arcs


def flow_from(arcs: Integers, form: StandardForm, threads: int) -> NDArray[np.int64]:
    """Return the flow of each arc of the instance from what :func:`flow_in_place` returned."""
    flow = np.empty(len(form.tail), dtype=np.int64)
    frozen = read_only(form)
    run_pieces(
        lambda begin, end: copy_flow(arcs, frozen, flow, np.uint64(begin), np.uint64(end)), len(flow), threads
    )
    return flow
