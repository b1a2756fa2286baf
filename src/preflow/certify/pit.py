"""Proof of an ultimate pit: a flow on the arcs of the pattern, along which ore pays for waste.

An arc leads from a block to one that must be taken before it. What is *left* of a block is its value, less
the flow out of it, plus the flow into it. A closed set of blocks has no arc out of it, so its value is the
sum of what is left of its blocks, less the flow into it from outside. No flow is negative. Hence no closed
set has a larger value than the sum of all that is left and positive, whatever the flow is. A pit of this
value is optimal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..graph.block_model import BlockLayout
from ..kernels.kernel import kernel

#: No block gets or sends more: what is left of each fits int64.
MOST_FLOW = 2.0**62


class PitFlow(NamedTuple):
    """The arcs with flow, whose ends have the numbers of a :class:`BlockLayout`."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    amount: NDArray[np.int64]


def left_of(values: NDArray[np.int64], flow: PitFlow) -> NDArray[np.int64]:
    """Return what is left of each number, of which these are the values."""
    left = values.copy()
    np.subtract.at(left, flow.tail, flow.amount)
    np.add.at(left, flow.head, flow.amount)
    return left


@kernel
def reach(
    step: NDArray[np.int64],
    first: NDArray[np.int64],
    partner: NDArray[np.int64],
    reached: NDArray[np.bool_],
    stack: NDArray[np.int64],
    size: np.int64,
) -> None:
    """Mark all that the first `size` blocks of `stack` lead to; numbers outside are marked on entry.

    Block v leads to ``v + step[i]``, and to ``partner[first[v]:first[v + 1]]``.
    """
    while size > 0:
        size -= 1
        v = stack[size]
        for i in range(len(step)):
            w = v + step[i]
            if 0 <= w < len(reached) and not reached[w]:
                reached[w] = True
                stack[size] = w
                size += 1
        for i in range(first[v], first[v + 1]):
            w = partner[i]
            if not reached[w]:
                reached[w] = True
                stack[size] = w
                size += 1


def extreme_pit(
    layout: BlockLayout, left: NDArray[np.int64], flow: PitFlow, closure: str
) -> NDArray[np.bool_]:
    """Return the blocks of the smallest or the largest pit, by an optimal flow, in the model's shape.

    The smallest one is what residual arcs lead to from blocks that have something left, and the largest one
    what leads to no block that lacks something. Arcs of the pattern are residual, and opposites of flow. By
    any other flow, too, both are closed, and no flow enters them; the largest one is worth at least 0.
    """
    smallest = closure == "smallest"
    begins, ends = (flow.head, flow.tail) if smallest else (flow.tail, flow.head)
    order = np.argsort(begins, kind="stable")
    first = np.searchsorted(begins, np.arange(layout.size + 1), sorter=order)
    reached = layout.spread(np.zeros(layout.shape, dtype=np.bool_), outside=1)
    roots = np.flatnonzero(left > 0 if smallest else left < 0)
    reached[roots] = True
    stack = np.empty(layout.size, dtype=np.int64)
    stack[: len(roots)] = roots
    step = layout.step if smallest else -layout.step
    reach(step, first, ends[order], reached, stack, np.int64(len(roots)))
    found: NDArray[np.bool_] = np.ascontiguousarray(layout.inside(reached))
    return found if smallest else ~found


def check_flow(
    layout: BlockLayout, tail: NDArray[np.int64], arc: NDArray[np.int64], amount: NDArray[np.int64]
) -> PitFlow:
    """Return a flow on these arcs of the pattern; check that it is one, and not negative."""
    if not ((arc >= 0) & (arc < len(layout.pattern))).all():
        raise VerificationError("the flow names arcs that the pattern does not have")
    if not (amount >= 0).all():
        raise VerificationError("the flow of an arc is negative")
    blocks = layout.spread(np.ones(layout.shape, dtype=np.bool_))
    flow = PitFlow(tail, tail + layout.step[arc], amount)
    for ends in (flow.tail, flow.head):
        if not ((ends >= 0) & (ends < layout.size)).all() or not blocks[ends].all():
            raise VerificationError("an end of an arc of the flow is no block")
        if np.bincount(ends, amount, 1).max() > MOST_FLOW:
            raise VerificationError("the flow through a block is too large")
    return flow


def closed_set(layout: BlockLayout, blocks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return these blocks, and all that must be taken before them."""
    none = np.zeros(0, dtype=np.int64)
    return extreme_pit(layout, layout.spread(blocks.astype(np.int64)), PitFlow(none, none, none), "smallest")


def check_closed(layout: BlockLayout, taken: NDArray[np.bool_]) -> None:
    """Check that each block that is taken has all that must be taken before it."""
    for tail, head in layout.pairs(layout.spread(taken.astype(np.int8), outside=2)):
        if ((tail == 1) & (head == 0)).any():
            raise VerificationError("the pit lacks a block that must be taken before one of it")
