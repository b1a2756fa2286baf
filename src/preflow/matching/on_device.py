"""What the solvers on a GPU share: whether a graph fits, and the launches of one cooperative kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..cuda.runtime import Device
from ..errors import SolverError
from ..graph.device_bipartite import DeviceBipartiteGraph, size_in_words
from ..graph.placement import require_memory
from .state import Matching

#: The first words of every kernel's state: where it stands, and how many barriers are left of a launch.
PHASE, ROUNDS_LEFT = 0, 1
#: Barriers of one launch, some 0.1 s; and more launches than any graph needs: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 10_000, 100_000


def require_room(device: Device, graph: DeviceBipartiteGraph, size: tuple[int, int, int]) -> None:
    """Raise an error unless there is room for what a solver needs beside the graph and the matching.

    Parameters
    ----------
    device : Device
    graph : DeviceBipartiteGraph
        Both of its sides will be used.
    size : (int, int, int)
        Bytes of an edge, a row and a column that the solver allocates.

    Raises
    ------
    DeviceMemoryError
        It does not fit the memory that is free.
    """
    of_edge, of_row, of_column = size
    own = of_edge * graph.num_edges + of_row * graph.num_rows + of_column * graph.num_columns
    require_memory(device, graph.bytes_to_transpose + own, size_in_words(graph))


def launches(device: Device, source: Path, kernel: str, arguments: Any, done: int) -> Iterator[NDArray[Any]]:
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
            cooperative=True,
        )
        state = device.to_host(arguments.state)
        yield state
        if state[PHASE] == done:
            return
    raise SolverError(f"{kernel} gave up after {MOST_LAUNCHES:,} launches: state {state.tolist()}")


def count_free(graph: DeviceBipartiteGraph, matching: Matching) -> int:
    """Return how many columns have no row."""
    return int(graph.xp.count_nonzero(matching.column_match >= graph.num_rows))
