"""max_flow and cuts of networks of arcs: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, ColumnName, EndsNames, NetworkInput
from ..certify.cut import cut_capacity
from ..certify.flow import COARSE
from ..cuda.runtime import Device
from ..errors import CapacityOverflowError, SolverError
from ..graph.convert import as_flow_problem
from ..graph.edge_tables import ColumnNames
from ..graph.network import INT64_MAX, DeviceFlowNetwork, FlowNetwork, exact_sum
from ..graph.placement import gpu_of_method, gpu_worth_using
from ..graph.residual import ResidualArrays, build_residual
from ..graph.scaling import EXACT, Rule, accepted_gap, is_close, proved_gap, solve_within_gap
from ..graph.solved_capacities import SolvedCapacities
from ..method_names import DeviceName, FlowMethodName
from ..progress import Reporter
from ..solving.call import Call, Request
from ..solving.dispatch import thread_count, usable_cpus
from ..solving.plan import Plan
from ..solving.run import Deadline
from ..solving.timing import timed
from ..stats import SolveStats, added_up
from ..steps.second_stage import HostSecondStage
from ..steps.step import FlowProblem, SecondStage
from . import policy, small
from .problem import METHODS
from .result import (
    Kind,
    MaxFlowResult,
    MinCutResult,
    best_cut,
    check_not_saturated,
    lifted_answer,
    lifted_cut,
)

if TYPE_CHECKING:
    from .problem import DeviceSolver, HostSolver

#: Up to this many arcs a serial method of "auto" runs in the thread of the caller. Networks of 12 families
#: with about as many took at most 7 ms. To hand 15 arcs to another thread took 0.07 of 0.28 ms, and 0.3 of
#: 1.3 ms in a solve again after other work had emptied the caches.
QUICK_ARCS = 10_000

Step = TypeVar("Step")


def max_flow(
    network: NetworkInput,
    source: Any = None,
    sink: Any = None,
    *,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
    flow_limit: float | None = None,
    ends: EndsNames = None,
    capacity: ColumnName = None,
) -> MaxFlowResult:
    """Find a maximum flow, and with it a minimum cut.

    Parameters
    ----------
    network : FlowNetwork, MaxFlowProblem, edges, matrix, or graph of a library
        A tuple is arcs: three arrays with the tail, the head and the capacity of each. A square matrix
        (sparse, dense or a list of rows) has the capacity of the arc from u to v at (u, v); zeros of a
        dense matrix are not arcs. A list of three is refused, since it could be either. Arrays may be on a
        GPU: CuPy arrays, or others with ``__dlpack__`` such as Torch tensors. Results are then of the same
        kind, and "auto" takes a method that runs on the GPU; a method that runs on the CPU gets a copy.

        Vertices may have labels instead of numbers, anything hashable: in a list of tuples (tail, head,
        capacity), in a dictionary ``{tail: {head: capacity}}``, in a table with the columns "source",
        "target" and "capacity" (a DataFrame of pandas or polars, an Arrow table, a relation of DuckDB), and
        in a graph of NetworkX, igraph or rustworkx with the attribute "capacity". `ends` and `capacity` name
        other columns and attributes.

        A MaxFlowProblem, which :func:`preflow.read_dimacs` returns, has its own source and sink. So has a
        :class:`preflow.GridNetwork`, whose arcs are numbered as in its `to_flow_problem`.
    source, sink : vertex, or collection of vertices
        Labels if the network has labels, otherwise numbers from 0.
    method : str
        A name from ``preflow.methods("max_flow")``, or "auto".
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU for a large network, if there is one and `threads` is not given. The result's
        `stats.reason` says why.
    threads : int, optional
        Greatest number of CPU threads, up to 255; by default as many as the process may use and the method
        can.
    time_limit : float, optional
        Seconds for building and solving. A last search, and the flow when it is read, take additional time,
        both linear in the network, and so does compiling, once, which neither this limit nor Ctrl-C
        interrupts. On expiry the result's `status` says so, its `flow` is feasible with value
        `lower_bound`, and `upper_bound` is the capacity of a cut.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.
    options : mapping, optional
        Options of the named method, such as ``{"relabel_period": 0.5}``; "auto" takes none.
    flow_limit : int or float, optional
        The largest value that the flow may have. If more is possible, the result's `status` is "flow-limit",
        its `flow` is feasible and has this value (for floats up to rounding), and `upper_bound` is the
        capacity of a cut that need not be minimum. Otherwise the result is that of a call without limit.
        An integer where the capacities are.
    ends : (str, str), optional
        Of a table: the columns of tails and heads, where their names do not say so.
    capacity : str, optional
        The column of a table, or the attribute of edges, with the capacities. Default: "capacity".

    Returns
    -------
    MaxFlowResult
        Its value is exact for integers. For floats it is within `gap` of the maximum, whatever the range of
        the capacities: see :attr:`preflow.MaxFlowResult.gap`.

    Raises
    ------
    InvalidInputError
        The network, a terminal or an argument is malformed.
    CapacityOverflowError
        The maximum flow of integers is past int64, or floats sum past float64.
    UnboundedFlowError
        Arcs of infinite capacity lead from a source to a sink.
    DeviceUnavailableError
        There is no such device, or software to use it is missing.
    DeviceMemoryError
        The network does not fit the GPU's memory.

    Notes
    -----
    On the CPU "auto" finds out whether a large network of arcs is a grid, and then solves it as
    :func:`grid_cut` does, with no arcs stored: `stats.reason` says so, and `stats.method` is a method of that
    function. In other networks it first contracts arcs that no minimum cut contains, where the capacities
    suggest that there are many: see :mod:`preflow.steps.contract`.
    Before that it moves a terminal behind one arc that no minimum cut contains: see
    :mod:`preflow.steps.past_arc`.

    Push-relabel in two stages: O(n^2 sqrt(m)) for the highest-label methods, O(n^3) for FIFO; memory about
    24 bytes a pair of adjacent vertices, 32 if capacities need 64 bits. Goldberg and Tarjan 1988;
    Cherkassky and Goldberg 1997. On a GPU up to 62 bytes an arc and 72 a vertex; up to 40 and 32 of them
    stay allocated as long as the result is kept.

    Examples
    --------
    >>> import preflow
    >>> result = preflow.max_flow(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3)
    >>> result.value, result.flow.tolist()
    (4, [2, 2, 2, 2])
    >>> result.verify()

    >>> limited = preflow.max_flow(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3, flow_limit=3)
    >>> limited.status, limited.lower_bound
    ('flow-limit', 3)

    >>> roads = [("depot", "north", 4), ("depot", "south", 3), ("north", "shop", 2), ("south", "shop", 5)]
    >>> preflow.max_flow(roads, "depot", "shop").flow_dict()["depot"]
    {'north': 2, 'south': 3}
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    problem = read_flow_problem(network, source, sink, ColumnNames(ends, capacity))
    if flow_limit is not None:
        from ..steps import limit

        most = limit.read_flow_limit(flow_limit, problem.network)
        if most is not None:
            limited = limit.apply(problem, most)
            cut = smallest_cut(MinCutResult, limited.reduced, request)
            return lifted_cut(MaxFlowResult, problem, limited, cut, flow_limit=most)
    return smallest_cut(MaxFlowResult, problem, request, clear=True)


