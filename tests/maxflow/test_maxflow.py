"""Maximum flow and minimum cut: every solver against an oracle, the references and NetworkX."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import (
    CapacityOverflowError,
    DeviceUnavailableError,
    InvalidInputError,
    NotOptimalError,
    UnboundedFlowError,
    VerificationError,
)
from preflow.generators import FAMILIES
from preflow.graph.residual import build_residual
from preflow.maxflow.api import FlowCall
from preflow.maxflow.problem import METHODS
from preflow.maxflow.result import MaxFlowResult, MinCutResult
from preflow.solving.call import Request
from tests.support.oracles import check_against_oracle, edmonds_karp
from tests.support.paths import SHARED, reference_instances
from tests.support.strategies import SmallProblem, float_capacities, small_problems

SOLVERS = [method.name for method in preflow.methods("max_flow") if method.device == "cpu"]
DIAMOND = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])


@pytest.mark.parametrize("method", SOLVERS)
@given(problem=small_problems())
@example(problem=SmallProblem(2, [], [], [], None, [0], [1]))
@example(problem=SmallProblem(2, [0, 0, 1], [1, 1, 0], [2**31, 2**31, 5], None, [0], [1]))
@settings(max_examples=60)
def test_solver_agrees_with_oracle(method: str, problem: SmallProblem) -> None:
    result = check_against_oracle(problem, method=method)
    assert result.flow.dtype == np.int64
    cut = preflow.min_cut(problem.network, problem.sources, problem.sinks, method=method)
    cut.verify()
    assert cut.value == result.value
    assert np.array_equal(cut.sink_side, result.sink_side)
    assert np.array_equal(cut.source_side(), result.source_side())
    cut.verify()


@pytest.mark.parametrize("method", SOLVERS)
@given(problem=small_problems(float_capacities))
@settings(max_examples=40)
def test_float_capacities_agree_within_tolerance(method: str, problem: SmallProblem) -> None:
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    result = preflow.max_flow(problem.network, problem.sources, problem.sinks, method=method)
    result.verify()
    assert result.value == pytest.approx(value, rel=1e-9, abs=1e-9)
    cut = preflow.min_cut(problem.network, problem.sources, problem.sinks, method=method)
    cut.verify()
    result.source_side()


def power_networks() -> st.SearchStrategy[SmallProblem]:
    """Networks whose capacities are odd numbers times powers of two of any size."""
    return small_problems(
        st.builds(
            lambda odd, power: math.ldexp(odd, power), st.sampled_from([1, 3, 5]), st.integers(-400, 400)
        )
    )


@given(problem=power_networks())
@settings(max_examples=100)
def test_capacities_of_any_magnitude(problem: SmallProblem) -> None:
    """Rounding is relative to the minimum cut, not to the largest capacity."""
    arcs = [(u, v, int(math.ldexp(c, 500))) for u, v, c in problem.directed_arcs]
    value, _, _ = edmonds_karp(problem.num_vertices, arcs, problem.sources, problem.sinks)
    for solve in (preflow.max_flow, preflow.min_cut):
        result = solve(problem.network, problem.sources, problem.sinks)
        result.verify()
        assert result.value == pytest.approx(float(Fraction(int(value), 2**500)), rel=1e-12, abs=0)


def test_a_narrow_cut_between_wide_ones() -> None:
    for wide in (1e17, 1e18, 1e30, 1e300):
        result = preflow.max_flow(([0, 1, 2], [1, 2, 3], [wide, 1.5, wide]), 0, 3)
        result.verify()
        assert result.value == result.upper_bound == 1.5
        assert result.flow.dtype == np.float64


def test_fractional_capacities_have_fractional_flows_at_every_scale() -> None:
    random = np.random.default_rng(1)
    tail, head = random.integers(0, 50, 400), random.integers(0, 50, 400)
    for power in range(48, 64):
        capacity = np.append(0.5, random.random(399) * 2.0**power)
        result = preflow.max_flow((tail, head, capacity), 0, 1)
        result.verify()
        assert isinstance(result.value, float)
        assert result.flow.dtype == np.float64


OPTION_VARIANTS = [
    ("serial-fifo", {"drain": True, "hold": True}),
    ("serial-fifo", {"gap": True, "hold": True, "relabel_rule": "work", "relabel_period": 0.1}),
    ("serial-fifo", {"relabel_period": 100.0, "gap": True}),
    ("serial-hi-pr", {"relabel_period": 0.01}),
    ("serial-hi-pr", {"relabel_period": 1e300}),
    ("serial-highest-label-gap", {"relabel_period": 1e17}),
    ("serial-hi-pr", {"gap": False, "start": "wave", "relabel_rule": "hi-pr"}),
    ("serial-hi-pr", {"path_length": 1, "start": "wave", "relabel_period": 0.01}),
    ("serial-hi-pr", {"start": "source", "relabel_period": 0.01}),
]


@pytest.mark.parametrize(("method", "options"), OPTION_VARIANTS)
@given(problem=small_problems(max_vertices=14))
@settings(max_examples=60)
def test_options_do_not_change_answers(
    method: str, options: dict[str, object], problem: SmallProblem
) -> None:
    check_against_oracle(problem, method=method, options=options)


@pytest.mark.jit
@given(problem=small_problems(max_vertices=14))
@settings(max_examples=60)
def test_wide_indices_give_the_same_answer(problem: SmallProblem) -> None:
    """Index arrays of 64 bits, as past 2**32 arcs."""
    from preflow.network import distances_to_sink

    sources, sinks = np.array(problem.sources), np.array(problem.sinks)
    narrow, wide = (
        build_residual(problem.network, sources, sinks, dtype) for dtype in (np.uint32, np.uint64)
    )
    assert wide.arrays.head.dtype == np.uint64
    for one, other in zip(narrow.arrays, wide.arrays, strict=True):
        assert np.array_equal(one, other)
    n = narrow.num_vertices
    heights = []
    for residual in (narrow, wide):
        dtype = residual.arrays.head.dtype
        height, order = np.full(n, n + 1, dtype=dtype), np.empty(n, dtype=dtype)
        distances_to_sink(residual.arrays, height, order, *[np.uint64(0)] * 3, False)
        heights.append(height)
    assert np.array_equal(heights[0], heights[1])


def test_references_are_here_or_said_to_be_missing() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared reference instances are not here: only the project's own are tested")


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize(
    ("path", "optimum"), reference_instances(), ids=lambda value: getattr(value, "name", "")
)
def test_reference_instances(method: str, path: Path, optimum: int) -> None:
    problem = preflow.read_dimacs(path)
    result = preflow.max_flow(problem, method=method)
    assert result.value == optimum
    result.verify()
    reference = preflow.min_cut(problem)
    assert np.array_equal(result.sink_side, reference.sink_side)
    assert np.array_equal(result.source_side(), reference.source_side())
    assert result.stats.attempts[0].method == method


def test_no_two_methods_do_the_same_operations() -> None:
    counts: dict[str, list[tuple[int, ...]]] = {name: [] for name in SOLVERS}
    for path, _ in reference_instances()[:15]:
        problem = preflow.read_dimacs(path)
        for name in SOLVERS:
            options = {"budget": None} if name == "multicore-paths" else None  # else it is serial-hi-pr
            stats = preflow.min_cut(problem, method=name, options=options).stats
            counts[name].append((stats.pushes, stats.relabels, stats.global_relabels))
    distinct = {tuple(rows) for rows in counts.values()}
    assert len(distinct) == len(SOLVERS)


@pytest.mark.parametrize(
    "name", [alias for m in preflow.methods("max_flow") if m.device == "cpu" for alias in m.other_names]
)
def test_papers_names_are_aliases(name: str) -> None:
    assert preflow.max_flow(DIAMOND, 0, 3, method=name).value == 4


#: Methods that count their searches as global relabels, and take no time.
BY_PATHS = (
    "serial-dinic",
    "serial-ford-fulkerson",
    "serial-karzanov",
    "serial-edmonds-karp",
    "serial-capacity-scaling",
    "multicore-merging",
)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in BY_PATHS])
def test_the_time_of_global_relabels_is_taken_where_there_are_any(name: str) -> None:
    stats = preflow.min_cut(FAMILIES["rmf-wide"].generate(side=6, frames=5, seed=1), method=name).stats
    assert (stats.global_relabels > 0) == (stats.global_relabel_seconds > 0)
    assert stats.global_relabel_seconds < stats.seconds["solve"]


@pytest.mark.parametrize("name", ["hi-pr", "hi-pro", "hi-prw"])
def test_published_highest_label_codes_push_over_single_arcs(name: str) -> None:
    problem = FAMILIES["rmf-wide"].generate(side=6, frames=5, seed=1)
    alias = name.upper().replace("-", "_")
    published = preflow.min_cut(problem, method=alias).stats
    options = {"path_length": 1, "drain": False, "relabel_rule": "hi-pr"}
    assert published.method == f"serial-{name}"
    single = preflow.min_cut(problem, method=f"serial-{name}", options=options).stats
    counts = [(stats.pushes, stats.relabels, stats.arc_scans) for stats in (published, single)]
    assert counts[0] == counts[1]
    assert published.pushes > preflow.min_cut(problem, method=f"serial-{name}").stats.pushes


@pytest.mark.parametrize("name", ["HI_PR", "HI_PRO", "HI_PRW"])
@pytest.mark.parametrize(
    ("family", "size"), [("rmf-wide", "20x8"), ("rmf-long", "6x64"), ("rlg-wide", "128x16")]
)
def test_hi_pr_codes_relabel_globally_after_n_relabels(name: str, family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    stats = preflow.min_cut(problem, method=name).stats
    intervals = stats.global_relabels - 1
    assert intervals >= 2
    n = problem.network.num_vertices - 2
    assert 0.9 * n * (intervals - 1) < stats.relabels < 1.1 * n * intervals


def test_the_source_of_hi_pro_is_discharged_before_the_pushes_of_hi_pr() -> None:
    # A source with many arcs makes a global relabel due at once, as in table D.1; one with few arcs does not,
    # as in table C.5. Many arcs lead to the vertices of a ladder with 40 rungs, whose foot leads to the sink.
    rng = np.random.default_rng(3)
    ladder = np.arange(2, 82)
    tail = np.concatenate([np.zeros(80, dtype=int), ladder, ladder[::2], ladder[1::2]])
    head = np.concatenate([ladder, np.maximum(ladder - 2, 1), ladder[1::2], ladder[::2]])
    many = (tail, head, rng.integers(1, 50, len(tail)))
    few = FAMILIES["rlg-long"].generate("5x20", seed=1)
    for arguments, due in (((many, 0, 1), 1), ((few,), 0)):
        plain, old = (preflow.min_cut(*arguments, method=name).stats for name in ("HI_PR", "HI_PRO"))
        assert old.pushes == plain.pushes
        assert old.relabels == plain.relabels + (40 if due else 1)
        assert old.global_relabels == plain.global_relabels + due


def test_the_wave_of_hi_prw_discharges_whole_vertices_downwards() -> None:
    # Vertex 2 has excess 3 and height 2. It pushes 1 to vertex 4 of height 1, is relabelled and pushes 2 to
    # vertex 5 of height 3, from which they come to 4 by way of 6. The wave does not go up again to 5: it
    # discharges 4 first, which pushes to the sink twice then.
    network = ([0, 2, 2, 5, 6, 4], [2, 4, 5, 6, 4, 1], [3, 1, 9, 9, 9, 9])
    for name, pushes in (("HI_PR", 5), ("HI_PRW", 6)):
        stats = preflow.min_cut(network, 0, 1, method=name).stats
        assert (stats.pushes, stats.relabels, stats.global_relabels) == (pushes, 1, 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_hong_searches_only_at_the_begin_and_the_end(threads: int) -> None:
    problem = FAMILIES["rmf-wide"].generate(side=6, frames=5, seed=1)
    result = preflow.max_flow(problem, method="Hong", threads=threads)
    result.verify()
    assert result.stats.global_relabels <= 2
    ours = preflow.max_flow(problem, method="multicore-lockfree", threads=threads)
    assert ours.value == result.value
    assert ours.stats.relabels < result.stats.relabels


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_generated_families_agree_across_solvers(family: str) -> None:
    problem = FAMILIES[family].generate(seed=3, **small_size(family))
    results = [preflow.max_flow(problem, method=name) for name in SOLVERS]
    for result in results:
        result.verify()
        assert result.value == results[0].value
        assert np.array_equal(result.sink_side, results[0].sink_side)


def small_size(family: str) -> dict[str, int]:
    sizes = {
        "side": 6,
        "frames": 5,
        "rows": 9,
        "columns": 8,
        "levels": 8,
        "width": 9,
        "depth": 5,
        "height": 6,
    }
    sizes |= {"n": 40, "m": 4, "degree": 5, "dim1": 9, "dim2": 8, "c": 4, "ends": 5}
    wanted = [p for p in FAMILIES[family].parameters if p.required or p.name == "ends"]
    return {p.name: sizes.get(p.name, 7) for p in wanted}


class TestNetworkX:
    """NetworkX's own flow test graphs, with their answers."""

    @staticmethod
    def check(
        graph: nx.Graph, source: object, sink: object, value: float, capacity: str = "capacity"
    ) -> None:
        network = preflow.FlowNetwork.from_networkx(graph, capacity=capacity)
        result = preflow.max_flow(network, source, sink)
        result.verify()
        assert result.value == value == nx.maximum_flow_value(graph, source, sink, capacity=capacity)
        flow = result.flow_dict()
        assert set(flow) == set(graph)
        assert sum(flow[source].values()) - sum(row.get(source, 0) for row in flow.values()) == value

    def test_undirected_single_edge(self) -> None:
        graph = nx.Graph()
        graph.add_edge(1, 2, capacity=1.0)
        self.check(graph, 1, 2, 1)
        assert preflow.max_flow(graph, 1, 2).flow_dict() == {1: {2: 1}, 2: {1: 0}}

    def test_clrs(self) -> None:
        graph = nx.DiGraph()
        graph.add_weighted_edges_from(
            [
                ("s", 1, 16),
                ("s", 2, 13),
                (1, 2, 10),
                (2, 1, 4),
                (1, 3, 12),
                (3, 2, 9),
                (2, 4, 14),
                (4, 3, 7),
                (3, "t", 20),
                (4, "t", 4),
            ],
            weight="capacity",
        )
        self.check(graph, "s", "t", 23)

    def test_wikipedia_dinitz(self) -> None:
        graph = nx.DiGraph()
        graph.add_weighted_edges_from(
            [
                ("s", 1, 10),
                ("s", 2, 10),
                (1, 3, 4),
                (1, 4, 8),
                (1, 2, 2),
                (2, 4, 9),
                (3, "t", 10),
                (4, 3, 6),
                (4, "t", 10),
            ],
            weight="capacity",
        )
        self.check(graph, "s", "t", 19)

    def test_optional_capacity_is_infinite(self) -> None:
        graph = nx.DiGraph()
        graph.add_edge("x", "a", spam=3.0)
        graph.add_edge("x", "b", spam=1.0)
        graph.add_edge("a", "c", spam=3.0)
        graph.add_edge("b", "c")
        graph.add_edge("b", "d", spam=4.0)
        graph.add_edge("d", "e")
        graph.add_edge("c", "y", spam=2.0)
        graph.add_edge("e", "y", spam=3.0)
        self.check(graph, "x", "y", 3, "spam")

    def test_infinite_path_is_unbounded(self) -> None:
        graph = nx.DiGraph([("s", "a"), ("a", "t"), ("a", "b", {"capacity": 1})])
        with pytest.raises(UnboundedFlowError, match="sink 't'"):
            preflow.max_flow(graph, "s", "t")
        with pytest.raises(InvalidInputError, match="'s' is both"):
            preflow.max_flow(graph, "s", "s")
        with pytest.raises(InvalidInputError, match="NetworkX"):
            preflow.FlowNetwork.from_networkx(object())  # type: ignore[arg-type]

    def test_disconnected(self) -> None:
        graph = nx.DiGraph()
        graph.add_edge("s", "a", capacity=1)
        graph.add_edge("b", "t", capacity=1)
        self.check(graph, "s", "t", 0)

    def test_multigraph_sums_parallel_arcs(self) -> None:
        graph = nx.MultiDiGraph()
        graph.add_edge("s", "t", capacity=2)
        graph.add_edge("s", "t", capacity=5)
        result = preflow.max_flow(graph, "s", "t")
        assert result.value == 7
        assert result.flow_dict()["s"] == {"t": 7}

    def test_labels_may_be_tuples(self) -> None:
        graph = nx.grid_2d_graph(4, 4)
        nx.set_edge_attributes(graph, 1, "capacity")
        result = preflow.max_flow(graph, (0, 0), (3, 3))
        result.verify()
        assert result.value == 2

    def test_unknown_label(self) -> None:
        with pytest.raises(InvalidInputError, match="'z'"):
            preflow.max_flow(nx.from_edgelist([(0, 1, {"capacity": 1})]), "z", 1)


