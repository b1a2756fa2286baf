"""The files that a user names on the command line: single files, folders and patterns."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path

from preflow.errors import InvalidInputError

from .problem import Case

FileCases = Callable[[Sequence[str]], list[Case]]


def or_files(own: FileCases) -> Callable[[Callable[[], list[Case]]], FileCases]:
    """Return a decorator of suites: where a user names files, only `own`, their cases, are measured."""

    def decorate(suite: Callable[[], list[Case]]) -> FileCases:
        @wraps(suite)
        def cases(files: Sequence[str]) -> list[Case]:
            return own(files) if files else suite()

        return cases

    return decorate


def no_files(files: Sequence[str]) -> list[Case]:
    """Return no case: no file holds an instance of the problem."""
    return []


def find_files(patterns: Sequence[str], extension: str) -> list[Path]:
    """Return the files that match the patterns, sorted within each pattern, each file once.

    Parameters
    ----------
    patterns : sequence of str
        File names, glob patterns, or folders. Of a folder, the files with the extension count, also if they
        are compressed.
    extension : str
        Such as ".max".

    Raises
    ------
    InvalidInputError
        A pattern matches no file.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        folder = Path(pattern)
        if folder.is_dir():
            paths = sorted([*folder.glob(f"*{extension}"), *folder.glob(f"*{extension}.gz")])
        else:
            paths = sorted(Path(name) for name in glob.glob(str(pattern), recursive=True))
        if not paths:
            raise InvalidInputError(
                f"{pattern} is no folder with {extension} files, no file and no pattern of files"
            )
        found.update(dict.fromkeys(paths))
    return list(found)


def instance_name(path: Path, extension: str) -> str:
    """Return the name of a file without its extension and without ".gz"."""
    return path.name.removesuffix(".gz").removesuffix(extension)
