"""Permutation and scaling that put large entries on the diagonal of a sparse matrix.

Duff and Koster, "On algorithms for permuting large entries to the diagonal of a sparse matrix", SIAM J.
Matrix Anal. Appl. 22 (2001), whose program is MC64; for symmetric matrices Duff and Pralet, "Strategies for
scaling and pivoting for sparse symmetric indefinite problems", SIAM J. Matrix Anal. Appl. 27 (2005).

The largest product is an assignment of the least cost, where an entry costs minus its logarithm. The prices
of its rows and columns are the logarithms of the scales. Logarithms are rounded to multiples of `tolerance`,
so that the assignment and its proof are exact in integers. The largest sum is an assignment as well. The
largest smallest entry is found by searches among the sizes of entries, each of which is a bipartite matching.

Departures from MC64:

- Costs are first reduced by the means of rows and columns. Where only the units of rows and columns differ,
  most rows then have some column's least cost, and few searches are left.
- A warm start takes prices, not a permutation: cost scaling starts from them, with an epsilon as large as the
  values have drifted.
- The scales of a singular matrix leave no entry above 1, too. Rows and columns fall into two parts, whose
  assignments are independent (:mod:`preflow.assignment.most_pairs`); the prices of the parts are shifted
  so that the entries between them satisfy the bound.
- Of the two ways to cut an even cycle into pivots, and of the ways to cut an odd one, that with the largest
  product of determinants is taken; Duff and Pralet compare the patterns of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..assignment.api import linear_assignment
from ..assignment.api.call import assign_from
from ..assignment.policy import FEW_LEFT, share_left_by_minima
from ..assignment.result import AssignmentResult
from ..assignment.serial_cost_scaling import Start
from ..bipartite.api import bipartite_matching
from ..bipartite.cover import VertexCover
from ..bipartite.decomposition import with_all_columns
from ..bipartite.result import MatchingResult
from ..certify.assignment import alternating_cover
from ..certify.fields import check_array, check_flag, check_kind
from ..checks import check_positive, check_word, first_of, wrong_entry
from ..errors import (
    CapacityOverflowError,
    InfeasibleError,
    InvalidInputError,
    NotOptimalError,
    VerificationError,
)
from ..graph.costs import SparseCosts
from ..graph.network import exact_sum
from ..graph.placement import exact_array
from ..graph.sparse_input import read_sparse
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..solving.read_only import ReadOnlyArrays, make_read_only
from ..solving.run import Deadline

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Goal = Literal["product", "sum", "smallest"]
GOALS = ("product", "sum", "smallest")
#: The range of the logarithms is divided into at most two to this power parts.
RANGE_BITS = 46
#: Costs times the length of the longest path stay below two to this power, so that no price overflows.
SAFE_BITS = 57
#: The most sweeps over the means of rows and columns before the solve, and the share of the costs by which
#: the last one changes them.
MOST_SWEEPS, SETTLED = 20, 0.2
#: Two to this power is the largest scale; the smallest is its inverse.
LARGEST_EXPONENT = 1022
#: The logarithm of the least number of float64; a pivot of 0 counts as this.
NO_PIVOT = -1074.0


@dataclass(frozen=True, eq=False, repr=False)
class DiagonalScaling(ReadOnlyArrays):
    """A permutation with large entries on the diagonal, scales, and the proof that there is no better one.

    Attributes
    ----------
    permutation : ndarray of int64, shape (n,)
        ``matrix[:, permutation]`` has the chosen entries on its diagonal: row `i` has column
        ``permutation[i]``. Rows without an entry have the columns that are left, in ascending order.
    matched : ndarray of bool, shape (n,)
        Whether a row has an entry on the diagonal. All have, unless the matrix is structurally singular.
    log2_row_scale, log2_column_scale : ndarray of float64, shape (n,)
        The logarithms to base 2 of the scales; zeros unless the goal is "product". Let ``r`` and ``c`` be
        the scales. Then ``r[i] * abs(matrix[i, j]) * c[j]`` is at most 1 for all entries, and 1 for those of
        the permutation, except for a relative error of `tolerance`. The scale of an unmatched row or column
        makes its largest entry 1, and is 1 if it has no entry.
    pivot_pairs : ndarray of int64, shape (k, 2)
        With ``symmetric=True``: rows that make a pivot of two rows and columns each. All others are pivots
        of one. Otherwise there are none.
    tolerance : float
        The logarithms of entries are rounded to multiples of this.
    goal : {"product", "sum", "smallest"}
    symmetric : bool
    matrix : scipy.sparse.csr_array
        The matrix without stored zeros, a copy.
    proof : AssignmentResult, or two covers
        The assignment whose prices prove the product or the sum. For "smallest": rows and columns that cover
        all entries, as many as are on the diagonal; and fewer ones that cover all entries above the smallest.
    """

    permutation: NDArray[np.int64]
    matched: NDArray[np.bool_]
    log2_row_scale: NDArray[np.float64]
    log2_column_scale: NDArray[np.float64]
    pivot_pairs: NDArray[np.int64]
    tolerance: float
    goal: Goal
    symmetric: bool
    matrix: csr_array
    proof: AssignmentResult | tuple[VertexCover, VertexCover]

    @property
    def structural_rank(self) -> int:
        """The number of entries on the diagonal."""
        return int(np.count_nonzero(self.matched))

    @property
    def diagonal(self) -> Array:
        """The entries on the diagonal, by rows; 0 where a row has none."""
        found: Array = np.zeros(len(self.permutation), dtype=self.matrix.dtype)
        rows = np.flatnonzero(self.matched)
        if len(rows):
            found[rows] = self.matrix[rows, self.permutation[rows]]
        return found

    @property
    def value(self) -> int | float:
        """The sum, or the smallest, of the absolute values on the diagonal; of their product the log2.

        Of a diagonal without entries the sum is 0, the smallest infinite, and the logarithm 0.
        """
        if isinstance(self.proof, tuple):
            return _least(_sizes(self.diagonal[self.matched]))
        if self.goal == "sum":
            total: int | float = self.proof.cost
            return total
        return math.fsum(-_costs(self.diagonal[self.matched]))

    @property
    def row_scale(self) -> NDArray[np.float64]:
        """The scales of rows.

        Raises
        ------
        CapacityOverflowError
            A scale is past the range of float64. `log2_row_scale` has its logarithm, and `scaled` works.
        """
        return _powers(self.log2_row_scale, "row")

    @property
    def column_scale(self) -> NDArray[np.float64]:
        """The scales of columns, in the order of the given matrix.

        Raises
        ------
        CapacityOverflowError
            A scale is past the range of float64. `log2_column_scale` has its logarithm, and `scaled` works.
        """
        return _powers(self.log2_column_scale, "column")

    def scaled(self) -> csr_array:
        """Return the scaled matrix in float64 or complex128, with its columns permuted.

        With ``symmetric=True`` columns stay where they are, and the result is symmetric.

        Notes
        -----
        With the scales ``r`` and ``c`` and the permutation ``p`` the result is
        ``(diags_array(r) @ matrix @ diags_array(c))[:, p]``. So ``matrix @ x = b`` has the solution
        ``x[p] = c[p] * y``, where ``y`` solves ``scaled @ y = r * b``.
        """
        from scipy.sparse import csr_array

        matrix = self.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        exponent = self.log2_row_scale[row] + self.log2_column_scale[matrix.indices]
        data = _times_power(matrix.data, exponent)
        if self.symmetric:
            return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        place = np.empty(len(self.permutation), dtype=matrix.indices.dtype)
        place[self.permutation] = np.arange(len(place))
        found = csr_array((data, place[matrix.indices], matrix.indptr.copy()), shape=matrix.shape)
        found.sort_indices()
        return found

    def verify(self) -> None:
        """Prove that no permutation is better, by prices or covers, and check the scales.

        For "product" the proof is exact for logarithms that are rounded to multiples of `tolerance`: the
        logarithm of a larger product would exceed that of this one by at most n times `tolerance`.
        """
        n = self.matrix.shape[0]
        check_word("goal", self.goal, GOALS)
        check_flag(self.symmetric, "symmetric")
        check_array(np, self.permutation, "permutation", (n,), np.int64)
        check_array(np, self.matched, "matched", (n,), np.bool_)
        check_kind(self.tolerance, "tolerance", float)
        if not np.array_equal(np.sort(self.permutation), np.arange(n)):
            raise VerificationError("permutation does not have every column once")
        rows = np.flatnonzero(self.matched)
        columns = self.permutation[rows]
        left = np.setdiff1d(np.arange(n), columns)
        if not np.array_equal(self.permutation[~self.matched], left):
            raise VerificationError("columns that are left do not ascend")
        sizes = _sizes(self.matrix.data)
        if self.goal == "smallest":
            self._check_covers(rows, columns, sizes)
        else:
            self._check_assignment(rows, columns, sizes)
        self._check_scales(rows, columns)
        self._check_pivots()

    def _check_assignment(self, rows: NDArray[np.int64], columns: NDArray[np.int64], sizes: Array) -> None:
        """Prove that no other permutation has a larger product, or sum."""
        check_kind(self.proof, "proof", AssignmentResult)
        assert isinstance(self.proof, AssignmentResult)
        costs = self.proof.costs
        check_kind(costs, "the costs of the proof", SparseCosts)
        assert isinstance(costs, SparseCosts)
        self.proof.check_optimal()
        self.proof.verify()
        if not (np.array_equal(self.proof.row, rows) and np.array_equal(self.proof.column, columns)):
            raise VerificationError("permutation is not the assignment of the proof")
        values = (
            costs.values if costs.base is None else costs.values + costs.base_at(0, costs.row, costs.column)
        )
        expected = (
            sizes
            if self.goal == "sum"
            else _whole(_costs(self.matrix.data), check_positive("tolerance", self.tolerance))
        )
        same = np.array_equal(costs.first, self.matrix.indptr) and np.array_equal(
            costs.column, self.matrix.indices
        )
        if costs.maximize != (self.goal == "sum") or not same or not np.array_equal(values, expected):
            raise VerificationError("the proof is one of another matrix")

    def _check_covers(self, rows: NDArray[np.int64], columns: NDArray[np.int64], sizes: Array) -> None:
        """Prove that the diagonal has as many entries as possible, and the largest smallest one."""
        n = self.matrix.shape[0]
        check_kind(self.proof, "proof", tuple)
        assert isinstance(self.proof, tuple)
        every, above = self.proof
        row, column = _ends(self.matrix)
        chosen = self.permutation[row] == column
        if not np.array_equal(row[chosen & self.matched[row]], rows):
            raise VerificationError("a matched row has no entry on the diagonal")
        least = _least(sizes[chosen & self.matched[row]])
        for cover, counts, most in ((every, sizes >= 0, len(rows)), (above, sizes > least, len(rows) - 1)):
            check_kind(cover, "a cover", VertexCover)
            check_array(np, cover.rows, "rows of a cover", (n,), np.bool_)
            check_array(np, cover.columns, "columns of a cover", (n,), np.bool_)
            if (counts & ~cover.rows[row] & ~cover.columns[column]).any():
                raise VerificationError("an entry is not covered")
            if cover.size > max(most, 0):
                raise VerificationError(f"a cover has {cover.size} rows and columns, more than {most}")

    def _check_scales(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Check that scaled entries are at most 1, and 1 on the diagonal."""
        shape = self.permutation.shape
        for name in ("log2_row_scale", "log2_column_scale"):
            scale = getattr(self, name)
            check_array(np, scale, name, shape, np.float64)
            if not np.isfinite(scale).all():
                raise VerificationError(f"{name} has a number that is not finite")
        row_scale, column_scale = self.log2_row_scale, self.log2_column_scale
        if self.goal != "product":
            if row_scale.any() or column_scale.any() or self.tolerance != 0:
                raise VerificationError(f"the goal {self.goal!r} has no scales")
            return
        if self.symmetric and not np.array_equal(row_scale, column_scale):
            raise VerificationError("the scales of rows and columns differ")
        row, column = _ends(self.matrix)
        log = -_costs(self.matrix.data)
        scaled = row_scale[row] + column_scale[column] + log
        most = float(max(np.abs(each).max(initial=0.0) for each in (row_scale, column_scale, log)))
        error = self.tolerance + 8 * float(np.finfo(np.float64).eps) * most
        if (scaled > error).any():
            place = int(scaled.argmax())
            raise VerificationError(f"the scaled entry {int(row[place]), int(column[place])} is above 1")
        on_diagonal = self.matched[row] & (self.permutation[row] == column)
        if (scaled[on_diagonal] < -error).any():
            raise VerificationError("a scaled entry on the diagonal is below 1")

    def _check_pivots(self) -> None:
        """Check that pivots have their entries on the diagonal of the permuted matrix, and do not overlap."""
        check_array(np, self.pivot_pairs, "pivot_pairs", (-1, 2), np.int64)
        one, other = self.pivot_pairs.T
        if len(one) and not self.symmetric:
            raise VerificationError("there are pivots of two, and symmetric is False")
        if len(one) and not 0 <= int(self.pivot_pairs.min()) <= int(self.pivot_pairs.max()) < len(
            self.matched
        ):
            raise VerificationError("a pivot has a row that does not exist")
        if len(np.unique(self.pivot_pairs)) < self.pivot_pairs.size:
            raise VerificationError("a row is in two pivots")
        if not (self.matched[one].all() and np.array_equal(self.permutation[one], other)):
            raise VerificationError("a pivot is no entry of the permutation")

    def __repr__(self) -> str:
        n = len(self.permutation)
        texts = {"product": "log2 of the product", "sum": "sum", "smallest": "smallest entry"}
        pairs = f", {len(self.pivot_pairs):,} pivot pairs" if self.symmetric else ""
        size = f"{n} x {n}, {self.structural_rank:,} on the diagonal"
        return f"<DiagonalScaling: {size}, {texts[self.goal]} {self.value:.6g}{pairs}>"


