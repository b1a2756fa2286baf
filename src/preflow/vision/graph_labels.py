"""Energies of many labels on general graphs, whose distances may differ from edge to edge.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001, on a list of
edges instead of a grid. The best expansion to a label is a minimum cut if no edge gains from a mixture: for
all labels a, b and alpha, ``d[alpha, alpha] + d[a, b] <= d[a, alpha] + d[alpha, b]`` (Kolmogorov and Zabih,
PAMI 2004). Metrics satisfy this; distances need not be symmetric. Integers are exact. Sums of floats are
rounded.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..certify.exact import accurate_sum
from ..certify.fields import check_kind
from ..drawing.axes import say
from ..drawing.networks import draw_graph, label_colours
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.network import check_ends, exact_sum, vertex_ids
from ..graph.scaling import accepted_gap
from ..method_names import DeviceName, FlowMethodName
from ..solving.drawn import DrawnResult
from ..solving.read_only import ReadOnlyArrays
from ..solving.run import Deadline
from .energy import BinaryEnergy, checked_costs, minimum
from .expansion import MOST_SWEEPS, check_search, checked_labels, sweep_over
from .label_energy import MOST_LABELS, ROUNDING, read_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: All terms of integers together stay below this, as :class:`BinaryEnergy` needs it.
LARGEST_SUM = 2**58
#: Terms of floats above this are divided by two to the power `EXPONENT_OF_SUMS` before they are summed.
LARGEST_TERM = 2.0**900
EXPONENT_OF_SUMS = 200


@dataclass(frozen=True, eq=False, repr=False, init=False)
class GraphLabelEnergy(ReadOnlyArrays):
    """An energy over labellings of the vertices of a graph.

    A labelling f has the energy: the sum over vertices v of ``data[f[v], v]``, plus the sum over edges e from
    u to v of ``weights[e] * distance[e, f[u], f[v]]``.

    Parameters
    ----------
    data : array_like, shape (labels, n)
        Cost of each label at each vertex; integers or finite floats, also negative.
    tail, head : array_like of integers, shape (m,)
        The ends of each edge, numbered from 0. Parallel edges add up.
    distance : array_like, shape (labels, labels) or (m, labels, labels)
        Cost of an edge by the labels of its tail and its head: one table for all edges, or one for each. Not
        negative; it need not be symmetric, nor zero for equal labels.
    weights : array_like, shape (m,), or scalar
        Factors of the distances; not negative.

    Raises
    ------
    InvalidInputError
        Shapes that do not fit, a vertex out of range, an edge from a vertex to itself, values that are
        negative or not finite.
    CapacityOverflowError
        Integers sum to 2**58 or more, or a weight times a distance of floats is past float64.

    Examples
    --------
    Three vertices in a triangle, whose edges have distances of their own:

    >>> import numpy as np
    >>> tables = np.array([[[0, 3], [3, 0]], [[0, 1], [1, 0]], [[0, 9], [9, 0]]])
    >>> energy = GraphLabelEnergy([[0, 5, 2], [4, 0, 2]], [0, 1, 0], [1, 2, 2], tables)
    >>> energy.energy([0, 1, 0]), energy.energy([0, 0, 0])
    (6, 7)
    """

    data: Array
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    distance: Array
    weights: Array

    def __init__(
        self, data: ArrayLike, tail: ArrayLike, head: ArrayLike, distance: ArrayLike, weights: ArrayLike = 1
    ) -> None:
        costs = checked_costs("data", data, LARGEST_SUM)
        if costs.ndim != 2 or not len(costs):
            raise InvalidInputError(f"data must have shape (labels, vertices), got {costs.shape}")
        labels, n = costs.shape
        if labels > MOST_LABELS:
            raise InvalidInputError(f"there are {labels:,} labels, at most {MOST_LABELS:,} are supported")
        first, last = (vertex_ids(ends, name) for ends, name in ((tail, "tail"), (head, "head")))
        check_ends(first, last, n)
        m = len(first)
        loops = np.flatnonzero(first == last)
        if len(loops):
            raise InvalidInputError(f"edge {loops[0]} leads from vertex {first[loops[0]]} to itself")
        far, factors = (
            checked_costs(name, values, LARGEST_SUM)
            for name, values in (("distance", distance), ("weights", weights))
        )
        if far.shape not in ((labels, labels), (m, labels, labels)):
            raise InvalidInputError(
                f"distance must have shape {(labels, labels)} or {(m, labels, labels)}, got {far.shape}"
            )
        if factors.shape not in ((), (m,)):
            raise InvalidInputError(f"weights must be a number or have shape ({m},), got {factors.shape}")
        for name, values in (("distances", far), ("weights", factors)):
            if values.size and values.min() < 0:
                raise InvalidInputError(f"{name} must not be negative, got {values.min()}")
        dtype = np.result_type(costs, far, factors)
        factors = np.broadcast_to(factors, (m,))
        with np.errstate(over="ignore"):
            most = np.broadcast_to(far.max(axis=(-2, -1), initial=0), (m,)).astype(np.float64) * factors
        if not np.isfinite(most).all():
            raise CapacityOverflowError("a weight times a distance is past float64")
        if dtype.kind == "i":
            size = float(np.abs(costs.astype(np.float64)).sum()) + 4 * float(most.sum())
            if size >= LARGEST_SUM:
                raise CapacityOverflowError("the terms of the energy sum to 2**58 or more")
        own = {
            "data": costs.astype(dtype),
            "tail": first.astype(np.int64),
            "head": last.astype(np.int64),
            "distance": far.astype(dtype),
            "weights": factors.astype(dtype),
        }
        self.__dict__.update(own)
        self.__post_init__()

    @property
    def num_labels(self) -> int:
        """Number of labels."""
        return len(self.data)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return int(self.data.shape[1])

    def energy(self, labels: ArrayLike) -> int | float:
        """Return the energy of a labelling: exact for integers, rounded once for floats.

        It is infinite where floats sum past float64.

        Raises
        ------
        InvalidInputError
            Another shape, or a label out of range.
        """
        return total_of_terms(self._terms(self.checked_labels(labels)))

    def _terms(self, chosen: NDArray[np.int64]) -> Array:
        """Return the terms of vertices and of edges of a labelling."""
        paid = self.data[chosen, np.arange(len(chosen))]
        return np.concatenate([paid, self.costs_of_edges(chosen[self.tail], chosen[self.head])])

    def improves(self, after: NDArray[np.int64], before: NDArray[np.int64], *, room: float = 0.0) -> bool:
        """Return whether a labelling is lower than another: see :func:`is_lower`."""
        return is_lower(self._terms(after), self._terms(before), room)

    def costs_of_edges(self, of_tails: NDArray[np.int64] | int, of_heads: NDArray[np.int64] | int) -> Array:
        """Return the cost of each edge by the labels of its ends; a number is that of all edges."""
        if self.distance.ndim == 2:
            found: Array = self.weights * self.distance[of_tails, of_heads]
        else:
            found = self.weights * self.distance[np.arange(len(self.tail)), of_tails, of_heads]
        return found

    def checked_labels(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Check a labelling and return it as int64."""
        return read_labels(labels, (self.num_vertices,), self.num_labels)

    def room(self, labels: NDArray[np.int64]) -> float:
        """Return by how much two minimum cuts that lead to such a labelling may differ."""
        terms = self._terms(labels)
        return accepted_gap(len(terms)) * float(np.abs(terms).sum())

    def check_expansions(self) -> None:
        """Raise InvalidInputError, which names an edge and labels, unless each expansion is a minimum cut."""
        far = self.distance if self.distance.ndim == 3 else self.distance[np.newaxis]
        for alpha in range(self.num_labels):
            with np.errstate(over="ignore"):
                around = far[:, :, alpha, np.newaxis] + far[:, np.newaxis, alpha, :]
                straight = far + far[:, alpha, np.newaxis, alpha, np.newaxis]
                broken = straight > (around * (1 + ROUNDING) if around.dtype.kind == "f" else around)
            if broken.any():
                edge, a, b = np.argwhere(broken)[0].tolist()
                which = f"of edge {edge} " if self.distance.ndim == 3 else ""
                raise InvalidInputError(
                    f"the distances {which}allow no expansion to label {alpha}: {straight[edge, a, b]} for "
                    f"labels {a} and {b}, more than {around[edge, a, b]} by way of {alpha}; metrics do"
                )

    def expansion(self, labels: NDArray[np.int64], alpha: int) -> BinaryEnergy:
        """Return the energy of the choices in which each vertex keeps its label (0) or takes `alpha` (1)."""
        kept = self.data[labels, np.arange(len(labels))]
        unary = np.stack([kept, self.data[alpha]], axis=1)
        of_tails, of_heads = labels[self.tail], labels[self.head]
        tables = np.empty((len(self.tail), 2, 2), dtype=self.data.dtype)
        of = self.costs_of_edges
        tables[:, 0, 0], tables[:, 1, 1] = of(of_tails, of_heads), of(alpha, alpha)
        tables[:, 0, 1], tables[:, 1, 0] = of(of_tails, alpha), of(alpha, of_heads)
        if tables.dtype.kind == "f":  # only rounding makes a mixture gain
            with np.errstate(over="ignore"):
                most = tables[:, 0, 1] + tables[:, 1, 0] - tables[:, 1, 1]
            np.minimum(tables[:, 0, 0], most, out=tables[:, 0, 0])
        pairs = np.stack([self.tail, self.head], axis=1)
        return BinaryEnergy(unary, pairs, tables) if len(pairs) else BinaryEnergy(unary)

    def __repr__(self) -> str:
        size = f"{self.num_labels} labels, {self.num_vertices:,} vertices, {len(self.tail):,} edges"
        return f"<GraphLabelEnergy: {size}>"


