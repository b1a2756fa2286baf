"""Graphs as lists of edges, "FROM TO", as in the Stanford collection (SNAP). Plain or gzip."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import ParseError
from ..graph.bipartite import BipartiteGraph
from .files import check_text, check_vertices, parsing, read_bytes, reason_of

#: Characters at which comments begin.
COMMENTS = ["#", "%"]


def read_edge_list(path: str | Path) -> BipartiteGraph:
    """Read the adjacency matrix of a graph: the first vertex of a line is a row, the second a column.

    Lines are "FROM TO", numbered from 0, and comments that begin with # or %. Further fields of a line, such
    as a weight, are ignored. A first line with the numbers of vertices and edges, as some formats have it, is
    an error. The matrix is square, with just enough rows for the largest number. A file that has each edge of
    an undirected graph once gives half of its matrix.

    ParseError if the file is missing or malformed, or needs more than 2**22 vertices, and 256 more for each
    edge: then relabel them, as ``numpy.unique(vertices, return_inverse=True)`` does.
    """
    with parsing(path, "list of edges"):
        return parse_edge_list(read_bytes(path), path)


def parse_edge_list(data: bytes, path: str | Path) -> BipartiteGraph:
    """Return the graph in the content of a file; see :func:`read_edge_list`."""
    check_text(path, data)
    (row, column), size, _ = parse_ends(data, path)
    return BipartiteGraph.from_arrays(row, column, shape=(size, size))


def parse_ends(
    data: bytes, path: str | Path, *, weights: bool = False
) -> tuple[NDArray[np.int64], int, Array | None]:
    """Return the ends of edges, shape (2, m), the number of vertices, and weights if they are asked for.

    ParseError: the content is malformed.
    """
    weight: Array | None = None
    try:
        ends = _columns(data, (0, 1), np.int64)
        if weights:
            try:
                weight = _columns(data, (2,), np.int64)[:, 0]
            except ValueError:
                weight = _columns(data, (2,), np.float64)[:, 0]
    except (ValueError, OverflowError) as error:
        message = f"no list of edges, lines of two integers{' and a weight' * weights}: {reason_of(error)}"
        raise ParseError(path, None, message) from error
    if int(ends.min(initial=0)) < 0:
        raise ParseError(path, None, f"vertex {int(ends.min())} is negative")
    _refuse_sizes(ends, path)
    size = int(ends.max(initial=-1)) + 1
    check_vertices(path, None, size, len(ends))
    return np.ascontiguousarray(ends.T), size, weight


def _refuse_sizes(ends: NDArray[np.int64], path: str | Path) -> None:
    """Raise ParseError if the first line has the numbers of vertices and edges: it would become an edge."""
    if len(ends) < 2:
        return
    vertices, edges = ends[0].tolist()
    largest = int(ends[1:].max())
    if edges == len(ends) - 1 and vertices in (largest, largest + 1):
        raise ParseError(
            path,
            None,
            f"the first line, '{vertices} {edges}', has the number of vertices and that of the lines below, "
            "so it is not read as an edge: leave it out; if it is an edge, move it down",
        )


def _columns(data: bytes, columns: tuple[int, ...], dtype: Any) -> Array:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        found = np.loadtxt(BytesIO(data), dtype=dtype, comments=COMMENTS, usecols=columns, ndmin=2)
    return found.reshape(-1, len(columns))
