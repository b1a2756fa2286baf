"""The Washington generator, kinds 1 to 5: levels of vertices with arcs from each level to the next.

Richard Anderson's seminar, University of Washington, for the first DIMACS challenge (``washington.c``).
The source is vertex 0, then come the levels one after another, then the sink. Arcs are ordered as in the
original's files: those of the source, last vertex first; then by tail; then those of the sink.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import check_integer
from ..errors import InvalidInputError
from ..graph.network import FlowNetwork, MaxFlowProblem
from .parameters import check_capacity, instance_name, seeded
from .sampling import distinct_rows

DEFAULT_CAPACITY = 10_000
#: A terminal arc carries what the arcs of a vertex of out-degree 3 carry at most.
TERMINAL_FACTOR = 3
#: Out-degree in the random level graphs and in the mesh.
DEGREE = 3


def mesh(width: int, levels: int, *, max_capacity: int = DEFAULT_CAPACITY, seed: int = 0) -> MaxFlowProblem:
    """Return a Washington mesh (kind 1): vertex j of a level leads to j + 1, j and j - 1 of the next.

    Parameters
    ----------
    width : int
        Vertices in a level (dim1), at least 3; neighbours are cyclic.
    levels : int
        Number of levels (dim2), at least 2.
    max_capacity : int
        Capacities are uniform in ``[1, max_capacity]``; arcs at the terminals have three times the maximum.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``width * levels + 2`` vertices, ``3 * width * (levels - 1) + 2 * width`` arcs.

    Raises
    ------
    InvalidInputError
        A level is too narrow for three distinct targets, or there are fewer than two levels.

    Notes
    -----
    Time and memory O(width * levels).

    Examples
    --------
    >>> mesh(64, 64, max_capacity=1000).network.num_arcs
    12224
    """
    _check_levels(width, levels, max_capacity)
    place = np.arange(width, dtype=np.int64)
    targets = (place[:, np.newaxis] + np.array([1, 0, -1])) % width
    first_of_level = 1 + width * np.arange(1, levels, dtype=np.int64)
    head = first_of_level[:, np.newaxis, np.newaxis] + targets
    name = instance_name("mesh", f"{width}x{levels}", seed, max_capacity=(max_capacity, DEFAULT_CAPACITY))
    return _three_a_vertex(head, width, levels, max_capacity, seeded(seed), name)


def random_level(
    width: int, levels: int, *, max_capacity: int = DEFAULT_CAPACITY, seed: int = 0
) -> MaxFlowProblem:
    """Return a random level graph, RLG (kind 2): three distinct random targets in the next level.

    Parameters
    ----------
    width : int
        Vertices in a level (dim1), at least 3.
    levels : int
        Number of levels (dim2), at least 2.
    max_capacity : int
        Capacities are uniform in ``[1, max_capacity]``; arcs at the terminals have three times the maximum.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``width * levels + 2`` vertices, ``3 * width * (levels - 1) + 2 * width`` arcs.

    Raises
    ------
    InvalidInputError
        A level is too narrow for three distinct targets, or there are fewer than two levels.

    Notes
    -----
    Kind 3 of the original program is the same: its two-level routine is never called. See
    :func:`two_level` for what it meant to be. Time and memory O(width * levels).

    Examples
    --------
    >>> random_level(256, 16)
    MaxFlowProblem('rlg-wide 256x16 seed 0': 4,098 vertices, 12,032 arcs, source 0, sink 4097)
    """
    _check_levels(width, levels, max_capacity)
    rng = seeded(seed)
    head = distinct_rows(rng, width * (levels - 1), DEGREE, width)
    head += np.repeat(1 + width * np.arange(1, levels, dtype=np.int64), width)[:, np.newaxis]
    shape = "rlg-wide" if width > levels else "rlg-long" if width < levels else "rlg"
    name = instance_name(shape, f"{width}x{levels}", seed, max_capacity=(max_capacity, DEFAULT_CAPACITY))
    return _three_a_vertex(head, width, levels, max_capacity, rng, name)


def two_level(
    width: int, levels: int, *, max_capacity: int = DEFAULT_CAPACITY, seed: int = 0
) -> MaxFlowProblem:
    """Return a random two-level graph: three distinct random targets among the next two levels.

    Parameters
    ----------
    width : int
        Vertices in a level (dim1), at least 3; those of the last level but one choose in the last.
    levels : int
        Number of levels (dim2), at least 2.
    max_capacity : int
        Capacities are uniform in ``[1, max_capacity]``; arcs at the terminals have three times the maximum.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``width * levels + 2`` vertices, ``3 * width * (levels - 1) + 2 * width`` arcs.

    Raises
    ------
    InvalidInputError
        A level is too narrow for three distinct targets, or there are fewer than two levels.

    Notes
    -----
    This is what kind 3 of the original describes; the original program generates kind 2 under this name
    (and so do its published files). Time and memory O(width * levels).

    Examples
    --------
    >>> two_level(64, 32, max_capacity=1000).network.num_arcs
    6080
    """
    _check_levels(width, levels, max_capacity)
    rng = seeded(seed)
    head = np.concatenate(
        [
            distinct_rows(rng, width * (levels - 2), DEGREE, 2 * width),
            distinct_rows(rng, width, DEGREE, width),
        ]
    )
    head += np.repeat(1 + width * np.arange(1, levels, dtype=np.int64), width)[:, np.newaxis]
    name = instance_name(
        "two-level", f"{width}x{levels}", seed, max_capacity=(max_capacity, DEFAULT_CAPACITY)
    )
    return _three_a_vertex(head, width, levels, max_capacity, rng, name)


def matching(n: int, degree: int, *, seed: int = 0) -> MaxFlowProblem:
    """Return a bipartite matching problem as a flow problem (kind 4): all capacities are 1.

    Parameters
    ----------
    n : int
        Vertices on either side (dim1).
    degree : int
        Distinct random right vertices that each left vertex leads to (dim2), at most ``n``.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``2 * n + 2`` vertices, ``n * (degree + 2)`` arcs.

    Raises
    ------
    InvalidInputError
        ``degree`` is larger than ``n``, or one of them is below 1.

    Notes
    -----
    Time and memory O(n * degree), times log(degree) for keeping targets distinct.

    Examples
    --------
    >>> matching(500, 4).network.num_arcs
    3000
    """
    check_integer("n", n)
    check_integer("degree", degree)
    if degree > n:
        raise InvalidInputError(f"degree {degree} is above n {n}: a left vertex has only n possible targets")
    head = distinct_rows(seeded(seed), n, degree, n)
    head += 1 + n
    tail = np.repeat(np.arange(1, n + 1, dtype=np.int64), degree)
    capacity = np.ones(n * degree, dtype=np.int64)
    name = instance_name("matching", f"{n}x{degree}", seed)
    return _with_terminals(tail, head.ravel(), capacity, 2 * n, n, 1, name)


def square_mesh(
    side: int, degree: int, *, max_capacity: int = DEFAULT_CAPACITY, seed: int = 0
) -> MaxFlowProblem:
    """Return a Washington square mesh (kind 5): arcs to the vertices at ``+side, +side + 1, ...``.

    Parameters
    ----------
    side : int
        Vertices in a level and number of levels (dim1), at least 2.
    degree : int
        Arcs of a vertex (dim2), at most ``side``.
    max_capacity : int
        Capacities are uniform in ``[1, max_capacity]``; arcs at the terminals have three times the maximum.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``side**2 + 2`` vertices, ``side * (side - 1) * degree - degree * (degree - 1) / 2 + 2 * side``
        arcs: a target past the end of a level lies in the level after it, and one past the last vertex
        is left out.

    Raises
    ------
    InvalidInputError
        ``degree`` is larger than ``side``, or a size is too small.

    Notes
    -----
    Time and memory O(side**2 * degree).

    Examples
    --------
    >>> square_mesh(40, 4, max_capacity=1000).network.num_arcs
    6314
    """
    check_integer("side", side, minimum=2)
    check_integer("degree", degree)
    check_capacity("max_capacity", max_capacity, TERMINAL_FACTOR)
    if degree > side:
        raise InvalidInputError(
            f"degree {degree} is above side {side}: arcs lead to the next two levels only"
        )
    tail = np.repeat(np.arange(1, side * (side - 1) + 1, dtype=np.int64), degree)
    head = tail.reshape(-1, degree) + np.arange(side + degree - 1, side - 1, -1)
    exists = head.ravel() <= side * side
    capacity = seeded(seed).integers(1, max_capacity, size=int(exists.sum()), endpoint=True)
    name = instance_name(
        "square-mesh", f"{side}x{degree}", seed, max_capacity=(max_capacity, DEFAULT_CAPACITY)
    )
    return _with_terminals(
        tail[exists],
        head.ravel()[exists],
        capacity,
        side * side,
        side,
        TERMINAL_FACTOR * max_capacity,
        name,
    )


def _check_levels(width: int, levels: int, max_capacity: int) -> None:
    check_integer("width", width)
    check_integer("levels", levels, minimum=2)
    check_capacity("max_capacity", max_capacity, TERMINAL_FACTOR)
    if width < DEGREE:
        raise InvalidInputError(f"width {width} is below {DEGREE}: a vertex has {DEGREE} distinct targets")


def _three_a_vertex(
    head: NDArray[np.int64],
    width: int,
    levels: int,
    max_capacity: int,
    rng: np.random.Generator,
    name: str,
) -> MaxFlowProblem:
    """Finish a network whose vertices, all but the last level's, have the three heads given in order."""
    tail = np.repeat(np.arange(1, width * (levels - 1) + 1, dtype=np.int64), DEGREE)
    capacity = rng.integers(1, max_capacity, size=len(tail), endpoint=True)
    return _with_terminals(
        tail, head.ravel(), capacity, width * levels, width, TERMINAL_FACTOR * max_capacity, name
    )


def _with_terminals(
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    capacity: NDArray[np.int64],
    num_inner: int,
    width: int,
    terminal_capacity: int,
    name: str,
) -> MaxFlowProblem:
    """Add the source before and the sink after the inner vertices, joined to ``width`` of them each."""
    sink = num_inner + 1
    terminal = np.full(width, terminal_capacity, dtype=np.int64)
    network = FlowNetwork.from_arrays(
        np.concatenate([np.zeros(width, dtype=np.int64), tail, np.arange(sink - width, sink)]),
        np.concatenate([np.arange(width, 0, -1), head, np.full(width, sink)]),
        np.concatenate([terminal, capacity, terminal]),
        num_vertices=sink + 1,
    )
    return MaxFlowProblem(network, 0, sink, name=name)
