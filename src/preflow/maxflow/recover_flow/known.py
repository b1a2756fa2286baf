"""A flow that is known without a second stage."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...certify.cut import residual_reach
from ...graph.network import FlowNetwork
from ...stats import Phase, untimed


@dataclass(frozen=True)
class KnownFlow:
    """A flow in the place of a second stage."""

    network: FlowNetwork
    sources: NDArray[np.int64]
    known: AnyArray  #: shape (num_arcs,): the flow of every input arc
    #: residual capacity up to this is the rounding error of floats
    slack: float = field(default=0, kw_only=True)

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        return self.known

    def preflow(self) -> AnyArray:
        """Return the flow of every input arc."""
        return self.known

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source reaches over residual arcs, in O(n + m)."""
        flow = self.network.to_host(self.known)
        return residual_reach(self.network.on_host(), flow, self.sources, self.slack)
