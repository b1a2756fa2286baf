"""Solving again: warm results equal cold ones over random sequences of edits."""

from __future__ import annotations

import copy
import pickle
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import generators
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError
from preflow.forests.repair import repair
from preflow.graph.residual import build_residual
from preflow.maxflow import policy, warm
from preflow.maxflow.warm import any_pair
from preflow.solving.run import Control
from tests.invariants.incremental_search import check_invariants
from tests.support.processes import run_at_once

#: Threads that wait for each other in every solve lose their turns to a test beside them.
METHODS = [
    pytest.param(method.name, marks=pytest.mark.alone if method.parallel else ())
    for method in preflow.methods("max_flow")
    if method.device == "cpu"
]


#: Those that :func:`preflow.maxflow.policy.choose` takes for networks on the CPU.
AUTO_METHODS = (
    "serial-hi-pr",
    "serial-pseudoflow",
    "serial-dinic",
    "serial-incremental-bfs",
    "serial-boykov-kolmogorov",
    "multicore-paths",
)


def random_network(rng: np.random.Generator, n: int, m: int, *, both: bool, most: int = 9) -> Any:
    tail, head = rng.integers(0, n, (2, m))
    capacity = rng.integers(0, most, m)
    reverse = rng.integers(0, most, m) if both else None
    return preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)


def check(solver: preflow.MaxFlow, **given: Any) -> preflow.MaxFlowResult:
    """Solve again and compare with a solve from scratch."""
    cold = preflow.max_flow(solver.network, solver.sources, solver.sinks, threads=1)
    result = solver.solve(threads=1, **given)
    result.verify()
    assert result.value == cold.value
    np.testing.assert_array_equal(result.sink_side, cold.sink_side)
    np.testing.assert_array_equal(result.source_side(), cold.source_side())
    kept = solver._kept
    assert kept is not None
    assert (kept.state.net.excess >= 0).all()
    assert (kept.state.net.excess <= kept.state.source_capacity).all()
    if kept.forests is not None:
        forests, touched, _ = kept.forests
        repair(kept.state.net, forests, np.flatnonzero(touched[:-2]), Control().monitor())
        touched[:] = False
        check_invariants(kept.state.net, forests, 0, len(forests.label))
    return result


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_warm_equals_cold(method: str) -> None:
    rng = np.random.default_rng(3)
    for case in range(8):
        solver = preflow.MaxFlow(random_network(rng, 9, 30, both=case % 2 == 0), [0, 1], 8)
        for _ in range(8):
            arcs = rng.integers(0, 30, rng.integers(0, 5))
            reverse = case % 2 == 0 and rng.random() < 0.5
            solver.set_capacity(arcs, rng.integers(0, 9, len(arcs)), reverse=reverse)
            check(solver, method=method)


