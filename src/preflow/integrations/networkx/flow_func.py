"""A maximum-flow function for the argument ``flow_func`` of NetworkX's functions."""

from __future__ import annotations

import math
from collections.abc import Hashable

import networkx as nx

from ...arrays import Untyped
from ...errors import NotOptimalError, PreflowError, UnboundedFlowError
from ...graph.graph_edges import edges_of_graph
from ...graph.network import FlowNetwork
from ...maxflow.api import max_flow
from .values import flow_values, read_values

Graph = Untyped
Node = Hashable


def residual(
    G: Graph,
    s: Node,
    t: Node,
    capacity: str = "capacity",
    residual: Graph | None = None,
    value_only: bool = False,
    cutoff: float | None = None,
) -> Graph:
    """Find a maximum flow, as NetworkX's own ``preflow_push`` does.

    Parameters
    ----------
    G : Graph or DiGraph
    s, t : node
        The source and the sink.
    capacity : str
        Edge attribute; edges without it have infinite capacity.
    residual : DiGraph, optional
        A residual network of ``nx.algorithms.flow.build_residual_network``, which is used again: its flow
        is replaced.
    value_only
        Accepted for compatibility: the result always has a flow.
    cutoff : int or float, optional
        The flow has this value if more is possible: :func:`preflow.max_flow` calls it `flow_limit`. A
        fraction is rounded up where capacities are integers. Where capacities are no ints or floats,
        NetworkX's ``dinitz`` finds the flow: its value may be larger, as in NetworkX.

    Returns
    -------
    DiGraph
        The residual network with the attribute ``flow`` on its edges, and ``graph["flow_value"]``.

    Raises
    ------
    NetworkXError, NetworkXUnbounded
        As NetworkX's functions do.

    Examples
    --------
    >>> import networkx as nx
    >>> from preflow.integrations.networkx import residual
    >>> graph = nx.DiGraph([("a", "b", {"capacity": 3}), ("b", "c", {"capacity": 2})])
    >>> nx.maximum_flow(graph, "a", "c", flow_func=residual)
    (2, {'a': {'b': 2}, 'b': {'c': 2}, 'c': {}})
    """
    for node in (s, t):
        if node not in G:
            raise nx.NetworkXError(f"node {node!s} not in graph")
    if s == t:
        raise nx.NetworkXError("source and sink are the same node")
    R = nx.algorithms.flow.build_residual_network(G, capacity) if residual is None else residual
    edges = edges_of_graph(R)
    try:
        capacities, rounded = read_values(edges.values("capacity", 0), "capacity")
        network = FlowNetwork(len(edges.labels), edges.tail, edges.head, capacities, labels=edges.labels)
        limit = cutoff
        if cutoff is not None and network.capacity.dtype.kind == "i" and 0 <= cutoff < math.inf:
            limit = math.ceil(cutoff)
        result = max_flow(network, s, t, flow_limit=limit)
        if result.status not in ("optimal", "flow-limit"):
            raise NotOptimalError(f"the flow is {result.status}")
    except UnboundedFlowError:
        raise nx.NetworkXUnbounded("Infinite capacity path, flow unbounded above.") from None
    except PreflowError:
        # Numbers that preflow does not take, such as Fractions, or floats for which it has no optimum.
        return nx.algorithms.flow.dinitz(
            G, s, t, capacity=capacity, residual=R, value_only=False, cutoff=cutoff, backend="networkx"
        )
    if result.lower_bound * 2 > R.graph["inf"]:
        raise nx.NetworkXUnbounded("Infinite capacity path, flow unbounded above.")
    for data in edges.data:
        data["flow"] = 0  # type: ignore[index]
    labels, succ = edges.labels, R._succ
    for tail, head, amount in zip(
        edges.tail.tolist(), edges.head.tolist(), flow_values(result.flow, rounded), strict=True
    ):
        if amount:
            u, v = labels[tail], labels[head]
            succ[u][v]["flow"] += amount
            succ[v][u]["flow"] -= amount
    R.graph["flow_value"] = float(result.lower_bound) if rounded else int(result.lower_bound)
    R.graph["algorithm"] = "preflow"
    return R
