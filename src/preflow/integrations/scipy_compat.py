"""Drop-in replacements of SciPy's functions: the same arguments, results and kinds of errors.

Of several optimal results they may return another one than SciPy. :doc:`/problems/coming_from` lists
what else differs on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array
from ..assignment.api import linear_assignment
from ..assignment.result import AssignmentResult
from ..bipartite.api import bipartite_matching
from ..checks import warn_caller
from ..eager import eager
from ..errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleError,
    InvalidInputError,
    InvalidTypeError,
)
from ..graph.costs import LARGEST_INTEGER
from ..graph.network import FlowNetwork
from ..graph.point_costs import PointCosts
from ..graph.sparse_input import read_sparse
from ..maxflow.api import max_flow
from ..transportation.api import transport

if TYPE_CHECKING:
    import scipy.sparse

#: Floats whose sum is past float64 are taken times this.
SMALLER = 2.0**-64
#: The formats that SciPy's matching functions take.
FORMATS = ("csr", "csc", "coo")
INT32_MAX = np.iinfo(np.int32).max


@eager
def linear_sum_assignment(
    cost_matrix: ArrayLike, maximize: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair rows with columns at the least total cost, as :func:`scipy.optimize.linear_sum_assignment` does.

    Among assignments of equal cost the choice may differ. Integers are solved exactly, where SciPy turns
    them into floats; those past 2**59 become floats here, too.

    Parameters
    ----------
    cost_matrix : array_like, shape (n, m)
        Of everything that SciPy accepts: an array is safely cast to float64, other sequences are converted. A
        sparse matrix, which SciPy refuses, is accepted too: pairs that it does not store are not allowed.
    maximize : bool

    Returns
    -------
    row_ind, col_ind : ndarray of int64
        Rows in ascending order and the column of each.

    Raises
    ------
    InvalidInputError
        A ValueError: not a matrix of numbers, or one is NaN or infinitely good.
    CapacityOverflowError
        An OverflowError: a Python integer past float64.
    InvalidTypeError
        A TypeError: an array of a dtype that does not safely become float64, or entries that are no numbers.
    InfeasibleError
        A ValueError: no assignment has a finite cost.
    NotOptimalError
        The answer is not proved optimal: see the status "approximate" of :doc:`/problems/assignment`.

    Examples
    --------
    >>> row, column = linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> column.tolist()
    [1, 0, 2]
    """
    matrix: AnyArray = cost_matrix if hasattr(cost_matrix, "tocsr") else _as_matrix(cost_matrix)
    values = matrix.data if hasattr(matrix, "tocsr") else matrix
    result = _assign(_as_added(matrix), values, bool(maximize), "cost matrix is infeasible")
    return result.row.copy(), result.column.copy()


def _assign(cost: AnyArray, values: Array, maximize: bool, infeasible: str) -> AssignmentResult:
    """Solve an assignment problem with SciPy's error messages; SciPy has no place for bounds."""
    try:
        try:
            result = linear_assignment(cost, maximize=maximize)
        except CostOverflowError:
            result = linear_assignment(cost * SMALLER, maximize=maximize)
    except InfeasibleError as error:
        error.args, error.advice = (f"{infeasible}: {error.problem}",), ()  # SciPy has no such argument
        raise
    except InvalidInputError as error:
        endless = np.inf if maximize else -np.inf
        if values.dtype.kind == "f" and (np.isnan(values) | (values == endless)).any():
            error.args = (f"matrix contains invalid numeric entries: {error}",)
        raise
    result.check_optimal()
    return result


def _as_matrix(values: Any) -> Array:
    """Return bools, integers or floats of up to 64 bits; convert and refuse what SciPy does."""
    try:
        matrix = np.asarray(values)
        if matrix.dtype.kind not in "biuf" or matrix.dtype.itemsize > 8:
            if hasattr(values, "dtype") and not np.can_cast(matrix.dtype, np.float64):
                raise TypeError(
                    f"Cannot cast array data from {matrix.dtype!r} to dtype('float64') according to the "
                    "rule 'safe'"
                )
            matrix = np.array(values, dtype=np.float64)
    except TypeError as error:
        raise InvalidTypeError(str(error)) from None
    except OverflowError as error:
        raise CapacityOverflowError(str(error)) from None
    except ValueError as error:
        raise InvalidInputError(str(error)) from None
    if matrix.ndim != 2:
        raise InvalidInputError(f"expected a matrix (2-D array), got a {matrix.ndim}-D array")
    return matrix


def _as_added(matrix: Any) -> Any:
    """Return integers that are too large to be added up as floats, as SciPy takes them."""
    if hasattr(matrix, "tocsr") or not matrix.size:
        return matrix
    if matrix.dtype.kind in "iu" and max(int(matrix.max()), -int(matrix.min())) > LARGEST_INTEGER:
        return matrix.astype(np.float64)
    return matrix


