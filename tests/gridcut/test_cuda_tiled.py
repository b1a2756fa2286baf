"""Push-relabel by tiles on a GPU: the kernels on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow.certify.grid import check_grid_flow
from preflow.cuda import runtime
from preflow.errors import (
    DeviceMemoryError,
    InvalidInputError,
    SolverError,
    UnsuitableMethodError,
)
from preflow.graph.grid import GridNetwork
from preflow.graph.integer_grid import integer_grid
from preflow.gridcut import cuda_tiled
from preflow.gridcut.cuda_tiled import TiledOptions, launches
from preflow.gridcut.cuda_tiled.tiling import Tiling, tiling_of
from preflow.solving.run import Control
from preflow.stats import GLOBAL_RELABELS
from tests.support.cuda_on_cpu.arrays import most_taken
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer
from tests.support.long_paths import SERPENTINE_VALUE, serpentine

pytestmark = pytest.mark.usefixtures("device")

METHOD = "cuda-tiled"
#: Relabel after every turn, so that small grids see excess that waits for a relabel.
HASTY = {"waves": 1, "rounds": 1, "rounds_factor": 0}
#: The thinnest slabs: one layer of tiles, and one on either side.
IN_SLABS = {"slab_bytes": 1}


def random_grid(
    shape: tuple[int, ...],
    connectivity: Any,
    seed: int | np.random.Generator = 0,
    *,
    symmetric: bool = False,
    largest: int = 20,
    dtype: Any = np.int64,
) -> GridNetwork:
    """Return a grid of which some pixels have terminal capacities, and some arcs none."""
    rng = np.random.default_rng(seed)
    pairs = len(connectivity) if isinstance(connectivity, list) else connectivity // 2
    source, sink = (rng.integers(0, 2 * largest, shape) * (rng.random(shape) < 0.4) for _ in range(2))
    rows = pairs if symmetric else 2 * pairs
    neighbor = rng.integers(0, largest, (rows, *shape)) * (rng.random((rows, *shape)) < 0.8)
    return GridNetwork.from_arrays(
        source.astype(dtype), sink.astype(dtype), neighbor.astype(dtype), connectivity=connectivity
    )


def image_of_one_path(height: int, width: int) -> tuple[GridNetwork, int]:
    """Return an image with one path up and down, and the value of its cut."""
    return GridNetwork.from_arrays(*serpentine(height, width), connectivity=4), SERPENTINE_VALUE


def check(network: GridNetwork, oracle: str = "serial-hi-pr", **arguments: Any) -> preflow.GridCutResult:
    """Solve a grid, prove the result, and compare it with a general solver's."""
    result = preflow.grid_cut(network, method=METHOD, **arguments)
    result.verify()
    expected = preflow.min_cut(network.to_flow_problem(), method=oracle)
    assert result.value == expected.value
    sink_side = np.asarray(expected.sink_side)[: network.size].reshape(network.shape)
    np.testing.assert_array_equal(np.asarray(result.labels), ~sink_side)
    return result


@pytest.mark.parametrize(
    ("shape", "connectivity", "options"),
    [
        ((1, 1), 4, {}),
        ((1, 70), 4, HASTY),
        ((40, 3), 4, {}),
        ((35, 37), 4, {}),
        ((5, 40), 4, HASTY),
        ((100, 3), 4, IN_SLABS),
        ((2, 2, 34), 6, HASTY),
        ((2, 3, 3), 26, {}),
        ((40,), [(1,), (3,)], {}),
        ((10, 3, 40), [(0, 0, 1), (0, 1, 1)], {}),  # diagonals, and planes of tiles without arcs between them
    ],
)
def test_agrees_with_general_solver(
    shape: tuple[int, ...], connectivity: Any, options: dict[str, Any]
) -> None:
    check(random_grid(shape, connectivity), options=options)


