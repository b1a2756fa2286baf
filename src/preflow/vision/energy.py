"""Energies of binary variables with unary, pairwise and triple terms, minimised exactly by one minimum cut.

Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?", PAMI 26(2), 2004: the classes
F2 (theorem 4.1) and F3 (theorem 5.2). A term on two variables needs E(0,0) + E(1,1) <= E(0,1) + E(1,0), a
term on three needs the same of each two of its variables, with the third one fixed at 0 and at 1. Such terms
are called submodular; there is a network for a term if and only if it is submodular. A variable is 1 where
its vertex is on the source side, as everywhere in preflow (0 in the paper). The paper adds constants until
all table entries are positive; here a term is written as a polynomial whose coefficients are the capacities.
A triple adds a vertex only if its cubic coefficient is not zero.

One float may be far larger than the others: a cost that forbids something. So that it does not swallow them,
no capacity is the sum of a large and a small number where the difference of two costs does as well. Where
rounding may nevertheless change the minimum by more than the answer allows, the network is built again with
sums in twice the precision.

Roof duality (Boros and Hammer, "Pseudo-Boolean optimization", 2002, section 5; Kolmogorov and Rother,
"Minimizing nonsubmodular functions with graph cuts - a review", PAMI 29(7), 2007) also takes pairs that are
not submodular. The *doubled energy* of E is ``D(x, y) = E(x) + E(1 - y)``; y is meant to be 1 - x. A term of
x(p) and x(q) that is not submodular is submodular in x(p) and 1 - y(q), and in 1 - y(p) and x(q): its two
copies are written in these. Then D is submodular, and ``D(x, 1 - x) = 2 * E(x)``, so half of the least value
of D is a lower bound of E. Let (x, y) be a minimum of D. The labels x(p) of the variables with x(p) != y(p)
are *persistent*: put into any labelling, they do not raise its energy. A variable has x(p) != y(p) in some
minimum of D just if x(p) and y(p) are in different strong components of the residual graph. The components in
topological order give one minimum for all of these variables, as for 2-satisfiability. A label that all
minima of D have is that of every minimum of E.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, DType
from ..certify.cut import crossing_arcs
from ..certify.exact import accurate_sum, accurate_sums, exact_total, rounded_up, two_sum
from ..certify.fields import check_array, check_bounds, check_kind, checked_number
from ..checks import check_finite
from ..cuts import min_cut
from ..drawing.networks import component_colours, draw_graph
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.network import EXACT_FLOAT, FlowNetwork, MaxFlowProblem, exact_sum
from ..graph.placement import host_array
from ..graph.scaling import is_close
from ..maxflow.minimum_cuts import minimum_cuts
from ..maxflow.result import MinCutResult
from ..method_names import DeviceName, FlowMethodName
from ..progress import Reporter
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import BoundedResult, Status
from ..solving.run import Deadline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sums of costs stay below this, so that none of the few sums and differences of a term leaves int64.
LARGEST_SUM = 2.0**60
#: Relative tolerance of the inequality for fractional costs: rounding may break an equality by this fraction
#: of the term's largest cost.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
#: A capacity differs by less than half of this fraction from what it stands for.
CAPACITY_ROUNDING = 2.0**-49
#: The relative error of a gap, and by how much of a gap bounds may differ.
GAP_ROUNDING = 2.0**-20
#: Capacities of floats sum to less than two to this power, far from where sums of them overflow.
LARGEST_EXPONENT = 1000
#: More than a few roundings of the smallest floats change.
SUBNORMAL = 2.0**-1070
#: The relative error of a sum or difference of two floats.
UNIT_ROUNDOFF = 2.0**-53

NO_TERMS: Any = ()


@dataclass(frozen=True, eq=False, repr=False, init=False)
class BinaryEnergy(ReadOnlyArrays):
    """The sum of terms on one, two and three variables, each 0 or 1.

    Parameters
    ----------
    unary : array_like, shape (n, 2)
        Cost of each variable being 0, and being 1. Integers or floats, also negative.
    pairs : array_like of int, shape (m, 2)
        Two different variables for each term; terms on the same variables add up.
    pair_costs : array_like, shape (m, 2, 2) or (2, 2)
        ``pair_costs[k, a, b]`` is the cost of variable ``pairs[k, 0]`` being a and ``pairs[k, 1]`` being b;
        a single table is used for all pairs.
    triples : array_like of int, shape (t, 3)
    triple_costs : array_like, shape (t, 2, 2, 2) or (2, 2, 2)

    Raises
    ------
    InvalidInputError
        Shapes that do not fit, costs that are not finite, an unknown variable, a variable twice in a term.
    CapacityOverflowError
        Costs that are integers sum past int64.

    Examples
    --------
    Two variables with lower costs for 1 and 0, and a cost of 5 for being different:

    >>> energy = BinaryEnergy([[4, 0], [0, 1]], [[0, 1]], [[0, 5], [5, 0]])
    >>> energy.evaluate([True, False]), energy.evaluate([True, True])
    (5, 1)
    """

    unary: Array
    pairs: NDArray[np.int64]
    pair_costs: Array
    triples: NDArray[np.int64]
    triple_costs: Array

    def __init__(
        self,
        unary: ArrayLike,
        pairs: ArrayLike = NO_TERMS,
        pair_costs: ArrayLike = NO_TERMS,
        triples: ArrayLike = NO_TERMS,
        triple_costs: ArrayLike = NO_TERMS,
    ) -> None:
        costs = [
            checked_costs("unary", unary),
            checked_costs("pair_costs", pair_costs),
            checked_costs("triple_costs", triple_costs),
        ]
        if costs[0].ndim != 2 or costs[0].shape[1] != 2:
            raise InvalidInputError(f"unary must have shape (variables, 2), got {costs[0].shape}")
        dtype = np.result_type(*costs)
        whole = [table for table in costs if table.dtype.kind == "i" and table.size]
        if dtype.kind == "f" and any(_largest(table) > EXACT_FLOAT for table in whole):
            raise CapacityOverflowError(
                "costs mix floats with integers past 2**53, which float64 cannot hold exactly"
            )
        num_variables = len(costs[0])
        own = {"unary": costs[0].astype(dtype)}
        for order, name, members, table in ((2, "pair", pairs, costs[1]), (3, "triple", triples, costs[2])):
            variables = _variables(f"{name}s", members, order, num_variables)
            own[f"{name}s"] = variables
            own[f"{name}_costs"] = _tables(f"{name}_costs", table, order, len(variables), dtype)
        tables = (own["unary"], own["pair_costs"], own["triple_costs"])
        if dtype.kind != "f":
            size = sum(float(np.abs(table, dtype=np.float64).sum()) for table in tables)
            if size >= LARGEST_SUM:
                raise CapacityOverflowError(f"the costs sum to {size:.3g}: beyond 2**60 int64 would overflow")
        self.__dict__.update(own)
        self.__post_init__()

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.unary)

    def evaluate(self, labels: ArrayLike) -> int | float:
        """Return the energy of a labelling, an array of bool or of 0 and 1 of shape (n,).

        That of floats is rounded once, and infinite where it is past float64.
        """
        parts = self._terms(labels)
        if self.unary.dtype.kind == "f":
            return accurate_sum(*parts)
        return sum(exact_sum(part) for part in parts)

    def _terms(self, labels: ArrayLike) -> list[Array]:
        """Return the costs that a labelling has: of variables, of pairs, of triples."""
        given = np.asarray(labels)
        wrong = given[~np.isin(given, (0, 1))]
        if given.shape != (self.num_variables,) or wrong.size:
            got = wrong[0] if wrong.size else f"shape {given.shape}"
            raise InvalidInputError(
                f"labels must be 0 or 1 for each of {self.num_variables} variables, got {got}"
            )
        x = given.astype(np.int64)
        parts = [self.unary[np.arange(len(x)), x]]
        for members, tables in ((self.pairs, self.pair_costs), (self.triples, self.triple_costs)):
            parts.append(tables[(np.arange(len(members)), *x[members].T)])
        return parts

    def to_flow_problem(self) -> MaxFlowProblem:
        """Return the network whose minimum cut is the minimum of the energy minus a constant.

        Where floats sum to more than 2**1000, capacities are divided by a power of two.

        Returns
        -------
        MaxFlowProblem
            Vertices are the variables, one more for each triple that needs it, the source and the sink.

        Raises
        ------
        InvalidInputError
            A term is not submodular; names it.
        """
        return self._polynomial().problem()

    @property
    def _shift(self) -> int:
        """Capacities are costs divided by two to this power: 0, but for the largest floats."""
        if self.unary.dtype.kind != "f":
            return 0
        tables = (self.unary, self.pair_costs, self.triple_costs)
        largest = max(float(np.abs(table).max(initial=0)) for table in tables)
        number = sum(table.size for table in tables)
        return max(0, math.frexp(largest)[1] + number.bit_length() + 4 - LARGEST_EXPONENT)

    def _shifted(self) -> list[Array]:
        """Return the costs in the unit of capacities."""
        shift, tables = self._shift, [self.unary, self.pair_costs, self.triple_costs]
        return [np.ldexp(table, -shift) for table in tables] if shift else tables

    def _polynomial(self, *, precise: bool = False) -> BinaryPolynomial:
        """Return the terms as a polynomial; `precise`: with sums of floats in twice the precision."""
        unary, pairs, triples = self._shifted()
        terms = BinaryPolynomial(self.num_variables, self.unary.dtype, precise)
        terms.add_constant(unary[:, 0])
        terms.add_linear(np.arange(self.num_variables), unary[:, 1], unary[:, 0])
        self._add_pairs(terms, pairs)
        self._add_triples(terms, triples)
        return terms

    def _add_pairs(self, terms: BinaryPolynomial, tables: Array) -> None:
        """Add terms on two variables x, y: linear terms, and ``one * x * (1 - y) + other * (1 - x) * y``."""
        gain, _ = terms.gain("pair", self.pairs, tables)
        low, of_second, of_first, both = (tables[:, a, b] for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)))
        terms.add_constant(low)
        down, up = of_first < low, both > of_second  # not both: the gain would be negative
        one = np.where(down, 0, np.where(up, gain, of_first - low))
        other = np.where(down, gain, np.where(up, 0, of_second - both))
        first, second = self.pairs.T
        terms.add_linear(first, np.where(down, of_first, both), np.where(down, low, of_second), down | up)
        plus, minus = np.where(up, of_second, both), np.where(down, of_first, low)
        terms.add_linear(second, plus, minus)
        terms.arcs.append(Arcs(first, second, np.maximum(one, 0), np.maximum(other, 0)))

    def _add_triples(self, terms: BinaryPolynomial, tables: Array) -> None:
        members = self.triples
        if not len(members):
            return
        gains = {}
        for position, value in itertools.product(range(3), (0, 1)):
            face = np.take(tables, value, axis=position + 1)
            gains[position, value] = terms.gain("triple", members, face, fixed=(position, value))
        ends = list(itertools.product((0, 1), repeat=3))
        signs = [(-1) ** (1 + sum(end)) for end in ends]
        cubic, lost = terms.signed_sum([tables[:, a, b, c] for a, b, c in ends], signs)
        low = tables[:, 0, 0, 0]
        terms.add_constant(low)
        # Each gain below is that of two variables with the third one fixed: at 1 if the cubic coefficient is
        # positive, else at 0.
        positive = cubic > 0
        for position in range(3):
            one = np.eye(3, dtype=np.int64)[position]
            terms.add_linear(members[:, position], tables[:, *one], low)
            (at_0, lost_0), (at_1, lost_1) = gains[position, 0], gains[position, 1]
            i, j = (members[:, other] for other in range(3) if other != position)
            terms.add_product(i, j, np.where(positive, at_1, at_0))
            lost = lost + np.where(positive, lost_1, lost_0)
        terms.rounding += float(np.abs(lost).sum())
        terms.add_all_ones(members[~positive], -cubic[~positive])
        terms.add_complement(members[positive], cubic[positive])

    def doubled(self) -> BinaryEnergy:
        """Return the energy ``E(x) + E(1 - y)`` of twice as many variables, first x, then y.

        It is submodular if all triples are: of a pair that is not, one variable is replaced by the complement
        of the other half.
        """
        n = self.num_variables
        _, pairs, triples = self._shifted()
        terms = BinaryPolynomial(n, self.unary.dtype, precise=False)
        self._add_triples(terms, triples)  # which names one that is not submodular
        turned = terms.signed_gain(pairs)[2]
        straight = self.pair_costs
        tables = np.where(turned[:, None, None], straight[:, :, ::-1], straight)
        first, second = self.pairs.T
        ends = [(first, second + n * turned), (first + n, second + n * ~turned)]
        return BinaryEnergy(
            np.concatenate([self.unary, self.unary[:, ::-1]]),
            np.concatenate([np.stack(pair, axis=1) for pair in ends]),
            np.concatenate([tables, tables[:, ::-1, ::-1]]),
            np.concatenate([self.triples, self.triples + n]),
            np.concatenate([self.triple_costs, self.triple_costs[:, ::-1, ::-1, ::-1]]),
        )

    def __repr__(self) -> str:
        return (
            f"BinaryEnergy({self.num_variables:,} variables, {len(self.pairs):,} pairs, "
            f"{len(self.triples):,} triples, {self.unary.dtype})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class EnergyMinimum(BoundedResult):
    """A labelling of least energy, or the best found within the time limit.

    Attributes
    ----------
    labels : ndarray of bool, shape (n,)
        True where the variable is 1. Of all labellings of least energy the one with the most ones.
    energy : BinaryEnergy
    cut : MinCutResult
        The cut behind it, in the network of :meth:`BinaryEnergy.to_flow_problem`.
    status, lower_bound, upper_bound, value, stats
        As everywhere; `value` is the least energy, `upper_bound` that of `labels`. "approximate" is rare:
        floats, where a cost below zero that is far larger than the energy cannot be had.
    """

    labels: NDArray[np.bool_]
    energy: BinaryEnergy
    cut: MinCutResult
    _gap: int | float

    @property
    def gap(self) -> int | float:
        """How far the energy of `labels` may be from the least one; proved. 0 for integers."""
        return self._gap

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the network of the cut as :meth:`preflow.MinCutResult.plot` does; variables come first."""
        return self._labelled(self.cut.plot(ax=ax))

    def verify(self) -> None:
        """Prove that no labelling has less energy, independently of the solver."""
        if not isinstance(self.energy, BinaryEnergy) or not isinstance(self.cut, MinCutResult):
            raise VerificationError("energy must be a BinaryEnergy, and cut a MinCutResult")
        energy, cut = self.energy, self.cut
        cut.verify()
        check_array(np, self.labels, "labels", (energy.num_variables,), np.bool_)
        if (self.labels == cut.sink_side[: energy.num_variables]).any():
            raise VerificationError("the labels are not the sides of the cut")
        check_bounds(self.status, self.lower_bound, self.upper_bound)
        stated = [
            checked_number(value, "a bound") for value in (self.lower_bound, self.upper_bound, self.gap)
        ]
        failure = "the cut is not one of the network of the energy"
        for precise in (False, True):
            terms = energy._polynomial(precise=precise)
            if not _same_problem(terms.problem(), cut):
                continue
            proved = _proved(energy, terms, cut, self.labels)
            right = (proved.lower, proved.upper, proved.gap)
            # All terms of the gap are positive.
            rooms = (proved.room, proved.room, GAP_ROUNDING * proved.gap)
            if proved.status == self.status and all(
                found == number or abs(found - number) <= room
                for found, number, room in zip(stated, right, rooms, strict=True)
            ):
                return
            failure = f"the cut proves {proved.status!r} and {right}, not {self.status!r} and {stated}"
        raise VerificationError(failure)

    def __repr__(self) -> str:
        ones = f"{np.count_nonzero(self.labels):,} of {len(self.labels):,} ones"
        return f"<EnergyMinimum: {self._headline()}, {ones}, {self._how()}>"


