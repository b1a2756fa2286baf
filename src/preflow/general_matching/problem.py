"""The record of matching in general graphs: plain data, so that reading it loads no solver."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ..cuda import CudaMethod
from ..solving.method import Method, Problem
from ..solving.plan import Attempt

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..cuda.runtime import Device
    from ..graph.undirected import Neighbours, UndirectedGraph
    from ..solving.protocol import Chooser, GeneralMatchingSolver
    from . import policy
    from .solution import GeneralState, Partners

    HostSolver = GeneralMatchingSolver[Neighbours, Partners, GeneralState]
    CHOOSE: Chooser[UndirectedGraph, Device] = policy.choose

METHODS = (
    Method(
        "serial-blossom",
        "general_matching.serial_blossom",
        "InitialOptions",
        "without weights: trees from all free vertices at once, after the matching of Karp and Sipser",
        "Edmonds 1965; Gabow 1976; Karp and Sipser 1981",
    ),
    Method(
        "serial-gabow",
        "general_matching.serial_gabow",
        "InitialOptions",
        "without weights: phases of disjoint shortest augmenting paths, O(sqrt(n) m)",
        "Gabow 2017; Gabow and Tarjan 1991; Karp and Sipser 1981",
    ),
    Method(
        "multicore-blossom",
        "general_matching.multicore_blossom",
        "InitialOptions",
        "without weights: each tree is grown by one thread, trees that meet are augmented between barriers",
        "Edmonds 1965; Gabow 1976; Azad et al. 2012",
        parallel=True,
        then=(Attempt("serial-blossom"),),
        budget=inf,
    ),
    Method(
        "serial-weighted-blossom",
        "general_matching.weighted_blossom",
        "WeightedBlossomOptions",
        "one tree at a time with variable duals, searches with budgets that grow",
        "Edmonds 1965; Galil, Micali and Gabow 1986",
        weighted=True,
    ),
    Method(
        "multicore-weighted-blossom",
        "general_matching.weighted_blossom",
        "WeightedBlossomOptions",
        "serial-weighted-blossom on many threads: each search claims the nodes that it reads",
        "Edmonds 1965; Galil, Micali and Gabow 1986; Azad et al. 2012",
        parallel=True,
        weighted=True,
    ),
    Method(
        "serial-greedy",
        "general_matching.initial.greedy",
        "ProofOptions",
        "approximate: heavier edges first, at least 1/2 of the best matching",
        "Avis 1983",
        approximate=True,
        aliases=("greedy",),
    ),
    Method(
        "multicore-locally-dominant",
        "general_matching.initial.locally_dominant",
        "ProofOptions",
        "approximate: edges that outweigh all others at their ends, at least 1/2 of the best matching",
        "Preis 1999; Manne and Bisseling 2008",
        parallel=True,
        approximate=True,
        aliases=("locally-dominant",),
    ),
    CudaMethod(
        "cuda-locally-dominant",
        "general_matching.cuda_locally_dominant",
        "CudaLocallyDominantOptions",
        "approximate: the matching of multicore-locally-dominant, on a GPU",
        "Preis 1999; Manne and Bisseling 2008",
        copies=True,
        approximate=True,
    ),
    Method(
        "serial-two-thirds",
        "general_matching.initial.two_thirds",
        "ProofOptions",
        "approximate: augmentations with one or two new edges, at least 2/3 of the best matching",
        "Drake and Hougardy 2003; Pettie and Sanders 2004",
        approximate=True,
        aliases=("two-thirds",),
    ),
)

PROBLEM = Problem(
    folder="general_matching",
    functions={"matching": "general_matching.api"},
    results=("general_matching.result.GeneralMatchingResult",),
    containers=("graph.undirected.UndirectedGraph",),
    methods=METHODS,
    method_type="MatchingMethodName",
    page="general_matching",
    compile_seconds=5,
)
