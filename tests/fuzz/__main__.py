"""Run the fuzzers on all cores: python -m tests.fuzz --seconds 600 (see README.md).

A process runs one driver for a slice of its time. Before the clock starts, one process a driver compiles what
that needs. The number of the case that a process is at lies in shared memory: a process that dies, or that
hangs (and compiles nothing), is found, its case is reported, and another one goes on behind it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import mmap
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from pathlib import Path

from preflow.solving.timing import compilations

from .drivers import DRIVERS
from .harness import Failure, Report, corpus_text

#: Seconds without a new case after which a process is taken to hang.
HANGS = 60.0
#: Of a driver's time, what one process runs at most, relative to the whole campaign.
SLICE = 0.2


@dataclass
class Work:
    """What one process does: a driver from case `first` on until it has used its seconds; none to warm."""

    driver: str
    seed: int
    seconds: float
    first: int = 0
    warm: bool = False


class Child:
    """A process at work."""

    def __init__(self, work: Work, folder: Path, number: int) -> None:
        self.work = work
        self.progress_file, self.report_file, self.log_file = (
            folder / f"{number}.{kind}" for kind in ("progress", "report", "log")
        )
        self.progress_file.write_bytes(struct.pack("<qq", -1, 0))
        command = [sys.executable, "-m", "tests.fuzz", "--child", json.dumps(asdict(work))]
        command += ["--files", str(self.progress_file), str(self.report_file)]
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        self.begin = self.moved = time.monotonic()
        self.index = -1

    def ended(self) -> bool:
        """Look after the process; kill it where it hangs."""
        if self.process.poll() is not None:
            return True
        index, compiling = struct.unpack("<qq", self.progress_file.read_bytes())
        if index != self.index or compiling:
            self.index, self.moved = index, time.monotonic()
        if not self.work.warm and time.monotonic() - self.moved > HANGS:
            self.process.send_signal(signal.SIGABRT)  # faulthandler writes where it is
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            return True
        return False

    def outcome(self) -> tuple[Report | None, Failure | None]:
        """Return what the process reported, and the failure that ended it, if any."""
        if self.process.returncode == 0 and self.report_file.exists():
            return pickle.loads(self.report_file.read_bytes()), None
        index, _ = struct.unpack("<qq", self.progress_file.read_bytes())
        hung = time.monotonic() - self.moved > HANGS
        kind = "a hang" if hung else f"the process died: {_signal_name(self.process.returncode)}"
        log = self.log_file.read_text(errors="replace")[-3000:]
        driver = DRIVERS[self.work.driver]
        case = driver.case(self.work.seed, index) if index >= 0 else {}
        return None, Failure(driver.name, kind, f"{kind}\n{log}", self.work.seed, index, case)


def _signal_name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}


def run_child(work: Work, progress_file: str, report_file: str) -> None:
    """Be one of the processes."""
    faulthandler.enable()
    driver = DRIVERS[work.driver]
    with open(progress_file, "r+b") as file:
        progress = mmap.mmap(file.fileno(), 16)

    def started(index: int) -> None:
        progress[:8] = struct.pack("<q", index)

    def watch_compiler() -> None:
        while True:
            progress[8:] = struct.pack("<q", compilations())
            time.sleep(1)

    threading.Thread(target=watch_compiler, name="fuzz-compiler", daemon=True).start()

    if work.warm:
        driver.warm(started=started)
        report = Report(driver.name, work.seed)
    else:
        report = driver.run(work.seed, work.seconds, first=work.first, started=started)
    Path(report_file).write_bytes(pickle.dumps(report))


def plan(names: list[str], seed: int, seconds: float, jobs: int) -> deque[Work]:
    """Return slices that give each driver its share of all cores' time, the longest first."""
    whole = sum(DRIVERS[name].share for name in names)
    slices = []
    for position, name in enumerate(names):
        time_for = DRIVERS[name].share / whole * seconds * jobs
        parts = max(1, math.ceil(time_for / (SLICE * seconds)))
        slices += [Work(name, seed + 1000 * position + part, time_for / parts) for part in range(parts)]
    return deque(sorted(slices, key=lambda work: -work.seconds))


def run_all(waiting: deque[Work], jobs: int, folder: Path) -> tuple[list[Report], list[Failure]]:
    """Run slices, `jobs` at a time. Ctrl-C ends them; the slices that had ended are reported."""
    running: list[Child] = []
    reports: list[Report] = []
    failures: list[Failure] = []
    try:
        _run(waiting, running, jobs, folder, reports, failures)
    except KeyboardInterrupt:
        print(f"interrupted: {len(running)} processes are left out below", flush=True)
        for child in running:
            idle = time.monotonic() - child.moved
            if idle > 5:
                print(f"{child.work}: at case {child.index} for {idle:.0f} s", flush=True)
    finally:
        for child in running:
            child.process.kill()
    return reports, failures


