"""Time the same solves with two checkouts, in turns, to see whether a change made any slower.

    python -m benchmarks.scripts.two_checkouts ../other [CASE ...] [--turns 8]

A process of each checkout makes the instance and solves it on request. The ratio is that of the best
times, this checkout's over the other's; below it is the ratio of the other's own halves, as scatter.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from .library_against_numba import CASES, TURN_SECONDS

HERE = Path(__file__).resolve().parents[2]


class Checkout:
    """A process that solves with the package of a checkout."""

    def __init__(self, root: Path, case: str) -> None:
        # The benchmarks are those of this checkout, the package that of the other.
        command = [sys.executable, "-m", __spec__.name, str(root), case, "--child"]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE,
            env={**os.environ, "PYTHONPATH": str(root / "src")},
        )
        self._answer()

    def turn(self) -> float:
        """Return the seconds of a solve, as the mean of one turn."""
        assert self.process.stdin is not None
        print("turn", file=self.process.stdin, flush=True)
        return float(self._answer())

    def end(self) -> None:
        """End the process."""
        self.process.communicate()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a checkout has failed: see above")
        return line


def serve(case: str) -> None:
    """Solve an instance whenever a line comes in."""
    call = CASES[case]()
    call()
    start = time.perf_counter()
    call()
    repeats = max(1, int(TURN_SECONDS / (time.perf_counter() - start)))
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        print((time.perf_counter() - start) / repeats, flush=True)


def compare(other: Path, case: str, turns: int) -> tuple[float, float, float, float]:
    """Return the best seconds of this checkout and of the other one, their ratio, and its scatter."""
    both = [Checkout(HERE, case), Checkout(other, case)]
    seconds: list[list[float]] = [[], []]
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            seconds[which].append(both[which].turn())
    for each in both:
        each.end()
    own, theirs = map(min, seconds)
    halves = [min(seconds[1][begin::2]) for begin in (0, 1)]
    return own, theirs, own / theirs, max(halves) / min(halves)


def main() -> None:
    """Print a row a case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the root of another checkout, with compiled kernels")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of: {', '.join(CASES)}")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        serve(options.cases[0])
        return
    ratios = []
    for case in options.cases or CASES:
        own, theirs, ratio, scatter = compare(options.other.resolve(), case, options.turns)
        ratios.append(ratio)
        print(
            f"{case:32s} {own * 1e3:9.3f} ms {theirs * 1e3:9.3f} ms  {ratio:.3f}  scatter {scatter:.3f}",
            flush=True,
        )
    print(f"median {statistics.median(ratios):.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
