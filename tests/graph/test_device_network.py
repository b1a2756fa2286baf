"""Networks in the memory of a GPU: built, solved, read back and verified there."""

from __future__ import annotations

import _thread
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow import FlowNetwork
from preflow.certify.cut import check_flow_and_cut
from preflow.cuda import runtime
from preflow.errors import (
    CapacityOverflowError,
    DeviceMemoryError,
    InvalidInputError,
    PreflowError,
    UnboundedFlowError,
    VerificationError,
)
from preflow.generators import FAMILIES
from preflow.graph.device import build as device_build
from preflow.graph.device.build import DeviceResidualNetwork, build_on_device, bytes_needed
from preflow.graph.network import DeviceFlowNetwork
from preflow.graph.residual import build_residual
from preflow.maxflow import cuda_push_relabel, serial_fifo
from preflow.maxflow.problem import METHODS
from preflow.papers.wu_he_hong import cuda_hybrid
from preflow.solving.dispatch import find_method
from preflow.steps.second_stage import arc_flows
from preflow.steps.second_stage.on_gpu import flow_of_arcs
from tests.support.cuda_on_cpu.arrays import OnGpu, most_taken
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import check_against_oracle, edmonds_karp
from tests.support.strategies import SmallProblem, float_capacities, small_problems

pytestmark = pytest.mark.usefixtures("cpu_device")

INT64_MAX = 2**63 - 1
DIAMOND = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
mixed_capacities = st.one_of(float_capacities, st.just(float("inf")), st.integers(0, 9).map(float))


def on_gpu(network: FlowNetwork) -> FlowNetwork:
    arrays = (network.tail, network.head, network.capacity, network.reverse_capacity)
    tail, head, capacity, reverse = (None if array is None else OnGpu(array.copy()) for array in arrays)
    return FlowNetwork.from_arrays(
        tail, head, capacity, reverse_capacity=reverse, num_vertices=network.num_vertices
    )  # type: ignore[arg-type]


def terminals(*vertices: int) -> NDArray[np.int64]:
    return np.array(vertices, dtype=np.int64)


def build(network: FlowNetwork, sources: list[int], sinks: list[int]) -> DeviceResidualNetwork:
    return build_on_device(runtime.find_device(), network, terminals(*sources), terminals(*sinks))


def arcs_of(first_out: Any, head: Any, residual: Any) -> list[tuple[int, int, int]]:
    tail = np.repeat(np.arange(len(first_out) - 1), np.diff(first_out.astype(np.int64)))
    return sorted(zip(tail.tolist(), head.tolist(), residual.tolist(), strict=True))


def check_same_as_host(network: FlowNetwork, sources: list[int], sinks: list[int]) -> None:
    """Build on the device and on the host; compare what was built or the errors."""
    try:
        host = build_residual(network.on_host(), terminals(*sources), terminals(*sinks))
    except PreflowError as error:
        with pytest.raises(type(error)):
            build(network, sources, sinks)
        return
    device = build(network, sources, sinks)
    net, expected = device.arrays, host.arrays
    ends = net.arcs.view(np.uint32)
    head, reverse, residual = ends[:, 0], ends[:, 1], net.arcs[:, 1]
    assert arcs_of(net.first_out, head, residual) == arcs_of(
        expected.first_out, expected.head, expected.residual
    )
    tail = np.repeat(np.arange(net.num_vertices), np.diff(net.first_out.astype(np.int64)))
    assert (reverse[reverse] == np.arange(len(reverse))).all()
    assert (head[reverse] == tail).all()
    np.testing.assert_array_equal(net.excess, expected.excess)
    np.testing.assert_array_equal(net.sink_residual, expected.sink_residual)
    np.testing.assert_array_equal(device.inner, host.inner)
    np.testing.assert_array_equal(device.source_capacity, expected.excess)
    assert device.constant_flow == host.constant_flow
    assert device.solved.scale_exponent == host.solved.scale_exponent
    assert device.has_shared_arcs or not host.has_shared_arcs
    given = network.on_host()
    u, v = device.inner[given.tail], device.inner[given.head]
    inside = (u < net.num_vertices) & (v < net.num_vertices) & (u != v)
    assert (head[device.arc[inside]] == v[inside]).all()
    assert (tail[device.arc[inside]] == u[inside]).all()


