"""Hypothesis strategies for small networks of every awkward kind."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from preflow import BipartiteGraph, FlowNetwork


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
            self.reverse_capacity,
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
        return BipartiteGraph.from_edges(row, column, (self.num_rows, self.num_columns))


@st.composite
def small_graphs(draw: st.DrawFn, max_vertices: int = 9) -> SmallGraph:
    """Bipartite graphs with empty rows and columns, repeated edges, and sides of different size."""
    rows, columns = draw(st.integers(1, max_vertices)), draw(st.integers(1, max_vertices))
    edge = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    return SmallGraph(rows, columns, draw(st.lists(edge, max_size=3 * max(rows, columns))))
