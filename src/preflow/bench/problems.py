"""The problems that ``preflow bench`` measures. A new problem is a new entry of PROBLEMS."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..assignment.api import linear_assignment
from ..bipartite.api import QUICK_EDGES, bipartite_matching
from ..cuts import min_cut
from ..errors import InvalidInputError
from ..general_matching.api import QUICK_EDGES as QUICK_GENERAL_EDGES
from ..general_matching.api import matching
from ..graph.network import FlowNetwork
from ..gridcut.api import grid_cut
from ..maxflow.api import max_flow
from ..maxflow.result import MinCutResult
from ..mincost.api import min_cost_flow
from ..registry import methods
from ..solving.dispatch import check_method, check_placement, find_method
from ..transportation.api import transport
from .assignment_instance import AssignmentInstance
from .assignment_peers import ASSIGNMENT_PEERS
from .assignment_suites import ASSIGNMENT_SUITES
from .flow_instance import FlowInstance
from .flow_peers import flow_peers
from .flow_suites import FLOW_SUITES
from .general_instance import GeneralInstance
from .general_peers import GENERAL_PEERS
from .general_suites import GENERAL_SUITES
from .grid_instance import GridInstance
from .grid_peers import GRID_PEERS
from .grid_suites import GRID_SUITES
from .matching_instance import MatchingInstance
from .matching_peers import MATCHING_PEERS
from .matching_suites import MATCHING_SUITES
from .min_cost_instance import MinCostInstance
from .min_cost_peers import MIN_COST_PEERS
from .min_cost_suites import MIN_COST_SUITES
from .problem import (
    SEARCH,
    TOTAL,
    Contestant,
    Outcome,
    Problem,
    SolverSettings,
    Suite,
    TimeLimitReached,
    method_and_options,
    method_and_threads,
)
from .transport_instance import TransportInstance
from .transport_peers import TRANSPORT_PEERS
from .transport_suites import TRANSPORT_SUITES

#: Assignments of up to this number of pairs run without a time limit. With a limit they would run in another
#: thread, unlike the small solves of most users.
FEW_PAIRS = 20_000


class Call(NamedTuple):
    """The arguments with which a contestant calls its public function, and the device that it uses."""

    method: str
    options: dict[str, object]
    threads: int | None
    device: str


def _measured(result: Any, wall: float) -> tuple[dict[str, float], dict[str, object]]:
    """Return the seconds of each phase of a result, and its other statistics.

    The phase "other" is the rest of the wall-clock time, without compilation.

    Raises
    ------
    TimeLimitReached
        The solve ended at its time limit.
    """
    if result.status != "optimal":
        raise TimeLimitReached(f"{result.lower_bound} <= optimum <= {result.upper_bound}")
    detail = result.stats.to_dict()
    phases = detail.pop("seconds")
    wall -= phases.pop("compile", 0.0)
    return {**phases, "other": wall - sum(phases.values())}, detail


def takes_threads(problem: str, name: str) -> bool:
    """Return whether a method, with or without options in brackets, can use several threads."""
    method, _ = method_and_options(name)
    return method == "auto" or find_method(methods(problem), method, threads=2).parallel


def _call(problem: str, name: str, settings: SolverSettings) -> Call:
    """Return the call that a contestant's name describes.

    The settings give the number of threads if the name has none.
    """
    with_options, threads = method_and_threads(name)
    method, options = method_and_options(with_options)
    if threads is not None:
        check_placement(methods(problem), "auto", threads)
    elif takes_threads(problem, method):
        threads = settings.threads
    if method == "auto":
        if options:
            raise InvalidInputError(f"options belong to one method: auto takes none, got {name!r}")
        return Call(method, options, threads, "cpu")
    record = find_method(methods(problem), method, threads)
    if record.approximate:
        raise InvalidInputError(f"suites compare exact methods, and {record.name} is approximate")
    check_method(record, "auto", threads)
    if options:
        record.make_options(options)
    return Call(method, options, threads, record.device)


def cut_of_network(network: FlowNetwork, source: int, sink: int, **arguments: Any) -> MinCutResult:
    """Return a minimum cut of a network of arcs."""
    return min_cut(network, source, sink, **arguments)


def _flow_contestant(problem: str, name: str, settings: SolverSettings) -> Contestant:
    solve: Callable[..., MinCutResult] = max_flow if problem == "max_flow" else cut_of_network
    call = _call(problem, name, settings)

    def run(instance: FlowInstance) -> Outcome:
        start = time.perf_counter()
        network = FlowNetwork.from_arrays(
            instance.tail,
            instance.head,
            instance.capacity,
            reverse_capacity=instance.reverse_capacity,
            num_vertices=instance.num_vertices,
        )
        result = solve(
            network,
            instance.source,
            instance.sink,
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=settings.stop_after,
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        return Outcome(result.value, phases, detail)

    return Contestant(
        f"preflow:{name}",
        "preflow.maxflow.api",
        "preflow",
        run,
        lambda instance: instance,
        device=call.device,
    )


def _matching_contestant(name: str, settings: SolverSettings) -> Contestant:
    call = _call("bipartite_matching", name, settings)

    def run(matrix: Any) -> Outcome:
        # With a time limit small solves would run in another thread, unlike those of most users.
        time_limit = settings.stop_after if matrix.nnz > QUICK_EDGES else None
        start = time.perf_counter()
        result = bipartite_matching(
            matrix, method=call.method, threads=call.threads, options=call.options, time_limit=time_limit
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        seconds = {"build": phases["build"], "solve": phases.get("initial", 0.0) + phases["solve"]}
        seconds["other"] = sum(phases.values()) - sum(seconds.values())
        return Outcome(result.cardinality, {**seconds, SEARCH: phases["solve"]}, detail)

    def prepare(instance: MatchingInstance) -> Any:
        return instance.matrix()

    return Contestant(f"preflow:{name}", "preflow.bipartite.api", "preflow", run, prepare, device=call.device)


def _general_contestant(name: str, settings: SolverSettings) -> Contestant:
    call = _call("matching", name, settings)

    def run(instance: GeneralInstance) -> Outcome:
        # With a time limit small solves would run in another thread, unlike those of most users.
        time_limit = settings.stop_after if len(instance.tail) > QUICK_GENERAL_EDGES else None
        graph = instance.graph()
        start = time.perf_counter()
        result = matching(
            graph,
            maximize=not instance.perfect,
            perfect=instance.perfect,
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=time_limit,
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        return Outcome(result.weight, phases, detail)

    return Contestant(
        f"preflow:{name}",
        "preflow.general_matching.api",
        "preflow",
        run,
        lambda instance: instance,
        device=call.device,
    )


def _assignment_contestant(name: str, settings: SolverSettings) -> Contestant:
    call = _call("linear_assignment", name, settings)

    def run(instance: AssignmentInstance) -> Outcome:
        # With a time limit small solves would run in another thread, unlike those of most users.
        time_limit = settings.stop_after if instance.sizes["pairs"] > FEW_PAIRS else None
        start = time.perf_counter()
        result = linear_assignment(
            instance.costs,
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=time_limit,
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        return Outcome(instance.total(result.column), phases, detail)

    return Contestant(
        f"preflow:{name}",
        "preflow.assignment.api",
        "preflow",
        run,
        lambda instance: instance,
        device=call.device,
    )


def _min_cost_contestant(name: str, settings: SolverSettings) -> Contestant:
    call = _call("min_cost_flow", name, settings)

    def run(instance: MinCostInstance) -> Outcome:
        start = time.perf_counter()
        result = min_cost_flow(
            instance.network(),
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=settings.stop_after,
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        return Outcome(result.cost, phases, detail)

    return Contestant(
        f"preflow:{name}",
        "preflow.mincost.api",
        "preflow",
        run,
        lambda instance: instance,
        device=call.device,
    )


def _transport_contestant(name: str, settings: SolverSettings) -> Contestant:
    call = _call("transport", name, settings)

    def run(instance: TransportInstance) -> Outcome:
        # With a time limit small solves would run in another thread, unlike those of most users.
        time_limit = settings.stop_after if instance.sizes["pairs"] > FEW_PAIRS else None
        start = time.perf_counter()
        result = transport(
            instance.cost,
            instance.a,
            instance.b,
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=time_limit,
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        return Outcome(instance.total(result.row, result.column, result.mass), phases, detail)

    return Contestant(
        f"preflow:{name}",
        "preflow.transportation.api",
        "preflow",
        run,
        lambda instance: instance,
        device=call.device,
    )


def _grid_contestant(name: str, settings: SolverSettings) -> Contestant:
    call = _call("grid_cut", name, settings)

    def run(instance: GridInstance) -> Outcome:
        start = time.perf_counter()
        result = grid_cut(
            instance.source,
            instance.sink,
            instance.neighbor,
            connectivity=instance.half,
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=settings.stop_after,
        )
        phases, detail = _measured(result, time.perf_counter() - start)
        return Outcome(result.value, phases, detail)

    return Contestant(
        f"preflow:{name}",
        "preflow.gridcut.api",
        "preflow",
        run,
        lambda instance: instance,
        device=call.device,
    )


#: The problems by the name of their public function.
PROBLEMS: Mapping[str, Problem] = MappingProxyType(
    {
        "max_flow": Problem(
            "max_flow",
            TOTAL,
            "build + solve + flow",
            lambda method, settings: _flow_contestant("max_flow", method, settings),
            flow_peers(recover_flow=True),
            dict(FLOW_SUITES),
        ),
        "min_cut": Problem(
            "min_cut",
            "solve",
            "solve only",
            lambda method, settings: _flow_contestant("min_cut", method, settings),
            flow_peers(recover_flow=False),
            dict(FLOW_SUITES),
        ),
        "grid_cut": Problem(
            "grid_cut",
            TOTAL,
            "arrays in, labels out",
            _grid_contestant,
            GRID_PEERS,
            dict(GRID_SUITES),
        ),
        "bipartite_matching": Problem(
            "bipartite_matching",
            TOTAL,
            "matrix in, matching out",
            _matching_contestant,
            MATCHING_PEERS,
            dict(MATCHING_SUITES),
        ),
        "matching": Problem(
            "matching",
            TOTAL,
            "arrays in, matching out",
            _general_contestant,
            GENERAL_PEERS,
            dict(GENERAL_SUITES),
        ),
        "linear_assignment": Problem(
            "linear_assignment",
            TOTAL,
            "costs in, assignment out",
            _assignment_contestant,
            ASSIGNMENT_PEERS,
            dict(ASSIGNMENT_SUITES),
        ),
        "min_cost_flow": Problem(
            "min_cost_flow",
            TOTAL,
            "arrays in, flow out",
            _min_cost_contestant,
            MIN_COST_PEERS,
            dict(MIN_COST_SUITES),
        ),
        "transport": Problem(
            "transport",
            TOTAL,
            "costs and masses in, plan out",
            _transport_contestant,
            TRANSPORT_PEERS,
            dict(TRANSPORT_SUITES),
        ),
    }
)


def add_suite(name: str, suite: Suite, problem: str) -> None:
    """Add a suite that is not part of the package to a problem, or replace one.

    The folder ``benchmarks`` of the repository adds the suites of the papers in this way.
    """
    PROBLEMS[problem].suites[name] = suite
