"""Lock-free push-relabel on a GPU, with the global relabel on either side, on CPU threads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow.cuda import launches, runtime
from preflow.errors import InvalidInputError, SolverError
from preflow.generators import FAMILIES
from preflow.graph.device.residual import to_device
from preflow.graph.residual import ResidualArrays, ResidualNetwork, build_residual
from preflow.maxflow.problem import METHODS
from preflow.network import distances_to_sink
from preflow.papers.wu_he_hong import cuda_lockfree
from preflow.papers.wu_he_hong.cuda_hybrid import cancel_steep_arcs
from preflow.papers.wu_he_hong.cuda_lockfree import (
    Count,
    Outcome,
    SearchArguments,
    StepArguments,
    launch_search,
    launch_steps,
    make_steps,
)
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice

#: Where the global relabel is: on the CPU, on the GPU, on the GPU beside the pushes.
MODES = [
    pytest.param("cuda-hybrid", {}, id="hybrid"),
    pytest.param("cuda-hybrid", {"gap": False}, id="hybrid-without-gap"),
    pytest.param("cuda-lockfree", {}, id="device"),
    pytest.param("cuda-lockfree", {"relabel": "concurrent"}, id="concurrent"),
    pytest.param("cuda-locks", {}, id="locks"),
    pytest.param("cuda-locks", {"tries": 1000}, id="spinning-locks"),
]


class RecordingDevice(CpuDevice):
    """Remembers how much came back to the host, and calls `after_launch` with each kernel's arguments."""

    def __init__(self, *shape: int) -> None:
        super().__init__(*shape)
        self.sizes: list[int] = []
        self.after_launch: Any = lambda kernel, arguments: None

    def to_host(self, array: NDArray[Any]) -> NDArray[Any]:
        self.sizes.append(array.size)
        return super().to_host(array)

    def launch(
        self, path: Any, kernel: str, blocks: int, threads: int, arguments: Any, **options: Any
    ) -> None:
        super().launch(path, kernel, blocks, threads, arguments, **options)
        self.after_launch(kernel, arguments)


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> RecordingDevice:
    device = RecordingDevice()
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    return device


def residual_of(family: str, size: str) -> ResidualNetwork:
    problem = FAMILIES[family].generate(size, seed=1)
    return build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))


