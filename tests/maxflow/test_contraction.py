"""Blocks that no minimum cut separates are contracted, and the flow is carried back into them."""

from __future__ import annotations

import contextlib
import copy
import pickle
import time
from collections.abc import Callable
from functools import partial
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
from preflow.maxflow import contraction, policy, warm
from preflow.maxflow.api import FlowCall
from preflow.maxflow.contraction import BlockTrees, Contraction, StrongArcs, arcs_of, contract, without_cycles
from preflow.solving.call import Request
from preflow.solving.deadline import Deadline

CONTRACTED = "no minimum cut separates the vertices of a block"
WORTH = policy.worth_a_contraction


@pytest.fixture(autouse=True)
def small_networks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 0)
    monkeypatch.setattr(policy, "ARCS_OF_PATHS", 0)
    monkeypatch.setattr(policy, "seldom_saturated", lambda capacity: bool((capacity > 0).any()))
    monkeypatch.setattr(contraction, "MOST_LEFT", 1.0)


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
    monkeypatch.setattr(contraction, "MOST_LEFT", 0.5)
    problem = backbone(1, 10, 1)
    terminals = np.array([problem.source]), np.array([problem.sink])
    assert contract(problem.network, *terminals, Deadline(None)) is None
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
    network = FlowNetwork.from_arrays(tail, head, [3, 2, 10, 10, 10, 10] + [2] * 20)
    terminals = np.array([0]), np.array([5])
    held = contract(network, *terminals, Deadline(None))
    assert held is not None
    assert held.smaller.num_vertices == 4
    trees = held.planted(network, held.threshold, StrongArcs(held))
    assert trees is not None
    ends = zip(held.smaller.tail.tolist(), held.smaller.head.tolist(), strict=True)
    amount = {(0, 1): 2, (2, 3): 2, (1, 2): 20, (2, 1): 18}
    number = {int(held.block[v]): k for v, k in ((0, 0), (1, 1), (3, 2), (5, 3))}
    flow = held.expanded(network, trees, np.array([amount[number[u], number[v]] for u, v in ends]))
    check_flow(network, *terminals, flow, 2)


# Solving again


def spans(held: Contraction, network: FlowNetwork, bound: float, trees: BlockTrees) -> bool:
    """Whether trees are in order, above a bound, and reach all vertices within their blocks."""
    m, n = network.num_arcs, network.num_vertices
    back = network.reverse_capacity
    for each, is_up in ((trees.up, True), (trees.down, False)):
        assert sorted(each.order.tolist()) == list(range(n))
        assert each.order[each.position].tolist() == list(range(n))
        block = held.block[each.order]
        assert np.count_nonzero(block[1:] != block[:-1]) == held.smaller.num_vertices - 1
        place = each.position
        for v, (p, i) in enumerate(zip(each.parent.tolist(), each.number.tolist(), strict=True)):
            if p == v:
                assert held.root[held.block[v]] == v
                continue
            ends = (network.tail[i], network.head[i]) if i < m else (network.head[i - m], network.tail[i - m])
            capacity = network.capacity[i] if i < m else 0 if back is None else back[i - m]
            if ends != ((v, p) if is_up else (p, v)) or place[p] > place[v] or capacity <= bound:
                return False
            assert capacity >= trees.least
            assert held.block[p] == held.block[v]
    return True


@given(st.integers(0, 10**6), st.booleans())
def test_trees_are_mended_where_they_can_be(seed: int, both: bool) -> None:
    """After each change trees are found if and only if new ones could be planted."""
    rng = np.random.default_rng(seed)
    blocks, each, arcs = 3, 7, 20
    begin = each * np.repeat(np.arange(blocks), arcs)
    tail, head = begin + rng.integers(0, each, (2, blocks * arcs))
    capacity = rng.integers(50, 100, blocks * arcs)
    reverse = np.append(rng.integers(0, 2, len(tail)) * capacity, [0, 0]) if both else None
    network = FlowNetwork.from_arrays(
        np.append(tail, [0, each]),
        np.append(head, [each, 2 * each]),
        np.append(capacity, [1, 1]),
        reverse_capacity=reverse,
        num_vertices=blocks * each,
    )
    held = contract(network, np.array([0]), np.array([2 * each]), Deadline(None))
    assert held is not None
    strong, bound = StrongArcs(held), held.threshold
    trees = held.planted(network, bound, strong)
    assert trees is not None
    for _ in range(6):
        assert trees.least > bound
        before = network.capacity
        changed = rng.integers(0, len(before), 4)
        capacity = before.copy()
        capacity[changed] = rng.choice([0, 60, 90], 4)
        network = FlowNetwork(
            network.num_vertices,
            network.tail,
            network.head,
            capacity,
            reverse_capacity=network.reverse_capacity,
        )
        bound = float(rng.choice([bound, 55, 70]))
        keep, kept = bool(rng.integers(0, 2)), pickle.dumps(trees)
        given, lowered = trees, changed[capacity[changed] < trees.least]
        mended = held.mended(network, bound, strong, trees, lowered, keep=keep)
        planted = held.planted(network, bound, StrongArcs(held))
        assert (mended is None) == (planted is None)
        if mended is None:
            break
        assert spans(held, network, bound, mended)
        if keep:
            assert pickle.dumps(given) == kept
        trees = mended


