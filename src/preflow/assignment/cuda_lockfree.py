"""Lock-free cost scaling on a GPU, one thread a vertex.

Łupińska, section 5.5: Algorithm 5.4 in the refine of Algorithm 5.2, with alpha 10. A kernel takes up to
CYCLE steps of every vertex (500,000), in blocks of 32 x 16 threads, and ends before if every column has a
unit and no more, or the solve is to stop. Where it does not get that far, prices and flow go to the host,
which updates prices by Algorithm 5.3 after the first kernel of the refine, and the kernel runs again. Why
no interleaving does harm is said in :mod:`.multicore_lockfree`, whose steps these are.

Departures: a relabel and the push that it allows are one step. Arcs are fixed only when a refine is complete:
in the middle, where the paper's implementation may do it, it is unsafe. Before a price update, units that
came to columns just relabelled are sent back, and the update is corrected as :mod:`.push_relabel` says.
Where not all pairs are allowed, a matching on the host comes first, since an infeasible refine never ends;
prices that prove the assignment are found on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..cuda import runtime
from ..cuda.runtime import Device
from ..errors import SolverError
from ..graph.costs import DenseCosts, SparseCosts
from ..solving.options import check_alpha, check_count, check_flag, check_positive_integer
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS
from .lockfree_scaling import (
    COLUMN,
    NOWHERE,
    Arcs,
    Flow,
    Scaled,
    make_flow,
    refine_all,
    solve_items,
)
from .push_relabel import Network, Step, make_network, update_prices
from .solution import Solution

SOURCE = Path(__file__).with_suffix(".cu")
COUNTS = 3
#: More kernels than any refine needs.
MOST_KERNELS = 100_000


@dataclass(frozen=True)
class CudaLockFreeOptions:
    """Options of lock-free cost scaling on a GPU.

    Attributes
    ----------
    alpha : float
        By what epsilon is divided before each refine.
    cycles : int
        Steps of each vertex in one kernel, at most: CYCLE.
    block_threads : int
        Threads of a block, the paper's 32 x 16; no more than the device takes.
    arc_fixing : bool
        Leave out arcs whose flow can never change again.
    price_updates : int
        In how many kernels of a refine, the first ones, an interruption leads to a price update.
    """

    alpha: float = 10.0
    cycles: int = 500_000
    block_threads: int = 512
    arc_fixing: bool = True
    price_updates: int = 1

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_positive_integer("cycles", self.cycles)
        check_positive_integer("block_threads", self.block_threads)
        check_flag("arc_fixing", self.arc_fixing)
        check_count("price_updates", self.price_updates)


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    arcs: Arcs
    flow: Flow
    size: int
    epsilon: int
    cycles: int
    threshold: int
    filled: Any
    counts: Any
    stop: Any


class PriceUpdate:
    """Arcs as they were before any was fixed: more of them do no harm to an update."""

    def __init__(self, arcs: Arcs) -> None:
        size = len(arcs.size)
        costs = SparseCosts(arcs.first, arcs.column.copy(), arcs.cost.copy(), size)
        self.keys = costs.row * size + costs.column
        self.cost = costs.values
        self.network: Network = make_network(costs, 0, 1, np.int64, np.zeros(1, np.int64))

    def used(self, flow: Flow) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the rows whose units are at columns, these columns, and the places of the arcs."""
        rows = np.flatnonzero(flow.at != NOWHERE)
        columns = (flow.at[rows] & COLUMN).astype(np.int64)
        return rows, columns, np.searchsorted(self.keys, rows * len(flow.at) + columns)

    def saturate(self, flow: Flow, epsilon: int) -> int:
        """Send units back whose arcs spoil epsilon-optimality; return how many."""
        rows, columns, places = self.used(flow)
        back = flow.column_price[columns] - flow.row_price[rows] - self.cost[places]
        spoiling = back < -epsilon
        flow.at[rows[spoiling]] = NOWHERE
        np.subtract.at(flow.excess, columns[spoiling], 1)
        return int(spoiling.sum())

    def update(self, flow: Flow, epsilon: int) -> None:
        """Lower the prices of an epsilon-optimal flow by distances to columns without a unit."""
        network, size = self.network, len(flow.at)
        _, _, places = self.used(flow)
        network.residual[:] = network.forward
        network.residual[places] = 0  # arcs of rows come first, in their order
        network.residual[network.reverse[places]] = 1
        network.excess[:size] = flow.at == NOWHERE
        network.excess[size:] = flow.excess
        network.price[:size], network.price[size:] = flow.row_price, flow.column_price
        update_prices(
            network,
            Step(
                delta=np.int64(epsilon),
                offset=np.int64(0),
                floor=np.int64(-(2**62)),
                rows=np.uint64(size),
                columns=np.uint64(size),
                keep_flow=True,
                newest_first=False,
                updates=True,
            ),
        )
        flow.row_price[:], flow.column_price[:] = network.price[:size], network.price[size:]


