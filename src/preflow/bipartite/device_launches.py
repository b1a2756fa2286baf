"""Shared by the matching solvers on a GPU: a check of the memory, and the loop over launches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..arrays import AnyArray
from ..cuda.launches import Loop, LoopState
from ..cuda.runtime import Device
from ..graph.bipartite import DeviceBipartiteGraph, size_in_words
from ..graph.placement import require_memory
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, BARRIERS, PHASES


class SearchState(LoopState, Protocol):
    """The state of a kernel that searches for augmenting paths in phases."""

    @property
    def phases(self) -> int:
        """Number of phases so far."""


def require_room(
    device: Device, graph: DeviceBipartiteGraph, size: tuple[int, int, int], *, both_sides: bool = False
) -> None:
    """Raise DeviceMemoryError unless a solver's memory besides the graph and the matching fits.

    `size` has the bytes per edge, row and column that the solver allocates. `both_sides` says that it also
    needs the columns of a graph that was given by rows.
    """
    of_edge, of_row, of_column = size
    needed = of_edge * graph.num_edges + of_row * graph.num_rows + of_column * graph.num_columns
    if both_sides:
        needed += graph.bytes_to_transpose
    require_memory(device, needed, size_in_words(graph))


def run_phases(
    states: Iterator[SearchState], done: int, loop: Loop, match: AnyArray, other_size: int, control: Control
) -> bool:
    """Launch until the matching is maximum or the solve is to stop; report and count after each launch.

    `states` comes from :func:`launches`; `done` is the phase in which the matching is maximum, and `loop`
    counts the edges read. `match` has the partners of the vertices of one side. Return False where the solve
    was asked to stop.
    """
    control.progress[:] = count_free(match, other_size)
    finished = False
    while not (finished or control.stopped):
        state = next(states)
        finished = bool(state.phase == done)
        control.progress[0] = count_free(match, other_size)
        control.counts[PHASES] = state.phases
        control.counts[BARRIERS] = state.round
        control.counts[ARC_SCANS] = int(loop.counts[0])
        control.counts[AUGMENTATIONS] = int(control.progress[1]) - int(control.progress[0])
    return finished


def count_free(match: AnyArray, other_size: int) -> int:
    """Return how many of the vertices with these partners have no partner among `other_size` vertices."""
    return int((match >= other_size).sum())
