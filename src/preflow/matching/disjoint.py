"""Phases of searches that share no column, by a team of threads.

Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen, "Multithreaded algorithms for maximum matching in
bipartite graphs", IPDPS 2012. Threads take free rows and search from each on their own. A column belongs
to the search that stamps it first, by a compare-and-swap, until the phase ends at a barrier; with it the row
that it is matched with, and its edge of the matching. So whoever augments needs no lock.

A phase without an augmentation proves the matching maximum. All its searches failed, the matching stood
still, and every column next to a row that some search reached was reached as well, none of them free.

A search that fails and meets no column of another one of its phase has seen all that its root can reach,
whatever others do meanwhile: they cannot touch what it owns. So its columns are closed for good and its root
is dropped, as in :mod:`.depth_first`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import PADDING, compare_exchange, fetch_add, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..kernels.worklist import Worklist, appended, begin_phase, flush, make_worklist
from ..kernels.worklist import append as append_to
from ..parallel.barrier import make_barrier, wait
from ..parallel.team import share_of
from ..solving.run import Control
from ..stats import AUGMENTATIONS, PHASES
from .state import NONE, Matching

ZERO = np.uint64(0)
ONE = np.uint64(1)
THREE = np.uint64(3)
#: Free rows that a thread takes at once: at most, and about how many times each thread comes for some.
MOST_ROOTS = np.uint64(64)
TURNS = np.uint64(64)
#: Positions in a phase's set of ``shared``: roots taken, paths augmented, whether to stop.
TAKEN, AUGMENTED, STOPPED = ZERO, PADDING, PADDING + ONE
#: Entries of a set, of which three take turns, as in kernels/worklist.py.
SET = np.uint64(2) * PADDING


class Disjoint(NamedTuple):
    """What the threads share beside the graph and the matching.

    Attributes
    ----------
    num_threads : uint64
    stamp : ndarray, shape (num_columns,)
        Number of the last search that took a column, the largest number if it is closed.
    roots : ndarray, shape (2 * num_rows,)
        Free rows of this phase in one half, of the next in the other.
    worklist : Worklist
        Of the roots of the next phase.
    shared : ndarray of int64
        Counters of three phases.
    barrier, stop, counts, progress : ndarray
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    num_threads: Any
    stamp: NDArray[Any]
    roots: NDArray[Any]
    worklist: Worklist
    shared: NDArray[Any]
    barrier: NDArray[Any]
    stop: NDArray[Any]
    counts: NDArray[Any]
    progress: NDArray[Any]
    delays: Any = None


def make_disjoint(graph: BipartiteGraph, control: Control) -> Disjoint:
    """Return the state before the free rows are listed."""
    dtype = graph.rows.first.dtype
    return Disjoint(
        num_threads=np.uint64(control.threads),
        stamp=np.zeros(graph.num_columns, dtype=dtype),
        roots=np.empty(2 * graph.num_rows, dtype=dtype),
        worklist=make_worklist(control.threads, dtype),
        shared=np.zeros(int(THREE * SET), dtype=np.int64),
        barrier=make_barrier(control.threads),
        stop=control.stop,
        counts=control.thread_counts,
        progress=control.excess,
        delays=control.delays,
    )


@kernel
def closed(state: Disjoint) -> Any:
    """Return the stamp of closed columns: the largest number of its dtype."""
    return NONE >> np.uint64(64 - 8 * state.stamp.itemsize)


@kernel
def claim(state: Disjoint, c: Any, number: Any, before: Any) -> bool:
    """Take a column for search `number`, unless another search of its phase has it, or it is closed."""
    mark = np.uint64(relaxed_load(state.stamp, c))
    return bool(mark <= before and compare_exchange(state.stamp, c, mark, number))


@kernel
def is_foreign(state: Disjoint, c: Any, number: Any) -> bool:
    """Whether a column that was not to be had is another search's, which may augment through it."""
    mark = np.uint64(relaxed_load(state.stamp, c))
    return bool(mark != number and mark != closed(state))


