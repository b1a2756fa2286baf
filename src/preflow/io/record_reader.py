"""Read the lines of a DIMACS file: arcs in bulk by a kernel, all other lines one at a time.

The formats share one shape: lines that start with a letter. One kind (``a`` in problems, ``f`` in solutions)
makes up almost the whole file and reads ``LETTER TAIL HEAD NUMBER ...``. The kernel stores these records,
skips comments and blank lines, and stops at anything else. So it knows nothing about messages: Python reads a
line that the kernel rejects again, and says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices
from ..errors import ParseError
from ..graph.network import EXACT_FLOAT, INT64_MAX
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel

INTEGER = re.compile(rb"-?\d+")
FLOAT = re.compile(rb"-?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)(?=\s|\Z)", re.IGNORECASE)
TOKEN = re.compile(rb"\S+")
#: The line of a problem: its kind, its number of vertices and its number of arcs.
PROBLEM = re.compile(rb"^[ \t]*p[ \t]+(\S+)[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*$", re.MULTILINE)
#: No line has this many bytes, nor do all comments together.
LONGEST_LINE, MOST_COMMENTS = 256, 1 << 26

NINE = np.uint64(9)
TEN = np.uint64(10)
#: From this number on one more digit may be past int64.
LAST_SAFE = np.uint64(INT64_MAX // 10)
NEWLINE = np.uint8(ord("\n"))
SPACE = np.uint8(ord(" "))
TAB = np.uint8(ord("\t"))
RETURN = np.uint8(ord("\r"))
COMMENT = np.uint8(ord("c"))
MINUS = np.uint8(ord("-"))
DIGIT_ZERO = np.uint64(ord("0"))


class Records(NamedTuple):
    """The arrays that the kernel fills, one entry for each record."""

    #: shape (room,): end vertices, numbered from 0
    tail: Indices
    head: Indices
    numbers: NDArray[np.int64]  #: shape (k, room): the numbers after them, one row for each field
    #: shape (k, room) or (0, 0): where the text of a number starts if it is not a small integer, otherwise 0.
    #: Empty: integers only.
    text_at: NDArray[np.uint64]
    least: NDArray[np.int64]  #: shape (k,): the smallest integer that each field allows


@kernel
def skip_blanks(data: NDArray[np.uint8], position: np.uint64) -> np.uint64:
    """Return the position of the first byte from `position` on that is not a blank within a line."""
    size = np.uint64(len(data))
    while position < size:
        byte = data[position]
        if byte != SPACE and (byte < TAB or byte > RETURN or byte == NEWLINE):
            break
        position += ONE
    return position


@kernel
def skip_token(data: NDArray[np.uint8], position: np.uint64) -> np.uint64:
    """Return the position of the first white space from `position` on."""
    size = np.uint64(len(data))
    while position < size:
        byte = data[position]
        if byte == SPACE or (byte >= TAB and byte <= RETURN):
            break
        position += ONE
    return position


@kernel
def read_digits(
    data: NDArray[np.uint8], position: np.uint64, largest: np.uint64
) -> tuple[np.uint64, np.uint64, bool]:
    """Return the number at `position`, its end, and whether it is a number of at most `largest`."""
    size = np.uint64(len(data))
    start = position
    value = ZERO
    while position < size:
        digit = np.uint64(data[position]) - DIGIT_ZERO
        if digit > NINE:
            break
        if value > LAST_SAFE:
            return value, position, False
        value = value * TEN + digit
        position += ONE
    if position == start or value > largest:
        return value, position, False
    if position < size:
        byte = data[position]
        return value, position, byte == SPACE or (byte >= TAB and byte <= RETURN)
    return value, position, True


@kernel
def read_records(
    data: NDArray[np.uint8],
    start: int,
    letter: int,
    count: int,
    num_vertices: int,
    largest: int,
    records: Records,
) -> tuple[np.uint64, np.uint64]:
    """Store records from `start` on, as long as they are well-formed and there is room.

    Returns the start of the first line that is not such a record, comment or blank line (the size of `data`
    if there is none), and the number of records stored so far, including `count`.
    """
    size = np.uint64(len(data))
    room = np.uint64(len(records.tail))
    fields = len(records.least)
    with_text = records.text_at.shape[0] > 0
    vertices = np.uint64(num_vertices)
    limit = np.uint64(largest)
    stored = np.uint64(count)
    position = np.uint64(start)
    while True:
        line = position
        position = skip_blanks(data, position)
        if position == size:
            return size, stored
        byte = data[position]
        if byte == NEWLINE:
            position += ONE
            continue
        if byte == COMMENT:
            while position < size and data[position] != NEWLINE:
                position += ONE
            continue
        if byte != letter or stored == room:
            return line, stored
        position += ONE
        begin = skip_blanks(data, position)
        if begin == position:
            return line, stored
        tail, position, good = read_digits(data, begin, vertices)
        if not good or tail == ZERO:
            return line, stored
        head, position, good = read_digits(data, skip_blanks(data, position), vertices)
        if not good or head == ZERO:
            return line, stored
        records.tail[stored] = tail - ONE
        records.head[stored] = head - ONE
        for k in range(fields):
            begin = skip_blanks(data, position)
            if begin == size or data[begin] == NEWLINE:
                return line, stored
            negative = data[begin] == MINUS
            magnitude, position, good = read_digits(data, begin + ONE if negative else begin, limit)
            if good:
                value = -np.int64(magnitude) if negative else np.int64(magnitude)
                if value < records.least[k]:
                    return line, stored
                records.numbers[k, stored] = value
            elif with_text:
                records.text_at[k, stored] = begin
                position = skip_token(data, begin)
            else:
                return line, stored
        position = skip_blanks(data, position)
        if position < size and data[position] != NEWLINE:
            return line, stored
        stored += ONE


class Line(NamedTuple):
    """A line that is not a record: where it starts in the file, and its fields."""

    position: int
    fields: list[bytes]


class Number(NamedTuple):
    """A number in the file: its name in messages, the smallest value allowed, whether ``inf`` is an error.

    ``-INT64_MAX`` allows all integers of int64 but one, and all floats.
    """

    name: str
    least: int
    finite: bool = True


class RecordReader:
    """The lines of one file with the content `data`; a record line starts with `letter`.

    Call :meth:`expect` once the contents of the records are known, and :meth:`next_line` until it returns
    None; then :attr:`tail`, :attr:`head` and :meth:`numbers` are the records.
    """

    def __init__(self, path: str | Path, data: bytes, letter: bytes) -> None:
        self.path = path
        self.data = data
        self.letter = letter
        self.num_records = 0
        self._bytes = np.frombuffer(data, dtype=np.uint8)
        self._position = 0
        self._form = ""
        self.expect((), 0, 0)

    def expect(self, fields: Sequence[Number], num_vertices: int, num_records: int) -> None:
        """Set what the records contain; before this call no line is a record.

        `fields` are the numbers after tail and head. Vertices are from 1 to `num_vertices`, and there are at
        most `num_records`.
        """
        self._fields = fields
        self._num_vertices = num_vertices
        self._num_records = num_records
        if fields or num_records:
            self._form = " ".join([self.letter.decode(), "TAIL", "HEAD", *(f.name.upper() for f in fields)])
        shortest_line = 2 * (3 + len(fields))
        room = min(num_records, (len(self.data) + 1) // shortest_line)
        dtype = np.uint32 if num_vertices < 2**32 else np.uint64
        self._records = Records(
            np.empty(room, dtype=dtype),
            np.empty(room, dtype=dtype),
            np.empty((len(fields), room), dtype=np.int64),
            np.empty((0, 0), dtype=np.uint64),
            np.array([f.least for f in fields], dtype=np.int64),
        )

    def next_line(self) -> Line | None:
        """Store records up to the next line that is neither a record nor a comment, and return that line.

        ParseError: a record is malformed, or there are more than expected.
        """
        while True:
            # Lines "n VERTEX ..." come in blocks; the kernel would find each of them in a call of its own.
            if not self.data.startswith(b"\nn ", self._position):
                self._position, self.num_records = self._read_records()
            else:
                self._position += 1
            if self._position == len(self.data):
                return None
            end = self.data.find(b"\n", self._position)
            end = len(self.data) if end < 0 else end
            line = Line(self._position, self.data[self._position : end].split())
            if line.fields[0] != self.letter or not self._form:
                self._position = end
                return line
            self._check_record(line)
            self._take_floats(line)

    def _read_records(self) -> tuple[int, int]:
        """Store records as far as the kernel can; return where it stopped and how many there are."""
        position, stored = read_records(
            self._bytes,
            self._position,
            self.letter[0],
            self.num_records,
            self._num_vertices,
            int(EXACT_FLOAT) if self._with_floats else INT64_MAX,
            self._records,
        )
        return int(position), int(stored)

    @property
    def tail(self) -> Array:
        """First vertices of the records, numbered from 0; uint32, or uint64 past 2**32 vertices."""
        return self._records.tail[: self.num_records]

    @property
    def head(self) -> Array:
        """Second vertices of the records."""
        return self._records.head[: self.num_records]

    def numbers(self, k: int) -> Array:
        """Return field `k` of the records: int64, or float64 if one number of the field is not an integer."""
        integers = self._records.numbers[k, : self.num_records]
        if not self._with_floats:
            return integers
        text_at = self._records.text_at[k, : self.num_records]
        where = np.flatnonzero(text_at)
        if not len(where):
            return integers
        texts = text_at[where]
        match = FLOAT.match
        spelled = np.array([float(m[0]) if (m := match(self.data, at)) else np.nan for at in texts.tolist()])
        # NaN for text that is no number; large numbers may be integers, or past float64.
        doubtful = ~((spelled >= self._fields[k].least) & (np.abs(spelled) < EXACT_FLOAT))
        for at in texts[doubtful].tolist():
            text = TOKEN.match(self.data, at)[0]  # type: ignore[index]
            if isinstance(self.number(at, text, self._fields[k]), int):
                self._fail_mixed(at)
        values = integers.astype(np.float64)
        values[where] = spelled
        return values

    def vertex(self, position: int, text: bytes, name: str) -> int:
        """Return the vertex in `text` on the line at `position`, numbered from 0."""
        vertex = self.integer(position, text, Number(name, -INT64_MAX))
        if not 1 <= vertex <= self._num_vertices:
            self.fail(position, f"{name} {vertex} is out of range: vertices are 1 to {self._num_vertices}")
        return vertex - 1

    def integer(self, position: int, text: bytes, field: Number) -> int:
        """Return the integer in `text` on the line at `position`."""
        if not INTEGER.fullmatch(text):
            self.fail(position, f"{field.name} {shown(text)} is not an integer")
        value = integer_value(text)
        if abs(value) > INT64_MAX:
            self.fail(position, f"{field.name} {shown(text)} does not fit a 64-bit integer")
        if value < field.least:
            self.fail(position, f"{field.name} {shown(text)} is less than {field.least}")
        return value

    def number(self, position: int, text: bytes, field: Number) -> int | float:
        """Return the integer or float in `text` on the line at `position`."""
        if INTEGER.fullmatch(text):
            return self.integer(position, text, field)
        if not FLOAT.fullmatch(text):
            self.fail(position, f"{field.name} {shown(text)} is not a number")
        value = float(text)
        if value < field.least != -INT64_MAX:
            self.fail(position, f"{field.name} {shown(text)} is less than {field.least}")
        if np.isinf(value) and b"n" not in text.lower():
            self.fail(position, f"{field.name} {shown(text)} does not fit a 64-bit float")
        if np.isinf(value) and field.finite:
            self.fail(position, f"{field.name} {shown(text)} is not finite")
        return value

    def fail_record(self, number: int, message: str) -> NoReturn:
        """Raise a ParseError about the record of that number, from 0."""
        starts = re.finditer(rb"^[^\S\n]*" + self.letter + rb"(?=[^\S\n])", self.data, re.MULTILINE)
        self.fail(next(islice(starts, number, None)).start(), message)

    def fail(self, position: int | None, message: str) -> NoReturn:
        """Raise a ParseError about the line that holds byte `position`, or about the whole file."""
        raise ParseError(self.path, None if position is None else self.line_number(position), message)

    def line_number(self, position: int) -> int:
        """Return the number, from 1, of the line that holds byte `position`."""
        return self.data.count(b"\n", 0, position) + 1

    @property
    def _with_floats(self) -> bool:
        return len(self._records.text_at) > 0

    def _check_record(self, line: Line) -> None:
        """Raise an error about a record that the kernel rejected, unless the reason is a float."""
        if self.num_records == self._num_records:
            self.fail(
                line.position, f"more than the {self._num_records} lines {self._form!r} that were announced"
            )
        if len(line.fields) != 3 + len(self._fields):
            alone = "; an arc with a cost alone, as muSSP has it, is 'a TAIL HEAD 0 1 COST'"
            hint = alone if len(self._fields) == 3 and len(line.fields) == 4 else ""
            self.fail(line.position, f"expected {self._form!r}, got {len(line.fields)} fields{hint}")
        for name, text in zip(("tail", "head"), line.fields[1:3], strict=True):
            self.vertex(line.position, text, name)
        for field, text in zip(self._fields, line.fields[3:], strict=True):
            self.number(line.position, text, field)

    def _take_floats(self, line: Line) -> None:
        """From `line` on, store the positions of numbers that are not integers."""
        assert not self._with_floats, f"refused for no reason: {line}"
        numbers = self._records.numbers
        # As int: NumPy would compare in float64, where 2**53 + 1 is 2**53.
        if int(np.abs(numbers[:, : self.num_records]).max(initial=0)) > EXACT_FLOAT:
            self._fail_mixed(line.position)
        self._records = self._records._replace(text_at=np.zeros(numbers.shape, dtype=np.uint64))

    def _fail_mixed(self, position: int) -> NoReturn:
        self.fail(position, "the file mixes floats with integers past 2**53, which float64 cannot hold")


def announced_bytes(head: bytes) -> int | None:
    """Return how many bytes a DIMACS problem may have, by its p line; None where `head` has no such line."""
    problem = PROBLEM.search(head)
    if problem is None:
        return None
    kind, vertices, arcs = problem[1], int(problem[2]), int(problem[3])
    return MOST_COMMENTS + LONGEST_LINE * (arcs + (vertices if kind in (b"asn", b"min") else 0))


def integer_value(text: bytes) -> int:
    """Return the integer in `text`; some integer past int64 if it is past int64."""
    digits = text.lstrip(b"-0")
    # int() of thousands of digits takes quadratic time, or refuses.
    magnitude = int(digits or b"0") if len(digits) <= 19 else 2**63
    return -magnitude if text.startswith(b"-") else magnitude


def shown(text: bytes) -> str:
    """Return text from a file for a message: printable, quoted and short."""
    shortened = text if len(text) <= 40 else text[:37] + b"..."
    return repr(shortened.decode("ascii", "backslashreplace"))
