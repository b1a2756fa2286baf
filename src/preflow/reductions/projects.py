"""The selection of projects with requirements, a maximum-weight closure, as a minimum cut (Picard 1976).

The source has an arc to each project with a profit, each project with a loss has an arc to the sink, and an
arc of more capacity than any cut needs leads from a project to each one that it requires. The source side of
a cut is then a closed set, and its capacity is what the set falls short of all profits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Untyped
from ..drawing.axes import number
from ..drawing.networks import Arcs, draw_flow, matched_colours
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.edge_tables import labels_of, numbers_by_label
from ..graph.network import INT64_MAX, FlowNetwork, check_ends, exact_sum, read_signed, vertex_ids
from ..maxflow.result import MinCutResult
from ..solving.call import Arguments
from ..solving.drawn import DrawnResult
from .base import CutReduction, check_fits, freeze, sum_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Which project requires which: see :func:`select_projects`.
Requirements = (
    ArrayLike
    | tuple[ArrayLike, ArrayLike]
    | Iterable[tuple[Hashable, Hashable]]
    | Mapping[Hashable, Iterable[Hashable]]
)
#: Relative rounding error that sums of float profits may have.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ProjectSelection(DrawnResult):
    """A selection of the largest profit; of all such selections the largest.

    Attributes
    ----------
    selected : ndarray of bool, shape (num_projects,)
        Every project that a selected one requires is selected.
    profit : int or float
        The sum of the profits of the selected projects.
    profits : ndarray, shape (num_projects,)
        As they were given.
    project, required : ndarray of int64, shape (k,)
        The requirements.
    cut : MinCutResult
        A minimum cut, whose flow proves that no selection has more profit: it says which profits pay for
        which losses.
    labels : tuple or None
        The caller's labels of the projects.
    """

    selected: NDArray[np.bool_]
    profit: int | float
    profits: Array
    project: NDArray[np.int64]
    required: NDArray[np.int64]
    cut: MinCutResult
    labels: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        freeze(self.selected, self.profits, self.project, self.required)

    def projects(self) -> list[Hashable]:
        """Return the selected projects, by the caller's labels."""
        names: list[Hashable] = labels_of(self.labels, np.flatnonzero(self.selected)).tolist()
        return names

    def verify(self) -> None:
        """Prove the selection closed and its profit the largest, in linear time.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        """
        broken = self.selected[self.project] & ~self.selected[self.required]
        if broken.any():
            first = int(broken.argmax())
            raise VerificationError(f"project {self.project[first]} lacks project {self.required[first]}")
        self.cut.verify()
        best = exact_sum(np.maximum(self.profits, 0)) - self.cut.value
        slack = 0.0
        if self.profits.dtype.kind == "f":
            slack = self.cut.gap + ROUNDING * float(np.abs(self.profits).sum())
        if not abs(exact_sum(self.profits[self.selected]) - self.profit) <= slack:
            raise VerificationError(f"the selected projects do not have the profit {self.profit}")
        if not abs(best - self.profit) <= slack:
            raise VerificationError(f"the cut proves a profit of {best}, not {self.profit}")

    def _summary(self) -> str:
        return f"profit {self.profit:,}, {int(self.selected.sum()):,} of {len(self.selected):,} projects"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw projects with their profits: arrows lead to what is required, selected ones are blue."""
        count = len(self.project)
        none = np.zeros(count, dtype=bool)
        arcs = Arcs(self.project, self.required, none, [""] * count, none)
        items = self.labels or range(len(self.profits))
        names = [
            f"{item}: {number(profit)}" for item, profit in zip(items, self.profits.tolist(), strict=True)
        ]
        first = np.setdiff1d(np.arange(len(names)), self.required)
        return draw_flow(ax, arcs, names, matched_colours(self.selected), first, np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectsAsMinCut(CutReduction[ProjectSelection]):
    """The selection of projects with requirements as a minimum cut.

    Attributes
    ----------
    network : FlowNetwork
        The arcs of the source, those of the sink, then the requirements.
    source, sink : int
    profits : ndarray, shape (num_projects,)
    project, required : ndarray of int64, shape (k,)
    labels : tuple or None

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.ProjectsAsMinCut.of([5, -3, -1], ([0, 0], [1, 2]))
    >>> reduction.network.capacity.tolist()
    [5, 3, 1, 6, 6]
    >>> reduction.solve().selected.tolist()
    [True, True, True]
    """

    profits: Array
    project: NDArray[np.int64]
    required: NDArray[np.int64]
    labels: tuple[Hashable, ...] | None = None

    @classmethod
    def of(cls, profit: ArrayLike | Mapping[Hashable, float], requires: Requirements) -> Self:
        """Build the network.

        Parameters
        ----------
        profit : array_like of numbers, shape (num_projects,), mapping or Series
            What each project brings; negative where it costs. A mapping or a Series gives labels.
        requires : (project, required), or array_like of integers, shape (k, 2)
            A tuple has two arrays: ``project[i]`` requires ``required[i]``. Else each row is such a pair.
            With labels: pairs of labels, or a mapping of projects to a list of what each requires.
        """
        labels, amounts = _with_labels(profit)
        if labels is not None:
            requires = _numbered(requires, labels)
        count = np.size(np.asarray(amounts))
        profits = read_signed(amounts, count, "profit")
        if not np.isfinite(profits).all():
            raise InvalidInputError("a profit must be finite")
        pairs = requires if isinstance(requires, tuple) else _columns(cast("ArrayLike", requires))
        project, required = (vertex_ids(part, "requires") for part in pairs)
        check_ends(project, required, count)
        more, less = np.flatnonzero(profits > 0), np.flatnonzero(profits < 0)
        source, sink = count, count + 1
        total = sum_of(profits[more])
        if isinstance(total, int) and total == INT64_MAX - 1:
            raise CapacityOverflowError("the profits sum past int64")
        endless = total + 1 if isinstance(total, int) else np.inf
        network = FlowNetwork.from_arrays(
            np.concatenate([np.full(len(more), source), less, project.astype(np.int64)]),
            np.concatenate([more, np.full(len(less), sink), required.astype(np.int64)]),
            np.concatenate([profits[more], -profits[less], np.full(len(project), endless)]),
            num_vertices=count + 2,
        )
        return cls(
            network=network,
            source=source,
            sink=sink,
            profits=profits.copy(),
            project=project.astype(np.int64),
            required=required.astype(np.int64),
            labels=labels,
        )

    def solution(self, result: MinCutResult) -> ProjectSelection:
        """Return the projects on the source side."""
        check_fits(result, self.network)
        selected = ~result.sink_side[: len(self.profits)]
        profit = exact_sum(self.profits[selected]) if selected.any() else 0
        return ProjectSelection(
            selected, profit, self.profits, self.project, self.required, result, self.labels
        )


def _with_labels(
    profit: ArrayLike | Mapping[Hashable, float],
) -> tuple[tuple[Hashable, ...] | None, ArrayLike]:
    """Return the labels of a mapping or a Series, None of others, and the numbers."""
    if not hasattr(profit, "items"):
        return None, profit
    given = numbers_by_label(profit, "profit")
    return tuple(given), list(given.values())


def _numbered(requires: Requirements, labels: tuple[Hashable, ...]) -> tuple[list[int], list[int]]:
    """Return the requirements between projects with labels by their numbers."""
    pairs: list[tuple[Hashable, ...]]
    if isinstance(requires, Mapping):
        pairs = [(project, each) for project, needed in requires.items() for each in needed]
    elif isinstance(requires, tuple) and len(requires) == 2:
        ends = [_listed(part) for part in requires]
        if len(ends[0]) != len(ends[1]):
            raise InvalidInputError(f"requires has {len(ends[0])} projects and {len(ends[1])} required ones")
        pairs = list(zip(*ends, strict=True))
    else:
        pairs = [tuple(pair) for pair in cast("Iterable[tuple[Hashable, Hashable]]", requires)]
    numbers = {label: i for i, label in enumerate(labels)}
    for pair in pairs:
        if len(pair) != 2:
            raise InvalidInputError(f"requires must be pairs, got {pair!r}")
        for label in pair:
            if label not in numbers:
                raise InvalidInputError(f"requires names {label!r}, which has no profit")
    return [numbers[pair[0]] for pair in pairs], [numbers[pair[1]] for pair in pairs]


def _listed(labels: Untyped) -> list[Hashable]:
    listed: list[Hashable] = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    return listed


def _columns(pairs: ArrayLike) -> tuple[Array, Array]:
    """Return the two columns of an array of pairs."""
    array = np.asarray(pairs)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(f"requires must be pairs, shape (k, 2), got shape {array.shape}")
    return array[:, 0], array[:, 1]


def select_projects(
    profit: ArrayLike | Mapping[Hashable, float],
    requires: Requirements,
    **arguments: Unpack[Arguments],
) -> ProjectSelection:
    """Select the projects that bring the largest profit, together with all that they require.

    Other names for it: maximum-weight closure, the open-pit mining problem.

    Parameters
    ----------
    profit : array_like of numbers, shape (num_projects,), mapping or Series
        What each project brings; negative where it costs. A mapping or a Series gives labels.
    requires : (project, required), or array_like of integers, shape (k, 2)
        A tuple has two arrays: ``project[i]`` requires ``required[i]``. Else each row is such a pair.
        With labels: pairs of labels, or a mapping of projects to a list of what each requires.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.min_cut`.

    Returns
    -------
    ProjectSelection
        Of all selections with the largest profit the largest.

    Examples
    --------
    >>> import preflow
    >>> # project 0 needs tools 2 and 3, project 1 needs tool 3
    >>> chosen = preflow.reductions.select_projects([4, 6, -5, -3], [(0, 2), (0, 3), (1, 3)])
    >>> chosen.selected.tolist(), chosen.profit
    ([False, True, False, True], 3)
    >>> chosen.verify()
    >>> profit = {"order": 6, "lathe": -5, "drill": -3}
    >>> preflow.reductions.select_projects(profit, {"order": ["drill"]}).projects()
    ['order', 'drill']
    """
    return ProjectsAsMinCut.of(profit, requires).solve(**arguments)
