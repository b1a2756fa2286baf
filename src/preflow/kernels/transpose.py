"""Group edges by one of their ends: counting sort, O(n + m)."""

from __future__ import annotations

import numpy as np

from ..arrays import Indices
from .constants import ONE, ZERO
from .kernel import kernel


@kernel
def count_edges(keys: Indices, first: Indices) -> None:
    """Set ``first[k]`` to the end of group `k`.

    On entry `first` is zero, with one entry more than there are keys.
    """
    for key in keys:
        first[np.uint64(key) + ONE] += 1
    for k in range(np.uint64(len(first)) - ONE):
        first[k + ONE] += first[k]


@kernel
def group_edges(keys: Indices, values: Indices, first: Indices, grouped: Indices) -> None:
    """Sort values by their keys, stably.

    On entry and on return ``first[k]`` is where group `k` starts. :func:`count_edges` leaves it so.
    """
    for i in range(np.uint64(len(keys))):
        key = np.uint64(keys[i])
        grouped[first[key]] = values[i]
        first[key] += 1
    _restore_starts(first)


@kernel
def group_transposed(
    first: Indices, neighbour: Indices, other_first: Indices, other_neighbour: Indices
) -> None:
    """Write the transpose of an adjacency structure whose groups :func:`count_edges` has counted."""
    for v in range(np.uint64(len(first)) - ONE):
        for e in range(np.uint64(first[v]), np.uint64(first[v + ONE])):
            key = np.uint64(neighbour[e])
            other_neighbour[other_first[key]] = v
            other_first[key] += 1
    _restore_starts(other_first)


@kernel
def _restore_starts(first: Indices) -> None:
    """Reset ``first[k]``, which has advanced to the end of group `k`, to its start."""
    k = np.uint64(len(first)) - ONE
    while k > ZERO:
        first[k] = first[k - ONE]
        k -= ONE
    first[ZERO] = 0


@kernel
def is_symmetric(first: Indices, neighbour: Indices, seen: Indices) -> bool:
    """Return whether an adjacency structure is its own transpose, entry by entry.

    That holds for a symmetric pattern with sorted rows; any other is detected early. On entry `seen`, one
    entry a vertex, is zero.
    """
    n = np.uint64(len(first)) - ONE
    for v in range(n):
        for e in range(np.uint64(first[v]), np.uint64(first[v + ONE])):
            w = np.uint64(neighbour[e])
            back = np.uint64(first[w]) + np.uint64(seen[w])
            if back >= np.uint64(first[w + ONE]) or np.uint64(neighbour[back]) != v:
                return False
            seen[w] += 1
    return True