class _Proved(NamedTuple):
    """Bounds on the least energy that a cut proves."""

    status: Status
    lower: int | float
    upper: int | float
    gap: int | float
    #: By how much rounding may change the numbers.
    room: float


def _proved(
    energy: BinaryEnergy, terms: BinaryPolynomial, cut: MinCutResult, labels: NDArray[np.bool_]
) -> _Proved:
    """Return what the cut proves."""
    reached = energy.evaluate(labels)
    if not isinstance(reached, float):
        least = int(reached if cut.status == "optimal" else terms.constant() + cut.lower_bound)
        return _Proved(cut.status, least, reached, reached - least, 0.0)
    unit = 2.0**energy._shift
    with np.errstate(over="ignore"):
        size = sum(float(np.abs(part).sum()) for part in energy._terms(labels))
    # Capacities are rounded, so a cut that is better by less than this may be that of a better labelling.
    rounding = CAPACITY_ROUNDING * cut.upper_bound + terms.rounding
    status, number, left = cut.status, len(energy.unary) + len(energy.pairs), terms.broken * unit
    between = max(cut.gap, cut.upper_bound - cut.lower_bound)
    if status == "optimal" and not is_close((between + rounding) * unit, size, number, left):
        # The room that the gap of a cut has for sums may be large beside an energy whose terms cancel.
        between = min(between, _exact_gap(cut))
    gap = (between + rounding) * unit + 2.0**-52 * abs(reached)
    if status == "optimal" and not is_close(gap, size, number, left):
        status = "approximate"
    lower = reached if status == "optimal" else reached - gap
    return _Proved(status, lower, reached, gap, 2.0**-50 * size + GAP_ROUNDING * gap)


