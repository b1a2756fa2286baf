"""The build by several threads against the build by one: the same arrays, errors and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow import FlowNetwork
from preflow.errors import CapacityOverflowError
from preflow.generators import FAMILIES
from preflow.graph import residual
from preflow.graph.residual import ResidualNetwork, build_residual
from preflow.kernels import atomics
from preflow.kernels.atomics import PADDING
from preflow.kernels.csr_build import InputArcs, Pairs, fill_residual, terminal_capacities
from preflow.maxflow import api
from preflow.parallel import csr_build, sort
from preflow.parallel.barrier import wait
from preflow.parallel.pieces import run_pieces
from tests.support.exploration import (
    Cases,
    Mutants,
    add_in_two_steps,
    exchange_for,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    mutate,
    serve,
)
from tests.support.scheduler import Outcome, Thread, explore
from tests.support.strategies import SmallProblem, float_capacities, integer_capacities, small_problems

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


@pytest.mark.jit
@given(
    case=st.tuples(
        small_problems(capacities=integer_capacities | float_capacities, max_vertices=30),
        st.just(np.uint32),
    )
    | st.tuples(small_problems(capacities=integer_capacities, max_vertices=30), st.just(np.uint64))
)
@settings(max_examples=100)
def test_any_network(case: tuple[SmallProblem, type[np.uint32] | type[np.uint64]]) -> None:
    problem, dtype = case
    network = problem.network
    sources, sinks = np.array(problem.sources), np.array(problem.sinks)
    expected = build_residual(network, sources, sinks, dtype)
    for threads in THREADS:
        check_same(network, expected, build_residual(network, sources, sinks, dtype, threads))


@given(ends=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=200), both_ways=st.booleans())
@settings(max_examples=80)
def test_many_arcs_between_few_vertices(ends: list[tuple[int, int]], both_ways: bool) -> None:
    """Groups past the size from which pairs are found by hashing."""
    arcs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    capacity = np.arange(len(arcs)) % 3
    network = FlowNetwork.from_arrays(
        *arcs.T, capacity, reverse_capacity=capacity[::-1] if both_ways else None, num_vertices=7
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
    network = FlowNetwork.from_arrays(
        tail, head, random.integers(0, largest, m), reverse_capacity=reverse, num_vertices=n
    )
    terminals = random.choice(n, int(random.integers(2, min(n, 9))), replace=False)
    return network, np.sort(terminals[:1]), np.sort(terminals[1:])


@pytest.mark.parametrize("seed", range(60))
def test_random_multigraphs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 5 == 0:
        monkeypatch.setattr(sort, "FEW_KEYS", 4)
        monkeypatch.setattr(sort, "BUCKET_KEYS", 8)
    check_builds(*random_network(seed), [*THREADS, 16])


@pytest.mark.parametrize("scattered", [False, True])
def test_scattered_arcs_are_filled_in_by_blocks(scattered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to fill in capacities give the same, whatever the order of the arcs."""
    for seed in range(12):
        network, sources, sinks = random_network(seed)
        expected = build_residual(network, sources, sinks)
        with monkeypatch.context() as patch:
            patch.setattr(residual, "_scattered", lambda _: scattered)
            check_builds(network, sources, sinks, [2])
            found = build_residual(network, sources, sinks)
            check_same(network, expected, found)
            assert np.array_equal(found.initial_residual(network), expected.initial_residual(network))


def test_order_of_arcs_is_recognised() -> None:
    tail = np.arange(200_000, dtype=np.uint32)
    assert not residual._scattered(tail)
    assert residual._scattered(np.random.default_rng(0).permutation(tail))
    assert not residual._scattered(tail[:0])


def test_one_thread_of_a_team_builds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(arcs: InputArcs, num_inner: int, _: int, wanted: Callable[[], None]) -> Any:
        pairs, distinct = csr_build.build_pairs(arcs, num_inner, 1, wanted)
        return residual._Built(pairs, distinct)

    for seed in range(12):
        network, sources, sinks = random_network(seed)
        expected = build_residual(network, sources, sinks)
        with monkeypatch.context() as patch:
            patch.setattr(residual, "_build_pairs", built)
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


