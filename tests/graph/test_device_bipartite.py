"""Bipartite graphs in the memory of a GPU: built, matched, given back and verified."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import preflow
from preflow import BipartiteGraph
from preflow.certify.matching import check_matching
from preflow.cuda import launches, runtime
from preflow.errors import DeviceMemoryError, InvalidInputError, VerificationError
from preflow.graph.bipartite import Adjacency, DeviceBipartiteGraph
from preflow.papers.deveci import cuda_push_relabel
from tests.support.cuda_on_cpu.arrays import OnGpu, most_taken
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import largest_matching
from tests.support.strategies import SmallGraph, small_graphs

pytestmark = pytest.mark.usefixtures("cpu_device")


class GpuMatrix:
    """A sparse matrix with arrays on a GPU, as CuPy has them."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.format, self.shape = matrix.format, matrix.shape
        for name in ("row", "col", "indptr", "indices", "offsets", "data"):
            if hasattr(matrix, name):
                setattr(self, name, OnGpu(getattr(matrix, name)))

    def tocsr(self) -> GpuMatrix:
        raise AssertionError("no method of a matrix is called before its arrays have been checked")


def neighbours(adjacency: Adjacency) -> list[list[int]]:
    first, neighbour = adjacency
    return [sorted(line.tolist()) for line in np.split(neighbour, first[1:-1].astype(np.int64))]


def check_same_as_host(device: BipartiteGraph, host: BipartiteGraph) -> None:
    assert isinstance(device, DeviceBipartiteGraph)
    assert device.shape == host.shape
    assert device.num_edges == host.num_edges
    for one in (device, device.on_host(), device.transposed.transposed, host.on_device()):
        assert neighbours(one.rows) == neighbours(host.rows)
        assert neighbours(one.columns) == neighbours(host.columns)
        assert one.rows.first.dtype == one.columns.neighbour.dtype == np.uint32


@given(problem=small_graphs(max_vertices=12), order=st.sampled_from(["as given", "by row", "by column"]))
@example(problem=SmallGraph(3, 2, []), order="as given")
@settings(max_examples=25)
def test_same_graph_as_on_the_host(problem: SmallGraph, order: str) -> None:
    edges = problem.edges
    if order != "as given":
        edges = sorted(edges, key=lambda edge: edge if order == "by row" else edge[::-1])
    row, column = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    shape = (problem.num_rows, problem.num_columns)
    host = BipartiteGraph.from_arrays(row, column, shape=shape)
    device = BipartiteGraph.from_arrays(OnGpu(row), OnGpu(column), shape=shape)  # type: ignore[arg-type]
    check_same_as_host(device, host)
    values = np.arange(len(row)) % 3
    for matrix_format in ("coo", "csr", "csc", "dia"):
        matrix = scipy.sparse.coo_array((values, (row, column)), shape=shape).asformat(matrix_format)
        for explicit_zeros in (True, False):
            expected = BipartiteGraph.from_scipy(matrix, explicit_zeros=explicit_zeros)
            got = BipartiteGraph.from_scipy(GpuMatrix(matrix), explicit_zeros=explicit_zeros)  # type: ignore[arg-type]
            check_same_as_host(got, expected)
            assert got.by_columns == expected.by_columns or matrix_format == "coo"


def on_gpu(graph: BipartiteGraph) -> BipartiteGraph:
    lines = graph.columns if graph.by_columns else graph.rows
    across = np.repeat(np.arange(len(lines.first) - 1), np.diff(lines.first.astype(np.int64)))
    row, column = (lines.neighbour, across) if graph.by_columns else (across, lines.neighbour)
    return BipartiteGraph.from_arrays(OnGpu(row.copy()), OnGpu(column.copy()), shape=graph.shape)  # type: ignore[arg-type]


def random_graph(size: int, edges: int, seed: int) -> BipartiteGraph:
    random = np.random.default_rng(seed)
    return BipartiteGraph.from_arrays(*random.integers(0, size, (2, edges)), shape=(size, size))


