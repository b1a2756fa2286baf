"""Pieces of the toolbox for GPUs, on CPU threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow.cuda.runtime import Device
from preflow.graph.device.residual import DeviceNetwork
from preflow.maxflow.cuda_push_relabel.paired_capacities import paired_capacities
from preflow.maxflow.cuda_push_relabel.survey import excess_alive, survey
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer
from tests.support.cuda_on_cpu.toolbox import Adding, Owners, Places, Pushes
from tests.support.paths import ROOT

TOOLBOX = ROOT / "tests" / "support" / "cuda_on_cpu" / "toolbox_for_tests.cu"

Array = NDArray[Any]


def run(kernel: str, blocks: int, threads: int, arguments: Any, **options: Any) -> None:
    device = CpuDevice(sanitizer=options.pop("sanitizer", None), time_limit=60)
    device.launch(TOOLBOX, kernel, blocks, threads, arguments, **options)


@pytest.mark.parametrize("sanitizer", [None, "thread"])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 4), (3, 2), (5, 1)])
def test_a_barrier_adds_up(blocks: int, threads: int, sanitizer: Sanitizer | None) -> None:
    errors = np.zeros(1, np.uint32)
    rounds = 200
    arguments = Adding(np.zeros(32, np.uint64), np.zeros(rounds * blocks, np.uint32), errors, rounds)
    run("adding_rounds", blocks, threads, arguments, shared_bytes=16 + 48, sanitizer=sanitizer)
    assert errors[0] == 0


@pytest.mark.parametrize("num_owners", [1, 2, 3, 31, 64, 2112, 4223])
def test_owners(num_owners: int) -> None:
    random = np.random.default_rng(num_owners).integers(0, 2**32, 900, dtype=np.uint32)
    near = 8 * num_owners * np.arange(1, 16, dtype=np.uint32)
    vertices = np.concatenate([random, near - 1, near, near + 8, np.array([0, 7, 8, 2**32 - 1], np.uint32)])
    owners = np.zeros(len(vertices), np.uint32)
    run("find_owners", 2, 8, Owners(vertices, owners, len(vertices), num_owners))
    assert (owners == vertices // 8 % num_owners).all()


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_places(share: float) -> None:
    threads = 64
    random = np.random.default_rng(0)
    has = (random.random((2, threads)) < share).astype(np.uint32)
    size, listed = np.zeros(1, np.uint32), np.zeros(2 * threads, np.uint32)
    run("take_places", 1, threads, Places(has[0], has[1], size, listed))
    expected = [2 * thread + k for thread in range(threads) for k in range(2) if has[k][thread]]
    assert sorted(listed[: size[0]].tolist()) == expected


@pytest.mark.parametrize("num_vertices", [0, 1, 40, 400])
def test_survey(num_vertices: int) -> None:
    rng = np.random.default_rng(num_vertices)
    degree = rng.integers(0, 9, num_vertices)
    first_out = np.concatenate([[0], degree.cumsum()]).astype(np.uint32)
    arcs = rng.integers(0, 2**50, (int(first_out[-1]), 2))
    excess, sink_residual = rng.integers(0, 2**40, (2, num_vertices)) * rng.integers(0, 2, (2, num_vertices))
    net = DeviceNetwork(
        first_out=first_out, arcs=arcs, excess=excess, sink_residual=sink_residual, num_vertices=num_vertices
    )
    device: Device = CpuDevice()  # type: ignore[assignment]
    found = survey(device, net)
    near_sink = found.near_sink[: found.num_near_sink]
    assert sorted(near_sink.tolist()) == np.flatnonzero(sink_residual).tolist()
    assert found.excess == excess.sum()
    assert found.greatest_degree == degree.max(initial=0)
    assert found.greatest_capacity == arcs[:, 1].max(initial=0)


@pytest.mark.parametrize("num_vertices", [0, 1, 40, 400])
def test_excess_alive(num_vertices: int) -> None:
    rng = np.random.default_rng(num_vertices)
    excess = rng.integers(0, 2**50, num_vertices)
    height = rng.integers(num_vertices, num_vertices + 3, num_vertices)
    nothing = np.zeros(0, np.int64)
    net = DeviceNetwork(
        first_out=np.zeros(num_vertices + 1, np.uint32),
        arcs=nothing,
        excess=excess,
        sink_residual=nothing,
        num_vertices=num_vertices,
    )
    label = (height + rng.integers(0, 2**32, num_vertices) * 2**32).view(np.uint64)
    device: Device = CpuDevice()  # type: ignore[assignment]
    assert excess_alive(device, net, label) == excess[height != num_vertices + 1].sum()


@pytest.mark.parametrize("sanitizer", [None, "thread"])
@pytest.mark.parametrize("capacities", [(2**30 - 1, 2**30 - 1), (0, 7), (1, 0), (2**30, 5), (2**62, 3)])
def test_pairs_of_capacities(capacities: tuple[int, int], sanitizer: Sanitizer | None) -> None:
    """Two owners push to each other, with both capacities in a word and with one."""
    ends = [0 | 1 << 32, 1 | 0 << 32]
    arcs = np.array([[ends[0], capacities[0]], [ends[1], capacities[1]]], np.int64)
    nothing = np.zeros(1, np.int64)
    net = DeviceNetwork(
        first_out=np.array([0, 1, 2], np.uint32),
        arcs=arcs,
        excess=nothing,
        sink_residual=nothing,
        num_vertices=2,
    )
    device: Device = CpuDevice(sanitizer=sanitizer, time_limit=60)  # type: ignore[assignment]
    is_paired = max(capacities) < 2**30
    errors = np.zeros(1, np.uint32)
    with paired_capacities(device, net, max(capacities)) as are_paired:
        assert are_paired == is_paired
        if is_paired:
            one, other = capacities
            assert arcs[:, 1].tolist() == [one | other << 32, other | one << 32]
        run(
            "push_back_and_forth",
            1,
            2,
            Pushes(arcs, errors, 2000),
            constants=(("PAIRED", int(is_paired)),),
            sanitizer=sanitizer,
        )
        if is_paired:
            assert (arcs[:, 1] % 2**32).tolist() == (arcs[::-1, 1] // 2**32).tolist()
    assert errors[0] == 0
    assert (arcs[:, 1] >= 0).all()
    assert sum(arcs[:, 1].tolist()) == sum(capacities)
