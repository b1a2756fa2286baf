"""The benchmark of transport: suites and peers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import machine
from benchmarks.instances.transport import TransportInstance
from benchmarks.machine import TooLargeError
from benchmarks.peers.transport import TRANSPORT_PEERS
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import PHASES
from benchmarks.run import run_bench
from benchmarks.suites.transport import mincost, mincost_large, mincost_tiny
from preflow.graph.point_costs import PointCosts

POINTS = PointCosts([[0.0, 0.0], [0.5, 0.25]], [[0.25, 0.0], [0.5, 0.5]], metric="sqeuclidean")
HALVES = np.array([0.5, 0.5])
#: What is solved, and at what cost.
INSTANCES: list[tuple[Any, Any, Any, int | float]] = [
    (np.array([[4, 1, 3], [2, 0, 5]]), np.array([5, 2]), np.array([3, 2, 2]), 16),
    (np.array([[0.5, 0.25], [0.75, 1.0]]), HALVES, np.array([0.25, 0.75]), 0.5625),
    (POINTS, HALVES, HALVES, 0.0625),
]


SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["transport"]


@pytest.mark.parametrize("name", ["preflow:auto", *(peer.name for peer in TRANSPORT_PEERS)])
def test_contestants_agree_on_small_instances(name: str) -> None:
    peer = PROBLEM.contestant(name, SETTINGS)
    if peer.missing():
        pytest.skip(str(peer.missing()))
    for cost, a, b, value in INSTANCES:
        instance = TransportInstance(cost, a, b)
        if peer.unfit(instance):
            assert peer.name == "pot-lazy"
            continue
        peer.load(instance)
        outcome = peer.run(peer.prepare(instance))
        assert outcome.value == value
        assert isinstance(outcome.value, int) == instance.integral
        assert set(outcome.seconds) <= {*PHASES, "download"}


def test_instances() -> None:
    for cost, a, b, _ in INSTANCES:
        instance = pickle.loads(pickle.dumps(TransportInstance(cost, a, b)))
        assert instance.sizes["pairs"] == len(a) * len(b)
        assert instance.miniature().is_points == instance.is_points
        assert instance.miniature().integral == instance.integral
        costs, rows, columns = instance.integers
        assert costs.dtype == rows.dtype == columns.dtype == np.int64
        assert rows.sum() == columns.sum()


def test_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [case.name for suite in (mincost, mincost_large, mincost_tiny) for case in suite(())]
    assert len(names) == len(set(names))
    assert {"uniform 1000", "squared distances 300", "uniform floats 4000", "points 2000"} <= set(names)
    for case in mincost_tiny(()):
        instance = case.make()
        assert isinstance(instance, TransportInstance)
        assert instance.sizes["pairs"] <= 10_000
    large = mincost_large(())[-1].make()
    assert isinstance(large, TransportInstance)
    unfit = {peer.name: peer.unfit(large) for peer in TRANSPORT_PEERS}
    assert "would store more than" in str(unfit["pylmcf"])
    assert unfit["pot-lazy"] is None
    monkeypatch.setattr(machine, "memory_bytes", lambda: 2**20)
    with pytest.raises(TooLargeError, match="GiB of memory"):
        mincost_large(())[0].make()


def test_files_of_costs_have_equal_masses(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.array([[4, 1, 3], [2, 0, 5]]))
    files = [str(tmp_path / "mine.npy"), str(tmp_path / "network.min.gz")]
    (case,) = [case for case in mincost_tiny(files) if case.name.endswith(("npy", "gz"))]
    instance = case.make()
    assert isinstance(instance, TransportInstance)
    assert (instance.a.tolist(), instance.b.tolist()) == ([3, 3], [2, 2, 2])


def test_report(tmp_path: Path) -> None:
    report = run_bench(
        ["mincost-tiny"],
        out=tmp_path / "out",
        problems=["transport"],
        peers=["pot", "pot-lazy"],
        baseline="pot",
        repeats=1,
        memory=False,
        plots=False,
    )
    assert not report.faults
    assert {record.problem for record in report.records} == {"transport"}
    assert "costs and masses in, plan out" in (tmp_path / "out" / "bench.md").read_text()
