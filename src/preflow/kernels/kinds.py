"""The kinds of arguments for which kernels are compiled: ``kinds.txt`` has a line for each, "kernel kind".

Every installation compiles the kinds with a star before them, which calls without a method reach; ``make
demo`` those with two; only the wheels of a release have compiled kernels for all. ``native/calls.py`` records
them from public calls, and ``native/build.py`` compiles them into the library. :func:`preflow.warm_up`
compiles those that the library lacks into the cache. The module ``kernel`` describes the text of a kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ..arrays import Untyped

KINDS = Path(__file__).with_name("kinds.txt")
CLASS_NAME = re.compile(r"(?:<([\w.]+)>)?\(")


def recorded(path: Path | None = None) -> Iterator[tuple[str, str, int]]:
    """Yield the name of a kernel, a kind, and its number of stars, for each line of a file."""
    for line in (path or KINDS).read_text(encoding="utf-8").splitlines():
        name, _, kind = line.lstrip("* ").partition(" ")
        yield name, kind, line.count("*", 0, 2)


def types_of(kind: str) -> list[Untyped]:
    """Return Numba's types of the arguments of a kind.

    Raises
    ------
    AttributeError, ImportError, ValueError
        A class of tuples no longer exists or has another number of members.
    """
    from numba import types

    scalars = {
        "?": types.boolean,
        "b": types.int8,
        "B": types.uint8,
        "h": types.int16,
        "H": types.uint16,
        "i": types.int32,
        "I": types.uint32,
        "q": types.int64,
        "Q": types.uint64,
        "f": types.float32,
        "d": types.float64,
        "n": types.none,
    }
    stack: list[tuple[Untyped, list[Untyped]]] = [(None, [])]
    at = 0
    while at < len(kind):
        match = CLASS_NAME.match(kind, at)
        if match:
            tuple_class = None
            if match[1]:
                module, _, name = match[1].rpartition(".")
                tuple_class = getattr(import_module(module), name)
            stack.append((tuple_class, []))
            at = match.end()
        elif kind[at] == ")":
            tuple_class, members = stack.pop()
            if tuple_class is not None and len(members) != len(tuple_class._fields):
                raise ValueError(f"{tuple_class.__name__} has {len(tuple_class._fields)} members")
            stack[-1][1].append(types.BaseTuple.from_types(members, tuple_class))
            at += 1
        elif kind[at].isdigit():
            layout = kind[at + 1]
            array = types.Array(
                scalars[kind[at + 2]], int(kind[at]), layout.upper(), readonly=layout.islower()
            )
            stack[-1][1].append(array)
            at += 3
        else:
            stack[-1][1].append(scalars[kind[at]])
            at += 1
    return stack[0][1]
