"""The problems that are measured: all that the registry has. A new one needs an entry in DOORS."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from preflow.assignment.api import linear_assignment
from preflow.bipartite.api import bipartite_matching
from preflow.cuts import min_cut
from preflow.errors import InvalidInputError
from preflow.general_matching.api import matching
from preflow.graph.network import FlowNetwork
from preflow.gridcut.api import grid_cut
from preflow.maxflow.api import max_flow
from preflow.maxflow.result import MaxFlowResult
from preflow.mincost.api import min_cost_flow
from preflow.registry import FUNCTIONS, methods
from preflow.solving.dispatch import check_method, check_placement, find_method
from preflow.transportation.api import transport

from .instances.flow import FlowInstance
from .peers.assignment import ASSIGNMENT_PEERS
from .peers.flow import flow_peers
from .peers.general import GENERAL_PEERS
from .peers.grid import GRID_PEERS
from .peers.matching import MATCHING_PEERS
from .peers.min_cost import MIN_COST_PEERS
from .peers.transport import TRANSPORT_PEERS
from .problem import (
    Contestant,
    Problem,
    SolverSettings,
    Suite,
    TimeLimitReached,
    method_and_options,
    method_and_threads,
)
from .records import SEARCH, TOTAL, Outcome
from .suites.assignment import ASSIGNMENT_SUITES
from .suites.flow import FLOW_SUITES
from .suites.general import GENERAL_SUITES
from .suites.grid import GRID_SUITES
from .suites.matching import MATCHING_SUITES
from .suites.min_cost import MIN_COST_SUITES
from .suites.transport import TRANSPORT_SUITES


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


class Door(NamedTuple):
    """How the public function of a problem is measured.

    Attributes
    ----------
    solve : function
        Calls it with an instance and the keyword arguments that all problems share.
    score_text : str
        A description for readers of the phase that is compared.
    peers : tuple of Contestant
    suites : mapping of str to Suite
    score : str
        The phase that is compared, see :class:`~benchmarks.problem.Problem`.
    prepare : function
        Returns what `solve` takes of an instance.
    value : function
        Returns the value of a result, as the reference of the instance states it.
    """

    solve: Callable[..., Any]
    score_text: str
    peers: tuple[Contestant, ...]
    suites: Mapping[str, Suite]
    score: str = TOTAL
    prepare: Callable[[Any], Any] = lambda instance: instance
    value: Callable[[Any, Any], Any] = lambda instance, result: result.value


def network_of(instance: FlowInstance) -> FlowNetwork:
    """Return the network of an instance."""
    return FlowNetwork.from_arrays(
        instance.tail,
        instance.head,
        instance.capacity,
        reverse_capacity=instance.reverse_capacity,
        num_vertices=instance.num_vertices,
    )


def flow_of_every_arc(instance: FlowInstance, **call: Any) -> MaxFlowResult:
    """Return the maximum flow of an instance, after its flow was read, which a result computes then."""
    result = max_flow(network_of(instance), instance.source, instance.sink, **call)
    _ = result.flow
    return result


DOORS = {
    "max_flow": Door(
        flow_of_every_arc,
        "build + solve + flow",
        flow_peers(recover_flow=True),
        FLOW_SUITES,
    ),
    "min_cut": Door(
        lambda instance, **call: min_cut(network_of(instance), instance.source, instance.sink, **call),
        "solve only",
        flow_peers(recover_flow=False),
        FLOW_SUITES,
        score="solve",
    ),
    "grid_cut": Door(
        lambda instance, **call: grid_cut(
            instance.source, instance.sink, instance.neighbor, connectivity=instance.half, **call
        ),
        "arrays in, labels out",
        GRID_PEERS,
        GRID_SUITES,
    ),
    "bipartite_matching": Door(
        bipartite_matching,
        "matrix in, matching out",
        MATCHING_PEERS,
        MATCHING_SUITES,
        prepare=lambda instance: instance.matrix(),
        value=lambda matrix, result: result.cardinality,
    ),
    "matching": Door(
        lambda instance, **call: matching(
            instance.graph(), maximize=not instance.perfect, perfect=instance.perfect, **call
        ),
        "arrays in, matching out",
        GENERAL_PEERS,
        GENERAL_SUITES,
        value=lambda instance, result: result.weight,
    ),
    "linear_assignment": Door(
        lambda instance, **call: linear_assignment(instance.costs, **call),
        "costs in, assignment out",
        ASSIGNMENT_PEERS,
        ASSIGNMENT_SUITES,
        value=lambda instance, result: instance.total(result.column),
    ),
    "min_cost_flow": Door(
        lambda instance, **call: min_cost_flow(instance.network(), **call),
        "arrays in, flow out",
        MIN_COST_PEERS,
        MIN_COST_SUITES,
        value=lambda instance, result: result.cost,
    ),
    "transport": Door(
        lambda instance, **call: transport(instance.cost, instance.a, instance.b, **call),
        "costs and masses in, plan out",
        TRANSPORT_PEERS,
        TRANSPORT_SUITES,
        value=lambda instance, result: instance.total(result.row, result.column, result.mass),
    ),
}


def _contestant(problem: str, name: str, settings: SolverSettings) -> Contestant:
    """Return the contestant that calls the public function of a problem as its name says."""
    door, call = DOORS[problem], _call(problem, name, settings)

    def run(prepared: Any) -> Outcome:
        start = time.perf_counter()
        result = door.solve(
            prepared,
            method=call.method,
            threads=call.threads,
            options=call.options,
            time_limit=settings.stop_after,
        )
        seconds, detail = _measured(result, time.perf_counter() - start)
        if problem == "bipartite_matching":
            # What the peers call solving includes the start; the paper's tables have the search alone.
            search = seconds["solve"]
            phases = {
                "build": seconds.pop("build"),
                "solve": seconds.pop("initial", 0.0) + seconds.pop("solve"),
            }
            seconds = {**phases, "other": sum(seconds.values()), SEARCH: search}
        return Outcome(door.value(prepared, result), seconds, detail)

    module = f"preflow.{FUNCTIONS[problem].functions[problem]}"
    return Contestant(f"preflow:{name}", module, "preflow", run, door.prepare, device=call.device)


#: The problems by the name of their public function.
PROBLEMS: Mapping[str, Problem] = MappingProxyType(
    {
        name: Problem(
            name, door.score, door.score_text, partial(_contestant, name), door.peers, dict(door.suites)
        )
        for name, door in ((name, DOORS[name]) for name in FUNCTIONS)
    }
)


def add_suite(name: str, suite: Suite, problem: str) -> None:
    """Add a suite to a problem, or replace one. :mod:`benchmarks.reproduce` adds those of the papers."""
    PROBLEMS[problem].suites[name] = suite
