"""Blocks that wake up late, when the others are already at what comes next: no answer depends on it.

Blocks of a GPU leave a barrier within a microsecond of each other, so that what one of them may miss there
shows once in thousands of solves. A block that sleeps on for half a millisecond misses it in the first few: a
counter that another block clears too early, for one, after which the two wait for each other in different
barriers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import preflow
from preflow.cuda import runtime
from preflow.generators import FAMILIES
from preflow.papers.wu_he_hong import cuda_coloring
from tests.support.cuda_on_cpu.device import CpuDevice

pytestmark = pytest.mark.slow

METHODS = [
    (problem, method.name)
    for problem in ("max_flow", "grid_cut", "bipartite_matching", "linear_assignment")
    for method in preflow.methods(problem)
    if method.device == "cuda"
]


def instances(problem: str) -> list[tuple[Any, ...]]:
    random = np.random.default_rng(0)
    if problem == "max_flow":
        flows = [FAMILIES["rmf-wide"].generate("4x3"), FAMILIES["rlg-long"].generate("4x8")]
        return [(flow.network, flow.source, flow.sink) for flow in flows]
    if problem == "grid_cut":
        return [(*random.integers(0, 9, (2, 12, 12), dtype=np.int16), 3)]
    if problem == "linear_assignment":
        return [(random.integers(0, 50, (8, 8)),)]
    edges = [random.integers(0, 30, (2, 70)) for _ in range(20)]
    return [(preflow.BipartiteGraph.from_arrays(*ends, shape=(30, 30)),) for ends in edges]


@pytest.mark.parametrize("late_block", [0, 1])
@pytest.mark.parametrize(("problem", "method"), METHODS)
def test_answers_are_right(
    problem: str, method: str, late_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice(late_block=late_block)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    monkeypatch.setattr(cuda_coloring, "BARRIERS_A_LAUNCH", 500)
    for instance in instances(problem):
        getattr(preflow, problem)(*instance, method=method).verify()


def test_every_phase_gets_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path to the sink, along which one active vertex is near and all others are too far to be reached.

    Phases end at once, because the first warp has nothing to do, and the other one wakes up when they have.
    """
    device = CpuDevice(late_block=1)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    path, starts = np.arange(1, 42), np.append(np.arange(1, 20), 38)
    tail, head = np.append(path, np.zeros(20, int)), np.append(path + 1, starts)
    problem = (tail, head, np.append(np.full(41, 100), np.full(20, 3)))
    options = {"wave_width": 0, "time_factor": 0.01, "overshoot_share": 0.01, "enough_share": 0.01}
    for _ in range(5):
        result = preflow.max_flow(problem, 0, 42, method="cuda-push-relabel", options=options)
        result.verify()
        assert (
            result.stats.global_relabels <= 45
        )  # the vertex has 38 steps to go, of which each phase takes one at least
