from .base import FlowAndCut
from .circulation import MaxFlowAsCirculation
from .feasible import CirculationAsMaxFlow, FeasibleFlow, feasible_flow
from .lower_bounds import LowerBoundsRemoved
from .terminals import TerminalsMerged
from .undirected import UndirectedAsDirected, UndirectedCostsAsDirected
from .vertex_capacities import VertexCapacities, VertexFlow

__all__ = [
    "CirculationAsMaxFlow",
    "FeasibleFlow",
    "FlowAndCut",
    "LowerBoundsRemoved",
    "MaxFlowAsCirculation",
    "TerminalsMerged",
    "UndirectedAsDirected",
    "UndirectedCostsAsDirected",
    "VertexCapacities",
    "VertexFlow",
    "feasible_flow",
]
