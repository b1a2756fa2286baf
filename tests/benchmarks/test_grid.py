"""The benchmark of grid cuts: suites, contestants, peers."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.instances.grid import GridInstance
from benchmarks.peers.grid import GRID_PEERS
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import PHASES
from benchmarks.run import run_bench
from benchmarks.suites.grid import grids, grids_large, grids_small
from preflow import GridNetwork
from preflow.errors import InvalidInputError
from preflow.generators import noisy_grid, spiral, vessel_tree

SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["grid_cut"]


@pytest.mark.parametrize("name", ["preflow:serial-incremental-bfs", *(p.name for p in GRID_PEERS)])
def test_contestants_agree_on_awkward_instances(name: str) -> None:
    contestant = PROBLEM.contestant(name, SETTINGS)
    if contestant.missing():
        pytest.skip(str(contestant.missing()))
    rng = np.random.default_rng(0)
    for neighbor, connectivity in (
        (np.array([3, 4], np.int16), 4),
        (rng.integers(0, 9, (2, 4, 3)), 4),
        (rng.integers(0, 9, (8, 4, 3)), 8),
        (rng.integers(0, 9, (2, 4, 3)), [(1, -1), (0, 2)]),
    ):
        source, sink = np.random.default_rng(1).integers(0, 30, (2, 4, 3))
        network = GridNetwork.from_arrays(source, sink, neighbor, connectivity=connectivity)
        instance = GridInstance.from_network(network)
        contestant.load(instance)
        outcome = contestant.run(contestant.prepare(instance))
        value = PROBLEM.contestant("preflow:auto", SETTINGS).run(instance).value
        assert outcome.value == value
        assert set(outcome.seconds) <= set(PHASES)


def test_report() -> None:
    report = run_bench(
        ["grids-small"],
        methods=["serial-incremental-bfs"],
        peers=["pymaxflow"],
        instances=["image 60x60 4n", "vessel*"],
        baseline="pymaxflow",
        repeats=1,
        memory=False,
        plots=False,
    )
    assert [record.name for record in report.records] == ["image 60x60 4n", "vessel tree 24^3"]
    assert report.records[0].sizes == {"pixels": 3600, "arcs": 14160}
    assert not report.faults


def test_suites_have_their_instances() -> None:
    assert [case.name for case in grids(())][:2] == ["image 1000x1000 4n", "image 1000x1000 8n"]
    assert [case.name for case in grids_large(())] == ["image 4000x4000 4n", "volume 300^3 6n"]
    for case in grids_small(()):
        instance = case.make()
        assert instance.miniature().network().size <= 27


def test_flow_travels_far_in_a_spiral_and_in_vessels() -> None:
    for network in (spiral(64, turns=4), vessel_tree(24, branchings=3)):
        assert network.source_capacity.max() == network.sink_capacity.max() == 30_000
        assert (network.neighbor_capacity == 0).any()
    assert noisy_grid((30, 20), connectivity=8, contrast=True).neighbor_capacity.shape == (4, 30, 20)


@pytest.mark.parametrize(
    "call",
    [
        lambda: spiral(20),
        lambda: spiral(100, turns=0),
        lambda: spiral(100, strength=40_000),
        lambda: vessel_tree(8),
        lambda: vessel_tree(16, data_weight=-1),
        lambda: noisy_grid((0, 5)),
        lambda: noisy_grid((5, 5), connectivity=6),
    ],
)
def test_bad_parameters(call: object) -> None:
    with pytest.raises(InvalidInputError):
        call()  # type: ignore[operator]
