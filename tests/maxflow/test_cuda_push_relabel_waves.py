"""Searches like waves, of waves.cuh, on CPU threads, while no flow moves.

Their answers are hints, so that no solve is wrong without them: what they reach, and when, is looked at here.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow.generators import FAMILIES
from preflow.graph.device.residual import DeviceNetwork, to_device
from preflow.graph.residual import build_residual
from preflow.maxflow import cuda_push_relabel
from preflow.maxflow.cuda_push_relabel import WORD
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer

#: Places in the counters, as in state.cuh.
STARTS, WAKES = 16 * 32, 13 * 32
NEVER = 2**31
ROUNDS, LEVELS = 40, 12


class PhaseOver(BaseException):
    """The one phase that is looked at is over: no error, so nothing may handle it."""


class OnlyWaves(CpuDevice):
    """Runs one phase with waves, in which no vertex is active."""

    outcome: Any
    rounds = ROUNDS

    def launch(self, path: Path, kernel: str, blocks: int, threads: int, arguments: Any, **rest: Any) -> None:
        if kernel != "push_relabel_slice":
            super().launch(path, kernel, blocks, threads, arguments, **rest)
            return
        arguments.net.excess[:] = 0
        arguments.label[:] = (1 << 32) + NEVER
        state = arguments.state
        state[WORD.phase] = cuda_push_relabel.Phase.DISCHARGE
        state[WORD.rounds_left] = self.rounds
        state[WORD.searches] = 1
        state[WORD.level], state[WORD.last_nanoseconds] = LEVELS, 2**50
        state[WORD.search_blocks] = arguments.search_blocks
        arguments.counters[WAKES] = 1  # so that waves do not end because all warps are at rest
        super().launch(path, kernel, blocks, threads, arguments, **rest)
        self.outcome = arguments
        raise PhaseOver


def distances(net: DeviceNetwork) -> NDArray[np.int64]:
    """Return each vertex's distance to the sink, or NEVER."""
    distance = np.full(net.num_vertices, NEVER)
    queue = deque(np.flatnonzero(net.sink_residual > 0).tolist())
    distance[queue] = 1
    heads, reverses = net.arcs.view(np.uint32)[:, 0], net.arcs.view(np.uint32)[:, 1]
    while queue:
        v = queue.popleft()
        for arc in range(int(net.first_out[v]), int(net.first_out[v + 1])):
            w = heads[arc]
            if net.arcs[reverses[arc], 1] > 0 and distance[w] == NEVER:
                distance[w] = distance[v] + 1
                queue.append(w)
    return distance


