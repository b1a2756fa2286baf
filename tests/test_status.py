"""A solve is reported as stopped only if something stopped it; a solver that is wrong raises SolverError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import preflow
from preflow.assignment import serial_shortest_path
from preflow.assignment.solution import STOPPED
from preflow.errors import SolverError
from preflow.maxflow import serial_fifo
from preflow.papers.baselines import serial_boykov_kolmogorov, serial_hkdw

pytestmark = pytest.mark.fast

DIAMOND = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])


@pytest.mark.parametrize("solve", [preflow.max_flow, preflow.min_cut])
def test_wrong_heights(solve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vertex is said to reach the sink, while vertices still have excess."""
    right = serial_fifo.solve

    def wrong(net: Any, options: Any, control: Any) -> Any:
        right(net, options, control)
        return np.zeros(len(net.excess), dtype=np.int64)

    monkeypatch.setattr(serial_fifo, "solve", wrong)
    with pytest.raises(SolverError, match="solver 'serial-fifo' left heights that prove nothing"):
        solve(DIAMOND, 0, 3, method="serial-fifo")


def test_unfinished_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    right = serial_boykov_kolmogorov.solve
    monkeypatch.setattr(
        serial_boykov_kolmogorov, "solve", lambda *arguments: right(*arguments)._replace(finished=False)
    )
    with pytest.raises(SolverError, match="solver 'serial-boykov-kolmogorov' left no optimal"):
        preflow.grid_cut([[5, 0, 0]], [[0, 0, 5]], 2, method="serial-boykov-kolmogorov")


def test_unfinished_matching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial_hkdw, "solve", lambda *arguments: False)
    with pytest.raises(SolverError, match="solver 'serial-hkdw' left no optimal"):
        preflow.bipartite_matching(([0, 1], [0, 1]), method="serial-hkdw", initial="none")


def test_unfinished_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    right = serial_shortest_path.solve

    def wrong(*arguments: Any) -> Any:
        solution = right(*arguments)
        solution.ending[:] = STOPPED
        return solution

    monkeypatch.setattr(serial_shortest_path, "solve", wrong)
    with pytest.raises(SolverError, match="solver 'serial-shortest-path' left no optimal"):
        preflow.linear_assignment([[1, 2], [3, 4]], method="serial-shortest-path")
