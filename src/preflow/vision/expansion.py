"""Labels for every pixel by minimum cuts: alpha-expansion and alpha-beta swap.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001, sections 3 to 5.
A move lets any pixels change at once: to one label alpha (expansion), or between two labels (swap); the best
move is a minimum cut, and a labelling that no move improves is within a known factor of the least energy
(expansion). Label costs: Delong, Osokin, Isack and Boykov, IJCV 2012, section 3.

What differs: pairs need no vertices of their own (Kolmogorov and Zabih, PAMI 2004), and the two arcs of a
pair are given the mean of their capacities, which with doubled energies stays an integer and needs one array
for both. The cost of alpha itself, and both of a swap, need no vertices either: they only decide between the
best move and the ones that change everything or nothing. Ties keep labels as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_integer
from ..errors import InvalidInputError, VerificationError
from ..solving.timing import solving_seconds, timed
from .deadline import Deadline
from .label_energy import LabelEnergy
from .moves import Cuts, State

#: Sweeps over all labels, at most. Labellings of real images settle in 3 to 6.
MOST_SWEEPS = 20
#: Flows are kept from the second sweep on, if all together take no more bytes than this: labels change much
#: in the first sweep, and a move of the second that started from its flow took as long as from none; from the
#: third on it took about 0.65 of that (Venus, 31 displacements). Recycling them is an idea of Alahari, Kohli
#: and Torr, "Reduce, reuse and recycle", CVPR 2008.
MOST_RECYCLED = 2**29


@dataclass(frozen=True, eq=False, repr=False)
class Labelling:
    """A labelling that no move improves, or what was found within the limits.

    Attributes
    ----------
    labels : ndarray of int64, shape (h, w) or (d, h, w)
    energy : int or float
        Its energy: exact for integers, within ``energy_terms.rounding`` for floats.
    history : tuple of int or float
        Energy at the start and after every move that lowered it.
    moves, sweeps : int
        Minimum cuts that were solved, and passes over all labels or pairs of labels begun.
    converged : bool
        Whether no move of the kind improves the labelling, by more than rounding where terms are floats;
        False where a limit ended the search.
    stopped : bool
        Whether that was the time limit.
    kind : {"expansion", "swap"}
    seconds : dict of str to float
        Where the time went: "arrays" and "cuts"; and "compile", if kernels were compiled.
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
        """Check the energy, and prove by a verified minimum cut for each move that none lowers it.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug. A labelling that did not converge proves its energy
            only.
        """
        if self.energy_terms.energy(self.labels) != self.energy:
            raise VerificationError(f"the labelling has not the energy {self.energy}")
        if not self.converged:
            return
        search = _Search(State(self.energy_terms, self.labels), self.energy, Cuts(prove=True))
        for move in _moves(self.kind, self.energy_terms.num_labels):
            if search.lowers_energy(move):
                raise VerificationError(f"a move to {move} lowers the energy to {search.energy}")

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.labels.shape))
        state = "" if self.converged else ", not converged"
        seconds = solving_seconds(self.seconds)
        return (
            f"<Labelling: {shape} pixels, energy {self.energy:,}, {self.moves} moves{state}, {seconds:.3g} s>"
        )


