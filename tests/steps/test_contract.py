"""Blocks that no minimum cut separates are contracted, and the flow is carried back into them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow import FlowNetwork
from preflow.certify.flow import check_flow
from preflow.generators import family
from preflow.graph.network import MaxFlowProblem
from preflow.maxflow import policy
from preflow.solving.run import Deadline
from preflow.steps import contract
from preflow.steps.contract import arcs_of, without_cycles
from preflow.steps.step import FlowProblem

CONTRACTED = "no minimum cut separates the vertices of a block"
WORTH = policy.worth_a_contraction


@pytest.fixture(autouse=True)
def small_networks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 0)
    monkeypatch.setattr(policy, "ARCS_OF_PATHS", 0)
    monkeypatch.setattr(policy, "seldom_saturated", lambda capacity, **_: bool((capacity > 0).any()))
    monkeypatch.setattr(policy.Features, "one_way", False)  # every small network looks like a closure
    monkeypatch.setattr(contract, "MOST_LEFT", 1.0)


def backbone(
    seed: int, blocks: int, each: int, strong: int = 1000, weak: int = 9, *, both: bool = False
) -> MaxFlowProblem:
    """Return blocks joined by weak arcs: in a block a strong cycle through all vertices, and other arcs.

    Vertices are numbered at random. There are parallel arcs, loops, and strong arcs from one block to a later
    one, which make no block of the two.
    """
    rng = np.random.default_rng(seed)
    size = blocks * each
    name = rng.permutation(size)
    tails, heads, capacities = [], [], []
    for block in range(blocks):
        members = name[block * each : (block + 1) * each]
        tails.append(members)
        heads.append(np.roll(members, 1))
        capacities.append(rng.integers(strong, 2 * strong, each))
    count = 4 * size
    tails.append(rng.integers(0, size, count))
    heads.append(rng.integers(0, size, count))
    capacities.append(rng.integers(0, weak + 1, count))
    early, late = rng.integers(0, size, (2, max(1, blocks)))
    early, late = np.minimum(early, late), np.maximum(early, late)
    tails.append(name[early])
    heads.append(name[late])
    capacities.append(np.full(len(early), strong))
    tail, head, capacity = map(np.concatenate, (tails, heads, capacities))
    order = rng.permutation(len(tail))
    reverse = rng.integers(0, weak + 1, len(tail)) if both else None
    network = FlowNetwork.from_arrays(
        tail[order], head[order], capacity[order], reverse_capacity=reverse, num_vertices=size
    )
    return MaxFlowProblem(network, int(name[0]), int(name[-1]))


def check(
    problem: MaxFlowProblem, source: Any = None, sink: Any = None, **given: Any
) -> preflow.MaxFlowResult:
    """Solve with contraction and by a named method; all answers agree."""
    network = problem.network
    source = problem.source if source is None else source
    sink = problem.sink if sink is None else sink
    found = preflow.max_flow(network, source, sink, device="cpu", **given)
    cut = preflow.min_cut(network, source, sink, device="cpu", **given)
    expected = preflow.max_flow(network, source, sink, method="serial-hi-pr")
    for result in (found, cut):
        assert result.value == expected.value
        assert type(result.value) is type(expected.value)
        np.testing.assert_array_equal(result.sink_side, expected.sink_side)
        np.testing.assert_array_equal(result.source_side(), expected.source_side())
        np.testing.assert_array_equal(result.cut_arcs, expected.cut_arcs)
        result.verify()
    assert found.flow.dtype == expected.flow.dtype
    assert found.gap <= expected.gap
    return found


def is_contracted(result: preflow.MinCutResult) -> bool:
    return CONTRACTED in result.stats.reason


@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 7),
    st.sampled_from([20, 60, 1000, 2**40]),
    st.booleans(),
)
def test_blocks_of_random_networks(seed: int, blocks: int, each: int, strong: int, both: bool) -> None:
    """Also with strong arcs just above the bound."""
    if blocks * each > 1:
        check(backbone(seed, blocks, each, strong, both=both))


@given(st.integers(0, 10**6), st.booleans())
def test_any_capacities(seed: int, both: bool) -> None:
    """Capacities of all magnitudes, so that the threshold is hard to find."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 12)), int(rng.integers(1, 60))
    tail, head = rng.integers(0, n, (2, m))
    capacity = rng.integers(0, 2 ** rng.integers(1, 20, m))
    reverse = rng.integers(0, 2 ** rng.integers(1, 20, m)) if both else None
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)
    check(MaxFlowProblem(network, 0, n - 1))