def test_joint_trees_are_planted_again() -> None:
    """At first the only strong arc that leaves vertex 1 leads to the later vertex 2; then a cycle is left."""
    tail, head = [0, 1, 0, 2, 1, 2, 0, 3, 4, 4, 3], [1, 0, 2, 0, 2, 1, 3, 4, 3, 5, 5]
    capacity = np.array([90, 90, 90, 90, 90, 90, 1, 90, 90, 1, 1])
    network = FlowNetwork.from_arrays(tail, head, capacity)
    held = contract(network, np.array([0]), np.array([5]), Deadline(None))
    assert held is not None
    strong = StrongArcs(held)
    trees = held.planted(network, 10.0, strong)
    assert trees is not None
    assert trees.share_order
    for lowered, is_shared in (([1], True), ([1, 5, 2], False)):
        capacity = network.capacity.copy()
        capacity[lowered] = 5
        changed = FlowNetwork.from_arrays(tail, head, capacity)
        mended = held.mended(changed, 10.0, strong, trees, np.array(lowered), keep=True)
        assert mended is not None
        assert mended.share_order == is_shared
        assert mended.least == 90
        assert spans(held, changed, 10, mended)
        assert spans(held, network, 10, trees)
        assert mended.up.position[1] > mended.up.position[2]


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


