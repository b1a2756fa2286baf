"""Maximum flows between many pairs of vertices, by the searches of :mod:`..maxflow.pair_flows`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, ColumnName, EndsNames, NetworkInput, Untyped
from ..certify.fields import check_array
from ..errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError, VerificationError
from ..graph.convert import as_flow_network
from ..graph.edge_tables import ColumnNames
from ..graph.network import INT64_MAX, FlowNetwork, as_array, exact_sum
from ..graph.scaling import accepted_gap
from ..graph.undirected import UndirectedGraph
from ..maxflow.api import max_flow
from ..maxflow.pair_flows import make_network, values_until
from ..maxflow.result import MaxFlowResult
from ..maxflow.warm import MaxFlow
from ..progress import Reporter
from ..solving.items import Items
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import Status
from ..solving.run import Control, check_time_limit, run_interruptibly
from .reading import degrees, is_optimal, whole_weights


@dataclass(frozen=True, eq=False, repr=False)
class PairFlows(Items[MaxFlowResult], ReadOnlyArrays):
    """The values of maximum flows between pairs of vertices of one network.

    Attributes
    ----------
    value : ndarray of int64 or float64, shape (k,)
        Of the maximum flow of each pair; infinite where arcs of infinite capacity lead from the first vertex
        to the second one.
    source, sink : ndarray of int64, shape (k,)
        The numbers of the vertices of each pair.
    network : FlowNetwork
    gap : ndarray of float64, shape (k,)
        Proved bounds of the difference between each value and the maximum, since capacities that are not
        integers were rounded; 0 for integers.
    solved : ndarray of bool, shape (k,)
        False for the pairs that a time limit left. Their value is 0 and their gap the capacity of one of
        their vertices, or they have the value and the gap of a first solve in a coarse unit.

    Notes
    -----
    ``found[k]`` is the :class:`preflow.MaxFlowResult` of pair `k`: `sink_side`, `cut_arcs`, `flow` and more.
    It is made by another search, on a network that the first one builds in O(n + m):
    :meth:`preflow.MaxFlow.set_terminals`. The cut is the one with the smallest sink side. Where the value is
    infinite, UnboundedFlowError is raised. A slice, or an array of numbers or bools, gives the values of some
    pairs.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.pair_flows(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), [(0, 3), (0, 2), (3, 0)])
    >>> found[1].sink_side.tolist(), found[1].cut_arcs.tolist()
    ([False, False, True, False], [1])
    """

    value: Array
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    network: FlowNetwork
    gap: NDArray[np.float64]
    solved: NDArray[np.bool_]

    @property
    def status(self) -> Status:
        """Return "optimal", or "time-limit" where pairs are left."""
        return "optimal" if self.solved.all() else "time-limit"

    def __len__(self) -> int:
        return len(self.value)

    def _item(self, k: int) -> MaxFlowResult:
        labels = self.network.labels
        names: list[Untyped] = [int(self.source[k]), int(self.sink[k])]
        if labels is not None:
            names = [labels[end] for end in names]
        solver = self._solver
        with solver._lock:
            # As collections, so that a label may be a tuple, or None.
            solver.set_terminals([names[0]], [names[1]])
            return solver.solve()

    def _some(self, items: NDArray[np.int64]) -> PairFlows:
        names = ("value", "source", "sink", "gap", "solved")
        return replace(self, **{name: getattr(self, name)[items] for name in names})

    @cached_property
    def _solver(self) -> MaxFlow:
        """The network for one pair after the other."""
        labels = self.network.labels
        first: Sequence[Untyped] = (0, 1) if labels is None else labels[:2]
        return MaxFlow(self.network, [first[0]], [first[1]])

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the network that is solved again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_solver"}

    def verify(self) -> None:
        """Prove each value by a maximum flow of another solver; this takes longer than finding the values."""
        network, k = self.network, len(self.value)
        dtype = np.int64 if network.capacity.dtype.kind == "i" else np.float64
        check_array(np, self.value, "value", (k,), dtype)
        check_array(np, self.gap, "gap", (k,), np.float64)
        check_array(np, self.solved, "solved", (k,), np.bool_)
        if not (self.gap >= 0).all() or (dtype == np.int64 and self.gap[self.solved].any()):
            raise VerificationError("a gap is negative, or one of integers is not 0")
        if not self.gap[~self.solved].all():
            raise VerificationError("a pair without a gap is not called solved")
        for name in ("source", "sink"):
            ends = getattr(self, name)
            check_array(np, ends, name, (k,), np.int64)
            if k and not (ends.min() >= 0 and ends.max() < network.num_vertices):
                raise VerificationError(f"{name} has numbers that are no vertices")
        if (self.source == self.sink).any():
            raise VerificationError("a pair has one vertex twice")
        numbered = replace(network, labels=None)
        arrays = self.source, self.sink, self.value, self.gap
        for source, sink, value, gap in zip(*(array.tolist() for array in arrays), strict=True):
            try:
                flow = max_flow(numbered, source, sink, method="serial-fifo")
                flow.verify()
                least, slack = flow.value, gap + flow.gap
            except UnboundedFlowError:
                least, slack = math.inf, gap
            if gap == math.inf:
                close = value <= least
            else:
                error = max(abs(value - least) - slack, 0)
                close = value == least or is_optimal(error, least, network.num_arcs)
            if not close:
                raise VerificationError(f"the maximum flow from {source} to {sink} is {least}, not {value}")

    def __repr__(self) -> str:
        left = int(np.count_nonzero(~self.solved))
        return f"<PairFlows: {len(self):,} pairs{f', {left:,} not solved in time' if left else ''}>"


class _Values(NamedTuple):
    """The answers of the pairs: see :class:`PairFlows`."""

    value: Array
    gap: NDArray[np.float64]
    solved: NDArray[np.bool_]


def _values(network: FlowNetwork, both: NDArray[np.int64], threads: int | None, control: Control) -> _Values:
    """Return the value of each pair, its gap, and whether the time was enough.

    The unit of rounded floats is relative to the largest capacity at first. Pairs for which it is coarse are
    solved again with capacities cut off at the most that their flows may be.
    """
    reverse, n = network.reverse_capacity, network.num_vertices
    backward = np.zeros_like(network.capacity) if reverse is None else reverse
    capacity = np.concatenate([network.capacity, backward])
    endless = np.isinf(capacity)
    with np.errstate(over="ignore"):
        limit = 2 * exact_sum(np.where(endless, 0, capacity)) + 1
    if endless.any() and limit == math.inf:
        raise CapacityOverflowError("the finite capacities sum past float64: divide all capacities")
    capacity = np.where(endless, limit, capacity) if endless.any() else capacity
    tail, head = np.tile(network.tail, 2), np.tile(network.head, 2)
    left = np.arange(both.shape[1])

    def solve(whole: NDArray[np.int64], pairs: NDArray[np.int64], most: int = INT64_MAX) -> NDArray[np.int64]:
        control.check_wanted()
        if control.stopped:
            return np.full(len(pairs), -1)
        made = make_network(n, network.tail, network.head, *np.split(whole, 2))
        return values_until(made, both[:, pairs], np.full(len(pairs), most), control, threads)

    value, gap, solved = np.zeros(len(left)), np.zeros(len(left)), np.ones(len(left), dtype=bool)
    bound = float(limit)
    while True:
        whole = whole_weights(capacity, bound, lambda weight: degrees(n, tail, head, weight).max(initial=0.0))
        if network.saturated or (capacity.dtype.kind == "i" and whole.exponent is not None):
            raise CapacityOverflowError("the capacities at a vertex sum past 2**61: divide all capacities")
        found = solve(whole.weight, left)
        known = found >= 0
        if bound == limit and not known.all():
            gap[~known] = _most(network, both[:, ~known])
        solved[left[~known]] = gap[left[~known]] == 0
        if capacity.dtype.kind == "i":
            return _Values(np.maximum(found, 0), gap, solved)
        with np.errstate(over="ignore"):
            value[left[known]] = np.ldexp(found[known].astype(np.float64), -(whole.exponent or 0))
        if np.isinf(value[left[known]]).any():
            raise CapacityOverflowError("the flow of a pair is past float64: divide all capacities")
        if bound == limit and endless.any():
            value[found >= whole.weight[endless][0]] = np.inf
        if whole.exponent is None:
            return _Values(value, gap, solved)
        rounding = math.nextafter(math.ldexp(2.0 * network.num_arcs, -whole.exponent), math.inf)
        gap[left[known]] = np.where(np.isinf(value[left[known]]), 0.0, rounding)
        if bound == limit and (found == 0).any():
            zero = np.flatnonzero(found == 0)
            gap[zero[solve((capacity > 0).astype(np.int64), zero, 1) == 0]] = 0.0
        left = np.flatnonzero((gap > accepted_gap(network.num_arcs) * value) & solved)
        following = float((value[left] + gap[left]).max(initial=0.0))
        if not len(left) or 2 * following >= bound:
            return _Values(value, gap, solved)
        bound = following


def _most(network: FlowNetwork, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return an upper bound of the value of each pair: the capacity out of the source, or into the sink."""
    given = [(network.tail, network.head, network.capacity)]
    if network.reverse_capacity is not None:
        given.append((network.head, network.tail, network.reverse_capacity))
    out, into = np.zeros((2, network.num_vertices))
    for tail, head, capacity in given:
        proper = np.where(tail == head, 0, capacity)
        out += np.bincount(tail.astype(np.int64), weights=proper, minlength=len(out))
        into += np.bincount(head.astype(np.int64), weights=proper, minlength=len(into))
    # Each of the additions may have rounded down, and so may the conversion of an integer.
    rounded = 1 + (2 * network.num_arcs + 4) * 2.0**-52
    most: NDArray[np.float64] = np.minimum(out[pairs[0]], into[pairs[1]]) * rounded
    return most


