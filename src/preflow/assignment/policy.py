"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.costs import DenseCosts, SparseCosts


@dataclass(frozen=True)
class Choice:
    """What to solve an assignment with.

    Attributes
    ----------
    method, reason : str
    """

    method: str
    reason: str


def choose(costs: DenseCosts | SparseCosts) -> Choice:
    """Return the method for costs, and why."""
    kind = "dense" if isinstance(costs, DenseCosts) else "sparse"
    return Choice("serial-shortest-path", f"{kind} costs, one thread: shortest augmenting paths")