def _exact_gap(cut: MinCutResult) -> float:
    """Return by how much a minimum cut exceeds its flow, of which each arc is rounded once."""
    network = cut.network.on_host()
    forward, backward = crossing_arcs(network, network.to_host(cut.sink_side))
    capacity = exact_total(network.capacity[forward])
    if network.reverse_capacity is not None:
        capacity += exact_total(network.reverse_capacity[backward])
    lost = (network.num_arcs + 2) * 2.0**-53 * cut.upper_bound
    return rounded_up(abs(capacity - Fraction(cut.lower_bound))) + lost


def _same_problem(problem: MaxFlowProblem, cut: MinCutResult) -> bool:
    """Whether this is the problem of the cut."""
    ends = (problem.source, cut.sources), (problem.sink, cut.sinks)
    names = ("num_vertices", "tail", "head", "capacity", "reverse_capacity")
    arrays = [(getattr(problem.network, name), getattr(cut.network, name)) for name in names]
    return all(np.array_equal(np.atleast_1d(one), np.atleast_1d(other)) for one, other in [*ends, *arrays])


@dataclass(frozen=True, eq=False, repr=False)
class PartialLabelling(BoundedResult):
    """Labels of least energy for some of the variables, and a lower bound.

    Attributes
    ----------
    labels : ndarray of int8, shape (n,)
        0 or 1 where the label is proved, elsewhere -1. Some labelling of least energy has all proved labels.
        More is true: ``numpy.where(labels < 0, other, labels)`` has at most the energy of `other`.
    in_every_minimum : ndarray of bool, shape (n,)
        Whether every labelling of least energy has this label; of floats, up to rounding.
    room : int or float
        Of floats, by how much the proved labels may raise the energy of another labelling, because of
        rounding; proved. 0 for integers.
    energy : BinaryEnergy
    doubled : EnergyMinimum
        The minimum of the doubled energy, which proves all this.
    status, lower_bound, upper_bound, value, stats
        As everywhere. `upper_bound` is the energy of `labels` with the others all 0, all 1, or as `unary`
        alone would have them, whichever is least. The status is "optimal" where the bounds meet, for example
        because all labels are proved; otherwise "approximate".
    """

    labels: NDArray[np.int8]
    in_every_minimum: NDArray[np.bool_]
    room: int | float
    energy: BinaryEnergy
    doubled: EnergyMinimum

    @property
    def gap(self) -> int | float:
        """How far the value may be from the least energy, or the difference of the two bounds; proved."""
        return self.room if self.status == "optimal" else self.upper_bound - self.lower_bound

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the variables, blue for 1, orange for 0 and white for others, with red lines for the pairs."""
        tail, head = self.energy.pairs.T
        colours = component_colours(np.choose(self.labels + 1, (1, 2, 0)), 2)
        axes = draw_graph(ax, tail, head, np.zeros(len(tail), np.bool_), [""] * len(tail), None, colours)
        return self._labelled(axes)

    def verify(self) -> None:
        """Prove bounds and labels by the minimum of the doubled energy, independently of the solver."""
        check_kind(self.energy, "energy", BinaryEnergy)
        check_kind(self.doubled, "doubled", EnergyMinimum)
        self.doubled.verify()
        doubled, given = self.doubled.energy, self.energy.doubled()
        if any(not np.array_equal(getattr(doubled, name), getattr(given, name)) for name in given.__dict__):
            raise VerificationError("the minimum is not one of the doubled energy")
        size = (self.energy.num_variables,)
        check_array(np, self.labels, "labels", size, np.int8)
        check_array(np, self.in_every_minimum, "in_every_minimum", size, np.bool_)
        check_bounds(self.status, self.lower_bound, self.upper_bound)
        labels, in_every_minimum = _persistent(self.doubled, prove=True)
        if ((labels < 0) != (self.labels < 0)).any() or not np.isin(self.labels, (-1, 0, 1)).all():
            raise VerificationError("labels has not the variables whose labels are proved")
        if not np.array_equal(in_every_minimum, self.in_every_minimum):
            raise VerificationError("in_every_minimum has other variables than the minimum cuts")
        if (self.labels != labels)[in_every_minimum].any():
            raise VerificationError("a label is not that of every minimum")
        stated = [
            checked_number(number, "a bound") for number in (self.lower_bound, self.upper_bound, self.room)
        ]
        proved = _bounds(self.energy, self.doubled, self.labels)
        if (self.status, *stated) != proved:
            raise VerificationError(f"the labels prove {proved}, not {(self.status, *stated)}")

    def __repr__(self) -> str:
        proved = f"{np.count_nonzero(self.labels >= 0):,} of {len(self.labels):,} labels proved"
        return f"<PartialLabelling: {self._headline()}, {proved}, {self._how()}>"


def _persistent(doubled: EnergyMinimum, *, prove: bool = False) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return the labels that are proved, else -1, and whether every minimum has them."""
    n = doubled.energy.num_variables // 2
    if doubled.status != "optimal":
        return np.full(n, -1, np.int8), np.zeros(n, np.bool_)
    cuts = minimum_cuts(doubled.cut)
    if prove:
        cuts.verify()
    # A residual arc leads to a lower or the same number, and another one back between the complements. So no
    # residual arc leads out of the vertices that have lower numbers than their complements: a minimum.
    one, other = cuts.component[:n], cuts.component[n : 2 * n]
    labels = np.where(one == other, -1, one < other).astype(np.int8)
    in_every_minimum = (np.minimum(one, other) == 0) & (np.maximum(one, other) == cuts.num_free + 1)
    if _doubled_energy(doubled, labels) - doubled.upper_bound > doubled.gap:
        # Among floats of very different sizes, residual arcs that count as rounding may matter.
        x, y = doubled.labels.reshape(2, n)
        in_every_minimum &= (x != y) & (x == labels)
        labels = np.where(x == y, -1, x).astype(np.int8)
    return labels, in_every_minimum


