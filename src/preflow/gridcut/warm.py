"""Solve a grid again after terminal capacities have changed, from the last flow and the last forests.

Kohli and Torr, "Dynamic Graph Cuts for Efficient Inference in Markov Random Fields", PAMI 29, 2007, keep the
flow and the search trees between solves, and so does :mod:`preflow.forests.repair`. Here the flow between
neighbours always fits, because only terminals change: a new capacity changes the excess or the deficit of its
pixel and nothing else.

A search that reaches its work limit is continued by push-relabel, and the next solve makes new forests.
"""

from __future__ import annotations

import time
from copy import deepcopy

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.grid import lower_bound
from ..errors import InvalidInputError
from ..forests.incremental_search import (
    Forests,
    check_work_limit,
    make_forests,
    plant,
    search_all,
    set_work_limit,
)
from ..forests.repair import for_next_search, repair
from ..graph.grid import GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..progress import Reporter
from ..solving.exclusive import Exclusive
from ..solving.run import Control, GaveUp, run_interruptibly
from ..stats import ARC_SCANS, PUSHES, RELABELS, SolveStats
from .pixel_major import GridState, grid_solution, interior
from .problem import ORPHANS_PER_ARC
from .result import GridCutResult
from .solution import GridSolution

METHOD = "serial-incremental-bfs"
#: Seconds between two reports. A stroke on a megapixel takes 1 to 70 ms, and a mask should be on the screen
#: within 100 ms; the rest is the browser's.
REPORT_INTERVAL = 0.025


