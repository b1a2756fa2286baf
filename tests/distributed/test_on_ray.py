"""Regions on the actors of a local Ray cluster, with actors that die, and drivers that continue.

    python -m tests.distributed.test_on_ray 50

kills that many actors at random moments, and compares each cut with that of grid_cut.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.cuda import runtime
from preflow.distributed import files
from preflow.distributed.exchange import Order, Report, Worker
from preflow.distributed.grid_source import GridSource, GridTask, grid_tasks
from preflow.distributed.partition import divide
from preflow.distributed.sweeps import Progress, run_sweeps
from preflow.errors import (
    InvalidInputError,
    MissingDependencyError,
    ParseError,
    WorkerDiedError,
)
from preflow.solving.run import Abandoned, Control
from tests.distributed.test_grid_cut import twice_rounded
from tests.distributed.test_regions import grids
from tests.support.cuda_on_cpu.device import CpuDevice

if find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)

import ray

from preflow.distributed.on_ray import Actor, RayExchange

pytestmark = pytest.mark.slow
CPUS, GPUS = 3, 2


@contextmanager
def cluster() -> Iterator[None]:
    """A cluster that believes to have GPUs."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    ray.init(address="local", num_cpus=CPUS, num_gpus=GPUS, include_dashboard=False, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    with cluster():
        yield


def noisy_ball(side: int, noise: float = 80) -> preflow.GridNetwork:
    rng = np.random.default_rng(side)
    inside = ((np.indices((side,) * 3) - side / 2) ** 2).sum(axis=0) < (side / 3) ** 2
    difference = np.rint(rng.normal(0, noise, (side,) * 3) + np.where(inside, 15, -15)).astype(np.int64)
    return preflow.GridNetwork.from_arrays(np.maximum(difference, 0), np.maximum(-difference, 0), 25)


def sink_side(worker: Worker) -> NDArray[np.bool_]:
    return worker.region.sink_side()


def tasks_of(grid: preflow.GridNetwork, regions: int) -> Sequence[Any]:
    return grid_tasks(GridSource.of(grid, None, None, None), divide(grid.shape, regions))


