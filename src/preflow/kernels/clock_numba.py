"""The clock for Numba: C's ``clock_gettime``."""

from __future__ import annotations

import time

from llvmlite import ir
from numba import types

from ..arrays import Untyped
from .clock import NANOSECONDS, SECONDS, now
from .numba_internals import cgutils, compiled_as


def _now(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    long, word = ir.IntType(64), ir.IntType(32)
    timespec = cgutils.alloca_once(builder, ir.ArrayType(long, 2))
    read = ir.FunctionType(word, [word, timespec.type])
    function = cgutils.get_or_insert_function(builder.module, read, "clock_gettime")
    builder.call(function, [ir.Constant(word, time.CLOCK_MONOTONIC), timespec])
    seconds, rest = (
        builder.load(cgutils.gep_inbounds(builder, timespec, 0, field)) for field in (SECONDS, NANOSECONDS)
    )
    return builder.add(builder.mul(seconds, ir.Constant(long, 10**9)), rest)


compiled_as(now, lambda: types.uint64, _now)