def scale_to_diagonal(
    matrix: AnyArray,
    *,
    goal: Goal = "product",
    symmetric: bool = False,
    warm_start: DiagonalScaling | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
) -> DiagonalScaling:
    """Find an order of the columns with large entries on the diagonal, and scales of rows and columns.

    The number of entries on the diagonal is as large as possible; among such orders the best is found. What
    counts is the absolute value of entries.

    Parameters
    ----------
    matrix : sparse matrix or array_like, shape (n, n)
        Integers, floats, or complex numbers. Entries that are stored several times are added. Zeros are no
        entries, also if they are stored.
    goal : {"product", "sum", "smallest"}
        What to make as large as possible on the diagonal: the product of its entries, which comes with
        scales (job 5 of MC64); their sum (job 4); or the smallest of them (job 3).
    symmetric : bool
        Return the same scales for rows and columns, the geometric means of both, and the pivots of one and
        two rows and columns that follow from the permutation. The absolute values must be symmetric, both
        triangles stored, and the goal "product".
    warm_start : DiagonalScaling, optional
        The result for an earlier matrix of the same size, whose scales are similar. Its goal is "product",
        and so is the goal of this call.
    threads : int, optional
        The largest number of CPU threads to use. Default: all CPUs of the process.
    time_limit : float, optional
        Seconds, not counting compilation at first use.

    Returns
    -------
    DiagonalScaling

    Raises
    ------
    InvalidInputError
        The matrix is not square, has NaN or infinite entries, or is not symmetric although it should be; an
        argument is malformed; or the goal is "sum", and prices of large integers do not fit
        64 bits, as in :func:`preflow.linear_assignment`.
    NotOptimalError
        The time limit ended the search.

    Notes
    -----
    The largest product and the largest sum are one linear assignment each, the largest smallest entry at most
    log2(m) bipartite matchings for m entries. To solve ``matrix @ x = b`` see
    :meth:`DiagonalScaling.scaled`.

    References
    ----------
    Duff and Koster 2001; Duff and Pralet 2005

    Examples
    --------
    >>> import numpy as np, preflow, scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1e-9, 4.0, 0], [2.0, 1.0, 1e6], [0, 3.0, 1e5]])
    >>> found = preflow.scale_to_diagonal(matrix)
    >>> found.permutation.tolist()
    [1, 0, 2]
    >>> np.abs(found.scaled().diagonal()).round(9).tolist()
    [1.0, 1.0, 1.0]
    >>> found.verify()
    """
    check_word("goal", goal, GOALS)
    if not isinstance(symmetric, bool | np.bool_):
        raise InvalidInputError(f"symmetric must be True or False, got {symmetric!r}")
    given = _read(matrix)
    if goal != "product" and (symmetric or warm_start is not None):
        raise InvalidInputError("symmetric and warm_start are for the goal 'product'")
    if warm_start is not None:
        _check_start(warm_start, given.shape[0])
    if symmetric:
        _check_symmetric(given)
    sizes = _sizes(given.data)
    limits = Limits(threads, Deadline(time_limit))
    n = given.shape[0]
    scales = np.zeros(n), np.zeros(n)
    pairs, tolerance = np.zeros((0, 2), dtype=np.int64), 0.0
    proof: AssignmentResult | tuple[VertexCover, VertexCover]
    if goal == "smallest":
        row_match, proof = largest_smallest(given, sizes, limits)
    elif goal == "sum":
        proof = _assignment(given, sizes, True, limits)
        row_match = _columns_of_rows(proof)
    else:
        costs = _costs(given.data)
        proof, tolerance = _largest_product(given, costs, warm_start, limits)
        row_match = _columns_of_rows(proof)
        scales = _scales(given, costs, proof, tolerance)
    if symmetric:
        mean = (scales[0] + scales[1]) / 2
        scales = mean, mean.copy()
        pairs = _pivot_pairs(given, row_match, mean)
    permutation = with_all_columns(row_match, n)
    return DiagonalScaling(
        permutation, row_match >= 0, *scales, pairs, tolerance, goal, bool(symmetric), given, proof
    )