class OnDevice:
    """Arcs and a flow on a GPU, and what refines it there."""

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
            Arcs(
                xp.asarray(arcs.first.astype(np.uint32)),
                xp.asarray(arcs.size.astype(np.uint32)),
                xp.asarray(arcs.column.copy()),
                xp.asarray(arcs.cost.copy()),
            ),
            Flow(*(xp.asarray(part.copy()) for part in flow)),
            size,
            0,
            options.cycles,
            0,
            xp.zeros(1, dtype=np.uint32),
            xp.zeros(COUNTS, dtype=np.uint64),
            device.stop_word(control),
        )

    def launch(self, kernel: str) -> None:
        """Start a kernel with a thread for every vertex."""
        self.device.launch(SOURCE, kernel, self.blocks, self.threads, self.arguments)

    def refine(self, epsilon: int, threshold: int) -> bool:
        """Make the flow epsilon-optimal and fix arcs beyond a threshold; False if stopped.

        Raises
        ------
        SolverError
            That took more kernels than any refine needs.
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
        """Take the flow and the prices to the host, lower prices there, and take them back."""
        flow = self.flow_on_host()
        if self.price_update is None:
            self.price_update = PriceUpdate(self.arcs)
        self.price_update.saturate(flow, epsilon)
        self.price_update.update(flow, epsilon)
        for part, updated in zip(self.arguments.flow, flow, strict=True):
            part[:] = self.device.xp.asarray(updated)
        self.arguments.filled[:] = int((flow.excess >= 0).sum())
        self.control.counts[GLOBAL_RELABELS] += 1

    def flow_on_host(self) -> Flow:
        """Return a copy of the flow and the prices on the host."""
        return Flow(*(self.device.to_host(part) for part in self.arguments.flow))


def cost_scaling(scaled: Scaled, options: CudaLockFreeOptions, control: Control) -> Flow | None:
    """Return an optimal flow; None if stopped."""
    device = runtime.find_device()
    size = len(scaled.arcs.size)
    with device.current():
        on_device = OnDevice(device, scaled.arcs, make_flow(size), options, control)
        found = refine_all(scaled.largest, size, options.alpha, options.arc_fixing, control, on_device.refine)
        counts = device.to_host(on_device.arguments.counts)
        control.counts[[PUSHES, RELABELS, ARC_SCANS]] += counts
        return on_device.flow_on_host() if found else None


def solve(
    costs: DenseCosts | SparseCosts, options: CudaLockFreeOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost, one matrix after the other.

    Parameters
    ----------
    costs : DenseCosts or SparseCosts
        To minimise, with at least as many columns as rows.
    options : CudaLockFreeOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Raises
    ------
    UnsuitableMethodError
        There are 2**32 - 2 arcs or more, with those of rows added to make a square.
    SolverError
        A refine took 100,000 kernels.

    Notes
    -----
    O(n**2 e min(log(n C), e log n)) operations for n columns, e arcs and integer costs up to C; 12 bytes an
    arc on the device. Floats as :func:`.multicore_lockfree.solve` has them.
    """

    def run(scaled: Scaled) -> Flow | None:
        return cost_scaling(scaled, options, control)

    return solve_items(costs, control, go_on, run)
