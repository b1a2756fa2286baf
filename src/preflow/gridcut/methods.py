"""The methods of grid_cut by name: data only, so that importing it loads no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..solving.method import Method

if TYPE_CHECKING:
    # Each solver, by the memory that its arrays lie in: mypy checks its signature against the protocol.
    from ..cuda.runtime import Device
    from ..graph.grid import GridNetwork
    from ..graph.integer_grid import IntegerGrid
    from ..solving.protocol import Chooser, GpuPolicy, GridSolver
    from . import (
        cuda_lockfree,
        cuda_tiled,
        multicore_lockfree,
        multicore_merging,
        policy,
        serial_incremental_bfs,
    )
    from .solution import GridFlow, GridSolution

    Solver = GridSolver[IntegerGrid, GridFlow, GridSolution]
    HOST_SOLVERS: tuple[Solver, ...] = (
        cuda_tiled.solve_streamed,
        multicore_lockfree.solve,
        multicore_merging.solve,
        serial_incremental_bfs.solve,
    )
    DEVICE_SOLVERS: tuple[Solver, ...] = (
        cuda_lockfree.solve,
        cuda_tiled.solve,
    )

    CHOOSE: Chooser[GridNetwork, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[GridNetwork] = policy.worth_a_gpu

HONG_ON_GRIDS = "Hong 2008; Łupińska, sections 4.4 to 4.6"

METHODS = (
    Method(
        "serial-incremental-bfs",
        "gridcut.serial_incremental_bfs",
        "IncrementalBfsOptions",
        "breadth-first trees from source and sink that are repaired, not rebuilt, after each augmentation",
        "Goldberg, Hed, Kaplan, Tarjan and Werneck 2011",
        aliases=("IBFS",),
    ),
    Method(
        "serial-boykov-kolmogorov",
        "papers.baselines.serial_boykov_kolmogorov",
        "BoykovKolmogorovOptions",
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
    ),
    Method(
        "multicore-lockfree",
        "gridcut.multicore_lockfree",
        "GridLockFreeOptions",
        "pushes to the lowest neighbour without locks, and periodic global relabels",
        HONG_ON_GRIDS,
        parallel=True,
        variants={"Hong": {"relabel_period": None}},
    ),
    Method(
        "cuda-lockfree",
        "gridcut.cuda_lockfree",
        "CudaGridLockFreeOptions",
        "one thread per pixel pushes to the lowest neighbour; global and gap relabels every few cycles",
        HONG_ON_GRIDS,
        device="cuda",
    ),
    Method(
        "cuda-hybrid",
        "papers.lupinska.cuda_hybrid",
        "GridHybridOptions",
        "one thread per pixel pushes to the lowest neighbour on the GPU; global and gap relabels on the CPU",
        "He and Hong 2010; Łupińska, sections 4.5 and 4.6",
        device="cuda",
        variants={
            "Lupinska": {"upload": False, "stopping": "published"},
            "CPU-GPU-Hybrid": {"gap": False, "upload": False, "stopping": "published"},
        },
    ),
    Method(
        "cuda-blocking",
        "papers.baselines.cuda_blocking",
        "BlockingOptions",
        "phases of pushes and relabels with heights in shared memory, as in CudaCuts, but exact",
        "Vineet and Narayanan 2008; Łupińska, section 4.3",
        device="cuda",
        aliases=("CudaCuts",),
    ),
    Method(
        "cuda-tiled",
        "gridcut.cuda_tiled",
        "TiledOptions",
        "tiles are discharged in shared memory as far as possible, then excess is handed over their borders",
        "preflow; Delong and Boykov 2008",
        device="cuda",
        streams=True,
    ),
)
