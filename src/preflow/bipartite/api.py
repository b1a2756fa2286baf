"""bipartite_matching: validate, choose a solver and an initial matching, run them, wrap the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import AnyArray, EndsNames
from ..certify.matching import check_matching
from ..cuda import runtime
from ..cuda.runtime import Device, is_on_gpu
from ..errors import InvalidInputError, VerificationError
from ..graph.bipartite import BipartiteGraph, DeviceBipartiteGraph, graph_on_device
from ..graph.convert import as_bipartite_graph
from ..graph.edge_tables import ColumnNames
from ..graph.placement import as_device_array, gpu_of_method, gpu_worth_using, host_array
from ..method_names import BipartiteMethodName, DeviceName
from ..parallel.passes import count_below
from ..progress import Reporter
from ..solving.call import Call, Request
from ..solving.dispatch import renamed, thread_count
from ..solving.plan import Plan
from ..solving.timing import timed
from ..stats import MatchingStats
from . import small
from .cover import trivial_cover
from .match_arrays import Matching, empty_matching
from .policy import choose, initial_for, worth_a_gpu
from .problem import METHODS, Heuristic, find_heuristic
from .result import MatchingResult

#: A graph with at most this number of edges is solved in the caller's thread, if the solve uses one thread
#: and has neither a time limit nor a progress function. To hand it to another thread takes 0.02 to 0.05 ms,
#: as long as the smallest solves. All of these solves end before Ctrl-C is missed. With options, or with more
#: threads than cores, the same graphs may take seconds.
QUICK_EDGES = 200_000


def bipartite_matching(
    graph: Any,
    *,
    method: BipartiteMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    initial: Any = "auto",
    options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    warm_start: Any = None,
    ends: EndsNames = None,
) -> MatchingResult:
    """Find a maximum-cardinality matching of a bipartite graph.

    Parameters
    ----------
    graph : BipartiteGraph, edges, matrix, or graph of a library
        A tuple is edges: two arrays with the row and the column of each. A matrix, a sparse or dense one or a
        list of rows, has rows against columns: every stored entry of a sparse one is an edge, also a zero
        (:meth:`preflow.BipartiteGraph.from_scipy` can leave zeros out) and also when stored twice; of a dense
        one every entry that is not zero. A list of two is refused, since it could be either. The graph may be
        on a GPU: a sparse matrix of CuPy's, or arrays of CuPy's or with ``__dlpack__`` such as Torch tensors.
        Results are then of the same kind, and "auto" takes a method that runs there; one that runs on the CPU
        gets a copy, and so does a heuristic on the CPU for the initial matching.

        Rows and columns may have labels, anything hashable: in a list of tuples (row, column), in a
        dictionary ``{row: [column, ...]}``, in a table with the columns "row" and "column", in a DataFrame
        that is a matrix, and in a graph of NetworkX, igraph or rustworkx.
    method : str
        A name from ``preflow.methods("bipartite_matching")``, or "auto".
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU for a graph on the host only if the graph is large and `threads` is not given.
    threads : int, optional
        The most CPU threads to use. Default: all CPUs of the process, as far as the method can use them.
    initial : str
        The heuristic for the matching to start from: "none", "cheap", "min-degree", "karp-sipser",
        "sinkhorn-knopp", on a GPU also "proposals", or "auto". A matching is `warm_start`.
    options : mapping, optional
        Options of the named method, such as ``{"relabel_period": 1.0}``; "auto" takes none.
    time_limit : float, optional
        Seconds for the solve, the initial matching included; compiling, once, comes on top. On expiry the
        result's `status` says so, its matching has `lower_bound` edges, and no matching has more than
        `upper_bound`.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.
    warm_start : MatchingResult or array_like of integers, optional
        A matching to start from, in place of `initial`: an earlier result, or the column of every row, -1
        for none, on the host or on the GPU.
    ends : (str, str), optional
        Of a table: the columns of rows and of columns, where their names do not say so.

    Returns
    -------
    MatchingResult

    Raises
    ------
    InvalidInputError
        The graph, the initial matching or an argument is malformed.
    DeviceUnavailableError
        The device is not there.
    DeviceMemoryError
        The graph does not fit the GPU's memory.

    Notes
    -----
    O(m sqrt(n)) for the methods of Hopcroft and Karp, O(n m) for the others, mostly near O(m). Memory beside
    the graph: about 16 to 28 bytes a row and 8 to 16 a column, and for some methods the transposed graph. On
    a GPU the same, and where the graph is on the host 4 bytes an edge and a row for a copy of it.

    Examples
    --------
    >>> import preflow, scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    >>> result = preflow.bipartite_matching(matrix)
    >>> result.cardinality, result.row_match.tolist()
    (2, [1, 0, -1])
    >>> result.verify()
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    if not isinstance(initial, str):
        if initial is None:
            raise InvalidInputError("initial must be a name, got None")
        initial, warm_start = "auto", renamed("initial", initial, "warm_start", warm_start)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        bipartite = as_bipartite_graph(graph, ColumnNames(ends))
    if warm_start is None and initial == "auto":
        quick = small.match(bipartite, request, seconds, _small_call)
        if quick is not None:
            return quick
    call = MatchingCall.prepare(bipartite, initial, warm_start, request)
    call.count(seconds)
    return call.run(call.matching, request)


