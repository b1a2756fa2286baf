"""Matching on many cores in every state that two or three threads can reach in tiny cases, and mutants.

See tests/parallel/test_toolbox_interleavings.py for how.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.bipartite import multicore_multi_source_bfs as multi_source_bfs
from preflow.bipartite import multicore_push_relabel as push_relabel
from preflow.bipartite import packed_columns, packed_search
from preflow.bipartite.initial import cheap as initial_cheap
from preflow.bipartite.match_arrays import Matching
from preflow.bipartite.multicore_push_relabel import labels, last_rows, pushes
from preflow.bipartite.multicore_push_relabel.last_rows import OPEN, LastRows, Trees
from preflow.bipartite.packed_columns import Packed
from preflow.graph.bipartite import Adjacency
from preflow.kernels import atomics
from preflow.papers.baselines import disjoint_searches
from preflow.papers.baselines import multicore_disjoint_bfs as disjoint_bfs
from preflow.papers.baselines import multicore_pothen_fan as pothen_fan
from preflow.papers.baselines.disjoint_searches import Disjoint
from preflow.parallel import rounds, worklist
from preflow.parallel.rounds import Round, Rounds
from preflow.parallel.sort import make_transposing
from preflow.solving.run import COUNTER_ROW, Control
from tests.invariants.matching_push_relabel import check_labels as check_valid_labels
from tests.support.exploration import (
    Cases,
    Mutants,
    edit,
    exchange_for,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    look_then_set,
    mutate,
    serve,
    uncounted,
)
from tests.support.oracles import largest_matching
from tests.support.scheduler import Outcome, Thread, edited, explore, hidden_values, replaced
from tests.support.strategies import SmallGraph

ZERO = np.uint64(0)
#: No partner.
FREE = 2**32 - 1


class Case(NamedTuple):
    """A graph, and the column of every row as the solve begins."""

    graph: SmallGraph
    row_match: list[int]


class Solve(NamedTuple):
    """What the threads of a solve share."""

    rows: Adjacency
    columns: Adjacency
    matching: Matching
    team: Rounds
    state: Any
    more: tuple[NDArray[np.uint32], ...]


Share = Callable[[Solve, Any], bool]


def numbers(*shape: int, value: int = 0) -> NDArray[np.uint32]:
    return np.full(shape, value, np.uint32)


def make_rounds(num_threads: int) -> Rounds:
    worklist.BUFFER = np.uint64(4)
    lists = worklist.make_worklist(num_threads, np.uint64)
    lists.buffer[...] = 0
    stop = np.zeros(1, np.int64)
    hold_constant((stop,))
    return Rounds(
        num_threads=np.uint64(num_threads),
        worklist=lists,
        shared=np.zeros(int(rounds.THREE * rounds.SET), np.int64),
        barrier=impatient_barrier(num_threads),
        stop=stop,
        counts=uncounted(num_threads, COUNTER_ROW),
        progress=uncounted(2, dtype=np.float64),
    )


def whole_solve(
    case: Case,
    make_state: Callable[[Case, Rounds], Any],
    share: Share,
    threads: int,
    check_state: Callable[[Solve], None] | None = None,
) -> Outcome:
    """At the end the matching is a matching, and maximum, and all threads say so."""
    graph = case.graph
    size = largest_matching(graph)
    edges = set(graph.edges)

    def member(thread: int) -> Thread:
        me = np.uint64(thread)
        return lambda shared: share(shared, me)

    def make_case() -> tuple[Solve, list[Thread]]:
        row_match = np.array(case.row_match, np.uint32)
        column_match = numbers(graph.num_columns, value=FREE)
        for r, c in enumerate(case.row_match):
            if c != FREE:
                column_match[c] = r
        made = graph.graph
        for each in (made.rows, made.columns):
            hold_constant(each)
        team = make_rounds(threads)
        state, more = make_state(case, team)
        shared = Solve(made.rows, made.columns, Matching(row_match, column_match), team, state, more)
        return shared, [member(thread) for thread in range(threads)]

    def check_end(shared: Solve, results: list[bool]) -> None:
        assert all(results), "a thread says that it was stopped"
        row_match, column_match = shared.matching.row_match.tolist(), shared.matching.column_match.tolist()
        pairs = {(r, c) for r, c in enumerate(row_match) if c != FREE}
        assert pairs <= edges, f"no edges: {pairs}"
        assert pairs == {(r, c) for c, r in enumerate(column_match) if r != FREE}, "sides disagree"
        assert len(pairs) == size, f"not maximum: {pairs}"

    return explore(make_case, check_state, check_end)


def disjoint_state(case: Case, team: Rounds) -> Disjoint:
    return Disjoint(team, numbers(case.graph.num_columns), numbers(2 * case.graph.num_rows))


def depth_first(case: Case, threads: int = 2) -> Outcome:
    def make_state(case: Case, team: Rounds) -> Any:
        return disjoint_state(case, team), (numbers(4 * case.graph.num_rows),)

    def share(shared: Solve, me: Any) -> bool:
        return pothen_fan.run_phases(shared.rows, shared.matching, shared.state, shared.more[0], me, True)

    return whole_solve(case, make_state, share, threads)


def breadth_first(case: Case, threads: int = 2) -> Outcome:
    def make_state(case: Case, team: Rounds) -> Any:
        graph = case.graph
        room = min(graph.num_rows, graph.num_columns) + 1
        return disjoint_state(case, team), (numbers(graph.num_columns), numbers(threads, room))

    def share(shared: Solve, me: Any) -> bool:
        trees = disjoint_bfs.Trees(*shared.more)
        return disjoint_bfs.run_phases(shared.rows, shared.matching, shared.state, trees, me, False)

    return whole_solve(case, make_state, share, threads)


def pushing_state(case: Case, team: Rounds) -> pushes.PushState:
    """Rounds of one push; no level is small."""
    packed_search.FEW = ZERO
    num_rows, num_columns = case.graph.num_rows, case.graph.num_columns
    return pushes.PushState(
        packed=Packed(
            words=np.full(num_columns, packed_columns.NOBODY),
            population=np.zeros((int(team.num_threads), 4), np.int64),
            active=numbers(2 * num_rows),
            order=np.zeros(max(num_rows, num_columns), np.uint64),
            leaf=np.zeros(num_rows, np.uint64),
        ),
        rounds=team,
        signals=np.zeros(pushes.SIGNALS, np.uint64),
        limits=pushes.Limits(*map(np.uint64, (1000, 1, 1, 0, 0))),
    )


def check_labels(shared: Solve) -> None:
    """At any time no row has two columns, and no label is too high."""
    words = shared.state.packed.words
    rows, labels = words & packed_columns.NOBODY, words >> packed_columns.HALF
    matched = rows[rows != FREE].tolist()
    assert len(matched) == len(set(matched)), "a row has two columns"
    check_valid_labels(shared.rows, rows, labels)


def push(case: Case, relabels: bool = False, gap: bool = False, threads: int = 2) -> Outcome:
    unused: Any = None

    def share(shared: Solve, me: Any) -> bool:
        stage = push_relabel.Stage(
            rows=shared.rows,
            columns=shared.columns,
            matching=shared.matching,
            state=shared.state,
            search=unused,
            number=ZERO,
            base=ZERO,
            size=ZERO,
            relabels=relabels,
            gap=gap,
            stalls=False,
            end=unused,
        )
        outcome, *_ = push_relabel.run_rounds(me, stage)
        return outcome == push_relabel.DONE

    check_state = None if relabels or gap else check_labels
    return whole_solve(case, lambda *given: (pushing_state(*given), ()), share, threads, check_state)


def list_active_rows(shared: Solve, me: Any) -> Any:
    """Pack the matching and return the number of active rows. Collective."""
    first, active = Round(me, ZERO, ZERO), shared.state.packed.active
    waiting = packed_columns.pack(shared.rows, shared.matching, shared.state.packed, shared.team, first)
    _, size, _ = rounds.end_round(shared.team, first, active, waiting, ZERO)
    return size


def search_for_few(case: Case, threads: int = 2) -> Outcome:
    """Grow trees from all active rows at once."""

    def share(shared: Solve, me: Any) -> bool:
        state, team = shared.state, shared.team
        size = list_active_rows(shared, me)
        packed_columns.unpack(shared.matching, state.packed, team, me)
        return multi_source_bfs.match_few(shared.rows, shared.matching, state.packed, team, me, size)

    return whole_solve(case, lambda *given: (pushing_state(*given), ()), share, threads)


def make_trees(size: int, words: int = 0) -> Trees:
    """Return trees of a side with `size` vertices."""
    return Trees(
        words=np.zeros(words, np.uint64),
        link=numbers(size),
        order=np.zeros(size, np.uint64),
        roots=numbers(2 * size),
        met=np.zeros(size, np.uint64),
    )


def search_both_ways(case: Case, threads: int = 2, last_stamp: int = 100) -> Outcome:
    """Grow trees from all active rows and all free columns."""

    def make_state(case: Case, team: Rounds) -> Any:
        state = pushing_state(case, team)
        graph = case.graph.graph
        hold_constant(graph.columns)
        search = LastRows(
            columns=graph.columns,
            transposes=False,
            transposing=make_transposing(1, np.zeros(1, dtype=np.uint32), 0),
            row_trees=make_trees(case.graph.num_rows, case.graph.num_rows),
            column_trees=make_trees(case.graph.num_columns),
            last_stamp=np.uint64(last_stamp),
            levels=np.uint64(100),
        )
        return state, (search,)

    def share(shared: Solve, me: Any) -> bool:
        size = list_active_rows(shared, me)
        go_on, left = last_rows.match_from_both_sides(
            shared.rows, shared.matching, shared.state, shared.more[0], Round(me, ZERO, ZERO), size
        )
        assert left == 0
        return bool(go_on)

    return whole_solve(case, make_state, share, threads)


def meet_at_once() -> Outcome:
    """Four threads let trees 0 and 1 of one side meet trees 0 and 1 of the other, all at once.

    At least one pair meets, none meets two, and no tree is kept from others that has met none.
    """

    def member(thread: int) -> Thread:
        tree, other = [(0, 0), (0, 1), (1, 1), (1, 0)][thread]
        return lambda shared: last_rows.meet(
            *shared, np.uint64(tree), np.uint64(other), np.uint64(10 + thread)
        )

    def make_case() -> tuple[Any, list[Thread]]:
        sides = tuple(make_trees(2) for _ in range(2))
        for side in sides:
            side.met[:] = OPEN
        return sides, [member(thread) for thread in range(4)]

    def check_end(sides: Any, results: list[bool]) -> None:
        met = {10 + thread for thread, result in enumerate(results) if result}
        assert met, "no two have met"
        for side in sides:
            edges = [int(edge) for edge in side.met if edge != OPEN]
            assert sorted(edges) == sorted(met), "a tree has met two or is kept from others"

    return explore(make_case, None, check_end)


def cheap(graph: SmallGraph, threads: int = 2) -> Outcome:
    """Rows take columns, each by a turn of its own, and end as where one thread goes through them."""
    initial_cheap.ROWS_AT_A_TIME = np.uint64(1)
    rows = graph.graph.rows
    hold_constant(rows)

    def make_claims() -> initial_cheap.Claims:
        matching = Matching(numbers(graph.num_rows, value=FREE), numbers(graph.num_columns, value=FREE))
        stop = np.zeros(1, np.int64)
        hold_constant((stop,))
        return initial_cheap.Claims(rows, matching, numbers(graph.num_rows), np.zeros(1, np.int64), stop)

    alone = make_claims()
    initial_cheap.take_first_free(rows, alone.matching, Control().monitor())

    def member(thread: int) -> Thread:
        return lambda claims: initial_cheap.claim_share(np.uint64(thread), claims)

    def check_end(claims: initial_cheap.Claims, results: list[Any]) -> None:
        for found, right in zip(claims.matching, alone.matching, strict=True):
            assert found.tolist() == right.tolist(), "not what one thread finds"

    return explore(lambda: (make_claims(), [member(t) for t in range(threads)]), None, check_end)


#: Each row wants the column of the one before it, and then its own.
CHAIN = SmallGraph(3, 3, [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)])
#: All rows want both columns; the last one stays free.
CROWD = SmallGraph(3, 2, [(r, c) for r in range(3) for c in range(2)])
#: Both rows want both columns.
SQUARE = Case(SmallGraph(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]), [FREE, FREE])
#: Two free rows, one free column behind a matched one.
FUNNEL = Case(SmallGraph(3, 2, [(0, 0), (1, 0), (2, 0), (2, 1)]), [FREE, FREE, 0])
#: No free column: both searches fail, and meet.
FULL = Case(SmallGraph(4, 2, [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (3, 1)]), [FREE, FREE, 0, 1])
#: Row 0 reaches the free column only through what row 1 may have taken, which then fails.
SNATCH = Case(SmallGraph(4, 3, [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 1), (3, 2)]), [FREE, FREE, 0, 1])

#: Row 0 takes column 0 on its way to column 2; row 1 needs it later.
BEHIND = Case(SmallGraph(3, 3, [(0, 0), (0, 2), (1, 0), (2, 0), (2, 1)]), [FREE, FREE, 0])
#: Row 1 may find column 0 taken; it gets it in the next phase, and row 0 column 1. Two threads, three roots.
LATE = Case(SmallGraph(3, 3, [(0, 0), (0, 1), (1, 0), (2, 2)]), [FREE, FREE, FREE])
#: Columns 0 and 1 cannot reach column 2, the free one.
GAP = Case(SmallGraph(3, 3, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]), [0, FREE, 1])
#: Column 0 is before two free columns.
TWINS = Case(SmallGraph(2, 3, [(0, 0), (0, 1), (0, 2), (1, 0)]), [0, FREE])
#: Row 0 finds two free columns on two ways, of the same length.
FORK = Case(SmallGraph(3, 4, [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 3)]), [FREE, 0, 1])
CASES: Cases = {
    "cheap-chain": lambda: cheap(CHAIN),
    "cheap-crowd": lambda: cheap(CROWD),
    "cheap-crowd-3": lambda: cheap(CROWD, 3),
    "depth-first-square": lambda: depth_first(SQUARE),
    "depth-first-funnel": lambda: depth_first(FUNNEL),
    "depth-first-full": lambda: depth_first(FULL),
    "depth-first-snatch": lambda: depth_first(SNATCH),
    "depth-first-late": lambda: depth_first(LATE),
    "breadth-first-square": lambda: breadth_first(SQUARE),
    "breadth-first-full": lambda: breadth_first(FULL),
    "breadth-first-late": lambda: breadth_first(LATE),
    "breadth-first-behind": lambda: breadth_first(BEHIND),
    "push-square": lambda: push(SQUARE),
    "push-gap": lambda: push(GAP, gap=True),
    "push-after-relabel": lambda: push(TWINS, relabels=True),
    "few-square": lambda: search_for_few(SQUARE),
    "few-fork": lambda: search_for_few(FORK),
    "two-sided-fork": lambda: search_both_ways(FORK),
    "two-sided-behind": lambda: search_both_ways(BEHIND, last_stamp=2),
    "two-sided-meet": meet_at_once,
}


def edit_phases(old: str, new: str) -> Callable[[], AbstractContextManager[None]]:
    """Edit the loop over phases of depth-first searches, which is made for them."""
    return lambda: replaced(
        pothen_fan.run_phases, edited(disjoint_searches.phases_of, old, new)(pothen_fan.augment_from)
    )


MUTANTS: Mutants = {
    "cheap: a column stays with who comes first": (
        "cheap-chain",
        mutate(initial_cheap.claim, "a-column-stays-with-who-comes-first", "if mate < num_rows:"),
        "not what one thread finds",
    ),
    "cheap: two rows take a column": (
        "cheap-crowd",
        exchange_for(atomics.compare_exchange, look_then_set),
        "not what one thread finds",
    ),
    "cheap: a row's edge is written when it has the column": (
        "cheap-crowd",
        edit(
            initial_cheap.claim,
            "        edge[r] = e\n        matching.row_match[r] = c\n"
            "        if not compare_exchange(matching.column_match, c, mate, r):\n            continue\n",
            "        matching.row_match[r] = c\n"
            "        if not compare_exchange(matching.column_match, c, mate, r):\n            continue\n"
            "        edge[r] = e\n",
        ),
        "data race on edge",
    ),
    "cheap: a displaced row does not look on": (
        "cheap-chain",
        mutate(initial_cheap.claim, "a-displaced-row-does-not-look-on", "if mate >= ZERO:"),
        "not what one thread finds",
    ),
    "depth-first: two searches take a column": (
        "depth-first-square",
        exchange_for(atomics.compare_exchange, look_then_set),
        "sides disagree",
    ),
    "breadth-first: two searches take a column": (
        "breadth-first-square",
        exchange_for(atomics.compare_exchange, look_then_set),
        "data race on matching.column_match",
    ),
    "depth-first: a matched column is written plainly": (
        "depth-first-square",
        mutate(pothen_fan.augment, "a-matched-column-is-written-plainly", "matching.column_match[c] = r"),
        "data race on matching.column_match",
    ),
    "a search that met another one is taken for clean": (
        "breadth-first-behind",
        mutate(
            disjoint_searches.is_foreign,
            "a-search-that-met-another-one-is-taken-for-clean",
            "return bool(False)",
        ),
        "not maximum",
    ),
    "phases: a root whose search met another one is dropped": (
        "depth-first-late",
        edit_phases("elif not clean:", "elif clean and not clean:"),
        "not maximum",
    ),
    "phases: searches of several threads have one number": (
        "depth-first-late",
        edit_phases("root, before + k, before)", "root, before + ONE, before)"),
        "not maximum",
    ),
    "phases: a phase counts its searches from where the last one did": (
        "depth-first-late",
        edit_phases("            before += size\n", ""),
        "not maximum",
    ),
    "phases: a phase searches from the roots of the last one": (
        "depth-first-late",
        edit_phases("            base = current.base\n", ""),
        "sides disagree",
    ),
    "phases: each thread takes roots once": (
        "depth-first-late",
        edit_phases("if k == end:\n", "if k > end:\n"),
        "not maximum",
    ),
    "push: two rows take a column": (
        "push-square",
        exchange_for(atomics.compare_exchange, look_then_set),
        "not maximum",
    ),
    "push: the label is written after the row": (
        "push-square",
        edit(
            pushes.push,
            "before, raised << HALF | r):",
            "before, lowest << HALF | r) and (relaxed_store(words, chosen, raised << HALF | r) or True):",
        ),
        "a row has two columns",
    ),
    "push: who had the column is looked up before": (
        "push-square",
        mutate(
            pushes.push,
            "who-had-the-column-is-looked-up-before",
            "if compare_exchange(words, chosen, relaxed_load(words, chosen), raised << HALF | r):",
        ),
        "not maximum",
    ),
    "push: a label one too high": (
        "push-square",
        mutate(pushes.push, "a-label-one-too-high", "raised = min(second + TWO, dead)"),
        "a label is too high",
    ),
    "push: a row that is left at the end of a round is forgotten": (
        "push-square",
        mutate(
            pushes.push_share, "a-row-that-is-left-at-the-end-of-a-round-is-forgotten", "while size > ONE:"
        ),
        "not maximum",
    ),
    "push: a gap is closed while others push": (
        "push-gap",
        mutate(labels.gap_closed, "a-gap-is-closed-while-others-push", "return (True, alive, level > ZERO)"),
        "data race on state.packed.population",
    ),
    "unpack: columns are written before all rows are cleared": (
        "push-gap",
        mutate(packed_columns.unpack, "columns-are-written-before-all-rows-are-cleared", ""),
        "sides disagree",
    ),
    "few: two trees take a column": (
        "few-square",
        exchange_for(atomics.compare_exchange, look_then_set),
        "IndexError",
    ),
    "few: a leaf is written plainly": (
        "few-fork",
        mutate(packed_search.grow_from, "a-leaf-is-written-plainly", "packed.leaf[tree] = c"),
        "data race on state.packed.leaf",
    ),
    "two-sided: two trees take a column": (
        "two-sided-behind",
        exchange_for(atomics.compare_exchange, look_then_set),
        "IndexError",
    ),
    "two-sided: stamps of earlier phases stay when numbers begin anew": (
        "two-sided-behind",
        mutate(last_rows.clear_stamps, "old-stamps-stay-when-numbers-restart", "pass"),
        "not maximum",
    ),
    "two-sided: both trees are not looked at": (
        "two-sided-meet",
        mutate(last_rows.meet, "both-trees-are-not-looked-at", "if True:"),
        "a tree has met two",
    ),
    "two-sided: a tree that another one could not meet is kept": (
        "two-sided-meet",
        mutate(last_rows.meet, "a-tree-that-another-one-could-not-meet-is-kept", ""),
        "is kept from others",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    modules = (
        rounds,
        disjoint_searches,
        pothen_fan,
        disjoint_bfs,
        initial_cheap,
        packed_columns,
        packed_search,
        multi_source_bfs,
        push_relabel,
        labels,
        pushes,
        last_rows,
    )
    alone = ("make", "run", "set_of", "share_of", "closed", "kernel", "dataclass", "solve", "limit")
    assert hidden_values(modules, alone=(*alone, "entry_of", "address_of", "choose")) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
