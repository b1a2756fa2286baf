"""Arcs of a grid, which follow from the numbers of the pixels.

:mod:`.arcs` says what each function does.
"""

# ruff: noqa: D103

from __future__ import annotations

import numpy as np

from ..arrays import DType, Int64, ResidualNetwork
from ..kernels.constants import ONE, ZERO


def num_vertices(net: ResidualNetwork) -> np.uint64:
    return np.uint64(len(net.terminal))


def first(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    return ZERO


def end(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    return np.uint64(len(net.step))


def no_arc(net: ResidualNetwork) -> np.uint64:
    return np.uint64(len(net.step))


def head(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    return np.uint64(v + net.step[a])


def opposite(net: ResidualNetwork, a: np.uint64) -> np.uint64:
    return a ^ ONE


def place(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    return v * np.uint64(len(net.step)) + a


def capacity(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, back: bool) -> Int64:
    degree = np.uint64(len(net.step))
    return np.int64(net.residual[w * degree + (a ^ ONE) if back else v * degree + a])


def terminal(net: ResidualNetwork, v: np.uint64, source: bool) -> Int64:
    amount = np.int64(net.terminal[v])
    return amount if source else -amount


def take(net: ResidualNetwork, v: np.uint64, source: bool, amount: Int64) -> Int64:
    net.terminal[v] -= amount if source else -amount
    left = np.int64(net.terminal[v])
    return left if source else -left


def fetch_first(net: ResidualNetwork, v: np.uint64) -> None:
    pass  # all pixels have the same arcs


def fetch_ends(net: ResidualNetwork, v: np.uint64) -> None:
    pass  # the same


def fetch_arcs(net: ResidualNetwork, v: np.uint64) -> None:
    pass  # the CPU fetches what lies near


def fetch_arc(net: ResidualNetwork, a: np.uint64) -> None:
    pass  # the same


def is_scattered(net: ResidualNetwork) -> bool:
    return False


def forest_dtypes(net: ResidualNetwork) -> tuple[DType, DType, DType]:
    index = np.dtype(np.uint32 if len(net.terminal) < 2**32 else np.uint64)
    return np.dtype(np.int32), np.dtype(np.uint8 if len(net.step) + 1 < 2**8 else np.uint16), index