def total_of_terms(terms: Array) -> int | float:
    """Return the sum of terms: exact for integers, rounded once for floats, infinite past float64."""
    return accurate_sum(terms) if terms.dtype.kind == "f" else int(exact_sum(terms))


def is_lower(new: Array, old: Array, room: float = 0.0) -> bool:
    """Return whether terms sum to less than those of another labelling, by more than rounding and `room`.

    Rounding is relative to the changes of the terms that change.
    """
    if new.dtype.kind != "f":
        return exact_sum(new) < exact_sum(old)
    changed = new != old
    new, old = new[changed], old[changed]
    unit = (
        2.0**-EXPONENT_OF_SUMS
        if max(float(np.abs(each).max(initial=0)) for each in (new, old)) > LARGEST_TERM
        else 1.0
    )
    changes = new * unit - old * unit
    return -accurate_sum(changes) > ROUNDING * float(np.abs(changes).sum()) + room * unit


@dataclass(frozen=True, eq=False, repr=False)
class GraphLabelling(DrawnResult):
    """A labelling of a graph that no expansion improves, or the best one found within the limits.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
    energy : int or float
    history : tuple of int or float
        Energy at the start and after every expansion that lowered it.
    moves, sweeps : int
        Minimum cuts that were solved, and passes over all labels begun.
    converged : bool
        Whether no expansion lowers the energy. Of floats: by more than ``2**-40`` of the sum of the absolute
        values of all changes of terms, or ``2**-40`` of all terms of the labelling. False if a limit ended
        the search.
    seconds : float
    energy_terms : GraphLabelEnergy
    """

    labels: NDArray[np.int64]
    energy: int | float
    history: tuple[int | float, ...]
    moves: int
    sweeps: int
    converged: bool
    seconds: float
    energy_terms: GraphLabelEnergy

    def verify(self) -> None:
        """Check the energy, and prove that no expansion lowers it: solve and verify a cut for each label.

        If the labelling did not converge, only the energy is checked.
        """
        check_kind(self.energy_terms, "energy_terms", GraphLabelEnergy)
        terms = self.energy_terms
        labels = checked_labels(self, (terms.num_vertices,), terms.num_labels)
        check_search(self, terms.energy(labels), terms.room(labels) if terms.data.dtype.kind == "f" else 0)
        if not self.converged:
            return
        for alpha in range(terms.num_labels):
            best = minimum(terms.expansion(self.labels, alpha))
            best.verify()
            moved = np.where(best.labels, alpha, self.labels)
            # The search and the proof solve cuts of their own, each of which is as good as the other.
            if terms.improves(moved, self.labels, room=terms.room(moved)):
                found = terms.energy(moved)
                raise VerificationError(f"the expansion to {alpha} lowers the energy to {found}")

    def _summary(self) -> str:
        state = "" if self.converged else ", not converged"
        size = f"{len(self.labels):,} vertices, energy {self.energy:,}, {self.moves} moves"
        return f"{size}{state}, {self.seconds:.3g} s"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the graph with a colour for each label; edges between two labels are red."""
        tail, head = self.energy_terms.tail, self.energy_terms.head
        apart = self.labels[tail] != self.labels[head]
        axes = draw_graph(ax, tail, head, apart, [""] * len(apart), None, label_colours(self.labels))
        return say(axes, "" if self.converged else "not converged")


def label_graph(
    energy: GraphLabelEnergy,
    *,
    initial: ArrayLike | None = None,
    max_sweeps: int = MOST_SWEEPS,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
) -> GraphLabelling:
    """Find a labelling of the vertices of a graph of low energy, by alpha-expansion.

    Parameters
    ----------
    energy : GraphLabelEnergy
    initial : array_like of integers, shape (n,), optional
        The labelling to start from. Default: at every vertex the first label of least `data`.
    max_sweeps : int
        The largest number of sweeps over all labels.
    method, device, threads
        As for :func:`preflow.min_cut`.
    time_limit : float, optional
        Seconds for all cuts; on expiry `converged` is False.

    Returns
    -------
    GraphLabelling
        If `data` is not negative and each table a metric, its energy is at most twice the least energy times
        the largest ratio of two positive distances of one edge.

    Raises
    ------
    InvalidInputError
        Distances for which an expansion is no minimum cut: metrics are fine.
    CapacityOverflowError
        The lowest energy found is past float64.

    Notes
    -----
    One minimum cut per label and sweep. A sweep skips a label if its expansion was tried since the labelling
    last changed.

    Examples
    --------
    >>> from preflow.vision import potts
    >>> energy = GraphLabelEnergy([[0, 5, 2], [4, 0, 2]], [0, 1, 0], [1, 2, 2], potts(2), [3, 1, 9])
    >>> result = label_graph(energy)
    >>> result.labels.tolist(), result.energy
    ([0, 1, 0], 6)
    >>> result.verify()
    """
    if not isinstance(energy, GraphLabelEnergy):
        raise InvalidInputError(f"energy must be a GraphLabelEnergy, got {type(energy).__name__}")
    energy.check_expansions()
    begin, deadline = time.perf_counter(), Deadline(time_limit)
    labels = energy.data.argmin(axis=0) if initial is None else energy.checked_labels(initial)
    terms = energy._terms(labels)
    history = [total_of_terms(terms)]
    moves = 0

    def expand(alpha: int, sweep: int, number: int) -> bool:
        nonlocal labels, terms, moves
        best = minimum(energy.expansion(labels, alpha), method, device, threads, deadline.left())
        moves += 1
        candidate = np.where(best.labels, alpha, labels)
        found = energy._terms(candidate) if best.labels.any() else terms
        if is_lower(found, terms):
            labels, terms = candidate, found
            history.append(total_of_terms(terms))
        return best.status == "optimal"

    sweeps, settled = sweep_over(range(energy.num_labels), history, expand, max_sweeps, deadline)
    if not math.isfinite(history[-1]):
        raise CapacityOverflowError("the lowest energy found is past float64")
    seconds = time.perf_counter() - begin
    return GraphLabelling(labels, history[-1], tuple(history), moves, sweeps, settled, seconds, energy)
