"""All families by name, with their parameters and presets for the command line.

Those of flow networks are :data:`FAMILIES`, those of networks with costs :data:`MIN_COST_FAMILIES`, those of
bipartite graphs :data:`BIPARTITE_FAMILIES`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from ..checks import unknown_name
from ..errors import InvalidInputError
from ..graph.bipartite import BipartiteGraph
from ..graph.cost_network import CostNetwork
from ..graph.network import MaxFlowProblem
from .bipartite import (
    block_banded,
    co_authorship,
    erdos_renyi,
    hidden_diagonal,
    ladder,
    power_law,
    rmat,
    road_like,
)
from .dimacs import (
    ac_dense,
    cheriyan,
    dinic_bad,
    double_exponential_line,
    exponential_line,
    goldberg_bad,
    line,
    matching,
    mesh,
    random_level,
    rmf,
    square_mesh,
    two_level,
)
from .energies import column_surface, deconvolution, expansion_move, ishikawa, open_pit
from .grids import grid_2d, grid_3d
from .irregular import barabasi_albert, power_law_flow, rmat_flow, roads, superpixels, surface, tetrahedra
from .min_cost import cost_grid, goto, gridgen, netgen, phase_grid, point_transport, uniform_transport
from .triangulations import delaunay, hugetrace_like, triangulation_dual

Value: TypeAlias = int | float | bool
Made = TypeVar("Made", MaxFlowProblem, CostNetwork, BipartiteGraph)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a family, from the signature of its function."""

    name: str
    type: type[Value]
    default: Value | None  #: None where the parameter is required

    @property
    def required(self) -> bool:
        """Whether the caller must pass it, by name or as a part of the size."""
        return self.default is None


@dataclass(frozen=True)
class Family(Generic[Made]):
    """A family of instances with a name."""

    name: str  #: as in ``preflow generate NAME``
    #: returns a :class:`~preflow.graph.network.MaxFlowProblem`, a
    #: :class:`~preflow.graph.cost_network.CostNetwork` or a :class:`~preflow.graph.bipartite.BipartiteGraph`
    function: Callable[..., Made]
    summary: str  #: one line
    #: the parameters that the numbers of a size such as ``"64x16"`` set, in their order
    size_parameters: tuple[str, ...]
    #: named sizes, published or suggested, smallest first
    presets: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        presets = {size: dict(preset) for size, preset in self.presets.items()}  # not mapping proxies
        return type(self), (self.name, self.function, self.summary, self.size_parameters, presets)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters in the order of the function's signature, ``seed`` last."""
        signature = inspect.signature(self.function, eval_str=True)
        return tuple(
            Parameter(p.name, p.annotation, None if p.default is p.empty else p.default)
            for p in signature.parameters.values()
        )

    def parse_size(self, size: str) -> dict[str, Value]:
        """Return the parameters of a preset's name or of a size such as ``"64x16"``.

        InvalidInputError: it is neither; trailing numbers may be left out where their parameters have
        defaults.

        Examples
        --------
        >>> FAMILIES["rmf-wide"].parse_size("64x16")
        {'side': 64, 'frames': 16}
        """
        if size in self.presets:
            return dict(self.presets[size])
        numbers = size.split("x")
        required = sum(p.required for p in self.parameters)
        fits = required <= len(numbers) <= len(self.size_parameters)
        if not fits or not all(number.isascii() and number.isdigit() for number in numbers):
            shape = "x".join(self.size_parameters)
            raise InvalidInputError(f"a size of {self.name} must be written {shape}, got {size!r}")
        return dict(zip(self.size_parameters, map(int, numbers), strict=False))

    def generate(self, size: str | None = None, **parameters: Value) -> Made:
        """Return an instance of a size, a preset's name or one such as ``"64x16"``; `parameters` override it.

        InvalidInputError if a parameter is unknown, missing or out of its range.

        Examples
        --------
        >>> FAMILIES["rlg-wide"].generate("256x16", seed=3).name
        'rlg-wide 256x16 seed 3'
        """
        given = {} if size is None else self.parse_size(size)
        given.update(parameters)
        known = {p.name: p for p in self.parameters}
        for name in given:
            if name not in known:
                raise InvalidInputError(f"{self.name} has no parameter {name!r}: it has {', '.join(known)}")
        for name, parameter in known.items():
            if parameter.required and name not in given:
                raise InvalidInputError(f"{self.name} needs {name!r}")
        return self.function(**given)


def family(name: str) -> Family[MaxFlowProblem]:
    """Return the family of flow networks of that name.

    InvalidInputError: there is none; the message lists the names.
    """
    return _named(FAMILIES, name)


