"""Checks that the option classes of several maximum-flow solvers share."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..errors import InvalidInputError

RelabelRule = Literal["relabels", "work"]

#: The largest integer that an option may be.
MOST = 2**31 - 1
UNLIMITED = np.uint64(2**62)


def check_flag(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"option {name} is True or False, got {value!r}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise InvalidInputError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"option {name} is one of {', '.join(choices)}, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is a positive int, at most MOST."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        raise InvalidInputError(f"option {name} is an integer of 1 to {MOST}, got {value!r}")


def check_count(name: str, value: object) -> None:
    """Raise InvalidInputError unless `value` is an int that is not negative, at most MOST."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise InvalidInputError(f"option {name} is an integer of 0 to {MOST}, got {value!r}")


def check_relabel_rule(rule: object, period: object) -> None:
    """Check when a global relabel is due: which quantity is counted, and how much of it."""
    check_choice("relabel_rule", rule, ("relabels", "work"))
    if isinstance(period, bool) or not isinstance(period, int | float) or not 0 < period < np.inf:
        raise InvalidInputError(f"option relabel_period is a positive number, got {period!r}")


def relabel_limits(rule: str, period: float, num_vertices: int, num_arcs: int) -> tuple[Any, Any]:
    """Return after how many relabels, and after how much work, a global relabel is due.

    The rule "relabels" counts ``period * n`` relabels (F_PRF, Q_PRF, M_PRF, H_PRF, Cihan), the rule
    "work" ``period * (6 n + m)`` arc scans and relabels weighted as in the HI_PR codes.
    """
    if rule == "relabels":
        return _limit(period * num_vertices), UNLIMITED
    return UNLIMITED, _limit(period * (6 * num_vertices + num_arcs))


def _limit(amount: float) -> Any:
    return np.uint64(max(1, int(min(amount, float(UNLIMITED)))))