@pytest.mark.parametrize("both", [False, True])
def test_many_edits(both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand edits. Some flows are read late; blocks hold, are planted again, or break."""
    monkeypatch.setattr(warm, "MOST_CHANGES", 3)
    rng = np.random.default_rng(7)
    problem = strong_both_ways(rng, both=both)
    given = problem.network
    solver = preflow.MaxFlow(problem)
    seen: dict[str, int] = dict.fromkeys(("contracted", "kept", "joint", "separate", "new"), 0)
    unread: list[preflow.MaxFlowResult] = []
    edits, held = 0, None
    while edits < 10_000:
        for _ in range(rng.integers(1, 5)):
            count = int(rng.integers(1, 20))
            arcs = rng.integers(0, given.num_arcs, count)
            factor = rng.choice([0.1, 0.5, 1, 1, 1, 2], count)
            if rng.random() < 0.05:  # blocks break
                arcs, factor = rng.integers(0, given.num_arcs, 100), np.full(100, 0.0)
            elif rng.random() < 0.05:
                arcs, factor = np.arange(given.num_arcs), np.ones(given.num_arcs)
            edits += count
            solver.set_capacity(arcs, (given.capacity[arcs] * factor).astype(np.int64))
            if given.reverse_capacity is not None:
                reverse = (given.reverse_capacity[arcs] * factor).astype(np.int64)
                solver.set_capacity(arcs, reverse, reverse=True)
        found = solver.solve(threads=1)
        expected = preflow.max_flow(solver.network, problem.source, problem.sink, method="serial-hi-pr")
        assert found.value == expected.value
        np.testing.assert_array_equal(found.sink_side, expected.sink_side)
        unread.append(found)
        if rng.random() < 0.5:
            for result in unread:
                result.verify()
            unread.clear()
        if rng.random() < 0.02:
            solver = copy.copy(solver)
        now = solver._contracted
        seen["contracted"] += is_contracted(found)
        seen["kept" if now is held else "new"] += 1
        if now is not None and now.trees is not None:
            seen["joint" if now.trees.share_order else "separate"] += 1
            assert spans(now.contraction, solver.network, found.value, now.trees)
        held = now
    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize("most", [2**20, 2**60])
def test_sums_of_joined_arcs_that_get_too_large(most: int) -> None:
    """The second time, the arcs between blocks are not joined."""
    tail, head = [0, 1, 2, 1, 1, 1, 3, 4, 4], [1, 2, 1, 3, 3, 4, 4, 3, 5]
    capacity = np.array([3, 10**18, 10**18, 1, 1, 1, 10**18, 10**18, 2])
    solver = preflow.MaxFlow(FlowNetwork.from_arrays(tail, head, capacity), 0, 5)
    assert is_contracted(solver.solve())
    assert solver._contracted is not None
    assert solver._contracted.contraction.joins
    for arcs, values in (([3, 3, 4, 5], [7, most, most, most]), ([4], 0), ([0, 3, 5, 8], 2)):
        solver.set_capacity(arcs, values)
        found = solver.solve()
        found.verify()
        assert found.value == preflow.max_flow(solver.network, 0, 5, method="serial-hi-pr").value
        assert is_contracted(found)
        assert solver._contracted is not None
        assert solver._contracted.contraction.joins == (most == 2**20)


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


def test_trees_are_planted_again_when_their_arcs_get_weak() -> None:
    # A block with two ways between any two vertices: one of them gets weak, then both.
    tail = [0, 1, 2, 3, 4, 1, 2, 3, 1, 4, 3]
    head = [1, 2, 3, 1, 5, 3, 1, 2, 4, 1, 4]
    capacity = [4, 90, 90, 90, 4, 90, 90, 90, 4, 0, 3]
    solver = preflow.MaxFlow(FlowNetwork.from_arrays(tail, head, capacity), 0, 5)
    assert is_contracted(solver.solve())
    held = solver._contracted
    assert held is not None
    solver.set_capacity([1, 2, 3], 1)
    assert is_contracted(solver.solve())
    assert solver._contracted is held
    solver.set_capacity([5, 6, 7], 1)
    result = solver.solve()
    assert solver._contracted is not held
    assert result.value == preflow.max_flow(solver.network, 0, 5, method="serial-hi-pr").value
    result.verify()


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


def test_the_time_limit_counts_the_solve_of_a_contraction_that_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    network = path_of_blocks()
    solver = preflow.MaxFlow(network, 0, 5)
    assert is_contracted(solver.solve())
    solver.set_capacity(np.arange(network.num_arcs), 1)
    held = solver._contracted
    assert held is not None
    real, limits = preflow.MaxFlow.solve, []

    def slow(self: preflow.MaxFlow, **given: Any) -> preflow.MaxFlowResult:
        result = real(self, **given)
        time.sleep(0.01)
        return result

    prepare = preflow.MaxFlow._prepare

    def noted(self: preflow.MaxFlow, request: Request, emptied: bool) -> FlowCall:
        limits.append(request.time_limit)
        return prepare(self, request, emptied)

    monkeypatch.setattr(warm, "worth_a_contraction", lambda network: False)
    monkeypatch.setattr(held.solver, "solve", partial(slow, held.solver))
    monkeypatch.setattr(preflow.MaxFlow, "_prepare", noted)
    assert solver.solve(time_limit=100.0).value == 1
    assert limits[-1] is not None
    assert limits[-1] < 100.0 - 0.01


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


@pytest.mark.parametrize("first", ["auto", "serial-hi-pr"])
@pytest.mark.parametrize("kept", [warm._Contracted, warm._Kept])
def test_an_interrupted_edit_leaves_nothing_out_of_date(
    kept: type, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    solver = preflow.MaxFlow(path_of_blocks(), 0, 5)
    solver.solve(method=first)
    solver.solve()
    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(kept, "change", interrupted)
        solver.set_capacity([0, 3, 6], 1)
    value = 1 if kept is warm._Kept else 2  # the contracted network changes first
    assert solver.network.capacity[3] == value
    assert [solver.solve(method=method).value for method in ("auto", "serial-hi-pr")] == [value, value]
    assert is_contracted(solver.solve())


def test_an_interrupted_change_of_the_type_of_capacities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contracted network still has integers, and takes no fractions."""

    def interrupted(solver: preflow.MaxFlow) -> None:
        raise KeyboardInterrupt

    solver = preflow.MaxFlow(path_of_blocks(), 0, 5)
    assert is_contracted(solver.solve())
    with monkeypatch.context() as patch:
        patch.setattr(preflow.MaxFlow, "_forget_contraction", interrupted)
        with pytest.raises(KeyboardInterrupt):
            solver.set_capacity(0, 0.5)
    solver.set_capacity(3, 1.5)
    found = solver.solve()
    found.verify()
    assert found.value == pytest.approx(1.5)


def test_results_that_share_trees_are_all_kept() -> None:
    """The first result's trees are those of the second one, too, and change after the second was read."""
    network = FlowNetwork.from_arrays([0, 1, 1, 2, 2, 2], [1, 2, 2, 1, 1, 3], [3, 90, 90, 90, 90, 2])
    solver = preflow.MaxFlow(network, 0, 3)
    solver.solve()
    solver.set_capacity(2, 0)
    first = solver.solve()
    solver.set_capacity(2, 90)
    second = solver.solve()
    assert second.flow.sum() > 0
    solver.set_capacity(1, 0)
    third = solver.solve()
    assert all(is_contracted(result) for result in (first, second, third))
    for result in (third, first, second):
        result.verify()


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
