"""Assignments where many points coincide, or many rows or columns are equal: shortest paths between places.

Ahuja, Magnanti and Orlin, "Network Flows" (1993), section 9.7. The points of one side are grouped by place. A
place takes as many points of the other side, the *units*, as it has points. For dense costs, equal rows, or
equal columns, are a place. Units move along shortest paths
from places that have too many to places that have too few. Paths lead from place to place only, since the
best unit to move from one place to another is known. So a search takes O(places**2) time for any number of
units.

Definitions. ``cost[k, p]`` is the cost of unit k at place p. ``length[p, q]`` is the least ``cost[k, q] -
cost[k, p]`` of the units k at place p, and ``unit[p, q]`` is that unit.

Invariants:

- Each unit is at one place.
- The reduced length ``length[p, q] + price[p] - price[q]`` is not negative, up to rounding. So no unit is
  cheaper at another place, when the price of each place is subtracted.

::

    put each unit at its cheapest place; all prices are 0                  add
    while some place has too many units:                                   move_units
        search the nearest place that has too few                          search
        lower the price of each nearer place by how much nearer it is
        move one unit along each step of the path                          move_along_path
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Index, Int64
from ...graph.costs import DenseCosts, ends_of
from ...graph.network import EXACT_FLOAT
from ...graph.point_costs import PointCosts
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..search_state import NONE
from ..solution import SOLVED, STOPPED

#: If the number of places of one side is at most this share of its points, paths lead from place to place.
FEW_PLACES = 0.33
#: Rows of a matrix that are compared first, to find equal columns, and together.
ROWS_OF_SAMPLE, ROWS_TOGETHER = 8, 64


class Places(NamedTuple):
    """The state of a solve with K units and P places."""

    cost: NDArray[np.float64]  #: shape (K, P)
    #: shape (P,): the number of units at each place minus the number that it takes
    excess: NDArray[np.int64]
    price: NDArray[np.float64]  #: shape (P,)
    place: NDArray[np.uint64]  #: shape (K,): the place of each unit
    head: NDArray[np.uint64]  #: shape (P,): the first unit of each place's list, or NONE
    #: shape (K,): the neighbours of each unit on the list of its place, or NONE
    following: NDArray[np.uint64]
    previous: NDArray[np.uint64]
    #: shape (P, P): infinite if place p has no unit, and from a place to itself
    length: NDArray[np.float64]
    unit: NDArray[np.uint64]  #: shape (P, P)
    distance: NDArray[np.float64]  #: shape (P,): distances of the current search
    parent: NDArray[np.uint64]  #: shape (P,)
    done: NDArray[np.bool_]  #: shape (P,)


def make_places(cost: NDArray[np.float64], supply: NDArray[np.int64]) -> Places:
    """Return the state in which no unit has a place; place p takes ``supply[p]`` units."""
    units, places = cost.shape
    return Places(
        cost,
        -supply,
        np.zeros(places),
        np.full(units, NONE),
        np.full(places, NONE),
        np.full(units, NONE),
        np.full(units, NONE),
        np.full((places, places), np.inf),
        np.full((places, places), NONE),
        np.zeros(places),
        np.zeros(places, dtype=np.uint64),
        np.zeros(places, dtype=np.bool_),
    )


@kernel
def add(state: Places, k: Index, p: Index) -> None:
    """Put a unit at a place, and update the lengths from that place."""
    first = state.head[p]
    state.place[k] = p
    state.head[p] = k
    state.previous[k] = NONE
    state.following[k] = first
    if first != NONE:
        state.previous[first] = k
    state.excess[p] += 1
    shorten(state, k, p)


@kernel
def shorten(state: Places, k: Index, p: Index) -> None:
    """Shorten the lengths from a place where one of its units gives shorter ones."""
    cost, length, unit = state.cost[k], state.length[p], state.unit[p]
    own = cost[p]
    for q in range(np.uint64(len(cost))):
        if cost[q] - own < length[q] and q != p:
            length[q] = cost[q] - own
            unit[q] = k


@kernel
def remove(state: Places, k: np.uint64, p: np.uint64) -> None:
    """Take a unit off a place, and recompute the lengths that it gave."""
    before, behind = state.previous[k], state.following[k]
    if before == NONE:
        state.head[p] = behind
    else:
        state.following[before] = behind
    if behind != NONE:
        state.previous[behind] = before
    state.excess[p] -= 1
    cost, length, unit = state.cost, state.length[p], state.unit[p]
    for q in range(np.uint64(len(length))):
        if unit[q] == k:
            least, its_unit = np.inf, NONE
            other = state.head[p]
            while other != NONE:
                if cost[other, q] - cost[other, p] < least:
                    least = cost[other, q] - cost[other, p]
                    its_unit = other
                other = state.following[other]
            length[q] = least
            unit[q] = its_unit


@kernel
def search(state: Places, start: Index, monitor: Monitor) -> Index:
    """Find the place nearest to `start` that has too few units, and lower the prices of nearer places.

    Returns that place, or NONE if the search was stopped.
    """
    distance, price, done = state.distance, state.price, state.done
    places = np.uint64(len(distance))
    for p in range(places):
        distance[p] = np.inf
        done[p] = False
    distance[start] = 0.0
    state.parent[start] = NONE
    nearest = start
    while state.excess[nearest] >= 0:
        if relaxed_load(monitor.stop, 0) != 0:
            return NONE
        done[nearest] = True
        here = distance[nearest]
        base = here + price[nearest]
        length = state.length[nearest]
        following: Any = NONE
        least = np.inf
        for q in range(places):
            if not done[q]:
                through = max(base + length[q] - price[q], here)
                if through < distance[q]:
                    distance[q] = through
                    state.parent[q] = nearest
                if distance[q] < least:
                    least = distance[q]
                    following = q
        monitor.counts[ARC_SCANS] += places
        nearest = following
    for p in range(places):
        if done[p]:
            price[p] -= distance[nearest] - distance[p]
    return nearest


@kernel
def move_along_path(state: Places, end: Index) -> None:
    """Move a unit along each step of the path to `end`, the last step first."""
    q = end
    p = state.parent[q]
    while p != NONE:
        k = state.unit[p, q]
        remove(state, k, p)
        add(state, k, q)
        q = p
        p = state.parent[q]


@kernel
def move_units(state: Places, monitor: Monitor) -> Int64:
    """Move units until each place has its number of units, at the least cost; return the ending."""
    places = np.uint64(len(state.price))
    for k in range(np.uint64(len(state.place))):
        if relaxed_load(monitor.stop, 0) != 0:
            return STOPPED
        cheapest: Any = ZERO
        for p in range(places):
            if state.cost[k, p] < state.cost[k, cheapest]:
                cheapest = p
        add(state, k, cheapest)
    for start in range(places):
        while state.excess[start] > 0:
            end = search(state, start, monitor)
            if end == NONE:
                return STOPPED
            move_along_path(state, end)
            monitor.counts[AUGMENTATIONS] += ONE
    return SOLVED


class Grouped(NamedTuple):
    """Points of one side by their place."""

    first: NDArray[np.int64]  #: shape (places,): the first point of each place in `order`
    order: NDArray[np.int64]  #: shape (points,): the points, place by place

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of points of each place."""
        return np.diff(self.first, append=len(self.order))


