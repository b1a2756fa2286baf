"""The generators of the first DIMACS challenge: GENRMF, the Washington generator, and dense acyclic networks.

GENRMF, square frames in a row, joined by random permutations: Goldfarb and Grigoriadis, "A computational
comparison of the Dinic and network simplex methods for maximum flow", Annals of Operations Research 13
(1988). Dense acyclic networks are those of the program ``ac`` (Setubal).

The Washington generator, ``washington.c`` of Richard Anderson's seminar, University of Washington, has eleven
kinds of network.

- Kinds 1 to 5 are levels of vertices with arcs from each level to the next.
- Kinds 6 to 8 are a line of ``n * m`` vertices with arcs to random vertices nearby. The source leads to the
  first m vertices and the last m lead to the sink, with a capacity that never binds.
- Kinds 9 to 11 are fixed networks on which a given algorithm needs the most time. They are not random; they
  accept ``seed`` because every family does.

In kinds 1 to 8 the source is vertex 0, the inner vertices follow, and the sink is last. Vertices and arcs
have the order of the original's files. In kinds 1 to 8 the arcs of the source come first, last vertex first,
then the other arcs by tail, then those into the sink.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..checks import check_integer
from ..errors import InvalidInputError
from ..graph.network import FlowNetwork, MaxFlowProblem
from .parameters import check_capacity, distinct_rows, instance_name, seeded

#: Default largest capacity of kinds 1, 2, 3 and 5.
DEFAULT_CAPACITY = 10_000
#: Capacity of a terminal arc, in multiples of the largest capacity: no more leaves a vertex of out-degree 3.
TERMINAL_FACTOR = 3
#: Out-degree in the random level graphs and in the mesh.
DEGREE = 3
#: Largest capacity of a line.
LINE_CAPACITY = 1_000_000
#: Capacity of the terminal arcs of a line in the DIMACS files; never binds up to degree 200.
LINE_TERMINAL_CAPACITY = 200_000_000
#: The table of the original program: LINE_CAPACITY / 2**k, rounded.
# fmt: off
HALVED_CAPACITY: NDArray[np.int64] = np.array(
    [1000000, 500000, 250000, 125000, 62500, 31250, 15625, 7812, 3906, 1953,
     976, 488, 244, 122, 61, 31, 15, 7, 4, 2],
    dtype=np.int64,
)
# fmt: on
#: The capacity of arcs that are not meant to bind, in the DIMACS files.
VERY_BIG = 1_000_000


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

    Returns
    -------
    MaxFlowProblem
        ``width * levels + 2`` vertices, ``3 * width * (levels - 1) + 2 * width`` arcs.

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
    width, levels, max_capacity, seed
        As for :func:`mesh`.

    Returns
    -------
    MaxFlowProblem
        As large as a mesh.

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
    width, levels, max_capacity, seed
        As for :func:`mesh`; vertices of the last level but one lead to the last.

    Returns
    -------
    MaxFlowProblem
        As large as a mesh.

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

    Returns
    -------
    MaxFlowProblem
        ``2 * n + 2`` vertices, ``n * (degree + 2)`` arcs.

    Examples
    --------
    >>> matching(500, 4).network.num_arcs
    3000
    """
    n = check_integer("n", n)
    degree = check_integer("degree", degree)
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

    Returns
    -------
    MaxFlowProblem
        ``side**2 + 2`` vertices, ``side * (side - 1) * degree - degree * (degree - 1) / 2 + 2 * side``
        arcs: a target past the end of a level lies in the level after it, and one past the last vertex
        is left out.

    Examples
    --------
    >>> square_mesh(40, 4, max_capacity=1000).network.num_arcs
    6314
    """
    side = check_integer("side", side, minimum=2)
    degree = check_integer("degree", degree)
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
    width = check_integer("width", width)
    levels = check_integer("levels", levels, minimum=2)
    check_capacity("max_capacity", max_capacity, TERMINAL_FACTOR)
    if width < DEGREE:
        raise InvalidInputError(f"width {width} is below {DEGREE}: a vertex has {DEGREE} distinct targets")


def _three_a_vertex(
    head: NDArray[np.int64],
    width: int,
    levels: int,
    max_capacity: int,
    rng: Generator,
    name: str,
) -> MaxFlowProblem:
    """Finish a network whose vertices, all but the last level's, have the three heads given in order."""
    tail = np.repeat(np.arange(1, width * (levels - 1) + 1, dtype=np.int64), DEGREE)
    capacity = rng.integers(1, max_capacity, size=len(tail), endpoint=True)
    return _with_terminals(
        tail, head.ravel(), capacity, width * levels, width, TERMINAL_FACTOR * max_capacity, name
    )


