"""Linear assignment on a GPU: the kernels on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.assignment import cuda_batch, policy
from preflow.assignment.cuda_batch import BatchOptions
from preflow.assignment.problem import METHODS
from preflow.assignment.result import AssignmentResult
from preflow.cuda import runtime
from preflow.errors import InfeasibleError, InvalidInputError, UnsuitableMethodError, VerificationError
from preflow.graph.cost_input import as_costs
from preflow.graph.device.costs import DeviceCosts
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import cheapest_assignments

pytestmark = pytest.mark.usefixtures("cpu_device")

KINDS = ["int8", "int32", "int64", "float32", "float64", "forbidden"]
VARIANTS: list[dict[str, Any]] = [{}, {"warps": 2, "shared": False, "row_reduction": 0}]


def random_stack(shape: tuple[int, ...], kind: str, seed: int, maximize: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "int8":
        return rng.integers(-3, 4, shape).astype(np.int8)
    if kind == "int32":
        return rng.integers(-(2**24), 2**24, shape).astype(np.int32)
    if kind == "int64":
        return rng.integers(-(2**59), 2**59, shape)
    costs = rng.random(shape, dtype=np.float32 if kind == "float32" else np.float64) - 0.3
    if kind == "forbidden":
        costs[rng.random(shape) < 0.3] = -np.inf if maximize else np.inf
    return costs


def solve(costs: Any, **arguments: Any) -> AssignmentResult:
    """Solve on the GPU and verify."""
    result = preflow.linear_assignment(costs, method="cuda-batch", **arguments)
    result.verify()
    assert result.stats.device == "cuda"
    return result


@pytest.mark.parametrize("options", VARIANTS)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5)),
    kind=st.sampled_from(["int8", "int64", "forbidden"]),
    seed=st.integers(0, 10**6),
    maximize=st.booleans(),
)
@example(shape=(1, 1, 1), kind="int8", seed=0, maximize=False)
@example(shape=(2, 1, 5), kind="forbidden", seed=0, maximize=True)
@example(shape=(2, 5, 1), kind="int64", seed=0, maximize=False)
@settings(max_examples=8)
def test_agrees_with_all_permutations(
    options: dict[str, Any], shape: tuple[int, int, int], kind: str, seed: int, maximize: bool
) -> None:
    costs = random_stack(shape, kind, seed, maximize)
    result = solve(
        costs, maximize=maximize, partial=True, options={**options, "column_reduction": seed % 2 > 0}
    )
    for item, matrix in enumerate(costs):
        size, best = cheapest_assignments(matrix.tolist(), *shape[1:], maximize)
        assert (result.row[item] >= 0).sum() == size
        assert result.cost[item] == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("shape", "kind", "options"),
    [
        ((45, 45), "int8", {}),
        ((70, 20), "float32", {"shared": False, "warps": 1}),
        ((70, 68), "int32", {"shared": False, "warps": 2}),
        ((20, 67), "int32", {"shared": False, "warps": 2}),
    ],
)
def test_several_columns_a_thread(shape: tuple[int, int], kind: str, options: dict[str, Any]) -> None:
    for maximize in (False, True):
        costs = random_stack(shape, kind, 1)
        rows, columns = linear_sum_assignment(costs, maximize)
        result = solve(OnGpu(costs), maximize=maximize, options=options)
        assert float(result.cost) == pytest.approx(sum(costs[rows, columns].tolist()), rel=1e-6)
        assert result.stats.arc_scans > 0


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_matrices_of_different_sizes(kind: str, maximize: bool) -> None:
    costs = random_stack((3, 4, 6, 5), kind, 2)
    sizes = np.random.default_rng(0).integers(0, [7, 6], (3, 4, 2))
    sizes[0, :3] = [[6, 2], [2, 5], [0, 4]]
    for index in np.ndindex(3, 4):
        n, m = sizes[index]
        rest = np.nan if kind == "float32" else 99
        costs[index][n:], costs[index][:, m:] = rest, rest
    on_host = preflow.linear_assignment(costs, sizes=sizes, maximize=maximize, device="cpu")
    for given_costs in (costs, OnGpu(costs)):
        result = solve(given_costs, sizes=sizes, maximize=maximize)
        cost, row, u, v = (
            np.asarray(getattr(part, "values", part))
            for part in (result.cost, result.row, result.u, result.v)
        )
        assert np.allclose(cost, on_host.cost)
        assert np.array_equal(row >= 0, on_host.row >= 0)
        for index in np.ndindex(3, 4):
            assert not u[index][sizes[index][0] :].any()
            assert not v[index][sizes[index][1] :].any()


def test_results_are_where_the_costs_are() -> None:
    costs = random_stack((4, 3, 3), "float32", 0)
    for given_costs, kind in ((costs, np.ndarray), (OnGpu(costs), OnGpu)):
        result = solve(given_costs)
        for name in ("row", "column", "u", "v", "cost"):
            assert type(getattr(result, name)) is kind
        assert ("upload" in result.stats.seconds) == (kind is np.ndarray)
    one = preflow.linear_assignment(OnGpu(costs[0]))
    one.verify()
    assert one.stats.method == "cuda-batch"
    assert "on a GPU" in one.stats.reason
    assert isinstance(one.cost, float)
    assert preflow.linear_assignment(OnGpu(costs), device="cpu").stats.device == "cpu"
    assert preflow.linear_assignment(costs, device="cuda").stats.device == "cuda"
    assert solve(OnGpu(np.zeros((0, 3, 3)))).row.values.shape == (0, 3)
    assert solve(OnGpu(np.zeros((2, 0, 3)))).v.values.tolist() == [[0.0] * 3] * 2


def test_a_gpu_in_use_is_taken_for_large_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = random_stack((5, 3, 3), "int8", 0)
    assert preflow.linear_assignment(costs).stats.device == "cpu"
    monkeypatch.setattr(runtime, "is_in_use", lambda: True)
    monkeypatch.setattr(policy, "ITEMS_FOR_GPU", 5)
    monkeypatch.setattr(policy, "COSTS_FOR_GPU", 45)
    assert "enough work for the GPU" in preflow.linear_assignment(costs).stats.reason
    assert preflow.linear_assignment(costs, threads=1).stats.device == "cpu"
    assert preflow.linear_assignment(costs, device="cpu").stats.device == "cpu"
    assert preflow.linear_assignment(costs[:4]).stats.device == "cpu"


def test_items_without_an_assignment() -> None:
    costs = random_stack((2, 3, 4, 4), "float64", 0)
    costs[1, 2, :3, 1:] = np.inf
    costs[0, 1, 2] = np.inf
    for given_costs in (costs, OnGpu(costs)):
        with pytest.raises(InfeasibleError, match=r"matrix \(0, 1\): no assignment: row 2 is") as caught:
            preflow.linear_assignment(given_costs, method="cuda-batch")
        assert caught.value.item == (0, 1)
    result = solve(costs, partial=True)
    assert (result.row >= 0).sum(axis=2).tolist() == [[4, 3, 4], [4, 4, 2]]
    assert "2 items without an assignment" in result.stats.reason
    expected = preflow.linear_assignment(costs, partial=True)
    assert np.allclose(result.cost, expected.cost)
    single = solve(costs[1, 2], partial=True)
    assert single.row.shape == (2,)


@pytest.mark.parametrize("kind", ["int8", "float64"])
@pytest.mark.parametrize("maximize", [False, True])
def test_verifier_on_the_device_finds_what_is_wrong(kind: str, maximize: bool) -> None:
    costs = random_stack((3, 4, 6), kind, 0)
    result = solve(OnGpu(costs), maximize=maximize)
    sign = -1 if maximize else 1
    unused = sorted(set(range(6)) - set(result.column.values[1].tolist()))[0]
    for name, place, value in (
        ("column", (1, 0), result.column.values[1, 1]),
        ("column", (1, 0), unused),
        ("column", (1, 0), 6),
        ("row", (1, 0), 1),
        ("row", (1, 3), -1),
        ("u", (1, 2), result.u.values[1, 2] + 1),
        ("u", (1, 2), result.u.values[1, 2] - 1),
        ("v", (1, unused), result.v.values[1, unused] - 5 * sign),
        ("cost", (1,), result.cost.values[1] + 1),
    ):
        values = getattr(result, name).values
        before = values[place]
        values[place] = value
        with pytest.raises(VerificationError):
            result.verify()
        values[place] = before
        result.verify()


def test_integers_are_solved_in_as_few_bits_as_do() -> None:
    for least, most, number, stored in (
        (-100, 155, cuda_batch.INT32, 1),
        (-100, 156, cuda_batch.INT32, 2),
        (0, 2**27 - 1, cuda_batch.INT32, 4),
        (0, 2**27, cuda_batch.INT64, 4),
        (-(2**59), 2**59, cuda_batch.INT64, 8),
    ):
        costs = random_stack((2, 6, 6), "int8", 0).astype(np.int64) * 0 + most
        costs[:, :, ::2] = least
        there = as_costs(OnGpu(costs), False)
        assert isinstance(there, DeviceCosts)
        shape = cuda_batch._shape(there, BatchOptions())
        assert (shape.number, shape.stored) == (number, stored)
        for maximize in (False, True) if most >= 2**27 else ():
            assert solve(costs, maximize=maximize).cost.tolist() == [3 * (least + most)] * 2


def test_sums_beyond_64_bits() -> None:
    costs = np.full((2, 40, 40), 2**59)
    assert solve(costs).cost.tolist() == [40 * 2**59] * 2


def test_a_stack_is_solved_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_batch, "COSTS_OF_LAUNCH", 50)
    costs = random_stack((7, 4, 4), "int8", 0)
    sizes = np.full((7, 2), [3, 4])
    result = solve(costs, sizes=sizes)
    assert np.array_equal(result.cost, preflow.linear_assignment(costs, sizes=sizes).cost)

    class Impatient(Control):
        @property
        def stopped(self) -> bool:
            return self.progress[0] < 1

    monkeypatch.setattr("preflow.solving.call.Control", Impatient)
    for kind in ("int8", "float32"):
        result = solve(random_stack((7, 4, 4), kind, 0))
        assert result.status == "time-limit"
        assert (result.row >= 0).all(axis=1).tolist() == [True] * 3 + [False] * 4
        assert result.lower_bound.tolist()[3:] == [-np.inf] * 4
        assert result.upper_bound.tolist()[3:] == [np.inf] * 4


@pytest.mark.parametrize(
    ("options", "sanitizer"), [(VARIANTS[0], "address"), (VARIANTS[0], "thread"), (VARIANTS[1], "thread")]
)
def test_sanitizers_have_nothing_to_report(
    options: dict[str, Any], sanitizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    solve(random_stack((3, 7, 9), "float32", 0), sizes=[[7, 9], [7, 7], [4, 2]], options=options)


@pytest.mark.fast
def test_bad_arguments() -> None:
    with pytest.raises(UnsuitableMethodError, match="up to 4,096 rows and columns, got 1 x 4,097"):
        solve(np.zeros((1, 4097)))
    with pytest.raises(InvalidInputError, match="takes dense costs"):
        preflow.linear_assignment(scipy.sparse.eye_array(3), method="cuda-batch")
    with pytest.raises(InvalidInputError, match="runs on cuda, not on device 'cpu'"):
        preflow.linear_assignment(np.eye(3), method="cuda-batch", device="cpu")
    for options, message in (
        ({"warps": -1}, "warps"),
        ({"shared": 1}, "shared"),
        ({"row_reduction": 0.5}, "row_reduction"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            solve(np.eye(3), options=options)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("kind", KINDS)
def test_stacks_on_a_gpu(kind: str) -> None:
    record = find_method(METHODS, "cuda-batch")
    for seed, shape in enumerate(
        [
            *((1000, 12, 12), (500, 20, 60), (500, 60, 20), (100, 100, 100)),
            *((10, 256, 130), (10, 300, 300), (2, 700, 1100)),
        ]
    ):
        for options in [{}] if max(shape) > 60 else VARIANTS:
            maximize = seed % 2 == 0
            costs = random_stack(shape, kind, seed, maximize)
            result = solve(costs, maximize=maximize, options=options, partial=kind == "forbidden")
            expected = preflow.linear_assignment(
                costs, maximize=maximize, device="cpu", partial=kind == "forbidden"
            )
            assert np.allclose(result.cost.astype(float), expected.cost.astype(float), rtol=1e-12, atol=1e-9)
            assert record.make_options(options)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_costs_of_very_different_size(kind: str) -> None:
    """What floats on the GPU lose beside a large number for pairs that are hardly allowed, the host finds."""
    rng = np.random.default_rng(3)
    costs = np.where(rng.random((4, 6, 6)) < 0.7, 1e16, rng.random((4, 6, 6)))
    costs[:, np.arange(6), rng.permutation(6)] = rng.random(6)
    costs[1] = rng.random((6, 6))
    expected = preflow.linear_assignment(np.where(costs < 1e16, costs, np.inf), method="serial-shortest-path")
    result = solve(costs if kind == "host" else OnGpu(costs))
    found = np.asarray(getattr(result.cost, "values", result.cost))
    assert found == pytest.approx(expected.cost, rel=1e-12)
    assert (result.gap <= 1e-12).all()


def test_integers_of_any_size_on_the_host() -> None:
    profit = np.random.default_rng(0).integers(0, 1000, (2, 4, 6))
    best = preflow.linear_assignment(profit, maximize=True).cost
    for costs in ((2**63 - 1) - profit, np.swapaxes((2**63 - 1) - profit, 1, 2)):
        result = solve(costs)
        assert (result.cost == 4 * (2**63 - 1) - best.astype(object)).all()
