"""Folders that tests read, and the reference instances in them."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples"
#: Large instances that are no part of the repository: a folder beside it.
SHARED = ROOT.parent / "shared" / "instances"


def reference_instances(*endings: str) -> list[tuple[Path, int]]:
    """Return the reference files of both folders that exist here, each with its optimum: those of a kind.

    `endings` are parts of their names; maximum flow if there are none.
    """
    found = []
    for folder in (DATA / "dimacs", SHARED / "dimacs"):
        optima = folder / "optima.json"
        if optima.exists():
            entries = json.loads(optima.read_text()).items()
            found += [
                (folder / name, entry["optimum"])
                for name, entry in entries
                if any(e in name for e in endings or (".max",))
            ]
    return found
