"""The names of the papers mean the printed forms: their options, and operations counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import preflow
from preflow.assignment.problem import METHODS as ASSIGNMENT
from preflow.bipartite.problem import METHODS as MATCHING
from preflow.cuda import runtime
from preflow.generators import FAMILIES
from preflow.gridcut.problem import METHODS as GRID_CUT
from preflow.maxflow.problem import METHODS as MAX_FLOW
from preflow.solving.dispatch import find_method
from preflow.solving.method import Method
from tests.support.cuda_on_cpu.device import CpuDevice

NEVER_EXACT = {"relabel_period": None, "initial_labels": "zero"}
HYBRID = {"cycles": 7000, "cancel_steep_arcs": True, "initial_labels": "zero"}
PUBLISHED = {"cycles": 7000, "upload": False, "stopping": "published"}
SINGLE_PUSHES = {"path_length": 1, "drain": False}
EVERY_N = {**SINGLE_PUSHES, "relabel_rule": "relabels", "relabel_period": 1.0}
HI = {**SINGLE_PUSHES, "relabel_rule": "hi-pr", "relabel_period": 1.0, "gap": True}
#: The options of the names by which the papers call their systems.
PRINTED: list[tuple[tuple[Method, ...], str, dict[str, Any]]] = [
    (MAX_FLOW, "F_PRF", {"gap": False, "relabel_rule": "relabels", "relabel_period": 1.0, "drain": False}),
    (MAX_FLOW, "Q_PRF", {"gap": True, "relabel_rule": "relabels", "relabel_period": 1.0, "drain": False}),
    (MAX_FLOW, "M_PRF", {**EVERY_N, "gap": False, "start": "saturated"}),
    (MAX_FLOW, "H_PRF", {**EVERY_N, "gap": True, "start": "saturated"}),
    (MAX_FLOW, "HI_PR", {**HI, "start": "saturated"}),
    (MAX_FLOW, "HI_PRO", {**HI, "start": "source"}),
    (MAX_FLOW, "HI_PRW", {**HI, "start": "wave"}),
    (MAX_FLOW, "Cihan", {"search": "jump-queues", "donation": "oldest", "gap": False, "relabel_period": 1.0}),
    (MAX_FLOW, "pulses", {"pulses": True}),
    (MAX_FLOW, "Hong", {**NEVER_EXACT, "concurrent_relabel": False}),
    (MAX_FLOW, "ARG", {"concurrent_relabel": True}),
    (MAX_FLOW, "cpu-async", {"concurrent_relabel": True}),
    (MAX_FLOW, "gpu-async", {**HYBRID, "gap": False}),
    (MAX_FLOW, "CPU-GPU-Hybrid", {**HYBRID, "gap": False}),
    (MAX_FLOW, "Lupinska", {**HYBRID, "gap": True}),
    (MAX_FLOW, "gpu-color", {"barrier": "launch", "initial_labels": "zero", "weighted": False}),
    (GRID_CUT, "Hong", NEVER_EXACT),
    (GRID_CUT, "CPU-GPU-Hybrid", {**PUBLISHED, "gap": False}),
    (GRID_CUT, "Lupinska", {**PUBLISHED, "gap": True}),
    (GRID_CUT, "CudaCuts", {"stopping": "published", "atomic": True, "block_width": 32, "block_height": 8}),
    (MATCHING, "PR", {"side": "columns", "double_push": False, "gap": False, "relabel_period": 0.5}),
    (MATCHING, "G-PR", {"active_list": True, "shrink": True, "global_relabel": ("adaptive", 0.7)}),
    (MATCHING, "G-PR-Shr", {"active_list": True, "shrink": True, "global_relabel": ("adaptive", 0.7)}),
    (MATCHING, "G-PR-NoShr", {"active_list": True, "shrink": False}),
    (MATCHING, "G-PR-First", {"active_list": False}),
    (MATCHING, "G-HK", {"shortest": True}),
    (MATCHING, "G-HKDW", {"shortest": False}),
    (ASSIGNMENT, "Lupinska", {"alpha": 10.0, "cycles": 500_000, "block_threads": 512, "price_updates": 1}),
]
#: Figures 2.4 and 2.5 of Cihan's thesis: the vertices are s, a, b, c, t.
EXAMPLE = ([0, 1, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4], [4, 3, 1, 2, 1, 3])
#: A path of three inner vertices.
PATH = ([0, 1, 2, 3], [1, 2, 3, 4], [5, 4, 3, 3])


@pytest.fixture
def _cpu_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice()
    monkeypatch.setattr(runtime, "find_device", lambda: device)


@pytest.mark.parametrize(("methods", "name", "options"), PRINTED)
def test_a_paper_s_name_has_the_printed_options(
    methods: tuple[Method, ...], name: str, options: dict[str, Any]
) -> None:
    found = find_method(methods, name).options
    assert {option: found[option] for option in options} == options


def test_the_worked_example_of_cihan_s_thesis() -> None:
    """Paths go over ten arcs, pushes over seven; the arc from s is on three paths and has one push."""
    counts = {}
    for name in ("serial-edmonds-karp", "pulses", "H_PRF", "M_PRF", "F_PRF", "Cihan"):
        result = preflow.max_flow(EXAMPLE, 0, 4, method=name, threads=1)
        result.verify()
        assert result.value == 4
        counts[name] = (result.stats.pushes, result.stats.relabels)
    assert counts["serial-edmonds-karp"] == (10 - 3, 0)
    # b and c push at the same time; then b, which has two units left, is relabelled once.
    assert counts["pulses"] == counts["H_PRF"] == counts["M_PRF"] == (7 - 1, 1)
    # First in, first out: b is discharged before c, which then sends all three units at once.
    assert counts["F_PRF"] == counts["Cihan"] == (7 - 2, 1)


@pytest.mark.usefixtures("_cpu_device")
@pytest.mark.parametrize("name", ["Hong", "gpu-async", "CPU-GPU-Hybrid", "Lupinska", "gpu-color"])
def test_labels_start_with_0_as_printed(name: str) -> None:
    """On a path a vertex rises to 1 and pushes; with exact labels none rises."""
    result = preflow.max_flow(PATH, 0, 4, method=name, threads=1)
    result.verify()
    stats = result.stats
    # The path takes 3 units; 2 climb with vertices 1 and 2 until both are dead.
    assert result.value == 3
    exact = preflow.max_flow(PATH, 0, 4, method=stats.method, threads=1).stats
    assert stats.relabels > exact.relabels
    wide = preflow.max_flow(([0, 1, 2, 3], [1, 2, 3, 4], [5] * 4), 0, 4, method=name, threads=1).stats
    assert (wide.pushes, wide.relabels, wide.global_relabels) == (3, 2, 1)


def test_algorithm_1_pushes_columns() -> None:
    """Columns 0, 1 and 2 take row 0 from each other, then column 0 takes row 1, and no row is free."""
    graph = preflow.BipartiteGraph.from_edges([(0, 0), (0, 1), (0, 2), (1, 0)])
    counts = {}
    for name, period in (("PR", 100.0), ("PR", 0.5), ("serial-push-relabel", 100.0)):
        options = {"relabel_period": period}
        result = preflow.bipartite_matching(graph, method=name, options=options, initial="none")
        result.verify()
        assert result.cardinality == 2
        counts[name, period] = result.stats.pushes
    # A global relabel after two pushes finds that column 2 has no path. Rows need three pushes in any case:
    # row 1 takes column 0 from row 0, which takes column 1.
    assert counts == {("PR", 100.0): 4, ("PR", 0.5): 3, ("serial-push-relabel", 100.0): 3}


@pytest.mark.usefixtures("_cpu_device")
@pytest.mark.parametrize("name", ["G-PR-First", "G-PR-NoShr", "G-PR-Shr", "G-PR", "PR"])
def test_one_path_takes_a_push_for_each_of_its_columns(name: str) -> None:
    """Columns k have the rows k - 1 and k, and start with the first of them: all have to move on by one."""
    allowed = np.eye(6, dtype=np.int8) + np.eye(6, k=1, dtype=np.int8)
    result = preflow.bipartite_matching(allowed, method=name, warm_start=np.array([1, 2, 3, 4, 5, -1]))
    result.verify()
    assert result.cardinality == 6
    assert result.stats.pushes == 6


@pytest.mark.usefixtures("_cpu_device")
@pytest.mark.parametrize("name", ["gpu-async", "CPU-GPU-Hybrid", "Lupinska", "gpu-color", "Hong", "Cihan"])
@pytest.mark.parametrize(("family", "size"), [("rmf-wide", "4x3"), ("rlg-long", "6x9"), ("ac-dense", "14")])
def test_printed_forms_find_the_cut(name: str, family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=2)
    threads = 2 if name in ("Hong", "Cihan") else 1
    result = preflow.max_flow(problem, method=name, threads=threads)
    result.verify()
    expected = preflow.min_cut(problem, method="serial-generic")
    assert result.value == expected.value
    assert np.array_equal(result.sink_side, expected.sink_side)
