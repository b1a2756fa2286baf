"""The k cheapest assignments of one matrix, in order: the result, and the search from its cheapest one.

Murty, "An algorithm for ranking all the assignments in order of increasing cost", Operations Research 16
(1968), with what Pascoal, Captivo and Clímaco, "A note on a new variant of Murty's ranking assignments
algorithm", 4OR 1 (2003), and Miller, Stone and Cox, "Optimizing Murty's ranked assignment method", IEEE
Transactions on Aerospace and Electronic Systems 33 (1997), made of it.

All assignments but one are split by the first row whose column they change: those of *branch* t have the
columns of the rows before t, and another one for row t. The cheapest of them follows from a shortest cycle
through row t that has no row before it, in the graph of :mod:`.alternatives`::

    take the cheapest assignment; search the cycles of its branches
    until k assignments are found, or no branch is left:
        take the branch whose assignment costs the least; exchange along its cycle; correct the prices
        search the cycles of its branches, which also leave out what the branch leaves out

Each assignment starts with the prices of the one before it, so no problem is solved from the beginning. Let r
assignments still be wanted, and r branches be known: a search for a cycle ends where it is longer than all of
theirs.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Number
from ..certify.assignment import TERMS, Costs
from ..certify.exact import accurate_sum
from ..certify.fields import check_array, check_kind
from ..certify.ranking import check_ranking, extra_lengths
from ..errors import InvalidInputError, VerificationError
from ..graph.device.costs import DeviceCosts
from ..graph.edge_tables import labels_of
from ..graph.scaling import accepted_gap
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import BoundedResult, Status
from ..solving.run import Deadline
from .alternatives import (
    SOURCES,
    Exchanges,
    Given,
    Graph,
    Listing,
    endless,
    listed,
    new_memory,
    parts_of,
    shorten_cycles,
)


class Solved(Protocol):
    """A result of :func:`preflow.linear_assignment`."""

    @property
    def value(self) -> int | float:
        """The total."""

    @property
    def costs(self) -> Costs | DeviceCosts:
        """The costs."""

    def verify(self) -> None:
        """Prove it."""

    def _given(self, call: str) -> Given:
        """Return the assignment of a single matrix."""


class Branching(NamedTuple):
    """An assignment that was found, and what its branches inherit."""

    owner: NDArray[np.uint32]  #: the node that has each column
    u: Array  #: what lengths are less for each node than in the beginning
    v: Array  #: and for each column
    extra: int | float  #: how much dearer it is than the cheapest assignment, in the unit of lengths
    depth: int  #: rows before this one keep their columns
    banned: NDArray[np.int64]  #: pairs, by number, that the row `depth` may not take


class Search:
    """The search of one call."""

    def __init__(self, exchanges: Exchanges) -> None:
        self.exchanges = exchanges
        self.row = np.repeat(np.arange(len(exchanges.first) - 1), np.diff(exchanges.first).astype(np.int64))
        self.column = exchanges.column.astype(np.int64)
        self.memory = new_memory(exchanges)
        self.found: list[Branching] = []
        #: extra cost of a branch, number of its assignment, its row
        self.branches: list[tuple[int | float, int, int]] = []

    def graph(self, of: Branching, row: int) -> Graph:
        """Return the graph of an assignment for its branches from a row on."""
        exchanges = self.exchanges
        length = exchanges.length - of.u[self.row] - of.v[self.column]
        if row == of.depth:
            length[of.banned] = exchanges.endless
        # Below 0 are the lengths of pairs of rows that keep their columns, and what is rounded.
        return Graph(exchanges.first, of.owner[exchanges.column], np.maximum(length, 0))

    def branch(self, wanted: int, deadline: Deadline) -> bool:
        """Search the branches of the last assignment; return whether time sufficed.

        `wanted`: how many more assignments are asked for.
        """
        number, of = len(self.found) - 1, self.found[-1]
        rows, most = len(self.exchanges.rows), self.exchanges.endless
        if len(self.branches) >= wanted:
            most = most.dtype.type(min(heapq.nsmallest(wanted, self.branches)[-1][0] - of.extra, most))
        shortest = np.full(rows, most, dtype=self.exchanges.length.dtype)
        graph = self.graph(of, of.depth)
        for begin in range(of.depth, rows if len(graph.head) else 0, SOURCES):
            if deadline.passed():
                return False
            part = np.uint64(begin), np.uint64(min(begin + SOURCES, rows))
            shorten_cycles(graph, shortest, *part, True, self.memory, self.exchanges.endless)
        for row in np.flatnonzero(shortest < most).tolist():
            if row >= of.depth:
                heapq.heappush(self.branches, (of.extra + shortest[row].item(), number, row))
        return True

    def take(self) -> None:
        """Find the assignment of the cheapest branch."""
        extra, number, row = heapq.heappop(self.branches)
        of, memory, none = self.found[number], self.memory, self.exchanges.endless
        shortest = np.full(len(self.exchanges.rows), none, dtype=self.exchanges.length.dtype)
        graph, part = self.graph(of, row), (np.uint64(row), np.uint64(row + 1))
        shorten_cycles(graph, shortest, *part, True, memory, none)
        # Correct the prices of all rows that the search came to before the end of the cycle.
        touched = memory.touched[: int(memory.number[0])].astype(np.int64)
        shift = np.zeros_like(memory.distance)
        shift[touched] = np.maximum(shortest[row] - memory.distance[touched], 0)
        v = of.v - shift[of.owner]
        shift[row] = shortest[row]
        # Exchange the columns.
        owner, node = of.owner.copy(), row
        own = np.flatnonzero((self.row == row) & (of.owner[self.column] == row))
        while True:
            pair = int(memory.via[node])
            node = int(self.row[pair])
            owner[self.column[pair]] = node
            if node == row:
                break
        banned = np.append(own, of.banned) if row == of.depth else own
        self.found.append(Branching(owner, of.u + shift, v, extra, row, banned))


def _least_cycles(listings: list[Listing], number: int) -> Number:
    """Return a length that as many different cycles do not exceed; endless if none is known."""
    dtype = listings[0].dtype
    if any(each.square is None for each in listings) or number > sum(each.size**2 for each in listings):
        return endless(dtype)
    least = np.full(number, endless(dtype), dtype=dtype)
    for each in listings:

        def take(begin: int, both: Array) -> None:
            nonlocal least
            later = np.arange(both.shape[1]) > np.arange(begin, begin + len(both))[:, None]
            least = np.partition(np.append(least, both[later]), number - 1)[:number]

        each.two_cycles(take)
    return least[-1]


def rank(result: Solved, given: Given, k: int, time_limit: float | None) -> RankedAssignments:
    """Return the k best assignments from the best one."""
    deadline = Deadline(time_limit)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k must be a positive integer, got {k!r}")
    parts, by = parts_of(given)
    listings = [Listing(part) for part in parts]
    most = _least_cycles(listings, k - 1) if listings and k > 1 else 0
    exchanges = listed(listings, most, by, len(given.row))
    search = Search(exchanges)
    dtype = exchanges.length.dtype
    u, v = (np.zeros(size, dtype=dtype) for size in (len(exchanges.first) - 1, len(exchanges.owner)))
    search.found.append(Branching(exchanges.owner, u, v, 0, 0, np.zeros(0, dtype=np.int64)))
    done = k == 1
    while not done and search.branch(k - len(search.found), deadline) and search.branches:
        search.take()
        done = len(search.found) == k
    stopped = not done and deadline.passed()
    pairs = [_pairs(exchanges, each.owner) for each in search.found]
    total = [result.value] + [_total(given, *each) for each in pairs[1:]]
    width = max(len(row) for row, _ in pairs)
    row, column = (
        np.array([np.pad(pair[side], (0, width - len(pair[side])), constant_values=-1) for pair in pairs])
        for side in (0, 1)
    )
    # Sums of floats may have another order than sums of lengths, which are rounded, too.
    cost = np.array(
        total, dtype=object if any(isinstance(t, int) and abs(t) >= 2**63 for t in total) else None
    )
    order = np.argsort(-cost if given.costs.maximize else cost, kind="stable")
    return RankedAssignments(
        row[order].reshape(len(pairs), width),
        column[order].reshape(len(pairs), width),
        cost[order],
        result,
        "time-limit" if stopped else "optimal",
        not stopped and not done,
    )


def _pairs(exchanges: Exchanges, owner: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pairs of an assignment, by rows."""
    taken = np.flatnonzero((owner < len(exchanges.rows)) & (exchanges.columns >= 0))
    node = owner[taken]
    ends, others, swapped = exchanges.rows[node], exchanges.columns[taken], exchanges.swapped[node]
    row, column = np.where(swapped, others, ends), np.where(swapped, ends, others)
    order = np.argsort(row)
    return row[order], column[order]


