"""Public functions and constructors: everything after the data is keyword-only, and nothing is lost.

python -m tests.test_signatures    # record the signatures, with their defaults
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
from preflow.registry import PROBLEMS
from tests.support.paths import DATA as FILES

pytestmark = pytest.mark.fast

RECORD = FILES / "signatures.json"

#: The functions of modules without ``__all__`` that users call.
PUBLIC: dict[ModuleType, tuple[str, ...]] = {
    preflow: tuple(preflow.__all__),
    preflow.reductions: tuple(preflow.reductions.__all__),
    preflow.vision: tuple(preflow.vision.__all__),
    preflow.distributed: tuple(preflow.distributed.__all__),
    preflow.generators: tuple(preflow.generators.__all__),
    scipy_compat: (
        "linear_sum_assignment",
        "maximum_flow",
        "maximum_bipartite_matching",
        "min_weight_full_bipartite_matching",
        "structural_rank",
        "wasserstein_distance_nd",
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

#: Only solvers make these: their constructors are no part of the interface.
RESULTS = {
    *(path.rpartition(".")[2] for problem in PROBLEMS for path in problem.results),
    *(
        "Comparison",
        "DirectedMinCut",
        "DiagonalScaling",
        "DulmageMendelsohn",
        "EdgeConnectivity",
        "GlobalMinCut",
        "GomoryHuTree",
        "GridCutBatchResult",
        "MatchingBatchResult",
        "MaxFlowBatchResult",
        "MaxFlowMinCostResult",
        "MinimumCuts",
        "PairFlows",
        "RankedAssignments",
        "ParametricMaxFlow",
        "VertexConnectivity",
    ),
    *(
        "Denoised",
        "EnergyMinimum",
        "GrabCut",
        "LabelSegmentation",
        "GraphLabelling",
        "Labelling",
        "LayeredSurfaces",
        "OpticalFlow",
        "PartialLabelling",
        "Preview",
        "Segmentation",
        "Stereo",
        "UnwrappedPhase",
    ),
    *(
        "BMatching",
        "BottleneckAssignment",
        "CheapPaths",
        "FeasibleFlow",
        "FlowAndCut",
        "GraphFit",
        "JobAssignment",
        "ProjectSelection",
    ),
    *("EdgeCover", "GeneralBMatching", "PostmanTour", "TJoin"),
    *("PricedAssignment", "RoundedMatrix", "VertexFlow"),
    "RegionCutResult",
    "RegionMinCutResult",
}

#: Data that has a default: of problems, of energies and images, of containers and generators, and others.
OPTIONAL_DATA = {
    *("source", "sink", "supply", "sink_capacity", "neighbor_capacity", "weight"),
    *("pairs", "pair_costs", "triples", "triple_costs", "weights", "distance", "image", "opposite"),
    *("_rows", "_columns", "presets", "size", "ends", "degree", "edge_factor", "m", "columns"),
    *("problem", "what", "maximize", "perm_type", "like", "points", "u_weights", "v_weights"),
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
                for method in dir(value):
                    function = getattr(value, method)
                    ours = (getattr(function, "__module__", None) or "").startswith("preflow")
                    if method[0] != "_" and callable(function) and ours:
                        yield f"{name}.{method}", function


@pytest.mark.parametrize(("name", "function"), [pytest.param(n, f, id=n) for n, f in public_callables()])
def test_only_data_is_positional(name: str, function: Callable[..., Any]) -> None:
    """What has no default is data; of what has one, only these words are."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    optional = {p.name for p in parameters if p.kind in kinds and p.default is not p.empty}
    assert optional <= OPTIONAL_DATA, f"{name} takes {optional - OPTIONAL_DATA} without their names"


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
    assert signatures() == recorded, "python -m tests.test_signatures records a new one"


if __name__ == "__main__":
    RECORD.write_text(json.dumps(signatures(), indent=0, sort_keys=True) + "\n", "utf-8")
