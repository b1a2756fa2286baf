"""A hash of everything that the machine code of a kernel depends on.

The hash covers the code of the kernel and of the kernels that it calls, directly or not, the values of the
constants that they read, and the fields of the tuples that they take. It does not cover docstrings,
comments, annotations and code that the kernel does not reach, so an edit of those compiles nothing. It is a
module of its own because a wheel never loads it.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from .kernel import Intrinsic, Kernel, sources_of

Block = TypeVar("Block", ast.Module, ast.ClassDef, ast.FunctionDef)

TUPLE_CLASS = re.compile(r"<([\w.]+)>")
CONSTANTS = (bool, int, float, str, bytes, type(None), np.generic)


def fingerprint(kernel: Callable[..., Any], kinds: Iterable[str] = ()) -> str:
    """Return the hash of a kernel that is compiled for these kinds of arguments."""
    lines = {_fields(path) for kind in kinds for path in TUPLE_CLASS.findall(kind)}
    seen: set[Any] = set()
    waiting: list[Any] = [getattr(kernel, "py_func", kernel)]
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen.add(function)
            name = f"{function.__module__}:{function.__qualname__}"
            lines.add(f"{name} {_code(function)}")
            for used, value in _globals(function):
                lines.add(f"{name} {used} {_describe(value, function.__module__)}")
                waiting += [value.py_func] if isinstance(value, Kernel) else []
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _fields(path: str) -> str:
    """Return the fields of a class of tuples; an edited package may lack the class."""
    module, _, name = path.rpartition(".")
    try:
        return _class(getattr(import_module(module), name))
    except (ImportError, AttributeError):
        return f"{path} is missing"


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
    """Return what tells a value from others; for one that is not understood, all sources of its reader."""
    if isinstance(value, Kernel):
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
    if isinstance(value, FunctionType):  # its module says how it is compiled
        return f"{value.__qualname__} {_sources(_file(module))}"
    if isinstance(value, Intrinsic):
        return f"{value.name} {_sources(_file(value.module))}"
    return f"{type(value).__name__} {_sources(_file(reader))}"


def _class(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}{value._fields}"


def _file(module: str) -> Path:
    return Path(str(sys.modules[module].__file__))


def _code(function: FunctionType) -> str:
    """Return the code of a function as the compiler sees it."""
    return _functions(Path(function.__code__.co_filename))[function.__code__.co_firstlineno]


@cache
def _functions(file: Path) -> dict[int, str]:
    """Return the code of the functions of a file by the lines that they begin in."""
    functions = [node for node in ast.walk(_bare(file)) if isinstance(node, ast.FunctionDef)]
    return {
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): ast.unparse(node)
        for node in functions
    }


@cache
def _sources(file: Path) -> str:
    """Return a hash of a file and of all preflow modules that it imports, directly or not."""
    code = "".join(ast.unparse(_bare(source)) for source in sorted(sources_of(file)))
    return hashlib.sha256(code.encode()).hexdigest()


@cache
def _bare(file: Path) -> ast.Module:
    """Return the code of a file without docstrings and annotations."""
    tree: ast.Module = _Bare().visit(ast.parse(file.read_bytes()))
    return tree


class _Bare(ast.NodeTransformer):
    """Removes docstrings and the annotations of functions and variables."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Remove the docstring."""
        return self.without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Remove the docstring."""
        return self.without_docstring(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Remove the docstring and the type of the result."""
        node.returns = None
        return self.without_docstring(node)

    def without_docstring(self, node: Block) -> Block:
        """Return the node, visited, without its docstring."""
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Remove the type."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Remove the type, but where it declares a member of a class."""
        self.generic_visit(node)
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
