"""Kernels of every kind of argument and result, for tests of the library of compiled kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.kernels.kernel import kernel


class Inner(NamedTuple):
    """A tuple within a tuple."""

    values: NDArray[Any]
    factor: Any


class Outer(NamedTuple):
    """A tuple of arrays, numbers and a tuple."""

    inner: Inner
    flag: Any
    nothing: None


@kernel
def scalar(x: Any) -> Any:
    """Return a number."""
    return x


@kernel
def first(values: Any) -> Any:
    """Return the first entry of an array of one dimension, its length and its number of bytes."""
    return values[0], len(values), values.itemsize


@kernel
def corner(values: Any) -> Any:
    """Return an entry of an array of two dimensions, which depends on its strides."""
    return values[1, 2], values.shape


@kernel
def members(outer: Any, pair: Any) -> Any:
    """Return what is in tuples."""
    return outer.inner.values[1] * outer.inner.factor, outer.flag, pair[0], (pair[1][0], None)


@kernel
def fill(values: Any, x: Any) -> None:
    """Write into an array."""
    for i in range(len(values)):
        values[i] = x


@kernel
def widen(values: Any) -> Any:
    """Return the sum of an empty array or of one with entries."""
    total = np.int64(0)
    for i in range(len(values)):
        total += np.int64(values[i])
    return total
