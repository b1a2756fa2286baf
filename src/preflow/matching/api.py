"""bipartite_matching: validate, choose a solver and an initial matching, run them, wrap the result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certify.matching import check_matching
from ..errors import InvalidInputError, VerificationError
from ..graph.bipartite import BipartiteGraph, as_bipartite_graph
from ..kernels.kernel import compile_seconds
from ..progress import Reporter
from ..solving.dispatch import check_method, check_placement, find_method, most_threads, thread_count
from ..solving.method import Method
from ..solving.run import Control, check_time_limit, run_interruptibly
from ..stats import (
    AUGMENTATIONS,
    COUNTERS,
    MATCHING_COUNTERS,
    PHASES,
    RELABEL_NANOSECONDS,
    MatchingStats,
)
from .cover import trivial_cover
from .methods import METHODS, find_heuristic
from .policy import choose
from .result import MatchingResult
from .state import Matching, empty_matching

#: Up to so many edges, a solve that nobody watches runs in the caller's thread: handing it to another one and
#: back takes 0.7 ms, more than most such solves, which Ctrl-C can well wait for.
QUICK_EDGES = 200_000


def bipartite_matching(
    graph: Any,
    *,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    initial: Any = "auto",
    options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> MatchingResult:
    """Find a maximum-cardinality matching of a bipartite graph.

    Parameters
    ----------
    graph : scipy sparse matrix, NetworkX graph, BipartiteGraph or (row, column)
        Rows against columns: every stored entry of a matrix is an edge, also a zero
        (:meth:`preflow.BipartiteGraph.from_scipy` can leave zeros out) and also when stored twice.
    method : str
        A name from ``preflow.methods("bipartite_matching")``, or "auto".
    device : {"auto", "cpu", "cuda"}
    threads : int, optional
        At most so many CPU threads; default: all that the process may use and the method can.
    initial : str, MatchingResult or array_like of integers
        What to start from: "none", a heuristic ("cheap", "min-degree", "karp-sipser", "sinkhorn-knopp"),
        "auto", or a matching: an earlier result, or the column of every row, -1 for none.
    options : mapping, optional
        Options of the named method, such as ``{"relabel_period": 1.0}``; "auto" takes none.
    time_limit : float, optional
        Seconds for the solve; an initial matching, linear in the graph, is completed in any case, and
        compiling, once, comes on top. On expiry the result's `status` says so, its matching has
        `lower_bound` edges, and no matching has more than `upper_bound`.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.

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
    the graph: about 16 to 28 bytes a row and 8 to 16 a column, and for some methods the transposed graph.

    Examples
    --------
    >>> import preflow, scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    >>> result = preflow.bipartite_matching(matrix)
    >>> result.cardinality, result.row_match.tolist()
    (2, [1, 0, -1])
    >>> result.verify()
    """
    check_time_limit(time_limit)
    check_placement(METHODS, device, threads)
    solve = _Solve.prepare(graph, method, device, threads, initial, options)
    if solve.graph.num_edges <= QUICK_EDGES and time_limit is None and progress is False:
        return solve.run()
    return run_interruptibly(solve.run, solve.control, time_limit, progress)


@dataclass
class _Solve:
    """One call of bipartite_matching, its arguments checked.

    A graph that is given by columns is solved with its sides exchanged: `solved` and `matching` are.
    """

    graph: BipartiteGraph
    solved: BipartiteGraph
    matching: Matching
    initial: str
    method: Method
    reason: str
    options: Any
    threads: int
    seconds: dict[str, float]
    control: Control = field(init=False)

    def __post_init__(self) -> None:
        self.control = Control(self.threads)

    @classmethod
    def prepare(
        cls,
        graph: Any,
        method: str,
        device: str,
        threads: int | None,
        initial: Any,
        options: Mapping[str, Any] | None,
    ) -> _Solve:
        seconds: dict[str, float] = {}
        with _timed(seconds, "build"):
            bipartite = as_bipartite_graph(graph)
        solved = bipartite.transposed if bipartite.by_columns else bipartite
        choice = choose(solved, device, most_threads(threads))
        if method == "auto":
            if options:
                raise InvalidInputError("options belong to one method: name it, method='auto' takes none")
            record, reason, options = find_method(METHODS, choice.method), choice.reason, choice.options
        else:
            record, reason = find_method(METHODS, method), "asked for"
            check_method(record, device, threads)
        matching = empty_matching(solved)
        if isinstance(initial, str):
            name = choice.initial if initial == "auto" else initial
            find_heuristic(name)
        else:
            name = "given"
            _read_matching(bipartite, initial, _by_rows(bipartite, matching))
        validated = record.make_options(options)
        count = thread_count(record, threads, solved.num_rows)
        return cls(bipartite, solved, matching, name, record, reason, validated, count, seconds)

    def run(self) -> MatchingResult:
        heuristic = None if self.initial == "given" else find_heuristic(self.initial)
        if heuristic is not None and not self.control.stopped:
            with _timed(self.seconds, "initial"):
                threads = {"threads": self.threads} if heuristic.parallel else {}
                heuristic.start(self.solved, self.matching, **threads)
        at_first = self.cardinality()
        with _timed(self.seconds, "solve"):
            finished = self.method.solve(self.solved, self.matching, self.options, self.control)
        size = self.cardinality()
        matching = _by_rows(self.graph, self.matching)
        return MatchingResult(
            "optimal" if finished else "time-limit",
            size,
            size if finished else trivial_cover(self.graph).size,
            self.stats(at_first),
            _signed(matching.row_match, self.graph.num_columns),
            _signed(matching.column_match, self.graph.num_rows),
            self.graph,
            matching,
        )

    def cardinality(self) -> int:
        return int(np.count_nonzero(self.matching.column_match < self.solved.num_rows))

    def stats(self, at_first: int) -> MatchingStats:
        table = self.control.thread_counts
        places = {name: i for i, name in enumerate(COUNTERS)}
        places |= dict(zip(MATCHING_COUNTERS, (PHASES, AUGMENTATIONS), strict=True))
        rows = tuple({name: int(row[i]) for name, i in places.items()} for row in table)
        return MatchingStats(
            method=self.method.name,
            reason="; ".join([self.reason, *self.control.remarks]),
            device=self.method.device,
            threads=self.threads,
            **{name: sum(row[name] for row in rows) for name in places},
            global_relabel_seconds=float(self.control.counts[RELABEL_NANOSECONDS]) * 1e-9,
            per_thread=rows if self.method.parallel else (),
            seconds=dict(self.seconds),
            initial=self.initial,
            initial_cardinality=at_first,
        )


def _by_rows(graph: BipartiteGraph, matching: Matching) -> Matching:
    """Return a matching of the graph as it is solved as one of the graph as it was given, or the reverse."""
    return Matching(matching.column_match, matching.row_match) if graph.by_columns else matching


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    start, compiled = time.perf_counter(), compile_seconds()
    yield
    compiling = compile_seconds() - compiled
    seconds[phase] = time.perf_counter() - start - compiling
    if compiling:
        seconds["compile"] = seconds.get("compile", 0.0) + compiling


def _signed(match: NDArray[Any], other_side: int) -> NDArray[Any]:
    """Return a match array with -1 for no partner, read-only; a view where that is possible."""
    if match.dtype == np.uint32 and other_side > 2**31:
        wide = match.astype(np.int64)
        wide[match >= other_side] = -1
    else:
        wide = match.view(np.int32 if match.dtype == np.uint32 else np.int64)
    wide.flags.writeable = False
    return wide


def _read_matching(graph: BipartiteGraph, given: Any, matching: Matching) -> None:
    """Check a matching that the caller gives and write it into `matching`."""
    if isinstance(given, MatchingResult):
        given = given.row_match
    try:
        columns = np.asarray(given)
    except ValueError as error:
        raise InvalidInputError(f"initial is not an array: {error}") from None
    if columns.shape != (graph.num_rows,):
        raise InvalidInputError(
            f"initial is a name, a result or one column per row; its shape is {columns.shape}, "
            f"expected ({graph.num_rows},)"
        )
    if columns.size and columns.dtype.kind not in "iu":
        raise InvalidInputError(f"initial holds integers, got dtype {columns.dtype}")
    if columns.size and not -1 <= int(columns.min()) <= int(columns.max()) < graph.num_columns:
        raise InvalidInputError(f"initial holds columns 0 to {graph.num_columns - 1}, or -1 for none")
    row_match = columns.astype(np.int64)
    rows = np.flatnonzero(row_match >= 0)
    column_match = np.full(graph.num_columns, -1, dtype=np.int64)
    column_match[row_match[rows]] = rows
    try:
        check_matching(graph, row_match, column_match, len(rows))
    except VerificationError as error:
        raise InvalidInputError(f"initial is not a matching of the graph: {error}") from None
    matching.row_match[rows] = row_match[rows]
    matching.column_match[row_match[rows]] = rows
