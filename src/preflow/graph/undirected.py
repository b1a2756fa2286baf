"""Undirected graphs, and the form in which solvers of general matching get them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices


class Neighbours(NamedTuple):
    """A simple graph in compressed sparse rows; each edge is there from both of its ends.

    Attributes
    ----------
    first : ndarray of uint32 or uint64, shape (n + 1,)
        Where the neighbours of each vertex begin; the last entry is their number.
    neighbour : ndarray of uint32, shape (2m,)
    weight : ndarray of int64, shape (2m,), or (0,) without weights
    """

    first: Indices
    neighbour: Indices
    weight: NDArray[np.int64]
