"""The result of a matching in a general graph."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.blossoms import barrier_bound, check_mates, matched_edges
from ..certify.exact import exact_total, float_near, rounded_up
from ..certify.fields import check_bounds, check_status, checked_number
from ..drawing.axes import number
from ..drawing.networks import draw_graph, matched_colours
from ..errors import CostOverflowError, VerificationError
from ..graph.edge_tables import Tabular, labelled_pairs, labels_of
from ..graph.scaling import is_close, size_of
from ..graph.undirected import UndirectedGraph
from ..solving.read_only import make_read_only
from ..solving.result import BoundedResult
from .integer_weights import WeightProof, finer_weights, integer_weights
from .solution import BlossomDuals, DualStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Blossom(NamedTuple):
    """An odd set of vertices with its dual."""

    vertices: NDArray[np.int64]  #: shape (k,)
    dual: float


@dataclass(frozen=True, eq=False, repr=False)
class GeneralMatchingResult(Tabular, BoundedResult):
    """A matching of a general graph, of maximum weight or cardinality, or the best one within the time limit.

    Attributes
    ----------
    mate : array of int64, shape (num_vertices,)
        The partner of each vertex, -1 for none; of the kind that the graph was built from: NumPy's, Torch's,
        JAX's. So is :attr:`edges`. Barriers and duals are NumPy arrays.
    graph : UndirectedGraph
    maximize, perfect, maximum_cardinality : bool
        What was asked for.
    barrier : ndarray of bool, shape (num_vertices,), or None
        Of a graph without weights: the vertices of a set A that proves the matching largest. Every matching
        leaves at least as many vertices free as the graph without A has odd components, less the size of A.
    duals : BlossomDuals or None
        Of a graph with weights: twice the duals of the weights that were solved, as integers. These weights
        are the given ones, negated to minimise, times two to a power for floats, plus `bonus`; after `steps`
        they are finer ones.
    steps : tuple of DualStep
        The duals of earlier solves, where floats were solved again because one rounding lost too much. What
        these exceed their limits by, and `duals`, sum to the bound. Mostly empty.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`. The bounds are weights, or numbers of pairs where
        the graph has no weights.
    """

    mate: NDArray[np.int64]
    graph: UndirectedGraph
    maximize: bool
    perfect: bool
    maximum_cardinality: bool
    barrier: NDArray[np.bool_] | None
    duals: BlossomDuals | None
    steps: tuple[DualStep, ...]
    _gap: int | float

    def __post_init__(self) -> None:
        super().__post_init__()
        make_read_only((self.duals, self.steps))

    @property
    def cardinality(self) -> int:
        """The number of pairs."""
        return int(np.count_nonzero(self._mate >= 0)) // 2

    @property
    def _mate(self) -> NDArray[np.int64]:
        """The partner of each vertex as a NumPy array."""
        return self.graph.to_host(self.mate)

    @property
    def weight(self) -> int | float:
        """The weight of the matching: a Python integer for integers. The number of pairs without weights."""
        if self.graph.weight is None:
            return self.cardinality
        chosen = self.graph.weight[self._edges]
        total = exact_total(chosen)
        return float_near(total) if chosen.dtype.kind == "f" else int(total)

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """The numbers of the edges that are matched, the best of parallel ones, by their lower vertices."""
        found: NDArray[np.int64] = self.graph.to_caller(self._edges)
        return found

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        edges = matched_edges(self.graph, self._mate, self.graph.weight, heaviest=self.maximize)
        edges.flags.writeable = False
        return edges

    @property
    def gap(self) -> int | float:
        """A proved bound of the difference between `weight` and the optimum of the input.

        0 for integers, and for floats that are multiples of a power of two and not too far apart. Other
        weights are rounded to integers of about 58 bits, of 58 less those of the number of vertices where the
        matching must be perfect or of maximum cardinality. Where that is too coarse for the weights that are
        chosen, the solve is repeated with finer ones. An optimal result has a gap of at most 2**-40 of the
        sum of the sizes of its weights, plus 2**-53 of it for each pair.
        """
        return self._gap

    @property
    def bonus(self) -> int:
        """The number added to each solved weight so that one edge more outweighs all else; mostly 0."""
        if self.duals is None:
            return 0
        most_edges = self.perfect or self.maximum_cardinality
        return integer_weights(self.graph, maximize=self.maximize, most_edges=most_edges).bonus

    @property
    def vertex_duals(self) -> NDArray[np.float64] | None:
        """The duals of the vertices, for the weights that were solved; None without weights."""
        return None if self.duals is None else self.duals.vertex / 2

    @cached_property
    def blossoms(self) -> tuple[Blossom, ...]:
        """The blossoms with a dual above 0, each with its vertices. They may take O(n) memory each."""
        if self.duals is None:
            return ()
        n = self.graph.num_vertices
        inside: list[list[int]] = [[] for _ in self.duals.blossom]
        parent = self.duals.parent.tolist()
        for v in range(n):
            node = parent[v]
            while node >= 0:
                inside[node - n].append(v)
                node = parent[node]
        pairs = zip(inside, self.duals.blossom.tolist(), strict=True)
        found = tuple(Blossom(np.array(vertices), dual / 2) for vertices, dual in pairs if dual > 0)
        make_read_only(found)
        return found

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs, with the caller's labels, by the lower vertex of each."""
        mate = self._mate
        lower = np.flatnonzero(mate > np.arange(len(mate)))
        return labelled_pairs(self.graph.labels, lower, mate[lower])

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas`, with a row for each pair, by the lower vertex of each.

        Returns
        -------
        dict of arrays
            The columns "source" and "target" have the ends of the edges with the caller's labels, "weight"
            their weights if the graph has some.
        """
        graph, edges = self.graph, self._edges
        columns: dict[str, Array] = {
            "source": labels_of(graph.labels, graph.tail[edges]),
            "target": labels_of(graph.labels, graph.head[edges]),
        }
        if graph.weight is not None:
            columns["weight"] = graph.weight[edges]
        return columns

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the graph, with the edges of the matching thick and red, and free vertices white.

        InvalidInputError: the graph has more than 200 vertices or 2,000 edges.
        """
        graph = self.graph
        chosen = np.zeros(graph.num_edges, dtype=bool)
        chosen[self._edges] = True
        weights = [] if graph.weight is None else graph.weight.tolist()
        texts = [number(weight) for weight in weights] or [""] * graph.num_edges
        colours = matched_colours(self._mate >= 0)
        return self._labelled(draw_graph(ax, graph.tail, graph.head, chosen, texts, graph.labels, colours))

    def verify(self) -> None:
        """Prove the matching best, independently of the solver, in nearly linear time.

        The pairs are a matching along edges. With weights, the duals bound the weight of all matchings, and
        the bound is the weight of this one, or more by `gap` at most; without, the barrier does so for the
        number of pairs. A result that stopped early proves its two bounds instead.
        """
        graph, flags = self.graph, (self.maximize, self.perfect, self.maximum_cardinality)
        if not isinstance(graph, UndirectedGraph):
            raise VerificationError("graph is no UndirectedGraph")
        if not all(isinstance(flag, bool | np.bool_) for flag in flags):
            raise VerificationError("maximize, perfect and maximum_cardinality must be True or False")
        mate = check_mates(graph, self.mate)
        pairs = int(np.count_nonzero(mate >= 0)) // 2
        check_status(self.status)
        if self.perfect and self.status in ("optimal", "approximate") and 2 * pairs != graph.num_vertices:
            raise VerificationError(f"{pairs} pairs are no perfect matching")
        if graph.weight is None:
            self._verify_size(pairs)
            return
        if self.barrier is not None:  # of an approximate method
            barrier_bound(graph, self.barrier)
            if self.status == "optimal":
                raise VerificationError("weights are proved by duals, and there is a barrier")
        self._verify_weight(pairs)

    def _verify_size(self, pairs: int) -> None:
        check_bounds(self.status, self.lower_bound, self.upper_bound)
        if self.lower_bound != pairs:
            raise VerificationError(f"the matching has {pairs} pairs, not {self.lower_bound}")
        stopped = self.status != "optimal" and self.barrier is None
        barrier = np.zeros(self.graph.num_vertices, dtype=bool) if stopped else self.barrier
        bound = barrier_bound(self.graph, barrier)
        if self.upper_bound < bound:
            raise VerificationError(f"the barrier proves {bound}, more than upper_bound, {self.upper_bound}")
        if checked_number(self.gap, "gap") != self.upper_bound - self.lower_bound:
            raise VerificationError(f"the gap is not the difference of the bounds, but {self.gap}")

    def _verify_weight(self, pairs: int) -> None:
        steps = self.steps if isinstance(self.steps, tuple) else (None,)
        proofs = [self.duals, *(step.duals if isinstance(step, DualStep) else None for step in steps)]
        if not all(isinstance(duals, tuple) and len(duals) == 3 for duals in proofs):
            raise VerificationError("the result of a graph with weights has no duals")
        assert self.duals is not None
        assert self.graph.weight is not None
        wanted = Wanted(bool(self.maximize), bool(self.perfect), bool(self.maximum_cardinality))
        try:
            weights = first = integer_weights(
                self.graph, maximize=wanted.maximize, most_edges=wanted.most_edges
            )
        except CostOverflowError as error:
            raise VerificationError(f"these weights are never solved: {error}") from None
        taken = Fraction(0)
        for step in self.steps:
            coarse = WeightProof.of(self.graph, weights, BlossomDuals(*step.duals))
            weights, part = finer_weights(self.graph, coarse, step.limit)
            taken += part
        last = WeightProof.of(self.graph, weights, BlossomDuals(*self.duals))
        bound, _ = last.bound(self.graph)
        chosen = self.graph.weight[self._edges]
        proof = proved_weight(self.graph, wanted, chosen, taken + bound, first.in_units(2 * first.bonus))
        lower, upper = (
            checked_number(number, name)
            for number, name in ((self.lower_bound, "lower_bound"), (self.upper_bound, "upper_bound"))
        )
        gap = checked_number(self.gap, "gap")
        known, most = (lower, upper) if self.maximize else (-upper, -lower)
        if not (known == proof.gain or (known == -math.inf and self.status != "optimal")):
            raise VerificationError(
                f"the matching weighs {self.weight}, not {known if self.maximize else upper}"
            )
        if known != -math.inf and not proof.fits:
            raise VerificationError(f"{pairs} pairs may not be as many as possible")
        if self.status != "optimal":
            if not (known <= most and most >= proof.bound):
                raise VerificationError(f"the bounds {lower} and {upper} are not what the duals prove")
            if gap != upper - lower:
                raise VerificationError(f"the gap is not the difference of the bounds, but {gap}")
            return
        if lower != upper:
            raise VerificationError(f"the bounds {lower} and {upper} do not meet, and the status is optimal")
        if not gap >= proof.gap:
            raise VerificationError(f"the duals prove a gap of {proof.gap}, more than {gap}")
        if not (is_close(gap, size_of(chosen), pairs) if chosen.dtype.kind == "f" else gap == 0):
            raise VerificationError(f"a gap of {gap} is too large for an optimal weight")

    def __repr__(self) -> str:
        pairs = f"{self.cardinality:,} pairs of {self.graph.num_vertices:,} vertices"
        return f"<GeneralMatchingResult: {self._headline()}, {pairs}, {self._how()}>"


