"""The benchmark of linear assignment: suites, contestants, peers."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from benchmarks import machine
from benchmarks.instances.assignment import AssignmentInstance
from benchmarks.machine import TooLargeError
from benchmarks.peers.assignment import ASSIGNMENT_PEERS, LapContestant
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import PHASES
from benchmarks.run import run_bench
from benchmarks.suites.assignment import assignment, assignment_small
from preflow.graph.point_costs import PointCosts

SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["linear_assignment"]
POINTS = PointCosts([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], [[1.0, 0.0], [3.0, 3.0], [0.0, 1.0]])
RING = [[1, 5, 0], [0, 2, 9], [3, 0, 4]]
#: What is solved, and at what cost.
INSTANCES: list[tuple[Any, int | float]] = [
    (np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]]), 5),
    (np.array([[0.5, 0.25], [0.75, 1.0]]), 1.0),
    (np.array([[7]]), 7),
    (np.array([[[1, 2], [2, 1]], [[5, 1], [1, 5]]]), 4),
    (scipy.sparse.csr_array(RING), 7),
    (POINTS, 3.0),
]


@pytest.mark.parametrize("name", ["preflow:auto", *(peer.name for peer in ASSIGNMENT_PEERS)])
def test_contestants_agree_on_small_instances(name: str) -> None:
    contestant = PROBLEM.contestant(name, SETTINGS)
    if contestant.missing():
        pytest.skip(str(contestant.missing()))
    for costs, value in INSTANCES:
        instance = AssignmentInstance(costs)
        if contestant.unfit(instance):
            assert instance.kind == "sparse"
            continue
        contestant.load(instance)
        outcome = contestant.run(contestant.prepare(instance))
        assert outcome.value == pytest.approx(value)
        assert isinstance(outcome.value, int) == instance.integral
        assert set(outcome.seconds) <= {*PHASES, "download"}
        assert outcome.total == sum(outcome.seconds.values())


def test_instances() -> None:
    kinds = [AssignmentInstance(costs).kind for costs, _ in INSTANCES]
    assert kinds == ["dense", "dense", "dense", "batch", "sparse", "points"]
    for costs, _ in INSTANCES:
        instance = AssignmentInstance(costs)
        assert instance.miniature().kind == instance.kind
        assert instance.miniature().integral == instance.integral
    assert AssignmentInstance(INSTANCES[3][0]).sizes == {"problems": 2, "rows": 2, "columns": 2, "pairs": 8}
    assert AssignmentInstance(INSTANCES[4][0]).sizes == {"rows": 3, "columns": 3, "pairs": 6}
    assert AssignmentInstance(POINTS).sizes["pairs"] == 9


def test_report(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]]))
    report = run_bench(
        ["assignment-small"],
        out=tmp_path / "out",
        methods=["auto", "serial-shortest-path"],
        peers=["scipy"],
        files=[str(tmp_path / "mine.npy")],
        baseline="scipy",
        repeats=1,
        memory=False,
        plots=False,
    )
    assert [record.name for record in report.records] == ["mine.npy"]
    assert report.records[0].sizes == {"rows": 3, "columns": 3, "pairs": 9}
    assert not report.faults
    assert "costs in, assignment out" in (tmp_path / "out" / "bench.md").read_text()


def test_suites_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [case.name for case in assignment(())]
    assert len(names) == len(set(names)) == 24
    assert {"integer 4000", "low-rank 1000", "nearest 100000", "10000 x 30x30"} <= set(names)
    small = {case.name: case for case in assignment_small(())}
    assert small["500 x 30x30"].make().sizes["problems"] == 500
    assert small["points 1000 dimension 2"].make().kind == "points"
    everywhere = np.random.default_rng(0).random((2, 10_000, 2))
    reasons = [peer.unfit(AssignmentInstance(PointCosts(*everywhere))) for peer in ASSIGNMENT_PEERS]
    assert all("would store more than" in str(reason) for reason in reasons)
    large = AssignmentInstance(scipy.sparse.csr_array([[2_000_000]]))
    fit = [peer.name for peer in ASSIGNMENT_PEERS if peer.unfit(large) is None]
    assert fit == ["ortools", "scipy", "fastlap", "kwok"]
    monkeypatch.setattr(machine, "memory_bytes", lambda: 2**20)
    with pytest.raises(TooLargeError, match="GiB of memory"):
        assignment(())[0].make()


def test_lap_and_lapx_share_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """With lap alone, what only lapx has is missing."""
    monkeypatch.setitem(sys.modules, "lap", types.SimpleNamespace(lapjv=None))
    shared = [peer for peer in ASSIGNMENT_PEERS if isinstance(peer, LapContestant)]
    missing = {peer.name: peer.missing() for peer in shared}
    assert missing.pop("lap") is None
    assert set(missing) == {f"lapx-lapjv{letter}" for letter in "xcshr"}
    assert all("that is installed has no lapjv" in str(why) for why in missing.values())