def _terms(given: Given, row: Array, column: Array) -> Array:
    """Return the costs of pairs, and of the singles where they count."""
    costs = given.costs
    parts = [costs.at(0, row, column) + costs.base_at(0, row, column)]
    if given.singles is not None:
        parts += [np.delete(given.singles.rows, row), np.delete(given.singles.columns, column)]
    return np.concatenate(parts)


def _total(given: Given, row: Array, column: Array) -> int | float:
    """Return the total of pairs, and of the singles where they count."""
    terms = _terms(given, row, column)
    return accurate_sum(terms) if terms.dtype.kind == "f" else sum(terms.tolist())


@dataclass(frozen=True, eq=False, repr=False)
class RankedAssignments(ReadOnlyArrays):
    """The best assignments of one matrix, in order.

    Attributes
    ----------
    row, column : ndarray of int64, shape (found, pairs)
        The pairs of each assignment, by ascending rows; -1 behind those of an assignment that has fewer pairs
        than others, as with `unmatched_cost`.
    cost : ndarray of int64, float64 or Python integers, shape (found,)
        Their totals: the least first, the largest first with `maximize`.
    best : AssignmentResult
        The result that these follow from.
    status : {"optimal", "time-limit"}
    complete : bool
        Whether there are no other assignments than these.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    cost: Array
    best: Solved
    status: Status
    complete: bool

    def __len__(self) -> int:
        return len(self.cost)

    def pairs(self) -> list[list[tuple[object, object]]]:
        """Return the pairs (row, column) of each assignment, by the caller's labels if there are some."""
        rows, columns = self.best.costs.labels or (None, None)
        found = []
        for row, column in zip(self.row, self.column, strict=True):
            ends = labels_of(rows, row[row >= 0]).tolist(), labels_of(columns, column[row >= 0]).tolist()
            found.append(list(zip(*ends, strict=True)))
        return found

    def verify(self) -> None:
        """Prove that these are the best assignments, in order, without the solver.

        `best` is proved by its prices. The others are valid, different, and have their totals. Every other
        assignment has another column than some of them for some first row. The best ones of these are
        computed by shortest paths between all rows: none is better than the last one. O(k n^3) for n pairs.
        Of floats up to rounding.
        """
        best = self.best
        check_kind(best, "best", BoundedResult)
        best.verify()
        check_array(np, self.row, "row", (-1, -1), np.int64)
        check_array(np, self.column, "column", self.row.shape, np.int64)
        number = len(self.row)
        if not isinstance(self.cost, np.ndarray) or self.cost.shape != (number,) or not number:
            raise VerificationError("there is not one total for each assignment")
        if self.status not in ("optimal", "time-limit") or not isinstance(self.complete, bool):
            raise VerificationError("status and complete are not those of a ranking")
        if self.complete and self.status != "optimal":
            raise VerificationError("a search that was stopped does not know all assignments")
        given = best._given("verify()")
        parts, by = parts_of(given)
        listings = [Listing(part) for part in parts]
        length, column_of = _lengths(given, listings, self.row, self.column)
        extra = extra_lengths(length, column_of)
        slack: int | float = 0
        if best.costs.dtype.kind == "f":
            pairs = [
                (row[row >= 0], column[row >= 0]) for row, column in zip(self.row, self.column, strict=True)
            ]
            size = max(float(np.abs(_terms(given, *each) * by).sum()) for each in pairs)
            slack = accepted_gap(TERMS * sum(length.shape)) * size
        sign = -1 if best.costs.maximize else 1
        for k, total in enumerate(self.cost.tolist()):
            if not abs(sign * (total - best.value) * by - extra[k]) <= slack:
                raise VerificationError(f"the total of assignment {k} is not {total}")
        check_ranking(length, column_of, extra, self.complete, slack)

    def __repr__(self) -> str:
        ends = f"{self.cost[0]:,} to {self.cost[-1]:,}" if len(self) > 1 else f"{self.cost[0]:,}"
        which = f"all {len(self)} assignments" if self.complete else f"the {len(self)} best assignments"
        return f"<{type(self).__name__}: {which}, cost {ends}>"


