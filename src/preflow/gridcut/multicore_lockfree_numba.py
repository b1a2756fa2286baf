"""Numba code for indexing the computed arcs of :mod:`.multicore_lockfree`."""

from __future__ import annotations

import operator

import numpy as np
from numba import types
from numba.extending import overload

from ..arrays import Untyped
from ..kernels.atomics import prefetch
from .multicore_lockfree import FirstOut, Heads, Reverses, head_of, opposite


def _is(value: Untyped, kind: type) -> bool:
    return isinstance(value, types.BaseNamedTuple) and value.instance_class is kind


def _entry(arcs: Untyped, index: Untyped) -> Untyped:
    if _is(arcs, FirstOut):
        return lambda arcs, index: np.uint64(index) * arcs.degree
    if _is(arcs, Heads):
        return lambda arcs, index: head_of(arcs.step, arcs.degree, index)
    if _is(arcs, Reverses):
        return lambda arcs, index: opposite(arcs.step, arcs.degree, index)
    return None


def _nothing_to_fetch(array: Untyped, index: Untyped) -> Untyped:
    if _is(array, FirstOut) or _is(array, Heads) or _is(array, Reverses):
        return lambda array, index: None
    return None


overload(operator.getitem)(lambda arcs, index: _entry(arcs, index))
overload(prefetch)(lambda array, index: _nothing_to_fetch(array, index))
