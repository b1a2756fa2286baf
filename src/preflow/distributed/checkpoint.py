"""Checkpoints: files from which a solve over regions continues after its process has ended.

A folder has one file for each region, and ``checkpoint.json``, which names them, their checksums, the number
of sweeps and a fingerprint of the problem. New files are written beside the old ones; then the new
``checkpoint.json`` replaces the old one in one step, and only then the old files are removed. So a checkpoint
is complete whenever the process ends, and a full disk leaves the last one as it was.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash

from ..arrays import Array
from ..errors import InvalidInputError, ParseError, StorageError
from ..io.numpy_arrays import read_arrays
from .exchange import REMADE
from .files import DAMAGE, MOST_SWEEPS, open_regular, read_manifest, replace_manifest, storing

#: Version of the files.
FORMAT = 4
INDEX = "checkpoint.json"
BORDER, INSIDE = "border.", "inside."
#: The names of the files of states.
OWN_NAME = re.compile(r"region-\d+-sweep-\d+-[0-9a-f]+\.npz")

Write = Callable[[int, Mapping[str, Array], Mapping[str, Array]], None]


class Found(NamedTuple):
    """A checkpoint that was read."""

    sweeps: int
    files: list[tuple[Path, int]]  #: the file of each region, and its checksum

    def state(self, number: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Read the states of the border and of the inside of a region.

        ParseError: the file is damaged.
        """
        arrays = _read(*self.files[number])
        inside = _with_prefix(arrays, INSIDE)
        inside.update({name: inside[name][:0] for name in REMADE if name in inside})
        return _with_prefix(arrays, BORDER), inside


class Checkpoint:
    """A folder for checkpoints of one problem; it is made if it is not there.

    Raises
    ------
    StorageError
        It cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise StorageError(f"cannot write checkpoints to {folder}: {error.strerror}") from error
        self._fingerprint: list[int] = []

    def identify(self, fingerprint: Sequence[int]) -> None:
        """Say which problem is solved, by a number for each region."""
        self._fingerprint = list(fingerprint)

    def read(self) -> Found | None:
        """Return the checkpoint of the folder, None where there is none.

        ParseError: ``checkpoint.json`` is damaged, or of another version. InvalidInputError: it is the
        checkpoint of another problem. StorageError: ``checkpoint.json`` cannot be read.
        """
        text = read_manifest(self.folder / INDEX, FORMAT)
        if text is None:
            return None
        try:
            content = json.loads(text)
            if content["fingerprint"] != self._fingerprint:
                raise InvalidInputError(
                    f"{self.folder} has the checkpoint of another problem, or of other regions; "
                    "give another folder, or delete it"
                )
            sweeps, names, sums = (content[each] for each in ("sweeps", "files", "checksums"))
            if type(sweeps) is not int or not 0 <= sweeps < MOST_SWEEPS:
                raise ValueError(f"{sweeps!r} is no number of sweeps")
            if not all(OWN_NAME.fullmatch(name) for name in names):
                raise ValueError("it names a file that is no state of a region")
            files = [(self.folder / name, checksum) for name, checksum in zip(names, sums, strict=True)]
        except InvalidInputError:
            raise
        except DAMAGE as error:
            raise ParseError(self.folder / INDEX, None, f"damaged checkpoint: {error}") from error
        return Found(sweeps, files)

    @contextmanager
    def writing(self, sweeps: int) -> Iterator[Write]:
        """Yield the function that writes a region; the checkpoint replaces the last one at the end.

        StorageError: the disk is full, say. The last checkpoint stays.
        """
        with storing(self.folder):
            yield from self._writing(sweeps)

    def _writing(self, sweeps: int) -> Iterator[Write]:
        written: dict[int, tuple[str, int]] = {}
        token = uuid.uuid4().hex[:8]  # a file of the last checkpoint is never written to

        def write(number: int, border: Mapping[str, Array], inside: Mapping[str, Array]) -> None:
            path = self.folder / f"region-{number}-sweep-{sweeps}-{token}.npz"
            written[number] = path.name, 0
            arrays = {BORDER + name: array for name, array in border.items()}
            arrays.update({INSIDE + name: array for name, array in inside.items()})
            with path.open("xb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
                _flush(file.fileno())
            written[number] = path.name, xxhash.xxh3_64_intdigest(path.read_bytes())

        try:
            yield write
            rows = [written[number] for number in sorted(written)]
            content = {
                "sweeps": sweeps,
                "fingerprint": self._fingerprint,
                "files": [name for name, _ in rows],
                "checksums": [sum_ for _, sum_ in rows],
            }
            replace_manifest(self.folder / INDEX, FORMAT, content)
        except BaseException:
            for path in [self.folder / name for name, _ in written.values()]:
                with suppress(OSError):
                    path.unlink()
            raise
        kept = {name for name, _ in written.values()}
        for path in self.folder.glob("region-*-sweep-*.npz"):
            if path.name not in kept:
                path.unlink()


def _flush(descriptor: int) -> None:
    os.fsync(descriptor)


def _read(path: Path, expected: int) -> dict[str, Array]:
    try:
        with open_regular(path) as file:
            data = file.readall()
        if xxhash.xxh3_64_intdigest(data) != expected:
            raise ValueError("the checksum differs")
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
        return read_arrays(path, BytesIO(data), names)
    except ParseError:
        raise
    except (OSError, zipfile.BadZipFile, *DAMAGE) as error:
        raise ParseError(path, None, f"is damaged ({error}); delete the folder to start over") from error


def _with_prefix(state: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
