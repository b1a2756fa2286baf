"""Batches of graphs on a GPU: the kernels on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow.cuda import runtime, uploads
from preflow.errors import DeviceMemoryError, InfeasibleMatchingError, InvalidInputError
from preflow.general_matching.batch import api, cuda_edmonds
from preflow.general_matching.batch.graphs import read_graphs
from preflow.general_matching.result import Wanted
from preflow.solving.call import Request
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer

from .test_batch import GOALS, lists, pendant, stack

pytestmark = pytest.mark.usefixtures("device")


def check(
    graphs: Any, goals: tuple[dict[str, bool], ...] = GOALS, *, proofs: int = 1000, **given: Any
) -> preflow.MatchingBatchResult:
    """Solve a batch on both devices for all goals, prove and compare it; return the last result."""
    for goal in goals:
        result = preflow.matching_batch(graphs, device="cuda", **goal, **given)
        assert result.status == "optimal"
        assert result.stats.device == "cuda"
        for item in range(min(proofs, len(result))):
            result[item].verify()
        expected = preflow.matching_batch(graphs, device="cpu", **{**goal, **given, "threads": 1})
        assert (np.abs(result.value - expected.value) <= result.gap + expected.gap).all()
    return result


@pytest.mark.parametrize("factor", [1, 2**40, 1.0, 0.37])
def test_matrices(factor: float) -> None:
    result = check(stack(8, 8, -2, 5) * factor)
    assert result.stats.phases > 0
    assert result.stats.augmentations == result.stats.phases
    assert result.stats.arc_scans > 0


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_other_dtypes(dtype: str) -> None:
    check((stack(4, 10, 1, 50) * (0.3 if dtype[0] == "f" else 1)).astype(dtype))


def test_lists_of_edges() -> None:
    check(lists(12, 20, 60, 5), GOALS[:4])
    pairs, weights, offsets = lists(12, 6, 40, 5, 1)
    check((pairs, weights * 0.37, offsets), GOALS[:4], num_vertices=7)


@pytest.mark.parametrize("seed", range(4))
def test_searches_with_blossoms(seed: int) -> None:
    """Sparse graphs whose trees grow, shrink and expand blossoms many times; more vertices than lanes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(33, 60))
    weights = stack(4, n, 1, (3, 6, 100, 10**6)[seed], seed)
    kept = np.triu(rng.random(weights.shape) < (3 / n, 5 / n, 0.5, 4 / n)[seed], 1)
    check(np.where(kept | kept.transpose(0, 2, 1), weights, 0), GOALS[:4], no_edge=0)


def test_triangles_with_pendant_edges() -> None:
    check(pendant(3, 33), GOALS[:4], no_edge=0)


