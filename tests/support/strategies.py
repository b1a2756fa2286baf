"""Hypothesis strategies for small networks of every awkward kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from preflow import BipartiteGraph, FlowNetwork, GridNetwork


@dataclass(frozen=True)
class SmallProblem:
    """A network as lists, with its terminals."""

    num_vertices: int
    tail: list[int]
    head: list[int]
    capacity: list[float]
    reverse_capacity: list[float] | None
    sources: list[int]
    sinks: list[int]

    @property
    def network(self) -> FlowNetwork:
        return FlowNetwork.from_arrays(
            self.tail,
            self.head,
            self.capacity,
            reverse_capacity=self.reverse_capacity,
            num_vertices=self.num_vertices,
        )

    @property
    def directed_arcs(self) -> list[tuple[int, int, float]]:
        arcs = list(zip(self.tail, self.head, self.capacity, strict=True))
        if self.reverse_capacity is not None:
            arcs += list(zip(self.head, self.tail, self.reverse_capacity, strict=True))
        return [(u, v, c) for u, v, c in arcs if u != v]


integer_capacities = st.one_of(st.integers(0, 3), st.integers(0, 20), st.integers(0, 2**33))
float_capacities = st.one_of(
    st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.5]), st.floats(0, 1e6, allow_nan=False, allow_subnormal=False)
)


@st.composite
def small_problems(
    draw: st.DrawFn, capacities: st.SearchStrategy[float] = integer_capacities, max_vertices: int = 9
) -> SmallProblem:
    """Networks with zero capacities, loops, parallel and antiparallel arcs, several components."""
    n = draw(st.integers(2, max_vertices))
    m = draw(st.integers(0, 3 * n))
    vertex = st.integers(0, n - 1)
    ends = draw(st.lists(st.tuples(vertex, vertex), min_size=m, max_size=m))
    capacity = draw(st.lists(capacities, min_size=m, max_size=m))
    reverse = draw(st.none() | st.lists(capacities, min_size=m, max_size=m))
    terminals = draw(st.permutations(range(n)))
    num_sources = draw(st.integers(1, max(1, min(2, n - 1))))
    num_sinks = draw(st.integers(1, max(1, min(2, n - num_sources))))
    return SmallProblem(
        n,
        [u for u, _ in ends],
        [v for _, v in ends],
        capacity,
        reverse,
        sorted(terminals[:num_sources]),
        sorted(terminals[num_sources : num_sources + num_sinks]),
    )


@dataclass(frozen=True)
class SmallGraph:
    """A bipartite graph as lists; edges may repeat."""

    num_rows: int
    num_columns: int
    edges: list[tuple[int, int]]

    @property
    def graph(self) -> BipartiteGraph:
        row, column = [r for r, _ in self.edges], [c for _, c in self.edges]
        return BipartiteGraph.from_arrays(row, column, shape=(self.num_rows, self.num_columns))


@st.composite
def small_graphs(draw: st.DrawFn, max_vertices: int = 9) -> SmallGraph:
    """Bipartite graphs with empty rows and columns, repeated edges, and sides of different size."""
    rows, columns = draw(st.integers(1, max_vertices)), draw(st.integers(1, max_vertices))
    edge = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    return SmallGraph(rows, columns, draw(st.lists(edge, max_size=3 * max(rows, columns))))


@dataclass(frozen=True)
class SmallGrid:
    """A grid as arrays."""

    source: NDArray[Any]
    sink: NDArray[Any]
    neighbor: NDArray[Any]
    connectivity: int | list[tuple[int, ...]]

    @property
    def network(self) -> GridNetwork:
        return GridNetwork.from_arrays(self.source, self.sink, self.neighbor, connectivity=self.connectivity)


#: Neighbourhoods of one, two and three dimensions: few numbers of directions, for each is compiled.
NEIGHBOURHOODS: dict[int, list[int | list[tuple[int, ...]]]] = {
    1: [[(1,), (3,)]],
    2: [4, 8, [(0, 2), (1, -3)], [(2, -1), (0, 1), (3, 3)]],
    3: [6, [(0, 0, 1), (1, -1, 1)]],
}


@st.composite
def small_grids(
    draw: st.DrawFn,
    kinds: tuple[str, ...] = ("few", "many", "one-way", "whole-floats"),
    most: tuple[int, ...] = (40, 40, 5),
    neighbourhoods: dict[int, list[int | list[tuple[int, ...]]]] = NEIGHBOURHOODS,
) -> SmallGrid:
    """Grids of all shapes up to `most`, with zero capacities, seeds, and arcs one way only."""
    ndim = draw(st.sampled_from(sorted(neighbourhoods)))
    shape = tuple(draw(st.integers(1, most[ndim - 1])) for _ in range(ndim))
    connectivity = draw(st.sampled_from(neighbourhoods[ndim]))
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = connectivity // 2 if isinstance(connectivity, int) else len(connectivity)
    rows = draw(st.sampled_from([pairs, 2 * pairs])) if kind != "one-way" else 2 * pairs
    largest = {"few": 3, "one-way": 20}.get(kind, 1000)
    terminal = draw(st.sampled_from([largest, 3 * largest]))
    source, sink = (rng.integers(0, terminal, shape, endpoint=True) for _ in range(2))
    for values in (source, sink):
        values[rng.random(shape) < draw(st.sampled_from([0.0, 0.5, 0.95]))] = 0
    neighbor = rng.integers(0, largest, (rows, *shape), endpoint=True)
    if kind == "one-way":
        way = rng.random((pairs, *shape)) < 0.5
        neighbor[0::2][way] = 0
        neighbor[1::2][~way] = 0
    if kind in ("whole-floats", "fractional"):
        divisor = 1.0 if kind == "whole-floats" else 7.0
        source, sink, neighbor = (values / divisor for values in (source, sink, neighbor))
        seeded = rng.random(shape)
        source[seeded < 0.1] = np.inf
        sink[seeded > 0.9] = np.inf
    return SmallGrid(source, sink, neighbor, connectivity)
