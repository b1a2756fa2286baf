"""The solvers of grid cuts by name: data only, so that importing it loads no solver."""

from __future__ import annotations

from ..solving.method import Method

HONG_ON_GRIDS = "Hong 2008; Łupińska, sections 4.4 to 4.6"

METHODS = (
    Method(
        "serial-incremental-bfs",
        "gridcut.serial_incremental_bfs",
        "IncrementalBfsOptions",
        "breadth-first trees from source and sink that are repaired, not grown anew, after each augmentation",
        "Goldberg, Hed, Kaplan, Tarjan and Werneck 2011",
        aliases=("IBFS",),
    ),
    Method(
        "serial-boykov-kolmogorov",
        "gridcut.serial_boykov_kolmogorov",
        "BoykovKolmogorovOptions",
        "trees from source and sink in any order; paths need not be shortest",
        "Boykov and Kolmogorov 2004",
        aliases=("BK",),
    ),
    Method(
        "multicore-merging",
        "gridcut.multicore_merging",
        "MergingOptions",
        "blocks of the grid solved alone, then larger ones across them, by incremental searches; then merged",
        "Liu and Sun 2010; preflow",
        parallel=True,
    ),
    Method(
        "multicore-lockfree",
        "gridcut.multicore_lockfree",
        "GridLockFreeOptions",
        "push to the lowest neighbour without locks; a global relabel now and then",
        HONG_ON_GRIDS,
        parallel=True,
        aliases=("Hong",),
    ),
    Method(
        "cuda-lockfree",
        "gridcut.cuda_lockfree",
        "CudaGridLockFreeOptions",
        "one thread a pixel pushes to the lowest neighbour; global and gap relabels every few cycles",
        HONG_ON_GRIDS,
        device="cuda",
    ),
    Method(
        "cuda-blocking",
        "gridcut.cuda_blocking",
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
        "tiles in shared memory discharge until they can do no more, then hand excess over their borders",
        "preflow; Delong and Boykov 2008",
        device="cuda",
    ),
)
