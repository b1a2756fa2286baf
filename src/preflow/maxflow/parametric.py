"""Minimum cuts for all values of a parameter.

Gallo, Grigoriadis and Tarjan, "A Fast Parametric Maximum Flow Algorithm and Applications", SIAM J. Computing
18 (1989): if the capacities from the source do not decrease in the parameter, and those to the sink do not
increase, then the source sides of minimum cuts grow with the parameter, and there are at most n - 1 different
ones. They find all of them by a search that halves the range. Each half keeps only the vertices that may
change sides in it: the others become part of the source or of the sink.

Departure: all parts of one level of this search are one residual network. A part, here a *piece*, is a set of
vertices between two neighbouring cuts of the chain. Terminals are not vertices of a residual network, so
pieces have no vertex and no arc in common: an arc between two pieces is capacity from the source to its head,
and capacity from its tail to the sink. So a level takes one solve, whatever the number of its pieces, and any
method can do it. Every piece has a value of the parameter of its own, and its own unit of capacity: the
denominator of this value.

Definitions
-----------
- The *value* of a piece is the parameter at which the cut without it, and the cut with it, are equally large.
- A piece is *final* if both are minimum there. Then its value is a breakpoint.

::

    solve at the lowest parameter: vertices that do not reach the sink are the first piece
    solve at the highest one: of the others, those that reach it are the last piece
    all others are one piece
    while a piece is not final:                                          one level
        compute its value                                                sum_up
        set up its network at this value                                 set_up
        solve
        all supply of a piece has reached the sink: it is final
        else those of its vertices that reach the sink become a new piece    divide

The values of the two new pieces lie on different sides of the old value. Mostly the number of levels is about
the logarithm of the number of breakpoints. At worst it is that number.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, NetworkInput, Number, Vertices
from ..certify.flow import check_terminals
from ..certify.parametric import LinearNetwork, PieceFlows, check_piece_flows
from ..drawing.curves import draw_pieces
from ..errors import CapacityOverflowError, InvalidInputError, SolverError, VerificationError
from ..graph.convert import as_flow_problem
from ..graph.network import EXACT_FLOAT, INT64_MAX, FlowNetwork, exact_sum, read_signed, vertex_mask
from ..graph.residual import ResidualArrays, build_residual
from ..kernels.csr_build import terminal_capacities
from ..kernels.kernel import kernel
from ..method_names import FlowMethodName
from ..solving.call import Request
from ..solving.dispatch import thread_count, usable_cpus
from ..solving.drawn import DrawnResult
from .api import FlowCall
from .methods import METHODS
from .policy import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Scaled capacities of one piece sum to less than this.
MOST = 2**61
#: Capacities that are not integers are rounded to this many bits of their sum.
BITS = 30


class Pieces(NamedTuple):
    """The state of the search. Arrays have shape (n,) unless stated.

    Attributes
    ----------
    piece : ndarray of int64
        The number of the piece of each vertex, in the order of the chain.
    capacity : ndarray of int64, shape (m,)
        Capacity of each residual arc; 0 for arcs between pieces.
    source, source_slope, sink, sink_slope : ndarray of int64
        As in :class:`preflow.certify.parametric.LinearNetwork`, in the network of the piece.
    """

    piece: NDArray[np.int64]
    capacity: NDArray[np.int64]
    source: NDArray[np.int64]
    source_slope: NDArray[np.int64]
    sink: NDArray[np.int64]
    sink_slope: NDArray[np.int64]


class Values(NamedTuple):
    """The values at which the pieces are solved. Arrays have shape (number of pieces,).

    Attributes
    ----------
    active : ndarray of bool
    numerator, denominator : ndarray of int64
        The value of the parameter.
    """

    active: NDArray[np.bool_]
    numerator: NDArray[np.int64]
    denominator: NDArray[np.int64]


@kernel
def sum_up(net: ResidualArrays, pieces: Pieces, active: NDArray[np.bool_], sums: NDArray[np.int64]) -> None:
    """Add up the numbers of the vertices of each active piece, and the capacities of its arcs.

    The rows of `sums` are the sums of `source`, `source_slope`, `sink`, `sink_slope` and of the arcs.
    """
    for v in range(len(pieces.piece)):
        i = pieces.piece[v]
        if active[i]:
            sums[0, i] += pieces.source[v]
            sums[1, i] += pieces.source_slope[v]
            sums[2, i] += pieces.sink[v]
            sums[3, i] += pieces.sink_slope[v]
            for a in range(np.uint64(net.first_out[v]), np.uint64(net.first_out[v + 1])):
                sums[4, i] += pieces.capacity[a]


@kernel
def set_up(net: ResidualArrays, pieces: Pieces, values: Values) -> None:
    """Set up the networks of all active pieces, and leave the others without supply and demand."""
    for v in range(len(pieces.piece)):
        i = pieces.piece[v]
        net.excess[v] = 0
        net.sink_residual[v] = 0
        if values.active[i]:
            p, q = values.numerator[i], values.denominator[i]
            supply = q * pieces.source[v] + p * pieces.source_slope[v]
            demand = q * pieces.sink[v] - p * pieces.sink_slope[v]
            through = min(supply, demand)
            net.excess[v] = supply - through
            net.sink_residual[v] = demand - through
            for a in range(np.uint64(net.first_out[v]), np.uint64(net.first_out[v + 1])):
                net.residual[a] = q * pieces.capacity[a]


@kernel
def find_final(
    net: ResidualArrays, pieces: Pieces, active: NDArray[np.bool_], final: NDArray[np.bool_]
) -> None:
    """Find the active pieces without excess; on entry `final` is True for all active pieces."""
    for v in range(len(pieces.piece)):
        i = pieces.piece[v]
        if active[i] and net.excess[v] > 0:
            final[i] = False


@kernel
def divide(
    net: ResidualArrays, pieces: Pieces, divided: NDArray[np.bool_], reaching: NDArray[np.bool_]
) -> None:
    """Cut the arcs of divided pieces between the vertices that reach the sink and those that do not."""
    for v in range(len(pieces.piece)):
        i = pieces.piece[v]
        if divided[i]:
            for a in range(np.uint64(net.first_out[v]), np.uint64(net.first_out[v + 1])):
                w = np.uint64(net.head[a])
                if pieces.piece[w] == i and reaching[v] != reaching[w]:
                    if reaching[w]:
                        pieces.sink[v] += pieces.capacity[a]
                        pieces.source[w] += pieces.capacity[a]
                    pieces.capacity[a] = 0


@dataclass(frozen=True, eq=False, repr=False)
class ParametricMaxFlow(DrawnResult):
    """The minimum cuts of a network for all values of a parameter in a range.

    Attributes
    ----------
    breakpoints : ndarray of float64, shape (k,)
        The values at which the cut changes, ascending. Rounded: :meth:`breakpoint` has them exactly.
    level : ndarray of int64, shape (num_vertices,)
        The number of the first cut that has the vertex on its source side: 0 for sources, k + 1 for sinks and
        for vertices that are never there. Cut `i` is minimum from breakpoint ``i - 1`` to breakpoint ``i``.
    intercept, slope : ndarray of int64 or float64, shape (k + 1,)
        Cut `i` has the capacity ``intercept[i] + parameter * slope[i]``.
    low, high : Fraction
        The range of the parameter.
    network : FlowNetwork
    arc_slope : ndarray, shape (num_arcs,)
        By how much the capacity of each arc grows with the parameter.
    sources, sinks : ndarray of int64
    gap : float
        How far a value may be above the minimum, since numbers that are not integers were rounded; 0 for
        integers.
    """

    breakpoints: NDArray[np.float64]
    level: NDArray[np.int64]
    intercept: Array
    slope: Array
    low: Fraction
    high: Fraction
    network: FlowNetwork
    arc_slope: Array
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    gap: float
    _flows: PieceFlows
    _exponent: int

    def __post_init__(self) -> None:
        parts = self.breakpoints, self.level, self.intercept, self.slope, self.sources, self.sinks
        for array in (*parts, self.arc_slope):
            array.flags.writeable = False

    @property
    def num_cuts(self) -> int:
        """The number of different cuts, one more than that of breakpoints."""
        return len(self.breakpoints) + 1

    def breakpoint(self, number: int) -> Fraction:
        """Return a breakpoint exactly."""
        return Fraction(int(self._exact.numerator[number]), int(self._exact.denominator[number]))

    @cached_property
    def _exact(self) -> _Breakpoints:
        return _breakpoints(self._flows)

    def _number(self, parameter: float | Fraction) -> int:
        """Return the number of the cut at a value of the parameter, at a breakpoint the one that follows."""
        if not self.low <= parameter <= self.high:
            raise InvalidInputError(
                f"the parameter must be between {self.low} and {self.high}, got {parameter!r}"
            )
        return int(np.searchsorted(self.breakpoints, float(parameter), side="right"))

    def value(self, parameter: float | Fraction) -> Number:
        """Return the value of a maximum flow, and the capacity of a minimum cut, at a value of the parameter.

        Raises
        ------
        InvalidInputError
            The parameter is outside the range.
        """
        number = self._number(parameter)
        return self.intercept[number].item() + self.slope[number].item() * parameter

    def sink_side(self, parameter: float | Fraction) -> NDArray[np.bool_]:
        """Return the smallest sink side of a minimum cut at a value of the parameter, one bool a vertex."""
        side: NDArray[np.bool_] = self.level > self._number(parameter)
        return side

    def verify(self) -> None:
        """Prove all cuts minimum, independently of the solver, in about linear time.

        The proof is one flow for the whole range: see :mod:`preflow.certify.parametric`.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        network, level = self.network, self.level
        check_terminals(network, self.sources, self.sinks)
        last = self.num_cuts
        if level.shape != (network.num_vertices,) or level.min() < 0 or level.max() > last:
            raise VerificationError("the levels do not fit the network")
        if (level[self.sources] != 0).any() or (level[self.sinks] != last).any():
            raise VerificationError("a source or a sink is on the wrong side of a cut")
        data = _whole_data(network, self.arc_slope, self.sources, self.sinks)
        flows = self._flows
        check_piece_flows(_linear_network(network, data, self.sources, self.sinks), flows)
        ends = [Fraction(int(flows.numerator[i]), int(flows.denominator[i])) for i in (0, -1)]
        if ends != [self.low, self.high]:
            raise VerificationError("the proof is one for another range")
        if (np.gcd(flows.numerator, flows.denominator) != 1).any():
            raise VerificationError("a value of the proof is not in lowest terms")
        exact = _breakpoints(flows)
        if not np.array_equal(exact.rounded(), self.breakpoints):
            raise VerificationError("the breakpoints are not those of the proof")
        inner = _inner(network, self.sources, self.sinks)
        if not np.array_equal(level[inner], exact.level):
            raise VerificationError("the levels are not those of the proof")
        intercept, slope = _lines(network, self.arc_slope, level)
        slack = _sum_error(network, self.arc_slope)
        for found, claimed in ((intercept, self.intercept), (slope, self.slope)):
            if claimed.shape != found.shape or not (np.abs(found - claimed) <= slack).all():
                raise VerificationError("a cut has another capacity or another slope")
        if not self.gap >= _gap(network, self.arc_slope, data.exponent, self.low, self.high):
            raise VerificationError(f"the gap is not {self.gap}")

    def _summary(self) -> str:
        return f"{self.num_cuts:,} cuts from {float(self.low):g} to {float(self.high):g}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the capacity of the minimum cut against the parameter, with a dot where the cut changes."""
        at = np.concatenate([[float(self.low)], self.breakpoints, [float(self.high)]])
        piece = np.minimum(np.arange(len(at)), len(self.slope) - 1)
        capacity = self.intercept[piece] + at * self.slope[piece]
        return draw_pieces(ax, at, capacity, "parameter", "capacity of the minimum cut")