def test_arrays_are_not_copied_where_their_dtype_fits() -> None:
    for dtype in (np.int32, np.uint32):
        row, column = np.array([[0, 1], [1, 0]], dtype=dtype)
        graph = BipartiteGraph.from_arrays(OnGpu(row), OnGpu(column))  # type: ignore[arg-type]
        assert np.shares_memory(graph.rows.neighbour, column)
        graph = BipartiteGraph.from_arrays(OnGpu(column), OnGpu(row))  # type: ignore[arg-type]
        assert np.shares_memory(graph.columns.neighbour, column)
    matrix = scipy.sparse.csc_array(np.eye(3))
    graph = BipartiteGraph.from_scipy(GpuMatrix(matrix))  # type: ignore[arg-type]
    assert np.shares_memory(graph.columns.first, matrix.indptr)
    assert np.shares_memory(graph.columns.neighbour, matrix.indices)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ([0, -1], [1, 1], "row is negative: -1"),
        ([0, 1], [1, 7], "column 7 is out of range: there are 3, numbered from 0"),
        ([0.0, 1.0], [1, 2], "row must hold integers, got dtype float64"),
        ([[0, 1]], [1, 2], "row must have one dimension"),
        ([0], [1, 2], "row has 1 entries, column has 2"),
    ],
)
def test_bad_edges(row: Any, column: Any, message: str) -> None:
    for kind in (np.asarray, OnGpu):
        with pytest.raises(InvalidInputError, match=message):
            BipartiteGraph.from_arrays(kind(row), kind(column), shape=(3, 3))


@pytest.mark.fast
@pytest.mark.parametrize(
    ("indptr", "indices", "data", "message"),
    [
        ([0, 1, 2], [0, 3], [1, 1], "index 3 is out of range: there are 3"),
        ([0, 1, 2], [0, -1], [1, 1], "index is negative: -1"),
        ([0, 2, 1], [0, 1], [1, 1], "indptr does not start at 0 and ascend"),
        ([1, 1, 2], [0, 1], [1, 1], "indptr does not start at 0 and ascend"),
        ([0, 1, 3], [0, 1], [1, 1], "indptr ends at 3, there are 2 indices"),
        ([0, 1], [0, 1], [1, 1], r"indptr has shape \(2,\), expected \(3,\)"),
        ([0, 1, 2], [0, 1], [np.nan, np.nan], "every entry of the matrix is NaN"),
    ],
)
def test_bad_matrices(indptr: Any, indices: Any, data: Any, message: str) -> None:
    matrix = scipy.sparse.csr_array((2, 3))
    matrix.indptr, matrix.indices, matrix.data = map(np.array, (indptr, indices, data))
    for place in (matrix, GpuMatrix(matrix)):
        with pytest.raises(InvalidInputError, match=message):
            BipartiteGraph.from_scipy(place)  # type: ignore[arg-type]


@pytest.mark.fast
def test_arrays_in_different_places() -> None:
    with pytest.raises(
        InvalidInputError, match="column is not on the GPU, where other arrays of the graph are"
    ):
        BipartiteGraph.from_arrays(OnGpu([0]), [1])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="row is on GPU 1, and GPU 0 is the current one"):
        BipartiteGraph.from_arrays(OnGpu([0], 1), OnGpu([1]))  # type: ignore[arg-type]


@pytest.mark.fast
def test_too_many_for_32_bits() -> None:
    with pytest.raises(InvalidInputError, match="edges of 4,294,967,297 vertices are too many for a GPU"):
        BipartiteGraph.from_arrays(OnGpu([0]), OnGpu([0]), shape=(2**32, 1))  # type: ignore[arg-type]


@given(problem=small_graphs())
@settings(max_examples=12)
def test_graphs_on_a_gpu_agree_with_the_oracle(problem: SmallGraph) -> None:
    graph = on_gpu(problem.graph)
    for arguments in ({}, {"device": "cpu"}, {"method": "cuda-hopcroft-karp", "initial": "none"}):
        result = preflow.bipartite_matching(graph, **arguments)  # type: ignore[arg-type]
        result.verify()
        assert result.stats.device == arguments.get("device", "cuda")
        assert result.cardinality == result.vertex_cover.size == largest_matching(problem)
        assert isinstance(result.row_match, OnGpu)
        assert isinstance(result.column_match, OnGpu)
        assert result.row_match.values.dtype == np.int32
        assert len(result.pairs()) == result.matrix().nnz == result.cardinality
        assert result.on_host().row_match.tolist() == result.row_match.values.tolist()
    assert preflow.structural_rank(graph) == largest_matching(problem)


