"""Sums over the arcs of a vertex, and the edges of a matching, on a GPU: for the proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..cuda.structs import U32, ConstU32
from ..graph.bipartite import DeviceBipartiteGraph
from ..graph.network import DeviceFlowNetwork

SOURCE = Path(__file__).with_suffix(".cu")


class Arguments(NamedTuple):
    """Arguments of "net_inflow" and "net_inflow_of_floats"."""

    tail: ConstU32
    head: ConstU32
    flow: Annotated[AnyArray, "const T*"]
    balance: Annotated[AnyArray, "T*"]
    num_arcs: int


class EdgeArguments(NamedTuple):
    """Arguments of "find_matched_edges"."""

    first: ConstU32
    neighbour: ConstU32
    num_rows: int
    num_edges: int
    match: ConstU32
    has_edge: U32


def net_inflow_on_device(network: DeviceFlowNetwork, flow: AnyArray) -> AnyArray:
    """Return, per vertex, the flow in minus the flow out; exact for integers."""
    balance = network.xp.zeros(network.num_vertices, dtype=flow.dtype)
    kernel = "net_inflow_of_floats" if flow.dtype.kind == "f" else "net_inflow"
    arguments = Arguments(
        tail=network.tail, head=network.head, flow=flow, balance=balance, num_arcs=network.num_arcs
    )
    network.device.share(SOURCE, kernel, network.num_arcs, arguments)
    return balance


def matched_along_edges_on_device(graph: DeviceBipartiteGraph, row_match: AnyArray) -> AnyArray:
    """Return which rows are matched with one of their neighbours; -1 is no column."""
    has_edge = graph.xp.zeros(graph.num_rows, dtype=np.uint32)
    match = row_match.astype(np.uint32)
    first, neighbour = graph.rows
    arguments = EdgeArguments(
        first=first,
        neighbour=neighbour,
        num_rows=graph.num_rows,
        num_edges=graph.num_edges,
        match=match,
        has_edge=has_edge,
    )
    graph.device.share(SOURCE, "find_matched_edges", graph.num_edges, arguments)
    return has_edge != 0