def _read_pairs(
    network: FlowNetwork, pairs: ArrayLike | Iterable[tuple[Hashable, Hashable]]
) -> NDArray[np.int64]:
    """Return the numbers of both ends of each pair, shape (2, k)."""
    if network.labels is not None:
        named: list[Untyped] = list(pairs) if isinstance(pairs, Iterable) else []
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in named):
            raise InvalidInputError("pairs of a network with labels is a list of tuples of two labels")
        ends: Array = np.array([[network.vertex(v) for v in pair] for pair in named], dtype=np.int64)
    else:
        ends = as_array(pairs, "pairs")  # type: ignore[arg-type]
    ends = ends.reshape(0, 2) if not ends.size else ends
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise InvalidInputError(f"pairs has shape {ends.shape}, expected (k, 2): two vertices in each row")
    if ends.size and ends.dtype.kind not in "iu":
        raise InvalidInputError(f"pairs has numbers of vertices, which are integers, not {ends.dtype}")
    n = network.num_vertices
    if ends.size and not 0 <= int(ends.min()) <= int(ends.max()) < n:
        raise InvalidInputError(f"pairs names a vertex that does not exist: the network has {n}")
    equal = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(equal):
        raise InvalidInputError(f"a flow needs two vertices, and both of pair {equal[0]} are the same")
    return np.ascontiguousarray(ends.T.astype(np.int64))