def line(n: int, m: int, degree: int = 128, *, seed: int = 0) -> MaxFlowProblem:
    """Return a basic line (kind 6): vertex i leads to ``degree`` of the ``m * degree`` vertices after it.

    Parameters
    ----------
    n : int
        Length of the line in units of m vertices (dim1).
    m : int
        Vertices joined to each terminal (dim2); also the mean distance between targets.
    degree : int
        Arcs of a vertex; those past the end of the line are left out.

    Returns
    -------
    MaxFlowProblem
        ``n * m + 2`` vertices and at most ``n * m * degree + 2 * m`` arcs; capacities are uniform in
        ``[1, 10**6]``.

    Examples
    --------
    >>> line(256, 4, 16).network.num_vertices
    1026
    """
    _check_line(n, m, degree)
    rng = seeded(seed)
    offset = distinct_rows(rng, n * m, degree, m * degree) + 1
    name = instance_name("line-moderate", f"{n}x{m} degree {degree}", seed)
    return _line_problem(offset, None, n, m, degree, rng, name)


def exponential_line(n: int, m: int, degree: int = 10, *, seed: int = 0) -> MaxFlowProblem:
    """Return an exponential line (kind 7): as :func:`line`, with capacities that fall with distance.

    An arc from i to i + x has a capacity uniform in ``[1, 10**6 / 2**k]`` with ``k = (x - 1) // m``.

    Parameters
    ----------
    n, degree, seed
        As for :func:`line`.
    m : int
        Vertices joined to each terminal (dim2); also the distance in which capacities halve.

    Returns
    -------
    MaxFlowProblem
        ``n * m + 2`` vertices and at most ``n * m * degree + 2 * m`` arcs.

    Notes
    -----
    The halved capacities end at 2, for every arc of class 19 or farther (the original gives classes past
    19, possible only where ``degree > 20``, the full range again). Time and memory O(n * m * degree),
    times log(degree) for keeping targets distinct.

    Examples
    --------
    >>> exponential_line(256, 4, 10).network.num_vertices
    1026
    """
    _check_line(n, m, degree)
    rng = seeded(seed)
    offset = distinct_rows(rng, n * m, degree, m * degree) + 1
    name = instance_name("exp-line", f"{n}x{m} degree {degree}", seed)
    return _line_problem(offset, (offset - 1) // m, n, m, degree, rng, name)


def double_exponential_line(n: int, m: int, degree: int = 10, *, seed: int = 0) -> MaxFlowProblem:
    """Return a double exponential line (kind 8): as :func:`exponential_line`, arcs leading both ways.

    A vertex i draws ``degree`` distinct x from ``[-m * degree, m * degree]`` and leads to every i + x on
    the line but itself, so that some vertices have one arc less. Capacities halve with distance,
    ``k = (x - 1) // m`` forwards and ``(-x + 1) // m`` backwards.

    Parameters
    ----------
    n, seed
        As for :func:`line`.
    m : int
        Vertices joined to each terminal (dim2); also the distance in which capacities halve.
    degree : int
        Offsets drawn for a vertex; 0 and those beyond either end of the line are left out.

    Returns
    -------
    MaxFlowProblem
        ``n * m + 2`` vertices and at most ``n * m * degree + 2 * m`` arcs.

    Notes
    -----
    Both irregularities, the offset 0 that is drawn and left out and the classes that are narrower
    backwards (C rounds ``(x - 1) / m`` towards zero), are the original's, and visible in its files.
    Time and memory O(n * m * degree), times log(degree) for keeping targets distinct.

    Examples
    --------
    >>> double_exponential_line(256, 4, 10).network.num_vertices
    1026
    """
    _check_line(n, m, degree)
    rng = seeded(seed)
    offset = distinct_rows(rng, n * m, degree, 2 * m * degree + 1) - m * degree
    name = instance_name("dexp-line", f"{n}x{m} degree {degree}", seed)
    return _line_problem(offset, np.abs(offset - 1) // m, n, m, degree, rng, name)


def _check_line(n: int, m: int, degree: int) -> None:
    n = check_integer("n", n)
    m = check_integer("m", m)
    degree = check_integer("degree", degree)


def _line_problem(
    offset: NDArray[np.int64],
    distance_class: NDArray[np.int64] | None,
    n: int,
    m: int,
    degree: int,
    rng: Generator,
    name: str,
) -> MaxFlowProblem:
    """Finish a line whose vertex i + 1 draws the offsets of row i; capacities halve with the class."""
    sink = n * m + 1
    tail = np.repeat(np.arange(1, sink, dtype=np.int64), degree)
    head = tail + offset.ravel()
    exists = (head >= 1) & (head < sink) & (head != tail)
    tail, head = tail[exists], head[exists]
    if distance_class is None:
        capacity = rng.integers(1, LINE_CAPACITY, size=len(tail), endpoint=True)
    else:
        classes = np.minimum(distance_class.ravel()[exists], len(HALVED_CAPACITY) - 1)
        capacity = rng.integers(1, HALVED_CAPACITY[classes], endpoint=True)
    terminal_capacity = max(LINE_TERMINAL_CAPACITY, degree * LINE_CAPACITY)
    return _with_terminals(tail, head, capacity, n * m, m, terminal_capacity, name)


def dinic_bad(n: int, *, seed: int = 0) -> MaxFlowProblem:
    """Return the network on which Dinic's algorithm needs n - 1 phases (kind 9).

    A path through all vertices, of capacity n, and an arc of capacity 1 from each of the first n - 2 to
    the last: a phase for every length of path.

    Parameters
    ----------
    n : int
        Number of vertices, at least 2; source first, sink last.

    Returns
    -------
    MaxFlowProblem
        ``2 * n - 3`` arcs, by tail, the one to the sink first; the optimum is ``n + 1`` (2 for n = 2).

    Examples
    --------
    >>> dinic_bad(200)
    MaxFlowProblem('dinic-bad 200': 200 vertices, 397 arcs, source 0, sink 199)
    """
    n = check_integer("n", n, minimum=2)
    tail = np.append(np.repeat(np.arange(n - 2, dtype=np.int64), 2), n - 2)
    head = tail + 1
    head[:-1:2] = n - 1
    capacity = np.full(2 * n - 3, n, dtype=np.int64)
    capacity[:-1:2] = 1
    network = FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
    return MaxFlowProblem(network, 0, n - 1, name=instance_name("dinic-bad", f"{n}", None))


def goldberg_bad(n: int, *, seed: int = 0) -> MaxFlowProblem:
    """Return the network that is bad for Goldberg's push-relabel algorithm (kind 10).

    A hub spreads n units over n parallel paths whose middle arcs have capacity 1; they meet in a vertex
    from which a path of n arcs leads to the sink.

    Parameters
    ----------
    n : int
        Number of parallel paths.

    Returns
    -------
    MaxFlowProblem
        ``3 * n + 3`` vertices, ``4 * n + 1`` arcs by tail, those of the hub last head first; the optimum
        is ``n``.

    Examples
    --------
    >>> goldberg_bad(200)
    MaxFlowProblem('goldberg-bad 200': 603 vertices, 801 arcs, source 0, sink 602)
    """
    n = check_integer("n", n)
    hub, join, sink = 1, 2 * n + 2, 3 * n + 2
    left = np.arange(2, n + 2, dtype=np.int64)
    path = np.arange(join, sink, dtype=np.int64)
    network = FlowNetwork.from_arrays(
        np.concatenate([[0], np.full(n, hub), left, left + n, path]),
        np.concatenate([[hub], left[::-1], left + n, np.full(n, join), path + 1]),
        np.concatenate([np.full(n + 1, n), np.ones(n, dtype=np.int64), np.full(2 * n, n)]),
        num_vertices=sink + 1,
    )
    return MaxFlowProblem(network, 0, sink, name=instance_name("goldberg-bad", f"{n}", None))


def cheriyan(n: int, m: int, c: int, *, seed: int = 0) -> MaxFlowProblem:
    """Return Cheriyan's network, bad for push-relabel algorithms (kind 11).

    Four gadgets join the source to 1, the source to 2, and 1 and 2 to a vertex before the sink. A gadget
    from a to b is a chain of ``m * c`` arcs that cannot bind, leading to b, into which a leads after every
    c arcs, with capacity n. A bridge leads from 1 to 2 through n paths of capacity 1.

    Parameters
    ----------
    n : int
        Capacity of the arcs into a gadget, and number of paths in the bridge.
    m : int
        Arcs from a into a gadget.
    c : int
        Arcs of a gadget's chain from one entry to the next.

    Returns
    -------
    MaxFlowProblem
        ``4 * m * c + 2 * n + 7`` vertices, ``4 * m * (c + 1) + 3 * n + 3`` arcs, by tail and in a tail's
        list the last added first; the optimum is ``2 * n * m``.

    Notes
    -----
    The arcs that cannot bind have capacity 10**6 as in the original, or the value of the flow where that
    is larger. Time and memory O(m * c + n).

    Examples
    --------
    >>> cheriyan(10, 10, 10)
    MaxFlowProblem('cheriyan 10x10x10': 427 vertices, 473 arcs, source 0, sink 426)
    """
    n = check_integer("n", n)
    m = check_integer("m", m)
    c = check_integer("c", c)
    unbounded = max(VERY_BIG, 2 * n * m)
    chain = m * c
    parts = [
        _gadget(a, b, 4 + chain * i, n, m, c, unbounded)
        for i, (a, b) in enumerate([(0, 1), (0, 2), (1, 3), (2, 3)])
    ]
    spread = 4 + 4 * chain
    collect, sink = spread + 1, spread + 2 + 2 * n
    first = np.arange(spread + 2, sink, 2, dtype=np.int64)
    parts.append(_arcs([1, collect], [spread, 2], [n, n]))
    parts.append(_arcs(np.full(n, spread), first, np.full(n, n)))
    parts.append(_arcs(first + 1, np.full(n, collect), np.full(n, n)))
    parts.append(_arcs(first, first + 1, np.ones(n)))
    parts.append(_arcs([3], [sink], [unbounded]))

    # The original prepends an arc to its tail's list and prints the lists.
    tail, head, capacity = np.concatenate(parts, axis=1)[:, ::-1]
    order = np.argsort(tail, kind="stable")
    network = FlowNetwork.from_arrays(tail[order], head[order], capacity[order], num_vertices=sink + 1)
    return MaxFlowProblem(network, 0, sink, name=instance_name("cheriyan", f"{n}x{m}x{c}", None))


def _gadget(a: int, b: int, first: int, n: int, m: int, c: int, unbounded: int) -> NDArray[np.int64]:
    """Return the arcs of the gadget from a to b whose chain is ``first .. first + m * c - 1``."""
    chain = np.arange(first, first + m * c, dtype=np.int64)
    towards_b = np.concatenate([[b], chain[:-1]])
    return np.concatenate(
        [
            _arcs(chain, towards_b, np.full(m * c, unbounded)),
            _arcs(np.full(m, a), chain[c - 1 :: c], np.full(m, n)),
        ],
        axis=1,
    )


def _arcs(tail: object, head: object, capacity: object) -> NDArray[np.int64]:
    """Stack tails, heads and capacities as the three rows of one array."""
    return np.array([tail, head, capacity], dtype=np.int64)


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
