"""Exact flows for integer capacities whose sums pass int64: a rounded flow, completed by a second solve.

A solve with rounded capacities finds a flow and a cut whose capacities differ by a known gap. The network
that the flow leaves has a maximum flow of at most this gap. So its capacities can be cut off just above the
gap, and their sums fit int64. Both flows together are a maximum flow of the input, and its minimum cuts are
those of the network that is left, as for any flow that is augmented.
"""

from __future__ import annotations

from dataclasses import replace

from ...arrays import AnyArray
from ...graph.network import FlowNetwork
from ...stats import Phase, untimed
from . import SecondStage
from .on_gpu import DeviceSecondStage


def left_by(network: FlowNetwork, flow: AnyArray, gap: int) -> FlowNetwork:
    """Return the network that a flow of integers leaves, if at most `gap` can be added to the flow."""
    xp, most = network.xp, gap + 1
    capacity = network.capacity
    reverse = xp.zeros_like(capacity) if network.reverse_capacity is None else network.reverse_capacity
    # The differences wrap around only where `where` does not select them.
    return replace(
        network,
        capacity=xp.where(flow <= capacity - most, most, capacity - flow),
        reverse_capacity=xp.where(flow >= most - reverse, most, reverse + flow),
    )


class CompletedFlow:
    """The second stage of two solves: the `flow` of the first, and the second stage of the other."""

    def __init__(self, flow: AnyArray, rest: SecondStage | DeviceSecondStage) -> None:
        self._flow, self._rest = flow, rest
        self.residual = rest.residual

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        return self._flow + self._rest.flow(phase)

    def preflow(self) -> AnyArray:
        """Return the current flow of every input arc, whether or not the stage has run."""
        return self._flow + self._rest.preflow()

    def source_side(self) -> AnyArray:
        """Return which vertices the source reaches over residual arcs after all excess is returned."""
        return self._rest.source_side()
