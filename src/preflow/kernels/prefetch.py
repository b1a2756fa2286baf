"""Memory that a kernel will need soon, fetched while it works on something else."""

from __future__ import annotations

from typing import Any

from .kernel import numba_overloads

numba_overloads(__name__)

#: Arguments of LLVM's prefetch: to read, to keep in all caches, data.
READ, KEEP, DATA = 0, 3, 1


def prefetch(values: Any, place: Any) -> None:
    """Ask for the cache line of a place of a contiguous array, which may be past its end."""
