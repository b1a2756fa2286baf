"""Atomic operations for Numba: LLVM instructions."""

from __future__ import annotations

import platform

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ..arrays import Untyped
from .atomics import (
    YIELD_HINT,
    compare_exchange,
    exchange,
    fetch_add,
    fetch_min,
    load,
    pause,
    prefetch,
    prefetch_to_write,
    relaxed_load,
    relaxed_store,
    store,
)
from .numba_internals import cgutils, make_array


def _entry_pointer(
    context: Untyped,
    builder: Untyped,
    array_type: Untyped,
    array: Untyped,
    index_type: Untyped,
    index: Untyped,
) -> Untyped:
    view = make_array(array_type)(context, builder, array)
    position = context.cast(builder, index, index_type, types.intp)
    return cgutils.get_item_pointer(context, builder, array_type, view, [position], wraparound=False)


def _is_entry(array: Untyped, index: Untyped) -> bool:
    return (
        isinstance(array, types.Array)
        and array.ndim == 1
        and isinstance(array.dtype, types.Integer | types.Float)
        and isinstance(index, types.Integer)
    )


def _as_bits(context: Untyped, builder: Untyped, dtype: Untyped, pointer: Untyped) -> tuple[Untyped, Untyped]:
    """Return the integer type as wide as `dtype`, and `pointer` as a pointer to it, as atomics need."""
    bits = ir.IntType(dtype.bitwidth)
    return bits, builder.bitcast(pointer, bits.as_pointer())


def _load_intrinsic(ordering: str) -> Untyped:
    @intrinsic
    def atomic_load(typing_context: Untyped, array: Untyped, index: Untyped) -> Untyped:
        if not _is_entry(array, index):
            return None

        def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
            array_type, index_type = signature.args
            pointer = _entry_pointer(context, builder, array_type, arguments[0], index_type, arguments[1])
            _, pointer = _as_bits(context, builder, array_type.dtype, pointer)
            loaded = builder.load_atomic(pointer, ordering, array_type.dtype.bitwidth // 8)
            return builder.bitcast(loaded, context.get_value_type(array_type.dtype))

        return array.dtype(array, index), generate

    return atomic_load


def _store_intrinsic(ordering: str) -> Untyped:
    @intrinsic
    def atomic_store(typing_context: Untyped, array: Untyped, index: Untyped, value: Untyped) -> Untyped:
        if not _is_entry(array, index):
            return None

        def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
            array_type, index_type, value_type = signature.args
            pointer = _entry_pointer(context, builder, array_type, arguments[0], index_type, arguments[1])
            bits, pointer = _as_bits(context, builder, array_type.dtype, pointer)
            stored = context.cast(builder, arguments[2], value_type, array_type.dtype)
            builder.store_atomic(
                builder.bitcast(stored, bits), pointer, ordering, array_type.dtype.bitwidth // 8
            )
            return context.get_dummy_value()

        return types.void(array, index, value), generate

    return atomic_store


def _read_modify_write_intrinsic(operation: str) -> Untyped:
    """Return an intrinsic for one operation of LLVM's ``atomicrmw``."""

    @intrinsic
    def read_modify_write(typing_context: Untyped, array: Untyped, index: Untyped, value: Untyped) -> Untyped:
        if not _is_entry(array, index):
            return None

        def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
            array_type, index_type, value_type = signature.args
            dtype = array_type.dtype
            pointer = _entry_pointer(context, builder, array_type, arguments[0], index_type, arguments[1])
            operand = context.cast(builder, arguments[2], value_type, dtype)
            name = operation
            if isinstance(dtype, types.Float) and operation == "add":
                name = "fadd"
            elif isinstance(dtype, types.Float):
                bits, pointer = _as_bits(context, builder, dtype, pointer)
                operand = builder.bitcast(operand, bits)
            elif operation == "min" and not dtype.signed:
                name = "umin"
            old = builder.atomic_rmw(name, pointer, operand, "acq_rel")
            return builder.bitcast(old, context.get_value_type(dtype))

        return array.dtype(array, index, value), generate

    return read_modify_write


@intrinsic
def _compare_exchange(
    typing_context: Untyped, array: Untyped, index: Untyped, expected: Untyped, value: Untyped
) -> Untyped:
    if not _is_entry(array, index):
        return None

    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        array_type, index_type, expected_type, value_type = signature.args
        dtype = array_type.dtype
        pointer = _entry_pointer(context, builder, array_type, arguments[0], index_type, arguments[1])
        bits, pointer = _as_bits(context, builder, dtype, pointer)
        old = builder.bitcast(context.cast(builder, arguments[2], expected_type, dtype), bits)
        new = builder.bitcast(context.cast(builder, arguments[3], value_type, dtype), bits)
        outcome = builder.cmpxchg(pointer, old, new, "acq_rel", "acquire")
        return builder.extract_value(outcome, 1)

    return types.boolean(array, index, expected, value), generate


@intrinsic
def _pause(typing_context: Untyped) -> Untyped:
    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        machine = platform.machine()
        if machine in ("x86_64", "AMD64"):
            spin_hint = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, spin_hint, "llvm.x86.sse2.pause"), [])
        elif machine in ("aarch64", "arm64"):
            hint = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
            function = cgutils.get_or_insert_function(builder.module, hint, "llvm.aarch64.hint")
            builder.call(function, [ir.Constant(ir.IntType(32), YIELD_HINT)])
        return context.get_dummy_value()

    return types.void(), generate