def test_what_sparse_solvers_ask_for() -> None:
    host = random_graph(30, 70, 1)
    for place in (host, on_gpu(host), host.on_device()):
        matrix = scipy.sparse.csr_array(
            (np.ones(host.num_edges), host.rows.neighbour, host.rows.first), shape=host.shape
        )
        order = preflow.zero_free_diagonal(place)
        assert np.count_nonzero(matrix[:, order].diagonal()) == preflow.structural_rank(matrix)
        parts = preflow.dulmage_mendelsohn(place)
        assert parts.row_blocks.tolist() == preflow.dulmage_mendelsohn(host).row_blocks.tolist()


def test_phases() -> None:
    host = random_graph(20, 60, 2)
    device = on_gpu(host)
    for graph, initial, phases in (
        (host, "cheap", {"build", "initial", "upload", "solve", "download"}),
        (device, "cheap", {"build", "download", "initial", "upload", "solve"}),
        (device, "none", {"build", "upload", "solve"}),
    ):
        result = preflow.bipartite_matching(graph, method="cuda-push-relabel", initial=initial)
        assert set(result.stats.seconds) - {"compile"} == phases
        assert isinstance(result.row_match, np.ndarray) == (graph is host)
    seconds = preflow.bipartite_matching(device, method="serial-hopcroft-karp").stats.seconds
    assert set(seconds) - {"compile"} == {"build", "download", "initial", "solve", "upload"}


@pytest.mark.parametrize("method", ["cuda-push-relabel", "serial-hopcroft-karp"])
@pytest.mark.parametrize("by_columns", [False, True])
def test_start_from_a_given_matching(method: str, by_columns: bool) -> None:
    host = random_graph(40, 110, 3)
    host = host.transposed if by_columns else host
    best = preflow.bipartite_matching(host)
    some = np.where(np.arange(40) % 2 == 0, best.row_match, -1)
    for graph in (host, on_gpu(host)):
        for start in (some, OnGpu(some), preflow.bipartite_matching(graph)):
            result = preflow.bipartite_matching(graph, method=method, warm_start=start)
            result.verify()
            assert result.cardinality == best.cardinality
            assert result.stats.initial_cardinality >= np.count_nonzero(some >= 0)
        wrong = some.copy()
        wrong[1] = some[0]
        for start in (wrong, OnGpu(wrong), OnGpu(wrong[1:]), OnGpu(wrong + 0.5), OnGpu(wrong + 99)):
            with pytest.raises(InvalidInputError, match="warm_start"):
                preflow.bipartite_matching(graph, method=method, warm_start=start)


def test_verifier_finds_what_is_wrong() -> None:
    matrix = scipy.sparse.csr_array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    for rows, message in (
        ([0, 2, 1], "row 2 is matched with a column that is not its neighbour"),
        ([0, 0, 2], "row 0 is matched with a column that another row is matched with, too"),
        ([0, 1, 3], "row 2 is matched with no vertex of the graph"),
        ([0, 1, -1], "2 rows are matched, not 3"),
    ):
        result = preflow.bipartite_matching(GpuMatrix(matrix))
        result.verify()
        result.row_match.values[:] = rows
        result.column_match.values[:] = [rows.index(c) if c in rows else -1 for c in range(3)]
        if rows == [0, 0, 2]:
            result.column_match.values[0] = 1
        with pytest.raises(VerificationError, match=message):
            result.verify()


def test_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "ROUNDS_A_LAUNCH", 3)
    solve = cuda_push_relabel.solve

    def out_of_time(graph: Any, matching: Any, options: Any, control: Any) -> bool:
        control.stop[0] = 1
        return solve(graph, matching, options, control)

    monkeypatch.setattr(cuda_push_relabel, "solve", out_of_time)
    graph = on_gpu(random_graph(30, 100, 4))
    result = preflow.bipartite_matching(graph, method="cuda-push-relabel", initial="none")
    assert result.status == "time-limit"
    assert result.lower_bound < result.upper_bound
    result.verify()


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    host = random_graph(50, 200, 5)
    graph = on_gpu(host)
    assert isinstance(graph, DeviceBipartiteGraph)
    assert graph.bytes_to_transpose == 4 * 200 + 12 * 51
    device = CpuDevice(free_bytes=4 * 200 + 4 * 51 - 1)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    with pytest.raises(DeviceMemoryError, match="200 edges, 50 rows and 50 columns take 1,004 bytes"):
        host.on_device()
    device.free_bytes += 1
    fitting = host.on_device()
    needed = fitting.bytes_to_transpose + 24 * 50
    with pytest.raises(DeviceMemoryError, match=rf"take {needed:,} bytes.*has 1,004 free"):
        preflow.bipartite_matching(fitting, method="cuda-push-relabel")
    device.free_bytes = needed
    preflow.bipartite_matching(fitting, method="cuda-push-relabel").verify()
    assert fitting.columns is fitting.columns
    assert fitting.bytes_to_transpose == 0


