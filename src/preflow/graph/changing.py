"""The base of solvers that keep a network whose numbers change between solves."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray
from ..errors import InvalidInputError
from ..solving.exclusive import Exclusive
from ..solving.result import BoundedResult
from .network import as_array

Result = TypeVar("Result", bound=BoundedResult)


class Changing(Exclusive, Generic[Result]):
    """A network whose numbers change between solves, each of which starts from the last answer.

    A change that raises an error leaves everything as it was. Several threads may share a solver, see
    :class:`preflow.solving.exclusive.Exclusive`; a copy and a pickle go on from the last answer.
    """

    network: Any  #: with all changes so far
    result: Result | None  #: of the last solve; one that fails leaves it as it is

    def __init__(self) -> None:
        self.result = None
        self._reading: dict[str, float] = {}  #: times that the result of the first solve counts

    def _keep(self, result: Result) -> Result:
        """Keep a result that was just made, the first one with the time that reading the network took."""
        if self._reading:
            object.__setattr__(result, "stats", result.stats.including(self._reading))
            self._reading = {}
        self.result = result
        return result

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.network!r}, last result {self.result!r}>"


def read_changes(
    places: ArrayLike, values: ArrayLike, count: int, what: str
) -> tuple[NDArray[np.int64], Any]:
    """Return which of `count` things of a kind get new values, and the values: one, or a flat array.

    InvalidInputError: there is no such thing, or not one value for each.
    """
    numbers: AnyArray = as_array(places, f"the number of each {what}")
    if numbers.size and numbers.dtype.kind not in "iu":
        raise InvalidInputError(f"the number of each {what} must be an integer, got {places!r}")
    if numbers.size:
        least, most = int(numbers.min()), int(numbers.max())
        if least < 0 or most >= count:
            wrong = least if least < 0 else most
            raise InvalidInputError(f"there is no {what} {wrong}: there are {count}")
    if np.ndim(values) and np.shape(values) != np.shape(places):
        raise InvalidInputError(
            f"values has shape {np.shape(values)}, expected one number, or {np.shape(places)}"
        )
    flat = values if np.ndim(values) == 0 else as_array(values, "values").reshape(-1)
    return numbers.reshape(-1).astype(np.int64), flat
