"""Numba code that chooses the implementations of :mod:`.arcs`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from numba.extending import overload

from ..arrays import Untyped
from .arcs import ACCESSES, implementation


def _choose(name: str, access: Callable[..., Untyped]) -> None:
    @wraps(access)
    def chosen(net: Untyped, *others: Untyped) -> Untyped:
        return getattr(implementation(net.instance_class), name)

    overload(access)(chosen)


for _name, _access in ACCESSES.items():
    _choose(_name, _access)
