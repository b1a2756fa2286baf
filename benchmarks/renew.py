"""Renew the records of a machine, and put them into the place of the old ones.

    python -m benchmarks.renew cpu FOLDER [SECONDS]
    python -m benchmarks.renew gpu FOLDER [SECONDS]
    python -m benchmarks.renew gpus FOLDER [SECONDS]
    python -m benchmarks.renew take FOLDER

The first three run the commands below, one after the other: "cpu" on a machine with two cores, "gpu" on one
with 16 cores and a GPU, "gpus" on one with two GPUs. They go on where an earlier run ended: FOLDER keeps the
records that are complete, and the parts of others. With SECONDS they end after about that time, and say what
is left; a command that cannot go on where it ended does not begin if it would take longer. "take" copies the
complete records to ``benchmarks/results``, and writes the table and the chart of the README.
"""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from preflow.errors import InvalidInputError

from .lemon.program import compiled
from .records import read_record
from .report_files import RECORD
from .tables.performance import MATCHING_METHODS, MATCHING_ON_GPU
from .tables.table import RESULTS, ROOT


class Renewal(NamedTuple):
    """A command that writes a record.

    Attributes
    ----------
    record : str
    machine : str
    minutes : int
        About how long the record of November took, whole minutes.
    command : str
        The module and its arguments. FILE is the record, PROGRAM the compiled program of LEMON; a command
        without FILE is one of ``python -m benchmarks``, and gets its folder.
    goes_on : bool
        Whether the command goes on with what FILE has.
    """

    record: str
    machine: Literal["cpu", "gpu", "gpus"]
    minutes: int
    command: str
    goes_on: bool = False


def _methods(*names: str) -> str:
    return " ".join(f"--method {name}" for name in names)


_RUN = "--no-memory --no-plots --repeats 3"
_ONE = f"--threads 1 {_RUN}"
_PEERS = "--peer ortools --peer thinhpf --peer pymaxflow"
_ALONE = f"--no-peers {_RUN}"

RENEWALS = (
    Renewal(
        "flow", "cpu", 15, f"benchmarks papers irregular applications --problem max_flow {_ONE} {_PEERS}"
    ),
    Renewal("flow-peers", "cpu", 20, "benchmarks.scripts.flow_peers FILE", True),
    Renewal("grids", "cpu", 10, f"benchmarks grids {_ONE} --peer pymaxflow --baseline pymaxflow"),
    Renewal(
        "matching",
        "cpu",
        15,
        f"benchmarks matching --baseline scipy --time-limit 8 {_ONE} {_methods(*MATCHING_METHODS)}",
    ),
    Renewal("assignment", "cpu", 10, f"benchmarks assignment --time-limit 8 {_ONE}"),
    Renewal("min-cost", "cpu", 10, "benchmarks.scripts.min_cost_peers FILE --lemon PROGRAM", True),
    Renewal(
        "general-matching",
        "cpu",
        6,
        "benchmarks.lemon.measure_matching --suite general --suite general-pairs --rounds 3 --out FILE",
    ),
    Renewal("traps", "cpu", 5, "benchmarks.scripts.traps FILE"),
    Renewal("choice", "cpu", 30, "benchmarks.scripts.choice FILE", True),
    Renewal("small-calls", "cpu", 5, "benchmarks.scripts.small_calls FILE"),
    Renewal("flow-memory", "cpu", 1, "benchmarks.scripts.flow_memory FILE"),
    Renewal("flow-threads", "gpu", 2, "benchmarks.scripts.flow_threads FILE 21"),
    Renewal(
        "grids-threads",
        "gpu",
        5,
        f"benchmarks grids-large --threads 1,2,4,8,16 {_ALONE} "
        f"{_methods('serial-incremental-bfs', 'multicore-merging')}",
    ),
    Renewal("matching-threads", "gpu", 2, f"benchmarks matching --threads 1,16 {_ALONE}"),
    Renewal("general-threads", "gpu", 5, "benchmarks.scripts.general_matching_threads --out FILE"),
    Renewal("weighted-threads", "gpu", 5, "benchmarks.scripts.general_matching_threads --weights --out FILE"),
    Renewal("assignment-threads", "gpu", 1, "benchmarks.scripts.assignment_threads FILE"),
    Renewal("min-cost-threads", "gpu", 3, "benchmarks.scripts.min_cost_threads FILE"),
    Renewal(
        "batches",
        "gpu",
        2,
        "benchmarks.scripts.batches --workers 16 --hosts processes --seconds 3 --repeat 3 --out FILE",
    ),
    Renewal(
        "flow-gpu",
        "gpu",
        3,
        f"benchmarks papers irregular --problem min_cut --threads 1 {_ALONE} "
        f"{_methods('serial-hi-pr', 'cuda-push-relabel')}",
    ),
    Renewal("flow-batch", "gpu", 4, "benchmarks.scripts.flow_batch FILE"),
    Renewal("matching-batch", "gpu", 2, "benchmarks.scripts.matching_batch FILE"),
    Renewal("grids-gpu", "gpu", 5, "benchmarks.scripts.grid_gpu FILE"),
    Renewal(
        "matching-gpu", "gpu", 3, f"benchmarks matching --threads 1 {_ALONE} {_methods(*MATCHING_ON_GPU)}"
    ),
    Renewal("assignment-batch", "gpu", 2, "benchmarks.scripts.assignment_batch FILE"),
    Renewal("assignment-large", "gpu", 3, "benchmarks.scripts.assignment_large FILE"),
    Renewal("locally-dominant", "gpu", 2, "benchmarks.scripts.locally_dominant_gpu FILE"),
    Renewal("min-cost-gpu", "gpu", 3, "benchmarks.scripts.min_cost_gpu FILE"),
    Renewal("regions-gpus", "gpus", 4, "benchmarks.scale.hosts gpus FILE 512"),
)


