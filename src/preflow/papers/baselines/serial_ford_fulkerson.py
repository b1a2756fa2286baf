"""The labelling method: paths of any length, one search each.

Ford and Fulkerson, "Flows in Networks" (1962), chapter I, section 8. It is the first method of the texts that
Cihan, Łupińska, and Wu, He and Hong compare with, not a fast one.

Definitions
-----------
- A *label* of a vertex is the arc over which the vertex was found, and an amount that a path can bring there.
- A labelled vertex is *scanned* when its neighbours have been looked at. The book leaves the order open;
  here the vertex labelled last is scanned first.

Invariants: no excess and no residual capacity is negative; labels lead back to a vertex with excess; no
vertex but the first of a path ever changes its excess.

::

    repeat:                                                             run
        label the vertices with excess                                  label_sources
        scan labelled vertices until one can send to the sink           find_breakthrough
        if there is none: stop
        send the amount of its label back along the labels              send_back
        erase all labels                                                erase_labels

Departure: terminals are not vertices. At the end the excess that no path takes is left: the result is a
preflow.

Time: O(m F), where F is the flow's value. So a named call hands on to another method where its budget is
spent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices
from ...graph.residual import ResidualArrays
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.work_limit import must_end
from ...maxflow.watch import run_watched
from ...network import distances_to_sink
from ...network.arcs import arcs_of, head, opposite, push_along
from ...solving.monitor import Monitor
from ...solving.options import NoOptions
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES


class Labels(NamedTuple):
    """The labels of a search."""

    #: shape (n,): the arc over which a vertex was labelled; the number of arcs at a vertex with excess, and
    #: one more where there is no label
    arc: Indices
    amount: NDArray[np.int64]  #: shape (n,)
    labelled: Indices  #: shape (n,): the vertices with labels
    unscanned: Indices  #: shape (n,): a stack


@kernel
def label_sources(net: ResidualArrays, labels: Labels) -> np.uint64:
    """Label the vertices with excess; return how many there are."""
    count = ZERO
    v = ZERO
    while v < np.uint64(len(net.excess)):
        if net.excess[v] > 0:
            labels.arc[v] = len(net.head)
            labels.amount[v] = net.excess[v]
            labels.labelled[count] = v
            labels.unscanned[count] = v
            count += ONE
        v += ONE
    return count


@kernel
def find_breakthrough(
    net: ResidualArrays, labels: Labels, count: np.uint64, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Scan until a vertex can send to the sink; return it, n if there is none, and the number of labels."""
    unlabelled = np.uint64(len(net.head)) + ONE
    left = count
    while left > ZERO and relaxed_load(monitor.stop, 0) == 0:
        left -= ONE
        v = np.uint64(labels.unscanned[left])
        if net.sink_residual[v] > 0:
            return v, count
        a, last = arcs_of(net, v)
        monitor.counts[ARC_SCANS] += last - a
        while a < last:
            w = head(net, v, a)
            if np.uint64(labels.arc[w]) == unlabelled and net.residual[a] > 0:
                labels.arc[w] = a
                labels.amount[w] = min(labels.amount[v], np.int64(net.residual[a]))
                labels.labelled[count] = w
                labels.unscanned[left] = w
                count += ONE
                left += ONE
            a += ONE
    return np.uint64(len(net.excess)), count


@kernel
def send_back(net: ResidualArrays, labels: Labels, last: np.uint64, monitor: Monitor) -> None:
    """Send along the labels from a vertex with excess to `last`, and on to the sink."""
    amount = min(labels.amount[last], net.sink_residual[last])
    net.sink_residual[last] -= amount
    monitor.counts[PUSHES] += ONE
    w = last
    while np.uint64(labels.arc[w]) < np.uint64(len(net.head)):
        a = np.uint64(labels.arc[w])
        v = head(net, w, opposite(net, a))
        push_along(net, v, w, a, amount)
        monitor.counts[PUSHES] += ONE
        w = v
    net.excess[w] -= amount
    monitor.progress[0] -= amount


@kernel
def erase_labels(net: ResidualArrays, labels: Labels, count: np.uint64) -> None:
    """Erase all labels."""
    i = ZERO
    while i < count:
        labels.arc[labels.labelled[i]] = np.uint64(len(net.head)) + ONE
        i += ONE


@kernel
def run(net: ResidualArrays, labels: Labels, monitor: Monitor) -> None:
    """Label and send until no vertex with a label can send to the sink, or the solve ends before that."""
    found = True
    while found and not must_end(monitor):
        last, count = find_breakthrough(net, labels, label_sources(net, labels), monitor)
        monitor.counts[GLOBAL_RELABELS] += ONE
        found = bool(last < np.uint64(len(net.excess)))
        if found:
            send_back(net, labels, last, monitor)
        erase_labels(net, labels, count)


def solve(net: ResidualArrays, options: NoOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n, dtype = len(net.excess), net.head.dtype
    labels = Labels(
        arc=np.full(n, len(net.head) + 1, dtype=dtype),
        amount=np.empty(n, dtype=np.int64),
        labelled=np.empty(n, dtype=dtype),
        unscanned=np.empty(n, dtype=dtype),
    )
    monitor = control.monitor()
    run_watched(lambda: run(net, labels, monitor), net, control, "paths bring little")
    height = labels.arc
    height[:] = n + 1
    distances_to_sink(net, height, labels.labelled, ZERO, ZERO, ZERO, False)
    return height
