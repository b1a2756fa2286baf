"""Excess on its way from block to block: waves that all threads drive together, before regions are merged.

After the blocks of a grid were solved alone, excess is left that can reach deficits in other blocks only.
Merging alone carries it there with ever fewer threads. Here, as in region discharge (Delong and Boykov, CVPR
2008; Shekhovtsov and Hlavac, IJCV 2013), blocks stay closed and pass excess on over their faces.

The distance of a pixel is the least number of faces on a way to a deficit: 0 where one is reached within the
block (distances.py). A wave first finds all distances, then lets excess flow from the largest distance down:
within a block, excess at distance k goes to arcs that lead to distance k - 1, by the incremental search, as
if these arcs were deficits; what was sent arrives when all blocks are done with k. So a wave is about a
blocking flow of the network of blocks, and distances grow from wave to wave. Departure: waves end after a
few; the merges, which are exact from any flow on, do the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.atomics import fetch_or, relaxed_load, relaxed_store
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..parallel.delays import delay
from .blocks import arcs_of, block_box, row_of, rows_of
from .distances import FAR, Waves, end_turn, ends_of, face_at, find_distances, next_block
from .forests import (
    DEPTH,
    HEAD,
    LENGTH,
    SINK,
    SOURCE,
    Forests,
    dequeue,
    enqueue,
)
from .growth import search

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: The label of pixels that take no part: as if in the sink's forest, farther than any parent may be.
OUT = np.int32(-(2**30))
#: Position in a row of Control.thread_counts: nanoseconds that waves took, counted by the first thread.
WAVE_NANOSECONDS = 12


@kernel
def bit_of(level: Any) -> Any:
    """Return the bit that stands for a distance in Waves.levels_at."""
    return ONE << min(np.uint64(level), np.uint64(63))


@kernel
def note_excess(waves: Waves, box: Any, block: Any) -> Any:
    """Note at which distances a block has excess; return how many of its pixels have some that can flow."""
    state, blocks = waves.state, waves.blocks
    block_box(blocks, block, box)
    found, levels = ZERO, ZERO
    for row in range(rows_of(box)):
        p, last = row_of(blocks, box, row)
        while p < last:
            if state.terminal[p] > 0 and waves.distance[p] != FAR:
                found += ONE
                levels |= bit_of(waves.distance[p])
            p += ONE
    waves.levels_at[block] = levels
    return found


@kernel
def lend(waves: Waves, block: Any, level: Any, sign: Any) -> None:
    """Make deficits of what arcs of a block take to the next distance; or with ``sign = 1`` undo that."""
    faces, distance, terminal = waves.faces, waves.distance, waves.state.terminal
    at = waves.first_at[block]
    while at < waves.first_at[block + ONE]:
        face, side = face_at(waves, at)
        k, end = arcs_of(faces, face)
        while k < end:
            here, there = ends_of(waves, face, side, k)
            if np.uint64(distance[here]) == level and np.uint64(distance[there]) + ONE == level:
                terminal[here] += sign * faces.kept[k, side]
            k += ONE
        at += ONE


@kernel
def hand_on(waves: Waves, block: Any, level: Any) -> None:
    """Send excess over the arcs of a block that lead to the next distance."""
    faces, distance, terminal = waves.faces, waves.distance, waves.state.terminal
    at = waves.first_at[block]
    while at < waves.first_at[block + ONE]:
        face, side = face_at(waves, at)
        k, end = arcs_of(faces, face)
        sent = False
        while k < end:
            here, there = ends_of(waves, face, side, k)
            if (
                terminal[here] > 0
                and np.uint64(distance[here]) == level
                and np.uint64(distance[there]) + ONE == level
            ):
                amount = min(terminal[here], faces.kept[k, side])
                if amount > 0:
                    faces.kept[k, side] -= amount
                    faces.kept[k, ONE - side] += amount
                    terminal[here] -= amount
                    waves.moved[k] = amount if side == ZERO else -amount
                    sent = True
            k += ONE
        if sent:
            fetch_or(waves.levels_at, faces.ends[face, ONE - side], bit_of(level - ONE))
        at += ONE


@kernel
def receive(waves: Waves, block: Any) -> None:
    """Take in what other blocks have sent to a block."""
    faces, terminal = waves.faces, waves.state.terminal
    at = waves.first_at[block]
    while at < waves.first_at[block + ONE]:
        face, side = face_at(waves, at)
        k, end = arcs_of(faces, face)
        while k < end:
            amount = relaxed_load(waves.moved, k)
            if amount > 0 if side == ONE else amount < 0:
                here, _ = ends_of(waves, face, side, k)
                terminal[here] += abs(amount)
                relaxed_store(waves.moved, k, 0)
            k += ONE
        at += ONE


@kernel
def push_down(waves: Waves, thread: Any, forests: Forests, box: Any, block: Any, level: Any) -> None:
    """Let the excess of a block at a distance flow to deficits, or over its faces to the next distance.

    No pixel at another distance can be on the way. Only the sink's forest grows: pixels with excess are
    marked as if on the other queue already, those that take no part as if on both.
    """
    state, blocks = waves.state, waves.blocks
    label, parent = forests.label, forests.parent
    root = len(state.step)
    block_box(blocks, block, box)
    if level > ZERO:
        lend(waves, block, level, -1)
    sources = False
    for row in range(rows_of(box)):
        p, last = row_of(blocks, box, row)
        while p < last:
            if np.uint64(waves.distance[p]) != level:
                label[p], parent[p], forests.queued[p] = OUT, root + 1, 3
            else:
                amount = state.terminal[p]
                label[p], parent[p], forests.queued[p] = 0, root, 0
                if amount > 0:
                    label[p], forests.queued[p] = 1, 1
                    sources = True
                elif amount < 0:
                    label[p] = -1
                    enqueue(forests, p, SINK)
            p += ONE
    forests.cursor[DEPTH + SOURCE] = ONE
    forests.cursor[DEPTH + SINK] = ONE
    if sources:
        search(
            state, forests, waves.stop, waves.counts[thread]
        )  # where it lacks room for levels, some excess stays
    for forest in (SOURCE, SINK):
        while forests.cursor[LENGTH + forest] > ZERO:
            dequeue(forests, forest)
        forests.cursor[HEAD + forest] = ZERO
    if level > ZERO:
        lend(waves, block, level, 1)
        hand_on(waves, block, level)


@kernel
def send_down(waves: Waves, thread: Any, forests: Forests, box: Any, turn: Any, level: Any) -> bool:
    """Let all excess at a distance flow, one thread's share; False if the barrier is broken.

    What was sent arrives also where the solve is to stop.
    """
    block = next_block(waves, turn)
    while block < np.uint64(len(waves.levels_at)):
        delay(waves.delays, thread)
        if relaxed_load(waves.levels_at, block) & bit_of(level) != ZERO:
            receive(waves, block)
            if relaxed_load(waves.stop, ZERO) == 0:
                push_down(waves, thread, forests, box, block, level)
        block = next_block(waves, turn)
    return bool(end_turn(waves, turn, thread, ZERO) >= 0)


@kernel
def drive_waves(waves: Waves, thread: Any, forests: Forests, box: Any, most: Any) -> Any:
    """Drive up to `most` waves, one thread's share; return how many, less than 0 if the barrier is broken."""
    started = now()
    turn, sent = ZERO, 0
    while sent < most:
        levels = find_distances(waves, thread, forests.queue[ZERO], box, turn)
        if levels == ZERO:
            return -1
        turn += levels
        found = ZERO
        block = next_block(waves, turn)
        while block < np.uint64(len(waves.levels_at)):
            if relaxed_load(waves.stop, ZERO) == 0:
                found += note_excess(waves, box, block)
            block = next_block(waves, turn)
        total = end_turn(waves, turn, thread, found)
        turn += ONE
        if total < 0:
            return -1
        if total == 0:
            break
        while levels > ZERO:
            levels -= ONE
            if not send_down(waves, thread, forests, box, turn, levels):
                return -1
            turn += ONE
        sent += 1
    if thread == ZERO:
        waves.counts[thread, WAVE_NANOSECONDS] += now() - started
    return sent
