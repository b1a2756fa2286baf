"""The relabel step of the push-relabel kernels, and the size of the log of relabels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Indices, ResidualNetwork
from .atomics import relaxed_load
from .constants import ONE
from .kernel import kernel

#: The work of a relabel beside the arcs that it scans, in arc scans (Goldberg's beta).
RELABEL_WORK = np.uint64(12)
#: Relabels a vertex for which the log has room between two global relabels; a full log makes a global
#: relabel due.
LOGGED_RELABELS = 8


def relabel_log_size(relabel_limit: Any, work_limit: Any, num_vertices: int) -> int:
    """Return the greatest number of relabels that are logged between two global relabels.

    It includes the relabel that reaches a limit and one more, which ends the discharge.
    """
    return int(min(relabel_limit, work_limit // RELABEL_WORK, LOGGED_RELABELS * num_vertices)) + 2


@kernel
def lowest_neighbour(
    net: ResidualNetwork, height: Indices, v: np.uint64, ceiling: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return the least height below `ceiling` of a residual neighbour of `v`, and the first arc to it.

    If there is none, return `ceiling` and the end of the arcs.
    """
    low = ceiling
    a = np.uint64(net.first_out[v])
    last = np.uint64(net.first_out[v + ONE])
    arc = last
    while a < last:
        if net.residual[a] > 0:
            neighbour = np.uint64(height[net.head[a]])
            if neighbour < low:
                low = neighbour
                arc = a
        a += ONE
    return low, arc


@kernel
def lowest_neighbour_now(
    net: ResidualNetwork, height: Indices, v: np.uint64, ceiling: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Like :func:`lowest_neighbour`, while other threads push and relabel."""
    low = ceiling
    a = np.uint64(net.first_out[v])
    last = np.uint64(net.first_out[v + ONE])
    arc = last
    while a < last:
        if relaxed_load(net.residual, a) > 0:
            neighbour = np.uint64(relaxed_load(height, net.head[a]))
            if neighbour < low:  # mutant: above-the-first-neighbour-not-the-lowest
                low = neighbour
                arc = a
        a += ONE
    return low, arc
