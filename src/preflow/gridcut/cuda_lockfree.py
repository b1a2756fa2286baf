"""Lock-free push-relabel on a grid, one GPU thread per pixel: Łupińska's system, without stored arcs.

Hong's algorithm as in Łupińska, sections 4.4 to 4.6, Algorithm 4.8. In each of `cycles` cycles (CYCLE in
print) a thread with excess at its pixel pushes once, to the lowest residual neighbour, or lifts the pixel to
just above that. A global relabel with gap relabeling follows: a pixel that cannot reach the sink gets height
n + 1 and takes no part any more.

Definitions
-----------
- A pixel is *active* if it has excess and its height is at most n.
- A pixel with a deficit has capacity left to the sink; its height is 1.

Invariant: a residual arc descends by at most one level, except while a push to a pixel that was lifted
meanwhile is under way. The ``.cu`` file explains the memory order that lets that pixel see the steep arc.

Pseudo-code
-----------
::

    while search_at_rest finds excess that can reach a deficit:       exact heights, global and gap relabel
        each thread, for `cycles` cycles, for each of its pixels:     take_steps
            if the pixel is active:
                find the lowest neighbour over residual arcs
                if it is lower: push as much as the arc takes
                else: lift the pixel to just above it
    the pixels that the last search reached are the sink side

Departures
----------
- Arcs. In print a pixel has a list of arcs, each with a pointer to its opposite. Here directions and their
  opposites are numbers, and the head of an arc is one addition.
- Terminals are not pixels. Capacity left to the sink is stored as negative excess, so incoming flow goes to
  the sink at once, without a push or an arc to look at. So heights are distances to the sink.
- The global relabel is a cooperative kernel on the GPU. In print all arrays go to the CPU, and heights come
  back; ``cuda-hybrid`` of max_flow is the system as printed. Since it is cheap here, the default of `cycles`
  is far below the paper's 7000, which takes 14 to 33 times as long on images and volumes of 1 and 4 million
  pixels; 16 to 128 are much the same. No pushes are under way during the search, so the paper's cancelling of
  steep arcs is not needed.
- Termination. The paper tests ``e(t) = ExcessTotal``, with stranded excess subtracted from ExcessTotal. Here
  the loop ends when no pixel with excess can reach a deficit. The last search is the proof, and its labels
  are the cut.
- The paper's ``while e(x) > 0`` (Algorithm 4.5) lets an idle thread leave for ever. Here a thread runs
  `cycles` cycles, as in its Algorithm 4.8. The lowest neighbour starts from height n, which is not printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..cuda import runtime
from ..cuda.runtime import WATCH_WORDS, Device
from ..cuda.structs import U32, U64, ConstI64
from ..graph.integer_grid import IntegerGrid
from ..solving.options import CheckedOptions, PositiveInteger
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .direction_major import DeviceGrid, SearchArguments, begin, search_at_rest, solution
from .solution import GridFlow, GridSolution

SOURCE = Path(__file__).with_suffix(".cu")
#: Operations of a launch.
Count = IntEnum("Count", "PUSHES RELABELS ARC_SCANS", start=0)
COUNTS = len(Count)


@dataclass(frozen=True)
class CudaGridLockFreeOptions(CheckedOptions):
    """Options of lock-free push-relabel on a grid.

    Attributes
    ----------
    cycles : int
        Pushes or relabels of each pixel between two global relabels: CYCLE, 7000 in the paper.
    """

    cycles: PositiveInteger = 64


class StepArguments(NamedTuple):
    """Arguments of "take_steps"."""

    grid: DeviceGrid
    height: U32
    counts: U64
    cycles: int  #: pushes or relabels of each pixel
    stop: ConstI64
    watch: Annotated[AnyArray, "CycleWatch*"]


def make_steps(device: Device, search: SearchArguments, cycles: int, control: Control) -> StepArguments:
    """Return the arguments of the kernel that pushes and relabels."""
    counts, watch = (device.xp.zeros(size, dtype=np.uint64) for size in (COUNTS, WATCH_WORDS))
    return StepArguments(
        grid=search.grid,
        height=search.height,
        counts=counts,
        cycles=cycles,
        stop=device.stop_word(control),
        watch=watch,
    )


def take_steps(device: Device, steps: StepArguments, control: Control) -> None:
    """Run `cycles` cycles on all pixels, and add up their pushes, relabels and arc scans."""
    blocks = min(-(-steps.grid.num_pixels // device.block_threads), device.num_multiprocessors)
    steps.counts[:] = 0
    steps.watch[:] = 0
    device.launch(SOURCE, "take_steps", blocks, device.block_threads, steps, constants=steps.grid.constants)
    control.counts[[PUSHES, RELABELS, ARC_SCANS]] += device.to_host(steps.counts)[
        [Count.PUSHES, Count.RELABELS, Count.ARC_SCANS]
    ]


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: CudaGridLockFreeOptions, control: Control
) -> GridSolution:
    """Push excess until none can reach a deficit; return the flow and the cut.

    O(n^2) pushes per arc. Memory on the device: 12 bytes per pixel and 4 per arc, or 16 and 8 where
    capacities need 64 bits. SolverError: more than ten million global relabels.
    """
    device = runtime.find_device()
    search = begin(device, grid, start, control)
    steps = make_steps(device, search, options.cycles, control)
    while (active := search_at_rest(device, search, control, "cuda-lockfree")) > 0 and not control.stopped:
        take_steps(device, steps, control)
    return solution(grid.shape, search, active == 0)
