"""The folder of compiled kernels, among the user's caches.

It has pickles and machine code: anybody who can write to it can run code as its user. So a folder or file is
used only if it belongs to the user or to root and nobody else may write to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """Return the folder of compiled kernels: ``$PREFLOW_CACHE_DIR``, else preflow's among the user's caches.

    The latter is ``~/.cache/preflow`` on Linux (``$XDG_CACHE_HOME`` has another place for caches),
    ``~/Library/Caches/preflow`` on macOS, and below ``AppData/Local`` on Windows. OSError:
    ``$PREFLOW_CACHE_DIR`` is relative, which would be below the current folder, or the user has no home.
    """
    chosen = os.environ.get("PREFLOW_CACHE_DIR")
    if chosen:
        if not Path(chosen).is_absolute():
            raise OSError(f"PREFLOW_CACHE_DIR must be an absolute path, got {chosen!r}")
        return Path(chosen)
    from platformdirs import user_cache_path

    try:
        caches = user_cache_path("preflow", appauthor=False)
    except RuntimeError:  # older versions of platformdirs return a path that begins with ~
        caches = Path("~")
    if str(caches).startswith("~"):
        raise OSError("the user has no home folder, and PREFLOW_CACHE_DIR is not set")
    if not caches.is_absolute():
        raise OSError(f"the user's cache folder must be an absolute path, got {str(caches)!r}")
    return caches


def distrust(status: os.stat_result) -> str:
    """Return why a file or folder is not trusted, since others can change it; empty if it is."""
    if sys.platform == "win32":  # access lists keep others out of a user's folders
        return ""
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & 0o022:
        return "others can write to it (chmod go-w)"
    return ""


def check_folder(folder: Path) -> None:
    """Raise OSError if others can change the cache or this folder in it, as far as they exist."""
    for path in (cache_directory(), folder):
        try:
            reason = distrust(path.stat())
        except FileNotFoundError:
            continue
        if reason:
            raise OSError(f"{path} is not trusted: {reason}")


def make_private(folder: Path) -> None:
    """Make a folder that only the user can enter, and the missing folders above it."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