@dataclass(frozen=True, eq=False, repr=False)
class MaximumFlowResult:
    """The result of :func:`maximum_flow`, with the attributes of SciPy's class of that name.

    Attributes
    ----------
    flow_value : int64
        The value of the flow.
    flow : csr_array or csr_matrix of int32 or int64, shape (n, n)
        Entry (u, v) is the net flow from u to v, the negative of entry (v, u). It stores an entry for each
        entry of the graph and for its reverse.
    """

    flow_value: np.int64
    flow: scipy.sparse.csr_array

    def __repr__(self) -> str:
        return f"MaximumFlowResult with value of {self.flow_value}"


@eager
def maximum_flow(
    csgraph: scipy.sparse.csr_array, source: int, sink: int, *, method: str = "dinic"
) -> MaximumFlowResult:
    """Find a maximum flow, as :func:`scipy.sparse.csgraph.maximum_flow` does.

    Among maximum flows the choice may differ. Capacities past int32, which SciPy wraps, are exact here.

    Parameters
    ----------
    csgraph : csr_array or csr_matrix of integers, shape (n, n)
        Entry (u, v) is the capacity of the arc from u to v.
    source, sink : int
        Vertices, numbered from 0.
    method : {"dinic", "edmonds_karp"}
        Accepted for compatibility: preflow chooses the method, as ``method="auto"`` of
        :func:`preflow.max_flow` does.

    Returns
    -------
    MaximumFlowResult
        Its `flow` has SciPy's dtype int32, or int64 where a flow does not fit it.

    Raises
    ------
    InvalidTypeError
        A TypeError: the graph is not in CSR format, or a vertex is not an integer.
    InvalidInputError
        A ValueError: the capacities are not integers or negative, the matrix is not square, a vertex is out
        of range, the source is the sink, or there is no such method.
    CapacityOverflowError
        A ValueError and an OverflowError: the value of the flow is past int64.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> result = maximum_flow(csr_array([[0, 5, 0], [0, 0, 3], [0, 0, 0]]), 0, 2)
    >>> result.flow_value.item(), result.flow.toarray().tolist()
    (3, [[0, 3, 0], [-3, 0, 3], [0, -3, 0]])
    """
    from scipy.sparse import coo_array, csr_array, csr_matrix, issparse, spmatrix

    graph = _as_scipy(csgraph).tocsr() if _is_pydata(csgraph) else csgraph
    if not issparse(graph) or graph.format != "csr":
        raise InvalidTypeError("graph must be in CSR format")
    if graph.dtype.kind not in "iu":
        raise InvalidInputError("graph capacities must be integers")
    n = graph.shape[0]
    if graph.shape != (n, n):
        raise InvalidInputError("graph must be specified as a square matrix.")
    for name, vertex in (("source", source), ("sink", sink)):
        if isinstance(vertex, bool | np.bool_) or not isinstance(vertex, int | np.integer):
            raise InvalidTypeError(f"{name} must be an integer, got {vertex!r}")
        if not 0 <= vertex < n:
            raise InvalidInputError(f"{name} value ({vertex}) must be between 0 and {n - 1}")
    if source == sink:
        raise InvalidInputError("source and sink vertices must differ")
    if method not in ("dinic", "edmonds_karp"):
        raise InvalidInputError(f"{method} method is not supported yet.")
    network = FlowNetwork.from_scipy(graph)
    result = max_flow(network, source, sink)
    # Antiparallel arcs, parallel arcs and loops meet in one entry; entries of zero stay.
    dtype = np.int32 if max(n, 2 * network.num_arcs) <= INT32_MAX else np.int64
    tail, head = network.tail.astype(dtype), network.head.astype(dtype)
    ends = np.concatenate([tail, head]), np.concatenate([head, tail])
    amounts = result.flow.astype(np.int64)
    flow = csr_array(coo_array((np.concatenate([amounts, -amounts]), ends), shape=(n, n)))
    if np.abs(flow.data).max(initial=0) <= INT32_MAX:
        flow = flow.astype(np.int32)
    if _is_pydata(csgraph):
        flow = type(csgraph).from_scipy_sparse(flow)
    elif isinstance(csgraph, spmatrix):
        flow = csr_matrix(flow)
    return MaximumFlowResult(np.int64(result.value), flow)


