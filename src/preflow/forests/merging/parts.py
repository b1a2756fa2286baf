"""A network divided into blocks, and the arcs between blocks, which can be closed and opened again.

A closed arc has residual capacity 0, and so has its opposite; the capacities that they had are stored in
`Faces.kept`. So a search that starts in a block stays in it, and no kernel computes where a block ends. The
arcs between two blocks are one face or several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Integers, ResidualNetwork
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...network.arcs import head, opposite, place


class Blocks(NamedTuple):
    """A partition into blocks. A *run* is a set of vertices of one block with consecutive numbers."""

    first: NDArray[
        np.uint64
    ]  #: shape (blocks + 1,): the runs of block b are ``first[b]`` to ``first[b+1] - 1``
    begin: Indices  #: shape (runs,): first vertex of each run
    end: Indices  #: shape (runs,): one past the last vertex of each run


class Faces(NamedTuple):
    """The arcs between blocks, face by face: one of each pair of opposites."""

    ends: NDArray[np.uint32]  #: shape (faces, 2): block of the tails, and of the heads
    #: shape (faces + 1,): the arcs of face k are ``first[k]`` to ``first[k + 1] - 1`` in the other arrays
    first: NDArray[np.uint64]
    tail: Indices  #: shape (arcs,): tail of each arc
    name: Indices  #: shape (arcs,): name of each arc, see :mod:`preflow.network.arcs`
    kept: Integers  #: shape (arcs, 2): residual capacities of closed arcs and of their opposites


@kernel
def runs_of(blocks: Blocks, block: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the first run of a block, and one past the last."""
    return blocks.first[block], blocks.first[block + ONE]


@kernel
def arcs_of(faces: Faces, face: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the first arc of a face, and one past the last."""
    return faces.first[face], faces.first[face + ONE]


@kernel
def places_of(net: ResidualNetwork, faces: Faces, k: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return where the residual capacities of an arc of a face and of its opposite are."""
    v, a = np.uint64(faces.tail[k]), np.uint64(faces.name[k])
    return place(net, v, a), place(net, head(net, v, a), opposite(net, a))


@kernel
def close_face(net: ResidualNetwork, faces: Faces, face: np.uint64) -> np.uint64:
    """Close the arcs of a face; return how many arcs and opposites were not saturated."""
    residual = net.residual
    k, end = arcs_of(faces, face)
    unsaturated = ZERO
    while k < end:
        arc, back = places_of(net, faces, k)
        faces.kept[k, 0] = residual[arc]
        faces.kept[k, 1] = residual[back]
        unsaturated += np.uint64(residual[arc] > 0) + np.uint64(residual[back] > 0)
        residual[arc] = 0
        residual[back] = 0
        k += ONE
    return unsaturated


@kernel
def open_face(net: ResidualNetwork, faces: Faces, face: np.uint64) -> None:
    """Restore the capacities of the arcs of a face."""
    k, end = arcs_of(faces, face)
    while k < end:
        arc, back = places_of(net, faces, k)
        net.residual[arc] = faces.kept[k, 0]
        net.residual[back] = faces.kept[k, 1]
        k += ONE
