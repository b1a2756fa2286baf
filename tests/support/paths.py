"""Folders that tests read, and the reference instances in them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples"
#: Large instances that are no part of the repository: a folder beside it.
SHARED = ROOT.parent / "shared" / "instances"


def example(name: str, *packages: str) -> ModuleType:
    """Return the module of an example; skip the test where a package that it needs is not installed."""
    for package in packages:
        pytest.importorskip(package)
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


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
