"""Means and standard deviations over the instances of a family."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from ..records import TOTAL, Measurement


class Mean(NamedTuple):
    """A mean and the standard deviation of a sample, 0 of a single value."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean and the deviation of some values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)

    def text(self, form: str) -> str:
        """Return both for a table."""
        return f"{self.mean:{form}} ± {self.deviation:{form}}" if self.deviation else f"{self.mean:{form}}"


def mean_seconds(solved: Sequence[Measurement]) -> Mean | None:
    """Return the mean of the median times on several instances, or of all runs on a single one."""
    if not solved:
        return None
    if len(solved) == 1:
        return Mean.of(solved[0].all_seconds(TOTAL))
    return Mean.of([each.median(TOTAL) or 0.0 for each in solved])
