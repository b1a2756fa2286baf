"""Suites of instances of bipartite matching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from benchmarks.instances.traps import board_with_holes, clique_with_tail, comb, few_columns, scrambled_cycle
from preflow.bipartite.problem import METHODS
from preflow.generators import bipartite_family
from preflow.graph.bipartite import BipartiteGraph
from preflow.io.matrix_market import read_matrix_market

from ..files import find_files, instance_name, or_files
from ..instances.matching import MatchingInstance
from ..problem import TRAP_THREADS, Case, Suite, methods_on_cpu


def graph_case(name: str, generate: Callable[[], BipartiteGraph]) -> Case:
    """Return the case of a generated graph."""
    return Case(name, lambda: MatchingInstance.from_graph(generate()))


def matrix_case(path: Path, published: int | None = None) -> Case:
    """Return the case of a Matrix Market file; `published` is the size of a maximum matching."""
    return Case(instance_name(path, ".mtx"), partial(_read, path), published=published)


def _read(path: Path) -> MatchingInstance:
    graph: BipartiteGraph = read_matrix_market(path)
    return MatchingInstance.from_graph(graph)


def _family(name: str, size: str, shown: str | None = None, **parameters: bool) -> Case:
    def generate() -> BipartiteGraph:
        seed = {} if name == "ladder" else {"seed": 0}
        return bipartite_family(name).generate(size, **seed, **parameters)

    return graph_case(shown or f"{name} {size}", generate)


def matrix_files(patterns: Sequence[str]) -> list[Case]:
    """Return a case for each of the user's Matrix Market files."""
    return [matrix_case(path) for path in find_files(patterns, ".mtx")]


@or_files(matrix_files)
def matching() -> list[Case]:
    """Return eleven large graphs."""
    return [
        _family("erdos-renyi", "1048576x3", "erdos-renyi 2^20 degree 3"),
        _family("erdos-renyi", "1048576x5", "erdos-renyi 2^20 degree 5"),
        _family("delaunay", "262144", "delaunay 2^18"),
        _family("delaunay", "1048576", "delaunay 2^20"),
        _family("rmat", "18x16", "rmat 18 symmetric"),
        _family("rmat", "20x16", "rmat 20 symmetric"),
        _family("rmat", "20x8", "rmat 20 directed", symmetric=False),
        _family("power-law", "1000000x5"),
        _family("road-like", "1000000"),
        _family("triangulation-dual", "1000000"),
        _family("hugetrace-like", "1000000"),
    ]


@or_files(matrix_files)
def matching_tiny() -> list[Case]:
    """Return graphs that the slowest peers solve within seconds."""
    return [
        _family("erdos-renyi", "1000x3"),
        _family("delaunay", "1000"),
        _family("rmat", "8x8"),
        _family("power-law", "1000x5"),
        _family("road-like", "1000"),
        _family("triangulation-dual", "1000"),
        _family("ladder", "12"),
    ]


@or_files(matrix_files)
def traps() -> list[Case]:
    """Return graphs on which one method takes far longer than another."""
    return [
        graph_case("comb 200000", partial(comb, 200_000)),
        graph_case("clique 400 with tail 200000", partial(clique_with_tail, 400, 200_000)),
        graph_case("cycle 200000", partial(scrambled_cycle, 200_000)),
        graph_case("board 500 without 5%", partial(board_with_holes, 500, 0.05)),
        graph_case("board 500 without 30%", partial(board_with_holes, 500, 0.3)),
        graph_case("complete 200000x20", partial(few_columns, 200_000, 20)),
        _family("ladder", "15"),
        _family("power-law", "100000x5"),
        _family("hidden-diagonal", "200000x2"),
    ]


#: The suites of bipartite matching by name.
MATCHING_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "matching": Suite(matching),
        "matching-tiny": Suite(matching_tiny),
        "traps": Suite(traps, methods_on_cpu(METHODS), TRAP_THREADS),
    }
)
