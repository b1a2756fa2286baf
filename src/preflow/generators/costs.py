"""Costs of assignments: the dense and sparse families of published comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from .parameters import distinct_rows, seeded

if TYPE_CHECKING:
    import scipy.sparse


def uniform_integer_costs(n: int, *, largest: int = 10**6, seed: int = 0) -> NDArray[np.int64]:
    """Return uniformly random integers from 0 to `largest`.

    Examples
    --------
    >>> uniform_integer_costs(100, largest=9).max()
    np.int64(9)
    """
    n = check_integer("n", n)
    largest = check_integer("largest", largest, minimum=0)
    return seeded(seed).integers(0, largest, size=(n, n), endpoint=True)


def uniform_costs(n: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return uniformly random floats from 0 to 1.

    Examples
    --------
    >>> uniform_costs(100).shape
    (100, 100)
    """
    n = check_integer("n", n)
    return seeded(seed).random((n, n))


def geometric_costs(n: int, *, dimension: int = 2, seed: int = 0) -> NDArray[np.float64]:
    """Return the Euclidean distances between two sets of uniformly random points of a cube.

    Examples
    --------
    >>> bool(geometric_costs(100).max() < 2**0.5)
    True
    """
    n = check_integer("n", n)
    dimension = check_integer("dimension", dimension)
    rng = seeded(seed)
    points, others = rng.random((2, n, dimension))
    squares = np.zeros((n, n))
    for axis in range(dimension):
        squares += np.subtract.outer(points[:, axis], others[:, axis]) ** 2
    return np.sqrt(squares)


def machol_wien_costs(n: int) -> NDArray[np.int64]:
    """Return ``i * j`` for rows and columns numbered from 1: every search reaches all rows before it.

    Machol and Wien, "A 'hard' assignment problem", Operations Research 24 (1976).

    Examples
    --------
    >>> machol_wien_costs(3).tolist()
    [[1, 2, 3], [2, 4, 6], [3, 6, 9]]
    """
    n = check_integer("n", n)
    numbers = np.arange(1, n + 1)
    return np.multiply.outer(numbers, numbers)


def low_rank_costs(n: int, *, rank: int = 5, seed: int = 0) -> NDArray[np.float64]:
    """Return the product of two uniformly random matrices of `rank` columns and rows.

    Examples
    --------
    >>> int(np.linalg.matrix_rank(low_rank_costs(100)))
    5
    """
    n = check_integer("n", n)
    rank = check_integer("rank", rank)
    rng = seeded(seed)
    return rng.random((n, rank)) @ rng.random((rank, n))


def two_costs(
    n: int, *, share: float = 0.01, low: int = 1, high: int = 100, seed: int = 0
) -> NDArray[np.int64]:
    """Return costs that are `low` for a random fraction `share` of the entries, and `high` for the others.

    Examples
    --------
    >>> np.unique(two_costs(100)).tolist()
    [1, 100]
    """
    n = check_integer("n", n)
    share = check_number("share", share)
    return np.where(seeded(seed).random((n, n)) < share, low, high).astype(np.int64)


def neighbor_costs(n: int, *, degree: int = 20, largest: int = 100, seed: int = 0) -> scipy.sparse.csr_array:
    """Return random costs from 1 to `largest` on `degree` random columns per row, and on the diagonal.

    Examples
    --------
    >>> 2000 < neighbor_costs(100).nnz <= 2100
    True
    """
    n = check_integer("n", n)
    degree = check_integer("degree", degree)
    largest = check_integer("largest", largest)
    rng = seeded(seed)
    columns = distinct_rows(rng, n, degree, n)
    return _with_diagonal(columns, rng.integers(1, largest, size=(n, degree + 1), endpoint=True))


def nearest_costs(n: int, *, degree: int = 20, scale: int = 10**6, seed: int = 0) -> scipy.sparse.csr_array:
    """Return rounded distances, times `scale`, from random points of a square to the `degree` nearest others.

    Each row also has the column of its own number, so that an assignment exists.

    Examples
    --------
    >>> 2000 < nearest_costs(100).nnz <= 2100
    True
    """
    from scipy.spatial import KDTree

    n = check_integer("n", n)
    degree = check_integer("degree", degree)
    scale = check_integer("scale", scale)
    if degree > n:
        raise InvalidInputError(f"degree must be at most n {n}, got {degree}")
    points, others = seeded(seed).random((2, n, 2))
    distance, column = KDTree(others).query(points, k=np.arange(1, degree + 1))
    own = np.sqrt(((points - others) ** 2).sum(axis=1))
    costs = np.rint(scale * np.column_stack([distance, own])).astype(np.int64)
    return _with_diagonal(np.asarray(column), costs)


def _with_diagonal(columns: Array, costs: NDArray[np.int64]) -> scipy.sparse.csr_array:
    """Return the matrix with costs on the columns of every row and, last of all, on the diagonal."""
    from scipy.sparse import coo_array

    n, degree = columns.shape
    own = (columns == np.arange(n)[:, None]).any(axis=1)
    rows = np.repeat(np.arange(n), degree + 1).reshape(n, degree + 1)
    every = np.column_stack([columns, np.arange(n)])
    kept = np.ones(every.shape, dtype=bool)
    kept[own, -1] = False
    return coo_array((costs[kept], (rows[kept], every[kept])), shape=(n, n)).tocsr()


#: Every family of costs by name; each takes the number of rows first.
COST_FAMILIES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "uniform-integer": uniform_integer_costs,
        "uniform": uniform_costs,
        "geometric": geometric_costs,
        "machol-wien": machol_wien_costs,
        "low-rank": low_rank_costs,
        "two-cost": two_costs,
        "neighbors": neighbor_costs,
        "nearest": nearest_costs,
    }
)