def exact_heights(net: ResidualArrays) -> NDArray[Any]:
    n, zero = len(net.excess), np.uint64(0)
    height, order = np.full(n, n + 1, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    distances_to_sink(net, height, order, zero, zero, zero, False)
    return height


@pytest.mark.fast
@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("cuda-hybrid", {"cycles": 0}, "cycles"),
        ("cuda-hybrid", {"cycles": 1.5}, "cycles"),
        ("cuda-hybrid", {"cancel_steep_arcs": 1}, "cancel_steep_arcs"),
        ("cuda-hybrid", {"gap": None}, "gap"),
        ("cuda-hybrid", {"relabel": "device"}, "no option 'relabel'"),
        ("cuda-lockfree", {"cycles": -1}, "cycles"),
        ("cuda-lockfree", {"relabel": "host"}, "device, concurrent"),
        ("cuda-locks", {"tries": 0}, "tries"),
    ],
)
def test_impossible_options_are_refused(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find_method(METHODS, method).make_options(options)


@pytest.mark.parametrize(("family", "size"), [("rmf-wide", "4x3"), ("rlg-wide", "8x6")])
def test_without_gap_vertices_that_a_search_misses_keep_their_heights(
    family: str, size: str, device: RecordingDevice
) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    value = preflow.max_flow(problem, method="serial-generic").value
    dead = {True: 0, False: 0}
    for gap, cycles in product(dead, (1, 2, 50)):

        def count(_: str, steps: StepArguments, gap: bool = gap) -> None:
            dead[gap] += int((steps.height > len(steps.height)).sum())

        device.after_launch = count
        options = {"cycles": cycles, "gap": gap}
        result = preflow.max_flow(problem, method="cuda-hybrid", options=options)
        result.verify()
        assert result.value == value
    assert dead[False] < dead[True]


@pytest.mark.parametrize("method", ["cuda-hybrid", "cuda-lockfree"])
@pytest.mark.parametrize(("family", "size"), [("rmf-wide", "4x3"), ("rlg-wide", "8x6"), ("ac-dense", "12")])
def test_one_step_after_an_exact_search_never_relabels(method: str, family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=1)
    result = preflow.max_flow(problem, method=method, options={"cycles": 1})
    result.verify()
    assert result.value == preflow.max_flow(problem, method="serial-generic").value
    assert result.stats.relabels == 0
    assert result.stats.pushes > 0
    assert result.stats.global_relabels > 2


@pytest.mark.parametrize(("method", "options"), MODES)
def test_fewer_threads_than_vertices(
    method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice(1, 32)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    problem = FAMILIES["rmf-wide"].generate("6x4", seed=1)
    result = preflow.max_flow(problem, method=method, options={**options, "cycles": 20})
    result.verify()
    assert result.value == preflow.max_flow(problem, method="serial-generic").value


def stop_after(launches: int, control: Control) -> Callable[[str, Any], None]:
    """Return a launch hook that raises the stop flag after `launches` launches that took steps."""
    launched: list[str] = []

    def after_launch(kernel: str, _: Any) -> None:
        launched.append(kernel)
        control.stop[0] = sum(name.startswith("take_") for name in launched) >= launches
        assert sum(name.startswith("take_") for name in launched) <= launches

    return after_launch


@pytest.mark.parametrize(("method", "options"), MODES)
def test_heights_are_exact_also_when_stopped_halfway(
    method: str, options: dict[str, Any], device: RecordingDevice
) -> None:
    record = find_method(METHODS, method)
    for most in (1, 3, 100_000):
        net = residual_of("rmf-wide", "4x3").arrays
        control = Control()
        device.after_launch = stop_after(most, control)
        height = record.solve(net, record.make_options({**options, "cycles": 2}), control)
        assert (net.excess >= 0).all()
        np.testing.assert_array_equal(height, exact_heights(net))
        assert (net.excess[height <= len(height)].sum() == 0) == (not control.stopped)


def test_only_a_few_words_come_back_while_the_gpu_relabels(device: RecordingDevice) -> None:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    result = preflow.max_flow(problem, method="cuda-lockfree", options={"cycles": 3})
    assert result.stats.global_relabels > 2
    assert max(device.sizes[:-4]) <= cuda_lockfree.COUNTS


@pytest.mark.parametrize(("method", "options"), MODES)
def test_too_many_global_relabels_are_an_error(
    method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launches, "MOST_SEARCHES", 2)
    with pytest.raises(SolverError, match=f"{method} gave up after 2 global relabels"):
        preflow.max_flow(
            FAMILIES["rmf-wide"].generate("4x3", seed=1), method=method, options={**options, "cycles": 1}
        )


@pytest.mark.parametrize(("method", "options"), MODES)
def test_no_inner_vertices(method: str, options: dict[str, Any]) -> None:
    assert preflow.max_flow(([0], [1], [7]), 0, 1, method=method, options=options).value == 7


@pytest.mark.parametrize(("method", "options"), MODES)
def test_stranded_excess_is_left(method: str, options: dict[str, Any]) -> None:
    tail, head, capacity = [0, 0, 1, 2, 3], [1, 2, 3, 4, 1], [9, 5, 4, 3, 4]
    result = preflow.max_flow((tail, head, capacity), 0, 4, method=method, options=options)
    result.verify()
    assert (result.value, result.sink_side.tolist()) == (3, [False, False, False, False, True])


def path_of_four() -> ResidualArrays:
    """Vertices 0-1-2-3 in a line, both ways, of which 3 is next to the sink."""
    arcs = [(0, 1, 5), (1, 0, 6), (1, 2, 4), (2, 1, 6), (2, 3, 9), (3, 2, 0)]
    first_out = [0, 1, 3, 5, 6]
    return ResidualArrays(
        np.array(first_out, np.uint32),
        np.array([head for _, head, _ in arcs], np.uint32),
        np.array([1, 0, 3, 2, 5, 4], np.uint32),
        np.array([residual for *_, residual in arcs], np.int32),
        np.array([7, 3, 0, 0], np.int64),
        np.array([0, 0, 0, 8], np.int64),
    )


@pytest.mark.fast
def test_steep_arcs_are_cancelled_by_no_more_than_the_excess() -> None:
    net = path_of_four()
    pushes = cancel_steep_arcs(net, np.array([5, 2, 3, 1], np.uint32))
    assert pushes == 1
    assert net.excess.tolist() == [2, 8, 0, 0]
    assert net.residual.tolist() == [0, 11, 4, 6, 9, 0]
    pushes = cancel_steep_arcs(net, np.array([1, 5, 3, 1], np.uint32))
    assert pushes == 1
    assert net.excess.tolist() == [10, 0, 0, 0]
    assert net.residual.tolist() == [8, 3, 4, 6, 9, 0]


def test_what_cancelling_changed_goes_to_the_gpu(device: RecordingDevice) -> None:
    heights = []

    def lift_active_vertices(_: str, steps: StepArguments) -> None:
        if not heights:
            active = (steps.net.excess > 0) & (steps.height <= len(steps.height))
            steps.height[active] = len(steps.height) + 1
        heights.append(steps.height.copy())

    device.after_launch = lift_active_vertices
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    options = {"cycles": 2, "cancel_steep_arcs": True}
    result = preflow.max_flow(problem, method="cuda-hybrid", options=options)
    result.verify()
    assert len(heights) > 1
    number, *words = result.stats.reason.split("; ")[-1].split()
    assert words == ["pushes", "along", "steep", "arcs"]
    assert 0 < int(number) <= result.stats.pushes


def test_pushes_beside_concurrent_searches() -> None:
    pushes = 0
    for seed in range(3):
        problem = FAMILIES["rmf-wide"].generate("5x4", seed=seed)
        options = {"relabel": "concurrent", "cycles": 500}
        result = preflow.max_flow(problem, method="cuda-lockfree", options=options)
        result.verify()
        remark = result.stats.reason.split("; ")[-1]
        assert remark.endswith(" concurrent searches")
        beside = int(remark.split()[0].replace(",", ""))
        assert beside <= result.stats.pushes
        pushes += beside
    assert pushes > 0


def on_device(
    device: CpuDevice, net: ResidualArrays, heights: list[int]
) -> tuple[StepArguments, SearchArguments]:
    steps = make_steps(device, to_device(device, net), 1, Control())
    steps.height[:] = heights
    n = len(heights)
    search = SearchArguments(
        net=steps.net,
        height=steps.height,
        distance=np.empty(n, np.uint32),
        order=np.empty(n, np.uint64),
        counters=np.zeros(cuda_lockfree.COUNTER_WORDS, np.uint64),
        searching=steps.searching,
        outcome=np.zeros(len(Outcome), np.uint64),
    )
    return steps, search


def test_search_beside_raises_labels_only(device: CpuDevice) -> None:
    net = path_of_four()
    net.residual[0] = 0
    steps, search = on_device(device, net, [3, 1, 5, 2])
    launch_search(device, search, "search_beside", 1)
    assert steps.height.tolist() == [5, 3, 5, 2]
    assert search.distance.tolist() == [2**32 - 1, 3, 2, 1]
    assert search.outcome[Outcome.REVIVED] == 1
    assert steps.searching == 0


def test_search_at_rest_makes_labels_exact(device: CpuDevice) -> None:
    net = path_of_four()
    net.residual[0] = 0
    steps, search = on_device(device, net, [3, 1, 5, 2])
    launch_search(device, search._replace(distance=steps.height), "search_at_rest", 2)
    assert steps.height.tolist() == [5, 3, 2, 1]
    assert search.outcome[Outcome.ACTIVE_EXCESS] == 3


@pytest.mark.parametrize("searching", [0, 1])
def test_a_step_is_one_push_or_one_relabel(device: CpuDevice, searching: int) -> None:
    net = path_of_four()
    net.excess[:] = [0, 6, 0, 9]
    steps, _ = on_device(device, net, [1, 3, 2, 1])
    steps.searching[0] = searching
    launch_steps(device, steps, 1)
    assert steps.net.excess.tolist() == [6, 0, 0, 1]
    assert steps.net.sink_residual.tolist() == [0, 0, 0, 0]
    assert steps.net.arcs[:, 1].tolist() == [11, 0, 4, 6, 9, 0]
    assert steps.counts[Count.PUSHES] == 2
    assert steps.counts[Count.PUSHES_BESIDE_SEARCH] == 2 * searching
    assert steps.counts[Count.ACTIVE] in (2, 3)  # vertex 0 may have risen already
    steps.net.excess[0] = 0
    launch_steps(device, steps, 1)
    assert steps.height.tolist()[1:] == [3, 2, 5]
    assert steps.counts[Count.ACTIVE] == steps.counts[Count.RELABELS] == 1


def test_no_push_is_steep_and_locks_are_given_back(device: RecordingDevice) -> None:
    launched = 0

    def check(kernel: str, steps: Any) -> None:
        nonlocal launched
        if kernel != "take_locked_steps":
            return
        launched += 1
        assert not steps.locks.any()
        arcs, height = steps.net.arcs, steps.height.astype(np.int64)
        tail = np.repeat(np.arange(len(height)), np.diff(steps.net.first_out.astype(np.int64)))
        head = (arcs[:, 0] & 0xFFFFFFFF).astype(np.int64)
        alive = (arcs[:, 1] > 0) & (height[tail] <= len(height))
        assert (height[tail] <= height[head] + 1)[alive].all()

    device.after_launch = check
    for seed in range(5):
        problem = FAMILIES["rmf-wide"].generate("5x4", seed=seed)
        preflow.max_flow(problem, method="cuda-locks", options={"cycles": 7}).verify()
    assert launched > 5
