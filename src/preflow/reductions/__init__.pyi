from .base import FlowAndCut
from .circulation import MaxFlowAsCirculation
from .feasible import CirculationAsMaxFlow, FeasibleFlow, feasible_flow
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
    "FeasibleFlow",
    "FlowAndCut",
    "JobAssignment",
    "JobsAsMinCostFlow",
    "LowerBoundsRemoved",
    "MatchingAsMaxFlow",
    "MaxFlowAsCirculation",
    "PathsAsMinCostFlow",
    "PricedAssignment",
    "ProjectSelection",
    "ProjectsAsMinCut",
    "RoundedMatrix",
    "RoundingAsCirculation",
    "TerminalsMerged",
    "TransportAsMinCostFlow",
    "UndirectedAsDirected",
    "UndirectedCostsAsDirected",
    "VertexCapacities",
    "VertexFlow",
    "assign_jobs",
    "b_matching",
    "disjoint_paths",
    "feasible_flow",
    "round_matrix",
    "select_projects",
    "shortest_path",
]