@pytest.mark.parametrize("place", [FlowNetwork.on_host, on_gpu])
@given(problem=small_problems())
@settings(max_examples=30)
def test_same_residual_network_as_on_the_host(place: Any, problem: SmallProblem) -> None:
    check_same_as_host(place(problem.network), problem.sources, problem.sinks)


@given(problem=small_problems())
@settings(max_examples=30)
def test_arcs_of_a_dense_network_are_in_order(problem: SmallProblem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_build, "DENSE_DEGREE", 0)
        check_same_as_host(problem.network, problem.sources, problem.sinks)
        try:
            net = build(problem.network, problem.sources, problem.sinks).arrays
        except PreflowError:
            return
    head = net.arcs.view(np.uint32)[:, 0].astype(np.int64)
    tail = np.repeat(np.arange(net.num_vertices), np.diff(net.first_out.astype(np.int64)))
    assert (np.diff(tail * net.num_vertices + head) > 0).all()


@pytest.mark.parametrize("place", [FlowNetwork.on_host, on_gpu])
@given(problem=small_problems(mixed_capacities))
@settings(max_examples=20)
def test_same_residual_network_of_floats(place: Any, problem: SmallProblem) -> None:
    check_same_as_host(place(problem.network), problem.sources, problem.sinks)


@pytest.mark.parametrize(
    ("tail", "head", "capacity"),
    [
        ([1, 1], [2, 2], [INT64_MAX, 1]),  # parallel
        ([1, 2], [2, 1], [INT64_MAX, 1]),  # antiparallel
        ([1] * 4, [2] * 4, [2**62] * 4),  # round to where it began
        ([0, 0], [1, 1], [INT64_MAX, 1]),  # at one vertex beside the source
        ([0, 0], [1, 2], [INT64_MAX, 1]),  # at the source
        ([1, 2], [3, 3], [INT64_MAX, 1]),  # at the sink
        ([0, 0], [3, 3], [INT64_MAX, 1]),  # straight
        ([0, 0], [3, 1], [INT64_MAX, 1]),
        ([0, 0, 1, 2], [1, 2, 3, 3], [INT64_MAX, 2**62 + 1, 2**61 + 1, 2**60 + 1]),
    ],
)
def test_sums_past_int64(tail: list[int], head: list[int], capacity: list[int]) -> None:
    for kind in (np.asarray, OnGpu):
        network = FlowNetwork.from_arrays(kind(tail), kind(head), kind(capacity), num_vertices=4)
        with pytest.raises(CapacityOverflowError, match="sum past int64"):
            build(network, [0], [3])
        exact, _, _ = edmonds_karp(4, zip(tail, head, capacity, strict=True), [0], [3])
        if exact > INT64_MAX:
            with pytest.raises(CapacityOverflowError, match="past int64"):
                preflow.max_flow(network, 0, 3, method="cuda-push-relabel")
            continue
        result = preflow.max_flow(network, 0, 3, method="cuda-push-relabel")
        result.verify()
        assert (result.value, result.gap) == (exact, 0)


def test_sums_that_just_fit() -> None:
    tail, head, capacity = [0, 1, 1, 2, 2], [1, 2, 2, 1, 3], [INT64_MAX, 2**62, 2**61, 2**61 - 1, INT64_MAX]
    result = preflow.max_flow((tail, head, capacity), 0, 3, device="cuda")
    result.verify()
    assert result.value == 2**62 + 2**61


