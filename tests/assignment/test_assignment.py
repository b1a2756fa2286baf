"""Linear assignment: the solver against oracles, its proof, bad input, reference instances."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import preflow
from benchmarks.instances.traps import dear_chain
from preflow.assignment import shortest_paths
from preflow.assignment.api.call import AssignmentCall
from preflow.assignment.api.float_proof import solve_proved
from preflow.assignment.problem import METHODS
from preflow.assignment.result import AssignmentResult
from preflow.assignment.solution import SOLVED, STOPPED
from preflow.errors import InfeasibleError, InvalidInputError, NotOptimalError, VerificationError
from preflow.generators import COST_FAMILIES, machol_wien_costs
from preflow.graph.cost_input import as_costs
from preflow.graph.costs import DenseCosts
from preflow.integrations import scipy_compat
from preflow.io.costs import read_costs
from preflow.solving.call import Request
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from preflow.stats import AUGMENTATIONS
from tests.invariants.augmenting_paths import check_invariants as check_augmenting_paths
from tests.support.oracles import cheapest_assignments, exact_costs
from tests.support.tensors import Tensor

KINDS = ["integer", "float", "float32", "ties", "forbidden", "large"]
OR_LIBRARY = {"assign100": 305, "assign200": 475, "assign400": 804, "assign800": 1552}


def random_costs(shape: tuple[int, ...], kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "integer":
        return rng.integers(-50, 50, shape)
    if kind == "ties":
        return rng.integers(0, 3, shape).astype(np.int8)
    if kind == "large":
        return rng.integers(-(2**53), 2**53, shape)
    costs = rng.random(shape).astype(np.float32 if kind == "float32" else np.float64)
    if kind == "forbidden":
        costs[rng.random(shape) < rng.random()] = np.inf
    return costs


def exact(costs: np.ndarray, rows: Any, columns: Any) -> Any:
    return sum(costs[rows, columns].tolist())


def check(costs: Any, expected: Any, **arguments: Any) -> AssignmentResult:
    """Solve and verify; the cost is the expected one."""
    result = preflow.linear_assignment(costs, **arguments)
    result.verify()
    if isinstance(expected, int):
        assert result.cost == expected
    else:
        assert result.cost == pytest.approx(expected, rel=1e-6, abs=1e-9)
    return result


shapes = st.tuples(st.integers(0, 6), st.integers(0, 6))


@given(shape=shapes, kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6), maximize=st.booleans())
@example(shape=(0, 0), kind="float", seed=0, maximize=False)
@example(shape=(0, 3), kind="integer", seed=0, maximize=True)
@example(shape=(4, 0), kind="float", seed=0, maximize=False)
@example(shape=(1, 1), kind="integer", seed=0, maximize=False)
@example(shape=(1, 5), kind="large", seed=0, maximize=True)
@example(shape=(6, 1), kind="ties", seed=0, maximize=False)
@settings(max_examples=60)
def test_small_costs_agree_with_all_permutations(
    shape: tuple[int, int], kind: str, seed: int, maximize: bool
) -> None:
    check_all_permutations(shape, kind, seed, maximize)


def check_all_permutations(
    shape: tuple[int, int], kind: str, seed: int, maximize: bool, **arguments: Any
) -> None:
    """Solve random costs, dense and sparse, and compare with all permutations."""
    costs = random_costs(shape, kind, seed)
    if maximize and kind == "forbidden":
        costs = -costs
    size, best = cheapest_assignments(costs.tolist(), *shape, maximize)
    stored = np.isfinite(costs)
    matrix = scipy.sparse.coo_array((costs[stored], np.nonzero(stored)), shape=shape)
    for given_costs in (costs, matrix):
        if size < min(shape):
            with pytest.raises(InfeasibleError) as caught:
                preflow.linear_assignment(given_costs, maximize=maximize, **arguments)
            check_violation(caught.value, stored)
        result = check(given_costs, best, maximize=maximize, partial=size < min(shape), **arguments)
        assert len(result.row) == len(result.column) == size
        assert result.cost == pytest.approx(costs[result.row, result.column].sum(dtype=np.float64))


def check_violation(error: InfeasibleError, allowed: np.ndarray) -> None:
    """The rows (columns) that the error names have only the columns (rows) that it names."""
    matrix = allowed if error.side == "rows" else allowed.T
    neighbors = np.flatnonzero(matrix[list(error.violating)].any(axis=0))
    assert set(neighbors.tolist()) <= set(error.allowed)
    assert len(error.allowed) < len(error.violating)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(140, 140), (70, 150), (150, 80)])
def test_larger_costs_agree_with_scipy(shape: tuple[int, int], kind: str) -> None:
    costs = random_costs(shape, kind, seed=1)
    if kind == "forbidden":
        costs = np.where(costs < 0.9, costs, np.inf)
    rows, columns = linear_sum_assignment(costs)
    result = check(costs, exact(costs, rows, columns))
    stored = scipy.sparse.csr_array(costs) if kind != "forbidden" else None
    if stored is not None and kind not in ("ties", "integer"):
        check(stored, result.cost)
    if kind != "forbidden":
        rows, columns = linear_sum_assignment(costs, maximize=True)
        check(costs, exact(costs, rows, columns), maximize=True)


@pytest.mark.parametrize(
    "options", [{"column_reduction": False}, {"row_reduction": 0}, {"row_reduction": 0.1}, {"lists": False}]
)
@pytest.mark.parametrize("name", ["uniform-integer", "geometric", "machol-wien"])
def test_options_do_not_change_answers(name: str, options: dict[str, object]) -> None:
    costs = COST_FAMILIES[name](150)
    rows, columns = linear_sum_assignment(costs)
    check(costs, exact(costs, rows, columns), method="serial-shortest-path", options=options)


@pytest.mark.parametrize("name", sorted(COST_FAMILIES))
def test_families(name: str) -> None:
    costs = COST_FAMILIES[name](200)
    again = COST_FAMILIES[name](200)
    if scipy.sparse.issparse(costs):
        assert (costs != again).nnz == 0
        dense = np.full(costs.shape, np.inf)
        rows, columns = costs.tocoo().coords
        dense[rows, columns] = costs.tocoo().data
    else:
        assert np.array_equal(costs, again)
        dense = costs
    check(costs, float(dense[linear_sum_assignment(dense)].sum()))


@pytest.mark.parametrize("kind", ["integer", "float", "ties", "forbidden"])
def test_short_lists(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that are too short, so that they are made again, made longer and left."""
    for name, value in (("FEW_COLUMNS", 0), ("ROOM", 8), ("WANTED", 2)):
        monkeypatch.setattr(shortest_paths, name, value)
    for seed in range(20):
        costs = random_costs((25, 25 + seed % 3), kind, seed)
        try:
            expected = float(costs[linear_sum_assignment(costs)].sum())
        except ValueError:
            with pytest.raises(InfeasibleError):
                preflow.linear_assignment(costs)
            preflow.linear_assignment(costs, partial=True).verify()
            continue
        check(costs, expected)


