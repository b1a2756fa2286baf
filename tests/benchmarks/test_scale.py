"""The simulator of sweeps: hand-made traces, whose seconds are known."""

from __future__ import annotations

import pytest

from benchmarks.scale.predict import NOISE, sweeps_of, volume_trace
from benchmarks.scale.simulate import Cluster, RegionSweep, owners, shared, simulate

pytestmark = pytest.mark.fast


def trace(regions: int, sweeps: int, bytes_sent: int = 0) -> list[list[RegionSweep]]:
    """A ring of regions that all take a second."""
    return [
        [RegionSweep(1.0, 0.0, {(region + 1) % regions: bytes_sent}) for region in range(regions)]
        for _ in range(sweeps)
    ]


FREE = {"seconds_a_message": 0.0, "seconds_a_call": 0.0, "work_of_call": 0.0}


def test_consecutive_regions_have_one_owner() -> None:
    assert owners(5, 2) == [0, 0, 0, 1, 1]
    assert owners(2, 8) == [0, 1]


@pytest.mark.parametrize(
    ("workers", "cores", "seconds"), [(1, 1, 24), (2, 2, 12), (8, 8, 3), (8, 2, 12), (3, 3, 9)]
)
def test_work_is_shared_by_workers_and_cores(workers: int, cores: int, seconds: float) -> None:
    found = simulate(trace(8, 3), Cluster(workers, cores, **FREE))
    assert found.seconds == pytest.approx(seconds)
    assert found.sweeps == 3
    assert sum(found.seconds_of_sweeps) == pytest.approx(seconds)


def test_only_messages_between_workers_cost() -> None:
    found = simulate(trace(4, 1, 1000), Cluster(2, 2, bytes_a_second=1000.0, **FREE))
    assert found.bytes_sent == 2000
    assert found.messages == pytest.approx(1.0)
    assert simulate(trace(4, 1, 1000), Cluster(1, 1, **FREE)).bytes_sent == 0


def test_latency_states_and_speed() -> None:
    row = [RegionSweep(2.0, 1.0, {1: 0}, 500), RegionSweep(0.0, 0.0, {0: 0})]
    found = simulate([row], Cluster(2, 2, 1e9, 0.25, 0.125, 1000.0, work_of_call=1.0, speed=2.0))
    assert (found.discharge, found.store, found.messages, found.calls) == (1.5, 0.5, 0.25, 2.5)


def test_the_busiest_worker_decides() -> None:
    assert shared([5, 1, 1, 1], 4) == 5
    assert shared([5, 1, 1, 1], 1) == 8


def test_work_of_predicted_volumes_is_that_of_all_voxels() -> None:
    sweeps = list(volume_trace(1e6, 8))
    assert len(sweeps) == sweeps_of(8)
    first = sum(each.discharge for each in sweeps[0])
    assert first == pytest.approx(NOISE.first * (NOISE.microseconds + NOISE.by_side / 50))