def test_infinite_path_on_a_gpu() -> None:
    network = (OnGpu([0, 1]), OnGpu([1, 2]), OnGpu([np.inf, np.inf]))
    with pytest.raises(UnboundedFlowError):
        preflow.max_flow(network, 0, 2)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(free_bytes=1000)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    needed = bytes_needed(FlowNetwork.from_arrays(*DIAMOND))
    device.free_bytes = needed
    assert preflow.max_flow(DIAMOND, 0, 3, device="cuda").value == 4
    device.free_bytes = needed - 1
    with pytest.raises(DeviceMemoryError, match=rf"take {needed:,} bytes.*has {needed - 1:,} free"):
        preflow.max_flow(DIAMOND, 0, 3, device="cuda")


@pytest.mark.parametrize("n", [300, 3_000])
@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize("place", [FlowNetwork.on_host, on_gpu])
def test_memory_that_is_taken(place: Any, two_way: bool, n: int) -> None:
    m = 30_000
    rng = np.random.default_rng(1)
    tail = rng.integers(0, n - 1, m)
    head = rng.integers(tail + 1, n)
    reverse = rng.integers(0, 99, m) if two_way else None
    network = place(FlowNetwork.from_arrays(tail, head, rng.integers(1, 99, m), reverse_capacity=reverse))
    build(network, [0], [n - 1])  # compiles
    tracemalloc.start()
    residual = build(network, [0], [n - 1])
    _, building = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    flow_of_arcs(network, residual, np.zeros(residual.num_vertices, dtype=np.int64))
    _, recovering = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    pairs = len(residual.arrays.arcs) // 2
    assert residual.nbytes <= 36 * m + 36 * n
    assert residual.nbytes <= 48 * pairs + 40 * n
    # What is copied to a GPU is not copied here: bytes_needed counts 16 for it.
    free_of_charge = 16 if isinstance(network, DeviceFlowNetwork) else 0
    assert building <= bytes_needed(network) - (16 - free_of_charge) * m
    most_sharing = 2 * (m - pairs) * (2 if two_way else 1)
    assert recovering <= bytes_needed(network) + 90 * most_sharing - (16 - free_of_charge) * m


@given(problem=small_problems())
@settings(max_examples=25)
def test_networks_on_a_gpu_agree_with_the_oracle(problem: SmallProblem) -> None:
    value, sink_side, source_side = edmonds_karp(
        problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks
    )
    network = on_gpu(problem.network)
    flow = preflow.max_flow(network, problem.sources, problem.sinks)
    cut = preflow.min_cut(network, problem.sources, problem.sinks)
    assert flow.stats.device == "cuda"
    for result in (flow, cut):
        result.verify()
        assert result.value == value
        for side, expected in ((result.sink_side, sink_side), (result.source_side(), source_side)):
            assert isinstance(side, OnGpu)
            assert set(np.flatnonzero(side.values)) == expected
        assert isinstance(result.cut_arcs, OnGpu)
    host = preflow.max_flow(problem.network, problem.sources, problem.sinks)
    np.testing.assert_array_equal(flow.cut_arcs.values, host.cut_arcs)
    assert flow.flow.values.dtype == host.flow.dtype
    assert flow.flow_matrix().shape == host.flow_matrix().shape
    assert flow.flow_dict().keys() == host.flow_dict().keys()
    assert repr(flow).startswith("<MaxFlowResult: value")


@given(problem=small_problems(float_capacities))
@settings(max_examples=15)
def test_floats_on_a_gpu(problem: SmallProblem) -> None:
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    result = preflow.max_flow(on_gpu(problem.network), problem.sources, problem.sinks)
    result.verify()
    assert result.value == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(problem=small_problems())
@settings(max_examples=15)
def test_host_networks_give_numpy(problem: SmallProblem) -> None:
    result = check_against_oracle(problem, method="cuda-push-relabel")
    assert isinstance(result.flow, np.ndarray)
    assert isinstance(result.sink_side, np.ndarray)
    assert not result.flow.flags.writeable
    assert not result.sink_side.flags.writeable
    assert set(result.stats.seconds) == {"upload", "build", "solve", "recover", "download"}


