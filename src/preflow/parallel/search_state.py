"""What a team shares in a search: whose vertices are which, what each has found, and mail to their owners.

For :mod:`.search`, which says why vertices have owners.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING
from ..kernels.kernel import kernel
from .barrier import make_barrier
from .totals import make_totals

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: A level with fewer arcs than this divided by the threads goes to one thread: the more threads, the
#: more there is to gain, and the more of what one thread would read alone was last written by others.
SMALL_LEVEL = 4096
#: Largest block of vertices that goes to one thread, and number of blocks a thread should get.
BLOCK, BLOCKS = 256, 16
#: Letters in all mailboxes of a thread, and in one, at least.
LETTERS, FEWEST_LETTERS = 16384, 64
#: More than all vertices: added to the size of a level where a thread has more of it to search from than its
#: mailboxes took, and a number of vertices that is never reached.
UNFINISHED = EVERYTHING = np.uint64(2**48)


class Search(NamedTuple):
    """What the threads of a team share in a search; the order of discovery is its result.

    Attributes
    ----------
    barrier : ndarray of int64
    num_threads, shift, room, letters, small : ndarray of uint64, shape (1,)
        Block ``v >> shift`` of vertices belongs to thread ``(v >> shift) % num_threads``, whose vertices fit
        `room` entries of `order`; `letters` fit a mailbox; a level of fewer than `small` vertices goes to one
        thread.
    order : ndarray of uint32 or uint64, shape (threads * room,)
        For each thread its vertices that reach the sink, by distance.
    begin, end : ndarray of uint64, shape (threads * PADDING,)
        Where a thread's vertices not yet searched from begin and end in its part of `order`.
    size : ndarray of uint64, shape (threads * PADDING,)
        How many vertices of a level each thread has, as one that searches alone has counted them.
    totals : ndarray of uint64, shape (threads * PADDING,)
        Where threads meet after a level and add up what they have found, see totals.py.
    kept : ndarray of uint64, shape (threads * PADDING,)
        How many of a thread's vertices stay as they are and are not searched from.
    wanted, found : ndarray of uint64, shape (threads * PADDING,)
        How many of a thread's vertices the search is to find before it may stop, and how many it has found.
    alone : ndarray of uint64, shape (4,)
        The level that one thread alone has come to, how many vertices it has, how many those before, and
        after which level the search ends.
    mail : ndarray of the dtype of `order`, shape (2 * threads * threads * letters * 2,)
        Letters from each thread to each thread: a vertex, and its arc towards the sink. Those in one half
        are read while the other is written.
    mailed : ndarray of uint64, shape (2 * threads * stride,)
        How many letters each thread has written to each.
    """

    barrier: NDArray[Any]
    num_threads: NDArray[Any]
    shift: NDArray[Any]
    room: NDArray[Any]
    letters: NDArray[Any]
    small: NDArray[Any]
    order: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    size: NDArray[Any]
    totals: NDArray[Any]
    kept: NDArray[Any]
    wanted: NDArray[Any]
    found: NDArray[Any]
    alone: NDArray[Any]
    mail: NDArray[Any]
    mailed: NDArray[Any]


def make_search(num_threads: int, num_vertices: int, num_arcs: int, dtype: Any) -> Search:
    """Return the shared state of searches by a team."""

    def number(value: int) -> NDArray[np.uint64]:
        return np.array([value], dtype=np.uint64)

    def padded(count: int, entries: int = 1) -> NDArray[np.uint64]:
        return np.zeros(count * num_threads * -(-entries // int(PADDING)) * int(PADDING), dtype=np.uint64)

    block = min(BLOCK, max(1, num_vertices // (BLOCKS * num_threads)))
    shift = block.bit_length() - 1
    blocks = -(-num_vertices // (1 << shift))
    room = -(-blocks // num_threads) << shift
    letters = max(FEWEST_LETTERS, LETTERS // (2 * num_threads)) if num_threads > 1 else 0
    small = num_vertices + 1
    if num_threads > 1:
        small = SMALL_LEVEL * num_vertices // (num_threads * max(1, num_arcs))
    return Search(
        barrier=make_barrier(num_threads),
        num_threads=number(num_threads),
        shift=number(shift),
        room=number(room),
        letters=number(letters),
        small=number(small),
        order=np.empty(num_threads * room, dtype=dtype),
        begin=padded(1),
        end=padded(1),
        size=padded(1),
        totals=make_totals(num_threads),
        kept=padded(1),
        wanted=padded(1),
        found=padded(1),
        alone=np.zeros(4, dtype=np.uint64),
        mail=np.empty(2 * num_threads * num_threads * letters * 2, dtype=dtype),
        mailed=padded(2, num_threads),
    )


@kernel
def slot(thread: Any) -> Any:
    """Return the place of a thread's entry in a padded array."""
    return np.uint64(thread) * PADDING


@kernel
def owner_of(search: Search, v: Any) -> Any:
    """Return the thread that owns a vertex."""
    return (v >> search.shift[0]) % search.num_threads[0]


@kernel
def first_own(search: Search, thread: Any) -> Any:
    """Return the first vertex of a thread; it may be n or more."""
    return thread << search.shift[0]


@kernel
def next_own(search: Search, v: Any) -> Any:
    """Return the next vertex of the thread that owns `v`; it may be n or more."""
    v += ONE
    if v & ((ONE << search.shift[0]) - ONE) == ZERO:
        v += (search.num_threads[0] - ONE) << search.shift[0]
    return v


@kernel
def end_of_block(search: Search, v: Any, num_vertices: Any) -> Any:
    """Return the end of the block that begins with a vertex."""
    return min(v + (ONE << search.shift[0]), num_vertices)


@kernel
def next_block(search: Search, v: Any) -> Any:
    """Return where the thread that owns the block from `v` on has its next one; it may be n or more."""
    return v + (search.num_threads[0] << search.shift[0])


@kernel
def mail_slot(search: Search, half: Any, writer: Any, reader: Any) -> Any:
    """Return the place of a mailbox in ``search.mailed``."""
    stride = np.uint64(len(search.mailed)) // (search.num_threads[0] * TWO)
    return (half * search.num_threads[0] + writer) * stride + reader


@kernel
def mailbox(search: Search, half: Any, writer: Any, reader: Any) -> Any:
    """Return where a mailbox begins in ``search.mail``."""
    num_threads = search.num_threads[0]
    return ((half * num_threads + writer) * num_threads + reader) * search.letters[0] * TWO


@kernel
def throw_away(search: Search, half: Any, writer: Any) -> None:
    """Empty a thread's mailboxes to all."""
    for reader in range(search.num_threads[0]):
        search.mailed[mail_slot(search, half, writer, np.uint64(reader))] = ZERO
