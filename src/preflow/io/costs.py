"""Costs of assignments from files: DIMACS ``.asn``, OR-Library, NumPy, SciPy, Matrix Market, text.

Text is a table of :mod:`.tables`, or a matrix of numbers alone, as ``numpy.savetxt`` writes it. Files may be
compressed. A DIMACS problem reads::

    c comment
    p asn VERTICES ARCS
    n VERTEX
    a TAIL HEAD COST

with an ``n`` line for every row; the other vertices are columns, and an arc leads from a row to a column. An
OR-Library file has the number of rows on a line of its own, and then the square matrix row by row, in lines
of any length.
"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..errors import ParseError
from ..graph.edge_tables import ColumnNames
from ..graph.network import INT64_MAX
from ..graph.sparse_input import read_sparse
from .dimacs import parse_problem, rows_of_file
from .files import check_text, check_vertices, of_text, parsing, read_bytes
from .matrix_market import announced_matrix_bytes, is_dense, is_matrix_market, parse_matrix
from .number_rows import COMMENT, check_widths, is_number, read_numbers, rows_of, separator_of
from .numpy_arrays import NUMPY_MAGIC, ZIP_MAGIC, announced_array_bytes, read_array, read_arrays
from .record_reader import INTEGER, announced_bytes, integer_value, shown
from .tables import EXCEL, PARQUET, TextFormat, is_table, read_cost_table
from .tables import CostFile as CostFile

#: The first line of an OR-Library file; no number in it, with the blanks around it, has this many bytes.
NUMBER_OF_ROWS, LONGEST_NUMBER = re.compile(rb"\s*(\d{1,9})[ \t\r]*\n"), 64
#: A file of DIMACS begins with a letter, and not with a number that is one.
DIMACS = re.compile(rb"\s*(?!(?:inf|infinity|nan)\b)[a-z]", re.IGNORECASE)
#: Arrays of an archive, by the format of the matrix.
STORED = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}


def read_costs(
    path: str | Path,
    *,
    ends: tuple[str, str] | None = None,
    cost: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> CostFile:
    """Read costs; the content of the file says which kind it is.

    Of a table, `ends` are the columns of rows and of columns, and `cost` is that of the costs, where their
    names do not say so; `encoding` is that of the text, and `decimal` the point of its numbers. ParseError:
    the file cannot be read or is malformed, or has more than 2**22 rows and columns, and 256 more for each
    cost.
    """
    if is_table(path) and not is_matrix(path):
        return read_cost_table(path, names=ColumnNames(ends, cost=cost), text=TextFormat(encoding, decimal))
    with parsing(path, "file of costs"):
        data = read_bytes(path, _announced)
        if data.startswith(NUMPY_MAGIC):
            return _read_numpy(path, data)
        if data.startswith(ZIP_MAGIC):
            return _read_sparse(path, data)
        if is_matrix_market(data):
            return _read_matrix_market(path, data)
        if DIMACS.match(data):
            return _read_dimacs(path, data)
        check_text(path, data)
        return _read_text(path, of_text(data))


def _announced(head: bytes) -> int | None:
    """Return how many bytes a file of costs may have, by its header."""
    if head.startswith(NUMPY_MAGIC):
        return announced_array_bytes(head)
    if is_matrix_market(head):
        return announced_matrix_bytes(head)
    if DIMACS.match(head):
        return announced_bytes(head)
    n = NUMBER_OF_ROWS.match(head)
    return None if n is None else LONGEST_NUMBER * int(n[1]) ** 2


def _numbered(path: str | Path, costs: Any) -> CostFile:
    check_vertices(path, None, sum(costs.shape), costs.size)
    rows, columns = (np.arange(1, size + 1) for size in costs.shape)
    return CostFile(costs, rows, columns)


def _read_numpy(path: str | Path, data: bytes) -> CostFile:
    costs = read_array(path, data)
    if costs.ndim != 2:
        raise ParseError(path, None, f"expected a matrix, got an array of shape {costs.shape}")
    return _numbered(path, costs)


def _read_matrix_market(path: str | Path, data: bytes) -> CostFile:
    """Read a matrix: pairs that one of coordinates does not list are not allowed."""
    matrix = parse_matrix(data, path)
    if matrix.dtype.kind not in "iuf" or b" pattern" in data[: data.index(b"\n")].lower():
        raise ParseError(
            path, 1, "costs are integers or real numbers; of a pattern, `preflow match` reads pairs"
        )
    return _numbered(path, matrix.toarray() if is_dense(data) else _rows_of(matrix))


def _read_sparse(path: str | Path, data: bytes) -> CostFile:
    with parsing(path, "sparse matrix as scipy.sparse.save_npz writes it", TypeError, ArithmeticError):
        names = ("format", "shape", *dict.fromkeys(name for stored in STORED.values() for name in stored))
        arrays = read_arrays(path, BytesIO(data), names)
        text = arrays["format"].item() if "format" in arrays and arrays["format"].ndim == 0 else None
        form = text.decode("ascii") if isinstance(text, bytes) else text
        if form not in STORED or "shape" not in arrays or not set(STORED[form]) <= set(arrays):
            raise ValueError("it lacks the format, the shape or arrays of the matrix")
        content, *where = (_native(arrays[name]) for name in STORED[form])
        shape = tuple(arrays["shape"].tolist())
        if len(shape) != 2 or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"its shape is {shape}")
        if content.dtype.kind not in "biuf" or any(i.dtype.kind not in "iu" or i.ndim != 1 for i in where):
            raise ValueError("its costs are no numbers, or its indices no integers")
        check_vertices(path, None, sum(shape), content.size)
        matrix = _matrix(form, shape, content, where)
    return _numbered(path, matrix)


def _matrix(form: str, shape: tuple[int, int], content: Array, where: list[Array]) -> AnyArray:
    """Return a matrix of any format as CSR; raises ValueError where its arrays do not fit each other."""
    from scipy import sparse

    if form == "coo":
        return _rows_of(sparse.coo_array((content, tuple(where)), shape=shape))
    if form == "dia":
        if any(not -shape[0] <= offset <= shape[1] for offset in where[0].tolist()):
            raise ValueError("a diagonal lies outside of it")
        return sparse.csr_array(sparse.dia_array((content, where[0]), shape=shape))
    kinds = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}
    matrix = kinds[form]((content, *where), shape=shape)
    read_sparse(matrix)  # SciPy's own check skips the indices where indptr ends at 0
    return _rows_of(matrix.tocoo()) if form == "bsr" else sparse.csr_array(matrix)


def _rows_of(matrix: AnyArray) -> AnyArray:
    """Return a COO matrix as CSR, with an entry that is stored several times as often: sums might wrap."""
    from scipy import sparse

    row, column = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    order = np.argsort(row, kind="stable")
    first = np.zeros(matrix.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=matrix.shape[0]), out=first[1:])
    return sparse.csr_array((matrix.data[order], column[order], first), shape=matrix.shape)


def _native(array: Array) -> Array:
    """Return an array in native byte order, which SciPy needs for conversions."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def is_matrix(path: str | Path) -> bool:
    """Return whether a table has numbers alone, without names of rows and columns.

    ParseError: its first line may be one or the other.
    """
    if not is_table(path) or str(path).lower().endswith((PARQUET, EXCEL)):
        return False
    data = of_text(read_bytes(path))
    first = next(rows_of(data), None)
    if first is None or not all(map(is_number, first.fields)):
        return False
    comment = data.lstrip().split(b"\n", 1)[0]
    if COMMENT.match(comment) and len(comment.split(separator_of(data))) == len(first.fields):
        message = "a comment or the names of columns? Leave the line out in a matrix of numbers, else the "
        raise ParseError(path, 1, f"{message}{comment[:1].decode()}")
    if len(first.fields) > 1 and first.fields == [b"%d" % number for number in range(len(first.fields))]:
        message = "the numbers of the columns, or costs? Leave the line out, or write costs with a point, 0.0"
        raise ParseError(path, first.line, message)
    if len(first.fields) > 1 and first.fields[0] == b"0":  # as pandas writes an index, early out elsewhere
        numbers = [row.fields[0] == b"%d" % at for at, row in enumerate(rows_of(data))]
        if len(numbers) > 2 and all(numbers):
            message = (
                "the numbers of the rows, or costs? Leave the column out, or write costs with a point, 0.0"
            )
            raise ParseError(path, None, f"its first column has 0, 1, 2, ...: {message}")
    return True


