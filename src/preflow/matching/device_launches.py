"""What the solvers on a GPU share: whether a graph fits, and the launches of one cooperative kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..cuda.runtime import Device
from ..errors import SolverError
from ..graph.bipartite import DeviceBipartiteGraph, size_in_words
from ..graph.placement import require_memory

#: The first words of every kernel's state: where it stands, and how many barriers are left of a launch.
PHASE, ROUNDS_LEFT = 0, 1
#: Words in which all blocks arrive at barriers: see grid.cuh.
ARRIVAL_WORDS = 2
#: Barriers of one launch, some 0.1 s; and more launches than any graph needs: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 10_000, 100_000


def require_room(
    device: Device, graph: DeviceBipartiteGraph, size: tuple[int, int, int], *, both_sides: bool = False
) -> None:
    """Raise an error unless there is room for what a solver needs beside the graph and the matching.

    Parameters
    ----------
    device : Device
    graph : DeviceBipartiteGraph
    size : (int, int, int)
        Bytes of an edge, a row and a column that the solver allocates.
    both_sides : bool
        Whether it asks for the columns of a graph too that was given by rows.

    Raises
    ------
    DeviceMemoryError
        It does not fit the memory that is free.
    """
    of_edge, of_row, of_column = size
    needed = of_edge * graph.num_edges + of_row * graph.num_rows + of_column * graph.num_columns
    if both_sides:
        needed += graph.bytes_to_transpose
    require_memory(device, needed, size_in_words(graph))


def launches(
    device: Device,
    source: Path,
    kernel: str,
    arguments: Any,
    done: int,
    constants: tuple[tuple[str, int], ...] = (),
) -> Iterator[NDArray[Any]]:
    """Launch a kernel until its phase is `done`, and give its state after each launch.

    Raises
    ------
    SolverError
        It is not done after MOST_LAUNCHES: a bug.
    """
    for _ in range(MOST_LAUNCHES):
        arguments.state[ROUNDS_LEFT] = ROUNDS_A_LAUNCH
        arguments.arrivals[:] = 0
        device.launch(
            source,
            kernel,
            device.num_multiprocessors,
            device.block_threads,
            arguments,
            shared_bytes=8 * len(arguments.state) + 8,
            constants=constants,
            cooperative=True,
        )
        state = device.to_host(arguments.state)
        yield state
        if state[PHASE] == done:
            return
    raise SolverError(f"{kernel} gave up after {MOST_LAUNCHES:,} launches: state {state.tolist()}")


def count_free(match: Any, other_size: int) -> int:
    """Return how many vertices of one side, whose partners are given, have none of the other side."""
    return int((match >= other_size).sum())
