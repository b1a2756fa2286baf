"""Other assignments than a cheapest one: the shortest ways to exchange columns, by the prices that prove it.

Let the cost of a pair less the prices of its row and its column be its *length*: at least 0, and 0 for the
pairs of a cheapest assignment. A row may take the column of another row, which takes that of a third, and so
on round a cycle. The assignment then costs as much more as the pairs that are taken are long, together. Every
other assignment differs from the cheapest one by such cycles. So a pair (i, j) is in every assignment that
costs less than the cheapest one plus the shortest cycle through row i.

One more row, the *free* one, has the columns without a partner. It may take any column at the difference of
the prices. If all rows cannot be assigned, a cover splits the problem into two, and their graphs are put side
by side (:mod:`..certify.assignment`). Where rows may stay single, each has one more column of its own.

No cycle that matters has a pair longer than some cycle through its row. Of dense costs, the cycles of two
rows say how long that may be, and longer pairs are not listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, Indices, Number, Numbers
from ..certify.assignment import (
    CHUNK,
    Costs,
    Side,
    cover_of,
    excess,
    for_values,
    sides_of,
    within_range,
)
from ..certify.exact import ExactPrices, as_integers
from ..certify.singles import Singles, in_integers
from ..certify.singles import within_range as singles_within_range
from ..errors import CostOverflowError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.point_costs import PointCosts
from ..kernels.constants import ONE, ZERO
from ..kernels.heap import move_up, take_first
from ..kernels.kernel import kernel
from ..kernels.strong_components import find_components, new_components

#: The length of what is not allowed, in integers. Two of them, less 1, sum to an int64.
ENDLESS = 2**62
#: The length of a path without pairs: of floats, too.
NONE: Number = 0
#: Sources of searches between two looks at Ctrl-C.
SOURCES = 256


class Exchanges(NamedTuple):
    """Which row may take which column, and the length of the pair, for all nodes of the graph.

    A node is a row that has a column (a column that has a row, where a cover says so), or a free row.
    """

    first: NDArray[np.uint64]  #: shape (nodes + 1,): the pairs of each node begin here
    column: NDArray[np.uint32]
    length: Array  #: int64 or float64, at least 0
    owner: NDArray[np.uint32]  #: the node that has each column
    node: NDArray[np.int64]  #: the node of each pair of the result
    #: the row of each node but the free ones, and the column of each column; -1: where a row stays single. Of
    #: nodes that are columns these are a column and rows.
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    swapped: NDArray[np.bool_]  #: which nodes are columns
    by: float  #: lengths are those of the costs as given times this

    @property
    def endless(self) -> Number:
        """The length of what is not allowed."""
        return endless(self.length.dtype)


class Graph(NamedTuple):
    """The arcs of all nodes: from a row to the owner of a column that it may take."""

    first: Indices  #: shape (nodes + 1,)
    head: Indices
    length: Numbers


class Memory(NamedTuple):
    """The state of a search. All arrays but the last have an entry for each node."""

    distance: Numbers  #: from the source; endless where the search was not
    via: Indices  #: the pair by which a node was reached; of the source: the last pair of the cycle
    heap: Indices
    place: Indices
    touched: Indices  #: the nodes with a distance
    number: Indices  #: shape (1,): how many these are


def endless(dtype: DType) -> Number:
    """Return the length of what is not allowed."""
    return np.int64(ENDLESS) if dtype.kind == "i" else np.float64(np.inf)


def new_memory(exchanges: Exchanges) -> Memory:
    """Return memory before the first search."""
    size = len(exchanges.first) - 1
    distance = np.full(size, exchanges.endless, dtype=exchanges.length.dtype)
    via, heap, place, touched = (np.zeros(size, dtype=np.uint64) for _ in range(4))
    return Memory(distance, via, heap, place, touched, np.zeros(1, dtype=np.uint64))


@kernel
def shorten_cycles(
    graph: Graph,
    shortest: Numbers,
    begin: np.uint64,
    end: np.uint64,
    upwards: bool,
    memory: Memory,
    endless: Number,
) -> None:
    """Lower ``shortest[s]`` to the length of the shortest cycle through s, for nodes from `begin` to `end`.

    `upwards`: cycles have no nodes below s. Dijkstra's algorithm for each s, which ends where paths are as
    long as what is known. `memory` keeps the last search.
    """
    first, head, length = graph.first, graph.head, graph.length
    distance, via, heap, place = memory.distance, memory.via, memory.heap, memory.place
    for source in range(begin, end):
        for k in range(np.uint64(memory.number[ZERO])):
            distance[memory.touched[k]] = endless
        lowest = np.uint64(source) if upwards else ZERO
        best = shortest[source]
        touched, size = ZERO, ZERO
        node, so_far = np.uint64(source), NONE
        while True:
            # Follow the pairs of the node.
            for e in range(np.uint64(first[node]), np.uint64(first[node + ONE])):
                other = np.uint64(head[e])
                reached = so_far + length[e]
                if other < lowest or reached >= best or other == node:
                    continue
                if other == source:
                    best = reached
                    via[source] = e
                    continue
                if reached >= distance[other]:
                    continue
                if distance[other] == endless:
                    memory.touched[touched] = other
                    touched += ONE
                    place[other] = size
                    size += ONE
                distance[other] = reached
                via[other] = e
                move_up(heap, place, distance, np.uint64(place[other]), other)
            # Go on at the nearest node.
            if size == ZERO:
                break
            node = take_first(heap, place, distance, size)
            size -= ONE
            so_far = distance[node]
            if so_far >= best:
                break
        memory.number[ZERO] = touched
        shortest[source] = best


def regrets(exchanges: Exchanges, bounds: Array) -> Array:
    """Return the length of the shortest cycle through the node of each pair: at most its bound."""
    shortest, memory, size = bounds.copy(), new_memory(exchanges), len(bounds)
    graph = Graph(exchanges.first, exchanges.owner[exchanges.column], exchanges.length)
    for begin in range(0, size if len(graph.head) else 0, SOURCES):
        part = np.uint64(begin), np.uint64(min(begin + SOURCES, size))
        shorten_cycles(graph, shortest, *part, False, memory, exchanges.endless)
    return shortest[exchanges.node]


def has_cycle(exchanges: Exchanges) -> bool:
    """Return whether some cycle exchanges columns."""
    nodes = len(exchanges.first) - 1
    state = new_components(nodes, np.dtype(np.uint32))
    arrays = exchanges.first.astype(np.uint32), exchanges.column, exchanges.owner
    return int(find_components(*arrays, np.ones(nodes, dtype=np.bool_), state)) < nodes


class Given(NamedTuple):
    """An optimal assignment of one matrix with its prices."""

    costs: Costs
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    u: Array
    v: Array
    total: Number
    partial: bool
    exact: ExactPrices | None = None
    singles: Singles | None = None  #: where rows and columns may stay single


class Part(NamedTuple):
    """Rows that all have columns, and the prices of both, for costs to minimise."""

    costs: Costs
    sign: int
    column: NDArray[np.int64]  #: the column of each row
    left: NDArray[np.int64]  #: columns without a row
    u: Array
    v: Array
    release: Array | None  #: the length of the pair of the free row with each column; None: no such row
    #: the caller's numbers of its rows and of its columns; -1 for those of rows that stay single
    ends: tuple[NDArray[np.int64], NDArray[np.int64]]
    swapped: bool  #: whether its rows are the caller's columns
    pair: NDArray[np.int64]  #: for each row, the number of its pair in the result; -1 if it has none there
    #: lengths are Python integers, those of float costs times two to the power of this; None: they are not
    unit: int | None


def parts_of(given: Given) -> tuple[list[Part], float]:
    """Return the problems that an assignment consists of, and the factor of their lengths."""
    if given.singles is not None:
        return _with_singles(given, given.singles)
    costs, row, column, u, v, total, partial, exact, _ = given
    unit: int | None = None
    by = 1.0
    if exact is not None:
        assert not isinstance(costs, PointCosts)
        sparse = costs.to_sparse()
        (values,), exponent = as_integers(sparse.values)
        prices = exact.scaled_to(max(exponent, exact.exponent))
        unit, u, v = prices.exponent, prices.u, prices.v
        costs = replace(sparse, values=values << (unit - exponent), huge=False)
    elif costs.huge:
        costs, u, v, _, by = within_range(costs, 0, costs.at(0, row, column), u, v, total)
    sign = -1 if costs.maximize else 1
    u, v = for_values(costs, 0, u, v, sign)
    found = []
    for side in sides_of(costs, 0, cover_of(costs, 0, row, column, partial)):
        ends = (column, row, v, u) if side.swapped else (row, column, u, v)
        found.append(_part_of_side(side, *ends, unit))
    return found, by


def _part_of_side(side: Side, row: Array, column: Array, u: Array, v: Array, unit: int | None) -> Part:
    """Return the problem of one side of a cover."""
    costs, sign = side.costs, -1 if side.costs.maximize else 1
    pair = np.flatnonzero(side.own[row])
    pair = pair[np.argsort(row[pair], kind="stable")]
    if not side.own.all() or side.other.any():
        assert isinstance(costs, SparseCosts)
        costs = costs.submatrix(side.own, ~side.other)
    number = np.cumsum(~side.other) - 1
    u, v, taken = u[side.own], v[~side.other].copy(), number[column[pair]]
    left = np.delete(np.arange(len(v)), taken)
    release = None
    if len(left):
        most = v[taken].max()
        v[left] = most
        release = _not_negative(most - v, unit)
    ends = np.flatnonzero(side.own), np.flatnonzero(~side.other)
    return Part(costs, sign, taken, left, u, v, release, ends, side.swapped, pair, unit)


def _with_singles(given: Given, singles: Singles) -> tuple[list[Part], float]:
    """Return the problem whose rows may stay single: each has one more column, behind those of the costs."""
    costs, row, column, u, v, total, _, exact, _ = given
    unit: int | None = None
    by = 1.0
    if exact is not None:
        costs, singles, prices = in_integers(costs, singles, exact)
        unit, u, v = prices.exponent, prices.u, prices.v
    else:
        costs, singles, (row, column, u, v), _, by = singles_within_range(
            costs, singles, (row, column, u, v), total
        )
    if isinstance(costs, PointCosts):
        costs = DenseCosts(costs.block(0, costs.shape[1])[None], maximize=costs.maximize)
    sparse, sign = costs.to_sparse(), -1 if costs.maximize else 1
    _, n, m = costs.shape
    number = np.arange(n + 1)
    behind = sparse.first[1:].astype(np.int64)
    wider = replace(
        sparse,
        first=sparse.first + number.astype(np.uint64),
        column=np.insert(sparse.column, behind, (m + number[:-1]).astype(np.uint32)),
        values=np.insert(sparse.values, behind, singles.rows),
        num_columns=m + n,
        huge=False,
    )
    u, v = sign * u, sign * v
    taken, pair = m + number[:-1], np.full(n, -1)
    taken[row], pair[row] = column, np.arange(len(row))
    left = np.delete(np.arange(m + n), taken)
    release = _not_negative(np.append(sign * singles.columns - v, np.zeros(n, dtype=v.dtype)), unit)
    prices_of_columns = np.append(v, np.zeros(n, dtype=v.dtype))
    ends = number[:-1], np.append(np.arange(m), np.full(n, -1))
    return [Part(wider, sign, taken, left, u, prices_of_columns, release, ends, False, pair, unit)], by


def _signed(values: Array, sign: int) -> Array:
    """Return costs to minimise in 64 bits."""
    if values.dtype == object:
        return sign * values
    wide: Array = sign * values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    return wide


def _not_negative(lengths: Array, unit: int | None) -> Array:
    """Return lengths as int64 or float64, from 0 up to the endless one."""
    if unit is not None:
        return np.array([max(each, 0) / (1 << unit) for each in lengths.ravel()]).reshape(lengths.shape)
    if lengths.dtype.kind == "f":
        return np.maximum(lengths, 0)
    return np.minimum(lengths, ENDLESS).astype(np.int64)


class Listing:
    """The pairs of a part by their lengths: how long those are that matter, and the list of these."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.size = len(part.column)
        costs = part.costs
        self.below: Number = 0  #: how far rounding took a length below 0
        self.longest = (
            0 if part.release is None else int(part.release.max())
        )  #: of integers, before any limit
        #: the costs of all rows with the columns that have one, and with those that have none
        self.square: DenseCosts | PointCosts | None = None
        self.rest: DenseCosts | PointCosts | None = None
        if isinstance(costs, SparseCosts):
            row, column = costs.row, costs.column
            values = _signed(costs.values, part.sign)
            self.length = self._at_least_0(-excess(part.u[row], part.v[column], values))
            return
        self.square = _of_columns(costs, part.column)
        if len(part.left):
            self.rest = _of_columns(costs, part.left)

    @property
    def dtype(self) -> DType:
        """The dtype of lengths."""
        return np.dtype(np.int64 if self.part.costs.dtype.kind == "i" else np.float64)

    def _at_least_0(self, lengths: Array) -> Array:
        if lengths.dtype.kind == "f":
            self.below = max(self.below, -lengths.min(initial=0.0))
        elif lengths.size:
            self.longest = max(self.longest, int(lengths.max()))
        return _not_negative(lengths, self.part.unit)

    def _lengths(self, costs: DenseCosts | PointCosts, begin: int, end: int, u: Array, v: Array) -> Array:
        """Return the lengths of the pairs of some rows of dense costs or points."""
        values = _signed(costs.block(begin, end), self.part.sign)
        return self._at_least_0(-excess(u[begin:end, None], v, values))

    def rounding(self) -> Number:
        """Return by how much rounding may have changed the difference of two assignments' costs.

        :meth:`bounds` was called before.
        """
        part, rows = self.part, np.arange(self.size)
        values = _signed(part.costs.at(0, rows, part.column), part.sign)
        own = excess(part.u, part.v[part.column], values)
        if own.dtype.kind != "f":
            return 0
        return self.size * (self.below + np.abs(own).max(initial=0.0)) * (1 + 2.0**-40)

    def _blocks(self, width: int) -> list[tuple[int, int]]:
        step = max(1, CHUNK // max(width, 1))
        return [(begin, min(begin + step, self.size)) for begin in range(0, self.size, step)]

    def two_cycles(self, take: Callable[[int, Array], None]) -> None:
        """Call ``take(begin, lengths)`` with the lengths of all cycles of two nodes, some rows at a time.

        Those of a row with each row, and with the free row if there is one; endless where there is none.
        """
        part, none = self.part, endless(self.dtype)
        assert self.square is not None
        back, v = self.square.transposed(), part.v[part.column]
        for begin, end in self._blocks(self.size):
            there = self._lengths(self.square, begin, end, part.u, v)
            both = there + self._lengths(back, begin, end, v, part.u)
            both[np.arange(end - begin), np.arange(begin, end)] = none
            if self.rest is not None:
                assert part.release is not None
                free = self._lengths(self.rest, begin, end, part.u, part.v[part.left]).min(axis=1)
                both = np.hstack([both, (free + part.release[part.column[begin:end]])[:, None]])
            take(begin, both)

    def bounds(self) -> Array:
        """Return for each row a length that its shortest cycle does not exceed; endless if none is known."""
        found = np.full(self.size, endless(self.dtype), dtype=self.dtype)
        if self.square is not None and (self.size > 1 or self.rest is not None):

            def take(begin: int, both: Array) -> None:
                found[begin : begin + len(both)] = both.min(axis=1)

            self.two_cycles(take)
        return found

    def pairs(self, most: Number) -> tuple[Array, Array, Array]:
        """Return row, column and length of all pairs that are no longer than `most` and allowed, by rows.

        The last row is the free one, if there is one.
        """
        part, found = self.part, []
        if isinstance(part.costs, SparseCosts):
            near = np.flatnonzero((self.length <= most) & (self.length < endless(self.dtype)))
            found.append((part.costs.row[near], part.costs.column[near].astype(np.int64), self.length[near]))
        else:
            for begin, end in self._blocks(part.costs.shape[2]):
                lengths = self._lengths(part.costs, begin, end, part.u, part.v)
                near = np.flatnonzero((lengths <= most) & (lengths < endless(self.dtype)))
                row, column = np.divmod(near, lengths.shape[1])
                found.append((row + begin, column, lengths.ravel()[near]))
        if part.release is not None:
            near = np.flatnonzero(part.release <= most)
            found.append((np.full(len(near), self.size), near, part.release[near]))
        rows, columns, sizes = zip(*found, strict=True)
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(sizes)


def _of_columns(costs: DenseCosts | PointCosts, columns: Array) -> DenseCosts | PointCosts:
    """Return the costs of all rows with some columns."""
    if isinstance(costs, PointCosts):
        return replace(costs, columns=costs.columns[columns])
    return DenseCosts(costs.values[:, :, columns], maximize=costs.maximize)


def listed(listings: list[Listing], most: Number, by: float, num_pairs: int) -> Exchanges:
    """Return the graphs of all parts as one, with the pairs that are no longer than `most`.

    Nodes are the rows of all parts, then their free rows.
    """
    none = np.zeros(0, dtype=np.int64)
    rows, columns, owner = [none], [none], [none]
    ends, others, swapped = [none], [none], [none]
    lengths = [np.zeros(0, listings[0].dtype if listings else np.float64)]
    node = np.full(num_pairs, -1)
    begin, offset, free = 0, 0, sum(each.size for each in listings)
    for each in listings:
        part = each.part
        row, column, length = each.pairs(most)
        rows.append(np.where(row < each.size, row + begin, free))
        columns.append(column + offset)
        lengths.append(length)
        has = np.full(len(part.v), free)
        has[part.column] = begin + np.arange(each.size)
        owner.append(has)
        ends.append(part.ends[0])
        others.append(part.ends[1])
        swapped.append(np.full(each.size, part.swapped, dtype=np.int64))
        node[part.pair[part.pair >= 0]] = begin + np.flatnonzero(part.pair >= 0)
        begin, offset, free = begin + each.size, offset + len(part.v), free + (part.release is not None)
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    first = np.zeros(free + 1, dtype=np.uint64)
    np.cumsum(np.bincount(row, minlength=free), out=first[1:])
    return Exchanges(
        first,
        np.concatenate(columns)[order].astype(np.uint32),
        np.concatenate(lengths)[order],
        np.concatenate(owner).astype(np.uint32),
        node,
        np.concatenate(ends),
        np.concatenate(others),
        np.concatenate(swapped) > 0,
        by,
    )


def regrets_of(given: Given) -> Array:
    """Return how much dearer the best assignment without each pair is; endless if each one has it."""
    parts, by = parts_of(given)
    listings = [Listing(part) for part in parts]
    bounds = [each.bounds() for each in listings]
    most = max((part.max(initial=0) for part in bounds), default=0)
    exchanges = listed(listings, most, by, len(given.row))
    size = len(exchanges.first) - 1
    found = np.full(size, exchanges.endless, dtype=exchanges.length.dtype)
    if bounds:
        rows = np.concatenate(bounds)
        found[: len(rows)] = rows
    found = regrets(exchanges, found)
    if found.dtype.kind == "f":
        return found / by
    none = found == ENDLESS
    if none.any() and max(each.longest for each in listings) * size >= ENDLESS:
        raise CostOverflowError("regrets may pass 2**62, which 64 bits do not hold: divide all costs")
    found[none] = np.iinfo(np.int64).max
    return found


def is_unique(given: Given) -> bool:
    """Return whether every other assignment is dearer, of floats by more than rounding may have changed."""
    parts, by = parts_of(given)
    listings = [Listing(part) for part in parts]
    shortest = [each.bounds().min(initial=endless(each.dtype)) for each in listings]
    most = sum(each.rounding() for each in listings)
    if min(shortest, default=1) <= most:
        return False
    return not has_cycle(listed(listings, most, by, len(given.row)))