class WarmGrid(Exclusive):
    """A grid of integers that is solved again after changes of its terminal capacities.

    It starts from the cut `result`, whose arrays are copied. No later capacity may be larger than `largest`
    in absolute value, where that is above those of `result`. `net`, of the shape of the grid, is the capacity
    from the source minus that to the sink, as of now; change it by :meth:`change` only. InvalidInputError if
    capacities are no integers.

    Several threads may share it: a method waits until no other thread is in one. While one solves, only its
    progress function sees a draft. Memory: for D neighbours D residual capacities and about 30 bytes per
    pixel.
    """

    def __init__(self, result: GridCutResult, *, largest: int = 0) -> None:
        network = result.network.on_host()
        grid, solution = result._on_host()
        source, sink = network.source_capacity, network.sink_capacity
        if grid.scale_exponent is not None or "f" in (source.dtype.kind, sink.dtype.kind):
            raise InvalidInputError("only a grid with integer capacities can be solved again in this way")
        self.network = network
        net = source.astype(np.int64) - sink
        self.largest = max(largest, int(np.abs(net).max(initial=0)))
        bound = self.largest + len(grid.offsets) * grid.largest_neighbor
        dtype = np.int32 if bound <= np.iinfo(np.int32).max else np.int64
        self.net: Array = net.astype(dtype)
        self._grid = grid
        self._first, self._last = interior(grid)
        pad, size = grid.padding, grid.size
        degree = len(grid.offsets)
        self._state = GridState(
            np.zeros((size + 2 * pad) * degree, dtype=dtype),
            np.zeros(size + 2 * pad, dtype=dtype),
            grid.steps.astype(np.uint64),
        )
        inner = self._residual
        for pair in range(grid.num_pairs):
            for direction, box in zip((2 * pair, 2 * pair + 1), grid.boxes(pair), strict=True):
                inner[direction][box] = solution.residual[direction][box]
        # A reduced grid lacks terminal capacities that cannot matter; here they are complete.
        missing = net - (grid.source.astype(np.int64) - grid.sink)
        self._terminal[...] = solution.terminal + missing
        self._forests: Forests | None = None
        #: The forests of the solve that runs, or of the last one.
        self._growing: Forests | None = None
        self._sink_side: NDArray[np.bool_] = solution.sink_side

    def __getstate__(self) -> dict[str, object]:
        """Return the state with copies of the arrays that solves change, and without a solve that runs."""
        forests = deepcopy(self._forests)
        changing = {
            "net": self.net.copy(),
            "_state": deepcopy(self._state),
            "_forests": forests,
            "_growing": forests,
        }
        return super().__getstate__() | changing

    @property
    def _terminal(self) -> Array:
        terminal: Array = self._state.terminal[self._first : self._last].reshape(self.net.shape)
        return terminal

    @property
    def _residual(self) -> Array:
        degree = len(self._state.step)
        inner = self._state.residual.reshape(-1, degree)[self._first : self._last]
        residual: Array = np.moveaxis(inner.reshape(*self.net.shape, degree), -1, 0)
        return residual

    def prepare(self) -> None:
        """Build the forests now, which the first :meth:`solve` does otherwise."""
        if self._forests is None:
            self.solve()

    def solve(
        self,
        pixels: NDArray[np.intp] | None = None,
        net: Array | None = None,
        *,
        control: Control | None = None,
        progress: bool | Reporter = False,
    ) -> SolveStats | None:
        """Change terminal capacities and solve again; None if it was stopped.

        The next solve completes a stopped one. `pixels` are numbers of distinct pixels in C order, `net`
        their new capacity from the source minus that to the sink. Another thread may stop the solve by the
        stop flag of `control`. A `progress` function is called every 25 ms and may look at :meth:`draft`.
        InvalidInputError if a capacity is above `largest`.
        """
        control = control or Control()
        seconds = run_interruptibly(
            lambda: self._solve(pixels, net, control), control, progress=progress, interval=REPORT_INTERVAL
        )
        if seconds is None:
            return None
        return SolveStats(
            METHOD,
            "; ".join(["from the flow and the forests of the last cut", *control.remarks]),
            pushes=int(control.counts[PUSHES]),
            relabels=int(control.counts[RELABELS]),
            arc_scans=int(control.counts[ARC_SCANS]),
            seconds={"solve": seconds},
        )

    def _solve(self, pixels: NDArray[np.intp] | None, net: Array | None, control: Control) -> float | None:
        start = time.perf_counter()
        state, first, last = self._state, self._first, self._last
        forests, self._forests = for_next_search(self._forests), None
        if forests is not None:
            set_work_limit(forests, ORPHANS_PER_ARC, int(last - first), len(state.step))
        if pixels is not None and net is not None and len(pixels):
            if int(np.abs(net, dtype=np.int64).max()) > self.largest:
                raise InvalidInputError(f"a terminal capacity is above {self.largest}")
            flat = self.net.reshape(-1)
            self._growing = forests
            numbers = pixels.astype(np.uint64) + first
            state.terminal[numbers] += (net - flat[pixels]).astype(flat.dtype)
            flat[pixels] = net
            if forests is not None:
                repair(state, forests, numbers, control.monitor())
        if forests is None:
            forests = make_forests(state, int(last - first))
            set_work_limit(forests, ORPHANS_PER_ARC, int(last - first), len(state.step))
            plant(state, forests, first, last)
        self._growing = forests
        forests = search_all(state, forests, control.monitor())
        try:
            check_work_limit(control, state)
        except GaveUp as end:
            from . import multicore_lockfree

            control.remarks.append(f"{end}, so push-relabel went on")
            options = multicore_lockfree.GridLockFreeOptions()
            solution = multicore_lockfree.solve(self._grid, state, options, control)
            if not solution.finished:
                return None
            self._sink_side = solution.sink_side
        else:
            if control.stopped:
                control.check_wanted()
                return None
            self._forests = forests
            self._sink_side = (forests.label[first:last] < 0).reshape(self.net.shape)
        return time.perf_counter() - start

    @property
    def labels(self) -> NDArray[np.bool_]:
        """True for the pixels on the source's side in the last solve; a new array."""
        return ~self._sink_side

    def draft(self) -> NDArray[np.bool_]:
        """Return the labels as of now, which a solve that reports progress goes on to change.

        Pixels in no forest have the label that they had in the last solve.
        """
        if self._growing is None:
            return self.labels
        label = self._growing.label[self._first : self._last].reshape(self.net.shape)
        return np.where(label == 0, ~self._sink_side, label > 0)

    @property
    def value(self) -> int:
        """The capacity of the cut, which the flow proves."""
        return int(np.minimum(self._terminal, 0).sum(dtype=np.int64)) - int(
            np.minimum(self.net, 0).sum(dtype=np.int64)
        )

    def result(self, stats: SolveStats) -> GridCutResult:
        """Return the last cut with copies of all that proves it."""
        zero = self.net.dtype.type(0)
        network = GridNetwork.from_arrays(
            np.maximum(self.net, zero),
            np.maximum(-self.net, zero),
            self.network.neighbor_capacity,
            connectivity=[tuple(offset) for offset in self.network.offsets[::2].tolist()],
        )
        grid = IntegerGrid(
            network.shape,
            network.offsets,
            network.source_capacity,
            network.sink_capacity,
            network.neighbor_capacity,
            network.symmetric,
            self.largest,
            self._grid.largest_neighbor,
        )
        state = self._state._replace(
            residual=self._state.residual.copy(), terminal=self._state.terminal.copy()
        )
        solution: GridSolution = grid_solution(grid, state, self._sink_side, True)
        value = grid.in_network_units(lower_bound(grid, solution.terminal))
        return GridCutResult("optimal", value, value, stats, self.labels, network, 0, grid, solution, None)
