"""``barrier.sleep`` for Numba: C's ``usleep``."""

from __future__ import annotations

from numba import types
from numba.extending import overload

from .barrier import SLEEP_MICROSECONDS, sleep

_usleep = types.ExternalFunction("usleep", types.int32(types.uint32))

overload(sleep)(lambda: lambda: _usleep(SLEEP_MICROSECONDS))