@pytest.mark.parametrize("factor", [1, 0.37])
def test_batches(factor: float) -> None:
    rng = np.random.default_rng(12)
    source, sink = rng.integers(0, 40, (2, 3, 6, 5)) * factor
    neighbor = rng.integers(0, 15, (3, 4, 6, 5)) * factor
    result = preflow.grid_cut_batch(source, sink, neighbor, connectivity=4, device="cuda")
    result.verify()
    assert result.stats.device == "cuda"
    for one, *arrays in zip(result, source, sink, neighbor, strict=True):
        one.verify()
        alone = preflow.grid_cut(*arrays, connectivity=4, device="cpu")
        assert abs(one.value - alone.value) <= one.gap + alone.gap
        np.testing.assert_array_equal(np.asarray(one.labels), alone.labels)


def test_in_several_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a launch leaves is what the next one starts from."""
    monkeypatch.setattr(launches, "WORK_OF_LAUNCH", 0)
    check(random_grid((5, 70), 4), options=HASTY)


def test_visits_that_end_before_their_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = Tiling.constants.func
    monkeypatch.setattr(
        Tiling, "constants", property(lambda tiling: (*constants(tiling), ("STEPS_OF_VISIT", 4)))
    )
    for shape, connectivity, visits in (((4, 40), 4, 3), ((2, 5, 40), 6, 16)):
        result = check(random_grid(shape, connectivity))
        assert result.stats.arc_scans > visits  # about so many suffice where visits go on


@pytest.mark.parametrize("options", [{}, IN_SLABS])
def test_searches_in_several_launches(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """Where each launch may do no more searches than it has to, the next one goes on with them."""
    monkeypatch.setattr(launches, "NANOSECONDS_OF_LAUNCH", 0)
    network, value = image_of_one_path(70, 5)
    result = check(network, options=options)
    assert result.value == value


@pytest.mark.parametrize("factor", [1, 0.37])
@pytest.mark.parametrize("limit", ["WORK_OF_LAUNCH", "NANOSECONDS_OF_LAUNCH"])
def test_long_relabels_leave_the_rest_to_the_cpu(
    factor: float, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU goes on from the flow that the GPU found, between searches or within one."""
    monkeypatch.setattr(launches, limit, 0)
    network = random_grid((5, 70), 4)
    network = GridNetwork.from_arrays(
        network.source_capacity * factor,
        network.sink_capacity * factor,
        network.neighbor_capacity * factor,
        connectivity=4,
    )
    stays = preflow.grid_cut(network, method=METHOD, options=HASTY)
    assert stats_of(stays) == METHOD
    found = preflow.grid_cut(network, method=METHOD, options=HASTY | {"budget": 1})
    found.verify()
    assert abs(found.value - stays.value) <= found.gap + stays.gap
    assert stats_of(found) == "serial-incremental-bfs"
    assert "global relabels took long on the GPU, so serial-incremental-bfs went on" in found.stats.reason
    assert found.stats.global_relabels < stays.stats.global_relabels
    again = preflow.grid_cut(network, method=METHOD, warm_start=found)
    again.verify()
    assert abs(again.value - found.value) <= again.gap + found.gap


def stats_of(result: preflow.GridCutResult) -> str:
    """Return the method that finished, after checking where it ran."""
    on_gpu = result.stats.method.startswith("cuda")
    assert result.stats.device == ("cuda" if on_gpu else "cpu")
    return result.stats.method


def test_short_relabels_stay_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "WORK_OF_LAUNCH", 0)
    result = check(random_grid((5, 70), 4), options=HASTY | {"budget": 10**9})
    assert stats_of(result) == METHOD


