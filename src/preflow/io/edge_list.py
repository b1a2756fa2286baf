"""Graphs as lists of edges, "FROM TO" and perhaps a weight, as in the Stanford collection (SNAP)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import ParseError
from ..graph.bipartite import BipartiteGraph
from ..graph.edge_tables import ENDS
from ..graph.network import EXACT_FLOAT
from .files import check_text, check_vertices, of_text, parsing, read_bytes
from .number_rows import (
    check_widths,
    load,
    names_above,
    read_numbers,
    refuse_neighbours,
    refuse_sizes,
    rows_of,
    sizes_in,
)

#: A list may have a weight and a time of each edge, as those of KONECT.
MOST_FIELDS = 4
#: What to do with a matrix.
MATRIX = (
    "; a matrix is read from a Matrix Market file, scipy.io.mmwrite('a.mtx', scipy.sparse.coo_array(matrix))"
)


class EdgeList(NamedTuple):
    """The edges in a file."""

    ends: NDArray[np.int64]  #: shape (2, m): numbered from 0
    num_vertices: int
    first: int  #: the number of the first vertex in the file, 1 or 0
    weight: Array | None = None  #: shape (m,); None: not asked for, or not there


def read_edge_list(path: str | Path) -> BipartiteGraph:
    """Read the adjacency matrix of a graph: the first vertex of a line is a row, the second a column.

    Lines are "FROM TO", numbered from 0, and comments that begin with # or %. A weight and a time behind them
    are ignored. A first line with the numbers of vertices and edges, as some formats have it, is
    left out if it has fewer or more fields than the others; if it could be an edge, it is an error. The
    matrix is square, with just enough rows for the largest number. A file that has each edge of an undirected
    graph once gives half of its matrix.

    ParseError if the file is missing or malformed, or needs more than 2**22 vertices, and 256 more for each
    edge: then relabel them, as ``numpy.unique(vertices, return_inverse=True)`` does.
    """
    with parsing(path, "list of edges"):
        return parse_edge_list(read_bytes(path), path)


def parse_edge_list(data: bytes, path: str | Path) -> BipartiteGraph:
    """Return the graph in the content of a file; see :func:`read_edge_list`."""
    (row, column), size, first, _ = parse_ends(data, path)
    size += first
    return BipartiteGraph.from_arrays(row + first, column + first, shape=(size, size))


def parse_ends(data: bytes, path: str | Path, *, weights: bool = False) -> EdgeList:
    """Return the edges in the content of a file, and their weights if they are asked for and there are some.

    Vertices are numbered from 1 in a file that has no 0. ParseError: the content is malformed.
    """
    check_text(path, data)
    data = of_text(data)
    refuse_neighbours(path, data)
    rows = rows_of(data)
    first, second = next(rows, None), next(rows, None)
    if first is None:
        return EdgeList(np.zeros((2, 0), dtype=np.int64), 0, 0)
    has_sizes = second is not None and len(second.fields) != len(first.fields)
    skip = first.line if has_sizes else 0
    width = len((second or first).fields)
    if width > MOST_FIELDS:
        message = f"expected 'FROM TO', a weight and a time at most, got {width} fields{MATRIX}"
        raise ParseError(path, (second or first).line, message)
    if (above := names_above(data, width)) and tuple(above[:2]) not in ENDS:
        message = (
            f"the comment says {' '.join(above)!r}, and the first two columns are the ends of edges here"
        )
        raise ParseError(path, first.line, message)
    has_weights = weights and width > 2
    weight: Array | None = None
    with parsing(path, "list of edges, lines of two integers" + " and a weight" * has_weights):
        try:
            numbers = load(data, np.int64, skip=skip)
            weight = numbers[:, 2] if has_weights else None
        except (ValueError, OverflowError):
            check_widths(path, data, skip)
            whole = _whole(data, skip)
            numbers = read_numbers(path, data, (0, 1), integers=True, skip=skip) if whole is None else whole
            weight = read_numbers(path, data, (2,), skip=skip)[:, 0] if has_weights else None
        if numbers.shape[1] < 2:
            raise ParseError(path, first.line, "expected 'FROM TO', got 1 field")
    ends = numbers[:, :2]
    smallest, largest = int(ends.min()), int(ends.max())
    if smallest < 0:
        raise ParseError(path, None, f"vertex {smallest} is negative")
    if largest <= 1 and width > 2 and len(ends) > 2:
        raise ParseError(path, first.line, f"expected edges, and all vertices are 0 or 1{MATRIX}")
    base = min(1, smallest)
    size = largest + 1 - base
    if has_sizes:
        announced = max(sizes_in(first, len(ends)), default=-1)
        if announced < 0:
            message = f"{len(first.fields)} fields, and not the sizes, 'VERTICES {len(ends)}', while the next"
            raise ParseError(path, first.line, f"{message} line has {width}")
        if announced < size:
            raise ParseError(path, first.line, f"{announced} vertices were announced, an edge has {largest}")
        size = announced
    else:
        largest_ends = ends[1:].max(axis=0, initial=0).tolist()
        refuse_sizes(path, first, len(ends) - 1, (largest_ends[0], largest_ends[1]))
    check_vertices(path, None, size, len(ends))
    return EdgeList(np.ascontiguousarray(ends.T) - base, size, base, weight)


def _whole(data: bytes, skip: int) -> Array | None:
    """Return the ends of edges that are written as floats, as numpy.savetxt does; None: no integers."""
    try:
        numbers = load(data, np.float64, (0, 1), skip)
    except ValueError:
        return None
    is_whole = bool(((np.abs(numbers) < EXACT_FLOAT) & (numbers == np.trunc(numbers))).all())
    return numbers.astype(np.int64) if is_whole else None
