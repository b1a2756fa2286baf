"""The problems that `preflow bench` knows; a later problem is one more entry of PROBLEMS."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..graph.network import FlowNetwork
from ..matching.api import QUICK_EDGES, bipartite_matching
from ..maxflow import api
from ..registry import methods
from ..solving.dispatch import check_method, check_placement, find_method
from .flow_instance import FlowInstance
from .matching_instance import MatchingInstance
from .matching_peers import MATCHING_PEERS
from .matching_suites import MATCHING_SUITES
from .peers import flow_peers
from .problem import (
    TOTAL,
    Contestant,
    Outcome,
    Problem,
    SolverSettings,
    TimeLimitReached,
    method_and_threads,
)
from .suites import FLOW_SUITES


def takes_threads(problem: str, method: str) -> bool:
    """Return whether a method can use several threads."""
    return method == "auto" or find_method(methods(problem), method).parallel


def _method_on_threads(problem: str, name: str, settings: SolverSettings) -> tuple[str, int | None]:
    """Return what a contestant's name says, the number of threads by the settings where it says none."""
    method, threads = method_and_threads(name)
    if threads is not None:
        check_placement(methods(problem), "auto", threads)
        if method != "auto":
            check_method(find_method(methods(problem), method), "auto", threads)
    elif takes_threads(problem, method):
        threads = settings.threads
    return method, threads


def _flow_contestant(problem: str, name: str, settings: SolverSettings) -> Contestant:
    solve = {"max_flow": api.max_flow, "min_cut": api.min_cut}[problem]
    method, threads = _method_on_threads(problem, name, settings)

    def run(instance: FlowInstance) -> Outcome:
        start = time.perf_counter()
        network = FlowNetwork.from_arrays(
            instance.tail,
            instance.head,
            instance.capacity,
            instance.reverse_capacity,
            num_vertices=instance.num_vertices,
        )
        result = solve(
            network,
            instance.source,
            instance.sink,
            method=method,
            threads=threads,
            time_limit=settings.stop_after,
        )
        wall = time.perf_counter() - start
        if result.status != "optimal":
            raise TimeLimitReached(f"{result.lower_bound} <= optimum <= {result.upper_bound}")
        detail = result.stats.to_dict()
        phases = detail.pop("seconds")
        wall -= phases.pop("compile", 0.0)
        return Outcome(result.value, {**phases, "other": wall - sum(phases.values())}, detail)

    return Contestant(f"preflow:{name}", "preflow.maxflow.api", "preflow", run, lambda instance: instance)


def _matching_contestant(name: str, settings: SolverSettings) -> Contestant:
    method, threads = _method_on_threads("bipartite_matching", name, settings)

    def run(matrix: Any) -> Outcome:
        # A limit would keep small solves from running in this thread, as users' do.
        time_limit = settings.stop_after if matrix.nnz > QUICK_EDGES else None
        start = time.perf_counter()
        result = bipartite_matching(matrix, method=method, threads=threads, time_limit=time_limit)
        wall = time.perf_counter() - start
        if result.status != "optimal":
            raise TimeLimitReached(f"{result.lower_bound} <= optimum <= {result.upper_bound}")
        detail = result.stats.to_dict()
        phases = detail.pop("seconds")
        wall -= phases.pop("compile", 0.0)
        seconds = {"build": phases["build"], "solve": phases.get("initial", 0.0) + phases["solve"]}
        return Outcome(result.cardinality, {**seconds, "other": wall - sum(seconds.values())}, detail)

    def prepare(instance: MatchingInstance) -> Any:
        return instance.matrix()

    return Contestant(f"preflow:{name}", "preflow.matching.api", "preflow", run, prepare)


#: Every problem by the name of its public function.
PROBLEMS: Mapping[str, Problem] = MappingProxyType(
    {
        "max_flow": Problem(
            "max_flow",
            TOTAL,
            "build + solve + flow",
            lambda method, settings: _flow_contestant("max_flow", method, settings),
            flow_peers(recover_flow=True),
            FLOW_SUITES,
        ),
        "min_cut": Problem(
            "min_cut",
            "solve",
            "solve only",
            lambda method, settings: _flow_contestant("min_cut", method, settings),
            flow_peers(recover_flow=False),
            FLOW_SUITES,
        ),
        "bipartite_matching": Problem(
            "bipartite_matching",
            TOTAL,
            "matrix in, matching out",
            _matching_contestant,
            MATCHING_PEERS,
            MATCHING_SUITES,
        ),
    }
)
