"""Errors say where the fault is, speak of the function that was called, and advise what it takes."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array

import preflow
from preflow import reductions, vision
from preflow.errors import InvalidInputError, PreflowError
from preflow.integrations import lap, scipy_compat
from tests.support.paths import ROOT

NAN, INF = float("nan"), float("inf")
SQUARE = np.ones((3, 3))
SQUARE[1, 2] = NAN
SOLID = np.ones((3, 3))
CUBE = np.ones((3, 3, 3))
CUBE[0, 1, 2] = NAN
DEMAND = networkx.DiGraph()
DEMAND.add_node("a", demand=NAN)
DEMAND.add_edge("a", "b", weight=1)
WEIGHED = networkx.Graph()
WEIGHED.add_edge("a", "b", weight=NAN)
SEEDS = np.arange(9).reshape(3, 3)
TABLE = pandas.DataFrame(SQUARE, index=["x", "y", "z"], columns=["a", "b", "c"])
PAIR = "the cost of row 1 and column 2 is NaN"

#: A call, with the place of the only wrong number in its input, as the message has it.
PLACES: dict[str, tuple[Callable[[], Any], str]] = {
    "assignment": (lambda: preflow.linear_assignment(SQUARE), PAIR),
    "assignment of float32": (lambda: preflow.linear_assignment(SQUARE.astype(np.float32)), PAIR),
    "assignment of columns": (lambda: preflow.linear_assignment(np.asfortranarray(SQUARE)), PAIR),
    "assignment of a matrix": (lambda: preflow.linear_assignment(csr_array(SQUARE)), PAIR),
    "assignment of a table": (lambda: preflow.linear_assignment(TABLE), "row 'y' and column 'c' is NaN"),
    "assignment of a batch": (
        lambda: preflow.linear_assignment(np.stack([SOLID, SQUARE])),
        f"{PAIR.removesuffix(' is NaN')} of matrix (1,) is NaN",
    ),
    "infinitely good": (
        lambda: preflow.linear_assignment(np.where(np.isnan(SQUARE), INF, SQUARE), maximize=True),
        "the cost of row 1 and column 2 is inf: a pair that is not allowed costs -inf",
    ),
    "singles": (lambda: preflow.linear_assignment(SQUARE, unmatched_cost=1), PAIR),
    "unmatched": (lambda: preflow.linear_assignment(SOLID, unmatched_cost=([1, NAN, 1], 1)), "nan at 1"),
    "unmatched alike": (lambda: preflow.linear_assignment(SOLID, unmatched_cost=NAN), "finite: nan"),
    "points": (
        lambda: preflow.PointCosts(SQUARE, SOLID),
        "rows has values that are not finite: nan at (1, 2)",
    ),
    "transport": (lambda: preflow.transport(SQUARE, [1, 1, 1], [1, 1, 1]), PAIR),
    "masses": (
        lambda: preflow.transport(SOLID, [1, 1, 1], [1, NAN, 1]),
        "b[1] is nan: a mass is not finite",
    ),
    "negative mass": (
        lambda: preflow.transport(SOLID, [1, 1, 1], [4, -1, 0]),
        "b[1] is -1: a mass is negative",
    ),
    "masses of a batch": (
        lambda: preflow.transport(np.ones((2, 1, 2)), [[1], [1]], [[1, 0], [NAN, 1]]),
        "b[1, 0] is nan: a mass is not finite",
    ),
    "jobs": (lambda: reductions.assign_jobs(SQUARE), PAIR),
    "limit": (lambda: reductions.assign_jobs(SOLID, limit=[1, NAN, 1]), "limit is NaN at 1"),
    "flow": (lambda: preflow.max_flow(([0, 0], [1, 1], [1, NAN]), 0, 1), "capacity is NaN at 1"),
    "flow of a matrix": (lambda: preflow.max_flow(SQUARE, 0, 2), "capacity is NaN at 5, from 1 to 2"),
    "flow of a sparse matrix": (lambda: preflow.max_flow(csr_array(SQUARE), 0, 2), "NaN at 5, from 1 to 2"),
    "flow by labels": (lambda: preflow.max_flow([("a", "b", NAN)], "a", "b"), "NaN at 0, from 'a' to 'b'"),
    "negative capacity": (
        lambda: preflow.max_flow([("a", "b", 1), ("b", "c", -3)], "a", "c"),
        "capacity is negative: -3 at 1, from 'b' to 'c'",
    ),
    "flow of a dictionary": (lambda: preflow.max_flow({"a": {"b": NAN}}, "a", "b"), "from 'a' to 'b'"),
    "flow of text": (
        lambda: preflow.max_flow([("a", "b", "many")], "a", "b"),
        "capacity is not a number: 'many' at 0, from 'a' to 'b'",
    ),
    "batch of flows": (
        lambda: preflow.max_flow_batch([([0], [1], [1]), ([0], [1], [NAN])], 0, 1),
        "item 1: capacity is NaN at 0",
    ),
    "cost": (
        lambda: preflow.min_cost_flow([("a", "b", 1, NAN)], {"a": 0}),
        "cost is NaN at 0, from 'a' to 'b'",
    ),
    "infinite cost": (
        lambda: preflow.min_cost_flow([("a", "b", 1, INF)], {"a": 0}),
        "cost has values that are not finite: inf at 0, from 'a' to 'b'",
    ),
    "bounds": (
        lambda: preflow.min_cost_flow([("a", "b", 5, 1, 3), ("b", "c", 5, 1, 7)], {"a": 0}),
        "the lower bound 7 is above the capacity 5 at 1, from 'b' to 'c'",
    ),
    "supply": (lambda: preflow.min_cost_flow(([0], [1], [1], [1]), [0, NAN]), "supply is NaN at 1"),
    "supply by label": (
        lambda: preflow.min_cost_flow([("a", "b", 1, 1)], {"b": NAN}),
        "supply of 'b' is nan",
    ),
    "demand": (lambda: preflow.min_cost_flow(DEMAND), "demand is NaN at 0, of 'a'"),
    "shortest path": (
        lambda: reductions.shortest_path(preflow.CostNetwork.from_arrays([0], [1], cost=[NAN]), 0, 1),
        "cost is NaN at 0",
    ),
    "matching": (lambda: preflow.matching([("a", "b", NAN)]), "weight is NaN at 0, from 'a' to 'b'"),
    "matching of NetworkX": (lambda: preflow.matching(WEIGHED), "weight is NaN at 0, from 'a' to 'b'"),
    "cut": (lambda: preflow.global_min_cut([("a", "b", INF)]), "finite: inf at 0, from 'a' to 'b'"),
    "pattern": (lambda: preflow.bipartite_matching(SQUARE), "NaN, which is an edge or none, at (1, 2)"),
    "slope": (lambda: preflow.parametric_max_flow(([0], [1], [1]), [INF], 0, 1), "finite: inf at 0"),
    "grid": (lambda: preflow.grid_cut(SQUARE, SOLID, 1), "source_capacity is NaN at (1, 2)"),
    "volume": (lambda: preflow.grid_cut(np.ones((3, 3, 3)), CUBE, 1), "sink_capacity is NaN at (0, 1, 2)"),
    "grids": (
        lambda: preflow.grid_cut_batch(np.stack([SOLID, SQUARE]), np.ones((2, 3, 3)), 1),
        "source_capacity is NaN at (1, 1, 2)",
    ),
    "image": (
        lambda: vision.segment(SQUARE, SEEDS == 0, SEEDS == 8),
        "image has values that are not finite: nan at (1, 2)",
    ),
    "volume to segment": (
        lambda: vision.segment(CUBE, np.arange(27).reshape(3, 3, 3) > 20, np.isnan(CUBE)),
        "image has values that are not finite: nan at (0, 1, 2)",
    ),
    "labels": (lambda: vision.segment_labels(SQUARE, SEEDS % 3), "nan at (1, 2)"),
    "noise": (lambda: vision.denoise(SQUARE, 0.1), "nan at (1, 2)"),
    "expansion": (
        lambda: vision.alpha_expansion(np.stack([SOLID, SQUARE]), vision.potts(2)),
        "nan at (1, 1, 2)",
    ),
    "energy": (
        lambda: vision.BinaryEnergy([[0, NAN]], [], []),
        "unary has values that are not finite: nan at (0, 1)",
    ),
    "phase": (
        lambda: vision.unwrap_phase(np.full((2, 2), np.inf)),
        "phase has values that are not finite: inf at (0, 0)",
    ),
    "weights of a phase": (lambda: vision.unwrap_phase(SOLID, weights=SQUARE), "weights has values"),
    "stereo": (
        lambda: vision.match_stereo(SOLID, SQUARE, 1),
        "right has values that are not finite: nan at (1, 2)",
    ),
    "projects": (lambda: reductions.select_projects([1, NAN], [(0, 1)]), "profit is NaN at 1"),
    "rounding": (
        lambda: reductions.round_matrix(SQUARE),
        "matrix has values that are not finite: nan at (1, 2)",
    ),
    "lap": (lambda: lap.lapjv(SQUARE), PAIR),
    "lap with a limit": (lambda: lap.lapjv(SQUARE, cost_limit=3), PAIR),
    "lap of a sparse matrix": (
        lambda: lap.lapmod(2, [1, NAN], [0, 1, 2], [0, 1]),
        "row 1 and column 1 is NaN",
    ),
    "SciPy": (lambda: scipy_compat.linear_sum_assignment(SQUARE), PAIR),
    "SciPy, sparse": (lambda: scipy_compat.min_weight_full_bipartite_matching(csr_array(SQUARE)), PAIR),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_wrong_number_is_found(name: str) -> None:
    call, place = PLACES[name]
    with pytest.raises(InvalidInputError, match=re.escape(place)):
        call()


DIRECTED = networkx.DiGraph([(1, 2), (2, 1)])
NO_PAIRS = [[1, INF], [2, INF]]
TWO = [("a", "b", 1, 1)]
#: Functions with arguments that they refuse, one after the other.
REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (preflow.linear_assignment, (NO_PAIRS,), {}),
    (preflow.linear_assignment, ([NO_PAIRS, NO_PAIRS],), {}),
    (scipy_compat.linear_sum_assignment, (NO_PAIRS,), {}),
    (scipy_compat.min_weight_full_bipartite_matching, (csr_array([[1, 0], [2, 0]]),), {}),
    (lap.lapjv, (NO_PAIRS,), {}),
    (lap.lapjvx, (NO_PAIRS,), {}),
    (lap.lapjvxa, (NO_PAIRS,), {}),
    (lap.lapmod, (2, [1, 2], [0, 1, 2], [0, 0]), {}),
    (reductions.assign_jobs, (NO_PAIRS,), {}),
    (reductions.assign_jobs, (np.ones((8, 21)),), {"limit": 2}),
    (preflow.matching, ([0], [1]), {"perfect": True}),
    (preflow.matching, (([0, 1], [1, 2], [1, 1]),), {"perfect": True}),
    (preflow.transport, ([[1, INF], [2, INF]], [1, 1], [1, 1]), {}),
    (preflow.transport, ([[1, 2]], [3], [1, 1]), {}),
    (preflow.min_cost_flow, (TWO, {"a": 2, "b": -2}), {}),
    (preflow.min_cost_flow, (TWO, {"a": 2, "b": -1}), {}),
    (preflow.min_cost_flow, ([("a", "b", INF, -1), ("b", "a", INF, 0)],), {}),
    (reductions.feasible_flow, (TWO, {"a": 2, "b": -2}), {}),
    (reductions.shortest_path, (TWO, "b", "a"), {}),
    (reductions.disjoint_paths, (TWO, "a", "b"), {"count": 2}),
    (preflow.max_flow, ([("a", "b", INF)], "a", "b"), {}),
    (preflow.max_flow, ([("a", "b", 1)], "a", "c"), {}),
    (preflow.register_method, ("max_flow", "fifo", 3), {}),
    *((each, (DIRECTED,), {}) for each in (preflow.global_min_cut, preflow.gomory_hu_tree, preflow.matching)),
    (reductions.t_join, (DIRECTED, [1, 2]), {}),
    *(
        (solve, (0.5,), {})
        for solve in (
            preflow.grid_cut,
            preflow.bipartite_matching,
            preflow.global_min_cut,
            vision.unwrap_phase,
        )
    ),
]


def keywords_of(function: Callable[..., Any]) -> set[str]:
    """Return the names of arguments that a function takes."""
    parameters = inspect.signature(function).parameters
    every = set(parameters)
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        every |= {"method", "device", "threads", "time_limit", "warm_start", "progress", "options"}
    return every


@pytest.mark.parametrize(
    ("function", "arguments", "named"),
    REFUSED,
    ids=[f"{function.__name__}-{number}" for number, (function, *_) in enumerate(REFUSED)],
)
def test_advice_is_of_the_function(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises((PreflowError, TypeError)) as caught:
        function(*arguments, **named)
    if not isinstance(caught.value, PreflowError):
        return
    text, taken = str(caught.value), keywords_of(function)
    assert {each.argument for each in caught.value.advice} <= taken
    for each in caught.value.advice:
        assert text.count(f"{each.argument}=") == 1, "said once"
    outside = re.sub(r"[\w.]+\([^)]*\)", "", text)  # but for calls of other functions
    assert set(re.findall(r"\b([a-z_]+)=", outside)) <= taken, text
    others = {"matching", "max_flow", "min_cost_flow", "linear_assignment", "transport", "global_min_cut"}
    assert not re.search(rf"\b({'|'.join(others - {function.__name__})}) takes", text), text


def test_bounds_are_counted() -> None:
    table = [("a", "b", 5, 1, 3), ("b", "c", 2, 1, 0)]
    with pytest.raises(
        preflow.errors.InfeasibleFlowError, match=r"vertex b supplies 1 more .*; this counts the 3 that lower"
    ) as caught:
        preflow.min_cost_flow(table, {"a": 2, "c": -2})
    assert caught.value.brought == 3
    with pytest.raises(preflow.errors.InfeasibleFlowError, match="counts the 3 that lower bounds bring in"):
        reductions.feasible_flow(table, {"a": 2, "c": -2})
    with pytest.raises(preflow.errors.InfeasibleFlowError, match=r"can carry: a, b(;|$)"):
        preflow.min_cost_flow([("a", "b", 5, 1), ("b", "c", 2, 1)], {"a": 3, "c": -3})


@pytest.mark.parametrize(
    ("method", "near"),
    [
        ("dinic", "serial-dinic"),
        ("Dinic", "serial-dinic"),
        ("serial_dinic", "serial-dinic"),
        ("HI-PR", "HI_PR"),
        ("hipr", "HI_PR"),
        ("boykov-kolmogorov", "serial-boykov-kolmogorov"),
        ("Boykov_Kolmogorov", "serial-boykov-kolmogorov"),
        ("boykov", "serial-boykov-kolmogorov"),
        ("bk", "BK"),
        ("ibfs", "IBFS"),
    ],
)
def test_near_methods(method: str, near: str) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"unknown method .*did you mean .*{near}.*\? There are: auto"
    ):
        preflow.max_flow(([0], [1], [1]), 0, 1, method=method)


def test_near_options() -> None:
    with pytest.raises(InvalidInputError, match=r"no option 'hodl', did you mean 'hold'\? It has: gap, "):
        preflow.max_flow(([0], [1], [1]), 0, 1, method="serial-fifo", options={"hodl": True})


def test_missing_packages_are_extras_and_said_in_one_form() -> None:
    """Where preflow is installed, pip takes its extras by name: pip install 'preflow[torch]'."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for path in sorted((ROOT / "src" / "preflow").rglob("*.py")):
        source = path.read_text("utf-8")
        assert path.name == "errors.py" or "pip install '" not in source
        named = re.findall(r"""(?:needed_for|MissingDependencyError)\([^()]*, "(\w+)"\)""", source)
        named += re.findall(r"""install\(["'](\w+)["']\)""", source)
        assert extras.keys() >= set(named)


