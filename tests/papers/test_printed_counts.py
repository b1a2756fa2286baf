"""The printed algorithms, written down line by line: the methods make as many pushes and relabels."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import preflow
from preflow.assignment import push_relabel
from preflow.graph.cost_input import as_costs
from preflow.graph.costs import SparseCosts
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.maxflow.problem import METHODS
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from preflow.stats import GLOBAL_RELABELS, PUSHES, RELABELS


def random_residual(rng: np.random.Generator) -> ResidualArrays:
    n = int(rng.integers(4, 12))
    m = int(rng.integers(n, 4 * n))
    tail, head, capacity = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 9, m)
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
    return build_residual(network, np.array([0]), np.array([n - 1])).arrays


class Printed:
    """A residual network as the papers have it; the sink is vertex n, the first neighbour of all."""

    def __init__(self, net: ResidualArrays) -> None:
        self.n = n = len(net.excess)
        self.excess = [*net.excess.tolist(), 0]
        self.height = [0] * (n + 1)
        self.residual: dict[tuple[int, int], int] = {}
        self.neighbours: list[list[int]] = [[] for _ in range(n + 1)]
        for v in range(n):
            if net.sink_residual[v] > 0:
                self.neighbours[v].append(n)
                self.neighbours[n].append(v)
                self.residual[v, n], self.residual[n, v] = int(net.sink_residual[v]), 0
            for a in range(int(net.first_out[v]), int(net.first_out[v + 1])):
                self.neighbours[v].append(int(net.head[a]))
                self.residual[v, int(net.head[a])] = int(net.residual[a])
        self.pushes = self.relabels = self.global_relabels = 0

    def is_active(self, v: int) -> bool:
        return v < self.n and self.excess[v] > 0 and self.height[v] <= self.n

    def push(self, v: int, w: int) -> int:
        amount = min(self.excess[v], self.residual[v, w])
        self.residual[v, w] -= amount
        self.residual[w, v] += amount
        self.excess[v] -= amount
        self.excess[w] += amount
        self.pushes += 1
        return amount

    def is_admissible(self, v: int, w: int) -> bool:
        return self.residual[v, w] > 0 and self.height[w] == self.height[v] - 1

    def new_label(self, v: int) -> int:
        """Return the label of a relabel; the way back to the source leads to height n."""
        self.relabels += 1
        residual = (self.height[w] for w in self.neighbours[v] if self.residual[v, w] > 0)
        return min(min(residual, default=self.n), self.n) + 1

    def relabel_globally(self) -> list[int]:
        """Figures 4.3 and 4.4 of Cihan's thesis; return the vertices in the order in which they are found."""
        self.height = [self.n + 1] * self.n + [0]
        found = [self.n]
        for v in found:
            for w in self.neighbours[v]:
                if w < self.n and self.residual[w, v] > 0 and self.height[w] > self.n:
                    self.height[w] = self.height[v] + 1
                    found.append(w)
        self.global_relabels += 1
        return found[1:]

    def solve_as_cihan(self, limit: float) -> None:
        """Figures 4.9 to 4.11, with one thread; the first step is a global relabel."""
        counter, queue = limit, deque[int]()
        while True:
            if counter >= limit or not queue:
                queue, counter = deque(filter(self.is_active, self.relabel_globally())), 0
                if not queue:
                    return
            v = queue.popleft()
            while self.height[v] <= self.n:
                for w in self.neighbours[v]:
                    if self.excess[v] > 0 and self.is_admissible(v, w):
                        if self.excess[w] == 0 and self.height[w] > 0:
                            queue.append(w)
                        self.push(v, w)
                if self.excess[v] == 0:
                    break
                self.height[v] = self.new_label(v)
                counter += 1

    def solve_by_pulses(self) -> None:
        """Pulses of three stages, as chapter 3 has them, between global relabels."""
        while any(map(self.is_active, self.relabel_globally())):
            while active := [v for v in range(self.n) if self.is_active(v)]:
                gained = [0] * (self.n + 1)
                for v in active:
                    for w in self.neighbours[v]:
                        if self.excess[v] > 0 and self.is_admissible(v, w):
                            amount = self.push(v, w)
                            self.excess[w] -= amount
                            gained[w] += amount
                labels = {v: self.new_label(v) for v in active if self.excess[v] > 0}
                for v, label in labels.items():
                    self.height[v] = label
                self.excess = [one + more for one, more in zip(self.excess, gained, strict=True)]


def counts(net: ResidualArrays, name: str, options: dict[str, Any]) -> tuple[int, ...]:
    method, control = find_method(METHODS, name), Control()
    method.solve(ResidualArrays(*(array.copy() for array in net)), method.make_options(options), control)
    return tuple(int(control.counts[k]) for k in (PUSHES, RELABELS, GLOBAL_RELABELS))


@pytest.mark.parametrize("period", [0.5, 1.0, 1e300])
def test_cihan_on_one_thread(period: float) -> None:
    for seed in range(150):
        net = random_residual(np.random.default_rng(seed))
        printed = Printed(net)
        printed.solve_as_cihan(max(1, math.floor(period * printed.n)) if period < 2 else math.inf)
        expected = (printed.pushes, printed.relabels, printed.global_relabels)
        assert counts(net, "Cihan", {"relabel_period": period}) == expected, seed


def test_pulses() -> None:
    for seed in range(150):
        net = random_residual(np.random.default_rng(seed))
        printed = Printed(net)
        printed.solve_by_pulses()
        expected = (printed.pushes, printed.relabels, printed.global_relabels)
        assert counts(net, "pulses", {"relabel_period": None}) == expected, seed


