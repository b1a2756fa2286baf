"""Fetch the matrices of published experiments from the SuiteSparse Matrix Collection, or from a copy of it.

The archive of a matrix lies at ADDRESS/GROUP/NAME.tar.gz. It is written to NAME.tar.gz.part first. A fetch
that was cut off goes on where it ended, if the server knows how to send the rest of a file.

Every file must have the rows, columns and entries that the experiment publishes. The collection publishes no
checksums: the first fetch writes those of its files into the file SHA256SUMS, and later ones compare.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple, Protocol, cast

from ..errors import InvalidInputError, ParseError, StorageError
from .files import reason_of, replacing

#: The address of the collection before the group of a matrix.
COLLECTION = "https://sparse.tamu.edu/MM"
#: The schemes of addresses.
SCHEMES = ("https", "http", "file")
#: The file of checksums, in the form that sha256sum reads.
SUMS = "SHA256SUMS"
#: Seconds without an answer after which a fetch ends.
PATIENCE = 60
#: Bytes that are copied at a time.
CHUNK = 1 << 20
#: An archive and its content may have this many bytes for each row, column and entry of the matrix, and so
#: many besides: other files lie beside it.
BYTES_PER_NUMBER, SPARE = 256, 1 << 26
#: Status codes of HTTP: a part of a file follows; the file has no such part; the file is not there.
PARTIAL, NO_SUCH_PART, NOT_THERE = 206, 416, (404, 410)


class Readable(Protocol):
    """Anything that returns bytes: a file, a stream of gzip, an answer of a server."""

    def read(self, count: int, /) -> bytes:
        """Return at most `count` bytes, none at the end."""


class CollectionMatrix(NamedTuple):
    """A matrix of the collection: its group, and the sizes that its file must have."""

    group: str
    rows: int
    columns: int
    entries: int


#: The matrices of Deveci, Kaya, Uçar and Çatalyürek (ICPP 2013), Table I, in its order.
DEVECI28: Mapping[str, CollectionMatrix] = MappingProxyType(
    {
        "amazon0505": CollectionMatrix("SNAP", 410_236, 410_236, 3_356_824),
        "coPapersDBLP": CollectionMatrix("DIMACS10", 540_486, 540_486, 15_245_729),
        "amazon-2008": CollectionMatrix("LAW", 735_323, 735_323, 5_158_388),
        "flickr": CollectionMatrix("Gleich", 820_878, 820_878, 9_837_214),
        "eu-2005": CollectionMatrix("LAW", 862_664, 862_664, 19_235_140),
        "delaunay_n20": CollectionMatrix("DIMACS10", 1_048_576, 1_048_576, 3_145_686),
        "kron_g500-logn20": CollectionMatrix("DIMACS10", 1_048_576, 1_048_576, 44_620_272),
        "roadNet-PA": CollectionMatrix("SNAP", 1_090_920, 1_090_920, 1_541_898),
        "in-2004": CollectionMatrix("LAW", 1_382_908, 1_382_908, 16_917_053),
        "roadNet-TX": CollectionMatrix("SNAP", 1_393_383, 1_393_383, 1_921_660),
        "Hamrle3": CollectionMatrix("Hamrle", 1_447_360, 1_447_360, 5_514_242),
        "as-Skitter": CollectionMatrix("SNAP", 1_696_415, 1_696_415, 11_095_298),
        "GL7d19": CollectionMatrix("JGD_GL7d", 1_911_130, 1_955_309, 37_322_725),
        "roadNet-CA": CollectionMatrix("SNAP", 1_971_281, 1_971_281, 2_766_607),
        "delaunay_n21": CollectionMatrix("DIMACS10", 2_097_152, 2_097_152, 6_291_408),
        "kron_g500-logn21": CollectionMatrix("DIMACS10", 2_097_152, 2_097_152, 91_042_010),
        "wikipedia-20070206": CollectionMatrix("Gleich", 3_566_907, 3_566_907, 45_030_389),
        "patents": CollectionMatrix("Pajek", 3_774_768, 3_774_768, 14_970_767),
        "com-LiveJournal": CollectionMatrix("SNAP", 3_997_962, 3_997_962, 34_681_189),
        "hugetrace-00000": CollectionMatrix("DIMACS10", 4_588_484, 4_588_484, 6_879_133),
        "soc-LiveJournal1": CollectionMatrix("SNAP", 4_847_571, 4_847_571, 68_993_773),
        "ljournal-2008": CollectionMatrix("LAW", 5_363_260, 5_363_260, 79_023_142),
        "italy_osm": CollectionMatrix("DIMACS10", 6_686_493, 6_686_493, 7_013_978),
        "delaunay_n23": CollectionMatrix("DIMACS10", 8_388_608, 8_388_608, 25_165_784),
        "wb-edu": CollectionMatrix("Gleich", 9_845_725, 9_845_725, 57_156_537),
        "hugetrace-00020": CollectionMatrix("DIMACS10", 16_002_413, 16_002_413, 23_998_813),
        "delaunay_n24": CollectionMatrix("DIMACS10", 16_777_216, 16_777_216, 50_331_601),
        "hugebubbles-00000": CollectionMatrix("DIMACS10", 18_318_143, 18_318_143, 27_470_081),
    }
)
#: Sets of matrices by the names of the command line.
SETS: Mapping[str, Mapping[str, CollectionMatrix]] = MappingProxyType({"deveci28": DEVECI28})


def fetch_matrix(name: str, matrix: CollectionMatrix, folder: Path, address: str = COLLECTION) -> Path:
    """Fetch a matrix unless it is in the folder, check it, and return the path of its file NAME.mtx.

    `address` is that of the collection, before the group of the matrix. StorageError if the address cannot be
    reached, or breaks off, or the disk is full; what has come so far is kept. InvalidInputError if the
    collection lacks the matrix, the address is none, or the file has other sizes or another checksum than
    expected. ParseError if the archive, which is then deleted, is damaged or lacks the file.
    """
    path, archive, part = (folder / f"{name}{end}" for end in (".mtx", ".tar.gz.part", ".mtx.part"))
    if not path.exists():
        source = f"{address.rstrip('/')}/{matrix.group}/{name}.tar.gz"
        most = SPARE + BYTES_PER_NUMBER * (matrix.rows + matrix.columns + matrix.entries)
        _download(source, archive, most)
        try:
            _extract(archive, f"{name}/{name}.mtx", part, source, most)
            check_sizes(part, matrix)
            part.replace(path)
        except StorageError:  # the archive is right
            part.unlink(missing_ok=True)
            raise
        except (InvalidInputError, ParseError):
            part.unlink(missing_ok=True)
            archive.unlink()
            raise
        archive.unlink()
    check_sizes(path, matrix)
    check_sum(path)
    return path


class _Limited:
    """A stream of which at most `most` bytes are read."""

    def __init__(self, stream: Readable, most: int, source: str) -> None:
        self._stream, self._left, self._most, self._source = stream, most, most, source

    def read(self, count: int) -> bytes:
        """Read bytes; raise ParseError where there are more than the limit."""
        data = self._stream.read(count)
        self._left -= len(data)
        if self._left < 0:
            message = f"it has more than {self._most:,} bytes, and the matrix is far smaller"
            raise ParseError(self._source, None, message)
        return data


def _download(source: str, path: Path, most: int) -> None:
    """Write the file at an address, or what is missing of it; it has at most `most` bytes."""
    scheme = urllib.parse.urlsplit(source).scheme
    if scheme not in SCHEMES:
        raise InvalidInputError(
            f"{source}: an address begins with {', '.join(f'{each}:' for each in SCHEMES)}"
        )
    have = path.stat().st_size if path.exists() else 0
    request = urllib.request.Request(source, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with (
            urllib.request.urlopen(request, timeout=PATIENCE) as answer,
            path.open("r+b" if have else "wb") as file,
        ):
            is_rest = answer.status == PARTIAL and answer.headers.get("Content-Range", "").startswith(
                f"bytes {have}-"
            )
            file.seek(have if is_rest else 0)
            file.truncate()
            rest = cast(BinaryIO, _Limited(answer, most - file.tell(), source))
            shutil.copyfileobj(rest, file, CHUNK)
            length = answer.headers.get("Content-Length")
            wanted = None if length is None else int(length) + (have if is_rest else 0)
            if wanted is not None and file.tell() < wanted:
                raise StorageError(
                    f"{source}: broke off after {file.tell():,} of {wanted:,} bytes; the same command goes on"
                )
    except urllib.error.HTTPError as error:
        if error.code == NO_SUCH_PART and have:  # nothing is missing, or it is another file
            return
        if error.code in NOT_THERE:
            raise InvalidInputError(f"{source}: is not there ({error.code} {error.reason})") from error
        raise StorageError(f"{source}: {error.code} {error.reason}") from error
    except StorageError:
        raise
    except ParseError:
        path.unlink()
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, FileNotFoundError):
            raise InvalidInputError(f"{source}: is not there") from error
        text = reason_of(reason) if isinstance(reason, Exception) else str(reason)
        raise StorageError(f"{source}: cannot be read: {text}") from error


def _extract(archive: Path, wanted: str, path: Path, source: str, most: int) -> None:
    """Write the file of an archive with this name, and read the archive to its checksum at the end.

    The content of the archive has at most `most` bytes.
    """
    found = False
    try:
        with gzip.open(archive) as compressed:
            stream = cast(BinaryIO, _Limited(compressed, most, source))
            with tarfile.open(fileobj=stream, mode="r|") as members:
                for member in members:
                    content = (
                        members.extractfile(member) if member.isfile() and member.name == wanted else None
                    )
                    if content is not None:
                        with path.open("wb") as file:
                            shutil.copyfileobj(content, file, CHUNK)
                        found = True
            while stream.read(CHUNK):
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ParseError(source, None, f"no archive, or a damaged one: {reason_of(error)}") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {reason_of(error)}") from error
    if not found:
        raise ParseError(source, None, f"there is no {wanted} in the archive")


def sizes_of(path: Path) -> tuple[int, int, int]:
    """Return the rows, columns and entries that a Matrix Market file says it has."""
    with path.open("rb") as file:
        for line in file:
            if line.strip() and not line.startswith(b"%"):
                try:
                    rows, columns, entries = map(int, line.split())
                except ValueError:
                    break
                return rows, columns, entries
    raise ParseError(path, None, "has no line of sizes")


def check_sizes(path: Path, matrix: CollectionMatrix) -> None:
    """Raise InvalidInputError unless a file has the sizes that are published."""
    found, wanted = sizes_of(path), matrix[1:]
    if found != wanted:
        raise InvalidInputError(
            f"{path.name.removesuffix('.part')} has (rows, columns, entries) = {found}, "
            f"not {wanted} as published"
        )


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_sums(folder: Path) -> dict[str, str]:
    """Return the known checksums by the names of the files."""
    path = folder / SUMS
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def check_sum(path: Path) -> None:
    """Compare a file with its known checksum, or note the checksum if none is known."""
    known, found = read_sums(path.parent), checksum(path)
    if path.name not in known:
        known[path.name] = found
        with replacing(path.parent / SUMS) as file:
            file.writelines(f"{digest}  {name}\n".encode() for name, digest in sorted(known.items()))
    if known[path.name] != found:
        raise InvalidInputError(f"{path.name} has the SHA-256 {found}, not {known[path.name]} as in {SUMS}")
