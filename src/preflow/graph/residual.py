"""The residual network, on which every general solver works.

Source and sink are not vertices of it. Arcs out of a source are initial excess, arcs into a sink are
``sink_residual``; arcs into a source or out of a sink can carry no useful flow. Antiparallel arcs share one
pair of residual arcs, parallel arcs are merged. The amount that a vertex could send straight from the source
to the sink is removed as constant flow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, Number
from ..errors import CapacityOverflowError
from ..kernels import csr_build
from ..parallel.pieces import run_pieces
from .network import INT64_MAX, FlowNetwork
from .scaling import EXACT, Rule, unscaled
from .solved_capacities import SolvedCapacities, solved_capacities

#: Input arcs per building thread: on an EPYC two threads are faster from 200,000 to 360,000 arcs on.
ARCS_A_THREAD = 150_000
#: Input arcs are scattered if in a sample of SAMPLE arcs more than half leave a vertex whose number is more
#: than NEAR away from that of the arc before. Capacities of such arcs are filled in by blocks of BLOCK arcs.
#: That took 0.4 of the time on 0.8 million arcs between superpixels in random order, and 1.3 to 1.7 on sorted
#: arcs. Fewer than FEWEST_SCATTERED arcs fit in a cache.
SAMPLE, NEAR, BLOCK, FEWEST_SCATTERED = 256, 64, 64, 100_000
#: Vertices are numbered again if heads of successive vertices lie in this many cache lines a head. Random
#: numbers need 0.8 to 1, natural numbers of meshes, energies and roads 0.05 to 0.3. Arrays of fewer vertices
#: than FEWEST_RENUMBERED are in a cache: superpixels gain from 40,000 on.
SCATTERED_HEADS, FEWEST_RENUMBERED = 0.5, 1 << 15


class ResidualArrays(NamedTuple):
    """The arrays of a residual network that kernels read and change in place."""

    #: uint32 or uint64, shape (n + 1,): the residual arcs of vertex ``v`` are
    #: ``first_out[v] .. first_out[v + 1] - 1``
    first_out: Array
    #: the same dtype, shape (m,): head of an arc, and the index of its opposite
    head: Array
    reverse: Array
    residual: Array  #: int32 or int64, shape (m,): residual capacity
    excess: Array  #: int64, shape (n,): at first the capacity from the source to the vertex
    sink_residual: Array  #: int64, shape (n,): residual capacity from the vertex to the sink


@dataclass(eq=False)
class ResidualNetwork:
    """A residual network and the maps from its input to it."""

    arrays: ResidualArrays
    #: uint32 or uint64, shape (num_vertices of the input,): residual vertex of an input vertex; ``n`` for a
    #: source, ``n + 1`` for a sink
    inner: Array
    #: uint8, uint16, uint32 or uint64, shape (num_arcs of the input,): rank of an input arc between two inner
    #: vertices among the residual arcs of its tail
    rank: Array
    #: whether any residual arc got capacity from two input arcs; whether the capacity of any vertex from the
    #: source, or to the sink, comes from two input arcs
    has_shared_arcs: bool
    has_shared_terminals: bool
    #: flow that needs no search: from source to sink directly, or through one vertex
    constant_flow: int
    solved: SolvedCapacities  #: the integer capacities that are solved

    @property
    def num_vertices(self) -> int:
        """Number of vertices without the terminals."""
        return len(self.arrays.excess)

    @property
    def num_arcs(self) -> int:
        """Number of residual arcs: two for each pair of adjacent vertices."""
        return len(self.arrays.head)

    def input_arcs(self, network: FlowNetwork) -> csr_build.InputArcs:
        """Return the input arcs with their solved capacities; `network` is the input."""
        return csr_build.InputArcs(network.tail, network.head, *self.solved.both(), self.inner)

    def source_capacity(self, network: FlowNetwork) -> Array:
        """Return the capacity from the source to each vertex: the excess before any push."""
        return _terminal_capacities(self.input_arcs(network), self.num_vertices, 1).source

    def in_input_units(self, amount: Number) -> Number:
        """Return an amount of flow, or an array of amounts, in the unit of the input."""
        return unscaled(amount, self.solved.scale_exponent, is_float=self.solved.is_float)

    def initial_residual(self, network: FlowNetwork) -> Array:
        """Return the residual capacities before any push; `network` is the input."""
        net = self.arrays
        initial = np.zeros_like(net.residual)
        csr_build.fill_residual(
            self.input_arcs(network),
            csr_build.Pairs(net.first_out, net.head, net.reverse, self.rank),
            0,
            network.num_arcs,
            True,
            initial,
            np.int64(INT64_MAX),
            np.empty(BLOCK if _scattered(network.tail) else 0, dtype=np.uint64),
        )
        return initial


def build_residual(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    index_dtype: type[np.unsignedinteger[Any]] | None = None,
    threads: int = 1,
    rule: Rule = EXACT,
    check_wanted: Callable[[], None] = lambda: None,
    *,
    renumber: bool = False,
) -> ResidualNetwork:
    """Build the residual network by counting sort, in O(n + m).

    Sources and sinks are distinct vertices, at least one of each. Indices have the smallest dtype that fits,
    unless `index_dtype` says which. Small networks are built by one thread; the arrays are the same.
    `check_wanted` is called between steps, each of which takes a part of the time; it may raise. With
    `renumber`, vertices of a large network get breadth-first numbers if theirs are scattered.

    CapacityOverflowError if capacities of one pair, out of the sources or into the sinks sum past int64;
    UnboundedFlowError if a source reaches a sink over arcs of infinite capacity.
    """
    threads = min(threads, max(1, network.num_arcs // ARCS_A_THREAD))
    if network.num_arcs > network.num_vertices**2:
        threads = 1  # parallel arcs: threads would wait for each other to add to the same residual arc
    solved = solved_capacities(network, sources, sinks, threads, rule)
    check_wanted()
    if index_dtype is None:
        entries = 2 * max(network.num_arcs, network.num_vertices)
        index_dtype = np.uint32 if entries < 2**32 - 4 else np.uint64
    num_inner = network.num_vertices - len(sources) - len(sinks)
    inner = _inner_numbers(network.num_vertices, sources, sinks, index_dtype, threads)
    arcs = csr_build.InputArcs(network.tail, network.head, *solved.both(), inner)
    width = np.dtype(np.int32 if _largest(arcs, threads) <= np.iinfo(np.int32).max else np.int64).itemsize
    check_wanted()
    if threads == 1:
        built = _build_pairs(arcs, num_inner, width, check_wanted)
    else:
        from ..parallel.csr_build import build_pairs  # 10 ms to import

        pairs, distinct = build_pairs(arcs, num_inner, threads, check_wanted)
        built = _Built(pairs, distinct)
    check_wanted()
    residual, shared = _residual_capacities(arcs, built, width, threads)
    check_wanted()
    first_out, head, reverse, rank = built.pairs
    if renumber and num_inner >= FEWEST_RENUMBERED:
        first_out, head, reverse, residual, inner = _in_local_order(first_out, head, reverse, residual, inner)
        arcs = arcs._replace(inner=inner)
        check_wanted()
    terminals = _terminal_capacities(arcs, num_inner, threads)
    arrays = ResidualArrays(first_out, head, reverse, residual, terminals.source, terminals.sink)
    return ResidualNetwork(arrays, inner, rank, shared, terminals.shared, terminals.constant, solved)


def _largest(arcs: csr_build.InputArcs, threads: int) -> int:
    """Return the largest capacity."""
    both = (arcs.capacity, arcs.reverse_capacity)
    largest = run_pieces(
        lambda begin, end: max(int(values[begin:end].max(initial=0)) for values in both),
        len(arcs.capacity),
        threads,
    )
    return max(largest)


class _Terminals(NamedTuple):
    """The capacities at the terminals, without what a vertex can pass on from the source to the sink."""

    #: int64, shape (n,): from the source to each vertex, and from each vertex to the sink
    source: Array
    sink: Array
    constant: int  #: the constant flow
    shared: bool  #: whether a capacity comes from two input arcs


def _terminal_capacities(arcs: csr_build.InputArcs, num_inner: int, threads: int) -> _Terminals:
    """Add up the capacities at the terminals."""
    source_capacity = np.zeros(num_inner, dtype=np.int64)
    sink_capacity = np.zeros(num_inner, dtype=np.int64)
    limit = np.int64(INT64_MAX)
    parts = run_pieces(
        lambda begin, end: csr_build.terminal_capacities(
            arcs, begin, end, threads == 1, source_capacity, sink_capacity, limit
        ),
        len(arcs.tail),
        threads,
    )
    amounts, from_sources, to_sinks, within, shared = zip(*parts, strict=True)
    direct = sum(map(int, amounts))
    if not (
        all(within)
        and _sum_fits(source_capacity, sum(from_sources), direct)
        and _sum_fits(sink_capacity, sum(to_sinks), direct)
    ):
        raise CapacityOverflowError("the capacities at the source or the sink sum past int64")
    through = run_pieces(
        lambda begin, end: int(csr_build.take_through_capacity(source_capacity, sink_capacity, begin, end)),
        num_inner,
        threads,
    )
    return _Terminals(source_capacity, sink_capacity, direct + sum(through), any(shared))


class _Filled(NamedTuple):
    """Residual capacities, and what their kernel says of them: see :func:`csr_build.fill_residual`."""

    residual: Array
    largest: int
    within: bool
    shared: bool


class _Built(NamedTuple):
    """The residual arcs."""

    pairs: csr_build.Pairs
    distinct: bool = False  #: whether no two input arcs are known to add to one residual arc
    filled: _Filled | None = None  #: their capacities, in the width that was asked for, if they are known


def _build_pairs(
    arcs: csr_build.InputArcs, num_inner: int, width: int, check_wanted: Callable[[], None]
) -> _Built:
    """Return the residual arcs with their capacities in integers of `width` bytes."""
    first = np.zeros(num_inner + 1, dtype=arcs.inner.dtype)
    residual_dtype = np.int32 if width == 4 else np.int64
    one_way = len(arcs.reverse_capacity) == 0
    if one_way and _may_be_sorted(arcs, num_inner) and csr_build.count_sorted_pairs(arcs, first):
        return _build_sorted_pairs(arcs, first, residual_dtype)
    first[:] = 0
    csr_build.count_by_smaller_end(arcs, first)
    np.cumsum(first, out=first)
    count = int(first[-1])
    order, larger_end = np.empty((2, count), dtype=first.dtype)
    csr_build.sort_by_smaller_end(arcs, first, order, larger_end, num_inner)
    check_wanted()
    group_end = first[:-1]
    first_out = np.zeros(num_inner + 1, dtype=first.dtype)
    latest = np.zeros_like(group_end)
    csr_build.count_pairs(group_end, larger_end, latest, first_out)
    check_wanted()
    pairs = _room_for_pairs(arcs, first_out)
    residual: Array = np.empty(len(pairs.head), dtype=residual_dtype)
    free, latest = (latest, latest[:0]) if len(residual) == 2 * count else (np.empty_like(latest), latest)
    free[:] = first_out[:-1]
    limit = np.int64(np.iinfo(residual_dtype).max)
    sorted_arcs = csr_build.SortedArcs(group_end, order, larger_end)
    largest, within, shared = csr_build.place_pairs(arcs, sorted_arcs, free, latest, pairs, residual, limit)
    return _Built(pairs, filled=_Filled(residual, int(largest), within, shared))


def _may_be_sorted(arcs: csr_build.InputArcs, num_inner: int) -> bool:
    """Whether a sample of the arcs between inner vertices comes sorted by the smaller end."""
    step = max(1, len(arcs.tail) // SAMPLE)
    tail, head = arcs.inner[arcs.tail[::step]], arcs.inner[arcs.head[::step]]
    low = np.minimum(tail, head)[np.maximum(tail, head) < num_inner]
    return bool((low[1:] >= low[:-1]).all())


def _build_sorted_pairs(arcs: csr_build.InputArcs, first_out: Array, residual_dtype: DTypeLike) -> _Built:
    """Return the residual arcs with their capacities, of arcs that come sorted by their pairs."""
    pairs = _room_for_pairs(arcs, first_out)
    residual: Array = np.zeros(len(pairs.head), dtype=residual_dtype)
    csr_build.place_sorted_pairs(arcs, first_out[:-1].copy(), pairs, residual)
    return _Built(pairs, filled=_Filled(residual, 0, True, False))


def _room_for_pairs(arcs: csr_build.InputArcs, first_out: Array) -> csr_build.Pairs:
    """Return arrays for the pairs, of any content but for `first_out`."""
    head, reverse = np.empty((2, int(first_out[-1])), dtype=first_out.dtype)
    most_arcs = int(np.diff(first_out).max(initial=0))
    return csr_build.Pairs(
        first_out, head, reverse, np.empty(len(arcs.tail), dtype=np.min_scalar_type(most_arcs))
    )


def _residual_capacities(
    arcs: csr_build.InputArcs, built: _Built, width: int, threads: int
) -> tuple[Array, bool]:
    """Return the residual capacities in the smallest dtype that fits the sum of every pair.

    Also returns whether any of them comes from two input arcs.
    """
    for dtype in (np.int32, np.int64):
        if np.dtype(dtype).itemsize < width:
            continue
        limit = np.int64(np.iinfo(dtype).max)
        if built.filled is not None and built.filled.residual.dtype == dtype:
            filled = built.filled
        else:
            filled = _fill(arcs, built, np.zeros(len(built.pairs.head), dtype=dtype), limit, threads)
        residual, largest, within, shared = filled
        if within and (largest <= limit // 2 or _pairs_within(residual, built.pairs.reverse, limit, threads)):
            return residual, shared
    raise CapacityOverflowError("the capacities of parallel or antiparallel arcs sum past int64")


def _in_local_order(
    first_out: Array, head: Array, reverse: Array, residual: Array, inner: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the arrays with vertices in breadth-first order if that brings their neighbours closer."""
    from ..kernels.breadth_first_numbers import Rows, number_breadth_first  # only large networks need it

    scattered = _scatter_of_heads(first_out, head)
    if scattered < SCATTERED_HEADS:
        return first_out, head, reverse, residual, inner
    n = len(first_out) - 1
    number, queue = np.full(n + 2, n, dtype=head.dtype), np.empty(n, dtype=head.dtype)
    number[n + 1] += 1
    new_head, new_reverse = np.empty((2, len(head)), dtype=head.dtype)
    new_first_out, new_residual = np.empty_like(first_out), np.empty_like(residual)
    new = Rows(new_first_out, new_head, new_reverse, new_residual)
    done = number_breadth_first(Rows(first_out, head, reverse, residual), number[:n], queue, new)
    if not done or _scatter_of_heads(new_first_out, new_head) > scattered / 2:
        return first_out, head, reverse, residual, inner
    return *new, number[inner]