def check_waves(device: OnlyWaves, family: str, size: str, search_blocks: int, most: int) -> None:
    """Check that waves go a level in a round, or in up to `most`, and label all that they reach."""
    problem = FAMILIES[family].generate(size, seed=1)
    residual = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink]))
    on_device: Any = device
    net = to_device(on_device, residual.arrays)
    distance = distances(net)
    options = cuda_push_relabel.PushRelabelOptions(
        search_share=search_blocks / device.num_multiprocessors,
        wave_rounds=5,
        wave_factor=0,
        reach_factor=1.0,
        rest_share=1.0,
    )
    with pytest.raises(PhaseOver):
        cuda_push_relabel.first_stage(on_device, net, options, Control())
    after = device.outcome
    assert after.state[WORD.wave_rounds] == ROUNDS
    entries = after.counters.view(np.uint64)[STARTS // 2 :]
    started = {int(entry >> 32): int(entry & 0xFFFFFFFF) for entry in entries if entry}
    assert started == {2 + k: 5 + 5 * k for k in range(7)}
    for d, label in zip(distance.tolist(), after.label.tolist(), strict=True):
        search, height = label >> 32, label & 0xFFFFFFFF
        if search > 1:
            assert d <= height <= min(most * d, LEVELS + 2)
        reached = [s for s, start in started.items() if most * d <= min(ROUNDS - start, LEVELS + 2)]
        last = max(reached, default=1)
        assert search == last or (most > 1 and search > last)


@pytest.mark.parametrize(
    ("family", "size", "search_blocks", "warps", "capacity", "kept", "sharing_rounds", "most"),
    [
        ("grid-2d", "9x9", 1, 1, 2048, 32, 4, 1),
        ("rmf-long", "3x9", 1, 2, 2048, 32, 4, 1),
        ("rlg-wide", "12x9", 3, 1, 2048, 32, 1, 1),
        ("rlg-wide", "12x9", 3, 2, 2048, 1, 1, 1),
        ("rmf-long", "3x9", 3, 2, 2048, 1, 1, 1),
        ("rlg-wide", "12x9", 2, 2, 4, 1, 1, 1),
        ("grid-2d", "9x9", 3, 1, 2048, 32, 4, 2),
        ("rlg-wide", "12x9", 3, 2, 2048, 1, 4, 2),
        ("rlg-wide", "12x9", 2, 2, 4, 1, 4, 3),
        ("rlg-wide", "12x9", 1, 2, 4, 1, 1000, 3),
    ],
)
def test_waves_reach_everything_in_time(
    family: str,
    size: str,
    search_blocks: int,
    warps: int,
    capacity: int,
    kept: int,
    sharing_rounds: int,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A level takes a round, or one more for what a block ahead reaches first, and for what overflows."""
    monkeypatch.setattr("tests.support.cuda_on_cpu.device.MOST_THREADS", 256)
    monkeypatch.setattr(cuda_push_relabel, "LIST_CAPACITY", capacity)
    monkeypatch.setattr(cuda_push_relabel, "MOST_KEPT", kept)
    monkeypatch.setattr(cuda_push_relabel, "SHARING_ROUNDS", sharing_rounds)
    check_waves(OnlyWaves(4, 32 * warps), family, size, search_blocks, most)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_waves_of_several_blocks_under_sanitizers(
    sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.cuda_on_cpu.device.MOST_THREADS", 192)
    monkeypatch.setattr(cuda_push_relabel, "LIST_CAPACITY", 4)
    monkeypatch.setattr(cuda_push_relabel, "MOST_KEPT", 1)
    check_waves(OnlyWaves(3, 64, sanitizer=sanitizer), "rmf-long", "3x9", 2, 3)


def test_waves_that_delay_each_other_make_no_height_above_n(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, with a wave in every round, whose pieces all wait for room: n + 1 is dead, n + 2 put off."""
    monkeypatch.setattr(cuda_push_relabel, "LIST_CAPACITY", 4)
    monkeypatch.setattr(cuda_push_relabel, "MOST_KEPT", 1)
    device: Any = OnlyWaves(2, 32)
    device.rounds = 300
    n = 60
    path = np.arange(1, n)
    tail, head = np.concatenate([path + 1, path, [0, 1]]), np.concatenate([path, path + 1, [n, n + 1]])
    network = preflow.FlowNetwork.from_arrays(tail, head, np.full(len(tail), 5))
    net = to_device(device, build_residual(network, np.array([0]), np.array([n + 1])).arrays)
    options = cuda_push_relabel.PushRelabelOptions(
        wave_rounds=1, wave_factor=0, reach_factor=100.0, rest_share=1.0
    )
    with pytest.raises(PhaseOver):
        cuda_push_relabel.first_stage(device, net, options, Control())
    heights = device.outcome.label & 0xFFFFFFFF
    assert heights[heights != NEVER].max() <= n


def test_no_more_blocks_search_than_their_barrier_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.cuda_on_cpu.device.MOST_THREADS", 128)
    monkeypatch.setattr(cuda_push_relabel, "MOST_SEARCH_BLOCKS", 2)
    device = OnlyWaves(4, 32)
    check_waves(device, "rmf-long", "3x9", 3, 2)
    assert device.outcome.search_blocks == 2