def pair_flows(
    graph: NetworkInput | UndirectedGraph,
    pairs: ArrayLike | Iterable[tuple[Hashable, Hashable]],
    *,
    ends: EndsNames = None,
    capacity: ColumnName = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> PairFlows:
    """Find the values of maximum flows between many pairs of vertices of one network.

    Parameters
    ----------
    graph : FlowNetwork, or what :func:`preflow.max_flow` takes, or UndirectedGraph
        Arrays on a GPU are copied to the host.
    pairs : array_like of int, shape (k, 2), or list of tuples of two vertices
        The source and the sink of each flow: labels where the network has labels, else numbers.
    ends, capacity
        As in :func:`preflow.max_flow`.
    threads : int, optional
        The most threads to use. Default: the cores, where there are many pairs.
    time_limit : float, optional
        Seconds for the flows. On expiry `solved` says which pairs are left, and their gaps are large.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.

    Returns
    -------
    PairFlows

    Raises
    ------
    InvalidInputError
        A pair has no two different vertices of the network, or `time_limit` is not a positive number.
    CapacityOverflowError
        The capacities at a vertex sum past 2**61, or the flow of a pair is past float64.

    Notes
    -----
    The network is read once. Each flow is searched from both ends, and sets back only the arcs that the flow
    before has changed. So a pair costs microseconds where paths are short and cuts are near one end, as in
    networks with hubs; elsewhere its searches see much of the network. ``found[k]`` has the flow and the cut
    of pair `k`. For the cuts between all pairs of an undirected graph, :func:`preflow.gomory_hu_tree` takes
    n - 1 flows. Bläsius, Friedrich and Weyand 2021.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.pair_flows(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), [(0, 3), (0, 2), (3, 0)])
    >>> found.value.tolist()
    [4, 2, 0]
    >>> found.verify()
    """
    if isinstance(graph, UndirectedGraph):
        given = graph.plain()
        weight = np.ones(given.num_edges, np.int64) if given.weight is None else given.weight
        n, both_ends = given.num_vertices, (given.tail, given.head)
        read = FlowNetwork.from_arrays(*both_ends, weight, reverse_capacity=weight, num_vertices=n)
        graph = replace(read, labels=given.labels)
    network = as_flow_network(graph, ColumnNames(ends, capacity)).on_host()
    both = _read_pairs(network, pairs)
    control, limit = Control(), check_time_limit(time_limit)
    value, gap, solved = run_interruptibly(
        lambda: _values(network, both, threads, control), control, limit, progress
    )
    return PairFlows(value, both[0], both[1], network, gap, solved)
