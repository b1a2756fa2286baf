"""The shared queue of a breadth-first search: an in-queue and an out-queue for each thread, in one array.

Cihan (2010), section 4.6.3. A thread takes the vertices of a level from its in-queue, and appends those of
the next level to its out-queue. At the end of a level one thread makes the out-queues the in-queues of the
next level, without a copy: :func:`revert`.

Definitions
-----------
- A *chunk* is the part of the array that belongs to one thread. Only its owner appends there.
- A queue has a *direction*, +1 or -1, in which its places follow each other.
- A *jump marker* is a negative number -d in the array. The next item is d places farther.

Invariants
----------
- All in-queues have one direction, all out-queues have the other.
- The items of a level lie at that end of each chunk where its out-queue began. A jump marker follows them,
  which leads to the next chunk in the direction of the in-queues; no marker follows in the last chunk.
- So all items of a level are one sequence. In-queues are consecutive parts of it, whose lengths differ by one
  at most: an in-queue may lie in several chunks, and a chunk may have parts of several in-queues.
- An item is in the queues of one search at most once. A chunk has one place more than there are items. So an
  out-queue, which grows from the other end of the chunk, never reaches the items and the marker there.

Departures: the thesis draws :func:`revert` by an example of four vertices and two threads, and does not print
it; the rule here is the one that gives the example's array and pointers. The sink is an item there and not
here, so a chunk has one more place than there are items, as in the thesis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...kernels.atomics import PADDING
from ...kernels.kernel import kernel

#: Positions in a row of ``inq`` and ``outq``.
HEAD, DIRECTION, TAIL, COUNT = 0, 1, 2, 2
#: What :func:`pop` returns if the in-queue is empty.
NOTHING = -1


class JumpQueues(NamedTuple):
    """The queues of all threads."""

    items: NDArray[np.int64]  #: shape (threads * chunk,)
    #: shape (threads, PADDING): head, direction and tail of each in-queue. The tail is the place after the
    #: last item.
    inq: NDArray[np.int64]
    #: shape (threads, PADDING): head, direction and number of items of each out-queue. The head is the next
    #: free place.
    outq: NDArray[np.int64]
    #: shape (1,): number of items in all in-queues after the last :func:`revert`
    total: NDArray[np.int64]


def make_jump_queues(num_threads: int, num_items: int) -> JumpQueues:
    """Return queues for the items 0 to ``num_items - 1``, with O(threads * items) memory.

    Each thread calls :func:`reset` before it uses them.
    """
    return JumpQueues(
        np.zeros(num_threads * (num_items + 1), dtype=np.int64),
        np.zeros((num_threads, PADDING), dtype=np.int64),
        np.zeros((num_threads, PADDING), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def chunk_size(queues: JumpQueues) -> int:
    """Return the number of places of a chunk."""
    return len(queues.items) // len(queues.inq)


@kernel
def first_place(queues: JumpQueues, thread: Int64, direction: Int64) -> Int64:
    """Return the place of a thread's chunk where a queue of a direction begins."""
    chunk = np.int64(chunk_size(queues))
    return thread * chunk if direction > 0 else (thread + 1) * chunk - 1


@kernel
def reset(queues: JumpQueues, thread: np.uint64) -> None:
    """Empty the queues of a thread; all threads do so between two barriers."""
    inq, outq = queues.inq, queues.outq
    inq[thread, DIRECTION] = 1
    inq[thread, HEAD] = first_place(queues, np.int64(thread), 1)
    inq[thread, TAIL] = inq[thread, HEAD]
    outq[thread, DIRECTION] = -1
    outq[thread, HEAD] = first_place(queues, np.int64(thread), -1)
    outq[thread, COUNT] = 0


@kernel
def push(queues: JumpQueues, thread: np.uint64, item: np.uint64) -> None:
    """Append an item to a thread's out-queue (figure 4.7)."""
    outq = queues.outq
    head = outq[thread, HEAD]
    queues.items[np.uint64(head)] = np.int64(item)
    outq[thread, HEAD] = head + outq[thread, DIRECTION]
    outq[thread, COUNT] += 1


@kernel
def pop(queues: JumpQueues, thread: np.uint64) -> np.int64:
    """Take the first item of a thread's in-queue; return NOTHING if there is none (figure 4.6)."""
    inq, items = queues.inq, queues.items
    head, tail, direction = inq[thread, HEAD], inq[thread, TAIL], inq[thread, DIRECTION]
    item = np.int64(NOTHING)
    while item < 0 and head != tail:
        item = items[np.uint64(head)]
        items[np.uint64(head)] = 0
        # mutant: jump-markers-are-skipped
        head += direction if item >= 0 else -item * direction
    inq[thread, HEAD] = head
    return item if item >= 0 else np.int64(NOTHING)


@kernel
def revert(queues: JumpQueues) -> None:
    """Make the items of all out-queues the in-queues, whose lengths differ by one at most.

    One thread calls it between two barriers, when all in-queues are empty. O(threads).
    """
    inq, outq, chunk = queues.inq, queues.outq, np.int64(chunk_size(queues))
    num_threads = np.int64(len(inq))
    direction = outq[0, DIRECTION]
    step = direction
    begin = np.int64(0) if direction > 0 else num_threads - 1
    # Mark where the items of each chunk end, and how far the next chunk in the direction is.
    total = np.int64(0)
    for k in range(num_threads):
        owner = begin + k * step
        count = outq[owner, COUNT]
        total += count
        if k + 1 < num_threads:
            # mutant: no-jump-markers
            queues.items[np.uint64(outq[owner, HEAD])] = count - chunk
    # Cut the sequence of all items into an in-queue a thread.
    owner = begin
    place = first_place(queues, owner, direction)
    left = outq[owner, COUNT]
    for k in range(num_threads):
        thread = begin + k * step
        missing = total * (k + 1) // num_threads - total * k // num_threads
        inq[thread, DIRECTION] = direction
        inq[thread, HEAD] = place
        while missing > left:
            missing -= left
            owner += step
            place = first_place(queues, owner, direction)
            left = outq[owner, COUNT]
        place += missing * direction
        left -= missing
        inq[thread, TAIL] = place
    # The out-queues are empty, and grow from the other ends of their chunks.
    for owner in range(num_threads):
        outq[owner, DIRECTION] = -direction
        outq[owner, HEAD] = first_place(queues, np.int64(owner), -direction)
        outq[owner, COUNT] = 0
    queues.total[0] = total