def _doubled_energy(doubled: EnergyMinimum, labels: NDArray[np.int8]) -> int | float:
    """Return the doubled energy of labels, with x = y = 0 where there is none."""
    return doubled.energy.evaluate(np.concatenate([labels == 1, labels == 0]))


def _bounds(
    energy: BinaryEnergy, doubled: EnergyMinimum, labels: NDArray[np.int8]
) -> tuple[Status, int | float, int | float, int | float]:
    """Return the status, the bounds and the room that a minimum of the doubled energy and labels prove.

    VerificationError: the labels of integers are not part of a minimum of the doubled energy.
    """
    rests = (0, 1, energy.unary.argmin(axis=1))
    upper: int | float = min(energy.evaluate(np.where(labels < 0, rest, labels)) for rest in rests)
    reached = _doubled_energy(doubled, labels)
    room: int | float = 0
    lower: int | float = doubled.lower_bound / 2
    if isinstance(reached, int):
        lower = -(-int(doubled.lower_bound) // 2)
        if doubled.status == "optimal" and reached != doubled.value:
            raise VerificationError(f"the labels have the doubled energy {reached}, not {doubled.value}")
    elif doubled.status == "optimal":
        more = max(reached - doubled.upper_bound, 0.0)
        room = rounded_up(Fraction(doubled.gap) + Fraction(more)) if more < math.inf else more
    if upper - lower <= room / 2:
        return "optimal", upper, upper, room
    return "approximate" if doubled.status == "optimal" else doubled.status, lower, upper, room


@overload
def minimize_energy(
    energy: BinaryEnergy,
    *,
    partial: Literal[False] = False,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> EnergyMinimum: ...
@overload
def minimize_energy(
    energy: BinaryEnergy,
    *,
    partial: Literal[True],
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> PartialLabelling: ...
def minimize_energy(
    energy: BinaryEnergy,
    *,
    partial: bool = False,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> EnergyMinimum | PartialLabelling:
    """Find a labelling of least energy, or the part of one that roof duality (QPBO) proves.

    Parameters
    ----------
    energy : BinaryEnergy
    partial : bool, default False
        Pairs need not be submodular. The result has the labels that are proved, and a lower bound; of a
        submodular energy all labels.
    method, device, threads, time_limit, progress
        As for :func:`preflow.min_cut`.

    Returns
    -------
    EnergyMinimum
        Or, if `partial`, a PartialLabelling.

    Raises
    ------
    InvalidInputError
        A triple is not submodular, or a pair without `partial`: there is no network for it, and the problem
        is NP-hard in general.
    CapacityOverflowError
        The least energy of floats is past float64. If `partial`: twice that, or costs that are integers sum
        to 2**59 or more.

    Notes
    -----
    The network has a vertex per variable, an arc per pair, and up to one vertex and six arcs per triple; if
    `partial`, twice as much. Integer costs are minimised exactly, fractional ones up to the rounding of
    :func:`preflow.min_cut`. Kolmogorov and Zabih 2004; Boros and Hammer 2002; Kolmogorov and Rother 2007.

    Examples
    --------
    >>> energy = BinaryEnergy([[4, 0], [0, 1]], [[0, 1]], [[0, 5], [5, 0]])
    >>> result = minimize_energy(energy)
    >>> result.value, result.labels.tolist()
    (1, [True, True])
    >>> result.verify()

    Variables 1, 2 and 3 cannot all differ from each other; variable 0 can differ from variable 1:

    >>> pairs = [[0, 1], [1, 2], [2, 3], [3, 1]]
    >>> energy = BinaryEnergy([[0, 9], [0, 0], [0, 0], [0, 0]], pairs, [[1, 0], [0, 1]])
    >>> result = minimize_energy(energy, partial=True)
    >>> result.labels.tolist(), result.lower_bound, result.upper_bound
    ([0, -1, -1, -1], 1, 3)
    >>> result.verify()
    """
    if not isinstance(energy, BinaryEnergy):
        raise InvalidInputError(f"energy must be a BinaryEnergy, got {type(energy).__name__}")
    if not isinstance(partial, bool):
        raise InvalidInputError(f"partial must be True or False, got {partial!r}")
    found = minimum(energy.doubled() if partial else energy, method, device, threads, time_limit, progress)
    if not math.isfinite(found.upper_bound):
        raise CapacityOverflowError(f"{'twice ' if partial else ''}the least energy is past float64")
    if not partial:
        return found
    labels, in_every_minimum = _persistent(found)
    status, lower, upper, room = _bounds(energy, found, labels)
    return PartialLabelling(status, lower, upper, found.stats, labels, in_every_minimum, room, energy, found)


def minimum(
    energy: BinaryEnergy,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> EnergyMinimum:
    """Do as :func:`minimize_energy`, but let a least energy past float64 be infinite."""
    deadline = Deadline(time_limit)
    for precise in (False, True):
        terms = energy._polynomial(precise=precise)
        cut = min_cut(
            terms.problem(),
            method=method,
            device=device,
            threads=threads,
            time_limit=deadline.left(),
            progress=progress,
        )
        labels = ~cut.sink_side[: energy.num_variables]
        found = _proved(energy, terms, cut, labels)
        if found.status != "approximate":
            break
    return EnergyMinimum(found.status, found.lower, found.upper, cut.stats, labels, energy, cut, found.gap)


class Arcs(NamedTuple):
    """Arcs: tail, head, capacity of each, and capacity of the opposite direction."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: Array
    reverse: Array


class BinaryPolynomial:
    """A polynomial of degree three in binary variables, as a network; a variable is 1 on the source side.

    A product of three variables, or of their complements, is the minimum over one more variable of a sum of
    products of two. If `precise`, sums of floats are computed in twice the precision. `rounding` is by how
    much at most rounding changed the polynomial, beside the rounding of each capacity; `broken` what was
    added to gains that are negative by no more than the rounding of the costs as given.
    """

    def __init__(self, num_variables: int, dtype: DType, precise: bool) -> None:
        self.dtype, self.precise = dtype, precise
        self.constants: list[Array] = []
        self.linear: list[tuple[NDArray[np.int64], Array]] = []
        self.rounding = self.broken = 0.0
        self.arcs: list[Arcs] = []
        #: For each vertex that is no variable: capacity from the source (positive) or to the sink (negative).
        self.added: list[Array] = []
        self.num_variables = self.num_vertices = num_variables
        self._problem: MaxFlowProblem | None = None

    def constant(self) -> int:
        """Return what is added to the capacity of a cut; of integers."""
        return int(sum(map(exact_sum, [*self.constants, np.minimum(self._linear(), 0)])))

    def add_constant(self, values: Array) -> None:
        """Add the sum of these."""
        self.constants.append(values)

    def add_linear(
        self, variable: NDArray[np.int64], plus: Array, minus: Array, where: Array | None = None
    ) -> None:
        """Add ``(plus - minus) * x``, for the entries in `where`."""
        if where is not None:
            variable, plus, minus = variable[where], plus[where], minus[where]
        if not self.precise:
            self.linear.append((variable, plus - minus))
            return
        for part in two_sum(plus, -minus):
            used = part != 0
            self.linear.append((variable[used], part[used]))

    def _linear(self) -> Array:
        """Return the coefficient of each variable."""
        variables = np.concatenate([variable for variable, _ in self.linear])
        values = np.concatenate([value for _, value in self.linear])
        size = self.num_variables
        if self.dtype.kind != "f":
            total = np.zeros(size, self.dtype)
            np.add.at(total, variables, values)
            return total
        if self.precise:
            return accurate_sums(variables, values, size)
        number = np.bincount(variables, minlength=size)
        self.rounding += UNIT_ROUNDOFF * float(number[variables] @ np.abs(values))
        return np.bincount(variables, values, size)

    def add_product(self, first: NDArray[np.int64], second: NDArray[np.int64], gain: Array) -> None:
        """Subtract ``gain * x * y``, which is ``gain * (1 - x) * y - gain * y``.

        Floats take one half of it, and the other half with x and y exchanged: where neither variable is
        preferred, a large gain then leaves nothing large in the linear terms.
        """
        one = gain / 2 if self.dtype.kind == "f" else np.zeros_like(gain)
        other = gain - one
        self.arcs.append(Arcs(first, second, one, other))
        if self.dtype.kind == "f":
            self.add_linear(first, np.zeros_like(gain), one)
        self.add_linear(second, np.zeros_like(gain), other)

    def add_all_ones(self, members: NDArray[np.int64], gain: Array) -> None:
        """Subtract ``gain * x * y * z`` by a vertex that is on the source side if all three variables are."""
        members, gain = members[gain > 0], gain[gain > 0]
        self.add_constant(-gain)
        vertex = self._add_vertices(gain)
        self.arcs += [Arcs(vertex, variable, gain, np.zeros_like(gain)) for variable in members.T]

    def add_complement(self, members: NDArray[np.int64], gain: Array) -> None:
        """Add ``gain * (x * y * z - x * y - y * z - z * x)``.

        The product of all complements is 1 - x - y - z + xy + yz + zx - xyz, so this is ``-gain`` times that
        product, and ``gain * (1 - x - y - z)``. The vertex is on the sink side if all three variables are.
        """
        vertex = self._add_vertices(-gain)
        none = np.zeros_like(gain)
        self.arcs += [Arcs(variable, vertex, gain, none) for variable in members.T]
        for variable in members.T:
            self.add_linear(variable, none, gain)

    def _add_vertices(self, terminal: Array) -> NDArray[np.int64]:
        self.added.append(terminal)
        first = self.num_vertices
        self.num_vertices += len(terminal)
        return np.arange(first, self.num_vertices)

    def problem(self) -> MaxFlowProblem:
        """Return the network."""
        # A variable for which 1 is cheaper has an arc from the source, which is cut if it is 0.
        if self._problem is not None:
            return self._problem
        terminal = np.concatenate([-self._linear(), *self.added])
        source, sink = self.num_vertices, self.num_vertices + 1
        of_source, of_sink = np.flatnonzero(terminal > 0), np.flatnonzero(terminal < 0)
        none = np.zeros(len(terminal), self.dtype)
        arcs = [
            Arcs(np.full(len(of_source), source), of_source, terminal[of_source], none[of_source]),
            Arcs(of_sink, np.full(len(of_sink), sink), -terminal[of_sink], none[of_sink]),
        ]
        for arc in self.arcs:
            used = (arc.capacity > 0) | (arc.reverse > 0)
            arcs.append(arc if used.all() else Arcs(*(part[used] for part in arc)))
        tail, head, capacity, reverse = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
        network = FlowNetwork.from_arrays(
            tail, head, capacity, reverse_capacity=reverse if reverse.any() else None, num_vertices=sink + 1
        )
        self._problem = MaxFlowProblem(network, source, sink, name="binary energy")
        return self._problem

    def signed_sum(self, values: Sequence[Array], signs: Sequence[int]) -> tuple[Array, Array]:
        """Return sums of signed numbers, and what rounding lost of each, or a bound on it; 0 of integers."""
        total = signs[0] * values[0]
        lost = np.zeros_like(total)
        for value, sign in zip(values[1:], signs[1:], strict=True):
            if self.precise:
                total, error = two_sum(total, sign * value)
                lost += error
            else:
                total = total + sign * value
        if self.precise:
            return two_sum(total, lost)
        if self.dtype.kind == "f":
            lost = len(values) * UNIT_ROUNDOFF * np.sum([np.abs(value) for value in values], axis=0)
        return total, lost

    def signed_gain(self, tables: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Do as :meth:`gain`, but return negative gains, too, and which are so by more than rounding."""
        gain, lost = self.signed_sum(
            [tables[:, a, b] for a, b in ((0, 1), (0, 0), (1, 0), (1, 1))], (1, -1, 1, -1)
        )
        room: Array | int = 0
        if self.dtype.kind == "f":
            room = ROUNDING * np.abs(tables).max(axis=(1, 2), initial=0) + SUBNORMAL
        return gain, lost, gain < -room

    def gain(
        self, kind: str, members: NDArray[np.int64], tables: Array, fixed: tuple[int, int] | None = None
    ) -> tuple[Array, Array]:
        """Return the gain of each pair of variables if both are 1, and what rounding lost of each.

        InvalidInputError: a gain is negative by more than rounding; names the first one.
        """
        gain, lost, broken = self.signed_gain(tables)
        if broken.any():
            k = int(broken.argmax())
            variables = members[k].tolist()
            where = "" if fixed is None else f" with variable {variables[fixed[0]]} fixed at {fixed[1]}"
            way_out = "; minimize_energy(..., partial=True) takes such pairs" if fixed is None else ""
            (low, of_second), (of_first, both) = tables[k]
            raise InvalidInputError(
                f"{kind} {k}, of variables {tuple(variables)}, is not submodular{where}: E(0,0) + E(1,1) = "
                f"{low + both:g} is more than E(0,1) + E(1,0) = {of_second + of_first:g}{way_out}"
            )
        excess = float(-gain[gain < 0].sum())
        self.broken += excess
        self.rounding += excess if self.precise else float(lost.sum()) + excess
        return np.maximum(gain, 0), lost


def _largest(table: NDArray[np.int64]) -> int:
    """Return the largest absolute value of a table that is not empty."""
    return max(-int(table.min()), int(table.max()))


def checked_costs(name: str, values: ArrayLike, most: int = 2**63) -> Array:
    """Return finite costs as int64 or float64; integers of `most` and more are refused."""
    array = host_array(values, name)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must be an array of numbers, got {array.dtype}")
    if array.dtype.kind == "f" and array.size:
        check_finite(name, array)
        return array.astype(np.float64)
    if array.size and max(int(array.max()), -int(array.min())) >= most:
        raise CapacityOverflowError(f"{name} has values of 2**{most.bit_length() - 1} or more")
    return array.astype(np.int64)


def _variables(name: str, members: ArrayLike, order: int, num_variables: int) -> NDArray[np.int64]:
    array = host_array(members, name)
    if array.size == 0:
        return np.empty((0, order), dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != order:
        raise InvalidInputError(
            f"{name} must have {order} integers a row, got {array.dtype} of shape {array.shape}"
        )
    outside = (array < 0) | (array >= num_variables)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise InvalidInputError(
            f"{name}[{row}] names variable {array[row, column]}; there are {num_variables}, from 0"
        )
    variables = array.astype(np.int64)
    ascending = np.sort(variables, axis=1)
    repeated = np.flatnonzero((ascending[:, 1:] == ascending[:, :-1]).any(axis=1))
    if len(repeated):
        raise InvalidInputError(
            f"{name}[{repeated[0]}] names a variable twice: {tuple(variables[repeated[0]].tolist())}"
        )
    return variables


def _tables(name: str, tables: Array, order: int, num_terms: int, dtype: DType) -> Array:
    shape = (num_terms, *(2,) * order)
    if tables.size == 0 and num_terms == 0:
        return np.empty(shape, dtype=dtype)
    if tables.shape not in (shape, shape[1:]):
        raise InvalidInputError(f"{name} must have shape {shape} or {shape[1:]}, got {tables.shape}")
    return np.broadcast_to(tables, shape).astype(dtype)
