"""Grids with one long path, on which methods that work by local steps take their time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: The value of a minimum cut of :func:`serpentine`.
SERPENTINE_VALUE = 5


def serpentine(height: int, width: int) -> tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]]:
    """Return source, sink and neighbours of an image with one path, up and down every other column."""
    neighbor = np.zeros((2, height, width), dtype=np.int16)
    neighbor[1, :-1, ::2] = 7  # along even columns
    for column in range(0, width - 2, 2):
        row = height - 1 if column % 4 == 0 else 0
        neighbor[0, row, column : column + 2] = 9
    source, sink = np.zeros((2, height, width), dtype=np.int16)
    source[0, 0] = SERPENTINE_VALUE
    last = (width - 1) // 2 * 2
    sink[height - 1 if last % 4 == 0 else 0, last] = 8
    return source, sink, neighbor
