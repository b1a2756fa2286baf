"""Lock-free push-relabel on a grid, one GPU thread a pixel: Łupińska's system, without stored arcs.

The kernel is Hong's (Łupińska, sections 4.4 to 4.6, Algorithm 4.8): in each of `cycles` cycles, CYCLE in
print, a pixel with excess pushes once, to its lowest residual neighbour, or rises to just above it. A global
relabel follows, with gap relabel: what cannot reach the sink goes to height n + 1 and takes no part any more.

Departures:

- Arcs. In print a pixel has a list of arcs, which point to their opposites; here directions and their
  opposites are numbers, and where an arc leads is one addition.
- Terminals are not pixels. What a pixel can send to the sink is negative excess, so that what comes in goes
  there at once: no push, no arc to look at. Heights are distances, so that pixels with a deficit have height
  1.
- The global relabel is on the GPU, in one cooperative kernel, where in print all arrays go to the CPU and
  heights come back: ``cuda-hybrid`` of max_flow is the system as printed. So it is cheap, and the default of
  `cycles` far below the paper's 7000, which takes 14 to 33 times as long on images and volumes of 1 and 4
  million pixels; 16 to 128 are much the same. It is a search while nothing moves, which makes the paper's
  cancelling of steep arcs needless.
- The end. ``e(t) = ExcessTotal`` with the stranded excess taken off ExcessTotal is here: no pixel with excess
  can reach a deficit. The last search is the proof, and its labels are the cut.
- The paper's ``while e(x) > 0`` (Algorithm 4.5), which lets an idle thread leave for ever, is the `cycles`
  cycles, as in its Algorithm 4.8; the lowest neighbour starts from height n, which is not printed.

Memory order is explained in the ``.cu`` file: a receiver that was lifted after the push was prepared has an
arc that is too steep, and is sure to see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cuda import runtime
from ..cuda.runtime import WATCH_WORDS, Device
from ..graph.integer_grid import IntegerGrid
from ..solving.options import check_positive_integer
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .direction_major import DeviceGrid, make_search, make_state, note_total_excess, search_at_rest, solution
from .solution import GridFlow, GridSolution

SOURCE = Path(__file__).with_suffix(".cu")
#: Numbers in StepArguments.counts.
COUNTS = 3


@dataclass(frozen=True)
class CudaGridLockFreeOptions:
    """Options of lock-free push-relabel on a grid.

    Attributes
    ----------
    cycles : int
        Steps of each pixel, a push or a relabel, between two global relabels: CYCLE, 7000 in the paper.
    """

    cycles: int = 64

    def __post_init__(self) -> None:
        check_positive_integer("cycles", self.cycles)


class Steps(NamedTuple):
    """``StepArguments`` in the ``.cu`` file."""

    grid: DeviceGrid
    height: Any
    counts: Any
    cycles: int
    stop: Any
    watch: Any


def take_steps(device: Device, steps: Steps, control: Control) -> None:
    """Let every pixel push and relabel, and count what was done."""
    blocks = min(-(-steps.grid.num_pixels // device.block_threads), device.num_multiprocessors)
    steps.counts[:] = 0
    steps.watch[:] = 0
    device.launch(SOURCE, "take_steps", blocks, device.block_threads, steps, constants=steps.grid.constants)
    control.counts[[PUSHES, RELABELS, ARC_SCANS]] += device.to_host(steps.counts)


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: CudaGridLockFreeOptions, control: Control
) -> GridSolution:
    """Push excess until none can reach a deficit; return the flow and the cut.

    Raises
    ------
    SolverError
        More than ten million global relabels.

    Notes
    -----
    O(n^2) pushes an arc; on the device 12 bytes a pixel and 4 an arc, 16 and 8 where capacities need 64 bits.
    """
    device = runtime.find_device()
    state = make_state(device, grid, start)
    note_total_excess(state, control)
    search = make_search(device, state)
    counts, watch = (device.xp.zeros(size, dtype=np.uint64) for size in (COUNTS, WATCH_WORDS))
    steps = Steps(state, search.height, counts, options.cycles, device.stop_word(control), watch)
    while (active := search_at_rest(device, search, control, "cuda-lockfree")) > 0 and not control.stopped:
        take_steps(device, steps, control)
    return solution(grid.shape, search, active == 0)