@pytest.mark.parametrize("share", [0.01, 0.15, 100.0])
def test_many_edits(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand edits, with searches that are often, sometimes and never given up."""
    monkeypatch.setattr(warm, "SEARCH_SHARE", share)
    rng = np.random.default_rng(5)
    solver = preflow.MaxFlow(random_network(rng, 60, 400, both=False, most=1000), 0, 59)
    used = set()
    edits = 0
    while edits < 10_000:
        count = int(rng.integers(1, 150))
        edits += count
        arcs = rng.integers(0, 400, count)
        solver.set_capacity(arcs, rng.integers(0, 1000, count))
        used.add(check(solver).stats.method)
    assert used == {"search-forests", "serial-hi-pr"} | ({"repair-both-sides"} if share < 1 else set())


@pytest.mark.parametrize("floats", [False, True])
def test_a_last_flow_that_does_not_help(floats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its budget a solve begins again with an empty flow; so do the next, until it recovers."""
    monkeypatch.setattr(warm, "REPAIR_SHARE", 0.0)  # every repair fails at once
    rng = np.random.default_rng(11)
    given = random_network(rng, 40, 250, both=True, most=1000)
    capacity: Any = given.capacity.astype(float) if floats else given.capacity
    if floats:
        capacity[rng.integers(0, 250, 5)] = np.inf
    network = preflow.FlowNetwork.from_arrays(
        given.tail, given.head, capacity, reverse_capacity=given.reverse_capacity, num_vertices=40
    )
    terminals: tuple[list[int], list[int]] = ([0, 1], [38, 39])
    solver = preflow.MaxFlow(network, *terminals)
    solver._record.search = warm._Trial(1, edits=0, pause=10**6)  # no search

    def change(count: int, most: int = 1000) -> None:
        chosen = rng.choice(np.flatnonzero(np.isfinite(capacity)), count, replace=False)
        solver.set_capacity(chosen, rng.integers(0, most, count), reverse=bool(rng.integers(0, 2)))

    def reason() -> str:
        return str(check(solver).stats.reason.partition(";")[0])

    assert reason() not in (warm.EMPTIED, warm.GIVEN_UP)
    for pause in (warm.FIRST_PAUSE, 2 * warm.FIRST_PAUSE):
        change(100)
        assert reason() == warm.GIVEN_UP
        for _ in range(pause):
            change(int(rng.integers(100, 200)))
            assert reason() == warm.EMPTIED
    change(99)
    assert reason() == warm.GIVEN_UP  # with fewer changes it is tried at once
    change(100)
    assert check(solver, method="serial-fifo").stats.reason == "asked for"
    change(100, 2**40)  # past int32; past the number for infinity, where the residual network is built again
    assert (reason() == warm.EMPTIED) == (not floats)
    monkeypatch.setattr(warm, "REPAIR_SHARE", 1e6)
    for _ in range(warm.LAST_PAUSE + 1):
        if solver._record.repair.is_due(100):
            break
        change(100)
        assert reason() == warm.EMPTIED
    change(100)
    assert reason() not in (warm.EMPTIED, warm.GIVEN_UP)
    assert solver._record.repair.is_due(1000)


def without_search(solver: preflow.MaxFlow) -> None:
    """Let every solve from the last flow be a repair from both sides of the last cut."""
    solver._record.search = warm._Trial(1, edits=0, pause=10**6)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from(["small", "large", "infinite"]), st.booleans(), st.integers(4, 25)
)
def test_repairs_from_any_division(seed: int, kind: str, both: bool, n: int) -> None:
    """A repair finds a maximum flow and its cuts, whether or not it begins with the last cut."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(n, 5 * n))
    tail, head = rng.integers(0, n, (2, m))
    at_terminal = np.isin(tail, (0, 1, n - 1)) | np.isin(head, (0, 1, n - 1))

    def capacities(at_terminal: Any) -> Any:
        values = rng.integers(0, 9, len(at_terminal)) * (rng.random(len(at_terminal)) > 0.3)
        if kind == "large":
            return values * 2**33
        # Without an infinite arc at a terminal no flow is infinite.
        return (
            np.where((rng.random(len(values)) < 0.1) & ~at_terminal, np.inf, values)
            if kind != "small"
            else values
        )

    network = preflow.FlowNetwork.from_arrays(
        tail,
        head,
        capacities(at_terminal),
        reverse_capacity=capacities(at_terminal) if both else None,
        num_vertices=n,
    )
    solver = preflow.MaxFlow(network, [0, 1], n - 1)
    methods = []
    for turn in range(8):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(warm, "REPAIR_SHARE", 1e6)
            methods.append(check(solver).stats.method)
        without_search(solver)
        if turn == 3:
            solver.set_terminals(n - 1, [1, 0])
        if turn == 5:
            solver.add_arcs([0, n - 1], [n - 2, 2], [3, 4])
        arcs = rng.choice(m, int(rng.integers(1, m)), replace=False)
        solver.set_capacity(arcs, capacities(at_terminal[arcs]), reverse=both and rng.random() < 0.4)
        if solver._kept is not None and rng.random() < 0.5:
            solver._kept.sink_side = rng.random(len(solver._kept.sink_side)) < rng.random()
    assert methods.count("repair-both-sides") == 6


def test_repairs_after_many_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand edits, each solve a repair, with the networks on which searches fail."""
    monkeypatch.setattr(warm, "REPAIR_SHARE", 1e6)
    rng = np.random.default_rng(5)
    for name, size in (("rmf-wide", "8x4"), ("rlg-wide", "16x8")):
        problem = generators.family(name).generate(size, seed=1)
        solver = preflow.MaxFlow(problem)
        most = int(problem.network.capacity.max())
        edits = 0
        while edits < 5000:
            check(solver)
            without_search(solver)
            count = int(rng.integers(1, 60))
            edits += count
            arcs = rng.integers(0, problem.network.num_arcs, count)
            solver.set_capacity(arcs, rng.integers(0, most, count))
        assert check(solver).stats.method == "repair-both-sides"


