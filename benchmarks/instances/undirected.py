"""Undirected graphs for matching: random ones, triangulations, complete ones, and those hard for blossoms.

Weights are integers. Where vertices are points, they are distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflow.checks import check_integer, check_number
from preflow.generators.parameters import seeded
from preflow.graph.bipartite import BipartiteGraph
from preflow.graph.undirected import UndirectedGraph

#: Coordinates of points are below this.
SIDE = 10**6


def random_graph(n: int, degree: float = 6, *, largest: int = 10**6, seed: int = 0) -> UndirectedGraph:
    """Return ``n * degree / 2`` random edges with random weights from 1 to `largest`.

    Loops are left out, some edges may be parallel.

    Examples
    --------
    >>> random_graph(1000).num_vertices
    1000
    """
    n = check_integer("n", n)
    degree = check_number("degree", degree)
    largest = check_integer("largest", largest)
    rng = seeded(seed)
    tail, head = rng.integers(0, n, (2, round(n * degree / 2)))
    kept = tail != head
    return _weighted(n, tail[kept], head[kept], largest, rng)


def triangulated_points(n: int, *, seed: int = 0) -> UndirectedGraph:
    """Return the Delaunay triangulation of random points in a square, with distances as weights.

    There are `n` points, at least 4; with an even number there is a perfect matching.
    """
    from scipy.spatial import Delaunay

    n = check_integer("n", n, minimum=4)
    points = seeded(seed).random((n, 2)) * SIDE
    corners = Delaunay(points).simplices
    pairs = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1)
    edges = np.unique(pairs, axis=0)
    return _between_points(points, edges[:, 0], edges[:, 1])


def complete_points(n: int, *, seed: int = 0) -> UndirectedGraph:
    """Return all pairs of `n` random points in a square, with distances as weights."""
    n = check_integer("n", n)
    points = seeded(seed).random((n, 2)) * SIDE
    return _between_points(points, *np.triu_indices(n, 1))


def odd_cycle_chain(n: int, *, length: int = 3, largest: int = 1000, seed: int = 0) -> UndirectedGraph:
    """Return ``n // length`` odd cycles that single edges join to a chain; weights are 1 to `largest`."""
    n = check_integer("n", n)
    length = check_integer("length", length, minimum=3)
    largest = check_integer("largest", largest)
    length += 1 - length % 2
    vertex = np.arange(n // length * length)
    after = np.where(vertex % length == length - 1, vertex - length + 1, vertex + 1)
    joints = vertex[vertex % length == length - 1][:-1]
    tail, head = np.concatenate([vertex, joints]), np.concatenate([after, joints + 1])
    return _weighted(len(vertex), tail, head, largest, seeded(seed))


def nested_blossoms(n: int) -> UndirectedGraph:
    """Return a path with edges between next but one, weighted so that each blossom contains the last one."""
    n = check_integer("n", n)
    one, two = np.arange(max(n - 1, 0)), np.arange(max(n - 2, 0))
    tail, head = np.concatenate([one, two]), np.concatenate([one + 1, two + 2])
    return UndirectedGraph.from_arrays(
        tail, head, np.concatenate([2 * n - one, 2 * n - two - 1]), num_vertices=n
    )


def line_graph(n: int, *, degree: float = 6, largest: int = 10**6, seed: int = 0) -> UndirectedGraph:
    """Return the line graph of a random graph: its vertices are edges, joined where they share an end.

    It has about `n` vertices and weights from 1 to `largest`; `degree` is the mean degree of the random
    graph.
    """
    base = random_graph(max(round(2 * n / degree), 2), degree, seed=seed)
    m = base.num_edges
    ends = np.concatenate([base.tail, base.head]).astype(np.int64)
    order = np.argsort(ends, kind="stable")
    edge = order % m
    count = np.bincount(ends, minlength=base.num_vertices)
    first = np.cumsum(count) - count
    pairs = [
        (edge[begin + a], edge[begin + b])
        for begin, size in zip(first.tolist(), count.tolist(), strict=True)
        for a, b in zip(*np.triu_indices(size, 1), strict=True)
    ]
    tail, head = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    kept = tail != head
    return _weighted(m, tail[kept], head[kept], largest, seeded(seed))


def undirected(graph: BipartiteGraph, *, largest: int = 10**6, seed: int = 0) -> UndirectedGraph:
    """Return the graph whose adjacency matrix is a square bipartite graph; weights are 1 to `largest`."""
    first, neighbour = graph.rows
    row = np.repeat(np.arange(graph.num_rows), np.diff(first).astype(np.int64))
    column = neighbour.astype(np.int64)
    low, high = np.minimum(row, column), np.maximum(row, column)
    keys = np.unique(low[low < high] * graph.num_rows + high[low < high])
    return _weighted(graph.num_rows, keys // graph.num_rows, keys % graph.num_rows, largest, seeded(seed))


def _weighted(n: int, tail: Any, head: Any, largest: int, rng: np.random.Generator) -> UndirectedGraph:
    return UndirectedGraph.from_arrays(tail, head, rng.integers(1, largest + 1, len(tail)), num_vertices=n)


def _between_points(points: NDArray[np.float64], tail: Any, head: Any) -> UndirectedGraph:
    distance = np.hypot(*(points[tail] - points[head]).T)
    return UndirectedGraph.from_arrays(
        tail, head, np.rint(distance).astype(np.int64), num_vertices=len(points)
    )
