"""Every public class and every error can be pickled and copied, and results still prove themselves."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import preflow
import preflow.errors
import preflow.generators
import preflow.io.bipartite
import preflow.io.costs
import preflow.io.solution
import preflow.progress
import preflow.reductions
import preflow.solving.method
import preflow.stats
import preflow.vision
from preflow import errors, reductions, vision
from preflow.solving.result import BoundedResult
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.problems import small_calls

#: Public classes of modules without ``__all__``.
MORE: dict[ModuleType, tuple[str, ...]] = {
    preflow.generators: ("Family", "Parameter"),
    preflow.io.bipartite: ("GraphFile",),
    preflow.io.costs: ("CostFile",),
    preflow.io.solution: ("FlowSolution",),
    preflow.progress: ("ProgressReport",),
    preflow.solving.method: ("Method",),
    preflow.stats: ("AssignmentStats", "MatchingStats", "MinCostStats", "SolveStats"),
}

#: A widget belongs to the notebook that shows it.
LIVE = {"Paint"}

TRIPS: dict[str, Callable[[Any], Any]] = {
    **{
        f"pickle-{protocol}": lambda thing, protocol=protocol: pickle.loads(pickle.dumps(thing, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}

NETWORK = preflow.FlowNetwork.from_arrays([0, 0, 1, 2, 1], [1, 2, 3, 3, 4], [3.5, 2, 2, 4, 1])
COST_NETWORK = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=[2, 4, 2], cost=[1, 5, 2])
GRID = preflow.GridNetwork.from_arrays([[5, 0, 0], [2, 0, 1]], [[0, 0, 5], [0, 3, 0]], 2)
IMAGE = np.array([[0.0, 1, 1], [0, 0, 1]])


def labelled_network() -> preflow.FlowNetwork:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", capacity=4)
    return preflow.FlowNetwork.from_networkx(graph)


def painting() -> preflow.vision.Painting:
    painted = vision.Painting(np.eye(8))
    painted.stroke([(2, 2)], 1, brush=1)
    painted.stroke([(5, 2)], 2, brush=1)
    painted.solve()
    return painted


def solved() -> dict[str, Callable[[], Any]]:
    """Return samples of the results of all problems, and of their statistics."""
    found = {}
    for call in small_calls().values():
        result = call()
        found |= {type(each).__name__: lambda each=each: each for each in (result, result.stats)}
    return found


def samples() -> dict[str, Callable[[], Any]]:
    """Return, by the name of a class, a function that makes an instance."""
    labels = preflow.vision.LabelEnergy.from_arrays(np.arange(12).reshape(3, 2, 2), vision.potts(3), 1)
    graph = preflow.BipartiteGraph.from_arrays([0, 0, 1], [0, 1, 1])
    graph_of_edges = preflow.UndirectedGraph.from_edges([("a", "b", 3), ("b", "c", 4), ("a", "c", 2)])
    return {
        **solved(),
        "AssignmentAsMinCostFlow": lambda: reductions.AssignmentAsMinCostFlow.of([[1, 2], [4, 4]]),
        "AssignmentAsTransport": lambda: reductions.AssignmentAsTransport.of([[1, 2], [4, 4]]),
        "MinimumCuts": lambda: preflow.minimum_cuts(([0, 1], [1, 2], [1, 1]), 0, 2),
        "AssignmentWithSinglesResult": lambda: preflow.linear_assignment([[1, 2], [4, 4]], unmatched_cost=1),
        "PartialCostFlowResult": lambda: preflow.min_cost_flow(COST_NETWORK, [5, 0, -3], partial=True),
        "PartialTransportResult": lambda: preflow.transport([[4, 1]], [3], [1, 1], partial=True),
        "BMatching": lambda: reductions.b_matching(graph),
        "BinaryEnergy": lambda: vision.BinaryEnergy([[0, 1], [2, 0]], [[0, 1]], [[0, 1], [1, 0]]),
        "BipartiteGraph": lambda: graph,
        "CheapPaths": lambda: reductions.shortest_path(COST_NETWORK, 0, 2),
        "CirculationAsMaxFlow": lambda: reductions.CirculationAsMaxFlow.of(COST_NETWORK, [3, 0, -3]),
        "Comparison": lambda: preflow.compare(NETWORK, 0, 3, methods=["serial-fifo"]),
        "CostNetwork": lambda: COST_NETWORK,
        "CostFile": lambda: preflow.io.costs.CostFile(np.eye(2), np.arange(2), np.arange(2)),
        "Denoised": lambda: vision.denoise(IMAGE, 0.1, levels=4),
        "DiagonalScaling": lambda: preflow.scale_to_diagonal([[0.5, 3.0], [2.0, 1.0]]),
        "DulmageMendelsohn": lambda: preflow.dulmage_mendelsohn(sp.csr_array(np.eye(2))),
        "EdgeConnectivity": lambda: preflow.edge_connectivity(graph_of_edges),
        "EdgeCover": lambda: reductions.minimum_weight_edge_cover(([0], [1], [3])),
        "GraphLabelEnergy": lambda: vision.GraphLabelEnergy([[0, 3], [2, 0]], [0], [1], vision.potts(2)),
        "GraphLabelling": lambda: vision.label_graph(samples()["GraphLabelEnergy"]()),
        "EnergyMinimum": lambda: vision.minimize_energy(samples()["BinaryEnergy"]()),
        "PartialLabelling": lambda: vision.minimize_energy(samples()["BinaryEnergy"](), partial=True),
        "Family": lambda: preflow.generators.FAMILIES["rmf-wide"],
        "FeasibleFlow": lambda: reductions.feasible_flow(COST_NETWORK, [3, 0, -3]),
        "FlowAndCut": lambda: reductions.MaxFlowAsCirculation.of(NETWORK, 0, 3).solve(),
        "FlowNetwork": labelled_network,
        "FlowNetworkBatch": lambda: preflow.FlowNetworkBatch.from_networks([labelled_network(), NETWORK]),
        "FlowSolution": lambda: preflow.io.solution.FlowSolution(4, *np.zeros((3, 2), dtype=np.int64)),
        "GrabCut": lambda: vision.grabcut(np.eye(8), vision.box((8, 8), (2, 2), (6, 6))),
        "GeneralBMatching": lambda: reductions.general_b_matching(([0, 0], [1, 2]), 2),
        "GraphFile": lambda: preflow.io.bipartite.GraphFile(graph, 1),
        "GlobalMinCut": lambda: preflow.global_min_cut(graph_of_edges),
        "RankedAssignments": lambda: preflow.linear_assignment([[1, 2], [4, 4]]).k_best(2),
        "DirectedMinCut": lambda: preflow.directed_min_cut(NETWORK),
        "PairFlows": lambda: preflow.pair_flows(NETWORK, [(0, 3)]),
        "GomoryHuTree": lambda: preflow.gomory_hu_tree(graph_of_edges),
        "GridCutBatchResult": lambda: preflow.grid_cut_batch(IMAGE[None] * 2, 1 - IMAGE[None], 1),
        "GridNetwork": lambda: GRID,
        "BottleneckAssignment": lambda: reductions.bottleneck_assignment([[1, 2], [4, 4]]),
        "GraphFit": lambda: reductions.isotonic_regression(([0, 1], [1, 2]), [3, 1, 2]),
        "JobAssignment": lambda: reductions.assign_jobs([[1, 2], [4, 4]], limit=2),
        "JobsAsMinCostFlow": lambda: reductions.JobsAsMinCostFlow.of([[1, 2], [4, 4]]),
        "LabelEnergy": lambda: labels,
        "LabelSegmentation": lambda: vision.segment_labels(np.eye(4), np.diag([1, 0, 2, 3])),
        "Labelling": lambda: vision.alpha_expansion(np.arange(12).reshape(3, 2, 2), vision.potts(3), 1),
        "LowerBoundsRemoved": lambda: reductions.LowerBoundsRemoved.of(COST_NETWORK),
        "MatchingAsMaxFlow": lambda: reductions.MatchingAsMaxFlow.of(graph),
        "MaxFlow": lambda: preflow.MaxFlow(NETWORK, 0, 3),
        "MaxFlowAsCirculation": lambda: reductions.MaxFlowAsCirculation.of(NETWORK, 0, 3),
        "MatchingBatchResult": lambda: preflow.matching_batch(np.ones((2, 3, 3))),
        "MaxFlowBatchResult": lambda: preflow.max_flow_batch([NETWORK, NETWORK], 0, [3, 4]),
        "MaxFlowMinCostResult": lambda: preflow.max_flow_min_cost(COST_NETWORK, 0, 2),
        "MaxFlowProblem": lambda: preflow.MaxFlowProblem(NETWORK, 0, (3, 4)),
        "Method": lambda: preflow.methods("max_flow")[0],
        "MinCostFlow": lambda: preflow.MinCostFlow(COST_NETWORK),
        "OpticalFlow": lambda: vision.find_optical_flow(IMAGE, IMAGE, max_displacement=1),
        "ParametricMaxFlow": lambda: preflow.parametric_max_flow(NETWORK, [1, 0, 0, 0, 0], 0, 3),
        "Parameter": lambda: preflow.generators.Parameter("n", int, None),
        "LayeredSurfaces": lambda: vision.layered_surfaces([IMAGE]),
        "Painting": painting,
        "PathsAsMinCostFlow": lambda: reductions.PathsAsMinCostFlow.of(COST_NETWORK, 0, 2),
        "PointCosts": lambda: preflow.PointCosts([[0, 0], [3, 4]], [[3, 3], [0, 1]]),
        "PostmanTour": lambda: reductions.chinese_postman(([0, 1, 2], [1, 2, 0])),
        "Preview": lambda: painting().preview(),
        "PricedAssignment": lambda: reductions.AssignmentAsTransport.of([[1, 2], [4, 4]]).solve(),
        "ProgressReport": lambda: preflow.progress.ProgressReport(1.0, 0.5, 3, 4),
        "ProjectSelection": lambda: reductions.select_projects([3, -1], [(0, 1)]),
        "ProjectsAsMinCut": lambda: reductions.ProjectsAsMinCut.of([3, -1], [(0, 1)]),
        "RoundedMatrix": lambda: reductions.round_matrix([[0.5, 1.25]]),
        "RoundingAsCirculation": lambda: reductions.RoundingAsCirculation.of([[0.5, 1.25]]),
        "Segmentation": lambda: vision.segment(IMAGE, IMAGE == 1, IMAGE == 0),
        "Stereo": lambda: vision.match_stereo(IMAGE, IMAGE, 1),
        "TJoin": lambda: reductions.t_join(([0], [1]), [0, 1]),
        "TransportAsMinCostFlow": lambda: reductions.TransportAsMinCostFlow.of([[1, 2]], [3], [1, 2]),
        "TerminalsMerged": lambda: reductions.TerminalsMerged.of(NETWORK, 0, [3, 4]),
        "UndirectedAsDirected": lambda: reductions.UndirectedAsDirected.of(NETWORK, 0, 3),
        "UndirectedCostsAsDirected": lambda: reductions.UndirectedCostsAsDirected.of(COST_NETWORK),
        "VertexCapacities": lambda: reductions.VertexCapacities.of(NETWORK, {1: 1}, 0, 3),
        "VertexConnectivity": lambda: preflow.vertex_connectivity(graph_of_edges),
        "VertexFlow": lambda: reductions.VertexCapacities.of(NETWORK, {1: 1}, 0, 3).solve(),
        "UltimatePit": lambda: reductions.ultimate_pit([[[3, -1]]]),
        "UndirectedGraph": lambda: preflow.UndirectedGraph.from_edges([("a", "b", 3)]),
        "UnwrappedPhase": lambda: vision.unwrap_phase(5 * IMAGE),
        "Volume": lambda: vision.Volume(np.zeros((2, 2, 2)), np.eye(4)),
    }


def public_classes() -> Iterator[type]:
    folders = {module: tuple(module.__all__) for module in (preflow, reductions, vision)}
    for module, names in {**folders, **MORE}.items():
        for name in names:
            if inspect.isclass(getattr(module, name)) and name not in LIVE:
                yield getattr(module, name)


def alike(one: Any, other: Any) -> bool:
    """Return whether two objects have the same public content, arrays entry by entry."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if sp.issparse(one):
        return alike(one.toarray(), other.toarray())
    if dataclasses.is_dataclass(one):
        fields = [field.name for field in dataclasses.fields(one) if field.name[0] != "_"]
        return type(one) is type(other) and all(alike(getattr(one, f), getattr(other, f)) for f in fields)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other) or callable(one) or type(one).__module__.startswith("preflow")