def _columns_of_rows(found: AssignmentResult) -> NDArray[np.int64]:
    """Return the column of each row, -1 for none."""
    row_match = np.full(len(found.u), -1)
    row_match[found.row] = found.column
    return row_match


@dataclass(frozen=True)
class Limits:
    """The number of threads, and the time that is left."""

    threads: int | None
    deadline: Deadline

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the next solve."""
        return {"threads": self.threads, "time_limit": self.deadline.left()}


def _read(matrix: AnyArray) -> csr_array:
    """Return a copy of a square matrix, checked, by rows, of int64, uint64, float64 or complex128."""
    from scipy.sparse import csc_array, csr_array, issparse

    if issparse(matrix):
        entries = read_sparse(matrix)
        data = _as_numbers(entries.data)
        if entries.form == "coo":
            found = csr_array((data, (entries.major, entries.minor)), shape=entries.shape)
        elif entries.form == "csc":
            found = csc_array((data, entries.minor, entries.major), shape=entries.shape).tocsr()
        else:
            found = csr_array((data, entries.minor, entries.major), shape=entries.shape, copy=True)
    elif hasattr(matrix, "tocsr"):
        raise InvalidInputError("the matrix is on a GPU: matrix.get() copies it to the host")
    else:
        dense = exact_array(matrix, "matrix")
        if dense.ndim != 2:
            raise InvalidInputError(f"a matrix has two dimensions, got shape {dense.shape}")
        found = csr_array(_as_numbers(dense))
    rows, columns = found.shape
    if rows != columns:
        raise InvalidInputError(
            f"a matrix with a diagonal is square; this one has shape ({rows}, {columns}): "
            "add empty rows or columns"
        )
    found.sum_duplicates()
    found.eliminate_zeros()
    finite = np.isfinite(found.data)
    if not finite.all():
        row, column = _ends(found)
        place = int((~finite).argmax())
        raise wrong_entry(f"matrix has {found.data[place]}", (int(row[place]), int(column[place])))
    if found.dtype.kind == "c":
        with np.errstate(over="ignore"):
            large = ~np.isfinite(_sizes(found.data))
        if large.any():
            raise InvalidInputError(f"the absolute value of {found.data[first_of(large)]} is past float64")
    return found


def _as_numbers(data: Array) -> Array:
    """Return numbers in 64 bits for each part, InvalidInputError if they are none."""
    dtype = data.dtype
    if dtype.kind == "O" and all(isinstance(number, int | np.integer) for number in data.flat):
        least, most = min(data.flat, default=0), max(data.flat, default=0)
        if least >= -(2**63) and most < 2**64 and (least >= 0 or most < 2**63):
            return data.astype(np.int64 if most < 2**63 else np.uint64)
    if dtype.kind in "bi":
        return data.astype(np.int64)
    if dtype.kind == "u":
        return data.astype(np.uint64 if dtype.itemsize == 8 else np.int64)
    if dtype.kind in "fc":
        with np.errstate(over="ignore"):
            return data.astype(np.float64 if dtype.kind == "f" else np.complex128)
    raise InvalidInputError(f"matrix must hold numbers of up to 64 bits, got dtype {dtype}")


def _ends(matrix: csr_array) -> tuple[NDArray[np.int64], Array]:
    """Return the row and the column of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def _sizes(data: Array) -> Array:
    """Return absolute values as int64, uint64 or float64."""
    if data.dtype.kind != "i":
        sizes: Array = np.abs(data)
        return sizes
    with np.errstate(over="ignore"):
        absolute = np.abs(data)
    return absolute.view(np.uint64) if absolute.min(initial=0) < 0 else absolute


