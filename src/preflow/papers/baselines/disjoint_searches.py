"""Phases of searches that have no column in common, by several threads.

Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen, "Multithreaded algorithms for maximum matching in
bipartite graphs", IPDPS 2012. Shared by :mod:`.multicore_disjoint_bfs` and :mod:`.multicore_pothen_fan`.

Definitions. In a *phase* the threads take free rows, the *roots*, and search from each. A column belongs to
the search whose number, its *stamp*, was written to it first in this phase. A *foreign* column belongs to
another search of the phase. A search is *clean* if it met no foreign column. A *closed* column is one that no
search enters again.

Invariants:

- A column's stamp changes only by compare-and-swap until the phase ends at a barrier, so at most one search
  owns it.
- The owner of a column also owns the row that it is matched with and the edge between them. So the thread
  that augments needs no lock.
- A clean search that fails has seen all that its root can reach, whatever other threads do meanwhile: they
  cannot change what it owns. Its columns are closed, and its root is dropped.
- A phase without an augmentation proves the matching maximum: all searches failed, the matching did not
  change, and every column next to a row that was reached was reached, none of them free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Index, Indices
from ...bipartite.match_arrays import NONE, Matching
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.atomics import compare_exchange, relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel, kernel_around
from ...parallel.barrier import wait
from ...parallel.rounds import (
    Round,
    Rounds,
    append_item,
    end_round,
    make_rounds,
    should_stop,
    start_round,
    take_items,
)
from ...parallel.thread_pool import share_of
from ...solving.run import Control
from ...stats import AUGMENTATIONS, PHASES


class Disjoint(NamedTuple):
    """The state that the threads share, besides the graph and the matching."""

    rounds: Rounds  #: a round is a phase; its items are the roots of the next phase
    #: shape (num_columns,): number of the last search that took a column; the largest number if it is closed
    stamp: Indices
    #: shape (2 * num_rows,): the free rows of this phase in one half, those of the next phase in the other
    roots: Indices


class DisjointSearch(NamedTuple):
    """One search of a phase."""

    thread: np.uint64
    root: np.uint64  #: the free row that it starts from
    number: np.uint64  #: the stamp of the columns that it takes
    before: np.uint64  #: the number of the last search before this phase


def make_disjoint(graph: BipartiteGraph, control: Control) -> Disjoint:
    """Return the state before the free rows are listed."""
    dtype = graph.rows.first.dtype
    return Disjoint(
        rounds=make_rounds(control, dtype),
        stamp=np.zeros(graph.num_columns, dtype=dtype),
        roots=np.empty(2 * graph.num_rows, dtype=dtype),
    )


@kernel
def closed(state: Disjoint) -> np.uint64:
    """Return the stamp of closed columns: the largest number of its dtype."""
    return NONE >> np.uint64(64 - 8 * state.stamp.itemsize)


@kernel
def claim(state: Disjoint, c: Index, search: DisjointSearch) -> bool:
    """Take a column for a search, unless another search of the phase owns it, or it is closed."""
    mark = np.uint64(relaxed_load(state.stamp, c))
    return bool(mark <= search.before and compare_exchange(state.stamp, c, mark, search.number))


@kernel
def is_foreign(state: Disjoint, c: np.uint64, search: DisjointSearch) -> bool:
    """Whether a column that could not be claimed belongs to another search, which may augment through it."""
    mark = np.uint64(relaxed_load(state.stamp, c))
    # mutant: a-search-that-met-another-one-is-taken-for-clean
    return bool(mark != search.number and mark != closed(state))


@kernel
def close(state: Disjoint, c: np.uint64) -> None:
    """Close a column: no search enters it again."""
    relaxed_store(state.stamp, c, closed(state))


@kernel
def list_roots(
    rows: Adjacency, matching: Matching, state: Disjoint, thread: np.uint64
) -> tuple[bool, np.uint64]:
    """List the free rows with edges as phase 0; return whether to go on, and their number. Collective."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    current = Round(thread, ZERO, ZERO)
    r, end = share_of(num_rows, thread, state.rounds.num_threads)
    waiting = ZERO
    while r < end:
        if np.uint64(matching.row_match[r]) >= num_columns and rows.first[r] < rows.first[r + ONE]:
            waiting = append_item(state.rounds, current, state.roots, waiting, r)
        r += ONE
    go_on, size, _ = end_round(state.rounds, current, state.roots, waiting, ZERO)
    if thread == ZERO:
        state.rounds.progress[0] = size
        state.rounds.progress[1] = size
    return go_on, size


@kernel
def numbers_before(state: Disjoint, thread: np.uint64, before: np.uint64, size: np.uint64) -> np.uint64:
    """Return the last search number before a phase of `size` searches. Collective.

    Clears all stamps but those of closed columns, and starts again from 0, where the numbers would run out.
    """
    never = closed(state)
    if before + size < never:
        return before
    c, end = share_of(np.uint64(len(state.stamp)), thread, state.rounds.num_threads)
    while c < end:
        if np.uint64(state.stamp[c]) != never:
            state.stamp[c] = 0
        c += ONE
    wait(state.rounds.barrier, state.rounds.num_threads)
    return ZERO


@kernel
def end_phase(
    state: Disjoint, current: Round, waiting: np.uint64, augmented: np.uint64
) -> tuple[bool, np.uint64]:
    """End a phase; return whether to go on, and the number of roots of the next phase. Collective.

    There are none after a phase without augmentations: the matching is
    maximum.
    """
    thread = current.thread
    state.rounds.counts[thread, AUGMENTATIONS] += augmented
    go_on, size, total = end_round(state.rounds, current, state.roots, waiting, augmented)
    if thread == ZERO:
        state.rounds.progress[0] = size
        state.rounds.counts[thread, PHASES] += ONE
    return go_on, size if total > ZERO else ZERO


def phases_of(augment_from: Callable[..., tuple[bool, bool]]) -> Callable[..., bool]:
    """Return the kernel `run_phases` of the method whose search from a root is the kernel `augment_from`."""

    def run_phases(
        rows: Adjacency, matching: Matching, state: Disjoint, trees: Any, thread: np.uint64, fairness: bool
    ) -> bool:
        """Match free rows until the matching is maximum, one thread's share; False if stopped before."""
        num_rows = np.uint64(len(matching.row_match))
        go_on, size = list_roots(rows, matching, state, thread)
        phase, before, base = ONE, ZERO, ZERO
        backwards = False
        while go_on and size > ZERO:
            before = numbers_before(state, thread, before, size)
            current = start_round(state.rounds, thread, phase, num_rows - base)
            waiting, augmented = ZERO, ZERO
            # Search from the roots that this thread takes.
            k, end = take_items(state.rounds, current, size)
            while k < end and not should_stop(state.rounds):
                root = np.uint64(state.roots[base + k])
                k += ONE
                search = DisjointSearch(thread, root, before + k, before)
                found, clean = augment_from(rows, matching, state, trees, search, backwards)
                if found:
                    augmented += ONE
                elif not clean:
                    waiting = append_item(state.rounds, current, state.roots, waiting, root)
                if k == end:
                    k, end = take_items(state.rounds, current, size)
            # End the phase, and turn the direction.
            before += size
            base = current.base
            go_on, size = end_phase(state, current, waiting, augmented)
            phase += ONE
            backwards = fairness and not backwards
        return go_on

    return kernel_around(augment_from, "run_phases", run_phases)
