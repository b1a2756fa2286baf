"""How capacities and costs become the integers that solvers work on, and what that can change.

Integers whose sums fit int64 are solved unchanged. All other capacities are *rounded*: capacity ``c`` becomes
``floor(min(c, limit) * 2**exponent)``, where no flow exceeds ``limit``. The first solve takes the limit from
the input; the cut that it finds is a better limit for the next solve.

Every solve proves two bounds, whatever its limit and its exponent:

- No capacity was rounded up, so the flow that was found is a flow of the given network: its value ``lower``
  is at most the optimum.
- The cut that was found is a cut of the given network: its capacity ``upper``, the sum of the given
  capacities, is at least the optimum.

Their difference is the *gap*. Its size: where no flow exceeds the limit, no minimum cut of the rounded
capacities has an arc that was cut off (such an arc alone costs more than the flow). Each of the ``k`` arcs
across the cut lost less than ``2**-exponent`` to rounding, so ``upper - lower < k * 2**-exponent``. The
exponent is chosen so that the sum of the rounded capacities fills 61 bits. For a network this is the sum of
all ``m`` capacities, each at most ``limit``, so the gap is below ``k * m * 2**-60 * limit``. For a grid it is
the sum at one pixel with ``d`` neighbours, so the gap is below ``k * d * 2**-58 * limit``. A solve is
repeated with ``upper`` as limit until the gap is at most :func:`accepted_gap`, or until a repetition would
gain nothing. A network with many arcs that are larger than its minimum cut is then solved with *finer*
integers: only the capacities at the terminals, and of each pair of opposite arcs, sum to less than 62 bits.

Costs are rounded in the same way, relative to a limit, and :func:`solve_costs` repeats the solve relative to
the largest cost that the answer uses. What it needs is weaker than a limit that is right: an answer that uses
no cost that was cut off is optimal for the costs as given, up to rounding, whatever the limit. For raising a
cost that an optimal answer does not use leaves it optimal.

Which gap is small enough to call an answer optimal is one rule for all problems, :func:`is_close`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, ArrayModule, Number
from ..errors import CapacityOverflowError
from .network import EXACT_FLOAT

#: Relative error of :func:`float_sum`: three or four levels of sums of 256 numbers, each with an error of 255
#: * 2**-53.
SUM_ERROR = 2.0**-43
#: Numbers that are added one after the other.
SUM_LENGTH = 256
#: A limit of costs that was too low is raised by this factor; the next time by its square.
LIMIT_STEP = 16.0
#: A limit of costs falls to this fraction at least. Costs have 48 bits or fewer.
LEAST_STEP = 2.0**-40
#: Capacities that are scaled are cut off here, where they fit int64. Only those of no arc are so large.
MOST_SCALED = 2.0**62
#: A limit is larger by this factor than the sum it was computed from: more than rounding takes from any such
#: sum.
MARGIN = 1 + 2.0**-20


class Rule(NamedTuple):
    """How one solve turns capacities into integers."""

    #: capacity of a known cut, at which capacities are cut off; None where none is known
    bound: int | float | None = None
    rounded: bool = False  #: whether integers are rounded, too, because their sums do not fit int64
    finer: bool = False  #: whether the sum of all capacities may pass int64


#: Integers unchanged.
EXACT = Rule()


class Outcome(Protocol):
    """The result of one solve."""

    @property
    def finished(self) -> bool:
        """Whether flow and cut are optimal for the integers that were solved."""

    @property
    def scale_exponent(self) -> int | None:
        """Capacities were multiplied by two to this power and rounded; None where they were exact."""

    @property
    def limit(self) -> float:
        """The limit at which capacities were cut off."""

    @property
    def lower(self) -> int | float:
        """The value of the flow."""

    @property
    def upper(self) -> int | float:
        """The capacity of the cut, the sum of the given capacities."""

    @property
    def size(self) -> int | float:
        """The sum of the absolute values of the terms of `upper`."""


Found = TypeVar("Found", bound=Outcome)


def solve_within_gap(
    solve: Callable[[Rule], Found],
    *,
    is_float: bool,
    accepted: float,
    coarse: float = np.inf,
    has_finer: bool = False,
) -> Found:
    """Solve, and repeat relative to the cut found, until the gap is small enough.

    `solve` solves by a rule; it raises CapacityOverflowError where integers sum past int64. Integers that are
    rounded, not `is_float`, are solved once; the caller recovers what rounding lost. `accepted` is the gap
    that is accepted for floats, relative to the cut. A limit is too coarse in any case if it exceeds the cut
    by more than the factor `coarse`. `has_finer` says that there are finer integers for the same limit.
    CapacityOverflowError if no rounding helps, or the cut is past float64.
    """
    rule = EXACT
    while True:
        try:
            outcome = solve(rule)
        except CapacityOverflowError:
            if rule.rounded:
                raise
            rule = rule._replace(rounded=True)
            continue
        if not outcome.finished or outcome.scale_exponent is None or not is_float:
            return outcome
        upper, size, limit = outcome.upper, outcome.size, outcome.limit
        if not size < math.inf:
            raise CapacityOverflowError("the capacity of the minimum cut is past float64")
        gap = proved_gap(upper, outcome.lower, size)
        is_small = gap <= accepted * size
        if is_small and (coarse == np.inf or size * coarse >= limit or limit <= LEAST_LIMIT):
            return outcome
        if 2 * size >= limit:
            break
        del outcome
        rule = Rule(upper, rule.rounded)
    if is_small or not has_finer:
        return outcome
    try:
        finer = solve(Rule(upper, rule.rounded, finer=True))
    except CapacityOverflowError:  # many parallel arcs
        return outcome
    return finer if finer.finished and finer.upper - finer.lower < upper - outcome.lower else outcome


class Attempt(Protocol):
    """The result of one solve with costs cut off at a limit; its gap holds for the costs as given."""

    @property
    def finished(self) -> bool:
        """Whether the answer is optimal for the integers that were solved."""

    @property
    def close(self) -> bool:
        """Whether the gap is that of an optimal answer, see :func:`is_close`."""

    @property
    def cost(self) -> int | float:
        """The cost of the answer, summed over what it uses."""

    @property
    def gap(self) -> int | float:
        """By how much the answer may cost more than an optimal one; proved."""

    @property
    def largest(self) -> float:
        """The largest size of a cost that the answer uses."""

    @property
    def used_cut_off(self) -> bool:
        """Whether the answer uses a cost that was cut off, or does not use one below zero that was."""


Tried = TypeVar("Tried", bound=Attempt)


def solve_costs(solve: Callable[[float], Tried], largest: float) -> Tried:
    """Solve float costs, and repeat relative to those that the answer uses, until the gap is small enough.

    The first solve cuts off nothing. Twice the largest cost that its answer uses is the next limit. Where the
    answer for a limit uses a cost that was cut off, the limit was too low: 16 times as much is tried, then
    256 times as much as that, and so on. `solve` solves with costs cut off at a limit in size, rounded
    relative to it; it may start from the answer of its last call. `largest` is the largest size of a cost.
    Return the first attempt that is close; otherwise the one of least gap.
    """
    best = attempt = solve(largest)
    too_low, limit, step = 0.0, largest, LIMIT_STEP
    tried = largest
    while attempt.finished and not best.close:
        if attempt.used_cut_off and limit < tried:
            too_low, limit, step = limit, limit * step, step * step
        else:
            # Costs far below the limit were rounded to zero: the answer says nothing of them.
            tried = limit
            limit = max(2 * attempt.largest, limit * LEAST_STEP, LIMIT_STEP * too_low)
        if not 0 < 2 * limit < tried:
            break
        attempt = solve(limit)
        if attempt.finished and (attempt.close or attempt.gap < best.gap):
            best = attempt
    return best


def is_close(
    gap: int | float, size: int | float, terms: int = 0, rounding: float = 0.0, *, single: bool = False
) -> bool:
    """Return whether an answer with a proved gap may be called optimal.

    The gap must be 0 for integers, and for floats at most ``2**-40`` (below 1e-12) of `size`, the sum of the
    absolute values of the terms of the answer, plus ``2**-53`` of it for each of `terms` that were summed.
    `rounding` is what the rounding of the amounts as given to float64 may change in the optimum. Where all
    amounts are float32 (`single`), which has 24 bits, ``2**-20`` of `size` is enough.

    Examples
    --------
    >>> is_close(0, 3), is_close(1, 2**60), is_close(1e-13, 1.0)
    (True, False, True)
    """
    if isinstance(gap, int) and isinstance(size, int):
        return gap <= 0
    return gap <= accepted_gap(terms, single=single) * size + rounding and gap < math.inf


def size_of(values: Array) -> float:
    """Return the sum of the sizes of floats, the largest float at most: see :func:`is_close`."""
    with np.errstate(over="ignore"):
        return min(float(np.abs(values).sum()), sys.float_info.max)


@overload
def accepted_gap(num_arcs: int, *, single: bool = False) -> float: ...
@overload
def accepted_gap(num_arcs: NDArray[np.int64], *, single: bool = False) -> Array: ...
def accepted_gap(num_arcs: int | NDArray[np.int64], *, single: bool = False) -> float | Array:
    """Return the gap, relative to the cut, at which a solve of floats is not repeated.

    ``2**-40`` (below 1e-12), plus ``2**-53`` for each arc, the possible error of one sum over all arcs.
    ``2**-20`` where all capacities are float32 (`single`), which has 24 bits. For several networks
    `num_arcs` is an array.
    """
    return 2.0**-20 if single else 2.0**-40 + num_arcs * 2.0**-53


def sum_slack(size: int | float, claimed: int | float = 0.0) -> float:
    """Return by how much two sums of capacities may differ: 0 for integers, even if stored as floats.

    `size` is the sum of the absolute values of the terms. If `claimed` is an int, all terms are integers, and
    floats are exact below 2**53.
    """
    if isinstance(size, int) or (isinstance(claimed, int) and size < EXACT_FLOAT):
        return 0
    return 4 * SUM_ERROR * size


def proved_gap(upper: int | float, lower: int | float, size: int | float) -> int | float:
    """Return the distance from the optimum that these bounds prove for any value between them.

    `size` is the sum of the absolute values of the terms of `upper`. For floats the gap includes the possible
    rounding errors of these sums, at most 4.6e-13 of `size`.
    """
    return max(upper - lower, 0) + sum_slack(size)


def limit_above(bound: float) -> float:
    """Return a finite limit strictly above `bound`, which no flow exceeds, to cut capacities off at."""
    return min(math.nextafter(bound * MARGIN, math.inf), sys.float_info.max)


#: The limit of capacities where the minimum cut is 0: each that is not 0 counts alike.
LEAST_LIMIT = limit_above(0.0)


def float_sum(values: AnyArray) -> float:
    """Return the sum of floats in float64.

    The error is at most `SUM_ERROR` times the sum of absolute values, for arrays of up to 2**32 numbers, on a
    GPU too, in whatever order 256 numbers are added.
    """
    parts = []
    values = values.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        while values.size > SUM_LENGTH:
            whole = values.size - values.size % SUM_LENGTH
            if whole < values.size:
                parts.append(float(values[whole:].sum(dtype=np.float64)))
            values = values[:whole].reshape(-1, SUM_LENGTH).sum(axis=1, dtype=np.float64)
        parts.append(float(values.sum(dtype=np.float64)))
    return total_of(parts)


def total_of(amounts: Iterable[int | float]) -> float:
    """Return the sum of numbers, rounded once; infinite where it is past float64."""
    numbers = list(amounts)
    try:
        return math.fsum(numbers)
    except OverflowError:  # of a part of the sum, at least
        total = math.fsum(math.ldexp(number, -64) for number in numbers) * 2.0**64
        return total if math.isfinite(total) else math.inf
    except ValueError:
        return math.inf


def scaled(values: AnyArray, exponent: int, limit: float, xp: ArrayModule) -> AnyArray:
    """Return capacities cut off at `limit`, multiplied by two to the power `exponent` and rounded down.

    The result fits int64 if that of the largest capacity does; for floats it is float64, and at most 2**62.
    """
    if values.dtype.kind == "f":
        wide = values.astype(np.float64)
        limit = min(limit, _times_power(MOST_SCALED, -exponent))
        if limit < np.inf:
            xp.minimum(wide, limit, out=wide)
        xp.ldexp(wide, exponent, out=wide)
        return xp.floor(wide, out=wide)
    most = np.iinfo(np.int64).max if limit >= 2.0**63 else int(np.ceil(limit))
    whole = xp.minimum(values.astype(np.int64), most)
    return whole << exponent if exponent > 0 else whole >> min(-exponent, 63)


def unscaled(amount: Number, exponent: int | None, *, is_float: bool, xp: ArrayModule = np) -> Number:
    """Return an amount of flow, or an integer array of amounts, in the unit of the given capacities."""
    if exponent is None:
        return amount
    if not is_float:
        return amount << -exponent
    if isinstance(amount, int):
        return _times_power(float(amount), -exponent)
    return xp.ldexp(amount.astype(np.float64), -exponent)


def _times_power(amount: float, exponent: int) -> float:
    """Return an amount times two to a power; infinite past float64."""
    try:
        return math.ldexp(amount, exponent)
    except OverflowError:
        return math.copysign(math.inf, amount)
