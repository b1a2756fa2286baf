"""Whether a graph fits the solvers on a GPU."""

from __future__ import annotations

import numpy as np

from ..cuda.runtime import Device
from ..errors import InvalidInputError
from ..graph.bipartite import BipartiteGraph
from ..graph.device_residual import require_memory

#: Labels go up to the number of vertices; the two largest numbers of 32 bits mean something else.
MOST_VERTICES = 2**32 - 4


def require_room(device: Device, graph: BipartiteGraph, size: tuple[int, int, int]) -> None:
    """Raise an error unless a graph fits; `size` is the bytes of an edge, a row and a column on the device.

    Raises
    ------
    InvalidInputError
        It has more edges or vertices than 32 bits number.
    DeviceMemoryError
        It does not fit the memory that is free.
    """
    num_rows, num_columns = graph.shape
    if graph.rows.first.dtype != np.uint32 or num_rows + num_columns > MOST_VERTICES:
        raise InvalidInputError(
            f"{graph.num_edges:,} edges of {num_rows + num_columns:,} vertices are too many for a GPU: "
            "at most 2**32 - 4 of each"
        )
    of_edge, of_row, of_column = size
    require_memory(
        device,
        of_edge * graph.num_edges + of_row * num_rows + of_column * num_columns,
        f"{graph.num_edges:,} edges, {num_rows:,} rows and {num_columns:,} columns",
    )
