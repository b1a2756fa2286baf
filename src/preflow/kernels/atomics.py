"""Atomic operations that Numba kernels use; they run in plain Python too."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array


def relaxed_load(array: Any, index: Any) -> Any:
    """Return ``array[index]``, read afresh each time although another thread may write it.

    A plain read in a loop is moved out of the loop by the compiler: a stop flag would never be seen.
    """
    return array[index]


@intrinsic
def _relaxed_load(typing_context: Any, array: Any, index: Any) -> Any:
    if not isinstance(array, types.Array) or array.ndim != 1 or not isinstance(index, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, index_type = signature.args
        view = make_array(array_type)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], index_type, types.intp)
        pointer = cgutils.get_item_pointer(context, builder, array_type, view, [position], wraparound=False)
        size = array_type.dtype.bitwidth // 8
        if isinstance(array_type.dtype, types.Float):
            integer = ir.IntType(array_type.dtype.bitwidth)
            bits = builder.load_atomic(builder.bitcast(pointer, integer.as_pointer()), "monotonic", size)
            return builder.bitcast(bits, context.get_value_type(array_type.dtype))
        return builder.load_atomic(pointer, "monotonic", size)

    return array.dtype(array, index), generate


@overload(relaxed_load)
def _overload_relaxed_load(array: Any, index: Any) -> Any:
    def load(array: Any, index: Any) -> Any:
        return _relaxed_load(array, index)

    return load
