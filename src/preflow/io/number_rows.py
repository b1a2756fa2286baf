"""Rows of fields in text without a header: matrices as ``numpy.savetxt`` writes them, and lists of edges.

Fields are separated by semicolons, by commas, or by blanks and tabs, whichever the first row has. Comments
begin with # or %. Lines without fields are left out.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Array
from ..errors import ParseError
from ..graph.edge_tables import ENDS
from ..graph.network import EXACT_FLOAT, INT64_MAX
from .record_reader import INTEGER, integer_value, shown

#: Characters at which comments begin, and both of them.
COMMENTS, COMMENT = ["#", "%"], re.compile(rb"[#%]")
#: The first lines of networkx.write_adjlist and write_multiline_adjlist.
NEIGHBOURS = re.compile(rb"#[^\n]*\n# GMT ")
#: What separates fields; None: blanks.
SEPARATORS = (b";", b",", None)


class Row(NamedTuple):
    """The fields of a line, and its number from 1."""

    line: int
    fields: list[bytes]


def rows_of(data: bytes, skip: int = 0) -> Iterator[Row]:
    """Yield the rows in the content of a file, but for those in the first `skip` lines."""
    separator = separator_of(data, skip)
    for line, text in _texts(data, skip):
        yield Row(line, [field.strip() for field in text.split(separator)])


def separator_of(data: bytes, skip: int = 0) -> bytes | None:
    """Return what separates the fields of the first row."""
    _, first = next(_texts(data, skip), (0, b""))
    return next(each for each in SEPARATORS if each is None or each in first)


def _texts(data: bytes, skip: int) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(BytesIO(data), 1):
        text = COMMENT.split(line, 1)[0].strip()
        if text and number > skip:
            yield number, text


def is_number(field: bytes) -> bool:
    """Return whether a field is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field  # Python's float reads 1_000.5


def read_numbers(
    path: str | Path,
    data: bytes,
    columns: tuple[int, ...] | None = None,
    *,
    integers: bool = False,
    skip: int = 0,
) -> Array:
    """Return the numbers of all rows, or of some `columns`: int64 if all are integers, else float64.

    The first `skip` lines are left out. ParseError: rows differ in their number of fields, or a field is no
    number, or no integer where `integers` are expected.
    """
    for dtype in (np.int64,) if integers else (np.int64, np.float64):
        try:
            found = load(data, dtype, columns, skip)
        except (ValueError, OverflowError) as error:
            reason = error
            continue
        if dtype == np.float64 and bool((np.isfinite(found) & (np.abs(found) >= EXACT_FLOAT)).any()):
            _check_fields(path, data, columns, integers, skip)
        return found
    check_widths(path, data, skip)
    _check_fields(path, data, columns, integers, skip)
    raise reason


def load(data: bytes, dtype: DTypeLike, columns: tuple[int, ...] | None = None, skip: int = 0) -> Array:
    """Return the numbers of all rows, or of some columns; ValueError or OverflowError if one is none."""
    separator = separator_of(data, skip)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        found: Array = np.loadtxt(
            BytesIO(data),
            dtype=dtype,
            comments=COMMENTS,
            delimiter=None if separator is None else separator.decode(),
            usecols=columns,
            skiprows=skip,
            ndmin=2,
        )
    return found


def sizes_in(row: Row, below: int) -> list[int]:
    """Return the numbers of vertices, or of rows and columns, if a row has sizes of the edges `below` it."""
    if below < 1 or len(row.fields) not in (2, 3) or not all(field.isdigit() for field in row.fields):
        return []
    *vertices, edges = map(int, row.fields)
    return vertices if edges in (below, below / 2) else []


def refuse_sizes(path: str | Path, row: Row, below: int, largest: tuple[int, int]) -> None:
    """Raise ParseError if a row could have sizes of the edges `below` it, with these largest ends."""
    sizes = sizes_in(row, below)
    enough = zip(sizes, largest if len(sizes) == 2 else [max(largest)], strict=False)
    if sizes and all(size >= needed for size, needed in enough):
        raise ParseError(
            path,
            row.line,
            f"the first line, {b' '.join(row.fields).decode()!r}, has the number of vertices and that of the "
            "lines below, so it is not read as an edge: leave it out; if it is an edge, move it down",
        )


def refuse_neighbours(path: str | Path, data: bytes) -> None:
    """Raise ParseError if NetworkX wrote a file of lists of neighbours, below a command and a date."""
    if NEIGHBOURS.match(data):
        message = "lists of neighbours, as networkx.write_adjlist writes them: take networkx.write_edgelist("
        raise ParseError(path, None, f"{message}graph, path, data=False)")


def names_above(data: bytes, width: int) -> list[str]:
    """Return the names of `width` columns, in lower case, in the comment above the first row.

    numpy.savetxt writes its header so. The list is empty if the comment does not name the ends of edges.
    """
    above = next((text for text in reversed(_comments_above(data)) if text), b"")
    names = [name.decode("utf-8", "replace").lower() for name in re.split(rb"[\s,;]+", above)]
    return names if len(names) == width and any(set(ends) <= set(names) for ends in ENDS) else []


def _comments_above(data: bytes) -> list[bytes]:
    found = []
    for line in BytesIO(data):
        text = line.strip()
        if text and not COMMENT.match(text):
            break
        found.append(text.lstrip(b"#%").strip())
    return found


def check_widths(path: str | Path, data: bytes, skip: int = 0) -> None:
    """Raise ParseError where a row has not as many fields as the first one."""
    first: Row | None = None
    for row in rows_of(data, skip):
        first = first or row
        if len(row.fields) != len(first.fields):
            message = f"expected {len(first.fields)} fields, as in line {first.line}, got {len(row.fields)}"
            raise ParseError(path, row.line, message)


def _check_fields(
    path: str | Path, data: bytes, columns: tuple[int, ...] | None, integers: bool, skip: int
) -> None:
    """Raise ParseError about the first field that is no number, or that no type of the others can hold."""
    largest = INT64_MAX if integers else EXACT_FLOAT
    for row in rows_of(data, skip):
        for at in range(len(row.fields)) if columns is None else columns:
            if at >= len(row.fields):
                message = f"expected {at + 1} fields or more, got {len(row.fields)}"
                raise ParseError(path, row.line, message)
            field = row.fields[at]
            where = f"{shown(field)} in field {at + 1}"
            is_integer = bool(INTEGER.fullmatch(field))
            if is_integer and abs(integer_value(field)) > largest:
                problem = "does not fit int64" if integers else "and the file mixes floats with integers"
                past = "" if integers else " past 2**53, which float64 cannot hold"
                raise ParseError(path, row.line, f"{where} {problem}{past}")
            if not (is_integer if integers else is_number(field)):
                what = "an integer" if integers else "a number"
                point = "; a number has a point and no comma" * is_number(field.replace(b",", b"."))
                point = "; vertices with names are read from a table (.csv)" if integers else point
                raise ParseError(path, row.line, f"{where} is not {what}{point}")
