"""The hybrid of Wu, He and Hong as printed, simulated: algorithms 1, 2 and 4, one atomic step at a time.

In the root of the repository:

    python -m benchmarks.reproduce wu-he-hong algorithm-4 [--small] [--seeds N]

A seed is a batch of 1,000 random networks, of 250 with --small. The simulation has no times, and --repeats
changes nothing.

The threads of the kernel take turns at random on small random networks. Two readings of the print differ in
what becomes of a vertex that the search from the sink does not reach: Wu, He and Hong leave its height as it
is; Łupińska raises it to the number of vertices (gap). And both send only the heights back to the GPU
(algorithm 1, line 4), although algorithm 4 changes excess and residual capacities on the CPU; with `upload`
those go back, too.

The simulation corrects what no reading can mean: a push takes the residual capacity of its own arc, and the
excess of a vertex is subtracted from ExcessTotal once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from preflow import FlowNetwork, max_flow

from ..problem import Table
from .means import Mean
from .programs import Record, read_settings

#: Networks of a batch.
BATCH, SMALL_BATCH = 1000, 250
#: What is counted: outcomes of runs, then vertices. See `Hybrid.counts`.
COUNTED = ("right", "wrong", "no end", "steep", "too much", "negative")
#: The search ends a run after this many rounds that change nothing, or this many in all.
STANDSTILL, MOST_ROUNDS = 20, 400


class Rules(NamedTuple):
    """The reading of the print.

    Attributes
    ----------
    gap : bool
        Whether vertices that the search does not reach get the number of vertices as their height.
    upload : bool
        Whether the changes of algorithm 4 go back to the GPU.
    """

    gap: bool
    upload: bool


#: All readings.
RULES = tuple(Rules(gap, upload) for gap in (False, True) for upload in (False, True))


class Network(NamedTuple):
    """A network with source 0 and sink n - 1."""

    num_vertices: int
    capacity: Mapping[tuple[int, int], int]

    @classmethod
    def drawn(cls, rng: random.Random) -> Network:
        """Return a random network of four to seven vertices."""
        n = rng.randint(4, 7)
        pairs = [(u, v) for u in range(n - 1) for v in range(1, n) if u != v]
        return cls(n, {pair: rng.randint(1, 5) for pair in pairs if rng.random() < 0.5})

    def max_flow(self) -> int:
        """Return the value of a maximum flow."""
        tails, heads = ([pair[k] for pair in self.capacity] for k in (0, 1))
        network = FlowNetwork.from_arrays(
            tails, heads, list(self.capacity.values()), num_vertices=self.num_vertices
        )
        return int(max_flow(network, 0, self.num_vertices - 1, method="serial-generic").value)


@dataclass
class Hybrid:
    """A run: residual capacities, excess and heights, as the GPU has them.

    Attributes
    ----------
    network : Network
    rules : Rules
    cycles : int
        KERNEL_CYCLES: steps of each vertex in a kernel.
    rng : Random
        Chooses the thread of each atomic step.
    counts : Counter
        "steep": vertices with steep arcs when a kernel has ended; "too much": those whose steep arcs have
        more residual capacity than the vertex has excess; "negative": vertices whose excess becomes negative.
    """

    network: Network
    rules: Rules
    cycles: int
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        n = self.network.num_vertices
        self.residual = dict(self.network.capacity)
        for u, v in self.network.capacity:
            self.residual.setdefault((v, u), 0)
        self.heads = [[v for v in range(n) if (u, v) in self.residual] for u in range(n)]
        self.excess, self.height = [0] * n, [0] * n
        self.height[0] = n
        self.marked: set[int] = set()
        for v in self.heads[0]:
            self.excess[v] = self.residual[0, v]
            self.residual[v, 0] += self.residual[0, v]
            self.residual[0, v] = 0
        self.total = sum(self.excess)

    @property
    def inner(self) -> range:
        """The vertices between source and sink."""
        return range(1, self.network.num_vertices - 1)

    def step(self, u: int) -> Iterator[None]:
        """Take a step of algorithm 2; other threads may run at each yield."""
        if self.excess[u] <= 0 or self.height[u] >= self.network.num_vertices:
            return
        yield
        excess = self.excess[u]
        yield
        lowest, least = -1, 2 * self.network.num_vertices + 1
        for v in self.heads[u]:
            if self.residual[u, v] > 0 and self.height[v] < least:
                lowest, least = v, self.height[v]
            yield
        if lowest >= 0 and self.height[u] > least:
            amount = min(excess, self.residual[u, lowest])
            yield
            self.residual[lowest, u] += amount
            yield
            self.residual[u, lowest] -= amount
            yield
            self.excess[lowest] += amount
            yield
            self.excess[u] -= amount
        elif lowest >= 0:
            self.height[u] = least + 1

    def thread(self, u: int) -> Iterator[None]:
        """Take the steps of a vertex in one kernel."""
        for _ in range(self.cycles):
            yield from self.step(u)

    def kernel(self) -> None:
        """Run the threads of all vertices, in turns at random."""
        running = [self.thread(u) for u in self.inner]
        while running:
            thread = self.rng.choice(running)
            if next(thread, running) is running:
                running.remove(thread)

    def relabel(self) -> None:
        """Run algorithm 4 on the CPU's copy, and send the heights to the GPU."""
        residual, excess, n = dict(self.residual), list(self.excess), self.network.num_vertices
        steep = {arc for arc, room in residual.items() if room > 0 and self._is_steep(*arc)}
        for u in self.inner:
            amount = sum(residual[arc] for arc in steep if arc[0] == u)
            self.counts["steep"] += amount > 0
            self.counts["too much"] += amount > excess[u]
        for u, v in sorted(steep):
            amount, residual[u, v] = residual[u, v], 0
            residual[v, u] += amount
            excess[u] -= amount
            excess[v] += amount
        self.counts["negative"] += sum(excess[u] < 0 for u in self.inner)
        found = [n - 1]
        level = {n - 1: 0}
        for v in found:
            for u in self.heads[v]:
                if residual[u, v] > 0 and u not in level and u > 0:
                    level[u] = level[v] + 1
                    found.append(u)
        for u in self.inner:
            if u in level:
                self.height[u] = level[u]
                continue
            if u not in self.marked:
                self.marked.add(u)
                self.total -= excess[u]
            if self.rules.gap:
                self.height[u] = n
        if self.rules.upload:
            self.residual, self.excess = residual, excess

    def _is_steep(self, u: int, v: int) -> bool:
        return self.height[u] > self.height[v] + 1

    def run(self) -> str:
        """Run algorithm 1; return "right", "wrong", or "no end"."""
        before, same = None, 0
        for _ in range(MOST_ROUNDS):
            if self.excess[0] + self.excess[-1] >= self.total:
                return "right" if self.excess[-1] == self.network.max_flow() else "wrong"
            self.kernel()
            self.relabel()
            now = (dict(self.residual), list(self.excess), list(self.height), self.total)
            same = same + 1 if now == before else 0
            before = now
            if same == STANDSTILL:
                break
        return "no end"


