"""What serial solvers of matching keep from phase to phase, seen while their kernels run as plain Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from preflow.bipartite import layered_phases, serial_hopcroft_karp
from preflow.bipartite.match_arrays import empty_matching
from preflow.graph.bipartite import BipartiteGraph
from preflow.papers.baselines import depth_first, serial_pothen_fan
from preflow.solving.options import NoOptions
from preflow.solving.run import Control
from tests.invariants.match_arrays import check_sides
from tests.invariants.serial_hopcroft_karp import check_invariants as check_serial_hopcroft_karp
from tests.invariants.serial_pothen_fan import check_invariants as check_serial_pothen_fan
from tests.support.exploration import Cases, Mutants, Runner, edit, exploration_tests, serve
from tests.support.scheduler import Outcome, Violation

GRAPHS = 8


def random_graph(seed: int) -> BipartiteGraph:
    """Return a small sparse graph: its phases are several from an empty matching."""
    random = np.random.default_rng(seed)
    num_rows, num_columns, num_edges = random.integers((40, 40, 100), (70, 70, 180)).tolist()
    rows, columns = random.integers(0, num_rows, num_edges), random.integers(0, num_columns, num_edges)
    return BipartiteGraph.from_arrays(rows, columns, shape=(num_rows, num_columns))


def each_graph(
    solver: Any, options: Any, module: Any, hook: str, check: Callable[[BipartiteGraph, Any], Any]
) -> Outcome:
    """Solve each graph while ``check(graph, function)`` replaces the function `hook` of the module.

    The outcome has the number of its calls.
    """
    calls = 0
    for seed in range(GRAPHS):
        graph = random_graph(seed)
        matching, checked = empty_matching(graph), check(graph, getattr(module, hook))

        def counted(*arguments: Any, checked: Callable[..., Any] = checked) -> Any:
            nonlocal calls
            calls += 1
            return checked(*arguments)

        with patch.object(module, hook, counted), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # unsigned numbers wrap around
            try:
                assert solver.solve(graph, matching, options, Control()), "stopped"
                check_sides(matching)
            except AssertionError as error:
                raise Violation(f"graph {seed}: {error}", []) from error
    return Outcome(calls, GRAPHS)


def layers() -> Outcome:
    """Check each phase of Hopcroft and Karp's algorithm once it has layers; its paths get longer."""

    def check(graph: BipartiteGraph, augment_all: Any) -> Any:
        lengths = [0]

        def checked(rows: Any, matching: Any, layers: Any, size: Any, length: Any) -> Any:
            check_serial_hopcroft_karp(rows, matching, layers)
            assert length > lengths[-1], "paths did not get longer"
            lengths.append(int(length))
            return augment_all(rows, matching, layers, size, length)

        return checked

    return each_graph(serial_hopcroft_karp, NoOptions(), serial_hopcroft_karp, "augment_all", check)


def searches() -> Outcome:
    """Check Pothen and Fan's algorithm after each search, and so between two phases."""

    def check(graph: BipartiteGraph, augment_from: Any) -> Any:
        def checked(rows: Any, matching: Any, search: Any, *more: Any) -> Any:
            found = augment_from(rows, matching, search, *more)
            check_serial_pothen_fan(rows, matching, search)
            return found

        return checked

    return each_graph(serial_pothen_fan, depth_first.PothenFanOptions(), depth_first, "augment_from", check)


CASES: Cases = {"hopcroft-karp": layers, "pothen-fan": searches}
MUTANTS: Mutants = {
    "hopcroft-karp: a column gets the layer after its own": (
        "hopcroft-karp",
        edit(layered_phases.find_layers, "layer[c] = depth", "layer[c] = depth + ONE"),
        "not in the layer after",
    ),
    "hopcroft-karp: two paths end in one column": (
        "hopcroft-karp",
        edit(layered_phases.augment_layered, "layer[c] = TAKEN", "pass"),
        "the sides disagree",
    ),
    "pothen-fan: a search that met another one closes its columns": (
        "pothen-fan",
        edit(depth_first.augment_from, "elif clean:", "elif True:"),
        "leave the closed columns",
    ),
    "pothen-fan: lookahead skips an edge": (
        "pothen-fan",
        edit(depth_first.augment_from, "e = np.uint64(look[r])", "e = np.uint64(look[r]) + ONE"),
        "lookahead has passed a free column",
    ),
}

_, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


@pytest.mark.parametrize("case", CASES)
def test_invariants_between_phases(runner: Runner, case: str) -> None:
    outcome = runner.ask(case)
    assert outcome["violation"] is None, outcome["violation"]
    assert outcome["states"] >= 2 * outcome["ends"], "too few phases"


if __name__ == "__main__":
    serve(CASES, MUTANTS)
