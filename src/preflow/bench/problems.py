"""The problems that `preflow bench` knows; a later problem is one more entry of PROBLEMS."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from ..graph.network import FlowNetwork
from ..maxflow import api
from ..registry import methods
from ..solving.dispatch import check_method, check_placement, find_method
from .flow_instance import FlowInstance
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


def _flow_contestant(problem: str, name: str, settings: SolverSettings) -> Contestant:
    solve = {"max_flow": api.max_flow, "min_cut": api.min_cut}[problem]
    method, threads = method_and_threads(name)
    if threads is not None:
        check_placement(methods(problem), "auto", threads)
        if method != "auto":
            check_method(find_method(methods(problem), method), "auto", threads)
    elif takes_threads(problem, method):
        threads = settings.threads

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
        return Outcome(result.value, {**phases, "other": wall - sum(phases.values())}, detail)

    return Contestant(f"preflow:{name}", "preflow.maxflow.api", "preflow", run, lambda instance: instance)


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
    }
)
