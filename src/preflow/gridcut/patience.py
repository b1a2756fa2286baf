"""The way out of a search for paths that takes too long: push-relabel goes on with the flow found so far.

Searches for short paths are the fastest on images, but their work has no bound that does not depend on
capacities: a long path that saturates one arc makes orphans of whole trees. Push-relabel has such a bound and
is a few times slower on images. So a search counts its work, in orphans and pixels of augmenting paths. When
that exceeds its patience it asks all threads of the solve to return, as a time limit does, and the pseudoflow
that they leave is what push-relabel starts from. What the search has spent is then of the order of what
push-relabel takes.

The request is a value of the stop flag, so kernels poll nothing more. A stop by the user overrides it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.integer_grid import IntegerGrid
from ..kernels.atomics import compare_exchange
from ..kernels.kernel import kernel
from ..solving.options import check_positive_number, limit
from ..solving.run import Control
from ..stats import PUSHES, RELABELS
from .forests import ORPHANS_LEFT, WORK_LEFT, Forests
from .solution import GridSolution
from .state import GridState

ZERO = np.uint64(0)
#: The value of the stop flag by which a search asks the solve to go on with push-relabel.
HAND_OVER = np.int64(2)
#: Orphans for each arc of the grid that a search may take. Images and volumes with noise everywhere take 0.4
#: to 1, with 26 neighbours 2.4; thin regions and seeds up to 16, which push-relabel does as fast; traps 80.
ORPHANS_AN_ARC = 3.0
#: With more neighbours than this the number grows in proportion. Noise with 26 neighbours took 2.1 orphans an
#: arc, and up to 3 with paths counted: 60^3 took 2.8 CPU seconds, 4.3 where push-relabel took over at 3.
FEW_NEIGHBOURS = 8
#: Each of several threads may take this share of it. One of two takes up to 1.2 orphans an arc on vessels,
#: 0.3 on noise; one source in 2 x 60,000 pixels took 0.112 CPU seconds with all of it, 0.084 with half.
SHARE_OF_A_THREAD = 0.5
#: Pixels of paths that count as one orphan: that many take as long.
PATH_PIXELS_AN_ORPHAN = np.uint64(4)
#: Orphans that a search may take for each pixel of the grid, and for each pixel of a path. Where there are
#: more, the trees that one path destroys are those that the last one made.
#: Noise, spirals and vessels need less than 0.1 for each pixel of the grid.
ORPHANS_A_PIXEL, ORPHANS_A_PATH_PIXEL = 1.0, np.uint64(10)


@kernel
def orphans_left(forests: Forests) -> Any:
    """Return how many orphans the search may still take."""
    return min(forests.cursor[WORK_LEFT] // PATH_PIXELS_AN_ORPHAN, forests.cursor[ORPHANS_LEFT])


@kernel
def give_up(stop: Any) -> None:
    """Ask the solve to go on with push-relabel, unless it is to stop."""
    compare_exchange(stop, 0, 0, HAND_OVER)


@kernel
def spend(forests: Forests, place: Any, work: Any, stop: Any) -> None:
    """Take work off what is left; where nothing is left, ask the solve to stop."""
    left = forests.cursor[place]
    forests.cursor[place] = left - min(work, left)
    if work >= left:
        give_up(stop)


@kernel
def spend_on_orphans(forests: Forests, orphans: Any, stop: Any) -> None:
    """Account for orphans."""
    spend(forests, WORK_LEFT, orphans * PATH_PIXELS_AN_ORPHAN, stop)
    spend(forests, ORPHANS_LEFT, orphans, stop)


@kernel
def spend_on_path(forests: Forests, pixels: Any, stop: Any) -> None:
    """Account for an augmenting path, which earns orphans."""
    spend(forests, WORK_LEFT, pixels, stop)
    forests.cursor[ORPHANS_LEFT] += pixels * ORPHANS_A_PATH_PIXEL


@kernel
def clear_request(stop: Any) -> bool:
    """Clear the stop flag if a search has ended for lack of patience; return whether it had."""
    return bool(compare_exchange(stop, 0, HAND_OVER, 0))


def check_patience(patience: object) -> None:
    """Raise InvalidInputError unless `patience` is None or a positive number."""
    if patience is not None:
        check_positive_number("patience", patience)


def be_patient(forests: Forests, patience: float | None, pixels: int, degree: int, threads: int = 1) -> None:
    """Set what a search, one of `threads`, may do in a grid of so many pixels, each with `degree` arcs."""
    if patience is not None:
        patience *= max(1.0, degree / FEW_NEIGHBOURS) * (SHARE_OF_A_THREAD if threads > 1 else 1.0)
        forests.cursor[WORK_LEFT] = limit(patience * degree * pixels * float(PATH_PIXELS_AN_ORPHAN))
        forests.cursor[ORPHANS_LEFT] = limit(ORPHANS_A_PIXEL * pixels)


def hands_over(control: Control) -> bool:
    """Return whether a search of this solve has used up its patience, and say so in the statistics."""
    if not clear_request(control.stop):
        return False
    pushes, orphans = control.thread_counts[:, [PUSHES, RELABELS]].sum(axis=0).tolist()
    control.remarks.append(
        f"after {pushes:,} paths and {orphans:,} orphans push-relabel went on with the flow found so far"
    )
    return True


def push_on(grid: IntegerGrid, state: GridState, control: Control) -> GridSolution:
    """Solve a grid by push-relabel from the pseudoflow that a search left."""
    from .multicore_lockfree import GridLockFreeOptions, solve_from

    return solve_from(grid, state, GridLockFreeOptions(), control)
