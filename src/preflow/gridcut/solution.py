"""What a solver of grid cuts is given to start from, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..graph.integer_grid import IntegerGrid

#: Flow beyond this, which no capacity is, is cut off before it becomes an integer.
MOST_FLOW = 2.0**62


class GridSolution(NamedTuple):
    """A flow, as what it leaves, and the cut that it proves.

    Attributes
    ----------
    sink_side : array of bool, shape of the grid
        The pixels from which one with a negative `terminal` can be reached over arcs with residual capacity.
    finished : bool
        Whether no pixel there has a positive `terminal`.
    residual : array of integers, shape (2 K, *shape)
        Residual capacity of the arc from each pixel in each direction, not negative; arcs that leave the grid
        may have anything. It may be a view with any strides.
    terminal : array of integers, shape of the grid
        ``source - sink`` less what flows out to neighbours: where positive excess, where negative what the
        pixel can still send to the sink.
    """

    sink_side: Any
    finished: bool
    residual: Any
    terminal: Any


@dataclass(frozen=True)
class GridFlow:
    """The flow of an earlier solve, for a grid of the same shape and neighbourhood.

    Attributes
    ----------
    grid : IntegerGrid
        The earlier one.
    residual : array of integers, shape (2 K, *shape)
        What that solve left.
    shift : int
        The power of two that its units are to be multiplied by.
    place : function
        Brings an array to where the next solve has its arrays.
    """

    grid: IntegerGrid
    residual: Any
    shift: int = 0
    place: Callable[[Any], Any] = lambda values: values

    def flow(self, pair: int, out: Any = None) -> Any:
        """Return what flows from each pixel in direction ``2 * pair``, net; 0 where that leaves the grid.

        The flow in the opposite direction is its negative. It may exceed the capacities of another grid.
        `out` may be an array of zeros where the flow is, for units that are the same.
        """
        row = self.grid.neighbor[pair if self.grid.symmetric else 2 * pair]
        here, _ = self.grid.boxes(pair)
        flow = self.grid.xp.zeros(self.grid.shape, dtype=self.residual.dtype) if out is None else out
        self.grid.xp.subtract(row[here], self.residual[2 * pair][here], out=flow[here], casting="unsafe")
        flow = self.place(flow)
        if self.shift:
            with np.errstate(over="ignore"):
                scaled = np.trunc(np.ldexp(flow.astype(np.float64), self.shift))
            flow = np.clip(scaled, -MOST_FLOW, MOST_FLOW).astype(np.int64)
        return flow


def initial_state(grid: IntegerGrid, start: GridFlow | None) -> tuple[Any, Any]:
    """Return `residual` and `terminal` of a grid before a solve, direction-major in C order.

    Parameters
    ----------
    grid : IntegerGrid
    start : GridFlow or None
        A flow to start from, cut off at the capacities; None for none.

    Returns
    -------
    residual : array of ``grid.residual_dtype``, shape (2 K, *shape)
        0 for arcs that leave the grid.
    terminal : array of ``grid.excess_dtype``, shape of the grid
    """
    xp, dtype = grid.xp, grid.residual_dtype
    residual = xp.zeros((len(grid.offsets), *grid.shape), dtype=dtype)
    terminal = grid.source.astype(grid.excess_dtype)
    terminal -= grid.sink.astype(grid.excess_dtype)
    for number, pair in enumerate(grid.pairs()):
        ahead, back = residual[2 * number], residual[2 * number + 1]
        ahead[pair.here] = pair.forward
        back[pair.there] = pair.backward
        if start is not None:
            flow = start.flow(number)[pair.here]
            flow = xp.clip(flow, -back[pair.there], ahead[pair.here]).astype(dtype)
            ahead[pair.here] -= flow
            back[pair.there] += flow
            terminal[pair.here] -= flow
            terminal[pair.there] += flow
    return residual, terminal
