"""Sums over the arcs of a vertex, and the edges of a matching, on a GPU: for the proofs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..graph.bipartite import DeviceBipartiteGraph
from ..graph.network import DeviceFlowNetwork

SOURCE = Path(__file__).with_suffix(".cu")


class Arguments(NamedTuple):
    """The struct ``Arguments`` of the ``.cu`` file."""

    tail: AnyArray
    head: AnyArray
    flow: AnyArray
    balance: AnyArray
    num_arcs: int


class EdgeArguments(NamedTuple):
    """The struct ``EdgeArguments`` of the ``.cu`` file."""

    first: AnyArray
    neighbour: AnyArray
    num_rows: int
    num_edges: int
    match: AnyArray
    has_edge: AnyArray


def net_inflow_on_device(network: DeviceFlowNetwork, flow: AnyArray) -> AnyArray:
    """Return, per vertex, the flow in minus the flow out; exact for integers."""
    balance = network.xp.zeros(network.num_vertices, dtype=flow.dtype)
    kernel = "net_inflow_of_floats" if flow.dtype.kind == "f" else "net_inflow"
    arguments = Arguments(network.tail, network.head, flow, balance, network.num_arcs)
    network.device.share(SOURCE, kernel, network.num_arcs, arguments)
    return balance


def matched_along_edges_on_device(graph: DeviceBipartiteGraph, row_match: AnyArray) -> AnyArray:
    """Return which rows are matched with one of their neighbours; -1 is no column."""
    has_edge = graph.xp.zeros(graph.num_rows, dtype=np.uint32)
    match = row_match.astype(np.uint32)
    arguments = EdgeArguments(*graph.rows, graph.num_rows, graph.num_edges, match, has_edge)
    graph.device.share(SOURCE, "find_matched_edges", graph.num_edges, arguments)
    return has_edge != 0
