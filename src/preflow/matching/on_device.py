"""What the solvers on a GPU share: whether a graph fits, and the launches of one cooperative kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cuda.runtime import Device
from ..errors import SolverError, UnsuitableMethodError
from ..graph.bipartite import BipartiteGraph
from ..graph.device_residual import require_memory

#: Labels go up to the number of vertices; the two largest numbers of 32 bits mean something else.
MOST_VERTICES = 2**32 - 4
#: The first words of every kernel's state: where it stands, and how many barriers are left of a launch.
PHASE, ROUNDS_LEFT = 0, 1
#: Barriers of one launch, some 0.1 s; and more launches than any graph needs: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 10_000, 100_000


def require_room(device: Device, graph: BipartiteGraph, size: tuple[int, int, int]) -> None:
    """Raise an error unless a graph fits; `size` is the bytes of an edge, a row and a column on the device.

    Raises
    ------
    UnsuitableMethodError
        It has more edges or vertices than 32 bits number.
    DeviceMemoryError
        It does not fit the memory that is free.
    """
    num_rows, num_columns = graph.shape
    if graph.rows.first.dtype != np.uint32 or num_rows + num_columns > MOST_VERTICES:
        raise UnsuitableMethodError(
            f"{graph.num_edges:,} edges of {num_rows + num_columns:,} vertices are too many for a GPU: "
            "at most 2**32 - 4 of each"
        )
    of_edge, of_row, of_column = size
    require_memory(
        device,
        of_edge * graph.num_edges + of_row * num_rows + of_column * num_columns,
        f"{graph.num_edges:,} edges, {num_rows:,} rows and {num_columns:,} columns",
    )


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
