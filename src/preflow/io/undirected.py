"""Undirected graphs from files: Matrix Market, or lists of edges with or without weights."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInputError, ParseError
from ..graph.undirected import UndirectedGraph
from .edge_list import parse_ends
from .files import check_text, parsing, read_bytes
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
        (tail, head), size, weight = parse_ends(data, path, weights=weights and _has_weights(data))
        try:
            return UndirectedFile(UndirectedGraph.from_arrays(tail, head, weight, num_vertices=size), 0)
        except InvalidInputError as error:
            raise ParseError(path, None, str(error)) from error


def _has_weights(data: bytes) -> bool:
    """Whether the first line that is no comment has three fields."""
    for line in data[: 2**16].splitlines():
        fields = line.split()
        if fields and fields[0][:1] not in (b"#", b"%"):
            return len(fields) >= 3
    return False
