"""The Washington generator, kinds 9 to 11: fixed networks on which an algorithm does its worst.

Richard Anderson's seminar, University of Washington, for the first DIMACS challenge (``washington.c``).
Nothing here is random: ``seed`` is accepted so that every family is called alike. Vertices and arcs come
in the order of the original's files.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import check_integer
from ..graph.network import FlowNetwork, MaxFlowProblem
from .parameters import instance_name

#: The capacity of arcs that are not meant to bind, in the DIMACS files.
VERY_BIG = 1_000_000


def dinic_bad(n: int, *, seed: int = 0) -> MaxFlowProblem:
    """Return the network on which Dinic's algorithm needs n - 1 phases (kind 9).

    A path through all vertices, of capacity n, and an arc of capacity 1 from each of the first n - 2 to
    the last: a phase for every length of path.

    Parameters
    ----------
    n : int
        Number of vertices, at least 2; source first, sink last.
    seed : int
        Without effect.

    Returns
    -------
    MaxFlowProblem
        ``2 * n - 3`` arcs, by tail, the one to the sink first; the optimum is ``n + 1`` (2 for n = 2).

    Raises
    ------
    InvalidInputError
        ``n`` is below 2.

    Notes
    -----
    Time and memory O(n).

    Examples
    --------
    >>> dinic_bad(200)
    MaxFlowProblem('dinic-bad 200': 200 vertices, 397 arcs, source 0, sink 199)
    """
    check_integer("n", n, minimum=2)
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
    seed : int
        Without effect.

    Returns
    -------
    MaxFlowProblem
        ``3 * n + 3`` vertices, ``4 * n + 1`` arcs by tail, those of the hub last head first; the optimum
        is ``n``.

    Raises
    ------
    InvalidInputError
        ``n`` is below 1.

    Notes
    -----
    Time and memory O(n).

    Examples
    --------
    >>> goldberg_bad(200)
    MaxFlowProblem('goldberg-bad 200': 603 vertices, 801 arcs, source 0, sink 602)
    """
    check_integer("n", n)
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
    seed : int
        Without effect.

    Returns
    -------
    MaxFlowProblem
        ``4 * m * c + 2 * n + 7`` vertices, ``4 * m * (c + 1) + 3 * n + 3`` arcs, by tail and in a tail's
        list the last added first; the optimum is ``2 * n * m``.

    Raises
    ------
    InvalidInputError
        A parameter is below 1.

    Notes
    -----
    The arcs that cannot bind have capacity 10**6 as in the original, or the value of the flow where that
    is larger. Time and memory O(m * c + n).

    Examples
    --------
    >>> cheriyan(10, 10, 10)
    MaxFlowProblem('cheriyan 10x10x10': 427 vertices, 473 arcs, source 0, sink 426)
    """
    check_integer("n", n)
    check_integer("m", m)
    check_integer("c", c)
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
