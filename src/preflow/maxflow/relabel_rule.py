"""When a global relabel is due: the options `relabel_rule` and `relabel_period` of the max-flow solvers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import Number
from ..solving.options import UNLIMITED, limit

RelabelRule = Literal["relabels", "work", "hi-pr"]
#: The work of a relabel beside the arcs that it scans, in arc scans (Goldberg's beta).
RELABEL_WORK = np.uint64(12)
#: Relabels a vertex for which the log has room between two global relabels; a full log makes a global
#: relabel due.
LOGGED_RELABELS = 8


def relabel_limits(rule: str, period: float, num_vertices: int, num_arcs: int) -> tuple[Number, Number]:
    """Return after how many relabels, and after how much work, a global relabel is due.

    The rule "relabels" counts ``period * n`` relabels, as F_PRF, Q_PRF, M_PRF, H_PRF and Cihan do. The rules
    "work" and "hi-pr" count ``period * (6 n + m)`` and ``period * (12 n + m)`` arc scans and relabels,
    weighted as in the HI_PR codes. These relabel globally when half of the work exceeds 6 n plus the arcs of
    the input. An input arc and its opposite are two arcs here, so "hi-pr" has that limit, which about n
    relabels reach.
    """
    if rule == "relabels":
        return limit(period * num_vertices), UNLIMITED
    weight = 12 if rule == "hi-pr" else 6
    return UNLIMITED, limit(period * (weight * num_vertices + num_arcs))


def relabel_log_size(relabel_limit: Any, work_limit: Any, num_vertices: int) -> int:
    """Return the greatest number of relabels that are logged between two global relabels.

    It includes the relabel that reaches a limit and one more, which ends the discharge.
    """
    return int(min(relabel_limit, work_limit // RELABEL_WORK, LOGGED_RELABELS * num_vertices)) + 2
