"""Batches of transport whose costs are on a GPU: proofs of all items at once, arrays that are made late."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.arrays import Array
from preflow.certify import device_transport
from preflow.certify.transport import plan_cost, prove_plan
from preflow.cuda import runtime
from preflow.errors import CapacityOverflowError, CostOverflowError, InvalidInputError, VerificationError
from preflow.graph.costs import DenseCosts
from preflow.graph.device.costs import DeviceCosts
from preflow.solving.run import Control
from preflow.transportation import api, cuda_transport
from tests.support.cuda_min_cost import random_masses, use
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.cuda_on_cpu.device import Sanitizer

KINDS = ("i1", "i4", "i8", "f2", "f4", "f8")
ITEMS, ROWS, COLUMNS = 3, 5, 7


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    return use(monkeypatch)


def problem(kind: str, seed: int = 0, items: int = ITEMS) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    shape = items, ROWS, COLUMNS
    cost = rng.integers(-20, 100, shape) if kind[0] == "i" else rng.random(shape) * 2 - 0.5
    return (cost.astype(kind), *random_masses(rng, items, ROWS, COLUMNS))


def shares(a: Array) -> Array:
    found: Array = (a + 0.1) / (a + 0.1).sum(axis=-1, keepdims=True)
    return found


def solve(cost: Array, a: Any, b: Any, **more: Any) -> Any:
    options = {"temperatures": 2, "steps": 1}
    return preflow.transport(OnGpu(cost), a, b, options=options, method="cuda-transport", **more)


def on_host(result: Any, name: str) -> Array:
    found = getattr(result, name)
    assert isinstance(found, OnGpu)
    return found.values


def check(result: Any, cost: Array, a: Array, b: Array) -> None:
    """Check a result by the proof of the host."""
    result.verify()
    assert result.status == "optimal"
    host = DenseCosts(cost[None].astype(np.int64 if cost.dtype.kind == "i" else cost.dtype))
    plan = tuple(on_host(result, name) for name in ("row", "column", "mass"))
    v = on_host(result, "v")
    gap = prove_plan(host, a, b, plan, v).gap
    if cost.dtype.kind == a.dtype.kind == b.dtype.kind == "i":
        assert isinstance(result.cost, int)
        assert result.gap == 0
        assert result.cost == plan_cost(host, 0, *plan)
    else:
        assert result.cost == pytest.approx(plan_cost(host, 0, *plan), rel=1e-12, abs=1e-12)
        size = float(np.abs(host.at(0, plan[0], plan[1]).astype(float)) @ plan[2])
        assert gap / 2 <= result.gap <= 2 * gap + size * 2.0**-42
    moved = np.zeros(cost.shape)
    np.add.at(moved, plan[:2], plan[2])
    np.testing.assert_allclose(moved.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(moved.sum(axis=0), b, atol=1e-12)
    np.testing.assert_array_equal(on_host(result, "a"), a)
    np.testing.assert_array_equal(on_host(result, "b"), b)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masses", ["integers", "whole floats", "shares"])
def test_agrees_with_the_proof_of_the_host(kind: str, masses: str) -> None:
    cost, a, b = problem(kind)
    if masses == "whole floats":
        a, b = a.astype(float), b.astype(float)
    elif masses == "shares":
        a, b = shares(a), shares(b)
    results = solve(cost, a, b)
    assert len(results) == ITEMS
    for item, result in enumerate(results):
        check(result, cost[item], a[item], b[item])
        best = preflow.transport(cost[item].astype(float), a[item], b[item], device="cpu")
        assert result.cost == pytest.approx(best.cost, rel=1e-6, abs=1e-6)


@pytest.mark.usefixtures("device")
def test_masses_of_both_kinds_in_a_batch() -> None:
    cost, a, b = problem("i4")
    first, second = a.astype(float), b.astype(float)
    first[1], second[1] = shares(first[1]), shares(second[1])
    for item, result in enumerate(solve(cost, first, second)):
        check(result, cost[item], first[item], second[item])


@pytest.mark.usefixtures("device")
def test_one_item_without_a_batch() -> None:
    cost, a, b = problem("f8", items=1)
    check(solve(cost[0], a[0], b[0]), cost[0], a[0], b[0])


@pytest.mark.usefixtures("device")
def test_nothing_to_move() -> None:
    cost, a, b = problem("i4")
    a[1], b[1] = 0, 0
    results = solve(cost, a, b)
    assert results[1].cost == 0
    assert on_host(results[1], "mass").tolist() == []
    for result in results:
        result.verify()


@pytest.mark.usefixtures("device")
def test_arrays_are_made_when_they_are_read() -> None:
    cost, a, b = problem("i8")
    results = solve(cost, a, b)
    for result in results:
        assert result.cost >= result.lower_bound
        assert "row" not in vars(result)
    assert on_host(results[0], "mass").dtype == np.int64
    assert "row" in vars(results[0])
    assert "row" not in vars(results[1])
    assert {"row", "mass", "costs"} <= set(dir(results[1]))
    with pytest.raises(AttributeError, match="no attribute 'rows'"):
        results[2].rows  # noqa: B018
    assert "row" not in vars(results[2])
    assert "3 pairs" in repr(replace(results[2], row=OnGpu([0, 1, 2])))


@pytest.mark.usefixtures("device")
def test_results_can_be_copied() -> None:
    cost, a, b = problem("i4")
    results = solve(cost, a, b)
    for twin in (copy.copy(results[0]), replace(results[1])):
        twin.verify()


def test_results_can_be_pickled(device: Any) -> None:
    cost, a, b = problem("i4")
    costs = DeviceCosts(cost, (ITEMS,), device=device, restore=None)
    call = api.TransportCall.prepare(OnGpu(cost), a, b, api.Request(api.METHODS, "cuda-transport"))
    call.instance = costs
    results = call.transport()
    twin = pickle.loads(pickle.dumps(results[1]))
    twin.verify()
    assert twin.cost == results[1].cost
    assert not twin.row.flags.writeable


@pytest.mark.usefixtures("device")
def test_sums_that_may_not_fit_are_proved_on_the_host() -> None:
    cost, a, b = problem("i8")
    cost *= 2**40
    a, b = a * 2**20, b * 2**20
    for item, result in enumerate(solve(cost, a, b)):
        check(result, cost[item], a[item], b[item])


@pytest.mark.usefixtures("device")
def test_a_stopped_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Control) -> None:
        self.stop[0] = 1

    monkeypatch.setattr(Control, "check_wanted", stop)
    cost, a, b = problem("f4")
    for result in solve(cost, a, b):
        result.verify()
        assert result.status == "time-limit"
        assert result.lower_bound <= result.upper_bound == np.inf


@pytest.mark.usefixtures("device")
def test_costs_times_masses_that_are_too_large() -> None:
    cost, a, b = problem("f8")
    with pytest.raises(CostOverflowError, match="more than float64"):
        solve(cost * 1e290, a * 1e30, b * 1e30)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("kind", "factor"),
    [("f4", 1e-36), ("f4", 1e35), ("f8", 1e-40), ("f8", 1e40), ("f8", 1e-300), ("f8", 1e290)],
)
def test_costs_outside_of_single_precision(kind: str, factor: float) -> None:
    cost, a, b = problem("f8")
    plain = solve(cost, a, b)
    cost = (cost * factor).astype(kind)
    for item, result in enumerate(solve(cost, a, b)):
        result.verify()
        assert result.cost == pytest.approx(plain[item].cost * factor, rel=1e-3)


@pytest.mark.parametrize("field", ["mass", "row"])
def test_a_wrong_plan_is_found(field: str, device: Any) -> None:
    cost, a, b = problem("i4")
    costs = DeviceCosts(cost, (ITEMS,), device=device, restore=None)
    options = cuda_transport.CudaTransportOptions(temperatures=2, steps=1)
    plans = cuda_transport.solve(costs, a, b, options, Control()).arrays
    getattr(plans, field)[1, 0] += 1 if field == "mass" else ROWS
    with pytest.raises(VerificationError, match="item 1"):
        device_transport.proofs_on_device(costs, plans, (a, b), (a, b), None)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_under_sanitizers(sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, sanitizer)
    cost, a, b = problem("f4")
    for item, result in enumerate(solve(cost, shares(a), shares(b))):
        check(result, cost[item], shares(a)[item], shares(b)[item])


def test_plans_have_the_kinds_that_solvers_promise(device: Any) -> None:
    cost, a, b = problem("f4")
    costs = DeviceCosts(cost, (ITEMS,), device=device, restore=None)
    options = cuda_transport.CudaTransportOptions(temperatures=2, steps=1)
    plans = cuda_transport.solve(costs, a, b, options, Control())
    assert len(plans) == len(list(plans)) == ITEMS
    assert plans[0].ending == "optimal"
    assert plans[0].u.dtype == np.float64
    with pytest.raises(IndexError):
        plans[ITEMS]


@pytest.mark.fast
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([[1, 2], [3, 4]], [[3, 0], [3, 3]], "different sums: 7 and 6"),
        ([[1.5, 2], [3, 4]], [[3.5, 0], [3, 3]], "different sums: 7 and 6"),
        ([[1, 2], [3.5, 4]], [[3, 0], [3, 3]], r"different sums: 7\.5 and 6\.0"),
    ],
)
def test_sums_of_one_item_that_differ(a: Any, b: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.transport(np.ones((2, 2, 2)), a, b)


@pytest.mark.fast
def test_masses_past_the_range() -> None:
    large = np.full((2, 2), 2**61)
    with pytest.raises(CapacityOverflowError, match=r"2\*\*62"):
        preflow.transport(np.ones((2, 2, 2)), large, large)
    with pytest.raises(CapacityOverflowError, match="float64"):
        preflow.transport(np.ones((2, 2, 2)), np.full((2, 2), 1e308), np.full((2, 2), 1e308))


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("masses", ["integers", "shares"])
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_on_a_gpu(kind: str, masses: str, library: str, gpu: runtime.Device) -> None:
    rng = np.random.default_rng(1)
    shape = 20, 130, 150
    cost = (rng.integers(0, 1000, shape) if kind[0] == "i" else rng.random(shape)).astype(kind)
    a, b = random_masses(rng, 20, 130, 150)
    if masses == "shares":
        a, b = shares(a), shares(b)
    if library == "torch":
        torch = pytest.importorskip("torch")
        given = torch.from_numpy(cost).cuda()
    else:
        given = gpu.xp.asarray(cost)
    results = preflow.transport(given, a, b)
    for item, result in enumerate(results):
        assert isinstance(result.row, type(given))
        result.verify()
        best = preflow.transport(cost[item].astype(float), a[item], b[item], device="cpu")
        assert result.cost == pytest.approx(best.cost, rel=1e-6)
    twin = pickle.loads(pickle.dumps(results[3]))
    twin.verify()


def huge_costs(items: int, n: int, m: int) -> tuple[Array, Array, Array]:
    """Return costs of which every seventh is huge, and masses."""
    rng = np.random.default_rng(9)
    cost, masses = rng.random((items, n, m)), random_masses(rng, items, n, m)
    cost[rng.random(cost.shape) < 1 / 7] = 1e15
    cost[0, 0, :2] = 1e32, 1e300
    return (cost, *masses)


def check_huge(cost: Array, a: Array, b: Array, results: Any) -> None:
    for item, result in enumerate(results):
        result.verify()
        best = preflow.transport(cost[item], a[item], b[item], device="cpu")
        assert result.status == best.status == "optimal"
        assert result.cost == pytest.approx(best.cost, rel=1e-11)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("masses", ["integers", "shares"])
def test_huge_costs(masses: str) -> None:
    """They spoil nothing, wherever the costs are."""
    cost, a, b = huge_costs(3, ROWS, COLUMNS)
    if masses == "shares":
        a, b = shares(a), shares(b)
    check_huge(cost, a, b, solve(cost, a, b))


@pytest.mark.gpu
@pytest.mark.parametrize("masses", ["integers", "shares"])
@pytest.mark.parametrize("size", [(4, 60, 70), (1, 700, 500)])
def test_huge_costs_on_a_gpu(masses: str, size: tuple[int, int, int], gpu: runtime.Device) -> None:
    cost, a, b = huge_costs(*size)
    if masses == "shares":
        a, b = shares(a), shares(b)
    check_huge(cost, a, b, preflow.transport(gpu.xp.asarray(cost), a, b))


@pytest.mark.gpu
@pytest.mark.parametrize("masses", ["integers", "shares"])
@pytest.mark.parametrize("shape", [(64, 512, 512), (3, 1000, 1200)])
def test_random_floats_are_proved_on_the_gpu(
    masses: str, shape: tuple[int, int, int], gpu: runtime.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No item is solved again on the host."""
    rng = np.random.default_rng(10)
    a, b = random_masses(rng, *shape)
    if masses == "shares":
        a, b = shares(a), shares(b)

    def never(*arguments: Any) -> None:
        raise AssertionError("an item was not proved close on the GPU")

    monkeypatch.setattr(api.TransportCall, "_result", never)
    for result in preflow.transport(gpu.xp.asarray(rng.random(shape)), a, b):
        assert result.status == "optimal"


@pytest.mark.parametrize("kind", ["i4", "i8", "f4", "f8"])
def test_masses_may_stay(device: Any, kind: str) -> None:
    cost, a, b = problem(kind)
    b[0, 0] += 3
    a[1, 2] += 2
    for asked in ({"partial": True}, {"amount": 2}, {"unmatched_cost": (1.5, 20)}):
        for result, *given in zip(solve(cost, a, b, **asked), cost, a, b, strict=True):
            result.verify()
            expected = preflow.transport(*given, **asked)
            assert result.cost == pytest.approx(expected.cost, rel=1e-6)
            assert on_host(result, "surplus").sum() == pytest.approx(expected.surplus.sum())
            assert isinstance(result.v, OnGpu)
