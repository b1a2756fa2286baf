"""Messages between regions, and the protocol of the hosts that carry them.

A *host* keeps one :class:`Worker` for each region and moves messages between them: in the memory of one
process, on files, on GPUs, or on a cluster. It needs to know nothing about flows.

Words
-----
- A *border arc* of a region leads from one of its vertices to a vertex of another region, a *ghost*. A region
  and a neighbour list the arcs between them in the same order, each from its own side. All arrays of this
  module have one entry for each border arc of a region, grouped by neighbour.
- The *label* of a vertex is a lower bound on the number of border arcs on a residual path to the sink, and
  INFINITE if there is no such path.

A sweep in pseudo-code
----------------------
::

    for each region, at the same time:       messages[region] = worker.discharge(order)
    for each region, at the same time:       report[region] = worker.receive(messages from its neighbours)
    the coordinator reads all reports, searches the border from the sink, and writes the next orders

A host may also let regions discharge one after the other (the host on files does so). Then all workers
``raise_labels`` first. After each ``augment``, ``fuse`` runs on the region and on its neighbours; a region
that has not discharged since sends :meth:`Worker.idle_message`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType
from ..certify.grid import size_of_terms
from ..errors import VerificationError
from ..graph.network import exact_sum
from ..solving.run import Control
from .checksum import checksum_of

#: The label of vertices that cannot reach the sink.
INFINITE = 1 << 30

Labels = NDArray[np.int32]
Amounts = NDArray[np.signedinteger]
Answer = TypeVar("Answer")


def as_array(*numbers: int) -> NDArray[np.int64]:
    """Return integers of any size as an array; sums of capacities may not fit int64."""
    return np.array([(number >> 60, number & (1 << 60) - 1) for number in numbers], dtype=np.int64)


def from_array(values: Array) -> list[int]:
    """Return the integers of :func:`as_array`."""
    return [(high << 60) + low for high, low in values.tolist()]


class Narrow(NamedTuple):
    """An array of integers whose entries fit a narrower dtype, in which it is stored."""

    values: Array
    dtype: DType

    def stored(self) -> Array:
        """Return the array in the narrower dtype."""
        narrow: Array = self.values.astype(self.dtype, copy=False)
        return narrow


#: The arrays of a region, by name.
State = Mapping[str, Array | Narrow]


def stored(state: State) -> dict[str, Array]:
    """Return arrays as they are stored."""
    return {name: each.stored() if isinstance(each, Narrow) else each for name, each in state.items()}


#: Arrays of a region that are not taken from a checkpoint, which may come from anybody: search forests.
REMADE = ("tree_label", "tree_parent")
#: Those that may have no entries, or any: a cut is proved at the end of the solve.
CHOSEN = ("sink_side",)
#: Arrays of a region that change with the flow; the problem determines the others.
CHANGING = ("residual", "terminal", "excess", "demand")


def check_arrays(given: Mapping[str, Array], state: State, changing: Container[str] | None) -> None:
    """Check that arrays have the shapes of a state, and integers; those not `changing` are the same.

    VerificationError: they have not.
    """
    if set(given) != set(state):
        raise VerificationError("it has other arrays than a region has")
    for name, values in state.items():
        known, found = values.values if isinstance(values, Narrow) else values, given[name]
        if name in REMADE or (name in CHOSEN and found.ndim == 1 and found.dtype == known.dtype):
            continue
        if found.shape != known.shape or found.dtype.kind != known.dtype.kind:
            raise VerificationError(f"array {name!r} is not that of this problem")
        if changing is not None and name not in changing and (found != known).any():
            raise VerificationError(f"array {name!r} is not that of this problem")


def checksum(region: Region) -> int:
    """Return a checksum of a region's part of the problem; called before the first discharge."""
    state = (values for _, values in sorted(region.state().items()))
    return checksum_of(each.values if isinstance(each, Narrow) else each for each in state)


class Message(NamedTuple):
    """The message of a region to one neighbour after a discharge; an entry for each arc between the two."""

    push: Amounts  #: int16, int32 or int64: flow that the region has sent over each arc
    label: Labels  #: int32: label of the region's own end of each arc


