"""The published hybrid of GPU and CPU: pushes and relabels on the GPU, global relabels on the CPU.

This is gpu-async of Wu, He and Hong ("Efficient CUDA Algorithms for the Maximum Network Flow Problem",
2011, Algorithms 1, 2 and 4), which is He and Hong's CPU-GPU-Hybrid of 2010, with ``gap=False``. With gap
relabeling, the default, it is Łupińska's system (2011, Algorithms 4.6 to 4.8, section 4.6). Under the names
`gpu-async`, `CPU-GPU-Hybrid` and `Lupinska` labels start with 0 and steep arcs are cancelled, as printed.

::

    repeat:
        the CPU searches backwards from the sink, unless the first labels are 0
        with `gap`: what it does not reach is dead; else that keeps its heights
        if no active vertex can reach the sink: stop
        the GPU takes `cycles` steps of each vertex (cuda_lockfree.cu)
        residual capacities and excess come back; only the heights go to the GPU again

`cycles` is KERNEL_CYCLES or CYCLE in the papers, 7000 as in Łupińska's. Definitions and invariants are
those of :mod:`.cuda_lockfree`, whose kernel this is. Departures beside those of that solver:

- ExcessTotal. The papers take the excess of a vertex off it once, when a search first misses the vertex, by
  marks that are garbled in print; the end is ``e(t) = ExcessTotal``. Here the stranded excess is found
  again after each exact search, and the end is that no other vertex has excess, which is the same.
- Steep arcs, ``h(u) > h(v) + 1``. The papers cancel them before the search, by a push of the whole residual
  capacity. Exact distances are a valid labelling whatever was there before, so this is not needed, and it
  is an option. It pushes no more than the excess. With the height n of vertices that the last search did not
  reach (Łupińska's gap), the steep arcs of a vertex never have more room than the vertex has excess, and both
  amounts are the same. Without it (Wu, He and Hong) excess becomes negative in some runs. The changes go to
  the GPU; in print (Algorithm 1, line 4) only the heights do, and some runs never end.
  ``benchmarks/reproduce/printed_hybrid.py`` simulates all readings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Indices
from ...cuda import runtime
from ...cuda.launches import count_search, relabel_time
from ...graph.device.residual import flow_to_device, from_device, to_device
from ...graph.residual import ResidualArrays
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...maxflow.levels import active_excess
from ...network import distances_to_sink
from ...network.arcs import arcs_of, head, push_along
from ...solving.options import CheckedOptions, InitialLabels, PositiveInteger
from ...solving.run import Control
from ...stats import PUSHES
from .cuda_lockfree import launch_steps, make_steps, read_counts


@dataclass(frozen=True)
class HybridOptions(CheckedOptions):
    """Options of the hybrid.

    Attributes
    ----------
    cycles : int
        Steps of each vertex, a push or a relabel, between two global relabels: KERNEL_CYCLES, CYCLE.
    gap : bool
        Declare the vertices dead that a search does not reach, as Łupińska does. Without it they keep their
        heights, as in the earlier papers; others may push excess to them that has to come back.
    cancel_steep_arcs : bool
        Push along arcs that lead down by more than one level before each search, as the papers do.
    initial_labels : {"exact", "zero"}
        Start with a search, or with label 0 on all vertices, as the papers do.
    """

    cycles: PositiveInteger = 7000
    gap: bool = True
    cancel_steep_arcs: bool = False
    initial_labels: InitialLabels = "exact"


@kernel
def cancel_steep_arcs(net: ResidualArrays, height: Indices) -> np.uint64:
    """Push along residual arcs that lead down by more than one level; return the number of pushes.

    These are lines 1 to 8 of Algorithm 4. No steep arc leads to the sink: a vertex next to it pushes there
    before it rises.
    """
    pushes = ZERO
    for vertex in range(len(net.excess)):
        v = np.uint64(vertex)
        a, last = arcs_of(net, v)
        while a < last and net.excess[v] > 0:
            w = head(net, v, a)
            if net.residual[a] > 0 and np.uint64(height[v]) > np.uint64(height[w]) + ONE:
                amount = min(net.excess[v], net.residual[a])
                net.excess[v] -= amount
                net.excess[w] += amount
                push_along(net, v, w, a, amount)
                pushes += ONE
            a += ONE
    return pushes


def solve(net: ResidualArrays, options: HybridOptions, control: Control) -> Array:
    """Run the first stage on the GPU and the CPU, in place; return exact heights.

    O(n^2 m) operations. Memory on the device: 16 bytes an arc and 24 a vertex. The time of global relabels
    includes the copies between GPU and CPU, which serve no other purpose.
    """
    device = runtime.find_device()
    on_device = to_device(device, net)
    steps = make_steps(device, on_device, options.cycles, control)
    n = len(net.excess)
    height = np.full(n, n + 1, dtype=np.uint32)
    order = np.empty(n, dtype=np.uint32)
    control.progress[:] = net.excess.sum(dtype=np.float64)
    searches = options.initial_labels == "exact"
    steps.height[:] = n + 1 if searches else 0
    reached, canceled = ZERO, 0
    while True:
        if searches:
            with relabel_time(control):
                if not options.gap:
                    # Pushes lead to vertices that the last search did not reach: search from the start.
                    height[:], reached = n + 1, ZERO
                found, _ = distances_to_sink(net, height, order, reached, ZERO, ZERO, False)
                reached = np.uint64(found)
                control.progress[0] = active_excess(order, reached, net.excess)
                exact = device.xp.asarray(height)
                if not options.gap:
                    exact = device.xp.where(exact > n, steps.height, exact)
                steps.height[:] = exact
            count_search(control, "cuda-hybrid")
            if control.progress[0] == 0 or control.stopped:
                break
        searches = True
        launch_steps(device, steps, device.num_multiprocessors)
        read_counts(device, steps, control)
        with relabel_time(control):
            from_device(device, on_device, net)
            if options.cancel_steep_arcs:
                pushes = int(cancel_steep_arcs(net, device.to_host(steps.height)))
                if pushes > 0:
                    flow_to_device(device, net, on_device)
                canceled += pushes
    if options.cancel_steep_arcs:
        control.counts[PUSHES] += canceled
        control.remarks.append(f"{canceled:,} pushes along steep arcs")
    return height
