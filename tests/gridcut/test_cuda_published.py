"""The published grid solvers of a GPU, lock-free and in phases, on CPU threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.certify.grid import check_grid_flow
from preflow.cuda import launches, runtime
from preflow.cuda.runtime import WATCH_WORDS
from preflow.errors import InvalidInputError, NotOptimalError, SolverError
from preflow.graph.grid import GridNetwork
from preflow.graph.integer_grid import integer_grid
from preflow.gridcut import direction_major
from preflow.gridcut.cuda_lockfree import COUNTS, StepArguments, take_steps
from preflow.gridcut.direction_major import SearchArguments, make_search, make_state, search_at_rest
from preflow.gridcut.problem import METHODS
from preflow.gridcut.solution import GridSolution
from preflow.papers.baselines import cuda_blocking
from preflow.papers.baselines.cuda_blocking import (
    Arguments,
    BlockingOptions,
    Count,
    make_tiling,
    push_and_relabel,
)
from preflow.papers.lupinska.cuda_hybrid import UNREACHED, HostGrid, cancel_steep_arcs, exact_heights
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from preflow.stats import ARC_SCANS, PUSHES, RELABELS
from tests.gridcut.test_cuda_tiled import random_grid
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer

#: Few pixels a block and rounds a launch: several blocks of pixels, and not many barriers of CPU threads.
SMALL = {"rounds": 12, "block_width": 4, "block_height": 2}
#: What differs in what kernels do.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("cuda-lockfree", {}),
    ("cuda-lockfree", {"cycles": 2}),
    ("cuda-hybrid", {"cycles": 3}),
    ("cuda-hybrid", {"cycles": 2, "gap": False}),
    ("cuda-blocking", SMALL),
    ("cuda-blocking", {**SMALL, "atomic": False, "pushes": 2}),
    ("cuda-blocking", {**SMALL, "relabel": "lockstep", "pushes": 3}),
    ("cuda-blocking", {**SMALL, "relabel": "lockstep", "atomic": False}),
]
METHOD_NAMES = ["cuda-lockfree", "cuda-hybrid", "cuda-blocking"]

variants = pytest.mark.parametrize(
    ("method", "options"),
    [pytest.param(*variant, id=f"{variant[0]}-{k}") for k, variant in enumerate(VARIANTS)],
)


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> CpuDevice:
    device = CpuDevice(1, 32)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    return device


def check(
    network: GridNetwork, method: str, options: dict[str, Any], oracle: str = "serial-generic"
) -> preflow.GridCutResult:
    """Solve a grid, prove the result, and compare it with a general solver's."""
    result = preflow.grid_cut(network, method=method, options=options)
    result.verify()
    expected = preflow.min_cut(network.to_flow_problem(), method=oracle)
    assert result.value == expected.value
    sink_side = np.asarray(expected.sink_side)[: network.size].reshape(network.shape)
    np.testing.assert_array_equal(result.labels, ~sink_side)
    return result


def solve(
    device: CpuDevice,
    network: GridNetwork,
    method: str,
    options: dict[str, Any],
    control: Control | None = None,
) -> GridSolution:
    record = find_method(METHODS, method)
    grid = integer_grid(network)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "find_device", lambda: device)
        found: GridSolution = record.solve(
            grid, None, record.make_options(options), Control() if control is None else control
        )
    check_grid_flow(grid, found.residual, found.terminal)
    return found


@pytest.mark.fast
@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("cuda-lockfree", {"cycles": 0}, "cycles"),
        ("cuda-lockfree", {"relabel": "device"}, "no option 'relabel'"),
        ("cuda-hybrid", {"cycles": 1.5}, "cycles"),
        ("cuda-hybrid", {"gap": None}, "gap"),
        ("cuda-hybrid", {"upload": 1}, "upload"),
        ("cuda-hybrid", {"stopping": "never"}, "exact, published"),
        ("cuda-hybrid", {"patience": 0}, "patience"),
        ("cuda-hybrid", {"rounds": -1}, "rounds"),
        ("cuda-blocking", {"atomic": 1}, "atomic"),
        ("cuda-blocking", {"pushes": 0}, "pushes"),
        ("cuda-blocking", {"patience": 1.5}, "patience"),
        ("cuda-blocking", {"relabel": "global"}, "local, lockstep"),
        ("cuda-blocking", {"stopping": "never"}, "exact, published"),
        ("cuda-blocking", {"block_width": 64, "block_height": 32}, "1024 at most"),
    ],
)
def test_impossible_options_are_refused(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find_method(METHODS, method).make_options(options)


@settings(max_examples=25)
@given(st.data())
def test_same_cut_as_the_general_solver(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 7)))
    neighbourhood = data.draw(st.sampled_from([4, [(0, 1), (1, -2)], [(1, 2), (2, 1)]]))
    method, options = data.draw(st.sampled_from(VARIANTS))
    seed, symmetric = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.booleans())
    network = random_grid(shape, neighbourhood, seed, symmetric=symmetric)
    with pytest.MonkeyPatch.context() as patch:
        device = CpuDevice(1, 32)
        patch.setattr(runtime, "find_device", lambda: device)
        check(network, method, options)


