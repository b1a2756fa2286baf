"""Counting sort by a team: against NumPy, and in every state of tiny cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from preflow.parallel import sort
from preflow.parallel.barrier import make_barrier
from preflow.parallel.sort import Sorting, make_sorting, make_transposing, sort_by_key_together
from preflow.parallel.thread_pool import run_on_threads
from tests.support.exploration import (
    Cases,
    Mutants,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    mutate,
    serve,
)
from tests.support.scheduler import Outcome, Thread, explore

THREADS = [1, 2, 3, 4, 5, 6, 7, 8]


def sort_in_team(
    keys: NDArray[Any], num_keys: int, threads: int, times: int = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sort `times` times with the same scratch; return `first` and `order`."""
    barrier, sorting = make_barrier(threads), make_sorting(threads, len(keys), num_keys)
    first, order = np.full(num_keys + 1, 7, keys.dtype), np.full(len(keys), 7, keys.dtype)
    done = [False] * threads

    def share(thread: int) -> None:
        for _ in range(times):
            done[thread] = sort_by_key_together(
                barrier, np.uint64(thread), sorting, keys, keys[:0], first, order, False
            )

    run_on_threads(share, threads, lambda: None)
    assert all(done)
    return first, order[: first[-1]]


def check_sorted(keys: NDArray[Any], num_keys: int, first: NDArray[Any], order: NDArray[Any]) -> None:
    kept = np.flatnonzero(keys < num_keys)
    expected = kept[np.argsort(keys[kept], kind="stable")]
    assert np.array_equal(order, expected)
    assert np.array_equal(first, np.searchsorted(keys[expected], np.arange(num_keys + 1)))