def alpha_expansion(
    data: ArrayLike | LabelEnergy,
    distance: ArrayLike | None = None,
    weights: ArrayLike = 1,
    *,
    connectivity: int | None = None,
    label_costs: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    max_sweeps: int = MOST_SWEEPS,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
) -> Labelling:
    """Label pixels at little energy, by moves that let any pixels change to one label.

    Parameters
    ----------
    data, distance, weights, connectivity, label_costs
        The terms of the energy, as for :meth:`LabelEnergy.from_arrays`; or `data` is a LabelEnergy and the
        others are not given. `distance` must be a metric.
    initial : array_like of integers, shape (h, w) or (d, h, w), optional
        Where to start; default: at every pixel the first label of least `data`; with label costs the one
        label that is best for all, if that has less energy.
    max_sweeps : int
        How many times all labels may have their move.
    method, device, threads
        As for :func:`preflow.grid_cut`. Moves that label costs concern are no grids: for them the method is
        what :func:`preflow.min_cut` chooses.
    time_limit : float, optional
        Seconds for all moves; on expiry `converged` is False.

    Returns
    -------
    Labelling
        Without label costs its energy is at most ``2 * distance.max() / least positive distance`` times the
        least one's, if no `data` is negative.

    Raises
    ------
    InvalidInputError
        A malformed term, see :meth:`LabelEnergy.from_arrays`, or distances that are no metric.
    CapacityOverflowError
        The terms sum to more than 2**61, those of floats to more than 2**1000.

    Notes
    -----
    One minimum cut a label and sweep. A label whose move was tried since labels last changed is skipped.

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
    return _search(energy, "expansion", initial, max_sweeps, Cuts(method, device, threads), time_limit)


def alpha_beta_swap(
    data: ArrayLike | LabelEnergy,
    distance: ArrayLike | None = None,
    weights: ArrayLike = 1,
    *,
    connectivity: int | None = None,
    label_costs: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    max_sweeps: int = MOST_SWEEPS,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
) -> Labelling:
    """Label pixels at little energy, by moves that exchange two labels: for distances that are no metric.

    Parameters and errors are those of :func:`alpha_expansion`, but `distance` need not satisfy the triangle
    inequality; squared differences, truncated or not, are an example.

    Returns
    -------
    Labelling

    Notes
    -----
    One minimum cut a pair of labels and sweep, on the pixels that have them.

    Examples
    --------
    >>> result = alpha_beta_swap([[[0, 9]], [[9, 9]], [[9, 0]]], [[0, 1, 4], [1, 0, 1], [4, 1, 0]], 1)
    >>> result.labels.tolist(), result.energy
    ([[0, 2]], 4)
    >>> result.verify()
    """
    energy = _as_energy(data, distance, weights, connectivity, label_costs)
    return _search(energy, "swap", initial, max_sweeps, Cuts(method, device, threads), time_limit)


class _Search:
    """A labelling on its way down, one move after the other."""

    def __init__(self, state: State, energy: int | float, cuts: Cuts) -> None:
        self.state, self.energy, self.cuts = state, energy, cuts
        self.history = [energy]
        self.sweeps = 0
        #: How long the history was after each move was tried.
        self.tried: dict[tuple[int, ...], int] = {}

    def settled(self, moves: list[tuple[int, ...]]) -> bool:
        """Return whether all moves were tried since labels last changed."""
        return all(self.tried.get(move) == len(self.history) for move in moves)

    def sweep(self, moves: list[tuple[int, ...]], recycle: bool) -> None:
        """Make each move unless it was tried since labels last changed, until time is up."""
        self.sweeps += 1
        self.cuts.recycle = recycle and self.sweeps > 1
        for move in moves:
            if self.tried.get(move) == len(self.history):
                continue
            self.lowers_energy(move)
            if self.cuts.deadline.passed():
                break
            self.tried[move] = len(self.history)

    def lowers_energy(self, move: tuple[int, ...]) -> bool:
        """Make the best move to a label, or between two, and tell whether it lowers the energy."""
        choice = self.state.expansion(*move) if len(move) == 1 else self.state.swap(*move)
        least: int | float = -2 * self.state.terms.rounding
        switched = None
        now = choice.energy(choice.current)
        for candidate in self.cuts.candidates(choice, move):
            change = choice.energy(candidate) - now
            if change < least:
                least, switched = change, candidate
        if switched is not None:
            self.state.change(choice, switched, move)
            if self.state.terms.is_float:
                self.energy = self.state.terms.energy(self.state.labels)
            else:
                self.energy += least // 2  # moves count everything twice
            self.history.append(self.energy)
        return switched is not None


def _search(
    energy: LabelEnergy,
    kind: str,
    initial: ArrayLike | None,
    max_sweeps: int,
    cuts: Cuts,
    time_limit: float | None,
) -> Labelling:
    """Make moves until none of all labels, or pairs of labels, lowers the energy, or a limit is reached."""
    check_integer("max_sweeps", max_sweeps, minimum=0)
    cuts.deadline = Deadline(time_limit)
    moves = _moves(kind, energy.num_labels)
    recycle = kind == "expansion" and _bytes_of_flows(energy) <= MOST_RECYCLED
    seconds: dict[str, float] = {}
    with timed(seconds, "arrays"):
        labels = _start(energy, initial)
        search = _Search(State(energy, labels), energy.energy(labels), cuts)
        while not search.settled(moves) and search.sweeps < max_sweeps and not cuts.deadline.passed():
            search.sweep(moves, recycle)
    seconds["cuts"] = cuts.seconds["cuts"]
    seconds["arrays"] -= seconds["cuts"]
    final = search.state.labels
    final.flags.writeable = False
    settled = search.settled(moves)
    return Labelling(
        final,
        search.energy,
        tuple(search.history),
        cuts.solved,
        search.sweeps,
        settled,
        cuts.deadline.passed() and not settled,
        kind,
        seconds,
        energy,
    )


def _bytes_of_flows(energy: LabelEnergy) -> int:
    """Return about what it takes to keep the flows of the moves to all labels."""
    pixels = int(np.prod(energy.shape))
    return energy.num_labels * pixels * (16 + 12 * len(energy.offsets))


def _moves(kind: str, num_labels: int) -> list[tuple[int, ...]]:
    """Return all moves: to a label (alpha,), or between two (alpha, beta)."""
    return list(combinations(range(num_labels), 1 if kind == "expansion" else 2))


def _start(energy: LabelEnergy, initial: ArrayLike | None) -> NDArray[np.int64]:
    if initial is not None:
        return energy.checked_labels(initial)
    labels: NDArray[np.int64] = energy.data.argmin(axis=0)
    if energy.label_costs.any():
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