@pytest.mark.parametrize(
    ("method", "shape", "connectivity"),
    [
        ("cuda-blocking", (4, 6), 8),
        ("cuda-lockfree", (3, 4, 3), 6),
        ("cuda-hybrid", (3, 4, 3), 6),
        ("cuda-hybrid", (2, 3, 3), 26),
        ("cuda-blocking", (3, 4, 3), 6),
        ("cuda-lockfree", (2, 3, 3), 26),
        ("cuda-lockfree", (7,), [(1,), (3,)]),
        ("cuda-blocking", (7,), [(1,), (3,)]),
    ],
)
def test_neighbourhoods(method: str, shape: tuple[int, ...], connectivity: Any) -> None:
    options = SMALL if method == "cuda-blocking" else {}
    check(random_grid(shape, connectivity, 1), method, options)


@pytest.mark.parametrize(
    ("method", "neighbors"),
    [("cuda-lockfree", 2**20), ("cuda-hybrid", 2**20), ("cuda-hybrid", 2**40), ("cuda-blocking", 2**40)],
)
def test_wide_capacities(method: str, neighbors: int) -> None:
    """Excess that needs 64 bits, and arcs that do or do not."""
    rng = np.random.default_rng(2)
    shape = (4, 5)
    terminals = rng.integers(0, 2**42, (2, *shape)) * (rng.random((2, *shape)) < 0.3)
    network = GridNetwork.from_arrays(*terminals, rng.integers(0, neighbors, (4, *shape)), connectivity=4)
    check(network, method, SMALL if method == "cuda-blocking" else {})


@variants
def test_one_pixel(method: str, options: dict[str, Any]) -> None:
    for source, sink in ((7, 3), (3, 7), (0, 0)):
        check(GridNetwork.from_arrays([[source]], [[sink]], 0), method, options)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_several_blocks_of_threads(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(2, 32))
    options = {**SMALL, "relabel": "lockstep"} if method == "cuda-blocking" else {}
    check(random_grid((6, 9), 4, 3), method, options)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_warm_start(method: str) -> None:
    rng = np.random.default_rng(4)
    options = SMALL if method == "cuda-blocking" else {}
    network = random_grid((5, 6), 4, rng)
    first = check(network, method, options)
    again = preflow.grid_cut(network, method=method, options=options, warm_start=first)
    again.verify()
    assert again.stats.pushes == 0
    np.testing.assert_array_equal(again.labels, first.labels)
    changed = network.neighbor_capacity // 2
    other = GridNetwork.from_arrays(network.sink_capacity, network.source_capacity, changed, connectivity=4)
    warm = preflow.grid_cut(other, method=method, options=options, warm_start=first)
    warm.verify()
    cold = preflow.grid_cut(other, method=method, options=options)
    assert warm.value == cold.value
    np.testing.assert_array_equal(warm.labels, cold.labels)


def test_the_published_rule_can_be_stopped(device: CpuDevice) -> None:
    control = Control()
    control.stop[0] = 1
    found = solve(device, plateau(), "cuda-blocking", {"stopping": "published"}, control)
    assert not found.finished
    assert control.counts[PUSHES] == 0


@variants
def test_stopped_before_it_starts(method: str, options: dict[str, Any], device: CpuDevice) -> None:
    network = random_grid((4, 6), 4, 5)
    control = Control()
    control.stop[0] = 1
    found = solve(device, network, method, options, control)
    assert not found.finished
    assert control.counts[PUSHES] == 0
    assert found.sink_side[found.terminal < 0].all()


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_too_many_global_relabels_are_an_error(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "MOST_SEARCHES", 1)
    options = {**SMALL, "rounds": 1} if method == "cuda-blocking" else {"cycles": 1}
    with pytest.raises(SolverError, match=f"{method} gave up after 1 global relabels"):
        preflow.grid_cut(random_grid((4, 6), 4, 6), method=method, options=options)


