"""Bipartite graphs from files of either kind, recognised by their first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import ParseError
from ..graph.bipartite import BipartiteGraph
from .edge_list import parse_edge_list
from .files import parsing, read_bytes
from .matrix_market import announced_matrix_bytes, is_matrix_market, parse_matrix_market
from .undirected import is_undirected


class GraphFile(NamedTuple):
    """A graph, and how its file numbers vertices."""

    graph: BipartiteGraph
    #: the number of the first row and of the first column in the file: 1 in a Matrix Market file, 0 in a list
    #: of edges
    first: int


def read_bipartite_graph(path: str | Path, *, explicit_zeros: bool = True) -> GraphFile:
    """Read a Matrix Market file or a list of edges, plain or gzip; ParseError if it is missing or malformed.

    `explicit_zeros` says whether zeros that a Matrix Market file lists are edges.
    """
    with parsing(path, "Matrix Market file or list of edges"):
        data = read_bytes(path, announced_matrix_bytes)
        if is_matrix_market(data):
            return GraphFile(parse_matrix_market(data, path, explicit_zeros), 1)
        if is_undirected(data, path):
            message = "an undirected graph, whose vertices are matched with each other: --general"
            raise ParseError(path, None, message)
        return GraphFile(parse_edge_list(data, path), 0)
