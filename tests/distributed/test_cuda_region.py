"""Regions on a GPU: the kernels on CPU threads everywhere, and on a real GPU where there is one.

``pytest -m gpu tests/distributed/test_cuda_region.py`` also lets actors of Ray solve their regions on GPUs.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.cuda import runtime
from preflow.distributed.cuda_region import CudaRegion
from preflow.distributed.exchange import Order, Report, Worker, checksum, stored
from preflow.distributed.grid_source import GridSource, GridTask, grid_tasks
from preflow.distributed.memory import MemoryExchange
from preflow.distributed.partition import divide
from preflow.distributed.sweeps import Progress, continue_sweeps, run_sweeps
from preflow.errors import DeviceMemoryError, UnsuitableMethodError, VerificationError
from preflow.gridcut.cuda_tiled import launches
from preflow.solving.run import Control
from tests.distributed.test_regions import proved
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.long_paths import serpentine


def tasks_of(source: GridSource, regions: int, *, on_gpu: bool = True) -> list[GridTask]:
    """Return the tasks of regions on a GPU."""
    return [replace(task, on_gpu=on_gpu) for task in grid_tasks(source, divide(source.shape, regions))]


def random_source(
    shape: tuple[int, ...], seed: int, most: int = 20, pairs: int = 0, periodic: Any = False
) -> tuple[GridSource, preflow.GridCutResult]:
    """Return a grid, and the cut of it that `grid_cut` finds."""
    rng = np.random.default_rng(seed)
    source, sink = (rng.integers(0, 2 * most, shape) * (rng.random(shape) < 0.4) for _ in range(2))
    rows = (pairs or len(shape), *shape)
    neighbor = rng.integers(0, most, rows) * (rng.random(rows) < 0.8)
    arrays = source, sink, neighbor
    connectivity = 2 * rows[0]
    cut = preflow.grid_cut(
        *arrays, connectivity=connectivity, periodic=periodic, method="serial-incremental-bfs"
    )
    return GridSource.of(*arrays, connectivity, periodic), cut


def labels_of(source: GridSource, regions: int, exchange: MemoryExchange) -> NDArray[np.bool_]:
    labels = np.zeros(source.shape, dtype=bool)
    boxes = divide(source.shape, regions).boxes()
    for box, side in zip(boxes, exchange.collect(Worker.sink_side), strict=True):
        labels[box] = ~side
    return labels


class Checked(MemoryExchange):
    """Checks the invariants of labels after each sweep."""

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep."""
        reports = super().sweep(order)
        for worker in self.workers:
            worker.check_labels()
        return reports


class Ending(Checked):
    """Takes a solve for a wrong one that makes many sweeps."""

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep."""
        assert self.sweeps < 50, "this does not end"
        return super().sweep(order)


class Moving(Checked):
    """Moves all regions from the GPU to the CPU after a sweep, or back: what they store goes on there."""

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep."""
        reports = super().sweep(order)
        for worker in self.workers:
            border, inside = pickle.loads(pickle.dumps((worker.state(), stored(worker.region.state()))))
            part: Any = worker.region
            other = replace(part._part, on_gpu=not isinstance(part, CudaRegion)).empty()
            other.restore(inside)
            worker.region = other
            worker.restore(border)
        return reports


def check(source: GridSource, cut: preflow.GridCutResult, regions: int, exchange: MemoryExchange) -> Progress:
    """Solve on a GPU, compare the cut with that of `grid_cut`, and prove it."""
    progress = run_sweeps(exchange, tasks_of(source, regions), Control())
    assert progress.lower == progress.upper == cut.value
    assert np.array_equal(labels_of(source, regions, exchange), cut.labels)
    assert proved(exchange) == cut.value
    exchange.close()
    return progress


@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from([(1, 1), (70, 3), (40, 40), (17, 2, 3), (20, 9, 5), (33,)]),
    most=st.sampled_from((3, 20, 2**20, 2**40)),
    regions=st.integers(1, 12),
    moves=st.booleans(),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_answer_is_that_of_grid_cut(
    device: Any, seed: int, shape: tuple[int, ...], most: int, regions: int, moves: bool
) -> None:
    source, cut = random_source(shape, seed, most)
    check(source, cut, regions, Moving(1) if moves else Checked(1))


