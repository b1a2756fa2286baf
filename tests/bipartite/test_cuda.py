"""Bipartite matching on a GPU: the kernels on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings

import preflow
from preflow.bipartite import cuda_multi_source_bfs, policy, small
from preflow.bipartite.initial import cheap, proposals
from preflow.bipartite.match_arrays import empty_matching
from preflow.bipartite.problem import METHODS
from preflow.cuda import launches, runtime
from preflow.errors import DeviceMemoryError, InvalidInputError, SolverError
from preflow.generators import bipartite_family
from preflow.papers.deveci import cuda_push_relabel
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import largest_matching
from tests.support.strategies import SmallGraph, small_graphs

CUDA = [method.name for method in METHODS if method.device == "cuda"]
#: The published forms, with global relabels often and seldom.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "cuda-push-relabel": [
        {},
        {"active_list": False},
        {"shrink": False, "global_relabel": ("fixed", 1)},
        {"initial_relabel": False},
        {"initial_relabel": False, "active_list": False, "global_relabel": ("fixed", 3)},
        {"global_relabel": ("fixed", 10)},
        {"active_list": False, "global_relabel": ("adaptive", 0.1)},
        {"relabel": "concurrent", "global_relabel": ("fixed", 1)},
        {"relabel": "concurrent", "active_list": False},
    ],
    "cuda-hopcroft-karp": [{}],
    "cuda-hkdw": [{}],
    "cuda-multi-source-bfs": [{}, {"lanes": 1, "few": 1}, {"lanes": 32, "few": 2}],
}

pytestmark = pytest.mark.usefixtures("cpu_device")


def variants() -> list[Any]:
    return [
        pytest.param(method, options, id=f"{method}-{k}")
        for method in CUDA
        for k, options in enumerate(VARIANTS[method])
    ]


def random_matrix(rows: int, columns: int, edges: int, seed: int) -> scipy.sparse.csr_array:
    random = np.random.default_rng(seed)
    ends = (random.integers(0, rows, edges), random.integers(0, columns, edges))
    return scipy.sparse.csr_array((np.ones(edges), ends), shape=(rows, columns))


@pytest.mark.parametrize(("method", "options"), variants())
@given(problem=small_graphs())
@example(problem=SmallGraph(3, 2, []))
@example(problem=SmallGraph(4, 6, [(r, c) for r in range(4) for c in range(6)]))
@example(problem=SmallGraph(5, 3, [(r, 1) for r in range(5)]))
@settings(max_examples=25)
def test_agrees_with_oracle(method: str, options: dict[str, Any], problem: SmallGraph) -> None:
    for initial in ("none", "cheap"):
        result = preflow.bipartite_matching(problem.graph, method=method, initial=initial, options=options)
        result.verify()
        assert result.cardinality == largest_matching(problem)
        assert result.stats.initial_cardinality + result.stats.augmentations == result.cardinality


@pytest.mark.parametrize(("method", "options"), variants())
def test_larger_graphs(method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_push_relabel, "LEAST_TO_SHRINK", 2)
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 7)
    for seed, shape in enumerate([(90, 90, 250), (60, 120, 200), (120, 60, 200)]):
        matrix = random_matrix(*shape, seed)
        result = preflow.bipartite_matching(matrix, method=method, initial="none", options=options)
        result.verify()
        assert result.cardinality == preflow.bipartite_matching(matrix).cardinality
        assert result.stats.device == "cuda"
        assert result.stats.phases > 0


@pytest.mark.parametrize("method", CUDA)
def test_rows_of_many_edges(method: str) -> None:
    """Rows 0 to 2 have edges to all columns, the others only to the first three."""
    matrix = scipy.sparse.lil_array((20, 700))
    matrix[:3, :] = 1
    matrix[3:, :3] = 1
    for graph in (matrix, matrix.T):
        result = preflow.bipartite_matching(graph, method=method, initial="none")
        result.verify()
        assert result.cardinality == 6


def propose(matrix: scipy.sparse.csr_array) -> np.ndarray:
    """Return the column of every row in the initial matching by proposals."""
    graph = preflow.BipartiteGraph.from_scipy(matrix).on_device()
    matching = empty_matching(graph)
    proposals.start(graph, matching, Control())
    return np.asarray(graph.device.to_host(matching.row_match)).astype(np.int64)


@given(problem=small_graphs())
@example(problem=SmallGraph(4, 6, [(r, c) for r in range(4) for c in range(6)]))
@settings(max_examples=25)
def test_proposals_are_maximal(problem: SmallGraph) -> None:
    result = preflow.bipartite_matching(problem.graph, method="cuda-hkdw", initial="proposals")
    result.verify()
    assert 2 * result.stats.initial_cardinality >= result.cardinality


def test_proposals_are_the_same_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_matrix(60, 50, 200, 4)
    row_match = propose(matrix)
    rows = np.flatnonzero(row_match < 50)
    assert all(matrix[r, row_match[r]] for r in rows)
    assert len(set(row_match[rows])) == len(rows)
    free_columns = np.setdiff1d(np.arange(50), row_match[rows])
    assert matrix[np.setdiff1d(np.arange(60), rows)][:, free_columns].nnz == 0
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 1)
    assert all((propose(matrix) == row_match).all() for _ in range(5))


@pytest.mark.fast
def test_proposals_need_a_gpu() -> None:
    with pytest.raises(InvalidInputError, match="'proposals' runs on a GPU, serial-pothen-fan does not"):
        preflow.bipartite_matching(random_matrix(3, 3, 3, 0), method="serial-pothen-fan", initial="proposals")


def test_a_gpu_in_use_is_taken_for_large_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_matrix(9, 9, 20, 3)
    assert preflow.bipartite_matching(matrix).stats.device == "cpu"
    monkeypatch.setattr(runtime, "is_in_use", lambda: True)
    monkeypatch.setattr(policy, "EDGES_FOR_GPU", 10)
    monkeypatch.setattr(small, "SMALL", 0)
    assert "enough work for the GPU" in preflow.bipartite_matching(matrix).stats.reason
    assert preflow.bipartite_matching(matrix, threads=1).stats.device == "cpu"
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(free_bytes=100))
    assert preflow.bipartite_matching(matrix).stats.device == "cpu"


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize(("method", "options"), variants())
def test_sanitizers_have_nothing_to_report(
    method: str, options: dict[str, Any], sanitizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_push_relabel, "LEAST_TO_SHRINK", 2)
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    result = preflow.bipartite_matching(
        random_matrix(40, 40, 100, 1), method=method, initial="none", options=options
    )
    result.verify()


@pytest.mark.parametrize(("family", "size"), [("erdos-renyi", "300x3"), ("hugetrace-like", "500")])
def test_cheap_matching_is_that_of_one_thread(
    family: str, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = bipartite_family(family).generate(size, seed=0)
    alone = empty_matching(graph)
    cheap.start(graph, alone, Control())
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 1)
    for _ in range(10):
        control = Control()

        def launch_once(*arguments: Any, control: Control = control) -> Iterator[Any]:
            state = next(launches.launches(*arguments))
            control.stop[0] = 1
            yield state

        monkeypatch.setattr(cuda_multi_source_bfs, "launches", launch_once)
        matching = empty_matching(graph.on_device())
        options = cuda_multi_source_bfs.MultiSourceBfsOptions()
        assert not cuda_multi_source_bfs.solve(graph.on_device(), matching, options, control)
        assert np.array_equal(matching.row_match, alone.row_match)
        assert np.array_equal(matching.column_match, alone.column_match)


@pytest.mark.parametrize("method", CUDA)
def test_asked_to_stop(method: str) -> None:
    graph = preflow.BipartiteGraph.from_scipy(random_matrix(40, 40, 100, 2)).on_device()
    matching, control = empty_matching(graph), Control()
    control.stop[0] = 1
    record = find_method(METHODS, method)
    assert not record.solve(graph, matching, record.make_options(None), control)


@pytest.mark.parametrize("method", CUDA)
def test_too_many_launches_are_an_error(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 1)
    monkeypatch.setattr(launches, "MOST_LAUNCHES", 2)
    with pytest.raises(SolverError, match=r"gave up after 2 launches: \w+State\("):
        preflow.bipartite_matching(random_matrix(9, 9, 20, 3), method=method, initial="none")


def test_cuda_is_the_device_that_was_asked_for() -> None:
    result = preflow.bipartite_matching(random_matrix(9, 9, 20, 3), device="cuda")
    assert result.stats.method == "cuda-multi-source-bfs"
    result.verify()


@pytest.mark.fast
def test_a_graph_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(free_bytes=100)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    with pytest.raises(DeviceMemoryError, match=r"edges, 9 rows and 9 columns take .* bytes .* has 100 free"):
        preflow.bipartite_matching(random_matrix(9, 9, 20, 3), device="cuda")


@pytest.mark.fast
@pytest.mark.parametrize("given", ["adaptive", ("often", 1), ("fixed", 0), ("fixed", "x"), ("adaptive",)])
def test_bad_options(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="global_relabel"):
        preflow.bipartite_matching(
            random_matrix(3, 3, 3, 0), method="cuda-push-relabel", options={"global_relabel": given}
        )


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("method", "options"), variants())
def test_graphs_on_a_gpu(method: str, options: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    for k in range(200):
        rows, columns, edges = (int(random.integers(1, most)) for most in (300, 300, 1500))
        matrix = random_matrix(rows, columns, edges, k)
        result = preflow.bipartite_matching(matrix, method=method, options=options)
        result.verify()
        assert result.cardinality == preflow.bipartite_matching(matrix).cardinality
    graph = bipartite_family("erdos-renyi").generate("100000x3", seed=1)
    first = preflow.bipartite_matching(graph, method=method, options=options)
    first.verify()
    for _ in range(100):
        again = preflow.bipartite_matching(graph, method=method, options=options)
        assert again.cardinality == first.cardinality
