"""Choices between two numbers without a branch, so that loops over arrays run on vectors.

LLVM takes the minimum of floats by vectors only where it is told that NaN does not occur and that either zero
will do; ``min`` and comparisons in Numba do not say so. And where what is written is either new or what was
there, it makes a masked store, which takes some CPUs many steps: to add what changes is faster.
"""

from __future__ import annotations

from typing import Any

from .kernel import numba_overloads

numba_overloads(__name__)

#: What holds for the numbers that are compared.
FLAGS = ("nnan", "nsz")


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers of one type, neither of them NaN: for the minimum of many."""
    return a if a < b else b


def lowered(old: Any, new: Any) -> Any:
    """Return the smaller of two numbers of one type: for an array whose numbers are lowered.

    The difference of integers must fit.
    """
    return new if new < old else old


def choose(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds, else `b`, which is of the same type."""
    return a if condition else b
