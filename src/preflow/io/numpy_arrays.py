"""Arrays from NumPy's files ``.npy`` and ``.npz``, whose headers are checked before anything is allocated.

``numpy.load`` allocates the size in a header, and raises errors of a dozen kinds on damaged files. Here the
size is compared with the bytes of the file, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

from numpy.lib import format as numpy_format

from ..arrays import Array, DType
from ..errors import ParseError
from ..graph.network import INT64_MAX
from .files import parsing, read_bytes

NUMPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"

#: Kinds of dtype that are read: bool, integers, floats, complex numbers, bytes and text.
KINDS = "biufcSU"
#: No header has this many bytes.
MOST_HEADER = 1 << 16
#: A deflated byte is at most this many bytes.
MOST_DEFLATED = 1032
#: Errors that damaged headers and archives raise, besides those of any damaged content. For some headers,
#: Python's parser raises SystemError.
BAD_HEADER = (SyntaxError, TokenError, TypeError, SystemError)
BAD_ARCHIVE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError, IndexError)


def announced_array_bytes(head: bytes) -> int | None:
    """Return how many bytes an .npy file has, by its header; None where `head` has no header."""
    try:
        stream = BytesIO(head)
        shape, _, dtype = _header(stream)
    except (ValueError, EOFError, RecursionError, MemoryError, *BAD_HEADER):
        return None
    return stream.tell() + math.prod(shape) * dtype.itemsize


def load_array(path: str | Path, what: str) -> Array:
    """Return the array of an .npy file, plain or gzip; `what` says what it has, for messages.

    ParseError: the file cannot be read, or is none.
    """
    with parsing(path, "NumPy array"):
        data = read_bytes(path, announced_array_bytes)
        if not data.startswith(NUMPY_MAGIC):
            raise ParseError(path, None, f"{what} are a NumPy array, as numpy.save writes it")
        return read_array(path, data)


def read_array(path: str | Path, data: bytes, name: str = "") -> Array:
    """Return the array of the content of an .npy file; `name` is its name in an archive, for messages.

    ParseError if the content is damaged, or of objects, which would have to be unpickled.
    """
    return _array(path, BytesIO(data), len(data), name)


def read_arrays(path: str | Path, file: BinaryIO, names: Iterable[str]) -> dict[str, Array]:
    """Return arrays of an .npz file, which is open and seekable; those that it lacks are left out.

    ParseError if the archive or one of the arrays is damaged.
    """
    arrays = {}
    with parsing(path, "NumPy archive", *BAD_ARCHIVE), zipfile.ZipFile(file) as archive:
        size = file.seek(0, 2)
        members = {info.filename: info for info in archive.infolist()}
        for name in names:
            member = members.get(f"{name}.npy")
            if member is None:
                continue
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ParseError(path, None, f"{name} is neither stored nor deflated, as NumPy writes arrays")
            expansion = 1 if member.compress_type == zipfile.ZIP_STORED else MOST_DEFLATED
            if member.file_size > expansion * min(member.compress_size, size):
                raise ParseError(
                    path, None, f"{name} has {member.file_size:,} bytes, more than the file can hold"
                )
            with archive.open(member) as stream:
                arrays[name] = _array(path, stream, member.file_size, name)
    return arrays


def _array(path: str | Path, stream: Any, size: int, name: str) -> Array:
    """Return the array of a stream of `size` bytes."""
    which = f"{name}: " if name else ""
    with parsing(path, f"NumPy array{' ' * bool(name)}{name}", *BAD_HEADER):
        head = BytesIO(stream.read(min(size, MOST_HEADER)))
        shape, _, dtype = _header(head)
        if dtype.kind not in KINDS or dtype.itemsize == 0:
            raise ParseError(path, None, f"{which}expected numbers, got dtype {dtype}")
        num_bytes = math.prod(shape) * dtype.itemsize
        if num_bytes != size - head.tell():
            message = f"an array of shape {shape} and dtype {dtype} has {num_bytes:,} bytes"
            raise ParseError(path, None, f"{which}{message}, the file has {size - head.tell():,}")
        stream.seek(0)
        array: Array = numpy_format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # also compares the checksum of an archive's member
            raise ValueError("has more bytes than announced")
        return array


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, DType]:
    """Read an array's header: shape, whether it is stored by columns, and dtype."""
    version = numpy_format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format")
    read = numpy_format.read_array_header_1_0 if version == (1, 0) else numpy_format.read_array_header_2_0
    shape, by_columns, dtype = read(stream)
    if not all(0 <= length <= INT64_MAX for length in shape):
        raise ValueError(f"shape {shape}")
    return shape, by_columns, dtype