@pytest.mark.parametrize(("shape", "pairs"), [((40, 20), 4), ((16, 14, 15), 13)])
def test_neighbourhoods(device: Any, shape: tuple[int, ...], pairs: int) -> None:
    check(*random_source(shape, 1, pairs=pairs), 6, Moving(1))


def test_rings(device: Any) -> None:
    """Rings that are cut, and a short one that is not and adds directions."""
    source, cut = random_source((40, 5), 2, periodic=True)
    for regions in (2, 5):
        check(source, cut, regions, Checked(1))


def test_two_threads_share_a_gpu(device: Any) -> None:
    check(*random_source((60, 40), 3), 6, Checked(2))


def test_a_path_through_all_regions(device: Any) -> None:
    arrays = serpentine(100, 5)
    cut = preflow.grid_cut(*arrays, method="serial-incremental-bfs")
    assert check(GridSource.of(*arrays, None), cut, 4, Moving(1)).sweeps > 5


@pytest.mark.parametrize("nanoseconds", [1_000, 10_000_000])
def test_launches_that_end_in_a_search(
    device: Any, monkeypatch: pytest.MonkeyPatch, nanoseconds: int
) -> None:
    monkeypatch.setattr(launches, "NANOSECONDS_OF_LAUNCH", nanoseconds)
    check(*random_source((60, 50), 5), 2, Checked(1))


def test_cpus_and_gpus_know_each_others_checkpoints(device: Any) -> None:
    source, _ = random_source((30, 20), 4)
    for on_gpu, on_host in zip(tasks_of(source, 3), tasks_of(source, 3, on_gpu=False), strict=True):
        region = on_gpu.build()
        assert isinstance(region, CudaRegion)
        assert checksum(region.on_host()) == checksum(on_host.build())


