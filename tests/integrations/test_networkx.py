"""preflow as a backend of NetworkX: NetworkX's own functions are the oracle, and its tests run over it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

nx = pytest.importorskip("networkx")

from networkx.algorithms import bipartite  # noqa: E402

import preflow  # noqa: E402
from preflow.errors import CapacityOverflowError, CostOverflowError  # noqa: E402
from preflow.integrations.networkx import answers, backend, connectivity, residual  # noqa: E402
from preflow.integrations.networkx.info import WORTH_IT, get_info  # noqa: E402

AMOUNTS = {
    "integers": st.integers(0, 20),
    "floats": st.floats(0, 20),
    "large": st.integers(0, 2**61),
    "mixed": st.integers(0, 9) | st.floats(0, 9) | st.just(float("inf")),
    "fractions": st.fractions(0, 9, max_denominator=5),
    "odd": st.integers(-3, 5) | st.just(float("nan")),
}
LABELS = ["s", "t", "a", ("b", 1), 2, 3.5]


@st.composite
def flow_graphs(draw: Any) -> Any:
    graph = draw(st.sampled_from([nx.DiGraph, nx.DiGraph, nx.Graph, nx.MultiDiGraph]))()
    graph.add_nodes_from(draw(st.lists(st.sampled_from(LABELS), unique=True)))
    amount = AMOUNTS[draw(st.sampled_from(sorted(AMOUNTS)))]
    for u, v in draw(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), max_size=14)):
        values = {"capacity": draw(amount)} if draw(st.booleans()) or draw(st.booleans()) else {}
        if draw(st.booleans()):
            values["weight"] = draw(st.integers(-5, 9))
        graph.add_edge(u, v, **values)
    return graph


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


def room(data: Any) -> Any:
    """Return a capacity; NetworkX leaves out edges whose capacity is negative or NaN."""
    capacity = data.get("capacity", float("inf"))
    return capacity if capacity > 0 else 0


def check_flow(graph: Any, value: Any, flows: Any) -> None:
    """Check a flow from "s" to "t" within the capacities."""
    balance = dict.fromkeys(graph, 0)
    assert set(flows) == set(graph)
    for u, out in flows.items():
        assert set(out) == set(graph[u])
        for v, amount in out.items():
            assert 0 <= amount <= room(graph[u][v]) * (1 + 1e-12)
            balance[u] -= amount
            balance[v] += amount
    slack = 1e-9 if isinstance(value, float) else 0
    for v, left in balance.items():
        expected = {"s": -value, "t": value}.get(v, 0)
        assert abs(left - expected) <= slack


@given(graph=flow_graphs())
@settings(max_examples=250, deadline=None)
def test_maximum_flow(graph: Any) -> None:
    expected = outcome(lambda: nx.maximum_flow(graph, "s", "t"))
    found = outcome(lambda: backend.maximum_flow(graph, "s", "t"))
    value = outcome(lambda: backend.maximum_flow_value(graph, "s", "t"))
    cut = outcome(lambda: backend.minimum_cut(graph, "s", "t"))
    own = outcome(lambda: nx.maximum_flow(graph, "s", "t", flow_func=residual))
    if isinstance(expected, type):
        assert found is value is cut is own is expected
        return
    for flows in (found, own):
        assert flows[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
        check_flow(graph, *flows)
    assert value == cut[0] == found[0]
    assert type(found[0]) in (type(expected[0]), float, int, Fraction)
    source_side, sink_side = cut[1]
    assert "s" in source_side
    assert "t" in sink_side
    assert source_side | sink_side == set(graph)
    crossing = sum(
        room(data)
        for u, v, data in graph.edges(data=True)
        if (u in source_side and v in sink_side)
        or (not graph.is_directed() and v in source_side and u in sink_side)
    )
    assert crossing == pytest.approx(expected[0], rel=1e-12, abs=1e-12)


@st.composite
def partitioner_graphs(draw: Any) -> Any:
    """Graphs as the partitioner of torch.compile has them: each tensor is an arc that costs its memory."""
    count = draw(st.integers(2, 9))
    names = [f"t{i}" for i in range(count)]
    size = st.integers(0, 30) | st.sampled_from([math.inf, 0.0]) | st.integers(0, 60).map(lambda i: i / 4)
    graph = nx.DiGraph()
    inputs = draw(st.integers(1, count - 1))
    backward = draw(st.sets(st.integers(0, count - 1), min_size=1))
    banned = draw(st.sets(st.integers(0, count - 1), max_size=2))
    for i, name in enumerate(names):
        if i in backward and i >= inputs:
            graph.add_edge(f"{name}_in", "sink", capacity=math.inf)
        elif i in backward:
            graph.add_edge(f"{name}_out", "sink", capacity=math.inf)
        if i < inputs or i in banned:
            graph.add_edge("source", f"{name}_in", capacity=math.inf)
        if i not in backward or i < inputs:
            graph.add_edge(f"{name}_in", f"{name}_out", capacity=draw(size))
            for user in draw(st.sets(st.integers(i, count - 1))) - {i}:
                graph.add_edge(f"{name}_out", f"{names[user]}_in", capacity=math.inf)
    return graph


@given(graph=partitioner_graphs())
@settings(max_examples=250, deadline=None)
def test_minimum_cuts_of_the_partitioner_of_torch_compile(graph: Any) -> None:
    """The value and the partition are NetworkX's own, and every arc of the cut is a tensor to be stored."""
    expected = outcome(lambda: nx.minimum_cut(graph, "source", "sink"))
    found = outcome(lambda: backend.minimum_cut(graph, "source", "sink"))
    if isinstance(expected, type):
        assert found is expected
        return
    assert found == expected
    reachable, non_reachable = found[1]
    cut = [(u, v) for u in reachable for v in graph[u] if v in non_reachable]
    assert all(u.removesuffix("_in") == v.removesuffix("_out") for u, v in cut)
    assert sum(graph[u][v]["capacity"] for u, v in cut) == found[0]


