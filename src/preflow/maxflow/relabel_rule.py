"""When a global relabel is due: the options `relabel_rule` and `relabel_period` of the max-flow solvers."""

from __future__ import annotations

from typing import Literal

from ..arrays import Number
from ..solving.options import UNLIMITED, limit

RelabelRule = Literal["relabels", "work"]


def relabel_limits(rule: str, period: float, num_vertices: int, num_arcs: int) -> tuple[Number, Number]:
    """Return after how many relabels, and after how much work, a global relabel is due.

    The rule "relabels" counts ``period * n`` relabels, as F_PRF, Q_PRF, M_PRF, H_PRF and Cihan do. The rule
    "work" counts ``period * (6 n + m)`` arc scans and relabels, weighted as in the HI_PR codes.
    """
    if rule == "relabels":
        return limit(period * num_vertices), UNLIMITED
    return UNLIMITED, limit(period * (6 * num_vertices + num_arcs))