def read_masses(path: str | Path) -> Array:
    """Read masses without names: an .npy file, or numbers in one row or one column of text."""
    with parsing(path, "file of masses"):
        data = read_bytes(path, announced_array_bytes)
        if data.startswith(NUMPY_MAGIC):
            masses = read_array(path, data)
        else:
            check_text(path, data)
            if is_matrix_market(data):
                raise ParseError(path, 1, "masses are numbers in one row or column, not a Matrix Market file")
            masses = read_numbers(path, of_text(data))
            masses = masses.ravel() if 1 in masses.shape else masses
        if masses.ndim != 1:
            raise ParseError(path, None, f"masses are one for each row or column, got shape {masses.shape}")
        return masses


def _read_text(path: str | Path, data: bytes) -> CostFile:
    """Read a matrix of numbers, or an OR-Library file."""
    first = next(rows_of(data), None)
    if first is None:
        raise ParseError(path, None, "the file is empty")
    if len(first.fields) == 1:
        return _read_or_library(path, data)
    if len(first.fields) == 2 and all(field.isdigit() for field in first.fields):
        widths = [len(row.fields) for row in rows_of(data, first.line)]
        sizes = list(map(int, first.fields))
        if sizes == [len(widths), *widths[:1]] != [1, 2]:
            if sizes[1] == 2:
                message = (
                    "the numbers of rows and columns, or costs? Leave the line out, or write costs with a"
                )
                raise ParseError(path, first.line, f"{message} point, 2.0")
            check_widths(path, data, first.line)
            return _numbered(path, read_numbers(path, data, skip=first.line))
    costs = read_numbers(path, data)
    if first.fields[0].isdigit() and costs.size == int(costs[0, 0]) ** 2 + 1:
        message = (
            "the number of rows and the costs, or a matrix of numbers? Put the number on a line of its own"
        )
        raise ParseError(path, first.line, f"{message}, or write costs with a point")
    if _lists_pairs(costs) and first.fields[0].isdigit():
        message = "pairs and their costs, 'ROW COLUMN COST', or a matrix of three columns? Write pairs into a"
        raise ParseError(
            path, first.line, f"{message} .csv below the line 'row,column,cost', costs with a point"
        )
    return _numbered(path, costs)


