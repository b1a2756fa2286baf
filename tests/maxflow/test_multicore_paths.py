"""Multicore push-relabel along paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import FlowNetwork
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.maxflow.multicore_paths import work_until_search
from preflow.solving.options import UNLIMITED
from tests.support.oracles import check_against_oracle
from tests.support.strategies import SmallProblem, small_problems

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
    options = {"path_length": length, "relabel_period": period, "budget": None}
    check_against_oracle(problem, method=METHOD, threads=threads, options=options)


def test_search_that_found_few_vertices_is_due_again_soon() -> None:
    n = np.uint64(1000)

    def limit(work: int, found: int) -> int:
        return int(work_until_search(np.uint64(work), np.uint64(found), n))

    assert [limit(10_000, found) for found in (1000, 501, 400, 0)] == [10_000, 10_000, 8_000, 3_000]
    assert limit(int(UNLIMITED), 1000) == UNLIMITED
    assert limit(1, 0) == 1, "a phase would be for nothing"


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
                "budget": None,
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
        ("grid-2d", "12x40"),
    ],
)
def test_families(family: str, size: str, threads: int, length: int) -> None:
    problem = FAMILIES[family].generate(size, seed=length)
    expected = preflow.max_flow(problem, method="serial-hi-pr")
    options = {"path_length": length, "relabel_period": 0.5, "budget": None}
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
        network,
        problem.network.num_vertices,
        problem.sink,
        method=METHOD,
        threads=3,
        options={"budget": None},
    )
    result.verify()
    assert result.value == preflow.max_flow(problem).value
    assert result.stats.waits >= result.stats.steals > 0


def test_a_short_period_relabels_more_often() -> None:
    problem = FAMILIES["rmf-wide"].generate("16x8", seed=1)
    often, seldom = (
        preflow.min_cut(
            problem, method=METHOD, threads=1, options={"relabel_period": period, "budget": None}
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
