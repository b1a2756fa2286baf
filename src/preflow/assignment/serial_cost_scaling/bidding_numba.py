"""Numba implementation of `unscaled`, which removes the scale of a price."""

from __future__ import annotations

from numba import types
from numba.extending import overload

from .bidding import unscaled


@overload(unscaled)
def _unscaled(price, scale):  # type: ignore[no-untyped-def]
    if isinstance(price, types.Integer):
        return lambda price, scale: -((-price) // scale)
    return lambda price, scale: price
