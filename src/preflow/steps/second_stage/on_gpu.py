"""The second stage on a GPU: turn a maximum preflow into a flow, and report it on the input's arcs.

The solver of the first stage also returns excess to the source: the arcs from the source take the place of
the arcs to the sink. That ends, since the excess of a preflow always has a residual path back to the
source. The flow of an input arc is its capacity less what is left of the capacity. If several input arcs
share a residual arc, the first of them keep what is left, as in :mod:`preflow.steps.second_stage`. These
arcs are sorted by residual arc, so that the answer does not depend on the order in which threads arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from ...arrays import AnyArray
from ...cuda.structs import I64, U8, U32, U64, ConstI64, ConstU32
from ...errors import SolverError
from ...graph.device.build import DeviceResidualNetwork, InputArcs
from ...graph.device.residual import DeviceNetwork
from ...graph.network import DeviceFlowNetwork, FlowNetwork
from ...solving.exclusive import Exclusive
from ...solving.protocol import FlowSolver
from ...solving.run import Control, run_interruptibly
from ...stats import Phase, untimed

Outcome = TypeVar("Outcome")

SOURCE = Path(__file__).with_suffix(".cu")


class Left(NamedTuple):
    """The capacities that are left.

    A place is the number of a residual arc, or behind those a vertex for its arc from the source, or behind
    those a vertex for its arc to the sink.
    """

    arcs: Annotated[AnyArray, "const Arc*"]
    num_arcs: int
    returned: ConstI64  #: capacity left from the source to each vertex
    sink_residual: ConstI64
    arc: ConstU32  #: the residual arc of each input arc


class SeenArguments(NamedTuple):
    """Arguments of "find_shared"."""

    input: InputArcs
    left: Left
    amount: ConstI64
    backward: int
    seen: U32  #: a bit for every place: at least one input arc has capacity there
    shared: U32  #: a bit for every place: at least two have


class FlowArguments(NamedTuple):
    """Arguments of "add_flow"."""

    input: InputArcs
    left: Left
    amount: ConstI64
    backward: int
    shared: ConstU32
    num_words: int  #: of `shared`; 0 if no place is shared
    waits: U8  #: whether an arc's place is shared, so that its flow is added later
    flow: I64


class PlacesArguments(NamedTuple):
    """Arguments of "find_places"."""

    input: InputArcs
    left: Left
    backward: int
    entry: ConstI64  #: input arcs
    num_entries: int
    place: U64
    left_there: I64


class _Waiting(NamedTuple):
    """Input arcs that share a residual arc, or an arc of the source or the sink, with other input arcs."""

    backward: int
    entry: AnyArray
    amount: AnyArray
    place: AnyArray
    left_there: AnyArray


class DeviceSecondStage(Exclusive):
    """The second stage of one solve on a GPU, run when a caller first needs it.

    It keeps the residual network in the GPU's memory, as the first stage left it. `network` is on the host or
    on the GPU; `solve` is the method's solver.
    """

    def __init__(
        self,
        network: FlowNetwork,
        residual: DeviceResidualNetwork,
        solve: FlowSolver[DeviceNetwork, Any],
        options: Any,
    ) -> None:
        self.network = network
        self.residual = residual
        self._solve = solve
        self._options = options
        # What the source's arcs can still take back: the stage goes on from there after Ctrl-C.
        self._left: Any = None
        self._is_done = False

    def __getstate__(self) -> dict[str, object]:
        """Run the stage, after which the state no longer changes."""
        with self.residual.device.current():
            self._all_returned()
        return super().__getstate__()

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc, as an array of the network's kind."""
        with self.residual.device.current():
            with phase("recover"):
                flow = flow_of_arcs(self.network, self.residual, self._all_returned())
                self.residual.device.synchronize()
            with phase("download"):
                return self._place(flow)

    def preflow(self) -> AnyArray:
        """Return the current flow of every input arc, whether or not the stage has run."""
        with self.residual.device.current():
            return self._place(flow_of_arcs(self.network, self.residual, self._returned_so_far()))

    def source_side(self) -> AnyArray:
        """Return which vertices the source reaches over residual arcs, once all excess has gone back to it.

        The solver's search for the vertices that reach the sink finds them, with every arc reversed.
        """
        with self.residual.device.current():
            residual, xp = self.residual, self.residual.device.xp
            returned = self._all_returned()
            net = residual.arrays._replace(excess=xp.zeros_like(returned), sink_residual=returned)
            only_search = Control()
            only_search.stop[0] = 1

            def search() -> AnyArray:
                residual.swap_directions()
                try:
                    return self._solve(net, self._options, only_search)
                finally:
                    residual.swap_directions()

            height = self._undivided(search, only_search)
            reached = residual.by_input_vertex(height <= residual.num_vertices, True, False)
            return self._place(reached)

    def _all_returned(self) -> AnyArray:
        """Return the flow that goes back over each vertex's source arcs; run the stage if it has not run yet.

        The stage has its own Control, since it must also complete the preflow of a first stage that a time
        limit stopped.
        """
        if not self._is_done:
            residual, control = self.residual, Control()
            net = residual.arrays._replace(sink_residual=self._left_so_far())
            self._undivided(lambda: self._solve(net, self._options, control), control)
            if residual.arrays.excess.any():
                raise SolverError("excess is left after the second stage")
            self._is_done = True
        return self._returned_so_far()

    def _left_so_far(self) -> AnyArray:
        if self._left is None:
            self._left = self.residual.source_capacity.copy()
        return self._left

    def _returned_so_far(self) -> AnyArray:
        """Return a new array of the flow that went back over each vertex's source arcs."""
        return self.residual.source_capacity - self._left_so_far()

    def _undivided(self, work: Callable[[], Outcome], control: Control) -> Outcome:
        """Return what `work` returns; Ctrl-C does not cut it short while the arcs are out of order.

        The solver stores capacities in pairs while it runs.
        """
        device = self.residual.device

        def on_device() -> Outcome:
            with device.current():
                outcome = work()
                device.synchronize()
                return outcome

        device.synchronize()  # the other thread has a stream of its own
        return run_interruptibly(on_device, control)

    def _place(self, values: AnyArray) -> AnyArray:
        """Return an array of the device as one of the network's kind."""
        device = self.residual.device
        return values if isinstance(self.network, DeviceFlowNetwork) else device.to_host(values)


