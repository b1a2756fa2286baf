"""The sample of linear assignment for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from preflow.certify.assignment import check_assignment
from preflow.generators import uniform_integer_costs
from preflow.graph.cost_input import as_costs
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample


def solve(method: Method, control: Control) -> bool:
    costs = as_costs(np.random.default_rng(3).integers(0, 50, (2, 6, 8)), False)
    found = method.solve(costs, method.make_options(None), control)
    assert [part.shape for part in (found.match, found.u, found.v)] == [(2, 6), (2, 6), (2, 8)]
    for item in np.flatnonzero(found.ending == 0):
        rows, match = np.arange(6), found.match[item]
        total = costs.at(item, rows, match).sum()
        check_assignment(costs, item, rows, match, found.u[item], found.v[item], total, partial=False)
    return not found.ending.any()


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    costs = {n: uniform_integer_costs(n, largest=1000) for n in (20, 90)}
    named = {f"uniform {n}": (each,) for n, each in costs.items()}
    return named | {"rectangular": (costs[90][:40] * 0.1,)}


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    rng = np.random.default_rng(1)
    costs = rng.integers(1, 1000, (100, 1)) * rng.integers(1, 1000, 100)
    return {"linear_assignment": ((costs,), {}), "sparse": ((csr_array(costs),), {})}


SAMPLE = Sample(
    arguments=([[1, 2], [2, 1]],),
    modules={"linear_assignment": 90},  # the shortest paths and the heap that solvers share
    solve=solve,
    counted=counted,
    answer=("row", "column"),
    rounds=rounds,
    fuzz="assignments",
)
