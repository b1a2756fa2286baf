"""The choice of method="auto" for transport."""

from __future__ import annotations

import numpy as np
import pytest

from preflow.graph.costs import DenseCosts
from preflow.graph.point_costs import PointCosts
from preflow.transportation import policy

FEW, MANY = "serial-network-simplex", "multicore-cost-scaling"


@pytest.mark.parametrize(
    ("rows", "columns", "threads", "expected"),
    [(1000, 1000, 16, FEW), (4000, 4000, 16, MANY), (4000, 4000, 2, FEW), (10_000, 10_000, 1, MANY)],
)
def test_the_choice_of_auto(rows: int, columns: int, threads: int, expected: str) -> None:
    points = PointCosts(np.zeros((rows, 1)), np.zeros((columns, 1)))
    costs = DenseCosts(np.broadcast_to(np.int64(1), (1, rows, columns)))
    assert policy.choose(points, threads=threads).method == expected
    assert policy.choose(costs, threads=threads).method == expected
