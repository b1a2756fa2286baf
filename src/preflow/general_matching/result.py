"""The result of a matching in a general graph."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.blossoms import (
    barrier_bound,
    check_bonus,
    check_mates,
    check_solved_weights,
    dual_bound,
    matched_edges,
)
from ..certify.fields import check_bounds, checked_number
from ..drawing.axes import number
from ..drawing.networks import draw_graph, matched_colours
from ..errors import VerificationError
from ..graph.edge_tables import data_frame, labels_of
from ..graph.network import exact_sum
from ..graph.undirected import UndirectedGraph
from ..solving.result import BoundedResult
from .integer_weights import integer_weights
from .solution import BlossomDuals

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Blossom(NamedTuple):
    """An odd set of vertices with its dual.

    Attributes
    ----------
    vertices : ndarray of int64, shape (k,)
    dual : float
    """

    vertices: NDArray[np.int64]
    dual: float


@dataclass(frozen=True, eq=False, repr=False)
class GeneralMatchingResult(BoundedResult):
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
        are the given ones, negated to minimise, times two to a power for floats, plus `bonus`.
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
    _gap: int | float

    def __post_init__(self) -> None:
        for array in (self.mate, self.barrier, *(self.duals or ())):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

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
        return self.cardinality if self.graph.weight is None else weight_of(self.graph, self._edges)

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
        matching must be perfect or of maximum cardinality.
        """
        return self._gap

    @property
    def bonus(self) -> int:
        """The number added to each solved weight so that one edge more outweighs all else; mostly 0."""
        if self.duals is None:
            return 0
        return integer_weights(self.graph, maximize=self.maximize, most_edges=self._most_edges).bonus

    @property
    def _most_edges(self) -> bool:
        return self.perfect or self.maximum_cardinality

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
        return tuple(Blossom(np.array(vertices), dual / 2) for vertices, dual in pairs if dual > 0)

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs, with the caller's labels, by the lower vertex of each."""
        mate = self._mate
        lower = np.flatnonzero(mate > np.arange(len(mate)))
        ends = zip(lower.tolist(), mate[lower].tolist(), strict=True)
        labels = self.graph.labels
        return [(u, v) if labels is None else (labels[u], labels[v]) for u, v in ends]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row for each pair, by the lower vertex of each.

        Returns
        -------
        DataFrame
            The columns "source" and "target" have the ends of the edges with the caller's labels, "weight"
            their weights if the graph has some.

        Raises
        ------
        MissingDependencyError
            pandas is not installed.
        """
        return data_frame(self.to_columns())

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas` as arrays; ``polars.DataFrame`` takes them, too."""
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

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw into; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidInputError
            The graph has more than 200 vertices or 2,000 edges.
        MissingDependencyError
            Matplotlib is not installed.
        """
        graph = self.graph
        chosen = np.zeros(graph.num_edges, dtype=bool)
        chosen[self._edges] = True
        weights = [] if graph.weight is None else graph.weight.tolist()
        texts = [number(weight) for weight in weights] or [""] * graph.num_edges
        colours = matched_colours(self._mate >= 0)
        return draw_graph(ax, graph.tail, graph.head, chosen, texts, graph.labels, colours)

    def verify(self) -> None:
        """Prove the matching best, independently of the solver, in nearly linear time.

        The pairs are a matching along edges. With weights, the duals bound the weight of all matchings, and
        the bound is the weight of this one; without, the barrier does so for the number of pairs. A result
        that stopped early proves its two bounds instead.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        check_bounds(self.status, self.lower_bound, self.upper_bound, float(checked_number(self.gap, "gap")))
        mate = check_mates(self.graph, self.mate)
        pairs = int(np.count_nonzero(mate >= 0)) // 2
        if self.perfect and self.status == "optimal" and 2 * pairs != self.graph.num_vertices:
            raise VerificationError(f"{pairs} pairs are no perfect matching")
        if self.graph.weight is None:
            self._verify_size(pairs)
        else:
            self._verify_weight(pairs)

    def _verify_size(self, pairs: int) -> None:
        if self.lower_bound != pairs:
            raise VerificationError(f"the matching has {pairs} pairs, not {self.lower_bound}")
        stopped = self.status != "optimal" and self.barrier is None
        barrier = np.zeros(self.graph.num_vertices, dtype=bool) if stopped else self.barrier
        bound = barrier_bound(self.graph, barrier)
        if self.upper_bound < bound:
            raise VerificationError(f"the barrier proves {bound}, more than upper_bound, {self.upper_bound}")

    def _verify_weight(self, pairs: int) -> None:
        if self.duals is None:
            raise VerificationError("the result of a graph with weights has no duals")
        solved = integer_weights(self.graph, maximize=self.maximize, most_edges=self._most_edges)
        doubled = dual_bound(self.graph, solved.values, *self.duals)
        taken = solved.values[matched_edges(self.graph, self._mate, solved.values)]
        found = int(exact_sum(taken)) if len(taken) else 0
        if self.status == "optimal" and doubled != 2 * found:
            raise VerificationError(f"the duals prove half of {doubled}, the matching weighs {found}")
        assert self.graph.weight is not None
        error = check_solved_weights(
            self.graph.weight, solved.values, solved.exponent, solved.bonus, self.maximize
        )
        if self._most_edges:
            check_bonus(solved.values, self.graph.num_vertices)
        # Each of n / 2 edges of this matching and of the best one is rounded by no more.
        rounded = 2 * (self.graph.num_vertices // 2) * error if error else 0
        if not checked_number(self.gap, "gap") >= rounded and self.status == "optimal":
            raise VerificationError(f"the gap {self.gap} is less than rounding may change, {rounded}")
        weight = self.weight
        known = self.lower_bound if self.maximize else self.upper_bound
        if not math.isinf(known) and not abs(weight - known) <= self._slack(weight):
            raise VerificationError(f"the matching weighs {weight}, not {known}")
        if self.status != "optimal":
            bound = weight_bound(self.graph, self.maximize, self._most_edges, doubled, solved.exponent)
            claimed = self.upper_bound if self.maximize else -self.lower_bound
            if claimed < bound - self._slack(bound) - rounded:
                raise VerificationError(f"the duals prove {bound}, and the bound is {claimed}")

    def _slack(self, weight: int | float) -> float:
        assert self.graph.weight is not None
        return 0 if self.graph.weight.dtype.kind == "i" else 1e-12 * (abs(weight) + 1e-300) * 4

    def __repr__(self) -> str:
        pairs = f"{self.cardinality:,} pairs of {self.graph.num_vertices:,} vertices"
        return f"<GeneralMatchingResult: {self._headline()}, {pairs}, {self._how()}>"


def weight_of(graph: UndirectedGraph, edges: NDArray[np.int64]) -> int | float:
    """Return the sum of the weights of edges."""
    assert graph.weight is not None
    return exact_sum(graph.weight[edges]) if len(edges) else 0


def weight_bound(
    graph: UndirectedGraph, maximize: bool, most_edges: bool, doubled: int, exponent: int
) -> int | float:
    """Return a bound of the weight (negated to minimise) of the best matching, of a solve that stopped.

    `doubled` is twice the bound of the solved weights. Where a bonus was added, it is of no use unless the
    number of pairs is known: then the largest weights of all edges are summed.
    """
    assert graph.weight is not None
    if not most_edges:
        whole = exponent == 0 and graph.weight.dtype.kind == "i"
        return doubled // 2 if whole else math.ldexp(doubled, -exponent - 1)
    signed = graph.weight.astype(object if graph.weight.dtype.kind == "i" else np.float64)
    signed = signed if maximize else -signed
    pairs = graph.num_vertices // 2
    largest: Array = np.sort(signed)[::-1][:pairs]
    bound: int | float = sum(max(value, 0) for value in largest.tolist())
    return bound
