"""Cost scaling on the arrays of a GPU: refine a flow for one epsilon, and find exact potentials.

The package :mod:`preflow.mincost.cuda_cost_scaling` describes the algorithm. Minimum-cost flow and transport
both use this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...errors import SolverError
from ...solving.options import check_alpha, check_positive_integer
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PHASES, PUSHES, RELABELS

SOURCE = Path(__file__).with_name("refine.cu")
#: Places of ``Report`` in refine.cu, and endings of a launch.
WORDS = 5
ENDING, NUM_PUSHES, NUM_RELABELS, NUM_SCANS, NUM_UPDATES = range(WORDS)
OVER, OPTIMAL, INFEASIBLE, STOPPED, UNPROVED = range(5)
#: Three groups of ``SUMS`` numbers, and their copy in the shared memory of a block.
SUM_WORDS = 3 * 16
SHARED_BYTES = 128
#: Threads of a vertex, as in refine.cu.
LANES = 8
#: The first limit of the distances of a search, which doubles. It is at least FIRST_REACH, and at least the
#: farthest distance of the last search divided by CARRY. On an H200, solves of NETGEN-8 and GOTO-8 with about
#: a million arcs took 224 and 121 ms with FIRST_REACH alone, 180 and 113 with a CARRY of 2, 172 and 111 with
#: 4, 193 and 117 with 16.
FIRST_REACH, CARRY = 8, 4
#: Most rounds of a search. It has a few for each vertex of a path, so this ends only searches that meet a
#: cycle of negative length.
MOST_ROUNDS = 2**22
#: Price updates of one launch, and more launches than any refine needs.
UPDATES_A_LAUNCH, MOST_LAUNCHES = 200, 2_000


class Network(NamedTuple):
    """The struct ``Network`` of refine.cu."""

    first: AnyArray
    head: AnyArray
    mate: AnyArray
    cost: AnyArray
    residual: AnyArray
    length: AnyArray


class Vertices(NamedTuple):
    """The struct ``Vertices`` of refine.cu."""

    price: AnyArray
    excess: AnyArray
    distance: AnyArray
    changed: AnyArray


class Arguments(NamedTuple):
    """The struct ``Arguments`` of refine.cu."""

    net: Network
    vertices: Vertices
    num_vertices: int
    epsilon: int
    pushing: int
    searching: int
    percent: int
    reach: int
    carry: int
    updates: int
    exact: int
    rounds: int
    arrivals: AnyArray
    sums: AnyArray
    words: AnyArray
    stop: AnyArray


class Tuning(NamedTuple):
    """The time between barriers."""

    pushing: int  #: nanoseconds of pushes and relabels between two barriers
    searching: int  #: the most nanoseconds of relaxations between two barriers of a search
    percent: int = 25  #: the time of pushes and relabels after a price update, of that of the update


def check_options(alpha: float, pushing: int, searching: int) -> None:
    """Raise unless options are valid."""
    check_alpha(alpha)
    for name, value in (("pushing", pushing), ("searching", searching)):
        check_positive_integer(name, value)


class Engine:
    """A residual network with a flow and prices in the memory of a GPU, where all arrays are.

    The costs are already multiplied, so that an epsilon of 1 is enough. `price` is changed in place.
    """

    def __init__(
        self,
        device: Device,
        tail: AnyArray,
        head: AnyArray,
        cost: AnyArray,
        capacity: AnyArray,
        flow: AnyArray,
        supply: AnyArray,
        price: AnyArray,
        tuning: Tuning,
        control: Control,
    ) -> None:
        xp, n, m = device.xp, len(supply), len(tail)
        self.device, self.control, self.capacity = device, control, capacity
        order = device.argsort(xp.concatenate([tail, head]))
        place = xp.empty(2 * m, dtype=np.uint32)
        place[order] = xp.arange(2 * m, dtype=np.uint32)
        first = xp.zeros(n + 1, dtype=np.uint32)
        first[1:] = xp.cumsum(xp.bincount(tail, minlength=n) + xp.bincount(head, minlength=n))
        self.place = place[:m]
        opposite = xp.where(order < m, order + m, order - m)
        net = Network(
            first,
            xp.concatenate([head, tail])[order],
            place[opposite],
            xp.concatenate([cost, -cost])[order],
            xp.concatenate([capacity - flow, flow])[order],
            xp.empty(2 * m, dtype=np.int64),
        )
        vertices = Vertices(
            price,
            supply.copy(),
            xp.zeros(n, dtype=np.int64),
            xp.zeros(n, dtype=np.uint32),
        )
        subtract_at(xp, vertices.excess, tail, flow)
        subtract_at(xp, vertices.excess, head, -flow)
        self.arguments = Arguments(
            net, vertices, n, 1, *tuning, FIRST_REACH, CARRY, UPDATES_A_LAUNCH, 0, MOST_ROUNDS,
            xp.zeros(2, dtype=np.uint32),
            xp.zeros(SUM_WORDS, dtype=np.uint64),
            xp.zeros(WORDS, dtype=np.uint64),
            device.stop_word(control),
        )  # fmt: skip

    @property
    def price(self) -> AnyArray:
        """The prices of the vertices."""
        return self.arguments.vertices.price

    def flow(self) -> AnyArray:
        """Return the flow of each arc."""
        return self.capacity - self.arguments.net.residual[self.place]

    def refine(self, epsilon: int, updates: int | None = None) -> int:
        """Make the flow feasible and epsilon-optimal; return OPTIMAL, INFEASIBLE or STOPPED.

        With a number of `updates` it gives up after as many price updates, and returns OVER. The flow then is
        between zero and the capacities, but vertices may have excess. SolverError: the refine took
        MOST_LAUNCHES launches, or a search MOST_ROUNDS rounds.
        """
        arguments = self.arguments._replace(epsilon=epsilon)
        if updates is None:
            ending = self._run(arguments)
        else:
            ending = self._launched(arguments._replace(updates=updates))
        if ending == UNPROVED:
            raise SolverError(f"a search of cost scaling gave up after {arguments.rounds:,} rounds")
        self.control.counts[PHASES] += 1
        return ending

    def exact_prices(self, price: AnyArray, cost: AnyArray, rounds: int = MOST_ROUNDS) -> int:
        """Raise prices until no residual arc has negative reduced cost; return OPTIMAL, STOPPED or UNPROVED.

        `price` is changed in place; `cost` is that of the arcs, not multiplied. With fewer `rounds` of the
        search than needed some reduced costs stay negative: UNPROVED.
        """
        xp, net = self.device.xp, self.arguments.net
        costs = xp.empty(len(net.head), dtype=np.int64)
        costs[self.place] = cost
        costs[net.mate[self.place]] = -cost
        return self._run(
            self.arguments._replace(
                net=net._replace(cost=costs),
                vertices=self.arguments.vertices._replace(price=price),
                exact=1,
                rounds=rounds,
            )
        )

    def _run(self, arguments: Arguments) -> int:
        for _ in range(MOST_LAUNCHES):
            ending = self._launched(arguments)
            if ending != OVER:
                return ending
        raise SolverError(f"cost scaling gave up after {MOST_LAUNCHES:,} launches of one refine")

    def _launched(self, arguments: Arguments) -> int:
        """Launch the kernel once; return how it ended."""
        device, counts = self.device, self.control.counts
        if self.control.stopped:
            return STOPPED
        arguments.arrivals[:] = 0
        arguments.sums[:] = 0
        arguments.words[:] = 0
        threads = device.block_threads
        blocks = min(device.num_multiprocessors, -(-LANES * arguments.num_vertices // threads))
        device.launch(
            SOURCE, "refine_slice", max(1, blocks), threads, arguments,
            shared_bytes=SHARED_BYTES, cooperative=True,
        )  # fmt: skip
        words = device.to_host(arguments.words)
        counts[[PUSHES, RELABELS, ARC_SCANS, GLOBAL_RELABELS]] += words[
            [NUM_PUSHES, NUM_RELABELS, NUM_SCANS, NUM_UPDATES]
        ]
        return int(words[ENDING])


def subtract_at(xp: AnyArray, values: AnyArray, places: AnyArray, amounts: AnyArray) -> None:
    """Subtract amounts from the values at places that may repeat; exact for int64."""
    if xp is np:
        np.subtract.at(values, places, amounts)
    else:
        # Two's complement: adding 2**64 - amount to a uint64 subtracts the amount.
        xp.add.at(values.view(np.uint64), places, (-amounts).view(np.uint64))
