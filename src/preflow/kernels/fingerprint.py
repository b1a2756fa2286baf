"""A hash of all that the machine code of a kernel depends on: it alone says whether the code is current.

The hash covers the instructions of the kernel and of the kernels that it calls, directly or not, the values
of the constants that they read, the fields of the tuples that they take, and the overloads of functions and
tuples. It does not cover docstrings, comments, annotations and code that the kernel does not reach, so an
edit of those compiles nothing. Instructions differ between versions of Python. A module of its own, since a
wheel never loads it.
"""

from __future__ import annotations

import dis
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .overloads import Intrinsic, overloaded

DECORATOR = Path(__file__).resolve().with_name("kernel.py")
RELATIVE_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
TUPLE_CLASS = re.compile(r"<([\w.]+)>")
CONSTANTS = (bool, int, float, str, bytes, type(None), type(...), np.generic)
LOADS_CONSTANT = np.isin(np.arange(256), dis.hasconst)


def fingerprint(kernel: Callable[..., Any], kinds: Iterable[str] = ()) -> str:
    """Return the hash of a kernel that is compiled for these kinds of arguments."""
    lines = {
        f"{sys.implementation.cache_tag}",
        *(_tuple(path) for kind in kinds for path in TUPLE_CLASS.findall(kind)),
    }
    seen: set[Any] = set()
    waiting: list[Any] = [getattr(kernel, "py_func", kernel)]
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen.add(function)
            own, called = _own(function)
            lines |= own
            waiting += called
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


@cache
def _own(function: FunctionType) -> tuple[set[str], list[FunctionType]]:
    """Return what the code of a function depends on but for the kernels that it calls, and these."""
    name = f"{function.__module__}:{function.__qualname__}"
    values = list(_globals(function))
    lines = {f"{name} {used} {_describe(value, function.__module__)}" for used, value in values}
    lines.add(f"{name} {function.__defaults__} {_code(function.__code__)}")
    return lines, [value.py_func for _, value in values if hasattr(value, "py_func")]


def _tuple(path: str) -> str:
    """Return the fields of a class of tuples, with its overloads; an edited package may lack the class."""
    module, _, name = path.rpartition(".")
    try:
        fields = _class(getattr(import_module(module), name))
    except (ImportError, AttributeError):
        return f"{path} is missing"
    return f"{fields} {_sources(module)}" if module in overloaded else fields


def _globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the global names that a function may read, with their values.

    Names of attributes are among those of the code: one that is a global, too, is one dependency too many.
    """
    codes: list[CodeType] = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    names = sorted({name for code in codes for name in code.co_names})
    for name in names:
        value = function.__globals__.get(name, function)
        if isinstance(value, ModuleType) and f"{value.__name__}.".startswith("preflow."):
            yield from ((f"{name}.{each}", vars(value)[each]) for each in names if each in vars(value))
        elif value is not function:
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _describe(value: Any, reader: str) -> str:
    """Return what tells a value from others; for one that is not understood, the module of its reader."""
    if hasattr(value, "py_func"):
        return f"kernel {value.name}"
    if isinstance(value, CONSTANTS):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple):
        return f"({', '.join(_describe(member, reader) for member in value)})"
    if isinstance(value, type) and hasattr(value, "_fields"):
        return _class(value)
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
    ours = f"{module}.".startswith("preflow.")
    if isinstance(value, ModuleType | type | BuiltinFunctionType | FunctionType | np.ufunc) and not ours:
        return f"{module} {value.__name__}"
    if isinstance(value, FunctionType | Intrinsic):  # its module says how it is compiled
        return f"{value.__name__} {_sources(module)}"
    return f"{type(value).__name__} {_sources(reader)}"


def _class(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}{value._fields}"


@cache
def _sources(module: str) -> str:
    """Return the code of a module, of its overloads, and of all that the modules use that it names."""
    path = Path(str(sys.modules[module].__file__))
    others = [each for each in vars(sys.modules[module]).values() if isinstance(each, ModuleType)]
    ours = [Path(str(each.__file__)) for each in others if each.__name__.startswith("preflow.")]
    overloads = path.with_name(f"{path.stem}_numba.py")
    files = {path, *sources_of(*ours, *[overloads] * overloads.is_file())}
    return " ".join(_code_of_file(file) for file in sorted(files))


@cache
def _code_of_file(file: Path) -> str:
    return _code(compile(file.read_bytes(), file.name, "exec", dont_inherit=True, optimize=2))


def sources_of(*paths: Path) -> set[Path]:
    """Return the files and those of all preflow modules that they import, directly or not.

    The module ``kernel`` is left out: it decides how a kernel is compiled, not what the kernel does.
    """
    seen: set[Path] = set()
    waiting = [path.resolve() for path in paths]
    while waiting:
        file = waiting.pop()
        if file not in seen and file != DECORATOR:
            seen.add(file)
            waiting.extend(_imported_files(file))
    return seen


@cache
def _imported_files(file: Path) -> list[Path]:
    found = [file.with_name(f"{file.stem}_numba.py")]
    for dots, module, names in RELATIVE_IMPORT.findall(file.read_text(encoding="utf-8")):
        base = file.parents[len(dots) - 1]
        target = base.joinpath(*module.split(".")) if module else base
        imported = [target, *(target / name.strip() for name in names.strip("()").split(","))]
        found += [path for each in imported for path in (each.with_suffix(".py"), each / "__init__.py")]
    return [candidate for candidate in found if candidate.is_file()]


def _code(code: CodeType) -> str:
    """Return a hash of the instructions of a function or module, which do not load its docstring."""
    instructions = np.frombuffer(code.co_code, dtype=np.uint8).reshape(-1, 2).copy()
    at = np.flatnonzero(LOADS_CONSTANT[instructions[:, 0]])
    before = instructions[at - 1]
    high = np.where(before[:, 0] == dis.EXTENDED_ARG, before[:, 1].astype(np.intp) << 8, 0)
    loaded = [_constant(code.co_consts[place]) for place in high + instructions[at, 1]]
    instructions[at, 1] = 0  # places are others where there is no docstring
    names = code.co_argcount, code.co_varnames, code.co_names, code.co_freevars
    parts = instructions.tobytes(), code.co_exceptiontable, repr((names, loaded)).encode()
    return hashlib.sha256(b" ".join(parts)).hexdigest()


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return f"{value.co_name} {_code(value)}"
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
