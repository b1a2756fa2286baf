"""Generators of the classic flow instances, of vision grids, of bipartite graphs, of costs and of transport.

Every function takes numbers and a seed and returns a :class:`~preflow.graph.network.MaxFlowProblem`, a
:class:`~preflow.graph.cost_network.CostNetwork`, a :class:`~preflow.graph.grid.GridNetwork`, a
:class:`~preflow.graph.bipartite.BipartiteGraph` or a matrix of costs. The same arguments give the same
instance. Time and memory are linear in its size, but for sorting, filters and triangulations. A parameter out
of its range raises InvalidInputError, and sums of capacities past int64 raise CapacityOverflowError.

:data:`FAMILIES`, :data:`MIN_COST_FAMILIES` and :data:`BIPARTITE_FAMILIES` map the names of
``preflow generate`` to families, :data:`COST_FAMILIES` maps names to families of costs.
"""

from ..lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