def test_labels_of_concurrent_relabels_are_used() -> None:
    """Mostly: with bad luck all pushes are done before the first relabel is."""
    options = {"relabel": "concurrent", "global_relabel": ("fixed", 1)}
    for seed in range(5):
        graph = random_graph(200, 600, seed)
        result = preflow.bipartite_matching(
            graph, method="cuda-push-relabel", initial="none", options=options
        )
        result.verify()
        found = re.search(
            r"([\d,]+) of ([\d,]+) global relabels ran concurrently with pushes", result.stats.reason
        )
        assert found is not None
        taken_over, relabels = map(int, found.groups())
        assert taken_over <= relabels - 2 == result.stats.global_relabels - 2
        if taken_over > 0:
            return
    raise AssertionError("the labels of no concurrent relabel were used")


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_have_nothing_to_report(sanitizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    graph = on_gpu(random_graph(20, 50, 7))
    neighbours(graph.columns)
    check_matching(graph, np.full(20, -1), np.full(20, -1), 0)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_libraries_on_a_gpu(gpu: runtime.Device, library: str, dtype: Any) -> None:
    module = pytest.importorskip(library)
    random = np.random.default_rng(0)
    for _ in range(50):
        shape, edges = tuple(random.integers(1, 60, 2).tolist()), int(random.integers(0, 300))
        ends = [random.integers(0, size, edges, dtype=dtype) for size in shape]
        arrays = [gpu.xp.asarray(end) if library == "cupy" else module.from_numpy(end).cuda() for end in ends]
        host, graph = (BipartiteGraph.from_arrays(*given, shape=shape) for given in (ends, arrays))
        for one, other in ((graph.rows, host.rows), (graph.columns, host.columns)):
            assert neighbours(Adjacency(*map(gpu.to_host, one))) == neighbours(other)
        expected = preflow.bipartite_matching(host).cardinality
        results = [preflow.bipartite_matching(graph, initial="none")]
        results.append(preflow.bipartite_matching(graph, warm_start=results[0].row_match))
        results.append(preflow.bipartite_matching(graph, device="cpu"))
        for result in results:
            result.verify()
            assert result.cardinality == expected
            assert type(result.row_match) is type(result.column_match) is type(arrays[0])


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("matrix_format", ["csr", "csc", "coo", "dia"])
def test_sparse_matrices_on_a_gpu(matrix_format: str) -> None:
    cupyx_sparse = pytest.importorskip("cupyx.scipy.sparse")
    matrix = scipy.sparse.random_array((300, 200), density=0.01, rng=np.random.default_rng(1)).asformat(
        matrix_format
    )
    matrix.data[::3] = 0
    kinds = {"csr": "csr_matrix", "csc": "csc_matrix", "coo": "coo_matrix", "dia": "dia_matrix"}
    given_there = getattr(cupyx_sparse, kinds[matrix_format])(matrix)
    for explicit_zeros in (True, False):
        host = BipartiteGraph.from_scipy(matrix, explicit_zeros=explicit_zeros)
        graph = BipartiteGraph.from_scipy(given_there, explicit_zeros=explicit_zeros)
        assert isinstance(graph, DeviceBipartiteGraph)
        for one in (graph.on_host(), host.on_device().on_host()):
            assert neighbours(one.rows) == neighbours(host.rows)
        result = preflow.bipartite_matching(graph)
        result.verify()
        assert type(result.row_match) is graph.xp.ndarray
        assert result.cardinality == preflow.bipartite_matching(host).cardinality


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"relabel": "concurrent"}])
def test_memory_that_is_taken_on_a_gpu(gpu: runtime.Device, options: dict[str, Any]) -> None:
    size, edges = 1_000_000, 5_000_000
    host = random_graph(size, edges, 8)
    gpu.xp.get_default_memory_pool().free_all_blocks()
    with most_taken(gpu.xp) as taken:
        graph = host.on_device()
        assert 4 * edges <= taken() <= 4 * (edges + size) + 4096
        needed = taken() + graph.bytes_to_transpose + (8 + 24 + (16 if options else 0)) * size
        result = preflow.bipartite_matching(
            graph, method="cuda-push-relabel", initial="none", options=options
        )
    result.verify()
    assert 8 * edges <= taken() <= needed + 2**20
