"""Bipartite graphs for matching: random ones, roads, and graphs on which depth-first search is exponential.

Square matrices but for :func:`block_banded` and :func:`erdos_renyi`; those of an undirected graph are its
adjacency matrices, rows against columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Integers
from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from ..graph.bipartite import BipartiteGraph
from .parameters import seeded

#: Probabilities of three quadrants of an RMAT graph; the fourth has the rest.
RMAT_QUADRANTS = (0.57, 0.19, 0.19)
#: The probability that an author has k papers falls with this power of k.
CLIQUE_EXPONENT = 1.0
#: How far from the diagonal local edges of random graphs are, around the corners too.
LOCAL_REACH = 500


def erdos_renyi(
    n: int, degree: float, *, columns: int = 0, local: float = 0.0, seed: int = 0
) -> BipartiteGraph:
    """Return ``n * degree`` random edges between `n` rows and `columns`; some may be equal.

    Parameters
    ----------
    n : int
    degree : float
    columns : int
        0: as many as rows.
    local : float
        Share of the edges whose column is at most LOCAL_REACH from the diagonal; the others lead anywhere.

    Examples
    --------
    >>> erdos_renyi(1000, 3)
    BipartiteGraph(1,000 rows, 1,000 columns, 3,000 edges)
    """
    n = check_integer("n", n)
    degree = check_number("degree", degree)
    columns = check_integer("columns", columns, minimum=0)
    rng = seeded(seed)
    local = check_number("local", local, minimum=0.0)
    shape = (n, columns or n)
    row, column = (rng.integers(0, size, size=round(n * degree)) for size in shape)
    if local:
        near = np.flatnonzero(rng.random(len(row)) < local)
        offset = rng.integers(-LOCAL_REACH, LOCAL_REACH + 1, len(near))
        column[near] = (row[near] * shape[1] // n + offset) % shape[1]
        row, column = np.divmod(np.sort(row * shape[1] + column), shape[1])
    return BipartiteGraph.from_arrays(row, column, shape=shape)


def rmat(scale: int, edge_factor: int, *, symmetric: bool = True, seed: int = 0) -> BipartiteGraph:
    """Return an RMAT graph of ``2**scale`` vertices, permuted and made simple, as the kron_g500 graphs are.

    Parameters
    ----------
    scale : int
    edge_factor : int
        ``edge_factor * 2**scale`` edges are drawn; repeated ones and self loops are dropped.
    symmetric : bool
        Whether an edge leads both ways.

    Examples
    --------
    >>> rmat(10, 16).num_rows
    1024
    """
    scale = check_integer("scale", scale)
    edge_factor = check_integer("edge_factor", edge_factor)
    rng = seeded(seed)
    n, m = 1 << scale, edge_factor << scale
    tail, head = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    upper_left, upper_right, lower_left = np.cumsum(RMAT_QUADRANTS)
    for _ in range(scale):
        draw = rng.random(m)
        tail += tail + (draw >= upper_right)
        head += head + (((draw >= upper_left) & (draw < upper_right)) | (draw >= lower_left))
    name = rng.permutation(n)
    return simple_graph(n, name[tail], name[head], symmetric)


def power_law(
    n: int,
    degree: float,
    *,
    exponent: float = 2.1,
    empty: float = 0.0,
    symmetric: bool = False,
    flattening: float = 0.0,
    seed: int = 0,
) -> BipartiteGraph:
    """Return a graph whose out-degrees and in-degrees follow power laws, independently.

    Both ends of ``n * degree`` edges are drawn with weights ``i ** (-1 / (exponent - 1))``, the vertices of
    large weight being random ones (Chung and Lu 2002); repeated edges and self loops are dropped.

    Parameters
    ----------
    n : int
    degree : float
    exponent : float
    empty : float
        Share of the vertices that no edge leaves, as pages that a crawl of the web found and did not open.
    symmetric : bool
        Whether an edge leads both ways, with one weight for both degrees of a vertex.
    flattening : float
        A share of the vertices: `i` counts from ``flattening * n``, so that the largest degrees do not grow
        with `n`.

    Examples
    --------
    >>> power_law(1000, 5.0).num_columns
    1000
    """
    n = check_integer("n", n)
    degree = check_number("degree", degree)
    exponent = check_number("exponent", exponent, minimum=1.5)
    empty = check_number("empty", empty, minimum=0.0)
    flattening = check_number("flattening", flattening)
    rng = seeded(seed)

    weight = (np.arange(1, n + 1) + flattening * n) ** (-1.0 / (exponent - 1.0))
    share = np.cumsum(weight) / weight.sum()

    def draw(names: NDArray[np.int64], upper: float = 1.0) -> NDArray[np.int64]:
        return names[np.minimum(np.searchsorted(share, upper * rng.random(round(n * degree))), n - 1)]

    names = rng.permutation(n)
    tail = draw(names, share[round((1.0 - empty) * (n - 1))])
    head = draw(names if symmetric else rng.permutation(n))
    return simple_graph(n, tail, head, symmetric)


def co_authorship(n: int, degree: float, *, authors: int = 3, seed: int = 0) -> BipartiteGraph:
    """Return `n` papers, joined where they share an author: the union of many cliques.

    Every paper has `authors` authors. The number of papers of an author follows a power law, cut off so that
    papers have about `degree` neighbours. The papers of an author have numbers close to each other.

    Examples
    --------
    >>> co_authorship(1000, 20).num_rows
    1000
    """
    n = check_integer("n", n)
    degree = check_number("degree", degree)
    authors = check_integer("authors", authors)
    rng = seeded(seed)
    size = np.arange(1, n + 1)
    neighbours = np.cumsum((size - 1) * size**-CLIQUE_EXPONENT) / np.cumsum(size**-CLIQUE_EXPONENT)
    largest = min(n, 1 + int(np.searchsorted(neighbours, degree / authors)))
    share = np.cumsum(size[:largest] ** -(CLIQUE_EXPONENT + 1.0))
    tail, head = [], []
    for _ in range(authors):
        sizes = 1 + np.searchsorted(share, share[-1] * rng.random(n))
        author = np.repeat(np.arange(n), sizes)[:n]
        paper = np.argsort(np.arange(n) + largest * rng.standard_normal(n))
        sizes = np.bincount(author)
        first = np.cumsum(sizes) - sizes
        times = sizes[author]
        before = np.cumsum(times) - times
        tail.append(np.repeat(paper, times))
        head.append(paper[np.arange(times.sum()) - np.repeat(before - first[author], times)])
    return simple_graph(n, np.concatenate(tail), np.concatenate(head), symmetric=False)


def hidden_diagonal(n: int, degree: float, *, reach: int = 50, seed: int = 0) -> BipartiteGraph:
    """Return a matrix with a zero-free diagonal and random entries beside it, its columns in a random order.

    Matrices of circuits are like this. There is a perfect matching, and greedy matching does not find it.

    Parameters
    ----------
    n : int
    degree : float
        ``n * degree`` entries, the diagonal included; some may be equal.
    reach : int
        How far from the diagonal entries are, around the corners too.

    Examples
    --------
    >>> hidden_diagonal(1000, 4)
    BipartiteGraph(1,000 rows, 1,000 columns, 4,000 edges)
    """
    n = check_integer("n", n)
    degree = check_number("degree", degree, minimum=1.0)
    reach = check_integer("reach", reach)
    rng = seeded(seed)
    more = round(n * (degree - 1.0))
    diagonal = np.arange(n)
    row = rng.integers(0, n, more)
    column = (row + rng.integers(-reach, reach + 1, more)) % n
    names = rng.permutation(n)
    keys = np.concatenate([diagonal * n + names, row * n + names[column]])
    keys.sort()
    return BipartiteGraph.from_arrays(keys // n, keys % n, shape=(n, n))


def road_like(
    n: int, *, keep: float = 0.7, pieces: int = 3, along: bool = False, seed: int = 0
) -> BipartiteGraph:
    """Return a grid, thinned and subdivided, as road networks are: about `n` vertices of mean degree 2.3.

    Parameters
    ----------
    n : int
    keep : float
        Share of the grid's edges that stay.
    pieces : int
        A kept edge becomes a path of 1 to `pieces` edges.
    along : bool
        Whether each crossing is followed by the inner vertices of the paths to the next ones.

    Notes
    -----
    Crossings are numbered row by row; then come the inner vertices of all paths, in the order of the edges,
    unless vertices are numbered along the roads.

    Examples
    --------
    >>> 800 < road_like(1000).num_rows < 1200
    True
    """
    n = check_integer("n", n, minimum=4)
    keep = check_number("keep", keep)
    pieces = check_integer("pieces", pieces)
    rng = seeded(seed)
    side = max(2, round((n / (1 + 2 * keep * (pieces - 1) / 2)) ** 0.5))
    crossing = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([crossing[:, :-1].ravel(), crossing[:-1].ravel()])
    head = np.concatenate([crossing[:, 1:].ravel(), crossing[1:].ravel()])
    kept = rng.random(len(tail)) < keep
    tail, head = tail[kept], head[kept]
    inner = rng.integers(0, pieces, len(tail))
    first = side * side + np.cumsum(inner) - inner
    size = side * side + int(inner.sum())
    ends = [(np.where(inner > 0, first + inner - 1, tail), head)]
    for i in range(pieces - 1):
        longer = inner > i
        before = tail if i == 0 else first + i - 1
        ends.append((before[longer], (first + i)[longer]))
    u, v = (np.concatenate(each) for each in zip(*ends, strict=True))
    if along:
        place = ranks(np.concatenate([crossing.ravel(), np.repeat(tail, inner)]))
        u, v = place[u], place[v]
    return simple_graph(size, u, v, symmetric=True)


def ladder(depth: int) -> BipartiteGraph:
    """Return a graph with ``2**depth`` alternating paths to a dead end, beside one path that augments.

    Greedy matching leaves two rows free. One leads into `depth` layers of two columns each; every column
    leads on to both columns of the next layer, and the last layer is a dead end. The other leads to a path of
    the same length that ends at a free column. A search that does not remember dead ends walks all paths of
    the first.

    Examples
    --------
    >>> ladder(20)
    BipartiteGraph(62 rows, 61 columns, 159 edges)
    """
    depth = check_integer("depth", depth)
    layer = np.arange(depth)
    rung = 2 * layer
    edges = [(rung + side, rung + side) for side in (0, 1)]
    edges += [(rung[:-1] + a, rung[1:] + b) for a in (0, 1) for b in (0, 1)]
    path = 2 * depth + layer
    edges += [(path, path), (path, path + 1)]
    into_ladder, into_path = 3 * depth, 3 * depth + 1
    edges += [(np.array([into_ladder, into_ladder, into_path]), np.array([0, 1, 2 * depth]))]
    row = np.concatenate([r for r, _ in edges])
    column = np.concatenate([c for _, c in edges])
    return BipartiteGraph.from_arrays(row, column, shape=(3 * depth + 2, 3 * depth + 1))


def block_banded(n: int, *, block: int = 50, missing: int = 1, seed: int = 0) -> BipartiteGraph:
    """Return dense blocks on and beside the diagonal, in a random order, with fewer columns than rows.

    Parameters
    ----------
    n : int
        Rows.
    block : int
        Rows of a block, at most half of them filled at random.
    missing : int
        By how many columns each block is narrower than tall.

    Examples
    --------
    >>> block_banded(1000)
    BipartiteGraph(1,000 rows, 980 columns, 49,000 edges)
    """
    n = check_integer("n", n)
    block = check_integer("block", block, minimum=2)
    missing = check_integer("missing", missing, minimum=0)
    if missing >= block:
        raise InvalidInputError(f"missing must be below block {block}, got {missing}")
    rng = seeded(seed)
    width = block - missing
    count = -(-n // block)
    rows = np.repeat(np.arange(n), width)
    columns = rows // block * width + np.tile(np.arange(width), n)
    beside = rng.random(len(rows)) < 0.5
    columns = np.where(beside, (columns + width) % (count * width), columns)
    row_name, column_name = rng.permutation(n), rng.permutation(count * width)
    return BipartiteGraph.from_arrays(row_name[rows], column_name[columns], shape=(n, count * width))


def ranks(keys: Array) -> NDArray[np.int64]:
    """Return the place of each key in sorted order; equal keys keep their order."""
    place = np.empty(len(keys), dtype=np.int64)
    place[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return place


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sorted keys, each once. np.unique hashes them, which takes 70 times as long."""
    ordered = np.sort(keys)
    new = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def simple_graph(n: int, tail: Integers, head: Integers, symmetric: bool) -> BipartiteGraph:
    """Return the graph of some arcs without loops and repeated ones."""
    loops = tail == head
    if loops.any():
        tail, head = tail[~loops], head[~loops]
    tail, head = tail.astype(np.int64), head.astype(np.int64)
    if symmetric:
        tail, head = np.concatenate([tail, head]), np.concatenate([head, tail])
    keys = distinct(tail * n + head)
    return BipartiteGraph.from_arrays(keys // n, keys % n, shape=(n, n))
