"""The state of a flow with potentials, which solvers of minimum-cost flow return and start from."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: How a solve ended.
Ending = Literal["optimal", "infeasible", "stopped"]


class FlowState(NamedTuple):
    """A flow with potentials, in the units of a :class:`preflow.graph.standard_form.StandardForm`.

    The reduced cost of arc ``i`` is ``cost[i] + potential[tail[i]] - potential[head[i]]``.
    """

    #: shape (m,): between zero and the capacity of each arc, whatever the ending. "optimal": it sends all
    #: supplies, is zero on arcs of positive reduced cost, and equals the capacity on arcs of negative reduced
    #: cost. "infeasible": no vertex with excess left reaches, by residual arcs, one that still lacks flow
    flow: NDArray[np.int64]
    potential: NDArray[np.int64]  #: shape (n,)
    ending: Ending = "optimal"
    #: shape (n,): of network simplex: the arc that joins each vertex to its parent in the tree, 2**31 - 1 if
    #: that is the artificial root
    basis: NDArray[np.uint32] | None = None
