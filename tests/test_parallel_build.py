"""The build by several threads against the build by one: the same arrays, errors and memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow import FlowNetwork
from preflow.errors import CapacityOverflowError
from preflow.generators import FAMILIES
from preflow.graph import parallel_build, residual
from preflow.graph.residual import ResidualNetwork, build_residual
from preflow.parallel import csr_build, sort
from preflow.parallel.team import run_shares
from strategies import SmallProblem, float_capacities, integer_capacities, small_problems

THREADS = [2, 3, 8]
HALF = 2**62


@pytest.fixture(autouse=True, scope="module")
def small_networks_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual, "ARCS_A_THREAD", 1)
        yield


def check_same(network: FlowNetwork, one: ResidualNetwork, other: ResidualNetwork) -> None:
    for expected, found in zip(one.arrays, other.arrays, strict=True):
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)
    n = one.num_vertices
    tail, head = one.inner[network.tail], one.inner[network.head]
    is_inner = (tail < n) & (head < n) & (tail != head)
    assert other.rank.dtype == one.rank.dtype
    assert np.array_equal(other.rank[is_inner], one.rank[is_inner])
    assert other.has_shared_arcs == one.has_shared_arcs
    assert other.constant_flow == one.constant_flow
    assert np.array_equal(other.inner, one.inner)


def check_builds(
    network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64], threads: list[int]
) -> None:
    expected = build_residual(network, sources, sinks)
    for count in threads:
        check_same(network, expected, build_residual(network, sources, sinks, threads=count))


@given(
    problem=small_problems(capacities=integer_capacities | float_capacities, max_vertices=30),
    wide=st.booleans(),
)
@settings(max_examples=300)
def test_any_network(problem: SmallProblem, wide: bool) -> None:
    network, dtype = problem.network, np.uint64 if wide else np.uint32
    sources, sinks = np.array(problem.sources), np.array(problem.sinks)
    expected = build_residual(network, sources, sinks, dtype)
    for threads in THREADS:
        check_same(network, expected, build_residual(network, sources, sinks, dtype, threads))


@given(ends=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=200), both_ways=st.booleans())
@settings(max_examples=200)
def test_many_arcs_between_few_vertices(ends: list[tuple[int, int]], both_ways: bool) -> None:
    """Groups past the size from which pairs are found by hashing."""
    arcs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    capacity = np.arange(len(arcs)) % 3
    network = FlowNetwork.from_arrays(
        *arcs.T, capacity, capacity[::-1] if both_ways else None, num_vertices=7
    )
    check_builds(network, np.array([0]), np.array([6]), THREADS)


def random_network(seed: int) -> tuple[FlowNetwork, NDArray[np.int64], NDArray[np.int64]]:
    """Return a multigraph with hubs, strides, antiparallel arcs and loops, its sources and its sinks."""
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 10 ** random.integers(1, 6)))
    m = int(random.integers(0, 10 ** random.integers(2, 6)))
    tail, head = random.integers(0, n, m), random.integers(0, n, m)
    if seed % 2:
        head = (tail + random.integers(0, 4, m) * random.integers(1, n)) % n
    hubs = random.random(m) < random.choice([0.0, 0.1, 0.9])
    tail[hubs] = random.integers(0, 3, hubs.sum())
    again = random.random(m) < 0.2
    copied = random.integers(0, max(m, 1), again.sum())
    tail[again], head[again] = head[copied], tail[copied]
    if seed % 3 == 0:
        by_tail = np.argsort(tail, kind="stable")
        tail, head = tail[by_tail], head[by_tail]
    largest = random.choice([2, 100, 2**29, 2**40])
    reverse = random.integers(0, largest, m) if seed % 4 < 2 else None
    network = FlowNetwork.from_arrays(tail, head, random.integers(0, largest, m), reverse, num_vertices=n)
    terminals = random.choice(n, int(random.integers(2, min(n, 9))), replace=False)
    return network, np.sort(terminals[:1]), np.sort(terminals[1:])


@pytest.mark.parametrize("seed", range(60))
def test_random_multigraphs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 5 == 0:
        monkeypatch.setattr(sort, "FEW_KEYS", 4)
        monkeypatch.setattr(sort, "BUCKET_KEYS", 8)
    check_builds(*random_network(seed), [*THREADS, 16])


def test_one_thread_of_a_team_builds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(12):
        network, sources, sinks = random_network(seed)
        expected = build_residual(network, sources, sinks)
        with monkeypatch.context() as patch:
            patch.setattr(residual, "_build_pairs", lambda arcs, n, _: residual._build_together(arcs, n, 1))
            check_same(network, expected, build_residual(network, sources, sinks))


@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("grid-2d", "70x50"),
        ("rmf-wide", "12x6"),
        ("ac-dense", "150"),
        ("rlg-wide", "128x8"),
        ("grid-3d", "12x13x14"),
    ],
)
def test_families(family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=3)
    check_builds(problem.network, np.atleast_1d(problem.source), np.atleast_1d(problem.sink), THREADS)


def test_hashing_in_a_full_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a hub's neighbours are found, also where its table is as full as it gets."""
    n = 3000
    neighbours = np.random.default_rng(0).permutation(np.arange(1, n)).repeat(2)
    network = FlowNetwork.from_arrays(np.zeros(len(neighbours), int), neighbours, 1, num_vertices=n + 2)
    check_builds(network, np.array([n]), np.array([n + 1]), THREADS)


