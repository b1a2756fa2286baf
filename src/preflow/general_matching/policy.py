"""The choice that method="auto" makes."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..errors import DeviceUnavailableError
from ..graph.undirected import UndirectedGraph
from ..solving.plan import Plan

#: From these numbers on, many threads were faster than one on every graph measured. With 2 threads most were
#: slower; with 4 and 150,000 edges one was. docs/performance/general_matching.md has the table.
FEWEST_THREADS, FEWEST_EDGES = 4, 250_000


def choose(graph: UndirectedGraph, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the method for a graph: see :class:`preflow.solving.protocol.Chooser`."""
    if device == "cuda":
        raise DeviceUnavailableError(
            "no exact method of this problem runs on a GPU: use device='cpu', or for an approximate matching "
            "method='cuda-locally-dominant'"
        )
    if graph.weight is None:
        if threads >= FEWEST_THREADS and graph.num_edges >= FEWEST_EDGES:
            reason = f"the graph has no weights, {FEWEST_EDGES:,} edges or more, and {threads} threads"
            return Plan.of("multicore-blossom", reason)
        return Plan.of("serial-blossom", "the graph has no weights")
    return Plan.of("serial-weighted-blossom", "the graph has weights")
