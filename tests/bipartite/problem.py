"""The sample of bipartite matching for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import preflow
from benchmarks.instances import traps
from preflow import BipartiteGraph
from preflow.bipartite.match_arrays import empty_matching
from preflow.certify.matching import check_matching
from preflow.generators import BIPARTITE_FAMILIES
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample

COUNTED = {"delaunay": "600", "power-law": "500x6", "erdos-renyi": "400x4"}


def solve(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(2)
    graph = BipartiteGraph.from_arrays(*rng.integers(0, 40, (2, 90)), shape=(40, 40))
    matching = empty_matching(graph)
    found = method.solve(graph, matching, method.make_options(None), control)
    row, column = (np.where(part < 40, part.astype(np.int64), -1) for part in matching)
    size = int((row >= 0).sum())
    check_matching(graph, row, column, size)
    assert isinstance(found, bool | np.bool)  # kernels in plain Python return NumPy's
    if found:
        assert size == preflow.bipartite_matching(graph, method="serial-hopcroft-karp").cardinality
    return bool(found)


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    return {f"{name} {size}": (BIPARTITE_FAMILIES[name].generate(size),) for name, size in COUNTED.items()}


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    return {"bipartite_matching": ((traps.scrambled_cycle(5000),), {"initial": "none"})}


SAMPLE = Sample(
    arguments=([(0, 1), (1, 0)],),
    modules={"bipartite_matching": 77},  # solving/plan.py; the pushes that solvers share
    solve=solve,
    counted=counted,
    answer=("row_match",),
    rounds=rounds,
    fuzz="matchings",
)
