"""Bipartite matching: every solver from every start against an oracle, its proof, bad input, hard graphs."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import structural_rank as scipy_rank

import preflow
from benchmarks.instances.traps import board_with_holes
from preflow import BipartiteGraph
from preflow.bipartite import multicore_push_relabel, packed_columns, policy, serial_push_relabel
from preflow.bipartite.cover import trivial_cover
from preflow.bipartite.match_arrays import empty_matching
from preflow.bipartite.policy import choose
from preflow.bipartite.problem import INITIAL, find_heuristic
from preflow.certify.matching import check_cover, check_matching
from preflow.errors import (
    DeviceUnavailableError,
    InvalidInputError,
    NotOptimalError,
    ParseError,
    VerificationError,
)
from preflow.generators import BIPARTITE_FAMILIES, bipartite_family
from preflow.graph.bipartite import Adjacency
from preflow.io.bipartite import read_bipartite_graph
from preflow.io.edge_list import read_edge_list
from preflow.io.matrix_market import read_matrix_market, write_matrix_market
from preflow.progress import ProgressReport
from preflow.solving import run
from preflow.solving.run import Control
from tests.invariants.matching_push_relabel import check_invariants as check_matching_push_relabel
from tests.support.oracles import largest_matching
from tests.support.strategies import SmallGraph, small_graphs

SOLVERS = [method.name for method in preflow.methods("bipartite_matching") if method.device == "cpu"]
STARTS = ["none", *(heuristic.name for heuristic in INITIAL if heuristic.device == "cpu")]
COMPLETE = SmallGraph(4, 6, [(r, c) for r in range(4) for c in range(6)])
STAR = SmallGraph(5, 3, [(r, 1) for r in range(5)])


def random_graph(rows: int, columns: int, edges: int, seed: int = 0) -> scipy.sparse.coo_array:
    random = np.random.default_rng(seed)
    ends = (random.integers(0, rows, edges), random.integers(0, columns, edges))
    return scipy.sparse.coo_array((np.ones(edges), ends), shape=(rows, columns))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("method", SOLVERS)
@given(problem=small_graphs())
@example(problem=SmallGraph(1, 1, [(0, 0)]))
@example(problem=SmallGraph(3, 2, []))
@example(problem=COMPLETE)
@example(problem=SmallGraph(6, 4, [(c, r) for r, c in COMPLETE.edges]))
@example(problem=STAR)
@example(problem=SmallGraph(3, 5, [(c, r) for r, c in STAR.edges]))
@example(problem=SmallGraph(2, 2, [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1)]))
@settings(max_examples=25)
def test_solver_agrees_with_oracle(method: str, start: str, problem: SmallGraph) -> None:
    result = preflow.bipartite_matching(problem.graph, method=method, initial=start)
    result.verify()
    assert result.cardinality == result.value == result.vertex_cover.size == largest_matching(problem)
    assert result.stats.initial == start
    assert result.stats.attempts[0].method == method
    assert result.stats.initial_cardinality + result.stats.augmentations == result.cardinality


@pytest.mark.parametrize("method", ["auto", *SOLVERS])
@pytest.mark.parametrize("shape", [(3000, 3000, 9000), (2000, 3000, 4500), (3000, 2000, 15000)])
def test_larger_graphs_agree_with_scipy(method: str, shape: tuple[int, int, int]) -> None:
    matrix = random_graph(*shape)
    expected = scipy_rank(matrix.tocsr())
    for start in ("auto", *STARTS):
        result = preflow.bipartite_matching(matrix, method=method, initial=start)
        result.verify()
        assert result.cardinality == expected


OPTIONS = [
    ("serial-push-relabel", {"initial_labels": "one", "stalled": "relabel"}),
    ("serial-push-relabel", {"gap": False, "relabel_period": 1e-9}),
    ("serial-push-relabel", {"gap": False, "side": "columns", "double_push": False}),
    ("serial-push-relabel", {"side": "columns", "initial_labels": "one", "stalled": "trees"}),
    ("serial-push-relabel", {"stalled": "trees", "relabel_period": 1e-9}),
    ("multicore-push-relabel", {"stalled": "trees", "relabel_period": 1e-9}),
    ("multicore-push-relabel", {"stalled": "relabel", "relabel_period": 1e-9}),
    ("serial-push-relabel", {"initial_labels": "one", "gap": False, "relabel_period": 1e300}),
    ("serial-hybrid", {"budget": 1e-9}),
    ("serial-pothen-fan", {"fairness": False}),
]


@pytest.mark.parametrize(("method", "options"), OPTIONS)
@given(problem=small_graphs(max_vertices=14))
@settings(max_examples=40)
def test_options_do_not_change_answers(method: str, options: dict[str, object], problem: SmallGraph) -> None:
    result = preflow.bipartite_matching(problem.graph, method=method, options=options)
    result.verify()
    assert result.cardinality == largest_matching(problem)


@pytest.mark.parametrize(("method", "options"), OPTIONS)
def test_options_on_larger_graphs(method: str, options: dict[str, object]) -> None:
    matrix = random_graph(2000, 2000, 5000, seed=1)
    result = preflow.bipartite_matching(matrix, method=method, options=options)
    result.verify()
    assert result.cardinality == scipy_rank(matrix.tocsr())


@given(problem=small_graphs(), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_order_of_rows_and_columns_does_not_matter(problem: SmallGraph, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, columns = random.permutation(problem.num_rows), random.permutation(problem.num_columns)
    other = replace(problem, edges=[(int(rows[r]), int(columns[c])) for r, c in problem.edges])
    sizes = {preflow.bipartite_matching(each.graph).cardinality for each in (problem, other)}
    assert sizes == {preflow.bipartite_matching(problem.graph.transposed).cardinality}


@pytest.mark.jit
@given(problem=small_graphs())
@settings(max_examples=20)
def test_wide_indices_give_the_same_answer(problem: SmallGraph) -> None:
    """Index arrays of 64 bits, as from 2**32 - 1 edges on."""
    narrow = BipartiteGraph(*problem.graph.shape, problem.graph.rows)
    rows = Adjacency(*(each.astype(np.uint64) for each in narrow.rows))
    wide = BipartiteGraph(*narrow.shape, rows, _checked=True)
    assert wide.columns.neighbour.dtype == np.uint64
    for one, other in zip(narrow.columns, wide.columns, strict=True):
        assert np.array_equal(one, other)
    result, expected = (
        preflow.bipartite_matching(graph, method="serial-push-relabel") for graph in (wide, narrow)
    )
    result.verify()
    assert result.row_match.tolist() == expected.row_match.tolist()
    assert preflow.bipartite_matching(wide).cardinality == expected.cardinality


# Starting from a matching


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gap": False},
        {"initial_labels": "one"},
        {"stalled": "relabel"},
        {"gap": False, "side": "columns", "double_push": False},
    ],
    ids=str,
)
def test_push_relabel_keeps_its_invariants(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    push_until, phases = serial_push_relabel.push_until, []

    def checked(rows: Any, matching: Any, state: Any, *more: Any) -> Any:
        left = push_until(rows, matching, state, *more)
        check_matching_push_relabel(rows, matching, state)
        phases.append(left)
        return left

    monkeypatch.setattr(serial_push_relabel, "push_until", checked)
    graph = preflow.BipartiteGraph.from_scipy(random_graph(300, 280, 700))
    result = preflow.bipartite_matching(
        graph, method="serial-push-relabel", initial="none", options={"relabel_period": 0.1, **options}
    )
    result.verify()
    assert len(phases) > 2


def pushes_as_printed(rows_of: list[list[int]], num_rows: int) -> int:
    """Return the pushes of Algorithm 1 of Deveci et al. on columns with these rows, from exact labels.

    The labels of rows start as exact distances and those of columns follow from them; a push raises both.
    """
    num_columns = len(rows_of)
    most = num_rows + num_columns
    row_mate = [-1] * num_rows
    label = [0] * num_rows
    active, pushes = list(range(num_columns)), 0
    while active:
        v = active.pop(0)
        least, chosen = most, -1
        for u in rows_of[v]:
            if label[u] < least:
                least, chosen = label[u], u
        if least == most:
            continue
        pushes += 1
        if row_mate[chosen] != -1:
            active.append(row_mate[chosen])
        row_mate[chosen] = v
        label[chosen] = least + 2
    return pushes


@given(n=st.integers(1, 12), share=st.floats(0.0, 0.5), seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_pushes_of_the_printed_algorithm(n: int, share: float, seed: int) -> None:
    # With a hidden perfect matching no column is given up, and none of the two counts goes on until then.
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, n)) < share
    pattern[rng.permutation(n), np.arange(n)] = True
    printed = {"side": "columns", "double_push": False, "gap": False, "relabel_period": 1e9}
    result = preflow.bipartite_matching(
        scipy.sparse.csr_array(pattern), method="serial-push-relabel", initial="none", options=printed
    )
    result.verify()
    assert result.cardinality == n
    columns = [np.flatnonzero(column).tolist() for column in pattern.T]
    assert result.stats.pushes == pushes_as_printed(columns, n)


@pytest.mark.parametrize("method", SOLVERS)
def test_start_from_a_given_matching(method: str) -> None:
    matrix = random_graph(1000, 1200, 3000)
    best = preflow.bipartite_matching(matrix)
    again = preflow.bipartite_matching(matrix, method=method, warm_start=best)
    again.verify()
    assert again.stats.initial == "given"
    assert again.stats.initial_cardinality == again.cardinality == best.cardinality
    some = np.where(np.arange(1000) % 3 == 0, best.row_match, -1)
    result = preflow.bipartite_matching(matrix, method=method, warm_start=some)
    result.verify()
    assert result.cardinality == best.cardinality
    assert result.stats.initial_cardinality == np.count_nonzero(some >= 0)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0, -1], "expected"),
        ([0.0, -1.0, 1.0], "integers"),
        ([0, -2, -1], "or -1 for none"),
        ([0, 3, -1], "columns 0 to 2"),
        ([0, 0, -1], "not a matching"),
        ([2, -1, -1], "not its neighbour"),
        ([[0], [1, 2]], "not an array"),
        ("best", r"shape is \(\)"),
    ],
)
def test_bad_start(start: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.bipartite_matching(([0, 0, 1, 2], [0, 1, 1, 2]), warm_start=start)


def test_a_matching_as_the_initial_one_still_works() -> None:
    edges = [0, 0, 1], [0, 1, 1]
    for function in (preflow.bipartite_matching, preflow.matching):
        first = function(edges)
        with pytest.warns(DeprecationWarning, match="initial is now called warm_start"):
            assert function(edges, initial=first).value == first.value
        with pytest.raises(InvalidInputError, match="one of them"):
            function(edges, initial=first, warm_start=first)
    with pytest.raises(InvalidInputError, match="one of them"):
        preflow.bipartite_matching(edges, initial="cheap", warm_start=[0, 1])
    with pytest.raises(InvalidInputError, match="there are: auto, none, cheap"):
        preflow.bipartite_matching(edges, initial="best")


# Initial matchings


@given(seed=st.integers(0, 10**6), size=st.integers(2, 40))
@settings(max_examples=40)
def test_karp_sipser_is_optimal_on_trees(seed: int, size: int) -> None:
    tree = nx.random_labeled_tree(size, seed=seed)
    result = preflow.bipartite_matching(tree, initial="karp-sipser")
    assert result.stats.initial_cardinality == result.cardinality == len(nx.max_weight_matching(tree, True))


def test_initial_matchings_are_as_good_as_they_claim() -> None:
    random = np.random.default_rng(5)
    n = 20_000
    columns = np.concatenate([random.permutation(n) for _ in range(4)])
    order = random.permutation(4 * n)
    graph = BipartiteGraph.from_arrays(np.tile(np.arange(n), 4)[order], columns[order])
    share = {}
    for start in STARTS:
        stats = preflow.bipartite_matching(graph, initial=start).stats
        share[start] = stats.initial_cardinality / n
    assert share["none"] == 0
    assert 0.85 < share["cheap"] < share["min-degree"] < share["karp-sipser"]
    assert share["karp-sipser"] > 0.99
    assert share["sinkhorn-knopp"] > 0.86


# Input


def test_every_kind_of_graph() -> None:
    dense = np.array([[0, 1, 1], [0, 0, 1]])
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
        for make in (scipy.sparse.coo_array, scipy.sparse.coo_matrix):
            result = preflow.bipartite_matching(make(dense).asformat(form))
            assert result.row_match.tolist() == [1, 2], form
            assert result.column_match.tolist() == [-1, 0, 1]
    assert preflow.bipartite_matching(([0, 0, 1], [1, 2, 2])).cardinality == 2
    assert result.pairs() == [(0, 1), (1, 2)]
    assert result.matrix().toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert "2 of 2 rows and 3 columns matched" in repr(result)


def test_duplicates_and_explicit_zeros() -> None:
    ends = ([0, 0, 0, 1], [0, 0, 1, 0])
    matrix = scipy.sparse.coo_array(([1.0, -1.0, 0.0, 2.0], ends), shape=(2, 2))
    assert preflow.structural_rank(matrix) == 2
    assert preflow.structural_rank(BipartiteGraph.from_scipy(matrix, explicit_zeros=False)) == 1
    assert preflow.structural_rank(BipartiteGraph.from_scipy(matrix.tocsc(), explicit_zeros=False)) == 1
    assert BipartiteGraph.from_scipy(matrix).num_edges == 4
    unsorted = scipy.sparse.csr_array(([1, 1, 1], [2, 0, 2], [0, 3, 3]), shape=(2, 3))
    preflow.bipartite_matching(unsorted).verify()


def test_graphs_that_are_given_by_columns() -> None:
    matrix = random_graph(300, 200, 700).tocsc()
    graph = BipartiteGraph.from_scipy(matrix)
    by_edges = BipartiteGraph.from_arrays(
        *(end[np.argsort(matrix.tocoo().col)] for end in matrix.tocoo().coords)
    )
    for each in (graph, by_edges):
        assert each.by_columns
        assert each.num_edges == matrix.nnz
        for method in SOLVERS:
            result = preflow.bipartite_matching(each, method=method, initial="cheap")
            result.verify()
            assert result.cardinality == scipy_rank(matrix)
            again = preflow.bipartite_matching(each, method=method, warm_start=result)
            assert again.stats.initial_cardinality == again.cardinality == result.cardinality
        assert result.row_match.shape == (300,)
        assert each.transposed.transposed.rows is each.rows
        check_decomposition(each)


def test_the_matrix_is_left_alone() -> None:
    matrix = random_graph(100, 100, 300).tocsr()
    before = (matrix.indptr.copy(), matrix.indices.copy())
    preflow.dulmage_mendelsohn(matrix)
    assert np.array_equal(matrix.indptr, before[0])
    assert np.array_equal(matrix.indices, before[1])


def test_networkx_graphs_keep_their_labels() -> None:
    graph = nx.Graph([("ann", "flute"), ("ann", "oboe"), ("bob", "oboe"), (3, "drum")])
    result = preflow.bipartite_matching(graph)
    result.verify()
    assert sorted(result.pairs(), key=str) == [("ann", "flute"), ("bob", "oboe"), (3, "drum")] or (
        result.cardinality == 3
    )
    assert {column for _, column in result.pairs()} == {"flute", "oboe", "drum"}
    other = BipartiteGraph.from_networkx(graph, rows=["flute", "oboe", "drum"])
    assert other.row_labels == ("flute", "oboe", "drum")
    complete = nx.complete_bipartite_graph(3, 5)
    assert BipartiteGraph.from_networkx(complete).shape == (3, 5)
    random = nx.bipartite.random_graph(40, 50, 0.05, seed=2, directed=True)
    size = len(nx.bipartite.hopcroft_karp_matching(random.to_undirected(), range(40))) // 2
    assert preflow.bipartite_matching(random).cardinality == size
    with pytest.raises(InvalidInputError, match="not bipartite: it has a cycle of 3"):
        BipartiteGraph.from_networkx(nx.cycle_graph(3))
    with pytest.raises(InvalidInputError, match="is not in the graph"):
        BipartiteGraph.from_networkx(graph, rows=["eve"])


def broken_csr(indptr: list[int], indices: list[int], shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """Return a matrix with index arrays that scipy would not accept."""
    matrix = scipy.sparse.csr_array(shape)
    matrix.indptr, matrix.indices = np.array(indptr, dtype=np.int32), np.array(indices, dtype=np.int32)
    matrix.data = np.ones(len(indices))
    return matrix


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (broken_csr([0, 1, 2], [0, 5], (2, 3)), "index 5 is out of range"),
        (broken_csr([0, 1, 2], [0, -1], (2, 3)), "index is negative"),
        (broken_csr([0, 2, 1], [0, 1], (2, 3)), "ascend"),
        (broken_csr([1, 1, 2], [0, 1], (2, 3)), "start at 0"),
        (broken_csr([0, 1, 3], [0, 1], (2, 3)), "there are 2 indices"),
        (broken_csr([0, 1], [0], (2, 3)), "expected \\(3,\\)"),
        (scipy.sparse.csr_array([[np.nan, 0], [np.nan, np.nan]]), "NaN"),
        (scipy.sparse.coo_array(np.ones(3)), "two dimensions"),
        (([0, 1], [0]), "2 entries"),
        (([0, -1], [0, 1]), "row is negative"),
        (([0.5], [0]), "integers"),
        (([[0]], [[0]]), "one dimension"),
        (([0], [0], [0]), "3 entries"),
        (([[0], [1, 2]], [0]), "not an array"),
        (np.ones(3), "two dimensions"),
        ("graph", "not str"),
    ],
)
def test_bad_graph(graph: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.bipartite_matching(graph)


def test_bad_shapes() -> None:
    for shape, message in [
        ((1, 2, 3), "rows, columns"),
        ((-1, 2), "not negative"),
        ((2, 1), "out of range"),
        ((2**60, 2), "do not fit any memory"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            BipartiteGraph.from_arrays([0, 1], [0, 1], shape=shape)
    with pytest.raises(InvalidInputError, match="scipy sparse"):
        BipartiteGraph.from_scipy(np.eye(2))
    assert BipartiteGraph.from_arrays([], []).shape == (0, 0)


@pytest.mark.jit
def test_too_many_edges_for_32_bits_take_wide_indices() -> None:
    from preflow.graph.bipartite_input import MOST_NARROW, index_dtype

    assert index_dtype(10, 10, MOST_NARROW) == np.uint32
    assert index_dtype(10, 10, MOST_NARROW + 1) == np.uint64
    wide = BipartiteGraph.from_arrays([0, 1], [0, 2**32], shape=(2, 2**32 + 1))
    assert wide.rows.neighbour.dtype == np.uint64


def test_empty_graphs() -> None:
    for shape in ((0, 0), (0, 3), (3, 0), (2, 2)):
        for method in SOLVERS:
            for start in STARTS:
                result = preflow.bipartite_matching(
                    scipy.sparse.csr_array(shape), method=method, initial=start
                )
                result.verify()
                assert result.cardinality == 0
        assert preflow.dulmage_mendelsohn(scipy.sparse.csr_array(shape)).matching.cardinality == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "serial-simplex"}, "unknown method"),
        ({"options": {"gap": True}}, "takes none"),
        ({"method": "serial-hybrid", "options": {"beta": 1}}, "has no option 'beta'"),
        ({"method": "serial-hybrid", "options": {"budget": 0}}, "positive number"),
        ({"method": "serial-push-relabel", "options": {"initial_labels": "two"}}, "one of exact, one"),
        ({"method": "serial-push-relabel", "options": {"side": "left"}}, "one of rows, columns"),
        ({"method": "serial-push-relabel", "options": {"double_push": 1}}, "double_push"),
        ({"method": "serial-hkdw", "threads": 2}, "one thread"),
        ({"method": "serial-hkdw", "device": "cuda"}, "no method|runs on cpu"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises((InvalidInputError, DeviceUnavailableError), match=message):
        preflow.bipartite_matching(([0], [0]), **arguments)


# Hard graphs


@pytest.mark.parametrize("method", ["auto", *SOLVERS])
def test_never_exponential(method: str) -> None:
    for depth in (20, 22, 24, 26, 2000):
        graph = bipartite_family("ladder").generate(depth=depth)
        for start in ("cheap", "none"):
            result = preflow.bipartite_matching(graph, method=method, initial=start)
            result.verify()
            assert result.cardinality == 3 * depth + 1
    graph = bipartite_family("block-banded").generate("15000x50")
    began = time.perf_counter()
    result = preflow.bipartite_matching(graph, method=method)
    assert result.cardinality == 14700
    assert time.perf_counter() - began < 5
    result.verify()


@pytest.mark.parametrize("name", sorted(BIPARTITE_FAMILIES))
def test_families(name: str) -> None:
    family = bipartite_family(name)
    graph = family.generate(next(iter(family.presets)), **({} if name == "ladder" else {"seed": 1}))
    again = family.generate(next(iter(family.presets)), **({} if name == "ladder" else {"seed": 1}))
    assert np.array_equal(graph.rows.neighbour, again.rows.neighbour)
    results = [preflow.bipartite_matching(graph, method=method) for method in ("auto", *SOLVERS)]
    for result in results:
        result.verify()
        assert result.cardinality == results[0].cardinality
    with pytest.raises(InvalidInputError, match="There are"):
        bipartite_family("erdos")


@pytest.mark.parametrize(
    ("name", "degree", "options"),
    [
        ("delaunay", 6, {}),
        ("delaunay", 6, {"ordered": True}),
        ("hugetrace-like", 3, {}),
        ("hugetrace-like", 3, {"refined": True}),
    ],
)
def test_patches_make_a_triangulation(name: str, degree: int, options: dict[str, bool]) -> None:
    graph = bipartite_family(name).generate(
        n=72_000 if "refined" in options else 18_000, patches=3, **options
    )
    first, neighbour = graph.rows
    matrix = scipy.sparse.csr_array((np.ones(graph.num_edges), neighbour, first), shape=graph.shape)
    assert graph.shape[0] == graph.shape[1]
    assert graph.num_rows == pytest.approx(72_000 if "refined" in options else 18_000, rel=2e-4)
    assert (matrix != matrix.T).nnz == 0
    assert not matrix.diagonal().any()
    assert matrix.max() == 1
    assert scipy.sparse.csgraph.connected_components(matrix)[0] == 1
    # All that is missing is at the border.
    assert 0.96 * degree < graph.num_edges / graph.num_rows < degree
    with pytest.raises(InvalidInputError, match="points of a patch must be at least 500"):
        bipartite_family(name).generate(n=3000, patches=3)


def test_refined_triangles_follow_each_other() -> None:
    """The four children of a triangle are a path, so greedy matching makes no mistake."""
    graph = bipartite_family("hugetrace-like").generate(n=2000, refined=True)
    first, neighbour = graph.rows
    for triangle in range(graph.num_rows):
        near = set(neighbour[first[triangle] : first[triangle + 1]].tolist())
        assert len(near) in (1, 2, 3)
        assert near >= {triangle + 1} - {triangle - triangle % 4 + 4}
    assert preflow.bipartite_matching(graph, initial="cheap").stats.initial_cardinality == graph.num_rows


def test_roads_are_numbered_along_paths() -> None:
    """The same graph by other numbers: all but the first of the inner vertices follow their neighbour."""
    plain, along = (
        bipartite_family("road-like").generate(n=3000, pieces=5, along=each) for each in (False, True)
    )
    degrees = [np.sort(np.diff(graph.rows.first)) for graph in (plain, along)]
    assert np.array_equal(*degrees)
    first, neighbour = along.rows
    row = np.repeat(np.arange(along.num_rows), np.diff(first))
    assert (neighbour == row + 1).sum() > 2 / 3 * along.num_rows


def test_empty_vertices_and_local_edges() -> None:
    graph = bipartite_family("power-law").generate(n=2000, degree=20.0, exponent=3.0, empty=0.25)
    assert (np.diff(graph.rows.first) == 0).sum() == pytest.approx(500, abs=5)
    graph = bipartite_family("erdos-renyi").generate(n=20_000, degree=3.0, columns=30_000, local=0.5)
    row = np.repeat(np.arange(20_000), np.diff(graph.rows.first))
    offset = np.abs(graph.rows.neighbour - row * 3 // 2)
    assert np.mean(np.minimum(offset, 30_000 - offset) <= 500) == pytest.approx(0.5 + 0.5 / 30, abs=0.02)


def test_auto_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, random = (bipartite_family(name) for name in ("delaunay", "erdos-renyi"))
    alone = preflow.bipartite_matching(mesh.generate(n=4000), threads=4).stats
    assert (alone.method, alone.threads) == ("multicore-multi-source-bfs", 1)
    assert "symmetric" in preflow.bipartite_matching(mesh.generate(n=4000)).stats.reason
    assert choose(random.generate("5000x3")).method == "serial-push-relabel"
    assert choose(bipartite_family("road-like").generate(n=20_000)).method == "serial-push-relabel"
    grid = scipy.sparse.kron(
        scipy.sparse.eye_array(100),
        scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(100, 100)),
    )
    shifted = scipy.sparse.csr_array(grid)[:, np.random.default_rng(0).permutation(10_000)]
    assert "not symmetric" in choose(BipartiteGraph.from_scipy(shifted)).because
    assert "small" in preflow.bipartite_matching(([0], [0])).stats.reason
    assert choose(random.generate("30000x3"), threads=2).method == "serial-push-relabel"
    assert choose(random.generate("30000x3"), threads=4).method == "multicore-push-relabel"
    monkeypatch.setattr(policy, "FEW_EDGES", policy.SMALL)
    assert choose(random.generate("5000x3"), threads=1).method == "serial-push-relabel"
    result = preflow.bipartite_matching(random.generate("5000x3"), threads=4)
    result.verify()
    assert result.stats.method == "multicore-push-relabel"
    assert "enough edges for 4 threads" in result.stats.reason
    result = preflow.bipartite_matching(mesh.generate(n=4000), threads=4)
    assert (result.stats.method, result.stats.threads) == ("multicore-multi-source-bfs", 4)
    monkeypatch.setattr(packed_columns, "MOST_PACKED", 3999)
    assert choose(mesh.generate(n=4000), threads=4).method == "serial-hybrid"


@pytest.mark.parametrize("method", ["auto", "multicore-push-relabel"])
def test_trees_take_chains_over(method: str) -> None:
    n = 50_000
    generator = np.random.default_rng(0)
    row = np.tile(np.arange(n), 3)
    column = row + np.repeat([-1, 0, 1], n)
    edges = generator.permutation(np.flatnonzero((column >= 0) & (column < n)))
    row, column = generator.permutation(n)[row[edges]], generator.permutation(n)[column[edges]]
    result = preflow.bipartite_matching((row, column), method=method)
    result.verify()
    assert result.cardinality == n
    assert result.stats.pushes < 3 * n
    assert result.stats.method == "multicore-multi-source-bfs"
    assert "so multicore-multi-source-bfs went on" in result.stats.reason


def test_columns_without_edges_do_not_delay_the_test_for_a_stall() -> None:
    """The black squares of a board are columns without edges: there are as many columns as edges."""
    graph = board_with_holes(150, 0.3, seed=1)
    result = preflow.bipartite_matching(graph, method="serial-push-relabel", options={"stalled": "trees"})
    result.verify()
    assert "pushes stalled with" in result.stats.reason
    assert [each.method for each in result.stats.attempts] == [
        "serial-push-relabel",
        "multicore-multi-source-bfs",
    ]
    assert result.stats.threads == 1
    assert result.stats.pushes < graph.num_edges / 2
    auto = preflow.bipartite_matching(graph, threads=1, device="cpu")
    assert (auto.stats.attempts[0].method, auto.cardinality) == ("serial-push-relabel", result.cardinality)
    assert auto.stats.pushes < graph.num_edges / 2


@pytest.mark.parametrize("stalled", ["relabel", "trees"])
def test_searches_from_both_sides_give_up(monkeypatch: pytest.MonkeyPatch, stalled: str) -> None:
    """The cheap matching leaves one row, whose path crosses all others: too many levels for barriers."""
    monkeypatch.setattr(multicore_push_relabel, "MOST_LEVELS", np.uint64(5))
    n = 3000
    row = np.tile(np.arange(n), 3)
    column = row + np.repeat([-1, 0, 1], n)
    inside = (column >= 0) & (column < n)
    generator = np.random.default_rng(0)
    row, column = generator.permutation(n)[row[inside]], generator.permutation(n)[column[inside]]
    result = preflow.bipartite_matching(
        (row, column), method="multicore-push-relabel", threads=3, options={"stalled": stalled}
    )
    result.verify()
    assert result.cardinality == n
    assert "searches from both sides took the last 1 rows" in result.stats.reason
    assert ("1 rows are left that take long" in result.stats.reason) == (stalled == "trees")


def test_hybrid_hands_over_where_phases_stay_costly() -> None:
    graph = bipartite_family("erdos-renyi").generate("20000x3")
    result = preflow.bipartite_matching(graph, method="serial-hybrid")
    result.verify()
    assert "phases became costly with" in result.stats.reason
    assert result.stats.pushes > 0


# Real matrices


REAL = [("bayer10.mtx.gz", 13436), ("groebner_id2003_aug.mtx.gz", 2456), ("email-enron.txt.gz", 25119)]


@pytest.mark.parametrize(("name", "size"), REAL)
def test_real_matrices(name: str, size: int, shared_instances: Path) -> None:
    graph = read_bipartite_graph(shared_instances / "matching" / name).graph
    for method in ("auto", *SOLVERS):
        result = preflow.bipartite_matching(graph, method=method)
        result.verify()
        assert result.cardinality == size
    check_decomposition(graph)


@pytest.mark.parametrize("name", STARTS[1:])
@pytest.mark.parametrize("threads", [1, 3])
def test_initial_matchings_stop(name: str, threads: int) -> None:
    graph = bipartite_family("erdos-renyi").generate("20000x3", seed=1)
    matching, control = empty_matching(graph), Control(threads)
    control.stop[0] = 1
    heuristic = find_heuristic(name)
    assert heuristic is not None
    heuristic.start(graph, matching, control)
    rows = np.flatnonzero(matching.row_match < graph.num_columns)
    assert len(rows) < 5000
    assert (matching.column_match[matching.row_match[rows]] == rows).all()


# Proofs and limits


def test_proof_fails_for_a_wrong_matching() -> None:
    result = preflow.bipartite_matching(([0, 0, 1], [0, 1, 1]))

    def tampered(**changes: object) -> preflow.MatchingResult:
        return replace(result, **changes)

    def match(*values: int) -> np.ndarray:
        return np.array(values, dtype=np.int32)

    for broken, message in [
        (tampered(row_match=match(0, -1)), "not matched with it|rows are matched"),
        (tampered(row_match=match(1, 0), column_match=match(1, 0)), "not its neighbour"),
        (tampered(row_match=match(0, 5)), "no vertex"),
        (tampered(row_match=match(0)), "shape"),
        (tampered(row_match=match(0, -1), column_match=match(0, -1), lower_bound=1), "do not meet"),
    ]:
        with pytest.raises(VerificationError, match=message):
            broken.verify()
    with pytest.raises(VerificationError, match="row 0 and column 0 is not covered"):
        check_cover(result.graph, np.array([False, True]), np.array([False, True]), 2)
    with pytest.raises(VerificationError, match="shape"):
        check_cover(result.graph, np.array([True]), np.array([False, True]), 2)


@pytest.mark.parametrize("method", SOLVERS)
def test_a_stopped_solve_is_a_matching_with_bounds(method: str) -> None:
    from preflow.bipartite.result import MatchingResult

    graph = bipartite_family("erdos-renyi").generate("2000x3")
    control = Control()
    control.stop[0] = 1
    (record,) = (each for each in preflow.methods("bipartite_matching") if each.name == method)
    assert not record.solve(graph, empty_matching(graph), record.make_options(None), control)
    result = preflow.bipartite_matching(graph, method=method, initial="none", time_limit=1e-9)
    assert isinstance(result, MatchingResult)
    result.verify()
    if result.status == "time-limit":
        assert result.lower_bound <= result.upper_bound == result.vertex_cover.size
        assert "time limit" in repr(result)
        with pytest.raises(NotOptimalError):
            _ = result.value


SCRIPT = """
import sys, threading
import preflow
from preflow.generators import bipartite_family
ARGUMENTS = {"method": sys.argv[1], "initial": "none", "options": eval(sys.argv[2])}
preflow.bipartite_matching(bipartite_family("erdos-renyi").generate("100x3"), **ARGUMENTS)
graph = bipartite_family("erdos-renyi").generate("300000x3")
print("solving", flush=True)
try:
    preflow.bipartite_matching(graph, **ARGUMENTS)