def _lists_pairs(costs: Array) -> bool:
    """Return whether a matrix looks like a list of different pairs in order, each with a cost."""
    if costs.shape[1] != 3 or len(costs) < 6:
        return False
    row, column = np.diff(costs[:, :2], axis=0).T
    return bool(((row > 0) | ((row == 0) & (column > 0))).all() and (row == 0).any())


def _read_or_library(path: str | Path, data: bytes) -> CostFile:
    words = [field for row in rows_of(data) for field in row.fields]
    try:
        values = read_numbers(path, b" ".join(words))[0, 1:]
    except ParseError as error:
        _, _, problem = str(error).partition(": ")
        message = "expected the number of rows and the costs, all of them numbers"
        raise ParseError(path, None, f"{message}; {problem}") from None
    n = integer_value(words[0]) if INTEGER.fullmatch(words[0]) else -1
    if n < 0 or len(values) != n * n:
        size = n if 0 <= n <= INT64_MAX else shown(words[0])
        message = f"expected {size} x {size} costs behind the number of rows, got {len(values)}"
        raise ParseError(path, None, message)
    return _numbered(path, values.reshape(n, n))


def _read_dimacs(path: str | Path, data: bytes) -> CostFile:
    from scipy.sparse import csr_array

    file = parse_problem(path, data, ("asn",))
    is_row = rows_of_file(file)
    tail, head = file.reader.tail.astype(np.int64), file.reader.head.astype(np.int64)
    cost = file.reader.numbers(0)
    number = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
    row, column = number[tail], number[head]
    order = np.lexsort((cost, column, row))
    row, column, cost = row[order], column[order], cost[order]
    cheapest = np.ones(len(row), dtype=bool)
    cheapest[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    shape = (int(np.count_nonzero(is_row)), int(np.count_nonzero(~is_row)))
    costs = csr_array((cost[cheapest], (row[cheapest], column[cheapest])), shape=shape)
    return CostFile(costs, np.flatnonzero(is_row) + 1, np.flatnonzero(~is_row) + 1)
