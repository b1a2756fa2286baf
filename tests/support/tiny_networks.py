"""Networks of a few vertices for cases that are explored: numbers from 0, the last two source and sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflow import FlowNetwork
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.network import distances_to_sink
from preflow.parallel.search import ParallelSearch, make_search
from tests.invariants.push_relabel import check_labels, check_preflow
from tests.support.exploration import hold_constant, impatient_barrier

ZERO = np.uint64(0)

#: Tail, head, capacity.
Arcs = Sequence[tuple[int, int, int]]


def residual_of(arcs: Arcs) -> ResidualArrays:
    """Return the residual network; what no thread writes is read-only."""
    tail, head, capacity = zip(*arcs, strict=True)
    network = FlowNetwork.from_arrays(tail, head, capacity)
    n = network.num_vertices - 2
    net = build_residual(network, np.array([n]), np.array([n + 1])).arrays
    hold_constant((net.first_out, net.head, net.reverse))
    return net


def distances(net: ResidualArrays) -> list[int]:
    n = len(net.excess)
    height = np.full(n, n + 1, np.uint32)
    distances_to_sink(net, height, np.zeros(n, np.uint32), ZERO, ZERO, ZERO, False)
    return height.tolist()


class Flow:
    """Checks that what threads do to a network is a preflow."""

    def __init__(self, arcs: Arcs) -> None:
        self.begin = residual_of(arcs)
        self.pairs = self.begin.residual + self.begin.residual[self.begin.reverse]

    def check_state(self, net: ResidualArrays) -> None:
        """Nothing is negative, and no residual appears."""
        assert (net.residual >= 0).all(), "a residual is negative"
        assert (net.sink_residual >= 0).all(), "a residual is negative"
        assert (net.excess >= 0).all(), "an excess is negative"
        assert (net.residual + net.residual[net.reverse] <= self.pairs).all(), "a pair has too much"

    def check_pairs(self, net: ResidualArrays) -> None:
        assert (net.residual + net.residual[net.reverse] == self.pairs).all(), "a residual is lost"

    def missing(self, net: ResidualArrays) -> int:
        """Return how much less excess there is than was at the beginning and has not reached the sink."""
        begin = self.begin
        return int((begin.excess - begin.sink_residual).sum() - (net.excess - net.sink_residual).sum())

    def check_end(self, net: ResidualArrays) -> None:
        """Every vertex has what it received and did not send on, without marks."""
        check_preflow(self.begin, net)

    def check_labels(self, net: ResidualArrays, height: NDArray[Any]) -> None:
        """No residual arc of a live vertex leads down by more than a level."""
        check_labels(net, height)


def make_tiny_search(num_threads: int, net: ResidualArrays, small: int, box_size: int) -> ParallelSearch:
    made = make_search(num_threads, len(net.excess), len(net.head), np.uint32)
    made = made._replace(
        barrier=impatient_barrier(num_threads),
        small=np.array([small], np.uint64),
        box_size=np.array([box_size], np.uint64),
        messages=np.zeros(4 * num_threads * num_threads * box_size, np.uint32),
    )
    made.order[...] = 0
    hold_constant((made.num_threads, made.shift, made.room, made.box_size, made.small))
    return made
