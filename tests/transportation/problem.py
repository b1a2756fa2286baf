"""The sample of transport for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflow.certify.transport import check_plan, plan_cost, price_bound
from preflow.generators.min_cost import squared_distances, transport_masses, transport_points
from preflow.graph.cost_input import as_costs
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample


def solve(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(6)
    costs = as_costs(rng.integers(0, 50, (2, 40, 30)), False)
    a = rng.integers(1, 9, (2, 40))
    b = np.stack([rng.multinomial(sums, np.ones(30) / 30) for sums in a.sum(axis=1)])
    found = method.solve(costs, a, b, method.make_options(None), control)
    for item, each in enumerate(found):
        assert each.ending in ("optimal", "stopped")
        if each.ending == "optimal":
            check_plan(costs, item, a[item], b[item], each.row, each.column, each.mass)
            total = plan_cost(costs, item, each.row, each.column, each.mass)
            assert price_bound(costs, item, a[item], b[item], each.v) == total
    return all(each.ending == "optimal" for each in found)


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    return {"uniform 60": transport_masses(60), "points 90": squared_distances(transport_points(90))}


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    rng = np.random.default_rng(1)
    masses = rng.integers(1, 50, 60)
    costs = rng.integers(0, 1000, (60, 60))
    return {"transport": ((costs,), {"a": masses, "b": rng.permutation(masses)})}


SAMPLE = Sample(
    arguments=([[1, 2], [2, 1]], [1, 1], [1, 1]),
    modules={"transport": 87},  # masses may stay; what torch.compile does not enter
    solve=solve,
    counted=counted,
    answer=("row", "column", "mass", "u", "v"),
    rounds=rounds,
    fuzz="transports",
)
