"""The record of minimum cuts of grids: plain data, so that reading it loads no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cuda import CudaMethod
from ..solving.method import Method, Problem
from ..solving.plan import Attempt

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..cuda.runtime import Device
    from ..graph.grid import GridNetwork
    from ..graph.integer_grid import IntegerGrid
    from ..solving.protocol import Chooser, GpuPolicy, GridSolver
    from . import policy
    from .solution import GridFlow, GridSolution

    HostSolver = GridSolver[IntegerGrid, GridFlow, GridSolution]
    DeviceSolver = HostSolver
    CHOOSE: Chooser[GridNetwork, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[GridNetwork] = policy.worth_a_gpu

#: Orphans per arc of the grid that a search may process. Images and volumes with noise everywhere take 0.4 to
#: 1, with 26 neighbours 2.4; thin regions and seeds up to 16, which push-relabel does as fast; traps 80. With
#: 3.0 the solve of a trap took up to 2.3 times as long as push-relabel alone, with 2.0 at most 2.0 times.
ORPHANS_PER_ARC = 2.0
PUSH_RELABEL = (Attempt("multicore-lockfree"),)
GONE = {"patience": "'budget' takes its place"}
HONG_ON_GRIDS = "Hong 2008; Łupińska, sections 4.4 to 4.6"

METHODS = (
    Method(
        "serial-incremental-bfs",
        "gridcut.serial_incremental_bfs",
        "IncrementalBfsOptions",
        "breadth-first trees from source and sink that are repaired, not rebuilt, after each augmentation",
        "Goldberg, Hed, Kaplan, Tarjan and Werneck 2011",
        aliases=("IBFS",),
        then=PUSH_RELABEL,
        budget=ORPHANS_PER_ARC,
        gone=GONE,
    ),
    Method(
        "serial-boykov-kolmogorov",
        "papers.baselines.serial_boykov_kolmogorov",
        "NoOptions",
        "trees from source and sink that grow in any order; paths need not be shortest",
        "Boykov and Kolmogorov 2004",
        aliases=("BK",),
    ),
    Method(
        "multicore-merging",
        "gridcut.multicore_merging",
        "MergingOptions",
        "incremental searches of blocks, then of larger blocks across these; then blocks are merged",
        "Liu and Sun 2010; preflow",
        parallel=True,
        then=PUSH_RELABEL,
        budget=ORPHANS_PER_ARC,
        gone=GONE,
    ),
    Method(
        "multicore-lockfree",
        "gridcut.multicore_lockfree",
        "GridLockFreeOptions",
        "pushes to the lowest neighbour without locks, periodic global relabels; also for one thread",
        HONG_ON_GRIDS,
        parallel=True,
        variants={"Hong": {"relabel_period": None, "initial_labels": "zero"}},
    ),
    CudaMethod(
        "cuda-lockfree",
        "gridcut.cuda_lockfree",
        "CudaGridLockFreeOptions",
        "one thread per pixel pushes to the lowest neighbour; global and gap relabels every few cycles",
        HONG_ON_GRIDS,
    ),
    CudaMethod(
        "cuda-hybrid",
        "papers.lupinska.cuda_hybrid",
        "GridHybridOptions",
        "one thread per pixel pushes to the lowest neighbour on the GPU; global and gap relabels on the CPU",
        "He and Hong 2010; Łupińska, sections 4.5 and 4.6",
        variants={
            "Lupinska": {"upload": False, "stopping": "published"},
            "CPU-GPU-Hybrid": {"gap": False, "upload": False, "stopping": "published"},
        },
    ),
    CudaMethod(
        "cuda-blocking",
        "papers.baselines.cuda_blocking",
        "BlockingOptions",
        "phases of pushes and relabels with heights in shared memory, as in CudaCuts, but exact",
        "Vineet and Narayanan 2008; Hussein, Varshney and Davis 2007; Łupińska, section 4.3",
        variants={"CudaCuts": {"stopping": "published"}},
    ),
    CudaMethod(
        "cuda-tiled",
        "gridcut.cuda_tiled",
        "TiledOptions",
        "tiles are discharged in shared memory as far as possible, then excess is handed over their borders",
        "preflow; Delong and Boykov 2008",
        streams=True,
        then=(Attempt("auto"),),
        gone={"leave_after": "'budget' takes its place"},
    ),
)

PROBLEM = Problem(
    folder="gridcut",
    functions={"grid_cut": "gridcut.api"},
    results=("gridcut.result.GridCutResult",),
    containers=("graph.grid.GridNetwork",),
    methods=METHODS,
    method_type="GridMethodName",
    page="grid_cut",
    compile_seconds=10,
)
