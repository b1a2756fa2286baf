"""Build the residual network on a GPU: the same network as :func:`preflow.graph.residual.build_residual`.

The input arcs between inner vertices are sorted by both ends of their pair, the smaller one first; each run
of equal keys is a pair. Atomic operations count degrees and assign the places of pairs, so the order of a
vertex's arcs differs from run to run. In dense networks the arcs are also sorted by their heads. That takes
another sort, but discharges then agree on the vertex to push to. Capacities come last: unless the caller had
them on the device, they are there only while they are added up, and again when the flow is recovered.

Memory, in bytes an input arc, with P pairs among A arcs. The ends take 8. Sorting takes 40: keys, the copy of
them that CuPy sorts, indices, and the second half of both for the radix sort. Afterwards 4 stay for the map
from input arcs and 32 P / A for the residual arcs, besides 8 P / A for keys or, later, 8 for capacities, 4 P
/ A for the arcs of pairs and, in dense networks, 4 P / A for their order. So the peak is at most 60, and 52
where the input is on the device already and its 16 bytes do not count. 32 P + 4 A stay, and 32 a vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, ArrayModule, Number
from ...cuda.runtime import Device
from ...cuda.structs import I64, U32, U64, ConstI64, ConstU32, ConstU64
from ...errors import CapacityOverflowError, InvalidInputError
from ...stats import Phase, untimed
from ..network import EXACT_FLOAT, INT64_MAX, TOO_MANY_VERTICES, DeviceFlowNetwork, FlowNetwork, exact_sum
from ..placement import require_memory
from ..scaling import EXACT, Rule, unscaled
from ..solved_capacities import SolvedCapacities, solved_capacities
from .residual import MOST_ARCS, VERTEX_BYTES, DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")
#: The key of an arc that is in no pair.
NO_PAIR = 2**64 - 1
MOST_PAIRS = MOST_ARCS // 2
#: Words in which the kernels write what they find.
Finding = IntEnum("Finding", "PAIR_OVERFLOW TERMINAL_OVERFLOW SHARED DIRECT_LOW DIRECT_HIGH", start=0)

#: Bytes per input arc: its ends and one capacity, where they are copied to the device; building, besides the
#: ends, before there are capacities; recovering the flow, besides the input.
ENDS, AMOUNT, BUILD, RECOVER = 8, 8, 52, 46
#: A network is dense from this number of arcs a vertex on. cuda-push-relabel took 10 ms on acyclic dense 6000
#: with the arcs of each vertex sorted and 83 ms without, for seven times the pushes (H200).
DENSE_DEGREE = 64


class InputArcs(NamedTuple):
    """The input arcs, and the residual vertices of their ends."""

    #: uint32, shape (num_arcs,)
    tail: ConstU32
    head: ConstU32
    #: uint32, shape (num_vertices of the input,): residual vertex of an input vertex; `num_inner` for a
    #: source, one more for a sink
    inner: ConstU32
    num_arcs: int
    num_inner: int


class KeysArguments(NamedTuple):
    """Arguments of "pair_keys"."""

    input: InputArcs
    key: U64


class PairsArguments(NamedTuple):
    """Arguments of "count_degrees" and "place_pairs"."""

    key: ConstU64  #: of every pair, in ascending order
    num_pairs: int
    degree: U32
    first_out: ConstU32
    arcs: Annotated[AnyArray, "Arc*"]
    arc_of_pair: U32


class SortedPairsArguments(NamedTuple):
    """Arguments of "place_pairs_in_order"."""

    key: ConstU64  #: of every pair, in ascending order
    order: ConstU32  #: the pairs by their larger ends, then by the smaller ones
    num_pairs: int
    lower_start: ConstU32  #: pairs whose larger end is below a vertex
    first_out: ConstU32
    arcs: Annotated[AnyArray, "Arc*"]
    arc_of_pair: U32


class FindArguments(NamedTuple):
    """Arguments of "find_arcs"."""

    input: InputArcs
    arc_of_pair: ConstU32
    arcs: Annotated[AnyArray, "const Arc*"]
    arc: U32  #: on entry the pair of each input arc


class FillArguments(NamedTuple):
    """Arguments of "fill_residual"."""

    input: InputArcs
    arc: ConstU32
    amount: ConstI64  #: capacities of the input arcs, or their reverse capacities
    backward: int  #: which of the two
    arcs: Annotated[AnyArray, "Arc*"]
    source_capacity: I64
    sink_capacity: I64
    findings: U64


class CheckArguments(NamedTuple):
    """Arguments of "check_pairs"."""

    arcs: Annotated[AnyArray, "const Arc*"]
    num_arcs: int
    findings: U64


class SwapArguments(NamedTuple):
    """Arguments of "swap_directions"."""

    arcs: Annotated[AnyArray, "Arc*"]
    num_arcs: int


@dataclass(eq=False)
class DeviceResidualNetwork:
    """A residual network on a GPU and the maps from its input to it."""

    device: Device
    arrays: DeviceNetwork
    #: uint32, shape (num_vertices of the input,): residual vertex of an input vertex; ``n`` for a source,
    #: ``n + 1`` for a sink
    inner: AnyArray
    #: uint32, shape (num_arcs of the input,): the residual arc of an input arc between two inner vertices;
    #: for other arcs it has no meaning
    arc: AnyArray
    #: whether two input arcs gave capacity to one residual arc, or to one vertex from the source or to the
    #: sink
    has_shared_arcs: bool
    #: flow that needs no search: from source to sink directly, or through one vertex
    constant_flow: int
    #: int64, shape (n,): capacity from the source to each vertex: the excess before any push
    source_capacity: AnyArray
    solved: SolvedCapacities  #: on the host, except for arrays that the caller has on the device

    @property
    def num_vertices(self) -> int:
        """Number of vertices without the terminals."""
        return self.arrays.num_vertices

    @property
    def nbytes(self) -> int:
        """Memory on the device."""
        net = self.arrays
        arrays = (net.first_out, net.arcs, net.excess, net.sink_residual)
        return sum(int(array.nbytes) for array in (*arrays, self.inner, self.arc, self.source_capacity))

    def input_arcs(self, network: FlowNetwork) -> InputArcs:
        """Return the input arcs on the device; `network` is the input."""
        return _input_arcs(self.device, network, self.inner, self.num_vertices)

    def amounts(self) -> list[tuple[int, Callable[[], Any]]]:
        """Return (0, function) for the capacities and (1, function) for the reverse ones, if there are any.

        Each function copies them to the device.
        """
        return _amounts(self.device, self.solved)

    def in_input_units(self, amount: Number) -> Number:
        """Return an amount of flow, or an array of amounts on the device, in the unit of the input."""
        exponent, is_float = self.solved.scale_exponent, self.solved.is_float
        return unscaled(amount, exponent, is_float=is_float, xp=self.device.xp)

    def by_input_vertex(self, inner: Any, source: bool, sink: bool) -> AnyArray:
        """Return one bool per input vertex, from one per residual vertex and those of sources and sinks."""
        xp = self.device.xp
        return xp.concatenate([inner, xp.asarray([source, sink])])[self.inner]

    def swap_directions(self) -> None:
        """Reverse every residual arc, in place."""
        arcs = self.arrays.arcs
        self.device.share(SOURCE, "swap_directions", len(arcs), SwapArguments(arcs=arcs, num_arcs=len(arcs)))


def bytes_needed(network: FlowNetwork) -> int:
    """Return the peak memory on a GPU of a solve, besides the network's own arrays there.

    At most 62 bytes an input arc, 52 where the arcs are on the device (8 or 6 more for float capacities) and
    72 a vertex. Recovering a flow takes 60 to 90 more for each arc that shares a residual arc with others;
    they are not counted.
    """
    resident = isinstance(network, DeviceFlowNetwork)
    ends = 0 if resident else ENDS
    amount = AMOUNT if not resident or network.capacity.dtype.kind == "f" else 0
    if not resident and network.capacity.dtype.kind == "f":
        amount *= 2
    return network.num_arcs * (ends + max(BUILD, amount + RECOVER)) + network.num_vertices * VERTEX_BYTES


def build_on_device(
    device: Device,
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    *,
    threads: int = 1,
    rule: Rule = EXACT,
    phase: Phase = untimed,
) -> DeviceResidualNetwork:
    """Build the residual network on a GPU; O(n + m), by a radix sort.

    The network is on the host, or on this GPU. Float capacities that are not all whole are prepared on the
    host, by `threads`. Sources and sinks are distinct vertices, at least one of each. `phase` gives a context
    for a part of the work: "upload" or "build".

    DeviceMemoryError, before anything is allocated, if it does not fit the free memory; InvalidInputError if
    there are more vertices or residual arcs than 32 bits number; and the errors of
    :func:`preflow.graph.residual.build_residual`.
    """
    if network.num_vertices >= TOO_MANY_VERTICES:
        raise InvalidInputError(
            f"{network.num_vertices:,} vertices are too many for a GPU: at most 2**32 - 5"
        )
    what = f"{network.num_arcs:,} arcs and {network.num_vertices:,} vertices"
    require_memory(device, bytes_needed(network), what)
    with phase("build"):
        solved = _solved_capacities(network, sources, sinks, threads, rule)
        num_inner = network.num_vertices - len(sources) - len(sinks)
        inner = _inner_numbers(device, network.num_vertices, sources, sinks)
    with phase("upload"):
        arcs = _input_arcs(device, network, inner, num_inner)
    with phase("build"):
        first_out, residual_arcs, arc = _build_pairs(device, arcs)
        source_capacity, sink_capacity = (device.xp.zeros(num_inner, dtype=np.int64) for _ in range(2))
        findings = device.xp.zeros(len(Finding), dtype=np.uint64)
    for backward, put_on_device in _amounts(device, solved):
        with phase("upload"):
            amount = put_on_device()
        with phase("build"):
            filling = FillArguments(
                input=arcs,
                arc=arc,
                amount=amount,
                backward=backward,
                arcs=residual_arcs,
                source_capacity=source_capacity,
                sink_capacity=sink_capacity,
                findings=findings,
            )
            device.share(SOURCE, "fill_residual", arcs.num_arcs, filling)
            del amount, filling
    with phase("build"):
        checking = CheckArguments(arcs=residual_arcs, num_arcs=len(residual_arcs), findings=findings)
        device.share(SOURCE, "check_pairs", len(residual_arcs), checking)
        found = device.to_host(findings).tolist()
        del arcs
        constant = _constant_flow(device, found, source_capacity, sink_capacity)
        return DeviceResidualNetwork(
            device,
            DeviceNetwork(
                first_out=first_out,
                arcs=residual_arcs,
                excess=source_capacity.copy(),
                sink_residual=sink_capacity,
                num_vertices=num_inner,
            ),
            inner,
            arc,
            bool(found[Finding.SHARED]),
            constant,
            source_capacity,
            solved,
        )


def _solved_capacities(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    threads: int,
    rule: Rule,
) -> SolvedCapacities:
    given = [network.capacity] + ([] if network.reverse_capacity is None else [network.reverse_capacity])
    if isinstance(network, DeviceFlowNetwork):
        is_float = given[0].dtype.kind == "f"
        if rule == EXACT and all(not is_float or _are_whole(network.xp, values) for values in given):
            return SolvedCapacities(given[0], given[1] if len(given) > 1 else None, is_float=is_float)
        network = network.on_host()
    return solved_capacities(network, sources, sinks, threads, rule)


def _are_whole(xp: ArrayModule, values: AnyArray) -> bool:
    return len(values) == 0 or bool(values.max() <= EXACT_FLOAT and xp.all(values == xp.rint(values)))


def _amounts(device: Device, solved: SolvedCapacities) -> list[tuple[int, Callable[[], Any]]]:
    given = [solved.capacity] + ([] if solved.reverse_capacity is None else [solved.reverse_capacity])

    def putting(values: AnyArray) -> Callable[[], Any]:
        return lambda: device.xp.asarray(values).astype(np.int64, copy=False)

    return [(backward, putting(values)) for backward, values in enumerate(given)]


def _input_arcs(device: Device, network: FlowNetwork, inner: Any, num_inner: int) -> InputArcs:
    return InputArcs(
        tail=device.xp.asarray(network.tail),
        head=device.xp.asarray(network.head),
        inner=inner,
        num_arcs=network.num_arcs,
        num_inner=num_inner,
    )


def _inner_numbers(
    device: Device, num_vertices: int, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> AnyArray:
    xp = device.xp
    terminals = xp.asarray(np.sort(np.concatenate([sources, sinks])).astype(np.uint32))
    inner = xp.arange(num_vertices, dtype=np.uint32)
    inner -= xp.searchsorted(terminals, inner).astype(np.uint32)
    num_inner = num_vertices - len(terminals)
    inner[xp.asarray(sources)] = num_inner
    inner[xp.asarray(sinks)] = num_inner + 1
    return inner


def _build_pairs(device: Device, arcs: InputArcs) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return `first_out`, the residual arcs without capacities, and the one of each input arc."""
    xp = device.xp
    key, pair = _find_pairs(device, arcs)
    degree = xp.zeros(arcs.num_inner, dtype=np.uint32)
    first_out = xp.zeros(arcs.num_inner + 1, dtype=np.uint32)
    pairs = PairsArguments(
        key=key, num_pairs=len(key), degree=degree, first_out=first_out, arcs=key[:0], arc_of_pair=degree[:0]
    )
    device.share(SOURCE, "count_degrees", len(key), pairs)
    first_out[1:] = xp.cumsum(degree, dtype=np.uint32)
    order, lower_start = None, None
    if 2 * len(key) >= DENSE_DEGREE * arcs.num_inner:
        order, lower_start = _by_larger_end(device, key, arcs.num_inner)
    residual_arcs = xp.empty((2 * len(key), 2), dtype=np.int64)
    arc_of_pair = xp.empty(len(key), dtype=np.uint32)
    if order is None:
        pairs = pairs._replace(arcs=residual_arcs, arc_of_pair=arc_of_pair)
        device.share(SOURCE, "place_pairs", len(key), pairs)
    else:
        ordered = SortedPairsArguments(
            key=key,
            order=order,
            num_pairs=len(key),
            lower_start=lower_start,
            first_out=first_out,
            arcs=residual_arcs,
            arc_of_pair=arc_of_pair,
        )
        device.share(SOURCE, "place_pairs_in_order", len(key), ordered)
        del ordered
    del pairs, key, order
    device.share(
        SOURCE,
        "find_arcs",
        arcs.num_arcs,
        FindArguments(input=arcs, arc_of_pair=arc_of_pair, arcs=residual_arcs, arc=pair),
    )
    return first_out, residual_arcs, pair


