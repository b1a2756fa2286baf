"""Sums of amounts without rounding, as one number or as several."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, Number
from ..errors import CapacityOverflowError
from .network import exact_sum
from .standard_form import MOST


def parts_of_sum(amounts: Array, less: Array | Number = 0) -> list[Number]:
    """Return numbers above 0 whose sum is that of amounts, less others; none where it is not above 0.

    One float cannot represent a sum of floats, and what rounding adds or takes would have to be sent as well.
    Each part has 53 bits of the rest: floats of usual sizes have one to four, and none have more than 41.
    """
    parts: list[Number] = []
    while True:
        taken = np.append(less, np.array(parts, dtype=amounts.dtype))
        part = exact_total(amounts, taken)
        if part > 0 and exact_total(amounts, np.append(taken, part)) < 0:
            part = math.nextafter(part, 0)
        if not part > 0:  # so NaN has no parts
            return parts
        parts.append(part)


def within_reach(amounts: Array, limits: Array) -> Array:
    """Return floats cut off at twice what can be moved of each, so that some of what is cut off stays.

    A float beside much larger ones is rounded; those larger than all that can be moved would spoil it.
    """
    cut = np.minimum(amounts, 2 * limits)
    top = cut.max(initial=0) or amounts[amounts > 0].min(initial=np.inf)
    found: Array = np.where(cut > 0, cut, np.minimum(amounts, top))
    return found


def exact_total(amounts: Array, less: Array | Number = 0) -> Number:
    """Return the sum of amounts, less one number or several; of floats rounded once."""
    taken = np.atleast_1d(np.asarray(less))
    if amounts.dtype.kind == taken.dtype.kind == "i":
        found = int(exact_sum(amounts)) - int(exact_sum(taken)) if len(amounts) else 0
        if abs(found) >= MOST:
            raise CapacityOverflowError("the amounts sum to 2**62 or more")
        return found
    try:
        return math.fsum([*amounts.tolist(), *(-taken).tolist()])
    except OverflowError:
        raise CapacityOverflowError("the amounts sum to more than float64 can represent") from None
