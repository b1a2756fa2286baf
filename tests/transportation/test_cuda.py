"""Transport on a GPU, with its kernels on CPU threads, against a linear program."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import preflow
from preflow.arrays import Array
from preflow.cuda import runtime
from preflow.errors import CostOverflowError
from preflow.graph.device.costs import DeviceCosts
from preflow.graph.device.points import DevicePoints
from preflow.solving.run import Control
from preflow.transportation import cuda_transport
from preflow.transportation.cuda_transport import CudaTransportOptions
from preflow.transportation.cuda_transport.spanning_tree import spanning_tree
from preflow.transportation.forest import spanning_forest
from preflow.transportation.solution import TransportFound
from tests.support.cuda_min_cost import random_masses, use
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer

#: Few barriers: they take long on CPU threads.
OPTIONS = CudaTransportOptions(temperatures=2, steps=1)


def least_cost(cost: Array, a: Array, b: Array) -> float:
    n, m = cost.shape
    ones = sp.vstack([sp.kron(sp.eye(n), np.ones((1, m))), sp.kron(np.ones((1, n)), sp.eye(m))])
    found = scipy.optimize.linprog(
        cost.astype(float).ravel(), A_eq=ones.tocsr(), b_eq=np.concatenate([a, b]), method="highs"
    )
    return float(found.fun)


def dense(device: Any, values: Array) -> DeviceCosts:
    return DeviceCosts(values, device=device, restore=None)


def check(cost: Array, a: Array, b: Array, found: TransportFound, tolerance: float = 0) -> None:
    assert found.ending == "optimal"
    plan = np.zeros(cost.shape, dtype=np.int64)
    np.add.at(plan, (found.row, found.column), found.mass)
    assert (plan.sum(axis=1) == a).all()
    assert (plan.sum(axis=0) == b).all()
    assert (found.mass > 0).all()
    assert len(found.mass) < sum(cost.shape)
    reduced = cost + found.u[:, None] - found.v
    assert reduced.min() >= -tolerance
    assert (abs(reduced[plan > 0]) <= tolerance).all()
    assert (plan * cost.astype(float)).sum() == pytest.approx(least_cost(cost, a, b), abs=1e-4)


@pytest.mark.parametrize("kind", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_a_linear_program(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    rng = np.random.default_rng(seed)
    items, n, m = rng.integers(1, 8, 3).tolist()
    items = min(items, 3)
    shape = (items, n, m)
    values = (rng.integers(-20, 100, shape) if kind[0] == "i" else rng.random(shape)).astype(kind)
    a, b = random_masses(rng, items, n, m)
    found = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    assert len(found) == items
    for item, each in enumerate(found):
        assert (each.rounding == 0) == (kind[0] == "i")
        check(values[item], a[item], b[item], each, 4 * each.rounding)


@pytest.mark.parametrize("kind", range(4))
def test_points(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = use(monkeypatch)
    rng = np.random.default_rng(kind)
    rows, columns = rng.random((6, 2)), rng.random((5, 2))
    a, b = random_masses(rng, 1, 6, 5)
    points = DevicePoints(rows, columns, kind, 2.0, device=device, restore=None)
    (found,) = cuda_transport.solve(points, a, b, OPTIONS, Control())
    gaps = abs(rows[:, None] - columns)
    squares = (gaps**2).sum(axis=-1)
    cost = 2.0 * (np.sqrt(squares), squares, gaps.sum(axis=-1), gaps.max(axis=-1))[kind]
    check(cost, a[0], b[0], found, 4 * found.rounding)


def test_more_columns_than_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1000, (1, 12, 90))
    a, b = random_masses(rng, 1, 12, 90)
    (found,) = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    check(values[0], a[0], b[0], found)


@pytest.mark.parametrize("kept", range(4))
@pytest.mark.parametrize("wide", [False, True])
def test_places_of_the_tree(kept: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = use(monkeypatch)
    n, m = 24, 33
    if wide:
        monkeypatch.setattr(cuda_transport, "MOST_NARROW", 0)
    half = 4 if wide else 2
    for device.shared_bytes in range(cuda_transport.SCRATCH_BYTES[half], 2**16, 64):
        if cuda_transport._kept(device.shared_bytes, n + m, half)[0] == kept:
            break
    rng = np.random.default_rng(kept)
    values = rng.integers(0, 1000, (1, n, m))
    a, b = random_masses(rng, 1, n, m)
    (found,) = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    check(values[0], a[0], b[0], found)


@pytest.mark.parametrize("seed", range(4))
def test_refined_start(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    monkeypatch.setattr(cuda_transport, "LEAST_REFINED", 0)
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 14, 2).tolist()
    values = rng.integers(0, 100, (1, n, m))
    a, b = random_masses(rng, 1, n, m)
    (found,) = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    check(values[0], a[0], b[0], found)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(5))
def test_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.flatnonzero(rng.random((7, 9)) < 0.6)
    row, column = np.divmod(pairs, 9)
    mass = rng.integers(1, 5, len(pairs))
    left = spanning_forest(row, column, mass, 7, 9).mass
    assert (left >= 0).all()
    assert (left > 0).sum() < 16
    for ends in (row, column):
        assert (np.bincount(ends, left) == np.bincount(ends, mass)).all()


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(20))
def test_tree_of_a_plan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 9, 2).tolist()
    plan = rng.integers(0, 4, (n, m)) * (rng.random((n, m)) < 0.5)
    plan[rng.integers(n), rng.integers(m)] += 1
    a, b = plan.sum(axis=1), plan.sum(axis=0)
    row, column = np.nonzero(plan)
    link_row, link_column = np.nonzero((rng.random((n, m)) < 0.3) & (b > 0))
    root = int(a.argmax())
    parent, flow = spanning_tree((row, column, plan[row, column]), (link_row, link_column), root, n, m)
    assert parent[root] == -1
    left = np.concatenate([a, -b])
    for vertex in range(n + m):
        above = parent[vertex]
        if above < 0:
            assert vertex == root or (vertex >= n and b[vertex - n] == 0)
            continue
        assert (vertex < n) != (above < n)
        assert flow[vertex] >= (0 if vertex < n else 1)
        left[vertex] -= flow[vertex] if vertex < n else -flow[vertex]
        left[above] += flow[vertex] if vertex < n else -flow[vertex]
        steps = 0
        while above != root:
            above, steps = parent[above], steps + 1
            assert steps < n + m
    assert not left.any()


def test_many_equal_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (1, 20, 20))
    a = np.ones((1, 20), dtype=np.int64)
    (found,) = cuda_transport.solve(dense(device, values), a, a.copy(), OPTIONS, Control())
    check(values[0], a[0], a[0], found)


def test_no_mass(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    values = np.arange(12).reshape(1, 3, 4)
    a, b = np.zeros((1, 3), dtype=np.int64), np.zeros((1, 4), dtype=np.int64)
    (found,) = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    check(values[0], a[0], b[0], found)


def test_goes_on_after_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    monkeypatch.setattr(cuda_transport, "PIVOTS_A_LAUNCH", 3)
    rng = np.random.default_rng(3)
    values = rng.integers(0, 100, (2, 12, 9))
    a, b = random_masses(rng, 2, 12, 9)
    found = cuda_transport.solve(dense(device, values), a, b, CudaTransportOptions(temperatures=0), Control())
    for item, each in enumerate(found):
        check(values[item], a[item], b[item], each)


def test_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    control = Control()
    control.stop[0] = 1
    one = np.ones((1, 3), dtype=np.int64)
    (found,) = cuda_transport.solve(dense(device, np.ones((1, 3, 3))), one, one, OPTIONS, control)
    assert found.ending == "stopped"


@pytest.mark.parametrize("room", [1, 3])
def test_fewer_blocks_than_asked_for(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = use(monkeypatch)
    monkeypatch.setattr("tests.support.cuda_on_cpu.device.MOST_THREADS", 96)
    device.num_multiprocessors, device.time_limit = 4, 30
    launch = device.launch

    def launch_few(path: Any, kernel: str, blocks: int, *arguments: Any, **named: Any) -> None:
        launch(path, kernel, min(blocks, room) if named.get("cooperative") else blocks, *arguments, **named)

    monkeypatch.setattr(device, "launch", launch_few)
    rng = np.random.default_rng(4)
    values = rng.integers(0, 100, (2, 5, 6))
    a, b = random_masses(rng, 2, 5, 6)
    for item, each in enumerate(cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())):
        check(values[item], a[item], b[item], each)


@pytest.mark.parametrize("late_block", [0, 1])
def test_all_blocks_stop_at_one_barrier(late_block: int) -> None:
    one = np.ones((1, 6), dtype=np.int64)
    long = CudaTransportOptions(temperatures=1000, steps=4)
    for seconds in (0, 0.05, 0.06, 0.07):  # the first solve compiles the kernel
        device = CpuDevice(late_block=late_block, time_limit=30)
        control = Control()
        timer = threading.Timer(seconds, control.stop.fill, [1])
        timer.start()
        values = np.arange(36).reshape(1, 6, 6)
        (found,) = cuda_transport.solve(dense(device, values), one, one, long, control)
        timer.join()
        assert found.ending == "stopped"


def test_large_costs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    one = np.ones((1, 3), dtype=np.int64)
    with pytest.raises(CostOverflowError, match="may pass"):
        cuda_transport.solve(dense(device, np.full((1, 3, 3), 2**58)), one, one, OPTIONS, Control())


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_under_sanitizers(sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch, sanitizer)
    rng = np.random.default_rng(2)
    values = rng.integers(0, 50, (1, 4, 5))
    a, b = random_masses(rng, 1, 4, 5)
    (found,) = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    check(values[0], a[0], b[0], found)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("shape", [(1, 1), (40, 60), (700, 500), (2300, 2100), (3, 50, 40), (70, 300, 310)])
@pytest.mark.parametrize("kind", ["i4", "i8", "f4"])
def test_on_a_gpu(shape: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(0)
    values = (rng.integers(0, 1000, shape) if kind[0] == "i" else rng.random(shape)).astype(kind)
    a, b = random_masses(rng, values.size // (shape[-1] * shape[-2]), *shape[-2:])
    masses = a.reshape(*shape[:-2], -1), b.reshape(*shape[:-2], -1)
    results = preflow.transport(values, *masses, method="cuda-transport")
    for result in results if len(shape) > 2 else [results]:
        result.verify()
        assert result.status == "optimal"
        # Random numbers of single precision are multiples of one power of two.
        assert result.gap == 0 if kind[0] == "i" else result.gap <= 1e-9 * a.sum()


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("size", [300, 3000])
def test_points_on_a_gpu(size: int) -> None:
    rng = np.random.default_rng(1)
    points = preflow.PointCosts(*rng.random((2, size, 3)), metric="euclidean")
    masses = rng.random((2, size)) + 0.1
    masses /= masses.sum(axis=1, keepdims=True)
    preflow.transport(points, *masses, method="cuda-transport").verify()


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"refine": False, "temperatures": 0}])
def test_stops_on_a_gpu(options: dict[str, Any], gpu: runtime.Device) -> None:
    rng = np.random.default_rng(2)
    size = 6000
    values = gpu.xp.asarray(rng.random((size, size)))
    a, b = random_masses(rng, 1, size, size)

    def transport(seconds: float | None) -> Any:
        return preflow.transport(
            values, a[0], b[0], method="cuda-transport", options=options, time_limit=seconds
        )

    least = transport(None).cost
    result = transport(0.03)
    assert result.status == "time-limit"
    assert result.stats.seconds["solve"] < 0.3
    assert result.lower_bound <= least
