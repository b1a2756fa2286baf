"""Selections without branches for Numba."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ..arrays import Untyped
from .branch_free import FLAGS, choose, lowered, plus, smaller
from .numba_internals import cgutils


@intrinsic
def _smaller_float(typing_context: Untyped, a: Untyped, b: Untyped) -> Untyped:
    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        one, other = arguments
        less = builder.fcmp_ordered("<", one, other, flags=FLAGS)
        return builder.select(less, one, other, flags=FLAGS)

    return a(a, b), generate


@intrinsic
def _plus(typing_context: Untyped, a: Untyped, b: Untyped) -> Untyped:
    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        return builder.fadd(*arguments, flags=("reassoc", "nsz"))

    return a(a, a), generate


@intrinsic
def _below_zero(typing_context: Untyped, a: Untyped) -> Untyped:
    """Return the smaller of an integer and 0."""

    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        number = arguments[0].type
        function = ir.FunctionType(number, [number, number])
        smin = cgutils.get_or_insert_function(builder.module, function, f"llvm.smin.i{number.width}")
        return builder.call(smin, [arguments[0], ir.Constant(number, 0)])

    return a(a), generate


@intrinsic
def _choose(typing_context: Untyped, condition: Untyped, a: Untyped, b: Untyped) -> Untyped:
    def generate(context: Untyped, builder: Untyped, signature: Untyped, arguments: Untyped) -> Untyped:
        return builder.select(*arguments)

    return a(types.boolean, a, a), generate


# Numba compares the signatures of these functions with those of the originals, without annotations.
def _smaller_implementation(a, b):  # type: ignore[no-untyped-def]
    if a == b and isinstance(a, types.Float):
        return lambda a, b: _smaller_float(a, b)
    if a == b and isinstance(a, types.Integer) and a.signed:
        return lambda a, b: a if a < b else b
    return None


def _lowered_implementation(old, new):  # type: ignore[no-untyped-def]
    if old == new and isinstance(old, types.Float):
        return lambda old, new: _smaller_float(new, old)
    if old == new and isinstance(old, types.Integer) and old.signed:
        return lambda old, new: old + _below_zero(new - old)
    return None


def _choose_implementation(condition, a, b):  # type: ignore[no-untyped-def]
    return (lambda condition, a, b: _choose(condition, a, b)) if a == b else None


def _plus_implementation(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _plus(a, b)) if a == b and isinstance(a, types.Float) else None


overload(plus)(_plus_implementation)
overload(smaller)(_smaller_implementation)
overload(lowered)(_lowered_implementation)
overload(choose)(_choose_implementation)