def test_all_equal_and_a_single_allowed_assignment() -> None:
    for size in (5, 150):
        check(np.full((size, size), 7), 7 * size)
        order = np.random.default_rng(0).permutation(size)
        costs = np.full((size, size), np.inf)
        costs[np.arange(size), order] = np.arange(size)
        result = check(costs, float(np.arange(size).sum()))
        assert np.array_equal(result.column, order)
        missing = costs.copy()
        missing[3] = np.inf
        with pytest.raises(InfeasibleError, match="row 3 is allowed no column;"):
            preflow.linear_assignment(missing)
        left = preflow.linear_assignment(missing, partial=True)
        left.verify()
        assert left.row.tolist() == [i for i in range(size) if i != 3]


@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), m=st.integers(1, 5))
@settings(max_examples=30)
def test_partial_has_the_most_pairs_at_the_least_cost(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(-9, 9, (n, m)).astype(np.float64)
    costs[rng.random((n, m)) < 0.6] = np.inf
    size, best = cheapest_assignments(costs.tolist(), n, m, False)
    for given_costs in (costs, costs[None]):
        result = preflow.linear_assignment(given_costs, partial=True)
        result.verify()
        assert (result.row >= 0).sum() == size
        assert float(np.sum(result.cost)) == best


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(7, 5, 5), (2, 3, 4, 6), (3, 6, 4), (0, 3, 3), (2, 0, 4), (2, 130, 140)])
def test_stacks_are_solved_one_by_one(shape: tuple[int, ...], maximize: bool) -> None:
    costs = random_costs(shape, "float", 3)
    result = preflow.linear_assignment(costs, maximize=maximize)
    result.verify()
    *leading, n, m = shape
    assert result.row.shape == result.column.shape == (*leading, min(n, m))
    assert result.u.shape == (*leading, n)
    assert result.v.shape == (*leading, m)
    assert result.cost.shape == tuple(leading)
    for index in np.ndindex(*leading):
        one = preflow.linear_assignment(costs[index], maximize=maximize)
        assert np.array_equal(one.row, result.row[index])
        assert np.array_equal(one.column, result.column[index])
        assert one.cost == pytest.approx(result.cost[index])


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["integer", "float32"])
def test_matrices_of_different_sizes(kind: str, maximize: bool) -> None:
    costs = random_costs((3, 4, 5, 6), kind, 1)
    sizes = np.random.default_rng(0).integers(0, [6, 7], (3, 4, 2))
    sizes[0, :2] = [[5, 2], [3, 0]]
    for index in np.ndindex(3, 4):
        n, m = sizes[index]
        costs[index][n:], costs[index][:, m:] = (2**62, 2**62) if kind == "integer" else (np.nan, np.inf)
    result = preflow.linear_assignment(costs, sizes=sizes, maximize=maximize)
    result.verify()
    for index in np.ndindex(3, 4):
        n, m = sizes[index]
        one = preflow.linear_assignment(costs[index][:n, :m], maximize=maximize)
        paired = result.row[index] >= 0
        assert np.array_equal(result.row[index][paired], one.row)
        assert np.array_equal(result.column[index][paired], one.column)
        assert np.array_equal(result.u[index], np.append(one.u, np.zeros(5 - n)))
        assert np.array_equal(result.v[index], np.append(one.v, np.zeros(6 - m)))
        assert result.cost[index] == pytest.approx(one.cost)
    assert preflow.linear_assignment(costs[0, 0], sizes=[2, 1]).column.shape == (1,)
    costs = costs.astype(np.float64)
    costs[1, 2], costs[1, 2, :, 0], sizes[1, 2] = np.inf, 0, [2, 3]
    with pytest.raises(
        InfeasibleError, match=r"matrix \(1, 2\): no assignment: rows 0, 1 are allowed 1 column together: "
    ):
        preflow.linear_assignment(costs, sizes=sizes)
    preflow.linear_assignment(costs, sizes=sizes, partial=True).verify()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([[1, 2]], r"shape \(2, 2\), got \(1, 2\)"),
        ([[1, 2], [1, -1]], "0 to 3 rows and 4 columns"),
        ([[1, 2], [4, 4]], "0 to 3 rows and 4 columns"),
        ([[1.0, 2], [2, 4]], "sizes are integers"),
        ([[1, 2], [2]], "not an array"),
    ],
)
def test_bad_sizes(sizes: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.linear_assignment(np.zeros((2, 3, 4)), sizes=sizes)
    with pytest.raises(InvalidInputError, match="sizes are those of a batch of dense"):
        preflow.linear_assignment(scipy.sparse.eye_array(3), sizes=[1, 1])


def test_tensors_on_the_host() -> None:
    for shape in ((5, 5), (4, 5, 6), (3, 6, 5)):
        costs = random_costs(shape, "float32", 0)
        result, expected = preflow.linear_assignment(Tensor(costs)), preflow.linear_assignment(costs)
        result.verify()
        for name in ("row", "column", "u", "v"):
            values = getattr(result, name)
            assert isinstance(values, Tensor)
            assert np.array_equal(values.values, getattr(expected, name))
        cost = result.cost if len(shape) == 2 else result.cost.values
        assert np.array_equal(cost, expected.cost)
    with pytest.raises(InvalidInputError, match="not an array"):
        preflow.linear_assignment(Tensor(np.array([["a"]])))


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    costs = torch.rand((4, 6, 5), requires_grad=True)
    result = preflow.linear_assignment(costs.detach())
    result.verify()
    assert all(type(part) is torch.Tensor for part in (result.row, result.column, result.u, result.v))
    items = torch.arange(4)[:, None]
    costs[items, result.row, result.column].sum().backward()
    assert costs.grad.sum() == 20
    with pytest.raises(InvalidInputError, match=r"cost is not an array: .* requires grad"):
        preflow.linear_assignment([[costs[0, 0, 0], costs[0, 0, 1]]])


def test_a_stack_names_the_matrix_that_has_no_assignment() -> None:
    costs = random_costs((2, 3, 4, 4), "float", 0)
    costs[1, 2, :3, 1:] = np.inf
    with pytest.raises(InfeasibleError, match=r"matrix \(1, 2\)") as caught:
        preflow.linear_assignment(costs)
    assert caught.value.item == (1, 2)
    result = preflow.linear_assignment(costs, partial=True)
    result.verify()
    assert (result.row[1, 2] >= 0).sum() == 2
    assert (result.row[0] >= 0).all()


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f8", "?"]
)
def test_dtypes(dtype: str) -> None:
    costs = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, (6, 6)).astype(dtype)
    expected = float(costs.astype(float)[linear_sum_assignment(costs.astype(float))].sum())
    result = check(costs, expected)
    assert isinstance(result.cost, int if np.dtype(dtype).kind in "iub" else float)
    check(np.asfortranarray(costs), expected)
    check(costs[::-1], expected)
    assert preflow.linear_assignment(costs.tolist()).cost == expected


