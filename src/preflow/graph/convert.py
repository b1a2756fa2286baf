"""Turn whatever a public function accepts as a network into a FlowNetwork."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError
from .grid import GridNetwork
from .network import FlowNetwork, MaxFlowProblem


def as_flow_problem(network: Any, source: Any, sink: Any) -> tuple[FlowNetwork, Any, Any]:
    """Return the network with its source and sink.

    Parameters
    ----------
    network : FlowNetwork, MaxFlowProblem, scipy sparse matrix, NetworkX graph or (tail, head, capacity)
        Or a GridNetwork, whose arcs are spelled out.
    source, sink : vertex, collection of vertices, or None
        None takes those of a MaxFlowProblem.
    """
    if isinstance(network, GridNetwork):
        if source is not None or sink is not None:
            raise InvalidInputError("a grid has its source and its sink in its capacities: give none")
        network = network.to_flow_problem()
    if isinstance(network, MaxFlowProblem):
        return (
            network.network,
            network.source if source is None else source,
            network.sink if sink is None else sink,
        )
    return as_flow_network(network), source, sink


def as_flow_network(network: Any) -> FlowNetwork:
    """Return `network` as a FlowNetwork; see :func:`as_flow_problem` for what it may be."""
    if isinstance(network, FlowNetwork):
        return network
    if isinstance(network, tuple):
        if len(network) != 3:
            raise InvalidInputError(f"a network tuple is (tail, head, capacity), got {len(network)} entries")
        return FlowNetwork.from_arrays(*network)
    if hasattr(network, "tocsr"):
        return FlowNetwork.from_scipy(network)
    if hasattr(network, "is_directed") and hasattr(network, "edges"):
        return FlowNetwork.from_networkx(network)
    raise InvalidInputError(
        "a network is a FlowNetwork, what read_dimacs returns, a scipy sparse matrix, a NetworkX graph or a "
        f"tuple (tail, head, capacity), not {type(network).__name__}"
    )
