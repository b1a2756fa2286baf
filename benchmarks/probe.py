"""Run a contestant once in another process, to measure its memory and to stop it if it takes too long.

``python -m benchmarks.probe INSTANCE PROBLEM CONTESTANT THREADS TIME_LIMIT`` writes "ready" and then JSON.
"""

from __future__ import annotations

import contextlib
import gc
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preflow.errors import UnsuitableMethodError

from .problem import Instance, SolverSettings, TimeLimitReached, describe_error
from .records import Status

#: The root of the repository, where Python finds the package ``benchmarks``.
ROOT = Path(__file__).resolve().parents[1]
READY = "ready"


class Probe(NamedTuple):
    """The result of a probe."""

    status: Status
    note: str = ""
    peak_bytes: int | None = None


def save_instance(path: Path, instance: Instance) -> None:
    """Write an instance for the probes."""
    path.write_bytes(pickle.dumps(instance, protocol=pickle.HIGHEST_PROTOCOL))


def probe(path: Path, problem: str, contestant: str, settings: SolverSettings) -> Probe:
    """Run a contestant once on a saved instance in another process, and stop it if it takes too long."""
    arguments = [
        str(path),
        problem,
        contestant,
        json.dumps(settings.threads),
        json.dumps(settings.time_limit),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.probe", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Without a buffer, so that reading the first line leaves the rest for communicate().
        bufsize=0,
    )
    assert process.stdout is not None
    with process:
        try:
            # "ready", or the answer of a contestant that failed before that.
            first = process.stdout.readline()
            output, errors = process.communicate(timeout=settings.stop_after)
        except subprocess.TimeoutExpired:
            return Probe("over the time limit", f"stopped after {settings.stop_after:g} s")
        finally:
            process.kill()
    if process.returncode < 0:
        return Probe("failed", f"crashed with signal {-process.returncode}")
    if process.returncode > 0:
        return Probe("failed", (errors.decode().strip().splitlines() or ["no message"])[-1])
    return Probe(*json.loads((first + output).splitlines()[-1]))


def resident_bytes(field: str) -> int | None:
    """Return "VmRSS", the resident memory, or "VmHWM", its peak; None on systems without /proc.

    ``resource.getrusage`` does not serve: its peak includes the memory of the parent at the time of the fork.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    for line in status.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return None


def forget_peak() -> None:
    """Reset "VmHWM" to the resident memory, if the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def touch_freed_memory() -> None:
    """Allocate and write the memory that this process has freed since its peak, then free it again.

    A virtual machine may return memory to its host after some seconds, and getting it back can take longer
    than a solve. Without this, the running time of one contestant would affect the next one.
    """
    peak, now = resident_bytes("VmHWM"), resident_bytes("VmRSS")
    if peak is not None and now is not None:
        np.ones(max(0, peak - now), dtype=np.uint8)


def run_probe(path: str, problem: str, contestant: str, settings: SolverSettings) -> Probe:
    """Run a contestant in this process and measure the peak growth of its memory."""
    from .problems import PROBLEMS

    try:
        solver = PROBLEMS[problem].contestant(contestant, settings)
        instance: Instance = pickle.loads(Path(path).read_bytes())
        solver.load(instance)
        prepared = solver.prepare(instance)
        gc.collect()
        forget_peak()
        before = resident_bytes("VmRSS")
        print(READY, flush=True)
        solver.run(prepared)
    except TimeLimitReached as bounds:
        return Probe("over the time limit", f"stopped: {bounds}")
    except UnsuitableMethodError as error:
        return Probe("left out", str(error))
    except Exception as error:
        return Probe("failed", describe_error(error))
    after = resident_bytes("VmHWM")
    grown = None if before is None or after is None else max(0, after - before)
    return Probe("measured", peak_bytes=grown)


def main(arguments: list[str]) -> None:
    """Print the result of `run_probe`."""
    path, problem, contestant, threads, time_limit = arguments
    settings = SolverSettings(json.loads(threads), json.loads(time_limit))
    print(json.dumps(run_probe(path, problem, contestant, settings)))


if __name__ == "__main__":
    main(sys.argv[1:])
