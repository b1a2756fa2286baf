"""The declared kinds of arguments are all that callers may pass: mypy checks callers against annotations."""

from __future__ import annotations

import types as python_types
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from preflow.kernels.kinds import accepts, declared, types_of

pytest.importorskip("numba")

from numba import types
from numba.np.numpy_support import as_dtype


@cache
def kinds() -> dict[str, list[tuple[Any, ...]]]:
    """Return the types of the arguments of each kernel, for each kind."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, kind, _ in declared():
        found.setdefault(name, []).append(tuple(types_of(kind)))
    return found


@cache
def hints(owner: Any) -> dict[str, Any]:
    """Return the annotations of a function or class; some name tuples that only mypy imports."""
    tuples = {kind.instance_class.__name__: kind.instance_class for kind in _tuples(kinds().get(owner, []))}
    if isinstance(owner, str):
        module, _, name = owner.partition(":")
        kernel = getattr(import_module(module), name)
        owner = getattr(kernel, "py_func", kernel)
    found = get_type_hints(owner, localns=tuples)
    return {name: found[name] for name in getattr(owner, "_fields", None) or signature(owner).parameters}


def _tuples(values: Any) -> Iterator[Any]:
    for each in values:
        if isinstance(each, types.BaseNamedTuple):
            yield each
        if isinstance(each, tuple | types.BaseTuple):
            yield from _tuples(each)


def fits(annotation: Any, kind: Any) -> bool:
    """Return whether a value of a type of Numba has the type of an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if hasattr(origin, "__value__"):  # NDArray of NumPy 2.5 is an alias of the language
        return fits(origin.__value__[arguments], kind)
    if annotation is Any or isinstance(annotation, TypeVar):
        return True
    if origin in (Union, python_types.UnionType):
        return any(fits(each, kind) for each in arguments)
    if isinstance(kind, types.BaseNamedTuple):
        members = zip(hints(annotation).values(), kind.types, strict=True)
        return kind.instance_class is annotation and all(fits(*member) for member in members)
    if isinstance(kind, types.BaseTuple):
        return origin is tuple and all(map(fits, arguments, kind.types))
    if isinstance(kind, types.Array):
        return origin is np.ndarray and fits(get_args(arguments[1])[0], kind.dtype)
    if kind == types.none:
        return annotation is python_types.NoneType
    same = {bool: np.bool_, int: np.integer, float: np.floating}.get(annotation, origin or annotation)
    return issubclass(as_dtype(kind).type, same)


@pytest.mark.parametrize("kernel", kinds())
def test_every_kind_fits_the_annotations(kernel: str) -> None:
    for arguments in kinds()[kernel]:
        for (name, annotation), kind in zip(hints(kernel).items(), arguments, strict=True):
            assert fits(annotation, kind), (name, annotation, kind)


def test_no_kind_is_declared_twice() -> None:
    found = [(name, kind) for name, kind, _ in declared()]
    assert len(found) == len(set(found))


def test_a_read_only_array_stands_for_one_that_may_be_written() -> None:
    assert accepts("1cIq1Cd", "1cIq1Cd")
    assert accepts("1cIq1Cd", "1CIq1Cd")
    assert not accepts("1cIq1Cd", "1cIq1cd")
    assert not accepts("1cIq", "1cIq1Cd")
