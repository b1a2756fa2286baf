"""The result of a minimum cut by regions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..certify.cut import cut_capacity
from ..certify.fields import check_bounds, check_kind, checked_array, checked_number
from ..errors import InvalidInputError, VerificationError
from ..graph.neighbourhood import Box
from ..graph.network import FlowNetwork
from ..graph.scaling import sum_slack, total_of
from ..solving.result import BoundedResult
from .exchange import CutShare, Exchange, RegionTask, Worker, stored
from .memory import MemoryExchange


class Turn:
    """A solve on an exchange, whose regions its result asks for a proof; a later solve ends it.

    A copy has all regions in memory. `tasks` are the regions before they are loaded.
    """

    _latest: ClassVar[WeakValueDictionary[int, Turn]] = WeakValueDictionary()

    def __init__(self, exchange: Exchange, tasks: Sequence[RegionTask]) -> None:
        self.exchange, self.tasks = exchange, tasks
        self._latest[id(exchange)] = self

    @property
    def is_over(self) -> bool:
        """Whether the exchange has begun another solve since."""
        return self._latest.get(id(self.exchange)) is not self

    def check(self) -> None:
        """Raise InvalidInputError if the exchange has begun another solve since."""
        if self.is_over:
            raise InvalidInputError(
                "the exchange of this result has solved another problem since, so its regions are gone: "
                "verify a result first, or give each solve an exchange of its own"
            )

    def __reduce__(self) -> tuple[object, ...]:
        states = None if self.is_over else list(self.exchange.collect(state_of))
        return _copied, (list(self.tasks), states)


def state_of(worker: Worker) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return copies of the arrays of a region's border, and of its inside."""
    border, inside = worker.state(), stored(worker.region.state())
    return _copies(border), _copies(inside)


def _copies(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: values.copy() for name, values in arrays.items()}


def _copied(tasks: Sequence[RegionTask], states: Sequence[tuple[Any, Any]] | None) -> Turn:
    """Return the copy of a turn: its regions, which go on from states, in memory."""
    exchange = MemoryExchange(1)
    exchange.close()
    turn = Turn(exchange, tasks)
    if states is None:
        Turn(exchange, tasks)  # the regions of the copied one are gone
    for task, (border, inside) in zip(tasks, states or (), strict=False):
        region = task.empty()
        region.restore(inside)
        exchange.workers.append(Worker(task.number, region))
        exchange.workers[-1].restore(border)
    return turn


def capacity_of_cut(exchange: Exchange) -> CutShare:
    """Return the cut that the regions have, as the caller gave capacities."""

    def together(amounts: Sequence[int | float]) -> int | float:
        return total_of(amounts) if any(isinstance(each, float) for each in amounts) else sum(amounts)

    proofs = list(exchange.collect(Worker.proofs))
    shares = list(exchange.collect(partial(Worker.capacity, proofs=proofs)))
    return CutShare(*map(together, zip(*shares, strict=True))) if shares else CutShare(0)


def proved_value(exchange: Exchange, optimal: bool) -> int:
    """Prove the flow, and if `optimal` that the cut is minimum, region by region; return the value.

    VerificationError: the proof fails.
    """
    proofs = list(exchange.collect(Worker.proofs))
    return sum(exchange.collect(partial(Worker.verify, proofs=proofs, optimal=optimal)))


@dataclass(frozen=True)
class Unit:
    """The unit of the solved integers."""

    #: capacities were multiplied by two to this power and rounded down; None where they are exact
    exponent: int | None = None
    #: the amount that rounding removed from the terminal capacities, in the caller's unit
    constant: int | float = 0

    def in_caller_unit(self, amount: int) -> int | float:
        """Return an amount in the caller's unit."""
        if self.exponent is not None:
            return float(np.ldexp(float(amount), -self.exponent)) + self.constant
        return amount + self.constant


@dataclass(frozen=True, eq=False, repr=False)
class RegionResult(BoundedResult):
    """The part that results of solves by regions share."""

    regions: int
    sweeps: int
    _gap: int | float
    _turn: Turn
    _unit: Unit

    @property
    def _exchange(self) -> Exchange:
        return self._turn.exchange

    @property
    def gap(self) -> int | float:
        """A proved bound on the distance of `value` from the optimum: `MinCutResult.gap`."""
        return self._gap

    def verify(self) -> None:
        """Prove the cut minimum, region by region.

        Each region checks that its flow is within the capacities and conserved, that arcs across the cut are
        saturated, and that its neighbours claim the same flow over its border. The capacities of a grid are
        read again. At most as many regions as in the solve are in memory at a time.

        Raises
        ------
        VerificationError
            The proof fails: please report it as a bug.
        InvalidInputError
            The exchange was an object, and another solve has used it since.
        """
        if isinstance(self._turn, Turn):
            self._turn.check()
        self._prove()

    def _prove(self) -> None:
        """Prove the cut."""
        raise NotImplementedError

    def _size(self) -> str:
        """Return the size of the problem as text."""
        raise NotImplementedError

    def __repr__(self) -> str:
        how = f"{self.regions} regions, {self.sweeps} sweeps"
        return f"<{type(self).__name__}: {self._headline()}, {self._size()}, {how}, {self._how()}>"


