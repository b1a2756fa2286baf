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
- The capacity of an arc at parameter 0 may be negative. Pieces are solved at values in the range, where no
  capacity is.

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

All of this is exact, for floats too: they are integers times a power of two. Where these integers, times the
denominators of values, do not fit int64, a solve takes several *phases*. Each solves the leading bits of the
capacities that are left, cut off above the bound that the last cut found sets. What the rounding left is the
problem of the next phase; Gabow, "Scaling Algorithms for Network Problems", JCSS 31 (1985)::

    bound = the smaller of all supply and all demand of the piece
    repeat                                                               _phase
        take the leading bits of what is left, but at most bound + 1
        solve, and subtract the flow from what is left
        bound = what is left across the cut found
    until bound is 0

Most of these phases are saved by a *guess*: the pieces that the search finds for the leading bits of the
numbers of each piece. Pieces that are final and have the right order are right, whatever found them: their
flows prove it. Between two neighbours in the wrong order is a cut that is minimum for no value. They become
one piece, as in the pool-adjacent-violators algorithm of isotonic regression::

    pieces = those of the search for the leading bits                    _Guess
    repeat                                                               _ExactSearch.run
        join neighbours whose values decrease, and pieces beyond the
            ends of the range with the first or the last piece           join
        solve all pieces that are new, exactly
        divide those that are not final, or have vertices that
            belong to an earlier piece                                   _to_divide
    until no piece is new
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, ldexp
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, NetworkInput, Number, Vertices
from ..certify.exact import LARGEST_POWER, as_floats, as_integers, float_near, quotients
from ..certify.fields import check_array, checked_number
from ..certify.flow import check_terminals
from ..certify.parametric import LinearNetwork, PieceFlows, check_piece_fields, check_piece_flows
from ..checks import check_finite
from ..drawing.axes import draw_pieces
from ..errors import CapacityOverflowError, InvalidInputError, SolverError, VerificationError
from ..graph.convert import as_flow_problem
from ..graph.network import (
    EXACT_FLOAT,
    INT64_MAX,
    FlowNetwork,
    exact_sum,
    read_signed,
    vertex_mask,
    with_capacities,
)
from ..graph.residual import ResidualArrays, build_residual
from ..graph.solved_capacities import are_whole, check_bounded
from ..kernels.kernel import kernel
from ..method_names import FlowMethodName
from ..solving.call import Request
from ..solving.drawn import DrawnResult
from ..steps.step import FlowProblem
from .api import FlowCall
from .problem import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Capacities of one piece, times a denominator, sum to less than this where one solve is enough.
MOST = 2**61
#: The bits of all supply in one phase.
PHASE_BITS = 60
#: The bits of the products of capacities and slopes in a guess.
GUESS_BITS = 58
#: After this many levels of a guess its pieces get other units.
LEVELS = 2


class Pieces(NamedTuple):
    """The state of the search. Arrays have shape (n,) unless stated."""

    piece: NDArray[np.int64]  #: the number of the piece of each vertex, in the order of the chain
    #: int64 or Python integers, shape (m,): capacity of each residual arc; 0 for arcs between pieces
    capacity: Array
    #: int64 or Python integers: as in :class:`preflow.certify.parametric.LinearNetwork`, in the network of
    #: the piece
    source: Array
    source_slope: Array
    sink: Array
    sink_slope: Array


class Values(NamedTuple):
    """The values at which the pieces are solved. Arrays have shape (number of pieces,)."""

    active: NDArray[np.bool_]
    #: int64 or Python integers: the value of the parameter
    numerator: Array
    denominator: Array


