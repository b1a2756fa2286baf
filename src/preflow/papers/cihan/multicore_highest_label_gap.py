"""Highest-label push-relabel with gap relabeling on many cores, after Bader and Sachdeva.

Bader and Sachdeva, "A Cache-Aware Parallel Implementation of the Push-Relabel Network Flow Algorithm and
Experimental Evaluation of the Gap Relabeling Heuristic", PDCS 2005. Cihan (2010) names gap relabeling as
the part that his solver lacks on graphs with long distances. Each thread discharges the highest active
vertex that it owns, which is only approximately the highest of all. Vertices above an empty level are taken
out. Definitions, invariants and pseudo-code are in multicore_discharge.py.

Departures, from what Cihan's chapter 3 and the abstract say of that implementation:

- It locks vertices; here excess, heights, residual capacities and the counts of vertices of a height are
  atomic.
- Threads own their vertices, as in Cihan's solver, and a thread without vertices receives some of the
  highest of another one (buckets.py).
- Terminals are not vertices, and all threads search exact heights together at a barrier.
- Neither of the two says which order of the memory is cache-aware. With ``order="search"`` vertices are
  numbered in the order of a breadth-first search from the sink, and arcs lie in the order of their tails. So
  vertices that are near each other in the network are near each other in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import Array
from ...graph.residual import ResidualArrays
from ...kernels.constants import ZERO
from ...network import distances_to_sink
from ...solving.options import CheckedOptions, PositiveNumber
from ...solving.run import Control
from .buckets import make_buckets
from .multicore_discharge import run_first_stage


@dataclass(frozen=True)
class MulticoreHighestLabelOptions(CheckedOptions):
    """Options of multicore highest-label push-relabel.

    Attributes
    ----------
    gap : bool
        Take out vertices above an empty level; Bader and Sachdeva evaluate what this brings.
    relabel_period : float
        A global relabel is due after ``relabel_period * n`` relabels of all threads together.
    order : {"given", "search"}
        The order of the vertices in memory: as the network has them, or as a breadth-first search from the
        sink finds them. "search" copies the network: O(n + m) time and memory.
    record_active : bool
        Record the numbers of active vertices: `stats.active` of the result. It costs an atomic addition for
        each vertex that becomes active.
    """

    gap: bool = True
    relabel_period: PositiveNumber = 1.0
    order: Literal["given", "search"] = "given"
    record_active: bool = False


def search_order(net: ResidualArrays) -> Array:
    """Return the vertices in the order of a breadth-first search from the sink, unreached ones last."""
    n, dtype = len(net.excess), net.head.dtype
    height = np.full(n, n + 1, dtype=dtype)
    order = np.empty(n, dtype=dtype)
    reached, _ = distances_to_sink(net, height, order, ZERO, ZERO, ZERO, False)
    order[int(reached) :] = np.flatnonzero(height == n + 1)
    return order


def reordered(net: ResidualArrays, order: Array) -> tuple[ResidualArrays, Array]:
    """Return a copy in which vertex ``i`` is ``order[i]`` of `net`, and the arc of `net` for each arc."""
    dtype = net.head.dtype
    number = np.empty_like(order)
    number[order] = np.arange(len(order), dtype=dtype)
    degree = np.diff(net.first_out)[order]
    first_out = np.zeros_like(net.first_out)
    np.cumsum(degree, out=first_out[1:])
    arc = np.arange(len(net.head), dtype=np.int64)
    arc += np.repeat(net.first_out[order].astype(np.int64) - first_out[:-1].astype(np.int64), degree)
    place = np.empty(len(arc), dtype=dtype)
    place[arc] = np.arange(len(arc), dtype=dtype)
    copy = ResidualArrays(
        first_out,
        number[net.head[arc]],
        place[net.reverse[arc]],
        net.residual[arc],
        net.excess[order],
        net.sink_residual[order],
    )
    return copy, arc


def solve(net: ResidualArrays, options: MulticoreHighestLabelOptions, control: Control) -> Array:
    """Run the first stage in place; return exact heights.

    O(n^2 sqrt(m)) pushes on one thread. Memory: at most ten indices a vertex on any number of threads.
    """
    if options.order == "search" and len(net.excess) > 0:
        order = search_order(net)
        copy, arc = reordered(net, order)
        height = np.empty_like(order)
        height[order] = _solve(copy, options, control)
        net.residual[arc] = copy.residual
        net.excess[order] = copy.excess
        net.sink_residual[order] = copy.sink_residual
        return height
    return _solve(net, options, control)


def _solve(net: ResidualArrays, options: MulticoreHighestLabelOptions, control: Control) -> Array:
    buckets = make_buckets(control.threads, len(net.excess), net.head.dtype)
    return run_first_stage(
        net,
        control,
        None,
        buckets,
        options.gap,
        options.relabel_period,
        record_active=options.record_active,
    )