def min_cost_family(name: str) -> Family[CostNetwork]:
    """Return the family of networks with costs of that name.

    InvalidInputError: there is none; the message lists the names.
    """
    return _named(MIN_COST_FAMILIES, name)


def bipartite_family(name: str) -> Family[BipartiteGraph]:
    """Return the family of bipartite graphs of that name.

    InvalidInputError: there is none; the message lists the names.
    """
    return _named(BIPARTITE_FAMILIES, name)


def _named(families: Mapping[str, Family[Made]], name: str) -> Family[Made]:
    if name not in families:
        raise unknown_name("family", name, families)
    return families[name]


def _by_name(*families: Family[Made]) -> Mapping[str, Family[Made]]:
    return MappingProxyType({family.name: family for family in families})


def _family(
    name: str, function: Callable[..., Made], summary: str, sizes: str, also: str | None = None
) -> Family[Made]:
    """Return a family whose presets are the `sizes`.

    The parameters of a size are those that the function takes by position, and the one that `also` names.
    """
    named = inspect.signature(function).parameters.values()
    of_size = [each.name for each in named if each.kind is each.POSITIONAL_OR_KEYWORD or each.name == also]
    bare = Family(name, function, summary, tuple(of_size))
    presets = {size: MappingProxyType(bare.parse_size(size)) for size in sizes.split()}
    return replace(bare, presets=MappingProxyType(presets))


# The records of problems name these mappings.

#: Every family of flow networks, by the name that the command line knows it by.
FAMILIES: Mapping[str, Family[MaxFlowProblem]] = _by_name(
    _family(
        "genrmf",
        rmf,
        "square frames joined by random permutations, as deep as wide",
        "16x16 48x48 64x64 84x84 108x108 136x136",
    ),
    _family("rmf-wide", rmf, "GENRMF with few large frames", "16x8 64x16 136x68 400x16"),
    _family(
        "rmf-long",
        rmf,
        "GENRMF with many small frames",
        "8x64 16x1024 24x192 32x256 44x352 32x1024 56x448 68x544",
    ),
    _family(
        "mesh",
        mesh,
        "levels; each vertex leads to its three neighbours in the next (Washington 1)",
        "64x64 512x512 1024x1024",
    ),
    _family(
        "rlg",
        random_level,
        "random level graph, about as many levels as vertices in one (Washington 2)",
        "64x64 512x512 768x768 512x1024 768x1280 1024x1024 1024x1536",
    ),
    _family("rlg-wide", random_level, "random level graph with few wide levels", "256x16 4096x64 32768x64"),
    _family(
        "rlg-long",
        random_level,
        "random level graph with many narrow levels",
        "16x256 64x4096 64x16384 64x65536",
    ),
    _family(
        "two-level",
        two_level,
        "levels; each vertex leads to three random ones of the next two (Washington 3)",
        "64x32 512x512 1024x1024",
    ),
    _family(
        "matching",
        matching,
        "random bipartite graph, all capacities 1 (Washington 4)",
        "500x4 100000x4 1000000x4",
    ),
    _family(
        "square-mesh",
        square_mesh,
        "square of vertices; arcs one level on and to the side (Washington 5)",
        "40x4 500x8 1000x8",
    ),
    _family(
        "line-moderate",
        line,
        "vertices on a line; arcs to random ones ahead (Washington 6)",
        "256x4x16 4096x4x64 16384x4x128 65536x4x128",
    ),
    _family(
        "exp-line",
        exponential_line,
        "line with capacities that halve with distance (Washington 7)",
        "256x4x10 16384x4x10 65536x4x10",
    ),
    _family(
        "dexp-line",
        double_exponential_line,
        "line with arcs both ways and capacities that halve with distance (Washington 8)",
        "256x4x10 16384x4x10 65536x4x10",
    ),
    _family(
        "dinic-bad",
        dinic_bad,
        "one path length after another: n - 1 phases of Dinic (Washington 9)",
        "200 2000 20000",
    ),
    _family(
        "goldberg-bad",
        goldberg_bad,
        "parallel paths, then one long path: bad for push-relabel (Washington 10)",
        "200 2000 20000",
    ),
    _family(
        "cheriyan",
        cheriyan,
        "chains that push-relabel walks again and again (Washington 11)",
        "10x10x10 50x50x50 100x100x100",
    ),
    _family("ac-dense", ac_dense, "every vertex leads to every later one", "200 2000 4000 6000 8192"),
    _family(
        "grid-2d",
        grid_2d,
        "segmentation of a noisy synthetic image",
        "100x100 1000x1000 1000x1000x8 2000x2000 4000x4000",
        also="connectivity",
    ),
    _family(
        "grid-3d",
        grid_3d,
        "segmentation of a noisy synthetic volume",
        "24x24x24 64x64x64 64x64x64x26 128x128x128 200x200x200",
        also="connectivity",
    ),
    _family("roads", roads, "roads between random places", "1000x10 200000 1000000"),
    _family("rmat-flow", rmat_flow, "RMAT graph between random vertices", "10x8x10 17 20"),
    _family("superpixels", superpixels, "segmentation of an image of superpixels", "1000 200000 1000000"),
    _family("surface", surface, "segmentation of the triangles of a surface", "1000 200000 1000000"),
    _family(
        "column-surface",
        column_surface,
        "best surface through a volume, by a column of voxels for each of its places",
        "10x10x8 128x128x48 256x256x64",
    ),
    _family(
        "ishikawa",
        ishikawa,
        "depth of two views, by a column of labels for each pixel",
        "10x12x8 160x160x24 160x160x24x3",
        also="reach",
    ),
    _family(
        "deconvolution",
        deconvolution,
        "restoration of a blurred image of two values, by roof duality",
        "12x12x5 33x33x11 100x100x5 64x64x11",
    ),
    _family(
        "expansion-move",
        expansion_move,
        "one expansion move of a labelling of two views by depth",
        "30x40x8 288x384x16 1000x1000x16",
    ),
    _family(
        "open-pit",
        open_pit,
        "ultimate pit of an open mine: blocks, and those that must be taken before them",
        "10x10x5 60x60x24 100x100x30x9",
        also="benches",
    ),
    _family("tetrahedra", tetrahedra, "surface of a body through a cloud of points", "200 40000 150000"),
    _family(
        "barabasi-albert", barabasi_albert, "preferential attachment", "1000x3 10000x3 50000x5 1000000x5"
    ),
    _family("power-law-flow", power_law_flow, "degrees by a power law", "1000x6 10000x6 50000x10 1000000x10"),
)