@given(st.integers(0, 10**6))
def test_several_terminals(seed: int) -> None:
    problem = backbone(seed, 4, 5)
    vertices = np.random.default_rng(seed).permutation(20)
    check(problem, vertices[:3].tolist(), vertices[3:5].tolist())


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 3]), st.sampled_from([np.inf, 1000.0]))
def test_strong_arcs_out_of_sources_and_into_sinks(
    seed: int, both: bool, terminals: int, strong: float
) -> None:
    """Blocks that one-way arcs join to the terminals belong to these."""
    rng = np.random.default_rng(seed)
    n = 24
    tail, head = rng.integers(0, n, (2, 70))
    capacity = rng.integers(0, 9, 70).astype(float)
    of_source, of_sink = np.split(rng.permutation(n), [n // 2])
    for side, forward in ((of_source, True), (of_sink, False)):
        ends = np.sort(rng.integers(0, len(side), (2, 30)), axis=0)[:: 1 if forward else -1]
        tail, head = np.append(tail, side[ends[0]]), np.append(head, side[ends[1]])
        capacity = np.append(capacity, np.where(rng.random(30) < 0.7, strong, 3.0))
    reverse = rng.integers(0, 5, len(capacity)).astype(float) if both else None
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)
    problem = MaxFlowProblem(network, int(of_source[0]), int(of_sink[0]))
    check(problem, of_source[:terminals], of_sink[:terminals])


@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.37, 2.0**-40, 1e200]))
def test_floats(seed: int, unit: float) -> None:
    """Integral floats are exact; others are within the gap."""
    exact = backbone(seed, 4, 6)
    network = exact.network
    capacity = network.capacity * unit
    problem = MaxFlowProblem(
        FlowNetwork.from_arrays(network.tail, network.head, capacity, num_vertices=24),
        exact.source,
        exact.sink,
    )
    found = preflow.max_flow(problem, device="cpu")
    found.verify()
    preflow.min_cut(problem, device="cpu").verify()
    expected = preflow.max_flow(problem, method="serial-hi-pr")
    assert type(found.value) is type(expected.value)
    assert found.flow.dtype == expected.flow.dtype
    assert found.value == pytest.approx(expected.value, rel=1e-11)
    if unit == 1.0:
        check(problem)


def test_floats_within_blocks_only() -> None:
    """The arcs between blocks are integers, so the value is exact, but a float like all amounts of floats."""
    network = FlowNetwork.from_arrays([0, 1, 2, 2], [1, 2, 1, 3], [3.0, 50.5, 50.5, 2.0])
    found = check(MaxFlowProblem(network, 0, 3))
    assert is_contracted(found)
    solver = preflow.MaxFlow(network, 0, 3)
    assert type(solver.solve().value) is float
    solver.set_capacity([1, 2], 51.0)
    assert type(solver.solve().value) is int
    assert solver.solve().flow.tolist() == [2, 2, 0, 2]


@pytest.mark.parametrize("size", ["8x8", "8x40"])
@pytest.mark.parametrize("name", ["rmf-wide", "rmf-long"])
def test_rmf_networks_become_paths_of_frames(name: str, size: str) -> None:
    problem = family(name).generate(size, seed=3)
    found = check(problem)
    assert is_contracted(found)
    assert f"become {int(size.split('x')[1]):,}" in found.stats.reason


def test_infinite_arcs_are_strong() -> None:
    inf = np.inf
    network = FlowNetwork.from_arrays([0, 1, 2, 1, 3], [1, 2, 1, 3, 4], [3.0, inf, inf, 2.0, 5.0])
    found = check(MaxFlowProblem(network, 0, 4))
    assert is_contracted(found)
    assert found.value == 2


