"""Write the lines ``LETTER TAIL HEAD NUMBER ...`` of a DIMACS file, integers by a kernel."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel

#: Lines per buffer: at most 4 MB of text, so that it stays in the cache.
CHUNK = 1 << 16
#: A blank and a number of at most 20 digits.
LONGEST_FIELD = 21

TEN = np.uint64(10)
DIGIT_ZERO = np.uint64(ord("0"))
SPACE = np.uint8(ord(" "))
MINUS = np.uint8(ord("-"))
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
    numbers: NDArray[np.int64],
    text: NDArray[np.uint8],
) -> np.uint64:
    """Write one line for each record into `text` and return the number of bytes written.

    `numbers` has a row for each field.
    """
    position = ZERO
    for i in range(len(tail)):
        text[position] = letter
        text[position + ONE] = SPACE
        position = format_digits(tail[i] + ONE, text, position + ONE + ONE)
        text[position] = SPACE
        position = format_digits(head[i] + ONE, text, position + ONE)
        for k in range(len(numbers)):
            text[position] = SPACE
            position += ONE
            value = numbers[k, i]
            magnitude = np.uint64(value)
            if value < 0:
                text[position] = MINUS
                position += ONE
                magnitude = ~magnitude + ONE  # the negative of the least integer does not fit int64
            position = format_digits(magnitude, text, position)
        text[position] = NEWLINE
        position += ONE
    return position


def write_comment(file: BinaryIO, comment: str) -> None:
    """Write `comment` as ``c`` lines, one for each of its lines."""
    for line in comment.splitlines():
        # A name may come from a file system and have any bytes.
        file.write(f"c {line}".rstrip().encode(errors="surrogateescape") + b"\n")


def write_records(file: BinaryIO, letter: str, tail: Array, head: Array, *numbers: Array) -> None:
    """Write one line for each record, in O(m); it begins with `letter`.

    `tail` and `head` are numbered from 0; the file numbers them from 1. `numbers` are the fields after them.
    Floats are written as Python writes them, ``2.0`` and ``inf`` for example, which read back as the same
    floats.
    """
    floats = any(number.dtype.kind == "f" for number in numbers)
    text = np.empty(0 if floats else CHUNK * (2 + LONGEST_FIELD * (2 + len(numbers))), dtype=np.uint8)
    for begin in range(0, len(tail), CHUNK):
        chunk = slice(begin, begin + CHUNK)
        # Copies of one dtype, so that one compiled kernel serves all callers.
        tails, heads = tail[chunk].astype(np.uint64), head[chunk].astype(np.uint64)
        if floats:
            ends = (tails + ONE).tolist(), (heads + ONE).tolist()
            rows = zip(*ends, *(number[chunk].tolist() for number in numbers), strict=True)
            file.write("".join([f"{letter} {' '.join(map(repr, row))}\n" for row in rows]).encode())
        else:
            fields = np.stack([number[chunk].astype(np.int64) for number in numbers])
            size = format_records(ord(letter), tails, heads, fields, text)
            file.write(text[: int(size)].data)
