"""Suites of instances of grid cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from benchmarks.instances.traps import (
    constant_between_sides,
    constant_grid,
    one_source,
    opposite_sides,
    scattered,
    stripes,
)
from preflow.generators import noisy_grid, spiral, vessel_tree
from preflow.graph.grid import GridNetwork
from preflow.gridcut.problem import METHODS

from ..files import no_files, or_files
from ..instances.grid import GridInstance
from ..problem import TRAP_THREADS, Case, Suite, methods_on_cpu

#: The methods that take part: those on the CPU, and auto.
GRID_METHODS = ("serial-incremental-bfs", "serial-boykov-kolmogorov", "multicore-merging", "auto")
#: The numbers of threads of the suite that shows speed-ups.
SCALING_THREADS = (1, 2, 4, 8, 16)


def _case(name: str, generate: Callable[[], GridNetwork]) -> Case:
    return Case(name, lambda: GridInstance.from_network(generate()))


@or_files(no_files)
def grids() -> list[Case]:
    """Return noisy images and volumes, and two grids with thin regions, in which flow travels far."""
    return [
        *(
            _case(f"image {side}x{side} {neighbours}n", partial(_image, side, neighbours))
            for side in (1000, 2000)
            for neighbours in (4, 8)
        ),
        *(_case(f"volume {side}^3 6n", partial(_volume, side)) for side in (100, 160)),
        _case("spiral 500x500", partial(spiral, 500)),
        _case("vessel tree 100^3", partial(vessel_tree, 100)),
    ]


@or_files(no_files)
def grids_large() -> list[Case]:
    """Return an image and a volume that are large enough for many threads."""
    return [
        _case("image 4000x4000 4n", partial(_image, 4000, 4)),
        _case("volume 300^3 6n", partial(_volume, 300)),
    ]


@or_files(no_files)
def grids_small() -> list[Case]:
    """Return small grids of the same kinds as `grids`."""
    return [
        _case("image 60x60 4n", partial(_image, 60, 4)),
        _case("image 60x60 8n", partial(_image, 60, 8)),
        _case("volume 16^3 6n", partial(_volume, 16)),
        _case("spiral 64x64", partial(spiral, 64, turns=4)),
        _case("vessel tree 24^3", partial(vessel_tree, 24, branchings=3)),
    ]


def _image(side: int, neighbours: int) -> GridNetwork:
    return noisy_grid((side, side), connectivity=neighbours)


def _volume(side: int) -> GridNetwork:
    return noisy_grid((side,) * 3, smoothing=4.0)


@or_files(no_files)
def traps() -> list[Case]:
    """Return grids on which one method takes far longer than another."""
    return [
        _case("sides 400x400", partial(opposite_sides, (400, 400))),
        _case("sides 60^3", partial(opposite_sides, (60, 60, 60))),
        _case("sides 20x8000", partial(opposite_sides, (20, 8000))),
        _case("sides 8000x20", partial(opposite_sides, (8000, 20))),
        _case("sides 400x400 capacity 1000", partial(constant_between_sides, (400, 400), 1000)),
        _case("sides 400x400 capacity 10^6", partial(constant_between_sides, (400, 400), 10**6)),
        _case("one source 450x450", partial(one_source, (450, 450))),
        _case("one source 60^3", partial(one_source, (60, 60, 60))),
        _case("one source 1x20000", partial(one_source, (1, 20_000), capacity=10**9)),
        _case("one source 2x60000", partial(one_source, (2, 60_000), capacity=10**9)),
        _case("stripes 400x400", partial(stripes, 400)),
        _case("scattered 400x400 1%", partial(scattered, 400, 0.01)),
        _case("scattered 400x400 10%", partial(scattered, 400, 0.1)),
        _case("constant 500x500", partial(constant_grid, (500, 500), 5, 3)),
        _case("zeros 500x500", partial(constant_grid, (500, 500), 0, 0)),
    ]


#: The suites of grid cut by name.
GRID_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "grids": Suite(grids, GRID_METHODS),
        "grids-large": Suite(grids_large, ("multicore-merging", "auto"), SCALING_THREADS),
        "grids-small": Suite(grids_small, GRID_METHODS),
        "traps": Suite(traps, methods_on_cpu(METHODS), TRAP_THREADS),
    }
)
