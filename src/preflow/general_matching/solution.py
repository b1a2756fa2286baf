"""The end of a solve of matching in general graphs: the matching and its proof."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from .links import NONE

#: The partner of each vertex, -1 for none.
Partners = NDArray[np.int64]


class BlossomDuals(NamedTuple):
    """Duals that bound the weight of all matchings."""

    vertex: NDArray[np.int64]  #: shape (n,): twice the dual of each vertex; not negative
    #: shape (n + number of blossoms,): the laminar family of the blossoms. Nodes 0 to n - 1 are the vertices,
    #: the others the blossoms. The parent of a node is the smallest blossom that contains it, -1 if there is
    #: none.
    parent: NDArray[np.int64]
    #: shape (number of blossoms,): twice the dual of each blossom; not negative
    blossom: NDArray[np.int64]


def duals_of(
    vertex: NDArray[np.int64], parent: Indices, blossom_dual: NDArray[np.int64], spare: Indices
) -> BlossomDuals:
    """Return duals with the blossoms in use numbered from n on.

    `parent` and `blossom_dual` have an entry for each node; the blossoms in `spare` are not in use.
    """
    n = len(vertex)
    used = np.ones(len(parent) - n, dtype=bool)
    used[spare - np.uint32(n)] = False
    blossoms = np.flatnonzero(used)
    number = np.empty(len(used), dtype=np.int64)
    number[blossoms] = np.arange(n, n + len(blossoms))
    above = np.concatenate([parent[:n], parent[n:][blossoms]])
    inside = np.flatnonzero(above != NONE)
    found = np.full(len(above), -1, dtype=np.int64)
    found[inside] = number[above[inside] - np.uint32(n)]
    return BlossomDuals(vertex, found, blossom_dual[n:][blossoms])


class DualStep(NamedTuple):
    """Duals of a solve that was repeated for finer weights, see :mod:`.integer_weights`."""

    duals: BlossomDuals
    #: what a dual exceeds two to this power by, in half units of the weights that were solved, counts
    limit: int


class GeneralState(NamedTuple):
    """A valid matching, and what proves it best."""

    mate: Partners  #: int64, shape (n,): the partner of each vertex, -1 for none
    #: whether the proof shows that the matching is best. Otherwise the solve was stopped.
    finished: bool
    #: shape (n,): of a solve without weights: vertices that prove the matching largest, see
    #: :mod:`preflow.certify.blossoms`
    barrier: NDArray[np.bool_] | None = None
    #: of a solve with weights. If it was stopped, the duals still prove an upper bound.
    duals: BlossomDuals | None = None


def partners(mate: Indices) -> Partners:
    """Return a matching with -1 for no partner instead of 2**32 - 1; vertices are below 2**31."""
    return mate.view(np.int32).astype(np.int64)
