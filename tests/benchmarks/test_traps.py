"""The suite "traps": its instances, and the comparison of "auto" with the best method."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import preflow
from benchmarks import run
from benchmarks.choices import Choice, choices
from benchmarks.instances import traps
from benchmarks.problem import Case, Suite
from benchmarks.problems import PROBLEMS
from benchmarks.records import InstanceRecord, Measurement
from preflow.forests.incremental_search import PATH_PIXELS_PER_ORPHAN, WORK_LEFT, make_forests, set_work_limit
from preflow.gridcut.pixel_major import GridState


def measured(contestant: str, seconds: float, method: str = "") -> Measurement:
    return Measurement(contestant, seconds=[{"total": seconds}], detail={"method": method})


def test_auto_is_compared_with_methods_on_as_many_threads_or_fewer() -> None:
    times = [
        measured("preflow:serial", 2.0),
        measured("preflow:parallel@1", 3.0),
        measured("preflow:parallel@2", 1.0),
        measured("preflow:auto@1", 6.0, "serial"),
        measured("preflow:auto@2", 2.0, "parallel"),
        measured("a peer", 0.1),
    ]
    record = InstanceRecord("grid_cut", "traps", "some grid", {}, times)
    assert choices([record]) == [
        Choice("grid_cut", "some grid", 1, "serial", 6.0, "serial", 3.0),
        Choice("grid_cut", "some grid", 2, "parallel", 2.0, "parallel@2", 2.0),
    ]
    assert not choices([InstanceRecord("grid_cut", "grids", "some grid", {}, times)])


def test_each_problem_runs_with_its_own_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """The methods of one problem are unknown to another."""
    problems = {}
    for name, method in (("grid_cut", "serial-boykov-kolmogorov"), ("bipartite_matching", "serial-hybrid")):
        whole = PROBLEMS[name]
        case = next(iter(whole.suites["traps"].cases(())))
        tiny = replace(case, make=partial(miniature, case))
        suite = Suite(lambda files, tiny=tiny: [tiny], (method, "auto"), (1,))
        problems[name] = replace(whole, peers=(), suites={"traps": suite})
    monkeypatch.setattr(run, "PROBLEMS", problems)
    report = run.run_bench(["traps"], repeats=1, memory=False)
    assert report.contestants("grid_cut") == ["preflow:serial-boykov-kolmogorov", "preflow:auto@1"]
    assert report.contestants("bipartite_matching") == ["preflow:serial-hybrid", "preflow:auto@1"]
    assert len(choices(report.records)) == 2
    assert report.to_markdown({}).count("auto beside the best method") == 2


def miniature(case: Case) -> Any:
    return case.make().miniature()


@pytest.mark.parametrize(
    "grid",
    [
        traps.opposite_sides((9, 14)),
        traps.opposite_sides((4, 5, 6)),
        traps.constant_between_sides((9, 14), 1000),
        traps.one_source((9, 14)),
        traps.stripes(20, distance=4),
        traps.scattered(12, 0.2),
        traps.constant_grid((9, 14), 5, 3),
        traps.constant_grid((9, 14), 0, 0),
    ],
    ids=repr,
)
def test_methods_agree_on_grids(grid: preflow.GridNetwork) -> None:
    value = preflow.min_cut(grid.to_flow_problem()).value
    for method in ("serial-incremental-bfs", "serial-boykov-kolmogorov"):
        result = preflow.grid_cut(grid, method=method)
        result.verify()
        assert result.value == value


def test_networks_and_graphs_have_the_optimum_that_their_shape_says() -> None:
    assert preflow.max_flow(traps.long_path(50)).value == 1
    assert preflow.max_flow(traps.leaking_path(50)).value == 50
    assert preflow.max_flow(traps.dead_end(50)).value == 1
    for graph, size in (
        (traps.comb(50), 50),
        (traps.clique_with_tail(5, 20), 26),
        (traps.few_columns(30, 4), 4),
        (traps.scrambled_cycle(30), 30),
        (traps.board_with_holes(6, 0.0), 18),
    ):
        assert preflow.bipartite_matching(graph).cardinality == size


def test_patience_is_that_of_an_arc_and_shared_by_threads() -> None:
    """However many neighbours a pixel has; several threads spend what each may."""

    def work(degree: int, threads: int) -> float:
        no_arcs = np.zeros(0, dtype=np.int32)
        forests = make_forests(GridState(no_arcs, np.zeros(9), np.zeros(degree, dtype=np.uint64)), 9)
        set_work_limit(forests, 3.0, 9, degree, threads)
        return float(forests.cursor[WORK_LEFT]) / (degree * float(PATH_PIXELS_PER_ORPHAN) * 9)

    assert work(4, 1) == work(8, 1) == work(26, 1) == 3.0
    assert work(8, 2) == 1.5