def smallest_cut(kind: type[Kind], problem: FlowProblem, request: Request, *, clear: bool = False) -> Kind:
    """Make the problem smaller if that is worth it, and find a minimum cut, or a flow, as a result of a kind.

    `clear` is as in :func:`preflow.maxflow.policy.worth_a_search_for_a_grid`.
    """
    quick = small.cut(kind, problem, request, _small_call)
    if quick is not None:
        return quick
    if policy.worth_moving_terminals(problem.network) and not _asks_for_more(problem, request):
        from ..steps import past_arc

        moved, request = tried(past_arc.apply, problem, request, "build")
        if moved is not None:
            cut = _cut_in_place(MinCutResult, moved.reduced, request, clear=clear)
            return lifted_cut(kind, problem, moved, cut)
    return _cut_in_place(kind, problem, request, clear=clear)


def _cut_in_place(kind: type[Kind], problem: FlowProblem, request: Request, *, clear: bool) -> Kind:
    """Do as :func:`smallest_cut` with the terminals where they are."""
    found, request = cut_as_grid(kind, problem, request, clear=clear)
    if found is None:
        found, request = cut_contracted(kind, problem, request)
    if found is not None:
        return found
    call = FlowCall.of(problem, request)
    return call.run(partial(call.solve, kind), request)