def test_a_stop_within_a_search(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch that follows goes on with the search, and finds no tile in the queue twice."""
    monkeypatch.setattr(launches, "NANOSECONDS_OF_LAUNCH", 0)
    network, _ = image_of_one_path(70, 9)
    control = Control()
    launch, queued = launches.Launcher._launch, []

    def stop_after(self: launches.Launcher, *arguments: Any) -> Any:
        queued.append(int((self.arrays.slots != launches.EMPTY).sum()))
        state = launch(self, *arguments)
        control.stop[0] = 1
        assert state[launches.Word.IS_SEARCHING]
        return state

    monkeypatch.setattr(launches.Launcher, "_launch", stop_after)
    grid = integer_grid(network)
    found = cuda_tiled.solve_streamed(grid, None, TiledOptions(), control)
    assert queued == [0, 0]
    assert not found.finished
    check_grid_flow(grid, found.residual, found.terminal)


def test_slabs_are_told_of(device: CpuDevice) -> None:
    result = check(random_grid((70, 3), 4), options=IN_SLABS)
    assert "3 layers" in result.stats.reason


def test_one_capacity_for_both_ways() -> None:
    check(random_grid((9, 34), 4, symmetric=True))


def test_distances_beyond_the_bits_of_seeds() -> None:
    """Labels on one side of a tile that differ by more than a search takes at once."""
    network, value = image_of_one_path(34, 18)
    result = check(network)
    assert result.value == value


def test_more_levels_than_labels_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    network, value = image_of_one_path(34, 18)  # tiles have hundreds of levels
    assert check(network, options=HASTY).value == value


def test_labels_that_a_discharge_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """One warp does the same every time: 27 tiles are discharged, 33 where labels at borders were garbage."""
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(1, 32))
    truth = np.zeros((70, 70))
    truth[17:52, 17:52] = 1
    noise = np.random.default_rng(1).normal(size=truth.shape)
    data = np.rint(20 * (2 * (truth + 0.9 * noise) - 1)).astype(np.int64)
    network = GridNetwork.from_arrays(np.maximum(data, 0), np.maximum(-data, 0), 15)
    assert check(network).stats.arc_scans < 30


def test_wide_capacities() -> None:
    check(random_grid((4, 35), 4, largest=2**40))


def test_warm_start(device: CpuDevice) -> None:
    first = check(random_grid((6, 40), 4, seed=1))
    changed = random_grid((6, 40), 4, seed=1)
    rng = np.random.default_rng(2)
    source = changed.source_capacity + rng.integers(0, 3, changed.shape)
    neighbor = np.maximum(changed.neighbor_capacity - rng.integers(0, 3, (4, *changed.shape)), 0)
    later = GridNetwork.from_arrays(source, changed.sink_capacity, neighbor, connectivity=4)
    check(later, warm_start=first)
    check(later, warm_start=first, options={**IN_SLABS, **HASTY})


@pytest.mark.parametrize(
    ("sanitizer", "shape", "connectivity", "options"),
    [
        ("address", (2, 34), 4, {}),
        ("thread", (2, 34), 4, {}),
        ("thread", (97, 1), 4, IN_SLABS),
        ("address", (1, 2, 33), 6, {}),
        ("address", (9, 3, 2), [(1, 1, 0), (1, -1, 0)], HASTY),
    ],
)
def test_sanitizers_have_nothing_to_report(
    sanitizer: Sanitizer,
    shape: tuple[int, ...],
    connectivity: Any,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(2, 32, sanitizer=sanitizer))
    network = random_grid(shape, connectivity, largest=6)
    preflow.grid_cut(network, method=METHOD, options=options).verify()


@pytest.mark.parametrize("options", [{}, IN_SLABS])
def test_stop_flag_raised_before_the_start(device: CpuDevice, options: dict[str, Any]) -> None:
    grid = integer_grid(random_grid((70, 5), 4))
    control = Control()
    control.stop[0] = 1
    found = cuda_tiled.solve_streamed(grid, None, TiledOptions(**options), control)
    assert not found.finished
    assert found.sink_side.any()
    check_grid_flow(grid, found.residual, found.terminal)


def test_progress_ends_with_nothing_left(device: CpuDevice) -> None:
    control = Control()
    grid = integer_grid(random_grid((5, 40), 4))
    found = cuda_tiled.solve(grid, None, TiledOptions(), control)
    assert found.finished
    assert control.progress.tolist() == [0.0, 2.0]
    assert control.counts[GLOBAL_RELABELS] > 1


@pytest.mark.parametrize("name", ["waves", "rounds", "slab_bytes"])
@pytest.mark.parametrize("value", [-1, 1.5, "1"])
def test_impossible_options_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        TiledOptions(**{name: value})


@pytest.mark.parametrize(
    "connectivity", [[(0, 8)], [(9, 0)], [(dy, dx) for dy in (1, 2, 3) for dx in range(-3, 4)]]
)
def test_neighbourhoods_that_are_too_wide_are_refused(connectivity: Any) -> None:
    with pytest.raises(UnsuitableMethodError, match="room for neighbours up to 7 apart"):
        preflow.grid_cut(random_grid((12, 12), connectivity), method=METHOD)


def test_auto_takes_another_method_for_neighbours_too_far_apart() -> None:
    grid = random_grid((12, 12), [(9, 0)])
    result = preflow.grid_cut(grid, device="cuda")
    result.verify()
    assert result.stats.method == "cuda-lockfree"
    assert "but cuda-lockfree, since cuda-tiled has room" in result.stats.reason
    assert result.value == preflow.grid_cut(grid, device="cpu").value


def test_a_grid_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(free_bytes=100))
    with pytest.raises(DeviceMemoryError, match=r"in slabs, take .* has 100 free"):
        cuda_tiled.solve_streamed(integer_grid(random_grid((5, 5), 4)), None, TiledOptions(), Control())
    grid = integer_grid(random_grid((5, 5), 4))
    with pytest.raises(DeviceMemoryError, match=r"25 pixels with 4 neighbours take .* has 100 free"):
        cuda_tiled.solve(grid, None, TiledOptions(), Control())


def test_giving_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "MOST_RELABELS", 0)
    with pytest.raises(SolverError, match="gave up"):
        preflow.grid_cut(random_grid((2, 2), 4), method=METHOD)


@pytest.mark.parametrize(
    ("shape", "connectivity", "bytes_a_pixel"), [((512, 512), 4, 24), ((64, 64, 64), 6, 32)]
)
@pytest.mark.parametrize("largest", [100, 10**6])
def test_memory_as_promised(
    device: CpuDevice, shape: tuple[int, ...], connectivity: int, bytes_a_pixel: int, largest: int
) -> None:
    """Some tables of tiles apart, which take less than a byte a pixel."""
    tiling = tiling_of(device, integer_grid(random_grid(shape, connectivity, largest=largest)))  # type: ignore[arg-type]
    assert tiling.bytes_on_device / np.prod(shape) < bytes_a_pixel + 2


def test_shared_memory_that_is_given_is_what_the_kernels_use(device: CpuDevice) -> None:
    """An access beyond the last slot would be seen by AddressSanitizer only if slots are as large as said."""
    tiling = tiling_of(device, integer_grid(random_grid((2, 2), 4)))  # type: ignore[arg-type]
    warps, dischargers = tiling.warps_of_block(device)  # type: ignore[arg-type]
    assert (warps, dischargers) == (1, 1)
    assert tiling.shared_bytes(warps, dischargers) == tiling.slot_bytes


# What only a GPU does in reasonable time.


def noisy_image(
    shape: tuple[int, ...], connectivity: int, seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return source, sink and neighbour capacities of a smooth field seen through noise."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.standard_normal(shape), 4)
    data = np.rint(100 * field / field.std() + 100 * rng.standard_normal(shape)).astype(np.int16)
    neighbor = rng.integers(50, 150, (connectivity // 2, *shape)).astype(np.int16)
    return np.maximum(data, 0), np.maximum(-data, 0), neighbor


@pytest.mark.gpu
@pytest.mark.parametrize(
    "connectivity", [4, 8, 6, 18, 26, [(0, 1), (1, -2), (3, 3)], [(0, 0, 2), (1, -1, 1)]]
)
@pytest.mark.parametrize("options", [{}, HASTY, IN_SLABS])
def test_random_grids_on_a_gpu(connectivity: Any, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    ndim = len(connectivity[0]) if isinstance(connectivity, list) else 2 if connectivity in (4, 8) else 3
    for seed in range(30):
        shape = tuple(int(length) for length in rng.integers(1, (90, 90) if ndim == 2 else (20, 20, 70)))
        largest = (3, 100, 2**20, 2**40)[seed % 4 if connectivity != 26 else seed % 3]
        network = random_grid(shape, connectivity, seed, symmetric=seed % 3 == 0, largest=largest)
        check(network, options=options)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(700, 900), (33, 20_000), (60, 70, 80)])
def test_images_on_a_gpu(shape: tuple[int, ...]) -> None:
    connectivity = 4 if len(shape) == 2 else 6
    arrays = noisy_image(shape, connectivity)
    expected = preflow.grid_cut(*arrays, connectivity=connectivity, method="serial-incremental-bfs")
    for options in ({}, {"slab_bytes": 2**20}):
        for _ in range(10):
            result = preflow.grid_cut(*arrays, connectivity=connectivity, method=METHOD, options=options)
            result.verify()
            assert result.value == expected.value
            np.testing.assert_array_equal(result.labels, expected.labels)


@pytest.mark.gpu
def test_long_paths_on_a_gpu() -> None:
    network, value = image_of_one_path(200, 300)
    result = preflow.grid_cut(network, method=METHOD)
    result.verify()
    assert result.value == value


@pytest.mark.gpu
def test_arrays_on_a_gpu_stay_there(device: runtime.Device) -> None:
    arrays = noisy_image((300, 400), 4)
    expected = preflow.grid_cut(*arrays, connectivity=4, method="serial-incremental-bfs")
    given = [device.xp.asarray(values) for values in arrays]
    with most_taken(device.xp) as taken:
        result = preflow.grid_cut(*given, connectivity=4, method=METHOD)
        assert taken() / expected.labels.size < 40
    assert isinstance(result.labels, device.xp.ndarray)
    assert result.value == expected.value
    np.testing.assert_array_equal(device.to_host(result.labels), expected.labels)
    again = preflow.grid_cut(*given, connectivity=4, method=METHOD, warm_start=result)
    again.verify()
    assert again.stats.pushes == 0


@pytest.mark.gpu
def test_frames_of_a_video_on_a_gpu() -> None:
    source, sink, neighbor = noisy_image((240, 320), 4)
    result = preflow.grid_cut(source, sink, neighbor, connectivity=4, method=METHOD)
    for frame in range(1, 5):
        moved = [np.roll(values, frame, axis=-1) for values in (source, sink, neighbor)]
        result = preflow.grid_cut(*moved, connectivity=4, method=METHOD, warm_start=result)
        result.verify()
        cold = preflow.grid_cut(*moved, connectivity=4, method="serial-incremental-bfs")
        np.testing.assert_array_equal(result.labels, cold.labels)


@pytest.mark.gpu
def test_a_solve_on_a_gpu_can_be_stopped() -> None:
    """A stop flag that another thread raises, as Ctrl-C and the time limit do."""
    network, _ = image_of_one_path(2000, 2000)
    control = Control()
    timer = threading.Timer(0.2, lambda: control.stop.__setitem__(0, 1))
    grid = integer_grid(network)
    timer.start()
    found = cuda_tiled.solve_streamed(grid, None, TiledOptions(waves=1, rounds=1, rounds_factor=0), control)
    check_grid_flow(grid, found.residual, found.terminal)
    result = preflow.grid_cut(network, method=METHOD, time_limit=0.05)
    assert result.lower_bound <= result.upper_bound
