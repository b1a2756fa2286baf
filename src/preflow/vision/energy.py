"""Energies of binary variables with unary, pairwise and triple terms, minimised exactly by one minimum cut.

Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?", PAMI 26(2), 2004: the classes
F2 (theorem 4.1) and F3 (theorem 5.2). A term on two variables needs E(0,0) + E(1,1) <= E(0,1) + E(1,0), a
term on three needs the same of each two of its variables, with the third one fixed at 0 and at 1. Such terms
are called submodular; there is a network for a term if and only if it is submodular. A variable is 1 where
its vertex is on the source side, as everywhere in preflow (0 in the paper). The paper adds constants until
all table entries are positive; here a term is written as a polynomial whose coefficients are the capacities.
A triple adds a vertex only if its cubic coefficient is not zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, DType
from ..cuts import min_cut
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.network import EXACT_FLOAT, FlowNetwork, MaxFlowProblem, exact_sum
from ..graph.placement import host_array
from ..maxflow.result import MinCutResult
from ..method_names import DeviceName, FlowMethodName
from ..progress import Reporter
from ..solving.result import BoundedResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sums of costs stay below this, so that none of the few sums and differences of a term leaves int64.
LARGEST_SUM = 2.0**60
#: Relative tolerance of the inequality for fractional costs: rounding may break an equality by this fraction
#: of the term's largest cost.
ROUNDING = 8 * float(np.finfo(np.float64).eps)

NO_TERMS: Any = ()


@dataclass(frozen=True, eq=False, repr=False, init=False)
class BinaryEnergy:
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
        Costs sum past int64.

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
            _costs("unary", unary),
            _costs("pair_costs", pair_costs),
            _costs("triple_costs", triple_costs),
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
        with np.errstate(over="ignore"):
            size = sum(float(np.abs(table, dtype=np.float64).sum()) for table in tables)
        if not np.isfinite(size):
            raise CapacityOverflowError("the costs sum past float64")
        if dtype.kind != "f" and size >= LARGEST_SUM:
            raise CapacityOverflowError(f"the costs sum to {size:.3g}: beyond 2**60 int64 would overflow")
        for name, values in own.items():
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.unary)

    def evaluate(self, labels: ArrayLike) -> int | float:
        """Return the energy of a labelling, an array of bool or of 0 and 1 of shape (n,)."""
        given = np.asarray(labels)
        if given.shape != (self.num_variables,) or not np.isin(given, (0, 1)).all():
            raise InvalidInputError(
                f"labels must be 0 or 1 for each of {self.num_variables} variables, got {given.dtype} of "
                f"shape {given.shape}"
            )
        x = given.astype(np.int64)
        parts = [self.unary[np.arange(len(x)), x]]
        for members, tables in ((self.pairs, self.pair_costs), (self.triples, self.triple_costs)):
            parts.append(tables[(np.arange(len(members)), *x[members].T)])
        total = sum(exact_sum(part) for part in parts)
        return float(total) if self.unary.dtype.kind == "f" else int(total)

    def to_flow_problem(self) -> MaxFlowProblem:
        """Return the network whose minimum cut is the minimum of the energy minus a constant.

        Returns
        -------
        MaxFlowProblem
            Vertices are the variables, one more for each triple that needs it, the source and the sink.

        Raises
        ------
        InvalidInputError
            A term is not submodular; names it.
        """
        return self._network()[0]

    def _network(self) -> tuple[MaxFlowProblem, int | float]:
        """Return the network, and the difference of an energy and its cut."""
        terms = BinaryPolynomial(self.num_variables, self.unary.dtype)
        terms.constant += exact_sum(self.unary[:, 0])
        terms.add_linear(np.arange(self.num_variables), self.unary[:, 1] - self.unary[:, 0])
        self._add_pairs(terms)
        self._add_triples(terms)
        return terms.problem(), terms.constant

    def _add_pairs(self, terms: BinaryPolynomial) -> None:
        gain = _gain("pair", self.pairs, self.pair_costs)
        first, second = self.pairs.T
        low = self.pair_costs[:, 0, 0]
        terms.constant += exact_sum(low)
        terms.add_linear(first, self.pair_costs[:, 1, 0] - low)
        terms.add_linear(second, self.pair_costs[:, 0, 1] - low)
        terms.add_product(first, second, gain)

    def _add_triples(self, terms: BinaryPolynomial) -> None:
        tables, members = self.triple_costs, self.triples
        for position, value in itertools.product(range(3), (0, 1)):
            _gain("triple", members, np.take(tables, value, axis=position + 1), fixed=(position, value))
        low = tables[:, 0, 0, 0]
        ones = np.eye(3, dtype=np.int64)
        linear = [tables[:, *one] - low for one in ones]
        quadratic = {
            (i, j): (tables[:, *(ones[i] + ones[j])] - low) - linear[i] - linear[j]
            for i, j in itertools.combinations(range(3), 2)
        }
        cubic = tables[:, 1, 1, 1] - low - sum(linear) - sum(quadratic.values())
        terms.constant += exact_sum(low)
        for position in range(3):
            terms.add_linear(members[:, position], linear[position])
        # Each gain below is that of two variables with the third one fixed: at 1 if the cubic coefficient is
        # positive, else at 0.
        positive = cubic > 0
        for (i, j), coefficient in quadratic.items():
            both = np.where(positive, coefficient + cubic, coefficient)
            terms.add_product(members[:, i], members[:, j], np.maximum(-both, 0))
        terms.add_all_ones(members[~positive], -cubic[~positive])
        terms.add_complement(members[positive], cubic[positive])

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
        As everywhere; `value` is the least energy, `upper_bound` that of `labels`.
    """

    labels: NDArray[np.bool_]
    energy: BinaryEnergy
    cut: MinCutResult

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the network of the cut as :meth:`preflow.MinCutResult.plot` does; variables come first."""
        return self.cut.plot(ax=ax)

    def verify(self) -> None:
        """Prove that no labelling has less energy, independently of the solver.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        self.cut.verify()
        energy = self.energy
        _, constant = energy._network()
        found = energy.evaluate(self.labels)
        expected = constant + self.cut.upper_bound
        # The error depends on the sizes of the summands: the sums may be small because costs cancel out.
        sizes = (np.abs(costs).sum() for costs in (energy.unary, energy.pair_costs, energy.triple_costs))
        tolerance = ROUNDING * float(sum(sizes)) if isinstance(found, float) else 0
        if not abs(found - expected) <= tolerance or found != self.upper_bound:
            raise VerificationError(f"the labels have energy {found}, by the cut they have {expected}")

    def __repr__(self) -> str:
        value = f"value {self.value:,}" if self.status == "optimal" else "stopped at the time limit"
        return f"<EnergyMinimum: {value}, {np.count_nonzero(self.labels):,} of {len(self.labels):,} ones>"


