"""Time limits and Ctrl-C at random moments: bounds hold, no thread is left, and the next solve is right."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import preflow
from preflow.solving.timing import compile_seconds

from . import assignments, costflows, flows, grids, matchings, transports
from .harness import Case, Driver, Tally, WrongError, require

#: Threads that a process may keep: those of the pool, for solves of at most three.
MOST_THREADS = 16
#: Seconds within which a solve ends that was told to, on a machine where every core is busy.
PATIENCE = 30.0
METHODS = {
    "flow": flows.OPTIONS,
    "grid": grids.OPTIONS,
    "volume": grids.OPTIONS,
    "matching": matchings.OPTIONS,
    "assignment": assignments.OPTIONS,
    "sparse": assignments.OPTIONS,
    "cost-flow": costflows.OPTIONS,
    "most": costflows.OPTIONS,
    "transport": transports.OPTIONS,
    "build": {"auto": {}},
}


def make(random: Random, quick: bool = False) -> Case:
    problem = random.choice(list(METHODS))
    method = random.choice(["auto", *METHODS[problem]])
    parallel = method == "auto" or method.startswith("multicore")
    return {
        "problem": problem,
        "instance": random.randrange(3),
        "method": method,
        "threads": random.choice([1, 2, 3]) if parallel else 1,
        "how": random.choice(["limit", "interrupt"]) if problem != "build" else "interrupt",
        "after": 10.0 ** random.uniform(-4.5, -1.0),
    }


@cache
def instance(problem: str, number: int) -> Any:
    """Return the arguments of a solve that takes some milliseconds."""
    rng = np.random.default_rng(number)
    if problem == "flow":
        n, m = 3000, 15000
        network = preflow.FlowNetwork.from_arrays(
            rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 1000, m), num_vertices=n
        )
        return preflow.MaxFlowProblem(network, tuple(range(5)), tuple(range(n - 5, n)))
    if problem in ("grid", "volume"):
        shape = (100, 100) if problem == "grid" else (20, 20, 20)
        terminals = [rng.integers(0, 60, shape).astype(np.int16) for _ in range(2)]
        return preflow.GridNetwork.from_arrays(
            *terminals, rng.integers(0, 60, (len(shape), *shape)).astype(np.int16)
        )
    if problem in ("cost-flow", "most"):
        n, m = 600, 3000
        supply = rng.integers(0, 50, n // 2)
        tail, head = rng.integers(0, n, (2, m))
        around = np.arange(n)
        return preflow.CostNetwork.from_arrays(
            np.append(tail, around),
            np.append(head, np.roll(around, -1)),
            capacity=np.append(rng.integers(1, 100, m), np.full(n, 10**6)),
            cost=np.append(rng.integers(-20, 1000, m), np.full(n, 5000)),
            supply=np.concatenate([supply, -supply]) if problem == "cost-flow" else None,
            num_vertices=n,
        )
    if problem == "transport":
        masses = rng.integers(1, 100, (2, 150))
        masses[1, 0] += 10**5
        masses[0, 0] += int(masses[1].sum() - masses[0].sum())
        return rng.integers(0, 10**6, (150, 150)), *masses
    if problem == "build":
        return tuple(rng.integers(0, 60, (1100, 1100)) for _ in range(2))
    if problem == "matching":
        n = 20000
        return preflow.BipartiteGraph.from_arrays(
            rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), shape=(n, n)
        )
    if problem == "assignment":
        return rng.integers(0, 1000, (200, 200))
    n = 1200
    entries = np.concatenate([rng.integers(1, 1000, 6 * n), np.full(n, 2000)])
    row = np.concatenate([rng.integers(0, n, 6 * n), np.arange(n)])
    column = np.concatenate([rng.integers(0, n, 6 * n), np.arange(n)])
    return sp.coo_array((entries, (row, column)), shape=(n, n)).tocsr()


@cache
def optimum(problem: str, number: int, method: str, threads: int) -> Any:
    """Return the value of an instance, proved; the kernels that this needs are then compiled."""
    result = _solve(problem, number, method, threads)
    if problem == "build":
        return None
    result.verify()
    return result.value


def _solve(problem: str, number: int, method: str, threads: int, limit: float | None = None) -> Any:
    given = instance(problem, number)
    if problem == "build":
        return preflow.GridNetwork.from_arrays(*given, 3, threads=threads)
    if problem == "most":
        return preflow.max_flow_min_cost(
            given, [0, 1, 2], [300, 301], method=method, threads=threads, time_limit=limit
        )
    if problem == "transport":
        return preflow.transport(*given, method=method, threads=threads, time_limit=limit)
    solve: Callable[..., Any] = {
        "cost-flow": preflow.min_cost_flow,
        "flow": preflow.max_flow,
        "grid": preflow.grid_cut,
        "volume": preflow.grid_cut,
        "matching": preflow.bipartite_matching,
    }.get(problem, preflow.linear_assignment)
    return solve(given, method=method, threads=threads, time_limit=limit)


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread after some seconds, unless the block is over by then.

    The timer is off whenever another handler than this one is in place. Another thread may still receive an
    alarm that the timer sent before; the default handler would end the process, so it is never put back.
    """
    armed = True

    def interrupt(number: int, frame: Any) -> None:
        if armed:
            raise KeyboardInterrupt

    earlier_timer = signal.setitimer(signal.ITIMER_REAL, 0)
    earlier = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN if earlier is signal.SIG_DFL else earlier)
        signal.setitimer(signal.ITIMER_REAL, *earlier_timer)


def check(case: Case, tally: Tally) -> None:
    problem, number = case["problem"], case["instance"]
    arguments = (problem, number, case["method"], case["threads"])
    expected = optimum(*arguments)
    tally["solves"] += 1
    tally[f"method {case['method']}"] += 1
    before = threading.active_count()  # the pool keeps the threads of earlier solves
    begin, compiled = time.monotonic(), compile_seconds()
    if case["how"] == "limit":
        result = _solve(*arguments, limit=case["after"])
        tally[f"status {result.status}"] += 1
        inside = result.lower_bound <= expected <= result.upper_bound
        require(
            inside, "bounds that are wrong", f"{expected} in [{result.lower_bound}, {result.upper_bound}]"
        )
        result.verify()
    else:
        try:
            with interrupted_after(case["after"]):
                _solve(*arguments)
            tally["over before the interrupt"] += 1
        except KeyboardInterrupt:
            tally["interrupted"] += 1
    late = time.monotonic() - begin - case["after"] - (compile_seconds() - compiled)
    tally["stopped late (1 s)"] += late > 1.0
    require(late < PATIENCE, "a stop is ignored", f"{late:.0f} s")
    _check_threads(max(before, MOST_THREADS))
    if case["how"] == "interrupt" and problem != "build":
        again = _solve(*arguments)
        require(again.value == expected, "wrong value after an interrupt", f"{again.value}, not {expected}")


def _check_threads(most: int) -> None:
    end = time.monotonic() + 2.0
    while any(thread.name.startswith("preflow-solver") for thread in threading.enumerate()):
        if time.monotonic() > end:
            raise WrongError("a solver goes on after the call")
        time.sleep(0.001)
    names = [thread.name for thread in threading.enumerate()]
    require(len(names) <= most, "threads are left behind", ", ".join(names))


DRIVERS = [Driver("interruption", make, check, share=2.5)]
