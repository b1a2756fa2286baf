"""What holds for every multicore matching method: any number of threads gives a maximum matching, proved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.bipartite.initial import cheap
from preflow.bipartite.match_arrays import empty_matching
from preflow.bipartite.problem import METHODS
from preflow.errors import InvalidInputError
from preflow.generators import bipartite_family
from preflow.graph.bipartite import Adjacency, BipartiteGraph
from preflow.parallel.delays import make_delays
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control, run_interruptibly
from tests.support.oracles import largest_matching
from tests.support.processes import let_a_thread_fail
from tests.support.strategies import SmallGraph, small_graphs

PARALLEL = [method.name for method in METHODS if method.parallel]
#: Methods whose threads are started without Python, and cannot raise.
NATIVE = {"multicore-multi-source-bfs", "multicore-push-relabel"}
THREADS = [1, 2, 3, 7]
#: Methods and the options under which several threads work even on small graphs.
SOLVERS: list[tuple[str, dict[str, Any]]] = [
    *((method, {}) for method in PARALLEL),
    ("multicore-pothen-fan", {"fairness": False}),
    ("multicore-push-relabel", {"search_share": 1.0}),
    ("multicore-push-relabel", {"search_share": 0, "gap": False, "relabel_period": 0.2}),
    ("multicore-push-relabel", {"search_share": 0.0, "initial_labels": "exact", "relabel_period": 0.5}),
]
#: ``PREFLOW_STRESS=5000 pytest tests/bipartite/test_multicore.py`` solves 5,000 graphs with each method.
GRAPHS = int(os.environ.get("PREFLOW_STRESS", "100"))
#: Seconds after which a solve is taken to hang; it then has no value.
HANGS = 30


@pytest.mark.parametrize(("method", "options"), SOLVERS)
@given(
    problem=small_graphs(max_vertices=14),
    threads=st.sampled_from(THREADS),
    start=st.sampled_from(["none", "cheap", "karp-sipser"]),
)
@settings(max_examples=100)
def test_agrees_with_oracle(
    method: str, options: dict[str, Any], problem: SmallGraph, threads: int, start: str
) -> None:
    result = preflow.bipartite_matching(
        problem.graph, method=method, options=options, threads=threads, initial=start
    )
    result.verify()
    assert result.cardinality == result.vertex_cover.size == largest_matching(problem)
    assert result.stats.initial_cardinality + result.stats.augmentations == result.cardinality


@pytest.mark.parametrize(("method", "options"), SOLVERS)
@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("erdos-renyi", "3000x3"),
        ("delaunay", "3000"),
        ("rmat", "10x8"),
        ("power-law", "3000x5"),
        ("road-like", "3000"),
    ],
)
def test_agrees_with_serial(method: str, options: dict[str, Any], family: str, size: str) -> None:
    graph = bipartite_family(family).generate(size, seed=3)
    for each in (graph, graph.transposed):
        expected = preflow.bipartite_matching(each, method="serial-push-relabel").cardinality
        for threads in THREADS:
            for start in ("none", "cheap"):
                result = preflow.bipartite_matching(
                    each, method=method, options=options, threads=threads, initial=start
                )
                result.verify()
                assert result.cardinality == expected
                stats = result.stats
                assert stats.threads == len(stats.per_thread) == threads
                assert sum(counts["augmentations"] for counts in stats.per_thread) == stats.augmentations
                assert stats.initial_cardinality + stats.augmentations == expected
                assert stats.phases > 0
                assert stats.arc_scans > 0


@cache
def tiny_graph(seed: int) -> tuple[BipartiteGraph, int]:
    """Return a graph and its largest matching: sparse at random, or a band with long augmenting paths.

    Its indices are wide, as from 2**32 - 1 edges on.
    """
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 40))
    if seed % 2:
        edges = random.integers(0, n, (int(random.integers(n, 3 * n)), 2))
    else:
        row = np.repeat(np.arange(n), 2)
        edges = np.column_stack([row, np.clip(row + random.integers(-2, 2, 2 * n), 0, n - 1)])
    problem = SmallGraph(n, n, [(int(r), int(c)) for r, c in edges])
    wide = Adjacency(*(each.astype(np.uint64) for each in problem.graph.rows))
    return BipartiteGraph(n, n, wide), largest_matching(problem)


@pytest.mark.jit
@pytest.mark.parametrize(("method", "options"), SOLVERS)
def test_random_delays(method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(11)
    for seed in range(GRAPHS):
        graph, size = tiny_graph(seed)
        threads = int(random.integers(2, 5) if seed % 4 else random.integers(5, 17))
        monkeypatch.setattr(
            "preflow.solving.call.Control", partial(Control, delays=make_delays(threads, seed))
        )
        result = preflow.bipartite_matching(
            graph,
            method=method,
            options=options,
            threads=threads,
            initial=("none", "cheap")[seed % 3 % 2],
            time_limit=HANGS,
        )
        result.verify()
        assert result.value == size, seed


@pytest.mark.parametrize("method", PARALLEL)
def test_repeated_solves_agree(method: str) -> None:
    graph = bipartite_family("erdos-renyi").generate("1000x3", seed=0)
    sizes = set()
    for _ in range(30):
        for threads in THREADS:
            result = preflow.bipartite_matching(graph, method=method, threads=threads, initial="none")
            result.verify()
            sizes.add(result.cardinality)
    assert len(sizes) == 1


@pytest.mark.parametrize(("method", "options"), SOLVERS)
def test_never_exponential(method: str, options: dict[str, Any]) -> None:
    for depth in (20, 26, 1000):
        graph = bipartite_family("ladder").generate(depth=depth)
        for threads in (2, 3):
            for start in ("none", "cheap"):
                result = preflow.bipartite_matching(
                    graph, method=method, options=options, threads=threads, initial=start
                )
                result.verify()
                assert result.cardinality == 3 * depth + 1


@pytest.mark.parametrize("method", PARALLEL)
def test_start_from_a_given_matching(method: str) -> None:
    graph = bipartite_family("erdos-renyi").generate("1000x3", seed=0)
    best = preflow.bipartite_matching(graph)
    again = preflow.bipartite_matching(graph, method=method, threads=3, warm_start=best)
    again.verify()
    assert again.stats.initial_cardinality == again.cardinality == best.cardinality
    some = np.where(np.arange(1000) % 3 == 0, best.row_match, -1)
    result = preflow.bipartite_matching(graph, method=method, threads=3, warm_start=some)
    result.verify()
    assert result.cardinality == best.cardinality


@pytest.mark.parametrize("threads", [2, 3, 7, 32])
@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("erdos-renyi", "20000x3"),
        ("rmat", "12x8"),
        ("hugetrace-like", "20000"),
        ("delaunay", "10000"),
        ("erdos-renyi", "300x300"),
        ("ladder", "20"),
    ],
)
def test_cheap_matching_is_the_same_on_any_number_of_threads(family: str, size: str, threads: int) -> None:
    graph = bipartite_family(family).generate(size)
    alone = empty_matching(graph)
    cheap.start(graph, alone, Control())
    for _ in range(5):
        matching = empty_matching(graph)
        cheap.start(graph, matching, Control(threads))
        assert np.array_equal(matching.row_match, alone.row_match)
        assert np.array_equal(matching.column_match, alone.column_match)


@given(problem=small_graphs(max_vertices=14), threads=st.integers(2, 9))
def test_cheap_matching_of_small_graphs(problem: SmallGraph, threads: int) -> None:
    alone, matching = empty_matching(problem.graph), empty_matching(problem.graph)
    cheap.start(problem.graph, alone, Control())
    cheap.start(problem.graph, matching, Control(threads))
    assert np.array_equal(matching.row_match, alone.row_match)
    assert np.array_equal(matching.column_match, alone.column_match)


@pytest.mark.parametrize("method", PARALLEL)
def test_more_threads_than_rows(method: str) -> None:
    graph = bipartite_family("erdos-renyi").generate("12x3", seed=1)
    result = preflow.bipartite_matching(graph, method=method, threads=100)
    result.verify()
    assert result.stats.threads == 12
    assert result.cardinality == preflow.bipartite_matching(graph).cardinality


@pytest.mark.parametrize("method", PARALLEL)
def test_small_graphs_on_many_threads_obey_ctrl_c(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where threads outnumber cores, a solve may take long: the caller's thread must not be one of them."""
    graph = bipartite_family("erdos-renyi").generate("100x3", seed=1)
    seen: list[int] = []

    def run(work: Callable[[], Any], control: Control, *_: Any) -> Any:
        seen.append(control.threads)
        return run_interruptibly(work, control)

    monkeypatch.setattr("preflow.solving.call.run_interruptibly", run)
    for threads in (1, 5):
        preflow.bipartite_matching(graph, method=method, threads=threads)
    assert seen == [5]


