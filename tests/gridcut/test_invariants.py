"""What the trees of Boykov and Kolmogorov keep while they grow, as their kernels run as plain Python."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from preflow import GridNetwork
from preflow.forests import boykov_kolmogorov as bk
from preflow.graph.integer_grid import integer_grid
from preflow.gridcut.pixel_major import GridState, grid_state
from preflow.solving.run import Control
from tests.invariants.boykov_kolmogorov import check_invariants as check_boykov_kolmogorov
from tests.support.exploration import Cases, Mutants, Runner, edit, exploration_tests, serve
from tests.support.scheduler import Outcome, Violation


def grow(shape: tuple[int, ...]) -> Outcome:
    """Check the trees whenever they meet, and at the end."""
    random = np.random.default_rng(5)
    source, sink = random.integers(0, 30, (2, *shape)) * (random.random((2, *shape)) < 0.1)
    grid = integer_grid(GridNetwork.from_arrays(source, sink, random.integers(0, 9, (len(shape), *shape))))
    state = grid_state(grid)
    trees = bk.make_trees(state)
    augment, paths = bk.augment, [0]

    def augmented(state: GridState, trees: bk.Trees, v: Any, w: Any, *more: Any) -> None:
        check_boykov_kolmogorov(state, trees, [int(v), int(w)])
        augment(state, trees, v, w, *more)
        paths[0] += 1

    try:
        bk.plant(state, trees, Control().monitor())
        check_boykov_kolmogorov(state, trees)
        with np.errstate(over="ignore"), patch.object(bk, "augment", augmented):
            bk.grow(state, trees, Control().monitor())
        check_boykov_kolmogorov(state, trees)
    except AssertionError as error:
        raise Violation(str(error), []) from error
    return Outcome(paths[0], 1)


CASES: Cases = {"image": lambda: grow((12, 11)), "volume": lambda: grow((5, 4, 6))}

MUTANTS: Mutants = {
    "neighbours of a pixel that leaves are not activated": (
        "image",
        edit(bk.adopt, "                        activate(trees, w)\n", "                        pass\n"),
        "a tree can grow from a passive vertex",
    ),
    "children of a pixel that leaves stay": (
        "image",
        edit(bk.adopt, "if np.uint64(vertex[w, PARENT]) == opposite(net, a):", "if False:"),
        "a parent is in the other tree",
    ),
}

_, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


@pytest.mark.parametrize("case", CASES)
def test_invariants_while_trees_grow(runner: Runner, case: str) -> None:
    outcome = runner.ask(case)
    assert outcome["violation"] is None, outcome["violation"]
    assert outcome["states"] > 20, "too few paths"


if __name__ == "__main__":
    serve(CASES, MUTANTS)
