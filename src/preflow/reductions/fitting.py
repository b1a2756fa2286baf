"""Total variation and isotonic regression on any graph: a quadratic fit with penalties between vertices.

Minimise ``sum(w[i] * (x[i] - y[i])**2) / 2 + sum(c[e] * max(x[tail[e]] - x[head[e]], 0))``. An edge of total
variation is two arcs, and a pair of an order is an arc whose penalty is infinite.

Hochbaum, "An efficient algorithm for image segmentation, Markov random fields and related problems", J. ACM
48 (2001); Chambolle and Darbon, "On total variation minimization and surface evolution using parametric
maximum flows", International J. Computer Vision 84 (2009), section 4, for the division of blocks::

    all vertices are one block
    while there are blocks:                                     all blocks of a round are one maximum flow
        a block has one value: the mean of y, less what arcs that leave it carry
        vertices above the value send the difference, those below it receive it, over the arcs of the block
        everything arrives: the value is right
        otherwise: the source side of the minimum cut lies above the value, the rest below it. They are two
            blocks. The arcs from the first to the second one carry their penalties, others nothing

The flow proves the answer: ``y - x``, times the weights, is what vertices send. The smallest value of
the problem for a given flow bounds every other answer from below.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, EndsNames, GraphInput, WeightInput
from ..certify.fields import check_array
from ..checks import check_finite
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.edge_tables import ColumnNames, in_order_of
from ..graph.network import FlowNetwork
from ..graph.placement import host_values
from ..graph.undirected import as_undirected_graph
from ..maxflow.api import max_flow
from ..solving.read_only import ReadOnlyArrays

#: The gap is at most this part of the sum of ``w * y**2``, which no answer changes.
ACCEPTED = 2.0**-36


@dataclass(frozen=True, eq=False, repr=False)
class GraphFit(ReadOnlyArrays):
    """The numbers nearest to given ones for which penalties between vertices are paid.

    Attributes
    ----------
    x : ndarray of float64, shape (num_vertices,)
        The answer; there is only one.
    flow : ndarray of float64, shape (num_arcs,)
        The proof: at most the penalty of each arc. A vertex sends ``weights * (y - x)`` over its arcs.
    y, weights : ndarray of float64, shape (num_vertices,)
    tail, head : ndarray of int64, shape (num_arcs,)
    penalty : ndarray of float64, shape (num_arcs,)
        Paid for each unit by which the value at `tail` is above that at `head`.
    """

    x: NDArray[np.float64]
    flow: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    penalty: NDArray[np.float64]

    @property
    def value(self) -> float:
        """The sum that is minimised: half the weighted squares of the differences, and the penalties."""
        above = np.maximum(self.x[self.tail] - self.x[self.head], 0)
        paid = above > 0
        squares = self.weights * (self.x - self.y) ** 2 / 2
        return math.fsum(squares.tolist()) + math.fsum((self.penalty[paid] * above[paid]).tolist())

    @property
    def gap(self) -> float:
        """How far the value may be from the least one: the bound that the flow proves."""
        sent = np.zeros(len(self.y))
        np.add.at(sent, self.tail, self.flow)
        np.subtract.at(sent, self.head, self.flow)
        bound = math.fsum((sent * self.y - sent**2 / self.weights / 2).tolist())
        return max(self.value - bound, 0.0)

    def verify(self) -> None:
        """Prove the answer by the flow, in linear time: the gap is that of rounding."""
        n, m = len(self.y), len(self.tail)
        for name, size in (("x", n), ("y", n), ("weights", n), ("flow", m), ("penalty", m)):
            values = getattr(self, name)
            check_array(np, values, name, (size,), np.float64)
            if np.isnan(values).any() or (name != "penalty" and np.isinf(values).any()):
                raise VerificationError(f"{name} has a number that is not finite")
        for name in ("tail", "head"):
            ends = getattr(self, name)
            check_array(np, ends, name, (m,), np.int64)
            if m and not 0 <= int(ends.min()) <= int(ends.max()) < n:
                raise VerificationError(f"{name} has a vertex that does not exist")
        if not (self.weights > 0).all() or not (self.penalty >= 0).all():
            raise VerificationError("a weight is not positive, or a penalty is negative")
        if ((self.flow < 0) | (self.flow > self.penalty)).any():
            raise VerificationError("an arc carries less than nothing, or more than its penalty")
        if not self.gap <= ACCEPTED * _size(self.y, self.weights):
            raise VerificationError(f"the flow leaves a gap of {self.gap}")

    def __repr__(self) -> str:
        different = f"{len(np.unique(self.x)):,} values at {len(self.x):,} vertices"
        return f"<{type(self).__name__}: value {self.value:.6g}, {different}>"


def _size(y: Array, weights: Array) -> float:
    """Return what gaps are compared with: the weighted squares about the mean."""
    mean = np.average(y, weights=weights) if len(y) else 0.0
    return float((weights * (y - mean) ** 2).sum())


def _fit(
    tail: NDArray[np.int64], head: NDArray[np.int64], penalty: Array, y: Array, weights: Array
) -> GraphFit:
    """Return the answer for checked numbers."""
    n, x, flow = len(y), y.copy(), np.zeros(len(tail))
    block, active = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
    mean = np.average(y, weights=weights) if n else 0.0
    moved = weights * (y - mean)  # what a vertex has to send for the value `mean`
    least, most = np.full(n, -np.inf), np.full(n, np.inf)  # rounding must not carry parts past each other
    while active.any():
        _, block = np.unique(np.where(active, block, -1), return_inverse=True)
        many = int(block.max()) + 1
        value = np.bincount(block, moved, many) / np.bincount(block, weights, many)
        x = np.where(active, np.clip(mean + value[block], least, most), x)
        excess = np.where(active, moved - weights * value[block], 0)
        inside = np.flatnonzero((block[tail] == block[head]) & active[tail] & (tail != head))
        up, down = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
        network = FlowNetwork.from_arrays(
            np.concatenate([tail[inside], np.full(len(up), n), down]),
            np.concatenate([head[inside], up, np.full(len(down), n + 1)]),
            np.concatenate([penalty[inside], excess[up], -excess[down]]),
            num_vertices=n + 2,
        )
        result = max_flow(network, n, n + 1)
        flow[inside] = np.clip(result.flow[: len(inside)], 0, penalty[inside])
        low = result.sink_side[:n]
        # A block is divided if what its parts have is on the right sides of its value.
        crosses = inside[low[tail[inside]] != low[head[inside]]]
        falls = crosses[low[head[crosses]]]
        sent = moved.copy()
        np.subtract.at(sent, tail[falls], penalty[falls])
        np.add.at(sent, head[falls], penalty[falls])
        half = 2 * block + low
        of_half = np.bincount(half, sent, 2 * many), np.bincount(half, weights, 2 * many)
        with np.errstate(invalid="ignore", divide="ignore"):
            upper, lower = ((of_half[0] / of_half[1])[side::2] for side in (0, 1))
        divided = upper > lower
        active &= divided[block]
        least, most = np.where(active & ~low, x, least), np.where(active & low, x, most)
        falls = falls[divided[block[tail[falls]]]]
        crosses = crosses[divided[block[tail[crosses]]]]
        flow[crosses] = 0
        flow[falls] = penalty[falls]
        np.subtract.at(moved, tail[falls], penalty[falls])
        np.add.at(moved, head[falls], penalty[falls])
        block = half
    return GraphFit(x, flow, y, weights, tail, head, penalty)


def _read(y: Array, weights: Array | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers of vertices and their weights as float64, checked."""
    found = []
    for name, given in (("y", y), ("weights", np.ones(y.shape) if weights is None else weights)):
        if given.ndim != 1 or given.dtype.kind not in "biuf":
            raise InvalidInputError(f"{name} must be numbers, shape (num_vertices,), got shape {given.shape}")
        values = given.astype(np.float64)
        check_finite(name, values)
        found.append(values)
    if found[1].shape != found[0].shape:
        raise InvalidInputError(f"weights has shape {found[1].shape}, expected {found[0].shape}")
    if not (found[1] > 0).all():
        place = int((found[1] <= 0).argmax())
        raise InvalidInputError(f"weights must be positive, got {found[1][place]} at {place}")
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.abs(found[1] * found[0]).sum() + (found[1] * found[0] ** 2).sum() + found[1].sum()
    if not np.isfinite(total):
        raise CapacityOverflowError("the weighted squares of y sum past float64: divide y or the weights")
    return found[0], found[1]


