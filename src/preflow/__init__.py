"""Maximum flow, minimum cut, matching and assignment, fast and proved.

Importing preflow loads neither numba nor scipy: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assignment.api import linear_assignment
    from .assignment.result import AssignmentResult
    from .cuts import min_cut
    from .generators.contrast import contrast_capacity
    from .graph.bipartite import BipartiteGraph
    from .graph.grid import GridNetwork
    from .graph.network import FlowNetwork, MaxFlowProblem
    from .graph.point_costs import PointCosts
    from .gridcut.api import grid_cut
    from .gridcut.result import GridCutResult
    from .io.dimacs import read_dimacs, write_dimacs
    from .io.npz import load_npz, save_npz
    from .kernels.warm_up import warm_up
    from .matching.api import bipartite_matching
    from .matching.decomposition import (
        DulmageMendelsohn,
        dulmage_mendelsohn,
        structural_rank,
        zero_free_diagonal,
    )
    from .matching.result import MatchingResult
    from .maxflow.api import max_flow
    from .maxflow.result import MaxFlowResult, MinCutResult
    from .registry import methods

__version__ = "0.1.0.dev0"

_HOME = {
    "AssignmentResult": "assignment.result",
    "BipartiteGraph": "graph.bipartite",
    "DulmageMendelsohn": "matching.decomposition",
    "FlowNetwork": "graph.network",
    "GridCutResult": "gridcut.result",
    "GridNetwork": "graph.grid",
    "MatchingResult": "matching.result",
    "MaxFlowProblem": "graph.network",
    "MaxFlowResult": "maxflow.result",
    "MinCutResult": "maxflow.result",
    "PointCosts": "graph.point_costs",
    "bipartite_matching": "matching.api",
    "contrast_capacity": "generators.contrast",
    "dulmage_mendelsohn": "matching.decomposition",
    "grid_cut": "gridcut.api",
    "linear_assignment": "assignment.api",
    "load_npz": "io.npz",
    "max_flow": "maxflow.api",
    "methods": "registry",
    "min_cut": "cuts",
    "read_dimacs": "io.dimacs",
    "save_npz": "io.npz",
    "structural_rank": "matching.decomposition",
    "warm_up": "kernels.warm_up",
    "write_dimacs": "io.dimacs",
    "zero_free_diagonal": "matching.decomposition",
}

__all__ = [
    "AssignmentResult",
    "BipartiteGraph",
    "DulmageMendelsohn",
    "FlowNetwork",
    "GridCutResult",
    "GridNetwork",
    "MatchingResult",
    "MaxFlowProblem",
    "MaxFlowResult",
    "MinCutResult",
    "PointCosts",
    "__version__",
    "bipartite_matching",
    "contrast_capacity",
    "dulmage_mendelsohn",
    "grid_cut",
    "linear_assignment",
    "load_npz",
    "max_flow",
    "methods",
    "min_cut",
    "read_dimacs",
    "save_npz",
    "structural_rank",
    "warm_up",
    "write_dimacs",
    "zero_free_diagonal",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'preflow' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
