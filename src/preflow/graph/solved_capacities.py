"""Capacities as the solvers see them: whole numbers, infinity as more than any flow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CapacityOverflowError, UnboundedFlowError
from ..parallel.pieces import run_pieces
from .network import EXACT_FLOAT, FlowNetwork, flow_bound

#: Numbers looked at together: they fit a cache.
BLOCK = 1 << 15


class SolvedCapacities(NamedTuple):
    """Capacities as whole numbers.

    Attributes
    ----------
    capacity, reverse_capacity : ndarray
    scale_exponent : int or None
        The power of two that they were multiplied by, None for none.
    flow_bound : float or None
        What they were cut off above, None for nothing.
    """

    capacity: NDArray[Any]
    reverse_capacity: NDArray[Any] | None
    scale_exponent: int | None
    flow_bound: float | None


def solved_capacities(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    threads: int,
    bound: float | None = None,
) -> SolvedCapacities:
    """Return the capacities as the solvers see them: integers, infinity as more than any flow.

    Integral floats up to 2**53 stay as they are. Other floats are cut off above the largest possible flow,
    scaled by a power of two to fill 62 bits, and rounded down: the solve is exact, without drift, and what
    rounding takes from a capacity is below ``2**-61`` of the sum of all. The largest possible flow is
    `bound` where that is given, else :func:`preflow.graph.network.flow_bound`.
    """
    given = [network.capacity] + ([] if network.reverse_capacity is None else [network.reverse_capacity])
    exponent = None
    if network.capacity.dtype.kind == "f":
        finite = given
        infinite = [np.isinf(values) for values in given]
        has_infinite = any(mask.any() for mask in infinite)
        if has_infinite:
            _check_bounded(network, infinite, sources, sinks)
            finite = [np.where(mask, 0.0, values) for values, mask in zip(given, infinite, strict=True)]
        if not all(_are_whole(values, threads) for values in finite):
            if bound is None:
                bound = flow_bound(network, sources, sinks)
            given, exponent = _scaled(network, given, bound)
        elif has_infinite:
            given = _replace_infinite(network, finite, infinite, sources, sinks)
    reverse_capacity = given[1] if len(given) > 1 else None
    return SolvedCapacities(given[0], reverse_capacity, exponent, None if exponent is None else bound)


def _are_whole(values: NDArray[np.float64], threads: int) -> bool:
    def piece_is_whole(begin: int, end: int) -> bool:
        blocks = (values[start : min(start + BLOCK, end)] for start in range(begin, end, BLOCK))
        return all(np.all(block == np.rint(block)) and block.max() <= EXACT_FLOAT for block in blocks)

    return all(run_pieces(piece_is_whole, len(values), threads))


def _replace_infinite(
    network: FlowNetwork,
    finite: list[NDArray[np.float64]],
    infinite: list[NDArray[np.bool_]],
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
) -> list[NDArray[np.int64]]:
    """Put numbers that no flow reaches in place of infinity.

    The sum of all finite capacities bounds every flow; at a terminal, so does what the arc's other end can
    pass on, which keeps sums over many such arcs small.
    """
    whole = [values.astype(np.int64) for values in finite]
    enough = sum(sum(_exact_sums(values)) for values in whole) + 1
    for direction, (values, mask) in enumerate(zip(whole, infinite, strict=True)):
        arcs = np.flatnonzero(mask)
        ends = (network.tail, network.head) if direction == 0 else (network.head, network.tail)
        bound = np.full(len(arcs), float(enough))
        for side, terminals, other in ((0, sources, 1), (1, sinks, 0)):
            at_terminal = np.isin(ends[side][arcs], terminals)
            passing = _throughput(network, finite, infinite, outward=side == 0)[ends[other][arcs]]
            bound[at_terminal] = np.minimum(bound, passing * (1 + 2.0**-40) + 1)[at_terminal]
        if len(arcs) and not bound.max() < 2.0**62:
            raise CapacityOverflowError("beside infinite ones, the capacities sum past int64")
        values[arcs] = np.ceil(bound).astype(np.int64)
    return whole


def _throughput(
    network: FlowNetwork, finite: list[NDArray[Any]], infinite: list[NDArray[np.bool_]], *, outward: bool
) -> NDArray[np.float64]:
    """Return, per vertex, the sum of the capacities that lead out of it, or into it."""
    total = np.zeros(network.num_vertices)
    for direction, (values, mask) in enumerate(zip(finite, infinite, strict=True)):
        end = network.tail if (direction == 0) == outward else network.head
        weights = np.where(mask, np.inf, values.astype(np.float64))
        total += np.bincount(end, weights, minlength=network.num_vertices)
    return total


def _scaled(
    network: FlowNetwork,
    given: list[NDArray[np.float64]],
    bound: float,
) -> tuple[list[NDArray[np.int64]], int]:
    """Return float capacities as scaled integers, and the power of two of the scale."""
    if np.isinf(bound):
        raise CapacityOverflowError("the capacities at the source and the sink sum past float64")
    shift = -int(np.frexp(bound)[1])
    enough = np.ldexp(bound, shift) * (1 + 2.0**-20)
    loops = network.tail == network.head
    scaled = []
    for values in given:
        with np.errstate(over="ignore"):
            clipped = np.ldexp(values, shift)
        np.minimum(clipped, enough, out=clipped)
        clipped[loops] = 0.0
        scaled.append(clipped)
    total = sum(float(values.sum()) for values in scaled)
    fill = 61 - int(np.frexp(total)[1]) if total > 0 else 0
    for values in scaled:
        np.floor(np.ldexp(values, fill, out=values), out=values)
    return [values.astype(np.int64) for values in scaled], shift + fill


def _exact_sums(values: NDArray[np.int64]) -> tuple[int, int]:
    """Return two integers whose sum is the exact sum of non-negative `values`."""
    return int((values >> 31).sum()) << 31, int((values & (2**31 - 1)).sum())


def _check_bounded(
    network: FlowNetwork,
    infinite: list[NDArray[np.bool_]],
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
) -> None:
    """Raise UnboundedFlowError where infinite arcs lead from a source to a sink."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    root = network.num_vertices
    tail = [network.tail[infinite[0]], np.full(len(sources), root)]
    head = [network.head[infinite[0]], sources]
    if len(infinite) > 1:
        tail.append(network.head[infinite[1]])
        head.append(network.tail[infinite[1]])
    ends = (np.concatenate(tail).astype(np.int64), np.concatenate(head).astype(np.int64))
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(root + 1, root + 1))
    reached = breadth_first_order(graph, root, return_predecessors=False)
    unbounded = np.intersect1d(reached, sinks)
    if len(unbounded):
        sink = network.name(unbounded[0])
        raise UnboundedFlowError(
            f"the flow is unbounded: arcs of infinite capacity lead from a source to sink {sink}"
        )