def test_too_many_rounds_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_blocking, "MOST_ROUNDS", 2)
    options = {**SMALL, "rounds": 1, "stopping": "published", "patience": 9}
    with pytest.raises(SolverError, match="gave up after 2 rounds"):
        preflow.grid_cut(random_grid((4, 6), 4, 6), method="cuda-blocking", options=options)


def test_what_blocks_of_pixels_cannot_be(device: CpuDevice) -> None:
    far = GridNetwork.from_arrays(np.ones((9, 9)), 1, 1, connectivity=[(0, 1), (200, 200)])
    with pytest.raises(InvalidInputError, match=r"as far as \(0, 200, 200\) .* take cuda-lockfree"):
        solve(device, far, "cuda-blocking", {})
    check(far, "cuda-lockfree", {})
    four_axes = GridNetwork.from_arrays(
        np.ones((1, 2, 1, 2), int), 0, 1, connectivity=[(0, 1, 0, 0), (0, 0, 0, 1)]
    )
    with pytest.raises(InvalidInputError, match="got 4 axes: take cuda-lockfree"):
        solve(device, four_axes, "cuda-blocking", {})


@pytest.mark.fast
def test_too_many_pixels(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direction_major, "MOST_PIXELS", 3)
    network = GridNetwork.from_arrays([[1, 1]] * 2, 0, 1)
    for method in METHOD_NAMES:
        with pytest.raises(InvalidInputError, match="at most 3 pixels, got 4"):
            solve(device, network, method, {})


def row(terminal: list[int], capacity: list[int]) -> GridNetwork:
    """Return pixels in a row, with the capacities between each and the next, both ways."""
    values = np.array([terminal])
    neighbor = np.array([[[*capacity, 0]], np.zeros_like(values)])
    return GridNetwork.from_arrays(values.clip(0), (-values).clip(0), neighbor, connectivity=4)


def search_of(device: CpuDevice, network: GridNetwork, heights: list[int]) -> SearchArguments:
    search = make_search(device, make_state(device, integer_grid(network), None))
    search.height[:] = heights
    return search


def test_search_makes_heights_exact(device: CpuDevice) -> None:
    search = search_of(device, row([5, 0, 2, 0, -3, 0, 4], [1, 1, 0, 3, 0, 2]), [9] * 7)
    assert search_at_rest(device, search, Control(), "cuda-lockfree") == 0
    assert search.height.tolist() == [8, 8, 8, 2, 1, 8, 8]
    search = search_of(device, row([5, 0, 2, 0, -3, 0, 4], [1, 1, 1, 3, 1, 2]), [9] * 7)
    assert search_at_rest(device, search, Control(), "cuda-lockfree") == 11
    assert search.height.tolist() == [5, 4, 3, 2, 1, 2, 3]


def test_a_step_is_one_push_or_one_relabel(device: CpuDevice) -> None:
    search = search_of(device, row([0, 5, -8, 9, 0, -4], [3, 4, 0, 2, 7]), [9, 3, 1, 1, 7, 1])
    control, counts, watch = Control(), np.zeros(COUNTS, np.uint64), np.zeros(WATCH_WORDS, np.uint64)
    take_steps(
        device,
        StepArguments(
            grid=search.grid, height=search.height, counts=counts, cycles=1, stop=control.stop, watch=watch
        ),
        control,
    )
    assert search.grid.terminal.tolist() == [0, 1, -4, 9, 0, -4]
    assert search.grid.residual[:2, :4].tolist() == [[3, 0, 0, 2], [0, 3, 8, 0]]
    assert search.height.tolist() == [9, 3, 1, 7, 7, 1]  # nothing is below n = 6: dead
    assert control.counts[[PUSHES, RELABELS, ARC_SCANS]].tolist() == [1, 1, 8]