except KeyboardInterrupt:
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("preflow-solver")]
    print("interrupted", len(names), preflow.bipartite_matching(([0], [0])).cardinality, flush=True)
"""


@pytest.mark.parametrize(
    ("method", "options"),
    [("serial-push-relabel", {"relabel_period": 1e-9}), ("serial-pothen-fan", {"fairness": False})],
)
def test_ctrl_c_leaves_the_process_usable(method: str, options: dict[str, object]) -> None:
    command = [sys.executable, "-c", SCRIPT, method, repr(options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "solving"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().split() == ["interrupted", "0", "1"]
    assert process.wait(timeout=30) == 0


def test_progress_is_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "POLL_INTERVAL", 1e-3)
    reports: list[ProgressReport] = []
    graph = bipartite_family("erdos-renyi").generate("4000x3")
    slow = {"relabel_period": 1e-9}
    preflow.bipartite_matching(graph, method="serial-push-relabel", options=slow, progress=reports.append)
    assert reports
    assert all(0 <= report.settled <= 1 for report in reports)
    with pytest.raises(InvalidInputError, match="progress"):
        preflow.bipartite_matching(([0], [0]), progress="yes")


# Decompositions


def check_decomposition(graph: BipartiteGraph) -> None:
    parts = preflow.dulmage_mendelsohn(graph)
    assert sorted(parts.row_order.tolist()) == list(range(graph.num_rows))
    assert sorted(parts.column_order.tolist()) == list(range(graph.num_columns))
    row_block, column_block = np.empty(graph.num_rows, int), np.empty(graph.num_columns, int)
    row_block[parts.row_order] = np.repeat(np.arange(parts.num_blocks), np.diff(parts.row_blocks))
    column_block[parts.column_order] = np.repeat(np.arange(parts.num_blocks), np.diff(parts.column_blocks))
    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(int))
    column = graph.rows.neighbour.astype(int)
    assert (row_block[row] <= column_block[column]).all(), "block upper triangular"
    rows, columns = parts.coarse_rows, parts.coarse_columns
    horizontal, square, vertical = zip(np.diff(rows).tolist(), np.diff(columns).tolist(), strict=True)
    assert horizontal[0] <= horizontal[1]
    assert square[0] == square[1]
    assert vertical[0] >= vertical[1]
    assert horizontal[0] + square[0] + vertical[1] == parts.matching.cardinality
    inner_rows = parts.row_order[rows[1] : rows[2]]
    inner_columns = parts.column_order[columns[1] : columns[2]]
    assert (parts.matching.row_match[inner_rows] == inner_columns).all(), "zero-free diagonal"
    coarse = preflow.dulmage_mendelsohn(graph, fine=False)
    assert np.array_equal(coarse.coarse_rows, rows)
    assert coarse.num_blocks <= 3
    full = graph.num_rows == graph.num_columns == parts.matching.cardinality
    assert parts.is_structurally_nonsingular == full
    lower = preflow.dulmage_mendelsohn(graph, lower=True)
    assert np.array_equal(lower.row_order, parts.row_order[::-1])
    assert np.array_equal(lower.column_order, parts.column_order[::-1])
    assert np.array_equal(np.diff(lower.row_blocks), np.diff(parts.row_blocks)[::-1])
    assert np.array_equal(np.diff(lower.coarse_columns), np.diff(columns)[::-1])
    row_block[lower.row_order] = np.repeat(np.arange(lower.num_blocks), np.diff(lower.row_blocks))
    column_block[lower.column_order] = np.repeat(np.arange(lower.num_blocks), np.diff(lower.column_blocks))
    assert (row_block[row] >= column_block[column]).all(), "block lower triangular"


@given(problem=small_graphs(max_vertices=12))
@settings(max_examples=60)
def test_block_triangular_form(problem: SmallGraph) -> None:
    graph = problem.graph
    check_decomposition(graph)
    parts = preflow.dulmage_mendelsohn(graph)
    low, high = parts.coarse_rows[1], parts.coarse_rows[2]
    rows, columns = parts.row_order[low:high], parts.column_order[parts.coarse_columns[1] :]
    links = nx.DiGraph()
    links.add_nodes_from(rows.tolist())
    owner = parts.matching.column_match
    inner = set(columns[: high - low].tolist())
    links.add_edges_from(
        (r, int(owner[c])) for r, c in problem.edges if r in set(rows.tolist()) and c in inner
    )
    strong = nx.number_strongly_connected_components(links)
    inside = (parts.row_blocks[:-1] >= low) & (parts.row_blocks[1:] <= high) & (np.diff(parts.row_blocks) > 0)
    assert np.count_nonzero(inside) == strong


def test_zero_free_diagonal() -> None:
    matrix = scipy.sparse.csr_array(random_graph(400, 400, 2000) + scipy.sparse.eye_array(400))
    mixed = matrix[:, np.random.default_rng(3).permutation(400)]
    order = preflow.zero_free_diagonal(mixed)
    assert (mixed[:, order].diagonal() != 0).all()
    poor = random_graph(300, 300, 400).tocsr()
    order = preflow.zero_free_diagonal(poor)
    assert sorted(order.tolist()) == list(range(300))
    assert np.count_nonzero(poor[:, order].diagonal()) == preflow.structural_rank(poor) == scipy_rank(poor)
    with pytest.raises(InvalidInputError, match="square"):
        preflow.zero_free_diagonal(random_graph(3, 4, 5))


def test_decompositions_pass_arguments_on() -> None:
    matrix = random_graph(2000, 2000, 12000)
    large = bipartite_family("erdos-renyi").generate("20000x3")
    given, slow = preflow.bipartite_matching(matrix), {"relabel_period": 1e-9}
    for function in (preflow.structural_rank, preflow.zero_free_diagonal, preflow.dulmage_mendelsohn):
        function(matrix, threads=1, warm_start=given, time_limit=60.0)
        function(matrix, method="serial-push-relabel", options={"relabel_period": 0.5})
        with pytest.raises(InvalidInputError, match="threads"):
            function(matrix, threads=0)
        with pytest.raises(NotOptimalError, match="optimum lies between"):
            function(large, method="serial-push-relabel", options=slow, time_limit=1e-9, initial="none")
        with pytest.raises(TypeError, match="unexpected keyword"):
            function(matrix, treads=1)


# Files


def test_matrix_market_round_trip(tmp_path: Path) -> None:
    graph = bipartite_family("erdos-renyi").generate("50x3")
    for name in ("a.mtx", "a.mtx.gz"):
        write_matrix_market(tmp_path / name, graph)
        again = read_matrix_market(tmp_path / name)
        assert again.shape == graph.shape
        assert np.array_equal(again.rows.first, graph.rows.first)
    dense = tmp_path / "dense.mtx"
    dense.write_text("%%MatrixMarket matrix array real general\n0 2\n")
    assert read_matrix_market(dense).shape == (0, 2)
    dense.write_text("%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n2\n")
    assert read_matrix_market(dense).num_edges == 2
    zeros = tmp_path / "zeros.mtx"
    zeros.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0\n2 1 3\n")
    assert read_matrix_market(zeros).num_edges == 3
    assert read_matrix_market(zeros, explicit_zeros=False).num_edges == 2


@pytest.mark.parametrize(
    "text", ["", "no matrix", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0\n"]
)
def test_malformed_matrix_market(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.mtx"
    path.write_text(text)
    with pytest.raises(ParseError, match=r"bad\.mtx"):
        read_matrix_market(path)
    with pytest.raises(ParseError, match="cannot be read"):
        read_matrix_market(tmp_path / "missing.mtx")


def test_edge_lists(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("# Nodes: 4 Edges: 3\n% another comment\n0 3 1\n\n2\t1  0.5\n0 1 2 # here, too\n")
    graph = read_edge_list(path)
    assert graph.shape == (4, 4)
    assert graph.rows.first.tolist() == [0, 2, 2, 3, 3]
    assert read_bipartite_graph(path).graph.rows.neighbour.tolist() == graph.rows.neighbour.tolist()
    path.write_text("# nothing\n")
    assert read_edge_list(path).shape == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n3\n",
        "1 2\n1 2 3\n",
        "1\n2\n",
        "1 2\n3 x\n",
        "1 2.5\n",
        "0 -1\n",
        "0 99999999999999999999\n",
        "0 9223372036854775807\n",
    ],
)
def test_malformed_edge_lists(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(ParseError, match=r"bad\.txt"):
        read_edge_list(path)


def test_byte_order_does_not_matter() -> None:
    row, column = np.array([0, 1], dtype=">i4"), np.array([1, 0], dtype=">i8")
    assert BipartiteGraph.from_arrays(row, column, shape=(2**25, 2**25)).rows.neighbour.tolist() == [1, 0]
    matrix = scipy.sparse.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 1, 2])))
    matrix.indices, matrix.indptr = matrix.indices.astype(">i4"), matrix.indptr.astype(">i4")
    assert BipartiteGraph.from_scipy(matrix).rows.neighbour.tolist() == [1, 0]


@pytest.mark.parametrize("banner", [" %%MatrixMarket", "%MatrixMarket", "\n%%MatrixMarket"])
def test_a_damaged_matrix_is_no_list_of_edges(banner: str, tmp_path: Path) -> None:
    path = tmp_path / "matrix.mtx"
    path.write_text(f"{banner} matrix coordinate pattern general\n3 3 1\n1 2\n")
    with suppress(ParseError):
        assert read_bipartite_graph(path).graph.rows.first.tolist() == [0, 1, 1, 1]


def test_bounds_of_a_graph_by_columns_transpose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = scipy.sparse.random_array((400, 500), density=0.01, rng=0, format="csc")

    def refuse(*_: object) -> None:
        raise AssertionError("transposed")

    with monkeypatch.context() as patch:
        patch.setattr(BipartiteGraph, "_transpose", refuse)
        graph = BipartiteGraph.from_scipy(matrix)
        rows, columns = trivial_cover(graph)
        check_matching(graph, np.full(400, -1), np.full(500, -1), 0)
    assert (rows.shape, columns.shape) == ((400,), (500,))
    check_cover(graph, rows, columns, int(rows.sum() + columns.sum()))


@pytest.mark.parametrize(
    ("alias", "threads", "method"),
    [
        ("PFP", None, "serial-pothen-fan"),
        ("PFP", 1, "serial-pothen-fan"),
        ("PFP", 2, "multicore-pothen-fan"),
        ("P-DBFS", 1, "multicore-disjoint-bfs"),
    ],
)
def test_an_alias_follows_the_number_of_threads(alias: str, threads: int | None, method: str) -> None:
    graph = ([0, 0, 1, 2], [0, 1, 1, 2])
    assert preflow.bipartite_matching(graph, method=alias, threads=threads).stats.method == method


def test_an_alias_of_a_serial_method_alone_takes_one_thread() -> None:
    with pytest.raises(
        preflow.errors.InvalidInputError, match="'serial-hkdw' uses one thread, not threads=2"
    ):
        preflow.bipartite_matching(([0], [0]), method="HKDW", threads=2)


def test_the_error_of_an_unknown_method_lists_the_aliases() -> None:
    with pytest.raises(
        preflow.errors.InvalidInputError, match=r"serial-pothen-fan \(PFP\), .*multicore-pothen-fan \(PFP\)"
    ):
        preflow.bipartite_matching(([0], [0]), method="best")


def test_a_damaged_proof_is_refused_before_a_kernel_reads_it() -> None:
    result = preflow.bipartite_matching(([0, 0, 1, 2, 2], [0, 1, 0, 2, 1]))
    right = result._matching
    for side in ("row_match", "column_match"):
        values = getattr(right, side)
        for wrong in (
            values[:0],
            values[:1],
            np.append(values, values),
            values.astype(np.float64),
            values.astype(np.int64) + 2**40,
            values[:, None],
            None,
            "x",
        ):
            damaged = replace(result, _matching=right._replace(**{side: wrong}))
            with pytest.raises(VerificationError):
                damaged.verify()
    for wrong in (None, (), (right.row_match,), "x", 7):
        with pytest.raises(VerificationError):
            replace(result, _matching=wrong).verify()
    for name in ("row_match", "column_match", "graph", "status", "lower_bound", "upper_bound"):
        for wrong in (None, "x", np.nan, -1, 10**400, (), [0], np.zeros((2, 2)), 2**63):
            with pytest.raises(VerificationError):
                replace(result, **{name: wrong}).verify()


def test_arrays_of_a_decomposition_cannot_be_written() -> None:
    found = preflow.dulmage_mendelsohn(([0, 0, 1, 2, 2], [0, 1, 0, 2, 1]))
    for each in (
        found,
        pickle.loads(pickle.dumps(found)),
        preflow.dulmage_mendelsohn(([0], [0]), lower=True),
    ):
        arrays = [value for value in vars(each).values() if isinstance(value, np.ndarray)]
        assert len(arrays) == 6
        assert not any(array.flags.writeable for array in arrays)
