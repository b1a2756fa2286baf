"""Whole files: read plain or gzip, write so that a failure leaves what was there before."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import InvalidInputError, ParseError

GZIP_MAGIC = b"\x1f\x8b"
#: Measured on the arc lines of a random level graph: level 9 takes 8 times as long for 5 % less.
GZIP_LEVEL = 4


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, decompressed if it is gzip (which its first bytes say, not its name).

    Raises
    ------
    ParseError
        The file is missing, cannot be read, or is truncated or damaged gzip.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ParseError(path, None, f"cannot be read: {_reason(error)}") from error
    if not data.startswith(GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ParseError(path, None, f"truncated or damaged gzip file: {_reason(error)}") from error


@contextmanager
def replacing(path: str | Path, compress: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file for writing that takes the place of `path` only once it is complete.

    The bytes go to a temporary file in the same folder. What is no regular file (a pipe, ``/dev/stdout``)
    is written directly.

    Raises
    ------
    InvalidInputError
        The file cannot be written; `path` is then as it was.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            with target.open("wb") as file, _compressed(file, compress) as output:
                yield output
            return
        temporary = target.with_name(f".preflow-{secrets.token_hex(8)}.tmp")
        try:
            # "x", not tempfile: that one would give the file to its owner alone, whatever the umask says.
            with temporary.open("xb") as file, _compressed(file, compress) as output:
                yield output
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written: {_reason(error)}") from error


@contextmanager
def _compressed(file: BinaryIO, compress: bool) -> Iterator[BinaryIO]:
    if not compress:
        yield file
        return
    # No name and no time in the header: the same problem gives the same bytes.
    with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as output:
        yield cast(BinaryIO, output)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
