"""A flow that is known without a second stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array
from ...certify.cut import residual_reach
from ...graph.network import FlowNetwork
from ...stats import Phase, untimed


@dataclass(frozen=True)
class KnownFlow:
    """A flow in the place of a second stage.

    Attributes
    ----------
    network : FlowNetwork
    sources : ndarray of int64
    known : ndarray, shape (num_arcs,)
        The flow of every input arc.
    """

    network: FlowNetwork
    sources: NDArray[np.int64]
    known: Array

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        return self.known

    def preflow(self) -> AnyArray:
        """Return the flow of every input arc."""
        return self.known

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source reaches over residual arcs, in O(n + m)."""
        return residual_reach(self.network, self.known, self.sources, 0)
