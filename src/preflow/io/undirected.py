"""Undirected graphs from files: Matrix Market, METIS, DIMACS, or lists of edges."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInputError, ParseError
from ..graph.undirected import UndirectedGraph
from .dimacs import PROBLEM_KINDS, parse_colouring
from .edge_list import parse_ends
from .files import parsing, read_bytes
from .matrix_market import announced_matrix_bytes, is_matrix_market, parse_matrix
from .metis import METIS, parse_metis
from .record_reader import PROBLEM


class UndirectedFile(NamedTuple):
    """A graph, and how its file numbers vertices."""

    graph: UndirectedGraph
    #: the number of the first vertex in the file: 0 only in a list of edges that has a vertex 0
    first: int


def read_undirected_graph(path: str | Path, *, weights: bool = True) -> UndirectedFile:
    """Read an undirected graph; ParseError if the file is missing or malformed.

    A Matrix Market file of a square matrix, each entry an edge; a METIS file, whose name says so; a DIMACS
    graph to colour, ``p edge``; or lines "FROM TO" or "FROM TO WEIGHT" with
    comments that begin with # or %, numbered from 0, or from 1 if no edge has vertex 0. Their first line may
    have the numbers of vertices and edges, if it cannot be an edge. A file without `weights` gives a graph
    without them.
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
        if is_undirected(data, path):
            is_metis = PROBLEM.search(data) is None
            return UndirectedFile(
                parse_metis(data, path, weights=weights) if is_metis else parse_colouring(data, path), 1
            )
        (tail, head), size, first, weight = parse_ends(data, path, weights=weights)
        try:
            return UndirectedFile(UndirectedGraph.from_arrays(tail, head, weight, num_vertices=size), first)
        except InvalidInputError as error:
            raise ParseError(path, None, str(error)) from error


def is_undirected(data: bytes, path: str | Path) -> bool:
    """Return whether a file is one of METIS, by its name, or a graph to colour of DIMACS, by its content.

    ParseError: it is another file of DIMACS.
    """
    problem = PROBLEM.search(data)
    kind = "" if problem is None else problem[1].decode("ascii", "replace")
    if kind in PROBLEM_KINDS:
        message = f"a DIMACS file, 'p {kind}', which `preflow {'assign' if kind == 'asn' else 'solve'}` reads"
        raise ParseError(path, None, message)
    return bool(kind) or str(path).removesuffix(".gz").endswith(METIS)
