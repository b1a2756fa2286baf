"""Small instances of minimum-cost flow, and a linear program as the oracle."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array

import preflow
from preflow.errors import InfeasibleFlowError, UnboundedCostError


class SmallCosts(NamedTuple):
    """A network with costs, as lists; a capacity may be infinite."""

    num_vertices: int
    tail: list[int]
    head: list[int]
    capacity: list[float]
    cost: list[int]
    lower: list[int]
    supply: list[int]

    def network(self) -> preflow.CostNetwork:
        """Return the network."""
        return preflow.CostNetwork.from_arrays(
            self.tail,
            self.head,
            capacity=self.capacity,
            cost=self.cost,
            lower=self.lower,
            supply=self.supply,
            num_vertices=self.num_vertices,
        )


@st.composite
def small_costs(draw: st.DrawFn, endless: bool = True) -> SmallCosts:
    """Draw networks of up to 7 vertices: parallel arcs, self loops, negative costs, lower bounds."""
    n = draw(st.integers(1, 7))
    vertex = st.integers(0, n - 1)
    amounts: list[Any] = [0, 1, 2, 3, 5, 9, *([np.inf] if endless and draw(st.booleans()) else [])]
    arc = st.tuples(vertex, vertex, st.sampled_from(amounts), st.integers(-6, 9), st.integers(-2, 2))
    arcs = draw(st.lists(arc, max_size=14))
    supply = [0] * n
    for u, v, amount in draw(st.lists(st.tuples(vertex, vertex, st.integers(1, 4)), max_size=3)):
        supply[u] += amount
        supply[v] -= amount
    with_lower = draw(st.booleans())
    lower = [int(min(capacity, least)) if with_lower else 0 for *_, capacity, _, least in arcs]
    columns = [[arc[i] for arc in arcs] for i in range(4)]
    return SmallCosts(n, *columns, lower, supply)  # type: ignore[arg-type]


def cheapest(case: SmallCosts) -> int | Literal["infeasible", "unbounded"]:
    """Return the optimum by the dual simplex method of HiGHS."""
    n, m = case.num_vertices, len(case.tail)
    if not m:
        return "infeasible" if any(case.supply) else 0
    ends = np.r_[case.tail, case.head], np.r_[np.arange(m), np.arange(m)]
    balance = coo_array((np.r_[np.ones(m), -np.ones(m)], ends), shape=(n, m)).tocsr()
    limits = [(low, None if up == np.inf else up) for low, up in zip(case.lower, case.capacity, strict=True)]
    for cost in (case.cost, np.zeros(m)):
        found = linprog(cost, A_eq=balance, b_eq=case.supply, bounds=limits, method="highs-ds")
        if found.status == 0:
            return round(found.fun) if cost is case.cost else "unbounded"
        if found.status == 2:
            return "infeasible"
    raise AssertionError(found.message)


def check_against_oracle(case: SmallCosts, **arguments: Any) -> None:
    """Solve a case with these arguments of min_cost_flow, and check the answer or the error and its proof."""
    expected = cheapest(case)
    network = case.network()
    try:
        result = preflow.min_cost_flow(network, **arguments)
    except InfeasibleFlowError as error:
        assert expected == "infeasible"
        check_violated(case, error)
        return
    except UnboundedCostError as error:
        assert expected == "unbounded"
        check_cycle(case, error)
        return
    assert result.cost == expected
    result.verify()


def check_violated(case: SmallCosts, error: InfeasibleFlowError) -> None:
    """Check that the vertices of the error supply more than the arcs out of them can carry."""
    inside = set(error.vertices)
    supply = sum(case.supply[v] for v in inside)
    for tail, head, capacity, lower in zip(case.tail, case.head, case.capacity, case.lower, strict=True):
        if tail in inside and head not in inside:
            supply -= capacity
        if head in inside and tail not in inside:
            supply += lower
    assert supply == error.excess > 0


def check_cycle(case: SmallCosts, error: UnboundedCostError) -> None:
    """Check that the arcs of the error form a cycle of infinite capacity and negative cost."""
    arcs = list(error.arcs)
    assert [case.head[a] for a in arcs] == [case.tail[a] for a in arcs[1:] + arcs[:1]]
    assert all(case.capacity[a] == np.inf for a in arcs)
    assert sum(case.cost[a] for a in arcs) == error.cost < 0