class Raised(NamedTuple):
    """New labels of the border vertices of one region."""

    #: int32: vertices with the label ``old[i]`` get ``new[i]``; `old` increases
    old: Labels
    new: Labels

    def applied(self, labels: Labels) -> Labels:
        """Return labels with those in `old` raised."""
        place = np.minimum(np.searchsorted(self.old, labels), len(self.old) - 1)
        return np.where(self.old[place] == labels, self.new[place], labels)


class Order(NamedTuple):
    """The coordinator's order to all regions for one sweep; a region that is not ready only raises labels."""

    limit: int  #: a region augments to ghosts with labels below this. 0: only to the sink
    #: new labels of border vertices, by region; a region reads its own entry and those of neighbours
    raised: Mapping[int, Raised] = {}


class Report(NamedTuple):
    """The report of a region to the coordinator after a sweep: a few numbers, however long its border is."""

    region: int
    labels: Labels  #: int32: the distinct labels of its border vertices
    #: int32, shape (k, 3): ``(neighbour, own label, label there)`` of the border arcs with residual capacity,
    #: without repetition
    links: Labels
    #: a lower bound on the region's share of the capacity of every cut, in units of its capacities
    bound: int
    active: int  #: excess that may still move
    ready: bool  #: whether a discharge may change something


class Links(NamedTuple):
    """The part of a report about the arcs to one neighbour: see :class:`Report`."""

    labels: NDArray[np.int64]  #: labels of the region's own ends; some may be repeated
    rows: NDArray[np.int32]  #: shape (k, 3)


class Border(NamedTuple):
    """The border arcs of a region."""

    neighbours: tuple[int, ...]  #: the regions that share arcs with this one, in increasing order
    #: shape (neighbours + 1,): the arcs to ``neighbours[i]`` are ``first[i]`` to ``first[i + 1]``
    first: NDArray[np.int64]
    #: int16, int32 or int64: capacity of each arc away from the region. The sum with that of the opposite arc
    #: fits the dtype. It has no entries while the region is unloaded.
    capacity: Amounts


class Discharged(NamedTuple):
    """The outcome of a discharge."""

    push: Amounts  #: integers: flow sent over each border arc
    label: Labels  #: int32: label of the region's own end of each border arc
    bound: int  #: see :class:`Report`
    waiting: int  #: excess that may reach the sink through ghosts that the limit left out
    #: whether all ghosts that reach the sink were searched: neither the limit nor a stop left some out
    complete: bool


def total(amounts: Array) -> int:
    """Return the exact sum of amounts."""
    return int(exact_sum(amounts) if amounts.dtype == np.int64 else amounts.sum(dtype=np.int64))


def search_by_label(
    ghost_label: Labels,
    limit: int,
    found: Labels,
    ends: tuple[Array, Array],
    search: Callable[[NDArray[np.bool_], NDArray[np.intp]], NDArray[np.bool_]],
    control: Control,
) -> bool:
    """Augment to ghosts in the order of their labels; return whether all that reach the sink had their turn.

    Ghosts with labels from `limit` on are left out. `ghost_label` has the label of each ghost. `found` has
    the labels of the region's own border vertices: those that reach the sink inside the region have theirs,
    the others are INFINITE and get it here. All are 0, which is always valid, if the solve was stopped.
    `ends` has, for each border arc with residual capacity, the place of its own end in `found`, and its
    ghost. `search` lets some ghosts take flow, augments, and returns which of some border vertices, given by
    their places in `found`, now reach a sink or a ghost; its mask is as long as `ghost_label`.

    A vertex that reaches the sink, or an earlier ghost, is reached by no excess any more. So a ghost makes no
    difference unless an arc leads to it from a border vertex that reaches neither. In late sweeps few do.
    """
    complete = True
    left = np.flatnonzero(found == INFINITE)
    own, ghost = ends
    arcs = np.flatnonzero((found[own] == INFINITE) & (ghost_label[ghost] < INFINITE))
    while len(arcs) and not control.stopped:
        labels = ghost_label[ghost[arcs]]
        label = int(labels.min())
        if label >= limit:
            found[left] = label + 1
            complete = False
            break
        takes_flow = np.zeros(len(ghost_label), dtype=np.bool_)
        takes_flow[ghost[arcs[labels == label]]] = True
        reaches = search(takes_flow, left)
        found[left[reaches]] = label + 1
        left = left[~reaches]
        arcs = arcs[(labels > label) & (found[own[arcs]] == INFINITE)]
    if control.stopped:
        found[:] = 0
        return False
    return complete