class TestInputs:
    def test_scipy_matrix(self) -> None:
        matrix = scipy.sparse.csr_array(([3, 2, 2, 4], ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(4, 4))
        for form in (matrix, matrix.tocoo(), matrix.tocsc(), matrix.todok()):
            result = preflow.max_flow(form, 0, 3)
            assert result.value == 4
        assert preflow.max_flow(matrix, 0, 3).flow_matrix().toarray().tolist() == [
            [0, 2, 2, 0],
            [0, 0, 0, 2],
            [0, 0, 0, 2],
            [0, 0, 0, 0],
        ]

    def test_two_paths_of_two_to_the_31(self) -> None:
        result = preflow.max_flow(([0, 0, 1, 2], [1, 2, 3, 3], [2**31] * 4), 0, 3)
        assert result.value == 2**32
        result.verify()

    def test_capacity_1_9_is_not_1(self) -> None:
        assert preflow.max_flow(([0, 1], [1, 2], [1.9, 5.0]), 0, 2).value == 1.9

    def test_integral_floats_are_solved_as_integers(self) -> None:
        result = preflow.max_flow(([0, 1, 1], [1, 2, 2], [math.inf, 5.0, 2.0]), 0, 2)
        assert result.value == 7
        assert isinstance(result.value, int)
        assert result.flow.dtype == np.int64
        result.verify()

    def test_infinity_beside_fractions(self) -> None:
        result = preflow.max_flow(([0, 1, 1], [1, 2, 2], [math.inf, 0.5, 0.25]), 0, 2)
        assert result.value == 0.75
        result.verify()

    def test_infinite_source_arcs_in_parallel(self) -> None:
        tail, head, capacity = (
            [0, 0, 0, 1, 2, 2],
            [1, 2, 1, 3, 3, 1],
            [math.inf, math.inf, math.inf, 4, 3, math.inf],
        )
        result = preflow.max_flow((tail, head, capacity), 0, 3)
        assert result.value == 7
        result.verify()

    def test_unbounded_over_reverse_capacity(self) -> None:
        network = preflow.FlowNetwork.from_arrays(
            [1, 1], [0, 2], [0.0, math.inf], reverse_capacity=[math.inf, 0.0]
        )
        with pytest.raises(UnboundedFlowError, match="sink 2"):
            preflow.max_flow(network, 0, 2)

    def test_several_terminals(self) -> None:
        result = preflow.max_flow(([0, 1, 2, 2], [2, 2, 3, 4], [3, 4, 2, 9]), [0, 1], [3, 4])
        assert result.value == 7
        result.verify()
        assert not result.sink_side[[0, 1]].any()

    @pytest.mark.parametrize("big", [1e9, 1e12, 1e16, 1e18, 1e300])
    def test_large_finite_capacity_takes_no_precision_from_small_ones(self, big: float) -> None:
        result = preflow.max_flow(([0, 1, 2], [1, 2, 3], [0.3, 0.3, big]), 0, 3)
        result.verify()
        assert result.value == pytest.approx(0.3, rel=1e-15)
        result = preflow.max_flow(([0, 1], [1, 2], [big, 0.3]), 0, 2)
        result.verify()
        assert result.flow.tolist() == pytest.approx([0.3, 0.3], rel=1e-15)

    def test_rounding_does_not_trap_the_second_stage(self) -> None:
        tail, head = [0, 8, 6, 7, 5, 1, 4, 2, 4], [1, 4, 2, 3, 6, 5, 8, 4, 7]
        capacity = [2.9, 0.1, 2.9, 0.9, 1.2, 2.5, 1.8, 1.1, 2.0]
        network = preflow.FlowNetwork.from_arrays(tail, head, capacity, num_vertices=10)
        for method in SOLVERS:
            preflow.max_flow(network, 0, 9, method=method).verify()

    def test_sums_past_float64(self) -> None:
        with pytest.raises(CapacityOverflowError, match="float64"):
            preflow.max_flow(([0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [1e308, 1e308, 1e308, 1e308, 0.7e308]), 0, 3)

    @pytest.mark.parametrize("method", ["auto", "serial-fifo"])
    def test_no_flow_beside_sums_past_float64(self, method: str) -> None:
        network = preflow.FlowNetwork.from_arrays([0, 0, 0], [1, 1, 1], [1e308, 1e308, 0.5], num_vertices=3)
        result = preflow.max_flow(network, 0, 2, method=method)
        assert (result.value, result.gap) == (0, 0)
        result.verify()

    def test_many_infinite_seeds(self) -> None:
        seeds = np.arange(1, 10_001)
        tail = np.concatenate([np.zeros(10_000, dtype=int), seeds])
        head = np.concatenate([seeds, np.full(10_000, 10_001)])
        result = preflow.max_flow((tail, head, np.repeat([math.inf, 1e12], 10_000)), 0, 10_001)
        result.verify()
        assert result.value == 10**16

    def test_masked_arcs_are_refused(self) -> None:
        capacity = np.ma.array([5, 50], mask=[False, True])
        with pytest.raises(InvalidInputError, match="masked"):
            preflow.max_flow(([0, 0], [1, 1], capacity), 0, 1)

    def test_zero_dimensional_terminal(self) -> None:
        assert preflow.max_flow(DIAMOND, np.array(0), np.int64(3)).value == 4

    def test_self_loops_carry_nothing(self) -> None:
        result = preflow.max_flow(([0, 1, 1], [1, 1, 2], [2, 7, 3]), 0, 2)
        assert result.flow.tolist() == [2, 0, 2]

    def test_direct_arc_and_through_vertex_need_no_search(self) -> None:
        result = preflow.max_flow(([0, 0, 1], [2, 1, 2], [5, 3, 2]), 0, 2)
        assert result.value == 7
        assert result.flow.tolist() == [5, 2, 2]
        assert result.stats.pushes == 0

    def test_arrays_are_copied(self) -> None:
        capacity = np.array([3, 2, 2, 4])
        network = preflow.FlowNetwork.from_arrays(DIAMOND[0], DIAMOND[1], capacity)
        capacity[:] = 0
        assert preflow.max_flow(network, 0, 3).value == 4
        with pytest.raises(ValueError, match="read-only"):
            network.capacity[0] = 1

    def test_flow_is_read_only_and_result_frozen(self) -> None:
        result = preflow.max_flow(DIAMOND, 0, 3)
        with pytest.raises(ValueError, match="read-only"):
            result.flow[0] = 1
        with pytest.raises(AttributeError):
            result.status = "time-limit"  # type: ignore[misc]

    def test_repr_says_what_matters(self) -> None:
        text = repr(preflow.max_flow(DIAMOND, 0, 3))
        assert "value 4" in text
        assert "4 of 4 arcs" in text
        assert "2 of 4 vertices" in repr(preflow.min_cut(DIAMOND, 0, 3))

    def test_cut_arcs_of_two_way_arcs(self) -> None:
        network = preflow.FlowNetwork.from_arrays([1, 1, 2], [0, 2, 3], [0, 2, 9], reverse_capacity=[7, 0, 0])
        result = preflow.max_flow(network, 0, 3)
        assert result.value == 2
        assert result.cut_arcs.tolist() == [1]
        assert result.flow.tolist() == [-2, 2, 2]
        assert result.flow_dict() == {0: {1: 2}, 1: {0: 0, 2: 2}, 2: {1: 0, 3: 2}, 3: {2: 0}}


BAD_NETWORKS = [
    (([0], [1], [-1]), InvalidInputError, "negative"),
    (([0], [1], [math.nan]), InvalidInputError, "NaN"),
    (([0], [1], [-math.inf]), InvalidInputError, "negative"),
    (([0, 1], [1], [1, 1]), InvalidInputError, "tail has 2"),
    (([0], [1], [1, 2]), InvalidInputError, "shape"),
    (([[0]], [[1]], [[1]]), InvalidInputError, "one dimension"),
    (([0.0], [1.0], [1]), InvalidInputError, "integers"),
    (([-1], [1], [1]), InvalidInputError, "negative vertex"),
    ((["a"], ["b"], [1]), InvalidInputError, "vertex 0 is not in the graph"),
    (([0], [1], ["x"]), InvalidInputError, "dtype"),
    (([0], [1], [1j]), InvalidInputError, "dtype"),
    (([0], [1], [2**63]), CapacityOverflowError, "int64"),
    (([0], [1], [2**70]), CapacityOverflowError, "int64"),
    (([0, 0], [1, 1], [0.5, 2**70 + 1]), CapacityOverflowError, "float64 cannot"),
    (([0, 0], [1, 1], [0.5, Fraction(2**60 + 1, 2)]), CapacityOverflowError, "float64 cannot"),
    (([0, 0], [1, 1], [0.5, Fraction(10) ** 400]), CapacityOverflowError, "float64 cannot"),
    (([0, 0], [1, 1], [0.5, Fraction(-1, 3)]), InvalidInputError, "negative"),
    (([0, 0], [1, 1], [5, 1j]), InvalidInputError, "dtype"),
    (([0], [1], [[1], [2, 3]]), InvalidInputError, "array"),
    (([0], [1]), InvalidInputError, "tuple"),
    (7, InvalidInputError, "int"),
    (np.zeros((2, 3)), InvalidInputError, "square"),
    (([], [], []), InvalidInputError, "out of range"),
]


@pytest.mark.parametrize(("network", "error", "words"), BAD_NETWORKS)
def test_bad_network(network: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        preflow.max_flow(network, 0, 1)


BAD_CALLS = [
    ({"source": 3}, InvalidInputError, "both source and sink"),
    ({"source": [0, 1], "sink": [1, 3]}, InvalidInputError, "both source and sink"),
    ({"source": 4}, InvalidInputError, "out of range"),
    ({"source": -1}, InvalidInputError, "out of range"),
    ({"source": None}, InvalidInputError, "source is missing"),
    ({"sink": None}, InvalidInputError, "sink is missing"),
    ({"source": []}, InvalidInputError, "empty"),
    ({"source": 0.0}, InvalidInputError, "integer"),
    ({"source": "0"}, InvalidInputError, "integer"),
    ({"source": True}, InvalidInputError, "integer"),
    ({"method": "magic"}, InvalidInputError, "serial-fifo"),
    ({"device": "tpu"}, InvalidInputError, "auto, cpu, cuda"),
    ({"device": "cuda"}, DeviceUnavailableError, "GPU"),
    ({"threads": 0}, InvalidInputError, "threads"),
    ({"threads": 2, "method": "serial-fifo"}, InvalidInputError, "one thread"),
    ({"time_limit": 0}, InvalidInputError, "time_limit"),
    ({"time_limit": "soon"}, InvalidInputError, "time_limit"),
    ({"time_limit": math.nan}, InvalidInputError, "time_limit"),
    ({"progress": 3}, InvalidInputError, "progress"),
    ({"method": "serial-fifo", "options": {"speed": 11}}, InvalidInputError, "relabel_period"),
    ({"options": {"gap": True}}, InvalidInputError, "name it"),
    ({"method": "HI_PR", "options": {"relabel_period": 0}}, InvalidInputError, "relabel_period"),
    ({"method": "HI_PR", "options": {"gap": 1}}, InvalidInputError, "gap"),
    ({"method": "HI_PR", "options": 5}, InvalidInputError, "mapping"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD_CALLS)
def test_bad_call(change: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        preflow.max_flow(DIAMOND, **{"source": 0, "sink": 3, **change})  # type: ignore[arg-type]


class TestNumbersOfPython:
    """Capacities of any kind of number that Python and NumPy have."""

    @pytest.mark.parametrize(
        ("capacities", "value"),
        [
            ([2**70, 3, 2**64], 3),
            ([True, 5, 2], 1),
            ([np.bool_(True), np.uint8(5), 7], 1),
            ([Fraction(6, 2), 2**100, Fraction(4)], 3),
            (np.array([2**64 - 1, 2**63, 9], np.uint64), 9),
            (np.array([2**63 - 2, 2**70, 2**80], object), 2**63 - 2),
            (np.array([True, True, False]), 0),
            ([2**70, 2.0, 5], 2),
        ],
    )
    def test_whole_numbers_are_exact(self, capacities: Any, value: int) -> None:
        graph = nx.DiGraph()
        for u, capacity in enumerate(capacities):
            graph.add_edge(u, u + 1, capacity=capacity)
        for network in (([0, 1, 2], [1, 2, 3], capacities), graph):
            result = preflow.max_flow(network, 0, 3)
            result.verify()
            assert result.value == value
            assert abs(result.gap) <= 1e-12 * value if 2.0 in list(capacities) else result.gap == 0

    @pytest.mark.parametrize("solve", [preflow.max_flow, preflow.min_cut])
    def test_a_cut_of_integers_past_int64(self, solve: Any) -> None:
        with pytest.raises(CapacityOverflowError, match="past int64"):
            solve(([0, 1], [1, 2], [2**70, 2**63]), 0, 2)
        with pytest.raises(CapacityOverflowError, match="past int64"):
            solve(preflow.FlowNetwork.from_arrays([1], [0], [1], reverse_capacity=[2**63]), 0, 1)

    @given(problem=small_problems(st.fractions(0, 5, max_denominator=60), max_vertices=6))
    @settings(max_examples=40)
    def test_fractions_are_solved_within_the_gap(self, problem: SmallProblem) -> None:
        value, _, _ = edmonds_karp(
            problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks
        )
        result = preflow.max_flow(problem.network, problem.sources, problem.sinks)
        result.verify()
        assert abs(Fraction(result.value) - value) <= Fraction(result.gap) <= Fraction(value) / 10**12


#: Numbers around 1 among tiny and huge ones, and some that few bits hold.
wild_floats = st.one_of(
    st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.5, 3e8, 1e18, 1e-20, 1e300, 1e-300, 5e-324, math.inf]),
    st.floats(0, 2, allow_subnormal=False),
    st.floats(0, 1e300),
    st.integers(0, 9).map(float),
)


@given(problem=small_problems(wild_floats, max_vertices=6))
@example(problem=SmallProblem(3, [0, 1], [1, 2], [1e18, 0.3], None, [0], [2]))
@example(problem=SmallProblem(4, [3, 0], [0, 0], [0.0, 0.1], [math.inf, 0.0], [1], [3]))
@example(problem=SmallProblem(4, [0, 0, 1, 2], [1, 2, 3, 3], [1e300, 1.0, 1e-300, 1e18], None, [0], [3]))
@settings(max_examples=60)
def test_floats_of_very_different_size_are_solved_within_the_gap(problem: SmallProblem) -> None:
    arcs = [(u, v, Fraction(c)) for u, v, c in problem.directed_arcs if c < math.inf]
    unbounded = Fraction(10) ** 305
    arcs += [(u, v, unbounded) for u, v, c in problem.directed_arcs if c == math.inf]
    value, _, _ = edmonds_karp(problem.num_vertices, arcs, problem.sources, problem.sinks)
    if value >= unbounded:
        with pytest.raises(UnboundedFlowError):
            preflow.max_flow(problem.network, problem.sources, problem.sinks)
        return
    result = preflow.max_flow(problem.network, problem.sources, problem.sinks)
    result.verify()
    assert abs(Fraction(result.value) - value) <= Fraction(result.gap) <= value / 10**12
    sink_side = result.sink_side
    cut = sum(c for u, v, c in arcs if not sink_side[u] and sink_side[v])
    assert 0 <= cut - value <= Fraction(result.gap)
    assert (result.flow <= result.network.capacity).all()


class TestLargeCapacities:
    HALF = 2**62

    MOST = 2**63 - 1

    @pytest.mark.parametrize(
        ("tail", "head", "capacity", "value"),
        [
            ([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [MOST, MOST, 5, 3, MOST], 8),
            ([0, 1, 1, 2], [1, 2, 2, 3], [1, HALF, HALF, 1], 1),
            ([0, 0, 1, 2], [1, 2, 3, 3], [HALF, HALF, 1, 1], 2),
            ([0] * 9, [1] * 9, [MOST] + [2**59 - 1] * 8, None),
            ([0, 0, 1, 2, 3, 4, 4], [1, 2, 3, 3, 4, 5, 5], [MOST] * 6 + [7], MOST),
            ([0, 0], [2, 1], [MOST, 1], MOST),
            ([0, 0, 0], [1, 1, 1], [HALF, 2**61 + 1, 2**61 - 2], MOST),
            ([0] * 5 + [1], [1] * 5 + [2], [MOST] * 5 + [2**62 + 1], 2**62 + 1),
        ],
    )
    @pytest.mark.parametrize("solve", [preflow.max_flow, preflow.min_cut])
    def test_only_an_answer_past_int64_is_an_overflow(
        self, solve: Any, tail: list[int], head: list[int], capacity: list[int], value: int | None
    ) -> None:
        network = preflow.FlowNetwork.from_arrays(tail, head, capacity)
        if value is None:
            with pytest.raises(CapacityOverflowError):
                solve(network, 0, max(head))
            return
        result = solve(network, 0, max(head))
        assert (result.value, result.gap, type(result.value)) == (value, 0, int)
        result.verify()
        if solve is preflow.max_flow:
            assert (result.flow >= 0).all()
            assert (result.flow <= network.capacity).all()

    def test_source_side_beside_capacities_past_int64(self) -> None:
        """Opposite capacities sum past int64, so the first solve rounds the capacity of 1 to 0."""
        network = preflow.FlowNetwork.from_arrays(
            [0, 1], [1, 2], [1, self.MOST], reverse_capacity=[0, 4], num_vertices=4
        )
        result = preflow.max_flow(network, 0, 3)
        assert result.source_side().tolist() == [True, True, True, False]
        assert result.sink_side.tolist() == [False, False, False, True]

    def test_bounds_of_a_stopped_solve_of_huge_integers(self) -> None:
        """The first solve, which rounds, is the one that stops."""
        network = preflow.FlowNetwork.from_arrays(
            [0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [self.MOST] * 4 + [self.HALF]
        )
        call = FlowCall.prepare(network, 0, 4, Request(METHODS, "serial-fifo", "cpu"))
        call.control.stop[0] = 1
        result = call.solve(MaxFlowResult)
        assert result.status == "time-limit"
        assert {type(bound) for bound in (result.lower_bound, result.upper_bound, result.gap)} == {int}
        assert result.lower_bound < self.HALF <= result.upper_bound
        assert result.gap == result.upper_bound - result.lower_bound
        assert result.flow.dtype == np.int64
        result.verify()

    def test_a_stopped_solve_without_a_bound_that_fits_int64(self) -> None:
        """The minimum cut would fit, but is not known yet."""
        network = preflow.FlowNetwork.from_arrays([0, 1, 2], [1, 2, 3], [2**64, 7, 2**64])
        assert preflow.max_flow(network, 0, 3).value == 7
        call = FlowCall.prepare(network, 0, 3, Request(METHODS, "serial-fifo", "cpu"))
        call.control.stop[0] = 1
        with pytest.raises(CapacityOverflowError, match="best known cut"):
            call.solve(MinCutResult)

    def test_long_path_of_large_capacities_is_fine(self) -> None:
        result = preflow.max_flow(([0, 1, 2, 3], [1, 2, 3, 4], [2**63 - 1] * 4), 0, 4)
        assert result.value == 2**63 - 1
        result.verify()

    def test_direct_arcs_past_int64(self) -> None:
        with pytest.raises(CapacityOverflowError):
            preflow.max_flow(([0, 0], [1, 1], [self.HALF, self.HALF + 1]), 0, 1)

    def test_infinite_beside_huge(self) -> None:
        tail, head = [0] * 2050 + [1], [1] * 2050 + [2]
        result = preflow.max_flow((tail, head, [2.0**53] * 2049 + [math.inf, 1.0]), 0, 2)
        assert (result.value, result.gap) == (1, 0)
        result.verify()

    @pytest.mark.parametrize(
        ("capacity", "dtype"), [(2**30 - 1, np.int32), (2**30, np.int64), (2**40, np.int64)]
    )
    def test_residuals_take_the_smallest_dtype(self, capacity: int, dtype: type) -> None:
        network = preflow.FlowNetwork.from_arrays([0, 1, 2, 2], [1, 2, 1, 3], [1, capacity, capacity, 1])
        assert build_residual(network, np.array([0]), np.array([3])).arrays.residual.dtype == dtype

    def test_one_way_capacity_may_fill_int32(self) -> None:
        network = preflow.FlowNetwork.from_arrays([0, 1, 2], [1, 2, 3], [2**31 - 1] * 3)
        assert build_residual(network, np.array([0]), np.array([3])).arrays.residual.dtype == np.int32


class TestHugeFloats:
    """Capacities that mean "never": of no use to an answer, they do not spoil it."""

    MOST = float(np.finfo(np.float64).max)

    @pytest.mark.parametrize("method", ["auto", *(m.name for m in METHODS if m.device == "cpu")])
    def test_super_terminals(self, method: str) -> None:
        most = self.MOST
        arcs = ([0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 5], [most, most, 0.5, 0.25, most, most])
        result = preflow.max_flow(arcs, 0, 5, method=method)
        result.verify()
        assert (result.status, result.value) == ("optimal", 0.75)
        assert result.source_side().tolist() == [True, True, True, False, False, False]
        assert preflow.min_cut(arcs, 0, 5, method=method).value == 0.75

    def test_all_functions(self) -> None:
        most = self.MOST
        arcs = ([0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 5], [most, most, 0.5, 0.25, most, most])
        batch = preflow.max_flow_batch([arcs, arcs], 0, 5)
        batch.verify()
        assert batch.value.tolist() == [0.75, 0.75]
        solver = preflow.MaxFlow(arcs, 0, 5)
        assert solver.solve().value == 0.75
        solver.set_capacity(3, 1e300)
        result = solver.solve()
        result.verify()
        assert result.value == 1e300
        limited = preflow.max_flow(arcs, 0, 5, flow_limit=0.5)
        limited.verify()
        assert limited.lower_bound == 0.5

    @pytest.mark.parametrize("method", ["auto", *(m.name for m in METHODS if m.device == "cpu")])
    def test_an_infinite_arc_beside_the_largest_float(self, method: str) -> None:
        """The limit at which infinite arcs are cut off cannot be above the largest float."""
        most = self.MOST
        for capacity, side in (([np.inf, most], [True, True, False]), ([most, np.inf], [True, False, False])):
            arcs = ([0, 1], [1, 2], capacity)
            batch = preflow.max_flow_batch([arcs], 0, 2)
            for result in (preflow.max_flow(arcs, 0, 2, method=method), batch[0]):
                result.verify()
                assert (result.status, result.value) == ("optimal", most)
                assert result.gap < 1e-12 * most
                assert result.source_side().tolist() == side

    def test_a_cut_past_float64_is_an_error(self) -> None:
        most = self.MOST
        one = preflow.max_flow(([0], [1], [most]), 0, 1)
        one.verify()
        assert one.value == most
        for solve in (preflow.max_flow, preflow.min_cut):
            with pytest.raises(CapacityOverflowError, match="past float64"):
                solve(([0, 0], [1, 1], [most, most]), 0, 1)

    def test_many_wide_arcs_do_not_widen_the_gap(self) -> None:
        """An image whose neighbours must not be separated: most arcs are larger than the minimum cut."""
        n = 10_000
        rng = np.random.default_rng(4)
        tail = np.concatenate([np.full(n, n), np.arange(n), np.arange(n - 1), np.arange(n - 100)])
        head = np.concatenate([np.arange(n), np.full(n, n + 1), np.arange(1, n), np.arange(100, n)])
        capacity = np.concatenate([rng.random(2 * n), np.full(2 * n - 101, 1e300)])
        for result in (
            preflow.min_cut((tail, head, capacity), n, n + 1, threads=1),
            preflow.max_flow_batch([(tail, head, capacity)], n, n + 1, threads=1)[0],
        ):
            result.verify()
            assert result.status == "optimal"
            assert result.gap <= (2.0**-40 + len(tail) * 2.0**-53) * result.value

    def test_nothing_flows_and_everything_counts(self) -> None:
        """Where the minimum cut is 0, no capacity is too small for its source side."""
        arcs = ([0, 0, 1, 3], [1, 1, 2, 4], [1.0, self.MOST, 1e-30, 0.1])
        for result in (preflow.min_cut(arcs, 0, 4), preflow.max_flow_batch([arcs], 0, 4)[0]):
            result.verify()
            assert (result.value, result.gap) == (0, 0)
            assert result.source_side().tolist() == [True, True, True, False, False]


class TestFlowWhenRead:
    """The flow is computed when it is first read, once, and nothing else changes."""

    @staticmethod
    def unread() -> preflow.MaxFlowResult:
        # 3 units of excess come to vertex 1, and one of them goes back: the second stage has work to do.
        return preflow.max_flow(([0, 1, 2, 3], [1, 2, 3, 4], [3, 3, 2, 2]), 0, 4, method="serial-hi-pr")

    def test_other_fields_need_no_flow(self) -> None:
        result = self.unread()
        assert (result.value, result.cut_arcs.tolist()) == (2, [3])
        assert result.partition() == ({0, 1, 2, 3}, {4})
        assert "recover" not in result.stats.seconds
        assert result.__dict__["flow"] is None

    def test_it_is_computed_once_and_timed(self) -> None:
        result = self.unread()
        assert result.flow is result.flow
        assert result.flow.tolist() == [2, 2, 2, 2]
        assert not result.flow.flags.writeable
        assert result.stats.seconds["recover"] > 0
        assert result.whole_flow() is result.flow

    @pytest.mark.parametrize("read", ["repr", "to_pandas", "flow_dict", "flow_matrix", "verify", "plot"])
    def test_what_follows_from_the_flow_reads_it(self, read: str) -> None:
        result = self.unread()
        (lambda: repr(result))() if read == "repr" else getattr(result, read)()
        assert result.__dict__["flow"].tolist() == [2, 2, 2, 2]

    def test_copies_have_it(self) -> None:
        result = self.unread()
        for other in (copy.copy(result), pickle.loads(pickle.dumps(self.unread()))):
            assert other.__dict__["flow"].tolist() == [2, 2, 2, 2]
            assert not other.flow.flags.writeable
            other.verify()
        assert replace(self.unread(), flow_limit=7).flow.tolist() == [2, 2, 2, 2]

    def test_arrays_given_may_change_before_it_is_read(self) -> None:
        tail, head, capacity = np.array([0, 1]), np.array([1, 2]), np.array([3, 2])
        result = preflow.max_flow((tail, head, capacity), 0, 2)
        for array in (tail, head, capacity):
            array[:] = 0
        assert result.flow.tolist() == [2, 2]
        result.verify()

    def test_threads_that_read_at_the_same_time_get_equal_flows(self) -> None:
        problem = preflow.generators.family("rmf-wide").generate("6x4", seed=1)
        result = preflow.max_flow(problem.network, problem.source, problem.sink)
        with ThreadPoolExecutor(4) as pool:
            flows = list(pool.map(lambda _: result.flow, range(8)))
        assert all(np.array_equal(flow, flows[0]) for flow in flows)
        result.verify()

    def test_it_cannot_be_assigned(self) -> None:
        with pytest.raises(FrozenInstanceError):
            self.unread().flow = np.zeros(4)  # type: ignore[misc]


class TestCertificate:
    """A wrong result must not verify."""

    @staticmethod
    def result() -> preflow.MaxFlowResult:
        return preflow.max_flow(DIAMOND, 0, 3)

    @pytest.mark.parametrize(
        ("flow", "words"),
        [
            ([3, 2, 3, 2], "capacity"),
            ([2, 2, 1, 2], "into the sink"),
            ([-1, 2, 2, 2], "reverse"),
            ([2, 1, 2, 2], "conserved"),
        ],
    )
    def test_wrong_flow(self, flow: list[int], words: str) -> None:
        result = self.result()
        object.__setattr__(result, "flow", np.array(flow))
        with pytest.raises(VerificationError, match=words):
            result.verify()

    @pytest.mark.parametrize(
        ("side", "words"),
        [([0, 1, 1, 1], "capacity 5"), ([1, 0, 1, 1], "source lies"), ([0, 0, 1, 0], "sink lies")],
    )
    def test_wrong_cut(self, side: list[int], words: str) -> None:
        result = self.result()
        object.__setattr__(result, "sink_side", np.array(side, dtype=bool))
        with pytest.raises(VerificationError, match=words):
            result.verify()

    def test_not_a_number(self) -> None:
        result = preflow.max_flow(([0, 1], [1, 2], [0.5, 1e12]), 0, 2)
        object.__setattr__(result, "flow", np.full(2, np.nan))
        with pytest.raises(VerificationError, match="finite"):
            result.verify()

    def test_tolerance_is_that_of_the_flow_not_of_the_largest_capacity(self) -> None:
        result = preflow.max_flow(([0, 1, 2], [1, 2, 3], [5.5, 5.5, 1e12]), 0, 3)
        object.__setattr__(result, "flow", np.full(3, 400.25))
        object.__setattr__(result, "lower_bound", 400.25)
        with pytest.raises(VerificationError, match="capacity"):
            result.verify()

    def test_integers_past_2_to_the_53_are_exact(self) -> None:
        half, part = 2**61, 2**60
        result = preflow.max_flow(([0, 1, 1], [1, 2, 2], [half, part + 3, 2**62 - part]), 0, 2)
        object.__setattr__(result, "flow", np.array([half, part + 4, half - part - 4]))
        with pytest.raises(VerificationError, match="capacity"):
            result.verify()

    def test_flow_that_is_not_maximum(self) -> None:
        from preflow.certify.cut import check_no_residual_path

        network = preflow.FlowNetwork.from_arrays(*DIAMOND)
        with pytest.raises(VerificationError, match="not maximum"):
            check_no_residual_path(network, np.array([0]), np.array([3]), np.array([1, 2, 1, 2]))


class TestTimeLimit:
    @pytest.mark.parametrize("method", ["serial-generic", "serial-fifo", "serial-hi-pr"])
    def test_bounds_are_proved(self, method: str) -> None:
        problem = FAMILIES["rmf-wide"].generate("60x30", seed=1)
        preflow.min_cut(DIAMOND, 0, 3, method=method)
        best = preflow.max_flow(problem)
        result = preflow.max_flow(problem, method=method, time_limit=0.02)
        assert result.status == "time-limit"
        result.verify()
        assert result.lower_bound <= best.value <= result.upper_bound
        with pytest.raises(NotOptimalError, match="lower_bound"):
            _ = result.value
        with pytest.raises(NotOptimalError):
            result.source_side()
        assert "time limit" in repr(result)
        cut = preflow.min_cut(problem, method=method, time_limit=0.02)
        assert cut.status == "time-limit"
        cut.verify()

    def test_a_generous_limit_changes_nothing(self) -> None:
        assert preflow.max_flow(DIAMOND, 0, 3, time_limit=60).value == 4


@pytest.mark.parametrize(
    ("num_arcs", "method", "quick"),
    [
        (10_000, "auto", True),
        (10_001, "auto", False),
        (10, "serial-hi-pr", False),
        (10, "multicore-fifo", False),
    ],
)
def test_only_short_solves_run_where_ctrl_c_waits_for_them(num_arcs: int, method: str, quick: bool) -> None:
    vertices = np.arange(num_arcs + 1)
    network = preflow.FlowNetwork.from_arrays(vertices[:-1], vertices[1:], 1)
    request = Request(METHODS, method, "cpu", threads=1 if method == "auto" else None)
    assert FlowCall.prepare(network, 0, num_arcs, request).is_quick(request) is quick
