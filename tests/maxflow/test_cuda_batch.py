"""Batches of networks on a GPU: the kernel on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow import FlowNetworkBatch
from preflow.cuda import runtime
from preflow.errors import DeviceMemoryError, UnboundedFlowError
from preflow.maxflow.batch import api, cuda_dinic
from preflow.solving.call import Request
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer

pytestmark = pytest.mark.usefixtures("device")


def random_batch(
    items: int = 12, seed: int = 3, factor: float = 1, both: bool = False, largest: int = 60
) -> FlowNetworkBatch:
    """Return networks of different sizes, some without arcs."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 40, items)
    num_arcs = rng.integers(0, largest * 4, items)
    vertex = np.repeat(sizes, num_arcs)
    tail, head = (rng.integers(0, vertex) for _ in range(2))
    capacity, reverse = (rng.integers(0, largest, len(vertex)) * factor for _ in range(2))
    return FlowNetworkBatch.from_arrays(
        tail,
        head,
        capacity,
        num_arcs=num_arcs,
        reverse_capacity=reverse if both else None,
        num_vertices=sizes,
    )


def check(batch: FlowNetworkBatch, sink: Any = 1) -> preflow.MaxFlowBatchResult:
    """Solve a batch on both devices and compare."""
    result = preflow.max_flow_batch(batch, 0, sink, device="cuda")
    result.verify()
    assert result.stats.device == "cuda"
    expected = preflow.max_flow_batch(batch, 0, sink, device="cpu", threads=1)
    np.testing.assert_array_equal(result.value, expected.value)
    np.testing.assert_array_equal(result.sink_side, expected.sink_side)
    np.testing.assert_array_equal(result.source_side, expected.source_side)
    np.testing.assert_allclose(result.gap, expected.gap, rtol=0.01)
    return result


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("factor", [1, 2**40, 1.0, 0.37])
def test_agrees_with_the_cpu(factor: float, both: bool) -> None:
    result = check(random_batch(factor=factor, both=both))
    assert result.stats.pushes > 0
    assert result.stats.arc_scans > 0
    assert result.stats.global_relabels >= 12


def test_several_warps_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(1, 64))
    monkeypatch.setattr(cuda_dinic, "LEAST_TOGETHER", 10**6)
    check(random_batch(seed=4))


@pytest.mark.parametrize(
    ("factor", "kinds"),
    [
        (1, [(True, True), (True, False), (False, True), (False, False)]),
        (0.37, [(True, False), (False, False), (True, False)]),
    ],
)
def test_networks_of_all_kinds_in_one_batch(
    factor: float, kinds: list[tuple[bool, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small and large networks, whose capacities fit 32 bits or do not; a small one again in a finer unit."""
    monkeypatch.setattr(cuda_dinic, "LEAST_TOGETHER", 60)  # room for 140 arcs
    launched = []
    launch = cuda_dinic.Solver._launch

    def noted(solver: cuda_dinic.Solver, kind: cuda_dinic.Kind, chosen: NDArray[np.int64]) -> None:
        launched.extend([tuple(kind)] if len(chosen) else [])
        launch(solver, kind, chosen)

    monkeypatch.setattr(cuda_dinic.Solver, "_launch", noted)
    batch = random_batch(30, seed=8, both=True)
    large = np.repeat(np.arange(30) % 2 * 2**40 + 1, np.diff(batch.first_arc))
    capacity, reverse = (
        np.asarray(values) * large * factor for values in (batch.capacity, batch.reverse_capacity)
    )
    check(
        FlowNetworkBatch.from_arrays(
            batch.tail,
            batch.head,
            capacity,
            num_arcs=np.diff(batch.first_arc),
            reverse_capacity=reverse,
            num_vertices=np.diff(batch.first_vertex),
        )
    )
    assert launched == kinds


def test_sums_that_just_fit_32_bits() -> None:
    """The residual capacity of an arc may get as large as both of its capacities together."""
    for most in (2**31 - 1, 2**31):
        capacity = [[most - 5, 7, 7], [3, most - 3, 3]]
        reverse = [[5, 0, 0], [0, 3, most - 3]]
        check(FlowNetworkBatch.from_arrays([0, 0, 2], [1, 2, 1], capacity, reverse_capacity=reverse))


def test_high_degrees_and_long_paths() -> None:
    """More arcs at a vertex than lanes, more vertices of a level than lanes, and paths longer than a warp."""
    middle = np.arange(2, 102)
    fan = np.concatenate([np.zeros(100, int), middle]), np.concatenate([middle, np.ones(100, int)])
    line = np.concatenate([[0], middle]), np.concatenate([middle, [1]])
    tail, head = (np.concatenate(parts) for parts in zip(fan, line, strict=True))
    capacity = np.random.default_rng(5).integers(1, 50, len(tail))
    batch = FlowNetworkBatch.from_arrays(tail, head, capacity, num_arcs=[200, 101])
    result = check(batch)
    assert result.value[0] == np.minimum(capacity[:100], capacity[100:200]).sum()
    assert result.value[1] == capacity[200:].min()


def test_infinite_and_coarse_capacities() -> None:
    capacity = [[np.inf, 4, np.inf], [np.inf, 0.3, np.inf], [1e300, 1e-300, np.inf], [1e30, 0.1, 1e25]]
    check(FlowNetworkBatch.from_arrays([0, 1, 2], [1, 2, 3], capacity), 3)
    with pytest.raises(UnboundedFlowError, match="item 1"):
        preflow.max_flow_batch(
            FlowNetworkBatch.from_arrays([0, 1], [1, 2], [[1, 0.5], [np.inf] * 2]), 0, 2, device="cuda"
        )


def test_nothing_and_items_that_are_solved_alone() -> None:
    assert len(preflow.max_flow_batch([], 0, 1, device="cuda")) == 0
    most = 2**63 - 1
    check(FlowNetworkBatch.from_arrays([0], [1], [[most], [5]], reverse_capacity=[[most], [1]]))


@pytest.mark.parametrize("factor", [1, 0.37])
def test_stopping(factor: float) -> None:
    batch = random_batch(factor=factor)
    ends = np.zeros(12, dtype=np.int64), np.ones(12, dtype=np.int64)
    call = api.BatchCall.prepare(batch, *ends, Request(api.METHODS, device="cuda"))
    call.control.stop[0] = 1
    result = call.find()
    assert result.status == "time-limit"
    assert not result.optimal.any()
    result.verify()


@pytest.mark.fast
def test_a_batch_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(free_bytes=100))
    with pytest.raises(DeviceMemoryError, match="does not fit"):
        preflow.max_flow_batch(random_batch(), 0, 1, device="cuda")


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_have_nothing_to_report(sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(2, 32, sanitizer=sanitizer))
    for factor in (1, 0.37):
        check(random_batch(3, seed=6, factor=factor, both=True, largest=12))
    monkeypatch.setattr(cuda_dinic, "LEAST_TOGETHER", 10**6)
    check(random_batch(3, seed=6, both=True, largest=12))


@pytest.mark.gpu
@pytest.mark.parametrize("factor", [1, 0.37])
def test_many_networks_on_a_gpu(factor: float) -> None:
    check(random_batch(3000, seed=7, factor=factor, both=True, largest=200))
