"""The solvers of matching in general graphs by name: data only, so that importing it loads no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..solving.method import Method

if TYPE_CHECKING:
    # mypy checks the signature of each solver against the protocol.
    from ..cuda.runtime import Device
    from ..graph.undirected import Neighbours, UndirectedGraph
    from ..solving.protocol import Chooser, GeneralMatchingSolver
    from . import (
        cuda_locally_dominant,
        initial,
        multicore_blossom,
        policy,
        serial_blossom,
        serial_gabow,
        serial_weighted_blossom,
    )
    from .solution import GeneralState, Partners

    HostSolver = GeneralMatchingSolver[Neighbours, Partners, GeneralState]
    HOST_SOLVERS: tuple[HostSolver, ...] = (
        serial_blossom.solve,
        serial_gabow.solve,
        serial_weighted_blossom.solve,
        multicore_blossom.solve,
        initial.greedy.solve,
        initial.locally_dominant.solve,
        cuda_locally_dominant.solve,
        initial.two_thirds.solve,
    )
    CHOOSE: Chooser[UndirectedGraph, Device] = policy.choose

METHODS = (
    Method(
        "serial-blossom",
        "general_matching.serial_blossom",
        "BlossomOptions",
        "without weights: trees from all free vertices at once, after the matching of Karp and Sipser",
        "Edmonds 1965; Gabow 1976; Karp and Sipser 1981",
    ),
    Method(
        "serial-gabow",
        "general_matching.serial_gabow",
        "GabowOptions",
        "without weights: phases of disjoint shortest augmenting paths, O(sqrt(n) m)",
        "Gabow 2017; Gabow and Tarjan 1991; Karp and Sipser 1981",
    ),
    Method(
        "multicore-blossom",
        "general_matching.multicore_blossom",
        "MulticoreBlossomOptions",
        "without weights: each tree is grown by one thread, trees that meet are augmented between barriers",
        "Edmonds 1965; Gabow 1976; Azad et al. 2012",
        parallel=True,
    ),
    Method(
        "serial-weighted-blossom",
        "general_matching.serial_weighted_blossom",
        "WeightedBlossomOptions",
        "one tree at a time with variable duals, searches with budgets that grow",
        "Edmonds 1965; Galil, Micali and Gabow 1986",
        weighted=True,
    ),
    Method(
        "serial-greedy",
        "general_matching.initial.greedy",
        "GreedyOptions",
        "approximate: heavier edges first, at least 1/2 of the best matching",
        "Avis 1983",
        approximate=True,
        aliases=("greedy",),
    ),
    Method(
        "multicore-locally-dominant",
        "general_matching.initial.locally_dominant",
        "LocallyDominantOptions",
        "approximate: edges that outweigh all others at their ends, at least 1/2 of the best matching",
        "Preis 1999; Manne and Bisseling 2008",
        parallel=True,
        approximate=True,
        aliases=("locally-dominant",),
    ),
    Method(
        "cuda-locally-dominant",
        "general_matching.cuda_locally_dominant",
        "CudaLocallyDominantOptions",
        "approximate: the matching of multicore-locally-dominant, on a GPU",
        "Preis 1999; Manne and Bisseling 2008",
        device="cuda",
        copies=True,
        approximate=True,
    ),
    Method(
        "serial-two-thirds",
        "general_matching.initial.two_thirds",
        "TwoThirdsOptions",
        "approximate: augmentations with one or two new edges, at least 2/3 of the best matching",
        "Drake and Hougardy 2003; Pettie and Sanders 2004",
        approximate=True,
        aliases=("two-thirds",),
    ),
)
