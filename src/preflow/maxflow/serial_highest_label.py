"""Highest-label push-relabel: M_PRF, with gap relabeling H_PRF, and the HI_PR family.

Cherkassky and Goldberg, "On Implementing the Push-Relabel Method for the Maximum Flow Problem",
Algorithmica 19 (1997); Cihan (2010), table 2.1 and appendix C, compares with them throughout. Goldberg,
"The Partial Augment-Relabel Algorithm for the Maximum Flow Problem", ESA 2008, for paths.

Definitions
-----------
- A vertex is *active* if it has excess and its height is at most n; its height is n + 1 if it is *dead*.
- An arc is *admissible* if it has residual capacity and leads down by one level.
- The *current arc* of a vertex is the first that may be admissible.
- A *path* has up to ``path_length`` admissible arcs and starts at an active vertex; its inner vertices have
  no excess.
- A *gap* is a height that no vertex has: vertices above it cannot reach the sink.

Invariants
----------
- Heights are valid: a residual arc leads down by at most one level.
- Every active vertex is in the list of its height (:class:`.levels.Levels`); no list above ``top`` has a
  vertex.
- Heights below ``exact_below`` are exact distances.
- On a path each vertex has an admissible current arc, and only the first has excess.

Pseudo-code
-----------
::

    repeat:
        global relabel                                                   global_relabel
        sort vertices into levels                                        fill_levels
        at the start "source", once: count the discharge of the source   discharge_of_source
        while there is an active vertex and no global relabel is due:
            take one of the highest; at the start "wave", once:
                sweep from the highest level down to level 1
            extend a path from it, depth first:
                the end has an admissible arc to a vertex
                    without excess, and the path may grow: go on
                the end has an admissible arc: push along the path       push_along_path
                it has none: if its height is a gap without it,
                    declare all vertices above the gap dead              close_gap
                    else relabel it and retreat

Excess is not pushed over one arc but along a path, and a vertex on the path without an admissible arc is
relabelled before it gets anything. So excess does not move back and forth between neighbours that are about
to be relabelled. With ``path_length`` 1 this is the classical discharge.

Departures, each measured in docs/notebook: terminals are not vertices; the levels of the gap
heuristic are a log instead of linked lists (levels.py); a global relabel resumes above the heights that are
still exact and, with ``drain``, moves excess while it searches (preflow.network).

No paper prints the HI_PR codes. Their rule for global relabels and their starts follow from the tables of
Cihan's thesis. The tables have about n relabels for each global relabel. HI_PRO has the pushes of HI_PR to
the digit in tables D.1, D.2, D.6 and D.7, and those of H_PRF in C.5 and C.6. It has up to 95 relabels more,
and one global relabel more where the source has many arcs. So all of them start with exact heights, and
HI_PRO discharges the source as a vertex with infinite excess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..arrays import Array, Indices
from ..graph.residual import ResidualArrays
from ..kernels.atomics import relaxed_load
from ..kernels.clock import now
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end, operations_left, operations_of
from ..network import distances_to_sink, lowest_neighbour
from ..network.arcs import arcs_of, end, first, head, opposite
from ..solving.monitor import Monitor
from ..solving.options import CheckedOptions, PositiveInteger, PositiveNumber
from ..solving.run import Control
from ..stats import ARC_SCANS, GAP_VERTICES, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .levels import (
    Levels,
    active_excess,
    close_gap,
    fill_levels,
    log_vertex,
    make_levels,
    open_level,
    push_active,
)
from .relabel_rule import RELABEL_WORK, RelabelRule, relabel_limits, relabel_log_size


@dataclass(frozen=True)
class HighestLabelOptions(CheckedOptions):
    """Options of highest-label push-relabel.

    Attributes
    ----------
    gap : bool
        Declare all vertices above an empty level dead.
    relabel_rule : {"work", "hi-pr", "relabels"}
        A global relabel is due after ``relabel_period * (6 n + m)`` units of work, after ``relabel_period *
        (12 n + m)`` units as in the HI_PR codes, or after ``relabel_period * n`` relabels.
    relabel_period : float
    start : {"saturated", "source", "wave"}
        What happens after the first global relabel. Whatever is chosen, the source's arcs are saturated. With
        "source", the relabels by which the source reaches the heights of its neighbours count, and their work
        may make a global relabel due at once. With "wave", vertices are discharged in one sweep from the
        highest level down, before the highest vertex is taken first; no global relabel interrupts it unless
        the log of the levels is full.
    drain : bool
        Push excess along the arcs over which a global relabel finds vertices.
    path_length : int
        Greatest number of arcs over which excess is pushed at once; 1 is the classical push.
    """

    gap: bool = True
    relabel_rule: RelabelRule = "work"
    relabel_period: PositiveNumber = 1.0
    start: Literal["saturated", "source", "wave"] = "saturated"
    drain: bool = True
    path_length: PositiveInteger = 4


class HighestLabelState(NamedTuple):
    """The state of the solver beside the residual network."""

    #: shape (n,): distance labels, current arcs, and the order of the last global relabel
    height: Indices
    current: Indices
    order: Indices
    #: shape (path_length,): the vertices of the path along which excess is about to be pushed
    path: Indices
    levels: Levels


class HighestLabelRules(NamedTuple):
    """The options that the kernel follows, and when a global relabel is due."""

    #: gap, drain: as in :class:`HighestLabelOptions`
    gap: bool
    drain: bool
    #: whether the solve starts with a discharge of the source, or with a wave
    source: bool
    wave: bool
    #: a global relabel is due after this many relabels, or after this much work
    relabel_limit: np.uint64
    work_limit: np.uint64


@kernel
def global_relabel(
    net: ResidualArrays,
    state: HighestLabelState,
    reached: np.uint64,
    begin: np.uint64,
    end: np.uint64,
    drain: bool,
) -> tuple[np.uint64, np.uint64]:
    """Make all heights exact and reset the current arcs of the vertices that the search reached."""
    reached, pushes = distances_to_sink(net, state.height, state.order, reached, begin, end, drain)
    k = end
    while k < reached:
        v = state.order[k]
        state.current[v] = first(net, v)
        k += ONE
    return reached, pushes


@kernel
def discharge_of_source(
    net: ResidualArrays, levels: Levels, top: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the relabels, the scans of arcs and the work of a discharge of the source.

    The source pushes to its neighbours of one height, is relabelled to reach those of the next height, and
    ends with height n. A relabel looks at all of its arcs.
    """
    degree = ZERO
    for v in range(len(net.excess)):
        if net.excess[v] > 0:
            degree += ONE
    relabels = ZERO
    h = top
    while h > ZERO:
        if np.uint64(levels.active_first[h]) != len(net.excess):
            relabels += ONE
        h -= ONE
    return relabels, relabels * degree, relabels * (RELABEL_WORK + degree)


