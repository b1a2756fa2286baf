"""What every result has: a status, two bounds, and a value once they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from ..errors import NotOptimalError
from ..stats import SolveStats

Status = Literal["optimal", "time-limit", "unproved"]


@dataclass(frozen=True, eq=False, repr=False)
class BoundedResult:
    """A solve's outcome, optimal or cut short, or stopped by a rule that proves nothing ("unproved").

    Attributes
    ----------
    status : {"optimal", "time-limit", "unproved"}
    lower_bound, upper_bound : int or float
        The optimum lies between them; equal when optimal.
    stats : SolveStats
    """

    status: Status
    lower_bound: int | float
    upper_bound: int | float
    stats: SolveStats

    @property
    def value(self) -> int | float:
        """The optimum.

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        """
        if self.status != "optimal":
            self._raise_not_optimal()
        return self.lower_bound

    def _raise_not_optimal(self) -> NoReturn:
        why = (
            "stopped at its time limit"
            if self.status == "time-limit"
            else "stopped by a rule that proves nothing"
        )
        raise NotOptimalError(
            f"the solve {why}: the optimum lies between {self.lower_bound} (lower_bound) "
            f"and {self.upper_bound} (upper_bound)"
        )