class Proof(NamedTuple):
    """The claims of a region that its neighbours check to verify a cut; an entry for each border arc."""

    flow: Amounts  #: int64: net flow over each border arc away from the region
    sink_side: NDArray[np.bool_]  #: whether the region's own end is on the sink's side


class CutShare(NamedTuple):
    """The share of a region in a cut, or the whole cut, as the caller gave capacities."""

    capacity: int | float
    #: sums of the terminal capacities of pixels: see :func:`preflow.certify.grid.terminal_sizes`
    negative: int | float = 0
    lesser: int | float = 0

    @property
    def size(self) -> int | float:
        """The sum of the absolute values of the terms of the whole cut."""
        return size_of_terms(*self)


class Region(Protocol):
    """The part of a problem that one region has: its residual capacities and a search."""

    @property
    def border(self) -> Border:
        """Its border arcs."""

    def discharge(self, gain: Amounts, label: Labels, limit: int, control: Control) -> Discharged:
        """Augment inside the region: first to the sink, then to ghosts in the order of their labels.

        `gain` is, for each border arc, the flow that arrives against it: it adds to the arc's residual
        capacity and to the excess of the region's own end. `label` is that of the ghost of each border arc;
        ghosts with label `limit` or a larger one receive nothing. A raised stop flag of `control` ends the
        discharge early; then labels do not change.
        """

    def send_again(self, flow: Amounts, threads: int) -> None:
        """Become a region that has sent `flow` over its border: the successor of one that was lost.

        It begins without flow. Inside any flow will do that brings together what was sent; there is one,
        since the lost region had it. No flow goes into sinks yet. `flow` is the net flow over each border arc
        away from the region.
        """

    def state(self) -> State:
        """Return the arrays from which :meth:`restore` continues."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned, narrow or not; the region keeps them."""

    def unload(self) -> None:
        """Forget the arrays of :meth:`state`, and all others that are as large as the region."""

    def sink_side(self) -> NDArray[np.bool_]:
        """Return which vertices of the region are on the sink's side after the last discharge."""

    def border_sides(self) -> NDArray[np.bool_]:
        """Return for each border arc whether its own end is on the sink's side."""

    def capacity(self, theirs: Proof) -> CutShare:
        """Return the region's share of the capacity of the cut, as the caller gave capacities."""

    def check_flow(self, theirs: Amounts, own: Amounts, gain: Amounts) -> int:
        """Prove that a state, which may come from anywhere, is a flow; return its share of the value.

        :meth:`restore` has its arrays, which have the shapes and dtypes of those of :meth:`state`. For each
        border arc `theirs` is the net flow away from the neighbour that it claims, and `own` the residual
        capacity after `gain` has arrived, which is as for :meth:`discharge`. VerificationError if it is no
        flow.
        """

    def verify(self, theirs: Proof, gain: Amounts, optimal: bool) -> int:
        """Prove the region's part of the flow and of the cut; return its share of the flow.

        `theirs` has the claims of its neighbours, an entry for each border arc; `gain` is what has arrived
        since the last discharge. VerificationError names the first vertex at fault.
        """


class RegionTask(Protocol):
    """A region before it is loaded: small, and can be pickled if its arrays can be."""

    @property
    def number(self) -> int:
        """The number of the region."""

    def empty(self) -> Region:
        """Return the region without its part of the problem: :meth:`Region.restore` is next."""

    def build(self) -> Region:
        """Read the region's part of the problem."""