def is_run(renewal: Renewal) -> bool:
    """Return whether the command is one of ``python -m benchmarks``."""
    return "FILE" not in renewal.command.split()


def words(renewal: Renewal, folder: Path, left: float = math.inf) -> list[str]:
    """Return the command of a renewal, which writes to a folder."""
    found = [sys.executable, "-m", *shlex.split(renewal.command)]
    if is_run(renewal):
        budget = [] if math.isinf(left) else ["--budget", f"{left:.0f}"]
        return [*found, "--out", str(folder / renewal.record), "--resume", *budget]
    replaced = {"FILE": folder / f"{renewal.record}.part"}
    if "PROGRAM" in found:
        replaced["PROGRAM"] = compiled("min_cost", folder)
    return [str(replaced.get(word, word)) for word in found]


def is_complete(path: Path) -> bool:
    """Return whether the run of a record began all of its measurements."""
    left_out = read_record(path).header.get("left_out", ())
    return not any(entry["why"].startswith("not begun") for entry in left_out)


def renew(renewals: Sequence[Renewal], folder: Path, seconds: float = math.inf) -> list[str]:
    """Run the commands whose records are missing in a folder; return what is left."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + seconds
    missing = [each for each in renewals if not (folder / f"{each.record}.jsonl").exists()]
    print(f"{len(missing)} of {len(renewals)} records, about {sum(each.minutes for each in missing)} minutes")
    left_over = []
    for each in missing:
        left = ends - time.monotonic()
        if left <= 0 or (60 * each.minutes > left and not each.goes_on and not is_run(each)):
            left_over.append(each.record)
            continue
        print(f"{each.record}: about {each.minutes} minutes", flush=True)
        try:
            limit = None if math.isinf(left) or is_run(each) else left
            subprocess.run(words(each, folder, left), cwd=ROOT, check=True, timeout=limit)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{each.record}: {error}", file=sys.stderr)
            left_over.append(each.record)
            continue
        parts = (folder / f"{each.record}.part", folder / each.record / RECORD)
        part = next(part for part in parts if part.exists())
        if is_complete(part):
            part.rename(folder / f"{each.record}.jsonl")
        else:
            left_over.append(each.record)
    return left_over


def take(folder: Path, results: Path) -> list[str]:
    """Put the records of a folder into the place of those of the same names, and return the names.

    Raises
    ------
    InvalidInputError
        There is no record of that name.
    """
    paths = sorted(folder.glob("*.jsonl"))
    for path in paths:
        if not (results / path.name).exists():
            raise InvalidInputError(f"{path} replaces no record of {results}")
    for path in paths:
        (results / path.name).write_bytes(path.read_bytes())
    return [path.stem for path in paths]


def main() -> None:
    """Run the command."""
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("cpu", "gpu", "gpus", "take"):
        sys.exit((__doc__ or "").strip())
    kind, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    if kind == "take":
        print("\n".join(take(folder, RESULTS)))
        for command in (["-m", "benchmarks.tables"], ["docs/_tools/draw_pictures.py", "speed"]):
            subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
        return
    seconds = float(sys.argv[3]) if len(sys.argv) == 4 else math.inf
    left = renew([each for each in RENEWALS if each.machine == kind], folder, seconds)
    sys.exit(f"left: {', '.join(left)}" if left else 0)


if __name__ == "__main__":
    main()
