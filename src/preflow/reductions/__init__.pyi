from .base import FlowAndCut
from .circulation import MaxFlowAsCirculation
from .feasible import CirculationAsMaxFlow, FeasibleFlow, feasible_flow
from .general_matchings import (
    EdgeCover,
    GeneralBMatching,
    PostmanTour,
    TJoin,
    chinese_postman,
    general_b_matching,
    minimum_weight_edge_cover,
    minimum_weight_perfect_matching,
    t_join,
)
from .jobs import JobAssignment, JobsAsMinCostFlow, assign_jobs
from .lower_bounds import LowerBoundsRemoved
from .matchings import BMatching, MatchingAsMaxFlow, b_matching
from .paths import CheapPaths, PathsAsMinCostFlow, disjoint_paths, shortest_path
from .projects import ProjectsAsMinCut, ProjectSelection, select_projects
from .rounding import RoundedMatrix, RoundingAsCirculation, round_matrix
from .terminals import TerminalsMerged
from .transports import AssignmentAsTransport, PricedAssignment, TransportAsMinCostFlow
from .undirected import UndirectedAsDirected, UndirectedCostsAsDirected
from .vertex_capacities import VertexCapacities, VertexFlow

__all__ = [
    "AssignmentAsTransport",
    "BMatching",
    "CheapPaths",
    "CirculationAsMaxFlow",
    "EdgeCover",
    "FeasibleFlow",
    "FlowAndCut",
    "GeneralBMatching",
    "JobAssignment",
    "JobsAsMinCostFlow",
    "LowerBoundsRemoved",
    "MatchingAsMaxFlow",
    "MaxFlowAsCirculation",
    "PathsAsMinCostFlow",
    "PostmanTour",
    "PricedAssignment",
    "ProjectSelection",
    "ProjectsAsMinCut",
    "RoundedMatrix",
    "RoundingAsCirculation",
    "TJoin",
    "TerminalsMerged",
    "TransportAsMinCostFlow",
    "UndirectedAsDirected",
    "UndirectedCostsAsDirected",
    "VertexCapacities",
    "VertexFlow",
    "assign_jobs",
    "b_matching",
    "chinese_postman",
    "disjoint_paths",
    "feasible_flow",
    "general_b_matching",
    "minimum_weight_edge_cover",
    "minimum_weight_perfect_matching",
    "round_matrix",
    "select_projects",
    "shortest_path",
    "t_join",
]
