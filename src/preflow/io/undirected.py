"""Undirected graphs from files: Matrix Market, or lists of edges with or without weights."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError, ParseError
from ..graph.undirected import UndirectedGraph
from .edge_list import COMMENTS, parse_edge_list, refuse_sizes
from .files import check_text, check_vertices, parsing, read_bytes, reason_of
from .matrix_market import announced_matrix_bytes, is_matrix_market, parse_matrix


class UndirectedFile(NamedTuple):
    """A graph, and how its file numbers vertices."""

    graph: UndirectedGraph
    #: the number of the first vertex in the file: 1 in a Matrix Market file, 0 in a list of edges
    first: int


def read_undirected_graph(path: str | Path, *, weights: bool = True) -> UndirectedFile:
    """Read an undirected graph, plain or gzip; ParseError if the file is missing or malformed.

    A Matrix Market file of a square matrix, each entry an edge, or lines "FROM TO" or "FROM TO WEIGHT",
    numbered from 0, with comments that begin with # or %. A file without `weights` gives a graph without
    them.
    """
    with parsing(path, "Matrix Market file or list of edges"):
        data = read_bytes(path, announced_matrix_bytes)
        if is_matrix_market(data):
            matrix = parse_matrix(data, path)
            has_weights = weights and b" pattern " not in data[: data.index(b"\n")].lower()
            try:
                return UndirectedFile(UndirectedGraph.from_scipy(matrix, weights=has_weights), 1)
            except InvalidInputError as error:
                raise ParseError(path, None, str(error)) from error
        check_text(path, data)
        if not weights or not _has_weights(data):
            first, neighbour = parse_edge_list(data, path).rows
            tail = np.repeat(np.arange(len(first) - 1), np.diff(first).astype(np.int64))
            return UndirectedFile(
                UndirectedGraph.from_arrays(tail, neighbour, num_vertices=len(first) - 1), 0
            )
        return UndirectedFile(_parse_weighted(data, path), 0)


def _has_weights(data: bytes) -> bool:
    """Whether the first line that is no comment has three fields."""
    for line in data[: 2**16].splitlines():
        fields = line.split()
        if fields and fields[0][:1] not in (b"#", b"%"):
            return len(fields) >= 3
    return False


def _parse_weighted(data: bytes, path: str | Path) -> UndirectedGraph:
    message = "no list of edges, lines of two integers and a weight"
    try:
        ends = _columns(data, (0, 1), np.int64)
        try:
            weight = _columns(data, (2,), np.int64)[:, 0]
        except ValueError:
            weight = _columns(data, (2,), np.float64)[:, 0]
    except (ValueError, OverflowError) as error:
        raise ParseError(path, None, f"{message}: {reason_of(error)}") from error
    if int(ends.min(initial=0)) < 0:
        raise ParseError(path, None, f"vertex {int(ends.min())} is negative")
    refuse_sizes(ends, path)
    size = int(ends.max(initial=-1)) + 1
    check_vertices(path, None, size, len(ends))
    try:
        return UndirectedGraph.from_arrays(ends[:, 0], ends[:, 1], weight, num_vertices=size)
    except InvalidInputError as error:
        raise ParseError(path, None, str(error)) from error


def _columns(data: bytes, columns: tuple[int, ...], dtype: Any) -> Array:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        return np.loadtxt(BytesIO(data), dtype=dtype, comments=COMMENTS, usecols=columns, ndmin=2)
