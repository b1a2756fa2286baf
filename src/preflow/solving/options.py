"""Options of solvers: checks that many classes of options share, and the class of methods without any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import InvalidInputError

#: The largest integer that an option may be.
MOST = 2**31 - 1
#: More operations than any solve makes.
UNLIMITED = np.uint64(2**62)
#: A function that raises InvalidInputError unless the option of some name may have some value.
Check: TypeAlias = Callable[[str, object], None]


@dataclass(frozen=True)
class NoOptions:
    """The method has no options."""


def name_and_value(text: str) -> tuple[str, Any]:
    """Return the option of a method that is written NAME=VALUE.

    InvalidInputError: it is written otherwise.

    Examples
    --------
    >>> name_and_value("shrink=False"), name_and_value("global_relabel=adaptive:0.3")
    (('shrink', False), ('global_relabel', ('adaptive', 0.3)))
    """
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InvalidInputError(f"an option must be written NAME=VALUE, got {text!r}")
    parts = [_value(part) for part in value.split(":")]
    return name, tuple(parts) if len(parts) > 1 else parts[0]


def _value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def check_flag(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"option {name} must be True or False, got {value!r}")


def check_choice(name: str, value: object, choices: tuple[str | int, ...]) -> None:
    """Raise InvalidInputError unless `value` is one of `choices`."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value not in choices:
        raise InvalidInputError(f"option {name} must be one of {', '.join(map(str, choices))}, got {value!r}")


def check_positive_integer(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is a positive int, at most MOST."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        raise InvalidInputError(f"option {name} must be an integer of 1 to {MOST}, got {value!r}")


def check_count(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is an int that is not negative, at most MOST."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise InvalidInputError(f"option {name} must be an integer of 0 to {MOST}, got {value!r}")


def check_positive_number(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is a positive number, not infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
        raise InvalidInputError(f"option {name} must be a positive number, got {value!r}")


def check_budget(value: object) -> None:
    """Raise InvalidInputError unless `value` may be the budget of an attempt: see :mod:`.plan`."""
    if value is not None and value != np.inf:
        check_positive_number("budget", value)


def check_number_between(name: str, value: object, least: float, most: float) -> None:
    """Raise InvalidInputError unless `value` is a number from `least` to `most`."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        raise InvalidInputError(f"option {name} must be a number of {least} to {most}, got {value!r}")


def between(least: float, most: float) -> Check:
    """Return the check of a number from `least` to `most`."""
    return partial(check_number_between, least=least, most=most)


#: Types of options. One that may also be None has the type ``PositiveInteger | None``.
PositiveInteger: TypeAlias = Annotated[int, check_positive_integer]
NonNegativeInteger: TypeAlias = Annotated[int, check_count]
PositiveNumber: TypeAlias = Annotated[float, check_positive_number]
#: By how much epsilon is divided from one refine, or phase of an auction, to the next.
Alpha: TypeAlias = Annotated[float, between(1.5, MOST)]
#: Threads of a GPU that read one list together.
#: Labels of push-relabel at first: exact distances to the sink, or 0 as the papers print it.
InitialLabels: TypeAlias = Literal["exact", "zero"]
Lanes: TypeAlias = Literal[1, 2, 4, 8, 16, 32]


def _check_of(hint: Any) -> Check | None:
    """Return the check that belongs to the type of an option, if any."""
    if hint is bool:
        return check_flag
    if get_origin(hint) is Annotated:
        found: Check = hint.__metadata__[0]
        return found
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return partial(check_choice, choices=parts)
    if NoneType not in parts or len(parts) != 2:
        return None
    check = _check_of(parts[parts[0] is NoneType])
    return None if check is None else lambda name, value: None if value is None else check(name, value)


@dataclass(frozen=True)
class CheckedOptions:
    """The base of options: their types say what they may be, and each instance is checked."""

    def __post_init__(self) -> None:
        for name, check in self._checks():
            check(name, getattr(self, name))

    @classmethod
    @cache
    def _checks(cls) -> list[tuple[str, Check]]:
        """Return the checks of the options, by their names."""
        hints = get_type_hints(cls, include_extras=True)
        checks = ((option.name, _check_of(hints[option.name])) for option in fields(cls))
        return [(name, check) for name, check in checks if check is not None]


def percent(fraction: float) -> int:
    """Return a fraction as kernels on a GPU take it: a whole number of hundredths."""
    return round(100 * fraction)


def limit(amount: float) -> np.uint64:
    """Return an amount of work as kernels take it: a whole number from 1 to UNLIMITED."""
    return np.uint64(max(1, int(min(amount, float(UNLIMITED)))))