@pytest.mark.parametrize("kind", list(public_classes()), ids=lambda kind: kind.__name__)
def test_public_classes(kind: type) -> None:
    assert kind.__name__ in samples(), f"add an instance of {kind.__name__} to samples()"
    thing = samples()[kind.__name__]()
    assert isinstance(thing, kind)
    for name, trip in TRIPS.items():
        other = trip(thing)
        assert alike(thing, other), name
        if hasattr(other, "verify"):
            other.verify()
        if isinstance(other, BoundedResult):
            assert np.array_equal(other.value, thing.value)
            assert repr(other) == repr(thing)
            for name, value in (*vars(thing).items(), *vars(other).items()):
                if isinstance(value, np.ndarray) and not name.startswith("_"):
                    assert not value.flags.writeable, "arrays of results are read-only"


ERRORS = {
    "InfeasibleMatchingError": lambda: errors.InfeasibleMatchingError((1,), ((2,), (3,))),
    "InfeasibleFlowError": lambda: errors.InfeasibleFlowError((1, 2), 3),
    "UnboundedCostError": lambda: errors.UnboundedCostError((0, 4), -7, (("a", "b"), ("b", "a"))),
    "NotOptimalError": lambda: errors.NotOptimalError("late").advising("time_limit", 9, "waits"),
    "InfeasibleError": lambda: errors.InfeasibleError("rows", (1, 2), (0,), (3,)),
    "ItemError": lambda: errors.ItemError(3, errors.TimeLimitError("late")),
    "MissingDependencyError": lambda: errors.MissingDependencyError("reading", "pillow", "vision"),
    "ParseError": lambda: errors.ParseError("a.max", 3, "expected a number"),
}