def test_flows_past_float64_through_infinite_arcs() -> None:
    """The value is odd and past 2**53, so no float has it."""
    inf, large = np.inf, 2.0**53
    network = FlowNetwork.from_arrays(
        [0, 0, 1, 2, 3, 3, 4, 5, 5], [1, 1, 2, 3, 2, 4, 5, 6, 6], [large, 1.0, *[inf] * 5, large, 9.0]
    )
    found = check(MaxFlowProblem(network, 0, 6))
    assert is_contracted(found)
    assert found.value == 2**53 + 1
    assert found.flow.tolist()[:7] == [2**53, 1, 2**53 + 1, 2**53 + 1, 0, 2**53 + 1, 2**53 + 1]
    assert sum(found.flow.tolist()[7:]) == 2**53 + 1


def test_sums_past_float64_give_no_warning() -> None:
    network = FlowNetwork.from_arrays([0, 1, 2, 1, 1], [1, 2, 1, 3, 3], [3.0, 1e300, 1e300, 1e308, 1e308])
    solver = preflow.MaxFlow(network, 0, 3)
    found = solver.solve()
    assert is_contracted(found)
    assert found.value == pytest.approx(3.0)


def test_unbounded_flow_is_an_error() -> None:
    network = FlowNetwork.from_arrays([0, 1, 1], [1, 2, 0], [np.inf] * 3)
    with pytest.raises(preflow.errors.UnboundedFlowError):
        preflow.max_flow(network, 0, 2, device="cpu")


def test_labels_and_lists() -> None:
    edges = [("a", "b", 3), ("b", "c", 100), ("c", "b", 100), ("c", "d", 2), ("b", "d", 2)]
    found = preflow.max_flow(edges, "a", "d", device="cpu")
    assert is_contracted(found)
    assert found.flow_dict()["a"] == {"b": 3}
    assert found.value == 3
    found.verify()


def test_too_few_strong_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "MOST_LEFT", 0.5)
    problem = backbone(1, 10, 1)
    terminals = np.array([problem.source]), np.array([problem.sink])
    assert contract.apply(FlowProblem(problem.network, *terminals, {}), Deadline(None)) is None
    assert not is_contracted(check(problem))


@given(st.integers(0, 10**6), st.integers(0, 60), st.booleans())
def test_a_limit_on_the_flow(seed: int, limit: int, both: bool) -> None:
    """Arcs above the limit are strong."""
    problem = backbone(seed, 3, 6, 100, both=both)
    found = preflow.max_flow(problem, flow_limit=limit, device="cpu")
    expected = preflow.max_flow(problem, flow_limit=limit, method="serial-hi-pr")
    assert (found.status, found.lower_bound) == (expected.status, expected.lower_bound)
    np.testing.assert_array_equal(found.sink_side, expected.sink_side)
    found.verify()


def test_named_methods_and_small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = backbone(1, 3, 8)
    assert is_contracted(preflow.max_flow(problem, device="cpu"))
    assert not is_contracted(preflow.max_flow(problem, method="serial-pseudoflow"))
    limited = preflow.max_flow(problem, flow_limit=1, device="cpu")
    assert is_contracted(limited)
    assert limited.lower_bound == 1
    monkeypatch.undo()
    assert not is_contracted(preflow.max_flow(problem, device="cpu"))


def test_options_need_a_method() -> None:
    problem = backbone(1, 3, 8)
    for call in (preflow.max_flow, preflow.min_cut):
        with pytest.raises(preflow.errors.InvalidInputError, match="option"):
            call(problem, options={"relabel_period": 1}, device="cpu")
    with pytest.raises(preflow.errors.InvalidInputError, match="option"):
        preflow.MaxFlow(problem).solve(options={"relabel_period": 1})


def test_a_result_can_be_copied_before_its_flow_is_read() -> None:
    problem = backbone(5, 3, 8)
    found = preflow.max_flow(problem, device="cpu")
    cut = preflow.min_cut(problem, device="cpu")
    for result in (found, cut):
        again = pickle.loads(pickle.dumps(result))
        again.verify()
        np.testing.assert_array_equal(again.sink_side, result.sink_side)
    assert found.is_unique() == preflow.minimum_cuts(found).is_unique


def test_a_time_limit_leaves_a_flow_and_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 20_000)
    problem = family("rmf-long").generate("16x1024", seed=1)
    for limit in (1e-9, 1e-4, 1e-3):
        found = preflow.max_flow(problem, time_limit=limit, device="cpu")
        assert found.status in ("optimal", "time-limit")
        found.verify()


