"""Bipartite graphs as Matrix Market files: the pattern of a sparse matrix. Plain or gzip."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ParseError
from ..graph.bipartite import BipartiteGraph
from .files import check_vertices, checked_path, parsing, read_bytes, reason_of, replacing

#: The word in the first line, and the number of bytes in which it must be.
BANNER, MOST_BANNER = b"matrixmarket", 1024
#: The banner, comments and blank lines, and the line of sizes.
HEADER = re.compile(
    rb"\s*(?P<banner>%[^\n]*)\n(?:[ \t\r]*(?:%[^\n]*)?\n)*+[ \t]*(?P<sizes>\d{1,18}(?:[ \t]+\d{1,18}){1,2})\s"
)
#: Bytes of the shortest entries, "1 1" and "1", each with the end of its line; and more than any entry has.
SHORTEST_PAIR, SHORTEST_NUMBER, LONGEST_ENTRY = 4, 2, 256


def read_matrix_market(path: str | Path, *, explicit_zeros: bool = True) -> BipartiteGraph:
    """Read the pattern of a matrix; both halves of a symmetric one.

    `explicit_zeros` says whether zeros that the file lists are edges; zeros of a dense file are not.
    ParseError if the file is missing, malformed or truncated, or has more than 2**22 rows and columns, and
    256 more for each entry.
    """
    with parsing(path, "Matrix Market file"):
        return parse_matrix_market(read_bytes(path, announced_matrix_bytes), path, explicit_zeros)


def is_matrix_market(data: bytes) -> bool:
    """Whether the first line of a file's content names the format, even if with errors."""
    return BANNER in data[:MOST_BANNER].lstrip().lower().split(b"\n", 1)[0]


def is_dense(data: bytes) -> bool:
    """Whether a file lists all entries, without their rows and columns."""
    sizes = _sizes(data)
    return sizes is not None and sizes.dense


def announced_matrix_bytes(head: bytes) -> int | None:
    """Return how many bytes a file may have, by its line of sizes; None where `head` has none."""
    sizes = _sizes(head)
    return None if sizes is None else LONGEST_ENTRY * sizes.num_entries


def parse_matrix_market(data: bytes, path: str | Path, explicit_zeros: bool) -> BipartiteGraph:
    """Return the graph in the content of a file; see :func:`read_matrix_market`."""
    return BipartiteGraph.from_scipy(parse_matrix(data, path), explicit_zeros=explicit_zeros)


def parse_matrix(data: bytes, path: str | Path) -> Any:
    """Return the sparse matrix in the content of a Matrix Market file.

    ParseError: the content is malformed.
    """
    from scipy.io import mmread
    from scipy.sparse import coo_array

    # SciPy's parser reads past the end of its input at a NUL, and at a last line without an end.
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ParseError(path, line, "no Matrix Market file: it has a NUL")
    if not data.endswith(b"\n"):
        data += b"\n"
    sizes = _sizes(data)
    if sizes is None:
        raise ParseError(path, None, "no Matrix Market file: it has no line of sizes, ROWS COLUMNS ENTRIES")
    if sizes.num_entries > len(data) // sizes.shortest_entry:
        message = f"{sizes.num_entries:,} entries were announced, a file of {len(data):,} bytes has fewer"
        raise ParseError(path, sizes.line, message)
    check_vertices(path, sizes.line, sizes.num_rows + sizes.num_columns, sizes.num_entries)
    if sizes.dense and sizes.num_rows == 0:  # SciPy's parser would divide by it
        if data[sizes.end :].strip():
            raise ParseError(path, sizes.line, "no entries were announced, the file has some")
        return coo_array((0, sizes.num_columns))
    try:
        matrix: Any = mmread(BytesIO(data))
    except (ValueError, OverflowError, TypeError) as error:
        raise ParseError(path, None, f"no Matrix Market file: {reason_of(error)}") from error
    if isinstance(matrix, np.ndarray):
        matrix = coo_array(matrix)
    return matrix


class _Sizes(NamedTuple):
    """The sizes in a header."""

    line: int  #: the line of the sizes
    #: for a matrix with symmetry, `num_entries` is that of one half
    num_rows: int
    num_columns: int
    num_entries: int
    shortest_entry: int  #: smallest number of bytes of an entry
    dense: bool  #: whether all entries are listed, without their row and column
    end: int  #: where the header ends


def _sizes(data: bytes) -> _Sizes | None:
    """Return the sizes in a file's header, None where there are none that can be read."""
    header = HEADER.match(data)
    if header is None:
        return None
    line = data.count(b"\n", 0, header.start("sizes")) + 1
    words = header["banner"].lower().split()
    num_rows, num_columns, *entries = map(int, header["sizes"].split())
    if b"coordinate" in words:
        if not entries:
            return None
        return _Sizes(line, num_rows, num_columns, entries[0], SHORTEST_PAIR, False, header.end())
    num_entries = num_rows * num_columns
    if b"general" not in words:
        num_entries = num_rows * max(0, num_rows - 1) // 2  # at least: skew-symmetric ones have no diagonal
    return _Sizes(line, num_rows, num_columns, num_entries, SHORTEST_NUMBER, True, header.end())


def write_matrix_market(path: str | Path, graph: BipartiteGraph) -> None:
    """Write the pattern of a graph; a name that ends in .gz is compressed.

    InvalidInputError: the file cannot be written.
    """
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    path = checked_path(path)
    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
    ones = np.ones(graph.num_edges, dtype=np.int8)
    matrix = coo_array((ones, (row, graph.rows.neighbour.astype(np.int64))), shape=graph.shape)
    text = BytesIO()
    mmwrite(text, matrix, field="pattern", symmetry="general")
    with replacing(path, compress=path.suffix == ".gz") as output:
        output.write(text.getvalue())
