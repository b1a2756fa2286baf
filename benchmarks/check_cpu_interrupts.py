"""Interrupt every method for CPUs on large instances, and measure how soon each call ends.

Usage: python benchmarks/check_cpu_interrupts.py [WORD ...]. Only cases whose name contains all words run.

Each solve is stopped at several moments, by the flags that a time limit and Ctrl-C set. Builders, converters
and proofs have no flag and get a KeyboardInterrupt. For each case the program prints two numbers, one for the
time limit and one for Ctrl-C: the most CPU seconds that one thread spent between the interrupt and the end of
the call. That is the delay on a machine with a free core for each thread. The first number includes the
bounds of a stopped solve, which take time linear in the instance. The exit code is 1 if a number exceeds
MOST.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse

import preflow
from preflow.generators import FAMILIES, traps
from preflow.generators.undirected import complete_points, random_graph, triangulated_points
from preflow.solving.run import Abandoned, Control
from preflow.solving.timing import compile_seconds

#: The most CPU seconds from an interrupt to the end of the call.
MOST = 0.3
#: The moments of the interrupts in seconds from the begin of the solve, or of the call.
MOMENTS = (0.05, 0.3, 0.8, 2.0)
MOMENTS_OF_CALLS = (0.01, 0.05, 0.1, 0.2, 0.4)

controls: list[Control] = []


def record_controls() -> None:
    """Keep every Control that is made in `controls`."""
    make = Control.__post_init__

    def make_and_note(control: Control) -> None:
        make(control)
        controls.append(control)

    Control.__post_init__ = make_and_note  # type: ignore


def cpu_seconds() -> dict[int, float]:
    """Return the CPU time of each thread."""
    clocks = {}
    for thread in threading.enumerate():
        if thread.ident is not None:
            clocks[thread.ident] = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    return clocks


@dataclass(frozen=True)
class Case:
    """A call on an instance. `solves` says whether it reads a stop flag."""

    name: str
    make: Callable[[bool], Any]
    call: Callable[[Any], Any]
    solves: bool = True


def interrupt(case: Case, instance: Any, moment: float, by_key: bool) -> float | None:
    """Return the CPU seconds of a call after a moment, None if it ended before.

    A call during which kernels were compiled is repeated.
    """
    while True:
        compiled = compile_seconds()
        overrun = interrupt_once(case, instance, moment, by_key)
        if compile_seconds() == compiled:
            return overrun


def interrupt_once(case: Case, instance: Any, moment: float, by_key: bool) -> float | None:
    """Return the CPU seconds of one call after a moment, None if it ended before."""
    controls.clear()
    before: dict[int, float] = {}
    done = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        while case.solves and not controls:
            if done.wait(1e-3):
                return
        if done.wait(moment):
            return
        before.update(cpu_seconds())
        if case.solves:
            for control in controls:
                control.interrupted.extend([True] * by_key)
                control.stop[0] = 1
        else:
            signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with suppress(KeyboardInterrupt, Abandoned):
        case.call(instance)
    after = cpu_seconds()
    done.set()
    presser.join()
    if not before:
        return None
    return max(seconds - before.get(thread, 0.0) for thread, seconds in after.items() if thread in before)


@lru_cache(maxsize=1)
def flow(name: str, small: bool) -> Any:
    """Return a network with its source and sink."""
    families = {"rmf-wide": ("8x4", "64x32"), "rlg-long": ("8x16", "64x4096"), "ac-dense": ("20", "1500")}
    if name in families:
        return FAMILIES[name].generate(families[name][not small], seed=1)
    return {"path": traps.long_path, "leaking": traps.leaking_path, "dead-end": traps.dead_end}[name](
        20 if small else 10**6
    )


@lru_cache(maxsize=1)
def grid(name: str, small: bool) -> Any:
    """Return a grid."""
    return {
        "sides": lambda: traps.opposite_sides((8, 8) if small else (1500, 1500)),
        "volume": lambda: traps.opposite_sides((4, 4, 4) if small else (100, 100, 100)),
        "source": lambda: traps.one_source((8, 8) if small else (1000, 1000)),
        "scattered": lambda: traps.scattered(8 if small else 1500, 0.1),
    }[name]()


@lru_cache(maxsize=1)
def graph(name: str, small: bool) -> Any:
    """Return a bipartite graph."""
    if name == "random":
        n = 50 if small else 10**6
        rng = np.random.default_rng(1)
        return preflow.BipartiteGraph.from_arrays(
            rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), shape=(n, n)
        )
    return {
        "comb": lambda: traps.comb(20 if small else 10**6),
        "cycle": lambda: traps.scrambled_cycle(20 if small else 10**6),
        "board": lambda: traps.board_with_holes(8 if small else 1400, 0.1),
        "clique": lambda: traps.clique_with_tail(5 if small else 1500, 10 if small else 10**5),
        "columns": lambda: traps.few_columns(20 if small else 10**5, 5 if small else 50),
    }[name]()


@lru_cache(maxsize=1)
def costs(name: str, small: bool) -> Any:
    """Return costs of pairs."""
    rng = np.random.default_rng(1)
    if name == "sparse":
        n = 30 if small else 100_000
        row = np.concatenate([rng.integers(0, n, 8 * n), np.arange(n)])
        column = np.concatenate([rng.integers(0, n, 8 * n), np.arange(n)])
        cost = np.concatenate([rng.integers(1, 1000, 8 * n), np.full(n, 2000)])
        return scipy.sparse.coo_array((cost, (row, column)), shape=(n, n)).tocsr()

    def products(*shape: int) -> Any:
        rows, columns = (rng.integers(1, 1000, shape[:-1]) for _ in range(2))
        return rows[..., :, None] * columns[..., None, :]

    makers: dict[str, Callable[[], Any]] = {
        "dense": lambda: products(20, 20) if small else products(3000, 3000),
        "batch": lambda: products(3, 20, 20) if small else products(100, 300, 300),
        "chain": lambda: traps.dear_chain(20 if small else 40_000),
        "circle": lambda: traps.around_one_point(20 if small else 4000),
        "places": lambda: traps.few_places(20 if small else 5000, 10),
    }
    return makers[name]()


@lru_cache(maxsize=1)
def general(name: str, small: bool) -> preflow.UndirectedGraph:
    """Return a graph that need not be bipartite; a name with "pairs" stands for one without weights."""
    makers: dict[str, Callable[[], preflow.UndirectedGraph]] = {
        "random": lambda: random_graph(30 if small else 10**6),
        "points": lambda: triangulated_points(30 if small else 300_000),
        "complete": lambda: complete_points(10 if small else 2000),
    }
    made = makers[name.removesuffix(" pairs")]()
    return made.without_weights() if name.endswith(" pairs") else made


PROBLEMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...]]] = {
    "max_flow": (preflow.max_flow, flow, ("rmf-wide", "rlg-long", "ac-dense", "path", "leaking", "dead-end")),
    "grid_cut": (preflow.grid_cut, grid, ("sides", "volume", "source", "scattered")),
    "bipartite_matching": (
        preflow.bipartite_matching,
        graph,
        ("random", "comb", "cycle", "board", "clique", "columns"),
    ),
    "linear_assignment": (
        preflow.linear_assignment,
        costs,
        ("dense", "batch", "sparse", "chain", "circle", "places"),
    ),
    "matching": (preflow.matching, general, ("random", "points", "complete", "random pairs", "points pairs")),
}


def cases() -> Iterator[Case]:
    """Yield every method on every instance, and the calls without a flag."""
    for problem, (solve, make, names) in PROBLEMS.items():
        methods = [method for method in preflow.methods(problem) if method.device == "cpu"]
        for name in names:
            for method in methods:
                initial: dict[str, Any] = {}
                if problem == "bipartite_matching":
                    initial = {"initial": "none"}
                threads = 2 if method.parallel else 1
                if name in ("circle", "places") and method.name != "serial-shortest-path":
                    continue  # the other methods take no points
                if problem == "matching" and not method.approximate:
                    if method.weighted == name.endswith("pairs"):
                        continue
                    initial = {"options": {"initial": "none"}}
                call = partial(solve, method=method.name, threads=threads, **initial)
                yield Case(f"{problem} {method.name} {name}", partial(make, name), call)
    yield from calls()


def calls() -> Iterator[Case]:
    """Yield builders, converters and proofs."""

    def arcs(small: bool) -> Any:
        n = 100 if small else 10**6
        return np.random.default_rng(1).integers(0, n, (3, 5 * n))

    def pixels(small: bool) -> Any:
        side = 10 if small else 3000
        return np.random.default_rng(1).integers(0, 100, (3, side, side))

    def matrix(small: bool) -> Any:
        tail, head, capacity = arcs(small)
        return scipy.sparse.csr_array((capacity, (tail, head)))

    yield Case("FlowNetwork.from_arrays", arcs, lambda a: preflow.FlowNetwork.from_arrays(*a), False)
    yield Case("max_flow of a matrix", matrix, lambda a: preflow.max_flow(a, 0, 1), False)
    yield Case(
        "BipartiteGraph.from_arrays", arcs, lambda a: preflow.BipartiteGraph.from_arrays(a[0], a[1]), False
    )
    yield Case("BipartiteGraph.from_scipy", matrix, preflow.BipartiteGraph.from_scipy, False)
    yield Case(
        "GridNetwork.from_arrays", pixels, lambda a: preflow.GridNetwork.from_arrays(a[0], a[1], 3), False
    )
    yield Case(
        "GridNetwork.to_flow_problem",
        lambda small: preflow.GridNetwork.from_arrays(pixels(small)[0], pixels(small)[1], 3),
        preflow.GridNetwork.to_flow_problem,
        False,
    )

    def solved(solve: Callable[[bool], Any]) -> Callable[[bool], Any]:
        return lru_cache(maxsize=1)(solve)

    results = {
        "flow": solved(lambda small: preflow.max_flow(flow("rlg-long", small))),
        "cut": solved(lambda small: preflow.min_cut(flow("rlg-long", small))),
        "grid": solved(lambda small: preflow.grid_cut(pixels(small)[0], pixels(small)[1], 3)),
        "matching": solved(lambda small: preflow.bipartite_matching(graph("random", small))),
        "assignment": solved(lambda small: preflow.linear_assignment(costs("sparse", small))),
        "dense assignment": solved(
            lambda small: preflow.linear_assignment(
                np.random.default_rng(1).integers(0, 9999, (9, 9) if small else (5000, 5000))
            )
        ),
    }
    for name, make in results.items():
        yield Case(f"verify {name}", make, lambda result: result.verify(), False)
    yield Case("source_side", results["cut"], lambda result: result.source_side(), False)


def main() -> int:
    """Print a line for each case and return the exit code."""
    record_controls()
    well = True
    for case in cases():
        if not all(word in case.name for word in sys.argv[1:]):
            continue
        case.call(case.make(True))  # compiles
        instance = case.make(False)
        figures = []
        for by_key in (False, True) if case.solves else (True,):
            overruns = []
            for moment in MOMENTS if case.solves else MOMENTS_OF_CALLS:
                overrun = interrupt(case, instance, moment, by_key)
                if overrun is None:
                    break
                overruns.append(overrun)
            figures.append(overruns)
        texts = [f"{max(each):.2f} of {len(each)}" if each else "done before" for each in figures]
        slow = any(max(each, default=0.0) > MOST for each in figures)
        well &= not slow
        print(f"{case.name:60} {texts[0]:14} {texts[-1]:14} {'SLOW' if slow else ''}".rstrip(), flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
