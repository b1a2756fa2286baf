"""Maximum flow on a GPU: the kernels on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from numpy.typing import NDArray

import preflow
from preflow.cuda import runtime
from preflow.errors import (
    DeviceMemoryError,
    DeviceUnavailableError,
    InvalidInputError,
    SolverError,
    UnsuitableMethodError,
)
from preflow.generators import FAMILIES
from preflow.graph.device.residual import from_device, to_device
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.maxflow import cuda_push_relabel, policy, small
from preflow.maxflow.problem import METHODS
from preflow.solving.dispatch import find_method
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import check_against_oracle, edmonds_karp
from tests.support.paths import reference_instances
from tests.support.strategies import SmallProblem, float_capacities, small_problems

CUDA = [method.name for method in preflow.methods("max_flow") if method.device == "cuda"]
#: Options under which small networks see every part of a method's kernels.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "cuda-push-relabel": [
        {},
        {
            "lanes": 1,
            "few": 0,
            "step_limit": 1,
            "step_factor": 0,
            "work_factor": 0.01,
            "search_share": 0,
        },
        {
            "lanes": 8,
            "few": 2,
            "overshoot_share": 0.01,
            "enough_share": 0.01,
            "wave_width": 0,
            "time_factor": 0.01,
        },
        {"lanes": 32, "few": 4, "keeps": False},
        {
            "lanes": 2,
            "wave_rounds": 0,
            "wave_factor": 0,
            "reach_factor": 0.01,
            "rest_share": 0.01,
            "idle_factor": 0.01,
        },
        {"lanes": 4, "wave_rounds": 1, "wave_factor": 0.2, "overshoot_share": 0.01, "enough_share": 0.01},
    ],
    "cuda-coloring": [
        {},
        {"cycles": 1},
        {"cycles": 3, "weighted": True},
        {"weighted": True},
        {"barrier": "lock-free"},
        {"barrier": "launch", "cycles": 3, "weighted": True},
    ],
    "cuda-lockfree": [
        {},
        {"cycles": 1},
        {"relabel": "concurrent", "cycles": 2},
        {"relabel": "concurrent", "cycles": 200},
    ],
    "cuda-locks": [{}, {"cycles": 1}, {"tries": 1000}],
    "cuda-hybrid": [
        {},
        {"cycles": 2},
        {"cycles": 3, "cancel_steep_arcs": True},
        {"cycles": 3, "gap": False},
    ],
}


pytestmark = pytest.mark.usefixtures("cpu_device")


#: Excess crosses from one way to the other, and some returns.
TWO_WAYS = SmallProblem(4, [0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [9, 2, 2, 4, 1], None, [0], [3])


def variants() -> list[Any]:
    return [
        pytest.param(method, options, id=f"{method}-{k}")
        for method in CUDA
        for k, options in enumerate(VARIANTS.get(method, [{}]))
    ]


@pytest.mark.parametrize(("method", "options"), variants())
@given(problem=small_problems())
@example(problem=TWO_WAYS)
@settings(max_examples=15)
def test_agrees_with_oracle(method: str, options: dict[str, Any], problem: SmallProblem) -> None:
    result = check_against_oracle(problem, method=method, options=options)
    cut = preflow.min_cut(problem.network, problem.sources, problem.sinks, method=method, options=options)
    cut.verify()
    assert cut.value == result.value
    assert np.array_equal(cut.sink_side, result.sink_side)


@pytest.mark.parametrize("method", CUDA)
@given(problem=small_problems(float_capacities))
@example(problem=replace(TWO_WAYS, capacity=[0.9, 0.7, 0.4, 0.8, 0.1]))
@settings(max_examples=15)
def test_float_capacities(method: str, problem: SmallProblem) -> None:
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    result = preflow.max_flow(problem.network, problem.sources, problem.sinks, method=method)
    result.verify()
    assert result.value == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", CUDA)
@pytest.mark.parametrize(
    ("family", "size"), [("rmf-wide", "4x3"), ("rlg-wide", "8x6"), ("ac-dense", "40"), ("grid-2d", "12x40")]
)
def test_families(method: str, family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    result = preflow.max_flow(problem, method=method)
    result.verify()
    assert result.value == preflow.max_flow(problem, method="serial-hi-pr").value
    assert result.stats.device == "cuda"
    assert result.stats.global_relabels > 0
    assert result.stats.pushes > 0


@pytest.mark.parametrize(
    ("search_share", "warps", "capacity", "kept", "revived"),
    [
        (0.25, 1, 2048, 32, 128),
        (0.75, 1, 2048, 32, 128),
        (0.75, 1, 4, 1, 1),
        (0.5, 2, 2048, 32, 128),
        (0.5, 2, 4, 1, 1),
    ],
)
def test_waves_of_several_blocks(
    search_share: float, warps: int, capacity: int, kept: int, revived: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some blocks of four search; lists overflow, or not; a warp of each serves the others, or not."""
    monkeypatch.setattr("tests.support.cuda_on_cpu.device.MOST_THREADS", 128 * warps)
    monkeypatch.setattr(cuda_push_relabel, "MOST_REVIVED", revived)
    monkeypatch.setattr(cuda_push_relabel, "LIST_CAPACITY", capacity)
    monkeypatch.setattr(cuda_push_relabel, "MOST_KEPT", kept)
    device = CpuDevice(4, 32 * warps)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    options = {"search_share": search_share, "wave_rounds": 1, "wave_factor": 0}
    for family, size in (("rmf-long", "3x8"), ("rmf-wide", "5x3")):
        problem = FAMILIES[family].generate(size, seed=1)
        result = preflow.max_flow(problem, method="cuda-push-relabel", options=options)
        result.verify()
        assert result.value == preflow.max_flow(problem, method="serial-hi-pr").value


