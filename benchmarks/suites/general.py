"""Suites of instances of matching in general graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from benchmarks.instances.undirected import (
    complete_points,
    line_graph,
    nested_blossoms,
    odd_cycle_chain,
    random_graph,
    triangulated_points,
    undirected,
)
from preflow.generators.bipartite import rmat, road_like
from preflow.graph.undirected import UndirectedGraph

from ..files import no_files, or_files
from ..instances.general import GeneralInstance
from ..problem import Case, Suite


def _case(name: str, graph: Callable[[], UndirectedGraph], *, perfect: bool = False) -> Case:
    shown = f"{name} perfect" if perfect else name
    return Case(shown, lambda: GeneralInstance.from_graph(graph(), perfect=perfect))


def _unweighted(name: str, graph: Callable[[], UndirectedGraph]) -> Case:
    return Case(f"{name} pairs", lambda: GeneralInstance.from_graph(graph().without_weights()))


def _road(n: int) -> UndirectedGraph:
    return undirected(road_like(n))


def _rmat(scale: int) -> UndirectedGraph:
    return undirected(rmat(scale, 8))


@or_files(no_files)
def general() -> list[Case]:
    """Return graphs with weights: random, of points, roads, power laws, and those hard for blossoms."""
    return [
        *(_case(f"random {n}", partial(random_graph, n)) for n in (1000, 4000, 16_000, 64_000)),
        _case("complete 1000", partial(complete_points, 1000), perfect=True),
        _case("complete 2000", partial(complete_points, 2000), perfect=True),
        _case("delaunay 100000", partial(triangulated_points, 100_000)),
        _case("delaunay 100000", partial(triangulated_points, 100_000), perfect=True),
        _case("road 1000000", partial(_road, 1_000_000)),
        _case("rmat 2^17", partial(_rmat, 17)),
        _case("odd cycles 30000", partial(odd_cycle_chain, 30_000)),
        _case("odd cycles 30000", partial(odd_cycle_chain, 30_000), perfect=True),
        _case("nested 10000", partial(nested_blossoms, 10_000)),
        _case("nested 10000", partial(nested_blossoms, 10_000), perfect=True),
        _case("line graph 20000", partial(line_graph, 20_000)),
    ]


@or_files(no_files)
def general_pairs() -> list[Case]:
    """Return graphs without weights."""
    return [
        *(_unweighted(f"random {n}", partial(random_graph, n)) for n in (64_000, 1_000_000)),
        _unweighted("random 64000 degree 3", partial(random_graph, 64_000, 3)),
        _unweighted("delaunay 100000", partial(triangulated_points, 100_000)),
        _unweighted("road 1000000", partial(_road, 1_000_000)),
        _unweighted("rmat 2^17", partial(_rmat, 17)),
        _unweighted("odd cycles 300000", partial(odd_cycle_chain, 300_000)),
        _unweighted("line graph 20000", partial(line_graph, 20_000)),
    ]


@or_files(no_files)
def general_tiny() -> list[Case]:
    """Return small graphs that all peers solve within seconds."""
    return [
        _case("random 200", partial(random_graph, 200)),
        _case("delaunay 200", partial(triangulated_points, 200), perfect=True),
        _case("odd cycles 300", partial(odd_cycle_chain, 300)),
        _unweighted("random 200", partial(random_graph, 200)),
    ]


#: The suites of matching in general graphs by name.
GENERAL_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "general": Suite(general),
        "general-pairs": Suite(general_pairs),
        "general-tiny": Suite(general_tiny),
    }
)
