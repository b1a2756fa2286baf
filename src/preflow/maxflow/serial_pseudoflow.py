"""The pseudoflow algorithm: strong trees are hung onto weak ones, and send their excess to the roots.

Hochbaum, "The Pseudoflow Algorithm: A New Algorithm for the Maximum-Flow Problem", Operations Research 56
(2008); Chandran and Hochbaum, "A Computational Study of the Pseudoflow and Push-Relabel Algorithms for the
Maximum Flow Problem", Operations Research 57 (2009), for labels, buckets and gaps. Departures:

- Labels begin as exact distances to the sink. The papers begin with 1 at vertices with excess, 0 elsewhere.
- The capacity from a vertex to the sink takes the place of its deficit. So no excess is negative, and the
  result is a preflow.
- Global relabels make the labels exact now and then. The papers raise labels by one level at a time only,
  which lifts large trees over many levels without any merger.

Definitions
-----------
- The vertices are divided into trees. An arc of a tree leads from child to parent. It may be saturated: it is
  cut when excess cannot pass.
- A root with excess is *strong*, and so is its tree; other trees are *weak*.
- A *merger* is a residual arc from a vertex of a strong tree to a vertex that is one level lower.

Invariants
----------
Between two mergers:

- Only roots have excess. No excess is negative.
- Labels are valid: a residual arc leads down by at most one level, unless its tail is dead. No label is
  larger than the distance to the sink.
- The label of a vertex is at least that of its parent.
- Only roots of weak trees have residual capacity to the sink.

At the end the strong roots have the label n + 1: their trees cannot reach the sink.

Pseudo-code
-----------
::

    every vertex is a tree; labels are exact distances
    while there is a strong root of a label up to n:                          run
        if many relabels in a row led to no merger, or many pushes were made: global_relabel
            every vertex is a tree again; labels are exact distances          add_roots
        take one of the largest (or smallest) label d
        if no vertex has label d - 1: its tree is dead                        lift
        search the vertices with label d from the root down for a merger:     find_merger
            raise each vertex to d + 1 once it has neither a merger
                nor a child with label d
        if there is a merger (v, w): hang the tree by v onto w                merge
            send the excess up to the root, and split the tree
                above each vertex that cannot send all that it has            send_up
        otherwise the root has label d + 1 now: append it to its bucket

Time: O(n m log n) with dynamic trees; here O(n**2 m). Memory beside the network: 9 indices a vertex, and 3
for each label that occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from ..arrays import Array, DType, Indices, Int64, ResidualNetwork
from ..graph.residual import ResidualArrays
from ..kernels.atomics import prefetch, relaxed_load
from ..kernels.clock import now
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end
from ..network import distances_to_sink
from ..network.arcs import (
    arcs_of,
    capacity,
    exchange_flow,
    fetch_arc,
    first,
    head,
    no_arc,
    opposite,
    push_along,
)
from ..network.pattern import PatternNetwork
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED, CheckedOptions, PositiveNumber, limit
from ..solving.run import Control, GaveUp
from ..stats import ARC_SCANS, GAP_VERTICES, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .features import seldom_saturated

#: A global relabel is due when this share of n vertices in a row was relabelled without a merger: a large
#: tree rises, and other trees are far below. A fifth and a twentieth were slower on rlg-wide 2048x64.
FRUITLESS_RELABELS = 0.1
#: It is also due after this many pushes a vertex: trees have become deep, and every unit of excess goes a
#: long way. Of the families measured only rmf-wide reaches it. There 4, 8 and 16 took 52, 82 and 118 ms; 4
#: and 6 made rlg-wide slower.
PUSHES_A_VERTEX = 8


@dataclass(frozen=True)
class PseudoflowOptions(CheckedOptions):
    """Options of the pseudoflow algorithm.

    Attributes
    ----------
    order : {"highest", "lowest"}
        Which strong root is next: one with the largest or the smallest label.
    bucket : {"fifo", "lifo"}
        Which of the roots with that label: the one that waits longest, or the latest.
    relabel_period : float or None
        A global relabel is due after ``relabel_period * n / 10`` relabels in a row without a merger, or after
        ``relabel_period * 8 n`` pushes. With None there are no global relabels, as in the papers.
    """

    order: Literal["highest", "lowest"] = "highest"
    bucket: Literal["fifo", "lifo"] = "fifo"
    relabel_period: PositiveNumber | None = 1.0


#: Columns of Forest.vertex. A step reads most of them, so they lie side by side. Labels are apart: a scan
#: reads those of all neighbours, and nothing else of them.
UP, PARENT, CHILD, FOLLOWING, PREVIOUS, CURRENT, END, NEXT = (np.uint64(k) for k in range(8))
#: A record of eight indices of 32 bits begins at a multiple of this, so that it lies in one cache line.
CACHE_LINE = 64


class Forest(NamedTuple):
    """The trees, and the strong roots by label. The number n stands for no vertex."""

    label: Indices  #: shape (n,)
    #: shape (n, 8): UP: the residual arc from a vertex to its parent; the number of arcs at a root. PARENT:
    #: its parent, unless it is a root. CHILD: its first child. FOLLOWING, PREVIOUS: the children of its
    #: parent after and before it. CURRENT: arcs before this one lead to no vertex that is one level lower.
    #: END: the end of its arcs. NEXT: in a search, the next child to visit; for a root in a bucket, the next
    #: root in it.
    vertex: Indices
    #: shape (n + 2,): the queue of strong roots of each label; in `first_root`, one more than the number, 0
    #: for none
    first_root: Indices
    last_root: Indices
    population: Indices  #: shape (n + 2,): number of vertices of each label


class PseudoflowRules(NamedTuple):
    """How the trees are merged."""

    highest: bool  #: whether a strong root with the largest label is next, or one with the smallest
    first_out: bool  #: whether a new root comes first in its bucket, or last
    #: whether excess moves against the arcs: then an arc has the residual capacity of its reverse, and no
    #: global relabel may be due
    backward: bool
    #: the number of relabels without a merger, and that of pushes, after which a global relabel is due
    fruitless_limit: np.uint64
    push_limit: np.uint64


def make_records(n: int, dtype: DType) -> Array:
    """Allocate `Forest.vertex`."""
    room = np.empty(n * 8 * dtype.itemsize + CACHE_LINE, dtype=np.uint8)
    begin = -room.ctypes.data % CACHE_LINE
    records: Array = room[begin : begin + n * 8 * dtype.itemsize].view(dtype).reshape(n, 8)
    return records


@kernel
def fetch_ahead(net: ResidualNetwork, forest: Forest, v: np.uint64) -> None:
    """Ask for what is read when the next root is taken, and for the record of the one behind it."""
    fetch_arc(net, np.uint64(forest.vertex[v, CURRENT]))
    behind = np.uint64(forest.vertex[v, NEXT])
    if behind != ZERO:
        prefetch(forest.vertex[behind - ONE], ZERO)
        prefetch(forest.label, behind - ONE)


@kernel
def add_root(forest: Forest, v: np.uint64, first_out: bool) -> None:
    """Append a strong root to the bucket of its label, or put it first; a dead one is left out."""
    none = np.uint64(len(forest.label))
    label = forest.label[v]
    if label > none:
        return
    first = np.uint64(forest.first_root[label])
    if first == ZERO:
        forest.vertex[v, NEXT] = ZERO
        forest.first_root[label] = v + ONE
        forest.last_root[label] = v
    elif first_out:
        forest.vertex[v, NEXT] = first
        forest.first_root[label] = v + ONE
    else:
        forest.vertex[v, NEXT] = ZERO
        forest.vertex[forest.last_root[label], NEXT] = v + ONE
        forest.last_root[label] = v


@kernel
def take_from_parent(forest: Forest, v: np.uint64, parent: np.uint64) -> None:
    """Make a child the root of its own tree."""
    none = np.uint64(len(forest.label))
    after, before = np.uint64(forest.vertex[v, FOLLOWING]), np.uint64(forest.vertex[v, PREVIOUS])
    if after != none:
        forest.vertex[after, PREVIOUS] = before
    if before != none:
        forest.vertex[before, FOLLOWING] = after
    else:
        forest.vertex[parent, CHILD] = after


@kernel
def hang(forest: Forest, v: np.uint64, parent: np.uint64, arc: np.uint64) -> None:
    """Make a root the first child of a vertex of another tree."""
    none = np.uint64(len(forest.label))
    first = np.uint64(forest.vertex[parent, CHILD])
    forest.vertex[v, UP] = arc
    forest.vertex[v, PARENT] = parent
    forest.vertex[v, FOLLOWING] = first
    forest.vertex[v, PREVIOUS] = none
    if first != none:
        forest.vertex[first, PREVIOUS] = v
    forest.vertex[parent, CHILD] = v


@kernel
def merge(net: ResidualNetwork, forest: Forest, v: np.uint64, arc: np.uint64) -> None:
    """Hang the tree of v by v onto the head of a residual arc: turn its path to the root around."""
    none = no_arc(net)
    parent = head(net, v, arc)
    flow: Int64 = np.int64(0)
    while True:
        old = np.uint64(forest.vertex[v, UP])
        flow = exchange_flow(net, v, flow)
        if old == none:
            hang(forest, v, parent, arc)
            break
        above = np.uint64(forest.vertex[v, PARENT])
        take_from_parent(forest, v, above)
        hang(forest, v, parent, arc)
        parent = v
        arc = opposite(net, old)
        v = above


@kernel
def send_up(
    net: ResidualNetwork, forest: Forest, v: np.uint64, rules: PseudoflowRules, monitor: Monitor
) -> np.uint64:
    """Send the excess of a vertex up to its root, and from there to the sink; return the root.

    Vertices that cannot send all that they get become strong roots.
    """
    none = no_arc(net)
    carried = net.excess[v]
    net.excess[v] = 0
    pushes = ZERO
    while carried > 0:
        arc = np.uint64(forest.vertex[v, UP])
        if arc == none:
            break
        parent = np.uint64(forest.vertex[v, PARENT])
        amount = min(carried, capacity(net, v, parent, arc, rules.backward))
        push_along(net, v, parent, arc, -amount if rules.backward else amount)
        pushes += ONE
        if amount < carried:
            take_from_parent(forest, v, parent)
            forest.vertex[v, UP] = none
            net.excess[v] = carried - amount
            add_root(forest, v, rules.first_out)
            carried = amount
        v = parent
    monitor.counts[PUSHES] += pushes
    before = net.excess[v]
    amount = min(carried, net.sink_residual[v])
    net.sink_residual[v] -= amount
    monitor.progress[0] -= amount
    net.excess[v] = before + carried - amount
    if before == 0 and carried > amount:
        add_root(forest, v, rules.first_out)
    return v


@kernel
def add_roots(net: ResidualNetwork, forest: Forest, rules: PseudoflowRules, monitor: Monitor) -> None:
    """Send excess to the sink where a vertex can, and put the vertices that keep some into the buckets."""
    v = ZERO
    while v < np.uint64(len(forest.label)):
        if net.excess[v] > 0:
            send_up(net, forest, v, rules, monitor)
        v += ONE


@kernel
def next_child_of(net: ResidualNetwork, forest: Forest, v: np.uint64, counts: Indices) -> np.uint64:
    """Return the next child of v with its label; if there is none, raise v by a level and return n."""
    none = np.uint64(len(forest.label))
    label = forest.label[v]
    child = np.uint64(forest.vertex[v, NEXT])
    while child != none:
        if forest.label[child] == label:
            following = np.uint64(forest.vertex[child, FOLLOWING])
            forest.vertex[v, NEXT] = following
            if following != none:
                prefetch(forest.vertex[following], ZERO)
                prefetch(forest.label, following)
            return child
        child = np.uint64(forest.vertex[child, FOLLOWING])
    forest.vertex[v, NEXT] = none
    forest.population[label] -= ONE
    forest.label[v] = label + ONE
    forest.population[label + ONE] += ONE
    forest.vertex[v, CURRENT] = first(net, v)
    counts[RELABELS] += ONE
    return none


@kernel
def find_arc(
    net: ResidualNetwork, forest: Forest, v: np.uint64, backward: bool, counts: Indices
) -> np.uint64:
    """Return a residual arc from v to a vertex one level lower, or the end of its arcs."""
    arc, end = np.uint64(forest.vertex[v, CURRENT]), np.uint64(forest.vertex[v, END])
    below = np.uint64(forest.label[v]) - ONE
    begin = arc
    while arc < end:
        if (
            np.uint64(forest.label[head(net, v, arc)]) == below
            and capacity(net, v, head(net, v, arc), arc, backward) > 0
        ):
            break
        arc += ONE
    counts[ARC_SCANS] += arc - begin
    forest.vertex[v, CURRENT] = arc
    return arc


@kernel
def find_merger(
    net: ResidualNetwork, forest: Forest, root: np.uint64, backward: bool, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Search a strong tree for a residual arc down from the label of its root.

    Return its tail and the arc. The tail is n where there is none; then the root has risen by a level, and so
    has every vertex of its label, unless the solve is stopped.
    """
    counts = monitor.counts
    none = np.uint64(len(forest.label))
    v = root
    forest.vertex[v, NEXT] = forest.vertex[v, CHILD]
    while relaxed_load(monitor.stop, 0) == 0:
        arc = find_arc(net, forest, v, backward, counts)
        if arc < np.uint64(forest.vertex[v, END]):
            return v, arc
        # Go to the next vertex of the search: down, or up over all whose search has ended.
        while True:
            child = next_child_of(net, forest, v, counts)
            if child != none:
                v = child
                forest.vertex[v, NEXT] = forest.vertex[v, CHILD]
                break
            if np.uint64(forest.vertex[v, UP]) == no_arc(net):
                return none, no_arc(net)
            v = np.uint64(forest.vertex[v, PARENT])
    return none, no_arc(net)