def test_integers_are_exact_beyond_floats() -> None:
    base = 2**58
    costs = np.array([[base, base + 1, base + 3], [base + 1, base + 3, base], [base + 2, base, base + 2]])
    check(costs, 3 * base)
    check(-costs, -3 * base, maximize=True)
    rng = np.random.default_rng(0)
    wide = rng.integers(-(2**53), 2**53, (80, 80))
    parts = wide[:, :, None] + np.zeros(2, dtype=np.int64)
    check(parts[:, :, 0], exact(wide, *linear_sum_assignment(wide)))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1, 2], "two dimensions"),
        (3.0, "two dimensions"),
        ([[1, 2], [3]], "not an array"),
        ([["a"]], "integers or floats"),
        ([[1j]], "integers or floats"),
        ([[np.nan, 1.0], [1.0, 2.0]], "NaN"),
        ([[-np.inf, 1.0], [1.0, 2.0]], "-inf"),
        ([[2**60 + 1, 0]], r"2\*\*60"),
        (np.array([[2**63, 0]], dtype=np.uint64), r"2\*\*60"),
        ([[2**200, 0]], r"2\*\*60"),
        (np.full((2, 2), -1.5e308), "add up to more than float64"),
        (scipy.sparse.csr_array([[np.nan]]), "NaN"),
    ],
)
def test_bad_costs(costs: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.linear_assignment(costs)


def test_bad_arguments() -> None:
    costs = np.eye(3)
    with pytest.raises(
        InvalidInputError,
        match="the cost of row 0 and column 0 is inf: a pair that is not allowed costs -inf",
    ):
        preflow.linear_assignment([[np.inf]], maximize=True)
    for arguments, message in (
        ({"maximize": 1}, "maximize"),
        ({"partial": "yes"}, "partial"),
        ({"method": "auction"}, "unknown method"),
        ({"options": {"lists": True}}, "options belong"),
        ({"method": "JV", "options": {"lists": 1}}, "True or False"),
        ({"method": "JV", "options": {"row_reduction": -1}}, "row_reduction"),
        ({"time_limit": 0}, "time_limit"),
        ({"method": "serial-shortest-path", "threads": 2}, "one thread"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            preflow.linear_assignment(costs, **arguments)  # type: ignore[arg-type]


def test_prices_that_do_not_fit_are_an_error() -> None:
    """Each row would rather have the next column: prices fall from column to column by twice the costs."""
    n = 20
    costs = scipy.sparse.diags_array([[2**58] * n, [-(2**58)] * (n - 1)], offsets=[0, 1], dtype=np.int64)
    with pytest.raises(InvalidInputError, match="too large for exact"):
        preflow.linear_assignment(costs)


def test_faults_are_found() -> None:
    costs = np.random.default_rng(2).integers(0, 100, (5, 7))
    result = preflow.linear_assignment(costs)
    result.verify()
    swapped = result.column[[1, 0, 2, 3, 4]]
    v = result.v.copy()
    v[result.column[0]] += 1
    u = result.u - 1
    unused = sorted(set(range(7)) - set(result.column.tolist()))
    lowered = result.v.copy()
    lowered[unused[0]] -= 1000
    for change in (
        {"column": swapped},
        {"column": result.column[[0, 0, 2, 3, 4]]},
        {"row": result.row[:-1], "column": result.column[:-1]},
        {"v": v},
        {"u": u},
        {"v": lowered},
        {"lower_bound": result.cost - 1},
    ):
        with pytest.raises(VerificationError):
            replace(result, **change).verify()
    sparse = preflow.linear_assignment(scipy.sparse.csr_array([[1, 2], [0, 3]]))
    with pytest.raises(VerificationError, match="not allowed"):
        replace(sparse, column=sparse.column[::-1]).verify()
    some = preflow.linear_assignment(np.where(np.eye(3) > 0, 1.0, np.inf), partial=True)
    with pytest.raises(VerificationError, match="more than 2"):
        replace(some, row=some.row[:2], column=some.column[:2]).verify()


def test_time_limit_gives_a_proved_bound() -> None:
    costs = machol_wien_costs(1200)
    preflow.linear_assignment(costs[:70, :70], method="serial-shortest-path")
    start = time.perf_counter()
    result = preflow.linear_assignment(costs, method="serial-shortest-path", time_limit=0.05)
    assert time.perf_counter() - start < 5
    assert result.status == "time-limit"
    result.verify()
    n = len(costs)
    assert result.lower_bound <= n * (n + 1) * (n + 2) // 6
    with pytest.raises(NotOptimalError):
        _ = result.cost


def test_sparse_matrices_in_any_form() -> None:
    costs = scipy.sparse.random_array((40, 60), density=0.3, rng=np.random.default_rng(0))
    expected = preflow.linear_assignment(costs).cost
    for form in ("csr", "csc", "coo", "lil", "bsr"):
        check(costs.asformat(form), expected)
    check(costs.T, expected)
    zeros = scipy.sparse.csr_array(([0, 0, 5], ([0, 1, 0], [0, 1, 1])), shape=(2, 2))
    check(zeros, 0)
    double = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, np.inf]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    check(double, 3.0)


def test_scipy_drop_in() -> None:
    costs = np.random.default_rng(0).random((30, 40))
    for maximize in (False, True):
        for ours, theirs in zip(
            scipy_compat.linear_sum_assignment(costs, maximize),
            linear_sum_assignment(costs, maximize),
            strict=True,
        ):
            assert np.array_equal(ours, theirs)
    for bad in (np.zeros(3), [[np.nan]], [[np.inf]]):
        with pytest.raises(ValueError, match=r"."):
            scipy_compat.linear_sum_assignment(bad)


def test_result_says_what_it_is() -> None:
    result = preflow.linear_assignment(np.eye(3, dtype=int))
    assert repr(result).startswith("<AssignmentResult: 3 x 3, cost 0, serial-shortest-path, ")
    assert "stack" not in repr(preflow.linear_assignment(np.zeros((2, 3, 3))))
    assert result.stats.to_dict()["method"] == "serial-shortest-path"
    assert not result.column.flags.writeable
    assert "dense" in result.stats.reason


@pytest.mark.parametrize("name", sorted(OR_LIBRARY))
def test_or_library(name: str, shared_instances: Path) -> None:
    check(read_costs(shared_instances / "assignment" / f"{name}.txt.gz").costs, OR_LIBRARY[name])


@pytest.mark.parametrize("name", ["netgen-11.asn.gz", "netgen-13.asn.gz"])
def test_dimacs(name: str, shared_instances: Path) -> None:
    folder = shared_instances / "dimacs"
    check(read_costs(folder / name).costs, json.loads((folder / "optima.json").read_text())[name]["optimum"])


@pytest.mark.parametrize("kind", ["integer", "float", "forbidden"])
@pytest.mark.parametrize("shape", [(150, 150), (60, 140)])
@pytest.mark.parametrize("lists", [False, True])
def test_shortest_paths_keep_their_invariants(
    lists: bool, shape: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortest_paths, "FEW_COLUMNS", 0)
    costs = random_costs((3, *shape), kind, seed=8)
    costs[:, np.arange(shape[0]), np.arange(shape[0])] = 1
    dense = as_costs(costs, False)
    assert isinstance(dense, DenseCosts)
    options = shortest_paths.ShortestPathOptions(lists=lists, row_reduction=0.5)
    start = shortest_paths.make_start(dense, options)
    control = Control()
    for values in dense.values:
        ending, _, _ = shortest_paths.solve_matrix(values.reshape(-1), start, control.monitor())
        assert ending == SOLVED
        rounding = 0.0 if kind == "integer" else 1e-12
        check_augmenting_paths(values, start.state, rounding)
    assert control.counts[AUGMENTATIONS] > 0


def test_memory_of_any_kind_needs_no_further_compilation() -> None:
    costs = np.random.default_rng(0).random((20, 20))
    expected = preflow.linear_assignment(costs).cost
    fixed = costs.copy()
    fixed.flags.writeable = False
    shifted = np.zeros(costs.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(costs.shape)
    shifted[:] = costs
    kernel: Any = shortest_paths.solve_items
    compiled = len(kernel.signatures)
    for each in (fixed, shifted, np.asfortranarray(costs), np.broadcast_to(costs, (3, 20, 20))[1]):
        check(each, expected)
    assert len(kernel.signatures) == compiled


# What was once wrong


def test_flows_cut_short_are_no_assignment() -> None:
    costs = np.array([[-4, 4, 0, -4], [0, 0, 2, 2], [4, 4, 4, 2]]) * 2**56
    options = {"form": "generic", "double_push": False}
    result = preflow.linear_assignment(costs, method="serial-cost-scaling", options=options)
    result.verify()
    assert result.cost == -(2**57)
    assert "from scratch" in result.stats.reason


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0), (2, 0, 0), (2, 2, 3, 0)])
def test_stacks_of_integers_without_pairs(shape: tuple[int, ...]) -> None:
    result = preflow.linear_assignment(np.zeros(shape, dtype=int))
    result.verify()
    assert result.cost.shape == shape[:-2]
    assert not result.cost.any()


