"""Bipartite graphs as Matrix Market files: the pattern of a sparse matrix. Plain or gzip."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError, ParseError
from ..graph.bipartite import BipartiteGraph
from .files import read_bytes, replacing

BANNER = b"%%matrixmarket"


def read_matrix_market(path: str | Path, *, explicit_zeros: bool = True) -> BipartiteGraph:
    """Read the pattern of a matrix; of a symmetric one both halves.

    Parameters
    ----------
    path : str or Path
    explicit_zeros : bool
        Whether zeros that the file lists are edges; those of a dense file are none.

    Raises
    ------
    ParseError
        The file is missing, malformed or truncated.
    """
    return parse_matrix_market(read_bytes(path), path, explicit_zeros)


def is_matrix_market(data: bytes) -> bool:
    """Whether the content of a file begins as those of matrices do."""
    return data[: len(BANNER)].lower() == BANNER


def parse_matrix_market(data: bytes, path: str | Path, explicit_zeros: bool) -> BipartiteGraph:
    """Return the graph that the content of a file describes; see :func:`read_matrix_market`."""
    from scipy.io import mmread
    from scipy.sparse import coo_array

    try:
        matrix: Any = mmread(BytesIO(data))
    except (ValueError, OverflowError, TypeError) as error:
        raise ParseError(path, None, f"no Matrix Market file: {error}") from error
    if isinstance(matrix, np.ndarray):
        matrix = coo_array(matrix)
    try:
        return BipartiteGraph.from_scipy(matrix, explicit_zeros=explicit_zeros)
    except InvalidInputError as error:
        raise ParseError(path, None, str(error)) from error


def write_matrix_market(path: str | Path, graph: BipartiteGraph) -> None:
    """Write the pattern of a graph; a name that ends in .gz is compressed.

    Raises
    ------
    InvalidInputError
        The file cannot be written.
    """
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
    ones = np.ones(graph.num_edges, dtype=np.int8)
    matrix = coo_array((ones, (row, graph.rows.neighbour.astype(np.int64))), shape=graph.shape)
    text = BytesIO()
    mmwrite(text, matrix, field="pattern", symmetry="general")
    with replacing(path, compress=str(path).endswith(".gz")) as output:
        output.write(text.getvalue())
