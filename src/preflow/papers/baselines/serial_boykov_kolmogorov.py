"""The augmenting-path method of Boykov and Kolmogorov on a grid, on one thread.

:mod:`preflow.forests.boykov_kolmogorov` has the search, its definitions, invariants and pseudo-code. There is
no work limit: this is the method of the paper.
"""

from __future__ import annotations

from ...forests.boykov_kolmogorov import SINK, grow, make_trees, plant
from ...graph.integer_grid import IntegerGrid
from ...gridcut.pixel_major import deficits_reach, grid_solution, grid_state, interior
from ...gridcut.solution import GridFlow, GridSolution
from ...solving.options import NoOptions
from ...solving.run import Control


def solve(grid: IntegerGrid, start: GridFlow | None, options: NoOptions, control: Control) -> GridSolution:
    """Find a minimum cut of a grid on one thread.

    O(pixels * arcs * value of the cut) time. Memory: for D neighbours D residual capacities and about 22
    bytes per pixel. The `sink_side` is the set of pixels from which a deficit can be reached, also if the
    solve was stopped.
    """
    state = grid_state(grid, start)
    first, last = interior(grid)
    control.progress[:] = float(state.terminal.clip(0).sum(dtype="float64"))
    trees = make_trees(state)
    monitor = control.monitor()
    plant(state, trees, monitor)
    grow(state, trees, monitor)
    if control.stopped:
        control.check_wanted()
        return grid_solution(grid, state, deficits_reach(grid, state), False)
    return grid_solution(grid, state, trees.side[first:last] == SINK, True)
