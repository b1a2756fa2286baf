"""The end of a solve of weighted matching in general graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices


class WeightedState(NamedTuple):
    """A matching, and duals that bound the weight of all matchings.

    Attributes
    ----------
    mate : ndarray of uint32, shape (n,)
        The partner of each vertex, n for none.
    dual : ndarray of int64, shape (n,)
        Twice the dual of each vertex; not negative.
    parent : ndarray of int64, shape (n + number of blossoms,)
        The laminar family of the blossoms. Nodes 0 to n - 1 are the vertices, the others the blossoms. The
        parent of a node is the smallest blossom that contains it, -1 if there is none.
    blossom_dual : ndarray of int64, shape (number of blossoms,)
        Twice the dual of each blossom; not negative.
    finished : bool
        Whether the duals prove that the matching has the largest weight. Otherwise the solve was stopped,
        and they prove an upper bound.
    """

    mate: Indices
    dual: NDArray[np.int64]
    parent: NDArray[np.int64]
    blossom_dual: NDArray[np.int64]
    finished: bool