def cancelled(tail: list[int], head: list[int], flow: list[int]) -> NDArray[np.int64]:
    network = FlowNetwork.from_arrays(tail, head, 0)
    changed = np.array(flow)
    without_cycles(arcs_of(network), changed, network.num_vertices)
    return changed


def test_cycles_are_cancelled() -> None:
    # A path of 3 from 0 to 3, with a cycle of 5 that it touches, a cycle apart, and one of negative flow.
    assert cancelled([0, 1, 2, 2], [1, 2, 3, 1], [3, 8, 3, 5]).tolist() == [3, 3, 3, 0]
    assert cancelled([0, 1, 2], [1, 2, 0], [4, 4, 4]).tolist() == [0, 0, 0]
    assert cancelled([0, 0], [1, 1], [4, -4]).tolist() == [0, 0]
    assert cancelled([0, 1, 2], [1, 2, 0], [-2, -3, -2]).tolist() == [0, -1, 0]


@given(st.integers(0, 10**6))
def test_flow_without_cycles_keeps_its_balance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 8)), int(rng.integers(0, 25))
    tail, head = rng.integers(0, n, (2, m))
    flow = rng.integers(-5, 6, m)
    before, after = flow.copy(), np.array(cancelled([*tail, n], [*head, n], [*flow, 0])[:m])
    balances = [np.bincount(head, each, n) - np.bincount(tail, each, n) for each in (before, after)]
    np.testing.assert_array_equal(balances[0], balances[1])
    assert (np.abs(after) <= np.abs(before)).all()
    assert (after * before >= 0).all()
    import networkx as nx

    graph = nx.DiGraph()
    for u, v, amount in zip(tail, head, after, strict=True):
        if amount:
            graph.add_edge(*((u, v) if amount > 0 else (v, u)))
    assert nx.is_directed_acyclic_graph(graph)


def test_a_cycle_between_blocks_overfills_a_tree() -> None:
    """No solver is known to leave such a flow: 18 units go around through blocks whose arcs take 10."""
    tail = [0, 4, 1, 2, 3, 4] + [2, 4] * 10
    head = [1, 5, 2, 1, 4, 3] + [3, 1] * 10
    network = FlowNetwork.from_arrays(tail, head, [2, 2, 10, 10, 10, 10] + [2] * 20)
    terminals = np.array([0]), np.array([5])
    held = contract.apply(FlowProblem(network, *terminals, {}), Deadline(None))
    assert held is not None
    assert held.reduced.network.num_vertices == 4
    left = held.reduced.network
    ends = zip(*(ends.tolist() for ends in (left.tail, left.head)), strict=True)
    amount = {(0, 1): 2, (2, 3): 2, (1, 2): 20, (2, 1): 18}
    number = {int(held.block[v]): k for v, k in ((0, 0), (1, 1), (3, 2), (5, 3))}
    flow = held.flow(np.array([amount[number[u], number[v]] for u, v in ends]))
    check_flow(network, *terminals, flow, 2)


@given(st.integers(0, 10**6), st.booleans())
def test_trees_of_blocks(seed: int, both: bool) -> None:
    """Trees are in order, of strong arcs, and span the blocks, in one order or in two."""
    network = strong_both_ways(np.random.default_rng(seed), both=both).network
    m, n = network.num_arcs, network.num_vertices
    held = contract.apply(FlowProblem(network, np.array([0]), np.array([n - 1]), {}), Deadline(None))
    if held is None:
        return
    back = network.reverse_capacity
    for each, is_up in zip(held.trees(), (True, False), strict=True):
        assert sorted(each.order.tolist()) == list(range(n))
        place = np.argsort(each.order)
        roots = 0
        for v, (p, i) in enumerate(zip(each.parent.tolist(), each.number.tolist(), strict=True)):
            # What strong arcs reach from the source has no way back to it, and nothing to send there.
            if p == v:
                roots += held.block[v] != (held.reduced.sources if is_up else held.reduced.sinks)[0]
                continue
            ends = (network.tail[i], network.head[i]) if i < m else (network.head[i - m], network.tail[i - m])
            capacity = network.capacity[i] if i < m else 0 if back is None else back[i - m]
            assert ends == ((v, p) if is_up else (p, v))
            assert place[p] < place[v]
            assert capacity > held.threshold
            assert held.block[p] == held.block[v]
        assert roots == held.reduced.network.num_vertices - 1


# Solving again: the network is contracted anew


