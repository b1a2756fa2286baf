"""Undirected graphs of matrices and dictionaries: symmetric but for rounding, a triangle, or refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import preflow
from preflow.errors import InvalidInputError
from preflow.reductions import chinese_postman, general_b_matching, minimum_weight_edge_cover, t_join

FORMATS = ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"]
CALLS: dict[str, Any] = {
    "matching": preflow.matching,
    "global_min_cut": preflow.global_min_cut,
    "gomory_hu_tree": preflow.gomory_hu_tree,
    "t_join": lambda graph: t_join(graph, []),
    "chinese_postman": chinese_postman,
    "general_b_matching": lambda graph: general_b_matching(graph, 1),
    "minimum_weight_edge_cover": minimum_weight_edge_cover,
}


def random_matrix(random: np.random.Generator, n: int, dtype: Any) -> np.ndarray:
    """Return a symmetric matrix in which half of the entries are zero."""
    upper = np.triu(random.random((n, n)) + 0.01) * (random.random((n, n)) < 0.5)
    return np.asarray(upper + np.triu(upper, 1).T, dtype=dtype)


def edges_of(graph: preflow.UndirectedGraph) -> dict[tuple[int, int], float]:
    assert graph.weight is not None
    ends = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
    return {(min(pair), max(pair)): w for pair, w in zip(ends, graph.weight.tolist(), strict=True)}


def heavy(graph: preflow.UndirectedGraph) -> dict[tuple[int, int], float]:
    """Return the edges but those of weight 0, which some formats store."""
    return {pair: weight for pair, weight in edges_of(graph).items() if weight}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", FORMATS)
def test_symmetric_but_for_rounding(form: str, dtype: Any) -> None:
    random = np.random.default_rng(3)
    for n in range(2, 9):
        matrix = random_matrix(random, n, dtype)
        steps = random.integers(-3, 4, (n, n)) * np.triu(np.ones((n, n)), 1)
        near = (matrix * (1 + steps * np.finfo(dtype).eps)).astype(dtype)
        found = heavy(preflow.UndirectedGraph.from_scipy(sp.coo_array(near).asformat(form)))
        expected = {(u, v): near[u, v].item() for u, v in zip(*np.nonzero(np.triu(near)), strict=True)}
        assert found == expected
        for triangle in (np.triu(matrix), np.tril(matrix)):
            whole = preflow.UndirectedGraph.from_scipy(sp.coo_array(triangle).asformat(form))
            assert heavy(whole) == edges_of(preflow.UndirectedGraph.from_scipy(sp.csr_array(matrix)))


def test_what_matrices_weigh() -> None:
    """Each edge counts once in every problem."""
    kernel = np.array([[0, 0.1, 0.2], [np.nextafter(0.1, 1), 0, 0.3], [0.2, 0.3, 0]])
    matrix = sp.csr_array(kernel)
    assert preflow.global_min_cut(matrix).value == pytest.approx(0.3)
    assert preflow.gomory_hu_tree(matrix).min_cut_value(0, 1) == pytest.approx(0.3)
    assert preflow.edge_connectivity(matrix).value == 2
    assert preflow.matching(matrix).weight == 0.3
    assert minimum_weight_edge_cover(matrix).weight == pytest.approx(0.3)


@pytest.mark.parametrize("call", [*CALLS.values(), preflow.edge_connectivity, preflow.vertex_connectivity])
def test_neither_symmetric_nor_a_triangle(call: Any) -> None:
    pattern = sp.coo_array(([1, 1, 1], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    with pytest.raises(InvalidInputError, match=r"stores 1 at \(1, 2\) and nothing at \(2, 1\)"):
        call(pattern)
    twice = sp.coo_array(([1, 1, 1], ([0, 0, 1], [1, 1, 0])), shape=(3, 3))
    with pytest.raises(
        InvalidInputError, match=r"neither symmetric, as \(matrix \+ matrix.T\) / 2 is, nor a triangle"
    ):
        call(twice)


@pytest.mark.parametrize("call", CALLS.values())
@pytest.mark.parametrize(("first", "second"), [(0.1, 0.2), (0.5, 0.5 + 1e-9), (3, 4), (1e300, 1.1e300)])
def test_two_numbers_for_one_edge(call: Any, first: float, second: float) -> None:
    matrix = sp.csr_array(np.array([[0, first, 1], [second, 0, 2], [1, 2, 0]]))
    with pytest.raises(InvalidInputError, match=r"entry \(0, 1\) is .*, and \(1, 0\) is .*, which differs"):
        call(matrix)
    with pytest.raises(InvalidInputError, match="from one end"):
        call({0: {1: first, 2: 1}, 1: {0: second}})
    assert preflow.edge_connectivity(matrix).value == 2  # weights do not matter


def test_zeros_and_duplicates() -> None:
    """A zero on both sides is an edge, one on one side is none; parallel entries may come in any order."""
    ends = ([0, 1, 1, 2, 0, 2, 2], [1, 0, 2, 1, 2, 0, 2])
    both = preflow.UndirectedGraph.from_scipy(sp.coo_array(([0, 0, 1, 1, 5, 5, 0], ends), shape=(3, 3)))
    assert edges_of(both) == {(0, 1): 0, (1, 2): 1, (0, 2): 5, (2, 2): 0}
    lone = sp.coo_array(([0, 2, 2, 0], ([0, 1, 2, 2], [1, 2, 1, 0])), shape=(3, 3))
    assert edges_of(preflow.UndirectedGraph.from_scipy(lone)) == {(1, 2): 2}
    triangle = sp.coo_array(([0, 2], ([0, 2], [1, 1])), shape=(3, 3))
    assert edges_of(preflow.UndirectedGraph.from_scipy(triangle)) == {(1, 2): 2}
    parallel = sp.coo_array(([1, 2, 2, 1], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert preflow.global_min_cut(parallel).value == 3


def test_dictionaries_that_agree_but_for_rounding() -> None:
    near = {"a": {"b": 0.1, "c": 0.5}, "b": {"a": np.nextafter(0.1, 0)}}
    assert preflow.global_min_cut(near).value == 0.1
    assert preflow.matching(near).weight == 0.5


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_function(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"the graph is directed: {name} takes undirected graphs"):
        CALLS[name](nx.DiGraph([(1, 2), (2, 1)]))
