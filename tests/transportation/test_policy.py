"""The choice of method="auto" for transport."""

from __future__ import annotations

import numpy as np
import pytest

import preflow
from preflow.graph.costs import DenseCosts
from preflow.graph.point_costs import PointCosts
from preflow.transportation import policy

FEW, MANY = "serial-network-simplex", "multicore-network-simplex"


@pytest.mark.parametrize(
    ("size", "threads", "stored", "points"),
    [
        (100, 16, FEW, FEW),
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


def test_all_pairs_of_small_items_are_listed_at_once() -> None:
    """Infinite costs are no pairs; the answer is that of a search for pairs."""
    rng = np.random.default_rng(0)
    costs = rng.random((3, 40, 50))
    costs[rng.random(costs.shape) < 0.3] = np.inf
    a, b = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(50))
    for result, cost in zip(preflow.transport(costs, a, b), costs, strict=True):
        result.verify()
        assert "all pairs" in result.stats.reason
        assert result.stats.arc_scans == 0
        searched = preflow.transport(cost, a, b, method=FEW)
        assert searched.stats.arc_scans > 0
        assert result.cost == pytest.approx(searched.cost, rel=1e-12)
