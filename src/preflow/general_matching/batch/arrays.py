"""The arrays of solvers of batches: graphs, the weights that are solved, solutions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Numbers
from .graphs import GraphBatch

#: How an item ended.
UNSEEN, SOLVED, STOPPED = 0, 1, 2
#: What a survey finds in an item, as bits: the matrix is not symmetric, a listed weight is not finite, an end
#: of an edge is no vertex, a weight of use is not an integer up to 2**53.
ASYMMETRIC, INFINITE, OUTSIDE, BROKEN = 1, 2, 4, 8


class Items(NamedTuple):
    """The graphs of a batch; all arrays are read-only."""

    #: int64 or float64: the entries of all matrices, or the weights of listed edges
    weight: Numbers
    ends: Indices  #: uint32, shape (num_edges, 2): the ends of listed edges; empty for matrices
    #: shape (items + 1,): where each item begins in `weight`, and in arrays by vertices and by blossoms. An
    #: item of n vertices has room for n // 2 blossoms.
    first_edge: NDArray[np.int64]
    first_vertex: NDArray[np.int64]
    first_blossom: NDArray[np.int64]
    no_edge: Numbers  #: shape (0,) or (1,): entries of matrices that are no edges


class Survey(NamedTuple):
    """Facts of the weights of each item, shape (items,).

    They are negated to minimise; those that are then negative count as 0 unless each edge more is of use.
    """

    #: the extremes, 0 without edges
    least: Numbers
    most: Numbers
    flaws: NDArray[np.int64]


class Scales(NamedTuple):
    """The weights that are solved: see :mod:`preflow.general_matching.integer_weights`; shape (items,)."""

    up: NDArray[np.float64]  #: a power of two; weights are multiplied by it and rounded
    bonus: NDArray[np.int64]


class Found(NamedTuple):
    """The solution of a batch."""

    mate: NDArray[np.int64]  #: by vertices: the partner, -1 for none
    vertex: NDArray[np.int64]  #: by vertices: twice the dual
    #: by vertices and blossoms: the parents of the vertices of an item, then those of its blossoms
    parent: NDArray[np.int64]
    blossom: NDArray[np.int64]  #: by blossoms: twice the dual
    #: shape (items,)
    num_blossoms: NDArray[np.int64]
    total: NDArray[np.int64]  #: the sum of the solved weights; it wraps for rounded ones
    rest: NDArray[np.float64]  #: the most that rounding left of a weight, in units of the solved weights
    ending: NDArray[np.int64]


def items_of(batch: GraphBatch) -> Items:
    """Return the graphs of a batch on the host."""
    marker = np.array([] if batch.no_edge is None else [batch.no_edge], dtype=batch.numbers.dtype)
    items = Items(
        batch.numbers.reshape(-1),
        batch.ends,
        batch.first_edge,
        batch.first_vertex,
        np.append(0, np.cumsum(batch.sizes // 2)),
        marker,
    )
    for part in items:
        part.flags.writeable = False
    return items


def nothing_found(items: Items) -> Found:
    """Return arrays for a solution."""
    count, n, blossoms = len(items.first_edge) - 1, int(items.first_vertex[-1]), int(items.first_blossom[-1])
    by_item = [np.zeros(count, dtype=np.int64) for _ in range(3)]
    return Found(
        np.full(n, -1),
        np.zeros(n, dtype=np.int64),
        np.full(n + blossoms, -1),
        np.zeros(blossoms, dtype=np.int64),
        by_item[0],
        by_item[1],
        np.zeros(count),
        by_item[2],
    )