@pytest.mark.parametrize("arguments", [{"device": "cpu"}, {"method": "serial-fifo"}])
def test_solved_on_the_host_where_that_is_asked_for(arguments: dict[str, str]) -> None:
    result = preflow.max_flow(tuple(map(OnGpu, DIAMOND)), 0, 3, **arguments)  # type: ignore[arg-type]
    result.verify()
    assert result.stats.device == "cpu"
    assert isinstance(result.flow, OnGpu)
    assert result.flow.values.tolist() == [2, 2, 2, 2]
    assert isinstance(result.source_side(), OnGpu)


def test_methods_that_take_only_networks_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_hybrid, "solve", serial_fifo_as_cuda)
    for kind in (np.asarray, OnGpu):
        result = preflow.max_flow(tuple(map(kind, DIAMOND)), 0, 3, method="cuda-hybrid")  # type: ignore[arg-type]
        result.verify()
        assert isinstance(result.flow, OnGpu if kind is OnGpu else np.ndarray)
        assert result.stats.device == "cuda"


def serial_fifo_as_cuda(net: Any, options: Any, control: Any) -> Any:
    return find_method(METHODS, "serial-fifo").solve(net, serial_fifo.FifoOptions(), control)


def test_same_distribution_over_shared_arcs_as_on_the_host() -> None:
    rng = np.random.default_rng(3)
    network = FlowNetwork.from_arrays(
        rng.integers(0, 5, 60), rng.integers(0, 5, 60), rng.integers(0, 9, 60), num_vertices=5
    )
    host = build_residual(network, terminals(0), terminals(4))
    device = build(network, [0], [4])
    used = rng.integers(0, 3, (3, 3))
    for first_out, head, residual in (
        (host.arrays.first_out, host.arrays.head, host.arrays.residual),
        (device.arrays.first_out, device.arrays.arcs.view(np.uint32)[:, 0], device.arrays.arcs[:, 1]),
    ):
        tail = np.repeat(np.arange(3), np.diff(first_out.astype(np.int64)))
        residual -= np.minimum(residual, used[tail, head])
    returned = np.array([2, 0, 1])
    flow = flow_of_arcs(network, device, returned)
    np.testing.assert_array_equal(flow, arc_flows(network, host, returned))


@pytest.mark.fast
def test_arrays_are_not_copied_where_their_dtype_fits() -> None:
    for dtype in (np.int32, np.uint32):
        ends, capacity = np.array([[0, 1], [1, 2]], dtype=dtype), np.array([5, 4])
        network = FlowNetwork.from_arrays(OnGpu(ends[0]), OnGpu(ends[1]), OnGpu(capacity))  # type: ignore[arg-type]
        assert np.shares_memory(network.tail, ends)
        assert np.shares_memory(network.capacity, capacity)
        assert network.tail.dtype == np.uint32


@pytest.mark.fast
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, -1], [1, 1], [1, 1]), "tail has a negative vertex: -1"),
        (([0, 1], [1, 7], [1, 1]), "vertex 7 is out of range: there are 3 vertices"),
        (([0.0, 1.0], [1, 2], [1, 1]), "tail must hold integers, got dtype float64"),
        (([[0, 1]], [1, 2], [1, 1]), "tail must have one dimension"),
        (([0], [1, 2], [1, 1]), "tail has 1 entries, head has 2"),
        (([0, 1], [1, 2], [1, -1]), "capacity is negative: -1 at 1"),
        (([0, 1], [1, 2], [1, np.nan]), "capacity is NaN at 1"),
        (([0, 1], [1, 2], [1, 2, 3]), r"capacity has shape \(3,\), expected \(2,\)"),
        (([0, 1], [1, 2], [1j, 2j]), "capacity must hold .*complex128"),
    ],
)
def test_bad_arrays(arrays: tuple[Any, Any, Any], message: str) -> None:
    for kind in (np.asarray, OnGpu):
        with pytest.raises(InvalidInputError, match=message):
            FlowNetwork.from_arrays(*map(kind, arrays), num_vertices=3)


