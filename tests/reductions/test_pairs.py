"""Matchings, assignments, transport and jobs: solved directly and through reductions."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import reductions
from preflow.errors import (
    CapacityOverflowError,
    InfeasibleError,
    InfeasibleFlowError,
    InvalidInputError,
    PreflowError,
    VerificationError,
)
from tests.support.strategies import SmallGraph, small_graphs

pytestmark = pytest.mark.fast


@settings(max_examples=80, deadline=None)
@given(small_graphs())
def test_matching(case: SmallGraph) -> None:
    found = reductions.MatchingAsMaxFlow.of(case.graph).solve()
    found.verify()
    direct = preflow.bipartite_matching(case.graph)
    assert found.size == direct.cardinality == found.cover_rows.sum() + found.cover_columns.sum()
    assert len(set(found.row.tolist())) == len(set(found.column.tolist())) == found.size


@settings(max_examples=80, deadline=None)
@given(small_graphs(5), st.data())
def test_b_matching(case: SmallGraph, data: st.DataObject) -> None:
    limits = [
        data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
        for size in (case.num_rows, case.num_columns)
    ]
    edge = data.draw(st.sampled_from([None, 0, 1, 2]))
    found = reductions.b_matching(case.graph, row_limit=limits[0], column_limit=limits[1], edge_limit=edge)
    found.verify()
    # With copies of rows and columns it is a matching, if edges have no limits of their own.
    if edge is None:
        copies = [[(i, k) for i, limit in enumerate(side) for k in range(limit)] for side in limits]
        pairs = set(case.edges)
        edges = [
            (r, c)
            for (r, (i, _)), (c, (j, _)) in product(enumerate(copies[0]), enumerate(copies[1]))
            if (i, j) in pairs
        ]
        shape = (max(1, len(copies[0])), max(1, len(copies[1])))
        ends = [r for r, _ in edges], [c for _, c in edges]
        assert (
            found.size
            == preflow.bipartite_matching(preflow.BipartiteGraph.from_arrays(*ends, shape=shape)).cardinality
        )


costs = st.integers(-5, 9)


@st.composite
def matrices(draw: st.DrawFn, missing: bool = True) -> np.ndarray:
    """Draw small matrices of costs, of which some may be infinite."""
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    values = np.array(draw(st.lists(costs, min_size=n * m, max_size=n * m))).reshape(n, m)
    if missing and draw(st.booleans()):
        return np.where(
            np.array(draw(st.lists(st.booleans(), min_size=n * m, max_size=n * m))).reshape(n, m),
            np.inf,
            values,
        )
    return values


def sparse(matrix: np.ndarray) -> sp.csr_array:
    """Return the finite entries, zeros as well."""
    row, column = np.nonzero(np.isfinite(matrix))
    return sp.csr_array((matrix[row, column], (row, column)), shape=matrix.shape)


@settings(max_examples=120, deadline=None)
@given(matrices(), st.booleans())
def test_assignment(matrix: np.ndarray, as_sparse: bool) -> None:
    given_costs = sparse(matrix) if as_sparse else matrix
    most = preflow.linear_assignment(given_costs, partial=True)
    if len(most.row) < min(matrix.shape):
        with pytest.raises(InfeasibleError) as error:
            reductions.AssignmentAsTransport.of(given_costs).solve()
        found = error.value
        assert found.side == ("rows" if matrix.shape[0] <= matrix.shape[1] else "columns")
        assert len(found.allowed) < len(found.violating)
        lines = matrix if found.side == "rows" else matrix.T
        allowed = np.isfinite(lines[list(found.violating)]).any(axis=0)
        assert set(np.flatnonzero(allowed)) <= set(found.allowed)
        return
    result = reductions.AssignmentAsTransport.of(given_costs).solve()
    result.verify()
    assert result.cost == most.cost


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (6, 2)])
def test_assignment_of_floats(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(1).random(shape) * 1e5
    result = reductions.AssignmentAsTransport.of(matrix).solve()
    result.verify()
    assert result.gap <= 1e-5
    assert result.cost == pytest.approx(preflow.linear_assignment(matrix).cost)


@settings(max_examples=100, deadline=None)
@given(matrices())
def test_assignment_as_flow(matrix: np.ndarray) -> None:
    reduction = reductions.AssignmentAsMinCostFlow.of(matrix)
    network, fewer = reduction.network, min(matrix.shape)
    assert (network.capacity[network.tail < fewer] == 1).all()
    assert network.supply.sum() == 0
    try:
        direct = preflow.linear_assignment(matrix)
    except InfeasibleError:
        with pytest.raises(InfeasibleFlowError):
            reduction.solve()
        return
    result = reduction.solve()
    result.verify()
    assert result.cost == pytest.approx(direct.cost, abs=1e-9)
    again = reductions.AssignmentAsMinCostFlow.of(matrix / 3).solve()
    again.verify()
    assert again.cost == pytest.approx(direct.cost / 3, abs=1e-9)


def test_wrong_assignments_are_refused() -> None:
    found = reductions.AssignmentAsTransport.of([[4, 1, 3], [1, 0, 5]]).solve()
    parts = [found.row, found.column, found.u, found.v]
    for place, wrong, message in (
        (1, [1, 1], "a column is in two pairs"),
        (1, [0, 2], "singles cost 9"),
        (3, np.zeros(3, dtype=np.int64), "the prices exceed"),
    ):
        arrays = [*parts[:place], np.array(wrong), *parts[place + 1 :]]
        with pytest.raises(VerificationError, match=message):
            reductions.PricedAssignment(*arrays, found.cost, found.gap, found.costs).verify()


@settings(max_examples=100, deadline=None)
@given(matrices(), st.data(), st.booleans())
def test_transport(matrix: np.ndarray, data: st.DataObject, floats: bool) -> None:
    n, m = matrix.shape
    a = np.array(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)))
    b = np.zeros(m, dtype=np.int64)
    np.add.at(b, np.arange(a.sum()) * 7 % m, 1)
    if floats:
        a, b = a / 7, b / 7
    reduction = reductions.TransportAsMinCostFlow.of(matrix, a, b)
    try:
        direct = preflow.transport(matrix, a, b)
    except InfeasibleFlowError:
        with pytest.raises(InfeasibleFlowError):
            reduction.solve()
        return
    result = reduction.solve()
    result.verify()
    assert result.cost == pytest.approx(direct.cost, abs=1e-9)


def brute_jobs(matrix: np.ndarray, limit: list[int], needs: list[int], least: list[int]) -> tuple[int, float]:
    """Return minus the most pairs, and the least cost of as many; 1 if no pairs are feasible."""
    n, m = matrix.shape
    best = (1, np.inf)
    for bits in product([0, 1], repeat=n * m):
        chosen = np.array(bits, dtype=bool).reshape(n, m)
        load = chosen.sum(axis=1)
        if (load >= least).all() and (load <= limit).all() and (chosen.sum(axis=0) <= needs).all():
            cost = matrix[chosen].sum()
            if np.isfinite(cost):
                best = min(best, (-int(chosen.sum()), float(cost)))
    return best


@settings(max_examples=60, deadline=None)
@given(matrices(), st.data())
def test_jobs(matrix: np.ndarray, data: st.DataObject) -> None:
    matrix = matrix[:3, :3]
    n, m = matrix.shape
    limit = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    needs = data.draw(st.lists(st.integers(0, 2), min_size=m, max_size=m))
    pairs, cost = brute_jobs(matrix, limit, needs, [0] * n)
    partial = reductions.assign_jobs(matrix, limit=limit, needs=needs, partial=True)
    partial.verify()
    assert (len(partial.job), partial.cost) == (-pairs, cost)
    assert partial.complete == (-pairs == sum(needs))
    if partial.complete:
        found = reductions.assign_jobs(matrix, limit=limit, needs=needs)
        found.verify()
        assert found.cost == cost
    else:
        with pytest.raises(InfeasibleError) as error:
            reductions.assign_jobs(matrix, limit=limit, needs=needs)
        jobs = list(error.value.violating)
        open_ = np.isfinite(matrix[:, jobs])
        assert set(np.flatnonzero(open_.any(axis=1))) == set(error.value.allowed)
        if max(needs) == 1:
            assert sum(limit[w] for w in error.value.allowed) < len(jobs)
        reachable = np.minimum(open_.sum(axis=1), limit).sum()
        assert reachable < sum(needs[j] for j in jobs) or max(needs) > 1


@settings(max_examples=60, deadline=None)
@given(matrices(), st.data())
def test_jobs_between_least_and_limit(matrix: np.ndarray, data: st.DataObject) -> None:
    matrix = matrix[:3, :3]
    n, m = matrix.shape
    limit = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    least = [data.draw(st.integers(0, most)) for most in limit]
    needs = data.draw(st.lists(st.integers(0, 2), min_size=m, max_size=m))
    maximize = data.draw(st.booleans())
    given = -matrix if maximize else matrix
    pairs, cost = brute_jobs(matrix, limit, needs, least)
    arguments = {"limit": limit, "needs": needs, "least": least, "maximize": maximize}
    if pairs == 1:
        for partial in (False, True):
            with pytest.raises(InfeasibleError):
                reductions.assign_jobs(given, **arguments, partial=partial)
        return
    found = reductions.assign_jobs(given, **arguments, partial=True)
    found.verify()
    assert (len(found.job), found.cost) == (-pairs, -cost if maximize else cost)
    if -pairs == sum(needs):
        found = reductions.assign_jobs(given, **arguments)
        found.verify()
        assert found.cost == (-cost if maximize else cost)
        sign = -1 if maximize else 1
        bounds = np.where(found.rent < 0, least, limit)
        bound = sign * (found.price @ found.needs) - found.rent @ bounds
        if max(needs, default=0) <= 1:
            assert bound == pytest.approx(cost, abs=1e-9)
            worth = sign * given + found.rent[:, None] - sign * found.price
            assert (worth >= -1e-9).all()
    else:
        with pytest.raises(InfeasibleError, match=r"of the .* needed|allowed no"):
            reductions.assign_jobs(given, **arguments)


def test_errors_of_jobs_count_limits() -> None:
    """They say what the limits, and the least numbers, allow, beside the numbers of workers and jobs."""
    shifts = np.zeros((8, 21))
    with pytest.raises(InfeasibleError, match="8 rows together, which take at most 16 of the 21 needed"):
        reductions.assign_jobs(shifts, limit=2)
    for partial in (False, True):
        with pytest.raises(InfeasibleError) as error:
            reductions.assign_jobs(np.zeros((3, 4)), limit=5, least=[3, 2, 0], partial=partial)
        assert (error.value.numbers, error.value.violating) == ((5, 4), (0, 1))
        assert "partial" not in str(error.value)
    named = {"ada": {"sew": 1, "cook": 2}, "bob": {"sew": 4}}
    with pytest.raises(InfeasibleError, match="row bob is allowed 1 column, which takes at most 1 of the 2"):
        reductions.assign_jobs(named, limit=2, least={"ada": 0, "bob": 2})
    with pytest.raises(InvalidInputError, match="worker 'bob' does at least 2 and at most 1 jobs"):
        reductions.assign_jobs(named, limit={"ada": 2, "bob": 1}, least=2)
    found = reductions.assign_jobs([[4, 1, 2], [2, 3, 9]], limit=3, least=[0, 2], maximize=True)
    for wrong in (replace(found, least=np.array([0, 3])), replace(found, maximize=False)):
        with pytest.raises(VerificationError):
            wrong.verify()


def test_the_number_of_jobs_is_proved() -> None:
    """The cover is checked, and so are the pairs and the cost of an assignment that leaves jobs over."""
    found = reductions.assign_jobs([[1, 2, 5], [np.inf, np.inf, 4]], limit=[1, 2], partial=True)
    found.verify()
    assert (found.complete, len(found.job), found.cost) == (False, 2, 5)
    bound = found.limit[found.cover_workers].sum() + found.needs[found.cover_jobs].sum()
    assert bound == 2
    for wrong, message in (
        (replace(found, cover_workers=np.zeros(2, dtype=bool)), "the cover proves"),
        (replace(found, cost=6), "the pairs cost 5, not 6"),
        (replace(found, job=np.array([1, 2])), "not those of the flow"),
        (replace(found, price=found.price + 1), "price is not"),
        (replace(found, job=np.array([2, 2])), "wrong number of workers"),
    ):
        with pytest.raises(VerificationError, match=message):
            wrong.verify()


def test_prices_of_jobs() -> None:
    costs = np.array([[1, 2, 3], [4, 6, 9]])
    found = reductions.assign_jobs(costs, limit=[2, 2])
    found.verify()
    assert (found.cost, found.load.tolist()) == (9, [2, 1])
    assert found.rent[1] == 0
    assert (
        found.price[found.job]
        == np.array([[1, 2, 3], [4, 6, 9]])[found.worker, found.job] + found.rent[found.worker]
    ).all()
    floats = reductions.assign_jobs(np.array([[0.1, 0.2], [0.7, 0.4]]), limit=2)
    floats.verify()
    assert floats.cost == pytest.approx(0.3)


@pytest.mark.parametrize("huge", [2.0**53 + 2, 1e15, 1e18, 1e100, 1e308, sys.float_info.max])
def test_prices_of_jobs_beside_huge_costs(huge: float) -> None:
    """Prices that float64 rounds prove nothing on their own: they are those of the flow, which is proved."""
    random = Random(f"{huge}")
    for _ in range(12):
        shape = random.randint(2, 4), random.randint(1, 3)
        costs = np.array(
            [[random.choice([random.random(), 0.0, huge]) for _ in range(shape[1])] for _ in range(shape[0])]
        )
        needs, limit = [random.randint(1, 2) for _ in range(shape[1])], random.randint(1, 3)
        try:
            found = reductions.assign_jobs(costs, limit=limit, needs=needs)
        except InfeasibleError:
            continue
        except PreflowError:  # the cost is past float64
            assert huge > 1e300
            continue
        found.verify()
        exact = sum(
            (Fraction(costs[pair]) for pair in zip(found.worker, found.job, strict=True)), Fraction(0)
        )
        assert abs(Fraction(found.cost) - exact) <= exact / 2**52
        for name in ("rent", "price"):
            prices = getattr(found, name).copy()
            prices[-1] = prices[-1] / 2 - 1
            with pytest.raises(VerificationError, match=name):
                replace(found, **{name: prices}).verify()


def test_jobs_with_labels() -> None:
    """A matrix with names, its table of pairs, tuples and dictionaries have the same result."""
    pandas = pytest.importorskip("pandas")
    matrix = pandas.DataFrame({"sew": [4, 2], "cook": [1, 3], "sweep": [2.0, np.inf]}, index=["ada", "bob"])
    table = matrix.stack().rename_axis(["row", "column"]).rename("cost").reset_index()
    table = table[np.isfinite(table["cost"])]
    edges = list(table.itertuples(index=False, name=None))
    nested = {who: {job: cost for w, job, cost in edges if w == who} for who in ("ada", "bob")}
    limit = {"bob": 2, "ada": 1}
    expected = {("bob", "sew"): 2, ("bob", "cook"): 3, ("ada", "sweep"): 2}
    for costs in (matrix, table, edges, nested):
        found = reductions.assign_jobs(costs, limit=limit)
        found.verify()
        assert set(found.pairs()) == set(expected)
        frame = found.to_pandas()
        assert list(frame.columns) == ["worker", "job", "cost"]
        assert {(who, job): cost for who, job, cost in frame.itertuples(index=False)} == expected
        series = reductions.assign_jobs(
            costs, limit=pandas.Series(limit), needs={"sew": 1, "cook": 1, "sweep": 1}
        )
        assert series.pairs() == found.pairs()
    with pytest.raises(
        InfeasibleError, match="columns sew, cook, sweep are allowed 2 rows together, which take at most 2 "
    ):
        reductions.assign_jobs(matrix)
    plain = reductions.assign_jobs(matrix.to_numpy(), limit=[1, 2])
    assert plain.pairs() == [(1, 0), (1, 1), (0, 2)]
    assert plain.to_columns()["cost"].tolist() == [2, 3, 2]
    for wrong, message in (
        ({"ada": 1}, "limit has no entry for 'bob'"),
        ({"ada": 1, "bob": 1, "cy": 1}, "entry for 'cy', which the problem does not have"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            reductions.assign_jobs(matrix, limit=wrong)
    with pytest.raises(InvalidInputError, match="the problem has no labels"):
        reductions.assign_jobs(matrix.to_numpy(), limit=limit)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="row_limit must hold integers"):
        reductions.b_matching(([0], [0]), row_limit=1.5)
    with pytest.raises(InvalidInputError, match="edge_limit"):
        reductions.b_matching(([0], [0]), edge_limit=-1)
    with pytest.raises(CapacityOverflowError):
        reductions.b_matching(([0], [0]), row_limit=2**62)
    with pytest.raises(InvalidInputError, match="one matrix"):
        reductions.AssignmentAsTransport.of(np.zeros((2, 2, 2)))
    with pytest.raises(InvalidInputError, match="negative"):
        reductions.TransportAsMinCostFlow.of([[1]], [-1], [-1])
    with pytest.raises(InvalidInputError, match="2 numbers"):
        reductions.TransportAsMinCostFlow.of([[1], [1]], [1], [1])
    with pytest.raises(InvalidInputError, match="partial"):
        reductions.assign_jobs([[1]], partial=1)  # type: ignore[arg-type]
    reduction = reductions.AssignmentAsTransport.of([[1, 2], [3, 4]])
    with pytest.raises(InvalidInputError, match="does not belong"):
        reduction.solution(preflow.transport([[1, 2]], [2], [1, 1]))


def test_wrong_answers_are_refused() -> None:
    found = reductions.b_matching(([0, 0, 1], [0, 1, 1]))
    wrong = reductions.BMatching(
        1, np.array([1, 0, 0]), found.edge_row, found.edge_column, found.row_limit, found.column_limit, None,
        np.array([True, False]), np.array([False, False]),
    )  # fmt: skip
    with pytest.raises(VerificationError, match="not covered"):
        wrong.verify()


def test_labels_of_b_matching() -> None:
    shifts = [("ada", "early"), ("ada", "late"), ("bob", "late")]
    found = reductions.b_matching(
        shifts, row_limit={"ada": 2, "bob": 0}, column_limit={"early": 3, "late": 1}
    )
    found.verify()
    assert found.pairs() == [("ada", "early"), ("ada", "late")]
    twice = reductions.b_matching([("a", "x")], row_limit=2, column_limit=3, edge_limit=None)
    assert twice.pairs() == [("a", "x"), ("a", "x")]
    assert reductions.b_matching(([0, 1], [0, 0])).pairs() in ([(0, 0)], [(1, 0)])
    with pytest.raises(InvalidInputError, match="row_limit has no entry for 'bob'"):
        reductions.b_matching(shifts, row_limit={"ada": 2})


def test_a_limit_of_edges_past_int64() -> None:
    assert reductions.b_matching(([0], [0]), row_limit=3, column_limit=2, edge_limit=2**70).size == 2


def test_an_edge_given_twice_is_two_edges() -> None:
    twice = ([0, 0], [0, 0])
    found = reductions.b_matching(twice, row_limit=2, column_limit=2, edge_limit=1)
    found.verify()
    assert (found.size, found.count.tolist()) == (2, [1, 1])
    assert reductions.b_matching(twice, row_limit=5, column_limit=5, edge_limit=2).size == 4
    assert reductions.b_matching(twice, row_limit=1, column_limit=5, edge_limit=2).size == 1