def minimize_energy(
    energy: BinaryEnergy,
    *,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> EnergyMinimum:
    """Find a labelling of least energy.

    Parameters
    ----------
    energy : BinaryEnergy
    method, device, threads, time_limit, progress
        As for :func:`preflow.min_cut`.

    Returns
    -------
    EnergyMinimum

    Raises
    ------
    InvalidInputError
        A term is not submodular: there is no network for it, and the problem is NP-hard in general.

    Notes
    -----
    The network has a vertex per variable, an arc per pair, and up to one vertex and six arcs per triple.
    Integer costs are minimised exactly, fractional ones up to the rounding of :func:`preflow.min_cut`.

    Examples
    --------
    >>> energy = BinaryEnergy([[4, 0], [0, 1]], [[0, 1]], [[0, 5], [5, 0]])
    >>> result = minimize_energy(energy)
    >>> result.value, result.labels.tolist()
    (1, [True, True])
    >>> result.verify()
    """
    if not isinstance(energy, BinaryEnergy):
        raise InvalidInputError(f"energy must be a BinaryEnergy, got {type(energy).__name__}")
    problem, constant = energy._network()
    cut = min_cut(
        problem, method=method, device=device, threads=threads, time_limit=time_limit, progress=progress
    )
    labels = ~cut.sink_side[: energy.num_variables]
    labels.flags.writeable = False
    reached = energy.evaluate(labels)
    lower_bound = reached if cut.status == "optimal" else constant + cut.lower_bound
    return EnergyMinimum(cut.status, lower_bound, reached, cut.stats, labels, energy, cut)


class Arcs(NamedTuple):
    """Arcs: tail, head and capacity of each."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: Array


class BinaryPolynomial:
    """A polynomial of degree three in binary variables, as a network; a variable is 1 on the source side.

    A product of three variables, or of their complements, is the minimum over one more variable of a sum of
    products of two.

    Attributes
    ----------
    constant : int or float
        Added to the capacity of a cut.
    """

    def __init__(self, num_variables: int, dtype: DType) -> None:
        self.constant: int | float = 0
        self.linear = np.zeros(num_variables, dtype=dtype)
        self.arcs: list[Arcs] = []
        #: For each vertex that is no variable: capacity from the source (positive) or to the sink (negative).
        self.added: list[Array] = []
        self.num_vertices = num_variables

    def add_linear(self, variable: NDArray[np.int64], coefficient: Array) -> None:
        """Add the coefficient times x."""
        np.add.at(self.linear, variable, coefficient)

    def add_product(self, first: NDArray[np.int64], second: NDArray[np.int64], gain: Array) -> None:
        """Subtract ``gain * x * y``, which is ``gain * (1 - x) * y - gain * y``."""
        self.add_linear(second, -gain)
        self.arcs.append(Arcs(second, first, gain))

    def add_all_ones(self, members: NDArray[np.int64], gain: Array) -> None:
        """Subtract ``gain * x * y * z`` by a vertex that is on the source side if all three variables are."""
        members, gain = members[gain > 0], gain[gain > 0]
        self.constant -= exact_sum(gain)
        vertex = self._add_vertices(gain)
        self.arcs += [Arcs(vertex, variable, gain) for variable in members.T]

    def add_complement(self, members: NDArray[np.int64], gain: Array) -> None:
        """Add ``gain * (x * y * z - x * y - y * z - z * x)``.

        The product of all complements is 1 - x - y - z + xy + yz + zx - xyz, so this is ``-gain`` times that
        product, and ``gain * (1 - x - y - z)``. The vertex is on the sink side if all three variables are.
        """
        vertex = self._add_vertices(-gain)
        self.arcs += [Arcs(variable, vertex, gain) for variable in members.T]
        for variable in members.T:
            self.add_linear(variable, -gain)

    def _add_vertices(self, terminal: Array) -> NDArray[np.int64]:
        self.added.append(terminal)
        first = self.num_vertices
        self.num_vertices += len(terminal)
        return np.arange(first, self.num_vertices)

    def problem(self) -> MaxFlowProblem:
        """Return the network, and add the difference to its cuts to the constant."""
        # A variable for which 1 is cheaper has an arc from the source, which is cut if it is 0.
        self.constant += exact_sum(np.minimum(self.linear, 0))
        terminal = np.concatenate([-self.linear, *self.added])
        source, sink = self.num_vertices, self.num_vertices + 1
        of_source, of_sink = np.flatnonzero(terminal > 0), np.flatnonzero(terminal < 0)
        arcs = [
            Arcs(np.full(len(of_source), source), of_source, terminal[of_source]),
            Arcs(of_sink, np.full(len(of_sink), sink), -terminal[of_sink]),
            *(Arcs(*(part[arc.capacity > 0] for part in arc)) for arc in self.arcs),
        ]
        tail, head, capacity = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
        network = FlowNetwork.from_arrays(tail, head, capacity, num_vertices=sink + 1)
        return MaxFlowProblem(network, source, sink, name="binary energy")


def _gain(
    kind: str, members: NDArray[np.int64], tables: Array, fixed: tuple[int, int] | None = None
) -> Array:
    """Return the gain of each pair of variables if both are 1; raise for the first negative one."""
    agree = tables[:, 0, 0] + tables[:, 1, 1]
    differ = tables[:, 0, 1] + tables[:, 1, 0]
    gain: Array = differ - agree
    if tables.dtype.kind == "f":
        gain[np.abs(gain) <= ROUNDING * np.abs(tables).max(axis=(1, 2))] = 0
    wrong = np.flatnonzero(gain < 0)
    if len(wrong):
        k = int(wrong[0])
        variables = members[k].tolist()
        where = "" if fixed is None else f" with variable {variables[fixed[0]]} fixed at {fixed[1]}"
        raise InvalidInputError(
            f"{kind} {k}, of variables {tuple(variables)}, is not submodular{where}: E(0,0) + E(1,1) = "
            f"{agree[k]:g} is more than E(0,1) + E(1,0) = {differ[k]:g}"
        )
    return gain


def _largest(table: NDArray[np.int64]) -> int:
    """Return the largest absolute value of a table that is not empty."""
    return max(-int(table.min()), int(table.max()))


def _costs(name: str, values: ArrayLike) -> Array:
    """Return costs as int64 or float64."""
    array = host_array(values, name)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must be an array of numbers, got {array.dtype}")
    if array.dtype.kind == "f" and array.size:
        if not np.isfinite(array).all():
            raise InvalidInputError(f"{name} has values that are not finite")
        return array.astype(np.float64)
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise CapacityOverflowError(f"{name} has values beyond int64")
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
