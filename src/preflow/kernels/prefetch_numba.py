"""Prefetching for Numba: LLVM's intrinsic."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .prefetch import DATA, KEEP, READ, prefetch


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, values: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        declared = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, declared, "llvm.prefetch.p0")
        builder.call(function, [address, *(ir.Constant(word, number) for number in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(values, place), generate


overload(prefetch)(lambda values, place: lambda values, place: _prefetch(values, place))
