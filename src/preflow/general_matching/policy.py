"""The choice that method="auto" makes."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.undirected import UndirectedGraph
from ..solving.dispatch import Choice


def choose(
    graph: UndirectedGraph, device: str = "auto", threads: int = 1, gpu: Device | None = None
) -> Choice:
    """Return the method for a graph: see :class:`preflow.solving.protocol.Chooser`."""
    if graph.weight is None:
        return Choice("serial-blossom", "the graph has no weights")
    return Choice("serial-weighted-blossom", "the graph has weights")