def _run(
    waiting: deque[Work],
    running: list[Child],
    jobs: int,
    folder: Path,
    reports: list[Report],
    failures: list[Failure],
) -> None:
    number = 0
    while waiting or running:
        while waiting and len(running) < jobs:
            number += 1
            running.append(Child(waiting.popleft(), folder, number))
        time.sleep(0.2)
        for child in [child for child in running if child.ended()]:
            running.remove(child)
            report, failure = child.outcome()
            if report is not None:
                reports.append(report)
            if failure is not None:
                failures.append(failure)
                print(
                    f"{failure.driver}: {failure.message.splitlines()[0]}, case {failure.index}", flush=True
                )
                work = child.work
                left = work.seconds - (time.monotonic() - child.begin)
                if failure.index >= work.first and left > 1:  # else it is not a case that it dies of
                    waiting.appendleft(Work(work.driver, work.seed, left, failure.index + 1))


def table(reports: list[Report], failures: list[Failure]) -> str:
    """Return what happened, a line a driver."""
    columns = ["cases", "solves", "files", "corrupted", "refused", "verified"]
    lines = [
        f"{'driver':24s}" + "".join(f"{name:>12s}" for name in columns) + f"{'CPU s':>10s}{'failures':>10s}"
    ]
    total: Counter[str] = Counter()
    for name in DRIVERS:
        tally: Counter[str] = Counter()
        for report in reports:
            tally += report.tally if report.driver == name else Counter()
        seconds = sum(report.seconds for report in reports if report.driver == name)
        failed = sum(failure.count for failure in failures if failure.driver == name)
        if tally or failed:
            numbers = "".join(f"{tally[column]:12,}" for column in columns)
            lines.append(f"{name:24s}{numbers}{seconds:10.0f}{failed:10,}")
        total += tally
        total["failed"] += failed
    lines.append(
        f"{'all':24s}"
        + "".join(f"{total[column]:12,}" for column in columns)
        + f"{'':10s}{total['failed']:10,}"
    )
    return "\n".join(lines)


def merged(failures: list[Failure]) -> list[Failure]:
    """Return one failure a driver and kind, with the smallest case."""
    found: dict[tuple[str, str], Failure] = {}
    for failure in failures:
        key = (failure.driver, failure.kind)
        known = found.get(key)
        count = failure.count + (known.count if known else 0)
        smaller = known is None or len(json.dumps(failure.case)) < len(json.dumps(known.case))
        found[key] = failure if smaller else known  # type: ignore[assignment]
        found[key].count = count
    return list(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="0 only compiles the kernels")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--driver", action="append", choices=[*DRIVERS], help="default: all; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="check only this case of the seed and driver, and print it")
    parser.add_argument("--out", help="write a JSON report")
    parser.add_argument("--no-warm", action="store_true", help="kernels are compiled already")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--files", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(Work(**json.loads(arguments.child)), *arguments.files)
        return 0
    names = arguments.driver or [*DRIVERS]
    if arguments.case is not None:
        driver = DRIVERS[names[0]]
        case = driver.case(arguments.seed, arguments.case)
        print(json.dumps(case), flush=True)
        tally: Counter[str] = Counter()
        print(driver.failure(case, tally) or "no failure", dict(tally))
        return 0
    with tempfile.TemporaryDirectory(prefix="preflow-fuzz-") as name:
        folder = Path(name)
        if not arguments.no_warm:
            begin = time.monotonic()
            warming = deque(Work(driver, arguments.seed, 0, warm=True) for driver in names)
            run_all(warming, arguments.jobs, folder)
            print(f"compiled in {time.monotonic() - begin:.0f} s", flush=True)
        if arguments.seconds <= 0:
            return 0
        begin = time.monotonic()
        waiting = plan(names, arguments.seed, arguments.seconds, arguments.jobs)
        reports, failures = run_all(waiting, arguments.jobs, folder)
        wall = time.monotonic() - begin
    failures = merged([*failures, *(each for report in reports for each in report.failures.values())])
    for failure in failures:
        print(
            f"\n{failure.driver}, {failure.count} times, as in case {failure.index} of seed {failure.seed}: "
            f"{failure.message}"
        )
        print(f"corpus entry: {corpus_text(failure)}", end="")
    print(f"\n{table(reports, failures)}\n{wall:.0f} s on {arguments.jobs} processes, seed {arguments.seed}")
    if arguments.out:
        content = {
            "seed": arguments.seed,
            "seconds": wall,
            "jobs": arguments.jobs,
            "reports": [
                {"driver": each.driver, "seed": each.seed, "seconds": each.seconds, "tally": each.tally}
                for each in reports
            ],
            "failures": [asdict(failure) for failure in failures],
        }
        Path(arguments.out).write_text(json.dumps(content, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
