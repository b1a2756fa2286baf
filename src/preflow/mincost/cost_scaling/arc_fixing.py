"""Arc fixing (Goldberg 1997, section 4.3): searches skip arcs whose flow hardly changes any more.

If a complete flow is optimal for epsilon, the flow of an arc whose length exceeds 2 n epsilon, of either
sign, is that of every optimal flow. Arcs with a length of `threshold` times epsilon, which is much less, are
fixed by a guess. So each refine is followed by a check: a fixed residual arc of negative length is live
again.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Int64
from ...kernels.constants import ZERO
from ...kernels.kernel import kernel
from ..residual import FIELDS, LEFT, MATE, Residual, length_of, swap_arcs
from .refine import Work


@kernel
def fix_arcs(net: Residual, work: Work, shift: Int64, most: Int64) -> None:
    """Fix the live arcs whose length exceeds `most` or is below its negative."""
    for u in range(np.uint64(len(work.potential))):
        arc = net.first[u]
        while arc < net.live[u]:
            if abs(length_of(net, work.potential, shift, u, arc)) > most:
                net.live[u] -= FIELDS
                swap_arcs(net, arc, net.live[u])
            else:
                arc += FIELDS


@kernel
def release_arcs(net: Residual, work: Work, shift: Int64) -> np.uint64:
    """Make fixed residual arcs of negative length, and their mates, live; return how many arcs."""
    released = ZERO
    for u in range(np.uint64(len(work.potential))):
        arc = net.live[u]
        while arc < net.first[u + np.uint64(1)]:
            if net.arcs[arc + LEFT] > 0 and length_of(net, work.potential, shift, u, arc) < 0:
                swap_arcs(net, arc, net.live[u])
                mate, v = np.uint64(net.arcs[net.live[u] + MATE]), np.uint64(net.arcs[net.live[u]])
                net.live[u] += FIELDS
                swap_arcs(net, mate, net.live[v])
                net.live[v] += FIELDS
                released += np.uint64(1)
            arc += FIELDS
    return released