@kernel
def lift(net: ResidualNetwork, forest: Forest, root: np.uint64, counts: Indices) -> None:
    """Declare all vertices of a strong tree dead."""
    none = np.uint64(len(forest.label))
    v = root
    forest.vertex[v, NEXT] = forest.vertex[v, CHILD]
    while True:
        child = np.uint64(forest.vertex[v, NEXT])
        if child != none:
            forest.vertex[v, NEXT] = forest.vertex[child, FOLLOWING]
            v = child
            forest.vertex[v, NEXT] = forest.vertex[v, CHILD]
            continue
        if np.uint64(forest.label[v]) <= none:
            forest.population[forest.label[v]] -= ONE
            forest.population[none + ONE] += ONE
            counts[GAP_VERTICES] += ONE
        forest.label[v] = none + ONE
        if v == root:
            break
        v = np.uint64(forest.vertex[v, PARENT])


@kernel
def cut_trees(net: ResidualNetwork, forest: Forest, monitor: Monitor) -> None:
    """Make every vertex a tree of its own, count labels, and add up the excess that may reach the sink."""
    n = np.uint64(len(forest.label))
    left = 0.0
    v = ZERO
    while v < n:
        forest.vertex[v, UP] = no_arc(net)
        forest.vertex[v, CHILD] = n
        forest.vertex[v, CURRENT], forest.vertex[v, END] = arcs_of(net, v)
        forest.population[forest.label[v]] += ONE
        if np.uint64(forest.label[v]) <= n:
            left += net.excess[v]
        v += ONE
    monitor.progress[0] = left


