"""matching: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, EndsNames, GraphInput, WeightInput
from ..certify.blossoms import barrier_bound, check_mates, matched_edges, odd_components
from ..certify.exact import exact_total, float_near, rounded_up
from ..errors import (
    CostOverflowError,
    InfeasibleMatchingError,
    InvalidInputError,
    SolverError,
    VerificationError,
)
from ..graph.edge_tables import ColumnNames
from ..graph.placement import gpu_of_method, host_array
from ..graph.scaling import is_close, size_of
from ..graph.undirected import Neighbours, UndirectedGraph, as_undirected_graph, neighbours_of, plain_graph
from ..method_names import DeviceName, MatchingMethodName
from ..progress import Reporter
from ..solving.call import Call, Keywords, Request, is_plain
from ..solving.dispatch import find_method, renamed, thread_count
from ..solving.plan import Plan
from ..solving.quick import Watch
from ..solving.timing import timed
from ..stats import GeneralMatchingStats
from . import small
from .integer_weights import IntegerWeights, WeightProof, finer_weights, integer_weights, limit_for
from .policy import choose
from .problem import METHODS
from .result import GeneralMatchingResult, ProvedWeight, Wanted, proved_weight
from .solution import DualStep, GeneralState, Partners

if TYPE_CHECKING:
    from .problem import HostSolver

#: Both bounds and the gap of a result.
Bounds = tuple[int | float, int | float, int | float]
#: A graph with at most this number of edges is solved in the caller's thread, if the solve uses one thread
#: and has neither a time limit nor a progress function.
QUICK_EDGES = 50_000


def matching(
    graph: GraphInput,
    *,
    weight: WeightInput = None,
    ends: EndsNames = None,
    maximize: bool = True,
    perfect: bool = False,
    maximum_cardinality: bool = False,
    warm_start: Any = None,
    initial: Any = None,
    method: MatchingMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
) -> GeneralMatchingResult:
    """Find a matching of maximum weight, or of maximum cardinality, in a graph that need not be bipartite.

    Parameters
    ----------
    graph : UndirectedGraph, edges, sparse matrix, or graph of a library
        A tuple is edges, (tail, head) or (tail, head, weight): two or three arrays. A sparse matrix is
        square; its entries are weights, and it may be symmetric or a triangle. Of parallel edges the best one
        counts, and loops are left out.

        Vertices may have labels instead of numbers: in a list of tuples (u, v) or (u, v, weight), in a
        dictionary ``{u: {v: weight}}`` or ``{u: [v, ...]}``, in a table with the columns "source", "target"
        and perhaps "weight", and in a graph of NetworkX, igraph or rustworkx.
    weight : str, array_like, False or None
        The name of an attribute of edges (those of a graph without it have weight 1) or of a column of a
        table, or one weight for each edge. Default: the weights of the graph, if it has any; those of a
        graph with labels or a table are "weight". False: leave them out. Without weights, the matching has as
        many pairs as possible.
    ends : (str, str), optional
        Of a table: the columns of the two ends of edges, where their names do not say so.
    maximize : bool
        False: minimum weight. Unless the matching must be perfect or of maximum cardinality, only edges of
        negative weight are then of use.
    perfect : bool
        All vertices must be matched.
    maximum_cardinality : bool
        Of all matchings with as many pairs as possible, find one of best weight.
    warm_start : GeneralMatchingResult or array_like of integers, shape (n,), optional
        A matching to start from: an earlier result, or the partner of each vertex, -1 for none. For graphs
        without weights.
    initial : optional
        The former name of `warm_start`.
    method : str
        A name from ``preflow.methods("matching")``, or "auto".
    device, threads, time_limit, progress, options
        As in :func:`preflow.max_flow`.

    Returns
    -------
    GeneralMatchingResult
        Exact for integers. For floats within its `gap`, which is small beside the weights that are chosen
        (2**-40 of the sum of their sizes), however large others are. Of an approximate method: the status is
        "approximate", and the two bounds hold.

    Raises
    ------
    InvalidInputError
        The graph or an argument is malformed. Or `weight` is left out, and edges have numbers, but none with
        the name "weight": a hint says which.
    InfeasibleMatchingError
        With `perfect`: there is no perfect matching. The error has a set of vertices that proves it (Tutte).
    CostOverflowError
        Weights are 2**60 or more in size; with `perfect` or `maximum_cardinality`, 2**60 / n or more. Or
        floats are so large that their sum is infinite.

    Notes
    -----
    O(n m log n) with weights and O(n m) without at worst, in practice nearly linear for sparse graphs.
    Memory: about 200 bytes a vertex and 40 an edge. Edmonds 1965; Galil, Micali and Gabow 1986. For
    bipartite graphs :func:`preflow.bipartite_matching` and :func:`preflow.linear_assignment` are faster.

    Examples
    --------
    >>> import preflow
    >>> triangle_with_tail = ([0, 1, 2, 2], [1, 2, 0, 3], [5, 6, 7, 4])
    >>> result = preflow.matching(triangle_with_tail)
    >>> result.weight, result.pairs()
    (9, [(0, 1), (2, 3)])
    >>> result.verify()
    """
    if (
        is_plain(method, device, threads, time_limit, progress, options)
        and weight is None
        and ends is warm_start is initial is None
        and type(maximize) is type(perfect) is type(maximum_cardinality) is bool
    ):
        watch = Watch()
        plain = plain_graph(graph)
        watch.begin_solve()
        quick = (
            None
            if plain is None
            else small.match(plain, Wanted(maximize, perfect, maximum_cardinality), watch, _small_call)
        )
        if quick is not None:
            return quick
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    check_flags(maximize, perfect, maximum_cardinality)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        read = as_undirected_graph(graph, weight, called="matching", names=ColumnNames(ends))
    wanted = Wanted(bool(maximize), bool(perfect), bool(maximum_cardinality))
    if initial is not None:
        warm_start = renamed("initial", initial, "warm_start", warm_start)
    if request.is_plain and warm_start is None:
        quick = small.match(read, wanted, Watch(seconds), _small_call)
        if quick is not None:
            return quick
    call = GeneralMatchingCall.prepare(read, wanted, warm_start, request)
    call.count(seconds)
    return call.run(call.matching, request)


def check_flags(maximize: bool, perfect: bool, maximum_cardinality: bool) -> None:
    """Raise InvalidInputError unless these arguments are True or False."""
    for name, value in (
        ("maximize", maximize),
        ("perfect", perfect),
        ("maximum_cardinality", maximum_cardinality),
    ):
        if not isinstance(value, bool | np.bool_):
            raise InvalidInputError(f"{name} must be True or False, got {value!r}")


def _small_call(graph: UndirectedGraph, wanted: Wanted) -> GeneralMatchingCall:
    return GeneralMatchingCall.prepare(graph, wanted, None, Request(METHODS))


def matching_of_reduction(
    graph: UndirectedGraph, wanted: Wanted, size: Callable[[Array], float], **arguments: Unpack[Keywords]
) -> GeneralMatchingResult:
    """Return the matching that another problem needs; the graph has weights.

    `size` returns, for the weights of the pairs, the sum that a gap must be small beside. NotOptimalError if
    the solve stopped early, or floats do not allow a proof that is close enough.
    """
    request = Request(METHODS, **arguments)
    call = GeneralMatchingCall.prepare(graph, wanted, None, request)
    call.size = size
    found = call.run(call.matching, request)
    _ = found.value
    return found


@dataclass(frozen=True)
class Attempt:
    """A solve that found a best matching of integer weights, which may be rounded."""

    weights: IntegerWeights
    state: GeneralState
    steps: tuple[DualStep, ...] = ()  #: from the solves before
    taken: Fraction = Fraction(0)  #: the bound of what they took off the weights


@dataclass(kw_only=True)
class GeneralMatchingCall(Call[UndirectedGraph]):
    """One call of matching."""

    METHODS = METHODS

    wanted: Wanted
    start: Partners | None  #: int64, shape (n,): the matching to start from, -1 for none
    #: what a gap must be small beside, of the weights of the pairs. None: what the documentation states.
    size: Callable[[Array], float] | None = None

    @classmethod
    def prepare(
        cls, graph: UndirectedGraph, wanted: Wanted, warm_start: Any, request: Request
    ) -> GeneralMatchingCall:
        """Choose the method."""
        start = _read_start(graph, warm_start)

        def plan() -> Plan:
            if start is not None:
                # It may be far from maximum, and phases of shortest paths are safe.
                return Plan.of("serial-gabow", "a matching is given, and phases mend it whatever it lacks")
            return choose(graph, request.device, request.most_threads)

        method, chosen = request.choose(plan)
        last = find_method(METHODS, chosen.attempts[-1].method)
        if last.approximate and wanted.most_edges:
            raise InvalidInputError(
                f"method {last.name!r} is approximate: perfect and maximum_cardinality need an exact one"
            )
        if not last.approximate and last.weighted != (graph.weight is not None):
            has, kind = ("no", "with") if last.weighted else ("", "without")
            raise InvalidInputError(
                f"method {last.name!r} is for graphs {kind} weights, and this one has {has or 'some'}"
            )
        return cls(
            instance=graph,
            wanted=wanted,
            start=start,
            method=method,
            plan=chosen,
            threads=thread_count(method, chosen.threads, graph.num_vertices),
            device=gpu_of_method(graph, method),
        )

    @property
    def num_vertices(self) -> int:
        """No method gets more threads than this."""
        return self.instance.num_vertices

    def is_quick(self, request: Request) -> bool:
        """Whether one thread solves a small graph with the method's own options."""
        return self.instance.num_edges <= QUICK_EDGES and self.threads == 1 and not request.options

    def matching(self) -> GeneralMatchingResult:
        """Solve and wrap the result."""
        with self.current_device():
            return self._matching()

    def _matching(self) -> GeneralMatchingResult:
        graph, wanted = self.instance, self.wanted
        weights: IntegerWeights | None = None
        methods = [find_method(METHODS, each.method) for each in self.plan.attempts]
        threads = max(thread_count(each, self.plan.threads, self.num_vertices) for each in methods)
        with self.timed("build"):
            if graph.weight is not None:
                weights = integer_weights(graph, maximize=wanted.maximize, most_edges=wanted.most_edges)
            neighbours = _neighbours(graph, weights, threads)
        state = self.by_plan(
            lambda mate: self._solver()(
                neighbours, self.start if mate is None else mate, self.options, self.control
            )
        )
        if wanted.perfect and self._proves(state) and (state.mate < 0).any():
            raise self._infeasible(neighbours, state)
        if weights is None:
            with self.timed("recover"):
                return self._result(state, state.finished, self._bounds_of_size(state))
        return self._weighted(Attempt(weights, state))

    def _weighted(self, attempt: Attempt) -> GeneralMatchingResult:
        """Return the result of a solve with weights; repeat it for finer weights until the gap is small."""
        first, finished = attempt.weights, attempt.state.finished
        with self.timed("recover"):
            chosen = self._chosen(attempt.state)
            if self._proves(attempt.state):
                weight, gap = self._rounded_weight(first, chosen)
                if self._is_close(chosen, gap):
                    return self._result(attempt.state, True, (weight, weight, gap))
            proof, proved = self._proof(attempt, first, chosen)
        best = attempt, proved
        close = False
        while self._proves(attempt.state) and not (close := self._is_close(chosen, proved.gap)):
            further = self._finer(attempt, proof, proved.gap)
            if further is None or not further.state.finished:
                finished = further is None
                break
            attempt = further
            with self.timed("recover"):
                chosen = self._chosen(attempt.state)
                proof, proved = self._proof(attempt, first, chosen)
            if proved.gap < best[1].gap:
                best = attempt, proved
        attempt, proved = best
        with self.timed("recover"):
            bounds = self._bounds_of_weight(proved, close)
            return self._result(attempt.state, finished, bounds, attempt.steps, close=close)

    def _rounded_weight(self, weights: IntegerWeights, chosen: Array) -> tuple[int | float, int | float]:
        """Return the weight of a best matching of rounded weights, and the gap that rounding may have left.

        Each of n / 2 edges of this matching and of the best one was rounded.
        """
        total = exact_total(chosen)
        if chosen.dtype.kind == "i":
            return int(total), 0
        weight = float_near(total)
        if not math.isfinite(weight):
            raise CostOverflowError("the weights of the pairs sum to more than float64 can represent")
        rounded = 2 * (self.instance.num_vertices // 2) * Fraction(weights.largest_rest())
        return weight, rounded_up(rounded + abs(Fraction(weight) - total))

    def _chosen(self, state: GeneralState) -> Array:
        """Return the weights of the pairs."""
        graph = self.instance
        assert graph.weight is not None
        edges = matched_edges(graph, state.mate, graph.weight, heaviest=self.wanted.maximize)
        chosen: Array = graph.weight[edges]
        return chosen

    def _is_close(self, chosen: Array, gap: int | float) -> bool:
        if chosen.dtype.kind == "i":
            return gap == 0
        return (
            is_close(gap, size_of(chosen), len(chosen))
            if self.size is None
            else is_close(gap, self.size(chosen))
        )

    def _proof(
        self, attempt: Attempt, first: IntegerWeights, chosen: Array
    ) -> tuple[WeightProof, ProvedWeight]:
        """Return the duals of an attempt, checked, and what they prove; `first` are those with the bonus."""
        graph, duals = self.instance, attempt.state.duals
        assert duals is not None
        try:
            proof = WeightProof.of(graph, attempt.weights, duals)
        except VerificationError as error:
            raise SolverError(f"solver {self.method.name!r} left {self.UNPROVED}: {error}") from error
        bound, _ = proof.bound(graph)
        bonus = first.in_units(2 * first.bonus)
        return proof, proved_weight(graph, self.wanted, chosen, attempt.taken + bound, bonus)

    def _finer(self, attempt: Attempt, proof: WeightProof, gap: int | float) -> Attempt | None:
        """Solve again with finer weights; return None where there are none."""
        graph = self.instance
        with self.timed("build"):
            limit = limit_for(proof, Fraction(gap), proof.bound(graph)[1])
            try:
                weights, taken = finer_weights(graph, proof, limit)
            except VerificationError:  # no unit is finer
                return None
            neighbours = _neighbours(graph, weights, self.threads)
        with self.timed("solve"):
            state = self._solver()(neighbours, None, self.options, self.control)
        steps = (*attempt.steps, DualStep(proof.duals, limit))
        return Attempt(weights, state, steps, attempt.taken + taken)

    def _proves(self, state: GeneralState) -> bool:
        """Return whether a state is that of a best matching."""
        return state.finished and not self.method.approximate

    def _solver(self) -> HostSolver:
        solver: HostSolver = self.method.solve
        return solver

    def _infeasible(self, neighbours: Neighbours, state: GeneralState) -> InfeasibleMatchingError:
        """Return the error with the barrier of a matching that is not perfect."""
        graph, barrier = self.instance, state.barrier
        if barrier is None:
            method = find_method(METHODS, "serial-blossom")
            plain: HostSolver = method.solve
            without = neighbours._replace(weight=np.zeros(0, dtype=np.int64))
            barrier = plain(without, state.mate, method.make_options(None), self.control).barrier
        assert barrier is not None
        names = graph.labels or range(graph.num_vertices)
        components = odd_components(graph, barrier)
        return InfeasibleMatchingError(
            tuple(names[v] for v in np.flatnonzero(barrier).tolist()),
            tuple(tuple(names[v] for v in part.tolist()) for part in components),
        )

    def _result(
        self,
        state: GeneralState,
        finished: bool,
        bounds: Bounds,
        steps: tuple[DualStep, ...] = (),
        *,
        close: bool = True,
    ) -> GeneralMatchingResult:
        lower, upper, gap = bounds
        return GeneralMatchingResult(
            status=self.control.status(self.method, finished, close=close),
            lower_bound=lower,
            upper_bound=upper,
            stats=self.stats(GeneralMatchingStats),
            mate=self.instance.to_caller(state.mate),
            graph=self.instance,
            maximize=self.wanted.maximize,
            perfect=self.wanted.perfect,
            maximum_cardinality=self.wanted.maximum_cardinality,
            barrier=self._barrier(state),
            duals=None if self.instance.weight is None else state.duals,
            steps=steps,
            _gap=gap,
        )

    def _barrier(self, state: GeneralState) -> NDArray[np.bool_] | None:
        """Return the barrier; the search of an exact solve that was stopped leaves none."""
        return state.barrier if state.finished or self.method.approximate else None

    def _bounds_of_size(self, state: GeneralState) -> Bounds:
        """Return both bounds of the number of pairs, and their difference."""
        pairs = int(np.count_nonzero(state.mate >= 0)) // 2
        if self._proves(state):
            return pairs, pairs, 0
        barrier = self._barrier(state)
        if barrier is None or not barrier.any():
            most = _most_pairs(self.instance)
        else:
            most = barrier_bound(self.instance, barrier)
        return pairs, most, most - pairs

    def _bounds_of_weight(self, proof: ProvedWeight, close: bool) -> Bounds:
        """Return both bounds of the weight, and the gap."""
        sign = 1 if self.wanted.maximize else -1
        if not math.isfinite(proof.gain):
            raise CostOverflowError("the weights of the pairs sum to more than float64 can represent")
        if close:
            return sign * proof.gain, sign * proof.gain, proof.gap
        known = proof.gain if proof.fits else -math.inf
        most = proof.bound if isinstance(proof.bound, int) else rounded_up(proof.bound)
        most = max(most, known)
        lower, upper = (known, most) if sign == 1 else (0 - most, 0 - known)
        return lower, upper, upper - lower


def _neighbours(graph: UndirectedGraph, weights: IntegerWeights | None, threads: int) -> Neighbours:
    """Return the graph as it is solved: without edges that no best matching needs."""
    if weights is None:
        return neighbours_of(graph.num_vertices, graph.tail, graph.head, None, threads)
    useful = weights.values > 0
    if useful.all():
        return neighbours_of(graph.num_vertices, graph.tail, graph.head, weights.values, threads)
    tail, head, values = graph.tail[useful], graph.head[useful], weights.values[useful]
    return neighbours_of(graph.num_vertices, tail, head, values, threads)


def _most_pairs(graph: UndirectedGraph) -> int:
    """Return half of the number of vertices with an edge: a stopped solve must end soon."""
    has_edge = np.zeros(graph.num_vertices, dtype=bool)
    edges = graph.tail != graph.head
    for ends in (graph.tail, graph.head):
        has_edge[ends[edges]] = True
    return int(np.count_nonzero(has_edge)) // 2


def _read_start(graph: UndirectedGraph, warm_start: Any) -> Partners | None:
    """Return a matching that a caller gives, checked."""
    if warm_start is None:
        return None
    if graph.weight is not None:
        raise InvalidInputError("warm_start is for graphs without weights: a matching alone has no duals")
    given = warm_start.mate if isinstance(warm_start, GeneralMatchingResult) else warm_start
    try:
        mate = np.array(host_array(given, "warm_start"), dtype=np.int64)
        check_mates(graph, mate)
    except (VerificationError, ValueError, TypeError) as error:
        raise InvalidInputError(f"warm_start is no matching of the graph: {error}") from None
    return mate
