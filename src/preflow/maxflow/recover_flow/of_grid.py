"""The residual network of a network that was solved as a grid, see :mod:`preflow.graph.recognised_grid`.

A minimum cut needs no second stage. So the residual network, which the solve did without, is built when
somebody asks for the flow, and gets the residual capacities that the grid was left with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Integers
from ...graph.network import FlowNetwork
from ...graph.residual import ResidualArrays, ResidualNetwork, build_residual
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel


@kernel
def take_over(net: ResidualArrays, steps: NDArray[np.uint64], left: Integers) -> None:
    """Replace the capacities of a residual network by those that a solve of the same grid left.

    ``left[v, 2 * k]`` is the residual capacity from vertex `v` to ``v + steps[k]``, and
    ``left[v, 2 * k + 1]`` that to ``v - steps[k]``. What the flow between neighbours takes from a vertex or
    brings to it changes its excess or its residual capacity to the sink.
    """
    k = ZERO
    for vertex in range(len(net.excess)):
        v = np.uint64(vertex)
        out = np.int64(0)
        a, end = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
        while a < end:
            w = np.uint64(net.head[a])
            step = w - v if w > v else v - w
            if steps[k] != step:
                k = ZERO
                while steps[k] != step:
                    k += ONE
            now = np.int64(left[v, k + k + (ZERO if w > v else ONE)])
            out += np.int64(net.residual[a]) - now
            net.residual[a] = now
            a += ONE
        amount = net.excess[v] - net.sink_residual[v] - out
        net.excess[v] = max(amount, np.int64(0))
        net.sink_residual[v] = max(-amount, np.int64(0))


def residual_of_grid(
    network: FlowNetwork,
    sources: NDArray[np.int64],
    sinks: NDArray[np.int64],
    steps: NDArray[np.uint64],
    left: Integers,
) -> ResidualNetwork:
    """Return the residual network of a network whose minimum cut was found on a grid.

    Parameters
    ----------
    network : FlowNetwork
    sources, sinks : ndarray of int64
        One source and one sink.
    steps : ndarray of uint64, shape (K,)
    left : ndarray of int32 or int64, shape (pixels, 2 K)
        See :func:`take_over`.
    """
    built = build_residual(network, sources, sinks)
    # Kernels are compiled for one dtype of both, which every residual capacity of an arc fits.
    take_over(built.arrays, steps, left.astype(built.arrays.residual.dtype, copy=False))
    return built
