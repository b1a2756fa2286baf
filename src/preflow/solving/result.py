"""The base of all results: a status, two bounds, and a value once they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

from ..errors import NotOptimalError
from ..stats import SolveStats
from .read_only import ReadOnlyArrays
from .timing import solving_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Status = Literal["optimal", "time-limit", "unproved", "approximate", "flow-limit"]

#: Why a result with another status has no value.
NOT_OPTIMAL = {
    "time-limit": "the solve stopped at its time limit",
    "unproved": "the solve stopped by a rule that proves nothing",
    "approximate": "the method is approximate, or float64 does not allow a closer proof",
    "flow-limit": "the flow has the largest value that flow_limit allows",
}
#: The same for the repr.
HEADLINES = {
    "time-limit": "stopped at the time limit",
    "unproved": "not proved optimal",
    "approximate": "approximate",
    "flow-limit": "at the flow limit",
}


#: A repr leaves out a gap that is at most this fraction of the value.
NEGLIGIBLE_GAP = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class BoundedResult(ReadOnlyArrays):
    """A solve's outcome, with bounds that are proved.

    The status is "optimal", "time-limit" where the solve was cut short, "unproved" where a rule that proves
    nothing ended it, "approximate" where the method promises a fraction of the optimum only or floats do not
    allow a closer proof (:func:`preflow.graph.scaling.is_close`), or "flow-limit" where the argument
    `flow_limit` of :func:`preflow.max_flow` ended it.

    Each problem has a subclass with the answer, its proof, and `verify`. Arrays on the host are read-only:
    the code that makes the result clears ``flags.writeable``.

    Results can be pickled and copied, and `verify` works on the copy. A result whose arrays are on a GPU can
    only be unpickled where there is one.

    Attributes
    ----------
    status : {"optimal", "time-limit", "unproved", "approximate", "flow-limit"}
    lower_bound, upper_bound : int or float
        The optimum lies between them; equal when optimal. For float data both hold up to `gap`.
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
            The solve stopped early, or the method is approximate.
        """
        self.check_optimal()
        return self.lower_bound

    def check_optimal(self) -> None:
        """Raise NotOptimalError if the status is not "optimal"."""
        if self.status != "optimal":
            self._raise_not_optimal()

    @property
    def gap(self) -> int | float:
        """How far the value may be from the optimum of the data as given; proved.

        0 for an optimum of integers. For floats a bound on what rounding may have changed, small beside the
        value. The difference of the two bounds otherwise.
        """
        return self.upper_bound - self.lower_bound

    def _value_and_gap(self) -> str:
        """Return the value of an optimal result for its repr, with the gap where that is not negligible."""
        if self.gap <= NEGLIGIBLE_GAP * abs(self.value):
            return f"value {self.value:,}"
        return f"value {self.value:,} within {self.gap:.2g}"

    def _headline(self) -> str:
        """Return the value, or why there is none and the bounds, for the repr."""
        if self.status == "optimal":
            return self._value_and_gap()
        return f"{HEADLINES[self.status]}, between {self.lower_bound:,} and {self.upper_bound:,}"

    def _how(self) -> str:
        """Return the method and the seconds that it took, for the repr."""
        return f"{self.stats.method}, {solving_seconds(self.stats.seconds):.3g} s"

    def _repr_html_(self) -> str:
        """Return the result as a small table, which notebooks show."""
        from ..notebook import html_table

        name, _, found = repr(self)[1:-1].partition(": ")
        used = self.stats
        threads = f", {used.threads} threads" if used.threads > 1 else ""
        rows = {
            "status": self.status,
            "result": found.removesuffix(f", {self._how()}"),
            "method": f"{used.method} on {used.device}{threads}: {used.reason}",
            "seconds": ", ".join(f"{phase} {taken:.3g}" for phase, taken in used.seconds.items()),
        }
        return html_table(name, list(rows.items()))

    def _labelled(self, axes: Axes) -> Axes:
        """Return the axes of a picture, which says above it where the result is not optimal."""
        from ..drawing.axes import say

        return say(axes, HEADLINES.get(self.status, ""))

    def _raise_not_optimal(self) -> NoReturn:
        raise NotOptimalError(
            f"{NOT_OPTIMAL[self.status]}: the optimum lies between {self.lower_bound} (lower_bound) "
            f"and {self.upper_bound} (upper_bound)"
        )