@given(graph=flow_graphs(), cutoff=st.sampled_from([0, 1, 2, 2.5, 7, float("inf"), None]))
@settings(max_examples=60, deadline=None)
def test_cutoff(graph: Any, cutoff: Any) -> None:
    expected = outcome(lambda: nx.maximum_flow_value(graph, "s", "t"))
    if isinstance(expected, type):
        return
    value, flows = nx.maximum_flow(graph, "s", "t", flow_func=residual, cutoff=cutoff)
    check_flow(graph, value, flows)
    whole = isinstance(value, int) and cutoff == 2.5
    least = min(expected, 3 if whole else 1e300 if cutoff is None else cutoff)
    if isinstance(value, Fraction):
        # NetworkX's own flow, which ends after the path that reaches the cutoff.
        assert least <= value <= expected
    else:
        assert value == pytest.approx(least)


@given(graph=flow_graphs(), amount=st.integers(-1, 9))
@settings(max_examples=250, deadline=None)
def test_cheapest_flow(graph: Any, amount: int) -> None:
    if "s" in graph and "t" in graph:
        graph.nodes["s"]["demand"], graph.nodes["t"]["demand"] = -amount, amount
    # With other numbers NetworkX is inexact.
    values = [data.get("capacity", 0) for _, _, data in graph.edges(data=True)]
    assume(all(type(value) is int or value == float("inf") for value in values))
    for name in ("network_simplex", "capacity_scaling"):
        expected = outcome(lambda name=name: getattr(nx, name)(graph))
        found = outcome(lambda name=name: getattr(backend, name)(graph))
        note(f"{name}: {found} {expected} {list(graph.edges(data=True))} {dict(graph.nodes(data=True))}")
        if isinstance(expected, type):
            assert found is expected
            continue
        if name == "capacity_scaling" and found is nx.NetworkXUnfeasible:
            # NetworkX's own one returns flows that do not serve the demands where no edge has capacity.
            assert outcome(lambda: nx.network_simplex(graph)) is nx.NetworkXUnfeasible
            continue
        assert found[0] == expected[0]
        if not graph.is_multigraph():
            assert nx.cost_of_flow(graph, found[1]) == found[0]
        else:
            parallel = [(u, v, k, data) for u, v, k, data in graph.edges(keys=True, data=True)]
            assert sum(found[1][u][v][k] * data.get("weight", 0) for u, v, k, data in parallel) == found[0]
        if name == "network_simplex":
            assert backend.min_cost_flow_cost(graph) == expected[0]
            assert backend.min_cost_flow(graph) == found[1]
    if "demand" in graph.nodes.get("s", {}):
        expected = outcome(lambda: nx.max_flow_min_cost(graph, "s", "t"))
        found = outcome(lambda: backend.max_flow_min_cost(graph, "s", "t"))
        if isinstance(expected, type):
            assert found is expected or expected is nx.NetworkXUnfeasible
        else:
            assert nx.cost_of_flow(graph, found) == nx.cost_of_flow(graph, expected)