def edit(rng: np.random.Generator, solver: preflow.MaxFlow, strong: int) -> None:
    """Change some capacities, within blocks as well."""
    number = int(rng.integers(0, 6))
    arcs = rng.integers(0, solver.network.num_arcs, number)
    kind = rng.integers(0, 4)
    values = solver.network.capacity[arcs] if kind == 0 else rng.integers(0, 10, number)
    values = values // 2 if kind == 0 else values + strong * int(kind == 1)
    solver.set_capacity(arcs, values)
    if solver.network.reverse_capacity is not None:
        solver.set_capacity(arcs, rng.integers(0, 10, number), reverse=True)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([40, 1000]))
def test_solving_again(seed: int, both: bool, strong: int) -> None:
    rng = np.random.default_rng(seed)
    problem = backbone(seed, 4, 5, strong, both=both)
    solver = preflow.MaxFlow(problem)
    for step in range(8):
        if step == 3:
            solver.add_arcs([0, 1], [2, 3], [5, strong])
        if step == 5:
            vertices = rng.permutation(20)
            solver.set_terminals(int(vertices[0]), int(vertices[1]))
        if step == 6:
            solver = pickle.loads(pickle.dumps(solver))
        edit(rng, solver, strong)
        method = "serial-hi-pr" if rng.random() < 0.2 else "auto"
        found = solver.solve(method=method, threads=1)
        expected = preflow.max_flow(solver.network, solver.sources, solver.sinks, method="serial-hi-pr")
        assert found.value == expected.value
        np.testing.assert_array_equal(found.sink_side, expected.sink_side)
        found.verify()


def strong_both_ways(rng: np.random.Generator, *, both: bool) -> MaxFlowProblem:
    """Return blocks of random strong arcs in both directions, and weak arcs between any two vertices."""
    blocks, each, arcs = 6, 8, 24
    begin = each * np.repeat(np.arange(blocks), arcs)
    one, other = begin + rng.integers(0, each, (2, blocks * arcs))
    weak = rng.integers(0, blocks * each, (2, 150))
    tail, head = np.concatenate([one, other, weak[0]]), np.concatenate([other, one, weak[1]])
    capacity = np.append(rng.integers(300, 1000, 2 * len(one)), rng.integers(0, 9, 150))
    reverse = rng.integers(0, 9, len(tail)) if both else None
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=48)
    return MaxFlowProblem(network, 0, 47)