def test_what_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search comes first, but a repair where a solve from scratch makes much work."""
    monkeypatch.setattr(policy, "worth_a_contraction", lambda network: False)
    for name, size, much in (("rmf-wide", "32x8", True), ("rlg-wide", "64x16", False)):
        problem = generators.family(name).generate(size, seed=1)
        solver = preflow.MaxFlow(problem)
        check(solver)
        assert (solver._record.search.pause > 0) == much
        arcs = np.arange(0, problem.network.num_arcs, 100)
        solver.set_capacity(arcs, problem.network.capacity[arcs] // 2)
        assert (check(solver).stats.method == "repair-both-sides") == much


@pytest.mark.parametrize("method", AUTO_METHODS)
def test_methods_that_give_up(method: str) -> None:
    """Every method that `auto` takes ends within its budget, but for the step that passes it."""
    problem = generators.family("rmf-wide").generate("8x4", seed=1)
    network = problem.network

    def solve(limit: int) -> tuple[int, bool]:
        net = build_residual(network, np.array([problem.source]), np.array([problem.sink])).arrays
        record = next(each for each in preflow.methods("max_flow") if each.name == method)
        control = Control()
        control.limit_work(limit)
        record.solve(net, record.make_options({}), control)
        return control.operations, control.gave_up

    whole, gave_up = solve(0)
    assert not gave_up
    for share in (0.1, 0.5):
        made, gave_up = solve(int(share * whole))
        assert gave_up
        assert made < (share + 0.3) * whole
    assert solve(2 * whole) == (whole, False)


def test_a_trial() -> None:
    """A failed trial is due at once with fewer changes, and otherwise after a pause that doubles."""
    trial = warm._Trial(factor=4)
    assert trial.is_due(10**9)
    for pause in (8, 16, 32, 64, 64):
        trial.fail(100)
        assert trial.is_due(24)
        for _ in range(pause):
            assert not trial.is_due(25)
            trial.wait()
        assert trial.is_due(100)
    trial.succeed(24)
    trial.fail(200)
    assert not trial.is_due(25)
    trial.succeed(100)
    assert trial.is_due(10**9)
    trial.fail(50)
    assert trial.pause == 8


def test_edits_of_a_grid() -> None:
    rng = np.random.default_rng(7)
    problem = generators.grid_2d(20, 30, seed=1)
    solver = preflow.MaxFlow(problem)
    capacity = problem.network.capacity
    for _ in range(20):
        arcs = rng.choice(len(capacity), 20, replace=False)
        solver.set_capacity(arcs, rng.integers(0, int(capacity.max()), 20))
        check(solver)


def test_add_arcs_and_terminals() -> None:
    rng = np.random.default_rng(11)
    solver = preflow.MaxFlow(random_network(rng, 8, 10, both=False), 0, 7)
    for turn in range(40):
        tail, head = rng.integers(0, 8, (2, 2))
        reverse = rng.integers(0, 5, 2) if turn == 10 else None
        numbers = solver.add_arcs(tail, head, rng.integers(0, 9, 2), reverse_capacity=reverse)
        assert numbers.tolist() == [10 + 2 * turn, 11 + 2 * turn]
        check(solver)
        if turn % 10 == 5:
            order = rng.permutation(8)
            solver.set_terminals(order[:2], order[2])
            check(solver)
        solver.set_capacity(rng.integers(0, 12 + 2 * turn, 4), rng.integers(0, 9, 4))
    assert solver.add_arcs(0, 1, 3).tolist() == [90]


@pytest.mark.parametrize("limits", ["usual", "slices", "overflow"])
@given(st.integers(0, 2**32), st.sampled_from(["integers", "floats", "infinite"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_one_pair_of_terminals_after_the_other(limits: str, seed: int, kind: str, both: bool) -> None:
    """Searches from both ends find the values and cuts of solves from scratch; results stay as they are."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 14)), int(rng.integers(0, 40))
    capacity: Any = rng.integers(0, 9, m) * (2**40 if rng.random() < 0.2 else 1)
    if kind != "integers":
        capacity = np.where((rng.random(m) < 0.1) & (kind == "infinite"), np.inf, capacity)
    network = preflow.FlowNetwork.from_arrays(
        *rng.integers(0, n, (2, m)),
        capacity,
        reverse_capacity=rng.permutation(capacity) if both else None,
        num_vertices=n,
    )
    solver = preflow.MaxFlow(network, 0, 1)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "EDITS_OF_PAIRS", rng.choice([0, 0.25, 100]))
        if limits == "slices":  # the thread of the caller gives the search to another one
            patch.setattr(warm, "QUICK_SCANS", 3)
        for _ in range(6):
            source, sink = rng.permutation(n)[:2].tolist()
            solver.set_terminals(source, sink)
            if limits == "overflow" and solver._pairs is not None:
                work = solver._pairs._work
                solver._pairs._work = work._replace(changed=work.changed[:1])
            try:
                cold = preflow.max_flow(solver.network, source, sink, threads=1)
            except UnboundedFlowError:
                with pytest.raises(UnboundedFlowError):
                    solver.solve()
                continue
            result = solver.solve()
            assert result.stats.method == any_pair.NAME
            found.append((result, cold))
            for _ in range(int(rng.integers(0, 3)) if m else 0):
                new: Any = rng.integers(0, 9, 2)
                if kind != "integers" and rng.random() < 0.2:
                    new = np.array([2, np.inf if kind == "infinite" else 2.0**50])
                reverse = both and rng.random() < 0.5
                solver.set_capacity(rng.integers(0, m, 2), new, reverse=reverse)
                if rng.random() < 0.2 and kind == "integers":
                    check(solver)
    for result, cold in found:
        for each in (result, pickle.loads(pickle.dumps(result))):
            assert each.value == cold.value
            np.testing.assert_array_equal(each.sink_side, cold.sink_side)
            np.testing.assert_array_equal(each.source_side(), cold.source_side())
            each.verify()
            assert not each.sink_side.flags.writeable
            assert not each.flow.flags.writeable