#: Every family of networks with costs.
MIN_COST_FAMILIES: Mapping[str, Family[CostNetwork]] = _by_name(
    _family(
        "netgen",
        netgen,
        "chains from sources to sinks, and random arcs (NETGEN)",
        "1000x8 10000x8 50000x8 125000x8",
    ),
    _family(
        "goto",
        goto,
        "grid on a torus with one source and one sink, hard (GOTO)",
        "500x3000 3000x20000 24000x160000 150000x1000000",
    ),
    _family(
        "gridgen",
        gridgen,
        "grid with random arcs, many sources and sinks (as GRIDGEN)",
        "1000x8 10000x8 125000x8",
    ),
    _family(
        "cost-grid",
        cost_grid,
        "grid, random costs and capacities, from corner to corner",
        "20x20 100x100 256x256 256x256x256 16x4096",
        also="terminals",
    ),
    _family("phase-grid", phase_grid, "unwrapping of a noisy picture of phases", "40x40 200x200 1000x1000"),
    _family(
        "transport",
        uniform_transport,
        "transport problem, random costs and masses",
        "40x40 300x300 1000x1000",
    ),
    _family(
        "point-transport",
        point_transport,
        "transport problem, squared distances of random points",
        "40x40 300x300 1000x1000",
    ),
)

#: Every family of bipartite graphs.
BIPARTITE_FAMILIES: Mapping[str, Family[BipartiteGraph]] = _by_name(
    _family(
        "erdos-renyi",
        erdos_renyi,
        "random edges between as many rows as columns",
        "1000x3 1048576x3 1048576x5",
    ),
    _family("rmat", rmat, "RMAT, as the kron_g500 graphs", "10x16 18x16 20x16"),
    _family("power-law", power_law, "directed, degrees by power laws", "1000x5 1000000x5"),
    _family("co-authorship", co_authorship, "papers joined where they share an author", "1000x20 500000x50"),
    _family(
        "hidden-diagonal",
        hidden_diagonal,
        "zero-free diagonal and entries beside it, columns permuted",
        "1000x4 1000000x4",
    ),
    _family("delaunay", delaunay, "triangulation of random points", "1000 262144 1048576"),
    _family(
        "triangulation-dual",
        triangulation_dual,
        "triangles of random points, joined at edges",
        "1000 1000000",
    ),
    _family(
        "hugetrace-like", hugetrace_like, "triangles refined around a curve, joined at edges", "1000 1000000"
    ),
    _family("road-like", road_like, "grid, thinned and subdivided", "1000 1000000"),
    _family("ladder", ladder, "exponentially many alternating paths to a dead end", "10 20 26"),
    _family(
        "block-banded",
        block_banded,
        "dense blocks on and beside the diagonal, too narrow",
        "1000x50 15000x50",
        also="block",
    ),
)