def pushes_of_algorithm_1(allowed: np.ndarray[Any, Any], k: float) -> tuple[int, int]:
    """Return size and pushes of algorithm 1 of Deveci et al., with algorithm 2 first and every k (m + n).

    Two departures are ours: it ends once no row is free, and dead rows have the label 2 (m + 1), not m + n.
    """
    m, n = allowed.shape
    dead = 2 * (m + 1)
    row_match, column_match = [-1] * m, [-1] * n
    active = deque(v for v in range(n) if allowed[:, v].any())
    pushes, next_relabel = 0, 0
    label: dict[int, int] = {}
    while active and -1 in row_match:
        if pushes == next_relabel:
            next_relabel = pushes + max(1, int(k * (m + n)))
            label = {u: 0 if row_match[u] < 0 else dead for u in range(m)}
            found = [u for u in range(m) if row_match[u] < 0]
            reached: set[int] = set()
            for u in found:
                for v in np.flatnonzero(allowed[u]).tolist():
                    if v not in reached and column_match[v] >= 0:
                        label[column_match[v]] = label[u] + 2
                        found.append(column_match[v])
                    reached.add(v)
        v = active.popleft()
        u = min(np.flatnonzero(allowed[:, v]).tolist(), key=lambda row: label[row])
        if label[u] >= dead:
            continue
        if row_match[u] >= 0:
            column_match[row_match[u]] = -1
            active.append(row_match[u])
        row_match[u], column_match[v] = v, u
        label[u] += 2
        pushes += 1
    return m - row_match.count(-1), pushes


@pytest.mark.parametrize("k", [0.5, 1e6])
def test_pr(k: float) -> None:
    for seed in range(150):
        rng = np.random.default_rng(seed)
        allowed = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 9)))) < rng.uniform(0.1, 0.6)
        found = preflow.bipartite_matching(
            scipy.sparse.csr_array(allowed.astype(np.int8)),
            method="PR",
            initial="none",
            options={"relabel_period": k},
        )
        assert (found.cardinality, found.stats.pushes) == pushes_of_algorithm_1(allowed, k), seed


def refine_as_printed(form: str, cost: list[list[int]], price: list[int], epsilon: int) -> tuple[int, int]:
    """Return the pushes and relabels of a refine by algorithm 5.0, 5.1 or 5.2 of Łupińska, from no flow.

    `price` of rows and then of columns is changed in place. The oldest active vertex comes first. In 5.0 all
    residual arcs of negative reduced cost are saturated; these are arcs of the graph, since there is no flow.
    """
    n = len(cost)
    flow: set[tuple[int, int]] = set()

    def arcs(v: int) -> list[tuple[int, int]]:
        """Return the heads and costs of the residual arcs of a vertex."""
        if v < n:
            return [(n + y, cost[v][y]) for y in range(n) if (v, y) not in flow]
        return [(x, -cost[x][v - n]) for x in range(n) if (x, v - n) in flow]

    def is_admissible(v: int, w: int, c: int) -> bool:
        bound = 0.0 if form != "5.1" else 0.5 * epsilon if v < n else -0.5 * epsilon
        return c + price[v] - price[w] < bound

    def send(v: int, w: int) -> None:
        if v < n:
            flow.add((v, w - n))
        else:
            flow.remove((w, v - n))
        excess[v] -= 1
        excess[w] += 1

    excess = [1] * n + [-1] * n
    for x in range(n):
        if form == "5.0":
            for w, c in arcs(x):
                if is_admissible(x, w, c):
                    send(x, w)
        else:
            price[x] = -min(c - price[w] + (0 if form == "5.1" else epsilon) for w, c in arcs(x))
    pushes = relabels = 0
    active = deque(v for v in range(2 * n) if excess[v] > 0)
    while active:
        v = active.popleft()
        while excess[v] > 0:
            w = next((w for w, c in arcs(v) if is_admissible(v, w, c)), None)
            if w is None:
                less = 0 if form == "5.1" and v < n else epsilon
                price[v] = max(price[w] - c for w, c in arcs(v)) - less
                relabels += 1
                continue
            send(v, w)
            pushes += 1
            if excess[w] == 1:
                active.append(w)
    assert excess == [0] * (2 * n)
    return pushes, relabels


@pytest.mark.parametrize(("form", "name"), [("5.0", "generic"), ("5.1", "csa"), ("5.2", "mixed")])
def test_refines_of_cost_scaling(form: str, name: str) -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, epsilon = int(rng.integers(1, 7)), 2 * int(rng.integers(1, 9))
        cost = rng.integers(1, 60, (n, n))
        price = rng.integers(-40, 1, 2 * n)
        price[:n] -= 40 * (form == "5.0")  # so that some arcs have a negative reduced cost
        costs = as_costs(scipy.sparse.csr_array(cost), False)
        assert isinstance(costs, SparseCosts)
        network = push_relabel.make_network(costs, 0, 1, np.int64, np.zeros(1, np.int64))
        network.price[:] = price
        delta, offset = (epsilon // 2, epsilon // 2) if name == "csa" else (epsilon, 0)
        step = push_relabel.Step(
            delta=np.int64(delta),
            offset=np.int64(offset),
            floor=np.int64(-(10**9)),
            rows=np.uint64(n),
            columns=np.uint64(n),
            keep_flow=name == "generic",
            newest_first=False,
            updates=False,
        )
        control = Control()
        push_relabel.refine(network, step, np.uint64(10**6), False, control.monitor())
        printed = price.tolist()
        expected = refine_as_printed(form, cost.tolist(), printed, epsilon)
        assert (int(control.counts[PUSHES]), int(control.counts[RELABELS])) == expected, seed
        assert network.price.tolist() == printed
