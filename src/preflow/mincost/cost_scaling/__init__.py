"""The scaling that cost scaling on one thread, on many and in transport share: one solve, and its options.

:mod:`..serial_cost_scaling` describes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from ...graph.standard_form import StandardForm
from ...solving.options import Alpha, CheckedOptions
from ...solving.run import Control
from ...stats import PHASES
from ..infeasible import excesses
from ..price_refinement import REFINED, Refinement, new_refinement, refine_prices
from ..price_update import FAR, Ranks, new_ranks
from ..residual import Residual, build_residual, flow_from, flow_in_place
from ..shortest_paths import send
from ..solution import Ending, FlowState
from .arc_fixing import fix_arcs, release_arcs
from .refine import BLOCKED, COMPLETE, MOST, Work, fill_short_arcs, refine

#: An earlier flow that does not send all supplies starts with an epsilon of the largest cost over `2**WARM`:
#: a guess, not measured.
WARM = 8
#: Relabels between two price updates, as a multiple of the number of vertices. 0.5 takes 10 to 60% longer on
#: NETGEN, GOTO and grids, 2 takes 60 to 80% longer on grids.
PERIOD = 1.0
#: Passes of a price refinement that may fail.
PASSES = np.uint64(12)
#: Arcs are fixed if their length exceeds this times the square root of n times epsilon. With 1, wrong guesses
#: nearly double the refines on grids; 12 takes 8 to 24% longer.
FIXED = 4.0
#: Passes after the last refine, when potentials exist unless costs left no room to be scaled; shortest paths
#: finish where these are not enough.
LAST_PASSES = np.uint64(1000)


@dataclass(frozen=True)
class CostScalingOptions(CheckedOptions):
    """Options of cost scaling.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon, which is then rounded down to a power of two. 4 takes up to 70% longer than 16
        on NETGEN and grids, 8 up to 30%, 32 up to 50% longer on NETGEN.
    arc_fixing : bool
        Whether searches skip arcs whose flow hardly changes any more.
    """

    alpha: Alpha = 16.0
    arc_fixing: bool = True


def shift_of(num_vertices: int, largest_cost: int) -> int:
    """Return the shift of costs: past n if potentials of up to four times n times the costs then fit."""
    room = 2**62 // (4 * (num_vertices + 1) * max(largest_cost, 1))
    return max(0, min(num_vertices.bit_length(), room.bit_length() - 1))


class CostScaling:
    """One solve."""

    def __init__(
        self, form: StandardForm, start: FlowState | None, options: CostScalingOptions, control: Control
    ) -> None:
        n = len(form.supply)
        self.form, self.options, self.control = form, options, control
        largest = int(np.abs(form.cost).max(initial=0))
        potential = (
            np.zeros(n, dtype=np.int64) if start is None else start.potential - start.potential.max(initial=0)
        )
        if start is not None:
            largest = max(largest, -int(potential.min(initial=0)) // (n + 1) + 1)
        self.shift = np.int64(shift_of(n, largest))
        violation = largest
        excess = form.supply.copy()
        if start is not None:
            excess = excesses(form, start.flow)
            length = form.cost + potential[form.tail] - potential[form.head]
            short = np.where(start.flow < form.capacity, -length, 0).max(initial=0)
            long = np.where(start.flow > 0, length, 0).max(initial=0)
            violation = max(int(short), int(long), largest >> WARM if excess.any() else 0)
            del length
        self.violation = violation << int(self.shift)
        potential <<= self.shift
        self.net = self.residual(None if start is None else start.flow)
        self.work = Work(
            potential,
            excess,
            np.zeros(n, dtype=np.uint64),
            np.zeros(n, dtype=np.uint32),
            np.zeros(n, dtype=np.uint8),
            np.zeros(int(MOST) + 1, dtype=np.uint64),
            np.zeros(int(MOST) + 1, dtype=np.uint64),
            self.new_ranks(),
        )
        self.refinement = self.new_refinement(self.work)
        self.monitor = control.monitor()

    def solve(self) -> FlowState:
        """Refine until the flow is optimal."""
        fall = log2(self.options.alpha)
        level = self.violation.bit_length()
        exact_level = float(level)
        self.control.progress[:] = level
        if not self.work.excess.any():
            proved = self.proved(PASSES)
            if proved is not None:
                return proved
        while True:
            exact_level -= fall
            level = max(min(level - 1, floor(exact_level)), 0)
            if not self.refine(level):
                return self.ended()
            self.control.progress[0] = level
            if level <= self.shift or level == 0:
                proved = self.proved(PASSES if level else LAST_PASSES)
                if proved is not None:
                    return proved
                if level == 0:
                    return self.finish()
            if self.options.arc_fixing:
                self.fix_arcs(np.int64(int(FIXED * len(self.form.supply) ** 0.5) << level))

    def refined(self, epsilon: float) -> FlowState | None:
        """Return a state that is optimal for this epsilon or less; None if there is none, or on a stop."""
        unit = 1 << int(self.shift)
        level = max(int(epsilon * unit), 1).bit_length() - 1
        if not self.refine(level):
            return None
        return self.end(self.work.potential >> self.shift, "optimal")

    def refine(self, level: int) -> bool:
        """Refine with epsilon ``2**level``; return whether all excess got to deficits."""
        net, work, control = self.net, self.work, self.control
        while True:
            control.check_wanted()
            work.potential[:] -= work.potential.max(initial=0)
            ending = self.refine_once(level)
            control.counts[PHASES] += np.uint64(1)
            if ending == BLOCKED and (net.live < net.first[1:]).any():
                net.live[:] = net.first[1:]
            elif ending != COMPLETE:
                return False
            elif not self.release_arcs():
                return True

    def new_ranks(self) -> Ranks:
        """Return the state of price updates."""
        return new_ranks(len(self.form.supply))

    def new_refinement(self, work: Work) -> Refinement:
        """Return the state of price refinements, in memory that refines use at other times."""
        return new_refinement(work.ranks, work.next_arc, work.queue, work.queued)

    def residual(self, flow: NDArray[np.int64] | None) -> Residual:
        """Return the residual network of a flow; None is the flow of nothing."""
        return build_residual(self.form, flow)

    def fix_arcs(self, most: np.int64) -> None:
        """Fix the arcs whose length exceeds `most` or is below its negative."""
        fix_arcs(self.net, self.work, self.shift, most)

    def release_arcs(self) -> bool:
        """Make fixed arcs of negative length live; return whether there were any."""
        return bool(release_arcs(self.net, self.work, self.shift))

    def end(self, potential: NDArray[np.int64], ending: Ending) -> FlowState:
        """Free the state of the solve, and return the flow with these potentials."""
        del self.work, self.refinement
        arcs = flow_in_place(self.net, self.control.threads)
        del self.net  # the flow takes the memory of its other arrays
        return FlowState(flow_from(arcs, self.form, self.control.threads), potential, ending)

    def refine_once(self, level: int) -> int:
        """Refine with the live arcs; return how it ended."""
        period = np.uint64(PERIOD * len(self.form.supply) + 1)
        fill_short_arcs(self.net, self.work, self.shift)
        return refine(self.net, self.work, self.shift, np.int64(level), period, self.monitor)

    def proved(self, most_passes: np.uint64) -> FlowState | None:
        """Return the state if the flow is optimal and this many passes find potentials that prove it.

        No vertex has excess, so the potentials are kept in the array of the excess.
        """
        excess = self.work.excess
        potential = np.right_shift(self.work.potential, self.shift, out=excess)
        zero = np.int64(0)
        ending = refine_prices(
            self.net._replace(live=self.net.first[1:]),
            potential, self.refinement, zero, zero, most_passes, self.monitor,
        )  # fmt: skip
        if ending == REFINED:
            return self.end(potential, "optimal")
        excess[:] = 0
        self.work.ranks.rank[:] = FAR
        return None

    def ended(self) -> FlowState:
        """Return the state of a solve that was stopped or is infeasible."""
        state = self.end(self.work.potential >> self.shift, "stopped")
        if self.control.stopped:
            return state
        # Send what still can be sent, at any cost.
        free = self.form._replace(cost=np.zeros_like(self.form.cost))
        state = state._replace(potential=np.zeros_like(state.potential))
        return send(free, state, self.control, scaled=True)

    def finish(self) -> FlowState:
        """Return an optimal state, by shortest paths."""
        state = self.end(self.work.potential >> self.shift, "stopped")
        if self.control.stopped:
            return state
        return send(self.form, state, self.control, scaled=True)
