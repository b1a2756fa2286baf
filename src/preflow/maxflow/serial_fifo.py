"""First-in-first-out push-relabel: F_PRF and, with gap relabeling, Q_PRF.

Cherkassky and Goldberg, "On Implementing the Push-Relabel Method for the Maximum Flow Problem",
Algorithmica 19 (1997); Cihan (2010), table 2.1 and appendix C, compares with them throughout.

Definitions
-----------
- A vertex is *active* if it has excess and its height is at most n; its height is n + 1 if it is *dead*.
- An arc is *admissible* if it has residual capacity and leads down by one level.
- The *current arc* of a vertex is the first that may be admissible.
- A *gap* is a height that no vertex has: vertices above it cannot reach the sink.

Invariants
----------
- Heights are valid: a residual arc leads down by at most one level. So a height is a lower bound of the
  distance.
- Every active vertex is in the queue exactly once.
- Heights below ``exact_below`` are exact distances. Only a push that saturates an arc and a relabel can
  lower the bound.

Pseudo-code
-----------
::

    repeat:
        global relabel: search exact heights from exact_below on        distances_to_sink
        reset current arcs; queue active vertices, farthest first       start_phase
        if there is none: stop
        until the queue is empty or a global relabel is due:
            take the first vertex; push to the sink if it can
            while it has excess:
                push over admissible arcs from the current arc on
                if its height is then a gap without it: declare it and all above dead
                relabel it to one above its lowest neighbour

Departures, each measured in docs/notebook: terminals are not vertices; a global relabel resumes above
the heights that are still exact; optionally it moves excess while it searches (``drain``), and a vertex
that was lifted by several levels twice waits for the next global relabel (``hold``). Both speed up grids.

The discharge is written out here and, for paths, in serial_highest_label.py. The two share their steps
(levels.py, preflow.network) but differ in the order of vertices, in what a push moves, and in when a
vertex is counted and logged; as one function with switches, each would pay for the other's tests in its
inner loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices
from ..graph.residual import ResidualArrays
from ..kernels.activity import Activity, make_activity, note, records, taken
from ..kernels.atomics import relaxed_load
from ..kernels.clock import now
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end, operations_left, operations_of
from ..network import distances_to_sink, lowest_neighbour
from ..network.arcs import arcs_of, first, head, opposite
from ..solving.monitor import Monitor
from ..solving.options import CheckedOptions, PositiveNumber
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
)
from .relabel_rule import RELABEL_WORK, RelabelRule, relabel_limits, relabel_log_size

#: With ``hold`` a vertex waits for the next global relabel after this many relabels by more than one level:
#: its excess likely runs in circles until heights are exact again.
JUMPS_BEFORE_HOLD = 2


@dataclass(frozen=True)
class FifoOptions(CheckedOptions):
    """Options of first-in-first-out push-relabel.

    Attributes
    ----------
    gap : bool
        Declare all vertices above an empty level dead.
    relabel_rule : {"relabels", "work", "hi-pr"}
        A global relabel is due after ``relabel_period * n`` relabels, or after ``relabel_period * (6 n + m)``
        or ``relabel_period * (12 n + m)`` units of work.
    relabel_period : float
    drain : bool
        Push excess along the arcs over which a global relabel finds vertices.
    hold : bool
        Leave a vertex that was twice lifted by more than one level until the next global relabel.
    record_active : bool
        Record the numbers of active vertices: `stats.active` of the result.
    """

    gap: bool = False
    relabel_rule: RelabelRule = "relabels"
    relabel_period: PositiveNumber = 1.0
    drain: bool = False
    hold: bool = False
    record_active: bool = False


class State(NamedTuple):
    """The state of the solver beside the residual network."""

    #: shape (n,): distance labels, current arcs, and the order of the last global relabel
    height: Indices
    current: Indices
    order: Indices
    queue: Indices  #: shape (n,): active vertices, each at most once; a ring
    #: shape (n,): how often each vertex was lifted by more than one level since the last global relabel
    jumps: NDArray[np.uint8]
    levels: Levels
    activity: Activity


class Rules(NamedTuple):
    """The options that the kernel follows, and when a global relabel is due."""

    #: as in :class:`FifoOptions`
    gap: bool
    drain: bool
    hold: bool
    #: a global relabel is due after this many relabels, or after this much work
    relabel_limit: np.uint64
    work_limit: np.uint64


@kernel
def start_phase(net: ResidualArrays, state: State, reached: np.uint64) -> np.uint64:
    """Reset current arcs and jumps; queue the active vertices, farthest first; return their number."""
    state.jumps[:] = 0
    size = ZERO
    k = reached
    while k > ZERO:
        k -= ONE
        v = np.uint64(state.order[k])
        state.current[v] = first(net, v)
        if net.excess[v] > 0:
            state.queue[size] = v
            size += ONE
    return size


@kernel
def first_stage(net: ResidualArrays, state: State, rules: Rules, monitor: Monitor) -> None:
    """Push excess until none can reach the sink.

    On return the heights are exact, also after the stop flag was raised or the work limit reached.
    """
    gap, hold, recording = rules.gap, rules.hold, records(state.activity)
    stop, counts = monitor.stop, monitor.counts
    n = np.uint64(len(net.excess))
    dead = n + ONE
    height, current, queue, jumps, levels = (
        state.height,
        state.current,
        state.queue,
        state.jumps,
        state.levels,
    )
    log_size = np.uint64(len(levels.log_vertex))
    reached = ZERO
    exact_below = ONE
    while True:
        # Global relabel: search from the highest level that is still exact.
        stopping = must_end(monitor)
        begin = ZERO
        end = ZERO
        if exact_below > ONE:
            begin = np.uint64(levels.first[exact_below - ONE])
            end = np.uint64(levels.first[exact_below])
        started = now()
        reached, pushes = distances_to_sink(
            net, height, state.order, reached, begin, end, rules.drain and not stopping
        )
        counts[RELABEL_NANOSECONDS] += now() - started
        counts[GLOBAL_RELABELS] += ONE
        # Queue the active vertices; stop if there is none.
        waiting = start_phase(net, state, reached)
        _, max_height = fill_levels(levels, height, state.order, ZERO, reached, net.excess)
        monitor.progress[0] = active_excess(state.order, reached, net.excess)
        if waiting == ZERO or stopping:
            counts[PUSHES] += pushes
            return
        searched_height = max_height
        exact_below = searched_height + ONE
        relabels = ZERO
        scans = ZERO
        work = ZERO
        log_end = ZERO
        front = ZERO
        back = waiting if waiting < n else ZERO
        left = operations_left(counts, operations_of(counts))
        while waiting > ZERO:
            # Is a global relabel due?
            if relabels >= rules.relabel_limit or work >= rules.work_limit or log_end == log_size:
                break
            if relaxed_load(stop, 0) != 0 or pushes + relabels + scans >= left:
                break
            # Take the first vertex.
            v = np.uint64(queue[front])
            front = front + ONE if front + ONE < n else ZERO
            waiting -= ONE
            h = np.uint64(height[v])
            if h == dead:
                continue
            start_height = h
            held = False
            excess = net.excess[v]
            # Push to the sink.
            capacity = net.sink_residual[v]
            if capacity > 0:
                amount = min(excess, capacity)
                net.sink_residual[v] = capacity - amount
                excess -= amount
                pushes += ONE
                if amount == capacity:
                    exact_below = ONE
            _, last = arcs_of(net, v)
            a = np.uint64(current[v])
            while excess > 0:
                # Push over admissible arcs. A saturated arc may lengthen the distance of v only if it was
                # the last one used: otherwise another admissible arc follows, or a relabel, which lowers
                # the bound as well.
                begin = a
                while a < last:
                    capacity = net.residual[a]
                    if capacity > 0:
                        w = head(net, v, a)
                        if np.uint64(height[w]) + ONE == h:
                            amount = min(excess, capacity)
                            net.residual[a] = capacity - amount
                            net.residual[opposite(net, a)] += amount
                            if net.excess[w] == 0:
                                queue[back] = w
                                back = back + ONE if back + ONE < n else ZERO
                                waiting += ONE
                            net.excess[w] += amount
                            excess -= amount
                            pushes += ONE
                            if excess == 0:
                                if amount == capacity:
                                    exact_below = min(exact_below, h)
                                break
                    a += ONE
                scans += a - begin
                if excess == 0:
                    break
                # No admissible arc is left. A gap below the vertex makes it and all vertices above dead.
                exact_below = min(exact_below, h)
                if gap:
                    levels.population[h] -= 1
                    if levels.population[h] == 0:
                        counts[GAP_VERTICES] += ONE + close_gap(
                            levels, height, state.order, searched_height, h, max_height
                        )
                        max_height = h - ONE
                        h = dead
                        break
                # Relabel.
                low, a = lowest_neighbour(net, height, v, dead - ONE)
                degree = last - first(net, v)
                scans += degree
                work += RELABEL_WORK + degree
                relabels += ONE
                if hold and low > h:
                    jumps[v] += 1
                    held = jumps[v] >= JUMPS_BEFORE_HOLD
                h = low + ONE
                height[v] = h
                if h == dead:
                    break
                while max_height < h:
                    max_height += ONE
                    open_level(levels, max_height)
                if gap:
                    levels.population[h] += 1
                if held:
                    break
            current[v] = a
            net.excess[v] = excess
            if h == dead:
                height[v] = dead
            elif gap and h != start_height:
                log_vertex(levels, v, h, log_end)
                log_end += ONE
            if recording:
                note(state.activity, waiting + ONE if excess > 0 and h != dead else waiting)
        counts[PUSHES] += pushes
        counts[RELABELS] += relabels
        counts[ARC_SCANS] += scans


def solve(net: ResidualArrays, options: FifoOptions, control: Control) -> Array:
    """Run the first stage in place; return exact heights.

    O(n^3) time. Memory: eight indices a vertex, and with `gap` two for every relabel between two global
    relabels.
    """
    n, m = len(net.excess), len(net.head)
    relabel_limit, work_limit = relabel_limits(options.relabel_rule, options.relabel_period, n, m)
    log_size = relabel_log_size(relabel_limit, work_limit, n) if options.gap else 1
    dtype = net.head.dtype
    state = State(
        height=np.full(n, n + 1, dtype=dtype),
        current=np.empty(n, dtype=dtype),
        order=np.empty(n, dtype=dtype),
        queue=np.empty(n, dtype=dtype),
        jumps=np.empty(n, dtype=np.uint8),
        levels=make_levels(n, log_size, dtype),
        activity=make_activity(options.record_active),
    )
    control.progress[:] = net.excess.sum(dtype=np.float64)
    rules = Rules(options.gap, options.drain, options.hold, relabel_limit, work_limit)
    first_stage(net, state, rules, control.monitor())
    control.active.extend(taken(state.activity))
    return state.height
