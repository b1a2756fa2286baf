"""max_flow and min_cut: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certify.cut import cut_capacity, exact_sum
from ..certify.flow import COARSE
from ..cuda import runtime
from ..errors import InvalidInputError
from ..graph.convert import as_flow_problem
from ..graph.network import FlowNetwork
from ..graph.residual import ResidualNetwork, build_residual
from ..kernels.kernel import compile_seconds
from ..progress import Reporter
from ..solving.dispatch import (
    check_method,
    check_placement,
    find_method,
    most_threads,
    thread_count,
    usable_cpus,
)
from ..solving.method import Method
from ..solving.result import Status
from ..solving.run import Control, check_time_limit, run_interruptibly
from ..stats import COUNTERS, RELABEL_NANOSECONDS, SolveStats
from .methods import METHODS
from .policy import choose
from .recover_flow import SecondStage
from .result import MaxFlowResult, MinCutResult


def max_flow(
    network: Any,
    source: Any = None,
    sink: Any = None,
    *,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
) -> MaxFlowResult:
    """Find a maximum flow, and with it a minimum cut.

    Parameters
    ----------
    network : FlowNetwork, MaxFlowProblem, scipy sparse matrix, NetworkX graph or (tail, head, capacity)
        What :func:`preflow.read_dimacs` returns is a MaxFlowProblem and brings its source and sink.
    source, sink : vertex, or collection of vertices
        Labels where the network came from NetworkX, else numbers from 0.
    method : str
        A name from ``preflow.methods("max_flow")``, or "auto".
    device : {"auto", "cpu", "cuda"}
    threads : int, optional
        At most so many CPU threads, and at most 255; default: all that the process may use and the method
        can.
    time_limit : float, optional
        Seconds for building and solving; a last search and the recovery of the flow come on top, all linear
        in the network, and once compiling, which neither this nor Ctrl-C interrupts. On expiry the result's
        `status` says so, its `flow` is feasible with value `lower_bound`, and `upper_bound` is the capacity
        of a cut.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.
    options : mapping, optional
        Options of the named method, such as ``{"relabel_period": 0.5}``; "auto" takes none.

    Returns
    -------
    MaxFlowResult

    Raises
    ------
    InvalidInputError
        The network, a terminal or an argument is malformed.
    CapacityOverflowError
        Capacities sum past int64 where they meet: between two vertices, or at the source or the sink.
    UnboundedFlowError
        Arcs of infinite capacity lead from a source to a sink.
    DeviceUnavailableError
        The device is not there.

    Notes
    -----
    Push-relabel in two stages: O(n^2 sqrt(m)) for the highest-label methods, O(n^3) for FIFO; memory
    about 24 bytes a pair of adjacent vertices, 32 where capacities need 64 bits. Goldberg and Tarjan
    1988; Cherkassky and Goldberg 1997.

    Examples
    --------
    >>> import preflow
    >>> result = preflow.max_flow(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3)
    >>> result.value, result.flow.tolist()
    (4, [2, 2, 2, 2])
    >>> result.verify()
    """
    solve = _Solve.prepare(network, source, sink, method, device, threads, time_limit, options)
    return run_interruptibly(solve.max_flow, solve.control, time_limit, progress)


def min_cut(
    network: Any,
    source: Any = None,
    sink: Any = None,
    *,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
) -> MinCutResult:
    """Find a minimum cut; cheaper than :func:`max_flow`, whose parameters and errors it shares.

    Only the first stage runs: it yields a maximum preflow, which proves the cut minimum.

    Returns
    -------
    MinCutResult

    Examples
    --------
    >>> import preflow
    >>> result = preflow.min_cut(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3)
    >>> result.value, result.sink_side.tolist(), result.cut_arcs.tolist()
    (4, [False, False, True, True], [1, 2])
    """
    solve = _Solve.prepare(network, source, sink, method, device, threads, time_limit, options)
    return run_interruptibly(solve.min_cut, solve.control, time_limit, progress)


@dataclass
class _Solve:
    """One call of max_flow or min_cut, its arguments checked."""

    network: FlowNetwork
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    method: Method
    reason: str
    options: Any
    threads: int
    build_threads: int
    control: Control = field(init=False)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.control = Control(self.threads)

    @classmethod
    def prepare(
        cls,
        network: Any,
        source: Any,
        sink: Any,
        method: str,
        device: str,
        threads: int | None,
        time_limit: float | None,
        options: Mapping[str, Any] | None,
    ) -> _Solve:
        check_time_limit(time_limit)
        check_placement(METHODS, device, threads)
        flow_network, source, sink = as_flow_problem(network, source, sink)
        sources = flow_network.vertices(source, "source")
        sinks = flow_network.vertices(sink, "sink")
        both = set(sources.tolist()).intersection(sinks.tolist())
        if both:
            raise InvalidInputError(f"vertex {flow_network.name(min(both))} is both source and sink")
        if method == "auto":
            if options:
                raise InvalidInputError("options belong to one method: name it, method='auto' takes none")
            name, reason = choose(flow_network, device, most_threads(threads))
            record = find_method(METHODS, name)
        else:
            record, reason = find_method(METHODS, method), "asked for"
            check_method(record, device, threads)
        if record.device == "cuda":
            runtime.find_device()
        validated = record.make_options(options)
        count = thread_count(record, threads, flow_network.num_vertices)
        build_count = min(most_threads(threads) if method == "auto" else count, usable_cpus())
        return cls(flow_network, sources, sinks, record, reason, validated, count, build_count)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start, compiled = time.perf_counter(), compile_seconds()
        yield
        compiling = compile_seconds() - compiled
        spent = time.perf_counter() - start - compiling
        self.seconds[phase] = self.seconds.get(phase, 0.0) + spent
        if compiling:
            self.seconds["compile"] = self.seconds.get("compile", 0.0) + compiling

    def first_stage(self) -> dict[str, Any]:
        """Build and solve; return what all results have.

        Fractional capacities are rounded relative to a bound on the flow. Where the cut that is found lies
        far below it, they are rounded anew, relative to that cut's capacity.
        """
        bound = None
        while True:
            residual, height, value = self.build_and_solve(bound)
            sink_side = np.append(height <= residual.num_vertices, [False, True])[residual.inner]
            finished = not residual.arrays.excess[height <= residual.num_vertices].any()
            if not finished or residual.flow_bound is None:
                break
            bound = float(cut_capacity(self.network, sink_side))
            if bound == 0 or bound * COARSE >= residual.flow_bound:
                break
            del residual
        status: Status = "optimal" if finished else "time-limit"
        upper_bound = value
        if not finished:
            sink_side, upper_bound = self.best_cut(sink_side)
            if residual.scale_exponent is None and upper_bound < math.inf:
                upper_bound = int(upper_bound)
        sink_side.flags.writeable = False
        return {
            "status": status,
            "lower_bound": value,
            "upper_bound": upper_bound,
            "sink_side": sink_side,
            "network": self.network,
            "sources": self.sources,
            "sinks": self.sinks,
            "_second_stage": SecondStage(self.network, residual),
        }

    def build_and_solve(self, bound: float | None) -> tuple[ResidualNetwork, NDArray[Any], int | float]:
        """Return the solved residual network, the heights, and the value."""
        with self.timed("build"):
            residual = build_residual(
                self.network, self.sources, self.sinks, threads=self.build_threads, bound=bound
            )
        initial_sink_residual = exact_sum(residual.arrays.sink_residual)
        self.control.remarks.clear()
        with self.timed("solve"):
            height = self.method.solve(residual.arrays, self.options, self.control)
        arrived = initial_sink_residual - exact_sum(residual.arrays.sink_residual)
        return residual, height, residual.in_input_units(residual.constant_flow + arrived)

    def best_cut(self, reaching: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], int | float]:
        """Return the cheapest of three cuts of an unfinished solve, and its capacity."""
        only_sinks = np.zeros_like(reaching)
        only_sinks[self.sinks] = True
        all_but_sources = np.ones_like(reaching)
        all_but_sources[self.sources] = False
        cuts = [(cut_capacity(self.network, side), side) for side in (reaching, only_sinks, all_but_sources)]
        capacity, side = min(cuts, key=lambda cut: cut[0])
        return side, capacity

    def stats(self) -> SolveStats:
        rows = self.control.thread_counts[:, : len(COUNTERS)].tolist()
        per_thread = tuple(dict(zip(COUNTERS, row, strict=True)) for row in rows)
        return SolveStats(
            method=self.method.name,
            reason="; ".join([self.reason, *self.control.remarks]),
            device=self.method.device,
            threads=self.threads,
            **{name: sum(counts[name] for counts in per_thread) for name in COUNTERS},
            global_relabel_seconds=float(self.control.counts[RELABEL_NANOSECONDS]) * 1e-9,
            per_thread=per_thread if self.method.parallel else (),
            seconds=dict(self.seconds),
        )

    def min_cut(self) -> MinCutResult:
        return MinCutResult(**self.first_stage(), stats=self.stats())

    def max_flow(self) -> MaxFlowResult:
        parts = self.first_stage()
        with self.timed("recover"):
            flow = parts["_second_stage"].flow()
        flow.flags.writeable = False
        return MaxFlowResult(**parts, stats=self.stats(), flow=flow)