@given(
    ends=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20),
    weights=st.sampled_from([st.integers(-9, 9), st.floats(-9, 9), st.none(), st.fractions(-3, 3)]),
    data=st.data(),
)
@settings(max_examples=250, deadline=None)
def test_matching(ends: list[tuple[int, int]], weights: Any, data: Any) -> None:
    graph = nx.Graph()
    for u, v in ends:
        weight = data.draw(weights)
        graph.add_edge(u, v, **({} if weight is None else {"weight": weight}))

    def weight_of(pairs: Any) -> Any:
        return sum(graph[u][v].get("weight", 1) for u, v in pairs)

    for found, expected in (
        (backend.max_weight_matching(graph), nx.max_weight_matching(graph)),
        (backend.max_weight_matching(graph, maxcardinality=True), nx.max_weight_matching(graph, True)),
        (backend.min_weight_matching(graph), nx.min_weight_matching(graph)),
    ):
        assert nx.is_matching(graph, found)
        assert weight_of(found) == pytest.approx(weight_of(expected), abs=1e-9)
    assert len(backend.min_weight_matching(graph)) == len(nx.min_weight_matching(graph))


@given(
    ends=st.lists(st.tuples(st.integers(0, 6), st.integers(7, 13)), max_size=25),
    whole=st.booleans(),
    data=st.data(),
)
@settings(max_examples=200, deadline=None)
def test_bipartite_matching(ends: list[tuple[int, int]], whole: bool, data: Any) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(14))
    graph.add_edges_from((u, v, {"weight": data.draw(st.integers(-9, 9))}) for u, v in ends)
    top = range(7) if whole else None
    for name in ("hopcroft_karp_matching", "eppstein_matching"):
        expected = outcome(lambda name=name: getattr(bipartite, name)(graph, top))
        found = outcome(lambda name=name: getattr(backend, name)(graph, top))
        if isinstance(expected, type):
            assert found is expected
            continue
        assert len(found) == len(expected)
        assert all(found[v] == u and graph.has_edge(u, v) for u, v in found.items())
        cover = backend.to_vertex_cover(graph, found, top)
        assert 2 * len(cover) == len(found)
        assert all(u in cover or v in cover for u, v in graph.edges)
        assert cover == bipartite.to_vertex_cover(graph, found, top)
    expected = outcome(lambda: bipartite.minimum_weight_full_matching(graph, top))
    found = outcome(lambda: backend.minimum_weight_full_matching(graph, top))
    if isinstance(expected, type):
        assert found is expected
    else:
        assert sum(graph[u][v]["weight"] for u, v in found.items()) == sum(
            graph[u][v]["weight"] for u, v in expected.items()
        )


def test_edits_are_never_missed() -> None:
    """NetworkX keeps converted graphs, and does not see edits of attributes."""
    graph = nx.DiGraph([("s", "a", {"capacity": 3}), ("a", "t", {"capacity": 5})])
    kept = backend.convert_from_nx(graph)
    assert backend.maximum_flow_value(kept, "s", "t") == 3
    graph["s"]["a"]["capacity"] = 4
    assert backend.maximum_flow_value(kept, "s", "t") == 4


LANES: dict[Any, Any] = {("s", "a"): 2, ("a", "t"): 3, ("s", "t"): 1, ("a", "a"): 5}


