"""Alternating paths inside trees with blossoms: links, bases, and the exchange of edges along a path.

Gabow, "An Efficient Implementation of Edmonds' Algorithm for Maximum Matching on Graphs", JACM 23 (1976).

Definitions. The vertices of a *blossom* form a group, with the vertex nearest to the root as *base*. The
*link* of an even vertex says how an alternating path leads to the root: over its partner to the vertex
`near`, or, for a vertex that a blossom made even, over the edge (`near`, `far`) that closed the blossom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.union_find import find_set

#: No vertex.
NONE = np.uint64(2**32 - 1)
#: Labels of vertices: in no tree, and in a tree by the distance from the root.
OUTSIDE, EVEN, ODD = np.uint8(0), np.uint8(1), np.uint8(2)


class Links(NamedTuple):
    """A matching, and the links and groups of trees."""

    mate: Indices  #: uint32, shape (n,): the partner of each vertex, NONE for none
    #: uint32, shape (n,): the link of an even vertex; `far` is NONE where the path leads over the partner to
    #: `near`, and both are for a root
    near: Indices
    far: Indices
    group: Indices  #: uint32, shape (n,): union-find; leads to the base of the blossom
    seen: Indices  #: uint32, shape (n,): the last search for a base that came to a vertex
    searches: NDArray[np.uint64]  #: shape (1,): the number of these searches
    stack: Indices  #: uint32, shape (2 n + 2,): pairs of vertices that are to be matched; scratch


def new_links(mate: Indices) -> Links:
    """Return links of no tree for a matching with NONE for no partner."""
    n = len(mate)
    return Links(
        mate=mate,
        near=np.full(n, NONE, dtype=np.uint32),
        far=np.full(n, NONE, dtype=np.uint32),
        group=np.arange(n, dtype=np.uint32),
        seen=np.zeros(n, dtype=np.uint32),
        searches=np.zeros(1, dtype=np.uint64),
        stack=np.empty(2 * n + 2, dtype=np.uint32),
    )


@kernel
def top(group: Indices, v: np.uint64) -> np.uint64:
    """Return the vertex that stands for the group of a vertex."""
    return np.uint64(find_set(group, v))


@kernel
def link_root(links: Links, v: np.uint64) -> None:
    """Let no path lead on from a free vertex."""
    links.near[v] = NONE
    links.far[v] = NONE


@kernel
def common_base(links: Links, u: np.uint64, v: np.uint64) -> np.uint64:
    """Return the lowest base above two even vertices of a tree, in the time of the shorter way."""
    links.searches[0] += ONE
    search = links.searches[0]
    a, b = top(links.group, u), top(links.group, v)
    while True:
        if a != NONE:
            if np.uint64(links.seen[a]) == search:
                return a
            links.seen[a] = search
            above = np.uint64(links.near[a])
            a = NONE if above == NONE else top(links.group, above)
        a, b = b, a


@kernel
def rematch(links: Links, u: np.uint64, v: np.uint64, last: np.uint64) -> None:
    """Match the even vertex u with v, and exchange the edges of its path up to the vertex `last`.

    NONE for `last` leads to the root.
    """
    mate, stack = links.mate, links.stack
    stack[0], stack[1] = u, v
    size = ONE
    while size > ZERO:
        size -= ONE
        u, v = np.uint64(stack[2 * size]), np.uint64(stack[2 * size + ONE])
        partner = np.uint64(mate[u])
        mate[u] = v
        if u == last or partner == NONE or np.uint64(mate[partner]) != u:
            continue
        near, far = np.uint64(links.near[u]), np.uint64(links.far[u])
        if far == NONE:
            mate[partner] = near
            stack[2 * size], stack[2 * size + ONE] = near, partner
            size += ONE
        else:
            stack[2 * size], stack[2 * size + ONE] = far, near
            size += ONE
            stack[2 * size], stack[2 * size + ONE] = near, far
            size += ONE