def test_floats_beyond_64_bits_are_floats() -> None:
    assert preflow.linear_assignment(np.full((1, 1, 1), 1e19)).cost.dtype == np.float64


@pytest.mark.parametrize("method", ["serial-cost-scaling", "multicore-lockfree"])
def test_prices_prove_floats_of_all_sizes(method: str) -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        n, m = sorted(random.integers(1, 6, 2).tolist())
        costs = random.standard_normal((n, m)) * 10.0 ** random.integers(-30, 31, (n, m))
        preflow.linear_assignment(costs, method=method).verify()


@pytest.mark.parametrize("method", ["serial-cost-scaling", "multicore-lockfree", "multicore-auction"])
@pytest.mark.parametrize("alpha", [1, 1 + 1e-15, 10**400])
def test_alpha_that_divides_by_nothing(method: str, alpha: float) -> None:
    with pytest.raises(InvalidInputError, match=r"alpha must be a number of 1\.5 to"):
        preflow.linear_assignment(np.eye(2), method=method, options={"alpha": alpha})


def test_as_many_pairs_of_tiny_floats_as_possible() -> None:
    costs = np.array([[3.0, 1.0, np.inf], [2.0, 5.0, np.inf], [7.0, 4.0, np.inf]]) * 1e-20
    result = preflow.linear_assignment(costs, partial=True)
    result.verify()
    assert result.row.tolist() == [0, 1]
    assert result.cost == pytest.approx(3e-20)
    assert np.abs(result.u).max() < 1e-17


