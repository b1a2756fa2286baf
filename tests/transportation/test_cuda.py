"""Transport on a GPU, with its kernels on CPU threads, against a linear program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from numpy.typing import NDArray

from preflow.arrays import Array
from preflow.errors import CostOverflowError
from preflow.graph.device.costs import DeviceCosts
from preflow.graph.device.points import DevicePoints
from preflow.solving.run import Control
from preflow.transportation import cuda_transport
from preflow.transportation.cuda_transport import CudaTransportOptions
from preflow.transportation.forest import spanning_forest
from preflow.transportation.solution import TransportFound
from tests.support.cuda_min_cost import random_masses, use

#: Few listed pairs, so that pricing has to find others.
OPTIONS = CudaTransportOptions(pushing=20_000, searching=8_000, room=2, groups=1)


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


def test_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    control = Control()
    control.stop[0] = 1
    one = np.ones((1, 3), dtype=np.int64)
    (found,) = cuda_transport.solve(dense(device, np.ones((1, 3, 3))), one, one, OPTIONS, control)
    assert found.ending == "stopped"


def test_large_costs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch)
    one = np.ones((1, 3), dtype=np.int64)
    with pytest.raises(CostOverflowError, match="multiplies costs"):
        cuda_transport.solve(dense(device, np.full((1, 3, 3), 2**58)), one, one, OPTIONS, Control())


@pytest.mark.parametrize("seed", range(5))
def test_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.flatnonzero(rng.random((7, 9)) < 0.6)
    row, column = np.divmod(pairs, 9)
    mass: NDArray[np.int64] = rng.integers(1, 5, len(pairs))
    left = spanning_forest(row, column, mass, 7, 9).mass
    assert (left >= 0).all()
    assert (left > 0).sum() < 16
    for ends in (row, column):
        assert (np.bincount(ends, left) == np.bincount(ends, mass)).all()


def test_under_address_sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    device = use(monkeypatch, "address")
    rng = np.random.default_rng(2)
    values = rng.integers(0, 50, (1, 4, 5))
    a, b = random_masses(rng, 1, 4, 5)
    (found,) = cuda_transport.solve(dense(device, values), a, b, OPTIONS, Control())
    check(values[0], a[0], b[0], found)
