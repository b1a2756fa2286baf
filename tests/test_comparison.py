"""compare: several methods on one instance, side by side."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.comparison import Comparison, Measured
from preflow.errors import InfeasibleError, InvalidInputError
from preflow.papers.baselines import serial_generic
from preflow.registry import FUNCTIONS
from preflow.solving import outside
from tests.support.problems import SAMPLES

pytestmark = pytest.mark.fast

ARCS = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
NETWORK = preflow.FlowNetwork.from_arrays(*ARCS)
COSTS = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=4, cost=[1, 5, 2], supply=[6, 0, -6])
EVERY: list[tuple[Any, ...]] = [
    (NETWORK, 0, 3),
    *((name, *SAMPLES[problem.name].arguments) for name, problem in FUNCTIONS.items()),
    (preflow.MaxFlowProblem(NETWORK, 0, 3),),
    (preflow.GridNetwork.from_arrays([[3, 0]], [[0, 2]], 4),),
    (preflow.BipartiteGraph.from_arrays([0, 0, 1], [0, 1, 1]),),
    (preflow.UndirectedGraph.from_arrays([0, 1], [1, 2], [3, 4]),),
    ("matching", [("a", "b"), ("b", "c")]),
    (preflow.PointCosts([[0.0, 1.0]], [[2.0, 1.0]]),),
    (COSTS,),
]


@pytest.mark.parametrize("data", EVERY, ids=lambda data: f"{type(data[0]).__name__}-{data[0]!s:.18}")
def test_every_problem(data: tuple[Any, ...]) -> None:
    # Without compiled kernels, methods on many threads take no grids.
    is_grid = isinstance(data[0], preflow.GridNetwork) or data[0] == "grid_cut"
    serial = [method.name for method in preflow.methods("grid_cut") if method.name.startswith("serial")]
    table = preflow.compare(*data, methods=serial if is_grid else None)
    assert table.agree
    assert len(table) >= 1
    for row in table:
        assert row.status == "optimal"
        assert row.seconds is not None
        assert row.seconds >= 0
    assert table.fastest in [row.method for row in table]
    frame = table.to_pandas()
    assert frame["value"].nunique() == 1
    assert frame["method"].tolist() == [row.method for row in table]
    assert repr(table).splitlines()[0] == f"{table.problem}, {len(table)} methods"
    assert table._repr_html_().count("<tr>") == len(table) + 1


def test_named_methods_with_options() -> None:
    table = preflow.compare(
        NETWORK,
        0,
        3,
        methods=["auto", "F_PRF", "multicore-fifo"],
        repeat=3,
        threads=2,
        options={"F_PRF": {"gap": True}},
        time_limit=60,
    )
    assert [row.method for row in table] == ["auto", "F_PRF", "multicore-fifo"]
    assert {row.value for row in table} == {4}
    assert "global relabels" in repr(table)


def test_methods_that_refuse_are_listed_if_named() -> None:
    graph = preflow.UndirectedGraph.from_arrays([0, 1], [1, 2], [3, 4])
    table = preflow.compare(graph, methods=["serial-weighted-blossom", "serial-blossom"])
    assert [row.status for row in table] == ["optimal", "refused"]
    assert table.rows[1].note
    assert table.rows[1].note in repr(table)
    assert np.isnan(table.to_pandas()["value"][1])
    assert table.agree


def test_wrong_solvers_are_listed() -> None:
    def wrong(net: Any, options: Any, control: Any) -> Any:
        return np.zeros(len(net.excess), dtype=net.head.dtype)

    kept = list(outside.REGISTERED.get("maxflow", []))
    try:
        preflow.register_method("max_flow", "wrong", wrong)
        preflow.register_method("max_flow", "right", serial_generic.solve, options=serial_generic.NoOptions)
        table = preflow.compare(NETWORK, 0, 3, methods=["wrong", "right"], repeat=2)
    finally:
        outside.REGISTERED["maxflow"] = kept
    assert [row.status for row in table] == ["wrong", "optimal"]
    assert "heights that prove nothing" in repr(table)
    assert not table.agree
    assert "do not agree" in repr(table)
    assert "do not agree" in table._repr_html_()
    assert table.fastest == "right"


@given(values=st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=5))
@settings(max_examples=60)
def test_agreement_within_gaps(values: list[tuple[int, int]]) -> None:
    rows = tuple(Measured(str(i), "optimal", v, v, v, gap, 1.0) for i, (v, gap) in enumerate(values))
    least, most = min(values), max(values, key=lambda pair: pair[0])
    least = next(pair for pair in values if pair[0] == least[0])
    assert Comparison("max_flow", rows).agree == (most[0] - least[0] <= least[1] + most[1])


def test_a_table_without_optima() -> None:
    row = Measured("a<b", "time-limit", None, 3, 5, 2, 1.0, {"pushes": 1000})
    table = Comparison("max_flow", (row,))
    assert table.agree
    assert "3 to 5" in repr(table)
    assert "1,000" in repr(table)
    assert "a&lt;b" in table._repr_html_()
    with pytest.raises(InvalidInputError, match="no method found"):
        _ = table.fastest
    assert dataclasses.replace(table, rows=(row._replace(status="wrong"),)).agree is False


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        (("sorting",), {}, "unknown problem"),
        (("max_flow",), {}, "needs the data behind the name"),
        ((ARCS, 0, 3), {}, r"compare\('max_flow', network, source, sink\)"),
        ((NETWORK, 0, 3), {"methods": []}, "methods is empty"),
        ((NETWORK, 0, 3), {"methods": ["nope"]}, "unknown method 'nope'"),
        ((NETWORK, 0, 3), {"repeat": 0}, "repeat must be at least 1"),
        ((NETWORK, 0, 3), {"methods": ["auto"], "options": {"serial-fifo": {}}}, "is not compared"),
        ((NETWORK, 0, 0), {}, "both source and sink"),
        (("linear_assignment", np.ones((2, 2, 2))), {}, "not a batch"),
        (("transport", np.ones((2, 2, 2)), np.ones((2, 2)), np.ones((2, 2))), {}, "not a batch"),
    ],
)
def test_bad_arguments(data: tuple[Any, ...], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.compare(*data, **arguments)


def test_an_instance_without_a_solution_raises() -> None:
    with pytest.raises(InfeasibleError):
        preflow.compare("linear_assignment", [[np.inf, np.inf], [1.0, 2.0]])