def flow_of_arcs(network: FlowNetwork, residual: DeviceResidualNetwork, returned: AnyArray) -> AnyArray:
    """Return the flow of every input arc, on the device; the residual network is not changed.

    `returned` is the flow returned over each vertex's source arcs; zeros for the preflow itself.
    """
    device, xp, net = residual.device, residual.device.xp, residual.arrays
    arcs = residual.input_arcs(network)
    left = Left(
        arcs=net.arcs,
        num_arcs=len(net.arcs),
        returned=returned,
        sink_residual=net.sink_residual,
        arc=residual.arc,
    )
    shared = _shared_places(residual, arcs, left)
    flow = xp.zeros(arcs.num_arcs, dtype=np.int64)
    waiting = []
    for backward, put_on_device in residual.amounts():
        amount = put_on_device()
        waits = xp.empty(arcs.num_arcs if len(shared) else 0, dtype=np.uint8)
        adding = FlowArguments(
            input=arcs,
            left=left,
            amount=amount,
            backward=backward,
            shared=shared,
            num_words=len(shared),
            waits=waits,
            flow=flow,
        )
        device.share(SOURCE, "add_flow", arcs.num_arcs, adding)
        entry = xp.flatnonzero(waits)
        if len(entry):
            place = xp.empty(len(entry), dtype=np.uint64)
            left_there = xp.empty(len(entry), dtype=np.int64)
            finding = PlacesArguments(
                input=arcs,
                left=left,
                backward=backward,
                entry=entry,
                num_entries=len(entry),
                place=place,
                left_there=left_there,
            )
            device.share(SOURCE, "find_places", len(entry), finding)
            waiting.append(_Waiting(backward, entry, amount[entry], place, left_there))
        del amount, adding, waits
    if waiting:
        _add_shared(residual, waiting, flow)
    return residual.in_input_units(flow)


def _shared_places(residual: DeviceResidualNetwork, arcs: InputArcs, left: Left) -> AnyArray:
    """Return a bit for every place that two input arcs share; an empty array if there is none."""
    device, xp = residual.device, residual.device.xp
    if not residual.has_shared_arcs:
        return xp.empty(0, dtype=np.uint32)
    num_places = left.num_arcs + 2 * arcs.num_inner
    seen, shared = (xp.zeros(-(-num_places // 32), dtype=np.uint32) for _ in range(2))
    for backward, put_on_device in residual.amounts():
        arguments = SeenArguments(
            input=arcs, left=left, amount=put_on_device(), backward=backward, seen=seen, shared=shared
        )
        device.share(SOURCE, "find_shared", arcs.num_arcs, arguments)
    return shared


def _add_shared(residual: DeviceResidualNetwork, waiting: list[_Waiting], flow: AnyArray) -> None:
    """Add the flow of input arcs that share a place: the first ones keep the capacity that is left.

    Sums over all of them may wrap around past int64; differences within one place do not.
    """
    xp = residual.device.xp
    place, amount, left_there = (
        xp.concatenate([getattr(part, name) for part in waiting])
        for name in ("place", "amount", "left_there")
    )
    order = residual.device.argsort(place)
    place, amount = place[order], amount[order]
    before = xp.cumsum(amount) - amount
    is_first = xp.ones(len(place), dtype=bool)
    is_first[1:] = place[1:] != place[:-1]
    before -= before[is_first][xp.cumsum(is_first) - 1]
    kept = xp.empty_like(amount)
    kept[order] = xp.minimum(amount, xp.maximum(left_there[order] - before, 0))
    begin = 0
    for part in waiting:
        end = begin + len(part.entry)
        used = part.amount - kept[begin:end]
        flow[part.entry] += -used if part.backward else used
        begin = end
