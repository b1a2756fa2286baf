"""Cost scaling on the arrays of a GPU: refine a flow for one epsilon, and find exact potentials.

:mod:`..cuda_cost_scaling` describes the algorithm. Minimum-cost flow and transport both use this module.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...cuda.structs import I64, U32, U64, ConstI64, ConstU32, Signed
from ...errors import SolverError
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PHASES, PUSHES, RELABELS

SOURCE = Path(__file__).with_name("refine.cu")
#: What the kernel reports.
Word = IntEnum("Word", "ENDING PUSHES RELABELS ARC_SCANS UPDATES", start=0)
#: How a launch ends. OVER: it used up its updates. UNPROVED: a search used up its rounds.
Ending = IntEnum("Ending", "OVER OPTIMAL INFEASIBLE STOPPED UNPROVED", start=0)
#: Numbers that threads add up between two barriers.
SUMS = 16
#: Threads of a vertex.
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
    """Residual arcs by tail, both directions of every arc."""

    first: ConstU32  #: the arcs that leave vertex v are first[v] .. first[v + 1] - 1
    head: ConstU32
    mate: ConstU32  #: the opposite direction
    cost: ConstI64
    residual: I64
    length: I64  #: during a search, the length of the mate; NEVER if the mate is no residual arc


class Vertices(NamedTuple):
    """Prices and excess of vertices, and what a search knows of them."""

    price: I64
    excess: I64
    distance: I64
    changed: U32  #: the distance fell since the vertex was last relaxed


class Tuning(NamedTuple):
    """The time between barriers."""

    pushing: int  #: nanoseconds of pushes and relabels between two barriers
    searching: int  #: the most nanoseconds of relaxations between two barriers of a search
    percent: int = 25  #: the time of pushes and relabels after a price update, of that of the update


class Arguments(NamedTuple):
    """Arguments of "refine_slice"."""

    net: Network
    vertices: Vertices
    num_vertices: int
    epsilon: Signed
    tuning: Tuning
    reach: int  #: the least first limit of the distances of a search
    carry: int  #: the first limit is at least the farthest distance of the last search, divided by this
    updates: int  #: most price updates of a launch
    exact: bool  #: only find potentials for which no residual arc has negative reduced cost
    rounds: int  #: most rounds of a search
    arrivals: U32  #: of GridTeam
    sums: U64  #: three groups of SUMS numbers, zero before the launch
    words: U64  #: a number for each `Word`
    stop: ConstI64


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
            first=first,
            head=xp.concatenate([head, tail])[order],
            mate=place[opposite],
            cost=xp.concatenate([cost, -cost])[order],
            residual=xp.concatenate([capacity - flow, flow])[order],
            length=xp.empty(2 * m, dtype=np.int64),
        )
        vertices = Vertices(
            price=price,
            excess=supply.copy(),
            distance=xp.zeros(n, dtype=np.int64),
            changed=xp.zeros(n, dtype=np.uint32),
        )
        subtract_at(xp, vertices.excess, tail, flow)
        subtract_at(xp, vertices.excess, head, -flow)
        self.arguments = Arguments(
            net=net, vertices=vertices, num_vertices=n, epsilon=1, tuning=tuning,
            reach=FIRST_REACH, carry=CARRY, updates=UPDATES_A_LAUNCH, exact=False, rounds=MOST_ROUNDS,
            arrivals=xp.zeros(2, dtype=np.uint32),
            sums=xp.zeros(3 * SUMS, dtype=np.uint64),
            words=xp.zeros(len(Word), dtype=np.uint64),
            stop=device.stop_word(control),
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
        if ending == Ending.UNPROVED:
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
                exact=True,
                rounds=rounds,
            )
        )

    def _run(self, arguments: Arguments) -> int:
        for _ in range(MOST_LAUNCHES):
            ending = self._launched(arguments)
            if ending != Ending.OVER:
                return ending
        raise SolverError(f"cost scaling gave up after {MOST_LAUNCHES:,} launches of one refine")

    def _launched(self, arguments: Arguments) -> int:
        """Launch the kernel once; return how it ended."""
        device, counts = self.device, self.control.counts
        if self.control.stopped:
            return Ending.STOPPED
        arguments.arrivals[:] = 0
        arguments.sums[:] = 0
        arguments.words[:] = 0
        threads = device.block_threads
        blocks = min(device.num_multiprocessors, -(-LANES * arguments.num_vertices // threads))
        device.launch(
            SOURCE, "refine_slice", max(1, blocks), threads, arguments,
            shared_bytes=8 * SUMS, cooperative=True,
        )  # fmt: skip
        words = device.to_host(arguments.words)
        counts[[PUSHES, RELABELS, ARC_SCANS, GLOBAL_RELABELS]] += words[
            [Word.PUSHES, Word.RELABELS, Word.ARC_SCANS, Word.UPDATES]
        ]
        return int(words[Word.ENDING])


def subtract_at(xp: AnyArray, values: AnyArray, places: AnyArray, amounts: AnyArray) -> None:
    """Subtract amounts from the values at places that may repeat; exact for int64."""
    if xp is np:
        np.subtract.at(values, places, amounts)
    else:
        # Two's complement: adding 2**64 - amount to a uint64 subtracts the amount.
        xp.add.at(values.view(np.uint64), places, (-amounts).view(np.uint64))
