"""Checkpoints: files from which a solve over regions continues after its process has ended.

A folder has one file for each region, and ``checkpoint.json``, which names them, their checksums, the number
of sweeps and a fingerprint of the problem. New files are written beside the old ones; then the new
``checkpoint.json`` replaces the old one in one step, and only then the old files are removed. So a checkpoint
is complete whenever the process ends, and a full disk leaves the last one as it was.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash

from ..arrays import Array
from ..errors import InvalidInputError, ParseError, StorageError
from .files import read_manifest, replace_manifest, storing

#: Version of the files.
FORMAT = 4
INDEX = "checkpoint.json"
BORDER, INSIDE = "border.", "inside."

Write = Callable[[int, Mapping[str, Array], Mapping[str, Array]], None]


class Found(NamedTuple):
    """A checkpoint that was read.

    Attributes
    ----------
    sweeps : int
    files : list of (Path, int)
        The file of each region, and its checksum.
    """

    sweeps: int
    files: list[tuple[Path, int]]

    def state(self, number: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Read the states of the border and of the inside of a region.

        Raises
        ------
        ParseError
            The file is damaged.
        """
        arrays = _read(*self.files[number])
        return _with_prefix(arrays, BORDER), _with_prefix(arrays, INSIDE)


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
            probe = folder / f".{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise StorageError(f"cannot write checkpoints to {folder}: {error.strerror}") from error
        self._fingerprint: list[int] = []

    def identify(self, fingerprint: Sequence[int]) -> None:
        """Say which problem is solved, by a number for each region."""
        self._fingerprint = list(fingerprint)

    def read(self) -> Found | None:
        """Return the checkpoint of the folder, None where there is none.

        Raises
        ------
        ParseError
            ``checkpoint.json`` is damaged, or of another version.
        InvalidInputError
            It is the checkpoint of another problem.
        StorageError
            ``checkpoint.json`` cannot be read.
        """
        text = read_manifest(self.folder / INDEX, FORMAT)
        if text is None:
            return None
        content = json.loads(text)
        if content["fingerprint"] != self._fingerprint:
            raise InvalidInputError(
                f"{self.folder} has the checkpoint of another problem, or of other regions; "
                "give another folder, or delete it"
            )
        names = zip(content["files"], content["checksums"], strict=True)
        return Found(content["sweeps"], [(self.folder / name, checksum) for name, checksum in names])

    @contextmanager
    def writing(self, sweeps: int) -> Iterator[Write]:
        """Yield the function that writes a region; the checkpoint replaces the last one at the end.

        Raises
        ------
        StorageError
            The disk is full, say. The last checkpoint stays.
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
            with path.open("wb") as file:
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
        if xxhash.xxh3_64_intdigest(path.read_bytes()) != expected:
            raise ValueError("the checksum differs")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError) as error:
        raise ParseError(path, None, f"is damaged ({error}); delete the folder to start over") from error


def _with_prefix(state: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
