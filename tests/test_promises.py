"""The page "What an answer promises" says what results do."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pytest

import preflow
from preflow import reductions, vision
from preflow.errors import NotOptimalError, PreflowError
from preflow.solving.call import Call
from preflow.solving.result import Status
from tests.support.paths import ROOT
from tests.test_pickling import samples

PAGE = ROOT.joinpath("docs", "promises.md").read_text("utf-8")
F = sys.float_info.max


def table(section: str) -> list[list[str]]:
    """Return the rows of the table of a section, without its head."""
    text = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


RESULTS = {row[0].strip("`"): row for row in table("All results")}


def proved() -> dict[str, Callable[[], Any]]:
    """Return what makes an instance of each public class that has a proof."""
    pixels = np.arange(12).reshape(3, 4) % 5
    found = {
        **samples(),
        "RegionCutResult": lambda: preflow.distributed.grid_cut(pixels, pixels[::-1], 1, regions=2),
        "RegionMinCutResult": lambda: preflow.distributed.min_cut(
            ([0, 1], [1, 2], [3, 2]), 0, 2, partition=[0, 0, 1]
        ),
    }
    modules = preflow, reductions, vision, preflow.distributed
    return {
        name: make
        for name, make in found.items()
        if any(hasattr(getattr(module, name, None), "verify") for module in modules)
    }


def test_statuses_are_all_there_are() -> None:
    named = re.findall(r'`"([\w-]+)"`', "".join(row[0] for row in table("Status")))
    assert sorted(named) == sorted(get_args(Status))


def test_every_class_with_a_proof_is_in_the_table() -> None:
    assert sorted(RESULTS) == sorted(proved())


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_result(name: str) -> None:
    _, has, proof = RESULTS[name]
    result = proved()[name]()
    assert [each for each in ("status", "gap") if hasattr(result, each)] == re.findall(r"\w+", has)
    if "status" in has:
        assert result.status == "optimal"
    solved: list[str] = []
    run = Call.run

    def count(self: Any, *arguments: Any) -> Any:
        solved.append(self.method.name)
        return run(self, *arguments)

    with patch.object(Call, "run", count):
        result.verify()
    # The flows of connectivity are no calls of a public function.
    assert bool(solved) <= ("solves" in proof)


def test_what_is_not_proved_has_bounds_and_no_value() -> None:
    ends = np.random.default_rng(0).integers(0, 500, (2, 3000))
    result = preflow.matching((*ends, np.ones(3000)), method="locally-dominant")
    assert result.status == "approximate"
    assert result.lower_bound <= result.upper_bound
    with pytest.raises(NotOptimalError):
        _ = result.value


#: A call with floats of which one is of no use, the value, and the sum of the sizes of its terms.
FLOATS: dict[str, tuple[Callable[[float], Any], float]] = {
    "max_flow": (lambda m: preflow.max_flow(([0, 1, 1], [1, 2, 2], [m, 0.3, 0.4]), 0, 2), 0.7),
    "min_cut": (lambda m: preflow.min_cut(([0, 1, 1], [1, 2, 2], [m, 0.3, 0.4]), 0, 2), 0.7),
    "grid_cut": (lambda m: preflow.grid_cut([[m, 0.0]], [[0.0, m]], 0.3), 0.3),
    "linear_assignment": (lambda m: preflow.linear_assignment([[0.1, m], [m, 0.2]]), 0.3),
    "unmatched_cost": (lambda m: preflow.linear_assignment([[0.1, 0.9], [0.9, 0.2]], unmatched_cost=m), 0.3),
    "min_cost_flow": (
        lambda m: preflow.min_cost_flow(([0, 1, 0], [1, 2, 2], [5, 5, 5], [0.1, 0.2, m]), [1, 0, -1]),
        0.3,
    ),
    "transport": (lambda m: preflow.transport([[0.1, m], [m, 0.2]], [1, 1], [1, 1]), 0.3),
    "matching": (
        lambda m: preflow.matching([(0, 1, 0.1), (2, 3, 0.2), (0, 2, m)], maximize=False, perfect=True),
        0.3,
    ),
    "global_min_cut": (lambda m: preflow.global_min_cut([(0, 1, 0.3), (1, 2, m)]), 0.3),
    "directed_min_cut": (lambda m: preflow.directed_min_cut(([0, 1, 1], [1, 0, 1], [0.3, m, m])), 0.3),
    "parametric_max_flow": (
        lambda m: preflow.parametric_max_flow(([0, 1, 2], [1, 2, 3], [0.1, m, 0.3]), [1, 0, 0], 0, 3, high=9),
        math.nan,
    ),
}


@pytest.mark.parametrize("size", [1.0, 1e13, 1e32, 1e300, F])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_within_the_gap(name: str, size: float) -> None:
    solve, right = FLOATS[name]
    result = solve(size)
    result.verify()
    if name == "parametric_max_flow":
        result_value, right, gap = result.value(0.1), 0.2, result.gap
    else:
        assert result.status == "optimal"
        result_value, gap = result.value, result.gap
    assert gap <= 2.0**-40 * right * 1.01
    assert abs(result_value - right) <= gap + 1e-16


#: An arc of infinite capacity carries what two vertices send.
ENDLESS = [0, 1, 2, 3], [2, 2, 3, 4], [math.inf] * 4, [1, 1, 1, 1]
#: For each limit of integers a call that is at the limit, and one past it.
LIMITS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "a minimum cut below": (
        lambda: preflow.max_flow(([0, 1], [1, 2], [2**63 - 1, 2**63 - 1]), 0, 2),
        lambda: preflow.max_flow(([0, 0], [1, 1], [2**63 - 1, 2]), 0, 1),
    ),
    "weights below": (
        lambda: preflow.matching([(0, 1, 2**60 - 1)]),
        lambda: preflow.matching([(0, 1, 2**60)]),
    ),
    "costs of a row": (
        lambda: preflow.linear_assignment(np.array([[0, 2**60], [2**60, 0]])),
        lambda: preflow.linear_assignment(np.array([[0, 2**60 + 1], [2**60 + 1, 0]])),
    ),
    "the flow of each arc": (
        lambda: preflow.min_cost_flow(ENDLESS, [2**62, 2**62 - 1, 0, 1 - 2**63, 0]),
        lambda: preflow.min_cost_flow(ENDLESS, [2**62, 2**62, 0, 1 - 2**63, -1]),
    ),
    "the largest cost": (
        lambda: preflow.min_cost_flow(([0, 1], [1, 2], [3, 3], [(2**61 - 1) // 4] * 2), [1, 0, -1]),
        lambda: preflow.min_cost_flow(([0, 1], [1, 2], [3, 3], [2**61 // 4] * 2), [1, 0, -1]),
    ),
    "masses sum": (
        lambda: preflow.transport([[1, 2]], [2**62 - 1], [2**61, 2**61 - 1]),
        lambda: preflow.transport([[1, 2]], [2**62], [2**61, 2**61]),
    ),
    "capacities at a vertex": (
        lambda: preflow.directed_min_cut(([0, 1], [1, 0], [2**60, 2**60 - 1])),
        lambda: preflow.directed_min_cut(([0, 1], [1, 0], [2**62, 2**62])),
    ),
    "differences of costs": (
        lambda: preflow.vision.layered_surfaces([[[0, 2**56], [0, 2**56 - 16]]]),
        lambda: preflow.vision.layered_surfaces([[[0, 2**56], [0, 2**56]]]),
    ),
    "weights, each cut off": (
        lambda: preflow.global_min_cut([(0, 1, 2**60), (1, 2, 2**60 - 1)]),
        lambda: preflow.gomory_hu_tree([(0, 1, 2**62), (1, 2, 2**62), (2, 0, 2**62)]),
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limit(limit: str) -> None:
    assert sum(limit in row[1] for row in table("Limits")) == 1
    at, past = LIMITS[limit]
    at().verify()
    with pytest.raises(PreflowError, match=r"large|past|sum|more|below|at most"):
        past()


def test_every_limit_has_a_call() -> None:
    rows = [row[1] for row in table("Limits") if row[1] not in ("none", "no numbers")]
    assert all(any(limit in row for limit in LIMITS) for row in rows)