def _by_larger_end(device: Device, key: Any, num_inner: int) -> tuple[AnyArray, AnyArray]:
    """Return the pairs in the order of their larger ends, and the number of pairs below each end."""
    xp = device.xp
    larger = key.astype(np.uint32)
    order = device.argsort(larger).astype(np.uint32)
    lower_start = xp.searchsorted(larger[order], xp.arange(num_inner + 1, dtype=np.uint32))
    return order, lower_start.astype(np.uint32)


def _find_pairs(device: Device, arcs: InputArcs) -> tuple[AnyArray, AnyArray]:
    """Return the key of each pair, ascending, and the pair of each input arc between inner vertices."""
    xp = device.xp
    key = xp.empty(arcs.num_arcs, dtype=np.uint64)
    device.share(SOURCE, "pair_keys", arcs.num_arcs, KeysArguments(input=arcs, key=key))
    num_inside = int(xp.count_nonzero(key != np.uint64(NO_PAIR)))
    order = device.argsort(key)[:num_inside]
    key = key[order]
    is_first = xp.ones(num_inside, dtype=bool)
    is_first[1:] = key[1:] != key[:-1]
    key = key[is_first]
    if len(key) > MOST_PAIRS:
        raise InvalidInputError(
            f"{2 * len(key):,} residual arcs are too many for a GPU: at most 2**32 - 1024"
        )
    position = xp.cumsum(is_first, dtype=np.uint32)
    position -= np.uint32(1)
    del is_first
    pair = xp.zeros(arcs.num_arcs, dtype=np.uint32)
    pair[order] = position
    return key, pair


def _constant_flow(
    device: Device, found: list[int], source_capacity: AnyArray, sink_capacity: AnyArray
) -> int:
    """Remove from both capacities the amount that a vertex can pass on; return the constant flow."""
    if found[Finding.PAIR_OVERFLOW]:
        raise CapacityOverflowError("the capacities of parallel or antiparallel arcs sum past int64")
    direct = (found[Finding.DIRECT_HIGH] << 32) + found[Finding.DIRECT_LOW]
    if found[Finding.TERMINAL_OVERFLOW] or any(
        exact_sum(capacities) + direct > INT64_MAX for capacities in (source_capacity, sink_capacity)
    ):
        raise CapacityOverflowError("the capacities at the source or the sink sum past int64")
    through = device.xp.minimum(source_capacity, sink_capacity)
    source_capacity -= through
    sink_capacity -= through
    return direct + int(exact_sum(through))
