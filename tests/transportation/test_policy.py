"""The choice of method="auto" for transport."""

from __future__ import annotations

import numpy as np
import pytest

from preflow.graph.costs import DenseCosts
from preflow.graph.point_costs import PointCosts
from preflow.transportation import policy

FEW, MANY = "serial-network-simplex", "multicore-network-simplex"


@pytest.mark.parametrize(
    ("size", "threads", "stored", "points"),
    [
        (900, 16, FEW, FEW),
        (1000, 1, MANY, FEW),
        (1000, 16, MANY, FEW),
        (4000, 2, MANY, FEW),
        (4000, 16, MANY, MANY),
        (10_000, 1, MANY, MANY),
    ],
)
def test_the_choice_of_auto(size: int, threads: int, stored: str, points: str) -> None:
    costs = DenseCosts(np.broadcast_to(np.int64(1), (1, size, size)))
    assert policy.choose(costs, threads=threads).method == stored
    pairs = PointCosts(np.zeros((size, 1)), np.zeros((size, 1)))
    assert policy.choose(pairs, threads=threads).method == points