@pytest.mark.fast
def test_capacity_past_int64() -> None:
    capacity = OnGpu(np.array([2**63], dtype=np.uint64))
    with pytest.raises(CapacityOverflowError, match="does not fit int64"):
        FlowNetwork.from_arrays(OnGpu([0]), OnGpu([1]), capacity)  # type: ignore[arg-type]


@pytest.mark.fast
def test_arrays_in_different_places() -> None:
    with pytest.raises(InvalidInputError, match="head is not on the GPU"):
        FlowNetwork.from_arrays(OnGpu([0]), [1], OnGpu([1]))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="capacity is not on the GPU"):
        FlowNetwork.from_arrays(OnGpu([0]), OnGpu([1]), [1])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="tail is on GPU 1, and GPU 0 is the current one"):
        FlowNetwork.from_arrays(OnGpu([0], 1), OnGpu([1]), OnGpu([1]))  # type: ignore[arg-type]


def test_one_capacity_for_all() -> None:
    ends = (OnGpu([0, 1]), OnGpu([1, 2]))
    for capacity in (3, np.int64(3), OnGpu(3)):
        network = FlowNetwork.from_arrays(*ends, capacity)  # type: ignore[arg-type]
        assert preflow.max_flow(network, 0, 2).value == 3
    network = FlowNetwork.from_arrays(*ends, 1.5, reverse_capacity=2)  # type: ignore[arg-type]
    assert network.reverse_capacity.dtype == np.float64  # type: ignore[union-attr]


def test_no_arcs_and_no_inner_vertices() -> None:
    empty = OnGpu(np.zeros(0, dtype=np.int64))
    network = FlowNetwork.from_arrays(empty, empty, empty, num_vertices=2)  # type: ignore[arg-type]
    result = preflow.max_flow(network, 0, 1)
    result.verify()
    assert result.value == 0
    straight = preflow.max_flow(([0, 0, 1], [1, 1, 0], [2, 3, 4]), 0, 1, device="cuda")
    straight.verify()
    assert straight.flow.tolist() == [2, 3, 0]


@pytest.mark.fast
def test_files_of_a_network_on_a_gpu(tmp_path: Path) -> None:
    network = FlowNetwork.from_arrays(*map(OnGpu, DIAMOND))
    problem = preflow.MaxFlowProblem(network, 0, 3)
    preflow.write_dimacs(tmp_path / "diamond.max", problem)
    preflow.save_npz(tmp_path / "diamond.npz", problem)
    for again in (
        preflow.read_dimacs(tmp_path / "diamond.max"),
        preflow.load_npz(tmp_path / "diamond.npz"),
    ):
        assert isinstance(again, preflow.MaxFlowProblem)
        assert (again.source, again.sink) == (0, 3)
        found = again.network
        assert [each.tolist() for each in (found.tail, found.head, found.capacity)] == list(DIAMOND)