def simulate(rules: Rules, seed: int) -> tuple[str, Counter[str]]:
    """Return the outcome and the counts of a run on a random network."""
    rng = random.Random(seed)
    hybrid = Hybrid(Network.drawn(rng), rules, rng.randint(1, 6), rng)
    return hybrid.run(), hybrid.counts


def simulate_batch(rules: Rules, networks: Iterable[int]) -> Counter[str]:
    """Return the outcomes and the counts of some runs, whose seeds are the numbers of the networks."""
    found: Counter[str] = Counter()
    for seed in networks:
        outcome, counts = simulate(rules, seed)
        found[outcome] += 1
        found += counts
    return found


def show(arguments: Sequence[str]) -> None:
    """Simulate all readings of the print, and show the outcomes: a part of the paper."""
    settings = read_settings("algorithm-4", arguments, seeds=4, repeats=1)
    size = SMALL_BATCH if settings.small else BATCH
    record = Record(settings, ("gap", "upload", "networks", "seed"))
    for seed in range(settings.seeds):
        for rules in RULES:
            if record.lacks(*rules, size, seed):
                found = simulate_batch(rules, range(seed * size, (seed + 1) * size))
                counts = {name: found[name] for name in COUNTED}
                record.add({**rules._asdict(), "networks": size, "seed": seed, **counts})
    rows = []
    for rules in RULES:
        batches = [
            row for row in record.rows if (row["gap"], row["upload"], row["networks"]) == (*rules, size)
        ]
        columns = [[int(row[name]) for row in batches] for name in COUNTED]
        if batches:
            endless = Mean.of([100 * int(row["no end"]) / size for row in batches])
            rows.append(
                [
                    "get the height n (Łupińska)" if rules.gap else "keep their heights (Wu, He and Hong)",
                    "heights, excess, residual capacities" if rules.upload else "heights, as printed",
                    f"{size * len(batches):,}",
                    *(f"{sum(column):,}" for column in columns),
                    endless.text(".2f"),
                ]
            )
    header = [
        "unreached vertices",
        "sent back to the GPU",
        "runs",
        *COUNTED,
        "no end, % (means over the batches)",
    ]
    record.show(
        Table(
            "Runs of algorithms 1, 2 and 4 by outcome, and vertices with steep arcs, of these with more room "
            "than excess, and whose excess becomes negative. The paper has no such numbers",
            header,
            rows,
        )
    )