def group(points: NDArray[np.float64]) -> Grouped:
    """Return points by their place."""
    order = np.lexsort(points.T)
    ordered = points[order]
    begins = np.ones(len(points), dtype=bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return Grouped(np.flatnonzero(begins), order)


def group_equal(values: Array) -> Grouped | None:
    """Return the columns of a matrix by their values; None where most columns differ, or some are infinite.

    O(n m) time where few columns differ in a few rows, else O(n + m log m).
    """
    n, m = values.shape
    most = FEW_PLACES * m
    if len(np.unique(values[0])) > most:
        return None
    grouped = group(np.ascontiguousarray(values[:: max(1, n // ROWS_OF_SAMPLE)].T))
    if len(grouped.first) > most:
        return None
    place = np.empty(m, dtype=np.int64)
    place[grouped.order] = np.repeat(np.arange(len(grouped.first)), grouped.counts)
    of_places = values[:, grouped.order[grouped.first]]
    if not np.isfinite(of_places).all():
        return None
    # Compare what is consecutive in memory: parts of rows, or whole columns.
    by_column = values.flags.f_contiguous
    given, wanted = (part.T if by_column else part for part in (values, of_places))
    wanted = np.ascontiguousarray(wanted)
    for begin in range(0, len(given), ROWS_TOGETHER):
        part = slice(begin, begin + ROWS_TOGETHER)
        like = wanted[place[part]] if by_column else wanted[part].take(place, axis=1)
        if not np.array_equal(given[part], like):
            return None
    return grouped


def group_dense(costs: DenseCosts) -> tuple[Grouped, bool] | None:
    """Return the rows or columns of a matrix by their values, and whether it is the rows.

    None where most of them differ, and where floats do not hold the integers that paths may cost.
    """
    for of_rows in (False, True):
        values = costs.values[0].T if of_rows else costs.values[0]
        grouped = group_equal(values)
        if grouped is not None:
            break
    else:
        return None
    if costs.dtype.kind == "i":
        least, most = ends_of(values[:, grouped.order[grouped.first]], 1)
        if 4 * (sum(costs.shape) + 2) * max(-int(least), int(most)) >= EXACT_FLOAT:
            return None
    return grouped, of_rows


def costs_at(costs: PointCosts | DenseCosts, at: NDArray[np.int64], of_rows: bool) -> NDArray[np.float64]:
    """Return the costs of all units at the places of the rows, or columns, `at`; shape (units, places)."""
    _, n, m = costs.shape
    if isinstance(costs, DenseCosts):
        values: Array = costs.values[0]
        return (values[at].T if of_rows else values[:, at]).astype(np.float64)
    if of_rows:
        return replace(costs, rows=costs.columns, columns=costs.rows[at]).block(0, m)
    return replace(costs, columns=costs.columns[at]).block(0, n)


def solve_places(
    costs: PointCosts | DenseCosts, grouped: Grouped, of_rows: bool, control: Control
) -> tuple[NDArray[np.int64], Array, Array, int]:
    """Return the column of every row, the prices of rows and of columns, and the ending.

    `grouped` has the rows (`of_rows`) or the columns by their place; there are at least as many columns as
    rows. O(K * P * (K + P)) time at worst for P places and K points of the other side, mostly far less.
    Memory for K * P costs.
    """
    _, n, m = costs.shape
    at, count = grouped.order[grouped.first], grouped.counts
    # An extra place, or extra units, at cost 0 make up for columns beyond the number of rows.
    cost = costs_at(costs, at, of_rows)
    if of_rows and n < m:
        cost, count = np.hstack([cost, np.zeros((m, 1))]), np.append(count, m - n)
    elif not of_rows:
        cost = np.vstack([cost, np.zeros((m - n, len(at)))])
    state = make_places(np.ascontiguousarray(cost), count)
    ending = move_units(state, control.monitor())
    match, u, v = np.full(n, -1), np.zeros(n), np.zeros(m)
    if ending == SOLVED:
        unit = np.argsort(state.place, kind="stable")  # units by place, in the order of the points
        of_unit = (
            state.cost[np.arange(m), state.place.astype(np.int64)] - state.price[state.place.astype(np.int64)]
        )
        of_point = np.repeat(state.price, count)
        if of_rows:
            match[grouped.order] = unit[:n]
            free = state.price[-1] if n < m else 0.0
            u[grouped.order], v[:] = of_point[:n] - free, of_unit + free
        else:
            points = np.empty(m, dtype=np.int64)
            points[unit] = grouped.order
            match[:] = points[:n]
            free = state.price.max() if n < m else 0.0
            u[:], v[grouped.order] = of_unit[:n] + free, of_point - free
    if costs.dtype.kind == "i":
        u, v = u.astype(np.int64), v.astype(np.int64)
    return match, u, v, int(ending)
