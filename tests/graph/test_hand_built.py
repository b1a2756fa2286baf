"""Networks and graphs built by their constructors are checked like those of the ``from_`` methods."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError
from preflow.graph.bipartite import Adjacency

pytestmark = pytest.mark.fast

OFFSETS = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


def test_flow_networks() -> None:
    network = preflow.FlowNetwork(4, [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])  # type: ignore[arg-type]
    assert network.tail.dtype == np.uint32
    assert not network.capacity.flags.writeable
    assert preflow.max_flow(network, 0, 3).value == 4
    labelled = dataclasses.replace(network, labels=("a", "b", "c", "d"))
    assert preflow.max_flow(labelled, "a", "d").value == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"tail": np.array([0, 0, 1, 200], dtype=np.uint32)},
        {"tail": np.array([0, 0, 1, -2])},
        {"head": np.array([0, 0, 1], dtype=np.uint32)},
        {"head": np.array([1.0, 2, 3, 3])},
        {"capacity": np.array([3, 2, 2, -4])},
        {"capacity": np.array([3, 2, np.nan, 4])},
        {"capacity": np.array([3, 2])},
        {"reverse_capacity": np.array([3, 2])},
        {"num_vertices": 2},
        {"num_vertices": -1},
        {"num_vertices": "4"},
        {"labels": ("a", "b")},
        {"labels": ("a", "b", "a", "b")},
    ],
)
def test_flow_networks_with_bad_arrays(changes: dict[str, Any]) -> None:
    network = preflow.FlowNetwork.from_arrays([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
    with pytest.raises(InvalidInputError):
        dataclasses.replace(network, **changes)


@pytest.mark.parametrize(
    "sides",
    [
        (),
        (Adjacency(np.array([0, 1, 2]), np.array([0, 5])),),
        (Adjacency(np.array([0, 9, 2]), np.array([0, 1])),),
        (Adjacency(np.array([0, 1]), np.array([0])),),
        (None, Adjacency(np.array([0, 1, 2]), np.array([0, -1]))),
        (Adjacency(np.array([0, 1, 2]), np.array([0, 1])), Adjacency(np.array([0, 1, 1]), np.array([0]))),
    ],
)
def test_bipartite_graphs_with_bad_arrays(sides: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.BipartiteGraph(2, 2, *sides)


def test_bipartite_graphs() -> None:
    rows = Adjacency(np.array([0, 1, 2]), np.array([1, 1]))
    graph = preflow.BipartiteGraph(2, 2, rows)
    assert graph.dtype == np.uint32
    assert preflow.bipartite_matching(graph).cardinality == 1
    with pytest.raises(InvalidInputError, match="from_arrays takes the ends of edges"):
        preflow.BipartiteGraph(2, 2, np.array([0, 1, 1]), np.array([1, 0, 1]))
    with pytest.raises(InvalidInputError, match="shape"):
        preflow.BipartiteGraph(-1, 2, rows)
    with pytest.raises(InvalidInputError, match="labels"):
        preflow.BipartiteGraph(2, 2, rows, row_labels=("a",))


def test_grids() -> None:
    source, sink, neighbor = np.array([[5, 0, 0]]), np.array([[0, 0, 5]]), np.full((4, 1, 3), 2)
    network = preflow.GridNetwork((1, 3), OFFSETS, source, sink, neighbor)
    assert preflow.grid_cut(network).value == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (1, 300)},
        {"shape": (3,)},
        {"offsets": OFFSETS[:3]},
        {"offsets": OFFSETS[::-1]},
        {"offsets": np.array([[0, 1], [0, 1], [1, 0], [1, 0]])},
        {"source_capacity": np.array([[5, 0]])},
        {"source_capacity": np.array([[5, 0, -np.inf]])},
        {"neighbor_capacity": np.full((4, 1, 3), -2)},
        {"sink_capacity": np.array([[5, 0, np.nan]])},
        {"sink_capacity": np.array([["x", "y", "z"]])},
        {"neighbor_capacity": np.ones((3, 1, 3))},
        {"neighbor_capacity": np.full((4, 1, 3), np.inf)},
    ],
)
def test_grids_with_bad_arrays(changes: dict[str, Any]) -> None:
    network = preflow.GridNetwork.from_arrays([[5, 0, 0]], [[0, 0, 5]], np.full((4, 1, 3), 2), connectivity=4)
    with pytest.raises(InvalidInputError):
        dataclasses.replace(network, **changes)
