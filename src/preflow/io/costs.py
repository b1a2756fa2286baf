"""Costs of assignments from files: DIMACS ``.asn``, OR-Library, NumPy ``.npy`` and SciPy ``.npz``.

Files may be compressed by gzip. A DIMACS problem reads::

    c comment
    p asn VERTICES ARCS
    n VERTEX
    a TAIL HEAD COST

with an ``n`` line for every row; the other vertices are columns, and an arc leads from a row to a column. An
OR-Library file has the number of rows and the square matrix row by row, in lines of any length.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..errors import ParseError
from ..graph.network import INT64_MAX
from .files import read_bytes
from .record_reader import Line, Number, RecordReader, shown

if TYPE_CHECKING:
    import scipy.sparse

NUMPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"


class CostFile(NamedTuple):
    """What a file has.

    Attributes
    ----------
    costs : ndarray or scipy sparse matrix
    rows, columns : ndarray of int64
        Their names: vertices of a DIMACS file, else their numbers from 1.
    """

    costs: NDArray[Any] | scipy.sparse.csr_array
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


def read_costs(path: str | Path) -> CostFile:
    """Read costs; what kind of file it is, its content says.

    Raises
    ------
    ParseError
        The file cannot be read or is malformed.
    """
    data = read_bytes(path)
    if data.startswith(NUMPY_MAGIC):
        return _read_numpy(path, data)
    if data.startswith(ZIP_MAGIC):
        return _read_sparse(path, data)
    if data.lstrip()[:1].isalpha():
        return _read_dimacs(path, data)
    return _read_matrix(path, data)


def _numbered(costs: Any) -> CostFile:
    return CostFile(costs, *(np.arange(1, size + 1) for size in costs.shape))


def _read_numpy(path: str | Path, data: bytes) -> CostFile:
    try:
        costs = np.load(BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ParseError(path, None, f"no NumPy array: {error}") from error
    if costs.ndim != 2:
        raise ParseError(path, None, f"expected a matrix, got an array of shape {costs.shape}")
    return _numbered(costs)


def _read_sparse(path: str | Path, data: bytes) -> CostFile:
    from scipy.sparse import csr_array, load_npz

    try:
        return _numbered(csr_array(load_npz(BytesIO(data))))
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise ParseError(
            path, None, f"no sparse matrix as scipy.sparse.save_npz writes it: {error}"
        ) from None


def _read_matrix(path: str | Path, data: bytes) -> CostFile:
    words = data.split()
    if not words:
        raise ParseError(path, None, "the file is empty")
    try:
        n = int(words[0])
        try:
            values = np.array(words[1:], dtype=np.int64)
        except ValueError:
            values = np.array(words[1:], dtype=np.float64)
    except (ValueError, OverflowError):
        raise ParseError(
            path, None, "expected the number of rows and the costs, all of them numbers"
        ) from None
    if n < 0 or len(values) != n * n:
        raise ParseError(path, None, f"expected {n} x {n} costs behind the number of rows, got {len(values)}")
    return _numbered(values.reshape(n, n))


def _read_dimacs(path: str | Path, data: bytes) -> CostFile:
    reader = RecordReader(path, data, b"a")
    problem: Line | None = None
    num_vertices = num_arcs = 0
    rows: list[int] = []
    while (line := reader.next_line()) is not None:
        letter = line.fields[0]
        if letter == b"p":
            if problem is not None:
                reader.fail(line.position, "a second p line")
            if len(line.fields) != 4 or line.fields[1] != b"asn":
                reader.fail(line.position, "expected 'p asn VERTICES ARCS'")
            problem = line
            num_vertices = reader.integer(line.position, line.fields[2], Number("number of vertices", 0))
            num_arcs = reader.integer(line.position, line.fields[3], Number("number of arcs", 0))
            reader.expect((Number("cost", -INT64_MAX),), num_vertices, num_arcs)
        elif letter not in (b"n", b"a"):
            reader.fail(line.position, f"unknown line type {shown(letter)}: expected 'c', 'p', 'n' or 'a'")
        elif problem is None:
            reader.fail(line.position, f"{shown(letter)} line before the p line")
        elif len(line.fields) != 2:
            reader.fail(line.position, f"expected 'n VERTEX', got {len(line.fields)} fields")
        else:
            rows.append(reader.vertex(line.position, line.fields[1], "vertex"))
    if problem is None:
        reader.fail(None, "the file has no line 'p asn VERTICES ARCS'")
    if reader.num_records < num_arcs:
        reader.fail(problem.position, f"{num_arcs} arcs were announced, the file has {reader.num_records}")
    return _costs_of_arcs(reader, num_vertices, rows)


def _costs_of_arcs(reader: RecordReader, num_vertices: int, rows: list[int]) -> CostFile:
    from scipy.sparse import csr_array

    is_row = np.zeros(num_vertices, dtype=bool)
    is_row[rows] = True
    if np.count_nonzero(is_row) < len(rows):
        reader.fail(None, "a vertex has two n lines")
    tail, head, cost = reader.tail.astype(np.int64), reader.head.astype(np.int64), reader.numbers(0)
    wrong = ~is_row[tail] | is_row[head]
    if wrong.any():
        arc = int(wrong.argmax())
        reader.fail(
            None, f"the arc from {tail[arc] + 1} to {head[arc] + 1} does not lead from a row to a column"
        )
    number = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
    row, column = number[tail], number[head]
    order = np.lexsort((cost, column, row))
    row, column, cost = row[order], column[order], cost[order]
    cheapest = np.ones(len(row), dtype=bool)
    cheapest[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    shape = (len(rows), num_vertices - len(rows))
    costs = csr_array((cost[cheapest], (row[cheapest], column[cheapest])), shape=shape)
    return CostFile(costs, np.flatnonzero(is_row) + 1, np.flatnonzero(~is_row) + 1)
