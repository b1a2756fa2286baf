"""serial-cost-scaling: its forms against oracles, and epsilon-optimality after every refine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.assignment import policy, push_relabel, serial_cost_scaling
from preflow.assignment.policy import DENSE_ROWS, SPARSE_ROWS
from preflow.assignment.serial_cost_scaling import CostScalingOptions, bidding
from preflow.assignment.solution import SOLVED, STOPPED
from preflow.errors import InfeasibleError, InvalidInputError, NotOptimalError
from preflow.generators import COST_FAMILIES, machol_wien_costs, nearest_costs
from preflow.graph.cost_input import as_costs
from preflow.graph.costs import SparseCosts
from preflow.io.costs import read_costs
from preflow.solving.run import Control
from tests.assignment.test_assignment import OR_LIBRARY, check_all_permutations, check_violation, random_costs
from tests.assignment.test_assignment import check as check_any
from tests.invariants.assignment_push_relabel import check_invariants as check_assignment_push_relabel
from tests.invariants.bidding import check_invariants as check_bidding

METHOD = "serial-cost-scaling"
KINDS = ["integer", "float", "ties", "forbidden", "large"]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"alpha": 3, "skip": False},
    {"form": "csa"},
    {"form": "csa", "double_push": False},
    {"form": "csa", "price_updates": True, "arc_fixing": True},
    {"form": "generic"},
    {"form": "generic", "price_updates": True, "arc_fixing": True, "double_push": False},
    {"form": "mixed", "alpha": 2.5},
    {"form": "mixed", "price_updates": True, "arc_fixing": True},
]
check = partial(check_any, method=METHOD)


def cheapest(costs: Any) -> Any:
    """Return what another solver finds for dense costs."""
    rows, columns = linear_sum_assignment(costs)
    return sum(costs[rows, columns].tolist())


@given(
    shape=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10**6),
    maximize=st.booleans(),
    options=st.sampled_from(VARIANTS),
)
@example(shape=(0, 3), kind="integer", seed=0, maximize=True, options={})
@example(shape=(1, 1), kind="float", seed=0, maximize=False, options={})
@example(shape=(1, 5), kind="large", seed=0, maximize=True, options={"form": "generic"})
@example(shape=(6, 1), kind="ties", seed=0, maximize=False, options={})
@settings(max_examples=60)
def test_small_costs_agree_with_all_permutations(
    shape: tuple[int, int], kind: str, seed: int, maximize: bool, options: dict[str, Any]
) -> None:
    check_all_permutations(shape, kind, seed, maximize, method=METHOD, options=options)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("shape", [(45, 45), (30, 50)])
@pytest.mark.parametrize("kind", ["integer", "float", "ties", "large"])
def test_larger_costs_agree_with_scipy(shape: tuple[int, int], kind: str, options: dict[str, Any]) -> None:
    costs = random_costs(shape, kind, seed=1)
    expected = cheapest(costs)
    check(costs, expected, options=options)
    check(
        scipy.sparse.csr_array(costs + 100) if kind == "integer" else costs,
        expected + 100 * shape[0] * (kind == "integer"),
        options=options,
    )


@pytest.mark.parametrize("name", sorted(COST_FAMILIES))
def test_families(name: str) -> None:
    costs = COST_FAMILIES[name](150)
    check(costs, preflow.linear_assignment(costs, method="serial-shortest-path").cost)
    wide = costs[:100]
    check(wide, preflow.linear_assignment(wide, method="serial-shortest-path").cost)


def test_single_precision() -> None:
    costs = COST_FAMILIES["geometric"](150).astype(np.float32)
    check(costs, float(costs.astype(np.float64)[linear_sum_assignment(costs)].sum()))


@pytest.mark.parametrize("name", sorted(OR_LIBRARY))
def test_or_library(name: str, shared_instances: Path) -> None:
    costs = read_costs(shared_instances / "assignment" / f"{name}.txt.gz").costs
    for options in ({}, {"form": "mixed", "price_updates": True}) if name == "assign100" else ({},):
        check(costs, OR_LIBRARY[name], options=options)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("kind", ["integer", "float"])
@pytest.mark.parametrize("shape", [(12, 12), (8, 13)])
def test_every_refine_ends_epsilon_optimal(
    shape: tuple[int, int], kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    by_bids, by_arcs = bidding.refine, push_relabel.refine
    costs = random_costs(shape, kind, seed=4)
    rounding = 0.0 if kind == "integer" else 1e-12

    def check_bids(flat: Any, lists: Any, state: Any, work: Any, prices: Any, *rest: Any) -> Any:
        ending, bids = by_bids(flat, lists, state, work, prices, *rest)
        if ending == SOLVED:
            seen.append(prices.epsilon)
            check_bidding(flat.reshape(shape), work, prices, rounding)
        return ending, bids

    def check_arcs(network: Any, step: Any, *rest: Any) -> Any:
        ending, relabels = by_arcs(network, step, *rest)
        if ending == SOLVED:
            seen.append(step.delta)
            check_assignment_push_relabel(network, step, rounding)
        return ending, relabels

    monkeypatch.setattr(bidding, "refine", check_bids)
    monkeypatch.setattr(push_relabel, "refine", check_arcs)
    check(costs, cheapest(costs), options=options)
    assert len(seen) >= 2
    assert min(seen) == seen[-1]


def test_epsilon_below_one_over_rows_is_not_enough_for_the_first_definitions() -> None:
    """With 3 rows, 5.0 and 5.2 may end wrong with 1/6 < epsilon < 1/3, which is enough for 5.1."""
    matrix = np.array([[2, 4, 4], [0, 1, 3], [1, 2, 2]])
    prices = np.array([-223, -30, -81, -53, -72, -299])
    scale = 100
    costs = as_costs(scipy.sparse.csr_array(matrix + 1), False)
    assert isinstance(costs, SparseCosts)

    def total(form: str, epsilon: int) -> int:
        network = push_relabel.make_network(costs, 0, scale, np.int64, np.zeros(1, np.int64))
        network.price[:] = prices
        delta = np.int64(epsilon // 2 if form == "csa" else epsilon)
        offset = delta if form == "csa" else np.int64(0)
        step = push_relabel.Step(
            delta, offset, np.int64(-(10**9)), np.uint64(3), np.uint64(3), form == "generic", True, False
        )
        control = Control()
        ending, _ = push_relabel.refine(network, step, np.uint64(10**6), False, control.monitor())
        assert ending == SOLVED
        return int(matrix[push_relabel.owners(network, 3, 3), np.arange(3)].sum())

    assert cheapest(matrix) == 5
    for form in ("generic", "mixed"):
        assert total(form, 32) == 6
        assert total(form, 16) == 5
    assert total("csa", 32) == 5


@pytest.mark.parametrize("options", [{}, {"double_push": False}, {"price_updates": True}], ids=str)
def test_algorithms_5_1_and_5_2_are_the_same_on_square_costs(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    for n in range(8, 16):
        costs = rng.integers(0, 100, (n, n))
        counts = {
            form: preflow.linear_assignment(costs, method=METHOD, options={"form": form, **options}).stats
            for form in ("csa", "mixed", "generic")
        }
        pushes = {form: (stats.pushes, stats.relabels) for form, stats in counts.items()}
        assert pushes["csa"] == pushes["mixed"]
        assert pushes["csa"][1] > 0  # on arcs, not by bids


def test_forms_do_what_they_are_named_for(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = COST_FAMILIES["uniform-integer"](40)
    expected = cheapest(costs)
    fixed = []
    fix_arcs = push_relabel.fix_arcs

    def count_fixed(network: Any, bound: Any) -> Any:
        found = fix_arcs(network, bound)
        fixed.append(int(found))
        return found

    monkeypatch.setattr(push_relabel, "fix_arcs", count_fixed)
    plain = check(costs, expected, options={"form": "mixed"})
    assert plain.stats.relabels > 0
    assert plain.stats.global_relabels == 0
    assert not fixed
    updated = check(costs, expected, options={"form": "mixed", "price_updates": True})
    assert updated.stats.global_relabels > 0
    less = check(costs, expected, options={"form": "mixed", "arc_fixing": True})
    assert sum(fixed) > 0
    assert less.stats.arc_scans < plain.stats.arc_scans
    bids = check(costs, expected)
    assert bids.stats.pushes > 0
    assert bids.stats.relabels == 0


@pytest.mark.parametrize(
    "options", [{}, {"form": "generic", "price_updates": True}, {"form": "mixed"}], ids=str
)
def test_what_has_no_assignment_is_found_out(options: dict[str, Any]) -> None:
    """Sixty rows for fifty columns among many others, so that prices fall and fall."""
    rng = np.random.default_rng(0)
    allowed = rng.random((200, 200)) < 0.3
    allowed[:60, 50:] = False
    costs = np.where(allowed, rng.integers(0, 100, allowed.shape), np.inf)
    with pytest.raises(InfeasibleError) as caught:
        preflow.linear_assignment(costs, method=METHOD, options=options)
    check_violation(caught.value, allowed)
    result = preflow.linear_assignment(costs, method=METHOD, options=options, partial=True)
    result.verify()
    assert len(result.row) == 190


def test_costs_too_large_to_be_scaled() -> None:
    base = 2**58
    costs = np.array([[base, base + 1, base + 3], [base + 1, base + 3, base], [base + 2, base, base + 2]])
    wide = np.random.default_rng(0).integers(-(2**58), 2**58, (30, 40))
    for options in VARIANTS:
        check(costs, 3 * base, options=options)
        check(wide, cheapest_by_paths(wide), options=options)
    n = 20
    falling = scipy.sparse.diags_array([[2**58] * n, [-(2**58)] * (n - 1)], offsets=[0, 1], dtype=np.int64)
    with pytest.raises(InvalidInputError, match="too large for exact"):
        preflow.linear_assignment(falling, method=METHOD)


def cheapest_by_paths(costs: Any) -> Any:
    return preflow.linear_assignment(costs, method="serial-shortest-path").cost


def random_matrix(rows: int, columns: int) -> Any:
    return np.random.default_rng(1).random((rows, columns))


@pytest.mark.parametrize("form", ["generic", "csa", "mixed"])
@pytest.mark.parametrize("price_updates", [False, True])
@pytest.mark.parametrize(
    "costs",
    [
        np.full((3, 30), -0.9),
        np.full((2, 3), -(10**9)),
        1e-20 * random_matrix(4, 4),
        random_matrix(3, 6) - 1e6,
    ],
    ids=["alike", "integers alike", "tiny", "far from 0"],
)
def test_costs_far_from_zero_or_near(costs: Any, form: str, price_updates: bool) -> None:
    """Costs that differ by little or nothing take few relabels, wherever they are."""
    options = {"form": form, "price_updates": price_updates, "double_push": False}
    result = preflow.linear_assignment(costs, method="serial-cost-scaling", options=options)
    result.verify()
    assert result.stats.relabels < 10_000
    rows, columns = linear_sum_assignment(costs)
    assert result.cost == pytest.approx(costs[rows, columns].sum(), rel=1e-9)


def test_floats_of_very_different_sizes() -> None:
    """Epsilon gets small beside the cheap costs, not only beside the dear ones, or paths do the rest."""
    distances = COST_FAMILIES["geometric"](80)
    for costs in (np.exp(25 * distances), distances**8, distances + 1e9, distances[:60]):
        check(costs, float(costs[linear_sum_assignment(costs)].sum()))


@pytest.mark.parametrize("shape", [(6, 6), (5, 8)])
def test_the_network_has_every_arc_in_both_directions(shape: tuple[int, int]) -> None:
    n, m = shape
    costs = random_costs(shape, "forbidden", 4)
    network = push_relabel.make_network(
        as_costs(costs, False).to_sparse(), 0.0, 3.0, np.float64, np.zeros(1, np.int64)
    )
    size = (network.last - network.first).astype(int)
    tail = np.repeat(np.arange(len(size)), size)
    head = network.head.astype(int)
    reverse = network.reverse.astype(int)
    assert np.array_equal(network.first, np.cumsum(size) - size)
    assert np.array_equal(reverse[reverse], np.arange(len(head)))
    assert np.array_equal(tail[reverse], head)
    assert np.array_equal(network.cost[reverse], -network.cost)
    assert np.array_equal(network.forward, network.residual)
    forward = network.forward == 1
    assert (network.forward[reverse] == 1 - network.forward).all()
    rows, columns = np.nonzero(np.isfinite(costs))
    between = forward & (tail < n)
    assert np.array_equal(tail[between], rows)
    assert np.array_equal(head[between] - n, columns)
    assert np.array_equal(network.cost[between], 3 * costs[rows, columns])
    rest = forward & ~between
    assert tail[rest].tolist() == (list(range(n, n + m)) if n < m else [])
    assert (head[rest] == n + m).all()
    assert network.supply.sum() == 0


@pytest.mark.parametrize("options", [{}, {"form": "generic"}, {"form": "mixed"}], ids=str)
@pytest.mark.parametrize("shape", [(50, 50), (40, 60)])
def test_a_stopped_solve_proves_a_bound(shape: tuple[int, int], options: dict[str, Any]) -> None:
    costs = np.random.default_rng(0).integers(0, 1000, shape)
    control = Control()
    control.stop[0] = 1
    found = serial_cost_scaling.solve(
        as_costs(costs, False).to_minimize(), CostScalingOptions(**options), control
    )
    assert found.ending.tolist() == [STOPPED]
    assert found.v.max() <= 0
    assert (costs - found.v[0]).min(axis=1).sum() + found.v[0].sum() <= cheapest(costs)


def test_time_limit() -> None:
    costs = nearest_costs(20000)
    preflow.linear_assignment(costs[:, :][:50, :], method=METHOD)
    result = preflow.linear_assignment(costs, method=METHOD, options={"form": "generic"}, time_limit=0.01)
    assert result.status == "time-limit"
    result.verify()
    with pytest.raises(NotOptimalError):
        _ = result.cost


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "auction"}, "bids, csa, generic, mixed"),
        ({"price_updates": True}, 'form "bids" has double pushes'),
        ({"arc_fixing": True}, 'form "bids" has double pushes'),
        ({"double_push": False}, 'form "bids" has double pushes'),
        ({"alpha": 1}, "alpha"),
        ({"alpha": True}, "alpha"),
        ({"double_push": 1}, "True or False"),
        ({"epsilon": 1}, "no option"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.linear_assignment(np.eye(3), method=METHOD, options=options)


@pytest.mark.parametrize(
    ("costs", "method"),
    [
        (COST_FAMILIES["neighbors"](SPARSE_ROWS), METHOD),
        (COST_FAMILIES["neighbors"](50), "serial-shortest-path"),
        (machol_wien_costs(DENSE_ROWS), METHOD),
        (COST_FAMILIES["geometric"](DENSE_ROWS), METHOD),
        (COST_FAMILIES["uniform"](DENSE_ROWS), "serial-shortest-path"),
        (COST_FAMILIES["geometric"](DENSE_ROWS)[: DENSE_ROWS // 2], "serial-shortest-path"),
        (np.zeros((DENSE_ROWS, DENSE_ROWS)), "serial-shortest-path"),
    ],
)
def test_the_choice(costs: Any, method: str) -> None:
    result = preflow.linear_assignment(costs)
    assert result.stats.method == method
    assert ":" in result.stats.reason
    result.verify()


@pytest.mark.parametrize(
    ("costs", "method"),
    [
        (machol_wien_costs(DENSE_ROWS), METHOD),
        (COST_FAMILIES["geometric"](DENSE_ROWS), "multicore-auction"),
        (COST_FAMILIES["uniform"](DENSE_ROWS), "multicore-auction"),
    ],
)
def test_the_choice_for_many_threads(costs: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ROWS_FOR_THREADS", DENSE_ROWS)
    monkeypatch.setattr(policy, "COSTS_FOR_THREADS", DENSE_ROWS)
    assert policy.choose(as_costs(costs, False), threads=policy.LEAST_THREADS).method == method


def test_the_choice_for_sparse_costs_and_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    costs = as_costs(scipy.sparse.random_array((SPARSE_ROWS, SPARSE_ROWS), density=0.01, rng=rng), False)
    monkeypatch.setattr(policy, "SPARSE_ROWS_FOR_THREADS", SPARSE_ROWS)
    for threads, method in (
        (policy.LEAST_SPARSE_THREADS, "multicore-auction"),
        (policy.LEAST_SPARSE_THREADS - 1, METHOD),
    ):
        assert policy.choose(costs, threads=threads).method == method
