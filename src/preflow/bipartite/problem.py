"""The record of bipartite matching: plain data, so that reading it loads no solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from ..cuda import CudaMethod
from ..errors import InvalidInputError
from ..solving.method import Method, Problem, load
from .attempts import CHEAP_PHASES, LOW_PUSHES, TREES

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..cuda.runtime import Device
    from ..graph.bipartite import BipartiteGraph, DeviceBipartiteGraph
    from ..solving.protocol import Chooser, GpuPolicy, InitialMatching, MatchingSolver
    from . import policy
    from .match_arrays import Matching

    HostSolver = MatchingSolver[BipartiteGraph, Matching]
    DeviceSolver = MatchingSolver[DeviceBipartiteGraph, Matching]
    HostHeuristic = InitialMatching[BipartiteGraph, Matching]
    DeviceHeuristic = InitialMatching[DeviceBipartiteGraph, Matching]
    CHOOSE: Chooser[BipartiteGraph, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[BipartiteGraph] = policy.worth_a_gpu

DUFF_KAYA_UCAR = "Duff, Kaya and Uçar 2011"
AZAD_2012 = "Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen 2012"

METHODS = (
    Method(
        "serial-push-relabel",
        "bipartite.serial_push_relabel",
        "PushRelabelOptions",
        "first in first out, global relabel every k (m + n) pushes, gaps",
        "Deveci, Kaya, Uçar and Çatalyürek 2013, algorithms 1 and 2",
        # Algorithm 1 as printed.
        variants={"PR": {"side": "columns", "double_push": False, "gap": False}},
        then=(TREES,),
        budget=inf,
    ),
    Method(
        "serial-hopcroft-karp",
        "bipartite.serial_hopcroft_karp",
        "NoOptions",
        "phases of shortest augmenting paths",
        "Hopcroft and Karp 1973",
        aliases=("HK",),
    ),
    Method(
        "serial-hkdw",
        "papers.baselines.serial_hkdw",
        "NoOptions",
        "Hopcroft and Karp with a second set of searches, of any length, in each phase",
        "Duff and Wiberg 1988",
        aliases=("HKDW",),
    ),
    Method(
        "serial-hybrid",
        "bipartite.serial_hopcroft_karp",
        "NoOptions",
        "Hopcroft and Karp while phases are cheap, then push-relabel",
        "preflow",
        then=(LOW_PUSHES, TREES),
        budget=CHEAP_PHASES.budget,
        gone={
            "scan_share": "'budget' takes its place",
            "relabel_period": "'serial-push-relabel', which goes on, has it where you name that method",
        },
    ),
    Method(
        "serial-pothen-fan",
        "papers.baselines.serial_pothen_fan",
        "PothenFanOptions",
        "phases of depth-first searches with lookahead and fairness",
        f"Pothen and Fan 1990; {DUFF_KAYA_UCAR}",
        aliases=("PFP",),
    ),
    Method(
        "multicore-pothen-fan",
        "papers.baselines.multicore_pothen_fan",
        "PothenFanOptions",
        "phases of disjoint depth-first searches with lookahead and fairness",
        AZAD_2012,
        parallel=True,
        aliases=("PFP",),
    ),
    Method(
        "multicore-disjoint-bfs",
        "papers.baselines.multicore_disjoint_bfs",
        "NoOptions",
        "phases of disjoint breadth-first searches, each from one free row",
        AZAD_2012,
        parallel=True,
        aliases=("P-DBFS",),
    ),
    Method(
        "multicore-push-relabel",
        "bipartite.multicore_push_relabel",
        "MulticorePushRelabelOptions",
        "rows push on their own, rows and labels of columns change together; few rows left are searched from",
        "Langguth, Azad, Halappanavar and Manne 2014",
        parallel=True,
        then=(TREES,),
        budget=inf,
    ),
    Method(
        "multicore-multi-source-bfs",
        "bipartite.multicore_multi_source_bfs",
        "NoOptions",
        "disjoint trees level by level from all free rows, one augmenting path a tree; also for one thread",
        "preflow, after Azad, Buluç and Pothen 2016",
        parallel=True,
    ),
    CudaMethod(
        "cuda-push-relabel",
        "papers.deveci.cuda_push_relabel",
        "PushRelabelOptions",
        "all active columns push at once, without atomic operations; global relabels on the GPU",
        "Deveci, Kaya, Uçar and Çatalyürek 2013",
        aliases=("G-PR", "G-PR-Shr"),
        variants={"G-PR-First": {"active_list": False}, "G-PR-NoShr": {"shrink": False}},
    ),
    CudaMethod(
        "cuda-hopcroft-karp",
        "papers.deveci.cuda_hopcroft_karp",
        "HopcroftKarpOptions",
        "phases of shortest augmenting paths, all walked at once",
        "Deveci, Kaya, Uçar and Çatalyürek, Euro-Par 2013",
        aliases=("G-HK",),
    ),
    CudaMethod(
        "cuda-hkdw",
        "papers.deveci.cuda_hopcroft_karp",
        "HopcroftKarpOptions",
        "the same with paths of any length in each phase",
        "Deveci, Kaya, Uçar and Çatalyürek, Euro-Par 2013",
        aliases=("G-HKDW",),
        preset={"shortest": False},
    ),
    CudaMethod(
        "cuda-multi-source-bfs",
        "bipartite.cuda_multi_source_bfs",
        "MultiSourceBfsOptions",
        "disjoint trees level by level from all free rows, one augmenting path a tree",
        "preflow, after Azad, Buluç and Pothen 2016",
    ),
)

PROBLEM = Problem(
    folder="bipartite",
    functions={"bipartite_matching": "bipartite.api"},
    results=("bipartite.result.MatchingResult",),
    containers=("graph.bipartite.BipartiteGraph",),
    methods=METHODS,
    method_type="BipartiteMethodName",
    page="matching",
    compile_seconds=12,
    families="generators.registry.BIPARTITE_FAMILIES",
    files=(".mtx.gz", ".mtx"),
)


@dataclass(frozen=True)
class Heuristic:
    """An initial matching under its name."""

    name: str
    module: str  #: the module that has the function ``start``
    summary: str
    paper: str
    #: where it runs, and the graph and the matching are: "cpu" or "cuda"
    device: Literal["cpu", "cuda"] = "cpu"

    @property
    def start(self) -> Callable[..., None]:
        """The function that adds edges to an empty matching of a graph."""
        return load(f"{self.module}.start")  # type: ignore[no-any-return]


INITIAL = (
    Heuristic(
        "cheap",
        "bipartite.initial.cheap",
        "every row takes its first free column",
        DUFF_KAYA_UCAR,
    ),
    Heuristic(
        "min-degree",
        "bipartite.initial.min_degree",
        "rows of low degree first, each takes the column that the fewest other rows can",
        "Magun 1998",
    ),
    Heuristic(
        "karp-sipser",
        "bipartite.initial.karp_sipser",
        "vertices with one neighbour left first",
        "Karp and Sipser 1981",
    ),
    Heuristic(
        "sinkhorn-knopp",
        "bipartite.initial.sinkhorn_knopp",
        "two-sided sampling from the scaled matrix",
        "Dufossé, Kaya and Uçar 2015",
    ),
    Heuristic(
        "proposals",
        "bipartite.initial.proposals",
        "on a GPU: rows propose in rounds, columns choose; the same in every run on the same arrays",
        "Blelloch, Fineman and Shun 2012",
        device="cuda",
    ),
)


def find_heuristic(name: str) -> Heuristic | None:
    """Return the initial matching of that name, None for "none".

    InvalidInputError: there is no such name.
    """
    if name == "none":
        return None
    for heuristic in INITIAL:
        if name == heuristic.name:
            return heuristic
    names = ", ".join(heuristic.name for heuristic in INITIAL)
    raise InvalidInputError(
        f"unknown initial matching {name!r}; there are: auto, none, {names}, or a matching"
    )