class Wanted(NamedTuple):
    """The arguments of the call: see :func:`preflow.matching`."""

    maximize: bool
    perfect: bool
    maximum_cardinality: bool

    @property
    def most_edges(self) -> bool:
        """Whether one edge more outweighs everything else."""
        return self.perfect or self.maximum_cardinality


class ProvedWeight(NamedTuple):
    """The bounds that duals prove for a matching; weights are negated to minimise."""

    gain: int | float  #: the weight of the matching
    bound: int | Fraction  #: no matching that is asked for weighs more
    gap: float  #: by how much the best weight may differ from `gain`
    fits: bool  #: whether the matching is known to be one that is asked for: it has enough pairs


def proved_weight(
    graph: UndirectedGraph, wanted: Wanted, chosen: Array, bound: Fraction, bonus: Fraction
) -> ProvedWeight:
    """Return what a bound of weights with the bonus proves for a matching with the weights `chosen`.

    With the bonus, it is a bound for matchings with a known number of pairs only. If the number is not known,
    the largest weights of all edges are summed.
    """
    assert graph.weight is not None
    sign = 1 if wanted.maximize else -1
    gain = sign * exact_total(chosen)
    pairs, most_pairs = len(chosen), graph.num_vertices // 2
    fits = True
    if wanted.perfect:
        fits = 2 * pairs == graph.num_vertices
        bound -= most_pairs * bonus
    elif wanted.maximum_cardinality:
        others = graph.weight[graph.tail != graph.head]
        fits = pairs == most_pairs or not len(others)
        if not fits:
            # Then a matching with a pair more must weigh more than the bound.
            extreme = others.min() if wanted.maximize else others.max()
            fits = bound < (pairs + 1) * (sign * Fraction(extreme.item()) + bonus)
        if fits:
            bound -= pairs * bonus
        else:
            largest = sign * np.sort(others)[::-sign][:most_pairs]
            bound = exact_total(np.maximum(largest, 0))
    if graph.weight.dtype.kind == "i":
        whole = math.floor(bound)
        return ProvedWeight(int(gain), whole, whole - int(gain), fits)
    value = float_near(gain)
    near = Fraction(value) if math.isfinite(value) else gain
    gap = max(bound, near) - min(gain, near)
    return ProvedWeight(value, bound, rounded_up(gap), fits)
