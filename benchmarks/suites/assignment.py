"""Suites of instances of linear assignment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.instances.traps import around_one_point, dear_chain, few_places
from preflow.assignment.problem import METHODS
from preflow.generators.costs import (
    geometric_costs,
    low_rank_costs,
    machol_wien_costs,
    nearest_costs,
    neighbor_costs,
    two_costs,
    uniform_costs,
    uniform_integer_costs,
)
from preflow.graph.point_costs import PointCosts
from preflow.io.costs import read_costs

from ..files import or_files
from ..instances.assignment import AssignmentInstance
from ..machine import check_memory
from ..problem import TRAP_THREADS, Case, Suite, methods_on_cpu

#: The dense families by name; a function returns n x n costs.
DENSE: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "integer": uniform_integer_costs,
        "uniform": uniform_costs,
        "geometric": geometric_costs,
        "machol-wien": machol_wien_costs,
        "low-rank": low_rank_costs,
    }
)
#: The sparse families by name, with 20 neighbours in each row.
SPARSE: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "neighbors <= 100": partial(neighbor_costs, largest=100),
        "neighbors <= 499999": partial(neighbor_costs, largest=499_999),
        "nearest": nearest_costs,
    }
)
#: The memory in bytes that a pair of dense costs takes while they are generated and solved.
BYTES_A_PAIR = 60
#: The largest cost of the problems of a batch.
BATCH_LARGEST = 100


def _case(name: str, costs: Callable[[], Any], pairs: int = 0) -> Case:
    def make() -> AssignmentInstance:
        check_memory(BYTES_A_PAIR * pairs)
        return AssignmentInstance(costs())

    return Case(name, make)


def _dense(n: int) -> list[Case]:
    return [_case(f"{name} {n}", partial(make, n), n * n) for name, make in DENSE.items()]


def _sparse(n: int) -> list[Case]:
    return [_case(f"{name} {n}", partial(make, n)) for name, make in SPARSE.items()]


def _batch(items: int, n: int) -> Case:
    def costs() -> Any:
        return np.random.default_rng(0).integers(0, BATCH_LARGEST, (items, n, n), endpoint=True)

    return _case(f"{items} x {n}x{n}", costs, items * n * n)


def _points(n: int, dimension: int) -> Case:
    def costs() -> PointCosts:
        return PointCosts(*np.random.default_rng(0).random((2, n, dimension)))

    return _case(f"points {n} dimension {dimension}", costs)


def cost_files(files: Sequence[str]) -> list[Case]:
    """Return a case for each file of costs (DIMACS .asn, OR-Library or .npy)."""
    return [Case(Path(file).name, partial(_read, file)) for file in files]


@or_files(cost_files)
def assignment() -> list[Case]:
    """Return large dense and sparse problems, a batch, points."""
    return [
        *(case for n in (1000, 2000, 4000) for case in _dense(n)),
        *(case for n in (10_000, 100_000) for case in _sparse(n)),
        _batch(10_000, 30),
        _points(4000, 2),
        _points(4000, 5),
    ]


@or_files(cost_files)
def assignment_small() -> list[Case]:
    """Return problems of the same kinds that all peers solve within about a minute."""
    return [*_dense(500), *_sparse(2000), _batch(500, 30), _points(1000, 2)]


@or_files(cost_files)
def traps() -> list[Case]:
    """Return problems on which one method takes far longer than another."""
    return [
        _case("two costs 1000", partial(two_costs, 1000)),
        _case("dear chain 16000", partial(dear_chain, 16_000)),
        _case("around one point 2000", partial(around_one_point, 2000)),
        _case("few places 2000", partial(few_places, 2000, 10)),
        _case("few places 5000", partial(few_places, 5000, 10)),
    ]


def _read(file: str) -> AssignmentInstance:
    return AssignmentInstance(read_costs(file).costs)


#: The suites of linear assignment by name.
ASSIGNMENT_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "assignment": Suite(assignment),
        "assignment-small": Suite(assignment_small),
        "traps": Suite(traps, methods_on_cpu(METHODS), TRAP_THREADS),
    }
)
