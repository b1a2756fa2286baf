from . import distributed, errors, generators, reductions, vision
from .assignment.api import linear_assignment
from .assignment.result import AssignmentResult
from .assignment.singles_result import AssignmentWithSinglesResult
from .bipartite.api import bipartite_matching
from .bipartite.decomposition import (
    DulmageMendelsohn,
    dulmage_mendelsohn,
    structural_rank,
    zero_free_diagonal,
)
from .bipartite.result import MatchingResult
from .citations import cite
from .comparison import Comparison, compare
from .connectivity.global_cut import GlobalMinCut, global_min_cut
from .connectivity.gomory_hu import GomoryHuTree, gomory_hu_tree
from .connectivity.removal import (
    EdgeConnectivity,
    VertexConnectivity,
    edge_connectivity,
    vertex_connectivity,
)
from .cuts import min_cut
from .general_matching.api import matching
from .general_matching.result import GeneralMatchingResult
from .graph.bipartite import BipartiteGraph
from .graph.contrast import contrast_capacity
from .graph.cost_network import CostNetwork
from .graph.grid import GridNetwork
from .graph.network import FlowNetwork, MaxFlowProblem
from .graph.network_batch import FlowNetworkBatch
from .graph.point_costs import PointCosts
from .graph.undirected import UndirectedGraph
from .gridcut.api import grid_cut
from .gridcut.batch.api import grid_cut_batch
from .gridcut.batch.result import GridCutBatchResult
from .gridcut.result import GridCutResult
from .io.dimacs import read_dimacs, write_dimacs
from .io.npz import load_npz, save_npz
from .kernels.warm_up import warm_up
from .maxflow.api import max_flow
from .maxflow.batch.api import max_flow_batch
from .maxflow.batch.result import MaxFlowBatchResult
from .maxflow.minimum_cuts import MinimumCuts, minimum_cuts
from .maxflow.parametric import ParametricMaxFlow, parametric_max_flow
from .maxflow.result import MaxFlowResult, MinCutResult
from .maxflow.warm import MaxFlow
from .mincost.api import min_cost_flow
from .mincost.result import MinCostFlowResult
from .mincost.warm import MinCostFlow
from .reductions.most_for_least import MaxFlowMinCostResult, max_flow_min_cost
from .registry import methods, register_method
from .transportation.api import transport
from .transportation.result import TransportResult

__version__: str

__all__ = [
    "AssignmentResult",
    "AssignmentWithSinglesResult",
    "BipartiteGraph",
    "Comparison",
    "CostNetwork",
    "DulmageMendelsohn",
    "EdgeConnectivity",
    "FlowNetwork",
    "FlowNetworkBatch",
    "GeneralMatchingResult",
    "GlobalMinCut",
    "GomoryHuTree",
    "GridCutBatchResult",
    "GridCutResult",
    "GridNetwork",
    "MatchingResult",
    "MaxFlow",
    "MaxFlowBatchResult",
    "MaxFlowMinCostResult",
    "MaxFlowProblem",
    "MaxFlowResult",
    "MinCostFlow",
    "MinCostFlowResult",
    "MinCutResult",
    "MinimumCuts",
    "ParametricMaxFlow",
    "PointCosts",
    "TransportResult",
    "UndirectedGraph",
    "VertexConnectivity",
    "bipartite_matching",
    "cite",
    "compare",
    "contrast_capacity",
    "distributed",
    "dulmage_mendelsohn",
    "edge_connectivity",
    "errors",
    "generators",
    "global_min_cut",
    "gomory_hu_tree",
    "grid_cut",
    "grid_cut_batch",
    "linear_assignment",
    "load_npz",
    "matching",
    "max_flow",
    "max_flow_batch",
    "max_flow_min_cost",
    "methods",
    "min_cost_flow",
    "min_cut",
    "minimum_cuts",
    "parametric_max_flow",
    "read_dimacs",
    "reductions",
    "register_method",
    "save_npz",
    "structural_rank",
    "transport",
    "vertex_connectivity",
    "vision",
    "warm_up",
    "write_dimacs",
    "zero_free_diagonal",
]