def test_a_discharge_that_is_stopped_is_repeated(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is stopped in the middle of a search."""
    monkeypatch.setattr(launches, "NANOSECONDS_OF_LAUNCH", 1_000)
    source, cut = random_source((70, 50), 6)
    exchange, control, launch = Checked(1), Control(), launches.Launcher._launch
    reports = exchange.scatter(tasks_of(source, 3), control)

    def stopped_after(launches_left: int) -> Progress:
        left = [launches_left]

        def stopping(launcher: Any, *arguments: Any) -> Any:
            state = launch(launcher, *arguments)
            left[0] -= 1
            control.stop[0] = left[0] <= 0
            return state

        with monkeypatch.context() as patch:
            patch.setattr(launches.Launcher, "_launch", stopping)
            return continue_sweeps(exchange, reports, control)

    for number in (1, 3, 9):
        progress = stopped_after(number)
        assert progress.ready
        assert progress.lower <= cut.value <= progress.upper
        side = labels_of(source, 3, exchange)
        control.stop[0] = 0
        reports = [worker.report() for worker in exchange.workers]
    assert (side != cut.labels).any()
    progress = continue_sweeps(exchange, reports, control)
    assert progress.lower == progress.upper == cut.value
    assert np.array_equal(labels_of(source, 3, exchange), cut.labels)


@pytest.mark.fast
def test_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflow.cuda.runtime.find_device", lambda: CpuDevice(free_bytes=10_000))
    source, _ = random_source((30, 20), 4)
    with pytest.raises(DeviceMemoryError, match=r"a region of 600 pixels .* which has 10,000 free: divide"):
        tasks_of(source, 1)[0].build()


@pytest.mark.fast
def test_what_a_gpu_cannot_solve(device: Any) -> None:
    grid = preflow.GridNetwork.from_arrays(np.ones((2, 2, 2, 2), int), 1, 1)
    with pytest.raises(UnsuitableMethodError, match="up to 3 axes"):
        tasks_of(GridSource.of(grid, None, None, None), 1)[0].build()
    far = GridSource.of(np.ones((9, 9), int), np.ones((9, 9), int), np.ones(1, int), [(8, 0)])
    with pytest.raises(UnsuitableMethodError, match="up to 7 apart"):
        tasks_of(far, 1)[0].build()


def forget_ghosts(patch: pytest.MonkeyPatch) -> None:
    """Sinks of the last discharge stay sinks, whatever their labels are now."""

    def add(region: Any, gain: Any, control: Control) -> None:
        tiles, places = region._on_gpu, region._places
        kept = tiles.terminal[places.ghosts].copy()
        original(region, gain, control)
        tiles.terminal[places.ghosts] = kept

    original = CudaRegion._add
    patch.setattr(CudaRegion, "_add", add)


def lose_what_arrives(patch: pytest.MonkeyPatch) -> None:
    original = CudaRegion._add
    patch.setattr(CudaRegion, "_add", lambda region, gain, control: original(region, 0 * gain, control))


def keep_old_sides(patch: pytest.MonkeyPatch) -> None:
    """The words of tiles do not know of new deficits."""
    patch.setattr("preflow.distributed.cuda_region.mark_tiles", lambda *arguments: None)


@pytest.mark.parametrize("mutant", [forget_ghosts, lose_what_arrives, keep_old_sides])
def test_mutants_are_found(device: Any, mutant: Any) -> None:
    for seed in range(5):
        grid = random_source((30, 20), seed)
        check(*grid, 4, Ending(1))
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            try:
                check(*grid, 4, Ending(1))
            except (AssertionError, VerificationError):
                return
    pytest.fail("no grid told the mutant from the right one")


def noisy_ball(side: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    rng = np.random.default_rng(side)
    inside = ((np.indices((side,) * 3) - side / 2) ** 2).sum(axis=0) < (side / 3) ** 2
    difference = np.rint(rng.normal(0, 80, (side,) * 3) + np.where(inside, 15, -15)).astype(np.int64)
    return np.maximum(difference, 0), np.maximum(-difference, 0), 25


@pytest.mark.gpu
@pytest.mark.parametrize("regions", [1, 2, 8])
def test_volumes_on_a_gpu(device: Any, regions: int) -> None:
    arrays = noisy_ball(100)
    cut = preflow.grid_cut(*arrays, method="serial-incremental-bfs")
    check(GridSource.of(*arrays, None), cut, regions, Moving(1))


@pytest.mark.gpu
def test_random_grids_on_a_gpu(device: Any) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 200 if seed % 2 else 60, 2 + seed % 2).tolist())
        source, cut = random_source(shape, seed, most=(3, 100, 2**20, 2**40)[seed % 4])
        check(source, cut, 1 + seed % 7, Checked(1 + seed % 2))


@pytest.fixture(scope="module")
def gpu_cluster() -> Iterator[Any]:
    """A cluster of Ray that has all GPUs of this machine."""
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    if runtime.device_if_any() is None:
        pytest.skip("there is no GPU")
    import ray

    from preflow.distributed.batches.ray_tasks import start_ray

    start_ray(None, 8)
    try:
        yield ray
    finally:
        ray.shutdown()


@pytest.mark.gpu
@pytest.mark.parametrize("regions", [None, 5])
def test_actors_solve_on_gpus(device: Any, gpu_cluster: Any, regions: int | None) -> None:
    arrays = noisy_ball(100)
    cut = preflow.grid_cut(*arrays, method="serial-incremental-bfs")
    exchange = preflow.distributed.RayExchange(device="cuda")
    result = preflow.distributed.grid_cut(*arrays, exchange=exchange, regions=regions)
    assert result.value == cut.value
    assert np.array_equal(result.labels, cut.labels)
    assert result.stats.device == "cuda"
    result.verify()
    gpu_cluster.kill(exchange.actors[0])
    result.verify()
    assert exchange.replaced == 1
    exchange._end()


@pytest.mark.gpu
def test_checkpoints_pass_from_gpus_to_cpus_and_back(device: Any, gpu_cluster: Any, tmp_path: Any) -> None:
    arrays = noisy_ball(60)
    cut = preflow.grid_cut(*arrays, method="serial-incremental-bfs")
    for name in ("cuda", "cpu", "cuda"):
        exchange = preflow.distributed.RayExchange(device=name, workers=1, checkpoint=tmp_path)
        result = preflow.distributed.grid_cut(*arrays, exchange=exchange, regions=4)
        assert np.array_equal(result.labels, cut.labels)
        result.verify()
        exchange._end()
