"""The contract of :mod:`preflow.solving.protocol`, checked for every registered method.

mypy compares the signatures with the protocols, in ``solver_types.py``, which lists every registered solver.
Here: that the parameters have the protocol's names, and what a solver on the CPU leaves behind, after a whole
solve and after one that was stopped before it began. What solvers on a GPU leave is tested where the kernels
run on CPU threads, in the tests of each problem's ``cuda_*`` methods.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import BipartiteGraph, GridNetwork, registry
from preflow.bipartite.match_arrays import empty_matching
from preflow.bipartite.problem import INITIAL, Heuristic
from preflow.certify.assignment import check_assignment
from preflow.certify.blossoms import barrier_bound, check_mates, dual_bound, matched_edges
from preflow.certify.grid import check_grid_flow, check_grid_labels
from preflow.certify.matching import check_matching
from preflow.certify.transport import check_plan, plan_cost, price_bound
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.cost_input import as_costs
from preflow.graph.integer_grid import integer_grid
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.graph.standard_form import StandardForm
from preflow.graph.undirected import UndirectedGraph, neighbours_of
from preflow.kernels.bfs import distances_to_sink
from preflow.kernels.kernel import PLAIN
from preflow.mincost.infeasible import excesses
from preflow.mincost.solution import FlowState
from preflow.solving import protocol
from preflow.solving.dispatch import find_method
from preflow.solving.method import Method, Problem
from preflow.solving.run import Control

pytestmark = pytest.mark.fast


def name_of_protocol(problem: Problem) -> str:
    """Return of which protocol the solvers of a problem are, from its problem.py."""
    path = Path(preflow.__file__).parent / problem.folder / "problem.py"
    found = re.search(r"^    HostSolver = (\w+)\[", path.read_text("utf-8"), re.MULTILINE)
    assert found
    return found[1]


#: The problems, by their names, and the protocols that their records fill in.
PACKAGES = {problem.name: getattr(protocol, name_of_protocol(problem)) for problem in registry.PROBLEMS}
METHODS = [
    pytest.param(problem, method, id=f"{problem}-{method.name}")
    for problem in PACKAGES
    for method in preflow.methods(problem)
]
#: The arcs of a grid are computed by overloads that only Numba knows: the kernels do not run as plain Python.
NEEDS_NUMBA = {("grid_cut", "multicore-lockfree")}
ON_CPU = [
    pytest.param(
        problem,
        method,
        id=f"{problem}-{method.name}",
        marks=pytest.mark.skipif(PLAIN and (problem, method.name) in NEEDS_NUMBA, reason="needs Numba"),
    )
    for problem in PACKAGES
    for method in preflow.methods(problem)
    if method.device == "cpu"
]


def test_an_old_name_still_works_and_warns_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match="is now called 'cuda-push-relabel'") as caught:
        method = find_method(preflow.methods("max_flow"), "cuda-pushrelabel")
    assert method.name == "cuda-push-relabel"
    assert [warning.filename for warning in caught] == [__file__]


VARIANTS = [
    pytest.param(problem, method, name, id=f"{problem}-{name}")
    for problem in PACKAGES
    for method in preflow.methods(problem)
    for name in method.variants
]


@pytest.mark.parametrize(("problem", "method", "name"), VARIANTS)
def test_a_variant_is_the_method_with_other_options(problem: str, method: Method, name: str) -> None:
    found = find_method(preflow.methods(problem), name)
    assert found.name == method.name
    assert found.options == {**method.options, **method.variants[name]} != method.options
    given = {option: method.options[option] for option in method.variants[name]}
    assert found.make_options(given) == method.make_options(None)


def check_signature(function: Any, expected: Any) -> None:
    """Check that a function has the parameters of a protocol, by name and default, and types for them."""
    _, *wanted = inspect.signature(expected.__call__).parameters.values()
    given = inspect.signature(function).parameters.values()
    assert [(each.name, each.default) for each in given] == [(each.name, each.default) for each in wanted]
    for parameter in given:
        assert parameter.annotation not in (inspect.Parameter.empty, "Any"), parameter


@pytest.mark.parametrize(("problem", "method"), METHODS)
def test_solvers_have_the_signature_of_the_protocol(problem: str, method: Method) -> None:
    check_signature(method.solve, PACKAGES[problem])
    if method.streams:
        assert method.device == "cuda"
        check_signature(method.solve_streamed, PACKAGES[problem])


@pytest.mark.parametrize("heuristic", INITIAL, ids=lambda heuristic: heuristic.name)
def test_initial_matchings_have_the_signature_of_the_protocol(heuristic: Heuristic) -> None:
    check_signature(heuristic.start, protocol.InitialMatching)


def exact_heights(net: ResidualArrays) -> Any:
    n, zero = len(net.excess), np.uint64(0)
    height, order = np.full(n, n + 1, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    distances_to_sink(net, height, order, zero, zero, zero, False)
    return height


def solve_flow(method: Method, control: Control) -> bool:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    net = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink])).arrays
    before = net.residual + net.residual[net.reverse]
    total = net.excess.sum() - net.sink_residual.sum()
    height = method.solve(net, method.make_options(None), control)
    np.testing.assert_array_equal(height, exact_heights(net))
    np.testing.assert_array_equal(net.residual + net.residual[net.reverse], before)
    assert net.excess.sum() - net.sink_residual.sum() == total
    assert all((part >= 0).all() for part in (net.residual, net.excess, net.sink_residual))
    return not net.excess[height <= len(height)].any()


def solve_grid(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(1)
    source, sink = rng.integers(0, 9, (2, 12, 9))
    grid = integer_grid(GridNetwork.from_arrays(source, sink, rng.integers(0, 5, (2, 12, 9))))
    found = method.solve(grid, None, method.make_options(None), control)
    check_grid_flow(grid, found.residual, found.terminal)
    if found.finished:
        check_grid_labels(grid, found.residual, found.terminal, ~found.sink_side)
    assert found.sink_side.shape == grid.shape
    return bool(found.finished)


def solve_matching(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(2)
    graph = BipartiteGraph.from_arrays(*rng.integers(0, 40, (2, 90)), shape=(40, 40))
    matching = empty_matching(graph)
    found = method.solve(graph, matching, method.make_options(None), control)
    row, column = (np.where(part < 40, part.astype(np.int64), -1) for part in matching)
    size = int((row >= 0).sum())
    check_matching(graph, row, column, size)
    assert isinstance(found, bool | np.bool)  # kernels in plain Python return NumPy's
    if found:
        assert size == preflow.bipartite_matching(graph, method="serial-hopcroft-karp").cardinality
    return bool(found)


def solve_general_matching(method: Method, control: Control) -> bool:
    tail, head = np.random.default_rng(7).integers(0, 30, (2, 60)).astype(np.uint32)
    weighted = method.weighted or method.approximate
    weight = np.random.default_rng(8).integers(1, 20, 60) if weighted else None
    graph = UndirectedGraph.from_arrays(tail, head, weight, num_vertices=30)
    neighbours = neighbours_of(30, tail, head, weight)
    found = method.solve(neighbours, None, method.make_options(None), control)
    mate = np.where(found.mate < 30, found.mate.astype(np.int64), -1)
    check_mates(graph, mate)
    if weight is None and found.barrier is None:
        assert not found.finished, "no barrier proves the matching"
    elif weight is None:
        bound = barrier_bound(graph, found.barrier)
        assert bound == np.count_nonzero(mate >= 0) // 2 or not found.finished
    else:
        total = weight[matched_edges(graph, mate, weight)].sum()
        bound = dual_bound(graph, weight, *found.duals)
        assert bound >= 2 * total
        if method.approximate:
            assert bound <= 4 * total or not found.finished
        else:
            assert bound == 2 * total or not found.finished
    return bool(found.finished)


def solve_assignment(method: Method, control: Control) -> bool:
    costs = as_costs(np.random.default_rng(3).integers(0, 50, (2, 6, 8)), False)
    found = method.solve(costs, method.make_options(None), control)
    assert [part.shape for part in (found.match, found.u, found.v)] == [(2, 6), (2, 6), (2, 8)]
    for item in np.flatnonzero(found.ending == 0):
        rows, match = np.arange(6), found.match[item]
        total = costs.at(item, rows, match).sum()
        check_assignment(costs, item, rows, match, found.u[item], found.v[item], total, partial=False)
    return not found.ending.any()


def solve_min_cost_flow(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(4)
    tail, head = rng.integers(0, 12, (2, 60))
    capacity, cost, potential = rng.integers(0, 9, 60), rng.integers(-9, 30, 60), rng.integers(0, 20, 12)
    supply = np.zeros(12, dtype=np.int64)
    np.add.at(supply, tail, capacity // 2)
    np.subtract.at(supply, head, capacity // 2)
    form = StandardForm(tail.astype(np.uint32), head.astype(np.uint32), capacity, cost, supply)
    for start in (None, FlowState(capacity // 2, potential, "stopped")):
        state = method.solve(form, start, method.make_options(None), control)
        assert (state.flow >= 0).all()
        assert (state.flow <= capacity).all()
        if control.stopped:
            assert state.ending in ("stopped", "optimal")
        else:
            assert state.ending == "optimal"
            assert not excesses(form, state.flow).any()
            reduced = cost + state.potential[tail] - state.potential[head]
            assert not state.flow[reduced > 0].any()
            assert (state.flow == capacity)[reduced < 0].all()
    return state.ending == "optimal"


def solve_transport(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(6)
    costs = as_costs(rng.integers(0, 50, (2, 40, 30)), False)
    a = rng.integers(1, 9, (2, 40))
    b = np.stack([rng.multinomial(sums, np.ones(30) / 30) for sums in a.sum(axis=1)])
    found = method.solve(costs, a, b, method.make_options(None), control)
    for item, each in enumerate(found):
        assert each.ending in ("optimal", "stopped")
        if each.ending == "optimal":
            check_plan(costs, item, a[item], b[item], each.row, each.column, each.mass)
            total = plan_cost(costs, item, each.row, each.column, each.mass)
            assert price_bound(costs, item, a[item], b[item], each.v) == total
    return all(each.ending == "optimal" for each in found)


SOLVE = {
    "max_flow": solve_flow,
    "grid_cut": solve_grid,
    "bipartite_matching": solve_matching,
    "matching": solve_general_matching,
    "linear_assignment": solve_assignment,
    "min_cost_flow": solve_min_cost_flow,
    "transport": solve_transport,
}


def test_every_problem_is_solved_here() -> None:
    missing = PACKAGES.keys() - SOLVE.keys()
    assert not missing, f"add {missing} to SOLVE"


@pytest.mark.parametrize(("problem", "method"), ON_CPU)
def test_a_whole_solve_is_finished_and_counted(problem: str, method: Method) -> None:
    control = Control(2 if method.parallel else 1)
    control.progress[:] = np.nan
    assert SOLVE[problem](method, control)
    assert control.thread_counts.any(), "count operations, in control.counts or Monitor.counts"
    left, at_first = np.isfinite(control.progress)
    assert left == at_first, "a solver that reports progress begins with control.progress[:] = all there is"
    assert not control.stopped
    assert not control.unproved


@pytest.mark.parametrize(("problem", "method"), ON_CPU)
def test_a_stopped_solve_leaves_a_valid_state(problem: str, method: Method) -> None:
    control = Control(2 if method.parallel else 1)
    control.stop[0] = 1
    SOLVE[problem](method, control)
    assert control.stopped


@pytest.mark.parametrize(("problem", "method"), METHODS)
def test_options_come_from_the_dataclass_of_the_record(problem: str, method: Method) -> None:
    assert type(method.make_options(None)).__name__ == method.options_class
    with pytest.raises(InvalidInputError, match="has no option 'no_such_option'"):
        method.make_options({"no_such_option": 1})
