"""Selections without branches for Numba."""

from __future__ import annotations

from llvmlite import ir
from numba import types

from ..arrays import Untyped
from .branch_free import FLAGS, choose, lowered, plus, smaller
from .numba_internals import cgutils, compiled_as


def _one_type(a: Untyped, b: Untyped) -> Untyped:
    is_signed = isinstance(a, types.Float) or (isinstance(a, types.Integer) and a.signed)
    return a if a == b and is_signed else None


def _smaller(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    if isinstance(kinds[0], types.Integer):
        return builder.select(builder.icmp_signed("<", *values), *values)
    less = builder.fcmp_ordered("<", *values, flags=FLAGS)
    return builder.select(less, *values, flags=FLAGS)


def _lowered(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    old, new = values
    if isinstance(kinds[0], types.Float):
        return _smaller(context, builder, kinds, [new, old])
    word = old.type
    function = ir.FunctionType(word, [word, word])
    smin = cgutils.get_or_insert_function(builder.module, function, f"llvm.smin.i{word.width}")
    below_zero = builder.call(smin, [builder.sub(new, old), ir.Constant(word, 0)])
    return builder.add(old, below_zero)


def _choose(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    return builder.select(context.cast(builder, values[0], kinds[0], types.boolean), *values[1:])


def _plus(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    return builder.fadd(*values, flags=("reassoc", "nsz"))


compiled_as(plus, lambda a, b: a if a == b and isinstance(a, types.Float) else None, _plus)
compiled_as(smaller, _one_type, _smaller)
compiled_as(lowered, _one_type, _lowered)
compiled_as(choose, lambda condition, a, b: a if a == b else None, _choose)
