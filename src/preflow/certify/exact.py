"""Sums and products of numbers, exact where int64 would wrap or float64 lose what is small."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import VerificationError
from ..graph.network import EXACT_FLOAT, INT64_MAX, exact_sum, largest_size

#: Bits of a word of :func:`exact_dot`.
WORD = 21
#: Float64 represents two to the power of this, and of minus this.
LARGEST_POWER = 1000
#: Products are scaled to the largest one; floats hold the halves of those that are smaller by this power.
FARTHEST = 900
#: The largest power of :func:`as_integers`: mantissas have 53 bits, and the least float is 2**-1074.
MOST_EXPONENT = 1074 + 53
#: Up to this number, floats are summed by :func:`math.fsum`; more are added in pairs first.
FEW_FLOATS = 1024


def accurate_sum(*parts: Array) -> float:
    """Return the sum of floats as if it were rounded once; infinite where it is past float64.

    Numbers are added in pairs, and the rounding error of each addition is summed, too (Ogita, Rump and Oishi,
    "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005). Beside the last rounding the error is
    below ``2**-90`` of the sum of absolute values.

    Examples
    --------
    >>> accurate_sum(np.array([1e16, 0.5, -1e16]), np.array([0.25]))
    0.75
    """
    left: list[float] = []
    for values in parts:
        values = values.ravel().astype(np.float64, copy=False)
        while values.size > FEW_FLOATS:
            half = values.size // 2
            with np.errstate(over="ignore", invalid="ignore"):
                total, error = two_sum(values[:half], values[half : 2 * half])
                left.append(float(error.sum()))
            values = np.append(total, values[2 * half :])
        left += values.tolist()
    try:
        found = math.fsum(left)
    except (OverflowError, ValueError):
        found = math.nan
    if math.isfinite(found):
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        if not all(np.isfinite(values).all() for values in parts):
            return float(sum(values.sum(dtype=np.float64) for values in parts))
        return accurate_sum(*(np.ldexp(values.astype(np.float64), -64) for values in parts)) * 2.0**64


def two_sum(first: Array, second: Array) -> tuple[Array, Array]:
    """Return sums of floats and their rounding errors, exactly (Knuth)."""
    total = first + second
    back = total - first
    return total, first - (total - back) + (second - back)


def accurate_sums(group: NDArray[np.int64], values: Array, num_groups: int) -> NDArray[np.float64]:
    """Return the sum of the floats of each group, each like :func:`accurate_sum`, without overflow.

    Examples
    --------
    >>> accurate_sums(np.array([0, 1, 0, 0]), np.array([1e16, 2, 0.5, -1e16]), 3).tolist()
    [0.5, 2.0, 0.0]
    """
    order = np.argsort(group, kind="stable")
    group, values = group[order], values[order]
    errors: NDArray[np.float64] = np.zeros(num_groups)
    while len(group):
        same = np.append(group[1:] == group[:-1], False)
        position = np.arange(len(group)) - np.searchsorted(group, group)
        first = np.flatnonzero(same & (position % 2 == 0))
        if not len(first):
            break
        values[first], error = two_sum(values[first], values[first + 1])
        errors += np.bincount(group[first], error, num_groups)
        keep = np.ones(len(group), dtype=np.bool_)
        keep[first + 1] = False
        group, values = group[keep], values[keep]
    errors[group] += values
    return errors


def exact_dot(first: Array, second: Array) -> int | float:
    """Return the sum of products of finite numbers: exact for int64, for floats rounded correctly.

    Examples
    --------
    >>> exact_dot(np.array([2**62, 1]), np.array([2**61, 3])) == 2**123 + 3
    True
    >>> exact_dot(np.array([1e16, 0.1, -1e16]), np.array([3.0, 3.0, 3.0]))
    0.30000000000000004
    """
    if first.dtype.kind == "f" or second.dtype.kind == "f":
        return rounded_dots((first, second))[0]
    if not len(first):
        return 0
    largest = [largest_size(values) for values in (first, second)]
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


def rounded_dots(*pairs: tuple[Array, Array]) -> tuple[float, float]:
    """Return the sum of all products of finite numbers as one float, correctly rounded, and what it lacks.

    Terms may cancel and be of any size: a product is split into two floats without error (Dekker, "A
    floating-point technique for extending the available precision", 1971), and :func:`math.fsum` adds them.
    Where a product is below ``2**-900`` of the largest one, Python's integers do. The sum may be infinite.

    Examples
    --------
    >>> rounded_dots((np.array([1e99, 0.1, 1e99]), np.array([1e99, 3.0, -1e99])))
    (0.30000000000000004, -2.7755575615628914e-17)
    >>> rounded_dots((np.array([2**60 + 1, -(2**60)]), np.array([0.75, 0.75])))
    (0.75, 0.0)
    """
    products, lost, powers = [], [], []
    for first, second in pairs:
        used = np.flatnonzero((first != 0) & (second != 0))
        for one in _as_floats(first[used]):
            for other in _as_floats(second[used]):
                (a, i), (b, k) = np.frexp(one), np.frexp(other)
                product = a * b
                (above, below), (high, low) = _halves(a), _halves(b)
                products.append(product)
                lost.append(((above * high - product) + above * low + below * high) + below * low)
                powers.append(i + k)
    common = max((int(power.max(initial=-5000)) for power in powers), default=0)
    if common - min((int(power.min(initial=common)) for power in powers), default=common) > FARTHEST:
        return _exact_dots(*pairs)
    terms: list[float] = []
    for parts in (products, lost):
        for values, power in zip(parts, powers, strict=True):
            terms += np.ldexp(values, power - common).tolist()
    total = math.fsum(terms)
    terms.append(-total)
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(total, common)), float(np.ldexp(math.fsum(terms), common))


def _exact_dots(*pairs: tuple[Array, Array]) -> tuple[float, float]:
    total = Fraction(0)
    for first, second in pairs:
        used = np.flatnonzero((first != 0) & (second != 0))
        (one, other), exponent = as_integers(first[used], second[used])
        total += Fraction(int((one * other).sum())) / Fraction(4) ** exponent
    near = float_near(total)
    return near, float_near(total - Fraction(near)) if math.isfinite(near) else 0.0


def _as_floats(values: Array) -> list[NDArray[np.float64]]:
    """Return arrays of floats whose sum is exactly the array: two where integers need them."""
    floats = values.astype(np.float64)
    if values.dtype.kind == "f" or float(np.abs(floats).max(initial=0)) < EXACT_FLOAT:
        return [floats]
    high = (values >> 32).astype(np.float64) * 2.0**32
    return [high, (values & (2**32 - 1)).astype(np.float64)]


def _halves(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split floats of at most 1 in size into two with 26 bits each."""
    scaled = values * (2.0**27 + 1)
    high = scaled - (scaled - values)
    return high, values - high


def exact_words(values: Array) -> list[Array]:
    """Split int64 into three words: value = w0 + w1 * 2**21 + w2 * 2**42, where only w2 may be negative."""
    mask = 2**WORD - 1
    return [values & mask, values >> WORD & mask, values >> 2 * WORD]


def scaled_exactly(values: Array, exponent: int | None) -> NDArray[np.int64] | None:
    """Return values times two to `exponent` (None: 0) as integers; None unless all are some, below 2**62.

    Examples
    --------
    >>> scaled_exactly(np.array([0.25, 3]), 2)
    array([ 1, 12])
    >>> scaled_exactly(np.array([0.1]), 50) is None and scaled_exactly(np.array([1e-300]), -900) is None
    True
    """
    if values.dtype.kind == "i":
        return values.astype(np.int64, copy=False) if not exponent else None
    with np.errstate(over="ignore", under="ignore"):
        given = values.astype(np.float64, copy=False)
        scaled = np.rint(np.ldexp(given, exponent or 0))
        same = np.ldexp(scaled, -(exponent or 0)) == given  # not if the product is rounded to zero
    return scaled.astype(np.int64) if same.all() and (np.abs(scaled) < 2.0**62).all() else None


def as_integers(*parts: Array) -> tuple[list[NDArray[np.object_]], int]:
    """Return finite numbers as Python integers, all times two to the same power, and the power.

    Sums, differences and products of the integers are exact, at about a hundred times the time of floats.
    It is for gaps that float64 cannot prove, and for oracles.

    Examples
    --------
    >>> (cost, flow), exponent = as_integers(np.array([0.75, 1e300]), np.array([2, 0]))
    >>> Fraction(int((cost * flow).sum()), 4**exponent) == Fraction(3, 2)
    True
    """
    split = []
    for values in parts:
        if values.dtype.kind != "f":
            split.append((values.astype(object), np.zeros(len(values), dtype=np.int64)))
            continue
        mantissa, power = np.frexp(values.astype(np.float64))
        split.append((np.ldexp(mantissa, 53).astype(np.int64).astype(object), power.astype(np.int64) - 53))
    lowest = [int(power[whole != 0].min(initial=0)) for whole, power in split]
    exponent = -min(lowest, default=0)
    # Where a number is zero, its power may be below the lowest one.
    return [
        np.left_shift(whole, np.maximum(power + exponent, 0).astype(object)) for whole, power in split
    ], exponent


def exact_total(values: Array) -> Fraction:
    """Return the sum of finite numbers, exactly: in a few passes where floats are not too far apart.

    Examples
    --------
    >>> exact_total(np.array([1e300, 0.75, -1e300, 5e-324])) - Fraction(3, 4) == Fraction(5e-324)
    True
    """
    if values.dtype.kind != "f":
        return Fraction(int(exact_sum(values)))
    terms: list[float] = values.tolist()
    total = Fraction(0)
    try:
        # Each pass returns the sum of what is left, rounded once.
        while part := math.fsum(terms):
            total += Fraction(part)
            terms.append(-part)
    except OverflowError:
        (whole,), exponent = as_integers(values)
        return Fraction(int(whole.sum())) / Fraction(2) ** exponent
    return total


def float_near(number: Fraction) -> float:
    """Return the nearest float, infinite past the largest one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def near_and_gap(total: Fraction, bound: Fraction) -> tuple[float, float]:
    """Return the nearest float of the value of an answer, and how far that may be from the best value.

    The best value is between `total`, which is exact, and `bound`.

    Examples
    --------
    >>> near_and_gap(Fraction(3), Fraction(5)), near_and_gap(Fraction(10**400), Fraction(0))
    ((3.0, 2.0), (inf, inf))
    """
    near = float_near(total)
    if math.isinf(near):
        return near, math.inf
    numbers = bound, total, Fraction(near)
    return near, rounded_up(max(numbers) - min(numbers))


def power_above(number: Fraction) -> int:
    """Return an exponent: two to this power is more than a positive number, and less than four times it.

    Examples
    --------
    >>> power_above(Fraction(1)), power_above(Fraction(3, 16))
    (1, -2)
    """
    return number.numerator.bit_length() - number.denominator.bit_length() + 1


def whole_and_rest(
    amounts: Array, exponent: int, rounded: Callable[[Array], Array] = np.rint
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return floats times two to a power as integers, and what `rounded` left of each float, exactly.

    Examples
    --------
    >>> whole_and_rest(np.array([0.75, 5e-324]), 1)
    (array([2, 0]), array([-2.5e-001,  4.9e-324]))
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(amounts, exponent)
        whole = rounded(scaled)
        rest = np.where(whole == 0, amounts, np.ldexp(scaled - whole, -exponent))
    return whole.astype(np.int64), rest


def most_bits(whole: NDArray[np.int64], unit: int, rest: NDArray[np.float64]) -> int:
    """Return an exponent: no integer in units of two to the power -`unit`, and no rest, is larger.

    None of them is negative.
    """
    bits = int(whole.max(initial=0)).bit_length() - unit
    largest = float(rest.max(initial=0.0))
    return max(bits, math.frexp(largest)[1]) if largest > 0 else bits


def rounded_down(number: Fraction) -> float:
    """Return the largest float that is not above a number, minus infinity where none is."""
    return -rounded_up(-number)


def rounded_up(number: Fraction) -> float:
    """Return the least float that is not below a number, infinite where all are.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3), rounded_up(Fraction(10) ** 400)
    (True, inf)
    """
    near = float_near(number)
    return near if near >= number else math.nextafter(near, math.inf)


class ExactPrices(NamedTuple):
    """Prices of rows and columns as Python integers, times two to a power: float64 is not precise enough."""

    #: u, v: Python integers, shapes (n,) and (m,)
    u: NDArray[np.object_]
    v: NDArray[np.object_]
    exponent: int

    def scaled_to(self, exponent: int) -> ExactPrices:
        """Return the same prices times two to a power that is no smaller."""
        more = exponent - self.exponent
        return ExactPrices(self.u << more, self.v << more, exponent)

    def are_rounded(self, u: Array, v: Array) -> bool:
        """Return whether floats are these prices, each rounded once."""
        pairs = ((self.u, u), (self.v, v))
        return all(np.array_equal(as_floats(exact, self.exponent), given) for exact, given in pairs)


def check_integers(name: str, exponent: object, *parts: tuple[object, int]) -> None:
    """Raise VerificationError unless each part has its number of integers, and the power is in range."""
    if type(exponent) is not int or not 0 <= exponent <= MOST_EXPONENT:
        raise VerificationError(f"{name} have no power of two, but {exponent!r}")
    for values, size in parts:
        if not isinstance(values, np.ndarray) or values.shape != (size,) or values.dtype != object:
            raise VerificationError(f"{name} are no array of {size} integers")
        if not all(type(value) is int for value in values.tolist()):
            raise VerificationError(f"{name} are not all integers of Python")


def as_floats(whole: NDArray[np.object_], exponent: int) -> NDArray[np.float64]:
    """Return integers divided by two to `exponent`, each rounded once; infinite past float64.

    Examples
    --------
    >>> as_floats(np.array([3, -(2**2000)], dtype=object), 1).tolist()
    [1.5, -inf]
    """
    return quotients(whole << max(-exponent, 0), np.full(len(whole), 1 << max(exponent, 0), dtype=object))


def quotients(numerator: Array, denominator: Array) -> NDArray[np.float64]:
    """Return quotients of integers, each rounded once; infinite past float64.

    Examples
    --------
    >>> quotients(np.array([1, 10**400], dtype=object), np.array([3, 7], dtype=object)).tolist()
    [0.3333333333333333, inf]
    """

    def quotient(value: int, divisor: int) -> float:
        try:
            return value / divisor
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    values = map(quotient, numerator.tolist(), denominator.tolist())
    return np.fromiter(values, dtype=np.float64, count=len(numerator))


def times_powers(values: Array, exponents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each row of a matrix times two to its power, as np.ldexp does in ten times the time.

    Examples
    --------
    >>> times_powers(np.array([[3, 5], [1, 2]]), np.array([-1, 1])).tolist()
    [[1.5, 2.5], [2.0, 4.0]]
    """
    rows, powers = values.astype(np.float64, copy=False), exponents[:, None]
    if np.abs(exponents).max(initial=0) <= LARGEST_POWER:
        return rows * np.ldexp(1.0, powers)
    found: NDArray[np.float64] = np.ldexp(rows, powers)
    return found
