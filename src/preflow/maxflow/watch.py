"""The progress of an attempt that has a budget: whether it is likely to end within a small multiple of it.

An augmenting-path method serves sources and sinks: it delivers excess, uses up the excess of a source or the
capacity of a sink. The largest of the three shares is what it has done. After a part of the budget the whole
work is projected from that share. Where the projection is far above the budget, the attempt gives up at once;
the flow that it has found stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..solving.run import Control

#: The share of the budget after which an attempt looks at its progress, and the multiple of the budget that
#: the projected work may be. Shares fall behind the work where paths grow longer: an energy whose search took
#: 0.41 of its budget had served a sixth of its sources after 0.2. Level graphs, on which searches take 3 to
#: 150 times as long as push-relabel, had served at most a twentieth.
FIRST_PART, MOST_BUDGETS = 0.2, 2.5


def run_watched(go_on: Callable[[], None], net: ResidualArrays, control: Control, reason: str) -> None:
    """Run `go_on` until it ends or, where there is a budget, the attempt should give up for a reason.

    `go_on` may end whenever the work limit is reached, and is called again after that.
    """
    if control.budget is None:
        go_on()
        return
    size = len(net.excess) + len(net.head)
    begun = _left(net)
    control.limit_by_budget(size, FIRST_PART)
    go_on()
    if not control.gave_up:
        return
    served = max(1 - _left(net) / np.maximum(begun, 1))
    if served * MOST_BUDGETS < FIRST_PART:
        control.check_budget(reason)
    control.limit_by_budget(size, 1 - FIRST_PART)
    go_on()
    control.check_budget(reason)


def _left(net: ResidualArrays) -> NDArray[np.float64]:
    """Return the excess that is left, the number of sources, and that of sinks."""
    sources, sinks = np.count_nonzero(net.excess), np.count_nonzero(net.sink_residual)
    return np.array([net.excess.sum(dtype=np.float64), sources, sinks])
