"""linear_assignment: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from ...errors import InvalidInputError
from ...graph.cost_edges import with_edges_read
from ...progress import Reporter
from ...solving.call import Request
from ..methods import METHODS
from ..result import AssignmentResult
from .call import AssignmentCall


def linear_assignment(
    cost: Any,
    *,
    maximize: bool = False,
    sizes: Any = None,
    shape: tuple[int, int] | None = None,
    weight: str = "weight",
    rows: Iterable[Hashable] | None = None,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    partial: bool = False,
    options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> AssignmentResult:
    """Pair rows with columns at the least total cost.

    Parameters
    ----------
    cost : array_like, shape (..., n, m), sparse matrix, (row, column, cost), NetworkX graph, or PointCosts
        A tuple is edges: three arrays with the row, the column and the cost of each. An array or a list of
        rows is a matrix. Of parallel edges the best one counts; entries that a sparse matrix stores several
        times are added up, as by SciPy. Integers, also Python's beyond 64 bits, are solved exactly where
        those of each row (column, if there are fewer) range over at most 2**60; the result has Python's
        where 64 bits do not suffice. On a GPU they are at most 2**59 in size. Floats are solved in float64;
        :attr:`AssignmentResult.gap` says how far from the optimum rounding may have led. A pair of
        infinite cost (minus infinity with `maximize`), without an edge, or that a sparse matrix does not
        store, is not allowed; stored zeros are. Leading dimensions make a stack of matrices, each of which is
        solved by itself. Dense costs may be arrays of CuPy's or of anything with ``__dlpack__``, such as
        Torch tensors, also on a GPU; results are then of the same kind, and no gradients flow through them.
        Of :class:`preflow.PointCosts` no cost is stored; "serial-shortest-path" takes them, and
        "cuda-shortest-path" on a GPU.
    maximize : bool
        Find the largest total instead.
    sizes : array_like of integers, shape (..., 2), optional
        How many of its rows and columns each matrix of a stack has; the entries behind these may be anything.
    shape : (int, int), optional
        Numbers of rows and columns of costs (row, column, cost); default: just enough.
    weight : str, default "weight"
        The attribute of the edges of a NetworkX graph that is their cost; every edge has it.
    rows : iterable of vertices, optional
        The vertices of a NetworkX graph that are rows. Default: as in
        :meth:`preflow.BipartiteGraph.from_networkx`, those with the attribute ``bipartite=0``.
    method : str
        A name from ``preflow.methods("linear_assignment")``, or "auto".
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU where the costs are there, and for a large stack on the host where the process uses
        one already and `threads` is not given.
    threads : int, optional
        The most CPU threads to use. Default: all CPUs of the process, as far as the method can use them.
    partial : bool
        Where not all rows (columns, if there are fewer) can be paired, return the best among the assignments
        with the most pairs, not an error.
    options : mapping, optional
        Options of the named method, such as ``{"row_reduction": 20}``; "auto" takes none.
    time_limit : float, optional
        Seconds for the solve; compiling, once, comes on top. On expiry the result's `status` says so, and
        `lower_bound` (`upper_bound` with `maximize`) is proved by its prices.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.

    Returns
    -------
    AssignmentResult

    Raises
    ------
    InvalidInputError
        The costs or an argument are malformed, a cost is NaN, or integers that compete range so far that
        64 bits do not hold their prices.
    InfeasibleError
        Some rows together are allowed fewer columns than they are; it names them.
    UnsuitableMethodError
        There are more rows or columns than the method can take.
    DeviceUnavailableError
        The device is not there.
    DeviceMemoryError
        The costs do not fit the GPU's memory.

    Notes
    -----
    O(n**2 m) for n <= m rows at worst, mostly near O(n m). Memory beside the costs: 3 KiB a row and 100 bytes
    a column; the costs are copied where they are to be maximised, have more rows than columns or are integers
    of fewer than 64 bits.

    Examples
    --------
    >>> import preflow
    >>> result = preflow.linear_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> result.row.tolist(), result.column.tolist(), result.cost
    ([0, 1, 2], [1, 0, 2], 5)
    >>> result.verify()
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    if not isinstance(partial, bool):
        raise InvalidInputError(f"partial is True or False, got {partial!r}")
    cost = with_edges_read(cost, shape=shape, weight=weight, rows=rows)
    call = AssignmentCall.prepare(cost, maximize, sizes, partial, request)
    return call.run(call.assignment, request)