def lanes(u: Any, v: Any, data: Any) -> Any:
    """Return a capacity as NetworkX 3.7 has it: a number, or None to hide the edge; no loop is asked for."""
    assert u != v
    return None if (u, v) == ("s", "t") else data["lanes"] * 9


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph])
def test_capacity_as_a_function(kind: Any) -> None:
    """The result of a function counts like an attribute. NetworkX 3.7, where installed, is the oracle."""
    graph = kind([(u, v, {"lanes": count}) for (u, v), count in LANES.items()])
    stored = kind([(u, v, {"capacity": count * 9}) for (u, v), count in LANES.items()])
    stored["s"]["t"]["capacity"] = 0
    assert backend.maximum_flow(graph, "s", "t", capacity=lanes) == nx.maximum_flow(stored, "s", "t")
    assert backend.maximum_flow_value(graph, "s", "t", capacity=lanes) == 18
    assert backend.minimum_cut(graph, "s", "t", capacity=lanes) == (18, ({"s"}, {"a", "t"}))
    assert backend.minimum_cut_value(graph, "s", "t", capacity=lanes) == 18
    if kind is nx.Graph:
        found = backend.gomory_hu_tree(graph, capacity=lanes)
        assert sorted(weight for _, _, weight in found.edges(data="weight")) == [18, 27]
    network = preflow.FlowNetwork.from_networkx(graph, capacity=lanes)
    assert preflow.max_flow(network, "s", "t").value == 18
    if "string or function" in nx.maximum_flow.__doc__:
        assert nx.maximum_flow_value(graph, "s", "t", capacity=lanes, backend="networkx") == 18
        assert nx.maximum_flow_value(graph, "s", "t", capacity=lanes, flow_func=residual) == 18
    with pytest.raises(KeyError):
        backend.maximum_flow(stored, "s", "t", capacity=lanes)


@pytest.mark.parametrize("value", [-1, Fraction(1, 2), float("nan"), 2**64, "3"])
def test_capacities_of_functions_that_are_not_taken(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 3.7, NetworkX would take a function for the name of an attribute that no edge has."""
    graph = nx.DiGraph([("s", "t")])
    monkeypatch.setattr(answers, "TAKES_FUNCTIONS", False)
    for call in (backend.maximum_flow, backend.minimum_cut_value):
        with pytest.raises(preflow.errors.InvalidInputError, match="takes no function as capacity"):
            call(graph, "s", "t", capacity=lambda u, v, edge: value)
    with pytest.raises(preflow.errors.InvalidInputError, match="does not answer this call"):
        backend.maximum_flow(nx.MultiDiGraph(graph), "s", "t", capacity=lambda u, v, edge: 1)


def test_networkx_answers_where_no_optimum_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no way to say that a number is within bounds only."""
    arcs = [("s", "a", 0.5), ("a", "t", 0.25), ("s", "t", 0.125)]
    digraph, graph = nx.DiGraph(), nx.Graph()
    for kind in (digraph, graph):
        kind.add_weighted_edges_from(arcs)
        nx.set_edge_attributes(kind, {(u, v): w for u, v, w in arcs}, "capacity")
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (nx.maximum_flow, (digraph, "s", "t")),
        (nx.maximum_flow_value, (digraph, "s", "t")),
        (nx.minimum_cut, (digraph, "s", "t")),
        (nx.minimum_cut_value, (digraph, "s", "t")),
        (nx.max_weight_matching, (graph,)),
        (nx.min_weight_matching, (graph,)),
        (bipartite.minimum_weight_full_matching, (nx.path_graph(2),)),
        (nx.stoer_wagner, (graph,)),
    ]
    before = [call(*args) for call, args in calls]
    asked: list[str] = []

    def refuse(result: Any) -> Any:
        asked.append(result.status)
        raise answers.NotTakenError

    monkeypatch.setattr(backend, "optimal", refuse)
    monkeypatch.setattr(connectivity, "optimal", refuse)
    found = [getattr(backend, call.__name__)(*args) for call, args in calls]
    assert found == before
    assert asked == ["optimal"] * len(calls)


@pytest.mark.parametrize("largest", [1.6e308, sys.float_info.max])
def test_sums_past_float64_are_errors(largest: float) -> None:
    """NetworkX adds such floats up to infinity: its answers are wrong, or it never ends."""
    digraph, graph = nx.DiGraph(), nx.Graph()
    for u, v in ("sa", "sb", "at", "bt"):
        digraph.add_edge(u, v, capacity=largest, weight=largest)
        graph.add_edge(u + v, v + u, weight=largest)
    digraph.nodes["s"]["demand"], digraph.nodes["t"]["demand"] = -2, 2
    calls = {
        nx.maximum_flow_value: (digraph, "s", "t"),
        nx.minimum_cut: (digraph, "s", "t"),
        nx.max_flow_min_cost: (digraph, "s", "t"),
        nx.min_cost_flow: (digraph,),
        nx.network_simplex: (digraph,),
        nx.capacity_scaling: (digraph,),
        nx.max_weight_matching: (graph,),
        nx.min_weight_matching: (graph,),
    }
    for call, arguments in calls.items():
        with pytest.raises((CapacityOverflowError, CostOverflowError), match="divide them"):
            call(*arguments, backend="preflow")
    # Integers are added up exactly, whatever other attributes hold.
    nx.set_edge_attributes(graph, 2**70, "weight")
    nx.set_edge_attributes(graph, 0.5, "length")
    assert len(nx.max_weight_matching(graph, backend="preflow")) == 4


