"""Options of solvers: checks that many classes of options share, and the class of methods without any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInputError

#: The largest integer that an option may be.
MOST = 2**31 - 1
#: More operations than any solve makes.
UNLIMITED = np.uint64(2**62)


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


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise InvalidInputError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"option {name} must be one of {', '.join(choices)}, got {value!r}")


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


def percent(fraction: float) -> int:
    """Return a fraction as kernels on a GPU take it: a whole number of hundredths."""
    return round(100 * fraction)


#: By how much epsilon is divided from one refine, or phase of an auction, to the next, at least.
LEAST_ALPHA = 1.5


def check_alpha(value: object) -> None:
    """Raise InvalidInputError unless `value` can divide epsilon."""
    check_number_between("alpha", value, LEAST_ALPHA, MOST)


def limit(amount: float) -> np.uint64:
    """Return an amount of work as kernels take it: a whole number from 1 to UNLIMITED."""
    return np.uint64(max(1, int(min(amount, float(UNLIMITED)))))