@pytest.mark.parametrize("place", [FlowNetwork.on_host, on_gpu])
def test_time_limit(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    solve = cuda_push_relabel.solve
    calls = []

    def out_of_time(net: Any, options: Any, control: Any) -> Any:
        calls.append(control)
        control.stop[0] = len(calls) == 1
        return solve(net, options, control)

    monkeypatch.setattr(cuda_push_relabel, "solve", out_of_time)
    network = place(problem.network)
    result = preflow.max_flow(network, problem.source, problem.sink, method="cuda-push-relabel")
    assert result.status == "time-limit"
    assert result.lower_bound < result.upper_bound
    result.verify()


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("first", ["flow", "source_side"])
def test_a_result_that_is_read_again_after_an_interruption(first: str, before: bool) -> None:
    """Excess may have gone back to the source by then, and directions may be swapped."""
    result = preflow.min_cut(([0, 1, 2, 2], [1, 2, 3, 1], [9, 8, 3, 4]), 0, 3, method="cuda-push-relabel")
    stage: Any = result._second_stage
    assert result.stats.device == "cuda"
    if first == "source_side":
        stage.flow()
    solve = stage._solve

    def interrupted(net: Any, options: Any, control: Any) -> Any:
        height = None if before else solve(net, options, control)
        _thread.interrupt_main()
        while not control.interrupted:
            time.sleep(1e-3)
        return solve(net, options, control) if before else height

    stage._solve = interrupted
    with pytest.raises(KeyboardInterrupt):
        getattr(stage, first)()
    stage._solve = solve
    assert stage.preflow()[2] == 3
    assert stage.flow().tolist() == [3, 3, 3, 0]
    assert stage.source_side().tolist() == [True, True, True, False]
    result.verify()


def faults() -> list[Any]:
    def over_capacity(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow + np.array([0, 3, 0, 3]), side, value

    def lost(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow - np.array([1, 0, 0, 0]), side, value

    def wrong_value(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow, side, value + 1

    def wrong_cut(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow, np.array([False, False, True, True]), value

    def source_beyond(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow, np.ones_like(side), value

    def sink_before(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow, np.zeros_like(side), value

    def against(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow - np.array([4, 0, 4, 0]), side, value - 4

    def all_less(flow: Any, side: Any, value: int) -> tuple[Any, Any, int]:
        return flow - np.array([1, 0, 1, 0]), side, value

    return [over_capacity, lost, wrong_value, wrong_cut, source_beyond, sink_before, against, all_less]


def check_claims(network: FlowNetwork, flow: Any, side: Any, value: int) -> None:
    check_flow_and_cut(network, terminals(0), terminals(3), flow, side, "optimal", value, value, 0)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("fault", faults())
def test_verifier_finds_what_the_host_finds(fault: Any, dtype: Any) -> None:
    tail, head = [0, 0, 1, 2], [1, 2, 3, 3]
    capacity = np.array([3, 1, 2, 4], dtype=dtype)
    host = FlowNetwork.from_arrays(tail, head, capacity)
    right = (np.array([2, 1, 2, 1], dtype=dtype), np.array([False, False, True, True]), 3)
    right[1][2] = True
    wrong = fault(*right)
    if fault.__name__ == "wrong_cut":
        wrong = (right[0], np.array([False, True, True, True]), 3)
    for network in (host, on_gpu(host)):
        check_claims(network, *right)
    messages = []
    for network in (host, on_gpu(host)):
        with pytest.raises(VerificationError) as raised:
            check_claims(network, *wrong)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_verify_looks_at_the_arrays_that_were_given() -> None:
    result = preflow.max_flow(tuple(map(OnGpu, DIAMOND)), 0, 3)
    result.verify()
    result.flow.values[0] += 1
    with pytest.raises(VerificationError):
        result.verify()


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_have_nothing_to_report(sanitizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    rng = np.random.default_rng(5)
    arrays = (rng.integers(0, 6, 80), rng.integers(0, 6, 80), rng.integers(0, 9, 80), rng.integers(0, 9, 80))
    tail, head, capacity, reverse = map(OnGpu, arrays)
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse)  # type: ignore[arg-type]
    result = preflow.max_flow(network, 0, 5)
    result.verify()
    result.source_side()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_libraries_on_a_gpu(gpu: runtime.Device, library: str, dtype: Any) -> None:
    module = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, m = int(rng.integers(2, 60)), int(rng.integers(1, 300))
        host = FlowNetwork.from_arrays(
            rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 50, m), num_vertices=n
        )
        ends = (host.tail.astype(dtype), host.head.astype(dtype), host.capacity.copy())
        arrays = [
            gpu.xp.asarray(array) if library == "cupy" else module.from_numpy(array).cuda() for array in ends
        ]
        network = FlowNetwork.from_arrays(*arrays, num_vertices=n)
        result = preflow.max_flow(network, 0, n - 1)
        result.verify()
        expected = preflow.max_flow(host, 0, n - 1, method="serial-hi-pr")
        assert result.value == expected.value
        for got in (result.flow, result.sink_side, result.source_side(), result.cut_arcs):
            assert type(got) is type(arrays[0])
        np.testing.assert_array_equal(network.to_host(result.sink_side), expected.sink_side)
        np.testing.assert_array_equal(network.to_host(result.source_side()), expected.source_side())
        np.testing.assert_array_equal(network.to_host(result.cut_arcs), expected.cut_arcs)


@pytest.mark.gpu
@pytest.mark.parametrize("two_way", [False, True])
def test_memory_that_is_taken_on_a_gpu(gpu: runtime.Device, two_way: bool) -> None:
    n, m = 500_000, 5_000_000
    rng = np.random.default_rng(1)
    tail = rng.integers(0, n - 1, m)
    head = rng.integers(tail + 1, n)
    reverse = rng.integers(0, 99, m) if two_way else None
    network = FlowNetwork.from_arrays(tail, head, rng.integers(1, 99, m), reverse_capacity=reverse)
    gpu.xp.get_default_memory_pool().free_all_blocks()
    with most_taken(gpu.xp) as taken:
        result = preflow.max_flow(network, 0, n - 1, method="cuda-push-relabel")
    result.verify()
    assert 48 * m <= taken() <= bytes_needed(network)


@pytest.mark.gpu
def test_two_solves_on_two_streams(gpu: runtime.Device) -> None:
    problems = [FAMILIES["rmf-wide"].generate("32x16", seed=seed) for seed in (1, 2)]
    results: list[list[Any]] = [[], []]

    def solve(k: int) -> None:
        given = problems[k].network
        with gpu.xp.cuda.Stream(non_blocking=True):
            network = FlowNetwork.from_arrays(*map(gpu.xp.asarray, (given.tail, given.head, given.capacity)))
            for _ in range(5):
                arguments = (network, problems[k].source, problems[k].sink)
                results[k].append(preflow.max_flow(*arguments, method="cuda-push-relabel"))

    threads = [threading.Thread(target=solve, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem, found in zip(problems, results, strict=True):
        expected = preflow.max_flow(problem, method="serial-hi-pr").value
        assert [result.value for result in found] == [expected] * 5
        for result in found:
            result.verify()


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
def test_time_limit_on_a_gpu() -> None:
    problem = FAMILIES["rlg-long"].generate("64x4096", seed=1)
    slow = {"search_share": 0, "work_factor": 0.01, "step_limit": 1, "step_factor": 0}
    preflow.min_cut(FAMILIES["rlg-long"].generate("8x16", seed=1), method="cuda-push-relabel", options=slow)
    best = preflow.min_cut(problem, method="serial-hi-pr")
    start = time.monotonic()
    result = preflow.min_cut(problem, method="cuda-push-relabel", options=slow, time_limit=0.3)
    assert time.monotonic() - start < 5, "the solve went on after its time"
    assert result.status == "time-limit"
    result.verify()
    assert result.lower_bound <= best.value <= result.upper_bound


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("family", "size"), [("rmf-wide", "32x16"), ("rlg-wide", "256x32"), ("ac-dense", "500")]
)
def test_families_on_a_gpu(gpu: runtime.Device, family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    given = problem.network
    assert given.reverse_capacity is None
    network = FlowNetwork.from_arrays(*map(gpu.xp.asarray, (given.tail, given.head, given.capacity)))
    for place in (given, network):
        result = preflow.max_flow(place, problem.source, problem.sink, method="cuda-push-relabel")
        result.verify()
        assert result.value == preflow.max_flow(problem, method="serial-hi-pr").value
