"""What every generator does with its parameters: check them, seed the random numbers, name the instance."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import PCG64, Generator

from ..errors import CapacityOverflowError, InvalidInputError

INT64_MAX = int(np.iinfo(np.int64).max)


def check_integer(name: str, value: int, minimum: int = 1) -> None:
    """Raise InvalidInputError unless ``value`` is an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInputError(f"{name} is an integer, got {value!r}")
    if value < minimum:
        raise InvalidInputError(f"{name} is at least {minimum}, got {value}")


def check_number(name: str, value: float, minimum: float = 0.0) -> None:
    """Raise InvalidInputError unless ``value`` is a finite number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInputError(f"{name} is a number, got {value!r}")
    if not math.isfinite(value) or value < minimum:
        raise InvalidInputError(f"{name} is finite and at least {minimum:g}, got {value}")


def check_positive(name: str, value: float) -> None:
    """Raise InvalidInputError unless ``value`` is a positive number, which may be infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInputError(f"{name} is a positive number, got {value!r}")
    if not value > 0:
        raise InvalidInputError(f"{name} is positive, got {value}")


def check_capacity(name: str, value: int, factor: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least 1 and ``factor * value`` fits int64."""
    check_integer(name, value)
    if int(factor) * int(value) > INT64_MAX:
        times = "" if factor == 1 else f" times {factor}"
        raise CapacityOverflowError(f"{name} {value}{times} does not fit int64")


def seeded(seed: int) -> Generator:
    """Return the random number generator that every family uses."""
    check_integer("seed", seed, minimum=0)
    return Generator(PCG64(int(seed)))


def instance_name(family: str, size: str, seed: int | None, **unusual: tuple[object, object]) -> str:
    """Return a name such as ``"rmf-wide 64x16 seed 0"``.

    Parameters
    ----------
    family, size : str
    seed : int or None
        None for a family without random numbers.
    **unusual : (value, default)
        Parameters that the name mentions only where they differ from their default.
    """
    extras = [
        key.replace("_", "-") if value is True else f"{key.replace('_', '-')} {value}"
        for key, (value, default) in unusual.items()
        if value != default
    ]
    ending = [] if seed is None else [f"seed {seed}"]
    return " ".join([family, size, *extras, *ending])
