"""linear_assignment: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...arrays import AnyArray, EndsNames
from ...errors import InvalidInputError
from ...graph.cost_edges import with_edges_read
from ...method_names import AssignmentMethodName, DeviceName
from ...progress import Reporter
from ...solving.call import Request, is_plain
from ...solving.timing import timed
from ..problem import METHODS
from ..result import AssignmentResult
from .call import AssignmentCall
from .small import assign


def linear_assignment(
    cost: AnyArray,
    *,
    maximize: bool = False,
    sizes: AnyArray = None,
    shape: tuple[int, int] | None = None,
    weight: str | None = None,
    rows: Iterable[Hashable] | None = None,
    ends: EndsNames = None,
    method: AssignmentMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    partial: bool = False,
    unmatched_cost: AnyArray = None,
    options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> AssignmentResult:
    """Pair rows with columns at the least total cost.

    Parameters
    ----------
    cost : array_like, shape (..., n, m), sparse matrix, edges, graph of a library, or PointCosts
        A matrix is an array or a list of rows. A list or a tuple of matrices, which may have different
        sizes, is a batch. A tuple of three arrays holds the edges of a graph: the row, the column and the
        cost of each. Of parallel edges the best one counts; if a sparse matrix stores an entry several times,
        its values are added, as in SciPy.

        Rows and columns may have labels, anything hashable: in a DataFrame that is a matrix, in a list of
        tuples (row, column, cost), in a dictionary ``{row: {column: cost}}``, in a table with the columns
        "row", "column" and "cost", and in a graph of NetworkX, igraph or rustworkx. `pairs` of the result has
        them. A list of tuples of three numbers is refused, since it could be either.

        Integers are solved exactly if the costs of each row (column, if there are fewer columns) range over
        at most 2**60. This includes Python integers beyond 64 bits; the result has Python integers where 64
        bits do not suffice. On a GPU, integers must not exceed 2**59 in size. Floats are solved in float64,
        and again exactly where some are so large that this is not enough; :attr:`AssignmentResult.gap` bounds
        the error by rounding. Floats past 1e300 divided by the number of pairs are solved on the host.

        A pair is not allowed if its cost is infinite (minus infinity with `maximize`), if there is no edge,
        or if the sparse matrix does not store it. Stored zeros are allowed.

        Leading dimensions make a batch of matrices; each is solved separately, and ``result[i]`` is its
        result. Dense costs may be CuPy arrays or any arrays with ``__dlpack__``, such as Torch tensors, also
        in GPU memory. The results are then arrays of the same library. No gradient flows through them: a
        tensor that requires one is an error, except under ``torch.no_grad``. The
        costs of :class:`preflow.PointCosts` are never stored; only "serial-shortest-path" and, on a GPU,
        "cuda-shortest-path" take them.
    maximize : bool
        Find the largest total instead.
    sizes : array_like of integers, shape (..., 2), optional
        The number of rows and of columns of each matrix of a batch; entries beyond these are ignored.
    shape : (int, int), optional
        Numbers of rows and columns for costs (row, column, cost). Default: as many as the edges need.
    weight : str, optional
        The attribute of edges of a graph, a list or a dictionary that has the cost; every edge needs it.
        Default: "weight". Of a table: the column of costs. Default: "cost".
    ends : (str, str), optional
        Of a table of pairs: the columns of rows and of columns, where their names do not say so.
    rows : iterable of vertices, optional
        The vertices of a graph that are rows. Default: those with the attribute ``bipartite=0``,
        as in :meth:`preflow.BipartiteGraph.from_networkx`.
    method : str
        A name from ``preflow.methods("linear_assignment")``, or "auto".
    device : {"auto", "cpu", "cuda"}
        "auto" uses the GPU if the costs are in its memory. It also uses the GPU for a large batch or a large
        matrix in host memory if CUDA is already initialised and `threads` is not given.
    threads : int, optional
        The largest number of CPU threads to use. Default: all CPUs of the process.
    partial : bool
        If not all rows (columns, if there are fewer) can be paired, find the best of the assignments with
        the largest number of pairs. Otherwise this raises InfeasibleError.
    unmatched_cost : number, or (rows, columns), optional
        What each row and each column without a partner costs (with `maximize`, what it is worth): one number
        for all, or a tuple of a number or an array for the rows and one for the columns; by label, a mapping
        or a Series. Then any number of pairs is allowed, and the total counts pairs and singles. 0 with
        `maximize` is the matching of the largest weight. Trackers know this as ``cost_limit`` of lap and
        lapx: ``cost_limit=L`` is ``unmatched_cost=(L, 0)``. Of points, the distances that pay are stored, 24
        bytes each; a method on a GPU takes all n m distances, 8 bytes each, on the host and on the GPU. Costs
        on a GPU are copied to the host, and arrays of the result are put where the costs are.
    options : mapping, optional
        Options of the named method, such as ``{"row_reduction": 20}``; "auto" takes no options.
    time_limit : float, optional
        Seconds for the solve, not counting compilation at first use. On expiry the result's `status` is
        "time-limit", and its prices prove `lower_bound` (`upper_bound` with `maximize`).
    progress : bool or function
        True shows a progress line on standard error. A function is called with a ProgressReport at intervals.

    Returns
    -------
    AssignmentResult
        An :class:`preflow.AssignmentWithSinglesResult` if `unmatched_cost` is given.

    Raises
    ------
    InvalidInputError
        The costs or an argument are malformed, a cost is NaN, or the range of integer costs is so large that
        prices do not fit 64 bits.
    CostOverflowError
        The floats of the best assignment, or its prices, add up to more than float64 can hold.
    InfeasibleError
        Not all rows (columns, if there are fewer) can be paired: some rows are together allowed fewer columns
        than there are of these rows. The error names them.
    UnsuitableMethodError
        There are more rows or columns than the method supports.
    DeviceUnavailableError
        There is no such device.
    DeviceMemoryError
        The costs do not fit the GPU's memory.

    Notes
    -----
    The worst case takes O(n**2 m) time for n rows and m >= n columns; most instances take near O(n m). Memory
    besides the costs: 3 KiB per row and 100 bytes per column. The costs are copied if they are to be
    maximised, have more rows than columns, or are integers of fewer than 64 bits.

    Examples
    --------
    >>> import preflow
    >>> result = preflow.linear_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> result.row.tolist(), result.column.tolist(), result.cost
    ([0, 1, 2], [1, 0, 2], 5)
    >>> result.verify()
    >>> result = preflow.linear_assignment([[4, 9, 3], [9, 8, 9], [3, 2, 2]], unmatched_cost=2)
    >>> result.row.tolist(), result.column.tolist(), result.cost
    ([0, 2], [2, 1], 9)
    """
    if (
        is_plain(method, device, threads, time_limit, progress, options)
        and partial is False
        and sizes is None
        and shape is None
        and weight is None
        and rows is None
        and ends is None
    ):
        quick = assign(cost, maximize, unmatched_cost)
        if quick is not None:
            return quick
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    if not isinstance(partial, bool):
        raise InvalidInputError(f"partial must be True or False, got {partial!r}")
    if partial and unmatched_cost is not None:
        raise InvalidInputError(
            "give partial or unmatched_cost: the first asks for the most pairs, the second for the best"
        )
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        cost = with_edges_read(cost, shape=shape, weight=weight, rows=rows, ends=ends)
    if unmatched_cost is not None:
        from .singles import assign_with_singles

        found = assign_with_singles(cost, maximize, sizes, unmatched_cost, request)
        return replace(found, stats=found.stats.including(seconds))
    call = AssignmentCall.prepare(cost, maximize, sizes, partial, request)
    call.count(seconds)
    return call.run(call.assignment, request)
