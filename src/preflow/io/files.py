"""Read whole files, plain or compressed; write files so that a failure leaves the old file."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from zipfile import ZipFile

from ..errors import InvalidInputError, ParseError

if TYPE_CHECKING:
    from ..arrays import Untyped

#: Measured on the arc lines of a random level graph: level 9 takes 8 times as long for 5 % less.
GZIP_LEVEL = 4

#: The argument of zlib that means "gzip, with any window".
GZIP_WINDOW = 31
#: What compressed files begin with: the format, its decompressor, and the bytes that are decompressed at a
#: time: at most 64 MB of content. The first piece has the header.
COMPRESSED: dict[bytes, tuple[str, Callable[[], Untyped], int]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=GZIP_WINDOW), 1 << 16),
    b"BZh": ("bzip2", bz2.BZ2Decompressor, 1 << 11),
    b"\xfd7zXZ": ("xz", lzma.LZMADecompressor, 1 << 11),
}
#: Bytes that a compressed file may have besides those that its header announces.
SPARE = 1 << 24
#: A compressed file without a header may expand to this many bytes, or to this many times its size. Text of
#: numbers expands 2 to 20 times.
MOST_UNANNOUNCED, MOST_EXPANSION = 1 << 26, 100

#: A graph that is read from text may have this many vertices, and this many more for each entry.
SPARE_VERTICES, VERTICES_PER_ENTRY = 1 << 22, 256

#: What text in UTF-16 begins with.
UTF_16 = b"\xff\xfe", b"\xfe\xff"
#: What binary files begin with, and what reads them.
PICTURE = "a picture, which commands such as `preflow segment` and `preflow denoise` read"
SIGNATURES = {
    **dict.fromkeys((b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"II*\0", b"MM\0*"), PICTURE),
    b"\x93NUMPY": "a NumPy array, from which `preflow assign` and `preflow transport` read costs",
    b"PK\3\4": "an archive; those of NumPy have names that end in .npz",
    b"(\xb5/\xfd": "compressed by zstd, where gzip, bzip2 and xz can be read",
    b"<?xml": "XML; that of GraphML is read by `preflow solve` and `match` if its name ends in .graphml",
    b"PAR1": "a Parquet table, whose name ends in .parquet",
}
#: The first bytes of a file, with the position of what tells a NIfTI volume.
HEAD, VOLUME_AT = 1024, 344

#: Errors that Python and NumPy raise on damaged content. InvalidInputError is a ValueError.
DAMAGE: tuple[type[Exception], ...] = (
    ValueError,
    OverflowError,
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    RecursionError,
)

#: Returns how many bytes the header in the first bytes of a file allows; None where there is no header.
Announced = Callable[[bytes], int | None]


def checked_path(path: str | Path) -> Path:
    """Return `path` as a Path; integers are refused, which Python would take for a file descriptor."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"path must be a str or a Path, got {type(path).__name__} {path!r}")
    return Path(path)


@contextmanager
def parsing(path: str | Path, what: str, *damage: type[Exception]) -> Iterator[None]:
    """Turn every error from unreadable or damaged content into a ParseError.

    `what` is the kind of file that is expected, such as "NumPy array"; `damage` are errors that the library
    in use raises on damaged content, besides those in `DAMAGE`.
    """
    checked_path(path)
    try:
        yield
    except ParseError:
        raise
    except MemoryError as error:
        raise ParseError(path, None, "does not fit the memory") from error
    except DAMAGE + damage as error:
        raise ParseError(path, None, f"no {what}, or a damaged one: {reason_of(error)}") from error


def opened(path: str | Path) -> BinaryIO:
    """Open a file for reading bytes; raise ParseError where that is impossible."""
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        raise ParseError(path, None, f"cannot be read: {reason_of(error)}") from error


def read_bytes(path: str | Path, announced: Announced | None = None) -> bytes:
    """Return the content of a file, decompressed if its first bytes say how, without a byte order mark.

    `announced` returns the number of bytes that the content may have, from its first bytes. Without a header
    a compressed file may expand to `MOST_EXPANSION` times its size. ParseError if the file is missing, cannot
    be read, is truncated or damaged, or expands to more than its header announces.
    """
    path = checked_path(path)
    with parsing(path, "file that can be read"):
        with opened(path) as file:
            data = file.read()
        magic = next((each for each in COMPRESSED if data.startswith(each)), None)
        if magic is not None:
            try:
                data = _expanded(path, data, announced, magic)
            except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                message = f"truncated or damaged {COMPRESSED[magic][0]} file: {reason_of(error)}"
                raise ParseError(path, None, message) from error
        return data.removeprefix(codecs.BOM_UTF8)