def test_a_result_stays_as_it_was() -> None:
    """Its flow is read after the capacities have changed."""
    problem = backbone(3, 4, 6)
    solver = preflow.MaxFlow(problem)
    first = solver.solve()
    assert is_contracted(first)
    solver.set_capacity(np.arange(solver.network.num_arcs), solver.network.capacity // 2)
    second = solver.solve()
    first.verify()
    second.verify()
    solver.set_capacity(np.arange(solver.network.num_arcs), 1)
    third = solver.solve()
    for result in (first, second, third):
        result.verify()
    assert third.value != first.value


def test_floats_among_integers_end_a_contraction() -> None:
    problem = backbone(3, 4, 6)
    solver = preflow.MaxFlow(problem)
    solver.solve()
    solver.set_capacity(0, 0.5)
    result = solver.solve()
    result.verify()
    expected = preflow.max_flow(solver.network, solver.sources, solver.sinks, method="serial-hi-pr")
    assert result.value == pytest.approx(expected.value)
    assert type(result.value) is float


@pytest.mark.parametrize("limit", [1e-9, 1e-4, 1e-2])
def test_time_limits_of_solves_again(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 20_000)
    problem = family("rmf-long").generate("16x512", seed=1)
    solver = preflow.MaxFlow(problem)
    rng = np.random.default_rng(0)
    for _ in range(4):
        solver.solve(time_limit=limit).verify()
        arcs = rng.integers(0, solver.network.num_arcs, 2000)
        solver.set_capacity(arcs, solver.network.capacity[arcs] // 2)
    assert solver.solve().value == preflow.max_flow(solver.network, problem.source, problem.sink).value


def path_of_blocks(*, floats: bool = False) -> FlowNetwork:
    """Return 0 -> block {1, 2} -> block {3, 4} -> 5, with arcs of capacities 3, 2 and 5 between them."""
    capacity = [3, 100, 100, 2, 100, 100, 5]
    tail, head = [0, 1, 2, 2, 3, 4, 4], [1, 2, 1, 3, 4, 3, 5]
    return FlowNetwork.from_arrays(tail, head, np.array(capacity, dtype=float if floats else int))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_capacities_of_its_own(copied: Callable[[preflow.MaxFlow], preflow.MaxFlow]) -> None:
    solver = preflow.MaxFlow(path_of_blocks(), 0, 5)
    assert is_contracted(solver.solve())
    other = copied(solver)
    other.set_capacity(3, 1)
    assert is_contracted(other.solve())
    assert (other.solve().value, solver.solve().value) == (1, 2)


@given(st.integers(0, 10**6))
def test_the_flow_of_floats_is_dropped_with_the_contraction(seed: int) -> None:
    """The next network has integers, and no flow of fractions can be put into it."""
    problem = backbone(seed, 3, 5)
    network = problem.network
    fractions = np.where(network.capacity < 100, network.capacity * 0.37, network.capacity)
    solver = preflow.MaxFlow(
        FlowNetwork.from_arrays(network.tail, network.head, fractions, num_vertices=15),
        problem.source,
        problem.sink,
    )
    solver.solve()
    solver.set_capacity(np.arange(network.num_arcs), np.ceil(fractions))
    solver.add_arcs([0], [1], [3.0])
    found = solver.solve(method="serial-hi-pr")
    found.verify()
    expected = preflow.max_flow(solver.network, solver.sources, solver.sinks, method="serial-hi-pr")
    assert found.value == expected.value


def test_an_unbounded_flow_of_the_contracted_network_only() -> None:
    """The way to the infinite arc led through a block, which has become weak."""
    solver = preflow.MaxFlow(path_of_blocks(floats=True), 0, 5)
    assert is_contracted(solver.solve())
    solver.set_capacity([0, 3, 6], np.inf)
    solver.set_capacity([1, 4], 4.0)
    assert solver.solve().value == 4
    solver.set_capacity([1, 4], np.inf)
    with pytest.raises(preflow.errors.UnboundedFlowError, match=r"to sink 5$"):
        solver.solve()


def test_a_time_limit_does_not_forbid_to_contract_later() -> None:
    solver = preflow.MaxFlow(path_of_blocks(), 0, 5)
    solver.solve(time_limit=1e-9)
    assert is_contracted(solver.solve())


def test_an_older_flow_is_pickled() -> None:
    """It is writable then, which no compiled kernel takes."""
    solver = preflow.MaxFlow(path_of_blocks(), 0, 5)
    solver.solve(method="serial-hi-pr")
    solver.add_arcs([0], [1], [1])
    assert is_contracted(solver.solve())
    other = pickle.loads(pickle.dumps(solver))
    assert other.solve(method="serial-hi-pr").value == 2


def test_sums_that_are_too_large_by_rounding_only() -> None:
    """The sum of joined capacities, added up in another order, may be above a limit that it is not above."""
    large = 2**61 + 2**59
    network = FlowNetwork.from_arrays(
        [0, 1, 2, 3, 4, 1, *[3] * 6],
        [1, 2, 1, 4, 3, 3, *[5] * 6],
        [3, large, large, large, large, 2**61, *[200] * 6],
    )
    solver = preflow.MaxFlow(network, 0, 5)
    for _ in range(2):
        result = solver.solve()
        assert is_contracted(result)
        assert result.value == 3
        result.verify()


def test_an_edit_that_is_interrupted_between_two_copies() -> None:
    class Interrupted(np.ndarray[Any, Any]):
        def copy(self, *_: Any) -> Any:
            raise KeyboardInterrupt

    solver = preflow.MaxFlow(
        FlowNetwork.from_arrays([0, 1, 2, 2], [1, 2, 1, 3], [3, 90, 90, 2], reverse_capacity=[1] * 4), 0, 3
    )
    before = solver.solve().network
    reverse, solver._reverse = solver._reverse, solver._reverse.view(Interrupted)  # type: ignore[union-attr]
    with pytest.raises(KeyboardInterrupt):
        solver.set_capacity(0, 5)
    solver._reverse = reverse
    solver.set_capacity(0, 7, reverse=True)
    assert before.reverse_capacity is not None
    assert before.reverse_capacity.tolist() == [1] * 4
    solver.solve().verify()