def _small_call(problem: FlowProblem) -> FlowCall:
    return FlowCall.of(problem, Request(METHODS), lambda: small.QUICK)


def cut_as_grid(
    kind: type[Kind], problem: FlowProblem, request: Request, *, clear: bool
) -> tuple[Kind | None, Request]:
    """Solve a network that is a grid as a grid, with no arcs stored.

    Return None if the network is no grid or better solved otherwise, or if a method or a GPU is asked for;
    and what is left of the request, with the rest of its time limit.
    """
    network, sources, sinks, seconds = problem
    if (
        _asks_for_more(problem, request)
        or network.saturated
        or not len(sources) == len(sinks) == 1
        or not policy.worth_a_search_for_a_grid(network, int(sources[0]), int(sinks[0]), clear=clear)
        or gpu_worth_using(network, policy.worth_a_gpu, request.may_look_for_gpu) is not None
    ):
        return None, request
    from ..gridcut.api import cut_of_grid
    from ..gridcut.problem import METHODS as GRID_METHODS
    from ..steps import as_grid

    step = partial(as_grid.apply, threads=min(request.most_threads, usable_cpus()))
    applied, request = tried(step, problem, request, "build")
    if applied is None:
        return None, request
    cut = cut_of_grid(applied.reduced, replace(request, methods=GRID_METHODS, device="cpu"), None)
    # The phase "recover" of a cut of arcs is the second stage, which has not run.
    solving = dict(cut.stats.seconds)
    solving["solve"] += solving.pop("recover")
    stats = replace(cut.stats, seconds=added_up(seconds, solving))
    answer = lifted_answer(kind, problem, applied, cut, ~cut.labels, cut.residual_by_pixel(), stats)
    return answer, request


def cut_contracted(kind: type[Kind], problem: FlowProblem, request: Request) -> tuple[Kind | None, Request]:
    """Contract arcs that no minimum cut contains, and solve what is left.

    Return None if too few arcs can be contracted, or a method or a GPU is asked for; and what is left of the
    request, with the rest of its time limit.
    """
    if _asks_for_more(problem, request) or not policy.worth_a_contraction(problem.network):
        return None, request
    from ..steps import contract

    applied, request = tried(contract.apply, problem, request, "solve")
    if applied is None:
        return None, request
    call = FlowCall.of(applied.reduced, replace(request, device="cpu"))
    cut = call.run(partial(call.solve, MinCutResult), request)
    return lifted_cut(kind, problem, applied, cut), request


def _asks_for_more(problem: FlowProblem, request: Request) -> bool:
    """Whether a method or a GPU is to solve the problem as it is."""
    on_gpu = request.device == "cuda" or isinstance(problem.network, DeviceFlowNetwork)
    return on_gpu or request.method != "auto"


def tried(
    step: Callable[[FlowProblem, Deadline], Step | None], problem: FlowProblem, request: Request, phase: str
) -> tuple[Step | None, Request]:
    """Try a step, whose time counts as that of a phase; return what is left of the request, too."""
    deadline = Deadline(request.time_limit)
    with timed(problem.seconds, phase):
        applied = step(problem, deadline)
    return applied, replace(request, time_limit=deadline.left())


def read_flow_problem(
    network: NetworkInput, source: Any, sink: Any, names: ColumnNames | None = None
) -> FlowProblem:
    """Read a network in any form that :func:`max_flow` takes, and check its terminals."""
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        flow_network, source, sink = as_flow_problem(network, source, sink, names)
    return FlowProblem(flow_network, *flow_network.terminals(source, sink), seconds)


def check_heights(name: str, height: object, count: int) -> None:
    """Raise SolverError unless a solver returned an integer for each of `count` vertices."""
    if isinstance(height, np.ndarray) and height.shape == (count,) and height.dtype.kind in "iu":
        return
    shape = f" of shape {height.shape} and {height.dtype}" if isinstance(height, np.ndarray) else ""
    raise SolverError(
        f"solver {name!r} returned {type(height).__name__}{shape}, not heights: an array of {count} integers"
    )


