"""Generators of the classic flow instances, of vision grids, of bipartite graphs, of costs and of transport.

Every function takes numbers and a seed and returns a :class:`~preflow.graph.network.MaxFlowProblem`, a
:class:`~preflow.graph.cost_network.CostNetwork`, a :class:`~preflow.graph.grid.GridNetwork`, a
:class:`~preflow.graph.bipartite.BipartiteGraph` or a matrix of costs. The same arguments give the same
instance. A parameter out of its range raises InvalidInputError, and sums of capacities past int64 raise
CapacityOverflowError.

:data:`FAMILIES`, :data:`MIN_COST_FAMILIES` and :data:`BIPARTITE_FAMILIES` map the names of
``preflow generate`` to families, :data:`COST_FAMILIES` maps names to families of costs.
"""

from .acyclic_dense import ac_dense
from .bipartite import (
    block_banded,
    co_authorship,
    erdos_renyi,
    hidden_diagonal,
    ladder,
    power_law,
    rmat,
    road_like,
)
from .costs import (
    COST_FAMILIES,
    geometric_costs,
    low_rank_costs,
    machol_wien_costs,
    nearest_costs,
    neighbor_costs,
    two_costs,
    uniform_costs,
    uniform_integer_costs,
)
from .genrmf import rmf
from .grids import noisy_grid, spiral, vessel_tree
from .irregular import rmat_flow, roads, superpixels, surface
from .min_cost import (
    PointTransport,
    Transport,
    cost_grid,
    goto,
    gridgen,
    netgen,
    phase_grid,
    point_transport,
    squared_distances,
    transport_masses,
    transport_network,
    transport_points,
    uniform_transport,
)
from .registry import (
    BIPARTITE_FAMILIES,
    FAMILIES,
    MIN_COST_FAMILIES,
    Family,
    Parameter,
    bipartite_family,
    family,
    min_cost_family,
)
from .triangulations import delaunay, hugetrace_like, triangulation_dual
from .vision import grid_2d, grid_3d, grid_from_image
from .washington import (
    cheriyan,
    dinic_bad,
    double_exponential_line,
    exponential_line,
    goldberg_bad,
    line,
    matching,
    mesh,
    random_level,
    square_mesh,
    two_level,
)

__all__ = [
    "BIPARTITE_FAMILIES",
    "COST_FAMILIES",
    "FAMILIES",
    "MIN_COST_FAMILIES",
    "Family",
    "Parameter",
    "PointTransport",
    "Transport",
    "ac_dense",
    "bipartite_family",
    "block_banded",
    "cheriyan",
    "co_authorship",
    "cost_grid",
    "delaunay",
    "dinic_bad",
    "double_exponential_line",
    "erdos_renyi",
    "exponential_line",
    "family",
    "geometric_costs",
    "goldberg_bad",
    "goto",
    "grid_2d",
    "grid_3d",
    "grid_from_image",
    "gridgen",
    "hidden_diagonal",
    "hugetrace_like",
    "ladder",
    "line",
    "low_rank_costs",
    "machol_wien_costs",
    "matching",
    "mesh",
    "min_cost_family",
    "nearest_costs",
    "neighbor_costs",
    "netgen",
    "noisy_grid",
    "phase_grid",
    "point_transport",
    "power_law",
    "random_level",
    "rmat",
    "rmat_flow",
    "rmf",
    "road_like",
    "roads",
    "spiral",
    "square_mesh",
    "squared_distances",
    "superpixels",
    "surface",
    "transport_masses",
    "transport_network",
    "transport_points",
    "triangulation_dual",
    "two_costs",
    "two_level",
    "uniform_costs",
    "uniform_integer_costs",
    "uniform_transport",
    "vessel_tree",
]