def test_rows_of_few_stored_integers() -> None:
    one = scipy.sparse.coo_array(([-3], ([0], [0])), shape=(1, 3))
    assert preflow.linear_assignment(one, method="multicore-auction").cost == -3
    with pytest.raises(InfeasibleError, match="rows 0, 1 are allowed 1 column together: 0"):
        preflow.linear_assignment(
            scipy.sparse.csr_array(np.array([[1, 0], [3, 0]])), method="multicore-auction"
        )


def test_masked_costs_are_refused() -> None:
    costs = np.ma.masked_array(np.eye(2), mask=[[True, False], [False, False]])
    with pytest.raises(InvalidInputError, match="masked"):
        preflow.linear_assignment(costs)


@pytest.mark.parametrize("costs", [[[2**60, 1], [2, 3]], [[1e308, 1.0], [2.0, 3.0]], [[-(2**62), 1], [2, 3]]])
def test_scipys_function_takes_costs_of_any_size(costs: Any) -> None:
    for maximize in (False, True):
        found = scipy_compat.linear_sum_assignment(costs, maximize)
        np.testing.assert_array_equal(found, linear_sum_assignment(costs, maximize))


def test_integers_that_become_floats_are_no_floats() -> None:
    """NumPy makes floats of a list that has both signed integers and larger ones."""
    with pytest.raises(InvalidInputError, match="past int64"):
        preflow.linear_assignment([[1, 2.5], [3, 2**63]])
    far = 2**63
    result = preflow.linear_assignment([[far, far + 3], [-5, -9]])
    result.verify()
    assert result.cost == far - 9
    assert preflow.linear_assignment([[1.0, 1e20], [2, 3]]).cost == 4