def check_regions(result: RegionResult, cut: CutShare | None = None) -> None:
    """Prove the bounds of a result, region by region; `cut` is the cut, if it is known.

    VerificationError: the proof fails.
    """
    exchange, unit = result._exchange, result._unit
    check_bounds(result.status, result.lower_bound, result.upper_bound)
    gap = checked_number(result.gap, "gap")
    lower, upper = result.lower_bound, result.upper_bound
    is_exact = isinstance(lower, int) and isinstance(upper, int)
    if not gap >= upper - lower or (is_exact and gap != upper - lower):
        raise VerificationError(f"the gap is {gap}, and the bounds are {lower} and {upper}")
    if result.regions != len(result._turn.tasks) or type(result.sweeps) is not int or result.sweeps < 0:
        raise VerificationError(
            f"there are {len(result._turn.tasks)} regions, not {result.regions}, and sweeps are counted, not "
            f"{result.sweeps!r}"
        )
    optimal = result.status == "optimal"
    bound = unit.in_caller_unit(proved_value(exchange, optimal))
    rounded = unit.exponent is not None and cut is not None  # then both bounds are that of the flow
    if cut is None:
        cut = capacity_of_cut(exchange)
    capacity, slack = cut.capacity, sum_slack(cut.size)
    if not bound >= lower - gap - slack:
        raise VerificationError(f"the flow proves {bound}, not {lower}")
    if not abs(capacity - upper) <= slack + (gap if rounded and optimal else 0):
        raise VerificationError(f"the cut has capacity {capacity}, not {upper}")
    if not capacity - bound <= gap + slack:
        raise VerificationError(f"the bounds are {capacity - bound} apart, not {gap}")


@dataclass(frozen=True, eq=False, repr=False)
class RegionCutResult(RegionResult):
    """A minimum cut of a grid that was solved by regions, or the best one within the time limit.

    Attributes
    ----------
    labels : array of bool, shape of the grid
        True for the pixels on the source's side: the same as those of :func:`preflow.grid_cut`. Where `out`
        was given, that array.
    shape : tuple of int
    regions, sweeps : int
        Number of regions, and of sweeps over them.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`.
    """

    labels: AnyArray
    shape: tuple[int, ...]
    _boxes: Sequence[Box]

    def __post_init__(self) -> None:
        """Leave the labels as they are: they may be the caller's array, and there is no other one."""

    def _prove(self) -> None:
        if tuple(self.labels.shape) != self.shape:
            raise VerificationError(f"the labels have shape {self.labels.shape}, not {self.shape}")
        seen = 0
        for box, side in zip(self._boxes, self._exchange.collect(Worker.sink_side), strict=True):
            found = np.asarray(self.labels[box])
            if found.shape != side.shape or (found != ~side).any():
                raise VerificationError(f"the labels in {box} are not those of the cut that was found")
            seen += found.size
        if seen != math.prod(self.shape):
            raise VerificationError(f"the regions have {seen} pixels, not {math.prod(self.shape)}")
        check_regions(self)

    def _size(self) -> str:
        return f"{' x '.join(f'{length:,}' for length in self.shape)} pixels"


@dataclass(frozen=True, eq=False, repr=False)
class RegionMinCutResult(RegionResult):
    """A minimum cut of a network that was solved by regions, or the best one within the time limit.

    Attributes
    ----------
    sink_side : ndarray of bool, shape (num_vertices,)
        True for the vertices on the sink's side: the same as that of :func:`preflow.min_cut`.
    regions, sweeps : int
        Number of regions, and of sweeps over them.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`.
    """

    sink_side: NDArray[np.bool_]
    _vertices: Sequence[NDArray[np.int64]]
    _network: FlowNetwork
    _terminals: tuple[NDArray[np.int64], NDArray[np.int64]]

    def _prove(self) -> None:
        exchange, network = self._exchange, self._network
        side_of_all = checked_array(network, self.sink_side, "sink_side", (network.num_vertices,), np.bool_)
        for vertices, side in zip(self._vertices, exchange.collect(Worker.sink_side), strict=True):
            found = side_of_all[vertices]
            if found.shape != side.shape or (found != side).any():
                raise VerificationError("the sink's side is not that of the cut that was found")
        check_kind(self._terminals, "the terminals", tuple)
        sources, sinks = self._terminals
        if side_of_all[sources].any() or not side_of_all[sinks].all():
            raise VerificationError("the cut does not separate the sources from the sinks")
        capacity = cut_capacity(network, side_of_all)
        if (
            self._unit.exponent is None
            and capacity != capacity_of_cut(exchange).capacity + self._unit.constant
        ):
            raise VerificationError(f"the regions have another cut than one of capacity {capacity}")
        check_regions(self, CutShare(capacity))

    def _size(self) -> str:
        return f"{int(np.count_nonzero(self.sink_side)):,} of {len(self.sink_side):,} vertices on its side"
