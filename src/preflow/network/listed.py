"""Arcs that are listed in arrays, those of a vertex side by side.

:mod:`.arcs` says what each function does.
"""

# ruff: noqa: D103

from __future__ import annotations

import numpy as np

from ..arrays import DType, Int64, ResidualNetwork
from ..kernels.atomics import prefetch
from ..kernels.constants import ONE


def num_vertices(net: ResidualNetwork) -> np.uint64:
    return np.uint64(len(net.excess))


def first(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    return np.uint64(net.first_out[v])


def end(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    return np.uint64(net.first_out[v + ONE])


def no_arc(net: ResidualNetwork) -> np.uint64:
    return np.uint64(len(net.head))


def head(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    return np.uint64(net.head[a])


def opposite(net: ResidualNetwork, a: np.uint64) -> np.uint64:
    return np.uint64(net.reverse[a])


def place(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    return a


def capacity(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, back: bool) -> Int64:
    return np.int64(net.residual[np.uint64(net.reverse[a]) if back else a])


def terminal(net: ResidualNetwork, v: np.uint64, source: bool) -> Int64:
    return np.int64(net.excess[v] if source else net.sink_residual[v])


def take(net: ResidualNetwork, v: np.uint64, source: bool, amount: Int64) -> Int64:
    if source:
        net.excess[v] -= amount
        return np.int64(net.excess[v])
    net.sink_residual[v] -= amount
    return np.int64(net.sink_residual[v])


def fetch_first(net: ResidualNetwork, v: np.uint64) -> None:
    prefetch(net.first_out, v)


def fetch_arcs(net: ResidualNetwork, v: np.uint64) -> None:
    a = np.uint64(net.first_out[v])
    prefetch(net.head, a)
    prefetch(net.reverse, a)
    prefetch(net.residual, a)


def is_scattered(net: ResidualNetwork) -> bool:
    return True


def forest_dtypes(net: ResidualNetwork) -> tuple[DType, DType, DType]:
    index = net.head.dtype
    return np.dtype(np.int32 if index.itemsize == 4 else np.int64), index, index