def _lengths(
    given: Given, listings: list[Listing], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Return the lengths of all pairs, those of the free row last, and the column of each row in each answer.

    Rows and columns are numbered as in the graph. VerificationError: an answer is no assignment.
    """
    size, width = sum(each.size for each in listings), sum(len(each.part.v) for each in listings)
    length = np.full((size + 1, width), np.inf, dtype=object)
    column_of = np.full((len(rows), size), -1)
    known = np.zeros(len(rows), dtype=np.int64)
    begin = offset = 0
    for side, many in zip((rows, columns), given.costs.shape[1:], strict=True):
        if side.min(initial=0) < -1 or side.max(initial=-1) >= many:
            raise VerificationError("a pair has a row or a column out of range")
    if ((rows < 0) != (columns < 0)).any() or ((rows[:, 1:] <= rows[:, :-1]) & (rows[:, 1:] >= 0)).any():
        raise VerificationError("the rows of an assignment are not ascending, with -1 behind them")
    for each in listings:
        row, column, numbers = each.pairs(endless(each.dtype))
        length[np.where(row < each.size, row + begin, size), column + offset] = numbers
        ends = (columns, rows) if each.part.swapped else (rows, columns)
        places = []
        for own, side, first in zip(each.part.ends, ends, (begin, offset), strict=True):
            place = np.full(max(given.costs.shape) + 1, -1)  # the last entry is that of -1
            place[own[own >= 0]] = first + np.flatnonzero(own >= 0)
            places.append(place[side])
        which, where = np.nonzero((places[0] >= 0) & (places[1] >= 0))
        column_of[which, places[0][which, where]] = places[1][which, where]
        known += np.bincount(which, minlength=len(rows))
        begin, offset = begin + each.size, offset + len(each.part.v)
    if (known != (rows >= 0).sum(axis=1)).any() or (known != (column_of >= 0).sum(axis=1)).any():
        raise VerificationError("an assignment has a pair that is in none, or a column twice")
    if given.singles is not None:  # the columns of rows that stay single are the last ones
        alone = np.arange(width - size, width)
        column_of = np.where(column_of < 0, alone, column_of)
    for k, own in enumerate(column_of):
        if size and (
            own.min() < 0 or len(np.unique(own)) < size or (length[np.arange(size), own] == np.inf).any()
        ):
            raise VerificationError(f"assignment {k} is none: a row lacks a column of its own")
    return length, column_of
