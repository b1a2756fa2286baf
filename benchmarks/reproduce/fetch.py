"""Fetch the 28 matrices of Deveci et al. from a copy of the SuiteSparse Matrix Collection.

In the root of the repository:

    python -m benchmarks.reproduce.fetch FOLDER --mirror URL [MATRIX ...]

URL is the part of the addresses before the group of a matrix: URL/SNAP/amazon0505.tar.gz. The files become
FOLDER/amazon0505.mtx and so on, for `python -m benchmarks.reproduce deveci28 --file FOLDER`. Without names of
matrices all 28 are fetched, 5 GB of archives; those that are in FOLDER are only checked.

Every file must have the rows, columns and entries of Table I of the paper. The collection publishes no
checksums: the first fetch writes those of its files into FOLDER/SHA256SUMS, and later ones compare. The suite
also compares the cardinality of a maximum matching with the published one.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from preflow.errors import InvalidInputError

from .deveci import TABLE, Matrix

#: The group of the collection that each matrix belongs to.
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "amazon0505": "SNAP",
        "coPapersDBLP": "DIMACS10",
        "amazon-2008": "LAW",
        "flickr": "Gleich",
        "eu-2005": "LAW",
        "delaunay_n20": "DIMACS10",
        "kron_g500-logn20": "DIMACS10",
        "roadNet-PA": "SNAP",
        "in-2004": "LAW",
        "roadNet-TX": "SNAP",
        "Hamrle3": "Hamrle",
        "as-Skitter": "SNAP",
        "GL7d19": "JGD_GL7d",
        "roadNet-CA": "SNAP",
        "delaunay_n21": "DIMACS10",
        "kron_g500-logn21": "DIMACS10",
        "wikipedia-20070206": "Gleich",
        "patents": "Pajek",
        "com-LiveJournal": "SNAP",
        "hugetrace-00000": "DIMACS10",
        "soc-LiveJournal1": "SNAP",
        "ljournal-2008": "LAW",
        "italy_osm": "DIMACS10",
        "delaunay_n23": "DIMACS10",
        "wb-edu": "Gleich",
        "hugetrace-00020": "DIMACS10",
        "delaunay_n24": "DIMACS10",
        "hugebubbles-00000": "DIMACS10",
    }
)
#: The file of checksums, in the form that sha256sum reads.
SUMS = "SHA256SUMS"
#: Seconds without an answer after which a fetch ends.
PATIENCE = 60


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
    raise InvalidInputError(f"{path} has no line of sizes")


def check_sizes(path: Path, matrix: Matrix) -> None:
    """Raise InvalidInputError unless a file has the sizes of Table I."""
    found, wanted = sizes_of(path), (matrix.rows, matrix.columns, matrix.edges)
    if found != wanted:
        raise InvalidInputError(
            f"{path.name} has (rows, columns, entries) = {found}, not {wanted} as in Table I"
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
    if known.setdefault(path.name, found) != found:
        raise InvalidInputError(f"{path.name} has the SHA-256 {found}, not {known[path.name]} as in {SUMS}")
    lines = [f"{digest}  {name}\n" for name, digest in sorted(known.items())]
    (path.parent / SUMS).write_text("".join(lines), "utf-8")


def fetch(name: str, folder: Path, mirror: str) -> Path:
    """Fetch a matrix unless it is there, check it, and return its path.

    Raises
    ------
    InvalidInputError
        The address cannot be read, the archive has no such matrix, or the file is another one than expected.
    """
    path, part = folder / f"{name}.mtx", folder / f"{name}.mtx.part"
    if not path.exists():
        address = f"{mirror.rstrip('/')}/{GROUPS[name]}/{name}.tar.gz"
        try:
            with (
                urllib.request.urlopen(address, timeout=PATIENCE) as answer,
                tarfile.open(fileobj=answer, mode="r|gz") as archive,
            ):
                _extract(archive, f"{name}/{name}.mtx", part)
            check_sizes(part, TABLE[name])
        except (OSError, ValueError, tarfile.TarError, EOFError) as error:
            part.unlink(missing_ok=True)
            raise InvalidInputError(f"cannot fetch {address}: {error}") from error
        part.replace(path)
    check_sizes(path, TABLE[name])
    check_sum(path)
    return path


def _extract(archive: tarfile.TarFile, wanted: str, path: Path) -> None:
    """Write the file of an archive with this name."""
    for member in archive:
        content = archive.extractfile(member) if member.isfile() and member.name == wanted else None
        if content is not None:
            with path.open("wb") as file:
                shutil.copyfileobj(content, file)
            return
    raise tarfile.TarError(f"there is no {wanted}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce.fetch", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="matrix", help="of Table I; by default all")
    parser.add_argument("--mirror", required=True, help="address before the group of a matrix")
    options = parser.parse_intermixed_args(arguments)
    if unknown := [name for name in options.names if name not in GROUPS]:
        parser.error(f"unknown matrix {unknown[0]!r}; there are: {', '.join(GROUPS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or GROUPS:
        try:
            print(fetch(name, options.folder, options.mirror), flush=True)
        except InvalidInputError as error:
            sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
