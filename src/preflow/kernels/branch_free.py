"""Choices between two numbers without a branch, so that loops over arrays become vector instructions.

LLVM takes the minimum of floats by vector instructions only if it knows that NaN does not occur and that
the sign of zero does not matter. ``min`` and comparisons in Numba do not say so. And a loop that writes
either a new value or the old one becomes a masked store, which is slow on some CPUs; it is faster to add
the difference.
"""

from __future__ import annotations

from ..arrays import Number
from .overloads import numba_overloads

numba_overloads(__name__)

#: LLVM's flags: no operand is NaN, and the sign of zero does not matter.
FLAGS = ("nnan", "nsz")


def plus(a: Number, b: Number) -> Number:
    """Return the sum of two floats of one type; a loop may add up an array in any order."""
    return a + b


def smaller(a: Number, b: Number) -> Number:
    """Return the smaller of two numbers of one type, neither of them NaN; for the minimum of an array."""
    return a if a < b else b


def lowered(old: Number, new: Number) -> Number:
    """Return the smaller of two numbers of one type; for an array whose entries are lowered in place.

    The difference of integers must not overflow.
    """
    return new if new < old else old


def choose(condition: Number, a: Number, b: Number) -> Number:
    """Return `a` if the condition holds, else `b`; both have one type."""
    return a if condition else b
