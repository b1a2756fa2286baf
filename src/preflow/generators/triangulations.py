"""Triangulations of random points in a square, and their duals, as bipartite graphs.

A large triangulation may consist of copies of a small periodic one, a patch. The neighbourhoods of vertices
are then like those of a large triangulation, and making it takes a fraction of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import check_integer
from ..graph.bipartite import BipartiteGraph
from .bipartite import distinct, ranks, simple_graph
from .parameters import seeded

#: To triangulate a patch, its points are repeated around it up to this distance, in mean distances of
#: neighbours. Empty circles have diameters of a few of these.
MARGIN = 16.0
#: Fewest points of a patch: with fewer, neighbours are too far apart.
LEAST_POINTS = 500
#: Triangles into which longest-edge refinement divides one.
CHILDREN = 4


class Arcs(NamedTuple):
    """Arcs between the `size` vertices of a patch and its copies; `shift` is the copy of the head."""

    size: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    shift: NDArray[np.int64]


class Patch(NamedTuple):
    """A periodic triangulation of the unit square, and its dual."""

    arcs: Arcs
    dual_arcs: Arcs
    centres: NDArray[np.float64]


def delaunay(n: int, *, patches: int = 1, ordered: bool = False, seed: int = 0) -> BipartiteGraph:
    """Return the Delaunay triangulation of `n` uniform points in a square.

    Parameters
    ----------
    n : int
        Number of points; approximate if there are several patches.
    patches : int
        Number of patches along each side of the square.
    ordered : bool
        Whether the points are in the order of a Z-order curve, not in random order.

    Examples
    --------
    >>> delaunay(1000).num_rows
    1000
    >>> delaunay(8000, patches=4).num_rows
    8000
    """
    n = check_integer("n", n, minimum=3)
    patches = check_integer("patches", patches)
    rng = seeded(seed)
    if patches == 1:
        points = rng.random((n, 2))
        corners = _triangulation(points).simplices
        names = _places(points) if ordered else np.arange(n)
        tail, head = names[corners.ravel()], names[np.roll(corners, 1, axis=1).ravel()]
        return simple_graph(n, tail, head, symmetric=True)
    check_integer("points of a patch", n // patches**2, minimum=LEAST_POINTS)
    points = rng.random((round(n / patches**2), 2))
    tail, head, size = _tiled(_patch(points).arcs, patches)
    names = _places(_copies(points, patches)) if ordered else rng.permutation(size)
    return simple_graph(size, names[tail], names[head], symmetric=False)


def triangulation_dual(n: int, *, seed: int = 0) -> BipartiteGraph:
    """Return the dual of a Delaunay triangulation of uniform points: about `n` triangles, joined at edges.

    Every triangle but those at the border has three neighbours. Triangles are in the order in which the
    triangulation lists them.

    Examples
    --------
    >>> 950 < triangulation_dual(1000).num_rows <= 1000
    True
    """
    n = check_integer("n", n, minimum=8)
    return _dual(seeded(seed).random((n // 2 + 2, 2)))


def hugetrace_like(n: int, *, patches: int = 1, refined: bool = False, seed: int = 0) -> BipartiteGraph:
    """Return the dual of a triangulation that is refined around a curve, as in the hugetrace graphs.

    Half of the points lie around a closed curve with a normal distance from it, half anywhere; the
    triangles are ordered along a Z-order curve.

    Parameters
    ----------
    n : int
        Number of triangles.
    patches : int
        Number of patches along each side of the square; each has its curve.
    refined : bool
        Whether the triangles come from longest-edge refinement: each of a coarser triangulation was divided
        into four at the middles of its sides, which are numbered one after the other. Rivara, "Algorithms
        for refining triangular grids suitable for adaptive and multigrid techniques", IJNME 1984.

    Examples
    --------
    >>> 950 < hugetrace_like(1000).num_rows <= 1000
    True
    >>> hugetrace_like(16000, patches=4).num_rows
    16000
    """
    n = check_integer("n", n, minimum=8)
    patches = check_integer("patches", patches)
    rng = seeded(seed)
    parts = 8 if refined else 2
    if patches == 1:
        return _dual(_around_a_curve(n // parts + 2, rng), ordered=True, refined=refined)
    check_integer("points of a patch", n // (parts * patches**2), minimum=LEAST_POINTS)
    patch = _patch(_around_a_curve(round(n / (parts * patches**2)), rng) % 1.0, refined)
    tail, head, size = _tiled(patch.dual_arcs, patches)
    place = _places(_copies(patch.centres, patches))
    return simple_graph(size, place[tail], place[head], symmetric=False)


def _around_a_curve(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    angle = rng.random(count // 2) * (2 * np.pi)
    radius = 0.3 + 0.05 * np.sin(7 * angle) + 0.01 * rng.standard_normal(count // 2)
    curve = 0.5 + radius[:, np.newaxis] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([curve, rng.random((count - count // 2, 2))])


def _triangulation(points: NDArray[np.float64]) -> Any:
    from scipy.spatial import Delaunay

    return Delaunay(points)


def _patch(points: NDArray[np.float64], refined: bool = False) -> Patch:
    """Return the periodic triangulation of points in the unit square; `refined` is for its dual."""
    count = len(points)
    shifts = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), axis=-1).reshape(9, 2)
    copies = (points + shifts[:, np.newaxis]).reshape(9 * count, 2)
    margin = MARGIN / count**0.5
    near = np.flatnonzero(((copies > -margin) & (copies < 1.0 + margin)).all(axis=1))
    triangles = _triangulation(copies[near])
    point, shift = near % count, shifts[near // count]
    centre = copies[near][triangles.simplices].mean(axis=1)
    square = np.floor(centre).astype(np.int64)
    own = np.flatnonzero((square == 0).all(axis=1))

    corner = triangles.simplices[own]
    other = np.roll(corner, 1, axis=1)
    near_by = shift[other] - shift[corner] + 1  # 0 to 2, but for patches of few points
    side = ((point[corner] * count + point[other]) * 3 + near_by[..., 0]) * 3 + near_by[..., 1]
    back = ((point[other] * count + point[corner]) * 3 + 2 - near_by[..., 0]) * 3 + 2 - near_by[..., 1]
    ends, place = np.divmod(distinct(np.concatenate([side.ravel(), back.ravel()])), 9)
    beside = np.stack(np.divmod(place, 3), axis=1) - 1

    # A triangle and its copies have the same three points.
    key = np.sort(point[triangles.simplices], axis=1) @ np.array([count**2, count, 1])
    order = np.argsort(key[own])
    parts = CHILDREN if refined else 1
    tail, head = _sides(triangles, refined)
    inside = (square[tail // parts] == 0).all(axis=1)
    (parent, child), (neighbour, other_child) = (np.divmod(each[inside], parts) for each in (tail, head))
    number = order[np.searchsorted(key[own][order], key[neighbour])]
    return Patch(
        Arcs(count, ends // count, ends % count, beside),
        Arcs(
            parts * len(own),
            parts * np.searchsorted(own, parent) + child,
            parts * number + other_child,
            square[neighbour],
        ),
        np.repeat(centre[own], parts, axis=0),
    )


def _sides(triangles: Any, refined: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of triangles with a common side, in both orders.

    If they are `refined`, the pairs are those of their children; triangle t has children 4 t to 4 t + 3. The
    middle of the longest side AB is joined to C and to the middles of the other sides: child 0 has the corner
    A, children 1 and 2 have C, and child 3 has B.
    """
    neighbours = triangles.neighbors.astype(np.int64)
    parent, side = np.nonzero(neighbours >= 0)
    neighbour = neighbours[parent, side]
    if not refined:
        return parent, neighbour
    corners = triangles.simplices
    places = triangles.points[corners]
    lengths = np.linalg.norm(np.roll(places, -1, axis=1) - np.roll(places, -2, axis=1), axis=2)
    apex = lengths.argmax(axis=1)

    def child(t: NDArray[np.int64], side: NDArray[np.int64], corner: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the child of t at the side opposite to corner `side`, at the end `corner` of that side."""
        at_apex = 3 - (side - apex[t]) % 3
        found: NDArray[np.int64] = np.choose((corner - apex[t]) % 3, [at_apex, 0, 3])
        return CHILDREN * t + found

    their_side = (neighbours[neighbour] == parent[:, np.newaxis]).argmax(axis=1)
    first = CHILDREN * np.arange(len(neighbours))
    tails, heads = [], []
    for corner in ((side + 1) % 3, (side + 2) % 3):
        shared = corners[parent, corner]
        their_corner = (corners[neighbour] == shared[:, np.newaxis]).argmax(axis=1)
        tails.append(child(parent, side, corner))
        heads.append(child(neighbour, their_side, their_corner))
    for i in range(CHILDREN - 1):
        tails += [first + i, first + i + 1]
        heads += [first + i + 1, first + i]
    return np.concatenate(tails), np.concatenate(heads)


def _copies(points: NDArray[np.float64], patches: int) -> NDArray[np.float64]:
    """Return the points of patches x patches copies of the unit square, scaled to the unit square."""
    corner = np.stack(np.divmod(np.arange(patches**2), patches), axis=1)
    copies: NDArray[np.float64] = (points + corner[:, np.newaxis]).reshape(-1, 2) / patches
    return copies


def _tiled(arcs: Arcs, patches: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the arcs among patches x patches copies, without those that leave, and the number of items."""
    tails, heads = [], []
    for i in range(patches):
        for j in range(patches):
            there = np.array([i, j]) + arcs.shift
            inside = ((there >= 0) & (there < patches)).all(axis=1)
            tails.append((i * patches + j) * arcs.size + arcs.tail[inside])
            heads.append((there[inside] @ np.array([patches, 1])) * arcs.size + arcs.head[inside])
    return np.concatenate(tails), np.concatenate(heads), patches**2 * arcs.size


def _dual(points: NDArray[np.float64], ordered: bool = False, refined: bool = False) -> BipartiteGraph:
    triangles = _triangulation(points)
    parts = CHILDREN if refined else 1
    tail, head = _sides(triangles, refined)
    if ordered:
        place = _places(np.repeat(points[triangles.simplices].mean(axis=1), parts, axis=0))
        tail, head = place[tail], place[head]
    return simple_graph(parts * len(triangles.simplices), tail, head, symmetric=False)


def _places(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each point's rank along a Z-order curve over the unit square."""
    return ranks(_z_order(points))


def _z_order(points: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return each point's place along a Z-order curve over the unit square, 16 bits a coordinate."""
    cell = np.clip(points * 2**16, 0, 2**16 - 1).astype(np.uint64)
    key = np.zeros(len(points), dtype=np.uint64)
    for bit in range(16):
        for axis in range(2):
            key |= ((cell[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(2 * bit + axis)
    return key