def test_changes_between_searches_from_both_ends() -> None:
    """The network of the searches stays when capacities change; what results refer to stays as it was."""
    problem = generators.barabasi_albert(300, 3, max_capacity=9, seed=1)
    solver = preflow.MaxFlow(problem)
    rng = np.random.default_rng(2)
    heads, found = [], []
    for _ in range(20):
        solver.set_terminals(*rng.choice(300, 2, replace=False).tolist())
        found.append((solver.solve(), preflow.max_flow(solver.network, solver.sources, solver.sinks)))
        assert solver._pairs is not None
        heads.append(solver._pairs.net.head)
        solver.set_capacity(rng.integers(0, problem.network.num_arcs, 5), rng.integers(0, 20, 5))
        solver.set_capacity(rng.integers(0, problem.network.num_arcs, 5), rng.integers(0, 20, 5))
    assert all(head is heads[0] for head in heads)
    for result, cold in found:
        assert result.stats.method == any_pair.NAME
        assert result.value == cold.value
        np.testing.assert_array_equal(result.sink_side, cold.sink_side)
        result.verify()


def test_searches_from_both_ends_that_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a search that took too long, methods solve the next pairs; then it is tried again."""
    monkeypatch.setattr(warm, "SCANS_OF_PAIR", 0.0)
    monkeypatch.setattr(warm, "FEWEST_SCANS", 3)
    problem = generators.grid_2d(8, 8, seed=1)
    solver = preflow.MaxFlow(problem)
    for turn in range(2 + warm.FIRST_PAUSE):
        solver.set_terminals(turn, 40)
        assert check(solver).stats.method != any_pair.NAME
        assert solver._search_of_pair.waited == turn % (1 + warm.FIRST_PAUSE)
    monkeypatch.undo()
    for turn in range(1 + 2 * warm.FIRST_PAUSE):
        solver.set_terminals(turn, 40)
        check(solver, method="serial-fifo")  # which does not count as a solve without the search
        solver.set_terminals(turn, 40)
        assert (solver.solve().stats.method == any_pair.NAME) == (turn == 2 * warm.FIRST_PAUSE)
    solver.set_terminals(5, 40)
    assert solver.solve(time_limit=60, progress=lambda report: None).stats.method == any_pair.NAME
    solver.set_terminals([5, 6], 40)
    check(solver)
    solver.set_terminals(5, 40)
    with pytest.raises(InvalidInputError, match="options"):
        solver.solve(options={"budget": 3})


def test_time_limits_of_searches_from_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method gets the least rest of the time where the search was stopped."""
    solver = preflow.MaxFlow(generators.barabasi_albert(2000, 5, seed=1))
    solver.set_terminals(1990, 1991)

    def stopped(self: Any, source: int, sink: int, most: int, stop: Any) -> None:
        while not stop[0]:
            time.sleep(0.001)

    monkeypatch.setattr(any_pair.AnyPair, "search", stopped)
    result = solver.solve(time_limit=1e-3)
    assert result.stats.method != any_pair.NAME
    result.verify()
    assert not solver._search_of_pair.pause
    monkeypatch.undo()
    assert check(solver).status == "optimal"
    solver.set_terminals(1990, 1991)
    assert solver.solve().stats.method == any_pair.NAME