@pytest.mark.parametrize("trip", TRIPS.values(), ids=TRIPS)
def test_errors(trip: Callable[[Any], Any]) -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    assert len(kinds) > 10
    for kind in kinds:
        error = ERRORS.get(kind.__name__, lambda kind=kind: kind("something is wrong"))()
        error.add_note("a note")
        other = trip(error)
        assert type(other) is kind
        assert str(other) == str(error)
        assert other.args == error.args
        own, others = dict(vars(error)), dict(vars(other))
        inner, other_inner = own.pop("error", None), others.pop("error", None)  # no two errors are equal
        assert repr(other_inner) == repr(inner)
        assert others == own
        assert isinstance(getattr(other, "path", None), Path | None)


class TestMinCut:
    """Its second stage has not run: a copy runs it for itself."""

    @pytest.mark.parametrize("trip", TRIPS.values(), ids=TRIPS)
    def test_source_side(self, trip: Callable[[Any], Any]) -> None:
        result = trip(preflow.min_cut(NETWORK, 0, 3))
        result.verify()
        np.testing.assert_array_equal(result.source_side(), preflow.min_cut(NETWORK, 0, 3).source_side())
        result.verify()

    def test_labels(self) -> None:
        result = pickle.loads(pickle.dumps(preflow.max_flow(labelled_network(), "a", "b")))
        assert result.flow_dict() == {"a": {"b": 4}, "b": {}}
        assert preflow.max_flow(result.network, "a", "b").value == 4

    def test_a_grid_can_start_from_a_copy(self) -> None:
        result = pickle.loads(pickle.dumps(preflow.grid_cut(GRID)))
        assert preflow.grid_cut(GRID, warm_start=result).value == result.value


@pytest.mark.usefixtures("cpu_device")
class TestOnAGpu:
    @pytest.mark.parametrize("trip", TRIPS.values(), ids=TRIPS)
    def test_results(self, trip: Callable[[Any], Any]) -> None:
        arcs = [OnGpu(part) for part in ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])]
        grid = [OnGpu(part) for part in ([[5, 0, 0]], [[0, 0, 5]])]
        edges = [OnGpu(np.array(part)) for part in ([0, 0, 1], [0, 1, 1])]
        for result in (
            preflow.max_flow(tuple(arcs), 0, 3, device="cuda"),
            preflow.min_cut(tuple(arcs), 0, 3, device="cuda"),
            preflow.min_cut(tuple(arcs), 0, 3, device="cpu"),
            preflow.grid_cut(*grid, 2, device="cuda"),
            preflow.grid_cut(*grid, 2, device="cpu"),
            preflow.bipartite_matching(tuple(edges), device="cuda"),
            preflow.linear_assignment(OnGpu([[1, 2], [4, 4]]), device="cuda"),
        ):
            other = trip(result)
            other.verify()
            assert other.value == result.value
