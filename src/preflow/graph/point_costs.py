"""Costs of assignments that are distances between points: computed when needed, never stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, DType, Restorer
from ..checks import check_finite
from ..errors import InvalidInputError
from .cost_base import HostCosts
from .placement import host_array, restorer_of

#: Kinds of distances in kernels. The cosine distance is half the squared distance of unit vectors.
EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK, CHEBYSHEV = range(4)
KINDS = {
    "euclidean": EUCLIDEAN,
    "sqeuclidean": SQEUCLIDEAN,
    "cityblock": CITYBLOCK,
    "chebyshev": CHEBYSHEV,
    "cosine": SQEUCLIDEAN,
}
#: SciPy's names of the kinds.
SCIPY_NAMES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev")
#: Sums of n costs of at most LARGEST / n stay finite.
LARGEST = 1e300
#: Integers up to this one are exact in float64.
LARGEST_INTEGER = 2**53
#: The points of a side are numbered with 32 bits.
MOST_POINTS = 2**32 - 2


@dataclass(frozen=True, eq=False, repr=False)
class PointCosts(HostCosts):
    """Distances between two sets of points as the costs of an assignment, in memory O(points).

    Parameters
    ----------
    rows : array_like, shape (n, d)
        One point a row of the cost matrix; integers or floats of up to 64 bits. Arrays may be those of any
        library with ``__dlpack__``, such as Torch or JAX: those of results are of the same kind.
    columns : array_like, shape (m, d)
    metric : {"euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine"}
        As in :func:`scipy.spatial.distance.cdist`; distances are float64. The cosine distance is computed
        as half the squared distance of the unit vectors, which stays exact for small angles.

    Raises
    ------
    InvalidInputError
        Not points of one dimension, an unknown metric, a coordinate that is NaN or infinite, an integer
        beyond 2**53, distances too large to be added up, or a zero vector where the metric is "cosine".

    Examples
    --------
    >>> import preflow
    >>> costs = preflow.PointCosts([[0, 0], [3, 4]], [[3, 3], [0, 1]])
    >>> result = preflow.linear_assignment(costs)
    >>> result.column.tolist(), result.cost
    ([1, 0], 2.0)
    """

    rows: NDArray[np.float64]
    columns: NDArray[np.float64]
    metric: str = field(default="euclidean", kw_only=True)
    #: Whether the total is to be maximised, and whether costs are minus the distances: set by solvers.
    maximize: bool = field(default=False, kw_only=True)
    negated: bool = field(default=False, kw_only=True)
    #: Converts NumPy arrays to the caller's kind of array; None where the caller uses NumPy.
    restore: Restorer = field(default=None, kw_only=True)

    #: The leading dimensions of one matrix.
    leading: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str) or self.metric not in KINDS:
            raise InvalidInputError(f"metric must be one of {', '.join(KINDS)}, got {self.metric!r}")
        restore = self.restore or restorer_of(self.rows, self.columns)
        object.__setattr__(self, "restore", restore)
        object.__setattr__(self, "rows", _as_points("rows", self.rows))
        object.__setattr__(self, "columns", _as_points("columns", self.columns))
        if self.rows.shape[1] != self.columns.shape[1]:
            raise InvalidInputError(
                f"points have one dimension, got rows of {self.rows.shape[1]} coordinates "
                f"and columns of {self.columns.shape[1]}"
            )
        if self.metric == "cosine":
            for side, points in (("rows", self.rows), ("columns", self.columns)):
                zero = ~points.any(axis=1)
                if zero.any():
                    raise InvalidInputError(f"{side}[{int(zero.argmax())}] is 0: it has no cosine distance")
        elif not self.largest() <= LARGEST / max(min(len(self.rows), len(self.columns)), 1):
            raise InvalidInputError("the distances are too large to be added up")

    def largest(self) -> float:
        """Return a number that no distance exceeds."""
        if not len(self.rows) or not len(self.columns):
            return 0.0
        low = np.minimum(self.rows.min(axis=0), self.columns.min(axis=0))
        high = np.maximum(self.rows.max(axis=0), self.columns.max(axis=0))
        with np.errstate(over="ignore"):
            return float(distances(np.abs(high - low), self.kind).max(initial=0.0))

    @property
    def kind(self) -> int:
        """The distance between the points of `embedded`: EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK or CHEBYSHEV."""
        return KINDS[self.metric]

    @property
    def factor(self) -> float:
        """The factor of distances between the points of `embedded`: 1, 0.5 or minus that."""
        return (-1.0 if self.negated else 1.0) * (0.5 if self.metric == "cosine" else 1.0)

    @cached_property
    def embedded(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The points of rows and of columns; unit vectors for the cosine distance."""
        if self.metric != "cosine":
            return self.rows, self.columns
        return _unit_vectors(self.rows), _unit_vectors(self.columns)

    @property
    def shape(self) -> tuple[int, int, int]:
        """1, number of rows, number of columns."""
        return 1, len(self.rows), len(self.columns)

    @property
    def dtype(self) -> DType:
        """The dtype of costs, float64."""
        return np.dtype(np.float64)

    def to_minimize(self) -> PointCosts:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments."""
        found = replace(self, maximize=False, negated=self.negated != self.maximize)
        return found.transposed() if len(self.rows) > len(self.columns) else found

    def transposed(self) -> PointCosts:
        """Return the costs with rows and columns exchanged."""
        return replace(self, rows=self.columns, columns=self.rows)

    def at(self, item: Any, rows: AnyArray, columns: AnyArray) -> NDArray[np.float64]:
        """Return the costs of pairs."""
        points, others = self.embedded
        return self.factor * distances(points[rows] - others[columns], self.kind)

    def one(self, item: int) -> PointCosts:
        """Return itself, the only item."""
        return self

    def block(self, begin: int, end: int, *, stride: int = 1) -> NDArray[np.float64]:
        """Return the costs of every `stride`-th row from `begin` to `end` with all columns; by SciPy."""
        from scipy.spatial.distance import cdist

        points, others = self.embedded
        found: NDArray[np.float64] = cdist(points[begin:end:stride], others, SCIPY_NAMES[self.kind])
        found *= self.factor
        return found

    def __repr__(self) -> str:
        n, dimension = self.rows.shape
        return f"<PointCosts: {n} x {len(self.columns)} points, dimension {dimension}, {self.metric}>"


def distances(gaps: NDArray[np.float64], kind: int) -> NDArray[np.float64]:
    """Return the length of every vector along the last axis, rounded as in the kernels."""
    total = np.zeros(gaps.shape[:-1])
    for axis in range(gaps.shape[-1]):
        gap = np.abs(gaps[..., axis])
        if kind == CHEBYSHEV:
            total = np.maximum(total, gap)
        else:
            total = total + (gap if kind == CITYBLOCK else gap * gap)
    return np.sqrt(total) if kind == EUCLIDEAN else total


def _as_points(side: str, given: Any) -> NDArray[np.float64]:
    """Return points as float64, checked."""
    points = host_array(given, side)
    if points.ndim != 2:
        raise InvalidInputError(f"{side} must be points, shape (n, d), got shape {points.shape}")
    if points.dtype.kind not in "biuf" or points.dtype.itemsize > 8:
        raise InvalidInputError(
            f"coordinates must be integers or floats of up to 64 bits, got dtype {points.dtype} of {side}"
        )
    if points.shape[1] == 0:
        raise InvalidInputError(f"points have one coordinate or more, got {side} of shape {points.shape}")
    if len(points) > MOST_POINTS:
        raise InvalidInputError(f"at most {MOST_POINTS} points, got {len(points)} {side}")
    if points.dtype.kind in "iu" and points.size:
        largest = max(int(points.max()), -int(points.min()))
        if largest > LARGEST_INTEGER:
            raise InvalidInputError(
                f"integer coordinates must be at most 2**53 in size, got one of size {largest}"
            )
    found = np.ascontiguousarray(points, dtype=np.float64)
    check_finite(f"the array of {side}", found)
    return found


def _unit_vectors(points: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled = points / np.abs(points).max(axis=1, keepdims=True)
    length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    found: NDArray[np.float64] = scaled / length
    return found
