"""The methods of max_flow_batch by name: data only, so that importing it loads none."""

from __future__ import annotations

from ...solving.method import Method

METHODS = (
    Method(
        "multicore-dinic",
        "maxflow.batch.multicore_dinic",
        "DinicBatchOptions",
        "each thread solves whole networks by augmenting paths in layers",
        "Dinic 1970",
        parallel=True,
    ),
    Method(
        "cuda-dinic",
        "maxflow.batch.cuda_dinic",
        "CudaDinicOptions",
        "each warp of a GPU solves whole networks by augmenting paths in layers",
        "Dinic 1970",
        device="cuda",
        copies=True,
    ),
)