def test_one_value_and_repeated_arcs() -> None:
    solver = preflow.MaxFlow(([0, 1, 1], [1, 2, 2], [9, 1, 1]), 0, 2)
    assert solver.solve().value == 2
    solver.set_capacity([1, 2], 3)
    assert check(solver).value == 6
    solver.set_capacity([1, 1, 1], [0, 9, 2])
    assert check(solver).value == 5
    solver.set_capacity(0, 4)
    assert check(solver).value == 4
    solver.set_capacity([], [])
    assert check(solver).value == 4


def test_capacities_that_grow_past_int32() -> None:
    solver = preflow.MaxFlow(([0, 1, 2], [1, 2, 3], [5, 4, 5]), 0, 3)
    assert solver.solve().value == 4
    solver.set_capacity([0, 1, 2], [2**40, 2**39, 2**41])
    assert check(solver).value == 2**39
    solver.set_capacity([0, 1, 2], 2**62)
    result = solver.solve()
    assert result.value == 2**62
    result.verify()
    solver.set_capacity([0, 1, 2], 3)
    assert check(solver).value == 3


def test_floats_and_infinity() -> None:
    solver = preflow.MaxFlow(([0, 1, 2, 0], [1, 2, 3, 3], [5.0, np.inf, 4.0, 0.0]), 0, 3)
    assert solver.solve().value == 4
    solver.set_capacity(2, np.inf)
    assert check(solver).value == 5
    solver.set_capacity(2, 0.5)
    result = solver.solve()
    assert result.value == 0.5
    result.verify()
    solver.set_capacity(2, 3)
    assert check(solver).value == 3
    solver.set_capacity([0, 2], np.inf)
    with pytest.raises(UnboundedFlowError):
        solver.solve()
    assert solver.result is not None
    assert solver.result.value == 3
    solver.set_capacity(2, 7)
    assert check(solver).value == 7
    solver.set_capacity(2, 10.0**12)  # past the number that meant infinity
    assert check(solver).value == 10**12


