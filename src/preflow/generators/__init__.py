"""Generators of the classic maximum-flow instances, of vision grids, and of bipartite graphs.

Every function takes integers and a seed and returns a :class:`~preflow.graph.network.MaxFlowProblem`;
the same arguments give the same instance. :data:`FAMILIES` has them by the names that the command line
``preflow generate`` uses.
"""

from .acyclic_dense import ac_dense
from .genrmf import rmf
from .registry import BIPARTITE_FAMILIES, FAMILIES, Family, Parameter, bipartite_family, family
from .vision import grid_2d, grid_3d, grid_from_image
from .washington_bad_cases import cheriyan, dinic_bad, goldberg_bad
from .washington_levels import matching, mesh, random_level, square_mesh, two_level
from .washington_lines import double_exponential_line, exponential_line, line

__all__ = [
    "BIPARTITE_FAMILIES",
    "FAMILIES",
    "Family",
    "Parameter",
    "ac_dense",
    "bipartite_family",
    "cheriyan",
    "dinic_bad",
    "double_exponential_line",
    "exponential_line",
    "family",
    "goldberg_bad",
    "grid_2d",
    "grid_3d",
    "grid_from_image",
    "line",
    "matching",
    "mesh",
    "random_level",
    "rmf",
    "square_mesh",
    "two_level",
]
