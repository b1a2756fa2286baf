"""Steps of every generator: check parameters, seed the random numbers, name the instance."""

from __future__ import annotations

import numpy as np
from numpy.random import PCG64, Generator

from ..checks import check_integer
from ..errors import CapacityOverflowError

INT64_MAX = int(np.iinfo(np.int64).max)


def check_capacity(name: str, value: int, factor: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least 1 and ``factor * value`` fits int64."""
    if not isinstance(value, int) or value <= INT64_MAX:
        value = check_integer(name, value)
    if factor * value > INT64_MAX:
        times = "" if factor == 1 else f" times {factor}"
        raise CapacityOverflowError(f"{name} {value}{times} does not fit int64")


def seeded(seed: int) -> Generator:
    """Return the random number generator that every family uses."""
    seed = check_integer("seed", seed, minimum=0)
    return Generator(PCG64(int(seed)))


def instance_name(family: str, size: str, seed: int | None, **unusual: tuple[object, object]) -> str:
    """Return a name such as ``"rmf-wide 64x16 seed 0"``; the seed is None in a family without random numbers.

    The name mentions a parameter ``name=(value, default)`` only where the two differ.
    """
    extras = [
        key.replace("_", "-") if value is True else f"{key.replace('_', '-')} {value}"
        for key, (value, default) in unusual.items()
        if not np.array_equal(np.asarray(value), np.asarray(default))
    ]
    ending = [] if seed is None else [f"seed {seed}"]
    return " ".join([family, size, *extras, *ending])