@pytest.mark.parametrize("hub", [0, 400])
@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_ranks_past_a_byte(hub: int, parallel: int, dtype: type[np.int64] | type[np.float64]) -> None:
    """The places of a hub's pairs need more bits than its ranks if arcs are parallel, and fewer if its number
    is large."""
    others = np.repeat(np.delete(np.arange(401), hub), parallel)
    network = FlowNetwork.from_arrays(
        others, np.full(len(others), hub), np.ones(len(others), dtype), num_vertices=403
    )
    check_builds(network, np.array([401]), np.array([402]), THREADS)


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
    build_pairs = csr_build.build_pairs
    monkeypatch.setattr(
        csr_build,
        "build_pairs",
        lambda arcs, n, threads, wanted: teams.append(threads) or build_pairs(arcs, n, threads, wanted),
    )
    problem = FAMILIES["rmf-long"].generate("6x40", seed=1)
    monkeypatch.setattr(api, "usable_cpus", lambda: 4)
    alone = preflow.max_flow(problem, threads=1)
    assert teams == []
    together = preflow.max_flow(problem, threads=3)
    assert teams == [3]
    preflow.max_flow(problem, method="serial-fifo")
    assert teams == [3]
    preflow.max_flow(problem, threads=32)
    assert teams == [3, 4], "more threads than cores"
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


def test_pieces_cover_everything_once() -> None:
    for size in (0, 1, 5, 100):
        for threads in (1, 2, 7):
            pieces = run_pieces(lambda begin, end: range(begin, end), size, threads)
            assert [i for piece in pieces for i in piece] == list(range(size))


# Every state of two threads


def share_of(size: int, thread: int, num_threads: int) -> tuple[int, int]:
    return size * thread // num_threads, size * (thread + 1) // num_threads


class Build(NamedTuple):
    """The arrays that the threads of a case share: scratch and results of every step."""

    builders: csr_build.Builders
    sorting: sort.Sorting
    pair_sorting: sort.Sorting
    tables: csr_build.Tables
    arcs: InputArcs
    keys: NDArray[Any]
    first: NDArray[Any]
    order: NDArray[Any]
    merging: csr_build.Merging
    gathered: NDArray[Any]
    back_first: NDArray[Any]
    position: NDArray[Any]
    pairs: Pairs


def pairs_together(thread: Any, b: Build) -> None:
    """The steps that :func:`preflow.parallel.csr_build.build_pairs` runs, a barrier after each."""
    merging, pairs = b.merging, b.pairs
    sorted_pairs = csr_build.SortedPairs(b.gathered, merging.pair_first, b.position, b.back_first)
    sort_pairs = sort.sort_by_key_together
    for step, shared, arguments in (
        (csr_build.sort_arcs_together, b.builders, (b.sorting, b.arcs, b.keys, b.first, b.order)),
        (csr_build.merge_groups_together, b.builders, (b.tables, b.arcs, b.first, b.order, merging)),
        (csr_build.gather_pairs, b.builders, (b.first, merging.larger_end, merging.pair_first, b.gathered)),
        (
            sort_pairs,
            b.builders.barrier,
            (b.pair_sorting, b.gathered, b.gathered[:0], b.back_first, b.position, True),
        ),
        (csr_build.place_pairs, b.builders, (sorted_pairs, pairs.first_out, pairs.head, pairs.reverse)),
    ):
        step(shared, thread, *arguments)
        wait(b.builders.barrier, 2)
    begin, end = share_of(len(pairs.rank), int(thread), 2)
    for k in range(begin, end):
        pairs.rank[k] = merging.place[k]
    csr_build.rank_arcs(b.arcs, begin, end, b.back_first, pairs)


def tiny_build(ends: list[tuple[int, int]]) -> tuple[FlowNetwork, ResidualNetwork]:
    """Return a network whose last two vertices are the terminals, and its residual network."""
    sort.MAX_BUCKETS, sort.FEW_KEYS = 2, 0
    csr_build.SMALL_GROUP = 2
    tail, head = np.array(ends, dtype=np.uint32).T
    network = FlowNetwork.from_arrays(tail, head, np.arange(1, len(ends) + 1))
    n = network.num_vertices - 2
    return network, build_residual(network, np.array([n]), np.array([n + 1]))


