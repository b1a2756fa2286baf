"""Passes over all residual arcs by several threads: build the network, fix arcs, find those too short.

Definitions are those of :mod:`..residual`. Each thread takes some vertices, or some arcs of the instance,
after the other.

Fixing arcs moves them within the list of their tail, and the mate of each must learn its new place. One
thread does both at once, in :mod:`..serial_cost_scaling.arc_fixing`. Here the mates may move at the same
time, so there are two passes. In the first a thread writes arcs of its own vertices only, and where each has
gone. In the second it writes mates of its own arcs only.

Pseudo-code of fixing::

    for each vertex:                                                                   move_arcs
        exchange arcs until those whose length exceeds the limit are behind the others
        note the new place of each arc once no exchange will move it again
    for each arc: its mate is where that has gone, if any arc has moved                point_to_mates
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64
from ...graph.standard_form import StandardForm, read_only
from ...kernels.atomics import fetch_add
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.pieces import run_pieces
from ...solving.read_only import read_only_view
from ..residual import COST, FIELDS, LEFT, MATE, Residual, empty_residual, length_of, put_flow

#: For each residual arc, where the pass moves it; see :func:`move_arcs`.
Moves: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]


def new_moves(net: Residual) -> Moves:
    """Return room for the new place of each arc in the list of its tail."""
    longest = int(np.diff(net.first).max(initial=0)) // int(FIELDS)
    size = len(net.origin)
    if longest <= 2**8:
        return np.empty(size, dtype=np.uint8)
    return np.empty(size, dtype=np.uint16) if longest <= 2**16 else np.empty(size, dtype=np.uint32)


@kernel
def count_ends(
    tail: Indices, head: Indices, degree: NDArray[np.int64], begin: np.uint64, end: np.uint64
) -> None:
    """Add the ends of some arcs to the degrees of vertices."""
    for i in range(begin, end):
        fetch_add(degree, np.uint64(tail[i]), np.int64(1))
        fetch_add(degree, np.uint64(head[i]), np.int64(1))


@kernel
def place_some(
    net: Residual, form: StandardForm, free: NDArray[np.uint64], begin: np.uint64, end: np.uint64
) -> None:
    """Write some empty arcs in both directions; ``free[v]`` is `v`'s first place that no thread has taken."""
    arcs = net.arcs
    m = np.uint64(len(form.tail))
    for i in range(begin, end):
        u, v = np.uint64(form.tail[i]), np.uint64(form.head[i])
        forward = fetch_add(free, u, FIELDS)
        backward = fetch_add(free, v, FIELDS)
        arcs[forward], arcs[backward] = v, u
        arcs[forward + MATE], arcs[backward + MATE] = backward, forward
        arcs[forward + COST], arcs[backward + COST] = form.cost[i], -form.cost[i]
        arcs[forward + LEFT], arcs[backward + LEFT] = 0 if u == v else form.capacity[i], 0
        net.origin[forward // FIELDS] = i
        net.origin[backward // FIELDS] = i + m


def build_together(form: StandardForm, flow: NDArray[np.int64] | None, threads: int) -> Residual:
    """Return the residual network of a flow, or of none; the order of the arcs of a vertex is any."""
    degree = np.zeros(len(form.supply), dtype=np.int64)
    m = len(form.tail)
    run_pieces(
        lambda begin, end: count_ends(form.tail, form.head, degree, np.uint64(begin), np.uint64(end)),
        m,
        threads,
    )
    net = empty_residual(form, degree)
    frozen = read_only(form)
    free = net.first[:-1].copy()
    run_pieces(lambda begin, end: place_some(net, frozen, free, np.uint64(begin), np.uint64(end)), m, threads)
    if flow is not None:
        carried = read_only_view(flow)
        run_pieces(
            lambda begin, end: put_flow(net, carried, np.uint64(begin), np.uint64(end)),
            len(net.origin),
            threads,
        )
    return net


@kernel
def move_arcs(
    net: Residual,
    potential: NDArray[np.int64],
    shift: Int64,
    most: Int64,
    now: Moves,
    begin: np.uint64,
    end: np.uint64,
) -> np.uint64:
    """Fix the live arcs of some vertices whose length exceeds `most` in size; return how many moved.

    The *number* of an arc is its place divided by FIELDS. For that before the pass, `now` gets the one after,
    counted from the first arc of its tail.
    """
    arcs, origin = net.arcs, net.origin
    moved = ZERO
    for u in range(begin, end):
        arc, live = net.first[u], net.live[u]
        start = arc // FIELDS
        number, past = live // FIELDS, net.first[u + ONE] // FIELDS
        while number < past:
            now[number] = number - start
            number += ONE
        # The number that the arc at the place `arc` had. Exchanges bring it arcs from the end, one by one.
        number = arc // FIELDS
        while arc < live:
            if abs(length_of(net, potential, shift, u, arc)) <= most:
                now[number] = arc // FIELDS - start
                arc += FIELDS
                number = arc // FIELDS
                continue
            live -= FIELDS
            now[number] = live // FIELDS - start
            if arc == live:
                break
            for field in range(FIELDS):
                arcs[arc + field], arcs[live + field] = arcs[live + field], arcs[arc + field]
            i, number = arc // FIELDS, live // FIELDS
            origin[i], origin[number] = origin[number], origin[i]
            moved += ONE
        net.live[u] = live
    return moved


@kernel
def point_to_mates(net: Residual, now: Moves, begin: np.uint64, end: np.uint64) -> None:
    """Write the new places of the mates of some arcs."""
    arcs = net.arcs
    for number in range(begin, end):
        arc = number * FIELDS
        moved = np.uint64(now[np.uint64(arcs[arc + MATE]) // FIELDS])
        arcs[arc + MATE] = net.first[np.uint64(arcs[arc])] + moved * FIELDS


def fix_together(
    net: Residual,
    potential: NDArray[np.int64],
    shift: np.int64,
    most: np.int64,
    now: Moves,
    threads: int,
) -> None:
    """Fix the live arcs whose length exceeds `most` or is below its negative; `now` is from new_moves."""
    moved = run_pieces(
        lambda begin, end: move_arcs(net, potential, shift, most, now, np.uint64(begin), np.uint64(end)),
        len(potential),
        threads,
    )
    if any(moved):
        run_pieces(
            lambda begin, end: point_to_mates(net, now, np.uint64(begin), np.uint64(end)),
            len(net.origin),
            threads,
        )


@kernel
def count_short(
    net: Residual, potential: NDArray[np.int64], shift: Int64, begin: np.uint64, end: np.uint64
) -> np.uint64:
    """Count the fixed residual arcs of negative length of some vertices."""
    found = ZERO
    for u in range(begin, end):
        arc = net.live[u]
        while arc < net.first[u + ONE]:
            if net.arcs[arc + LEFT] > 0 and length_of(net, potential, shift, u, arc) < 0:
                found += ONE
            arc += FIELDS
    return found


def count_together(net: Residual, potential: NDArray[np.int64], shift: np.int64, threads: int) -> int:
    """Return the number of fixed residual arcs of negative length."""
    found = run_pieces(
        lambda begin, end: count_short(net, potential, shift, np.uint64(begin), np.uint64(end)),
        len(potential),
        threads,
    )
    return int(sum(found))