ARCS = (np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3, 2, 1]))
ROWS = [[0, 1, 2], [1, 2, 3]]
#: Calls with input of a form that cannot be read, and what the error says of it.
FORMS: dict[str, tuple[Callable[[], Any], str]] = {
    "edges as lists": (lambda: preflow.matching(ROWS), "[tuple(edge) for edge in edges]"),
    "edges as lists, with costs": (lambda: preflow.min_cost_flow(ROWS), "[tuple(edge) for edge in edges]"),
    "edges as lists, of a network": (lambda: preflow.max_flow(ROWS, 0, 1), "[tuple(edge) for edge in edges]"),
    "edges as rows": (lambda: preflow.matching(np.array(ROWS)), "tuple(edges.T)"),
    "edges as rows, of a batch": (lambda: preflow.matching_batch([np.array(ROWS)]), "tuple(edges.T)"),
    "numbers of vertices as floats": (
        lambda: preflow.max_flow((ARCS[0] * 1.0, *ARCS[1:]), 0, 2),
        "tail.astype(int)",
    ),
    "slopes by pair": (
        lambda: preflow.parametric_max_flow(ARCS, {(0, 1): 2}, 0, 2),
        "slope is a dict: give a list of numbers, in the order",
    ),
    "slopes in a generator": (
        lambda: preflow.parametric_max_flow(ARCS, iter([2, 0, 0]), 0, 2),
        "slope is a list_iterator: list(slope)",
    ),
    "constants by pair": (
        lambda: preflow.parametric_max_flow(ARCS, [2, 0, 0], 0, 2, constant={0: 1}),
        "constant is a dict",
    ),
    "capacities as a set": (lambda: preflow.max_flow((*ARCS[:2], {1, 2, 3}), 0, 2), "capacity is a set"),
    "a list for from_dict": (
        lambda: preflow.FlowNetwork.from_dict(ROWS),  # type: ignore[arg-type]
        "from_dict takes {tail: {head: number}}, not list; from_edges takes tuples",
    ),
    "one network of a batch": (
        lambda: preflow.max_flow_batch(preflow.FlowNetwork.from_arrays(*ARCS), 0, 2),  # type: ignore[arg-type]
        "such as [network]",
    ),
    "no networks": (
        lambda: preflow.FlowNetworkBatch.from_networks(None),  # type: ignore[arg-type]
        "networks must be a list, got NoneType",
    ),
    "one odd vertex": (
        lambda: reductions.t_join(ARCS, 3),  # type: ignore[arg-type]
        "odd must be a list, got int: 3",
    ),
    "ends that are no pair": (
        lambda: preflow.max_flow(TABLE, "x", "y", ends=3),  # type: ignore[arg-type]
        "ends are two names of columns, got 3",
    ),
    "an array as the name of an attribute": (
        lambda: preflow.max_flow(WEIGHED, "a", "b", capacity=np.ones(3)),  # type: ignore[arg-type]
        "numbers of edges are beside their ends",
    ),
    "a ragged section": (lambda: reductions.ultimate_pit([[[1, 2], [3]]]), "values is not an array"),
    "ragged profits": (
        lambda: reductions.select_projects([[1], [2, 3]], [(0, 1)]),
        "profit is not an array",
    ),
    "three arrays of requirements": (
        lambda: reductions.select_projects([1, -1], ([0], [1], [2])),  # type: ignore[arg-type]
        "requires must be (project, required), got 3 entries",
    ),
    "ragged distances": (
        lambda: vision.LabelEnergy.from_arrays(np.zeros((2, 3, 3)), [[0, 1], [1]]),
        "distance is not an array",
    ),
    "a number of paths past int64": (
        lambda: reductions.disjoint_paths((*ARCS, ARCS[2]), 0, 2, count=2**70),
        "count must be at most",
    ),
}


@pytest.mark.parametrize(("call", "advice"), FORMS.values(), ids=FORMS)
def test_input_of_another_form_is_an_error_that_names_the_way_out(
    call: Callable[[], Any], advice: str
) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(advice)):
        call()