class Exchange(Protocol):
    """A host of regions.

    ``scatter`` comes first, then sweeps, then ``collect`` any number of times, then ``close``. An exchange
    that can go on from a checkpoint returns the reports of the checkpoint from ``scatter``, and says in
    ``sweeps`` how many sweeps had been done.
    """

    #: Sweeps that are done, those before a checkpoint included.
    sweeps: int

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Make a worker for each task, and return their reports before the first sweep."""

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep and write a checkpoint where the host has any; return the report of each region."""

    def collect(self, ask: Callable[[Worker], Answer]) -> Iterator[Answer]:
        """Yield what a function returns for the worker of each region, in order; it can be pickled."""

    def close(self) -> None:
        """Release all that the host has; after Ctrl-C, too."""


def check_flows(exchange: Exchange, control: Control) -> None:
    """Prove that the states of all regions are a flow together; a checkpoint may come from anybody.

    VerificationError: they are not.
    """
    flows = []
    for found in exchange.collect(Worker.flows):
        control.check_wanted()
        flows.append(found)
    for _ in exchange.collect(partial(Worker.check_flow, flows=flows)):
        control.check_wanted()


class Outgoing(NamedTuple):
    """The flow over the border arcs of a region between a discharge and the exchange of messages."""

    residual: Amounts  #: residual capacities, which do not count what was sent in the discharge
    sent: Amounts


