"""Write the lines ``LETTER TAIL HEAD NUMBER`` of a DIMACS file, integers by a kernel."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel

#: Lines per buffer: at most 4 MB of text, so that it stays in the cache.
CHUNK = 1 << 16
#: A letter, three numbers of at most 20 digits, three blanks and the newline.
LONGEST_LINE = 65

TEN = np.uint64(10)
DIGIT_ZERO = np.uint64(ord("0"))
SPACE = np.uint8(ord(" "))
NEWLINE = np.uint8(ord("\n"))


@kernel
def format_digits(value: np.uint64, text: NDArray[np.uint8], position: np.uint64) -> np.uint64:
    """Write the digits of `value` at `position` and return their end."""
    end = position + ONE
    rest = value // TEN
    while rest > ZERO:
        end += ONE
        rest //= TEN
    place = end
    while place > position:
        place -= ONE
        text[place] = DIGIT_ZERO + value % TEN
        value //= TEN
    return end


@kernel
def format_records(
    letter: int,
    tail: NDArray[np.uint64],
    head: NDArray[np.uint64],
    number: NDArray[np.uint64],
    text: NDArray[np.uint8],
) -> np.uint64:
    """Write one line for each record into `text` and return the number of bytes written."""
    position = ZERO
    for i in range(len(tail)):
        text[position] = letter
        text[position + ONE] = SPACE
        position = format_digits(tail[i] + ONE, text, position + ONE + ONE)
        text[position] = SPACE
        position = format_digits(head[i] + ONE, text, position + ONE)
        text[position] = SPACE
        position = format_digits(number[i], text, position + ONE)
        text[position] = NEWLINE
        position += ONE
    return position


def write_comment(file: BinaryIO, comment: str) -> None:
    """Write `comment` as ``c`` lines, one for each of its lines."""
    for line in comment.splitlines():
        # A name may come from a file system and have any bytes.
        file.write(f"c {line}".rstrip().encode(errors="surrogateescape") + b"\n")


def write_records(file: BinaryIO, letter: str, tail: Array, head: Array, number: Array) -> None:
    """Write one line for each record, in O(m).

    Parameters
    ----------
    file : binary file
    letter : str
        The first letter of each line.
    tail, head : ndarray of integers, shape (m,)
        End vertices, numbered from 0; the file numbers them from 1.
    number : ndarray of int64 or float64, shape (m,)
        Non-negative. Floats are written as Python writes them, ``2.0`` and ``inf`` for example, which read
        back as the same floats.
    """
    text = np.empty(CHUNK * LONGEST_LINE, dtype=np.uint8)
    for begin in range(0, len(tail), CHUNK):
        chunk = slice(begin, begin + CHUNK)
        # Copies of one dtype, so that one compiled kernel serves all callers.
        tails, heads = tail[chunk].astype(np.uint64), head[chunk].astype(np.uint64)
        if number.dtype.kind == "f":
            rows = zip((tails + ONE).tolist(), (heads + ONE).tolist(), number[chunk].tolist(), strict=True)
            file.write("".join([f"{letter} {u} {v} {x!r}\n" for u, v, x in rows]).encode())
        else:
            size = format_records(ord(letter), tails, heads, number[chunk].astype(np.uint64), text)
            file.write(text[: int(size)].data)
