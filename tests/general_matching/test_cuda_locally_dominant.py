"""Locally dominant edges on a GPU: the kernel on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import preflow
from preflow.cuda import launches, runtime
from preflow.errors import DeviceMemoryError, InvalidInputError, SolverError
from preflow.general_matching import policy
from preflow.general_matching.cuda_locally_dominant import CudaLocallyDominantOptions, solve
from preflow.general_matching.weighted_blossom import together
from preflow.graph.undirected import UndirectedGraph, neighbours_of
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice

from .test_general_matching import INTEGERS, small_graphs

METHOD = "cuda-locally-dominant"
pytestmark = pytest.mark.usefixtures("cpu_device")


def random_graph(n: int, m: int, seed: int, largest: int = 1000) -> UndirectedGraph:
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, (2, m))
    return UndirectedGraph.from_arrays(*ends, random.integers(1, largest + 1, m), num_vertices=n)


def check_equal(graph: UndirectedGraph, weight: Any = None, **options: Any) -> preflow.GeneralMatchingResult:
    """Check that the matching is that of one thread of a CPU."""
    result = preflow.matching(graph, weight=weight, method=METHOD, options=options)
    result.verify()
    alone = preflow.matching(graph, weight=weight, method="multicore-locally-dominant", threads=1)
    assert result.mate.tolist() == alone.mate.tolist()
    assert (result.status, result.lower_bound) == (alone.status, alone.lower_bound)
    return result


@given(small_graphs(INTEGERS), st.booleans(), st.sampled_from([1, 8, 32]))
@example(UndirectedGraph.from_arrays([], [], [], num_vertices=0), False, 8)
@example(UndirectedGraph.from_arrays([0, 1, 2], [1, 2, 3], [2**60 - 2, 2**60 - 1, 2**60 - 2]), True, 8)
@settings(max_examples=40)
def test_the_matching_of_one_thread(graph: UndirectedGraph, weighted: bool, lanes: int) -> None:
    check_equal(graph, None if weighted else False, lanes=lanes)


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_larger_graphs(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 4)
    for seed, (n, m, largest) in enumerate([(90, 250, 1000), (60, 700, 2), (120, 100, 1)]):
        result = check_equal(random_graph(n, m, seed, largest), lanes=lanes)
        assert result.stats.device == "cuda"
        assert result.stats.phases > 0
        assert result.stats.augmentations == result.cardinality


def test_a_vertex_of_many_edges() -> None:
    random = np.random.default_rng(4)
    ends = np.concatenate([np.zeros(300, int), np.arange(1, 301)]), np.concatenate([np.arange(1, 301)] * 2)
    check_equal(UndirectedGraph.from_arrays(*ends[:2], random.integers(1, 9, 600)))


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("lanes", [1, 8])
def test_sanitizers_have_nothing_to_report(
    sanitizer: Any, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    check_equal(random_graph(40, 100, 1, 3), lanes=lanes)


def test_asked_to_stop() -> None:
    graph, control = random_graph(40, 100, 2), Control()
    assert graph.weight is not None
    neighbours = neighbours_of(40, graph.tail, graph.head, graph.weight.copy())
    control.stop[0] = 1
    assert not solve(neighbours, None, CudaLocallyDominantOptions(), control).finished


def test_too_many_launches_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 1)
    monkeypatch.setattr(launches, "MOST_LAUNCHES", 2)
    with pytest.raises(SolverError, match=r"gave up after 2 launches: LocallyDominantState\("):
        preflow.matching(random_graph(9, 20, 3), method=METHOD)


@given(small_graphs(INTEGERS), st.booleans(), st.sampled_from([1, 3]))
@settings(max_examples=40)
def test_an_exact_search_goes_on_from_the_gpu(graph: UndirectedGraph, weighted: bool, threads: int) -> None:
    given: dict[str, Any] = {"weight": None if weighted else False}
    result = preflow.matching(graph, device="cuda", threads=threads, **given)
    result.verify()
    assert (result.status, result.value) == ("optimal", preflow.matching(graph, **given).value)
    assert result.stats.attempts[0].method == METHOD


def test_an_exact_search_of_many_threads_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEWEST_EDGES", 100)
    monkeypatch.setattr(together, "FEWEST_ROOTS", 0)
    graph = random_graph(200, 600, 5)
    result = preflow.matching(graph, device="cuda", threads=4, maximum_cardinality=True)
    result.verify()
    assert result.weight == preflow.matching(graph, maximum_cardinality=True).weight
    assert [each.method for each in result.stats.attempts] == [METHOD, "multicore-weighted-blossom"]
    assert "so multicore-weighted-blossom went on" in result.stats.reason


@pytest.mark.fast
def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="lanes must be one of 1, 2, 4, 8, 16, 32"):
        preflow.matching(random_graph(9, 20, 3), method=METHOD, options={"lanes": 5})
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(free_bytes=100))
    with pytest.raises(DeviceMemoryError, match=r"edges and 9 vertices take .* bytes .* has 100 free"):
        preflow.matching(random_graph(9, 20, 3), method=METHOD)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_graphs_on_a_gpu(lanes: int) -> None:
    random = np.random.default_rng(0)
    for seed in range(200):
        n, m, largest = (int(random.integers(1, most)) for most in (300, 1500, 20))
        check_equal(random_graph(n, m, seed, largest), lanes=lanes)
    n = 20_000
    chain = UndirectedGraph.from_arrays(np.arange(n - 1), np.arange(1, n), np.arange(1, n))
    for graph in (random_graph(200_000, 800_000, 1), chain):
        check_equal(graph, lanes=lanes)
        check_equal(graph, False, lanes=lanes)
