"""The arcs of a grid as the kernels for general residual networks read them, without storing any.

Arc ``p * degree + d`` leads from pixel p in direction d, as its residual capacity stands in gridcut/state.py.
What a general network reads from memory - where the arcs of a vertex begin, their heads, their opposites - is
computed here, by types that a kernel indexes like the arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.kernel import kernel, numba_overloads
from .state import GridState

numba_overloads(__name__)

ONE = np.uint64(1)


@kernel
def head_of(step: Any, degree: Any, arc: Any) -> Any:
    """Return the pixel to which an arc leads."""
    pixel = np.uint64(arc) // degree
    return pixel + step[np.uint64(arc) - pixel * degree]


@kernel
def opposite(step: Any, degree: Any, arc: Any) -> Any:
    """Return the arc back."""
    pixel = np.uint64(arc) // degree
    direction = np.uint64(arc) - pixel * degree
    return (pixel + step[direction]) * degree + (direction ^ ONE)


class FirstOut(NamedTuple):
    """Where the arcs of a pixel begin.

    Attributes
    ----------
    step : ndarray of uint64, shape (degree,)
        As in :class:`preflow.gridcut.state.GridState`.
    degree : uint64
        Number of directions; not a constant that the kernels are compiled for: they are many.
    """

    step: NDArray[np.uint64]
    degree: Any


class Heads(NamedTuple):
    """The heads of arcs; attributes as in :class:`FirstOut`."""

    step: NDArray[np.uint64]
    degree: Any


class Reverses(NamedTuple):
    """The opposites of arcs; attributes as in :class:`FirstOut`."""

    step: NDArray[np.uint64]
    degree: Any


class ImplicitNetwork(NamedTuple):
    """A grid as a residual network: what kernels read from :class:`preflow.graph.residual.ResidualArrays`."""

    first_out: FirstOut
    head: Heads
    reverse: Reverses
    residual: NDArray[Any]
    excess: NDArray[np.int64]
    sink_residual: NDArray[np.int64]


def implicit_network(state: GridState) -> ImplicitNetwork:
    """Return the network of a grid's state; it shares the residual capacities."""
    arcs = state.step, np.uint64(len(state.step))
    excess = state.terminal.astype(np.int64)
    sink_residual = np.maximum(-excess, 0)
    np.maximum(excess, 0, out=excess)
    return ImplicitNetwork(
        FirstOut(*arcs), Heads(*arcs), Reverses(*arcs), state.residual, excess, sink_residual
    )
