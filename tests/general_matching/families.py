"""Graphs of all kinds, and solves of many threads that are held up at random."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from benchmarks.instances.undirected import (
    nested_blossoms,
    odd_cycle_chain,
    random_graph,
    triangulated_points,
    undirected,
)
from preflow.generators.bipartite import rmat, road_like
from preflow.graph.undirected import UndirectedGraph
from preflow.parallel.delays import make_delays
from preflow.solving.run import Control

FAMILIES = {
    "degree 3": random_graph(5000, 3),
    "degree 6": random_graph(5000, 6),
    "rmat": undirected(rmat(10, 8)),
    "road": undirected(road_like(5000)),
    "delaunay": triangulated_points(3000),
    "odd delaunay": triangulated_points(5001),
    "cycles": odd_cycle_chain(3000),
    "nested": nested_blossoms(1000),
    "star": UndirectedGraph.from_arrays(np.zeros(3000, int), np.arange(3000)),
}
#: ``PREFLOW_STRESS=5000 pytest tests/general_matching/test_multicore.py`` solves 5,000 graphs.
GRAPHS = int(os.environ.get("PREFLOW_STRESS", "60"))
#: Seconds after which a solve is taken to hang; it then has no value.
HANGS = 30


def delay(patch: pytest.MonkeyPatch, num_vertices: int, seed: int) -> int:
    """Hold up threads at random, and return how many of them are to solve a graph."""
    threads = min(int(np.random.default_rng(seed).integers(2, 17)), num_vertices)
    patch.setattr("preflow.solving.call.Control", partial(Control, delays=make_delays(threads, seed)))
    return threads
