"""Renew the records of a machine, and put them into the place of the old ones.

    python -m benchmarks.renew cpu FOLDER
    python -m benchmarks.renew gpu FOLDER
    python -m benchmarks.renew take FOLDER

The first two run the commands below, one after the other; a record that FOLDER has already is not measured
again, so that a run that was ended can go on. "take" copies the records of FOLDER to ``benchmarks/results``,
under the names of their days, deletes those that they replace, changes the names in the pages, and writes the
tables. Sentences of pages are left to their author: tests find numbers that records do not have.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from preflow.errors import InvalidInputError

from .lemon.measure import compiled
from .records import read_record
from .report_files import RECORD
from .tables.table import RESULTS, ROOT


class Renewal(NamedTuple):
    """A command that writes a record.

    Attributes
    ----------
    subject : str
        The name of the record without its date.
    machine : str
    minutes : int
        About how long the record of November took, whole minutes.
    command : str
        The module and its arguments. FILE is the record, PROGRAM the compiled program of LEMON; a command
        without FILE is one of ``python -m benchmarks``, and gets its folder.
    """

    subject: str
    machine: Literal["cpu", "gpu"]
    minutes: int
    command: str


_FEW = "--threads 1 --no-memory --no-plots --repeats 3"
_LEMON = "--lemon network-simplex --lemon cost-scaling --rounds 3 --out FILE"
_MATCHING = " ".join(
    f"--method {method}"
    for method in (
        "auto",
        "serial-push-relabel",
        "serial-hopcroft-karp",
        "serial-hkdw",
        "serial-pothen-fan",
    )
)

RENEWALS = (
    Renewal("papers-epyc", "cpu", 3, f"benchmarks papers {_FEW} --peer ortools --peer thinhpf"),
    Renewal(
        "irregular-xeon",
        "cpu",
        3,
        f"benchmarks irregular --problem max_flow {_FEW} --peer ortools --peer thinhpf --peer pymaxflow",
    ),
    Renewal("min-cost-ortools-xeon", "cpu", 2, f"benchmarks mincost {_FEW} --time-limit 12 --peer ortools"),
    Renewal(
        "grids-epyc",
        "cpu",
        10,
        "benchmarks grids --threads 1 --no-plots --repeats 3 --method auto --method serial-incremental-bfs "
        "--method serial-boykov-kolmogorov --peer pymaxflow",
    ),
    Renewal("assignment-epyc", "cpu", 10, f"benchmarks assignment {_FEW} --time-limit 8"),
    Renewal(
        "matching-epyc",
        "cpu",
        15,
        f"benchmarks matching --baseline scipy --no-memory --no-plots --time-limit 8 {_MATCHING}",
    ),
    Renewal("flow-memory-grids-epyc", "cpu", 1, "benchmarks.scripts.flow_memory FILE"),
    Renewal("flow-features-xeon", "cpu", 2, "benchmarks.scripts.flow_features FILE 36"),
    Renewal("flow-threads-xeon", "cpu", 2, "benchmarks.scripts.flow_threads FILE 21"),
    Renewal("assignment-threads-h200", "cpu", 1, "benchmarks.scripts.assignment_threads FILE"),
    Renewal("transport-threads-xeon", "cpu", 3, "benchmarks.scripts.min_cost_threads FILE"),
    Renewal(
        "general-matching-16-cores-xeon", "cpu", 5, "benchmarks.scripts.general_matching_threads --out FILE"
    ),
    Renewal("traps-rules-quiet-epyc", "cpu", 5, "benchmarks.scripts.traps FILE"),
    Renewal("min-cost-lemon-xeon", "cpu", 3, f"benchmarks.lemon.measure {_LEMON}"),
    Renewal("min-cost-peers-epyc", "cpu", 10, "benchmarks.scripts.min_cost_peers FILE --lemon PROGRAM"),
    Renewal("flow-peers-sorted-epyc", "cpu", 15, "benchmarks.scripts.flow_peers FILE"),
    Renewal("whole-epyc", "cpu", 60, "benchmarks papers vision real --no-plots"),
    Renewal("assignment-batch-h200", "gpu", 2, "benchmarks.scripts.assignment_batch FILE"),
    Renewal("assignment-large-h200", "gpu", 3, "benchmarks.scripts.assignment_large FILE"),
    Renewal("locally-dominant-h100", "gpu", 2, "benchmarks.scripts.locally_dominant_gpu FILE"),
    Renewal("transport-gpu-h200", "gpu", 1, "benchmarks.scripts.min_cost_gpu FILE transport"),
    Renewal("min-cost-gpu-h200", "gpu", 2, "benchmarks.scripts.min_cost_gpu FILE"),
    Renewal("grid-gpu-h200", "gpu", 5, "benchmarks.scripts.grid_gpu FILE"),
)


def words(renewal: Renewal, folder: Path) -> list[str]:
    """Return the command of a renewal, which writes to a folder."""
    found = [sys.executable, "-m", *shlex.split(renewal.command)]
    if "FILE" not in found:
        return [*found, "--out", str(folder / renewal.subject), "--resume"]
    replaced = {"FILE": folder / f"{renewal.subject}.part"}
    if "PROGRAM" in found:
        replaced["PROGRAM"] = compiled(folder)
    return [str(replaced.get(word, word)) for word in found]


def renew(renewals: Sequence[Renewal], folder: Path) -> list[str]:
    """Run the commands whose records are missing in a folder, and return the subjects of failures."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [each for each in renewals if not (folder / f"{each.subject}.jsonl").exists()]
    print(f"{len(missing)} of {len(renewals)} records, about {sum(each.minutes for each in missing)} minutes")
    failed = []
    for each in missing:
        print(f"{each.subject}: about {each.minutes} minutes", flush=True)
        try:
            subprocess.run(words(each, folder), cwd=ROOT, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{each.subject}: {error}", file=sys.stderr)
            failed.append(each.subject)
            continue
        parts = (folder / f"{each.subject}.part", folder / each.subject / RECORD)
        next(part for part in parts if part.exists()).rename(folder / f"{each.subject}.jsonl")
    return failed


def named_files() -> Iterator[Path]:
    """Yield the files that name records: pages but those of the notebook, and code."""
    yield from (ROOT / "README.md", RESULTS / "README.md")
    yield from (page for page in (ROOT / "docs").rglob("*.md") if "notebook" not in page.parts)
    for folder in ("docs/_tools", "benchmarks", "tests/benchmarks"):
        yield from (ROOT / folder).rglob("*.py")


def take(folder: Path, results: Path, texts: Sequence[Path]) -> list[str]:
    """Put the records of a folder into the place of those of the same subjects, and return their names.

    Raises
    ------
    InvalidInputError
        A record has a subject that no record has.
    """
    new = {}
    for path in sorted(folder.glob("*.jsonl")):
        old = [each for each in results.glob("*.jsonl") if each.stem[11:] == path.stem]
        if len(old) != 1:
            raise InvalidInputError(f"{path} replaces no record of {results}")
        date = read_record(path).header["date"][:10]
        new[old[0]] = (path, f"{date}-{path.stem}")
    for old_path, (path, name) in new.items():
        content = path.read_bytes()
        old_path.unlink()
        (results / f"{name}.jsonl").write_bytes(content)
    names = {old_path.stem: name for old_path, (_, name) in new.items()}
    pattern = re.compile(r"\d{4}-\d\d-\d\d-[\w-]+")
    for text in texts:
        before = text.read_text("utf-8")
        if (after := pattern.sub(lambda found: names.get(found[0], found[0]), before)) != before:
            text.write_text(after, "utf-8")
    return list(names.values())


def main() -> None:
    """Run the command."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("cpu", "gpu", "take"):
        sys.exit((__doc__ or "").strip())
    kind, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    if kind == "take":
        print("\n".join(take(folder, RESULTS, list(named_files()))))
        # In a process of its own, for the tables of this one have the old names.
        subprocess.run([sys.executable, "-m", "benchmarks.tables"], cwd=ROOT, check=True)
        return
    failed = renew([each for each in RENEWALS if each.machine == kind], folder)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
