"""Tuples are edges and lists of rows are matrices, in every problem; a list that could be both is refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from networkx.algorithms import bipartite

import preflow
from preflow.errors import InfeasibleError, InvalidInputError

pytestmark = pytest.mark.fast

EDGES = ([0, 0, 1, 1], [0, 1, 0, 1], [3, 5, 1, 9])


class TestLinearAssignment:
    def test_a_tuple_is_edges(self) -> None:
        result = preflow.linear_assignment(EDGES)
        result.verify()
        assert result.costs.shape == (1, 2, 2)
        assert result.cost == 6
        assert result.pairs() == [(0, 1), (1, 0)]
        assert preflow.linear_assignment(tuple(map(np.array, EDGES)), maximize=True).cost == 12

    def test_a_list_of_rows_is_a_matrix(self) -> None:
        assert preflow.linear_assignment(list(EDGES)).costs.shape == (1, 3, 4)
        assert preflow.linear_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost == 5

    @pytest.mark.parametrize("maximize", [False, True])
    def test_of_parallel_edges_the_best_counts(self, maximize: bool) -> None:
        edges = ([0, 0, 1, 0], [0, 0, 1, 1], [3.0, 7.0, 1.0, np.inf if not maximize else -np.inf])
        result = preflow.linear_assignment(edges, maximize=maximize)
        assert result.cost == (8 if maximize else 4)
        result.verify()

    def test_same_as_the_matrix(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(20):
            dense = rng.integers(1, 9, (4, 5)) * (rng.random((4, 5)) < 0.6)
            row, column = np.nonzero(dense)
            order = rng.permutation(len(row))
            edges = (row[order], column[order], dense[row, column][order])
            given = {"shape": (4, 5), "partial": True}
            got, expected = (
                preflow.linear_assignment(edges, **given),
                preflow.linear_assignment(sp.csr_array(dense), partial=True),
            )
            got.verify()
            assert got.cost == expected.cost
            assert len(got.row) == len(expected.row)

    def test_shape(self) -> None:
        assert preflow.linear_assignment(EDGES, shape=(2, 3)).costs.shape == (1, 2, 3)
        with pytest.raises(InfeasibleError, match="row 2"):
            preflow.linear_assignment(EDGES, shape=(3, 3))
        with pytest.raises(InvalidInputError, match="out of range"):
            preflow.linear_assignment(EDGES, shape=(1, 3))
        with pytest.raises(InvalidInputError, match="shape is for costs"):
            preflow.linear_assignment([[1]], shape=(1, 1))
        assert preflow.linear_assignment(([], [], [])).cost == 0

    @pytest.mark.parametrize(
        "edges",
        [
            ([0, 1], [0, 1]),
            ([0, 1], [0, 1], [1, 2], [3, 4]),
            ([0, 1], [0], [1, 2]),
            ([0, 1], [0, 1], [1]),
            ([0, 1], [0, 1], 1),
            ([0, -1], [0, 1], [1, 2]),
            ([0.0, 1.0], [0, 1], [1, 2]),
            ([[0, 1]], [0, 1], [1, 2]),
            ([0, 1], [0, 1], [1, np.nan]),
            ([0, 1], [0, 1], [1, -np.inf]),
            ([0, 1], [0, 1], ["a", "b"]),
            ([0, 1], [0, 2**40], [1, 2]),
            (np.ma.masked_array([0, 1], mask=[0, 1]), [0, 1], [1, 2]),
        ],
    )
    def test_malformed_edges(self, edges: Any) -> None:
        with pytest.raises(InvalidInputError):
            preflow.linear_assignment(edges)

    def test_sizes_are_for_stacks(self) -> None:
        with pytest.raises(InvalidInputError, match="sizes"):
            preflow.linear_assignment(EDGES, sizes=[[1, 1]])


class TestNetworkxCosts:
    def graph(self) -> Any:
        graph = nx.Graph()
        graph.add_nodes_from(["ann", "bob"], bipartite=0)
        graph.add_nodes_from(["cook", "wash"], bipartite=1)
        for who, what, cost in (
            ("ann", "cook", 3),
            ("ann", "wash", 5),
            ("wash", "bob", 9),
            ("bob", "cook", 1),
        ):
            graph.add_edge(who, what, weight=cost, price=-cost)
        return graph

    def test_labels(self) -> None:
        result = preflow.linear_assignment(self.graph())
        result.verify()
        assert result.cost == 6
        assert result.pairs() == [("ann", "wash"), ("bob", "cook")]
        matched = bipartite.minimum_weight_full_matching(self.graph(), ["ann", "bob"])
        assert dict(result.pairs()) == {who: matched[who] for who in ("ann", "bob")}

    def test_weight_and_rows(self) -> None:
        result = preflow.linear_assignment(self.graph(), weight="price", rows=["cook", "wash"])
        assert result.cost == -12
        assert result.pairs() == [("cook", "ann"), ("wash", "bob")]

    def test_parallel_edges(self) -> None:
        graph = nx.MultiGraph(self.graph())
        graph.add_edge("ann", "cook", weight=-20)
        assert preflow.linear_assignment(graph).cost == -11

    def test_errors(self) -> None:
        graph = self.graph()
        with pytest.raises(
            InvalidInputError, match="no edge has the attribute 'length'; they have 'weight', 'price'"
        ):
            preflow.linear_assignment(graph, weight="length")
        graph.add_edge("ann", "bob", weight=1)
        with pytest.raises(InvalidInputError, match="joins two rows"):
            preflow.linear_assignment(graph)
        with pytest.raises(InvalidInputError, match="rows are for a graph of a library"):
            preflow.linear_assignment([[1]], rows=["a"])
        graph = self.graph()
        graph.edges["ann", "cook"]["weight"] = "x"
        with pytest.raises(InvalidInputError):
            preflow.linear_assignment(graph)

    def test_infeasible_vertices_are_named(self) -> None:
        graph = self.graph()
        graph.remove_edge("ann", "wash")
        graph.remove_edge("bob", "wash")
        with pytest.raises(
            InfeasibleError, match="rows ann, bob are allowed 1 column together: cook"
        ) as caught:
            preflow.linear_assignment(graph)
        assert caught.value.violating == ("ann", "bob")


class TestMaxFlow:
    MATRIX = ([0, 3, 2, 0], [0, 0, 0, 2], [0, 0, 0, 4], [0, 0, 0, 0])

    @pytest.mark.parametrize(
        "kind", [list, np.array, lambda rows: np.array(rows, dtype=np.float64), sp.csr_array]
    )
    def test_a_matrix(self, kind: Any) -> None:
        matrix = kind([list(row) for row in self.MATRIX])
        for solve in (preflow.max_flow, preflow.min_cut):
            result = solve(matrix, 0, 3)
            result.verify()
            assert result.value == 4
            assert result.network.num_arcs == 4

    def test_a_list_of_three_could_be_both(self) -> None:
        rows = [[0, 3, 0], [0, 0, 2], [0, 0, 0]]
        with pytest.raises(InvalidInputError, match=r"tuple \(tail, head, capacity\).*np\.array"):
            preflow.max_flow(rows, 0, 2)
        assert preflow.max_flow(np.array(rows), 0, 2).value == 2
        assert preflow.max_flow(tuple(rows), 0, 3).value == 0

    @pytest.mark.parametrize(
        "matrix",
        [
            [],
            [[0, 1]],
            [[0, 1], [0]],
            [1, 2],
            np.zeros((2, 2, 2)),
            [["a", "b"], ["c", "d"]],
            [[0, -1], [0, 0]],
        ],
    )
    def test_malformed_matrices(self, matrix: Any) -> None:
        with pytest.raises(InvalidInputError):
            preflow.max_flow(matrix, 0, 1)


class TestBipartiteMatching:
    MATRIX = ([1, 1, 0], [1, 0, 0], [1, 0, 0])

    @pytest.mark.parametrize("kind", [list, np.array, lambda rows: np.array(rows, dtype=bool), sp.csr_array])
    def test_a_matrix(self, kind: Any) -> None:
        matrix = kind([list(row) for row in self.MATRIX])
        assert preflow.bipartite_matching(matrix).cardinality == 2
        assert preflow.structural_rank(matrix) == 2

    def test_a_list_of_two_could_be_both(self) -> None:
        rows = [[0, 0, 1], [0, 1, 1]]
        with pytest.raises(InvalidInputError, match=r"tuple \(row, column\).*np\.array"):
            preflow.bipartite_matching(rows)
        assert preflow.bipartite_matching(np.array(rows)).graph.shape == (2, 3)
        assert preflow.bipartite_matching(tuple(rows)).graph.shape == (2, 2)

    def test_costs_are_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="linear_assignment takes costs"):
            preflow.bipartite_matching(EDGES)

    @pytest.mark.parametrize(
        "matrix",
        [[], [[1, 2], [3]], [1, 2, 3], np.zeros((2, 2, 2)), np.array([["a"]]), np.array([[1, np.nan]])],
    )
    def test_malformed_matrices(self, matrix: Any) -> None:
        with pytest.raises(InvalidInputError):
            preflow.bipartite_matching(matrix)


MASKED = np.ma.masked_array([0, 1], mask=[False, True])
LARGE = 2**53 + 1


@pytest.mark.parametrize(
    "solve",
    [
        lambda: preflow.max_flow((MASKED, [1, 0], [3, 4]), 0, 1),
        lambda: preflow.matching((MASKED, [1, 2])),
        lambda: preflow.bipartite_matching((MASKED, [1, 0])),
        lambda: preflow.transport([[1], [2]], MASKED, [1]),
        lambda: preflow.linear_assignment([[1, 2]], unmatched_cost=(1, MASKED)),
        lambda: preflow.FlowNetworkBatch.from_arrays(MASKED, [1, 2], [[3, 4]]),
        lambda: preflow.parametric_max_flow(([0, 0], [1, 1], [3, 4]), MASKED, 0, 1),
        lambda: preflow.MaxFlow(([0, 0], [1, 1], [3, 4]), 0, 1).set_capacity([0, 1], MASKED),
        lambda: preflow.MaxFlow(([0, 0], [1, 1], [3, 4]), 0, 1).set_capacity(MASKED, 1),
        lambda: preflow.MinCostFlow(([0, 0], [1, 1], [3, 4], [0, 0])).set_cost([0, 1], MASKED),
        lambda: preflow.reductions.round_matrix(np.ma.masked_equal(np.eye(3), 1)),
    ],
)
def test_masked_entries_are_refused_everywhere(solve: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"is (a )?masked|masked array"):
        solve()


@pytest.mark.parametrize("other", [0.5, np.inf])
def test_lists_do_not_round_integers(other: float) -> None:
    """NumPy turns such a list into floats, and the integer into 2**53."""
    for solve in (
        lambda: preflow.max_flow(([0, 0], [1, 1], [other, LARGE]), 0, 1),
        lambda: preflow.min_cost_flow(([0, 0], [1, 1], [2, 2], [0.5, LARGE]), [0, 0]),
        lambda: preflow.linear_assignment([[LARGE, other], [other, 1]]),
        lambda: preflow.matching(([0, 0], [1, 2], [LARGE, 0.5])),
        lambda: preflow.grid_cut([[LARGE, other]], [[1, 1]], 1),
        lambda: preflow.transport([[1, 1]], [LARGE + 0.0], [LARGE, 0.5]),
    ):
        with pytest.raises(InvalidInputError, match="mixes floats with"):
            solve()
    assert preflow.FlowNetwork.from_arrays([0, 0], [1, 1], [other, 2**54]).capacity.tolist() == [other, 2**54]
    assert preflow.linear_assignment([[2**54, np.inf], [np.inf, 4]]).cost == 2**54 + 4


def test_lists_of_integers_past_int64() -> None:
    network = preflow.FlowNetwork.from_arrays([0, 0], [1, 1], [2**70, LARGE])
    assert network.saturated
    assert network.capacity.tolist() == [2**63 - 1, LARGE]
    with pytest.raises(InvalidInputError, match="does not fit int64"):
        preflow.CostNetwork.from_arrays([0, 0], [1, 1], cost=[2**63, -1])


@pytest.mark.filterwarnings("ignore:overflow encountered in scalar")  # of kernels in plain Python
@pytest.mark.filterwarnings("error")
def test_lists_of_numbers_of_16_bits() -> None:
    """Their dtype does not hold the limits that numbers are compared with."""
    half = np.float16(0.5)
    two = [half, half]
    answers = [
        preflow.max_flow(([0, 1], [1, 2], two), 0, 2).value,
        preflow.min_cost_flow(([0], [1], [2], [half]), [1, -1]).cost,
        preflow.transport([[half]], [1], [1]).cost,
        preflow.linear_assignment([[half]]).cost,
        preflow.linear_assignment([[2 * half]], unmatched_cost=([half / 2], [half / 2])).cost,
        preflow.matching([(0, 1, half)]).weight,
        preflow.global_min_cut(([0], [1], [half])).value,
        preflow.parametric_max_flow(([0, 1], [1, 2], two), [half, 0], 0, 2).value(0),
        preflow.grid_cut([two], [[0, half]], [[two], [two]]).value,
        preflow.reductions.select_projects([half], []).profit,
        preflow.vision.alpha_expansion([[two], [[2 * half, 0]]], [[0, half], [half, 0]]).energy * 0.5,
    ]
    assert answers == [0.5] * len(answers)