def check_text(path: str | Path, data: bytes) -> None:
    """Raise ParseError if the content of a file is no text."""
    if data.startswith(UTF_16):
        return
    found = next((what for signature, what in SIGNATURES.items() if data.startswith(signature)), None)
    if data[VOLUME_AT : VOLUME_AT + 4] in (b"n+1\0", b"ni1\0"):
        found = "a volume, which `preflow segment` reads"
    if found is not None or b"\0" in data[:HEAD]:
        raise ParseError(path, None, f"text is expected, and this is {found or 'a binary file'}")


def decoded(path: str | Path, data: bytes, encoding: str | None = None) -> str:
    """Return the text in the content of a file; without an `encoding` it is UTF-8, or UTF-16 with its mark.

    ParseError: it is no text, or in another encoding. InvalidInputError: the encoding is unknown.
    """
    if encoding is None:
        check_text(path, data)
    try:
        return data.decode(encoding or ("utf-16" if data.startswith(UTF_16) else "utf-8-sig"))
    except LookupError:
        raise InvalidInputError(
            f"encoding {encoding!r} is unknown; Python has latin-1, cp1252, ..."
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = ParseError(path, line, f"the text is not in {encoding or 'UTF-8'}")
        raise found.advising("encoding", "latin-1", "reads what Western Europe wrote before") from None


def of_text(data: bytes) -> bytes:
    """Return the content of a file of ASCII or UTF-8; that of UTF-16 with its mark as UTF-8."""
    return data.decode("utf-16", "replace").encode() if data.startswith(UTF_16) else data


def check_expansion(path: str | Path, archive: bytes) -> None:
    """Raise ParseError if the files in a zip archive are far larger than it: see `MOST_EXPANSION`."""
    with ZipFile(BytesIO(archive)) as files:
        size = sum(each.file_size for each in files.infolist())
    if size > max(MOST_UNANNOUNCED, MOST_EXPANSION * len(archive)):
        raise ParseError(path, None, f"expands to {size:,} bytes, which is more than a file of its size may")


def _expanded(path: Path, data: bytes, announced: Announced | None, magic: bytes) -> bytes:
    """Return the content of a compressed file, up to the size in its header; it may have several members."""
    _, decompressor, length = COMPRESSED[magic]
    pieces: list[bytes] = []
    size, most, position, compressed = 0, None, 0, memoryview(data)
    while position < len(data):
        member = decompressor()
        while not member.eof:
            if position == len(data):
                raise EOFError("the end is missing")
            chunk = compressed[position : position + length]
            pieces.append(member.decompress(chunk))
            position += len(chunk) - len(member.unused_data)
            if most is None and announced is not None and size < length:
                most = announced(b"".join(pieces))
            size += len(pieces[-1])
            limit = max(MOST_UNANNOUNCED, MOST_EXPANSION * len(data)) if most is None else most + SPARE
            if size > limit:
                reason = "a file of its size may" if most is None else "its header announces"
                message = f"expands to more than {limit:,} bytes, which is more than {reason}"
                raise ParseError(path, None, message)
        while position < len(data) and data[position] == 0:  # padding, as gzip allows it
            position += 1
    return b"".join(pieces)


def check_vertices(path: str | Path, line: int | None, vertices: int, entries: int) -> None:
    """Raise ParseError where a file has far more vertices (rows and columns) than entries that name them.

    A file of a few bytes would otherwise lead to arrays of that many vertices.
    """
    most = SPARE_VERTICES + VERTICES_PER_ENTRY * entries
    if vertices > most:
        raise ParseError(
            path,
            line,
            f"{vertices:,} vertices for {entries:,} entries, at most {most:,} can be read "
            f"({SPARE_VERTICES:,}, and {VERTICES_PER_ENTRY} for each entry): number only the vertices that "
            "have entries, as numpy.unique(vertices, return_inverse=True) does",
        )


@contextmanager
def replacing(path: str | Path, compress: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file for writing that replaces `path` only once it is complete.

    The bytes go to a temporary file in the same folder. A `path` that is no regular file (a pipe,
    ``/dev/stdout``) is written directly. InvalidInputError: the file cannot be written; `path` is unchanged.
    """
    checked_path(path)
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL in the name
        raise InvalidInputError(f"{path!r}: cannot be written: {error}") from error
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file, _compressed(file, compress) as output:
                yield output
            return
        temporary = target.with_name(f".preflow-{secrets.token_hex(8)}.tmp")
        try:
            # "x", not tempfile: tempfile would make the file private to its owner, whatever the umask is.
            with temporary.open("xb") as file, _compressed(file, compress) as output:
                yield output
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written: {reason_of(error)}") from error


@contextmanager
def _compressed(file: BinaryIO, compress: bool) -> Iterator[BinaryIO]:
    if not compress:
        yield file
        return
    # No name and no time in the header: the same problem gives the same bytes.
    with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as output:
        yield cast(BinaryIO, output)


def reason_of(error: Exception) -> str:
    """Return the text of an error on one short line: it may quote the file."""
    reason = " ".join(((error.strerror if isinstance(error, OSError) else None) or str(error)).split())
    return (reason if len(reason) <= 200 else reason[:197] + "...") or type(error).__name__
