"""What push-relabel solvers keep between two phases, seen while their kernels run as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from preflow.forests import boykov_kolmogorov as bk
from preflow.forests import incremental_search as ibfs
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.maxflow import levels, multicore_paths, serial_incremental_bfs
from preflow.maxflow import serial_boykov_kolmogorov as solver
from preflow.maxflow import serial_fifo as fifo
from preflow.maxflow import serial_highest_label as highest
from preflow.maxflow import serial_pseudoflow as pseudoflow
from preflow.papers.cihan import multicore_discharge, multicore_fifo, multicore_highest_label_gap
from preflow.solving.run import Control
from tests.invariants.boykov_kolmogorov import check_invariants as check_boykov_kolmogorov
from tests.invariants.incremental_search import check_invariants as check_incremental_search
from tests.invariants.multicore_discharge import check_invariants as check_multicore_discharge
from tests.invariants.multicore_paths import check_invariants as check_multicore_paths
from tests.invariants.push_relabel import check_exact, check_preflow
from tests.invariants.serial_fifo import check_invariants as check_serial_fifo
from tests.invariants.serial_highest_label import check_invariants as check_serial_highest_label
from tests.invariants.serial_pseudoflow import check_invariants as check_serial_pseudoflow
from tests.support.exploration import Cases, Mutants, Runner, edit, exploration_tests, mutate, serve
from tests.support.scheduler import Outcome, Violation

#: Small networks in which several phases are needed.
NETWORKS = {"rmf-wide": "4x5", "rmf-long": "3x8", "rlg-wide": "6x6", "ac-dense": "16", "dinic-bad": "20"}


def each_network(solve: Callable[[ResidualArrays, ResidualArrays], int]) -> Outcome:
    """Call `solve` with each network and a copy of it; it returns the number of phases that it checked."""
    phases = 0
    for family, size in NETWORKS.items():
        made = FAMILIES[family].generate(size, seed=1)
        residual = build_residual(made.network, np.array([made.source]), np.array([made.sink]))
        net = residual.arrays
        start = ResidualArrays(*(array.copy() for array in net))
        try:
            phases += solve(net, start)
        except AssertionError as error:
            raise Violation(f"{family}: {error}", []) from error
        check_preflow(start, net)
    return Outcome(phases, len(NETWORKS))


def serial_fifo(**named: Any) -> Outcome:
    """Check a solve by serial-fifo at the begin and the end of each phase."""
    options = fifo.FifoOptions(relabel_period=0.1, **named)

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        states: list[fifo.State] = []
        search, begin_phase, add_up = fifo.distances_to_sink, fifo.start_phase, fifo.active_excess
        waiting = []

        def searched(*arguments: Any) -> Any:
            if states:
                check_preflow(start, net)
                check_serial_fifo(net, states[-1], options.gap)
            return search(*arguments)

        def started(net: ResidualArrays, state: fifo.State, reached: Any) -> Any:
            states.append(state)
            waiting.append(begin_phase(net, state, reached))
            return waiting[-1]

        def added_up(*arguments: Any) -> float:
            check_preflow(start, net)
            check_exact(net, states[-1].height)
            check_serial_fifo(net, states[-1], options.gap, int(waiting[-1]))
            return add_up(*arguments)

        with (
            patch.object(fifo, "distances_to_sink", searched),
            patch.object(fifo, "start_phase", started),
            patch.object(fifo, "active_excess", added_up),
        ):
            fifo.solve(net, options, Control())
        return len(states)

    return each_network(solve)


def serial_highest_label(**named: Any) -> Outcome:
    """Check a solve by serial-highest-label at the begin and the end of each phase."""
    options = highest.HighestLabelOptions(relabel_period=0.1, **named)

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        states: list[highest.HighestLabelState] = []
        search, add_up, kernel = highest.global_relabel, highest.active_excess, highest.first_stage

        def run(net: ResidualArrays, state: highest.HighestLabelState, *more: Any) -> None:
            states.append(state)
            kernel(net, state, *more)

        def searched(net: ResidualArrays, state: highest.HighestLabelState, *more: Any) -> Any:
            if len(states) > 1:
                check_preflow(start, net)
                check_serial_highest_label(net, state, options.gap)
            found = search(net, state, *more)
            check_exact(net, state.height)
            return found

        def added_up(*arguments: Any) -> float:
            states.append(states[-1])
            check_preflow(start, net)
            check_serial_highest_label(net, states[-1], options.gap)
            return add_up(*arguments)

        with (
            patch.object(highest, "first_stage", run),
            patch.object(highest, "global_relabel", searched),
            patch.object(highest, "active_excess", added_up),
        ):
            highest.solve(net, options, Control())
        return len(states) - 1

    return each_network(solve)


def discharge(method: Any, options: Any) -> Outcome:
    """Check a solve on one thread by a method of multicore_discharge.py, between its phases."""
    module = multicore_discharge
    options = replace(options, relabel_period=0.1)

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        phases = []
        begin_phase, work = module.start_phase, module.work_until_relabel

        def started(net: ResidualArrays, state: module.State, *more: Any) -> None:
            begin_phase(net, state, *more)
            check_preflow(start, net)
            check_exact(net, state.height)
            check_multicore_discharge(net, state)

        def worked(net: ResidualArrays, state: module.State, *more: Any) -> None:
            work(net, state, *more)
            check_preflow(start, net)
            check_multicore_discharge(net, state)
            phases.append(state)

        with patch.object(module, "start_phase", started), patch.object(module, "work_until_relabel", worked):
            method.solve(net, options, Control())
        return len(phases)

    return each_network(solve)


def paths(length: int) -> Outcome:
    """Check a solve on one thread by multicore-paths, between its phases."""
    module = multicore_paths
    options = module.PathsOptions(relabel_period=0.01, path_length=length)

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        phases = []
        begin_phase, run = module.start_phase, module.run_phase

        def started(net: ResidualArrays, state: module.State, *more: Any) -> Any:
            lists, greatest_seen = begin_phase(net, state, *more)
            check_preflow(start, net)
            check_multicore_paths(net, state, [lists])
            return lists, greatest_seen

        def worked(net: ResidualArrays, state: module.State, *more: Any) -> Any:
            greatest_seen = run(net, state, *more)
            check_preflow(start, net)
            check_multicore_paths(net, state)
            phases.append(state)
            return greatest_seen

        with (
            patch.object(module, "start_phase", started),
            patch.object(module, "run_phase", worked),
            patch.object(module, "WORK_QUANTUM", np.uint64(1)),
        ):
            check_exact(net, module.solve(net, options, Control()))
        return len(phases)

    return each_network(solve)


def trees(**named: Any) -> Outcome:
    """Check a solve by serial-pseudoflow before each search for a merger, and after each global relabel."""
    options = pseudoflow.PseudoflowOptions(**named)

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        searches: list[Any] = []
        search, cut = pseudoflow.find_merger, pseudoflow.cut_trees

        def searched(net: ResidualArrays, forest: pseudoflow.Forest, *more: Any) -> Any:
            searches.append(more[0])
            check_preflow(start, net)
            check_serial_pseudoflow(net, forest)
            return search(net, forest, *more)

        def cut_off(net: ResidualArrays, forest: pseudoflow.Forest, monitor: Any) -> None:
            cut(net, forest, monitor)
            if searches:
                check_exact(net, forest.label)

        with (
            patch.object(pseudoflow, "find_merger", searched),
            patch.object(pseudoflow, "cut_trees", cut_off),
        ):
            check_exact(net, pseudoflow.solve(net, options, Control()))
        return len(searches)

    return each_network(solve)


def incremental() -> Outcome:
    """Check a solve by serial-incremental-bfs after each level."""

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        levels = []
        grow = ibfs.grow

        def grown(net: ResidualArrays, forests: ibfs.Forests, *more: Any) -> Any:
            check_incremental_search(net, forests, 0, len(net.excess))
            flow = grow(net, forests, *more)
            check_preflow(start, net)
            check_incremental_search(net, forests, 0, len(net.excess))
            levels.append(more[0])
            return flow

        with patch.object(ibfs, "grow", grown):
            check_exact(
                net,
                serial_incremental_bfs.solve(net, serial_incremental_bfs.NoOptions(), Control()),
            )
        return len(levels)

    return each_network(solve)


def two_trees() -> Outcome:
    """Check a solve by serial-boykov-kolmogorov before and after each augmentation."""

    def solve(net: ResidualArrays, start: ResidualArrays) -> int:
        paths = []
        augment, last = bk.augment, bk.LAST_TIME

        def augmented(net: ResidualArrays, trees: bk.Trees, v: Any, w: Any, arc: Any, monitor: Any) -> None:
            ends = [int(v), int(w)]
            check_boykov_kolmogorov(net, trees, ends)
            augment(net, trees, v, w, arc, monitor)
            check_preflow(start, net)
            check_boykov_kolmogorov(net, trees, ends)
            paths.append(arc)

        with patch.object(bk, "augment", augmented), patch.object(bk, "LAST_TIME", min(last, np.uint64(5))):
            check_exact(net, solver.solve(net, serial_incremental_bfs.NoOptions(), Control()))
        return len(paths)

    return each_network(solve)


CASES: Cases = {
    "fifo": lambda: serial_fifo(),
    "fifo-gap": lambda: serial_fifo(gap=True),
    "fifo-drain-hold": lambda: serial_fifo(gap=True, drain=True, hold=True, relabel_rule="work"),
    "highest": lambda: serial_highest_label(gap=False, drain=False, path_length=1),
    "highest-gap": lambda: serial_highest_label(path_length=1, drain=False),
    "highest-paths": lambda: serial_highest_label(),
    "highest-source": lambda: serial_highest_label(start="source"),
    "highest-wave": lambda: serial_highest_label(start="wave"),
    "highest-wave-gap": lambda: serial_highest_label(start="wave", path_length=1, drain=False),
    "trees": lambda: trees(),
    "trees-often-cut": lambda: trees(relabel_period=0.1, bucket="lifo"),
    "trees-lowest": lambda: trees(relabel_period=None, order="lowest"),
    "ibfs": lambda: incremental(),
    "bk": lambda: two_trees(),
    "multicore-fifo": lambda: discharge(multicore_fifo, multicore_fifo.MulticoreFifoOptions()),
    "multicore-fifo-gap": lambda: discharge(multicore_fifo, multicore_fifo.MulticoreFifoOptions(gap=True)),
    "multicore-highest": lambda: discharge(
        multicore_highest_label_gap, multicore_highest_label_gap.MulticoreHighestLabelOptions()
    ),
    "multicore-paths": lambda: paths(4),
    "multicore-paths-1": lambda: paths(1),
}


MUTANTS: Mutants = {
    "fifo: a relabelled vertex is not counted": (
        "fifo-gap",
        edit(fifo.first_stage, "levels.population[h] += 1", "pass"),
        "a level has another number of vertices",
    ),
    "fifo: a vertex is queued again": (
        "fifo",
        edit(fifo.start_phase, "if net.excess[v] > 0:", "if net.excess[v] >= 0:"),
        "other vertices are queued",
    ),
    "highest: excess that is left on a path is forgotten": (
        "highest-paths",
        edit(highest.push_along_path, "if i > ZERO and kept > 0:", "if False:"),
        "other vertices are listed",
    ),
    "highest: a gap is closed too early": (
        "highest-gap",
        edit(highest.first_stage, "if levels.population[h] == 0:", "if levels.population[h] <= 1:"),
        "labels are not valid",
    ),
    "highest: a gap is not closed": (
        "highest-gap",
        edit(levels.close_gap, "while h <= max_height:", "while False:"),
        "labels are not valid",
    ),
    "trees: a child stays in the list of its parent": (
        "trees",
        edit(pseudoflow.take_from_parent, "forest.vertex[parent, CHILD] = after", "pass"),
        "a root is a child",
    ),
    "trees: a vertex that cannot send all stays below its parent": (
        "trees",
        edit(pseudoflow.send_up, "forest.vertex[v, UP] = none", "pass"),
        "a vertex below a root has excess",
    ),
    "trees: a raised vertex is not counted": (
        "trees",
        edit(pseudoflow.next_child_of, "forest.population[label + ONE] += ONE", "pass"),
        "wrong counts",
    ),
    "trees: a raised vertex keeps its current arc": (
        "trees",
        edit(pseudoflow.next_child_of, "forest.vertex[v, CURRENT] = first(net, v)", "pass"),
        "labels are not valid",
    ),
    "ibfs: an orphan that moves away keeps its label": (
        "ibfs",
        edit(ibfs.adopt, "label[v] = sign * (least + 1)", "pass"),
        "a label is not above that of the parent",
    ),
    "ibfs: neighbours are not queued when a vertex leaves its forest": (
        "ibfs",
        edit(ibfs.adopt, "enqueue(forests, w, forest)", "pass"),
        "a forest can grow from a vertex off its queue",
    ),
    "ibfs: a vertex that moved is not queued": (
        "ibfs",
        edit(
            ibfs.grow, "                        enqueue(forests, v, forest)", "                        pass"
        ),
        "a forest can grow from a vertex off its queue",
    ),
    "bk: neighbours are not activated when a vertex leaves its tree": (
        "bk",
        edit(bk.adopt, "activate(trees, w)", "pass"),
        "a tree can grow from a passive vertex",
    ),
    "bk: an orphan is known later than its parent": (
        "bk",
        edit(bk.adopt, "vertex[v, TIME] = trees.cursor[NOW]", "vertex[v, TIME] = trees.cursor[NOW] + ONE"),
        "a parent has an earlier time",
    ),
    "multicore: a receiver is not owned": (
        "multicore-fifo",
        mutate(
            multicore_discharge.work_until_relabel,
            "no-pusher-holds-the-vertex",
            "if add(alone, net.excess, w, amount) < 0:",
        ),
        "an active vertex is lost",
    ),
    "paths: a vertex is not counted at its new height": (
        "multicore-paths",
        mutate(multicore_paths.change_level, "a-vertex-is-not-counted-at-its-new-height", "if False:"),
        "wrong counts",
    ),
    "paths: a mark stays": (
        "multicore-paths",
        mutate(
            multicore_paths.push_along_path,
            "the-mark-is-not-taken-back-after-a-push",
            "lists = release(net, state, thread, v, carried - amount, lists)",
        ),
        "excess is not conserved",
    ),
}

_, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


@pytest.mark.parametrize("case", CASES)
def test_invariants_between_phases(runner: Runner, case: str) -> None:
    outcome = runner.ask(case)
    assert outcome["violation"] is None, outcome["violation"]
    assert outcome["states"] > 2 * outcome["ends"], "too few phases"


if __name__ == "__main__":
    serve(CASES, MUTANTS)
