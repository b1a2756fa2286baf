"""Choose one of several labels for every pixel by minimum cuts: alpha-expansion and alpha-beta swap.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001, sections 3 to 5.
Label costs: Delong, Osokin, Isack and Boykov, IJCV 2012, section 3.

Definitions
-----------
- The *energy* of a labelling is defined in label_energy.py: a data term for each pixel, a term for each pair
  of neighbours, and a cost for each label in use.
- A *move* lets any set of pixels change their labels at once. In it each pixel *switches* or *stays*. In an
  *expansion* a pixel that switches takes the label alpha; a pixel that stays keeps its label. In a *swap*
  only the pixels with labels alpha and beta take part: those that switch take alpha, those that stay take
  beta, whichever label they had.
- The best choice of a move is a minimum cut, with the pixels that switch on the sink side.
- A *sweep* tries each move once: an expansion to each label, or a swap of each pair of labels.

- A move *gains* what the energy falls by: the sum of the changes of the terms that change. Of float terms,
  a gain counts if it is more than ``2**-40`` of the sum of the absolute values of these changes; so it does
  not matter how large the other terms are.

Invariants
----------
- Every move that is made lowers the energy.
- In the current labelling, `State.paid` has the data terms of all pixels, `State.apart` the terms of all
  pairs.
- A labelling that no expansion improves is within a known factor of the least energy.

Pseudo-code
-----------
::

    start from the labels of least data cost
    repeat for each move, unless it was tried since labels last changed:
        build the network of the move; find its minimum cut
        if it gains: switch the pixels on the sink side
    until no move gains

Departures
----------
- Pairs of neighbours need no vertices of their own (Kolmogorov and Zabih, PAMI 2004). The two arcs between
  two pixels may both have the mean of their capacities if the arcs to source and sink make up for the
  difference. So one array holds the capacities of both. All energies are doubled, so that the mean is an
  integer.
- The label cost of alpha in an expansion, and the label costs of both labels in a swap, need no vertices
  either. They are the same for all choices but two: that no pixel switches, and that all pixels do. So the
  cut ignores them, and the search compares it with these two choices.
- A cut has the smallest possible sink side, so no pixel switches without need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..certify.exact import accurate_sum
from ..certify.fields import (
    check_count,
    check_flag,
    check_history,
    check_kind,
    check_seconds,
    checked_host_array,
    checked_number,
)
from ..checks import check_integer
from ..cuts import min_cut
from ..drawing.axes import MOST_NAMED, say
from ..drawing.images import draw_regions, plane_of
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.neighbourhood import Box, pair_boxes
from ..graph.network import FlowNetwork, MaxFlowProblem
from ..graph.scaling import accepted_gap
from ..gridcut.api import grid_cut
from ..gridcut.problem import METHODS
from ..gridcut.result import GridCutResult
from ..method_names import DeviceName, FlowMethodName, GridMethodName
from ..progress import Reporter, Steps, reporting
from ..solving.dispatch import check_method, check_name, check_placement, find_method
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import BoundedResult
from ..solving.run import Deadline
from ..solving.timing import solving_seconds, timed
from .label_energy import ROUNDING, LabelEnergy
from .pictures import enlarged, large_labels, magnification, png, stretched
from .seeds import bounding_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Key = TypeVar("Key", bound=Hashable)

#: Default of `max_sweeps`. Labellings of real images need 3 to 6 sweeps.
MOST_SWEEPS = 20
#: A search keeps the flow of each move and starts the next move to the same label from it, if the flows of
#: all labels together take at most this many bytes (Alahari, Kohli and Torr, "Reduce, reuse and recycle",
#: CVPR 2008). It keeps flows from the second sweep on. Flows of the first sweep saved no time in the second,
#: since most labels change in the first. From the third sweep on, a move took about 0.65 of the time that it
#: takes without a flow (Venus, 31 displacements).
MOST_RECYCLED = 2**29
#: The terms of a move are int32 if their sum at one pixel cannot exceed this, else int64.
LARGEST_NARROW = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(ReadOnlyArrays):
    """A labelling that no move improves, or the best one found within the limits.

    Attributes
    ----------
    labels : ndarray of int64, shape (h, w) or (d, h, w)
    energy : int or float
        Its energy: exact for integers, rounded once for floats.
    history : tuple of int or float
        Energy at the start and after every move that lowered it.
    moves, sweeps : int
        Minimum cuts that were solved, and passes over all labels or pairs of labels begun.
    converged : bool
        Whether no move of this kind lowers the energy. Of float terms: by more than ``2**-40`` of the sum of
        the absolute values of all changes of terms, or ``2**-40`` of its minimum cut. False if a limit ended
        the search.
    stopped : bool
        Whether the time limit ended the search.
    kind : {"expansion", "swap"}
    seconds : dict of str to float
        Time of "cuts" (minimum cuts) and "arrays" (the rest), and "compile" if kernels were compiled.
    energy_terms : LabelEnergy
    """

    labels: NDArray[np.int64]
    energy: int | float
    history: tuple[int | float, ...]
    moves: int
    sweeps: int
    converged: bool
    stopped: bool
    kind: str
    seconds: dict[str, float]
    energy_terms: LabelEnergy

    def verify(self) -> None:
        """Check the energy, and prove that no move lowers it: solve and verify a minimum cut for each move.

        If the labelling did not converge, only the energy is checked.
        """
        self._check_fields()
        if not self.converged:
            return
        search = _Moves(State(self.energy_terms, self.labels), self.energy, Cuts(prove=True))
        for move in _moves(self.kind, self.energy_terms.num_labels):
            if search.lowers_energy(move):
                raise VerificationError(f"a move to {move} lowers the energy to {search.energy}")

    def _check_fields(self) -> None:
        """Check all fields, and the energy."""
        check_kind(self.energy_terms, "energy_terms", LabelEnergy)
        terms = self.energy_terms
        labels = checked_labels(self, terms.shape, terms.num_labels)
        # Sums of floats may differ in the last place between machines.
        room = 2.0**-50 * sum(float(np.abs(part).sum()) for part in terms.terms_of(labels))
        check_search(self, terms.energy(labels), room if terms.is_float else 0)
        check_flag(self.stopped, "stopped")
        check_kind(self.kind, "kind", str)
        if self.kind not in ("expansion", "swap"):
            raise VerificationError(f"kind is {self.kind!r}")
        if self.converged and self.stopped:
            raise VerificationError("a search that converged was not stopped")

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the labels with a legend or, if there are many, a colour bar; of a volume the middle slice."""
        return say(draw_regions(ax, plane_of(self.labels)), "" if self.converged else "not converged")

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.labels.shape))
        state = "" if self.converged else ", not converged"
        seconds = solving_seconds(self.seconds)
        return (
            f"<Labelling: {shape} pixels, energy {self.energy:,}, {self.moves} moves{state}, {seconds:.3g} s>"
        )

    def _repr_png_(self) -> bytes | None:
        """Return the labels in colours or, if there are many, as grey values; of a volume the middle."""
        if len(np.unique(self.labels)) <= MOST_NAMED:
            return png(large_labels(self.labels))
        plane = plane_of(self.labels)
        return png(enlarged(stretched(plane.astype(np.float64)), magnification(plane.shape)))


