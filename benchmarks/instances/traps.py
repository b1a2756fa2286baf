"""Instances on which one method takes far longer than another: the suite "traps" of the benchmarks.

Each takes few parameters, which set how long the slow method takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preflow.generators.parameters import seeded
from preflow.graph.bipartite import BipartiteGraph
from preflow.graph.grid import GridNetwork
from preflow.graph.network import FlowNetwork, MaxFlowProblem
from preflow.graph.point_costs import PointCosts

#: The largest capacity.
LARGEST = 10**6


def opposite_sides(shape: tuple[int, ...], *, largest: int = LARGEST, seed: int = 0) -> GridNetwork:
    """Return a grid with sources on one side and sinks on the opposite one; all capacities are random.

    Flow crosses the grid along its last axis. Searches for short paths saturate one arc at a time and rebuild
    their trees after each path.
    """
    random = seeded(seed)
    source = np.zeros(shape, dtype=np.int64)
    sink = np.zeros(shape, dtype=np.int64)
    source[..., 0] = random.integers(0, largest, shape[:-1], endpoint=True)
    sink[..., -1] = random.integers(0, largest, shape[:-1], endpoint=True)
    return GridNetwork.from_arrays(
        source, sink, random.integers(0, largest, (len(shape), *shape), endpoint=True)
    )


def constant_between_sides(shape: tuple[int, ...], capacity: int, *, seed: int = 0) -> GridNetwork:
    """Return :func:`opposite_sides` with one capacity for all neighbours."""
    random = opposite_sides(shape, seed=seed)
    return GridNetwork.from_arrays(random.source_capacity, random.sink_capacity, capacity)


def one_source(shape: tuple[int, ...], *, supply: int = 10**9, capacity: int = LARGEST) -> GridNetwork:
    """Return a grid with one large source in the middle and a capacity of 1 from each pixel to the sink.

    Each pixel needs its own augmenting path. After each one the search of Boykov and Kolmogorov looks for
    the roots of all neighbours of one orphan, far away.
    """
    source = np.zeros(shape, dtype=np.int64)
    source[tuple(length // 2 for length in shape)] = supply
    return GridNetwork.from_arrays(source, np.ones(shape, dtype=np.int64), capacity)


def stripes(side: int, *, distance: int = 20, largest: int = LARGEST, seed: int = 0) -> GridNetwork:
    """Return an image with columns of sources and sinks in turn, `distance` apart; random capacities."""
    random = seeded(seed)
    shape = (side, side)
    source, sink = np.zeros((2, *shape), dtype=np.int64)
    for terminal, first in ((source, 0), (sink, distance)):
        columns = terminal[:, first :: 2 * distance]
        columns[:] = random.integers(0, largest, columns.shape, endpoint=True)
    return GridNetwork.from_arrays(source, sink, random.integers(0, largest, (2, *shape), endpoint=True))


def scattered(side: int, share: float, *, largest: int = LARGEST, seed: int = 0) -> GridNetwork:
    """Return an image in which a fraction of the pixels has terminal capacities; all are random."""
    random = seeded(seed)
    source, sink = random.integers(0, largest, (2, side, side), endpoint=True) * (
        random.random((2, side, side)) < share
    )
    return GridNetwork.from_arrays(source, sink, random.integers(0, largest, (2, side, side), endpoint=True))


def constant_grid(shape: tuple[int, ...], terminal: int, capacity: int) -> GridNetwork:
    """Return a grid with constant capacities: from the source on one half, to the sink on the other."""
    half = np.arange(shape[-1]) < shape[-1] // 2
    source = np.broadcast_to(np.where(half, terminal, 0), shape)
    sink = np.broadcast_to(np.where(half, 0, terminal), shape)
    return GridNetwork.from_arrays(source, sink, capacity)


def long_path(length: int, *, capacity: int = LARGEST) -> MaxFlowProblem:
    """Return a path from the source to the sink with equal capacities, except a small one at the end."""
    vertex = np.arange(length)
    amount = np.full(length, capacity)
    amount[-1] = 1
    network = FlowNetwork.from_arrays(vertex, vertex + 1, amount)
    return MaxFlowProblem(network, 0, length, name=f"long-path {length}")


def leaking_path(length: int) -> MaxFlowProblem:
    """Return a path whose vertices have arcs of capacity 1 to the sink; the source supplies their sum."""
    vertex = np.arange(length)
    tail = np.concatenate([vertex, vertex + 1])
    head = np.concatenate([vertex + 1, np.full(length, length + 1)])
    network = FlowNetwork.from_arrays(tail, head, np.repeat([length, 1], length))
    return MaxFlowProblem(network, 0, length + 1, name=f"leaking-path {length}")


def dead_end(length: int, *, capacity: int = LARGEST) -> MaxFlowProblem:
    """Return a long two-way path from the source to a dead end, and one arc to the sink.

    Excess that enters the path must return.
    """
    vertex = np.arange(length)
    tail = np.concatenate([vertex, [0]])
    head = np.concatenate([vertex + 1, [length + 1]])
    network = FlowNetwork.from_arrays(
        np.concatenate([[length + 2], tail]),
        np.concatenate([[0], head]),
        np.concatenate([[2 * capacity], np.full(length, capacity), [1]]),
        reverse_capacity=np.concatenate([[0], np.full(length, capacity), [0]]),
    )
    return MaxFlowProblem(network, length + 2, length + 1, name=f"dead-end {length}")


def comb(teeth: int) -> BipartiteGraph:
    """Return a chain in which greedy matchings take every second edge: row i has columns i and i + 1."""
    row = np.repeat(np.arange(teeth), 2)
    column = row + np.tile([0, 1], teeth)
    keep = column < teeth
    return BipartiteGraph.from_arrays(row[keep], column[keep], shape=(teeth, teeth))


def clique_with_tail(side: int, tail: int) -> BipartiteGraph:
    """Return a complete graph of `side` rows and columns, and a chain from it to one free row and column."""
    row, column = np.divmod(np.arange(side * side), side)
    link = np.arange(side - 1, side + tail)
    rows = np.concatenate([row, link + 1, link + 1])
    columns = np.concatenate([column, link, link + 1])
    shape = (side + tail + 1, side + tail + 1)
    return BipartiteGraph.from_arrays(rows, columns, shape=shape)


def scrambled_cycle(length: int, *, seed: int = 0) -> BipartiteGraph:
    """Return one cycle of `length` rows and columns in random order: every vertex has two neighbours."""
    random = seeded(seed)
    row, column = random.permutation(length), random.permutation(length)
    return BipartiteGraph.from_arrays(
        np.concatenate([row, row]), np.concatenate([column, np.roll(column, 1)]), shape=(length, length)
    )


def board_with_holes(side: int, share: float, *, seed: int = 0) -> BipartiteGraph:
    """Return the black and white squares of a board, joined along edges, with a fraction of them removed.

    Rows are black squares. Augmenting paths are long, and many squares stay free.
    """
    left = seeded(seed).random((side, side)) >= share
    number = np.arange(side * side).reshape(side, side)
    black = np.add.outer(np.arange(side), np.arange(side)) % 2 == 0
    rows, columns = [], []
    for here, there in (((slice(1, None),), (slice(-1),)), ((..., slice(1, None)), (..., slice(-1)))):
        keep = left[here] & left[there]
        first, second, dark = number[here][keep], number[there][keep], black[here][keep]
        rows.append(np.where(dark, first, second))
        columns.append(np.where(dark, second, first))
    size = side * side
    return BipartiteGraph.from_arrays(np.concatenate(rows), np.concatenate(columns), shape=(size, size))


def few_columns(rows: int, columns: int) -> BipartiteGraph:
    """Return a complete graph of many rows and few columns."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return BipartiteGraph.from_arrays(row, column, shape=(rows, columns))


def dear_chain(length: int) -> Any:
    """Return sparse costs: row i has column i at cost 1, i + 1 at cost 0; the only assignment is expensive.

    Prices fall from column to column, by the cost of all pairs: rows bid a quadratic number of times.
    """
    from scipy.sparse import csr_array

    row = np.repeat(np.arange(length), 2)[:-1]
    step = np.arange(len(row)) % 2
    return csr_array((1 - step, (row, row + step)), shape=(length, length))


def around_one_point(size: int) -> PointCosts:
    """Return distances from equal points to points on a circle around them: ties except for rounding."""
    angle = np.linspace(0.0, 2.0 * np.pi, size, endpoint=False)
    return PointCosts(np.zeros((size, 2)), np.stack([np.cos(angle), np.sin(angle)], axis=1))


def few_places(size: int, places: int, *, seed: int = 0) -> PointCosts:
    """Return distances between random points; the points of rows are at a few places."""
    random = seeded(seed)
    where = random.random((places, 2))
    return PointCosts(where[random.integers(0, places, size)], random.random((size, 2)))
