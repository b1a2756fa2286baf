"""The rules by which method="auto" chooses a method of maximum flow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow import FlowNetwork
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES, open_pit, shuffled, with_infinite_capacities
from preflow.generators.bipartite import rmat
from preflow.graph.network import MaxFlowProblem
from preflow.maxflow import features, policy, watch
from preflow.solving.plan import Attempt, Rule

pytestmark = pytest.mark.fast


def symmetric(tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, n: int) -> FlowNetwork:
    return FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=capacity, num_vertices=n)


def scale_free(scale: int) -> FlowNetwork:
    rows = rmat(scale, 8, seed=3).rows
    tail = np.repeat(np.arange(len(rows.first) - 1), np.diff(rows.first))
    once = tail < rows.neighbour
    capacity = np.random.default_rng(0).integers(1, 100, once.sum())
    return symmetric(tail[once], rows.neighbour[once], capacity, 1 << scale)


def test_capacities_that_are_seldom_saturated() -> None:
    assert features.seldom_saturated(FAMILIES["rmf-wide"].generate("16x4", seed=0).network.capacity)
    assert features.are_mostly_unbounded(FAMILIES["column-surface"].generate("8x8x6").network.capacity)
    assert not features.are_mostly_unbounded(FAMILIES["deconvolution"].generate("9x9x3").network.capacity)
    assert not features.are_mostly_unbounded(np.zeros(0))
    assert not features.seldom_saturated(FAMILIES["rlg-wide"].generate("64x8", seed=0).network.capacity)
    for same in (np.zeros(0), np.zeros(5), np.ones(5), np.array([2**62] * 5)):
        assert not features.seldom_saturated(same)
    assert features.seldom_saturated(np.full(5, np.inf))
    assert features.seldom_saturated(np.array([1.0, *[np.inf] * 9]))


def has_hubs(network: FlowNetwork) -> bool:
    return features.has_hubs(features.sample_arcs(network))


def is_energy_on_a_plane(network: FlowNetwork) -> bool:
    return features.may_be_on_a_plane(network) and features.is_energy_on_a_plane(
        features.sample_arcs(network)
    )


def ends_of(network: FlowNetwork, most: int) -> np.ndarray:
    """Return how many ends each vertex has in a sample."""
    step = max(1, network.num_arcs // most)
    ends = np.concatenate([network.tail[::step], network.head[::step]])
    return np.bincount(ends, minlength=network.num_vertices)


@pytest.mark.parametrize(("name", "size"), [("grid-2d", "60x60"), ("roads", "1000x10"), ("rmf-wide", "8x8")])
@pytest.mark.parametrize("most", [7, 512, 10**6])
def test_what_a_sample_says(name: str, size: str, most: int) -> None:
    """A slow count of the same arcs is the oracle."""
    network = FAMILIES[name].generate(size, seed=1).network
    sample = features.sample_arcs(network, most)
    step = max(1, network.num_arcs // most)
    tail, head = network.tail[::step], network.head[::step]
    hits = ends_of(network, most)
    first = int(np.argmax(hits))
    second = int(np.argmax(np.where(np.arange(len(hits)) == first, -1, hits)))
    rest = np.delete(hits, [first, second])
    inner = ~np.isin(tail, [first, second]) & ~np.isin(head, [first, second])
    reverse = network.reverse_capacity
    alike = -1 if reverse is None else int((network.capacity[::step] == reverse[::step])[inner].sum())
    assert sample == (
        network.num_vertices,
        network.num_arcs,
        len(tail),
        (rest * (rest - 1)).sum(),
        inner.sum(),
        alike,
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("size", [1, 2, 300, 1000, 50_000])
def test_decile_and_median_are_those_of_a_sort(size: int, dtype: type[np.number]) -> None:
    rng = np.random.default_rng(size)
    capacity: NDArray[np.number] = rng.integers(0, 1000, size).astype(dtype)
    capacity[rng.random(size) < 0.4] = 0
    capacity[0] = 7
    step = max(1, size // features.FEW_CAPACITIES)
    sample = capacity[::step].astype(np.float64)
    positive = np.sort(sample[sample > 0])
    expected = positive[len(positive) // 10], positive[len(positive) // 2]
    assert features.decile_and_median(capacity, step, np.empty(len(sample))) == expected


def test_thin_networks_are_not_contracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 100)
    thin = FAMILIES["goldberg-bad"].generate("200", seed=0).network
    assert features.seldom_saturated(thin.capacity)
    assert not policy.worth_a_contraction(thin)
    assert policy.worth_a_contraction(FAMILIES["rmf-wide"].generate("16x4", seed=0).network)


def test_infinite_capacities_do_not_count_as_seldom_saturated() -> None:
    capacity = FAMILIES["rmf-wide"].generate("16x4", seed=0).network.capacity
    for infinite in (np.full(5, np.inf), np.array([1.0, *[np.inf] * 9])):
        assert not features.seldom_saturated(infinite, infinite=False)
    both = np.concatenate([capacity, np.full(len(capacity), np.inf)])
    assert features.seldom_saturated(both, infinite=False)


def test_closures_are_not_contracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 100)
    network = FAMILIES["column-surface"].generate("10x10x8", seed=0).network
    assert features.seldom_saturated(network.capacity)
    assert features.may_have_cycles(network)
    assert not policy.worth_a_contraction(network)


def test_networks_in_topological_order_are_not_contracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 100)
    network = FAMILIES["rmf-wide"].generate("16x4", seed=0).network
    assert policy.worth_a_contraction(network)
    low, high = np.minimum(network.tail, network.head), np.maximum(network.tail, network.head)
    for tail, head in ((low, high), (high, low)):
        assert not policy.worth_a_contraction(FlowNetwork.from_arrays(tail, head, network.capacity))
    both = FlowNetwork.from_arrays(low, high, network.capacity, reverse_capacity=1)
    assert policy.worth_a_contraction(both)


def test_hubs() -> None:
    network = scale_free(14)
    assert has_hubs(network)
    assert not has_hubs(FAMILIES["grid-2d"].generate("60x60", seed=0).network)
    assert not has_hubs(FAMILIES["ac-dense"].generate("100", seed=0).network)
    assert not has_hubs(FlowNetwork.from_arrays([], [], np.zeros(0, np.int64), num_vertices=1))


def test_energies_on_a_plane() -> None:
    network = FAMILIES["grid-2d"].generate("60x60", seed=0).network
    assert is_energy_on_a_plane(network)
    one_way = FlowNetwork.from_arrays(network.tail, network.head, network.capacity)
    assert not is_energy_on_a_plane(one_way)
    capacity = network.capacity * np.arange(1, network.num_arcs + 1)
    skewed = FlowNetwork.from_arrays(
        network.tail, network.head, capacity, reverse_capacity=network.reverse_capacity
    )
    assert not is_energy_on_a_plane(skewed)
    assert not is_energy_on_a_plane(FAMILIES["roads"].generate("1000x10", seed=0).network)
    for size in (1, 2):
        none = np.zeros(0, dtype=np.int64)
        assert not is_energy_on_a_plane(symmetric(none, none, none, size))


def test_kinds_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(name: str, size: str, threads: int = 1) -> str:
        return policy.choose(FAMILIES[name].generate(size, seed=0).network, "cpu", threads).method

    assert chosen("grid-2d", "30x30") == "serial-hi-pr"
    assert chosen("ac-dense", "120", threads=16) == "serial-dinic"
    monkeypatch.setattr(policy, "FEW_ARCS", 100)
    assert chosen("grid-2d", "30x30") == "serial-incremental-bfs"
    assert chosen("surface", "1000") == "serial-incremental-bfs"
    assert chosen("superpixels", "1000") == "serial-pseudoflow"
    assert chosen("ishikawa", "10x12x8") == "serial-pseudoflow"
    assert chosen("column-surface", "10x10x8") == chosen("column-surface", "10x10x8", threads=2)
    assert chosen("column-surface", "10x10x8") == "serial-incremental-bfs"
    assert chosen("deconvolution", "20x20x9") == "serial-dinic"
    assert chosen("matching", "500x4") == chosen("barabasi-albert", "1000x3") == "serial-dinic"
    assert chosen("grid-2d", "30x30x8") == "serial-pseudoflow"
    assert chosen("grid-3d", "9x9x9") == "serial-pseudoflow"
    assert chosen("rmf-wide", "8x4") == "serial-hi-pr"
    assert chosen("cheriyan", "10x10x10") == "serial-dinic"
    monkeypatch.setattr(policy, "ARCS_FOR_MANY_THREADS", 100)
    assert chosen("grid-2d", "30x30", threads=16) == "multicore-paths"
    assert chosen("cheriyan", "10x10x10", threads=16) == "serial-dinic"
    assert chosen("column-surface", "10x10x8", threads=16) == "multicore-merging"
    assert chosen("deconvolution", "20x20x9", threads=16) == "multicore-paths"
    assert chosen("matching", "500x4", threads=16) == "multicore-paths"
    monkeypatch.setattr(policy, "MANY_ARCS", 1000)
    assert chosen("rmf-wide", "8x8") == "multicore-paths"
    assert chosen("grid-2d", "30x30", threads=2) == "serial-incremental-bfs"
    assert chosen("rlg-wide", "64x8", threads=2) == "multicore-paths"
    monkeypatch.setattr(policy, "ARCS_OF_LARGE_ENERGY", 1000)
    assert chosen("grid-2d", "30x30") == "serial-boykov-kolmogorov"


@pytest.mark.parametrize("share", [1e-6, 0.5, 50.0])
def test_incremental_search_goes_on_where_paths_are_long(share: float) -> None:
    problem = FAMILIES["grid-2d"].generate("12x40", seed=3)
    result = preflow.max_flow(problem, method="serial-boykov-kolmogorov", options={"budget": share})
    result.verify()
    assert result.value == preflow.max_flow(problem, method="serial-fifo").value
    assert ("serial-incremental-bfs went on" in result.stats.reason) == (share < 1)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("share", [1e-6, 0.5])
def test_networks_with_hubs(monkeypatch: pytest.MonkeyPatch, threads: int, share: float) -> None:
    monkeypatch.setattr(policy, "FEW_ARCS", 100)
    monkeypatch.setattr(policy, "ARCS_FOR_MANY_THREADS", 100)
    dinic = policy.DINIC._replace(budget=share)
    rules = [
        rule._replace(attempts=tuple(dinic if each == policy.DINIC else each for each in rule.attempts))
        for rule in policy.RULES
    ]
    monkeypatch.setattr(policy, "RULES", rules)
    network = scale_free(12)
    assert policy.choose(network, "cpu", threads).method == "serial-dinic"
    monkeypatch.setattr(policy, "ARCS_WITH_HUBS_FOR_MANY_THREADS", 100)
    result = preflow.max_flow(network, 3, 5, threads=threads)
    result.verify()
    assert result.value == preflow.max_flow(network, 3, 5, method="serial-fifo").value
    assert result.stats.attempts[0].method == "serial-dinic"
    then = "serial-pseudoflow" if threads == 1 else "multicore-paths"
    assert (f"paths are many or long, so {then} went on" in result.stats.reason) == (share < 0.1)
    assert result.stats.threads == (threads if result.stats.method == "multicore-paths" else 1)


def test_attempts_are_told_and_options_that_are_gone_name_the_way_out() -> None:
    problem = FAMILIES["goldberg-bad"].generate("100", seed=0)
    stats = preflow.max_flow(problem, method="serial-dinic", options={"budget": 1e-6}).stats
    first, last = stats.attempts
    assert (first.method, last.method, last.gave_up) == ("serial-dinic", stats.method, "")
    assert first.operations + last.operations == stats.pushes + stats.relabels + stats.arc_scans
    told = stats.to_dict()["attempts"]
    assert told[0]["gave_up"] == "paths are many or long"
    for method, gone in (("multicore-paths", "narrow"), ("serial-dinic", "hi_pr_after")):
        with pytest.raises(InvalidInputError, match=f"no option '{gone}' any more: .*budget"):
            preflow.max_flow(problem, method=method, options={gone: 0})
    for wrong in (0, "many", True):
        with pytest.raises(InvalidInputError, match="budget"):
            preflow.max_flow(problem, method="serial-dinic", options={"budget": wrong})


@pytest.mark.parametrize("share", [1e-6, 0.25, 1.0])
@pytest.mark.parametrize(("name", "size"), [("goldberg-bad", "1000"), ("cheriyan", "10x10x10")])
def test_dinic_keeps_its_share_of_work_within_a_phase(name: str, size: str, share: float) -> None:
    """One phase on goldberg-bad takes a quadratic number of pushes."""
    problem = FAMILIES[name].generate(size, seed=0)
    result = preflow.max_flow(problem, method="serial-dinic", options={"budget": share})
    result.verify()
    assert result.value == preflow.max_flow(problem, method="serial-fifo").value
    assert "serial-hi-pr went on" in result.stats.reason
    by_one = preflow.max_flow(problem, method="serial-hi-pr").stats
    unit = problem.network.num_vertices + 2 * problem.network.num_arcs
    more = result.stats.arc_scans + result.stats.pushes - by_one.arc_scans - by_one.pushes
    assert more < (share + 1) * unit


WATCHED = ("serial-dinic", "serial-incremental-bfs", "serial-boykov-kolmogorov")
GIVE_UP = (*WATCHED, "serial-pseudoflow", "serial-fifo-gap", "serial-hi-pr")
GO_ON = (*GIVE_UP, "multicore-paths")


def follow(monkeypatch: pytest.MonkeyPatch, *attempts: Attempt) -> None:
    """Let `auto` make these attempts, whatever the network is."""
    monkeypatch.setattr(policy, "RULES", (Rule(lambda it: True, attempts, "a test"),))


@pytest.mark.parametrize("last", GO_ON)
@pytest.mark.parametrize("first", GIVE_UP)
@pytest.mark.parametrize("budget", [1e-6, 0.3, 1.0, 3.0])
def test_every_method_goes_on_from_what_another_left(
    monkeypatch: pytest.MonkeyPatch, first: str, last: str, budget: float
) -> None:
    follow(
        monkeypatch, Attempt(first, budget=budget), Attempt("multicore-paths", budget=budget), Attempt(last)
    )
    gave_up = 0
    for name, size in (
        ("rmf-wide", "4x4"),
        ("grid-2d", "12x40"),
        ("rlg-wide", "16x8"),
        ("ishikawa", "5x6x5"),
    ):
        for seed in range(2):
            problem = FAMILIES[name].generate(size, seed=seed)
            expected = preflow.min_cut(problem, method="serial-fifo")
            cut = preflow.min_cut(problem, threads=2)
            cut.verify()
            assert cut.value == expected.value
            assert cut.sink_side.tolist() == expected.sink_side.tolist()
            attempts = cut.stats.attempts
            assert [each.method for each in attempts] == [first, "multicore-paths", last][: len(attempts)]
            assert [bool(each.gave_up) for each in attempts] == [True] * (len(attempts) - 1) + [False]
            assert sum(each.operations for each in attempts) == (
                cut.stats.pushes + cut.stats.relabels + cut.stats.arc_scans
            )
            gave_up += len(attempts) > 1
    assert gave_up or budget > 1


@pytest.mark.parametrize("method", WATCHED)
def test_an_attempt_that_serves_few_ends_gives_up_early(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Paths of a level graph are long: the work that a search would need is far above its budget."""
    problem = FAMILIES["rlg-wide"].generate("256x32", seed=0)
    size = problem.network.num_vertices + 2 * problem.network.num_arcs
    follow(monkeypatch, Attempt(method, budget=10.0), Attempt("serial-hi-pr"))
    first, last = preflow.max_flow(problem).stats.attempts
    assert first.gave_up
    assert last.method == "serial-hi-pr"
    assert (watch.FIRST_PART - 0.02) * 10 * size < first.operations < 0.5 * 10 * size


