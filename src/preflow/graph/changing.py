"""The base of solvers that keep a network whose numbers change between solves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Number
from ..checks import shown, warn_caller
from ..errors import InvalidInputError
from ..solving.exclusive import Exclusive
from ..solving.result import BoundedResult
from .network import as_array
from .vertex_names import ArcNames, VertexNames

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


class ArcChanges(NamedTuple):
    """Arcs that get new values."""

    arcs: NDArray[np.int64]
    values: Number  #: one number, or one for each arc
    #: of arcs that were called by their ends: which were given from the second vertex to the first
    against: NDArray[np.bool_] | None = None


def read_arc_changes(network: ArcNames, arcs: Any, values: ArrayLike, *, amounts: bool) -> ArcChanges:
    """Return which arcs get new values: they are called by their numbers, or by pairs of vertices.

    A pair means all arcs between its vertices. What they carry adds up: so all of them can get the `amounts`
    zero or infinity at once, and no others.
    InvalidInputError: there is no such arc, there are several, or not one value for each number or pair.
    """
    pairs = _pairs(network, arcs, values)
    if pairs is None:
        return ArcChanges(*read_changes(arcs, values, len(network.tail), "arc"))
    which, found, against = network.arcs_of_pairs(pairs)
    given: AnyArray = as_array(values, "values")
    if given.ndim and given.size != len(pairs):
        raise InvalidInputError(f"values has shape {given.shape}, expected one number, or {len(pairs)}")
    each = np.broadcast_to(given.reshape(-1), (len(pairs),))
    several = np.flatnonzero(np.bincount(which) > 1)
    for k in several.tolist() if amounts else ():
        if each[k] not in (0, np.inf):
            numbers = np.sort(found[which == k]).tolist()
            u, v = (network.name(network.vertex(name)) for name in pairs[k])
            raise InvalidInputError(
                f"{len(numbers)} arcs lead from {u} to {v}: give their numbers, {numbers}, and each its value"
            )
    return ArcChanges(found, each[which], against)


def _pairs(network: ArcNames, arcs: Any, values: ArrayLike) -> Sequence[tuple[Hashable, Hashable]] | None:
    """Return the pairs of vertices by which arcs are called; None if they are called by their numbers."""
    if getattr(arcs, "dtype", None) == np.dtype(object):  # an index of pandas, say
        arcs = arcs.tolist()
    if not isinstance(arcs, tuple | list) or not len(arcs):
        return None
    if isinstance(arcs, tuple) and len(arcs) == 2:
        whole = all(isinstance(each, int | np.integer) for each in arcs)
        if network.is_vertex(arcs[0]) and network.is_vertex(arcs[1]):
            if not whole:
                return [arcs]
            if np.ndim(values) == 0:
                raise InvalidInputError(
                    f"{arcs} may be the ends of an arc, or the numbers of two arcs: write [{arcs}] for the "
                    f"ends, {list(arcs)} for the numbers"
                )
        elif not whole and not all(isinstance(each, tuple) for each in arcs):
            return [arcs]
    return arcs if all(isinstance(each, tuple) and len(each) == 2 for each in arcs) else None


def read_ends(network: VertexNames, names: Any, role: str, *, numbered: bool = False) -> AnyArray:
    """Return the numbers of one vertex or several, in the order of their names; `role` is for messages.

    `numbered` says that numbers used to be taken also where the network has labels, of which these are none.
    """
    if network.labels is None:
        return np.atleast_1d(as_array(names, role))
    single = network.is_vertex(names) or isinstance(names, str | bytes) or not isinstance(names, Iterable)
    several = [names] if single else list(names)
    whole = all(isinstance(name, int | np.integer) for name in several)
    if numbered and several and whole and not any(map(network.is_vertex, several)):
        message = f"{role} is now given by the labels of the vertices; numbers are taken for one more release"
        warn_caller(message, DeprecationWarning)
        return np.array(several)
    return np.array([network.vertex(name) for name in several], dtype=np.int64)


def read_changes(
    places: ArrayLike, values: ArrayLike, count: int, what: str
) -> tuple[NDArray[np.int64], Number]:
    """Return which of `count` things of a kind get new values, and the values: one, or a flat array.

    InvalidInputError: there is no such thing, or not one value for each.
    """
    numbers: AnyArray = as_array(places, f"the number of each {what}")
    if numbers.size and numbers.dtype.kind not in "iu":
        pair = "; the tuple (tail, head) of its vertices does as well" if what == "arc" else ""
        raise InvalidInputError(f"the number of each {what} must be an integer, got {shown(places)}{pair}")
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