def _least(sizes: Array) -> int | float:
    """Return the least of some sizes; infinity if there are none."""
    least: int | float = sizes.min().item() if len(sizes) else math.inf
    return least


def _costs(data: Array) -> NDArray[np.float64]:
    """Return minus the logarithms to base 2 of absolute values.

    Both parts of a complex number are scaled first: the absolute value of denormal ones has few bits.
    """
    if data.dtype.kind != "c":
        return -np.log2(_sizes(data).astype(np.float64))
    parts = [np.abs(part).astype(np.float64) for part in (data.real, data.imag)]
    exponent = np.frexp(np.maximum(*parts))[1]
    real, imaginary = (np.ldexp(part, -exponent) for part in parts)
    costs: NDArray[np.float64] = -(np.log2(np.hypot(real, imaginary)) + exponent)
    return costs


def _whole(costs: NDArray[np.float64], tolerance: float) -> NDArray[np.int64]:
    """Return costs in units of a tolerance, which is a power of two."""
    return np.rint(costs / tolerance).astype(np.int64)


def _check_start(warm_start: object, n: int) -> None:
    if not isinstance(warm_start, DiagonalScaling):
        raise InvalidInputError(
            f"warm_start is a result of scale_to_diagonal, got {type(warm_start).__name__}"
        )
    if warm_start.goal != "product" or len(warm_start.permutation) != n:
        raise InvalidInputError(f"warm_start is a result with goal='product' and {n} rows")


