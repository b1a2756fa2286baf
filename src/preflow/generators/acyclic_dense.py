"""Fully dense acyclic networks: the program ``ac`` (Setubal) of the first DIMACS challenge."""

from __future__ import annotations

import numpy as np

from ..checks import check_integer
from ..graph.network import FlowNetwork, MaxFlowProblem
from .parameters import check_capacity, instance_name, seeded


def ac_dense(n: int, *, max_capacity: int = 1_000_000, seed: int = 0) -> MaxFlowProblem:
    """Return the complete acyclic network: an arc from every vertex to every later one.

    Parameters
    ----------
    n : int
        Number of vertices; the source is the first, the sink the last.
    max_capacity : int
        Capacities are uniform in ``[1, max_capacity]``: 10**6 in the original program, 10,000 in Cihan's
        measurements.

    Returns
    -------
    MaxFlowProblem
        ``n`` vertices and ``n * (n - 1) / 2`` arcs, by tail and then by head as in the original.

    Examples
    --------
    >>> ac_dense(200)
    MaxFlowProblem('ac-dense 200 seed 0': 200 vertices, 19,900 arcs, source 0, sink 199)
    """
    n = check_integer("n", n, minimum=2)
    check_capacity("max_capacity", max_capacity)
    rng = seeded(seed)
    degree = np.arange(n - 1, -1, -1, dtype=np.int64)
    num_arcs = n * (n - 1) // 2
    tail = np.repeat(np.arange(n, dtype=np.uint32), degree)
    first_arc = np.cumsum(degree) - degree
    # Arc i of the list is arc i - first_arc[tail] of its tail, and the first of those leads to tail + 1.
    head = np.arange(1, num_arcs + 1, dtype=np.int64)
    head -= np.repeat(first_arc - np.arange(n), degree)
    capacity = rng.integers(1, max_capacity, size=num_arcs, endpoint=True)
    network = FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
    name = instance_name("ac-dense", f"{n}", seed, max_capacity=(max_capacity, 1_000_000))
    return MaxFlowProblem(network, 0, n - 1, name=name)
