"""Suites of instances of minimum-cost flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from preflow.generators.min_cost import (
    cost_grid,
    goto,
    gridgen,
    netgen,
    phase_grid,
    point_transport,
    uniform_transport,
)
from preflow.graph.cost_network import CostNetwork
from preflow.io.dimacs import read_min_cost_flow
from preflow.mincost.problem import METHODS

from ..files import or_files
from ..instances.min_cost import MinCostInstance
from ..machine import check_memory
from ..problem import Case, Suite, methods_on_cpu

#: The memory in bytes that an arc takes while it is generated and solved by all contestants in turn.
BYTES_AN_ARC = 600


def _case(name: str, network: Callable[[], CostNetwork], arcs: int = 0) -> Case:
    def make() -> MinCostInstance:
        check_memory(BYTES_AN_ARC * arcs)
        return MinCostInstance.from_network(network())

    return Case(name, make)


def min_cost_files(files: Sequence[str]) -> list[Case]:
    """Return a case for each file whose name ends in ``.min`` or ``.asn``, perhaps with ``.gz``."""
    return [Case(Path(file).name, partial(_read, file)) for file in files if is_network(file)]


@or_files(min_cost_files)
def mincost() -> list[Case]:
    """Return networks of the published families, grids and pictures to unwrap."""
    return [
        _case("netgen-8 10000", partial(netgen, 10_000)),
        _case("netgen-8 50000", partial(netgen, 50_000)),
        _case("goto 3000x20000", partial(goto, 3000, 20_000)),
        _case("goto 24000x160000", partial(goto, 24_000, 160_000)),
        _case("gridgen-8 10000", partial(gridgen, 10_000)),
        _case("grid 100x100", partial(cost_grid, 100, 100)),
        _case("grid 256x256", partial(cost_grid, 256, 256)),
        _case("grid 256x256 of 256 sources", partial(cost_grid, 256, 256, terminals=256)),
        _case("grid 16x4096", partial(cost_grid, 16, 4096)),
        _case("phase 1000x1000", partial(phase_grid, 1000, 1000), 4_000_000),
        _case("phase 1000x1000 weighted", partial(phase_grid, 1000, 1000, weighted=True), 4_000_000),
    ]


@or_files(min_cost_files)
def mincost_large() -> list[Case]:
    """Return networks of a million arcs, for many threads and GPUs."""
    return [
        _case("netgen-8 125000", partial(netgen, 125_000), 1_000_000),
        _case("goto 150000x1000000", partial(goto, 150_000, 1_000_000), 1_000_000),
    ]


@or_files(min_cost_files)
def mincost_tiny() -> list[Case]:
    """Return one small network of each kind, which all peers solve within seconds."""
    return [
        _case("netgen-8 500", partial(netgen, 500)),
        _case("goto 300x2000", partial(goto, 300, 2000)),
        _case("gridgen-8 400", partial(gridgen, 400)),
        _case("grid 20x20", partial(cost_grid, 20, 20)),
        _case("phase 40x40", partial(phase_grid, 40, 40)),
        _case("transport 40x40", partial(uniform_transport, 40)),
        _case("point transport 40x40", partial(point_transport, 40)),
    ]


def is_network(file: str) -> bool:
    """Return whether the name of a file is that of a network; others have costs of transport problems."""
    return file.removesuffix(".gz").endswith((".min", ".asn"))


def _read(file: str) -> MinCostInstance:
    return MinCostInstance.from_network(read_min_cost_flow(file))


#: The suites of minimum-cost flow by name.
MIN_COST_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "mincost": Suite(mincost),
        "mincost-large": Suite(mincost_large),
        "mincost-tiny": Suite(mincost_tiny, methods_on_cpu(METHODS)),
    }
)