def _check_symmetric(matrix: csr_array) -> None:
    """Raise InvalidInputError unless the absolute values are symmetric."""
    other = matrix.T.tocsr()
    other.sort_indices()
    same = np.array_equal(matrix.indptr, other.indptr) and np.array_equal(matrix.indices, other.indices)
    if not same or not np.array_equal(_sizes(matrix.data), _sizes(other.data)):
        raise InvalidInputError(
            "symmetric=True takes a matrix with symmetric absolute values; if it has one triangle only, "
            "give both: lower + scipy.sparse.tril(lower, -1).T"
        )


def _assignment(
    matrix: csr_array, values: Array, maximize: bool, limits: Limits, partial: bool = True
) -> AssignmentResult:
    """Return the best assignment with the most pairs; NotOptimalError if there was no time for one."""
    from scipy.sparse import csr_array

    costs = csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    found = linear_assignment(costs, maximize=maximize, partial=partial, **limits.arguments)
    found.check_optimal()
    return found


def _largest_product(
    matrix: csr_array, costs: NDArray[np.float64], warm_start: DiagonalScaling | None, limits: Limits
) -> tuple[AssignmentResult, float]:
    """Return the assignment of the largest product, and the tolerance of logarithms."""
    spread = float(costs.max(initial=0.0)) - float(costs.min(initial=0.0))
    range_bits = max(0, math.ceil(math.log2(max(spread, 1.0))))
    tolerance = 2.0 ** (range_bits - RANGE_BITS)
    whole = _whole(costs, tolerance)
    try:
        if warm_start is None:
            found = _from_centre(matrix, costs, whole, tolerance, limits)
        else:
            found = _from_start(matrix, whole, warm_start, tolerance, limits)
        return found, tolerance
    except InvalidInputError:
        # Prices overflow where they fall along a long path: with this tolerance no path is long enough.
        path_bits = (2 * matrix.shape[0]).bit_length()
        coarser = 2.0 ** (range_bits + path_bits - SAFE_BITS)
        if coarser <= tolerance:
            raise
        return _assignment(matrix, _whole(costs, coarser), False, limits), coarser


