"""Generated graphs that stand for the matrices of Deveci et al. where their files are not there.

Each has about the rows, columns and entries of its matrix and is of its kind. Exponents and numbers of drawn
edges of the power laws are such that about the same share of the rows can be matched; the optimum itself is
another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from ..generators import (
    co_authorship,
    delaunay,
    erdos_renyi,
    hidden_diagonal,
    hugetrace_like,
    power_law,
    rmat,
    road_like,
)
from ..graph.bipartite import BipartiteGraph
from .deveci import TABLE

#: Edges drawn for each vertex of the kron_g500 graphs (10th DIMACS challenge).
EDGE_FACTOR = 48
#: Largest degrees of the power laws are then some ten thousand, as in the matrices.
FLATTENING = 1e-5
#: Triangulations of more points are made of copies of one: 16 million points would take minutes.
PATCH_POINTS = 2**16

_power_law = partial(power_law, flattening=FLATTENING)
_roads = partial(road_like, pieces=1)


def _delaunay(rows: int) -> BipartiteGraph:
    return delaunay(rows, patches=_patches(rows))


def _hugetrace(rows: int) -> BipartiteGraph:
    return hugetrace_like(rows, patches=_patches(rows / 2))


def _patches(points: float) -> int:
    return math.ceil(math.sqrt(points / PATCH_POINTS))


def _kronecker(rows: int) -> BipartiteGraph:
    return rmat(round(math.log2(rows)), EDGE_FACTOR)


def _random(rows: int) -> BipartiteGraph:
    """Return a random matrix with as many columns a row as GL7d19 has."""
    matrix = TABLE["GL7d19"]
    columns = round(rows * matrix.columns / matrix.rows)
    return erdos_renyi(rows, matrix.edges / matrix.rows, columns=columns)


#: How to make each, given its number of rows.
STAND_INS: Mapping[str, Callable[[int], BipartiteGraph]] = MappingProxyType(
    {
        "amazon0505": partial(_power_law, degree=8.2, exponent=2.55),
        "coPapersDBLP": partial(co_authorship, degree=56.4),
        "amazon-2008": partial(_power_law, degree=7.1, exponent=2.46),
        "flickr": partial(_power_law, degree=21.1, exponent=1.93),
        "eu-2005": partial(_power_law, degree=31.0, exponent=2.02),
        "delaunay_n20": _delaunay,
        "kron_g500-logn20": _kronecker,
        "roadNet-PA": partial(_roads, keep=0.707),
        "in-2004": partial(_power_law, degree=15.7, exponent=2.02),
        "roadNet-TX": partial(_roads, keep=0.690),
        "Hamrle3": partial(hidden_diagonal, degree=3.81),
        "as-Skitter": partial(_power_law, degree=8.1, exponent=2.03, symmetric=True),
        "GL7d19": _random,
        "roadNet-CA": partial(_roads, keep=0.702),
        "delaunay_n21": _delaunay,
        "kron_g500-logn21": _kronecker,
        "wikipedia-20070206": partial(_power_law, degree=15.5, exponent=2.01),
        "patents": partial(_power_law, degree=4.0, exponent=2.23),
        "com-LiveJournal": partial(_power_law, degree=9.1, exponent=2.18, symmetric=True),
        "hugetrace-00000": _hugetrace,
        "soc-LiveJournal1": partial(_power_law, degree=15.0, exponent=2.14),
        "ljournal-2008": partial(_power_law, degree=15.4, exponent=2.15),
        "italy_osm": partial(road_like, pieces=11),
        "delaunay_n23": _delaunay,
        "wb-edu": partial(_power_law, degree=6.1, exponent=2.12),
        "hugetrace-00020": _hugetrace,
        "delaunay_n24": _delaunay,
        "hugebubbles-00000": _hugetrace,
    }
)


def stand_in(name: str, smaller: float = 1) -> BipartiteGraph:
    """Return the graph that stands for a matrix, with a fraction of its rows.

    Parameters
    ----------
    name : str
        Of the matrix, as in TABLE.
    smaller : float
        What the number of rows is divided by.
    """
    return STAND_INS[name](round(TABLE[name].rows / smaller))