@kernel
def sum_up(net: ResidualArrays, pieces: Pieces, active: NDArray[np.bool_], sums: NDArray[np.int64]) -> None:
    """Add up the numbers of the vertices of each active piece, and the capacities of its arcs.

    The rows of `sums` are the sums of `source`, `source_slope`, `sink`, `sink_slope`, and of the sizes of
    `source`, `sink` and `capacity`.
    """
    for v in range(len(pieces.piece)):
        i = pieces.piece[v]
        if active[i]:
            sums[0, i] += pieces.source[v]
            sums[1, i] += pieces.source_slope[v]
            sums[2, i] += pieces.sink[v]
            sums[3, i] += pieces.sink_slope[v]
            sums[4, i] += abs(pieces.source[v]) + abs(pieces.sink[v])
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
        Cut `i` has the capacity ``intercept[i] + parameter * slope[i]``. Floats are rounded once, from exact
        sums. Python integers where the data are integers and the sums do not fit int64.
    low, high : Fraction
        The range of the parameter.
    network : FlowNetwork
    arc_slope : ndarray, shape (num_arcs,)
        By how much the capacity of each arc grows with the parameter.
    arc_constant : ndarray, shape (num_arcs,), or None
        What each arc has at parameter 0 besides its capacity in `network`.
    sources, sinks : ndarray of int64
    gap : float
        How far a value that :meth:`value` returns may be from the minimum: 0 for integers. For floats it is
        the rounding of the largest value to float64, since the cuts are exact minimum cuts.
    """

    breakpoints: NDArray[np.float64]
    level: NDArray[np.int64]
    intercept: Array
    slope: Array
    low: Fraction
    high: Fraction
    network: FlowNetwork
    arc_slope: Array
    arc_constant: Array | None
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    gap: float
    _flows: PieceFlows

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

    @cached_property
    def _lines(self) -> _Lines:
        return _lines(self.network, self._data(), self.level)

    def _data(self) -> _Data:
        return _whole_data(self.network, self.arc_slope, self.arc_constant)

    def _number(self, parameter: Fraction) -> int:
        """Return the number of the cut at a value of the parameter, at a breakpoint the one that follows."""
        if not self.low <= parameter <= self.high:
            between = " and ".join(f"{float_near(end):.17g}" for end in (self.low, self.high))
            raise InvalidInputError(
                f"the parameter must be between {between}, got {float_near(parameter):.17g}"
            )
        return bisect_right(range(len(self.breakpoints)), parameter, key=self.breakpoint)

    def value(self, parameter: float | Fraction) -> Number | Fraction:
        """Return the value of a maximum flow, and the capacity of a minimum cut, at a value of the parameter.

        Parameters
        ----------
        parameter : int, float or Fraction
            A float is taken as the decimal number that Python prints.

        Returns
        -------
        int, float or Fraction
            Exact for integers, at a parameter that is an integer or a fraction. Otherwise rounded once.

        Raises
        ------
        InvalidInputError
            The parameter is outside the range, or no number.
        CapacityOverflowError
            The value is past float64.
        """
        at = _fraction(parameter, "the parameter")
        exact = self._lines.at(self._number(at), at)
        given: Number | Fraction = parameter.item() if isinstance(parameter, np.generic) else parameter
        if not self._is_float and not isinstance(given, float):
            return exact if isinstance(given, Fraction) else int(exact)
        value = float_near(exact)
        if np.isinf(value):
            raise CapacityOverflowError("the capacity of the minimum cut is past float64")
        return value

    @property
    def _is_float(self) -> bool:
        return _has_floats(self.network, self.arc_slope, self.arc_constant)

    def sink_side(self, parameter: float | Fraction) -> NDArray[np.bool_]:
        """Return the smallest sink side of a minimum cut at a value of the parameter, one bool a vertex."""
        side: NDArray[np.bool_] = self.level > self._number(_fraction(parameter, "the parameter"))
        return side

    def verify(self) -> None:
        """Prove all cuts minimum, independently of the solver, in about linear time.

        The proof is one flow for the whole range: see :mod:`preflow.certify.parametric`. It is exact, also
        for floats.
        """
        network, level = self.network, self.level
        check_terminals(network, self.sources, self.sinks)
        check_array(np, level, "level", (network.num_vertices,), np.int64)
        for name in ("arc_slope", "arc_constant"):
            values = getattr(self, name)
            if name == "arc_slope" or values is not None:
                check_array(np, values, name, (network.num_arcs,), np.int64, np.float64)
                check_finite(name, values)
        fault = _fault_of_slopes(network, self.arc_slope, self.sources, self.sinks)
        if fault is not None:
            raise VerificationError(fault)
        check_piece_fields(self._flows)
        for end in (self.low, self.high):
            if not isinstance(end, Fraction):
                raise VerificationError(f"an end of the range is no Fraction: {end!r}")
        exact = _breakpoints(self._flows)
        last = len(exact.numerator) + 1
        if level.min() < 0 or level.max() > last:
            raise VerificationError("the levels do not fit the network")
        if (level[self.sources] != 0).any() or (level[self.sinks] != last).any():
            raise VerificationError("a source or a sink is on the wrong side of a cut")
        finite = self._data()
        fault = _fault_of_range(finite, self.low, self.high)
        if fault is not None:
            raise VerificationError(fault)
        data = finite.with_endless(self.low, self.high)
        flows = self._flows
        check_piece_flows(_linear_network(network, data, self.sources, self.sinks), flows)
        ends = [Fraction(int(flows.numerator[i]), int(flows.denominator[i])) for i in (0, -1)]
        if ends != [self.low, self.high]:
            raise VerificationError("the proof is one for another range")
        if (np.gcd(flows.numerator, flows.denominator) != 1).any():
            raise VerificationError("a value of the proof is not in lowest terms")
        check_array(np, self.breakpoints, "breakpoints", (last - 1,), np.float64)
        if not np.array_equal(exact.rounded(), self.breakpoints):
            raise VerificationError("the breakpoints are not those of the proof")
        inner = _inner(network, self.sources, self.sinks)
        if not np.array_equal(level[inner], exact.level):
            raise VerificationError("the levels are not those of the proof")
        lines = _lines(network, finite, level)
        for name, found in zip(("intercept", "slope"), lines.arrays(self._is_float), strict=True):
            claimed = getattr(self, name)
            check_array(np, claimed, name, (last,), found.dtype)
            if not np.array_equal(found, claimed):
                raise VerificationError(f"a cut has another {name}")
        if checked_number(self.gap, "the gap") != _gap(self._is_float, lines, self.low, self.high, exact):
            raise VerificationError(f"the gap is not {self.gap}")

    def _summary(self) -> str:
        return f"{self.num_cuts:,} cuts from {float_near(self.low):g} to {float_near(self.high):g}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the capacity of the minimum cut against the parameter, with a dot where the cut changes."""
        at = np.concatenate([[float_near(self.low)], self.breakpoints, [float_near(self.high)]])
        piece = np.minimum(np.arange(len(at)), len(self.slope) - 1)
        capacity = (self.intercept[piece] + at * self.slope[piece]).astype(np.float64)
        return draw_pieces(ax, at, capacity, "parameter", "capacity of the minimum cut")


class _Data(NamedTuple):
    """Capacities and slopes as integers."""

    #: capacity, reverse, slope: int64 or Python integers: the given numbers times two to `exponent`;
    #: `reverse` is empty where there are no reverse capacities. Infinite capacities are 0, or more than any
    #: cut of finite capacity: see :meth:`with_endless`. `capacity` is at parameter 0, and may be negative.
    capacity: Array
    reverse: Array
    slope: Array
    exponent: int
    #: the arcs of infinite capacity
    endless: NDArray[np.int64]
    endless_reverse: NDArray[np.int64]

    def with_endless(self, low: Fraction, high: Fraction) -> _Data:
        """Return the data with infinite capacities larger than any finite cut in a range of the parameter."""
        if not len(self.endless) + len(self.endless_reverse):
            return self
        largest = ceil(max(abs(low), abs(high)))
        cut = self.total() + largest * _total(abs(self.slope)) + 1
        capacity, reverse, slope = self.capacity.copy(), self.reverse.copy(), self.slope
        if self.total() + (len(self.endless) + len(self.endless_reverse)) * cut >= MOST:
            capacity, reverse, slope = (part.astype(object) for part in (capacity, reverse, slope))
        capacity[self.endless], reverse[self.endless_reverse] = cut, cut
        return self._replace(capacity=capacity, reverse=reverse, slope=slope)

    def total(self) -> int:
        """Return the sum of all absolute values."""
        return _total(abs(self.capacity)) + _total(self.reverse) + _total(abs(self.slope))

    def of_any_size(self) -> _Data:
        """Return the same data as Python integers."""
        capacity, reverse, slope = (part.astype(object) for part in self[:3])
        return self._replace(capacity=capacity, reverse=reverse, slope=slope)


