"""Sleeping at a barrier for Numba: C's ``usleep``."""

from __future__ import annotations

from numba import types
from numba.extending import overload

from .barrier import NAP, nap

_usleep = types.ExternalFunction("usleep", types.int32(types.uint32))

overload(nap)(lambda: lambda: _usleep(NAP))
