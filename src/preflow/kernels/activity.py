"""How many vertices are active in the course of a solve: a bounded number of samples.

A *sample* is the largest number of active vertices that one thread saw in a row of discharges. All rows are
equally long. When there is no room for another sample, pairs of samples become one and rows become twice as
long. So a long solve ends with half of the room to all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Number
from .constants import ONE, TWO, ZERO
from .kernel import kernel

#: Room for samples, an even number.
ROOM = 256
#: Positions in Activity.row: the number of full samples, the discharges of a row, those of the present row.
FULL, LENGTH, SEEN = np.uint64(0), np.uint64(1), np.uint64(2)


class Activity(NamedTuple):
    """Samples of the number of active vertices; one thread takes them."""

    samples: NDArray[np.int64]  #: shape (ROOM,): without places if nothing is recorded
    row: NDArray[np.uint64]  #: see FULL, LENGTH and SEEN


def make_activity(recorded: bool) -> Activity:
    """Return room for samples, or none if nothing is to be recorded."""
    return Activity(np.zeros(ROOM if recorded else 0, dtype=np.int64), np.array([0, 1, 0], dtype=np.uint64))


def taken(activity: Activity) -> list[int]:
    """Return the samples, also that of the last row, which may be shorter."""
    full, _, seen = activity.row.tolist()
    samples: list[int] = activity.samples[: full + (seen > 0)].tolist()
    return samples


@kernel
def records(activity: Activity) -> bool:
    """Return whether anything is recorded."""
    return len(activity.samples) > 0


@kernel
def note(activity: Activity, active: Number) -> None:
    """Note how many vertices are active after a discharge."""
    samples, row = activity.samples, activity.row
    k = row[FULL]
    samples[k] = max(samples[k], np.int64(active))
    row[SEEN] += ONE
    if row[SEEN] < row[LENGTH]:
        return
    row[SEEN] = ZERO
    k += ONE
    if k == np.uint64(len(samples)):
        half = k // TWO
        k = ZERO
        while k < half:
            samples[k] = max(samples[TWO * k], samples[TWO * k + ONE])
            k += ONE
        samples[half:] = 0
        row[LENGTH] *= TWO
    row[FULL] = k