def _total(values: Array) -> int:
    return int(exact_sum(values)) if values.dtype == np.int64 else sum(values.tolist())


def _has_floats(network: FlowNetwork, *others: Array | None) -> bool:
    """Return whether a capacity, or one of the other arrays, is of floats."""
    return any(values is not None and values.dtype.kind == "f" for values in (network.capacity, *others))


def _whole_data(network: FlowNetwork, slope: Array, constant: Array | None) -> _Data:
    """Return the given numbers as integers, int64 where their sum is below 2**61."""
    reverse = network.capacity[:0] if network.reverse_capacity is None else network.reverse_capacity
    parts, endless = [], []
    for values in (network.capacity, reverse):
        places = np.flatnonzero(np.isinf(values))
        endless.append(places)
        parts.append(np.where(np.isinf(values), 0, values) if len(places) else values)
    parts.append(slope)
    if constant is not None:
        parts.append(np.where(np.isinf(network.capacity), 0, constant))
    with np.errstate(over="ignore"):
        size = sum(float(np.abs(part.astype(np.float64)).sum()) for part in parts)
    exponent = 0
    if all(map(are_whole, parts)) and size < MOST / 2:
        whole: list[Array] = [part.astype(np.int64) for part in parts]
    else:
        whole, exponent = as_integers(*parts)
    if constant is not None:
        whole[0] = whole[0] + whole[3]
    return _Data(whole[0], whole[1], whole[2], exponent, *endless)


