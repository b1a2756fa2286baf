"""Passes over all residual arcs by several threads: fix arcs, find those too short.

Definitions are those of :mod:`..residual`. Each thread takes some vertices after the other.

Fixing arcs moves them within the list of their tail, and the mate of each must learn its new place. One
thread does both at once, in :mod:`.arc_fixing`. Here the mates may move at the same
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

from ...arrays import Int64
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.pieces import run_pieces
from ..residual import FIELDS, LEFT, MATE, Residual, length_of

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
