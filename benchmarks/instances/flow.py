"""Flow networks as plain arrays, which are the input of every contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.arrays import Array
from preflow.errors import InvalidInputError
from preflow.graph.network import EXACT_FLOAT, MaxFlowProblem


class Arcs(NamedTuple):
    """Arcs without reverse capacities."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: Array


@dataclass(frozen=True)
class FlowInstance:
    """A network between one source and one sink.

    Attributes
    ----------
    num_vertices : int
    tail, head : ndarray of int64
    capacity : ndarray of int64 or float64
    reverse_capacity : ndarray of the same dtype, or None
        Capacity from head to tail.
    source, sink : int
    """

    num_vertices: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: Array
    reverse_capacity: Array | None
    source: int
    sink: int

    @classmethod
    def from_problem(cls, problem: MaxFlowProblem) -> FlowInstance:
        """Return the arrays of a problem. Float capacities become integers if all of them are integral.

        Raises
        ------
        InvalidInputError
            The problem has several sources or sinks, which the peers do not support.
        """
        network = problem.network
        if not isinstance(problem.source, int) or not isinstance(problem.sink, int):
            raise InvalidInputError(f"{problem.name}: a benchmark has one source and one sink")
        capacities = [network.capacity]
        if network.reverse_capacity is not None:
            capacities.append(network.reverse_capacity)
        if all(_integral(values) for values in capacities):
            capacities = [values.astype(np.int64) for values in capacities]
        return cls(
            network.num_vertices,
            network.tail.astype(np.int64),
            network.head.astype(np.int64),
            capacities[0],
            capacities[1] if len(capacities) > 1 else None,
            problem.source,
            problem.sink,
        )

    @property
    def integral(self) -> bool:
        """Whether all capacities are integers."""
        return self.capacity.dtype.kind == "i"

    @property
    def num_arcs(self) -> int:
        """The number of arcs. A positive reverse capacity counts as an arc."""
        backward = 0 if self.reverse_capacity is None else int(np.count_nonzero(self.reverse_capacity))
        return len(self.tail) + backward

    @property
    def sizes(self) -> Mapping[str, int]:
        """Vertices and arcs."""
        return {"vertices": self.num_vertices, "arcs": self.num_arcs}

    def one_way(self) -> Arcs:
        """Return the arcs, followed by those of the reverse capacities."""
        if self.reverse_capacity is None:
            return Arcs(self.tail, self.head, self.capacity)
        back = np.flatnonzero(self.reverse_capacity)
        return Arcs(
            np.concatenate([self.tail, self.head[back]]),
            np.concatenate([self.head, self.tail[back]]),
            np.concatenate([self.capacity, self.reverse_capacity[back]]),
        )

    def terminal_capacity(self) -> tuple[int | float, int | float]:
        """Return the sums of the capacities out of the source and into the sink."""
        arcs = self.one_way()
        leaving = arcs.capacity[arcs.tail == self.source]
        arriving = arcs.capacity[arcs.head == self.sink]
        if self.integral:
            return sum(leaving.tolist()), sum(arriving.tolist())
        return float(leaving.sum()), float(arriving.sum())

    def largest_pair_capacity(self) -> int | float:
        """Return the largest sum of the capacities between two vertices, in both directions."""
        arcs = self.one_way()
        if len(arcs.tail) == 0:
            return 0
        low, high = np.minimum(arcs.tail, arcs.head), np.maximum(arcs.tail, arcs.head)
        _, pair = np.unique(low * self.num_vertices + high, return_inverse=True)
        return float(np.bincount(pair, weights=arcs.capacity.astype(np.float64)).max())

    def miniature(self) -> FlowInstance:
        """Return three vertices on a path, with the largest finite capacity of this instance."""
        largest = self.capacity[np.isfinite(self.capacity)].max(initial=0)
        capacity = np.array([largest, largest], dtype=self.capacity.dtype)
        reverse: Any = None if self.reverse_capacity is None else np.zeros_like(capacity)
        return FlowInstance(3, np.array([0, 1]), np.array([1, 2]), capacity, reverse, 0, 2)


def _integral(values: Array) -> bool:
    if values.dtype.kind == "i":
        return True
    return bool(np.all(values == np.rint(values)) and values.max(initial=0) <= EXACT_FLOAT)
