"""A binary heap of numbered items by their keys, which knows the place of each item."""

from __future__ import annotations

import numpy as np

from ..arrays import Indices, Numbers
from .constants import ONE, TWO, ZERO
from .kernel import kernel


@kernel
def move_up(heap: Indices, place: Indices, key: Numbers, hole: np.uint64, item: np.uint64) -> None:
    """Put an item into the heap at `hole` or above it, before all items with larger keys."""
    value = key[item]
    while hole > ZERO:
        above = (hole - ONE) // TWO
        other = np.uint64(heap[above])
        if key[other] <= value:
            break
        heap[hole] = other
        place[other] = hole
        hole = above
    heap[hole] = item
    place[item] = hole


@kernel
def move_down(
    heap: Indices, place: Indices, key: Numbers, hole: np.uint64, item: np.uint64, size: np.uint64
) -> None:
    """Put an item into the heap of `size` items at `hole` or below it, after all items with smaller keys."""
    value = key[item]
    while True:
        below = hole * TWO + ONE
        if below >= size:
            break
        if below + ONE < size and key[heap[below + ONE]] < key[heap[below]]:
            below += ONE
        other = np.uint64(heap[below])
        if value <= key[other]:
            break
        heap[hole] = other
        place[other] = hole
        hole = below
    heap[hole] = item
    place[item] = hole


@kernel
def take_first(heap: Indices, place: Indices, key: Numbers, size: np.uint64) -> np.uint64:
    """Take the item of least key out of the heap of `size` items, and return it; its place is any."""
    first = np.uint64(heap[ZERO])
    move_down(heap, place, key, ZERO, np.uint64(heap[size - ONE]), size - ONE)
    return first
