"""Capacities of a network as solvers use them: integers, and infinity as more than any flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import CapacityOverflowError, UnboundedFlowError
from ..parallel.pieces import run_pieces
from ..solving.read_only import read_only_view
from .network import EXACT_FLOAT, FlowNetwork, flow_bound, vertex_mask
from .scaling import EXACT, MARGIN, Rule, float_sum, limit_above, scaled

if TYPE_CHECKING:
    from .network_batch import FlowNetworkBatch

#: Number of values that are processed together: they fit a cache.
BLOCK = 1 << 15
#: Bits that the sum of all rounded capacities fills.
BITS_OF_SUM = 61
#: Floats from this one on do not fit int64.
MOST_FLOAT = 2.0**63


class SolvedCapacities(NamedTuple):
    """Capacities as integers."""

    capacity: Array
    reverse_capacity: Array | None
    #: capacities were multiplied by two to this power before rounding; None where they are exact
    scale_exponent: int | None = None
    limit: float = np.inf  #: the limit at which rounded capacities were cut off
    is_float: bool = False  #: whether the capacities of the input are floats

    def both(self) -> tuple[Array, Array]:
        """Return read-only views of the capacities and the reverse capacities; empty where there are none.

        They are always read-only so that kernels are compiled for one kind of array.
        """
        reverse = self.capacity[:0] if self.reverse_capacity is None else self.reverse_capacity
        return read_only_view(self.capacity), read_only_view(reverse)


def solved_capacities(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    threads: int,
    rule: Rule = EXACT,
) -> SolvedCapacities:
    """Return the capacities as solvers use them: integers, and infinity as more than any flow.

    Integers, and floats that are integers up to 2**53, stay unchanged unless `rule` says otherwise. Other
    floats are rounded, see :mod:`preflow.graph.scaling`. The bound on any flow is that of `rule` or, where it
    has none, :func:`preflow.graph.network.flow_bound`.
    """
    given = [network.capacity] + ([] if network.reverse_capacity is None else [network.reverse_capacity])
    is_float = network.capacity.dtype.kind == "f"
    rounded, has_infinite = rule.rounded, False
    if is_float:
        finite = given
        infinite = [np.isinf(values) for values in given]
        has_infinite = any(mask.any() for mask in infinite)
        if has_infinite:
            check_bounded(network, infinite, sources, sinks)
            finite = [np.where(mask, 0.0, values) for values, mask in zip(given, infinite, strict=True)]
        rounded = rounded or not all(are_whole(values, threads) for values in finite)
    exponent, limit = None, np.inf
    if rounded:
        bound = flow_bound(network, sources, sinks) if rule.bound is None else rule.bound
        limit = limit_above(float(bound))
        total = _at_terminals(network, given, sources, sinks, limit) if rule.finer else None
        given, exponent = _rounded(given, limit, total)
    elif has_infinite:
        given = _replace_infinite(network, given, sources, sinks, sum(map(float_sum, finite)))
    return SolvedCapacities(given[0], given[1] if len(given) > 1 else None, exponent, limit, is_float)


def is_whole(network: FlowNetwork | FlowNetworkBatch) -> bool:
    """Return whether all finite capacities are integers, up to 2**53 if they are floats."""
    given = [network.capacity] + ([] if network.reverse_capacity is None else [network.reverse_capacity])
    return all(map(are_whole, given))


def are_whole(values: Array, threads: int = 1) -> bool:
    """Return whether all finite values are integers, up to 2**53 if they are floats."""
    if values.dtype.kind != "f":
        return True

    def piece_is_whole(begin: int, end: int) -> bool:
        blocks = (values[start : min(start + BLOCK, end)] for start in range(begin, end, BLOCK))
        return all(
            np.all((block == np.rint(block)) & ((block <= EXACT_FLOAT) | np.isinf(block))) for block in blocks
        )

    return all(run_pieces(piece_is_whole, len(values), threads))


def _replace_infinite(
    network: FlowNetwork,
    given: list[NDArray[np.float64]],
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    bound: float,
) -> list[NDArray[np.int64]]:
    """Cut off integer capacities at values that no minimum cut reaches, which keeps their sums small.

    An arc is in no minimum cut if its capacity exceeds that of a known cut (`bound`), or the capacity into
    its tail, or the capacity out of its head: the cut with this end on the other side is cheaper. So one unit
    more than the smallest of these does not change the minimum cuts.
    """
    leaving, entering = (_throughput(network, given, outward=outward) for outward in (True, False))
    entering[sources] = leaving[sinks] = np.inf
    out = []
    for direction, values in enumerate(given):
        ends = (network.tail, network.head) if direction == 0 else (network.head, network.tail)
        most = np.minimum(entering[ends[0]], leaving[ends[1]])
        whole = np.minimum(values, np.floor(np.minimum(most, bound) * MARGIN) + 1)
        if not whole.max(initial=0) < MOST_FLOAT:
            raise CapacityOverflowError("the capacities that are not infinite sum past int64")
        out.append(whole.astype(np.int64))
    return out


def _throughput(network: FlowNetwork, given: list[Array], *, outward: bool) -> NDArray[np.float64]:
    """Return, for every vertex, the sum of the capacities out of it, or into it."""
    total = np.zeros(network.num_vertices)
    for direction, values in enumerate(given):
        end = network.tail if (direction == 0) == outward else network.head
        total += np.bincount(end, values, minlength=network.num_vertices)
    return total


def _at_terminals(
    network: FlowNetwork,
    given: list[Array],
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    limit: float,
) -> float:
    """Return the largest sum of capacities that solvers compute, where none is above `limit`.

    That is the sum of those out of the sources, or into the sinks, or of two opposite arcs.
    """
    is_source, is_sink = vertex_mask(network, sources), vertex_mask(network, sinks)
    leaving, entering = 0.0, 0.0
    with np.errstate(over="ignore"):
        for direction, values in enumerate(given):
            ends = (network.tail, network.head) if direction == 0 else (network.head, network.tail)
            leaving += float(np.minimum(values[is_source[ends[0]]], limit).sum(dtype=np.float64))
            entering += float(np.minimum(values[is_sink[ends[1]]], limit).sum(dtype=np.float64))
        return max(leaving, entering, 2 * limit)


def _rounded(
    given: list[Array], limit: float, total: float | None = None
) -> tuple[list[NDArray[np.int64]], int]:
    """Return rounded capacities and the exponent of their scale; `total` fills the bits if given."""
    if total is None:
        with np.errstate(over="ignore"):
            total = float(sum(np.minimum(values, limit).sum(dtype=np.float64) for values in given))
    num_terms = sum(map(len, given))
    magnitude = np.frexp(total)[1] if total < np.inf else np.frexp(limit)[1] + num_terms.bit_length()
    exponent = BITS_OF_SUM - int(magnitude) if total > 0 else 0
    if given[0].dtype.kind == "i":
        exponent = min(exponent, 0)
    whole = [scaled(values, exponent, limit, np).astype(np.int64) for values in given]
    for numbers, values in zip(whole, given, strict=True):
        if limit == np.finfo(np.float64).max and values.dtype.kind == "f":
            # No float is above the limit: one unit more keeps infinite arcs out of minimum cuts.
            numbers[np.isinf(values)] += 1
    return whole, exponent


def check_bounded(
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