def _small_call(graph: BipartiteGraph) -> MatchingCall:
    call = MatchingCall.prepare(graph, "auto", None, Request(METHODS, small.QUICK.method))
    call.plan = small.QUICK
    return call


@dataclass(kw_only=True)
class MatchingCall(Call[BipartiteGraph]):
    """One call of bipartite_matching.

    A graph that is given by columns is solved with its sides exchanged.
    """

    METHODS = METHODS

    device: Device | None
    solved: BipartiteGraph  #: the graph as it is solved
    #: the matching of `instance` to start from, if the caller gave one, where the method runs
    given: Matching | None
    initial: str  #: name of the heuristic to start from; "given" for the caller's matching

    @classmethod
    def prepare(
        cls, graph: Any, initial: str, warm_start: Any, request: Request, names: ColumnNames | None = None
    ) -> MatchingCall:
        """Read the graph and the matching to start from, and choose the method."""
        seconds: dict[str, float] = {}
        with timed(seconds, "build"):
            bipartite = as_bipartite_graph(graph, names)
        solved = _by_rows(bipartite)

        def plan() -> Plan:
            on_cpu = request.device == "cpu" or request.threads is not None
            looked_at = solved
            if on_cpu and isinstance(bipartite, DeviceBipartiteGraph):
                with timed(seconds, "download"):
                    looked_at = _by_rows(bipartite.on_host())
            gpu = gpu_worth_using(solved, worth_a_gpu, request.may_look_for_gpu)
            return choose(looked_at, request.device, request.most_threads, gpu)

        method, chosen = request.choose(plan)
        gpu = gpu_of_method(bipartite, method)
        given = None
        if warm_start is None:
            on_gpu = gpu is not None and isinstance(bipartite, DeviceBipartiteGraph)
            name = initial_for(method.name, on_gpu) if initial == "auto" else initial
            heuristic = find_heuristic(name)
            if heuristic is not None and heuristic.device == "cuda" and gpu is None:
                raise InvalidInputError(f"initial={name!r} runs on a GPU, {method.name} does not")
        else:
            if initial != "auto":
                raise InvalidInputError("warm_start takes the place of initial: give one of them")
            name = "given"
            with bipartite.current():
                given = _read_matching(bipartite, warm_start)
            if gpu is None:
                given = Matching(*map(bipartite.to_host, given))
            else:
                gpu.synchronize()
        return cls(
            instance=bipartite,
            solved=solved,
            given=given,
            initial=name,
            method=method,
            plan=chosen,
            threads=thread_count(method, chosen.threads, solved.num_rows),
            device=gpu,
            seconds=seconds,
        )

    @property
    def num_vertices(self) -> int:
        """No method gets more threads than this."""
        return self.solved.num_rows

    def is_quick(self, request: Request) -> bool:
        """Whether one thread solves a small graph with the method's own options."""
        return self.solved.num_edges <= QUICK_EDGES and self.threads == 1 and not request.options

    @property
    def on_gpu(self) -> bool:
        """Whether the graph is on a GPU."""
        return isinstance(self.instance, DeviceBipartiteGraph)

    @property
    def gpu_in_use(self) -> Device | None:
        """The GPU that a phase has to wait for: also that of a graph whose method runs on the CPU."""
        return self.instance.device if isinstance(self.instance, DeviceBipartiteGraph) else self.device

    @cached_property
    def on_host(self) -> BipartiteGraph:
        """The graph as it is solved, in the host's memory."""
        if not self.on_gpu:
            return self.solved
        with self.timed("download"):
            return _by_rows(self.instance.on_host())

    @cached_property
    def heuristic(self) -> Heuristic | None:
        """The heuristic that finds the matching to start from, if one does."""
        return None if self.given is not None else find_heuristic(self.initial)

    def host_matching(self) -> Matching | None:
        """Return the matching to start from, of the graph as it is solved; None for the empty one.

        What a heuristic finds is in the host's memory.
        """
        if self.given is not None:
            return self.given.transposed if self.instance.by_columns else self.given
        if self.heuristic is None or self.heuristic.device == "cuda" or self.control.stopped:
            return None
        matching = empty_matching(self.on_host, self.threads)
        with self.timed("initial"):
            self.heuristic.start(self.on_host, matching, self.control)
        return matching

    def started(self) -> tuple[BipartiteGraph, Matching]:
        """Return the graph as it is solved and the matching to start from, both where the method runs."""
        start = self.host_matching()
        if self.device is None:
            return self.on_host, start or empty_matching(self.on_host, self.threads)
        with self.timed("upload"):
            graph = self.solved if self.on_gpu else graph_on_device(self.solved, self.device)
            matching = Matching(*map(graph.to_array_module, start)) if start else empty_matching(graph)
        if self.heuristic is not None and self.heuristic.device == "cuda" and not self.control.stopped:
            with self.timed("initial"):
                self.heuristic.start(graph, matching, self.control)
        return graph, matching

    def matching(self) -> MatchingResult:
        """Start from the initial matching, solve and wrap the result."""
        with self.current_device():
            solved, matching = self.started()
            at_first = _cardinality(solved, matching, self.threads)
            is_maximum = at_first == min(solved.shape)
            finished = self.by_plan(
                lambda _: is_maximum or bool(self.method.solve(solved, matching, self.options, self.control))
            )
            size = _cardinality(solved, matching, self.threads)
            if self.instance.by_columns:
                matching = matching.transposed
            if self.on_gpu != (self.device is not None):
                with self.timed("upload" if self.on_gpu else "download"):
                    move = self.instance.to_array_module if self.device is None else self.device.to_host
                    matching = Matching(*map(move, matching))
            return MatchingResult(
                self.control.status(self.method, finished),
                size,
                size if finished else trivial_cover(self.instance).size,
                self.stats(MatchingStats, initial=self.initial, initial_cardinality=at_first),
                _signed(self.instance, matching.row_match, self.instance.num_columns),
                _signed(self.instance, matching.column_match, self.instance.num_rows),
                self.instance,
                matching,
            )