def total_variation(
    graph: GraphInput,
    y: ArrayLike | Mapping[Hashable, float],
    *,
    weight: WeightInput = None,
    weights: ArrayLike | Mapping[Hashable, float] | None = None,
    ends: EndsNames = None,
) -> GraphFit:
    """Fit numbers at the vertices of any graph, with a penalty for the differences over edges.

    Minimise ``sum(weights * (x - y)**2) / 2 + sum(weight[e] * abs(x[u] - x[v]))`` over all edges e = (u, v):
    total variation denoising of Rudin, Osher and Fatemi, also called the fused lasso, on a graph.

    Parameters
    ----------
    graph, ends
        As in :func:`preflow.gomory_hu_tree`.
    y : array_like of numbers, shape (num_vertices,), or mapping of vertices to numbers
    weight : optional
        The penalty of each edge: as in :func:`preflow.gomory_hu_tree`. Without one it is 1.
    weights : array_like of positive numbers, shape (num_vertices,), or mapping, optional
        How much each vertex counts. Default: 1.

    Returns
    -------
    GraphFit
        Its arcs are the edges, then their opposites.

    Raises
    ------
    InvalidInputError
        The graph is malformed or directed, a penalty is negative or infinite, or numbers do not fit it.
    CapacityOverflowError
        Weighted squares sum past float64.

    Notes
    -----
    A maximum flow for each round of divisions, at worst as many as there are vertices. The answer is exact
    but for rounding, and its `gap` is proved.

    Examples
    --------
    >>> import preflow
    >>> path = [0, 1, 2], [1, 2, 3], [1, 1, 1]
    >>> found = preflow.reductions.total_variation(path, [0, 1, 8, 9])
    >>> found.x.tolist()
    [1.0, 1.0, 8.0, 8.0]
    >>> found.verify()
    """
    read = as_undirected_graph(
        graph,
        weight,
        ("weight", "capacity"),
        everywhere=True,
        called="total_variation",
        names=ColumnNames(ends),
    ).plain()
    numbers, counts = _read(
        host_values(in_order_of(read.labels, y, "y"), "y"),
        None if weights is None else host_values(in_order_of(read.labels, weights, "weights"), "weights"),
    )
    penalty = np.ones(read.num_edges) if read.weight is None else read.weight.astype(np.float64)
    check_finite("weight", penalty)
    if not (penalty >= 0).all():
        raise InvalidInputError(f"weight is negative: {penalty.min()} at {int(penalty.argmin())}")
    if len(numbers) < read.num_vertices or (read.labels is not None and len(numbers) != read.num_vertices):
        raise InvalidInputError(f"y has {len(numbers)} numbers for {read.num_vertices} vertices")
    tail, head = read.tail.astype(np.int64), read.head.astype(np.int64)
    return _fit(np.append(tail, head), np.append(head, tail), np.tile(penalty, 2), numbers, counts)


