"""Lock-free cost scaling on a GPU, one thread per vertex.

Łupińska (2011), section 5.5: Algorithm 5.4 in the refine of Algorithm 5.2, with alpha 10. The defaults are
the paper's, so the name `Lupinska` needs no options. Definitions are in :mod:`.lockfree_scaling`;
``papers/lupinska/multicore_lockfree.py`` has the steps of vertices and the invariants that make every
interleaving of them safe.

::

    for each epsilon:                                                      refine_all
        start_refine (kernel)
        repeat:                                                            OnDevice.refine
            up to CYCLE (500,000) steps of every vertex (kernel push_and_relabel)
            until every column has exactly one unit
            after the first kernel: copy flow and prices to the host,
                update prices by Algorithm 5.3, copy them back             update_prices
        fix_arcs (kernel)

Kernels run in blocks of 32 x 16 threads. A kernel also ends early if the solve is to stop.

Departures:

- A relabel and the push that it allows are one step.
- Arcs are fixed only after a complete refine. The paper's implementation may fix them during a refine, which
  is unsafe.
- The price update needs an epsilon-optimal flow, which lemma 5.5 has at the end of a refine only. Interrupted
  pushes and relabels leave units at columns that were just relabelled, on arcs that violate this; these units
  are sent back first. The update itself is corrected as :mod:`.push_relabel` says.
- If some pairs are not allowed, a matching on the host comes first, since a refine without a solution never
  ends. The prices that prove the assignment are found on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..cuda import runtime
from ..cuda.runtime import Device
from ..cuda.structs import I64, U32, U64, ConstI64, ConstU32, Signed
from ..errors import SolverError
from ..graph.costs import DenseCosts, SparseCosts
from ..solving.options import Alpha, CheckedOptions, NonNegativeInteger, PositiveInteger
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS
from .lockfree_scaling import (
    Arcs,
    Flow,
    PriceUpdate,
    Scaled,
    make_flow,
    refine_all,
    solve_items,
)
from .solution import Solution

SOURCE = Path(__file__).with_suffix(".cu")
#: Operations of all kernels.
Count = IntEnum("Count", "PUSHES RELABELS ARC_SCANS", start=0)
COUNTS = len(Count)
#: No refine needs this many kernels.
MOST_KERNELS = 100_000


@dataclass(frozen=True)
class CudaLockFreeOptions(CheckedOptions):
    """Options of lock-free cost scaling on a GPU.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon before each refine.
    cycles : int
        The most steps of each vertex in one kernel, the paper's CYCLE.
    block_threads : int
        Threads per block, the paper's 32 x 16, limited by the device.
    arc_fixing : bool
        Leave out arcs whose flow cannot change in later refines.
    price_updates : int
        The number of kernels, at the start of each refine, after which prices are updated.
    """

    alpha: Alpha = 10.0
    cycles: PositiveInteger = 500_000
    block_threads: PositiveInteger = 512
    arc_fixing: bool = True
    price_updates: NonNegativeInteger = 1


class DeviceArcs(NamedTuple):
    """:class:`.lockfree_scaling.Arcs` on the GPU."""

    first: ConstU32
    size: U32
    column: U32
    cost: I64


class DeviceFlow(NamedTuple):
    """:class:`.lockfree_scaling.Flow` on the GPU."""

    at: U64  #: the arc on which each row's unit is (upper half) and its column (lower half)
    excess: I64  #: units at each column, minus one
    row_price: I64
    column_price: I64


class Arguments(NamedTuple):
    """Arguments of "push_and_relabel", "start_refine" and "fix_arcs"."""

    arcs: DeviceArcs
    flow: DeviceFlow
    size: int  #: number of rows, and of columns
    epsilon: Signed
    cycles: int  #: most steps of each vertex
    threshold: Signed  #: arcs with a larger reduced cost are fixed
    filled: U32  #: number of columns that have a unit; above the number of columns: the solve is to stop
    counts: U64
    stop: ConstI64


class OnDevice:
    """Arcs and flow in GPU memory, and the kernels of one refine."""

    def __init__(
        self, device: Device, arcs: Arcs, flow: Flow, options: CudaLockFreeOptions, control: Control
    ) -> None:
        xp, size = device.xp, len(arcs.size)
        self.device, self.options, self.control = device, options, control
        self.arcs = arcs
        self.price_update: PriceUpdate | None = None
        self.threads = min(options.block_threads, device.block_threads)
        most = device.num_multiprocessors * (device.block_threads // self.threads)
        self.blocks = min(-(-2 * size // self.threads), most)
        self.arguments = Arguments(
            arcs=DeviceArcs(
                first=xp.asarray(arcs.first.astype(np.uint32)),
                size=xp.asarray(arcs.size.astype(np.uint32)),
                column=xp.asarray(arcs.column.copy()),
                cost=xp.asarray(arcs.cost.copy()),
            ),
            flow=DeviceFlow(**{name: xp.asarray(part.copy()) for name, part in flow._asdict().items()}),
            size=size,
            epsilon=0,
            cycles=options.cycles,
            threshold=0,
            filled=xp.zeros(1, dtype=np.uint32),
            counts=xp.zeros(COUNTS, dtype=np.uint64),
            stop=device.stop_word(control),
        )

    def launch(self, kernel: str) -> None:
        """Launch a kernel with one thread per vertex, as far as they fit the device."""
        self.device.launch(SOURCE, kernel, self.blocks, self.threads, self.arguments)

    def refine(self, epsilon: int, threshold: int) -> bool:
        """Make the flow epsilon-optimal, then fix arcs above the threshold unless it is 0; False if stopped.

        SolverError: the refine took MOST_KERNELS kernels.
        """
        self.arguments = self.arguments._replace(epsilon=epsilon, threshold=threshold)
        self.launch("start_refine")
        for kernel in range(MOST_KERNELS):
            self.launch("push_and_relabel")
            if int(self.device.to_host(self.arguments.filled)[0]) == self.arguments.size:
                if threshold > 0:
                    self.launch("fix_arcs")
                return True
            if self.control.stopped:
                return False
            if kernel < self.options.price_updates:
                self.update_prices(epsilon)
        raise SolverError(f"cuda-lockfree gave up after {MOST_KERNELS:,} kernels in one refine")

    def update_prices(self, epsilon: int) -> None:
        """Copy flow and prices to the host, update the prices, and copy them back."""
        flow = self.flow_on_host()
        if self.price_update is None:
            self.price_update = PriceUpdate(self.arcs)
        self.price_update.saturate(flow, epsilon)
        self.price_update.update(flow, epsilon)
        for name, part in self.arguments.flow._asdict().items():
            part[:] = self.device.xp.asarray(getattr(flow, name))
        self.arguments.filled[:] = int((flow.excess >= 0).sum())
        self.control.counts[GLOBAL_RELABELS] += 1

    def flow_on_host(self) -> Flow:
        """Return a copy of the flow and the prices on the host."""
        parts = self.arguments.flow._asdict().items()
        return Flow(**{name: self.device.to_host(part) for name, part in parts})


def cost_scaling(scaled: Scaled, options: CudaLockFreeOptions, control: Control) -> Flow | None:
    """Return an optimal flow; None if stopped."""
    device = runtime.find_device()
    size = len(scaled.arcs.size)
    with device.current():
        on_device = OnDevice(device, scaled.arcs, make_flow(size), options, control)
        found = refine_all(scaled.largest, size, options.alpha, options.arc_fixing, control, on_device.refine)
        counts = device.to_host(on_device.arguments.counts)
        control.counts[[PUSHES, RELABELS, ARC_SCANS]] += counts[
            [Count.PUSHES, Count.RELABELS, Count.ARC_SCANS]
        ]
        return on_device.flow_on_host() if found else None


def solve(
    costs: DenseCosts | SparseCosts, options: CudaLockFreeOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost, one matrix after the other.

    O(n**2 e min(log(n C), e log n)) operations for n columns, e arcs and integer costs up to C. Memory on the
    device: 12 bytes per arc. Floats are handled as in ``papers/lupinska/multicore_lockfree.py``.
    UnsuitableMethodError above 2**32 - 2 arcs, including those of rows added to make the matrix square.
    """

    def run(scaled: Scaled) -> Flow | None:
        return cost_scaling(scaled, options, control)

    return solve_items(costs, control, go_on, run)
