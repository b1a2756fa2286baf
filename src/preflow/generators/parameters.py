"""Steps of every generator: check parameters, seed random numbers, choose at random, name the instance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from ..checks import check_integer
from ..errors import CapacityOverflowError, InvalidInputError

INT64_MAX = int(np.iinfo(np.int64).max)
#: Values drawn at a time, so that temporaries stay near 100 MB however large the result is.
BLOCK_VALUES = 1 << 22


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


def distinct_rows(rng: Generator, num_rows: int, row_length: int, population: int) -> NDArray[np.int64]:
    """Draw rows of distinct integers from ``0 .. population - 1``, uniformly and in random order.

    Repeated values are drawn again until none is left; which of the equal ones stays does not depend on the
    value, so every ordered choice is equally likely. Where a row takes more than half of the population, that
    would be slow, and the head of a shuffle is taken instead. O(k log k) a row of length k. InvalidInputError
    if `row_length` is larger than `population`.
    """
    if row_length > population:
        raise InvalidInputError(f"cannot choose {row_length} distinct vertices among {population}")
    rows = np.empty((num_rows, row_length), dtype=np.int64)
    shuffle = 2 * row_length > population
    block = max(1, BLOCK_VALUES // max(population if shuffle else row_length, 1))
    for start in range(0, num_rows, block):
        part = rows[start : start + block]
        if shuffle:
            everyone = np.broadcast_to(np.arange(population), (len(part), population))
            part[:] = rng.permuted(everyone, axis=1)[:, :row_length]
        else:
            part[:] = rng.integers(population, size=part.shape)
            _redraw_repeats(rng, part, population)
    return rows


def _redraw_repeats(rng: Generator, rows: NDArray[np.int64], population: int) -> None:
    """Replace, in place, every value that occurs earlier in its row."""
    position_bits = max(rows.shape[1] - 1, 0).bit_length()
    # Value and position in one sortable key; 32-bit keys sort twice as fast.
    key_dtype: Any = np.uint32 if population << position_bits <= 2**32 else np.uint64
    positions = np.arange(rows.shape[1], dtype=key_dtype)
    bits = key_dtype(position_bits)
    pending = np.arange(len(rows))
    while len(pending):
        keys = (rows[pending].astype(key_dtype) << bits) | positions
        keys.sort(axis=1)
        values = keys >> bits
        row, column = np.nonzero(values[:, 1:] == values[:, :-1])
        position = keys[row, column + 1] & key_dtype((1 << position_bits) - 1)
        rows[pending[row], position] = rng.integers(population, size=len(row))
        pending = pending[np.unique(row)]
