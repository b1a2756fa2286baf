"""GENRMF: square frames in a row, joined by random permutations.

Goldfarb and Grigoriadis, "A computational comparison of the Dinic and network simplex methods for maximum
flow", Annals of Operations Research 13 (1988); the program ``genrmf`` of the first DIMACS challenge.
"""

from __future__ import annotations

import numpy as np

from ..checks import check_integer
from ..errors import InvalidInputError
from ..graph.network import FlowNetwork, MaxFlowProblem
from .parameters import check_capacity, instance_name, seeded


def rmf(
    side: int,
    frames: int,
    *,
    min_capacity: int = 1,
    max_capacity: int = 10_000,
    seed: int = 0,
) -> MaxFlowProblem:
    """Return a GENRMF network: many small frames ("long") or few large ones ("wide").

    Within a frame every vertex has an arc to each of its four grid neighbours, of capacity
    ``max_capacity * side**2``, which never binds. From each frame to the next a random permutation
    leads, one arc a vertex, of capacity uniform in ``[min_capacity, max_capacity]``. The source is the
    first vertex of the first frame, the sink the last of the last.

    Parameters
    ----------
    side : int
        a: a frame has ``side * side`` vertices.
    frames : int
        b: number of frames.
    min_capacity, max_capacity : int
        c1 and c2.

    Returns
    -------
    MaxFlowProblem
        ``a*a*b`` vertices and ``5*a*a*b - 4*a*b - a*a`` arcs, ordered by tail as in the original: the arc
        to the next frame, then right, left, down, up.

    Examples
    --------
    >>> rmf(16, 8)
    MaxFlowProblem('rmf-wide 16x8 seed 0': 2,048 vertices, 9,472 arcs, source 0, sink 2047)
    """
    side = check_integer("side", side)
    frames = check_integer("frames", frames)
    min_capacity = check_integer("min_capacity", min_capacity, minimum=0)
    check_capacity("max_capacity", max_capacity, factor=side * side)
    if min_capacity > max_capacity:
        raise InvalidInputError(f"min_capacity {min_capacity} is above max_capacity {max_capacity}")
    area = side * side
    num_vertices = area * frames
    if num_vertices < 2:
        raise InvalidInputError("side 1 and frames 1 leave a single vertex: source and sink must differ")
    rng = seeded(seed)

    vertex = np.arange(num_vertices, dtype=np.int64)
    column, row = vertex % side, vertex // side % side
    next_frame = rng.permuted(np.broadcast_to(np.arange(area), (frames - 1, area)), axis=1)
    next_frame += np.arange(area, num_vertices, area)[:, np.newaxis]

    head = np.empty((num_vertices, 5), dtype=np.int64)
    head[: num_vertices - area, 0] = next_frame.ravel()
    head[:, 1:] = vertex[:, np.newaxis] + np.array([1, -1, side, -side])
    exists = np.empty((num_vertices, 5), dtype=np.bool_)
    exists[:, 0] = vertex < num_vertices - area
    exists[:, 1], exists[:, 2] = column < side - 1, column > 0
    exists[:, 3], exists[:, 4] = row < side - 1, row > 0
    capacity = np.full((num_vertices, 5), max_capacity * area, dtype=np.int64)
    capacity[: num_vertices - area, 0] = rng.integers(
        min_capacity, max_capacity, size=num_vertices - area, endpoint=True
    )
    network = FlowNetwork.from_arrays(
        np.repeat(vertex, exists.sum(axis=1)), head[exists], capacity[exists], num_vertices=num_vertices
    )
    shape = "rmf-wide" if side > frames else "rmf-long" if side < frames else "genrmf"
    name = instance_name(
        shape,
        f"{side}x{frames}",
        seed,
        min_capacity=(min_capacity, 1),
        max_capacity=(max_capacity, 10_000),
    )
    return MaxFlowProblem(network, 0, num_vertices - 1, name=name)