def rounds(
    device: CpuDevice, network: GridNetwork, heights: list[int], **options: Any
) -> tuple[Arguments, Control]:
    """Return the state after one round, and what was counted."""
    validated, control = BlockingOptions(**options), Control()
    search = search_of(device, network, heights)
    tiling, shared_bytes = make_tiling(device, integer_grid(network), validated)
    arguments = Arguments(
        grid=search.grid,
        tiling=tiling,
        height=search.height,
        mask=np.full(len(heights), 9, np.uint8),
        pushed=np.zeros_like(search.grid.residual),
        counters=np.zeros(cuda_blocking.COUNTER_WORDS, np.uint32),
        counts=np.zeros(cuda_blocking.COUNTS, np.uint64),
        atomic=validated.atomic,
        lockstep=validated.relabel == "lockstep",
        pushes=validated.pushes,
        most_rounds=1,
        most_levels=9,
        patience=9,
        stop=control.stop,
    )
    assert push_and_relabel(device, arguments, shared_bytes, control)[Count.ROUNDS] == 1
    return arguments, control


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("width", [1, 3, 32])
def test_masks_and_phases(device: CpuDevice, width: int, atomic: bool) -> None:
    network = row([6, 0, 0, 5, 5, 0, 3], [4, 4, 4, 1, 2, 0])
    after, control = rounds(device, network, [3, 2, 3, 4, 4, 6, 1], atomic=atomic, block_width=width)
    assert after.mask.tolist() == [1, 2, 2, 1, 0, 2, 0]
    assert after.height.tolist() == [3, 2, 3, 4, 5, 6, 8]
    assert after.grid.terminal.tolist() == [2, 4, 4, 1, 5, 0, 3]
    assert after.grid.residual[0, :6].tolist() == [0, 4, 8, 1, 2, 0]
    assert after.grid.residual[1, 1:].tolist() == [8, 4, 0, 1, 2, 0]
    assert not after.pushed.any()
    assert control.counts[[PUSHES, RELABELS, ARC_SCANS]].tolist() == [2, 2, 16]


@pytest.mark.parametrize("atomic", [True, False])
def test_flow_goes_on_after_a_lockstep_search(device: CpuDevice, atomic: bool) -> None:
    network = row([6, 0, 0, -5, 0, 3], [4, 4, 4, 0, 2])
    after, control = rounds(device, network, [9] * 6, atomic=atomic, relabel="lockstep", pushes=3)
    assert after.mask.tolist() == [1, 1, 1, 1, 2, 0]
    assert after.height.tolist() == [4, 3, 2, 1, 7, 7]
    assert after.grid.terminal.tolist() == [2, 0, 0, -1, 0, 3]
    assert control.counts[PUSHES] == 3


#: Found by search: 3 rounds go by without a push although excess can still reach the sink.
PLATEAU_TERMINAL = [[2, 0, 7, -8], [-1, -2, 2, 2], [2, 8, 1, 0]]
PLATEAU_RIGHT = [[5, 0, 0, 0], [2, 3, 0, 0], [2, 1, 6, 0]]
PLATEAU_LEFT = [[0, 3, 0, 0], [0, 0, 5, 3], [0, 5, 7, 0]]
PLATEAU_DOWN = [[7, 7, 1, 7], [0, 7, 0, 2], [0, 0, 0, 0]]
PLATEAU_UP = [[0, 0, 0, 0], [2, 4, 1, 6], [6, 0, 4, 3]]


def plateau() -> GridNetwork:
    terminal = np.array(PLATEAU_TERMINAL)
    neighbor = np.array([PLATEAU_RIGHT, PLATEAU_LEFT, PLATEAU_DOWN, PLATEAU_UP])
    return GridNetwork.from_arrays(terminal.clip(0), (-terminal).clip(0), neighbor, connectivity=4)


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("rounds", [2, 256])
def test_the_published_rule_stops_too_early(atomic: bool, rounds: int) -> None:
    """The result says so; with more patience, and by the exact rule, the same solver finds the optimum."""
    network = plateau()
    options = {"atomic": atomic, "rounds": rounds}
    result = preflow.grid_cut(network, method="cuda-blocking", options={**options, "stopping": "published"})
    result.verify()
    assert result.status == "unproved"
    assert "not proved optimal" in repr(result)
    assert "the published rule stopped while excess" in result.stats.reason
    with pytest.raises(NotOptimalError, match="proves nothing"):
        _ = result.value
    optimum = check(network, "cuda-blocking", options).value
    assert result.lower_bound < optimum <= result.upper_bound
    for right in ({"patience": 9}, {"relabel": "lockstep"}):
        by_rule = {**options, "stopping": "published", **right}
        assert check(network, "cuda-blocking", by_rule).value == optimum


SANITIZED = [VARIANTS[k] for k in (1, 2, 3, 5)]


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize(("method", "options"), SANITIZED)
def test_under_a_sanitizer(method: str, options: dict[str, Any], sanitizer: Sanitizer) -> None:
    device = CpuDevice(2, 32, sanitizer=sanitizer)
    network = random_grid((3, 6), 4, 7)
    control = Control()
    found = solve(
        device, network, method, {**options, **({"rounds": 6} if "rounds" in options else {})}, control
    )
    assert found.finished
    assert control.counts[PUSHES] > 0
    expected = preflow.min_cut(network.to_flow_problem(), method="serial-generic").sink_side
    np.testing.assert_array_equal(found.sink_side.ravel(), np.asarray(expected)[: network.size])


