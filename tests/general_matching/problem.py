"""The sample of general matching for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflow.certify.blossoms import barrier_bound, check_mates, dual_bound, matched_edges
from preflow.graph.undirected import UndirectedGraph, neighbours_of
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample


def solve(method: Method, control: Control) -> bool:
    tail, head = np.random.default_rng(7).integers(0, 30, (2, 60)).astype(np.uint32)
    weighted = method.weighted or method.approximate
    weight = np.random.default_rng(8).integers(1, 20, 60) if weighted else None
    graph = UndirectedGraph.from_arrays(tail, head, weight, num_vertices=30)
    neighbours = neighbours_of(30, tail, head, weight)
    found = method.solve(neighbours, None, method.make_options(None), control)
    mate = np.where(found.mate < 30, found.mate.astype(np.int64), -1)
    check_mates(graph, mate)
    if weight is None and found.barrier is None:
        assert not found.finished, "no barrier proves the matching"
    elif weight is None:
        bound = barrier_bound(graph, found.barrier)
        assert bound == np.count_nonzero(mate >= 0) // 2 or not found.finished
    else:
        total = weight[matched_edges(graph, mate, weight)].sum()
        bound = dual_bound(graph, weight, *found.duals)
        assert bound >= 2 * total
        if method.approximate:
            assert bound <= 4 * total or not found.finished
        else:
            assert bound == 2 * total or not found.finished
    return bool(found.finished)


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    """Return random graphs of degree 4 on the mean, without weights where the method takes none."""
    found = {}
    for n in (40, 400):
        rng = np.random.default_rng(n)
        graph = UndirectedGraph.from_arrays(*rng.integers(0, n, (2, 2 * n)), rng.integers(1, 100, 2 * n))
        weighted = method.weighted or method.approximate
        found[f"random {n}"] = (graph if weighted else graph.without_weights(),)
    return found


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 400, (2, 1000))
    edges = (*ends, rng.integers(1, 100, 1000))
    with_weights = {"matching": ((edges,), {})} if method.weighted or method.approximate else {}
    return with_weights | ({} if method.weighted else {"pairs": ((edges,), {"weight": False})})


SAMPLE = Sample(
    arguments=([(0, 1), (1, 2)],),
    modules={"matching": 81},  # small calls: the pieces of both blossom algorithms, with delays of tests
    solve=solve,
    counted=counted,
    answer=("mate",),
    rounds=rounds,
    fuzz="general",
)
