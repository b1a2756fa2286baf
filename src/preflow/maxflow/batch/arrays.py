"""The arrays of solvers of batches: networks, scales, solutions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Numbers
from ...graph.network_batch import FlowNetworkBatch
from ...solving.read_only import read_only_view

#: How an item ended. A stopped item has a flow, an unseen one has flow 0. A wide one has a flow and a cut,
#: and a gap between them that is too wide for an optimum.
UNSEEN, SOLVED, STOPPED, WIDE = 0, 1, 2, 3

#: Columns of a survey: the capacities out of the source, into the sink, and all finite ones, added up; the
#: largest sum of the two capacities of an arc; how many capacities are infinite, and how many of the others
#: are not integers up to 2**53.
LEAVING, ENTERING, FINITE, LARGEST, NUM_INFINITE, NUM_BROKEN = range(6)
NUM_SURVEYED = 6

#: Columns of a scale: where capacities are cut off; two powers of two whose product scales them; two whose
#: product scales flow back. One power alone may be out of the range of float64.
LIMIT, UP, UP_TOO, DOWN, DOWN_TOO = range(5)
NUM_SCALES = 5


class Items(NamedTuple):
    """The networks of a batch; all arrays are read-only."""

    #: shape (items + 1,)
    first_arc: NDArray[np.int64]
    first_vertex: NDArray[np.int64]
    #: uint32
    tail: Indices
    head: Indices
    #: int64 or float64: `reverse` is empty where no arc has a reverse capacity
    capacity: Numbers
    reverse: Numbers
    #: shape (items,)
    source: NDArray[np.int64]
    sink: NDArray[np.int64]


class Found(NamedTuple):
    """The solution of a batch."""

    flow: Numbers  #: shape (num_arcs,): of the dtype of the capacities
    #: shape (num_vertices,): the smallest sink side and the smallest source side of a minimum cut
    sink_side: NDArray[np.bool_]
    source_side: NDArray[np.bool_]
    value: NDArray[np.int64]  #: shape (items,): in units of the scaled capacities
    #: shape (items,): for floats: the larger of the capacities of the two cuts, as given
    upper: NDArray[np.float64]
    ending: NDArray[np.int64]  #: shape (items,)


def items_of(batch: FlowNetworkBatch, source: NDArray[np.int64], sink: NDArray[np.int64]) -> Items:
    """Return the arrays of a batch as read-only views."""
    return Items._make((*batch.views(), read_only_view(source), read_only_view(sink)))


def nothing_found(batch: FlowNetworkBatch) -> Found:
    """Return a solution in which no item is solved."""
    vertices = int(batch.first_vertex[-1])
    return Found(
        flow=np.zeros(batch.num_arcs, dtype=batch.capacity.dtype),
        sink_side=np.zeros(vertices, dtype=bool),
        source_side=np.zeros(vertices, dtype=bool),
        value=np.zeros(len(batch), dtype=np.int64),
        upper=np.zeros(len(batch)),
        ending=np.full(len(batch), UNSEEN),
    )