@kernel
def global_relabel(net: ResidualNetwork, forest: Forest, order: Indices, monitor: Monitor) -> None:
    """Make all labels exact and every vertex a tree of its own, and empty the buckets.

    `order` may lie in the memory of the trees.
    """
    started = now()
    n = np.uint64(len(forest.label))
    v = ZERO
    while v < n:
        label = np.uint64(forest.label[v])
        forest.first_root[label] = ZERO
        forest.population[label] = ZERO
        forest.label[v] = n + ONE
        v += ONE
    distances_to_sink(net, forest.label, order, ZERO, ZERO, ZERO, False)
    cut_trees(net, forest, monitor)
    monitor.counts[RELABEL_NANOSECONDS] += now() - started
    monitor.counts[GLOBAL_RELABELS] += ONE


@kernel
def run(
    net: ResidualNetwork, forest: Forest, order: Indices | None, rules: PseudoflowRules, monitor: Monitor
) -> None:
    """Merge strong trees until all of them are dead, or the solve is stopped.

    `order` is memory for global relabels; None where there are none.
    """
    n = np.uint64(len(forest.label))
    counts = monitor.counts
    label = n if rules.highest else ONE
    cut_trees(net, forest, monitor)
    add_roots(net, forest, rules, monitor)
    relabels, pushes = counts[RELABELS], counts[PUSHES]
    while not must_end(monitor):
        if order is not None and (
            counts[RELABELS] - relabels >= rules.fruitless_limit
            or counts[PUSHES] - pushes >= rules.push_limit
        ):
            global_relabel(net, forest, order, monitor)
            add_roots(net, forest, rules, monitor)
            relabels, pushes = counts[RELABELS], counts[PUSHES]
            label = n if rules.highest else ONE
        # The next label with a strong root.
        if rules.highest:
            while label > ZERO and np.uint64(forest.first_root[label]) == ZERO:
                label -= ONE
            if label == ZERO:
                break
        else:
            while label <= n and np.uint64(forest.first_root[label]) == ZERO:
                label += ONE
            if label > n:
                break
        root = np.uint64(forest.first_root[label]) - ONE
        following = np.uint64(forest.vertex[root, NEXT])
        forest.first_root[label] = following
        if following != ZERO:
            fetch_ahead(net, forest, following - ONE)
        if label > ONE and forest.population[label - ONE] == ZERO:
            monitor.progress[0] -= net.excess[root]
            lift(net, forest, root, counts)
            continue
        v, arc = find_merger(net, forest, root, rules.backward, monitor)
        if v == n:
            add_root(forest, root, rules.first_out)
            label = min(n, label + ONE) if rules.highest else label
        else:
            relabels = counts[RELABELS]
            merge(net, forest, v, arc)
            last = send_up(net, forest, root, rules, monitor)
            if not rules.highest:
                label = min(label, np.uint64(forest.label[last]))