class Worker:
    """A region with its side of the border: the labels, what it has sent, and what has arrived.

    Every host uses this class. All of its methods take and return plain arrays, so a host can run it in
    another process. A host on files unloads its `region`; only `augment` and the proof need the region's
    arrays.
    """

    def __init__(self, number: int, region: Region) -> None:
        self.number = number
        self.region = region
        self.residual = region.border.capacity.copy()
        arcs, kind = len(self.residual), self.residual.dtype
        self.border = region.border._replace(capacity=self.residual[:0])
        self._label: Labels = np.zeros(arcs, dtype=np.int32)
        self._ghost_label: Labels = np.zeros(arcs, dtype=np.int32)
        # A host on files has the borders of all regions in memory: this has no entries if nothing was sent.
        self._push: Amounts = np.zeros(0, dtype=kind)
        self._gain: Amounts = np.zeros(arcs, dtype=kind)
        self._bound = 0
        self._waiting = 0
        self._changed, self._complete = True, False
        self._links: dict[int, Links] = {}

    def discharge(self, order: Order, control: Control) -> dict[int, Message]:
        """Carry out an order; return the message to each neighbour."""
        self.raise_labels(order.raised)
        return self.augment(order.limit, control)

    def augment(self, limit: int, control: Control) -> dict[int, Message]:
        """Discharge, if that may change something; return the message to each neighbour."""
        if not self.is_ready(limit):
            self._push = self._push[:0].copy()
        else:
            done = self.region.discharge(self._gain, self._ghost_label, limit, control)
            self._push = done.push.astype(self.residual.dtype, copy=False)
            self._gain = np.zeros_like(self._gain)
            self._label = np.maximum(self._label, done.label)
            self._bound, self._waiting = done.bound, done.waiting
            # A stopped discharge is repeated, also where no ghost reaches the sink any more.
            self._changed, self._complete = control.stopped and not done.complete, done.complete
            self._links.clear()
        return {
            neighbour: Message(self._sent(part).copy(), self._label[part])
            for neighbour, part in self._parts()
        }

    def idle_message(self, neighbour: int) -> Message:
        """Return the message of a region that has sent nothing since the last exchange."""
        part = dict(self._parts())[neighbour]
        return Message(np.zeros_like(self._gain[part]), self._label[part])

    def receive(self, messages: Mapping[int, Message]) -> Report:
        """Fuse the flows over the arcs to all neighbours with those of the messages; return the report."""
        self.fuse(messages)
        return self.report()

    def fuse(self, messages: Mapping[int, Message]) -> None:
        """Fuse the flows over the arcs to some neighbours with those of the messages.

        A push from u to v makes residual capacity from v to u. It is kept only if the new labels allow that:
        ``label(v) <= label(u) + 1``. Otherwise it returns to u. Both regions decide alike.
        """
        for neighbour, part in self._parts():
            message = messages.get(neighbour)
            if message is None:
                continue
            mine, theirs, sent = self._label[part], message.label, self._sent(part)
            kept = np.where(theirs <= mine + 1, sent, 0)
            came = np.where(mine <= theirs + 1, message.push, 0)
            self.residual[part] += came - kept
            self._gain[part] += sent - kept + came
            sent[:] = 0
            self._learn(neighbour, part, theirs)
        if not self._push.any():
            self._push = self._push[:0].copy()

    def is_ready(self, limit: int) -> bool:
        """Return whether a discharge with this limit may change something."""
        if self._changed or self.is_active:
            return True
        return not self._complete and bool((self._ghost_label < limit).any())

    @property
    def ready(self) -> bool:
        """Whether a discharge without a limit may change something."""
        return self._changed or not self._complete or self.is_active

    @property
    def is_active(self) -> bool:
        """Whether flow has arrived since the last discharge."""
        return bool(self._gain.any())

    @property
    def arrived(self) -> int:
        """The flow that has arrived since the last discharge."""
        return total(self._gain)

    @property
    def is_waiting(self) -> bool:
        """Whether the limit of the last discharge left excess that may reach the sink."""
        return self._waiting > 0

    def report(self) -> Report:
        """Return the report of the region as of now; its parts are kept until they change."""
        for neighbour, part in self._parts():
            if neighbour not in self._links:
                # Both labels and whether the arc is open in one number, which NumPy sorts faster than rows.
                number = self._label[part].astype(np.int64) << 31 | self._ghost_label[part]
                found = np.unique(number << 1 | (self.residual[part] > 0))
                own, there = found >> 32, found >> 1 & 0x7FFFFFFF
                rows = np.stack([np.full_like(own, neighbour), own, there], axis=1)
                self._links[neighbour] = Links(own, rows[found & 1 == 1].astype(np.int32))
        known = [self._links[neighbour] for neighbour in self.border.neighbours]
        return Report(
            self.number,
            np.unique(np.concatenate([[], *(links.labels for links in known)])).astype(np.int32),
            np.concatenate([np.zeros((0, 3), dtype=np.int32), *(links.rows for links in known)]),
            self._bound,
            self._waiting + self.arrived,
            self.ready,
        )

    def state(self) -> dict[str, Array]:
        """Return the arrays of the border, from which :meth:`restore` continues."""
        numbers = as_array(self._bound, self._waiting, self._changed, self._complete)
        return {
            "residual": self.residual,
            "label": self._label,
            "ghost_label": self._ghost_label,
            "gain": self._gain,
            "numbers": numbers,
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned."""
        self.residual, self._gain = state["residual"].copy(), state["gain"].copy()
        self._label, self._ghost_label = state["label"].copy(), state["ghost_label"].copy()
        self._push = self._gain[:0].copy()
        self._bound, self._waiting, changed, complete = from_array(state["numbers"])
        self._changed, self._complete = bool(changed), bool(complete)
        self._links.clear()

    def outgoing(self) -> Outgoing:
        """Return what :meth:`take_back` needs after an exchange that is not valid."""
        sent = self._push if len(self._push) else np.zeros_like(self._gain)
        return Outgoing(self.residual.copy(), sent.copy())

    def take_back(self, before: Outgoing | None) -> None:
        """Undo the exchange since the last discharge: all that was sent returns, and nothing has arrived.

        `before` is the flow before messages came; None, if none came.
        """
        residual, sent = before or self.outgoing()
        self.residual, self._gain = residual.copy(), sent.copy()
        self._push = self._push[:0].copy()
        self._links.clear()

    def send_again(self, residual: Amounts, control: Control) -> None:
        """Become the worker of a region that was lost, after it was built; augment to its sinks.

        `residual` has the residual capacities of its border arcs when it was lost. All labels are lower
        bounds, but those of its neighbours need not be: a search must replace them.
        """
        flow = self.residual.astype(np.int64) - residual
        self.residual = residual.copy()
        if flow.any():
            self.region.send_again(flow, control.threads)
        self.augment(0, control)

    def take_flow(self, residual: Amounts) -> None:
        """Take over the residual capacities of the border arcs from another solver."""
        self.residual = residual
        self._links.clear()

    def sink_side(self) -> NDArray[np.bool_]:
        """Return the vertices of the region on the sink's side."""
        return self.region.sink_side()

    def proofs(self) -> dict[int, Proof]:
        """Return what each neighbour needs to verify the cut."""
        flow = self.region.border.capacity - self.residual
        side = self.region.border_sides()
        return {neighbour: Proof(flow[part], side[part]) for neighbour, part in self._parts()}

    def flows(self) -> dict[int, NDArray[np.int64]]:
        """Return the net flow over the arcs to each neighbour."""
        flow = self.region.border.capacity.astype(np.int64) - self.residual
        return {neighbour: flow[part] for neighbour, part in self._parts()}

    def check_flow(self, flows: Sequence[Mapping[int, NDArray[np.int64]]]) -> None:
        """Prove that a state, which may come from anywhere, is a flow with the value that it says.

        `flows` has those of all regions. Labels need not be right: the cut is proved once the solve is at its
        end. VerificationError: it is not.
        """
        for labels in (self._label, self._ghost_label):
            if (labels < 0).any() or (labels > INFINITE).any():
                raise VerificationError("a label at the border is out of range")
        if (self._gain < 0).any() or (self.residual < 0).any() or self._waiting < 0:
            raise VerificationError("an amount at the border is negative")
        theirs = [flows[neighbour][self.number] for neighbour in self.border.neighbours]
        together = np.concatenate([np.zeros(0, dtype=np.int64), *theirs])
        bound = self.region.check_flow(together, self.residual, self._gain)
        if bound != self._bound:
            raise VerificationError(f"the flow proves {bound} in a region, not {self._bound}")
        self._changed |= not self._complete  # what the ghosts' labels were is not known

    def verify(self, proofs: Sequence[Mapping[int, Proof]], optimal: bool) -> int:
        """Verify the region's part: see :meth:`Region.verify`; `proofs` has the claims of all regions."""
        return self.region.verify(self._together(proofs), self._gain, optimal)

    def capacity(self, proofs: Sequence[Mapping[int, Proof]]) -> CutShare:
        """Return the region's share of the capacity of the cut, as the caller gave capacities."""
        return self.region.capacity(self._together(proofs))

    def _together(self, proofs: Sequence[Mapping[int, Proof]]) -> Proof:
        theirs = [proofs[neighbour][self.number] for neighbour in self.border.neighbours]
        flow = np.concatenate([each.flow for each in theirs] or [np.zeros(0, dtype=np.int64)])
        side = np.concatenate([each.sink_side for each in theirs] or [np.zeros(0, dtype=np.bool_)])
        return Proof(flow, side)

    def check_labels(self) -> None:
        """Assert that no residual border arc leads down by more than one label; called by tests."""
        open_ = self.residual > 0
        assert (self._label[open_] <= self._ghost_label[open_] + 1).all(), "a residual arc leads down"

    def raise_labels(self, raised: Mapping[int, Raised]) -> None:
        """Take over the labels that a search of the border has raised."""
        own = raised.get(self.number)
        if own is not None:
            self._label = own.applied(self._label)
            self._links.clear()
        for neighbour, part in self._parts():
            if neighbour in raised:
                self._learn(neighbour, part, raised[neighbour].applied(self._ghost_label[part]))

    def _learn(self, neighbour: int, part: slice, labels: Labels) -> None:
        """Take over labels of ghosts; behind saturated arcs they matter to incomplete discharges only."""
        changed = self._ghost_label[part] != labels
        if self._complete:
            changed &= self.residual[part] > 0
        self._ghost_label[part] = labels
        self._links.pop(neighbour, None)
        self._changed |= bool(changed.any())

    def _sent(self, part: slice) -> Amounts:
        """Return what was sent over some arcs since the last exchange."""
        return self._push[part] if len(self._push) else np.zeros_like(self._gain[part])

    def _parts(self) -> Iterator[tuple[int, slice]]:
        first = self.border.first.tolist()
        for i, neighbour in enumerate(self.border.neighbours):
            yield neighbour, slice(first[i], first[i + 1])
