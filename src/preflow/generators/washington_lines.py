"""The Washington generator, kinds 6 to 8: a line of vertices with arcs to random vertices nearby.

Richard Anderson's seminar, University of Washington, for the first DIMACS challenge (``washington.c``).
The source is vertex 0, then come the ``n * m`` vertices of the line, then the sink. The source leads to
the first m vertices and the last m lead to the sink, with a capacity that never binds. Arcs are ordered:
those of the source, last vertex first; then by tail; then those of the sink.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..checks import check_integer
from ..graph.network import FlowNetwork, MaxFlowProblem
from .parameters import instance_name, seeded
from .sampling import distinct_rows

MAX_CAPACITY = 1_000_000
#: Capacity of the terminal arcs in the DIMACS files; never binds up to degree 200.
TERMINAL_CAPACITY = 200_000_000
#: The original's table, rounded as there: about MAX_CAPACITY / 2**k.
# fmt: off
HALVED_CAPACITY: NDArray[np.int64] = np.array(
    [1000000, 500000, 250000, 125000, 62500, 31250, 15625, 7812, 3906, 1953,
     976, 488, 244, 122, 61, 31, 15, 7, 4, 2],
    dtype=np.int64,
)
# fmt: on


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
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``n * m + 2`` vertices and at most ``n * m * degree + 2 * m`` arcs; capacities are uniform in
        ``[1, 10**6]``.

    Raises
    ------
    InvalidInputError
        A parameter is below 1.

    Notes
    -----
    Time and memory O(n * m * degree), times log(degree) for keeping targets distinct.

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
    n : int
        Length of the line in units of m vertices (dim1).
    m : int
        Vertices joined to each terminal (dim2); also the distance in which capacities halve.
    degree : int
        Arcs of a vertex; those past the end of the line are left out.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``n * m + 2`` vertices and at most ``n * m * degree + 2 * m`` arcs.

    Raises
    ------
    InvalidInputError
        A parameter is below 1.

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
    n : int
        Length of the line in units of m vertices (dim1).
    m : int
        Vertices joined to each terminal (dim2); also the distance in which capacities halve.
    degree : int
        Offsets drawn for a vertex; 0 and those beyond either end of the line are left out.
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``n * m + 2`` vertices and at most ``n * m * degree + 2 * m`` arcs.

    Raises
    ------
    InvalidInputError
        A parameter is below 1.

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
    check_integer("n", n)
    check_integer("m", m)
    check_integer("degree", degree)


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
        capacity = rng.integers(1, MAX_CAPACITY, size=len(tail), endpoint=True)
    else:
        classes = np.minimum(distance_class.ravel()[exists], len(HALVED_CAPACITY) - 1)
        capacity = rng.integers(1, HALVED_CAPACITY[classes], endpoint=True)
    terminal = np.full(m, max(TERMINAL_CAPACITY, degree * MAX_CAPACITY), dtype=np.int64)
    network = FlowNetwork.from_arrays(
        np.concatenate([np.zeros(m, dtype=np.int64), tail, np.arange(sink - m, sink)]),
        np.concatenate([np.arange(m, 0, -1), head, np.full(m, sink)]),
        np.concatenate([terminal, capacity, terminal]),
        num_vertices=sink + 1,
    )
    return MaxFlowProblem(network, 0, sink, name=name)