def explore_pairs(ends: list[tuple[int, int]]) -> Outcome:
    network, built = tiny_build(ends)
    n, m, p = built.num_vertices, network.num_arcs, built.num_arcs // 2
    is_pair = np.array([max(u, v) < n and u != v for u, v in ends])
    results = Pairs(built.arrays.first_out, built.arrays.head, built.arrays.reverse, built.rank)

    def make_case() -> tuple[Build, list[Thread]]:
        dtype = np.uint32
        sortings = [sort.make_sorting(2, size, n) for size in (m, p)]
        for sorting in sortings:
            hold_constant((sorting.base,))
            for scratch in (sorting.counts, sorting.place, sorting.bucket_first, sorting.words):
                scratch[...] = 0
        tables = csr_build.make_tables([m, m], n, dtype)
        hold_constant((tables.first,))
        arcs = hold_constant(built.input_arcs(network))
        inside = is_pair.sum()

        def zeros(*sizes: int) -> list[NDArray[Any]]:
            return [np.zeros(size, dtype) for size in sizes]

        shared = Build(
            csr_build.Builders(impatient_barrier(2), np.zeros(2 * int(PADDING), dtype=np.uint64)),
            *sortings,
            tables,
            arcs,
            *zeros(m, n + 1, m),
            csr_build.Merging(*zeros(inside, inside, m, n + 1)),
            *zeros(p, n + 1, p),
            Pairs(*map(np.zeros_like, results)),
        )
        return shared, [lambda b, thread=thread: pairs_together(np.uint64(thread), b) for thread in range(2)]

    def check_end(b: Build, _: list[Any]) -> None:
        for name in ("first_out", "head", "reverse"):
            found, expected = getattr(b.pairs, name).tolist(), getattr(results, name).tolist()
            assert found == expected, f"built {name} {found}"
        rank = b.pairs.rank
        assert rank[is_pair].tolist() == built.rank[is_pair].tolist(), f"built rank {rank}"

    return explore(make_case, check_end=check_end)


class Sums(NamedTuple):
    """The arrays that threads share while they add up capacities, and the block of each thread."""

    residual: NDArray[Any]
    source_capacity: NDArray[Any]
    sink_capacity: NDArray[Any]
    first_block: NDArray[Any]
    second_block: NDArray[Any]


def explore_sums(ends: list[tuple[int, int]], by_blocks: bool) -> Outcome:
    network, built = tiny_build(ends)
    n, m = built.num_vertices, network.num_arcs
    arcs = hold_constant(built.input_arcs(network))
    arrays = built.arrays
    pairs = hold_constant(Pairs(arrays.first_out, arrays.head, arrays.reverse, built.rank))
    from_source = [sum(i + 1 for i, end in enumerate(ends) if end == (n, v)) for v in range(n)]
    limit = np.int64(999)
    size_of_block = 3 if by_blocks else 0

    def member(thread: int) -> Thread:
        def run(sums: Sums) -> None:
            begin, end = share_of(m, thread, 2)
            block = sums.second_block if thread else sums.first_block
            fill_residual(arcs, pairs, begin, end, False, sums.residual, limit, block)
            terminal_capacities(arcs, begin, end, False, sums.source_capacity, sums.sink_capacity, limit)

        return run

    def check_end(sums: Sums, _: list[Any]) -> None:
        assert sums.residual.tolist() == built.arrays.residual.tolist(), f"filled {sums.residual}"
        assert sums.source_capacity.tolist() == from_source, f"summed {sums.source_capacity}"

    return explore(
        lambda: (
            Sums(
                *(np.zeros(size, dtype=np.int64) for size in (built.num_arcs, n, n)),
                *(np.zeros(size_of_block, dtype=np.uint64) for _ in range(2)),
            ),
            [member(thread) for thread in range(2)],
        ),
        check_end=check_end,
    )


CASES: Cases = {
    "pairs": lambda: explore_pairs([(1, 0), (0, 1), (3, 0), (0, 2), (1, 0), (2, 1), (1, 4)]),
    "capacities": lambda: explore_sums([(0, 1), (2, 0), (0, 3), (0, 1), (1, 0)] * 4, False),
    "capacities by blocks": lambda: explore_sums([(0, 1), (2, 0), (0, 3), (0, 1), (1, 0)] * 4, True),
}

MUTANTS: Mutants = {
    "no barrier before the sum": (
        "pairs",
        mutate(csr_build.merge_groups_together, "no-barrier-before-the-sum", ""),
        "built first_out",
    ),
    "two threads merge the last group": (
        "pairs",
        mutate(
            csr_build.range_of,
            "two-threads-merge-the-last-group",
            "end = first_from(first, end_item) if False else num_groups",
        ),
        "IndexError",  # the groups of a thread end before its range does
    ),
    "capacities added in two steps": (
        "capacities",
        exchange_for(atomics.fetch_add, add_in_two_steps),
        "check failed",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


if __name__ == "__main__":
    serve(CASES, MUTANTS)
