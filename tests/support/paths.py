"""Folders that tests read, and the reference instances in them."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples"
#: Large instances that are no part of the repository: a folder beside it.
SHARED = ROOT.parent / "shared" / "instances"


def reference_instances() -> list[tuple[Path, int]]:
    """Return the reference files of both folders that exist here, each with its optimum."""
    found = []
    for folder in (DATA / "dimacs", SHARED / "dimacs"):
        optima = folder / "optima.json"
        if optima.exists():
            entries = json.loads(optima.read_text()).items()
            found += [(folder / name, entry["optimum"]) for name, entry in entries if ".max" in name]
    return found
