"""Suites of transport problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from preflow.generators.min_cost import squared_distances, transport_masses, transport_points
from preflow.graph.point_costs import PointCosts
from preflow.io.costs import read_costs

from ..files import or_files
from ..instances.transport import TransportInstance
from ..machine import check_memory
from ..problem import Case, Suite
from .min_cost import is_network

#: The memory in bytes that a pair takes while it is generated and solved by all contestants in turn.
BYTES_A_PAIR = 150


def _case(name: str, make: Callable[[], TransportInstance], pairs: int = 0) -> Case:
    def checked() -> TransportInstance:
        check_memory(BYTES_A_PAIR * pairs)
        return make()

    return Case(name, checked)


def _uniform(n: int, floats: bool) -> TransportInstance:
    return TransportInstance(*transport_masses(n, floats=floats))


def _squares(n: int) -> TransportInstance:
    return TransportInstance(*squared_distances(transport_points(n)))


def _points(n: int) -> TransportInstance:
    problem = transport_points(n, floats=True)
    costs = PointCosts(problem.points, problem.others, metric="sqeuclidean")
    return TransportInstance(costs, problem.a, problem.b)


def _cases(integer: Sequence[int], floats: Sequence[int], points: Sequence[int]) -> list[Case]:
    return [
        *(_case(f"uniform {n}", partial(_uniform, n, False), n * n) for n in integer),
        *(_case(f"squared distances {n}", partial(_squares, n), n * n) for n in integer),
        *(_case(f"uniform floats {n}", partial(_uniform, n, True), n * n) for n in floats),
        *(_case(f"points {n}", partial(_points, n)) for n in points),
    ]


def cost_files(files: Sequence[str]) -> list[Case]:
    """Return a case for each file of dense costs, with the same mass at each row and at each column."""
    return [Case(Path(file).name, partial(_read, file)) for file in files if not is_network(file)]


@or_files(cost_files)
def mincost() -> list[Case]:
    """Return problems with matrices of integers and floats, points."""
    return [*_cases((300, 1000), (2000, 4000), (1000, 2000))]


@or_files(cost_files)
def mincost_large() -> list[Case]:
    """Return problems for many threads and GPUs."""
    return [*_cases((), (5000, 10_000), (10_000,))]


@or_files(cost_files)
def mincost_tiny() -> list[Case]:
    """Return one small problem of each kind."""
    return [*_cases((60,), (100,), (100,))]


def _read(file: str) -> TransportInstance:
    cost = read_costs(file).costs
    rows, columns = cost.shape
    shared = np.lcm(rows, columns)
    masses = (np.full(size, shared // size) for size in (rows, columns))
    return TransportInstance(np.asarray(cost), *masses)


#: The suites of transport by name.
TRANSPORT_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "mincost": Suite(mincost),
        "mincost-large": Suite(mincost_large),
        "mincost-tiny": Suite(mincost_tiny),
    }
)
