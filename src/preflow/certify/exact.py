"""Sums of products of integers, exact where int64 would wrap."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..graph.network import INT64_MAX

#: Bits of a word of :func:`exact_dot`.
WORD = 21


def exact_dot(first: Array, second: Array) -> int | float:
    """Return the sum of products: exact for int64, in extended precision for floats.

    Examples
    --------
    >>> exact_dot(np.array([2**62, 1]), np.array([2**61, 3])) == 2**123 + 3
    True
    """
    if not len(first):
        return 0
    if first.dtype.kind == "f" or second.dtype.kind == "f":
        return float((first.astype(np.longdouble) * second.astype(np.longdouble)).sum())
    largest = [max(abs(int(values.max())), abs(int(values.min()))) for values in (first, second)]
    if largest[0] * largest[1] * len(first) <= INT64_MAX:
        return int(np.dot(first, second))
    total = 0
    for i, left in enumerate(exact_words(first)):
        for j, right in enumerate(exact_words(second)):
            # 2**20 products of two words of 21 bits sum to less than 2**62.
            for begin in range(0, len(first), 2**20):
                part = slice(begin, begin + 2**20)
                total += int(np.dot(left[part], right[part])) << WORD * (i + j)
    return total


def exact_words(values: Array) -> list[Array]:
    """Split int64 into three words: value = w0 + w1 * 2**21 + w2 * 2**42, where only w2 may be negative."""
    mask = 2**WORD - 1
    return [values & mask, values >> WORD & mask, values >> 2 * WORD]
