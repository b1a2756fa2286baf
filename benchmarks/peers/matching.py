"""The other packages that solve bipartite matching. A package is imported when it runs."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..instances.matching import MatchingInstance
from ..problem import LIKE_NETWORKX, Contestant, Stopwatch
from ..records import Outcome

#: The most edges for igraph and for NetworkX, whose graphs take much memory and time.
IGRAPH_EDGES = 10_000_000
NETWORKX_EDGES = 20_000


def _run_scipy(matrix: Any) -> Outcome:
    from scipy.sparse.csgraph import maximum_bipartite_matching

    clock = Stopwatch()
    match = maximum_bipartite_matching(matrix, perm_type="column")
    clock.lap("solve")
    return Outcome(int(np.count_nonzero(match >= 0)), clock.seconds)


class Edges(NamedTuple):
    """A graph as a list of edges, in which the column vertices are numbered after the row vertices."""

    num_rows: int
    num_columns: int
    edges: NDArray[np.int64]


def _prepare_edges(instance: MatchingInstance) -> Edges:
    row, column = instance.ends()
    return Edges(*instance.shape, np.stack([row, column + instance.shape[0]], axis=1))


def _unfit_igraph(instance: MatchingInstance) -> str | None:
    return f"more than {IGRAPH_EDGES:,} edges" if instance.num_edges > IGRAPH_EDGES else None


def _run_igraph(graph: Edges) -> Outcome:
    import igraph

    clock = Stopwatch()
    types = [False] * graph.num_rows + [True] * graph.num_columns
    bipartite = igraph.Graph(graph.num_rows + graph.num_columns, graph.edges)
    clock.lap("build")
    size = len(bipartite.maximum_bipartite_matching(types))
    clock.lap("solve")
    return Outcome(size, clock.seconds)


def _unfit_networkx(instance: MatchingInstance) -> str | None:
    return f"more than {NETWORKX_EDGES:,} edges" if instance.num_edges > NETWORKX_EDGES else None


def _run_networkx(module: str, graph: Edges) -> Outcome:
    networkx = import_module(module)
    clock = Stopwatch()
    bipartite = networkx.Graph()
    bipartite.add_nodes_from(range(graph.num_rows + graph.num_columns))
    bipartite.add_edges_from(graph.edges.tolist())
    clock.lap("build")
    mates = networkx.bipartite.hopcroft_karp_matching(bipartite, range(graph.num_rows))
    clock.lap("solve")
    return Outcome(len(mates) // 2, clock.seconds)


#: The peers of bipartite matching.
MATCHING_PEERS = (
    Contestant(
        "scipy",
        "scipy.sparse.csgraph",
        "scipy",
        _run_scipy,
        lambda instance: instance.matrix(),
        remark="starts from a CSR matrix, as preflow does",
    ),
    Contestant("igraph", "igraph", "igraph", _run_igraph, _prepare_edges, _unfit_igraph),
    *(
        Contestant(package, module, package, partial(_run_networkx, module), _prepare_edges, _unfit_networkx)
        for package, module in LIKE_NETWORKX
    ),
)