def test_floats_among_integers() -> None:
    solver = preflow.MaxFlow(([0, 1], [1, 2], [5, 4]), 0, 2)
    solver.set_capacity(1, 2.5)
    assert solver.solve().value == 2.5
    assert solver.network.capacity.tolist() == [5, 2.5]
    with pytest.raises(CapacityOverflowError):
        solver.set_capacity(1, 2**53 + 1)


def test_results_stay_as_they_are() -> None:
    solver = preflow.MaxFlow(([0, 1], [1, 2], [5, 4]), 0, 2)
    first = solver.solve()
    network = solver.network
    solver.set_capacity(1, 2)
    assert network.capacity.tolist() == [5, 4]
    second = solver.solve()
    for result, value in ((first, 4), (second, 2)):
        assert (result.value, result.flow.tolist()) == (value, [value, value])
        assert not result.flow.flags.writeable
        assert not result.network.capacity.flags.writeable
        result.verify()


@pytest.mark.parametrize("trip", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_go_their_own_way(trip: Any) -> None:
    rng = np.random.default_rng(13)
    solver = preflow.MaxFlow(random_network(rng, 8, 30, both=True), 0, 7)
    solver.solve()
    solver.set_capacity([0, 1, 2], 7)
    other = trip(solver)
    other.set_capacity([3, 4, 5], 0)
    solver.set_capacity([3, 4, 5], 9)
    check(solver)
    check(other)
    assert solver.network.capacity[3:6].tolist() == [9, 9, 9]
    assert other.network.capacity[3:6].tolist() == [0, 0, 0]


def test_labels_and_grids() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", capacity=4)
    graph.add_edge("b", "c")
    solver = preflow.MaxFlow(graph, "a", "c")
    assert solver.solve().flow_dict() == {"a": {"b": 4}, "b": {"c": 4}, "c": {}}
    solver.set_capacity(0, 6)
    assert solver.solve().value == 6
    solver.set_terminals("b", "c")
    with pytest.raises(UnboundedFlowError):
        solver.solve()
    solver.set_terminals("a", ["b"])
    assert solver.solve().value == 6
    grid = preflow.MaxFlow(preflow.GridNetwork.from_arrays([[5, 0, 0]], [[0, 0, 5]], 2))
    assert grid.solve().value == 2


def test_a_solve_that_is_stopped() -> None:
    problem = generators.grid_2d(60, 60, seed=2)
    solver = preflow.MaxFlow(problem)
    rng = np.random.default_rng(0)
    for turn in range(6):
        arcs = rng.choice(problem.network.num_arcs, 500, replace=False)
        solver.set_capacity(arcs, rng.integers(0, 100, 500))
        result = solver.solve(time_limit=1e-9 if turn % 2 else None, threads=1)
        result.verify()
    check(solver)


def test_an_interrupted_solve_starts_from_the_flow_before(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(17)
    solver = preflow.MaxFlow(random_network(rng, 30, 200, both=True), 0, 29)
    solver.solve()
    solver.set_capacity(np.arange(50), rng.integers(0, 9, 50))

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(warm, "_search", fail)
        with pytest.raises(KeyboardInterrupt):
            solver.solve()
    solver.set_capacity(np.arange(20), 3)
    check(solver)


def test_an_interruption_after_a_solve_leaves_no_flow_of_fractions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The residual network is newer than the result, whose flow would be put into the next one."""

    def interrupted(solver: preflow.MaxFlow, result: preflow.MaxFlowResult) -> None:
        raise KeyboardInterrupt

    network = preflow.FlowNetwork.from_arrays([0, 2, 2], [2, 0, 3], [1.6, 2.0, 5.0])
    solver = preflow.MaxFlow(network, 0, 3)
    solver.solve()
    solver.set_capacity([0, 1, 2], [1, 2, 4])
    with monkeypatch.context() as patch:
        patch.setattr(preflow.MaxFlow, "_keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            solver.solve()
    solver.add_arcs([0], [1], [1])
    assert check(solver).value == 1


def test_bad_input() -> None:
    solver = preflow.MaxFlow(([0, 1], [1, 2], [5, 4]), 0, 2)
    before = solver.solve()
    for arcs, values, message in [
        (2, 1, "there is no arc 2"),
        (-1, 1, "there is no arc -1"),
        (0.5, 1, "must be an integer"),
        ([0, 1], [1, 2, 3], "values has shape"),
        (0, -1, "negative"),
        (0, float("nan"), "NaN"),
        (0, 2**64, "larger than"),
        (0, "many", "must hold integers or floats"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            solver.set_capacity(arcs, values)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="without reverse"):
        solver.set_capacity(0, 1, reverse=True)
    with pytest.raises(InvalidInputError, match="out of range"):
        solver.add_arcs([0], [3], [1])
    with pytest.raises(InvalidInputError, match="both source and sink"):
        solver.set_terminals(1, 1)
    with pytest.raises(InvalidInputError, match="both source and sink"):
        preflow.MaxFlow(([0], [1], [1]), 0, 0)
    with pytest.raises(InvalidInputError, match="runs on cuda"):
        solver.solve(method="cuda-push-relabel")
    with pytest.raises(InvalidInputError, match="unknown"):
        solver.solve(method="magic")
    assert solver.result is before
    assert check(solver).value == 4


@pytest.mark.parametrize("both", [False, True])
def test_bottleneck_arcs(both: bool) -> None:
    rng = np.random.default_rng(19)
    for _ in range(30):
        network = random_network(rng, 6, 14, both=both, most=4)
        result = preflow.max_flow(network, 0, [4, 5])
        solver = preflow.MaxFlow(network, 0, [4, 5])
        expected = []
        for arc in range(14):
            grows = False
            for reverse in (False, True) if both else (False,):
                old = (network.reverse_capacity if reverse else network.capacity)[arc]
                solver.set_capacity(arc, old + 1, reverse=reverse)
                grows |= solver.solve().value > result.value
                solver.set_capacity(arc, old, reverse=reverse)
            if grows:
                expected.append(arc)
        assert result.bottleneck_arcs().tolist() == expected
        assert solver.solve().bottleneck_arcs().tolist() == expected
        assert preflow.min_cut(network, 0, [4, 5]).bottleneck_arcs().tolist() == expected


@pytest.mark.parametrize("floats", [False, True])
def test_threads_share_a_solver(floats: bool) -> None:
    """Four threads change, solve and copy one solver; then it has the capacities of all of them."""
    paths, threads = 60, 4
    factor = 0.25 + 2.0**-40 if floats else 1
    middle = np.arange(1, paths + 1)
    tail = np.concatenate([np.zeros(paths, dtype=np.int64), middle])
    head = np.concatenate([middle, np.full(paths, paths + 1)])
    solver = preflow.MaxFlow((tail, head, [1000 * factor] * (2 * paths)), 0, paths + 1)

    def change(first: int) -> None:
        for path in range(first, paths, threads):
            solver.set_capacity(path, path * factor)
            if path % 3 == 0:
                result = solver.solve()
                result.verify()
                assert result.source_side()[0]
            if path % 10 == first:
                other = copy.copy(solver)
                other.set_capacity(path, 0)
                other.solve().verify()

    run_at_once(change, threads)
    expected = sum(range(paths)) * factor
    for each in (solver, copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))):
        result = each.solve()
        result.verify()
        assert abs(result.value - expected) <= result.gap
        assert each.network.capacity[:paths].tolist() == [path * factor for path in range(paths)]
