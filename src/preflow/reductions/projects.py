"""The selection of projects with requirements, a maximum-weight closure, as a minimum cut (Picard 1976).

The source has an arc to each project with a profit, each project with a loss has an arc to the sink, and an
arc of more capacity than any cut needs leads from a project to each one that it requires. The source side of
a cut is then a closed set, and its capacity is what the set falls short of all profits.

Floats of which some are huge are solved in levels. A gap that is small beside the cut can be large beside the
profit, as the cut has the profits that are not selected. So capacities are rounded down to integers, and what
a maximum flow of these leaves of the capacities, with what rounding had left, is the network of the next
level. Its flow is at most the gap: capacities above twice the gap are cut off, and the rest is rounded to a
finer unit. All this is exact. The flows of all levels sum to a flow of the network as given.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, Unpack, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Untyped
from ..certify.exact import exact_total, most_bits, near_and_gap, power_above, whole_and_rest
from ..certify.fields import check_array, check_kind, checked_number
from ..checks import check_finite
from ..cuts import min_cut
from ..drawing.axes import number
from ..drawing.networks import Arcs, draw_flow, matched_colours
from ..errors import CapacityOverflowError, InvalidInputError, NotOptimalError, VerificationError
from ..graph.edge_tables import labels_of, numbers_by_label
from ..graph.network import INT64_MAX, FlowNetwork, as_array, check_ends, read_signed, vertex_ids
from ..graph.scaling import is_close, size_of
from ..maxflow.api import max_flow
from ..maxflow.minimum_cuts import reached_by_residual_arcs
from ..maxflow.result import MaxFlowResult, MinCutResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from ..solving.run import Deadline
from .base import FlowReduction, alike, check_fits, sum_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Which project requires which: see :func:`select_projects`.
Requirements = (
    ArrayLike
    | tuple[ArrayLike, ArrayLike]
    | Iterable[tuple[Hashable, Hashable]]
    | Mapping[Hashable, Iterable[Hashable]]
)
#: Which of several selections of the largest profit.
Closure = Literal["largest", "smallest"]
CLOSURES: tuple[str, ...] = get_args(Closure)
#: Capacities of a level sum to less than two to this power.
BITS = 60


@dataclass(frozen=True, eq=False, repr=False)
class ProjectSelection(DrawnResult):
    """A selection of the largest profit; of all such selections the largest, or the smallest.

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
    closure : {"largest", "smallest"}
        Which of several selections of the largest profit this is: all of them are between the smallest and
        the largest one. For floats that are not integers it is so up to rounding.
    gap : int or float
        By how much the profit may differ from the largest one: 0 for integers.
    steps : tuple of MaxFlowResult
        The maximum flows of the levels before `cut`, where floats were solved in levels; mostly empty.
    """

    selected: NDArray[np.bool_]
    profit: int | float
    profits: Array
    project: NDArray[np.int64]
    required: NDArray[np.int64]
    cut: MinCutResult
    labels: tuple[Hashable, ...] | None = None
    closure: Closure = "largest"
    gap: int | float = 0
    steps: tuple[MaxFlowResult, ...] = ()

    def projects(self) -> list[Hashable]:
        """Return the selected projects, by the caller's labels."""
        names: list[Hashable] = labels_of(self.labels, np.flatnonzero(self.selected)).tolist()
        return names

    def verify(self) -> None:
        """Prove the selection closed and its profit the largest, in linear time."""
        count, pairs, cut = len(self.profits), len(self.project), self.cut
        check_array(np, self.profits, "profits", (count,), np.int64, np.float64)
        check_array(np, self.selected, "selected", (count,), np.bool_)
        check_array(np, self.project, "project", (pairs,), np.int64)
        check_array(np, self.required, "required", (pairs,), np.int64)
        if self.labels is not None and (not isinstance(self.labels, tuple) or len(self.labels) != count):
            raise VerificationError(f"there are not {count} labels")
        check_kind(self.closure, "closure", str)
        if self.closure not in CLOSURES:
            raise VerificationError(f"closure must be one of {', '.join(CLOSURES)}, got {self.closure!r}")
        if not isinstance(cut, MinCutResult):
            raise VerificationError("cut is no MinCutResult")
        problem = ProjectsAsMinCut.of(self.profits, (self.project, self.required))
        if not isinstance(self.steps, tuple):
            raise VerificationError("steps is no tuple")
        bound, network, level = Fraction(0), problem.network, None
        if self.profits.dtype.kind != cut.network.capacity.dtype.kind == "i":
            level = Level.first(problem)
        elif self.steps:
            raise VerificationError("there are levels, but the cut is not one of integers")
        for result in (*self.steps, cut):
            if level is not None:
                network = level.network(problem)
            terminals = result.sources.tolist(), result.sinks.tolist()
            if not _same_network(result.network, network) or terminals != ([problem.source], [problem.sink]):
                raise VerificationError("the cut is not one of the network of these projects")
            result.verify()
            if level is not None:
                bound += level.in_units(result.value)
                if result is not cut:
                    level = level.next(
                        problem, result.whole_flow(), _cut_of(self.profits, result, self.closure) - bound
                    )
                    if level is None:
                        raise VerificationError("there is no level after one of steps")
        if level is None:
            bound = Fraction(cut.value) - Fraction(cut.gap)
        broken = self.selected[self.project] & ~self.selected[self.required]
        if broken.any():
            first = int(broken.argmax())
            raise VerificationError(f"project {self.project[first]} lacks project {self.required[first]}")
        if not np.array_equal(self.selected, _selection(cut, count, self.closure)):
            raise VerificationError(f"the selection is not the {self.closure} one of the cut")
        whole = self.profits.dtype.kind == "i"
        if whole and self.closure == "largest" and (reached_by_residual_arcs(cut)[1] != cut.sink_side).any():
            raise VerificationError("there is a larger selection of the same profit")
        profit, proved, best = _profit_and_gap(self.profits, self.selected, bound)
        if checked_number(self.profit, "profit") != profit:
            raise VerificationError(f"the selected projects do not have the profit {self.profit}")
        if whole and best != profit:
            raise VerificationError(f"the cut proves a profit of {best}, not {self.profit}")
        if checked_number(self.gap, "gap") != proved:
            raise VerificationError(f"the cut proves a gap of {proved}, not {self.gap}")
        if level is not None and not _is_close(self.profits[self.selected], proved):
            raise VerificationError(f"a gap of {proved} is too large for the largest profit")

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
class ProjectsAsMinCut(FlowReduction[ProjectSelection]):
    """The selection of projects with requirements as a minimum cut.

    Attributes
    ----------
    network : FlowNetwork
        The arcs of the source, those of the sink, then the requirements.
    source, sink : int
    profits : ndarray, shape (num_projects,)
    project, required : ndarray of int64, shape (k,)
    labels : tuple or None
    closure : {"largest", "smallest"}

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
    closure: Closure = "largest"

    @classmethod
    def of(
        cls,
        profit: ArrayLike | Mapping[Hashable, float],
        requires: Requirements,
        *,
        closure: Closure = "largest",
    ) -> Self:
        """Build the network; arguments are those of :func:`select_projects`."""
        if closure not in CLOSURES:
            raise InvalidInputError(f"closure must be one of {', '.join(CLOSURES)}, got {closure!r}")
        labels, amounts = _with_labels(profit)
        if labels is not None:
            requires = _numbered(requires, labels)
        count = np.size(as_array(amounts, "profit"))
        profits = read_signed(amounts, count, "profit")
        check_finite("profit", profits)
        pairs = requires if isinstance(requires, tuple) else _columns(cast("ArrayLike", requires))
        if len(pairs) != 2:
            raise InvalidInputError(f"requires must be (project, required), got {len(pairs)} entries")
        project, required = (vertex_ids(part, "requires") for part in pairs)
        check_ends(project, required, count)
        more, less = np.flatnonzero(profits > 0), np.flatnonzero(profits < 0)
        source, sink = count, count + 1
        endless: int | float = np.inf
        if profits.dtype.kind == "i":
            endless = int(sum_of(profits[more])) + 1
            if endless == INT64_MAX:
                raise CapacityOverflowError("the profits sum past int64")
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
            closure=closure,
        )

    def solution(self, result: MinCutResult) -> ProjectSelection:
        """Return the projects on the source side."""
        check_fits(result, self.network)
        selected = _selection(result, len(self.profits), self.closure)
        bound = Fraction(result.value) - Fraction(result.gap)
        return self._selected(result, selected, _profit_and_gap(self.profits, selected, bound), ())

    def solve(self, **arguments: Unpack[Keywords]) -> ProjectSelection:
        """Find a minimum cut with these arguments of :func:`preflow.min_cut`, and return the projects.

        Raises
        ------
        NotOptimalError
            The solve stopped early, or float64 does not allow a proof that is close enough.
        """
        deadline = Deadline(arguments.get("time_limit"))
        found = self.solution(min_cut(self.network, self.source, self.sink, **arguments))
        if self.profits.dtype.kind == "i" or _is_close(self.profits[found.selected], found.gap):
            return found
        steps: list[MaxFlowResult] = []
        level: Level | None = Level.first(self)
        flows = Fraction(0)
        while level is not None:
            if arguments.get("time_limit") is not None:
                arguments["time_limit"] = deadline.left()
            result = max_flow(level.network(self), self.source, self.sink, **arguments)
            flows += level.in_units(result.value)
            selected = _selection(result, len(self.profits), self.closure)
            proved = _profit_and_gap(self.profits, selected, flows)
            if _is_close(self.profits[selected], proved[1]):
                return self._selected(result, selected, proved, tuple(steps))
            steps.append(result)
            level = level.next(self, result.flow, _cut_of(self.profits, result, self.closure) - flows)
        raise NotOptimalError(
            f"float64 allows no closer proof: the profit is {found.profit} within {found.gap}"
        )

    def _selected(
        self,
        cut: MinCutResult,
        selected: NDArray[np.bool_],
        proved: tuple[int | float, int | float, Fraction],
        steps: tuple[MaxFlowResult, ...],
    ) -> ProjectSelection:
        profit, gap, _ = proved
        return ProjectSelection(
            selected,
            profit,
            self.profits,
            self.project,
            self.required,
            cut,
            self.labels,
            self.closure,
            gap,
            steps,
        )


def _selection(cut: MinCutResult, count: int, closure: Closure) -> NDArray[np.bool_]:
    """Return the projects on the source side of the largest or the smallest kind of minimum cuts."""
    side = cut.source_side() if closure == "smallest" else ~cut.sink_side
    selected: NDArray[np.bool_] = side[:count].copy()
    return selected


class Level(NamedTuple):
    """Capacities as they are solved, of floats."""

    #: the capacities of the arcs of the source and of the sink, in units of two to the power -`exponent`
    whole: NDArray[np.int64]
    rest: NDArray[np.float64]  #: what rounding left of each of them
    back: NDArray[np.int64]  #: how much of the flow along each requirement can be sent back
    exponent: int

    @classmethod
    def first(cls, problem: ProjectsAsMinCut) -> Level:
        """Return the level of the capacities as given."""
        amounts = problem.network.capacity[: problem.network.num_arcs - len(problem.project)]
        exponent = BITS - len(amounts).bit_length() - math.frexp(float(amounts.max(initial=0.0)))[1]
        back = np.zeros(len(problem.project), dtype=np.int64)
        return cls(*whole_and_rest(amounts, exponent, np.floor), back, exponent)

    def in_units(self, amount: int | float) -> Fraction:
        """Return a number of units as an amount."""
        return Fraction(amount) / Fraction(2) ** self.exponent

    def network(self, problem: ProjectsAsMinCut) -> FlowNetwork:
        """Return the network of integers."""
        given = problem.network
        endless = np.full(len(self.back), int(self.whole.sum()) + 1)
        reverse = np.concatenate([np.zeros_like(self.whole), self.back]) if self.back.any() else None
        return FlowNetwork.from_arrays(
            given.tail,
            given.head,
            np.concatenate([self.whole, endless]),
            reverse_capacity=reverse,
            num_vertices=given.num_vertices,
        )

    def next(self, problem: ProjectsAsMinCut, flow: Array, gap: Fraction) -> Level | None:
        """Return what a flow leaves, where `gap` is the most that is left; None if no unit is finer."""
        count = len(self.whole)
        left, back = self.whole - flow[:count], self.back + flow[count:]
        power = power_above(2 * gap / self.in_units(1))
        unit = self.exponent
        most = 1 << min(max(power, 0), BITS)
        rest = np.where(left < most, self.rest, 0.0)
        if power < 0:
            # Where a unit or more is left, that is above the limit, which is the new unit.
            unit -= power
            rest = np.minimum(rest, math.ldexp(1.0, -unit))
        left, back = np.minimum(left, most), np.minimum(back, most)
        exponent = BITS - 1 - count.bit_length() - most_bits(left, unit, rest)
        if exponent <= self.exponent or exponent < unit or gap <= 0:
            return None
        whole, rest = whole_and_rest(rest, exponent, np.floor)
        return Level((left << (exponent - unit)) + whole, rest, back << (exponent - unit), exponent)


def _same_network(one: FlowNetwork, other: FlowNetwork) -> bool:
    """Whether two networks have the same arcs, with the same capacities in both directions."""
    reverse = [
        np.zeros(each.num_arcs) if each.reverse_capacity is None else each.reverse_capacity
        for each in (one, other)
    ]
    return alike(one, other) and np.array_equal(reverse[0], reverse[1])


def _is_close(profits: Array, gap: int | float) -> bool:
    """Whether a gap is that of an optimal selection with these profits."""
    return is_close(gap, size_of(profits), len(profits))


def _cut_of(profits: Array, cut: MinCutResult, closure: Closure) -> Fraction:
    """Return what the projects on the source side of a cut fall short of all profits."""
    selected = _selection(cut, len(profits), closure)
    return exact_total(np.maximum(profits, 0)) - exact_total(profits[selected])


def _profit_and_gap(
    profits: Array, selected: NDArray[np.bool_], flow: Fraction
) -> tuple[int | float, int | float, Fraction]:
    """Return the profit of a selection, how far it may be from the largest one, and the bound of a flow."""
    total = exact_total(profits[selected])
    bound = exact_total(np.maximum(profits, 0)) - flow
    if profits.dtype.kind == "i":
        return int(total), 0, bound
    profit, gap = near_and_gap(total, bound)
    if not np.isfinite(profit):
        raise CapacityOverflowError("the profits of the selected projects sum past float64")
    return profit, gap, bound


def _with_labels(
    profit: ArrayLike | Mapping[Hashable, float],
) -> tuple[tuple[Hashable, ...] | None, ArrayLike]:
    """Return the labels of a mapping or a Series, None of others, and the numbers."""
    given = numbers_by_label(profit, "profit")
    if given is None:
        return None, cast("ArrayLike", profit)
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
    array = as_array(pairs, "requires")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(f"requires must be pairs, shape (k, 2), got shape {array.shape}")
    return array[:, 0], array[:, 1]


def select_projects(
    profit: ArrayLike | Mapping[Hashable, float],
    requires: Requirements,
    *,
    closure: Closure = "largest",
    **arguments: Unpack[Keywords],
) -> ProjectSelection:
    """Select the projects that bring the largest profit, together with all that they require.

    Other names for it: maximum-weight closure, the open-pit mining problem. For block models,
    :func:`ultimate_pit` needs no list of requirements.

    Parameters
    ----------
    profit : array_like of numbers, shape (num_projects,), mapping or Series
        What each project brings; negative where it costs. A mapping or a Series gives labels.
    requires : (project, required), or array_like of integers, shape (k, 2)
        A tuple has two arrays: ``project[i]`` requires ``required[i]``. Else each row is such a pair.
        With labels: pairs of labels, or a mapping of projects to a list of what each requires.
    closure : {"largest", "smallest"}
        Which of several selections of the largest profit is returned: the one that all others are part of,
        or the one that is part of all others.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.min_cut`.

    Returns
    -------
    ProjectSelection
        Its attribute `closure` says which of several selections of the largest profit it is.

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
    >>> even = {"order": 3, "drill": -3}
    >>> preflow.reductions.select_projects(even, {"order": ["drill"]}, closure="smallest").projects()
    []
    """
    return ProjectsAsMinCut.of(profit, requires, closure=closure).solve(**arguments)
