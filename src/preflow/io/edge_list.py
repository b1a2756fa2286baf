"""Graphs as lists of edges, "FROM TO", as in the Stanford collection (SNAP). Plain or gzip."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ParseError
from ..graph.bipartite import BipartiteGraph
from .files import check_vertices, parsing, read_bytes, reason_of

#: Characters at which comments begin.
COMMENTS = ["#", "%"]


def read_edge_list(path: str | Path) -> BipartiteGraph:
    """Read the adjacency matrix of a graph: the first vertex of a line is a row, the second a column.

    Parameters
    ----------
    path : str or Path
        Lines "FROM TO", numbered from 0, and comments that begin with # or %. Further fields of a
        line, such as a weight, are ignored.

    Returns
    -------
    BipartiteGraph
        Square, with just enough rows for the largest number. A file that has each edge of an undirected graph
        once gives half of its matrix.

    Raises
    ------
    ParseError
        The file is missing or malformed, or needs more than 2**22 vertices, and 256 more for each edge:
        then relabel them, as ``numpy.unique(vertices, return_inverse=True)`` does.
    """
    with parsing(path, "list of edges"):
        return parse_edge_list(read_bytes(path), path)


def parse_edge_list(data: bytes, path: str | Path) -> BipartiteGraph:
    """Return the graph in the content of a file; see :func:`read_edge_list`."""
    try:
        ends = _two_columns(data)
    except (ValueError, OverflowError) as error:
        message = f"no list of edges, lines of two integers: {reason_of(error)}"
        raise ParseError(path, None, message) from error
    if int(ends.min(initial=0)) < 0:
        raise ParseError(path, None, f"vertex {int(ends.min())} is negative")
    row, column = np.ascontiguousarray(ends.T)
    size = int(ends.max(initial=-1)) + 1
    check_vertices(path, None, size, len(ends))
    return BipartiteGraph.from_arrays(row, column, shape=(size, size))


def _two_columns(data: bytes) -> NDArray[np.int64]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        ends = np.loadtxt(BytesIO(data), dtype=np.int64, comments=COMMENTS, usecols=(0, 1), ndmin=2)
    return ends.reshape(-1, 2)
