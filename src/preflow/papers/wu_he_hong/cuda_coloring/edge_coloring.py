"""Greedy colouring of the pairs of residual arcs: no two pairs that share a vertex have one colour.

Wu, He and Hong do this before their Algorithm 3 starts. A pair takes the lowest colour that neither of its
ends has seen, so at most ``2 * maximum degree - 1`` colours are needed; any colouring needs at least as
many colours as the maximum degree. The paper's simple heuristic takes O(V E). Here a vertex keeps the
colours that it has seen as bits, and a pair looks at 64 colours at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Indices
from ....errors import UnsuitableMethodError
from ....graph.residual import ResidualArrays
from ....kernels.constants import ONE, ZERO
from ....kernels.kernel import kernel
from ....network.arcs import arcs_of, head, opposite

#: Greatest degree for which the method makes sense: each colour is a barrier, about 2 microseconds, in
#: every cycle.
MOST_DEGREE = 1024
#: Greatest memory for the bits of the colours that the vertices have seen.
MOST_MASK_BYTES = 2**31

WORD_BITS = np.uint64(64)


class EdgeColoring(NamedTuple):
    """A colour for every pair of residual arcs."""

    #: the smallest unsigned dtype, shape (m,): colour of each residual arc; an arc and its reverse have the
    #: same
    color: Array
    #: shape (number of colours,): residual arcs of each colour, two for each pair; none is 0
    sizes: NDArray[np.int64]


def color_edges(net: ResidualArrays) -> EdgeColoring:
    """Colour the pairs of a residual network in the order of their arcs.

    At most ``2 * maximum degree - 1`` colours; equal networks have equal colours. O(n + m * degree / 32) time
    for the maximum degree, and n * degree / 4 bytes beside the result. UnsuitableMethodError if the maximum
    degree is above MOST_DEGREE, or the colours seen need too much memory.
    """
    num_vertices = len(net.excess)
    degree = int(np.diff(net.first_out).max(initial=0))
    most_colors = max(1, 2 * degree - 1)
    words = -(-most_colors // int(WORD_BITS))
    mask_bytes = 8 * words * num_vertices
    if degree > MOST_DEGREE or mask_bytes > MOST_MASK_BYTES:
        raise UnsuitableMethodError(
            f"a vertex has {degree:,} neighbours beside the terminals: too many to colour the arcs of "
            f"{num_vertices:,} vertices, where {MOST_DEGREE:,} neighbours and {MOST_MASK_BYTES >> 20:,} MiB "
            f"of colours seen (here {mask_bytes >> 20:,}) are the most"
        ).advising("method", "cuda-push-relabel", "has no such limit")
    color = np.empty(len(net.head), dtype=np.min_scalar_type(most_colors - 1))
    color_pairs(net, np.uint64(words), np.zeros(words * num_vertices, dtype=np.uint64), color)
    sizes = np.bincount(color).astype(np.int64, copy=False)
    return EdgeColoring(color.astype(np.min_scalar_type(max(0, len(sizes) - 1)), copy=False), sizes)


@kernel
def color_pairs(net: ResidualArrays, words: np.uint64, seen: NDArray[np.uint64], color: Indices) -> None:
    """Give both arcs of every pair the lowest colour that neither end has seen.

    ``seen[v * words : (v + 1) * words]``, zero on entry, are the bits of the colours at `v`.
    """
    for vertex in range(len(net.excess)):
        v = np.uint64(vertex)
        a, last = arcs_of(net, v)
        while a < last:
            w = head(net, v, a)
            if v < w:
                word = ZERO
                both = seen[v * words] | seen[w * words]
                while both == ~ZERO:
                    word += ONE
                    both = seen[v * words + word] | seen[w * words + word]
                bit = lowest_zero(both)
                seen[v * words + word] |= ONE << bit
                seen[w * words + word] |= ONE << bit
                lowest = word * WORD_BITS + bit
                color[a] = lowest
                color[opposite(net, a)] = lowest
            a += ONE


@kernel
def lowest_zero(bits: np.uint64) -> np.uint64:
    """Return the position of the lowest zero bit of a uint64 that has one."""
    position = ZERO
    width = WORD_BITS >> ONE
    while width > ZERO:
        low = (ONE << width) - ONE
        if (bits >> position) & low == low:
            position += width
        width >>= ONE
    return position