def merge_trees(
    net: ResidualNetwork,
    label: Indices,
    vertex: Indices,
    options: PseudoflowOptions,
    backward: bool,
    control: Control,
) -> None:
    """Run the first stage in place from valid labels; `vertex` is memory for :class:`Forest`; see `run`."""
    n = len(label)
    fruitless, pushed = UNLIMITED, UNLIMITED
    if options.relabel_period is not None:
        fruitless = limit(options.relabel_period * FRUITLESS_RELABELS * n)
        pushed = limit(options.relabel_period * PUSHES_A_VERTEX * n)
    rules = PseudoflowRules(options.order == "highest", options.bucket == "lifo", backward, fruitless, pushed)
    # Labels that never occur take no memory.
    by_label = (np.zeros(n + 2, dtype=label.dtype) for _ in range(3))
    forest = Forest(label, vertex, *by_label)
    # A network by a pattern has no flow outside of trees, so they must not be cut.
    order = None if isinstance(net, PatternNetwork) else vertex.reshape(-1)[:n]
    run(net, forest, order, rules, control.monitor())


def solve(net: ResidualArrays, options: PseudoflowOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring.

    With an infinite budget it gives up where most arcs are never saturated: then trees are deep.
    """
    if control.budget == inf and seldom_saturated(net.residual):
        raise GaveUp("most arcs are never saturated")
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n, dtype = len(net.excess), net.head.dtype
    height = np.full(n, n + 1, dtype=dtype)
    vertex = make_records(n, dtype)
    order = vertex.reshape(-1)[:n]
    _, pushes = distances_to_sink(net, height, order, ZERO, ZERO, ZERO, True)
    control.counts[PUSHES] += pushes
    if not control.stopped:
        merge_trees(net, height, vertex, options, False, control)
        control.check_budget("trees are deep")
    height[:] = n + 1
    distances_to_sink(net, height, order, ZERO, ZERO, ZERO, False)
    return height