def _from_centre(
    matrix: csr_array,
    costs: NDArray[np.float64],
    whole: NDArray[np.int64],
    tolerance: float,
    limits: Limits,
) -> AssignmentResult:
    """Solve costs less the means of rows and columns: rows and columns may be in any units.

    Where most rows have some column's least cost as it is, searches are few, and costs stay as they are.
    Means change no assignment of all rows. If there is none, the costs themselves are solved, since the
    prices of rows and columns that are left over must be the largest.
    """
    n = matrix.shape[0]
    means = np.zeros(n), np.zeros(n)
    first, column = matrix.indptr.astype(np.uint64), matrix.indices.astype(np.uint32)
    if n == 0 or share_left_by_minima(SparseCosts(first, column, whole, n)) <= FEW_LEFT:
        return _assignment(matrix, whole, False, limits)
    degree = np.bincount(column, minlength=n).astype(np.float64)
    subtract_means(first, column, costs, degree, *means, np.zeros(n))
    u, v = (np.rint(mean / tolerance).astype(np.int64) for mean in means)
    centred = np.empty_like(whole)
    less_numbers(first, column, whole, u, v, centred)
    try:
        found = _assignment(matrix, centred, False, limits, partial=False)
    except InfeasibleError:
        return _assignment(matrix, whole, False, limits)
    assert isinstance(found.costs, SparseCosts)
    total = int(found.cost) + int(exact_sum(u)) + int(exact_sum(v))
    given = replace(found.costs, values=whole, base=None)
    return replace(
        found, partial=True, lower_bound=total, upper_bound=total, u=found.u + u, v=found.v + v, costs=given
    )