def _scatter_of_heads(first_out: Array, head: Array) -> float:
    """Return how many cache lines hold the numbers of the heads of successive vertices, per head."""
    from ..kernels.breadth_first_numbers import LOG_OF_LINE, lines_of_heads

    seen = np.zeros((len(first_out) >> int(LOG_OF_LINE)) + 1, dtype=head.dtype)
    lines, heads = lines_of_heads(first_out, head, seen)
    return int(lines) / max(1, int(heads))


def _fill(arcs: csr_build.InputArcs, built: _Built, residual: Array, limit: Number, threads: int) -> _Filled:
    alone = threads == 1 or built.distinct
    size = BLOCK if _scattered(arcs.tail) else 0
    filled = run_pieces(
        lambda begin, end: csr_build.fill_residual(
            arcs, built.pairs, begin, end, alone, residual, limit, np.empty(size, dtype=np.uint64)
        ),
        len(built.pairs.rank),
        threads,
    )
    largest, fits, shared = zip(*filled, strict=True)
    return _Filled(residual, max(largest), all(fits), any(shared))


def _scattered(tail: Array) -> bool:
    """Whether most arcs leave a vertex far from that of the arc before them, judged from a sample."""
    if len(tail) < FEWEST_SCATTERED:
        return False
    sample = np.arange(0, len(tail) - 1, len(tail) // SAMPLE)
    steps = tail[sample + 1].astype(np.int64) - tail[sample].astype(np.int64)
    return bool(2 * np.count_nonzero(np.abs(steps) > NEAR) > len(steps))


def _pairs_within(residual: Array, reverse: Array, limit: Number, threads: int) -> bool:
    return all(
        run_pieces(
            lambda begin, end: csr_build.pairs_within(residual, reverse, limit, begin, end),
            len(residual),
            threads,
        )
    )


def _sum_fits(capacities: Array, rough_sum: float, direct: int) -> bool:
    if rough_sum + direct < 2.0**62:
        return True
    total: int = sum(capacities.tolist())
    return total + direct <= INT64_MAX


def _inner_numbers(
    num_vertices: int, sources: NDArray[np.int64], sinks: NDArray[np.int64], dtype: DTypeLike, threads: int
) -> Array:
    terminals = np.sort(np.concatenate([sources, sinks]))
    inner = np.empty(num_vertices, dtype=dtype)
    run_pieces(
        lambda begin, end: csr_build.number_inner(
            terminals, np.searchsorted(terminals, begin), inner, begin, end
        ),
        num_vertices,
        threads,
    )
    num_inner = num_vertices - len(terminals)
    inner[sources] = num_inner
    inner[sinks] = num_inner + 1
    return inner