def solved(
    grid: preflow.GridNetwork,
    regions: int,
    exchange: RayExchange,
    control: Control | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> tuple[NDArray[np.bool_], Progress]:
    try:
        progress = run_sweeps(exchange, tasks_of(grid, regions), control or Control(), report)
    finally:
        exchange.close()
    labels = np.zeros(grid.shape, dtype=bool)
    boxes = divide(grid.shape, regions).boxes()
    for box, side in zip(boxes, exchange.collect(sink_side), strict=True):
        labels[box] = ~side
    return labels, progress


@pytest.mark.parametrize("regions", [2, 6])
def test_rings_pass_from_actor_to_actor(ray_cluster: None, regions: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(regions)
    source, sink = rng.integers(0, 30, (2, 12, 5, 9)) * (rng.random((2, 12, 5, 9)) < 0.3)
    grid = source, sink, rng.integers(0, 9, (26, 12, 5, 9))
    kind: dict[str, Any] = {"connectivity": 26, "periodic": (True, False, True)}
    host = RayExchange(workers=2, checkpoint=tmp_path)
    result = preflow.distributed.grid_cut(*grid, **kind, exchange=host, regions=regions)
    result.verify()
    expected = preflow.grid_cut(*grid, **kind)
    assert result.value == expected.value
    assert np.array_equal(result.labels, expected.labels)
    again = RayExchange(workers=1, checkpoint=tmp_path)
    assert preflow.distributed.grid_cut(*grid, **kind, exchange=again, regions=regions).value == result.value


class FaultyExchange(RayExchange):
    """Kills an actor now and then, at a random moment after calls of actors were made."""

    def __init__(self, seed: int, share: float, **options: Any) -> None:
        super().__init__(**options)
        self.kills = 0
        self._random = random.Random(seed)
        self._share = share
        self._faults = False

    def sweep(self, order: Order) -> list[Report]:
        self._faults = True
        try:
            return super().sweep(order)
        finally:
            self._faults = False

    def _get(self, references: Any) -> Any:
        if self._faults and self._random.random() < self._share:
            moment = self._random.random() * 0.05
            self.kills += 1
            threading.Timer(moment, self._kill, [self._random.choice(self.actors)]).start()
        return super()._get(references)

    def _kill(self, actor: Any) -> None:
        with suppress(Exception):
            ray.kill(actor)


GRID = noisy_ball(20)
EXPECTED = preflow.grid_cut(GRID, method="serial-incremental-bfs")


@given(grids(), st.integers(1, 27), st.integers(1, CPUS), st.booleans())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_grid_in_any_regions(
    ray_cluster: None, grid: preflow.GridNetwork, regions: int, workers: int, faults: bool
) -> None:
    exchange = FaultyExchange(regions, 0.2 * faults, workers=workers)
    expected = preflow.grid_cut(grid, method="serial-incremental-bfs")
    result = preflow.distributed.grid_cut(grid, exchange=exchange, regions=regions)
    result.verify()
    assert result.value == expected.value
    assert np.array_equal(result.labels, expected.labels)
    exchange._end()


@pytest.mark.parametrize(("regions", "workers"), [(1, 1), (5, 2), (8, 3), (2, 3)])
def test_the_cut_is_that_of_grid_cut(ray_cluster: None, regions: int, workers: int) -> None:
    labels, progress = solved(GRID, regions, RayExchange(workers=workers))
    assert np.array_equal(labels, EXPECTED.labels)
    assert progress.lower == progress.upper == EXPECTED.value


def test_an_actor_discharges_regions_at_the_same_time() -> None:
    """Each of two regions waits in its discharge until the other one is in it."""
    tasks = tasks_of(GRID, 2)
    homes = {0: 0, 1: 0}
    actor, several = Actor(2), Actor(5)
    assert actor.build(tasks, homes, 0) == several.build(tasks, homes, 0) == []
    assert (actor._control.threads, several._control.threads) == (1, 2)
    both = threading.Barrier(2, timeout=60)
    for worker in actor._workers.values():
        augment = worker.augment
        worker.augment = lambda *given, augment=augment: (both.wait(), augment(*given))[1]  # type: ignore
    before = sum(report.bound for report in actor.reports())
    assert actor.discharge(Order(0), 0, []) == [None]
    assert sum(report.bound for report in actor.receive(None)[0].reports) > before


@pytest.mark.parametrize("unit", [1, 0.1])
def test_the_result_proves_itself(ray_cluster: None, unit: float) -> None:
    """Floats that round are solved once or twice, by the same host."""
    capacities = (GRID.source_capacity * unit, GRID.sink_capacity * unit, 25 * unit)
    expected = preflow.grid_cut(*capacities, method="serial-incremental-bfs")
    result = preflow.distributed.grid_cut(*capacities, exchange=RayExchange(workers=2), regions=5)
    assert np.array_equal(result.labels, expected.labels)
    assert result.value == pytest.approx(expected.value)
    result.verify()


def process_of(worker: Worker) -> int:
    return os.getpid()


def test_actors_stay_for_the_next_solve(ray_cluster: None) -> None:
    """Also after one of them has died, after a time limit, and for another number of regions."""
    host = RayExchange(workers=3)
    labels, _ = solved(GRID, 5, host)
    assert np.array_equal(labels, EXPECTED.labels)
    processes = list(host.collect(process_of))
    assert len(set(processes)) == 3
    small = small_grid()
    for kill in (False, True):
        if kill:
            ray.kill(host.actors[0])
        result = preflow.distributed.grid_cut(*small, exchange=host, regions=4)
        result.verify()
        assert result.value == preflow.grid_cut(*small).value
        assert host.replaced == kill
    kept = set(host.collect(process_of))
    assert len(kept & set(processes)) == 2
    stopped = preflow.distributed.grid_cut(GRID, exchange=host, regions=2, time_limit=1e-3)
    assert stopped.lower_bound <= EXPECTED.value <= stopped.upper_bound
    assert len(host.actors) == 2
    labels, _ = solved(GRID, 6, host)
    assert np.array_equal(labels, EXPECTED.labels)
    assert len(set(host.collect(process_of)) & kept) == 2
    host._end()


def test_actors_of_another_cluster_are_not_asked(ray_cluster: None) -> None:
    host = RayExchange(workers=2)
    solved(GRID, 2, host)
    host._end()
    lost = [object(), object()]
    host.actors, host._node = lost, "the node of a cluster that has ended"  # type: ignore[assignment]
    labels, _ = solved(GRID, 2, host)
    assert np.array_equal(labels, EXPECTED.labels)
    host._end()


def test_the_name_of_the_host(ray_cluster: None, tmp_path: Path) -> None:
    result = preflow.distributed.grid_cut(GRID, exchange="ray", regions=4, threads=2, folder=tmp_path)
    assert np.array_equal(result.labels, EXPECTED.labels)
    assert (tmp_path / files.MANIFEST).exists()
    result._exchange._end()  # type: ignore[attr-defined]
    with pytest.raises(InvalidInputError, match="memory belongs to exchange"):
        preflow.distributed.grid_cut(GRID, exchange="ray", memory=10**6)


@dataclass(frozen=True)
class EmulatedTask(GridTask):
    """A region whose actor takes CPU threads for its GPU."""

    def build(self) -> Any:
        if self.on_gpu:
            device = CpuDevice()
            runtime.find_device = lambda: device  # type: ignore[assignment,return-value]
        return super().build()


@pytest.fixture
def emulated_gpus(ray_cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the actors that ask for GPUs find CPU threads."""

    def on_gpu(task: Any) -> Any:
        return EmulatedTask(task.number, task.source, task.boxes, on_gpu=True)

    monkeypatch.setattr("preflow.distributed.on_ray._on_gpu", on_gpu)


def small_grid(seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    source, sink = np.random.default_rng(seed).integers(0, 30, (2, 60, 20))
    return source, sink, 9


def test_actors_on_gpus(emulated_gpus: None) -> None:
    """By default each GPU has a region."""
    expected = preflow.grid_cut(*small_grid(), method="serial-incremental-bfs")
    exchange = RayExchange(device="cuda")
    assert exchange.num_devices == GPUS
    result = preflow.distributed.grid_cut(*small_grid(), exchange=exchange)
    assert result.regions == len(exchange.actors) == GPUS
    assert result.stats.device == "cuda"
    assert result.value == expected.value
    assert np.array_equal(result.labels, expected.labels)
    result.verify()
    exchange._end()


def test_killed_actors_on_gpus_lose_nothing(emulated_gpus: None) -> None:
    expected = preflow.grid_cut(*small_grid(1), method="serial-incremental-bfs")
    exchange = FaultyExchange(2, 0.3, workers=2, device="cuda")
    result = preflow.distributed.grid_cut(*small_grid(1), exchange=exchange, regions=5)
    assert exchange.kills
    assert exchange.replaced
    assert np.array_equal(result.labels, expected.labels)
    result.verify()
    exchange._end()


def test_checkpoints_pass_from_gpus_to_cpus_and_back(emulated_gpus: None, tmp_path: Path) -> None:
    grid = preflow.GridNetwork.from_arrays(*small_grid(2))
    expected = preflow.grid_cut(grid, method="serial-incremental-bfs")

    def interrupt(progress: Progress) -> None:
        if progress.sweeps > before:
            raise InterruptedDriverError

    for before, device in enumerate(("cuda", "cpu", "cuda")):
        exchange = RayExchange(workers=2, device=device, checkpoint=tmp_path)  # type: ignore[arg-type]
        with pytest.raises(InterruptedDriverError):
            solved(grid, 4, exchange, report=interrupt)
        assert sweeps_of(tmp_path) == before + 1
        exchange._end()
    exchange = RayExchange(workers=2, checkpoint=tmp_path)
    labels, progress = solved(grid, 4, exchange)
    assert np.array_equal(labels, expected.labels)
    assert progress.lower == expected.value
    exchange._end()


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_cupy_that_is_missing_on_a_worker_is_named(ray_cluster: None) -> None:
    exchange = RayExchange(workers=1, device="cuda")
    with pytest.raises(MissingDependencyError, match=r"device='cuda' needs CuPy on .*'preflow\[cuda\]'"):
        preflow.distributed.grid_cut(*small_grid(), exchange=exchange)
    assert not exchange.actors


def test_gpus_that_are_missing_are_named(ray_cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would wait for them."""
    exchange = RayExchange(workers=3, device="cuda")
    with pytest.raises(InvalidInputError, match="3 actors need 3 GPUs, but the cluster has 2"):
        preflow.distributed.grid_cut(*small_grid(), exchange=exchange, regions=3)
    exchange = RayExchange(device="cuda")
    with pytest.raises(InvalidInputError, match="parts of a grid, not of a network"):
        preflow.distributed.min_cut(([0, 1], [1, 2], [1, 1]), 0, 2, partition=[0, 0, 1], exchange=exchange)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 8.0})
    for regions in (None, 2):
        with pytest.raises(InvalidInputError, match="needs GPUs: Ray knows of none"):
            preflow.distributed.grid_cut(*small_grid(), exchange=exchange, regions=regions)


def test_networks(ray_cluster: None) -> None:
    rng = np.random.default_rng(0)
    arcs = (rng.integers(0, 60, 400), rng.integers(0, 60, 400), rng.integers(0, 20, 400))
    partition = np.arange(60) // 20
    result = preflow.distributed.min_cut(arcs, 0, 59, partition=partition, exchange="ray", threads=2)
    assert result.value == preflow.min_cut(arcs, 0, 59).value
    result.verify()
    result._exchange._end()  # type: ignore[attr-defined]


def test_a_network_of_terminals_only(ray_cluster: None) -> None:
    """It has no regions."""
    exchange = RayExchange(workers=2)
    result = preflow.distributed.min_cut(([0], [1], [7]), 0, 1, partition=[0, 0], exchange=exchange)
    assert result.value == 7
    result.verify()


def test_killed_actors_lose_nothing(ray_cluster: None) -> None:
    exchange = FaultyExchange(1, 0.3, workers=3)
    labels, progress = solved(GRID, 5, exchange)
    assert exchange.kills
    assert exchange.replaced
    assert np.array_equal(labels, EXPECTED.labels)
    assert progress.lower == EXPECTED.value


def test_actors_that_are_killed_before_and_after_the_sweeps(ray_cluster: None) -> None:
    exchange = RayExchange(workers=2)
    kill = [True]

    def report(progress: Progress) -> None:
        if kill:
            kill.clear()
            ray.kill(exchange.actors[0])

    labels, _ = solved(GRID, 4, exchange, report=report)
    assert np.array_equal(labels, EXPECTED.labels)
    exchange = RayExchange(workers=2)
    run_sweeps(exchange, tasks_of(GRID, 4), Control())
    ray.kill(exchange.actors[1])
    sides = list(exchange.collect(sink_side))
    assert sum(side.sum() for side in sides) == (~EXPECTED.labels).sum()
    exchange.close()


def test_actors_that_are_killed_before_the_proof(ray_cluster: None) -> None:
    """Before any state is stored a flow is found again; a proof is of one flow."""
    exchange = RayExchange(workers=2)
    result = preflow.distributed.grid_cut(GRID, exchange=exchange, regions=4)
    assert exchange._stored is None
    ray.kill(exchange.actors[0])
    result.verify()
    assert exchange._stored is not None
    ray.kill(exchange.actors[1])
    result.verify()
    assert np.array_equal(result.labels, EXPECTED.labels)
    assert exchange.replaced == 2
    exchange._end()


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_stopped_solve_stores_its_states(ray_cluster: None, is_stored: bool) -> None:
    """An actor may die after that; before, the answer of the stopped solve is lost."""
    exchange, control = RayExchange(workers=2), Control()

    def report(progress: Progress) -> None:
        control.stop[0] = 1

    run_sweeps(exchange, tasks_of(GRID, 4), control, report)
    if is_stored:
        assert len(list(exchange.collect(Worker.sink_side))) == 4
    ray.kill(exchange.actors[0])
    if is_stored:
        assert len(list(exchange.collect(Worker.sink_side))) == 4
    else:
        with pytest.raises(WorkerDiedError, match="its last states are lost"):
            list(exchange.collect(Worker.sink_side))
    exchange._end()


class InterruptedDriverError(Exception):
    """Ends a driver."""


def sweeps_of(folder: Path) -> int:
    """Return the number of sweeps of a checkpoint."""
    text = files.read_manifest(folder / files.MANIFEST, files.FORMAT)
    assert text is not None
    return int(json.loads(text)["sweeps"])


def interrupted_after(sweeps: int, folder: Path, **options: Any) -> None:
    """Run a driver that ends after some sweeps."""

    def report(progress: Progress) -> None:
        if progress.sweeps == sweeps:
            raise InterruptedDriverError

    with pytest.raises(InterruptedDriverError):
        solved(GRID, 5, RayExchange(workers=2, checkpoint=folder, **options), report=report)


def test_another_driver_continues_from_the_checkpoint(ray_cluster: None, tmp_path: Path) -> None:
    interrupted_after(3, tmp_path / "new")
    seen: list[Progress] = []
    exchange = RayExchange(workers=3, checkpoint=tmp_path / "new")
    labels, progress = solved(GRID, 5, exchange, report=seen.append)
    assert seen[0].sweeps == 3
    assert seen[0].lower > 0
    assert np.array_equal(labels, EXPECTED.labels)
    assert progress.lower == EXPECTED.value
    assert len(list((tmp_path / "new").glob("region-*.state"))) == 5


def test_a_checkpoint_every_second_sweep(ray_cluster: None, tmp_path: Path) -> None:
    interrupted_after(3, tmp_path, every=2)
    assert sweeps_of(tmp_path) == 2


@pytest.mark.parametrize("named", [False, True])
def test_each_rounding_has_its_checkpoints(ray_cluster: None, named: bool, tmp_path: Path) -> None:
    grid = twice_rounded()
    for _ in range(2):
        exchange = {"exchange": "ray", "folder": tmp_path, "threads": 2}
        if not named:
            exchange = {"exchange": RayExchange(workers=2, checkpoint=tmp_path)}
        result = preflow.distributed.grid_cut(**grid, **exchange, regions=4)
        assert np.array_equal(result.labels, preflow.grid_cut(**grid).labels)
        result._exchange._end()  # type: ignore[attr-defined]
    assert list(tmp_path.glob("rounded-1/*"))


@pytest.mark.parametrize("has_checkpoint", [True, False])
def test_lost_borders_come_from_the_checkpoint(
    ray_cluster: None, tmp_path: Path, has_checkpoint: bool
) -> None:
    """As if the machine was lost that stored them; without a checkpoint the solve starts over."""
    exchange = RayExchange(workers=2, checkpoint=tmp_path if has_checkpoint else None)
    lost, seen = [3], []

    def report(progress: Progress) -> None:
        seen.append(progress.sweeps)
        if progress.sweeps in lost:
            lost.clear()
            ray.kill(exchange.actors[0])
            go_back, exchange._go_back = exchange._go_back, fail  # type: ignore[method-assign]
            exchange.go_back_later = go_back  # type: ignore[attr-defined]

    def fail() -> Any:
        from preflow.distributed.on_ray import LostError

        exchange._go_back = exchange.go_back_later  # type: ignore[attr-defined,method-assign]
        raise LostError("gone") from ray.exceptions.ObjectLostError("0" * 56, None, "")

    labels, progress = solved(GRID, 5, exchange, report=report)
    assert not lost
    assert seen[:5] == ([1, 2, 3, 3, 4] if has_checkpoint else [1, 2, 3, 1, 2])
    assert np.array_equal(labels, EXPECTED.labels)
    assert progress.lower == EXPECTED.value


def test_only_the_sweep_of_a_loss_begins_again(ray_cluster: None) -> None:
    """The actors that live keep what their discharges did inside."""
    exchange, seen = RayExchange(workers=2), []

    def report(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) in (2, 4):
            ray.kill(exchange.actors[len(seen) % 2])

    labels, progress = solved(GRID, 6, exchange, report=report)
    assert [each.sweeps for each in seen[:7]] == [1, 2, 2, 3, 3, 4, 5]
    assert exchange.replaced == 2
    assert all(one.upper >= other.upper for one, other in pairwise(seen))
    assert np.array_equal(labels, EXPECTED.labels)
    assert progress.lower == EXPECTED.value


def test_a_state_that_is_lost_while_a_checkpoint_is_written(
    ray_cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = RayExchange(workers=2, checkpoint=tmp_path)
    write, get, left, is_writing = exchange._write, ray.get, [3, 2], [False]

    def flagged(store: files.Store) -> None:
        is_writing[0] = True
        try:
            write(store)
        finally:
            is_writing[0] = False

    def losing(references: Any, **named: Any) -> Any:
        if is_writing[0] and left:
            left[0] -= 1
            if left[0] == 0:
                left.pop(0)
                raise ray.exceptions.ObjectLostError("0" * 56, None, "")
        return get(references, **named)

    monkeypatch.setattr(exchange, "_write", flagged)
    monkeypatch.setattr(ray, "get", losing)
    labels, progress = solved(GRID, 5, exchange)
    assert not left
    assert np.array_equal(labels, EXPECTED.labels)
    assert len(list(tmp_path.glob("region-*.state"))) == 5
    assert sweeps_of(tmp_path) == progress.sweeps


def test_damaged_checkpoints_are_refused(ray_cluster: None, tmp_path: Path) -> None:
    interrupted_after(2, tmp_path)
    with pytest.raises(InvalidInputError, match="has the checkpoint of another problem"):
        solved(noisy_ball(18), 5, RayExchange(workers=1, checkpoint=tmp_path))
    part = next(tmp_path.glob("region-3*.state"))
    part.write_bytes(part.read_bytes()[:99])
    with pytest.raises(ParseError, match=r"region-3.*damaged checkpoint: the file is too short"):
        solved(GRID, 5, RayExchange(workers=1, checkpoint=tmp_path))
    part.unlink()
    with pytest.raises(ParseError, match=r"region-3.*damaged checkpoint"):
        solved(GRID, 5, RayExchange(workers=1, checkpoint=tmp_path))


def test_the_stop_flag_reaches_actors(ray_cluster: None) -> None:
    control = Control()

    def report(progress: Progress) -> None:
        if progress.sweeps == 2:
            control.stop[0] = 1

    _, progress = solved(GRID, 5, RayExchange(workers=2), control, report)
    assert progress.sweeps == 2
    assert progress.lower <= EXPECTED.value <= progress.upper


def test_after_ctrl_c_no_state_is_stored(ray_cluster: None) -> None:
    exchange, control = RayExchange(workers=2), Control()

    def interrupt(progress: Progress) -> None:
        control.interrupted.append(True)

    with pytest.raises(Abandoned):
        solved(GRID, 4, exchange, control, interrupt)
    assert exchange._stored is None
    assert not exchange.actors


class BrokenTask:
    """A region that cannot be read."""

    number = 0

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def build(self) -> Any:
        if self.error is None:
            import os

            os._exit(3)
        raise self.error


def test_regions_that_cannot_be_read(ray_cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = RayExchange(workers=1)
    with pytest.raises(InvalidInputError, match="negative"):
        exchange.scatter([BrokenTask(InvalidInputError("negative"))], Control())
    exchange.close()
    monkeypatch.setattr("preflow.distributed.on_ray.ATTEMPTS", 2)
    exchange = RayExchange(workers=1)
    with pytest.raises(WorkerDiedError, match="actors end before they are ready"):
        exchange.scatter([BrokenTask(None)], Control())
    exchange.close()


def test_ray_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflow.distributed.on_ray.ray", None)
    with pytest.raises(MissingDependencyError, match=r"needs Ray: .*'preflow\[ray\]'"):
        preflow.distributed.RayExchange()


def test_results_that_hold_all_cpus_are_named(ray_cluster: None) -> None:
    arrays = np.ones((6, 6), dtype=np.int64), np.eye(6, dtype=np.int64), 1
    first = preflow.distributed.grid_cut(*arrays, exchange=RayExchange(workers=CPUS), regions=CPUS)
    with pytest.raises(
        InvalidInputError, match="2 actors need 2 CPUs, but results of earlier solves hold 3 of 3"
    ):
        preflow.distributed.grid_cut(*arrays, exchange=RayExchange(workers=2), regions=2)
    first.verify()
    del first
    preflow.distributed.grid_cut(*arrays, exchange=RayExchange(workers=2), regions=2).verify()


def test_bad_arguments(tmp_path: Path) -> None:
    for name in ("workers", "threads", "every"):
        with pytest.raises(InvalidInputError, match=f"{name} must be at least 1, got 0"):
            RayExchange(**{name: 0})
    with pytest.raises(InvalidInputError, match="device must be 'cpu' or 'cuda', got 'gpu'"):
        RayExchange(device="gpu")  # type: ignore[arg-type]


def kill_often(kills: int) -> None:
    """Kill actors at random, and compare each cut."""
    grid = noisy_ball(40)
    expected = preflow.grid_cut(grid, method="serial-incremental-bfs")
    killed = replaced = 0
    start = time.monotonic()
    for seed in range(10**6):
        exchange = FaultyExchange(seed, 0.25, workers=3)
        labels, progress = solved(grid, 5, exchange)
        assert np.array_equal(labels, expected.labels)
        assert progress.lower == progress.upper == expected.value
        killed, replaced = killed + exchange.kills, replaced + exchange.replaced
        took = time.monotonic() - start
        print(f"solve {seed + 1}: {killed} killed, {replaced} replaced, {took:.0f} s", flush=True)
        if killed >= kills:
            return


if __name__ == "__main__":
    with cluster():
        kill_often(int(sys.argv[1]))
