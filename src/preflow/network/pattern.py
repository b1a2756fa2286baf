"""Infinite one-way arcs by a pattern: each vertex has an arc to the vertex at each of some offsets.

:mod:`.arcs` says what each function does. No arc is stored. Arcs 0 to k - 1 of a vertex are those of the
pattern, of which any amount can pass. Arcs k to 2 k - 1 are their opposites, with as much residual capacity
as there is flow. The trees of the pseudoflow algorithm need the flow of tree arcs only, which vertices store:
an infinite arc never leaves its tree, and its opposite leaves it once its flow is 0.
"""

# ruff: noqa: D103

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Int64, ResidualNetwork

#: More than any flow.
ENDLESS = np.int64(2**62)


class PatternNetwork(NamedTuple):
    """The arrays of a network whose arcs follow from a pattern."""

    step: NDArray[np.uint64]  #: shape (k,): the number of the head of an arc less that of its tail
    #: shape (levels,): how many arcs of the pattern vertices of a level have, which lie in a row
    arcs_at_level: NDArray[np.uint64]
    level_size: np.uint64
    flow: NDArray[np.int64]  #: shape (n,): of the tree arc of a vertex, in the direction of the pattern
    excess: NDArray[np.int64]  #: shape (n,)
    sink_residual: NDArray[np.int64]  #: shape (n,)


def first(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    return np.uint64(0)


def end(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    return np.uint64(net.arcs_at_level[v // net.level_size])


def no_arc(net: ResidualNetwork) -> np.uint64:
    return np.uint64(2 * len(net.step))


def head(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    return np.uint64(v + net.step[a])


def opposite(net: ResidualNetwork, a: np.uint64) -> np.uint64:
    k = np.uint64(len(net.step))
    return a + k if a < k else a - k


def fetch_arc(net: ResidualNetwork, a: np.uint64) -> None:
    pass  # the pattern stays in the cache


def capacity(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, back: bool) -> Int64:
    return ENDLESS if a < np.uint64(len(net.step)) else np.int64(net.flow[v])


def push_along(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, amount: Int64) -> None:
    net.flow[v] += amount if a < np.uint64(len(net.step)) else -amount


def exchange_flow(net: ResidualNetwork, v: np.uint64, amount: Int64) -> Int64:
    before = np.int64(net.flow[v])
    net.flow[v] = amount
    return before