def test_graphs_of_all_kinds_in_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices in shared memory and elsewhere, and weights that fit 32 bits or do not."""
    monkeypatch.setattr(cuda_edmonds, "LEAST_TOGETHER", 100)  # room for 10 vertices
    launched = []
    launch = cuda_edmonds.Solver._launch

    def noted(solver: cuda_edmonds.Solver, kind: cuda_edmonds.Kind, chosen: NDArray[np.int64]) -> None:
        launched.extend([tuple(kind)] if len(chosen) else [])
        launch(solver, kind, chosen)

    monkeypatch.setattr(cuda_edmonds.Solver, "_launch", noted)
    matrices = [
        *stack(2, 6, 1, 9),
        *stack(2, 20, 1, 9),
        *stack(2, 6, 1, 9, 1) * 2**40,
        *stack(2, 20, 1, 9) * 2**40,
    ]
    ends = [np.triu_indices(len(matrix), 1) for matrix in matrices]
    check([(*each, matrix[each]) for each, matrix in zip(ends, matrices, strict=True)], GOALS[:1])
    assert launched == [(True, True), (True, False), (False, True), (False, False)]


def test_weights_that_just_fit_32_bits() -> None:
    for most in (2**28 - 1, 2**28):
        check(most - stack(4, 9, 1, 5), GOALS[:1])


def test_what_the_cpu_decides() -> None:
    """Items that are solved alone, malformed ones, and those without a perfect matching."""
    check(stack(3, 6, 2**57, 2**59), GOALS[:1])
    with pytest.raises(InvalidInputError, match="item 1: the matrix is not symmetric"):
        preflow.matching_batch(np.stack([np.ones((4, 4)), np.arange(16.0).reshape(4, 4)]), device="cuda")
    with pytest.raises(InvalidInputError, match="item 1: vertex 5"):
        preflow.matching_batch(([[0, 5]], [1], [0, 0, 1]), num_vertices=3, device="cuda")
    with pytest.raises(InvalidInputError, match="item 0: weight is"):
        preflow.matching_batch(([[0, 5]], [np.nan], [0, 1]), device="cuda")
    with pytest.raises(InfeasibleMatchingError, match="item 0"):
        preflow.matching_batch(np.ones((2, 3, 3)), perfect=True, device="cuda")
    for empty in (np.zeros((0, 3, 3)), np.zeros((4, 0, 0), int), np.zeros((2, 1, 1))):
        check(empty, GOALS[:4])


@pytest.mark.parametrize("factor", [1, 0.37])
def test_stopping(factor: float) -> None:
    batch = read_graphs(stack(4, 6, -9, 10) * factor)
    call = api.BatchCall.prepare(batch, Wanted(True, False, False), Request(api.METHODS, device="cuda"))
    call.control.stop[0] = 1
    result = call.find()
    assert result.status == "time-limit"
    assert not result.optimal.any()
    result.verify()


@pytest.mark.fast
def test_a_batch_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(free_bytes=100))
    with pytest.raises(DeviceMemoryError):
        preflow.matching_batch(stack(4, 6, 1, 9), device="cuda")


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_have_nothing_to_report(sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(2, 32, sanitizer=sanitizer))
    weights = stack(3, 34, 1, 9, 2) * (np.random.default_rng(0).random((34, 34)) < 0.1)
    weights = np.maximum(weights, weights.transpose(0, 2, 1))
    for factor in (1, 2**40, 0.37):
        check(weights * factor, GOALS[:1], no_edge=0)
    monkeypatch.setattr(cuda_edmonds, "LEAST_TOGETHER", 10**6)
    check(lists(3, 12, 40, 5), GOALS[:1])


@pytest.mark.gpu
@pytest.mark.parametrize("factor", [1, 2**36, 0.37])
def test_many_graphs_on_a_gpu(factor: float) -> None:
    for n in (8, 34, 64, 120):
        check(stack(500, n, -3, 9, n) * factor, proofs=20)
        check(stack(500, n, 1, 1000, n) * factor, proofs=20)


@pytest.mark.gpu
def test_arrays_on_a_gpu(device: Any) -> None:
    weights = stack(50, 20, 1, 99)
    result = preflow.matching_batch(device.xp.asarray(weights))
    assert isinstance(result.mate, device.xp.ndarray)
    assert result.stats.device == "cuda"
    np.testing.assert_array_equal(result.value, preflow.matching_batch(weights).value)
    result.verify()


@pytest.mark.parametrize("factor", [1, 0.37])
def test_edges_on_a_gpu_are_packed_on_the_host(factor: float) -> None:
    pairs, weights, offsets = lists(8, 12, 40, 5)
    weights = weights * factor
    expected = preflow.matching_batch((pairs, weights, offsets))
    listed = [(*pairs[begin:end].T, weights[begin:end]) for begin, end in pairwise(offsets)]
    for graphs in (
        (OnGpu(pairs), OnGpu(weights), OnGpu(offsets)),
        (pairs, OnGpu(weights), offsets),
        [tuple(map(OnGpu, each)) for each in listed],
        [tuple(map(OnGpu, listed[0])), *listed[1:]],
    ):
        result = preflow.matching_batch(graphs)
        result.verify()
        assert result.stats.device == "cuda"
        assert isinstance(result.mate, OnGpu)
        np.testing.assert_allclose(result.value, expected.value)
        part = result[[5, 2]]
        part.verify()
        np.testing.assert_array_equal(part.value, result.value[[5, 2]])
        assert isinstance(part.mate, OnGpu)
        preflow.matching_batch(graphs, device="cpu").verify()
    with pytest.raises(InvalidInputError, match="is on GPU 1, and GPU 0 is"):
        preflow.matching_batch((pairs, OnGpu(weights, 1), offsets))


def test_parts_of_matrices_on_a_gpu() -> None:
    result = preflow.matching_batch(OnGpu(stack(6, 8, 1, 99)))
    part = result[::-2]
    part.verify()
    np.testing.assert_array_equal(part.value, result.value[::-2])
    assert isinstance(part.mate, OnGpu)


@pytest.mark.parametrize("top", [2**31 - 1, 2**31])
def test_several_threads_upload(top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts; int64 as int32 where all numbers and the marker fit."""
    monkeypatch.setattr(uploads, "PART", 100)
    weights = stack(6, 12, 1, 50)
    weights[5, 10, 11] = weights[5, 11, 10] = top
    for no_edge in (None, 7, 2**31 + 7):
        check(weights, GOALS[:1], no_edge=no_edge, threads=3)
    check(weights * 0.37, GOALS[:1], threads=3)
