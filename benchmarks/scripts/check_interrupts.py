"""Interrupt every method for GPUs at random moments, and measure how soon each call ends.

Usage: python -m benchmarks.scripts.check_interrupts [WORD]. Only methods whose problem and name contain the
word run.

Each method solves instances of growing size until a solve takes a second, or the time of the method is up.
Then the same solve is stopped by time limits and by Ctrl-C at random moments. For each method the program
prints the seconds of the solve, the most milliseconds from a time limit and from Ctrl-C to the end of the
call, whether the bounds of a stopped solve are proved, and whether the GPU and the threads are idle
afterwards. A call ends later than its kernels, because a last search and copies belong to the answer.

The program always ends after TOTAL seconds, and names a solve that did not return. The exit code is 1 if a
check fails or if a call ended later than MOST_OVERRUN seconds after the interrupt.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import cupy
import numpy as np

import preflow
from preflow.generators import FAMILIES

#: Seconds of the whole run, of a method without compiling, of a solve that is long enough, and until a solve
#: counts as hung.
TOTAL, OF_METHOD, LONG, HUNG = 230.0, 7.0, 1.0, 30.0
#: The trials of each kind, and the most seconds from an interrupt to the end of the call.
TRIALS, MOST_OVERRUN = 8, 0.1
#: The fractions of the time of a solve between which it is stopped.
EARLIEST, LATEST = 0.02, 0.98


@dataclass
class Watchdog:
    """Ends the process if a solve hangs or the time is up."""

    began: float = field(default_factory=time.monotonic)
    what: str = ""
    since: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._run, daemon=True).start()

    def enter(self, what: str) -> None:
        """Record the step that begins now."""
        self.what, self.since = what, time.monotonic()

    @property
    def left(self) -> float:
        """The seconds that are left of the whole run."""
        return TOTAL - (time.monotonic() - self.began)

    def _run(self) -> None:
        while True:
            time.sleep(0.2)
            hung = time.monotonic() - self.since > HUNG
            if hung or self.left < -5:
                fault = "did not return" if hung else "is not done, and the time is up"
                print(f"{self.what}: {fault}", flush=True)
                os._exit(1)


@dataclass(frozen=True)
class Case:
    """A method with instances of growing size."""

    problem: str
    method: str
    options: dict[str, Any]
    sizes: tuple[str, ...]
    make: Callable[[str], tuple[Any, ...]]

    @property
    def name(self) -> str:
        """The name in the table."""
        chosen = "".join(f" {key}={value}" for key, value in self.options.items())
        return f"{self.problem} {self.method}{chosen}"

    def solve(self, instance: tuple[Any, ...], **more: Any) -> Any:
        """Solve an instance."""
        if self.problem == "bipartite_matching":
            more["initial"] = "none"
        function = getattr(preflow, self.problem)
        return function(*instance, method=self.method, options=self.options, **more)


@lru_cache(maxsize=1)
def network(size: str) -> tuple[Any, ...]:
    """Return a network with many levels, on which push-relabel takes long."""
    problem = FAMILIES["rmf-wide"].generate(size, seed=1)
    return problem.network, problem.source, problem.sink


@lru_cache(maxsize=1)
def grid(size: str) -> tuple[Any, ...]:
    """Return an image with the source at its left margin and the sink at its right margin."""
    side = int(size)
    rng = np.random.default_rng(1)
    source, sink = np.zeros((2, side, side), dtype=np.int64)
    source[:, 0], sink[:, -1] = rng.integers(1, 10**6, (2, side))
    return source, sink, rng.integers(1, 10**6, (2, side, side))


@lru_cache(maxsize=1)
def graph(size: str) -> tuple[Any, ...]:
    """Return a graph with long augmenting paths: neighbours of a row are close to each other on a ring."""
    number = int(size)
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(number), 3)
    steps = np.stack([np.zeros(number), np.ones(number), rng.integers(-50, 50, number)], axis=1)
    columns = (rows + steps.ravel().astype(np.int64)) % number
    edges = rng.permutation(number)[rows], rng.permutation(number)[columns]
    return (preflow.BipartiteGraph.from_arrays(*edges, shape=(number, number)),)


@lru_cache(maxsize=1)
def costs(size: str) -> tuple[Any, ...]:
    """Return costs that are products of two numbers, on which searches are long: a matrix or a batch."""
    shape = tuple(map(int, size.split("x")))
    rng = np.random.default_rng(1)
    rows, columns = (rng.integers(1, 1000, shape[:-1]) for _ in range(2))
    return (rows[..., :, None] * columns[..., None, :],)


def cases() -> Iterator[Case]:
    """Yield every method for GPUs, with the options that select other kernels."""
    wide = ("16x8", "32x16", "64x32", "96x48")
    for method, options in (
        ("cuda-push-relabel", {}),
        ("cuda-push-relabel", {"search_share": 0}),
        ("cuda-lockfree", {}),
        ("cuda-lockfree", {"relabel": "concurrent"}),
        ("cuda-hybrid", {}),
        ("cuda-locks", {}),
        ("cuda-coloring", {}),
        ("cuda-coloring", {"barrier": "launch"}),
    ):
        yield Case("min_cut", method, options, wide, network)
    sides = ("200", "400", "800", "1600", "3200")
    for method, options in (
        ("cuda-tiled", {}),
        ("cuda-lockfree", {}),
        ("cuda-lockfree", {"cycles": 7000}),
        ("cuda-blocking", {}),
        ("cuda-blocking", {"relabel": "lockstep"}),
    ):
        yield Case("grid_cut", method, options, sides, grid)
    edges = ("100000", "500000", "2000000")
    for method, options in (
        ("cuda-push-relabel", {}),
        ("cuda-push-relabel", {"relabel": "concurrent"}),
        ("cuda-hopcroft-karp", {}),
        ("cuda-hkdw", {}),
        ("cuda-multi-source-bfs", {}),
    ):
        yield Case("bipartite_matching", method, options, edges, graph)
    yield Case(
        "linear_assignment", "cuda-lockfree", {}, ("250x250", "500x500", "1000x1000", "2000x2000"), costs
    )
    for method, sizes in (
        ("cuda-lockfree", ("250x250", "500x500", "1000x1000", "2000x2000")),
        ("cuda-shortest-path", ("1000x1000", "4000x4000", "8000x8000")),
        ("cuda-batch", ("64x500x500", "64x1000x1000", "16x2000x2000")),
    ):
        yield Case("linear_assignment", method, {}, sizes, costs)


def find_long_one(case: Case, watchdog: Watchdog) -> tuple[str, tuple[Any, ...], float]:
    """Return a size, its instance and the seconds of its solve."""
    begun = time.monotonic()
    for size in case.sizes:
        watchdog.enter(f"{case.name}, {size}")
        instance = case.make(size)
        start = time.monotonic()
        case.solve(instance)
        seconds = time.monotonic() - start
        if seconds > LONG or time.monotonic() - begun > OF_METHOD / 2:
            break
    return size, instance, seconds


def is_idle() -> bool:
    """Return whether the GPU is idle and no solver thread is alive."""
    solving = [thread.name for thread in threading.enumerate() if thread.name == "preflow-solver"]
    return not solving and bool(cupy.cuda.Stream.null.done)


def stop_by_limit(case: Case, instance: tuple[Any, ...], limit: float) -> tuple[float | None, Any]:
    """Return the seconds from the time limit to the end of a solve, or None, and its result."""
    start = time.monotonic()
    result = case.solve(instance, time_limit=limit)
    elapsed = time.monotonic() - start
    stats = result.stats[0] if isinstance(result.stats, list | tuple) else result.stats
    is_over = elapsed - getattr(stats, "seconds", {}).get("compile", 0.0) - limit
    return (is_over if is_over > 0 else None), result


def stop_by_key(case: Case, instance: tuple[Any, ...], delay: float) -> float | None:
    """Return the seconds from a KeyboardInterrupt to the end of a solve, None if it ended before."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(delay, press)
    try:
        timer.start()
        case.solve(instance)
        timer.cancel()
        timer.join()
        time.sleep(0.05)  # an interrupt at the last moment raises here
    except KeyboardInterrupt:
        return time.monotonic() - pressed[0]
    return None


