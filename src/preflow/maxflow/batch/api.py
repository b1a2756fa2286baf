"""max_flow_batch: read the networks, scale their capacities, solve them together, wrap the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, NetworkInput, Vertices
from ...certify.cut import cut_capacity
from ...certify.flow import COARSE
from ...checks import listed
from ...cuda.runtime import Device
from ...errors import InvalidInputError, UnboundedFlowError
from ...graph.convert import as_flow_problem
from ...graph.network import EXACT_FLOAT, INT64_MAX, FlowNetwork
from ...graph.network_batch import FlowNetworkBatch, naming
from ...graph.placement import gpu_of_method
from ...graph.scaling import LEAST_LIMIT, MARGIN, accepted_gap, is_close, limit_above, proved_gap, sum_slack
from ...graph.solved_capacities import BITS_OF_SUM
from ...progress import Reporter
from ...solving.call import Call, Request
from ...solving.options import NoOptions
from ...solving.plan import Plan
from ...solving.timing import timed
from ...stats import SolveStats
from ..api import FlowCall
from ..problem import METHODS as FLOW_METHODS
from ..result import MaxFlowResult
from . import cuda_dinic
from .arrays import (
    DOWN,
    DOWN_TOO,
    ENTERING,
    FINITE,
    LARGEST,
    LEAVING,
    LIMIT,
    NUM_BROKEN,
    NUM_INFINITE,
    SOLVED,
    UNSEEN,
    UP,
    UP_TOO,
    WIDE,
    Found,
    items_of,
    nothing_found,
)
from .methods import METHODS
from .multicore_augmenting_paths import Solver
from .result import MaxFlowBatchResult

#: A network of integers is solved with the others if its sums stay below this number, by :func:`max_flow`
#: otherwise.
MOST = 2.0**62
#: Arcs for each thread, at least: starting a thread takes the time of some hundred arcs.
ARCS_A_THREAD = 2000


def max_flow_batch(
    networks: FlowNetworkBatch | Iterable[NetworkInput],
    source: Vertices = None,
    sink: Vertices = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> MaxFlowBatchResult:
    """Find maximum flows and minimum cuts of many small networks in one call.

    A call of :func:`preflow.max_flow` takes some hundred microseconds besides the search, more than the
    search in a small network. Here each thread solves whole networks, one after the other, in memory that
    stays in its cache.

    Parameters
    ----------
    networks : FlowNetworkBatch, or iterable of networks
        Items of an iterable are all that :func:`preflow.max_flow` takes, also a MaxFlowProblem with its own
        source and sink. Networks on a GPU are copied to the host.
    source, sink : vertex, or sequence of vertices, shape (items,)
        A list, tuple or array has the terminal of each item; a single vertex is that of all items. Labels
        where networks came from NetworkX, otherwise numbers from 0. An item has one source and one sink.
    device : {"auto", "cpu", "cuda"}
        "auto" is the CPU.
    threads : int, optional
        Greatest number of CPU threads; by default as many as the process may use.
    time_limit : float, optional
        Seconds. On expiry the result's `status` says so; items that were not solved have flows and bounds.
    progress : bool or function
        As in :func:`preflow.max_flow`.

    Returns
    -------
    MaxFlowBatchResult
        Its arrays have the dtype of the capacities: int64, or float64 if those of any network are floats.
        Values of integers are exact, and so are those of floats that are integers up to 2**53, if the value
        is one, too. Other floats are rounded like those of :func:`preflow.max_flow`, each network for itself.

    Raises
    ------
    InvalidInputError
        A network, a terminal or an argument is malformed; the message names the item.
    CapacityOverflowError
        The maximum flow of an item is past int64, or floats sum past float64.
    UnboundedFlowError
        Arcs of infinite capacity lead from the source to the sink of an item.

    Notes
    -----
    Shortest augmenting paths (Ahuja and Orlin 1991): O(n^2 m) for each item. For hard networks of some
    thousand arcs and more the methods of :func:`preflow.max_flow` are faster. A few networks are solved by
    that function: integers that sum past 2**62.

    Examples
    --------
    >>> import preflow
    >>> batch = preflow.FlowNetworkBatch.from_arrays([0, 0, 1], [1, 2, 2], [[3, 1, 2], [1, 5, 9]])
    >>> result = preflow.max_flow_batch(batch, 0, 2)
    >>> result.value.tolist(), result[1].flow.tolist()
    ([3, 6], [1, 5, 1])
    >>> result.verify()
    """
    request = Request(METHODS, "auto", device, threads, time_limit, progress)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        batch, sources, sinks = read_batch(networks, source, sink)
    call = BatchCall.prepare(batch, sources, sinks, request)
    call.count(seconds)
    return call.run(call.find, request)


def read_batch(
    networks: FlowNetworkBatch | Iterable[NetworkInput], source: Vertices, sink: Vertices
) -> tuple[FlowNetworkBatch, NDArray[np.int64], NDArray[np.int64]]:
    """Return the batch with the source and the sink of each item."""
    if isinstance(networks, FlowNetworkBatch):
        batch = networks
        ends = [_terminals(batch, given, role) for given, role in ((source, "source"), (sink, "sink"))]
    else:
        if isinstance(networks, FlowNetwork):
            raise InvalidInputError("networks must be a FlowNetworkBatch or a list, such as [network]")
        problems = listed(networks, "networks")
        given_ends = [
            _each(given, len(problems), role) for given, role in ((source, "source"), (sink, "sink"))
        ]
        items, numbers = [], []
        for item, (problem, *names) in enumerate(zip(problems, *given_ends, strict=True)):
            with naming(item):
                network, *own = as_flow_problem(problem, *names)
                network = network.on_host()
                items.append(network)
                numbers.append([_one(network, name, role) for name, role in zip(own, ROLES, strict=True)])
        batch = FlowNetworkBatch.from_networks(items)
        ends = [np.array([pair[side] for pair in numbers], dtype=np.int64) for side in range(2)]
    same = ends[0] == ends[1]
    if same.any():
        item = int(same.argmax())
        name = batch[item].name(ends[0][item])
        raise InvalidInputError(f"item {item}: vertex {name} is both source and sink")
    for numbers_of_all in ends:
        numbers_of_all.flags.writeable = False
    return batch, ends[0], ends[1]


ROLES = ("source", "sink")


def _each(given: Vertices, count: int, role: str) -> list[Vertices]:
    """Return the terminal of each item as the caller names it."""
    if isinstance(given, np.ndarray) and given.ndim:
        given = given.tolist()
    if isinstance(given, list | tuple):
        if len(given) != count:
            raise InvalidInputError(f"{role} has {len(given)} entries for {count} networks")
        return list(given)
    return [given] * count


def _one(network: FlowNetwork, name: Vertices, role: str) -> int:
    found = network.vertices(name, role)
    if len(found) != 1:
        raise InvalidInputError(f"an item of a batch has one {role}, got {len(found)}")
    return int(found[0])


def _terminals(batch: FlowNetworkBatch, given: Vertices, role: str) -> NDArray[np.int64]:
    """Return the terminal of each item of a batch; only items with labels are looked at one by one."""
    names = _each(given, len(batch), role)
    if batch.has_labels or not all(type(name) is int for name in names):
        found = []
        for item, name in enumerate(names):
            with naming(item):
                found.append(_one(batch[item], name, role))
        return np.array(found, dtype=np.int64)
    numbers = np.array(names, dtype=object)
    wrong = (numbers < 0) | (numbers >= batch.num_vertices)
    if wrong.any():
        item = int(wrong.argmax())
        with naming(item):
            _one(batch[item], names[item], role)
    return numbers.astype(np.int64)


@dataclass(kw_only=True)
class BatchCall(Call[FlowNetworkBatch]):
    """One call of max_flow_batch."""

    #: source, sink: shape (items,)
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    device: Device | None

    @classmethod
    def prepare(
        cls, batch: FlowNetworkBatch, source: NDArray[np.int64], sink: NDArray[np.int64], request: Request
    ) -> BatchCall:
        """Choose the method and the number of threads."""
        chosen = Plan.of("multicore-augmenting-paths", "the method for batches on the CPU")
        if request.device == "cuda":
            chosen = Plan.of("cuda-dinic", "device='cuda': the method for batches on a GPU")
        method, choice = request.choose(lambda: chosen)
        return cls(
            device=gpu_of_method(batch, method),
            instance=batch,
            source=source,
            sink=sink,
            method=method,
            plan=choice,
            options=NoOptions(),
            threads=max(1, min(request.most_threads, len(batch), batch.num_arcs // ARCS_A_THREAD)),
        )

    def find(self) -> MaxFlowBatchResult:
        """Solve all items and wrap the result."""
        with self.current_device():
            return self.find_on_device()

    def solver(self, found: Found) -> Solver | cuda_dinic.Solver:
        """Return the solver of the batch."""
        items = items_of(self.instance, self.source, self.sink)
        if self.device is None:
            return Solver(items, found, self.control)
        return cuda_dinic.Solver(items, found, self.control, self.device)

    def find_on_device(self) -> MaxFlowBatchResult:
        """Solve all items where the method runs, and wrap the result."""
        batch, items = self.instance, len(self.instance)
        found = nothing_found(batch)
        dtype = batch.capacity.dtype
        answers = _Answers(found, np.zeros(items, dtype), np.zeros(items, dtype), np.zeros(items, dtype))
        with self.timed("build"):
            solver = self.solver(found)
            survey = solver.survey()
        with self.timed("solve"):
            if dtype.kind == "f":
                alone = self.solve_floats(solver, survey, answers)
            else:
                alone = (survey[:, [LEAVING, ENTERING]].min(axis=1) >= MOST) | (survey[:, LARGEST] >= MOST)
                alone |= batch.saturated
                solver.solve(np.flatnonzero(~alone))
                answers.lower[:] = found.value
            found = solver.finish()
            answers = answers._replace(found=found)
        for item in np.flatnonzero(alone).tolist():
            self.solve_alone(item, answers)
        self.control.check_wanted()
        optimal, wide = found.ending == SOLVED, found.ending == WIDE
        answers.upper[optimal] = answers.lower[optimal]
        unfinished = ~(optimal | wide)
        if unfinished.any():
            self.bound(unfinished & ~alone, survey, answers)
            for item in np.flatnonzero(unfinished & alone).tolist():
                self.bound_alone(item, answers)
        return MaxFlowBatchResult(
            status=self.control.status(self.method, not unfinished.any(), close=bool(optimal.all())),
            lower_bound=answers.lower,
            upper_bound=answers.upper,
            stats=self.stats(SolveStats),
            flow=found.flow,
            sink_side=found.sink_side,
            source_side=found.source_side,
            optimal=optimal,
            networks=batch,
            source=self.source,
            sink=self.sink,
            _gap=answers.gap,
        )

    def solve_floats(
        self, solver: Solver | cuda_dinic.Solver, survey: NDArray[np.float64], answers: _Answers
    ) -> NDArray[np.bool_]:
        """Solve items with float capacities; return which items are to be solved alone.

        See :mod:`preflow.graph.scaling`. Whole numbers are solved unchanged; infinite ones become more than
        the sum of the others.
        """
        batch, found, scale = self.instance, answers.found, solver.scale
        finite, num_infinite = survey[:, FINITE].copy(), survey[:, NUM_INFINITE]
        rounded = survey[:, NUM_BROKEN] > 0
        least = np.minimum(survey[:, LEAVING], survey[:, ENTERING])
        alone = ~np.isfinite(finite)
        with np.errstate(over="ignore"):
            whole_limit = np.floor(finite * MARGIN) + 1
            endless = (num_infinite + 1) * whole_limit
        largest = np.where(num_infinite > 0, endless, np.maximum(least, survey[:, LARGEST]))
        alone |= ~rounded & ~(largest < MOST)
        scale[:, LIMIT] = np.where(num_infinite > 0, whole_limit, np.inf)
        exponent = np.zeros(len(survey), dtype=np.int64)
        bound = np.minimum(least, finite)
        bound = np.where(bound > 0, bound, np.where(finite > 0, finite, 1.0))
        pending = np.flatnonzero(~alone)
        arcs = np.diff(batch.first_arc)
        while len(pending) and not self.control.stopped:
            inexact = pending[rounded[pending]]
            if len(inexact):
                scale[inexact, LIMIT] = [limit_above(each) for each in bound[inexact].tolist()]
                total = solver.clip(inexact)[inexact]
                alone[inexact[np.isinf(total)]] = True
                pending = pending[~alone[pending]]
                exponent[inexact] = np.where(total > 0, BITS_OF_SUM - np.frexp(total)[1], 0)
                _set_scale(scale, inexact, exponent[inexact])
            found.ending[pending] = UNSEEN
            solver.solve(pending)
            seen = pending[found.ending[pending] != UNSEEN]
            answers.lower[seen] = np.ldexp(found.value[seen].astype(np.float64), -exponent[seen])
            solved = pending[found.ending[pending] == SOLVED]
            upper, lower = found.upper[solved], answers.lower[solved]
            self.check_bounded(solved[np.isinf(upper)])
            slack = sum_slack(1.0) * upper
            exact = ~rounded[solved] & (found.value[solved] <= int(EXACT_FLOAT))
            gap = np.where(exact, 0.0, np.maximum(upper - lower, 0) + slack)
            answers.gap[solved] = gap
            limit = scale[solved, LIMIT]
            small = gap <= accepted_gap(arcs[solved]) * upper
            enough = small & ((upper >= limit / COARSE) | (limit <= LEAST_LIMIT))
            again = rounded[solved] & ~enough & ~(upper >= limit / 2)
            alone[solved[rounded[solved] & ~small & ~again]] = True
            pending = solved[again]
            bound[pending] = upper[again]
        # Where the solve stopped before it was repeated, the gap is wide.
        found.ending[pending] = np.where(found.ending[pending] == SOLVED, UNSEEN, found.ending[pending])
        found.ending[alone] = UNSEEN
        return alone

    def check_bounded(self, unbounded: NDArray[np.int64]) -> None:
        """Raise UnboundedFlowError if there are items whose cuts are infinite."""
        if len(unbounded):
            item = int(unbounded[0])
            sink = self.instance[item].name(self.sink[item])
            raise UnboundedFlowError(
                f"item {item}: the flow is unbounded: arcs of infinite capacity lead from the source to sink "
                f"{sink}"
            )

    def solve_alone(self, item: int, answers: _Answers) -> None:
        """Solve one item by max_flow, within the time limit of the batch."""
        found, batch = answers.found, self.instance
        request = Request(FLOW_METHODS, device="cpu", threads=1)
        with naming(item):
            one = FlowCall.prepare(batch[item], int(self.source[item]), int(self.sink[item]), request)
            one.control = self.control
            result = one.solve(MaxFlowResult)
        found.flow[batch.arcs_of(item)] = result.flow
        answers.lower[item] = result.lower_bound
        if result.status not in ("optimal", "approximate"):
            return
        sink_side, is_optimal = result.sink_side, result.status == "optimal"
        source_side = result.source_side() if is_optimal else ~sink_side
        gap = result.gap
        if batch.capacity.dtype.kind == "f":
            upper = max(float(cut_capacity(result.network, side)) for side in (sink_side, ~source_side))
            gap = max(gap, proved_gap(upper, float(answers.lower[item]), upper))
            is_optimal = is_optimal and is_close(gap, upper, result.network.num_arcs)
            answers.upper[item] = upper
        found.sink_side[batch.vertices_of(item)] = sink_side
        found.source_side[batch.vertices_of(item)] = source_side
        found.ending[item] = SOLVED if is_optimal else WIDE
        answers.gap[item] = gap

    def bound(self, chosen: NDArray[np.bool_], survey: NDArray[np.float64], answers: _Answers) -> None:
        """Let items that are not solved have the cheaper of two cuts, around the source and the sink."""
        batch, found = self.instance, answers.found
        first_vertex = batch.first_vertex[:-1]
        at_source = survey[:, LEAVING] <= survey[:, ENTERING]
        around = np.where(at_source, self.source, self.sink).astype(np.uint32)
        counts = np.diff(batch.first_arc)
        end, outward, inward = (
            np.repeat(values, counts) for values in (around, chosen & at_source, chosen & ~at_source)
        )
        begins, ends = batch.tail == end, batch.head == end
        proper = begins ^ ends  # no loops
        upper = np.zeros(len(batch), dtype=batch.capacity.dtype)
        directions = [(batch.capacity, (begins & outward) | (ends & inward))]
        if batch.reverse_capacity is not None:
            directions.append((batch.reverse_capacity, (ends & outward) | (begins & inward)))
        for capacity, across in directions:
            arcs = np.flatnonzero(across & proper)
            np.add.at(upper, np.searchsorted(batch.first_arc, arcs, side="right") - 1, capacity[arcs])
        answers.upper[chosen] = upper[chosen]
        slack = 0 if upper.dtype.kind == "i" else sum_slack(1.0) * upper[chosen]
        answers.gap[chosen] = np.maximum(upper[chosen] - answers.lower[chosen], 0) + slack
        sink_side = np.repeat(at_source, batch.num_vertices)
        sink_side[first_vertex + self.source] = False
        sink_side[first_vertex + self.sink] = True
        changed = np.repeat(chosen, batch.num_vertices)
        found.sink_side[changed], found.source_side[changed] = sink_side[changed], ~sink_side[changed]

    def bound_alone(self, item: int, answers: _Answers) -> None:
        """Do the same for an item that is solved alone, exactly."""
        network = self.instance[item]
        only_sink, all_but_source = (np.zeros(network.num_vertices, dtype=bool) for _ in range(2))
        only_sink[self.sink[item]] = True
        all_but_source[:] = True
        all_but_source[self.source[item]] = False
        cuts = [(cut_capacity(network, side), side) for side in (only_sink, all_but_source)]
        capacity, side = min(cuts, key=lambda cut: cut[0])
        part = self.instance.vertices_of(item)
        answers.found.sink_side[part], answers.found.source_side[part] = side, ~side
        integer = network.capacity.dtype.kind == "i"
        answers.upper[item] = min(capacity, INT64_MAX) if integer else capacity
        answers.gap[item] = proved_gap(
            answers.upper[item].item(), answers.lower[item].item(), answers.upper[item].item()
        )


class _Answers(NamedTuple):
    """The answers so far."""

    found: Found
    #: the dtype of the capacities, shape (items,)
    lower: Array
    upper: Array
    gap: Array


def _set_scale(scale: NDArray[np.float64], items: NDArray[np.int64], exponent: NDArray[np.int64]) -> None:
    """Write the powers of two by which items are scaled, as products of two."""
    half = exponent // 2
    for column, power in ((UP, half), (UP_TOO, exponent - half), (DOWN, -half), (DOWN_TOO, half - exponent)):
        scale[items, column] = np.ldexp(1.0, power)
