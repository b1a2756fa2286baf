"""Graphs as lists of edges, "FROM TO" and perhaps a weight, as in the Stanford collection (SNAP)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import ParseError
from ..graph.bipartite import BipartiteGraph
from .files import check_text, check_vertices, parsing, read_bytes
from .number_rows import Row, check_widths, load, read_numbers, rows_of


class EdgeList(NamedTuple):
    """The edges in a file."""

    ends: NDArray[np.int64]  #: shape (2, m): numbered from 0
    num_vertices: int
    first: int  #: the number of the first vertex in the file, 1 or 0
    weight: Array | None = None  #: shape (m,); None: not asked for, or not there


def read_edge_list(path: str | Path) -> BipartiteGraph:
    """Read the adjacency matrix of a graph: the first vertex of a line is a row, the second a column.

    Lines are "FROM TO", numbered from 0, and comments that begin with # or %. Further fields of a line, such
    as a weight, are ignored. A first line with the numbers of vertices and edges, as some formats have it, is
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
    rows = rows_of(data)
    first, second = next(rows, None), next(rows, None)
    if first is None:
        return EdgeList(np.zeros((2, 0), dtype=np.int64), 0, 0)
    has_sizes = second is not None and len(second.fields) != len(first.fields)
    skip = first.line if has_sizes else 0
    has_weights = weights and len((second or first).fields) > 2
    weight: Array | None = None
    with parsing(path, "list of edges, lines of two integers" + " and a weight" * has_weights):
        try:
            numbers = load(data, np.int64, skip=skip)
            weight = numbers[:, 2] if has_weights else None
        except (ValueError, OverflowError):
            check_widths(path, data, skip)
            numbers = read_numbers(path, data, (0, 1), integers=True, skip=skip)
            weight = read_numbers(path, data, (2,), skip=skip)[:, 0] if has_weights else None
        if numbers.shape[1] < 2:
            raise ParseError(path, first.line, "expected 'FROM TO', got 1 field")
    ends = numbers[:, :2]
    smallest, largest = int(ends.min()), int(ends.max())
    if smallest < 0:
        raise ParseError(path, None, f"vertex {smallest} is negative")
    base = min(1, smallest)
    size = largest + 1 - base
    if has_sizes:
        size = _announced(path, first, ends, base)
    else:
        _refuse_sizes(path, first, numbers)
    check_vertices(path, None, size, len(ends))
    return EdgeList(np.ascontiguousarray(ends.T) - base, size, base, weight)


def _announced(path: str | Path, line: Row, ends: NDArray[np.int64], base: int) -> int:
    """Return the number of vertices in a first line that cannot be an edge, for it has not as many fields."""
    *vertices, edges = (int(field) if field.isdigit() else -1 for field in line.fields)
    if len(vertices) not in (1, 2) or edges not in (len(ends), len(ends) / 2):
        message = f"the first line has {len(line.fields)} fields, and not the sizes, 'VERTICES {len(ends)}'"
        raise ParseError(path, line.line, f"{message}: lines of edges have as many fields as the second one")
    largest = int(ends.max())
    if max(vertices) < largest + 1 - base:
        raise ParseError(path, line.line, f"{max(vertices)} vertices were announced, an edge has {largest}")
    return max(vertices)


def _refuse_sizes(path: str | Path, line: Row, numbers: NDArray[np.int64]) -> None:
    """Raise ParseError if the first line has the numbers of vertices and edges: it would become an edge."""
    below = len(numbers) - 1
    *vertices, edges = numbers[0].tolist()
    if below and edges in (below, below / 2) and min(vertices[:2]) >= int(numbers[1:, :2].max()):
        raise ParseError(
            path,
            line.line,
            f"the first line, {b' '.join(line.fields).decode()!r}, has the number of vertices and that of "
            "the lines below, so it is not read as an edge: leave it out; if it is an edge, move it down",
        )