def _prefetch_intrinsic(to_write: bool) -> Untyped:
    """Return an intrinsic that prefetches a cache line."""

    @intrinsic
    def prefetch_line(typing_context: Untyped, array: Untyped, index: Untyped) -> Untyped:
        if not _is_entry(array, index):
            return None

        def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
            array_type, index_type = signature.args
            pointer = _entry_pointer(context, builder, array_type, arguments[0], index_type, arguments[1])
            address = builder.bitcast(pointer, ir.PointerType(ir.IntType(8)))
            word = ir.IntType(32)
            hint = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
            function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0")
            write, keep, data = ir.Constant(word, int(to_write)), ir.Constant(word, 3), ir.Constant(word, 1)
            builder.call(function, [address, write, keep, data])
            return context.get_dummy_value()

        return types.void(array, index), generate

    return prefetch_line


_relaxed_load = _load_intrinsic("monotonic")
_load = _load_intrinsic("acquire")
_relaxed_store = _store_intrinsic("monotonic")
_store = _store_intrinsic("release")
_fetch_add = _read_modify_write_intrinsic("add")
_exchange = _read_modify_write_intrinsic("xchg")
_fetch_min = _read_modify_write_intrinsic("min")
_prefetch = _prefetch_intrinsic(False)
_prefetch_to_write = _prefetch_intrinsic(True)


overload(relaxed_load)(lambda array, index: lambda array, index: _relaxed_load(array, index))
overload(relaxed_store)(lambda array, index, new: lambda array, index, new: _relaxed_store(array, index, new))
overload(load)(lambda array, index: lambda array, index: _load(array, index))
overload(store)(lambda array, index, new: lambda array, index, new: _store(array, index, new))
overload(fetch_add)(lambda array, index, more: lambda array, index, more: _fetch_add(array, index, more))
overload(exchange)(lambda array, index, new: lambda array, index, new: _exchange(array, index, new))
overload(compare_exchange)(
    lambda array, index, old, new: lambda array, index, old, new: _compare_exchange(array, index, old, new)
)
overload(fetch_min)(lambda array, index, new: lambda array, index, new: _fetch_min(array, index, new))
overload(prefetch)(
    lambda array, index: (
        (lambda array, index: _prefetch(array, index)) if isinstance(array, types.Array) else None
    )
)
overload(prefetch_to_write)(
    lambda array, index: (
        (lambda array, index: _prefetch_to_write(array, index)) if isinstance(array, types.Array) else None
    )
)
overload(pause)(lambda: lambda: _pause())
