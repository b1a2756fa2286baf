"""Intrinsics of thread_pool.py for Numba."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..arrays import Untyped
from ..kernels.numba_internals import cgutils

acquire_lock = types.ExternalFunction(
    "PyThread_acquire_lock_timed", types.int32(types.uintp, types.int64, types.int32)
)
release_lock = types.ExternalFunction("PyThread_release_lock", types.void(types.uintp))


@intrinsic
def address_of(typing_context: Untyped, values: Untyped) -> Untyped:
    """Return the address of a copy of `values`; the copy lives until the calling kernel returns."""

    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        place = cgutils.alloca_once_value(builder, arguments[0])
        return builder.ptrtoint(place, ir.IntType(64))

    return types.uint64(values), generate


@intrinsic
def entry_of(typing_context: Untyped, share: Untyped, values: Untyped) -> Untyped:
    """Return the address of a function that takes a thread's number and the address of `values`."""
    own_types = (types.uint64, values)
    share.get_call_type(typing_context, own_types, {})

    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        compiled = share.dispatcher.get_compile_result(types.none(*own_types))
        context.active_code_library.add_linking_library(compiled.library)
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        name = builder.module.get_unique_name("share")
        function = ir.Function(builder.module, kind, name)
        function.linkage = "internal"
        inner = ir.IRBuilder(function.append_basic_block())
        number, address = function.args
        loaded = inner.load(inner.inttoptr(address, context.get_value_type(values).as_pointer()))
        target = context.declare_function(builder.module, compiled.fndesc)
        context.call_conv.call_function(inner, target, types.none, own_types, [number, loaded])
        inner.ret_void()
        return builder.ptrtoint(function, word)

    return types.uint64(share, values), generate


@intrinsic
def call_entry(typing_context: Untyped, entry: Untyped, number: Untyped, address: Untyped) -> Untyped:
    """Call the function at an address returned by :func:`entry_of`."""

    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64), generate