def test_a_flow_func_that_is_not_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.DiGraph([("s", "t", {"capacity": 0.5})])

    def rough(*args: Any, **keywords: Any) -> Any:
        return replace(preflow.max_flow(*args, **keywords), status="approximate")

    monkeypatch.setattr("preflow.integrations.networkx.flow_func.max_flow", rough)
    assert residual(graph, "s", "t").graph["algorithm"] == "dinitz"


def test_reasons() -> None:
    graph = nx.path_graph(3, create_using=nx.DiGraph)
    assert "another algorithm" in str(backend.should_run("maximum_flow", (graph, 0, 2), {"flow_func": print}))
    assert "multigraphs" in str(backend.should_run("minimum_cut", (nx.MultiDiGraph(graph), 0, 2), {}))
    assert "fewer than 100 edges" in str(backend.should_run("maximum_flow", (graph, 0, 2), {}))
    assert backend.should_run("maximum_flow", (nx.path_graph(200), 0, 2), {}) is True
    assert set(get_info()["functions"]) == set(WORTH_IT)
    assert all(hasattr(backend, name) for name in WORTH_IT)


def test_results_hold_python_numbers() -> None:
    graph = nx.DiGraph([("s", "t", {"capacity": np.int32(3), "weight": np.float64(2)})])
    value, flows = backend.maximum_flow(graph, "s", "t")
    assert type(value) is int
    assert type(flows["s"]["t"]) is int
    graph["s"]["t"]["capacity"] = 3.0
    value, flows = backend.maximum_flow(graph, "s", "t")
    assert type(value) is float
    assert type(flows["s"]["t"]) is float


def entry_points(folder: Path) -> str:
    """Write the entry points of this checkout as an installed package; return a path to import both."""
    metadata = folder / "preflow_checkout-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: preflow-checkout\nVersion: 0\n")
    module = "preflow.integrations.networkx"
    (metadata / "entry_points.txt").write_text(
        f"[networkx.backends]\npreflow = {module}.backend\n"
        f"[networkx.backend_info]\npreflow = {module}.info:get_info\n"
    )
    source = Path(backend.__file__).parents[3]
    return os.pathsep.join([str(folder), str(source)])


#: What preflow does not answer has NetworkX's answer, or its error.
PASSED_ON = """
from networkx.algorithms import bipartite, flow

arcs = [('s', 'a', {'capacity': 3, 'weight': 1}), ('a', 't', {'capacity': 2, 'weight': 2})]
def outcome(call, **keywords):
    try:
        return call(**keywords)
    except Exception as error:
        return type(error), str(error)
for kind in (nx.MultiGraph, nx.MultiDiGraph):
    graph = kind([*arcs, arcs[0]])
    for call in (
        lambda **k: nx.maximum_flow(graph, 's', 't', **k),
        lambda **k: nx.minimum_cut(graph, 's', 't', **k),
        lambda **k: nx.max_flow_min_cost(graph, 's', 't', **k),
        lambda **k: nx.max_weight_matching(graph, **k),
        lambda **k: nx.min_weight_matching(graph, **k),
        lambda **k: nx.stoer_wagner(graph, **k),
        lambda **k: nx.gomory_hu_tree(graph, **k),
        lambda **k: bipartite.minimum_weight_full_matching(graph, ['a'], **k),
        lambda **k: nx.edge_connectivity(graph, flow_func=flow.dinitz, **k),
        lambda **k: nx.node_connectivity(graph, 's', 't', flow_func=flow.dinitz, **k),
        lambda **k: nx.node_connectivity(graph, 's', **k),
    ):
        assert outcome(call, backend='preflow') == outcome(call), call
simple = nx.DiGraph(arcs)
assert nx.maximum_flow_value(simple, 's', 't', flow_func=flow.dinitz, backend='preflow') == 2
"""


