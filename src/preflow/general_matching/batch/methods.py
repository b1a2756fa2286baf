"""The methods of matching_batch by name: data only, so that importing it loads none."""

from __future__ import annotations

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
)