def milliseconds(overruns: list[float]) -> str:
    """Return the largest overrun as text for the table."""
    return f"{1e3 * max(overruns):.0f} of {len(overruns)}" if overruns else "never"


def check(case: Case, watchdog: Watchdog, rng: np.random.Generator) -> bool:
    """Print the line of a method and return whether all checks passed."""
    watchdog.enter(f"{case.name}, first solve")
    case.solve(case.make(case.sizes[0]))  # compiles
    begun = time.monotonic()
    size, instance, seconds = find_long_one(case, watchdog)
    limits: list[float] = []
    keys: list[float] = []
    idle, sane = True, "not stopped"
    for trial in range(2 * TRIALS):
        if time.monotonic() - begun > OF_METHOD:
            break
        moment = max(1e-3, seconds * float(rng.uniform(EARLIEST, LATEST)))
        watchdog.enter(f"{case.name}, {size}, stopped after {moment:.3f} s")
        if trial % 2:
            overrun = stop_by_key(case, instance, moment)
            keys += [] if overrun is None else [overrun]
        else:
            overrun, result = stop_by_limit(case, instance, moment)
            limits += [] if overrun is None else [overrun]
            if sane == "not stopped" and getattr(result, "status", "") == "time-limit":
                sane = proved(result)
        idle &= is_idle()
    is_well = idle and sane in ("proved", "not stopped") and max([*limits, *keys, 0.0]) <= MOST_OVERRUN
    row = (case.name, size, f"{seconds:.2f}", milliseconds(limits), milliseconds(keys), sane, idle, is_well)
    print_row(*row)
    return is_well


def proved(result: Any) -> str:
    """Return "proved" if the bounds of a stopped solve are correct, else the error."""
    try:
        result.verify()
    except preflow.errors.VerificationError as error:
        return f"WRONG: {error}"
    return "proved"


def print_row(*cells: object) -> None:
    """Print a line of the table."""
    widths = (52, 14, 7, 12, 12, 12, 6, 6)
    texts = [str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)]
    print(" ".join(texts).rstrip(), flush=True)


def main() -> int:
    """Print the table and return the exit code."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    watchdog = Watchdog()
    watchdog.start()
    rng = np.random.default_rng()
    print_row("method", "instance", "s", "limit, ms", "Ctrl-C, ms", "bounds", "idle", "well")
    well = True
    chosen = [case for case in cases() if word in case.name]
    for number, case in enumerate(chosen):
        if watchdog.left < OF_METHOD:
            print(f"time is up: {len(chosen) - number} methods were not checked")
            return 1
        well &= check(case, watchdog, rng)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
