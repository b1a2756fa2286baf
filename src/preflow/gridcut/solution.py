"""Start and outcome of a grid-cut method: the flow to start from, and the solution that it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..graph.integer_grid import IntegerGrid

#: Flow is cut off at this amount, which is above all capacities, before it is converted to integers.
MOST_FLOW = 2.0**62


class GridSolution(NamedTuple):
    """A flow, stored as residual capacities, and the cut that it proves."""

    #: bool, shape of the grid: the pixels from which a pixel with a deficit can be reached over arcs with
    #: residual capacity
    sink_side: Any
    finished: bool  #: whether no pixel of `sink_side` has excess: the flow is maximum
    #: integers, shape (2 K, *shape): residual capacity of the arc from each pixel in each direction, not
    #: negative; arbitrary for arcs that leave the grid. It may be a view with any strides.
    residual: Any
    #: integers, shape of the grid: ``source - sink`` minus the net flow to neighbours: excess where positive,
    #: a deficit where negative, which is the capacity left from the pixel to the sink
    terminal: Any


@dataclass(frozen=True)
class GridFlow:
    """The flow of an earlier solve, for a grid of the same shape and neighbourhood."""

    grid: IntegerGrid  #: the earlier grid
    #: integers, shape (2 K, *shape): the residual capacities that the earlier solve left
    residual: AnyArray
    #: the flow is multiplied by ``2**shift`` to convert it to the units of the next solve
    shift: int = 0
    #: copies an array to the device of the next solve
    place: Callable[[Any], Any] = lambda values: values

    def flow(self, pair: int, out: Any = None) -> AnyArray:
        """Return the net flow from each pixel in direction ``2 * pair``; 0 for arcs that leave the grid.

        The flow in the opposite direction is its negative. It may exceed the capacities of the next grid. The
        flow is written to `out` if given: an array of zeros on the device of the flow. That needs ``shift ==
        0``.
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


def initial_state(grid: IntegerGrid, start: GridFlow | None) -> tuple[AnyArray, AnyArray]:
    """Return `residual` and `terminal` of a grid before a solve, direction-major in C order.

    Shapes (2 K, *shape) and shape; residual capacities of arcs that leave the grid are 0. The flow to start
    from is cut off at the capacities.
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
