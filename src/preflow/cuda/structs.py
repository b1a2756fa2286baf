"""Declarations that ``.cu`` files take from Python, so that the two sides cannot differ.

A line ``#include "module.py: Name, Other"`` of a ``.cu`` or ``.cuh`` file is replaced by C++ declarations of
these names of a Python module, which lies beside the file or has a path from the package on. Of a NamedTuple
that is a struct, whose members are the fields, in their order; of an IntEnum an enumeration; of an integer a
constant. ``Name._fields`` is replaced by the members only, for a struct with functions of its own.

A field of type int or bool becomes a member of type u64; a field whose type is a NamedTuple, a member of the
struct of that name; an array, a pointer. The names below say to what. ``Annotated[AnyArray, "Arc*"]`` is a
pointer to a type of the ``.cu`` file, ``Annotated[tuple[AnyArray, ...], "u64*[4]"]`` an array of pointers.

``python -m preflow.cuda FILE`` prints a file with all that is pasted in.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeAlias, get_origin, get_type_hints

from ..arrays import AnyArray

#: Arrays that a kernel writes, by the type of their entries; and arrays that it only reads.
U8: TypeAlias = Annotated[AnyArray, "u8*"]
U32: TypeAlias = Annotated[AnyArray, "u32*"]
U64: TypeAlias = Annotated[AnyArray, "u64*"]
I64: TypeAlias = Annotated[AnyArray, "i64*"]
ConstU32: TypeAlias = Annotated[AnyArray, "const u32*"]
ConstU64: TypeAlias = Annotated[AnyArray, "const u64*"]
ConstI64: TypeAlias = Annotated[AnyArray, "const i64*"]
ConstF64: TypeAlias = Annotated[AnyArray, "const double*"]
#: An integer that may be negative.
Signed: TypeAlias = Annotated[int, "i64"]

PACKAGE = Path(__file__).parents[1]
HEADERS = Path(__file__).parent / "headers"
INCLUDE = re.compile(r'^#include "([\w/]+\.\w+)(?:: ([\w., ]+))?"\n', re.MULTILINE)
KERNEL = re.compile(r"^KERNEL\((\w+), (\w+)", re.MULTILINE)


def source_with_headers(path: Path) -> str:
    """Return the text of a ``.cu`` file with headers and declarations pasted in, each once.

    A header beside the file has precedence over one in ``headers``.
    """
    seen: set[tuple[str, ...]] = set()

    def expand(file: Path) -> str:
        return INCLUDE.sub(lambda match: paste(file, match[1], match[2]), file.read_text("utf-8"))

    def paste(including: Path, name: str, declared: str | None) -> str:
        if declared is None:
            beside = path.with_name(name)
            header = beside if beside.exists() else HEADERS / name
            return "" if was_seen(name, "") else expand(header)
        module = _module(including, name)
        names = [each for each in declared.split(", ") if not was_seen(module.__name__, each)]
        return "".join(_declaration(module, each) for each in names)

    def was_seen(*key: str) -> bool:
        known = key in seen
        seen.add(key)
        return known

    return expand(path)


@cache
def check_arguments(path: Path, kernel: str, passed: type) -> None:
    """Raise a TypeError unless a KERNEL of a ``.cu`` file takes arguments of class `passed`."""
    source = source_with_headers(path)
    taken = dict(KERNEL.findall(source)).get(kernel)
    if taken is not None and (taken != passed.__name__ or _origin(passed) not in source):
        raise TypeError(f"{kernel} of {path.name} takes {taken}, not {passed.__module__}.{passed.__name__}")


def _module(including: Path, name: str) -> ModuleType:
    """Return the Python module that a file names."""
    beside = including.parent / name
    path = beside if beside.exists() else PACKAGE / name
    parts = [] if path.name == "__init__.py" else [path.stem]
    while (path.parent / "__init__.py").exists():
        path = path.parent
        parts.insert(0, path.name)
    return import_module(".".join(parts))


def _declaration(module: ModuleType, name: str) -> str:
    """Return the C++ declaration of a name."""
    name, only_fields, _ = name.partition("._fields")
    value = getattr(module, name)
    if isinstance(value, int):
        return f"constexpr u{64 if value >> 32 else 32} {name} = {value}u{'ll' * bool(value >> 32)};\n"
    if issubclass(value, IntEnum):
        return (
            _origin(value)
            + f"enum {name} : u32 {{ {', '.join(f'{each.name} = {each}' for each in value)} }};\n"
        )
    hints = get_type_hints(value, include_extras=True)
    members = "".join(f"    {_member(field, hints[field])};\n" for field in value._fields)
    return _origin(value) + (members if only_fields else f"struct {name} {{\n{members}}};\n")


def _origin(declared: type) -> str:
    """Return the comment that says what a declaration was made from."""
    return f"// {declared.__module__}.{declared.__name__}\n"


def _member(name: str, hint: Any) -> str:
    """Return the declaration of a member of a struct, given the type of the field."""
    if hint in (int, bool):
        return f"u64 {name}"
    if hasattr(hint, "_fields"):
        return f"{hint.__name__} {name}"
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{name}: {hint} is no type of a kernel's argument")
    kind, bracket, length = hint.__metadata__[0].partition("[")
    return f"{kind} {name}{bracket}{length}"
