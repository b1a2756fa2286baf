"""cuda-coloring: the colouring of the arcs, and the solver on CPU threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.cuda import launches, runtime
from preflow.errors import InvalidInputError, SolverError
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.maxflow.problem import METHODS
from preflow.papers.wu_he_hong import cuda_coloring
from preflow.papers.wu_he_hong.cuda_coloring import (
    LONGEST_PERIOD,
    ColoringOptions,
    color_periods,
    edge_coloring,
)
from preflow.papers.wu_he_hong.cuda_coloring.edge_coloring import color_edges, lowest_zero
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.strategies import SmallProblem, small_problems


def undirected(num_vertices: int, pairs: list[tuple[int, int]]) -> ResidualArrays:
    """Return the residual network of pairs of vertices; two more are the terminals."""
    tail = np.array([u for u, _ in pairs], dtype=np.int64)
    head = np.array([v for _, v in pairs], dtype=np.int64)
    network = preflow.FlowNetwork.from_arrays(
        tail, head, np.ones(len(pairs), dtype=np.int64), num_vertices=num_vertices + 2
    )
    return build_residual(network, np.array([num_vertices]), np.array([num_vertices + 1])).arrays


def star(leaves: int) -> ResidualArrays:
    return undirected(leaves + 1, [(0, leaf + 1) for leaf in range(leaves)])


@st.composite
def residual_networks(draw: st.DrawFn) -> ResidualArrays:
    n = draw(st.integers(1, 60))
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=5 * n))
    hub = [(0, v) for v in range(draw(st.integers(0, n)))]
    return undirected(n, pairs + hub)


@pytest.mark.fast
@given(net=residual_networks())
def test_no_two_arcs_at_a_vertex_have_one_colour(net: ResidualArrays) -> None:
    color, sizes = color_edges(net)
    degree = np.diff(net.first_out)
    tail = np.repeat(np.arange(len(degree)), degree)
    assert len({(int(v), int(c)) for v, c in zip(tail, color, strict=True)}) == len(color)
    assert np.array_equal(color, color[net.reverse])
    assert degree.max(initial=0) <= len(sizes) <= max(0, 2 * int(degree.max(initial=0)) - 1)
    assert np.array_equal(sizes, np.bincount(color, minlength=len(sizes)))
    assert (sizes > 0).all()
    again = color_edges(net)
    assert np.array_equal(again.color, color)
    assert np.array_equal(again.sizes, sizes)


@pytest.mark.fast
def test_nothing_to_colour() -> None:
    for num_vertices in (0, 3):
        color, sizes = color_edges(undirected(num_vertices, []))
        assert len(color) == len(sizes) == 0


@pytest.mark.fast
@pytest.mark.parametrize(("leaves", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16)])
def test_smallest_dtype_that_holds_the_colours(leaves: int, dtype: Any) -> None:
    color, sizes = color_edges(star(leaves))
    assert color.dtype == dtype
    assert len(sizes) == leaves


@pytest.mark.fast
def test_complete_graph_takes_few_colours() -> None:
    pairs = [(u, v) for u in range(100) for v in range(u)]
    assert 99 <= len(color_edges(undirected(100, pairs)).sizes) <= 130


@pytest.mark.fast
@given(ones=st.integers(0, 63), above=st.integers(0, 2**64 - 1))
def test_lowest_zero(ones: int, above: int) -> None:
    bits = ((1 << ones) - 1) | (above >> (ones + 1) << (ones + 1))
    for function in (lowest_zero, lowest_zero.py_func):
        assert function(np.uint64(bits)) == ones


@pytest.mark.fast
def test_hopeless_degree() -> None:
    assert len(color_edges(star(edge_coloring.MOST_DEGREE)).sizes) == edge_coloring.MOST_DEGREE
    with pytest.raises(InvalidInputError, match=r"a vertex has 1,025 neighbours.*cuda-push-relabel"):
        color_edges(star(edge_coloring.MOST_DEGREE + 1))


@pytest.mark.fast
def test_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_coloring, "MOST_MASK_BYTES", 2**10)
    with pytest.raises(InvalidInputError, match="300 neighbours"):
        color_edges(star(300))


@pytest.mark.fast
def test_periods_follow_the_sizes() -> None:
    sizes = np.array([1000, 900, 500, 334, 100, 1], dtype=np.int64)
    assert color_periods(sizes, weighted=True).tolist() == [1, 1, 2, 2, 10, LONGEST_PERIOD]
    assert set(color_periods(sizes, weighted=False)) == {1}
    assert len(color_periods(sizes[:0], weighted=True)) == 0


@pytest.mark.fast
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cycles": 0}, "cycles"),
        ({"cycles": 1.5}, "cycles"),
        ({"weighted": 1}, "weighted"),
        ({"barrier": "none"}, "lock, lock-free, launch"),
        ({"fence": 0}, "fence"),
        ({"colours": 3}, "no option"),
    ],
)
def test_options_are_validated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find_method(METHODS, "cuda-coloring").make_options(options)


@pytest.fixture
def cpu_device(monkeypatch: pytest.MonkeyPatch) -> CpuDevice:
    device = CpuDevice()
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    return device


@pytest.mark.usefixtures("cpu_device")
def test_result_says_how_many_colours() -> None:
    problem = FAMILIES["grid-2d"].generate("8x8", seed=1)
    result = preflow.max_flow(problem, method="gpu-color")
    result.verify()
    assert result.stats.method == "cuda-coloring"
    assert "arcs in 4 colours, which took " in result.stats.reason
    assert result.stats.global_relabel_seconds > 0


def caterpillar() -> preflow.FlowNetwork:
    """Return a path from source 0 to sink 40 whose first vertices have leaves that only lead back.

    The leaves make the first colours large and leave the path rare ones.
    """
    path = [(v, v + 1, 5) for v in range(40)]
    leaves = [(v, 41 + 8 * v + k, 3) for v in range(1, 20) for k in range(8)]
    tail, head, capacity = zip(*leaves, *path, strict=True)
    return preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=capacity)


@pytest.mark.usefixtures("cpu_device")
@pytest.mark.parametrize("cycles", [1, 7, 2000])
def test_rare_colours_have_their_turn(cycles: int) -> None:
    options = {"weighted": True, "cycles": cycles}
    result = preflow.max_flow(caterpillar(), 0, 40, method="cuda-coloring", options=options)
    result.verify()
    assert result.value == 5


@pytest.mark.usefixtures("cpu_device")
def test_more_colours_than_a_warp_has_lanes() -> None:
    problem = FAMILIES["ac-dense"].generate("40", seed=1)
    result = preflow.max_flow(problem, method="cuda-coloring")
    result.verify()
    assert "arcs in 63 colours" in result.stats.reason
    assert result.value == preflow.max_flow(problem, method="serial-hi-pr").value


class CheckingDevice(CpuDevice):
    """Checks after every launch what one of push-relabel must leave true."""

    def launch(
        self, path: Path, kernel: str, blocks: int, threads: int, arguments: Any, **options: Any
    ) -> None:
        net, height = arguments.net, arguments.height.astype(np.int64)
        before, low = self.total(net), height.copy()
        super().launch(path, kernel, blocks, threads, arguments, **options)
        height = arguments.height.astype(np.int64)
        assert (height >= low).all()
        assert self.total(net) == before
        ends = net.arcs.view(np.uint32)
        head, reverse, residual = ends[:, 0], ends[:, 1], net.arcs[:, 1]
        tail = head[reverse]
        assert (residual >= 0).all()
        assert (net.excess >= 0).all()
        assert (height[tail] <= height[head] + 1)[residual > 0].all()
        assert (height <= 1)[net.sink_residual > 0].all()

    @staticmethod
    def total(net: Any) -> tuple[int, list[int]]:
        """Return the excess not yet at the sink less the room there, and the capacity of every pair."""
        reverse = net.arcs.view(np.uint32)[:, 1]
        pairs = net.arcs[:, 1] + net.arcs[reverse, 1]
        return int(net.excess.sum() - net.sink_residual.sum()), pairs.tolist()


@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"barrier": "lock-free"}, {"barrier": "launch"}])
@given(problem=small_problems(max_vertices=14))
@settings(max_examples=15)
def test_every_cycle_keeps_the_invariants(options: dict[str, Any], problem: SmallProblem) -> None:
    net = build_residual(problem.network, np.array(problem.sources), np.array(problem.sinks)).arrays
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "find_device", CheckingDevice)
        patch.setattr(cuda_coloring, "BARRIERS_A_LAUNCH", 1)
        height = cuda_coloring.solve(net, ColoringOptions(cycles=50, **options), Control())
    assert not net.excess[height <= len(height)].any()


@pytest.mark.usefixtures("cpu_device")
def test_one_cycle_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_coloring, "BARRIERS_A_LAUNCH", 1)
    problem = FAMILIES["rmf-wide"].generate("3x3", seed=1)
    result = preflow.max_flow(problem, method="cuda-coloring")
    assert result.value == preflow.max_flow(problem, method="serial-hi-pr").value


@pytest.mark.fast
@pytest.mark.usefixtures("cpu_device")
def test_colouring_that_is_hopeless_names_another_method() -> None:
    leaves = np.arange(2, 2 + edge_coloring.MOST_DEGREE + 1)
    hub = np.full(len(leaves), len(leaves) + 2)
    network = (np.r_[0, leaves], np.r_[len(leaves) + 2, hub], np.r_[1, leaves])
    with pytest.raises(InvalidInputError, match="cuda-push-relabel"):
        preflow.max_flow(network, 0, 1, method="cuda-coloring")


@pytest.mark.usefixtures("cpu_device")
def test_bound_on_searches_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "MOST_SEARCHES", 2)
    problem = FAMILIES["rmf-wide"].generate("3x3", seed=1)
    with pytest.raises(SolverError, match="cuda-coloring gave up after 2 global relabels"):
        preflow.max_flow(problem, method="cuda-coloring", options={"cycles": 1})


@pytest.mark.usefixtures("cpu_device")
@pytest.mark.parametrize("barrier", ["lock", "lock-free", "launch"])
def test_barriers_are_counted(barrier: str) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    options = {"barrier": barrier, "fence": False, "cycles": 20}
    result = preflow.max_flow(problem, method="cuda-coloring", options=options)
    result.verify()
    number, word = result.stats.reason.split("; ")[-1].split()
    assert word == "barriers"
    assert int(number.replace(",", "")) > 20


@pytest.mark.fast
@pytest.mark.parametrize("array", ["residual", "excess", "sink_residual"])
def test_lost_flow_is_noticed(array: str) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    begun = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink])).arrays
    net = ResidualArrays(*(each.copy() for each in begun))
    cuda_coloring.check_flow(net, begun)
    getattr(net, array)[0] += 1
    with pytest.raises(SolverError, match="lost flow"):
        cuda_coloring.check_flow(net, begun)
