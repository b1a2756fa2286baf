"""Repair a flow from both sides of its last minimum cut, each in the direction in which little has to move.

A preflow moves excess to the sink. After a change that is the wrong direction on the source's side of the
cut: what is left there cannot reach the sink, and the labels of all these vertices rise until that is clear.
But nearly every vertex there can be reached from the source. So on the source's side the deficits move,
backwards, to the source or to excess. Both sides are solved by the pseudoflow algorithm
(:mod:`..serial_pseudoflow`).

Definitions
-----------
- S and T are the sides of the source and of the sink of the last cut. Any division is right; after few
  changes, that of the last cut leaves little to do.
- *Supply* of a vertex is its excess and what the flow leaves of its capacity from the source. *Demand* is its
  deficit and what the flow leaves of its capacity to the sink.

Pseudo-code
-----------
::

    saturate every arc from S to T: a deficit at the tail, excess at the head     saturate_cut, divide
    within T, move excess forwards to demand                                      settle
    within S, move deficits backwards to supply                                   settle
    if excess is left in T and deficits are left in S:
        move excess forwards to deficits, also from T to S                        settle, unite
    the vertices that reach the sink or a deficit are the new side of the sink    distances_to_sink

Why the result is maximum
-------------------------
After the two runs within the sides let A be the vertices that supply in S reaches, and B those that reach
demand in T. No residual arc leads from S to T, so A lies in S and B in T. No deficit is left in A and no
excess in B, or a run would have gone on. A residual path from excess in T to a deficit in S meets neither A
nor B. So the third run changes no arc of either, and A and B stay what they are. After it no supply reaches
any demand. Then excess goes back to the source and deficits are cancelled towards the sink, which leaves the
cut as it is (:mod:`preflow.maxflow.warm`).

Labels begin as exact distances up to :data:`LEVELS`, and one more elsewhere. That is a lower bound, and the
search ends near the changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices
from ...graph.residual import ResidualArrays
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...network import distances_to_sink
from ...solving.run import Control
from ..serial_pseudoflow import PseudoflowOptions, make_records, merge_trees

#: The first search ends after this many levels. On rmf-wide 64x16 1 to 4 levels and all of them make 1.44,
#: 1.26, 0.98, 1.05 and 1.09 million operations, on rmf-long 16x1024 11.5, 10.2, 8.7, 10.1 and 18.9.
LEVELS = 3


@kernel
def saturate_cut(net: ResidualArrays, sink_side: NDArray[np.bool_]) -> None:
    """Saturate all arcs from vertices that are not in `sink_side` to those that are, and to the sink."""
    n = np.uint64(len(net.excess))
    v = ZERO
    while v < n:
        if not sink_side[v]:
            sent = net.sink_residual[v]
            net.sink_residual[v] = 0
            a, last = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
            while a < last:
                w = np.uint64(net.head[a])
                amount = np.int64(net.residual[a])
                if amount > 0 and sink_side[w]:
                    net.residual[a] = 0
                    net.residual[net.reverse[a]] += amount
                    net.excess[w] += amount
                    sent += amount
                a += ONE
            net.excess[v] -= sent
        v += ONE


@kernel
def divide(
    net: ResidualArrays, sink_side: NDArray[np.bool_], forward: ResidualArrays, backward: ResidualArrays
) -> None:
    """Write what each side has to move: supply to demand in `forward`, deficits to supply in `backward`."""
    for v in range(len(sink_side)):
        inside = sink_side[v]
        supply, deficit = max(net.excess[v], np.int64(0)), max(-net.excess[v], np.int64(0))
        forward.excess[v] = supply if inside else 0
        forward.sink_residual[v] = net.sink_residual[v] + deficit if inside else 0
        backward.excess[v] = 0 if inside else deficit
        backward.sink_residual[v] = 0 if inside else supply


@kernel
def unite(net: ResidualArrays, forward: ResidualArrays, backward: ResidualArrays) -> None:
    """Write what both runs have left to the network; the demand of all vertices stays in `forward`."""
    for v in range(len(net.excess)):
        deficit = backward.excess[v] + max(forward.sink_residual[v] - net.sink_residual[v], np.int64(0))
        net.sink_residual[v] = min(net.sink_residual[v], forward.sink_residual[v])
        net.excess[v] = forward.excess[v] + backward.sink_residual[v] - deficit
        forward.sink_residual[v] = net.sink_residual[v] + deficit


@kernel
def label_near_sinks(
    net: ResidualArrays,
    within: NDArray[np.bool_],
    side: bool,
    backward: bool,
    most: np.uint64,
    label: Indices,
    order: Indices,
) -> None:
    """Make labels exact distances up to `most`, and one more at the other vertices of one side.

    The side has the vertices where `within` is `side`. All labels are n + 1 (dead) on entry. `order` is
    scratch.
    """
    n = np.uint64(len(label))
    dead = n + ONE
    most = min(most, n)
    begin, end = ZERO, ZERO
    v = ZERO
    while v < n:
        if net.sink_residual[v] > 0:
            label[v] = 1
            order[end] = v
            end += ONE
        v += ONE
    while begin < end:
        v = np.uint64(order[begin])
        if np.uint64(label[v]) >= most:
            break
        begin += ONE
        level = np.uint64(label[v]) + ONE
        a, last = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
        while a < last:
            w = np.uint64(net.head[a])
            if np.uint64(label[w]) == dead and net.residual[a if backward else np.uint64(net.reverse[a])] > 0:
                label[w] = level
                order[end] = w
                end += ONE
            a += ONE
    if begin < end:
        v = ZERO
        while v < n:
            if np.uint64(label[v]) == dead and within[v] == side:
                label[v] = most + ONE
            v += ONE


def settle(
    net: ResidualArrays,
    sink_side: NDArray[np.bool_],
    backward: bool,
    levels: int,
    vertex: Indices,
    control: Control,
) -> None:
    """Move excess to sinks within a side: that of the sink, or backwards within that of the source.

    With all levels, the labels are exact, and excess moves within the whole network.
    """
    if not net.excess.any():
        return
    n, dtype = len(net.excess), net.head.dtype
    label: Array = np.full(n, n + 1, dtype=dtype)
    order = vertex.reshape(-1)[:n]
    label_near_sinks(net, sink_side, not backward, backward, np.uint64(levels), label, order)
    merge_trees(net, label, vertex, PseudoflowOptions(relabel_period=None), backward, control)


def repair(
    net: ResidualArrays, sink_side: NDArray[np.bool_], control: Control
) -> tuple[NDArray[np.bool_], bool] | None:
    """Make a flow whose vertices may have excess and deficits maximum: see the module's docstring.

    Return which vertices reach the sink or a deficit, and whether the flow is maximum; None if the work limit
    was passed.
    """
    n = len(net.excess)
    vertex = make_records(n, net.head.dtype)
    amounts = np.empty((4, n), dtype=np.int64)
    forward = net._replace(excess=amounts[0], sink_residual=amounts[1])
    backward = net._replace(excess=amounts[2], sink_residual=amounts[3])
    saturate_cut(net, sink_side)
    divide(net, sink_side, forward, backward)
    control.progress[:] = amounts[::2].sum(dtype=np.float64)
    settle(forward, sink_side, False, LEVELS, vertex, control)
    settle(backward, sink_side, True, LEVELS, vertex, control)
    if forward.excess.any() and backward.excess.any():
        across = net._replace(excess=forward.excess, sink_residual=backward.excess)
        settle(across, sink_side, False, n, vertex, control)
    if control.gave_up:
        return None
    unite(net, forward, backward)
    height: Array = np.full(n, n + 1, dtype=net.head.dtype)
    distances_to_sink(forward, height, vertex.reshape(-1)[:n], ZERO, ZERO, ZERO, False)
    reaching = height <= n
    return reaching, not (net.excess[reaching] > 0).any()