@kernel
def less_numbers(
    first: NDArray[np.uint64],
    column: NDArray[np.uint32],
    cost: NDArray[np.int64],
    of_row: NDArray[np.int64],
    of_column: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Write the costs less the numbers of their rows and columns."""
    for i in range(np.uint64(len(of_row))):
        for k in range(first[i], first[i + ONE]):
            found[k] = cost[k] - of_row[i] - of_column[np.uint64(column[k])]


@kernel
def subtract_means(
    first: NDArray[np.uint64],
    column: NDArray[np.uint32],
    cost: NDArray[np.float64],
    degree: NDArray[np.float64],
    of_row: NDArray[np.float64],
    of_column: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Find numbers of rows and columns whose sums are near the costs (Curtis and Reid 1972), by sweeps.

    Each sweep sets the number of a row to the mean of its costs less the numbers of columns, and then those
    of columns. The last of at most MOST_SWEEPS is the first that changes the numbers of columns by at most
    SETTLED times what is left of the costs, in the mean. `degree` has the number of entries of each column,
    `total` is 0.
    """
    n = np.uint64(len(of_row))
    for _ in range(MOST_SWEEPS):
        left = changed = 0.0
        for i in range(n):
            begin, end = first[i], first[i + ONE]
            if begin == end:
                continue
            mean = 0.0
            for k in range(begin, end):
                mean += cost[k] - of_column[np.uint64(column[k])]
            mean /= np.float64(end - begin)
            of_row[i] = mean
            for k in range(begin, end):
                end_of_entry = np.uint64(column[k])
                total[end_of_entry] += cost[k] - mean
                left += abs(cost[k] - mean - of_column[end_of_entry])
        for j in range(n):
            if degree[j] > 0.0:
                after = total[j] / degree[j]
                changed += abs(after - of_column[j]) * degree[j]
                of_column[j] = after
            total[j] = 0.0
        if changed <= SETTLED * left:
            return


def _from_start(
    matrix: csr_array,
    costs: NDArray[np.int64],
    start: DiagonalScaling,
    tolerance: float,
    limits: Limits,
) -> AssignmentResult:
    """Solve costs from the scales of an earlier result.

    The first epsilon is how far costs are from these scales: the mean, over all rows, of the difference of
    the least reduced cost and the one that is 0 if the scales fit.
    """
    from scipy.sparse import csr_array

    prices = [np.rint(scale / tolerance) for scale in (start.log2_row_scale, start.log2_column_scale)]
    if max(float(np.abs(price).max(initial=0.0)) for price in prices) > 2.0**SAFE_BITS:
        return _assignment(matrix, costs, False, limits)
    u, v = (price.astype(np.int64) for price in prices)
    reduced = costs - v[matrix.indices]
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if not len(filled):
        return _assignment(matrix, costs, False, limits)
    least = np.minimum.reduceat(reduced, matrix.indptr[filled])
    epsilon = float(np.abs((least - u[filled]).astype(np.float64)).mean())
    given = csr_array((costs, matrix.indices, matrix.indptr), shape=matrix.shape)
    return assign_from(given, Start(v, epsilon), **limits.arguments)


def _scales(
    matrix: csr_array, costs: NDArray[np.float64], proof: AssignmentResult, tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the logarithms of the scales of rows and columns, in the middle of the range of float64."""
    u, v = proof.u * tolerance, proof.v * tolerance
    if not len(proof.row):
        return np.zeros(len(u)), np.zeros(len(v))
    has_row, has_column = np.ones(len(u), dtype=bool), np.ones(len(v), dtype=bool)
    if len(proof.row) < len(u):
        _join_parts(matrix, costs, proof, u, v)
        has_row = np.diff(matrix.indptr) > 0
        has_column = np.bincount(matrix.indices, minlength=len(v)) > 0
    of_rows, of_columns = u[has_row], v[has_column]
    middle = (of_rows.max() + of_rows.min() - of_columns.max() - of_columns.min()) / 4
    return np.where(has_row, u - middle, 0.0), np.where(has_column, v + middle, 0.0)


def _join_parts(
    matrix: csr_array, costs: NDArray[np.float64], proof: AssignmentResult, u: Array, v: Array
) -> None:
    """Change the prices of a singular matrix so that they exceed the cost of no entry.

    The cover of :func:`alternating_cover` splits the matrix: covered rows are assigned uncovered columns, and
    covered columns uncovered rows. To raise the prices of a part's rows and to lower those of its columns by
    the same number leaves its proof valid. So do larger prices of rows and columns that are left over.
    """
    assert isinstance(proof.costs, SparseCosts)
    cover = alternating_cover(proof.costs, proof.row, proof.column)
    row, column = _ends(matrix)
    between = cover.rows[row] & cover.columns[column]
    shift = (costs - u[row] - v[column])[between].min(initial=0.0)
    u[cover.rows] += shift
    v[~cover.columns] -= shift
    left_rows, left_columns = np.ones(len(u), dtype=bool), np.ones(len(v), dtype=bool)
    left_rows[proof.row] = left_columns[proof.column] = False
    for own, other, left, end, far in ((u, v, left_rows, row, column), (v, u, left_columns, column, row)):
        own[left] = np.inf
        of_left = left[end]
        np.minimum.at(own, end[of_left], costs[of_left] - other[far[of_left]])
        own[np.isinf(own)] = 0.0


def _powers(log2_scale: NDArray[np.float64], side: str) -> NDArray[np.float64]:
    if np.abs(log2_scale).max(initial=0.0) > LARGEST_EXPONENT:
        raise CapacityOverflowError(
            f"a scale of a {side} is past float64: log2_{side}_scale has the logarithms, scaled() the matrix"
        )
    return np.exp2(log2_scale)


def _times_power(data: Array, exponent: NDArray[np.float64]) -> Array:
    """Return numbers times powers of two; neither the power nor a product on the way overflows."""
    if data.dtype.kind == "c":
        parts = _times_power(data.view(np.float64), np.repeat(exponent, 2))
        return parts.view(np.complex128)
    whole = np.rint(exponent)
    fraction, power = np.frexp(data.astype(np.float64))
    found: Array = np.ldexp(fraction * np.exp2(exponent - whole), (whole + power).astype(np.int32))
    return found


def largest_smallest(
    matrix: csr_array, sizes: Array, limits: Limits
) -> tuple[NDArray[np.int64], tuple[VertexCover, VertexCover]]:
    """Return the column of each row, -1 for none, such that the smallest entry is largest, and the proof.

    ::

        match as many rows as possible; a bound on the smallest entry follows from rows and columns
        until the smallest entry meets the bound:
            match entries of at least a size between both
            if that are as many: the smallest of them is the smallest entry
            otherwise: a cover of these entries; the largest entry outside of it is the bound
    """
    n, m = matrix.shape
    row, column = _ends(matrix)

    def match(least: Any, start: NDArray[np.int64] | None) -> MatchingResult:
        from scipy.sparse import csr_array

        kept = sizes >= least
        first = np.append(0, np.cumsum(kept))[matrix.indptr]
        entries = csr_array((np.ones(int(first[-1]), np.int8), matrix.indices[kept], first), shape=(n, m))
        found = bipartite_matching(entries, warm_start=start, device="cpu", **limits.arguments)
        found.check_optimal()
        if limits.deadline.passed():
            raise NotOptimalError("the time limit ended the search for the largest smallest entry")
        return found

    def of_least(row_match: NDArray[np.int64], least: Any) -> NDArray[np.int64]:
        """Return the part of a matching whose entries are large enough to start from."""
        chosen = (row_match[row] == column) & (sizes >= least)
        start = np.full(n, -1)
        start[row[chosen]] = column[chosen]
        return start

    largest = [np.zeros(length, dtype=sizes.dtype) for length in (n, m)]
    for side, end in zip(largest, (row, column), strict=True):
        np.maximum.at(side, end, sizes)
    # Start with each column's largest entry, as far as rows have only one of them.
    start = np.full(n, -1)
    is_largest = sizes == largest[1][column]
    start[row[is_largest]] = column[is_largest]
    _, once = np.unique(start, return_index=True)
    several = np.ones(n, dtype=bool)
    several[once] = False
    start[several] = -1
    found = match(0, start)
    best = found.row_match.astype(np.int64)
    every, most = found.vertex_cover, found.cardinality
    if most == 0:
        return best, (every, every)
    # At most `most` - 1 rows, or columns, have an entry above the bound.
    limits_of_sides = [np.partition(side, len(side) - most)[len(side) - most] for side in largest]
    bound = min(limits_of_sides)
    if bound == limits_of_sides[0]:
        above = VertexCover(largest[0] > bound, np.zeros(m, dtype=bool))
    else:
        above = VertexCover(np.zeros(n, dtype=bool), largest[1] > bound)
    chosen = best[row] == column
    least = sizes[chosen].min()
    between, at = sizes, bound
    while least < bound:
        found = match(at, of_least(best, at))
        if found.cardinality == most:
            best = found.row_match.astype(np.int64)
            least = sizes[best[row] == column].min()
        else:
            above = found.vertex_cover
            bound = sizes[~above.rows[row] & ~above.columns[column]].max()
        between = between[(between > least) & (between <= bound)]
        if len(between):
            at = np.partition(between, len(between) // 2)[len(between) // 2]
    make_read_only(above)
    return best, (every, above)


def _pivot_pairs(
    matrix: csr_array, row_match: NDArray[np.int64], log2_scale: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return pairs of rows that make pivots, from the cycles and paths of the permutation."""
    n = len(row_match)
    rows = np.flatnonzero(row_match >= 0)
    columns = row_match[rows]
    diagonal = _times_power(_floats(matrix.diagonal()), 2 * log2_scale)
    both = log2_scale[rows] + log2_scale[columns]
    gain, single = np.full(n, NO_PIVOT), _log2(diagonal)
    if len(rows):
        upper, lower = (
            _times_power(_floats(np.asarray(matrix[one, other])), both)
            for one, other in ((rows, columns), (columns, rows))
        )
        gain[rows] = _log2(diagonal[rows] * diagonal[columns] - upper * lower)
    pairs = np.zeros((n // 2, 2), dtype=np.int64)
    column_match = np.full(n, -1)
    column_match[columns] = rows
    working = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    count = pair_pivots(row_match, column_match, gain, single, *working, pairs)
    return pairs[: int(count)].copy()


def _floats(values: Array) -> Array:
    return values if values.dtype.kind == "c" else values.astype(np.float64)


def _log2(values: Array) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log2(np.abs(values)), NO_PIVOT)


@kernel
def _cut_chain(
    chain: NDArray[np.int64],
    size: np.uint64,
    is_cycle: bool,
    gain: NDArray[np.float64],
    single: NDArray[np.float64],
    pairs: NDArray[np.int64],
    found: np.uint64,
) -> np.uint64:
    """Cut the first `size` vertices of a path or cycle into pairs, one after the other; return their number.

    With an even number, a cycle has two ways. With an odd number one vertex is left alone: any of a cycle,
    each second one of a path. From one such vertex to the next but one, one pair joins and one leaves.
    """
    begin = ZERO
    total = 0.0
    if size % TWO == ZERO:
        if is_cycle:
            for k in range(size):
                worth = gain[np.uint64(chain[k])]
                total += worth if k % TWO == ZERO else -worth
            if total < 0.0:
                begin = ONE
    else:
        for k in range(ONE, size, TWO):
            total += gain[np.uint64(chain[k])]
        best = -np.inf
        alone = ZERO
        for _ in range(size if is_cycle else size // TWO + ONE):
            worth = total + single[np.uint64(chain[alone])]
            if worth > best:
                best = worth
                begin = (alone + ONE) % size
            total += gain[np.uint64(chain[alone])] - gain[np.uint64(chain[(alone + ONE) % size])]
            alone = (alone + TWO) % size
    for k in range(size // TWO):
        pairs[found, 0] = chain[(begin + TWO * k) % size]
        pairs[found, 1] = chain[(begin + TWO * k + ONE) % size]
        found += ONE
    return found


@kernel
def pair_pivots(
    following: NDArray[np.int64],
    preceding: NDArray[np.int64],
    gain: NDArray[np.float64],
    single: NDArray[np.float64],
    chain: NDArray[np.int64],
    seen: NDArray[np.bool_],
    pairs: NDArray[np.int64],
) -> np.uint64:
    """Cut the paths and cycles of a partial permutation into pairs and singles; return how many pairs.

    `following` and `preceding` are the neighbours of each vertex, -1 for none. `gain` is what a vertex and
    the following one are worth as a pair, `single` what a vertex is worth alone. `chain` is working memory,
    `seen` is False at first. O(n).
    """
    n = np.uint64(len(following))
    found = ZERO
    for of_cycles in range(2):  # paths first: what they leave are cycles
        for root in range(n):
            if seen[root] or (of_cycles == 0 and preceding[root] >= 0):
                continue
            size = ZERO
            v = np.int64(root)
            while v >= 0 and not seen[np.uint64(v)]:
                seen[np.uint64(v)] = True
                chain[size] = v
                size += ONE
                v = following[np.uint64(v)]
            found = _cut_chain(chain, size, of_cycles == 1, gain, single, pairs, found)
    return found
