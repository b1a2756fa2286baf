"""Other solvers of grid cuts: PyMaxflow with its functions for grids, and preflow's solvers of networks."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.cuts import min_cut
from preflow.graph.network import MaxFlowProblem

from ..instances.grid import GridInstance
from ..problem import Contestant, Stopwatch
from ..records import Outcome

#: The solvers of networks that take part, with their device: the fastest on one CPU thread, and on a GPU.
GENERAL = {"serial-hi-pr": "cpu", "cuda-push-relabel": "cuda"}


class StructuredGrid(NamedTuple):
    """A grid for PyMaxflow: 64-bit capacities, and the directions of each row of arcs."""

    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    weights: list[Any]
    structures: list[NDArray[np.int64]]
    symmetric: bool
    num_edges: int


def _prepare_pymaxflow(instance: GridInstance) -> StructuredGrid:
    ways = (1,) if instance.symmetric else (1, -1)
    offsets = [np.multiply(way, offset) for offset in instance.half for way in ways]
    reach = max(int(np.abs(offset).max()) for offset in offsets)
    structures = []
    for offset in offsets:
        structure = np.zeros((2 * reach + 1,) * len(offset), dtype=np.int64)
        structure[tuple(reach + offset)] = 1
        structures.append(structure)
    return StructuredGrid(
        instance.source.astype(np.int64),
        instance.sink.astype(np.int64),
        [row if row.ndim else int(row) for row in instance.neighbor.astype(np.int64)],
        structures,
        instance.symmetric,
        instance.sizes["arcs"] // (2 if instance.symmetric else 1),
    )


def _run_pymaxflow(grid: StructuredGrid) -> Outcome:
    import maxflow

    clock = Stopwatch()
    graph = maxflow.GraphInt(grid.source.size, grid.num_edges)
    pixels = graph.add_grid_nodes(grid.source.shape)
    for weights, structure in zip(grid.weights, grid.structures, strict=True):
        graph.add_grid_edges(pixels, weights, structure=structure, symmetric=grid.symmetric)
    graph.add_grid_tedges(pixels, grid.source, grid.sink)
    clock.lap("build")
    value = graph.maxflow()
    clock.lap("solve")
    graph.get_grid_segments(pixels)
    clock.lap("recover")
    return Outcome(value, clock.seconds)


def _run_general(method: str, problem: MaxFlowProblem) -> Outcome:
    start = time.perf_counter()
    result = min_cut(problem, method=method)
    wall = time.perf_counter() - start
    phases = dict(result.stats.seconds)
    wall -= phases.pop("compile", 0.0)
    return Outcome(result.value, {**phases, "other": wall - sum(phases.values())})


def _general(method: str, device: str) -> Contestant:
    return Contestant(
        f"min_cut:{method}",
        "preflow.maxflow.api",
        "preflow",
        lambda problem: _run_general(method, problem),
        lambda instance: instance.network().to_flow_problem(),
        remark="solves the grid as a network of arcs; the conversion is not timed",
        device=device,
    )


#: The peers of grid cut.
GRID_PEERS = (
    Contestant(
        "pymaxflow",
        "maxflow",
        "PyMaxflow",
        _run_pymaxflow,
        _prepare_pymaxflow,
        remark="uses its functions for grids, with arrays of its own dtype",
    ),
    *(_general(method, device) for method, device in GENERAL.items()),
)
