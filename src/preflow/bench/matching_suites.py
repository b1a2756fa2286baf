"""The bipartite graphs that are benchmarked, suite by suite."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from ..errors import InvalidInputError
from ..generators import bipartite_family
from ..graph.bipartite import BipartiteGraph
from ..io.matrix_market import read_matrix_market
from .matching_instance import MatchingInstance
from .problem import Case, Suite


def _family(name: str, size: str, shown: str | None = None, **parameters: bool) -> Case:
    def generate() -> MatchingInstance:
        family = bipartite_family(name)
        seed = {} if name == "ladder" else {"seed": 0}
        return MatchingInstance.from_graph(family.generate(size, **seed, **parameters))

    return Case(shown or f"{name} {size}", generate)


def matching(files: Sequence[str]) -> list[Case]:
    """Return the graphs of the project's targets, and the user's Matrix Market files."""
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
        *matrix_files(files),
    ]


def matching_tiny(files: Sequence[str]) -> list[Case]:
    """Return graphs on which the slowest peers end within seconds."""
    return [
        _family("erdos-renyi", "1000x3"),
        _family("delaunay", "1000"),
        _family("rmat", "8x8"),
        _family("power-law", "1000x5"),
        _family("road-like", "1000"),
        _family("triangulation-dual", "1000"),
        _family("ladder", "12"),
        *matrix_files(files),
    ]


def matrix_files(patterns: Sequence[str]) -> list[Case]:
    """Return the Matrix Market files that folders, glob patterns and file names stand for.

    Raises
    ------
    InvalidInputError
        One of them stands for nothing.
    """
    cases = []
    for pattern in patterns:
        folder = Path(pattern)
        found = [str(folder / "*.mtx"), str(folder / "*.mtx.gz")] if folder.is_dir() else [pattern]
        paths = sorted(Path(name) for each in found for name in glob.glob(each, recursive=True))
        if not paths:
            raise InvalidInputError(
                f"{pattern} is no folder with .mtx files, no file and no pattern of files"
            )
        for path in paths:
            name = path.name.removesuffix(".gz").removesuffix(".mtx")
            cases.append(Case(name, partial(_read, path)))
    return cases


def _read(path: Path) -> MatchingInstance:
    graph: BipartiteGraph = read_matrix_market(path)
    return MatchingInstance.from_graph(graph)


#: Suites of bipartite matching.
MATCHING_SUITES: Mapping[str, Suite] = MappingProxyType(
    {"matching": Suite(matching), "matching-tiny": Suite(matching_tiny)}
)
