"""Alternating trees from all free rows at once on many cores, with one augmenting path a tree.

preflow's own, after Azad, Buluç and Pothen, "Computing maximum cardinality matchings in parallel on bipartite
graphs via tree-grafting" (2016), without its grafting: the algorithm of :mod:`.cuda_multi_source_bfs` on
threads. :mod:`.packed_search` has the search, :mod:`.packed_columns` the words.

Definitions. A *phase* grows a tree from each free row, its *root*, level by level. A tree *ends* with the
first free column that it finds, its *leaf*. A *closed* column was dead in the labels of push-relabel; no tree
enters it.

Invariants of a phase:

- A column is in at most one tree: the tree whose compare-and-swap of its word succeeded.
- The upper half of the word of a column in a tree is the row through which it was reached, so one thread can
  augment along the path of each tree without a lock.
- A phase in which no tree finds a leaf proves the matching maximum: every column that can be reached was
  reached, and none was free.

Pseudo-code, of all threads together::

    pack the matching into words
    while there are free rows:
        start a tree at each free row
        grow all trees level by level, until none grows or nearly all have ended
        if none has a leaf: the matching is maximum
        augment along the path of every tree with a leaf
        list the roots of the others as the free rows of the next phase
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.rounds import Round, Rounds, append_item, end_round, make_rounds, start_round
from ..parallel.thread_pool import in_pool, run_natively, share_of
from ..solving.options import NoOptions
from ..solving.run import Control
from ..stats import AUGMENTATIONS, PHASES
from .match_arrays import Matching
from .packed_columns import HALF, NOBODY, Packed, dead_label, make_packed, pack
from .packed_search import CLOSED, UNSEEN, Searching, search

#: To remove the trees of the last phase, one thread passes over their rows instead of all columns where they
#: have fewer rows than one in FEW_ROWS of the columns.
FEW_ROWS = np.uint64(4)


@kernel
def forget_labels(packed: Packed, rounds: Rounds, thread: np.uint64) -> None:
    """Mark all columns as not reached, or closed where they are dead; one thread's share."""
    dead = dead_label(packed)
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        word = packed.words[c]
        packed.words[c] = (CLOSED if word >> HALF == dead else UNSEEN) << HALF | word & NOBODY
        c += ONE


@kernel
def remove_trees(
    matching: Matching, packed: Packed, rounds: Rounds, thread: np.uint64, tree_rows: np.uint64
) -> None:
    """Remove all trees, one thread's share. Their rows are the first `tree_rows` items of the order.

    Augmenting has removed the columns of its paths. Any other column of a tree is that of one of these rows.
    """
    num_columns = np.uint64(len(packed.words))
    if rounds.num_threads == ONE and tree_rows < num_columns // FEW_ROWS:
        for k in range(tree_rows):
            c = np.uint64(matching.row_match[packed.order[k] & NOBODY])
            if c < num_columns:
                packed.words[c] |= UNSEEN << HALF
        return
    c, end = share_of(num_columns, thread, rounds.num_threads)
    while c < end:
        word = packed.words[c]
        if word >> HALF != CLOSED:
            packed.words[c] = UNSEEN << HALF | word & NOBODY
        c += ONE


@kernel
def start_trees(packed: Packed, rounds: Rounds, thread: np.uint64, base: np.uint64, size: np.uint64) -> None:
    """Start a tree at each of `size` active rows, one thread's share."""
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        packed.order[k] = k << HALF | np.uint64(packed.active[base + k])
        packed.leaf[k] = NOBODY
        k += ONE


@kernel
def augment(matching: Matching, packed: Packed, c: np.uint64) -> None:
    """Augment along the path from the root of a tree to the free column `c`."""
    num_columns = np.uint64(len(packed.words))
    while c < num_columns:
        r = packed.words[c] >> HALF
        previous = np.uint64(matching.row_match[r])
        packed.words[c] = UNSEEN << HALF | r
        matching.row_match[r] = c
        matching.column_match[c] = r
        c = previous


@kernel
def match_few(
    rows: Adjacency, matching: Matching, packed: Packed, rounds: Rounds, thread: np.uint64, size: np.uint64
) -> bool:
    """Match the `size` active rows as far as possible. Collective; False if stopped before.

    The match arrays are up to date before and after; labels are lost.
    """
    num_rows = np.uint64(len(matching.row_match))
    searching = Searching(rows, packed.words, matching, packed, rounds, True)
    forget_labels(packed, rounds, thread)
    number, base, tree_rows = ZERO, ZERO, ZERO
    go_on, augmented = True, ONE
    while go_on and size > ZERO and augmented > ZERO:
        if thread == ZERO:
            rounds.counts[thread, PHASES] += ONE
            rounds.progress[0] = size
        # Start a tree at each free row, and grow all of them.
        number += ONE
        current = start_round(rounds, thread, number, ZERO)
        remove_trees(matching, packed, rounds, thread, tree_rows)
        start_trees(packed, rounds, thread, base, size)
        go_on, _, _ = end_round(rounds, current, packed.order, ZERO, ZERO)
        if go_on:
            go_on, number, tree_rows = search(searching, thread, number, size, size)
        if not go_on:
            break
        # Augment along the trees with a leaf, and list the roots of the others.
        number += ONE
        current = start_round(rounds, thread, number, num_rows - base)
        waiting, augmented = ZERO, ZERO
        k, end = share_of(size, thread, rounds.num_threads)
        while k < end:
            c = packed.leaf[k]
            if c != NOBODY:
                augment(matching, packed, c)
                augmented += ONE
            else:
                r = np.uint64(packed.active[base + k])
                waiting = append_item(rounds, current, packed.active, waiting, r)
            k += ONE
        rounds.counts[thread, AUGMENTATIONS] += augmented
        go_on, size, augmented = end_round(rounds, current, packed.active, waiting, augmented)
        base = current.base
    return go_on


class Phases(NamedTuple):
    """The state that the threads share."""

    rows: Adjacency
    matching: Matching
    packed: Packed
    rounds: Rounds
    finished: NDArray[np.bool_]  #: shape (1,): whether the matching is maximum


@kernel
def phases_share(thread: np.uint64, phases: Phases) -> None:
    """Match free rows until the matching is maximum, or the solve is to stop; one thread's share."""
    rows, matching, packed, rounds = phases.rows, phases.matching, phases.packed, phases.rounds
    current = Round(thread, ZERO, ZERO)
    waiting = pack(rows, matching, packed, rounds, current)
    go_on, size, _ = end_round(rounds, current, packed.active, waiting, ZERO)
    if thread == ZERO:
        rounds.progress[1] = size
    finished = go_on and match_few(rows, matching, packed, rounds, thread, size)
    if thread == ZERO:
        phases.finished[0] = finished


phases_together = in_pool("phases_together", phases_share)


def solve(graph: BipartiteGraph, matching: Matching, options: NoOptions, control: Control) -> bool:
    """Make a matching maximum, in place, on all threads; return False where the solve was asked to stop.

    O(m) work a phase, at most one phase for each edge of the matching, a dozen or two in practice; memory of
    two indices and 16 bytes a row and 8 bytes a column. UnsuitableMethodError from 2**32 - 2 rows or columns
    on.
    """
    threads = control.threads
    packed = make_packed(graph, threads, "multicore-multi-source-bfs", graph.num_rows, False)
    rounds = make_rounds(control, np.uint64)
    phases = Phases(graph.rows, matching, packed, rounds, np.zeros(1, dtype=np.bool_))
    run_natively(phases_together, phases, threads)
    return bool(phases.finished[0])
