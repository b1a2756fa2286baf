"""First calls in a fresh process: with compiled kernels nothing is compiled and nothing is kept.

    python tests/first_calls.py              # make all calls; fail if anything is compiled
    python tests/first_calls.py --threads 4  # in four threads at once, each from another one on
    python tests/first_calls.py --measure    # the time of each, in fresh processes

It needs the installed package only, and runs without Numba.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TAIL, HEAD = [0, 0, 1, 2, 1], [1, 2, 3, 3, 2]
DIMACS = "p max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 4 2\na 3 4 3\na 2 3 1\n"


def flow(function: str, capacity: list[Any]) -> None:
    import preflow

    getattr(preflow, function)((TAIL, HEAD, capacity), 0, 3)


def grid(shape: tuple[int, ...]) -> None:
    import numpy as np

    import preflow

    source = np.arange(np.prod(shape)).reshape(shape) % 7
    preflow.grid_cut(source, source[::-1], 2)


def sparse(function: str) -> None:
    import scipy.sparse as sp

    import preflow

    matrix = sp.csr_array([[1, 2, 0], [0, 3, 1], [2, 0, 1]])
    getattr(preflow, function)(matrix)


def dense(*shape: int, factor: float = 1) -> None:
    import numpy as np

    import preflow

    cost = (np.arange(np.prod(shape)) * 7 % 11).reshape(shape) * factor
    preflow.linear_assignment(cost if factor != 1 else cost.astype(int))


def points() -> None:
    import numpy as np

    import preflow

    ends = np.random.default_rng(0).random((2, 30, 2))
    preflow.linear_assignment(preflow.PointCosts(*ends))


def segment() -> None:
    import numpy as np

    from preflow import vision

    image = np.linspace(0, 1, 1200).reshape(20, 20, 3)
    seeds = np.zeros((2, 20, 20), dtype=bool)
    seeds[0, 8:12, 8:12] = seeds[1, 0] = True
    vision.segment(image, *seeds)


def solve_file() -> None:
    from preflow.cli import app

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "small.max")
        file.write_text(DIMACS, encoding="utf-8")
        app(["solve", str(file)], standalone_mode=False)


CALLS: dict[str, Callable[[], None]] = {
    "max_flow int": lambda: flow("max_flow", [3, 2, 2, 3, 1]),
    "max_flow float": lambda: flow("max_flow", [3.5, 2, 2, 3, 1]),
    "min_cut": lambda: flow("min_cut", [3, 2, 2, 3, 1]),
    "grid_cut 2-D": lambda: grid((20, 30)),
    "grid_cut 3-D": lambda: grid((6, 7, 8)),
    "linear_assignment int": lambda: dense(12, 12),
    "linear_assignment float": lambda: dense(12, 12, factor=0.3),
    "linear_assignment batch": lambda: dense(5, 12, 12, factor=0.3),
    "linear_assignment points": points,
    "segment": segment,
    "preflow solve FILE": solve_file,
    "bipartite_matching": lambda: sparse("bipartite_matching"),
    "linear_assignment sparse": lambda: sparse("linear_assignment"),
}


class Compiling(logging.Handler):
    """Collects what is said of compiling."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "compil" in record.getMessage():
            self.said.append(record.getMessage())


def run(names: list[str]) -> None:
    """Make calls; print their CPU seconds beyond NumPy, and SciPy where the input is SciPy's."""
    import numpy  # noqa: F401

    watch = Compiling()
    logging.getLogger("preflow").addHandler(watch)
    for name in names:
        if CALLS[name].__code__.co_names[:1] == ("sparse",):
            import scipy.sparse  # noqa: F401
        before = time.process_time()
        CALLS[name]()
        print(f"{name}: {time.process_time() - before:.3f}")
    loaded = [module for module in ("numba", "llvmlite") if module in sys.modules]
    assert not watch.said, watch.said
    assert not loaded, loaded


def run_in_threads(count: int) -> None:
    """Make all calls in several threads at once, each from another one on; fail as `run` does."""
    names = list(CALLS)
    begin = threading.Barrier(count)

    def work(number: int) -> None:
        begin.wait()
        run(names[number % len(names) :] + names[: number % len(names)])

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def measure() -> None:
    """Print the median times of five fresh processes for each call."""
    for name in CALLS:
        cpu, wall = [], []
        for _ in range(5):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, __file__, name], capture_output=True, text=True, check=True
            )
            wall.append(time.perf_counter() - start)
            cpu.append(float(done.stdout.split(f"{name}: ")[1].split()[0]))
        print(
            f"{name:<26} {statistics.median(cpu):.3f} CPU s beyond NumPy (SciPy), "
            f"{statistics.median(wall):.2f} s from start to end"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("calls", nargs="*", choices=[*CALLS, []], help="default: all")
    parser.add_argument("--measure", action="store_true", help="five fresh processes for each call")
    parser.add_argument("--threads", type=int, help="make all calls in this number of threads at once")
    options = parser.parse_args()
    if options.measure:
        measure()
    else:
        if options.threads:
            run_in_threads(options.threads)
        else:
            run(options.calls or list(CALLS))
        print("without Numba" if find_spec("numba") is None else "Numba is installed, and was not loaded")


if __name__ == "__main__":
    main()
