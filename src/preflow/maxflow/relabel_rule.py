"""When a global relabel is due: options that several maximum-flow solvers share."""

from __future__ import annotations

from typing import Any, Literal

from ..solving.options import UNLIMITED, check_choice, check_positive_number, limit

RelabelRule = Literal["relabels", "work"]


def check_relabel_rule(rule: object, period: object) -> None:
    """Check when a global relabel is due: which quantity is counted, and how much of it."""
    check_choice("relabel_rule", rule, ("relabels", "work"))
    check_positive_number("relabel_period", period)


def relabel_limits(rule: str, period: float, num_vertices: int, num_arcs: int) -> tuple[Any, Any]:
    """Return after how many relabels, and after how much work, a global relabel is due.

    The rule "relabels" counts ``period * n`` relabels (F_PRF, Q_PRF, M_PRF, H_PRF, Cihan), the rule
    "work" ``period * (6 n + m)`` arc scans and relabels weighted as in the HI_PR codes.
    """
    if rule == "relabels":
        return limit(period * num_vertices), UNLIMITED
    return UNLIMITED, limit(period * (6 * num_vertices + num_arcs))
