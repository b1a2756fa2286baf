"""Numba code that chooses the implementations of :mod:`.arcs`."""

from __future__ import annotations

from functools import wraps

from numba.extending import overload

from ..arrays import Untyped
from . import arcs


def _choose(name: str, access: Untyped) -> None:
    @wraps(access)
    def chosen(net: Untyped, *others: Untyped) -> Untyped:
        return arcs.implementation(name, net.instance_class)

    overload(access)(chosen)


for _name in arcs.LISTED:
    _choose(_name, getattr(arcs, _name))
