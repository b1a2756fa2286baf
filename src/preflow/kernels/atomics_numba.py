"""Atomic operations for Numba: LLVM instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir
from numba import types

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
from .numba_internals import cgutils, compiled_as, make_array

#: Writes the instructions of an operation: gets the builder, the dtype of the array, a pointer to the entry,
#: and the other arguments in this dtype, all as integers of its width. Returns such an integer, too.
Emit = Callable[..., Untyped]


def on_entry(function: Callable[..., Untyped], emit: Emit, returns: Untyped = None) -> None:
    """Let Numba compile a function whose first two arguments are an array and an index.

    It returns a number of the array's dtype, or of the type `returns`.
    """

    def result(array: Untyped, index: Untyped, *_: Untyped) -> Untyped:
        is_entry = (
            isinstance(array, types.Array)
            and array.ndim == 1
            and isinstance(array.dtype, types.Integer | types.Float)
            and isinstance(index, types.Integer)
        )
        return (returns or array.dtype) if is_entry else None

    def generate(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
        array, dtype = kinds[0], kinds[0].dtype
        bits = ir.IntType(dtype.bitwidth)
        view = make_array(array)(context, builder, values[0])
        position = context.cast(builder, values[1], kinds[1], types.intp)
        pointer = cgutils.get_item_pointer(context, builder, array, view, [position], wraparound=False)
        operands = [
            builder.bitcast(context.cast(builder, value, kind, dtype), bits)
            for value, kind in zip(values[2:], kinds[2:], strict=True)
        ]
        found = emit(builder, dtype, builder.bitcast(pointer, bits.as_pointer()), *operands)
        if returns is None:
            return builder.bitcast(found, context.get_value_type(dtype))
        return context.get_dummy_value() if returns == types.void else found

    compiled_as(function, result, generate)


def _load(ordering: str, builder: Untyped, dtype: Untyped, pointer: Untyped) -> Untyped:
    return builder.load_atomic(pointer, ordering, dtype.bitwidth // 8)


def _store(ordering: str, builder: Untyped, dtype: Untyped, pointer: Untyped, value: Untyped) -> Untyped:
    return builder.store_atomic(value, pointer, ordering, dtype.bitwidth // 8)


def _read_modify_write(
    operation: str, builder: Untyped, dtype: Untyped, pointer: Untyped, value: Untyped
) -> Untyped:
    """Write one operation of LLVM's ``atomicrmw``."""
    if operation == "add" and isinstance(dtype, types.Float):
        number = ir.DoubleType() if dtype == types.float64 else ir.FloatType()
        pointer, value = builder.bitcast(pointer, number.as_pointer()), builder.bitcast(value, number)
        return builder.bitcast(
            builder.atomic_rmw("fadd", pointer, value, "acq_rel"), ir.IntType(dtype.bitwidth)
        )
    if operation == "min" and not dtype.signed:
        operation = "umin"
    return builder.atomic_rmw(operation, pointer, value, "acq_rel")


def _compare_exchange(
    builder: Untyped, dtype: Untyped, pointer: Untyped, expected: Untyped, value: Untyped
) -> Untyped:
    outcome = builder.cmpxchg(pointer, expected, value, "acq_rel", "acquire")
    return builder.extract_value(outcome, 1)


def _prefetch(to_write: bool, builder: Untyped, dtype: Untyped, pointer: Untyped) -> Untyped:
    address = builder.bitcast(pointer, ir.PointerType(ir.IntType(8)))
    word = ir.IntType(32)
    hint = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0")
    write, keep, data = ir.Constant(word, int(to_write)), ir.Constant(word, 3), ir.Constant(word, 1)
    return builder.call(function, [address, write, keep, data])


def _pause(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    machine = builder.module.triple.partition("-")[0]
    if machine == "x86_64":
        spin_hint = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, spin_hint, "llvm.x86.sse2.pause"), [])
    elif machine.startswith(("aarch64", "arm64")):
        hint = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
        function = cgutils.get_or_insert_function(builder.module, hint, "llvm.aarch64.hint")
        builder.call(function, [ir.Constant(ir.IntType(32), YIELD_HINT)])
    return context.get_dummy_value()


on_entry(relaxed_load, partial(_load, "monotonic"))
on_entry(load, partial(_load, "acquire"))
on_entry(relaxed_store, partial(_store, "monotonic"), types.void)
on_entry(store, partial(_store, "release"), types.void)
on_entry(fetch_add, partial(_read_modify_write, "add"))
on_entry(exchange, partial(_read_modify_write, "xchg"))
on_entry(fetch_min, partial(_read_modify_write, "min"))
on_entry(compare_exchange, _compare_exchange, types.boolean)
on_entry(prefetch, partial(_prefetch, False), types.void)
on_entry(prefetch_to_write, partial(_prefetch, True), types.void)
compiled_as(pause, lambda: types.void, _pause)
