"""Bipartite graphs from files of either kind, told by their first bytes."""

from __future__ import annotations

from pathlib import Path

from ..graph.bipartite import BipartiteGraph
from .edge_list import parse_edge_list
from .files import read_bytes
from .matrix_market import is_matrix_market, parse_matrix_market


def read_bipartite_graph(path: str | Path, *, explicit_zeros: bool = True) -> BipartiteGraph:
    """Read a Matrix Market file or a list of edges, plain or gzip.

    Parameters
    ----------
    path : str or Path
    explicit_zeros : bool
        Whether zeros that a Matrix Market file lists are edges.

    Raises
    ------
    ParseError
        The file is missing or malformed.
    """
    data = read_bytes(path)
    if is_matrix_market(data):
        return parse_matrix_market(data, path, explicit_zeros)
    return parse_edge_list(data, path)
