"""Minimum-cost flow: the families of published comparisons, transport problems, and grids.

Every function returns a :class:`~preflow.graph.cost_network.CostNetwork` with its supplies, on which a flow
exists. :func:`transport_masses` and :func:`transport_points` return the costs and masses of transport
problems as :func:`preflow.transport` takes them.

- NETGEN: Klingman, Napier and Stutz, "NETGEN: a program for generating large scale capacitated assignment,
  transportation, and minimum cost flow network problems", Management Science 20 (1974).
- GOTO, grid on a torus: Goldberg and Kharitonov, "On implementing scaling push-relabel algorithms for the
  minimum-cost flow problem", DIMACS series 12 (1993).
- GRIDGEN: Lee and Orlin, 1991. Comparison of solvers, with the parameters of all these families: Kovács,
  "Minimum-cost flow algorithms: an experimental evaluation", Optimization Methods and Software 30 (2015).
- Networks of phase unwrapping: Costantini, "A novel phase unwrapping method based on network programming",
  IEEE Transactions on Geoscience and Remote Sensing 36 (1998).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from ..graph.cost_network import CostNetwork
from .parameters import check_capacity, seeded

#: Defaults of Kovács 2015 for NETGEN and GRIDGEN.
LARGEST_COST, LARGEST_CAPACITY, MEAN_SUPPLY = 10_000, 1000, 1000
#: Share of the inner vertices of NETGEN that chains take in turn; the others go to random chains.
TAKEN_IN_TURN = 0.6
#: Cheap arcs of GOTO cost less than this, as in the files of the original program.
GOTO_CHEAP = 8
#: The supply of GOTO is this share of what the arcs out of the source carry on the mean, as in those files.
GOTO_LOAD = 0.91
#: Float costs and masses of transport problems are multiples of the inverse of this: solvers of integers get
#: the same problem.
PARTS = 2**30
#: Float points are multiples of the inverse of this, so that squared distances are multiples of 1 / PARTS.
POINT_PARTS = 2**15
#: The number of rows of GOTO is about this power of the number of vertices, as in those files.
GOTO_ROWS = 0.375


class Arcs(NamedTuple):
    """Arcs of one kind, one entry each."""

    #: shape (k,)
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[np.int64]
    cost: NDArray[np.int64]


class Transport(NamedTuple):
    """A transport problem with a matrix of costs."""

    cost: Array  #: int64 or float64, shape (rows, columns)
    #: the same dtype, shapes (rows,) and (columns,): masses with equal sums; those of floats sum to 1. Floats
    #: are multiples of ``1 / PARTS``.
    a: Array
    b: Array


class PointTransport(NamedTuple):
    """A transport problem between points."""

    #: int64 or float64, shapes (rows, dimension) and (columns, dimension)
    points: Array
    others: Array
    #: the same dtype, shapes (rows,) and (columns,): masses with equal sums; those of floats sum to 1
    a: Array
    b: Array


def netgen(
    n: int,
    degree: int = 8,
    *,
    sources: int = 0,
    sinks: int = 0,
    supply: int = 0,
    min_cost: int = 1,
    max_cost: int = LARGEST_COST,
    min_capacity: int = 1,
    max_capacity: int = LARGEST_CAPACITY,
    capacitated: float = 1.0,
    costly: float = 0.0,
    seed: int = 0,
) -> CostNetwork:
    """Return a NETGEN network: a chain of vertices from each source to some sinks, and random arcs.

    The defaults give the family NETGEN-8 of Kovács 2015.

    Parameters
    ----------
    n : int
        Number of vertices: first the sources, last the sinks.
    degree : int
        The network has ``n * degree`` arcs.
    sources, sinks : int
        0 stands for the root of n.
    supply : int
        The sum of all supplies; 0 stands for 1000 times the number of sources.
    min_cost, max_cost, min_capacity, max_capacity : int
        Costs and capacities are uniform between them.
    capacitated : float
        The share of arcs with such a capacity; others carry the whole supply. An arc of a chain carries at
        least the supply of its source in either case.
    costly : float
        The share of arcs of chains with the largest cost.

    Raises
    ------
    InvalidInputError
        Too few vertices for the sources and sinks, fewer arcs than the chains have, or more than there are
        pairs of vertices.

    Notes
    -----
    The original chooses the heads of its random arcs in another way, so arc numbers differ from its files.
    Time O(m log m), memory O(m).

    Examples
    --------
    >>> netgen(10_000)
    CostNetwork(10,000 vertices, 80,000 arcs, costs of int64)
    """
    n = check_integer("n", n, minimum=2)
    for name, value in {"degree": degree, "min_capacity": min_capacity}.items():
        check_integer(name, value)
    for name, value in {"sources": sources, "sinks": sinks, "supply": supply}.items():
        check_integer(name, value, minimum=0)
    _check_range("cost", min_cost, max_cost)
    _check_range("capacity", min_capacity, max_capacity)
    for name, share in {"capacitated": capacitated, "costly": costly}.items():
        check_number(name, share)
        if share > 1:
            raise InvalidInputError(f"{name} must be at most 1, got {share}")
    sources, sinks = sources or max(round(math.sqrt(n)), 1), sinks or max(round(math.sqrt(n)), 1)
    supply = supply or MEAN_SUPPLY * sources
    check_capacity("supply", supply, factor=2)
    if sources + sinks > n:
        raise InvalidInputError(f"n {n} is less than {sources} sources and {sinks} sinks")
    if supply < sources:
        raise InvalidInputError(f"supply {supply} is less than 1 for each of {sources} sources")
    rng = seeded(seed)
    sent = _split(rng, supply, sources)
    received = np.zeros(sinks, dtype=np.int64)
    chain, skeleton = _chains(rng, n, sent, received)
    count = len(chain)
    if not count <= n * degree <= (n - sinks) * (n - sources) - (n - sources - sinks):
        raise InvalidInputError(f"{n * degree} arcs: {count} in chains, and no two between the same vertices")
    cost = rng.integers(min_cost, max_cost, size=count, endpoint=True)
    cost[rng.random(count) < costly] = max_cost
    free = rng.random(count) >= capacitated
    limits = np.where(free, supply, np.maximum(sent[chain], min_capacity))
    tail, head = _random_ends(rng, n * degree - count, (0, n - sinks), (sources, n), skeleton, n)
    others = _random_arcs(rng, tail, head, (min_cost, max_cost), (min_capacity, max_capacity))
    others.capacity[rng.random(len(tail)) >= capacitated] = supply
    supplies = np.zeros(n, dtype=np.int64)
    supplies[:sources], supplies[n - sinks :] = sent, -received
    return _network([Arcs(skeleton // n, skeleton % n, limits, cost), others], supplies)


def _chains(
    rng: Generator, n: int, sent: NDArray[np.int64], received: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the arcs of all chains as their chain and ``tail * n + head``; fill in what sinks receive."""
    sources, sinks = len(sent), len(received)
    inner = n - sources - sinks
    vertices = sources + rng.permutation(inner)
    of_chain = np.arange(inner) % sources
    rest = round(TAKEN_IN_TURN * inner)
    of_chain[rest:] = rng.integers(0, sources, size=inner - rest)
    # Each chain is the source and its inner vertices in a row.
    chain = np.concatenate([np.arange(sources), of_chain])
    order = np.argsort(chain, kind="stable")
    chain, vertex = chain[order], np.concatenate([np.arange(sources), vertices])[order]
    inside = chain[1:] == chain[:-1]
    links = vertex[:-1][inside] * n + vertex[1:][inside]
    first = np.searchsorted(chain, np.arange(sources))
    length = np.bincount(chain, minlength=sources)
    # Each chain ends in sinks: twice its share of them, and every sink belongs to a chain.
    wanted = np.clip(2 * length * sinks // len(chain), 1, sinks)
    chosen = [rng.choice(sinks, size=k, replace=False) for k in wanted.tolist()]
    missing = np.setdiff1d(np.arange(sinks), np.concatenate(chosen))
    for sink, at in zip(missing.tolist(), rng.integers(0, sources, size=len(missing)).tolist(), strict=True):
        chosen[at] = np.append(chosen[at], sink)
    for own, amount in zip(chosen, sent.tolist(), strict=True):
        received[own] += _split(rng, amount, len(own))
    last = np.repeat(np.arange(sources), [len(own) for own in chosen])
    place = first[last] + rng.integers(0, length[last])
    ends = vertex[place] * n + (n - sinks) + np.concatenate(chosen)
    return np.concatenate([chain[1:][inside], last]), np.concatenate([links, ends])


def goto(
    n: int,
    m: int = 0,
    *,
    max_cost: int = LARGEST_COST,
    max_capacity: int = LARGEST_CAPACITY,
    seed: int = 0,
) -> CostNetwork:
    """Return a GOTO network, a grid on a torus: hard for most solvers.

    A vertex leads cheaply to the next one, two and three rows of its column, cyclically, and to the next
    column at a cost of up to `max_cost`. The source, the first vertex, also leads to its whole column, and
    the last column leads to the sink, its last vertex. Cheap arcs join random vertices. One path through all
    vertices, column by column, carries the whole supply at ``max_cost / 10`` an arc.

    Parameters
    ----------
    n : int
        Number of vertices, at least 8.
    m : int
        About the number of arcs, at least ``5 * n``; 0 stands for ``6 * n``.
    max_cost, max_capacity : int

    Notes
    -----
    Written after the files of the original program. Time and memory O(m).

    Examples
    --------
    >>> goto(3000, 20_000)
    CostNetwork(3,000 vertices, 20,000 arcs, costs of int64)
    """
    n = check_integer("n", n, minimum=8)
    m = check_integer("m", m, minimum=0)
    max_cost = check_integer("max_cost", max_cost)
    check_capacity("max_capacity", max_capacity, factor=n)
    m = m or 6 * n
    if m < 5 * n:
        raise InvalidInputError(f"m must be at least 5 * n, {5 * n}, got {m}")
    rng = seeded(seed)
    divisors = np.flatnonzero(n % np.arange(1, math.isqrt(n) + 1) == 0) + 1
    rows = int(divisors[np.abs(np.log(divisors / n**GOTO_ROWS)).argmin()])
    if rows < 2 or rows < n**GOTO_ROWS / 3:
        rows = round(n**GOTO_ROWS)  # then the last vertices lie on the path and have cheap arcs only
    columns = n // rows
    down = (m // n - 2) - max(1, (m // n - 2) // 4)
    across = max(1, (m // n - 2) // 4)
    x, y = np.divmod(np.arange(rows * columns), rows)
    vertex = y * columns + x
    sink = n - 1
    dear, cheap = (0, max_cost), (0, min(GOTO_CHEAP - 1, max_cost))
    room = (1, max_capacity)
    parts = []
    for step in range(1, across + 1):
        on = x + step < columns
        parts.append(_random_arcs(rng, vertex[on], vertex[on] + step, dear, room))
    for step in range(1, min(down, rows - 1) + 1):
        parts.append(_random_arcs(rng, vertex, (y + step) % rows * columns + x, cheap, room))
    column = np.arange(1, rows) * columns
    parts.append(_random_arcs(rng, np.zeros_like(column), column, dear, room))
    column = np.setdiff1d(np.arange(rows) * columns + columns - 1, sink)
    parts.append(_random_arcs(rng, column, np.full_like(column, sink), dear, room))
    left = max(m - (n - 1) - sum(len(part.tail) for part in parts), 0)
    tail = rng.integers(0, n, size=left)
    head = (tail + rng.integers(1, n, size=left)) % n
    parts.append(_random_arcs(rng, tail, head, cheap, room))
    amount = int(GOTO_LOAD * (rows - 1 + across + down) * max_capacity / 2) + 1
    way = np.concatenate([vertex, np.arange(rows * columns, n)])
    parts.append(
        Arcs(way[:-1], way[1:], np.full(n - 1, amount), np.full(n - 1, max_cost // 10, dtype=np.int64))
    )
    supplies = np.zeros(n, dtype=np.int64)
    supplies[way[0]], supplies[way[-1]] = amount, -amount
    return _network(parts, supplies)


def cost_grid(
    height: int,
    width: int,
    *,
    terminals: int = 0,
    max_cost: int = LARGEST_COST,
    max_capacity: int = LARGEST_CAPACITY,
    seed: int = 0,
) -> CostNetwork:
    """Return a grid with an arc each way between neighbours, of uniformly random cost and capacity.

    Parameters
    ----------
    height, width : int
        Vertex ``width * row + column``.
    terminals : int
        0: one corner sends twice `max_capacity` to the opposite one, and arcs at the border, which lead
        there, carry `max_capacity` each. Otherwise the number of sources, and of sinks, at random vertices;
        each sends up to `max_capacity`. One more vertex then has an arc from each source and to each sink,
        at the cost of the dearest path, so that a flow exists.
    max_cost, max_capacity : int
        Costs and capacities are uniform from 1 on.

    Examples
    --------
    >>> cost_grid(100, 100)
    CostNetwork(10,000 vertices, 39,600 arcs, costs of int64)
    """
    tail, head = _neighbours(height, width)
    terminals = check_integer("terminals", terminals, minimum=0)
    max_cost = check_integer("max_cost", max_cost)
    check_capacity("max_capacity", max_capacity, factor=max(height * width, 4))
    rng = seeded(seed)
    n = height * width
    arcs = _random_arcs(rng, tail, head, (1, max_cost), (1, max_capacity))
    if terminals:
        return _with_terminals(rng, [arcs], n, terminals, max_capacity, max_cost * (height + width))
    if height < 2 or width < 2:
        raise InvalidInputError(f"a grid with its supply at corners is at least 2x2, got {height}x{width}")
    row, column = tail // width, tail % width
    across = (head == tail + 1) & ((row == 0) | (row == height - 1))
    downward = (head == tail + width) & ((column == 0) | (column == width - 1))
    arcs.capacity[across | downward] = max_capacity
    supplies = np.zeros(n, dtype=np.int64)
    supplies[0], supplies[-1] = 2 * max_capacity, -2 * max_capacity
    return _network([arcs], supplies)


def gridgen(
    n: int,
    degree: int = 8,
    *,
    max_cost: int = LARGEST_COST,
    max_capacity: int = LARGEST_CAPACITY,
    seed: int = 0,
) -> CostNetwork:
    """Return a network like those of GRIDGEN: a square grid, random arcs, and many sources and sinks.

    Parameters
    ----------
    n : int
        About the number of vertices: the grid has the root of n rows and columns. The root of n is also the
        number of sources, and of sinks, which are random; one more vertex joins them, as in `cost_grid`.
    degree : int
        The number of arcs is n times this, at least 4; about half lead to neighbours for 8.
    max_cost, max_capacity : int

    Examples
    --------
    >>> gridgen(10_000)
    CostNetwork(10,001 vertices, 80,200 arcs, costs of int64)
    """
    n = check_integer("n", n, minimum=4)
    degree = check_integer("degree", degree, minimum=4)
    max_cost = check_integer("max_cost", max_cost)
    check_capacity("max_capacity", max_capacity, factor=n)
    side = round(math.sqrt(n))
    n = side * side
    rng = seeded(seed)
    tail, head = _neighbours(side, side)
    if n * degree > n * (n - 1):
        raise InvalidInputError(f"{n} vertices have {n * (n - 1)} arcs at most, {n * degree} wanted")
    more = _random_ends(rng, n * degree - len(tail), (0, n), (0, n), tail * n + head, n)
    ends = np.concatenate([tail, more[0]]), np.concatenate([head, more[1]])
    arcs = _random_arcs(rng, *ends, (1, max_cost), (1, max_capacity))
    return _with_terminals(rng, [arcs], n, side, max_capacity, 2 * max_cost * side)


def phase_grid(
    height: int, width: int, *, noise: float = 0.6, weighted: bool = False, seed: int = 0
) -> CostNetwork:
    """Return the network that unwraps a noisy picture of phases: unit costs, or weights of pixels.

    The true phase is a sum of hills and a slope. The picture has it up to multiples of 2 pi. Each loop of
    four pixels whose wrapped differences do not sum to zero has a residue, 1 or -1, which is its supply. An
    arc crosses the side between two pixels, each way. Its flow says by how many multiples of 2 pi their
    difference is off. The last vertex is all that is outside.

    Parameters
    ----------
    height, width : int
        Pixels, at least 2 each way.
    noise : float
        Standard deviation of the normal noise, in radians.
    weighted : bool
        Whether costs are 1 to 100, less where the noise is larger; otherwise 1.

    Examples
    --------
    >>> phase_grid(100, 100)
    CostNetwork(9,802 vertices, 39,600 arcs, costs of int64)
    """
    height = check_integer("height", height, minimum=2)
    width = check_integer("width", width, minimum=2)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    row, column = np.linspace(0, 1, height)[:, np.newaxis], np.linspace(0, 1, width)[np.newaxis, :]
    phase = 0.2 * (height * row + 0.5 * width * column)
    for _ in range(6):
        y, x, spread, size = rng.random(4)
        steep = np.exp(-((row - y) ** 2 + (column - x) ** 2) / (2 * (0.05 + 0.2 * spread) ** 2))
        phase = phase + 0.15 * (height + width) * size * steep
    # Noise varies from half to one and a half times its level in stripes: weights follow it.
    level = 1 + 0.5 * np.sin(12 * (row + column))
    phase += noise * level * rng.standard_normal((height, width))
    weight = np.ones((height, width), dtype=np.int64)
    if weighted:
        weight = np.rint(100 / (1 + 4 * level * level * rng.random((height, width)))).astype(np.int64)
    turn = 2 * np.pi
    right, down = np.diff(phase, axis=1), np.diff(phase, axis=0)
    # How many turns each wrapped difference lacks; around a loop their sum is the residue.
    right_turns, down_turns = (np.rint(step / turn).astype(np.int64) for step in (right, down))
    residue = down_turns[:, :-1] + right_turns[1:] - down_turns[:, 1:] - right_turns[:-1]
    loop = np.full((height + 1, width + 1), (height - 1) * (width - 1), dtype=np.int64)
    loop[1:-1, 1:-1] = np.arange((height - 1) * (width - 1)).reshape(height - 1, width - 1)
    # The side between pixels (y, x) and (y, x + 1) separates the loops above and below, and so on.
    one = np.concatenate([loop[:-1, 1:-1].ravel(), loop[1:-1, :-1].ravel()])
    two = np.concatenate([loop[1:, 1:-1].ravel(), loop[1:-1, 1:].ravel()])
    cost = np.concatenate(
        [
            np.minimum(weight[:, :-1], weight[:, 1:]).ravel(),
            np.minimum(weight[:-1], weight[1:]).ravel(),
        ]
    )
    supplies = np.append(residue.ravel(), -residue.sum())
    room = np.full(2 * len(one), max(int(np.abs(supplies).sum()), 1))
    return _network(
        [Arcs(np.concatenate([one, two]), np.concatenate([two, one]), room, np.concatenate([cost, cost]))],
        supplies,
    )


def transport_masses(
    rows: int, columns: int = 0, *, max_cost: int = LARGEST_COST, floats: bool = False, seed: int = 0
) -> Transport:
    """Return a transport problem of uniformly random costs and masses.

    Parameters
    ----------
    rows, columns : int
        0 columns stands for as many as rows.
    max_cost : int
        Integer costs are uniform from 0 to this.
    floats : bool
        Costs between 0 and 1, and masses that sum to 1; otherwise integers, with masses from 1 to 1000, of
        which the side with the smaller sum has evenly more.

    Examples
    --------
    >>> problem = transport_masses(300, 200)
    >>> problem.cost.shape, bool(problem.a.sum() == problem.b.sum())
    ((300, 200), True)
    """
    columns = _check_sides(rows, columns)
    max_cost = check_integer("max_cost", max_cost, minimum=0)
    rng = seeded(seed)
    if floats:
        cost: Array = rng.integers(0, PARTS, size=(rows, columns)) / PARTS
    else:
        cost = rng.integers(0, max_cost, size=(rows, columns), endpoint=True)
    return Transport(cost, *_masses(rng, rows, columns, floats))


def transport_points(
    rows: int, columns: int = 0, *, dimension: int = 2, floats: bool = False, seed: int = 0
) -> PointTransport:
    """Return a transport problem between uniformly random points.

    Parameters
    ----------
    rows, columns : int
        0 columns stands for as many as rows.
    dimension : int
    floats : bool
        Points of the unit cube, and masses that sum to 1; otherwise integer points of a cube of 1000, and
        masses as those of :func:`transport_masses`.

    Examples
    --------
    >>> transport_points(300).points.shape
    (300, 2)
    """
    columns = _check_sides(rows, columns)
    dimension = check_integer("dimension", dimension)
    rng = seeded(seed)
    side = POINT_PARTS if floats else 1000
    sides: list[Array] = [rng.integers(0, side, size=(size, dimension)) for size in (rows, columns)]
    if floats:
        sides = [points / side for points in sides]
    return PointTransport(sides[0], sides[1], *_masses(rng, rows, columns, floats))


def squared_distances(problem: PointTransport) -> Transport:
    """Return a transport problem between points with the matrix of squared distances.

    Examples
    --------
    >>> squared_distances(transport_points(30, 20)).cost.dtype
    dtype('int64')
    """
    cost = np.zeros((len(problem.points), len(problem.others)), dtype=problem.points.dtype)
    for axis in range(problem.points.shape[1]):
        cost += np.subtract.outer(problem.points[:, axis], problem.others[:, axis]) ** 2
    return Transport(cost, problem.a, problem.b)


def transport_network(problem: Transport) -> CostNetwork:
    """Return a transport problem as a network: rows, then columns, with an arc for every pair.

    Examples
    --------
    >>> transport_network(transport_masses(30, 20))
    CostNetwork(50 vertices, 600 arcs, costs of int64)
    """
    rows, columns = problem.cost.shape
    return CostNetwork.from_arrays(
        np.repeat(np.arange(rows), columns),
        np.tile(np.arange(rows, rows + columns), rows),
        capacity=np.minimum.outer(problem.a, problem.b).ravel(),
        cost=problem.cost.ravel(),
        supply=np.concatenate([problem.a, -problem.b]),
    )


def uniform_transport(
    rows: int, columns: int = 0, *, max_cost: int = LARGEST_COST, seed: int = 0
) -> CostNetwork:
    """Return the network of :func:`transport_masses`.

    Examples
    --------
    >>> uniform_transport(30)
    CostNetwork(60 vertices, 900 arcs, costs of int64)
    """
    return transport_network(transport_masses(rows, columns, max_cost=max_cost, seed=seed))


def point_transport(rows: int, columns: int = 0, *, dimension: int = 2, seed: int = 0) -> CostNetwork:
    """Return the network of :func:`transport_points` with squared distances as costs.

    Examples
    --------
    >>> point_transport(30)
    CostNetwork(60 vertices, 900 arcs, costs of int64)
    """
    problem = transport_points(rows, columns, dimension=dimension, seed=seed)
    return transport_network(squared_distances(problem))


def _check_sides(rows: int, columns: int) -> int:
    rows = check_integer("rows", rows)
    columns = check_integer("columns", columns, minimum=0)
    return columns or rows


def _check_range(what: str, least: int, largest: int) -> None:
    check_integer(f"min_{what}", least, minimum=0)
    check_capacity(f"max_{what}", largest, factor=2)
    if least > largest:
        raise InvalidInputError(f"min_{what} {least} is above max_{what} {largest}")


def _split(rng: Generator, amount: int, parts: int) -> NDArray[np.int64]:
    """Split an amount as NETGEN does: each part gives a random share of the mean away, to a random part."""
    mean = amount // parts
    kept = rng.integers(min(1, mean), mean, size=parts, endpoint=True)
    result = kept.copy()
    np.add.at(result, rng.integers(0, parts, size=parts), mean - kept)
    result[rng.integers(0, parts)] += amount - mean * parts
    return result


def _masses(rng: Generator, rows: int, columns: int, floats: bool) -> tuple[Array, Array]:
    """Return random masses of both sides, with equal sums."""
    if floats:
        a, b = (_shares(rng, size) for size in (rows, columns))
        return a, b
    sides = (rng.integers(1, 1000, size=size, endpoint=True) for size in (rows, columns))
    both = tuple(sides)
    lacking = int(both[0].sum() - both[1].sum())
    less, missing = (both[1], lacking) if lacking > 0 else (both[0], -lacking)
    less += missing // len(less)
    less[: missing % len(less)] += 1
    return both[0], both[1]


def _shares(rng: Generator, size: int) -> NDArray[np.float64]:
    """Return positive masses that sum to 1, multiples of 1 / PARTS."""
    drawn = rng.integers(1, 1000, size=size, endpoint=True)
    parts = np.maximum(drawn * PARTS // int(drawn.sum()), 1)
    parts[int(parts.argmax())] += PARTS - int(parts.sum())
    return parts / PARTS


def _neighbours(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of arcs to the right, to the left, down and up."""
    height = check_integer("height", height)
    width = check_integer("width", width)
    vertex = np.arange(height * width).reshape(height, width)
    left, right = vertex[:, :-1].ravel(), vertex[:, 1:].ravel()
    upper, lower = vertex[:-1].ravel(), vertex[1:].ravel()
    return np.concatenate([left, right, upper, lower]), np.concatenate([right, left, lower, upper])


def _random_ends(
    rng: Generator,
    count: int,
    tails: tuple[int, int],
    heads: tuple[int, int],
    taken: NDArray[np.int64],
    n: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of `count` random arcs within ranges of vertices: no loops, and none that is taken."""
    known = np.sort(taken)
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < count:
        size = (count - len(chosen)) * 9 // 8 + 16
        drawn = rng.integers(*tails, size=size) * n + rng.integers(*heads, size=size)
        drawn = drawn[drawn // n != drawn % n]
        # Sorted by hand: numpy.unique hashes, and takes eight times as long.
        chosen = np.sort(np.concatenate([chosen, drawn]))
        chosen = chosen[np.append(True, chosen[1:] != chosen[:-1])]
        if len(known):
            chosen = chosen[known[np.minimum(np.searchsorted(known, chosen), len(known) - 1)] != chosen]
    dropped = rng.choice(len(chosen), size=len(chosen) - count, replace=False, shuffle=False)
    chosen = np.delete(chosen, dropped)
    return chosen // n, chosen % n


def _random_arcs(
    rng: Generator,
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    costs: tuple[int, int],
    capacities: tuple[int, int],
) -> Arcs:
    """Return arcs with uniformly random costs and capacities, both ends of the ranges included."""
    capacity = rng.integers(*capacities, size=len(tail), endpoint=True)
    return Arcs(tail, head, capacity, rng.integers(*costs, size=len(tail), endpoint=True))


def _with_terminals(
    rng: Generator, parts: list[Arcs], n: int, count: int, max_supply: int, dear: int
) -> CostNetwork:
    """Choose `count` sources and sinks, and join them by one more vertex and dear arcs."""
    if 2 * count > n:
        raise InvalidInputError(f"{count} sources and {count} sinks need more than {n} vertices")
    chosen = rng.choice(n, size=2 * count, replace=False)
    source, sink = chosen[:count], chosen[count:]
    sent = rng.integers(1, max_supply, size=count, endpoint=True)
    received = _split(rng, int(sent.sum()), count)
    supplies = np.zeros(n + 1, dtype=np.int64)
    supplies[source], supplies[sink] = sent, -received
    middle, cost = np.full(count, n), np.full(count, dear)
    parts = [*parts, Arcs(source, middle, sent, cost), Arcs(middle, sink, received, cost)]
    return _network(parts, supplies)


def _network(parts: list[Arcs], supplies: NDArray[np.int64]) -> CostNetwork:
    """Return the network of all parts, with arcs in the order of their tails."""
    tail, head, capacity, cost = (np.concatenate(values) for values in zip(*parts, strict=True))
    order = np.argsort(tail, kind="stable")
    return CostNetwork.from_arrays(
        tail[order], head[order], capacity=capacity[order], cost=cost[order], supply=supplies
    )