@kernel
def find_admissible(
    net: ResidualArrays, height: Indices, v: np.uint64, h: np.uint64, a: np.uint64
) -> np.uint64:
    """Return the first admissible arc of `v`, of height `h`, from arc `a` on; the end if there is none."""
    last = end(net, v)
    while a < last:
        if net.residual[a] > 0 and np.uint64(height[head(net, v, a)]) + ONE == h:
            break
        a += ONE
    return a


@kernel
def push_along_path(
    net: ResidualArrays, state: HighestLabelState, last: np.uint64, h: np.uint64, exact_below: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Push excess of ``path[0]``, of height `h`, along the path; each arc takes what its capacity allows.

    Every vertex of ``path[: last + 1]`` has an admissible current arc (or one to the sink, at height 1), and
    only the first has excess. Excess that an arc does not take stays at its tail, which becomes active.
    Return the number of pushes, and the height below which all heights stay exact.
    """
    carried = net.excess[state.path[0]]
    i = ZERO
    while i <= last:
        v = np.uint64(state.path[i])
        a = np.uint64(state.current[v])
        capacity = net.sink_residual[v] if h == ONE else np.int64(net.residual[a])
        amount = min(carried, capacity)
        if h == ONE:
            net.sink_residual[v] = capacity - amount
        else:
            net.residual[a] = capacity - amount
            net.residual[opposite(net, a)] += amount
        kept = carried - amount
        net.excess[v] = kept
        if i > ZERO and kept > 0:
            push_active(state.levels, v, h)
        if amount == capacity and (i > ZERO or kept == 0):
            exact_below = min(exact_below, h)
        carried = amount
        h -= ONE
        i += ONE
    if h > ZERO:
        w = head(net, v, a)
        if net.excess[w] == 0:
            push_active(state.levels, w, h)
        net.excess[w] += carried
    return last + ONE, exact_below


@kernel
def first_stage(
    net: ResidualArrays, state: HighestLabelState, rules: HighestLabelRules, monitor: Monitor
) -> None:
    """Push excess until none can reach the sink.

    On return the heights are exact, also after the stop flag was raised.
    """
    gap, work_limit = rules.gap, rules.work_limit
    stop, counts = monitor.stop, monitor.counts
    n = np.uint64(len(net.excess))
    dead = n + ONE
    height, current, order, path, levels = state.height, state.current, state.order, state.path, state.levels
    longest = np.uint64(len(path))
    log_limit = np.uint64(len(levels.log_vertex)) - ONE
    reached = ZERO
    exact_below = ONE
    source_due = rules.source
    waving = rules.wave
    finished = False
    while True:
        stopping = must_end(monitor)
        # Global relabel, from the highest level that is still exact. The excess of the source's neighbours
        # stays until the source is discharged.
        begin = ZERO
        end = ZERO
        if exact_below > ONE:
            begin = np.uint64(levels.first[exact_below - ONE])
            end = np.uint64(levels.first[exact_below])
        drain = rules.drain and not stopping and not source_due
        started = now()
        reached, pushes = global_relabel(net, state, reached, begin, end, drain)
        counts[RELABEL_NANOSECONDS] += now() - started
        counts[PUSHES] += pushes
        counts[GLOBAL_RELABELS] += ONE
        if stopping or finished:
            return
        # Start the phase: sort vertices into levels.
        top, max_height = fill_levels(levels, height, order, begin, reached, net.excess)
        monitor.progress[0] = active_excess(order, reached, net.excess)
        searched_height = max_height
        exact_below = searched_height + ONE
        pushes = ZERO
        relabels = ZERO
        scans = ZERO
        work = ZERO
        log_end = ZERO
        if source_due:
            relabels, scans, work = discharge_of_source(net, levels, top)
            source_due = False
        finished = True
        left = operations_left(counts, operations_of(counts))
        while top > ZERO or waving:
            # Find a highest active vertex; see whether a global relabel is due.
            if top == ZERO:
                waving = False
                top = max_height
                continue
            active = np.uint64(levels.active_first[top])
            if active == n:
                top -= ONE
                continue
            due = relabels >= rules.relabel_limit or work >= work_limit
            if (due and not waving) or log_end >= log_limit:
                finished = False
                break
            if relaxed_load(stop, 0) != 0 or pushes + relabels + scans >= left:
                finished = False
                break
            levels.active_first[top] = levels.active_next[active]
            # Discharge it: v is the end of the path, `depth` the number of arcs before it.
            path[0] = active
            depth = ZERO
            v = active
            h = top
            highest = top
            while True:
                # Look for an admissible arc of v.
                _, last = arcs_of(net, v)
                a = np.uint64(current[v])
                if h == ONE:
                    admissible = net.sink_residual[v] > 0
                else:
                    a = find_admissible(net, height, v, h, a)
                    scans += a - np.uint64(current[v])
                    admissible = a < last
                if admissible:
                    # Extend the path, or push along it.
                    current[v] = a
                    if h > ONE and depth + ONE < longest and net.excess[head(net, v, a)] == 0:
                        v = head(net, v, a)
                        h -= ONE
                        depth += ONE
                        path[depth] = v
                        continue
                    v = active
                    h = highest
                    made, exact_below = push_along_path(net, state, depth, h, exact_below)
                    pushes += made
                    depth = ZERO
                    if net.excess[v] == 0:
                        break
                    continue
                # No admissible arc: close a gap, or relabel v.
                exact_below = min(exact_below, h)
                if gap:
                    levels.population[h] -= 1
                    if levels.population[h] == 0:
                        counts[GAP_VERTICES] += ONE + close_gap(
                            levels, height, order, searched_height, h, max_height
                        )
                        max_height = h - ONE
                        highest = max_height
                        height[v] = dead
                        height[active] = dead
                        break
                low, a = lowest_neighbour(net, height, v, dead - ONE)
                degree = last - first(net, v)
                scans += degree
                work += RELABEL_WORK + degree
                relabels += ONE
                h = low + ONE
                height[v] = h
                current[v] = a
                if h < dead:
                    while max_height < h:
                        max_height += ONE
                        open_level(levels, max_height)
                    if gap:
                        levels.population[h] += 1
                # The active vertex goes on while it is not dead; an inner vertex leaves the path.
                if depth == ZERO:
                    if h == dead:
                        break
                    highest = h
                else:
                    if gap and h < dead:
                        log_vertex(levels, v, h, log_end)
                        log_end += ONE
                    depth -= ONE
                    v = np.uint64(path[depth])
                    h = np.uint64(height[v])
                    current[v] += ONE
                    if work >= work_limit or log_end >= log_limit:
                        push_active(levels, active, highest)
                        break
            if gap and highest != top and height[active] != dead:
                log_vertex(levels, active, highest, log_end)
                log_end += ONE
            top = min(top, highest) if waving else highest
        waving = False
        counts[PUSHES] += pushes
        counts[RELABELS] += relabels
        counts[ARC_SCANS] += scans


def solve(net: ResidualArrays, options: HighestLabelOptions, control: Control) -> Array:
    """Run the first stage in place; return exact heights.

    O(n^2 sqrt(m)) pushes. Memory: seven indices a vertex, and two for every relabel between two global
    relabels.
    """
    n, m = len(net.excess), len(net.head)
    relabel_limit, work_limit = relabel_limits(options.relabel_rule, options.relabel_period, n, m)
    log_size = relabel_log_size(relabel_limit, work_limit, n) if options.gap else 2
    dtype = net.head.dtype
    state = HighestLabelState(
        height=np.full(n, n + 1, dtype=dtype),
        current=np.empty(n, dtype=dtype),
        order=np.empty(n, dtype=dtype),
        path=np.empty(options.path_length, dtype=dtype),
        levels=make_levels(n, log_size, dtype),
    )
    control.progress[:] = net.excess.sum(dtype=np.float64)
    rules = HighestLabelRules(
        gap=options.gap,
        drain=options.drain,
        source=options.start == "source",
        wave=options.start == "wave",
        relabel_limit=relabel_limit,
        work_limit=work_limit,
    )
    first_stage(net, state, rules, control.monitor())
    return state.height
