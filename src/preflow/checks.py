"""Checks of parameters that many public functions share; they return the parameter as Python's own number."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import SupportsFloat, TypeVar, cast

import numpy as np

from .arrays import AnyArray, Array
from .errors import InvalidInputError, MissingDependencyError

Item = TypeVar("Item")


@contextmanager
def needed_for(feature: str, package: str, extra: str) -> Iterator[None]:
    """Import what only a feature needs; raise MissingDependencyError if it is not installed."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(feature, package, extra) from error


def check_integer(name: str, value: int, minimum: int = 1) -> int:
    """Return ``value`` as an int; raise InvalidInputError unless it is an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInputError(f"{name} must be an integer, got {shown(value)}")
    if value < minimum:
        raise InvalidInputError(f"{name} must be at least {minimum}, got {shown(value)}")
    if value > sys.maxsize:
        raise InvalidInputError(f"{name} must be at most {sys.maxsize}, got {shown(value)}")
    return int(value)


def check_number(name: str, value: float, minimum: float = 0.0) -> float:
    """Return ``value`` as a float; raise InvalidInputError unless it is finite and at least ``minimum``."""
    number = as_float(name, value)
    if not math.isfinite(number) or number < minimum:
        raise InvalidInputError(f"{name} must be finite and at least {minimum:g}, got {shown(value)}")
    return number


def check_positive(name: str, value: float) -> float:
    """Return ``value`` as a float; raise InvalidInputError unless it is positive; it may be infinite."""
    number = as_float(name, value, "a positive number")
    if not number > 0:
        raise InvalidInputError(f"{name} must be positive, got {shown(value)}")
    return number


def listed(values: Iterable[Item], name: str) -> list[Item]:
    """Return the items of an iterable; raise InvalidInputError if it is none."""
    try:
        return list(values)
    except TypeError:
        raise InvalidInputError(
            f"{name} must be a list, got {type(values).__name__}: {shown(values)}"
        ) from None


def check_word(name: str, value: str, words: Sequence[str]) -> str:
    """Return ``value``; raise InvalidInputError unless it is one of some words."""
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        raise InvalidInputError(f"{name} must be {', '.join(others)} or {last}, got {shown(value)}")
    return value


def as_float(name: str, value: object, what: str = "a number") -> float:
    """Return a number of Python or NumPy as a float; `what` is for the message.

    InvalidInputError: it is no number, or is past float64.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal | np.integer | np.floating):
        raise InvalidInputError(f"{name} must be {what}, got {shown(value)}")
    try:
        return float(cast("SupportsFloat", value))
    except (OverflowError, ValueError):
        raise InvalidInputError(f"{name} is past float64, got {shown(value)}") from None


def wrong_entry(message: str, entry: int | tuple[int, ...]) -> InvalidInputError:
    """Return the error for an entry of an array; the message ends with its place."""
    error = InvalidInputError(message if entry == () else f"{message} at {entry}")
    error.entry = entry
    return error


def first_of(wrong: AnyArray) -> int | tuple[int, ...]:
    """Return the place of the first true entry: a number where there is one dimension."""
    place = tuple(map(int, np.unravel_index(int(wrong.argmax()), wrong.shape)))
    return place[0] if len(place) == 1 else place


def check_finite(name: str, values: Array) -> None:
    """Raise InvalidInputError if an array has NaN or an infinite number: it says where."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        where = first_of(~np.isfinite(values))
        raise wrong_entry(f"{name} has values that are not finite: {values[where]}", where)


def shown(value: object) -> str:
    """Return a value for a message, which names digits of integers that are longer than Python prints."""
    try:
        text = repr(value)
    except ValueError:
        return "an integer of thousands of digits"
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


def unknown_name(what: str, name: str, known: Iterable[str], listed: str | None = None) -> InvalidInputError:
    """Return the error for a name that is not known; it suggests those that are near.

    A name is near if it is spelled alike, or if it has all of the words: "serial-dinic" is near "dinic".
    `listed` replaces the list of names in the message.
    """
    names = list(known)
    text = f"unknown {what} {name!r}{did_you_mean(name, names, 'there are')}"
    return InvalidInputError(f"{text}: {listed or ', '.join(names)}")


def did_you_mean(name: str, names: Sequence[str], following: str) -> str:
    """Return what goes on after a name that is none: the near ones, and the words that come next."""
    from difflib import get_close_matches

    asked = name.lower().replace("_", "-").replace(" ", "-")
    near = [each for each in dict.fromkeys(names) if f"-{asked}-" in f"-{each.lower().replace('_', '-')}-"]
    if not near:
        alike = {part: each for each in names for part in (each.lower(), each.lower().partition("-")[2])}
        near = [alike[part] for part in get_close_matches(asked, filter(None, alike), 1, 0.75)]
    hint = f", did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{hint} {following.capitalize()}" if near else f"; {following}"


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning that names the line which called the package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