def checked_labels(found: Any, shape: tuple[int, ...], num_labels: int) -> NDArray[np.int64]:
    """Return the field `labels` of a labelling; VerificationError unless it is one."""
    labels = checked_host_array(found.labels, "labels", shape, np.int64)
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < num_labels:
        raise VerificationError(f"labels go from 0 to {num_labels - 1}")
    return labels


def check_search(found: Any, energy: int | float, room: float) -> None:
    """Check what a labelling says of its search; its energy may differ from `energy` by `room`."""
    stated, history = checked_number(found.energy, "energy"), check_history(found.history)
    if not abs(energy - stated) <= room:
        raise VerificationError(f"the labelling has not the energy {found.energy}")
    if history[-1] != stated:
        raise VerificationError(f"the history ends with {history[-1]}, the energy is {stated}")
    for name in ("moves", "sweeps"):
        check_count(getattr(found, name), name)
    check_flag(found.converged, "converged")
    check_seconds(found.seconds)


def alpha_expansion(
    data: ArrayLike | LabelEnergy,
    distance: ArrayLike | None = None,
    weights: ArrayLike = 1,
    *,
    connectivity: int | None = None,
    label_costs: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    max_sweeps: int = MOST_SWEEPS,
    method: FlowMethodName | GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Labelling:
    """Find a labelling of low energy by moves that change any pixels to one label.

    Parameters
    ----------
    data, distance, weights, connectivity, label_costs
        The terms of the energy, as for :meth:`LabelEnergy.from_arrays`; or `data` is a LabelEnergy and the
        others are not given. `distance` must be a metric. `weights` have a number for each direction and
        pixel, first of the neighbours to the right, then of those below.
    initial : array_like of integers, shape (h, w) or (d, h, w), optional
        The labelling to start from. Default: at every pixel the first label of least `data`. With label
        costs, the best labelling with a single label instead, if its energy is lower.
    max_sweeps : int
        The largest number of sweeps over all labels.
    method, device, threads
        As for :func:`preflow.grid_cut`. The networks of moves with label costs are not grids; for them
        :func:`preflow.min_cut` chooses the method.
    time_limit : float, optional
        Seconds for all moves; on expiry `converged` is False.
    progress : bool or function
        True draws a line on standard error; a function gets a :class:`preflow.progress.ProgressReport` after
        each label.

    Returns
    -------
    Labelling
        Without label costs and without negative `data` its energy is at most
        ``2 * distance.max() / least positive distance`` times the least energy.

    Raises
    ------
    InvalidInputError
        A malformed term, see :meth:`LabelEnergy.from_arrays`, or distances that are not a metric.
    CapacityOverflowError
        See :meth:`LabelEnergy.from_arrays`; or the lowest energy found is past float64.

    Notes
    -----
    One minimum cut per label and sweep. A sweep skips a label if its move was tried since the labelling last
    changed.

    Examples
    --------
    >>> import numpy as np
    >>> from preflow.vision import potts
    >>> image = np.array([[1, 1, 5, 9], [1, 7, 9, 9]])
    >>> data = np.abs(image - np.array([1, 9]).reshape(2, 1, 1))
    >>> result = alpha_expansion(data, potts(2), 3)
    >>> result.labels.tolist(), result.energy
    ([[0, 0, 1, 1], [0, 1, 1, 1]], 15)
    >>> result.verify()
    """
    energy = _as_energy(data, distance, weights, connectivity, label_costs)
    energy.check_metric()
    with reporting(progress) as report:
        cuts = Cuts(method, device, threads)
        return search_moves(energy, "expansion", initial, max_sweeps, cuts, time_limit, Steps(report))


def alpha_beta_swap(
    data: ArrayLike | LabelEnergy,
    distance: ArrayLike | None = None,
    weights: ArrayLike = 1,
    *,
    connectivity: int | None = None,
    label_costs: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    max_sweeps: int = MOST_SWEEPS,
    method: FlowMethodName | GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Labelling:
    """Find a labelling of low energy by moves between two labels; `distance` need not be a metric.

    Parameters and errors are those of :func:`alpha_expansion`, but `distance` need not satisfy the triangle
    inequality; squared differences, truncated or not, are an example.

    Returns
    -------
    Labelling

    Notes
    -----
    One minimum cut per pair of labels and sweep, on the pixels that have one of the two.

    Examples
    --------
    >>> result = alpha_beta_swap([[[0, 9]], [[9, 9]], [[9, 0]]], [[0, 1, 4], [1, 0, 1], [4, 1, 0]], 1)
    >>> result.labels.tolist(), result.energy
    ([[0, 2]], 4)
    >>> result.verify()
    """
    energy = _as_energy(data, distance, weights, connectivity, label_costs)
    with reporting(progress) as report:
        cuts = Cuts(method, device, threads)
        return search_moves(energy, "swap", initial, max_sweeps, cuts, time_limit, Steps(report))


class Move(NamedTuple):
    """The costs of a move, in which each pixel switches or stays.

    Costs are doubled energies, divided by ``2**shift`` of the terms, less that of the labelling in which all
    pixels stay.
    """

    #: the part of the image that the move may change; all arrays have the shape of this box
    box: Box
    #: the pixels whose switching leads to the current labelling: none in an expansion, those with the label
    #: alpha in a swap
    current: NDArray[np.bool_]
    free: NDArray[np.bool_] | None  #: the pixels that may switch; None if all may
    unary: Array  #: int or float64: cost of each pixel if it switches
    #: int or float64, shape (directions, *box): cost of two neighbours if one of them switches and the other
    #: stays
    pairs: Array
    entry: int | float  #: cost if at least one pixel switches
    groups: list[tuple[NDArray[np.bool_], int | float]]  #: saving if all pixels of the mask switch
    offsets: tuple[tuple[int, ...], ...]

    def energy(self, switched: NDArray[np.bool_]) -> int | float:
        """Return the cost if the pixels in `switched` switch and the others stay."""
        total = _total(self.unary[switched])
        for pair, offset in zip(self.pairs, self.offsets, strict=True):
            here, there = pair_boxes(self.unary.shape, offset)
            total += _total(pair[here][switched[here] != switched[there]])
        if self.entry and switched.any():
            total += self.entry
        return total - sum(saved for mask, saved in self.groups if switched[mask].all())


class State:
    """The current labelling, the data term of each pixel, and the term of each pair of neighbours."""

    def __init__(self, energy: LabelEnergy, labels: NDArray[np.int64]) -> None:
        self.terms, self.labels = energy, labels.copy()
        narrow = 4 * energy.largest_data() + 8 * len(energy.offsets) * energy.largest_pair() <= LARGEST_NARROW
        self.dtype = np.dtype(np.int32) if narrow and not energy.is_float else energy.dtype
        self.shift = energy.shift
        self.distance = self._scaled(energy.distance)
        self.paid = self._scaled(np.take_along_axis(energy.data, labels[np.newaxis], axis=0)[0])
        self.label_costs = self._scaled(energy.label_costs) if self.shift else energy.label_costs
        self.apart = np.zeros(energy.weights.shape, self.dtype)
        self.used = np.bincount(labels.ravel(), minlength=energy.num_labels)
        self._look_up_pairs()

    def _scaled(self, values: Array) -> Array:
        """Return terms in the dtype and the unit of moves."""
        terms = values.astype(self.dtype)
        return np.ldexp(terms, -self.shift) if self.shift else terms

    def expansion(self, alpha: int) -> Move:
        """Return the move in which any pixels may switch to `alpha`."""
        energy = self.terms
        to_alpha = self.distance[alpha].take(self.labels)
        unary = 2 * (self._scaled(energy.data[alpha]) - self.paid)
        pairs = np.zeros_like(self.apart)
        for k, (weight, here, there) in enumerate(energy.directions()):
            first, second, apart = weight * to_alpha[here], weight * to_alpha[there], self.apart[k][here]
            difference = second - first
            unary[here] += difference - apart
            unary[there] -= difference + apart
            pairs[k][here] = first + second - apart
        np.maximum(pairs, 0, out=pairs)  # only rounding makes them negative, because distances are a metric
        costs = self.label_costs
        entry = 0 if self.used[alpha] else 2 * costs[alpha].item()
        groups = [
            (self.labels == label, 2 * costs[label].item())
            for label in np.flatnonzero((costs > 0) & (self.used > 0)).tolist()
            if label != alpha and self._may_vanish(label, unary, pairs)
        ]
        box = (slice(None),) * unary.ndim
        return Move(box, np.zeros(energy.shape, np.bool_), None, unary, pairs, entry, groups, energy.offsets)

    def _may_vanish(self, label: int, unary: Array, pairs: Array) -> bool:
        """Return whether the energy may fall if all pixels of a label switch, which saves the label's cost.

        Because energies are submodular, these pixels switch at the least cost if all other pixels switch,
        too. If even this cost exceeds the saving, the label stays in use. Then the network of the move needs
        no vertex for the label, and stays a grid.
        """
        mask = self.labels == label
        costs = [unary[mask]]
        for pair, offset in zip(pairs, self.terms.offsets, strict=True):
            here, there = pair_boxes(mask.shape, offset)
            costs.append(-pair[here][mask[here] != mask[there]])
        saving = 2 * self.label_costs[label].item()
        if not self.terms.is_float:
            return bool(sum(map(_total, costs)) < saving)
        room = ROUNDING * sum(_total(np.abs(part)) for part in costs)
        return bool(accurate_sum(*costs) - room < saving)

    def swap(self, alpha: int, beta: int) -> Move:
        """Return the move in which each pixel of two labels takes `alpha` (it switches) or `beta`."""
        energy = self.terms
        everywhere = (self.labels == alpha) | (self.labels == beta)
        # The box includes neighbours with other labels: they cause costs, but may not switch.
        box = _grown(bounding_box(everywhere), energy.offsets)
        free, labels = everywhere[box], self.labels[box]
        unary = 2 * (self._scaled(energy.data[alpha][box]) - self._scaled(energy.data[beta][box]))
        pairs = np.zeros((len(energy.offsets), *free.shape), self.dtype)
        prefer = (2 * (self.distance[alpha] - self.distance[beta])).take(labels)
        prefer[free] = 0
        for k, offset in enumerate(energy.offsets):
            here, there = pair_boxes(free.shape, offset)
            weight = energy.weights[k][box][here]
            unary[here] += weight * prefer[there]
            unary[there] += weight * prefer[here]
            pairs[k][here] = 2 * (weight * self.distance[alpha, beta]) * (free[here] & free[there])
        unary[~free] = 0
        groups = [(free, 2 * self.label_costs[beta].item())] if self.label_costs[beta] else []
        entry = 2 * self.label_costs[alpha].item()
        return Move(box, labels == alpha, free, unary, pairs, entry, groups, energy.offsets)

    def change(self, move: Move, switched: NDArray[np.bool_], labels: tuple[int, ...]) -> None:
        """Make a move: pixels that switch get ``labels[0]``; in a swap, those that stay get ``labels[1]``."""
        part = self.labels[move.box]
        for label, mask in zip(labels, _masks(move, switched), strict=True):
            part[mask] = label
            self.paid[move.box][mask] = self._scaled(self.terms.data[label][move.box][mask])
        self.used = np.bincount(self.labels.ravel(), minlength=self.terms.num_labels)
        self._look_up_pairs()

    def gain(self, move: Move, switched: NDArray[np.bool_], labels: tuple[int, ...]) -> tuple[float, float]:
        """Return what a move of float terms gains, and the sum of the absolute values of all changes."""
        before = self.labels[move.box]
        after = before.copy()
        for label, mask in zip(labels, _masks(move, switched), strict=True):
            after[mask] = label
        moved = after != before
        data = self.terms.data[(slice(None), *move.box)]
        changes = [self._scaled(data[(after[moved], *np.nonzero(moved))]) - self.paid[move.box][moved]]
        for k, offset in enumerate(move.offsets):
            here, there = pair_boxes(moved.shape, offset)
            touched = moved[here] | moved[there]
            weight = self.terms.weights[k][move.box][here][touched]
            apart = weight * self.distance[after[here][touched], after[there][touched]]
            changes.append(apart - self.apart[k][move.box][here][touched])
        if self.label_costs.any():
            size = self.terms.num_labels
            used = self.used + np.bincount(after[moved], minlength=size)
            used -= np.bincount(before[moved], minlength=size)
            changes.append(self.label_costs * (1.0 * (used > 0) - (self.used > 0)))
        return -accurate_sum(*changes), sum(float(np.abs(part).sum()) for part in changes)

    def _look_up_pairs(self) -> None:
        """Compute the terms of all pairs."""
        for k, (weight, here, there) in enumerate(self.terms.directions()):
            self.apart[k][here] = weight * self.distance[self.labels[here], self.labels[there]]


def _masks(move: Move, switched: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Return the pixels that get the first label of a move and, in a swap, those that get the second."""
    return [switched] if move.free is None else [switched, move.free & ~switched]


@dataclass
class Cuts:
    """The settings of the minimum cuts of moves, and their number and time so far."""

    #: as for :func:`preflow.grid_cut`
    method: str = "auto"
    device: DeviceName = "auto"
    threads: int | None = None
    prove: bool = False  #: verify every cut
    #: keep the flow of each move. The next move to the same label starts from it.
    recycle: bool = False
    solved: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: {"cuts": 0.0})
    #: the time limit of all cuts together
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    room: float = 0.0  #: by how much another cut of the last move may cost less: 0 for integers
    proved: bool = True  #: whether the last cut is within `room` of the least one
    earlier: dict[tuple[int, ...], GridCutResult] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        check_name(self.method)
        self.device = check_placement(METHODS, self.device, self.threads)
        if self.method != "auto":
            check_method(find_method(METHODS, self.method, self.threads), self.device, self.threads)

    def candidates(self, move: Move, labels: tuple[int, ...]) -> Iterator[NDArray[np.bool_]]:
        """Yield choices of the pixels that switch; the best choice is among them or changes no label."""
        self.room, self.proved = 0.0, True
        if len(labels) == 2 and (move.entry or move.groups):
            assert move.free is not None
            yield np.zeros_like(move.free)
            yield move.free
            move = move._replace(groups=[])
        # No pixel lowers the energy by switching, so none switches.
        if not move.groups and move.unary.min(initial=0) >= 0:
            if len(labels) == 2:
                yield np.zeros_like(move.current)
            return
        with timed(self.seconds, "cuts"):
            switched = self._cut(move, labels)
        self.solved += 1
        yield switched

    def _cut(self, move: Move, labels: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return a mask of the pixels that switch in a minimum cut."""
        placement: dict[str, Any] = {
            "device": self.device,
            "threads": self.threads,
            "time_limit": self.deadline.left(),
        }
        if move.groups:
            # A group has a vertex with arcs from any number of pixels, so the network is not a grid.
            general = min_cut(_network(move), **placement)
            self._note(general, move)
            side: NDArray[np.bool_] = general.sink_side[: move.unary.size].reshape(move.unary.shape)
            return side
        cut = grid_cut(
            np.maximum(move.unary, 0),
            np.maximum(-move.unary, 0),
            move.pairs,
            connectivity=move.offsets,
            method=self.method,
            warm_start=self.earlier.get(labels),
            **placement,
        )
        if self.recycle:
            self.earlier[labels] = cut
        self._note(cut, move)
        switched: NDArray[np.bool_] = ~cut.labels
        return switched

    def _note(self, cut: BoundedResult, move: Move) -> None:
        """Note how good a cut is, and verify it if wanted."""
        if self.prove:
            cut.verify()
        self.proved = cut.status == "optimal"
        if move.unary.dtype.kind == "f":
            self.room = accepted_gap(move.pairs.size + move.unary.size) * float(cut.upper_bound)


def _network(move: Move) -> MaxFlowProblem:
    """Return a move as a general network: pixels in C order, a vertex for each group, source, sink."""
    shape, size = move.unary.shape, move.unary.size
    pixel = np.arange(size).reshape(shape)
    source, sink = size + len(move.groups), size + len(move.groups) + 1
    dtype = np.float64 if move.unary.dtype.kind == "f" else np.int64
    unary = move.unary.astype(dtype).ravel()
    to_switch, to_stay = np.flatnonzero(unary > 0), np.flatnonzero(unary < 0)
    tails = [np.full(len(to_switch), source), to_stay]
    heads = [to_switch, np.full(len(to_stay), sink)]
    capacities = [unary[to_switch], -unary[to_stay]]
    reverses = [np.zeros(len(to_switch) + len(to_stay), dtype)]
    for pair, offset in zip(move.pairs, move.offsets, strict=True):
        here, there = pair_boxes(shape, offset)
        joined = pair[here].ravel() > 0
        tails.append(pixel[here].ravel()[joined])
        heads.append(pixel[there].ravel()[joined])
        capacities.append(pair[here].ravel()[joined].astype(dtype))
        reverses.append(capacities[-1])
    for group, (mask, saved) in enumerate(move.groups, start=size):
        # If any pixel of a group stays, the vertex of the group stays, too, and the cut pays the saving.
        members = pixel[mask]
        tails += [members, np.array([group])]
        heads += [np.full(len(members), group), np.array([sink])]
        capacities += [np.full(len(members), saved), np.array([saved])]
        reverses.append(np.zeros(len(members) + 1, dtype))
    network = FlowNetwork.from_arrays(
        np.concatenate(tails),
        np.concatenate(heads),
        np.concatenate(capacities),
        reverse_capacity=np.concatenate(reverses),
        num_vertices=sink + 1,
    )
    return MaxFlowProblem(network, source, sink, name="move")


def _total(values: Array) -> int | float:
    """Return the sum of integers in int64, or of floats in float64."""
    total: int | float = values.sum(dtype=np.float64 if values.dtype.kind == "f" else np.int64).item()
    return total


def _grown(box: Box, offsets: tuple[tuple[int, ...], ...]) -> Box:
    """Return a box extended by the neighbours of its pixels; its slices may end beyond the grid."""
    reach = np.abs(offsets).max(axis=0).tolist()
    return tuple(
        slice(max(0, side.start - step), side.stop + step) for side, step in zip(box, reach, strict=True)
    )


def sweep_over(
    moves: Sequence[Key],
    history: Sequence[int | float],
    attempt: Callable[[Key, int, int], bool],
    max_sweeps: int,
    deadline: Deadline,
) -> tuple[int, bool]:
    """Try all moves again and again until none lowers the energy, or a limit is reached.

    ``attempt(move, sweep, number)`` makes a move if that lowers the energy, which makes `history` longer, and
    returns whether it is sure of that; numbers count from 1. Return the number of sweeps, and whether all
    moves were tried since labels last changed.
    """
    max_sweeps = check_integer("max_sweeps", max_sweeps, minimum=0)
    #: Length of `history` when each move was last tried; a longer history means that labels have changed.
    tried: dict[Key, int] = {}
    sweeps = 0
    while any(tried.get(move) != len(history) for move in moves):
        if sweeps == max_sweeps or deadline.passed():
            return sweeps, False
        sweeps += 1
        for number, move in enumerate(moves, 1):
            if tried.get(move) != len(history) and not deadline.passed() and attempt(move, sweeps, number):
                tried[move] = len(history)
    return sweeps, True


class _Moves:
    """The current labelling, its energy, and the energies before."""

    def __init__(self, state: State, energy: int | float, cuts: Cuts) -> None:
        self.state, self.energy, self.cuts = state, energy, cuts
        self.history = [energy]

    def lowers_energy(self, move: tuple[int, ...]) -> bool:
        """Make the best choice of a move if it lowers the energy; return whether it does."""
        state = self.state
        choice = state.expansion(*move) if len(move) == 1 else state.swap(*move)
        is_float = state.terms.is_float
        most: int | float = 0
        switched = None
        now = 0 if is_float else choice.energy(choice.current)
        for candidate in self.cuts.candidates(choice, move):
            if is_float:
                gain, size = state.gain(choice, candidate, move)
                # The search and the proof solve cuts of their own, each of which is as good as the other.
                counts = gain > ROUNDING * size + (self.cuts.room if self.cuts.prove else 0)
            else:
                gain, counts = now - choice.energy(candidate), True
            if counts and gain > most:
                most, switched = gain, candidate
        if switched is not None:
            state.change(choice, switched, move)
            # Moves of integers have doubled energies.
            self.energy = state.terms.energy(state.labels) if is_float else self.energy - int(most) // 2
            self.history.append(self.energy)
        return switched is not None


def search_moves(
    energy: LabelEnergy,
    kind: str,
    initial: ArrayLike | None,
    max_sweeps: int,
    cuts: Cuts,
    time_limit: float | None,
    steps: Steps,
) -> Labelling:
    """Make moves until no move lowers the energy, or until a limit is reached."""
    cuts.deadline = Deadline(time_limit)
    moves = _moves(kind, energy.num_labels)
    recycle = kind == "expansion" and _bytes_of_flows(energy) <= MOST_RECYCLED
    seconds: dict[str, float] = {}

    def attempt(move: tuple[int, ...], sweep: int, number: int) -> bool:
        cuts.recycle = recycle and sweep > 1
        search.lowers_energy(move)
        name = "label" if kind == "expansion" else "pair"
        steps.done(name, number, len(moves), sweep=sweep, sweeps=max_sweeps)
        return cuts.proved

    with timed(seconds, "arrays"):
        labels = _start(energy, initial)
        search = _Moves(State(energy, labels), energy.energy(labels), cuts)
        sweeps, settled = sweep_over(moves, search.history, attempt, max_sweeps, cuts.deadline)
    seconds["cuts"] = cuts.seconds["cuts"]
    seconds["arrays"] -= seconds["cuts"]
    if not math.isfinite(search.energy):
        raise CapacityOverflowError("the lowest energy found is past float64")
    return Labelling(
        search.state.labels,
        search.energy,
        tuple(search.history),
        cuts.solved,
        sweeps,
        settled,
        cuts.deadline.passed() and not settled,
        kind,
        seconds,
        energy,
    )


def _bytes_of_flows(energy: LabelEnergy) -> int:
    """Return the approximate memory, in bytes, of the flows of the moves to all labels."""
    pixels = int(np.prod(energy.shape))
    return energy.num_labels * pixels * (16 + 12 * len(energy.offsets))


def _moves(kind: str, num_labels: int) -> list[tuple[int, ...]]:
    """Return all moves: (alpha,) for each expansion, or (alpha, beta) for each swap."""
    return list(combinations(range(num_labels), 1 if kind == "expansion" else 2))


def _start(energy: LabelEnergy, initial: ArrayLike | None) -> NDArray[np.int64]:
    if initial is not None:
        return energy.checked_labels(initial)
    labels: NDArray[np.int64] = energy.data.argmin(axis=0)
    if energy.label_costs.any():
        with np.errstate(over="ignore"):
            totals = energy.data.sum(axis=tuple(range(1, energy.data.ndim)), dtype=energy.dtype)
            single = np.full(energy.shape, int((totals + energy.label_costs).argmin()))
        if energy.energy(single) < energy.energy(labels):
            return single
    return labels


def _as_energy(
    data: ArrayLike | LabelEnergy,
    distance: ArrayLike | None,
    weights: ArrayLike,
    connectivity: int | None,
    label_costs: ArrayLike | None,
) -> LabelEnergy:
    if isinstance(data, LabelEnergy):
        if distance is not None or connectivity is not None or label_costs is not None or np.ndim(weights):
            raise InvalidInputError("a LabelEnergy has all terms: distance, weights and costs are not given")
        return data
    if distance is None:
        raise InvalidInputError("distance is missing: potts(labels), truncated_linear(labels, limit) ...")
    return LabelEnergy.from_arrays(
        data, distance, weights, connectivity=connectivity, label_costs=label_costs
    )
