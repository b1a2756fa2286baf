"""How many vertices are active in the course of a solve: a table of the samples of `stats.active`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ..problem import Table
from ..records import InstanceRecord
from ..scaling import own_contestants

#: The option that records the samples.
RECORDED = "record_active=True"
#: The samples are shown as the maxima of this number of equal parts of the solve.
PARTS = 4


def largest_of_parts(samples: Sequence[int], parts: int = PARTS) -> list[int]:
    """Return the largest sample of each of some nearly equal parts, at most as many as there are samples."""
    parts = min(parts, len(samples))
    ends = [len(samples) * k // parts for k in range(parts + 1)]
    return [max(samples[begin:end]) for begin, end in pairwise(ends)]


def activity_table(records: Sequence[InstanceRecord], published: Mapping[str, str]) -> list[Table]:
    """Return the numbers of active vertices, where they were recorded.

    Parameters
    ----------
    records : sequence of InstanceRecord
    published : mapping
        What the paper says, by the name of the instance.
    """
    rows = []
    for record in records:
        for contestant in own_contestants([record]):
            measured = record.of(contestant)
            samples = measured.detail.get("active") if measured else None
            if not samples:
                continue
            vertices = record.sizes["vertices"]
            rows.append(
                [
                    record.name,
                    contestant,
                    f"{vertices:,}",
                    f"{max(samples):,}",
                    f"{max(samples) / vertices:.2%}",
                    f"{sum(samples) / len(samples):,.0f}",
                    f"{samples[0]:,}",
                    " ".join(f"{number:,}" for number in largest_of_parts(samples)),
                    published.get(record.name, ""),
                ]
            )
    if not rows:
        return []
    title = (
        "Active vertices. A sample is the largest number that the first thread saw in an equal part of its "
        "discharges; the mean is over the samples, and the last columns are the largest of each quarter"
    )
    header = ["instance", "contestant", "vertices", "most active", "share", "mean", "at first", "by quarter"]
    return [Table(title, [*header, "published"], rows)]
