"""matching_batch: read the graphs, scale their weights, match them together, wrap the result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array
from ...certify.blossoms import matched_edges
from ...cuda.runtime import Device
from ...errors import InfeasibleMatchingError, InvalidInputError, SolverError
from ...graph.edge_tables import ULPS
from ...graph.network_batch import naming
from ...graph.placement import gpu_of_method
from ...graph.undirected import UndirectedGraph
from ...method_names import DeviceName
from ...progress import Reporter
from ...solving.call import Call, Request
from ...solving.options import NoOptions
from ...solving.plan import Plan
from ...solving.read_only import make_read_only
from ...solving.timing import timed
from ...stats import GeneralMatchingStats
from ..api import GeneralMatchingCall, check_flags
from ..integer_weights import BITS, weight_of_floats
from ..problem import METHODS as MATCHING_METHODS
from ..result import GeneralMatchingResult, Wanted
from . import cuda_edmonds, multicore_edmonds
from .arrays import ASYMMETRIC, BROKEN, INFINITE, OUTSIDE, SOLVED, Found, Scales, Survey
from .graphs import GraphBatch, read_graphs
from .methods import METHODS
from .result import MatchingBatchResult

#: An item whose sums of duals may reach this number is solved by :func:`matching`, and so is one with floats
#: beyond two to this power, or as small.
MOST, MOST_EXPONENT = 2.0**BITS, 800
#: Vertices for each thread, at least: starting a thread takes as long as to match some of them.
VERTICES_A_THREAD = 100


def matching_batch(
    graphs: object,
    *,
    no_edge: int | float | None = None,
    num_vertices: ArrayLike | None = None,
    maximize: bool = True,
    perfect: bool = False,
    maximum_cardinality: bool = False,
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> MatchingBatchResult:
    """Find matchings of maximum weight of many small graphs in one call.

    Here each thread, or each warp of a GPU, matches whole graphs, one after the other, in near memory.
    So a batch takes less time than a loop of calls of :func:`preflow.matching`, which also has much to do for
    each.

    Parameters
    ----------
    graphs : array_like, shape (items, n, n), or (pairs, weights, offsets), or list of graphs
        - An array of symmetric matrices of weights. Each entry beside the diagonal is an edge, unless it is
          infinite, NaN, or `no_edge`. Floats at (u, v) and (v, u) may differ by rounding; the one above the
          diagonal counts.
        - A tuple of arrays with the edges of all graphs, one graph after the other: the ends of shape (m, 2),
          the weights of shape (m,), and where the edges of each graph begin, of shape (items + 1,), with m
          at the end. Vertices are numbered from 0 in each graph.
        - A list of graphs with weights, as :func:`preflow.matching` takes them.

        All these arrays may be on a GPU, such as those of CuPy; `mate` is on the GPU then, too. Edges are
        packed on the host.
    no_edge : int or float, optional
        Entries of matrices that are no edges; NaN and infinities never are.
    num_vertices : int or array_like of integers, shape (items,), optional
        With `offsets`: the number of vertices of each graph. Default: one more than the largest vertex with
        an edge.
    maximize, perfect, maximum_cardinality : bool
        As in :func:`preflow.matching`, for each graph.
    device : {"auto", "cpu", "cuda"}
        "auto" is the GPU where it stores matrices or edges, otherwise the CPU.
    threads : int, optional
        Greatest number of CPU threads; by default as many as the process may use.
    time_limit : float, optional
        Seconds. On expiry the result's `status` says so; items that were not solved have bounds.
    progress : bool or function
        As in :func:`preflow.max_flow`.

    Returns
    -------
    MatchingBatchResult
        ``result[i]`` is the result of graph ``i``, with its proof. Exact for integers; for floats as
        :func:`preflow.matching` is, each graph for itself.

    Raises
    ------
    InvalidInputError
        A matrix is not symmetric, an edge or an argument is malformed; the message names the item.
    InfeasibleMatchingError
        With `perfect`: a graph has no perfect matching. The error has its number, `item`, and a proof.
    CostOverflowError
        Weights of an item are too large, see :func:`preflow.matching`.

    Notes
    -----
    O(n m log n) for each graph, O(n**3) on a GPU. Edmonds 1965; Galil, Micali and Gabow 1986. A few graphs
    are solved by :func:`preflow.matching`: those of integers above 2**60 / (n + 2)**2, of floats for which
    one rounding loses too much, and on a GPU of more than about 3,000 vertices.

    Examples
    --------
    >>> import numpy as np
    >>> import preflow
    >>> weights = np.array([[[0, 5, 7], [5, 0, 6], [7, 6, 0]], [[0, 1, 2], [1, 0, 3], [2, 3, 0]]])
    >>> result = preflow.matching_batch(weights)
    >>> result.value.tolist(), result.mate.tolist()
    ([7, 3], [[2, -1, 0], [-1, 2, 1]])
    >>> result[0].pairs()
    [(0, 2)]
    >>> result.verify()
    """
    request = Request(METHODS, "auto", device, threads, time_limit, progress)
    check_flags(maximize, perfect, maximum_cardinality)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        batch = read_graphs(graphs, no_edge, num_vertices)
    wanted = Wanted(bool(maximize), bool(perfect), bool(maximum_cardinality))
    call = BatchCall.prepare(batch, wanted, request)
    call.count(seconds)
    return call.run(call.find, request)


@dataclass(kw_only=True)
class BatchCall(Call[GraphBatch]):
    """One call of matching_batch."""

    wanted: Wanted
    device: Device | None

    @classmethod
    def prepare(cls, batch: GraphBatch, wanted: Wanted, request: Request) -> BatchCall:
        """Choose the method and the number of threads."""
        chosen = Plan.of("multicore-edmonds", "the method for batches on the CPU")
        if request.device == "cuda":
            chosen = Plan.of("cuda-edmonds", "device='cuda': the method for batches on a GPU")
        elif batch.device is not None and request.may_look_for_gpu:
            chosen = Plan.of("cuda-edmonds", "the graphs are on a GPU")
        method, choice = request.choose(lambda: chosen)
        n = int(batch.first_vertex[-1])
        return cls(
            device=gpu_of_method(batch, method),
            instance=batch,
            wanted=wanted,
            method=method,
            plan=choice,
            options=NoOptions(),
            threads=max(1, min(request.most_threads, len(batch), n // VERTICES_A_THREAD)),
        )

    def find(self) -> MatchingBatchResult:
        """Solve all items and wrap the result."""
        with self.current_device():
            return self.find_on_device()

    def solver(self) -> multicore_edmonds.Solver | cuda_edmonds.Solver:
        """Return the solver of the batch."""
        arguments = self.instance, self.wanted, self.control
        if self.device is None:
            return multicore_edmonds.Solver(*arguments)
        return cuda_edmonds.Solver(*arguments, self.device)

    def find_on_device(self) -> MatchingBatchResult:
        """Solve all items where the method runs, and wrap the result."""
        batch, wanted = self.instance, self.wanted
        with self.timed("build"):
            solver = self.solver()
            survey = solver.survey()
            self.check(survey)
            scales, unfit = scales_of(survey, batch.sizes, wanted)
            unfit |= batch.sizes > solver.most_vertices
        with self.timed("solve"):
            found = solver.solve(np.flatnonzero(~unfit), scales)
        with self.timed("recover"):
            solved = found.ending == SOLVED
            if not self.control.stopped and (solved != ~unfit).any():
                raise SolverError(f"solver {self.method.name!r} left {self.UNPROVED}")
            value, gap, close = self.values(found, survey, scales)
            if wanted.perfect:  # an item with a free vertex has no perfect matching: alone it says why
                solved &= len_of_items(found.mate < 0, batch.first_vertex) == 0
            alone = np.flatnonzero(~(solved & close))
            lower, upper, optimal = value.copy(), value.copy(), solved & close
            one_by_one: dict[int, GeneralMatchingResult] = {}
            for item in alone.tolist():
                one = one_by_one[item] = self.solve_alone(item)
                if math.inf in (-one.lower_bound, one.upper_bound):
                    lower, upper, gap = (each.astype(np.float64) for each in (lower, upper, gap))
                lower[item], upper[item], gap[item] = one.lower_bound, one.upper_bound, one.gap
                found.mate[batch.vertices_of(item)] = one.graph.to_host(one.mate)
                optimal[item] = one.status == "optimal"
            ended = all(one.status != "time-limit" for one in one_by_one.values())
            mate = found.mate.reshape(batch.weight.shape[:2]) if batch.is_stack else found.mate
            fields: dict[str, object] = {
                "status": self.control.status(self.method, ended, close=bool(optimal.all())),
                "lower_bound": lower,
                "upper_bound": upper,
                "stats": self.stats(GeneralMatchingStats),
                "mate": batch.to_caller(mate),
                "optimal": optimal,
                "graphs": batch,
                **wanted._asdict(),
                "_gap": gap,
                "_alone": one_by_one,
            }
            make_read_only(fields)
            return MatchingBatchResult._made_later(fields, partial(_later, solver))

    def check(self, survey: Survey) -> None:
        """Raise InvalidInputError that names the first item whose graph is malformed."""
        wrong = survey.flaws & (ASYMMETRIC | INFINITE | OUTSIDE) != 0
        if not wrong.any():
            return
        item, batch = int(wrong.argmax()), self.instance
        with naming(item):
            if batch.is_stack:
                matrix = batch.numbers[item]
                unit = ULPS * np.finfo(np.float64).eps if matrix.dtype.kind == "f" else 0
                with np.errstate(invalid="ignore", over="ignore"):
                    near = np.abs(matrix - matrix.T) <= unit * np.abs(matrix)
                same = (matrix == matrix.T) | near | ~(np.isfinite(matrix) | np.isfinite(matrix.T))
                u, v = (int(each) for each in np.argwhere(~same)[0])
                raise InvalidInputError(
                    f"the matrix is not symmetric: it has {matrix[u, v]} at ({u}, {v}) and {matrix[v, u]} at "
                    f"({v}, {u}): give (matrix + matrix.T) / 2, or the edges as (pairs, weights, offsets)"
                )
            _ = batch[item]  # says what is wrong
        raise SolverError(f"item {item}: the survey found a flaw that is none")

    def values(self, found: Found, survey: Survey, scales: Scales) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the weight and the gap of each item, and whether the gap is small."""
        batch = self.instance
        if not batch.is_float:
            total = found.total
            if self.wanted.most_edges:
                total = total - scales.bonus * (len_of_items(found.mate >= 0, batch.first_vertex) // 2)
            whole = total if self.wanted.maximize else -total
            return whole, np.zeros(len(batch), dtype=np.int64), np.ones(len(batch), dtype=bool)
        chosen, first = self.chosen(found)
        numbers, bounds, pairs = chosen.tolist(), first.tolist(), (batch.sizes // 2).tolist()
        rest, up = found.rest.tolist(), scales.up.tolist()
        value, gap, size = np.zeros((3, len(batch)))
        for item in np.flatnonzero(found.ending == SOLVED).tolist():
            part = numbers[bounds[item] : bounds[item + 1]]
            value[item], gap[item] = weight_of_floats(part, pairs[item], rest[item], up[item])
            size[item] = math.fsum(map(abs, part))
        return value, gap, gap <= (2.0**-40 + np.diff(first) * 2.0**-53) * size

    def chosen(self, found: Found) -> tuple[Array, NDArray[np.int64]]:
        """Return the weights of all pairs, and where those of each item begin."""
        batch, mate, begin = self.instance, found.mate, self.instance.first_vertex[:-1]
        offset = np.repeat(begin, batch.sizes)
        lower = np.flatnonzero(mate > np.arange(len(mate)) - offset)
        first = np.append(0, np.cumsum(len_of_items(mate >= 0, batch.first_vertex) // 2))
        if batch.is_stack:
            n = batch.numbers.shape[1]
            chosen: Array = batch.numbers[lower // n, lower % n, mate[lower]]
            return chosen, first
        shift = np.repeat(begin, np.diff(batch.first_edge))
        tail, head = batch.ends.T + shift
        together = UndirectedGraph(len(mate), tail, head, batch.numbers)
        of_all = np.where(mate >= 0, mate + offset, -1)
        edges = matched_edges(together, of_all, batch.numbers, heaviest=self.wanted.maximize)
        return batch.numbers[edges], first

    def solve_alone(self, item: int) -> GeneralMatchingResult:
        """Solve one item by matching, within the time limit of the batch."""
        request = Request(MATCHING_METHODS, device="cpu", threads=1)
        try:
            with naming(item):
                one = GeneralMatchingCall.prepare(self.instance[item], self.wanted, None, request)
                one.control = self.control
                return one.matching()
        except InfeasibleMatchingError as error:
            raise InfeasibleMatchingError(error.barrier, error.components, (item,)) from None


def _later(solver: multicore_edmonds.Solver | cuda_edmonds.Solver) -> dict[str, object]:
    """Return the field of a result that few callers read."""
    duals = solver.duals()
    make_read_only(duals)
    return {"_duals": duals}


def len_of_items(flags: NDArray[np.bool_], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many flags of each item are set."""
    before = np.append(0, np.cumsum(flags))
    counts: NDArray[np.int64] = before[first[1:]] - before[first[:-1]]
    return counts


def scales_of(survey: Survey, sizes: NDArray[np.int64], wanted: Wanted) -> tuple[Scales, NDArray[np.bool_]]:
    """Return the weights that are solved, and which items they do not fit.

    They are those of :func:`preflow.general_matching.integer_weights.integer_weights`.
    """
    least, most = survey.least, survey.most
    size = np.maximum(np.abs(least.astype(np.float64)), np.abs(most.astype(np.float64)))
    rounded = survey.flaws & BROKEN != 0
    pairs = sizes // 2 if wanted.most_edges else np.zeros_like(sizes)
    bits = BITS - 2 - np.frexp(pairs.astype(np.float64))[1]
    exponent = np.where(rounded, bits - np.frexp(size)[1], 0)
    unfit = np.where(rounded, np.abs(exponent) > MOST_EXPONENT, size + 1 >= MOST / (sizes + 2.0) ** 2)
    up = np.ldexp(1.0, np.where(unfit, 0, exponent))
    least, most = (np.where(unfit, 0, each) for each in (least, most))
    if least.dtype.kind == "f":
        least, most = (np.rint(each * up).astype(np.int64) for each in (least, most))
    bonus = pairs * (most - least + 2 * rounded) + 1 - least if wanted.most_edges else np.zeros_like(sizes)
    return Scales(up, bonus), unfit
