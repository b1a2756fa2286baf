"""The smaller of two numbers, so that a loop which takes the minimum of many runs on vectors.

LLVM takes the minimum of floats by vectors only where it is told that NaN does not occur and that either zero
will do; ``min`` and comparisons in Numba do not say so.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

#: What holds for the numbers that are compared.
FLAGS = ("nnan", "nsz")


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers of one type, neither of them NaN."""
    return a if a < b else b


@intrinsic
def _smaller_float(typing_context: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other = arguments
        less = builder.fcmp_ordered("<", one, other, flags=FLAGS)
        return builder.select(less, one, other, flags=FLAGS)

    return a(a, b), generate


def _implementation(a, b):  # type: ignore[no-untyped-def]  # Numba compares signatures, annotations included
    if a == b and isinstance(a, types.Float):
        return lambda a, b: _smaller_float(a, b)
    if a == b and isinstance(a, types.Integer):
        return lambda a, b: a if a < b else b
    return None


overload(smaller)(_implementation)