@dataclass(frozen=True)
class _FirstStage:
    """A solve as the first stage left it: an :class:`preflow.graph.scaling.Outcome`.

    The sink side is an array of the network's kind.
    """

    network: FlowNetwork
    capacities: SolvedCapacities
    second_stage: SecondStage
    sink_side: AnyArray
    finished: bool
    lower: int | float

    @property
    def scale_exponent(self) -> int | None:
        return self.capacities.scale_exponent

    @property
    def limit(self) -> float:
        return self.capacities.limit

    @cached_property
    def upper(self) -> int | float:
        return cut_capacity(self.network, self.sink_side)

    @property
    def size(self) -> int | float:
        return self.upper


@dataclass(kw_only=True)
class FlowCall(Call[FlowNetwork]):
    """One call of max_flow or min_cut."""

    UNPROVED = "heights that prove nothing"
    METHODS = METHODS

    device: Device | None
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    build_threads: int  #: CPU threads that build the residual network

    @classmethod
    def prepare(cls, network: NetworkInput, source: Any, sink: Any, request: Request) -> FlowCall:
        """Read the network, check the terminals and choose the method."""
        return cls.of(read_flow_problem(network, source, sink), request)

    @classmethod
    def of(cls, problem: FlowProblem, request: Request, made: Callable[[], Plan] | None = None) -> FlowCall:
        """Choose the method, by a plan that was made for the problem if there is one."""
        flow_network = problem.network

        def plan() -> Plan:
            gpu = gpu_worth_using(flow_network, policy.worth_a_gpu, request.may_look_for_gpu)
            return policy.choose(flow_network, request.device, request.most_threads, gpu)

        method, chosen = request.choose(made or plan)
        device = gpu_of_method(flow_network, method)
        threads = thread_count(method, chosen.threads, flow_network.num_vertices)
        build_threads = request.most_threads if request.method == "auto" else threads
        return cls(
            instance=flow_network,
            sources=problem.sources,
            sinks=problem.sinks,
            method=method,
            plan=chosen,
            threads=threads,
            build_threads=min(build_threads, usable_cpus()),
            device=device,
            seconds=problem.seconds,
        )

    @property
    def num_vertices(self) -> int:
        """No method gets more threads than this."""
        return self.instance.num_vertices

    def is_quick(self, request: Request) -> bool:
        """Whether one thread of the host solves a small network."""
        small = self.threads == 1 and self.device is None and self.instance.num_arcs <= QUICK_ARCS
        return small and request.method == "auto"

    def solve(self, kind: type[Kind]) -> Kind:
        """Run the first stage and wrap the cut, as a result of a kind."""
        with self.current_device():
            return self.first_stage(kind)

    def first_stage(self, kind: type[Kind]) -> Kind:
        """Build and solve."""
        gap: int | float
        solved = solve_within_gap(
            self.build_and_solve,
            is_float=self.instance.capacity.dtype.kind == "f",
            accepted=accepted_gap(self.instance.num_arcs),
            coarse=COARSE,
            has_finer=True,
        )
        if solved.finished and solved.scale_exponent is not None and isinstance(solved.lower, int):
            gap = int(solved.upper) - solved.lower
            # Without a gap the sink side is exact; the source side may lack arcs that were rounded to 0.
            if gap or solved.scale_exponent < 0:
                solved = self.completed(solved, gap)
        sink_side, upper_bound = solved.sink_side, solved.lower
        gap, close = 0, True
        self.control.check_wanted()
        if not solved.finished:
            whole = solved.scale_exponent is None
            sink_side, upper_bound = best_cut(self.instance, self.sources, self.sinks, sink_side, whole=whole)
            gap = proved_gap(upper_bound, solved.lower, upper_bound)
        elif solved.scale_exponent is not None:
            gap = proved_gap(solved.upper, solved.lower, solved.size)
            close = is_close(gap, solved.size, self.instance.num_arcs)
            upper_bound = solved.lower if close else solved.upper
        status = self.control.status(self.method, solved.finished, self.UNPROVED, close=close)
        if isinstance(solved.lower, int) and solved.finished and solved.lower > INT64_MAX:
            raise CapacityOverflowError(f"the maximum flow is past int64: {solved.lower}")
        if solved.finished:
            check_not_saturated(self.instance, sink_side, "minimum")
        return kind(
            status=status,
            lower_bound=solved.lower,
            upper_bound=upper_bound,
            stats=self.stats(SolveStats),
            sink_side=self.instance.to_caller(sink_side),
            network=self.instance,
            sources=self.sources,
            sinks=self.sinks,
            _gap=gap,
            _second_stage=solved.second_stage,
        )

    def completed(self, solved: _FirstStage, gap: int) -> _FirstStage:
        """Return an exact solve of integers from a rounded one whose value is at most `gap` too low."""
        from ..steps import complete

        flow = self.instance.to_array_module(solved.second_stage.flow(self.timed))
        problem = FlowProblem(self.instance, self.sources, self.sinks, self.seconds)
        applied = complete.apply(problem, flow, gap)
        added = self.part(instance=applied.reduced.network).build_and_solve(EXACT)
        return replace(
            added,
            network=self.instance,
            second_stage=applied.lift_flow(added.second_stage),
            lower=solved.lower + added.lower,
        )

    def build_and_solve(self, rule: Rule) -> _FirstStage:
        """Build the residual network and run the first stage, in the memory that the method works in."""
        self.control.remarks.clear()
        if self.device is not None and self.method.memory == "device":
            return self.build_and_solve_on_device(self.device, rule)
        network = self.instance.on_host()
        with self.timed("build"):
            residual = build_residual(
                network,
                self.sources,
                self.sinks,
                threads=self.build_threads,
                rule=rule,
                check_wanted=self.control.check_wanted,
                renumber=self.threads == 1,
            )
        initial_sink_residual = exact_sum(residual.arrays.sink_residual)
        height = self.by_plan(lambda _: self.first_heights(residual.arrays))
        arrived = initial_sink_residual - exact_sum(residual.arrays.sink_residual)
        reaching = height <= residual.num_vertices
        return _FirstStage(
            self.instance,
            residual.solved,
            HostSecondStage(network, residual),
            self.instance.to_array_module(np.append(reaching, [False, True])[residual.inner]),
            not residual.arrays.excess[reaching].any(),
            residual.in_input_units(residual.constant_flow + arrived),
        )

    def first_heights(self, net: ResidualArrays) -> Array:
        """Return the heights that the method leaves."""
        solve: HostSolver = self.method.solve
        self.control.limit_by_budget(len(net.excess) + len(net.head))
        height = solve(net, self.options, self.control)
        self.control.check_budget("its budget is spent")
        check_heights(self.method.name, height, len(net.excess))
        return height

    def build_and_solve_on_device(self, device: Device, rule: Rule) -> _FirstStage:
        """Build the residual network in the memory of a GPU and run the first stage."""
        from ..graph.device.build import build_on_device
        from ..steps.second_stage.on_gpu import DeviceSecondStage

        solve: DeviceSolver = self.method.solve
        residual = build_on_device(
            device,
            self.instance,
            self.sources,
            self.sinks,
            threads=self.build_threads,
            rule=rule,
            phase=self.timed,
        )
        net = residual.arrays
        initial_sink_residual = exact_sum(net.sink_residual)
        with self.timed("solve"):
            height = solve(net, self.options, self.control)
        arrived = initial_sink_residual - exact_sum(net.sink_residual)
        reaching = height <= residual.num_vertices
        finished = not bool((reaching & (net.excess > 0)).any())
        sink_side = residual.by_input_vertex(reaching, False, True)
        if not isinstance(self.instance, DeviceFlowNetwork):
            with self.timed("download"):
                sink_side = device.to_host(sink_side)
        return _FirstStage(
            self.instance,
            residual.solved,
            DeviceSecondStage(self.instance, residual, solve, self.options),
            sink_side,
            finished,
            residual.in_input_units(residual.constant_flow + int(arrived)),
        )