@pytest.mark.parametrize("threads", [*THREADS, 32])
@pytest.mark.parametrize(
    ("shape", "num_edges"),
    [
        ((0, 0), 0),
        ((5, 1), 0),
        ((1, 1), 3),
        ((3, 200), 1),
        ((40, 30), 100),
        ((7, 100_000), 50_000),
        ((70_000, 70_001), 90_000),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_transpose(
    shape: tuple[int, int], num_edges: int, threads: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one bucket, what tells the two vertices of an edge needs more than 32 bits on large sides."""
    if dtype is np.uint64:
        monkeypatch.setattr(sort, "MAX_BUCKETS", 1)
    random = np.random.default_rng(num_edges)
    owner = np.sort(random.integers(0, max(shape[0], 1), num_edges))
    other = random.integers(0, max(shape[1], 1), num_edges).astype(np.uint32)
    first = np.searchsorted(owner, np.arange(shape[0] + 1)).astype(np.uint32)
    barrier, scratch = make_barrier(threads), make_transposing(threads, first, shape[1])
    other_first, other_neighbour = np.full(shape[1] + 1, 7, np.uint32), np.full(num_edges, 7, np.uint32)
    if shape[0] == 70_000 and threads == 1:
        assert scratch.words.dtype == dtype
    done = [False] * threads

    def share(thread: int) -> None:
        done[thread] = sort_by_key_together(
            barrier, np.uint64(thread), scratch, other, first, other_first, other_neighbour, False
        )

    run_on_threads(share, threads, lambda: None)
    assert all(done)
    order = np.argsort(other, kind="stable")
    assert np.array_equal(other_neighbour, owner[order])
    assert np.array_equal(other_first, np.searchsorted(other[order], np.arange(shape[1] + 1)))


@pytest.mark.parametrize("threads", [*THREADS, 32])
@pytest.mark.parametrize(
    ("num_items", "num_keys"),
    [
        (0, 0),
        (0, 5),
        (1, 1),
        (3, 1000),
        (20, 3),
        (1000, 37),
        (5000, 200_000),
        (200_000, 40_000),
        (200_000, 2000),
    ],
)
def test_sort(num_items: int, num_keys: int, threads: int) -> None:
    random = np.random.default_rng(num_items)
    for dtype in (np.uint32, np.uint64):
        keys = random.integers(0, num_keys + num_keys // 10 + 1, num_items).astype(dtype)
        check_sorted(keys, num_keys, *sort_in_team(keys, num_keys, threads))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_sort_where_one_key_has_nearly_all_items(threads: int) -> None:
    random = np.random.default_rng(1)
    keys = np.where(random.random(50_000) < 0.95, 300, random.integers(0, 1000, 50_000)).astype(np.uint32)
    check_sorted(keys, 1000, *sort_in_team(keys, 1000, threads))


@given(
    keys=st.lists(st.integers(0, 40), max_size=60),
    num_keys=st.integers(0, 40),
    threads=st.sampled_from(THREADS),
)
@settings(max_examples=80)
def test_sort_of_anything(keys: list[int], num_keys: int, threads: int) -> None:
    array = np.array(keys, dtype=np.uint32)
    check_sorted(array, num_keys, *sort_in_team(array, num_keys, threads))


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_many_in_a_row(threads: int) -> None:
    """The scratch is used again at once: a thread that is ahead must not disturb those behind."""
    random = np.random.default_rng(3)
    for size in range(1, 40):
        keys = random.integers(0, 12, size).astype(np.uint32)
        check_sorted(keys, 10, *sort_in_team(keys, 10, threads, times=20))


def test_buckets_are_few_and_cover_all_keys() -> None:
    for num_keys in (0, 1, 2, 31, 32, 33, 10**5, 10**6, 2**31):
        for threads in (1, 16):
            made = make_sorting(threads, 0, num_keys)
            buckets, shift = made.counts.shape[1], int(made.shift)
            assert max(0, num_keys - 1) >> shift == buckets - 1 < sort.MAX_BUCKETS
    assert make_sorting(4, 10**6, 5000).counts.shape == (4, 5000)


# Every state of two threads


class Sort(NamedTuple):
    """What the threads of a sort's case share."""

    barrier: NDArray[np.int64]
    sorting: Sorting
    keys: NDArray[np.uint32]
    owner_first: NDArray[np.uint32]
    first: NDArray[np.uint32]
    order: NDArray[np.uint32]


def read(array: NDArray[Any], count: int) -> list[int]:
    entries: list[int] = []
    while len(entries) < count:
        entries.append(int(array[len(entries)]))
    return entries


def sort_together(
    keys: list[int],
    num_keys: int,
    num_threads: int,
    times: int,
    few_keys: int = 0,
    owner_first: Sequence[int] = (),
) -> Outcome:
    sort.MAX_BUCKETS, sort.FEW_KEYS = 2, few_keys
    num_items = len(keys)

    def member(thread: int) -> Thread:
        def run(shared: Sort) -> list[int]:
            barrier, sorting, keys, owner_first, first, order = shared
            for _ in range(times):
                sort_by_key_together(
                    barrier, np.uint64(thread), sorting, keys, owner_first, first, order, False
                )
            total = int(first[num_keys])
            return [total, *read(order, total)]

        return run

    def make_case() -> tuple[Sort, list[Thread]]:
        owners = np.array(owner_first, np.uint32)
        sorting = (
            make_transposing(num_threads, owners, num_keys)
            if len(owners)
            else make_sorting(num_threads, num_items, num_keys)
        )
        for scratch in (sorting.counts, sorting.place, sorting.bucket_first, sorting.words):
            scratch[...] = 0
        constant_keys = np.array(keys, np.uint32)
        hold_constant((constant_keys, owners, sorting.base))
        first, order = np.zeros(num_keys + 1, np.uint32), np.zeros(num_items, np.uint32)
        return Sort(impatient_barrier(num_threads), sorting, constant_keys, owners, first, order), [
            member(thread) for thread in range(num_threads)
        ]

    expected = sorted((i for i in range(num_items) if keys[i] < num_keys), key=keys.__getitem__)
    if owner_first:
        expected = (np.searchsorted(owner_first, expected, side="right") - 1).tolist()

    def check_end(shared: Sort, results: list[list[int]]) -> None:
        assert results == [[len(expected), *expected]] * num_threads, f"sorted {results}"

    return explore(make_case, check_end=check_end)


CASES: Cases = {
    "sort": lambda: sort_together([0, 2, 0, 5, 1, 0], num_keys=3, num_threads=2, times=2),
    "sort-few-keys": lambda: sort_together(
        [0, 2, 0, 5, 1, 0], num_keys=3, num_threads=2, times=2, few_keys=3
    ),
    "transpose": lambda: sort_together(
        [0, 2, 0, 3, 1, 0], num_keys=4, num_threads=2, times=2, owner_first=[0, 1, 1, 4, 6]
    ),
    "sort-3": lambda: sort_together([2, 0, 3, 2], num_keys=4, num_threads=3, times=1),
}

MUTANTS: Mutants = {
    "sort: no barrier before the counts are read": (
        "sort",
        mutate(sort.sort_by_key_together, "no-barrier-before-the-counts-are-read", ""),
        "data race on sorting.counts",
    ),
    "sort: no barrier before the buckets are sorted": (
        "sort",
        mutate(sort.sort_by_key_together, "no-barrier-before-the-buckets-are-sorted", ""),
        "data race on sorting",
    ),
    "sort: no barrier at the end": (
        "sort",
        mutate(sort.sort_by_key_together, "no-barrier-at-the-end", ""),
        "sorted",
    ),
    "sort: all threads put their items in the same places": (
        "sort",
        mutate(sort.find_places, "all-threads-put-their-items-in-the-same-places", "if other == ZERO:"),
        "IndexError",  # the shares of all threads end before the bucket does
    ),
    "sort: two threads sort one bucket": (
        "sort",
        mutate(sort.sort_by_key_together, "two-threads-sort-one-bucket", "if begin < end:"),
        "data race on",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


if __name__ == "__main__":
    serve(CASES, MUTANTS)
