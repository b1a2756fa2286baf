"""The benchmark of minimum-cost flow: suites, contestants, peers."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from benchmarks import machine
from benchmarks.instances.min_cost import MinCostInstance
from benchmarks.machine import TooLargeError
from benchmarks.peers.min_cost import MIN_COST_PEERS
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import PHASES
from benchmarks.run import run_bench
from benchmarks.suites.min_cost import mincost, mincost_large, mincost_tiny
from preflow.generators import netgen
from preflow.graph.cost_network import CostNetwork
from preflow.io.dimacs import write_dimacs

SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["min_cost_flow"]
#: Parallel and antiparallel arcs, a lower bound, a negative cost, an infinite capacity; it costs 19.
AWKWARD = CostNetwork.from_arrays(
    [0, 0, 1, 1, 2, 2],
    [1, 1, 2, 0, 3, 3],
    capacity=[2, 9, np.inf, 4, 3, 9],
    cost=[1, 4, -1, 2, 3, 5],
    lower=[0, 1, 0, 0, 0, 1],
    supply=[3, 0, 0, -3],
)
HALVES = CostNetwork.from_arrays([0, 0], [1, 1], capacity=[1, 9], cost=[0.5, 1.25], supply=[2, -2])


@pytest.mark.parametrize("name", ["preflow:auto", *(peer.name for peer in MIN_COST_PEERS)])
def test_contestants_agree_on_small_instances(name: str) -> None:
    contestant = PROBLEM.contestant(name, SETTINGS)
    if contestant.missing():
        pytest.skip(str(contestant.missing()))
    for network, value in ((AWKWARD, 14), (HALVES, 1.75)):
        instance = MinCostInstance.from_network(network)
        if contestant.unfit(instance):
            assert network is HALVES or name == "pylmcf"
            continue
        contestant.load(instance)
        outcome = contestant.run(contestant.prepare(instance))
        assert outcome.value == value
        assert isinstance(outcome.value, int) == (network is AWKWARD)
        assert set(outcome.seconds) <= {*PHASES, "download"}


def test_instances_keep_everything() -> None:
    instance = MinCostInstance.from_network(AWKWARD)
    assert instance.sizes == {"vertices": 4, "arcs": 6}
    again = pickle.loads(pickle.dumps(instance)).network()
    for name in ("tail", "head", "capacity", "cost", "lower", "supply"):
        np.testing.assert_array_equal(getattr(again, name), getattr(AWKWARD, name))
    small = instance.miniature()
    assert small.capacity.dtype == instance.capacity.dtype
    assert MinCostInstance.from_network(CostNetwork.from_arrays([0], [1])).supply.tolist() == [0, 0]


def test_large_instances_are_left_out() -> None:
    instance = MinCostInstance.from_network(netgen(2000))
    unfit = {peer.name: peer.unfit(instance) for peer in MIN_COST_PEERS}
    assert unfit["networkx"] == "more than 10,000 arcs would take too long"
    assert unfit["ortools"] is None


def test_report(tmp_path: Path) -> None:
    write_dimacs(tmp_path / "mine.min.gz", AWKWARD)
    report = run_bench(
        ["mincost-tiny"],
        out=tmp_path / "out",
        problems=["min_cost_flow"],
        methods=["auto", "serial-capacity-scaling"],
        peers=["networkx"],
        files=[str(tmp_path / "mine.min.gz")],
        baseline="networkx",
        repeats=1,
        memory=False,
        plots=False,
    )
    assert [record.name for record in report.records] == ["mine.min.gz"]
    assert report.records[0].sizes["arcs"] == AWKWARD.num_arcs
    assert not report.faults
    assert "arrays in, flow out" in (tmp_path / "out" / "bench.md").read_text()


def test_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [case.name for suite in (mincost, mincost_large, mincost_tiny) for case in suite(())]
    assert len(names) == len(set(names))
    assert {"netgen-8 50000", "grid 16x4096", "phase 1000x1000 weighted", "goto 150000x1000000"} <= set(names)
    for case in mincost_tiny(()):
        assert case.make().sizes["arcs"] <= 8000
    monkeypatch.setattr(machine, "memory_bytes", lambda: 2**20)
    with pytest.raises(TooLargeError, match="GiB of memory"):
        mincost_large(())[0].make()
