"""The scaling of cost scaling with refines and passes over arcs by several threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...graph.standard_form import StandardForm
from ...kernels.atomics import PADDING
from ...parallel.barrier import make_barrier
from ...parallel.inboxes import make_inboxes
from ...parallel.thread_pool import run_solver
from ...parallel.totals import make_totals
from ...solving.run import Control
from ..price_refinement import Refinement
from ..price_update import Ranks
from ..residual import Residual, build_residual
from ..solution import Ending, FlowState
from . import CostScaling, CostScalingOptions
from .arc_passes import count_together, fix_together, new_moves
from .lockfree import LockFreeScalingState, refine_share
from .refine import STOPPED, Work

#: A thread owns at least this number of blocks of consecutive vertices, if there are enough: a guess.
BLOCKS = 8
#: Relabels of all threads between two price updates, as a multiple of the number of vertices. On 16 cores of
#: a Xeon, NETGEN-8 with a million arcs took 1.25, 1.06 and 0.79 s with 0.5, 1 and 2, when one thread made the
#: passes over all arcs. Since then: 0.62 and 0.65 s with 2 and 4; with 1, 2 and 4, GOTO with 0.8 million arcs
#: 0.76, 0.67 and 0.83 s, and a 200 x 200 grid 0.54, 0.58 and 0.54 s.
PERIOD = 2.0
#: With fewer arcs one thread makes the passes over all arcs: 16 take a millisecond to begin and end.
FEW_ARCS = 250_000


class LockFreeCostScaling(CostScaling):
    """One solve on several threads."""

    def __init__(
        self, form: StandardForm, start: FlowState | None, options: CostScalingOptions, control: Control
    ) -> None:
        self.pass_threads = control.threads if len(form.tail) >= FEW_ARCS else 1
        super().__init__(form, start, options, control)
        n, threads = len(form.supply), control.threads
        self.state = LockFreeScalingState(
            potential=self.work.potential,
            excess=self.work.excess,
            rank=self.work.ranks.rank,
            next_arc=self.work.next_arc,
            # Price refinement, which has one thread, uses these two between refines.
            listed=self.work.queue,
            lists=make_inboxes(threads, 0, np.uint32)._replace(after=self.work.ranks.after),
            signals=np.zeros(2 * int(PADDING), dtype=np.uint64),
            found=np.zeros(threads * int(PADDING), dtype=np.int64),
            barrier=make_barrier(threads),
            totals=make_totals(threads),
            num_threads=np.array([threads], dtype=np.uint64),
            block_bits=np.uint64(max(1, n // (BLOCKS * threads)).bit_length() - 1),
            period=np.uint64(PERIOD * n + 1),
            delays=control.delays,
        )

    def new_ranks(self) -> Ranks:
        """Return the ranks of price updates. The lists of the threads lie where the serial buckets do."""
        n = len(self.form.supply)
        return Ranks(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.uint32), np.zeros(0, dtype=np.uint32))

    def new_refinement(self, work: Work) -> Refinement:
        """Return the state of price refinements, in memory that refines use at other times."""
        n = len(self.form.supply)
        halves = work.ranks.rank.view(np.uint32)
        return Refinement(
            labelled=work.ranks.after,
            order=halves[:n],
            path=halves[n:],
            label=work.queued,
            seen=np.zeros(n, dtype=np.uint8),
            next_arc=work.next_arc,
            negative=work.queue,
        )

    def residual(self, flow: NDArray[np.int64] | None) -> Residual:
        """Return the residual network of a flow; None is the flow of nothing."""
        net = build_residual(self.form, flow, self.pass_threads)
        self.moves = new_moves(net)
        return net

    def fix_arcs(self, most: np.int64) -> None:
        """Fix the arcs whose length exceeds `most` or is below its negative."""
        fix_together(self.net, self.work.potential, self.shift, most, self.moves, self.pass_threads)

    def release_arcs(self) -> bool:
        """Make fixed arcs of negative length live; return whether there were any."""
        found = count_together(self.net, self.work.potential, self.shift, self.pass_threads)
        return found > 0 and super().release_arcs()

    def proved(self, most_passes: np.uint64) -> FlowState | None:
        """Return the state if the flow is optimal and this many passes find potentials that prove it."""
        potential = np.right_shift(self.work.potential, self.shift, out=self.work.excess)
        every = self.net._replace(live=self.net.first[:-1])
        short = count_together(every, potential, np.int64(0), self.pass_threads)
        del every  # it shares the memory that the end frees
        if short == 0:
            return self.end(potential, "optimal")
        return super().proved(most_passes)

    def end(self, potential: NDArray[np.int64], ending: Ending) -> FlowState:
        """Free the state of the solve, and return the flow with these potentials."""
        del self.state, self.moves
        return super().end(potential, ending)

    def refine_once(self, level: int) -> int:
        """Refine with the live arcs on all threads; return how it ended."""
        endings = [STOPPED] * self.control.threads

        def share(thread: int) -> None:
            endings[thread] = refine_share(
                self.net,
                self.state,
                np.uint64(thread),
                self.shift,
                np.int64(level),
                self.control.monitor(thread),
            )

        run_solver(share, self.control, self.state.barrier)
        return endings[0]