def test_more_arcs_of_a_vertex_than_its_range_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed range counts 31 bits of arcs."""
    tail, head = [0, 1, 1, 1, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 6, 6, 6]
    problem = (np.array(tail), np.array(head), np.array([9] * 5 + [2] * 4))
    assert preflow.max_flow(problem, 0, 6, method="cuda-push-relabel").value == 8
    monkeypatch.setattr(cuda_push_relabel, "MOST_DEGREE", 4)
    with pytest.raises(UnsuitableMethodError, match="4 residual arcs of a vertex are too many"):
        preflow.max_flow(problem, 0, 6, method="cuda-push-relabel")


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_no_vertex_is_taken_twice_where_warps_own_few(lanes: int) -> None:
    """A warp looks for as many vertices at once as it has groups, be they more than it owns."""
    first, second = np.arange(1, 9), np.arange(9, 17)
    tail = np.concatenate([np.zeros(8, int), first, first, second])
    head = np.concatenate([first, second, np.roll(second, 1), np.full(8, 17)])
    capacity = np.concatenate([np.full(8, 9), np.full(8, 4), np.full(8, 4), np.full(8, 7)])
    problem = (tail, head, capacity)
    expected = preflow.max_flow(problem, 0, 17).value
    for _ in range(5):
        result = preflow.max_flow(problem, 0, 17, method="cuda-push-relabel", options={"lanes": lanes})
        result.verify()
        assert result.value == expected


@pytest.mark.parametrize("options", [{}, {"lanes": 1, "few": 0}])
def test_hubs(options: dict[str, Any]) -> None:
    """Vertices of a degree that a warp discharges together and that searches list in pieces."""
    leaves, hubs = np.arange(3, 603), np.array([1, 2])
    tail = np.concatenate([[0, 0], np.repeat(hubs, 600), leaves])
    head = np.concatenate([hubs, np.tile(leaves, 2), np.roll(leaves, 7)])
    rng = np.random.default_rng(0)
    capacity = np.concatenate([[2000, 900], rng.integers(1, 9, 1200), rng.integers(1, 5, 600)])
    sinks = leaves[::2]
    tail, head = np.concatenate([tail, sinks]), np.concatenate([head, np.full(len(sinks), 603)])
    problem = (tail, head, np.concatenate([capacity, rng.integers(1, 9, len(sinks))]))
    for source, sink in ((0, 603), (603, 0)):
        result = preflow.max_flow(problem, source, sink, method="cuda-push-relabel", options=options)
        result.verify()
        assert result.value == preflow.max_flow(problem, source, sink, method="serial-hi-pr").value


@pytest.mark.parametrize(("degree", "lanes"), [(128, 8), (129, 8), (256, 32), (257, 32)])
def test_degrees_at_the_limits_of_hubs_and_of_pieces(degree: int, lanes: int) -> None:
    leaves = np.arange(2, degree + 2)
    tail, head = np.concatenate([np.ones(degree, int), leaves]), np.concatenate([leaves, 0 * leaves])
    problem = (tail, head, np.arange(2 * degree) % 7 + 1)
    options = {"lanes": lanes}
    result = preflow.max_flow((*problem,), 1, 0, method="cuda-push-relabel", options=options)
    result.verify()
    tail, head = np.append(tail, degree + 2), np.append(head, 1)  # as a vertex that is no terminal
    problem = (tail, head, np.append(problem[2], 10**6))
    within = preflow.max_flow(problem, degree + 2, 0, method="cuda-push-relabel", options=options)
    within.verify()
    assert (
        within.value == result.value == preflow.max_flow(problem, degree + 2, 0, method="serial-hi-pr").value
    )


def test_an_interrupted_solve_leaves_capacities_as_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
    device: Any = CpuDevice()
    net = to_device(device, residual.arrays)
    sums = net.arcs[:, 1] + net.arcs[net.arcs.view(np.uint32)[:, 1], 1]
    launch, launches = device.launch, []

    def interrupted(path: Path, kernel: str, *arguments: Any, **options: Any) -> None:
        launches.append(kernel)
        launch(path, kernel, *arguments, **options)
        if kernel == "push_relabel_slice":
            raise KeyboardInterrupt

    monkeypatch.setattr(device, "launch", interrupted)
    monkeypatch.setattr(cuda_push_relabel, "ROUNDS_A_LAUNCH", 3)
    with pytest.raises(KeyboardInterrupt):
        cuda_push_relabel.first_stage(device, net, cuda_push_relabel.PushRelabelOptions(), Control())
    assert launches == [
        "survey",
        "pair_capacities",
        "shared_memory",
        "push_relabel_slice",
        "part_capacities",
    ]
    assert (net.arcs[:, 1] >= 0).all()
    assert (net.arcs[:, 1] + net.arcs[net.arcs.view(np.uint32)[:, 1], 1] == sums).all()


@pytest.mark.parametrize("capacity", [2**30 - 1, 2**30, 2**40])
def test_capacities_that_fit_a_word_in_pairs_and_others(capacity: int) -> None:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 9, (2, 40))
    problem = (ends[0], ends[1], rng.choice([1, capacity // 3, capacity - 1, capacity], 40))
    result = preflow.max_flow(problem, 0, 8, method="cuda-push-relabel")
    result.verify()
    assert result.value == preflow.max_flow(problem, 0, 8, method="serial-hi-pr").value


@pytest.mark.parametrize(("time_factor", "fewest", "most"), [(1e7, 2, 2), (0.01, 5, 62)])
def test_phases_end_when_the_first_warp_has_nothing_to_do(time_factor: float, fewest: int, most: int) -> None:
    """A path, along which two warps take turns: with patience it takes one phase."""
    vertices = np.arange(62)
    problem = (vertices, vertices + 1, np.full(62, 3))
    options = {"wave_width": 0, "keeps": False, "step_factor": 10.0, "time_factor": time_factor}
    result = preflow.max_flow(problem, 0, 62, method="cuda-push-relabel", options=options)
    result.verify()
    assert fewest <= result.stats.global_relabels <= most


@pytest.mark.parametrize(("size", "are_paired"), [("10", True), ("40", False)])
def test_dense_networks_have_no_pairs(size: str, are_paired: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = []

    class Recording(CpuDevice):
        def launch(self, path: Path, kernel: str, *arguments: Any, **options: Any) -> None:
            kernels.append(kernel)
            super().launch(path, kernel, *arguments, **options)

    monkeypatch.setattr(runtime, "find_device", Recording)
    problem = FAMILIES["ac-dense"].generate(size, seed=1, max_capacity=1000)
    preflow.max_flow(problem.network, problem.source, problem.sink, method="cuda-push-relabel").verify()
    assert ("pair_capacities" in kernels) == ("part_capacities" in kernels) == are_paired


@pytest.mark.fast
@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("search_share", 1.0, "search_share must be a number of 0 to 0.99"),
        ("rest_share", 1.01, "rest_share must be a number of 0.01 to 1"),
        ("time_factor", 0, "time_factor"),
        ("idle_factor", 0, "idle_factor"),
        ("wave_width", -1, "wave_width"),
    ],
)
def test_bad_options(option: str, given: float, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.max_flow(([0], [1], [1]), 0, 1, method="cuda-push-relabel", options={option: given})


def test_a_vertex_with_two_owners_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel does that: the device says so."""

    class Faulty(CpuDevice):
        def launch(
            self, path: Path, kernel: str, blocks: int, threads: int, arguments: Any, **rest: Any
        ) -> None:
            super().launch(path, kernel, blocks, threads, arguments, **rest)
            if kernel == "push_relabel_slice":
                arguments.counts[3] = 1

    monkeypatch.setattr(runtime, "find_device", Faulty)
    with pytest.raises(SolverError, match="pushed more than there was"):
        preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method="cuda-push-relabel")


