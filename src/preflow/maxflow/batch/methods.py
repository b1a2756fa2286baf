"""The methods of max_flow_batch by name: data only, so that importing it loads none."""

from __future__ import annotations

from ...cuda import CudaMethod
from ...solving.method import Method

METHODS = (
    Method(
        "multicore-augmenting-paths",
        "maxflow.batch.multicore_augmenting_paths",
        "NoOptions",
        "each thread solves whole networks by shortest augmenting paths and relabels",
        "Ahuja and Orlin 1991",
        parallel=True,
    ),
    CudaMethod(
        "cuda-dinic",
        "maxflow.batch.cuda_dinic",
        "NoOptions",
        "each warp of a GPU solves whole networks by augmenting paths in layers",
        "Dinic 1970",
        copies=True,
    ),
)
