"""Łupińska's system on grids: pushes and relabels on the GPU, global and gap relabels on the CPU.

Łupińska, sections 4.5 and 4.6, Algorithms 4.6 to 4.8: the CPU-GPU-Hybrid of He and Hong (2010), to which she
adds gap relabeling. ``gap=False`` is theirs. ``gridcut/cuda_lockfree.py`` has the kernel, the definitions and
the departures that both share; it differs in that it also searches on the GPU.

Definitions
-----------
- A *round* is a kernel of `cycles` cycles and a global relabel.
- An arc is *steep* if it has residual capacity and leads down by more than one level.
- Excess is *stranded* if its pixel cannot reach the sink. *ExcessTotal* is the excess at the start, less what
  has been found to be stranded.

Pseudo-code
-----------
::

    all heights are 0, or distances if there is a flow to start from
    until the excess at the sink is ExcessTotal:                                     a round
        the heights go to the GPU; each thread takes `cycles` steps
        residual capacities, excess and heights come back                           what follows is on the CPU
        for each steep arc: push its residual capacity                               cancel_steep_arcs
        search backwards from the sink; heights are distances                        exact_heights
        for each pixel that the search did not reach:
            take its excess off ExcessTotal, the first time
            with `gap`: its height is n + 1
    an exact search on the GPU proves the cut

What is wrong in print, and the options
---------------------------------------
- Only the heights go back to the GPU, although the CPU has moved excess over steep arcs. So the CPU may find
  excess stranded that lies elsewhere on the GPU. Then the rule of the end is never met, or met too early.
  ``upload=True``, the default, sends the changes, too.
- A pixel is taken off ExcessTotal once, so excess that comes to it later is missed. Without gap relabeling
  that happens. ``stopping="exact"``, the default, adds up the excess that can reach the sink after each
  search; the end is that there is none.
- Simulated with both rules as printed, on 4,000 small networks, 18 runs with gap relabeling and 189 without
  never end (``benchmarks/reproduce/printed_hybrid.py``). So ``upload=False`` or ``stopping="published"`` has
  to be bounded: a solve ends after `patience` rounds in a row that change nothing, and after `rounds` rounds
  in any case. The exact search then tells whether the flow is maximum; the result is unfinished if it is not.
- The marking of pixels is garbled; this is the reading that makes sense.

Invariant: the arrays of the GPU always hold a preflow. On the CPU, as printed, excess may become negative; so
a push over a steep arc that goes to the GPU is at most the excess. With `gap` a pixel always has as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Integers
from ...cuda import runtime
from ...cuda.launches import relabel_time
from ...cuda.runtime import Device
from ...graph.integer_grid import IntegerGrid
from ...gridcut.cuda_lockfree import make_steps, take_steps
from ...gridcut.direction_major import DeviceGrid, begin, search_at_rest, solution
from ...gridcut.solution import GridFlow, GridSolution
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from ...stats import GLOBAL_RELABELS, PUSHES

#: Height of a pixel that a search has not reached yet.
UNREACHED = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class GridHybridOptions(CheckedOptions):
    """Options of the hybrid on a grid.

    Attributes
    ----------
    cycles : int
        Pushes or relabels of each pixel in a round: CYCLE.
    gap : bool
        Give pixels that a search does not reach height n + 1, so that they take no part any more.
    upload : bool
        Send the pushes of the CPU over steep arcs to the GPU; in print only heights are sent.
    stopping : {"exact", "published"}
        End when no excess can reach the sink, or when the excess at the sink is ExcessTotal.
    patience : int
        Rounds in a row without any change after which the solve is given up.
    rounds : int
        Rounds after which the solve is given up in any case.
    """

    cycles: PositiveInteger = 7000
    gap: bool = True
    upload: bool = True
    stopping: Literal["exact", "published"] = "exact"
    patience: PositiveInteger = 20
    rounds: PositiveInteger = 100_000


class HostGrid(NamedTuple):
    """The state of a solve in host memory, as it comes back from the GPU after a kernel."""

    #: shape (D, n): residual capacity of the arc from each pixel in each direction; 0 for arcs that leave the
    #: grid, and for their opposites
    residual: Integers
    excess: NDArray[np.int64]  #: shape (n,): negative in some runs as printed
    deficit: NDArray[np.int64]  #: shape (n,): capacity left to the sink
    height: Indices  #: uint32, shape (n,)
    #: shape (D,): difference of the numbers of the neighbour and of the pixel, modulo 2**64
    step: NDArray[np.uint64]


@kernel
def cancel_steep_arcs(grid: HostGrid, at_most_excess: bool) -> np.uint64:
    """Push along arcs that lead down by more than one level; return the number of pushes.

    These are lines 1 to 6 of the global relabel of Algorithm 4.8. In print a push takes the whole residual
    capacity of the arc.
    """
    pushes = ZERO
    for direction in range(len(grid.step)):
        d = np.uint64(direction)
        for pixel in range(len(grid.excess)):
            p = np.uint64(pixel)
            if grid.residual[d, p] <= 0:
                continue
            q = p + grid.step[d]
            if np.uint64(grid.height[p]) <= np.uint64(grid.height[q]) + ONE:
                continue
            amount = np.int64(grid.residual[d, p])
            if at_most_excess:
                amount = min(amount, grid.excess[p])
                if amount <= 0:
                    continue
            grid.residual[d, p] -= amount
            grid.residual[d ^ ONE, q] += amount
            grid.excess[p] -= amount
            grid.excess[q] += amount
            pushes += ONE
    return pushes


@kernel
def exact_heights(grid: HostGrid, level: Indices, order: Indices) -> np.uint64:
    """Find the distance of each pixel to the sink, UNREACHED where there is no way; return how many have one.

    The pixels that have one are in `order` by distance. A pixel with a deficit has distance 1.
    """
    size = np.uint64(len(grid.excess))
    found = ZERO
    for pixel in range(len(grid.excess)):
        p = np.uint64(pixel)
        level[p] = UNREACHED
        if grid.deficit[p] > 0:
            level[p] = 1
            order[found] = p
            found += ONE
    taken = ZERO
    while taken < found:
        p = np.uint64(order[taken])
        taken += ONE
        for direction in range(len(grid.step)):
            d = np.uint64(direction)
            q = p + grid.step[d]
            if q < size and level[q] == UNREACHED and grid.residual[d ^ ONE, q] > 0:
                level[q] = np.uint64(level[p]) + ONE
                order[found] = q
                found += ONE
    return found


class Bookkeeping:
    """The rule that ends a solve, and the limits of those that it does not end.

    `over` says whether the rule is met; `given_up` why the solve was given up, empty if it was not.
    """

    def __init__(self, options: GridHybridOptions, grid: HostGrid) -> None:
        self.options = options
        self.total, self.deficit = int(grid.excess.sum()), int(grid.deficit.sum())
        self.marked = np.zeros(len(grid.excess), dtype=bool)
        self.round = self.same = 0
        self.before: tuple[Array, ...] = ()
        self.over, self.given_up = False, ""

    def note(self, grid: HostGrid, reached: NDArray[np.bool_]) -> int:
        """Note the outcome of a round; return the excess that can reach the sink as the CPU has it."""
        self.round += 1
        active = int(grid.excess[reached].sum())
        if self.options.stopping == "published":
            self.total -= int(grid.excess[~reached & ~self.marked].sum())
            self.marked |= ~reached
            self.over = self.deficit - int(grid.deficit.sum()) >= self.total
        else:
            self.over = not bool((grid.excess[reached] > 0).any())
        if self.over or (self.options.upload and self.options.stopping == "exact"):
            return active
        now = (grid.residual.copy(), grid.excess.copy(), grid.height.copy())
        is_same = bool(self.before) and all(map(np.array_equal, now, self.before))
        self.same, self.before = self.same + 1 if is_same else 0, now
        if self.same >= self.options.patience:
            self.given_up = f"{self.same:,} rounds in a row changed nothing"
        return active


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: GridHybridOptions, control: Control
) -> GridSolution:
    """Run rounds of the GPU and the CPU, then prove the cut by an exact search; return the flow and the cut.

    O(n^2) pushes per arc with the default options; with others a solve may be given up. Memory on the device:
    as ``gridcut/cuda_lockfree.py``; on the host up to three times that, and 29 bytes a pixel. The time of
    global relabels includes the copies between GPU and CPU, which serve no other purpose.
    """
    device = runtime.find_device()
    search = begin(device, grid, start, control)
    state = search.grid
    search.height[:] = 0
    steps = make_steps(device, search, options.cycles, control)
    step = device.to_host(state.step).astype(np.int32).astype(np.int64).astype(np.uint64)
    book = Bookkeeping(options, on_host(device, state, search.height, step))
    if start is not None:  # its flow may be maximum
        book.over = search_at_rest(device, search, control, "cuda-hybrid") == 0
    level, order = (np.empty(state.num_pixels, dtype=np.uint32) for _ in range(2))
    while not (book.over or book.given_up or control.stopped):
        take_steps(device, steps, control)
        with relabel_time(control):
            host = on_host(device, state, search.height, step)
            pushes = int(cancel_steep_arcs(host, options.upload))
            if options.upload and pushes > 0:
                state.residual[:] = device.xp.asarray(host.residual)
                state.terminal[:] = device.xp.asarray(host.excess - host.deficit)
                host = on_host(device, state, search.height, step)
                control.counts[PUSHES] += pushes
            exact_heights(host, level, order)
            reached = level != UNREACHED
            host.height[reached] = level[reached]
            if options.gap:
                host.height[~reached] = state.num_pixels + 1
            control.progress[0] = book.note(host, reached)
            search.height[:] = device.xp.asarray(host.height)
        control.counts[GLOBAL_RELABELS] += 1
        if book.round >= options.rounds and not book.over:
            book.given_up = f"{book.round:,} rounds were not enough"
    active = search_at_rest(device, search, control, "cuda-hybrid")
    control.remarks.append(f"{book.round:,} rounds")
    if active > 0 and not control.stopped:
        why = book.given_up or "the published rule ended the solve"
        control.unproved.append(f"{why}, while excess of {active:,} could reach the sink")
    return solution(grid.shape, search, active == 0)


def on_host(device: Device, state: DeviceGrid, height: Indices, step: NDArray[np.uint64]) -> HostGrid:
    """Return a copy of the arrays of the GPU."""
    terminal = device.to_host(state.terminal).astype(np.int64)
    residual = np.array(device.to_host(state.residual))
    return HostGrid(
        residual,
        np.maximum(terminal, 0),
        np.maximum(-terminal, 0),
        np.array(device.to_host(height)),
        step,
    )
