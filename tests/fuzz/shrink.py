"""Make a failing case smaller, greedily: any plain JSON value. Of strings only those called "data" shrink."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any


def shrink(
    case: Any,
    fails: Callable[[Any], bool],
    seconds: float,
    reductions: Callable[[Any], Iterator[Any]] = lambda case: iter(()),
) -> Any:
    """Return a smaller case that still fails: the first smaller one is taken, again and again."""
    end = time.monotonic() + seconds
    improved = True
    while improved:
        improved = False
        for smaller in (*reductions(case), *_smaller(case)):
            if time.monotonic() > end:
                return case
            if fails(smaller):
                case, improved = smaller, True
                break
    return case


def _smaller(case: Any) -> Iterator[Any]:
    """Yield cases with something left out, then with simpler numbers."""
    for path, value in _parts(case):
        for simpler in _shorter(value) if isinstance(value, list) or path[-1:] == ("data",) else ():
            yield _with(case, path, simpler)
    for path, value in _parts(case):
        for simpler in _simpler(value):
            yield _with(case, path, simpler)


def _parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, part in items:
        yield from _parts(part, (*path, key))


def _with(case: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(case)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def _shorter(value: Any) -> Iterator[Any]:
    if isinstance(value, list | str):
        size = len(value) // 2
        while size:
            for begin in range(0, len(value), size):
                yield value[:begin] + value[begin + size :]
            size //= 2
    if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
        width = len(value[0])
        if width > 1 and all(len(row) == width for row in value):
            for column in range(width):
                yield [row[:column] + row[column + 1 :] for row in value]
        if len(value) == 1:
            yield []


def _simpler(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from (smaller for smaller in (0, 1, value // 2, value - 1) if abs(smaller) < abs(value))
    elif isinstance(value, float):
        for simpler in (0.0, 1.0, float(f"{value:.2g}")):
            if simpler != value and value not in (0.0, 1.0):
                yield simpler
    elif isinstance(value, dict) and value:
        yield {}