@eager
def maximum_bipartite_matching(graph: scipy.sparse.csr_array, perm_type: str = "row") -> NDArray[np.int32]:
    """Pair rows with columns, as :func:`scipy.sparse.csgraph.maximum_bipartite_matching` does.

    Among maximum matchings the choice may differ.

    Parameters
    ----------
    graph : sparse array or matrix in CSR, CSC or COO format, shape (n, m)
        Every stored entry is an edge, also a zero.
    perm_type : str
        "column" returns a column for each row. Everything else, as in SciPy, returns a row for each column.

    Returns
    -------
    ndarray of int32, shape (n,) or (m,)
        The partners; -1 for none.

    Raises
    ------
    InvalidTypeError
        A TypeError: the graph is not sparse, or has another format.
    InvalidInputError
        A ValueError: it does not have two dimensions, or its arrays do not fit each other.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> maximum_bipartite_matching(csr_array([[0, 0, 1], [1, 1, 0]]), perm_type="column").tolist()
    [2, 0]
    """
    result = bipartite_matching(_graph_of(graph))
    match: NDArray[np.int32] = result.row_match if _is_column(perm_type) else result.column_match
    return match.copy()


def _is_column(perm_type: object) -> bool:
    return isinstance(perm_type, str) and perm_type == "column"


@eager
def min_weight_full_bipartite_matching(
    biadjacency: scipy.sparse.csr_array, maximize: bool = False
) -> tuple[Array, Array]:
    """Pair all rows, or all columns if there are fewer, at the least total weight.

    As :func:`scipy.sparse.csgraph.min_weight_full_bipartite_matching` does; among matchings of equal weight
    the choice may differ. Integers are solved exactly, where SciPy turns them into floats; those past 2**59
    become floats here, too.

    Parameters
    ----------
    biadjacency : sparse array or matrix in CSR, CSC or COO format, shape (n, m)
        Its entries are the weights of the edges. As in SciPy, stored zeros are no edges.
    maximize : bool

    Returns
    -------
    row_ind, col_ind : ndarray of int64 and int32 (int32 and int64 if there are more rows than columns)
        Rows in ascending order and the column of each.

    Raises
    ------
    InvalidTypeError
        A TypeError: the graph is not sparse, or has another format.
    InvalidInputError
        A ValueError: it does not have two dimensions, or a weight is NaN or infinitely good.
    InfeasibleError
        A ValueError: there is no such matching.
    NotOptimalError
        The answer is not proved optimal: see the status "approximate" of :doc:`/problems/assignment`.

    Warns
    -----
    UserWarning
        Stored zeros are removed.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> row, column = min_weight_full_bipartite_matching(csr_array([[3, 3, 6], [4, 3, 5], [10, 1, 8]]))
    >>> column.tolist()
    [0, 2, 1]
    """
    from scipy.sparse import coo_array

    entries = read_sparse(_graph_of(biadjacency))
    (row, column), weights, (n, m) = entries.ends(), entries.data, entries.shape
    maximize = bool(maximize)
    if weights.dtype.kind not in "biuf" or weights.dtype.itemsize > 8:
        weights = weights.astype(np.float64)
    if not weights.all():
        warn_caller("explicit zero weights are removed before matching", UserWarning)
        kept = weights != 0
        row, column, weights = row[kept], column[kept], weights[kept]
    # Weights that are stored several times add up.
    matrix = coo_array((_as_added(weights), (row, column)), shape=(n, m))
    result = _assign(matrix, weights, maximize, "no full matching exists")
    partners = (np.int64, np.int32) if n <= m else (np.int32, np.int64)
    return result.row.astype(partners[0]), result.column.astype(partners[1])


@eager
def structural_rank(graph: scipy.sparse.csr_array) -> np.int64:
    """Return the size of a maximum matching, as :func:`scipy.sparse.csgraph.structural_rank` does.

    Parameters
    ----------
    graph : sparse array or matrix, shape (n, m)
        Every stored entry counts, also a zero.

    Returns
    -------
    int64

    Raises
    ------
    InvalidTypeError
        A TypeError: the graph is not sparse.

    Warns
    -----
    SparseEfficiencyWarning
        The format is not CSR, CSC or COO.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> structural_rank(csr_array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])).item()
    2
    """
    from scipy.sparse import SparseEfficiencyWarning, issparse

    matrix = _as_scipy(graph)
    if not issparse(matrix):
        raise InvalidTypeError("Input must be sparse")
    if matrix.format not in FORMATS:
        message = "Input matrix should be in CSC, CSR, or COO matrix format"
        warn_caller(message, SparseEfficiencyWarning)
    return np.int64(bipartite_matching(matrix).cardinality)