def _by_rows(graph: BipartiteGraph) -> BipartiteGraph:
    """Return a graph so that its rows are there without work: with its sides exchanged, or itself."""
    return graph.transposed if graph.by_columns else graph


def _cardinality(graph: BipartiteGraph, matching: Matching, threads: int) -> int:
    if graph.xp is np:
        return count_below(matching.column_match, graph.num_rows, threads)
    return int(graph.xp.count_nonzero(matching.column_match < graph.num_rows))


def _signed(graph: BipartiteGraph, match: AnyArray, other_side: int) -> AnyArray:
    """Return a match array of the caller's kind with -1 for no partner, read-only if it is NumPy's.

    It is a view where that is possible.
    """
    if match.dtype == np.uint32 and other_side > 2**31:
        wide = match.astype(np.int64)
        wide[match >= other_side] = -1
    else:
        wide = match.view(np.int32 if match.dtype == np.uint32 else np.int64)
    return graph.to_caller(wide)


def _given_array(graph: BipartiteGraph, given: Any) -> Any:
    """Return the initial matching that the caller gives as an array, on a GPU only if the graph is."""
    if isinstance(given, MatchingResult):
        given = given.row_match
    if is_on_gpu(given):
        if isinstance(graph, DeviceBipartiteGraph):
            return as_device_array(graph.device, given, "warm_start", "graph")
        device = runtime.find_device()
        return device.to_host(as_device_array(device, given, "warm_start", "graph"))
    return host_array(given, "warm_start")


def _read_matching(graph: BipartiteGraph, given: Any) -> Matching:
    """Check a matching that the caller gives and return it, where the graph is."""
    columns, xp = _given_array(graph, given), graph.xp
    if columns.shape != (graph.num_rows,):
        raise InvalidInputError(
            f"warm_start is a result or one column per row; its shape is {columns.shape}, "
            f"expected ({graph.num_rows},)"
        )
    if columns.size and columns.dtype.kind not in "iu":
        raise InvalidInputError(f"warm_start must hold integers, got dtype {columns.dtype}")
    if columns.size and not -1 <= int(columns.min()) <= int(columns.max()) < graph.num_columns:
        raise InvalidInputError(f"warm_start holds columns 0 to {graph.num_columns - 1}, or -1 for none")
    row_match = graph.to_array_module(columns.astype(np.int64))
    rows = xp.flatnonzero(row_match >= 0)
    column_match = xp.full(graph.num_columns, -1, dtype=np.int64)
    column_match[row_match[rows]] = rows
    try:
        check_matching(graph, row_match, column_match, len(rows))
    except VerificationError as error:
        raise InvalidInputError(f"warm_start is not a matching of the graph: {error}") from None
    matching = empty_matching(graph)
    matching.row_match[rows] = row_match[rows].astype(graph.dtype)
    matching.column_match[row_match[rows]] = rows.astype(graph.dtype)
    return matching