FLOAT_METHODS = [
    "auto",
    "serial-shortest-path",
    "serial-cost-scaling",
    "multicore-lockfree",
    "multicore-auction",
]


def mixed_costs(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Return costs of very different size: any, with a large number among them, or with rows far away."""
    rng = np.random.default_rng(seed)
    costs = rng.random(shape)
    kind = seed % 4
    if kind == 0:
        costs *= 10.0 ** rng.integers(-30, 31, shape) * rng.choice([-1, 1], shape)
    elif kind == 1:
        costs[rng.random(shape) < 0.4] = 10.0 ** rng.integers(9, 101)
    elif kind == 2:
        costs += 10.0 ** rng.integers(-3, 18, (shape[0], 1))
    else:
        costs = np.where(rng.random(shape) < 0.3, rng.choice([-1e16, 1e16], shape), costs)
    if rng.random() < 0.6:
        costs[rng.random(shape) < 0.7 * rng.random()] = np.inf
    return costs


@pytest.mark.parametrize("method", FLOAT_METHODS)
@given(
    shape=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    seed=st.integers(0, 10**6),
    maximize=st.booleans(),
    sparse=st.booleans(),
)
@settings(max_examples=25)
def test_floats_of_mixed_size_are_optimal_within_the_gap(
    method: str, shape: tuple[int, int], seed: int, maximize: bool, sparse: bool
) -> None:
    """The exact optimum lies within the gap, which is a rounding error of the costs in use."""
    costs = -mixed_costs(shape, seed) if maximize else mixed_costs(shape, seed)
    size, best = cheapest_assignments(exact_costs(costs), *shape, maximize)
    given_costs: Any = costs
    if sparse:
        stored = np.isfinite(costs)
        given_costs = scipy.sparse.coo_array((costs[stored], np.nonzero(stored)), shape=shape)
    result = preflow.linear_assignment(given_costs, maximize=maximize, partial=True, method=method)
    result.verify()
    assert len(result.row) == size
    assert abs(Fraction(result.cost) - best) <= Fraction(result.gap)
    if (costs * (-1 if maximize else 1) >= 0).all():
        assert result.gap <= 1e-12 * abs(result.cost)


def test_large_numbers_for_pairs_that_are_hardly_allowed() -> None:
    inf = np.inf
    costs = [[0.3, inf, 1e16], [inf, 0.8, inf], [inf, 0.1, inf]]
    result = preflow.linear_assignment(costs, partial=True)
    result.verify()
    assert result.cost == 0.4
    assert result.gap < 1e-15
    rng = np.random.default_rng(0)
    n = 60
    for large in (1e9, 1e16, 1e100):
        costs = np.where(rng.random((n, n)) < 0.8, large, rng.random((n, n)))
        costs[np.arange(n), rng.permutation(n)] = rng.random(n)
        stored = np.where(costs < large, costs, np.inf)
        expected = preflow.linear_assignment(stored).cost
        for method in FLOAT_METHODS:
            for form in (costs, scipy.sparse.csr_array(costs)):
                result = preflow.linear_assignment(form, method=method)
                result.verify()
                assert result.cost == pytest.approx(expected, rel=1e-12)
                assert result.gap <= 1e-12
        stack = preflow.linear_assignment(np.stack([costs, costs.T]))
        stack.verify()
        assert stack.cost == pytest.approx([expected, expected], rel=1e-12)
        assert stack.gap.shape == (2,)


def test_wrong_pairs_are_refused_however_large_a_price_or_cost() -> None:
    costs = np.array([[0.0, 1.0, 1e16], [1.0, 0.0, 1e16], [1e16, 1e16, 0.5]])
    result = preflow.linear_assignment(costs)
    result.verify()
    swapped = result.column[[1, 0, 2]]
    for u, v in (
        ([1.0, 1.0, 0.5], [0.0, 0.0, 0.0]),
        ([1e16, 1e16, 0.5], [-1e16, -1e16, 0.0]),
        ([1e16, 1e16, 1e16], [-1e16, -1e16, -1e16]),
    ):
        wrong = {
            "column": swapped,
            "u": np.array(u),
            "v": np.array(v),
            "lower_bound": 2.5,
            "upper_bound": 2.5,
        }
        with pytest.raises(VerificationError):
            replace(result, **wrong).verify()


def test_gap_of_what_floats_cannot_decide() -> None:
    """The best pairs cost 1e16 and -1e16: beside them the rounding of prices is as large as other costs."""
    result = preflow.linear_assignment([[1e16, 0.3], [0.2, -1e16]])
    result.verify()
    assert abs(result.cost) <= result.gap <= 4.0
    assert result.cost == 0 or "within" in repr(result)
    assert preflow.linear_assignment([[1, 2], [2, 1]]).gap == 0
    assert preflow.linear_assignment([[1.0, 2.0], [2.0, 1.0]]).gap == 0


def test_verify_computes_in_integers_that_cannot_wrap() -> None:
    result = preflow.linear_assignment([[0, 10], [10, 0]])
    far = 2**62
    wrong = {
        "column": np.array([1, 0]),
        "u": np.array([far + 10, -far + 10]),
        "v": np.array([far, -far]),
        "lower_bound": 20,
        "upper_bound": 20,
    }
    with pytest.raises(VerificationError):
        replace(result, **wrong).verify()
    for name in ("u", "v"):
        for i in range(2):
            price = getattr(result, name).copy()
            price[i] ^= np.int64(-(2**63))
            with pytest.raises(VerificationError):
                replace(result, **{name: price}).verify()
    shifted = {"u": result.u + (2**62 + 2**61), "v": result.v - (2**62 + 2**61)}
    replace(result, **shifted).verify()
    stack = preflow.linear_assignment(np.array([[[0, 10], [10, 0]]] * 2))
    wrong = {name: np.stack([getattr(result, name), value]) for name, value in wrong.items() if name in "uv"}
    column = np.array([[0, 1], [1, 0]])
    totals = np.array([0, 20])
    with pytest.raises(VerificationError):
        replace(stack, column=column, lower_bound=totals, upper_bound=totals, **wrong).verify()


@pytest.mark.parametrize("method", FLOAT_METHODS)
@pytest.mark.parametrize(
    ("costs", "best"),
    [
        ([[0, np.inf, 1, np.inf, np.inf, -6e269], [np.inf, np.inf, np.inf, np.inf, 6e277, 0]], 0.0),
        ([[1e16, 0.3], [0.2, -1e16]], 0.0),
        ([[np.inf, np.inf, -1e15, 0, -0.69], [np.inf, np.inf, 0, np.inf, np.inf]], -0.69),
    ],
    ids=["beside each other", "cancelling", "out of reach"],
)
def test_rewards_that_no_assignment_gains_do_not_hide_other_costs(
    method: str, costs: list[list[float]], best: float
) -> None:
    result = preflow.linear_assignment(np.array(costs), method=method)
    result.verify()
    assert result.cost == best
    # Prices are floats: the proof may lose what rounds a reward of 1e15. Which prices a lock-free solver ends
    # with depends on its threads.
    assert result.gap <= (0.0625 if method == "multicore-lockfree" else 0.02)


def large_integers(shape: tuple[int, int], seed: int, far: int) -> list[list[int]]:
    """Return costs of a range up to 2**50, those of each row (column, if there are fewer) elsewhere."""
    rng = np.random.default_rng(seed)
    n, m = shape
    side = [int(number) * far for number in rng.integers(-(2**62), 2**62, max(shape))]
    near = rng.integers(0, 2 ** rng.integers(3, 51), shape).tolist()
    return [[near[i][j] + side[i if n <= m else j] for j in range(m)] for i in range(n)]


@pytest.mark.parametrize("method", FLOAT_METHODS)
@given(
    shape=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    seed=st.integers(0, 10**6),
    maximize=st.booleans(),
    form=st.sampled_from(["list", "int64", "sparse", "stack"]),
)
@example(shape=(4, 3), seed=175, maximize=False, form="sparse")  # prices that a half would round
@settings(max_examples=15)
def test_integers_of_any_size_are_exact(
    method: str, shape: tuple[int, int], seed: int, maximize: bool, form: str
) -> None:
    far = {"int64": 1, "sparse": 0}.get(form, 2**90)
    costs: list[list[Any]] = large_integers(shape, seed, far)
    if form == "sparse":  # where rows are left over, columns compete, too
        costs = [[cost - 2**62 for cost in row] for row in costs]
    given_costs: Any = costs
    if form == "stack":
        given_costs = [costs, costs]
    elif form != "list":
        given_costs = np.array(costs, dtype=np.int64)
    if form == "sparse":
        allowed = np.random.default_rng(seed).random(shape) < 0.6
        given_costs = scipy.sparse.coo_array((given_costs[allowed], np.nonzero(allowed)), shape=shape)
        forbidden = -np.inf if maximize else np.inf
        costs = [
            [cost if ok else forbidden for cost, ok in zip(row, oks, strict=True)]
            for row, oks in zip(costs, allowed.tolist(), strict=True)
        ]
    size, best = cheapest_assignments(costs, *shape, maximize)
    result = preflow.linear_assignment(given_costs, maximize=maximize, method=method, partial=True)
    result.verify()
    value, rows = (result.cost[0], result.row[0]) if form == "stack" else (result.cost, result.row)
    assert len(rows) == size
    assert int(value) == best
    assert np.all(result.gap == 0)
    if form == "list":
        u, v = result.u.tolist(), result.v.tolist()
        assert all(u[i] + v[j] == costs[i][j] for i, j in zip(result.row, result.column, strict=True))


def test_integers_near_the_ends_of_64_bits() -> None:
    largest = 2**63 - 1
    profit = np.random.default_rng(0).integers(0, 1000, (6, 6))
    best = preflow.linear_assignment(profit, maximize=True).cost
    unsigned = (largest - profit).astype(np.uint64) + np.uint64(2**62)
    for costs, top in ((largest - profit, largest), (unsigned, largest + 2**62)):
        result = preflow.linear_assignment(costs)
        result.verify()
        assert result.cost == 6 * top - best
        with pytest.raises(VerificationError):
            replace(result, column=np.roll(result.column, 1)).verify()
    sizes = [[6, 4], [3, 5]]
    stack = np.stack([largest - profit, profit - largest])
    stack[0, :, 4:] = -(2**63)
    result = preflow.linear_assignment(stack, sizes=sizes)
    result.verify()
    for item, (n, m) in enumerate(sizes):
        one = preflow.linear_assignment(stack[item, :n, :m])
        assert result.cost[item] == one.cost
    wide = preflow.linear_assignment(np.full((400, 400), largest) - np.eye(400, dtype=np.int64))
    wide.verify()
    assert wide.cost == 400 * largest - 400


@pytest.mark.parametrize("transposed", [False, True])
def test_chains_are_solved_by_paths(transposed: bool) -> None:
    """Cost scaling bids quadratically often: prices fall by the cost of all pairs."""
    costs = dear_chain(3000).T.tocsr() if transposed else dear_chain(3000)
    for maximize, sign in ((False, 1), (True, -1)):
        result = check(sign * costs, 3000 * sign, maximize=maximize)
        assert result.stats.method == "serial-shortest-path"
        assert result.stats.arc_scans < 10 * costs.nnz


@pytest.mark.parametrize(
    ("costs", "quick"),
    [
        (np.eye(3), True),
        (np.zeros((1000, 8, 8)), True),
        (np.zeros((250, 250)), True),
        (np.zeros((400, 400)), False),
        (dear_chain(500), True),
        (dear_chain(16_000), False),
        (scipy.sparse.eye_array(2000, dtype=np.int64), False),
    ],
)
def test_only_short_solves_run_where_ctrl_c_waits_for_them(costs: Any, quick: bool) -> None:
    request = Request(METHODS, threads=1)
    assert AssignmentCall.prepare(costs, False, None, False, request).is_quick(request) is quick
    request = Request(METHODS, "multicore-lockfree", threads=1)
    assert not AssignmentCall.prepare(np.eye(150), False, None, False, request).is_quick(request)


def test_a_time_limit_ends_the_proof_of_large_prices() -> None:
    costs = np.array([[1.0, 1e18], [1e18, 2.0]])
    method = find_method(METHODS, "serial-shortest-path")

    def solve_and_stop(costs: Any, options: Any, control: Control, go_on: bool) -> Any:
        found = method.solve(costs, options, control, go_on)
        found.u[0] += 1e18  # so that the prices must be looked at
        found.v[0] -= 1e18
        control.stop[0] = 1
        return found

    control = Control(1)
    stopping: Any = SimpleNamespace(solve=solve_and_stop)
    found = solve_proved(stopping, DenseCosts(costs[None]), method.make_options(None), control)
    assert found.ending.tolist() == [STOPPED]


def test_large_costs_leave_no_pair_out_of_a_hall_set() -> None:
    """A distance of 2**61 is not one of no path: column 3 may also take row 2."""
    largest = 2**59
    row, column = [0, 2, 2, 4, 4, 4], [0, 2, 3, 1, 2, 3]
    cost = np.array([0, 4, largest - 2, 5, 3, -largest])
    costs = scipy.sparse.csr_array((cost, (row, column)), shape=(5, 4))
    with pytest.raises(InfeasibleError) as caught:
        preflow.linear_assignment(costs, method="serial-cost-scaling")
    assert (caught.value.violating, caught.value.allowed) == ((1, 2, 3), (2, 4))
    with pytest.raises(InvalidInputError, match="the range of the costs is too large"):
        preflow.linear_assignment(costs, method="serial-shortest-path")


def test_status_and_bounds() -> None:
    result = preflow.linear_assignment(np.random.default_rng(0).random((3, 4)))
    for changes in (
        {"status": "approximate"},
        {"status": "time-limit"},
        {"status": "garbage"},
        {"status": "time-limit", "upper_bound": result.cost + 1},
        {"status": "approximate", "lower_bound": result.cost + 1e-3},
        {"status": "approximate", "upper_bound": result.cost + 1e-3},
    ):
        with pytest.raises(VerificationError):
            replace(result, **changes).verify()
    replace(result, status="approximate", lower_bound=result.cost - 1e-3).verify()  # true, and of no use


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (4, 40), (30, 7)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_costs_of_pairs_of_a_sparse_matrix(shape: tuple[int, int], share: float) -> None:
    rng = np.random.default_rng(1)
    dense = np.where(rng.random(shape) < share, rng.integers(0, 99, shape), np.inf)
    sparse = DenseCosts(dense[None]).to_sparse()
    row, column = (ends.ravel() for ends in np.indices(shape))
    np.testing.assert_array_equal(sparse.at(0, row, column), dense.ravel())
    assert len(sparse.at(0, row[:0], column[:0])) == 0
