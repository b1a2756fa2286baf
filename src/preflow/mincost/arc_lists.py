"""The residual network of a minimum-cost flow: lists of the arcs that leave each vertex."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Integers
from ..graph.standard_form import StandardForm
from .solution import FlowState


class ArcLists(NamedTuple):
    """Residual arcs by tail: both directions of every arc of the instance."""

    #: shape (n + 1,): the arcs that leave vertex ``v`` are ``first[v] .. first[v + 1] - 1``
    first: NDArray[np.uint64]
    head: Indices  #: uint32, shape (2m,)
    mate: Indices  #: uint32, shape (2m,): the opposite direction of the same arc
    cost: NDArray[np.int64]  #: shape (2m,): opposite directions have opposite costs
    residual: NDArray[np.int64]  #: shape (2m,): what more flow the arc can carry
    #: shape (m,): where the forward direction of each arc of the instance is
    place: NDArray[np.int64]

    def flow(self, capacity: Integers) -> NDArray[np.int64]:
        """Return the flow of each arc of the instance."""
        left: NDArray[np.int64] = capacity - self.residual[self.place]
        return left


def arc_lists(form: StandardForm, flow: NDArray[np.int64]) -> ArcLists:
    """Return the residual network of a flow within the capacities; linear time."""
    n, m = len(form.supply), len(form.tail)
    order = np.argsort(np.concatenate([form.tail, form.head]), kind="stable")
    place = np.empty(2 * m, dtype=np.int64)
    place[order] = np.arange(2 * m)
    first = np.zeros(n + 1, dtype=np.uint64)
    first[1:] = np.cumsum(np.bincount(form.tail, minlength=n) + np.bincount(form.head, minlength=n))
    opposite = np.where(order < m, order + m, order - m)
    return ArcLists(
        first,
        np.concatenate([form.head, form.tail])[order],
        place[opposite].astype(np.uint32),
        np.concatenate([form.cost, -form.cost])[order],
        np.concatenate([form.capacity - flow, flow])[order],
        place[:m].copy(),
    )


def tight_flow(
    form: StandardForm, start: FlowState | None, potential: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a flow for which no residual arc has negative reduced cost.

    It is that of the start, or none, but arcs of negative reduced cost are full, of positive empty.
    """
    length = form.cost + potential[form.tail] - potential[form.head]
    flow = np.int64(0) if start is None else start.flow
    return np.where(length < 0, form.capacity, np.where(length > 0, np.int64(0), flow))