@kernel
def close(state: Disjoint, c: Any) -> None:
    """Let no search enter a column any more."""
    relaxed_store(state.stamp, c, closed(state))


@kernel
def should_stop(state: Disjoint) -> bool:
    """Whether the solve was asked to stop."""
    return bool(relaxed_load(state.stop, ZERO) != 0)


@kernel
def list_roots(rows: Adjacency, matching: Matching, state: Disjoint, thread: Any) -> tuple[bool, Any]:
    """List the free rows that have edges, together, as phase 0; return as :func:`end_phase` does."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    r, end = share_of(num_rows, thread, state.num_threads)
    waiting, found = ZERO, ZERO
    while r < end:
        if np.uint64(matching.row_match[r]) >= num_columns and rows.first[r] < rows.first[r + ONE]:
            waiting = keep_root(state, thread, ZERO, ZERO, waiting, r)
            found += ONE
        r += ONE
    go_on, size = end_phase(state, thread, ZERO, ZERO, waiting, found)
    if thread == ZERO:
        state.progress[1] = size
        state.counts[thread, PHASES] = ZERO
    return go_on, size


@kernel
def set_of(phase: Any) -> Any:
    """Return where the counters of a phase are."""
    return (phase % THREE) * SET


@kernel
def start_phase(state: Disjoint, thread: Any, phase: Any) -> None:
    """Reset the counters that the next phase will use."""
    if thread == ZERO:
        begin_phase(state.worklist, phase)
        following = set_of(phase + ONE)
        relaxed_store(state.shared, following + TAKEN, 0)
        relaxed_store(state.shared, following + AUGMENTED, 0)
        relaxed_store(state.shared, following + STOPPED, 0)


@kernel
def numbers_before(state: Disjoint, thread: Any, before: Any, size: Any) -> Any:
    """Return the last search number before a phase of `size` searches; stamps start anew if they run out."""
    never = closed(state)
    if before + size < never:
        return before
    c, end = share_of(np.uint64(len(state.stamp)), thread, state.num_threads)
    while c < end:
        if np.uint64(state.stamp[c]) != never:
            state.stamp[c] = 0
        c += ONE
    wait(state.barrier, state.num_threads)
    return ZERO


@kernel
def take_roots(state: Disjoint, phase: Any, size: Any) -> tuple[Any, Any]:
    """Return the begin and end of some of the phase's `size` roots that no other thread takes."""
    count = min(MOST_ROOTS, size // (TURNS * state.num_threads) + ONE)
    begin = np.uint64(fetch_add(state.shared, set_of(phase) + TAKEN, count))
    if begin >= size:
        return size, size
    return begin, min(begin + count, size)


@kernel
def keep_root(state: Disjoint, thread: Any, phase: Any, out: Any, waiting: Any, root: Any) -> Any:
    """Let the next phase, whose roots begin at `out`, search from `root` again; return how many wait."""
    return append_to(state.worklist, phase, state.roots, out, thread, waiting, root)


@kernel
def end_phase(
    state: Disjoint, thread: Any, phase: Any, out: Any, waiting: Any, augmented: Any
) -> tuple[bool, Any]:
    """Meet the others; return whether to go on, and how many roots the next phase has.

    None are left after a phase without augmentations: the matching is maximum.
    """
    flush(state.worklist, phase, state.roots, out, thread, waiting)
    at = set_of(phase)
    if augmented > ZERO:
        fetch_add(state.shared, at + AUGMENTED, augmented)
    if should_stop(state):
        relaxed_store(state.shared, at + STOPPED, 1)
    if not wait(state.barrier, state.num_threads) or relaxed_load(state.shared, at + STOPPED) != 0:
        return False, ZERO
    size = appended(state.worklist, phase)
    if relaxed_load(state.shared, at + AUGMENTED) == 0:
        size = ZERO
    if thread == ZERO:
        state.progress[0] = size
        state.counts[thread, PHASES] += ONE
    if phase > ZERO:
        state.counts[thread, AUGMENTATIONS] += augmented
    return True, size
