"""The clock for Numba: C's ``clock_gettime``."""

from __future__ import annotations

import time

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ..arrays import Untyped
from .clock import NANOSECONDS, SECONDS, now
from .numba_internals import cgutils


@intrinsic
def _now(typing_context: Untyped) -> Untyped:
    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        long, word = ir.IntType(64), ir.IntType(32)
        timespec = cgutils.alloca_once(builder, ir.ArrayType(long, 2))
        read = ir.FunctionType(word, [word, timespec.type])
        function = cgutils.get_or_insert_function(builder.module, read, "clock_gettime")
        builder.call(function, [ir.Constant(word, time.CLOCK_MONOTONIC), timespec])
        seconds, rest = (
            builder.load(cgutils.gep_inbounds(builder, timespec, 0, field))
            for field in (SECONDS, NANOSECONDS)
        )
        return builder.add(builder.mul(seconds, ir.Constant(long, 10**9)), rest)

    return types.uint64(), generate


overload(now)(lambda: lambda: _now())
