"""cuda-shortest-path: its kernel on CPU threads everywhere, and on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.assignment import cuda_shortest_path, policy
from preflow.assignment.result import AssignmentResult
from preflow.cuda import runtime
from preflow.errors import DeviceMemoryError, InfeasibleError, InvalidInputError, SolverError
from preflow.generators.costs import geometric_costs, low_rank_costs, machol_wien_costs, two_costs
from preflow.solving.run import Control
from preflow.stats import AUGMENTATIONS
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import cheapest_assignments

pytestmark = pytest.mark.usefixtures("cpu_device")

#: With short lists rows are looked through whole; without bids all rows are matched by searches.
VARIANTS: list[dict[str, Any]] = [{"lanes": 8}, {"room": 2, "bids": 0, "sweeps": 1, "lanes": 32}]


def random_costs(shape: tuple[int, ...], kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind in ("int32", "int64"):
        return rng.integers(-9, 10, shape).astype(kind)
    if kind == "large":
        return rng.integers(-(2**55), 2**55, shape)
    costs = rng.random(shape, dtype=np.float32 if kind == "float32" else np.float64) - 0.3
    if kind == "forbidden":
        costs[rng.random(shape) < 0.4] = np.inf
    return costs


def solve(costs: Any, **arguments: Any) -> AssignmentResult:
    """Solve on the GPU and verify."""
    options = {"lanes": 8, **arguments.pop("options", {})}
    result = preflow.linear_assignment(costs, method="cuda-shortest-path", options=options, **arguments)
    result.verify()
    assert result.stats.device == "cuda"
    return result


@pytest.mark.parametrize("options", VARIANTS)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6)),
    kind=st.sampled_from(["int32", "large", "forbidden"]),
    seed=st.integers(0, 10**6),
    maximize=st.booleans(),
)
@example(shape=(1, 1, 1), kind="int32", seed=0, maximize=False)
@example(shape=(2, 1, 5), kind="forbidden", seed=0, maximize=True)
@example(shape=(2, 5, 1), kind="large", seed=0, maximize=False)
@settings(max_examples=8)
def test_agrees_with_all_permutations(
    options: dict[str, Any], shape: tuple[int, int, int], kind: str, seed: int, maximize: bool
) -> None:
    costs = random_costs(shape, kind, seed)
    if maximize:
        costs = -costs
    result = solve(costs, maximize=maximize, partial=True, options=options)
    for item, matrix in enumerate(costs):
        size, best = cheapest_assignments(matrix.tolist(), *shape[1:], maximize)
        assert (result.row[item] >= 0).sum() == size
        assert result.cost[item] == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "costs",
    [
        geometric_costs(18, seed=1),
        machol_wien_costs(7),
        low_rank_costs(16, rank=3, seed=2),
        two_costs(30, share=0.1, seed=3),
        np.full((12, 15), 7),
    ],
    ids=["geometric", "machol-wien", "low-rank", "two-cost", "constant"],
)
def test_families(costs: np.ndarray) -> None:
    for shape in (costs, costs[: len(costs) // 2]):
        for maximize, options in ((False, {}), (True, {"room": 4})):
            rows, columns = linear_sum_assignment(shape, maximize)
            result = solve(OnGpu(shape), maximize=maximize, options=options)
            assert float(result.cost) == pytest.approx(sum(shape[rows, columns].tolist()), rel=1e-6)
            assert result.stats.arc_scans > 0


def test_stacks_and_sizes() -> None:
    costs = random_costs((5, 6, 7), "int64", 0)
    expected = preflow.linear_assignment(costs, device="cpu")
    assert np.array_equal(solve(costs).cost, expected.cost)
    sizes = np.array([[6, 7], [3, 2], [0, 4], [6, 0], [2, 5]])
    expected = preflow.linear_assignment(costs, sizes=sizes, device="cpu")
    result = solve(costs, sizes=sizes)
    assert np.array_equal(result.cost, expected.cost)
    assert np.array_equal(result.row, expected.row)
    for item, (n, m) in enumerate(sizes):
        assert not result.u[item, n:].any()
        assert not result.v[item, m:].any()
    assert solve(np.zeros((0, 3, 3))).row.shape == (0, 3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_points(metric: str) -> None:
    random = np.random.default_rng(0)
    points, others = random.random((7, 2)) + 0.1, random.random((10, 2)) + 0.1
    for costs in (
        preflow.PointCosts(points, others, metric=metric),
        preflow.PointCosts(others, points, metric=metric),
    ):
        for maximize in (False, True):
            matrix = costs.block(0, costs.shape[1])
            rows, columns = linear_sum_assignment(matrix, maximize)
            result = solve(costs, maximize=maximize)
            assert result.cost == pytest.approx(matrix[rows, columns].sum())
    assert preflow.linear_assignment(costs, device="cuda").stats.method == "cuda-shortest-path"


def test_rows_that_violate() -> None:
    costs = random_costs((2, 6, 8), "float64", 0)
    costs[1, 1:5, 3:] = np.inf
    with pytest.raises(InfeasibleError) as caught:
        solve(costs)
    assert caught.value.item == (1,)
    rows, columns = np.array(caught.value.violating), np.array(caught.value.allowed)
    assert len(columns) < len(rows)
    assert not np.isfinite(np.delete(costs[1, rows], columns, axis=1)).any()
    with pytest.raises(InfeasibleError, match="columns 1, 2, 3, 4 are allowed 3 rows"):
        solve(np.ascontiguousarray(costs[1].T))
    result = solve(costs[1], partial=True)
    assert len(result.row) == 5


def test_prices_beyond_64_bits_are_refused() -> None:
    costs = np.array([[-(2**59), 2**59, 2**59]] * 2)
    with pytest.raises(InvalidInputError, match=r"prices pass 2\*\*60"):
        solve(costs)


def test_all_blocks_where_items_are_few_and_large(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = random_costs((2, 5, 5), "int32", 0)
    assert preflow.linear_assignment(OnGpu(costs)).stats.method == "cuda-batch"
    monkeypatch.setattr(policy, "SIZE_FOR_ALL_BLOCKS", 5)
    for given_costs, arguments in ((OnGpu(costs), {}), (costs, {"device": "cuda"})):
        result = preflow.linear_assignment(given_costs, **arguments)
        result.verify()
        assert result.stats.method == "cuda-shortest-path"
    long_paths = preflow.linear_assignment(OnGpu(machol_wien_costs(5).astype(np.int32)))
    long_paths.verify()
    assert long_paths.stats.method == "serial-cost-scaling"
    monkeypatch.setattr(policy, "MANY_ITEMS", 1)
    assert preflow.linear_assignment(OnGpu(costs)).stats.method == "cuda-batch"
    assert preflow.linear_assignment(costs[0]).stats.device == "cpu"
    monkeypatch.setattr(runtime, "is_in_use", lambda: True)
    monkeypatch.setattr(policy, "SIZE_FOR_GPU", 5)
    assert "enough work for the GPU" in preflow.linear_assignment(costs[0]).stats.reason
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(free_bytes=100))
    assert preflow.linear_assignment(costs[0]).stats.device == "cpu"
    with pytest.raises(DeviceMemoryError, match=r"take .* bytes on the GPU"):
        preflow.linear_assignment(costs, device="cuda")


def test_launches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = random_costs((3, 7, 7), "int32", 1)
    monkeypatch.setattr(cuda_shortest_path, "ROUNDS_A_LAUNCH", 2)
    assert np.array_equal(solve(costs).cost, preflow.linear_assignment(costs, device="cpu").cost)
    monkeypatch.setattr(cuda_shortest_path, "MOST_LAUNCHES", 3)
    with pytest.raises(SolverError, match="gave up after 3 launches"):
        solve(costs)


def test_asked_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient(Control):
        @property
        def stopped(self) -> bool:
            return self.progress[0] < 1 or self.counts[AUGMENTATIONS] > 0

    costs = random_costs((3, 7, 7), "int32", 1)
    best = preflow.linear_assignment(costs, device="cpu").cost
    monkeypatch.setattr("preflow.solving.call.Control", Impatient)
    monkeypatch.setattr(runtime, "find_device", lambda: CpuDevice(num_multiprocessors=1))
    result = solve(costs)
    assert result.status == "time-limit"
    assert (result.row >= 0).all(axis=1).tolist() == [True, False, False]
    assert result.lower_bound.tolist() == [best[0], -np.inf, -np.inf]
    monkeypatch.setattr(cuda_shortest_path, "ROUNDS_A_LAUNCH", 8)
    for options in ({"bids": 0}, {"bids": 0, "room": 3}):
        for sign in (1, -1):
            result = solve(sign * costs[0], maximize=sign < 0, options=options)
            assert result.status == "time-limit"
            proved = sign * (result.upper_bound if sign < 0 else result.lower_bound)
            assert -np.inf < proved <= best[0]
            partial = solve(costs[0], partial=True, options=options)
            assert partial.lower_bound == -np.inf


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("options", VARIANTS[:2])
def test_sanitizers_have_nothing_to_report(
    options: dict[str, Any], sanitizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    kind = "float32" if options else "int32"
    solve(random_costs((8, 8), kind, 0), options=options)
    solve(random_costs((3, 4, 7), kind, 0), options=options)


def test_the_least_int32_is_negated() -> None:
    costs = np.array([[-(2**31), 5], [7, -3]], dtype=np.int32)
    result = preflow.linear_assignment(OnGpu(costs), maximize=True, method="cuda-shortest-path")
    assert result.value == 12
    result.verify()


@pytest.mark.fast
def test_bad_arguments() -> None:
    with pytest.raises(InvalidInputError, match="takes dense costs"):
        solve(scipy.sparse.eye_array(3))
    for options, message in (({"room": 0}, "room"), ({"bids": -1}, "bids"), ({"lanes": 3}, "lanes")):
        with pytest.raises(InvalidInputError, match=message):
            solve(np.eye(3), options=options)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("kind", ["int32", "int64", "large", "float32", "float64", "forbidden"])
def test_matrices_on_a_gpu(kind: str) -> None:
    for seed, shape in enumerate(
        [(40, 9, 9), (5, 40, 70), (150, 150), (300, 1000), (700, 500), (1500, 1500)]
    ):
        for options in VARIANTS if max(shape) < 500 else VARIANTS[:1]:
            costs = random_costs(shape, kind, seed)
            partial = kind == "forbidden"
            result = solve(costs, options=options, partial=partial)
            expected = preflow.linear_assignment(costs, device="cpu", partial=partial)
            assert np.allclose(np.float64(result.cost), np.float64(expected.cost), rtol=1e-12, atol=1e-9)
