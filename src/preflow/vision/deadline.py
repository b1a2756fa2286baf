"""One time limit for several minimum cuts."""

from __future__ import annotations

import time

from ..solving.run import check_time_limit

#: Seconds that a cut gets at least, for it to say that time was up.
LEAST = 1e-3


class Deadline:
    """So many seconds from now, or none.

    Raises
    ------
    InvalidInputError
        That is no positive number.
    """

    def __init__(self, time_limit: float | None) -> None:
        check_time_limit(time_limit)
        self._end = None if time_limit is None else time.monotonic() + time_limit

    def passed(self) -> bool:
        """Return whether time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def left(self) -> float | None:
        """Return what is left of the time limit, for the next cut."""
        return None if self._end is None else max(self._end - time.monotonic(), LEAST)
