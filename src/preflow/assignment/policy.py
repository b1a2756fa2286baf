"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.costs import DenseCosts, SparseCosts


def choose(costs: DenseCosts | SparseCosts) -> tuple[str, str]:
    """Return the name of the method for costs, and why."""
    kind = "dense" if isinstance(costs, DenseCosts) else "sparse"
    return "serial-shortest-path", f"{kind} costs, one thread: shortest augmenting paths"
