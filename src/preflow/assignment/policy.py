"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.costs import DenseCosts, SparseCosts
from ..graph.point_costs import PointCosts


def choose(costs: DenseCosts | SparseCosts | PointCosts) -> tuple[str, str]:
    """Return the name of the method for costs, and why."""
    if isinstance(costs, PointCosts):
        return "serial-shortest-path", "points, one thread: an auction over a tree, shortest augmenting paths"
    kind = "dense" if isinstance(costs, DenseCosts) else "sparse"
    return "serial-shortest-path", f"{kind} costs, one thread: shortest augmenting paths"
