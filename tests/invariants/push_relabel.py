"""Invariants of :mod:`preflow.maxflow.invariants`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Indices
from preflow.graph.residual import ResidualArrays
from preflow.kernels.constants import ZERO
from preflow.network import distances_to_sink


def check_preflow(start: ResidualArrays, net: ResidualArrays) -> None:
    """Assert that `net` has a preflow of the network that was `start` before the solve; O(m)."""
    assert (net.residual >= 0).all(), "a residual is negative"
    assert (net.sink_residual >= 0).all(), "a residual is negative"
    assert (net.excess >= 0).all(), "an excess is negative"
    pairs = start.residual + start.residual[start.reverse]
    assert (net.residual + net.residual[net.reverse] == pairs).all(), "a residual is lost"
    tail = np.repeat(np.arange(len(net.excess)), net.first_out[1:] - net.first_out[:-1])
    expected = start.excess - start.sink_residual + net.sink_residual
    np.add.at(expected, tail, net.residual.astype(np.int64) - start.residual)
    assert net.excess.tolist() == expected.tolist(), "excess is not conserved"


def check_labels(net: ResidualArrays, height: Indices) -> None:
    """Assert that no residual arc of a vertex that is not dead leads down by more than a level; O(m)."""
    n = len(height)
    tail = np.repeat(np.arange(n), net.first_out[1:] - net.first_out[:-1])
    open_arcs = net.residual > 0
    lowest = np.full(n, n, dtype=np.int64)
    np.minimum.at(lowest, tail[open_arcs], height[net.head[open_arcs]].astype(np.int64))
    lowest[net.sink_residual > 0] = 0
    assert (height <= lowest + 1).all(), f"labels are not valid: {height.tolist()}"


def check_exact(net: ResidualArrays, height: Indices) -> None:
    """Assert that heights are the residual distances to the sink, n + 1 where there is no path; O(n + m)."""
    exact = np.full_like(height, len(height) + 1)
    distances_to_sink(net, exact, np.empty_like(height), ZERO, ZERO, ZERO, False)
    assert height.tolist() == exact.tolist(), "heights are not exact"
