"""Flow along the path between a pixel and the root of its tree, for methods that search from both sides.

Trees of the source have their roots at pixels with excess, and flow runs from the root down. Trees of the
sink have their roots at pixels with a deficit, and flow runs up to the root. A pixel stores the direction of
its parent: D means that it is a root, D + 1 that it is an orphan, whose parent is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from .pixel_major import GridState


@kernel
def path_capacity(
    state: GridState, parent: NDArray[np.uint8], v: np.uint64, source: bool, amount: Int64
) -> Int64:
    """Return the part of an amount that the path between a pixel and its root can carry."""
    residual, step = state.residual, state.step
    degree = np.uint64(len(step))
    p = v
    d = np.uint64(parent[p])
    while d != degree:
        q = p + step[d]
        arc = q * degree + (d ^ ONE) if source else p * degree + d
        amount = min(amount, np.int64(residual[arc]))
        p = q
        d = np.uint64(parent[p])
    root = np.int64(state.terminal[p])
    return min(amount, root if source else -root)


@kernel
def push_path(
    state: GridState,
    parent: NDArray[np.uint8],
    next_orphan: Indices,
    v: np.uint64,
    source: bool,
    amount: Int64,
) -> np.uint64:
    """Push along the path between a pixel and its root; pixels whose tree arc is saturated become orphans.

    Return the orphan nearest to the root, first of a list linked by `next_orphan` that ends with
    ``len(parent)``.
    """
    residual, step, terminal = state.residual, state.step, state.terminal
    degree = np.uint64(len(step))
    first = np.uint64(len(parent))
    p = v
    d = np.uint64(parent[p])
    while d != degree:
        q = p + step[d]
        used, opposite = p * degree + d, q * degree + (d ^ ONE)
        if source:
            used, opposite = opposite, used
        left = residual[used] - amount
        residual[used] = left
        residual[opposite] += amount
        if left == 0:
            parent[p] = degree + ONE
            next_orphan[p] = first
            first = p
        p = q
        d = np.uint64(parent[p])
    terminal[p] -= amount if source else -amount
    if terminal[p] == 0:
        parent[p] = degree + ONE
        next_orphan[p] = first
        first = p
    return first
