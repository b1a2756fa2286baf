"""Invariants of every step: it names no method, and carries nothing back before somebody reads it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.registry import PROBLEMS
from preflow.solving.run import Deadline
from preflow.steps import as_grid, complete, contract, limit, past_arc
from preflow.steps.second_stage import HostSecondStage
from preflow.steps.step import Applied, FlowProblem, KnownFlow, LiftedFlow
from tests.support.paths import ROOT

STEPS = sorted((ROOT / "src" / "preflow" / "steps").rglob("*.py"))
NAMES = {method.name for problem in PROBLEMS for method in preflow.methods(problem.name)}
#: The classes that take the place of a second stage, and what each has.
STAGES = (HostSecondStage, as_grid.GridSecondStage, LiftedFlow, limit.LimitedFlow, KnownFlow)
PROTOCOL = ("flow", "preflow", "source_side")


def problem_of(network: preflow.FlowNetwork, source: int, sink: int) -> FlowProblem:
    return FlowProblem(network, np.array([source]), np.array([sink]), {})


def with_strong_arcs() -> FlowProblem:
    """Return a network of two blocks, whose arcs are strong, with two weak arcs between them."""
    ends = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4)]
    tail, head = zip(*ends, strict=True)
    capacity = [100] * 6 + [1, 2]
    return problem_of(preflow.FlowNetwork.from_arrays(tail, head, capacity), 0, 5)


def behind_arcs() -> FlowProblem:
    """Return a network whose terminals have one arc each, which limits no flow."""
    ends = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]
    tail, head = zip(*ends, strict=True)
    return problem_of(preflow.FlowNetwork.from_arrays(tail, head, [9, 1, 2, 2, 1, 9]), 0, 5)


def a_grid() -> FlowProblem:
    size = (6, 7)
    grid = preflow.GridNetwork.from_arrays(np.ones(size, int), np.ones(size, int)[:, ::-1] * 2, 1)
    given = grid.to_flow_problem()
    return problem_of(given.network, int(given.source), int(given.sink))


APPLIED: dict[str, Callable[[], Applied[Any] | None]] = {
    "as_grid": lambda: as_grid.apply(a_grid(), Deadline(None)),
    "past_arc": lambda: past_arc.apply(behind_arcs(), Deadline(None)),
    "contract": lambda: contract.apply(with_strong_arcs(), Deadline(None)),
    "limit": lambda: limit.apply(with_strong_arcs(), 2),
    "complete": lambda: complete.apply(with_strong_arcs(), np.zeros(8, dtype=np.int64), 3),
}


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_steps_name_no_methods(path: Any) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not NAMES & texts
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if name.endswith(("problem", "policy", "registry"))]


def test_every_step_is_tried_here() -> None:
    modules = {path.stem for path in STEPS if path.parent.name == "steps"} - {"__init__", "step"}
    assert modules == set(APPLIED)


@pytest.mark.parametrize("name", APPLIED)
def test_nothing_is_carried_back_before_it_is_read(name: str) -> None:
    applied = APPLIED[name]()
    assert applied is not None

    class Unread:
        """A second stage that nobody may ask."""

        def __getattr__(self, what: str) -> Any:
            raise AssertionError(f"{what} was read")

    stage = applied.lift_flow(Unread())
    assert all(callable(getattr(stage, method)) for method in PROTOCOL)


def test_a_source_side_is_lifted_by_a_function_of_its_own() -> None:
    class Halves(Applied[FlowProblem]):
        """Each arc becomes two, whose middle belongs to neither of the smallest sides."""

        def lift_cut(self, sink_side: Any) -> Any:
            return np.append(sink_side, sink_side[0])

        def lift_source_side(self, source_side: Any) -> Any:
            return np.append(source_side, source_side[1])

    one_arc = problem_of(preflow.FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    found = KnownFlow(one_arc.network, one_arc.sources, np.array([3]))
    assert LiftedFlow(Halves(), found).source_side().tolist() == [True, False, False]


@pytest.mark.parametrize("stage", STAGES)
def test_there_is_one_protocol_of_second_stages(stage: type) -> None:
    public = {name for name in dir(stage) if name[0] != "_" and callable(getattr(stage, name))}
    assert public >= set(PROTOCOL)
    assert public - {"preflow", "flow", "source_side"} == set()
