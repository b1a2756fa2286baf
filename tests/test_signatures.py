"""Public functions and constructors: everything after the data is keyword-only, and nothing is lost.

python tests/test_signatures.py    # record the signatures, with their defaults
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import preflow
import preflow.distributed
import preflow.generators
import preflow.reductions
import preflow.vision
from preflow.integrations import scipy_compat
from preflow.io import bipartite, costs, dimacs, edge_list, flo, matrix_market, solution
from tests.support.paths import DATA as FILES

pytestmark = pytest.mark.fast

RECORD = FILES / "signatures.json"

#: The functions of modules without ``__all__`` that users call.
PUBLIC: dict[ModuleType, tuple[str, ...]] = {
    preflow: tuple(preflow.__all__),
    preflow.reductions: tuple(preflow.reductions.__all__),
    preflow.vision: tuple(preflow.vision.__all__),
    preflow.distributed: tuple(preflow.distributed.__all__),
    preflow.generators: tuple(name for name in vars(preflow.generators) if name[0] != "_"),
    scipy_compat: (
        "linear_sum_assignment",
        "maximum_flow",
        "maximum_bipartite_matching",
        "min_weight_full_bipartite_matching",
        "structural_rank",
    ),
    bipartite: ("read_bipartite_graph",),
    costs: ("read_costs",),
    edge_list: ("read_edge_list",),
    flo: ("read_flo", "write_flo"),
    matrix_market: ("read_matrix_market", "write_matrix_market"),
    solution: (
        "read_solution",
        "write_solution",
        "flow_on_arcs",
        "write_min_cost_solution",
        "min_cost_flow_on_arcs",
    ),
    dimacs: ("read_max_flow", "read_min_cost_flow"),
}

#: The positional arguments of every public callable.
DATA = {
    "AssignmentAsTransport.of": "cost",
    "AssignmentAsTransport.solution": "result",
    "BinaryEnergy": "unary pairs pair_costs triples triple_costs",
    "BinaryEnergy.evaluate": "labels",
    "BipartiteGraph": "num_rows num_columns _rows _columns",
    "BipartiteGraph.from_arrays": "row column",
    "BipartiteGraph.from_dict": "neighbours",
    "BipartiteGraph.from_edges": "edges",
    "BipartiteGraph.from_pandas": "frame",
    "BipartiteGraph.from_networkx": "graph",
    "BipartiteGraph.from_scipy": "matrix",
    "BipartiteGraph.remember_columns": "columns",
    "CirculationAsMaxFlow.completed": "result",
    "CirculationAsMaxFlow.of": "network supply",
    "CirculationAsMaxFlow.solution": "result",
    "CostNetwork": "num_vertices tail head",
    "CostNetwork.from_arrays": "tail head",
    "CostNetwork.from_dict": "adjacency",
    "CostNetwork.from_edges": "edges",
    "CostNetwork.from_networkx": "graph",
    "CostNetwork.from_pandas": "frame",
    "CostNetwork.from_scipy": "cost",
    "CostNetwork.supplies_of": "supply",
    "Family": "name function summary size_parameters presets",
    "Family.generate": "size",
    "Family.parse_size": "size",
    "FlowNetwork": "num_vertices tail head capacity",
    "FlowNetwork.from_arrays": "tail head capacity",
    "FlowNetwork.from_dict": "adjacency",
    "FlowNetwork.from_edges": "edges",
    "FlowNetwork.from_pandas": "frame",
    "FlowNetwork.from_networkx": "graph",
    "FlowNetwork.from_scipy": "matrix",
    "FlowNetworkBatch": "first_arc num_vertices tail head capacity",
    "FlowNetworkBatch.arcs_of": "item",
    "FlowNetworkBatch.from_arrays": "tail head capacity",
    "FlowNetworkBatch.from_networks": "networks",
    "FlowNetworkBatch.index": "item",
    "FlowNetworkBatch.vertices_of": "item",
    "GomoryHuTree.min_cut_value": "u v",
    "GomoryHuTree.partition": "u v",
    "GomoryHuTree.side": "u v",
    "GridCutResult.flow": "grid",
    "GridNetwork": "shape offsets source_capacity sink_capacity neighbor_capacity",
    "GridNetwork.from_arrays": "source_capacity sink_capacity neighbor_capacity",
    "JobsAsMinCostFlow.of": "cost",
    "JobsAsMinCostFlow.solution": "result",
    "GraphLabelEnergy.improves": "after before",
    "GraphLabelEnergy.room": "labels",
    "LabelEnergy": "data distance weights offsets label_costs",
    "LabelEnergy.checked_labels": "labels",
    "LabelEnergy.energy": "labels",
    "LabelEnergy.from_arrays": "data distance weights",
    "LabelEnergy.terms_of": "chosen",
    "LowerBoundsRemoved.of": "network supply",
    "LowerBoundsRemoved.solution": "result",
    "MatchingAsMaxFlow.of": "graph",
    "MatchingAsMaxFlow.solution": "result",
    "MaxFlow": "network source sink",
    "MaxFlow.add_arcs": "tail head capacity",
    "MaxFlow.set_capacity": "arcs values",
    "MaxFlow.set_terminals": "source sink",
    "MaxFlowAsCirculation.of": "network source sink",
    "MaxFlowAsCirculation.solution": "result",
    "MaxFlowProblem": "network source sink",
    "MinCostFlow": "network supply",
    "MinCostFlow.set_capacity": "arcs values",
    "MinCostFlow.set_cost": "arcs values",
    "MinCostFlow.set_lower": "arcs values",
    "MinCostFlow.set_supply": "vertices values",
    "Paint": "image",
    "Painting": "image",
    "Painting.adopt": "solved",
    "Painting.paint": "mask label",
    "Painting.set_box": "corner opposite",
    "Painting.set_labels": "labels",
    "Painting.slice_index": "axis index",
    "Painting.stroke": "points label",
    "Painting.stroke_on_slice": "axis index points label",
    "Parameter": "name type default",
    "ParametricMaxFlow.breakpoint": "number",
    "ParametricMaxFlow.sink_side": "parameter",
    "ParametricMaxFlow.value": "parameter",
    "GpuExchange.collect": "ask",
    "GpuExchange.scatter": "tasks control",
    "GpuExchange.sweep": "order",
    "RayExchange.collect": "ask",
    "RayExchange.scatter": "tasks control",
    "RayExchange.sweep": "order",
    "PathsAsMinCostFlow.of": "network source sink",
    "PathsAsMinCostFlow.solution": "result",
    "PointCosts": "rows columns",
    "PointCosts.at": "item rows columns",
    "PointCosts.block": "begin end",
    "PointCosts.one": "item",
    "PointTransport": "points others a b",
    "ProjectsAsMinCut.of": "profit requires",
    "ProjectsAsMinCut.solution": "result",
    "RoundingAsCirculation.of": "matrix",
    "RoundingAsCirculation.solution": "result",
    "TerminalsMerged.of": "network source sink",
    "TerminalsMerged.solution": "result",
    "Transport": "cost a b",
    "TransportAsMinCostFlow.of": "cost a b",
    "TransportAsMinCostFlow.solution": "result",
    "UndirectedAsDirected.of": "network source sink",
    "UndirectedAsDirected.solution": "result",
    "UndirectedCostsAsDirected.of": "network supply",
    "UndirectedCostsAsDirected.solution": "result",
    "UndirectedGraph": "num_vertices tail head weight",
    "UndirectedGraph.from_arrays": "tail head weight",
    "UndirectedGraph.from_dict": "adjacency",
    "UndirectedGraph.from_edges": "edges",
    "UndirectedGraph.from_networkx": "graph",
    "UndirectedGraph.from_pandas": "frame",
    "UndirectedGraph.from_scipy": "matrix",
    "UndirectedGraph.with_weights": "weight",
    "chinese_postman": "graph",
    "edge_connectivity": "graph source sink",
    "general_b_matching": "graph limit",
    "global_min_cut": "graph",
    "gomory_hu_tree": "graph",
    "integrations.scipy_compat.structural_rank": "graph",
    "maximum_bipartite_matching": "graph perm_type",
    "maximum_flow": "csgraph source sink",
    "min_weight_full_bipartite_matching": "biadjacency maximize",
    "minimum_weight_edge_cover": "graph",
    "minimum_weight_perfect_matching": "graph",
    "paint": "image",
    "parametric_max_flow": "network slope source sink",
    "t_join": "graph odd",
    "VertexCapacities.of": "network limit source sink",
    "VertexCapacities.solution": "result",
    "Volume": "values affine",
    "vertex_connectivity": "graph source sink",
    "ac_dense": "n",
    "alpha_beta_swap": "data distance weights",
    "alpha_expansion": "data distance weights",
    "assign_jobs": "cost",
    "b_matching": "graph",
    "bad_pixels": "disparity truth",
    "bipartite_family": "name",
    "bipartite_matching": "graph",
    "block_banded": "n",
    "box": "shape corner opposite",
    "cheriyan": "n m c",
    "co_authorship": "n degree",
    "cite": "what",
    "compare": "problem",
    "contrast_capacity": "image",
    "cost_grid": "height width",
    "delaunay": "n",
    "denoise": "image weight",
    "dinic_bad": "n",
    "disjoint_paths": "network source sink",
    "disparity_picture": "disparity",
    "double_exponential_line": "n m degree",
    "dulmage_mendelsohn": "matrix",
    "endpoint_error": "flow truth",
    "erdos_renyi": "n degree",
    "exponential_line": "n m degree",
    "family": "name",
    "feasible_flow": "network supply",
    "find_optical_flow": "reference_image moving_image",
    "flow_on_arcs": "network solution",
    "flow_picture": "flow",
    "geometric_costs": "n",
    "generators.matching": "n degree",
    "goldberg_bad": "n",
    "goto": "n m",
    "grabcut": "image box",
    "grid_2d": "height width",
    "grid_3d": "depth height width",
    "grid_cut_batch": "source_capacity sink_capacity neighbor_capacity",
    "distributed.min_cut": "network source sink",
    "distributed.grid_cut": "source_capacity sink_capacity neighbor_capacity",
    "grid_cut": "source_capacity sink_capacity neighbor_capacity",
    "grid_from_image": "image data_term",
    "gridgen": "n degree",
    "hidden_diagonal": "n degree",
    "hugetrace_like": "n",
    "ladder": "depth",
    "line": "n m degree",
    "linear_assignment": "cost",
    "linear_sum_assignment": "cost_matrix maximize",  # as SciPy has it
    "load_npz": "path",
    "low_rank_costs": "n",
    "machol_wien_costs": "n",
    "map": "function items",
    "matching": "graph",
    "match_stereo": "left right max_disparity",
    "max_flow": "network source sink",
    "minimum_cuts": "network source sink",
    "MinimumCuts.cut_edges": "sink_side",
    "MinimumCuts.partition": "sink_side",
    "max_flow_batch": "networks source sink",
    "max_flow_min_cost": "network source sink",
    "mesh": "width levels",
    "methods": "problem",
    "min_cost_family": "name",
    "min_cost_flow": "network supply",
    "min_cost_flow_on_arcs": "network solution",
    "min_cut": "network source sink",
    "GraphLabelEnergy": "data tail head distance weights",
    "GraphLabelEnergy.checked_labels": "labels",
    "GraphLabelEnergy.costs_of_edges": "of_tails of_heads",
    "GraphLabelEnergy.energy": "labels",
    "GraphLabelEnergy.expansion": "labels alpha",
    "label_graph": "energy",
    "minimize_energy": "energy",
    "nearest_costs": "n",
    "neighbor_costs": "n",
    "netgen": "n degree",
    "noisy_grid": "shape",
    "overlay": "image mask",
    "parse_seeds": "shape specifications",
    "phase_grid": "height width",
    "point_transport": "rows columns",
    "cutout": "image mask",
    "labels_picture": "labels image",
    "LabelSegmentation.mask": "label",
    "potts": "labels",
    "power_law": "n degree",
    "random_level": "width levels",
    "register_method": "problem name solve",
    "read_bipartite_graph": "path",
    "read_costs": "path",
    "read_dimacs": "path",
    "read_edge_list": "path",
    "read_flo": "path",
    "read_image": "path",
    "read_matrix_market": "path",
    "read_max_flow": "path",
    "read_min_cost_flow": "path",
    "read_scribbles": "path shape",
    "read_solution": "path",
    "read_volume": "path",
    "rmat": "scale edge_factor",
    "rmat_flow": "scale edge_factor ends",
    "rmf": "side frames",
    "roads": "n ends",
    "road_like": "n",
    "round_matrix": "matrix",
    "save_npz": "path network",
    "seeds_from_labels": "labels",
    "segment": "image foreground background",
    "segment_labels": "image markers",
    "segmentation_network": "image foreground background",
    "select_projects": "profit requires",
    "shortest_path": "network source sink",
    "spiral": "side",
    "square_mesh": "side degree",
    "squared_distances": "problem",
    "stroke": "shape points",
    "structural_rank": "matrix",
    "superpixels": "n",
    "surface": "n",
    "transport_masses": "rows columns",
    "transport_network": "problem",
    "transport_points": "rows columns",
    "transport": "cost a b",
    "triangulation_dual": "n",
    "truncated_linear": "labels limit",
    "uniform_transport": "rows columns",
    "two_costs": "n",
    "two_level": "width levels",
    "unwrap_phase": "phase",
    "uniform_costs": "n",
    "uniform_integer_costs": "n",
    "vessel_tree": "side",
    "volume_overlay": "volume mask",
    "write_dimacs": "path problem",
    "write_flo": "path flow",
    "write_image": "path pixels",
    "write_labels": "path labels like",
    "write_matrix_market": "path graph",
    "write_min_cost_solution": "path cost network flow",
    "write_solution": "path value tail head flow",
    "zero_free_diagonal": "matrix",
}

#: Only solvers make these: their constructors are no part of the interface.
RESULTS = {
    *(
        "AssignmentResult",
        "AssignmentWithSinglesResult",
        "Comparison",
        "DulmageMendelsohn",
        "EdgeConnectivity",
        "GeneralMatchingResult",
        "GlobalMinCut",
        "GomoryHuTree",
        "GridCutBatchResult",
        "GridCutResult",
        "MatchingResult",
        "MaxFlowBatchResult",
        "MaxFlowResult",
        "MaxFlowMinCostResult",
        "MinCostFlowResult",
        "MinCutResult",
        "MinimumCuts",
        "ParametricMaxFlow",
        "TransportResult",
        "VertexConnectivity",
    ),
    *(
        "Denoised",
        "EnergyMinimum",
        "GrabCut",
        "LabelSegmentation",
        "GraphLabelling",
        "Labelling",
        "OpticalFlow",
        "Preview",
        "Segmentation",
        "Stereo",
        "UnwrappedPhase",
    ),
    *("BMatching", "CheapPaths", "FeasibleFlow", "FlowAndCut", "JobAssignment", "ProjectSelection"),
    *("EdgeCover", "GeneralBMatching", "PostmanTour", "TJoin"),
    *("PricedAssignment", "RoundedMatrix", "VertexFlow"),
    "RegionCutResult",
    "RegionMinCutResult",
}


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module, names in PUBLIC.items():
        for name in names:
            value = getattr(module, name)
            if not callable(value):
                continue
            if name not in RESULTS:
                # The package has a function of the same name as a generator of networks.
                shared = module is not preflow and name in preflow.__all__
                yield f"{module.__name__.removeprefix('preflow.')}.{name}" if shared else name, value
            if inspect.isclass(value):
                for method in vars(value):
                    if method[0] != "_" and callable(getattr(value, method)):
                        yield f"{name}.{method}", getattr(value, method)


def positional(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind in kinds and p.name != "self"
    ]


@pytest.mark.parametrize(("name", "function"), [pytest.param(n, f, id=n) for n, f in public_callables()])
def test_only_data_is_positional(name: str, function: Callable[..., Any]) -> None:
    expected = DATA.get(name, "").split()
    assert positional(function) == expected, f"if {name} is new, list it in DATA, or a result in RESULTS"


def test_the_list_has_no_dead_entries() -> None:
    assert set(DATA) <= {name for name, _ in public_callables()}


def test_a_number_behind_the_capacities_is_no_reverse_capacity() -> None:
    with pytest.raises(TypeError):
        preflow.FlowNetwork.from_arrays([0], [1], [3], 1000)  # type: ignore[misc]


def without_types(function: Callable[..., Any]) -> str:
    """Return the signature of a function: names and defaults."""
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


def signatures() -> dict[str, str]:
    """Return the signatures of all public functions, classes and methods."""
    found = {}
    for module, names in PUBLIC.items():
        for name in names:
            value = getattr(module, name)
            if callable(value):
                found[f"{module.__name__}.{name}"] = "a result" if name in RESULTS else without_types(value)
    return found | {name: without_types(function) for name, function in public_callables() if "." in name}


def test_signatures_are_the_recorded_ones() -> None:
    recorded = json.loads(RECORD.read_text("utf-8"))
    assert signatures() == recorded, "python tests/test_signatures.py records a new one"


if __name__ == "__main__":
    RECORD.write_text(json.dumps(signatures(), indent=0, sort_keys=True) + "\n", "utf-8")
