"""The sample of minimum cuts of grids for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.instances import traps
from preflow import GridNetwork
from preflow.certify.grid import check_grid_flow, check_grid_labels
from preflow.generators import noisy_grid
from preflow.graph.integer_grid import integer_grid
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample


def solve(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(1)
    source, sink = rng.integers(0, 9, (2, 12, 9))
    grid = integer_grid(GridNetwork.from_arrays(source, sink, rng.integers(0, 5, (2, 12, 9))))
    found = method.solve(grid, None, method.make_options(None), control)
    check_grid_flow(grid, found.residual, found.terminal)
    if found.finished:
        check_grid_labels(grid, found.residual, found.terminal, ~found.sink_side)
    assert found.sink_side.shape == grid.shape
    return bool(found.finished)


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    return {f"{shape}": (noisy_grid(shape),) for shape in ((20, 20), (60, 50), (9, 8, 7))}


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    return {"grid_cut": ((traps.opposite_sides((40, 40)),), {})}


SAMPLE = Sample(
    arguments=([[3, 0], [0, 1]], [[0, 1], [2, 0]], 1),
    # cuda/structs.py; accesses to arcs and the paths of forests serve networks, too
    modules={"grid_cut": 73},
    solve=solve,
    counted=counted,
    answer=("labels",),
    rounds=rounds,
    fuzz="grids",
)
