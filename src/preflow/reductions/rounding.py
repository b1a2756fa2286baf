"""Matrix rounding as a circulation with lower bounds (Bacharach 1966; Cox and Ernst 1982).

Each entry is rounded up or down so that each sum of a row, each sum of a column and the total are rounded up
or down as well. Rows send to columns: what is left to decide is which fractional entries get one more. The
fractions themselves are a feasible flow, so an integral one exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..certify.fields import check_array
from ..checks import check_finite
from ..drawing.pairs import check_cells, draw_rounding
from ..errors import InvalidInputError, VerificationError
from ..graph.cost_network import CostNetwork
from ..graph.placement import host_array
from ..maxflow.result import MaxFlowResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from .base import FlowReduction
from .feasible import CirculationAsMaxFlow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A sum of fractions that is so near to an integer is that integer. As long as all these differences add up
#: to less than one, no cut of the circulation lacks a whole unit because of them.
NEAR = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RoundedMatrix(DrawnResult):
    """A matrix of integers whose entries and sums are those of another one, each rounded up or down.

    Attributes
    ----------
    values : ndarray of int64, shape (n, m)
    given : ndarray, shape (n, m)
    """

    values: NDArray[np.int64]
    given: Array

    def verify(self) -> None:
        """Check that each entry, each sum of a row or a column, and the total are rounded up or down."""
        floor, fraction = _parts(self.given)
        check_array(np, self.values, "values", floor.shape, np.int64)
        more = self.values - floor
        if ((more < 0) | (more > (fraction > 0))).any():
            raise VerificationError("an entry is neither rounded up nor down")
        for name, axis in (("a row", 1), ("a column", 0), ("all entries", None)):
            least, most = _bounds(fraction.sum(axis=axis))
            sums = more.sum(axis=axis)
            if ((sums < least) | (sums > most)).any():
                raise VerificationError(f"the sum of {name} is neither rounded up nor down")

    def _summary(self) -> str:
        n, m = self.values.shape
        return f"shape {n:,} x {m:,}, total {int(self.values.sum()):,}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the integers, with colours for how far each entry was rounded up or down."""
        check_cells(self.values.shape)
        return draw_rounding(ax, self.values, self.given.astype(np.float64))


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundingAsCirculation(FlowReduction[RoundedMatrix]):
    """Matrix rounding as a feasible circulation, and that as a maximum flow.

    Attributes
    ----------
    network : FlowNetwork
    source, sink : int
        The maximum flow that finds the circulation.
    circulation : CirculationAsMaxFlow
        Its `given` has an arc for each fractional entry by rows, for each row, for each column, and for the
        total.
    given : ndarray, shape (n, m)

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.RoundingAsCirculation.of([[0.5, 1.5], [2, 0.5]])
    >>> reduction.circulation.given.num_arcs
    8
    >>> reduction.solve().values.sum(axis=0).tolist() in ([2, 2], [3, 2])
    True
    """

    circulation: CirculationAsMaxFlow
    given: Array

    @classmethod
    def of(cls, matrix: ArrayLike) -> Self:
        """Build the circulation and its maximum flow.

        Parameters
        ----------
        matrix : array_like of numbers, shape (n, m)
            Finite, below 2**53 in size.
        """
        given = host_array(matrix, "matrix").copy()
        if given.ndim != 2 or given.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"a matrix of numbers is needed, got shape {given.shape} of {given.dtype}"
            )
        check_finite("matrix", given)
        if given.size and not np.abs(given.astype(np.float64)).max() < 2.0**53:
            raise InvalidInputError("entries must be below 2**53 in size")
        n, m = given.shape
        _, fraction = _parts(given)
        row, column = np.nonzero(fraction)
        source, sink = n + m, n + m + 1
        least, most = (
            np.concatenate(parts)
            for parts in zip(
                *(_bounds(np.atleast_1d(fraction.sum(axis=axis))) for axis in (1, 0, None)), strict=True
            )
        )
        none = np.zeros(len(row), dtype=np.int64)
        network = CostNetwork.from_arrays(
            np.concatenate([row, np.full(n, source), n + np.arange(m), [sink]]),
            np.concatenate([n + column, np.arange(n), np.full(m, sink), [source]]),
            capacity=np.concatenate([none + 1, most]),
            lower=np.concatenate([none, least]),
            num_vertices=n + m + 2,
        )
        circulation = CirculationAsMaxFlow.of(network)
        return cls(
            network=circulation.network,
            source=circulation.source,
            sink=circulation.sink,
            circulation=circulation,
            given=given,
        )

    def solution(self, result: MaxFlowResult) -> RoundedMatrix:
        """Return the rounded matrix."""
        flow = self.circulation.solution(result).flow
        values, fraction = _parts(self.given)
        row, column = np.nonzero(fraction)
        values[row, column] += flow[: len(row)]
        return RoundedMatrix(values, self.given)


def _parts(matrix: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the entries rounded down, and what is left of them."""
    values = matrix.astype(np.float64)  # sums of smaller floats would be rounded
    floor = np.floor(values)
    return floor.astype(np.int64), values - floor


def _bounds(sums: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sums of fractions rounded down and rounded up."""
    return np.floor(sums + NEAR).astype(np.int64), np.ceil(sums - NEAR).astype(np.int64)


def round_matrix(matrix: ArrayLike, **arguments: Unpack[Keywords]) -> RoundedMatrix:
    """Round a matrix so that the sums of rows and columns fit: controlled rounding.

    Each entry becomes the integer below or above it, and so do each sum of a row, each sum of a column, and
    the total. Entries that are integers stay.

    Parameters
    ----------
    matrix : array_like of numbers, shape (n, m)
        Finite, below 2**53 in size. A sum within 1e-9 of an integer counts as that integer.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.max_flow`.

    Returns
    -------
    RoundedMatrix

    Examples
    --------
    >>> import preflow
    >>> rounded = preflow.reductions.round_matrix([[0.25, 0.75], [1.5, 0.5]])
    >>> rounded.values.sum(axis=1).tolist(), rounded.values.sum().item()
    ([1, 2], 3)
    >>> rounded.verify()
    """
    return RoundingAsCirculation.of(matrix).solve(**arguments)
