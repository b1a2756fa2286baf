"""The weighted blossom algorithm: its invariants, and its way through nested blossoms."""

from __future__ import annotations

from typing import get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflow.errors import CostOverflowError, InvalidInputError
from preflow.general_matching import weighted_blossom as blossom
from preflow.general_matching.links import NONE
from preflow.general_matching.weighted_blossom.search import match_vertices, run_searches
from preflow.general_matching.weighted_blossom.start import Initial, first_duals
from preflow.general_matching.weighted_blossom.state import new_forest
from preflow.graph.undirected import Neighbours
from preflow.solving.run import Control
from preflow.stats import ARC_SCANS
from tests.invariants.weighted_blossom import check_invariants as check_weighted_blossom

Edges = list[tuple[int, int, int]]

pytestmark = pytest.mark.fast


def neighbours(num_vertices: int, edges: Edges) -> Neighbours:
    """Return the compressed sparse rows of a simple graph."""
    both = sorted([(u, v, w) for u, v, w in edges] + [(v, u, w) for u, v, w in edges])
    tail = [u for u, _, _ in both]
    first = np.searchsorted(tail, np.arange(num_vertices + 1)).astype(np.uint32)
    return Neighbours(
        first,
        np.array([v for _, v, _ in both], dtype=np.uint32),
        np.array([w for _, _, w in both], dtype=np.int64),
    )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    """Draw a graph with up to 14 vertices, and weights that often tie."""
    n = draw(st.integers(1, 14))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    most = draw(st.sampled_from([1, 2, 5, 10**6]))
    bonus = draw(st.sampled_from([0, 0, 10**8]))
    return n, [(u, v, bonus + draw(st.integers(1, most))) for u, v in chosen]


def weight_of(edges: Edges, mate: list[int]) -> int:
    weights = {(u, v): w for u, v, w in edges} | {(v, u): w for u, v, w in edges}
    return sum(weights[v, w] for v, w in enumerate(mate) if v < w < len(mate))


@given(graphs(), st.sampled_from(get_args(Initial)))
def test_invariants_hold_after_each_search(drawn: tuple[int, Edges], initial: Initial) -> None:
    n, edges = drawn
    graph = neighbours(n, edges)
    forest = new_forest(n, len(edges))
    forest.outer[:n] = first_duals(graph, initial, None, forest.dual, Control())
    check_weighted_blossom(forest, graph)
    roots = np.flatnonzero((forest.dual > 0) & (forest.outer[:n] == NONE)).astype(np.uint32)
    budget = 1
    while len(roots):
        kept = [
            root
            for root in roots
            if run_searches(forest, graph, np.array([root]), np.uint64(budget), Control().monitor())
        ]
        check_weighted_blossom(forest, graph)
        roots, budget = np.array(kept, dtype=np.uint32), budget * 2
    mate = np.empty(n, dtype=np.uint32)
    match_vertices(forest, mate)
    plain = nx.Graph()
    plain.add_weighted_edges_from(edges)
    best = nx.max_weight_matching(plain)
    assert weight_of(edges, mate.tolist()) == sum(plain.edges[pair]["weight"] for pair in best)


def test_growth_of_nested_blossoms_is_near_linear() -> None:
    scans = []
    for n in (200, 400, 800):
        # Each blossom contains the one before and two vertices more; the last vertex opens all of them.
        edges = [(i, i + 1, 2 * n - i) for i in range(n - 1)] + [
            (i, i + 2, 2 * n - i - 1) for i in range(n - 2)
        ]
        control = Control()
        state = blossom.solve(neighbours(n, edges), None, blossom.WeightedBlossomOptions(), control)
        assert state.finished
        scans.append(int(control.counts[ARC_SCANS]))
    assert scans[2] < 2.5 * scans[1] < 2.5**2 * scans[0]


def test_weights_that_could_wrap_are_refused() -> None:
    with pytest.raises(CostOverflowError, match="below 2"):
        blossom.solve(neighbours(2, [(0, 1, 2**60)]), None, blossom.WeightedBlossomOptions(), Control())
    state = blossom.solve(
        neighbours(2, [(0, 1, 2**60 - 1)]), None, blossom.WeightedBlossomOptions(), Control()
    )
    assert state.mate.tolist() == [1, 0]


def test_options_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="at least 2"):
        blossom.WeightedBlossomOptions(growth=1)
    with pytest.raises(InvalidInputError, match="budget"):
        blossom.WeightedBlossomOptions(budget=0)


def test_a_stopped_solve_leaves_duals_that_bound() -> None:
    control = Control()
    control.stop[0] = 1
    state = blossom.solve(
        neighbours(3, [(0, 1, 3), (1, 2, 4)]), None, blossom.WeightedBlossomOptions(), control
    )
    assert not state.finished
    assert state.mate.tolist() == [-1, -1, -1]
    assert state.duals is not None
    assert state.duals.vertex.tolist() == [3, 4, 4]
