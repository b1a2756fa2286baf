"""The bipartite graphs that are benchmarked, suite by suite."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType

from ..errors import InvalidInputError
from ..generators import bipartite_family
from ..generators.traps import board_with_holes, clique_with_tail, comb, few_columns, scrambled_cycle
from ..graph.bipartite import BipartiteGraph
from ..io.matrix_market import read_matrix_market
from ..matching.methods import METHODS
from .deveci import TABLE
from .deveci_stand_ins import stand_in
from .machine import check_memory
from .matching_instance import MatchingInstance
from .problem import TRAP_THREADS, Case, Suite, methods_on_cpu

#: The three forms of G-PR and the strategies of global relabels that Deveci et al. compare; the first of
#: each is the default.
G_PR_FORMS = ("", "shrink=False", "active_list=False")
G_PR_STRATEGIES = (
    "",
    "global_relabel=adaptive:0.3",
    "global_relabel=adaptive:1",
    "global_relabel=adaptive:1.5",
    "global_relabel=fixed:10",
    "global_relabel=fixed:50",
)


def _with_options(method: str, *options: str) -> str:
    given = ",".join(option for option in options if option)
    return f"{method}[{given}]" if given else method


#: Whom they compare: PR, P-DBFS, G-PR in all its forms, G-HKDW and G-HK; and auto.
DEVECI_METHODS = (
    "serial-push-relabel",
    "multicore-disjoint-bfs",
    *(_with_options("cuda-push-relabel", *each) for each in product(G_PR_FORMS, G_PR_STRATEGIES)),
    "cuda-hkdw",
    "cuda-hopcroft-karp",
    "auto",
)
#: By how much `deveci28-small` divides the numbers of rows.
SMALLER = 64
#: Memory that a stand-in takes while it is generated and solved.
BYTES_AN_ENTRY = 100


def _family(name: str, size: str, shown: str | None = None, **parameters: bool) -> Case:
    def generate() -> MatchingInstance:
        family = bipartite_family(name)
        seed = {} if name == "ladder" else {"seed": 0}
        return MatchingInstance.from_graph(family.generate(size, **seed, **parameters))

    return Case(shown or f"{name} {size}", generate)


def _graph(name: str, generate: Callable[[], BipartiteGraph]) -> Case:
    return Case(name, lambda: MatchingInstance.from_graph(generate()))


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


def traps(files: Sequence[str]) -> list[Case]:
    """Return graphs on which one method takes far longer than another."""
    return [
        _graph("comb 200000", partial(comb, 200_000)),
        _graph("clique 400 with tail 200000", partial(clique_with_tail, 400, 200_000)),
        _graph("cycle 200000", partial(scrambled_cycle, 200_000)),
        _graph("board 500 without 5%", partial(board_with_holes, 500, 0.05)),
        _graph("board 500 without 30%", partial(board_with_holes, 500, 0.3)),
        _graph("complete 200000x20", partial(few_columns, 200_000, 20)),
        _family("ladder", "15"),
        _family("power-law", "100000x5"),
        _family("hidden-diagonal", "200000x2"),
    ]


def matrix_files(patterns: Sequence[str]) -> list[Case]:
    """Return a case for each of the Matrix Market files."""
    return [_file(name, path) for name, path in _files(patterns)]


def deveci28(files: Sequence[str]) -> list[Case]:
    """Return the matrices of Deveci et al., Table I.

    One is read from the one of the `files` that has its name, and must have the published maximum; where
    there is none, a generated graph stands for it.
    """
    given = dict(_files(files))
    return [
        _file(name, given[name], published=matrix.maximum) if name in given else _stand_in(name)
        for name, matrix in TABLE.items()
    ]


def deveci28_small(files: Sequence[str]) -> list[Case]:
    """Return the stand-ins of `deveci28`, smaller."""
    return [_stand_in(name, SMALLER) for name in TABLE]


def _stand_in(name: str, smaller: int = 1) -> Case:
    def generate() -> MatchingInstance:
        check_memory(BYTES_AN_ENTRY * TABLE[name].entries / smaller)
        return MatchingInstance.from_graph(stand_in(name, smaller))

    return Case(f"{name}-like{' small' if smaller > 1 else ''}", generate)


def _files(patterns: Sequence[str]) -> list[tuple[str, Path]]:
    """Return the Matrix Market files that folders, patterns and file names stand for, with their names.

    Raises
    ------
    InvalidInputError
        One of them stands for nothing.
    """
    named = []
    for pattern in patterns:
        folder = Path(pattern)
        found = [str(folder / "*.mtx"), str(folder / "*.mtx.gz")] if folder.is_dir() else [pattern]
        paths = sorted(Path(name) for each in found for name in glob.glob(each, recursive=True))
        if not paths:
            raise InvalidInputError(
                f"{pattern} is no folder with .mtx files, no file and no pattern of files"
            )
        named += [(path.name.removesuffix(".gz").removesuffix(".mtx"), path) for path in paths]
    return named


def _file(name: str, path: Path, published: int | None = None) -> Case:
    return Case(name, partial(_read, path), published=published)


def _read(path: Path) -> MatchingInstance:
    graph: BipartiteGraph = read_matrix_market(path)
    return MatchingInstance.from_graph(graph)


#: Suites of bipartite matching.
MATCHING_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "matching": Suite(matching),
        "matching-tiny": Suite(matching_tiny),
        "deveci28": Suite(deveci28, DEVECI_METHODS),
        "deveci28-small": Suite(deveci28_small, DEVECI_METHODS),
        "traps": Suite(traps, methods_on_cpu(METHODS), TRAP_THREADS),
    }
)