class _Data(NamedTuple):
    """Capacities and slopes as integers: multiplied by two to a power and rounded."""

    capacity: NDArray[np.int64]
    reverse: NDArray[np.int64]
    slope: NDArray[np.int64]
    exponent: int


def _whole_data(
    network: FlowNetwork, slope: Array, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> _Data:
    parts = [network.capacity, slope]
    if network.reverse_capacity is not None:
        parts.append(network.reverse_capacity)
    exponent = 0
    if all(
        part.dtype.kind == "i" or np.all((part == np.rint(part)) & (np.abs(part) <= EXACT_FLOAT))
        for part in parts
    ):
        whole = [part.astype(np.int64) for part in parts]
    else:
        total = sum(float(np.abs(part).sum(dtype=np.float64)) for part in parts)
        exponent = BITS - int(np.frexp(total)[1])
        whole = [np.rint(np.ldexp(part.astype(np.float64), exponent)).astype(np.int64) for part in parts]
    if sum(float(np.abs(part).sum(dtype=np.float64)) for part in whole) >= MOST:
        raise CapacityOverflowError("the capacities and slopes sum past 2**61")
    reverse = whole[2] if len(whole) > 2 else whole[0][:0]
    return _Data(whole[0], reverse, whole[1], exponent)


def _sum_error(network: FlowNetwork, slope: Array) -> float:
    """Return the possible error of sums of floats over all arcs; 0 for integers."""
    parts = [network.capacity, slope]
    if network.reverse_capacity is not None:
        parts.append(network.reverse_capacity)
    sizes = (float(np.abs(part).sum()) if part.dtype.kind == "f" else 0.0 for part in parts)
    return (network.num_arcs + 1) * 2.0**-50 * sum(sizes)


def _gap(network: FlowNetwork, slope: Array, exponent: int, low: Fraction, high: Fraction) -> float:
    """Return how far the minimum cut of rounded numbers may be from that of the given ones."""
    terms = 2 + float(max(abs(low), abs(high)))
    error = _sum_error(network, slope) * terms
    return error + 2 * network.num_arcs * terms * 2.0**-exponent if exponent else error


def _inner(network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which vertices are no terminals."""
    inner: NDArray[np.bool_] = ~vertex_mask(network, np.concatenate([sources, sinks]))
    return inner


def _linear_network(
    network: FlowNetwork, data: _Data, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> LinearNetwork:
    """Return the network between the terminals, its vertices numbered without these."""
    inner = _inner(network, sources, sinks)
    n = int(np.count_nonzero(inner))
    number = np.cumsum(inner) - 1
    number[sources], number[sinks] = n, n + 1
    tail, head = number[network.tail], number[network.head]
    tails, heads, capacities, slopes = tail, head, data.capacity, data.slope
    if len(data.reverse):
        tails, heads = np.concatenate([tail, head]), np.concatenate([head, tail])
        capacities = np.concatenate([data.capacity, data.reverse])
        slopes = np.concatenate([data.slope, np.zeros_like(data.reverse)])
    parts = np.zeros((4, n), dtype=np.int64)
    out, into = (tails == n) & (heads < n), (tails < n) & (heads == n + 1)
    np.add.at(parts[0], heads[out], capacities[out])
    np.add.at(parts[1], heads[out], slopes[out])
    np.add.at(parts[2], tails[into], capacities[into])
    np.subtract.at(parts[3], tails[into], slopes[into])
    between = (tails < n) & (heads < n) & (tails != heads)
    key, place = np.unique(tails[between] * n + heads[between], return_inverse=True)
    merged = np.zeros(len(key), dtype=np.int64)
    np.add.at(merged, place, capacities[between])
    return LinearNetwork(key // max(n, 1), key % max(n, 1), merged, *parts)


def _lines(network: FlowNetwork, slope: Array, level: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the capacity of each cut at parameter 0, and its slope.

    Cut `i` has the arcs from levels up to `i` to larger ones.
    """
    count = int(level.max())
    low, high = level[network.tail], level[network.head]
    parts = [(low, high, network.capacity), (low, high, slope)]
    if network.reverse_capacity is not None:
        parts.append((high, low, network.reverse_capacity))
    changes = []
    for begin, end, values in parts:
        change = np.zeros(count + 1, dtype=values.dtype)
        upward = begin < end
        np.add.at(change, begin[upward], values[upward])
        np.subtract.at(change, end[upward], values[upward])
        changes.append(np.cumsum(change)[:count])
    intercept = changes[0] + changes[2] if len(changes) > 2 else changes[0]
    return intercept, changes[1]


class _Breakpoints(NamedTuple):
    """The different values of the pieces between the first and the last.

    Attributes
    ----------
    numerator, denominator : ndarray of int64, shape (k,)
        In lowest terms, ascending.
    level : ndarray of int64
        The level of each vertex between the terminals.
    """

    numerator: NDArray[np.int64]
    denominator: NDArray[np.int64]
    level: NDArray[np.int64]

    def rounded(self) -> NDArray[np.float64]:
        """Return the values as floats."""
        largest = max(np.abs(self.numerator).max(initial=0), self.denominator.max(initial=0))
        if int(largest) <= int(EXACT_FLOAT):
            quotient: NDArray[np.float64] = self.numerator / self.denominator
            return quotient
        pairs = zip(self.numerator.tolist(), self.denominator.tolist(), strict=True)
        return np.array([float(Fraction(p, q)) for p, q in pairs])


def _breakpoints(flows: PieceFlows) -> _Breakpoints:
    """Return the breakpoints and levels of pieces whose values are in lowest terms and ascend."""
    p, q = flows.numerator[1:-1], flows.denominator[1:-1]
    new = np.ones(len(p), dtype=bool)
    new[1:] = (p[1:] != p[:-1]) | (q[1:] != q[:-1])
    of_piece = np.concatenate([[0], np.cumsum(new), [np.count_nonzero(new) + 1]])
    return _Breakpoints(p[new], q[new], of_piece[flows.piece])


def parametric_max_flow(
    network: NetworkInput,
    slope: ArrayLike,
    source: Vertices = None,
    sink: Vertices = None,
    *,
    low: float | Fraction = 0,
    high: float | Fraction | None = None,
    method: FlowMethodName | str = "auto",
    threads: int | None = None,
) -> ParametricMaxFlow:
    """Find minimum cuts for all values of a parameter on which the capacities at the terminals depend.

    The capacity of an arc is ``capacity + parameter * slope``. Arcs out of a source may have a positive slope
    and arcs into a sink a negative one; all others have slope 0. Then the source side of the minimum cut
    grows with the parameter. Such problems are: the densest subgraph, the best ratio of profit to cost,
    schedules with a deadline to choose, all segmentations of an image from dark to bright.

    Parameters
    ----------
    network, source, sink
        As in :func:`preflow.max_flow`; finite capacities.
    slope : array_like, shape (num_arcs,)
        For each arc, in the order of the network.
    low, high : number
        The range of the parameter, in which no capacity may become negative. A float is taken as the decimal
        number that Python prints. Default of `high`: as far as capacities are not negative, or past the last
        breakpoint.
    method, threads
        As in :func:`preflow.max_flow`; methods of the CPU.

    Returns
    -------
    ParametricMaxFlow

    Raises
    ------
    InvalidInputError
        A slope has the wrong sign or is not at a terminal, or a capacity becomes negative in the range.
    CapacityOverflowError
        The numbers are too large: capacities times the denominators of breakpoints must sum to less than
        2**61.

    Notes
    -----
    A few solves of smaller and smaller networks: their number is mostly about the logarithm of the number of
    cuts. Numbers that are not all integers are rounded to 30 bits of their sum. Gallo, Grigoriadis and Tarjan
    1989.

    Examples
    --------
    >>> import preflow
    >>> network = ([0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [0, 0, 4, 3, 1])
    >>> found = preflow.parametric_max_flow(network, [1, 2, 0, 0, 0], 0, 3)
    >>> found.breakpoints.tolist(), found.level.tolist()
    ([1.5, 4.0], [0, 2, 1, 3])
    >>> found.value(3), found.sink_side(3).tolist()
    (6, [False, True, False, True])
    >>> found.verify()
    """
    given, source, sink = as_flow_problem(network, source, sink)
    given = given.on_host()
    sources, sinks = given.vertices(source, "source"), given.vertices(sink, "sink")
    both = set(sources.tolist()).intersection(sinks.tolist())
    if both:
        raise InvalidInputError(f"vertex {given.name(min(both))} is both source and sink")
    if given.saturated or not np.isfinite(given.capacity).all():
        raise InvalidInputError("the capacities must be finite, and integers below 2**63")
    if given.reverse_capacity is not None and not np.isfinite(given.reverse_capacity).all():
        raise InvalidInputError("the reverse capacities must be finite")
    slopes = _read_slopes(given, slope, sources, sinks)
    data = _whole_data(given, slopes, sources, sinks)
    start, end = _range(data, low, high)
    request = Request(METHODS, method, "cpu", threads)
    call = _call(given, sources, sinks, request)
    flows = call.run(lambda: _Search(call, data, start, end).run(), request)
    found = _breakpoints(flows)
    level = np.zeros(given.num_vertices, dtype=np.int64)
    level[_inner(given, sources, sinks)] = found.level
    level[sinks] = len(found.numerator) + 1
    intercept, rise = _lines(given, slopes, level)
    return ParametricMaxFlow(
        breakpoints=found.rounded(),
        level=level,
        intercept=intercept,
        slope=rise,
        low=start,
        high=end,
        network=given,
        arc_slope=slopes,
        sources=sources,
        sinks=sinks,
        gap=_gap(given, slopes, data.exponent, start, end),
        _flows=flows,
        _exponent=data.exponent,
    )


def _read_slopes(
    network: FlowNetwork, slope: ArrayLike, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> Array:
    """Check the slopes, and return a copy of integers or floats."""
    values = read_signed(slope, network.num_arcs, "slope").copy()
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InvalidInputError("slope has a value that is not finite")
    out, into = vertex_mask(network, sources)[network.tail], vertex_mask(network, sinks)[network.head]
    for wrong, rule in (
        (~out & (values > 0), "only an arc out of a source may have a positive slope"),
        (~into & (values < 0), "only an arc into a sink may have a negative slope"),
    ):
        if wrong.any():
            arc = int(wrong.argmax())
            raise InvalidInputError(f"{rule}; arc {arc} has slope {values[arc]}")
    return values


def _range(data: _Data, low: float | Fraction, high: float | Fraction | None) -> tuple[Fraction, Fraction]:
    """Return the range of the parameter exactly; check that no capacity becomes negative in it."""
    start = _fraction(low, "low")
    falling = data.slope < 0
    ratio = data.capacity[falling] / -data.slope[falling]
    first = int(ratio.argmin()) if len(ratio) else -1
    limit = None
    if first >= 0:
        limit = Fraction(int(data.capacity[falling][first]), -int(data.slope[falling][first]))
    if high is not None:
        end = _fraction(high, "high")
    elif limit is not None:
        end = max(limit, start)
    else:
        end = max(Fraction(int(exact_sum(data.capacity)) + int(exact_sum(data.reverse)) + 1), start + 1)
    if end < start:
        raise InvalidInputError(f"high must not be below low, got {start} and {end}")
    for value in (start, end):
        p, q = value.numerator, value.denominator
        capacity, slope = data.capacity, data.slope
        if float(capacity.max(initial=0)) * q + float(np.abs(slope).max(initial=0)) * abs(p) >= MOST:
            capacity, slope = capacity.astype(object), slope.astype(object)
        changed = capacity * q + slope * p
        if (changed < 0).any():
            arc = int(np.argmin(changed))
            raise InvalidInputError(f"the capacity of arc {arc} is negative at {float(value):g}")
    return start, end


def _fraction(value: float | Fraction, name: str) -> Fraction:
    number: Number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction):
        raise InvalidInputError(f"{name} must be a number, got {value!r}")
    if isinstance(number, float):
        if not np.isfinite(number):
            raise InvalidInputError(f"{name} must be finite, got {value}")
        return Fraction(repr(number))
    return Fraction(number)


def _call(
    network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64], request: Request
) -> FlowCall:
    method, chosen = request.choose(lambda: choose(network, "cpu", request.most_threads, None))
    threads = thread_count(method, chosen.threads, network.num_vertices)
    return FlowCall(
        instance=network,
        sources=sources,
        sinks=sinks,
        method=method,
        reason=chosen.reason,
        options=method.make_options(chosen.options),
        threads=threads,
        build_threads=min(threads, usable_cpus()),
        device=None,
    )


class _Search:
    """The search for all cuts.

    Attributes
    ----------
    net : ResidualArrays
    pieces : Pieces
    values : Values
        Of pieces that are not active, the values at which they were solved last.
    """

    def __init__(self, call: FlowCall, data: _Data, low: Fraction, high: Fraction) -> None:
        self.call, self.low, self.high = call, low, high
        network = copy(call.instance)
        for name, values in (("capacity", data.capacity), ("reverse_capacity", data.reverse)):
            view: Array | None = values.view() if name == "capacity" or len(values) else None
            if view is not None:
                view.flags.writeable = False
            object.__setattr__(network, name, view)
        built = build_residual(network, call.sources, call.sinks, threads=call.build_threads)
        arrays, n = built.arrays, built.num_vertices
        capacity: NDArray[np.int64] = arrays.residual.astype(np.int64)
        self.net = arrays._replace(residual=capacity.copy())
        parts = np.zeros((4, n), dtype=np.int64)
        arcs = built.input_arcs(network)
        terminal_capacities(arcs, 0, len(arcs.tail), True, parts[0], parts[2], np.int64(INT64_MAX))
        inner = built.inner.astype(np.int64)
        tail, head = inner[network.tail], inner[network.head]
        out, into = (tail == n) & (head < n), (tail < n) & (head == n + 1)
        np.add.at(parts[1], head[out], data.slope[out])
        np.subtract.at(parts[3], tail[into], data.slope[into])
        self.pieces = Pieces(np.zeros(n, dtype=np.int64), capacity, *parts)
        self.values = Values(np.ones(1, dtype=bool), np.zeros(1, np.int64), np.ones(1, np.int64))

    def run(self) -> PieceFlows:
        """Find the pieces and their flows."""
        self._divide(self._solve_at(0, self.low), np.ones(1, dtype=bool))
        self._divide(self._solve_at(1, self.high), np.array([False, True]))
        self._set_active(np.array([False, True, False]))
        while self.values.active.any():
            self._level()
        pieces, values = self.pieces, self.values
        net = self.net
        n = len(pieces.piece)
        tail = np.repeat(np.arange(n), (net.first_out[1:] - net.first_out[:-1]).astype(np.int64))
        amount = values.denominator[pieces.piece[tail]] * pieces.capacity - net.residual
        used = (amount > 0) & (pieces.piece[tail] == pieces.piece[net.head])
        head = net.head[used].astype(np.int64)
        piece, numerator, denominator = self._compact()
        return PieceFlows(piece, numerator, denominator, tail[used], head, amount[used])

    def _compact(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the pieces without empty ones between the first and the last."""
        values, piece = self.values, self.pieces.piece
        count = len(values.active)
        kept = np.zeros(count, dtype=bool)
        kept[piece] = True
        kept[[0, -1]] = True
        number = np.cumsum(kept) - 1
        return number[piece], values.numerator[kept], values.denominator[kept]

    def _solve_at(self, number: int, parameter: Fraction) -> NDArray[np.bool_]:
        """Solve one piece at a value of the parameter; return which vertices reach the sink."""
        values = self.values
        values.active[:] = False
        values.active[number] = True
        values.numerator[number], values.denominator[number] = parameter.numerator, parameter.denominator
        return self._solve(self._sums())

    def _sums(self) -> NDArray[np.int64]:
        sums = np.zeros((5, len(self.values.active)), dtype=np.int64)
        sum_up(self.net, self.pieces, self.values.active, sums)
        return sums

    def _solve(self, sums: NDArray[np.int64]) -> NDArray[np.bool_]:
        values, call = self.values, self.call
        size = values.denominator * sums[[0, 2, 4]].sum(axis=0, dtype=np.float64)
        size += np.abs(values.numerator.astype(np.float64)) * sums[[1, 3]].sum(axis=0, dtype=np.float64)
        if (size[values.active] >= MOST).any():
            raise CapacityOverflowError(
                "the capacities times the denominators of breakpoints sum past 2**61: round the capacities, "
                "the slopes, or the range"
            )
        set_up(self.net, self.pieces, values)
        call.control.check_wanted()
        height = call.method.solve(self.net, call.options, call.control)
        reaching: NDArray[np.bool_] = height <= len(height)
        return reaching

    def _divide(self, reaching: NDArray[np.bool_], divided: NDArray[np.bool_]) -> None:
        """Divide pieces into the vertices that do not reach the sink and those that do, and number all again.

        Both parts of a divided piece keep its value.
        """
        pieces, values = self.pieces, self.values
        divide(self.net, pieces, divided, reaching)
        first = np.cumsum(1 + divided) - 1 - divided
        pieces.piece[:] = first[pieces.piece] + (divided[pieces.piece] & reaching)
        count = 1 + divided
        active, numerator, denominator = values
        self.values = Values(
            np.repeat(active, count), np.repeat(numerator, count), np.repeat(denominator, count)
        )

    def _set_active(self, active: NDArray[np.bool_]) -> None:
        """Make pieces active, unless they are empty."""
        kept = np.zeros(len(active), dtype=bool)
        kept[self.pieces.piece] = True
        self.values.active[:] = active & kept

    def _level(self) -> None:
        """Solve every active piece at its value, and divide it unless it is final."""
        values = self.values
        sums = self._sums()
        active = values.active
        p, q = (sums[2] - sums[0])[active], (sums[1] + sums[3])[active]
        if (q <= 0).any():
            raise SolverError("a piece has no breakpoint: please report this bug")
        common = np.gcd(p, q)
        values.numerator[active], values.denominator[active] = p // common, q // common
        reaching = self._solve(sums)
        final = values.active.copy()
        find_final(self.net, self.pieces, values.active, final)
        divided = values.active & ~final
        self._divide(reaching, divided)
        self._set_active(np.repeat(divided, 1 + divided))