#: What a GPU, with its many threads, runs besides.
ON_A_GPU = [
    *VARIANTS,
    ("cuda-blocking", {}),
    ("cuda-blocking", {"atomic": False}),
    ("cuda-blocking", {"relabel": "lockstep", "pushes": 16}),
]
NEIGHBOURHOODS: dict[int, list[Any]] = {2: [4, 8, [(1, 2), (3, -1)]], 3: [6, 18, 26]}


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_random_grids_on_a_gpu(method: str, gpu: runtime.Device) -> None:
    rng = np.random.default_rng(0)
    options = [options for name, options in ON_A_GPU if name == method]
    for k in range(240):
        ndim = int(rng.integers(2, 4))
        shape = tuple(rng.integers(1, 41 if ndim == 2 else 6, ndim).tolist())
        neighbourhood = NEIGHBOURHOODS[ndim][int(rng.integers(3))]
        largest = 2**40 if neighbourhood == 4 and k % 4 == 0 else 9
        network = random_grid(shape, neighbourhood, rng, symmetric=k % 2 == 0, largest=largest)
        check(network, method, options[k % len(options)], "serial-hi-pr")


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_same_answer_many_times_on_a_gpu(method: str, gpu: runtime.Device) -> None:
    rng = np.random.default_rng(1)
    network = random_grid((200, 300), 8, rng, largest=100)
    first = check(network, method, {}, "serial-hi-pr")
    for _ in range(20):
        again = preflow.grid_cut(network, method=method)
        assert again.value == first.value
        np.testing.assert_array_equal(again.labels, first.labels)


@pytest.mark.gpu
def test_the_published_rule_on_a_gpu(gpu: runtime.Device) -> None:
    result = preflow.grid_cut(plateau(), method="cuda-blocking", options={"stopping": "published"})
    result.verify()
    assert result.status == "unproved"


def test_the_hybrid_as_printed_is_right_or_given_up() -> None:
    """Most runs without gap relabeling never meet the rule of the end; no proof is wrong."""
    statuses = set()
    for seed in range(24):
        rng = np.random.default_rng(seed)
        network = random_grid((int(rng.integers(1, 4)), int(rng.integers(2, 5))), 4, rng)
        expected = preflow.grid_cut(network, method="serial-incremental-bfs")
        for method in ("Lupinska", "CPU-GPU-Hybrid"):
            result = preflow.grid_cut(network, method=method, options={"cycles": 3, "rounds": 300})
            statuses.add((method, result.status))
            assert result.lower_bound <= expected.value <= result.upper_bound
            if result.status == "optimal":
                result.verify()
                assert result.value == expected.value
            else:
                assert "while excess of" in result.stats.reason
    assert ("Lupinska", "optimal") in statuses


def test_the_hybrid_is_given_up_after_its_rounds() -> None:
    network = random_grid((4, 6), 4, 6)
    result = preflow.grid_cut(network, method="cuda-hybrid", options={"cycles": 1, "rounds": 1})
    assert result.status == "unproved"
    assert "1 rounds; 1 rounds were not enough, while excess of" in result.stats.reason
    with pytest.raises(NotOptimalError):
        _ = result.value


@pytest.mark.fast
def test_steep_arcs() -> None:
    """Pixels in a row, of which the first has height 5 and an arc of 4 to the second, of height 1."""
    for at_most_excess, amount in ((True, 3), (False, 4)):
        grid = HostGrid(
            np.array([[4, 1, 0], [0, 0, 0]], dtype=np.int32),
            np.array([3, 0, 0]),
            np.array([0, 0, 2]),
            np.array([5, 1, 1], dtype=np.uint32),
            np.array([1, -1]).astype(np.uint64),
        )
        assert cancel_steep_arcs(grid, at_most_excess) == 1
        assert grid.excess.tolist() == [3 - amount, amount, 0]
        assert grid.residual.tolist() == [[4 - amount, 1, 0], [0, amount, 0]]
        level, order = np.zeros((2, 3), dtype=np.uint32)
        assert exact_heights(grid, level, order) == (2 if amount == 4 else 3)
        assert level.tolist() == [UNREACHED if amount == 4 else 3, 2, 1]
        assert order[:2].tolist() == [2, 1]