def isotonic_regression(
    order: tuple[ArrayLike, ArrayLike], y: ArrayLike, *, weights: ArrayLike | None = None
) -> GraphFit:
    """Fit numbers that respect an order: the nearest ones by weighted squares.

    Minimise ``sum(weights * (x - y)**2) / 2`` such that ``x[lower] <= x[upper]`` for all pairs of the order.

    Parameters
    ----------
    order : (lower, upper), arrays of int, shape (num_pairs,)
        Pairs of items of any order, or of any graph: items of a cycle get one value. Pairs that follow from
        others may be left out.
    y : array_like of numbers, shape (n,)
    weights : array_like of positive numbers, shape (n,), optional
        How much each item counts. Default: 1.

    Returns
    -------
    GraphFit
        Its arcs are the pairs.

    Raises
    ------
    InvalidInputError
        The pairs, or the numbers, are malformed.
    CapacityOverflowError
        Weighted squares sum past float64.

    Notes
    -----
    As for :func:`total_variation`. For one chain, :func:`scipy.optimize.isotonic_regression` takes linear
    time.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.reductions.isotonic_regression(([0, 0, 1, 2], [1, 2, 3, 3]), [3, 1, 6, 4])
    >>> found.x.tolist()
    [2.0, 2.0, 5.0, 5.0]
    >>> found.verify()
    """
    numbers, counts = _read(host_values(y, "y"), None if weights is None else host_values(weights, "weights"))
    if not isinstance(order, tuple) or len(order) != 2:
        raise InvalidInputError(
            "order must be a tuple of two arrays: the lower and the upper item of each pair"
        )
    pairs = [host_values(side, name) for side, name in zip(order, ("lower", "upper"), strict=True)]
    for name, side in zip(("lower", "upper"), pairs, strict=True):
        if side.ndim != 1 or side.shape != pairs[0].shape or (len(side) and side.dtype.kind not in "iu"):
            raise InvalidInputError(f"{name} must be integers, one for each pair, got shape {side.shape}")
        if len(side) and not 0 <= int(side.min()) <= int(side.max()) < len(numbers):
            raise InvalidInputError(f"{name} has an item that is not one of the {len(numbers)} of y")
    lower, upper = (side.astype(np.int64) for side in pairs)
    return _fit(lower, upper, np.full(len(lower), np.inf), numbers, counts)
