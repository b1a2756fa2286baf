"""Checks of parameters that many public functions share."""

from __future__ import annotations

import math

import numpy as np

from .errors import InvalidInputError


def check_integer(name: str, value: int, minimum: int = 1) -> None:
    """Raise InvalidInputError unless ``value`` is an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInputError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise InvalidInputError(f"{name} must be at least {minimum}, got {value}")


def check_number(name: str, value: float, minimum: float = 0.0) -> None:
    """Raise InvalidInputError unless ``value`` is a finite number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInputError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value) or value < minimum:
        raise InvalidInputError(f"{name} must be finite and at least {minimum:g}, got {value}")


def check_positive(name: str, value: float) -> None:
    """Raise InvalidInputError unless ``value`` is a positive number, which may be infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInputError(f"{name} must be a positive number, got {value!r}")
    if not value > 0:
        raise InvalidInputError(f"{name} must be positive, got {value}")
