"""The assignment solvers by name: data only, so that importing it loads none."""

from __future__ import annotations

from ..solving.method import Method

METHODS = (
    Method(
        "serial-shortest-path",
        "assignment.serial_shortest_path",
        "ShortestPathOptions",
        "reductions of columns and rows, then shortest augmenting paths over lists of the cheapest columns",
        "Jonker and Volgenant 1987",
        aliases=("JV",),
        points=True,
    ),
    Method(
        "cuda-batch",
        "assignment.cuda_batch",
        "BatchOptions",
        "many dense problems at once, each by shortest augmenting paths of one warp or block",
        "Jonker and Volgenant 1987",
        device="cuda",
    ),
    Method(
        "cuda-shortest-path",
        "assignment.cuda_shortest_path",
        "CudaShortestPathOptions",
        "few large dense problems: shortest paths from all free columns at once, over lists",
        "Balas, Miller, Pekny and Toth 1991",
        device="cuda",
        points=True,
    ),
)
