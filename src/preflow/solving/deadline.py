"""One time limit for several solves."""

from __future__ import annotations

import time

from .run import check_time_limit

#: Least time limit of a solve in seconds: it must be positive. The solve then reports that it was stopped.
LEAST = 1e-3


class Deadline:
    """A time limit that starts now, or none.

    Raises
    ------
    InvalidInputError
        `time_limit` is not a positive number.
    """

    def __init__(self, time_limit: float | None) -> None:
        seconds = check_time_limit(time_limit)
        self._end = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Return whether time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def left(self) -> float | None:
        """Return the rest of the time limit, for the next solve."""
        return None if self._end is None else max(self._end - time.monotonic(), LEAST)
