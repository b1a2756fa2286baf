"""Multicore push-relabel along paths, and the search of a team whose threads own vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from oracles import check_against_oracle
from preflow import FlowNetwork
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.kernels.bfs import distances_to_sink
from preflow.parallel.barrier import break_barrier
from preflow.parallel.search import Search, make_search, search_together
from preflow.parallel.team import run_team
from strategies import SmallProblem, small_problems

METHOD = "multicore-paths"
ZERO = np.uint64(0)


@pytest.mark.parametrize(
    "options",
    [
        {"path_length": 0},
        {"path_length": -1},
        {"path_length": True},
        {"path_length": 1.5},
        {"relabel_period": 0},
        {"relabel_period": float("inf")},
        {"gap": True},
    ],
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method=METHOD, options=options)


@given(
    problem=small_problems(max_vertices=14),
    threads=st.integers(1, 8),
    length=st.sampled_from([1, 2, 4, 100]),
    period=st.sampled_from([1e-9, 0.1, 1.0, 1e300]),
)
@settings(max_examples=100)
def test_agrees_with_oracle(problem: SmallProblem, threads: int, length: int, period: float) -> None:
    options = {"path_length": length, "relabel_period": period, "narrow": 0}
    check_against_oracle(problem, method=METHOD, threads=threads, options=options)


@pytest.mark.parametrize("threads", [2, 3, 5, 8])
def test_many_small_networks(threads: int) -> None:
    random = np.random.default_rng(threads)
    for length in (1, 4):
        for _ in range(125):
            n, m = int(random.integers(2, 25)), int(random.integers(0, 100))
            capacity = random.integers(0, random.choice([2, 9, 2**40]), m)
            network = FlowNetwork.from_arrays(
                random.integers(0, n, m), random.integers(0, n, m), capacity, num_vertices=n
            )
            expected = preflow.max_flow(network, 0, 1, method="serial-hi-pr")
            options = {
                "path_length": length,
                "relabel_period": float(random.choice([0.01, 1.0])),
                "narrow": 0,
            }
            result = preflow.max_flow(network, 0, 1, method=METHOD, threads=threads, options=options)
            result.verify()
            assert result.value == expected.value
            assert np.array_equal(result.sink_side, expected.sink_side)


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("threads", [1, 2, 3, 8, 32])
@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("rmf-wide", "12x8"),
        ("rmf-long", "6x50"),
        ("rlg-wide", "64x8"),
        ("rlg-long", "16x64"),
        ("grid-2d", "25x20"),
    ],
)
def test_families(family: str, size: str, threads: int, length: int) -> None:
    problem = FAMILIES[family].generate(size, seed=length)
    expected = preflow.max_flow(problem, method="serial-hi-pr")
    options = {"path_length": length, "relabel_period": 0.5, "narrow": 0}
    result = preflow.max_flow(problem, method=METHOD, threads=threads, options=options)
    result.verify()
    assert result.value == expected.value
    assert np.array_equal(result.sink_side, expected.sink_side)
    assert np.array_equal(result.source_side(), expected.source_side())


def test_threads_share_the_work() -> None:
    """All excess starts on one vertex, so the other threads live on gifts and on what they activate."""
    problem = FAMILIES["rlg-wide"].generate("64x64", seed=2)
    tail, head = np.append(problem.network.tail, problem.network.num_vertices), problem.source
    network = FlowNetwork.from_arrays(
        tail, np.append(problem.network.head, head), np.append(problem.network.capacity, 2**40)
    )
    result = preflow.max_flow(
        network, problem.network.num_vertices, problem.sink, method=METHOD, threads=3, options={"narrow": 0}
    )
    result.verify()
    assert result.value == preflow.max_flow(problem).value
    assert result.stats.waits >= result.stats.steals > 0


def test_a_short_period_relabels_more_often() -> None:
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    often, seldom = (
        preflow.min_cut(
            problem, method=METHOD, threads=1, options={"relabel_period": period, "narrow": 0}
        ).stats
        for period in (1e-9, 1e300)
    )
    assert often.global_relabels > seldom.global_relabels


def test_capacities_up_to_the_largest() -> None:
    """A mark on a vertex that then gets all there is does no harm."""
    largest = 2**63 - 1
    network = FlowNetwork.from_arrays(
        [0, 1, 2, 3, 3], [1, 2, 3, 4, 5], [largest, largest, largest, largest - 5, 3]
    )
    for threads in (1, 2, 4):
        result = preflow.max_flow(network, 0, 4, method=METHOD, threads=threads)
        result.verify()
        assert result.value == largest - 5


# The search


def make_mailed(
    num_threads: int, net: ResidualArrays, letters: int | None = None, small: int | None = None
) -> Search:
    """Return the state of a search with so many letters a mailbox and of so many vertices a small level."""
    n, m = len(net.excess), len(net.head)
    made = make_search(num_threads, n, m, net.head.dtype)
    if letters is not None:
        mail = np.empty(num_threads * num_threads * letters * 2, net.head.dtype)
        made = made._replace(letters=np.array([letters], np.uint64), mail=mail)
    if small is not None:
        made = made._replace(small=np.array([small], np.uint64))
    return made


def run_search(made: Search, net: ResidualArrays, height: Any, drain: bool) -> list[tuple[int, int]]:
    """Search once on a team; return what each thread did."""
    num_threads = int(made.num_threads[0])
    results = [(0, 0)] * num_threads

    def share(thread: int) -> None:
        reached, pushes = search_together(made, np.uint64(thread), net, height, drain)
        results[thread] = int(reached), int(pushes)

    run_team(share, num_threads, lambda: break_barrier(made.barrier))
    return results


def distances(net: ResidualArrays) -> Any:
    n = len(net.excess)
    height = np.full(n, n + 1, net.head.dtype)
    distances_to_sink(net, height, np.zeros(n, net.head.dtype), ZERO, ZERO, ZERO, False)
    return height


def residual_of(network: FlowNetwork, source: int, sink: int) -> ResidualArrays:
    return build_residual(network, np.array([source]), np.array([sink])).arrays


def copy_of(net: ResidualArrays) -> ResidualArrays:
    return ResidualArrays(*(array.copy() for array in net))


def check_search(made: Search, begin: ResidualArrays, drain: bool) -> int:
    """Heights are exact for what the search leaves, and flow is conserved; return the pushes."""
    net = copy_of(begin)
    n = len(net.excess)
    height = np.zeros(n, net.head.dtype)
    results = run_search(made, net, height, drain)
    assert np.array_equal(height, distances(net))
    num_threads, room = int(made.num_threads[0]), int(made.room[0])
    owner = (np.arange(n) >> int(made.shift[0])) % num_threads
    for thread, (reached, _) in enumerate(results):
        order = made.order[thread * room :][:reached].astype(int)
        assert sorted(order) == np.flatnonzero((owner == thread) & (height <= n)).tolist()
        assert (np.diff(height[order].astype(int)) >= 0).all()
    if not drain:
        assert all(np.array_equal(*arrays) for arrays in zip(net, begin, strict=True))
        return 0
    assert all((array >= 0).all() for array in net)
    assert np.array_equal(
        net.residual + net.residual[net.reverse], begin.residual + begin.residual[begin.reverse]
    )
    tail = np.repeat(np.arange(n), np.diff(begin.first_out.astype(int)))
    expected = begin.excess - begin.sink_residual + net.sink_residual
    np.add.at(expected, tail, net.residual.astype(np.int64) - begin.residual)
    assert np.array_equal(net.excess, expected)
    return sum(pushes for _, pushes in results)


@given(
    problem=small_problems(max_vertices=20),
    threads=st.integers(1, 8),
    letters=st.sampled_from([1, 2, 3, 64]),
    small=st.sampled_from([0, 1, 3, 100]),
    drain=st.booleans(),
)
@settings(max_examples=100)
def test_search_of_small_networks(
    problem: SmallProblem, threads: int, letters: int, small: int, drain: bool
) -> None:
    net = build_residual(problem.network, np.array(problem.sources), np.array(problem.sinks)).arrays
    check_search(make_mailed(threads, net, letters, small), net, drain)


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 8, 32])
def test_search_of_families(threads: int, drain: bool) -> None:
    """Levels above and below the small ones, and several rounds of mail."""
    for family, size in [
        ("rmf-wide", "12x6"),
        ("rmf-long", "4x40"),
        ("grid-2d", "40x40"),
        ("ac-dense", "60"),
    ]:
        problem = FAMILIES[family].generate(size, seed=1)
        net = residual_of(problem.network, problem.source, problem.sink)
        for letters, small in [(None, None), (None, 0), (2, 0), (5, 20)]:
            if threads > 1 or letters is None:
                check_search(make_mailed(threads, net, letters, small), net, drain)


@pytest.mark.parametrize("threads", [2, 4])
def test_search_again_and_again(threads: int) -> None:
    """A search leaves nothing behind that the next one minds; each drains what the last one left."""
    random = np.random.default_rng(3)
    n, m = 60, 240
    network = FlowNetwork.from_arrays(
        random.integers(0, n, m), random.integers(0, n, m), random.integers(0, 9, m), num_vertices=n
    )
    net = residual_of(network, 0, 1)
    made = make_mailed(threads, net, 1, 4)
    height = np.zeros(n - 2, net.head.dtype)
    pushes = []
    for _ in range(30):
        pushes.append(sum(made for _, made in run_search(made, net, height, True)))
        assert np.array_equal(height, distances(net))
    assert pushes[0] > 0


@pytest.mark.parametrize("seed", range(8))
def test_search_of_dense_networks(seed: int) -> None:
    """Few vertices are left after the first level, or the second, and look for it themselves."""
    n = 40
    random = np.random.default_rng(seed)
    tail, head = (ends.ravel() for ends in np.meshgrid(np.arange(n), np.arange(n)))
    capacity = random.integers(0, 3, n * n)
    capacity[(head == 1) & (random.random(n * n) < seed / 8)] = 0
    net = residual_of(FlowNetwork.from_arrays(tail, head, capacity), 0, 1)
    for threads in (1, 2, 5):
        made = make_mailed(threads, net, None if threads == 1 else 1, None)
        assert check_search(made, net, True) > 0
        check_search(made, net, False)


@pytest.mark.parametrize("arcs", [([0], [1], [1]), ([0, 1], [1, 2], [3, 2])])
def test_search_with_more_threads_than_vertices(arcs: tuple[list[int], ...]) -> None:
    net = residual_of(FlowNetwork.from_arrays(*arcs), 0, len(arcs[0]))
    for drain in (False, True):
        check_search(make_mailed(8, net), net, drain)


def test_search_returns_where_the_barrier_breaks() -> None:
    net = residual_of(FAMILIES["grid-2d"].generate("9x9", seed=0).network, 0, 1)
    made = make_mailed(3, net, 1, 0)
    height = np.zeros(len(net.excess), net.head.dtype)

    def share(thread: int) -> None:
        if thread == 2:
            raise ZeroDivisionError
        search_together(made, np.uint64(thread), net, height, True)

    with pytest.raises(ZeroDivisionError):
        run_team(share, 3, lambda: break_barrier(made.barrier))
