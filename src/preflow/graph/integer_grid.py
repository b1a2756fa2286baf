"""Grids as solvers use them: integer capacities, and infinity as more than any flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import AnyArray, ArrayModule, DType
from ..errors import CapacityOverflowError, UnboundedFlowError
from .grid import GridNetwork, Pair, grid_pairs
from .grid_input import compact
from .neighbourhood import Box, pair_boxes
from .network import EXACT_FLOAT, INT64_MAX, exact_sum
from .scaling import EXACT, Rule, float_sum, limit_above, scaled, sum_slack, unscaled

#: Bits that rounded capacities fill where no scale makes them integers exactly: more than a float32 has, and
#: the number that leaves room for sums in int64.
BITS_OF_SINGLE, BITS_OF_DOUBLE = 30, 61
#: Dtypes of residual capacities, and of excess.
RESIDUAL_DTYPES = (np.int16, np.int32, np.int64)
EXCESS_DTYPES = (np.int32, np.int64)
LARGEST = {dtype: int(np.iinfo(dtype).max) for dtype in RESIDUAL_DTYPES}
#: Entries whose digits are counted together: they fit a cache.
BLOCK = 1 << 15
#: By what factor a sum in float64 may be too small.
ROUNDING = 1 + 2.0**-40
#: Larger floats do not matter, since no sum of capacities is larger; this one fits int64 with either sign.
MOST_FLOAT = 2.0**62
#: The difference of two integers of at most this size, one of them negative, fits int64.
MOST_BESIDE_NEGATIVE = 2**62 - 1


@dataclass(frozen=True, eq=False)
class IntegerGrid:
    """A grid whose capacities are integers: the input of the solvers."""

    shape: tuple[int, ...]
    offsets: NDArray[np.int64]  #: shape (2 K, ndim): see :class:`preflow.GridNetwork`
    #: int16, int32 or int64, shape `shape`: may be views with strides of 0
    source: AnyArray
    sink: AnyArray
    #: int16, int32 or int64, shape (K, *shape) or (2 K, *shape): may be such a view. Entries of arcs that
    #: leave the grid have no meaning.
    neighbor: AnyArray
    symmetric: bool  #: whether `neighbor` has K rows
    #: the largest capacity from the source or to the sink, and between neighbours
    largest_terminal: int
    largest_neighbor: int
    #: capacities were multiplied by two to this power; None where they are those of the network
    scale_exponent: int | None = None
    #: the amount that was removed from both `source` and `sink`, in the unit of the network
    constant_flow: int | float = 0
    #: whether the smaller terminal capacity of every pixel was removed from both, and the rest was cut off
    #: where no minimum cut can depend on it
    reduced: bool = False
    #: the limit at which capacities between neighbours were cut off, or the largest of them. Infinite where
    #: the same limit allows finer integers.
    limit: float = np.inf

    @property
    def xp(self) -> ArrayModule:
        """The array module: NumPy, or CuPy where the arrays are on a GPU."""
        kind = type(self.source)
        return np if kind is np.ndarray else import_module(kind.__module__.partition(".")[0])

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    @property
    def num_pairs(self) -> int:
        """K, the number of pairs of opposite directions."""
        return len(self.offsets) // 2

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """The step of each direction in C order, shape (2 K,); 0 if it leaves the grid from every pixel."""
        strides = np.cumprod([1, *self.shape[:0:-1]], dtype=np.int64)[::-1]
        return np.where((np.abs(self.offsets) < self.shape).all(axis=1), self.offsets @ strides, 0)

    @cached_property
    def padding(self) -> int:
        """How many unused numbers come before the first pixel in a state of the grid."""
        return int(np.abs(self.steps).max(initial=0))

    def boxes(self, pair: int) -> tuple[Box, Box]:
        """Return the boxes of pixels at which forward arcs of a pair of directions begin, and end."""
        return pair_boxes(self.shape, self.offsets[2 * pair])

    def pairs(self) -> Iterator[Pair]:
        """Yield the arcs, two opposite directions at a time."""
        return grid_pairs(self.shape, self.offsets, self.neighbor, self.symmetric)

    @cached_property
    def residual_dtype(self) -> DType:
        """The smallest dtype for the residual capacity of any arc, whatever the flow.

        CapacityOverflowError: the residual capacity of an arc may not fit int64.
        """
        needed = 2 * self.largest_neighbor
        if not self.symmetric and _fitting(RESIDUAL_DTYPES, needed) != _fitting(
            RESIDUAL_DTYPES, self.largest_neighbor
        ):
            needed = max(_largest_sum(pair.forward, pair.backward) for pair in self.pairs())
        dtype = _fitting(RESIDUAL_DTYPES, needed)
        if dtype is None:
            raise CapacityOverflowError("two opposite capacities between neighbours sum past int64")
        return dtype

    @cached_property
    def excess_bound(self) -> float:
        """A bound on the excess or deficit of every pixel, whatever the flow."""
        quick = float(self.largest_terminal + len(self.offsets) * self.largest_neighbor)
        if quick <= np.iinfo(EXCESS_DTYPES[0]).max:
            return quick
        net = abs(self.source.astype(np.float64) - self.sink)
        return float((net + incident_capacity(self, np.float64)).max()) * ROUNDING

    @cached_property
    def excess_dtype(self) -> DType:
        """The smaller of int32 and int64 that fits the excess or deficit of any pixel, whatever the flow.

        CapacityOverflowError: that of a pixel may not fit int64.
        """
        dtype = _fitting(EXCESS_DTYPES, self.excess_bound)
        if dtype is None:
            raise CapacityOverflowError("the capacities at a pixel sum past int64")
        return dtype

    def in_network_units(self, amount: int) -> int | float:
        """Return a sum of these capacities, plus the constant flow, in the unit of the network."""
        is_float = isinstance(self.constant_flow, float)
        given: int | float = unscaled(amount, self.scale_exponent, is_float=is_float)
        return given + self.constant_flow

    @property
    def bytes_placed(self) -> int:
        """Bytes of the arrays that :meth:`placed` makes."""
        sizes = (
            (2 * self.size, self.largest_terminal),
            (len(self.neighbor) * self.size, self.largest_neighbor),
        )
        dtypes = [_fitting(RESIDUAL_DTYPES, largest) or np.dtype(np.int64) for _, largest in sizes]
        return sum(size * dtype.itemsize for (size, _), dtype in zip(sizes, dtypes, strict=True))

    def placed(self, xp: ArrayModule, place: Callable[[Any], Any]) -> IntegerGrid:
        """Return the grid with its arrays moved by `place`, in C order and in the array module `xp`."""

        def moved(values: AnyArray, largest: int) -> AnyArray:
            # Transfers between host and device are slow: transfer the smallest dtype.
            narrow = compact(values).astype(_fitting(RESIDUAL_DTYPES, largest), copy=False)
            return xp.ascontiguousarray(xp.broadcast_to(place(narrow), values.shape))

        return replace(
            self,
            source=moved(self.source, self.largest_terminal),
            sink=moved(self.sink, self.largest_terminal),
            neighbor=moved(self.neighbor, self.largest_neighbor),
        )


def incident_capacity(grid: IntegerGrid | GridNetwork, dtype: DTypeLike, limit: float = np.inf) -> AnyArray:
    """Return, for every pixel, the larger of the capacities of all arcs to neighbours and from them.

    No arc counts more than `limit`.
    """
    xp = grid.xp
    ways = 1 if grid.symmetric else 2
    total = xp.zeros((ways, *grid.shape), dtype=dtype)
    with np.errstate(over="ignore"):
        for pair in grid.pairs():
            forward, backward = pair.forward, pair.backward
            if limit < np.inf:
                forward, backward = (
                    xp.minimum(values.astype(dtype), limit) for values in (forward, backward)
                )
            total[0][pair.here] += forward
            total[0][pair.there] += backward
            if ways == 2:
                total[1][pair.here] += backward
                total[1][pair.there] += forward
    return total.max(axis=0)


def integer_grid(network: GridNetwork, rule: Rule = EXACT) -> IntegerGrid:
    """Return a grid whose capacities are integers.

    Integers, and floats whose entries are integers up to 2**53, stay unchanged, except for the limit of
    `rule`. Other floats are rounded, see :mod:`preflow.graph.scaling`: exactly where 30 bits are enough;
    otherwise they fill 30 bits where all of them are float32 and no cut is known, and 61 bits where not.
    Where a capacity is fractional, infinite or negative, or sums at a pixel are too large for int32, the
    smaller of the two terminal capacities of a pixel is removed from both, and the rest is cut off above the
    capacity of all arcs between the pixel and its neighbours. UnboundedFlowError: a pixel has infinite
    capacity from the source and to the sink. CapacityOverflowError: the capacities at a pixel sum past int64.
    """
    arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
    largest = [limit for _, limit in network.limits]
    largest_neighbor = max(largest[2:])
    bits = 0
    if any(values.dtype.kind == "f" for values in arrays):
        floats = [part.values for part in network.parts() if part.values.dtype.kind == "f"]
        _check_mixed(arrays, (*largest[:2], largest_neighbor))
        # More digits than the scale can have change nothing: see choose_scale.
        whole = rule.bound is not None or not 0 < 2.0 * len(network.offsets) * largest_neighbor < np.inf
        enough = np.inf if whole else max(0, BITS_OF_DOUBLE - int(np.frexp(largest_neighbor)[1]))
        for values in floats:
            bits = max(bits, _fraction_bits(values, enough))
            if bits > enough:
                break
        if bits or rule.rounded or max(map(_largest_finite, floats)) > EXACT_FLOAT:
            return _rounded(network, bits, rule)
    if rule.rounded:
        return _rounded(network, 0, rule)
    most = np.iinfo(np.int64).max
    if rule.bound is not None:
        most = min(most, int(rule.bound) - int(_net_terminals(network).constant) + 1)
    largest_neighbor = min(int(largest_neighbor), most)
    neighbor = network.neighbor_capacity
    if neighbor.dtype.kind == "f" or largest_neighbor == most:
        dtype = _fitting(RESIDUAL_DTYPES, largest_neighbor)
        neighbor = _converted_neighbor(network, lambda part: network.xp.minimum(part, most), dtype)
    if max(largest[:2]) < np.inf and min(least for least, _ in network.limits[:2]) >= 0:
        source, sink = (_whole(*pair, network.xp) for pair in zip(arrays[:2], largest[:2], strict=True))
        plain = _grid(network, source, sink, neighbor, (int(max(largest[:2])), largest_neighbor))
        if plain.excess_bound <= np.iinfo(EXCESS_DTYPES[0]).max:
            return plain
    return _reduced(network, _net_terminals(network), neighbor, largest_neighbor)


class _NetTerminals(NamedTuple):
    """Terminal capacities after the smaller of the two was removed from both at every pixel."""

    #: int64 or float64: capacity from the source where positive, to the sink where negative
    net: Any
    #: the sum of the amounts removed: exact, except for floats that are not integers
    constant: int | float


def _net_terminals(network: GridNetwork, *, whole: bool = True) -> _NetTerminals:
    """Return the net terminal capacities; `whole` says that all finite floats are integers."""
    xp = network.xp
    source, sink = network.source_capacity, network.sink_capacity
    is_float = source.dtype.kind == "f" or sink.dtype.kind == "f"
    ends = [end for limits in network.limits[:2] for end in limits]
    if not is_float and min(ends) < 0 and max(map(abs, ends)) > MOST_BESIDE_NEGATIVE:
        raise CapacityOverflowError("terminal capacities are beyond 2**62, and some are negative")
    lesser = xp.minimum(source, sink)
    if lesser.dtype.kind == "f" and not np.isfinite(float(lesser.max())):
        index = tuple(int(i) for i in np.unravel_index(int(lesser.argmax()), network.shape))
        raise UnboundedFlowError(f"pixel {index} has infinite capacity from the source and to the sink")
    constant = int(exact_sum(lesser.astype(np.int64))) if whole else float_sum(lesser)
    return _NetTerminals(net_capacity(source, sink, np.float64 if is_float else np.int64), constant)


def _rounded(network: GridNetwork, bits: int, rule: Rule) -> IntegerGrid:
    """Return the grid with rounded capacities; `bits` binary digits after the point represent all exactly."""
    xp = network.xp
    arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
    is_float = any(values.dtype.kind == "f" for values in arrays)
    terminals = _net_terminals(network, whole=not is_float)
    if not abs(terminals.constant) < np.inf:
        raise CapacityOverflowError("the capacities of all pixels sum past float64")
    largest = float(max(largest for _, largest in network.limits[2:]))
    chosen = choose_scale(
        rule.bound,
        bits=bits,
        constant=terminals.constant,
        largest=largest,
        incident=lambda limit: float(incident_capacity(network, np.float64, limit).max()),
        net=lambda: net_sums(terminals.net, xp),
        largest_net=lambda: _largest_finite(abs(terminals.net)),
        directions=len(network.offsets),
        single=all(values.dtype != np.float64 for values in arrays),
    )

    def convert(values: AnyArray) -> AnyArray:
        return scaled(values, chosen.exponent, chosen.limit, xp)

    top = int(np.ceil(np.ldexp(min(largest, chosen.limit), chosen.exponent)))
    neighbor = _converted_neighbor(network, convert, _fitting(RESIDUAL_DTYPES, top))
    return _reduced(network, terminals, neighbor, top, chosen.exponent, chosen.matters)


class Scale(NamedTuple):
    """How the capacities of a grid are rounded."""

    exponent: int  #: they are multiplied by two to this power and rounded down
    limit: float  #: those between neighbours are cut off here; no flow is larger
    #: the limit, or the largest capacity between neighbours if that is less. Infinite where the same limit
    #: allows finer integers.
    matters: float


def choose_scale(
    bound: int | float | None,
    *,
    bits: int,
    constant: int | float,
    largest: float,
    incident: Callable[[float], float],
    net: Callable[[], tuple[float, float]],
    largest_net: Callable[[], float],
    directions: int,
    single: bool,
) -> Scale:
    """Return how to round the capacities of a grid, or of all its regions.

    `bound` is the capacity of a known cut. `bits` binary digits after the point represent all capacities
    exactly. `constant` is the sum of the smaller terminal capacities of all pixels, `largest` the largest
    capacity between neighbours. `incident` returns the largest sum of capacities between a pixel and its
    neighbours, cut off at a limit; `net` the sums of what is left from the source, and to the sink, without
    the constant; `largest_net` the largest finite capacity that is left. A pixel has as many neighbours as
    `directions`. `single` says that no capacity is a float64.
    """
    limit = np.inf
    if bound is not None:
        limit = limit_above(float(bound - constant) + sum_slack(float(abs(bound))))
    # Twice the capacity of the arcs at a pixel bounds excess, deficits and sums of opposite capacities.
    peak = 2.0 * incident(limit)
    if peak == np.inf:
        limit = min(limit, limit_above(min(net())))
    most = matters = min(largest, limit)
    if peak == 0:  # no arcs to neighbours: the terminals decide
        matters = peak = min(largest_net(), limit)
    magnitude = int(np.frexp(peak * ROUNDING)[1])
    if not peak * ROUNDING < np.inf:  # the arcs at a pixel sum past float64
        magnitude = int(np.frexp(most)[1]) + (2 * directions + 1).bit_length()
    single = single and bound is None
    filled = BITS_OF_SINGLE if single or magnitude + bits <= BITS_OF_SINGLE else BITS_OF_DOUBLE
    exponent = filled - magnitude
    if limit == np.inf:  # a finite limit must stay above the sum it was computed from
        exponent = min(bits, exponent)
    return Scale(exponent, limit, np.inf if single and exponent < bits else matters)


def net_capacity(source: AnyArray, sink: AnyArray, dtype: DTypeLike = np.float64) -> AnyArray:
    """Return the differences of terminal capacities; infinite where float64 does not have one."""
    with np.errstate(over="ignore"):
        net: AnyArray = source.astype(dtype) - sink
    return net


def net_sums(net: AnyArray, xp: ArrayModule = np) -> tuple[float, float]:
    """Return the sums of the positive and of the negative net terminal capacities, both as positive."""
    return float_sum(xp.maximum(net, 0)), float_sum(xp.maximum(-net, 0))


def _reduced(
    network: GridNetwork,
    terminals: _NetTerminals,
    neighbor: AnyArray,
    largest_neighbor: int,
    exponent: int | None = None,
    limit: float = np.inf,
) -> IntegerGrid:
    """Return the grid without the parts of its terminal capacities that cannot matter.

    The smaller of the two flows from the source to the sink at once. The rest matters up to the capacity of
    the arcs at the pixel: with one unit more, the pixel is on that side of every minimum cut.
    """
    xp = network.xp
    net, constant = terminals
    grid = _grid(network, network.source_capacity, network.sink_capacity, neighbor, (0, largest_neighbor))
    bound = float(len(grid.offsets) * largest_neighbor)
    if bound > INT64_MAX // 2 and incident_capacity(grid, np.float64).max() * ROUNDING > INT64_MAX // 2:
        raise CapacityOverflowError("the capacities between a pixel and its neighbours sum past int64")
    if net.dtype.kind == "f":
        with np.errstate(over="ignore"):
            net = xp.ldexp(net, exponent or 0)
        net = xp.clip(net, -MOST_FLOAT, MOST_FLOAT).astype(np.int64)
    elif exponent:
        net = xp.sign(net) * _shifted(abs(net), exponent, xp)
    most = incident_capacity(grid, np.int64) + 1
    net = xp.clip(net, -most, most)
    largest = int(abs(net).max())
    dtype = _fitting(RESIDUAL_DTYPES, largest)
    return replace(
        grid,
        source=xp.maximum(net, 0).astype(dtype),
        sink=xp.maximum(-net, 0).astype(dtype),
        largest_terminal=largest,
        scale_exponent=exponent,
        constant_flow=constant,
        reduced=True,
        limit=limit,
    )


def _shifted(amounts: AnyArray, exponent: int, xp: ArrayModule) -> AnyArray:
    """Return integers that are not negative times two to the power `exponent`, cut off at 2**62."""
    if exponent < 0:
        return amounts >> min(-exponent, 63)
    bits = min(exponent, 62)
    return xp.minimum(amounts, 2 ** (62 - bits)) << bits


def _grid(
    network: GridNetwork,
    source: AnyArray,
    sink: AnyArray,
    neighbor: AnyArray,
    largest: tuple[int, int],
) -> IntegerGrid:
    return IntegerGrid(network.shape, network.offsets, source, sink, neighbor, network.symmetric, *largest)


def _converted_neighbor(network: GridNetwork, convert: Any, dtype: DTypeLike | None) -> AnyArray:
    """Return converted neighbour capacities; entries of arcs that leave the grid become 0."""
    values, xp = network.neighbor_capacity, network.xp
    rows, shape = len(values), network.shape
    alike = not any(values.strides[1:])
    out = xp.zeros((rows, *((1,) * len(shape) if alike else shape)), dtype=dtype)
    for row in range(rows):
        direction = 2 * row if network.symmetric else row
        box, _ = pair_boxes(shape, network.offsets[direction])
        part = values[row][box]
        if not part.size:
            continue
        if alike:
            out[row] = convert(part[(slice(0, 1),) * len(shape)])
        else:
            out[row][box] = convert(part)
    return xp.broadcast_to(out, values.shape)


def _whole(values: AnyArray, largest: float, xp: ArrayModule) -> AnyArray:
    """Return an array of integers stored as floats as an array of an integer dtype."""
    if values.dtype.kind == "i":
        return values
    whole = compact(values).astype(_fitting(RESIDUAL_DTYPES, largest))
    return whole if whole.shape == values.shape else xp.broadcast_to(whole, values.shape)


def _check_mixed(arrays: tuple[Any, ...], largest: tuple[Any, ...]) -> None:
    for values, limit in zip(arrays, largest, strict=True):
        if values.dtype.kind == "i" and limit > EXACT_FLOAT:
            raise CapacityOverflowError(
                "capacities mix floats with integers past 2**53, which float64 cannot hold exactly"
            )


def _fitting(dtypes: tuple[Any, ...], largest: float) -> DType | None:
    """Return the first of these dtypes that can represent a number, None if none can."""
    return next((np.dtype(dtype) for dtype in dtypes if largest <= LARGEST[dtype]), None)


def _largest_sum(first: AnyArray, second: AnyArray) -> int:
    """Return the largest sum of two entries, which are not negative."""
    return int((first.astype(np.uint64) + second.astype(np.uint64)).max()) if first.size else 0


def _largest_finite(values: AnyArray) -> float:
    """Return the largest finite entry, 0 if there is none."""
    if not values.size:
        return 0.0
    largest = float(values.max())
    if largest == np.inf:
        finite = values[values < np.inf]
        return float(finite.max()) if finite.size else 0.0
    return largest


def _fraction_bits(values: AnyArray, enough: float = np.inf) -> int:
    """Return how many binary digits after the point the finite entries of an array have.

    Where they are more than `enough`, the number may be a smaller one above it.
    """
    if not isinstance(values, np.ndarray):
        return _most_bits(values)
    rows, bits = max(1, BLOCK // max(1, values[:1].size)), 0
    for begin in range(0, len(values), rows):
        bits = max(bits, _most_bits(values[begin : begin + rows]))
        if bits > enough:
            break
    return bits


def _most_bits(values: AnyArray) -> int:
    fractional = values[values != np.rint(values)]
    if not fractional.size:
        return 0
    mantissa, exponent = np.frexp(fractional.astype(np.float64))
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    _, lowest = np.frexp((digits & -digits).astype(np.float64))
    return int((54 - lowest - exponent).max())
