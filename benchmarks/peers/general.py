"""The other packages that solve matching in general graphs. A package is imported when it runs.

LEMON, a C++ library, is measured by ``benchmarks/lemon`` of the repository. It has no package for Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ..instances.general import GeneralInstance
from ..problem import LIKE_NETWORKX, Contestant, Stopwatch
from ..records import Outcome

#: More edges would take the peers minutes.
NETWORKX_EDGES, RUSTWORKX_EDGES = 10_000, 60_000


def _edges(instance: GeneralInstance) -> tuple[GeneralInstance, list[tuple[int, int, int]]]:
    """Return weighted edges, which are to be maximised; for a perfect matching with the sign changed."""
    weight = np.ones(len(instance.tail), dtype=np.int64) if instance.weight is None else instance.weight
    if instance.perfect:
        weight = 1 + int(weight.max(initial=0)) - weight
    columns = (instance.tail.tolist(), instance.head.tolist(), weight.tolist())
    return instance, list(zip(*columns, strict=True))


def _outcome(instance: GeneralInstance, pairs: Iterable[Any], clock: Stopwatch) -> Outcome:
    ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return Outcome(instance.value(ends[:, 0], ends[:, 1]), clock.seconds)


def _run_networkx(module: str, prepared: tuple[GeneralInstance, list[tuple[int, int, int]]]) -> Outcome:
    networkx = import_module(module)
    instance, edges = prepared
    clock = Stopwatch()
    graph = networkx.Graph()
    graph.add_nodes_from(range(instance.num_vertices))
    graph.add_weighted_edges_from(edges)
    clock.lap("build")
    most = instance.perfect or instance.weight is None
    pairs = networkx.max_weight_matching(graph, maxcardinality=most)
    clock.lap("solve")
    return _outcome(instance, pairs, clock)


def _run_rustworkx(prepared: tuple[GeneralInstance, list[tuple[int, int, int]]]) -> Outcome:
    import rustworkx

    instance, edges = prepared
    clock = Stopwatch()
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(instance.num_vertices))
    graph.add_edges_from(edges)
    clock.lap("build")
    most = instance.perfect or instance.weight is None
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=most, weight_fn=int)
    clock.lap("solve")
    return _outcome(instance, pairs, clock)


def _unfit_networkx(instance: GeneralInstance) -> str | None:
    return f"more than {NETWORKX_EDGES:,} edges" if len(instance.tail) > NETWORKX_EDGES else None


def _unfit_rustworkx(instance: GeneralInstance) -> str | None:
    return f"more than {RUSTWORKX_EDGES:,} edges" if len(instance.tail) > RUSTWORKX_EDGES else None


#: The peers of matching in general graphs.
GENERAL_PEERS: tuple[Contestant, ...] = (
    Contestant("rustworkx", "rustworkx", "rustworkx", _run_rustworkx, _edges, _unfit_rustworkx),
    *(
        Contestant(package, module, package, partial(_run_networkx, module), _edges, _unfit_networkx)
        for package, module in LIKE_NETWORKX
    ),
)
