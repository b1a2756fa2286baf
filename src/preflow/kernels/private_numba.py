"""Private copies of arrays for Numba."""

from __future__ import annotations

from llvmlite import ir
from numba import types

from ..arrays import Untyped
from .numba_internals import cgutils, compiled_as, make_array, populate_array
from .private import ALIGNMENT, private


def _copied(context: Untyped, builder: Untyped, kind: Untyped, value: Untyped, place: Untyped) -> Untyped:
    """Return an array over a copy of the entries at the address in `place`, and advance that address."""
    word = ir.IntType(64)
    given = make_array(kind)(context, builder, value)
    size = builder.mul(given.nitems, given.itemsize)
    address = builder.load(place)
    target = builder.inttoptr(address, given.data.type)
    cgutils.raw_memcpy(builder, target, given.data, given.nitems, given.itemsize)
    up = builder.add(size, ir.Constant(word, ALIGNMENT - 1))
    builder.store(builder.add(address, builder.and_(up, ir.Constant(word, -ALIGNMENT))), place)
    copy = make_array(kind)(context, builder)
    populate_array(copy, target, given.shape, given.strides, given.itemsize, meminfo=None)
    return copy._getvalue()


def _copied_tuple(
    context: Untyped, builder: Untyped, kind: Untyped, value: Untyped, place: Untyped
) -> Untyped:
    parts = []
    for part, part_kind in zip(cgutils.unpack_tuple(builder, value), kind.types, strict=True):
        if isinstance(part_kind, types.Array):
            part = _copied(context, builder, part_kind, part, place)
        elif isinstance(part_kind, types.BaseTuple):
            part = _copied_tuple(context, builder, part_kind, part, place)
        parts.append(part)
    return context.make_tuple(builder, kind, parts)


def _result(values: Untyped, memory: Untyped) -> Untyped:
    return values if isinstance(values, types.BaseTuple) and isinstance(memory, types.Array) else None


def _private(context: Untyped, builder: Untyped, kinds: Untyped, values: Untyped) -> Untyped:
    word = ir.IntType(64)
    begin = make_array(kinds[1])(context, builder, values[1]).data
    up = builder.add(builder.ptrtoint(begin, word), ir.Constant(word, ALIGNMENT - 1))
    place = cgutils.alloca_once_value(builder, builder.and_(up, ir.Constant(word, -ALIGNMENT)))
    return _copied_tuple(context, builder, kinds[0], values[0], place)


compiled_as(private, _result, _private)
