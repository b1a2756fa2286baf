"""The choice that method="auto" and initial="auto" make, in rules that anyone can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..graph.bipartite import BipartiteGraph


@dataclass(frozen=True)
class Choice:
    """What to solve a graph with.

    Attributes
    ----------
    method, initial : str
    options : mapping
        Options of the method that differ from its defaults.
    reason : str
    """

    method: str
    initial: str
    reason: str
    options: Mapping[str, Any] = field(default_factory=dict)


def choose(graph: BipartiteGraph) -> Choice:
    """Return the method and the initial matching for a graph, and why."""
    return Choice(
        "serial-push-relabel",
        "cheap",
        "pushes from a cheap matching with low labels stay near",
        {"initial_labels": "one", "relabel_period": 1.0},
    )
