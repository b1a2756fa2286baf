"""Exact flows for integer capacities whose sums pass int64: a rounded flow, completed by a second solve.

A solve with rounded capacities finds a flow and a cut whose capacities differ by a known gap. The network
that the flow leaves has a maximum flow of at most this gap. So its capacities can be cut off just above the
gap, and their sums fit int64. Both flows together are a maximum flow of the input, and its minimum cuts are
those of the network that is left, as for any flow that is augmented.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..arrays import AnyArray
from .step import Applied, FlowProblem


@dataclass(frozen=True, eq=False)
class Completed(Applied[FlowProblem]):
    """The rest of a network beside a flow of integers; its minimum cuts are those of the network."""

    known: AnyArray  #: int64, shape (num_arcs,)
    reduced: FlowProblem

    def flow(self, reduced_flow: AnyArray) -> AnyArray:
        """Return both flows together."""
        return self.known + reduced_flow


def apply(problem: FlowProblem, flow: AnyArray, gap: int) -> Completed:
    """Return the problem that a flow of integers leaves, if at most `gap` can be added to the flow."""
    network = problem.network
    xp, most = network.xp, gap + 1
    capacity = network.capacity
    reverse = xp.zeros_like(capacity) if network.reverse_capacity is None else network.reverse_capacity
    # The differences wrap around only where `where` does not select them.
    left = replace(
        network,
        capacity=xp.where(flow <= capacity - most, most, capacity - flow),
        reverse_capacity=xp.where(flow >= most - reverse, most, reverse + flow),
    )
    return Completed(flow, problem._replace(network=left))
