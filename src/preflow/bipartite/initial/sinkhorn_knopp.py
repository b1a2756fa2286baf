"""Two-sided sampling after Sinkhorn-Knopp scaling.

Dufossé, Kaya and Uçar, "Two approximation algorithms for bipartite matching on multicore architectures"
(2015). The pattern is scaled towards row and column sums of one. Every row draws a column and every column
draws a row, with the scaled entries as probabilities. The drawn edges have at most one cycle a component and
are matched exactly, vertices with one neighbour first. For matrices with total support, 0.866 of the maximum
is expected.

Departure: columns draw by reservoir sampling while the rows are read, so no transposed graph is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...graph.bipartite_input import MOST_NARROW
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ..match_arrays import NONE, Matching, asked_to_stop

#: Scaling iterations; the guarantee holds in the limit, the authors use five.
ITERATIONS = 5


class Sample(NamedTuple):
    """Scale factors and choices; column c has number ``num_rows + c``."""

    row_scale: NDArray[np.float64]
    column_scale: NDArray[np.float64]
    column_sum: NDArray[np.float64]
    #: shape (num_rows + num_columns,): the vertex that each vertex drew, the number of drawn edges it has
    #: left, and its partner
    choice: Indices
    degree: Indices
    mate: Indices


@kernel
def scale(rows: Adjacency, sample: Sample, iterations: int, monitor: Monitor) -> None:
    """Scale columns, then rows, `iterations` times."""
    num_rows, num_columns = np.uint64(len(sample.row_scale)), np.uint64(len(sample.column_scale))
    sample.row_scale[:] = 1.0
    for _ in range(iterations):
        sample.column_sum[:] = 0.0
        for r in range(num_rows):
            if asked_to_stop(monitor.stop, r):
                return
            for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
                sample.column_sum[np.uint64(rows.neighbour[e])] += sample.row_scale[r]
        for c in range(num_columns):
            sample.column_scale[c] = 1.0 / sample.column_sum[c] if sample.column_sum[c] > 0.0 else 0.0
        for r in range(num_rows):
            total = 0.0
            for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
                total += sample.column_scale[np.uint64(rows.neighbour[e])]
            sample.row_scale[r] = 1.0 / total if total > 0.0 else 0.0


@kernel
def draw(state: np.uint64) -> tuple[np.uint64, float]:
    """Return the next state of a splitmix64 generator, and a number in [0, 1)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, float(z >> np.uint64(11)) * 2.0**-53


@kernel
def choose(rows: Adjacency, sample: Sample, seed: Int64) -> None:
    """Let every row draw one of its columns and every column one of its rows."""
    num_rows = np.uint64(len(sample.row_scale))
    sample.choice[:] = NONE
    sample.column_sum[:] = 0.0
    state = np.uint64(seed)
    for r in range(num_rows):
        total = 0.0
        weight = sample.row_scale[r]
        for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
            c = np.uint64(rows.neighbour[e])
            state, number = draw(state)
            total += sample.column_scale[c]
            if number * total < sample.column_scale[c]:
                sample.choice[r] = num_rows + c
            state, number = draw(state)
            sample.column_sum[c] += weight
            if number * sample.column_sum[c] < weight:
                sample.choice[num_rows + c] = r


@kernel
def match_choices(sample: Sample) -> None:
    """Match the graph of the choices: vertices with one edge left first, then the cycles."""
    choice, degree, mate = sample.choice, sample.degree, sample.mate
    size = np.uint64(len(choice))
    degree[:] = 0
    mate[:] = NONE
    for v in range(size):
        w = np.uint64(choice[v])
        if w < size and np.uint64(choice[w]) != v:
            degree[w] += 1
    for v in range(size):
        # Nobody else chose this vertex: it has a single edge left.
        u = np.uint64(v)
        while u < size and degree[u] == 0 and np.uint64(mate[u]) >= size:
            w = np.uint64(choice[u])
            if w >= size or np.uint64(mate[w]) < size:
                break
            mate[u] = w
            mate[w] = u
            u = np.uint64(choice[w])
            if u < size and np.uint64(mate[u]) >= size and degree[u] > 0:
                degree[u] -= 1
    for v in range(size):
        w = np.uint64(choice[v])
        if w < size and np.uint64(mate[v]) >= size and np.uint64(mate[w]) >= size:
            mate[v] = w
            mate[w] = v


@kernel
def copy_mates(sample: Sample, matching: Matching) -> None:
    """Write the partners into the matching."""
    num_rows = np.uint64(len(matching.row_match))
    size = np.uint64(len(sample.mate))
    for r in range(num_rows):
        v = np.uint64(sample.mate[r])
        if v < size:
            matching.row_match[r] = v - num_rows
            matching.column_match[v - num_rows] = r


def start(graph: BipartiteGraph, matching: Matching, control: Control) -> None:
    """Add edges to an empty matching, in place."""
    num_rows, num_columns = graph.shape
    size = num_rows + num_columns
    dtype = np.uint32 if size <= MOST_NARROW else np.uint64
    sample = Sample(
        row_scale=np.empty(num_rows),
        column_scale=np.empty(num_columns),
        column_sum=np.empty(num_columns),
        choice=np.empty(size, dtype=dtype),
        degree=np.empty(size, dtype=dtype),
        mate=np.empty(size, dtype=dtype),
    )
    scale(graph.rows, sample, ITERATIONS, control.monitor())
    if control.stopped:
        return
    choose(graph.rows, sample, 0)
    match_choices(sample)
    copy_mates(sample, matching)
