"""The protocol of steps: a step replaces a flow problem by another one, and carries the answer back.

::

    apply(problem, ...)             an Applied; None where a step that is only tried does not fit
    Applied.reduced, .note          the problem to solve instead, and what the result says of it
    Applied.lift_bounds             the bounds of the problem by those of the reduced one
    Applied.lift_cut                the sink's side of a cut
    Applied.lift_source_side        the source's side of a cut
    Applied.lift_flow               a second stage, which carries the flow back when it is read

``auto`` tries past_arc, as_grid and contract, with ``apply(problem, deadline)``. The other two always fit,
and take what they are about: the limit, or the rounded flow and its gap.

Each module beside this one is a step:

- ``past_arc``: a terminal behind an arc that limits no flow is moved to its other end;
- ``as_grid``: a network that is a grid is solved with no arcs stored;
- ``contract``: arcs that no minimum cut contains are contracted;
- ``limit``: a limit of the flow becomes an arc in front of the sources;
- ``complete``: what a flow of rounded capacities leaves is solved again.

:mod:`.second_stage` is the end of each chain: it turns the preflow of a method into a flow. Steps know no
methods, and methods know no steps. :mod:`preflow.maxflow.api` says which steps are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray
from ..certify.cut import residual_reach
from ..graph.network import FlowNetwork
from ..solving.exclusive import Exclusive
from ..solving.result import Status
from ..stats import Phase, untimed

Reduced = TypeVar("Reduced")


class FlowProblem(NamedTuple):
    """A network with its terminals, checked."""

    network: FlowNetwork
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    seconds: dict[str, float]  #: time of each phase so far


class SecondStage(Protocol):
    """Computes the flow of a solved problem, and what depends on it, when a caller first reads them."""

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        ...

    def preflow(self) -> AnyArray:
        """Return a preflow of the same value, which may be there already, of every input arc."""
        ...

    def source_side(self) -> AnyArray:
        """Return which vertices the source reaches over residual arcs once all excess is returned."""
        ...


class Bounds(NamedTuple):
    """Two bounds of the value, and a proved bound of the distance from the optimum: see BoundedResult."""

    lower: int | float
    upper: int | float
    gap: int | float


class Applied(Generic[Reduced]):
    """A step that was applied."""

    reduced: Reduced  #: the problem to solve instead

    @property
    def note(self) -> str:
        """A sentence about the step for the reason of the result; may be empty."""
        return ""

    def lift_status(self, status: Status, sink_side: AnyArray) -> Status:
        """Return the status of the answer, given that of the reduced problem and its cut."""
        return status

    def lift_bounds(self, bounds: Bounds) -> Bounds:
        """Return the bounds of the problem; `upper` and `gap` count where the answer is optimal."""
        return bounds

    def lift_cut(self, sink_side: AnyArray) -> AnyArray:
        """Return the sink's side of a cut, given that of the reduced problem.

        For the smallest sink side of a minimum cut it is the smallest one; for another cut any side will do.
        """
        return sink_side

    def lift_source_side(self, source_side: AnyArray) -> AnyArray:
        """Return the smallest source side of a minimum cut, given that of the reduced problem.

        This suits a step that puts each vertex on the side of one of the reduced problem.
        """
        return self.lift_cut(source_side)

    def lift_flow(self, found: Any) -> SecondStage:
        """Return the second stage of the problem, given that of the reduced one; it does no work yet."""
        return LiftedFlow(self, found)

    def flow(self, reduced_flow: AnyArray) -> AnyArray:
        """Return the flow of every arc, given that of the reduced problem."""
        raise NotImplementedError


class LiftedFlow(Exclusive):
    """The second stage of a problem to which a step was applied, by that of the reduced one."""

    def __init__(self, applied: Applied[Any], reduced: SecondStage) -> None:
        self._applied, self._reduced = applied, reduced
        self._flow: AnyArray | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the state with the flow."""
        self.flow()
        return super().__getstate__()

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        if self._flow is None:
            reduced = self._reduced.flow(phase)
            with phase("recover"):
                self._flow = self._applied.flow(reduced)
        return self._flow

    def preflow(self) -> AnyArray:
        """Return the flow of every input arc."""
        return self.flow()

    def source_side(self) -> AnyArray:
        """Return which vertices the source reaches over residual arcs."""
        return self._applied.lift_source_side(self._reduced.source_side())


@dataclass(frozen=True)
class KnownFlow:
    """A flow that is known, in the place of a second stage."""

    network: FlowNetwork
    sources: NDArray[np.int64]
    known: AnyArray  #: shape (num_arcs,): the flow of every input arc
    #: residual capacity up to this is the rounding error of floats
    slack: float = field(default=0, kw_only=True)
    #: which vertices the source reaches over residual arcs, if that is known
    reached: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        return self.known

    def preflow(self) -> AnyArray:
        """Return the flow of every input arc."""
        return self.known

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source reaches over residual arcs, in O(n + m)."""
        if self.reached is not None:
            return self.reached
        flow = self.network.to_host(self.known)
        return residual_reach(self.network.on_host(), flow, self.sources, self.slack)