def test_too_many_searches_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_push_relabel, "MOST_SEARCHES", 0)
    monkeypatch.setattr(cuda_push_relabel, "ROUNDS_A_LAUNCH", 1)
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    with pytest.raises(SolverError, match=r"gave up after 0 searches: PushRelabelState\("):
        preflow.max_flow(problem, method="cuda-push-relabel")


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize(("method", "options"), variants())
def test_sanitizers_have_nothing_to_report(
    method: str, options: dict[str, Any], sanitizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    problem = FAMILIES["rmf-wide"].generate("3x2", seed=1)
    preflow.max_flow(problem, method=method, options=options).verify()


def solve_copied(method: Method, net: ResidualArrays, control: Control) -> NDArray[Any]:
    """Solve a network in host memory, in place, by any method of a GPU; return the heights."""
    if method.memory == "host":
        return method.solve(net, method.make_options(None), control)  # type: ignore[no-any-return]
    device = runtime.find_device()
    on_device = to_device(device, net)
    height = method.solve(on_device, method.make_options(None), control)
    from_device(device, on_device, net)
    return device.to_host(height)


@pytest.mark.parametrize("method", CUDA)
def test_progress_ends_with_nothing_left(method: str) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
    total = float(residual.arrays.excess.sum())
    control = Control()
    solve_copied(find_method(METHODS, method), residual.arrays, control)
    assert control.progress.tolist() == [0.0, total]


@pytest.mark.parametrize("method", CUDA)
def test_stop_flag_raised_before_the_start(method: str) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
    control = Control()
    control.stop[0] = 1
    height = solve_copied(find_method(METHODS, method), residual.arrays, control)
    assert height.min() == 1
    assert (residual.arrays.excess >= 0).all()


@pytest.mark.fast
@pytest.mark.parametrize("method", CUDA)
def test_a_network_that_does_not_fit_is_refused(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(free_bytes=100)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    with pytest.raises(DeviceMemoryError, match=r"arcs and .* vertices take .* bytes .* has 100 free"):
        preflow.max_flow(problem, method=method)


def test_cuda_is_the_device_that_was_asked_for() -> None:
    result = preflow.max_flow(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3, device="cuda")
    assert result.stats.method == "cuda-push-relabel"
    assert result.value == 4


class TestAuto:
    """Whether method="auto" takes the GPU for arrays on the host."""

    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)

    @pytest.fixture(autouse=True)
    def small_is_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(policy, "ARCS_FOR_GPU", 1)
        monkeypatch.setattr(small, "FEW_ARCS", 0)
        monkeypatch.setattr(runtime, "is_in_use", lambda: True)

    def device_taken(self, **arguments: Any) -> str:
        return preflow.min_cut(self.problem, **arguments).stats.device

    def test_enough_arcs(self) -> None:
        result = preflow.min_cut(self.problem)
        assert result.stats.method == "cuda-push-relabel"
        assert "arcs are enough work for the GPU" in result.stats.reason

    @pytest.mark.fast
    @pytest.mark.parametrize("arguments", [{"device": "cpu"}, {"threads": 1}, {"method": "serial-fifo"}])
    def test_the_caller_wants_the_cpu(self, arguments: dict[str, Any]) -> None:
        assert self.device_taken(**arguments) == "cpu"

    @pytest.mark.fast
    def test_too_few_arcs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(policy, "ARCS_FOR_GPU", self.problem.network.num_arcs + 1)
        assert self.device_taken() == "cpu"

    def test_first_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(runtime, "is_in_use", lambda: False)
        assert self.device_taken() == "cpu"
        monkeypatch.setattr(policy, "ARCS_A_THREAD_FOR_FIRST_USE", 0)
        assert self.device_taken() == "cuda"

    @pytest.mark.fast
    def test_no_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def find_device() -> runtime.Device:
            raise DeviceUnavailableError("none")

        monkeypatch.setattr(runtime, "find_device", find_device)
        assert self.device_taken() == "cpu"

    @pytest.mark.fast
    def test_too_little_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        device = CpuDevice(free_bytes=100)
        monkeypatch.setattr(runtime, "find_device", lambda: device)
        assert self.device_taken() == "cpu"


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("method", CUDA)
def test_thousand_random_networks_on_a_gpu(method: str) -> None:
    rng = np.random.default_rng(0)
    for k in range(1000):
        n, m = int(rng.integers(2, 60)), int(rng.integers(1, 300))
        ends_and_capacity = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 50, m)
        network = preflow.FlowNetwork.from_arrays(*ends_and_capacity, num_vertices=n)
        options = VARIANTS[method][k % len(VARIANTS[method])]
        result = preflow.max_flow(network, 0, n - 1, method=method, options=options)
        result.verify()
        assert result.value == preflow.max_flow(network, 0, n - 1, method="serial-hi-pr").value


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("method", CUDA)
@pytest.mark.parametrize(("path", "optimum"), reference_instances())
def test_reference_instances_on_a_gpu(method: str, path: Path, optimum: int) -> None:
    result = preflow.max_flow(preflow.read_dimacs(path), method=method)
    result.verify()
    assert result.value == optimum


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("method", CUDA)
def test_same_answer_a_hundred_times(method: str) -> None:
    problem = FAMILIES["rlg-wide"].generate("64x16", seed=0)
    first = preflow.min_cut(problem, method=method)
    for _ in range(100):
        again = preflow.min_cut(problem, method=method)
        assert again.value == first.value
        assert np.array_equal(again.sink_side, first.sink_side)
