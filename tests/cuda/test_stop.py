"""Kernels on a GPU that are asked to stop in the middle of a launch, and what the solve makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow.assignment import cuda_lockfree as assignment_lockfree
from preflow.assignment.lockfree_scaling import Arcs, make_flow
from preflow.cuda import runtime
from preflow.generators import FAMILIES, bipartite_family
from preflow.solving.run import Control
from tests.support.cuda_on_cpu.device import CpuDevice

#: More cycles than a launch gets through in years.
ENDLESS = 2**31 - 1
#: Kernels that look whether to stop.
SLICES = {
    "coloring_slice",
    "hopcroft_karp_slice",
    "multi_source_bfs_slice",
    "proposals_slice",
    "push_and_relabel",
    "push_relabel_matching_slice",
    "push_relabel_rounds",
    "push_relabel_slice",
    "shortest_path_slice",
    "solve_stack",
    "take_locked_steps",
    "take_steps",
}


class StoppedInside(CpuDevice):
    """Asks the solve to stop when one of these kernels begins, so that only the kernel can know of it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(time_limit=60.0, **options)
        self.word: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.launched: list[str] = []

    def make_stop_word(self) -> NDArray[np.int64]:
        self.word = super().make_stop_word()
        return self.word

    def launch(self, path: Path, kernel: str, blocks: int, threads: int, arguments: Any, **rest: Any) -> None:
        if kernel in SLICES:
            self.word[0] = 1
            self.launched.append(kernel)
        constants = (*rest.pop("constants", ()), ("NANOSECONDS_A_LOOK", 0))
        super().launch(path, kernel, blocks, threads, arguments, constants=constants, **rest)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> StoppedInside:
    found = StoppedInside()
    monkeypatch.setattr(runtime, "find_device", lambda: found)
    return found


def check_stopped(result: Any, device: StoppedInside) -> None:
    """Check that the result says that the solve was stopped, and proves its bounds."""
    assert device.launched
    assert result.status == "time-limit"
    assert result.lower_bound < result.upper_bound
    result.verify()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("cuda-lockfree", {"cycles": ENDLESS}),
        ("cuda-lockfree", {"cycles": ENDLESS, "relabel": "concurrent"}),
        ("cuda-hybrid", {"cycles": ENDLESS}),
        ("cuda-locks", {"cycles": ENDLESS}),
        ("cuda-coloring", {"cycles": ENDLESS}),
        ("cuda-coloring", {"cycles": ENDLESS, "barrier": "lock-free"}),
        ("cuda-push-relabel", {"search_share": 0}),
        ("cuda-push-relabel", {"few": 0}),
    ],
)
def test_maximum_flows(device: StoppedInside, method: str, options: dict[str, Any]) -> None:
    problem = FAMILIES["rmf-long"].generate("3x8", seed=1)
    result = preflow.min_cut(problem.network, problem.source, problem.sink, method=method, options=options)
    check_stopped(result, device)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("cuda-lockfree", {"cycles": ENDLESS}),
        ("cuda-blocking", {"rounds": ENDLESS, "patience": ENDLESS}),
        ("cuda-blocking", {"rounds": ENDLESS, "relabel": "lockstep"}),
    ],
)
def test_grids(device: StoppedInside, method: str, options: dict[str, Any]) -> None:
    source, sink = np.zeros((2, 1, 400), dtype=np.int64)
    source[0, 0], sink[0, -1] = 50, 50  # farther away than flow gets before anything looks
    result = preflow.grid_cut(source, sink, 20, method=method, options=options)
    check_stopped(result, device)


@pytest.mark.parametrize("initial", ["none", "proposals"])
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("cuda-hopcroft-karp", {}),
        ("cuda-hkdw", {}),
        ("cuda-multi-source-bfs", {}),
        ("cuda-multi-source-bfs", {"few": 1}),
        ("cuda-push-relabel", {}),
        ("cuda-push-relabel", {"relabel": "concurrent"}),
    ],
)
def test_matchings(device: StoppedInside, method: str, options: dict[str, Any], initial: str) -> None:
    graph = bipartite_family("hugetrace-like").generate("300", seed=0)
    result = preflow.bipartite_matching(graph, method=method, options=options, initial=initial)
    check_stopped(result, device)
    assert len(device.launched) <= 3


@pytest.mark.parametrize("method", ["cuda-lockfree", "cuda-shortest-path", "cuda-batch"])
def test_assignments(device: StoppedInside, method: str) -> None:
    costs = np.add.outer(np.arange(40), np.arange(40)) ** 2
    options = {
        "cuda-lockfree": {"cycles": ENDLESS},
        "cuda-shortest-path": {},
        "cuda-batch": {"column_reduction": False, "row_reduction": 0},
    }[method]
    result = preflow.linear_assignment(costs, method=method, options=options)
    assert device.launched == [device.launched[0]]
    assert result.status == "time-limit"
    result.verify()


def test_a_refine_that_never_ends_is_stopped() -> None:
    device: Any = StoppedInside()
    control = Control(stop=device.make_stop_word())
    arcs = Arcs(*(np.array(values, dtype=np.uint32) for values in ([0, 1], [1, 1], [0, 0])), np.array([3, 5]))
    options = assignment_lockfree.CudaLockFreeOptions(cycles=ENDLESS)
    refining = assignment_lockfree.OnDevice(device, arcs, make_flow(2), options, control)
    assert not refining.refine(epsilon=1, threshold=0)