def _gap(is_float: bool, lines: _Lines, low: Fraction, high: Fraction, exact: _Breakpoints) -> float:
    """Return what the rounding to float64 may change in the largest value in the range; 0 for integers.

    The minimum is concave: its largest value is where the slope of the cuts changes its sign, or at an end.
    """
    if not is_float:
        return 0.0
    last, rising = len(lines.slope) - 1, int(np.count_nonzero(lines.slope > 0))
    largest = max(abs(lines.at(0, low)), abs(lines.at(last, high)))
    if 0 < rising <= last:
        peak = Fraction(int(exact.numerator[rising - 1]), int(exact.denominator[rising - 1]))
        largest = max(largest, abs(lines.at(rising, peak)))
    return ldexp(min(float_near(largest), sys.float_info.max), -53)


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
    arcs = _numbered(network, data, number)
    tails, heads, capacities, _ = arcs
    between = (tails < n) & (heads < n) & (tails != heads)
    key, place = np.unique(tails[between] * n + heads[between], return_inverse=True)
    merged = np.zeros(len(key), dtype=capacities.dtype)
    np.add.at(merged, place, capacities[between])
    return LinearNetwork(key // max(n, 1), key % max(n, 1), merged, *_at_terminals(arcs, n))


class _Numbered(NamedTuple):
    """The arcs of both directions, with n for a source and n + 1 for a sink."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: Array
    slope: Array


def _numbered(network: FlowNetwork, data: _Data, number: NDArray[np.int64]) -> _Numbered:
    """Return the arcs with other numbers of their ends."""
    tail, head = number[network.tail], number[network.head]
    if not len(data.reverse):
        return _Numbered(tail, head, data.capacity, data.slope)
    return _Numbered(
        np.concatenate([tail, head]),
        np.concatenate([head, tail]),
        np.concatenate([data.capacity, data.reverse]),
        np.concatenate([data.slope, 0 * data.reverse]),
    )


def _at_terminals(arcs: _Numbered, n: int) -> Array:
    """Return capacities and slopes from the source to each vertex, and to the sink: four rows."""
    tail, head, capacity, slope = arcs
    parts = np.zeros((4, n), dtype=capacity.dtype)
    out, into = (tail == n) & (head < n), (tail < n) & (head == n + 1)
    np.add.at(parts[0], head[out], capacity[out])
    np.add.at(parts[1], head[out], slope[out])
    np.add.at(parts[2], tail[into], capacity[into])
    np.subtract.at(parts[3], tail[into], slope[into])
    return parts


class _Lines(NamedTuple):
    """The capacity of each cut at parameter 0, and its slope, as Python integers times two to `exponent`."""

    intercept: NDArray[np.object_]
    slope: NDArray[np.object_]
    exponent: int

    def at(self, number: int, parameter: Fraction) -> Fraction:
        """Return the capacity of a cut at a value of the parameter."""
        exact: Fraction = Fraction(self.intercept[number] + self.slope[number] * parameter)
        return exact / (1 << self.exponent)

    def arrays(self, is_float: bool) -> list[Array]:
        """Return both as arrays of float64, or of int64 where all fit, otherwise of Python integers."""
        found: list[Array] = []
        for values in (self.intercept, self.slope):
            if is_float:
                found.append(as_floats(values, self.exponent))
            else:
                fits = max(map(abs, values.tolist()), default=0) <= INT64_MAX
                found.append(values.astype(np.int64) if fits else values)
        return found


def _lines(network: FlowNetwork, data: _Data, level: NDArray[np.int64]) -> _Lines:
    """Return the capacity of each cut at parameter 0, and its slope; `data` has 0 for infinite capacities.

    Cut `i` has the arcs from levels up to `i` to larger ones. VerificationError: a cut has an arc of infinite
    capacity.
    """
    count = int(level.max())
    low, high = level[network.tail], level[network.head]
    parts = [(low, high, data.capacity), (low, high, data.slope)]
    if len(data.reverse):
        parts.append((high, low, data.reverse))
    ends = zip((low, high), (high, low), (data.endless, data.endless_reverse), strict=True)
    if any((begin[arcs] < end[arcs]).any() for begin, end, arcs in ends):
        raise VerificationError("a cut has an arc of infinite capacity")
    changes = []
    for begin, end, values in parts:
        change = np.zeros(count + 1, dtype=values.dtype)
        upward = begin < end
        np.add.at(change, begin[upward], values[upward])
        np.subtract.at(change, end[upward], values[upward])
        changes.append(np.cumsum(change)[:count].astype(object))
    intercept = changes[0] + changes[2] if len(changes) > 2 else changes[0]
    return _Lines(intercept, changes[1], data.exponent)


class _Breakpoints(NamedTuple):
    """The different values of the pieces between the first and the last."""

    #: int64 or Python integers, shape (k,): in lowest terms, ascending
    numerator: Array
    denominator: Array
    level: NDArray[np.int64]  #: the level of each vertex between the terminals

    def rounded(self) -> NDArray[np.float64]:
        """Return the values as floats."""
        largest = max(map(abs, [*self.numerator.tolist(), *self.denominator.tolist()]), default=0)
        if int(largest) <= int(EXACT_FLOAT):
            quotient: NDArray[np.float64] = (self.numerator / self.denominator).astype(np.float64)
            return quotient
        return quotients(self.numerator, self.denominator)


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
    constant: ArrayLike | None = None,
    low: float | Fraction = 0,
    high: float | Fraction | None = None,
    method: FlowMethodName | str = "auto",
    threads: int | None = None,
) -> ParametricMaxFlow:
    """Find minimum cuts for all values of a parameter on which the capacities at the terminals depend.

    The capacity of an arc is ``capacity + constant + parameter * slope``. Arcs out of a source may have a
    positive slope and arcs into a sink a negative one; all others have slope 0. Then the source side of the
    minimum cut grows with the parameter. Such problems are: the densest subgraph, the best ratio of profit to
    cost, schedules with a deadline to choose, all segmentations of an image from dark to bright.

    Parameters
    ----------
    network, source, sink
        As in :func:`preflow.max_flow`. An arc of infinite capacity cannot be cut, whatever its slope.
    slope : array_like, shape (num_arcs,)
        For each arc, in the order of the network.
    constant : array_like, shape (num_arcs,), optional
        Added to the capacities of the network, exactly. It may be negative, so it is for arcs that have no
        capacity at parameter 0: those of capacity ``3 * parameter - 5``, say, where `low` is 2.
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
        A slope has the wrong sign or is not at a terminal, or a capacity is negative in the range: the
        message names an arc and a value of the parameter.
    UnboundedFlowError
        Arcs of infinite capacity lead from a source to a sink.

    Notes
    -----
    A few solves of smaller and smaller networks: their number is mostly about the logarithm of the number of
    cuts. All cuts and breakpoints are exact, those of floats, too; a float of the result is rounded once,
    from an exact fraction. Where numbers times the denominators of breakpoints sum past 2**61, as most floats
    do, a solve takes several phases, with Python's integers.
    Gallo, Grigoriadis and Tarjan 1989.

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

    Arc 0 has the capacity ``2 * parameter - 3``:

    >>> slope, constant = [2, 2, 0, 0, 0], [-3, 0, 0, 0, 0]
    >>> found = preflow.parametric_max_flow(network, slope, 0, 3, constant=constant, low=1.5)
    >>> [found.breakpoint(i) for i in range(found.num_cuts - 1)]
    [Fraction(7, 2)]
    """
    given, source, sink = as_flow_problem(network, source, sink)
    given = given.on_host()
    sources, sinks = given.terminals(source, sink)
    if given.saturated:
        raise InvalidInputError("the capacities must be below 2**63: as floats they may be larger")
    slopes = _read_slopes(given, slope, sources, sinks)
    constants = None
    if constant is not None:
        constants = read_signed(constant, given.num_arcs, "constant").copy()
        check_finite("constant", constants)
    finite = _whole_data(given, slopes, constants)
    endless = [np.isinf(given.capacity)]
    if given.reverse_capacity is not None:
        endless.append(np.isinf(given.reverse_capacity))
    if len(finite.endless) + len(finite.endless_reverse):
        check_bounded(given, endless, sources, sinks)
    start, end = _range(finite, low, high)
    request = Request(METHODS, method, "cpu", threads)
    call = FlowCall.of(FlowProblem(given, sources, sinks, {}), request)
    return call.run(lambda: _found(call, slopes, constants, finite, start, end), request)


def _found(
    call: FlowCall, slopes: Array, constants: Array | None, finite: _Data, low: Fraction, high: Fraction
) -> ParametricMaxFlow:
    """Search, and wrap what was found."""
    network, sources, sinks = call.instance, call.sources, call.sinks
    data = finite.with_endless(low, high)
    flows = None
    if data.capacity.dtype == np.int64:
        with suppress(CapacityOverflowError):
            flows = _Search(call, data, low, high).run()
    if flows is None:
        flows = _ExactSearch(call, data.of_any_size(), low, high).run()
    found = _breakpoints(flows)
    level = np.zeros(network.num_vertices, dtype=np.int64)
    level[_inner(network, sources, sinks)] = found.level
    level[sinks] = len(found.numerator) + 1
    is_float = _has_floats(network, slopes, constants)
    lines = _lines(network, finite, level)
    intercept, rise = lines.arrays(is_float)
    return ParametricMaxFlow(
        breakpoints=found.rounded(),
        level=level,
        intercept=intercept,
        slope=rise,
        low=low,
        high=high,
        network=network,
        arc_slope=slopes,
        arc_constant=constants,
        sources=sources,
        sinks=sinks,
        gap=_gap(is_float, lines, low, high, found),
        _flows=flows,
    )


def _read_slopes(
    network: FlowNetwork, slope: ArrayLike, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> Array:
    """Check the slopes, and return a copy of integers or floats."""
    values = read_signed(slope, network.num_arcs, "slope").copy()
    fault = _fault_of_slopes(network, values, sources, sinks)
    if fault is not None:
        raise InvalidInputError(fault)
    return values


def _fault_of_slopes(
    network: FlowNetwork, slope: Array, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> str | None:
    """Return what is wrong with the slopes; None if nothing is."""
    check_finite("slope", slope)
    out, into = vertex_mask(network, sources)[network.tail], vertex_mask(network, sinks)[network.head]
    for wrong, rule in (
        (~out & (slope > 0), "only an arc out of a source may have a positive slope"),
        (~into & (slope < 0), "only an arc into a sink may have a negative slope"),
    ):
        if wrong.any():
            arc = int(wrong.argmax())
            return f"{rule}; arc {arc} has slope {slope[arc]}"
    return None


def _range(data: _Data, low: float | Fraction, high: float | Fraction | None) -> tuple[Fraction, Fraction]:
    """Return the range of the parameter exactly; check that no capacity becomes negative in it."""
    start = _fraction(low, "low")
    _, capacities, slopes = _changing(data)
    arcs = zip(capacities, slopes, strict=True)
    limit = min((Fraction(capacity, -slope) for capacity, slope in arcs if slope < 0), default=None)
    if high is not None:
        end = _fraction(high, "high")
    elif limit is not None:
        end = max(limit, start)
    else:
        # Past the sum of all capacities a slope of at least one keeps its arc out of every minimum cut.
        least = min([2**data.exponent, *filter(None, slopes)])
        most = Fraction(_total(abs(data.capacity)) + _total(data.reverse), least)
        end = max(most + 1, start + 1)
    if end < start:
        between = f"{float_near(start):g} and {float_near(end):g}"
        raise InvalidInputError(f"high must not be below low, got {between}")
    for name, given in (("low", start), ("high", end)):
        if np.isinf(float_near(given)) and (name == "low" or high is not None):
            raise InvalidInputError(f"{name} must be at most {sys.float_info.max:g} in size")
    fault = _fault_of_range(data, start, end)
    if fault is not None:
        raise InvalidInputError(fault)
    return start, end


def _changing(data: _Data) -> tuple[NDArray[np.intp], list[int], list[int]]:
    """Return the finite arcs with a slope, or negative at parameter 0; also their capacities and slopes."""
    arcs = np.setdiff1d(np.flatnonzero((data.slope != 0) | (data.capacity < 0)), data.endless)
    return arcs, data.capacity[arcs].tolist(), data.slope[arcs].tolist()


def _fault_of_range(data: _Data, low: Fraction, high: Fraction) -> str | None:
    """Return which arc has a negative capacity at an end of the range; None if no arc has."""
    arcs, capacities, slopes = _changing(data)
    for value in (low, high):
        p, q = value.numerator, value.denominator
        changed = [capacity * q + slope * p for capacity, slope in zip(capacities, slopes, strict=True)]
        least = min(changed, default=0)
        if least < 0:
            place = changed.index(least)
            fault = f"the capacity of arc {arcs[place]} is negative at {float_near(value):g}"
            if not slopes[place]:
                return f"{fault}, and its slope is 0"
            bound = Fraction(-capacities[place], slopes[place])
            shown = str(bound) if len(str(bound)) < 20 else f"about {float_near(bound):.17g}"
            return (
                f"{fault}: {'low must be at least' if slopes[place] > 0 else 'high must be at most'} {shown}"
            )
    return None


def _fraction(value: float | Fraction, name: str) -> Fraction:
    number: Number | Fraction = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction):
        raise InvalidInputError(f"{name} must be a number, got {value!r}")
    if isinstance(number, float):
        if not np.isfinite(number):
            raise InvalidInputError(f"{name} must be finite, got {value}")
        return Fraction(repr(number))
    return Fraction(number)


class _Search:
    """The search for all cuts.

    The `values` of pieces that are not active are those at which they were solved last.
    """

    def __init__(self, call: FlowCall, data: _Data, low: Fraction, high: Fraction) -> None:
        self.call, self.low, self.high = call, low, high
        network = with_capacities(call.instance, np.maximum(data.capacity, 0), data.reverse)
        built = build_residual(network, call.sources, call.sinks, threads=call.build_threads)
        arrays, n = built.arrays, built.num_vertices
        capacity: NDArray[np.int64] = arrays.residual.astype(np.int64)
        self.net = arrays._replace(residual=capacity.copy())
        parts = _at_terminals(_numbered(network, data, built.inner.astype(np.int64)), n)
        self.pieces = Pieces(np.zeros(n, dtype=np.int64), capacity, *parts)
        self.values = Values(np.ones(1, dtype=bool), np.zeros(1, np.int64), np.ones(1, np.int64))

    def run(self) -> PieceFlows:
        """Find the pieces and their flows."""
        self.find()
        return self._flows()

    def find(self) -> None:
        """Find the pieces."""
        self._divide(self._solve_at(0, self.low), np.ones(1, dtype=bool))
        self._divide(self._solve_at(1, self.high), np.array([False, True]))
        self._set_active(np.array([False, True, False]))
        while self.values.active.any():
            self._level()

    def _flows(self) -> PieceFlows:
        """Return the pieces and their flows."""
        pieces, values = self.pieces, self.values
        net = self.net
        n = len(pieces.piece)
        tail = np.repeat(np.arange(n), (net.first_out[1:] - net.first_out[:-1]).astype(np.int64))
        amount = values.denominator[pieces.piece[tail]] * pieces.capacity - self._left()
        used = (amount > 0) & (pieces.piece[tail] == pieces.piece[net.head])
        head = net.head[used].astype(np.int64)
        piece, numerator, denominator = self.compact()
        return PieceFlows(piece, numerator, denominator, tail[used], head, amount[used])

    def _left(self) -> Array:
        """Return the residual capacities, in units of one divided by the denominator of the piece."""
        return self.net.residual

    def compact(self) -> tuple[NDArray[np.int64], Array, Array]:
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
        if (
            values.numerator.dtype == np.int64
            and max(abs(parameter.numerator), parameter.denominator) >= MOST
        ):
            raise CapacityOverflowError("an end of the range is a fraction of larger integers than int64")
        values.active[:] = False
        values.active[number] = True
        values.numerator[number], values.denominator[number] = parameter.numerator, parameter.denominator
        return self._solve(self._sums())

    def _sums(self) -> Array:
        sums = np.zeros((5, len(self.values.active)), dtype=np.int64)
        sum_up(self.net, self.pieces, self.values.active, sums)
        return sums

    def _solve(self, sums: Array) -> NDArray[np.bool_]:
        values = self.values
        size = values.denominator * sums[4].astype(np.float64)
        size += np.abs(values.numerator.astype(np.float64)) * sums[[1, 3]].sum(axis=0, dtype=np.float64)
        if (size[values.active] >= MOST).any():
            raise CapacityOverflowError("capacities times a denominator sum past 2**61")
        set_up(self.net, self.pieces, values)
        return self._reaching()

    def _reaching(self) -> NDArray[np.bool_]:
        """Solve the residual network as it is, and return which vertices reach the sink."""
        call = self.call
        call.control.check_wanted()
        height = call.by_plan(lambda _: call.first_heights(self.net))
        reaching: NDArray[np.bool_] = height <= len(height)
        call.control.status(call.method, not self.net.excess[reaching].any(), call.UNPROVED)
        return reaching

    def _divide(self, reaching: NDArray[np.bool_], divided: NDArray[np.bool_]) -> None:
        """Divide pieces into the vertices that do not reach the sink and those that do, and number all again.

        Both parts of a divided piece keep its value.
        """
        pieces, values = self.pieces, self.values
        self._cut(divided, reaching)
        first = np.cumsum(1 + divided) - 1 - divided
        pieces.piece[:] = first[pieces.piece] + (divided[pieces.piece] & reaching)
        count = 1 + divided
        active, numerator, denominator = values
        self.values = Values(
            np.repeat(active, count), np.repeat(numerator, count), np.repeat(denominator, count)
        )

    def _cut(self, divided: NDArray[np.bool_], reaching: NDArray[np.bool_]) -> None:
        """Cut the arcs of divided pieces between their two parts."""
        divide(self.net, self.pieces, divided, reaching)

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
        active &= self._has_value(sums[1] + sums[3])
        p, q = (sums[2] - sums[0])[active], (sums[1] + sums[3])[active]
        common = np.gcd(p, q)
        values.numerator[active], values.denominator[active] = p // common, q // common
        reaching = self._solve(sums)
        divided = values.active & ~self._final()
        self._divide(reaching, divided)
        self._set_active(np.repeat(divided, 1 + divided))

    def _has_value(self, q: Array) -> NDArray[np.bool_]:
        """Return which active pieces have a value, by the sums of their slopes: all between minimum cuts."""
        has: NDArray[np.bool_] = q > 0
        if (self.values.active & ~has).any():
            raise SolverError("a piece has no breakpoint: please report this bug")
        return has

    def _final(self) -> NDArray[np.bool_]:
        """Return which active pieces are final: all their supply has reached the sink."""
        final = self.values.active.copy()
        final[self.pieces.piece[self.net.excess > 0]] = False  # other pieces have no excess
        return final


class _Guess(_Search):
    """The search by the leading bits of the numbers of each piece. What it finds need not be right.

    Every piece has its own units of capacity and of slope, and no end of the range is solved: that all
    capacities of a vertex between the terminals differ from what they are by the same amount changes no cut.
    `given` has all numbers as floats, and no piece of any vertex.
    """

    def __init__(self, call: FlowCall, net: ResidualArrays, tail: NDArray[np.int64], given: Pieces) -> None:
        self.call, self.net, self.tail, self.given = call, net, tail, given
        active = np.array([False, True, False])
        self.values = Values(active, np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64))
        self.pieces = given._replace(piece=np.ones_like(given.piece))

    def find(self) -> None:
        """Find the pieces."""
        self._set_active(self.values.active)
        while self.values.active.any():
            self._set_units()
            for _ in range(LEVELS):
                if self.values.active.any():
                    self._level()

    def _set_units(self) -> None:
        """Take the leading bits of the numbers of each active piece."""
        given, tail, head = self.given, self.tail, self.net.head
        piece, active = self.pieces.piece, self.values.active
        n, count = len(piece), len(active)
        source, sink, capacity = given.source.copy(), given.sink.copy(), given.capacity
        upward = piece[tail] < piece[head]
        source += np.bincount(head[upward], capacity[upward], n)
        sink += np.bincount(tail[upward], capacity[upward], n)
        within = active[piece[tail]] & (piece[tail] == piece[head])
        slopes = np.bincount(piece, given.source_slope + given.sink_slope, count)
        sums = np.bincount(piece, np.abs(source) + np.abs(sink), count)
        # At the value of a piece no flow is larger than this sum.
        capacity = np.where(within, np.minimum(capacity, sums[piece[tail]]), 0.0)
        sums += np.bincount(piece[tail], capacity, count)
        room = GUESS_BITS - int(np.count_nonzero(active)).bit_length()
        # Slopes are integers: those of few bits are exact.
        bits = np.frexp(slopes)[1]
        less = np.maximum(bits - room // 2, 0)
        shift = np.frexp(sums)[1] - room + bits - less
        parts = []
        for amounts, by in (
            (capacity, shift[piece[tail]]),
            (source, shift[piece]),
            (given.source_slope, less[piece]),
            (sink, shift[piece]),
            (given.sink_slope, less[piece]),
        ):
            parts.append(np.floor(np.ldexp(amounts, -by)).astype(np.int64))
        self.pieces = Pieces(piece, *parts)

    def _has_value(self, q: Array) -> NDArray[np.bool_]:
        """Return which pieces have a value: what is no piece of the given numbers may have none."""
        has: NDArray[np.bool_] = q > 0
        return has


class _ExactSearch(_Search):
    """The search with integers of any size, in phases: see the module's docstring.

    `tail` is that of each residual arc. `left`, `supply` and `demand`, of Python integers, are what is left
    of the capacity of each arc, at each vertex of what comes from the source, and of the capacity to the
    sink; in units of one divided by the denominator of the piece.
    """

    def __init__(self, call: FlowCall, data: _Data, low: Fraction, high: Fraction) -> None:
        self.call, self.low, self.high = call, low, high
        nothing = np.zeros(call.instance.num_arcs, dtype=np.int64)
        network = with_capacities(call.instance, nothing, nothing[:0])
        built = build_residual(network, call.sources, call.sinks, threads=call.build_threads)
        arrays, n = built.arrays, built.num_vertices
        self.net = arrays._replace(residual=arrays.residual.astype(np.int64))
        linear = self.linear = _linear_network(call.instance, data, call.sources, call.sinks)
        first = arrays.first_out.astype(np.int64)
        self.tail = np.repeat(np.arange(n), first[1:] - first[:-1])
        self.head = arrays.head.astype(np.int64)
        wanted = self.tail * n + self.head
        self.capacity = np.zeros(len(wanted), dtype=object)
        order = np.argsort(wanted)
        place = np.searchsorted(wanted, linear.tail * n + linear.head, sorter=order)
        self.capacity[order[place]] = linear.capacity
        self.left = self.capacity.copy()
        self.supply, self.demand = np.zeros(n, dtype=object), np.zeros(n, dtype=object)

    def run(self) -> PieceFlows:
        """Find the pieces and their flows."""
        piece, count = self._guess()
        self._set_pieces(piece)
        zero = np.zeros(count, dtype=object)
        self.values = Values(np.ones(count, dtype=bool), zero, zero + 1)
        crossings = zero, zero + 1
        self._set_ends()
        self._set_active(np.ones(count, dtype=bool))
        while self.values.active.any():
            crossings = self._in_order(*crossings)
            self._set_values(*crossings)
            reaching = self._solve(crossings[0])
            divided = self._to_divide(reaching)
            p, q = (np.repeat(each, 1 + divided) for each in crossings)
            crossings = p, q
            self._divide(reaching, divided)
            new = np.repeat(divided, 1 + divided)
            new[0] &= not divided[0]
            new[-1] &= not divided[-1]
            self._set_active(new)
        return self._flows()

    def _guess(self) -> tuple[NDArray[np.int64], int]:
        """Return the piece of each vertex in a search for the leading bits, and the number of pieces."""
        linear = self.linear
        amounts, slopes = (linear.source, linear.sink), (linear.source_slope, linear.sink_slope)
        largest = max(int(abs(part).max(initial=0)) for part in (*amounts, self.capacity))
        unit = max(largest.bit_length() - LARGEST_POWER, 0)
        source, sink, capacity = ((part >> unit).astype(np.float64) for part in (*amounts, self.capacity))
        common = int(np.bitwise_or.reduce(np.concatenate(slopes), initial=0))
        step = max((common & -common).bit_length() - 1, common.bit_length() - LARGEST_POWER, 0)
        rise, fall = ((part >> step).astype(np.float64) for part in slopes)
        given = Pieces(np.zeros(len(source), dtype=np.int64), capacity, source, rise, sink, fall)
        search = _Guess(self.call, self.net, self.tail, given)
        search.find()
        piece, values, _ = search.compact()
        return piece, len(values)

    def _set_pieces(self, piece: NDArray[np.int64]) -> None:
        """Set up the networks of pieces."""
        linear, tail, head = self.linear, self.tail, self.head
        source, sink = linear.source.copy(), linear.sink.copy()
        upward = np.flatnonzero(piece[tail] < piece[head])
        np.add.at(sink, tail[upward], self.capacity[upward])
        np.add.at(source, head[upward], self.capacity[upward])
        within = piece[tail] == piece[head]
        capacity = np.where(within, self.capacity, 0)
        self.pieces = Pieces(piece, capacity, source, linear.source_slope, sink, linear.sink_slope)

    def _in_order(self, p: Array, q: Array) -> tuple[Array, Array]:
        """Join pieces in the wrong order; return `p` and `q`, where ``p / q`` is the value of a piece."""
        p, q = self._crossings(p, q)
        number = join(p, q, self.low, self.high)
        return self._join(number, p, q) if number[-1] + 1 < len(number) else (p, q)

    def _crossings(self, p: Array, q: Array) -> tuple[Array, Array]:
        """Return `p` and `q` with those of new pieces; ``p / q`` is the value of a piece."""
        pieces, new = self.pieces, self.values.active
        vertices = np.flatnonzero(new[pieces.piece])
        source, rise, sink, fall = (
            self._by_piece(vertices, part)
            for part in (pieces.source, pieces.source_slope, pieces.sink, pieces.sink_slope)
        )
        return np.where(new, sink - source, p), np.where(new, rise + fall, q)

    def _join(self, number: NDArray[np.int64], p: Array, q: Array) -> tuple[Array, Array]:
        """Give pieces new numbers, and return the sums of `p` and `q` of those that become one."""
        values = self.values
        sizes = np.bincount(number)
        first = np.cumsum(sizes) - sizes
        active = (sizes > 1) | values.active[first]
        sums = []
        for each in (p, q):
            total = np.zeros(len(sizes), dtype=object)
            np.add.at(total, number, each)
            sums.append(total)
        self.values = Values(active, values.numerator[first], values.denominator[first])
        self._set_pieces(number[self.pieces.piece])
        self._set_active(active)
        return sums[0], sums[1]

    def _set_values(self, p: Array, q: Array) -> None:
        """Set the value of every new piece; that of the first and the last is an end of the range."""
        self._set_ends()
        values = self.values
        new = values.active.copy()
        new[[0, -1]] = False
        if (q[new] <= 0).any():
            raise SolverError("a piece has no breakpoint: please report this bug")
        common = np.gcd(p[new], q[new])
        values.numerator[new], values.denominator[new] = p[new] // common, q[new] // common

    def _set_ends(self) -> None:
        values = self.values
        for place, end in ((0, self.low), (-1, self.high)):
            values.numerator[place], values.denominator[place] = end.numerator, end.denominator

    def _to_divide(self, reaching: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the pieces that were solved are to be divided into vertices that reach or do not.

        Vertices of a final piece that are on either side of minimum cuts below its value as well do not
        reach: they belong to an earlier piece.
        """
        active, piece = self.values.active, self.pieces.piece
        final = active & self._final()
        final[[0, -1]] = False
        vertices = np.flatnonzero(final[piece])
        reaching[vertices] = self._moving(vertices)
        divided = active & ~final
        divided[[0, -1]] = False
        divided[piece[vertices[~reaching[vertices]]]] = True
        last = len(active) - 1
        divided[0] = active[0] and bool(reaching[piece == 0].any())
        divided[last] = active[last] and not bool(reaching[piece == last].all())
        return divided

    def _moving(self, vertices: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which vertices of final pieces reach the sink when the value falls a little.

        Then every vertex whose capacities depend on the parameter has capacity left to the sink.
        """
        net, pieces = self.net, self.pieces
        within = np.zeros(len(pieces.piece), dtype=bool)
        within[vertices] = True
        slope = pieces.source_slope + pieces.sink_slope
        net.excess[:] = 0
        net.sink_residual[:] = within & (slope > 0)
        inside = within[self.tail] & (pieces.piece[self.tail] == pieces.piece[self.head])
        net.residual[:] = inside & (self.left > 0)
        return self._reaching()[vertices]

    def _left(self) -> Array:
        return self.left

    def _by_piece(self, vertices: NDArray[np.intp], amounts: Array) -> Array:
        """Return, for every piece, the sum of the amounts of some vertices."""
        total = np.zeros(len(self.values.active), dtype=object)
        np.add.at(total, self.pieces.piece[vertices], amounts[vertices])
        return total

    def _solve(self, sums: Array) -> NDArray[np.bool_]:
        pieces, values = self.pieces, self.values
        vertices = np.flatnonzero(values.active[pieces.piece])
        arcs = np.flatnonzero(values.active[pieces.piece[self.tail]])
        p, q = (values[k][pieces.piece[vertices]] for k in (1, 2))
        supply = q * pieces.source[vertices] + p * pieces.source_slope[vertices]
        demand = q * pieces.sink[vertices] - p * pieces.sink_slope[vertices]
        through = np.minimum(supply, demand)
        self.supply[vertices], self.demand[vertices] = supply - through, demand - through
        self.left[arcs] = values.denominator[pieces.piece[self.tail[arcs]]] * pieces.capacity[arcs]
        bound = np.minimum(self._by_piece(vertices, self.supply), self._by_piece(vertices, self.demand))
        reaching = np.zeros(len(pieces.piece), dtype=bool)
        working = values.active.copy()
        while working.any():
            below = self._phase(working, bound, reaching)
            if (below[working] >= np.maximum(bound[working], 1)).any():
                raise SolverError(f"solver {self.call.method.name!r} left {self.call.UNPROVED}")
            bound = below
            working &= bound > 0
        return reaching

    def _phase(self, working: NDArray[np.bool_], bound: Array, reaching: NDArray[np.bool_]) -> Array:
        """Solve the leading bits of some pieces; return what is left across their cuts."""
        net, piece = self.net, self.pieces.piece
        vertices, arcs = np.flatnonzero(working[piece]), np.flatnonzero(working[piece[self.tail]])
        of_vertex, of_arc = piece[vertices], piece[self.tail[arcs]]
        ends = [np.minimum(amounts, bound[piece]) for amounts in (self.supply, self.demand)]
        room = PHASE_BITS - int(np.count_nonzero(working)).bit_length()
        total = np.maximum(*(self._by_piece(vertices, amounts) for amounts in ends))
        shift = np.array([max(0, amount.bit_length() - room) for amount in total.tolist()], dtype=object)
        limit = (bound >> shift) + 1
        solved = []
        for amounts, places, of, array in (
            (self.supply, vertices, of_vertex, net.excess),
            (self.demand, vertices, of_vertex, net.sink_residual),
            (self.left, arcs, of_arc, net.residual),
        ):
            leading = np.minimum(amounts[places] >> shift[of], limit[of]).astype(np.int64)
            array[:] = 0
            array[places] = leading
            solved.append((amounts, places, of, array, leading))
        found = self._reaching()
        for amounts, places, of, array, leading in solved:
            change = leading - array[places]
            changed = np.flatnonzero(change)
            amounts[places[changed]] -= change[changed].astype(object) << shift[of[changed]]
        reaching[vertices] = found[vertices]
        across = np.zeros(len(bound), dtype=object)
        for amounts, places in (
            (self.supply, vertices[found[vertices]]),
            (self.demand, vertices[~found[vertices]]),
        ):
            across += self._by_piece(places, amounts)
        crossing = arcs[~found[self.tail[arcs]] & found[net.head[arcs]]]
        np.add.at(across, piece[self.tail[crossing]], self.left[crossing])
        return across

    def _final(self) -> NDArray[np.bool_]:
        vertices = np.flatnonzero(self.values.active[self.pieces.piece])
        final: NDArray[np.bool_] = self._by_piece(vertices, self.supply) == 0
        return final

    def _cut(self, divided: NDArray[np.bool_], reaching: NDArray[np.bool_]) -> None:
        pieces, head = self.pieces, self.net.head
        arcs = np.flatnonzero(divided[pieces.piece[self.tail]])
        arcs = arcs[reaching[self.tail[arcs]] != reaching[head[arcs]]]
        upward = arcs[reaching[head[arcs]]]
        np.add.at(pieces.sink, self.tail[upward], pieces.capacity[upward])
        np.add.at(pieces.source, head[upward], pieces.capacity[upward])
        pieces.capacity[arcs] = 0


def join(p: Array, q: Array, low: Fraction, high: Fraction) -> NDArray[np.int64]:
    """Return the new number of each piece, after those were joined whose values do not ascend in the range.

    The value of a piece between the first and the last is ``p / q``, infinite where `q` is 0. Those of a
    joined piece are the sums. Pieces of a value up to `low` join the first one, of a value above `high` the
    last one.

    Examples
    --------
    >>> p, q = (np.array(values, dtype=object) for values in ([0, 1, 5, 4, 9, 0], [1, 1, 1, 1, 1, 1]))
    >>> join(p, q, Fraction(1), Fraction(7)).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    stack: list[tuple[int, int, int]] = []
    for a, b in zip(p[1:-1].tolist(), q[1:-1].tolist(), strict=True):
        size = 1
        while stack and _comes_before((a, b), stack[-1]):
            above, below, more = stack.pop()
            a, b, size = a + above, b + below, size + more
        stack.append((a, b, size))
    # Values ascend now.
    first, last = (_count_up_to(stack, end) for end in (low, high))
    sizes = [size for _, _, size in stack]
    before, behind = 1 + sum(sizes[:first]), 1 + sum(sizes[last:])
    return np.repeat(np.arange(last - first + 2), [before, *sizes[first:last], behind])


def _count_up_to(pieces: list[tuple[int, int, int]], end: Fraction) -> int:
    """Return how many pieces, whose values ascend, have a value up to `end`."""
    p, q = end.numerator, end.denominator
    return bisect_left(pieces, True, key=lambda piece: piece[0] * q > piece[1] * p)


def _comes_before(piece: tuple[int, int], other: tuple[int, ...]) -> bool:
    """Return whether a piece has a smaller value than another one, or none."""
    a, b, above, below = *piece, *other[:2]
    if b == below == 0:
        return a <= 0 or above <= 0
    return a * below < above * b or (a == b == 0)
