"""The choice that method="auto" makes."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..errors import DeviceUnavailableError
from ..graph.undirected import UndirectedGraph
from ..solving.dispatch import Choice


def choose(
    graph: UndirectedGraph, device: str = "auto", threads: int = 1, gpu: Device | None = None
) -> Choice:
    """Return the method for a graph: see :class:`preflow.solving.protocol.Chooser`."""
    if device == "cuda":
        raise DeviceUnavailableError(
            "no exact method of this problem runs on a GPU: use device='cpu', or for an approximate matching "
            "method='cuda-locally-dominant'"
        )
    if graph.weight is None:
        return Choice("serial-blossom", "the graph has no weights")
    return Choice("serial-weighted-blossom", "the graph has weights")