@pytest.mark.parametrize("capacity", [2**30 - 1, 2**30, HALF - 1])
def test_largest_sums_that_fit(capacity: int) -> None:
    network = FlowNetwork.from_arrays([0, 1, 2, 2], [1, 2, 1, 3], [1, capacity, capacity, 1])
    check_builds(network, np.array([0]), np.array([3]), THREADS)


@pytest.mark.parametrize(
    "ends",
    [
        [(1, 2), (1, 2)],
        [(1, 2), (2, 1)],
        [(0, 1), (0, 1)],
        [(1, 3), (1, 3)],
        [(0, 3), (0, 3)],
        [(0, 3), (0, 1), (1, 3)],
    ],
)
@pytest.mark.parametrize("apart", [0, 1000])
def test_overflow(ends: list[tuple[int, int]], apart: int) -> None:
    arcs = [(*ends[0], HALF), *[(1, 2, 0)] * apart, *((u, v, HALF) for u, v in ends[1:])]
    network = FlowNetwork.from_arrays(*zip(*arcs, strict=True), num_vertices=4)
    for threads in [1, *THREADS]:
        with pytest.raises(CapacityOverflowError):
            build_residual(network, np.array([0]), np.array([3]), threads=threads)


def test_sum_of_direct_arcs_over_threads() -> None:
    """No thread's arcs from source to sink sum past int64, but all together do."""
    network = FlowNetwork.from_arrays([0] * 4, [1] * 4, [HALF // 2 + 1] * 4)
    for threads in [1, *THREADS]:
        with pytest.raises(CapacityOverflowError):
            build_residual(network, np.array([0]), np.array([1]), threads=threads)


def test_auto_builds_with_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    teams: list[int] = []
    build_pairs = parallel_build.build_pairs
    monkeypatch.setattr(
        parallel_build,
        "build_pairs",
        lambda arcs, n, threads: teams.append(threads) or build_pairs(arcs, n, threads),
    )
    problem = FAMILIES["rmf-long"].generate("6x40", seed=1)
    alone = preflow.max_flow(problem, threads=1)
    assert teams == []
    together = preflow.max_flow(problem, threads=3)
    assert teams == [3]
    preflow.max_flow(problem, method="serial-fifo")
    assert teams == [3]
    assert together.value == alone.value
    assert np.array_equal(together.flow, alone.flow) or together.stats.method != alone.stats.method
    together.verify()


def test_error_in_a_share_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other threads do not wait for ever."""
    whole = csr_build.sort_arcs_together

    def fail(builders: object, thread: int, *rest: object) -> object:
        if thread == 1:
            raise ZeroDivisionError
        return whole(builders, thread, *rest)

    monkeypatch.setattr(csr_build, "sort_arcs_together", fail)
    problem = FAMILIES["rmf-wide"].generate("12x6", seed=1)
    with pytest.raises(ZeroDivisionError):
        build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]), threads=3)


def test_shares_cover_everything_once() -> None:
    for size in (0, 1, 5, 100):
        for threads in (1, 2, 7):
            shares = run_shares(lambda begin, end: range(begin, end), size, threads)
            assert [i for share in shares for i in share] == list(range(size))