@pytest.mark.parametrize("method", sorted(set(PARALLEL) - NATIVE))
def test_failure_of_one_thread_ends_all(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    let_a_thread_fail(monkeypatch)
    graph = bipartite_family("erdos-renyi").generate("1000x3", seed=0)
    with pytest.raises(ZeroDivisionError):
        preflow.bipartite_matching(graph, method=method, threads=4)


@pytest.mark.parametrize("method", PARALLEL)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_stopped_solve_is_a_matching_with_bounds(method: str, threads: int) -> None:
    graph = bipartite_family("erdos-renyi").generate("2000x3", seed=0)
    control = Control(threads)
    control.stop[0] = 1
    record = find_method(METHODS, method)
    assert not record.solve(graph, empty_matching(graph), record.make_options(None), control)
    large = bipartite_family("erdos-renyi").generate("200000x3", seed=0)
    result = preflow.bipartite_matching(
        large, method=method, threads=threads, initial="none", time_limit=0.06
    )
    result.verify()
    if result.status == "time-limit":
        assert result.lower_bound <= result.upper_bound


SCRIPT = """
import sys, threading
import preflow
from preflow.generators import bipartite_family
ARGUMENTS = {"method": sys.argv[1], "initial": "none", "threads": 3}
preflow.bipartite_matching(bipartite_family("erdos-renyi").generate("100x3"), **ARGUMENTS)
graph = bipartite_family("erdos-renyi").generate("100000x3")
print("solving", flush=True)
try:
    while True:
        preflow.bipartite_matching(graph, **ARGUMENTS)
except KeyboardInterrupt:
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("preflow-solver")]
    print("interrupted", len(names), preflow.bipartite_matching(([0], [0])).cardinality, flush=True)
"""


@pytest.mark.parametrize("method", PARALLEL)
def test_ctrl_c_leaves_the_process_usable(method: str) -> None:
    command = [sys.executable, "-c", SCRIPT, method]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "solving"
    time.sleep(0.5)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().split() == ["interrupted", "0", "1"]
    assert time.monotonic() - start < 5, "the solve went on after Ctrl-C"
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("method", PARALLEL)
def test_repeated_solves_leave_no_more_threads(method: str) -> None:
    graph = bipartite_family("delaunay").generate("300", seed=0)
    preflow.bipartite_matching(graph, method=method, threads=4)
    before = threading.active_count()
    for _ in range(20):
        preflow.bipartite_matching(graph, method=method, threads=4)
    assert threading.active_count() <= before


def test_threads_of_serial_methods_and_bad_options() -> None:
    edge = ([0], [0])
    with pytest.raises(InvalidInputError, match="one thread"):
        preflow.bipartite_matching(edge, method="serial-pothen-fan", threads=2)
    with pytest.raises(InvalidInputError, match="True or False"):
        preflow.bipartite_matching(edge, method="multicore-pothen-fan", options={"fairness": 1})
    with pytest.raises(InvalidInputError, match="search_share"):
        preflow.bipartite_matching(edge, method="multicore-push-relabel", options={"search_share": 1.5})
    rows = BipartiteGraph.from_arrays(*edge).rows
    record = find_method(METHODS, "multicore-push-relabel")
    with pytest.raises(InvalidInputError, match="4,294,967,293"):
        record.solve(
            BipartiteGraph(2**32, 1, rows, _checked=True), None, record.make_options(None), Control()
        )
