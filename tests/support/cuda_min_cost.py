"""Checks for the GPU methods of minimum-cost flow and transport."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow.cuda import runtime
from preflow.graph.standard_form import StandardForm
from preflow.mincost.solution import FlowState
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer


def use(monkeypatch: pytest.MonkeyPatch, sanitizer: Sanitizer | None = None) -> CpuDevice:
    """Let solvers find CPU threads as their GPU."""
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    return device


def random_form(rng: np.random.Generator, n: int, m: int, feasible: bool = True) -> StandardForm:
    """Return a small instance."""
    tail, head = rng.integers(0, n, (2, m)).astype(np.uint32)
    capacity, cost = rng.integers(0, 9, m), rng.integers(-5, 30, m)
    flow = (capacity * rng.random(m)).astype(np.int64)
    supply = (np.bincount(tail, flow, n) - np.bincount(head, flow, n)).astype(np.int64)
    if not feasible:
        supply = np.zeros(n, dtype=np.int64)
        supply[0] += 50
        supply[-1] -= 50
    return StandardForm(tail, head, capacity, cost, supply)


def prove(form: StandardForm, state: FlowState) -> None:
    """Check an optimal flow and its potentials."""
    left = form.supply.copy()
    np.subtract.at(left, form.tail, state.flow)
    np.add.at(left, form.head, state.flow)
    assert not left.any()
    assert (state.flow >= 0).all()
    assert (state.flow <= form.capacity).all()
    reduced = form.cost + state.potential[form.tail] - state.potential[form.head]
    assert (state.flow[reduced > 0] == 0).all()
    assert (state.flow[reduced < 0] == form.capacity[reduced < 0]).all()


def random_masses(
    rng: np.random.Generator, items: int, n: int, m: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return masses of rows and columns, some of them zero."""
    a = rng.integers(0, 9, (items, n))
    b = np.stack([np.bincount(rng.integers(0, m, each.sum()), minlength=m) for each in a])
    return a, b.astype(np.int64)
