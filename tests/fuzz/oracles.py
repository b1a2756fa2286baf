"""Exact answers to small problems, in Python integers: slow and obviously right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

#: Stands for an infinite capacity: more than all finite numbers that a case can have, scaled or not.
INFINITE = 1 << 2400


class Cut(NamedTuple):
    """A minimum cut.

    Attributes
    ----------
    value : int
        INFINITE or more where the flow is unbounded.
    sink_side, source_side : set of int
        The smallest of each kind of all minimum cuts.
    """

    value: int
    sink_side: set[int]
    source_side: set[int]


def scaled(*lists: Sequence[int | float]) -> tuple[int, list[list[int]]]:
    """Return an exponent and the numbers times two to it, which are integers; infinite ones as INFINITE."""
    shift = 0
    for values in lists:
        for value in values:
            if isinstance(value, float) and abs(value) < float("inf"):
                shift = max(shift, value.as_integer_ratio()[1].bit_length() - 1)
    return shift, [[_times(value, shift) for value in values] for values in lists]


def _times(value: int | float, shift: int) -> int:
    if isinstance(value, int):
        return value << shift
    if value in (float("inf"), -float("inf")):
        return INFINITE if value > 0 else -INFINITE
    numerator, denominator = value.as_integer_ratio()
    return numerator << shift >> (denominator.bit_length() - 1)


def distance(value: int | float, exact: int, shift: int) -> Fraction:
    """Return how far a value is from an exact one that was scaled by two to `shift`."""
    return abs(Fraction(value) - Fraction(exact, 1 << shift))


def minimum_cut(
    n: int, arcs: Iterable[tuple[int, int, int]], sources: Iterable[int], sinks: Iterable[int]
) -> Cut:
    """Return a minimum cut: shortest augmenting paths on a matrix, the terminals joined to one each."""
    sources, sinks = set(sources), set(sinks)
    source, sink = min(sources), min(sinks)
    place = [source if v in sources else sink if v in sinks else v for v in range(n)]
    residual = [[0] * n for _ in range(n)]
    out = [0] * n  # the heads of residual arcs, one bit each
    into = [0] * n
    for tail, head, capacity in arcs:
        tail, head = place[tail], place[head]
        if tail != head and capacity:
            residual[tail][head] += capacity
            out[tail] |= 1 << head
            into[head] |= 1 << tail
    value = residual[source][sink]
    residual[source][sink] = 0
    out[source] &= ~(1 << sink)
    into[sink] &= ~(1 << source)

    def push(path: list[int]) -> int:
        amount = min(residual[u][v] for u, v in pairwise(path))
        for u, v in pairwise(path):
            residual[u][v] -= amount
            if not residual[u][v]:
                out[u] &= ~(1 << v)
                into[v] &= ~(1 << u)
            residual[v][u] += amount
            out[v] |= 1 << u
            into[u] |= 1 << v
        return amount

    both = out[source] & into[sink]
    while both:
        middle = (both & -both).bit_length() - 1
        both &= both - 1
        value += push([source, middle, sink])
    while value < INFINITE:
        parent = {source: source}
        seen, queue = 1 << source, [source]
        for u in queue:
            new = out[u] & ~seen
            seen |= new
            while new:
                v = (new & -new).bit_length() - 1
                new &= new - 1
                parent[v] = u
                queue.append(v)
            if seen >> sink & 1:
                break
        else:
            break
        path = [sink]
        while path[-1] != source:
            path.append(parent[path[-1]])
        value += push(path[::-1])
    source_side, sink_side = _closure(source, out), _closure(sink, into)
    return Cut(
        value,
        {v for v in range(n) if sink_side >> place[v] & 1},
        {v for v in range(n) if source_side >> place[v] & 1},
    )


def _closure(root: int, neighbours: list[int]) -> int:
    seen = frontier = 1 << root
    while frontier:
        v = (frontier & -frontier).bit_length() - 1
        frontier &= frontier - 1
        new = neighbours[v] & ~seen
        seen |= new
        frontier |= new
    return seen


def cut_capacity(arcs: Iterable[tuple[int, int, int]], sink_side: Any) -> int:
    """Return the capacity of a cut; `sink_side` has a bool a vertex."""
    return sum(capacity for tail, head, capacity in arcs if not sink_side[tail] and sink_side[head])


def largest_matching(num_rows: int, edges: Iterable[Sequence[int]]) -> int:
    """Return the size of a maximum matching: one augmenting path after the other."""
    neighbours = [0] * num_rows
    for row, column in edges:
        neighbours[row] |= 1 << column
    partner: dict[int, int] = {}
    seen = 0

    def augment(row: int) -> bool:
        nonlocal seen
        while new := neighbours[row] & ~seen:
            column = (new & -new).bit_length() - 1
            seen |= 1 << column
            if column not in partner or augment(partner[column]):
                partner[column] = row
                return True
        return False

    size = 0
    for row in range(num_rows):
        seen = 0
        size += augment(row)
    return size


def cheapest_assignment(costs: Sequence[Sequence[int | None]], num_columns: int) -> tuple[int, int]:
    """Return the most pairs there can be, and the least cost of that many; None is not allowed.

    By a table over the sets of columns that the rows so far have taken.
    """
    if len(costs) > num_columns:
        turned = [[row[column] for row in costs] for column in range(num_columns)]
        return cheapest_assignment(turned, len(costs))
    prize = 1 + 2 * sum(abs(cost) for row in costs for cost in row if cost is not None)  # for each pair
    full = all(cost is not None for row in costs for cost in row)  # then nobody is left over
    table = {0: 0}
    for row in costs:
        allowed = [(1 << column, cost - prize) for column, cost in enumerate(row) if cost is not None]
        following: dict[int, int] = {} if full else dict(table)
        for taken, total in table.items():
            for bit, cost in allowed:
                if not taken & bit:
                    sum_ = total + cost
                    if following.get(taken | bit, sum_) >= sum_:
                        following[taken | bit] = sum_
        table = following
    taken = min(table, key=lambda columns: table[columns])
    size = taken.bit_count()
    return size, table[taken] + prize * size


class CheapestFlow(NamedTuple):
    """The answer of :func:`cheapest_flow`.

    Attributes
    ----------
    ending : str
        "optimal", "infeasible", or "unbounded" where a cycle of infinite capacity has negative cost.
    cost : int
    flow : list of int
        By arcs.
    """

    ending: str
    cost: int
    flow: list[int]


def cheapest_flow(
    n: int, arcs: Sequence[tuple[int, int, int, int, int]], supply: Sequence[int]
) -> CheapestFlow:
    """Return a flow of minimum cost: shortest paths by Bellman and Ford, one after the other.

    An arc is (tail, head, lower bound, capacity, cost). Capacities of INFINITE or more are infinite. At first
    each arc carries its lower bound, or its capacity if its cost is negative.
    """
    endless = [arc[3] >= INFINITE for arc in arcs]
    limit = 1 + sum(map(abs, supply)) + sum(abs(arc[2]) for arc in arcs)
    limit += sum(arc[3] for arc, without in zip(arcs, endless, strict=True) if not without)
    free = [(arc[0], arc[1], arc[4]) for arc, without in zip(arcs, endless, strict=True) if without]
    unbounded = _has_negative_cycle(n, free)
    head, room, cost, left = [], [], [], list(supply)
    for (tail, end, lower, capacity, price), without in zip(arcs, endless, strict=True):
        extra = limit if without else capacity - lower
        carried = extra if price < 0 and not unbounded else 0
        left[tail] -= lower + carried
        left[end] += lower + carried
        head += [end, tail]
        room += [extra - carried, carried]
        cost += [0, 0] if unbounded else [price, -price]
    while any(left):
        path = _path_to_deficit(n, left, head, room, cost)
        if not path:
            return CheapestFlow("infeasible", 0, [])
        begin, end = head[path[0] ^ 1], head[path[-1]]
        amount = min(left[begin], -left[end], *(room[arc] for arc in path))
        left[begin] -= amount
        left[end] += amount
        for arc in path:
            room[arc] -= amount
            room[arc ^ 1] += amount
    if unbounded:
        return CheapestFlow("unbounded", 0, [])
    flow = [arc[2] + room[2 * i + 1] for i, arc in enumerate(arcs)]
    return CheapestFlow("optimal", sum(arc[4] * f for arc, f in zip(arcs, flow, strict=True)), flow)


def _has_negative_cycle(n: int, arcs: Sequence[tuple[int, int, int]]) -> bool:
    distance = [0] * n
    for _ in range(n):
        changed = False
        for tail, head, cost in arcs:
            if distance[tail] + cost < distance[head]:
                distance[head] = distance[tail] + cost
                changed = True
        if not changed:
            return False
    return True


def _path_to_deficit(
    n: int, left: Sequence[int], head: Sequence[int], room: Sequence[int], cost: Sequence[int]
) -> list[int]:
    """Return the residual arcs of a shortest path from the vertices with excess to one with a deficit."""
    distance: list[int | None] = [0 if amount > 0 else None for amount in left]
    parent = [-1] * n
    residual = [(head[arc ^ 1], head[arc], arc) for arc in range(len(head)) if room[arc] > 0]
    changed = True
    while changed:
        changed = False
        for u, v, arc in residual:
            start, end = distance[u], distance[v]
            if start is not None and (end is None or start + cost[arc] < end):
                distance[v], parent[v] = start + cost[arc], arc
                changed = True
    reached = [(d, v) for v, d in enumerate(distance) if d is not None and left[v] < 0]
    if not reached:
        return []
    path, at = [], min(reached)[1]
    while parent[at] >= 0:
        path.append(parent[at])
        at = head[parent[at] ^ 1]
    return path[::-1]
