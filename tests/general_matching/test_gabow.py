"""Gabow's cardinality matching: phases, growth on bad cases, and the stop flag."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preflow
from preflow.general_matching import serial_gabow
from preflow.general_matching.initial import InitialOptions
from preflow.general_matching.result import GeneralMatchingResult
from preflow.graph.undirected import UndirectedGraph, neighbours_of
from preflow.solving.run import Control

pytestmark = pytest.mark.fast


def solved(graph: UndirectedGraph) -> GeneralMatchingResult:
    """Return the verified matching that the phases alone find."""
    result = preflow.matching(graph, weight=False, method="serial-gabow", options={"initial": "none"})
    result.verify()
    return result


@given(st.integers(2, 40), st.sampled_from([0.7, 1, 1.3, 2, 4]), st.integers(0, 2**32))
def test_agrees_with_blossom_in_few_phases(n: int, degree: float, seed: int) -> None:
    ends = np.random.default_rng(seed).integers(0, n, (2, int(n * degree)))
    graph = UndirectedGraph.from_arrays(*ends, num_vertices=n)
    result = solved(graph)
    assert result.cardinality == preflow.matching(graph, method="serial-blossom").cardinality
    assert result.stats.phases <= 2 * np.sqrt(result.cardinality) + 2


def path(size: int) -> list[tuple[int, int]]:
    """Return a path whose vertices have shuffled names."""
    names = np.random.default_rng(0).permutation(size)
    return list(zip(names[:-1].tolist(), names[1:].tolist(), strict=True))


def chain(size: int) -> list[tuple[int, int]]:
    """Return triangles that bridges join to a chain."""
    edges = [(i, i + 1) for i in range(size - 1)]
    return edges + [(i, i + 2) for i in range(0, size - 2, 3)]


def nested(size: int) -> list[tuple[int, int]]:
    """Return a path in which chords from one end make nested blossoms."""
    return [(i, i + 1) for i in range(size - 1)] + [(0, i) for i in range(2, size, 2)]


def cliques(size: int) -> list[tuple[int, int]]:
    """Return cliques of five vertices that bridges join."""
    edges = [(i - 1, i) for i in range(5, size, 5)]
    return edges + [(i + a, i + b) for i in range(0, size - 4, 5) for a in range(5) for b in range(a + 1, 5)]


@pytest.mark.parametrize("family", [path, chain, nested, cliques])
@pytest.mark.parametrize("size", [301, 1201])
def test_scans_of_bad_cases(family: object, size: int) -> None:
    assert callable(family)
    edges = np.array(family(size), dtype=np.int64)
    result = solved(UndirectedGraph.from_arrays(edges[:, 0], edges[:, 1], num_vertices=size))
    assert result.stats.arc_scans <= 6 * len(edges) * (result.stats.phases + 1)
    assert result.stats.phases <= np.sqrt(size)


def test_stops_between_two_edges() -> None:
    edges = np.array(path(200), dtype=np.int64)
    tail, head = edges.T.astype(np.uint32).copy()
    control = Control()
    control.stop[0] = 1
    start = np.full(200, -1)
    start[edges[0]] = edges[0, ::-1]
    state = serial_gabow.solve(neighbours_of(200, tail, head, None), start, InitialOptions(), control)
    assert not state.finished
    assert np.array_equal(state.mate, start)