@pytest.mark.parametrize("method", WATCHED)
def test_an_attempt_goes_on_after_its_first_part(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    problem = FAMILIES["column-surface"].generate("16x16x12", seed=1)
    expected = preflow.max_flow(problem, method=method)
    size = problem.network.num_vertices + 2 * problem.network.num_arcs
    operations = sum(each.operations for each in expected.stats.attempts)
    follow(monkeypatch, Attempt(method, budget=2.5 * operations / size), Attempt("serial-hi-pr"))
    result = preflow.max_flow(problem)
    result.verify()
    assert result.value == expected.value
    (only,) = result.stats.attempts
    assert watch.FIRST_PART * 2.5 * operations < only.operations


@pytest.mark.parametrize("change", [lambda problem: problem, shuffled, with_infinite_capacities])
def test_closures_of_many_neighbours_get_a_search(change: Callable[[MaxFlowProblem], MaxFlowProblem]) -> None:
    problem = change(open_pit(26, 26, 16, slope=50.0, benches=15, seed=1))
    network = problem.network
    assert network.num_arcs > policy.ARCS_OF_NEIGHBOURS * network.num_vertices
    assert policy.choose(network, "cpu", 1).method == "serial-incremental-bfs"


@pytest.mark.parametrize(
    ("name", "size", "ends"),
    [
        ("goldberg-bad", "8000", "serial-hi-pr"),
        ("roads", "20000x2", "serial-hi-pr"),
        ("roads", "20000x400", "serial-incremental-bfs"),
        ("roads", "20000x20", "serial-fifo-gap"),
    ],
)
def test_thin_networks_take_the_method_that_their_ends_need(name: str, size: str, ends: str) -> None:
    problem = FAMILIES[name].generate(size, seed=35)
    result = preflow.min_cut(problem, device="cpu", threads=1)
    result.verify()
    assert result.stats.method == ends
    arcs_and_vertices = problem.network.num_vertices + 2 * problem.network.num_arcs
    for attempt, planned in zip(result.stats.attempts[:-1], policy.IF_THIN, strict=False):
        assert attempt.method == planned.method
        assert planned.budget is not None
        assert attempt.operations < (1.1 * planned.budget + 1) * arcs_and_vertices
    assert result.value == preflow.min_cut(problem, method="serial-fifo").value


def test_no_plan_tries_a_method_twice_or_ends_with_a_budget() -> None:
    """A method that has given up may only go on to the end of the solve."""
    for rule in policy.RULES:
        methods = [each.method for each in rule.attempts]
        assert len(set(methods[:-1])) == len(methods[:-1])
        assert [each.budget is None for each in rule.attempts] == [False] * (len(methods) - 1) + [True]
