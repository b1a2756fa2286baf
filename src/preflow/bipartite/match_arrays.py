"""The two match arrays that every solver works on, and small kernels that several solvers share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Indices
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.passes import filled

#: No partner. Stored in fewer bits it is the largest number of these; every value that is at least the size
#: of the other side means the same.
NONE = np.uint64(2**64 - 1)
#: Initial matchings read the stop flag once in LOOK_EVERY + 1 rows.
LOOK_EVERY = np.uint64(2**12 - 1)


class Matching(NamedTuple):
    """A matching in the index dtype of its graph, stored where the graph is stored."""

    row_match: Indices  #: shape (num_rows,): the column of every row, or NONE
    column_match: Indices  #: shape (num_columns,): the row of every column, or NONE

    @property
    def transposed(self) -> Matching:
        """The matching with rows and columns exchanged."""
        return Matching(self.column_match, self.row_match)


def empty_matching(graph: BipartiteGraph, threads: int = 1) -> Matching:
    """Return the matching without edges; up to `threads` threads fill its arrays."""
    dtype, xp = graph.dtype, graph.xp
    none = int(np.iinfo(dtype).max)
    if xp is np:
        return Matching(*(filled(size, none, dtype, threads) for size in graph.shape))
    return Matching(*(xp.full(size, none, dtype=dtype) for size in graph.shape))


@kernel
def asked_to_stop(stop: NDArray[np.int64], count: Index) -> bool:
    """Whether the solve was asked to stop; reads the flag only where `count` is a multiple of 4096."""
    return bool(count & LOOK_EVERY == ZERO and relaxed_load(stop, ZERO) != 0)


@kernel
def list_free_rows(rows: Adjacency, matching: Matching, free: Indices) -> np.uint64:
    """Write the free rows that have edges into `free` and return their number."""
    num_columns = np.uint64(len(matching.column_match))
    size = ZERO
    for r in range(np.uint64(len(matching.row_match))):
        if np.uint64(matching.row_match[r]) >= num_columns and rows.first[r] < rows.first[r + ONE]:
            free[size] = r
            size += ONE
    return size


@kernel
def match_rows(matching: Matching) -> None:
    """Fill in the column of every row from the rows of the columns."""
    num_rows = np.uint64(len(matching.row_match))
    for r in range(num_rows):
        matching.row_match[r] = NONE
    for c in range(np.uint64(len(matching.column_match))):
        mate = np.uint64(matching.column_match[c])
        if mate < num_rows:
            matching.row_match[mate] = c
