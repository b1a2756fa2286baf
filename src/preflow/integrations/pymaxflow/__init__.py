"""Graphs with the interface of PyMaxflow, solved by preflow.

``from preflow.integrations import pymaxflow as maxflow`` takes the place of ``import maxflow``.
:doc:`/problems/coming_from` lists what differs on purpose.
"""

from . import fastmin
from .fastmin import abswap_grid, aexpansion_grid
from .graph import Graph, GraphFloat, GraphInt, moore_structure, vonNeumann_structure

__all__ = [
    "Graph",
    "GraphFloat",
    "GraphInt",
    "abswap_grid",
    "aexpansion_grid",
    "fastmin",
    "moore_structure",
    "vonNeumann_structure",
]