def test_networkx_dispatches(tmp_path: Path) -> None:
    script = (
        "import networkx as nx, sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "loaded = {name for name in sys.modules if name.startswith('preflow.')}\n"
        "loaded -= {'preflow.lazy', 'preflow.eager'}\n"
        "assert all('integrations' in name for name in loaded), loaded\n"
        "graph = nx.DiGraph([('s', 't', {'capacity': 2})])\n"
        "assert nx.maximum_flow(graph, 's', 't', backend='preflow') == (2, {'s': {'t': 2}, 't': {}})\n"
        "with nx.config.backend_priority(algos=['preflow']):\n"
        "    large = nx.path_graph(500)\n"
        "    assert len(nx.max_weight_matching(large)) == 250\n"
        "graph['s']['t']['capacity'] = 4\n"
        "assert nx.maximum_flow_value(graph, 's', 't', backend='preflow') == 4\n"
        "five = lambda u, v, data: 5\n"
        "assert nx.maximum_flow_value(graph, 's', 't', capacity=five, backend='preflow') == 5\n"
        "assert 'preflow.general_matching.api' in sys.modules\n" + PASSED_ON
    )
    environment = os.environ | {"PYTHONPATH": entry_points(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=300)


SUITES = {
    "flow": ["flow"],
    "connectivity": ["connectivity"],
    "matching": ["tests/test_matching.py", "bipartite/tests/test_matching.py"],
}
#: Functions of which preflow answers calls in the tests of a suite.
ANSWERED = {
    "flow": (
        *("maximum_flow", "maximum_flow_value", "minimum_cut", "minimum_cut_value", "gomory_hu_tree"),
        *("network_simplex", "capacity_scaling", "min_cost_flow", "min_cost_flow_cost", "max_flow_min_cost"),
    ),
    "connectivity": (
        *("node_connectivity", "edge_connectivity", "local_node_connectivity", "local_edge_connectivity"),
        *("average_node_connectivity", "all_pairs_node_connectivity", "stoer_wagner"),
        *("minimum_edge_cut", "minimum_node_cut", "minimum_st_edge_cut", "minimum_st_node_cut"),
        *("edge_disjoint_paths", "node_disjoint_paths"),
    ),
    "matching": (
        *("max_weight_matching", "min_weight_matching", "hopcroft_karp_matching", "eppstein_matching"),
        *("to_vertex_cover", "minimum_weight_full_matching"),
    ),
}
#: Tests that take two thirds of the time and hardly reach preflow: they name NetworkX's own algorithms by
#: `flow_func`, or test functions that preflow does not answer. They run, too, where this variable is set.
WITH_ALL = "PREFLOW_ALL_NETWORKX_TESTS"
LEFT_OUT = {
    "flow": (
        "TestCutoff and test_cutoff",
        "test_preflow_push_global_relabel",
        "test_gl1",
        "test_shortest_augmenting_path_two_phase",
    ),
    "connectivity": (
        "test_articulation_points",
        "test_node_cutset_random_graphs",
        "test_davis_southern_women_detail_3_and_4",
        "test_kcutsets",
    ),
}


@pytest.mark.parametrize("suite", SUITES)
def test_networkx_own_tests(suite: str, tmp_path: Path) -> None:
    """NetworkX's tests pass with every call answered by preflow, or by NetworkX where preflow has none.

    Most of them give a `flow_func`, which a plugin takes away: preflow would leave such calls to NetworkX.
    """
    tests = [Path(nx.__file__).parent / "algorithms" / part for part in SUITES[suite]]
    if not all(part.exists() for part in tests):
        pytest.skip("NetworkX is installed without its tests")
    environment = os.environ | {
        "PYTHONPATH": entry_points(tmp_path) + os.pathsep + str(Path(__file__).parents[2]),
        "NETWORKX_TEST_BACKEND": "preflow",
        "NETWORKX_FALLBACK_TO_NX": "True",
    }
    # NetworkX may lie below the root of this project, whose options must not count.
    plugins = ("-p", "no:cacheprovider", "-p", "tests.support.networkx_suite")
    options = ("-q", *plugins, "--tb=short", "--override-ini", "addopts=")
    command = [sys.executable, "-m", "pytest", *options, *map(str, tests)]
    if suite in LEFT_OUT and WITH_ALL not in os.environ:
        command += ["-k", " and ".join(f"not ({name})" for name in LEFT_OUT[suite])]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    answered = json.loads(done.stdout.splitlines()[-1])
    assert not [name for name in ANSWERED[suite] if not answered.get(name)]