@eager
def wasserstein_distance_nd(
    u_values: ArrayLike,
    v_values: ArrayLike,
    u_weights: ArrayLike | None = None,
    v_weights: ArrayLike | None = None,
) -> float:
    """Return the Wasserstein-1 distance of two sets of points: :func:`scipy.stats.wasserstein_distance_nd`.

    SciPy stores all pairs and solves a linear program. Here a pair is computed when it is needed.

    Parameters
    ----------
    u_values, v_values : array_like, shapes (n, d) and (m, d)
        One point a row. Of one dimension, shapes (n,) and (m,), SciPy itself computes the distance, from
        sorted values.
    u_weights, v_weights : array_like, shapes (n,) and (m,), optional
        The mass of each point, not negative; each side is divided by its sum. Default: all points weigh the
        same.

    Returns
    -------
    float
        Infinite if a coordinate is, and NaN if both sides have such coordinates, as in SciPy.

    Raises
    ------
    InvalidInputError
        A ValueError: other shapes, no points, a coordinate that is NaN, distances too large to be added up, a
        weight below zero, or weights whose sum is 0 or not finite.
    InvalidTypeError
        A TypeError: entries that are no numbers.
    NotOptimalError
        The answer is not proved optimal: see the status "approximate" of :doc:`/problems/assignment`. A proof
        within ``2**-40`` of the largest distance that there may be is close enough.

    Notes
    -----
    The time is that of :func:`preflow.transport`, or of :func:`preflow.linear_assignment` for equally many
    points without weights. The memory is O(n + m).

    Examples
    --------
    >>> wasserstein_distance_nd([[0, 2, 3], [1, 2, 5]], [[3, 2, 3], [4, 2, 5]])
    3.0
    """
    points, others = _as_floats("u_values", u_values), _as_floats("v_values", v_values)
    what = f"got shapes {points.shape} and {others.shape}"
    if not {points.ndim, others.ndim} <= {1, 2}:
        raise InvalidInputError(
            f"Invalid input values. The inputs must have either one or two dimensions: {what}"
        )
    if points.ndim != others.ndim:
        raise InvalidInputError(f"Invalid input values. Dimensions of inputs must be equal: {what}")
    if points.shape[1:] != others.shape[1:]:
        raise InvalidInputError(
            "Invalid input values. If two-dimensional, u_values and v_values must have the same number of "
            f"columns: {what}"
        )
    a, b = _as_weights("u_weights", u_weights, points), _as_weights("v_weights", v_weights, others)
    if points.ndim == 1:
        from scipy.stats import wasserstein_distance

        return float(wasserstein_distance(points, others, a, b))
    endless = [bool(np.isinf(side).any()) for side in (points, others)]
    if any(endless):
        return np.nan if all(endless) else np.inf
    costs = PointCosts(points, others)
    alike = u_weights is v_weights is None and len(points) == len(others)
    found = linear_assignment(costs) if alike else transport(costs, a, b)
    total = len(points) if alike else 1
    longest = float(np.linalg.norm(np.ptp(np.concatenate([points, others]), axis=0)))
    close = found.upper_bound - found.lower_bound <= 2**-40 * longest * total
    return float(found.upper_bound if close else found.cost) / total


def _as_floats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return numbers as float64, as SciPy reads them."""
    try:
        return np.asarray(values, dtype=np.float64)
    except TypeError as error:
        raise InvalidTypeError(f"{name}: {error}") from None
    except (OverflowError, ValueError) as error:
        raise InvalidInputError(f"{name}: {error}") from None


def _as_weights(name: str, weights: ArrayLike | None, points: Array) -> NDArray[np.float64]:
    """Return the share of each point in the mass of its side."""
    if not len(points):
        raise InvalidInputError("Distribution can't be empty.")
    mass = np.ones(len(points)) if weights is None else _as_floats(name, weights)
    if mass.shape != points.shape[:1]:
        raise InvalidInputError(
            f"{name} must have a weight for each of {len(points)} points, got shape {mass.shape}"
        )
    if (mass < 0).any():
        raise InvalidInputError(f"{name}[{int((mass < 0).argmax())}] is negative")
    with np.errstate(over="ignore"):
        total = mass.sum()
    if not 0 < total < np.inf:
        raise InvalidInputError(f"the sum of {name} must be positive and finite, got {total}")
    shares: NDArray[np.float64] = mass / total
    return shares


def _graph_of(matrix: AnyArray) -> AnyArray:
    """Return a SciPy matrix in one of the formats that SciPy's matching functions take."""
    from scipy.sparse import issparse

    graph = _as_scipy(matrix)
    if not issparse(graph):
        raise InvalidTypeError("graph must be sparse")
    if graph.format not in FORMATS:
        raise InvalidTypeError("graph must be in CSC, CSR, or COO format.")
    return graph


def _is_pydata(matrix: AnyArray) -> bool:
    """Return whether a matrix is one of the package sparse, which SciPy converts."""
    return hasattr(matrix, "to_scipy_sparse")


def _as_scipy(matrix: AnyArray) -> AnyArray:
    return matrix.to_scipy_sparse() if _is_pydata(matrix) else matrix
