"""The methods of matching_batch by name: data only, so that importing it loads none."""

from __future__ import annotations

from ...cuda import CudaMethod
from ...solving.method import Method

METHODS = (
    Method(
        "multicore-edmonds",
        "general_matching.batch.multicore_edmonds",
        "NoOptions",
        "each thread matches whole graphs, one tree at a time with variable duals",
        "Edmonds 1965; Galil, Micali and Gabow 1986",
        parallel=True,
        weighted=True,
    ),
    CudaMethod(
        "cuda-edmonds",
        "general_matching.batch.cuda_edmonds",
        "NoOptions",
        "each warp of a GPU matches whole graphs, one tree at a time, all lanes scanning rows",
        "Edmonds 1965; Galil, Micali and Gabow 1986",
        copies=True,
        weighted=True,
    ),
)
